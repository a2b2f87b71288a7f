# SPDX-License-Identifier: Apache-2.0
"""RoCE v1 on the packet wire: unmodified programs in two network namespaces with a veth pair between them.

What left is judged by a capture at the other end of the cable, by tshark and by `rocelab capture`.
"""
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from cable import ADDRESS, MAC, Cable, main
from support import LIMIT, PROGRAM, environment

PORT = 18515
V1, V1_LINK_LOCAL = 4, 5  # behind IPv4, link-local IPv6 and the two addresses of the loopback, all of v2
OURS = re.compile("(ethertype|ip|ipv6|udp|infiniband)(:data)?$")  # the last protocol that tshark saw
RETRY = "transport retry counter exceeded"


class Ended:
    """A program that has ended."""

    def __init__(self, process, text):
        self.code, self.text = process.returncode, text


class RoceV1(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cable = Cable()
        cls.folder = tempfile.TemporaryDirectory()

    @classmethod
    def tearDownClass(cls):
        cls.cable.holder.kill()
        cls.cable.holder.wait()
        cls.folder.cleanup()

    def need(self, *programs):
        for program in programs:
            if shutil.which(program) is None:
                self.skipTest(f"{program} is not installed")

    def start(self, end, command, options, **more):
        return subprocess.Popen(
            self.cable.command(end, [PROGRAM, "run", "--wire", "packet", *options, "--", *command]),
            env=environment(**more), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            stdin=subprocess.DEVNULL)

    def pair(self, server, client, options=(), far=1, waits=True, **more):
        """What the two printed.  far: the end the server is at; waits: the server is to end by itself."""
        started = [self.start(far, server, options, **more)]
        try:
            until = time.monotonic() + LIMIT
            while not self.cable.listens(far, PORT):
                self.assertIsNone(started[0].poll(), server)
                self.assertLess(time.monotonic(), until)
                time.sleep(0.01)
            started.append(self.start(0, [*client, ADDRESS[far]], options, **more))
            text = started[1].communicate(timeout=LIMIT)[0]
            if not waits:
                started[0].kill()
            return Ended(started[0], started[0].communicate(timeout=LIMIT)[0]), Ended(started[1], text)
        finally:
            for process in started:
                if process.poll() is None:
                    process.kill()
                process.communicate()

    def both(self, *command, options=(), far=1, **more):
        self.need(command[0])
        server, client = self.pair(command, command, options, far, **more)
        self.assertEqual((server.code, client.code), (0, 0), server.text + client.text)
        return client.text

    def pingpong(self, kind, index, *more, **options):
        text = self.both(f"ibv_{kind}_pingpong", "-g", str(index), "-n", "100", *more, **options)
        self.assertIn("100 iters in", text)

    def captured(self, work):
        """The frames of 4791 and 0x8915 that reach the server while `work` runs: number, Ethertypes, priority."""
        self.need("dumpcap", "tshark")
        path = os.path.join(self.folder.name, "wire.pcap")
        capture = subprocess.Popen(self.cable.command(1, ["dumpcap", "-q", "-P", "-i", "rl1", "-w", path]),
                                   stderr=subprocess.PIPE, text=True)
        try:
            while "File:" not in capture.stderr.readline():  # it listens from then on
                self.assertIsNone(capture.poll(), "dumpcap ended")
            work()
            self.mark(path)
        finally:
            capture.terminate()
            capture.communicate(timeout=LIMIT)
        # but for what tshark takes the payload for: perftest sends random bytes, and it guesses protocols from them
        malformed = [frame for frame in self.shark(path, "_ws.malformed") if OURS.search(frame[4])]
        self.assertEqual(malformed, [])
        told = subprocess.run([PROGRAM, "capture", "--json", path], check=False, capture_output=True, text=True,
                              timeout=LIMIT)
        self.assertIn(told.returncode, (0, 1), told.stderr)
        frames = self.shark(path, "eth.type == 0x8915 or vlan.etype == 0x8915 or udp.dstport == 4791")
        return frames, json.loads(told.stdout)["files"][0]

    def mark(self, path):
        """dumpcap writes late, and what it has not written when it ends is lost: wait until a last packet is there."""
        word = os.urandom(16)
        until = time.monotonic() + LIMIT
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            while word not in pathlib.Path(path).read_bytes():
                self.assertLess(time.monotonic(), until)
                sender.sendto(word, (ADDRESS[1], 9))
                time.sleep(0.02)

    @staticmethod
    def shark(path, wanted):
        fields = ["eth.type", "vlan.etype", "vlan.priority", "eth.dst", "frame.protocols"]
        told = subprocess.run(["tshark", "-r", path, "-Y", wanted, "-T", "fields",
                               *[word for field in fields for word in ("-e", field)]],
                              check=True, capture_output=True, text=True, timeout=LIMIT).stdout
        return [line.split("\t") for line in told.splitlines()]

    def test_table(self):
        self.need("ibv_devinfo")
        script = "for i in 0 1 2 3 4 5; do cat /sys/class/infiniband/rocelab0/ports/1/gid_attrs/types/$i; done; ibv_devinfo -v"
        process = self.start(0, ["sh", "-c", script], ())
        text = process.communicate(timeout=LIMIT)[0]
        self.assertEqual(text.split("\n")[:6], ["RoCE v2"] * 4 + ["IB/RoCE v1"] * 2)
        self.assertRegex(text, rf"GID\[\s*0\]:\s+::ffff:{ADDRESS[0]}, RoCE v2")
        self.assertRegex(text, r"GID\[\s*4\]:\s+0000:0000:0000:0000:0000:ffff:0a49:0001, RoCE v1")
        self.assertRegex(text, r"GID\[\s*5\]:\s+fe80:0000:0000:0000:0000:00ff:fe73:0001, RoCE v1")
        told = subprocess.run([PROGRAM, "run", "--wire", "udp", "--", "ibv_devinfo", "-v"], env=environment(),
                              capture_output=True, text=True, timeout=LIMIT, check=True).stdout
        self.assertNotIn("RoCE v1", told)
        self.assertEqual(len(re.findall("RoCE v2", told)), 4)

    def test_rc_frames(self):
        for index in (V1, V1_LINK_LOCAL):
            with self.subTest(index=index):
                frames, told = self.captured(lambda: self.pingpong("rc", index, "-c"))
                self.assertGreater(len(frames), 400)  # 100 messages of four packets each way, and ACKs
                self.assertEqual({frame[0] for frame in frames}, {"0x8915"})
                self.assertEqual({frame[3] for frame in frames}, set(MAC))
                self.assertGreaterEqual(told["icrc_checked"], len(frames))
                self.assertEqual([told[key] for key in ("icrc_errors", "malformed", "retransmitted", "ecn_capable")], [0] * 4)

    def test_priority_in_a_tag(self):
        frames, _ = self.captured(lambda: self.pingpong("rc", V1, "-l", "3", ROCELAB_VLAN="0"))
        self.assertEqual({tuple(frame[1:3]) for frame in frames}, {("0x8915", "3")})

    def test_uc_ud_srq(self):
        self.pingpong("uc", V1)
        self.pingpong("ud", V1, "-s", "1024")
        self.pingpong("ud", V1_LINK_LOCAL, "-s", "1024")
        self.pingpong("srq", V1, "-q", "4")

    def test_perftest(self):
        for command in (["ib_write_bw", "-s", "65536"], ["ib_read_lat"], ["ib_send_bw", "-c", "UD"], ["ib_atomic_bw"]):
            with self.subTest(command=command):
                self.both(*command, "-n", "100", "-x", str(V1))

    def test_programs_without_options_use_v2(self):
        def work():
            self.both("ib_write_bw", "-n", "100")
            self.pingpong("rc", 0, "-c")

        frames, told = self.captured(work)
        self.assertGreater(len(frames), 400)
        self.assertEqual({frame[0] for frame in frames}, {"0x0800"})
        self.assertEqual((told["icrc_errors"], told["malformed"]), (0, 0))

    def test_rdma_cm_uses_v2(self):
        self.need("rping")
        frames, _ = self.captured(self.rping)
        self.assertEqual({frame[0] for frame in frames}, {"0x0800"})

    def rping(self):
        server = self.start(1, ["rping", "-s", "-a", ADDRESS[1], "-C", "10", "-V"], ())
        try:
            for _ in range(100):  # a listener of the connection manager shows nowhere: ask until it answers
                client = self.start(0, ["rping", "-c", "-a", ADDRESS[1], "-C", "10", "-V"], ())
                text = client.communicate(timeout=LIMIT)[0]
                if client.returncode == 0:
                    break
                time.sleep(0.05)
            self.assertEqual(client.returncode, 0, text)
            server.communicate(timeout=LIMIT)
            self.assertEqual(server.returncode, 0)
        finally:
            server.kill()
            server.communicate()

    def test_v1_against_v2_fails(self):
        self.need("ibv_rc_pingpong")
        for one, other in ((V1, 0), (0, V1)):
            with self.subTest(server=one, client=other):
                common = ["ibv_rc_pingpong", "-n", "10"]
                _, client = self.pair([*common, "-g", str(one)], [*common, "-g", str(other)], waits=False)
                self.assertNotEqual(client.code, 0)
                self.assertIn(RETRY, client.text)

    def test_two_processes_of_one_port(self):
        for index in (0, V1, V1_LINK_LOCAL):
            with self.subTest(index=index):
                self.pingpong("rc", index, "-c", far=0)

    def test_with_loss(self):
        # the faults end before the programs do, whose last ACKs nobody would ask for again
        faults = ["--fault", "loss=1%,duplicate=1%,reorder=1%,corrupt=1%,seed=3,packets=250"]
        _, told = self.captured(lambda: self.pingpong("rc", V1, "-c", options=faults))
        self.assertGreater(told["icrc_errors"], 0)
        self.assertGreater(told["gaps"], 0)

    def test_not_beyond_a_router(self):
        """v1 has no IP header: nothing is sent to a gateway."""
        self.need("ibv_rc_pingpong")
        self.cable.ip(1, "addr", "add", "10.74.0.2/32", "dev", "lo")
        self.cable.ip(0, "route", "add", "10.74.0.2/32", "via", ADDRESS[1])
        try:
            frames, _ = self.captured(self.beyond)
            self.assertEqual(frames, [])
        finally:
            self.cable.ip(0, "route", "del", "10.74.0.2/32")
            self.cable.ip(1, "addr", "del", "10.74.0.2/32", "dev", "lo")

    def beyond(self):
        common = ["ibv_rc_pingpong", "-n", "10"]
        # the server's GID of the loopback: index 3, behind 127.0.0.1
        _, client = self.pair([*common, "-g", "3"], [*common, "-g", str(V1)], waits=False)
        self.assertIn(RETRY, client.text)
        self.assertIn("GID ::ffff:10.74.0.2", client.text)

    def test_address_handle_from_a_completion(self):
        script = """
import ctypes
lib = ctypes.CDLL("libibverbs.so.1")
lib.ibv_get_device_list.restype = ctypes.POINTER(ctypes.c_void_p)
lib.ibv_open_device.restype = ctypes.c_void_p
context = lib.ibv_open_device(ctypes.c_void_p(lib.ibv_get_device_list(None)[0]))
wc = bytearray(48)
wc[36] = 1  # IBV_WC_GRH
mapped = bytes(10) + b"\\xff\\xff"
def index(header):
    attr = ctypes.create_string_buffer(32)
    failed = lib.ibv_init_ah_from_wc(ctypes.c_void_p(context), 1, ctypes.c_char_p(bytes(wc)), ctypes.c_char_p(header), attr)
    return -1 if failed else attr.raw[20]
us, them = bytes([10, 73, 0, 1]), bytes([10, 73, 0, 2])
v1 = b"\\x60" + bytes(5) + b"\\x1b\\x40" + mapped + them + mapped + us
v2 = bytes(20) + b"\\x45" + bytes(8) + b"\\x11" + bytes(2) + them + us
print(index(v1), index(v2), index(v1[:36] + them), index(v1[:24] + b"\\xff\\x0e" + bytes(14)), index(v2[:36] + b"\\xe0\\0\\0\\1"))
"""
        process = self.start(0, [sys.executable, "-c", script], ())
        self.assertEqual(process.communicate(timeout=LIMIT)[0], f"{V1} 0 -1 {V1} 0\n")


if __name__ == "__main__":
    sys.exit(main())
