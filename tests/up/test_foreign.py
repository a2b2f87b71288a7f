# SPDX-License-Identifier: Apache-2.0
"""rocelab up --port: hosts of a fabric that are what is behind an interface.

Network namespaces: one with the fabric, others that are hosts of it, each at the far end of a veth pair.  Kernels ping, speak TCP through
leaf and spine, and are held back by pauses that they do not know of; our live adapter on the packet wire speaks to programs of a host of the fabric; tshark judges the frames.  Needs root
and namespaces, and says so where there are none; what is refused is tried in any case.  No time is measured but for the least that light takes."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = os.environ["ROCELAB"]
LINKS = "topology: {leaf-spine: {leaves: 2, spines: 1, hosts: 2}}\n"
FABRIC = "rocelab: 1\nfabric: outside\n" + LINKS + "links: {host: {rate: 10G, cable: 3m}, fabric: {rate: 10G, cable: 10m}}\nnics: {mtu: 4096}\n"
FAR = ("rocelab: 1\nfabric: outside\n" + LINKS + "links: {host: {rate: 10G, cable: 3m}, fabric: {rate: 10G, cable: 100km}}\n"
       "classes: [{name: all, priority: 0}]\n")
SLOW = ("rocelab: 1\nfabric: outside\ntopology: {leaf-spine: {leaves: 1, spines: 0, hosts: 3}}\nlinks: {host: {rate: 10M, cable: 3m}}\n"
        "switches: {buffer: 400KB}\nclasses: [{name: all, priority: 0, lossless: true}]\n")
LEAST_MS = 4 * 0.5  # two cables of 100 km, there and back
MTU = "9000"
PATIENCE_S = 240  # of a test that fails
PING = """import os, socket, struct, sys, time
def words(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total >> 16) + (total & 0xffff)
    return ~(total + (total >> 16)) & 0xffff
with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as raw:
    raw.settimeout(30)
    for number in range(4):
        body = struct.pack("!HH", os.getpid() & 0xffff, number) + os.urandom(1000)
        began = time.monotonic()
        raw.sendto(struct.pack("!BBH", 8, 0, words(b"\\x08\\0\\0\\0" + body)) + body, (sys.argv[1], 0))
        while True:
            data, who = raw.recvfrom(2000)
            if data[20:22] == b"\\0\\0" and data[24:] == body: break
        print(who[0], data[8], (time.monotonic() - began) * 1000)
"""
TCP = """import hashlib, socket, sys
size, server = 3000000, len(sys.argv) == 1
if server:
    listener = socket.create_server(("", 4000))
    print("listens", flush=True)
    stream, _ = listener.accept()
else:
    stream = socket.create_connection((sys.argv[1], 4000), 30)
