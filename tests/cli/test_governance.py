# SPDX-License-Identifier: Apache-2.0
"""The story of docs/governance.md, command by command, with the file that it shows."""
import re
import unittest

from support import SOURCE, Case, rocelab

HEAD = """rocelab: 1
fabric: story
topology: {leaf-spine: {leaves: 1, spines: 1, hosts: 2}}
links: {host: {rate: 100G, cable: 3m}, fabric: {rate: 200G, cable: 30m}}
classes:
  - {name: rdma, dscp: 26, priority: 3, lossless: true, ecn: {min: 500KB, max: 1500KB, probability: 10%}, share: 90%}
  - {name: cnp, dscp: 48, priority: 6, strict: true}
  - {name: default, priority: 0, share: 10%}
"""


def shown():
    """The part of a fabric file that the page shows, and the commands below it."""
    page = (SOURCE / "docs" / "governance.md").read_text(encoding="utf-8")
    story = page.split("## The story")[1].split("## Owners")[0]
    lines = re.findall(r"^    (?! )(.*)$|^    (  .*)$", story.split("1. Bo")[0], re.M)
    commands = [line.split("#")[0].split() for line in re.findall(r"^       rocelab (.*)$", story, re.M)]
    return "".join((one or other) + "\n" for one, other in lines), commands


class Governance(Case):
    def run_shown(self, *words, status, also=()):
        """A command as the page has it, and what a test adds to be short."""
        self.assertIn(list(words), self.commands)
        words = [str(path) for word in words for path in (sorted((self.folder / "configs").glob("*.cfg")) if "*" in word else [word])]
        result = rocelab(*words, *also, cwd=self.folder)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return result.stdout + result.stderr

    def test_story(self):
        text, self.commands = shown()
        self.assertIn("teams: {fabric: [ann]", text)
        approved = self.file("approved.yaml", (HEAD + text).encode())
        self.file("proposed.yaml", (HEAD + text).replace("500KB", "600KB").encode())
        self.assertIn("owner: fabric; bo may not change it", self.run_shown("diff", "approved.yaml", "proposed.yaml", "--by", "bo", status=1))
        self.run_shown("diff", "approved.yaml", "proposed.yaml", "--by", "ann", status=0)
        self.run_shown("check", "proposed.yaml", status=0)
        self.run_shown("validate", "proposed.yaml", "--phase", "2,3,4,5", status=0, also=["--quick"])

        self.file("approved.yaml", (self.folder / "proposed.yaml").read_bytes())
        sign = ("validate", "approved.yaml", "--write-baseline", "good.json", "--by")
        self.run_shown(*sign, "cy", status=0, also=["--quick", "--phase", "4"])
        result = rocelab(*sign, "ann", "--quick", "--phase", "4", cwd=self.folder)
        self.assertIn("baselines are platform's to sign", result.stderr)

        rocelab("config", "--nos", "eos", "--out", "configs", "approved.yaml", cwd=self.folder)
        self.run_shown("diff", "approved.yaml", "/var/configs/*.cfg", status=0)
        leaf = self.folder / "configs" / "leaf0.cfg"
        leaf.write_text(leaf.read_text().replace("minimum-threshold 600", "minimum-threshold 700"))
        said = self.run_shown("diff", "approved.yaml", "/var/configs/*.cfg", status=1)
        self.assertIn("classes.rdma.ecn.min is 700KB, approved is 600KB", said)
        self.assertIn("owner: fabric", said)

        text = approved.read_text().replace("h1: {installed: {firmware: 28.39.1002", "h1: {installed: {firmware: 28.38.1002")
        self.file("approved.yaml", text.encode())
        self.assertIn("[OPS001]: h1 has firmware '28.38.1002'", self.run_shown("check", "approved.yaml", status=0))
        said = self.run_shown("validate", "approved.yaml", "--phase", "1", status=1)
        self.assertIn("h1: firmware 28.38.1002, approved is 28.39.1002", said)

    def test_a_change_is_all_that_the_file_says(self):
        """Also what no port has: who owns what, what is approved, what `check` passes over, parameters of adapters."""
        text = HEAD + shown()[0] + """nics: {congestion: {use: dcqcn/connectx, rpg_ai_rate: 200M}}
jobs: [{incast: 1, size: 1MB}]
"""
        approved = self.file("approved.yaml", text.encode())
        for old, new, key, owner in (("fabric: [ann]", "fabric: [ann, dan]", "teams.fabric", None),
                                     ("{ecn: fabric", "{ecn: dan", "owners.ecn", "ann"),
                                     ("baseline: platform", "baseline: dan", "owners.baseline", "cy"),
                                     ("rpg_ai_rate: 200M", "rpg_ai_rate: 400M", "nics.congestion.rpg_ai_rate", "bo"),
                                     ("nics: {", "nics: {reorder: true, ", "nics.reorder", "bo"),
                                     ("host: {approved", "host: {reorder: true, approved", "reorder", "bo"),
                                     ("nos: [4.31.1F, 4.31.2F]", "nos: [4.31.1F, 4.32.0F]", "approved.nos", None),
                                     ("leaf0: {installed", "leaf0: {ports: {1: {fec: none}}, installed", "fec", None),
                                     ("jobs: [", "check: {ignore: [{rule: PFC001, reason: mine}]}\njobs: [", "check.ignore", None),
                                     ("size: 1MB", "size: 2MB", "jobs", None),
                                     ("dscp: 48", "dscp: 50", "classes.cnp.dscp", "ann")):
            self.assertEqual(text.count(old), 1, old)
            proposed = self.file("proposed.yaml", text.replace(old, new).encode())
            refused = rocelab("diff", approved, proposed, "--by", "dan")
            self.assertEqual((refused.returncode, f" {key} is " in refused.stdout), (1, True), refused.stdout + refused.stderr)
            if owner:
                self.assertEqual(rocelab("diff", approved, proposed, "--by", owner).returncode, 0, key)
        named = HEAD + "owners: {ecn: ann}\ndevices: {h0: {mtu: 4096}}\n"  # words of names are nobody's
        named = named.replace("leaf-spine: {leaves: 1, spines: 1, hosts: 2}", "links: {hosts: [h0, h.ecn], leaves: 1, links: [[h0, leaf0], [h.ecn, leaf0]]}")
        dotted = self.file("dotted.yaml", named.encode())
        refused = rocelab("diff", dotted, self.file("proposed.yaml", named.replace("h0: {mtu", "h.ecn: {reorder: true}, h0: {mtu").encode()), "--by", "ann")
        self.assertEqual(refused.returncode, 1, refused.stdout + refused.stderr)
        self.assertEqual(rocelab("diff", approved, self.file("same.yaml", text.replace("{incast", "{  incast").encode()), "--by", "dan").returncode, 0)


if __name__ == "__main__":
    unittest.main()
