# SPDX-License-Identifier: Apache-2.0
"""Agreement with the HPCC authors' simulator on its own inputs, and what compare.py makes of recorded runs."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

import peers

SEEDS = {"two": 6, "incast-hpcc, starts apart": 8}


class Agreement(unittest.TestCase):
    def agree(self, name):
        for _, what, our, their, difference, limit in peers.rows(name, peers.CASES[name], SEEDS.get(name, 3)):
            with self.subTest(figure=what):
                self.assertLessEqual(difference, limit, f"ours {our:.0f}, theirs {their:.0f}")

    def test_single_flow(self):
        self.agree("single")

    def test_two_to_one(self):
        self.agree("two")

    def test_incast(self):
        self.agree("incast")

    def test_incast_hpcc(self):
        self.agree("incast-hpcc")

    def test_incast_hpcc_starts_apart(self):
        self.agree("incast-hpcc, starts apart")

    def test_incast_into_a_small_buffer(self):
        self.agree("incast-2MB")


class Exact(unittest.TestCase):
    """Where nothing is random and no two events fall together, the two agree to the nanosecond."""

    def test_dcqcn(self):
        self.assertEqual(peers.ours(peers.CASES["single"], 1)[0], 87091)

    def test_hpcc(self):
        self.assertEqual(peers.ours(peers.CASES["single-hpcc"], 1)[0], 95726)

    def test_400g(self):
        with tempfile.TemporaryDirectory(prefix="rocelab-peers-") as name:
            folder = pathlib.Path(name)
            (folder / "topology").write_text(peers.topology("400Gbps"))
            (folder / "flows").write_text(peers.flow_list(1, 1000000))
            text = peers.call("import", "--from", "hpcc", folder / "topology", folder / "flows")
            (folder / "fabric.yaml").write_text(text)
            document = peers.json.loads(peers.call("sim", "--json", folder / "fabric.yaml"))
        self.assertEqual(document["flows"][0]["fct_ps"], 24022000)


class Sums(unittest.TestCase):
    def test_deciles(self):
        self.assertEqual(peers.deciles([7]), [7] * 9)
        self.assertEqual(peers.deciles(range(11)), list(range(1, 10)))
        self.assertEqual(peers.deciles([20, 10]), list(range(11, 20)))


class Recorded(unittest.TestCase):
    """A folder of each layout with one flow, whose time is known, and what was changed in it."""

    def compare(self, **changed):
        with tempfile.TemporaryDirectory(prefix="rocelab-peers-") as name:
            for path, text in {**RECORDED, **changed}.items():
                file = pathlib.Path(name) / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
            script = pathlib.Path(__file__).with_name("compare.py")
            done = subprocess.run([sys.executable, script, name], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    def test_all_agree(self):
        status, text = self.compare()
        self.assertEqual(status, 0, text)
        for case, ours in (("one_dcqcn", "87,091"), ("one_nscc", "176.2"), ("one_slow", "660."), ("one_reno", "871.")):
            self.assertRegex(text, rf"{case} +(mean|completion), .s +{ours}.*agrees")
        self.assertIn("4 cases; 0 figures differ, 0 cases could not be run", text)

    def test_one_that_differs(self):
        status, text = self.compare(**{"tcp/one_reno/fct.txt": "1 0 1000000 0 900 1000000\n"})
        self.assertEqual(status, 1)
        self.assertRegex(text, "one_reno +completion.*DIFFERS")

    def test_one_that_cannot_be_run(self):
        changed = RECORDED["uet/one_nscc/summary.txt"].replace("-sender_cc_only", "-pcie 2")
        status, text = self.compare(**{"uet/one_nscc/summary.txt": changed})
        self.assertEqual(status, 1)
        self.assertIn("NOT RUN: option -pcie", text)


UET = ("command: htsim_uec -tm {}.cm -sender_cc_only {} -seed S\n"
       "seed 1: done 1/1 mean {} p50 0 max {} | New: 490 Rtx: 0 ACKs: 124 NACKs: {}\n")
RECORDED = {
    "hpcc/inputs/star.txt": peers.topology(),
    "hpcc/inputs/flows.txt": peers.flow_list(1, 1000000),
    "hpcc/one_dcqcn/config.txt": "CC_MODE 1\nTOPOLOGY_FILE inputs/star.txt\nFLOW_FILE inputs/flows.txt\nBUFFER_SIZE 32\n",
    "hpcc/one_dcqcn/fct.txt": "0b000201 0b000101 10000 100 1000000 2000000000 87091 88000\n",
    "uet/inputs/one.cm": "Nodes 16\nConnections 1\n0->13 id 1 start 0 size 2000000\n",
    "uet/inputs/two.cm": "Nodes 4\nConnections 1\n0->3 id 1 start 0 size 2000000\n",
    "uet/inputs/two.topo": ("Nodes 4\nTiers 2\nPodsize 4\n\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 2\nRadix_Up 1\n"
                            "Downlink_Latency_ns 500\nOversubscribed 2\nSwitch_Latency_ns 500\n\n"
                            "Tier 1\nDownlink_speed_Gbps 100\nRadix_Down 2\nDownlink_Latency_ns 500\n"),
    "uet/one_nscc/summary.txt": UET.format("one", "", "176.200", "176.200", 0),
    # the only spine at 25 Gb/s: 490 packets of 4150 B take 650 us, and the round trip
    "uet/one_slow/summary.txt": UET.format("two", "-topo two.topo -failed 1", "660", "660", 72),
    "tcp/inputs/one.txt": "1 0 1000000 0\n",
    "tcp/one_reno/summary.txt": "flows one.txt, 2 hosts, options: --tcp=TcpNewReno --k=0 --delack=1\n",
    "tcp/one_reno/fct.txt": "1 0 1000000 0 872.026 1000000\n",
}


if __name__ == "__main__":
    unittest.main()
