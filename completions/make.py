#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Completions for bash, zsh and fish, from what the program says of its verbs and their options.

    make.py DIRECTORY ROCELAB...

ROCELAB is the program, and before it what runs it where this machine cannot: its `help --json` has the lists of src/cli.
"""
import json
import pathlib
import re
import subprocess
import sys

FILES = {"FILE", "FABRIC", "PORT=FILE"}
DIRECTORIES = {"DIR", "FOLDER"}
NO_FABRIC = {"capture", "import", "init", "diagnose"}  # these take files, and no example: of what is installed the program says
LISTED = "help examples 2>/dev/null | sed -n 's/^  example:\\([^ ]*\\).*/\\1/p'"
FISH_LISTED = r"(rocelab help examples 2>/dev/null | string replace -rf '^  (example:\S+).*' '\$1')"
TOPICS = {"suggest": ["ecn", "headroom", "buffers", "watchdog", "all"]}  # the first operand of these


def ask(program, *verb):
    return json.loads(subprocess.run([*program, "help", "--json", *verb], stdout=subprocess.PIPE, check=True).stdout)


def words(option):
    return [word for word in re.split(r"[ ,]+", option.get("words", "")) if word and word != "or"]


def short(option):
    """What help says until it becomes particular."""
    return re.split(r"; | \(|, as in|: docs/", option["help"])[0]


def takes_files(verb):
    return re.search(r"FILE|FABRIC|INPUT|RUNNING", verb["operands"]) is not None


def takes_examples(name, verb):
    return takes_files(verb) and name not in NO_FABRIC


def values_of(option, files, directories, listed):
    """What a shell offers for the option's value."""
    if words(option):
        return listed(words(option))
    argument = option["argument"]
    return files if argument in FILES else directories if argument in DIRECTORIES else ""


def bash(verbs, common, topics):
    lines = ["# bash completion for rocelab: made by completions/make.py", "_rocelab()", "{",
             '    local cur prev own="" words="" how="" common="' + " ".join("--" + o["name"] for o in common) + '"',
             f'    local verbs="{" ".join(verbs)}"',
             "    cur=${COMP_WORDS[COMP_CWORD]}", "    prev=${COMP_WORDS[COMP_CWORD - 1]}", "    COMPREPLY=()",
             '    if [ "$COMP_CWORD" -eq 1 ]; then',
             '        mapfile -t COMPREPLY < <(compgen -W "$verbs --help --version" -- "$cur")', "        return", "    fi",
             '    case "${COMP_WORDS[1]} $prev" in']
    alike = {}
    for name, verb in verbs.items():
        for option in verb["own"]:
            if "argument" in option:
                how = values_of(option, "-f", "-d", lambda listed: f"-W '{' '.join(listed)}'") or "none"
                alike.setdefault(how, []).append(f"'{name} --{option['name']}'")
    for how, options in alike.items():
        lines.append("    " + " | ".join(options) + ")")
        lines.append(f'        how="{how}" ;;')
    lines += ["    esac", "    case ${COMP_WORDS[1]} in"]
    for name, verb in verbs.items():
        operands = "-W '" + " ".join([*verbs, *topics]) + "'" if name == "help" else "-c" if name == "run" else \
            "-f" if takes_files(verb) else "none"
        own = " ".join("--" + option["name"] for option in verb["own"])
        lines.append(f"    {name}) own='{own}' words=\"{operands}\" ;;")
    lines += ["    *) return ;;", "    esac",
              '    if [ -z "$how" ]; then', "        case $cur in", '        -*) how="-W \'$own $common\'" ;;',
              "        *) how=$words ;;", "        esac", "    fi", '    case $how in', "    none) return ;;",
              "    -f | -d) compopt -o filenames ;;", "    esac",
              "    case ${COMP_WORDS[1]} in", "    " + " | ".join(name for name, verb in verbs.items() if takes_examples(name, verb)) + ")",
              '        if [ "$cur" = : ] || [ "$prev" = : ]; then  # a colon divides words', '            cur=${cur#:}',
              '            mapfile -t COMPREPLY < <(compgen -W "$("${COMP_WORDS[0]}" ' + LISTED + ')" -- "$cur")', "            return", "        fi ;;", "    esac",
              '    mapfile -t COMPREPLY < <(eval "compgen $how" -- \'"$cur"\')',
              "    case ${COMP_WORDS[1]}:$how in", "    " + " | ".join(f"{name}:-f" for name, verb in verbs.items() if takes_examples(name, verb)) + ")",
              "        case example: in", '        "$cur"*) COMPREPLY+=(example:); [ ${#COMPREPLY[@]} -gt 1 ] || compopt -o nospace ;;', "        esac ;;", "    esac", "}", "", "complete -F _rocelab rocelab"]
    return lines


