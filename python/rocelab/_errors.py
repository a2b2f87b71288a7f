# SPDX-License-Identifier: Apache-2.0
"""What can go wrong, as exceptions."""
from __future__ import annotations

import re
from typing import Any, List, NamedTuple, Optional


class Problem(NamedTuple):
    """One thing that is wrong with a file; lines and columns are counted from 1, 0 where there is none."""

    file: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        return f"{place}: {self.message}"


class RocelabError(Exception):
    """Every error of this module but Cancelled."""


class LibraryError(RocelabError):
    """librocelab or the program was not found, or is too old; the message says what to install."""


class ProgramError(RocelabError):
    """The program was used in a wrong way, or could not read its input."""


class FabricError(RocelabError):
    """A fabric file, or a value put into it, is wrong.

    `file`, `line`, `column`, `message` are of the first problem; `problems` are all that were found.
    """

    def __init__(self, problems: List[Problem]):
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems
        self.file, self.line, self.column, self.message = problems[0]

    def __reduce__(self) -> Any:
        return FabricError, (self.problems,)


class CrashError(RocelabError):
    """The simulator ended: by a signal or a failed CHECK, which is a bug, or for want of memory.

    It ran in a process of its own: the next run starts another.  `signal` is its number (None: it exited), `output`
    what it wrote to its standard error.
    """

    def __init__(self, message: str, signal: Optional[int] = None, output: str = ""):
        super().__init__(message)
        self.message, self.signal, self.output = message, signal, output

    def __reduce__(self) -> Any:
        return CrashError, (self.message, self.signal, self.output)


class Cancelled(KeyboardInterrupt):
    """A run was interrupted from the keyboard.  `result` has what was run until then (None: nothing was)."""

    def __init__(self, result: Any = None):
        super().__init__("interrupted")
        self.result = result


def problems_of(text: str) -> List[Problem]:
    """The lines `file:line:column: error: message` of a text."""
    found = []
    for line in text.splitlines():
        match = re.match(r"(.*?):(\d+):(\d+): error(?:\[\w+\])?: (.*)", line)
        if match:
            found.append(Problem(match[1], int(match[2]), int(match[3]), match[4]))
            continue
        match = re.match(r"(.*?): (?:error: )?(.*)", line)
        if match:
            found.append(Problem(match[1], 0, 0, match[2]))
    return found
