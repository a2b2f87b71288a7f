# SPDX-License-Identifier: Apache-2.0
"""PCIe: credits bound what is sent and what is taken, by their closed form."""
import json
import unittest

from support import Case, rocelab

FRAME = 4096 + 58  # Ethernet, IPv4, UDP, BTH, ICRC
FILE = """rocelab: 1
topology: {{single: {{hosts: 3}}}}
links: {{host: {{rate: 400G, cable: 3m}}}}
nics: {{congestion: none, pcie: {pcie}}}
jobs: [{{flows: [{flows}]}}]
"""
ONE = "{src: h0, dst: h1, size: 20MB}"
THROUGH = ONE + ", {src: h1, dst: h2, size: 20MB}"


class Pcie(Case):
    def goodputs(self, pcie, flows=ONE):
        """Gb/s of each flow, and pauses."""
        path = self.file("pcie.yaml", FILE.format(pcie=pcie, flows=flows).encode())
        result = rocelab("sim", "--json", path, cwd=self.folder)
        self.assertEqual(result.returncode, 0, result.stderr)
        document = json.loads(result.stdout)
        self.assertTrue(all(flow["acked_bytes"] == flow["bytes"] for flow in document["flows"]))
        return ([flow["bytes"] * 8000 / flow["fct_ps"] for flow in document["flows"]],
                sum(port["pfc_tx"] for port in document["ports"]))

    def test_reads_bound_what_is_sent(self):
        for reads, size, time_ns in ((32, 512, 1000), (64, 512, 2000), (16, 4096, 3000), (8, 256, 500)):
            goodput, pauses = self.goodputs(f"{{reads: {reads}, read-size: {size}B, read-time: {time_ns}ns}}")
            closed = reads * size * 8 / time_ns * 4096 / FRAME
            self.assertAlmostEqual(goodput[0] / closed, 1, delta=0.005)
            self.assertEqual(pauses, 0)

    def test_enough_reads_cost_nothing(self):
        self.assertEqual(self.goodputs("{}"), self.goodputs("{reads: 128}"))
        self.assertEqual(self.goodputs("{}"), self.goodputs("gen5-x16"))

    def test_writes_bound_what_is_taken(self):
        """All but what the buffer still holds at the end is taken at the credits' rate, and pauses hold the rest back."""
        for pcie, gbps in (("{writes: 64, write-size: 128B, write-time: 500ns}", 131.072),
                           ("{relaxed-ordering: false}", 131.072), ("{relaxed-ordering: false, ordered: 8}", 65.536)):
            goodput, pauses = self.goodputs(pcie)
            frames = 20e6 * FRAME / 4096
            closed = gbps * 20e6 / (frames - 2 ** 20)
            self.assertTrue(0.98 * gbps * 4096 / FRAME < goodput[0] < closed, (pcie, goodput, closed))
            self.assertGreater(pauses, 0)

    def test_order_makes_a_receiver_a_slow_sender(self):
        """The same rate of writes: with order, each fetch waits for 4096 B of them besides."""
        free, _ = self.goodputs("{writes: 16}", THROUGH)
        ordered, _ = self.goodputs("{relaxed-ordering: false}", THROUGH)
        self.assertGreater(free[1], 125)
        fetch_ns = FRAME * 8 / 1048.576 + 4096 * 8 / 131.072
        self.assertLess(ordered[1], 1.08 * 4096 * 8 / fetch_ns)
        self.assertAlmostEqual(ordered[0] / free[0], 1, delta=0.02)

    def test_the_verdict_names_the_bus(self):
        self.file("slow.yaml", FILE.format(pcie="{reads: 32}", flows=ONE).encode())
        said = rocelab("sim", "slow.yaml", cwd=self.folder).stdout.replace("\n    ", " ")
        self.assertRegex(said, r"warning D23, slow host bus: h0:0 rested for 6\d\.\d% of the time with data whose payload was still under way")


if __name__ == "__main__":
    unittest.main()
