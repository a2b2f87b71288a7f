#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""NCCL's AllReduce through a fabric of switches (`rocelab up --clock real`), on one machine with one GPU.

    python3 bench/nccl_fabric.py ROCELAB FABRIC [--hosts h0,h2] [--clock real] [--max 1G] [--fault 'down leaf0:2 for 2s'] [--after 5]

Two ranks share GPU 0, each on a host of the fabric and with a NCCL_HOSTID of its own, so NCCL takes them for two hosts and must use
the network.  Every size is checked on both ranks: each element is what two ranks sum up to.  With --fault the largest size is repeated
until some seconds after the fault, which is applied by `rocelab fault`, and the sums are checked as before.  Prints NCCL's network, a
table (size, bus bandwidth of rank 0's median time, whether both ranks were right) and what `up` reports of losses and of time
that stood still.  Exit status 1: a wrong sum, or no result.  Needs PyTorch with NCCL, which this project neither has nor installs."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from nccl import parse_size, result_of

RANK = r"""
import json, os, sys, time
import torch, torch.distributed as dist
rank = int(os.environ["RANK"])
torch.cuda.set_device(0)
dist.init_process_group("nccl", init_method="tcp://%s:29500" % os.environ["MASTER"], rank=rank, world_size=2)
def reduce(size, loops):
    n = max(size // 4, 2)
    x = torch.empty(n, dtype=torch.float32, device="cuda")
    base = (torch.arange(n, device="cuda") % 1000).float()
    good, times = True, []
    for _ in range(loops):
        x.copy_(base); x.add_(rank + 1); torch.cuda.synchronize()
        began = time.perf_counter()
        dist.all_reduce(x); torch.cuda.synchronize()
        times.append(time.perf_counter() - began)
        good = good and bool(torch.equal(x, base * 2 + 3))
    times.sort()
    return {"bytes": n * 4, "good": good, "loops": loops, "seconds": times[len(times) // 2], "worst": times[-1]}
out = [reduce(int(s), 3) for s in os.environ["SIZES"].split(",")]
print("READY", flush=True)
for _ in range(int(os.environ["MORE"])):
    out.append(reduce(1 << 28, 4))
print("RESULT " + json.dumps(out), flush=True)
dist.destroy_process_group()
"""


def begin_rank(arguments, script, rank, host, sizes, log):
    own = dict(os.environ, RANK=str(rank), MASTER=arguments.master, SIZES=",".join(map(str, sizes)), MORE=str(arguments.more if arguments.fault else 0),
               NCCL_HOSTID=f"host{rank}", NCCL_DEBUG="INFO", NCCL_SHM_DISABLE="1", NCCL_P2P_DISABLE="1", NCCL_NET="IB",
               NCCL_SOCKET_IFNAME="eth0", GLOO_SOCKET_IFNAME="eth0", NCCL_GIN_TYPE="0", TORCH_NCCL_ASYNC_ERROR_HANDLING="1")
    own |= dict(pair.split("=", 1) for pair in arguments.extra)
    return subprocess.Popen([arguments.rocelab, "run", "--fabric", arguments.name, "--host", host, "--", sys.executable, script], env=own,
                            stdout=log.open("w"), stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)


def pull(arguments, logs, deadline):
    while time.monotonic() < deadline and not all("READY" in log.read_text() for log in logs):
        time.sleep(0.1)
    time.sleep(arguments.after)
    print(subprocess.run([arguments.rocelab, "fault", arguments.name, *arguments.fault.split()], capture_output=True, text=True, check=False))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rocelab")
    parser.add_argument("fabric")
    parser.add_argument("--hosts", default="h0,h2")
    parser.add_argument("--clock", default="real")
    parser.add_argument("--master", default="10.0.0.1", help="address of the first host")
    parser.add_argument("--max", default="1G")
    parser.add_argument("--fault", help="as `rocelab fault` takes it")
    parser.add_argument("--after", type=float, default=1, help="seconds of the larger sizes before the fault")
    parser.add_argument("--more", type=int, default=4, help="with a fault: so many rounds of 256 MB")
    parser.add_argument("--limit", type=int, default=200, help="seconds")
    parser.add_argument("--extra", action="append", default=[], help="NAME=VALUE for the ranks")
    arguments = parser.parse_args()
    arguments.name = f"nccl{os.getpid()}"
    sizes, size = [], 8
    while size <= parse_size(arguments.max):
        sizes.append(size)
        size *= 8 if size < 1 << 20 else 4 if size < 1 << 26 else 2
    deadline = time.monotonic() + arguments.limit
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "rank.py").write_text(RANK)
        logs = [folder / "0.log", folder / "1.log"]
        up = subprocess.Popen([arguments.rocelab, "up", arguments.fabric, "--clock", arguments.clock, "--name", arguments.name, "--programs", "2"],
                              stdout=(folder / "up.out").open("w"), stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        print(up.stderr.readline().strip())
        ranks = [begin_rank(arguments, str(folder / "rank.py"), number, host, sizes, logs[number])
                 for number, host in enumerate(arguments.hosts.split(","))]
        if arguments.fault:
            pull(arguments, logs, deadline)
        for rank in ranks:
            try:
                rank.wait(timeout=max(1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                rank.kill()
        try:
            errors = up.communicate(timeout=10)[1]
        except subprocess.TimeoutExpired:
            up.terminate()
            errors = up.communicate()[1]
        said, report = [log.read_text() for log in logs], (folder / "up.out").read_text()
    print(report)
    print("\n".join(errors.splitlines()[-4:]))
    results = [result_of(text) for text in said]
    if None in results:
        for number, text in enumerate(said):
            print(f"---- rank {number}, status {ranks[number].returncode}\n" + "\n".join(text.splitlines()[-25:]))
        return 1
    print("\n".join([line for line in said[0].splitlines() if "NET/" in line and ("Using" in line or "via NET" in line)][:4]))
    bad = 0
    print(f"{'bytes':>12} {'GB/s':>8} {'worst s':>9}  correct")
    for row, other in zip(*results):
        good = row["good"] and other["good"]
        bad += not good
        print(f"{row['bytes']:>12} {row['bytes'] / row['seconds'] / 1e9:>8.3f} {row['worst']:>9.3f}  {good}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
