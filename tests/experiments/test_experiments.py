# SPDX-License-Identifier: Apache-2.0
"""`rocelab experiments`: its verdicts on experiments made to pass and to miss, the files it is installed with, and the
evidence for what they explain."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

import dcqcn_process

PROGRAM = os.environ["ROCELAB"]
SOURCE = pathlib.Path(os.environ["ROCELAB_SOURCE"])
SENDERS = os.environ["DCQCN_SENDERS"]
OURS = "remembers"  # what our notification point does with a mark within 50 us of a CNP
CURVE, CONTINUED = (200000, 0.01), (1955000, 0.1)

SMALL = """
experiment: X1
title: two flows
source: none
quick: true
fabric: |
  rocelab: 1
  topology: {single: {hosts: 3}}
  links: {host: {rate: $rate, cable: 3m}}
  switches: {latency: 500ns, buffer: 2MB}
  nics: {mtu: 1000, congestion: none}
  jobs:
    - {name: pair, flows: [{src: h1, dst: h0, size: 100MB}, {src: h2, dst: h0, size: 100MB}]}
  stop: 2ms
runs:
  a: {rate: 10G}
  b: {rate: 20G, seeds: 2}
measures:
"""


def measure(value, judged, what="x"):
    return f"  - {{what: {what}, value: '{value}', {judged}}}\n"


class Case(unittest.TestCase):
    def setUp(self):
        self.kept = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.kept.name)
        self.addCleanup(self.kept.cleanup)

    def run_in(self, folder, *arguments):
        env = dict(os.environ, ROCELAB_EXPERIMENTS=str(folder), LC_ALL="C.UTF-8")
        return subprocess.run([PROGRAM, "experiments", *arguments], env=env, capture_output=True, text=True, check=False)

    def run_text(self, text, *arguments):
        (self.folder / "X1.yaml").write_text(text)
        return self.run_in(self.folder, *arguments)

    def value(self, expression):
        result = self.run_text(SMALL + measure(expression, "published: any, at-least: 0"), "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)["experiments"][0]["measures"][0]["measured"]

    def verdict(self, expression, judged):
        result = self.run_text(SMALL + measure(expression, judged), "--json")
        document = json.loads(result.stdout)
        return result.returncode, document["experiments"][0]["measures"][0]["verdict"]


class Values(Case):
    def test_arithmetic(self):
        for text, value in (("1 + 2 * 3", 7), ("(1 + 2) * 3", 9), ("8 / 4 / 2", 1), ("max(1, 7, 3) - min(4, 2)", 5),
                            ("floor(7.9) / 2", 3.5), ("3 + floor(0 - 1.5)", 1), ("10 - 3 - 2", 5)):
            self.assertAlmostEqual(self.value(text), value, places=6)

    def test_goodput_is_what_the_line_leaves_for_payload(self):
        # 1000 B of payload in 1082 B of the line; the flows share it.
        self.assertAlmostEqual(self.value("goodput(a, *, h0, 1ms, 2ms)"), 10 * 1000 / 1082, delta=0.15)
        self.assertAlmostEqual(self.value("goodput(b, *, h0, 1ms, 2ms) / goodput(a, *, h0, 1ms, 2ms)"), 2, delta=0.03)
        self.assertAlmostEqual(self.value("goodput(a, h1, h0, 1ms, 2ms) / goodput(a, h2, *, 1ms, 2ms)"), 1, delta=0.05)
        self.assertEqual(self.value("goodput(a, h0, *, 1ms, 2ms)"), 0)

    def test_fairness_of_two(self):
        self.assertGreater(self.value("jain(a, *, h0, 1ms, 2ms)"), 0.99)
        self.assertEqual(self.value("jain(a, h1, h0, 1ms, 2ms)"), 1)

    def test_queue(self):
        # PFC holds the queue of two unequal rates high; nothing waits where nothing is sent.
        mean = self.value("queue(a, leaf0:0, 1ms, 2ms)")
        self.assertGreater(mean, 10000)
        self.assertLessEqual(self.value("queue_percentile(a, leaf0:0, 0, 1ms, 2ms)"), mean)
        self.assertGreaterEqual(self.value("queue_percentile(a, leaf0:0, 100, 1ms, 2ms)"), mean)
        self.assertGreaterEqual(self.value("queue_peak(a, leaf)"), self.value("queue_percentile(a, leaf0:0, 100, 0, 2ms)"))
        self.assertEqual(self.value("queue(a, h0:0, 1ms, 2ms)"), 0)

    def test_round_trips(self):
        # Frames of 1082 B take 0.87 us of 10G, twice; latencies and an ACK: 4 us or so when nothing waits.  Later the queue comes on top.
        text = SMALL.replace("congestion: none", "congestion: none, ack: {every: 1, request-every: 1}")
        for value in ("rtt(a, *, 0)", "rtt(a, h1, 50)", "rtt(a, host, 100)", "queue(a, leaf0:0, 1ms, 2ms)"):
            text += measure(value, "published: some, at-least: 0")
        measures = json.loads(self.run_text(text, "--json").stdout)["experiments"][0]["measures"]
        least, middle, most, queue = (m["measured"] for m in measures)
        self.assertGreater(least, 3.5)
        self.assertLess(least, 6)
        self.assertLess(least, middle)
        self.assertLessEqual(middle, most)
        self.assertGreater(most, queue * 8 / 10000)

    def test_counters(self):
        self.assertGreater(self.value("pauses_sent(a, leaf0:1-2)"), 0)
        self.assertEqual(self.value("pauses_sent(a, leaf0)"), self.value("pauses_received(a, host)"))
        self.assertEqual(self.value("drops(a, *) + lost(a, *) + marks(a, *) + timeouts(a, *)"), 0)
        self.assertEqual(self.value("flows_done(a, pair)"), 0)
        self.assertEqual(self.value("duration(a)"), 2000)

    def test_the_same_again(self):
        text = SMALL + measure("queue(a, leaf0:0, 0, 2ms)", "published: 1, at-least: 0")
        first, second = (json.loads(self.run_text(text, "--json").stdout) for _ in range(2))
        for document in (first, second):
            document["experiments"][0]["wall_s"] = 0
        self.assertEqual(first, second)


class Verdicts(Case):
    def test_each(self):
        explained = "explained: {measured: 9, tolerance: 0.5, because: reasons}"
        for judged, verdict in (
                ("published: 10, tolerance: 10%", "pass"), ("published: 11, tolerance: 10%", "miss"),
                ("published: 10, tolerance: 1", "pass"), ("published: 10, tolerance: 0.9", "miss"),
                ("published: 9, tolerance: 0", "pass"), ("published: few, at-most: 9", "pass"),
                ("published: few, at-most: 8", "miss"), ("published: many, at-least: 9.5", "miss"),
                ("published: some, at-least: 8, at-most: 10", "pass"),
                ("published: 20, tolerance: 1%, " + explained, "explained"),
                ("published: 9, tolerance: 1%, " + explained, "pass"),
                ("published: 20, tolerance: 1%, " + explained.replace("9", "8"), "miss")):
            self.assertEqual(self.verdict("3 * 3", judged), (1 if verdict == "miss" else 0, verdict), judged)

    def test_no_number_is_a_miss(self):
        self.assertEqual(self.verdict("1 / 0", "published: many, at-least: 1"), (1, "miss"))

    def test_nothing_to_measure_is_a_miss(self):
        # No flow of these ends, h0 sends to nobody, and nothing crosses the port of the host that only receives.
        for value in ("fct(a, pair, 99)", "slowdown(a, pair, 50)", "max(1, slowdown(a, pair, 50))", "min(fct(a, pair, 1), 1)",
                      "floor(fct(a, pair, 99))", "fct(b, pair, 99) * 0", "goodput_percentile(a, h0, *, 50, 1ms, 2ms)",
                      "jain(a, h0, *, 1ms, 2ms)", "rtt(a, h0, 50)"):
            self.assertEqual(self.verdict(value, "published: little, at-most: 1000000"), (1, "miss"), value)

    def test_table(self):
        result = self.run_text(SMALL + measure("1 + 1", "published: 2, tolerance: 0", "one and one") +
                               measure("1", "published: 2, tolerance: 0, explained: {measured: 1, tolerance: 0, because: it is one}"))
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stdout, r"one and one +2 +2 +exact +pass")
        self.assertIn("it is one", result.stdout)
        self.assertIn("1 pass, 1 explained, 0 miss", result.stdout)


class Wrong(Case):
    def refused(self, text, message):
        result = self.run_text(text)
        self.assertEqual(result.returncode, 2, result.stdout)
        self.assertIn(message, result.stderr)

    def test_expressions(self):
        good = "published: 1, tolerance: 0"
        for value, message in (("1 +", "a number or a call is expected"), ("(1", "a ) is missing"), ("1 2", "left over"),
                               ("queu(a)", "no such call"), ("ecmp_max_min(1, 65537, 1)", "at most 65536 links"),
                               ("ecmp_max_min(1G, 16, 1G)", "at most 10^10"), ("queue(a)", "too many or too few"),
                               ("queue(c, leaf0:0, 0, 1ms)", "no run"), ("queue(a, leaf0:0, 1ms, 1ms)", "not after"),
                               ("queue(a, leaf0:9, 0, 1ms)", "no such port"), ("marks(a, leaf9)", "no such port, device"),
                               ("goodput(a, h9, *, 0, 1ms)", "no such source"), ("fct(a, nojob, 50)", "no such job"),
                               ("fct(a, *, 101)", "0 to 100"), ("(" * 40 + "1" + ")" * 40, "too deep")):
            self.refused(SMALL + measure(value, good), message)

    def test_files(self):
        good = measure("1", "published: 1, tolerance: 0")
        self.refused(SMALL.replace("title:", "titel:") + good, "did you mean 'title'")
        self.refused(SMALL.replace("$rate", "$speed") + good + measure("marks(a, *)", "published: 1, at-least: 0"),
                     "no parameter '$speed'")
        self.refused(SMALL + measure("1", "published: 1"), "tolerance, at-least or at-most")
        self.refused(SMALL + measure("1", "published: some, tolerance: 1%"), "published number")
        self.refused(SMALL.replace("10G", "10") + good, "X1, run a")

    def test_names(self):
        self.run_text(SMALL + measure("1", "published: 1, tolerance: 0"))
        result = self.run_in(self.folder, "X2")
        self.assertEqual((result.returncode, "did you mean 'X1'" in result.stderr), (2, True))
        self.assertEqual(self.run_in(self.folder / "none").returncode, 2)


class Interrupted(Case):
    def test_what_was_done_is_reported(self):
        """The first ends, the second never does."""
        (self.folder / "X1.yaml").write_text(SMALL + measure("1", "published: 1, at-least: 1"))
        (self.folder / "X2.yaml").write_text(SMALL.replace("X1", "X2").replace("stop: 2ms", "stop: 1000s")
                                             .replace("100MB", "100TB") + measure("1", "published: 1, at-least: 1"))
        env = dict(os.environ, ROCELAB_EXPERIMENTS=str(self.folder), LC_ALL="C.UTF-8")
        for number in (signal.SIGTERM, signal.SIGINT):
            with subprocess.Popen([PROGRAM, "experiments"], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True) as process:
                self.assertTrue(process.stdout.readline().startswith("X1"))
                process.send_signal(number)
                out, errors = process.communicate()
            self.assertEqual((process.returncode, errors), (2, "rocelab: interrupted: 1 experiment was done\n"))
            self.assertTrue(out.endswith("1 pass, 0 explained, 0 miss\n"), out)


class Parts(Case):
    """Texts that runs share, in the file or in one beside it."""

    def measured(self, text):
        document = json.loads(self.run_text(text + measure("goodput(a, *, h0, 1ms, 2ms)", "published: some, at-least: 1"),
                                            "--json").stdout)
        experiment = document["experiments"][0]
        return experiment["measures"][0]["measured"], experiment["packet_hops"]

    def test_a_part_stands_for_its_text(self):
        plain = self.measured(SMALL)
        host = "links: {host: {rate: $rate, cable: 3m}}"
        (self.folder / "parts").mkdir()
        (self.folder / "parts" / "line").write_text("{host: {rate: $rate, cable: 3m}}\n")
        for part in ("'{host: {rate: $rate, cable: 3m}}'", "{file: parts/line}", f"{{file: {self.folder}/parts/line}}"):
            text = SMALL.replace(host, "links: $line").replace("fabric:", f"parts:\n  line: {part}\nfabric:")
            self.assertEqual(self.measured(text), plain, part)

    def test_a_run_goes_before_a_part(self):
        text = SMALL.replace("fabric:", "parts: {rate: 40G, slow: 10G}\nfabric:").replace("{rate: 10G}", "{rate: $slow}")
        self.assertEqual(self.measured(text), self.measured(SMALL))

    def test_wrong_parts(self):
        good = measure("marks(a, *)", "published: some, at-least: 0")
        for part, message in (("{rate: $rate}", "within parameters"), ("{rate: $speed}", "no parameter '$speed'"),
                              ("[1]", "parts"), ("{x: [1]}", "a part is a text, or {file: NAME}"),
                              ("{x: {file: none}}", "cannot open"), ("{x: {files: none}}", "a part is a text"),
                              ("{x: {file: " + "n" * 4096 + "}}", "too long")):
            text = SMALL.replace("fabric:", f"parts: {part}\nfabric:").replace("a: {rate: 10G}", "a: {}")
            result = self.run_text(text + good)
            self.assertEqual((result.returncode, message in result.stderr), (2, True), (part, result.stderr))


class Installed(Case):
    """The experiments of the tree."""

    @classmethod
    def setUpClass(cls):
        env = {key: value for key, value in os.environ.items() if key != "ROCELAB_EXPERIMENTS"}
        cls.result = subprocess.run([PROGRAM, "experiments", "--quick", "--json"], env=env, capture_output=True, text=True,
                                    check=False)
        cls.document = json.loads(cls.result.stdout)

    def measured(self, identifier):
        experiment = next(e for e in self.document["experiments"] if e["id"] == identifier)
        return {m["what"]: m["measured"] for m in experiment["measures"]}

    def test_quick_ones_hold(self):
        misses = [(e["id"], m) for e in self.document["experiments"] for m in e["measures"] if m["verdict"] == "miss"]
        self.assertEqual((self.result.returncode, misses), (0, []), self.result.stderr)
        self.assertGreaterEqual({e["id"] for e in self.document["experiments"]},
                                {"E01", "E02", "E05", "E10", "E13", "E18", "E25"})

    def test_all_are_listed_under_their_name(self):
        result = self.run_in(SOURCE / "experiments", "--list")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual([line.split()[0] for line in result.stdout.splitlines()],
                         sorted(path.stem for path in (SOURCE / "experiments").glob("*.yaml")))

    def senders(self, *arguments):
        """Mean queue in KB and use of the line in Gb/s of dcqcn_senders.c."""
        result = subprocess.run([SENDERS, *map(str, arguments), "0.2"], capture_output=True, text=True, check=True)
        return [float(word) for word in result.stdout.split()]

    def test_the_queue_is_the_algorithms(self):
        """A model of the algorithm alone has the queues that E02 measures."""
        measured = self.measured("E02")
        for senders, what, line in ((2, "mean queue, 2 senders, KB", CURVE), (4, "mean queue, 4 senders, KB", CURVE),
                                    (8, "mean queue, 8 senders, KB", CURVE), (10, "mean queue, 10 senders, KB", CURVE),
                                    (8, "the same, 8 senders, line continued, KB", CONTINUED),
                                    (10, "the same, 10 senders, line continued, KB", CONTINUED)):
            due = self.senders(senders, OURS, "dequeue", *line)[0]
            self.assertLess(abs(measured[what] - due), 0.12 * due, (what, measured[what], due))

    def test_the_line_is_filled_as_by_the_algorithm(self):
        measured = self.measured("E10")
        for senders in (2, 10, 19):
            due = self.senders(senders, OURS, "dequeue", *CURVE)[1]
            self.assertAlmostEqual(measured[f"{senders} to 1, Gb/s"], due, delta=0.5)

    def test_published_is_what_remembered_marks_give(self):
        """The published queues are those of the published notification point, and not of one that forgets marks."""
        for senders, published in ((2, 20.2), (4, 41.8), (8, 93.8), (10, 123)):
            remembered = dcqcn_process.queue_bytes(senders, True, seconds=1.0) / 1000
            self.assertLess(abs(remembered - published), 0.06 * published, (senders, remembered))
        self.assertGreater(dcqcn_process.queue_bytes(4, False, seconds=1.0) / 1000, 1.15 * 41.8)

    def test_published_is_the_fluid_models(self):
        """The same parameters in the published equations give the published numbers: the difference is the model's."""
        for senders, published in ((2, 20.2), (4, 41.8), (8, 93.8), (10, 123)):
            self.assertAlmostEqual(dcqcn_process.fluid_queue_bytes(senders) / 1000, published, delta=0.005 * published)

    def test_every_call_is_explained(self):
        table = (SOURCE / "src" / "study" / "experiments_probe.c").read_text()
        calls = re.findall(r'(?m)^    \{"(\w+)",', table)
        self.assertGreater(len(calls), 20)
        text = subprocess.run([PROGRAM, "help", "calls"], stdout=subprocess.PIPE, text=True, check=True).stdout
        self.assertEqual(calls, re.findall(r"(?m)^  (\w+)\([^()]+\)\n        \S", text))
        self.assertIn("  slowdown_sized(RUN, JOB, P, LEAST, MOST)\n", text)
        self.assertIn("  ecmp_slowest(FLOWS, LINKS, TRIALS)\n", text)


if __name__ == "__main__":
    sys.exit(unittest.main())
