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
        rows = re.findall(r"^- `([CH]\d\d[^`]*)`: .*; ([^;]*)$", PAGE.read_text(encoding="utf-8").replace("\n  ", " "), re.MULTILINE)
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
                self.names_what_is_there(case, document)

    def names_what_is_there(self, case, document):
        """Labels name ports and devices of the run; whom a pause or a loss made a victim was paused or sent again in it."""
        ports, nodes = {port["port"]: port for port in document["ports"]}, {node["node"] for node in document["nodes"]}
        self.assertEqual(re.findall(r"D\d\d", case.cause), [rule for rule, _ in case.causes])
        self.assertEqual(case.line("Diagnose") == "none", not case.causes)
        for rule, culprits in case.causes:
            self.assertTrue(culprits, rule)
            self.assertLessEqual(set(culprits), set(ports) | nodes)
        self.assertLessEqual(set(case.victims), set(ports) | nodes)
        self.assertEqual(len(case.victims), len(set(case.victims)))
        again = {nic["nic"] for nic in document["nics"] if nic["retransmitted"] or nic["timeouts"]}
        stood = {name for name, port in ports.items() if port["paused_ps"] > document["virtual_ps"] / 1000}
        if {rule for rule, _ in case.causes} <= {"D01", "D02", "D03", "D04", "D05", "D06", "D07"}:
            self.assertLessEqual(set(case.victims), stood | again)
        if {rule for rule, _ in case.causes} & {"D08", "D12", "D13", "D14", "D16"}:
            self.assertEqual(set(case.victims), again)


if __name__ == "__main__":
    unittest.main()
