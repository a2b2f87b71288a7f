# SPDX-License-Identifier: Apache-2.0
"""The commands that pages, manuals and --help show run on the tree's files: what they name is there, and every value of a --vary loads.

A simulation ends after a nanosecond of its time here, since what it would print is held elsewhere (test_questions, test_sim).
A file of the reader's own is stood for by one of examples/."""
import json
import re
import shlex
import subprocess
import unittest

from support import SOURCE, Case, rocelab, verbs

PAGES = [SOURCE / "README.md", *sorted((SOURCE / "docs").rglob("*.md")), *sorted((SOURCE / "examples").rglob("*.md"))]
MANUALS = sorted((SOURCE / "man").glob("*.1"))
COMMAND = re.compile(r"(?:^ *(?:\$ )?|^\.Dl |`)rocelab ([^`\n]*)", re.M)
END = re.compile(r"\s*([|;&>]|#\s).*")  # of the command: what the shell does with it, or a remark
SHORT = {"sim": ["--until", "1ns"], "sweep": ["--vary", "stop=1ns", "--json"], "compare": ["--vary", "stop=1ns", "--json"], "check": [], "suggest": [], "config": []}
# A server goes on; failures in turn and seeds are many runs, with options of their own.
OTHERS = {"--serve", "--each", "--seeds", "--script", "--live"}


def commands():
    """(where, words) of each, once."""
    texts = [(page.relative_to(SOURCE), page.read_text(encoding="utf-8")) for page in PAGES + MANUALS]
    texts += [(f"{verb} --help", rocelab(verb, "--help").stdout) for verb in verbs() if verb in SHORT]
    seen = set()
    for where, text in texts:
        for found in COMMAND.finditer(re.sub(r"\\\n *", "", text)):
            line = END.sub("", found[1])
            if re.search(r"\.yaml\b|\bexample:", line) and not re.search(r"[\[\]A-Z]{2}", line.split(".yaml")[0]) and line not in seen:
                seen.add(line)
                yield where, shlex.split(line)


def stand_in(word):
    if word.startswith("examples/") or not word.endswith(".yaml"):
        return str(SOURCE / word) if word.startswith("examples/") else word
    own = SOURCE / "examples" / word
    return str(own if own.exists() else SOURCE / "examples" / "pod64.yaml")


def plug_in(word, folder):
    """./NAME.so is built of examples/congestion/NAME.c, as the page says."""
    found = re.match(r"\./(\w+)\.so", word)
    if found:
        source = SOURCE / "examples" / "congestion" / f"{found[1]}.c"
        subprocess.run(["gcc", "-shared", "-fPIC", f"-I{SOURCE / 'include'}", source, "-o", folder / f"{found[1]}.so"], check=True)
    return word


class Commands(Case):
    def test_each(self):
        ran = []
        for where, words in commands():
            with self.subTest(where=str(where), command=" ".join(words)):
                for word in words:
                    self.assertTrue(not word.startswith("examples/") or (SOURCE / word).exists(), word)
                if words[0] not in SHORT or OTHERS & set(words) - ({"--seeds"} if words[0] != "sim" else set()):
                    continue
                short = SHORT[words[0]] + (["--systems", "rocev2"] if words[0] == "compare" and "--systems" not in words else [])
                ran.append(words[0])
                folder = self.folder / str(len(ran))  # a --dump wants an empty one
                folder.mkdir()
                result = rocelab(*(plug_in(stand_in(word), folder) for word in words), *short, cwd=folder)
                self.assertIn(result.returncode, (0, 1), result.stderr)
                if words[0] in ("sweep", "compare"):
                    said = json.loads(result.stdout)
                    self.assertEqual([row["error"] for row in said.get("points", said.get("systems")) if row["error"]], [])
        self.assertEqual(sorted(set(ran)), sorted(SHORT), "a verb of which nothing was found")


if __name__ == "__main__":
    unittest.main()
