# SPDX-License-Identifier: Apache-2.0
"""up --record: what programs posted, replayed by sim: the same bytes, the same time, and over twice the hosts."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["ROCELAB"]
FABRIC = """rocelab: 1
fabric: record
topology: {leaf-spine: {leaves: %d, spines: 2, hosts: 2}}
links: {host: {rate: 400G, cable: 3m}, fabric: {rate: 400G, cable: 20m}}
nics: {mtu: 4096}
"""


class Run(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)
        self.env = dict(os.environ, XDG_RUNTIME_DIR=str(self.folder), TMPDIR=str(self.folder), LC_ALL="C.UTF-8")

    def rocelab(self, *words, status=0):
        run = subprocess.run([PROGRAM, *words], cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL,
                             capture_output=True, text=True, check=False, timeout=120)
        self.assertEqual(status, run.returncode, run.stderr)
        return run

    def write(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")

    def sim(self, leaves, job, status=0):
        self.write("sim.yaml", FABRIC % leaves + f"jobs: [{{flows: {job}}}]\n")
        run = self.rocelab("sim", "--json", "sim.yaml", status=status)
        return json.loads(run.stdout) if status == 0 else run.stderr


class Flows(Run):
    def test_flows_that_wait(self):
        """For a completion where they begin at the host that sent, for the arrival where that was the receiver."""
        self.write("x.flows", "h0 h1 64KB 1us qp 0\nh0 h1 64KB 100ns qp 0 after 0\nh1 h0 8B 100ns qp 0 after 0\n")
        first, second, back = self.sim(2, "{file: x.flows}")["flows"]
        self.assertEqual(1000000, first["start_ps"])
        self.assertEqual(first["start_ps"] + first["fct_ps"] + 100000, second["start_ps"])
        self.assertTrue(first["start_ps"] < back["start_ps"] < second["start_ps"])

    def test_copies(self):
        self.write("x.flows", "h0 h1 64KB\nh1 h0 8B 1us after 0\n")
        flows = self.sim(2, "{file: x.flows, copies: 2, shift: 2}")["flows"]
        self.assertEqual([("h0:0", "h1:0"), ("h1:0", "h0:0"), ("h2:0", "h3:0"), ("h3:0", "h2:0")],
                         [(flow["src"], flow["dst"]) for flow in flows])
        self.assertEqual(flows[1]["start_ps"], flows[3]["start_ps"])

    def test_what_cannot_be(self):
        for text, why in (("h0 h1 1KB after 0\n", "it can wait for one before it"),
                          ("h0 h1 1KB\nh2 h3 1KB after 0\n", "neither begins nor ends at the host"),
                          ("h0 h1 1KB qp x\n", "'qp NUMBER' and 'after NUMBER'")):
            self.write("x.flows", text)
            self.assertIn(why, self.sim(2, "{file: x.flows}", status=2))
        self.write("x.flows", "h0 h1 1KB\n")
        self.assertIn("the fabric has 4 hosts", self.sim(2, "{file: x.flows, copies: 3, shift: 2}", status=2))


class Record(Run):
    def record(self, client, peer="h2"):
        """Programs on h0 and h2; what they sent, from first post to last completion, and that again by sim."""
        self.write("up.yaml", FABRIC % 2)
        self.write("x.up", f"h0: {client}\n{peer} after 10ms: {client} h0\n")
        document = json.loads(self.rocelab("up", "up.yaml", "--script", "x.up", "--record", "x.flows", "--json").stdout)
        pairs = document["queue_pairs"]
        time = max(pair["last_completion_ps"] or 0 for pair in pairs) - min(pair["first_post_ps"] for pair in pairs)
        return sum(pair["bytes"] for pair in pairs), time

    def replay(self, leaves, copies):
        flows = self.sim(leaves, f"{{file: x.flows, copies: {copies}, shift: 4}}")["flows"]
        return sum(flow["bytes"] for flow in flows), max(flow["start_ps"] + flow["fct_ps"] for flow in flows)

    @unittest.skipUnless(shutil.which("ib_write_bw"), "perftest is not there")
    def test_bandwidth(self):
        moved, time = self.record("ib_write_bw -s 65536 -n 300")
        self.assertEqual((300 * 65536, time), (moved, self.replay(2, 1)[1]))
        for leaves, copies in ((2, 1), (4, 2)):
            replayed, again = self.replay(leaves, copies)
            self.assertEqual(copies * moved, replayed)
            self.assertAlmostEqual(1, again / time, delta=0.01)

    @unittest.skipUnless(shutil.which("ib_write_lat"), "perftest is not there")
    def test_latency(self):
        """Each waits for the other's write, which no completion tells."""
        moved, time = self.record("ib_write_lat -s 8 -n 50")
        self.assertEqual(50, (self.folder / "x.flows").read_text(encoding="utf-8").count("h2:0 h0:0"))
        for leaves, copies in ((2, 1), (4, 2)):
            replayed, again = self.replay(leaves, copies)
            self.assertEqual(copies * moved, replayed)
            self.assertAlmostEqual(1, again / time, delta=0.01)

    @unittest.skipUnless(shutil.which("ucx_perftest"), "UCX is not there")
    def test_ucx(self):
        """READs and messages without a byte have one byte more each."""
        self.env.update(UCX_TLS="rc_v", UCX_NET_DEVICES="rocelab0:1")
        moved, time = self.record("ucx_perftest -t tag_bw -s 65536 -n 200 -w 10")
        messages = len((self.folder / "x.flows").read_text(encoding="utf-8").splitlines()) - 2
        replayed, again = self.replay(2, 1)
        self.assertTrue(moved <= replayed <= moved + messages, (moved, replayed))
        self.assertAlmostEqual(1, again / time, delta=0.05)

    @unittest.skipUnless(all(map(shutil.which, ("mpicc.openmpi", "mpirun.openmpi", "ucx_info"))), "Open MPI or UCX is not there")
    def test_mpi(self):
        """What ranks of one host say to each other is no flow, and what comes of it waits for what came before.  READs
        and messages without a byte have one byte more each; datagrams to the own host are not there."""
        self.write("up.yaml", FABRIC % 2)
        ring = str(self.folder / "ring")
        subprocess.run(["mpicc.openmpi", "-std=gnu17", "-O1", "-o", ring, os.environ["ROCELAB_MPI_RING"]], check=True, timeout=120)
        self.env.update(UCX_TLS="rc_v,self", UCX_NET_DEVICES="rocelab0:1")
        self.write("x.up", "h0: mpirun.openmpi --allow-run-as-root -x UCX_TLS -x UCX_NET_DEVICES --mca pml ucx --mca osc ucx "
                           f"--host h0,h1:2,h2:2 -np 5 {ring}\n")
        run = self.rocelab("up", "up.yaml", "--script", "x.up", "--record", "x.flows", "--json")
        self.assertIn("5 ranks: right", run.stderr)
        pairs = json.loads(run.stdout)["queue_pairs"]
        moved = sum(pair["bytes"] for pair in pairs if pair["peer"] and pair["peer"] != pair["host"])
        datagrams = sum(pair["bytes"] for pair in pairs if pair["peer"] is None)
        flows = self.sim(2, "{file: x.flows}")["flows"]
        replayed = sum(flow["bytes"] for flow in flows)
        self.assertTrue(moved <= replayed <= moved + datagrams + len(flows), (moved, replayed, datagrams, len(flows)))


if __name__ == "__main__":
    unittest.main()
