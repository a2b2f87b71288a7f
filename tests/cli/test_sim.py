# SPDX-License-Identifier: Apache-2.0
"""rocelab sim: golden reports, every JSON key, captures, counters, series, wrong files, interrupts."""
import csv
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time
import unittest

from support import PROGRAM, SOURCE, Case, environment, rocelab, unexplained

GOLDEN = SOURCE / "tests" / "cli" / "golden"
EXAMPLES = SOURCE / "examples"
HEAD = "rocelab: 1\nfabric: small\n"
LINKS = "links: {host: {rate: 100G, cable: 5m}}\n"
JOBS = "jobs: [{incast: 4, size: 2MB, to: h0}]\n"
SMALL = HEAD + "topology: {single: {hosts: 5}}\n" + LINKS + JOBS
# One receiver takes 40G of the 100G it is sent: pauses reach the switch, and its queue marks.
PAUSES = HEAD + """topology: {single: {hosts: 5}}
switches: {model: tomahawk3}
nics: {mtu: 4096, congestion: none}
devices:
  h0: {receive: {rate: 40G, buffer: 400KB}}
""" + LINKS + JOBS
# Congestion control, two switches, a line that loses packets, a job repeated.
LOSSY = HEAD + """topology: {leaf-spine: {leaves: 2, spines: 1, hosts: 4}}
links: {host: {rate: 100G, cable: 5m}, fabric: {rate: 100G, cable: 20m}}
nics: {mtu: 1024, congestion: dcqcn/connectx}
jobs: [{allreduce: ring, size: 1MB}, {incast: 6, size: 200KB, to: h0, repeat: 2}]
faults: [{corrupt: spine0:0, share: 0.1%}]
"""
STOPPED = """rocelab: 1
topology: {single: {hosts: 4}}
links: {host: {rate: 100G, cable: 3m}}
nics: {mtu: 4096, congestion: none}
jobs:
  - {name: a, flows: [{src: h0, dst: h1, size: 1GB}, {src: h2, dst: h3, size: 1MB}]}
  - {name: b, incast: 1, to: h3, ranks: [h2, h3], size: 50MB, bursts: 2, every: 10us, at: 200us}
  - {name: c, flows: [{src: h0, dst: h1, size: 1GB}], at: 900ms}
stop: 1ms
"""
# A ring that deadlocks until the watchdog breaks it, and a host nobody reaches.
BAD = HEAD + """topology:
  links:
    hosts: [a, b, c, d]
    switches: [A, B, C]
    links: [[a, A], [b, B], [c, C], [A, B], [B, C], [C, A], [d, A]]
links: {host: {rate: 100G, cable: 3m}, fabric: {rate: 40G, cable: 30m}}
classes: [{name: rdma, dscp: 26, priority: 3, lossless: true}, {name: default, priority: 0}]
switches: {buffer: 2MB, watchdog: {poll: 300us, detect: 300us, restore: 1ms}}
nics: {mtu: 1024, congestion: none, timeout: 8, retry: 1}
faults: [{misroute: "A:1", to: c}, {misroute: "B:2", to: a}, {misroute: "C:2", to: b}, {down: d}]
jobs: [{flows: [{src: a, dst: c, size: 4MB}, {src: b, dst: a, size: 4MB}, {src: c, dst: b, size: 4MB}, {src: a, dst: d, size: 1KB}]}]
"""
# Nobody ever asks for what was lost: there is no timer.
STUCK = SMALL + "nics: {timeout: 0}\nfaults: [{down: h0, at: 20us}]\n"
# An optic that reports what is wrong with it.
HOT = SMALL + "faults: [{hot-optics: \"h0:0\", temperature: 80C, pre-fec-ber: 5e-4}]\n"
# A link that fails, and routes that follow.
MOVES = LOSSY.replace("corrupt: spine0:0, share: 0.1%", "down: spine0:0, at: 20us, for: 1us}, {slow: h1, share: 50%, at: 1us") + "converge: {detect: 1us}\n"
# Compute and communication.
TRAINS = HEAD + "topology: {single: {hosts: 4}}\n" + LINKS + """jobs:
  - training: {model: {layers: 1, hidden: 64, sequence: 16}, groups: {dp: 4}, compute: {forward: 1us}}
"""
ENDLESS = HEAD + "topology: {single: {hosts: 5}}\n" + LINKS + "jobs: [{incast: 4, size: 10TB, to: h0}]\n"


def masked(text):
    """Without what the clock says."""
    text = re.sub(r"in \S+ \(\S+ a second\)", "in TIME (SPEED a second)", text)
    return re.sub(r'"(setup_s|wall_s)": \d+\.\d{6}', r'"\1": 0.000000', text)


class Sim(Case):
    def fabric(self, text, name="small.yaml"):
        return self.file(name, text.encode())

    def run_sim(self, text, *arguments, status=0):
        result = rocelab("sim", *arguments, self.fabric(text), cwd=self.folder)
        self.assertEqual((result.returncode, result.stderr), (status, ""))
        return result.stdout

    def document(self, text, *arguments, status=0):
        document = json.loads(self.run_sim(text, "--json", *arguments, status=status))
        self.assertEqual((document["version"], document["kind"]), (1, "sim"))
        return document


class Golden(Sim):
    def check(self, name, text):
        path = GOLDEN / name
        if os.environ.get("UPDATE"):
            path.write_text(text, encoding="utf-8")
        self.assertEqual(text, path.read_text(encoding="utf-8"),
                         f"{path} differs; after a wanted change, UPDATE=1 writes it anew")

    def test_reports(self):
        self.check("sim_pauses.txt", masked(self.run_sim(PAUSES)))
        self.check("sim_pauses.json", masked(self.run_sim(PAUSES, "--json")))
        self.check("sim_lossy.txt", masked(self.run_sim(LOSSY, "--rows", "6")))

    def test_the_front_page_shows_what_is_printed(self):
        text = rocelab("sim", "--rows", "3", "examples/pod64.yaml", cwd=SOURCE).stdout
        path = SOURCE / "README.md"
        page = path.read_text(encoding="utf-8")
        block = re.compile(r"(<!-- output of: rocelab sim --rows 3 examples/pod64\.yaml -->\n```\n)(.*?)(```\n)", re.S)
        self.shows_parts(masked(block.search(page)[2]), masked(text))

    def test_every_example_runs(self):
        for path in sorted(EXAMPLES.glob("*.yaml")):
            with self.subTest(path.name):
                result = rocelab("sim", "--until", "200us", path)
                self.assertEqual((result.returncode, result.stderr), (0, ""))


