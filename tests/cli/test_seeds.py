# SPDX-License-Identifier: Apache-2.0
"""--seeds: means and intervals that agree with runs made one by one, in every output; --out: what is kept is found again."""
import csv
import io
import json
import math
import os
import pathlib
import signal
import statistics
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
T95 = {2: 12.7062, 3: 4.30265, 5: 2.77645}  # by the number of runs


def half(values):
    return T95[len(values)] * statistics.stdev(values) / math.sqrt(len(values))


class Pod(Case):
    def setUp(self):
        super().setUp()
        self.path = self.file("pod.yaml", POD.encode())

    def run_it(self, *arguments, status=0, stderr=""):
        result = rocelab(*arguments, cwd=self.folder)
        self.assertEqual(result.returncode, status, result.stderr)
        if stderr is not None:
            self.assertEqual(result.stderr, stderr)
        return result.stdout

    def sim(self, *arguments, **more):
        return self.run_it("sim", self.path, *arguments, **more)


class Seeds(Pod):
    def alone(self, seed):
        """What `sim --seed` says of the measures."""
        run = json.loads(self.sim("--json", "--seed", seed))
        return {"time_ps": max(job["start_ps"] + job["time_ps"] for job in run["jobs"]), "packet_hops": run["packet_hops"],
                "marks": sum(port["ecn_marked"] for port in run["ports"]),
                "queue_max_bytes": max(port["queue_max_bytes"] for port in run["ports"])}

    def test_means_are_those_of_runs_made_one_by_one(self):
        runs = [self.alone(seed) for seed in range(7, 12)]
        document = json.loads(self.sim("--json", "--seeds", 5, "--seed", 7))
        self.assertEqual((document["kind"], document["seeds"], document["ended"]), ("sim-seeds", 5, 5))
        self.assertEqual([run["seed"] for run in document["runs"]], [7, 8, 9, 10, 11])
        for key, digits in (("time_ps", 0), ("queue_max_bytes", 0), ("packet_hops", 3), ("marks", 3)):
            values = [run[key] for run in runs]
            self.assertEqual([run[key] for run in document["runs"]], values)
            unit = 10 ** -digits
            self.assertAlmostEqual(document[key], statistics.mean(values), delta=0.51 * unit)
            self.assertAlmostEqual(document[key + "_ci95"], half(values), delta=unit + 1e-5 * half(values))
        self.assertGreater(document["time_ps_ci95"], 0)
        self.assertEqual((document["drops"], document["drops_ci95"]), (0, 0))   # what does not vary
        self.assertIsNone(document["step_ps"])
        self.assertIsNone(document["step_ps_ci95"])
        self.assertEqual([job["name"] for job in document["jobs"]], ["ring", "incast1"])

    def test_every_output_has_them(self):
        document = json.loads(self.sim("--json", "--seeds", 3))
        text = self.sim("--seeds", 3, "--csv", "csv")
        self.assertIn("3 runs, seeds 1 to 3", text)
        self.assertRegex(text, r"(?m)^measure +mean +\+-95% +least +most$")
        self.assertRegex(text, r"(?m)^time:ring +\d")
        rows = list(csv.DictReader(io.StringIO((self.folder / "csv" / "summary.csv").read_text())))
        by_key = {(row["measure"], row["job"]): row for row in rows}
        for key in ("time_ps", "marks", "slowdown_p50", "busbw_GBps"):
            self.assertEqual(float(by_key[key, ""]["mean"]), document[key])
            self.assertEqual(float(by_key[key, ""]["ci95"]), document[key + "_ci95"])
        self.assertEqual(int(by_key["time_ps", "ring"]["mean"]), document["jobs"][0]["time_ps"])
        runs = list(csv.DictReader(io.StringIO((self.folder / "csv" / "runs.csv").read_text())))
        self.assertEqual([(int(run["seed"]), int(run["marks"])) for run in runs],
                         [(run["seed"], run["marks"]) for run in document["runs"]])
        gauges = self.sim("--seeds", 3, "--counters", "prometheus")
        self.assertIn(f"rocelab_seeds_mean{{measure=\"time_ps\"}} {document['time_ps']}\n", gauges)
        self.assertIn(f"rocelab_seeds_ci95{{measure=\"time_ps\"}} {document['time_ps_ci95']}\n", gauges)
        self.assertIn("rocelab_seeds_mean{measure=\"time_ps\",job=\"ring\"} ", gauges)
        self.assertIn("rocelab_seeds_runs 3\n", gauges)
        self.sim("--seeds", 3, "--counters", "prometheus=gauges.txt")
        self.assertEqual((self.folder / "gauges.txt").read_text(), gauges)

    def test_one_seed_has_no_interval(self):
        document = json.loads(self.sim("--json", "--seeds", 1))
        self.assertEqual(document["time_ps"], self.alone(1)["time_ps"])
        self.assertIsNone(document["time_ps_ci95"])

    def test_threads_do_not_matter(self):
        one = self.sim("--json", "--seeds", 5, "--threads", 1)
        self.assertEqual(one, self.sim("--json", "--seeds", 5, "--threads", 4))

    def test_sweep(self):
        arguments = ("sweep", self.path, "--vary", "classes.rdma.ecn.min=10KB,40KB", "--seeds", 3)
        points = json.loads(self.run_it(*arguments, "--json"))["points"]
        rows = list(csv.DictReader(io.StringIO(self.run_it(*arguments, "--csv"))))
        for point, row in zip(points, rows, strict=True):
            values = [run["marks"] for run in point["runs"]]
            self.assertEqual([run["seed"] for run in point["runs"]], [1, 2, 3])
            self.assertAlmostEqual(point["marks"], statistics.mean(values), delta=0.00051)
            self.assertAlmostEqual(point["marks_ci95"], half(values), delta=0.001 + 1e-5 * half(values))
            self.assertEqual((row["seeds"], row["ended"], row["state"]), ("3", "3", "done"))
            for key in ("time_ps", "marks", "busbw_GBps"):
                self.assertEqual((float(row[key]), float(row[key + "_ci95"])), (point[key], point[key + "_ci95"]))
            self.assertEqual(int(row["time_ps_ci95:ring"]), point["jobs"][0]["time_ps_ci95"])
        alone = json.loads(rocelab("sweep", self.path, "--vary", "classes.rdma.ecn.min=10KB", "--json", cwd=self.folder).stdout)
        self.assertEqual(points[0]["runs"][0]["time_ps"], alone["points"][0]["time_ps"])
        self.assertRegex(self.run_it(*arguments, "--show", "time,marks"), r"10KB +[\d.]+us \+-[\d.]+us +[\d.]+ \+-[\d.]+\n")

    def test_points_without_values(self):
        result = rocelab("sweep", self.path, "--vary", "classes.rdma.ecn.min=10KB,100KB", "--seeds", 2, cwd=self.folder)
        self.assertEqual(result.returncode, 1)
        self.assertIn("(1) ", result.stdout)
        self.assertIn("above max", result.stdout)
        stuck = self.file("stuck.yaml", (POD.replace("mtu: 1024", "mtu: 1024, retry: 1, timeout: 0") + "faults: [{down: h0, at: 1us}]\n").encode())
        document = json.loads(self.run_it("sim", stuck, "--seeds", 2, "--json", status=1))
        self.assertEqual((document["ended"], document["state"], document["time_ps"]), (0, "stuck", None))
        self.assertIn("run 1: stuck", self.run_it("sim", stuck, "--seeds", 2, status=1))

    def test_each(self):
        document = json.loads(self.sim("--each", "spine", "--seeds", 3, "--json", status=1))
        first = json.loads(self.sim("--each", "spine", "--json", status=1))
        self.assertEqual([run["down"] for run in document["runs"]], [run["down"] for run in first["runs"]])
        alone = [json.loads(self.sim("--each", "spine", "--json", "--seed", seed, status=1)) for seed in (1, 2, 3)]
        times = [run["base"]["time_ps"] for run in alone]
        self.assertAlmostEqual(document["base"]["time_ps"], statistics.mean(times), delta=1)
        self.assertAlmostEqual(document["base"]["time_ps_ci95"], half(times), delta=1 + 1e-5 * half(times))
        for i, run in enumerate(document["runs"]):
            slow = [one["runs"][i]["time_ps"] * 1000 // one["base"]["time_ps"] / 1000 for one in alone]
            self.assertAlmostEqual(run["slowdown"], statistics.mean(slow), delta=1e-5)
            self.assertEqual((run["seeds"], run["completed_runs"]), (3, 3))
        self.assertIn("3 seeds from 1 on", self.sim("--each", "spine", "--seeds", 3, status=1))

    def test_wrong(self):
        for arguments, said in ((("--seeds", "0"), "--seeds '0': 1 to 10000"), (("--seeds", "x"), "--seeds 'x'"),
                                (("--out", "out"), "goes with --seeds or --each"), (("--seeds", "2", "--force"), "say where"),
                                (("--seeds", "2", "--pcap", "h0:0=x"), "are for one run"),
                                (("--seeds", "2", "--out", "pod.yaml"), "Not a directory")):
            result = rocelab("sim", self.path, *arguments, cwd=self.folder)
            self.assertEqual(result.returncode, 2, arguments)
            self.assertIn(said, result.stderr)
        result = rocelab("sweep", self.path, "--vary", "seed=1,2", "--seeds", "2", cwd=self.folder)
        self.assertIn("--seeds and --vary seed", result.stderr)
        bad = self.file("bad.yaml", POD.replace("hosts: 2", "host: 2").encode())
        self.assertIn("bad.yaml:3:", rocelab("sim", bad, "--seeds", "2", cwd=self.folder).stderr)


class Kept(Pod):
    """With --out."""

    def kept(self):
        return {path: path.stat().st_mtime_ns for path in (self.folder / "out" / "points").iterdir()}

    def reused(self, *arguments):
        """How many of how many runs were not made, and what was printed."""
        result = rocelab(*arguments, "--out", "out", cwd=self.folder)
        self.assertIn(result.returncode, (0, 1), result.stderr)
        words = result.stderr.split()
        if not words:
            return 0, result.stdout
        self.assertIn("were kept in out and not run again", result.stderr)
        return int(words[2]), result.stdout

    def test_more_seeds_run_only_the_new_ones(self):
        self.assertEqual(self.reused("sim", self.path, "--seeds", 2)[0], 0)
        before = self.kept()
        count, printed = self.reused("sim", self.path, "--seeds", 5)
        self.assertEqual((count, len(self.kept())), (2, 5))
        self.assertEqual(printed, self.sim("--seeds", 5))
        self.assertTrue(before.items() <= self.kept().items())
        self.assertEqual(json.loads((self.folder / "out" / "seeds.json").read_text()), json.loads(self.sim("--seeds", 5, "--json")))
        self.assertEqual(self.reused("sim", self.path, "--seeds", 5, "--seed", 3)[0], 3)
        self.assertEqual(self.sim("--seeds", 5, "--out", "out", "--quiet"), printed)

    def test_what_changes_a_result_is_run_again(self):
        arguments = ("sim", self.path, "--seeds", 2)
        self.reused(*arguments)
        self.assertEqual(self.reused(*arguments)[0], 2)
        self.assertEqual(self.reused(*arguments, "--until", "20us")[0], 0)
        self.assertEqual(self.reused(*arguments, "--threads", 1)[0], 2)
        self.file("pod.yaml", POD.replace("fabric: pod", "fabric: pod  # the same").encode())
        self.assertEqual(self.reused(*arguments)[0], 2)
        self.file("pod.yaml", POD.replace("256KB", "128KB").encode())
        self.assertEqual(self.reused(*arguments)[0], 0)
        self.file("pod.yaml", POD.encode())
        self.assertEqual(self.reused("sweep", self.path, "--vary", "classes.rdma.ecn.min=20KB,10KB", "--seeds", 2)[0], 2)
        self.assertEqual(self.reused(*arguments, "--force")[0], 0)

    def test_another_build_makes_its_own(self):
        copy = self.folder / "rocelab"
        copy.write_bytes(pathlib.Path(PROGRAM).read_bytes() + b"\0")  # another file, and the same program
        copy.chmod(0o755)
        self.reused("sim", self.path, "--seeds", 2)
        result = subprocess.run([copy, "sim", self.path, "--seeds", "2", "--out", "out"], cwd=self.folder, env=environment(),
                                capture_output=True, check=True)
        self.assertEqual((result.stderr, len(self.kept())), (b"", 4))

    def test_each_and_experiments_keep_theirs(self):
        arguments = ("sim", self.path, "--each", "spine", "--seeds", 2)
        self.assertEqual(self.reused(*arguments)[0], 0)
        count, printed = self.reused(*arguments)
        self.assertEqual((count, printed), (6, self.sim("--each", "spine", "--seeds", 2, status=1)))
        self.assertEqual(self.reused(*arguments, "--at", "50us")[0], 2)  # those without a failure
        self.assertEqual(self.reused("sim", self.path, "--each", "spine")[0], 3)
        folder = self.folder / "experiments"
        folder.mkdir()
        text = "experiment: E99\ntitle: t\nsource: s\nfabric: |\n" + "".join(f"  {line}\n" for line in POD.splitlines())
        text += "runs: {a: {}}\nmeasures: [{what: w, value: 'duration(a)', published: 1, at-least: 0}]\n"
        (folder / "E99.yaml").write_text(text)
        env = environment(ROCELAB_EXPERIMENTS=str(folder))
        first = rocelab("experiments", "--seeds", 3, "--out", "runs", "--json", cwd=self.folder, env=env)
        again = rocelab("experiments", "--seeds", 3, "--out", "runs", "--json", cwd=self.folder, env=env)
        self.assertEqual((first.returncode, first.stderr), (0, ""))
        self.assertIn("3 of 3 runs were kept", again.stderr)
        measures = [json.loads(result.stdout)["experiments"][0]["measures"] for result in (first, again)]
        self.assertEqual(measures[0], measures[1])
        self.assertGreater(measures[0][0]["measured_ci95"], 0)

    def test_damaged_results_are_made_again(self):
        first = self.sim("--seeds", 2, "--out", "out")
        path = next(iter(self.kept()))
        path.write_bytes(path.read_bytes()[:-9])
        result = rocelab("sim", self.path, "--seeds", 2, "--out", "out", cwd=self.folder)
        self.assertEqual(result.stdout, first)
        self.assertIn("1 of 2 runs had a damaged result in out and were run again", result.stderr)

    def test_interrupted(self):
        long = self.file("long.yaml", POD.replace("100KB, to: h0", "40MB, to: h0, repeat: 3").encode())
        for folder, more, runs in (("out", (), 40), ("other", ("--each", "spine"), 120)):
            process = subprocess.Popen([PROGRAM, "sim", long, "--seeds", "40", "--threads", "1", "--out", folder, *more],
                                       cwd=self.folder, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            points = self.folder / folder / "points"
            while not (points.exists() and any("." not in path.name for path in points.iterdir())):
                self.assertIsNone(process.poll())
                time.sleep(0.01)
            os.kill(process.pid, signal.SIGINT)
            out, error = process.communicate()
            self.assertEqual((process.returncode, out), (2, b""))
            self.assertRegex(error.decode(), rf"interrupted: \d+ of {runs} runs are done and kept in {folder}")


if __name__ == "__main__":
    unittest.main()
