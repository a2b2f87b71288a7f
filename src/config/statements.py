#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the lists of docs/config-*.md that are made of the lists of statements in this folder.

    statements.py [PAGE...]

A list below a line <!--statements:SYSTEM/NAME--> is that of SYSTEM/NAME.def; `*` is a word, `#` a number.
"""
import pathlib
import re
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
DOCS = HERE.parents[1] / "docs"
COLUMNS = 100


def items(name):
    rows = []
    text = (HERE / f"{name}.def").read_text(encoding="utf-8")
    for pattern, means in re.findall(r'^STATEMENT\(\w+, "([^"]*)", "((?:[^"\\]|\\.)*)"', text, re.M):
        if means:
            rows.append([[], means.replace('\\"', '"')])
        rows[-1][0].append(f"`{pattern}`")
    return "".join(item(f"{', '.join(patterns)}: {means}") for patterns, means in rows)


def item(text):
    """In lines that end in no code."""
    whole = re.sub(r"`[^`]*`", lambda code: code.group().replace(" ", "\0"), f"- {text}")
    return textwrap.fill(whole, COLUMNS, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False).replace("\0", " ") + "\n"


def main():
    for path in map(pathlib.Path, sys.argv[1:] or sorted(DOCS.glob("config-*.md"))):
        text = path.read_text(encoding="utf-8")
        path.write_text(re.sub(r"(<!--statements:([\w/]+)-->\n\n)(?:[- ] [^\n]*\n)*",
                               lambda found: found.group(1) + items(found.group(2)), text), encoding="utf-8")


if __name__ == "__main__":
    main()
