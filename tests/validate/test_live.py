# SPDX-License-Identifier: Apache-2.0
"""rocelab validate --live: pairs of perftest and UCX on this machine pass, each fault on their wire is found, figures are held against a
baseline of this machine; nccl-tests by stand-ins."""
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import tempfile
import unittest

FABRIC = """rocelab: 1
fabric: small
topology: {leaf-spine: {leaves: 1, spines: 1, hosts: 2}}
links: {host: {rate: 100G, cable: 3m}, fabric: {rate: 100G, cable: 30m}}
jobs: [{incast: 1, size: 1MB}]
"""
SOAK = os.environ.get("ROCELAB_SOAK")
FIGURES = 5 if shutil.which("ucx_perftest") else 3


def cpu():
    names = [line.split(":", 1)[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines() if line.startswith("model name")]
    return names[0] if names else platform.machine()


def validate(test, *options, phase, baseline=None, environment=None, status=(0, 1)):
    """Rows of --live; `baseline`: what one of this fabric has besides."""
    with tempfile.TemporaryDirectory(prefix="rocelab-test-") as folder:
        path = pathlib.Path(folder, "fabric.yaml")
        path.write_text(FABRIC, encoding="utf-8")
        command = [os.environ["ROCELAB"], "validate", str(path), "--quick", "--phase", phase, "--live", "--json", *options]
        if baseline:
            good = pathlib.Path(folder, "good.json")
            document = {"version": 1, "kind": "baseline", "fabric_digest": "0" * 16, "jobs": [], **baseline}
            command += ["--baseline", str(good)]
            good.write_text(json.dumps(document))  # a refusal has the digest
            refused = subprocess.run(command, capture_output=True, text=True, check=False)
            good.write_text(json.dumps({**document, "fabric_digest": re.search(" has ([0-9a-f]{16})", refused.stderr)[1]}))
        result = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **(environment or {})})
    test.assertIn(result.returncode, status, result.stderr)
    test.assertTrue(result.stdout, result.stderr)
    return [row for row in json.loads(result.stdout)["rows"] if "live" in row["test"]]


def untimely(row):
    """Skipped because others use this machine, or its host does."""
    return row["verdict"] == "skipped" and ("busy" in row["why"] or "not steady" in row["why"])


@unittest.skipUnless(shutil.which("ib_write_bw"), "ib_write_bw is not installed (Debian: perftest)")
class Live(unittest.TestCase):
    def rows(self, *options, phase="2", **more):
        return validate(self, *options, phase=phase, **more)

    def judged(self, rows):
        """Every row passes, or says that the machine is busy or not steady: none depends on who else runs here.  Figures are another's to judge."""
        figures = [row for row in rows if ": latency" in row["subject"] or ": bandwidth" in row["subject"]]
        for row in rows:
            self.assertTrue(row in figures or row["verdict"] == "pass" or untimely(row) or "not installed" in row["why"], row)
        self.assertEqual({row["test"] for row in rows}, {"point to point, live", "latency, live", "UCX, live", "through the fabric, live"})
        self.assertEqual(len(figures), FIGURES, rows)
        return figures

    @unittest.skipUnless(SOAK, "in the soak: test_baseline has the same rows")
    def test_no_baseline(self):
        for row in self.judged(self.rows()):
            printed = row["verdict"] == "skipped" and row["value"] and "no baseline" in row["why"]
            self.assertTrue(row["verdict"] == "pass" or untimely(row) or printed, row)

    def test_baseline(self):
        """Figures that no machine misses pass, those that none reaches fail; what is not there, or of another machine, is skipped.

        A machine that is busy skips what it would have to measure.  This machine's own, of nine runs a figure, and another
        kernel are in the soak; what such a row says is judged in Collectives.test_baseline, too."""
        live = [{"program": "ib_write_bw", "message_bytes": 65536, "bits_per_s": 1},
                {"program": "ib_write_lat", "message_bytes": 8, "latency_ns": 0.001},
                {"program": "ib_send_lat", "message_bytes": 64, "latency_ns": 1e9}]
        here = {"cpu": cpu(), "processors": os.sysconf("SC_NPROCESSORS_ONLN"), "kernel": platform.release()}
        want = {"ib_write_bw of": ("pass", "1bps = "), "ib_write_lat": ("fail", "1ps"), "ib_send_lat": ("skipped", "no figure of it")}
        machines = (({**here, "processors": 999}, "999 x "), ({**here, "kernel": "0.1"}, "Linux 0.1; this one is"), (here, None))
        for machine, other in machines[:3 if SOAK else 1]:
            for row in self.judged(self.rows(baseline={"machine": machine, "live": live})):
                if other:
                    self.assertEqual(row["verdict"], "skipped")
                    self.assertIn(other, row["why"])
                elif not untimely(row):
                    verdict, words = next((value for name, value in want.items() if name in row["subject"]), ("skipped", "no figure of it"))
                    self.assertEqual(row["verdict"], verdict, row)
                    self.assertIn(words, row["formula"] + row["why"])
                    self.assertIn(", median of", row["subject"])

    def test_faults_are_found(self):
        for fault, least in (("loss=5%", 7), ("mark=5%", 5))[:2 if SOAK else 1]:
            rows = self.rows("--fault", fault)
            failed = [row for row in rows if row["verdict"] == "fail"]
            self.assertGreaterEqual(len(failed), least, (fault, rows))
            for row in rows:
                if row["criterion"] == "idle-events":
                    self.assertEqual(row["verdict"], "fail", (fault, row))

    def test_programs_survive_faults(self):
        for row in self.rows(phase="5"):
            self.assertTrue(row["verdict"] == "pass" or "not installed" in row["why"], row)


