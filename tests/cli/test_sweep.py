# SPDX-License-Identifier: Apache-2.0
"""rocelab sweep: values replaced as the loader sees them, one row a combination, results kept and not mixed up."""
import csv
import io
import json
import os
import pathlib
import signal
import subprocess
import time
import unittest

from support import PROGRAM, Case, environment, rocelab

POD = """rocelab: 1
fabric: pod
topology: {leaf-spine: {leaves: 2, spines: 2, hosts: 2}}
links: {host: {rate: 100G, cable: 3m}, fabric: {rate: 100G, cable: 30m}}
classes:
  - {name: rdma, dscp: 26, priority: 3, lossless: true, ecn: {min: 20KB, max: 80KB, probability: 10%}}
  - {name: default, priority: 0}
nics: {mtu: 1024, congestion: dcqcn/connectx}
jobs:
  - {name: ring, allreduce: ring, size: 256KB}
  - {incast: 3, size: 100KB, to: h0}
"""

SHORT = """rocelab: 1
topology: {single: {hosts: 8}}
links: {host: {rate: 100G}}
jobs: [{incast: 7, size: 1MB, to: h0}]
"""


class Sweep(Case):
    def setUp(self):
        super().setUp()
        self.path = self.file("pod.yaml", POD.encode())

    def sweep(self, *arguments, status=0):
        result = rocelab("sweep", self.path, *arguments, cwd=self.folder)
        self.assertEqual(result.returncode, status, result.stderr)
        return result

    def points(self, *arguments, status=0):
        document = json.loads(self.sweep("--json", *arguments, status=status).stdout)
        self.assertEqual((document["version"], document["kind"]), (1, "sweep"))
        return document["points"]

    def values(self, *arguments):
        """What one axis takes; the loader refuses some of it, which is not the point here."""
        document = json.loads(rocelab("sweep", self.path, "--json", "--vary", *arguments, cwd=self.folder).stdout)
        return [point["set"][0] for point in document["points"]]

    def sim(self, text):
        result = rocelab("sim", "--json", self.file("other.yaml", text.encode()), cwd=self.folder)
        return json.loads(result.stdout)

    def test_a_point_is_what_sim_says_of_the_edited_file(self):
        points = self.points("--vary", "classes.rdma.ecn.min=5KB,40KB", "--vary", "jobs.incast.size=100KB,300KB")
        self.assertEqual([p["set"] for p in points], [["5KB", "100KB"], ["5KB", "300KB"], ["40KB", "100KB"], ["40KB", "300KB"]])
        for point in points:
            run = self.sim(POD.replace("min: 20KB", "min: " + point["set"][0]).replace("size: 100KB", "size: " + point["set"][1]))
            self.assertEqual(point["state"], "done")
            self.assertEqual(point["packet_hops"], run["packet_hops"])
            self.assertEqual(point["marks"], sum(port["ecn_marked"] for port in run["ports"]))
            self.assertEqual(point["pauses"], sum(port["pfc_tx"] for port in run["ports"]))
            self.assertEqual(point["queue_max_bytes"], max(port["queue_max_bytes"] for port in run["ports"]))
            self.assertEqual(point["time_ps"], max(job["start_ps"] + job["time_ps"] for job in run["jobs"]))
            self.assertEqual([(j["name"], j["time_ps"], j["busbw_GBps"]) for j in point["jobs"]],
                             [(j["name"], j["time_ps"], j["busbw_GBps"]) for j in run["jobs"]])
            self.assertEqual(point["busbw_GBps"], run["jobs"][0]["busbw_GBps"])
            slow = sorted(flow["fct_ps"] * 1000 // flow["ideal_ps"] for flow in run["flows"])
            self.assertEqual((point["slowdown_p50"], point["slowdown_max"]), (slow[1] / 1000, slow[2] / 1000))
        self.assertEqual(len({point["marks"] for point in points}), 4)

    def test_completion_times_bytes_and_parts(self):
        """What the columns for comparing say, against the run's own document and the bill of materials."""
        point = self.points("--vary", "seed=1")[0]
        run = self.sim(POD)
        times = sorted(flow["fct_ps"] for flow in run["flows"])
        self.assertEqual((point["fct_p50_ps"], point["fct_p99_ps"], point["fct_p999_ps"]), (times[1], times[2], times[2]))
        self.assertEqual(point["payload_bytes"], sum(nic["rx_payload_bytes"] for nic in run["nics"]))
        self.assertEqual(point["line_bytes"], sum(port["line_bytes"] for port in run["ports"] if port["port"].startswith("h")))
        self.assertAlmostEqual(point["overhead"], 1 - point["payload_bytes"] / point["line_bytes"], 5)
        self.assertIsNone(point["small_ps"])
        bill = json.loads(rocelab("config", self.path, "--bom", "--json", cwd=self.folder).stdout)
        self.assertEqual((point["usd"], point["watts"]), (bill["usd"], bill["watts"]))
        # without flows the runs of jobs are what completes
        self.path = self.file("ring.yaml", POD.replace("  - {incast: 3, size: 100KB, to: h0}\n", "").encode())
        point = self.points("--vary", "seed=1")[0]
        self.assertEqual(point["fct_p99_ps"], point["time_ps"])

    def test_small_messages(self):
        """The same to and fro written as a job: each message begins when the one before has arrived."""
        point = self.points("--vary", "seed=1", "--show", "small,small4k")[0]
        jobs = POD.index("jobs:")
        run = self.sim(POD[:jobs] + "jobs:\n  - flows: |\n      h0 h3 8B\n      h3 h0 8B 0 after 0\n"
                                    "      h0 h3 4096B 0 after 1\n      h3 h0 4096B 0 after 2\n      h0 h3 4096B 0 after 3\n")
        start = [flow["start_ps"] for flow in run["flows"]]
        self.assertEqual(point["small_ps"], (start[2] - start[0]) // 2)
        self.assertEqual(point["small_4k_ps"], (start[4] - start[2]) // 2)
        self.assertGreater(point["small_4k_ps"], point["small_ps"])

    def test_values(self):
        for said, meant in (
                ("classes.rdma.ecn.min=1KB..6KB", ["1KB", "2KB", "4KB", "6KB"]),
                ("classes.rdma.ecn.min=1KB..9KBx3,70KB", ["1KB", "3KB", "9KB", "70KB"]),
                ("classes.rdma.ecn.min=0..10KB/3", ["0", "5KB", "10KB"]),
                ("seed=1..4+1", ["1", "2", "3", "4"]),
                ("seed=1..2/9", ["1", "2"]),
                ("links.fabric.rate=100G..400G", ["100G", "200G", "400G"]),
                ("links.fabric.cable=10m..40m+20m", ["10m", "30m", "40m"]),
                ("classes.rdma.ecn.probability=1%..2%", ["1%", "2%"]),
                ("nics.congestion={use: dcqcn/connectx, rpg_ai_rate: 5M},none", ["{use: dcqcn/connectx, rpg_ai_rate: 5M}", "none"])):
            self.assertEqual(self.values(said), meant, said)

    def test_with(self):
        points = self.points("--vary", "classes.rdma.ecn.min=5KB,40KB", "--with", "classes.rdma.ecn.max=20KB,160KB",
                             "--vary", "seed=1,2")
        self.assertEqual([p["set"] for p in points],
                         [["5KB", "20KB", "1"], ["5KB", "20KB", "2"], ["40KB", "160KB", "1"], ["40KB", "160KB", "2"]])

    def test_classes_that_are_not_written(self):
        """A short file has the usual classes, and they can be varied."""
        self.path = self.file("short.yaml", SHORT.encode())
        point = self.points("--vary", "classes.rdma.ecn.min=5KB,500KB")
        self.assertNotEqual(point[0]["marks"], point[1]["marks"])
        run = self.sim(SHORT)
        self.assertEqual(point[1]["packet_hops"], run["packet_hops"])
        self.path = self.file("ns3.yaml", (SHORT + "model: hpcc-ns3\n").encode())
        self.assertEqual(self.points("--vary", "classes.rdma.ecn.min=400KB")[0]["packet_hops"],
                         self.sim(SHORT + "model: hpcc-ns3\n")["packet_hops"])

    def test_systems(self):
        """The usual classes are those of the system, whichever of the two is named first."""
        self.path = self.file("short.yaml", SHORT.encode())
        v1 = self.sim(SHORT + "system: rocev1\n")
        self.assertEqual(v1["system"], "rocev1")
        point = self.points("--vary", "classes.rdma.share=80%", "--vary", "system=rocev2,rocev1")
        self.assertGreater(point[0]["marks"], 0)
        self.assertEqual((point[1]["marks"], point[1]["packet_hops"]), (0, v1["packet_hops"]))
        text = rocelab("sim", self.file("v1.yaml", (SHORT + "system: rocev1\n").encode()), cwd=self.folder).stdout
        self.assertIn("RoCEv1, MTU 4096, no congestion control, PFC on priority 3", text)

    def test_a_key_that_the_run_does_not_use(self):
        for text, vary in (
                (POD, "classes.default.limit=10KB,20KB"),  # nothing travels in it
                (POD, "classes.default.ecn={min: 1KB, max: 2KB},false"),
                (POD, "classes.default.headroom=10KB,20KB"),  # it is lossy
                (POD, "switches.balance.gap=1us,2us"),  # ecmp has none
                (POD, "switches.architecture={use: shared, credit: 1KiB},{use: shared, credit: 2KiB}"),
                (POD, "nics.receive.buffer=1MB,2MB"),  # not a slow receiver
                (POD, "nics.nccl.NCCL_IB_TC=1,2"),
                (POD, "converge=true,false"),  # nothing fails
                (POD, "switches.nos=eos,sonic"),
                (POD + "roles: {host: {congestion: none}}\n", "nics.congestion=dcqcn/paper,dcqcn/connectx"),
                (POD.replace("lossless: true", "lossless: true, xoff: 20KB"), "switches.classes.rdma.xon=1KB,2KB")):
            self.path = self.file("other.yaml", text.encode())
            result = rocelab("sweep", self.path, "--vary", vary, cwd=self.folder)
            if "xon" in vary:  # and this one it does
                self.assertEqual(result.returncode, 0, result.stderr)
                continue
            path = vary.split("=")[0]
            self.assertEqual((result.returncode, result.stdout, result.stderr),
                             (2, "", f"rocelab: --vary {path}: this run does not use it: with each of the values the same "
                                     "is simulated\n"))

    def test_a_key_that_a_fault_uses(self):
        """The same key as above, of a host that becomes a slow receiver."""
        self.path = self.file("slow.yaml", (POD + "faults: [{receive: h0, rate: 10G}]\n").encode())
        points = self.points("--vary", "nics.receive.buffer=20KB,2MB")
        self.assertEqual([p["state"] for p in points], ["done", "done"])
        self.assertNotEqual(points[0]["pauses"], points[1]["pauses"])

    def test_a_key_that_some_points_use(self):
        points = self.points("--vary", "switches.balance=ecmp,flowlet", "--vary", "switches.balance.gap=1us,2us")
        self.assertEqual([p["state"] for p in points], ["done"] * 4)

    def test_a_parameter_of_another_algorithm(self):
        result = self.sweep("--vary", "nics.congestion.hpcc_eta=90%,95%", status=2)
        self.assertEqual(result.stderr, "rocelab: --vary nics.congestion.hpcc_eta: congestion: 'hpcc_eta' is a parameter of "
                                        "hpcc, and dcqcn/connectx does not use it\n")
        points = self.points("--vary", "nics.congestion=dcqcn/connectx,hpcc/paper", "--vary", "nics.congestion.hpcc_eta=90%,95%",
                             status=1)
        self.assertEqual([p["state"] for p in points], [None, None, "done", "done"])

    def test_an_element_is_no_value(self):
        for vary, right in (("jobs.incast=2,3", "jobs.incast.incast=2"), ("classes.rdma=1KB,2KB", "classes.rdma.dscp=1KB")):
            result = self.sweep("--vary", vary, status=2)
            path = vary.split("=")[0]
            self.assertEqual(result.stderr, f"rocelab: --vary {path}: that is all of an element of {path.split('.')[0]}; a value "
                                            f"of it is varied by its key, as in {right}\n")
        self.points("--vary", "jobs.incast.incast=2,3")

    def test_added_keys(self):
        points = self.points("--vary", "switches.balance=spray,ecmp", "--with", "nics.reorder=true,false")
        self.assertEqual([p["state"] for p in points], ["done", "done"])
        self.assertNotEqual(points[0]["packet_hops"], points[1]["packet_hops"])
        points = self.points("--vary", "nics.congestion.rpg_ai_rate=5M,5G", "--vary", "devices.leaf0.ports.0.mtu=9216")
        self.assertEqual(points[0]["error"], None)

    def test_refused_points_are_rows(self):
        result = self.sweep("--vary", "classes.rdma.ecn.min=20KB,100KB,200KB", status=1)
        self.assertIn("(1) pod.yaml:6:62: ecn: min 100KB is above max 80KB\n", result.stdout.replace(str(self.folder) + "/", ""))
        self.assertIn("(2) ", result.stdout)
        points = self.points("--vary", "classes.rdma.ecn.min=20KB,100KB", status=1)
        self.assertEqual((points[0]["error"], points[1]["state"], points[1]["time_ps"]), (None, None, None))
        points = self.points("--vary", "nics.congestion=none,nonsense", status=1)
        self.assertEqual(points[0]["state"], "done")
        self.assertIn(":8:", points[1]["error"])
        points = self.points("--vary", "nics.congestion={use: none},{use: [}", "--vary", "seed=1,x", status=1)
        self.assertEqual([point["error"] is None for point in points], [True, False, False, False])
        self.assertIn("nics.congestion: '{use: [}': not YAML", points[2]["error"])

    def test_a_value_that_the_file_does_not_have_is_the_options(self):
        bare = self.file("bare.yaml", b"rocelab: 1\ntopology: {single: {hosts: 3}}\nlinks: {host: {rate: 100G, cable: 3m}}\njobs: [{incast: 2, size: 64KB}]\n")
        result = rocelab("sweep", bare, "--vary", "nics.congestion=dcqcn/pap,none")
        self.assertIn("(1) --vary nics.congestion: no congestion control is called 'dcqcn/pap'; did you mean 'dcqcn/paper'?\n", result.stdout)

    def test_wrong(self):
        for arguments, words in (
                (("--vary", "classes.rdna.ecn.min=1KB"), ("classes.rdna.ecn.min", "did you mean 'rdma'?")),
                (("--vary", "classes.rdma.ecn.mni=1KB"), ("unknown key 'mni'", "did you mean 'min'?")),
                (("--vary", "nics.congestion.rpg_xx=1"), ("--vary nics.congestion.rpg_xx: congestion control has no parameter 'rpg_xx'",)),
                (("--vary", "switchs.model=generic"), ("did you mean 'switches'?",)),
                (("--vary", "jobs.2.size=1KB"), ("'2' is not in jobs, which has 2",)),
                (("--vary", "jobs.0.size.x=1KB"), ("there is no 'x' in '256KB'",)),
                (("--vary", "faults.0.at=1us"), ("the file has no 'faults'",)),
                (("--vary", "a..b=1"), ("a path is words divided by dots",)),
                (("--vary", "seed"), ("--vary 'seed': a path and its values",)),
                (("--vary", "seed=1,,2"), ("a value is missing",)),
                (("--vary", "seed=1..2KB"), ("of the same kind",)),
                (("--vary", "seed=5..1"), ("a range goes upwards",)),
                (("--vary", "seed=0..8"), ("0 cannot be multiplied",)),
                (("--vary", "seed=1..8x1"), ("after a range",)),
                (("--vary", "seed=1..9999+1", "--vary", "stop=1us..99us+1us"), ("more than 100000 points",)),
                (("--with", "seed=1"), ("--with stands behind",)),
                (("--vary", "seed=1,2", "--with", "stop=1us"), ("1 values, but seed before it has 2",)),
                (("--vary", "seed=1", "--vary", "seed=2"), ("given twice",)),
                (("--vary", "seed=1", "--show", "mark"), ("did you mean 'marks'?",)),
                (("--vary", "seed=1", "--show", "marks:ring"), ("time:JOB",)),
                (("--vary", "seed=1", "--json", "--csv"), ("both want standard output",)),
                (("--vary", "seed=1", "--jobs", "0"), ("1 to 1024",)),
                (("--vary", "seed=1", "--out", self.path), ("Not a directory",)),
                ((), ("what is to be varied?",))):
            self.wrong(rocelab("sweep", self.path, *arguments, cwd=self.folder), *words)
        self.wrong(rocelab("sweep", "--vary", "seed=1"), "which file?")
        self.wrong(rocelab("sweep", "nowhere.yaml", "--vary", "seed=1", cwd=self.folder), "nowhere.yaml", "No such file")
        bad = self.file("bad.yaml", POD.replace("hosts: 2", "host: 2").encode())
        result = rocelab("sweep", bad, "--vary", "seed=1", cwd=self.folder)
        self.assertEqual(result.returncode, 2)
        self.assertIn("bad.yaml:3:", result.stderr)

    def test_the_number_of_processes_does_not_matter(self):
        arguments = ("--csv", "--vary", "seed=1..6+1", "--vary", "classes.rdma.ecn.min=5KB,100KB")
        one = self.sweep("--jobs", "1", *arguments, status=1).stdout
        self.assertEqual(one, self.sweep("--jobs", "5", *arguments, status=1).stdout)
        rows = list(csv.DictReader(io.StringIO(one)))
        self.assertEqual([row["seed"] for row in rows], [s for s in "123456" for _ in range(2)])
        self.assertIn("above max", rows[1]["error"])
        self.assertGreater(int(rows[0]["marks"]), 0)

    def kept(self):
        return {path: path.stat().st_mtime_ns for path in (self.folder / "out" / "points").iterdir()}

    def test_results_are_kept_and_not_mixed_up(self):
        arguments = ("--out", "out", "--vary", "seed=1..3+1")
        first = self.sweep(*arguments).stdout
        before = self.kept()
        self.assertEqual(len(before), 3)
        self.assertEqual(first, self.sweep(*arguments).stdout)
        self.assertEqual(before, self.kept())                       # none was run again
        comment = self.file("pod.yaml", POD.replace("fabric: pod", "fabric: 'pod'   # a comment").encode())
        self.assertEqual(comment, self.path)
        self.sweep(*arguments)
        self.assertEqual(before, self.kept())                       # the same fabric
        self.file("pod.yaml", POD.replace("256KB", "512KB").encode())
        self.assertNotEqual(first, self.sweep(*arguments).stdout)   # another one
        self.assertEqual(len(self.kept()), 6)
        self.file("pod.yaml", POD.encode())
        self.assertEqual(first, self.sweep(*arguments).stdout)
        document = json.loads((self.folder / "out" / "sweep.json").read_text())
        self.assertEqual([p["set"] for p in document["points"]], [["1"], ["2"], ["3"]])
        rows = list(csv.DictReader(io.StringIO((self.folder / "out" / "sweep.csv").read_text())))
        self.assertEqual([int(r["packet_hops"]) for r in rows], [p["packet_hops"] for p in document["points"]])

    def test_a_file_that_the_fabric_names_counts(self):
        text = POD + "  - {poisson: {sizes: {file: sizes.txt}, load: 10%, until: 20us}}\n"
        self.file("pod.yaml", text.encode())
        self.file("sizes.txt", b"1000 0\n5000 100\n")
        self.sweep("--out", "out", "--vary", "seed=1")
        self.file("sizes.txt", b"1000 0\n9000 100\n")
        self.sweep("--out", "out", "--vary", "seed=1")
        self.assertEqual(len(self.kept()), 2)

    def test_damaged_results_are_made_again(self):
        arguments = ("--out", "out", "--vary", "seed=1")
        first = self.sweep(*arguments).stdout
        path = next(iter(self.kept()))
        whole = path.read_text()
        for damaged in ("", whole[:-4], whole[:len(whole) // 2], whole.replace("value", "valve"), "\0" * 99):
            path.write_text(damaged)
            self.assertEqual(first, self.sweep(*arguments).stdout)
            self.assertEqual(path.read_text(), whole)

    @unittest.skipIf(os.geteuid() != 0, "files are given to another user")
    def test_rows_of_another_user_are_not_believed(self):
        arguments = ("--out", "out", "--vary", "seed=1")
        first = self.sweep(*arguments).stdout
        path = next(iter(self.kept()))
        os.chown(path, 65534, 65534)
        before = self.kept()
        self.assertEqual(self.sweep(*arguments).stdout, first)
        self.assertNotEqual(self.kept(), before)  # it was made again

    def test_interrupted_and_resumed(self):
        # Far more points than are run before the signal comes.
        arguments = ("--jobs", "1", "--out", "out", "--vary", "seed=1..4000+1", "--vary", "jobs.0.size=1KB,64KB")
        process = subprocess.Popen([PROGRAM, "sweep", self.path, *arguments], cwd=self.folder, env=environment(),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        points = self.folder / "out" / "points"
        while process.poll() is None and not (points.exists() and any("." not in path.name for path in points.iterdir())):
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, error = process.communicate()
        self.assertEqual(process.returncode, 2)
        self.assertEqual(out == b"", b"interrupted: 0 of" in error)
        self.assertRegex(error, rb"interrupted: \d+ of 8000 points are done and kept in out")
        done = {path for path in self.kept() if "." not in path.name}
        self.assertTrue(0 < len(done) < 8000, len(done))
        before = {path: stamp for path, stamp in self.kept().items() if path in done}
        some = ("--vary", "seed=1..3+1", "--vary", "jobs.0.size=1KB,64KB")
        resumed = self.sweep("--jobs", "1", "--out", "out", *some).stdout
        after = self.kept()
        self.assertTrue(all(after[path] == stamp for path, stamp in before.items()))
        self.assertEqual(resumed, self.sweep(*some).stdout)

    def test_interrupted_prints_what_is_done(self):
        """As the table of the whole has it, marked as a part; in the other formats too."""
        for more in ((), ("--csv",), ("--json",), ("--seeds", "2")):
            with self.subTest(more=more):
                arguments = ("--out", f"out{len(more)}{more[-1:]}", "--jobs", "1", "--vary", "seed=1..4000+1") if "--seeds" not in more else \
                    ("--out", "outs", "--jobs", "1", "--vary", "nics.mtu=1024,2048", "--vary", "jobs.0.size=" + ",".join(f"{k}KB" for k in range(1, 1500)))
                process = subprocess.Popen([PROGRAM, "sweep", self.path, *arguments, *more], cwd=self.folder, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                points = self.folder / arguments[1] / "points"
                while process.poll() is None and not (points.exists() and sum("." not in path.name for path in points.iterdir()) > 3):
                    time.sleep(0.01)
                process.send_signal(signal.SIGTERM)
                out, error = process.communicate()
                self.assertEqual(process.returncode, 2)
                self.assertRegex(error, rb"interrupted: \d+ of \d+ (points|runs) are done")
                if more == ("--json",):
                    document = json.loads(out)
                    self.assertTrue(document["partial"])
                    self.assertTrue(all(point["state"] == "done" for point in document["points"]))
                    rows = len(document["points"])
                else:
                    rows = len(out.decode().splitlines()) - (1 if more == ("--csv",) else 2)
                    if more != ("--csv",):
                        self.assertRegex(out.decode().splitlines()[-1], rf"^partial: interrupted after {rows} of \d+ points$")
                self.assertGreater(rows, 0)
                self.assertNotIn(b"no values", out)

    def test_named_values(self):
        """The name is shown and the value is run; a quoted value may have an equals sign in it."""
        many = "{leaf-spine: {leaves: 2, spines: 2, hosts: 2}}", "{single: {hosts: 4}}"
        plain = self.points("--vary", "topology=" + ",".join(many))
        named = json.loads(self.sweep("--json", "--vary", f"topology=clos={many[0]},1.switch={many[1]}").stdout)
        self.assertEqual([point["set"] for point in named["points"]], [["clos"], ["1.switch"]])
        self.assertEqual([point["packet_hops"] for point in named["points"]], [point["packet_hops"] for point in plain])
        self.assertEqual(named["named"], [{"vary": "topology", "name": "clos", "value": many[0]}, {"vary": "topology", "name": "1.switch", "value": many[1]}])
        self.assertFalse(named["partial"])
        text = self.sweep("--vary", f"topology=clos={many[0]},1.switch={many[1]}").stdout
        self.assertRegex(text, r"(?m)^ *clos ")
        self.assertNotIn("{", text)
        self.assertIn("\n1.switch,", self.sweep("--csv", "--vary", f"topology=clos={many[0]},1.switch={many[1]}").stdout)
        self.assertEqual(self.values("jobs.0.name='a=b',c"), ["'a=b'", "c"])
        for wrong, said in (("seed=a=1,a=2", "--vary seed: two values are named 'a'"), ("seed=a=,2", "'a=': a value is missing behind its name")):
            self.assertIn(said, self.sweep("--vary", wrong, status=2).stderr)

    def test_values_are_told_apart(self):
        """Two values that look the same when they are cut stand by their numbers, with a legend; others are cut less."""
        value = "{leaf-spine: {leaves: 2, spines: %d, hosts: 2, trunk: 1, oversubscription: any}}".replace(", trunk: 1, oversubscription: any", "")
        long = [value % spines for spines in (1, 2)]
        text = self.sweep("--vary", "topology=" + ",".join(long), "--show", "time,busbw,p50,p99,pauses,marks,queue,buffer,hops,messages,payload").stdout
        cells = [line.split()[0] for line in text.splitlines()[1:3]]
        self.assertEqual(cells, ["#1", "#2"], text)
        for number, one in enumerate(long, 1):
            self.assertIn(f"topology #{number}: {one}\n", text)

    def test_the_columns_of_a_table_are_in_the_document(self):
        document = json.loads(self.sweep("--json", "--vary", "seed=1,2", "--show", "marks,time:ring,watts").stdout)
        self.assertEqual(document["show"], [{"key": "marks", "job": None}, {"key": "time_ps", "job": "ring"}, {"key": "watts", "job": None}])
        keys = {column["key"]: column["unit"] for column in document["columns"]}
        self.assertEqual((keys["time_ps"], keys["queue_max_bytes"], keys["busbw_GBps"]), ("ps", "bytes", "GB/s"))
        self.assertTrue(set(keys) < set(document["points"][0]))
        usual = json.loads(self.sweep("--json", "--vary", "seed=1,2").stdout)["show"]
        head = self.sweep("--vary", "seed=1,2").stdout.splitlines()[0].split()
        self.assertEqual(len(usual), len(head) - 1, (usual, head))

    def test_progress_is_for_terminals(self):
        arguments = [PROGRAM, "sweep", self.path, "--vary", "seed=1..3+1"]
        quiet = self.sweep("--vary", "seed=1..3+1")
        self.assertEqual(quiet.stderr, "")
        for more, due in (([], True), (["--quiet"], False)):
            try:
                ours, theirs = os.openpty()
            except OSError as error:
                self.skipTest(f"no pseudo-terminal to be had here: {error}")
            done = subprocess.run(arguments + more, cwd=self.folder, env=environment(), stdout=subprocess.PIPE,
                                  stderr=theirs, check=True)
            os.close(theirs)
            seen = b""
            try:
                while part := os.read(ours, 4096):
                    seen += part
            except OSError:  # the other end is closed and all is read
                pass
            os.close(ours)
            self.assertEqual(done.stdout.decode(), quiet.stdout)
            self.assertEqual(b"3 of 3 points" in seen, due, seen)
            self.assertTrue(due or seen == b"", seen)

    def test_a_run_that_dies_is_a_row(self):
        process = subprocess.Popen([PROGRAM, "sweep", self.path, "--json", "--jobs", "1", "--vary", "jobs.incast.size=40GB,100KB"],
                                   cwd=self.folder, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
        for _ in range(3000):
            if children.read_text().split():
                break
            time.sleep(0.01)
        os.kill(int(children.read_text().split()[0]), signal.SIGKILL)
        out, error = process.communicate()
        self.assertEqual(process.returncode, 1, error)
        points = json.loads(out)["points"]
        self.assertEqual(points[0]["error"], "the run was ended by signal 9 (Killed)")
        self.assertEqual(points[1]["state"], "done")

    def test_csv_has_the_jobs(self):
        arguments = ("--vary", "jobs.ring={allreduce: ring, size: 256KB},{name: other, permutation: 1, size: 1KB}")
        rows = list(csv.DictReader(io.StringIO(self.sweep("--csv", *arguments).stdout)))
        points = self.points(*arguments)
        for row, point in zip(rows, points, strict=True):
            jobs = {job["name"]: job for job in point["jobs"]}
            for name in ("allreduce0", "other", "incast1"):
                self.assertEqual(row["time_ps:" + name], str(jobs[name]["time_ps"]) if name in jobs else "")
            self.assertEqual(float(row["busbw_GBps:incast1"]), jobs["incast1"]["busbw_GBps"])

    def test_shown_columns(self):
        head = self.sweep("--vary", "seed=1", "--show", "time,time:ring,imbalance,cnps").stdout.split("\n")[0].split()
        self.assertEqual(head, ["seed", "time", "time:ring", "imbalance", "cnps"])
        head = self.sweep("--vary", "seed=1").stdout.split("\n")[0].split()
        self.assertEqual(head[:4], ["seed", "time", "time:ring", "time:incast1"])

    def test_stuck_is_a_problem(self):
        self.file("pod.yaml", (POD + "faults: [{down: h0, at: 1us}]\n").encode())
        points = self.points("--vary", "nics.retry=1", "--vary", "nics.timeout=0", status=1)
        self.assertEqual((points[0]["state"], points[0]["time_ps"]), ("stuck", None))

    def test_standard_input(self):
        result = rocelab("sweep", "-", "--csv", "--vary", "seed=1", stdin=POD.encode(), cwd=self.folder)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout, self.sweep("--csv", "--vary", "seed=1").stdout)


if __name__ == "__main__":
    unittest.main()
