# SPDX-License-Identifier: Apache-2.0
"""TCP and UDP between programs of a fabric, as Python sees it: servers and clients on two hosts, through `rocelab up --script`.

Times that are asserted are of the fabric: the same on every machine, however busy."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROCELAB = os.environ["ROCELAB"]
LATENCY = 20e-6  # of a socket, between hosts: the default
FABRIC = """rocelab: 1
fabric: %s
topology: {leaf-spine: {leaves: 2, spines: 1, hosts: 2}}
links: {host: {rate: 400G, cable: 5m}, fabric: {rate: 400G, cable: 30m}}
"""

REFUSED = """
import socket, time
s = socket.socket()
begin = time.monotonic()
try:
    s.connect(("10.0.0.1", 5000))
except ConnectionRefusedError:
    say(refused=time.monotonic() - begin)
for to in (("h7", 1), ("192.0.2.1", 53)):
    try:
        socket.create_connection(to)
    except OSError as error:
        say(error=error.errno)
"""

ECHO_SERVER = """
import socket
s = socket.create_server(("", 5000))
c, peer = s.accept()
say(listens=s.getsockname(), peer=peer, own=c.getsockname())
while data := c.recv(100):
    c.sendall(data.upper())
say(end=True)
"""
ECHO_CLIENT = """
import socket, time
time.sleep(0.001)
begin = time.monotonic()
c = socket.create_connection(("h0", 5000))
say(connected=time.monotonic() - begin, own=c.getsockname(), peer=c.getpeername())
begin = time.monotonic()
c.sendall(b"hello")
say(answer=c.recv(100).decode(), after=time.monotonic() - begin)
c.sendto(b"named", ("h0", 5000))
say(named=c.recv(100).decode())
c.sendmsg([b"na", b"med"], [], 0, ("h0", 5000))
say(also=c.recv(100).decode())
c.shutdown(socket.SHUT_WR)
say(rest=c.recv(100).decode())
"""
BUSY_CLIENT = """
import select, socket, time
time.sleep(0.001)
c = socket.create_connection(("h0", 5000))
c.sendall(b"hello")
poll, begin = select.poll(), time.monotonic()
poll.register(c, select.POLLIN | select.POLLOUT)
while not poll.poll(0)[0][1] & select.POLLIN:
    pass
say(answer=c.recv(100).decode(), after=time.monotonic() - begin)
"""

BULK_SERVER = """
import hashlib, socket, time
c, peer = socket.create_server(("", 5000)).accept()
digest, reads = hashlib.sha1(), 0
while data := c.recv(1 << 20):
    digest.update(data)
    reads += 1
    if reads % 64 == 0:
        time.sleep(0.0001)
c.sendall(digest.digest())
say(end=time.monotonic())
"""
BULK_CLIENT = """
import hashlib, random, socket, time
time.sleep(0.001)
c = socket.create_connection(("h0", 5000), timeout=3)
data, digest = random.Random(1).randbytes(1000003), hashlib.sha1()
for i in range(20):
    c.sendall(data)
    digest.update(data)
c.shutdown(socket.SHUT_WR)
say(right=c.recv(100) == digest.digest(), at=time.monotonic())
"""

FORKS = """
import os, socket, sys, time
s = socket.socket(socket.AF_INET6)
s.bind(("::", 7000))
s.listen(1)
children = []
for i in range(3):
    c, peer = s.accept()
    child = os.fork()
    if child == 0:
        f = c.makefile("rw")
        f.write("child %d: %s" % (i, f.readline()))
        f.flush()
        os._exit(i)
    c.close()
    children.append(child)
say(status=[os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children])
c, peer = s.accept()
say(peer=peer[0], heard=c.recv(10).decode())
try:
    while True:
        c.sendall(b"x" * 1000)
        time.sleep(0.0001)
except OSError:
    say(died=time.monotonic())
