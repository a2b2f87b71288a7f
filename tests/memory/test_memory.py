# SPDX-License-Identifier: Apache-2.0
"""Every verb with one allocation failing: the answer is the usual one, or exit status 2 and a word that memory ran out.

    test_memory.py [--whole] [--seed N] [--at K] [NAME...]

NAME: rows of VERBS.  Each allocation of a run fails in a run of its own (failing.c does that), where there are fewer
than MOST; else a sample of so many.  Without --whole some of each, chosen by the seed.  ROCELAB is the program,
ROCELAB_DUMPS the one with `sim --dump DIR --as SYSTEM`, FAILING the library that is preloaded, LIBRARY a program that
uses librocelab.so.  A line a verb; for each wrong answer the calls that led to the allocation.
"""
import argparse
import collections
import json
import os
import pathlib
import random
import re
import resource
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("ROCELAB", str(SOURCE / "build-gcc" / "rocelab"))
DUMPS = os.environ.get("ROCELAB_DUMPS", str(SOURCE / "build-gcc" / "tests" / "gen" / "rocelab-dumps"))
FAILING = os.environ.get("FAILING", str(SOURCE / "build-gcc" / "tests" / "memory" / "libfailing.so"))
LIBRARY = os.environ.get("LIBRARY", str(SOURCE / "build-gcc" / "tests" / "memory" / "library"))
MOST = 5000    # allocations of a verb that are all looked at
SAMPLED = 500  # of those that have more
PART = 60      # of each verb, without --whole
FEW = 20       # of those whose runs are long
CHUNK = 500    # trials of one process
GROWS = re.compile(r"reserve\.c:\d+: CHECK failed: chunk != NULL")
WORD = re.compile(r"memory", re.I)  # "out of memory", "Cannot allocate memory"