def zsh(verbs, common, topics):
    def quoted(text):
        return text.replace("'", r"'\''")

    def option_line(option):
        text = re.sub(r"([\[\]])", r"\\\1", short(option))
        value = ""
        if "argument" in option:
            value = ":" + option["argument"].replace(":", r"\:") + ":" + \
                values_of(option, "_files", "_files -/", lambda listed: f"({' '.join(listed)})")
        many = "*" if "may be repeated" in option["help"] or option["name"] in ("vary", "with") else ""
        return quoted(f"{many}--{option['name']}[{text}]{value}")

    lines = ["#compdef rocelab", "# zsh completion for rocelab: made by completions/make.py", "_rocelab_fabrics() {", "    local -a examples",
             '    examples=("example:"${^${(f)"$(rocelab ' + LISTED + ')"}})', "    _files", "    compadd -a examples", "}", "_rocelab() {",
             "    local -a verbs common", "    verbs=("]
    lines += [f"        '{name}:{quoted(verb['help'])}'" for name, verb in verbs.items()]
    lines += ["    )", "    common=("] + [f"        '{option_line(option)}'" for option in common]
    lines += ["    )", "    if (( CURRENT == 2 )); then", "        _describe -t verbs verb verbs",
              "        _arguments '--help[list the verbs]' '--version[print the version]'", "        return", "    fi",
              "    local verb=$words[2]", "    shift words", "    (( CURRENT-- ))", "    case $verb in"]
    for name, verb in verbs.items():
        arguments = [f"'{option_line(option)}'" for option in verb["own"]]
        if name in TOPICS:
            arguments.append(f"'1:topic:({' '.join(TOPICS[name])})'")
        if name == "run":
            arguments.append("'*::program:_normal'")
        elif name == "help":
            arguments.append(f"'1:verb:({' '.join([*verbs, *topics])})'")
        elif takes_files(verb):
            arguments.append("'*:file:" + ("_rocelab_fabrics'" if takes_examples(name, verb) else "_files'"))
        lines += [f"    {name})"] + [" \\\n            ".join(["        _arguments $common"] + arguments), "        ;;"]
    return lines + ["    esac", "}", "", '_rocelab "$@"']


def fish(verbs, common, topics):
    def quoted(text):
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

    def option_line(condition, option):
        value = ""
        if "argument" in option:
            value = values_of(option, "-r ", "-x -a '(__fish_complete_directories)' ",
                              lambda listed: f"-x -a '{' '.join(listed)}' ") or "-x "
        return f"complete -c rocelab -n \"{condition}\" -l {option['name']} {value}-d {quoted(short(option))}"

    lines = ["# fish completion for rocelab: made by completions/make.py", f"set -l verbs {' '.join(verbs)}",
             "complete -c rocelab -f"]
    none = 'not __fish_seen_subcommand_from $verbs'
    lines += [f"complete -c rocelab -n \"{none}\" -a {name} -d {quoted(verb['help'])}" for name, verb in verbs.items()]
    lines += [f"complete -c rocelab -n \"{none}\" -l version -d 'print the version'",
              'complete -c rocelab -n "__fish_seen_subcommand_from help" -a "$verbs ' + " ".join(topics) + '"']
    lines += [option_line("__fish_seen_subcommand_from $verbs", option) for option in common]
    for name, verb in verbs.items():
        seen = f"__fish_seen_subcommand_from {name}"
        if takes_files(verb) or name == "run":
            lines.append(f'complete -c rocelab -n "{seen}" -F')
        if takes_examples(name, verb):
            lines.append(f'complete -c rocelab -n "{seen}" -a "{FISH_LISTED}"')
        if name in TOPICS:
            lines.append(f'complete -c rocelab -n "{seen}" -a \'{" ".join(TOPICS[name])}\'')
        lines += [option_line(seen, option) for option in verb["own"]]
    return lines


def main():
    folder, program = pathlib.Path(sys.argv[1]), sys.argv[2:]
    help_ = ask(program)
    verbs = {verb["name"]: dict(verb, **ask(program, verb["name"])) for verb in help_["verbs"]}
    common = verbs["version"]["options"]  # which has no others
    for verb in verbs.values():
        verb["own"] = verb["options"][:len(verb["options"]) - len(common)]
    for name, make in (("rocelab", bash), ("_rocelab", zsh), ("rocelab.fish", fish)):
        (folder / name).write_text("\n".join(make(verbs, common, help_["topics"])) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
