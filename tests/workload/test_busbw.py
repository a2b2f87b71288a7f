# SPDX-License-Identifier: Apache-2.0
"""Bus bandwidth of each algorithm, uncongested, against its closed form (docs/collectives.md): within 2 %.

Each form is the bytes on the line of the busiest adapter (headers, gaps, ACKs and clears counted) over its rate, plus
the way of the first piece: hops between hosts, hops within.
"""
import json
import os
import subprocess
import unittest

RATE = 25e9  # bytes a second: 200G
GPU = 450e9
HOSTS, GPUS, NICS = 4, 4, 4
RANKS = HOSTS * GPUS
MTU = 4096
STEP = 512 * 1024
NET = 12.8e-6  # what software takes for a hop: NCCL's 14 us less the network
WIRE = 1.9e-6  # adapter, switch, cables
HOP = NET + WIRE
LOCAL = 1e-6
SIZE = 256_000_000
# Of the time taken, what the roofline has (jobs[].ideal_ps): acknowledgements, clears and the filling of pipelines are
# not in it.
IDEAL_LEAST = {"broadcast: ring": 0.92, "reduce: ring": 0.92, "reduce: tree": 0.95}
FABRIC = """rocelab: 1
topology: {rail: {hosts: %d, gpus: %d, leaves: 4, spines: 4}}
links: {host: {rate: 200G, cable: 3m}, fabric: {rate: 400G, cable: 30m}}
switches: {latency: 1us}
nics: {mtu: 4096, congestion: none}
jobs: [{%s, size: %dB, protocol: %s}]
"""


