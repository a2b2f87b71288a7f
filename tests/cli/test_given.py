# SPDX-License-Identifier: Apache-2.0
"""What a person adds to configurations: --model, --cable, --facts, rocelab.yaml beside them; and directories."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROCELAB = os.environ["ROCELAB"]

LEAF = """version 10.3(3)
feature bgp
hostname {name}
interface Ethernet1/1
  no switchport
  mtu 9216
  no shutdown
interface Ethernet1/2
  no switchport
  mtu 9216
  description {described}
  no shutdown
"""


class Given(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "cfg" / "spines").mkdir(parents=True)
        for name, described in (("leaf0", "spine0:Ethernet1/1,7m"), ("leaf1", "nothing"), ("spine0", "nothing")):
            place = "cfg/spines" if name == "spine0" else "cfg"
            self.file(f"{place}/{name}.cfg", LEAF.format(name=name, described=described))

    def file(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")

    def run_verb(self, *arguments, status=0):
        result = subprocess.run([ROCELAB, *arguments], capture_output=True, text=True, check=False, cwd=self.folder)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return result

    def fabric(self, *arguments):
        return self.run_verb("import", "--quiet", "cfg", *arguments).stdout

    def test_directory(self):
        self.file("cfg/README", "not a configuration\n")
        self.file("cfg/.hidden.cfg", LEAF.format(name="hidden", described="x"))
        self.file("cfg/spines/fabric.yaml", "rocelab: 1\n")
        (self.folder / "cfg" / "spines" / "deeper").mkdir()
        self.file("cfg/spines/deeper/leaf7.cfg", LEAF.format(name="leaf7", described="x"))
        result = self.run_verb("import", "cfg/")
        self.assertIn("passed over, no configuration of a known format: cfg/README, cfg/spines/deeper\n", result.stderr)
        self.assertIn("passed over, a fabric file among configurations: cfg/spines/fabric.yaml\n", result.stderr)
        for name, there in (("leaf0", True), ("leaf1", True), ("spine0", True), ("hidden", False), ("leaf7", False)):
            self.assertEqual(f"- {name}\n" in result.stdout, there, name)
        self.assertIn('{a: "leaf0:1", b: "spine0:0"', result.stdout)

    def test_what_cannot_be_looked_at(self):
        for name in ("cfg/leaf2.cfg", "cfg/spines/circle", "cfg/rocelab.yaml"):
            circle = self.folder / name
            circle.symlink_to(circle)
            self.assertIn(f"{name}: Too many levels of symbolic links\n", self.run_verb("import", "cfg", status=2).stderr)
            circle.unlink()
        (self.folder / "cfg" / "nowhere").symlink_to("nothing")
        self.assertIn("passed over, no configuration of a known format: cfg/nowhere\n", self.run_verb("import", "cfg").stderr)
        self.assertIn("cfg: Is a directory\n", self.run_verb("check", "cfg", "--baseline", "cfg", status=2).stderr)

    def test_models(self):
        text = self.fabric("--model", "tomahawk4", "--model", "leaf*=DCS-7060X6-64PE")
        self.assertEqual((text.count("model: tomahawk5"), text.count("model: tomahawk4")), (2, 1))

    def test_cables(self):
        self.assertIn('{a: "leaf0:1", b: "spine0:0", rate: 100G, cable: 7m}', self.fabric("--cable", "30m"))
        self.assertIn('{a: "leaf0:0", b: "unknown.leaf0:0", rate: 100G, cable: 30m}', self.fabric("--cable", "30m"))
        for pattern in ("spine*", "spine0:Ethernet1/1", "leaf0:*"):
            self.assertIn('{a: "leaf0:1", b: "spine0:0", rate: 100G, cable: 300m}', self.fabric("--cable", f"{pattern}=300m"))

    def test_facts(self):
        facts = ("models: {leaf*: tomahawk5, spine0: N9K-C9364D-GX2A}\ncables: {leaf1*: 5m}\n"
                 "links:\n- [leaf1:Ethernet1/1, spine0:Ethernet1/2]\n")
        self.file("facts.yaml", facts)
        self.file("cfg/rocelab.yaml", facts + "- [leaf9:Ethernet1/1, spine0:Ethernet1/2]\n")  # beside: of others too
        named, beside = self.fabric("--facts", "facts.yaml"), self.fabric()
        self.assertIn('{a: "leaf1:0", b: "spine0:1", rate: 100G, cable: 5m}', named)
        self.assertEqual(named, beside)
        self.assertIn("model: cloudscale-gx2a", named)
        self.file("cfg/rocelab.yaml", "rocelab: 1\n")  # a fabric that is called so
        self.assertNotIn("model:", self.fabric())

    def test_cable_of_a_link(self):
        """Its length stays with the link, by whichever name its end is known."""
        for end in ("leaf1:Ethernet1/1", "leaf1:eth1/1"):
            self.file("facts.yaml", f'links:\n- {{a: "{end}", b: "spine0:Eth1/2", cable: 30m}}\n')
            self.assertIn('{a: "leaf1:0", b: "spine0:1", rate: 100G, cable: 30m}', self.fabric("--facts", "facts.yaml"))
        self.file("facts.yaml", 'links:\n- {a: "leaf1:eth1/1", b: "spine0:Eth1/2", cable: 30}\n')
        self.wrong("write a unit, as in 30m", "import", "cfg", "--facts", "facts.yaml")

    def wrong(self, words, *arguments):
        result = self.run_verb(*arguments, status=2)
        self.assertEqual(result.stdout, "")
        self.assertIn(words, result.stderr)

    def test_wrong(self):
        for verb in ("check", "import"):
            self.wrong("did you mean 'tomahawk5'?", verb, "cfg", "--model", "leaf*=tomahawk55")
            self.wrong("no switch is called so; devices: leaf0, leaf1, spine0", verb, "cfg", "--model", "lef*=tomahawk5")
            self.wrong("write a unit, as in 30m", verb, "cfg", "--cable", "30")
            self.wrong("a cable has a length", verb, "cfg", "--cable", "0m")
            self.wrong("no device and no DEVICE:PORT is called so", verb, "cfg", "--cable", "leaf0:Ethernet9*=3m")
            self.wrong("no device before the '='", verb, "cfg", "--model", "=tomahawk5")
        for text, words in (("models: {leaf9: tomahawk5}\n", "facts.yaml:1:10: error: 'leaf9': no switch is called so"),
                            ("models: {leaf0: tomahwk5}\n", "facts.yaml:1:17: error: 'tomahwk5' is no known chip"),
                            ("cables: [3m]\n", "facts.yaml:1:9: error: a map of patterns"),
                            ("links: [[leaf0:Ethernet1/1]]\n", "facts.yaml:1:9: error: a link is two ends"),
                            ("links:\n- [leaf0:Ethernet1/9, spine0:Ethernet1/1]\n", "leaf0 has no port 'Ethernet1/9'; its ports are"),
                            ("chips: {}\n", "facts.yaml:1:1: error: 'chips': models, cables or links")):
            self.file("facts.yaml", text)
            self.wrong(words, "check", "cfg", "--facts", "facts.yaml")
        self.file("f.yaml", "rocelab: 1\ntopology: {star: {hosts: 2}}\n")
        self.wrong("a fabric file says it itself", "check", "f.yaml", "--cable", "3m")
        self.wrong("missing: No such file", "check", "missing")
        self.file("empty.cfg", "\n")
        self.wrong("empty.cfg: is empty; a configuration is expected", "check", "--from", "nxos", "empty.cfg")
        self.file("leaf.yaml", "- set:\n    system:\n      hostname: leaf0\n    interface:\n      swp1:\n        link:\n          mtu: 9216\n")
        self.run_verb("check", "--from", "nvue", "leaf.yaml")
        self.wrong("leaf.yaml: nothing in it is of sonic; it looks like nvue", "check", "--from", "sonic", "leaf.yaml")
        (self.folder / "empty").mkdir()
        self.wrong("empty: no configuration and no fabric file in it", "check", "empty")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
