#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python module, with nothing but Python: held against `rocelab` itself, its errors, crashes and interrupts."""
import csv
import io
import json
import os
import pathlib
import pickle
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest
import unittest.mock

SOURCE = pathlib.Path(os.environ["ROCELAB_SOURCE"])
BUILD = pathlib.Path(os.environ["ROCELAB_BUILD"])
PROGRAM = BUILD / "rocelab"
sys.path.insert(0, str(SOURCE / "python"))

import rocelab  # noqa: E402
from rocelab import _pool  # noqa: E402

FABRIC = """rocelab: 1
fabric: small
topology: {leaf-spine: {leaves: 2, spines: 1, hosts: 8}}
links: {host: {rate: 100G, cable: 3m}, fabric: {rate: 400G, cable: 30m}}
classes:
  - {name: rdma, dscp: 26, priority: 3, lossless: true, ecn: {min: 100KB, max: 1500KB, probability: 10%}}
jobs:
  - {incast: 12, size: 1MB}
"""
TINY = "rocelab: 1\ntopology: {leaf-spine: {leaves: 1, spines: 1, hosts: 2}}\nlinks: {host: {rate: 100G, cable: 3m}, " \
       "fabric: {rate: 100G, cable: 3m}}\njobs:\n  - {incast: 1, size: 1KB}\n"
ENDLESS = TINY.replace("1KB", "1000GB")
# A library that fails a CHECK as ours does, and one from before there was an ABI.
FAILS = r"""
#include <stdio.h>
#include <stdlib.h>
#define STUB(name) int rocelab_##name(void) { return 0; }
unsigned rocelab_abi(void) { return 2; }
const char *rocelab_version(void) { return "0"; }
int rocelab_step(void) { fputs("link.c:7: CHECK failed: chunk != NULL\n", stderr); abort(); }
STUB(open_with) STUB(allow_plugin) STUB(close) STUB(text_free) STUB(progress) STUB(digest) STUB(json) STUB(table) STUB(table_free)
STUB(table_rows) STUB(column_name) STUB(column_help) STUB(column_kind) STUB(column_counts) STUB(column_reals) STUB(column_texts)
"""


class Case(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        self.fabric = self.file("small.yaml", FABRIC)

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def program(self, *words):
        done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, check=False)
        self.assertLess(done.returncode, 2, done.stderr)
        return done.stdout

    def script(self, text, **more):
        env = {**os.environ, "PYTHONPATH": str(SOURCE / "python"), **more}
        return subprocess.Popen([sys.executable, "-c", textwrap.dedent(text)], env=env, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)


