#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What NCCL's AllReduce waits for, by our profiler plugin, on one machine with one GPU.

    python3 bench/nccl_waits.py ROCELAB PLUGIN [--size 64M] [--loops 10] [--channels 8] [--fault loss=1%] [--late 0.2]

PLUGIN is librocelab-nccl-profiler.so.  Two ranks share GPU 0, as bench/nccl.py has them, and reduce over our adapter (`rocelab run`):
without the plugin, with it, then for each --fault with that on the wire, and for each --late with rank 1 so many seconds late each
round.  Prints for each rank, in milliseconds and as the mean over collectives: what the
program and the GPU measured, what an operation that sends took and waited for, the same of one that receives; `off`, by how much at
most gpu, peer, network and data miss an operation's time, and the median of that over the GPU's.  Exit status 1: no result, a wrong
sum, or waits that are off by more than 5 %.  Needs PyTorch with NCCL, which this project neither has nor installs."""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

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
dist.destroy_process_group()
"""
WAITS = ("gpu", "peer", "network", "data", "other")


def begin(arguments, script, rank, port, scene, folder):
    own = dict(os.environ, RANK=str(rank), MASTER_PORT=str(port), LOOPS=str(arguments.loops), SIZE=str(parse_size(arguments.size)),
               LATE=str(scene.get("late", 0)), NCCL_HOSTID=f"host{rank}", NCCL_DEBUG="INFO", NCCL_SHM_DISABLE="1", NCCL_P2P_DISABLE="1",
               NCCL_NET="IB", NCCL_SOCKET_IFNAME="lo", NCCL_GIN_TYPE="0")
    if scene.get("plugin", True):
        own |= {"NCCL_PROFILER_PLUGIN": str(pathlib.Path(arguments.plugin).resolve()), "ROCELAB_NCCL_FILE": f"{folder}/%r.jsonl"}
    if arguments.channels:
        own |= {"NCCL_MIN_NCHANNELS": str(arguments.channels), "NCCL_MAX_NCHANNELS": str(arguments.channels)}
    fault = ["--fault", scene["fault"]] if "fault" in scene else []
    return subprocess.Popen([arguments.rocelab, "run", "--device", "lo", *fault, "--", sys.executable, script], env=own,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def row(name, rank, lines, took):
    """The mean over collectives of an operation's time and waits; false where the waits are off."""
    done = list({line["seq"]: line for line in lines if line["kind"] == "collective" and line["func"] == "AllReduce"}.values())[-len(took):]
    if len(done) < len(took) or not all(line["done"] and line["ops"] for line in done):
        print(f"{name}: rank {rank}: {len(done)} of {len(took)} collectives were written")
        return False
    off = max(abs(1 - sum(line[f"wait_{wait}_us"] for wait in WAITS[:4]) / line["proxy_us"]) for line in done)
    gpu = statistics.median(line["proxy_us"] / line["ops"] / line["exec_us"] for line in done if line["exec_from"] == "gpu")
    waits = [statistics.mean(line[side][f"{wait}_us"] / line[side]["ops"] / 1e3 for line in done)
             for side, names in (("send", ("gpu", "peer", "network")), ("recv", ("gpu", "data"))) for wait in names]
    times = [statistics.mean(line[side]["time_us"] / line[side]["ops"] / 1e3 for line in done) for side in ("send", "recv")]
    print(f"{name:<18} {rank:>4} {statistics.mean(took):>9.2f} {statistics.mean(line['exec_us'] for line in done) / 1e3:>9.2f} "
          f"{times[0]:>9.2f} {waits[0]:>8.2f} {waits[1]:>8.2f} {waits[2]:>8.2f}  {times[1]:>9.2f} {waits[3]:>8.2f} {waits[4]:>8.2f} "
          f"{off * 100:>7.2f} {gpu:>8.3f}", flush=True)
    return off <= 0.05


def tidy(name):
    return "".join(letter if letter.isalnum() else "-" for letter in name)


def run(arguments, script, port, scene, folder):
    """What both ranks said, and how they ended."""
    running = [begin(arguments, script, rank, port, scene, folder) for rank in (0, 1)]
    said = []
    for process in running:
        try:
            said.append(process.communicate(timeout=arguments.limit)[0])
        except subprocess.TimeoutExpired:
            process.kill()
            said.append(process.communicate()[0])
    return said, [process.returncode for process in running]


def judge(arguments, name, port, **scene):
    """Runs a scene and prints a row for each rank; whether all is well."""
    good = True
    with tempfile.TemporaryDirectory() as folder:
        script = pathlib.Path(folder) / "rank.py"
        script.write_text(RANK)
        said, ended = run(arguments, str(script), port, scene, folder)
        if arguments.log:
            (pathlib.Path(arguments.log) / f"{tidy(name)}.log").write_text("\n==== rank 1\n".join(said))
        for rank in (0, 1):
            took = [float(line[5:]) for line in said[rank].splitlines() if line.startswith("TOOK ")]
            written = pathlib.Path(folder) / f"{rank}.jsonl"
            if ended[rank] or len(took) != arguments.loops:
                print(f"{name}: rank {rank}: no result:\n" + "\n".join(said[rank].splitlines()[-20:]))
                good = False
            elif not scene.get("plugin", True):
                print(f"{name:<18} {rank:>4} {statistics.mean(took):>9.2f}", flush=True)
            else:
                if arguments.log:
                    (pathlib.Path(arguments.log) / f"{tidy(name)}-{rank}.jsonl").write_text(written.read_text())
                good = row(name, rank, [json.loads(line) for line in written.read_text().splitlines()], took) and good
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rocelab")
    parser.add_argument("plugin")
    parser.add_argument("--size", default="64M")
    parser.add_argument("--loops", type=int, default=10)
    parser.add_argument("--channels", type=int, default=0)
    parser.add_argument("--fault", action="append", default=[])
    parser.add_argument("--late", action="append", default=[])
    parser.add_argument("--limit", type=int, default=120, help="seconds a scene")
    parser.add_argument("--log", help="a folder for what was said and written")
    arguments = parser.parse_args()
    print(f"{'':<18} rank   program       GPU   send op      gpu     peer  network    recv op      gpu     data   off %   op/GPU")
    scenes = [("without the plugin", {"plugin": False}), ("undisturbed", {})]
    scenes += [(fault, {"fault": fault}) for fault in arguments.fault]
    scenes += [(f"rank 1 {late} s late", {"late": late}) for late in arguments.late]
    results = [judge(arguments, name, 29600 + number, **scene) for number, (name, scene) in enumerate(scenes)]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
