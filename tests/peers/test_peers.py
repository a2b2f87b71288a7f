# SPDX-License-Identifier: Apache-2.0
"""Agreement with the HPCC authors' simulator on its own inputs; compare.py does the same with more seeds."""
import os
import pathlib
import tempfile
import unittest

import peers

os.environ.pop("ROCELAB_SHARED", None)  # the figures here, whatever lies on this machine
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


if __name__ == "__main__":
    unittest.main()
