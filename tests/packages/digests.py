#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The stored digests of the simulator (tests/sim/digests.txt), from the program itself.

    digests.py PROGRAM...

PROGRAM is rocelab as it is installed, and before it what runs it where this machine cannot.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "sim"))
import digests


def digest(program, path, threads):
    result = subprocess.run([*program, "sim", "--json", "--threads", str(threads), str(path)], capture_output=True, text=True,
                            check=False)
    if result.returncode not in (0, 1):
        sys.exit(f"{path}: exit status {result.returncode}\n{result.stderr}")
    return json.loads(result.stdout)["digest"]


def main(program):
    stored = dict(reversed(line.split("  ", 1)) for line in digests.GOLDEN.read_text(encoding="utf-8").splitlines())
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, (text, small, _)) in enumerate(digests.FABRICS.items()):
            path = pathlib.Path(folder) / f"fabric{number}.yaml"
            path.write_text("rocelab: 1\nfabric: digest\n" + text.replace("SIZE", small), encoding="utf-8")
            said = {threads: digest(program, path, threads) for threads in (1, 3)}
            if set(said.values()) != {stored[name]}:
                wrong += 1
                print(f"{name}: digests by threads {said}, stored is {stored[name]}")
    print(f"{len(digests.FABRICS)} fabrics, {wrong} with another digest")
    return 1 if wrong or not digests.FABRICS else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
