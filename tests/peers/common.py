# SPDX-License-Identifier: Apache-2.0
"""What the peers' scripts share: a run of the program, sums, and a row of the table."""
import json
import math
import os
import subprocess
import tempfile


class CannotRun(Exception):
    """A case says something that a fabric file cannot."""


class Row:
    """A figure of a case, ours and theirs.  The limit is a share of theirs, or absolute; `least`: ours may be more;
    `among`: runs of ours, of which the nearest counts."""

    def __init__(self, what, ours, theirs, limit, absolute=False, least=False, among=()):
        self.what, self.ours, self.theirs, self.limit = what, ours, theirs, limit
        self.low, self.high = (min(among), max(among)) if among else (ours, ours)
        nearest = min(max(theirs, self.low), self.high)
        self.difference = abs(nearest - theirs) if absolute or not theirs else abs(nearest / theirs - 1)
        self.good = self.difference <= limit or (least and ours > theirs)


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def median(values):
    values = sorted(values)
    return (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2


def percentile(values, share):
    """The smallest value that this share of all do not exceed."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def deciles(values):
    """The nine of them, on straight lines between the values."""
    values = sorted(values)
    answer = []
    for tenth in range(1, 10):
        whole, rest = divmod(tenth * (len(values) - 1), 10)
        after = values[min(whole + 1, len(values) - 1)]
        answer.append(values[whole] + (after - values[whole]) * rest / 10)
    return answer


def call(*arguments):
    command = [os.environ.get("ROCELAB", "rocelab"), *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        raise RuntimeError(f"{arguments}: exit {result.returncode}: {result.stderr}")
    return result.stdout


def simulate(text, *options):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(text)
        file.flush()
        return json.loads(call("sim", "--json", *options, file.name))