# What nccl-tests 2.17 and NCCL 2.28 print.  STANDIN says what goes wrong, and where.
STANDIN = """#!/bin/sh
# needs libmpi.so.40
[ "$NCCL_NET $NCCL_P2P_DISABLE $NCCL_SHM_DISABLE" = "IB 1 1" ] || exit 9
case $LD_PRELOAD in *libibverbs.so.1*) ;; *) exit 8 ;; esac
way=NET/IB/0 device='[0]rocelab0:1/RoCE' wrong=0
case $STANDIN in
socket) way=NET/Socket/0 ;;
memory) [ "$NCCL_TESTS_DEVICE" = 1 ] && way=SHM/direct/direct ;;
foreign) device='[0]mlx5_0:1/RoCE' ;;
wrong) wrong=3 ;;
unchecked) wrong=N/A ;;
esac
exec 3>"$NCCL_DEBUG_FILE"
echo "gpu0:41:77 [0] NCCL INFO NET/IB : Using $device [RO]; OOB lo:127.0.0.1<0>" >&3
[ "$STANDIN" = quiet ] || echo "gpu0:41:77 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via $way" >&3
[ "$STANDIN" = crash ] && { echo "gpu0:41:80 [0] NCCL WARN NET/IB: Got completion from peer 127.0.0.1<44321> with status=IBV_WC_RETRY_EXC_ERR(12)" >&3; exit 3; }
[ "$STANDIN" = signal ] && kill -SEGV $$
[ "$STANDIN" = empty ] && exit 0
case ${NCCL_HOSTID-rocelab0} in rocelab0) ;; *) exit 0 ;; esac
cat <<END
# nccl-tests version 2.17.0 nccl-headers=22809 nccl-library=22809
# Collective test starting: ${0##*/}
# nThread 1 nGpus 1 minBytes 8192 maxBytes 33554432 step: 8(factor) warmup iters: 2 iters: 10 agg iters: 1 validation: 1 graph: 0
#  Rank  0 Group  0 Pid  68991 on       gpu0 device  0 [0000:04:00] NVIDIA H200
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
        8192          2048     float     sum      -1   100.50    0.08    0.08      $wrong    99.00    0.08    0.08      0
    33554432       8388608     float     sum      -1  8000.00    4.19    4.19      0  8000.00    4.19    4.19    N/A
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 2.14
END
[ $wrong != 3 ] # nccl-tests ends with an error then
"""
# As much of mpirun as is used: programs between colons, at the same time.
MPIRUN = """#!/usr/bin/env python3
import subprocess, sys
words, running = sys.argv[1:] + [":"], []
while words:
    end = words.index(":")
    assert words[:2] == ["-np", "1"], words
    running.append(subprocess.Popen(words[2:end]))
    words = words[end + 1:]
sys.exit(max(abs(process.wait()) for process in running))
"""


