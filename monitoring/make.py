#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: monitoring/make.py ROCELAB [--into FOLDER] [--faster N]

Makes what a monitoring system reads, and the runbooks, from lists: the catalogue of metrics (`ROCELAB counters --list --json`), alerts.py, dashboards.py,
runbooks.py with src/diagnose/runbooks.def.  Written are prometheus/{rocelab.rules,alertmanager,prometheus}.yml and grafana/*.json, the tables of docs/alerts.md
and the pages of docs/runbooks, or with --into the first two folders alone, somewhere else.  With --faster N every duration of the rules is N times shorter: for a test that cannot wait.
An expression that names a metric which the catalogue does not have is refused.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys

import alerts
import dashboards
import pages
import runbooks

HERE = pathlib.Path(__file__).resolve().parent
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
NOT_OURS = {"ALERTS"}
RUNBOOKS = "docs/runbooks"
HEAD = "# Made by monitoring/make.py from its lists; change those.\n"


def catalogue(program):
    listed = subprocess.run([program, "counters", "--list", "--json"], stdout=subprocess.PIPE, check=True).stdout
    return {metric["name"]: metric for metric in json.loads(listed)["metrics"]}


def names_in(expression):
    """Metrics and recorded names of an expression: what is followed by labels, a range or an operator, and is no label, function or word."""
    bare = re.sub(r'"[^"]*"', '""', expression)
    bare = re.sub(r"\{[^}]*\}", "", bare)
    bare = re.sub(r"\b(by|on|ignoring|group_left|group_right|without)\s*\([^)]*\)", " ", bare)
    return {name for name in re.findall(r"[a-zA-Z_:][a-zA-Z0-9_:]*(?!\s*\()", bare) if re.match(r"(rocelab|rdma|node)[_:]|ALERTS$", name)}


def check(metrics):
    known = set(metrics) | {name for name, _ in alerts.RECORDS} | NOT_OURS
    for what, expression in [(name, text) for name, text in alerts.RECORDS] + [(alert[0], alert[5]) for alert in alerts.ALERTS] + [
            (panel[0], text) for _, _, panels in dashboards.DASHBOARDS for panel in panels for text, _ in targets(panel)]:
        for name in names_in(expression) - known:
            sys.exit(f"{what}: there is no metric '{name}'")
    check_runbooks()


def check_runbooks():
    """Whatever names a runbook names one that there is, and each has its text and a team."""
    listed = {runbook: team for runbook, team, _ in runbooks.listed()}
    if set(listed) != set(runbooks.TEXTS):
        sys.exit(f"runbooks.def and runbooks.py differ in {sorted(set(listed) ^ set(runbooks.TEXTS))}")
    named = [(alert[0], alert[3]) for alert in alerts.ALERTS]
    named += [(panel[0], runbook) for _, _, panels in dashboards.DASHBOARDS for panel in panels for runbook in runbooks_of(panel)]
    named += [(rule, runbook) for rule, found in runbooks.rules_of().items() for runbook in found or [None]]
    for what, runbook in named:
        if runbook not in listed:
            sys.exit(f"{what}: there is no runbook '{runbook}'")
    for runbook, team in listed.items():
        if team not in alerts.TEAMS:
            sys.exit(f"{runbook}: there is no team '{team}'; write one of {', '.join(alerts.TEAMS)}")


def faster(text, factor):
    """Durations of an expression (in square brackets) or of `for`, in milliseconds where they are made shorter."""
    if factor == 1:
        return text

    def shorter(match):
        return f"{max(1, round(int(match[1]) * UNITS[match[2]] * 1000 / factor))}ms"

    if re.fullmatch(r"\d+[smhd]", text):
        return "0s" if text == "0s" else re.sub(r"(\d+)([smhd])", shorter, text)
    return re.sub(r"\[(\d+)([smhd])\]", lambda match: f"[{shorter(match)}]", text)


def quoted(text):
    return json.dumps(text, ensure_ascii=False)


def rules(factor):
    lines = [HEAD, "groups:", "  - name: rocelab-records", "    rules:"]
    for name, expression in alerts.RECORDS:
        lines += [f"      - record: {quoted(name)}", f"        expr: {quoted(faster(expression, factor))}"]
    lines += ["  - name: rocelab-alerts", "    rules:"]
    teams = {runbook: team for runbook, team, _ in runbooks.listed()}
    for name, severity, lasts, runbook, layer, expression, summary in alerts.ALERTS:
        lines += [
            f"      - alert: {name}",
            f"        expr: {quoted(faster(expression, factor))}",
            f"        for: {faster(lasts, factor)}",
            f"        labels: {{severity: {severity}, team: {teams[runbook]}, layer: {layer}, runbook: {runbook}}}",
            "        annotations:",
            f"          summary: {quoted('{{ $labels.fabric }}: ' + summary)}",
            f"          runbook: {quoted(f'{RUNBOOKS}/{runbook}.md')}",
        ]
    return "\n".join(lines) + "\n"


def prometheus():
    return HEAD + """# An example: a fabric that `rocelab serve` shows, and those that `promtool tsdb create-blocks-from openmetrics` has filled in.
global: {scrape_interval: 10s, evaluation_interval: 10s}
rule_files: [rocelab.rules.yml]
alerting:
  alertmanagers:
    - static_configs: [{targets: ["127.0.0.1:9093"]}]
scrape_configs:
  - job_name: rocelab
    static_configs: [{targets: ["127.0.0.1:9791"]}]
"""


def alertmanager():
    lines = [HEAD + "# An example: who owns what, and what is a consequence of what.  Replace the addresses.", "route:", "  receiver: fabric-team",
             "  group_by: [fabric, alertname]", "  group_wait: 10s", "  group_interval: 1m", "  repeat_interval: 4h", "  routes:"]
    lines += [f'    - {{matchers: ["team=\\"{team}\\""], receiver: {team}-team}}' for team in alerts.TEAMS]
    lines += ["receivers:"]
    for team, owns in alerts.TEAMS.items():
        lines += [f"  - name: {team}-team # {owns}", f'    webhook_configs: [{{url: "http://127.0.0.1:9099/{team}", send_resolved: true}}]']
    lines += ["inhibit_rules:"]
    for sources, targets_ in alerts.INHIBITS:
        lines += [f'  - source_matchers: ["alertname=~\\"{"|".join(sources)}\\""]', f'    target_matchers: ["alertname=~\\"{"|".join(targets_)}\\""]', "    equal: [fabric]"]
    return "\n".join(lines) + "\n"


def runbooks_of(panel):
    """What a panel leads to: its sixth part, if it has one."""
    return panel[5].split() if len(panel) > 5 else []


def targets(panel):
    return panel[3] if isinstance(panel[3], list) else [(panel[3], panel[4])]


def unit(metric, kind):
    if kind == "share":
        return "percentunit"
    if metric is None:
        return "short"
    per_second = {"bytes": "Bps", "seconds": "percentunit"}.get(metric["unit"], "cps")
    if kind == "rate":
        return per_second
    return {"bytes": "bytes", "seconds": "s", "C": "celsius", "per second": "Bps"}.get(metric["unit"], "short")


def panel_json(metrics, number, panel):
    heading, name, kind = panel[:3]
    metric = metrics[name] if name else None
    source = {"type": "prometheus", "uid": "${datasource}"}
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": heading,
        "description": metric["help"] if metric else "",
        "datasource": source,
        "gridPos": {"h": 8, "w": 12, "x": 12 * (number % 2), "y": 8 * (number // 2)},
        "fieldConfig": {"defaults": {"unit": unit(metric, kind), "min": 0}, "overrides": []},
        "links": [{"title": f"{runbook}: {title}", "url": f"${{runbooks}}/{runbook}.md", "targetBlank": True}
                  for runbook, _, title in runbooks.listed() if runbook in runbooks_of(panel)],
        "options": {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi", "sort": "desc"}},
        "targets": [{"refId": chr(ord("A") + i), "datasource": source, "expr": expression, "legendFormat": legend}
                    for i, (expression, legend) in enumerate(targets(panel))],
    }


def variable_json(name, query, several):
    return {"name": name, "type": "query", "datasource": {"type": "prometheus", "uid": "${datasource}"}, "definition": query,
            "query": {"query": query, "refId": name}, "refresh": 2, "sort": 1, "multi": several, "includeAll": several,
            **({"allValue": ".*", "current": {"text": "All", "value": "$__all"}} if several else {})}


def dashboard_json(metrics, uid, title, panels):
    source = {"name": "datasource", "type": "datasource", "query": "prometheus"}
    where = {"name": "runbooks", "type": "textbox", "label": "where the runbooks are", "query": RUNBOOKS, "current": {"text": RUNBOOKS, "value": RUNBOOKS}}
    return {"uid": uid, "title": title, "tags": ["rocelab"], "schemaVersion": 38, "version": 1, "editable": True, "graphTooltip": 1, "refresh": "10s",
            "time": {"from": "now-1h", "to": "now"}, "templating": {"list": [source, where] + [variable_json(*one) for one in dashboards.VARIABLES]},
            "panels": [panel_json(metrics, number, panel) for number, panel in enumerate(panels)]}


def plain(summary):
    """What an alert says, without its port or figure: PORT, PRIORITY, FIGURE."""
    summary = re.sub(r"\{\{ \$labels\.(\w+) \}\}", lambda label: label[1].upper(), summary)
    return re.sub(r"\{\{ \$value[^}]*\}\}", "FIGURE", summary)


def tables():
    """The generated part of docs/alerts.md."""
    teams = {runbook: team for runbook, team, _ in runbooks.listed()}
    lines = [pages.wrapped(f"{name} ({severity}, {lasts}, {teams[runbook]}, [{runbook}](runbooks/{runbook}.md)): {plain(summary)}.", "- ", "  ")
             for name, severity, lasts, runbook, _, _, summary in alerts.ALERTS]
    lines += ["", pages.wrapped("Recorded, for those and for the dashboards: " + ", ".join(f"`{name}`" for name, _ in alerts.RECORDS) + ".")]
    return "\n".join(lines) + "\n"


def page(text):
    begin, end = "<!-- made by monitoring/make.py -->\n", "<!-- to here -->\n"
    before, rest = text.split(begin)
    return before + begin + tables() + "\n" + end + rest.split(end)[1]


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("rocelab")
    parser.add_argument("--into", type=pathlib.Path)
    parser.add_argument("--faster", type=float, default=1)
    options = parser.parse_args()
    metrics = catalogue(options.rocelab)
    check(metrics)
    into = options.into or HERE
    (into / "prometheus").mkdir(parents=True, exist_ok=True)
    (into / "grafana").mkdir(parents=True, exist_ok=True)
    (into / "prometheus" / "rocelab.rules.yml").write_text(rules(options.faster), encoding="utf-8")
    (into / "prometheus" / "prometheus.yml").write_text(prometheus(), encoding="utf-8")
    (into / "prometheus" / "alertmanager.yml").write_text(alertmanager(), encoding="utf-8")
    for uid, title, panels in dashboards.DASHBOARDS:
        text = json.dumps(dashboard_json(metrics, uid, title, panels), indent=1) + "\n"
        (into / "grafana" / f"{uid}.json").write_text(text, encoding="utf-8")
    if options.into is None:
        doc = HERE.parent / "docs" / "alerts.md"
        doc.write_text(page(doc.read_text(encoding="utf-8")), encoding="utf-8")
        (HERE.parent / RUNBOOKS).mkdir(exist_ok=True)
        for name, text in pages.made().items():
            (HERE.parent / RUNBOOKS / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
