# SPDX-License-Identifier: Apache-2.0
"""rocelab tune: the answer is better on fresh seeds, follows from the file alone, and wrong use is told."""
import json
import os
import re
import signal
import subprocess
import time
import unittest

from support import PROGRAM, Case, once, patience, rocelab

# Pauses come almost at once: with a larger alpha there are none.
LATE = """rocelab: 1
fabric: late
topology: {single: {hosts: 6}}
links: {host: {rate: 100G, cable: 3m}}
switches: {buffer: 4MB}
classes:
  - {name: rdma, dscp: 26, priority: 3, lossless: true, alpha: 1/32, ecn: {min: 40KB, max: 60KB, probability: 1%}, share: 90%}
  - {name: cnp, dscp: 48, priority: 6, strict: true}
  - {name: default, priority: 0, share: 10%}
jobs:
  - {name: burst, incast: 4, size: 1MB, to: h0, repeat: 2}
  - {name: side, flows: [{src: h1, dst: h5, size: 500KB}]}
"""
# Jobs that do not end before `stop`, and are paused at once.
STEADY = LATE.split("jobs:")[0].replace("alpha: 1/32", "alpha: 1/64").replace("min: 40KB, max: 60KB", "min: 200KB, max: 400KB") + (
    "jobs:\n  - {name: burst, incast: 4, size: 100GB, to: h0}\nstop: 5ms\n")
# One flow that nothing is in the way of.
ALONE = LATE.split("jobs:")[0] + "jobs:\n  - {flows: [{src: h0, dst: h1, size: 1MB}]}\n"


