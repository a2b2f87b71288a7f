# SPDX-License-Identifier: Apache-2.0
"""Runs of TCP on ns-3: a folder a case, with summary.txt (options, queue) and fct.txt; flow lists in inputs.

A star of hosts on one router.  Its queue counts frames of 1,500 B where ours have 1,502, and it takes a flow for done
when the last byte is there, ours when the last acknowledgement is: both are allowed for.  Nothing is drawn at random.
Where flows waited for timers there, who does is chance: ours are runs with starts up to 1.2 us apart, and theirs, which
is one run, is held against the range of these.
"""
import random
import re

from common import CannotRun, Row, mean, median, percentile, simulate

SEEDS = 19
APART_NS = 1200  # a frame on the line of 10 Gb/s
FRAME, COUNTED = 1502, 1500
KINDS = {"TcpNewReno": "newreno", "TcpCubic": "cubic", "TcpDctcp": "dctcp"}
KNOWN = {"tcp", "k", "delack", "buf", "minrto", "rate", "delay", "stop", "qfrom"}
LARGE = 10_000_000  # bytes of a single flow whose time is mostly the line's


def is_case(case):
    path = case / "summary.txt"
    return path.is_file() and path.read_text(encoding="utf-8").startswith("flows ")


def flow_list(path):
    """(src, dst, bytes, start, ...) of each line, as words."""
    lines = [line.split() for line in path.read_text(encoding="utf-8").splitlines()]
    return [words for words in lines if words and not words[0].startswith("#")]


class Case:
    def __init__(self, root, folder):
        summary = (folder / "summary.txt").read_text(encoding="utf-8")
        name, hosts, options = re.match(r"flows (\S+), (\d+) hosts, options: (.*)", summary).groups()
        self.option = dict(word.lstrip("-").split("=", 1) for word in options.split())
        unknown = set(self.option) - KNOWN
        if unknown:
            raise CannotRun("--" + min(unknown))
        if self.option.get("tcp") not in KINDS:
            raise CannotRun(f"--tcp={self.option.get('tcp')}")
        self.cc, self.hosts = KINDS[self.option["tcp"]], int(hosts)
        self.flows = flow_list(root / "inputs" / name)
        self.theirs = flow_list(folder / "fct.txt")
        self.queue = re.search(r"^QUEUE .*? mean (\d+) .*? p95 (\d+)", summary, re.M)
        self.qfrom_ps = int(float(self.option.get("qfrom", "0")) * 1e9)
        self.delay = self.option.get("delay", "5us")
        self.rto_us = float(self.option.get("minrto", "200")) * 1000
        self.stop_ms = self.option.get("stop")
        self.waits = any(float(words[4]) >= self.rto_us for words in self.theirs)

    def flow_lines(self, seed):
        draw = random.Random(seed)
        for src, dst, size, start in (words[:4] for words in self.flows):
            start_ns = round(float(start) * 1000) + (draw.randint(0, APART_NS) if self.waits and seed > 1 else 0)
            yield f"      h{src} h{dst} {size}B {start_ns}ns\n", (f"h{src}:0", f"h{dst}:0", int(size), start_ns * 1000)

    def fabric(self, seed=1):
        rate = self.option.get("rate", "10Gbps").replace("bps", "")
        limit = int(self.option.get("buf", "1000000")) * FRAME // COUNTED
        marks = int(self.option.get("k", "0")) * FRAME // COUNTED - 1  # there from this length on, here above it
        ecn = f", ecn: {{min: {marks}B, max: {marks}B, probability: 100%}}" if marks > 0 else ""
        acks = int(self.option.get("delack", "1"))
        late = f", delayed-ack: {{segments: {acks}, time: 40ms}}" if acks > 1 else ""
        return (f"rocelab: 1\nsystem: tcp\nmodel: ns3-tcp\ntopology: {{single: {{hosts: {self.hosts}}}}}\n"
                f"links: {{host: {{rate: {rate}, delay: {self.delay}}}}}\n"
                f"classes: [{{name: data, dscp: 0, priority: 0, limit: {limit}B{ecn}}}]\n"
                f"nics: {{tcp: {{cc: {self.cc}, rto-min: {self.rto_us:.0f}us{late}}}}}\n"
                + (f"stop: {self.stop_ms}ms\n" if self.stop_ms else "") + "jobs:\n  - flows: |\n"
                + "".join(line for line, _ in self.flow_lines(seed)))


