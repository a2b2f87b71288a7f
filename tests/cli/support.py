# SPDX-License-Identifier: Apache-2.0
"""What the tests of the program share: where it is, how it is run, and captures made by hand."""
import contextlib
import json
import os
import pathlib
import re
import signal
import struct
import subprocess
import tempfile
import unittest

PROGRAM = os.environ.get("ROCELAB", "")
DUMPS = os.environ.get("ROCELAB_DUMPS", "")  # the program with `sim --dump DIR --as SYSTEM`: tests/gen/dump
SOURCE = pathlib.Path(os.environ.get("ROCELAB_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
DATA = pathlib.Path(os.environ.get("ROCELAB_TEST_DATA", SOURCE / "tests" / "data"))
PCAPS = DATA / "pcaps"
CAPTURES = sorted(path.name for path in PCAPS.glob("*.pcap"))
PATIENCE_S = 240  # of a test that fails: bounds what hangs, and is no measure


@contextlib.contextmanager
def patience(what):
    """What is done in it may wait for others: one who never comes is a failure that says for what, and no hang."""
    def too_long(*_):
        raise AssertionError(f"waited {PATIENCE_S} s for {what}")

    before = signal.signal(signal.SIGALRM, too_long)
    left = signal.alarm(PATIENCE_S)
    try:
        yield
    finally:
        signal.signal(signal.SIGALRM, before)
        signal.alarm(left)  # of a wait around this one


# Of many alike a few will do here: all of them are tried in the build as shipped, and under sanitizers in `make soak`.
SAMPLED = os.environ.get("ROCELAB_FIGURES") == "elsewhere"


def once(test):
    """A test of figures: they are the same in every build, so it runs in the build as shipped, and under sanitizers in `make soak`."""
    return unittest.skipIf(SAMPLED, "its figures are judged in the build as shipped")(test)


class Patient(unittest.TestCase):
    """A test that talks with programs as they run: all of its waits together have an end."""

    def run(self, result=None):
        with patience(f"the end of {self.id()}"):
            return super().run(result)


def described(section):
    """[(keys, what is said of them)] of the lists in that section of docs/json.md."""
    text = (SOURCE / "docs" / "json.md").read_text(encoding="utf-8")
    part = text[text.index(f"\n## {section}\n") + 1:]
    part = part[:part.index("\n## ")]
    return re.findall(r"(?ms)^- (`[^:]+): (.*?)(?=^\S|^$)", part)


def verbs():
    """What the program can do, as its list says."""
    text = (SOURCE / "src" / "cli" / "verbs.def").read_text(encoding="utf-8")
    return re.findall(r"^X\((\w+),", text, re.M)


def environment(**more):
    env = {key: value for key, value in os.environ.items()
           if key not in ("COLUMNS", "NO_COLOR", "LANG", "LC_CTYPE", "LC_ALL")}
    env["LC_ALL"] = "C.UTF-8"
    env.update(more)
    return env


def rocelab(*arguments, cwd=PCAPS, stdin=None, stdout=subprocess.PIPE, env=None, program=PROGRAM):
    """Runs the program; bytes in, a CompletedProcess with text out."""
    result = subprocess.run([program, *map(str, arguments)], cwd=cwd, input=stdin, stdout=stdout,
                            stderr=subprocess.PIPE, env=env or environment(), check=False,
                            stdin=subprocess.DEVNULL if stdin is None else None)
    result.stdout = (result.stdout or b"").decode("utf-8")
    result.stderr = result.stderr.decode("utf-8")
    return result


def packets(name):
    """(seconds, fraction, captured, length, data) of each record of a little-endian pcap of ours."""
    raw = (PCAPS / name).read_bytes()
    at, records = 24, []
    while at < len(raw):
        seconds, fraction, captured, length = struct.unpack_from("<IIII", raw, at)
        records.append((seconds, fraction, captured, length, raw[at + 16:at + 16 + captured]))
        at += 16 + captured
    return records


def header(link_type=1, snap_length=65535, magic=0xa1b2c3d4):
    return struct.pack("<IHHiIII", magic, 2, 4, 0, 0, snap_length, link_type)


def record(seconds, fraction, captured, length, data):
    return struct.pack("<IIII", seconds, fraction, captured, length) + data


def file_header(name):
    return (PCAPS / name).read_bytes()[:24]


def pcapng(interfaces, entries):
    """interfaces: link types; entries: (interface, packet as of packets())."""
    def block(kind, body):
        body += bytes(-len(body) % 4)
        return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)

    out = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    for link_type in interfaces:
        out += block(1, struct.pack("<HHI", link_type, 0, 0))
    for interface, (seconds, fraction, captured, length, data) in entries:
        time = seconds * 1000000 + fraction % 1000000
        out += block(6, struct.pack("<IIIII", interface, time >> 32, time & 0xffffffff, captured, length) + data)
    return out


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.assertTrue(PROGRAM, "ROCELAB names the program to test")
        folder = tempfile.TemporaryDirectory(prefix="rocelab-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content)
        return path

    def json(self, *arguments, status=None, **how):
        result = rocelab("capture", "--json", *arguments, **how)
        document = json.loads(result.stdout)
        self.assertEqual(document["version"], 1)
        self.assertEqual(document["kind"], "capture")
        if status is not None:
            self.assertEqual(result.returncode, status, result.stderr)
        return document["files"]

    def shows_parts(self, shown, printed):
        """A page shows the beginning of what is printed and, after each line of dots, a part that comes later."""
        at = 0
        for number, part in enumerate(re.split(r"(?m)^\.\.\.\n", shown)):
            found = printed.find(part.strip("\n") if number else part.rstrip("\n"), at)
            self.assertTrue(found > 0 if number else found == 0, f"shown, and not printed:\n{part}")
            at = found + len(part.strip("\n"))

    def wrong(self, result, *words):
        """Exit status 2, with one line on standard error that has these words."""
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertTrue(result.stderr.startswith("rocelab: "), result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)
