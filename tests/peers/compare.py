#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints ours beside the HPCC authors' simulator's: compare.py [SEEDS], 20 unless said.

ROCELAB names the program.  ROCELAB_SHARED, where set, names the folder with the recorded runs (data/peers/hpcc-ns3);
without it the inputs are made here and the figures are those of peers.py.  Exit status 1: something differs too much.
"""
import sys

import peers


def main():
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    missed = 0
    print(f"{'case':<26} {'figure':<10} {'ours':>13} {'theirs':>13} {'differ':>8} {'limit':>6}  verdict")
    for name, case in peers.CASES.items():
        for case_name, what, our, their, difference, limit in peers.rows(name, case, seeds):
            good = difference <= limit
            missed += not good
            print(f"{case_name:<26} {what:<10} {our:>13,.0f} {their:>13,.0f} {difference:>8.2%} {limit:>6.1%}  "
                  f"{'agrees' if good else 'DIFFERS'}")
    print(f"Times in ns; means over {seeds} seeds where anything is drawn. {missed} differ.")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
