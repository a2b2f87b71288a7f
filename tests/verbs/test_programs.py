# SPDX-License-Identifier: Apache-2.0
"""Debian's own programs, unmodified, in pairs on 127.0.0.1 with nothing but `rocelab run --`."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from support import LIMIT, Pair, free_port, need, need_ucx, run


def some(*kinds, which):
    """All of them in the soak, else one."""
    return kinds if os.environ.get("ROCELAB_SOAK") else (kinds[which],)


class Information(unittest.TestCase):
    def test_devinfo(self):
        need("ibv_devinfo")
        result = run("ibv_devinfo", "-v")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"(?m)^hca_id:\trocelab0$")
        self.assertRegex(result.stdout, r"state:\s+PORT_ACTIVE \(4\)")
        self.assertRegex(result.stdout, r"link_layer:\s+Ethernet")
        self.assertRegex(result.stdout, r"GID\[\s*0\]:.*, RoCE v2")

    def test_devices_is_what_programs_find(self):
        need("ibv_devices")
        self.assertIn("rocelab0", run("ibv_devices").stdout)
        self.assertIn("rocelab0", run("ibv_devices", ROCELAB_DEVICE="lo").stdout)
        self.assertIn("mlx5_7", run("ibv_devices", options=["--device", "mlx5_7=lo"]).stdout)

    def test_ibstat(self):
        need("ibstat")
        result = run("ibstat", "rocelab0")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"State: Active\s+Physical state: LinkUp")

    def test_ibstatus(self):
        """A script that changes into /sys, lists it with the shell, and reads."""
        need("ibstatus")
        result = run("ibstatus")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("Infiniband device 'rocelab0' port 1 status:", result.stdout)
        self.assertRegex(result.stdout, r"state:\s+4: ACTIVE\n")
        self.assertNotIn("unknown", result.stdout)

    def test_ucx_finds_it(self):
        need("ucx_info")
        text = run("ucx_info", "-d").stdout
        for transport in ("rc_verbs", "ud_verbs"):
            self.assertRegex(text, rf"Transport: {transport}\n#\s+Device: rocelab0:1")


class Pingpong(unittest.TestCase):
    def pair(self, name, *more, options=()):
        need(name)
        port = free_port()
        common = [name, "-g", "0", "-p", str(port), "-n", "200", *more]
        pair = Pair(common, [*common, "127.0.0.1"], port, options)
        for process, text in ((pair.server, pair.server_text), (pair.client, pair.client_text)):
            self.assertEqual(process.returncode, 0, text)
            self.assertRegex(text, r"iters in .* seconds")
        return pair

    def test_rc(self):
        self.pair("ibv_rc_pingpong")
        self.pair("ibv_rc_pingpong", "-e", "-c")

    def test_uc(self):
        self.pair("ibv_uc_pingpong")
        self.pair("ibv_uc_pingpong", "-e")

    def test_ud(self):
        self.pair("ibv_ud_pingpong", "-s", "1024")
        self.pair("ibv_ud_pingpong", "-s", "1024", "-e")

    def test_srq(self):
        self.pair("ibv_srq_pingpong", "-q", "4")
        self.pair("ibv_srq_pingpong", "-q", "4", "-e")

    def test_rc_on_the_loopback_device(self):
        self.pair("ibv_rc_pingpong", "-c", options=["--device", "lo"])

    def test_rc_through_faults(self):
        """Whoever has all it waits for ends.  If its last ACK is the packet that is lost its peer repeats in vain and says so,
        with hardware too; so the faults end before the program does, which sends 200 messages of four packets."""
        self.pair("ibv_rc_pingpong", "-c", options=[
            "--fault", "loss=1%,duplicate=1%,reorder=1%,corrupt=1%,seed=5,packets=500"])

    def test_what_faults_did_is_said_at_the_end(self):
        options = ["--fault", "loss=5%,seed=5,packets=500"]
        said = r"rocelab: faults: of \d{3,} packets [1-9]\d* lost; [1-9]\d* sent again, \d+ timeouts\n"
        pair = self.pair("ibv_rc_pingpong", options=options)
        self.assertRegex(pair.client_text, said)
        self.assertEqual(1, pair.client_text.count("faults:"))
        self.assertNotIn("faults:", self.pair("ibv_rc_pingpong", options=[*options, "--quiet"]).client_text)
        self.assertNotIn("faults:", self.pair("ibv_rc_pingpong").client_text)

    def test_rc_through_shared_memory(self):
        self.pair("ibv_rc_pingpong", "-c", options=["--wire", "shm"])

    def test_capture(self):
        with tempfile.TemporaryDirectory() as folder:
            self.pair("ibv_rc_pingpong", "-c", options=["--pcap", f"{folder}/%p.pcap"])
            self.assertEqual(len(list(pathlib.Path(folder).glob("*.pcap"))), 2)
            pair = self.pair("ibv_rc_pingpong", options=["--pcap", f"{folder}/%p.small,snap=100,size=10KB"])
            sizes = [path.stat().st_size for path in pathlib.Path(folder).glob("*.small")]
            self.assertTrue(len(sizes) == 2 and all(5000 < size <= 10000 for size in sizes), sizes)
            self.assertIn("10KB are reached", pair.client_text)
            self.assertRegex(pair.client_text, r"small: \d+ packets were not written")


class Perftest(unittest.TestCase):
    """Each program spins a fifth of a second to find out how fast its processor is: some of the kinds, the others in the soak."""

    def pair(self, name, *more):
        need(name)
        port = free_port()
        common = [name, "-p", str(port), "-n", "200", *more]
        pair = Pair(common, [*common, "127.0.0.1"], port)
        self.assertEqual((pair.server.returncode, pair.client.returncode), (0, 0), pair.client_text + pair.server_text)
        # Size and iterations, and a figure: `inf` where perftest could not calibrate its clock on a loaded machine.
        self.assertRegex(pair.client_text, r"(?m)^ \d+\s+\d+\s+([\d.]+|inf)")

    def test_send(self):
        for i, more in enumerate(([], ["-c", "UC"], ["-c", "UD"], ["-e"])):
            for name in some("ib_send_bw", "ib_send_lat", which=i % 2):
                with self.subTest(name=name, more=more):
                    self.pair(name, *more)

    def test_write(self):
        for i, more in enumerate(([], ["-c", "UC"])):
            for name in some("ib_write_bw", "ib_write_lat", which=i):
                with self.subTest(name=name, more=more):
                    self.pair(name, *more)

    def test_read(self):
        self.pair("ib_read_bw")
        for more in some([], ["-e"], which=1):
            self.pair("ib_read_lat", *more)

    def test_atomic(self):
        for kind in some("FETCH_AND_ADD", "CMP_AND_SWAP", which=1):  # the other below
            self.pair("ib_atomic_bw", "-A", kind)
        self.pair("ib_atomic_lat")

    def test_inline_both_ways_and_many(self):
        self.pair("ib_send_lat", "-I", "64")
        self.pair("ib_write_lat", "-I", "200")
        self.pair("ib_send_bw", "-b")
        self.pair("ib_write_bw", "-q", "4", "-s", "4096")
        self.pair("ib_send_bw", "-r", "64", "-q", "2", "-s", "4096", "--use-srq")


class Ucx(unittest.TestCase):
    def test_over_rc_and_ud(self):
        need_ucx()
        for transport in ("rc_v", "ud_v"):  # with what each needs to connect
            for kind, more in (("tag_lat", []), ("tag_bw", ["-s", "65536"]), ("ucp_put_lat", []), ("ucp_get", [])):
                with self.subTest(transport=transport, kind=kind):
                    port = free_port()
                    common = ["ucx_perftest", "-t", kind, "-n", "200", "-w", "10", "-p", str(port), *more]
                    pair = Pair(common, [*common, "127.0.0.1"], port, UCX_TLS=f"{transport},self",
                                UCX_NET_DEVICES="rocelab0:1", UCX_LOG_LEVEL="error")
                    self.assertEqual((pair.server.returncode, pair.client.returncode), (0, 0),
                                     pair.client_text + pair.server_text)
                    self.assertTrue(re.search(r"(?m)^Final:\s+200", pair.client_text), pair.client_text)


class Libfabric(unittest.TestCase):
    def test_info(self):
        need("fi_info")
        text = run("fi_info", "-p", "verbs", options=["--device", "lo"]).stdout
        for kind in ("FI_EP_MSG", "FI_EP_DGRAM", "FI_EP_RDM"):
            self.assertRegex(text, rf"domain: rocelab0(?:-dgram)?\n\s+version: .*\n\s+type: {kind}\n")

    def test_pingpong(self):
        need("fi_pingpong")
        for kind in ("msg", "dgram", "rdm"):
            with self.subTest(kind=kind):
                port = free_port()
                common = ["fi_pingpong", "-p", "verbs", "-e", kind, "-I", "100", "-c"]
                pair = Pair([*common, "-B", str(port)], [*common, "-P", str(port), "127.0.0.1"], port,
                            ["--device", "lo"])
                self.assertEqual((pair.server.returncode, pair.client.returncode), (0, 0),
                                 pair.client_text + pair.server_text)
                self.assertRegex(pair.client_text, r"(?m)^4k\s+100\s+=100 ")


class Mpi(unittest.TestCase):
    """Open MPI over UCX on our device alone: what mpi_ring.c checks came through it."""

    def test_ring_and_collectives(self):
        need_ucx("mpicc", "mpirun")
        with tempfile.TemporaryDirectory() as folder:
            program = f"{folder}/mpi_ring"
            subprocess.run(["mpicc", "-std=gnu17", "-O1", "-o", program, os.environ["ROCELAB_MPI_RING"]], check=True,
                           timeout=LIMIT)
            for transport in ("rc_v", "ud_v"):
                for ranks in some(2, 4, which=transport == "rc_v"):
                    with self.subTest(transport=transport, ranks=ranks):
                        self.ranks(program, transport, ranks)

    def ranks(self, program, transport, ranks):
        result = run("mpirun", "--allow-run-as-root", "--oversubscribe", "-np", str(ranks),
                     "-x", f"UCX_TLS={transport},self", "-x", "UCX_NET_DEVICES=rocelab0:1",
                     "--mca", "pml", "ucx", "--mca", "osc", "ucx", program, options=["--device", "lo"])
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn(f"mpi_ring: {ranks} ranks: right", result.stdout)


class Nccl(unittest.TestCase):
    def test_the_names_and_versions_it_asks_for(self):
        """It opens libibverbs.so, with no number, and takes its functions at IBVERBS_1.1."""
        need("/usr/bin/python3")
        script = """
