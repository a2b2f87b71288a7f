# SPDX-License-Identifier: Apache-2.0
"""Runs that congestion control or a host's bus holds back: that is named first, and without it the time comes back."""
import json
import pathlib
import re
import tempfile
import unittest

import judged

SWITCH = """rocelab: 1
fabric: one-switch
topology: {single: {hosts: 9}}
links: {host: {rate: 400G, cable: 3m}}
switches: {model: tomahawk5}
%s
classes:
  - {name: rdma, dscp: 26, priority: 3, lossless: true, ecn: {min: %s, max: %s, probability: %s}, share: 90%%}
  - {name: cnp, dscp: 48, priority: 6, strict: true}
  - {name: default, priority: 0, share: 10%%}
jobs: [{name: incast, incast: 8, to: h0, size: 8MB}]
"""
RAILS = """rocelab: 1
fabric: rails
topology: {rail: {hosts: 4, gpus: 8, leaves: 8, spines: 4, oversubscription: 1}}
links: {host: {rate: 400G, cable: 3m}, fabric: {rate: 400G, cable: 30m}}
%s
jobs: [{name: sum, allreduce: %s, size: 64MB, placement: random}]
"""
NONE = "nics: {congestion: none}"
CORES = """rocelab: 1
fabric: cores
system: tcp
topology: {single: {hosts: 9}}
links: {host: {rate: 100G, cable: 3m}}
nics: {tcp: {cpu-rate: %s, cores: 1}}
jobs: [{name: copy, %s}]
"""
ORDERED = "nics: {pcie: {use: gen5-x16, relaxed-ordering: false}}"


class HeldBack(unittest.TestCase):
    def run_of(self, text):
        """Time of the job, and the findings."""
        with tempfile.TemporaryDirectory(prefix="rocelab-held-") as folder:
            file, document = pathlib.Path(folder, "run.yaml"), pathlib.Path(folder, "run.json")
            file.write_text(text, encoding="utf-8")
            document.write_text(judged.run("sim", "--json", file), encoding="utf-8")
            job = json.loads(document.read_text(encoding="utf-8"))["jobs"][0]
            return job["time_ps"], json.loads(judged.run("diagnose", "--json", document))["findings"]

    def holds(self, rule, slow, fast, gain):
        """`slow` is held back by what `fast` does not have."""
        time, findings = self.run_of(slow)
        self.assertEqual(findings[0]["rule"], rule, findings)
        self.assertIsNone(findings[0]["consequence_of"])
        self.assertNotIn("D04", [finding["rule"] for finding in findings])
        without, findings = self.run_of(fast)
        self.assertNotIn(rule, [finding["rule"] for finding in findings])
        self.assertGreater(time, gain * without)

    def test_an_incast_in_the_way_of_a_collective(self):
        """The first run of the README: ports of the incast are full for a tenth of the run, while the AllReduce needs them."""
        text = (pathlib.Path(__file__).parents[2] / "examples/pod64.yaml").read_text(encoding="utf-8")
        time, findings = self.run_of(text)
        self.assertEqual((findings[0]["rule"], findings[0]["severity"]), ("D04", "warning"))
        self.assertEqual([victim["name"] if isinstance(victim, dict) else victim for victim in findings[0]["victims"]], ["allreduce0"])
        alone, findings = self.run_of(re.sub(r"(?m)^  - \{incast.*\n", "", text))
        self.assertNotIn("warning", [finding["severity"] for finding in findings])
        self.assertGreater(time, 1.5 * alone)

    def test_one_switch(self):
        ecn = ("500KB", "1500KB", "10%")
        self.holds("D22", SWITCH % ("", *ecn), SWITCH % (NONE, *ecn), 1.4)

    def test_marks_too_early(self):
        ecn = ("5KB", "15KB", "100%")
        self.holds("D22", SWITCH % ("", *ecn), SWITCH % (NONE, *ecn), 1.4)

    def test_rails(self):
        self.holds("D22", RAILS % ("", "auto"), RAILS % (NONE, "auto"), 1.2)

    def test_cores(self):
        """One sender's core; eight that send to one host, whose core cannot take what its line brings."""
        for job in ("flows: [{src: h0, dst: h1, size: 8MB}]", "incast: 8, to: h0, size: 2MB"):
            self.holds("D28", CORES % ("20G", job), CORES % ("400G", job), 2)

    def test_ordered_writes(self):
        self.holds("D23", RAILS % (ORDERED, "ring"), RAILS % ("", "ring"), 2)


if __name__ == "__main__":
    unittest.main()
