# SPDX-License-Identifier: Apache-2.0
"""What is made for Prometheus is what Prometheus, Alertmanager and their tools take; and alerts fire on the cases they are for.

By itself: three cases, in a real Prometheus that is filled with them, in the middle of a run of ten times its length.  With ROCELAB_SOAK every
case: by `promtool test rules`, and in a real Prometheus whose clock goes through the runs, ten times faster than they are stretched; every expression of
the dashboards is asked there.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import runs
import servers
from cases import cases

SOAK = os.environ.get("ROCELAB_SOAK") == "1"
QUICK = {"C01-storm-watchdog": "rocelab_switch_watchdog_detected_total", "C06-headroom": "rocelab_switch_drops_total", "H01-permutation": None}
FASTER = 10
AHEAD = float(os.environ.get("ROCELAB_AHEAD", "300")) # seconds in which a Prometheus is filled with all runs, and starts: more, where that is too few


def case_of(name):
    return next(case for case in cases() if case.name == name)


def first_change(path, name):
    """When a counter grows first, in seconds after the run's begin."""
    before = {}
    for metric, labels, value, at in runs.samples(path):
        if metric == name and float(value) > before.setdefault(labels, float(value)):
            return at - runs.EPOCH
    raise ValueError(f"{path}: {name} does not grow")


def judge(test, case, fired):
    """Fired: {alert: severity}."""
    test.assertLessEqual(case.alerts, set(fired), (case.name, fired))
    test.assertEqual({name for name, severity in fired.items() if severity == "critical"} - case.alerts, set(), case.name)
    if not case.alerts:
        test.assertEqual(fired, {}, case.name)


def expressions():
    for path in sorted((runs.MONITORING / "grafana").glob("*.json")):
        for panel in json.loads(path.read_text(encoding="utf-8"))["panels"]:
            for target in panel["targets"]:
                yield path.stem, panel["title"], target["expr"]


def filled(expression, fabric):
    for name in ("job", "device", "priority"):
        expression = expression.replace(f"${name}", ".*")
    return expression.replace("$fabric", fabric)


class Made(unittest.TestCase):
    def test_what_is_installed_is_made_from_the_lists(self):
        page = pathlib.Path(os.environ["ROCELAB_SOURCE"]) / "docs" / "alerts.md"
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, str(runs.MONITORING / "make.py"), runs.PROGRAM, "--into", folder], check=True)
            for path in sorted(pathlib.Path(folder).glob("*/*")):
                here = runs.MONITORING / path.relative_to(folder)
                self.assertEqual(here.read_text(encoding="utf-8"), path.read_text(encoding="utf-8"), f"run monitoring/make.py ROCELAB: {here}")
            self.assertEqual({path.name for path in runs.MONITORING.glob("*/*.*") if "__" not in str(path)},
                             {path.name for path in pathlib.Path(folder).glob("*/*")})
        sys.path.insert(0, str(runs.MONITORING))
        import make # pylint: disable=import-outside-toplevel
        text = page.read_text(encoding="utf-8")
        self.assertEqual(text, make.page(text), "run monitoring/make.py ROCELAB")

    def test_a_metric_that_is_none_is_refused(self):
        sys.path.insert(0, str(runs.MONITORING))
        import make # pylint: disable=import-outside-toplevel
        self.assertEqual(make.names_in('sum by (rocelab_x) (rate(rocelab_a_total{b="rocelab_c"}[1m])) / on (fabric) rocelab:d:ratio > 0'),
                         {"rocelab_a_total", "rocelab:d:ratio"})
        known = make.catalogue(runs.PROGRAM)
        del known["rocelab_link_up"]
        with self.assertRaises(SystemExit):
            make.check(known)


@unittest.skipIf(servers.missing(), f"not here: {', '.join(servers.missing())}")
class Tools(unittest.TestCase):
    def test_promtool_and_amtool(self):
        with tempfile.TemporaryDirectory() as folder:
            exposition = subprocess.run([runs.PROGRAM, "sim", "--counters", "prometheus", str(case_of("C12-hot-optics").path)],
                                        stdout=subprocess.PIPE, check=True).stdout
            servers.create_blocks(runs.openmetrics(case_of("C12-hot-optics"), folder), f"{folder}/data")
            checked = subprocess.run(["promtool", "check", "metrics"], input=exposition, capture_output=True, check=False)
            self.assertEqual((checked.returncode, checked.stdout + checked.stderr), (0, b""))
            for command in (["promtool", "check", "rules", runs.RULES], ["promtool", "check", "config", runs.MONITORING / "prometheus" / "prometheus.yml"],
                            ["amtool", "check-config", runs.MONITORING / "prometheus" / "alertmanager.yml"]):
                done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_rules_by_promtool(self):
        """The rule engine goes through the runs: `for` and recorded rules included."""
        chosen = cases() if SOAK else [case_of(name) for name in QUICK]
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(["promtool", "test", "rules", str(runs.rules_test(chosen, folder))], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout[-4000:] + done.stderr[-4000:])


