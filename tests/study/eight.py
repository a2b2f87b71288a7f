# SPDX-License-Identifier: Apache-2.0
"""Eight fabrics tuned, against the file's default and against the vendor's preset.

    eight.py ROCELAB [--runs N] [--seeds N] [--out FOLDER] [--only NAME,NAME] [--robust [--goals GOAL,GOAL]]

For each fabric `rocelab tune` searches for its goal; then the default, the preset and the answer run on seeds that
neither the search nor its own verdict has used (9001 and on), each with the same seeds.  A line a fabric: the goal of
each, and the answer over either with its 95 % interval (Student's, of paired log ratios).  Exits 1 where the answer is
worse than either beyond the interval, or the median of the eight is not 15 % better than both.

With --robust, the answer of each fabric also runs under the traffic of the others (on its own switches and links), and
the rank order of what is lost there is held against the robustness that the report names.
"""
import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

CLASSES = """classes:
  - {name: rdma, dscp: 26, priority: 3, lossless: true, ecn: {min: 500KB, max: 1500KB, probability: 10%}, share: 90%}
  - {name: cnp, dscp: 48, priority: 6, strict: true}
  - {name: default, priority: 0, share: 10%}
nics: {congestion: dcqcn/connectx}
"""
LEAVES = "topology: {leaf-spine: {leaves: 4, spines: 4, hosts: 4}}\n"
RAIL = "topology: {rail: {hosts: 4, gpus: 4, leaves: 4, spines: 2}}\n"
T = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365, 9: 2.306, 10: 2.262, 12: 2.201, 16: 2.131, 20: 2.093}


def links(host, fabric):
    return f"links: {{host: {{rate: {host}, cable: 3m}}, fabric: {{rate: {fabric}, cable: 30m}}}}\n"


def rpc(load, until, sizes="websearch"):
    return f"  - {{name: rpc, poisson: {{sizes: {sizes}, load: {load}, until: {until}}}, qps: 8}}\n"


INCAST = "  - {name: incast, incast: 12, to: h0, size: 500KB, repeat: 4, gap: 100us}\n"
ALLREDUCE = "  - {name: allreduce, allreduce: ring, size: 16MB, repeat: 2}\n"
ALLTOALL = "  - {name: alltoall, all-to-all: at-once, size: 4MB, repeat: 2}\n"
# name: (topology, links, switches, jobs, goal, the vendor's preset: whose, min, max, probability)
FABRICS = {
    "shallow-100G-rpc": (LEAVES, links("100G", "100G"), "{buffer: 12MB}", rpc("40%", "2ms"), "p99:rdma",
                         ("Cisco blueprint", "150KB", "3MB", "7%")),
    "deep-100G-rpc": (LEAVES, links("100G", "100G"), "{buffer: 400MB}", rpc("40%", "2ms") + INCAST, "p99:rdma",
                      ("SONiC T1", "2MB", "10MB", "5%")),
    "shallow-100G-incast": (LEAVES, links("100G", "100G"), "{buffer: 12MB}", INCAST + rpc("10%", "2ms", "hadoop"), "p99:rdma",
                            ("Cisco TME script", "950KB", "3MB", "7%")),
    "400G-incast": (LEAVES, links("400G", "400G"), "{model: tomahawk5}",
                    INCAST.replace("500KB", "2MB") + rpc("10%", "500us", "hadoop"), "p99:rdma",
                    ("SONiC 7060X6", "128KiB", "256KiB", "5%")),
    "400G-allreduce": (RAIL, links("400G", "400G"), "{model: tomahawk5}", ALLREDUCE, "time",
                       ("AMD and Broadcom on Dell", "2048KB", "12480KB", "15%")),
    "800G-alltoall": (LEAVES, links("800G", "800G"), "{model: tomahawk5}", ALLTOALL, "time",
                      ("SONiC 7060X6", "128KiB", "256KiB", "5%")),
    "400G-storage-mix": (LEAVES, links("400G", "400G"), "{model: spectrum4}",
                         rpc("30%", "500us", "storage") + ALLTOALL.replace("4MB", "2MB"), "p99:rdma",
                         ("Cumulus", "150KB", "1500KB", "100%")),
    "800G-rpc": (LEAVES, links("800G", "800G"), "{model: tomahawk5}", rpc("40%", "300us"), "p99:rdma",
                 ("SONiC 7060X6", "128KiB", "256KiB", "5%")),
}
FIRST_SEED = 9001
RANK_LEAST = 0.5


