#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: tests/diagnose/random_fabrics.py ROCELAB [--one N] [--healthy N] [--two N] [--seed S] [--keep DIR] [--all]

Random fabrics, and what `rocelab diagnose` says of their runs.

--one N      fabrics with one fault that slows their job by at least 5 % (drawn until there are N): the first finding has to
             name the culprit in 90 % of them
--healthy N  fabrics without a fault in which `rocelab check` finds no error: no critical finding
--two N      two faults at different places at once, each of which slows the job alone: both have to be named in 80 %

An answer is right where rule and culprit are: the port, or the port at the other end of its cable; of a host its NIC.  A fault
is known to this test alone: diagnose does not read `faults` of the document.  What is not right is listed.  --all lists every
fabric.  Exit status 1: a share was not reached."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import judged

SLOW = 1.05
DONE = ("done", "failed")


class Fabric:
    """A leaf-spine fabric with one job, drawn from a seed."""

    def __init__(self, seed):
        draw = self.draw = random.Random(seed)
        self.seed = seed
        self.leaves = draw.choice((2, 2, 3, 4))
        self.spines = draw.choice((1, 2, 2, 4))
        self.hosts = draw.choice((2, 4, 4, 8))
        self.rate = draw.choice((25, 100, 100, 400))
        # As much towards the spines as towards hosts, or twice that: what is slow is slow because of the fault.
        need = self.rate * self.hosts / self.spines * draw.choice((1, 1, 2))
        self.uplink = next((rate for rate in (25, 50, 100, 200, 400, 800) if rate >= need), 1600)
        self.congestion = draw.choice(("dcqcn/connectx", "dcqcn/connectx", "dcqcn/paper", "hpcc/paper", "none"))
        self.balance = draw.choice(("ecmp", "ecmp", "flowlet"))
        self.buffer = draw.choice((16, 32, 64))
        self.job = draw.choice(("allreduce", "alltoall", "permutation", "training"))
        self.size = max(1, int(self.rate / 25) * draw.choice((1, 2)))
        self.devices, self.faults, self.jobs = {}, [], []

    @property
    def all_hosts(self):
        return self.leaves * self.hosts

    def host(self):
        return self.draw.randrange(self.all_hosts)

    def uplink_port(self):
        """A port of a leaf to a spine."""
        return f"leaf{self.draw.randrange(self.leaves)}", self.hosts + self.draw.randrange(self.spines)

    def leaf_of(self, host):
        return f"leaf{host // self.hosts}:{host % self.hosts}"

    def job_text(self):
        if self.job == "allreduce":
            return {"name": "main", "allreduce": "ring", "size": f"{4 * self.size}MB"}
        if self.job == "alltoall":
            return {"name": "main", "alltoall": "auto", "size": f"{self.size}MB"}
        if self.job == "permutation":
            return {"name": "main", "permutation": self.hosts, "size": f"{4 * self.size}MB"}
        return {"name": "main", "training": {"model": {"layers": 2, "hidden": 128 if self.rate < 400 else 256, "sequence": 256},
                                             "groups": {"dp": self.all_hosts}, "compute": {"forward": "20us"},
                                             "optimizer": "replicated", "steps": 20}}

    def text(self, faults, stop):
        document = {
            "rocelab": 1, "fabric": f"random-{self.seed}",
            "topology": {"leaf-spine": {"leaves": self.leaves, "spines": self.spines, "hosts": self.hosts}},
            "links": {"host": {"rate": f"{self.rate}G", "cable": "3m"}, "fabric": {"rate": f"{self.uplink}G", "cable": "30m"}},
            "switches": {"buffer": f"{self.buffer}MB", "balance": self.balance},
            "nics": {"congestion": self.congestion, "timeout": 6},
            "seed": self.seed,
            "jobs": [self.job_text()] + [job for fault in faults for job in fault.jobs],
        }
        devices = {}
        for fault in faults:
            for device, said in fault.devices.items():
                merge(devices.setdefault(device, {}), said)
        if devices:
            document["devices"] = devices
        listed = [one for fault in faults for one in fault.faults]
        if listed:
            document["faults"] = listed
        if stop:
            document["stop"] = stop
        return json.dumps(document, indent=1)


def merge(into, said):
    for key, value in said.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            merge(into[key], value)
        else:
            into[key] = value


class Fault:
    """What is done to a fabric, and what has to be named: rules and culprits, any of which is right."""

    def __init__(self, name, rules, culprits, faults=(), devices=None, jobs=()):
        self.name, self.rules, self.culprits = name, rules, culprits
        self.faults, self.devices, self.jobs = list(faults), devices or {}, list(jobs)


def storm(fabric):
    host = fabric.host()
    return Fault("storm", {"D02"}, {f"h{host}:0"}, [{"pause": f"h{host}", "at": "50us"}])


