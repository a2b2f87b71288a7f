#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs `rocelab validate --quick` on every fabric of fabrics.py and prints the table: which phases failed, which should have.

`plan.py [WORD]...` takes those whose names have one of the words.  Exit 1 when one is judged otherwise than it says.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from fabrics import BROKEN, GOOD, operated

BROKEN_PHASES = "1,2,3,4"  # those of failures and operation say nothing of a fabric that is wrong as it stands
ALL_PHASES = "1,2,3,4,5,6"


def judge(folder, name, text, phases):
    path = pathlib.Path(folder, "fabric.yaml")
    path.write_text(text, encoding="utf-8")
    result = subprocess.run([os.environ["ROCELAB"], "validate", str(path), "--quick", "--phase", phases, "--json"],
                            capture_output=True, text=True, check=False)
    if not result.stdout:
        sys.exit(f"{name}: {result.stderr}")
    return json.loads(result.stdout)["rows"]


def main(words):
    good = [(name, operated(text), set(), set(), "") for name, text in GOOD]
    wrong = right = 0
    with tempfile.TemporaryDirectory(prefix="rocelab-plan-") as folder:
        for name, text, must, may, why in good + BROKEN:
            if words and not any(word in name for word in words):
                continue
            rows = judge(folder, name, text, BROKEN_PHASES if must else ALL_PHASES)
            failed = {row["phase"] for row in rows if row["verdict"] == "fail"}
            fits = must <= failed <= must | may
            right += fits
            wrong += not fits
            phases = ",".join(map(str, sorted(failed))) or "-"
            print(f"{'ok   ' if fits else 'WRONG'} {name:36} failed {phases:8} must {','.join(map(str, sorted(must))) or '-':6} "
                  f"{'may ' + ','.join(map(str, sorted(may))) + ': ' + why if may else ''}", flush=True)
            if not fits:
                for row in rows:
                    if row["verdict"] == "fail":
                        print(f"        {row['phase']} {row['test']}: {row['subject']}: {row['value']} {row['formula']} {row['why']}")
    print(f"{right} judged as they should be, {wrong} otherwise")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
