# SPDX-License-Identifier: Apache-2.0
"""docs/questions, docs/sweep.md and docs/seeds.md: every command of every page is run again, and prints what the page quotes.

UPDATE=1 in the environment writes the pages anew; then read the words around the numbers again.  The pages of SLOW are run
with ROCELAB_SOAK=1 or UPDATE=1 alone."""
import functools
import os
import re
import shlex
import unittest

from support import SOURCE, Case, rocelab

PAGES = sorted((SOURCE / "docs" / "questions").glob("*.md"))
OTHERS = [SOURCE / "docs" / "sweep.md", SOURCE / "docs" / "seeds.md"]
# Six runs of 256 GPUs, longer than all other pages together, and ten of a pipeline, a third of the rest.  What the pages say of
# them is held by fabric-examples and workload-train, too.
SLOW = {"pipeline.md", "rails.md"}
BLOCK = re.compile(r"(?m)(?:^    .*\n)+")


def split(block):
    """(lines of the command, the command, its output) of an indented block; None where it is no command of ours."""
    lines = [line[4:] for line in block.rstrip("\n").split("\n")]
    if not lines[0].startswith("$ rocelab "):
        return None
    end = next(i for i, line in enumerate(lines) if not line.endswith("\\")) + 1
    return lines[:end], " ".join(line.rstrip("\\") for line in lines[:end])[len("$ rocelab "):], lines[end:]


@functools.cache
def printed(command):
    """Two pages quote the same command: it is run once."""
    return rocelab(*shlex.split(command), cwd=SOURCE)


class Questions(Case):
    def answer(self, command):
        result = printed(command)
        self.assertEqual(result.stderr, "")
        return [line.rstrip() for line in result.stdout.rstrip("\n").split("\n")]

    def rewritten(self, match):
        parts = split(match[0])
        if parts is None:
            return match[0]
        return "".join(f"    {line}".rstrip() + "\n" for line in parts[0] + self.answer(parts[1]))

    def test_pages(self):
        self.assertEqual(len(PAGES), 9)
        for page in PAGES + OTHERS:
            text = page.read_text(encoding="utf-8")
            if os.environ.get("UPDATE"):
                text = BLOCK.sub(self.rewritten, text)
                page.write_text(text, encoding="utf-8")
            found = [parts for parts in map(split, BLOCK.findall(text)) if parts]
            self.assertTrue(found, page.name)
            self.assertIn(f"examples/questions/{'qps' if page in OTHERS else page.stem}.yaml", found[0][1])
            for _, command, quoted in found:
                with self.subTest(page=page.name, command=command):
                    self.assertGreater(len(quoted), 2)
                    if page.name in SLOW and not os.environ.get("ROCELAB_SOAK"):
                        continue
                    self.assertEqual(self.answer(command), quoted)


if __name__ == "__main__":
    unittest.main()
