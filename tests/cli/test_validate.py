# SPDX-License-Identifier: Apache-2.0
"""rocelab validate: rows and verdicts, criteria of the file, kept rows, every output, wrong use."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import unittest
import xml.etree.ElementTree

from support import PROGRAM, SOURCE, Case, environment, once, patience, rocelab

sys.path.insert(0, str(SOURCE / "tests" / "validate"))
from fabrics import BROKEN, GOOD  # noqa: E402 pylint: disable=wrong-import-position

SMALL = """rocelab: 1
fabric: small
topology: {leaf-spine: {leaves: 2, spines: 2, hosts: 2}}
links: {host: {rate: 100G, cable: 3m}, fabric: {rate: 100G, cable: 30m}}
jobs:
  - {incast: 3, size: 100KB, to: h0}
"""
APPROVED = SMALL + """roles: {leaf: {approved: {nos: [4.31.1F, 4.31.2F]}}}
devices: {leaf0: {installed: {nos: 4.31.2F}}, leaf1: {installed: {nos: 4.30.0F}}}
"""
PLANTED = [
    ("NIC storm", "h4:0"), ("slow receiver", "h4:0"), ("cable of a host with wrong bits", "h4:0"), ("slow GPU", "h4"),
    ("cable between switches with wrong bits", "leaf0:4"), ("hot optic", "leaf0:4"), ("link down", "leaf0:4"), ("link down, and routes stay", "leaf0:4"),
    ("link that comes and goes", "leaf0:4"), ("link with half of its lanes", "leaf0:4"), ("spine down", "spine0"), ("spine that is reset", "spine0"),
    ("small MTU at a port", "leaf1:0"), ("sprayed packets, and adapters that take order for loss", "a switch"), ("old class map on a leaf", "leaf1"),
    ("incast without congestion control", "leaf0:0"), ("leaf without headroom", "leaf0"), ("leaf that does not mark", "leaf0"),
    ("half of a link's lanes and an incast", "leaf0:4"), ("receiver that sends no CNPs", "h0:0"), ("leaf without room for CNPs", "leaf0"),
    ("CNPs in the class of data", "h0:0"), ("spine that does not mark", "spine0"), ("leaf that does not obey pauses", "leaf1:4"), ("deadlock", "leaf0:4")]
SIGNED = SMALL + """switches: {balance: adaptive}
nics: {reorder: true}
owners: {ecn: a, pfc: a, buffer: a, watchdog: a, maps: a, scheduling: a, mtu: a, cabling: a, nics: b, baseline: platform}
teams: {a: [ann], platform: [cy]}
"""


class Validate(Case):
    def validate(self, *arguments, text=SMALL, status=0, path=""):
        """Without promtool, which takes its time, where a test does not ask for it."""
        env = dict(environment(), PATH=path or str(self.folder))
        result = rocelab("validate", self.file("small.yaml", text.encode()), *arguments, cwd=self.folder, env=env)
        self.assertIn(result.returncode, (0, 1) if status is None else (status,), result.stdout + result.stderr)
        return result

    def document(self, *arguments, text=SMALL, status=0, path=""):
        document = json.loads(self.validate("--json", *arguments, text=text, status=status, path=path).stdout)
        self.assertEqual((document["version"], document["kind"]), (1, "validate"))
        return document

    def row(self, document, subject):
        found = [row for row in document["rows"] if subject in row["subject"]]
        self.assertEqual(len(found), 1, [row["subject"] for row in document["rows"]])
        return found[0]

    def test_inputs(self):
        document = self.document("--phase", "1")
        self.assertEqual(document["phases"], [1])
        self.assertEqual(self.row(document, "rocelab check: errors")["verdict"], "pass")
        self.assertEqual(self.row(document, "versions")["verdict"], "skipped")
        document = self.document("--phase", "1", text=APPROVED, status=1)
        row = self.row(document, "approved version")
        self.assertEqual((row["verdict"], row["value"], row["limit"]), ("fail", 1, 0))
        self.assertIn("leaf1: nos 4.30.0F, approved is 4.31.1F", row["why"])

    def test_approved(self):
        other = self.file("approved.yaml", SMALL.replace("30m", "40m").encode())
        row = self.row(self.document("--phase", "1", "--approved", other, status=1), "diff")
        self.assertEqual(row["verdict"], "fail")
        self.assertRegex(row["why"], "leaf0:2: classes.rdma.headroom: approved .*; owner: nobody")
        same = self.file("approved.yaml", SMALL.encode())
        self.assertEqual(self.row(self.document("--phase", "1", "--approved", same), "diff")["verdict"], "pass")

    def test_a_criterion_of_the_file(self):
        text = APPROVED + "validate: {unapproved: 1}\n"
        document = self.document("--phase", "1", text=text)
        row = self.row(document, "approved version")
        self.assertEqual((row["verdict"], row["limit"]), ("pass", 1))
        self.assertEqual([one["criterion"] for one in document["overrides"]], ["unapproved"])
        line = text.count("\n")
        self.assertEqual(row["formula"], f"<= 1 (unapproved of the file, line {line})")
        printed = self.validate("--phase", "1", text=text).stdout
        self.assertIn(f"override, line {line}: unapproved 1 instead of 0", printed)

    def test_baseline(self):
        """A pair alone is as fast as the closed form says; a receiver that takes half of the line is not."""
        rows = self.document("--quick", "--phase", "2")["rows"]
        self.assertEqual({row["verdict"] for row in rows if "live" not in row["test"]}, {"pass"})
        idle = [row for row in rows if row["criterion"] == "idle-latency"]
        self.assertEqual(len(idle), 2)  # within a leaf, and between leaves
        self.assertTrue(all(row["value"] == row["limit"] for row in idle))
        slow = SMALL + "faults: [{receive: h1, rate: 50G, at: 0s}]\n"
        rows = self.document("--quick", "--phase", "2", text=slow, status=1)["rows"]
        wrong = {row["test"] for row in rows if row["verdict"] == "fail"}
        self.assertEqual(wrong, {"point to point", "rails"})

    def test_what_never_ends(self):
        """A host whose cable is down: no row passes by being as bad alone, and no number stands for 'never'."""
        result = self.validate("--quick", "--phase", "3,4", text=SMALL + "faults: [{down: \"h0:0\", at: 0s}]\n", status=1)
        self.assertNotRegex(result.stdout, r"0{15}|1e\+1|\bnan\b|\binf\b")
        self.assertRegex(result.stdout, r"fail +mixed traffic: RDMA flows alone\n +99 of 100 complete")
        self.assertRegex(result.stdout, r"fail +microbursts: bursts of 3 senders\b")
        self.assertRegex(result.stdout, r"fail +two tenants: a tenant alone\b")
        self.assertRegex(result.stdout, r"jct-ratio: never <= 1\.05 x roofline")

    def test_islands(self):
        """Hosts that do not reach each other: rows that need more of them are skipped; a collective has no way, and fails."""
        text = (SMALL.split("topology")[0] + "topology: {links: {hosts: [a, b, c, d], switches: [s, t], "
                "links: [[a, s], [b, s], [c, t], [d, t]]}}\nlinks: {host: {rate: 100G, cable: 3m}}\n")
        rows = self.document("--quick", "--phase", "1,3,4", text=text, status=1)["rows"]
        few = [row["test"] for row in rows if "reach each other" in row["why"]]
        self.assertEqual(few, ["incast", "ECN accuracy", "microbursts", "mixed traffic", "two tenants"])
        failed = {row["test"]: row["why"] for row in rows if row["verdict"] == "fail"}
        self.assertEqual(set(failed), {"collectives", "training step"})
        self.assertIn("no route from b:0 to c:0", failed["collectives"])

    def test_nothing_to_judge(self):
        """One host: what is skipped is not shown to be good, and the end says so."""
        text = SMALL.split("topology")[0] + "topology: {links: {hosts: [a], switches: [s], links: [[a, s]]}}\nlinks: {host: {rate: 100G, cable: 3m}}\n"
        self.assertIn("\nNothing could be judged in phase 2, 3, 4, 5\n", self.validate("--quick", "--phase", "1,2,3,4,5", text=text).stdout)
        self.assertNotIn("Nothing could", self.validate("--quick", "--phase", "1,2").stdout)

    def test_fan_ins(self):
        """What the file designs for is judged, more is told; the design's own fan-in is always among them."""
        text = SMALL.replace("leaves: 2, spines: 2, hosts: 2", "leaves: 2, spines: 2, hosts: 4") + "check: {fan-in: 5}\n"
        rows = [row for row in self.document("--quick", "--phase", "3", text=text, status=None)["rows"] if row["test"] == "incast"]
        self.assertEqual([(row["criterion"], row["subject"].split(":")[0]) for row in rows],
                         [("incast-rate", "2 to 5 senders"), ("pause-spread", "2 to 5 senders"), (None, "7 senders, 20ms after they begin"),
                          ("lossless-drops", "2 to 7 senders"), ("headroom-used", "2 to 7 senders")])
        self.assertEqual(rows[2]["verdict"], "skipped")
        self.assertIn("the file designs for 5 senders", rows[2]["why"])

    @once
    def test_two_sites(self):
        """The message takes the long link, though ways within a site have more links."""
        text = (SMALL.split("topology")[0] + "topology: {links: {hosts: [a, b, c], switches: [s, t, u, v], "
                "links: [[a, s], [b, u], [c, v], [s, t], [t, u], {a: s, b: v, delay: 200us}]}}\n"
                "links: {host: {rate: 10G, cable: 3m}, fabric: {rate: 10G, cable: 30m}}\n")
        rows = [row for row in self.document("--quick", "--phase", "5", text=text, status=None)["rows"] if row["test"] == "two sites"]
        self.assertIn("from a:0 to c:0, over a link of 200us", rows[0]["subject"])
        self.assertEqual([(row["criterion"], row["verdict"]) for row in rows], [("sites-rate", "pass"), ("lossless-drops", "pass")])
        self.assertAlmostEqual(rows[0]["limit"] / 0.9 / 10e9, 6.25e6 * 8 / (6.25e6 * 8 / 0.98 + 4e6), places=2)  # there, and an ACK back
        rows = [row for row in self.document("--quick", "--phase", "2", text=text.replace("10G", "400G"))["rows"] if row["criterion"] == "point-rate"]
        self.assertEqual(len(rows), 2)  # over three links, one of them long, and over four
        for row in rows:
            self.assertAlmostEqual(row["value"] / row["limit"], 1 / 0.95, places=2)  # a long way is no loss of rate
        rows = [row for row in self.document("--quick", "--phase", "5", text=text.replace("200us", "20us"), status=None)["rows"] if row["test"] == "two sites"]
        self.assertEqual([row["verdict"] for row in rows], ["skipped"])

    @once
    def test_written_baseline(self):
        """Written of a plan that passes, by who may; held against the same fabric; changed numbers fail the row."""
        text = SIGNED
        self.document("--quick", "--phase", "4,6", "--write-baseline", "good.json", "--by", "cy", text=text)
        base = json.loads((self.folder / "good.json").read_text())
        self.assertEqual([base[key] for key in ("kind", "level", "owner", "signed_by")], ["baseline", "quick", "platform", "cy"])
        for name in ("fabric_digest", "program_digest"):
            self.assertRegex(base[name], "^[0-9a-f]{16}$")
        rows = self.document("--quick", "--phase", "4,6", "--baseline", "good.json", text=text)["rows"]
        measured = [row for row in rows if row["criterion"] == "busbw"]
        jobs = {job["job"]: job for job in base["jobs"]}
        self.assertEqual(len(measured), 4)
        for row in measured:  # rows have nine digits
            self.assertAlmostEqual(jobs[row["subject"].split()[0]]["busbw_bytes_per_s"] * 8 / row["value"], 1, places=7)
        self.assertEqual({job["message_bytes"] for job in base["jobs"]}, {256000000, 1000000000})
        held = [row for row in rows if (row["criterion"] or "").startswith("baseline-")]
        self.assertEqual([row["verdict"] for row in held], ["pass"] * 7)  # four collectives, three steps
        self.assertIn("cy signed it", self.row({"rows": rows}, "baseline signed")["why"])

        jobs["allreduce"]["busbw_bytes_per_s"] = jobs["allreduce"]["busbw_bytes_per_s"] * 100 // 94
        jobs["step-10ms"]["step_ns"] = jobs["step-10ms"]["step_ns"] * 100 // 106
        jobs["allgather"]["ranks"] += 1
        base["signed_by"] = "ann"
        (self.folder / "good.json").write_text(json.dumps(base))
        rows = self.document("--quick", "--phase", "4,6", "--baseline", "good.json", text=text, status=1)["rows"]
        wrong = [(row["criterion"], row["subject"].split()[0]) for row in rows if row["verdict"] == "fail"]
        self.assertEqual(wrong, [("baseline-rate", "allreduce"), ("baseline-step", "step"), (None, "baseline")])
        skipped = [row["why"] for row in rows if row["verdict"] == "skipped" and "against the baseline" in row["subject"]]
        self.assertEqual(skipped, ["the baseline of level quick has no 'allgather' of these ranks and bytes"])

    @once
    def test_baseline_of_a_file_job(self):
        """`diagnose` finds what validate wrote of a training job."""
        path = SOURCE / "examples" / "cases" / "H02-training.yaml"
        text = path.read_text(encoding="utf-8").replace("stop: 5ms\n", "") + "validate: {jct-ratio: 100, busbw: 0.01, interference: 100}\n"
        self.validate("--phase", "4", "--write-baseline", "good.json", "--by", "anybody", text=text)
        jobs = {job["job"]: job for job in json.loads((self.folder / "good.json").read_text())["jobs"]}
        run = json.loads(rocelab("sim", "--json", "small.yaml", cwd=self.folder).stdout)
        self.assertEqual(jobs["train"]["step_ns"], run["training"][0]["step_ps"] // 1000)
        self.assertEqual(jobs["train"]["ranks"], 8)
        self.assertGreater(jobs["train"]["exposed_share"], 0)
        (self.folder / "run.json").write_text(json.dumps(run))
        done = rocelab("diagnose", "--json", "run.json", "--fabric", "small.yaml", "--baseline", "good.json", cwd=self.folder)
        [training] = json.loads(done.stdout)["training"]
        self.assertEqual((training["base_ns"], training["base_is_ideal"], training["slow"]),
                         (jobs["train"]["step_ns"], False, "no"))

    @once
    def test_planted_causes(self):
        """Each cause is planted and its culprit named exactly; what leaves no trace is skipped, and says so."""
        text = SMALL.replace("spines: 2, hosts: 2", "spines: 2, hosts: 4").replace("leaves: 2", "leaves: 4") + """switches: {balance: adaptive}
nics: {mtu: 4096, reorder: true}
"""
        rows = [row for row in self.document("--quick", "--phase", "6", text=text, status=None)["rows"] if row["test"] == "diagnosis"]
        rules = len(json.loads(rocelab("diagnose", "--list", "--json").stdout)["rules"])
        self.assertEqual([row["subject"] for row in rows[:2]], [f"runbooks: of {rules} rules and 21 alerts, those without a page", "no fault: warnings about a good run"])
        named = [re.fullmatch(r"(.*), at (.*): missing or wrong findings(?: \(the network is not the cause\))?", row["subject"]).groups() for row in rows[2:] if row["verdict"] == "pass"]
        self.assertEqual(named, PLANTED)
        self.assertEqual({row["subject"]: row["why"] for row in rows if row["verdict"] != "pass"}, {
            "tiers that hash alike": "no two tiers of switches choose between links",
            "long flows that meet on a link": "no two of them met on a link, and filled its queue"})
        rows = self.document("--quick", "--phase", "6", text=text + "faults: [{receive: h0, rate: 20G, at: 0s}]\n", status=None)["rows"]
        hidden = [row for row in rows if row["test"] == "diagnosis" and row["verdict"] == "skipped" and row["subject"] != "tiers that hash alike"]
        self.assertEqual({row["why"] for row in hidden}, {"this fabric has a cause of its own, which would hide it"})
        self.assertEqual(len(hidden), 13)

    def test_planted_causes_beside_a_link_that_is_not_there(self):
        """An uplink of the first leaf is down in the file: no plant needs it."""
        text = SMALL.replace("leaves: 2", "leaves: 4") + "devices: {leaf0: {ports: {2: {up: false}}}}\n"
        rows = [row for row in self.document("--quick", "--phase", "6", text=text, status=None)["rows"] if row["test"] == "diagnosis"]
        self.assertIn("NIC storm, at h2:0: missing or wrong findings", {row["subject"] for row in rows if row["verdict"] == "pass"})

    def test_alerts(self):
        """Planted causes raise their alerts by promtool; a slow host is an alert about a good run; without promtool the row is skipped."""
        [row] = [row for row in self.document("--quick", "--phase", "6", status=None)["rows"] if row["test"] == "alerts fire"]
        self.assertEqual(row["verdict"], "skipped")
        self.assertIn("promtool is not installed", row["why"])
        if not shutil.which("promtool"):
            self.skipTest("promtool is not installed")
        text = SMALL + "nics: {mtu: 4096, congestion: none}\n"
        rows = [row for row in self.document("--quick", "--phase", "6", text=text, status=None, path=os.environ["PATH"])["rows"] if row["test"] == "alerts fire"]
        self.assertEqual([(row["subject"].split(":")[0], row["verdict"], row["criterion"]) for row in rows],
                         [(name, "pass", "alerts") for name in ("no fault", "NIC storm", "link down")])
        text += "devices: {h2: {receive: {rate: 20G, buffer: 400KB}}}\n"
        [row] = [row for row in self.document("--quick", "--phase", "6", text=text, status=1, path=os.environ["PATH"])["rows"] if "alerts about a good run" in row["subject"]]
        self.assertEqual(row["verdict"], "fail")
        self.assertIn("HostPausesFabric", row["why"])

    def test_wrong_baseline(self):
        for arguments, words, text in [
            (["--by", "cy"], ["--write-baseline FILE"], SIGNED),
            (["--write-baseline", "b.json"], ["--by NAME"], SIGNED),
            (["--write-baseline", "b.json", "--by", ""], ["--by is a name"], SIGNED),
            (["--write-baseline", "b.json", "--by", "ann"], ["--by 'ann'", "platform's to sign"], SIGNED),
            (["--write-baseline", "b.json", "--by", "eve"], ["neither an owner nor in a team"], SIGNED.replace("baseline: ", "other: ")),
            (["--write-baseline", "b.json", "--by", "cy", "--phase", "1"], ["phase 4"], SIGNED),
            (["--write-baseline", "small.yaml", "--by", "cy"], ["twice"], SIGNED),
            (["--baseline", "other.json"], ["other.json:1:", "another fabric file"], SIGNED),
            (["--baseline", "none.json"], ["which fabric file"], SIGNED),
            (["--baseline", "long.json"], ["long.json:1:", "'signed_by'", "1 to 100 bytes"], SIGNED),
            (["--baseline", "small.yaml"], ["small.yaml:1:"], SIGNED),
            (["--baseline", "none.json", "--weeks", "4"], ["--weeks"], SIGNED),
            (["--baseline", "live.json"], ["live.json:2:", "'live' is no list"], SIGNED),
            (["--baseline", "machine.json"], ["machine.json:2:", "'machine' does not say 'cpu', 'processors' and 'kernel'"], SIGNED),
            (["--baseline", "figure.json"], ["figure.json:2:", "one of them is due"], SIGNED),
            (["--baseline", "host.json"], ["host.json:2:", "'host' is no text"], SIGNED),
            (["--baseline", "below.json"], ["below.json:2:", "numbers from 0 to 1e18"], SIGNED),
            (["--live", "--fault", "loss=1%", "--write-baseline", "b.json", "--by", "cy"], ["a baseline is of a good day"], SIGNED),
            (["--nccl-tests", "."], ["--live"], SIGNED),
        ]:
            head = '{"version": 1, "kind": "baseline", '
            self.file("other.json", (head + '"fabric_digest": "0123456789abcdef", "jobs": []}').encode())
            self.file("none.json", (head + '"fabric_digest": null, "jobs": []}').encode())
            self.file("long.json", (head + '"signed_by": "' + "x" * 101 + '", "jobs": []}').encode())
            for name, part in (("live", '"live": 3'), ("machine", '"live": [{"program": "p", "latency_ns": 3}]'), ("figure", '"live": [{"program": "p"}]'),
                               ("host", '"measured": [{"program": "p", "host": 3, "latency_ns": 3}]'), ("below", '"measured": [{"program": "p", "latency_ns": -3}]')):
                self.file(f"{name}.json", (head + '"jobs": [],\n' + part + "}").encode())
            self.file("small.yaml", text.encode())
            self.wrong(rocelab("validate", "small.yaml", *arguments, cwd=self.folder), *words)
            self.assertFalse((self.folder / "b.json").exists())
        result = self.validate("--quick", "--phase", "4", "--write-baseline", "b.json", "--by", "cy",
                               text=SIGNED + "validate: {busbw: 1.5}\n", status=1)
        self.assertRegex(result.stderr, r"b\.json': not written, because 4 rows failed")
        self.assertEqual(list(self.folder.glob("b.json*")), [])

    def test_the_example_is_accepted(self):
        """Every phase of this room, at the size of a first look; the phases of failures and operations have their own."""
        example = (SOURCE / "examples" / "pod64-accepted.yaml").read_text(encoding="utf-8")
        document = self.document("--quick", "--phase", "1,2", text=example)
        self.assertEqual(document["verdicts"]["warn"], 0)
        skipped = [row["subject"] for row in document["rows"] if row["verdict"] == "skipped" and "live" not in row["test"]]
        self.assertEqual(skipped, ["rocelab diff against the approved fabric"])

    def test_broken_fabrics(self):
        """One of each kind by the phase that finds it; all forty, with every phase, are in the soak."""
        good, broken = dict(GOOD), {name: text for name, text, *_ in BROKEN}
        for phase, name in [("1", "PFC off at one end"), ("1", "routes that turn"), ("1", "a version that nobody knows"),
                            ("2", "C01 pause storm"), ("2", "a window of 64 KB")]:
            document = self.document("--quick", "--phase", phase, text=broken[name], status=1)
            self.assertGreater(document["verdicts"]["fail"], 0, name)
        self.document("--quick", "--phase", "1,2", text=good["rail"])

    def test_killed(self):
        """Killed in the middle, it goes on: tests that were done are not run again, and the report is the same."""
        path = self.file("small.yaml", SMALL.encode())
        command = [PROGRAM, "validate", str(path), "--quick", "--phase", "1,2,3", "--jobs", "1", "--out", "kept"]
        whole = self.document("--quick", "--phase", "1,2,3", status=None)
        points = self.folder / "kept" / "points"
        process = subprocess.Popen(command, cwd=self.folder, env=environment(), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        with patience("the first rows"):
            while process.poll() is None and len(list(points.glob("*"))) < 3:
                pass
        process.send_signal(signal.SIGKILL)
        process.wait()
        kept = len([name for name in os.listdir(points) if "." not in name])
        self.assertGreaterEqual(kept, 2)
        again = self.validate("--quick", "--phase", "1,2,3", "--out", "kept", status=None)
        self.assertRegex(again.stderr, r"\b([2-9]|1\d) of \d+ tests were kept in kept")
        self.assertIn(whole["digest"], again.stdout)

    def test_live_rows_are_skipped_in_words(self):
        rows = [row for row in self.document("--phase", "1,2")["rows"] if "live" in row["test"]]
        self.assertEqual([(row["verdict"], row["why"]) for row in rows], [("skipped", "--live runs it on this machine")] * len(rows))

    def test_any_number_of_processes(self):
        one, two = (self.document("--phase", "1", "--jobs", jobs) for jobs in ("1", "2"))
        self.assertEqual(one["digest"], two["digest"])

    def test_outputs(self):
        printed = self.validate("--phase", "1", "--html", "page.html").stdout
        self.assertIn("Phase 1, laboratory", printed)
        self.assertIn("<html", (self.folder / "page.html").read_text())
        root = xml.etree.ElementTree.fromstring(self.validate("--phase", "1", "--junit").stdout)
        suite = root.find("testsuite")
        self.assertEqual(suite.get("failures"), "0")
        self.assertEqual(len(suite.findall("testcase")), int(suite.get("tests")))

    def test_kept(self):
        first = self.document("--phase", "1", "--out", "kept")
        self.assertTrue((self.folder / "kept" / "validate.json").exists())
        again = self.validate("--phase", "1", "--out", "kept")
        self.assertIn("4 of 4 tests were kept in kept", again.stderr)
        self.assertIn(first["digest"], again.stdout)

    @once
    def test_stress_closes_the_circle_of_check(self):
        """Five switches in a ring: `check` finds the circle, its traffic closes it, and only a watchdog breaks it."""
        hosts = [f"h{i}" for i in range(15)]
        links = [f"[h{i}, s{i // 3}]" for i in range(15)] + [f"[s{i}, s{(i + 1) % 5}]" for i in range(5)]
        ring = (f"rocelab: 1\nfabric: ring\ntopology: {{links: {{hosts: [{', '.join(hosts)}], switches: [s0, s1, s2, s3, s4], "
                f"links: [{', '.join(links)}]}}}}\nlinks: {{host: {{rate: 100G, cable: 3m}}, fabric: {{rate: 100G, cable: 3m}}}}\n"
                "classes:\n  - {name: rdma, dscp: 26, priority: 3, lossless: true, xoff: 40KB}\n  - {name: default, priority: 0}\n"
                "jobs: [{permutation: 2, size: 1MB}]\nswitches: {buffer: 16MB")
        for watchdog, verdict, words in [("}\n", "fail", "deadlocks that hold"),
                                         (", watchdog: {poll: 10ms, detect: 20ms, restore: 20ms}}\n", "pass", "broken by the watchdog")]:
            row, = [row for row in self.document("--quick", "--phase", "5", text=ring + watchdog, status=None)["rows"] if row["test"] == "deadlock stress"]
            self.assertEqual(row["verdict"], verdict)
            self.assertIn("the circle of 5 links", row["subject"])
            self.assertIn(words, row["subject"])

    def test_drains_and_soak(self):
        """Every switch that leaves hosts a path has its turn; nothing is lost; a soak holds no more and more memory."""
        rows = self.document("--phase", "5,6", "--soak", "5ms", text=SMALL + "converge: {detect: 10us, step: 5us, ordered: true}\n",
                             status=None)["rows"]
        rolling = [row for row in rows if row["test"] == "rolling update"]
        self.assertTrue(any("all 2 switches" in row["subject"] for row in rolling), rolling)
        self.assertEqual({row["verdict"] for row in rolling if row["criterion"]}, {"pass"})
        impact, = [row for row in rows if row["test"] == "no impact"]
        self.assertEqual((impact["verdict"], impact["criterion"]), ("pass", "impact"))
        soak = [row for row in rows if row["test"] == "soak"]
        self.assertIn("memory", soak[1]["subject"])
        self.assertEqual(soak[0]["verdict"], "pass")
        self.assertIn(soak[1]["verdict"], ("pass", "skipped"))  # a sanitizer's allocator does not count

    def test_another_fabric_takes_nothing_of_what_was_kept(self):
        first = self.document("--phase", "1", "--out", "kept")
        other = self.validate("--phase", "1", "--out", "kept", text=SMALL.replace("100KB", "101KB"))
        self.assertIn("is of another fabric file, seed, plan or program: none of it was used", other.stderr)
        again = self.validate("--phase", "1", "--out", "kept")
        self.assertRegex(again.stderr, r"(\d+) of \1 tests were kept")
        self.assertIn(first["digest"], again.stdout)

    def test_wrong(self):
        for arguments, words in [
            (["--phase", "7"], ["--phase '7'", "1 to 6"]),
            (["--phase", "9"], ["--phase '9'", "1 to 6"]),
            (["--phase", ""], ["--phase ''", "1 to 6"]),
            (["--out", "/proc/nowhere"], ["--out '/proc/nowhere'", "No such file"]),
            (["--out", "small.yaml"], ["--out 'small.yaml'", "Not a directory"]),
            (["--html", "/proc/nowhere/page.html"], ["--html '/proc/nowhere/page.html'"]),
            (["--live", "--fault", "lots"], ["--fault 'lots'", "NAME=VALUE"]),
            (["--live", "--fault", "loss=much"], ["--fault 'loss=much'"]),
            (["--soak", "1parsec"], ["--soak '1parsec'", "unit of time"]),
            (["--phase", "1,,2"], ["--phase '1,,2'"]),
            (["--quick", "--full"], ["two plans"]),
            (["--json", "--junit"], ["two formats"]),
            (["--force"], ["--out DIR"]),
            (["--fault", "loss=1%"], ["--live"]),
            (["--soak", "0"], ["more than 0"]),
            (["--approved", "small.yaml", "--phase", "2"], ["phase 1", "--phase"]),
            (["--weeks", "4", "--phase", "2"], ["--weeks runs no plan"]),
        ]:
            result = rocelab("validate", self.file("small.yaml", SMALL.encode()), *arguments, cwd=self.folder)
            self.wrong(result, *words)
        self.wrong(rocelab("validate"), "which file?")
        for text, words in [
            ("validate: {jct: 1}\n", "validate"),
            ("validate: {check-errors: many}\n", "check-errors"),
            ("validate: 3\n", "validate"),
            ("validate: {point-rate: 95}\n", "point-rate: '95' is that many times; for a share write 95%"),
            ("validate: {jct_ratio: 1.1}\n", "unknown 'jct_ratio'; did you mean 'jct-ratio'"),
        ]:
            result = rocelab("validate", self.file("small.yaml", (SMALL + text).encode()), cwd=self.folder)
            self.assertEqual(result.returncode, 2)
            self.assertRegex(result.stderr, rf"small\.yaml:{SMALL.count(chr(10)) + 1}:\d+: error: .*{words}")
            self.assertEqual(result.stdout, "")


if __name__ == "__main__":
    unittest.main()
