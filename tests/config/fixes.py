#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: fixes.py [SYSTEM ...] [--seed N] [--count N] [--texts FOLDER] [--json] [--examples N] [--bad N]

Judges `rocelab diff --fix` by models of the devices.  A configuration is imported, one thing of it drifts at random, the commands
that are printed are applied to the model of the drifted device, and what is then in force is compared with what was approved.
SYSTEM is nxos, eos, junos, nvue, sonic or host (all).  COUNT changes are shared among the systems.  FOLDER has further
configurations, in a folder for each system.  ROCELAB is the program.  Exit status: 1 if more fixes than --bad (0) did harm or did
not work.

What a fix comes to, worst first:
    lossless off   at some moment a port is without a pause, no-drop class, mark or map that it had and is to have
    else changed   a setting that was right is not right any more, or a line of no concern is gone
    undefined      the device refuses a reference to what is not there
    invalid        the device refuses a command
    not converged  the drift, or some of it, is still there
    not seen       diff says that nothing differs
    refused        no commands but the reason
    converged      all is as approved; by as many statements as are counted"""
import argparse
import collections
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
os.environ.setdefault("ROCELAB", "rocelab")
import single_texts
import test_host_mistakes
import test_nvue_mistakes
import test_sonic_mistakes
from devices.base import Outcome, Refused
from devices.eos import Eos
from devices.host import Host
from devices.junos import Junos
from devices.nvue import Nvue
from devices.nxos import Nxos
from devices.sonic import Sonic
from devices.texts import TEXTS

SYSTEMS = {"nxos": Nxos, "eos": Eos, "junos": Junos, "nvue": Nvue, "sonic": Sonic, "host": Host}
VERDICTS = ("lossless off", "else changed", "undefined", "invalid", "not converged", "not seen", "refused", "converged")
GOOD = ("refused", "converged")


def own_texts(system):
    """Those of the tests beside, by name."""
    beside = {"nxos": {"pod3-leaf2.cfg": single_texts.NXOS}, "eos": {"row7-leaf1.cfg": single_texts.EOS},
              "junos": {"q5240-4.txt": single_texts.JUNOS},
              "nvue": {"explicit.txt": test_nvue_mistakes.EXPLICIT, "roce.txt": test_nvue_mistakes.ROCE},
              "sonic": {"leaf1.json": test_sonic_mistakes.written(test_sonic_mistakes.leaf())[0].split("\n")},
              "host": {"loops.sh": test_host_mistakes.GOOD.split("\n")}}[system]
    return {name: "\n".join(lines).rstrip("\n") + "\n" for name, lines in beside.items()} | TEXTS[system]


def texts_of(system, folder):
    found = own_texts(system)
    for path in sorted((folder / system).iterdir()) if folder and (folder / system).is_dir() else ():
        found[path.name] = path.read_text(encoding="utf-8", errors="replace")
    return found


class Judge:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def rocelab(self, *arguments):
        return subprocess.run([self.program, *arguments], cwd=self.folder, capture_output=True, text=True, check=False, timeout=120)

    def approved(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")
        return self.rocelab("import", name, "--quiet")

    def same(self, name, approved):
        """Does nothing of the text differ from its own import?"""
        (self.folder / "approved.yaml").write_text(approved, encoding="utf-8")
        return self.rocelab("diff", "approved.yaml", name, "--quiet").returncode == 0

    def judged(self, device, name, commands, approved):
        """A change's outcome; None for one that the device does not take, or that does nothing."""
        drifted, goal = device.copy(), device.effective()
        try:
            drifted.by_patch = False
            drifted.begin("")
            for command in drifted.statements(commands):
                drifted.take(command)
        except Refused:
            return None
        if drifted.commit() or drifted.effective() == goal:
            return None
        drifted.by_patch = True
        (self.folder / "approved.yaml").write_text(approved, encoding="utf-8")
        (self.folder / name).write_text(drifted.text(), encoding="utf-8")
        seen = self.rocelab("diff", "approved.yaml", name, "--quiet")
        fix = self.rocelab("diff", "approved.yaml", name, "--fix", "--quiet")
        found = {"drift": seen.stdout, "fix": fix.stdout, "told": fix.stderr, "statements": 0, "flags": [], "why": ""}
        if fix.returncode not in (0, 1, 2):
            return found | {"verdict": "invalid", "why": f"exit status {fix.returncode}"}
        if fix.returncode == 2 or fix.returncode == 1 and not fix.stdout.strip() and fix.stderr.strip():
            return found | {"verdict": "refused", "why": (fix.stderr.strip().splitlines() or [""])[-1]}
        if not fix.stdout.strip():
            return found | {"verdict": "not seen", "why": seen.stdout.strip()}
        return found | self.outcome(device, drifted, goal, fix.stdout) | {"after": self.after(drifted, name)}

    def after(self, drifted, name):
        (self.folder / name).write_text(drifted.text(), encoding="utf-8")
        return self.rocelab("diff", "approved.yaml", name, "--quiet").stdout

    @staticmethod
    def outcome(device, drifted, goal, commands):
        start, others = drifted.effective(), drifted.others()
        became = Outcome(drifted, commands, goal)
        final = drifted.effective()
        flags = {}
        if became.gaps:
            flags["lossless off"] = became.gaps[0]
        broken = [key for key in start.keys() | goal.keys() | final.keys()
                  if start.get(key) == goal.get(key) and final.get(key) != goal.get(key)]
        if broken:
            key = min(broken, key=repr)
            flags["else changed"] = f"{' '.join(map(str, key))}: {goal.get(key)} became {final.get(key)} ({len(broken)} settings)"
        elif drifted.others() != others:
            flags["else changed"] = f"lines: {sorted(set(others) ^ set(drifted.others()))[:3]}"
        for refused in became.refused:
            flags.setdefault("undefined" if refused.kind == "undefined" else "invalid", str(refused))
        left = [key for key in start.keys() | goal.keys() if start.get(key) != goal.get(key) and final.get(key) != goal.get(key)]
        if left:
            key = min(left, key=repr)
            flags["not converged"] = f"{' '.join(map(str, key))}: {final.get(key)}, approved {goal.get(key)} ({len(left)} settings)"
        verdict = next((one for one in VERDICTS if one in flags), "converged")
        return {"verdict": verdict, "why": flags.get(verdict, ""), "flags": sorted(flags), "statements": became.statements,
                "same text": sorted(drifted.text().splitlines()) == sorted(device.text().splitlines())}


