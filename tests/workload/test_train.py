# SPDX-License-Identifier: Apache-2.0
"""Training, inference and traces, run by the program: against sums made by hand, and what is refused.

    test_train.py PROGRAM SOURCE [TEST...]"""
import csv
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from train_support import PROGRAM, SOURCE, fabric, group, result, run, training

TRACES = SOURCE / "tests" / "data" / "traces"
EXAMPLES = {"gpt-175b": "4 of 96 layers", "llama3-405b": "2 of 16 stages", "moe": "2 of 32 layers", "inference": None}

# Preamble, Ethernet, IPv4, UDP, BTH, ICRC, FCS, gap; RETH and the immediate are in few packets.  In a ring the line that
# carries data to the next carries acknowledgements to the one before, of the least a frame occupies, one a packet.
WIRE = (4096 + 8 + 14 + 20 + 8 + 12 + 4 + 4 + 12 + 84) / 4096


class ByHand(unittest.TestCase):
    def test_pipeline_bubble(self):
        """One forward, one backward leaves each stage idle for p-1 of m+p-1 slots."""
        for stages, micro in ((4, 8), (4, 4), (8, 3), (2, 1)):
            job = training(fabric(f"""
- training:
    model: {{layers: {stages}, hidden: 64, heads: 1, sequence: 16}}
    groups: {{pp: {stages}}}
    micro-batches: {micro}
    compute: {{forward: 3ms, backward: 6ms}}
  ranks: {stages}
"""))
            bubble = (stages - 1) / (micro + stages - 1)
            self.assertAlmostEqual(job["idle"], bubble, delta=0.005, msg=f"{stages} stages, {micro} micro-batches")
            self.assertEqual(job["compute_ps"], micro * 9_000_000_000)

    def bubble(self, stages, micro, pipeline, layers=None, hosts=4):
        """Idle over busy, of a pipeline whose sends take next to no time."""
        job = training(fabric(f"""
- training:
    model: {{layers: {layers or stages}, hidden: 64, heads: 1, sequence: 16}}
    groups: {{pp: {stages}}}
    micro-batches: {micro}
    pipeline: {pipeline}
    compute: {{forward: 12ms, backward: 24ms}}
  ranks: {stages}
""", hosts=hosts))
        self.assertEqual(job["compute_ps"], micro * 36_000_000_000)
        return job["step_ps"] / job["compute_ps"] - 1

    def test_interleaved_bubble(self):
        """With v chunks a stage the bubble is (p-1)/(m v) of the compute: a v-th of what one chunk leaves."""
        for stages, micro, chunks in ((4, 8, 2), (4, 4, 2), (2, 2, 3), (4, 12, 4), (8, 16, 2), (2, 8, 1)):
            with self.subTest(stages=stages, micro=micro, chunks=chunks):
                how = f"{{schedule: interleaved, chunks: {chunks}}}" if chunks > 1 else "1f1b"
                self.assertAlmostEqual(self.bubble(stages, micro, how, stages * chunks),
                                       (stages - 1) / (micro * chunks), delta=0.005)

    def test_gpipe_bubble(self):
        for stages, micro in ((4, 8), (2, 1), (8, 3)):
            with self.subTest(stages=stages, micro=micro):
                self.assertAlmostEqual(self.bubble(stages, micro, "gpipe"), (stages - 1) / micro, delta=0.005)

    def test_interleaved_sends(self):
        """Every micro-batch goes from each part of the model to the next, there and back: p v - 1 times each way."""
        text = """
- training:
    model: {{layers: 8, hidden: 64, heads: 1, sequence: 16}}
    groups: {{dp: 2, pp: 4}}
    micro-batches: 8
    pipeline: {pipeline}
    steps: 2
    compute: {{forward: 4us, backward: 8us}}
"""
        one, two = (training(fabric(text.format(pipeline=p))) for p in ("1f1b", "{schedule: interleaved, chunks: 2}"))
        # The rank with most: an inner stage sends m v each way, the first and last m less one way.
        self.assertEqual((group(one, "pp")["calls"], group(two, "pp")["calls"]), (16, 32))
        self.assertEqual(group(two, "pp")["bytes"], 32 * 16 * 64 * 2)
        # Gradients are those of as many layers, however they are divided.
        self.assertEqual(group(one, "dp")["bytes"], group(two, "dp")["bytes"])
        self.assertEqual(len(two["each_step_ps"]), 2)

    def test_step_is_compute_and_communication(self):
        """Nothing overlaps on an idle fabric: backward, then reduce-scatter and all-gather rings over n hosts."""
        for hidden, n in ((2048, 2), (2048, 5), (2048, 8), (1024, 16)):
            with self.subTest(hidden=hidden, n=n):
                self.check_step(hidden, n, 2)

    def check_step(self, hidden, n, layers):
        job = training(fabric(f"""
- training:
    model: {{layers: {layers}, hidden: {hidden}, heads: 16, sequence: 128}}
    groups: {{dp: {n}}}
    micro-batches: 2
    overlap: false
    compute: {{forward: 2ms, backward: 4ms}}
    steps: 2
""", hosts=n, gpus=1))
        size = 12 * hidden * hidden * 2
        ring = size * (n - 1) / n * 8 * WIRE / 100e9
        expected = 2 * (2e-3 + 4e-3) + layers * 2 * ring
        self.assertEqual(group(job, "dp")["bytes"], 2 * layers * size)
        self.assertEqual(group(job, "dp")["calls"], 2 * layers)
        self.assertAlmostEqual(job["step_ps"] / 1e12 / expected, 1, delta=0.02)
        self.assertEqual(len(job["each_step_ps"]), 2)
        self.assertAlmostEqual(group(job, "dp")["exposed_ps"] / 1e12 / (layers * 2 * ring), 1, delta=0.05)

    def test_overlap_hides_gradients(self):
        """All but the last layer's gradients go while the layer before is computed."""
        times = {}
        for overlap in ("true", "false"):
            times[overlap] = training(fabric(f"""
- training:
    model: {{layers: 8, hidden: 512, heads: 4, sequence: 128}}
    groups: {{dp: 8}}
    micro-batches: 1
    overlap: {overlap}
    optimizer: replicated
    compute: {{forward: 8ms, backward: 16ms}}
""", hosts=8, gpus=1))
        hidden = group(times["true"], "dp")
        self.assertLess(hidden["exposed_ps"] * 6, hidden["busy_ps"])
        self.assertGreater(times["false"]["step_ps"], times["true"]["step_ps"] + 6 * hidden["busy_ps"] // 8)
        self.assertEqual(hidden["bytes"], group(times["false"], "dp")["bytes"])

    def test_bytes_of_groups(self):
        """A layer's two sums each way, a stage's part of an activation, tokens to experts and back, keys and values."""
        job = training(fabric("""
- training:
    model: {layers: 4, hidden: 256, heads: 4, sequence: 64, experts: 4, top-k: 2}
    groups: {tp: 2, cp: 2, ep: 2, dp: 2, pp: 2}
    micro-batches: 3
    compute: {tflops: 100}
""", hosts=4, gpus=4))
        tokens = 64 // 2
        activation, layers, micro = tokens * 256 * 2, 2, 3
        self.assertEqual(group(job, "tp")["bytes"], activation * 4 * layers * micro)
        self.assertEqual(group(job, "ep")["bytes"], tokens // 2 * 256 * 2 * 2 * 4 * layers * micro)
        self.assertEqual(group(job, "pp")["bytes"], activation // 2 * micro)
        self.assertEqual(group(job, "cp")["bytes"], 64 * 2 * 256 * 2 // 2 * 3 * layers * micro)
        self.assertEqual(group(job, "dp")["ranks"], 4)
        self.assertEqual(group(job, "dp")["bytes"], 2 * layers * (4 * 256 * 256 // 2) * 2)
        self.assertEqual(group(job, "edp")["bytes"], 2 * layers * (2 * 256 * 1024 * 4 // 2 // 2) * 2)

    def test_the_first_group_is_innermost(self):
        """Written first, tp is within hosts of two GPUs and dp leaves them; written last, it is the other way round."""
        first, last = (result(fabric(f"""
- training:
    model: {{layers: 1, hidden: 512, heads: 4, sequence: 2048}}
    groups: {{{groups}}}
    micro-batches: 4
    compute: {{forward: 1ms}}
  ranks: 4
""")) for groups in ("tp: 2, dp: 2", "dp: 2, tp: 2"))
        sent = [sum(nic["tx_payload_bytes"] for nic in done["nics"]) for done in (first, last)]
        gradients, sums = 12 * 512 * 512, 2048 * 512 * 2
        # Of two ranks each sends half of what is scattered and half of what is gathered, and all of a sum.
        self.assertAlmostEqual(sent[0] / (4 * gradients), 1, delta=0.01)
        # NCCL sends sums of this size with flags, eight bytes in 128.
        self.assertAlmostEqual(sent[1] / (4 * 16 * sums * 128 / 120), 1, delta=0.01)

    def test_two_jobs_share_the_fabric(self):
        """Each alone on its rails, or both on the same GPUs: then each is slower."""
        job = """
- name: {name}
  training:
    model: {{layers: 1, hidden: 1024, heads: 4, sequence: 16}}
    groups: {{dp: 4}}
    overlap: false
    compute: {{forward: 10us}}
  ranks: [{ranks}]
"""
        left, right = "h0:0, h1:0, h2:0, h3:0", "h0:1, h1:1, h2:1, h3:1"
        alone = training(fabric(job.format(name="a", ranks=left)))
        apart = result(fabric(job.format(name="a", ranks=left) + job.format(name="b", ranks=right).strip("\n")))
        same = result(fabric(job.format(name="a", ranks=left) + job.format(name="b", ranks=left).strip("\n")))
        self.assertEqual([t["job"] for t in apart["training"]], ["a", "b"])
        for each in apart["training"]:
            self.assertEqual(each["step_ps"], alone["step_ps"])
        for each in same["training"]:
            self.assertGreater(each["step_ps"], 1.7 * alone["step_ps"])

    def test_what_has_not_ended(self):
        """A step that is cut off does not count; before the first has ended, what was done so far is told."""
        text = fabric("""
- training:
    model: {layers: 2, hidden: 256, heads: 4, sequence: 64}
    groups: {dp: 8}
    steps: 4
    compute: {forward: 1ms, backward: 2ms}
""")
        whole, cut = training(text), training(text, "--until", "8ms")
        self.assertEqual(cut["each_step_ps"], whole["each_step_ps"][:2])
        self.assertEqual((cut["compute_ps"], group(cut, "dp")["bytes"]), (3_000_000_000, group(whole, "dp")["bytes"]))
        early = training(text, "--until", "2ms")
        self.assertEqual((early["each_step_ps"], early["step_ps"], early["idle"]), ([], 0, 0))

    def test_sharded_parameters(self):
        """A layer is gathered ahead forward and backward, and one more at the start; gradients are scattered each time."""
        layers, micro, params = 4, 3, 12 * 256 * 256
        job = training(fabric(f"""
- training:
    model: {{layers: {layers}, hidden: 256, heads: 4, sequence: 64}}
    groups: {{dp: 8}}
    micro-batches: {micro}
    optimizer: sharded
    compute: {{forward: 8ms, backward: 16ms}}
"""))
        self.assertEqual(group(job, "dp")["calls"], micro * layers * 3 + 1)
        self.assertEqual(group(job, "dp")["bytes"], (micro * layers * 3 + 1) * params * 2)
        self.assertLess(group(job, "dp")["exposed_ps"] * 3, group(job, "dp")["busy_ps"])

    def test_compute_from_flops(self):
        hidden, sequence, vocab, layers = 1024, 512, 1000, 4
        job = training(fabric(f"""
- training:
    model: {{layers: {layers}, hidden: {hidden}, sequence: {sequence}, vocab: {vocab}}}
    groups: {{tp: 2}}
    micro-batches: 5
    compute: {{tflops: 200}}
  ranks: 2
"""))
        layer = 24 * sequence * hidden ** 2 + 4 * sequence ** 2 * hidden
        flops = 3 * (layers * layer + 2 * sequence * hidden * vocab) * 5 / 2
        self.assertAlmostEqual(job["compute_ps"] / (flops / 200), 1, delta=1e-5)

    def test_recompute(self):
        """Backward goes forward again first: three times forward, where nothing else is said."""
        for more, due in (("", 3), (", recompute: true", 4)):
            for compute, unit in (("{forward: 2ms}", 2_000_000_000), ("{tflops: 1}", None)):
                with self.subTest(more=more, compute=compute):
                    job = training(fabric(f"""
- training: {{model: {{layers: 2, hidden: 256, sequence: 64}}, micro-batches: 1, compute: {compute}{more}}}
"""))
                    unit = unit or 2 * (2 * 64 * 4 * 256 * 256 + 4 * 64 * 64 * 256 + 2 * 64 * 8 * 256 * 256)
                    self.assertEqual(job["compute_ps"], due * unit)

    def test_hot_experts_cost_time(self):
        steps = [training(fabric(f"""
- training:
    model: {{layers: 2, hidden: 256, heads: 4, sequence: 64, experts: 8}}
    groups: {{dp: 8, ep: 8}}
    imbalance: {imbalance}
    compute: {{forward: 1ms, backward: 2ms}}
"""))["step_ps"] for imbalance in ("1", "2")]
        self.assertGreater(steps[1], steps[0] * 1.2)

    def test_jitter_is_of_the_seed(self):
        text = fabric("""
- training:
    model: {layers: 2, hidden: 256, heads: 4, sequence: 64}
    groups: {dp: 8}
    jitter: 10%
    steps: 3
    compute: {forward: 1ms, backward: 2ms}
""")
        first, again, other = (training(text, "--seed", seed)["each_step_ps"] for seed in ("1", "1", "2"))
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)
        for step in first:
            self.assertGreater(step, 3_000_000_000)
            self.assertLess(step, 3_600_000_000)

    def test_a_slow_gpu_is_waited_for(self):
        """From 10 ms on one of eight computes 1.5 times as long: steps begun later are longer by that, for all."""
        text = fabric("""
- training:
    model: {layers: 2, hidden: 64, heads: 4, sequence: 64}
    groups: {dp: 8}
    steps: 8
    compute: {forward: 1ms, backward: 2ms}
""")
        usual = training(text)
        for who, share in (("h1:1", 1 / 8), ("h1", 2 / 8)):
            slow = training(text + f"faults: [{{slow-gpu: \"{who}\", factor: 1.5, at: 10ms}}]\n")
            self.assertEqual(slow["each_step_ps"][:3], usual["each_step_ps"][:3])
            for step, before in zip(slow["each_step_ps"][4:], usual["each_step_ps"][4:]):
                self.assertAlmostEqual(1.5e9, step - before, delta=0.02e9)
            # four steps of eight and the rest of the one in which it began, the mean over ranks
            added = (slow["compute_ps"] - usual["compute_ps"]) * 8
            self.assertGreater(added, 1.5e9 * 4 * share)
            self.assertLess(added, 1.5e9 * 5 * share)

    def test_threads_do_not_show(self):
        text = fabric("""
- name: one
  training:
    model: {layers: 4, hidden: 512, heads: 4, sequence: 64, experts: 2}
    groups: {tp: 2, dp: 4, ep: 2, pp: 2}
    micro-batches: 4
    pipeline: {schedule: interleaved, chunks: 2}
    jitter: 5%
    imbalance: 1.5
    steps: 2
    compute: {forward: 1ms, backward: 2ms}
- {allreduce: ring, size: 1MB, repeat: 5}
""", hosts=4, gpus=4)
        runs = [result(text, "--threads", threads) for threads in ("1", "2", "3")]
        self.assertEqual(1, len({r["digest"] for r in runs}))
        self.assertEqual(1, len({json.dumps(r["training"]) for r in runs}))

    def test_exact_links_agree(self):
        """Messages within a host take no longer than the formula says, which counts software too, and half of it at least."""
        times = [group(training(fabric(f"""
- training:
    model: {{layers: 2, hidden: 4096, heads: 32, sequence: 2048}}
    groups: {{tp: 8}}
    nvlink: {how}
    compute: {{forward: 1ms}}
  ranks: 8
""", hosts=2, gpus=8)), "tp")["exposed_ps"] for how in ("model", "exact")]
        self.assertLess(times[1] / times[0], 1)
        self.assertGreater(times[1] / times[0], 0.5)

    def test_inference_waits_for_small_sums(self):
        job = training(fabric("""
- inference:
    model: {layers: 10, hidden: 4096, heads: 32, sequence: 1024}
    groups: {tp: 8}
    batch: 4
    tokens: 5
    compute: {forward: 1ms}
"""))
        self.assertEqual(group(job, "tp")["calls"], 20)
        self.assertEqual(group(job, "tp")["bytes"], 20 * 4 * 4096 * 2)
        self.assertEqual(job["compute_ps"], 1_000_000_000)
        self.assertEqual(len(job["each_step_ps"]), 5)
        self.assertEqual(job["tokens_per_s"], int(4e12 / job["step_ps"]))
        self.assertGreater(job["idle"], 0.05)


class Beside(unittest.TestCase):
    STORAGE = fabric("""
- training:
    model: {layers: 2, hidden: 256, heads: 4, sequence: 64}
    groups: {dp: 8}
    compute: {forward: 1ms, backward: 2ms}
    steps: 5
    checkpoint: {size: 8000001B, to: storage, every: 2}
""").replace("topology: {rail: {", "topology: {storage: {hosts: 2, leaves: 1}, rail: {")

    def test_checkpoints(self):
        """Each of 4 hosts writes its quarter twice, by its storage NIC, to the storage hosts in turn."""
        done = result(self.STORAGE)
        self.assertEqual([flow["bytes"] for flow in done["flows"]], [2000001, 2000000, 2000000, 2000000] * 2)
        self.assertEqual([flow["src"] for flow in done["flows"]], ["h0:2", "h1:2", "h2:2", "h3:2"] * 2)
        self.assertEqual([flow["dst"] for flow in done["flows"]], ["store0:0", "store1:0"] * 4)
        steps = done["training"][0]["each_step_ps"]
        for flow, round_ in zip(done["flows"], (0,) * 4 + (1,) * 4):
            self.assertLessEqual(flow["start_ps"], sum(steps[:2 * round_ + 2]))
            self.assertGreater(flow["start_ps"], sum(steps[:2 * round_ + 1]))
        self.assertEqual(1, len({result(self.STORAGE, "--threads", n)["digest"] for n in ("1", "2")}))

    def test_the_last_checkpoint_is_waited_for(self):
        done = result(self.STORAGE.replace("steps: 5", "steps: 4").replace("8000001B", "80MB"))
        last = max(flow["start_ps"] + flow["fct_ps"] for flow in done["flows"])
        self.assertEqual(done["jobs"][0]["time_ps"], last)
        self.assertGreater(last, sum(done["training"][0]["each_step_ps"]))

    def test_checkpoints_refused(self):
        for change, message in ((("to: storage", "to: nowhere"), "no host is named 'nowhere'"),
                                (("to: storage", "to: h1"), "host 'h1' cannot write to h1:0: that is itself"),
                                (("size: 8000001B, ", ""), "checkpoint needs size and to"),
                                (("storage: {hosts: 2, leaves: 1}, ", ""), "there is no storage network")):
            with self.subTest(message=message):
                done = run(self.STORAGE.replace(*change))
                self.assertEqual(done.returncode, 2)
                self.assertIn(message, done.stderr)

    def test_bursts(self):
        """Four to one every 100 us, whether the burst before is over or not."""
        done = result(fabric("- {incast: 4, size: 1MB, bursts: 3, every: 100us}"))
        self.assertEqual(sorted(flow["start_ps"] for flow in done["flows"]),
                         [0] * 4 + [100_000_000] * 4 + [200_000_000] * 4)
        self.assertGreater(max(flow["fct_ps"] for flow in done["flows"]), 300_000_000)
        done = run(fabric("- {incast: 4, size: 1MB, bursts: 3}"))
        self.assertIn("bursts and every go together", done.stderr)
        done = run(fabric("- {incast: 4, size: 1MB, bursts: 1000000, every: 5000s}"))
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("the last of 1000000 bursts would begin after more than 1000 hours", done.stderr)


class Traces(unittest.TestCase):
    def trace(self, name, form, more=""):
        return training(fabric(f"- trace: {{file: {TRACES / name}, format: {form}{more}}}"))

    def test_simai(self):
        job = self.trace("tiny.simai.txt", "simai")
        self.assertEqual(job["compute_ps"], (1000 + 200000 + 100000 + 1000 + 600000 + 300000) * 1000)
        self.assertEqual((group(job, "tp")["calls"], group(job, "tp")["ranks"]), (5, 4))
        self.assertEqual(group(job, "tp")["bytes"], 1048576 + 4 * 4194304)
        self.assertEqual((group(job, "dp")["calls"], group(job, "dp")["bytes"]), (1, 8388608))
        # The gradients go beside: what is left of the backward pass hides some of them.
        self.assertLess(group(job, "dp")["exposed_ps"], group(job, "dp")["busy_ps"])

    def test_simai_micro(self):
        job = self.trace("micro.simai.txt", "simai")
        self.assertEqual((group(job, "all")["calls"], group(job, "all")["bytes"]), (2, 3 * 1048576))

    def test_aicb(self):
        job = self.trace("tiny.aicb.csv", "aicb")
        self.assertEqual((group(job, "tp")["calls"], group(job, "tp")["ranks"]), (2, 4))
        self.assertEqual(group(job, "dp")["bytes"], 8388608)
        self.assertEqual(group(job, "all")["calls"], 1)
        with_set_up = self.trace("tiny.aicb.csv", "aicb", ", set-up: true")
        self.assertEqual(group(with_set_up, "dp")["bytes"], 8388608 + 67108864)

    def test_aicb_stages(self):
        job = self.trace("stages.aicb.csv", "aicb", ", steps: 3")
        self.assertEqual((group(job, "pp")["calls"], group(job, "pp")["bytes"]), (1, 4194304))
        self.assertEqual(group(job, "dp")["ranks"], 4)
        self.assertEqual(len(job["each_step_ps"]), 3)

    def test_sends_of_one_stage(self):
        """A file of one stage's calls says to whom it would send, but there is nobody: that is left out."""
        lines = (TRACES / "tiny.aicb.csv").read_text(encoding="utf-8").splitlines()
        head = next(line for line in lines if line.startswith("comm_type")).split(",")
        for call, way in (("isend", "send_next"), ("irecv", "recv_prev"), ("irecv", "recv_next")):
            values = {"comm_type": "CommType." + call, "comm_group": "CommGroup.pp_group", "msg_size": "4096",
                      "stage": "forward_step", "additional": way}
            with self.subTest(way=way), tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder) / "t.csv"
                path.write_text("\n".join(lines + [",".join(values.get(name, "None") for name in head), ""]))
                job = training(fabric(f"- trace: {{file: {path}, format: aicb}}"))
                self.assertEqual(group(job, "dp")["bytes"], 8388608)
                self.assertNotIn("pp", [g["group"] for g in job["groups"]])

    @unittest.skipUnless(os.environ.get("ROCELAB_TRACES"), "ROCELAB_TRACES names no folder")
    def test_traces_of_others(self):
        """Each file of the folder is read, or refused with a sentence."""
        read = 0
        for path in sorted(pathlib.Path(os.environ["ROCELAB_TRACES"]).rglob("*")):
            form = {".csv": "aicb", ".txt": "simai", ".et": "chakra"}.get(path.suffix)
            if not form:
                continue
            done = run(fabric(f"- trace: {{file: {path}, format: {form}}}", 16, 8).replace("jobs:", "stop: 1us\njobs:"))
            self.assertIn(done.returncode, (0, 2), path)
            self.assertTrue(done.returncode == 0 or "error: trace '" in done.stderr, path)
            read += done.returncode == 0
        self.assertGreater(read, 0)

    def test_bad_traces(self):
        good = (TRACES / "tiny.simai.txt").read_text(encoding="utf-8")
        csv = (TRACES / "stages.aicb.csv").read_text(encoding="utf-8")
        cases = (
            ("simai", "", "the file is empty"),
            ("simai", "HELLO 1\n", "line 1, column 1: HYBRID"),
            ("simai", good.replace("group: 4", "group: x"), "line 1, column 59: model_parallel_NPU_group: 'x'"),
            ("simai", good.replace("\n3\n", "\nthree\n"), "line 2, column 1: 'three' is no number"),
            ("simai", good.replace("\n3\n", "\n4\n"), "ends after 3 layers, line 2 says 4"),
            ("simai", good.replace("\n3\n", "\n2\n"), "line 5, column 1: more layers than the 2"),
            ("simai", good.replace("200000", "20x"), "line 4, column 14: '20x' is no number"),
            ("simai", good.replace("ALLREDUCE\t1048576", "ALLREDUCED\t1048576"), "line 3, column 19: unknown collective"),
            ("simai", good.replace("\t100\nattention", "\nattention"), "a layer has 12 columns, here are 11"),
            ("simai", good.replace("4194304", "-1"), "'-1' is no number"),
            ("simai", good.replace("group: 4", "group: 3"), "does not divide 8 ranks; 1, 2, 4 or 8 would"),
            ("simai", good + "\0", "this is no text"),
            ("aicb", "", "no calls"),
            ("aicb", "a,b\n1,2\n", "line 1, column 1: there is no column 'comm_type'"),
            ("aicb", csv.replace("send_next", "sideways"), "line 3, column 66: send_next, send_prev"),
            ("aicb", csv.replace("all_reduce", "all_reduced"), "line 5, column 1: unknown call"),
            ("aicb", csv.replace("dp_group", "xp_group"), "line 5, column 21: unknown group"),
            ("aicb", csv.replace("4194304,backward_step,None,None,send", "1,backward_step,None,None,send"),
             "stages 0 and 1 do not agree on what it gets back"),
            ("aicb", csv.replace("irecv,CommGroup.pp_group,4194304,forward_step,None,None,recv_prev",
                                 "isend,CommGroup.pp_group,4194304,forward_step,None,None,send_next"),
             "stages 0 and 1 do not agree on what it sends on"),
            ("aicb", csv + "CommType.isend,CommGroup.pp_group,8,forward_step,None,None,send_next,None,None,None,1\n",
             "stage 1 is the last, but sends to the one behind"),
            ("aicb", csv + "CommType.irecv,CommGroup.pp_group,8,forward_step,None,None,recv_next,None,None,None,1\n",
             "stage 1 is the last, but receives from the one behind"),
            ("aicb", csv.replace("\nCommType.isend", "\nCommType.irecv,CommGroup.pp_group,8,forward_step,None,None,"
                                 "recv_prev,None,None,None,1\nCommType.isend", 1),
             "stage 0 is the first, but receives from the one before"),
            ("aicb", csv.replace("1048576", "many"), "line 5, column 40: no number of bytes: 'many'"),
        )
        for form, text, message in cases:
            with tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder) / "t"
                path.write_text(text, encoding="utf-8")
                done = run(fabric(f"- trace: {{file: {path}, format: {form}}}"))
            with self.subTest(message=message):
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(message, done.stderr)
                self.assertRegex(done.stderr, r"f\.yaml:10:\d+: error: ")


class Refused(unittest.TestCase):
    def check(self, body, message, where=None):
        done = run(fabric("- training: {" + body + "}"))
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn(message, done.stderr)
        self.assertRegex(done.stderr, where or r"f\.yaml:10:\d+: error: ")

    def test_refused(self):
        model, compute = "model: {layers: 4, hidden: 64, sequence: 16}", "compute: {tflops: 1}"
        for body, message in (
                (f"{model}, {compute}, groups: {{tp: 3}}",
                 "groups: tp 3 x cp 1 x pp 1 = 3 does not divide 8 ranks; 1, 2, 4 or 8 would"),
                (f"{model}, {compute}, groups: {{tp: 2, dp: 2}}", "but there are 8 ranks; dp: 4 would fit"),
                (f"{model}, {compute}, groups: {{tp: 3, dp: 3}}", "but there are 8 ranks; ranks: 9 would fit"),
                (f"{model}, {compute}, groups: {{ep: 3}}", "ep 3 does not divide dp 8"),
                (f"{model}, {compute}, groups: {{ep: 2}}", "ep 2, but the model has 0 experts"),
                (f"{model}, {compute}, groups: {{pp: 8}}", "4 layers of 4 in 8 stages"),
                (f"{model}, {compute}, groups: {{xp: 8}}", "xp"),
                (f"{model}, {compute}, global-batch: 12", "12 is no multiple of micro-batch 1 x dp 8 = 8; 16 would be"),
                (f"{model}, {compute}, slice: {{dp: 2}}", "slice: 2 of dp"),
                (f"{model}, {compute}, slice: {{layers: 5}}", "5 layers of 4"),
                (f"{model}, {compute}, imbalance: 0.5", "imbalance"),
                ("model: mixtral-8x7b, optimizer: sharded, " + compute, "sharded is for models without experts"),
                ("model: {layers: 4, hidden: 64, heads: 3, sequence: 16}, groups: {tp: 4}, " + compute,
                 "groups: tp 4 does not divide the model's 3 heads; 1 or 3 would"),
                ("model: {layers: 4, hidden: 64, heads: 4, kv-heads: 3, sequence: 16}, " + compute,
                 "model: 3 kv-heads do not divide its 4 heads"),
                ("model: {layers: 4, hidden: 64, heads: 4, kv-heads: 8, sequence: 16}, " + compute,
                 "model: 8 kv-heads do not divide its 4 heads"),
                ("model: {layers: 4, hidden: 8388608, sequence: 67108864}, micro-batch: 1048576, " + compute,
                 "bytes of activations"),
                (f"{model}, {compute}, groups: {{pp: 2}}, pipeline: {{schedule: 1f1b, chunks: 2}}",
                 "pipeline: 1f1b has one chunk a stage; schedule: interleaved has several"),
                (f"{model}, {compute}, groups: {{pp: 2}}, pipeline: {{schedule: interleaved, chunks: 4}}",
                 "pipeline: 2 stages of 4 chunks, but 4 layers: each chunk has one or more"),
                (f"{model}, {compute}, pipeline: interleaved",
                 "pipeline: 2 chunks in 1 stage; interleaved needs two or more of each"),
                (f"{model}, {compute}, groups: {{pp: 2}}, micro-batches: 3, pipeline: interleaved",
                 "3 are no multiple of 2; 4 would be"),
                (f"{model}, {compute}, groups: {{pp: 2}}, pipeline: interleave", "did you mean 'interleaved'?"),
                (f"{model}", "training needs compute"),
                (f"{compute}", "training needs a model"),
                (f"model: gpt-175, {compute}", "did you mean 'gpt-175b'?"),
                (f"model: {{layers: 4}}, {compute}", "model needs layers, hidden and sequence"),
                (f"{model}, compute: {{tflops: 1, forward: 1ms}}", "not both")):
            with self.subTest(message=message):
                self.check(body, message)
        done = run(fabric(f"- {{training: {{{model}, {compute}}}, repeat: 2}}"))
        self.assertIn("not by repeat", done.stderr)


class Slices(unittest.TestCase):
    """A slice's times are called so wherever they are told, and no rate is told that reads as the whole job's."""
    JOB = """
- training:
    model: {layers: 8, hidden: 64, heads: 1, sequence: 16}
    groups: {dp: 2}
    micro-batches: 8
    compute: {forward: 10us}
    SLICE
  name: gpt
"""
    WORDS = "gpt: 2 of 8 layers, 4 of 8 micro-batches"

    def setUp(self):
        self.text = fabric(self.JOB.replace("SLICE", "slice: {layers: 2, micro-batches: 4}"), hosts=2, gpus=1)

    def told(self, *arguments, text=None):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(text or self.text)
            file.flush()
            done = subprocess.run([PROGRAM, arguments[0], file.name, *arguments[1:]], capture_output=True, text=True, check=False)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return done.stdout

    def test_a_run(self):
        text = self.told("sim")
        self.assertIn("a step of the slice", text)
        self.assertIn("2 of 8 layers, 4 of 8 micro-batches", text)
        self.assertIn("the slice's, not the", text)
        self.assertNotIn("tokens/s", text)
        job = json.loads(self.told("sim", "--json"))["training"][0]
        self.assertIsNone(job["tokens_per_s"])
        self.assertEqual(job["slice"], self.WORDS.removeprefix("gpt: "))

    def test_the_whole(self):
        whole = fabric(self.JOB.replace("SLICE", ""), hosts=2, gpus=1)
        text = self.told("sim", text=whole)
        self.assertIn("tokens/s", text)
        self.assertNotIn("slice", text)
        job = json.loads(self.told("sim", "--json", text=whole))["training"][0]
        self.assertEqual(job["tokens_per_s"], int(16 * 8 * 2 * 1e12 / job["step_ps"]))
        self.assertNotIn("slice", self.told("sweep", "--vary", "seed=1,2", text=whole))
        self.assertIsNone(json.loads(self.told("sweep", "--vary", "seed=1", "--json", text=whole))["points"][0]["slice"])

    def test_many_runs(self):
        for arguments in (("sweep", "--vary", "seed=1,2"), ("sweep", "--vary", "seed=1", "--show", "step"),
                          ("sweep", "--vary", "nics.mtu=1024,4096", "--seeds", "2"), ("sim", "--seeds", "2"),
                          ("compare", "--systems", "rocev2,infiniband"), ("tune", "--runs", "20", "--for", "time")):
            with self.subTest(arguments=arguments):
                text = self.told(*arguments)
                self.assertEqual(text.count("Only a slice is run of " + self.WORDS), 1, text)
                self.assertIn("Times are the slice's, not the whole job's.", text)
        for arguments, rows in ((("sweep", "--vary", "seed=1,2"), "points"), (("sweep", "--vary", "nics.mtu=1024,4096", "--seeds", "2"), "points"),
                                (("compare", "--systems", "rocev2,infiniband"), "systems")):
            for row in json.loads(self.told(*arguments, "--json"))[rows]:
                self.assertEqual(row["slice"], self.WORDS)
        self.assertEqual(json.loads(self.told("sim", "--seeds", "2", "--json"))["slice"], self.WORDS)
        self.assertEqual(json.loads(self.told("tune", "--runs", "20", "--for", "time", "--json"))["slice"], self.WORDS)
        rows = list(csv.DictReader(io.StringIO(self.told("sweep", "--vary", "seed=1,2", "--csv"))))
        self.assertEqual([row["slice"] for row in rows], [self.WORDS] * 2)


class Examples(unittest.TestCase):
    def test_examples_run(self):
        for name, slice_words in EXAMPLES.items():
            with self.subTest(example=name):
                done = subprocess.run([PROGRAM, "sim", "--json", str(SOURCE / "examples" / f"{name}.yaml")],
                                      capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                job = json.loads(done.stdout)["training"][0]
                self.assertGreater(job["step_ps"], job["compute_ps"])
                if slice_words:
                    self.assertIn(slice_words, job["slice"])
                if name == "gpt-175b":  # a step of the whole: 12 layers a stage
                    self.assertAlmostEqual(group(job, "dp")["bytes"] * 12 / 5.5e9, 1, delta=0.02)
                    self.assertAlmostEqual(group(job, "pp")["bytes"] / group(job, "pp")["calls"] / 6e6, 1, delta=0.05)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[3:])
