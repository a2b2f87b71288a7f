#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What another user of the machine may try: nothing of it stops, slows for long, alters or kills a program of ours.  And
what containers do to each other without meaning to.  docs/security.md is the promise, this its test.

Runs in a network and mount namespace of its own, which takes root; the other user is 65534.

usage: test_attacks.py TOOL [TEST...]
"""
import os
import pathlib
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
import unittest
import warnings
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import test_robust  # noqa: E402
from test_robust import Patient, Peer, stop, write  # noqa: E402

PORT = test_robust.PORT
NOBODY = 65534
INSIDE = "ROCELAB_ATTACKS_INSIDE"
HOST = "127.0.0.1"


class Nobody:
    """A program of the other user, in a fork of ours: its Python may not be readable for others.  It says a line when it
    is ready, and goes when its input ends."""

    def __init__(self, code, *arguments):
        theirs_in, ours_in = os.pipe()
        ours_out, theirs_out = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.dup2(theirs_in, 0)
                os.dup2(theirs_out, 1)
                os.closerange(3, 256)
                resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
                os.setgroups([])
                os.setresgid(NOBODY, NOBODY, NOBODY)
                os.setresuid(NOBODY, NOBODY, NOBODY)
                os.chdir("/")
                warnings.simplefilter("ignore")
                sys.stdin, sys.stdout, sys.argv = open(0), open(1, "w"), ["nobody", *map(str, arguments)]
                exec(code, {"os": os, "sys": sys, "socket": socket, "struct": struct, "zlib": zlib})
            except BaseException as error:
                os.write(2, f"nobody: {error!r}\n".encode())
            finally:
                os._exit(0)
        os.close(theirs_in)
        os.close(theirs_out)
        self.stdin, self.stdout = os.fdopen(ours_in, "w"), os.fdopen(ours_out)
        line = self.hear()
        assert line == "ready", f"the attacker did not start: {line}"

    def hear(self):
        return self.stdout.readline().strip()

    def go(self):
        self.stdin.write("go\n")
        self.stdin.flush()
        return self.hear()

    def end(self):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.stdin.close()
            self.stdout.close()
        self.pid = 0


def bth(opcode, qpn, psn):
    return struct.pack(">BBHB3sB3s", opcode, 0x40, 0xffff, 0, qpn.to_bytes(3, "big"), 0x80, psn.to_bytes(3, "big"))


# Everything that listens to datagrams under an abstract name.
NAMES = r'''
def names():
    for line in open("/proc/net/unix", "rb"):
        words = line.split()
        if len(words) == 8 and words[4] == b"0002" and words[7].startswith(b"@"):
            yield b"\0" + words[7][1:]
'''


class Attacks(Patient):
    def setUp(self):
        self.peers, self.others = [], []

    def tearDown(self):
        for peer in self.peers:
            peer.end()
        for other in self.others:
            other.end()
        subprocess.run(["find", "/dev/shm", "-mindepth", "1", "-delete"])

    def peer(self, **more):
        self.peers.append(Peer("", **more))
        return self.peers[-1]

    def nobody(self, code, *arguments):
        self.others.append(Nobody(code, *arguments))
        return self.others[-1]

    def connect(self, a, b, psn=None):
        for x, y in ((a, b), (b, a)):
            self.assertEqual(x.ask(f"connect 0 {y.ask('number 0')} 15 7"), "ok")
        return a, b

    def connected(self, **more):
        return self.connect(self.peer(**more).start(), self.peer(**more).start())

    def good_write(self, a, b, value):
        self.assertEqual(write(a, 0, b, value), "ok")
        self.assertEqual(a.ask("wait"), "success")
        self.assertEqual(b.ask("byte 63"), str(value))

    def test_descriptors(self):
        """Descriptors that nobody asked for are never installed, and rings are handed over all the same."""
        a, b = self.connected(ROCELAB_WIRE="auto")
        before = a.ask("fds"), b.ask("fds")
        attacker = self.nobody(NAMES + r'''
print("ready", flush=True)
sys.stdin.readline()
sent = 0
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.setblocking(False)
rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("ii", 0, 1))]
for name in names():
    for i in range(300):
        for text in (b"\1\0\0\0", b"\0" * 8 + b"\1\0\0\0\1\0\0\0"):
            try:
                s.sendmsg([text], rights, 0, name)
                sent += 1
            except OSError:
                pass
print(sent, flush=True)
''')
        self.assertGreater(int(attacker.go()), 1000)
        self.good_write(a, b, 3)
        self.good_write(b, a, 4)
        self.assertEqual((a.ask("fds"), b.ask("fds")), before)
        self.assertGreater(int(a.ask("shm")), 0)

    def test_folder_taken(self):
        """The folder of our small files is made by another user, full of FIFOs: another is taken, nobody hangs."""
        self.nobody(r'''
os.umask(0)
for name in ("/dev/shm/rocelab-0", "/dev/shm/rocelab-0.1"):
    os.mkdir(name, 0o777)
    for pid in range(1, 64):
        os.mkfifo(f"{name}/counters-{pid}-1", 0o666)
for pid in range(1, 64):
    os.mkfifo(f"/dev/shm/rocelab-counters-0-{pid}-1", 0o666)
os.symlink("/dev/shm/rocelab-0", "/dev/shm/rocelab-0.2")
print("ready", flush=True)
sys.stdin.read()
''')
        a, b = self.connected()
        self.good_write(a, b, 5)
        self.assertEqual((a.ask("counters"), b.ask("counters")), ("1", "1"))
        self.own_files_alone()

    def own_files_alone(self):
        """What we made is ours, and nobody else can read or write it."""
        files = list(pathlib.Path("/dev/shm").glob("rocelab-0*/counters-*"))
        ours = [path for path in files if path.stat().st_uid == 0]
        self.assertGreater(len(ours), 0)
        for path in ours:
            self.assertEqual(path.stat().st_mode & 0o177, 0)
            self.assertEqual(path.parent.stat().st_uid, 0)
            self.assertFalse(path.parent.is_symlink())
            self.assertEqual(path.parent.stat().st_mode & 0o077, 0)

    def test_counters_cut(self):
        """Files of the names that come next, made by another user who cuts them off later: a bus error once."""
        attacker = self.nobody(r'''
os.umask(0)
first = int(sys.argv[1])
os.mkdir("/dev/shm/rocelab-0", 0o777)
paths = [f"/dev/shm/rocelab-0/counters-{pid}-{slot}" for pid in range(first, first + 400) for slot in (1, 2)]
paths += [f"/dev/shm/rocelab-counters-0-{pid}-1" for pid in range(first, first + 400)]
files = [os.open(path, os.O_RDWR | os.O_CREAT, 0o666) for path in paths]
print("ready", flush=True)
sys.stdin.readline()
for file in files:
    os.ftruncate(file, 0)
print("cut", flush=True)
''', os.getpid())
        a, b = self.connected()
        self.good_write(a, b, 1)
        self.assertEqual(attacker.go(), "cut")
        for value in range(2, 40):
            self.good_write(a, b, value)
            time.sleep(0.002)  # the copy is renewed every so often
        self.own_files_alone()

    SQUAT = r'''
held = []
kinds = {"seqpacket": socket.SOCK_SEQPACKET, "dgram": socket.SOCK_DGRAM}
for number in range(int(sys.argv[1])):
    s = socket.socket(socket.AF_UNIX, kinds[sys.argv[2]])
    try:
        s.bind(f"\0rocelab/default/{number}")
    except OSError:
        continue
    if sys.argv[2] == "seqpacket":
        s.listen(int(sys.argv[3]))
    held.append(s)
    if sys.argv[3] == "0":  # one connection is all it takes: it is full
        c = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        c.connect(f"\0rocelab/default/{number}")
        held.append(c)
print("ready", flush=True)
sys.stdin.read()
'''

    def squat(self, count, kind="seqpacket", queue=1):
        return self.nobody(self.SQUAT, count, kind, queue)

    def registry_of(self, peer):
        for name in pathlib.Path(f"/proc/{peer.process.pid}/fd").iterdir():
            if "rocelab-registry" in os.readlink(name):
                return os.stat(name).st_ino
        self.fail("no registry")

    def test_names_taken(self):
        """Another user holds the first names: we find each other past them, also when they are let go of."""
        for kind in ("seqpacket", "dgram"):
            other = self.squat(40, kind)
            a, b = self.connected()
            self.good_write(a, b, 6)
            other.end()
            c = self.peer().start()
            self.assertEqual(len({self.registry_of(peer) for peer in (a, b, c)}), 1)
            while self.peers:
                self.peers.pop().end()

    def test_names_full(self):
        """Names of another user whose queues are full: nobody waits for them, whether the registry is to be made or found."""
        other = self.squat(1500, queue=0)
        a, b = self.connected()
        self.good_write(a, b, 6)
        other.end()
        c = self.peer().start()
        self.assertEqual(len({self.registry_of(peer) for peer in (a, b, c)}), 1)

    def test_all_names_taken(self):
        self.squat(2048)
        answer = self.peer().ask("open")
        self.assertTrue(answer.startswith("error"), answer)
        self.assertIn("ROCELAB_REGISTRY", answer)
        a, b = self.connected(ROCELAB_REGISTRY="another word")
        self.good_write(a, b, 6)

    HOLD_DOOR = r'''
held = []
for i in range(300):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.setblocking(False)
    try:
        s.connect("\0rocelab/default/0")
    except OSError:
        pass
    held.append(s)
print("ready", flush=True)
sys.stdin.read()
'''

    def test_door_held(self):
        """Another user connects to our name and says nothing: others still come in."""
        a = self.peer().start()
        self.nobody(self.HOLD_DOOR)
        b = self.peer().start()
        self.connect(a, b)
        self.good_write(a, b, 2)

    def test_door_held_of_a_stopped_process(self):
        """The only process was stopped, and another user fills its queue: its registry is found all the same."""
        a = self.peer().start()
        stop(a)
        self.nobody(self.HOLD_DOOR)
        b = self.peer().start()
        os.kill(a.process.pid, signal.SIGCONT)
        self.assertEqual(self.registry_of(a), self.registry_of(b))
        self.connect(a, b)
        self.good_write(a, b, 2)

    def test_no_room(self):
        """A /dev/shm without room, as full containers have: everything works, but for what needs the room."""
        full = ["unshare", "--mount", "sh", "-c", "mount -t tmpfs -o size=4k tmpfs /dev/shm; "
                "head -c 4096 /dev/zero >/dev/shm/full; export XDG_RUNTIME_DIR=; exec \"$@\"", "full"]
        for wire in ("udp", "auto"):
            a, b = self.connected(prefix=full, ROCELAB_WIRE=wire)
            self.good_write(a, b, 8)

    def write_from(self, target, value, psn, i=0):
        """An RDMA WRITE Only of one byte with the right key and PSN, by another user, to a queue pair of ours."""
        qpn, va, key = int(target.ask(f"number {i}")), int(target.va), int(target.key)
        body = bth(0x0a, qpn, psn) + struct.pack(">QII", va + 63, key, 4) + bytes([value] * 4)
        self.nobody(r'''
body, port = bytes.fromhex(sys.argv[1]), int(sys.argv[2])
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IP, 10, 2)
s.bind(("127.0.0.1", 0))
n, sport = len(body) + 4, s.getsockname()[1]
covered = bytearray(body)
covered[4] = 0xff
ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0xff, 28 + n, 0, 0x4000, 0xff, 17, 0xffff,
                 socket.inet_aton("127.0.0.1"), socket.inet_aton("127.0.0.1"))
crc = zlib.crc32(b"\xff" * 8 + ip + struct.pack(">HHHH", sport, 4791, 8 + n, 0xffff) + bytes(covered))
s.sendto(body + struct.pack("<I", crc), ("127.0.0.1", port))
print("ready", flush=True)
''', body.hex(), PORT)

    def refused(self, a, psn, i=0):
        """The right address, QPN, PSN and key, and it changes nothing."""
        before = int(a.ask("forged"))
        self.write_from(a, 99, psn, i)
        while int(a.ask("forged")) == before:
            self.assertNotEqual(a.ask("byte 63"), "99")
            time.sleep(0.001)
        self.assertNotEqual(a.ask("byte 63"), "99")

    def forged(self, wire):
        a, b = self.connected(ROCELAB_WIRE=wire)
        for psn in range(3):  # each a message of its own: the next PSN is known
            self.good_write(a, b, 20 + psn)
            self.refused(b, psn + 1)
            self.assertEqual(b.ask("byte 63"), str(20 + psn))
        self.good_write(a, b, 30)

    def test_forged_port(self):
        """Address, QPN, PSN and key are right, the source port is another user's."""
        self.forged("udp")

    def test_socket_into_memory(self):
        """A connection through memory takes nothing from sockets."""
        self.forged("auto")

    def test_before_the_peer(self):
        """A queue pair was connected before its peer's process began: it is as closed as any, from the peer's start on."""
        for wire in "udp", "auto":
            a = self.peer(ROCELAB_WIRE=wire, ROCELAB_SEED="1").start()
            self.assertEqual(a.ask(f"connect 0 {2 << 14} 15 7"), "ok")
            b = self.peer(ROCELAB_WIRE=wire, ROCELAB_SEED="1").start()
            self.assertEqual(b.ask("number 0"), str(2 << 14))
            self.refused(a, 0)
            self.assertEqual(b.ask(f"connect 0 {a.ask('number 0')} 15 7"), "ok")
            for psn in range(2):
                self.good_write(b, a, 20 + psn)
                self.refused(a, psn + 1)
            while self.peers:
                self.peers.pop().end()

    def test_forger_before_the_peer(self):
        """Whoever sent first, before the peer's process began: when that is there, it is heard, and the other no more."""
        for wire in "udp", "auto":
            a = self.peer(ROCELAB_WIRE=wire, ROCELAB_SEED="1").start(2)
            self.connect(a, c := self.peer(ROCELAB_WIRE=wire, ROCELAB_SEED="1").start())
            self.good_write(a, c, 19)  # who is at this address is one of ours: ports are learned
            self.assertEqual(a.ask(f"connect 1 {3 << 14} 15 7"), "ok")
            self.write_from(a, 99, 0, 1)
            while a.ask("byte 63") != "99":
                time.sleep(0.001)
            b = self.peer(ROCELAB_WIRE=wire, ROCELAB_SEED="1").start()
            self.assertEqual(b.ask("number 0"), str(3 << 14))
            self.assertEqual(b.ask(f"connect 0 {a.ask('number 1')} 15 7"), "ok")
            self.assertEqual(write(b, 0, a, 20), "ok")  # the forger has used up its PSN
            self.assertEqual(b.ask("wait"), "success")
            for psn in range(1, 3):
                self.good_write(b, a, 20 + psn)
                self.refused(a, psn + 1, 1)
            while self.peers:
                self.peers.pop().end()

    def test_unknown_numbers(self):
        """QPNs and keys differ from one run to the next, unless they are asked not to."""
        def numbers(**more):
            a = self.peer(**more).start()
            answer = a.ask("number 0"), a.key
            self.peers.pop().end()
            return answer
        drawn = [numbers() for _ in range(4)]
        self.assertEqual(len({qpn for qpn, _ in drawn}), 4)
        self.assertEqual(len({key for _, key in drawn}), 4)
        self.assertEqual({numbers(ROCELAB_SEED="1") for _ in range(3)}, {(str(1 << 14), str(0x101))})

    # A tree under /tmp keeps the machine's: the tool has to be seen inside.
    CONTAINER = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c",
                 "mount -t tmpfs tmpfs /dev/shm; case \"$1\" in /tmp/*) ;; *) mount -t tmpfs tmpfs /tmp ;; esac; exec \"$@\"", "container"]

    def test_containers(self):
        """Two containers with the host's network and all else of their own: they connect, and others stay undisturbed."""
        for wire in ("auto", "udp"):
            inside = dict(prefix=self.CONTAINER, ROCELAB_WIRE=wire)
            a, b = self.connected(**inside)
            c, d = self.connected(ROCELAB_WIRE=wire)
            e, f = self.connect(self.peer(**inside).start(), self.peer(ROCELAB_WIRE=wire).start())
            for value in range(1, 20):
                for x, y in ((a, b), (c, d), (e, f), (f, e)):
                    self.good_write(x, y, value)
            if wire == "auto":
                self.assertGreater(int(a.ask("shm")), 0)
            while self.peers:
                self.peers.pop().end()

    def test_two_users(self):
        """One address, two users: the second is told what to do, and with another port both work."""
        with open(test_robust.TOOL, "rb") as file:
            tool = pathlib.Path("/dev/shm/tool")
            tool.write_bytes(file.read())
        tool.chmod(0o755)
        prefix = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", "env", "-C", "/"]
        a, b = self.connected(ROCELAB_WIRE="auto")
        ours, test_robust.TOOL = test_robust.TOOL, str(tool)
        try:
            answer = self.peer(prefix=prefix, ROCELAB_WIRE="auto").ask("open")
            self.assertTrue(answer.startswith("error"), answer)
            self.assertIn("ROCELAB_PORT", answer)
            more = dict(prefix=prefix, ROCELAB_WIRE="auto", ROCELAB_PORT=str(PORT + 1))
            c, d = self.connected(**more)
        finally:
            test_robust.TOOL = ours
        for value in range(1, 10):
            self.good_write(a, b, value)
            self.good_write(c, d, value)


def inside():
    """This program again, in namespaces of its own; does not come back unless there are none."""
    script = "ip link set lo up; mount -t tmpfs -o mode=1777 tmpfs /dev/shm; exec \"$@\""
    if os.geteuid() != 0 or not all(map(shutil.which, ("unshare", "ip", "mount", "setpriv"))):
        return "needs root, unshare, ip, mount and setpriv"
    if subprocess.run(["unshare", "--net", "--mount", "ip", "link", "set", "lo", "up"], capture_output=True).returncode:
        return "no namespaces can be made here"
    environment = dict(os.environ, **{INSIDE: "1"})
    for name in ("XDG_RUNTIME_DIR", "ROCELAB_SEED", "ROCELAB_REGISTRY"):
        environment.pop(name, None)
    os.execvpe("unshare", ["unshare", "--net", "--mount", "sh", "-c", script, "attacks", sys.executable, *sys.argv],
               environment)


if __name__ == "__main__":
    if not os.environ.get(INSIDE):
        print("skipped:", inside())
        sys.exit(77)
    test_robust.TOOL = os.path.abspath(sys.argv.pop(1))
    unittest.main()
