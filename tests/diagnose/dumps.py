#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: tests/diagnose/dumps.py [--seed S] [--places N] [--only KIND,...] [--systems SYSTEM,...] [--all] [--figure]

Ten faults, each in N random fabrics (--places, 1) at a random place, dumped as each of four systems prints it, and diagnosed from
there, with the fabric file as it was before the fault and without one.  A line each, and a table at the end.  Of each answer:

named        the fault is a cause at its place, and nothing else is that was not found in the run itself
weaker       it is a remark or a consequence, or less is said than the run itself says
nothing      nothing is said of its place, and the answer is `clear`; `=` behind it: nor does the run itself say anything, or the fault
             costs its job less than 5 %, or the answer is that there is not enough
louder       a cause that the run itself has as a remark: nobody loses by it
contradicts  a cause that the run itself has as the consequence of another
wrong        a cause that the run itself has not found; `!` behind it: as strong

ROCELAB and ROCELAB_DUMPS are the programs (build-gcc/rocelab, build-gcc/tests/gen/rocelab-dumps).
--seed S  the first seed     --all  also lists what was said where it is right
--figure  ends with 0 whatever was found; else 1 if an answer is nothing (but nothing=), contradicts or wrong"""
import argparse
import collections
import concurrent.futures
import copy
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile

import faults
import judged

GOOD = ("named", "weaker", "nothing=")
BAD = ("nothing", "contradicts", "wrong", "wrong!")


class Plant:
    """What was planted where, and by which rules that may be called; by which it is left open as a remark."""

    def __init__(self, rules, *places, left_open=""):
        self.rules, self.places, self.left_open = set(rules.split()), set(places), set(left_open.split())

    def is_named(self, found, peers):
        return found["rule"] in self.rules and self.places & judged.places(found, peers)

    def is_touched(self, found, peers):
        return self.places & judged.places(found, peers) or found["rule"] in self.left_open


def flap(fabric, document):
    port = fabric.uplink_port()
    faults.fault(document, flap=port, at="100us", every=f"{fabric.draw.choice((300, 500))}us", down="60us", times=fabric.draw.choice((2, 3, 4)))
    return [Plant("D19", port)]


def reset(fabric, document):
    name = f"spine{fabric.draw.randrange(fabric.spines)}"
    faults.fault(document, reset=name, at="100us", **{"for": f"{fabric.draw.choice((200, 400))}us"})
    return [Plant("D19 D14", name)]


def withdrawn(fabric, document):
    port = fabric.uplink_port()
    faults.fault(document, withdraw=port, at="10us")
    return [Plant("D05 D07 D14", port)]


def tenth(fabric, document):
    name = f"h{fabric.host()}"
    faults.fault(document, slow=name, share="10%", at="20us")
    return [Plant("D06", name)]


def silent(fabric, document):
    port = fabric.uplink_port()
    faults.fault(document, drop=port, every=fabric.draw.choice((128, 256)))
    return [Plant("D13 D14", port, left_open="D12")]


def wrong_bits(fabric, document):
    port = fabric.uplink_port()
    faults.fault(document, corrupt=port, ber=fabric.draw.choice(("1e-7", "1e-6")), way=fabric.draw.choice(("in", "out")))
    return [Plant("D13", port)]


def lanes(fabric, document):
    port = fabric.uplink_port()
    faults.fault(document, lanes=port, lost=2, of=4, at="20us")
    return [Plant("D06", port)]


def no_pfc(fabric, document):
    """One end of a cable between switches; from there an incast comes."""
    leaf, spine = fabric.draw.randrange(fabric.leaves), fabric.draw.randrange(fabric.spines)
    port = f"leaf{leaf}:{fabric.hosts * fabric.gpus + spine}" if fabric.draw.random() < 0.5 else f"spine{spine}:{leaf}"
    faults.port(document, port, {"pfc": False})
    others = [f"h{i}" for i in range(fabric.all_hosts) if i // fabric.hosts != leaf]
    document["jobs"].append({"name": "others", "incast": len(others), "size": f"{2 * fabric.size}MB", "to": f"h{leaf * fabric.hosts}",
                             "ranks": [f"h{leaf * fabric.hosts}"] + others})
    return [Plant("D08", port)]


def deaf(fabric, document):
    """A host's congestion control is off: it ignores the CNPs that others obey."""
    host = fabric.host()
    senders = [f"h{i}" for i in range(fabric.all_hosts)]
    to = (host + fabric.hosts) % fabric.all_hosts
    senders.remove(f"h{to}")
    faults.device(document, f"h{host}", {"congestion": "none"})
    document["jobs"].append({"name": "others", "incast": len(senders), "size": f"{2 * fabric.size}MB", "to": f"h{to}", "ranks": [f"h{to}"] + senders})
    return [Plant("D11", f"h{host}")]


