#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Manual pages, with what the program says of its verbs and their options where a page has a mark for it.

    make.py DIRECTORY ROCELAB...

DIRECTORY is where they are written; ROCELAB is the program, with what runs it before it where it is of another machine: its `help --json` has the lists of src/cli.  Marks are lines: OPTIONS, VERBS, TOPICS or SEE ALSO in a comment.
"""
import json
import pathlib
import re
import subprocess
import sys


def ask(program, *verb):
    return json.loads(subprocess.run([*program, "help", "--json", *verb], stdout=subprocess.PIPE, check=True).stdout)


def sentences(text):
    """Text as mdoc has it: a line a sentence, nothing that a formatter would take for its own."""
    text = text[:1].upper() + text[1:] + ("" if text.endswith((".", "?")) else ".")
    text = text.replace("\\", "\\e").replace("--", "\\-\\-")
    return [re.sub(r"^([.'])", r"\\&\1", line) for line in re.sub(r"(?<=[a-z0-9)])([.?]) (?=[A-Z])", r"\1\n", text).split("\n")]


def options(verb):
    lines = [".Bl -tag -width Fl"]
    for option in verb["options"]:
        argument = f" Ar {option['argument']}" if "argument" in option else ""
        lines += [f".It Fl Fl {option['name']}{argument}", *sentences(option["help"])]
    return lines + [".El"]


def verbs(program):
    lines = [".Bl -tag -width experiments"]
    for verb in program["verbs"]:
        lines += [f".It Cm {verb['name']}", *sentences(verb["help"])]
        if verb["name"] not in ("help", "version"):
            lines += ["See", f".Xr rocelab-{verb['name']} 1 ."]
    return lines + [".El"]


def topics(program):
    return ["Topics of", ".Cm help", "are", *(f".Cm {name} ," for name in program["topics"][:-1]), "and", f".Cm {program['topics'][-1]} ."]


def see_also(program):
    pages = [f".Xr rocelab-{name} 1" for name in sorted(verb["name"] for verb in program["verbs"]) if name not in ("help", "version")]
    return [page + " ," for page in pages[:-1]] + pages[-1:]


def main():
    folder, program = pathlib.Path(sys.argv[1]), sys.argv[2:]
    whole = ask(program)
    for page in sorted(pathlib.Path(__file__).parent.glob("*.1")):
        verb = page.stem.partition("-")[2]
        marks = {"OPTIONS": lambda verb=verb: options(ask(program, verb or "version")), "VERBS": lambda: verbs(whole), "TOPICS": lambda: topics(whole),
                 "SEE ALSO": lambda: see_also(whole)}
        lines = []
        for line in page.read_text(encoding="utf-8").splitlines():
            mark = re.fullmatch(r'\.\\" ([A-Z ]+)', line)
            lines += marks[mark.group(1)]() if mark and mark.group(1) in marks else [line]
        (folder / page.name).write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