def text_of(name, jobs_of=None):
    topology, cables, switches, jobs, _, _ = FABRICS[name]
    jobs = FABRICS[jobs_of or name][3]
    return f"rocelab: 1\nfabric: {name}\n{topology}{cables}switches: {switches}\n{CLASSES}jobs:\n{jobs}"


def run(program, *arguments):
    result = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=False)
    if not result.stdout:
        sys.exit(f"eight: {' '.join(map(str, arguments))}: {result.stderr}")
    return json.loads(result.stdout)


def goals(program, path, goal, seeds, *axes):
    """What the goal costs with each seed; NaN: the setting is worth nothing."""
    seed = ",".join(str(FIRST_SEED + s) for s in range(seeds))
    document = run(program, "sweep", path, "--json", "--quiet", "--vary", f"seed={seed}", *axes)
    key = {"p99:rdma": "slowdown_p99", "time": "time_ps", "fct": "fct_p99_ps"}[goal]
    return [point[key] if point["state"] == "done" and not point["failed"] else math.nan for point in document["points"]]


def interval(costs, against):
    """Ratio, least and most of 95 %."""
    logs = [math.log(a / b) for a, b in zip(costs, against)]
    mean, count = statistics.mean(logs), len(logs)
    half = T[count] * statistics.stdev(logs) / math.sqrt(count)
    return math.exp(mean), math.exp(mean - half), math.exp(mean + half)


def study(program, name, folder, runs, seeds):
    goal, preset = FABRICS[name][4:]
    path = folder / f"{name}.yaml"
    path.write_text(text_of(name))
    tuned = run(program, "tune", path, "--json", "--quiet", "--for", goal, "--runs", runs, "--out", folder / name)
    answer = folder / name / "tuned.yaml" if tuned["change"] else path
    vendor = "classes.rdma.ecn={min: %s, max: %s, probability: %s}" % preset[1:]
    cost = {"default": goals(program, path, goal, seeds), "vendor": goals(program, path, goal, seeds, "--vary", vendor),
            "tuned": goals(program, answer, goal, seeds)}
    return {"name": name, "goal": goal, "helps": tuned["helps"], "change": tuned["change"], "runs": tuned["runs"],
            "robustness": tuned["robustness_ratio"], "claimed": next((s["goal"]["ratio"] for s in tuned["settings"]
                                                                     if s["name"] == "tuned"), None),
            "cost": {key: statistics.mean(value) for key, value in cost.items()},
            "default": interval(cost["tuned"], cost["default"]), "vendor": interval(cost["tuned"], cost["vendor"])}


def axes_of(change):
    """The change as values of `sweep`, without those of jobs; parameters of an adapter as one."""
    single = [(item["key"], item["value"]) for item in change if not item["key"].startswith("jobs.")]
    control = [(key.rsplit(".", 1)[1], value) for key, value in single if key.startswith("nics.congestion.")]
    axes = [part for key, value in single if not key.startswith("nics.congestion.") for part in ("--vary", f"{key}={value}")]
    if control:
        words = ", ".join(f"{key}: {value}" for key, value in control)
        axes += ["--vary", f"nics.congestion={{use: dcqcn/connectx, {words}}}"]
    return axes


def elsewhere(program, name, change, folder, seeds):
    """p99 of completion times under each other traffic, over that with the file's own setting: {traffic: ratio}."""
    ratios = {}
    for traffic in FABRICS:
        if FABRICS[traffic][3] == FABRICS[name][3] or FABRICS[traffic][0] != FABRICS[name][0]:
            continue
        path = folder / f"{name}-under-{traffic}.yaml"
        path.write_text(text_of(name, traffic))
        before, after = goals(program, path, "fct", seeds), goals(program, path, "fct", seeds, *axes_of(change))
        ratios[traffic] = interval(after, before)[0] if not any(map(math.isnan, before + after)) else math.inf
    return ratios


def ranks(values):
    """Places from 0; what is alike to a per cent shares the mean of its places."""
    rounded = [round(value, 2) for value in values]
    return [sum(other < value for other in rounded) + (rounded.count(value) - 1) / 2 for value in rounded]


