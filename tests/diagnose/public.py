#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `rocelab diagnose` says of real outputs from public threads, held against what their index says should be answered.

    tests/diagnose/public.py PROGRAM [FOLDER]

FOLDER (default: ../shared/data/dumps-public) has a folder a case and INDEX.md, whose tables say of each: CAUSE, CANNOT, NOTNET or
HEALTHY, or two of them, or that a text may stay unread.  Whether the right cause is named is for people: they read the table that is
printed.  Counted by machine: false all-clears (`clear`, where neither HEALTHY nor NOTNET is allowed), healthy ones that are blamed
(a cause in the network), causes that are asked for and not answered with one."""
import collections
import json
import pathlib
import re
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parents[3] / "shared" / "data" / "dumps-public"
WORDS = ("CAUSE", "CANNOT", "NOTNET", "HEALTHY", "NOTREAD")
UNREAD = "not-read"


def index(folder):
    """Case: the words that its row begins with.  Words in the sentences behind the colon are no answers."""
    asked = {}
    for line in (folder / "INDEX.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if len(cells) < 6 or not (folder / cells[0]).is_dir():
            continue
        answer = cells[-1]
        asked[cells[0]] = {word for word in WORDS if re.search(rf"\b{word}\b", answer.split(":")[0])}
        if re.search(r"\bor NOTREAD said clearly", answer):
            asked[cells[0]].add("NOTREAD")
    return asked


class Answer:
    """What is said of a folder or file."""

    def __init__(self, program, path):
        done = subprocess.run([program, "diagnose", "--json", str(path)], stdin=subprocess.DEVNULL, capture_output=True, check=False)
        self.status = done.returncode
        self.said = done.stderr.decode(errors="replace").strip()
        document = json.loads(done.stdout) if done.stdout else {}
        self.answer = document.get("answer", UNREAD)
        self.because = document.get("because", "")
        self.not_network = document.get("not_the_network", False)
        self.asks = document.get("asks", [])
        self.standing = document.get("standing", [])
        self.causes = [found for found in document.get("findings", []) if found["severity"] != "info" and found["consequence_of"] is None]

    def network_is_blamed(self):
        return self.answer == "cause" and not self.not_network

    def line(self):
        causes = "; ".join(f"{one['rule']} {one['cause']} {one['culprit']} ({one['confidence']})" for one in self.causes[:3])
        return causes or self.because or self.said.splitlines()[-1][:160] if causes or self.because or self.said else ""


def verdict(asked, got):
    """"": what machines can see of it is right."""
    if got.answer == "clear" and not asked & {"HEALTHY", "NOTNET"}:
        return "false all-clear"
    if got.network_is_blamed() and "HEALTHY" in asked:
        return "healthy blamed"
    if got.network_is_blamed() and not asked & {"CAUSE"}:
        return "blamed"
    if got.answer == UNREAD:
        return "" if "NOTREAD" in asked else "not read"
    if got.answer == "not-enough" and not asked & {"CANNOT"}:
        return "no cause" if asked & {"CAUSE", "NOTNET"} else "no all-clear"
    return ""


def judge(program, folder=FOLDER):
    """Case: (what is asked, the answer, what is wrong with it)."""
    judged = {}
    for case, asked in index(folder).items():
        got = Answer(program, folder / case)
        judged[case] = asked, got, verdict(asked, got)
    return judged


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else FOLDER
    if not (folder / "INDEX.md").exists():
        print(f"{folder}: not here")
        return 77
    judged = judge(program, folder)
    for case, (asked, got, wrong) in judged.items():
        print(f"{case:40} {'/'.join(word for word in WORDS if word in asked):22} {got.status} {got.answer:10} {wrong:16} {got.line()}")
    counts = collections.Counter(wrong or "as asked, as far as machines see" for _, _, wrong in judged.values())
    for what, count in sorted(counts.items(), key=lambda pair: -pair[1]):
        print(f"{count:4} {what}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
