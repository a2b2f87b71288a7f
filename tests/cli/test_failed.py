# SPDX-License-Identifier: Apache-2.0
"""A queue pair that fails: whatever the job is, the run ends when its retries are over, and says why."""
import json
import os
import pathlib
import unittest

from support import Case, rocelab

TRACE = pathlib.Path(os.environ["ROCELAB_SOURCE"], "tests", "data", "traces", "tiny.simai.txt")
HEAD = """rocelab: 1
fabric: pod
topology: {leaf-spine: {leaves: 2, spines: 2, hosts: 4}}
links: {host: {rate: 100G, cable: 3m}, fabric: {rate: 100G, cable: 30m}}
nics: {mtu: 1024, timeout: 6, retry: 3}
"""
TIMER_PS = 4096 * 1000 << 6
MODEL = "model: {layers: 4, hidden: 512, sequence: 256}"
COLLECTIVES = ["{%s, size: 4MB}" % kind for kind in (
    "allreduce: ring", "allreduce: tree", "reducescatter: ring", "allgather: ring", "broadcast: ring", "reduce: ring",
    "alltoall: auto", "gather: auto", "sendrecv: auto")] + [
    "{training: {%s, groups: {dp: 8}, steps: 20, compute: {forward: 1us}}}" % MODEL,
    "{training: {%s, groups: {tp: 2, pp: 4}, micro-batches: 4, steps: 20, compute: {forward: 1us}}}" % MODEL,
    "{inference: {%s, groups: {tp: 8}, tokens: 200, compute: {forward: 1us}}}" % MODEL,
    "{trace: {file: %s, format: simai, steps: 2}}" % TRACE]
TRANSFERS = ["{incast: 7, size: 1MB, bursts: 20, every: 20us, to: h0}", "{permutation: 1, size: 4MB}",
             "{random: 100, size: 200KB}", "{all-to-all: pairwise, size: 4MB}",
             "{poisson: {sizes: [[1KB, 30%], [20KB, 100%]], load: 30%, until: 200us}}", "{flows: [{src: h4, dst: h0, size: 4MB}]}"]


class Failed(Case):
    def fabric(self, jobs, faults="[{down: h0, at: 20us}]"):
        return self.file("pod.yaml", f"{HEAD}faults: {faults}\njobs: [{jobs}]\n".encode())

    def run_json(self, *arguments):
        result = rocelab("sim", "--json", "--until", "10s", *arguments, cwd=self.folder)
        self.assertEqual(result.returncode, 1, result.stderr + result.stdout[:300])
        return json.loads(result.stdout)

    def test_every_kind_of_job(self):
        for job in COLLECTIVES + TRANSFERS:
            with self.subTest(job=job):
                path = self.fabric(job)
                document = self.run_json(path)
                failure = document["failure"]
                self.assertEqual(document["state"], "failed" if job in COLLECTIVES else "done", document["state"])
                self.assertTrue(failure["retries_exceeded"])
                self.assertEqual(failure["retry"], 3)
                self.assertTrue(failure["src_down"] or failure["dst_down"])
                # the timer ran four times, from the last packet that was acknowledged at the latest
                self.assertGreaterEqual(failure["at_ps"], 4 * TIMER_PS)
                if job in COLLECTIVES:
                    self.assertEqual(document["jobs"][0]["failed_ps"], failure["at_ps"])
                    self.assertEqual(document["virtual_ps"], failure["at_ps"])
                    self.assertLess(document["virtual_ps"], 10 * TIMER_PS)
                text = rocelab("sim", path, cwd=self.folder).stdout
                self.assertIn("3 retries exceeded on QP", text)
                self.assertIn("FIRST FAILURE\n  the link of h0:0 is down: ", text)

    def test_each(self):
        """The same of every single link, in one table."""
        path = self.file("pod.yaml", (HEAD + "converge: {detect: 20us, step: 5us}\njobs: [{allreduce: ring, size: 4MB}]\n").encode())
        result = rocelab("sim", "--each", "link", path, cwd=self.folder)
        rows = [line for line in result.stdout.splitlines() if line.startswith("h")]
        self.assertEqual(len(rows), 8)
        for row in rows:
            self.assertIn(f"the link of {row.split()[0]} is down: 3 retries exceeded on QP ", row)
            self.assertRegex(row, r"at \S+, after \S+$")

    def test_checkpoint(self):
        """What cannot be written does not stop the steps; the job ends, and is no success."""
        jobs = "{training: {%s, groups: {dp: 4}, steps: 4, compute: {forward: 1us}, checkpoint: {every: 1, to: [h7], size: 4MB}}, ranks: [h0, h1, h2, h3]}" % MODEL
        document = self.run_json(self.fabric(jobs, "[{down: h7, at: 20us}]"))
        self.assertEqual(document["state"], "done")
        self.assertEqual(len(document["training"][0]["each_step_ps"]), 4)
        self.assertEqual(document["failure"]["dst"], "h7:0")

    def test_others_go_on(self):
        """Whoever waits for the job never begins; one that does not need the link ends."""
        jobs = ("{name: broken, allreduce: ring, size: 4MB, ranks: [h0, h1, h2, h3], repeat: 2}, {name: waits, permutation: 1, size: 1KB, after: broken},"
                " {name: good, incast: 1, size: 30MB, ranks: [h5, h6]}")
        document = self.run_json(self.fabric(jobs))
        self.assertEqual(document["state"], "failed")
        jobs = {(job["name"], job["repetition"]): job for job in document["jobs"]}
        self.assertEqual(jobs["broken", 0]["failed_ps"], document["failure"]["at_ps"])
        for name in (("broken", 1), ("waits", 0)):
            self.assertIsNone(jobs[name]["start_ps"])
            self.assertEqual(jobs[name]["failed_ps"], document["failure"]["at_ps"])
        self.assertIsNone(jobs["good", 0]["failed_ps"])
        self.assertEqual(document["virtual_ps"], jobs["good", 0]["time_ps"])
        self.assertGreater(document["virtual_ps"], document["failure"]["at_ps"])

    def test_shared_queue_pairs(self):
        """Two jobs on the same queue pairs, which are in error when the second begins: it does not wait for them."""
        jobs = ("{name: first, allgather: ring, size: 40KB, clear-to-send: true, at: 30us},"
                " {name: second, allreduce: ring, size: 40KB, clear-to-send: true, at: 8ms}")
        document = self.run_json(self.fabric(jobs))
        self.assertEqual(document["state"], "failed")
        first, second = document["jobs"]
        self.assertEqual(first["failed_ps"], document["failure"]["at_ps"])
        self.assertLess(second["failed_ps"] - second["start_ps"], 10 * TIMER_PS)

    def test_same_for_any_threads(self):
        path = self.fabric("{allreduce: ring, size: 4MB}, {name: good, incast: 1, size: 3MB, ranks: [h5, h6]}")
        runs = [self.run_json(*more, path) for more in ([], ["--threads", "3"], ["--no-tiles"])]
        for run in runs[1:]:
            for key in ("digest", "packet_hops", "virtual_ps", "state", "failure", "jobs"):
                self.assertEqual(run[key], runs[0][key], key)


if __name__ == "__main__":
    unittest.main()
