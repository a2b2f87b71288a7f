# SPDX-License-Identifier: Apache-2.0
"""Ideal times of jobs (docs/model.md): nothing is ever faster, and what has the fabric to itself comes near."""
import json
import os
import subprocess
import unittest

RAIL = """rocelab: 1
topology: {rail: {hosts: %d, gpus: %d, leaves: %d, spines: 2}}
links: {host: {rate: 200G, cable: 3m}, fabric: {rate: 400G, cable: 30m}}
nics: {mtu: 4096, congestion: none}
jobs: [%s]
"""
SINGLE = """rocelab: 1
topology:
  links:
    hosts: [h0, h1, h2, h3, h4, h5, h6, h7, h8]
    switches: [s]
    links: [[h0, s], [h1, s], [h2, s], [h3, s], [h4, s], [h5, s], [h6, s], [h7, s], {a: h8, b: s, rate: 25G}]
links: {host: {rate: 100G, cable: 3m}}
nics: {mtu: 1024, congestion: none}
jobs: [%s]
"""
PAIR_LEAST = 0.99
COLLECTIVES = ["allreduce: ring", "allreduce: tree", "allreduce: hierarchical", "allreduce: nvls-tree", "allreduce: auto",
               "reducescatter: ring", "allgather: hierarchical", "broadcast: ring, root: 3", "broadcast: tree",
               "reduce: ring", "alltoall: auto", "gather: auto", "sendrecv: auto"]


def jobs_of(text):
    done = subprocess.run([os.environ["ROCELAB"], "sim", "-", "--json"], input=text, capture_output=True, text=True,
                          timeout=300, check=False)
    if done.returncode:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


def shares(text):
    return {job["name"]: job["ideal_ps"] / job["time_ps"] for job in jobs_of(text)["jobs"]}


class Collectives(unittest.TestCase):
    def test_never_faster(self):
        for hosts, gpus in ((2, 1), (3, 2), (4, 4), (8, 1)):
            for protocol in ("simple", "ll", "ll128"):
                jobs, before = [], None
                for i, job in enumerate(COLLECTIVES):
                    if "nvls" in job and protocol != "simple":
                        continue
                    for size in ("1B", "999B", "70KB", "3MB"):
                        name = f"j{i}-{size}"
                        after = f", after: {before}" if before else ""
                        jobs.append(f"{{name: {name}, {job.replace('root: 3', 'root: 1')}, size: {size}, "
                                    f"protocol: {protocol}{after}}}")
                        before = name
                with self.subTest(hosts=hosts, gpus=gpus, protocol=protocol):
                    found = shares(RAIL % (hosts, gpus, gpus, ", ".join(jobs)))
                    self.assertEqual(len(found), len(jobs))
                    for name, share in found.items():
                        self.assertLessEqual(share, 1, f"{name}: {share:.4f} of ideal")
                        self.assertGreater(share, 0.05, f"{name}: {share:.4f} of ideal")

    def test_rows(self):
        """The row of a collective has its jobs' ideal."""
        result = jobs_of(RAIL % (2, 2, 2, "{allreduce: ring, sizes: [1MB, 2MB], repeat: 2}"))
        rows = {row["size"]: row["ideal_us"] for row in result["collectives"]}
        for job in result["jobs"]:
            self.assertAlmostEqual(rows[job["bytes"]], job["ideal_ps"] / 1e6, delta=0.001)
        self.assertLess(rows[1000000], rows[2000000])

    def test_inside_a_host(self):
        """Nothing crosses the network: the links between GPUs are the limit."""
        found = shares(RAIL % (2, 4, 4, "{name: a, allreduce: ring, size: 64MB, ranks: [h0], protocol: simple}"))
        self.assertGreater(found["a"], 0.95)
        self.assertLessEqual(found["a"], 1)


class Flows(unittest.TestCase):
    def near(self, jobs, least):
        for name, share in shares(SINGLE % jobs).items():
            self.assertLessEqual(share, 1, f"{name}: {share:.4f} of ideal")
            self.assertGreaterEqual(share, least, f"{name}: {share:.4f} of ideal")

    def test_pair(self):
        for size in ("1B", "64KB", "10MB"):
            self.near(f"{{name: a, flows: [{{src: h0, dst: h1, size: {size}}}]}}", PAIR_LEAST)

    def test_incast(self):
        """The receiver's line is the limit, however many send; and a slow sender's line where that is slower."""
        self.near("{name: a, incast: 7, to: h0, ranks: [h0, h1, h2, h3, h4, h5, h6, h7], size: 1MB}", PAIR_LEAST)
        self.near("{name: a, flows: [{src: h8, dst: h0, size: 1MB}, {src: h1, dst: h0, size: 1MB}]}", PAIR_LEAST)

    def test_offsets(self):
        """A flow that begins late, and one that waits for another, are not expected before they can be."""
        self.near("{name: a, flows: [{src: h0, dst: h1, size: 1MB}, {src: h0, dst: h2, size: 1MB, at: 300us}]}", PAIR_LEAST)
        self.near("{name: a, flows: [{src: h0, dst: h1, size: 1MB}, {src: h1, dst: h2, size: 1MB, after: 0}, "
                  "{src: h1, dst: h3, size: 1KB, after: 1, at: 5us}]}", 0.98)
        self.near("{name: a, all-to-all: pairwise, size: 8MB, ranks: [h0, h1, h2, h3]}", 0.97)
        self.near("{name: a, incast: 4, to: h0, size: 100KB, bursts: 5, every: 200us}", PAIR_LEAST)


class Training(unittest.TestCase):
    def test_compute(self):
        text = RAIL % (2, 2, 2, "{name: t, training: {model: {use: llama3-70b, layers: 4, sequence: 128}, "
                    "groups: {tp: 2, pp: 2}, micro-batches: 2, compute: {tflops: 400}}}")
        result = jobs_of(text)
        job, training = result["jobs"][0], result["training"][0]
        self.assertEqual(job["ideal_ps"], training["compute_ps"] * training["steps"])


if __name__ == "__main__":
    unittest.main()
