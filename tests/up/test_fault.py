# SPDX-License-Identifier: Apache-2.0
"""A fault that somebody makes while real programs run: logged with its time, and the same run again from a script."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from support import Patient

PROGRAM = os.environ["ROCELAB"]
FABRIC = """rocelab: 1
fabric: pulled
topology: {leaf-spine: {leaves: 2, spines: 2, hosts: 2}}
links: {host: {rate: 100G, cable: 3m}, fabric: {rate: 100G, cable: 30m}}
classes:
  - {name: rdma, dscp: 26, priority: 3, lossless: true}
  - {name: default, priority: 0}
nics: {mtu: 4096, congestion: none}
"""
SCRIPT = "h0: ib_write_bw -s 65536 -n 4000 -F\nh2 after 1ms: ib_write_bw -s 65536 -n 4000 -F h0\n"


@unittest.skipUnless(shutil.which("ib_write_bw"), "perftest is not installed")
class Fault(Patient):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)
        runtime = self.folder / "run"
        runtime.mkdir(mode=0o700)
        self.env = dict(os.environ, XDG_RUNTIME_DIR=str(runtime), LC_ALL="C.UTF-8")
        (self.folder / "f.yaml").write_text(FABRIC, encoding="utf-8")

    def begin(self, script, *options):
        (self.folder / "x.up").write_text(script, encoding="utf-8")
        up = subprocess.Popen([PROGRAM, "up", "f.yaml", "--name", "pulled", "--script", "x.up", "--json", *options],
                              cwd=self.folder, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (up.kill(), up.communicate()))
        return up

    def ask(self, *words):
        return subprocess.run([PROGRAM, *words], env=self.env, capture_output=True, text=True, check=False, timeout=60)

    def end(self, up):
        out, err = up.communicate(timeout=200)
        self.assertEqual(0, up.returncode, err)
        return json.loads(out), err

    def pull(self, up):
        """A cable is pulled once the transfer is under way, as the counters say."""
        while up.poll() is None:
            counters = self.ask("counters", "--fabric", "pulled", "h2", "--json")
            if counters.returncode == 0 and json.loads(counters.stdout)["ports"][0]["counters"]["tx_payload_bytes"]:
                return self.ask("fault", "pulled", "down", "h2:0", "for", "300us", "--json")
        return None

    def pulled_under_way(self):
        """A run whose cable was pulled while bytes were on their way, and the same without: a busy machine asks late, so
        longer and longer transfers are tried."""
        for count in (4000, 16000, 64000):
            script = SCRIPT.replace("4000", str(count))
            without, _ = self.end(self.begin(script))
            up = self.begin(script)
            answer = self.pull(up)
            first, log = self.end(up)
            if answer and answer.returncode == 0 and first["programs"][1]["end_ps"] - without["programs"][1]["end_ps"] > 300e6 * 0.9:
                return script, json.loads(answer.stdout), first, log, without
        self.fail("no transfer was long enough for a cable to be pulled meanwhile")
        return None

    def test_by_hand_and_again(self):
        script, pulled, first, log, without = self.pulled_under_way()
        line = f"at {pulled['at_ps']}ps: down h2:0 for 300us"
        self.assertEqual("down h2:0 for 300us", pulled["fault"])
        self.assertIn(line, log)
        again, _ = self.end(self.begin(script + line + "\n"))
        self.assertEqual(first["digest"], again["digest"])
        self.assertNotEqual(first["digest"], without["digest"])
        self.assertEqual(first["faults"], [{"at_ps": pulled["at_ps"], "until_ps": pulled["at_ps"] + 300 * 10**6,
                                            "kind": "down", "what": "h2:0", "text": "down h2:0 for 300us"}])
        self.assertEqual([fault["at_ps"] for fault in again["faults"]], [pulled["at_ps"]])
        self.assertEqual(without["faults"], [])

    def test_events(self):
        """Links at their times, and what programs' adapters counted, as events; a run that is watched is the same run."""
        script = SCRIPT.replace("4000", "500") + "at 1002ms: down h2:0 for 100ms\n"
        document, _ = self.end(self.begin(script, "--series", "100us", "--events", "events.csv"))
        links = [(event["at_ps"], event["kind"], event["object"]) for event in document["events"] if event["kind"].startswith("link")]
        self.assertEqual(links, [(at, kind, port) for at, kind in ((1002000000000, "link-down"), (1102000000000, "link-up"))
                                 for port in ("h2:0", "leaf1:0")])
        for nic in document["nics"]:
            timeouts = [event for event in document["events"] if (event["kind"], event["object"]) == ("timeout", nic["nic"])]
            self.assertEqual(len(timeouts), nic["timeouts"])
        self.assertGreater(document["nics"][2]["timeouts"], 0)
        lines = (self.folder / "events.csv").read_text(encoding="utf-8").splitlines()
        self.assertIn('1002000000000,link-down,"h2:0",,,', lines)
        plain, _ = self.end(self.begin(script))
        self.assertEqual(plain["digest"], document["digest"])
        self.assertNotIn("events", plain)

    def test_refused(self):
        up = subprocess.Popen([PROGRAM, "up", "f.yaml"], cwd=self.folder, env=self.env, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (up.kill(), up.communicate()))
        self.assertIn("is up", up.stderr.readline())
        answer = self.ask("fault", "pulled", "down", "h9:0")
        self.assertEqual((1, "rocelab: fault: down: nothing is named 'h9:0'; did you mean 'h0:0'?\n"),
                         (answer.returncode, answer.stderr))
        self.assertEqual(1, self.ask("counters", "--fabric", "pulled", "h9").returncode)
        self.assertEqual("at 0ps: corrupt h1 share 1%  # fabric 'pulled'\n", self.ask("fault", "corrupt", "h1", "share", "1%").stdout)
        up.send_signal(signal.SIGINT)
        up.communicate(timeout=60)
        answer = self.ask("fault", "pulled", "down", "h0:0")
        self.assertEqual((2, "rocelab: fault: no fabric 'pulled' is up; start it with 'rocelab up'\n"),
                         (answer.returncode, answer.stderr))


if __name__ == "__main__":
    unittest.main()
