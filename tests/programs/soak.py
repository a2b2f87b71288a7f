# SPDX-License-Identifier: Apache-2.0
"""usage: python3 tests/programs/soak.py BUILD

Programs of others that take long, for tests/soak: hpcc over Open MPI, iperf3 over rsockets, a Ceph cluster.  Skipped
where not installed; what is quick is in tests/verbs and tests/rdmacm."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest
import uuid

if len(sys.argv) < 2:
    sys.exit(__doc__)
BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
OPTIONS = {option["name"]: option["value"]
           for option in json.loads((BUILD / "meson-info" / "intro-buildoptions.json").read_text())}
os.environ["ROCELAB"] = str(BUILD / "rocelab")
os.environ["ROCELAB_SANITIZED"] = "" if OPTIONS["b_sanitize"] == "none" else OPTIONS["b_sanitize"]
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "verbs"))
from support import command, environment, free_port, listens, need, need_ucx  # noqa: E402

LONG = 1800  # seconds: a guard against hanging
LO = ["--device", "lo"]

# Lines of hpccinf.txt from the third: one problem of 400 unknowns in blocks of 40, on 2 x 2 ranks.
HPCC = ("HPL.out", "8", "1", "400", "1", "40", "0", "1", "2", "2", "16.0", "1", "2", "1", "4", "1", "2", "1", "1", "1", "1",
        "1", "1", "2", "64", "0", "0", "1", "8")


class Hpcc(unittest.TestCase):
    def test_all_of_it(self):
        """HPL, PTRANS, RandomAccess, FFT, latency and bandwidth; each checks its own results."""
        need_ucx("hpcc", "mpirun")
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "hpccinf.txt").write_text("\n".join(("hpcc", "soak", *HPCC)) + "\n")
            ranks = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "4", "-x", "UCX_TLS=rc_v,self",
                     "-x", "UCX_NET_DEVICES=rocelab0:1", "--mca", "pml", "ucx", "--mca", "osc", "ucx", "hpcc"]
            result = subprocess.run(command(ranks, LO), cwd=folder, env=environment(), capture_output=True, text=True,
                                    timeout=LONG, check=False)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            said = (pathlib.Path(folder) / "hpccoutf.txt").read_text()
        self.assertIn("\nSuccess=1\n", said)
        self.assertIn("\nMPIRandomAccess_ErrorsFraction=0\n", said)
        self.assertNotIn("FAILED", said)


class Iperf(unittest.TestCase):
    LIBRARY = "/usr/lib/x86_64-linux-gnu/rsocket/librspreload.so.1"

    def test_over_rsockets(self):
        need("iperf3")
        if not os.path.exists(self.LIBRARY):
            self.skipTest("no librspreload here")
        port, env = str(free_port()), environment(LD_PRELOAD=self.LIBRARY)
        with subprocess.Popen(command(["iperf3", "-s", "-1", "-B", "127.0.0.1", "-p", port, "--forceflush"], LO), env=env,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
            self.addCleanup(server.kill)
            while "listening" not in (line := server.stdout.readline()):
                self.assertTrue(line, "the server has ended")
            self.assertFalse(listens(int(port)), "the server listens by TCP")
            client = subprocess.run(command(["iperf3", "-c", "127.0.0.1", "-p", port, "-n", "1G", "-J"], LO), env=env,
                                    capture_output=True, text=True, timeout=LONG, check=False)
            self.assertEqual(client.returncode, 0, client.stdout + client.stderr)
            self.assertGreaterEqual(json.loads(client.stdout)["end"]["sum_sent"]["bytes"], 1 << 30)
            server.communicate(timeout=LONG)
            self.assertEqual(server.returncode, 0)


class Ceph(unittest.TestCase):
    """A monitor and two OSDs that keep objects in memory, two copies of each.  Nothing is kept; nobody is asked who he is."""
    OSDS = 2
    FSID = "11111111-2222-3333-4444-555555555555"
    SETTINGS = {
        "fsid": FSID, "auth_cluster_required": "none", "auth_service_required": "none", "auth_client_required": "none",
        "public_network": "127.0.0.0/8", "osd_pool_default_size": OSDS, "osd_crush_chooseleaf_type": 0,
        "osd_objectstore": "memstore", "memstore_device_bytes": 4 << 30, "mon_data_avail_crit": 1,
        "osd_pool_default_pg_autoscale_mode": "off", "ms_type": "async+rdma", "ms_async_rdma_device_name": "rocelab0",
        # its defaults would register 4 GiB in each process
        "ms_async_rdma_receive_buffers": 1024, "ms_async_rdma_receive_queue_len": 512, "ms_async_rdma_send_buffers": 256,
    }

    def configure(self, more):
        port = free_port()
        places = {"mon_host": f"v2:127.0.0.1:{port}", "mon_data": f"{self.folder}/mon", "osd_data": f"{self.folder}/osd$id",
                  "run_dir": self.folder, "admin_socket": f"{self.folder}/$name.asok", "pid_file": f"{self.folder}/$name.pid",
                  "log_file": f"{self.folder}/$name.log", "keyring": f"{self.folder}/keyring"}
        lines = [f"{key} = {value}" for key, value in {**self.SETTINGS, **places, **more}.items()]
        (pathlib.Path(self.folder) / "conf").write_text("\n".join(["[global]", *lines]) + "\n")
        (pathlib.Path(self.folder) / "keyring").touch()
        self.env = environment(CEPH_CONF=f"{self.folder}/conf")
        self.plain("monmaptool", "--create", "--fsid", self.FSID, "--addv", "a", f"[v2:127.0.0.1:{port}]", f"{self.folder}/map")
        (pathlib.Path(self.folder) / "mon").mkdir()
        self.plain("ceph-mon", "--mkfs", "-i", "a", "--monmap", f"{self.folder}/map", "--ms-type", "async+posix")

    def plain(self, *arguments, good=True):
        result = subprocess.run(arguments, env=self.env, capture_output=True, text=True, timeout=LONG, check=False)
        if good:
            self.assertEqual(result.returncode, 0, f"{arguments}\n{result.stdout}{result.stderr}")
        return result

    def over_rdma(self, *arguments, good=True):
        return self.plain(*command(arguments, LO), good=good)

    def start(self, *arguments):
        with open(f"{self.folder}/{arguments[0]}.out", "ab") as said:
            process = subprocess.Popen(command(arguments, LO), env=self.env, stdout=said, stderr=said, stdin=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def cluster(self):
        processes = [self.start("ceph-mon", "-f", "-i", "a")]
        for number in range(self.OSDS):
            identity = str(uuid.uuid4())
            os.mkdir(f"{self.folder}/osd{number}")
            self.over_rdma("ceph", "--connect-timeout", "60", "osd", "new", identity)
            self.plain("ceph-osd", "-i", str(number), "--mkfs", "--osd-uuid", identity, "--no-mon-config", "--ms-type", "async+posix")
            processes.append(self.start("ceph-osd", "-f", "-i", str(number)))
        end = time.monotonic() + LONG
        while f"{self.OSDS} up" not in self.over_rdma("ceph", "osd", "stat").stdout:
            self.assertTrue(all(process.poll() is None for process in processes) and time.monotonic() < end, "a daemon has ended")
            time.sleep(0.5)
        self.over_rdma("ceph", "osd", "pool", "create", "pool", "8", "8")
        return [process.pid for process in processes]

    def objects(self, **more):
        """What is written comes back; `seq` compares what it reads.  OSDs have sent and received messages by RDMA."""
        need("ceph-mon", "ceph-osd", "ceph", "rados")
        with tempfile.TemporaryDirectory() as self.folder:
            self.configure(more)
            pids = self.cluster()
            written = pathlib.Path(self.folder) / "written"
            written.write_bytes(os.urandom(20_000_001))
            self.over_rdma("rados", "-p", "pool", "put", "object", str(written))
            self.over_rdma("rados", "-p", "pool", "get", "object", f"{self.folder}/read")
            self.assertEqual((pathlib.Path(self.folder) / "read").read_bytes(), written.read_bytes())
            for size in ("4096", "4194304"):
                run = f"--run-name={size}"
                self.over_rdma("rados", "-p", "pool", "bench", "5", "write", "-b", size, "-t", "16", "--no-cleanup", run)
                read = self.over_rdma("rados", "-p", "pool", "bench", "5", "seq", "-t", "16", run)
                self.assertNotIn("is not correct", read.stderr)
            said = json.loads(self.plain(os.environ["ROCELAB"], "counters", "--json").stdout)
            by = {each["pid"]: each["counters"] for each in said["adapters"]}
            for pid in pids[1:]:
                self.assertGreater(by[pid]["rx_payload_bytes"], 20_000_001)
            self.doCleanups()

    def test_objects(self):
        self.objects()

    def test_objects_through_rdma_cm(self):
        """What Ceph calls iwarp is any adapter with rdma_cm."""
        self.objects(ms_async_rdma_type="iwarp", ms_async_rdma_cm="true")


if __name__ == "__main__":
    unittest.main(verbosity=2)
