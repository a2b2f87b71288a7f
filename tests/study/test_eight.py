# SPDX-License-Identifier: Apache-2.0
"""The study of eight fabrics: its arithmetic, and a fabric where tuning cannot help, which says so."""
import os
import subprocess
import sys
import unittest

import eight


class Eight(unittest.TestCase):
    def test_intervals_are_of_pairs(self):
        before = [10.0, 20.0, 40.0]
        ratio, least, most = eight.interval([cost * 0.5 for cost in before], before)
        self.assertAlmostEqual(ratio, 0.5)
        self.assertAlmostEqual(most - least, 0)
        ratio, least, most = eight.interval([5.0, 20.0, 80.0], before)
        self.assertTrue(least < 1 < most)

    def test_ranks_share_places(self):
        self.assertEqual(eight.ranks([1.001, 3, 1.0, 2]), [0.5, 3, 0.5, 2])
        self.assertAlmostEqual(eight.spearman([1, 2, 3], [10, 30, 90]), 1)
        self.assertAlmostEqual(eight.spearman([1, 2, 3], [3, 2, 1]), -1)
        self.assertEqual(eight.spearman([1, 1, 1], [1, 2, 3]), 0)

    def test_worse_than_either_is_found(self):
        row = {"name": "f", "default": (0.8, 0.7, 0.9), "vendor": (1.2, 1.1, 1.3)}
        self.assertEqual(len(eight.judge([row])), 2)  # by itself, and in the median

    def test_tuning_cannot_help(self):
        """An AllReduce on rails of its own has nothing in its way."""
        result = subprocess.run([sys.executable, eight.__file__, os.environ["ROCELAB"], "--only", "400G-allreduce", "--runs", "30",
                                 "--seeds", "2"], capture_output=True, text=True, check=False)
        self.assertIn("cannot help", result.stdout, result.stderr)
        self.assertNotIn("worse", result.stdout)


if __name__ == "__main__":
    unittest.main()
