# SPDX-License-Identifier: Apache-2.0
"""Runs of the cases as OpenMetrics, and as input of `promtool test rules`."""
import json
import os
import pathlib
import re
import subprocess

PROGRAM = os.environ["ROCELAB"]
MONITORING = pathlib.Path(os.environ["ROCELAB_SOURCE"]) / "monitoring"
RULES = MONITORING / "prometheus" / "rocelab.rules.yml"
EPOCH = 1767225600
STEP = 10 # seconds of the stretched clock, and microseconds of virtual time


def openmetrics(case, folder):
    """The run's metrics, every 10 us, a microsecond stretched to a second; answers the file."""
    path = pathlib.Path(folder) / f"{case.name}.om"
    done = subprocess.run([PROGRAM, "sim", "--quiet", *case.options, "--counters", f"openmetrics={path}", "--series", f"{STEP}us", str(case.path)],
                          capture_output=True, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{case.name}: {done.stderr.decode()}")
    return path


def samples(path):
    """(name, labels, value, time) of every sample."""
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if line[0] != "#":
                metric, value, time = line.rsplit(" ", 2)
                name, labels = metric.split("{", 1)
                yield name, "{" + labels, value, float(time)


def names_in(*files):
    """Metrics that rules or dashboards ask for."""
    return {name for path in files for name in re.findall(r"\b(?:rocelab|rdma)_[a-z0-9_]+", path.read_text(encoding="utf-8"))}


def input_series(path):
    """The samples that rules look at, as `promtool test rules` reads them: a value a step, `_` where there is none."""
    wanted, series, last = names_in(RULES), {}, 0
    for name, labels, value, time in samples(path):
        if name in wanted:
            step = round((time - EPOCH) / STEP)
            series.setdefault(name + labels, {})[step] = value
            last = max(last, step)
    result = []
    for name, values in series.items():
        if len(set(values.values())) == 1 and len(values) > 1:
            text = f"_x{min(values)-1} {values[min(values)]}+0x{last-min(values)}" if min(values) > 0 else f"{values[0]}+0x{last}"
        else:
            text = " ".join(values.get(step, "_") for step in range(last + 1))
        result.append({"series": name, "values": text})
    return result, last * STEP


def expectations(case, end):
    """What must have fired by the end of the run, and what must not."""
    fired = 'ALERTS{alertstate="firing"%s}[1d]'
    names = "|".join(sorted(case.alerts))

    def test(selector, expected):
        samples_ = [{"labels": f'{{alertname="{name}"}}', "value": 1} for name in sorted(expected)]
        return {"expr": f"group by (alertname) (max_over_time({fired % selector}))", "eval_time": f"{end}s", "exp_samples": samples_}

    if not case.alerts:
        return [test("", [])]
    return [test(f', alertname=~"{names}"', case.alerts), test(f', severity="critical", alertname!~"{names}"', [])]


def rules_test(cases_, folder):
    """A file for `promtool test rules` that holds the rules to the cases; JSON is YAML."""
    tests = []
    for case in cases_:
        series, end = input_series(openmetrics(case, folder))
        tests.append({"interval": f"{STEP}s", "name": case.name, "input_series": series, "promql_expr_test": expectations(case, end)})
    path = pathlib.Path(folder) / "cases.yml"
    path.write_text(json.dumps({"rule_files": [str(RULES)], "evaluation_interval": f"{STEP}s", "tests": tests}), encoding="utf-8")
    return path