def measured(judge, system, folder, rng, count):
    """`count` changes of a system's texts in turn."""
    ready = []
    for name, text in texts_of(system, folder).items():
        try:
            device = SYSTEMS[system](text)
        except (ValueError, IndexError, KeyError):
            continue
        approved, changes = judge.approved(name, device.text()), device.changes()
        if approved.returncode == 0 and changes and judge.same(name, approved.stdout):
            ready.append((name, device, approved.stdout, changes))
    tries, bound = 0, 40 * len(ready) + 20 * count
    while ready and count and tries < bound:
        name, device, approved, changes = ready[tries % len(ready)]
        tries += 1
        kind = rng.choice(sorted({one for one, _ in changes}))
        commands = rng.choice([one for each, one in changes if each == kind])
        found = judge.judged(device, name, commands, approved)
        if found:
            count -= 1
            yield {"system": system, "text": name, "class": kind, "change": commands} | found


def table(results):
    rows = []
    for system in [one for one in SYSTEMS if any(each["system"] == one for each in results)] + ["all"]:
        mine = [one for one in results if system in (one["system"], "all")]
        counts = collections.Counter(one["verdict"] for one in mine)
        lengths = sorted(one["statements"] for one in mine if one["verdict"] not in ("not seen", "refused"))
        rows.append([system, str(len(mine)), *(str(counts[one]) for one in VERDICTS),
                     f"{statistics.median(lengths):g}" if lengths else "-", str(lengths[-1]) if lengths else "-"])
    head = ["system", "changes", *VERDICTS, "median", "most"]
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    return "\n".join("  ".join(cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths)))
                     for row in [head, *rows])


def examples(results, count):
    for verdict in VERDICTS[:5]:
        for one in [each for each in results if each["verdict"] == verdict][:count]:
            yield f"{verdict}: {one['system']} {one['text']}, {one['class']}: {' / '.join(one['change'].split(chr(10))).strip(' /')}"
            yield f"    {one['why']}"
            lines = one["fix"].strip().splitlines()
            yield from (f"    | {line[:150]}" for line in lines[:8])
            if len(lines) > 8:
                yield f"    | ... {len(lines)} lines"


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n", maxsplit=1)[0].removeprefix("usage: "))
    parser.add_argument("systems", nargs="*", choices=[*SYSTEMS, []], default=[])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--texts", type=pathlib.Path)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--examples", type=int, default=0)
    parser.add_argument("--bad", type=int, default=0)
    chosen = parser.parse_args()
    systems, results = chosen.systems or list(SYSTEMS), []
    program = os.path.abspath(os.environ["ROCELAB"]) if os.sep in os.environ["ROCELAB"] else os.environ["ROCELAB"]
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge(program, pathlib.Path(folder))
        for i, system in enumerate(systems):
            share = chosen.count * (i + 1) // len(systems) - chosen.count * i // len(systems)
            results += measured(judge, system, chosen.texts, random.Random(f"{system} {chosen.seed}"), share)
    if chosen.json:
        json.dump({"seed": chosen.seed, "results": results}, sys.stdout, indent=1)
        print()
    else:
        print(table(results))
        print("\n".join(examples(results, chosen.examples)), end="\n" if chosen.examples else "")
    return 0 if sum(one["verdict"] not in GOOD for one in results) <= chosen.bad else 1


if __name__ == "__main__":
    sys.exit(main())
