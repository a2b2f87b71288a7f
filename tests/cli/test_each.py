# SPDX-License-Identifier: Apache-2.0
"""rocelab sim --each, deadlocks and their exit status: every run ends, with the jobs completed or a reason; bytes are right."""
import json
import unittest

from support import Case, rocelab

POD = """rocelab: 1
fabric: pod
topology: {leaf-spine: {leaves: 2, spines: 2, hosts: 2}}
links: {host: {rate: 100G, cable: 3m}, fabric: {rate: 100G, cable: 30m}}
nics: {mtu: 1024, timeout: 5}
converge: {detect: 20us, step: 5us}
jobs: [{allreduce: ring, size: 2MB, channels: 1}, {permutation: 1, size: 200KB}]
"""
RING = """rocelab: 1
fabric: ring
topology:
  links:
    hosts: [a, b, c]
    switches: [A, B, C]
    links: [[a, A], [b, B], [c, C], [A, B], [B, C], [C, A]]
links: {host: {rate: 100G, cable: 3m}, fabric: {rate: 40G, cable: 30m}}
classes: [{name: rdma, dscp: 26, priority: 3, lossless: true}, {name: default, priority: 0}]
switches: {buffer: 2MB}
nics: {mtu: 1024, congestion: none}
faults: [{misroute: "A:1", to: c}, {misroute: "B:2", to: a}, {misroute: "C:2", to: b}]
jobs: [{flows: [{src: a, dst: c, size: 4MB}, {src: b, dst: a, size: 4MB}, {src: c, dst: b, size: 4MB}]}]
stop: 5ms
"""


class Each(Case):
    def each(self, *arguments, status):
        path = self.file("pod.yaml", POD.encode())
        result = rocelab("sim", "--json", *arguments, path, cwd=self.folder)
        self.assertEqual(result.returncode, status, result.stderr)
        return json.loads(result.stdout)

    def check(self, document, runs):
        self.assertEqual(document["kind"], "sim-each")
        self.assertEqual(len(document["runs"]), runs)
        base = document["base"]
        self.assertTrue(base["completed"])
        self.assertEqual(base["lost_bytes"], 0)
        for run in document["runs"]:
            self.assertTrue(run["completed"] or run["why"], run)
            if run["completed"]:
                self.assertEqual(run["delivered_bytes"], base["delivered_bytes"], run["down"])
                self.assertGreaterEqual(run["time_ps"], base["time_ps"])
            else:
                self.assertIsNone(run["time_ps"])
                self.assertFalse(run["predictable"])
            if run["predictable"]:
                self.assertLessEqual(run["time_ps"], document["margin"] * run["explained_ps"])

    def test_every_switch(self):
        """Whatever its tier; and what a row says is said whole."""
        document = self.each("--each", "switch", status=1)
        self.check(document, 4)
        self.assertEqual([run["down"] for run in document["runs"]], ["leaf0", "leaf1", "spine0", "spine1"])
        text = rocelab("sim", "--each", "switch", "pod.yaml", cwd=self.folder).stdout
        for run in document["runs"]:
            self.assertEqual(run["completed"], run["down"].startswith("spine"))
            if run["why"]:
                self.assertIn(run["why"] + "\n", text)

    def test_links(self):
        document = self.each("--each", "link", status=1)
        self.check(document, 8)
        for run in document["runs"]:
            host = run["down"].startswith("h")
            self.assertEqual(run["cut_off"], host)
            self.assertEqual(run["completed"], not host, run)

    def test_order_does_not_depend_on_threads(self):
        self.assertEqual(self.each("--each", "link", "--threads", "1", status=1),
                         self.each("--each", "link", "--threads", "3", status=1))

    def test_outages_end(self):
        document = self.each("--each", "leaf", "--at", "50us", "--for", "30us", status=0)
        self.check(document, 2)
        for run in document["runs"]:
            self.assertTrue(run["completed"] and run["cut_off"])
            self.assertGreater(run["lost_bytes"], 0)
            self.assertGreater(run["retransmitted_bytes"], 0)
            self.assertGreater(run["recovered_ps"], 30e6)

    def test_spines(self):
        self.check(self.each("--each", "spine", status=0), 2)

    def test_failures_that_touch_no_job(self):
        path = self.file("idle.yaml", POD.split("jobs:")[0].encode() + b"jobs: [{allreduce: ring, size: 1MB, ranks: 2}]\n")
        document = json.loads(rocelab("sim", "--json", "--each", "link", path, cwd=self.folder).stdout)
        idle = [run for run in document["runs"] if run["down"] in ("h2:0", "h3:0")]
        self.assertEqual(len(idle), 2)
        for run in idle:
            self.assertTrue(run["cut_off"] and run["completed"] and run["predictable"], run)
            self.assertEqual(run["time_ps"], document["base"]["time_ps"])
        document = self.each("--each", "link", "--at", "1s", status=0)
        self.assertTrue(all(run["predictable"] for run in document["runs"]))

    def test_a_failure_of_what_no_job_uses_is_expected_to_cost_nothing(self):
        """A ring on rails stays below its leaves: neither the spines nor the time until routes change is its business."""
        rails = POD.replace("leaf-spine: {leaves: 2, spines: 2, hosts: 2}", "rail: {hosts: 4, gpus: 2, leaves: 2, spines: 2}")
        for jobs, spared in (("[{allreduce: ring, size: 1MB}]", True), ("[{flows: [{src: h0:0, dst: h1:1, size: 1MB}]}]", False)):
            path = self.file("rails.yaml", (rails.split("jobs:")[0] + f"jobs: {jobs}\n").encode())
            for more in ((), ("--seeds", "2")):
                document = json.loads(rocelab("sim", "--json", "--each", "spine", *more, path, cwd=self.folder).stdout)
                for run in document["runs"]:
                    self.assertEqual(run["explained_ps"] == document["base"]["time_ps"], spared, run)
                    self.assertTrue(run["predictable"])
            text = rocelab("sim", "--each", "spine", path, cwd=self.folder).stdout
            row = next(line for line in text.splitlines() if line.startswith("spine0"))
            self.assertEqual(row.split()[3] == "1.00", spared, text)
            self.assertIn("expected: the slowdown that is explained by", text)
            self.assertIn("40us\n", text.replace(" ", "\n"))

    def test_wrong(self):
        path = self.file("pod.yaml", POD.encode())
        for arguments, said in ((("--each", "cable"), "--each 'cable': link, leaf, spine, core or switch"),
                                (("--each", "core"), "--each core: the fabric has none"),
                                (("--each", "link", "--csv", "out"), "--each has a report of its own"),
                                (("--at", "1us"), "go with --each"),
                                (("--for", "1us"), "go with --each"),
                                (("--each", "link", "--for", "0us"), "--for '0us': more than 0")):
            result = rocelab("sim", *arguments, path, cwd=self.folder)
            self.assertEqual(result.returncode, 2)
            self.assertIn(said, result.stderr)


