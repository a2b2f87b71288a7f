# SPDX-License-Identifier: Apache-2.0
"""The closing line of `make test`: adds up what meson logged in each build folder.

A cmocka or unittest program counts as one test here; its own output counts its cases."""
import argparse
import json
import pathlib
import sys


def tally(folder):
    log = pathlib.Path(folder, "meson-logs", "testlog.json")
    passed = failed = skipped = 0
    with log.open(encoding="utf-8") as lines:
        for line in lines:
            result = json.loads(line)["result"]
            if result in ("OK", "EXPECTEDFAIL"):
                passed += 1
            elif result == "SKIP":
                skipped += 1
            else:
                failed += 1
    return passed, failed, skipped


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--passed", type=int, default=0)
    parser.add_argument("--failed", type=int, default=0)
    options = parser.parse_args()
    passed, failed, skipped = options.passed, options.failed, 0
    for folder in options.folders:
        counts = tally(folder)
        if counts[0] == 0:
            print(f"{folder}: no test passed: was it run?", file=sys.stderr)
            failed += 1
        passed, failed, skipped = passed + counts[0], failed + counts[1], skipped + counts[2]
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
