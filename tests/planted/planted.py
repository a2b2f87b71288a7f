#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Plants bugs, one at a time, and sees whether the tests find them.

usage: planted.py [--list first|fresh|llr|cbfc|all] [--only NAME ...] [--count N] [--keep] [--show]

The tree is copied once; for each bug one text is replaced, the swarm is built from the copy and run over so many
seeds (4000) or until it finds something.  A bug counts as found when the swarm says so, crashes or hangs.  Ends
with 1 when fewer than 90 % were found, or when the tree without a bug does not pass.

The lists are in bugs.py: `first` was known to those who wrote the swarm's checks, `fresh` was not; `llr` and `cbfc` are
judged by tests of their machines and by the swarm of systems, over so many seeds (60).  --show names the bugs of a list, and ends with 1 where one cannot be planted any more."""
import argparse
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from bugs import JUDGES, LISTS

HANGS_S = 150  # several times what 4000 seeds take
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def copy_tree(to):
    skip = shutil.ignore_patterns(".git", "build", "build-*", "__pycache__", "pcaps")
    shutil.copytree(ROOT, to, ignore=skip, dirs_exist_ok=True)


def build(tree, targets):
    built = subprocess.run(["ninja", "-C", str(tree / "build"), "-j2"] + targets, capture_output=True, text=True)
    return built.returncode == 0, built.stdout + built.stderr


def judged(tree, targets, count):
    """(found, what it said): by the first of the targets that fails"""
    for target in targets:
        found, said = judge(tree, target, count)
        if found:
            return True, f"{target.split('/')[-1]}: {said}"
    return False, said


def judge(tree, target, count):
    command = [str(tree / "build" / target)]
    if "swarm/" in target:
        command += ["--count", str(count)] + (["--quiet"] if target.endswith("/swarm") else [])
    # Processor time: on a loaded machine a run that merely waits must not count as one that hangs.
    ran = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (HANGS_S, HANGS_S + 5)))
    if ran.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return True, "hangs"
    if ran.returncode == 0:
        return False, ran.stdout.strip().split("\n")[-1]
    if not target.endswith("/swarm"):
        said = [line for line in (ran.stdout + ran.stderr).splitlines() if "broken" in line or "rror" in line]
        return True, said[0].strip()[:200] if said else f"ends with {ran.returncode}"
    lines = [line for line in ran.stderr.splitlines() if line.startswith("swarm: seed")]
    checks = [line for line in ran.stderr.splitlines() if "check failed" in line.lower() or "CHECK" in line]
    said = lines[0].removeprefix("swarm: ") if lines else f"ends with {ran.returncode}"
    if "a CHECK" in said and checks:
        said = said.split(": broken")[0] + ": " + checks[0].strip()
    return True, said


def plant(tree, bug):
    path = tree / bug["file"]
    text = path.read_text()
    if text.count(bug["old"]) != 1:
        sys.exit(f"planted.py: {bug['name']}: its text is {text.count(bug['old'])} times in {bug['file']}")
    path.write_text(text.replace(bug["old"], bug["new"]))
    return path, text


def show(bugs):
    stale = [bug for bug in bugs if (ROOT / bug["file"]).read_text().count(bug["old"]) != 1]
    for bug in bugs:
        print(f"{bug['name']:28} {bug['file']:28} {'STALE: ' if bug in stale else ''}{bug['what']}")
    return 1 if stale else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--count", type=int)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--list", choices=sorted(LISTS), default="first")
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    targets = JUDGES.get(options.list, ["tests/swarm/swarm"])
    count = options.count or (60 if options.list in JUDGES else 4000)
    bugs = [bug for bug in LISTS[options.list] if not options.only or bug["name"] in options.only]
    if options.show:
        return show(bugs)
    tree = pathlib.Path(tempfile.mkdtemp(prefix="planted-"))
    copy_tree(tree)
    subprocess.run(["meson", "setup", str(tree / "build"), str(tree), "-Dtests=true", "-Dwerror=false",
                    "-Dbuildtype=plain", "-Dc_args=-O1"], check=True, stdout=subprocess.DEVNULL)
    good, said = build(tree, targets)
    if not good:
        sys.exit("planted.py: the tree does not build:\n" + said[-3000:])
    if not options.only:
        found, said = judged(tree, targets, count)
        print(f"{'(no bug)':28} {'FAILS' if found else 'passes'}: {said}", flush=True)
        if found:
            return 1
    found_of_all = 0
    for bug in bugs:
        path, text = plant(tree, bug)
        good, said = build(tree, targets)
        start = time.monotonic()
        found = False
        if good:
            found, said = judged(tree, targets, count)
        else:
            said = "does not build: " + said[-500:]
        path.write_text(text)
        found_of_all += found
        print(f"{bug['name']:28} {'found' if found else 'NOT FOUND'} in {time.monotonic() - start:.1f} s: {said}",
              flush=True)
    print(f"{found_of_all} of {len(bugs)} found")
    if not options.keep:
        shutil.rmtree(tree)
    return 0 if found_of_all * 10 >= len(bugs) * 9 else 1


if __name__ == "__main__":
    sys.exit(main())