class Collectives(unittest.TestCase):
    """nccl-tests and NCCL as stand-ins that print what those print: no GPU is needed, and no NCCL was seen."""

    def run_with(self, gpus=1, standin="", programs=("all_reduce_perf",), mpi=True, options=(), **more):
        with tempfile.TemporaryDirectory(prefix="rocelab-test-") as name:
            folder = pathlib.Path(name)
            (folder / "tests").mkdir()
            shutil.copy(os.environ["STANDIN_CUDA"], folder / "libcuda.so.1")
            texts = {f"tests/{program}": STANDIN if mpi else STANDIN.replace("libmpi", "nothing") for program in programs}
            for path, text in {**texts, "mpirun": MPIRUN}.items():
                (folder / path).write_text(text)
                (folder / path).chmod(0o755)
            (folder / "temporary").mkdir()
            environment = {"TMPDIR": f"{name}/temporary", "LD_LIBRARY_PATH": name, "PATH": f"{name}:{os.environ['PATH']}", "STANDIN_GPUS": str(gpus), "STANDIN": standin}
            rows = validate(self, "--nccl-tests", str(folder / "tests"), *options, phase="4", environment=environment, **more)
            self.assertEqual(list((folder / "temporary").iterdir()), [])
            return rows

    def one(self, rows, words):
        found = [row for row in rows if words in row["subject"]]
        self.assertEqual(len(found), 1, rows)
        return found[0]

    def test_no_gpu(self):
        for gpus, words in ((0, "finds no GPU"), (-1, "cuInit says 999")):
            [row] = self.run_with(gpus)
            self.assertEqual(row["verdict"], "skipped")
            self.assertIn(words, row["why"])

    def test_missing_programs(self):
        rows = self.run_with(2, programs=("all_gather_perf",))
        self.assertEqual({row["subject"] for row in rows if row["verdict"] == "skipped" and "--nccl-tests DIR" in row["why"]},
                         {"all_reduce_perf", "reduce_scatter_perf", "alltoall_perf"})
        self.assertIn("MPI=1", self.one(self.run_with(1, mpi=False), "all_reduce_perf")["why"])

    def test_passes(self):
        """One GPU with MPI, eight with it, two without."""
        for gpus, mpi, words in ((1, True, "2 ranks on 1 GPU:"), (8, True, "8 ranks on 8 GPUs:"), (2, False, "2 ranks on 2 GPUs:")):
            for options in ((), ("--fault", "loss=2%")):
                rows = self.run_with(gpus, mpi=mpi, options=options)
                self.assertEqual(self.one(rows, f"{words} the network")["verdict"], "pass", rows)
                wrong = self.one(rows, "wrong values")
                self.assertEqual((wrong["verdict"], wrong["criterion"], wrong["value"]), ("pass", "live-wrong", 0))
                rate = self.one(rows, "bus bandwidth of 33.55MB")
                self.assertTrue(untimely(rate) or (rate["verdict"], rate["value"]) == ("skipped", 4.19e9 * 8), rate)

    def test_fails(self):
        """Each by the row that is about it, with NCCL's own line."""
        for standin, subject, words in (("wrong", "wrong values", "other values"), ("unchecked", None, None), ("socket", "the network", "via NET/Socket/0"),
                                        ("memory", "the network", "via SHM/direct"), ("foreign", "the network", "mlx5_0"), ("quiet", "the network", "no 'via NET/IB'"),
                                        ("crash", "all_reduce_perf over", "NCCL WARN NET/IB: Got completion"), ("signal", "all_reduce_perf over", "error"),
                                        ("empty", "all_reduce_perf over", "no bus bandwidth")):
            with self.subTest(standin):
                rows = self.run_with(2, standin)
                failed = [row for row in rows if row["verdict"] == "fail"]
                if standin == "unchecked":  # of one size, one way: the others were
                    self.assertEqual(failed, [])
                    continue
                self.assertEqual(len(failed), 1, rows)
                self.assertIn(subject, failed[0]["subject"])
                self.assertIn(words, failed[0]["why"])
                self.assertFalse([row for row in rows if "bus bandwidth" in row["subject"]])

    def test_baseline(self):
        here = {"cpu": cpu(), "processors": os.sysconf("SC_NPROCESSORS_ONLN"), "kernel": platform.release()}
        for rate, verdict in ((33.5e9, "pass"), (40e9, "fail")):
            stored = {"machine": here, "live": [{"program": "allreduce, 2 ranks", "message_bytes": 33554432, "bits_per_s": rate}]}
            row = self.one(self.run_with(2, baseline=stored), "bus bandwidth")
            self.assertTrue(untimely(row) or (row["verdict"], row["criterion"]) == (verdict, "live-rate"), row)


if __name__ == "__main__":
    unittest.main()
