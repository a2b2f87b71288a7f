# SPDX-License-Identifier: Apache-2.0
"""Libraries of parallel programs: MPICH, gloo, uDAPL, libfabric's layers.  Skipped where not installed."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from support import LIMIT, Pair, build, command, environment, free_port, need, need_ucx, run

LO = ["--device", "lo"]


class Case(unittest.TestCase):
    def setUp(self):
        need()
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)


class Mpich(Case):
    def test_ring_and_collectives(self):
        """Over UCX on our device alone; MPICH's own shared memory is off."""
        need_ucx("mpicc.mpich", "mpirun.mpich")
        program = build("mpi_ring.c", self.folder, compiler="mpicc.mpich")
        for transport, ranks in (("rc_v", 2), ("rc_v", 4), ("ud_v", 2)):
            with self.subTest(transport=transport, ranks=ranks):
                result = run("mpirun.mpich", "-np", str(ranks), program, options=LO, MPIR_CVAR_NOLOCAL="1",
                             UCX_TLS=f"{transport},self", UCX_NET_DEVICES="rocelab0:1")
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
                self.assertIn(f"mpi_ring: {ranks} ranks: right", result.stdout)


class Gloo(Case):
    def test_sums(self):
        program = build("gloo_sum.cc", self.folder, "-lgloo", "-libverbs", compiler="c++")
        for ranks in (2, 3, 4):
            with self.subTest(ranks=ranks):
                self.sums(program, ranks)

    def sums(self, program, ranks):
        meeting = self.folder / f"of {ranks}"
        meeting.mkdir()
        processes = [subprocess.Popen(command([program, str(meeting), str(rank), str(ranks)], LO), env=environment(),
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                     for rank in range(ranks)]
        try:
            said = [process.communicate(timeout=LIMIT)[0] for process in processes]
        finally:
            for process in processes:
                process.kill()
                process.communicate()
        self.assertEqual(said, ["gloo_sum: right\n"] * ranks)


class Dapl(Case):
    """uDAPL connects by rdma_cm (libdaplofa) or by TCP (libdaploscm)."""
    PROVIDERS = ('cma u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 "lo 0" ""\n'
                 'scm u2.0 nonthreadsafe default libdaploscm.so.2 dapl.2.0 "rocelab0 1" ""\n')
    PORT = 15828  # where these programs exchange parameters; it cannot be chosen

    def pair(self, *arguments):
        need(arguments[0])
        (self.folder / "dat.conf").write_text(self.PROVIDERS)
        pair = Pair([*arguments, "-s"], [*arguments, "-h", "127.0.0.1"], self.PORT, LO,
                    DAT_OVERRIDE=str(self.folder / "dat.conf"), DAPL_SCM_NETDEV="lo")
        self.assertEqual((pair.server.returncode, pair.client.returncode), (0, 0), pair.server_text + pair.client_text)
        return pair.client_text

    def test_dtest(self):
        """-D compares what came."""
        for provider in ("cma", "scm"):
            with self.subTest(provider=provider):
                self.assertIn("PASSED", self.pair("dtest", "-P", provider, "-b", "16384", "-B", "10", "-D"))

    def test_immediate_data_and_atomics(self):
        self.assertIn("immed/atomic test PASSED", self.pair("dtestx", "-P", "cma"))



class Libfabric(Case):
    def test_layers_over_verbs(self):
        """Messages without a connection, over connected endpoints (ofi_rxm) and over datagrams (ofi_rxd)."""
        need("fi_pingpong")
        for provider in ("verbs;ofi_rxm", "verbs;ofi_rxd"):
            with self.subTest(provider=provider):
                port = free_port()
                common = ["fi_pingpong", "-p", provider, "-e", "rdm", "-I", "100", "-c"]
                pair = Pair([*common, "-B", str(port)], [*common, "-P", str(port), "127.0.0.1"], port, LO)
                self.assertEqual((pair.server.returncode, pair.client.returncode), (0, 0),
                                 pair.client_text + pair.server_text)
                self.assertRegex(pair.client_text, r"(?m)^4k\s+100\s+=100 ")


if __name__ == "__main__":
    if not os.path.isdir("/sys/class/net"):
        print("skipped: no /sys (a bare chroot): the programs of others read it")
        sys.exit(77)
    unittest.main()
