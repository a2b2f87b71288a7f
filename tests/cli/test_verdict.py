# SPDX-License-Identifier: Apache-2.0
"""The verdict on a run: a small fabric for each finding, with the object it must name; and none where all is well.

The findings are those of `rocelab diagnose` for the run's own document (tests/diagnose)."""
import json
import re
import resource
import subprocess
import unittest

from support import PROGRAM, SOURCE, rocelab

EXAMPLES = SOURCE / "examples"
HEAD = "rocelab: 1\nfabric: small\n"
SINGLE = HEAD + "topology: {single: {hosts: %d}}\nlinks: {host: {rate: 100G, cable: 5m}}\n"
SPINE = HEAD + """topology: {leaf-spine: {leaves: 2, spines: %d, hosts: %d}}
links: {host: {rate: 100G, cable: 5m}, fabric: {rate: %s, cable: 20m}}
"""
LOSSLESS = "classes: [{name: rdma, dscp: 26, priority: 3, lossless: true%s}, {name: default, priority: 0}]\n"
QUIET = "nics: {mtu: 1024, congestion: none}\n"
RING = HEAD + """topology:
  links:
    hosts: [a, b, c]
    switches: [A, B, C]
    links: [[a, A], [b, B], [c, C], [A, B], [B, C], [C, A]]
links: {host: {rate: 100G, cable: 3m}, fabric: {rate: 40G, cable: 30m}}
classes: [{name: rdma, dscp: 26, priority: 3, lossless: true}, {name: default, priority: 0}]
switches: {buffer: 2MB%s}
nics: {mtu: 1024, congestion: none, timeout: 8, retry: 1}
faults: [{misroute: "A:1", to: c}, {misroute: "B:2", to: a}, {misroute: "C:2", to: b}]
jobs: [{flows: [{src: a, dst: c, size: 4MB}, {src: b, dst: a, size: 4MB}, {src: c, dst: b, size: 4MB}]}]
"""
INCAST = "jobs: [{name: in, incast: 4, size: 2MB, to: h0}]\n"
ACROSS = "jobs: [{name: across, flows: [%s]}]\n"


def flows(pairs, size="1MB"):
    return ", ".join(f"{{src: h{src}, dst: h{dst}, size: {size}}}" for src, dst in pairs)


def verdict(text, *options):
    done = subprocess.run([PROGRAM, "sim", "-", "--json", *options], input=text, capture_output=True, text=True,
                          check=False)
    if not done.stdout:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)["verdict"]


