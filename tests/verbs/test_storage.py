# SPDX-License-Identifier: Apache-2.0
"""Programs of storage, over rdma_cm: fio, qperf, QEMU's migration, iSER with tgt and libiscsi, librpma.  Skipped
where not installed."""
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

from support import LIMIT, build, command, environment, free_port, need, run

DISK = 24 << 20


class Processes(unittest.TestCase):
    def start(self, *arguments, folder=None, options=(), **more):
        process = subprocess.Popen(command(arguments, options), env=environment(**more), stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, stdin=subprocess.DEVNULL, cwd=folder)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def until(self, attempt, server):
        """A client as often as it takes for the server to listen: rdma_cm shows no port to look for."""
        end = time.monotonic() + LIMIT
        while True:
            result = attempt()
            if result.returncode == 0 or server.poll() is not None or time.monotonic() > end:
                return result
            time.sleep(0.1)


class Fio(Processes):
    def transfer(self, verb):
        need("fio")
        with tempfile.TemporaryDirectory() as folder:
            port = str(free_port())
            job = ["fio", "--name=job", "--ioengine=rdma", f"--port={port}", "--bs=64k", "--size=4m", "--iodepth=8"]
            server = self.start(*job, "--rw=read", folder=folder)
            result = self.until(lambda: run(*job, "--hostname=127.0.0.1", f"--verb={verb}", "--rw=write"), server)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            self.assertRegex(result.stdout, r"WRITE: .*io=4096KiB")
            text = server.communicate(timeout=LIMIT)[0]
            self.assertEqual(server.returncode, 0, text)
            self.assertNotIn("error", text)

    def test_write(self):
        self.transfer("write")

    def test_read(self):
        self.transfer("read")

    def test_send(self):
        self.transfer("send")


class Qperf(Processes):
    def test_latencies_and_bandwidth(self):
        """With events; each test ends by itself, and has measured something."""
        need("qperf")
        port = str(free_port())
        server = self.start("qperf", "-lp", port)
        tests = ("rc_lat", "rc_rdma_read_lat", "rc_rdma_write_lat", "rc_bw")
        found = {}
        for test in tests:
            result = self.until(lambda test=test: run("qperf", "-lp", port, "-t", "1", "127.0.0.1", "-cm", "1", test),
                                server)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            found[test] = re.search(r"(latency|bw) +=", result.stdout)
        self.assertTrue(all(found.values()), found)


class Qmp:
    """The control socket of a QEMU."""

    def __init__(self, path, process):
        end = time.monotonic() + LIMIT
        self.socket = socket.socket(socket.AF_UNIX)
        while True:
            try:
                self.socket.connect(str(path))
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > end:
                    raise
                time.sleep(0.05)
        self.socket.settimeout(LIMIT)
        self.file = self.socket.makefile("rw")
        self.file.readline()
        self("qmp_capabilities")

    def __call__(self, name, **arguments):
        self.file.write(json.dumps({"execute": name, "arguments": arguments}) + "\n")
        self.file.flush()
        while True:
            answer = json.loads(self.file.readline())
            if "error" in answer:
                raise AssertionError(answer)
            if "return" in answer:
                return answer["return"]

    def close(self):
        self.file.close()
        self.socket.close()


class Qemu(Processes):
    def test_migration(self):
        """A paused machine with random memory moves over rdma; the memory is the same afterwards."""
        need("qemu-system-x86_64")
        folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        (folder / "memory").write_bytes(os.urandom(DISK))
        machine = ["qemu-system-x86_64", "-machine", "pc,accel=tcg", "-nodefaults", "-display", "none", "-m", "64", "-S"]
        loaded = ["-device", f"loader,file={folder}/memory,addr=0x1000000,force-raw=on"]
        uri = f"rdma:127.0.0.1:{free_port()}"
        there = self.start(*machine, "-qmp", f"unix:{folder}/there,server=on,wait=off", "-incoming", uri)
        here = self.start(*machine, *loaded, "-qmp", f"unix:{folder}/here,server=on,wait=off")
        source, target = Qmp(folder / "here", here), Qmp(folder / "there", there)
        self.addCleanup(source.close)
        self.addCleanup(target.close)
        source("migrate", uri=uri)
        end = time.monotonic() + LIMIT
        state = {}
        while state.get("status") not in ("completed", "failed") and time.monotonic() < end:
            time.sleep(0.05)
            state = source("query-migrate")
        self.assertEqual(state.get("status"), "completed", state)
        target("pmemsave", val=0x1000000, size=DISK, filename=str(folder / "moved"))
        self.assertEqual((folder / "moved").read_bytes(), (folder / "memory").read_bytes())


