# SPDX-License-Identifier: Apache-2.0
"""The same result from every thread count, tiled or not, from every compiler and level of optimisation.

    digests.py DRIVE SOURCE_ROOT COMPILER_ID [--full]

Runs tests/sim/drive over ten fabrics with 1, 2, 3 and 8 threads, with and without tiles, and compares everything it
prints about the run: the digest (every delivery on every link), counters, completion times, events in their order.
A run that notes no events gives the same.  `make test` holds the build
by gcc and the one by clang with sanitizers to the same stored digests.  --full builds gcc and clang at -O0, -O2 and -O3 as
well and runs each with all thread counts on larger fabrics.

The digests themselves are kept in digests.txt beside this file: a change of the model that moves a packet shows there.
UPDATE=1 in the environment writes them anew; the commit that does so says why they changed.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOMS = ("base", "packet", "fabric", "jobs", "load", "switch", "node", "nic", "observe", "plugin", "plant", "workload", "engine", "sim")
CLASSES = """classes:
  - {name: rdma, dscp: 26, priority: 3, lossless: true, ecn: {min: 50KB, max: 200KB, probability: 10%}, share: 90%}
  - {name: cnp, dscp: 48, priority: 6, strict: true}
  - {name: default, priority: 0, share: 10%}
"""
LINKS = "links: {host: {rate: 100G, cable: 3m}, fabric: {rate: 400G, cable: 30m}}\n"
# name -> (text with SIZE for the amount of work, size in `make test`, size with --full)
FABRICS = {
    "fat tree, an ACK a packet": (
        "topology: {fat-tree: {k: 4}}\nlinks: {host: {rate: 100G, cable: 200m}, fabric: {rate: 100G, cable: 200m}}\n"
        "nics: {mtu: 1000, congestion: dcqcn/connectx, ack: {every: 1, request-every: 1}}\n" + CLASSES +
        "jobs: [{permutation: random, size: SIZE}, {incast: 8, size: SIZE}]\n", "200KB", "4MB"),
    "rails, rings": (
        "topology: {rail: {hosts: 4, gpus: 4, leaves: 4, spines: 2}}\n" + LINKS +
        "nics: {mtu: 4096, congestion: dcqcn/connectx}\n" + CLASSES +
        "jobs: [{allreduce: ring, size: SIZE}, {allgather: ring, size: SIZE, repeat: 2}]\n", "2MB", "64MB"),
    "poisson arrivals": (
        "topology: {leaf-spine: {leaves: 3, spines: 2, hosts: 4}}\n" + LINKS +
        "nics: {mtu: 1024, congestion: dcqcn/paper}\n" + CLASSES +
        "jobs: [{poisson: {sizes: websearch, load: 50%, until: SIZE}, qps: 2}]\n", "300us", "10ms"),
    "hpcc, odd rates": (
        "topology: {leaf-spine: {leaves: 2, spines: 2, hosts: 6}}\n"
        "links: {host: {rate: 96G, cable: 7m}, fabric: {rate: 377G, cable: 31m}}\n"
        "nics: {mtu: 1000, congestion: hpcc/paper}\n" + CLASSES +
        "jobs: [{incast: 8, size: SIZE}, {random: 12, size: SIZE}]\n", "100KB", "5MB"),
    "faults and losses": (
        "topology: {fat-tree: {k: 4}}\n" + LINKS + "nics: {mtu: 1024, congestion: dcqcn/connectx}\n" + CLASSES +
        "jobs: [{all-to-all: at-once, size: SIZE}]\n"
        "faults: [{corrupt: h1, share: 1%, at: 0us}, {down: h3, at: 20us, for: 40us}, {drop: h5, every: 50, at: 0us}]\n",
        "400KB", "8MB"),
    "every fault": (
        "topology: {leaf-spine: {leaves: 3, spines: 2, hosts: 4}}\n" + LINKS + "switches: {raise: bounce, buffer: 8MB}\n"
        "roles: {leaf: {watchdog: {poll: 20us, detect: 60us, restore: 50us}}}\n"
        "converge: {detect: 10us, step: 7us}\nnics: {mtu: 1024, congestion: dcqcn/connectx, timeout: 7}\n" + CLASSES +
        "jobs: [{all-to-all: at-once, size: SIZE}, {allreduce: ring, size: SIZE}]\n"
        "faults:\n  - {down: \"leaf0:4\", at: 20us, for: 30us}\n"
        "  - {flap: \"spine1:1\", at: 30us, every: 40us, down: 10us, times: 3}\n"
        "  - {lanes: \"leaf1:5\", lost: 1, at: 10us}\n  - {corrupt: h1, ber: 1e-7}\n  - {corrupt: \"leaf2:4\", share: 0.1%}\n"
        "  - {reset: spine0, at: 90us, for: 40us}\n  - {drain: spine1, at: 200us, ahead: 30us, for: 40us}\n"
        "  - {withdraw: \"leaf2:5\", at: 10us, for: 15us}\n  - {flood: h5, at: 5us, for: 40us}\n"
        "  - {receive: h6, rate: 40G, at: 5us, for: 100us}\n  - {pause: h9, at: 15us, for: 120us}\n"
        "  - {misroute: \"leaf0:5\", to: h8, at: 60us, for: 20us}\n  - {slow: h10, share: 50%, at: 10us}\n"
        "  - {drop: h11, every: 100}\n",
        "400KB", "8MB"),
    "a deadlock": (
        "topology:\n  links:\n    hosts: 6\n    switches: [A, B, C]\n    links: [[h0, A], [h1, A], [h2, B], [h3, B], [h4, C], "
        "[h5, C], [A, B], [B, C], [C, A]]\n" + LINKS + "switches: {buffer: 2MB}\nnics: {mtu: 1024, congestion: none}\n" + CLASSES +
        "jobs: [{flows: [{src: h0, dst: h4, size: SIZE}, {src: h1, dst: h5, size: SIZE}, {src: h2, dst: h0, size: SIZE}, "
        "{src: h3, dst: h1, size: SIZE}, {src: h4, dst: h2, size: SIZE}, {src: h5, dst: h3, size: SIZE}]}]\n"
        "devices: {A: {ports: {2: {rate: 100G}, 3: {rate: 100G}}}, B: {ports: {3: {rate: 100G}}}}\n"
        "faults: [{misroute: \"A:2\", to: h4}, {misroute: \"A:2\", to: h5}, {misroute: \"B:3\", to: h0}, "
        "{misroute: \"B:3\", to: h1}, {misroute: \"C:3\", to: h2}, {misroute: \"C:3\", to: h3}]\n", "4MB", "40MB"),
    "small buffers, pauses": (
        "topology: {leaf-spine: {leaves: 4, spines: 2, hosts: 4}}\n" + LINKS + "switches: {buffer: 3MB}\n"
        "nics: {mtu: 4096, congestion: none}\n" + CLASSES +
        "jobs: [{incast: 12, size: SIZE}, {permutation: 5, size: SIZE}]\n", "500KB", "10MB"),
    "spray, adaptive, virtual output queues": (
        "topology: {fat-tree: {k: 4}}\n" + LINKS + "nics: {mtu: 4096, congestion: dcqcn/connectx, reorder: true}\n"
        "roles: {leaf: {balance: spray}, spine: {balance: {use: adaptive, hysteresis: 1}}, core: {architecture: voq}}\n" +
        CLASSES + "jobs: [{permutation: random, size: SIZE}, {incast: 8, size: SIZE}]\n"
        "faults: [{corrupt: leaf0:2, share: 1%}]\n", "300KB", "5MB"),
    "selective recovery, losses": (
        "topology: {leaf-spine: {leaves: 3, spines: 2, hosts: 4}}\n" + LINKS +
        "nics: {mtu: 1024, congestion: dcqcn/connectx, recovery: selective, timeout: 7}\n" + CLASSES +
        "jobs: [{permutation: random, size: SIZE}, {incast: 6, size: SIZE}]\n"
        "faults: [{corrupt: h1, share: 1%}, {corrupt: \"leaf1:4\", share: 0.5%}, {drop: h7, every: 40}, "
        "{down: h3, at: 20us, for: 30us}]\n", "300KB", "5MB"),
}
GOLDEN = pathlib.Path(__file__).with_name("digests.txt")
RUNS = [(threads, tiles) for threads in (1, 2, 3, 8) for tiles in (True, False)]
# What a run was cut into, and how many descriptors were ever in use, may differ.
OF_THE_RUN = ("windows ", "window_ps ", "great_window_ps ", "peak ")


def build(root, compiler, level, out):
    """The rooms and drive.c; a folder and a call of the compiler for each room, all at once."""
    flags = ["-std=gnu17", level, "-D_GNU_SOURCE", "-fno-strict-aliasing", "-fms-extensions", "-Wno-microsoft-anon-tag", "-DROCELAB_ISAL=0", '-DROCELAB_VERSION="0"',
             f"-I{root}/src", f"-I{root}/include"]
    calls = []
    folders = {folder: sorted(folder.glob("*.c")) for room in ROOMS for folder in (root / "src" / room).glob("**/")}
    folders[root / "drive"] = [root / "tests/sim/drive.c"]
    for folder, sources in folders.items():
        into = out / "+".join(folder.relative_to(root).parts)
        into.mkdir(parents=True)
        if sources:
            calls.append(subprocess.Popen([compiler, *flags, "-c", *map(str, sources)], cwd=into))
    if any([call.wait() for call in calls]):
        sys.exit(f"{compiler} {level} does not build")
    drive = out / "drive" / "drive"
    subprocess.run([compiler, *map(str, sorted(out.glob("*/*.o"))), "-o", str(drive), "-lfyaml", "-lpthread"], check=True)
    return drive


def told(drive, path, threads, tiles, events=True):
    command = [str(drive), str(path), f"threads={threads}", f"no_tiles={0 if tiles else 1}", "flows=1", "ports=1", f"events={int(events)}"]
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit status {result.returncode}\n{result.stderr}")
    return [line for line in result.stdout.splitlines() if not line.startswith(OF_THE_RUN)]


def fact(lines, name):
    return next(line.split()[1] for line in lines if line.startswith(name + " "))


def compare(builds, folder, full):
    """How many runs disagreed with the first of their fabric, and the digest of each."""
    wrong, digests = 0, {}
    for number, (name, (text, small, large)) in enumerate(FABRICS.items()):
        path = folder / f"fabric{number}.yaml"
        path.write_text("rocelab: 1\nfabric: digest\n" + text.replace("SIZE", large if full else small), encoding="utf-8")
        first, runs = None, 0
        for label, drive in builds:
            for threads, tiles in RUNS:
                lines = told(drive, path, threads, tiles)
                runs += 1
                if first is None:
                    first = lines
                    unwatched = told(drive, path, threads, tiles, events=False)
                    if unwatched != [line for line in lines if not line.startswith("events ")]:
                        wrong += 1
                        print(f"{name}: {label}: another run where events are noted")
                elif lines != first:
                    wrong += 1
                    odd = next((a, b) for a, b in zip(first + ["(end)"], lines + ["(end)"]) if a != b)
                    print(f"{name}: {label}, {threads} threads, {'tiles' if tiles else 'no tiles'}: "
                          f"'{odd[1]}', the first run has '{odd[0]}'")
        hops = int(fact(first, "packet_hops"))
        if hops < 1000 or fact(first, "state") != ("deadlock" if name == "a deadlock" else "done"):
            wrong += 1
            print(f"{name}: {hops} hops, {fact(first, 'state')}: this fabric tests nothing")
        print(f"{name:28} {runs:3} runs  {hops:>10,} hops  {fact(first, 'drops'):>6} drops  {fact(first, 'pauses'):>6} pauses  "
              f"{fact(first, 'marks'):>6} marks  {fact(first, 'events'):>7} events  digest {fact(first, 'digest')}", flush=True)
        digests[name] = fact(first, "digest")
    return wrong, digests


def golden(digests):
    """How many digests are not the stored ones; with UPDATE they become the stored ones."""
    text = "".join(f"{digest}  {name}\n" for name, digest in digests.items())
    if os.environ.get("UPDATE"):
        GOLDEN.write_text(text, encoding="utf-8")
        print(f"written: {GOLDEN}")
        return 0
    stored = dict(reversed(line.split("  ", 1)) for line in GOLDEN.read_text(encoding="utf-8").splitlines())
    moved = [name for name in {**stored, **digests} if stored.get(name) != digests.get(name)]
    for name in moved:
        print(f"{name}: digest {digests.get(name)}, {GOLDEN.name} has {stored.get(name)}")
    if moved:
        print("The simulated packets are not the same as before.  If that is wanted: UPDATE=1 meson test -C build-gcc sim-digests\n"
              f"writes {GOLDEN}, and the commit says why the digests changed.")
    return len(moved)


def main(arguments):
    if len(arguments) < 3:
        print(__doc__)
        return 2
    full = "--full" in arguments
    root = pathlib.Path(arguments[1])
    builds = [(f"{arguments[2]} build", pathlib.Path(arguments[0]))]
    wanted = [(c, o) for c in ("gcc", "clang") for o in ("-O0", "-O2", "-O3")] if full else []
    with tempfile.TemporaryDirectory(prefix="rocelab-digests-") as folder:
        for compiler, level in wanted:
            if shutil.which(compiler) is None:
                print(f"{compiler} is not installed: not compared with it")
                continue
            builds.append((f"{compiler} {level}", build(root, compiler, level, pathlib.Path(folder) / (compiler + level))))
        print("builds: " + ", ".join(label for label, _ in builds))
        wrong, digests = compare(builds, pathlib.Path(folder), full)
        if not full:
            wrong += golden(digests)
        return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