class Findings(unittest.TestCase):
    def expect(self, text, name, severity, *objects, options=(), others=()):
        """The finding, or outcome, is there, about these objects, and no other warning or worse but `others`."""
        found = verdict(text, *options)
        by_id = {one["id"]: one for one in reversed(found)}
        self.assertIn(name, by_id, found)
        one = by_id[name]
        self.assertEqual(one["severity"], severity, one)
        for wanted in objects:
            self.assertIn(wanted, one["objects"], one)
        self.assertRegex(one["what"], r"\d")
        for other in found:
            if other["severity"] in ("warning", "critical") and other.get("consequence_of") is None:
                self.assertIn(other["id"], (name, *others), found)
        return one

    def test_deadlock(self):
        one = self.expect(RING % "", "D01", "critical", "A:1", "B:2", "C:2")
        self.assertIn("3 queues wait", one["what"])
        self.assertEqual(one["alias"], "V-DEADLOCK")

    def test_watchdog(self):
        text = RING % ", watchdog: {poll: 300us, detect: 300us, restore: 1ms}"
        one = self.expect(text, "D01", "warning", "A:1", others=("failed",))
        self.assertIn("until it was broken, and the watchdog cut some off", one["what"])

    def test_stuck(self):
        text = SINGLE % 5 + INCAST + "nics: {timeout: 0}\nfaults: [{down: h0, at: 20us}]\n"
        one = self.expect(text, "stuck", "critical", "h0:0", others=("D14",))
        self.assertEqual((one["job"], one["alias"]), ("in", "V-STUCK"))
        self.expect(text, "D14", "critical", "leaf0:0", others=("stuck",))

    def test_failed(self):
        self.expect(SINGLE % 5 + INCAST + "nics: {timeout: 8, retry: 1}\nfaults: [{down: h0, at: 20us}]\n", "failed",
                    "critical", "h0:0", others=("D14",))

    def test_link_down(self):
        text = SPINE % (2, 4, "100G") + ACROSS % flows([(0, 4), (1, 5), (2, 6), (3, 7)]) + \
            "nics: {timeout: 8}\nfaults: [{down: 'leaf0:4', at: 20us, for: 10us}]\n"
        one = self.expect(text, "D19", "warning", "leaf0:4")
        self.assertEqual(one["alias"], "V-LINK-DOWN")
        self.assertTrue(one["victims"])

    def test_a_link_that_stays_down(self):
        """By both of its ends; routes lead there still only where they stay; the cost is what timers took."""
        text = SPINE % (4, 4, "100G") + "nics: {timeout: 8}\njobs: [{permutation: 4, size: 16MB}]\nfaults: [{down: 'leaf0:5', at: 200us}]\n"
        for more, still in (("", True), ("converge: {detect: 6ms, step: 100us}\n", False)):
            one = self.expect(text + more, "D14", "critical", "spine1:0", others=("failed",))
            self.assertRegex(one["what"], r"^the link between spine1:0 and leaf0:5 is down, .*dropped; it cost retransmission timeouts: NICs' timers ran out \d+ times$")
            self.assertEqual("routes still lead there" in one["what"], still)
            self.assertEqual("packets that routes led there were dropped" in one["what"], not still)

    def test_a_link_that_was_down_before_anything_was_sent(self):
        """Nobody is a victim; of a link that nobody would have used nothing is said."""
        text = SPINE % (2, 4, "100G") + "jobs: [{name: late, at: 5ms, flows: [%s]}]\n" % flows([(0, 4)])
        for more, name in (("faults: [{down: 'leaf0:4', at: 1us, for: 10us}]\n", "D19"),
                           ("faults: [{down: 'leaf0:4', at: 1us}]\nconverge: {detect: 10us, step: 5us}\n", "D07")):
            self.assertEqual(self.expect(text + more, name, "warning", "leaf0:4")["victims"], [])
        self.assertEqual([one["id"] for one in verdict(text + "faults: [{down: h7, at: 1us}]\n")], ["healthy"])

    def test_lanes_are_no_wrong_class(self):
        """InfiniBand's incast pauses its senders for most of the time, and costs nothing: no warning."""
        found = verdict(SINGLE % 5 + INCAST + "system: infiniband\nvls: 2\n")
        self.assertEqual([one["id"] for one in found if one["severity"] == "warning"], [], found)
        self.assertIn(("D04", "info"), [(one["id"], one["severity"]) for one in found])

    def test_trimmed_is_not_out_of_order(self):
        one = self.expect(SINGLE % 5 + INCAST + "system: uet\n", "sent-again", "info")
        self.assertIn("trimmed", one["what"])

    def test_slow_link(self):
        text = SPINE % (1, 2, "200G") + QUIET + ACROSS % flows([(0, 2), (1, 3)], "4MB") + \
            "faults: [{lanes: 'leaf0:2', lost: 3}]\n"
        self.expect(text, "D06", "warning", "leaf0:2")

    def test_link_errors(self):
        one = self.expect(SPINE % (1, 2, "100G") + "nics: {mtu: 1024}\n" + ACROSS % flows([(0, 2), (1, 3)]) +
                          "faults: [{corrupt: 'spine0:1', share: 1%, way: out}]\n", "D13", "warning", "leaf1:2", others=("D22",))
        self.assertEqual(one["objects"], ["leaf1:2"])

    def test_headroom(self):
        text = HEAD + """topology: {dumbbell: {left: 4, right: 2, links: 1}}
links: {host: {rate: 400G, cable: 3m}, fabric: {rate: 400G, cable: 300m}}
switches: {model: tomahawk5, pause-reaction: 100%}
classes: [{name: rdma, dscp: 26, priority: 3, lossless: true, xoff: 50KB, headroom: 20KB}, {name: default, priority: 0}]
nics: {congestion: none, mtu: 1024, timeout: 8}
jobs: [{incast: 4, size: 2MB, to: h4, ranks: [h0, h1, h2, h3, h4]}]
faults: [{pause: h4, priority: 3, at: 50us, for: 20us, every: 60us, times: 3}]
"""
        self.expect(text, "D08", "critical", others=("D02",))
        self.expect(text, "D02", "critical", "h4:0", others=("D08",))

    def test_no_pauses(self):
        text = SINGLE % 5 + LOSSLESS % ", xoff: 50KB, headroom: 50KB" + \
            "nics: {congestion: none, mtu: 1024, timeout: 8}\ndevices: {leaf0: {ports: {1: {pfc: false}}}}\n" + INCAST
        one = self.expect(text, "D08", "critical", "leaf0:1", others=("D04", "D09"))
        self.assertIn("PFC is off on it", one["what"])

    def test_class(self):
        found = verdict((EXAMPLES / "disagreement.yaml").read_text(encoding="utf-8"))
        self.assertEqual([(one["id"], one["objects"]) for one in found if one["severity"] == "warning"], [("D15", ["leaf1"])])

    def test_mtu(self):
        self.expect(SPINE % (1, 2, "100G") + "nics: {mtu: 4096, timeout: 8, retry: 1}\n"
                    "devices: {leaf1: {ports: {2: {mtu: 1500}}}}\n" + ACROSS % flows([(0, 2)]), "D16", "critical", "leaf1:2",
                    others=("failed",))

    def test_route(self):
        text = SPINE % (1, 2, "100G") + "nics: {timeout: 12, retry: 1}\n" + ACROSS % flows([(0, 2)], "50KB") + \
            "faults: [{misroute: 'spine0:0', to: h2}]\n"
        self.expect(text, "D14", "critical", "spine0:0", others=("failed",))

    def test_lossy(self):
        text = SINGLE % 5 + "classes: [{name: default, priority: 0}]\nswitches: {buffer: 1MB}\n" \
            "nics: {congestion: none, timeout: 8}\n" + INCAST
        self.expect(text, "D24", "warning", "leaf0:0")

    def test_reorder(self):
        text = SPINE % (4, 4, "100G") + "nics: {mtu: 1024, congestion: none}\nswitches: {balance: spray}\n" + \
            ACROSS % flows([(0, 4), (1, 5), (2, 6), (3, 7), (0, 5), (1, 4)])
        self.expect(text, "D12", "warning")

    def test_what_is_sent_again_loads_the_ports(self):
        """Order taken for loss is the cause of what pauses where most of the load is sent twice; with `reorder` nothing is wrong."""
        text = SPINE % (4, 4, "100G") + "switches: {balance: adaptive}\nnics: {congestion: none%s}\njobs: [{poisson: {sizes: websearch, load: 60%%, until: 2ms}}]\n"
        found = verdict(text % "", "--until", "10ms")
        self.assertEqual({one["id"] for one in found if one.get("consequence_of") is None and one["severity"] == "warning"}, {"D12"}, found)
        self.assertIn("D04", {one["id"] for one in found if one.get("consequence_of") is not None}, found)
        self.assertEqual([one["id"] for one in verdict(text % ", reorder: true") if one["severity"] == "warning"], [])

    def test_storm(self):
        text = SINGLE % 5 + QUIET + INCAST + "faults: [{pause: h0, priority: 3, at: 50us, for: 2ms}]\n"
        self.expect(text, "D02", "critical", "h0:0")

    def test_slow_receiver(self):
        text = SINGLE % 5 + "switches: {model: tomahawk3}\nnics: {mtu: 4096, congestion: none}\n" \
            "devices: {h0: {receive: {rate: 40G, buffer: 400KB}}}\n" + INCAST
        self.expect(text, "D03", "warning", "h0:0")

    def test_few_credits_are_no_slow_receiver(self):
        """A host that takes all at once has given its credits back: there are too few of them for the line."""
        text = (SINGLE % 3).replace("100G", "400G").replace("5m", "30m") + "nics: {congestion: none}\ncbfc: {switch: 1MB, nic: %s}\n"
        text += "jobs: [{incast: 2, to: h0, size: 20MB}]\n"
        self.expect(text % "40KB", "D26", "warning", "h0:0")
        self.expect(text % "1MB" + "faults: [{receive: h0, rate: 100G, at: 50us}]\n", "D03", "warning", "h0:0")

    def test_pauses(self):
        """Who does not send to the receiver of an incast is its victim, too."""
        text = SPINE % (1, 4, "200G") + LOSSLESS % "" + "switches: {buffer: 2MB}\n" + QUIET + \
            "jobs: [{name: in, flows: [%s]}, {name: victim, flows: [%s]}]\n" % (
                flows([(0, 4), (1, 4), (2, 4)], "2MB"), flows([(3, 5)], "1MB"))
        one = self.expect(text, "D04", "warning", "leaf1:0", others=("D09",))
        self.assertIn("h3:0", one["victims"])
        self.assertEqual([one["job"] for one in verdict(text) if one["id"] == "slow"], ["victim"])

    def test_marks_unanswered(self):
        text = SINGLE % 5 + "nics: {mtu: 1024}\ndevices: {%s}\n" % ", ".join(
            f"h{i}: {{congestion: none}}" for i in range(1, 5)) + INCAST
        self.expect(text, "D11", "warning")

    def test_notifications_lost(self):
        text = SINGLE % 5 + "nics: {mtu: 1024, timeout: 8}\n" + INCAST.replace("2MB", "20MB") + \
            "faults: [{drop: h0, every: 3, way: out}]\n"
        self.expect(text, "D11", "warning", others=("D13",))
        self.expect(text, "D13", "warning", "leaf0:0", others=("D11",))

    def test_pauses_first(self):
        text = SINGLE % 5 + LOSSLESS % "" + "switches: {buffer: 2MB}\nnics: {mtu: 1024, congestion: dcqcn/connectx}\n" + INCAST
        self.expect(text, "D09", "warning", "leaf0")

    def test_polarised(self):
        text = HEAD + """topology: {fat-tree: {k: 4}}
links: {host: {rate: 100G, cable: 5m}, fabric: {rate: 100G, cable: 20m}}
switches: {ecmp: {seed: 7}}
nics: {mtu: 1024}
jobs: [{name: p, permutation: random, size: 300KB, repeat: 4}]
"""
        self.assertEqual(self.expect(text, "D05", "warning")["alias"], "V-POLARISED")

    def test_uneven(self):
        """A hash that sees the receiver's address alone puts all that goes to one host on one link: no chance, though
        nothing is congested yet."""
        pairs = [(i % 4, 4 + i % 2) for i in range(256)]
        text = SPINE % (4, 4, "100G") + "switches: {ecmp: {hash: [dst]}}\nnics: {mtu: 1024}\n" + \
            ACROSS % flows(pairs, "12KB")
        one = self.expect(text, "D05", "info")
        self.assertIn("this is not chance", one["what"])

    def test_straggler(self):
        text = HEAD + """topology: {rail: {hosts: 2, gpus: 4, spines: 2}}
links: {host: {rate: 400G, cable: 3m}, fabric: {rate: 400G, cable: 30m}}
jobs:
  - name: t
    training:
      model: {use: mixtral-8x7b, layers: 2, sequence: 512}
      groups: {ep: 8}
      micro-batches: 1
      imbalance: 3
      compute: {tflops: 400}
"""
        self.expect(text, "D17", "warning", "h1")
        even = verdict(text.replace("imbalance: 3", "steps: 1"))
        self.assertNotIn("D17", [one["id"] for one in even])
        self.assertEqual([one["job"] for one in even if one["id"] == "exposed"], ["t"])

    def test_who_holds_back(self):
        """Of an incast whose port rests, congestion control is the limit; without it the receiver's line is, and
        nothing is lost."""
        text = HEAD + "topology: {single: {hosts: 9}}\nlinks: {host: {rate: 400G, cable: 3m}}\njobs: [{name: in, incast: 8, to: h0, size: 8MB}]\n"
        self.expect(text, "D22", "warning", "leaf0:0")
        text += "nics: {congestion: none}\n"
        self.assertIn("leaf0:0, the port to h0:0, was 99", self.expect(text, "D04", "info", "leaf0:0", "h8:0")["what"])
        self.expect(text, "healthy", "ok")

    def test_oversubscribed(self):
        pairs = [(i, 8 + i) for i in range(8)]
        text = SPINE % (1, 8, "200G") + "nics: {mtu: 1024}\n" + ACROSS % flows(pairs)
        one = self.expect(text, "D07", "warning", "leaf0:8")
        self.assertIn("4 times", one["what"])

    def test_collisions(self):
        """Five flows on four links, as many as the hosts need: some link has two."""
        pairs = [(i, 5 + i) for i in range(5)]
        text = SPINE % (5, 5, "100G") + "nics: {mtu: 1024}\n" + ACROSS % flows(pairs, "2MB")
        one = self.expect(text, "D05", "info")
        self.assertIn("this is chance", one["what"])

    def test_unfinished(self):
        self.expect(SINGLE % 5 + QUIET + INCAST, "unfinished", "info", options=("--until", "100us"))


