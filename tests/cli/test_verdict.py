# SPDX-License-Identifier: Apache-2.0
"""The verdict on a run: a small fabric for each finding, with the object it must name; and none where all is well."""
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
        """The finding is there, about these objects, and no other of its severity or worse, but `others`."""
        found = verdict(text, *options)
        by_id = {one["id"]: one for one in found}
        self.assertIn(name, by_id, found)
        one = by_id[name]
        self.assertEqual(one["severity"], severity, one)
        for wanted in objects:
            self.assertIn(wanted, one["objects"], one)
        self.assertRegex(one["what"], r"\d")
        self.assertTrue(one["why"])
        rank = ["ok", "info", "warning", "critical"]
        self.assertEqual([one["severity"] for one in found],
                         sorted((one["severity"] for one in found), key=rank.index, reverse=True))
        for other in found:
            if rank.index(other["severity"]) >= max(rank.index(severity), rank.index("warning")):
                self.assertIn(other["id"], (name, "V-SLOW", *others), found)
        return one

    def test_deadlock(self):
        one = self.expect(RING % "", "V-DEADLOCK", "critical", "A:1", "B:2", "C:2", others=("V-FAILED", "V-STUCK"))
        self.assertIn("3 queues wait", one["what"])

    def test_watchdog(self):
        text = RING % ", watchdog: {poll: 300us, detect: 300us, restore: 1ms}"
        others = ("V-DEADLOCK", "V-WATCHDOG", "V-SENT-AGAIN", "V-PAUSES", "V-FAILED")
        self.expect(text, "V-WATCHDOG", "warning", "A:1", others=others)
        self.expect(text, "V-DEADLOCK", "warning", "A:1", others=others)

    def test_stuck(self):
        one = self.expect(SINGLE % 5 + INCAST + "nics: {timeout: 0}\nfaults: [{down: h0, at: 20us}]\n", "V-STUCK",
                          "critical", "h0:0")
        self.assertEqual(one["job"], "in")

    def test_failed(self):
        self.expect(SINGLE % 5 + INCAST + "nics: {timeout: 8, retry: 1}\nfaults: [{down: h0, at: 20us}]\n", "V-FAILED",
                    "critical", "h0:0", others=("V-LINK-DOWN", "V-SENT-AGAIN"))

    def test_link_down(self):
        text = SPINE % (2, 4, "100G") + ACROSS % flows([(0, 4), (1, 5), (2, 6), (3, 7)]) + \
            "nics: {timeout: 8}\nfaults: [{down: 'leaf0:4', at: 20us, for: 10us}]\n"
        one = self.expect(text, "V-LINK-DOWN", "warning", "leaf0:4", others=("V-SENT-AGAIN",))
        self.assertIn("Packets in flight were lost", one["why"])
        self.assertRegex(one["what"], r"\d lost on the line")

    def test_a_link_that_was_down_before_anything_was_sent(self):
        """Nothing was in flight, and nothing is said to have been lost; with routes that do not change, nor with."""
        text = SPINE % (2, 4, "100G") + "jobs: [{name: late, at: 5ms, flows: [%s]}]\n" % flows([(0, 4)])
        for more in ("faults: [{down: 'leaf0:4', at: 1us, for: 10us}]\n",
                     "faults: [{down: 'leaf0:4', at: 1us}]\nconverge: {detect: 10us, step: 5us}\n",
                     "faults: [{down: h7, at: 1us}]\n"):
            one = self.expect(text + more, "V-LINK-DOWN", "warning")
            self.assertIn("No packet was lost", one["why"])
            self.assertNotIn("lost on", one["what"])

    def test_lanes_are_no_wrong_class(self):
        found = verdict(SINGLE % 5 + INCAST + "system: infiniband\nvls: 2\n")
        self.assertEqual([one["id"] for one in found if one["severity"] == "warning"], [], found)

    def test_trimmed_is_not_out_of_order(self):
        one = self.expect(SINGLE % 5 + INCAST + "system: uet\n", "V-SENT-AGAIN", "warning", others=("V-SLOW",))
        self.assertIn("trimmed", one["why"])

    def test_slow_link(self):
        text = SPINE % (1, 2, "200G") + QUIET + ACROSS % flows([(0, 2), (1, 3)], "4MB") + \
            "faults: [{lanes: 'leaf0:2', lost: 3}]\n"
        self.expect(text, "V-SLOW-LINK", "warning", "leaf0:2", others=("V-PAUSES", ))

    def test_link_errors(self):
        one = self.expect(SPINE % (1, 2, "100G") + "nics: {mtu: 1024}\n" + ACROSS % flows([(0, 2), (1, 3)]) +
                          "faults: [{corrupt: 'spine0:1', share: 1%, way: out}]\n", "V-LINK-ERRORS", "warning", "spine0:1",
                          others=("V-SENT-AGAIN",))
        self.assertEqual(one["objects"], ["spine0:1"])

    def test_headroom(self):
        text = HEAD + """topology: {dumbbell: {left: 4, right: 2, links: 1}}
links: {host: {rate: 400G, cable: 3m}, fabric: {rate: 400G, cable: 300m}}
switches: {model: tomahawk5, pause-reaction: 100%}
classes: [{name: rdma, dscp: 26, priority: 3, lossless: true, xoff: 50KB, headroom: 20KB}, {name: default, priority: 0}]
nics: {congestion: none, mtu: 1024, timeout: 8}
jobs: [{incast: 4, size: 2MB, to: h4, ranks: [h0, h1, h2, h3, h4]}]
faults: [{pause: h4, priority: 3, at: 50us, for: 20us, every: 60us, times: 3}]
"""
        one = self.expect(text, "V-HEADROOM", "critical", "leaf1:2", others=("V-STORM", "V-SENT-AGAIN"))
        self.assertIn("HR001", one["why"])

    def test_no_pauses(self):
        text = SINGLE % 5 + LOSSLESS % ", xoff: 50KB, headroom: 50KB" + \
            "nics: {congestion: none, mtu: 1024, timeout: 8}\ndevices: {leaf0: {ports: {1: {pfc: false}}}}\n" + INCAST
        one = self.expect(text, "V-HEADROOM", "critical", "leaf0:1", others=("V-SENT-AGAIN",))
        self.assertIn("leaf0:1 does not pause", one["why"])

    def test_class(self):
        found = verdict((EXAMPLES / "disagreement.yaml").read_text(encoding="utf-8"))
        one = [one for one in found if one["id"] == "V-CLASS"][0]
        self.assertEqual({name.split(":")[0] for name in one["objects"]}, {"leaf1"})
        self.assertIn("leaf1", one["why"])

    def test_mtu(self):
        self.expect(SPINE % (1, 2, "100G") + "nics: {mtu: 4096, timeout: 8, retry: 1}\n"
                    "devices: {leaf1: {ports: {2: {mtu: 1500}}}}\n" + ACROSS % flows([(0, 2)]), "V-MTU", "critical", "leaf1:2",
                    others=("V-FAILED",))

    def test_route(self):
        text = SPINE % (1, 2, "100G") + "nics: {timeout: 12, retry: 1}\n" + ACROSS % flows([(0, 2)], "50KB") + \
            "faults: [{misroute: 'spine0:0', to: h2}]\n"
        self.expect(text, "V-ROUTE", "warning", others=("V-FAILED", "V-SENT-AGAIN"))

    def test_lossy(self):
        text = SINGLE % 5 + "classes: [{name: default, priority: 0}]\nswitches: {buffer: 1MB}\n" \
            "nics: {congestion: none, timeout: 8}\n" + INCAST
        self.expect(text, "V-DROPS", "warning", others=("V-SENT-AGAIN",))

    def test_reorder(self):
        text = SPINE % (4, 4, "100G") + "nics: {mtu: 1024, congestion: none}\nswitches: {balance: spray}\n" + \
            ACROSS % flows([(0, 4), (1, 5), (2, 6), (3, 7), (0, 5), (1, 4)])
        self.expect(text, "V-REORDER", "warning")

    def test_storm(self):
        text = SINGLE % 5 + QUIET + INCAST + "faults: [{pause: h0, priority: 3, at: 50us, for: 2ms}]\n"
        self.expect(text, "V-STORM", "critical", "h0:0")

    def test_slow_receiver(self):
        text = SINGLE % 5 + "switches: {model: tomahawk3}\nnics: {mtu: 4096, congestion: none}\n" \
            "devices: {h0: {receive: {rate: 40G, buffer: 400KB}}}\n" + INCAST
        one = self.expect(text, "V-SLOW-RECEIVER", "warning", "h0:0")
        self.assertIn("it receives at 40G", one["what"])
        slow = [one for one in verdict(text) if one["id"] == "V-SLOW"]
        self.assertIn("V-SLOW-RECEIVER", slow[0]["why"])

    def test_few_credits_are_no_slow_receiver(self):
        """A host that takes all at once has given its credits back: there are too few of them for the line."""
        text = (SINGLE % 3).replace("100G", "400G").replace("5m", "30m") + "nics: {congestion: none}\ncbfc: {switch: 1MB, nic: %s}\n"
        text += "jobs: [{incast: 2, to: h0, size: 20MB}]\n"
        found = verdict(text % "40KB")
        self.assertEqual({one["id"] for one in found}, {"V-SLOW"}, found)
        self.assertIn("credits", found[0]["why"])
        self.expect(text % "1MB" + "faults: [{receive: h0, rate: 100G, at: 50us}]\n", "V-SLOW-RECEIVER", "warning", "h0:0", others=("V-SLOW",))

    def test_pauses(self):
        text = SPINE % (1, 4, "200G") + LOSSLESS % "" + "switches: {buffer: 2MB}\n" + QUIET + \
            "jobs: [{name: in, flows: [%s]}, {name: victim, flows: [%s]}]\n" % (
                flows([(0, 4), (1, 4), (2, 4)], "2MB"), flows([(3, 5)], "1MB"))
        one = self.expect(text, "V-PAUSES", "warning", "leaf1:0")
        self.assertEqual(one["objects"][0], "leaf1:0")
        self.assertIn("began at leaf1:0", one["what"])
        slow = {one["job"]: one for one in verdict(text) if one["id"] == "V-SLOW"}
        self.assertEqual(list(slow), ["victim"])
        self.assertIn("V-PAUSES", slow["victim"]["why"])

    def test_marks_unanswered(self):
        text = SINGLE % 5 + "nics: {mtu: 1024}\ndevices: {%s}\n" % ", ".join(
            f"h{i}: {{congestion: none}}" for i in range(1, 5)) + INCAST
        self.expect(text, "V-NO-CNP", "warning", "h0:0")

    def test_notifications_lost(self):
        text = SINGLE % 5 + "nics: {mtu: 1024, timeout: 8}\n" + INCAST.replace("2MB", "20MB") + \
            "faults: [{drop: h0, every: 3, way: out}]\n"
        self.expect(text, "V-CNP-LOST", "warning", others=("V-LINK-ERRORS", "V-SENT-AGAIN"))

    def test_pauses_first(self):
        text = SINGLE % 5 + LOSSLESS % "" + "switches: {buffer: 2MB}\nnics: {mtu: 1024, congestion: dcqcn/connectx}\n" + INCAST
        self.expect(text, "V-PAUSE-FIRST", "warning", "leaf0:0")

    def test_polarised(self):
        text = HEAD + """topology: {fat-tree: {k: 4}}
links: {host: {rate: 100G, cable: 5m}, fabric: {rate: 100G, cable: 20m}}
switches: {ecmp: {seed: 7}}
nics: {mtu: 1024}
jobs: [{name: p, permutation: random, size: 300KB, repeat: 4}]
"""
        self.expect(text, "V-POLARISED", "warning")

    def test_uneven(self):
        """A hash that sees the receiver's address alone puts all that goes to one host on one link."""
        pairs = [(i % 4, 4 + i % 2) for i in range(256)]
        text = SPINE % (4, 4, "100G") + "switches: {ecmp: {hash: [dst]}}\nnics: {mtu: 1024}\n" + \
            ACROSS % flows(pairs, "12KB")
        one = self.expect(text, "V-UNEVEN", "warning")
        self.assertIn("leaf to spine", one["what"])

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
        one = self.expect(text, "V-STRAGGLER", "warning")
        self.assertEqual(one["job"], "t")
        even = verdict(text.replace("imbalance: 3", "steps: 1"))
        self.assertNotIn("V-STRAGGLER", [one["id"] for one in even])
        self.assertIn("V-EXPOSED", [one["id"] for one in even])

    def test_incast(self):
        text = SINGLE % 17 + "nics: {mtu: 1024}\n" + "jobs: [{name: in, incast: 16, size: 1MB, to: h0}]\n"
        one = self.expect(text, "V-INCAST", "info", "leaf0:0")
        self.assertEqual((one["job"], one["objects"]), ("in", ["leaf0:0"]))
        self.assertIn("16 adapters send to h0:0", one["what"])

    def test_who_holds_back(self):
        """Of an incast whose port rests, the receiver is not called the limit, and the job waited for its rate."""
        text = HEAD + "topology: {single: {hosts: 9}}\nlinks: {host: {rate: 400G, cable: 3m}}\njobs: [{name: in, incast: 8, to: h0, size: 8MB}]\n"

        def why(text):
            return {one["id"]: one["why"] for one in verdict(text)}
        held, free = why(text), why(text + "nics: {congestion: none}\n")
        self.assertRegex(held["V-INCAST"], r"the link was busy for [567]\d\.\d% of the run")
        self.assertRegex(held["V-SLOW"], r"Limited by congestion control: h\d:0 had data")
        self.assertIn("the receiver is the limit", free["V-INCAST"])
        self.assertIn("V-OK", free)

    def test_oversubscribed(self):
        pairs = [(i, 8 + i) for i in range(8)]
        text = SPINE % (1, 8, "200G") + "nics: {mtu: 1024}\n" + ACROSS % flows(pairs)
        one = self.expect(text, "V-OVERSUBSCRIBED", "info", "leaf0:8")
        self.assertIn("4.0 times", one["why"])

    def test_collisions(self):
        """Five flows on four links, as many as the hosts need: some link has two."""
        pairs = [(i, 5 + i) for i in range(5)]
        text = SPINE % (5, 5, "100G") + "nics: {mtu: 1024}\n" + ACROSS % flows(pairs, "2MB")
        self.expect(text, "V-COLLISIONS", "info")
        ids = [one["id"] for one in verdict(text)]
        self.assertNotIn("V-UNEVEN", ids)

    def test_unfinished(self):
        self.expect(SINGLE % 5 + QUIET + INCAST, "V-UNFINISHED", "info", options=("--until", "100us"))