import ctypes
handle = ctypes.CDLL("libibverbs.so")
libc = ctypes.CDLL(None)
libc.dlvsym.restype = ctypes.c_void_p
libc.dlvsym.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
for name in ("get_device_list free_device_list get_device_name open_device close_device get_async_event "
             "ack_async_event query_device query_port query_gid query_qp alloc_pd dealloc_pd reg_mr dereg_mr "
             "create_cq destroy_cq create_qp modify_qp destroy_qp fork_init event_type_str").split():
    assert libc.dlvsym(handle._handle, f"ibv_{name}".encode(), b"IBVERBS_1.1"), name
for name, version in (("reg_mr_iova2", "1.8"), ("query_ece", "1.10"), ("set_ece", "1.10"), ("reg_dmabuf_mr", "1.12")):
    assert libc.dlvsym(handle._handle, f"ibv_{name}".encode(), f"IBVERBS_{version}".encode()), name
count = ctypes.c_int()
handle.ibv_get_device_list.restype = ctypes.c_void_p
assert handle.ibv_get_device_list(ctypes.byref(count)) and count.value == 1
print("found")
"""
        result = run("/usr/bin/python3", "-c", script, options=["--device", "lo"])
        self.assertEqual((result.stdout, result.stderr), ("found\n", ""))


if __name__ == "__main__":
    if not os.path.isdir("/sys/class/net"):
        print("skipped: no /sys (a bare chroot): the programs of others read it")
        sys.exit(77)
    unittest.main()
