# SPDX-License-Identifier: Apache-2.0
"""Runs of another simulator, as figures, and ours of the same inputs, for tests; compare.py takes recorded runs.

The figures are those of the HPCC authors' ns-3 fork (alibaba-edu/High-Precision-Congestion-Control, simulation/), run
once on a star of 17 hosts at 100 Gb/s with links of 1 us, 1000-byte payloads, an ACK for each packet, ECN marks between
400 and 1600 kB up to 20 %, its DCQCN (CC_MODE 1) or HPCC (CC_MODE 3, INT_MULTI 4), and a switch buffer of 32 MB (2 MB
in `incast-2MB`).  Times are nanoseconds.  `lines` counts lines of its pfc.txt: pauses and resumes that reach hosts.
"""
import json
import pathlib
import random
import tempfile

from common import call, deciles, mean
from hpcc_ns3 import DECILE, LINES, MEAN, SINGLE

HOSTS = 17

# Flows are of `bytes` from h2, h3, ... to h1.
# `apart_ns`: flows start at random up to that far apart, which HPCC's outcome depends on as if it were drawn.
CASES = {
    "single": {
        "senders": 1, "bytes": 1000000, "congestion": "dcqcn", "buffer": "32MB",
        "mean": 87091, "lines": 0,
        "deciles": [87091] * 9,
    },
    "single-hpcc": {
        "senders": 1, "bytes": 1000000, "congestion": "hpcc", "buffer": "32MB",
        "mean": 95726, "lines": 0,
        "deciles": [95726] * 9,
    },
    "two": {
        "senders": 2, "bytes": 10000000, "congestion": "dcqcn", "buffer": "32MB",
        "mean": 2136088, "lines": 0,
        "deciles": [2120266, 2124221, 2128177, 2132133, 2136088, 2140044, 2144000, 2147956, 2151911],
    },
    "incast": {
        "senders": 16, "bytes": 20000000, "congestion": "dcqcn", "buffer": "32MB",
        "mean": 27364958, "lines": 0,
        "deciles": [26179015, 26614019, 26777909, 26890371, 26960059, 27094937, 27125676, 28965779, 29354380],
    },
    "incast-hpcc": {
        "senders": 16, "bytes": 20000000, "congestion": "hpcc", "buffer": "32MB",
        "mean": 27863496, "lines": 0,
        "deciles": [25066808, 26444287, 28089888, 28397185, 28458474, 28661199, 28885990, 29118866, 29417640],
    },
    "incast-hpcc, starts apart": {
        "senders": 16, "bytes": 20000000, "congestion": "hpcc", "buffer": "32MB", "apart_ns": 40,
        "mean": 27863496, "lines": 0,
        "deciles": [25066808, 26444287, 28089888, 28397185, 28458474, 28661199, 28885990, 29118866, 29417640],
    },
    "incast-2MB": {
        "senders": 16, "bytes": 20000000, "congestion": "dcqcn", "buffer": "2MB",
        "mean": 26149743, "lines": 2512,
        "deciles": [23452902, 24463634, 24984649, 25579262, 26795610, 27001392, 27702612, 28066332, 28267508],
    },
}

def topology(rate="100Gbps"):
    links = "".join(f"0 {host} {rate} 1000ns 0\n" for host in range(1, HOSTS + 1))
    return f"{HOSTS + 1} 1 {HOSTS}\n0\n{links}"


def flow_list(senders, size, starts_ns=(0,)):
    lines = "".join(f"{host} 1 3 100 {size} 2.{starts_ns[host % len(starts_ns)]:09}\n"
                    for host in range(2, senders + 2))
    return f"{senders}\n{lines}"


def inputs(case, folder, seed):
    """Topology and flows."""
    draw = random.Random(seed)
    starts = [draw.randint(0, case.get("apart_ns", 0)) for _ in range(HOSTS)]
    (folder / "topology.txt").write_text(topology())
    (folder / "flows.txt").write_text(flow_list(case["senders"], case["bytes"], starts))
    return folder / "topology.txt", folder / "flows.txt"


def ours(case, seeds):
    """The same three, each the mean over seeds.  HPCC draws nothing at random: one run is all there is."""
    means, tenths, lines = [], [], []
    drawn = case["congestion"] != "hpcc" or "apart_ns" in case
    with tempfile.TemporaryDirectory(prefix="rocelab-peers-") as name:
        folder = pathlib.Path(name)
        fabric = folder / "fabric.yaml"
        for seed in range(1, (seeds if drawn else 1) + 1):
            fabric.write_text(call("import", "--from", "hpcc", *inputs(case, folder, seed), "--congestion",
                                   case["congestion"], "--buffer", case["buffer"]))
            document = json.loads(call("sim", "--json", "--seed", seed, fabric))
            times = [flow["fct_ps"] / 1000 for flow in document["flows"]]
            if len(times) != case["senders"] or document["state"] != "done":
                raise RuntimeError(f"seed {seed}: {len(times)} flows, {document['state']}")
            means.append(mean(times))
            tenths.append(deciles(times))
            # Every XOFF is followed by one XON, and each arrives once.
            lines.append(sum(port["pfc_rx"] for port in document["ports"]))
    return mean(means), [mean(each) for each in zip(*tenths)], mean(lines)


def rows(name, case, seeds):
    """(case, figure, ours, theirs, difference, limit) of all that is compared."""
    our, their = ours(case, seeds), (case["mean"], case["deciles"], case["lines"])
    single = case["senders"] == 1
    answer = [(name, "mean", our[0], their[0], SINGLE if single else MEAN)]
    if not single:
        answer += [(name, f"decile {at + 1}", our[1][at], their[1][at], DECILE) for at in range(9)]
    answer.append((name, "pfc lines", our[2], their[2], LINES))
    return [(case_name, what, a, b, abs(a - b) / b if b else float(a != b), limit)
            for case_name, what, a, b, limit in answer]
