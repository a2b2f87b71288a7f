# SPDX-License-Identifier: Apache-2.0
"""rdma-core's connection-management programs, unmodified, in pairs on 127.0.0.1, and the library's exports.

Programs that use the same network namespace and registry share queue pair 1 and the ports: whatever else runs on this
machine must not be met.  So the test goes into a network namespace of its own, or, where it may not, has a registry
and a UDP port of its own.
"""
import ctypes
import fcntl
import filecmp
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

from support import command, environment, need

LIMIT = 120  # seconds: a guard against hanging, nothing is measured by it
CLONE_NEWNET = 0x40000000
SIOCSIFFLAGS = 0x8914
IFF_UP = 1
own = {}  # what the programs' environment gets

LIBRARY = os.environ["ROCELAB_LIBRDMACM"]
DEBIAN = "/usr/lib/x86_64-linux-gnu/librdmacm.so.1"


def own_network():
    if os.geteuid() != 0 or ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
        return False
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        fcntl.ioctl(sock, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", IFF_UP))
    return True


def setUpModule():
    if own_network():
        return
    folder = tempfile.mkdtemp(prefix="rocelab-rdmacm-")
    unittest.addModuleCleanup(shutil.rmtree, folder, ignore_errors=True)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        own.update(ROCELAB_REGISTRY=folder, ROCELAB_PORT=str(sock.getsockname()[1]))


def start(arguments, options=()):
    return subprocess.Popen(command(arguments, options), env=environment(**own), stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, stdin=subprocess.DEVNULL)


def finish(process):
    if process.poll() is None:
        process.kill()
    return "" if process.stdout.closed else process.communicate()[0]


def pair(test, server, client, options=(), server_ends=True):
    """Until the server listens its port refuses: the client is then started again."""
    need(server[0], client[0])
    serving = start(server, options)
    until = time.monotonic() + LIMIT
    try:
        while True:
            connecting = start(client, options)
            try:
                said = connecting.communicate(timeout=LIMIT)[0]
            except subprocess.TimeoutExpired:
                test.fail(f"{client}: hangs\n{finish(connecting)}")
            if connecting.returncode == 0:
                break
            if serving.poll() is not None or time.monotonic() > until:
                test.fail(f"{client}: {connecting.returncode}\n{said}\n{server}:\n{finish(serving)}")
            time.sleep(0.05)
        if not server_ends:
            return said, finish(serving)
        try:
            heard = serving.communicate(timeout=LIMIT)[0]
        except subprocess.TimeoutExpired:
            test.fail(f"{server}: hangs\n{finish(serving)}")
        test.assertEqual(serving.returncode, 0, heard)
        return said, heard
    finally:
        finish(serving)


class Connections(unittest.TestCase):
    def test_rping(self):
        said, heard = pair(self, ["rping", "-s", "-v", "-C", "5"], ["rping", "-c", "-a", "127.0.0.1", "-v", "-C", "5"])
        for number in range(5):
            self.assertIn(f"ping data: rdma-ping-{number}: ", said)
            self.assertIn(f"server ping data: rdma-ping-{number}: ", heard)

    def test_rping_validates_ipv6_own_qps(self):
        if not os.path.exists("/proc/net/if_inet6"):
            self.skipTest("no IPv6 here")
        pair(self, ["rping", "-s", "-V", "-C", "5", "-S", "4000", "-a", "::1", "-q"],
             ["rping", "-c", "-V", "-C", "5", "-S", "4000", "-a", "::1", "-q"])

    def test_rping_persistent(self):
        need("rping")
        serving = start(["rping", "-s", "-P"])
        try:
            done, until = 0, time.monotonic() + LIMIT
            while done < 3 and time.monotonic() < until and serving.poll() is None:
                client = start(["rping", "-c", "-a", "127.0.0.1", "-C", "2", "-V"])
                client.communicate(timeout=LIMIT)
                done += client.returncode == 0
            self.assertEqual(done, 3)
        finally:
            finish(serving)

    def test_ucmatose(self):
        pair(self, ["ucmatose", "-c", "8", "-C", "20", "-S", "3000"],
             ["ucmatose", "-s", "127.0.0.1", "-c", "8", "-C", "20", "-S", "3000"])

    def test_ucmatose_migrates_ids(self):
        pair(self, ["ucmatose", "-m"], ["ucmatose", "-s", "127.0.0.1", "-m"])

    def test_udaddy(self):
        pair(self, ["udaddy", "-c", "4"], ["udaddy", "-s", "127.0.0.1", "-c", "4"])

    def test_synchronous_ids(self):
        pair(self, ["rdma_server"], ["rdma_client", "-s", "127.0.0.1"])
        pair(self, ["rdma_xserver"], ["rdma_xclient", "-s", "127.0.0.1"])

    def test_xrc_is_refused(self):
        need("rdma_xclient")
        client = start(["rdma_xclient", "-s", "127.0.0.1", "-c", "x"])
        said = client.communicate(timeout=LIMIT)[0]
        self.assertGreater(client.returncode, 0, said)
        self.assertIn("not supported", said)

    def test_cmtime(self):
        said, _ = pair(self, ["cmtime", "-b", "127.0.0.1", "-c", "50"], ["cmtime", "-s", "127.0.0.1", "-c", "50"],
                       server_ends=False)
        self.assertRegex(said, r"disconnect\s*:")

    def test_nobody_listens(self):
        need("rping")
        client = start(["rping", "-c", "-a", "127.0.0.1", "-p", "19999", "-C", "1"])
        said = client.communicate(timeout=LIMIT)[0]
        self.assertNotEqual(client.returncode, 0)
        self.assertIn("RDMA_CM_EVENT_REJECTED, error 8", said)

    def test_loss(self):
        pair(self, ["rping", "-s", "-V", "-C", "20"], ["rping", "-c", "-V", "-C", "20", "-a", "127.0.0.1"],
             options=["--fault", "loss=10%"])


class Multicast(unittest.TestCase):
    def test_mckey(self):
        need("mckey")
        with tempfile.TemporaryFile(mode="w+") as log:
            receiver = subprocess.Popen(command(["stdbuf", "-oL", "mckey", "-m", "239.1.2.3", "-b", "127.0.0.1"]),
                                        env=environment(**own), stdout=log, stderr=subprocess.STDOUT,
                                        stdin=subprocess.DEVNULL)
            try:
                until = time.monotonic() + LIMIT
                text = ""
                while "receiving data transfers" not in text and time.monotonic() < until and receiver.poll() is None:
                    time.sleep(0.02)
                    log.seek(0)
                    text = log.read()
                sender = start(["mckey", "-m", "239.1.2.3", "-b", "127.0.0.1", "-s"])
                said = sender.communicate(timeout=LIMIT)[0]
                self.assertEqual(sender.returncode, 0, said)
                self.assertEqual(receiver.wait(timeout=LIMIT), 0)
            finally:
                if receiver.poll() is None:
                    receiver.kill()
                    receiver.wait()


class Sockets(unittest.TestCase):
    def test_rstream(self):
        for kind in ("b", "n", "a"):
            with self.subTest(kind=kind):
                options = ["-S", "65536", "-C", "100", "-T", kind]
                said, _ = pair(self, ["rstream", *options], ["rstream", "-s", "127.0.0.1", *options])
                self.assertRegex(said, r"custom\s+64k\s+100")

    def test_rstream_verifies(self):
        options = ["-S", "100000", "-C", "50", "-T", "v"]
        pair(self, ["rstream", *options], ["rstream", "-s", "127.0.0.1", *options])

    def test_riostream(self):
        options = ["-S", "4096", "-C", "100"]
        pair(self, ["riostream", *options], ["riostream", "-s", "127.0.0.1", *options])

    def test_rcopy(self):
        need("rcopy")
        with tempfile.TemporaryDirectory() as folder:
            source, copy = pathlib.Path(folder) / "source", pathlib.Path(folder) / "copy"
            source.write_bytes(bytes(i * i // 255 % 256 for i in range(3_000_001)))
            pair(self, ["rcopy"], ["rcopy", str(source), f"127.0.0.1:{copy}"], server_ends=False)
            self.assertTrue(filecmp.cmp(source, copy, shallow=False))


class Preloaded(unittest.TestCase):
    """rdma-core's librspreload makes rsockets of a TCP program's sockets: not of ours, on which they stand."""

    LIBRARY = "/usr/lib/x86_64-linux-gnu/rsocket/librspreload.so.1"
    TOOL = os.environ["ROCELAB_STREAM_TOOL"]
    PORT = 7795

    def start(self, *arguments):
        return subprocess.Popen(command([self.TOOL, *arguments]), env=environment(LD_PRELOAD=self.LIBRARY, **own),
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, stdin=subprocess.DEVNULL)

    def test_tcp_program(self):
        need()
        if not os.path.exists(self.LIBRARY):
            self.skipTest("no librspreload here")
        serving = self.start("serve", str(self.PORT))
        self.addCleanup(finish, serving)
        self.assertEqual(serving.stdout.readline(), "listening\n")
        with socket.socket() as plain:  # nobody listens on the TCP port of that number
            self.assertNotEqual(plain.connect_ex(("127.0.0.1", self.PORT)), 0)
        visiting = self.start("connect", str(self.PORT))
        said = visiting.communicate(timeout=LIMIT)[0]
        self.assertEqual((visiting.returncode, said), (0, "same\n"))
        self.assertEqual(serving.wait(timeout=LIMIT), 0)


class Others(unittest.TestCase):
    def test_perftest(self):
        for program, more in (("ib_send_lat", []), ("ib_write_bw", []), ("ib_read_bw", []),
                              ("ib_send_bw", ["-c", "UD"])):
            with self.subTest(program=program):
                options = ["-R", "-n", "100", *more]
                pair(self, [program, *options], [program, *options, "127.0.0.1"])

    def test_fio_send(self):
        """Its queue pairs survive no RNR NAK, and a receiver without a core posts late."""
        job = ["fio", "--ioengine=rdma", "--port=7501", "--bs=64k", "--size=20m", "--iodepth=16"]
        said, _ = pair(self, [*job, "--name=server", "--rw=read"],
                       [*job, "--name=client", "--rw=write", "--hostname=127.0.0.1", "--verb=send"])
        self.assertNotIn("completion status", said)

    def test_what_is_missing_is_named(self):
        need("ibv_xsrq_pingpong")
        process = subprocess.run(command(["ibv_xsrq_pingpong"]), env=environment(**own),
                                 capture_output=True, text=True, timeout=LIMIT, check=False)
        self.assertNotEqual(process.returncode, 0)
        self.assertEqual(process.stderr.count("rocelab: XRC"), 1, process.stderr)

    def test_libfabric(self):
        options = ["-p", "verbs", "-e", "msg", "-I", "50", "-S", "4096"]
        pair(self, ["fi_pingpong", *options], ["fi_pingpong", *options, "127.0.0.1"])


class Exports(unittest.TestCase):
    @unittest.skipUnless(shutil.which("nm") and os.path.exists(DEBIAN), "nothing to compare with")
    def test_same_as_debian(self):
        def exported(path):
            result = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True)
            return {line.split()[-1] for line in result.stdout.splitlines()}

        self.assertEqual(exported(DEBIAN) - exported(LIBRARY), set())
        newer = {name for name in exported(LIBRARY) if name.endswith(("RDMACM_1.4", "RDMACM_1.5"))}
        self.assertEqual(len(newer), 8)  # six functions, two nodes
        self.assertEqual(exported(LIBRARY) - exported(DEBIAN) - newer, {"getifaddrs"})


if __name__ == "__main__":
    if not os.path.isdir("/sys/class/net"):
        print("skipped: no /sys (a bare chroot): the programs of others read it")
        sys.exit(77)
    unittest.main()
