#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a ring AllReduce costs to simulate as the fabric grows, every packet simulated.

    scale.py ROCELAB [--only NAME...] [--threads N] [--until TIME] [--json] [--print NAME]

Hosts of 8 GPUs and 8 NICs of 400G in groups of 64 with 8 leaves, MTU 4096, DCQCN, PFC, clear-to-send, Simple, one channel a
rail.  Without --only all of them, which takes about nine minutes on two idle cores; --until stops each at that virtual time
(then the columns are of the part).  --print writes the fabric file of one.  Two threads where there are two processors.

Gates: 10240 ends within 300 s (where as many processors are idle as there are threads) and 6 GB.  Exits 1 when one is missed.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import sim_speed

FILE = """rocelab: 1
fabric: scale
topology: {{rail: {{hosts: {hosts}, gpus: 8, leaves: {leaves}, spines: {spines}}}}}
links: {{host: {{rate: 400G, cable: 5m}}, fabric: {{rate: 400G, cable: 30m}}}}
nics: {{mtu: 4096, congestion: dcqcn/connectx}}
jobs: [{{allreduce: ring, protocol: simple, size: {size}, channels: {channels}}}]
"""
RUNS = {  # GPUs, buffer, channels
    "128-16MiB": (128, "16MiB", 8),  # the job that is published of SimAI: 37 s, 3.7 GB
    "128": (128, "256MB", 8),
    "1024": (1024, "256MB", 8),
    "4096": (4096, "256MB", 8),
    "10240": (10240, "256MB", 8),
    "24576": (24576, "32MB", 1),
}
GATES = {"10240": (300, 6000)}  # seconds, MB


def fabric(name):
    gpus, size, channels = RUNS[name]
    hosts = gpus // 8
    return FILE.format(hosts=hosts, leaves=8 * max(1, hosts // 64), spines=16 if hosts < 256 else 32, size=size,
                       channels=channels)


def simulate(rocelab, path, threads, until):
    command = [rocelab, "sim", "--json", "--threads", str(threads), path] + (["--until", until] if until else [])
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit status {process.returncode}")
    return json.loads(output), usage.ru_maxrss / 1000


def measure(rocelab, folder, name, threads, until):
    path = os.path.join(folder, f"{name}.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(fabric(name))
    idle = sim_speed.processors_idle()
    result, memory = simulate(rocelab, path, threads, until)
    seconds = result["setup_s"] + result["wall_s"]
    gate = GATES.get(name)
    row = {"name": name, "gpus": RUNS[name][0], "buffer": RUNS[name][1], "channels": RUNS[name][2], "threads": threads,
           "state": result["state"], "virtual_ms": result["virtual_ps"] / 1e9, "setup_s": result["setup_s"],
           "wall_s": result["wall_s"], "packet_hops": result["packet_hops"],
           "packets": sum(nic["tx_packets"] for nic in result["nics"]),
           "million_hops_per_s": result["packet_hops"] / result["wall_s"] / 1e6, "memory_mb": memory,
           "digest": result["digest"], "processors_idle": idle, "gated": bool(gate) and idle >= threads - 0.2}
    row["pass"] = not gate or (memory <= gate[1] and (seconds <= gate[0] or not row["gated"]))
    return row


def show(row):
    print(f"{row['gpus']:6,} {row['buffer']:>7} {row['channels']:>8} {row['virtual_ms']:10.3f} {row['wall_s']:8.2f} "
          f"{row['packet_hops']:14,} {row['million_hops_per_s']:8.2f} {row['memory_mb']:7.0f} {row['digest']} "
          f"{row['processors_idle']:4.1f}{'' if row['state'] == 'done' else '  (' + row['state'] + ')'}"
          f"{'' if row['pass'] else '  MISSED'}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rocelab")
    parser.add_argument("--only", nargs="+", choices=RUNS, default=list(RUNS))
    parser.add_argument("--threads", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--until")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--print", choices=RUNS)
    options = parser.parse_args()
    if options.print:
        print(fabric(options.print), end="")
        return 0
    rows = []
    if not options.json:
        print(f"{'GPUs':>6} {'buffer':>7} {'channels':>8} {'virtual ms':>10} {'run s':>8} {'hops':>14} {'M hops/s':>8} "
              f"{'peak MB':>7} {'digest':16} idle")
    with tempfile.TemporaryDirectory(prefix="rocelab-bench-") as folder:
        for name in options.only:
            rows.append(measure(options.rocelab, folder, name, options.threads, options.until))
            if not options.json:
                show(rows[-1])
    if options.json:
        print(json.dumps({"version": 1, "kind": "scale", "runs": rows}, indent=2))
    return 0 if all(row["pass"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
