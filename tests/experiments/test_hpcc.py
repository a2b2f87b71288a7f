# SPDX-License-Identifier: Apache-2.0
"""How HPCC's senders share lines: the simulator against the algorithm alone (hpcc_senders.py)."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import hpcc_senders

FORM = """experiment: X1
title: shares
source: the algorithm
fabric: |
  rocelab: 1
  topology: {topology}
  links: {{host: {{rate: 100G, delay: 1us}}, fabric: {{rate: 100G, delay: 1us}}}}
  switches: {{latency: {latency}}}
  nics: {{mtu: 1000, latency: {latency}, congestion: {{use: hpcc/paper, hpcc_w_ai: {w_ai}B}}}}
  jobs: [{jobs}]
  stop: {until}ms
runs: {{run: {{}}}}
measures:
"""
STAR = "{single: {hosts: 3}}"
ROW = "{links: {hosts: 6, switches: [A, B, C], links: [[h0, A], [h1, A], [h4, B], [h2, B], [h3, C], [h5, C], [A, B], [B, C]]}}"
LOT = [("h0", "h3"), ("h1", "h4"), ("h2", "h5")]  # the first over both lines


def simulated(topology, flows, starts, since_ms, until_ms, w_ai=80, latency="0ns"):
    jobs = ", ".join(f"{{flows: [{{src: {src}, dst: {dst}, size: 10GB}}], at: {start}}}"
                     for (src, dst), start in zip(flows, starts))
    text = FORM.format(topology=topology, latency=latency, w_ai=w_ai, jobs=jobs, until=until_ms)
    for src, dst in flows:
        text += f'  - {{what: {src}, value: "goodput(run, {src}, {dst}, {since_ms}ms, {until_ms}ms)", published: any, at-least: 0}}\n'
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "X1.yaml").write_text(text, encoding="utf-8")
        result = subprocess.run([os.environ["ROCELAB"], "experiments", "X1", "--json"], capture_output=True, text=True,
                                env=dict(os.environ, ROCELAB_EXPERIMENTS=folder), check=True)
    return [measure["measured"] for measure in json.loads(result.stdout)["experiments"][0]["measures"]]


class Shares(unittest.TestCase):
    def compare(self, ours, model, tolerance):
        for a, b in zip(ours, model, strict=True):
            self.assertLess(abs(a - b), tolerance * b, f"{ours}, and the algorithm alone has {model}")

    def test_two_stay_unequal(self):
        """Where the first round trips leave them, to the end: 6 % apart."""
        model = hpcc_senders.shares(hpcc_senders.TWO, [0, 317e-6], 3e-3, 5e-3)
        ours = simulated(STAR, [("h1", "h0"), ("h2", "h0")], ["0ns", "317us"], 3, 5)
        late = simulated(STAR, [("h1", "h0"), ("h2", "h0")], ["0ns", "317us"], 15, 20)
        self.assertGreater(model[1] / model[0], 1.04)
        self.compare(ours, model, 0.01)
        self.compare(late, model, 0.01)

    def test_more_increase_more_equal(self):
        model = hpcc_senders.shares(hpcc_senders.TWO, [0, 317e-6], 3e-3, 5e-3, w_ai=1000)
        ours = simulated(STAR, [("h1", "h0"), ("h2", "h0")], ["0ns", "317us"], 3, 5, w_ai=1000)
        self.assertLess(abs(model[1] / model[0] - 1), 0.005)
        self.compare(ours, model, 0.01)

    def test_two_lines(self):
        """A sender over two lines goes by the busier of two that vary, and has a third of each, not half."""
        model = hpcc_senders.shares(hpcc_senders.LOT, [0, 0, 0], 3e-3, 5e-3, w_ai=1000)
        ours = simulated(ROW, LOT, ["0ns"] * 3, 3, 5, w_ai=1000)
        self.assertGreater(model[1] / model[0], 1.5)
        self.compare(ours, model, 0.03)


if __name__ == "__main__":
    unittest.main()
