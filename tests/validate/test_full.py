# SPDX-License-Identifier: Apache-2.0
"""rocelab validate --full: the sizes and fan-ins of a whole acceptance, on a fabric that is small enough."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

FABRIC = """rocelab: 1
fabric: small
topology: {leaf-spine: {leaves: 2, spines: 2, hosts: 4}}
links: {host: {rate: 10G, cable: 3m}, fabric: {rate: 10G, cable: 30m}}
validate: {busbw: 1%}
"""


class Full(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rocelab-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "small.yaml").write_text(FABRIC, encoding="utf-8")

    def rows(self, *options):
        result = subprocess.run([os.environ["ROCELAB"], "validate", "small.yaml", "--full", "--json", *options], cwd=self.folder,
                                capture_output=True, text=True, check=False)
        self.assertTrue(result.stdout, result.stderr)
        return json.loads(result.stdout)["rows"]

    def test_collectives(self):
        """Sizes from 1 MB to 4 GB: those below 256 MB are told, not judged, and a baseline keeps and judges them."""
        rows = self.rows("--phase", "4", "--write-baseline", "b.json", "--by", "anybody")
        small = [row for row in rows if "of 4MB" in row["subject"] and row["criterion"] == "busbw"]
        self.assertEqual([row["verdict"] for row in small], ["skipped"] * 4)
        jobs = json.loads((self.folder / "b.json").read_text(encoding="utf-8"))["jobs"]
        self.assertEqual({job["message_bytes"] for job in jobs if job["job"] == "allgather"},
                         {n * 1000000 for n in (1, 4, 16, 64, 256, 1024, 4096)})
        rows = self.rows("--phase", "4", "--baseline", "b.json")
        against = [row["verdict"] for row in rows if row["criterion"] == "baseline-rate"]
        self.assertEqual(against, ["pass"] * 28)

    def test_fan_ins(self):
        """Each from 2 senders on."""
        rows = [row["subject"] for row in self.rows("--phase", "3")]
        self.assertTrue(any(subject.startswith("2 to 7 senders: receiver's goodput") for subject in rows), rows)


if __name__ == "__main__":
    unittest.main()
