# SPDX-License-Identifier: Apache-2.0
"""Every option of every verb that writes a file: it never writes over what the command reads, and what is there stays
where not all of the new could be written.  Which options these are, the verbs' --help says."""
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import time
import unittest

from support import PROGRAM, SAMPLED, Case, environment, patience, rocelab, verbs

FABRIC = """rocelab: 1
fabric: small
topology: {rail: {hosts: 2, gpus: 1, leaves: 1, spines: 0}}
links: {host: {rate: 400G, cable: 3m}, fabric: {rate: 400G, cable: 30m}}
jobs: [{flows: {file: %s}}]
"""
TRACE = "h1 h0 9KB\n"
OLD = "old\n"
# What a verb is given besides, so that all of its outputs are written; None: it is no verb of a fabric, or reads what the
# option names, or starts programs of others.
WORDS = {
    "capture": None, "import": None, "diff": None, "run": None, "serve": None, "top": None, "experiments": None,
    "sim": [], "sweep": ["--vary", "seed=1,2"], "compare": [], "tune": ["--for", "time", "--runs", "12"],
    "validate": ["--quick", "--phase", "4"], "check": [], "config": ["--nos", "eos"], "diagnose": [], "up": []}
MORE = {("sim", "--out"): ["--seeds", "2"], ("sim", "--csv"): ["--series", "1us"],
        ("validate", "--write-baseline"): ["--by", "anna"]}


def options(verb):
    """(option, argument) of what takes a file or a folder."""
    text = rocelab(verb, "--help").stdout
    return re.findall(r"^  (--[a-z-]+) (\S*(?:FILE|DIR)\S*)", text, re.M)


