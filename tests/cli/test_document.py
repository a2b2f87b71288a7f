# SPDX-License-Identifier: Apache-2.0
"""What the document of a run says of the fabric and of each part of it, against fabrics worked out by hand."""
import fractions
import json
import re
import unittest

from support import SOURCE, Case, rocelab

EXAMPLES = SOURCE / "examples"
HEAD = "rocelab: 1\nfabric: small\n"
# Two hosts with two adapters on two leaves under one spine; every threshold is said.
RAILS = HEAD + """topology: {rail: {hosts: 2, gpus: 2, spines: 1}}
links: {host: {rate: 100G, cable: 3m}, fabric: {rate: 400G, cable: 20m}}
classes:
  - {name: rdma, dscp: [26, 27], priority: 3, lossless: true, share: 60%, ecn: {min: 100KB, max: 400KB, probability: 20%}}
  - {name: cnp, dscp: 48, priority: 6, strict: true}
  - {name: default, priority: 0, share: 40%}
switches: {model: tomahawk3, classes: {rdma: {xoff: 300KB}}}
jobs: [{flows: [{src: "h0:0", dst: "h1:0", size: 100KB}]}]
"""
# One receiver takes 40G of the 100G it is sent: it pauses the switch, whose small buffer pauses the senders.
PAUSES = HEAD + """topology: {single: {hosts: 5}}
switches: {buffer: 2MB}
nics: {mtu: 4096, congestion: none}
devices: {h0: {receive: {rate: 40G, buffer: 400KB}}}
links: {host: {rate: 100G, cable: 5m}}
jobs: [{incast: 4, size: 2MB, to: h0}]
"""
# Switches without a role: two with hosts, one above them, one above that.
PLAIN = HEAD + """topology:
  links:
    hosts: [a, b]
    switches: [A, B, C, D]
    links: [[a, A], [b, B], [A, C], [C, B], [C, D]]
links: {host: {rate: 100G, cable: 3m}, fabric: {rate: 100G, delay: 100ns}}
jobs: [{flows: [{src: a, dst: b, size: 1KB}]}]
"""


class Document(Case):
    def document(self, text, *arguments, status=0):
        result = rocelab("sim", "--json", *arguments, self.file("small.yaml", text.encode()), cwd=self.folder)
        self.assertEqual((result.returncode, result.stderr), (status, ""))
        return json.loads(result.stdout)

    def by(self, rows, key):
        found = {row[key]: row for row in rows}
        self.assertEqual(len(found), len(rows), key)
        return found


