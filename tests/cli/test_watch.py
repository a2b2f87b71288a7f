# SPDX-License-Identifier: Apache-2.0
"""counters --watch: tables where nobody looks, and a screen with keys where somebody does (a pty)."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
import unittest

from support import PATIENCE_S, PROGRAM, Case, environment, patience, rocelab

FABRIC = b"""rocelab: 1
fabric: watched-%d
topology: {leaf-spine: {leaves: 2, spines: 1, hosts: 4}}
links: {host: {rate: 100G, cable: 5m}, fabric: {rate: 100G, cable: 50m}}
jobs: [{incast: 3, size: 1TB}]
""" % os.getpid()
NAME = f"watched-{os.getpid()}"


class Screen:
    """The program on a terminal of its own."""

    def __init__(self, *arguments, rows=20, columns=90):
        self.master, slave = pty.openpty()
        self.size(rows, columns)
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        self.process = subprocess.Popen([PROGRAM, "counters", "--watch", *arguments], stdin=slave, stdout=slave, stderr=slave,
                                        env=environment(TERM="xterm"), start_new_session=True)
        self.text = ""

    def size(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def until(self, pattern):
        """What was written up to this; the rest is kept."""
        end = time.monotonic() + PATIENCE_S  # of all of it: a screen is written again and again
        while not (found := re.search(pattern, self.text, re.S)):
            if not select.select([self.master], [], [], max(0, end - time.monotonic()))[0]:
                raise AssertionError(f"no {pattern!r} in {PATIENCE_S} s in {self.text[-2000:]!r}")
            try:
                self.text += os.read(self.master, 65536).decode()
            except OSError as error:  # the other side is closed
                raise AssertionError(f"no {pattern!r} before the end in {self.text[-2000:]!r}") from error
        seen, self.text = self.text[:found.end()], self.text[found.end():]
        return seen

    def key(self, key):
        os.write(self.master, key)

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)
        os.close(self.slave)


class Watch(Case):
    def up(self, text=FABRIC):
        """A fabric that is up with a job of its own."""
        path = self.file("watched.yaml", text)
        process = subprocess.Popen([PROGRAM, "up", "--clock", "real", path], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, env=environment())
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        with patience("a fabric that is up"):
            self.assertIn(b"is up", process.stderr.readline())
        return process

    def screen(self, *arguments, **how):
        screen = Screen(*arguments, **how)
        self.addCleanup(screen.end)
        return screen

    def restored(self, screen):
        screen.until(r"\x1b\[\?25h\x1b\[\?1049l")
        self.assertEqual(termios.tcgetattr(screen.slave), screen.before)

    def test_a_fabric_on_a_terminal(self):
        self.up()
        screen = self.screen("--fabric", NAME)
        self.assertIn("\x1b[?1049h", screen.until(r"by paused\r\n.*leaf0:0 .*\x1b\[J"))
        for key, name in ((b"r", "rate"), (b"m", "marks"), (b"d", "drops"), (b"b", "queue"), (b"p", "paused")):
            screen.key(key)
            screen.until(rf"by {name}\r\n.*\x1b\[J")
        screen.size(7, 30)
        os.kill(screen.process.pid, signal.SIGWINCH)
        frame = screen.until(r"\x1b\[Kwatched-\d+ at [^\r]{5,20}\r\n") + screen.until(r"\x1b\[J")
        self.assertLessEqual(frame.split("\x1b[H")[-1].count("\r\n"), 6)
        screen.key(b"q")
        self.restored(screen)
        self.assertEqual(screen.process.wait(timeout=PATIENCE_S), 0)

    def test_signals_give_the_terminal_back(self):
        for number, status in ((signal.SIGINT, 0), (signal.SIGTERM, 0), (signal.SIGHUP, 0), (signal.SIGSEGV, -signal.SIGSEGV)):
            screen = self.screen()
            screen.until(r"adapters?.* of programs.*\x1b\[J")
            os.kill(screen.process.pid, number)
            self.restored(screen)
            self.assertEqual(screen.process.wait(timeout=PATIENCE_S), status, number)

    def test_the_fabric_ends(self):
        process = self.up()
        screen = self.screen("--fabric", NAME)
        screen.until(r"leaf0:0 ")
        process.send_signal(signal.SIGINT)
        self.restored(screen)
        screen.until("has ended")
        self.assertEqual(screen.process.wait(timeout=PATIENCE_S), 0)

    def test_without_a_terminal_tables_follow_each_other(self):
        self.up()
        process = subprocess.Popen([PROGRAM, "counters", "--watch", "--sort", "rate", "--fabric", NAME, "leaf0"], text=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=environment())
        for last in (process.stdout.close, process.wait, process.kill):  # the last is done first
            self.addCleanup(last)
        lines = []
        with patience("two tables"):
            while sum(", by rate" in line for line in lines) < 2:
                lines.append(process.stdout.readline())
                self.assertTrue(lines[-1])
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=PATIENCE_S), 0)
        self.assertNotIn("\x1b", "".join(lines))
        self.assertEqual({line.split(":")[0] for line in lines if re.match(r"\w+:\d", line)}, {"leaf0"})

    def test_the_longest_name(self):
        longest = b"n" * 64
        self.up(b"""rocelab: 1
fabric: watched-%d
topology: {links: {hosts: [%s, b], switches: 1, links: [[%s, sw0, 100G, 3m], [b, sw0, 100G, 3m]]}}
jobs: [{incast: 1, size: 1TB}]
""" % (os.getpid(), longest, longest))
        process = subprocess.Popen([PROGRAM, "counters", "--watch", "--fabric", NAME], text=True, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, env=environment())
        for last in (process.stdout.close, process.wait, process.kill):  # the last is done first
            self.addCleanup(last)
        with patience("the port's row"):
            while "sw0:1" not in (line := process.stdout.readline()):
                self.assertTrue(line)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=PATIENCE_S), 0)

    def test_what_is_wrong(self):
        self.wrong(rocelab("counters", "--watch", "--sort", "size"), "--sort 'size'", "paused")
        self.wrong(rocelab("counters", "--sort", "rate"), "--sort", "--watch")
        self.wrong(rocelab("counters", "--watch", "--fabric", "no-such-fabric"), "no-such-fabric")
        self.assertEqual(rocelab("counters", "--watch", "999999999").returncode, 1)


if __name__ == "__main__":
    unittest.main()
