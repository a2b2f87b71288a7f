#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""For CI: fails when a program of a script takes longer, in virtual time, than it did.

    virtual_time.py FABRIC SCRIPT TIMES.json           compare; exit status 1 if a program is slower, or fails
    virtual_time.py --write FABRIC SCRIPT TIMES.json   keep the times of this run

Times are of the fabric and not of the machine, so there is no noise to allow for: --allow is for changes that are meant
(default 1 %).  ROCELAB names the program to run.
"""
import argparse
import json
import os
import subprocess
import sys


def measure(fabric, script):
    """Each program's virtual time in picoseconds, by host and command."""
    run = subprocess.run([os.environ.get("ROCELAB", "rocelab"), "up", fabric, "--script", script, "--json"],
                         stdout=subprocess.PIPE, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"{script}: rocelab up ended with status {run.returncode}")
    return {f"{program['host']}: {' '.join(program['argv'])}": program["end_ps"] - program["start_ps"]
            for program in json.loads(run.stdout)["programs"]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--allow", type=float, default=1, metavar="PERCENT")
    parser.add_argument("fabric")
    parser.add_argument("script")
    parser.add_argument("times")
    options = parser.parse_args()
    now = measure(options.fabric, options.script)
    if options.write:
        with open(options.times, "w", encoding="utf-8") as to:
            json.dump(now, to, indent=1)
            to.write("\n")
        return 0
    with open(options.times, encoding="utf-8") as kept:
        before = json.load(kept)
    slower = 0
    for name, time in now.items():
        growth = 100 * (time / before[name] - 1) if name in before else 0
        slower += growth > options.allow
        print(f"{time / 1e9:10.3f} ms  {growth:+7.2f} %  {name}{'  SLOWER' if growth > options.allow else ''}")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
