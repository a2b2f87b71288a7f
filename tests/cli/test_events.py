# SPDX-License-Identifier: Apache-2.0
"""Events of runs: in the document, in a file; held to what the same run counts."""
import collections
import csv
import json
import unittest

from support import Case, rocelab
from test_sim import BAD, MOVES, PAUSES, SMALL, TRAINS

# The slow receiver's pause reaches the senders: little buffer.
PAUSES = PAUSES.replace("model: tomahawk3", "buffer: 1MB")
FREQUENT = {"mark", "drop", "nak", "cnp"}


class Events(Case):
    def run_sim(self, text, *arguments, status=0):
        result = rocelab("sim", "--json", *arguments, self.file("small.yaml", text.encode()), cwd=self.folder)
        self.assertEqual((result.returncode, result.stderr), (status, ""))
        return json.loads(result.stdout)

    def rows(self, name):
        with open(self.folder / name, newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def test_pauses(self):
        """Intervals add up to the time that ports say they were paused; XOFFs are those that they sent."""
        document = self.run_sim(PAUSES, "--series", "10us")
        self.assertEqual((document["events_lost"], document["pause_intervals_left_out"]), (0, 0))
        paused, xoffs = collections.Counter(), collections.Counter()
        for pause in document["pause_intervals"]:
            end = document["virtual_ps"] if pause["to_ps"] is None else pause["to_ps"]
            paused[pause["paused"], pause["priority"]] += max(0, end - pause["from_ps"])
        for event in document["events"]:
            if event["kind"] == "xoff":
                xoffs[event["object"], event["priority"]] += 1
        counted = {(port["port"], own["priority"]): own for port in document["ports"] for own in port.get("priorities", [])}
        adapters = {(nic["nic"], own["priority"]): own for nic in document["nics"] for own in nic["priorities"]}
        self.assertGreater(len(paused), 4)
        for key, time in paused.items():
            self.assertAlmostEqual(time, {**counted, **adapters}[key]["paused_ps"], delta=2000000)  # the last 2 us of the run
        for key, own in counted.items():
            if not key[0].startswith("h"):
                self.assertEqual(xoffs[key], own["xoff_tx"], key)
        self.assertGreater(xoffs["leaf0:1", 3], 0)
        causes = {(pause["port"], pause["cause"]) for pause in document["pause_intervals"]}
        self.assertIn(("leaf0:1", "leaf0:0"), causes)  # senders stand still because of the queue to the slow receiver
        self.assertIn(("h0:0", None), causes)          # which pauses the switch

    def test_file(self):
        """The file has what the document lists and the frequent kinds too, whatever threads and windows there are."""
        document = self.run_sim(PAUSES, "--series", "10us", "--events", "all.csv")
        rows = self.rows("all.csv")
        rare = [(int(row["at_ps"]), row["kind"], row["object"]) for row in rows if row["kind"] not in FREQUENT]
        self.assertEqual(rare, [(event["at_ps"], event["kind"], event["object"]) for event in document["events"]])
        self.assertEqual(sum(row["kind"] == "mark" for row in rows), sum(port["ecn_marked"] for port in document["ports"]))
        self.assertEqual([int(row["at_ps"]) for row in rows], sorted(int(row["at_ps"]) for row in rows))
        plain = self.run_sim(PAUSES, "--events", "other.csv", "--threads", "2", "--no-tiles")
        self.assertNotIn("events", plain)
        self.assertEqual(plain["digest"], document["digest"])
        self.assertEqual((self.folder / "other.csv").read_bytes(), (self.folder / "all.csv").read_bytes())

    def test_faults_and_steps(self):
        events = self.run_sim(MOVES, "--series", "10us")["events"]
        self.assertEqual([(event["at_ps"], event["object"]) for event in events if event["kind"] == "link-down"],
                         [(20000000, "leaf0:4"), (20000000, "spine0:0")])
        self.assertEqual([event["at_ps"] for event in events if event["kind"] == "link-up"], [21000000] * 2)
        document = self.run_sim(TRAINS.replace("groups:", "steps: 3, groups:"), "--series", "10us")
        ends = [event["at_ps"] for event in document["events"] if event["kind"] == "step-end"]
        self.assertEqual([b - a for a, b in zip([0] + ends, ends)], document["training"][0]["each_step_ps"])
        self.assertEqual(len(ends), 3)
        document = self.run_sim(BAD, "--series", "1ms", "--events", "bad.csv", status=1)
        kinds = collections.Counter(event["kind"] for event in document["events"])
        self.assertEqual(kinds["deadlock"], len(document["deadlocks"]))
        self.assertEqual(next(event["at_ps"] for event in document["events"] if event["kind"] == "failed"), document["failure"]["at_ps"])
        self.assertIn("retries exceeded", {row["b"] for row in self.rows("bad.csv")})

    def test_wrong(self):
        path = self.file("small.yaml", SMALL.encode())
        self.wrong(rocelab("sim", "--events", "/dev/null/x", path), "--events '/dev/null/x': Not a directory")
        self.wrong(rocelab("sim", "--events", "-", path), "--events '-': a file to write, as in events.csv")
        self.wrong(rocelab("sim", "--events", "x.csv", "--seeds", "2", path), "--events")
        self.wrong(rocelab("sim", "--events", "x.csv", "--each", "link", path), "--events")
        self.wrong(rocelab("up", "--events", "/dev/null/x", path), "--events '/dev/null/x': Not a directory")
        self.wrong(rocelab("counters", "--events", "--fabric", "small"), "--events is for programs under 'rocelab run'")


if __name__ == "__main__":
    unittest.main()
