# SPDX-License-Identifier: Apache-2.0
"""What the tests of `sim --dump` share: one small run, mixed.yaml, as dumps of a system and as metrics.

The texts are read here by rules of their own, and held against `--counters prometheus` of the same run, which has every
counter of the machines."""
import collections
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["ROCELAB"]
DUMPS = os.environ["ROCELAB_DUMPS"]  # tests/gen/dump: it has --as SYSTEM
FABRIC = pathlib.Path(os.environ["ROCELAB_SOURCE"]) / "tests" / "dump" / "mixed.yaml"
BEGIN = "0.000000000"
PORTS = 14  # of switches
SWITCHES = ["leaf0", "leaf1", "spine0", "spine1"]


def rocelab(*arguments, program=PROGRAM):
    return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL)


def number(text):
    return int(text.replace(",", ""))


class Metrics:
    """What Prometheus would see: name -> [(labels, value)]."""

    def __init__(self, text):
        self.rows = collections.defaultdict(list)
        for line in text.splitlines():
            match = re.match(r"(\w+)\{(.*)\} (\S+)$", line)
            if match:
                labels = dict(re.findall(r'(\w+)="([^"]*)"', match[2]))
                self.rows[match[1]].append((labels, float(match[3])))

    def sum(self, name, **labels):
        labels = {key: str(value) for key, value in labels.items()}
        return sum(value for own, value in self.rows[name] if labels.items() <= own.items())

    def us(self, name, **labels):
        return int(self.sum(name, **labels) * 1e6 + 1e-4)


class Dump:
    """The folders of one run."""

    def __init__(self, system, folder, *more, fabric=FABRIC):
        self.root = pathlib.Path(tempfile.mkdtemp(dir=folder)) / "dumps"
        if system == "sonic":  # as users have it
            self.run = rocelab("sim", "--dump", self.root, *more, fabric)
        else:
            self.run = rocelab("sim", "--dump", self.root, "--as", system, *more, fabric, program=DUMPS)
        self.times = sorted(path.name for path in self.root.iterdir())

    def text(self, device, name, time=None):
        return (self.root / (time or self.times[-1]) / device / name).read_text(encoding="ascii")

    def json(self, device, name, time=None):
        return json.loads(self.text(device, name, time))

    def grown(self, read):
        """read(time) at the end minus at the beginning, key by key."""
        first, last = read(self.times[0]), read(self.times[-1])
        assert first.keys() == last.keys() and first, (len(first), len(last))
        return {key: last[key] - first[key] for key in last}, first


def table(text):
    """Rows of a table with dashes: (title of the column, cell) by position."""
    lines = text.splitlines()
    for at, line in enumerate(lines):
        if re.fullmatch(r"-+(  -+)+", line):
            spans = [match.span() for match in re.finditer(r"-+", line)]
            titles = [lines[at - 1][a:b].strip() for a, b in spans]
            for row, next_row in zip(lines[at + 1:], [*lines[at + 2:], ""]):
                if row.startswith("---") or re.fullmatch(r"-+(  -+)+", next_row):
                    break  # the end, or the titles of the next table
                if row.strip():
                    yield dict(zip(titles, (row[a:b].strip() for a, b in spans)))


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.metrics = Metrics(rocelab("sim", "--counters", "prometheus", FABRIC).stdout)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def agree(self, grown, expected, what):
        self.assertEqual(grown, {key: expected(*key) for key in grown}, what)
        return sum(value != 0 for value in grown.values())
