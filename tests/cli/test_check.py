# SPDX-License-Identifier: Apache-2.0
"""`rocelab check` of configurations as an operator sees it: folded lines, choice of rules, ends that nobody knows, colour."""
import json
import os
import pathlib
import pty
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

ROCELAB = os.environ["ROCELAB"]
FABRIC = """rocelab: 1
topology: {leaf-spine: {leaves: 2, spines: 1, hosts: 4}}
links: {host: {rate: 400G, cable: 3m}, fabric: {rate: 400G, cable: 30m}}
switches: {model: tomahawk5, watchdog: true}
"""


class Check(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.place = pathlib.Path(cls.folder.name)
        (cls.place / "f.yaml").write_text(FABRIC, encoding="utf-8")
        subprocess.run([ROCELAB, "config", "f.yaml", "--nos", "nxos", "--quiet", "--out", "good"], check=True, cwd=cls.place,
                       stderr=subprocess.DEVNULL)
        (cls.place / "bad").mkdir()
        for path in (cls.place / "good").glob("*.cfg"):  # neither chips nor links, and one leaf that negotiates
            lines = [line for line in path.read_text(encoding="utf-8").splitlines(keepends=True)
                     if "device:" not in line and "description" not in line and "ip address" not in line]
            text = "".join(lines)
            if path.stem == "leaf0":
                text = text.replace("priority-flow-control mode on", "priority-flow-control mode auto")
            (cls.place / "bad" / path.name).write_text(text, encoding="utf-8")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def check(self, *arguments, status):
        result = subprocess.run([ROCELAB, "check", *arguments], capture_output=True, text=True, check=False, cwd=self.place)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return result

    def test_whole(self):
        out = self.check("good", status=0).stdout
        self.assertIn("8 ports have no known other end among the devices given (leaf0 Ethernet1/1-4; leaf1 Ethernet1/1-4)", out)
        self.assertRegex(out, r"(?m)^3 devices: 0 errors")

    def test_baseline(self):
        def without_pfc(name):
            path = self.place / "changed" / name
            text = path.read_text(encoding="utf-8")
            path.write_text(text.replace("priority-flow-control mode on", "priority-flow-control mode off"), encoding="utf-8")

        for kind in ((), ("--json",)):
            base, changed = str(self.place / "base"), self.place / "changed"
            shutil.copytree(self.place / "good", changed)
            without_pfc("leaf0.cfg")
            self.check("changed", status=1)
            self.check("changed", *kind, "--write-baseline", base, status=0)
            for how in ((), ("--all",)):
                out = self.check("changed", *how, "--baseline", base, "--strict", status=0).stdout
                self.assertRegex(out, r"0 errors, 0 warnings, 0 infos, \d+ ignored")
            found = json.loads(self.check("changed", "--json", "--baseline", base, status=0).stdout)["findings"]
            self.assertTrue(found and all("ignored" in finding for finding in found), found)
            without_pfc("leaf1.cfg")
            self.check("changed", "--baseline", base, status=1)
            shutil.rmtree(changed)

    def test_folded(self):
        out = self.check("bad", "--select", "PFC006", status=0).stdout.splitlines()
        self.assertEqual(len([line for line in out if "[PFC006]" in line]), 1)
        self.assertRegex(out[0], r"^bad/leaf0.cfg:\d+:1: warning\[PFC006\]: leaf0 Ethernet1/1 .*"
                                 r"\(and 4 more like it: Ethernet1/2-5\)$")
        self.assertEqual(out[-1], "3 devices: 0 errors, 1 warning, 0 infos")
        each = self.check("bad", "--select", "PFC006", "--all", status=0).stdout.splitlines()
        self.assertEqual(len([line for line in each if "[PFC006]" in line]), 5)
        self.assertEqual(each[-1], "3 devices: 0 errors, 5 warnings, 0 infos")
        found = json.loads(self.check("bad", "--json", status=0).stdout)["findings"]
        alike = [one for one in found if one["rule"] == "PFC006"]
        self.assertEqual([(one["port"], one["also"]) for one in alike], [("Ethernet1/1", 4)])
        self.assertEqual([place["port"] for place in alike[0]["places"]], [f"Ethernet1/{n}" for n in range(2, 6)])
        lines = (self.place / "bad" / "leaf0.cfg").read_text(encoding="utf-8").splitlines()
        for place in alike[0]["places"]:  # its own block, each
            self.assertIn(f"interface {place['port']}", lines[:place["line"]])
            self.assertNotEqual(place["line"], alike[0]["line"])
        results = json.loads(self.check("bad", "--sarif", status=0).stdout)["runs"][0]["results"]
        alike = [one for one in results if one["ruleId"] == "PFC006"]
        self.assertEqual([len(one["relatedLocations"]) for one in alike], [4])
        each = json.loads(self.check("bad", "--json", "--all", status=0).stdout)["findings"]
        self.assertEqual([one["port"] for one in each if one["rule"] == "PFC006"], [f"Ethernet1/{n}" for n in range(1, 6)])

    def test_values_are_not_folded(self):
        """Ports that are wrong in different ways are different things to mend."""
        text = (self.place / "bad" / "leaf1.cfg").read_text(encoding="utf-8")
        for mtu in ("1500", "2000"):
            text = re.sub(r"(?m)^  mtu (?!1500|2000)\d+\n", f"  mtu {mtu}\n", text, count=1)
        (self.place / "leaf1.cfg").write_text(text, encoding="utf-8")
        out = self.check("leaf1.cfg", "--select", "MTU001", status=1).stdout
        self.assertEqual(len([line for line in out.splitlines() if "[MTU001]" in line]), 2)
        self.assertIn("leaf1.cfg: ", out.splitlines()[-1])

    def test_not_known(self):
        out = self.check("bad", status=0).stdout
        self.assertIn("cannot be judged: HR003, BUF001, ECN003 of leaf0-1, spine0: the chip is not said", out)
        self.assertIn("12 ports have no known other end among the devices given (leaf0 Ethernet1/1-5; leaf1 Ethernet1/1-5; spine0 Ethernet1/1-2): 9 rules", out)
        self.assertNotIn("deadlocks", out)
        self.assertNotIn("cannot be judged", self.check("bad", "--model", "tomahawk5", status=0).stdout)
        document = json.loads(self.check("bad", "--json", status=0).stdout)
        self.assertEqual(len(document["unknown_ends"]["ports"]), 12)
        self.assertIn("PFC001", document["unknown_ends"]["rules"])
        rules = {line.split()[0] for line in self.check("--list", status=0).stdout.splitlines()}
        self.assertEqual(set(document["unknown_ends"]["rules"]) - rules, set())
        self.assertEqual({one["rule"] for one in document["unjudged"]}, {"HR003", "BUF001", "ECN003"})

    def test_fabrics_and_configurations(self):
        for arguments in (("f.yaml", "good/leaf0.cfg"), ("good/leaf0.cfg", "good/leaf1.cfg", "f.yaml")):
            self.assertIn("f.yaml is a fabric file and good/leaf0.cfg is none", self.check(*arguments, status=2).stderr)

    def test_classes_of_one_line(self):
        """One line that is wrong for two classes is told once."""
        fabric = FABRIC + ("classes:\n" + "".join(f"  - {{name: {name}, dscp: {dscp}, priority: {priority}, lossless: true, share: 40%}}\n"
                                                  for name, dscp, priority in (("one", 24, 3), ("two", 32, 4))) +
                           "  - {name: default, priority: 0, share: 20%}\n")
        (self.place / "two.yaml").write_text(fabric, encoding="utf-8")
        subprocess.run([ROCELAB, "config", "two.yaml", "--nos", "sonic", "--quiet", "--device", "leaf0", "--out", "two"], check=True,
                       cwd=self.place, stderr=subprocess.DEVNULL)
        path = self.place / "two" / "leaf0.json"
        path.write_text(re.sub(r'"xoff": "\d+"', '"xoff": "1000"', path.read_text(encoding="utf-8")), encoding="utf-8")
        lines = [line for line in self.check("two", "--select", "HR001", status=1).stdout.splitlines() if "HR001" in line]
        each = [line for line in self.check("two", "--select", "HR001", "--all", status=1).stdout.splitlines() if "HR001" in line]
        self.assertGreater(sum("'lossless4'" in line for line in each), 0)
        places = {line.split(" ")[0] for line in each}
        self.assertEqual(len(lines), len(places), lines)
        self.assertIn("(and 7 more like it: Ethernet8 to Ethernet24)", lines[0])

    def test_a_broken_uplink(self):
        """One uplink without PFC and with small frames, and nothing but addresses says where it leads."""
        folder = self.place / "addressed"
        folder.mkdir()
        for path in (self.place / "bad").glob("*.cfg"):
            text = path.read_text(encoding="utf-8").replace("mode auto", "mode on")
            uplinks = {"leaf0": {"1/5": "10.0.0.0/31"}, "leaf1": {"1/5": "10.0.0.2/31"},
                       "spine0": {"1/1": "10.0.0.1/31", "1/2": "10.0.0.3/31"}}[path.stem]
            for port, address in uplinks.items():
                text = text.replace(f"interface Ethernet{port}\n", f"interface Ethernet{port}\n  ip address {address}\n")
            if path.stem == "leaf0":
                before, uplink = text.split("interface Ethernet1/5\n")
                text = before + "interface Ethernet1/5\n" + uplink.replace("mtu 9216", "mtu 1500", 1).replace("mode on", "mode off", 1)
            (folder / path.name).write_text(text, encoding="utf-8")
        lines = self.check("addressed", "--model", "tomahawk5", "--cable", "30m", status=1).stdout.splitlines()
        errors = [line for line in lines if ": error[" in line]
        self.assertEqual(len(errors), 2, lines)
        self.assertRegex(errors[0], r"^addressed/leaf0.cfg:\d+:1: error\[MTU001\]: leaf0 Ethernet1/5 .* spine0 Ethernet1/1 of 9216 B")
        self.assertRegex(errors[1], r"^addressed/leaf0.cfg:\d+:1: error\[PFC001\]: leaf0 Ethernet1/5 .* spine0 Ethernet1/1 has it on for priority 3")
        self.assertIn("8 ports have no known other end among the devices given (leaf0 Ethernet1/1-4; leaf1 Ethernet1/1-4)", lines[-2])

    def test_assumed_once(self):
        for name in ("bad/leaf0.cfg", "bad/leaf1.cfg", "bad/spine0.cfg"):
            text = (self.place / name).read_text(encoding="utf-8")
            (self.place / ("slow-" + pathlib.Path(name).name)).write_text(re.sub(r"  speed \d+\n", "", text), encoding="utf-8")
        files = [f"slow-{name}.cfg" for name in ("leaf0", "leaf1", "spine0")]
        lines = [line for line in self.check(*files, status=0).stdout.splitlines() if "assumed" in line]
        self.assertEqual(len(lines), 1, lines)
        self.assertIn("assumed of leaf0-1, spine0: the rate of its ports is not said", lines[0])

    def test_choice(self):
        self.assertNotIn("PFC006", self.check("bad", "--ignore", "PFC", status=0).stdout)
        out = self.check("bad", "--select", "PFC,HR003", "--ignore", "HR", status=0).stdout
        self.assertIn("PFC006", out)
        self.assertNotIn("HR003", out)
        self.check("bad", "--strict", status=1)
        self.check("bad", "--strict", "--ignore", "PFC006", status=0)
        for option, argument, words in (("--select", "PFC06", "did you mean 'PFC006'?"), ("--ignore", "", "a rule is expected"),
                                        ("--select", "PFC,", "a rule is expected"), ("--ignore", "XYZ", "lists them")):
            self.assertIn(words, self.check("bad", option, argument, status=2).stderr)
        self.assertIn("PFC006", self.check("bad", "--select", "HR", "--select", "PFC", status=0).stdout)
        for arguments, words in ((("--select", "PFC", "--ignore", "PFC"), "--ignore leaves out every rule that --select names"),
                                 (("--ignore", ",".join(sorted({rule[:2] for rule in self.rules()}))), "--ignore leaves out every rule;")):
            result = self.check("bad", *arguments, status=2)
            self.assertIn(words, result.stderr)
            self.assertEqual(result.stdout, "")

    def rules(self):
        return re.findall(r"(?m)^[A-Z]+\d{3}\b", self.check("--list", status=0).stdout)

    def test_one_format(self):
        for first, second in (("--json", "--sarif"), ("--json", "--junit"), ("--sarif", "--junit")):
            result = self.check("bad", second, first, status=2)
            self.assertIn(f"{first} and {second} are two formats; give one of them", result.stderr)
            self.assertEqual(result.stdout, "")

    def test_names_of_suites(self):
        """All configurations together are one suite, which the first file did not make."""
        for inputs, name in ((("bad",), "rocelab check: 3 devices"), (("bad/leaf0.cfg",), "rocelab check: bad/leaf0.cfg")):
            root = xml.etree.ElementTree.fromstring(self.check(*inputs, "--junit", status=0).stdout)
            self.assertEqual([suite.get("name") for suite in root], [name])

    def test_explain_says_what_check_says(self):
        """Of findings that are made while a configuration is read, too, and of what cannot be judged."""
        text = (self.place / "bad" / "leaf1.cfg").read_text(encoding="utf-8")
        (self.place / "odd.cfg").write_text(text + "priority-flow-control watch-dog-interval 200\n", encoding="utf-8")
        out = self.check("--explain", "SYN001", "odd.cfg", status=0).stdout
        self.assertIn("is found while one is read.\n\nIn 'imported':\n  It is violated 1 time, first:\n    error: 'priority-flow-control watch-dog", out)
        self.assertIn("\n  It holds.\n", self.check("--explain", "SYN001", "bad", status=0).stdout)
        self.assertNotIn("It holds", self.check("--explain", "SYN001", status=0).stdout)
        out = self.check("--explain", "HR003", "bad", status=0).stdout
        self.assertIn("No violation was found; it cannot be judged everywhere", out)
        self.assertIn("is violated 5 times", self.check("--explain", "PFC006", "bad", "--ignore", "PFC", status=0).stdout)

    def test_colour(self):
        def seen(**more):
            parent, child = pty.openpty()
            subprocess.run([ROCELAB, "check", "bad", "--select", "PFC006"], stdout=child, check=False, cwd=self.place,
                           env={**os.environ, "TERM": "xterm", **more})
            os.close(child)
            text = os.read(parent, 100000)
            os.close(parent)
            return text
        self.assertIn(b"\x1b[", seen(NO_COLOR=""))
        self.assertNotIn(b"\x1b[", seen(NO_COLOR="1"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
