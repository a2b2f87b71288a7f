#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`diagnose --walk` from outside: of a run, of dumps in which two cables are swapped, wrong use."""
import json
import unittest

from support import SOURCE, Case, rocelab

CASES = SOURCE / "examples" / "cases"


class Walk(Case):
    def walk(self, status, *arguments):
        done = rocelab("diagnose", "--walk", "--json", *arguments)
        self.assertEqual(done.returncode, status, done.stderr)
        document = json.loads(done.stdout)
        self.assertEqual((document["version"], document["kind"], document["whole"]), (1, "walk", True))
        found = [problem for link in document["links"] for problem in link["problems"]]
        self.assertEqual(document["problems"], len(found))
        return document, found

    def test_a_run(self):
        run = self.file("run.json", rocelab("sim", "--json", CASES / "C17-mtu.yaml").stdout.encode())
        document, found = self.walk(1, run)
        self.assertEqual(len(document["links"]), 12)
        self.assertEqual([problem["kind"] for problem in found], ["mtu"])
        self.assertIn("spine0:1", found[0]["what"])
        text = rocelab("diagnose", "--walk", run)
        self.assertEqual(text.returncode, 1)
        self.assertIn("12 links, 1 problem at 1 of them", text.stdout)
        self.assertEqual(rocelab("diagnose", "--walk", "--quiet", run).stdout.count("\n"), 1)

    def test_swapped_cables(self):
        fabric = CASES / "H01-permutation.yaml"
        dumps = self.folder / "dumps"
        self.assertEqual(rocelab("sim", "--dump", dumps, fabric).returncode, 0)
        self.walk(0, dumps, "--fabric", fabric)
        for time in dumps.iterdir():
            lldp = time / "leaf0" / "show_lldp_table.txt"
            text = lldp.read_text().replace(" spine0 ", " spine9 ").replace(" spine1 ", " spine0 ").replace(" spine9 ", " spine1 ")
            lldp.write_text(text)
        _, found = self.walk(1, dumps, "--fabric", fabric)
        self.assertEqual({problem["kind"] for problem in found}, {"neighbour"})
        self.assertEqual(len(found), 2)
        self.assertIn("lldp", found[0]["file"])

    def test_wrong_use(self):
        self.wrong(rocelab("diagnose", "--walk", "--html", self.folder / "page.html", "x"), "--walk")
        self.assertFalse((self.folder / "page.html").exists())
        self.wrong(rocelab("diagnose", "--walk"), "which input")
        self.wrong(rocelab("diagnose", "--walk", self.folder / "nothing"), "nothing")


if __name__ == "__main__":
    unittest.main()