class Healthy(unittest.TestCase):
    """No false alarm: what is well has no warning."""
    def clean(self, found):
        self.assertEqual([one for one in found if one["severity"] not in ("ok", "info")], [])

    def test_pair(self):
        found = verdict(SINGLE % 2 + "jobs: [{name: a, flows: [{src: h0, dst: h1, size: 1MB}]}]\n")
        self.assertEqual([(one["id"], one["alias"], one["severity"]) for one in found], [("healthy", "V-OK", "ok")])
        self.assertIn("of ideal", found[0]["what"])

    def test_pod64(self):
        """An AllReduce under a few incasts is slow, and they are why; alone it is healthy."""
        text = (EXAMPLES / "pod64.yaml").read_text(encoding="utf-8")
        found = verdict(text)
        self.assertEqual([(one["id"], one["victims"]) for one in found if one["severity"] not in ("ok", "info")], [("D04", ["allreduce0"])])
        self.assertEqual([(one["id"], one["job"]) for one in found if one["alias"] == "V-SLOW"], [("slow", "allreduce0")])
        alone = verdict(re.sub(r".*incast: 32.*\n", "", text))
        self.assertEqual([one["id"] for one in alone], ["healthy"])

    def test_strict(self):
        """A warning of the verdict is a problem where the user says so."""
        for words, status in ((("--quiet",), 0), (("--quiet", "--strict"), 1)):
            done = rocelab("sim", *words, EXAMPLES / "pod64.yaml")
            self.assertEqual(done.returncode, status, done.stderr)

    def test_first_marks(self):
        """Stopped when the first CNP is on its way: that nobody has handled it yet means nothing."""
        done = rocelab("sim", "--json", "--until", "67us", EXAMPLES / "incast.yaml")
        run = json.loads(done.stdout)
        self.assertEqual((sum(nic["cnps_sent"] for nic in run["nics"]), sum(nic["cnps_handled"] for nic in run["nics"])), (1, 0))
        self.assertTrue({"D10", "D11"}.isdisjoint(one["id"] for one in run["verdict"]))

    def test_examples(self):
        for name in ("links", "moe", "dual-plane"):
            with self.subTest(name):
                self.clean(verdict((EXAMPLES / f"{name}.yaml").read_text(encoding="utf-8")))


