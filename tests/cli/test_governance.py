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


if __name__ == "__main__":
    unittest.main()
