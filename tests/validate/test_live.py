# SPDX-License-Identifier: Apache-2.0
"""rocelab validate --live: pairs of perftest and UCX on this machine pass, each fault on their wire is found, figures are held against a
baseline of this machine."""
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import tempfile
import unittest

FABRIC = """rocelab: 1
fabric: small
topology: {leaf-spine: {leaves: 1, spines: 1, hosts: 2}}
links: {host: {rate: 100G, cable: 3m}, fabric: {rate: 100G, cable: 30m}}
jobs: [{incast: 1, size: 1MB}]
"""


def cpu():
    names = [line.split(":", 1)[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines() if line.startswith("model name")]
    return names[0] if names else platform.machine()


def validate(test, *options, phase, baseline=None, environment=None, status=(0, 1)):
    """Rows of --live; `baseline`: what one of this fabric has besides."""
    with tempfile.TemporaryDirectory(prefix="rocelab-test-") as folder:
        path = pathlib.Path(folder, "fabric.yaml")
        path.write_text(FABRIC, encoding="utf-8")
        command = [os.environ["ROCELAB"], "validate", str(path), "--quick", "--phase", phase, "--live", "--json", *options]
        if baseline:
            good = pathlib.Path(folder, "good.json")
            document = {"version": 1, "kind": "baseline", "fabric_digest": "0" * 16, "jobs": [], **baseline}
            command += ["--baseline", str(good)]
            good.write_text(json.dumps(document))  # a refusal has the digest
            refused = subprocess.run(command, capture_output=True, text=True, check=False)
            good.write_text(json.dumps({**document, "fabric_digest": re.search(" has ([0-9a-f]{16})", refused.stderr)[1]}))
        result = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **(environment or {})})
    test.assertIn(result.returncode, status, result.stderr)
    test.assertTrue(result.stdout, result.stderr)
    return [row for row in json.loads(result.stdout)["rows"] if "live" in row["test"]]


@unittest.skipUnless(shutil.which("ib_write_bw"), "ib_write_bw is not installed (Debian: perftest)")
class Live(unittest.TestCase):
    def rows(self, *options, phase="2", **more):
        return validate(self, *options, phase=phase, **more)

    def test_passes(self):
        """Every row passes, or says that the machine is busy: none depends on who else runs here."""
        rows = self.rows()
        for row in rows:
            busy = row["verdict"] == "skipped" and "busy" in row["why"]
            printed = row["verdict"] == "skipped" and row["value"] and "no baseline" in row["why"]
            self.assertTrue(row["verdict"] == "pass" or busy or printed or "not installed" in row["why"], row)
        tests = {row["test"] for row in rows}
        self.assertEqual(tests, {"point to point, live", "latency, live", "UCX, live", "through the fabric, live"})
        self.assertEqual(len([row for row in rows if ": latency" in row["subject"] or ": bandwidth" in row["subject"]]), 5)

    def test_baseline(self):
        """Figures that no machine misses pass, those that none reaches fail; what is not there, or of another machine, is skipped.

        A machine that is busy skips them all, before it looks at the baseline."""
        live = [{"program": "ib_write_bw", "message_bytes": 65536, "bits_per_s": 1},
                {"program": "ib_write_lat", "message_bytes": 8, "latency_ns": 0.001},
                {"program": "ib_send_lat", "message_bytes": 64, "latency_ns": 1e9}]
        here = {"cpu": cpu(), "processors": os.sysconf("SC_NPROCESSORS_ONLN"), "kernel": platform.release()}
        want = {"ib_write_bw of": ("pass", "1bps = "), "ib_write_lat": ("fail", "1ps"), "ib_send_lat": ("skipped", "no figure of it")}
        for machine, other in ((here, None), ({**here, "processors": 999}, "999 x "), ({**here, "kernel": "0.1"}, "Linux 0.1; this one is")):
            rows = [row for row in self.rows(baseline={"machine": machine, "live": live}) if ": latency" in row["subject"] or ": bandwidth" in row["subject"]]
            self.assertEqual(len(rows), 5, rows)
            for row in rows:
                if "busy" in row["why"] or "not installed" in row["why"]:
                    self.assertEqual(row["verdict"], "skipped")
                elif other:
                    self.assertIn(other, row["why"])
                    self.assertEqual(row["verdict"], "skipped")
                else:
                    verdict, words = next((value for name, value in want.items() if name in row["subject"]), ("skipped", "no figure of it"))
                    self.assertEqual(row["verdict"], verdict, row)
                    self.assertIn(words, row["formula"] + row["why"])
                    self.assertIn(", median of", row["subject"])

    def test_faults_are_found(self):
        for fault, least in (("loss=5%", 7), ("mark=5%", 5)):
            rows = self.rows("--fault", fault)
            failed = [row for row in rows if row["verdict"] == "fail"]
            self.assertGreaterEqual(len(failed), least, (fault, rows))
            for row in rows:
                if row["criterion"] == "idle-events":
                    self.assertEqual(row["verdict"], "fail", (fault, row))

    def test_programs_survive_faults(self):
        for row in self.rows(phase="5"):
            self.assertTrue(row["verdict"] == "pass" or "not installed" in row["why"], row)


if __name__ == "__main__":
    unittest.main()