class Healthy(unittest.TestCase):
    """No false alarm: what is well has no warning."""
    def clean(self, found):
        self.assertEqual([one for one in found if one["severity"] not in ("ok", "info")], [])

    def test_pair(self):
        found = verdict(SINGLE % 2 + "jobs: [{name: a, flows: [{src: h0, dst: h1, size: 1MB}]}]\n")
        self.assertEqual([(one["id"], one["severity"]) for one in found], [("V-OK", "ok")])
        self.assertIn("of ideal", found[0]["what"])

    def test_pod64(self):
        """An AllReduce under a few incasts: the incast is named, nothing is called uneven; alone it is healthy."""
        text = (EXAMPLES / "pod64.yaml").read_text(encoding="utf-8")
        found = verdict(text)
        self.clean(found)
        self.assertEqual(found[0]["id"], "V-INCAST")
        self.assertTrue({"V-UNEVEN", "V-POLARISED"}.isdisjoint(one["id"] for one in found))
        slow = [one for one in found if one["id"] == "V-SLOW"]
        self.assertEqual([one["job"] for one in slow], ["allreduce0"])
        self.assertIn("V-INCAST", slow[0]["why"])
        alone = verdict(re.sub(r".*incast: 32.*\n", "", text))
        self.assertEqual([one["id"] for one in alone], ["V-OK"])

    def test_first_marks(self):
        """Stopped when the first CNP is on its way: that nobody has handled it yet means nothing."""
        done = rocelab("sim", "--json", "--until", "67us", EXAMPLES / "incast.yaml")
        run = json.loads(done.stdout)
        self.assertEqual((sum(nic["cnps_sent"] for nic in run["nics"]), sum(nic["cnps_handled"] for nic in run["nics"])), (1, 0))
        self.assertNotIn("V-NO-CNP", [one["id"] for one in run["verdict"]])

    def test_examples(self):
        for name in ("links", "storage", "moe", "dual-plane"):
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
        """VERDICT stands before the jobs, with the findings of the JSON in its order; --quiet has none."""
        text = SINGLE % 17 + "jobs: [{name: \"in\", incast: 16, size: 1MB, to: h0}]\n"
        out = rocelab("sim", "-", stdin=text.encode()).stdout
        self.assertLess(out.index("VERDICT"), out.index("JOBS"))
        section = out[out.index("VERDICT"):out.index("JOBS")]
        self.assertEqual(re.findall(r"^  \w+ (V-[A-Z-]+)", section, re.M), [one["id"] for one in verdict(text)])
        self.assertNotIn("VERDICT", rocelab("sim", "-", "--quiet", stdin=text.encode()).stdout)

    def test_eight_at_most(self):
        jobs = ", ".join(f"{{name: j{i}, flows: [{{src: h{i}, dst: h16, size: 200KB}}]}}" for i in range(16))
        out = rocelab("sim", "-", stdin=(SINGLE % 17 + f"jobs: [{jobs}]\n").encode()).stdout
        section = out[out.index("VERDICT"):out.index("JOBS")]
        self.assertEqual(len(re.findall(r"^  \w+ V-", section, re.M)), 8)
        self.assertRegex(section, r"and \d+ more")


class Page(unittest.TestCase):
    def test_every_finding_is_explained(self):
        page = (SOURCE / "docs" / "verdict.md").read_text(encoding="utf-8")
        listed = (SOURCE / "src" / "report" / "verdict" / "verdict.def").read_text(encoding="utf-8")
        names = re.findall(r'^X\(\w+, "(V-[A-Z-]+)"', listed, re.M)
        self.assertEqual(re.findall(r"^\| `(V-[A-Z-]+)` \|", page, re.M), names)
        out = rocelab("sim", EXAMPLES / "pod64.yaml").stdout
        self.assertIn(out[out.index("VERDICT"):out.index("\nJOBS")], page, "the page shows another verdict on pod64")
        limits = (SOURCE / "src" / "report" / "verdict" / "limits.def").read_text(encoding="utf-8")
        self.assertEqual(re.findall(r"^\| `(\w+)` \| ([0-9]+) \|", page, re.M),
                         re.findall(r"^LIMIT\((\w+), (\d+),", limits, re.M))


if __name__ == "__main__":
    unittest.main()
