#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""NCCL's AllReduce over our adapter and over sockets, on one machine with one GPU.

    python3 bench/nccl.py LIBDIR [--wire udp] [--channels 8] [--max 1G] [--interface eth0]

LIBDIR holds our libibverbs.so.1 (the build's src/verbs).  Two ranks share GPU 0; each has its own NCCL_HOSTID, so NCCL
takes them for two hosts and must use the network.  Both sides use the same interface, lo where nothing is said.  Every size is
checked on both ranks (each element is what two ranks sum up to), then timed: first all sizes over sockets, then all over our
adapter.  Prints a table: size, bus bandwidth either way (which for two ranks is the algorithm bandwidth; of rank 0's median
time), the ratio, and whether both ranks had the right sums both ways.  Exit status 1: a wrong sum, or no result.  Needs PyTorch
with NCCL, which this project neither has nor installs.

NCCL_GIN_TYPE=0 is set for our side: NCCL 2.28 dies at the start where an IB device is none of mlx5's (its pull request 1881, mended in 2.29)."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

RANK = r"""
import json, os, sys, time
import torch, torch.distributed as dist
rank = int(os.environ["RANK"])
torch.cuda.set_device(0)
dist.init_process_group("nccl", init_method="tcp://127.0.0.1:%s" % os.environ["MASTER_PORT"], rank=rank, world_size=2)
sizes = [int(s) for s in os.environ["SIZES"].split(",")]
out = []
for size in sizes:
    n = max(size // 4, 2)
    x = torch.empty(n, dtype=torch.float32, device="cuda")
    base = (torch.arange(n, device="cuda") % 1000).float()
    good = True
    for repeat in range(2):
        x.copy_(base); x.add_(rank + 1)
        dist.all_reduce(x); torch.cuda.synchronize()
        good = good and bool(torch.equal(x, base * 2 + 3))
    loops = max(3, min(20, int(256e6 // max(size, 1))))
    dist.barrier(); torch.cuda.synchronize()
    times = []
    for _ in range(loops):
        began = time.perf_counter()
        dist.all_reduce(x); torch.cuda.synchronize()
        times.append(time.perf_counter() - began)
    times.sort()
    out.append({"bytes": n * 4, "good": good, "seconds": times[len(times) // 2], "best": times[0], "worst": times[-1]})
    del x, base
print("RESULT " + json.dumps(out), flush=True)
dist.destroy_process_group()
"""


def parse_size(text):
    return int(text[:-1]) << {"K": 10, "M": 20, "G": 30}[text[-1]] if text[-1] in "KMG" else int(text)


def result_of(text):
    for line in text.splitlines():
        if line.startswith("RESULT "):
            return json.loads(line[7:])
    return None


def ranks(script, environment, port, log):
    """Runs both ranks; rank 0's result, good where both are, or None; and the lines that say why or by which network."""
    running = []
    for rank in (0, 1):
        own = dict(os.environ, **environment, RANK=str(rank), MASTER_PORT=str(port), NCCL_HOSTID=f"host{rank}", NCCL_DEBUG="INFO",
                   NCCL_SHM_DISABLE="1", NCCL_P2P_DISABLE="1")
        running.append(subprocess.Popen([sys.executable, script], env=own, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
    said = []
    for process in running:
        try:
            said.append(process.communicate(timeout=240)[0])
        except subprocess.TimeoutExpired:
            process.kill()
            said.append(process.communicate()[0])
    log.write_text("\n==== rank 1\n".join(said))
    results = [result_of(text) for text in said]
    if None in results or any(process.returncode for process in running) or len(results[0]) != len(results[1]):
        return None, said[0].splitlines()[-15:] + ["---- rank 1"] + said[1].splitlines()[-15:]
    for row, other in zip(*results):
        row["good"] = row["good"] and other["good"]
    used = [line for line in said[0].splitlines() if "NET/" in line and ("Using" in line or "via NET" in line)]
    return results[0], used


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libdir")
    parser.add_argument("--wire", default="")
    parser.add_argument("--channels", type=int, default=0)
    parser.add_argument("--max", default="1G")
    parser.add_argument("--min", default="8")
    parser.add_argument("--interface", default="lo", help="of both sides")
    parser.add_argument("--log", default=tempfile.gettempdir())
    parser.add_argument("--extra", action="append", default=[], help="NAME=VALUE for our side")
    arguments = parser.parse_args()
    libdir, log = pathlib.Path(arguments.libdir).resolve(), pathlib.Path(arguments.log)
    sizes, size = [], parse_size(arguments.min)
    while size <= parse_size(arguments.max):
        sizes.append(size)
        size *= 8 if size < 1 << 20 else 4 if size < 1 << 26 else 2
    common = {"SIZES": ",".join(map(str, sizes))}
    if arguments.channels:
        common |= {"NCCL_MIN_NCHANNELS": str(arguments.channels), "NCCL_MAX_NCHANNELS": str(arguments.channels),
                   "NCCL_SOCKET_NTHREADS": "2", "NCCL_NSOCKS_PERTHREAD": "2"}
    ours = common | {"LD_PRELOAD": f"{libdir}/libibverbs.so.1", "NCCL_NET": "IB", "NCCL_SOCKET_IFNAME": arguments.interface, "NCCL_GIN_TYPE": "0",
                     "ROCELAB_DEVICE": arguments.interface,
                     "LD_LIBRARY_PATH": f"{libdir}:{os.environ.get('LD_LIBRARY_PATH', '')}"}
    if arguments.wire:
        ours["ROCELAB_WIRE"] = arguments.wire
    ours |= dict(pair.split("=", 1) for pair in arguments.extra)
    sockets = common | {"NCCL_NET": "Socket", "NCCL_SOCKET_IFNAME": arguments.interface}
    with tempfile.TemporaryDirectory() as folder:
        script = pathlib.Path(folder) / "rank.py"
        script.write_text(RANK)
        table = {}
        for number, (name, environment) in enumerate((("sockets", sockets), ("rocelab", ours))):
            result, said = ranks(str(script), environment, 29500 + number, log / f"nccl-{name}.log")
            if result is None:
                print(f"{name}: no result:\n" + "\n".join(said))
                return 1
            print("\n".join(said[:4]))
            table[name] = result
    bad = 0
    print(f"{'bytes':>12} {'sockets GB/s':>13} {'rocelab GB/s':>13} {'ratio':>6}  correct")
    for socket_row, our_row in zip(table["sockets"], table["rocelab"]):
        rates = [row["bytes"] / row["seconds"] / 1e9 for row in (socket_row, our_row)]
        good = socket_row["good"] and our_row["good"]
        bad += not good
        print(f"{our_row['bytes']:>12} {rates[0]:>13.3f} {rates[1]:>13.3f} {rates[1] / rates[0]:>6.2f}  {good}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
