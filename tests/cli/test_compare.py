# SPDX-License-Identifier: Apache-2.0
"""rocelab compare: each system's figures are those of its own run, the answer follows from the weights, wrong use is told."""
import json
import unittest

from support import Case, rocelab

PAIR = """rocelab: 1
fabric: pair
topology: {leaf-spine: {leaves: 2, spines: 2, hosts: 2}}
links: {host: {rate: 100G, cable: 3m}, fabric: {rate: 100G, cable: 30m}}
jobs:
  - {name: ring, allreduce: ring, size: 256KB}
  - {incast: 3, size: 100KB, to: h0}
"""
TUNED = PAIR + """classes:
  - {name: rdma, dscp: 26, priority: 3, lossless: true, ecn: {min: 20KB, max: 80KB, probability: 10%}}
  - {name: default, priority: 0}
"""
SYSTEMS = ["rocev2", "rocev1", "infiniband", "uet", "tcp", "iwarp"]


class Compare(Case):
    def compare(self, *arguments, text=PAIR, status=0):
        result = rocelab("compare", self.file("pair.yaml", text.encode()), *arguments, cwd=self.folder)
        self.assertIn(result.returncode, (0, 1) if status is None else (status,), result.stderr)
        return result

    def document(self, *arguments, text=PAIR, status=0):
        document = json.loads(self.compare("--json", *arguments, text=text, status=status).stdout)
        self.assertEqual((document["version"], document["kind"]), (1, "compare"))
        return document

    def sim(self, text):
        result = rocelab("sim", "--json", self.file("other.yaml", text.encode()), cwd=self.folder)
        return json.loads(result.stdout) if result.stdout else None

    def test_a_system_is_what_sim_says_of_it(self):
        document = self.document(status=None)
        self.assertEqual([system["system"] for system in document["systems"]], SYSTEMS)
        ran = 0
        for system in document["systems"]:
            run = self.sim(PAIR + f"system: {system['system']}\n")
            if run is None:  # it cannot be run yet: a row that says so
                self.assertIn("cannot run this file", system["why"])
                continue
            ran += 1
            self.assertIsNone(system["error"])
            self.assertEqual(system["packet_hops"], run["packet_hops"], system["system"])
            self.assertEqual(system["time_ps"], max(job["start_ps"] + job["time_ps"] for job in run["jobs"]))
            self.assertEqual([(job["name"], job["time_ps"]) for job in system["jobs"]],
                             [(job["name"], job["time_ps"]) for job in run["jobs"]])
            times = sorted(flow["fct_ps"] for flow in run["flows"])
            self.assertEqual((system["p50_ps"], system["p99_ps"], system["p999_ps"]), (times[1], times[2], times[2]))
            self.assertGreater(system["small_4k_ps"], system["small_ps"])
            self.assertTrue(system["why"])
        self.assertGreater(ran, 1)

    def test_what_no_system_can_run(self):
        """The reason, once, and no table of rows without values; what one combination is refused for does not hide prices."""
        text = self.compare("--vary", "topology.rail.hosts=2,8", status=1).stdout
        self.assertRegex(text, r"^No system can run this file with any of the values:\n  \S*pair.yaml:3:11: topology: exactly one of")
        self.assertEqual(text.count("exactly one of"), 1)
        self.assertEqual(len(text.splitlines()), 2)
        text = self.compare("--systems", "rocev2,infiniband", "--vary", "jobs.incast.incast=9,2", status=1).stdout
        self.assertIn("switch-port-100G", text)

    def test_tcp_waits_for_its_cores(self):
        """A core that is the limit is the first cause."""
        text = PAIR + "system: tcp\nnics: {tcp: {cpu-rate: 5G}}\n"
        tcp = self.document("--systems", "rocev2,tcp", text=text, status=None)["systems"][1]
        self.assertRegex(tcp["why"], r"^[0-9.]+ times the time of rocev2: connections waited for a CPU core of their host for ")
        self.assertGreater(tcp["cpu_wait_ps"], 0)

        slow = "system: tcp\nnics: {tcp: {cpu-rate: 5G, cores: 1}}\n"
        flows = PAIR.split("jobs:")[0] + "jobs: [{flows: [{src: h0, dst: h2, size: 1MB}, {src: h0, dst: h3, size: 1MB}]}]\n"
        tcp = self.document("--systems", "tcp", text=flows + slow)["systems"][0]
        # two connections, one core: 2 MB at 5 Gb/s are 3.2 ms, of which the line of 100 Gb/s needs a twentieth
        self.assertGreater(tcp["time_ps"], 3.1e9)
        self.assertGreater(tcp["cpu_wait_ps"], 0.9 * tcp["time_ps"])

    def test_settings_of_several_systems(self):
        """They stand together in a file of no system, and each takes its own; a file of one system has no others'."""
        own = "nics: {congestion: none, tcp: {cpu-rate: 5G}}\nuet: {cc: rccc}\ncredits: 64KiB\n"
        rows = self.document("--systems", "rocev2,infiniband,uet,tcp", text=PAIR + own)["systems"]
        self.assertEqual([len(row["left_out"]) for row in rows[:3]], [3, 2, 3])
        self.assertGreater(rows[3]["cpu_wait_ps"], 0)
        done = self.compare(text=PAIR + "system: rocev2\n" + own, status=2)
        self.assertIn("error: 'uet' belongs to Ultra Ethernet; RoCEv2 has", done.stderr)

    def test_the_receivers_core_is_named(self):
        """Eight senders with a core each, and a receiver with one: its core is busy all the time, theirs an eighth of it."""
        text = ("rocelab: 1\nsystem: tcp\ntopology: {single: {hosts: 9}}\nlinks: {host: {rate: 100G, cable: 3m}}\n"
                "nics: {tcp: {cpu-rate: 40G, cores: 1}}\njobs: [{incast: 8, to: h0, size: 1MB}]\n")
        tcp = self.document("--systems", "rocev2,tcp", text=text, status=None)["systems"][1]
        self.assertRegex(tcp["why"], "times the time of rocev2: received data waited for CPU cores of the host for [0-9.]+")
        # 8 MB at 40 Gb/s are 1.6 ms
        self.assertGreater(tcp["time_ps"], 1.6e9)
        self.assertGreater(tcp["cpu_receive_wait_ps"], 1.4e9)
        self.assertLess(tcp["cpu_receive_wait_ps"], tcp["time_ps"])

    def test_latency_is_what_nothing_else_explains(self):
        """Steps that wait for each other, and the same bytes at once: software's latency is the cause of the first alone."""
        head = "rocelab: 1\nsystem: tcp\ntopology: {single: {hosts: 8}}\nlinks: {host: {rate: 100G, cable: 3m}}\n"
        ring = self.document("--systems", "rocev2,tcp", text=head + "jobs: [{allreduce: ring, size: 64KB}]\n", status=None)["systems"][1]
        self.assertRegex(ring["why"], "^[0-9.]+ times the time of rocev2: a small message takes ")
        self.assertGreaterEqual(ring["messages"], 14)
        once = self.document("--systems", "rocev2,tcp", text=head + "nics: {tcp: {cpu-rate: 5G}}\njobs: [{permutation: 1, size: 8MB}]\n",
                             status=None)["systems"][1]
        self.assertRegex(once["why"], "^[0-9.]+ times the time of rocev2: connections waited for a CPU core of their host")
        self.assertEqual(once["messages"], 1)

    def test_switches_that_stood_paused_are_a_cause(self):
        text = PAIR.replace("size: 100KB", "size: 5MB") + "switches: {buffer: 1MB}\nnics: {congestion: none}\n"
        system = self.document("--systems", "rocev2", text=text)["systems"][0]
        self.assertGreater(system["paused_ps"], system["held_ps"])
        self.assertRegex(system["why"], "switches were stopped in the same way for [0-9.]+[mun]s")

    def test_credits_are_no_pauses(self):
        system = self.document("--systems", "infiniband")["systems"][0]
        self.assertEqual(system["pauses"], 0)
        run = self.sim(PAIR + "system: infiniband\n")
        self.assertEqual(sum(port["pfc_tx"] for port in run["ports"]), 0)
        self.assertEqual(system["credits"], sum(port.get("credits_tx", 0) for port in run["ports"]))
        self.assertGreater(system["credits"], 100)

    def test_the_buffer_is_what_a_switch_held(self):
        for system in self.document("--systems", "rocev2,infiniband")["systems"]:
            self.assertGreaterEqual(system["buffer_max_bytes"], system["queue_max_bytes"])
            self.assertGreater(system["queue_max_bytes"], 0)

    def test_a_lossless_class_trims_under_ultra_ethernet(self):
        uet = self.document("--systems", "uet", text=TUNED.replace("size: 100KB", "size: 2MB"))["systems"][0]
        self.assertGreater(uet["trimmed"], 0)
        self.assertEqual(uet["retransmitted"], uet["trimmed"])
        self.assertIn("this class marks and trims", uet["left_out"][0]["message"])

    def test_a_class_of_another_system_is_of_the_files(self):
        text = PAIR.replace("to: h0}", "to: h0, class: store}") + """classes:
  - {name: rdma, dscp: 26, priority: 3, lossless: true}
  - {name: store, dscp: 10, priority: 1, system: tcp}
"""
        for system in self.document(text=text)["systems"]:
            self.assertIsNone(system["error"], system["system"])
            said = [one["message"] for one in system["left_out"] if "system: tcp" in one["message"]]
            self.assertEqual(len(said), system["system"] in ("infiniband", "uet", "iwarp"), system["system"])

    def test_the_answer_follows_from_the_weights(self):
        plain = self.document("--systems", "rocev2,rocev1")
        fastest = min(plain["systems"], key=lambda system: system["time_ps"])
        self.assertEqual(plain["answers"][0]["system"], fastest["system"])
        self.assertEqual(fastest["score"], 1)
        # the only weight can be as small as it likes
        self.assertEqual([weight["below"] for weight in plain["answers"][0]["weights"] if weight["of"] == "time"], [{"weight": None, "system": None}])
        weights = {"time": 3, "p99": 1, "cost": 2, "watts": 1}
        document = self.document("--systems", "rocev2,rocev1", text=PAIR + f"decision: {json.dumps(weights)}\n")
        keys = {"time": "time_ps", "p99": "p99_ps", "cost": "usd", "watts": "watts"}
        best = {name: min(system[key] for system in document["systems"]) for name, key in keys.items()}
        scores = {}
        for system in document["systems"]:
            scores[system["system"]] = sum(weights[n] * system[keys[n]] / best[n] for n in keys) / sum(weights.values())
            self.assertAlmostEqual(system["score"], scores[system["system"]], 6)
        self.assertEqual(document["answers"][0]["system"], min(scores, key=scores.get))

    def test_how_far_a_weight_must_move(self):
        """Beyond the weight that the report names the answer is the other one, before it the same."""
        text = PAIR + "decision: {time: 1, p99: %s, cost: 0.5, small: 0}\n"
        answer = self.document("--systems", "rocev2,rocev1", text=text % 2)["answers"][0]
        for weight in answer["weights"]:
            for way, beyond, before in (("below", 0.98, 1.02), ("above", 1.02, 0.98)):
                to = weight[way]["weight"]
                if weight["of"] != "p99" or to is None or not 0.01 < to < 900:
                    continue
                self.assertEqual(self.document("--systems", "rocev2,rocev1", text=text % round(to * beyond, 3))["answers"][0]["system"], weight[way]["system"])
                self.assertEqual(self.document("--systems", "rocev2,rocev1", text=text % round(to * before, 3))["answers"][0]["system"], answer["system"])

    def test_keys_that_a_system_does_not_have_are_left_out_and_told(self):
        document = self.document("--systems", "rocev2,rocev1", text=TUNED)
        kept, left = document["systems"]
        self.assertEqual(kept["left_out"], [])
        self.assertEqual([(one["line"], one["column"]) for one in left["left_out"]], [(9, 57)])
        self.assertIn("'ecn' belongs to", left["left_out"][0]["message"])
        self.assertEqual(left["marks"], 0)
        self.assertIn("left out, line 9: 'ecn' belongs to", self.compare("--systems", "rocev2,rocev1", text=TUNED).stdout)
        result = self.compare("--systems", "rocev2,rocev1,infiniband", text=PAIR + "nics: {congestion: dcqcn/connectx}\n")
        for title in ("RoCEv1", "InfiniBand"):
            self.assertRegex(" ".join(result.stdout.split()), f"left out, line [0-9]+: 'congestion: dcqcn' belongs to RoCEv2; {title}")
        self.assertEqual(kept["packet_hops"], self.sim(TUNED)["packet_hops"])

    def test_seeds(self):
        one, many = self.document("--systems", "rocev2"), self.document("--systems", "rocev2", "--seeds", "3")
        runs = many["systems"][0]["runs"]
        self.assertEqual([run["seed"] for run in runs], [1, 2, 3])
        self.assertEqual(runs[0]["time_ps"], one["systems"][0]["time_ps"])
        self.assertAlmostEqual(many["systems"][0]["time_ps"], sum(run["time_ps"] for run in runs) / 3, delta=1)

    def test_vary(self):
        document = self.document("--systems", "rocev2,rocev1", "--vary", "jobs.ring.size=64KB,1MB")
        self.assertEqual(document["vary"], ["jobs.ring.size"])
        self.assertEqual([(s["set"], s["system"]) for s in document["systems"]],
                         [(["64KB"], "rocev2"), (["64KB"], "rocev1"), (["1MB"], "rocev2"), (["1MB"], "rocev1")])
        for size in ("64KB", "1MB"):
            run = self.sim(PAIR.replace("size: 256KB", f"size: {size}"))
            self.assertEqual(next(s for s in document["systems"] if s["set"] == [size])["packet_hops"], run["packet_hops"])
        self.assertEqual([answer["set"] for answer in document["answers"]], [["64KB"], ["1MB"]])
        text = self.compare("--systems", "rocev2,rocev1", "--vary", "jobs.ring.size=64KB,1MB").stdout
        self.assertIn("At size 64KB the answer is ", text)

    def test_cost_is_the_bill_of_materials(self):
        system = self.document("--systems", "rocev2", text=PAIR + "prices: {nic: 1 USD, watt-year: 2 USD}\n")
        bill = json.loads(rocelab("config", "pair.yaml", "--bom", "--json", cwd=self.folder).stdout)
        self.assertEqual([system["systems"][0][key] for key in ("usd", "watts", "usd_year")], [bill[key] for key in ("usd", "watts", "usd_year")])
        self.assertEqual(system["prices"], bill["prices"])
        self.assertIn("the fabric file, line 8", self.compare("--systems", "rocev2", text=PAIR + "prices: {nic: 1 USD}\n").stdout)

    def test_results_are_kept(self):
        first = self.compare("--systems", "rocev2", "--out", "runs")
        again = self.compare("--systems", "rocev2,rocev1", "--out", "runs")
        self.assertIn("note: 1 of 2 runs were kept in runs", again.stderr)
        self.assertEqual(json.loads((self.folder / "runs" / "compare.json").read_text())["kind"], "compare")
        self.assertIn("rocev2", first.stdout)

    def test_wrong(self):
        for arguments, words in (
                (("--systems", "rocev2,infinband"), "--systems 'infinband': there is no such system; did you mean 'infiniband'?"),
                (("--systems", "rocev2,infiniband,ib"), "--systems: 'infiniband' is there twice"),
                (("--systems", "rocev2,tcp,rocev2"), "--systems: 'rocev2' is there twice"),
                (("--systems", ""), "--systems '': there is no such system"),
                (("--systems", "rocev2", "--vary", "system=tcp"), "systems are chosen by --systems"),
                (("--systems", "rocev2", "--vary", "no.such.key=1,2"), "unknown key 'no'"),
                (("--systems", "rocev2", "--with", "seed=1"), "--with stands behind the --vary"),
                (("--force",), "--force runs again what --out DIR has kept")):
            result = self.compare(*arguments, status=2)
            self.assertIn(words, result.stderr)
            self.assertEqual(result.stdout, "")
        for more, words in (
                ("decision: {time: -1}\n", "pair.yaml:8:18: error: decision: time: '-1' is no weight; a number from 0 to 1000 is expected"),
                ("decision: {time: 0}\n", "pair.yaml:8:11: error: decision: every weight is 0"),
                ("decision: {tme: 1}\n", "pair.yaml:8:12: error: "),
                ("prices: {nic: 3}\n", "pair.yaml:8:15: error: prices: nic: '3' has no unit"),
                ("system: token-ring\n", "pair.yaml:8:9: error: ")):
            result = self.compare(text=PAIR + more, status=2)
            self.assertIn(words, result.stderr)
            self.assertEqual(result.stdout, "")


if __name__ == "__main__":
    unittest.main()
