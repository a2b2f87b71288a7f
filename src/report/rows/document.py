#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the lists of docs/json.md that are made of the lists in this folder.

    document.py [DOCUMENT]

A list below a line <!--rows:NAME--> is that of NAME.def.
"""
import pathlib
import re
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
DOCUMENT = HERE.parents[2] / "docs" / "json.md"
COLUMNS = 100
# Which argument is the key; the help is the last.
KEY = {"ROW": 1, "COLUMN": 1, "FIXED": 0, "COLUMN_FIXED": 0, "KNOWN": 0, "SOME": 0, "MADE": 0, "WHEN": 2}


def arguments(text):
    """Of a call, at its commas."""
    parts, depth, quoted, begun = [], 0, False, 0
    for i, c in enumerate(text):
        if c == '"' and text[i - 1] != "\\":
            quoted = not quoted
        elif not quoted and c in "([{":
            depth += 1
        elif not quoted and c in ")]}":
            depth -= 1
        elif not quoted and c == "," and depth == 0:
            parts.append(text[begun:i].strip())
            begun = i + 1
    return parts + [text[begun:].strip()]


def spoken(literal):
    return "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literal)).replace('\\"', '"')


def rows(name):
    """[[keys], help] of each row of the list."""
    made = []
    text = (HERE / f"{name}.def").read_text(encoding="utf-8")
    for macro, inside in re.findall(r"^(\w+)\((.*?)\)$(?=\n[A-Z/]|\n*\Z)", text, re.M | re.S):
        if macro not in KEY:
            continue
        parts = arguments(inside)
        key = parts[KEY[macro]]
        keys = spoken(key).split(", ") if macro == "MADE" else [key]
        if spoken(parts[-1]):
            made.append([keys, spoken(parts[-1])])
        else:
            made[-1][0] += keys
    return made


def item(keys, said):
    """In lines that end in no code."""
    text = f"- {', '.join(f'`{key}`' for key in keys)}: {said}"
    whole = re.sub(r"`[^`]*`", lambda code: code.group().replace(" ", "\0"), text)
    return textwrap.fill(whole, COLUMNS, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False).replace("\0", " ") + "\n"


def main():
    path = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else DOCUMENT
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"(<!--rows:(\w+)-->\n\n)(?:[- ] [^\n]*\n)*",
                  lambda found: found.group(1) + "".join(item(*row) for row in rows(found.group(2))), text)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
