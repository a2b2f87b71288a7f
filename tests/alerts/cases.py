# SPDX-License-Identifier: Apache-2.0
"""The labelled cases of examples/cases: what the head of each file promises."""
import os
import pathlib
import re

CASES = pathlib.Path(os.environ["ROCELAB_SOURCE"]) / "examples" / "cases"


class Case:
    """A fabric file with its cause, what a diagnosis must name, the alerts that must fire (none: nothing may), and options of `rocelab sim`."""

    def __init__(self, path):
        self.path, self.name, self.text = path, path.stem, path.read_text(encoding="utf-8")
        self.cause = self.line("Cause")
        self.alerts = set(self.line("Alert").split()) - {"none"}
        self.causes = [(rule, names.split()) for rule, names in re.findall(r"(D\d\d) ([^;]*)", self.line("Diagnose"))]
        self.victims = self.line("Victims", "").split()
        self.options = self.line("Options", "").split()

    def line(self, word, usual=None):
        found = re.findall(rf"^# {word}: (.*)$", self.text, re.MULTILINE)
        if len(found) > 1 or (not found and usual is None):
            raise ValueError(f"{self.path}: {len(found)} lines '# {word}:'")
        return found[0] if found else usual


def cases():
    return [Case(path) for path in sorted(CASES.glob("*.yaml"))]