class Outputs(Case):
    def setUp(self):
        super().setUp()
        self.program = self.file("s.up", b"h0: true\n")

    def words(self, verb, option, value, fabric):
        words = WORDS[verb] + (["--script", self.program] if verb == "up" and option != "--script" else [])
        inputs = [self.folder / "run.json", "--fabric", fabric] if verb == "diagnose" else [fabric]
        return [verb, *words, *MORE.get((verb, option), []), option, value, *inputs]

    @staticmethod
    def value(argument, path):
        return {"PORT=FILE": f"leaf0:0={path}", "FORMAT[=FILE]": f"prometheus={path}"}.get(argument, str(path))

    def fabric(self, trace):
        trace.parent.mkdir(exist_ok=True)
        trace.write_text(TRACE)
        path = self.file("f.yaml", (FABRIC % trace.relative_to(self.folder)).encode())
        (self.folder / "run.json").write_text(rocelab("sim", "--json", path).stdout)
        return path

    def every(self):
        """(verb, option, argument, what of it is written when nothing is in the way)"""
        fabric = self.fabric(self.folder / "trace")
        for verb in verbs():
            for option, argument in options(verb):
                self.assertIn(verb, WORDS, f"{verb} {option}: say how it is called")
                if WORDS[verb] is None:
                    continue
                fresh = self.folder / "fresh"
                result = rocelab(*self.words(verb, option, self.value(argument, fresh), fabric), cwd=self.folder)
                names = [""] if fresh.is_file() else [path.name for path in fresh.glob("*") if path.is_file()]
                if names:
                    self.assertIn(result.returncode, (0, 1), result.stderr)
                self.assertEqual([], list(self.folder.rglob(".*")))
                shutil.rmtree(fresh) if fresh.is_dir() else fresh.unlink(missing_ok=True)
                if names:
                    yield verb, option, argument, names

    def aims(self, found):
        for verb, option, argument, names in found:
            for name in sorted(names)[::max(1, len(names) - 1)] if SAMPLED else names:  # of a folder the first and the last
                yield verb, option, argument, self.folder / "out" / name if name else self.folder / "aim"

    def test_every_output(self):
        found = list(self.every())
        kinds = {(verb, option) for verb, option, _, _ in found}
        self.assertLessEqual({("sim", "--html"), ("sim", "--csv"), ("sim", "--pcap"), ("sim", "--counters"), ("up", "--record"),
                              ("sweep", "--out"), ("check", "--write-baseline"), ("config", "--out"), ("validate", "--write-baseline")}, kinds)
        for verb, option, argument, aim in self.aims(found):
            for link in ([None, "soft", "hard"] if (verb, option) == ("sim", "--html") else [None]):
                with self.subTest(what="a trace", verb=verb, option=option, name=aim.name, link=link):
                    self.attack(verb, option, argument, aim, link)
        for verb, option, argument, aim in self.aims(found):
            if verb != "up":  # programs have memory in files, and that is limited too
                with self.subTest(what="a limit", verb=verb, option=option, name=aim.name):
                    self.outgrow(verb, option, argument, aim)

    def attack(self, verb, option, argument, aim, link):
        """The file that the fabric file names is not written over, whatever it is called."""
        fabric = self.fabric(aim)
        named = aim
        if link:
            named = self.folder / link
            named.symlink_to(aim) if link == "soft" else named.hardlink_to(aim)
        value = self.value(argument, named.parent if argument == "DIR" else named)
        result = rocelab(*self.words(verb, option, value, fabric), cwd=self.folder)
        self.assertEqual(aim.read_text(), TRACE)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("the command reads that file", result.stderr)
        self.assertEqual([], list(self.folder.rglob(".*")))
        if link:
            named.unlink()
        self.clear(aim)

    def clear(self, aim):
        shutil.rmtree(aim.parent) if aim.parent != self.folder else aim.unlink()

    def outgrow(self, verb, option, argument, aim):
        """`ulimit -f` is an error of writing like any other: told with the path, and the old file is whole."""
        fabric = self.fabric(self.folder / "trace")
        aim.parent.mkdir(exist_ok=True)
        aim.write_text(OLD)
        words = self.words(verb, option, self.value(argument, aim.parent if argument == "DIR" else aim), fabric)
        limits = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8, 8))  # noqa: E731
        result = subprocess.run([PROGRAM, *map(str, words)], cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True,
                                env=environment(), preexec_fn=limits, check=False)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn(b"File too large", result.stderr)
        self.assertEqual(aim.read_text(), OLD)
        self.assertEqual([], list(self.folder.rglob(".*")))
        self.clear(aim)

    def test_what_is_no_file(self):
        fabric = self.fabric(self.folder / "trace")
        page = rocelab("sim", "--html", "/dev/stdout", "--quiet", fabric, cwd=self.folder)
        self.assertIn("</html>", page.stdout)
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        with subprocess.Popen(["cat", fifo], stdout=subprocess.PIPE) as reader:
            self.assertEqual(rocelab("sim", "--events", fifo, fabric, cwd=self.folder).returncode, 0)
            self.assertIn(b"at_ps,kind", reader.communicate()[0])
        self.assertTrue(fifo.is_fifo())
        for option, value in (("--html", "/dev/full"), ("--events", "/dev/full"), ("--pcap", "leaf0:0=/dev/full"), ("--counters", "prometheus=/dev/full")):
            result = rocelab("sim", option, value, fabric, cwd=self.folder)
            self.assertEqual(result.returncode, 2)
            self.assertIn("No space left on device", result.stderr)

    def test_standard_output(self):
        """A full disk has one message, which is about the disk; a closed pipe has none."""
        fabric = self.fabric(self.folder / "trace")
        with open("/dev/full", "wb") as full:
            result = rocelab("sim", "--json", "--series", "10ns", fabric, cwd=self.folder, stdout=full)
        self.wrong(result, "standard output: No space left on device")
        reading, writing = os.pipe()
        os.close(reading)
        with open(writing, "wb") as closed:
            result = rocelab("sim", "--json", "--series", "10ns", fabric, cwd=self.folder, stdout=closed)
        self.assertEqual((result.returncode, result.stderr), (2, ""))

    def test_a_log_is_written_on(self):
        """--html /dev/stdout >> LOG: what is there stays."""
        log = self.file("log", b"first\n")
        with log.open("ab") as to:
            rocelab("sim", "--html", "/dev/stdout", self.fabric(self.folder / "trace"), cwd=self.folder, stdout=to)
        text = log.read_text()
        self.assertTrue(text.startswith("first\n"))
        self.assertIn("</html>", text)

    def test_ended_in_the_middle(self):
        """A run that is ended while it writes leaves the old files, and none of its own."""
        fabric = self.file("f.yaml", (FABRIC.replace("{flows: {file: %s}}", "{incast: 1, size: 100GB, repeat: 100}") % ()).encode())
        old = [self.file(name, OLD.encode()) for name in ("page", "events", "seen.pcap")]
        dump = self.folder / "dump"
        before = sorted(self.folder.iterdir())

        def like_a_shell_s():  # who began the tests may ignore signals, as nohup does
            signal.signal(signal.SIGHUP, signal.SIG_DFL)
            signal.signal(signal.SIGQUIT, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        for number in (signal.SIGHUP, signal.SIGQUIT):
            with subprocess.Popen([PROGRAM, "sim", "--html", old[0], "--events", old[1], "--pcap", f"h0:0={old[2]}", "--dump", dump,
                                   fabric], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  env=environment(), preexec_fn=like_a_shell_s) as process:
                with patience("a capture that grows"):
                    while not any(path.stat().st_size > 4096 for path in self.folder.glob(".seen.pcap.*")):
                        self.assertIsNone(process.poll())
                        time.sleep(0.01)
                self.assertTrue(all(path.name.startswith(".") for path in dump.iterdir()))
                process.send_signal(number)
                try:
                    process.wait(timeout=60)
                finally:
                    process.kill()
            self.assertEqual(process.returncode, -number)
            self.assertEqual(sorted(self.folder.iterdir()), before)
            self.assertEqual([path.read_text() for path in old], [OLD] * 3)

    def test_modes_and_links(self):
        fabric = self.fabric(self.folder / "trace")
        old, link = self.file("old", OLD.encode()), self.folder / "link"
        old.chmod(0o640)
        link.symlink_to("old")
        self.assertEqual(rocelab("sim", "--html", link, "--events", "new", fabric, cwd=self.folder).returncode, 0)
        self.assertTrue(link.is_symlink())
        self.assertEqual(old.stat().st_mode & 0o777, 0o640)
        self.assertTrue(old.read_text().endswith("</html>\n"))
        mask = os.umask(0)
        os.umask(mask)
        self.assertEqual((self.folder / "new").stat().st_mode & 0o777, 0o666 & ~mask)


if __name__ == "__main__":
    unittest.main()