def slow_receiver(fabric):
    host = fabric.host()
    return Fault("slow receiver", {"D03"}, {f"h{host}:0"},
                 [{"receive": f"h{host}", "rate": f"{fabric.rate * fabric.draw.choice((0.1, 0.25, 0.5))}G", "at": "20us"}])


def lanes(fabric):
    leaf, port = fabric.uplink_port()
    return Fault("lanes", {"D06"}, {f"{leaf}:{port}"}, [{"lanes": f"{leaf}:{port}", "lost": 3, "of": 4, "at": "20us"}])


def slow_host_link(fabric):
    host = fabric.host()
    return Fault("host's lanes", {"D06"}, {f"h{host}:0"}, [{"lanes": f"h{host}:0", "lost": 2, "of": 4, "at": "20us"}])


def bad_cable(fabric):
    ber = fabric.draw.choice(("1e-7", "1e-6"))
    if fabric.draw.random() < 0.5:
        host = fabric.host()
        return Fault("bad cable of a host", {"D13"}, {f"h{host}:0"}, [{"corrupt": f"h{host}", "ber": ber}])
    leaf, port = fabric.uplink_port()
    return Fault("bad cable", {"D13"}, {f"{leaf}:{port}"}, [{"corrupt": f"{leaf}:{port}", "ber": ber}])


def down(fabric):
    leaf, port = fabric.uplink_port()
    return Fault("link down", {"D14", "D07"}, {f"{leaf}:{port}"}, [{"down": f"{leaf}:{port}", "at": "50us"}])


def flap(fabric):
    leaf, port = fabric.uplink_port()
    return Fault("flap", {"D19", "D14"}, {f"{leaf}:{port}"},
                 [{"flap": f"{leaf}:{port}", "at": "50us", "every": "200us", "down": "60us", "times": 6}])


def mtu(fabric):
    spine, leaf = fabric.draw.randrange(fabric.spines), fabric.draw.randrange(fabric.leaves)
    return Fault("mtu", {"D16"}, {f"spine{spine}:{leaf}"}, devices={f"spine{spine}": {"ports": {str(leaf): {"mtu": 1500}}}})


def wrong_class(fabric):
    leaf = fabric.draw.randrange(fabric.leaves)
    return Fault("wrong class", {"D15"}, {f"leaf{leaf}"}, devices={f"leaf{leaf}": {"dscp-map": {"26": 0, "24": 3}}})


def incast(fabric):
    """Everybody else sends to one host, beside the job."""
    host = fabric.host()
    others = [f"h{i}" for i in range(fabric.all_hosts) if i != host]
    job = {"name": "others", "incast": len(others), "size": f"{max(1, fabric.size)}MB", "to": f"h{host}",
           "ranks": [f"h{host}"] + others}
    return Fault("incast", {"D04", "D22"}, {f"h{host}:0"}, jobs=[job])


def slow_gpu(fabric):
    host = fabric.host()
    fabric.job = "training"
    return Fault("slow GPU", {"D17"}, {f"h{host}"},
                 [{"slow-gpu": f"h{host}", "factor": fabric.draw.choice((1.5, 2, 3)), "at": "50us"}])


FAULTS = (storm, slow_receiver, lanes, slow_host_link, bad_cable, down, flap, mtu, wrong_class, incast, slow_gpu)


def peers(document):
    ends = {}
    for link in document["links"]:
        ends[link["a"]], ends[link["b"]] = link["b"], link["a"]
    return ends


def same(named, culprit, ends):
    """Whether a finding's culprit is this one: the port, its peer, or the host or switch it is of."""
    if named == culprit or ends.get(culprit) == named:
        return True
    return named == culprit + ":0" or culprit == named + ":0"


def took(document):
    """Time of the main job in ps; None: it did not end."""
    times = [job["time_ps"] for job in document["jobs"] if job["name"].startswith("main")]
    return max(times) if times and all(time is not None for time in times) and document["state"] in DONE else None


class Runner:
    def __init__(self, rocelab, folder):
        self.rocelab, self.folder = rocelab, pathlib.Path(folder)

    def sim(self, name, text):
        file = self.folder / f"{name}.yaml"
        file.write_text(text)
        done = subprocess.run([self.rocelab, "sim", "--json", "--threads", "1", file], capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):
            raise RuntimeError(f"{file}: {done.stderr.strip()}")
        out = self.folder / f"{name}.json"
        out.write_text(done.stdout)
        return out, json.loads(done.stdout)

    def diagnose(self, document, run):
        """Of the document, which says the same of itself."""
        done = subprocess.run([self.rocelab, "diagnose", "--json", document], capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):
            raise RuntimeError(f"{document}: {done.stderr.strip()}")
        answer = json.loads(done.stdout)
        if not judged.same_findings(run, answer):
            raise RuntimeError(f"{document}: sim says something else")
        return answer

    def check(self, name):
        return subprocess.run([self.rocelab, "check", self.folder / f"{name}.yaml"], capture_output=True, check=False).returncode == 0

    def drop(self, name):
        for suffix in (".yaml", ".json"):
            (self.folder / f"{name}{suffix}").unlink(missing_ok=True)


