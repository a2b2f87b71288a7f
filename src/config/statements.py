#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of docs/config-*.md that are made of the lists of statements in this folder.

    statements.py [PAGE...]

A table below a line <!--statements:SYSTEM/NAME--> is that of SYSTEM/NAME.def; `*` is a word, `#` a number.
"""
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
DOCS = HERE.parents[1] / "docs"


def table(name):
    rows = []
    text = (HERE / f"{name}.def").read_text(encoding="utf-8")
    for pattern, means in re.findall(r'^STATEMENT\(\w+, "([^"]*)", "((?:[^"\\]|\\.)*)"', text, re.M):
        if means:
            rows.append([[], means.replace('\\"', '"')])
        rows[-1][0].append(f"`{pattern}`")
    return "".join(f"| {', '.join(patterns)} | {means} |\n" for patterns, means in rows)


def main():
    for path in map(pathlib.Path, sys.argv[1:] or sorted(DOCS.glob("config-*.md"))):
        text = path.read_text(encoding="utf-8")
        path.write_text(re.sub(r"(<!--statements:([\w/]+)-->\n\n(?:\|[^\n]*\n){2})(?:\|[^\n]*\n)*",
                               lambda found: found.group(1) + table(found.group(2)), text), encoding="utf-8")


if __name__ == "__main__":
    main()
