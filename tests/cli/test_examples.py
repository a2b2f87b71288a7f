# SPDX-License-Identifier: Apache-2.0
"""Examples by name: from the tree, from where they are installed, and names that are nearly right."""
import pathlib
import re
import shutil
import subprocess
import unittest

from support import PROGRAM, SOURCE, Case, rocelab

EXAMPLES = SOURCE / "examples"


def listed():
    return re.findall(r"(?m)^  example:(\S+) +\S", rocelab("help", "examples").stdout)


class Examples(Case):
    def test_all_are_listed_with_a_sentence(self):
        files = {str(path.relative_to(EXAMPLES)).removesuffix(".yaml") for path in EXAMPLES.rglob("*.yaml")}
        self.assertEqual(set(listed()), files)
        self.assertEqual(len(listed()), len(files))

    def test_verbs_take_them(self):
        for words in (["sim", "example:incast"], ["check", "example:pod64"], ["suggest", "ecn", "example:pod64"],
                      ["config", "--bom", "example:pod64"], ["diff", "example:pod64", "example:pod64"],
                      ["sim", "example:cases/C01-storm"], ["sim", "example:incast.yaml"],
                      ["sweep", "example:incast", "--vary", "seed=1,2"], ["capture", "example:incast.pcap"]):
            named = [word.replace("example:", f"{EXAMPLES}/") for word in words]
            named = [word if "/" not in word or pathlib.Path(word).exists() else word + ".yaml" for word in named]
            by_name, by_path = rocelab(*words), rocelab(*named)
            self.assertIn(by_name.returncode, (0, 1), by_name.stderr)
            self.assertEqual(by_name.returncode, by_path.returncode)
            if words[0] not in ("sim", "sweep"):  # which print how long they took
                self.assertEqual(by_name.stdout, by_path.stdout)

    def test_options_take_them(self):
        result = rocelab("sweep", "example:up/fabric", "--script", "example:up/par.up", "--vary", "seed=1")
        self.assertEqual((result.returncode, result.stderr), (2, "rocelab: no example 'up/par.up': did you mean 'example:up/pair.up'?\n"))
        self.assertIn("rocelab: example:x: ", rocelab("check", "example:pod64", "--write-baseline", "/dev/full",
                                                       "--baseline", "example:x").stderr)

    def test_nearly_right(self):
        for name, near in (("pod6", "pod64"), ("C01-storm", "cases/C01-storm"), ("rail256", "rail-256"), ("cases/C19-helthy", "cases/C19-healthy")):
            result = rocelab("sim", "example:" + name)
            self.assertEqual((result.returncode, result.stderr), (2, f"rocelab: no example '{name}': did you mean 'example:{near}'?\n"))
        for name in ("", "zzzzzzzzzzz", "../../../bin/sh", "/etc/passwd"):
            result = rocelab("sim", "example:" + name)
            self.assertEqual((result.returncode, result.stderr), (2, f"rocelab: no example '{name}'; 'rocelab help examples' lists them\n"))

    def test_the_prefix_forgotten(self):
        for verb in ("sim", "check", "up"):
            self.assertEqual(rocelab(verb, "pod64").stderr, "rocelab: pod64: No such file or directory; the example is 'example:pod64'\n")
            self.assertEqual(rocelab(verb, "pod65").stderr, "rocelab: pod65: No such file or directory\n")
        self.assertEqual(rocelab("help", "exmples").stderr, "rocelab: help: unknown topic 'exmples': did you mean 'examples'?\n")
        self.assertIn("unknown verb 'simm': did you mean 'sim'?", rocelab("help", "simm").stderr)

    def test_a_programs_own_operands_stay(self):
        self.assertNotIn("no example", rocelab("run", "--", "echo", "example:none").stderr)

    def test_installed_and_moved(self):
        """Beside the program's bin, and not in the tree it was built from."""
        home = pathlib.Path(self.folder) / "moved"
        (home / "bin").mkdir(parents=True)
        (home / "share/rocelab/examples/traces").mkdir(parents=True)
        program = shutil.copy2(PROGRAM, home / "bin")
        (home / "share/rocelab/examples/mine.yaml").write_text(
            "# With its flows in a file beside it.  And more.\nrocelab: 1\ntopology: {single: {hosts: 4}}\n"
            "links: {host: {rate: 100G}}\njobs: [{flows: {file: traces/run.flows}}]\n")
        (home / "share/rocelab/examples/traces/run.flows").write_text("h0 h1 1MB\n")
        text = subprocess.run([program, "help", "examples"], capture_output=True, text=True, check=True).stdout
        self.assertRegex(text, r"\n  example:mine +With its flows in a file beside it\.\n\n")
        text = subprocess.run([program, "sim", "example:mine"], capture_output=True, text=True, check=True).stdout
        self.assertIn("flows0", text)


if __name__ == "__main__":
    unittest.main()
