# SPDX-License-Identifier: Apache-2.0
"""perftest through a fabric in virtual time: what it prints is what `sim` has for the same bytes, each time."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["ROCELAB"]
FABRIC = """rocelab: 1
fabric: two
topology: {leaf-spine: {leaves: 2, spines: 1, hosts: 1}}
links: {host: {rate: 400G, cable: 3m}, fabric: {rate: 400G, cable: 30m}}
nics: {mtu: 4096, congestion: none}
"""
BYTES, MESSAGES = 65536, 1000


@unittest.skipUnless(shutil.which("ib_write_bw"), "perftest is not installed")
class Perftest(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)
        self.fabric(FABRIC)

    def fabric(self, text):
        (self.folder / "f.yaml").write_text(text, encoding="utf-8")

    def rocelab(self, verb, *options):
        result = subprocess.run([PROGRAM, verb, "f.yaml", "--json", *options], cwd=self.folder, capture_output=True,
                                text=True, check=False, timeout=240,
                                env=dict(os.environ, XDG_RUNTIME_DIR=str(self.folder), LC_ALL="C.UTF-8"))
        self.assertEqual(0, result.returncode, result.stdout + result.stderr)
        return json.loads(result.stdout), result.stderr

    def run_pair(self, command, *options, more=""):
        """The document, and the client's rows of numbers."""
        (self.folder / "x.up").write_text(f"h0: {command} -F\nh1 after 1ms: {command} -F h0\n{more}", encoding="utf-8")
        document, output = self.rocelab("up", "--script", "x.up", *options)
        rows = [line.split()[1:] for line in output.splitlines() if re.match(r"h1: +\d+ +\d+ +\d", line)]
        return document, [[float(value) for value in row] for row in rows]

    def pair(self, command, *options, more=""):
        document, rows = self.run_pair(command, *options, more=more)
        self.assertEqual(1, len(rows), document)
        return document, rows[0]

    def simulated_ps(self, size):
        self.fabric(FABRIC + f"jobs: [{{flows: [{{src: h1, dst: h0, size: {size}B}}]}}]\n")
        document, _ = self.rocelab("sim")
        self.fabric(FABRIC)
        return document["flows"][0]["fct_ps"]

    def simulated_gbps(self):
        return BYTES * MESSAGES * 8 / self.simulated_ps(BYTES * MESSAGES) * 1e3

    def test_bandwidth_is_that_of_the_simulator(self):
        expected = self.simulated_gbps()
        for program in "ib_write_bw", "ib_send_bw", "ib_read_bw":
            with self.subTest(program):
                document, row = self.pair(f"{program} -s {BYTES} -n {MESSAGES} --report_gbits")
                self.assertEqual([0, 0], [one["exit"] for one in document["programs"]])
                self.assertAlmostEqual(1, row[3] / expected, delta=0.002)

    def test_latency_has_no_spread_and_runs_are_alike(self):
        command = "ib_send_lat -s 8 -n 200"
        first, row = self.pair(command)
        one_way = self.simulated_ps(8) / 2e6
        self.assertLess(one_way, row[5])
        self.assertLess(row[5], one_way + 0.15)  # a post, a poll, reads of the clock
        self.assertLess(row[3] - row[2], 0.05)
        for options in (), ("--threads", "2"):
            again, same = self.pair(command, *options)
            self.assertEqual((first["digest"], row), (again["digest"], same))

    def test_kinds(self):
        """Shared receive queues, datagrams, inline data, events, all sizes: each ends well, and has a line for each size.
        -R is a test of connections; figures.py has all kinds, several times each."""
        for command, rows in (("ib_send_bw --use-srq -q 4 -s 4096 -n 50", 1), ("ib_send_bw -c UD -s 4096 -n 50", 1),
                              ("ib_write_bw -s 64 -I 64 -n 100", 1), ("ib_send_lat -e -s 8 -n 50", 1),
                              ("ib_read_bw -a -n 5", 23)):
            with self.subTest(command):
                document, said = self.run_pair(command)
                self.assertEqual([0, 0], [one["exit"] for one in document["programs"]])
                self.assertEqual(rows, len(said))

    def test_for_some_seconds(self):
        """-D, by alarm(): seconds of the fabric; twice the same.  A slow line: each message is a dozen turns."""
        self.fabric(FABRIC.replace("400G", "100M"))
        (first, [row]), (second, [again]) = (self.run_pair("ib_write_bw -D 2 -s 65536 --report_gbits") for _ in range(2))
        self.assertEqual((first["digest"], row), (second["digest"], again))
        self.assertTrue(0.097 < row[3] < 0.0985, row)
        self.assertGreater(first["virtual_ps"], 2e12)

    def test_a_fault_of_the_script_is_felt(self):
        command = f"ib_write_bw -s {BYTES} -n {MESSAGES} --report_gbits"
        clean, before = self.pair(command)
        dirty, after = self.pair(command, more="at 0ms: corrupt h0 share 0.1%\n")
        self.assertEqual(0, sum(nic["retransmitted"] for nic in clean["nics"]))
        self.assertGreater(sum(nic["retransmitted"] for nic in dirty["nics"]), 0)
        self.assertLess(after[3], before[3] * 0.999)


if __name__ == "__main__":
    unittest.main()
