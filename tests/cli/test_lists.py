# SPDX-License-Identifier: Apache-2.0
"""The option lists against everything that repeats them: --help, man pages, completions."""
import re
import shutil
import subprocess
import unittest

from support import SOURCE, Case, rocelab

CLI = SOURCE / "src" / "cli"


def options(name):
    return re.findall(r'^OPTION\(\w+, "([^"]+)", (?:NULL|"[^"]+"),', (CLI / name).read_text(), re.M)


def verbs():
    return re.findall(r"^X\((\w+),", (CLI / "verbs.def").read_text(), re.M)


COMMON = options("common_options.def")
OWN = {verb: options(f"{verb}_options.def") if (CLI / f"{verb}_options.def").exists() else [] for verb in verbs()}
ALL = set(COMMON).union(*OWN.values())


class Lists(Case):
    def test_the_lists_were_read(self):
        self.assertIn("json", COMMON)
        self.assertIn("max-connections", OWN["capture"])

    def test_help(self):
        for verb, own in OWN.items():
            text = rocelab("help", verb).stdout
            self.assertEqual(sorted(re.findall(r"(?m)^  --([a-z-]+)", text)), sorted(own + COMMON), verb)

    def test_man(self):
        front = (SOURCE / "man" / "rocelab.1").read_text()
        self.assertEqual(re.findall(r"(?m)^\.It Fl Fl ([a-z-]+)", front), COMMON)
        for verb, own in OWN.items():
            self.assertRegex(front, rf"(?m)^\.It Cm {verb}\b")
            if own:
                page = (SOURCE / "man" / f"rocelab-{verb}.1").read_text()
                self.assertEqual(re.findall(r"(?m)^\.It Fl Fl ([a-z-]+)", page), own + COMMON)

    @unittest.skipUnless(shutil.which("mandoc"), "no mandoc here")
    def test_man_pages_are_clean(self):
        for page in sorted((SOURCE / "man").glob("*.1")):
            result = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", page], capture_output=True, text=True,
                                    check=False)
            self.assertEqual((result.returncode, result.stdout), (0, ""))

    def test_completions_name_all_and_nothing_else(self):
        folder = SOURCE / "completions"
        named = {
            "rocelab.bash": r"--([a-z][a-z-]+)",
            "_rocelab": r"'--([a-z][a-z-]+)",
            "rocelab.fish": r"complete .*-l ([a-z][a-z-]+)",
        }
        for name, pattern in named.items():
            text = (folder / name).read_text()
            self.assertEqual(set(re.findall(pattern, text)), ALL | {"version"}, name)
            for verb in verbs():
                self.assertRegex(text, rf"\b{verb}\b")

    def bash(self, *words):
        script = 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); compopt() { :; }; _rocelab; ' \
                 'printf "%s\\n" "${COMPREPLY[@]}"'
        result = subprocess.run(["bash", "-c", script, SOURCE / "completions" / "rocelab.bash", *words],
                                capture_output=True, text=True, check=True)
        return result.stdout.split()

    def test_bash_completes(self):
        self.assertEqual(self.bash("rocelab", "ca"), ["capture"])
        self.assertEqual(self.bash("rocelab", "capture", "--max"), ["--max-connections"])
        self.assertEqual(sorted(self.bash("rocelab", "capture", "--")), sorted("--" + o for o in OWN["capture"] + COMMON))
        self.assertEqual(self.bash("rocelab", "help", "ver"), ["version"])
        self.assertEqual(self.bash("rocelab", "capture", "--bin", ""), [])


if __name__ == "__main__":
    unittest.main()