class Growth(unittest.TestCase):
    def cpu(self, jobs):
        """CPU time of a run of so many jobs that nothing is in the way of, none of which is fast: all are judged."""
        text = SINGLE % 16 + "jobs:\n" + "  - {incast: 3, size: 1B}\n" * jobs
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        done = subprocess.run([PROGRAM, "sim", "-"], input=text, capture_output=True, text=True, check=True)
        self.assertIn("VERDICT", done.stdout)
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before

    def test_jobs_are_judged_in_time_by_their_flows(self):
        """Eight times the jobs, well below their square; a ratio in one run."""
        many, few = self.cpu(20000), min(self.cpu(2500) for _ in range(2))
        self.assertLess(many, 24 * few)


class Text(unittest.TestCase):
    def test_section(self):
        """VERDICT stands before the jobs: what became of the run, then causes in the order of the JSON, each with what
        follows from it; --quiet has none."""
        path = EXAMPLES / "cases" / "C09-cnp-late.yaml"
        out, found = rocelab("sim", path).stdout, json.loads(rocelab("sim", "--json", path).stdout)["verdict"]
        self.assertLess(out.index("VERDICT"), out.index("JOBS"))
        section = out[out.index("VERDICT"):out.index("JOBS")]
        causes = [one["id"] for one in found if "victims" in one and one["consequence_of"] is None]
        self.assertEqual(re.findall(r"^  \w+ (D\d\d),", section, re.M), causes)
        self.assertEqual(len(re.findall(r"^  info job below its ideal: ", section, re.M)), 2)
        self.assertRegex(section, r"Explains: D22, held back by congestion control, at leaf0:0; D04,")
        for one in found:
            if one.get("consequence_of") is not None:
                self.assertEqual(found[one["consequence_of"]]["id"], "D11")
        self.assertNotIn("VERDICT", rocelab("sim", path, "--quiet").stdout)

    def test_four_outcomes_at_most(self):
        jobs = ", ".join(f"{{name: j{i}, flows: [{{src: h{i}, dst: h16, size: 200KB}}]}}" for i in range(16))
        out = rocelab("sim", "-", stdin=(SINGLE % 17 + f"jobs: [{jobs}]\n").encode()).stdout
        section = out[out.index("VERDICT"):out.index("JOBS")]
        self.assertEqual(len(re.findall(r"^  info job below", section, re.M)), 4)
        self.assertRegex(section, r"and \d+ more")


class Page(unittest.TestCase):
    def test_the_page_shows_what_is_printed(self):
        front = (SOURCE / "README.md").read_text(encoding="utf-8")
        page = (SOURCE / "docs" / "diagnose.md").read_text(encoding="utf-8")
        out = rocelab("sim", EXAMPLES / "pod64.yaml").stdout
        self.assertIn(out[out.index("VERDICT"):out.index("\nJOBS")], front, "the page shows another verdict on pod64")
        listed = (SOURCE / "src" / "report" / "diagnosis" / "outcome.def").read_text(encoding="utf-8")
        self.assertEqual(re.findall(r"^\| `([a-z-]+)` \| `(V-[A-Z-]+)` \|", page, re.M),
                         re.findall(r'^OUTCOME\(\w+, "([a-z-]+)", "(V-[A-Z-]+)"', listed, re.M))


if __name__ == "__main__":
    unittest.main()
