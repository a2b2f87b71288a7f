# SPDX-License-Identifier: Apache-2.0
"""What the tests of mistakes share: a good configuration, one mistake written into it, and what check must say of it."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["ROCELAB"]


class Mistakes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def checked(self, **texts):
        """check's answer for texts, by the files' names without their suffix."""
        names = []
        for name, text in texts.items():
            names.append(f"{name}.txt")
            (self.folder / names[-1]).write_text(text, encoding="utf-8")
        result = subprocess.run([PROGRAM, "check", "--json", *names], cwd=self.folder, capture_output=True, check=False)
        self.assertIn(result.returncode, (0, 1), result.stderr.decode())
        return json.loads(result.stdout)

    def said(self, answer):
        return {(item["rule"], item["file"].removesuffix(".txt"), item["line"]) for item in answer["findings"]}

    def told(self, before, after, wanted, beside=()):
        """Of what the mistake adds: all that is wanted as (rule, file, line), and no rule but theirs and those beside."""
        new = self.said(after) - self.said(before)
        shown = json.dumps(after["findings"], indent=1)
        for each in wanted:
            self.assertIn(each, self.said(after), shown)
        rules = {rule for rule, _, _ in new}
        # a port that is odd is unlike its siblings too
        self.assertLessEqual(rules, {rule for rule, _, _ in wanted} | set(beside) | {"SIB001"}, shown)
