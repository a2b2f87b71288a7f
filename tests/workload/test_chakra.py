# SPDX-License-Identifier: Apache-2.0
"""Chakra's traces, made byte by byte: one graph that every rank runs, one a rank, and what is refused.

    test_chakra.py PROGRAM SOURCE [TEST...]"""
import json
import os
import pathlib
import random
import sys
import tempfile
import unittest

from train_support import fabric, group, run


def varint(number):
    out = b""
    while True:
        low, number = number & 127, number >> 7
        out += bytes([low | (128 if number else 0)])
        if not number:
            return out


def proto(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def attribute(name, value):
    kind = 29 if isinstance(value, bytes) else 9
    return proto(10, proto(1, name.encode()) + proto(kind, value))


def node(number, kind, deps=(), micros=0, **attributes):
    return (proto(1, number) + proto(2, b"name") + proto(3, kind) + proto(5, b"".join(map(varint, deps))) +
            proto(7, micros) + b"".join(attribute(name, value) for name, value in attributes.items()))


def messages(*nodes):
    return b"".join(varint(len(m)) + m for m in (proto(1, b"1.0.1"), *nodes))


class Chakra(unittest.TestCase):
    def run_trace(self, data, more=""):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "t.0.et"
            path.write_bytes(data)
            return run(fabric(f"- trace: {{file: {path}, format: chakra{more}}}"), "--json")

    def job(self, data, more=""):
        done = self.run_trace(data, more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["training"][0]

    def test_graph(self):
        """1 computes, then 2 sums while 3 computes, and 4 needs both; a CPU's nodes hand on what they wait for."""
        job = self.job(messages(
            node(4, 4, (5, 3), 50),
            node(1, 4, (), 100),
            node(2, 7, (1,), comm_type=0, comm_size=1 << 20),
            node(3, 4, (1,), 400),
            node(5, 4, (2,), 77, is_cpu_op=1)))
        self.assertEqual(job["compute_ps"], 550 * 1000000)
        self.assertEqual((group(job, "dp")["calls"], group(job, "dp")["bytes"]), (1, 1 << 20))
        self.assertEqual(group(job, "dp")["ranks"], 8)
        self.assertEqual(job["step_ps"], 550 * 1000000 + group(job, "dp")["exposed_ps"])
        self.assertLess(group(job, "dp")["exposed_ps"], group(job, "dp")["busy_ps"])

    def test_groups_by_name(self):
        job = self.job(messages(node(1, 7, (), comm_type=2, comm_size=4096, comm_group=b"tp")), ", groups: {tp: 2}")
        self.assertEqual((group(job, "tp")["ranks"], group(job, "tp")["calls"]), (2, 1))

    def test_json(self):
        job = self.job(b'{"workload_graph": [{"Id": 1, "NodeType": 4, "data_deps": [], "runtime": 9},\n'
                       b'{"Id": 2, "NodeType": 7, "data_deps": [1], "comm_type": 0, "comm_size": 4096}]}')
        self.assertEqual(job["compute_ps"], 9000000)
        self.assertEqual(group(job, "dp")["bytes"], 4096)

    def test_bad(self):
        good = messages(node(1, 4, (), 100), node(2, 7, (1,), comm_type=0, comm_size=4096))
        for data, message in (
                (b"", "there are no nodes"),
                (good[:-3], "byte 23: a message is longer than the file"),
                (b"\xff" * 12, "byte 0: a message is longer"),
                (messages(b"\x0f\x01"), "byte 8: the node's message is broken"),
                (messages(node(1, 4, (2,), 5), node(2, 4, (1,), 5)), "this node depends on itself"),
                (messages(node(1, 4, (), 5), node(1, 4, (), 5)), "a node of this id is there already"),
                (messages(node(1, 5, (), 5)), "COMM_SEND or COMM_RECV in a graph that every rank runs"),
                (messages(node(1, 7, (), comm_type=4, comm_size=8)), "its comm_type is no collective"),
                (messages(node(1, 4, (), 5, is_cpu_op=1)), "none of its 1 nodes computes"),
                (messages(node(1, 4, (), 1 << 40)), "longer than 1000 s"),
                (b'{"workload_graph": 3}', "no list 'workload_graph'"),
                (b'{"workload_graph": [{"Id": 1, "NodeType": "x"}]}', "line 1, column 43: 'NodeType' is no number")):
            with self.subTest(message=message):
                done = self.run_trace(data)
                self.assertEqual(done.returncode, 2, done.stdout)
                self.assertIn(message, done.stderr)
                self.assertRegex(done.stderr, r"f\.yaml:10:\d+: error: ")

    def test_cut_anywhere(self):
        """Whatever is cut off a file, there is an answer, and no other than the three."""
        good = messages(node(1, 4, (), 100), node(2, 7, (1,), comm_type=0, comm_size=4096))
        for length in range(0, len(good), 5):
            self.assertIn(self.run_trace(good[:length]).returncode, (0, 2))


def send(number, dst, size, deps=(), tag=0, **more):
    return node(number, 5, deps, comm_dst=dst, comm_size=size, comm_tag=tag, **more)


def receive(number, src, size, deps=(), tag=0, **more):
    return node(number, 6, deps, comm_src=src, comm_size=size, comm_tag=tag, **more)


class ChakraPairs(unittest.TestCase):
    """Graphs that are each one rank's, with sends and receives."""

    def run_ranks(self, *graphs, hosts=2, gpus=2, more="", name="t.*.et", options=("--json",)):
        with tempfile.TemporaryDirectory() as folder:
            for rank, data in enumerate(graphs):
                (pathlib.Path(folder) / name.replace("*", str(rank))).write_bytes(data)
            text = fabric(f"""
- trace: {{file: '{folder}/{name}', format: chakra{more}}}
  ranks: {len(graphs)}
""", hosts, gpus)
            return run(text, *options)

    def job(self, *graphs, **more):
        done = self.run_ranks(*graphs, **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["training"][0]

    def test_failure(self):
        """A send that fails breaks the trace's own job, and no other: not the first of the file, which is still to come."""
        size = 8 << 20
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "t.0.et").write_bytes(messages(send(1, 1, size)))
            (pathlib.Path(folder) / "t.1.et").write_bytes(messages(receive(1, 0, size)))
            text = fabric(f"""
- allreduce: ring
  size: 1MB
  ranks: [h2, h3]
  at: 10s
- trace: {{file: '{folder}/t.*.et', format: chakra}}
  ranks: [h0, h1]
""", 4, 1)
            done = run(text + "faults: [{down: h1, at: 20us}]\n", "--json")
        self.assertEqual(done.returncode, 1, done.stderr)
        document = json.loads(done.stdout)
        self.assertEqual(document["state"], "failed")
        other, trace = document["jobs"]
        self.assertIsNone(other["failed_ps"])
        self.assertGreater(other["time_ps"], 0)
        self.assertEqual(trace["failed_ps"], document["failure"]["at_ps"])

    def test_ping_pong(self):
        """Rank 0 computes and sends, 2 (in the other host) computes with it and sends back: nothing overlaps."""
        size = 8 << 20
        job = self.job(
            messages(node(1, 4, (), 100), send(2, 2, size, (1,), 7), receive(3, 2, size, (), 8),
                     node(4, 4, (3,), 50)),
            messages(node(1, 4, (), 10)),
            messages(receive(1, 0, size, (), 7), node(2, 4, (1,), 200), send(3, 0, size, (2,), 8)))
        wire = size * 8 / 100e9 * 1e12
        computing = (100 + 200 + 50) * 1_000_000
        self.assertEqual((group(job, "p2p")["calls"], group(job, "p2p")["bytes"]), (1, size))
        self.assertEqual(group(job, "p2p")["ranks"], 2)
        self.assertGreater(job["step_ps"], computing + 2 * wire)
        self.assertLess(job["step_ps"], computing + 2 * wire * 1.1)
        # Rank 0 waits for all but its own compute.
        self.assertAlmostEqual(group(job, "p2p")["exposed_most_ps"] / (job["step_ps"] - 150_000_000), 1, delta=0.01)

    def test_same_for_any_threads(self):
        graphs = [messages(node(1, 4, (), 10 * (r + 1)), send(2, (r + 1) % 4, 1 << 20, (1,)),
                           receive(3, (r + 3) % 4, 1 << 20), node(4, 4, (3,), 5),
                           node(5, 7, (4,), comm_type=0, comm_size=1 << 20)) for r in range(4)]
        seen = {json.loads(self.run_ranks(*graphs, more=", steps: 3", options=("--json", "--threads", str(n))).stdout)
                ["digest"] for n in (1, 2)}
        self.assertEqual(len(seen), 1)

    def test_tags_in_another_order(self):
        """What is sent as tags 1, 2 may be received as 2, 1: each has its own way."""
        job = self.job(messages(send(1, 2, 4096, (), 1), send(2, 2, 1 << 20, (), 2), node(3, 4, (1, 2), 1)),
                       messages(node(1, 4, (), 1)),
                       messages(receive(1, 0, 1 << 20, (), 2), node(2, 4, (1,), 5), receive(3, 0, 4096, (2,), 1)))
        self.assertEqual((group(job, "p2p")["calls"], group(job, "p2p")["bytes"]), (2, 4096 + (1 << 20)))

    def test_what_others_need_is_not_held_back(self):
        """Each computes with what it receives before it sends, by the numbers of its nodes, but need not."""
        graph = [messages(receive(1, 1 - r, 4096), node(2, 4, (1,), 50), send(3, 1 - r, 4096)) for r in range(2)]
        self.assertLess(self.job(*graph)["step_ps"], 200_000_000)

    def test_only_what_is_needed_is_waited_for(self):
        """The receive that comes late is posted first, and nobody needs it before the end."""
        size = 4096
        job = self.job(messages(receive(1, 1, size, (), 1), receive(2, 1, size, (), 2), node(3, 4, (2,), 1000)),
                       messages(send(1, 0, size, (), 2), node(2, 4, (), 900), send(3, 0, size, (2,), 1)))
        self.assertLess(job["step_ps"], 1_100_000_000)

    def test_pipeline(self):
        """One forward, one backward over four ranks, as graphs: p-1 of m+p-1 slots idle."""
        p, m, graphs = 4, 8, []
        for s in range(p):
            nodes, last, ahead = [], 0, min(p - 1 - s, m)
            plan = [("f", i) for i in range(ahead)]
            for i in range(m - ahead):
                plan += [("f", ahead + i), ("b", i)]
            plan += [("b", i) for i in range(m - ahead, m)]
            for way, i in plan:
                before, behind = (s - 1, s + 1) if way == "f" else (s + 1, s - 1)
                base = 10 * len(nodes) + 10
                deps = [last] if last else []
                if 0 <= before < p:
                    nodes.append(receive(base, before, 256, (), 2 * i + (way == "b")))
                    deps.append(base)
                nodes.append(node(base + 1, 4, deps, 1000 if way == "f" else 2000))
                last = base + 1
                if 0 <= behind < p:
                    nodes.append(send(base + 2, behind, 256, (last,), 2 * i + (way == "b")))
            graphs.append(messages(*nodes))
        job = self.job(*graphs)
        self.assertEqual(job["compute_ps"], m * 3000 * 1_000_000)
        self.assertAlmostEqual(job["idle"], (p - 1) / (m + p - 1), delta=0.02)
        again = self.job(*graphs, more=", steps: 2")
        self.assertEqual(len(again["each_step_ps"]), 2)

    def test_json(self):
        sends = (b'{"workload_graph": [{"Id": 1, "NodeType": 5, "data_deps": [], "comm_src": 0, "comm_dst": 1,'
                 b' "comm_tag": 3, "comm_size": 4096}]}')
        receives = sends.replace(b'"NodeType": 5', b'"NodeType": 6')
        job = self.job(sends, receives, name="t.*.json")
        self.assertEqual(group(job, "p2p")["bytes"], 4096)

    def test_bad(self):
        idle = messages(node(1, 4, (), 1))
        for graphs, message in (
                ((messages(send(5, 1, 64, (), 9)), idle),
                 "node 5 of rank 0 sends to rank 1 64 bytes with tag 9, which that one does not receive"),
                ((messages(receive(5, 1, 64, (), 9)), idle),
                 "node 5 of rank 0 receives from rank 1 64 bytes with tag 9, which that one does not send"),
                ((messages(send(5, 1, 64, (), 9)), messages(receive(4, 0, 64, (), 8))), "with tag 8"),
                ((messages(send(5, 1, 64), send(6, 1, 64)), messages(receive(4, 0, 64))), "node 6 of rank 0 sends"),
                ((messages(send(5, 1, 64)), messages(receive(4, 0, 65))),
                 "node 5 of rank 0 sends 64 bytes with tag 0, node 4 of rank 1 receives 65"),
                ((messages(send(5, 2, 64)), idle), "t.0.et': byte 8: its comm_dst is no rank of the job"),
                ((messages(send(5, 0, 64)), idle), "both its ends are this rank"),
                ((messages(send(5, 1, 64, comm_src=1)), idle), "its comm_src is another rank than the trace's"),
                ((messages(node(5, 6, (), comm_size=64)), idle), "its comm_src is no rank of the job"),
                ((messages(node(5, 5, (), comm_dst=1)), idle), "its comm_size is not there"),
                ((idle, messages(node(1, 7, (), comm_type=0, comm_size=64))),
                 "ranks 0 and 1 are in one group dp, but number 1 of its collectives is none of 0 bytes for the one, "
                 "allreduce of 64 for the other"),
                ((idle, b""), "t.1.et': there are no nodes")):
            with self.subTest(message=message):
                done = self.run_ranks(*graphs)
                self.assertEqual(done.returncode, 2, done.stdout)
                self.assertIn(message, done.stderr)
                self.assertRegex(done.stderr, r"f\.yaml:10:\d+: error: ")

    def test_damaged(self):
        """Whatever bytes are changed, there is a result, a run that is stuck, or a sentence."""
        good = (messages(receive(1, 1, 64, (), 1), node(2, 4, (1,), 5), send(3, 1, 4096, (2,), 300)),
                messages(send(1, 0, 64, (), 1), receive(2, 0, 4096, (), 300), node(3, 4, (2,), 7)))
        seed = int(os.environ.get("ROCELAB_SEED", "20261115"))
        draw = random.Random(seed)
        for step in range(80):
            graph = bytearray(good[0])
            for _ in range(draw.randint(1, 3)):
                graph[draw.randrange(len(graph))] = draw.randrange(256)
            done = self.run_ranks(bytes(graph), good[1], options=())
            self.assertIn(done.returncode, (0, 1, 2), f"seed {seed}, step {step}: {graph.hex()}: {done.stderr}")

    def test_a_rank_without_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "t.0.et").write_bytes(messages(node(1, 4, (), 1)))
            done = run(fabric(f"- trace: {{file: '{folder}/t.*.et', format: chakra}}"))
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"f\.yaml:10:\d+: error: cannot open '.*/t\.1\.et'")

    def test_who_waits_for_each_other(self):
        """A receive of each that the one before sends only afterwards; rank 3 waits for one of them."""
        def around(rank, ranks, *more):
            return messages(receive(1, (rank + ranks - 1) % ranks, 64), node(2, 4, (1,), 5),
                            send(3, (rank + 1) % ranks, 64, (2,)), *more)
        done = self.run_ranks(around(0, 3), around(1, 3), around(2, 3, send(4, 3, 64, (3,))),
                              messages(receive(1, 2, 64), node(2, 4, (1,), 5)))
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertRegex(done.stderr, r"f\.yaml:10:\d+: error: trace .*: ranks wait for each other: rank (\d) for node 3 of "
                                      r"rank (\d), rank \2 for node 3 of rank (\d), rank \3 for node 3 of rank \1\n")

    def test_stuck_in_a_collective(self):
        """Rank 1 takes part only after it has received what rank 0 sends afterwards: the run ends, and says so."""
        done = self.run_ranks(
            messages(node(1, 7, (), comm_type=0, comm_size=64), node(2, 4, (1,), 5), send(3, 1, 64, (2,))),
            messages(receive(1, 0, 64), node(2, 7, (1,), comm_type=0, comm_size=64)), options=())
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("STUCK", done.stdout)
        self.assertIn("0 of 1 steps", done.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
