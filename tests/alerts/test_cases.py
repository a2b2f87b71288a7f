# SPDX-License-Identifier: Apache-2.0
"""Every labelled case runs, is small, says its cause and its alerts, and is in docs/cases.md with both."""
import json
import os
import pathlib
import re
import subprocess
import unittest

from cases import cases

PROGRAM = os.environ["ROCELAB"]
PAGE = pathlib.Path(os.environ["ROCELAB_SOURCE"]) / "docs" / "cases.md"


class Cases(unittest.TestCase):
    def test_all_are_here(self):
        self.assertEqual({f"C{number:02}" for number in range(1, 21)}, {case.name[:3] for case in cases() if case.name[0] == "C"})
        self.assertGreater(sum(case.name[0] == "H" for case in cases()), 2)

    def test_the_page_lists_them(self):
        rows = re.findall(r"^\| `([^`]+)` \|.*\| ([^|]*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
        listed = {name: set(re.findall(r"\w+", alerts)) - {"none"} for name, alerts in rows}
        self.assertEqual({case.name: case.alerts for case in cases()}, listed)

    def test_each_runs(self):
        for case in cases():
            with self.subTest(case.name):
                done = subprocess.run([PROGRAM, "sim", "--json", *case.options, str(case.path)], capture_output=True, check=False)
                self.assertIn(done.returncode, (0, 1), done.stderr)
                document = json.loads(done.stdout)
                self.assertEqual(case.name, document["fabric"])
                self.assertLess(document["packet_hops"], 2_000_000)


if __name__ == "__main__":
    unittest.main()
