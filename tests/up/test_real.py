# SPDX-License-Identifier: Apache-2.0
"""rocelab up --clock real: data is right, nothing is lost or sent again however busy the machine is, and nobody is waited for.

Nothing here is measured by the wall clock."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from support import PATIENCE_S, patience

PROGRAM = os.environ["ROCELAB"]
FABRIC = """rocelab: 1
fabric: real
topology: {leaf-spine: {leaves: 2, spines: 1, hosts: 2}}
links: {host: {rate: 10G, cable: 3m}, fabric: {rate: 10G, cable: 10m}}
nics: {mtu: 4096}
"""
SELF = """import socket, threading
listener = socket.create_server(("10.0.0.1", 29500))
def serve():
    caller, _ = listener.accept()
    while data := caller.recv(100):
        caller.sendall(data.upper())
thread = threading.Thread(target=serve)
thread.start()
caller = socket.create_connection(("10.0.0.1", 29500))
for i in range(20):
    caller.sendall(b"hello%d" % i)
    assert caller.recv(100) == b"HELLO%d" % i
caller.close()
thread.join()
print("heard")
"""
MANY = """import socket, threading
def ask(number):
    for _ in range(8):
        with socket.socket() as one:
            one.bind(("", 0))
            assert one.getsockname()[1]
threads = [threading.Thread(target=ask, args=(i,)) for i in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print("all asked")
"""


def needs(*programs):
    missing = [program for program in programs if shutil.which(program) is None]
    return unittest.skipIf(missing, f"not installed: {' '.join(missing)}")


class Real(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)
        (self.folder / "real.yaml").write_text(FABRIC, encoding="utf-8")
        runtime = self.folder / "run"
        runtime.mkdir(mode=0o700)
        self.env = dict(os.environ, XDG_RUNTIME_DIR=str(runtime), LC_ALL="C.UTF-8")

    def up(self, script, *options, status=0):
        (self.folder / "x.up").write_text(script, encoding="utf-8")
        result = subprocess.run([PROGRAM, "up", "real.yaml", "--clock", "real", "--script", "x.up", "--json", *options], cwd=self.folder,
                                env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
        self.assertEqual(status, result.returncode, result.stdout + result.stderr)
        return json.loads(result.stdout), result.stderr

    def python(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return f"{sys.executable} -E -S {path}"

    def start(self, *words):
        process = subprocess.Popen([PROGRAM, *words], cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        for last in (process.stderr.close, process.stdout.close, process.wait, process.kill): # the last is done first
            self.addCleanup(last)
        return process

    def test_a_table_of_what_ports_do(self):
        """counters --watch: the port that all send to leads by rate, is as full as its line, and marks."""
        (self.folder / "real.yaml").write_text(FABRIC + "jobs: [{incast: 3, size: 1TB, to: h0}]\n", encoding="utf-8")
        with patience("a fabric that is up"):
            self.assertIn("is up", self.start("up", "real.yaml", "--clock", "real").stderr.readline())
        self.start("run", "--fabric", "real", "--host", "h1", "--", "sleep", "3000") # with it the time begins
        table = self.start("counters", "--watch", "--sort", "rate", "--fabric", "real", "leaf0").stdout
        with patience("a port that is as full as its line"):
            for line in table:
                found = re.match(r"leaf0:0 +0% +([\d.]+)G +([\d,]+) +0 ", line)
                if found and found[2] != "0" and float(found[1]) > 9: # senders have found their rates
                    break
                self.assertRegex(line, r"^(leaf0:\d .*| .*|real at .*|)\n$")
                before = line
            else:
                self.fail("the table has ended")
        self.assertIn("marks", before) # the first row
        self.assertLessEqual(float(found[1]), 10)

    def assert_nothing_lost(self, document):
        self.assertEqual([], [port for port in document["ports"] if port.get("drops")])
        self.assertEqual(0, sum(nic["retransmitted"] for nic in document["nics"]))
        self.assertGreaterEqual(document["real_ns"], document["stood_still_ns"])


class Programs(Real):
    def test_nobody_is_waited_for(self):
        document, errors = self.up('h0: sh -c "echo one; ls / > /dev/null; exec echo two"\nh0: sleep 0.1\nh1: no-such-program\n'
                                   'h2: sh -c "exec sh -c \'exec echo deep\'"\n', status=1)
        self.assertEqual([0, 0, 127, 0], [program["exit"] for program in document["programs"]])
        self.assertEqual([True, True, False, True], [program["attached"] for program in document["programs"]])
        for line in ("h0: one", "h0: two", "h2: deep"):
            self.assertIn(line, errors)
        self.assertIn("stood_still_ns", document)

    def test_a_host_speaks_to_itself_and_threads_ask_at_once(self):
        _, errors = self.up(f"h0: {self.python('self.py', SELF)}\nh1: {self.python('many.py', MANY)}\n")
        self.assertIn("h0: heard", errors)
        self.assertIn("h1: all asked", errors)


class Elsewhere(Real):
    def test_who_was_started_on_another_host_may_end_later(self):
        """As the daemons of an MPI launcher do.  The one that was started has begun when who started it ends."""
        begun = self.folder / "begun"
        document, errors = self.up(f"""h0: sh -c '"$ROCELAB_PROGRAM" run --host h2 -- sh -c "touch {begun}; sleep 0.3; echo late" & """
                                   f"""while [ ! -e {begun} ]; do sleep 0.02; done'\n""")
        self.assertIn("h2: late", errors)
        self.assertEqual([("h0", 0), ("h2", 0)], [(one["host"], one["exit"]) for one in document["programs"]])


class Traffic(Real):
    @staticmethod
    def pair(server, client, command, port):
        """A client that comes before its server listens comes again."""
        return f"{server}: {command} -p {port}\n{client}: sh -c 'until {command} -p {port} {server}; do sleep 0.2; done'\n"

    @needs("ib_write_bw")
    def test_a_busy_machine_loses_nothing(self):
        burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count())]
        try:
            command = "ib_write_bw -s 65536 -n 500 -F"
            document, _ = self.up(self.pair("h0", "h2", command, 18515) + self.pair("h1", "h3", command, 18515))
        finally:
            for burner in burners:
                burner.kill()
                burner.wait()
        self.assertEqual([0] * 4, [program["exit"] for program in document["programs"]])
        self.assert_nothing_lost(document)

    @needs("ibv_rc_pingpong")
    def test_data_is_right_polled_and_by_events(self):
        command = "ibv_rc_pingpong -g 0 -n 200 -s 20000 -c"
        document, errors = self.up(self.pair("h0", "h2", command, 18515) + self.pair("h1", "h3", command + " -e", 18515))
        self.assertNotIn("invalid data", errors)
        self.assert_nothing_lost(document)

    @needs("ib_write_bw")
    def test_a_program_is_killed_and_its_peer_learns_of_it(self):
        dead = self.folder / "dead"
        document, errors = self.up(f"h0: sh -c 'ib_write_bw -D 60 & sleep 2; kill -9 $!; touch {dead}; wait'\n"
                                   f"h2: sh -c 'while [ ! -e {dead} ]; do ib_write_bw -D 60 h0 && exit 0; sleep 0.2; done; exit 7'\n", status=1)
        self.assertEqual([0, 7], [program["exit"] for program in document["programs"]], errors)


if __name__ == "__main__":
    unittest.main()
