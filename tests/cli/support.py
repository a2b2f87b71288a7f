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


def fields(kind):
    """{place in the document: {key: what is said of it}}, as `rocelab help fields` has it; a place may begin with `*.`."""
    places = {}
    for part in json.loads(rocelab("help", "--json", "fields", kind).stdout)["parts"]:
        said = {}
        for line in part["lines"]:
            for key in line.get("keys", []):
                said[key] = f"{said.get(key, '')} {line['help']}"
        places |= dict.fromkeys(part["at"].split(", "), said)
    return places


# Their keys are names: of reasons, counters, tests.
NAMES = ("drops_by", "perfquery", "nstat", "uet", "llr", "counters")


def objects(value, at=""):
    """(place, object) of each in a document: `files[].connections[]`."""
    if isinstance(value, dict):
        yield at, value
        for key, inner in value.items():
            if key not in NAMES:
                yield from objects(inner, f"{at}.{key}".lstrip("."))
    elif isinstance(value, list):
        for inner in value:
            yield from objects(inner, at + "[]")


def is_explained(places, at, key):
    """Whether a key of the object at that place is in the list, or in backquotes in what the list says of a key around it."""
    names, key = at.split(".") if at else [], key.removesuffix("_ci95")
    for count in range(len(names), -1, -1):
        around = ".".join(names[:count])
        for place, said in places.items():
            if place == around or place.startswith("*.") and around.endswith(place[1:]):
                if count == len(names):
                    return key in said
                own = names[count].rstrip("[]")
                texts = [said.get(own, "")]
                if re.search(r"\bas (of|in) ", texts[0]):  # another part of this document, or another document
                    others = [one for kind in re.findall(r"\bas (?:of|in) `(\w+)`", texts[0]) for one in fields(kind).values()]
                    texts += [other.get(own, "") for other in [*places.values(), *others]]
                return any(f"`{key}`" in text for text in texts)
    return False


def unexplained(kind, *documents):
    """(keys at places of the documents that the program's list does not explain there, keys of the list that no document has)"""
    places, found, missing = fields(kind), set(), set()
    for document in documents:
        assert (document["version"], document["kind"]) == (1, kind), document["kind"]
        for at, value in objects({key: inner for key, inner in document.items() if key not in ("version", "kind")}):
            for key in value:
                found |= {key, key.removesuffix("_ci95")}
                if not is_explained(places, at, key):
                    missing.add(f"{at}.{key}")
    return sorted(missing), sorted({key for said in places.values() for key in said} - found)


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
