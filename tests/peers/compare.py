#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints ours beside other simulators': compare.py [--seeds N] [--case NAME]... FOLDER...

A FOLDER is laid out as recorded runs of the HPCC authors' ns-3 fork, of uet-htsim or of TCP on ns-3: a folder a case,
and `inputs` beside the cases; or it is one case, or holds such folders.  Which peer made a case is told by its files.  ROCELAB names
the program.  Exit status 1: something differs too much, or could not be run; 2: no case was found.
"""
import argparse
import pathlib
import sys

import hpcc_ns3
import ns3_tcp
import uet_htsim
from common import CannotRun

PEERS = (hpcc_ns3, uet_htsim, ns3_tcp)


def cases(folder):
    """(the peer's script, the folder with the inputs, the case) of a folder, or of all that it holds."""
    peer = next((peer for peer in PEERS if peer.is_case(folder)), None)
    if peer:
        yield peer, folder.resolve().parent, folder
        return
    for below in sorted(path for path in folder.iterdir() if path.is_dir() and path.name != "inputs"):
        yield from cases(below)


def show(case, row):
    ours = f"{row.ours:,.6g}" if row.low == row.high else f"{row.low:,.6g} to {row.high:,.6g}"
    print(f"{case:<38} {row.what:<15} {ours:>20} {row.theirs:>14,.6g} {row.difference:>8.2%} {row.limit:>6.1%}  "
          f"{'agrees' if row.good else 'DIFFERS'}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, help="runs of ours a case (default: as the peer's script says)")
    parser.add_argument("--case", action="append", help="only this case; may be repeated")
    parser.add_argument("folder", nargs="+", type=pathlib.Path)
    given = parser.parse_args()
    for folder in given.folder:
        if not folder.is_dir():
            parser.error(f"{folder}: no such folder")
    found = missed = left_out = 0
    print(f"{'case':<38} {'figure':<15} {'ours':>20} {'theirs':>14} {'differ':>8} {'limit':>6}  verdict")
    for peer, root, case in (each for folder in given.folder for each in cases(folder)):
        if given.case and case.name not in given.case:
            continue
        found += 1
        try:
            for row in peer.rows(root, case, given.seeds):
                missed += not row.good
                show(case.name, row)
        except (CannotRun, RuntimeError, OSError, LookupError, ValueError, AttributeError) as error:
            left_out += 1
            print(f"{case.name:<38} NOT RUN: {error or type(error).__name__}", flush=True)
    print(f"{found} cases; {missed} figures differ, {left_out} cases could not be run.")
    if not found:
        print("compare.py: no case was found", file=sys.stderr)
        return 2
    return 1 if missed or left_out else 0


if __name__ == "__main__":
    sys.exit(main())
