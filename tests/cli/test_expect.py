# SPDX-License-Identifier: Apache-2.0
"""--expect and --write-expect of `sim`: what is written, read by hand, compared and refused; `up` is in tests/up/test_examples.py."""
import json
import re
import unittest

from support import Case, rocelab

FABRIC = """rocelab: 1
topology: {single: {hosts: 5}}
links: {host: {rate: 100G, delay: 1us}}
jobs: [{incast: 4, to: h0, size: 1MB}, {allreduce: ring, size: 1MB, repeat: 2, name: it's}]
"""


class Expect(Case):
    def setUp(self):
        super().setUp()
        self.fabric = self.file("f.yaml", FABRIC.encode())
        self.kept = self.file("kept.yaml", b"")

    def expect(self, text, *options):
        self.kept.write_text(text, encoding="utf-8")
        return rocelab("sim", "--quiet", "--expect", self.kept, *options, self.fabric)

    def written(self):
        run = rocelab("sim", "--json", "--write-expect", self.kept, self.fabric)
        self.assertEqual(0, run.returncode, run.stderr)
        return self.kept.read_text(encoding="utf-8"), json.loads(run.stdout)

    def test_written_is_what_the_run_gave(self):
        text, run = self.written()
        self.assertIn(f"digest: '{run['digest']}'\n", text)
        self.assertIn("\nend: done\n", text)
        for job, name in zip(run["jobs"], ("incast0", "it''s/1", "it''s/2")):
            found = re.search(rf"^  '{name}': ([\d.]+)us$", text, re.M)
            self.assertEqual(job["time_ps"], round(float(found[1]) * 1e6), name)
        same = self.expect(text)
        self.assertEqual((0, ""), (same.returncode, same.stderr))
        as_json = json.dumps({"rocelab-expect": 1, "digest": run["digest"], "jobs": {"it's/2": f"{run['jobs'][2]['time_ps']}ps"}})
        self.assertEqual(0, self.expect(as_json).returncode)
        self.assertEqual(0, self.expect(text, "--threads", "3").returncode)

    def test_differs(self):
        text, run = self.written()
        other = self.expect(text, "--cc", "dcqcn/paper,rpg_max_rate=50G")
        self.assertEqual(1, other.returncode)
        self.assertRegex(other.stderr, r"^rocelab: not as .*kept\.yaml expects: [345] of 6 values differ\n  value +expected +seen +apart\n")
        self.assertRegex(other.stderr, rf"\n  the run: digest +{run['digest']} +[0-9a-f]{{16}} *\n")
        self.assertRegex(other.stderr, r"\n  incast0: time +[\d.]+us +[\d.]+ms +\+[\d.]+%")
        early = self.expect(text, "--until", "20us")
        self.assertEqual(1, early.returncode)
        self.assertRegex(early.stderr, r"the run: end +done +until")
        self.assertRegex(early.stderr, r"it's/2: time +[\d.]+us +waiting")
        self.assertRegex(self.expect("{rocelab-expect: 1, jobs: {incast9: 1us}}").stderr, r"incast9: time +1us +not there")

    def test_tolerance(self):
        _, run = self.written()
        time = run["jobs"][0]["time_ps"]
        for value, tolerance, status in ((time, "0%", 0), (time - 1, "0%", 1), (time - 1, "1ps", 0), (time + 2, "1ps", 1),
                                         (time * 100 // 102, "1%", 1), (time * 100 // 102, "2.1%", 0),
                                         (time * 100 // 98, "2.1%", 0), (time * 100 // 98, "1%", 1)):
            one = f"rocelab-expect: 1\njobs: {{incast0: {{time: {value}ps, tolerance: {tolerance}}}}}\n"
            self.assertEqual(status, self.expect(one).returncode, one)
            usual = f"tolerance: {tolerance}\nrocelab-expect: 1\njobs: {{incast0: {value}ps}}\n"
            self.assertEqual(status, self.expect(usual).returncode, usual)
        self.assertIn("2.1%", self.expect(f"{{rocelab-expect: 1, time: {{time: 1us, tolerance: 2.1%}}}}").stderr)

    def test_the_end_is_as_the_file_says(self):
        """A run that fails as it should is right; one of which the file says nothing is judged as ever."""
        self.fabric.write_text(FABRIC.replace("jobs:", "nics: {timeout: 1, retry: 1}\nfaults: [{down: h1, at: 1us}]\njobs:"), encoding="utf-8")
        text, run = self.written_failed()
        self.assertIn("\nend: failed\n", text)
        self.assertIn("failed", re.findall(r"^  '[^:]*': (\w+)", text, re.M))
        self.assertEqual(0, self.expect(text).returncode)
        self.assertEqual(1, self.expect(f"{{rocelab-expect: 1, digest: '{run['digest']}'}}").returncode)

    def written_failed(self):
        run = rocelab("sim", "--json", "--write-expect", self.kept, self.fabric)
        self.assertEqual(1, run.returncode, run.stderr)
        return self.kept.read_text(encoding="utf-8"), json.loads(run.stdout)

    def test_wrong(self):
        for text, said in (("jobs: {incast0: 1us}", ":1:1: error: no file of --write-expect: it says 'rocelab-expect: 1'"),
                           ("rocelab-expect: 1\n", "nothing is expected in it"),
                           ("rocelab-expect: 2\ntime: 1us\n", ":1:17: error: rocelab-expect: this program reads version 1"),
                           ("rocelab-expect: 1\ntimes: 1us\n", ":2:1: error: unknown key 'times'; did you mean 'time'?"),
                           ("rocelab-expect: 1\ntime: 1\n", ":2:7: error: time: "),
                           ("rocelab-expect: 1\ntime: [1us]\n", ":2:7: error: time: a time, as in 7.08ms"),
                           ("rocelab-expect: 1\njobs: [incast0]\n", ":2:7: error: jobs: a map of names and times"),
                           ("rocelab-expect: 1\njobs: {a: {exit: 0}}\n", ":2:12: error: unknown key 'exit'"),
                           ("rocelab-expect: 1\nprograms: {a: {exit: no}}\n", ":2:22: error: exit: "),
                           ("rocelab-expect: 1\ntolerance: 1\ntime: 1us\n", ":2:12: error: tolerance: "),
                           ("rocelab-expect: 1\ndigest: 12\n", ":2:9: error: digest: 16 hexadecimal digits")):
            run = self.expect(text)
            self.assertEqual(2, run.returncode, text)
            self.assertIn(said, run.stderr)
        self.assertIn("--expect is of one run; --seeds makes several",
                      rocelab("sim", "--seeds", "3", "--expect", self.kept, self.fabric).stderr)
        self.assertIn("the fabric", rocelab("sim", "--write-expect", self.fabric, self.fabric).stderr)
        self.assertIn("--expect is of the virtual clock",
                      rocelab("up", "--clock", "real", "--expect", self.kept, self.fabric).stderr)
        self.assertEqual(FABRIC, self.fabric.read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()
