# SPDX-License-Identifier: Apache-2.0
"""rocelab suggest: the values follow from the formulas, satisfy the rules, and wrong use is told."""
import json
import pathlib
import unittest

from support import SOURCE, Case, once, rocelab

ONE = """rocelab: 1
topology: {single: {hosts: 9}}
links: {host: {rate: 100G, cable: 20m}}
switches: {buffer: 8MB, cell: 1B, latency: 500ns}
classes:
  - {name: rdma, dscp: 26, priority: 3, lossless: true, ecn: {min: 900KB, max: 2MB, probability: 10%}}
  - {name: default, priority: 0}
"""
EXAMPLES = sorted(path for folder in ("", "cases", "questions") for path in (SOURCE / "examples" / folder).glob("*.yaml"))
RULES = "ECN,PFC,HR,WD,BUF"


class Suggest(Case):
    def suggest(self, topic, text, status=None):
        path = text if isinstance(text, pathlib.Path) else self.file("fabric.yaml", text.encode())
        result = rocelab("suggest", topic, path, "--json", cwd=self.folder)
        self.assertIn(result.returncode, (0, 1) if status is None else (status,), result.stderr)
        document = json.loads(result.stdout)
        self.assertEqual((document["version"], document["kind"]), (1, "suggest"))
        return document

    def values(self, document):
        return {value["key"]: value for value in document["values"]}

    @once
    def test_examples_satisfy_the_rules(self):
        self.assertGreater(len(EXAMPLES), 40)
        before = 0
        for path in EXAMPLES:
            document = self.suggest("all", path)
            self.assertEqual(document["findings_left"], [], path.name)
            for value in document["values"]:
                self.assertTrue(value["possible"], (path.name, value))
                self.assertTrue((value["least"] or 0) <= value["value"], (path.name, value))
                self.assertTrue(value["most"] is None or value["value"] <= value["most"], (path.name, value))
            before += any(not value["inside"] for value in document["values"])
        self.assertGreater(before, 10)  # of those that are there to be wrong

    def test_headroom_that_does_not_fit_is_printed_first(self):
        """What each kind of port takes, then what does not fit; a pool helps where many ports have it, and is no advice for one."""
        text = """rocelab: 1
topology: {leaf-spine: {leaves: 2, spines: %d, hosts: 2, oversubscription: %s}}
links: {host: {rate: 400G, cable: 3m}, fabric: {rate: 400G, cable: %s}}
switches: {model: tomahawk4}
"""
        path = self.file("fabric.yaml", (text % (4, "2/4", "40km")).encode())
        result = rocelab("suggest", "headroom", path)
        self.assertEqual((result.returncode, result.stderr), (1, ""))
        self.assertRegex(result.stdout, r"(?s)headroom: room for what arrives.*400G, 40km, tomahawk4.*no value satisfies the rules: at least 6\d\.\d+MB, at most 2\d\.\d+MB.*"
                                        r"254/84: a frame of 84 B on the line, with preamble and gap,\s+takes 254 B of cells.*headroom-pool +101829411B")
        self.assertRegex(result.stdout, r"    leaf:\n      headroom-pool: ")
        result = rocelab("suggest", "headroom", self.file("far.yaml", (text % (1, "2/1", "100km")).encode()))
        self.assertEqual((result.returncode, result.stderr), (1, ""))
        self.assertRegex(result.stdout, r"(?s)400G, 100km, tomahawk4.*What does not fit:\n  'leaf0': reserve and headroom .*; one port takes 1\d\d\.\dMB: a shorter or slower link, or a deeper buffer\n")
        self.assertNotIn("headroom-pool:", result.stdout)
        self.assertRegex(rocelab("check", path).stderr, r"'leaf0': .*; share it: switches: \{headroom-pool: SIZE\}, of 6\d\.\d+MB or more \(one port's\)\n")
        document = self.suggest("headroom", (text % (1, "2/1", "100km")), 1)
        self.assertEqual(len(document["does_not_fit"]), 2)
        self.assertRegex(rocelab("check", path).stderr, r"one port takes 1\d\d\.\dMB: a shorter")

    @once
    def test_the_printed_lines_are_the_ones_checked(self):
        """Where a file has no layers of its own, the lines can be put below it."""
        tried = 0
        for path in EXAMPLES:
            text = path.read_text()
            if "\nroles:" in text or "\ndevices:" in text:
                continue
            printed = rocelab("suggest", "all", path, cwd=self.folder).stdout
            lines = printed.split("For the fabric file:\n")[1].split("\n\n")[0]
            lines = "".join(line[2:] + "\n" for line in lines.split("\n"))
            copy = self.file("with.yaml", (text + "\n" + lines).encode())
            result = rocelab("check", "--strict", "--failures", "0", "--select", RULES, copy, cwd=path.parent)
            self.assertEqual((result.returncode, result.stdout.count("[")), (0, 0), result.stdout + result.stderr)
            tried += 1
        self.assertGreater(tried, 20)

    def test_marking_is_the_formula(self):
        values = self.values(self.suggest("ecn", ONE, status=1))
        hop = 100e9 * 2 * (100e-9 + 500e-9) / 8
        trip = 4 * 100e-9 + 2 * 500e-9 + 2 * 600e-9 + 2 * (4096 + 82) * 8 / 100e9
        headroom = 2 * 9216 + 84 + 2 * 20 * 100e9 / 8 / 2e8 + 64 * 394 + 340e-9 * 100e9 / 8 + 9216
        shared = 8e6 - 9 * (headroom + 9216)
        threshold = shared / 8 / (1 + 8 / 8) + 9216
        self.assertEqual(values["ecn.min"]["least"], round(hop))
        self.assertAlmostEqual(values["ecn.max"]["most"], threshold, delta=100)
        self.assertAlmostEqual(values["ecn.min"]["value"], 100e9 * trip / 8, delta=1000)
        self.assertEqual(values["ecn.max"]["value"], 4 * values["ecn.min"]["value"])
        self.assertFalse(values["ecn.max"]["inside"])
        self.assertEqual(values["ecn.max"]["today"], 2000000)

    def test_a_threshold_below_the_curve_makes_it_smaller(self):
        values = self.values(self.suggest("ecn", ONE.replace("lossless: true,", "lossless: true, xoff: 100KB,")))
        self.assertEqual(values["ecn.max"]["most"], 100000 + 9216 - 1)
        self.assertLess(values["ecn.max"]["value"], 100000)
        self.assertGreaterEqual(values["ecn.min"]["value"], values["ecn.min"]["least"])

    def test_no_curve_fits(self):
        """A cable that holds more than the threshold: nothing satisfies both rules, and that is said."""
        text = ONE.replace("lossless: true,", "lossless: true, xoff: 20KB,").replace("cable: 20m", "cable: 600m")
        document = self.suggest("ecn", text, status=1)
        self.assertFalse(self.values(document)["ecn.max"]["possible"])
        self.assertEqual(document["lines"], [])
        printed = rocelab("suggest", "ecn", "fabric.yaml", cwd=self.folder).stdout
        self.assertRegex(printed, r"ecn.min +no value satisfies the rules: at least 87.5KB, at most 29.21KB; the file")
        self.assertIn("another value has to change first", printed)
        self.assertNotIn("With these lines", printed)  # there are none
        self.assertNotIn("has to change.\n", printed)

    def test_headroom_that_is_given(self):
        text = ONE.replace("lossless: true,", "lossless: true, headroom: 20KB,")
        document = self.suggest("headroom", text, status=1)
        headroom = self.values(document)["headroom"]
        self.assertEqual(headroom["today"], 20000)
        self.assertEqual([line["path"] for line in document["lines"] if "headroom" in line["path"]],
                         ["roles.leaf.classes.rdma.headroom"])
        self.assertFalse([finding for finding in document["findings_left"] if finding["rule"].startswith("HR")])

    def test_the_innermost_layer_wins(self):
        text = ONE + "devices: {leaf0: {ports: {2: {classes: {rdma: {ecn: false}}}}}}\n"
        document = self.suggest("ecn", text, status=1)
        self.assertIn("devices.leaf0.ports.2.classes.rdma.ecn", [line["path"] for line in document["lines"]])
        self.assertEqual([finding for finding in document["findings_left"] if finding["rule"] == "ECN001"], [])

    def test_watchdog_of_a_system(self):
        slow = "watchdog: {poll: 100ms, detect: 100ms, restore: 50ms}"
        text = ONE.replace("buffer: 8MB,", f"buffer: 8MB, nos: eos, {slow},")
        values = self.values(self.suggest("watchdog", text, status=1))
        self.assertEqual(values["watchdog.detect"]["least"], 2 * values["watchdog.poll"]["value"])
        self.assertFalse(values["watchdog.detect"]["inside"])
        self.assertGreaterEqual(values["watchdog.restore"]["value"], values["watchdog.detect"]["value"])

    def test_no_watchdog_is_said(self):
        self.file("fabric.yaml", ONE.encode())
        printed = rocelab("suggest", "watchdog", "fabric.yaml", cwd=self.folder).stdout
        self.assertRegex(printed, r"watchdog.detect +200ms \(.*\); the file: none, check takes 200ms, inside")

    def test_each_topic_alone(self):
        """Its own rules find nothing that is an error, with its own lines alone; but where no value satisfies them."""
        own = {"ecn": "ECN", "headroom": "HR", "buffers": ("PFC", "BUF"), "watchdog": "WD"}
        for name in ("pod64", "leaf-spine", "storage", "two-sites", "disagreement"):
            for topic, rules in own.items():
                left = self.suggest(topic, SOURCE / "examples" / f"{name}.yaml")["findings_left"]
                self.assertEqual([one for one in left if one["rule"].startswith(rules)], [], (name, topic))

    def test_wrong_use(self):
        self.file("fabric.yaml", ONE.encode())
        infiniband = ONE.split("classes:")[0].replace("rocelab: 1\n", "rocelab: 1\nsystem: infiniband\n")
        self.file("ib.yaml", infiniband.encode())
        lossy = ONE.split("classes:")[0] + "classes: [{name: default, priority: 0}]\n"
        self.file("lossy.yaml", lossy.encode())
        self.file("dot.yaml", ONE.replace("name: rdma", "name: r.d").encode())
        for arguments, message in ((("all", "lossy.yaml"), "no class is lossless"), (("ecn", "dot.yaml"), "a name with a dot"),
                                   ((), "a TOPIC and one FABRIC are due"), (("ech", "fabric.yaml"), "did you mean 'ecn'"),
                                   (("speed", "fabric.yaml"), "there are ecn, headroom"), (("ecn", "no.yaml"), "No such file"),
                                   (("ecn", "ib.yaml"), "InfiniBand has no such"), (("all", "ib.yaml"), "has none of these")):
            result = rocelab("suggest", *arguments, cwd=self.folder)
            self.assertEqual((result.returncode, result.stdout), (2, ""), arguments)
            self.assertIn(message, result.stderr)


if __name__ == "__main__":
    unittest.main()
