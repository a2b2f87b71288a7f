# SPDX-License-Identifier: Apache-2.0
"""Slowdown by size of flows that arrive at random, and what of it is waiting for the own queue pair: worked out again
from the document's flows."""
import json
import re
import unittest

from support import Case, rocelab

TEXT = """rocelab: 1
topology: {leaf-spine: {leaves: 2, spines: 2, hosts: 2}}
links: {host: {rate: 100G, cable: 3m}, fabric: {rate: 100G, cable: 30m}}
nics: {congestion: swift/paper}
jobs:
  - {name: web, qps: %d, poisson: {sizes: websearch, load: 50%%, until: %s}}
"""
SIZES = (0, 10_000, 100_000, 1_000_000, 10_000_000, None)


def nearest(values, percent):
    return values[-(-len(values) * percent // 100) - 1]


class Slowdowns(Case):
    def document(self, text):
        return json.loads(rocelab("sim", "--json", self.file("f.yaml", text.encode())).stdout)

    def test_sizes(self):
        document = self.document(TEXT % (1, "10ms"))
        job, = document["slowdowns"]
        self.assertEqual((job["job"], job["qps"], job["flows"]), ("web", 1, len(document["flows"])))
        listed = {(size["from_bytes"], size["below_bytes"]): size for size in job["sizes"]}
        for first, last in zip(SIZES, SIZES[1:]):
            slow = sorted(flow["fct_ps"] * 1000 // flow["ideal_ps"] / 1000 for flow in document["flows"]
                          if first <= flow["bytes"] and (last is None or flow["bytes"] < last))
            size = listed.pop((first, last), None)
            self.assertEqual(size is not None, bool(slow))
            if slow:
                self.assertEqual(size, {"from_bytes": first, "below_bytes": last, "flows": len(slow),
                                        "p50": nearest(slow, 50), "p95": nearest(slow, 95), "p99": nearest(slow, 99)})
        self.assertEqual(listed, {})
        self.assertGreater(len(job["sizes"]), 3)

    def test_waiting_for_the_own_queue_pair(self):
        """With one queue pair for two ranks a flow waits for those before it that have not ended; with many next to none does."""
        document = self.document(TEXT % (1, "10ms"))
        ends, waited, over = {}, 0, 0
        for flow in document["flows"]:
            pair = (flow["src"], flow["dst"])
            longer = max(flow["fct_ps"] - flow["ideal_ps"], 0)
            wait = min(max(ends.get(pair, 0) - flow["start_ps"], 0), longer)
            self.assertEqual(flow.get("waited_ps", 0), wait, flow)
            ends[pair] = flow["start_ps"] + flow["fct_ps"]
            waited += wait / flow["ideal_ps"]
            over += longer / flow["ideal_ps"]
        share = document["slowdowns"][0]["waited_share"]
        self.assertAlmostEqual(share, waited / over, delta=0.01)
        self.assertGreater(share, 0.2)
        self.assertLess(self.document(TEXT % (32, "10ms"))["slowdowns"][0]["waited_share"], 0.05)

    def test_text(self):
        text = rocelab("sim", self.file("f.yaml", (TEXT % (1, "4ms")).encode())).stdout
        self.assertRegex(text, r"  slowdown of flows of +flows +p50 +p95 +p99\n  below 10KB +\d+ +[\d.]+ +[\d.]+ +[\d.]+\n  10KB to 100KB ")
        self.assertRegex(text, r"\n  \d+% of the slowdown is waiting for other flows of the same queue pair \(qps: 1\); more 'qps' of the job let them pass\.\n")
        self.assertNotIn("same queue pair", rocelab("sim", self.file("f.yaml", (TEXT % (32, "4ms")).encode())).stdout)

    def test_other_jobs_have_none(self):
        text = re.sub(r"(?s)jobs:.*", "jobs: [{permutation: 1, size: 1MB}]\n", TEXT % (1, "1ms"))
        document = self.document(text)
        self.assertNotIn("slowdowns", document)
        self.assertFalse([flow for flow in document["flows"] if "waited_ps" in flow])
        self.assertNotIn("slowdown of flows of", rocelab("sim", self.file("f.yaml", text.encode())).stdout)


if __name__ == "__main__":
    unittest.main()
