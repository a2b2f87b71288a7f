# SPDX-License-Identifier: Apache-2.0
"""What is served over HTTP: every route, and what is refused.

Nothing here waits for a time: a request is answered when there is something, and a run is stopped when it was seen."""
import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

from support import PATIENCE_S, PROGRAM, SOURCE, Case, environment, patience, rocelab

SMALL = SOURCE / "examples" / "incast.yaml"
# It runs until it is interrupted: however late somebody looks, it still runs.
ENDLESS = b"""rocelab: 1
fabric: endless
topology: {single: {hosts: 4}}
links: {host: {rate: 100G, cable: 5m}}
jobs: [{incast: 3, size: 1TB}]
"""
PAIR = b"rocelab: 1\nfabric: pair\ntopology: {single: {hosts: 2}}\nlinks: {host: {rate: 100G, cable: 5m}}\n"
ROUTES = ("/", "/metrics", "/api/state.json", "/healthz")


def has_server():
    return "without libmicrohttpd" not in rocelab("serve", "--listen", "192.0.2.1:0").stderr


class Served:
    """A run of the program that serves; its address is read from what it says."""

    def __init__(self, *arguments, runtime=None):
        self.out = tempfile.TemporaryFile()  # not a pipe: nobody reads while it runs
        self.process = subprocess.Popen([PROGRAM, *map(str, arguments), "--listen", "127.0.0.1:0"], stdout=self.out,
                                        stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                        env=environment(**({"XDG_RUNTIME_DIR": runtime} if runtime else {})))
        with patience("the line that says where it is served"):
            said = self.process.stderr.readline().decode()
        found = re.fullmatch(r"serving at http://127\.0\.0\.1:(\d+)/\n", said)
        if not found:
            self.process.kill()
            raise AssertionError(said + self.process.communicate()[1].decode())
        self.port = int(found.group(1))

    def ask(self, path, method="GET", host=None, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        with contextlib.closing(connection):
            connection.request(method, path, body=body, headers={"Host": host} if host else {})
            answer = connection.getresponse()
            return answer, answer.read().decode()

    def state(self):
        return json.loads(self.ask("/api/state.json")[1])

    def until_ended(self):
        """The line that says so."""
        with patience("the line that says that it has ended"):
            return self.process.stderr.readline().decode()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        if not self.out.closed:
            try:
                self.errors = self.process.communicate(timeout=PATIENCE_S)[1].decode()
            except subprocess.TimeoutExpired:
                self.process.kill()
                raise
            self.out.seek(0)
            self.printed = self.out.read().decode()
            self.out.close()
        return self.process.returncode, self.printed, self.errors


@unittest.skipUnless(PROGRAM and has_server(), "this rocelab was built without libmicrohttpd")
class Serve(Case):
    def served(self, *arguments, runtime=None):
        served = Served(*arguments, runtime=runtime)
        self.addCleanup(served.stop)
        return served

    def endless(self):
        return self.served("sim", "--serve", self.file("endless.yaml", ENDLESS))

    def test_every_route_of_a_run_that_has_ended(self):
        served = self.served("sim", "--serve", SMALL)
        self.assertIn("has ended", served.until_ended())
        for path in ROUTES:
            answer, text = served.ask(path)
            self.assertEqual(answer.status, 200, path)
            self.assertTrue(text)
            self.assertEqual(answer.headers["X-Content-Type-Options"], "nosniff")
            self.assertIn("default-src 'none'", answer.headers["Content-Security-Policy"])
            self.assertIn("frame-ancestors 'none'", answer.headers["Content-Security-Policy"])
            self.assertNotIn("Access-Control-Allow-Origin", answer.headers)
            head, nothing = served.ask(path, "HEAD")
            self.assertEqual((head.status, head.headers["Content-Length"], nothing),
                             (200, str(len(text.encode())), ""), path)
        self.assertEqual(served.ask("/healthz")[1], "ok\n")
        self.assertIn("connect-src 'self'", served.ask("/")[0].headers["Content-Security-Policy"])
        state = served.state()
        status, out, _ = served.stop()
        self.assertEqual(status, 0)
        self.assertIn(state["digest"], out)

    def test_the_run_is_the_same(self):
        alone = json.loads(rocelab("sim", "--json", SMALL).stdout)
        served = self.served("sim", "--json", "--serve", SMALL)
        served.state()
        served.until_ended()
        shown = served.state()
        document = json.loads(served.stop()[1])
        for key in ("digest", "state", "virtual_ps", "jobs", "ports", "nics"):
            self.assertEqual(document[key], alone[key], key)
            self.assertEqual(shown[key], alone[key], key)
        self.assertIn("series", shown)

    def test_a_run_is_seen_while_it_runs(self):
        served = self.endless()
        first = served.state()
        second = served.state()
        with patience("virtual time to pass"):
            while second["virtual_ps"] == first["virtual_ps"]:
                second = served.state()
        self.assertEqual((first["state"], second["state"]), ("running", "running"))
        self.assertGreater(second["virtual_ps"], first["virtual_ps"])
        answer, text = served.ask("/metrics")
        with patience("metrics"):
            while answer.status == 503:  # a busy machine has made none yet
                answer, text = served.ask("/metrics")
        self.assertIn("rocelab_sim_virtual_seconds", text)
        status, _, errors = served.stop()
        self.assertEqual(status, 2)
        self.assertIn("interrupted", errors)

    def test_listeners_are_told(self):
        served = self.endless()
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", served.port, timeout=PATIENCE_S)) as connection:
            connection.request("GET", "/api/events")
            answer = connection.getresponse()
            self.assertEqual(answer.headers["Content-Type"], "text/event-stream")
            told = []
            with patience("two events"):
                while len(told) < 2:
                    line = answer.readline().decode()
                    self.assertTrue(line, "the stream ended")
                    told += [line] if line.startswith("event:") else []
            self.assertEqual(told, ["event: state\n"] * 2)

    def test_listeners_are_told_of_the_last(self):
        served = self.served("sim", "--serve", SMALL)
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", served.port, timeout=PATIENCE_S)) as connection:
            connection.request("GET", "/api/events")
            answer, line = connection.getresponse(), "begin"
            with patience("the last event"):
                while "last" not in line or json.loads(line[len("data: "):]) != {"last": True}:
                    line = answer.readline().decode()
                    self.assertTrue(line, "the stream ended")

    def test_it_ends_with_the_run_where_that_is_asked(self):
        served = self.served("sim", "--serve-until-done", SMALL)
        served.process.wait(timeout=PATIENCE_S)
        status, out, errors = served.stop()
        self.assertEqual((status, errors), (0, ""))
        self.assertIn("digest", out)

    def test_what_is_refused(self):
        served = self.served("serve")
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH"):
            answer, text = served.ask("/metrics", method, body="x" * 100000 if method == "PUT" else None)
            self.assertEqual((answer.status, answer.headers["Allow"]), (405, "GET, HEAD"), method)
            self.assertIn("read only", text)
        for path in ("/nothing", "/metrics/", "/../etc/passwd", "//metrics", "/api/"):
            answer, text = served.ask(path)
            self.assertEqual(answer.status, 404, path)
            self.assertIn("/api/state.json", text)
        for host in ("evil.example", "evil.example:9791", "localhost.evil.example", "127.0.0.1.evil.example", "9791",
                     "localhost:80a", "192.0.2.1", "[::1", "localhost:"):
            for path in ROUTES:
                self.assertEqual(served.ask(path, host=host)[0].status, 421, (host, path))
        for host in ("localhost", "LOCALHOST:1", "127.0.0.1:80", "127.0.0.2", "[::1]:9791"):
            self.assertEqual(served.ask("/healthz", host=host)[0].status, 200, host)

    def raw(self, served, request):
        with socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE_S) as connection:
            connection.sendall(request)
            return connection.recv(64).decode()

    def test_odd_requests(self):
        served = self.served("serve")
        self.assertIn(" 421 ", self.raw(served, b"GET / HTTP/1.0\r\n\r\n"))
        self.assertIn(" 4", self.raw(served, b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 20000 + b"\r\n\r\n"))
        self.assertEqual(served.ask("/healthz")[1], "ok\n")

    def hold(self, served, request):
        """As many connections as nobody is given, all of which have sent this and take nothing; a byte now and then, so
        that none is silent."""
        held = []
        for _ in range(300):
            client = socket.socket()
            self.addCleanup(client.close)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.settimeout(PATIENCE_S)
            client.connect(("127.0.0.1", served.port))
            client.sendall(request)
            client.setblocking(False)
            held.append(client)
        over = threading.Event()

        def trickle():
            while not over.wait(1):
                for client in held:
                    with contextlib.suppress(OSError):
                        client.send(b"x")

        thread = threading.Thread(target=trickle)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(over.set)
        return held

    @staticmethod
    def is_open(client):
        try:
            while client.recv(1 << 20):
                pass
            return False
        except BlockingIOError:
            return True
        except ConnectionResetError:
            return False

    def test_nobody_holds_the_server(self):
        """Half requests, idle connections and answers that nobody takes: others are answered while most of them stay."""
        for path, request in (("/healthz", b"GET / HTTP/1.1\r\nHost: local"),
                              ("/metrics", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"),
                              ("/", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")):
            served = self.served("serve")
            held = self.hold(served, request)
            self.assertEqual(served.ask(path)[0].status, 200, request)
            still = sum(self.is_open(client) for client in held)
            self.assertGreaterEqual(still, 200, request)
            by = time.monotonic() + PATIENCE_S
            while still >= 256 and time.monotonic() < by:  # the server lets go of them beside its answers
                time.sleep(0.1)
                still = sum(self.is_open(client) for client in held)
            self.assertLess(still, 256, request)
            served.stop()

    def test_programs_of_this_machine(self):
        served = self.served("serve")
        text = served.ask("/metrics")[1]
        self.assertRegex(text, r"(?m)^# TYPE rocelab_live_adapters gauge\nrocelab_live_adapters \d+$")
        self.assertEqual(served.state()["kind"], "counters")
        self.assertEqual(served.stop()[0], 0)

    @unittest.skipUnless(shutil.which("promtool"), "no promtool here")
    def test_promtool_has_nothing_to_say(self):
        served = self.served("sim", "--serve", SMALL)
        served.until_ended()
        text = served.ask("/metrics")[1]
        result = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))

    @unittest.skipUnless(os.environ.get("ROCELAB_SOAK") and shutil.which("prometheus"), "for the soak, with a Prometheus")
    def test_prometheus_scrapes_it(self):
        served = self.endless()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        config = self.file("prometheus.yml", b"scrape_configs:\n  - job_name: rocelab\n    scrape_interval: 1s\n"
                           b"    static_configs: [{targets: ['127.0.0.1:%d']}]\n" % served.port)
        process = subprocess.Popen(["prometheus", f"--config.file={config}", f"--storage.tsdb.path={self.folder}/data",
                                    f"--web.listen-address=127.0.0.1:{port}"], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)

        def ask(query):
            try:
                with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
                    connection.request("GET", "/api/v1/query?query=" + query)
                    return json.loads(connection.getresponse().read()).get("data", {}).get("result", [])
            except (ConnectionError, json.JSONDecodeError):  # it is still beginning
                return []

        for _ in range(120):
            if len(ask("count_over_time(rocelab_sim_virtual_seconds[1m])>1")) == 1:
                break
            time.sleep(1)
        self.assertEqual([one["value"][1] for one in ask("up")], ["1"])
        self.assertEqual(len(ask("count_over_time(rocelab_sim_virtual_seconds[1m])>1")), 1)
        self.assertEqual(len(ask("rocelab_link_tx_line_bytes_total")), len(served.state()["ports"]))

    def test_up_and_a_fabric_that_is_up(self):
        """`up --serve` shows a fabric to which no program has come yet; `serve --fabric` the same fabric from outside."""
        with tempfile.TemporaryDirectory() as runtime:
            up = self.served("up", "--serve", "--name", "shown", self.file("pair.yaml", PAIR), runtime=runtime)
            beside = self.served("serve", "--fabric", "shown", runtime=runtime)
            for served in (up, beside):
                document = served.state()
                self.assertEqual((document["fabric"], len(document["nics"])), ("pair", 2))
                self.assertIn('rocelab_link_up{', served.ask("/metrics")[1])
                self.assertIn("<html", served.ask("/")[1])
            self.wrong(rocelab("serve", "--fabric", "other", env=environment(XDG_RUNTIME_DIR=runtime)), "no fabric 'other' is up")
            self.assertEqual(up.stop()[0], 2)
            self.assertIn("the fabric has ended", beside.until_ended())
            self.assertEqual(beside.process.wait(timeout=PATIENCE_S), 0)

    def test_where_it_cannot_listen(self):
        served = self.served("serve")
        for verb in (["serve"], ["sim", "--serve", SMALL], ["up", "--serve", SMALL]):
            self.wrong(rocelab(*verb, "--listen", f"127.0.0.1:{served.port}"), str(served.port), "another program")
        self.wrong(rocelab("serve", "--listen", "192.0.2.1:0"), "192.0.2.1", "not an address of this machine")
        for wrong in ("example.org", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:http", "1.2.3", "[::1", "-1", ":x"):
            self.wrong(rocelab("serve", "--listen", wrong), "--listen", "127.0.0.1:9791")

    def test_what_does_not_go_together(self):
        self.wrong(rocelab("sim", "--listen", "127.0.0.1:0", SMALL), "--serve")
        self.wrong(rocelab("sim", "--serve", "--seeds", "2", SMALL), "--seeds")
        self.wrong(rocelab("serve", "there"), "there")
        self.wrong(rocelab("serve", "--fabric", "no-such-fabric"), "no-such-fabric")


if __name__ == "__main__":
    unittest.main()
