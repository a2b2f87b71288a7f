# SPDX-License-Identifier: Apache-2.0
"""`rocelab help fields`: every document that --json writes is in it, and every key of one, by documents of each kind.

Those of runs, captures and experiments are in test_sim.py and test_capture.py."""
import json
import os
import pathlib
import re
import signal
import subprocess
import unittest

from support import PROGRAM, SOURCE, Case, environment, patience, rocelab, unexplained

FABRIC = """rocelab: 1
fabric: small
topology: {leaf-spine: {leaves: 2, spines: 2, hosts: 2}}
links: {host: {rate: 100G, cable: 3m}, fabric: {rate: 100G, cable: 10m}}
"""
JOBS = "jobs: [{incast: 2, size: 64KB, to: h0}]\n"
TRAINS = """jobs:
  - training: {model: {layers: 1, hidden: 64, sequence: 16}, groups: {dp: 4}, compute: {forward: 1us}}
"""
# What `validate --write-baseline` writes besides.
BY_VALIDATE = {"program_digest", "level", "owner", "signed_by", "live", "machine", "measured", "program", "host", "message_bytes", "bits_per_s", "latency_ns"}


class Fields(Case):
    def setUp(self):
        super().setUp()
        self.fabric = self.file("small.yaml", (FABRIC + JOBS).encode())

    def document(self, *words, statuses=(0,)):
        result = rocelab(*words, "--json", cwd=self.folder)
        self.assertIn(result.returncode, statuses, result.stderr)
        return json.loads(result.stdout)

    def explained(self, kind, *documents, absent=()):
        with self.subTest(kind):
            self.are_explained(kind, *documents, absent=absent)

    def are_explained(self, kind, *documents, absent):
        missing, never = unexplained(kind, *documents)
        self.assertEqual(missing, [], f"{kind}: not in src/cli/fields")
        self.assertEqual(never, sorted(absent), f"{kind}: in src/cli/fields, and in no document")

    def test_list(self):
        listed = self.document("help", "fields")["documents"]
        kinds = [one["document"] for one in listed]
        self.assertEqual(len(set(kinds)), len(kinds))
        texts = [path.read_text() for path in (SOURCE / "src").rglob("*.c")]
        written = {kind for text in texts for kind in re.findall(r'jout_begin\(\w+, "([\w-]+)"\)', text)}
        self.assertLessEqual(written, set(kinds))
        self.assertEqual(set(kinds) - written, {"sim", "up"})
        text = rocelab("help", "fields").stdout
        page = (SOURCE / "docs" / "json.md").read_text()
        self.assertEqual(re.findall(r"(?m)^- `([\w-]+)`: `rocelab (.*?)`: (.*)$", page), [tuple(one.values()) for one in listed])
        lists = "".join(path.read_text() for path in (SOURCE / "src" / "cli" / "fields").glob("*.def"))
        for path in (SOURCE / "src" / "report" / "rows").glob("*.def"):
            if path.name not in ("port_step.def", "qp_step.def"):  # of series.csv and the library's tables
                self.assertTrue(f'#include "report/rows/{path.name}"' in lists, path.name)
        for one in listed:
            self.assertRegex(text, rf"(?m)^  {one['document']} +rocelab {re.escape(one['command'])}: ")

    def test_text(self):
        text = rocelab("help", "fields", "sim").stdout
        self.assertRegex(text, r"(?m)^A pause: pause_intervals\[\]\n\n  port, paused, priority +who paused whom$")
        self.assertNotIn("\n\n\n", text)
        self.assertLessEqual(max(map(len, text.splitlines())), 100)
        self.assertIn("did you mean 'sweep'?", rocelab("help", "fields", "swep").stderr)
        self.assertIn("lists them", rocelab("help", "fields", "zzzzzzzz").stderr)
        self.assertEqual(rocelab("help", "fields", "sim", "up").returncode, 2)

    def test_program(self):
        self.explained("help", self.document("help"), self.document("help", "sim"))
        self.explained("fields", self.document("help", "fields"), self.document("help", "fields", "sim"))
        self.explained("version", self.document("version"))
        self.explained("metrics", self.document("counters", "--list"))
        self.explained("devices", self.document("devices"))
        self.explained("diagnose-rules", self.document("diagnose", "--list"), self.document("diagnose", "--explain", "D02"))

    def test_plans(self):
        self.explained("config", self.document("config", "--nos", "sonic", self.fabric), self.document("config", "--nos", "eos", self.fabric))
        self.explained("cabling", self.document("config", "--cabling", "csv", self.fabric))
        self.explained("bom", self.document("config", "--bom", self.fabric), absent=["line"])
        self.assertEqual(rocelab("config", "--nos", "sonic", "--out", "cfg", self.fabric, cwd=self.folder).returncode, 0)
        self.explained("init", self.document("init", pathlib.Path(self.folder) / "first.yaml"))
        self.explained("import", self.document("import", "cfg", statuses=(0, 1)), absent=["assumed", "file", "line", "message", "notes", "rule"])  # of other simulators, and of lines that nobody reads
        other = self.file("other.yaml", (FABRIC.replace("100G, cable: 10m", "200G, cable: 10m") + JOBS).encode())
        self.explained("diff", self.document("diff", self.fabric, "cfg", statuses=(0, 1)), self.document("diff", self.fabric, other, statuses=(0, 1)), absent=["allowed"])
        self.explained("check", self.document("check", self.file("trains.yaml", (FABRIC + TRAINS).encode()), statuses=(0, 1)), self.document("check", "cfg", statuses=(0, 1)), absent=["ignored", "places"])
        far = self.file("far.yaml", (FABRIC.replace("100G, cable: 10m", "100G, cable: 100km") + "switches: {buffer: 4MB}\n").encode())
        self.explained("suggest", self.document("suggest", "all", self.fabric), self.document("suggest", "headroom", far, statuses=(1,)))

    def test_studies(self):
        self.explained("sim-each", self.document("sim", "--each", "link", self.fabric, statuses=(0, 1)), self.document("sim", "--each", "link", "--seeds", "2", self.fabric, statuses=(0, 1)))
        self.explained("sim-seeds", self.document("sim", "--seeds", "2", self.fabric))
        trains = self.file("trains.yaml", (FABRIC + TRAINS).encode())
        vary = ("--vary", "nics.mtu=1024,4096")
        self.explained("sweep", self.document("sweep", self.fabric, *vary), self.document("sweep", trains, *vary, "--seeds", "2"))
        self.explained("compare", self.document("compare", self.fabric), absent=["line"])
        self.explained("tune", self.document("tune", self.fabric, "--for", "time", "--runs", "10"), absent=["p99_ps"])  # without flows
        self.explained("validate", self.document("validate", "--quick", trains, statuses=(0, 1)), absent=["remarks", "remarks_left_out", "not_understood", "not_understood_left_out"])  # of --measured
        self.explained("validate-weeks", self.document("validate", "--weeks", "2", trains, statuses=(0, 1)), absent=["line"])

    def test_diagnoses(self):
        lossy = SOURCE / "examples" / "cases" / "C12-ber.yaml"
        dump = rocelab("sim", "--dump", "d", lossy, cwd=self.folder)
        self.assertIn(dump.returncode, (0, 1), dump.stderr)
        trains = self.file("trains.yaml", (FABRIC + TRAINS).encode())
        run = self.file("run.json", rocelab("sim", "--json", trains).stdout.encode())
        (self.folder / "one/h0").mkdir(parents=True)  # a log, and nothing else: events, and what would decide
        (self.folder / "one/h0/dmesg.txt").write_text("Nov 19 10:00:00 h0 kernel: mlx5_core 0000:03:00.0 eth0: Link down\n")
        self.explained("diagnose", self.document("diagnose", "d", "--fabric", lossy, statuses=(0, 1)), self.document("diagnose", run, "--fabric", trains, statuses=(0, 1)),
                       self.document("diagnose", "one", statuses=(1, 3)))
        self.explained("walk", self.document("diagnose", "--walk", "d", "--fabric", lossy, statuses=(0, 1)), absent=["PortXmitWait"])
        wrote = rocelab("diagnose", run, "--fabric", trains, "--write-baseline", "good.json", cwd=self.folder)
        self.assertEqual(wrote.returncode, 0, wrote.stdout + wrote.stderr)
        self.explained("baseline", json.loads((self.folder / "good.json").read_text()), absent=BY_VALIDATE)

    def test_fabrics(self):
        name = f"fields{os.getpid()}"
        script = self.file("x.up", b"h0: sleep 100000\n")
        up = subprocess.Popen([PROGRAM, "up", self.fabric, "--name", name, "--script", script, "--clock", "real", "--json"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment())
        try:
            with patience("the fabric"):
                while rocelab("counters", "--fabric", name).returncode != 0:
                    self.assertIsNone(up.poll())
            self.explained("fault", self.document("fault", name, "slow", "h1:0", "share", "50%"))
            self.explained("fabric-counters", self.document("counters", "--fabric", name))
            self.explained("fabrics", self.document("up", "--list"))
        finally:
            up.send_signal(signal.SIGINT)
            with patience("its end"):
                run = json.loads(up.communicate()[0])
        missing, _ = unexplained("up", run)
        self.assertEqual(missing, [])


if __name__ == "__main__":
    unittest.main()