class Deadlock(Case):
    def test_stops(self):
        path = self.file("ring.yaml", RING.encode())
        result = rocelab("sim", path, cwd=self.folder)
        self.assertEqual(result.returncode, 1)
        self.assertIn("DEADLOCK: stopped at", result.stdout)
        self.assertRegex(result.stdout, r"A:1 \(priority 3\) waits for B:2 \(priority 3\) waits for C:2 \(priority 3\) waits for A:1")
        document = json.loads(rocelab("sim", "--json", path, cwd=self.folder).stdout)
        self.assertEqual(document["state"], "deadlock")
        self.assertEqual([(w["port"], w["priority"]) for w in document["deadlocks"][0]["cycle"]], [("A:1", 3), ("B:2", 3), ("C:2", 3)])
        self.assertLess(document["deadlocks"][0]["closed_ps"], document["virtual_ps"])

    def test_keeps_going(self):
        path = self.file("ring.yaml", RING.encode())
        result = rocelab("sim", "--json", "--keep-going", path, cwd=self.folder)
        self.assertEqual(result.returncode, 1)
        document = json.loads(result.stdout)
        self.assertEqual(document["state"], "until")
        self.assertEqual(document["virtual_ps"], 5_000_000_000)
        self.assertIsNone(document["deadlocks"][0]["ended_ps"])

    def test_nothing_left(self):
        """Nobody has a timer and pauses hold: with or without --keep-going there is nothing to run on to."""
        text = RING.replace("congestion: none", "congestion: none, timeout: 0").replace("buffer: 2MB", "buffer: 2MB, refresh-pauses: false")
        result = rocelab("sim", "--keep-going", self.file("ring.yaml", text.encode()), cwd=self.folder)
        self.assertEqual(result.returncode, 1)
        self.assertIn("jobs ended, and no event is left", result.stdout)
        self.assertNotIn("--keep-going", result.stdout)

    def test_raised(self):
        text = RING.replace("buffer: 2MB", "buffer: 2MB, raise: bounce").replace(
            "lossless: true},", "lossless: true}, {name: up, dscp: 27, priority: 4, lossless: true},")
        result = rocelab("sim", "--json", self.file("ring.yaml", text.encode()), cwd=self.folder)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads(result.stdout)["deadlocks"], [])


if __name__ == "__main__":
    unittest.main()
