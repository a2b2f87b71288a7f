# SPDX-License-Identifier: Apache-2.0
"""usage: python3 tests/programs/soak.py BUILD

Programs of others that take long, for tests/soak: hpcc over Open MPI, iperf3 over rsockets.  Skipped where not
installed; what is quick is in tests/verbs and tests/rdmacm."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

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


if __name__ == "__main__":
    unittest.main(verbosity=2)
