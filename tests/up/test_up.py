# SPDX-License-Identifier: Apache-2.0
"""rocelab up: programs of a script live in fabric time, their ends are reported, and nobody else gets in."""
import json
import os
import pathlib
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from support import Patient

PROGRAM = os.environ["ROCELAB"]
FABRIC = """rocelab: 1
fabric: pair
topology: {single: {hosts: 3}}
links: {host: {rate: 400G, cable: 3m}}
nics: {mtu: 4096}
"""


class Up(Patient):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)
        (self.folder / "pair.yaml").write_text(FABRIC, encoding="utf-8")
        runtime = self.folder / "run"
        runtime.mkdir(mode=0o700)
        self.sockets = runtime / "rocelab"
        self.env = dict(os.environ, XDG_RUNTIME_DIR=str(runtime), LC_ALL="C.UTF-8")

    def up(self, script, *options, status=0):
        (self.folder / "x.up").write_text(script, encoding="utf-8")
        result = subprocess.run([PROGRAM, "up", "pair.yaml", "--script", "x.up", *options], cwd=self.folder,
                                env=self.env, capture_output=True, text=True, check=False, timeout=120)
        self.assertEqual(status, result.returncode, result.stdout + result.stderr)
        return result

    def python(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return f"{sys.executable} -E -S {path}"

    def document(self, script, *options, status=0):
        return json.loads(self.up(script, "--json", *options, status=status).stdout)


class Time(Up):
    def test_sleeps_take_fabric_time_and_no_other(self):
        document = self.document("h0: sleep 1000\nh1 after 5ms: sleep 0.25\n")
        first, second = document["programs"]
        self.assertEqual("up", document["kind"])
        self.assertEqual(("h0", ["sleep", "1000"], 0, 0), tuple(first[key] for key in ("host", "argv", "exit", "start_ps")))
        self.assertAlmostEqual(1000e12, first["end_ps"], delta=1e9)
        self.assertEqual(5e9, second["start_ps"])
        self.assertAlmostEqual(5e9 + 250e9, second["end_ps"], delta=1e9)

    def test_clocks_follow_and_runs_are_alike(self):
        program = self.python("clock.py", "import time, os\na = time.time(), time.monotonic(), time.perf_counter()\n"
                              "time.sleep(3)\nb = time.time(), time.monotonic(), time.perf_counter()\n"
                              "print(a, b, os.getpid(), os.urandom(8).hex())\n")
        script = f"h0: {program}\nh1: {program}\n"
        one, two = self.up(script, "--quiet").stdout, self.up(script, "--quiet").stdout
        self.assertEqual(one, two)
        lines = [line for line in one.splitlines() if line.startswith("h")]
        self.assertEqual(["h0", "h1"], [line[:2] for line in lines])
        for line in lines:
            before, after = line.split(": ")[1].split(") (")
            for a, b in zip(before.strip("(").split(", "), after.split(")")[0].split(", ")):
                self.assertAlmostEqual(3, float(b) - float(a), delta=0.01)
        self.assertNotEqual(lines[0].split()[-2:], lines[1].split()[-2:])


class Ends(Up):
    def test_what_was_not_virtual_is_told(self):
        program = self.python("real.py", "import ctypes, time\ntime.time()\n"
                              "ctypes.CDLL(None).syscall(425, 0, None)  # io_uring_setup\n")
        said = self.up(f"h0: {program}\nh1: sleep 1\n", "--audit").stderr.splitlines()
        real, sleep = (next(line for line in said if f": {host}: " in line and " audit: " in line) for host in ("h0", "h1"))
        self.assertRegex(real, "[0-9]+ clock reads.* 1 system calls that know only real time")
        self.assertNotIn("real time", sleep)
        self.assertTrue(any("io_uring_setup" in line for line in said), said)

    def test_a_program_that_fails_is_named(self):
        result = self.up('h0: sh -c "exit 3"\nh1: true\n', status=1)
        self.assertIn("h0: 'sh -c \"exit 3\"' ended with status 3", result.stderr)
        document = self.document('h0: sh -c "exit 255"\n', status=1)
        self.assertEqual((255, None), (document["programs"][0]["exit"], document["programs"][0]["signal"]))

    def test_a_program_that_is_not_there(self):
        result = self.up("h0: no-such-program\n", status=1)
        self.assertIn("no-such-program: no such program", result.stderr)
        self.assertIn("status 127", result.stderr)

    def test_a_program_that_dies(self):
        program = self.python("die.py", "import signal\nsignal.raise_signal(signal.SIGKILL)\n")
        result = self.up(f"h0: {program}\nh1: sleep 1\n", status=1)
        self.assertIn("was ended by signal 9", result.stderr)

    def test_output_has_the_host_in_front(self):
        result = self.up("h1: printf 'a\\nb'\nh0: echo x\n")
        lines = result.stdout.splitlines()
        self.assertEqual({"h1: a", "h1: b", "h0: x"}, {line for line in lines if line.startswith("h")} - {"h0:0", "h1:0"})


class QueuePairs(Up):
    @unittest.skipUnless(shutil.which("ib_write_bw"), "perftest is not there")
    def test_queue_pairs_are_flows(self):
        words = "ib_write_bw -s 65536 -n 100 -q 2"
        script = f"h0: {words}\nh1 after 10ms: {words} h0\n"
        document = self.document(script)
        for flow in document["queue_pairs"]:
            self.assertEqual(("h1:0", "h0:0", 100, 100 * 65536, 0),
                             tuple(flow[key] for key in ("host", "peer", "messages", "bytes", "failed")))
            lasted = flow["last_completion_ps"] - flow["first_post_ps"]
            self.assertEqual(100 * 65536 * 8 * 10**12 // lasted, flow["goodput_bps"])
            self.assertTrue(190e9 < flow["goodput_bps"] < 200e9, flow)
            self.assertTrue(flow["program"].startswith("ib_write_bw"))
        self.assertEqual(2, len({flow["qpn"] for flow in document["queue_pairs"]}))
        text = self.up(script).stdout
        self.assertRegex(text, r"QUEUE PAIRS.*\n.*\n +h1:0 +h0:0 +\d+ +100 +6.55MB")
        self.assertRegex(text, r"PROGRAMS\n.*\n +h0 +0 .* 0  ib_write_bw")


class Files(Up):
    @unittest.skipUnless(shutil.which("ib_write_bw"), "perftest is not there")
    def test_counters_of_an_adapter(self):
        """What a program reads under /sys is what its adapter has counted by then, as the report has it."""
        port = "/sys/class/infiniband/rocelab0/ports/1"
        words = "ib_write_bw -s 65536 -n 100"
        files = f"{port}/counters/port_xmit_packets {port}/counters/port_xmit_data {port}/hw_counters/rx_write_requests"
        (self.folder / "x.up").write_text(f"h0: cat {files}\nh1: sh -c '{words} > /dev/null; cat {files}'\n"
                                          f"h0 after 10ms: sh -c '{words} h1 > /dev/null; cat {files}'\n", encoding="utf-8")
        result = subprocess.run([PROGRAM, "up", "pair.yaml", "--script", "x.up", "--json"], cwd=self.folder, env=self.env,
                                capture_output=True, text=True, check=False, timeout=120)
        self.assertEqual(0, result.returncode, result.stderr)
        read = {host: [int(line[4:]) for line in result.stderr.splitlines() if line.startswith(host)] for host in ("h0", "h1")}
        sent = {nic["nic"]: nic["tx_packets"] for nic in json.loads(result.stdout)["nics"]}
        self.assertEqual([0, 0, 0], read["h0"][:3])
        self.assertEqual(([sent["h0:0"], 0], [sent["h1:0"], 100]), (read["h0"][3:6:2], read["h1"][0:3:2]))
        self.assertTrue(1 < read["h0"][4] * 4 / (100 * 65536) < 1.02, read)


class Captures(Up):
    @unittest.skipUnless(shutil.which("rping"), "rdmacm-utils is not there")
    def test_programs_payload_is_there(self):
        """Of READs and WRITEs, with ICRCs that are right; a job beside it sends zeros."""
        fabric = (self.folder / "pair.yaml").read_text(encoding="utf-8")
        (self.folder / "pair.yaml").write_text(fabric + "jobs: [{flows: [{src: h0, dst: h1, size: 100KB, at: 900us}]}]\n",
                                               encoding="utf-8")
        self.up("h0: rping -s -C 3\nh1 after 1ms: rping -c -a h0 -C 3\n", "--pcap", "h0:0=x.pcap")
        text = (self.folder / "x.pcap").read_bytes()
        for i in range(3):
            self.assertEqual(2, text.count(b"rdma-ping-%d: " % i))  # read by the server, and written back
        result = subprocess.run([PROGRAM, "capture", "--json", "x.pcap"], cwd=self.folder, env=self.env, capture_output=True,
                                text=True, check=False, timeout=60)
        document = json.loads(result.stdout)["files"][0]
        self.assertEqual((document["packets"], 1), (document["icrc_checked"], len(document["cm"])))
        self.assertEqual(0, document["icrc_errors"], document)


class Sweeps(Up):
    def sweep(self, script, *options, status=0):
        (self.folder / "x.up").write_text(script, encoding="utf-8")
        result = subprocess.run([PROGRAM, "sweep", "pair.yaml", "--script", "x.up", *options], cwd=self.folder,
                                env=self.env, capture_output=True, text=True, check=False, timeout=120)
        self.assertEqual(status, result.returncode, result.stdout + result.stderr)
        return result.stdout

    @unittest.skipUnless(shutil.which("ibv_rc_pingpong"), "ibverbs-utils is not there")
    def test_each_point_is_as_up_alone(self):
        words = "ibv_rc_pingpong -g 0 -s 65536 -n 50"
        script = f"h0: {words}\nh1 after 1ms: {words} h0\nh1: sleep 0.5\n"
        points = json.loads(self.sweep(script, "--json", "--vary", "links.host.rate=100G,400G"))["points"]
        times = [{job["name"]: job["time_ps"] for job in point["jobs"]} for point in points]
        self.assertEqual([{"h0", "h1", "h1.2"}] * 2, [set(time) for time in times])
        self.assertEqual({0}, {job["exit"] for point in points for job in point["jobs"]})
        self.assertGreater(times[0]["h0"], times[1]["h0"] + 1e8)  # 100 x 64 KB, four times as fast
        alone = {program["host"]: program["end_ps"] - program["start_ps"]
                 for program in self.document(script)["programs"][:2]}
        self.assertEqual(alone, {host: times[1][host] for host in alone})
        self.assertRegex(self.sweep(script, "--vary", "links.host.rate=100G,400G"), r"rate +time:h0 +time:h1 +time:h1.2")

    def test_a_program_that_fails_is_in_the_table(self):
        script = "h0: sh -c 'exit 3'\n"
        self.assertRegex(self.sweep(script, "--vary", "seed=1,2", "--show", "time:h0", status=1), r"1 .* failed\n +2 .* failed")
        head, *rows = self.sweep(script, "--vary", "seed=1,2", "--csv", status=1).splitlines()
        self.assertEqual(("exit:h0", ["3", "3"]), (head.split(",")[-1], [row.split(",")[-1] for row in rows]))


class Scripts(Up):
    def test_errors_have_their_place(self):
        self.assertIn("x.up:2:1: error: there is no host 'h9'", self.up("h0: true\nh9: true\n", status=2).stderr)
        self.assertIn("x.up:2:1: error: down: nothing is named 'leaf7:1'",
                      self.up("h0: true\nat 1ms: down leaf7:1\n", status=2).stderr)
        for loss in ("loss h0 1%", "loss h0 share 1%"):
            self.assertIn("x.up:2:1: error: a fault 'loss' is called corrupt, as in: corrupt leaf0:0 share 1%\n",
                          self.up(f"h0: true\nat 1ms: {loss}\n", status=2).stderr)

    def test_all_errors_come_at_once(self):
        """Of words, of hosts and of faults, in the order of the lines; and those of the file."""
        script = "h9: true\nat 1ms: down leaf7:1\nh0 after soon: true\nh0: echo 'x\nat 2ms: down leaf8:1\n"
        lines = [line for line in self.up(script, status=2).stderr.splitlines() if "error:" in line]
        self.assertEqual([f"x.up:{i}:1" for i in range(1, 6)], [line.split(": ")[0] for line in lines])
        (self.folder / "pair.yaml").write_text("rocelab: 1\nfabric: [x]\n", encoding="utf-8")
        said = self.up(script, status=2).stderr
        self.assertIn("pair.yaml:2:", said)
        self.assertIn("x.up:3:1: error: 'soon' is no time", said)

    def test_faults_after_the_end_are_told(self):
        script = "h0: sleep 0.002\nat 1ms: down h1:0 for 1us\nat 3ms: flap h1:0 every 2ms down 1us times 2\n"
        said = "x.up:3:1: warning: at 3ms: flap h1:0 every 2ms down 1us times 2: never happened: the run ended at 2"
        stderr = self.up(script).stderr
        self.assertIn(said, stderr)
        self.assertEqual(1, stderr.count("never happened"))
        self.assertIn(said, self.up(script, "--strict", status=1).stderr)
        self.assertNotIn("never", self.up(script.replace("0.002", "0.004")).stderr)

    def test_what_has_not_ended_is_shown(self):
        script = "h0: sh -c 'echo begun; sleep 1; echo never'\nh1 after 9ms: echo late\nh1: echo short\n"
        result = self.up(script, "--until", "5ms", status=1)
        self.assertIn("h0: begun\n", result.stdout)
        self.assertIn("h1: short\n", result.stdout)
        self.assertNotIn("h0: never", result.stdout)
        self.assertRegex(result.stderr, "h0: 'sh -c .*' had not ended")
        self.assertIn("h1: 'echo late' was not started", result.stderr)


class Others(Up):
    def begin(self, *options, env=None):
        up = subprocess.Popen([PROGRAM, "up", "pair.yaml", *options], cwd=self.folder, env=env or self.env,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (up.kill(), up.communicate()))
        self.assertIn("is up", up.stderr.readline())
        return up

    def run_on(self, host, *words):
        return subprocess.run([PROGRAM, "run", "--host", host, "--", *words], env=self.env, capture_output=True,
                              text=True, check=False, timeout=60)

    def test_programs_by_hand(self):
        up = self.begin("--json")
        self.assertEqual(0, self.run_on("h1", "sleep", "5").returncode)
        out, _ = up.communicate(timeout=60)
        program, = json.loads(out)["programs"]
        self.assertEqual(("h1", None, 0), (program["host"], program["exit"], program["start_ps"]))
        self.assertAlmostEqual(5e12, program["end_ps"], delta=1e9)
        self.assertEqual([], list(self.sockets.iterdir()))

    def listed(self, *options):
        return subprocess.run([PROGRAM, "up", "--list", *options], env=self.env, capture_output=True, text=True, check=True,
                              timeout=60).stdout

    def test_those_that_are_up_are_listed(self):
        self.assertEqual("", self.listed())
        self.assertEqual([], json.loads(self.listed("--json"))["fabrics"])
        up = self.begin("--clock", "real/40")
        one, = json.loads(self.listed("--json"))["fabrics"]
        self.assertGreater(one.pop("since_s"), up.pid * 0)
        self.assertEqual({"name": "pair", "pid": up.pid, "answers": True, "clock": "real/40", "programs": 0, "now_ps": 0}, one)
        self.assertRegex(self.listed(), f"pair +{up.pid} +20.*real/40 +0 +0\n")

    def test_who_has_a_folder_of_the_session_looks_into_no_other(self):
        elsewhere = {name: value for name, value in self.env.items() if name != "XDG_RUNTIME_DIR"}
        self.begin("--name", f"elsewhere-{os.getpid()}", env=elsewhere)
        self.assertEqual("", self.listed())
        up = self.begin()
        self.assertEqual(0, self.run_on("h1", "true").returncode)
        self.assertEqual(0, up.wait(timeout=60))

    def test_zero_bytes_are_refused_with_their_place(self):
        self.assertIn(":2:9: a zero byte", self.up("h0: true\nh1: true\0evil\n", status=2).stderr)

    def test_the_folder_is_ours_alone(self):
        up = self.begin()
        self.assertEqual(0o700, stat.S_IMODE(self.sockets.stat().st_mode))
        self.assertEqual(0o600, stat.S_IMODE((self.sockets / "pair.fabric").stat().st_mode))
        up.send_signal(signal.SIGINT)
        self.assertEqual(2, up.wait(timeout=60))
        self.assertEqual([], list(self.sockets.iterdir()))
        self.sockets.chmod(0o755)
        self.assertIn("open to others", self.up("h0: true\n", status=2).stderr)

    def test_a_name_is_used_once_and_what_was_killed_is_forgotten(self):
        up = self.begin()
        self.assertIn("is up already", self.up("h0: true\n", "--name", "pair", status=2).stderr)
        up.kill()
        up.wait(timeout=60)
        self.assertTrue((self.sockets / "pair.fabric").exists())
        self.up("h0: true\n", "--name", "other")
        self.assertEqual([], list(self.sockets.iterdir()))

    def test_nonsense_at_the_socket(self):
        up = self.begin()
        path = str(self.sockets / "pair.fabric")
        for nonsense in (b"", b"hello", bytes(400), bytes(100000)):
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as one:
                one.connect(path)
                if nonsense:
                    one.send(nonsense)
        self.assertEqual(0, self.run_on("h0", "true").returncode)
        self.assertEqual(0, up.wait(timeout=60))

    def test_a_host_that_is_not_there(self):
        self.begin()
        result = self.run_on("h7", "true")
        self.assertNotEqual(0, result.returncode)
        self.assertIn("has no host 'h7'", result.stderr)


if __name__ == "__main__":
    unittest.main()
