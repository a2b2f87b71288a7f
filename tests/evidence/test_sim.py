# SPDX-License-Identifier: Apache-2.0
"""The simulator's document as evidence: every number that a diagnosis needs, and nothing of what was done to the run."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

from shown import SOURCE, Evidence

ROCELAB = os.environ["ROCELAB"]
CASES = SOURCE / "examples" / "cases"
DONE = {}


def run(case, folder):
    """The document of a case, run once."""
    if case not in DONE:
        path = pathlib.Path(folder) / f"{case}.json"
        with path.open("wb") as out:
            subprocess.run([ROCELAB, "sim", "--json", str(CASES / f"{case}.yaml")], stdout=out, stderr=subprocess.DEVNULL, check=False)
        DONE[case] = path, json.loads(path.read_text())
    return DONE[case]


class Sim(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def read(self, case):
        path, document = run(case, self.folder.name)
        return Evidence(path), document

    def test_ports(self):
        seen, document = self.read("C01-storm-watchdog")
        seconds = document["virtual_ps"] / 1e12
        self.assertEqual((2, seconds), (seen.looks, seen.seconds))
        self.assertEqual(len(document["links"]) * 2, len(seen.peer))
        self.assertEqual("leaf1:0", seen.peer["h4:0"])
        for port in document["ports"]:
            name = port["port"]
            value = seen.value[name, None, "port_tx_bytes"]
            self.assertEqual((0, port["line_bytes"], 2), (value.first, value.last, value.looks))
            self.assertAlmostEqual(seconds, value.span)
            self.assertEqual(port["rate_bps"], seen.get(name, "full_rate"))
            self.assertEqual(1, seen.get(name, "link_up"))
            for priority in port["priorities"]:
                for key, counter, scale in (("tx_bytes", "tx_bytes", 1), ("paused_ps", "rx_pause_time", 1000), ("pausing_ps", "tx_pause_time", 1000),
                                            ("queue_max_bytes", "queue_watermark", 1), ("ecn_marked", "ecn_marked", 1)):
                    self.assertEqual(priority[key] // scale, seen.get(name, counter, priority["priority"]), (name, key))
        self.assertEqual(3391, seen.get("leaf1:0", "watchdog_drops", 3))
        self.assertEqual(1, seen.get("leaf1:0", "watchdog_detected", 3))
        self.assertEqual(1, seen.get("leaf1:0", "lossless", 3))
        self.assertEqual(1, seen.get("leaf1:0", "pfc", 3))
        self.assertEqual(500000, seen.get("leaf1:0", "ecn_min", 3))
        self.assertEqual(int(4000000 * 0.125 / 1.125), seen.get("leaf1:0", "pause_threshold", 3))
        self.assertEqual(0, seen.get("h0:0", "tx_bytes", 6))
        line = seen.value["leaf1:0", 3, "watchdog_drops"].line
        self.assertIn('"leaf1:0"', run("C01-storm-watchdog", "")[0].read_text().split("\n")[line - 1])

    def test_a_host_that_pauses(self):
        seen, document = self.read("C01-storm-watchdog")
        pause = document["pauses"][0]
        self.assertEqual([["h4:0", "leaf1:0", "3", "-", str(pause["time_ps"] // 1000)]], seen.pause)
        self.assertEqual(pause["time_ps"] // 1000, seen.get("h4:0", "tx_pause_time", 3))
        self.assertEqual(pause["count"], seen.get("h4:0", "tx_pause_frames", 3))

    def test_nics(self):
        seen, document = self.read("C01-storm-watchdog")
        for nic in document["nics"]:
            for key, counter in (("retransmitted", "retransmitted_packets"), ("timeouts", "local_ack_timeout_err"), ("naks", "packet_seq_err"),
                                 ("tx_data_packets", "tx_data_packets"), ("out_of_sequence", "out_of_sequence"), ("cnps_sent", "np_cnp_sent")):
                self.assertEqual(nic[key], seen.get(nic["nic"], counter), (nic["nic"], key))

    def test_drops_have_one_counter(self):
        seen, document = self.read("C17-mtu")
        dropped = {p["port"]: p["drops_by"] for p in document["ports"] if p["drops_by"].get("mtu")}
        self.assertTrue(dropped)
        for name, by in dropped.items():
            self.assertEqual(by["mtu"], seen.get(name, "mtu_drops"))
            for priority in range(8):
                self.assertIsNone(seen.get(name, "group_drops", priority))
        small = [p for p in document["ports"] if p.get("mtu_bytes") == min(p.get("mtu_bytes") or 10**9 for p in document["ports"])]
        self.assertEqual(small[0]["mtu_bytes"], seen.get(small[0]["port"], "mtu"))
        seen, document = self.read("C06-headroom")
        lost = sum(p["drops_by"].get("headroom", 0) for p in document["ports"])
        self.assertGreater(lost, 0)
        self.assertEqual(lost, sum(v.grown for k, v in seen.value.items() if k[2] == "group_drops"))

    def test_lines(self):
        seen, document = self.read("C12-ber")
        wrong = {p["port"]: p["crc_errors"] for p in document["ports"] if p["crc_errors"]}
        self.assertTrue(wrong)
        for name, count in wrong.items():
            self.assertEqual(count, seen.get(name, "crc_errors"))
        seen, document = self.read("C10-half-rate")
        slow = [p for p in document["ports"] if p["rate_now_bps"] < p["rate_bps"]]
        self.assertTrue(slow)
        for port in slow:
            self.assertEqual(port["rate_now_bps"], seen.get(port["port"], "rate"))
        seen, document = self.read("C11-down")
        down = [p["port"] for p in document["ports"] if not p["up"]]
        self.assertTrue(down)
        for name in down:
            self.assertEqual((0, 1), (seen.get(name, "link_up"), seen.get(name, "link_down_events")))

    def test_training(self):
        seen, document = self.read("C18-slow-gpu")
        job = document["training"][0]
        self.assertEqual(job["step_ps"] // 1000, seen.get(job["job"], "step_time"))
        self.assertEqual(len(job["each_step_ps"]), seen.get(job["job"], "steps"))
        slowest = max(range(len(job["rank_compute_ps"])), key=lambda r: job["rank_compute_ps"][r])
        rank = f"{job['job']}/rank {slowest}"
        self.assertEqual(job["rank_compute_ps"][slowest] // 1000, seen.get(rank, "rank_compute"))
        self.assertEqual("h3", seen.host[rank].split(":")[0])
        waits = [step[slowest] // 1000 for step in job["rank_waits_ps"]]
        self.assertEqual(sum(waits) // len(waits), seen.get(rank, "rank_wait"))

    def test_deadlock(self):
        seen, document = self.read("C05-ring")
        self.assertEqual([[str(len(d["cycle"])), str(int(d["ended_ps"] is not None))] for d in document["deadlocks"]], seen.circle)

    def test_flows_and_jobs(self):
        seen, document = self.read("C03-incast")
        self.assertEqual([[f["job"], f["src"], f["dst"], str(f["bytes"])] for f in document["flows"]], seen.flow)
        for job in document["jobs"]:
            self.assertEqual(job["ideal_ps"] // 1000, seen.get(job["name"], "job_ideal_time"))

    def test_keys_in_any_order(self):
        """A document that went through `jq -S` says the same."""
        path, document = run("C12-ber", self.folder.name)
        other = pathlib.Path(self.folder.name) / "sorted.json"
        other.write_text(json.dumps(document, sort_keys=True))
        one, two = Evidence(path), Evidence("--from", "sim", other)
        self.assertGreater(len(one.value), 100)
        self.assertEqual({k: v.grown for k, v in one.value.items()}, {k: v.grown for k, v in two.value.items()})
        self.assertEqual(one.peer, two.peer)

    def test_not_what_was_done_to_it(self):
        """Faults and the verdict are not evidence: without them nothing changes."""
        path, document = run("C01-storm-watchdog", self.folder.name)
        other = pathlib.Path(self.folder.name) / "without.json"
        other.write_text(json.dumps({k: v for k, v in document.items() if k not in ("faults", "verdict", "routes", "tiers")}))
        one, two = Evidence(path), Evidence(other)
        self.assertGreater(len(one.value), 100)
        self.assertEqual({k: v.grown for k, v in one.value.items()}, {k: v.grown for k, v in two.value.items()})

    def test_cut_off(self):
        path, _ = run("C12-ber", self.folder.name)
        other = pathlib.Path(self.folder.name) / "cut.json"
        text = path.read_bytes()
        other.write_bytes(text[: len(text) // 2])
        seen = Evidence(other)
        self.assertTrue(any("broken JSON" in r[1] for r in seen.remark), seen.remark)

    def test_wrong_types(self):
        """Keys of a wrong type are passed over."""
        other = pathlib.Path(self.folder.name) / "odd.json"
        other.write_text('{"kind": "sim", "virtual_ps": 1000000, "ports": [{"port": "a:0", "line_bytes": "x", "rate_bps": -4, "crc_errors": [1], '
                         '"priorities": [{"priority": 99, "tx_bytes": 5}, 7, {"priority": 3, "tx_bytes": 18446744073709551616}]}, 4, {"port": 7}, {"port": "b:0", "rate_bps": 8}], '
                         '"nics": {"nic": "a:0"}, "pauses": [{"port": "a:0"}], "training": [{"rank_waits_ps": [[1], {"a": [2]}, 3]}]}')
        seen = Evidence(other)
        self.assertEqual(0, seen.status)
        self.assertEqual([k for k in seen.value if k[0] == "a:0"], [])
        self.assertNotEqual([k for k in seen.value if k[0] == "b:0"], [])


if __name__ == "__main__":
    unittest.main()
