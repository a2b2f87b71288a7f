# SPDX-License-Identifier: Apache-2.0
"""Runs of uet-htsim: a folder a case, with summary.txt (options, a line a seed); matrices and topologies in inputs.

`-failed n` is a quarter of rate, queue and marks: in the fat tree of the first n links from a core switch down to the
first aggregation switch, in leaf and spine of all links of the first n spines, both ways.
"""
import math
import re

from common import CannotRun, Row, mean, simulate

SEEDS, SEEDS_LARGE = 20, 5      # of ours: a case differs between two seeds by more than the limit; from LARGE hosts on
LARGE = 1024
PACKET, HEADER = 4150, 64
MEAN, SLOWEST, TRIMMED = 0.02, 0.04, 0.03
ONE_PATH = (0.08, 0.20, 0.03)   # a drawn path a flow
OBLIVIOUS_SLOWEST = 0.06        # where links are equal: the unluckiest of many
SUMMARY = re.compile(r"^seed \d+:.*?mean ([\d.]+).*?max ([\d.]+) \| New: (\d+) .*?NACKs: (\d+)", re.M)
FLAGS = {"-sender_cc_only", "-receiver_cc_only", "-sender_cc", "-receiver_cc", "-disable_trim", "-sleek"}
VALUES = {"-tm", "-topo", "-linkspeed", "-paths", "-load_balancing_algo", "-sack_threshold", "-failed", "-end", "-nodes",
          "-seed", "-hop_latency", "-switch_latency", "-queue_size_bdp_factor", "-q"}
IGNORED = {"-end", "-nodes", "-seed"}


def is_case(case):
    path = case / "summary.txt"
    return path.is_file() and path.read_text(encoding="utf-8").startswith("command: htsim_uec")


def read_options(summary):
    words = re.search(r"^command: htsim_uec (.*)$", summary, re.M).group(1).split()
    options, at = {}, 0
    while at < len(words):
        word = words[at]
        if word in FLAGS:
            options[word] = True
        elif word in VALUES and at + 1 < len(words):
            at += 1
            options[word] = words[at]
        elif word == "-ecn" and at + 2 < len(words):
            options[word] = (int(words[at + 1]), int(words[at + 2]))
            at += 2
        else:
            raise CannotRun(f"option {word}")
        at += 1
    if options.get("-load_balancing_algo", "mixed") not in ("mixed", "oblivious", "bitmap", "reps"):
        raise CannotRun(f"-load_balancing_algo {options['-load_balancing_algo']}")
    return options


def read_topology(path):
    """A topology file of two tiers as leaf-spine."""
    top, *tiers = re.split(r"^Tier \d+\s*$", path.read_text(encoding="utf-8"), flags=re.M)
    tier = [dict(re.findall(r"^(\w+)\s+(\S+)$", each, re.M)) for each in (top, *tiers)]
    if len(tier) != 3:
        raise CannotRun(f"{path.name}: {len(tier) - 1} tiers")
    low, high = tier[1], tier[2]
    if {low["Downlink_speed_Gbps"], low["Downlink_Latency_ns"]} != {high["Downlink_speed_Gbps"],
                                                                    high["Downlink_Latency_ns"]}:
        raise CannotRun(f"{path.name}: tiers of different links")
    hosts, spines = int(low["Radix_Down"]), int(low["Radix_Up"])
    return {"text": f"leaf-spine: {{leaves: {int(high['Radix_Down'])}, spines: {spines}, hosts: {hosts}}}", "links": 4,
            "delay_ns": float(low["Downlink_Latency_ns"]), "latency_ns": float(low.get("Switch_Latency_ns", "0")),
            "leaves": int(high["Radix_Down"]), "spines": spines, "hosts": hosts, "down": hosts,
            "oversubscribed": float(low.get("Oversubscribed", "1")) > 1}