def storm(fabric, document):
    """And a bad cable of another host."""
    host = fabric.host()
    other = (host + 1) % fabric.all_hosts
    faults.fault(document, pause=f"h{host}", at="300us")
    faults.fault(document, corrupt=f"h{other}", ber="1e-7")
    return [Plant("D02", f"h{host}"), Plant("D13", f"h{other}")]


# What a fabric must have for them is said of faults alike (faults.NEEDS).
KINDS = {flap: "spray", reset: "spray", withdrawn: "down_converged", tenth: "", silent: "spray", wrong_bits: "", lanes: "spray", no_pfc: "no_pfc",
         deaf: "cnp_lost", storm: ""}
NAMES = {made.__name__: made for made in KINDS}


# The file of each system that has a line for every port, in their order.
LISTED = {"show_interfaces_status.txt": r"^\s*(Ethernet[\d/]+)\s", "show_interface.txt": r"^(Ethernet[\d/]+) is ", "show_interfaces.txt": r"^(Ethernet[\d/]+) is ",
          "nv_show_interface.json": r"\"(swp\w+)\": *{"}


def in_names_of_the_file(findings, path):
    """Without the fabric file ports have the names of their own system; every port of these fabrics has a cable."""
    names = {}
    for device in sorted(path.iterdir())[0].iterdir():
        for listed, pattern in LISTED.items():
            if (device / listed).exists():
                ports = re.findall(pattern, (device / listed).read_text(), re.MULTILINE)
                names.update({f"{device.name}:{port}": f"{device.name}:{index}" for index, port in enumerate(ports)})

    def name(said):
        return names.get(said, re.sub(r"^(\w+):eth(\d+)$", r"\1:\2", said))

    return [dict(found, culprit=name(found["culprit"]), victims=[name(one) for one in found["victims"]],
                 also=[name(one) for one in found.get("also", ())]) for found in findings]


class Case:
    """A fabric, the fault in it, and what the run itself finds."""

    def __init__(self, made, seed, folder):
        self.name, self.folder = f"{made.__name__}-{seed}", folder
        fabric = faults.Fabric(seed, [KINDS[made]])
        healthy = self.run("healthy", fabric.document)[1]
        self.document = copy.deepcopy(fabric.document)
        self.plants = made(fabric, self.document)
        self.document["stop"] = f"{max(3 * healthy['virtual_ps'], 2_000_000_000) // 1_000_000}us"
        # The file is what should be: settings that were planted are not in it, jobs are.
        self.approved = folder / f"{self.name}-approved.yaml"
        self.approved.write_text(json.dumps(dict(fabric.document, jobs=self.document["jobs"]), indent=1))
        self.path, self.ran = self.run("fault", self.document)
        self.costs = took(self.ran) >= 1.05 * took(healthy)
        self.own = json.loads(judged.run("diagnose", "--json", self.folder / f"{self.name}-fault.json"))["findings"]
        self.peers = judged.peers_of(self.ran)

    def run(self, what, document):
        path = self.folder / f"{self.name}-{what}.yaml"
        path.write_text(json.dumps(document, indent=1))
        out = judged.run("sim", "--json", "--threads", "1", path)
        path.with_suffix(".json").write_text(out)
        return path, json.loads(out)

    def dumps(self, system):
        path = self.folder / f"{self.name}-{system}"
        judged.run("sim", "--quiet", "--threads", "1", "--dump", path, "--as", system, "--dump-at", f"{self.ran['virtual_ps'] // 2000}ns", self.path,
                   program=judged.DUMPS)
        return path

    def answers(self, system):
        """With the fabric file, and without."""
        path = self.dumps(system)
        with_file = json.loads(judged.run("diagnose", "--json", path, "--fabric", self.approved))
        without = json.loads(judged.run("diagnose", "--json", path))
        without["findings"] = in_names_of_the_file(without["findings"], path)
        if not os.environ.get("KEEP"):
            shutil.rmtree(path)
        return with_file, without

    def grade(self, answer):
        """A word, and the findings that it is for."""
        findings = answer["findings"]
        causes = judged.causes(findings)
        others = [found for found in causes if not any(plant.is_named(found, self.peers) for plant in self.plants)]
        wrong = [found for found in others if not judged.agrees(found, self.own, self.peers)]
        if wrong:
            return "wrong!" if any(found["confidence"] != "weak" for found in wrong) else "wrong", wrong
        turned = [found for found in others if not judged.agrees(found, judged.causes(self.own), self.peers)]
        remarks = [found for found in self.own if found["severity"] == "info"]
        loud = [found for found in turned if judged.agrees(found, remarks, self.peers)]
        if turned:
            return ("louder" if loud == turned else "contradicts"), turned
        if all(any(plant.is_named(found, self.peers) for found in causes) for plant in self.plants):
            return "named", causes
        if any(plant.is_touched(found, self.peers) for plant in self.plants for found in findings):
            return "weaker", findings
        seen = any(plant.is_named(found, self.peers) for plant in self.plants for found in self.own)
        return "nothing" if seen and self.costs and answer["answer"] == "clear" else "nothing=", findings


