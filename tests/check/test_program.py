# SPDX-License-Identifier: Apache-2.0
"""`rocelab check` from outside: what it prints in each form, exit status, baselines, and the rules' page."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

ROCELAB = os.environ["ROCELAB"]
SOURCE = pathlib.Path(os.environ["ROCELAB_SOURCE"])

GOOD = """rocelab: 1
topology: {leaf-spine: {leaves: 2, spines: 2, hosts: 2}}
links: {host: {rate: 100G, cable: 3m}, fabric: {rate: 100G, cable: 30m}}
switches: {model: tomahawk5, watchdog: true}
"""
BAD = GOOD + """devices:
  leaf0: {ports: {2: {pfc: false}}}
  leaf1: {pfc-mode: auto}
"""


# What examples show on purpose: settings that disagree, and PFC without ECN.
DEFECTS = {"disagreement.yaml": ("HR001", "MAP001", "PFC001"), "headroom.yaml": ("ECN001",), "pause.yaml": ("ECN001",)}
# One queue pair a connection is what jobs have by default (HOST006); long cables at hosts are the point of some, and only
# builders can state their oversubscription (TOP005).
WARNINGS = {"disagreement.yaml": ("PFC009", "TOP005"), "ecmp-256.yaml": ("HOST006",), "fat-tree-128.yaml": ("HOST006", "HR008"),
            "headroom.yaml": ("TOP005",), "inference.yaml": ("HOST006",), "links.yaml": ("HOST006", "HR008", "TOP005"),
            "llama3-405b.yaml": ("HOST006",), "nccl-tests.yaml": ("HOST006",), "nvl72.yaml": ("HOST006", "HR008"),
            "pipeline.yaml": ("HOST006",), "qps.yaml": ("HOST006",), "rail-256.yaml": ("HOST006",), "rails.yaml": ("HOST006",), "sizes.yaml": ("HOST006",),
            "spine.yaml": ("ECN003",), "spray.yaml": ("HOST006",), "storage.yaml": ("HR008",), "systems.yaml": ("HOST006",)}


class Program(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name, text=None):
        path = pathlib.Path(self.folder.name) / name
        if text is not None:
            path.write_text(text, encoding="utf-8")
        return str(path)

    def check(self, *arguments, status=None):
        result = subprocess.run([ROCELAB, "check", *arguments], capture_output=True, text=True, check=False)
        if status is not None:
            self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return result

    def test_text(self):
        good, bad = self.path("good.yaml", GOOD), self.path("bad.yaml", BAD)
        self.assertRegex(self.check(good, status=0).stdout, r"good.yaml: 0 errors, 0 warnings, 0 infos; deadlock proof covers 9 routing states")
        out = self.check(bad, status=1).stdout.splitlines()
        self.assertEqual(out[0], f"{bad}:6:28: error[PFC001]: leaf0:2 has PFC off, its peer spine0:0 has it on for priority 3")
        self.assertRegex(out[1], r":7:21: warning\[PFC006\]: leaf1:0 .* \(and 3 more like it\)$")
        self.assertEqual(len(out), 3)
        self.assertEqual(len(self.check("--quiet", bad, status=1).stdout.splitlines()), 2)

    def test_status(self):
        warns = self.path("warns.yaml", GOOD + "devices: {leaf1: {pfc-mode: auto}}\n")
        self.check(warns, status=0)
        self.check("--strict", warns, status=1)
        self.check(status=2)
        self.check(self.path("missing.yaml"), status=2)
        self.check(self.path("broken.yaml", "rocelab: 1\ntopology: {"), status=2)
        self.check("--failures", "3", warns, status=2)
        self.assertIn("did you mean 'HR001'", self.check("--explain", "HR01", status=2).stderr)

    @unittest.skipIf(os.environ.get("ROCELAB_FIGURES") == "elsewhere", "a gigabyte, of which a sanitizer keeps every copy: in the build as shipped")
    def test_endless(self):
        self.assertIn("larger than", self.check("/dev/zero", status=2).stderr)

    def test_json(self):
        document = json.loads(self.check("--json", self.path("bad.yaml", BAD), status=1).stdout)
        self.assertEqual((document["version"], document["kind"]), (1, "check"))
        first = document["findings"][0]
        self.assertEqual({key: first[key] for key in ("rule", "severity", "line", "column", "device", "port")},
                         {"rule": "PFC001", "severity": "error", "line": 6, "column": 28, "device": "leaf0", "port": "leaf0:2"})
        self.assertIn("spine0:0", first["message"])
        self.assertEqual(document["deadlocks"], {"states": 9, "searched": 0})

    def sarif(self, *arguments):
        """The document, after what the schema of SARIF 2.1.0 requires of what we write."""
        document = json.loads(self.check("--sarif", *arguments).stdout)
        self.assertEqual(document["version"], "2.1.0")
        self.assertEqual(len(document["runs"]), 1)
        driver = document["runs"][0]["tool"]["driver"]
        self.assertEqual(driver["name"], "rocelab")
        identifiers = [rule["id"] for rule in driver["rules"]]
        self.assertEqual(len(identifiers), len(set(identifiers)))
        for rule in driver["rules"]:
            for key in ("shortDescription", "fullDescription", "help"):
                self.assertTrue(rule[key]["text"])
        for result in document["runs"][0]["results"]:
            self.assertIn(result["level"], ("none", "note", "warning", "error"))
            self.assertTrue(result["message"]["text"])
            self.assertEqual(identifiers[result["ruleIndex"]], result["ruleId"])
            for location in result["locations"]:
                place = location["physicalLocation"]
                self.assertRegex(place["artifactLocation"]["uri"], r"^(?:[A-Za-z0-9._~/-]|%[0-9A-F]{2})+$")
                self.assertGreaterEqual(min(place["region"]["startLine"], place["region"]["startColumn"]), 1)
            for suppression in result.get("suppressions", []):
                self.assertIn(suppression["kind"], ("inSource", "external"))
        return document["runs"][0]

    def rules(self):
        """The ids of all rules, and of those that only a configuration can violate."""
        lines = self.check("--list", status=0).stdout.splitlines()
        return [line.split()[0] for line in lines], [line.split()[0] for line in lines if line.endswith("(configurations only)")]

    def test_sarif(self):
        run = self.sarif(self.path("bad.yaml", BAD))
        self.assertEqual([rule["id"] for rule in run["tool"]["driver"]["rules"]], self.rules()[0])
        self.assertEqual([result["level"] for result in run["results"]], ["error", "warning"])
        self.assertEqual(run["results"][0]["locations"][0]["physicalLocation"]["region"], {"startLine": 6, "startColumn": 28})
        odd = self.sarif(self.path("a fabric: 100%.yaml", BAD))["results"][0]["locations"][0]["physicalLocation"]
        self.assertTrue(odd["artifactLocation"]["uri"].endswith("/a%20fabric%3A%20100%25.yaml"))

    def test_sarif_suppressions(self):
        text = BAD + "check: {ignore: [{rule: PFC001, device: leaf0, reason: a <\"known\"> thing}]}\n"
        ignored, base = self.path("ignored.yaml", text), self.path("baseline")
        self.check("--write-baseline", base, ignored, status=0)
        results = self.sarif("--baseline", base, ignored)["results"]
        self.assertEqual([(result["ruleId"], result["suppressions"][0]["kind"], result["suppressions"][0]["justification"])
                          for result in results],
                         [("PFC001", "inSource", 'a <"known"> thing'), ("PFC006", "external", "in the baseline")])

    def test_junit(self):
        document = self.check("--junit", self.path("a & b.yaml", BAD), self.path("good.yaml", GOOD), status=1).stdout
        root = xml.etree.ElementTree.fromstring(document)
        self.assertEqual((root.tag, [suite.tag for suite in root]), ("testsuites", ["testsuite", "testsuite"]))
        suite, good = root
        self.assertTrue(suite.get("name").startswith("rocelab check: ") and suite.get("name").endswith("a & b.yaml"))
        count, configs = (str(len(ids)) for ids in self.rules())
        self.assertEqual((suite.get("tests"), suite.get("failures"), suite.get("skipped")), (count, "2", configs))
        self.assertEqual((good.get("tests"), good.get("failures"), good.get("skipped")), (count, "0", configs))
        failed = [case.get("name") for case in suite if case.find("failure") is not None]
        self.assertEqual(failed, ["PFC001", "PFC006"])
        for one in root:
            self.assertEqual(len(one), int(one.get("tests")))
            self.assertEqual(len(one.findall("testcase/skipped")), int(one.get("skipped")))
            self.assertTrue(all(case.get("name") and case.get("classname") for case in one))

    def test_baseline(self):
        bad, base = self.path("bad.yaml", BAD), self.path("baseline")
        self.check("--write-baseline", base, bad, status=0)
        self.assertRegex(self.check("--baseline", base, bad, status=0).stdout, r"0 errors, 0 warnings, 0 infos, 2 ignored")
        worse = self.path("worse.yaml", "# moved\n" + BAD + "  spine1: {pause: 802.3x}\n")
        found = json.loads(self.check("--json", "--baseline", base, worse, status=1).stdout)["findings"]
        self.assertEqual({finding["rule"] for finding in found if "ignored" not in finding}, {"PFC005"})
        self.check("--baseline", self.path("no baseline", "hello\n"), bad, status=2)
        self.check("--baseline", self.path("nothing"), bad, status=2)

    def test_baseline_knows_each_of_those_told_as_one(self):
        both, base = self.path("both.yaml", GOOD + "devices: {leaf0: {ports: {2-3: {pfc: false}}}}\n"), self.path("baseline")
        self.assertRegex(self.check(both, status=1).stdout, r"leaf0:2 .*\(and 1 more like it\)\n")
        self.check("--write-baseline", base, both, status=0)
        left = self.path("left.yaml", GOOD + "devices: {leaf0: {ports: {3: {pfc: false}}}}\n")
        self.assertIn("0 errors, 0 warnings, 0 infos, 1 ignored", self.check("--baseline", base, left, status=0).stdout)
        other = self.path("other.yaml", GOOD + "devices: {leaf1: {ports: {3: {pfc: false}}}}\n")
        self.check("--baseline", base, other, status=1)

    def test_ignored_with_a_reason(self):
        text = BAD + "check: {ignore: [{rule: PFC001, device: leaf0, reason: known}, {rule: PFC006, reason: known}]}\n"
        self.assertIn("2 ignored", self.check(self.path("ignored.yaml", text), status=0).stdout)
        text = BAD + "check: {ignore: [{rule: PFC001}]}\n"
        self.assertIn("write which rule and why", self.check(self.path("reason.yaml", text), status=2).stderr)

    def test_several_fabrics(self):
        out = self.check(self.path("good.yaml", GOOD), self.path("bad.yaml", BAD), status=1).stdout
        self.assertRegex(out, r"(?s)good.yaml: 0 errors.*bad.yaml:6:28: error")

    def test_explain(self):
        out = self.check("--explain", "HR001", self.path("good.yaml", GOOD), status=0).stdout
        self.assertRegex(out, r"H = 254/84 \* \(9216 \+ 9216 \+ 84 \+ 375 \+ 64 \* 394 \+ 4250\) = 146304 B; configured: 155702 B")
        self.assertIn("It holds.", out)
        self.assertRegex(self.check("--explain", "ECN003", self.path("good.yaml", GOOD), status=0).stdout, r"T_3 = 1/8 \* ")
        self.assertIn("is violated 1 time, first:", self.check("--explain", "PFC001", self.path("bad.yaml", BAD), status=0).stdout)
        self.assertIn("Source: IEEE Std 802.1Q", self.check("--explain", "PFC001", status=0).stdout)
        self.assertIn("Only a configuration", self.check("--explain", "SYN001", status=0).stdout)

    def test_the_page_is_the_list(self):
        page = (SOURCE / "docs" / "rules" / "README.md").read_text(encoding="utf-8")
        text = self.check("--list", status=0).stdout
        self.assertEqual(page.partition("    $ rocelab check --list\n")[2], re.sub(r"(?m)^(?=.)", "    ", text))
        listed = re.findall(r"(?m)^([A-Z]+\d{3}) ", text)
        self.assertGreater(len(listed), 50)
        full = self.check("--list", "--markdown", status=0).stdout
        self.assertEqual(listed, re.findall(r"(?m)^## ([A-Z]+\d{3}):", full))
        self.assertEqual([len(re.findall(rf"(?m)^{part}: ", full)) for part in ("Fix", "Source")], [len(listed)] * 2)

    def test_examples_pass(self):
        """All but those that show a defect; warnings are those named here, and no others."""
        for example in sorted([*(SOURCE / "examples").glob("*.yaml"), *(SOURCE / "examples" / "questions").glob("*.yaml")]):
            result = self.check("--json", str(example))
            found = {severity: {finding["rule"] for finding in json.loads(result.stdout)["findings"]
                                if finding["severity"] == severity} for severity in ("error", "warning")}
            self.assertEqual((found["error"], found["warning"]),
                             (set(DEFECTS.get(example.name, ())), set(WARNINGS.get(example.name, ()))), example.name)
            self.assertEqual(result.returncode, 1 if example.name in DEFECTS else 0, result.stderr)

    def test_an_mtu_that_verbs_have_not(self):
        result = self.check(self.path("big.yaml", GOOD + "nics: {mtu: 9000}\n"), status=0)
        self.assertIn("warning[MTU001]: h0:0 has an mtu of 9000; a RoCE packet carries 4096 B at most", result.stdout)

    def test_the_shortest_file_passes(self):
        """As docs/fabric.md has it: a default is no error."""
        page = (SOURCE / "docs" / "fabric.md").read_text(encoding="utf-8")
        shortest = re.search(r"The shortest file .*?:\n\n((?:    .*\n)+)", page).group(1)
        result = self.check("--json", self.path("short.yaml", shortest.replace("    ", "")), status=0)
        self.assertEqual({finding["severity"] for finding in json.loads(result.stdout)["findings"]}, {"info"})
        result = self.check(self.path("none.yaml", shortest.replace("    ", "") + "switches: {watchdog: false}\n"), status=1)
        self.assertIn("error[WD001]", result.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