def fat_tree(options, hosts):
    k = round((4 * hosts) ** (1 / 3))
    if k ** 3 != 4 * hosts:
        raise CannotRun(f"{hosts} hosts are no fat tree")
    return {"text": f"fat-tree: {{k: {k}}}", "links": 6, "delay_ns": float(options.get("-hop_latency", "1")) * 1000,
            "latency_ns": float(options.get("-switch_latency", "0")) * 1000, "leaves": k * k // 2, "spines": 0,
            "down": k // 2, "k": k, "oversubscribed": False}


def quarter(text, part):
    """The settings of a class's queue on a link of a quarter of the rate."""
    limit, least, most = (value // 4 for value in part)
    return f"{text}: {{classes: {{rdma: {{limit: {limit - PACKET}B, ecn: {{min: {least}B, max: {most}B, probability: 100%}}}}}}}}"


def failed(topology, options, sizes):
    """Devices and faults of `-failed n`."""
    count = int(options.get("-failed", "0"))
    if not count:
        return {}, []
    if topology["spines"]:
        if count > topology["spines"]:
            raise CannotRun(f"-failed {count} of {topology['spines']} spines")
        leaves, hosts = topology["leaves"], topology["hosts"]
        devices = {f"spine{s}": [quarter(f"0-{leaves - 1}", sizes)] for s in range(count)}
        devices.update({f"leaf{n}": [quarter(str(hosts + s), sizes) for s in range(count)] for n in range(leaves)})
        return devices, [f"{{lanes: spine{s}:{n}, lost: 3, of: 4}}" for s in range(count) for n in range(leaves)]
    if count > topology["k"] // 2:
        raise CannotRun(f"-failed {count}: the first aggregation switch has {topology['k'] // 2} links up")
    return ({f"core{c}": [quarter("0", sizes)] for c in range(count)},
            [f"{{lanes: core{c}:0, lost: 3, of: 4, way: out}}" for c in range(count)])


def congestion(options):
    sender = "-receiver_cc_only" not in options
    receiver = "-receiver_cc_only" in options or "-receiver_cc" in options
    return "both" if sender and receiver else "nscc" if sender else "rccc"


def queue_sizes(options, gbps, rtt_ps):
    """Bytes of a queue, and where marks begin and are certain."""
    packets = math.ceil(gbps * rtt_ps / 8000 / PACKET)
    factor = int(options.get("-queue_size_bdp_factor", "0")) or (5 if "-disable_trim" in options else 1)
    least, most = options.get("-ecn", (math.ceil(packets * 0.2), math.ceil(packets * 0.8)))
    return int(options.get("-q", packets * factor)) * PACKET, least * PACKET, most * PACKET


def fabric(root, options, seed):
    matrix = (root / "inputs" / options["-tm"]).read_text(encoding="utf-8")
    if re.search(r"^(failure|trigger)|\btrigger\b", matrix, re.M):
        raise CannotRun("a matrix with triggers or failures")
    hosts = int(re.search(r"^Nodes (\d+)", matrix, re.M).group(1))
    topology = read_topology(root / "inputs" / options["-topo"]) if "-topo" in options else fat_tree(options, hosts)
    gbps, links = int(options.get("-linkspeed", "100000")) // 1000, topology["links"]
    rtt_ps = 2 * (links * topology["delay_ns"] + (links - 1) * topology["latency_ns"]) * 1000
    rtt_ps += links * (PACKET + HEADER) * 8 / gbps * 1000
    sizes = queue_sizes(options, gbps, rtt_ps)
    devices, faults = failed(topology, options, sizes)
    cc = congestion(options)
    if cc == "both":  # the receiver's credit looks after the last hop
        for n in range(topology["leaves"]):
            devices.setdefault(f"leaf{n}", []).append(f"0-{topology['down'] - 1}: {{classes: {{rdma: {{ecn: false}}}}}}")
    trim = "" if "-disable_trim" in options else "trim: {bytes: 64, dscp: 40, last-hop-dscp: 41}, "
    flows = re.findall(r"^(\d+)->(\d+) id \d+ start ([\d.]+) size (\d+)", matrix, re.M)
    return (f"rocelab: 1\nsystem: uet\nmodel: uet-htsim\nseed: {seed}\ntopology: {{{topology['text']}}}\n"
            f"links: {{host: {{rate: {gbps}G, delay: {topology['delay_ns']:g}ns}}}}\n"
            f"switches: {{latency: {topology['latency_ns']:g}ns, mark: dequeue, buffer: 1GB}}\n"
            f"nics: {{mtu: {PACKET - HEADER}, latency: 0ns}}\n"
            f"classes:\n  - {{name: rdma, dscp: 26, priority: 3, limit: {sizes[0] - PACKET}B, {trim}"
            f"ecn: {{min: {sizes[1]}B, max: {sizes[2]}B, probability: 100%}}}}\n"
            f"  - {{name: control, dscp: [48, 40, 41], priority: 6, strict: true}}\n"
            f"uet: {{cc: {cc}, base-rtt: {round(rtt_ps)}ps, paths: {options.get('-paths', '64')}, "
            f"policy: {options.get('-load_balancing_algo', 'mixed')}, ack: {options.get('-sack_threshold', '16384')}B, "
            f"infer-loss: {str('-sleek' in options).lower()}, "
            f"oversubscribed: {str(topology['oversubscribed'] and cc == 'rccc').lower()}}}\n"
            + (f"devices: {{{', '.join(f'{n}: {{ports: {{{chr(44).join(p)}}}}}' for n, p in devices.items())}}}\n"
               if devices else "") + (f"faults: [{', '.join(faults)}]\n" if faults else "") + "jobs:\n  - flows: |\n"
            + "".join(f"      h{a} h{b} {size}B {start}us\n" for a, b, start, size in flows))


def run(text):
    """Mean and slowest completion time in us, and trimmed packets as a share of those sent once."""
    result = simulate(text)
    times = [flow["fct_ps"] / 1e6 for flow in result["flows"]]
    if result["state"] != "done" or not all(times):
        raise RuntimeError(f"{sum(not time for time in times)} flows are not done")
    total = {key: sum(nic[key] for nic in result["nics"]) for key in ("trimmed", "tx_data_packets", "retransmitted")}
    return mean(times), max(times), total["trimmed"] / (total["tx_data_packets"] - total["retransmitted"])


def limits(options):
    if options.get("-paths") == "1":
        return ONE_PATH
    blind = options.get("-load_balancing_algo") == "oblivious" and "-failed" not in options
    return MEAN, OBLIVIOUS_SLOWEST if blind else SLOWEST, TRIMMED


def rows(root, case, seeds):
    summary = (case / "summary.txt").read_text(encoding="utf-8")
    options = read_options(summary)
    theirs = [[float(word) for word in seed] for seed in SUMMARY.findall(summary)]
    theirs = [(slow, slowest, nacks / new) for slow, slowest, new, nacks in theirs]
    large = len(re.findall(r"->", (root / "inputs" / options["-tm"]).read_text(encoding="utf-8"))) >= LARGE
    ours = [run(fabric(root, options, seed)) for seed in range(1, (seeds or (SEEDS_LARGE if large else SEEDS)) + 1)]
    for i, what in enumerate(("mean, us", "slowest, us", "trimmed")):
        our, their = (mean(row[i] for row in each) for each in (ours, theirs))
        yield Row(what, our, their, limits(options)[i], absolute=what == "trimmed")