class Fabric(Document):
    def test_nodes(self):
        nodes = self.by(self.document(RAILS)["nodes"], "node")
        self.assertEqual(list(nodes), ["h0", "h1", "leaf0", "leaf1", "spine0"])
        self.assertEqual(nodes["h1"], {"node": "h1", "role": "host", "tier": 0, "rail": None, "pod": 0, "model": None,
                                       "buffer_bytes": None, "ports": 2})
        self.assertEqual(nodes["leaf1"], {"node": "leaf1", "role": "leaf", "tier": 1, "rail": 1, "pod": 0,
                                          "model": "tomahawk3", "buffer_bytes": nodes["spine0"]["buffer_bytes"],
                                          "ports": 3})
        self.assertEqual([nodes["spine0"][key] for key in ("role", "tier", "rail", "pod")], ["spine", 2, None, None])
        self.assertGreater(nodes["spine0"]["buffer_bytes"], 10**7)

    def test_links(self):
        document = self.document(RAILS)
        self.assertEqual([(link["a"], link["b"], link["rate_bps"] // 10**9, link["length_m"], link["tier"], link["rail"])
                          for link in document["links"]],
                         [("h0:0", "leaf0:0", 100, 3, "host-leaf", 0), ("h0:1", "leaf1:0", 100, 3, "host-leaf", 1),
                          ("h1:0", "leaf0:1", 100, 3, "host-leaf", 0), ("h1:1", "leaf1:1", 100, 3, "host-leaf", 1),
                          ("leaf0:2", "spine0:0", 400, 20, "leaf-spine", 0),
                          ("leaf1:2", "spine0:1", 400, 20, "leaf-spine", 1)])

    def test_switches_without_a_role(self):
        """A tier is then how far the hosts are, and a link begins at the lower one."""
        document = self.document(PLAIN)
        self.assertEqual([(node["node"], node["role"], node["tier"]) for node in document["nodes"]],
                         [("a", "host", 0), ("b", "host", 0), ("A", "switch", 1), ("B", "switch", 1),
                          ("C", "switch", 2), ("D", "switch", 3)])
        self.assertEqual({(link["a"], link["b"]) for link in document["links"]},
                         {("a:0", "A:0"), ("b:0", "B:0"), ("A:1", "C:0"), ("B:1", "C:1"), ("C:2", "D:0")})
        self.assertEqual({link["tier"] for link in document["links"]}, {"host-switch", "switch-switch"})
        self.assertEqual({link["rail"] for link in document["links"]}, {None})
        # 100 ns is 20 m at 5 ns a metre
        self.assertEqual({link["length_m"] for link in document["links"]}, {3, 20})

    def test_classes(self):
        self.assertEqual(self.document(RAILS)["classes"],
                         [{"name": "rdma", "priority": 3, "dscp": [26, 27], "lossless": True, "strict": False,
                           "share": 0.6},
                          {"name": "cnp", "priority": 6, "dscp": [48], "lossless": False, "strict": True, "share": 0},
                          {"name": "default", "priority": 0, "dscp": [], "lossless": False, "strict": False,
                           "share": 0.4}])

    def test_thresholds(self):
        document = self.document(RAILS)
        ports = self.by(document["ports"], "port")
        self.assertIsNone(ports["h0:0"]["thresholds"])
        sets = document["thresholds"]
        self.assertEqual(ports["leaf0:0"]["thresholds"], ports["leaf1:1"]["thresholds"])
        (rdma,) = sets[ports["leaf0:0"]["thresholds"]]
        self.assertGreater(rdma["headroom_bytes"], 20000)
        self.assertEqual({key: rdma[key] for key in rdma if key not in ("headroom_bytes", "reserved_bytes")},
                         {"priority": 3, "ecn_min_bytes": 100000, "ecn_max_bytes": 400000, "ecn_probability": 0.2,
                          "pause_bytes": 300000, "pause_alpha": None, "voq_pause_bytes": None})
        # a longer and faster cable needs more headroom: another set
        (up,) = sets[ports["leaf0:2"]["thresholds"]]
        self.assertGreater(up["headroom_bytes"], rdma["headroom_bytes"] + 2 * 17 * 400 // 8)  # 17 m, there and back
        self.assertEqual(len(sets), 2)

    def test_dynamic_thresholds_and_none(self):
        text = RAILS.replace("xoff: 300KB", "alpha: 1/8").replace(", ecn: {min: 100KB, max: 400KB, probability: 20%}",
                                                                  ", ecn: false")
        document = self.document(text)
        for rules in document["thresholds"]:
            self.assertEqual([(rule["priority"], rule["pause_bytes"], rule["pause_alpha"], rule["ecn_min_bytes"],
                               rule["ecn_max_bytes"], rule["ecn_probability"]) for rule in rules],
                             [(3, None, 0.125, None, None, None)])

    def test_names_of_every_example(self):
        """Every port that a document names is a port, and every index is one."""
        for path in sorted(EXAMPLES.glob("*.yaml")):
            with self.subTest(path.name):
                result = rocelab("sim", "--json", "--until", "20us", path)
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                self.names(json.loads(result.stdout))

    def names(self, document):
        nodes, ports = self.by(document["nodes"], "node"), self.by(document["ports"], "port")
        self.assertEqual(sorted(ports), sorted([link[end] for link in document["links"] for end in "ab"]))
        for link in document["links"]:
            low, high = (nodes[link[end].rsplit(":", 1)[0]] for end in "ab")
            self.assertLessEqual(low["tier"], high["tier"], link)
            self.assertEqual(link["tier"], low["role"] + "-" + high["role"])
            self.assertEqual(link["rate_bps"], ports[link["a"]]["rate_bps"])
        for name, port in ports.items():
            self.assertLess(int(name.rsplit(":", 1)[1]), nodes[name.rsplit(":", 1)[0]]["ports"])
            host = nodes[name.rsplit(":", 1)[0]]["role"] == "host"
            self.assertEqual(host, port["thresholds"] is None, name)
            if not host:
                self.assertLess(port["thresholds"], len(document["thresholds"]))
        for flow in document["flows"]:
            self.assertLessEqual(set(flow["path"] or []), set(ports), flow)
        for job in document["jobs"]:
            self.assertLessEqual(set((job["from"] or []) + (job["to"] or [])), set(ports), job)
        used = {port["thresholds"] for port in ports.values()} - {None}
        self.assertEqual(used, set(range(len(document["thresholds"]))))
        known = {row["priority"] for row in document["classes"]}
        self.assertEqual(set(), {rule["priority"] for rules in document["thresholds"] for rule in rules} - known)


class Priorities(Document):
    """What a priority did, against the port's sums and against what Prometheus is told of the same run."""
    SWITCH = {"tx_bytes": "tx_bytes_total", "ecn_marked": "ecn_marked_total", "drops": "drops_total",
              "queue_max_bytes": "queue_max_bytes", "headroom_max_bytes": "headroom_max_bytes",
              "xoff_tx": "tx_xoff_total", "xoff_rx": "rx_xoff_total", "paused_ps": "rx_pause_seconds_total",
              "pausing_ps": "tx_pause_seconds_total"}
    NIC = {"tx_bytes": ("rdma_netdev_prio_bytes_total", "tx"), "xoff_tx": ("rdma_roce_pfc_pause_frames_total", "tx"),
           "xoff_rx": ("rdma_roce_pfc_pause_frames_total", "rx"),
           "paused_ps": ("rdma_roce_pfc_pause_duration_total", "rx")}

    def metrics(self, text):
        """(name, port or adapter, priority, direction or None) -> value"""
        found = {}
        for name, labels, value in re.findall(r"(?m)^(\w+)\{(.*)\} (\S+)$", text):
            label = dict(re.findall(r'(\w+)="([^"]*)"', labels))
            if "priority" in label and ("switch" in label or "device" in label):
                port = label["port"] if "switch" in label else label["device"]
                found[name, port, int(label["priority"]), label.get("direction")] = value
        return found

    def picoseconds(self, text):
        return round(fractions.Fraction(text) * 10**12)

    def test_what_prometheus_says(self):
        document = self.document(PAUSES, "--counters", "prometheus=counters.txt")
        metrics = self.metrics((self.folder / "counters.txt").read_text(encoding="utf-8"))
        seen = set()
        for port in document["ports"]:
            for row in port["priorities"]:
                for key, name in self.SWITCH.items():
                    value = metrics["rocelab_switch_" + name, port["port"], row["priority"], None]
                    value = self.picoseconds(value) if key.endswith("_ps") else int(value)
                    self.assertEqual(row[key], value, (port["port"], key))
                    if value:
                        seen.add(key)
        for nic in document["nics"]:
            for row in nic["priorities"]:
                for key, (name, direction) in self.NIC.items():
                    value = metrics[name, nic["nic"], row["priority"], direction]
                    value = int(value) * 10**6 if key.endswith("_ps") else int(value)
                    self.assertAlmostEqual(row[key], value, delta=10**6 if key.endswith("_ps") else 0)
                    if value:
                        seen.add("nic " + key)
        self.assertEqual(seen, set(self.SWITCH) - {"drops"} | {"nic " + key for key in self.NIC})

    def test_sums_are_the_ports(self):
        document = self.document(PAUSES)
        for port in document["ports"]:
            rows = port["priorities"]
            if port["thresholds"] is None:
                self.assertEqual(rows, [])
                continue
            self.assertEqual([row["priority"] for row in rows], [3])
            for key in ("ecn_marked", "paused_ps", "queue_max_bytes"):
                self.assertEqual(port[key], sum(row[key] for row in rows), port)

    def test_what_a_lossy_class_drops(self):
        text = PAUSES.replace("switches: {", "classes: [{name: rdma, dscp: 26, priority: 5}]\nswitches: {")
        document = self.document(text + "stop: 300us\n")
        leaf = [row for port in document["ports"] for row in port["priorities"]]
        self.assertEqual({row["priority"] for row in leaf}, {5})
        self.assertEqual(sum(row["drops"] for row in leaf),
                         sum(port["drops"] for port in document["ports"] if port["port"].startswith("leaf")))
        self.assertGreater(sum(row["drops"] for row in leaf), 0)
        self.assertEqual(sum(row["xoff_tx"] for row in leaf), 0)


class Faults(Document):
    """Two leaves, two spines, routes that follow after 10 us and 5 us a hop."""
    TEXT = HEAD + """topology: {leaf-spine: {leaves: 2, spines: 2, hosts: 2}}
links: {host: {rate: 100G, cable: 5m}, fabric: {rate: 100G, cable: 20m}}
nics: {timeout: 8}
jobs: [{incast: 3, size: 2MB, to: h0}]
stop: 400us
"""

    def test_a_link_that_flaps(self):
        document = self.document(self.TEXT + """converge: {detect: 10us, step: 5us}
faults: [{at: 50us, flap: leaf0:2, every: 200us, down: 40us, times: 3}]
""")
        text = "flap leaf0:2 at 50us every 200us down 40us times 3"
        self.assertEqual(document["faults"],
                         [{"at_ps": at * 10**6, "until_ps": (at + 40) * 10**6, "kind": "down", "what": "leaf0:2",
                           "text": text} for at in (50, 250)])  # the third is after the end
        # Both ends of the link know after 10 us, and each tells one neighbour more, which takes 5 us.
        learn = ((10, "leaf0"), (10, "spine0"), (15, "leaf1"), (15, "spine1"))
        self.assertEqual([(route["at_ps"] // 10**6, route["switch"], route["change"]) for route in document["routes"]],
                         [(begun + after, switch, change) for change, begun in enumerate((50, 90, 250, 290), 1)
                          for after, switch in learn])
        self.assertEqual(document["routes_left_out"], 0)

    def test_every_word(self):
        """What a document says can be said again: with its texts as faults the same happens."""
        faults = """faults:
  - {down: "h3:0", at: 20us, for: 10us}
  - {reset: spine1, at: 30us, for: 30us}
  - {drain: spine0, at: 200us, for: 50us, ahead: 20us}
  - {corrupt: h1, ber: 1e-7, way: out}
  - {drop: leaf1:0, every: 300, at: 1us}
  - {lanes: leaf1:3, lost: 1, of: 4}
  - {slow: h2, share: 50%, at: 5us}
  - {receive: h0, rate: 50G, at: 70us}
  - {pause: leaf0:0, priority: 3, at: 80us, for: 10us}
  - {withdraw: leaf0:2, at: 100us, for: 30us}
  - {misroute: leaf0:2, to: h3, at: 90us, for: 5us}
  - {flood: h1, at: 91us, for: 3us}
  - {hot-optics: leaf0:1, temperature: 80C, at: 120us, ber: 1e-8, for: 20us}
  - {slow-gpu: "h1:0", factor: 1.5}
"""
        first = self.document(self.TEXT + "converge: true\n" + faults)
        texts = {fault["text"] for fault in first["faults"]}
        self.assertEqual(len(texts), 14)
        self.assertEqual(len(first["faults"]), 15)
        self.assertEqual({fault["kind"] for fault in first["faults"]},
                         {"down", "withdraw", "corrupt", "drop", "slow", "receive", "pause", "misroute", "flood",
                          "hot-optics", "slow-gpu"})
        maps = []
        for text in sorted(texts):
            words = text.split()
            maps.append("  - {" + ", ".join(f'{key}: "{value}"' for key, value in zip(words[::2], words[1::2])) + "}\n")
        again = self.document(self.TEXT + "converge: true\nfaults:\n" + "".join(maps))
        self.assertEqual((first["digest"], first["faults"], first["routes"]),
                         (again["digest"], again["faults"], again["routes"]))

    def test_what_stopped_a_run_is_told(self):
        """A fault after the last frame that moved: the run is stuck by it, and it has happened."""
        text = self.TEXT.replace("timeout: 8", "timeout: 0").replace("stop: 400us\n", "")
        document = self.document(text + "faults: [{down: h0, at: 20us}]\n", status=1)
        self.assertEqual(document["state"], "stuck")
        self.assertEqual([(fault["what"], fault["until_ps"]) for fault in document["faults"]], [("h0", None)])


class Ways(Document):
    """The ports that a flow's packets leave by are those whose counters have them."""
    TEXT = HEAD + """topology: {leaf-spine: {leaves: 3, spines: 4, hosts: 3}}
links: {host: {rate: 100G, cable: 5m}, fabric: {rate: 100G, cable: 20m}}
nics: {timeout: 8}
"""

    def flows(self, *pairs):
        flows = ", ".join(f"{{src: h{src}, dst: h{dst}, size: 200KB}}" for src, dst in pairs)
        return self.TEXT + f"jobs: [{{flows: [{flows}]}}]\n"

    def busy(self, document, payload):
        """Ports of hosts and switches that sent at least so much."""
        return {port["port"] for port in document["ports"] if port["line_bytes"] >= payload}

    def test_a_flow_alone_is_where_it_says(self):
        for pair in ((0, 3), (1, 4), (2, 8), (6, 5), (3, 0), (7, 8)):
            with self.subTest(pair):
                document = self.document(self.flows(pair))
                (flow,) = document["flows"]
                self.assertEqual(set(flow["path"]), self.busy(document, 200000))
                self.assertEqual(flow["path"][0], flow["src"])
                peers = {link[a]: link[b] for link in document["links"] for a, b in ("ab", "ba")}
                self.assertEqual(peers[flow["path"][-1]], flow["dst"])
                for out, then in zip(flow["path"], flow["path"][1:]):
                    self.assertEqual(peers[out].split(":")[0], then.split(":")[0])
                self.assertEqual(len(flow["path"]), 2 if pair == (7, 8) else 4)

    def test_flows_take_several_ways(self):
        document = self.document(self.flows(*((a, b) for a in range(3) for b in range(3, 9))))
        spines = {flow["path"][2].split(":")[0] for flow in document["flows"]}
        self.assertGreater(len(spines), 2)

    def test_pins_and_those_who_spread(self):
        pinned = self.flows((0, 3)) + "devices: {leaf0: {balance: {use: pin, pins: [{dst: h3, port: 5}]}}}\n"
        document = self.document(pinned)
        self.assertEqual(document["flows"][0]["path"], ["h0:0", "leaf0:5", "spine2:1", "leaf1:0"])
        self.assertEqual(self.busy(document, 200000), set(document["flows"][0]["path"]))
        for balance in ("spray", "adaptive", "flowlet"):
            near, far = self.document(self.flows((0, 1), (0, 3)) + f"switches: {{balance: {balance}}}\n")["flows"]
            self.assertEqual((near["path"], far["path"]), (["h0:0", "leaf0:1"], None), balance)

    def test_routes_that_moved(self):
        """The way is that of the end of the run."""
        usual = self.document(self.flows((0, 3)))["flows"][0]["path"]
        moved = self.document(self.flows((0, 3)) + f"faults: [{{down: '{usual[1]}'}}]\n"
                              "converge: {detect: 0us, step: 0us}\n")["flows"][0]["path"]
        self.assertNotIn(usual[1], moved)
        self.assertEqual((moved[0], moved[-1]), (usual[0], usual[-1]))

    def test_who_takes_part(self):
        document = self.document(self.TEXT + """jobs:
  - {name: in, incast: 2, to: h0, ranks: [h0, h1, h2], size: 10KB, repeat: 3}
  - {name: ring, allreduce: ring, size: 10KB, ranks: [h1, h4, h7], repeat: 2}
  - {name: each, flows: [{src: h0, dst: h1, size: 1KB}, {src: h0, dst: h2, size: 1KB}, {src: h3, dst: h1, size: 1KB}]}
""")
        ends = [(job["name"], job["repetition"], job["from"] and sorted(job["from"]), job["to"])
                for job in document["jobs"]]
        self.assertEqual(ends, [("in", 0, ["h1:0", "h2:0"], ["h0:0"]), ("in", 1, None, None), ("in", 2, None, None),
                                ("ring", 0, ["h1:0", "h4:0", "h7:0"], []), ("ring", 1, None, None),
                                ("each", 0, ["h0:0", "h3:0"], ["h1:0", "h2:0"])])

    def test_several_adapters_of_a_gpu(self):
        """Four adapters for two GPUs: the two ranks of a host have all of them."""
        document = self.document(HEAD + """topology: {rail: {hosts: 2, gpus: 2, nics: 4, spines: 1}}
links: {host: {rate: 100G, cable: 5m}}
jobs: [{allreduce: ring, size: 10KB}, {allreduce: ring, size: 10KB, ranks: ["h0:1", "h1:1"]}]
""")
        self.assertEqual(document["jobs"][0]["from"], [f"h{host}:{nic}" for host in range(2) for nic in range(4)])
        self.assertEqual(document["jobs"][1]["from"], ["h0:2", "h0:3", "h1:2", "h1:3"])


class Training(Document):
    """Ranks that wait: a step is what a rank computes and what it waits."""
    TEXT = HEAD + """topology: {single: {hosts: 4}}
links: {host: {rate: 100G, cable: 5m}}
faults: [{slow-gpu: h2, factor: 2}]
jobs:
  - training: {model: {layers: 2, hidden: 64, sequence: 16}, groups: {dp: 4}, compute: {forward: 100us}, steps: 3}
"""

    def test_waits(self):
        (job,) = self.document(self.TEXT)["training"]
        waits = job["rank_waits_ps"]
        self.assertIsNone(job["ranks_listed"])
        self.assertEqual([len(step) for step in waits], [4, 4, 4])
        # A forward pass, and a backward pass of twice that; all of it takes the slow GPU twice as long.
        for step, took in zip(waits, job["each_step_ps"]):
            self.assertEqual(max(rank + compute for rank, compute in zip(step, self.compute(job))), took)
            self.assertEqual(min(step), step[2])
            self.assertGreaterEqual(min(step[:2] + step[3:]), step[2] + 299 * 10**6)
        self.assertAlmostEqual(sum(map(sum, waits)) / 12, job["exposed_ps"], delta=4)

    def compute(self, job):
        usual = job["compute_ps"] * 4 // 5
        return [usual, usual, 2 * usual, usual]

    def test_stopped(self):
        """Of a step that has not ended nothing is told."""
        (job,) = self.document(self.TEXT, "--until", "1500us")["training"]
        self.assertEqual((len(job["each_step_ps"]), len(job["rank_waits_ps"])), (2, 2))

    def test_some_of_many(self):
        """A hundred ranks, a thousand steps: half of the list waited longest; the one that is slow waited least."""
        (job,) = self.document(HEAD + """topology: {single: {hosts: 2, gpus: 100, nics: 1}}
links: {host: {rate: 100G, cable: 5m}}
faults: [{slow-gpu: "h0:70", factor: 2}]
jobs:
  - training: {model: {layers: 1, hidden: 64, sequence: 16}, groups: {tp: 100}, compute: {forward: 1us}, steps: 1001}
    ranks: [h0]
""")["training"]
        self.assertEqual({len(step) for step in job["rank_waits_ps"]}, {64})
        self.assertEqual(len(job["rank_waits_ps"]), 1001)
        listed = job["ranks_listed"]
        self.assertEqual((len(listed), listed, len(set(listed))), (64, sorted(listed), 64))
        self.assertIn(70, listed)
        for step in job["rank_waits_ps"]:
            self.assertEqual(min(step), step[listed.index(70)])


class Latency(Document):
    """Histograms against the values they are of, which are elsewhere in the document."""

    def histograms(self, document):
        found = {}
        for row in document["latency"]:
            self.assertEqual(row["unit"], "ns")
            self.assertEqual(row["count"], sum(count for _, count in row["buckets"]))
            tops = [top for top, _ in row["buckets"]]
            self.assertEqual(tops, sorted(set(tops)))
            self.assertEqual(tops[-1], row["max"])
            found[row["what"], row["object"]] = row
        self.assertEqual(len(found), len(document["latency"]))
        return found

    def of(self, row, values):
        """It is the histogram of these."""
        values = sorted(values)
        self.assertEqual((row["count"], row["max"]), (len(values), values[-1]))
        below = -1
        for top, count in row["buckets"]:
            self.assertEqual(count, sum(below < value <= top for value in values), row)
            below = top
        for key, share in (("p50", 500), ("p90", 900), ("p99", 990), ("p999", 999)):
            exact = values[-(-len(values) * share // 1000) - 1]
            self.assertAlmostEqual(row[key], exact, delta=exact / 31, msg=key)

    def test_completion_times(self):
        document = self.document(HEAD + """topology: {single: {hosts: 6}}
links: {host: {rate: 100G, cable: 5m}}
jobs:
  - {name: in, incast: 4, size: 300KB, to: h0, repeat: 4}
  - {name: ring, allreduce: ring, size: 1MB}
  - {name: pairs, permutation: 2, size: 500KB, repeat: 3, gap: 10us}
""")
        rows = self.histograms(document)
        self.assertEqual({key for key in rows if key[0] == "fct"}, {("fct", "in"), ("fct", "pairs"), ("fct", "all")})
        for job in ("in", "pairs", "all"):
            self.of(rows["fct", job], [flow["fct_ps"] // 1000 for flow in document["flows"] if job in (flow["job"], "all")])
        self.assertEqual((rows["fct", "in"]["count"], rows["fct", "pairs"]["count"]), (16, 18))
        self.assertNotIn(("rtt", "all"), rows)

    def test_what_failed_has_no_time(self):
        document = self.document(PAUSES + "faults: [{down: h1, at: 10us}]\n", "--until", "2ms")
        self.assertEqual({flow["fct_ps"] is None for flow in document["flows"]}, {True, False})
        done = [flow["fct_ps"] // 1000 for flow in document["flows"] if flow["fct_ps"] is not None]
        self.of(self.histograms(document)["fct", "all"], done)

    def test_longest_queues(self):
        document = self.document(PAUSES)
        rows = self.histograms(document)
        name = next(row["name"] for row in document["classes"] if row["priority"] == 3)
        self.assertEqual({key for key in rows if key[0].startswith("queue")}, {("queue_max", name)})
        self.of(rows["queue_max", name], [row["queue_max_bytes"] * 8 * 10**9 // port["rate_bps"]
                                          for port in document["ports"] for row in port["priorities"]
                                          if row["queue_max_bytes"]])

    def test_queues_over_time(self):
        """What the series has in bytes, the histogram has in time; round trips are seen too."""
        alone = self.document(Ways.TEXT + "jobs: [{incast: 6, size: 300KB, to: h0}]\n")
        document = self.document(Ways.TEXT + "jobs: [{incast: 6, size: 300KB, to: h0}]\n", "--series", "2us")
        self.assertEqual(alone["digest"], document["digest"])
        rows = self.histograms(document)
        peers = {link[a]: link[b] for link in document["links"] for a, b in ("ab", "ba")}
        role = {node["node"]: node["role"] for node in document["nodes"]}
        tiers, classes = {}, {}
        for column in document["series"]["columns"]:
            if column["metric"] != "queue":
                continue
            name = column["object"]
            tier = "-".join(role[port.split(":")[0]] for port in (name, peers[name]))
            values = [bytes * 8 * 10**9 // 10**11 for bytes in column["data"] if bytes]
            tiers.setdefault(tier, []).extend(values)
            classes.setdefault(column["priority"], []).extend(values)
        self.assertIn("leaf-host", tiers)
        named = {row["priority"]: row["name"] for row in document["classes"]}
        wanted = tiers | {named[priority]: values for priority, values in classes.items()}
        self.assertEqual({object for what, object in rows if what == "queue"}, set(wanted))
        for object, values in wanted.items():
            self.of(rows["queue", object], values)
        # Nothing is back sooner than light and the line allow: 2 x 5 m and a packet of 1 KB at least.
        self.assertGreaterEqual(rows["rtt", "all"]["count"], len(document["flows"]))
        self.assertGreater(rows["rtt", "all"]["buckets"][0][0], 2 * 2 * 25 + 80)


class Rails(Document):
    """How adapters hang on leaves, by the examples that are built for it."""

    def example(self, name):
        return json.loads(rocelab("sim", "--json", "--until", "1us", EXAMPLES / name).stdout)

    def test_a_leaf_a_rail(self):
        document = self.example("rail-256.yaml")
        self.assertEqual({node["rail"] for node in document["nodes"] if node["role"] == "leaf"}, set(range(8)))
        for link in document["links"]:
            if link["tier"] == "host-leaf":
                self.assertEqual(link["rail"], int(link["a"].split(":")[1]))

    def test_neighbouring_rails_share_a_leaf(self):
        document = self.example("rail-4way.yaml")
        self.assertEqual({node["rail"] for node in document["nodes"]}, {None})
        self.assertEqual({link["rail"] for link in document["links"] if link["tier"] == "host-leaf"}, set(range(8)))
        self.assertEqual({link["rail"] for link in document["links"] if link["tier"] == "leaf-spine"}, {None})

    def test_planes_are_of_one_rail(self):
        document = self.example("dual-plane.yaml")
        for link in document["links"]:
            if link["tier"] == "host-leaf":
                self.assertEqual(link["rail"], int(link["a"].split(":")[1]) // 2)

    def test_storage_is_of_no_rail(self):
        document = self.example("storage.yaml")
        self.assertIn("storage-leaf0", [node["node"] for node in document["nodes"]])
        for node in document["nodes"]:
            if node["node"].startswith(("stor",)):
                self.assertIsNone(node["rail"], node)
        for link in document["links"]:
            if "stor" in link["a"] + link["b"]:
                self.assertIsNone(link["rail"], link)

    def test_one_leaf_is_no_rail(self):
        self.assertEqual({link["rail"] for link in self.example("leaf-spine.yaml")["links"]}, {None})


if __name__ == "__main__":
    unittest.main()