class Run:
    """What is compared of one run of ours: times in us, bytes of the port to host 0, goodput of flows."""

    def __init__(self, case, seed):
        document = simulate(case.fabric(seed), *(["--series", "10us"] if case.queue else []))
        number, unit = re.fullmatch(r"([\d.]+)(ns|us|ms)", case.delay).groups()
        back_us = 2 * float(number) * {"ns": 0.001, "us": 1, "ms": 1000}[unit]
        done = {tuple(words[:4]) for words in case.theirs if float(words[4]) >= 0}
        wanted = {key for words, (_, key) in zip(case.flows, case.flow_lines(seed)) if tuple(words[:4]) in done}
        found = [flow for flow in document["flows"]
                 if (flow["src"], flow["dst"], flow["bytes"], flow["start_ps"]) in wanted]
        self.times = [flow["fct_ps"] / 1e6 - back_us for flow in found if flow["fct_ps"]]
        self.done = len(self.times)
        self.timeouts = sum(nic["timeouts"] for nic in document["nics"])
        self.acked = [flow["acked_bytes"] for flow in document["flows"]
                      if (flow["src"], flow["dst"], flow["bytes"], flow["start_ps"]) not in wanted]
        self.samples = []
        for column in document.get("series", {}).get("columns", []) if case.queue else []:
            if column["metric"] == "queue" and column["object"] == "leaf0:0":
                first = max(0, case.qfrom_ps // document["series"]["step_ps"] - 1)
                self.samples = [each * COUNTED / FRAME for each in column["data"][first:]]


def jain(values):
    return sum(values) ** 2 / len(values) / sum(value * value for value in values)


def ended(case, ours):
    """Flows that were done there: one alone, all of an incast, or short ones beside others that never end."""
    theirs = [float(words[4]) for words in case.theirs if float(words[4]) >= 0]
    if not theirs:
        return
    yield Row("flows done", median(run.done for run in ours), len(theirs), 0)
    if len(theirs) == 1:
        limit = 0.01 if int(case.flows[0][2]) >= LARGE else 0.02
        yield Row("completion, us", median(run.times[0] for run in ours), theirs[0], limit)
    elif len(theirs) < len(case.theirs):
        yield Row("short, mean, us", median(mean(run.times) for run in ours), mean(theirs), 0.15)
    else:
        slowest = [max(run.times) for run in ours]
        yield Row("slowest, us", median(slowest), max(theirs), 0.10 if case.waits else 0.05, among=slowest)
        if not case.waits:
            yield Row("timeouts", median(run.timeouts for run in ours), 0, 0)


def endless(case, ours):
    """Flows that never end: the queue that they hold, and what they carry."""
    theirs = [int(words[5]) for words in case.theirs if float(words[4]) < 0]
    if case.queue and len(theirs) == len(case.theirs):
        yield Row("queue, mean, B", median(mean(run.samples) for run in ours), int(case.queue[1]), 0.10)
        if case.cc == "dctcp":
            yield Row("queue, 95th, B", median(percentile(run.samples, 0.95) for run in ours), int(case.queue[2]), 0.10)
    if theirs:
        yield Row("goodput, B", median(sum(run.acked) for run in ours), sum(theirs), 0.01, least=True)
    if case.cc == "dctcp" and len(theirs) > 1 and len(theirs) == len(case.theirs):
        yield Row("fairness", median(jain(run.acked) for run in ours), max(0.99, jain(theirs)), 0.01, least=True)


def rows(root, folder, seeds):
    case = Case(root, folder)
    ours = [Run(case, seed) for seed in range(1, (seeds or SEEDS if case.waits else 1) + 1)]
    yield from ended(case, ours)
    yield from endless(case, ours)
