#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the cases of a folder laid out as recorded runs of uet-htsim, and prints ours beside theirs.

uet_htsim.py FOLDER [SEEDS] [CASE...]: three seeds unless said, all cases unless named.  ROCELAB names the program.  A
case is a folder with summary.txt; its matrix is in FOLDER/inputs.  Cases with slowed links are left out: a file here
slows both ways of a link.  Exit status 1: a mean differs by more than 2 %, a slowest flow by 4 % (one path a flow: 8
and 20 %), or the trimmed share by 3 points.
"""
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

PACKET, HEADER = 4150, 64
SUMMARY = re.compile(r"^seed \d+:.*?mean ([\d.]+).*?max ([\d.]+) \| New: (\d+) .*?NACKs: (\d+)", re.M)


def word(options, name, otherwise):
    return options[options.index(name) + 1] if name in options else otherwise


def settings(options, hosts):
    """Topology, links and classes as the options set them there."""
    gbps = int(word(options, "-linkspeed", "100000")) // 1000
    trims, leaf_spine = "-disable_trim" not in options, word(options, "-topo", None)
    hops, latency_ps = (4, 7e6) if leaf_spine else (6, 12e6)
    rtt_ps = latency_ps + hops * (PACKET + HEADER) * 8 / gbps * 1000
    packets = math.ceil(gbps * rtt_ps / 8000 / PACKET)
    queue = packets * PACKET * (1 if trims else 5)
    if leaf_spine:
        topology = f"leaf-spine: {{leaves: 8, spines: {4 if '4to1' in leaf_spine else 16}, hosts: 16}}"
    else:
        topology = f"fat-tree: {{k: {round((4 * hosts) ** (1 / 3))}}}"
    return {"topology": topology, "gbps": gbps, "delay": "500ns" if leaf_spine else "1us",
            "latency": "500ns" if leaf_spine else "0ns", "rtt_ps": round(rtt_ps), "limit": queue - PACKET,
            "least": math.ceil(packets * 0.2) * PACKET, "most": math.ceil(packets * 0.8) * PACKET,
            "trim": "trim: {bytes: 64, dscp: 40, last-hop-dscp: 41}, " if trims else ""}


def fabric(folder, options, seed):
    lines = (folder / "inputs" / word(options, "-tm", "")).read_text(encoding="utf-8").splitlines()
    s = settings(options, int(lines[0].split()[1]))
    uet = [f"cc: {'rccc' if '-receiver_cc_only' in options else 'nscc'}", f"base-rtt: {s['rtt_ps']}ps",
           f"paths: {word(options, '-paths', '64')}", f"policy: {word(options, '-load_balancing_algo', 'mixed')}",
           f"ack: {word(options, '-sack_threshold', '16384')}B", f"infer-loss: {str('-sleek' in options).lower()}"]
    flows = re.findall(r"^(\d+)->(\d+) id \d+ start ([\d.]+) size (\d+)", "\n".join(lines), re.M)
    text = (f"rocelab: 1\nsystem: uet\nmodel: uet-htsim\nseed: {seed}\ntopology: {{{s['topology']}}}\n"
            f"links: {{host: {{rate: {s['gbps']}G, delay: {s['delay']}}}}}\n"
            f"switches: {{latency: {s['latency']}, mark: dequeue, buffer: 1GB}}\nnics: {{mtu: {PACKET - HEADER}, latency: 0ns}}\n"
            f"classes:\n  - {{name: rdma, dscp: 26, priority: 3, limit: {s['limit']}B, {s['trim']}"
            f"ecn: {{min: {s['least']}B, max: {s['most']}B, probability: 100%}}}}\n"
            f"  - {{name: control, dscp: [48, 40, 41], priority: 6, strict: true}}\nuet: {{{', '.join(uet)}}}\njobs:\n  - flows: |\n")
    return text + "".join(f"      h{a} h{b} {size}B {start}us\n" for a, b, start, size in flows)


def run(text):
    """Mean and slowest completion time in us, and trimmed packets as a share of those sent once."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(text)
        file.flush()
        command = [os.environ.get("ROCELAB", "rocelab"), "sim", "--json", file.name]
        result = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    times = [flow["fct_ps"] / 1e6 for flow in result["flows"]]
    total = {key: sum(nic[key] for nic in result["nics"]) for key in ("trimmed", "tx_data_packets", "retransmitted")}
    return sum(times) / len(times), max(times), total["trimmed"] / (total["tx_data_packets"] - total["retransmitted"])


def rows(folder, case, seeds):
    summary = (case / "summary.txt").read_text(encoding="utf-8")
    options = re.search(r"^command: htsim_uec (.*) -seed S", summary, re.M).group(1).split()
    if "-failed" in options:
        return
    theirs = [[float(word) for word in seed] for seed in SUMMARY.findall(summary)]
    theirs = [(mean, slowest, nacks / new) for mean, slowest, new, nacks in theirs]
    ours = [run(fabric(folder, options, seed)) for seed in range(1, min(seeds, len(theirs)) + 1)]
    limits = (0.08, 0.20, 0.03) if word(options, "-paths", "64") == "1" else (0.02, 0.04, 0.03)
    for i, what in enumerate(("mean", "slowest", "trimmed")):
        our, their = sum(row[i] for row in ours) / len(ours), sum(row[i] for row in theirs) / len(theirs)
        yield what, our, their, abs(our - their) if what == "trimmed" else abs(our / their - 1), limits[i]


def main():
    folder = pathlib.Path(sys.argv[1])
    seeds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    missed = 0
    print(f"{'case':<38} {'figure':<8} {'ours':>10} {'theirs':>10} {'differ':>8} {'limit':>6}  verdict")
    for case in sorted(path.parent for path in folder.glob("*/summary.txt")):
        if sys.argv[3:] and case.name not in sys.argv[3:]:
            continue
        for what, our, their, differ, limit in rows(folder, case, seeds):
            good = differ <= limit
            missed += not good
            print(f"{case.name:<38} {what:<8} {our:>10.4g} {their:>10.4g} {differ:>8.2%} {limit:>6.1%}  "
                  f"{'agrees' if good else 'DIFFERS'}", flush=True)
    print(f"Times in us, means over up to {seeds} seeds; {missed} differ.")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
