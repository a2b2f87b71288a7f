# SPDX-License-Identifier: Apache-2.0
"""Connections that are disturbed: a flood of requests, requests in another's name, peers that are killed."""
import fcntl
import multiprocessing
import os
import socket
import struct
import subprocess
import sys
import threading
import time
import unittest

import wire
from test_programs import LIMIT, finish, own_network

TOOL = os.environ["ROCELAB_CM_TOOL"]
HOST = "127.0.0.1"
CM_PORT = 5000
SERVICE = 0x01060000 + CM_PORT
SIOCSIFMTU = 0x8922
FLOOD_MB = 64  # more than an idle server has by this much would not be bounded


def flood(service, ready, stop):
    sender = wire.Sender("127.0.0.3", HOST)
    number = 0
    while not stop.is_set():
        for _ in range(500):
            number += 1
            sender.send(wire.request(service, number, number & 0xffffff, "127.0.0.3", HOST, tid=number))
        ready.set()


def resident_mb(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) / 1024


def start(*arguments, **more):
    return subprocess.Popen([TOOL, *arguments], env=dict(os.environ, **more), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)


def await_line(process, text):
    """Whether the process says a line with this text.  One that says nothing is ended: a hang fails."""
    guard = threading.Timer(LIMIT, process.kill)
    guard.start()
    try:
        return any(text in line for line in iter(process.stdout.readline, ""))
    finally:
        guard.cancel()


def serve(test, **more):
    serving = start("serve", str(CM_PORT), "16", **more)
    test.addCleanup(finish, serving)
    test.assertTrue(await_line(serving, "listening"))
    return serving


def visit(test):
    """A connection that comes about and ends."""
    client = start("connect", HOST, str(CM_PORT))
    said = client.communicate(timeout=LIMIT)[0]
    test.assertEqual((client.returncode, said), (0, "connected\n"))


class LateReceives(unittest.TestCase):
    """No receive comes, and no RNR retry was agreed on."""

    PATIENCE_MS = 500

    def refused_after_ms(self):
        client = start("send", HOST, str(CM_PORT))
        said = client.communicate(timeout=LIMIT)[0]
        self.assertTrue(said.startswith("RNR retry counter exceeded after "), said)
        return float(said.split()[-2])

    def test_strict(self):
        serve(self, ROCELAB_STRICT_RNR="on")
        self.assertTrue(any(self.refused_after_ms() < self.PATIENCE_MS / 2 for _ in range(5)))  # a busy machine

    def test_lenient(self):
        serve(self)
        self.assertGreater(self.refused_after_ms(), self.PATIENCE_MS / 2)


class Flood(unittest.TestCase):
    def flood(self, service):
        serving = serve(self)
        visit(self)
        idle_mb = resident_mb(serving.pid)
        ready, stop = multiprocessing.Event(), multiprocessing.Event()
        forger = multiprocessing.Process(target=flood, args=(service, ready, stop))
        forger.start()
        try:
            self.assertTrue(ready.wait(LIMIT))
            visit(self)
            self.assertTrue(forger.is_alive())
            self.assertLess(resident_mb(serving.pid) - idle_mb, FLOOD_MB)
        finally:
            stop.set()
            forger.join()

    def test_for_no_service(self):
        self.flood(SERVICE + 1)

    def test_for_the_service(self):
        self.flood(SERVICE)


class Stale(unittest.TestCase):
    """A peer made by hand connects; then a REQ comes in the name of its queue pair."""

    PEER = "127.0.0.2"
    ID, QPN = 0x123456, 0x77

    def setUp(self):
        self.serving = serve(self)
        self.peer = wire.Sender(self.PEER, HOST, answers=True)
        self.addCleanup(self.peer.close)
        self.peer.send(wire.request(SERVICE, self.ID, self.QPN, self.PEER, HOST))
        self.remote_id, self.remote_qpn = struct.unpack(">I8xI", self.expect(wire.REP)[:16])
        self.remote_qpn >>= 8
        self.peer.send(wire.short(wire.RTU, self.ID, self.remote_id))

    def expect(self, attribute):
        """Others are repeats, or of no interest."""
        until = time.monotonic() + LIMIT
        while time.monotonic() < until:
            heard = self.peer.hear(1)
            if heard and heard[0] == attribute:
                return heard[2]
        return self.fail(f"no message {attribute:#x}")

    def forge(self, number):
        self.peer.send(wire.request(SERVICE, number, self.QPN, self.PEER, HOST, tid=number))
        questions = answers = 0
        until = time.monotonic() + LIMIT
        while not (questions and answers) and time.monotonic() < until:
            heard = self.peer.hear(1)
            questions += heard is not None and heard[0] == wire.REP
            if heard and heard[0] == wire.REJ:
                self.assertEqual(struct.unpack(">4xI2xH", heard[2][:12]), (number, 10))
                answers += 1
        self.assertTrue(questions and answers)

    def test_a_peer_that_lives_stays(self):
        for number in range(1, 4):
            self.forge(number)
            self.peer.send(wire.short(wire.RTU, self.ID, self.remote_id))
        self.peer.send(wire.short(wire.DREQ, self.ID, self.remote_id, qpn=self.remote_qpn + 1))  # another's
        self.peer.send(wire.short(wire.DREQ, self.ID, self.remote_id, qpn=self.remote_qpn, tid=9))
        until = time.monotonic() + LIMIT
        while time.monotonic() < until:
            heard = self.peer.hear(1)
            self.assertNotEqual(heard and heard[0], wire.DREQ)
            if heard and heard[0] == wire.DREP:
                self.assertEqual(heard[1], 9)
                return
        self.fail("no DREP")

    def test_a_peer_that_is_silent_is_told(self):
        self.forge(1)
        for _ in range(2):  # it is repeated
            body = self.expect(wire.DREQ)
            self.assertEqual(struct.unpack(">III", body[:12]), (self.remote_id, self.ID, self.QPN << 8))
        visit(self)


class Killed(unittest.TestCase):
    """An idle peer is killed: the other side is told, whichever it was."""

    def pair(self):
        serving = serve(self)
        client = start("connect", HOST, str(CM_PORT))
        self.addCleanup(finish, client)
        self.assertTrue(await_line(client, "connected"))
        self.assertTrue(await_line(serving, "ESTABLISHED"))
        return serving, client

    def test_client(self):
        serving, client = self.pair()
        client.kill()
        self.assertTrue(await_line(serving, "DISCONNECTED"))

    def test_server(self):
        serving, client = self.pair()
        serving.kill()
        self.assertTrue(await_line(client, "DISCONNECTED"))
        self.assertEqual(client.wait(LIMIT), 3)


class Mtu(unittest.TestCase):
    def test_the_smaller_one(self):
        """A REQ of 4096 to an interface of 1500 connects."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            def set_mtu(mtu):
                fcntl.ioctl(sock, SIOCSIFMTU, struct.pack("16sI12x", b"lo", mtu))

            set_mtu(1500)
            try:
                serve(self)
                peer = wire.Sender("127.0.0.2", HOST, answers=True)
                self.addCleanup(peer.close)
                peer.send(wire.request(SERVICE, 5, 6, "127.0.0.2", HOST, mtu=5))
                heard = peer.hear(LIMIT)
                self.assertIsNotNone(heard)
                self.assertEqual(heard[0], wire.REP)
            finally:
                set_mtu(65536)


if __name__ == "__main__":
    if not os.path.isdir("/sys/class/net"):
        print("skipped: no /sys (a bare chroot)")
        sys.exit(77)
    if not own_network():
        print("skipped: needs a network of its own (as root), to send as others do")
        sys.exit(77)
    unittest.main()
