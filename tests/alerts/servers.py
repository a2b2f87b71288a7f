# SPDX-License-Identifier: Apache-2.0
"""A real Prometheus and a real Alertmanager on this machine's loopback, filled with runs, and whoever is told of alerts."""
import http.server
import json
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request

from runs import EPOCH, MONITORING, PROGRAM, RULES, names_in, samples

PROGRAMS = ("promtool", "prometheus", "prometheus-alertmanager", "amtool")
PATIENCE = 240 # seconds that a server may take to answer: bounds a failure, and is no measure


def missing():
    return [name for name in PROGRAMS if shutil.which(name) is None]


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def made(folder, faster):
    """Rules and configurations, with durations so many times shorter; answers the folder prometheus/ in it."""
    subprocess.run([sys.executable, str(MONITORING / "make.py"), PROGRAM, "--into", str(folder), "--faster", str(faster)], check=True)
    return pathlib.Path(folder) / "prometheus"


def moved(path, out, begins, faster):
    """A run's samples, as far as rules or dashboards ask for them, with its clock so many times faster, and its beginning at another time."""
    wanted = names_in(RULES, *(MONITORING / "grafana").glob("*.json"))
    for name, labels, value, at in samples(path):
        if name in wanted:
            out.write(f"{name}{labels} {value if faster == 1 else shorter(name, value, faster)} {begins + (at - EPOCH) / faster:.3f}\n")


def shorter(name, value, faster):
    """What has seconds in its unit follows the clock."""
    if name.endswith(("_seconds", "_seconds_total")) or name == "rdma_roce_pfc_pause_duration_total":
        return repr(float(value) / faster)
    return repr(float(value) * faster) if name.endswith("_per_second") else value


def create_blocks(path, into):
    subprocess.run(["promtool", "tsdb", "create-blocks-from", "openmetrics", str(path), str(into)], stdout=subprocess.DEVNULL, check=True)


class Listener(http.server.ThreadingHTTPServer):
    """Takes what Alertmanager delivers: (fabric, alert) of each that fires."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.told, self.teams = set(), set()
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        document = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        for alert in document["alerts"]:
            if alert["status"] == "firing":
                self.server.told.add((alert["labels"]["fabric"], alert["labels"]["alertname"]))
                self.server.teams.add((self.path.strip("/"), alert["labels"]["team"]))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


class Servers:
    def __init__(self, folder, faster):
        self.folder, self.children = pathlib.Path(folder), []
        self.config = made(folder, faster)
        self.listener = Listener()
        self.port, self.alerts_port = free_port(), free_port()

    def fill(self, runs_, faster):
        """Runs are (file, when it begins)."""
        together = self.folder / "together.om"
        with open(together, "w", encoding="utf-8") as out:
            for path, begins in runs_:
                moved(path, out, begins, faster)
            out.write("# EOF\n")
        create_blocks(together, self.folder / "data")

    def start(self):
        alerts = self.config / "alertmanager.yml"
        text = alerts.read_text(encoding="utf-8").replace("127.0.0.1:9099", f"127.0.0.1:{self.listener.server_address[1]}")
        alerts.write_text(re.sub(r"group_wait: \w+", "group_wait: 0s", text).replace("group_interval: 1m", "group_interval: 1s"), encoding="utf-8")
        config = self.config / "prometheus.yml"
        text = config.read_text(encoding="utf-8").replace("127.0.0.1:9093", f"127.0.0.1:{self.alerts_port}")
        text = text.replace("evaluation_interval: 10s", "evaluation_interval: 1s")
        # What is recorded now is older than the end of a run that was filled in.
        config.write_text(text[:text.index("scrape_configs:")] + "storage: {tsdb: {out_of_order_time_window: 1d}}\n", encoding="utf-8")
        self.child("alertmanager", "prometheus-alertmanager", f"--config.file={alerts}", f"--storage.path={self.folder / 'am'}",
                   f"--web.listen-address=127.0.0.1:{self.alerts_port}", "--cluster.listen-address=")
        self.child("prometheus", "prometheus", f"--config.file={config}", f"--storage.tsdb.path={self.folder / 'data'}",
                   "--storage.tsdb.retention.time=100y", "--rules.alert.resend-delay=1s", f"--web.listen-address=127.0.0.1:{self.port}")
        for port in (self.alerts_port, self.port):
            self.wait(lambda: self.ready(port), f"port {port} to answer")

    def child(self, name, *command):
        with open(self.folder / f"{name}.log", "w", encoding="utf-8") as log:
            self.children.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log))

    def ready(self, port):
        if any(child.poll() is not None for child in self.children):
            logs = "".join((self.folder / f"{name}.log").read_text(encoding="utf-8")[-2000:] for name in ("alertmanager", "prometheus"))
            raise RuntimeError("a server has ended:\n" + logs)
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/-/ready", timeout=10) as answer:
                return answer.status == 200
        except OSError:
            return False

    def wait(self, done, what):
        until = time.monotonic() + PATIENCE
        while not done():
            if time.monotonic() > until:
                raise TimeoutError(f"waited {PATIENCE} s for {what}")
            time.sleep(0.2)

    def ask(self, what, **parameters):
        address = f"http://127.0.0.1:{self.port}/api/v1/{what}?" + urllib.parse.urlencode(parameters)
        with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
            document = json.loads(answer.read())
        if document["status"] != "success":
            raise RuntimeError(f"{parameters}: {document}")
        return document["data"]

    def fired(self, by=None):
        """{fabric: {alert: severity}} of what has fired, by a time or until now."""
        found = self.ask("query", query='group by (fabric, alertname, severity) (max_over_time(ALERTS{alertstate="firing"}[1d]))', time=by or time.time())
        result = {}
        for row in found["result"]:
            result.setdefault(row["metric"]["fabric"], {})[row["metric"]["alertname"]] = row["metric"]["severity"]
        return result

    def stop(self):
        for child in self.children:
            child.terminate()
        for child in self.children:
            try:
                child.wait(30)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        self.listener.shutdown()
        self.listener.server_close()
