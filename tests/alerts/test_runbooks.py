# SPDX-License-Identifier: Apache-2.0
"""The pages of docs/runbooks are what the lists make, and whatever names a runbook names a page that is there: alerts, panels of dashboards, rules of a diagnosis."""
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest
from unittest import mock

SOURCE = pathlib.Path(os.environ["ROCELAB_SOURCE"])
sys.path.insert(0, str(SOURCE / "monitoring"))

import make # pylint: disable=wrong-import-position
import pages # pylint: disable=wrong-import-position
import runbooks # pylint: disable=wrong-import-position

FOLDER = SOURCE / "docs" / "runbooks"
PAGE = re.compile(r"docs/runbooks/(RB\d\d)\.md")


def page_of(name):
    return (FOLDER / f"{name}.md").read_text(encoding="utf-8")


class Pages(unittest.TestCase):
    def test_they_are_what_the_lists_make(self):
        made = pages.made()
        self.assertEqual({path.name for path in FOLDER.iterdir()}, set(made))
        for name, text in made.items():
            self.assertEqual((FOLDER / name).read_text(encoding="utf-8"), text, "run monitoring/make.py ROCELAB")

    def test_all_are_listed(self):
        text = (SOURCE / "src" / "diagnose" / "runbooks.def").read_text(encoding="utf-8")
        self.assertEqual([f"RB{number:02}" for number in range(16)], [runbook for runbook, _, _ in runbooks.listed()])
        self.assertEqual(len(re.findall(r"^RUNBOOK\(", text, re.MULTILINE)), len(runbooks.listed()))
        make.check_runbooks()

    def test_each_has_every_part(self):
        for runbook, text in runbooks.TEXTS.items():
            with self.subTest(runbook):
                self.assertEqual(3, len(text["look"]))
                self.assertLessEqual({key for _, by_system, _ in text["look"] for key in by_system}, set(runbooks.SYSTEMS))
                self.assertGreaterEqual(len(text["decide"]), 3)
                self.assertTrue(all(text[part].endswith(".") for part in ("symptom", "undo", "over")))

    def test_rules_of_check_that_are_named_exist(self):
        known = set(re.findall(r"^(?:RULE|NOTE)\((\w+),", (SOURCE / "src" / "check" / "rules.def").read_text(encoding="utf-8"), re.MULTILINE))
        named = {rule for path in FOLDER.iterdir() for rule in re.findall(r"\b[A-Z]{2,4}\d{3}\b", path.read_text(encoding="utf-8"))}
        self.assertGreater(len(named), 10)
        self.assertLessEqual(named, known)


class Named(unittest.TestCase):
    def test_alerts(self):
        rules = (SOURCE / "monitoring" / "prometheus" / "rocelab.rules.yml").read_text(encoding="utf-8")
        alerts = re.findall(r"- alert: (\w+)\n.*?runbook: (RB\d\d)\}\n.*?runbook: \"([^\"]*)\"", rules, re.DOTALL)
        self.assertEqual(rules.count("- alert: "), len(alerts))
        for alert, label, path in alerts:
            self.assertEqual(label, PAGE.fullmatch(path)[1], alert)
            self.assertIn(alert, page_of(label))

    def test_panels(self):
        links = 0
        for path in sorted((SOURCE / "monitoring" / "grafana").glob("*.json")):
            dashboard = json.loads(path.read_text(encoding="utf-8"))
            where = next(variable["query"] for variable in dashboard["templating"]["list"] if variable["name"] == "runbooks")
            for panel in dashboard["panels"]:
                for link in panel["links"]:
                    links += 1
                    name = PAGE.fullmatch(link["url"].replace("${runbooks}", where))[1]
                    self.assertTrue(page_of(name).startswith(f"# {link['title']}\n"), panel["title"])
        self.assertGreater(links, 20)

    def test_rules_of_a_diagnosis(self):
        listed = subprocess.run([os.environ["ROCELAB"], "diagnose", "--list", "--json"], capture_output=True, text=True, check=True).stdout
        self.assertEqual({rule["rule"] for rule in json.loads(listed)["rules"]}, set(runbooks.rules_of()))
        for rule, found in runbooks.rules_of().items():
            self.assertEqual(1, len(found), f"{rule} names {found}")
            self.assertIn(rule, page_of(found[0]))

    def test_what_is_not_there_is_refused(self):
        with mock.patch.object(runbooks, "rules_of", lambda: {"D99": ["RB99"]}), self.assertRaisesRegex(SystemExit, "D99: there is no runbook 'RB99'"):
            make.check_runbooks()
        with mock.patch.object(runbooks, "rules_of", lambda: {"D99": []}), self.assertRaises(SystemExit):
            make.check_runbooks()


if __name__ == "__main__":
    unittest.main()
