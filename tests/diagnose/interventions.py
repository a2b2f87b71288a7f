#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: tests/diagnose/interventions.py ROCELAB [--one N] [--two N] [--none N] [--seed S] [--only KIND] [--all] [--figure]

Truth by intervention: faults are planted at random in random fabrics, and what `rocelab diagnose` calls the cause is repaired in
the fabric file, and the fabric run again.  A cause is true if so at least 80 % of the loss comes back: of the time beyond that of
the healthy fabric.  Nothing here compares names: who names another port or rule than was planted, and is right, is right.

--one N   fabrics with one fault     --two N   with two at once     --none N   with none
--seed S  the first seed             --only KIND[,KIND]   only faults of these kinds
--all     lists every fabric, and not only those where something is wrong
--figure  ends with 0 whatever the shares are     --jobs N  fabrics at a time (as there are processors)
--dumps SYSTEM[,SYSTEM]  also what is named of the run's dumps as these print them, with the fabric file without the fault, and how
                         many refuted causes the run itself does not have (ROCELAB_DUMPS is the program that dumps)

Precision: of the causes that were named (not as information, not as a consequence), those that intervention confirms.
Recall: of the faults that cost their job at least 5 %, those that some named cause, repaired, takes away.
Exit status 1: a share is below 95 %, of two faults below 85 %."""
import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import faults  # noqa: E402
import judged  # noqa: E402
import repairs  # noqa: E402

COSTS = 0.05  # of the healthy time: a fault that costs less need not be named
BACK = 0.8  # of the loss, that comes back
ONE, TWO = 0.95, 0.85
WAYS = 4  # to repair several causes, that are tried


class Ran:
    def __init__(self, document, path, time):
        self.path, self.time = path, time
        self.ends = {}
        for link in document["links"]:
            self.ends[link["a"]], self.ends[link["b"]] = link["b"], link["a"]


class Refused(Exception):
    """The program does not take the fabric file: two faults may leave no buffer that works."""


class Runner:
    def __init__(self, rocelab, folder):
        self.rocelab, self.folder, self.runs = rocelab, pathlib.Path(folder), 0

    def call(self, *arguments):
        done = subprocess.run([self.rocelab, *arguments], capture_output=True, text=True, check=False)
        if done.returncode == 2 and arguments[0] == "sim" and "error:" in done.stderr:
            raise Refused(done.stderr.strip())
        if done.returncode not in (0, 1, 3):
            raise RuntimeError(f"{' '.join(map(str, arguments))}: {done.stderr.strip()}")
        return done.stdout

    def diagnose(self, *arguments):
        return json.loads(self.call("diagnose", "--json", *arguments))["findings"]


class Fabric:
    """Runs of one fabric, each once."""

    def __init__(self, runner, name):
        self.runner, self.name, self.stop, self.kept, self.files = runner, name, None, {}, []

    def run(self, document):
        said = dict(document, stop=self.stop) if self.stop else document
        key = hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:16]
        if key not in self.kept:
            file = self.runner.folder / f"{self.name}-{key}.yaml"
            file.write_text(json.dumps(said, indent=1))
            out = file.with_suffix(".json")
            out.write_text(self.runner.call("sim", "--json", "--threads", "1", file))
            self.runner.runs += 1
            self.files += [file, out]
            ran = json.loads(out.read_text())
            self.kept[key] = Ran(ran, out, took(ran))
        return self.kept[key]

    def dumped(self, document, system, approved):
        """What is found in the dumps of a run, as a system prints them; the fabric file is `approved`."""
        ran = self.run(document)
        file, dumps = self.runner.folder / f"{self.name}-approved.yaml", self.runner.folder / f"{self.name}-{system}"
        file.write_text(json.dumps(approved))
        half = json.loads(ran.path.read_text())["virtual_ps"] // 2000
        judged.run("sim", "--quiet", "--threads", "1", "--dump", dumps, "--as", system, "--dump-at", f"{half}ns", ran.path.with_suffix(".yaml"),
                   program=judged.DUMPS)
        found = self.runner.diagnose(dumps, "--fabric", file)
        shutil.rmtree(dumps)
        file.unlink()
        return found

    def drop(self):
        for file in self.files:
            file.unlink()


def took(document):
    """Time of the main job in ps: until the run was stopped, where it did not end."""
    times = [job.get("time_ps") if job.get("failed_ps") is None else None for job in document["jobs"] if job["name"].startswith("main")]
    if any(time is None for time in times):
        return document["virtual_ps"]
    return sum(times)


class Case:
    """One fabric with its faults: a time for each set of them, and what was named."""

    def __init__(self, runner, seed, count, only):
        self.seed = seed
        self.document, self.plants = faults.drawn(seed, count, only)
        self.fabric = Fabric(runner, f"s{seed}")
        self.healthy = self.fabric.run(self.document)
        self.fabric.stop = f"{max(4 * self.healthy.time, self.healthy.time + 2_000_000_000) // 1_000_000}us"
        self.all = tuple(range(count))
        self.alone = [(i,) for i in self.all] if count > 1 else []

    def world(self, which):
        """The fabric file with these faults."""
        document = self.document
        for i in which:
            document = self.plants[i][1](document)
        return document

    def time(self, which):
        return self.fabric.run(self.world(which)).time

    def costly(self):
        """Faults that cost something, alone and beside the others."""
        return [i for i in self.all if self.time((i,)) - self.healthy.time >= COSTS * self.healthy.time and
                self.time(self.all) - self.time(tuple(k for k in self.all if k != i)) >= COSTS * self.healthy.time]

    def name(self, system=None):
        """The causes that are named: of the run, or of its dumps."""
        world = self.world(self.all)
        if system:
            # What is so everywhere is the design, good or bad; what one device or cable has is not in the file.
            design = {key: world[key] for key in ("jobs", "links", "switches", "nics") if key in world}
            self.findings = self.fabric.dumped(world, system, {**self.document, **design})
        else:
            self.findings = self.fabric.runner.diagnose(self.fabric.run(world).path)
        self.ends = self.fabric.run(self.world(self.all)).ends
        self.causes = [found for found in self.findings
                       if found["severity"] != "info" and found["consequence_of"] is None and found["rule"] != "D20"]

    def without(self, document, causes):
        """The best time of the fabric with these causes repaired; of several ways to repair one the best is taken."""
        files = [document]
        for cause in causes:
            files = [made for file in files for made in repairs.repaired(file, cause, self.ends) or [file]][:WAYS]
        return min(self.fabric.run(file).time for file in files)

    def gives_back(self, which, cause, others=()):
        """Whether repairing the cause, beside the others that were, gives back most of what is lost with these faults."""
        document = self.world(which)
        time = self.without(document, others)
        loss = time - self.healthy.time
        return loss >= COSTS * self.healthy.time and self.without(document, [*others, cause]) <= time - BACK * loss

    def confirmed(self, cause):
        """True, or that it is a cause of the healthy fabric too, or False."""
        if any(self.gives_back(which, cause) for which in [self.all, *self.alone] if which):
            return True
        # Causes that hide each other: what is left where the others are repaired, or those of the same rule.
        others = [one for one in self.causes if one is not cause]
        beside = [some for some in (others, [one for one in others if one["rule"] == cause["rule"]]) if some]
        if self.all and any(self.gives_back(self.all, cause, some) for some in beside):
            return True
        return "natural" if any(self.is_faster(cause, some) for some in [[], *beside]) else False

    def is_faster(self, cause, others):
        """Whether the healthy fabric is, without it: several that send to several are one cause, and stand or fall together."""
        return self.without(self.document, [*others, cause]) <= (1 - COSTS) * self.without(self.document, others)

    def is_named(self, i):
        rest = tuple(k for k in self.all if k != i)
        for cause in self.causes:
            if self.gives_back((i,), cause):
                return True
            loss = self.time(self.all) - self.time(rest)
            if rest and self.without(self.world(self.all), [cause]) <= self.time(self.all) - BACK * loss:
                return True
        return False


class Result:
    """What was named, and whether it is true; of dumps also the refuted causes that the run itself does not have."""

    def __init__(self, seed, line, costly, named, causes, true, wrong):
        self.seed, self.line, self.costly, self.named, self.causes, self.true, self.wrong = seed, line, costly, named, causes, true, wrong
        self.natural, self.against, self.dumps = sum(one == "natural" for one in true), [], {}


def judge(runner, seed, count, only, systems=()):
    """What was named of a fabric with so many faults; None: they cost nothing, or there is no such fabric."""
    case = Case(runner, seed, count, only)
    try:
        costly = case.costly()
    except Refused:
        costly = []
    if len(costly) < count:
        case.fabric.drop()
        return None
    case.name()
    result = result_of(case, costly, "")
    own = case.findings
    for system in systems:
        case.name(system)
        result.dumps[system] = result_of(case, costly, f" as {system}")
        result.dumps[system].against = [name for name in result.dumps[system].wrong
                                        if not any(judged.agrees(cause, own, case.ends) for cause in case.causes if named_as(cause) == name)]
    case.fabric.drop()
    return result


def result_of(case, costly, of):
    truth = [case.confirmed(cause) for cause in case.causes]
    named = [case.is_named(i) for i in costly]
    wrong = [named_as(cause) for cause, true in zip(case.causes, truth) if not true]
    lost = case.time(case.all) / case.healthy.time
    listed = "; ".join(f"{found['rule']} {found['culprit']} {mark(found, case.causes, truth)}" for found in case.findings[:6]) or "nothing"
    line = (f"seed {case.seed}{of}: {' and '.join(kind for kind, _ in case.plants) or 'healthy'} ({job_of(case.document)}, {case.document['nics']['congestion']}, "
            f"{lost:.2f} times{'' if all(named) else ', NOT NAMED: ' + ', '.join(case.plants[i][0] for i, is_so in zip(costly, named) if not is_so)}"
            f"{', REFUTED: ' + ', '.join(wrong) if wrong else ''}): {listed}")
    return Result(case.seed, line, [case.plants[i][0] for i in costly], named, [cause["rule"] for cause in case.causes], truth, wrong)


def named_as(cause):
    return f"{cause['rule']} {cause['culprit']}"


def mark(found, causes, truth):
    if found["consequence_of"] is not None:
        return "(consequence)"
    if found not in causes:
        return "(info)"
    true = truth[causes.index(found)]
    return "natural" if true == "natural" else "true" if true else "FALSE"


def job_of(document):
    job = document["jobs"][0]
    return next((key for key in job if key not in ("name", "size", "to", "iterations")), "?")


def gather(pool, what, count, seed):
    """Results of the first `count` seeds that have one."""
    results, step = [], max(8, count // 4)
    for start in range(seed, seed + 50 * count, step):
        results += [one for one in pool.map(what, range(start, start + step)) if one]
        if len(results) >= count:
            break
    return results[:count]


def share(part, whole):
    return f"{part} of {whole} ({100 * part / whole:.1f} %)" if whole else "0 of 0"


def summary(results, what, least):
    costly, named = sum(len(one.costly) for one in results), sum(sum(one.named) for one in results)
    causes, true = sum(len(one.causes) for one in results), sum(bool(yes) for one in results for yes in one.true)
    natural = sum(one.natural for one in results)
    print(f"{what}: {len(results)} fabrics, recall {share(named, costly)}, precision {share(true, causes)}"
          f"{f', {natural} of them of the healthy fabric too' if natural else ''}")
    return named >= least * costly and true >= least * causes


def by_kind(results):
    kinds, rules = collections.defaultdict(lambda: [0, 0]), collections.defaultdict(lambda: [0, 0])
    for one in results:
        for kind, is_named in zip(one.costly, one.named):
            kinds[kind][0] += 1
            kinds[kind][1] += is_named
        for rule, true in zip(one.causes, one.true):
            rules[rule][0] += 1
            rules[rule][1] += bool(true)
    for title, table in (("named", kinds), ("true", rules)):
        print(f"{title}: " + ", ".join(f"{key} {good}/{all_}" for key, (all_, good) in sorted(table.items())))


def main():
    usage = argparse.ArgumentParser(usage=__doc__.replace("%", "%%"))
    usage.add_argument("rocelab")
    for kind in ("one", "two", "none"):
        usage.add_argument(f"--{kind}", type=int, default=0)
    usage.add_argument("--seed", type=int, default=1)
    usage.add_argument("--only", default="")
    usage.add_argument("--jobs", type=int, default=os.cpu_count())
    usage.add_argument("--all", action="store_true")
    usage.add_argument("--figure", action="store_true")
    usage.add_argument("--dumps", default="")
    asked = usage.parse_args()
    systems = [system for system in asked.dumps.split(",") if system]
    only = [kind for kind in asked.only.split(",") if kind]
    good, results = True, []
    with tempfile.TemporaryDirectory(prefix="rocelab-interventions-") as folder, concurrent.futures.ThreadPoolExecutor(asked.jobs) as pool:
        runner = Runner(os.path.abspath(asked.rocelab), folder)
        for count, many, what, least in ((1, asked.one, "one fault", ONE), (2, asked.two, "two faults", TWO), (0, asked.none, "no fault", ONE)):
            if not many:
                continue
            # Each kind of figure has seeds of its own.
            made = gather(pool, lambda seed, count=count: judge(runner, seed, count, only, systems), many, asked.seed + 1_000_000 * count)
            for one in made:
                for said in (one, *one.dumps.values()):
                    if asked.all or said.wrong or said.against or not all(said.named):
                        print(said.line + (f"  NOT IN THE RUN: {', '.join(said.against)}" if said.against else ""))
            good &= summary(made, what, least) and len(made) == many
            for system in systems:
                dumped = [one.dumps[system] for one in made]
                summary(dumped, f"{what}, dumps as {system}", least)
                against = sum(len(one.against) for one in dumped)
                print(f"    {share(against, sum(len(one.causes) for one in dumped))} of these causes are refuted, and not in the run")
                good &= not against
            results += made
        by_kind(results)
        print(f"{runner.runs} runs")
    return 0 if good or asked.figure else 1


if __name__ == "__main__":
    sys.exit(main())
