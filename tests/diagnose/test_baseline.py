#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--write-baseline and --baseline: a good run is written down, a run with a fault is held against it."""
import json
import pathlib
import tempfile
import unittest

from support import SOURCE, Case, rocelab

CASES = SOURCE / "examples" / "cases"


class Baseline(Case):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory()
        cls.at = pathlib.Path(cls.place.name)
        cls.runs = {}
        for name in ("H02-training", "C10-half-rate"):
            cls.runs[name] = cls.at / f"{name}.json"
            cls.runs[name].write_text(rocelab("sim", "--json", CASES / f"{name}.yaml").stdout)
        cls.base = cls.at / "baseline.json"
        cls.written = rocelab("diagnose", cls.runs["H02-training"], "--fabric", CASES / "H02-training.yaml", "--write-baseline", cls.base)

    @classmethod
    def tearDownClass(cls):
        cls.place.cleanup()

    def against(self, run, *more):
        done = rocelab("diagnose", "--json", self.runs[run], "--baseline", self.base, *more)
        return done.returncode, json.loads(done.stdout)["training"][0]

    def test_written(self):
        self.assertEqual(self.written.returncode, 0, self.written.stderr)
        document = json.loads(self.base.read_text())
        self.assertEqual(document["kind"], "baseline")
        self.assertRegex(document["fabric_digest"], "^[0-9a-f]{16}$")
        run = json.loads(self.runs["H02-training"].read_text())["training"][0]
        [job] = document["jobs"]
        self.assertEqual((job["job"], job["ranks"], job["step_ns"]), ("train", 8, run["step_ps"] // 1000))
        self.assertAlmostEqual(job["exposed_share"], run["exposed_ps"] / run["step_ps"], places=3)
        self.assertEqual([], [path.name for path in self.at.glob(".*")])

    def test_the_same_run_is_not_degraded(self):
        status, training = self.against("H02-training")
        self.assertEqual((status, training["slow"]), (0, "no"))
        self.assertIn("not degraded", training["verdict"])

    def test_degraded(self):
        status, training = self.against("C10-half-rate")
        self.assertEqual(status, 1)
        self.assertEqual([training[key] for key in ("slow", "exposed", "not_straggler", "network")], ["yes"] * 4)
        self.assertFalse(training["base_is_ideal"])
        self.assertIn("because of the network", training["verdict"])
        self.assertAlmostEqual(training["gpu_hours_per_hour"], (training["step_ns"] / training["base_ns"] - 1) * 8, places=2)

    def test_of_another_fabric(self):
        self.wrong(rocelab("diagnose", self.runs["C10-half-rate"], "--fabric", CASES / "C10-half-rate.yaml", "--baseline", self.base),
                   "another fabric file")

    def test_what_is_read_is_spared(self):
        copy = self.file("run.json", self.runs["H02-training"].read_bytes())
        self.wrong(rocelab("diagnose", copy, "--write-baseline", copy.parent / "." / "run.json"), "twice")
        self.assertEqual(copy.read_bytes(), self.runs["H02-training"].read_bytes())

    def test_not_written_where_something_was_found(self):
        file = self.at / "bad.json"
        done = rocelab("diagnose", self.runs["C10-half-rate"], "--write-baseline", file)
        self.assertEqual(done.returncode, 1)
        self.assertIn("something was found", done.stderr)
        self.assertFalse(file.exists())

    def test_no_baselines(self):
        for text, why in (('{"kind": "sim"}', "not a baseline"), ('{"kind": "baseline"', ":1: "),
                          ('{"kind": "baseline", "jobs": [{"ranks": 8}]}', "without its name"),
                          ('{"kind": "baseline",\n "jobs": [{"job": "x", "step_ns": -1}]}', ":2: "),
                          ('{"kind": "baseline", "jobs": [{"job": "train", "step_ns": 1, "exposed_share": 1e290}]}', "from 0 to 1"),
                          ('{"kind": "baseline", "jobs": [{"job": "train", "step_ns": 1e290}]}', "1e18"),
                          ('{"kind": "baseline", "fabric_digest": "12", "jobs": []}', "16 hex digits")):
            file = self.at / "wrong.json"
            file.write_text(text)
            self.wrong(rocelab("diagnose", self.runs["H02-training"], "--baseline", file), why)
        self.wrong(rocelab("diagnose", self.runs["H02-training"], "--write-baseline", self.at / "no" / "b.json"), "No such file")

    def test_bus_bandwidth_by_message_size(self):
        """Bus bandwidth of a small message is not held against that of a large one."""
        def result(size, busbw):
            return self.file(f"{size}.txt", b"# nccl-tests version 2.17.6\n# size count type redop root time algbw busbw #wrong\n"
                                            b"#  Rank  0 Group  0 Pid 1 on h0 device 0 [0000:0f:00] GPU\n 1024 256 float sum -1 5.0 1.0 1.0 0\n"
                                            b" %d 256 float sum -1 900.0 40.0 %.1f 0\n" % (size, busbw))

        def judged(file, base):
            done = rocelab("diagnose", "--json", file, "--baseline", base)
            document = json.loads(done.stdout)
            return [one["slow"] for one in document["training"]], " ".join(document["missing"])

        base = self.at / "sizes.json"
        done = rocelab("diagnose", result(1 << 30, 48.0), "--write-baseline", base)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(base.read_text())["jobs"][0]["message_bytes"], 1 << 30)
        self.assertEqual(judged(result(1 << 30, 40.0), base)[0], ["yes"])
        slow, missing = judged(result(1 << 20, 40.0), base)
        self.assertEqual(slow, [])
        self.assertIn("on 1 GPUs with messages of 1048576 bytes", missing)
        old = json.loads(base.read_text())
        del old["jobs"][0]["message_bytes"]
        base.write_text(json.dumps(old))
        slow, missing = judged(result(1 << 30, 40.0), base)
        self.assertEqual(slow, [])
        self.assertIn("in the baseline", missing)

    def test_numbers_without_measure(self):
        """What nobody can have measured is not written down."""
        aim = self.at / "huge-baseline.json"
        file = self.file("huge.prom", b'rocelab_job_bus_bytes_per_second{job_name="x"} 1e300\n')
        self.wrong(rocelab("diagnose", file, "--quiet", "--write-baseline", aim), "no time of a job")
        self.assertFalse(aim.exists())


if __name__ == "__main__":
    unittest.main()