@unittest.skipUnless(shutil.which("promtool"), "promtool is not installed (Debian: prometheus)")
class Missing(unittest.TestCase):
    def test_a_counter_that_is_not_there_counts_nothing(self):
        """CNPs that nobody handled, and a paused queue that never sent, have no counter in some exporters."""
        def series(name, labels, values):
            return {"series": f'{name}{{fabric="f",{labels}}}', "values": values}

        def queue(port):
            return f'switch="leaf0",port="leaf0:{port}",priority="3"'

        paused, sent = "rocelab_switch_rx_pause_seconds_total", "rocelab_switch_tx_bytes_total"
        given = [series("rdma_np_cnp_sent_total", 'device="h0"', "0+100x120")]
        given += [series(paused, queue(port), "0+10x120") for port in (1, 2, 3)]
        given += [series(sent, queue(2), "0+1000x120"), series(sent, queue(3), "7x120")]
        fired = [('{alertname="CnpLost"}', 1), ('{alertname="PauseStorm", port="leaf0:1"}', 1), ('{alertname="PauseStorm", port="leaf0:3"}', 1)]
        test = {"rule_files": [str(runs.RULES)], "evaluation_interval": "10s", "tests": [{"interval": "10s", "input_series": given, "promql_expr_test": [
            {"expr": 'count by (alertname, port) (ALERTS{alertstate="firing",alertname=~"PauseStorm|CnpLost"})', "eval_time": "15m",
             "exp_samples": [{"labels": labels, "value": value} for labels, value in fired]}]}]}
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "test.yml"
            path.write_text(json.dumps(test))
            done = subprocess.run(["promtool", "test", "rules", str(path)], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


@unittest.skipIf(servers.missing(), f"not here: {', '.join(servers.missing())}")
class Real(unittest.TestCase):
    def test_three_cases(self):
        """Rules are ten times slower than usual, so that what fires does so for ten minutes, however slow this machine is."""
        with tempfile.TemporaryDirectory() as folder:
            here = servers.Servers(folder, 0.1)
            paths = [(runs.openmetrics(case_of(name), folder), counter) for name, counter in QUICK.items()]
            now = time.time()
            here.fill([(path, now - (first_change(path, counter) + 20 if counter else 600)) for path, counter in paths], 1)
            try:
                here.start()
                due = {(name, alert) for name in QUICK for alert in case_of(name).alerts}
                here.wait(lambda: due <= here.listener.told, f"delivery of {due}")
                here.wait(lambda: due <= {(fabric, alert) for fabric, alerts in here.fired().items() for alert in alerts}, f"{due}")
                fired = here.fired()
                for name in QUICK:
                    judge(self, case_of(name), fired.get(name, {}))
                self.assertEqual({team for team, label in here.listener.teams if team != label}, set())
                for _, title, expression in expressions():
                    with self.subTest(title):
                        here.ask("query", query=filled(expression, "C06-headroom"))
            finally:
                here.stop()

    def ahead(self, folder, paths):
        """Servers that were filled and ready before all runs begin, and when that is: a slow machine is given more time."""
        for number, ahead in enumerate((AHEAD, 4 * AHEAD, 16 * AHEAD)):
            (pathlib.Path(folder) / str(number)).mkdir()
            here = servers.Servers(f"{folder}/{number}", FASTER)
            begins = time.time() + ahead
            here.fill([(path, begins) for path in paths], FASTER)
            try:
                here.start()
            except BaseException:
                here.stop()
                raise
            if time.time() < begins:
                return here, begins
            here.stop()
        return self.fail(f"a Prometheus was not filled and ready in {ahead} s")

    @unittest.skipUnless(SOAK, "ROCELAB_SOAK is not 1")
    def test_every_case(self):
        """Prometheus' clock goes through all runs at once."""
        with tempfile.TemporaryDirectory() as folder:
            paths = [runs.openmetrics(case, folder) for case in cases()]
            lasts = [max(at for *_, at in runs.samples(path)) - runs.EPOCH for path in paths]
            here, begins = self.ahead(folder, paths)
            try:
                ends = begins + max(lasts) / FASTER + 10
                while time.time() < ends:
                    time.sleep(1)
                for case, last in zip(cases(), lasts): # what is seen after a run's last sample is a fabric that is gone
                    got = here.fired(begins + last / FASTER).get(case.name, {})
                    told = {alert for fabric, alert in here.listener.told if fabric == case.name}
                    print(f"{case.name}: expected {sorted(case.alerts)}, fired {sorted(got)}, delivered {sorted(told)}", flush=True)
                    with self.subTest(case.name):
                        judge(self, case, got)
                        if case.alerts:
                            self.assertTrue(told & case.alerts, told)
                self.dashboards(here, begins, ends)
            finally:
                here.stop()

    def dashboards(self, here, begins, ends):
        for board, title, expression in expressions():
            with self.subTest(f"{board}: {title}"):
                text = re.sub(r"\[(\d+)m\]", lambda match: f"[{int(match[1]) * 60000 // FASTER}ms]", expression)
                found = any(here.ask("query_range", query=filled(text, case.name), start=begins, end=ends, step=1)["result"] for case in cases())
                self.assertTrue(found, text)


if __name__ == "__main__":
    unittest.main()
