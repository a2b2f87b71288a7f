# SPDX-License-Identifier: Apache-2.0
"""What NCCL waits for, as `rocelab counters` and `rocelab serve` show it of a program that runs.

Arguments: rocelab, the program that plays NCCL (program.c), the plugin.  A counter that must grow is looked at until it has:
nothing depends on how long that takes."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from support import Patient

ROCELAB, PROGRAM, PLUGIN = sys.argv[1:4]
NAME = 'tp "0"\x1b[31m'
LOOKS = 2000


class Nccl(Patient):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / "nccl.jsonl"
        self.env = dict(os.environ, XDG_RUNTIME_DIR=folder.name, NAME=NAME, ROCELAB_NCCL_FILE=str(self.file), NO_COLOR="1")
        self.program = subprocess.Popen([PROGRAM, PLUGIN], env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.program.stdout.close)
        self.addCleanup(self.end)
        self.assertEqual(self.program.stdout.readline(), "ready\n")

    def end(self):
        if self.program.poll() is None:
            self.program.stdin.close()
            self.program.wait()
        return self.program.returncode

    def counters(self, *arguments):
        return subprocess.run([ROCELAB, "counters", *arguments], env=self.env, capture_output=True, text=True, check=False)

    def document(self):
        """That of the program, once it has counted the operation that is over."""
        for _ in range(LOOKS):
            shown = self.counters("--json", str(self.program.pid))
            mine = json.loads(shown.stdout)["nccl"] if shown.returncode == 0 else []
            if mine and mine[0]["counters"]["operations"] == 2:
                return mine
        self.fail("its counters were not seen")

    def test_json(self):
        mine, = self.document()
        counters = mine.pop("counters")
        self.assertEqual(mine, {"pid": self.program.pid, "program": "nccl_program", "comm": "0000000000abcdef", "name": NAME,
                                "rank": 3, "ranks": 8, "nodes": 2})
        waits = [counters[f"wait_seconds_{word}"] for word in ("gpu", "peer", "network", "data", "other")]
        self.assertAlmostEqual(sum(waits), counters["operation_seconds"], places=7)
        self.assertEqual((counters["collectives"], counters["bytes"], counters["sent_bytes"], counters["lost"]), (2, 8 << 20, 1000, 0))

    def test_a_wait_is_seen_while_it_lasts(self):
        first = self.document()[0]["counters"]
        for _ in range(LOOKS):
            later = self.document()[0]["counters"]
            if later["wait_seconds_peer"] > first["wait_seconds_peer"]:
                break
        else:
            self.fail("it does not grow")
        self.assertEqual(later["wait_seconds_network"], first["wait_seconds_network"])

    def test_text(self):
        self.document()
        shown = self.counters("--quiet", str(self.program.pid)).stdout
        self.assertIn(f'NCCL communicator 0000000000abcdef (tp "0"?[31m), rank 3 of 8, process {self.program.pid} (nccl_program)\n', shown)
        self.assertRegex(shown, r"(?m)^  collectives +2$")
        self.assertRegex(shown, r"(?m)^  wait_seconds_peer +\d+\.\d{6}$")
        self.assertNotIn("lost", shown)
        wrong = self.counters("1")
        self.assertEqual((wrong.returncode, wrong.stdout), (1, ""))

    def test_prometheus(self):
        self.document()
        serve = subprocess.Popen([ROCELAB, "serve", "--listen", "127.0.0.1:0"], env=self.env, stderr=subprocess.PIPE, text=True)
        said = serve.stderr.readline()
        try:
            if "without libmicrohttpd" in said:
                self.skipTest("built without a server")
            with urllib.request.urlopen(said.split()[-1] + "metrics") as answer:
                text = answer.read().decode()
        finally:
            serve.terminate()
            serve.communicate()
        labels = rf'comm="0000000000abcdef",comm_name="tp \\"0\\"\?\[31m",rank="3",ranks="8",program="nccl_program",pid="{self.program.pid}"'
        self.assertRegex(text, rf"(?m)^rocelab_nccl_collectives_total\{{{labels}\}} 2$")
        for word in ("gpu", "peer", "network", "data", "other"):
            self.assertRegex(text, rf'(?m)^rocelab_nccl_wait_seconds_total\{{{labels},for="{word}"\}} \d+\.\d{{9}}$')
        self.assertEqual(len(re.findall("# TYPE rocelab_nccl_wait_seconds_total counter", text)), 1)

    def test_it_is_gone_with_the_program(self):
        self.document()
        self.assertEqual(self.end(), 0)
        gone = self.counters("--json")
        self.assertEqual(json.loads(gone.stdout)["nccl"], [])
        kinds = [json.loads(line)["kind"] for line in self.file.read_text().splitlines()]
        self.assertEqual(kinds, ["nccl", "communicator", "collective", "collective", "total"])

    def test_it_is_gone_with_a_program_that_was_killed(self):
        self.document()
        self.program.kill()
        self.program.wait()
        self.program.stdin.close()
        self.assertEqual(json.loads(self.counters("--json").stdout)["nccl"], [])

    def test_a_child_does_not_hold_it(self):
        self.end()
        with subprocess.Popen([PROGRAM, PLUGIN], env=dict(self.env, CHILD="1"), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True) as program:
            program.stdout.readline()
            self.assertEqual([one["pid"] for one in json.loads(self.counters("--json").stdout)["nccl"]], [program.pid])
            program.kill()
            program.wait()
            self.assertTrue(any(json.loads(self.counters("--json").stdout)["nccl"] == [] for _ in range(LOOKS)))  # once it has begun

    def test_list(self):
        shown = self.counters("--list").stdout
        self.assertIn("rocelab_nccl_wait_seconds_total (counter, seconds; comm comm_name rank ranks program pid for)\n", shown)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
