# SPDX-License-Identifier: Apache-2.0
"""Programs that wait for completion events, over rdma_cm: fio, qperf, QEMU's migration.  Skipped where not installed."""
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

from support import LIMIT, command, environment, free_port, need, run

DISK = 24 << 20


class Processes(unittest.TestCase):
    def start(self, *arguments, folder=None):
        process = subprocess.Popen(command(arguments), env=environment(), stdout=subprocess.PIPE,
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


if __name__ == "__main__":
    if not os.path.isdir("/sys/class/net"):
        print("skipped: no /sys (a bare chroot): the programs of others read it")
        sys.exit(77)
    unittest.main()