FABRIC = """rocelab: 1
fabric: small
topology: {leaf-spine: {leaves: 2, spines: 1, hosts: 2}}
links: {host: {rate: 100G, cable: 3m}, fabric: {rate: 100G, cable: 30m}}
"""
CLASSES = """classes:
  - {name: rdma, dscp: 26, priority: 3, lossless: true, ecn: {min: 100KB, max: 400KB, probability: 10%}, share: 90%}
  - {name: cnp, dscp: 48, priority: 6, strict: true}
  - {name: default, priority: 0, share: 10%}
"""
JOBS = "jobs: [{name: incast, incast: 2, to: h0, size: 200KB, repeat: 2}]\n"
FILES = {
    "plain.yaml": FABRIC + "jobs: [{name: flow, flows: [{src: h0, dst: h2, size: 16KB}]}]\n",
    "small.yaml": FABRIC + CLASSES + JOBS,
    "drifted.yaml": FABRIC + CLASSES.replace("100KB", "150KB").replace("dscp: 26", "dscp: 24") + JOBS,
    "faulty.yaml": FABRIC + CLASSES + JOBS + "faults: [{bit-errors: {link: leaf0:2, rate: 1e-6}}]\n",
    "two.up": "h0: true\nh1: true\n",
    "train.yaml": FABRIC + CLASSES + "jobs: [{name: ring, allreduce: ring, size: 64KB}]\n",
}
FILES["experiments/X1.yaml"] = """experiment: X1
title: two flows
source: none
quick: true
fabric: |
  rocelab: 1
  topology: {single: {hosts: 3}}
  links: {host: {rate: $rate, cable: 3m}}
  jobs: [{name: pair, flows: [{src: h1, dst: h0, size: 100KB}, {src: h2, dst: h0, size: 100KB}]}]
runs:
  a: {rate: 10G}
  b: {rate: 20G}
measures:
  - {what: time, value: 'queue(a, leaf0:0, 1us, 10us)', published: any, at-least: 0}
"""
# What other rows read, made by the program itself; of switches other than SONiC by the tests' (tests/gen/dump).
MADE = [
    "sim --quiet --json small.yaml > run.json",
    "sim --quiet --dump nxos --as nxos small.yaml > made",
    "sim --quiet --dump sonic small.yaml > made",
    "sim --quiet --counters prometheus=metrics.txt small.yaml > made",
    "sim --quiet --pcap leaf0:0=leaf0.pcap small.yaml > made",
    "config --quiet --nos nxos --out running drifted.yaml > made",
    "config --quiet --nos sonic --out running-sonic drifted.yaml > made",
]
# Each verb, on inputs as small as they may be.  OUT/ is what a run leaves.
VERBS = {
    "help": "help check",
    "check": "check small.yaml",
    "check-json": "check --json small.yaml",
    "check-usual": "check plain.yaml",
    "check-running": "check running",
    "suggest": "suggest all small.yaml",
    "sim": "sim small.yaml",
    "sim-usual": "sim plain.yaml",
    "sim-train": "sim train.yaml",
    "sim-json": "sim --json small.yaml",
    "sim-html": "sim --html out/run.html --events out/events.csv --counters prometheus=out/metrics small.yaml",
    "sim-csv": "sim --csv out --series 10us small.yaml",
    "sim-dump": "sim --dump out/dump small.yaml",
    "sim-pcap": "sim --pcap leaf0:0=out/leaf0.pcap small.yaml",
    "sim-seeds": "sim --seeds 2 plain.yaml",
    "compare": "compare plain.yaml",
    "config": "config small.yaml --nos nxos --device leaf0",
    "config-out": "config small.yaml --nos sonic --out out/config",
    "config-bom": "config small.yaml --bom",
    "import": "import running",
    "import-sonic": "import running-sonic",
    "diff": "diff small.yaml running",
    "diff-fix": "diff small.yaml running --fix",
    "capture": "capture leaf0.pcap",
    "capture-json": "capture --json --html out/capture.html leaf0.pcap",
    "diagnose": "diagnose run.json",
    "diagnose-html": "diagnose --json --html out/page.html --fabric small.yaml run.json",
    "diagnose-nxos": "diagnose nxos",
    "diagnose-sonic": "diagnose --fabric small.yaml sonic",
    "diagnose-metrics": "diagnose metrics.txt",
    "diagnose-walk": "diagnose --walk nxos --fabric small.yaml",
    "diagnose-live": "diagnose live --interval 10ms",
    "tune": "tune small.yaml --for time --vary ecn --runs 12 --jobs 1",
    "sweep": "sweep plain.yaml --vary seed=1,2 --jobs 1",
    "experiments": "experiments --jobs 1",
    "validate": "validate --quick --phase 1 --jobs 1 small.yaml",
    "weeks": "validate --quick --weeks 4 --jobs 1 train.yaml",
    "counters": "counters --list",
    "devices": "devices",
    "run": "run -- true",
    "fault": "fault down leaf0:0",                # no fabric is up
    "serve": "serve --listen 198.51.100.1:9791",  # of nobody here: as far as it comes before it would go on for ever
    "library": LIBRARY + " small.yaml",
    "up": "up plain.yaml --script two.up",
}
LONG = ("tune", "experiments", "validate", "weeks", "up", "diagnose-live")


def program_of(command):
    """A verb of ours, or a program by its path."""
    return ([] if command.startswith("/") else [PROGRAM]) + command.split()


class Harness:
    def __init__(self, folder, env):
        self.folder, self.env = pathlib.Path(folder), env

    def run(self, command, trials):
        """The lines of failing.c for these allocations."""
        lines = []
        for first in range(0, len(trials), CHUNK):
            env = dict(self.env, FAILING_TRIALS=",".join(map(str, trials[first:first + CHUNK])), FAILING_OUT="out",
                       LD_PRELOAD=FAILING)
            read, write = os.pipe()
            with subprocess.Popen(program_of(command), cwd=self.folder, pass_fds=[write],
                                  env=dict(env, FAILING_FD=str(write)), stdin=subprocess.DEVNULL) as server:
                os.close(write)
                with os.fdopen(read) as lines_of:
                    lines += [json.loads(line) for line in lines_of]
        return lines


def in_libfyaml(trial):
    """libfyaml 0.7 looks at neither piece of memory that it takes for a text (tree.c asks before whether there is
    some); what dies there, and nothing else, is not ours."""
    calls = [symbol for _, _, symbol in trial["frames"]]
    return any(calls[i:i + 3] == ["fy_input_create", "fy_parse_input_append", "fy_parser_set_string"]
               for i in range(3))