def spearman(a, b):
    ra, rb = ranks(a), ranks(b)
    mean = (len(a) - 1) / 2
    spread = math.sqrt(sum((x - mean) ** 2 for x in ra) * sum((y - mean) ** 2 for y in rb))
    return sum((x - mean) * (y - mean) for x, y in zip(ra, rb)) / spread if spread else 0


def robustness(program, folder, runs, seeds, wanted):
    """Settings for several goals: what the report says of other traffic, and what that of the other fabrics makes of it."""
    settings = []
    for name in FABRICS:
        for goal in wanted:
            if FABRICS[name][0] != LEAVES:
                continue
            path = folder / f"{name}.yaml"
            path.write_text(text_of(name))
            result = subprocess.run([program, "tune", path, "--json", "--quiet", "--for", goal, "--runs", str(runs), "--out",
                                     folder / f"{name}-{goal.split(':', maxsplit=1)[0]}"], capture_output=True, text=True, check=False)
            tuned = json.loads(result.stdout) if result.stdout else None
            if not tuned or not tuned["helps"] or tuned["robustness_ratio"] is None:
                continue
            ratios = elsewhere(program, name, tuned["change"], folder, seeds)
            worst = max(ratios, key=ratios.get)
            mean = math.exp(statistics.mean(map(math.log, ratios.values())))
            settings.append((tuned["robustness_ratio"], mean, tuned["robustness_worst_ratio"], ratios[worst]))
            print("{:20} {:9} mean: foretold x{:.2f}, found x{:.2f}  worst: foretold x{:.2f}, found x{:.2f} under {}".format(
                name, goal, *settings[-1], worst), flush=True)
    mean = spearman([one[0] for one in settings], [one[1] for one in settings])
    worst = spearman([one[2] for one in settings], [one[3] for one in settings])
    print(f"{len(settings)} settings: rank correlation of foretold and found: mean {mean:+.2f}, worst {worst:+.2f}")
    return mean


def shown(ratio):
    return f"{(ratio[0] - 1) * 100:+.0f}% ({(ratio[1] - 1) * 100:+.0f} to {(ratio[2] - 1) * 100:+.0f})"


def table(rows):
    print(f"{'fabric':20} {'goal':9} {'default':>9} {'vendor':>9} {'tuned':>9}  {'over default':>22} {'over vendor':>22}  says")
    for row in rows:
        unit = 1 if row["goal"].startswith("p99") else 1e9
        cost = [f"{row['cost'][key] / unit:.2f}" for key in ("default", "vendor", "tuned")]
        print(f"{row['name']:20} {row['goal']:9} {cost[0]:>9} {cost[1]:>9} {cost[2]:>9}  {shown(row['default']):>22} "
              f"{shown(row['vendor']):>22}  {'helps' if row['helps'] else 'cannot help'}")


def judge(rows):
    """Sentences about what does not hold."""
    wrong = []
    for row in rows:
        for against in ("default", "vendor"):
            if row[against][1] > 1:
                wrong.append(f"{row['name']}: worse than the {against} beyond the interval")
    for against in ("default", "vendor"):
        median = statistics.median(row[against][0] for row in rows)
        print(f"median over the {against}: {(median - 1) * 100:+.1f}%")
        if median > 0.85:
            wrong.append(f"the median over the {against} is not 15 % better")
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=10, choices=sorted(T))
    parser.add_argument("--out")
    parser.add_argument("--only", default=",".join(FABRICS))
    parser.add_argument("--robust", action="store_true")
    parser.add_argument("--goals", default="p99:rdma,time,paused")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(options.out or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        if options.robust:
            rank = robustness(options.program, folder, options.runs, options.seeds, options.goals.split(","))
            sys.exit(0 if rank >= RANK_LEAST else 1)
        rows = []
        for name in options.only.split(","):
            rows.append(study(options.program, name, folder, options.runs, options.seeds))
            (folder / "eight.json").write_text(json.dumps(rows, indent=1))
            print(f"eight: {name} {shown(rows[-1]['default'])}", file=sys.stderr, flush=True)
    table(rows)
    wrong = judge(rows)
    print("\n".join(wrong))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
