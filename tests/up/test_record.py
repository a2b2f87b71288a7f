# SPDX-License-Identifier: Apache-2.0
"""Flows that wait for each other, and copies of them."""
import json
import os
import pathlib
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
        self.env = dict(os.environ, XDG_RUNTIME_DIR=str(self.folder), LC_ALL="C.UTF-8")

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


if __name__ == "__main__":
    unittest.main()