c, peer = s.accept()
os.dup2(c.fileno(), 9)
os.execv(sys.executable, [sys.executable, "-c", '''
import socket
c = socket.socket(fileno=9)
print(c.getsockname()[:2], c.getpeername()[0], c.family.name, c.recv(10), flush=True)
c.sendall(b"another")'''])
"""
FORKS_CLIENT = """
import os, select, socket, threading, time
time.sleep(0.01)
def one(i):
    with socket.create_connection(("h0", 7000)) as c:
        f = c.makefile("rw")
        f.write("hi %d\\n" % i)
        f.flush()
        say(heard=f.readline().strip(), rest=f.read())
threads = [threading.Thread(target=one, args=(i,)) for i in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
child = os.fork()
if child == 0:
    c = socket.create_connection(("h0", 7000))
    c.sendall(b"doomed")
    time.sleep(0.002)
    os.kill(os.getpid(), 9)
say(status=os.waitpid(child, 0)[1], killed=time.monotonic())
time.sleep(0.01)
c = socket.socket()
c.setblocking(False)
say(error=c.connect_ex(("10.0.0.1", 7000)), writable=select.select([], [c], [], 1)[1] == [c])
c.setblocking(True)
c.sendall(b"to exec")
say(heard=c.recv(10).decode())
"""

EVENTS = """
import asyncio, sys
async def serve():
    served, all_served = [], asyncio.Event()
    async def on(reader, writer):
        while line := await reader.readline():
            writer.write(line[::-1].strip() + b"\\n")
            await writer.drain()
        writer.close()
        served.append(1)
        if len(served) == 6: all_served.set()
    server = await asyncio.start_server(on, None, 6000)
    await all_served.wait()
    say(served=len(served), at=asyncio.get_running_loop().time())
async def one(i):
    while True:
        try:
            reader, writer = await asyncio.open_connection(sys.argv[1], 6000)
            break
        except ConnectionRefusedError:
            await asyncio.sleep(0.001)
    heard = []
    for k in range(3):
        writer.write(b"%d-%d\\n" % (k, i))
        await writer.drain()
        heard.append((await reader.readline()).decode().strip())
        await asyncio.sleep(0.0003)
    writer.close()
    return heard
async def call():
    say(heard=await asyncio.gather(*[one(i) for i in range(3)]), at=asyncio.get_running_loop().time())
asyncio.run(serve() if sys.argv[1] == "serve" else call())
"""

NAMES = """
import os, socket
say(name=socket.gethostname(), node=os.uname().nodename, other=socket.gethostbyname("h2"),
    back=socket.gethostbyaddr("10.0.0.3")[0], interfaces=socket.if_nameindex(),
    info=[i[4] for i in socket.getaddrinfo("h3", 80, type=socket.SOCK_STREAM)],
    of=socket.getnameinfo(("10.0.0.4", 80), socket.NI_NUMERICSERV))
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
u.connect(("10.0.0.3", 9))
say(own=u.getsockname()[0])
a, b = socket.socket(), socket.socket()
a.bind(("10.0.0.2", 0))
b.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
for to in (a.getsockname(), ("10.0.0.1", 0), ("", 0)):
    try:
        b.bind(to)
        say(bound=True)
    except OSError as error:
        say(error=error.errno)
say(domain=a.getsockopt(socket.SOL_SOCKET, socket.SO_DOMAIN), nodelay=a.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
"""

DATAGRAM_SERVER = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 5000))
heard = []
while (got := s.recvfrom(100000))[0] != b"end":
    heard.append(len(got[0]))
    assert s.sendto(got[0].upper(), got[1]) == len(got[0])
say(heard=heard, last=got[1], type=s.getsockopt(socket.SOL_SOCKET, socket.SO_TYPE))
"""
DATAGRAM_CLIENT = """
import errno, select, socket, time
def until(begin): return round((time.monotonic() - begin) * 1e6, 1)
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
begin = time.monotonic()
s.sendto(b"hello", ("h0", 5000))
answer, who = s.recvfrom(100)
say(answer=answer.decode(), who=who, round_trip=until(begin), own=s.getsockname())
for size in (1, 0, 65507, 30):
    s.sendto(b"x" * size, ("10.0.0.1", 5000))
peeked = s.recvfrom(10, socket.MSG_PEEK)
sizes = [s.recvmsg(100000)[0], s.recv(100000), s.recvfrom(100000)[0], s.recv(7)]
say(peeked=peeked[1], sizes=[len(one) for one in sizes])
c = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
c.connect(("h0", 5000))
begin = time.monotonic()
s.sendto(b"from a stranger", c.getsockname())
c.send(b"connected")
say(connected=c.recv(100).decode(), connected_after=until(begin), peer=c.getpeername())
local = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
local.bind(("::", 5001))
begin = time.monotonic()
s.sendto(b"near", ("127.0.0.1", 5001))
say(near=local.recvfrom(100)[1][0], near_after=until(begin))
begin = time.monotonic()
c.settimeout(0.001)
c.sendto(b"nobody", ("h0", 5001))
try:
    c.recv(100)
except TimeoutError:
    say(silence=until(begin))
for i in range(10):
    c.sendto(b"y" * 60000, ("127.0.0.1", 5001))
time.sleep(0.001)
kept = 0
while select.select([local], [], [], 0)[0]:
    kept += len(local.recv(100000))
say(kept=kept)
try:
    s.sendto(b"out", ("192.0.2.1", 53))
except OSError as error:
    say(outside=error.errno == errno.ENETUNREACH)
c.send(b"end")
"""


class Sockets(unittest.TestCase):
    def run_programs(self, *commands, options=()):
        """What each program said, by host, and the whole output.  A command is (host, program, arguments)."""
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "fabric.yaml").write_text(FABRIC % f"sockets{os.getpid()}")
            lines = []
            for i, (host, program, *words) in enumerate(commands):
                (folder / f"{i}.py").write_text("import json\ndef say(**what): print(json.dumps(what), flush=True)\n" + program)
                lines.append(" ".join([f"{host}:", sys.executable, f"{folder}/{i}.py", *words]))
            (folder / "script").write_text("\n".join(lines) + "\n")
            try:
                result = subprocess.run([ROCELAB, "up", "fabric.yaml", "--script", "script", *options], cwd=folder,
                                        capture_output=True, text=True, timeout=200)
            except subprocess.TimeoutExpired as late:
                self.fail(f"does not end; said so far: {late.stdout} {late.stderr}")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        said = {}
        for host, text in re.findall(r"(?m)^(h\d+): (\{.*)$", result.stdout):
            said.setdefault(host, {}).update(json.loads(text))
        return said, [line for line in result.stdout.split("\n") if re.match(r"h\d+: ", line)], result

    def test_nobody_listens(self):
        said, _, result = self.run_programs(("h1", REFUSED))
        self.assertAlmostEqual(said["h1"]["refused"], 2 * LATENCY, delta=1e-6)
        self.assertEqual(said["h1"]["error"], 101)
        self.assertIn("192.0.2.1 port 53 is outside of the fabric", result.stdout + result.stderr)

    def test_echo(self):
        said, _, _ = self.run_programs(("h0", ECHO_SERVER), ("h1", ECHO_CLIENT))
        client, server = said["h1"], said["h0"]
        self.assertAlmostEqual(client["connected"], 2 * LATENCY, delta=1e-6)
        self.assertAlmostEqual(client["after"], 2 * LATENCY, delta=1e-6)
        self.assertEqual(client["answer"], "HELLO")
        self.assertEqual((client["named"], client["also"]), ("NAMED", "NAMED"))
        self.assertEqual(client["rest"], "")
        self.assertEqual(client["peer"], ["10.0.0.1", 5000])
        self.assertEqual(client["own"][0], "10.0.0.2")
        self.assertEqual(server["peer"], client["own"])
        self.assertEqual(server["own"], client["peer"])
        self.assertEqual(server["listens"], ["0.0.0.0", 5000])

    def test_asks_and_always_finds_something(self):
        client = self.run_programs(("h0", ECHO_SERVER), ("h1", BUSY_CLIENT))[0]["h1"]
        self.assertEqual(client["answer"], "HELLO")
        self.assertAlmostEqual(client["after"], 2 * LATENCY, delta=2e-6)

    def test_bulk(self):
        first = self.run_programs(("h0", BULK_SERVER), ("h1", BULK_CLIENT))
        self.assertTrue(first[0]["h1"]["right"])
        self.assertEqual(first[1], self.run_programs(("h0", BULK_SERVER), ("h1", BULK_CLIENT), options=("--threads", "4"))[1])

    def test_processes(self):
        said, lines, _ = self.run_programs(("h0", FORKS), ("h1", FORKS_CLIENT))
        self.assertEqual(said["h0"]["status"], [0, 1, 2])
        self.assertEqual(said["h0"]["heard"], "doomed")
        self.assertEqual(said["h0"]["peer"], "::ffff:10.0.0.2")
        self.assertEqual(said["h1"]["status"], 9)
        self.assertGreater(said["h0"]["died"], said["h1"]["killed"])
        self.assertLess(said["h0"]["died"], said["h1"]["killed"] + 2 * LATENCY + 2e-4)
        self.assertEqual(said["h1"]["heard"], "another")
        self.assertTrue(said["h1"]["writable"])
        for i in range(3):
            self.assertIn('h1: {"heard": "child %d: hi %d", "rest": ""}' % (i, i), lines)
        self.assertIn("h0: ('::ffff:10.0.0.1', 7000) ::ffff:10.0.0.2 AF_INET6 b'to exec'", lines)

    def test_event_loops(self):
        commands = (("h0", EVENTS, "serve"), ("h1", EVENTS, "h0"), ("h0", EVENTS, "localhost"))
        said, lines, _ = self.run_programs(*commands)
        self.assertEqual(said["h0"]["served"], 6)
        self.assertEqual(said["h1"]["heard"], [[f"{i}-{k}" for k in range(3)] for i in range(3)])
        self.assertEqual(lines, self.run_programs(*commands, options=("--threads", "2"))[1])

    def test_datagrams(self):
        said, lines, result = self.run_programs(("h0", DATAGRAM_SERVER), ("h1", DATAGRAM_CLIENT))
        client, server = said["h1"], said["h0"]
        self.assertEqual(("HELLO", ["10.0.0.1", 5000]), (client["answer"], client["who"]))
        self.assertAlmostEqual(client["round_trip"], 2e6 * LATENCY, delta=0.2)
        self.assertEqual(([1, 0, 65507, 7], ["10.0.0.1", 5000]), (client["sizes"], client["peeked"]))
        self.assertEqual(("CONNECTED", ["10.0.0.1", 5000]), (client["connected"], client["peer"]))
        self.assertAlmostEqual(client["connected_after"], 2e6 * LATENCY, delta=0.2)
        self.assertEqual("::ffff:127.0.0.1", client["near"])
        self.assertAlmostEqual(client["near_after"], 5, delta=0.2)
        self.assertAlmostEqual(client["silence"], 1000, delta=1)
        self.assertEqual(3 * 60000, client["kept"])  # of ten: a slow reader has room for 208 KB
        self.assertTrue(client["outside"])
        self.assertEqual([5, 1, 0, 65507, 30, 9], server["heard"])
        self.assertEqual(("10.0.0.2", 2), (server["last"][0], server["type"]))
        self.assertEqual(lines, self.run_programs(("h0", DATAGRAM_SERVER), ("h1", DATAGRAM_CLIENT), options=("--threads", "2"))[1])

    def test_names(self):
        said = self.run_programs(("h1", NAMES))[0]["h1"]
        self.assertEqual((said["name"], said["node"], said["other"], said["back"]), ("h1", "h1", "10.0.0.3", "h2"))
        self.assertEqual(said["interfaces"], [[1, "lo"], [2, "eth0"]])
        self.assertEqual(said["info"], [["10.0.0.4", 80]])
        self.assertEqual(said["of"], ["h3", "80"])
        self.assertEqual(said["own"], "10.0.0.2")
        self.assertEqual(said["error"], 99)
        self.assertTrue(said["bound"])
        self.assertEqual(said["domain"], 2)


if __name__ == "__main__":
    unittest.main()