class Text(Sim):
    def test_columns_are_there_when_they_have_something(self):
        self.assertRegex(self.run_sim(PAUSES), r"PFC sent +PFC received +paused")
        self.assertNotIn("PFC sent", self.run_sim(SMALL))
        self.assertRegex(self.run_sim(LOSSY, "--rows", "0"), r"(?m)^  spine0:0 .* [1-9]\d*$")

    def test_head(self):
        lines = self.run_sim(PAUSES).splitlines()
        self.assertEqual(lines[0], "small: 5 hosts, 5 adapters at 100G, 1 switch (tomahawk3)")
        self.assertEqual(lines[1], "RoCEv2, MTU 4096, no congestion control, PFC on priority 3, ECN")

    def test_rows_and_quiet(self):
        self.assertIn("  and 9 more\n", self.run_sim(SMALL, "--rows", "1"))
        self.assertNotIn(" more\n", self.run_sim(SMALL, "--rows", "0"))
        quiet = self.run_sim(SMALL, "--quiet")
        self.assertIn("JOBS", quiet)
        self.assertNotIn("PORTS", quiet)

    def test_not_done(self):
        text = self.run_sim(SMALL, "--until", "10us")
        self.assertIn("stopped at 10us: 0 of 1 jobs had ended\n", text)
        self.assertIn("  4, 4 not completed\n", text)
        stuck = SMALL + "faults: [{down: h0, at: 0}]\nnics: {timeout: 0}\n"
        self.assertIn("STUCK at ", self.run_sim(stuck, status=1))


    def test_how_far_flows_have_come(self):
        """What `stop` cuts off: bytes that were acknowledged, and their rate; of two in one queue the second has none."""
        text = self.run_sim(STOPPED)
        self.assertIn("  5, 4 not completed\n", text)
        rows = [line.split() for line in text.splitlines() if " to h" in line]
        self.assertEqual([row[:4] for row in rows], [["h0:0", "to", "h1:0", "a"], ["h2:0", "to", "h3:0", "b"],
                                                     ["h2:0", "to", "h3:0", "b"]])
        self.assertEqual(rows[2][4:], ["210us", "0", "50MB", "0"])
        self.assertIn("  and 2 more\n", self.run_sim(STOPPED, "--rows", "1"))
        flows = self.document(STOPPED, "--csv", "out")["flows"]
        self.assertEqual([flow["fct_ps"] is None for flow in flows], [True, False, True, True, True])
        for flow, from_ps, to_ps in ((flows[0], 0, 10**9), (flows[2], 200 * 10**6, 10**9)):
            self.assertAlmostEqual(flow["acked_bytes"] * 8e12 / (to_ps - from_ps) / 98e9, 1, delta=0.01)
            self.assertEqual(flow["goodput_bps"], flow["acked_bytes"] * 8 * 10**12 // (to_ps - from_ps))
        self.assertEqual(flows[1]["acked_bytes"], flows[1]["bytes"])
        self.assertEqual(flows[1]["goodput_bps"], 8 * 10**18 // flows[1]["fct_ps"])
        self.assertEqual([(flow["acked_bytes"], flow["goodput_bps"]) for flow in flows[3:]], [(0, 0), (0, 0)])
        with open(self.folder / "out" / "flows.csv", newline="", encoding="utf-8") as file:
            self.assertEqual([(int(row["acked_bytes"]), int(row["goodput_bps"])) for row in csv.DictReader(file)],
                             [(flow["acked_bytes"], flow["goodput_bps"]) for flow in flows])


class Missed(Sim):
    def test_a_fault_after_the_end(self):
        """A warning with its place, once for one that repeats, and a problem for --strict; none of one that had begun."""
        text = HEAD + "topology: {single: {hosts: 3}}\n" + LINKS + "jobs: [{incast: 2, size: 64KB}]\nfaults:\n  - {%s}\n"
        late = self.file("late.yaml", (text % "down: 'h0:0', at: 1s, for: 1us").encode())
        result = rocelab("sim", late)
        self.assertRegex(result.stderr, r"late\.yaml:\d+:5: warning: at 1s: down h0:0 at 1s for 1us: never happened: the run ended at \S+\n$")
        self.assertEqual((result.returncode, result.stderr.count("\n"), rocelab("sim", "--strict", late).returncode), (0, 1, 1))
        self.assertEqual(rocelab("sim", "--until", "1us", late).stderr, "")  # whoever cuts the run short knows
        flaps = self.file("flaps.yaml", (text % "flap: 'h0:0', at: 1s, every: 1ms, down: 1us, times: 3").encode())
        self.assertEqual(rocelab("sim", flaps).stderr.count("never happened"), 1)
        early = self.file("early.yaml", (text % "flap: 'h0:0', at: 1us, every: 1s, down: 1us, times: 3").encode())
        self.assertEqual(rocelab("sim", early).stderr, "")


class Json(Sim):
    def test_keys_of_the_issue(self):
        document = self.document(SMALL)
        for key in ("virtual_ps", "setup_s", "wall_s", "packet_hops", "digest", "jobs", "flows", "ports", "nics"):
            self.assertIn(key, document)
        for key in ("name", "ranks", "bytes", "time_ps", "algbw_GBps", "busbw_GBps"):
            self.assertIn(key, document["jobs"][0])
        for key in ("id", "src", "dst", "bytes", "start_ps", "fct_ps"):
            self.assertIn(key, document["flows"][0])
        job = document["jobs"][0]
        self.assertAlmostEqual(job["algbw_GBps"], job["bytes"] / job["time_ps"] * 1000, places=5)
        self.assertEqual(job["time_ps"], max(flow["start_ps"] + flow["fct_ps"] for flow in document["flows"]))

    def test_the_program_explains_every_key(self):
        runs = [self.document(BAD, "--series", "1ms", status=1), self.document(STUCK, status=1)]
        runs += [self.document(text, "--series", "10us") for text in (SMALL, LOSSY, MOVES, TRAINS, PAUSES, HOT, SMALL + "llr: true\n")]
        for system in ("infiniband", "uet", "tcp"):
            runs.append(self.document(HEAD + f"system: {system}\ntopology: {{single: {{hosts: 3}}}}\n" + LINKS + "jobs: [{allreduce: ring, size: 64KB}]\n"))
        runs.append(self.document(HEAD + "topology: {single: {hosts: 2}}\n" + LINKS + "jobs: [{poisson: {sizes: [[50KB, 50%], [100KB, 100%]], load: 90%, until: 1ms}}]\n"))
        self.assertEqual(unexplained("sim", *runs), ([], []))

    def test_the_program_explains_every_key_of_experiments(self):
        env = environment(ROCELAB_EXPERIMENTS=str(SOURCE / "experiments"))
        run = json.loads(rocelab("experiments", "--json", "--seeds", "1", "E01", env=env).stdout)
        listed = json.loads(rocelab("experiments", "--json", "--list", "E01", env=env).stdout)
        self.assertEqual(run["pass"] + run["explained"] + run["miss"], len(run["experiments"][0]["measures"]))
        self.assertEqual(list(listed["experiments"][0]), ["id", "title", "source", "quick"])
        self.assertEqual(unexplained("experiments", run, listed), ([], []))

    def test_failed_flows_are_no_completion_times(self):
        text = SMALL.replace("incast: 4", "incast: 2") + "switches: {mtu: 1500}\nnics: {mtu: 4096, timeout: 8}\n"
        report = self.run_sim(text, status=1)
        self.assertIn("  2, 2 failed\n", report)
        self.assertNotIn("slowdown", report)
        self.assertRegex(report, r"(?m)^  incast0 .*s +- +-$")  # a time, and no bandwidth

    def test_unfinished_is_null(self):
        document = self.document(SMALL, "--until", "10us")
        self.assertEqual((document["state"], document["virtual_ps"]), ("until", 10000000))
        self.assertEqual({job["time_ps"] for job in document["jobs"]}, {None})
        self.assertEqual({flow["fct_ps"] for flow in document["flows"]}, {None})

    def test_threads_tiles_and_seed(self):
        def outcome(*arguments):
            document = self.document(LOSSY, *arguments)
            return {key: document[key] for key in ("seed", "digest", "virtual_ps", "jobs", "flows", "ports", "nics")}

        one = outcome()
        self.assertEqual(one, outcome("--threads", "2"))
        self.assertEqual(one, outcome("--no-tiles"))
        self.assertNotEqual(one["digest"], outcome("--seed", "9")["digest"])

    def test_drops_have_reasons(self):
        document = self.document(LOSSY)
        self.assertGreater(sum(port["lost"] for port in document["ports"]), 0)
        dropped = [port for port in document["ports"] if port["drops"]]
        self.assertTrue(dropped)
        for port in dropped:
            self.assertEqual(port["drops"], sum(port["drops_by"].values()), port)


class Pcap(Sim):
    def captured(self, text, port, *arguments):
        """(the capture as `rocelab capture` reads it, the run's document, the file)"""
        path = self.folder / "port.pcap"
        document = self.document(text, "--pcap", f"{port}={path}", *arguments)
        return self.json(path)[0], document, path

    def port(self, document, name):
        return next(port for port in document["ports"] if port["port"] == name)

    def test_counts_are_the_runs(self):
        capture, document, _ = self.captured(PAUSES, "h0:0")
        here, there = self.port(document, "h0:0"), self.port(document, "leaf0:0")
        nic = next(nic for nic in document["nics"] if nic["nic"] == "h0:0")
        self.assertEqual((capture["icrc_errors"], capture["malformed"], capture["time_backwards"]), (0, 0, 0))
        self.assertEqual(capture["packets"], here["frames"] + there["frames"])
        self.assertEqual(capture["icrc_checked"], capture["roce_packets"])
        self.assertEqual(capture["pfc_frames"], here["pfc_tx"])
        self.assertGreater(capture["pfc_frames"], 10)
        self.assertEqual(capture["ecn_marked"], nic["ecn_marked"])
        self.assertEqual(capture["goodput_bytes"], nic["rx_payload_bytes"])
        # The pauses are seen here before the switch reacts to them, each by the same time.
        self.assertAlmostEqual(capture["pauses"][0]["paused_ns"] / (there["paused_ps"] / 1000), 1, delta=0.01)

    def test_congestion_and_loss(self):
        capture, document, _ = self.captured(LOSSY, "h0:0")
        nic = next(nic for nic in document["nics"] if nic["nic"] == "h0:0")
        self.assertEqual((capture["icrc_errors"], capture["malformed"]), (0, 0))
        self.assertEqual(capture["packets"],
                         self.port(document, "h0:0")["frames"] + self.port(document, "leaf0:0")["frames"])
        self.assertEqual(capture["cnps"], nic["cnps_sent"] + nic["cnps_handled"])
        self.assertGreater(capture["retransmitted"], 0)

    def test_limits(self):
        """Headers alone, and a file that ends at its limit; nothing of it changes what is seen up to there."""
        result = rocelab("sim", "--pcap", "h0:0=whole.pcap", "--pcap", "leaf0:1=small.pcap,snap=96,size=10KB",
                         self.fabric(SMALL), cwd=self.folder)
        self.assertEqual(result.returncode, 0, result.stderr)
        small = (self.folder / "small.pcap").stat().st_size
        self.assertTrue(10000 - 16 - 96 < small <= 10000, small)
        left_out = re.search(r"small.pcap: 10KB are reached, and (\d+) later packets are not in it", result.stderr)
        whole, cut = self.json(self.folder / "whole.pcap", self.folder / "small.pcap")
        self.assertEqual((cut["icrc_errors"], cut["malformed"]), (0, 0))
        self.assertGreater(int(left_out[1]), 0)
        self.assertNotIn("whole.pcap", result.stderr)
        self.assertGreater(cut["packets"], 80)
        self.assertGreater(whole["packets"], 0)

    def test_a_receiver_does_not_see_what_the_line_lost(self):
        capture, document, _ = self.captured(LOSSY, "leaf0:4")
        here, there = self.port(document, "leaf0:4"), self.port(document, "spine0:0")
        self.assertGreater(there["lost"], 0)
        self.assertEqual(capture["packets"], here["frames"] + there["frames"] - there["lost"])

    def test_listening_changes_nothing(self):
        alone = self.document(LOSSY)
        _, document, path = self.captured(LOSSY, "spine0:0")
        self.assertEqual((document["digest"], document["flows"]), (alone["digest"], alone["flows"]))
        first = path.read_bytes()
        self.captured(LOSSY, "spine0:0", "--threads", "2")
        self.assertEqual(first, path.read_bytes())

    def test_several(self):
        self.run_sim(SMALL, "--pcap", "h0:0=a.pcap", "--pcap", "leaf0:1=b.pcap")
        files = self.json(self.folder / "a.pcap", self.folder / "b.pcap")
        self.assertEqual([file["malformed"] for file in files], [0, 0])
        self.assertEqual(len(files[0]["connections"]), 4)
        self.assertEqual(len(files[1]["connections"]), 1)

    def test_standard_output(self):
        self.run_sim(SMALL, "--pcap", "h0:0=a.pcap")
        for arguments in ([], ["--quiet"]):
            result = subprocess.run([PROGRAM, "sim", *arguments, "--pcap", "h0:0=-", self.fabric(SMALL)], check=True,
                                    capture_output=True, env=environment())
            self.assertEqual(result.stdout, (self.folder / "a.pcap").read_bytes())
            self.assertEqual(result.stderr, b"")

    def test_tagged(self):
        text = SMALL.replace("incast: 4", "incast: 1") + "switches: {trust: pcp}\n"
        capture, document, path = self.captured(text, "h0:0")
        self.assertEqual((capture["icrc_errors"], capture["malformed"]), (0, 0))
        self.assertEqual(path.read_bytes()[24 + 16 + 12:24 + 16 + 16], b"\x81\x00\x60\x00")  # priority 3, no VLAN
        self.assertEqual(sum(port["drops"] for port in document["ports"]), 0)
        self.assertEqual(document["flows"][0]["fct_ps"], document["flows"][0]["ideal_ps"])

    @unittest.skipUnless(shutil.which("tshark"), "no tshark here")
    def test_tshark_reads_it(self):
        capture, _, path = self.captured(PAUSES, "h0:0")
        result = subprocess.run(["tshark", "-r", path, "-T", "fields", "-e", "_ws.malformed", "-e", "macc.opcode", "-e",
                                 "infiniband.bth.opcode", "-e", "ip.checksum.status"], capture_output=True, text=True,
                                check=True)
        rows = [line.split("\t") for line in result.stdout.splitlines()]
        self.assertEqual(len(rows), capture["packets"])
        self.assertEqual({row[0] for row in rows}, {""})
        self.assertEqual(sum(row[1] != "" for row in rows), capture["pfc_frames"])
        self.assertEqual(sum(row[2] != "" for row in rows), capture["roce_packets"])

    def test_wrong(self):
        path = self.fabric(SMALL)
        for argument, words in (("h0:0", "as in leaf0:3=leaf0.pcap"), ("=x", "as in"), ("h0:0=", "as in"),
                                ("a.pcap,snap=64", "a port and a file"), ("leaf9:0=x", "there is no port 'leaf9:0'"), ("h0:0=/nowhere/x", "/nowhere/x: "),
                                ("h0:0=x,snap=9", "64 to 262144"), ("h0:0=x,size=9", "write a unit")):
            self.wrong(rocelab("sim", "--pcap", argument, path), words)
        self.wrong(rocelab("sim", "--pcap", "h0:0=a", "--pcap", "leaf0:0=b", path, cwd=self.folder),
                   "the link of port 'leaf0:0' is captured already")
        self.wrong(rocelab("sim", "--pcap", "h0:0=a", "--pcap", "h1:0=a", path, cwd=self.folder), "named for two ports")
        self.wrong(rocelab("sim", "--pcap", "h0:0=-", "--json", path), "both want standard output")
        large = self.fabric(SMALL + "nics: {mtu: 8192}\n", "large.yaml")
        self.wrong(rocelab("sim", "--quiet", "--pcap", "h0:0=large.pcap", large, cwd=self.folder), "more than 4096 bytes")
        self.assertFalse((self.folder / "large.pcap").exists())
        self.wrong(rocelab("sim", "--json", "--pcap", "h0:0=/dev/full", path, stdout=subprocess.DEVNULL),
                   "/dev/full: No space left on device")


SAMPLE = re.compile(r'^([a-z_][a-z0-9_]*)(?:\{((?:[a-z_]+="(?:[^"\\]|\\.)*",?)*)\})? (\d+(?:\.\d+)?(?:e-\d+)?)$')


def exposition(text):
    """The families of a text in Prometheus' format: {name: (type, {labels: value})}; as strict as it may be."""
    families, name = {}, None
    for line in text.splitlines():
        if line.startswith("# HELP "):
            name, told = line[7:].split(" ", 1)
            assert name not in families and told, line
            families[name] = [None, {}]
        elif line.startswith("# TYPE "):
            which, kind = line[7:].split(" ")
            assert which == name and kind in ("counter", "gauge") and families[name][0] is None, line
            families[name][0] = kind
        else:
            match = SAMPLE.match(line)
            assert match and match[1] == name and families[name][0], line
            labels = tuple(re.findall(r'([a-z_]+)="((?:[^"\\]|\\.)*)"', match[2] or ""))
            assert labels not in families[name][1] and len({key for key, _ in labels}) == len(labels), line
            families[name][1][labels] = float(match[3])
    assert text.endswith("\n")
    return families


class Counters(Sim):
    def total(self, families, name, **labels):
        return sum(value for key, value in families[name][1].items() if labels.items() <= dict(key).items())

    def test_prometheus(self):
        families = exposition(self.run_sim(PAUSES, "--counters", "prometheus"))
        for name, (kind, samples) in families.items():
            self.assertEqual(name.endswith("_total"), kind == "counter", name)
            self.assertTrue(samples, name)
            self.assertEqual(len({tuple(key for key, _ in labels) for labels in samples}), 1, name)
        document = self.document(PAUSES)
        port = next(port for port in document["ports"] if port["port"] == "leaf0:0")
        here = {"switch": "leaf0", "port": "leaf0:0"}
        self.assertEqual(self.total(families, "rocelab_switch_ecn_marked_total", **here), port["ecn_marked"])
        self.assertEqual(self.total(families, "rocelab_switch_port_rx_pfc_frames_total", **here), port["pfc_rx"])
        self.assertAlmostEqual(self.total(families, "rocelab_switch_rx_pause_seconds_total", priority="3", **here),
                               port["paused_ps"] / 1e12)
        self.assertEqual(self.total(families, "rocelab_switch_queue_max_bytes", priority="3", **here),
                         port["queue_max_bytes"])
        self.assertEqual(self.total(families, "rdma_roce_pfc_pause_frames_total", device="h0:0", direction="tx") +
                         self.total(families, "rdma_roce_pfc_resume_frames_total", device="h0:0", direction="tx"),
                         port["pfc_rx"])
        for name, key in (("rdma_np_cnp_sent_total", "cnps_sent"), ("rdma_rx_packets_total", "rx_packets"),
                          ("node_infiniband_np_ecn_marked_roce_packets_received_total", "ecn_marked")):
            for nic in document["nics"]:
                self.assertEqual(self.total(families, name, device=nic["nic"], port="1"), nic[key])
        self.assertEqual(self.total(families, "rocelab_sim_packet_hops_total"), document["packet_hops"])

    def test_drops_by_reason(self):
        families = exposition(self.run_sim(LOSSY, "--counters", "prometheus"))
        document = self.document(LOSSY)
        for port in document["ports"]:
            for reason, count in port["drops_by"].items():
                name, label = (("rdma_drops_total", "device") if port["port"].startswith("h")
                               else ("rocelab_switch_port_drops_total", "port"))
                self.assertEqual(self.total(families, name, **{label: port["port"], "reason": reason}), count)

    def test_every_counter_of_the_lists_is_there(self):
        families = exposition(self.run_sim(SMALL, "--counters", "prometheus"))
        nic = (SOURCE / "src" / "nic" / "counters.def").read_text()
        for name in re.findall(r"^COUNTER\((\w+),", nic, re.M):
            self.assertTrue({f"rdma_{name}_total", f"rdma_{name}"} & set(families), name)
        switch = (SOURCE / "src" / "switch" / "counters.def").read_text()
        for name in re.findall(r"^PORT\((\w+),", switch, re.M):
            self.assertIn(f"rocelab_switch_port_{name}_total", families)
        for name in re.findall(r"^PRIO\((\w+),", switch, re.M):
            name = re.sub("_ps$", "_seconds", name)
            self.assertTrue({f"rocelab_switch_{name}_total", f"rocelab_switch_{name}"} & set(families), name)

    def test_the_list_is_what_is_there(self):
        listed = {metric["name"]: metric for metric in
                  json.loads(subprocess.run([PROGRAM, "counters", "--list", "--json"], stdout=subprocess.PIPE, check=True).stdout)["metrics"]}
        hot = PAUSES + "faults: [{hot-optics: leaf0:0, temperature: 80C, pre-fec-ber: 1e-5}]\n"
        families = exposition(self.run_sim(hot, "--counters", "prometheus"))
        ours = {name for name in families if not name.startswith("node_infiniband_")}
        training = {"rocelab_gpu_step_compute_seconds", "rocelab_gpu_step_wait_seconds"}
        self.assertLessEqual(ours, set(listed))
        # at a run's end; of live programs; of other systems (test_systems.py)
        others = ("rocelab_tier_", "rocelab_nccl_", "rocelab_uet_", "rocelab_tcp_", "node_netstat_", "node_infiniband_", "rocelab_infiniband_")
        elsewhere = {name for name in listed if name.startswith(others)}
        self.assertLessEqual(set(listed) - ours, training | elsewhere)
        for name in ours:
            kind, samples = families[name]
            self.assertEqual(listed[name]["type"], kind, name)
            self.assertEqual(set(listed[name]["labels"]), {key for key, _ in next(iter(samples))}, name)
        self.assertEqual(self.total(families, "rocelab_optic_temperature_celsius", port="leaf0:0"), 80)
        self.assertEqual(len(families["rocelab_optic_temperature_celsius"][1]), 1)
        self.assertAlmostEqual(self.total(families, "rocelab_optic_pre_fec_ber"), 1e-5)
        self.assertNotIn("rocelab_optic_temperature_celsius", exposition(self.run_sim(PAUSES, "--counters", "prometheus")))

    def test_over_time(self):
        """OpenMetrics has the last values of the text format, stretched; counters never fall; times are of the stretched clock."""
        self.run_sim(PAUSES, "--counters", "openmetrics=over.om", "--series", "10us", "--stretch", "1e6")
        text = (self.folder / "over.om").read_text(encoding="utf-8")
        self.assertTrue(text.endswith("\n# EOF\n"))
        self.assertIn("# TYPE rocelab_switch_rx_pause_seconds counter\n# UNIT rocelab_switch_rx_pause_seconds seconds\n", text)
        rows, types = {}, dict(re.findall(r"(?m)^# TYPE (\S+) (\S+)$", text))
        for metric, value, time in re.findall(r"(?m)^([^#]\S*\{.*\}) (\S+) (\S+)$", text):
            rows.setdefault(metric, []).append((float(time) - 1767225600, float(value)))
        steps = max(len(row) for row in rows.values())
        for metric, row in rows.items():
            if types.get(metric.split("{")[0].removesuffix("_total")) == "counter":
                self.assertEqual([value for _, value in row], sorted(value for _, value in row), metric)
            self.assertEqual([time % 10 for time, _ in row], [0] * len(row), metric)
            self.assertLessEqual(max((b - a for (a, _), (b, _) in zip(row, row[1:])), default=0), 250, metric)
        self.assertGreater(steps, 10)
        paused = max(value for metric, row in rows.items() if metric.startswith("rocelab_switch_rx_pause_seconds_total") for _, value in row)
        port = max(port["paused_ps"] for port in self.document(PAUSES)["ports"] if port["thresholds"] is not None)
        self.assertAlmostEqual(paused / (port / 1e6), 1, delta=0.1) # a step may be missing at the end

    def test_to_a_file(self):
        text = self.run_sim(SMALL, "--counters", "prometheus=counters.prom")
        self.assertIn("JOBS", text)
        self.assertIn("rdma_tx_packets_total", exposition((self.folder / "counters.prom").read_text()))

    def test_wrong(self):
        path = self.fabric(SMALL)
        for bad in ("statsd", "prometheus=", "prometheusx"):
            self.wrong(rocelab("sim", "--counters", bad, path), "'prometheus', or 'prometheus=FILE'")
        self.wrong(rocelab("sim", "--json", "--counters", "prometheus", path), "both want standard output")
        self.wrong(rocelab("sim", "--counters", "openmetrics", path), "say --series TIME too")
        self.wrong(rocelab("sim", "--counters", "prometheus", "--stretch", "1e6", path), "--stretch is of the clock")
        self.wrong(rocelab("sim", "--counters", "openmetrics", "--series", "10us", "--stretch", "10", path), "say 100 or more")
        self.wrong(rocelab("sim", "--counters", "openmetrics", "--series", "10us", "--stretch", "0", path), "1 to 1e12")
        self.wrong(rocelab("sim", "--counters", "openmetrics=/nowhere/x", "--series", "10us", path), "/nowhere/x")
        self.wrong(rocelab("sim", "--counters", "openmetrics", "--series", "10us", "--seeds", "2", path), "for one run")
        self.wrong(rocelab("sim", "--counters", "prometheus=/nowhere/x", path, stdout=subprocess.DEVNULL), "/nowhere/x")


class Csv(Sim):
    def rows(self, name):
        with open(self.folder / "out" / name, newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def test_files_say_what_json_says(self):
        document = self.document(LOSSY, "--csv", "out")
        self.assertEqual([int(row["end_ps"]) - int(row["start_ps"]) for row in self.rows("jobs.csv")],
                         [job["time_ps"] for job in document["jobs"]])
        self.assertEqual([(row["src"], row["dst"], int(row["fct_ps"])) for row in self.rows("flows.csv")],
                         [(flow["src"], flow["dst"], flow["fct_ps"]) for flow in document["flows"]])
        for key in ("frames", "line_bytes", "ecn_marked", "drops", "lost"):
            self.assertEqual([int(row[key]) for row in self.rows("ports.csv")],
                             [port[key] for port in document["ports"]])
        self.assertEqual([int(row["np_cnp_sent"]) for row in self.rows("nics.csv")],
                         [nic["cnps_sent"] for nic in document["nics"]])

    def test_series(self):
        interval = 20000000
        document = self.document(PAUSES, "--csv", "out", "--series", "20us")
        self.assertEqual(document["digest"], self.document(PAUSES)["digest"])
        rows = self.rows("series.csv")
        for row in rows:
            self.assertEqual(int(row["time_ps"]) % interval, 0)
            self.assertLessEqual(int(row["rate_bps"]), 100_000_100_000)
            self.assertLessEqual(int(row["paused_ps"]), interval)
        here = [row for row in rows if row["port"] == "leaf0:0"]
        port = next(port for port in document["ports"] if port["port"] == "leaf0:0")
        self.assertEqual([int(row["time_ps"]) for row in here],
                         [interval * (i + 1) for i in range((document["virtual_ps"] + 2000000) // interval)])
        sent = sum(int(row["rate_bps"]) for row in here) * interval / 8e12
        self.assertAlmostEqual(sent / port["line_bytes"], 1, delta=0.03)
        self.assertAlmostEqual(sum(int(row["paused_ps"]) for row in here) / port["paused_ps"], 1, delta=0.03)
        self.assertGreater(max(int(row["queue_bytes"]) for row in here), port["queue_max_bytes"] // 2)
        self.assertIn("8", {row["paused_priorities"] for row in here})

    def test_series_in_the_document(self):
        """Steps of a document add up to what the run counted, less its last piece of a step."""
        document = self.document(PAUSES, "--series", "1us")
        self.assertEqual(document["digest"], self.document(PAUSES)["digest"])
        series = document["series"]
        self.assertEqual((series["step_ps"], series["first_ps"], series["full"], series["left_out"]), (1000000, 1000000, False, 0))
        self.assertEqual(series["steps"], (document["virtual_ps"] + 2000000) // 1000000)  # a run goes on for 2 us when its jobs are done
        self.assertEqual(series, self.document(PAUSES, "--series", "1us", "--threads", "2", "--no-tiles")["series"])
        column = {(c["metric"], c["object"], c["priority"]): c for c in series["columns"]}
        self.assertEqual(len(column), len(series["columns"]))
        for c in series["columns"]:
            self.assertEqual(len(c["data"]), series["steps"])
            self.assertTrue(any(c["data"]), c["object"])
        port = next(port for port in document["ports"] if port["port"] == "leaf0:0")
        self.assertLessEqual(0, port["line_bytes"] - sum(column["tx", "leaf0:0", None]["data"]))
        self.assertLess(port["line_bytes"] - sum(column["tx", "leaf0:0", None]["data"]), 20000)
        paused = sum(column["paused", "leaf0:0", 3]["data"])
        self.assertTrue(0 <= port["paused_ps"] - paused <= 1000000, (port["paused_ps"], paused))
        self.assertTrue(port["queue_max_bytes"] / 2 < max(column["queue", "leaf0:0", 3]["data"]) <= port["queue_max_bytes"])
        nic = max(document["nics"], key=lambda nic: nic["tx_payload_bytes"])
        self.assertLess(abs(nic["tx_payload_bytes"] - sum(column["tx_payload", nic["nic"], None]["data"])), 20000)
        job = document["jobs"][0]
        self.assertLessEqual(sum(column["job", job["name"], None]["data"]), sum(j["bytes"] for j in document["jobs"]))

    def test_wrong(self):
        path = self.fabric(SMALL)
        self.wrong(rocelab("sim", "--series", "10us", path), "--series says how often to look; say where it goes")
        self.wrong(rocelab("sim", "--qps", "4", path), "--qps", "say --series TIME")
        for step in ("0", "1ps", "9ns"):
            self.wrong(rocelab("sim", "--series", step, "--csv", "x", path), f"--series '{step}': 10ns or more")
        self.wrong(rocelab("sim", "--csv", "/dev/null/x", path), "'/dev/null/x': ")
        self.wrong(rocelab("sim", "--csv", "/dev/null", path), "'/dev/null': Not a directory")


class Wrong(Sim):
    def refused(self, text, where, *words, arguments=()):
        """Exit status 2 and one line: file, line, column, and what is wrong."""
        result = rocelab("sim", *arguments, self.fabric(text), cwd=self.folder)
        self.assertEqual((result.returncode, result.stdout), (2, ""), result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertRegex(result.stderr, rf"small\.yaml:{where}: error: ")
        for word in words:
            self.assertIn(word, result.stderr)

    def test_zero_bytes(self):
        """C would end the text there: refused with its place, in whatever file it stands."""
        fabric = self.file("zero.yaml", b"rocelab: 1\nfabric: a\0b\n")
        for words in (["sim"], ["check"], ["validate"], ["compare"], ["tune", "--for", "time"], ["config"]):
            result = rocelab(*words, fabric)
            self.assertEqual(result.returncode, 2, words)
            self.assertRegex(result.stderr, "zero.yaml:2:10: .*(zero byte|control character)")
        self.file("flows.csv", b"h0,h1,1MB\nh0,h\0002,1MB\n")
        self.refused(SMALL.replace(JOBS, "jobs: [{flows: {file: flows.csv}}]\n"), "5:16", "flows.csv:2:5: a zero byte")

    def test_files(self):
        single = HEAD + "topology: {single: {hosts: 5}}\n"
        self.refused(HEAD + "topolgy: {single: {hosts: 5}}\n" + LINKS + JOBS, "3:1", "unknown key 'topolgy'",
                     "did you mean 'topology'?")
        self.refused(single + LINKS + "jobs: [{incast: 4, size: 2MB, two: h0}]\n", "5:31", "unknown key 'two'", "'to'")
        for shift in ("-1", "1.5", "3x"):
            self.refused(single + LINKS + f"jobs: [{{permutation: {shift}, size: 1MB}}]\n", "5:22",
                         f"permutation: '{shift}' is no shift; write a whole number of 1 or more, or random")
        self.refused(single + LINKS.replace("100G", "0G") + JOBS, "4:22", "rate: 0G is too small")
        self.refused(single + LINKS.replace("100G", "100") + JOBS, "4:22", "a bare number", "as in 400G")
        self.refused(single + LINKS.replace("5m", "5") + JOBS, r"4:\d+", "a bare number")
        self.refused(HEAD + "topology: {single: {hosts: 1000000000}}\n" + LINKS + JOBS, "3:12", "1000000000 hosts", "GB of memory")
        self.refused(HEAD + "topology: {single: {hosts: 300}}\n" + LINKS + "switches: {model: tomahawk3}\n" + JOBS,
                     "5:19", "300 ports", "128 at most")
        self.refused(HEAD + "topology: {links: {hosts: [a, b], leaves: 2, links: [[a, leaf0], [b, leaf1]]}}\n" + LINKS +
                     "jobs: [{permutation: random, size: 1MB}]\n", r"5:\d+", "no route from a:0 to b:0")
        self.refused(HEAD + "topology: {leaf-spine: {leaves: 2, spines: 0, hosts: 2}}\n" + LINKS +
                     "jobs: [{incast: 1, from: [h2], to: h0, size: 1MB}]\n", r"5:\d+")
        self.refused(single + LINKS + "nics: {congestion: dcqcn/conectx}\n" + JOBS, r"5:\d+",
                     "did you mean 'dcqcn/connectx'?")
        self.refused(single + LINKS + "nics: {congestion: {rpg_ai_rat: 5M}}\n" + JOBS, r"5:\d+",
                     "did you mean 'rpg_ai_rate'?")
        self.refused("", "1:1", "the first line of a fabric file must be 'rocelab: 1'")
        self.refused("rocelab: 1\ntopology: {single: {hosts: 5}\n", r"\d+:\d+")

    def test_errors_of_every_stage_in_one_round(self):
        """Keys, a rate, what the topology needs, a model, congestion control, an algorithm, a size."""
        path = self.fabric(HEAD + "topology: {rail: {hosts: 64, gpus: 8, leafs: 8}}\n" + LINKS.replace("100G", "100") +
                           "switches: {model: tomahawk55}\nnics: {mtuu: 4096, congestion: dcqn/connectx}\n"
                           "jobs: [{allreduce: rng, size: 64MB}, {incast: 8, size: 1M}]\n")
        result = rocelab("sim", path, cwd=self.folder)
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        lines = result.stderr.splitlines()
        for line, words in zip(lines, ("needs spines", "unknown key 'leafs'", "rate '100'", "unknown switch model",
                                       "unknown key 'mtuu'", "no congestion control is called 'dcqn/connectx'",
                                       "unknown algorithm 'rng'", "size '1M'"), strict=True):
            self.assertIn(words, line)

    def test_a_parameter_of_another_algorithm(self):
        self.refused(HEAD + "topology: {single: {hosts: 5}}\n" + LINKS +
                     "nics: {congestion: {use: hpcc/paper, rpg_ai_rate: 10M}}\n" + JOBS, r"5:\d+",
                     "'rpg_ai_rate' is a parameter of dcqcn, and hpcc/paper does not use it")

    def test_not_a_file(self):
        for path, words in (("nowhere.yaml", "No such file"), (EXAMPLES, "directory"),
                            (EXAMPLES / "incast.pcap", "a packet capture, which 'rocelab capture' reads")):
            result = rocelab("sim", path)
            self.assertEqual((result.returncode, result.stdout, result.stderr.count("\n")), (2, "", 1))
            self.assertIn(words, result.stderr)

    def test_one_spelling_of_no_such_file(self):
        for arguments in (("sim", "nowhere"), ("check", "nowhere"), ("sweep", "nowhere", "--vary", "seed=1"),
                          ("import", "nowhere"), ("capture", "nowhere"), ("config", "--nos", "eos", "nowhere"),
                          ("diff", "nowhere", "nowhere")):
            self.assertEqual(rocelab(*arguments).stderr, "rocelab: nowhere: No such file or directory\n", arguments)
        self.assertEqual(rocelab("sim", EXAMPLES).stderr, f"rocelab: {EXAMPLES}: is a directory; name a file in it\n")

    def test_notes(self):
        single = HEAD + "topology: {single: {hosts: 5}}\n" + LINKS
        result = rocelab("sim", self.fabric(single), cwd=self.folder)
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stderr, "^rocelab: note: .*small.yaml has no jobs, and nothing is sent; write some, as in "
                                        r"jobs: \[\{incast: 3, size: 1MB\}\]\n$")
        result = rocelab("sim", self.fabric(single + "nics: {mtu: 9000}\n" + JOBS), cwd=self.folder)
        self.assertEqual(result.stderr, "rocelab: note: NICs have an mtu of 9000; the largest that verbs have is 4096, in frames of "
                                        "up to 9216\n")
        result = rocelab("sim", self.fabric(single + "system: tcp\n" + JOBS), cwd=self.folder)
        self.assertEqual(result.stderr, "")  # its segments are no packets of verbs
        result = rocelab("sim", "--quiet", self.fabric(single + "nics: {mtu: 9000}\n"), cwd=self.folder)
        self.assertEqual(result.stderr, "")

    def test_a_class_of_tcp_beside_rdma(self):
        path = self.fabric(HEAD + "topology: {single: {hosts: 5}}\n" + LINKS +
                           "classes: [{name: rdma, priority: 3, dscp: 26}, {name: bulk, priority: 1, dscp: 10, system: tcp}]\n")
        result = rocelab("sim", "--pcap", "h0:0=h0.pcap", path, cwd=self.folder)
        self.assertEqual(result.returncode, 2)
        self.assertIn("frames of system 'tcp' cannot be captured", result.stderr)
        result = rocelab("up", path, cwd=self.folder)
        self.assertEqual(result.returncode, 2)
        self.assertIn("a class of this file has another 'system'", result.stderr)

    def test_many_adapters_with_credits(self):
        """72 adapters of a host update two lanes each at one instant: more words than one call answers."""
        path = self.fabric("rocelab: 1\nfabric: many\nsystem: infiniband\njobs: [{permutation: random, size: 64KB}]\n"
                           "topology: {rail: {hosts: 2, gpus: 72, leaves: 9, spines: 2}}\n"
                           "links: {host: {rate: 800G, cable: 10m}, fabric: {rate: 800G, cable: 30m}}\n")
        results = [rocelab("sim", "--json", "--threads", str(n), path, cwd=self.folder) for n in (1, 3)]
        self.assertEqual([one.returncode for one in results], [0, 0], results[0].stderr)
        self.assertEqual(*(json.loads(one.stdout)["digest"] for one in results))

    def test_memory(self):
        result = rocelab("sim", "--memory", "1MB", EXAMPLES / "pod64.yaml")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertRegex(result.stderr, r"pod64\.yaml: error: the run needs about \d[\d.]*[MG]B of memory "
                         r"\(\d[\d.]*[MG]B with every buffer full\), 1MB may be used\n$")
        fits = rocelab("sim", "--memory", "10MB", "--until", "1us", EXAMPLES / "pod64.yaml")
        self.assertEqual(fits.returncode, 0)
        self.assertRegex(fits.stderr, r"^rocelab: note: with every buffer full this run takes about \d[\d.]*[MG]B of memory; "
                         r"10MB may be used\n$")
        quiet = rocelab("sim", "--quiet", "--memory", "10MB", "--until", "1us", EXAMPLES / "pod64.yaml")
        self.assertEqual((quiet.returncode, quiet.stderr), (0, ""))
        self.refused(SMALL.replace("size: 2MB", "size: 2MB, repeat: 1000M"), r"5:\d+", "of memory for its jobs", "'incast0'",
                     arguments=("--memory", "16GB"))

    def test_standard_input(self):
        result = rocelab("sim", "--quiet", "-", stdin=SMALL.encode())
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("incast0", result.stdout)
        result = rocelab("sim", "-", stdin=(SMALL + "sed: 1\n").encode())
        self.assertEqual((result.returncode, result.stderr), (2, "<stdin>:6:1: error: unknown key 'sed' in a fabric file; "
                                                              "did you mean 'seed'?\n"))

    def test_endless_file(self):
        result = rocelab("sim", "/dev/zero")
        self.assertEqual((result.returncode, result.stderr), (2, "/dev/zero: error: cannot read '/dev/zero': too large\n"))

    def test_use(self):
        path = self.fabric(SMALL)
        self.wrong(rocelab("sim"), "which file")
        self.wrong(rocelab("sim", path, path), "one file at a time")
        for option, bad in (("until", "5"), ("threads", "0"), ("threads", "many"), ("seed", "x"), ("rows", "-1"),
                            ("memory", "0"), ("memory", "1G"), ("series", "0")):
            self.wrong(rocelab("sim", f"--{option}", bad, path), f"--{option} '{bad}': ")
        self.wrong(rocelab("sim", "--thread", "1", "--jsn", path), "did you mean '--json'?")


    def test_files_are_apart(self):
        """Two outputs of one name, or what is read: refused before the run, and nothing is touched."""
        path = self.fabric(SMALL)
        (self.folder / "link.yaml").symlink_to(path)
        (self.folder / "here").symlink_to(self.folder)
        before = pathlib.Path(path).read_bytes()
        for verb in ("sim", "up"):
            for arguments, words in ((("--events", path), "twice, for the fabric"), (("--html", "link.yaml"), "twice, for the fabric"),
                                     (("--events", "x.csv", "--html", "here/x.csv"), "twice, for --events ('x.csv')"),
                                     (("--html", "x", "--pcap", "h0:0=./x"), "twice, for --html ('x')")):
                self.wrong(rocelab(verb, *arguments, path, cwd=self.folder), words)
        self.wrong(rocelab("sim", "--events", "x", "--counters", "prometheus=./x", path, cwd=self.folder), "twice, for --events ('x')")
        (self.folder / "tables").mkdir()
        self.wrong(rocelab("sim", "--csv", "tables", "--html", "here/tables/jobs.csv", path, cwd=self.folder), "twice, for --html")
        self.wrong(rocelab("up", "--script", path, "--record", "link.yaml", self.file("other.yaml", before), cwd=self.folder), "twice, for --script")
        self.assertEqual(pathlib.Path(path).read_bytes(), before)
        self.assertEqual(list(self.folder.glob("x*")), [])
        result = rocelab("sim", "--events", "/dev/null", "--html", "/dev/null", path, cwd=self.folder)
        self.assertEqual((result.returncode, result.stderr), (0, ""))


class Interrupt(Sim):
    def start(self, *arguments, stderr=subprocess.PIPE):
        return subprocess.Popen([PROGRAM, "sim", *arguments, self.fabric(ENDLESS)], cwd=self.folder,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr, env=environment())

    def test_the_report_covers_what_was_run(self):
        for number, arguments in ((signal.SIGINT, ["--json"]), (signal.SIGTERM, [])):
            with self.start("--pcap", "h0:0=seen.pcap", *arguments) as process:
                seen = self.folder / "seen.pcap"
                while not any(draft.stat().st_size >= 4096 for draft in self.folder.glob(".seen.pcap.*")):
                    self.assertIsNone(process.poll())
                    time.sleep(0.01)
                self.assertFalse(seen.exists())
                process.send_signal(number)
                text, message = process.communicate()
            self.assertEqual(process.returncode, 2)
            self.assertRegex(message.decode(), r"^rocelab: interrupted at \S+ of virtual time; .*\n$")
            if arguments:
                document = json.loads(text)
                self.assertEqual(document["state"], "running")
                self.assertGreater(document["packet_hops"], 0)
                self.assertIsNone(document["jobs"][0]["time_ps"])
            else:
                self.assertRegex(text.decode(), r"(?m)^interrupted at \S+: 0 of 1 jobs had ended$")
            self.assertGreaterEqual(seen.stat().st_size, 4096)
            seen.unlink()

    def test_progress_is_for_terminals(self):
        try:
            main, terminal = os.openpty()
        except OSError as error:
            self.skipTest(f"no pseudo-terminal to be had here: {error}")
        with self.start(stderr=terminal) as process:
            os.close(terminal)
            seen = b""
            while b"\r" not in seen:
                seen += os.read(main, 4096)
            process.send_signal(signal.SIGINT)
            process.communicate()
        os.close(main)
        self.assertRegex(seen, rb"\r\S+ of virtual time, \S+ packet-hops, \S+/s, 0 of 1 jobs done")


if __name__ == "__main__":
    unittest.main()