class Runs(Case):
    def test_the_document_of_the_program(self):
        for path, more in ((self.fabric, {}), (self.fabric, {"seed": 3}), (SOURCE / "examples/questions/qps.yaml", {})):
            result = rocelab.run(path, **more)
            ours, theirs = result.json, json.loads(self.program("sim", "--json", *[f"--seed={more['seed']}"] if more else [], path))
            for document in (ours, theirs):
                document["setup_s"] = document["wall_s"] = 0
            self.assertEqual(ours, theirs)
            self.assertEqual(result.digest, theirs["digest"])
            self.assertEqual((result.state, result.virtual_ps), (theirs["state"], theirs["virtual_ps"]))
            self.rows_are(result.jobs, theirs["jobs"])
            self.rows_are(result.flows, theirs["flows"])
            self.rows_are(result.ports, theirs["ports"])
            self.rows_are(result.nics, theirs["nics"])
            self.rows_are(result.findings, theirs["verdict"])

    def rows_are(self, table, rows):
        """Every member of the document that is a plain value is a column, and the same."""
        self.assertEqual(len(table), len(rows))
        for ours, theirs in zip(table.dicts(), rows):
            for key, value in theirs.items():
                if key in ("objects", "victims"):
                    self.assertEqual(ours[key], tuple(value))
                elif not isinstance(value, (list, dict)) and not (value is None and key in ("path", "from", "to")):
                    if key not in ("mtu_bytes", "pre_fec_ber"):
                        self.assertEqual(ours[key], value, f"{table.name}.{key}")

    def test_ports_over_time_are_those_of_series_csv(self):
        result = rocelab.run(self.fabric, sample="20us", json=False)
        self.program("sim", "--csv", self.folder / "out", "--series", "20us", self.fabric)
        rows = list(csv.DictReader(io.StringIO((self.folder / "out/series.csv").read_text())))
        over_time = result.ports.over_time
        self.assertGreater(len(rows), 50)
        self.assertEqual([{key: str(row[key]) for key in rows[0]} for row in over_time.dicts()], rows)
        self.assertGreater(max(over_time["queue_bytes"]), 100_000)
        self.assertGreater(sum(over_time["ecn_marked"]), 0)
        with self.assertRaisesRegex(rocelab.RocelabError, "sample="):
            _ = rocelab.run(self.fabric, tables=["ports"]).ports.over_time

    def test_rates_over_time_are_those_of_the_document(self):
        result = rocelab.run(self.fabric, sample="50us", qps=3)
        theirs = json.loads(self.program("sim", "--json", "--series", "50us", "--qps", "3", self.fabric))["series"]
        self.assertEqual(result.json["series"], theirs)
        rates = result.flows.rates_over_time
        self.assertEqual(sorted(set(rates["qp"])), [0, 1, 2])
        for qp in range(3):
            rows = [row for row in rates if row.qp == qp]
            data = {one["metric"]: one["data"] for one in theirs["columns"] if one["object"] == f"{rows[0].src}>{rows[0].dst}"}
            self.assertEqual([row.rate_bps for row in rows], data["rate"])
            self.assertEqual([round(row.alpha * 1e6) for row in rows], data["alpha"])
            self.assertEqual([row.time_ps for row in rows], [50_000_000 * (1 + i) for i in range(theirs["steps"])])
            self.assertLess(min(data["rate"]), max(data["rate"]))
            carried = [flow.id for flow in result.flows if (flow.src, flow.dst) == (rows[0].src, rows[0].dst)]
            self.assertEqual(sorted({row.flow for row in rows if row.flow is not None}), carried)
        self.assertEqual(len(rocelab.run(self.fabric, sample="50us", qps=0).flows.rates_over_time), 0)

    def test_what_is_varied(self):
        plain = rocelab.run(self.fabric)
        varied = rocelab.run(self.fabric, vary={"classes.rdma.ecn.min": "400KB", "seed": 7})
        by_hand = rocelab.run(FABRIC.replace("min: 100KB", "min: 400KB") + "seed: 7\n")
        self.assertEqual(varied.digest, by_hand.digest)
        self.assertNotEqual(varied.digest, plain.digest)
        self.assertEqual(varied.vary, {"classes.rdma.ecn.min": "400KB", "seed": "7"})
        self.assertEqual(rocelab.run(self.fabric, threads=2).digest, plain.digest)
        mapping = {"rocelab": 1, "topology": {"leaf-spine": {"leaves": 2, "spines": 1, "hosts": 8}},
                   "links": {"host": {"rate": "100G", "cable": "3m"}, "fabric": {"rate": "400G", "cable": "30m"}},
                   "jobs": [{"incast": 12, "size": "1MB"}]}
        self.assertEqual(rocelab.run(mapping).jobs[0].bytes, 12_000_000)
        self.assertTrue(rocelab.run("example:incast", until="10us").ok)

    def test_what_is_sent_again(self):
        """Flows of connections of their own have, together, what their adapters have; in each transport."""
        lossy = FABRIC.replace("lossless: true, ", "") + "faults: [{corrupt: 'leaf0:8', at: 0s, ber: 1e-6}]\n"
        for system in ("rocev2", "tcp", "uet"):
            text = lossy.replace("fabric: small", f"fabric: small\nsystem: {system}")
            result = rocelab.run(text, tables=["flows", "nics"], json=False)
            again = result.flows["resent_packets"]
            self.assertGreater(max(again), 0, system)
            self.assertEqual(sum(again), sum(result.nics["retransmitted"]), system)
            clean = rocelab.run(text.split("faults:")[0].replace("size: 1MB", "size: 1KB"))
            self.assertEqual(set(clean.flows["resent_packets"]), {0}, system)

    def test_until(self):
        for until in ("100us", 1e-4):
            result = rocelab.run(self.fabric, until=until)
            self.assertEqual(result.state, "until")
            self.assertLessEqual(result.virtual_ps, 100_000_000)
            self.assertEqual(result.jobs[0].state, "running")
            self.assertIsNone(result.jobs[0].end_ps)
            self.assertIsNone(result.measures["time"])
        for wrong in ("100", "soon", "0us", -1):
            with self.assertRaisesRegex(ValueError, "until="):
                rocelab.run(self.fabric, until=wrong)

    def test_measures(self):
        result = rocelab.run(self.fabric)
        self.assertEqual(result.measures["payload"], 12_000_000)
        self.assertEqual(result.measures["time"], result.jobs[0].time_ps / 1e12)
        self.assertEqual((result.measures.units["time"], result.measures.units["queue"]), ("s", "bytes"))
        self.assertIn("median", result.measures.help["p50"])

    def test_tables(self):
        result = rocelab.run(self.fabric, tables=["flows"], json=False)
        flows = result.flows
        self.assertEqual(len(flows), 12)
        self.assertEqual(flows[0].fct_ps, flows["fct_ps"][0])
        self.assertEqual(flows[-1], flows[11])
        self.assertEqual(flows[3:5], [flows[3], flows[4]])
        self.assertEqual([row.id for row in flows], list(range(12)))
        self.assertEqual(flows.dicts()[2]["src"], flows[2].src)
        self.assertIs(flows[0].failed, False)
        self.assertIn("alone", flows.help("ideal_ps"))
        self.assertEqual(flows.help("dst"), "src, dst: adapters")  # said together
        self.assertEqual([flows.help(one) for one in ("start_ps", "fct_ps")], ["when it began", "from then to the sender's completion"])
        lines = flows.help().splitlines()
        self.assertEqual([name for line in lines for name in line.split(": ")[0].split(", ")], flows.columns)
        self.assertEqual(len(lines), len({line.split(": ", 1)[1] for line in lines}))
        self.assertEqual(flows._repr_html_().count("<tr>"), 13)
        with self.assertRaises(IndexError):
            flows[12]
        with self.assertRaisesRegex(KeyError, "fct_ps"):
            flows["fct"]
        with self.assertRaisesRegex(rocelab.RocelabError, "jobs"):
            _ = result.jobs
        with self.assertRaisesRegex(rocelab.RocelabError, "json=True"):
            _ = result.json
        with self.assertRaisesRegex(ValueError, "flwos"):
            rocelab.run(self.fabric, tables=["flwos"])
        again = pickle.loads(pickle.dumps(result))
        self.assertEqual((again.flows, again.digest), (flows, result.digest))

    def test_without_pandas(self):
        flows = rocelab.run(self.fabric).flows
        with unittest.mock.patch.dict(sys.modules, {"pandas": None}):
            with self.assertRaisesRegex(ModuleNotFoundError, "python3-pandas"):
                flows.frame()

    def test_a_worker_is_used_again_and_does_not_grow(self):
        def most():
            text = pathlib.Path(f"/proc/{worker.process.pid}/status").read_text()
            return int(re.search(r"VmHWM:\s+(\d+)", text).group(1))

        for _ in range(50):
            rocelab.run(TINY)
        [worker] = _pool._idle[-1:]
        before = most()
        for _ in range(150):
            rocelab.run(TINY)
        self.assertIs(_pool._idle[-1], worker)
        self.assertLess(most() - before, 512)

    def test_nothing_is_printed(self):
        script = self.script(f"import rocelab; print(rocelab.run({TINY!r}).state)")
        self.assertEqual(script.communicate(), ("done\n", ""))

    def test_progress(self):
        told = []
        run = rocelab.start(ENDLESS)

        def tell(progress):
            told.append(progress)
            if len(told) == 2:
                run.cancel()

        result = run.result(tell)
        self.assertEqual(result.state, "cancelled")
        self.assertGreater(told[1].packet_hops, told[0].packet_hops)
        self.assertRegex(str(told[1]), r"of virtual time, [\d,]+ packet-hops, 0 of 1 jobs done")
        self.assertGreaterEqual(result.virtual_ps, told[1].now_ps)
        self.assertEqual(result.jobs[0].state, "running")
        self.assertIs(run.result(), result)