def message(size):
    """Line bytes of a message with what it causes on the same line: headers, ACKs of another, a clear and its ACK."""
    packets = -(-size // MTU)
    return size + packets * 82 + 20 + -(-packets // 8) * 86 + 64 + 82 + 20 + 86


def stream(size, chunk):
    """Line bytes of `size` bytes in messages of `chunk`."""
    return size / chunk * message(chunk)


def time_of(job, size, protocol="simple", hosts=HOSTS):
    text = FABRIC % (hosts, GPUS, job, size, protocol)
    done = subprocess.run([os.environ["ROCELAB"], "sim", "-", "--json"], input=text, capture_output=True, text=True,
                          check=True, timeout=300)
    result = json.loads(done.stdout)
    assert result["state"] == "done", result["state"]
    took, ideal = result["jobs"][0]["time_ps"], result["jobs"][0]["ideal_ps"]
    least = IDEAL_LEAST.get(job, 0.97)
    print(f"{job} {protocol}: {ideal / took:.1%} of ideal")
    assert least * took <= ideal <= took, f"{job} {protocol}: {ideal / took:.1%} of ideal, at least {least:.0%} is due"
    return took / 1e12


def ring(factor, size=SIZE, wire=1.0, pieces=2, chunk=4 * STEP):
    """`factor` (n-1)/n of the buffer by the adapters of a host, two channels each."""
    piece = min(chunk, size / NICS / 2 / RANKS) / pieces
    return stream(factor * (RANKS - 1) / RANKS * size / NICS * wire, int(piece * wire)) / RATE + HOP + WIRE


def tree_way(chunk):
    return 2 * (HOP + chunk / RATE) + (GPUS - 1) * (LOCAL + 2 * NICS * chunk / GPU)


def tree(units, pieces, chunk=STEP):
    """Inside one of the two trees and a leaf of the other: `units` times a half of an adapter's part, and the way of
    each of `pieces`: the first up, a full chunk, and the last down, what is left of the buffer."""
    return stream(units * SIZE / NICS / 2, chunk) / RATE + sum(map(tree_way, pieces)) + WIRE


def rails(factor):
    """A rail's part goes `factor` (h-1)/h times; four channels, two slices a chunk."""
    chunk = min(STEP, SIZE / 4 / RANKS) / 2
    return (stream(factor * (HOSTS - 1) / HOSTS * SIZE / GPUS, int(chunk)) / RATE + HOP + WIRE + 2 * LOCAL +
            4 * 3 * chunk / GPU)


def pipeline(chunk):
    """Once by each adapter, the last piece the whole way around: channels start at the root side by side."""
    return (stream(SIZE / NICS, chunk) / RATE + HOSTS * HOP + (HOSTS - 1) * chunk / RATE +
            (RANKS - HOSTS) * (LOCAL + NICS * chunk / GPU) + WIRE)


FORMS = {
    "allreduce: ring": lambda: ring(2),
    "reducescatter: ring": lambda: ring(1),
    "allgather: ring": lambda: ring(1),
    "allreduce: tree": lambda: tree(4, [STEP, SIZE // NICS // 2 % STEP]),
    "allreduce: nvls-tree": lambda: (stream(4 * SIZE / GPUS / 2, 65536) / RATE + 4 * (HOP + 65536 / RATE) +
                                     2 * LOCAL + WIRE),
    "allreduce: hierarchical": lambda: rails(2),
    "reducescatter: hierarchical": lambda: rails(1),
    "allgather: hierarchical": lambda: rails(1),
    "broadcast: ring": lambda: pipeline(STEP),
    "reduce: ring": lambda: pipeline(STEP),
    "broadcast: tree": lambda: tree(2, [STEP]),
    "reduce: tree": lambda: tree(2, [STEP]),
    "alltoall: auto": lambda: stream(SIZE * (HOSTS - 1) / HOSTS, 131072) / RATE + HOP + LOCAL,
    "sendrecv: auto": lambda: stream(SIZE, 131072) / RATE + HOP + WIRE,
}


class BusBandwidth(unittest.TestCase):
    def near(self, name, took, due):
        print(f"{name}: {took * 1e6:.1f} us, closed form {due * 1e6:.1f} us, {took / due - 1:+.2%}")
        self.assertLess(abs(took / due - 1), 0.02, f"{name}: {took * 1e6:.1f} us, closed form {due * 1e6:.1f} us")

    def test_simple(self):
        for job, form in FORMS.items():
            with self.subTest(job):
                self.near(job, time_of(job, SIZE), form())

    def test_protocols(self):
        self.near("LL", time_of("allreduce: ring", SIZE, "ll"), ring(2, wire=2.0, pieces=1, chunk=32768))
        self.near("LL128", time_of("allreduce: ring", SIZE, "ll128"),
                  ring(2, wire=128 / 120, pieces=1, chunk=576000))

    def test_within_a_host(self):
        """NVLS sends each byte once, and each part of the reduced once more; a ring sends twice (n-1)/n."""
        self.near("ring in a host", time_of("allreduce: ring", SIZE, hosts=1),
                  2 * (GPUS - 1) / GPUS * SIZE / GPU + LOCAL)
        self.near("NVLS", time_of("allreduce: nvls", SIZE, hosts=1), SIZE / GPU + 2 * LOCAL)

    def test_gather(self):
        """What the root's adapter takes, and within its host what its link takes."""
        size = SIZE // 16
        self.near("gather", time_of("gather: auto", size),
                  stream(size * (RANKS - GPUS), 131072) / RATE + (GPUS - 1) * size / GPU + HOP)


class Threads(unittest.TestCase):
    """Every algorithm side by side, on a fabric with congestion: the same run for any number of threads."""
    JOBS = ["allreduce: ring", "allreduce: tree, qps: 2", "allreduce: hierarchical", "allreduce: nvls-tree",
            "reducescatter: ring, protocol: ll", "allgather: hierarchical", "broadcast: tree, root: 3", "reduce: ring, root: 9",
            "alltoall: auto", "alltoall: auto, pxn: false, clear-to-send: false", "gather: auto, root: 5", "sendrecv: auto",
            "allreduce: auto, ranks: [h1, h2:1, h0:3], repeat: 3"]

    def test_same_digest(self):
        text = FABRIC.split("jobs:")[0] % (HOSTS, GPUS) + "jobs:\n" + "".join(
            f"  - {{name: j{i}, {job}, size: {700 + 300 * i}KB, at: {i}us}}\n" for i, job in enumerate(self.JOBS))
        text = text.replace("congestion: none", "congestion: dcqcn/connectx")
        runs = set()
        for options in (["--threads", "1"], ["--threads", "2"], ["--threads", "3"], ["--threads", "1", "--no-tiles"]):
            done = subprocess.run([os.environ["ROCELAB"], "sim", "-", "--json"] + options, input=text, capture_output=True,
                                  text=True, check=True, timeout=300)
            result = json.loads(done.stdout)
            self.assertEqual(result["state"], "done")
            runs.add((result["digest"], tuple(job["time_ps"] for job in result["jobs"])))
        self.assertEqual(len(runs), 1, runs)


if __name__ == "__main__":
    unittest.main()
