# SPDX-License-Identifier: Apache-2.0
"""usage: tests/up/figures.py ROCELAB [fabric load latency matrix]

perftest on fabrics in virtual time, held to the simulator: bandwidth on 100G and 400G through one switch and three,
beside simulated flows with pauses and with DCQCN, latencies, and 5 of 5 equal digests for each of its kinds.  Minutes:
tests/soak runs it where perftest is installed; test_perftest.py has the part that is quick."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HEAD = """rocelab: 1
fabric: figures
topology: {topology}
links: {{host: {{rate: {rate}, cable: 3m}}{uplinks}}}
nics: {{mtu: 4096, congestion: none}}
"""
SHARED = """rocelab: 1
fabric: shared
topology: {leaf-spine: {leaves: 2, spines: 1, hosts: 2}}
links: {host: {rate: 400G, cable: 3m}, fabric: {rate: 400G, cable: 30m}}
switches: {model: tomahawk5, buffer: 4MB}
classes:
  - {name: rdma, dscp: 26, priority: 3, lossless: true, ecn: {min: 500KB, max: 1500KB, probability: 10%}, share: 90%}
  - {name: cnp, dscp: 48, priority: 6, strict: true}
  - {name: default, priority: 0, share: 10%}
nics: {mtu: 4096, congestion: CONTROL}
"""
GAP_PS = 100_000_000
MATRIX = (
    "ib_write_bw -s 65536 -n 300", "ib_write_bw -b -s 65536 -n 200", "ib_write_bw -q 4 -s 65536 -n 200",
    "ib_write_bw -l 8 -s 1024 -n 1000", "ib_write_bw -s 64 -I 64 -n 500", "ib_write_bw -Q 10 -s 4096 -n 300",
    "ib_write_bw -t 1 -s 4096 -n 300", "ib_write_lat -s 8 -n 50", "ib_send_bw -s 65536 -n 300",
    "ib_send_bw -b -s 4096 -n 300", "ib_send_bw -e -s 65536 -n 200", "ib_send_bw --use-srq -q 4 -s 4096 -n 200",
    "ib_send_bw -c UD -s 4096 -n 300", "ib_send_bw -c UC -s 65536 -n 200", "ib_send_bw -r 64 -s 4096 -n 300",
    "ib_send_bw -R -s 4096 -n 300", "ib_send_lat -s 8 -n 300", "ib_send_lat -I 64 -s 32 -n 300",
    "ib_send_lat -e -s 8 -n 300", "ib_send_lat -c UD -s 64 -n 300", "ib_read_bw -s 65536 -n 300",
    "ib_read_bw -o 1 -s 4096 -n 300", "ib_read_lat -s 8 -n 300", "ib_atomic_bw -n 300",
    "ib_send_bw -a -n 20", "ib_read_bw -a -n 20", "ib_write_lat -a -n 5",
    "ib_atomic_bw -A CMP_AND_SWAP -n 300", "ib_atomic_lat -n 300", "ib_write_bw -D 1 -s 65536",
)


class Runs:
    def __init__(self, program, folder):
        self.program, self.folder, self.failed = program, pathlib.Path(folder), 0

    def rocelab(self, verb, text, *options):
        (self.folder / "f.yaml").write_text(text, encoding="utf-8")
        return subprocess.run([self.program, verb, "f.yaml", "--json", *map(str, options)], cwd=self.folder,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=600,
                              env=dict(os.environ, XDG_RUNTIME_DIR=str(self.folder)))

    def sim(self, text, *options):
        """The completion time of each flow, in ps, and the document."""
        document = json.loads(self.rocelab("sim", text, *options).stdout)
        return [flow["fct_ps"] for flow in document["flows"]], document

    def pair(self, text, command, *options):
        """What the client printed, as numbers, and the document; None where it failed."""
        (self.folder / "x.up").write_text(f"h0: {command} -F\nh1 after 1ms: {command} -F h0\n", encoding="utf-8")
        result = self.rocelab("up", text, "--script", "x.up", *options)
        if result.returncode:
            print(result.stderr[-1500:], file=sys.stderr)
            return None, None
        rows = [line.split()[1:] for line in result.stderr.splitlines() if re.match(r"h1: +\d+ +\d+ +\d", line)]
        return [float(value) for value in rows[-1]], json.loads(result.stdout)

    def judge(self, good, text):
        print(("ok    " if good else "WRONG ") + text, flush=True)
        self.failed += not good


def fabric(rate, switches):
    one = switches == 1
    return HEAD.format(rate=rate, topology="{single: {hosts: 2}}" if one else
                       "{leaf-spine: {leaves: 2, spines: 1, hosts: 1}}",
                       uplinks="" if one else f", fabric: {{rate: {rate}, cable: 30m}}")


def flows(*each):
    return "jobs: [{flows: [" + ", ".join(f"{{src: {src}, dst: h0, size: {size}B, at: {at}ps}}"
                                          for src, size, at in each) + "]}]\n"


def bandwidths(runs):
    for rate in "100G", "400G":
        for switches in 1, 3:
            for size, count in (65536, 1000), (1 << 20, 100):
                text = fabric(rate, switches)
                (took,), _ = runs.sim(text + flows(("h1", size * count, 0)))
                expected = size * count * 8e3 / took
                for program in "ib_write_bw", "ib_send_bw", "ib_read_bw":
                    row, _ = runs.pair(text, f"{program} -s {size} -n {count} --report_gbits")
                    error = row[3] / expected - 1 if row else 1
                    runs.judge(abs(error) < 0.002, f"{rate} {switches} switches {program} {size}: "
                               f"{row and row[3]} Gb/s, sim {expected:.2f}: {error:+.3%}")


def against_flows(runs, control, seed, begun, count=5000):
    """A program and two simulated flows into one host, and three simulated flows: Gb/s and XOFFs of each."""
    text, size = SHARED.replace("CONTROL", control), count * 65536
    command = f"ib_write_bw -s 65536 -n {count} --report_gbits"
    others = [(host, 60_000_000) for host in ("h2", "h3")]
    row, real = runs.pair(text + flows(*((*one, begun + GAP_PS) for one in others)), command, "--seed", seed)
    took, simulated = runs.sim(text + flows(("h1", size, 0), *((*one, GAP_PS) for one in others)), "--seed", seed)
    pauses = [{port["port"]: port["pfc_rx"] for port in document["ports"]} for document in (real, simulated)]
    return row[3], size * 8e3 / took[0], pauses


def shared(runs):
    _, alone = runs.pair(SHARED.replace("CONTROL", "none"), "ib_write_bw -s 65536 -n 5000 --report_gbits")
    begun = min(qp["first_post_ps"] for qp in alone["queue_pairs"] if qp["first_post_ps"] is not None)
    real, simulated, (one, two) = against_flows(runs, "none", 1, begun)
    worst = max(abs(one[port] - two[port]) / two[port] for port in two if two[port])
    runs.judge(abs(real / simulated - 1) < 0.002 and worst < 0.05,
               f"beside two flows, pauses: {real} Gb/s, sim {simulated:.2f}: {real / simulated - 1:+.3%}; "
               f"pauses differ by {worst:.1%} at most")
    pairs = [against_flows(runs, "dcqcn/connectx", seed, begun)[:2] for seed in range(1, 21)]
    real, simulated = (sum(column) / len(pairs) for column in zip(*pairs))
    runs.judge(abs(real / simulated - 1) < 0.05, f"beside two flows, DCQCN, mean of 20 seeds: {real:.2f} Gb/s, "
               f"sim {simulated:.2f}: {real / simulated - 1:+.2%}")


def latencies(runs):
    """us: what the wire takes by the simulator, and the declared costs: a post, a read of the counter, the poll that finds
    (ib_write_lat looks at memory instead); and a poll more at most, since polls come one after another."""
    costs = {"ib_write_lat": (2, 0.07), "ib_send_lat": (2, 0.10), "ib_read_lat": (1, 0.10), "ib_atomic_lat": (1, 0.10)}
    for switches in 1, 3:
        text = fabric("400G", switches)
        (took,), _ = runs.sim(text + flows(("h1", 8, 0)))
        for program, (ways, cost) in costs.items():
            row, _ = runs.pair(text, f"{program} -n 100" + ("" if "atomic" in program else " -s 8"))
            least = took / 1e6 / ways + cost
            good = row and least - 0.011 <= row[5] <= least + 0.041 and row[6] == 0
            runs.judge(good, f"{switches} switches {program}: {row and row[5]} us, deviation {row and row[6]}; "
                       f"the wire {took / 1e6 / ways:.3f} and costs {cost:.3f}, a poll of 0.030 more at most")


def matrix(runs):
    for command in MATRIX:
        text = fabric("1G" if "-D" in command else "100G", 1)  # -D: for seconds of fabric time
        documents = [runs.pair(text, command)[1] for _ in range(5)]
        documents += [runs.pair(text, command, "--threads", threads)[1] for threads in (2, 4)]
        digests = {document and document["digest"] for document in documents}
        runs.judge(len(digests) == 1 and None not in digests, f"{command}: digests {sorted(map(str, digests))}")


def main():
    parts = {"fabric": bandwidths, "load": shared, "latency": latencies, "matrix": matrix}
    if len(sys.argv) < 2 or any(part not in parts for part in sys.argv[2:]):
        sys.exit(__doc__)
    if not shutil.which("ib_write_bw"):
        print("perftest is not installed: nothing was held to anything")
        return
    with tempfile.TemporaryDirectory() as folder:
        runs = Runs(pathlib.Path(sys.argv[1]).resolve(), folder)
        for part in sys.argv[2:] or parts:
            parts[part](runs)
    sys.exit(runs.failed > 0)


if __name__ == "__main__":
    main()
