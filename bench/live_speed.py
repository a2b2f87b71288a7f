#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the live adapter costs: perftest between two processes on loopback, against iperf3 and sockperf in the same run.

    live_speed.py ROCELAB [--rounds N] [--json]

A round runs each program once, ours and theirs in turn, so that a machine that is busy is busy for all.  Printed are the
median of the rounds, the least and the most; a ratio is that of medians.  p99 is the median of the rounds' own.  CPU is
user and system time of both processes for each gigabyte moved.  The counters of the adapter, read from outside while
it runs, say which way the bytes went.  A program that is missing is said to be, and what needs it is left out.
Ratios are gates only where two processors were idle before the run.
"""
import argparse
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import sim_speed

MIB = 1 << 20
BW_MESSAGES = 2000
LAT_MESSAGES = 20000
# name, wire, program, arguments, against, least or most of the ratio
CASES = [
    ("write_bw 1 MB", "udp", "ib_write_bw", ["-s", str(MIB), "-n", str(BW_MESSAGES)], "iperf3", 0.9),
    ("write_bw 1 MB, MTU 1024", "udp", "ib_write_bw", ["-s", str(MIB), "-n", str(BW_MESSAGES), "-m", "1024"], "iperf3", None),
    ("write_bw 1 MB", "shm", "ib_write_bw", ["-s", str(MIB), "-n", str(BW_MESSAGES)], "iperf3", 2.0),
    ("write_bw 1 MB", "auto", "ib_write_bw", ["-s", str(MIB), "-n", str(BW_MESSAGES)], "iperf3", None),
    ("send_lat 2 B", "udp", "ib_send_lat", ["-s", "2", "-n", str(LAT_MESSAGES)], "sockperf", 1.5),
    ("write_lat 2 B", "udp", "ib_write_lat", ["-s", "2", "-n", str(LAT_MESSAGES)], "sockperf", 2.0),
    ("send_lat 2 B", "auto", "ib_send_lat", ["-s", "2", "-n", str(LAT_MESSAGES)], "sockperf", None),
]
LIMIT_S = 120


def port():
    return random.randrange(20000, 60000)


def listening(number, kind):
    with open(f"/proc/net/{kind}", encoding="ascii") as table:
        return any(line.split()[1].endswith(f":{number:04X}") for line in list(table)[1:])


def wait_for(number, kind, process):
    for _ in range(500):
        if listening(number, kind) or process.poll() is not None:
            return
        time.sleep(0.01)


def finish(process):
    """Output and CPU seconds of a process that is about to end."""
    end = time.monotonic() + LIMIT_S
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        if time.monotonic() > end:
            process.kill()
        time.sleep(0.002)
    process.returncode = os.waitstatus_to_exitcode(status)
    process.out.seek(0)
    return process.out.read(), usage.ru_utime + usage.ru_stime


def start(command, **more):
    out = tempfile.TemporaryFile("w+", errors="replace")
    process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, **more)
    process.out = out
    return process


def iperf3():
    """Gb/s of one TCP stream."""
    at = port()
    server = start(["iperf3", "-s", "-1", "-p", str(at)])
    wait_for(at, "tcp6", server)
    told, _ = finish(start(["iperf3", "-J", "-c", "127.0.0.1", "-p", str(at), "-n", f"{BW_MESSAGES}M"]))
    finish(server)
    return {"value": json.loads(told)["end"]["sum_received"]["bits_per_second"] / 1e9}


def sockperf():
    """Microseconds one way, both ends polling: median and p99."""
    at = port()
    server = start(["sockperf", "server", "-p", str(at), "--nonblocked"])
    wait_for(at, "udp", server)
    told, _ = finish(start(["sockperf", "ping-pong", "-i", "127.0.0.1", "-p", str(at), "-m", "14", "-t", "1", "--nonblocked"]))
    server.terminate()
    finish(server)
    found = dict(re.findall(r"percentile (50\.000|99\.000) = *([\d.]+)", told))
    return {"value": float(found["50.000"]), "p99": float(found["99.000"])}


def count_bytes(rocelab, environment, pid, most):
    """Bytes by the way they went, of one process, as counted so far."""
    told = subprocess.run([rocelab, "counters", "--json", str(pid)], env=environment, capture_output=True, text=True).stdout
    for adapter in json.loads(told or '{"adapters": []}').get("adapters", []):
        for name in ("tx_udp_bytes", "tx_shm_bytes"):
            most[name] = max(most.get(name, 0), adapter["counters"]["wire_" + name])


def perftest(rocelab, wire, program, arguments):
    """Gb/s, or microseconds with p99; CPU seconds of both ends; bytes by wire."""
    folder = tempfile.mkdtemp(prefix="rocelab-bench-")
    environment = dict(os.environ, ROCELAB_REGISTRY=folder, ROCELAB_WIRE=wire, ROCELAB_DEVICE="lo",
                       ROCELAB_PORT=str(random.randrange(5000, 15000)))
    at = port()
    command = [rocelab, "run", "--", program, "-F", "-p", str(at)] + arguments
    server = start(command, env=environment)
    wait_for(at, "tcp", server)
    client = start(command + ["127.0.0.1"], env=environment)
    moved = {}
    while program.endswith("_bw") and os.waitid(os.P_PID, client.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        count_bytes(rocelab, environment, client.pid, moved)
        time.sleep(0.1)
    told, client_s = finish(client)
    server_told, server_s = finish(server)
    shutil.rmtree(folder, ignore_errors=True)
    lines = [line.split() for line in told.splitlines() if re.match(r"\s*\d+\s+\d+\s+[\d.]+\s", line)]
    if client.returncode or not lines:
        sys.exit(f"bench: {' '.join(command)}: exit status {client.returncode}\n{told}{server_told}")
    row = lines[-1]
    if program.endswith("_bw"):
        return {"value": float(row[3]) * MIB * 8 / 1e9, "cpu_s_per_gb": (client_s + server_s) / (BW_MESSAGES * MIB / 1e9),
                "bytes": moved}
    return {"value": float(row[4]), "p99": float(row[7])}


def summary(rounds):
    values = [entry["value"] for entry in rounds]
    result = {"median": statistics.median(values), "least": min(values), "most": max(values)}
    for key in ("p99", "cpu_s_per_gb"):
        if key in rounds[0]:
            result[key] = statistics.median(entry[key] for entry in rounds)
    for entry in rounds:
        for name, value in entry.get("bytes", {}).items():
            result[name] = max(result.get(name, 0), value)
    return {key: round(value, 3) for key, value in result.items()}


def measure(rocelab, rounds):
    peers = {"iperf3": iperf3, "sockperf": sockperf}
    missing = [name for name in list(peers) + sorted({case[2] for case in CASES}) if not shutil.which(name)]
    idle = sim_speed.processors_idle()
    results = {"missing": missing, "idle": idle, "rows": [], "pass": True}
    cases = [case for case in CASES if case[2] not in missing]
    peers = {name: run for name, run in peers.items() if name not in missing and any(case[4] == name for case in cases)}
    kept = {name: [] for name in peers}
    ours = [[] for _ in cases]
    for _ in range(rounds):
        for name, run in peers.items():
            kept[name].append(run())
        for at, (_, wire, program, arguments, _, _) in enumerate(cases):
            ours[at].append(perftest(rocelab, wire, program, arguments))
    told = {name: summary(entries) for name, entries in kept.items()}
    for name, entry in told.items():
        results["rows"].append({"name": name, "unit": "Gb/s" if name == "iperf3" else "us", **entry})
    for (name, wire, program, _, against, limit), entries in zip(cases, ours):
        faster = program.endswith("_bw")
        row = {"name": f"{name}, {wire}", "unit": "Gb/s" if faster else "us", **summary(entries)}
        if against in told:
            row["ratio"] = round(row["median"] / told[against]["median"], 3)
            row["limit"] = limit
            row["pass"] = limit is None or (row["ratio"] >= limit if faster else row["ratio"] <= limit)
            if idle >= 1.8:
                results["pass"] = results["pass"] and row["pass"]
        results["rows"].append(row)
    return results


def show(results):
    print(f"{'two processes, loopback':32} {'median':>8} {'least':>8} {'most':>8} {'':5} {'p99':>8} {'CPU s/GB':>8} "
          f"{'ratio':>6} {'due':>6}")
    for row in results["rows"]:
        ratio = f"{row['ratio']:.2f}" if "ratio" in row else ""
        limit = row.get("limit")
        due = "" if limit is None else (">= " if row["unit"] == "Gb/s" else "<= ") + str(limit)
        extra = [f"{row[key]:8.2f}" if key in row else " " * 8 for key in ("p99", "cpu_s_per_gb")]
        print(f"{row['name']:32} {row['median']:8.2f} {row['least']:8.2f} {row['most']:8.2f} {row['unit']:5} "
              f"{extra[0]} {extra[1]} {ratio:>6} {due:>6}{'' if row.get('pass', True) else '  missed'}")
        ways = [f"{way} {row[f'tx_{way}_bytes'] / 1e6:,.0f} MB" for way in ("udp", "shm") if row.get(f"tx_{way}_bytes")]
        if ways:
            print(f"    sent by then, as counted: {', '.join(ways)}")
    for name in results["missing"]:
        print(f"{name} is not installed: left out")
    if results["idle"] < 1.8:
        print(f"{results['idle']:.1f} processors were idle: the ratios are no gate")


def main():
    parser = argparse.ArgumentParser(description="perftest over rocelab against iperf3 and sockperf.")
    parser.add_argument("rocelab")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    results = measure(os.path.abspath(options.rocelab), options.rounds)
    if options.json:
        print(json.dumps(results, indent=2))
    else:
        show(results)
    sys.exit(0 if results["pass"] else 1)


if __name__ == "__main__":
    main()
