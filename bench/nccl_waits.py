#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What NCCL's AllReduce waits for, by our profiler plugin, on one machine with one GPU.

    python3 bench/nccl_waits.py LIBDIR PLUGIN [--size 64M] [--loops 10] [--channels 8] [--fault loss=1%] [--sleep 0.2]

LIBDIR holds our libibverbs.so.1 (the build's src/verbs), PLUGIN is librocelab-nccl-profiler.so.  Two ranks share GPU 0, as
bench/nccl.py has them, and reduce over our adapter: undisturbed, with a fault on the wire, and with rank 1 late by some time each
round.  Prints of each rank what an operation took and waited for, the mean over collectives, how far the waits are from the
operations' time at most, and how far that is from the GPU's.  Exit status 1: no result, or waits that are off by more than 5 %.
Needs PyTorch with NCCL, which this project neither has nor installs."""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from nccl import parse_size

RANK = r"""
import os, time
import torch, torch.distributed as dist
rank, loops, size = int(os.environ["RANK"]), int(os.environ["LOOPS"]), int(os.environ["SIZE"])
torch.cuda.set_device(0)
dist.init_process_group("nccl", init_method="tcp://127.0.0.1:%s" % os.environ["MASTER_PORT"], rank=rank, world_size=2)
x = torch.ones(size // 4, dtype=torch.float32, device="cuda")
dist.all_reduce(x); torch.cuda.synchronize()
for _ in range(loops):
    x.fill_(rank + 1); torch.cuda.synchronize()
    if rank == 1: time.sleep(float(os.environ["LATE"]))
    began = time.perf_counter()
    dist.all_reduce(x); torch.cuda.synchronize()
    print("TOOK %.3f" % ((time.perf_counter() - began) * 1e3), flush=True)
    assert bool((x == 3).all())
time.sleep(float(os.environ["STAY"]))
dist.destroy_process_group()
"""
WAITS = ("gpu", "peer", "network", "data", "other")


def begin(arguments, script, rank, port, fault, late, folder):
    libdir = pathlib.Path(arguments.libdir).resolve()
    own = dict(os.environ, RANK=str(rank), MASTER_PORT=str(port), LOOPS=str(arguments.loops), SIZE=str(parse_size(arguments.size)),
               LATE=str(late), STAY=str(arguments.stay), NCCL_HOSTID=f"host{rank}", NCCL_DEBUG="INFO", NCCL_SHM_DISABLE="1",
               NCCL_P2P_DISABLE="1", NCCL_NET="IB", NCCL_SOCKET_IFNAME="lo", NCCL_GIN_TYPE="0", LD_PRELOAD=f"{libdir}/libibverbs.so.1",
               LD_LIBRARY_PATH=f"{libdir}:{os.environ.get('LD_LIBRARY_PATH', '')}", ROCELAB_DEVICE="lo", ROCELAB_FAULT=fault,
               NCCL_PROFILER_PLUGIN=str(pathlib.Path(arguments.plugin).resolve()), ROCELAB_NCCL_FILE=f"{folder}/%r.jsonl")
    if arguments.wire:
        own["ROCELAB_WIRE"] = arguments.wire
    if arguments.channels:
        own |= {"NCCL_MIN_NCHANNELS": str(arguments.channels), "NCCL_MAX_NCHANNELS": str(arguments.channels)}
    return subprocess.Popen([sys.executable, script], env=own, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def show_live(arguments):
    """What the counters of a program that runs say, while it does."""
    for words in (arguments.live or "").split(";"):
        if words:
            print(subprocess.run(words.split(), capture_output=True, text=True, check=False, timeout=30).stdout)


def row(name, rank, lines, took):
    """The mean over collectives of an operation's time and waits; false where the waits are off."""
    done = [line for line in lines if line["kind"] == "collective" and line["func"] == "AllReduce"][-len(took):]
    if len(done) < len(took) or not all(line["done"] and line["ops"] for line in done):
        print(f"{name}: rank {rank}: {len(done)} of {len(took)} collectives were written")
        return False
    off = max(abs(1 - sum(line[f"wait_{wait}_us"] for wait in WAITS[:4]) / line["proxy_us"]) for line in done)
    gpu = statistics.median(line["proxy_us"] / line["ops"] / line["exec_us"] for line in done if line["exec_from"] == "gpu")
    waits = [statistics.mean(line[side][f"{wait}_us"] / line[side]["ops"] / 1e3 for line in done)
             for side, names in (("send", ("gpu", "peer", "network")), ("recv", ("gpu", "data"))) for wait in names]
    times = [statistics.mean(line[side]["time_us"] / line[side]["ops"] / 1e3 for line in done) for side in ("send", "recv")]
    print(f"{name:<16} {rank:>4} {statistics.mean(took):>9.2f} {statistics.mean(line['exec_us'] for line in done) / 1e3:>9.2f} "
          f"{times[0]:>9.2f} {waits[0]:>8.2f} {waits[1]:>8.2f} {waits[2]:>8.2f}  {times[1]:>9.2f} {waits[3]:>8.2f} {waits[4]:>8.2f} "
          f"{off * 100:>7.2f} {gpu:>8.3f}", flush=True)
    return off <= 0.05


def tidy(name):
    return "".join(letter if letter.isalnum() else "-" for letter in name)


def scene(arguments, name, port, fault="", late=0.0):
    with tempfile.TemporaryDirectory() as folder:
        script = pathlib.Path(folder) / "rank.py"
        script.write_text(RANK)
        running = [begin(arguments, str(script), rank, port, fault, late, folder) for rank in (0, 1)]
        if arguments.live:
            time.sleep(arguments.live_after)
            show_live(arguments)
        said = []
        for process in running:
            try:
                said.append(process.communicate(timeout=arguments.limit)[0])
            except subprocess.TimeoutExpired:
                process.kill()
                said.append(process.communicate()[0])
        if arguments.log:
            (pathlib.Path(arguments.log) / f"{tidy(name)}.log").write_text("\n==== rank 1\n".join(said))
        good = True
        for rank, process in enumerate(running):
            took = [float(line[5:]) for line in said[rank].splitlines() if line.startswith("TOOK ")]
            written = pathlib.Path(folder) / f"{rank}.jsonl"
            if process.returncode or len(took) != arguments.loops or not written.exists():
                print(f"{name}: rank {rank}: no result:\n" + "\n".join(said[rank].splitlines()[-20:]))
                good = False
                continue
            if arguments.log:
                (pathlib.Path(arguments.log) / f"{tidy(name)}-{rank}.jsonl").write_text(written.read_text())
            good = row(name, rank, [json.loads(line) for line in written.read_text().splitlines()], took) and good
        return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libdir")
    parser.add_argument("plugin")
    parser.add_argument("--size", default="64M")
    parser.add_argument("--loops", type=int, default=10)
    parser.add_argument("--channels", type=int, default=0)
    parser.add_argument("--wire", default="")
    parser.add_argument("--fault", action="append", default=[])
    parser.add_argument("--sleep", action="append", type=float, default=[])
    parser.add_argument("--stay", type=float, default=0.5, help="seconds that the ranks stay after the last round")
    parser.add_argument("--live", help="commands, ';' between, run while the ranks do")
    parser.add_argument("--live-after", type=float, default=15)
    parser.add_argument("--limit", type=int, default=120, help="seconds a scene")
    parser.add_argument("--log", help="a folder for what was said and written")
    arguments = parser.parse_args()
    print(f"{'':<16} rank  wall ms   exec ms   send op      gpu     peer  network    recv op      gpu     data   off %  op/exec")
    good = scene(arguments, "undisturbed", 29600)
    for number, fault in enumerate(arguments.fault):
        good = scene(arguments, fault, 29610 + number, fault=fault) and good
    for number, late in enumerate(arguments.sleep):
        good = scene(arguments, f"rank 1 {late} s late", 29620 + number, late=late) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
