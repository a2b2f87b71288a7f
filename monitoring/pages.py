# SPDX-License-Identifier: Apache-2.0
"""The pages of docs/runbooks, made from runbooks.py, and from the alerts and the rules of a diagnosis that lead to each."""
import re
import textwrap

import alerts
import runbooks

COLUMNS = 100
MADE = "Made, in the sources, by `monitoring/make.py` from `src/diagnose/runbooks.def` and `monitoring/runbooks.py`"


def wrapped(text, first="", rest=""):
    return textwrap.fill(text, COLUMNS, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False)


def commands(by_system):
    """An indented block: a line for each system, in one order everywhere; a long one goes on below behind a semicolon."""
    width = max(len(name) for name in runbooks.SYSTEMS.values())
    lines = []
    for key, name in runbooks.SYSTEMS.items():
        line = f"    {name:{width}} "
        for part in re.split(r"(?<=;) ", by_system.get(key, "")):
            if part and len(line) + 1 + len(part) > COLUMNS and line.strip() not in ("", name):
                lines.append(line)
                line = " " * (4 + width + 1)
            line += " " + part
        if key in by_system:
            lines.append(line)
    return lines


def names(found):
    return ", ".join(found) if found else "none"


def listed(found):
    """In a sentence."""
    return " and ".join(part for part in (", ".join(found[:-1]), found[-1]) if part)


def rules_for(runbook):
    return sorted(rule for rule, ids in runbooks.rules_of().items() if runbook in ids)


def alerts_for(runbook):
    return [alert[0] for alert in alerts.ALERTS if alert[3] == runbook]


def page(runbook, team, title):
    """One runbook."""
    text = runbooks.TEXTS[runbook]
    raised = alerts_for(runbook)
    lines = [f"# {runbook}: {title}", "", wrapped(text["symptom"]), "",
             wrapped(f"Owner: {team} team. Rules: {names(rules_for(runbook))}; [alerts](../alerts.md): {names(raised)}."),
             "", "## First three commands", ""]
    for number, (question, by_system, read) in enumerate(text["look"], 1):
        lines += [wrapped(f"**{number}. {question}**"), "", *commands(by_system), "", wrapped(read), ""]
    lines += ["## Decision", "", *(wrapped(f"**{condition}**: {action}.", "- ", "  ") for condition, action in text["decide"]), ""]
    if "commands" in text:
        what, by_system = text["commands"]
        lines += [f"{what}:", "", *commands(by_system), ""]
    clears = f"Then {listed(raised)} clear{'s' if len(raised) == 1 else ''}." if raised else ""
    lines += ["## Undo", "", wrapped(text["undo"]), "", "## Over when", "", wrapped(f"{text['over']} {clears}".strip()), ""]
    return "\n".join(lines)


def index():
    lines = ["# Runbooks", "", wrapped(f"What to do, one page a runbook. {MADE}; a finding of `rocelab diagnose`, an alert and a panel of a dashboard name the page."), "",
             *(wrapped(f"{team}: {what}.", "- ", "  ") for team, what in alerts.TEAMS.items()), "",
             wrapped("In the commands a port is Ethernet12 (SONiC), ethernet 1/4 (NX-OS), Ethernet4/1 (EOS), swp4 (Cumulus), eth0 with the RDMA device mlx5_0 (host), and "
                     "priority 3 is the lossless one: write yours instead. `fabric.yaml` is the fabric file, `approved.yaml` the approved one, `configs/` the configurations "
                     "of the devices as they run, `dumps/` what was collected from them (`dumps/TIME/DEVICE/*.txt`). A semicolon separates commands. Commands that only look come first; what "
                     "changes something stands under Decision. Options of systems differ between versions; ask with `?` where one is refused."), "",
             "With the owner, the rules and the alerts that lead there:", ""]
    for runbook, team, title in runbooks.listed():
        lines.append(wrapped(f"[{runbook}: {title}]({runbook}.md): {team}; {names(rules_for(runbook))}; {names(alerts_for(runbook))}", "- ", "  "))
    return "\n".join(lines) + "\n"


def made():
    """Every page of docs/runbooks: {name: text}."""
    return {"README.md": index(), **{f"{runbook}.md": page(runbook, team, title) for runbook, team, title in runbooks.listed()}}