class Tune(Case):
    def tune(self, *arguments, text=LATE, status=0):
        result = rocelab("tune", self.file("late.yaml", text.encode()), *arguments, cwd=self.folder)
        self.assertEqual(result.returncode, status, result.stderr + result.stdout)
        return result

    def document(self, *arguments, text=LATE):
        document = json.loads(self.tune("--json", *arguments, text=text).stdout)
        self.assertEqual((document["version"], document["kind"]), (1, "tune"))
        return document

    def test_the_answer_is_better_and_the_same_for_any_number_of_processes(self):
        arguments = ("--for", "paused", "--vary", "ecn,alpha", "--runs", "60")
        document = self.document(*arguments, "--jobs", "1")
        self.assertEqual(document, self.document(*arguments, "--jobs", "3"))
        self.assertTrue(document["helps"])
        self.assertLessEqual(document["runs"], 60)
        own, tuned = document["settings"][0], [one for one in document["settings"] if one["name"] == "tuned"][0]
        self.assertEqual((own["name"], own["goal"]["ratio"]), ("as it is", 1))
        self.assertLess(tuned["goal"]["ratio_most"], 1)
        self.assertLess(tuned["paused_share"], own["paused_share"])
        self.assertTrue(any(one["front"] for one in document["settings"]))
        self.assertEqual(sum(one["knee"] for one in document["settings"]), 1)
        self.assertTrue(document["change"])
        self.assertTrue(all(one["key"].startswith("classes.rdma.") for one in document["change"]))
        self.assertTrue(document["why"])

    def test_what_it_says_is_what_sim_measures(self):
        """The change put into the file: the same pauses as the report has, with a fresh seed."""
        document = self.document("--for", "paused", "--vary", "ecn,alpha", "--runs", "40")
        ecn = [one["value"] for one in document["change"] if one["key"] == "classes.rdma.ecn"]
        alpha = [one["value"] for one in document["change"] if one["key"] == "classes.rdma.alpha"]
        changed = LATE
        if ecn:
            changed = changed.replace("{min: 40KB, max: 60KB, probability: 1%}", ecn[0])
        if alpha:
            changed = changed.replace("alpha: 1/32", "alpha: " + alpha[0])
        self.assertNotEqual(changed, LATE)
        share = []
        for seed in range(1001, 1001 + document["fresh_seeds"]):
            run = json.loads(rocelab("sim", "--json", "--seed", str(seed), self.file("x.yaml", changed.encode())).stdout)
            time = max(job["start_ps"] + job["time_ps"] for job in run["jobs"])
            share.append(sum(port["paused_ps"] for port in run["ports"]) / time / len(run["ports"]))
        tuned = [one for one in document["settings"] if one["name"] == "tuned"][0]
        self.assertAlmostEqual(tuned["paused_share"], sum(share) / len(share), places=6)

    @once
    def test_words_are_what_ran(self):
        """What WHY says was marked, sent and paused: the means of the same seeds by `sweep`."""
        self.tune("--for", "time", "--vary", "alpha,dcqcn", "--runs", "80", "--out", "out")
        document = json.loads((self.folder / "out" / "tune.json").read_text())
        said = re.search(r"mark ([\d,]+) packets instead of ([\d,]+), and adapters send ([\d,]+) CNPs instead of ([\d,]+): "
                         r"senders are told to slow down (more|less) often", " ".join(document["why"]))
        self.assertTrue(said, document["why"])
        runs = [[json.loads(rocelab("sim", "--json", "--seed", str(1001 + seed), path).stdout) for seed in range(document["fresh_seeds"])]
                for path in (self.folder / "out" / "tuned.yaml", self.folder / "late.yaml")]
        found = [int(sum(one[key] for run in of for one in run[part]) / len(of))
                 for part, key in (("ports", "ecn_marked"), ("nics", "cnps_sent")) for of in runs]
        self.assertEqual([int(said[i].replace(",", "")) for i in (1, 2, 3, 4)], found)
        self.assertEqual(said[5], "more" if found[2] > found[3] else "less")

    @once
    def test_who_sends_less_is_no_answer(self):
        """Jobs that do not end: fewer pauses because less is sent is nothing gained."""
        self.tune("--for", "paused", "--vary", "ecn", "--runs", "80", "--out", "out", text=STEADY)
        both = [json.loads(rocelab("sweep", path, "--json", "--quiet", "--vary", "seed=1001").stdout)["points"][0]
                for path in (self.folder / "late.yaml", self.folder / "out" / "tuned.yaml")]
        self.assertLess(both[1]["paused_ps"], 0.5 * both[0]["paused_ps"])
        self.assertGreater(both[1]["payload_bytes"], 0.95 * both[0]["payload_bytes"])

    @once
    def test_the_change_is_small(self):
        """Every value of it is missed when it alone is set back; the others stay."""
        document = self.document("--for", "time", "--runs", "300")
        changed = [one for one in document["parameters"] if one["now"] != one["tuned"]]
        self.assertLess(len(changed), 8)
        missed = [one["set_back_ratio"] for one in changed if one["set_back_ratio"] is not None]
        self.assertTrue(missed and min(missed) > 1.005, changed)
        front = [one for one in document["settings"] if one["front"]]
        for i, one in enumerate(front):
            for other in front[:i]:
                self.assertTrue(any(abs(one[key]["ratio"] / other[key]["ratio"] - 1) > 0.005 for key in ("speed", "p99", "paused")))

    def test_where_tuning_cannot_help(self):
        result = self.tune("--for", "time", "--runs", "20", text=ALONE)
        self.assertIn("tuning cannot help", result.stdout)
        self.assertIn("No packet is marked", result.stdout)

    def test_runs_are_kept(self):
        arguments = ("--for", "time", "--vary", "ecn.min", "--runs", "20", "--out", "kept")
        first = self.tune(*arguments)
        again = self.tune(*arguments)
        self.assertEqual(first.stdout, again.stdout)
        self.assertRegex(again.stderr, r"(\d+) of \1 runs were kept")
        self.assertEqual(json.loads((self.folder / "kept" / "tune.json").read_text())["goal"], "time")

    def test_a_killed_search_goes_on(self):
        arguments = ("--for", "time", "--runs", "60", "--quiet")
        path = self.file("late.yaml", LATE.encode())
        with subprocess.Popen([PROGRAM, "tune", path, *arguments, "--out", self.folder / "kept"], stdout=subprocess.DEVNULL) as first:
            points = self.folder / "kept" / "points"
            with patience("runs that are kept"):
                while first.poll() is None and len(list(points.glob("*"))) < 5:
                    time.sleep(0.01)
            os.kill(first.pid, signal.SIGKILL)
        self.assertGreaterEqual(len(list(points.glob("*"))), 5)
        again = rocelab("tune", path, "--for", "time", "--runs", "60", "--json", "--out", self.folder / "kept")
        self.assertRegex(again.stderr, r"\d+ of \d+ runs were kept")
        self.assertEqual(json.loads(again.stdout), self.document(*arguments))

    # A system, and what is tuned: all that it has a word for.
    SYSTEMS = {"sonic": "ecn,alpha,dcqcn", "nvue": "ecn,alpha,dcqcn", "nxos": "ecn,dcqcn", "eos": "ecn,dcqcn",
               "junos": "ecn.probability,alpha,dcqcn", "host": "dcqcn"}

    @once
    def test_the_change_as_configuration_is_what_was_simulated(self):
        """Emitted, read back, run with the file's jobs: the digest of tuned.yaml."""
        fabric = LATE.replace("{single: {hosts: 6}}", "{leaf-spine: {leaves: 2, spines: 1, hosts: 3}}").replace(
            "switches: {buffer: 4MB}", "switches: {model: tomahawk3}").replace("alpha: 1/32, ", "")
        for system, keys in self.SYSTEMS.items():
            out = self.folder / system
            self.tune("--for", "time", "--vary", keys, "--runs", "40", "--nos", system, "--out", out, text=fabric)
            files = sorted((out / "tuned").iterdir())
            if system == "host":  # its switches stay as they are
                self.assertTrue(all(path.suffix == ".sh" for path in files), files)
                files += [path for path in sorted((self.folder / "sonic" / "present").iterdir()) if path.suffix != ".sh"]
            read = rocelab("import", "--model", "tomahawk3", *files).stdout
            if system == "junos":  # whole per cent of a buffer: thresholds are not tuned there, and not read back
                read = re.sub(r"(?m)^( +max:) \w+\n( +min:) \w+$", r"\1 60KB\n\2 40KB", read)
            back = self.file("back.yaml", (read + "jobs:" + fabric.split("jobs:")[1]).encode())
            digests = [json.loads(rocelab("sim", "--json", path).stdout)["digest"] for path in (
                back, out / "tuned.yaml", self.file("late.yaml", fabric.encode()))]
            self.assertEqual(digests[0], digests[1], system)
            self.assertNotEqual(digests[1], digests[2], system)
            change = json.loads((out / "tune.json").read_text())["change"]
            lines = (out / "change.diff").read_text()
            for place, device in (("classes.", "leaf0."), ("nics.", "h0.sh")):
                self.assertEqual("+++ tuned/" + device in lines, any(one["key"].startswith(place) for one in change), system)

    def test_a_written_file_says_what_was_read(self):
        """Whatever a file has: quotes, lists, blocks, names of files beside it."""
        odd = LATE.replace("fabric: late", "fabric: \"la: te, {x}\"").split("jobs:")[0] + (
            "devices: {leaf0: {ports: {1-2: {mtu: 4200}}}}\nowners: {ecn: 'team \\ \"a\"'}\njobs:\n  - name: some\n    flows: |\n"
            "      h1 h0 900KB\n      h2 h0 900KB 1us\n  - {flows: {file: more.flows}}\n")
        self.file("more.flows", b"h3 h0 900KB\nh4 h0 900KB\n")
        self.tune("--for", "time", "--vary", "alpha", "--runs", "12", "--out", "odd", text=odd)
        first, again = (json.loads(rocelab("sim", "--json", path, cwd=self.folder).stdout) for path in ("late.yaml", "odd/tuned.yaml"))
        self.assertEqual(first["fabric"], again["fabric"])
        self.assertEqual([job["bytes"] for job in first["jobs"]], [job["bytes"] for job in again["jobs"]])
        written = (self.folder / "odd" / "tuned.yaml").read_text()
        self.assertNotRegex(written, r"(?m) $")
        self.assertIn(str(self.folder / "more.flows"), written)

    @once
    def test_robust(self):
        """Goes by other loads, jobs alone and a failed link; every link is in the verdict."""
        two = LATE.replace("{single: {hosts: 6}}", "{leaf-spine: {leaves: 2, spines: 2, hosts: 3}}")
        arguments = ("--for", "time", "--vary", "alpha,dcqcn", "--robust", "--runs", "160")
        document = self.document(*arguments, "--jobs", "1", text=two)
        self.assertEqual(document, self.document(*arguments, "--jobs", "8", text=two))
        self.assertTrue(document["robust"])
        self.assertTrue(document["helps"])
        under = {one["traffic"]: one for one in document["under"]}
        self.assertEqual([one for one in under if one.endswith("down")], [f"leaf{leaf}:{port} down" for leaf in (0, 1) for port in (3, 4)])
        self.assertEqual([name for name in under if under[name]["searched"]],
                         ["half the sizes and loads", "sizes and loads x1.5", "burst alone", "side alone", "leaf0:3 down"])
        self.assertEqual(document["robustness_worst_ratio"], max(one["ratio"] for one in under.values() if one["foreign"]))
        self.assertEqual((document["links"], document["links_tried"]), (4, 4))
        self.assertLess(document["robustness_ratio"], document["robustness_worst_ratio"])

    def test_a_budget_is_kept(self):
        for runs in (10, 13, 25, 47):
            self.assertLessEqual(self.document("--for", "time", "--runs", str(runs))["runs"], runs)
        self.tune("--for", "time", "--runs", "9", status=2)

    def test_time_ends_the_search_and_is_told(self):
        document = self.document("--for", "time", "--runs", "60", "--time", "1us")
        self.assertTrue(document["out_of_time"])
        self.assertLess(document["runs"], 50)
        self.assertGreater(document["fresh_seeds"], 1)

    def test_list(self):
        text = self.tune("--list").stdout
        self.assertRegex(text, r"classes\.rdma\.ecn\.min +ecn +40KB +10KB +1\.6MB")
        self.assertRegex(text, r"classes\.rdma\.alpha +pfc +1/32 +1/128 +8")
        self.assertNotIn("scheduler", text)  # no job is in another class that shares
        self.assertNotIn("jobs.qps", text)
        self.assertIn("cumulus", text)
        text = self.tune("--list", "--nos", "eos").stdout
        self.assertIn("not tuned: classes.rdma.alpha: the system has no word for alpha", text)

    def test_a_share_is_tuned_where_two_classes_share(self):
        shared = LATE + "  - {name: bulk, class: default, incast: 2, size: 100KB, to: h5}\n"
        self.assertRegex(self.tune("--list", text=shared).stdout, r"classes\.rdma\.share +scheduler +90% +5% +95%")

    def test_wrong(self):
        for arguments, words in (
                (("--for", "speed"), ("--for 'speed'", "p99:CLASS")),
                (("--for", "p99"), ("p99:CLASS",)),
                (("--for", "p99:gold"), ("no such class", "rdma, cnp, default")),
                (("--for", "p99:default"), ("no job is in this class", "class: default")),
                (("--for", "busbw", "--vary", "ecn.mni"), ("not a key that can be tuned", "did you mean 'ecn.min'", "alpha")),
                (("--for", "time", "--vary", "ecn,,alpha"), ("--vary 'ecn,,alpha'", "a key is missing")),
                (("--for", "time", "--vary", "qps"), ("no job has queue pairs",)),
                (("--for", "time", "--vary", "scheduler"), ("no two classes with a 'share'",)),
                (("--for", "time", "--vary", "alpha", "--nos", "eos"), ("--vary alpha", "no word for alpha")),
                (("--for", "time", "--vary", "alpha", "--nos", "host"), ("--vary alpha", "nothing of switches")),
                (("--for", "time", "--nos", "ios"), ("nxos, eos",)),
                (("--for", "time", "--runs", "1"), ("too few to try one setting", "--runs 10")),
                (("--for", "time", "--runs", "0"), ("--runs '0'",)),
                (("--for", "time", "--vary", ""), ("which keys?",)),
                (("--for", "time", "--time", "0"), ("--time '0'",)),
                (("--for", "time", "--out", "/proc/nowhere"), ("--out '/proc/nowhere'", "No such file")),
                (("--for", "time", "--html", "/proc/nowhere/x.html"), ("--html '/proc/nowhere/x.html'",)),
                ((), ("for what?",)),
                (("--for", "time", "--force"), ("--out DIR",))):
            result = self.tune(*arguments, status=2)
            self.assertEqual(result.stdout, "", arguments)
            for word in words:
                self.assertIn(word, result.stderr, arguments)
        credits = "rocelab: 1\nsystem: infiniband\ntopology: {single: {hosts: 3}}\nlinks: {host: {rate: 100G}}\njobs: [{incast: 2, size: 1MB}]\n"
        for goal, text, words in (("time", credits, "nothing of"), ("time", LATE.split("jobs:")[0], "no jobs"),
                                  ("time", STEADY, "not all jobs end before the file's 'stop'"),
                                  ("p99:rdma", STEADY, "no flow of this class ends before the file's 'stop'")):
            self.assertIn(words, self.tune("--for", goal, text=text, status=2).stderr)


if __name__ == "__main__":
    unittest.main()