class Iser(Processes):
    """tgtd shows one disk by TCP and by iSER; what is written by one way is compared as it comes back."""
    INITIATOR = "iqn.2026-11.lab:blocks"  # as in iscsi_blocks.c

    def admin(self, *arguments):
        return subprocess.run(["tgtadm", *arguments], env=environment(TGT_IPC_SOCKET=f"{self.folder}/control"),
                              capture_output=True, text=True, timeout=LIMIT, check=False)

    def target(self, driver, number):
        common = ["--lld", driver, "--tid", str(number), "--mode"]
        # tgt 1.0.85 asks iSER's initiators for both, address and name
        for more in (["target", "--op", "new", "--targetname", f"iqn.lab:{driver}"],
                     ["logicalunit", "--op", "new", "--lun", "1", "--backing-store", f"{self.folder}/disk"],
                     ["target", "--op", "bind", "--initiator-address", "ALL"],
                     ["target", "--op", "bind", "--initiator-name", self.INITIATOR]):
            result = self.admin(*common, *more)
            self.assertEqual(result.returncode, 0, result.stderr)

    def serve(self):
        """The target; answers the URLs of its disk."""
        ports = {"iscsi": free_port(), "iser": free_port() // 2}  # tgtd keeps iSER's port in a signed 16 bits
        server = self.start("tgtd", "-f", "--iscsi", f"portal=127.0.0.1:{ports['iscsi']}",
                            "--iser", f"port={ports['iser']},pool_sz_mb=128", TGT_IPC_SOCKET=f"{self.folder}/control",
                            options=["--device", "lo"])
        end = time.monotonic() + LIMIT
        while self.admin("--lld", "iser", "--mode", "target", "--op", "show").returncode != 0:
            if server.poll() is not None or time.monotonic() > end:
                self.fail("tgtd does not start: " + server.stdout.read())
            time.sleep(0.05)
        for number, driver in enumerate(ports, 1):
            self.target(driver, number)
        return {driver: f"{driver}://127.0.0.1:{port}/iqn.lab:{driver}/1" for driver, port in ports.items()}

    def test_blocks(self):
        need("tgtd", "tgtadm")
        if os.geteuid() != 0:
            self.skipTest("tgtd wants to be root")
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        program = build("iscsi_blocks.c", self.folder, "-liscsi")
        with open(f"{self.folder}/disk", "wb") as disk:
            disk.truncate(16 << 20)
        urls = self.serve()
        for size, requests, depth in ((4096, 200, 1), (65536, 64, 1), (4096, 1000, 16), (262144, 32, 8)):
            for url in urls.values():
                with self.subTest(url=url, size=size, depth=depth):
                    # libiscsi 1.19 takes memory from malloc() to be zero, which meson sees to that it is not
                    result = run(program, url, str(size), str(requests), str(depth), options=["--device", "lo"],
                                 MALLOC_PERTURB_="0")
                    self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
                    self.assertIn(f"iscsi_blocks: {requests} requests: right", result.stdout)


class Rpma(Processes):
    def test_store(self):
        """Writes, flushes, and questions whose SEND completes before the answer's RECV."""
        need()
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        program = build("rpma_store.c", folder, "-lrpma", "-libverbs")
        for wire in ("udp", "shm"):
            with self.subTest(wire=wire):
                port = str(free_port())
                options = ["--device", "lo", "--wire", wire]
                server = self.start(program, "serve", port, options=options)
                result = self.until(lambda port=port, options=options: run(program, "fill", port, options=options),
                                    server)
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
                text = server.communicate(timeout=LIMIT)[0]
                self.assertEqual((server.returncode, text), (0, "rpma_store: 400 rounds: right\n"))


if __name__ == "__main__":
    if not os.path.isdir("/sys/class/net"):
        print("skipped: no /sys (a bare chroot): the programs of others read it")
        sys.exit(77)
    unittest.main()
