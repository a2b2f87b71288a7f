# SPDX-License-Identifier: Apache-2.0
"""The closing lines of `make test`: the tests that took most of a processor, and what meson logged in each build folder,
added up.

A cmocka or unittest program counts as one test here; its own output counts its cases.  Seconds are a processor's, user and
system together, as tests/cpu, under which meson runs each, says them at its end: the clock's would be those of a busy machine.  A test that
took more than the limit fails, for it belongs into the soak, in part."""
import argparse
import json
import pathlib
import re
import sys

LONGEST = 8  # shown
TIMES = re.compile(r"^(\d+)m([\d.]+)s (\d+)m([\d.]+)s\s*\Z", re.M)


def results(folder):
    with pathlib.Path(folder, "meson-logs", "testlog-cpu.json").open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def seconds(result):
    """None for one that was not run under tests/cpu, or was ended from outside."""
    found = TIMES.search(result.get("stderr", ""))
    return found and sum(int(found[i]) * 60 + float(found[i + 1]) for i in (1, 3))


def tally(folder):
    passed = failed = skipped = 0
    for result in (row["result"] for row in results(folder)):
        if result in ("OK", "EXPECTEDFAIL"):
            passed += 1
        elif result == "SKIP":
            skipped += 1
        else:
            failed += 1
    return passed, failed, skipped


def longest(folders, limit_s):
    """Prints those that took longest and each folder's sum; how many took more than they may."""
    took = sorted(((seconds(row) or 0, f"{folder}: {row['name'].split(' / ')[-1]}") for folder in folders
                   for row in results(folder)), reverse=True)
    sums = [f"{folder} {sum(s for s, name in took if name.startswith(folder + ':')):.0f}" for folder in folders]
    print(f"seconds of a processor: {', '.join(sums)}; the longest:")
    for s, name in took[:LONGEST]:
        print(f"  {s:5.1f} {name}")
    long = [(s, name) for s, name in took if s > limit_s]
    for s, name in long:
        print(f"{name}: {s:.1f} s of a processor, and a test may take {limit_s:g}: the rest belongs into the soak "
              "(docs/internals/testing.md)", file=sys.stderr)
    return len(long)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--passed", type=int, default=0)
    parser.add_argument("--failed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=20, help="seconds of a processor that a test may take")
    options = parser.parse_args()
    passed, failed, skipped = options.passed, options.failed, 0
    for folder in options.folders:
        counts = tally(folder)
        if counts[0] == 0:
            print(f"{folder}: no test passed: was it run?", file=sys.stderr)
            failed += 1
        passed, failed, skipped = passed + counts[0], failed + counts[1], skipped + counts[2]
    long = longest(options.folders, options.limit)
    print(f"{passed} passed, {failed} failed, {skipped} skipped" + (f", {long} too long" if long else ""))
    return 1 if failed or long else 0


if __name__ == "__main__":
    sys.exit(main())
