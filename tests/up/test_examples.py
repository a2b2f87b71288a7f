# SPDX-License-Identifier: Apache-2.0
"""The scripts of examples/up run as docs/up.md says, with the figures that it gives."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.environ["ROCELAB"]
SOURCE = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = SOURCE / "examples" / "up"
PAGE = (SOURCE / "docs" / "up.md").read_text(encoding="utf-8")


def need(*programs):
    missing = [program for program in programs if shutil.which(program) is None]
    return unittest.skipIf(missing, f"{', '.join(missing)} not there")


class Examples(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)
        self.env = dict(os.environ, XDG_RUNTIME_DIR=str(self.folder), LC_ALL="C.UTF-8")

    def up(self, fabric, script):
        """The document, and what the programs wrote."""
        run = subprocess.run([PROGRAM, "up", fabric, "--script", script, "--json"], cwd=EXAMPLES, env=self.env,
                             stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=200)
        self.assertEqual(0, run.returncode, run.stderr)
        document = json.loads(run.stdout)
        self.assertEqual({0}, {program["exit"] for program in document["programs"]})
        return document, run.stderr

    @need("ib_write_bw")
    def test_pair(self):
        document, said = self.up("fabric.yaml", "pair.up")
        rates = re.findall(r"^h\d+: +65536 +1000 +([\d.]+) +([\d.]+)", said, re.M)
        self.assertEqual(2, len(rates))
        self.assertAlmostEqual(390.6, float(rates[0][1]), delta=0.5)
        flow, = document["queue_pairs"]
        self.assertEqual(("h8:0", "h0:0", 65536000), (flow["host"], flow["peer"], flow["bytes"]))

    @need("ib_write_bw")
    def test_sixteen(self):
        document, said = self.up("fabric.yaml", "sixteen.up")
        self.assertEqual(16, len(document["programs"]))
        rates = sorted({float(rate) for rate in re.findall(r"^h\d+: +65536 +400 +[\d.]+ +([\d.]+)", said, re.M)})
        self.assertEqual(8, len(rates))
        self.assertTrue(rates[0] < 130 and rates[-1] > 380, rates)  # some share a spine, one is alone

    @need("ucx_perftest")
    def test_ucx(self):
        _, said = self.up("fabric.yaml", "ucx.up")
        latency = float(re.search(r"^h8: Final: +1000 +([\d.]+)", said, re.M).group(1))
        self.assertTrue(2 < latency < 3, said)

    @need("ucx_perftest")
    def test_cable(self):
        document, _ = self.up("fabric.yaml", "cable.up")
        self.assertGreater(sum(nic["retransmitted"] for nic in document["nics"]), 0)
        self.assertGreater(document["virtual_ps"], 500e9)  # UCX's timeout, not the 2 ms of the cable

    @need("ib_write_lat")
    def test_loaded(self):
        """A real program under simulated load, and the same without it."""
        alone = self.folder / "alone.yaml"
        alone.write_text((EXAMPLES / "loaded.yaml").read_text(encoding="utf-8").split("jobs:")[0], encoding="utf-8")
        mean = []
        for fabric in (alone, "loaded.yaml"):
            document, said = self.up(fabric, "loaded.up")
            numbers = re.search(r"^h1: +8 +100" + 4 * r"\s+([\d.]+)", said, re.M).groups()
            mean.append(float(numbers[3]))
        self.assertAlmostEqual(1.51, mean[0], delta=0.01)
        self.assertGreater(mean[1], mean[0] + 0.03)
        self.assertEqual(6, len(document["jobs"]))

    @need("ibv_rc_pingpong")
    def test_virtual_time_in_ci(self):
        """As docs/ci.md has it: two runs agree; another time, status or digest is in a table, and the status is 1."""
        def up(*options):
            return subprocess.run([PROGRAM, "up", "fabric.yaml", "--script", "lossy.up", *options], cwd=EXAMPLES, env=self.env,
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=200)
        kept = self.folder / "expect.yaml"
        self.assertEqual(0, up("--write-expect", kept).returncode)
        same = up("--expect", kept)
        self.assertEqual(0, same.returncode, same.stderr)
        self.assertIn(f"rocelab: as {kept} expects: 7 values\n", same.stderr)
        text = kept.read_text(encoding="utf-8")
        times = re.findall(r"'(h\d: ibv[^']*)': \{time: ([\d.]+)ms, exit: 0\}", text)
        self.assertEqual(2, len(times), text)
        shorter = text.replace(f"time: {times[1][1]}ms", f"time: {float(times[1][1]) * 0.95:.6f}ms").replace("exit: 0", "exit: 3", 1)
        kept.write_text(shorter, encoding="utf-8")
        slower = up("--expect", kept)
        self.assertEqual(1, slower.returncode)
        self.assertIn("2 of 7 values differ", slower.stderr)
        self.assertRegex(slower.stderr, r"h0: ibv_rc_pingpong[^\n]*: exit +3 +0 *\n")
        self.assertRegex(slower.stderr, r"h1: ibv_rc_pingpong[^\n]*: time +[\d.]+ms +[\d.]+ms +\+5\.26% *\n")
        kept.write_text(text.replace("tolerance: 0%", "tolerance: 6%").replace(times[1][1], f"{float(times[1][1]) * 0.95:.6f}"),
                        encoding="utf-8")
        self.assertEqual(0, up("--expect", kept).returncode)

    def test_every_script_is_in_the_page(self):
        for path in EXAMPLES.iterdir():
            self.assertIn(path.name, PAGE)


if __name__ == "__main__":
    unittest.main()