def verdict(name, trial, usual):
    if all(trial[key] == usual[key] for key in ("status", "answer")):
        return "same"
    if (trial["status"] == 2 or name == "up" and trial["status"] == 1) and WORD.search(trial["said"]):
        return "told"  # 1: a program was refused, by a fabric that goes on
    # Links grow as a run goes on, in whatever thread: nobody could be answered there (docs/library.md).
    if name == "library" and trial["status"] == -6 and GROWS.search(trial["said"]):
        return "told"
    return "libfyaml" if in_libfyaml(trial) else "wrong"


def places(frames):
    """The calls that led to the allocation, of ours by file and line."""
    said = []
    for file, offset, symbol in frames:
        if "rocelab" in os.path.basename(file):
            said.append(subprocess.run(["addr2line", "-sfpe", file, hex(offset - 1)], capture_output=True, text=True,
                                       check=False).stdout.strip())
        else:
            said.append(f"{symbol or hex(offset)} ({os.path.basename(file)})")
    return said


def outcome(status):
    return {-1000: "hangs"}.get(status, f"signal {-status}" if status < 0 else f"exit {status}")


def processor_s():
    return sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])


def look(harness, name, arguments, choose):
    """One verb; how many trials came out how."""
    begun = processor_s()
    command = arguments
    twice = harness.run(command, [0, 0])
    usual = twice[1]
    if len(twice) != 2 or any(twice[0][key] != usual[key] for key in ("status", "answer")):
        print(f"{name}: two runs without a failure differ: {twice}")
        return collections.Counter(wrong=1)
    trials = choose(name, usual["count"])
    lines = harness.run(command, trials)
    counts = collections.Counter(verdict(name, line, usual) for line in lines)
    counts["wrong"] += len(trials) - len(lines)
    print(f"{name}: {usual['count']} allocations, exit {usual['status']}; {len(trials)} trials: {counts['same']} same, "
          f"{counts['told']} told, {counts['libfyaml']} died in libfyaml, {counts['wrong']} wrong; "
          f"{processor_s() - begun:.1f} s of a processor", flush=True)
    alike = collections.defaultdict(list)
    for line in lines:
        if verdict(name, line, usual) == "wrong":
            alike[(outcome(line["status"]), tuple(map(tuple, line["frames"])))].append(line)
    for (how, frames), wrong in sorted(alike.items(), key=lambda item: -len(item[1])):
        print(f"  {name} {how}: {len(wrong)} times, --at {wrong[0]['at']}: {wrong[0]['said'][:200]!r}")
        for place in places(frames):
            print(f"      {place}")
    return counts


def chooser(options, seed):
    def choose(name, count):
        rng = random.Random(seed)
        if options.at:
            return [options.at]
        if not options.whole and name != "library":  # the program ends by itself, a library has to answer: all of it
            return sorted(rng.sample(range(1, count + 1), min(FEW if name in LONG else PART, count)))
        return list(range(1, count + 1)) if count < MOST else sorted(rng.sample(range(1, count + 1), SAMPLED))
    return choose


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("ROCELAB_SEED", "30")))
    parser.add_argument("--at", type=int)
    parser.add_argument("name", nargs="*", default=list(VERBS))
    options = parser.parse_args()
    print(f"seed {options.seed}")
    total = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        env = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "NO_COLOR", "LANG")}
        env.update(LC_ALL="C.UTF-8", XDG_RUNTIME_DIR=folder, MALLOC_PERTURB_="165",
                   ROCELAB_EXPERIMENTS=os.path.join(folder, "experiments"))
        for file, text in FILES.items():
            (pathlib.Path(folder) / file).parent.mkdir(exist_ok=True)
            (pathlib.Path(folder) / file).write_text(text, encoding="utf-8")
        (pathlib.Path(folder) / "out").mkdir()
        for line in MADE:
            command, into = line.split(" > ")
            with open(pathlib.Path(folder) / into, "wb") as out:
                subprocess.run([DUMPS if "--as" in command else PROGRAM, *command.split()], cwd=folder, stdout=out, env=env, check=True)
        harness = Harness(folder, env)
        for name in options.name:
            total += look(harness, name, VERBS[name], chooser(options, options.seed))
    print(f"{sum(total.values())} trials: {total['same']} same, {total['told']} told, "
          f"{total['libfyaml']} died in libfyaml, {total['wrong']} wrong")
    return 1 if total["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