def listed(answer):
    return "; ".join(f"{found['rule']} {found['culprit']}{'' if found['consequence_of'] is None else ' (consequence)'}"
                     for found in answer["findings"][:6]) or "nothing"


def with_faults(runner, seed, count):
    """(right, line) of a fabric whose faults each slow it down; None: they do not."""
    fabric = Fabric(seed)
    makers = fabric.draw.sample(FAULTS, count)
    faults = [make(fabric) for make in makers]
    if count > 1 and {c.split(":")[0] for c in faults[0].culprits} & {c.split(":")[0] for c in faults[1].culprits}:
        return None
    _, plain = runner.sim(f"r{seed}-plain", fabric.text([], None))
    runner.drop(f"r{seed}-plain")
    base = took(plain)
    if not base:
        return None
    stop = f"{max(4 * base, base + 2_000_000_000) // 1_000_000}us"
    for fault in faults if count > 1 else ():
        _, alone = runner.sim(f"r{seed}-one", fabric.text([fault], stop))
        runner.drop(f"r{seed}-one")
        time = took(alone)
        if time is not None and time < SLOW * base:
            return None
    path, document = runner.sim(f"r{seed}", fabric.text(faults, stop))
    time = took(document)
    if time is not None and time < SLOW * base:
        runner.drop(f"r{seed}")
        return None
    answer = runner.diagnose(path, document)
    ends = peers(document)
    causes = [found for found in answer["findings"] if found["consequence_of"] is None]
    looked = causes[:1] if count == 1 else causes
    right = all(any(found["rule"] in fault.rules and same(found["culprit"], culprit, ends) for found in looked for culprit in fault.culprits)
                for fault in faults)
    what = " and ".join(f"{fault.name} at {', '.join(sorted(fault.culprits))}" for fault in faults)
    line = (f"seed {seed}: {what} ({fabric.job}, {fabric.congestion}, {fabric.leaves}x{fabric.hosts}+{fabric.spines}, "
            f"{'never ended' if time is None else f'{time / base:.2f} times'}): {listed(answer)}")
    if right:
        runner.drop(f"r{seed}")
    return right, line


def healthy(runner, seed):
    fabric = Fabric(seed)
    path, document = runner.sim(f"h{seed}", fabric.text([], None))
    if not runner.check(f"h{seed}") or took(document) is None:
        runner.drop(f"h{seed}")
        return None
    answer = runner.diagnose(path, document)
    right = not any(found["severity"] == "critical" for found in answer["findings"])
    line = f"seed {seed}: healthy ({fabric.job}, {fabric.congestion}): {listed(answer)}"
    if right:
        runner.drop(f"h{seed}")
    return right, line


def gather(pool, what, count, seed):
    """Results of `count` seeds that have one, in the order of the seeds."""
    results, tried = [], 0
    width = max(1, pool._max_workers) * 2
    while len(results) < count and tried < 40 * count + 40:
        batch = list(pool.map(what, range(seed + tried, seed + tried + width)))
        tried += width
        results += [one for one in batch if one is not None]
    return results[:count]


def main():
    usage = argparse.ArgumentParser(usage=__doc__.replace("%", "%%"))
    usage.add_argument("rocelab")
    for kind in ("one", "healthy", "two"):
        usage.add_argument(f"--{kind}", type=int, default=0)
    usage.add_argument("--seed", type=int, default=1)
    usage.add_argument("--keep")
    usage.add_argument("--all", action="store_true")
    asked = usage.parse_args()
    folder = asked.keep or tempfile.mkdtemp()
    os.makedirs(folder, exist_ok=True)
    runner, wrong = Runner(os.path.abspath(asked.rocelab), folder), False
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for kind, count, share, what in (
                ("one fault", asked.one, 0.9, lambda seed: with_faults(runner, seed, 1)),
                ("healthy", asked.healthy, 1.0, lambda seed: healthy(runner, seed)),
                ("two faults", asked.two, 0.8, lambda seed: with_faults(runner, seed, 2))):
            if not count:
                continue
            results = gather(pool, what, count, asked.seed)
            good = sum(right for right, _ in results)
            for right, line in results:
                if asked.all or not right:
                    print(f"{'right' if right else 'WRONG'}: {line}")
            reached = len(results) == count and good >= share * count
            wrong |= not reached
            print(f"{kind}: {good} of {len(results)} right, {share:.0%} asked{'' if reached else ': NOT REACHED'}")
    if not asked.keep:
        for path in pathlib.Path(folder).iterdir():
            path.unlink()
        os.rmdir(folder)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
