#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `rocelab check` costs, with the proof for every failure of one link or switch, at four sizes of five shapes.

    check_speed.py ROCELAB [--json] [--quick]

    clos        every leaf on every spine, one spine for fifteen leaves
    irregular   three tiers; pods of four to sixteen leaves, four spines and four planes of cores, one link in twenty
                missing; the switches have no role and stand in random order
    raised      the same with two lossless classes and `raise: bounce`
    triangles   a random tree of switches in which some neighbours of a switch are neighbours too: deep, and almost
                every failure changes routes
    random      each switch with eight others: no up and down, full of circles as routed

There are 16 hosts for each switch.  Time is CPU time (user and system) of one process, which has one thread; memory its
largest resident set.  At 1,024 switches and 16,384 hosts 60 s and 2 GB are the limit.
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

SIZES = (128, 256, 512, 1024)
HOSTS = 16
LIMIT_S, LIMIT_BYTES = 60, 2 * 10**9
CLASSES = """classes:
  - {name: rdma, dscp: 26, priority: 3, lossless: true, share: 50%}
  - {name: rdma2, dscp: 27, priority: 4, lossless: true, share: 40%}
  - {name: default, priority: 0, share: 10%}
"""
REST = """links: {host: {rate: 25G, cable: 3m}, fabric: {rate: 100G, cable: 30m}}
switches: {buffer: 2GB, watchdog: true%s}
"""


def explicit(switches, edges, links, rng, raised=False):
    """Switches 0 ..., of which `edges` have hosts; links between them: under names in any order."""
    name = list(range(switches))
    rng.shuffle(name)
    rng.shuffle(links)
    hosts = [edges[h % len(edges)] for h in range(HOSTS * switches)]
    lines = ["rocelab: 1", "topology:", "  links:", f"    hosts: {len(hosts)}", f"    switches: {switches}", "    links:"]
    lines += [f"      - [h{h}, sw{name[s]}]" for h, s in enumerate(hosts)]
    lines += [f"      - [sw{name[a]}, sw{name[b]}]" for a, b in links]
    return "\n".join(lines) + "\n" + REST % (", raise: bounce" if raised else "") + (CLASSES if raised else "")


def clos(switches, _):
    spines = switches // 16
    leaves = switches - spines
    return (f"rocelab: 1\ntopology: {{leaf-spine: {{leaves: {leaves}, spines: {spines}, hosts: {-(-HOSTS * switches // leaves)}}}}}\n"
            + REST % "")


def irregular(switches, rng, raised=False):
    planes, each = 4, switches // 32
    made, leaves, links = planes * each, [], []
    while switches - made >= planes + 4:
        spines = range(made, made + planes)
        made += planes
        pod = range(made, made + min(rng.choice((4, 6, 8, 12, 16)), switches - made))
        made += len(pod)
        leaves += pod
        links += [(leaf, spine) for leaf in pod for spine in spines if spine == spines[0] or rng.random() >= 0.05]
        links += [(spine, plane * each + core) for plane, spine in enumerate(spines) for core in range(each)
                  if rng.random() >= 0.05]
    return explicit(made, leaves, links, rng, raised)


def raised(switches, rng):
    return irregular(switches, rng, True)


def triangles(switches, rng):
    parent = [0] + [rng.randrange(max(0, s - 40), s) for s in range(1, switches)]
    links = [(s, parent[s]) for s in range(1, switches)]
    links += [(s, parent[parent[s]]) for s in range(1, switches) if parent[s] and rng.random() < 0.3]
    return explicit(switches, list(range(switches)), links, rng)


def any_graph(switches, rng):
    links = {(min(a, b), max(a, b)) for a in range(switches) for b in rng.sample(range(switches), 4) if a != b}
    return explicit(switches, list(range(switches)), sorted(links), rng)


SHAPES = {"clos": clos, "irregular": irregular, "raised": raised, "triangles": triangles, "random": any_graph}


def one(rocelab, folder, shape, switches):
    path = os.path.join(folder, f"{shape}{switches}.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(SHAPES[shape](switches, random.Random(switches)))
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen([rocelab, "check", "--json", path], stdout=out)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode not in (0, 1):
            sys.exit(f"check_speed.py: {path}: exit status {child.returncode}")
        out.seek(0)
        document = json.load(out)
    found = [finding for finding in document["findings"] if finding["rule"] in ("TOP001", "TOP002")]
    seconds, resident = usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024
    return {"shape": shape, "switches": switches, "hosts": HOSTS * switches, "states": document["deadlocks"]["states"],
            "followed": document["deadlocks"]["searched"], "circles": len(found), "seconds": round(seconds, 3),
            "resident_bytes": resident, "whole": not any("stopped" in finding["message"] for finding in found),
            "pass": seconds <= LIMIT_S and resident <= LIMIT_BYTES}


def measure(rocelab, quick=False, tell=lambda row: None):
    rows = []
    with tempfile.TemporaryDirectory(prefix="rocelab-bench-") as folder:
        for shape in SHAPES:
            for switches in SIZES[:2] if quick else SIZES:
                rows.append(one(rocelab, folder, shape, switches))
                tell(rows[-1])
    return {"rows": rows, "pass": all(row["pass"] and row["whole"] for row in rows)}


def head():
    print(f"{'check':<10} {'switches':>8} {'hosts':>7} {'states':>7} {'followed':>8} {'findings':>8} {'seconds':>8} {'MB':>6}")


def show_row(row):
    print(f"{row['shape']:<10} {row['switches']:>8,} {row['hosts']:>7,} {row['states']:>7,} {row['followed']:>8,} "
          f"{row['circles']:>8,} {row['seconds']:>8.2f} {row['resident_bytes'] / 1e6:>6.1f}"
          f"{'' if row['pass'] else ' FAILED'}{'' if row['whole'] else ' NOT FINISHED'}", flush=True)


def main():
    parser = argparse.ArgumentParser(description="What `rocelab check` costs against the size of the fabric.")
    parser.add_argument("rocelab")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quick", action="store_true", help="the two smaller sizes")
    options = parser.parse_args()
    if not options.json:
        head()
    results = measure(options.rocelab, options.quick, (lambda row: None) if options.json else show_row)
    if options.json:
        print(json.dumps(results, indent=2))
    sys.exit(0 if results["pass"] else 1)


if __name__ == "__main__":
    main()