data = bytes(range(256)) * (size // 256)
if server: stream.sendall(data[::-1])
got = b""
while len(got) < len(data): got += stream.recv(1 << 20)
if not server: stream.sendall(data)
if server: stream.recv(1)
print("right" if got == (data if server else data[::-1]) else "wrong")
"""


FLOOD = """import socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
    for _ in range(400): one.sendto(bytes(1400), ("10.0.0.3", 9))
"""


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class Namespace:
    """With a /dev/shm of its own: the live adapter's registry is there."""

    def __init__(self):
        self.holder = subprocess.Popen(["unshare", "--net", "--mount", "sh", "-c", "ip link set lo up && mount -t tmpfs tmpfs /dev/shm && echo made && exec sleep 600"],
                                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        if self.holder.stdout.readline() != "made\n":
            self.close()
            raise OSError("no namespaces")

    def within(self, *command):
        return ["nsenter", "-t", str(self.holder.pid), "--net", "--mount", *command]

    def run(self, *command):
        return run(*self.within(*command))

    def close(self):
        self.holder.kill()
        self.holder.wait()
        self.holder.stdout.close()


def no_namespaces():
    if os.geteuid() != 0:
        return "needs root, for network namespaces"
    if shutil.which("ip") is None or shutil.which("nsenter") is None:
        return "ip or nsenter is not installed"
    try:
        Namespace().close()
    except OSError:
        return "no namespaces can be made here"
    return ""


class Base(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)
        runtime = self.folder / "run"
        runtime.mkdir(mode=0o700)
        self.env = dict(os.environ, XDG_RUNTIME_DIR=str(runtime), LC_ALL="C.UTF-8", ROCELAB_WIRE="packet")

    def write(self, text):
        (self.folder / "outside.yaml").write_text(text, encoding="utf-8")


@unittest.skipIf(no_namespaces(), no_namespaces())
class Outside(Base):
    def setUp(self):
        super().setUp()
        self.middle, self.hosts = self.space(), []

    def space(self):
        space = Namespace()
        self.addCleanup(space.close)
        return space

    def plug(self, address):
        """The next host is behind veth0, veth1 ... and has this address."""
        self.hosts.append(self.space())
        index = len(self.hosts) - 1
        space, name = self.hosts[index], f"veth{index}"
        self.middle.run("ip", "link", "add", name, "mtu", MTU, "type", "veth", "peer", "name", "eth0", "netns", str(space.holder.pid))
        self.middle.run("ip", "link", "set", name, "up")
        for line in (f"link set eth0 mtu {MTU} up", f"addr add {address}/8 dev eth0"):
            space.run("ip", *line.split())

    def up(self, text, *options):
        self.write(text)
        self.fabric = subprocess.Popen(self.middle.within(PROGRAM, "up", str(self.folder / "outside.yaml"), "--clock", "real", "--json", *options), env=self.env,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.fabric.stdout.close)
        self.addCleanup(self.fabric.stderr.close)
        self.addCleanup(self.fabric.wait)
        self.addCleanup(self.fabric.kill)
        self.assertIn("is up", self.fabric.stderr.readline())

    def down(self):
        """Ends the fabric; its ports that are interfaces, by name."""
        self.fabric.send_signal(signal.SIGINT)
        output, errors = self.fabric.communicate(timeout=PATIENCE_S)
        self.assertEqual(0, self.fabric.returncode, errors)
        self.document = json.loads(output)
        return {port["interface"]: port for port in self.document["interfaces"]}

    def start(self, *command):
        program = subprocess.Popen(command, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(program.stdout.close)
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        return program

    def watch(self, interface):
        """A capture of an interface, from now on."""
        path = self.folder / f"{interface}.pcap"
        capture = self.start(*self.middle.within("dumpcap", "-q", "-P", "-i", interface, "-w", str(path)))
        for line in capture.stdout:
            if "File:" in line:
                return capture, path
        self.fail("dumpcap did not begin")

    @staticmethod
    def tshark(path, shown, *options):
        return run("tshark", "-r", str(path), "-Y", shown, "-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE", *options)

    def end_capture(self, capture):
        time.sleep(0.5)  # what it has not written yet
        capture.terminate()
        capture.communicate()


class Kernels(Outside):
    """Two kernels, through a leaf, a spine and a leaf."""

    def setUp(self):
        super().setUp()
        self.plug("10.0.0.1")
        self.plug("10.0.0.3")
        self.ports = ("--port", "h0=veth0", "--port", "h2=veth1")

    def test_ping(self):
        self.up(FAR, *self.ports)
        lines = self.hosts[0].run(sys.executable, "-c", PING, "10.0.0.3").splitlines()
        self.assertEqual(4, len(lines))
        for line in lines:
            who, ttl, milliseconds = line.split()
            self.assertEqual(("10.0.0.3", "61"), (who, ttl))
            self.assertGreaterEqual(float(milliseconds), LEAST_MS)
        neighbours = self.hosts[0].run("ip", "neigh")
        self.assertRegex(neighbours, r"10\.0\.0\.3 dev eth0 lladdr 02:00:00:00:00:\d\d")
        ports = self.down()
        self.assertGreaterEqual(ports["veth0"]["in_frames"], 4)
        self.assertEqual(ports["veth0"]["in_frames"], ports["veth1"]["out_frames"])
        for port in ports.values():
            self.assertEqual([0] * 5, [port[key] for key in port if key.startswith("lost_")])

    @unittest.skipIf(shutil.which("tshark") is None or shutil.which("dumpcap") is None, "tshark is not installed")
    def test_tcp(self):
        self.up(FABRIC, *self.ports)
        capture, path = self.watch("veth1")
        server = self.start(*self.hosts[1].within(sys.executable, "-c", TCP))
        self.assertEqual("listens\n", server.stdout.readline())
        self.assertEqual("right\n", self.hosts[0].run(sys.executable, "-c", TCP, "10.0.0.3"))
        self.assertEqual("right\n", server.communicate(timeout=PATIENCE_S)[0])
        self.end_capture(capture)
        self.down()
        self.assertNotIn("D15", [finding["id"] for finding in self.document["verdict"]])  # TCP is in the lossy class
        came = "ip.src == 10.0.0.1 && tcp.len > 0"
        self.assertTrue(self.tshark(path, came))
        self.assertEqual("", self.tshark(path, f"({came}) && (ip.checksum.status == 0 || tcp.checksum.status == 0 || ip.ttl != 61 || frame.len > {int(MTU) + 14})"))


class Pauses(Outside):
    def test_a_kernel_that_knows_no_pauses_overruns_no_lossless_class(self):
        """Two hosts send to a third, twice what its line takes: the leaf pauses, frames wait at the ports, and every one arrives."""
        for host in range(3):
            self.plug(f"10.0.0.{host + 1}")
        self.up(SLOW, *(word for host in range(3) for word in ("--port", f"h{host}=veth{host}")))
        for sender in self.hosts[:2]:
            sender.run(sys.executable, "-c", PING, "10.0.0.3")
        flood = [self.start(*sender.within(sys.executable, "-c", FLOOD)) for sender in self.hosts[:2]]
        for one in flood:
            self.assertEqual("", one.communicate(timeout=PATIENCE_S)[0])
        for _ in range(600):
            names, values = (line.split() for line in self.hosts[2].run("cat", "/proc/net/snmp").splitlines() if line.startswith("Udp:"))
            if int(values[names.index("NoPorts")]) == 2 * 400:  # nobody listens, but the kernel has seen them all
                break
            time.sleep(0.1)
        ports = self.down()
        self.assertGreaterEqual(ports["veth2"]["out_frames"], 2 * 404)
        self.assertEqual(ports["veth0"]["in_frames"] + ports["veth1"]["in_frames"], ports["veth2"]["out_frames"])
        self.assertGreater(ports["veth0"]["out_pauses"] + ports["veth1"]["out_pauses"], 0)
        self.assertEqual([], [port for port in self.document["ports"] if port.get("drops")])


class Adapters(Outside):
    """A live adapter on the packet wire is h0; programs are on h2, a host of ours."""

    def setUp(self):
        super().setUp()
        self.plug("10.0.0.1")
        self.up(FABRIC, "--port", "h0=veth0")

    def ours(self, *command):
        return self.start(PROGRAM, "run", "--fabric", "outside", "--host", "h2", "--", *command)

    def theirs(self, *command):
        return self.start(*self.hosts[0].within(PROGRAM, "run", "--", *command))

    def pair(self, server, client):
        """Both must end well.  A client may come before its server listens, and retries run out where a machine is busy: then both come again."""
        for _ in range(8):
            first, second = server(), None
            time.sleep(0.5)
            second = client()
            output, _ = second.communicate(timeout=PATIENCE_S)
            if second.returncode != 0:
                first.kill()
            words, _ = first.communicate(timeout=PATIENCE_S)
            self.assertNotRegex(output + words, "mismatch|verify|corrupt")
            if first.returncode == 0 and second.returncode == 0:
                return
        self.fail(output + words)

    @unittest.skipIf(shutil.which("rping") is None or shutil.which("dumpcap") is None, "rping or tshark is not installed")
    def test_rping_checks_its_data_and_tshark_the_frames(self):
        capture, path = self.watch("veth0")
        serve, ask = ("rping", "-s", "-V", "-C", "20", "-S", "5000", "-a"), ("rping", "-c", "-V", "-C", "20", "-S", "5000", "-a")
        self.pair(lambda: self.ours(*serve, "0.0.0.0"), lambda: self.theirs(*ask, "10.0.0.3"))
        self.pair(lambda: self.theirs(*serve, "0.0.0.0"), lambda: self.ours(*ask, "10.0.0.1"))
        self.end_capture(capture)
        port = self.down()["veth0"]
        self.assertEqual(0, port["lost_wrong"])
        told = json.loads(run(PROGRAM, "capture", "--json", str(path)))["files"][0]
        self.assertGreater(told["icrc_checked"], 300)
        self.assertEqual((0, 0), (told["icrc_errors"], told["malformed"]))
        shown = self.tshark(path, "infiniband", "-T", "fields", "-e", "frame.number").split()
        self.assertEqual(told["roce_packets"], len(shown))
        self.assertEqual("", self.tshark(path, "_ws.malformed || ip.checksum.status == 0"))
        self.assertEqual({"61"}, set(self.tshark(path, "infiniband && ip.src == 10.0.0.3", "-T", "fields", "-e", "ip.ttl").split()))

    @unittest.skipIf(shutil.which("ib_write_bw") is None, "perftest is not installed")
    def test_perftest(self):
        for name in ("ib_write_bw", "ib_read_bw"):
            command = (name, "-R", "-F", "-s", "65536", "-n", "100")
            self.pair(lambda c=command: self.ours(*c), lambda c=command: self.theirs(*c, "10.0.0.3"))
        self.down()
        nic = {one["nic"]: one for one in self.document["nics"]}["h2:0"]
        self.assertGreaterEqual(nic["rx_payload_bytes"], 100 * 65536)
        self.assertGreaterEqual(nic["tx_payload_bytes"], 100 * 65536)

    def test_no_program_runs_there(self):
        result = self.start(PROGRAM, "run", "--fabric", "outside", "--host", "h0", "--", "true")
        output, _ = result.communicate(timeout=PATIENCE_S)
        self.assertNotEqual(0, result.returncode)
        self.assertIn("'h0' is behind an interface", output)
        self.down()


class Refused(Base):
    def refused(self, words, *options, text=FABRIC, **how):
        self.write(text)
        result = subprocess.run([PROGRAM, "up", str(self.folder / "outside.yaml"), *options], env=self.env, stdin=subprocess.DEVNULL, capture_output=True,
                                text=True, check=False, timeout=PATIENCE_S, **how)
        self.assertEqual(2, result.returncode, result.stdout + result.stderr)
        self.assertRegex(result.stderr, words)

    def test_what_is_wrong_is_said(self):
        real = ("--clock", "real")
        self.refused("say --clock real", "--port", "h0=lo")
        self.refused("say --clock real", "--clock", "virtual", "--port", "h0=lo")
        self.refused("a host and an interface, as in h7=veth7", *real, "--port", "h0")
        self.refused("a host and an interface", *real, "--port", "=lo")
        self.refused("there is no host 'h9' in fabric outside", *real, "--port", "h9=lo")
        self.refused("there is no host 'leaf0' in fabric outside", *real, "--port", "leaf0=lo")
        self.refused("there is no interface 'nosuch0'", *real, "--port", "h0=nosuch0")
        rails = FABRIC.replace(LINKS, "topology: {rail: {hosts: 2, gpus: 4, leaves: 4, spines: 1}}\n")
        self.refused("'h0' has 4 adapters: say which, as in h0:0=lo", *real, "--port", "h0=lo", text=rails)
        self.refused("there is no interface 'nosuch0'", *real, "--port", "h0:3=nosuch0", text=rails)

    @unittest.skipIf(os.geteuid() != 0, "needs root")
    def test_what_only_root_comes_to(self):
        real = ("--clock", "real")
        self.refused("'h0' is named twice", *real, "--port", "h0=lo", "--port", "h0=lo")
        self.refused("'lo' is named twice", *real, "--port", "h0=lo", "--port", "h1=lo")
        self.refused("a job of the file runs on 'h0'", *real, "--port", "h0=lo", text=FABRIC + "jobs: [{flows: [{src: h0, dst: h2, size: 1MB}]}]\n")
        self.refused("in-band telemetry", *real, "--port", "h0=lo", text=FABRIC.replace("mtu: 4096", "congestion: hpcc/paper"))
        (self.folder / "x.up").write_text("h0: true\n", encoding="utf-8")
        self.refused("line 1 of the script: 'h0' is behind an interface", *real, "--port", "h0=lo", "--script", str(self.folder / "x.up"))

    @unittest.skipIf(os.geteuid() != 0, "needs root, to be somebody else")
    def test_no_right(self):
        os.chmod(self.folder, 0o755)
        try:
            subprocess.run([PROGRAM, "--version"], user=65534, check=True, capture_output=True)
        except (PermissionError, subprocess.CalledProcessError):
            self.skipTest("another user cannot run the program where it lies")
        os.chown(self.folder / "run", 65534, 65534)
        self.refused("no right to open an interface", "--clock", "real", "--port", "h0=lo", user=65534)


if __name__ == "__main__":
    unittest.main()
