#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What befalls processes: killed peers, half-open connections, a port that is taken, very many queue pairs and
processes, stopped ones, forks, a damaged registry, no file descriptors left, an address that goes.  In each case: a clear
error or a right completion, no hang, nothing left behind.

usage: test_robust.py TOOL [TEST...]       ROCELAB_LONG=1: 1,100 processes one after another instead of 100
"""
import glob
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from support import Patient

TOOL = None
PORT = 15000 + os.getpid() % 9000  # below the ports that the kernel gives out by itself
LONG = bool(os.environ.get("ROCELAB_LONG"))
EXCEEDED = "retries exceeded"


class Peer:
    def __init__(self, folder, device="lo", prefix=(), **more):
        env = dict(os.environ, ROCELAB_REGISTRY=folder, ROCELAB_PORT=str(PORT), ROCELAB_DEVICE=device, ROCELAB_WIRE="udp")
        env.update(more)
        self.process = subprocess.Popen(
            [*prefix, TOOL], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def hear(self):
        answer = self.process.stdout.readline()
        if not answer:
            raise AssertionError(f"the tool died: {self.process.wait()} {self.process.stderr.read()}")
        return answer.strip()

    def ask(self, line):
        self.tell(line)
        return self.hear()

    def start(self, count=1):
        answer = self.ask("open")
        assert answer.startswith("ok"), answer
        answer = self.ask(f"qps {count}")
        assert answer.startswith("ok"), answer
        self.va, self.key = self.ask("memory").split()
        return self

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


def stop(peer):
    """Each thread stops when it is next scheduled: until then it may still answer."""
    os.kill(peer.process.pid, signal.SIGSTOP)
    states = ""
    while set(states) != {"T"}:
        time.sleep(0.001)
        states = ""
        for name in glob.glob(f"/proc/{peer.process.pid}/task/*/stat"):
            with open(name) as file:
                states += file.read().rsplit(")", 1)[1].split()[0]


def write(a, i, b, value, size=64):
    return a.ask(f"post {i} {b.va} {b.key} {size} {value}")


class Robust(Patient):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="rocelab-robust-")
        self.peers = []

    def tearDown(self):
        for peer in self.peers:
            peer.end()
        shutil.rmtree(self.folder, ignore_errors=True)

    def peer(self, **more):
        self.peers.append(Peer(self.folder, **more))
        return self.peers[-1]

    def connected(self, timeout=15, retry=7, **more):  # a second: a busy machine lets nobody wait so long
        a, b = self.peer(**more).start(), self.peer(**more).start()
        for x, y in ((a, b), (b, a)):
            self.assertEqual(x.ask(f"connect 0 {y.ask('number 0')} {timeout} {retry}"), "ok")
        return a, b

    def good_write(self, a, b, value):
        self.assertEqual(write(a, 0, b, value), "ok")
        self.assertEqual(a.ask("wait"), "success")
        self.assertEqual(b.ask("byte 63"), str(value))

    def test_killed_peer(self):
        a, b = self.connected()
        self.good_write(a, b, 7)
        b.process.kill()
        b.process.wait()
        self.assertEqual(write(a, 0, b, 8), "ok")
        self.assertEqual(a.ask("wait"), EXCEEDED)

    def test_ended_with_its_last_message(self):
        """Who has what it waited for ends at once, and closes nothing: its peer gets the ACK all the same."""
        for thread in "off", "on":
            a, b = self.connected(ROCELAB_THREAD=thread)
            self.assertEqual(b.ask("receive 0"), "ok")
            self.assertEqual(a.ask("send 0"), "ok")
            b.tell("last")
            self.assertEqual(b.process.wait(), 0)
            self.assertEqual(a.ask("wait"), "success")

    def test_half_open(self):
        a, b = self.connected()
        self.assertEqual(b.ask("drop"), "ok")
        self.assertEqual(write(a, 0, b, 8), "ok")
        self.assertEqual(a.ask("wait"), EXCEEDED)
        self.assertEqual(b.ask("byte 0"), "0")

    def test_port_taken(self):
        other = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with other:
            other.bind(("127.0.0.1", PORT))
            a = self.peer()
            before = a.ask("fds")
            answer = a.ask("open")
            # the loopback's IPv6 address may still be free: then it opens with that alone
            if answer.startswith("error"):
                self.assertIn(f"UDP port {PORT}", answer)
                self.assertIn("another program", answer)
                self.assertEqual(a.ask("fds"), before)
        b = self.peer()
        self.assertTrue(b.ask("open").startswith("ok"))

    def test_ten_thousand_queue_pairs(self):
        a = self.peer().start(10000)
        self.assertEqual(a.ask("pairs"), "10000")
        before = a.ask("close")
        self.assertEqual(before, "ok")

    def test_one_after_another(self):
        """With ROCELAB_LONG more than there are slots: those of the dead, and of the gone, are used again."""
        pids = set()
        for i in range(1100 if LONG else 100):
            peer = Peer(self.folder)
            pids.add(str(peer.process.pid))
            try:
                answer = peer.ask("open")
                self.assertTrue(answer.startswith("ok"), answer)
                if i % 10 == 0:
                    self.assertTrue(peer.ask("qps 2").startswith("ok"))
                    self.assertEqual(peer.ask("pairs"), "2")
                if i % 3 == 0:
                    peer.ask("close")
                elif i % 3 == 1:
                    peer.tell("exit")
                    peer.process.wait()
            finally:
                peer.end()
        last = self.peer()
        self.assertTrue(last.ask("open").startswith("ok"))
        runtime = os.environ.get("XDG_RUNTIME_DIR", "/nowhere")
        left = [name for name in glob.glob("/dev/shm/rocelab-*/counters-*") + glob.glob(runtime + "/rocelab/counters-*")
                if name.rsplit("-")[-2] in pids]
        self.assertEqual(left, [])

    def test_sixteen_at_once(self):
        peers = [self.peer().start(16) for _ in range(16)]
        numbers = [[peer.ask(f"number {i}") for i in range(16)] for peer in peers]
        for i, a in enumerate(peers):
            for j in range(16):
                self.assertEqual(a.ask(f"connect {j} {numbers[j][i]} 14 7"), "ok")
        for i, a in enumerate(peers):
            for j, b in enumerate(peers):
                self.assertEqual(a.ask(f"post {j} {int(b.va) + 64 * i} {b.key} 64 {i + 1}"), "ok")
        for a in peers:
            for _ in range(16):
                self.assertEqual(a.ask("wait"), "success")
        for a in peers:
            self.assertEqual([a.ask(f"byte {64 * j + 63}") for j in range(16)], [str(j + 1) for j in range(16)])

    def test_stopped_peer(self):
        a, b = self.connected()
        self.good_write(a, b, 1)
        stop(b)
        self.assertEqual(write(a, 0, b, 2), "ok")
        self.assertEqual(a.ask("wait"), EXCEEDED)
        os.kill(b.process.pid, signal.SIGCONT)
        # what was sent meanwhile comes now: it may be written, nothing else happens
        self.assertIn(b.ask("byte 63"), ("1", "2"))

    def test_stopped_requester(self):
        """The answer lies there when it goes on: its timers have run out, and are not believed."""
        a, b = self.connected(timeout=16, retry=1)
        self.assertEqual(a.ask(f"read 0 {b.va} {b.key} 1000000"), "ok")
        stop(a)
        time.sleep(1)
        os.kill(a.process.pid, signal.SIGCONT)
        self.assertEqual(a.ask("wait"), "success")
        self.good_write(a, b, 9)

    def test_fork(self):
        a, b = self.connected()
        self.good_write(a, b, 1)
        self.assertEqual(a.ask("fork"), "0")
        self.good_write(a, b, 2)
        self.good_write(b, a, 3)

    def memory_of(self, peer):
        """The registry's memory, through a process that has it."""
        for name in glob.glob(f"/proc/{peer.process.pid}/fd/*"):
            if "rocelab-registry" in os.readlink(name):
                return name
        self.fail("no registry in " + str(peer.process.pid))

    def test_damaged_registry(self):
        for kind in range(4):
            holder = self.peer()
            self.assertTrue(holder.ask("open").startswith("ok"))
            path = self.memory_of(holder)
            size = os.stat(path).st_size
            content = (b"\0" * size, b"\xff" * size, os.urandom(4096), os.urandom(size))[kind]
            with open(path, "r+b") as out:
                self.assertRaises(OSError, out.truncate, 0)  # nobody can make it shorter under the others
                out.seek(0)
                out.write(content)
            a = self.peer()
            before = a.ask("fds")
            answer = a.ask("open")
            if answer.startswith("error"):
                self.assertGreater(len(answer.split()), 3, answer)
                self.assertEqual(a.ask("fds"), before)
            else:
                self.assertTrue(a.ask("qps 2").startswith("ok"))
                self.assertEqual(a.ask("pairs"), "2")
            self.peers.pop().end()
            self.peers.pop().end()

    def test_stopped_holder(self):
        """Who is stopped, in a debugger say, does not keep others from starting; nor does who died."""
        holder = self.peer().start()
        stop(holder)
        a, b = self.connected()
        self.good_write(a, b, 4)
        holder.process.kill()
        os.kill(holder.process.pid, signal.SIGCONT)
        holder.process.wait()
        c = self.peer().start()
        self.assertEqual(self.registry_of(c), self.registry_of(a))

    def registry_of(self, peer):
        return os.stat(self.memory_of(peer)).st_ino

    def test_nothing_stays(self):
        """With the last process the registry goes; a new one begins anew."""
        a = self.peer().start()
        first = self.registry_of(a)
        b = self.peer().start()
        self.assertEqual(self.registry_of(b), first)
        a.end()
        c = self.peer().start()
        self.assertEqual(self.registry_of(c), first)
        b.end()
        c.end()
        d = self.peer().start()
        self.assertNotEqual(self.registry_of(d), first)

    def test_many_begin_together(self):
        """Of many that are first at the same time one makes the registry, and all share it."""
        for _ in range(3):
            peers = [self.peer() for _ in range(12)]
            for peer in peers:
                peer.tell("open")
            for peer in peers:
                answer = peer.hear()
                self.assertTrue(answer.startswith("ok"), answer)
            self.assertEqual(len({self.registry_of(peer) for peer in peers}), 1)
            while self.peers:
                self.peers.pop().end()

    def test_no_descriptors(self):
        """With any number of them too few: an error in words, nothing left open, and with enough it works."""
        failed = 0
        for limit in range(4, 80, 5):
            a = self.peer()
            before = a.ask("fds")
            a.ask(f"limit {limit}")
            answer = a.ask("open")
            failed += answer.startswith("error")
            a.ask("limit 1024")
            if answer.startswith("error"):
                self.assertGreater(len(answer.split()), 3, answer)
                self.assertEqual(a.ask("fds"), before, f"{limit}: {answer}")
                self.assertTrue(a.ask("open").startswith("ok"))
            self.assertTrue(a.ask("qps 2").startswith("ok"))
            self.assertEqual(a.ask("pairs"), "2")
            self.assertEqual(a.ask("close"), "ok")
            self.assertEqual(a.ask("fds"), before)
            self.peers.pop().end()
        self.assertGreater(failed, 0)

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("ip"), "needs root and ip to make a network namespace")
    def test_address_removed(self):
        space = f"rocelab-robust-{os.getpid()}"
        ip = lambda *words: subprocess.run(["ip", *words], check=True)
        made = subprocess.run(["ip", "netns", "add", space], capture_output=True, text=True)
        if made.returncode or subprocess.run(["ip", "-n", space, "link"], capture_output=True).returncode:
            subprocess.run(["ip", "netns", "del", space], capture_output=True)
            self.skipTest(f"no network namespace can be made here: {made.stderr.strip()}")
        try:
            ip("-n", space, "link", "set", "lo", "up")
            ip("-n", space, "link", "add", "wire0", "type", "veth", "peer", "name", "wire1")
            for name in ("wire0", "wire1"):
                ip("-n", space, "link", "set", name, "up")
            ip("-n", space, "addr", "add", "10.77.0.1/24", "dev", "wire0")
            a, b = self.connected(device="wire0", prefix=("ip", "netns", "exec", space))
            self.good_write(a, b, 5)
            ip("-n", space, "addr", "del", "10.77.0.1/24", "dev", "wire0")
            self.assertEqual(write(a, 0, b, 6), "ok")
            self.assertEqual(a.ask("wait"), EXCEEDED)
            self.assertEqual(a.ask("close"), "ok")
            self.assertEqual(b.ask("close"), "ok")
            ip("-n", space, "addr", "add", "10.77.0.1/24", "dev", "wire0")
            for peer in (a, b):
                peer.start()
            for x, y in ((a, b), (b, a)):
                self.assertEqual(x.ask(f"connect 0 {y.ask('number 0')} 14 7"), "ok")
            self.good_write(a, b, 7)
        finally:
            for peer in self.peers:
                peer.end()
            ip("netns", "del", space)


if __name__ == "__main__":
    TOOL = sys.argv.pop(1)
    unittest.main()
