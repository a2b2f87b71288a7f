# SPDX-License-Identifier: Apache-2.0
"""rocelab validate --weeks: the file's rates, what a failure does, wrong use."""
import json
import unittest

from support import Case, rocelab

SMALL = """rocelab: 1
fabric: small
topology: {leaf-spine: {leaves: 2, spines: 2, hosts: 2}}
links: {host: {rate: 100G, cable: 3m}, fabric: {rate: 100G, cable: 30m}}
jobs: [{incast: 3, size: 100KB, to: h0}]
"""
RATES = "reliability: {switch: {failures: 50%, repair: 60s}, gpu: {failures: 0%}, restart: 5s, checkpoint: 900s}\n"


class Weeks(Case):
    def weeks(self, *arguments, text=SMALL, status=0):
        result = rocelab("validate", self.file("small.yaml", text.encode()), *arguments, cwd=self.folder)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return result

    def test_document(self):
        first = self.weeks("--weeks", "4", "--json", "--jobs", "1", text=SMALL + RATES).stdout
        self.assertEqual(first, self.weeks("--weeks", "4", "--json", "--jobs", "2", text=SMALL + RATES).stdout)
        document = json.loads(first)
        self.assertEqual((document["kind"], document["restart_s"], document["checkpoint_s"]), ("validate-weeks", 5, 900))
        of = {one["name"]: one for one in document["sources"]}
        self.assertEqual((of["switch, leaf"]["basis"], of["switch, leaf"]["failures_per_year"]), ("file", 0.5))
        self.assertEqual((of["optic, leaf to spine"]["basis"], of["optic, leaf to spine"]["parts"]), ("derived", 8))
        self.assertEqual(of["copper, host to leaf"]["stop_share"], 1)
        self.assertAlmostEqual(of["switch, leaf"]["lost_gpu_hours"], 2 * 0.5 * 28 / 365.25 * (450 + 5 + 60) / 3600 * 4, 6)
        low, high = document["useful_share_95"]
        self.assertTrue(low <= document["useful_share"] <= high)
        self.assertEqual(document["gpu_hours"], 4 * 7 * 24 * 4)

    def test_text(self):
        text = self.weeks("--weeks", "1", text=SMALL + RATES).stdout
        self.assertIn("small: 1 week of one job on 4 GPUs; a checkpoint every 900 s takes 5 s, a restart 5 s", text)
        self.assertIn("improve first: ", text)
        self.assertIn("switch   the file, line 6", text)

    def test_wrong(self):
        self.assertIn("--weeks '0': 1 to 520", self.weeks("--weeks", "0", status=2).stderr)
        self.assertIn("leave --junit and --html", self.weeks("--weeks", "1", "--junit", status=2).stderr)
        text = "\n".join(line for line in SMALL.splitlines() if not line.startswith("jobs")) + "\n"
        self.assertIn("the file has no job", self.weeks("--weeks", "1", text=text, status=2).stderr)
        wrong = self.weeks("--weeks", "1", text=SMALL + "reliability: {gpus: {failures: 1%}}\n", status=2).stderr
        self.assertIn("gpu", wrong)
        wrong = self.weeks("--weeks", "1", text=SMALL + "reliability: {checkpoint: 5s, checkpoint-write: 5s}\n", status=2)
        self.assertIn("leaves no time to compute", wrong.stderr)


if __name__ == "__main__":
    unittest.main()