class Wrong(Case):
    def test_a_fabric_file(self):
        path = self.file("broken.yaml", FABRIC.replace("incast", "incats").replace("leaves", "leafs"))
        with self.assertRaises(rocelab.FabricError) as caught:
            rocelab.run(path)
        error = caught.exception
        self.assertEqual((error.file, error.line), (str(path), 3))
        self.assertIn("leaves", error.message)
        self.assertIn((8, 6), [(problem.line, problem.column) for problem in error.problems])
        self.assertIn(f"{path}:3:", str(error))
        self.assertEqual(str(pickle.loads(pickle.dumps(error))), str(error))
        with self.assertRaises(rocelab.FabricError) as caught:
            rocelab.run(FABRIC, vary={"jobs.0.sise": "3KB"})
        self.assertIn("sise", caught.exception.message)
        with self.assertRaises(rocelab.FabricError) as caught:
            rocelab.run(self.folder / "none.yaml")
        self.assertIn("none.yaml", caught.exception.file)
        with self.assertRaisesRegex(rocelab.FabricError, "example:none"):
            rocelab.run("example:none")
        self.assertEqual(rocelab.run(TINY).state, "done")

    def test_memory(self):
        with self.assertRaisesRegex(MemoryError, "small.yaml"):
            rocelab.run(self.fabric, memory=1000)

    def test_the_worker_is_ended(self):
        for number in (signal.SIGSEGV, signal.SIGKILL):
            run = rocelab.start(ENDLESS)
            os.kill(run._worker.process.pid, number)
            with self.assertRaises(rocelab.CrashError) as caught:
                run.result()
            self.assertEqual(caught.exception.signal, number)
            self.assertIn(number.name, str(caught.exception))
            with self.assertRaises(rocelab.CrashError):
                run.result()
        # One that waits and is ended by somebody is not missed.
        rocelab.run(TINY)
        for worker in _pool._idle:
            worker.process.kill()
            worker.process.wait()
        self.assertEqual(rocelab.run(TINY).state, "done")

    def test_nobody_waits(self):
        """A worker ends with the program that started it, whatever ended that; what was forked has workers of its own."""
        script = self.script(f"""
            import os, rocelab
            print(rocelab.run({TINY!r}).digest, rocelab._pool._idle[-1].process.pid)
            child = os.fork()
            if child == 0:
                print(rocelab.run({TINY!r}).digest, rocelab._pool._idle[-1].process.pid, flush=True)
                rocelab.close()
                os._exit(0)
            os.waitpid(child, 0)
            print(rocelab.run({TINY!r}).digest, rocelab._pool._idle[-1].process.pid, flush=True)
            run = rocelab.start({ENDLESS!r})
            print(run._worker.process.pid, flush=True)
            run.result()
            """)
        lines = [script.stdout.readline().split() for _ in range(3)]
        self.assertEqual(len({line[0] for line in lines}), 1)
        by_pid = [line[1] for line in lines]
        self.assertIn(by_pid[2], by_pid[:2])
        self.assertEqual(len(set(by_pid)), 2)
        worker = int(script.stdout.readline())
        script.kill()
        script.communicate()
        self.assertTrue(self.ends(worker))

    def ends(self, worker):
        """It looks every 50 ms whether anybody is there; the limit is what a test may take."""
        begun = time.monotonic()
        while time.monotonic() - begun < 60:
            try:
                state = pathlib.Path(f"/proc/{worker}/stat").read_text().rsplit(")", 1)[1].split()[0]
            except OSError:
                return True
            if state == "Z":
                return True
            time.sleep(0.02)
        return False

    def test_a_long_text(self):
        long = FABRIC + "# " + "x" * 300_000 + "\n"
        self.assertEqual(rocelab.run(long).digest, rocelab.run(FABRIC).digest)

    def library(self, text):
        (self.folder / "lib").mkdir(exist_ok=True)
        source = self.file("fails.c", text)
        subprocess.run([*os.environ["CC"].split(), "-shared", "-fPIC", "-w", "-o", self.folder / "lib/librocelab.so.0", source], check=True)
        return unittest.mock.patch.dict(os.environ, {"ROCELAB_BUILD": str(self.folder)})

    def test_a_check_fails(self):
        rocelab.close()
        with self.library(FAILS):
            with self.assertRaises(rocelab.CrashError) as caught:
                rocelab.run(TINY)
        self.assertEqual(caught.exception.signal, signal.SIGABRT)
        self.assertEqual(caught.exception.message, "the simulator ended by SIGABRT: link.c:7: CHECK failed: chunk != NULL")
        self.assertEqual(rocelab.run(TINY).state, "done")

    def test_no_library(self):
        rocelab.close()
        with self.library("int rocelab_version;"):
            with self.assertRaisesRegex(rocelab.LibraryError, r"too old .*ABI 1.*apt install python3-rocelab"):
                rocelab.run(TINY)
            self.file("lib/librocelab.so.0", "no library")
            with self.assertRaisesRegex(rocelab.LibraryError, "cannot be loaded.*ROCELAB_BUILD"):
                rocelab.run(TINY)
            (self.folder / "lib/librocelab.so.0").unlink()
            with self.assertRaisesRegex(rocelab.LibraryError, "is not there: ROCELAB_BUILD"):
                rocelab.run(TINY)
            with self.assertRaisesRegex(rocelab.LibraryError, "ROCELAB_BUILD"):
                rocelab.check(self.fabric)

    def test_below_any_prefix(self):
        """As the tarball has it: the module finds the library, the program and the examples that came with it."""
        for name in ("lib", "bin", "share/rocelab"):
            (self.folder / name).mkdir(parents=True)
        module = self.folder / "lib/python3/dist-packages/rocelab"
        shutil.copytree(SOURCE / "python/rocelab", module, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(BUILD / "lib/librocelab.so.0", self.folder / "lib")
        (self.folder / "bin/rocelab").symlink_to(PROGRAM)
        (self.folder / "share/rocelab/examples").symlink_to(SOURCE / "examples")
        script = self.script("""
            import rocelab
            from rocelab import _library
            print(_library.find_library(), _library.find_program())
            print(rocelab.run("example:incast", until="1us").state, rocelab.check("example:incast").ok)
            """, PYTHONPATH=str(module.parent), ROCELAB_BUILD="")
        out, error = script.communicate()
        self.assertEqual(error, "")
        self.assertEqual(out.split(), [f"{self.folder}/lib/librocelab.so.0", f"{self.folder}/bin/rocelab", "until", "True"])

    def test_the_interrupt_key(self):
        script = self.script(f"""
            import rocelab
            try:
                rocelab.run({ENDLESS!r}, progress=lambda progress: print("runs", flush=True))
            except rocelab.Cancelled as cancelled:
                print(cancelled.result.state, cancelled.result.virtual_ps > 0, len(cancelled.result.flows))
                print(rocelab.run({TINY!r}).state)
            """)
        self.assertEqual(script.stdout.readline(), "runs\n")
        script.send_signal(signal.SIGINT)
        out, error = script.communicate()
        self.assertEqual((out.replace("runs\n", ""), error), ("cancelled True 1\ndone\n", ""))

    def test_the_interrupt_key_in_a_sweep(self):
        script = self.script(f"""
            import rocelab
            def told(progress):
                print(progress, flush=True)
            try:
                rocelab.sweep({ENDLESS!r}, {{"jobs.0.size": ["1KB", "900GB", "2KB", "901GB"]}}, workers=2, progress=told)
            except rocelab.Cancelled as cancelled:
                print(cancelled.result["jobs.0.size"])
            """)
        for line in ("1 of 4 runs done\n", "2 of 4 runs done\n"):
            self.assertEqual(script.stdout.readline(), line)
        script.send_signal(signal.SIGINT)
        self.assertEqual(script.communicate(), ("['1KB', '2KB']\n", ""))


class Sweeps(Case):
    def test_every_combination(self):
        table = rocelab.sweep(self.fabric, {"classes.rdma.ecn.min": ["100KB", "400KB"], "jobs.0.size": ["1MB", "2MB"]}, seeds=[1, 2],
                              also=lambda result: {"slowest_ps": max(result.flows["fct_ps"])})
        self.assertEqual(table["classes.rdma.ecn.min"], ["100KB"] * 4 + ["400KB"] * 4)
        self.assertEqual(table["jobs.0.size"], ["1MB", "1MB", "2MB", "2MB"] * 2)
        self.assertEqual(table["seed"], [1, 2] * 4)
        self.assertEqual(set(table["state"]), {"done"})
        self.assertEqual(len(set(table["digest"])), 8)
        one = rocelab.run(self.fabric, vary={"classes.rdma.ecn.min": "400KB", "jobs.0.size": "2MB"}, seed=2)
        last = table[-1]
        self.assertEqual((last.digest, last.time, last.marks), (one.digest, one.measures["time"], one.measures["marks"]))
        self.assertEqual(last.slowest_ps, max(one.flows["fct_ps"]))
        self.assertEqual(last.classes_rdma_ecn_min, "400KB")

    def test_the_sweep_of_the_program(self):
        rows = json.loads(self.program("sweep", "--json", self.fabric, "--vary", "jobs.0.size=1MB,2MB"))["points"]
        table = rocelab.sweep(self.fabric, {"jobs.0.size": ["1MB", "2MB"]}, workers=1)
        self.assertEqual([round(time * 1e12) for time in table["time"]], [row["time_ps"] for row in rows])

    def test_a_list_of_points(self):
        table = rocelab.sweep(self.fabric, points=[{"jobs.0.size": "1KB"}, {"jobs.0.size": "2KB", "classes.rdma.ecn.min": "9KB"}])
        self.assertEqual(table["classes.rdma.ecn.min"], [None, "9KB"])

    def test_values_of_all_kinds(self):
        control = [{"use": "dcqcn/paper", "rpg_ai_rate": "10M"}, "none"]
        table = rocelab.sweep(self.fabric, {"nics.congestion": control})
        self.assertEqual(table["nics.congestion"], ['{"use": "dcqcn/paper", "rpg_ai_rate": "10M"}', "none"])
        self.assertEqual(table["state"], ["done", "done"])
        by_hand = rocelab.run(FABRIC + "nics: {congestion: {use: dcqcn/paper, rpg_ai_rate: 10M}}\n")
        self.assertEqual(table[0].digest, by_hand.digest)
        self.assertEqual(rocelab.run(self.fabric, vary={"classes.rdma.lossless": False}).digest,
                         rocelab.run(FABRIC.replace("lossless: true", "lossless: false")).digest)

    def test_a_congestion_control_of_ones_own(self):
        def built(text):
            source = self.file("own.c", text)
            own.unlink(missing_ok=True)
            subprocess.run([*os.environ["CC"].split(), "-O2", "-shared", "-fPIC", f"-I{SOURCE}/include", source, "-o", own], check=True)

        own, text = self.folder / "own.so", (SOURCE / "examples/congestion/aimd.c").read_text()
        built(text)
        table = rocelab.sweep(self.fabric, {"nics.congestion": ["none", own], "seed": [1, 2]})
        self.assertEqual((table["error"], table["nics.congestion"]), ([None] * 4, ["none"] * 2 + [str(own)] * 2))
        self.assertNotEqual(table[0].digest, table[2].digest)
        self.assertEqual(table[2].digest, json.loads(self.program("sim", "--json", "--cc", own, self.fabric))["digest"])
        with self.assertRaisesRegex(rocelab.FabricError, "not run because a file names it"):
            rocelab.run(self.fabric, vary={"nics.congestion": str(self.file("other.so", ""))})
        # It is built anew, and crashes now: neither the old one is run, nor does the crash come here.
        crash = re.sub(r"(static \w[\w ]* \*?\w+\([^;{]*\)\n\{\n)", r"\1    *(volatile int *)0 = 1;\n", text)
        self.assertNotEqual(crash, text)
        built(crash)
        with self.assertRaisesRegex(rocelab.CrashError, "own.so.*SIGSEGV|SIGSEGV.*own.so"):
            rocelab.run(self.fabric, vary={"nics.congestion": own})

    def test_runs_that_fail(self):
        with self.assertWarnsRegex(UserWarning, "1 of 2 runs failed.*'large'") as caught:
            table = rocelab.sweep(self.fabric, {"jobs.0.size": ["1KB", "large"]})
        self.assertEqual(__file__, caught.filename)
        self.assertEqual(table["state"], ["done", "error"])
        self.assertIsNone(table[0].error)
        self.assertRegex(table[1].error, r"small\.yaml:8:\d+: .*large")
        self.assertIsNone(table[1].time)
        with self.assertRaises(rocelab.FabricError):
            rocelab.sweep(self.fabric, {"jobs.0.sise": ["1KB", "2KB"]})
        with self.assertRaisesRegex(ValueError, "a list of values"):
            rocelab.sweep(self.fabric, {"jobs.0.size": "1KB"})
        with self.assertRaisesRegex(ZeroDivisionError, "division"):
            rocelab.sweep(self.fabric, {"jobs.0.size": ["1KB", "2KB", "3KB"]}, also=lambda result: {"x": 1 / 0})


class Verbs(Case):
    def test_check(self):
        report = rocelab.check("example:pod64", failures=0)
        self.assertTrue(report.ok)
        self.assertEqual(report.json["kind"], "check")
        broken = FABRIC.replace("min: 100KB", "min: 9MB").replace("max: 1500KB", "max: 10MB")
        report = rocelab.check(broken)
        self.assertFalse(report.ok)
        self.assertEqual({row.file for row in report.findings}, {"fabric.yaml"})
        self.assertIn(6, report.findings["line"])
        with self.assertRaises(rocelab.FabricError) as caught:
            rocelab.check(FABRIC.replace("incast", "incats"))
        self.assertEqual((caught.exception.file, caught.exception.line), ("fabric.yaml", 8))
        with self.assertRaisesRegex(rocelab.ProgramError, "none.yaml"):
            rocelab.check(self.folder / "none.yaml")
        with self.assertRaisesRegex(rocelab.ProgramError, "--failurse"):
            rocelab.check(self.fabric, failurse=2)

    def test_config(self):
        devices = rocelab.config(self.fabric, nos="sonic").devices
        self.assertIn("DEVICE_METADATA", json.loads(devices["leaf0"]))

    def test_diagnose(self):
        result = rocelab.run(self.fabric)
        path = self.file("run.json", result.json_text)
        causes = [row.id for row in result.findings if re.match(r"D\d\d", row.id)]
        self.assertGreater(len(causes), 0)
        report = rocelab.diagnose(path)
        self.assertEqual(report.findings["rule"], causes)
        self.assertEqual(report.answer, "clear" if report.ok else "cause")
        report = rocelab.diagnose(self.file("h0.prom", 'node_infiniband_local_ack_timeout_errors_total{device="mlx5_0",port="1"} 7\n'))
        self.assertEqual((report.answer, report.ok), ("not-enough", False))


if __name__ == "__main__":
    unittest.main()