def took(document):
    """Time of the first job in ps: until the run was stopped, where it did not end."""
    time = document["jobs"][0].get("time_ps")
    return document["virtual_ps"] if time is None or document["jobs"][0].get("failed_ps") is not None else time


def said(findings):
    return "; ".join(f"{found['rule']} {found['culprit']}"
                     f"{'' if found['confidence'] != 'weak' else ' weak'}{' info' if found['severity'] == 'info' else ''}"
                     f"{'' if found['consequence_of'] is None else ' (consequence)'}" for found in findings[:8]) or "nothing"


def look(made, seed, systems, show_all):
    """Lines to print, and a grade for each system with and without the file."""
    with tempfile.TemporaryDirectory(prefix="rocelab-dumps-") as temporary:
        folder = pathlib.Path(os.environ.get("KEEP") or temporary)
        case = Case(made, seed, folder)
        grades, lines = {}, []
        for system in systems:
            for way, answer in zip(("with", "without"), case.answers(system)):
                grade, why = case.grade(answer)
                findings = answer["findings"]
                grades[system, way] = grade
                if show_all or grade not in GOOD:
                    lines.append(f"    {system} {way} the file: {grade}: {said(why)}" + (f"  of: {said(findings)}" if why != findings else ""))
        where = ", ".join(" ".join(sorted(plant.places)) for plant in case.plants)
        return [f"{case.name} at {where}: the run says {said(case.own)}"] + lines, grades


def main():
    usage = argparse.ArgumentParser(usage=__doc__.replace("%", "%%"))
    usage.add_argument("--seed", type=int, default=1)
    usage.add_argument("--places", type=int, default=1)
    usage.add_argument("--only", default="")
    usage.add_argument("--systems", default=",".join(judged.SYSTEMS))
    usage.add_argument("--jobs", type=int, default=os.cpu_count())
    usage.add_argument("--all", action="store_true")
    usage.add_argument("--figure", action="store_true")
    asked = usage.parse_args()
    systems = asked.systems.split(",")
    chosen = [NAMES[name] for name in asked.only.split(",") if name] or list(KINDS)
    table = collections.defaultdict(collections.Counter)
    with concurrent.futures.ThreadPoolExecutor(asked.jobs) as pool:
        pairs = [(made, seed) for made in chosen for seed in range(asked.seed, asked.seed + asked.places)]
        for (made, _), (lines, grades) in zip(pairs, pool.map(lambda pair: look(*pair, systems, asked.all), pairs)):
            if asked.all or len(lines) > 1:
                print("\n".join(lines), flush=True)
            for (system, way), grade in grades.items():
                table[made.__name__, system, way][grade] += 1
    print(f"\n{'':12}" + "".join(f"{system:40}" for system in systems) + "(with the file / without)")
    for made in chosen:
        cells = []
        for system in systems:
            cells.append(" / ".join(words(table[made.__name__, system, way]) for way in ("with", "without")))
        print(f"{made.__name__:12}" + "".join(f"{cell:40}" for cell in cells))
    for way in ("with", "without"):
        total = sum((table[made.__name__, system, way] for made in chosen for system in systems), collections.Counter())
        cells = [(made.__name__, system) for made in chosen for system in systems]
        right = sum(all(grade in GOOD for grade in table[made, system, way]) for made, system in cells)
        bad = sum(any(grade in BAD for grade in table[made, system, way]) for made, system in cells)
        print(f"{way} the file: of {len(cells)} cells {right} right or weaker, {len(cells) - right - bad} louder, {bad} bad; answers: {words(total)}")
    bad = any(grade in BAD for cell in table.values() for grade in cell)
    return 1 if bad and not asked.figure else 0


def words(counter):
    if sum(counter.values()) == 1:
        return next(iter(counter))
    return " ".join(f"{count} {grade}" for grade, count in counter.most_common())


if __name__ == "__main__":
    sys.exit(main())
