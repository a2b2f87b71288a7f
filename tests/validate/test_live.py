# SPDX-License-Identifier: Apache-2.0
"""rocelab validate --live: a pair of ib_write_bw on this machine passes, and each fault on its wire is found."""
import json
import os
import pathlib
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


@unittest.skipUnless(shutil.which("ib_write_bw"), "ib_write_bw is not installed (Debian: perftest)")
class Live(unittest.TestCase):
    def rows(self, *options, phase="2"):
        with tempfile.TemporaryDirectory(prefix="rocelab-test-") as folder:
            path = pathlib.Path(folder, "fabric.yaml")
            path.write_text(FABRIC, encoding="utf-8")
            result = subprocess.run([os.environ["ROCELAB"], "validate", str(path), "--quick", "--phase", phase, "--live", "--json", *options],
                                    capture_output=True, text=True, check=False)
        self.assertTrue(result.stdout, result.stderr)
        return [row for row in json.loads(result.stdout)["rows"] if "live" in row["test"]]

    def test_passes(self):
        """Every row passes, or says that the machine is busy: none depends on who else runs here."""
        rows = self.rows()
        for row in rows:
            busy = row["verdict"] == "skipped" and "busy" in row["why"]
            self.assertTrue(row["verdict"] == "pass" or busy or "not installed" in row["why"], row)
        tests = {row["test"] for row in rows}
        self.assertEqual(tests, {"point to point, live", "latency, live", "UCX, live", "through the fabric, live"})

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
