#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the stored seed corpora fuzz/corpus/{frame,rewrite,cm,cmflow,capfile,capture,nic,naks,live,switch,attach,trace,fabric,evidence,paste} from tests/data and gen_capture's `mixed`.

usage: fuzz/make_corpus.py GEN_CAPTURE

frame: a byte that the target makes lengths of, then the frame: the shortest one of every encapsulation and of every
       opcode, and one of every other link type.  cm: the 256-byte MADs, one of every attribute and source.
rewrite: TOS, TTL and priority that a switch sets, then a frame as above, one with telemetry, ARP and TCP.
capfile: small captures in every format that editcap and mergecap write.
capture: a byte that the target makes options of, then the shortest frames of a recorded capture in their order.
nic, naks, live, switch: scripts of tests/nic/hostile.c, of fuzz_live.c and of fuzz_switch.c; any bytes are one, so they
       are a hash's, but for switch also of mostly zeros, with a buffer large enough.
fabric: the examples, and pieces of what they do not say.
trace: a byte that says the format, then a trace of tests/data/traces, or a graph of three nodes.
evidence: two bytes that choose the reader and how often the text is read, then a sample of tests/data/evidence.
paste: two bytes that say what is known of the text and in which pieces it comes, then sessions and archives made here.
Files are named by their content's hash, so that a second run changes nothing.
"""
import gzip
import hashlib
import io
import os
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
PCAPS = os.path.join(HERE, "..", "tests", "data", "pcaps")
FRAME_MAX = 1500
FILE_MAX = 8000


def frames(path):
    with open(path, "rb") as file:
        data = file.read()
    order = "<" if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    at = 24
    while at + 16 <= len(data):
        captured = struct.unpack(order + "I", data[at + 8 : at + 12])[0]
        yield data[at + 16 : at + 16 + captured]
        at += 16 + captured


def shape(frame):
    """What makes a frame worth keeping beside another: its encapsulation and its opcode; and where the BTH is."""
    at, layers = 0, []
    while True:
        at += 12
        kind = int.from_bytes(frame[at : at + 2], "big")
        at += 2
        while kind in (0x8100, 0x88A8):
            layers.append("vlan")
            kind = int.from_bytes(frame[at + 2 : at + 4], "big")
            at += 4
        layers.append(hex(kind))
        if kind == 0x8915:
            at += 40
            break
        if kind not in (0x0800, 0x86DD):
            return tuple(layers), None
        if frame[at + (9 if kind == 0x0800 else 6)] != 17:
            return tuple(layers), None
        at += 20 if kind == 0x0800 else 40
        port = int.from_bytes(frame[at + 2 : at + 4], "big")
        at += 8
        if port == 4789:
            layers.append("vxlan")
            at += 8
            continue
        if port != 4791:
            return tuple(layers), None
        break
    if at >= len(frame):
        return tuple(layers) + ("cut",), None
    return tuple(layers) + (frame[at],), at


def pick(sources):
    """The shortest frame of every shape; every CM message kind with the capture it came from."""
    seeds, mads = {}, {}
    for source in sources:
        for frame in frames(source):
            key, bth = shape(frame)
            if len(frame) <= FRAME_MAX and (key not in seeds or len(frame) < len(seeds[key])):
                seeds[key] = frame
            if bth and frame[bth] == 0x64 and int.from_bytes(frame[bth + 5 : bth + 8], "big") == 1:
                mad = frame[bth + 20 : bth + 276]
                if len(mad) == 256:
                    mads.setdefault((os.path.basename(source), mad[16:18]), mad)
    return list(seeds.values()), list(mads.values())


def frame_seeds(picked):
    seeds = [b"\0" + frame for frame in picked]
    ip = min((f for f in picked if f[12:14] == b"\x08\x00"), key=len)
    ip6 = min((f for f in picked if f[12:14] == b"\x86\xdd"), key=len)
    seeds.append(b"\0" + bytes([0, 0, 0, 1, 0, 6]) + ip[6:12] + b"\0\0" + ip[12:])
    seeds.append(b"\0" + ip6[12:14] + bytes([0, 0, 0, 0, 0, 2, 0, 1, 0, 6]) + ip6[6:12] + b"\0\0" + ip6[14:])
    seeds += [b"\0" + ip[14:], b"\0" + ip6[14:], b"\0" + with_telemetry(shortest_ipv4(picked))]
    return seeds


def checksummed(header):
    """An IPv4 header with its checksum."""
    words = struct.unpack(">10H", header[:10] + b"\0\0" + header[12:20])
    total = sum(words)
    total = (total >> 16) + (total & 0xFFFF)
    return header[:10] + struct.pack(">H", ~((total >> 16) + total) & 0xFFFF) + header[12:20]


def shortest_ipv4(picked):
    return min((f for f in picked if f[12:14] == b"\x08\x00" and f[36:38] == b"\x12\xb7"), key=len)


def with_telemetry(ip):
    longer = lambda at: struct.pack(">H", int.from_bytes(ip[at : at + 2], "big") + 42)
    header = checksummed(ip[14:16] + longer(16) + ip[18:34])
    hops = b"\x20\0" + struct.pack(">QQ", 0xA123456ABCDEFEDC, 0xC000001000010001) + bytes(24)
    return ip[:14] + header + ip[34:36] + struct.pack(">H", 53943) + longer(38) + ip[40:42] + hops + ip[42:]


def rewrite_seeds(picked):
    choice = b"\x6b\x3f\x05"
    seeds = [choice + frame for frame in picked]
    ip = shortest_ipv4(picked)
    seeds.append(choice + with_telemetry(ip))
    tcp = checksummed(b"\x45\x02" + struct.pack(">H", 40) + ip[18:23] + b"\x06" + ip[24:34])
    seeds.append(choice + ip[:12] + b"\x81\0\x60\x07\x08\0" + tcp + bytes(20))
    seeds.append(choice + b"\xff" * 6 + ip[6:12] + b"\x08\x06\0\1\x08\0\6\4\0\1" + bytes(38))
    return seeds


def write_pcap(path, picked):
    with open(path, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1))
        for i, frame in enumerate(picked):
            out.write(struct.pack("<IIII", 1700000000, i, len(frame), len(frame)) + frame)


def capture_seeds(picked, tmp):
    few = sorted(picked, key=len)[:8]
    base = os.path.join(tmp, "base.pcap")
    write_pcap(base, few)
    for name, arguments in (
        ("us.pcap", ["editcap", "-F", "pcap"]), ("mod.pcap", ["editcap", "-F", "modpcap"]),
        ("ng.pcapng", ["editcap", "-F", "pcapng"]), ("cut.pcapng", ["editcap", "-F", "pcapng", "-s", "40"]),
        ("wifi.pcapng", ["editcap", "-F", "pcapng", "-T", "ieee-802-11"])):
        subprocess.run(arguments + [base, os.path.join(tmp, name)], check=True)
    join = lambda name: os.path.join(tmp, name)
    subprocess.run(["mergecap", "-F", "pcapng", "-w", join("two.pcapng"), base, join("wifi.pcapng")], check=True)
    seeds = []
    for name in sorted(os.listdir(tmp)):
        if name.endswith((".pcap", ".pcapng")) and os.path.getsize(join(name)) <= FILE_MAX:
            with open(join(name), "rb") as file:
                seeds.append(file.read())
    order = lambda e, data: struct.pack(e + "I", data)
    for e in "<>":  # old and simple packet blocks, odd clocks, two sections: nobody at hand writes these
        block = lambda kind, body: order(e, kind) + order(e, len(body) + 12) + body + order(e, len(body) + 12)
        section = block(0x0A0D0D0A, struct.pack(e + "IHHq", 0x1A2B3C4D, 1, 0, -1))
        options = struct.pack(e + "HHBxxxHHqHHQHH", 9, 1, 0xA0, 14, 8, -5, 8, 8, 10**11, 0, 0)
        interface = block(1, struct.pack(e + "HHI", 1, 0, 64) + options)
        old = block(2, struct.pack(e + "HHIIII", 0, 0, 1, 2, 8, 60) + b"abcdefgh")
        simple = block(3, struct.pack(e + "I", 8) + b"abcdefgh")
        seeds.append(section + interface + old + simple + section + interface + block(0xBAD, b"\0" * 8) + simple)
    return seeds


def analysis_seeds(sources):
    """The first frames of recordings that differ in what they show; without payload, so that more of them fit."""
    names = ("rping", "loss_send", "rc_rnr", "rc_read", "rc_atomic", "rc_retry_exceeded", "rc_send_psnwrap", "uc_write",
             "ud_send", "ucmatose", "rc_bad_rkey_read", "ib_read_bw")
    seeds = []
    for name in names:
        source = next(path for path in sources if os.path.basename(path) == name + ".pcap")
        body = b""
        for i, frame in enumerate(frames(source)):
            kept = frame if len(frame) <= 400 else frame[:90]
            record = struct.pack("<IIII", 1700000000, i * 3000, len(kept), len(frame)) + kept
            if len(body) + len(record) > FILE_MAX:
                break
            body += record
        for option in (0x00, 0x83):
            seeds.append(bytes([option]) + struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1) + body)
    return seeds


def script_seeds():
    return [b"".join(hashlib.sha256(f"{seed} {part}".encode()).digest() for part in range(32)) for seed in range(32)]


def store(name, seeds):
    folder = os.path.join(HERE, "corpus", name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for seed in seeds:
        with open(os.path.join(folder, hashlib.sha256(seed).hexdigest()[:16]), "wb") as out:
            out.write(seed)
    files = os.listdir(folder)
    total = sum(os.path.getsize(os.path.join(folder, file)) for file in files)
    print(f"{name}: {len(files)} files, {total} bytes")
    assert len(files) <= 100 and total <= 300_000


def message(number, value):
    """A field of a protobuf message; lengths and numbers are below 128."""
    if isinstance(value, int):
        return bytes([number << 3, value])
    return bytes([number << 3 | 2, len(value)]) + value


def trace_seeds():
    traces = os.path.join(HERE, "..", "tests", "data", "traces")
    for name in sorted(os.listdir(traces)):
        with open(os.path.join(traces, name), "rb") as file:
            yield (b"\x00" if "simai" in name else b"\x01") + file.read()
    size = message(10, message(1, b"comm_type") + message(9, 0)) + message(10, message(1, b"comm_size") + message(9, 100))
    group = message(10, message(1, b"comm_group") + b"\xea\x01\x02tp")
    nodes = [message(1, b"1.0.1"), message(1, 1) + message(3, 4) + message(7, 100),
             message(1, 2) + message(3, 7) + message(5, b"\x01") + size + group, message(1, 3) + message(3, 4) + message(5, b"\x02")]
    yield b"\x02" + b"".join(bytes([len(node)]) + node for node in nodes)
    yield (b'\x02{"workload_graph": [{"Id": 1, "NodeType": 4, "data_deps": [], "runtime": 7}, '
           b'{"Id": 2, "NodeType": 7, "data_deps": [1], "comm_type": 0, "comm_size": 4096}]}')


def evidence_seeds():
    samples = os.path.join(HERE, "..", "tests", "data", "evidence")
    seeds = []
    for folder, _, names in sorted(os.walk(samples)):
        for number, name in enumerate(sorted(names)):
            with open(os.path.join(folder, name), "rb") as file:
                text = file.read()
            if len(text) <= EVIDENCE_MAX:
                seeds.append(bytes([0, number % 4]) + text)
    count = min(len(seeds), EVIDENCE_FILES)
    yield from (seeds[i * len(seeds) // count] for i in range(count))
    for number, text in enumerate(EVIDENCE_PIECES):
        yield bytes([128 + number if number < 3 else 0, 3]) + text.encode()


EVIDENCE_MAX, EVIDENCE_FILES = 4000, 90
EVIDENCE_PIECES = (
    '{"version": 1, "kind": "sim", "virtual_ps": 1000000, "jobs": [{"name": "j", "ranks": 1, "time_ps": 5, "ideal_ps": 1, "from": ["h0:0"], "to": []}], '
    '"training": [{"job": "j", "step_ps": 9, "each_step_ps": [9], "rank_waits_ps": [[1, 2]], "rank_compute_ps": [3, 4], "rank_gpus": ["h0:0"], "ranks_listed": [7, 8]}], '
    '"deadlocks": [{"ended_ps": null, "cycle": [{"port": "a:0", "priority": 3}]}], "watchdog": [{"port": "a:0", "queue": 3, "acted": 1}], '
    '"pauses": [{"port": "a:0", "paused": "h0:0", "priority": 3, "cause": "a:1", "count": 1, "time_ps": 9, "passed_on_ps": 1}], '
    '"nodes": [{"node": "h0", "role": "host"}, {"node": "a", "role": "leaf", "buffer_bytes": 5}], "links": [{"a": "h0:0", "b": "a:0"}], '
    '"classes": [{"priority": 3, "lossless": true}], "thresholds": [[{"priority": 3, "pause_alpha": 0.5}]], '
    '"ports": [{"port": "a:0", "thresholds": 0, "drops_by": {"headroom": 3}, "pfc_obeys": [3], "priorities": [{"priority": 3, "drops": 3, "paused_ps": 1000}]}], '
    '"nics": [{"nic": "h0:0", "retransmitted": 1, "priorities": [{"priority": 3}]}], "flows": [{"job": "j", "src": "h0:0", "dst": "h0:1"}]}',
    '# TYPE rocelab_link_up gauge\nrocelab_link_up{port="a:0"} 1\nrocelab_link_info{port="a:0",peer="h0:0",from="leaf",to="host"} 1\n'
    'rocelab_switch_drops_total{switch="a",port="a:0",priority="3"} 4 1.5\nrocelab_sim_virtual_seconds 0.5\n',
    "h0:1:2 [0] NCCL WARN NET/IB: Got completion from peer x with status=IBV_WC_RETRY_EXC_ERR(12) hca mlx5_0\n",
    '{"kind":"nccl","host":"h0"}\n{"kind":"communicator","comm":"01","rank":0,"ranks":2}\n',
    '{"a":' * 70,
)


PASTE_TABLE = ("  Port Rx    PFC0    PFC1    PFC2    PFC3    PFC4    PFC5    PFC6    PFC7\n---------  ------  ------  ------  ------  ------  ------  ------  ------\n"
               "Ethernet0       0       0       0       7       0       0       0       0\n")
PASTE_NIC = "NIC statistics:\n     rx_prio3_pause: 5\n     rx_packets_phy: 9\n"
PASTE_JSON = '{"interfaces": {"Ethernet1": {"interfaceStatus": "connected", "mtu": 9214},\n "Ethernet2": {"mtu": 9000}}}\n'
PASTES = (
    f"leaf1# show pfc counters\n{PASTE_TABLE}leaf1# show pfc counters\n{PASTE_TABLE}", f"admin@leaf1:~$ show pfc counters\n{PASTE_TABLE}[root@h0 ~]# ethtool -S eth0\n{PASTE_NIC}",
    f"Thu Nov 19 10:00:00 UTC 2026\n===== leaf1 =====\n{PASTE_TABLE}=== 2026-11-19 10:01:00 ===\n{PASTE_TABLE}leaf2 | CHANGED | rc=0 >>\n{PASTE_TABLE}",
    "".join(f"leaf1: {line}\nleaf2: {line}\n" for line in PASTE_TABLE.strip("\n").split("\n")), f"leaf1# show interfaces | json\n{PASTE_JSON}leaf1# show clock\n",
    f"leaf1# show interfaces | json\n{PASTE_JSON[:60]}\nleaf1# show pfc counters\n{PASTE_TABLE}", "".join(f"{i + 1:5}\t{line}\n" for i, line in enumerate(PASTE_NIC.split("\n"))),
    "".join(f"&gt; {line}\n" for line in PASTE_TABLE.split("\n")), f"It says:\n```\n{PASTE_NIC}```\n", "[   12.5] mlx5_core 0000:3b:00.0 eth0: Link down\n[rank3]: up\n", f"{{master:0}}\nuser@h0> show\n--More--\b\b \n{PASTE_NIC}",
    "$ ethtool -S eth0 | grep prio\n rx_prio3_pause: 5\n$ date +%s\n1795082400\n==> h1_ethtool_-S_eth1 <==\n--- eth0 ---\n=== after ===\n")


def paste_archives():
    looks = [(f"{time}/{leaf}/pfc.txt", PASTE_TABLE.replace("7 ", f"{7 + time} ", 1).encode()) for time in (60, 0) for leaf in ("leaf1", "leaf2")]
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, data in [*looks, ("a" * 120 + "/../x", b"")]:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    yield out.getvalue()
    yield gzip.compress(out.getvalue(), mtime=0)
    for how in (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", how) as archive:
            for name, data in looks:
                archive.writestr(zipfile.ZipInfo(name), data, how)
            archive.writestr(zipfile.ZipInfo("a.gz"), gzip.compress(PASTE_NIC.encode(), mtime=0), how)
        yield out.getvalue()


def paste_seeds():
    for number, text in enumerate(PASTES):
        yield bytes([number * 7 % 32, 255 - number % 3 * 100]) + text.encode()
    yield b"\x02\xff" + PASTES[0].encode("utf-16")
    for number, archive in enumerate(paste_archives()):
        yield bytes([number % 3, 255]) + archive


def switch_seeds():
    """A configuration takes about 500 bytes: random ones are mostly refused, so most of it is sparse."""
    for i, seed in enumerate(script_seeds()):
        sparse = bytes(byte if byte % (2 + i % 8) == 0 else 0 for byte in (seed * 3)[:600])
        yield sparse + seed


def attach_seeds():
    """Most bytes are small, so that they name what is there."""
    for i, seed in enumerate(script_seeds()):
        yield bytes(byte if byte % (2 + i % 4) == 0 else byte % 24 for byte in seed[:300 + 20 * i])


def fabric_seeds():
    examples = os.path.join(HERE, "..", "examples")
    for folder in (examples, os.path.join(examples, "questions")):
        for name in sorted(os.listdir(folder)):
            if not name.endswith(".yaml"):
                continue
            with open(os.path.join(folder, name), "rb") as file:
                lines = [line for line in file if not line.startswith(b"#")]
            yield b"".join(lines)
    head = (b"rocelab: 1\ntopology: {leaf-spine: {leaves: 2, spines: 2, hosts: 2}}\n"
            b"links: {host: {rate: 100G, cable: 3m}, fabric: {rate: 400G, cable: 30m}}\n")
    for more in FABRIC_PIECES:
        yield head + more.encode() + b"\n"


FABRIC_PIECES = (
    "classes: [{name: a, dscp: [26, 27], priority: 3, lossless: true, ecn: {min: 1KB, max: 2KB, probability: 1%}}]",
    "switches: {buffer: 8MB, cell: 254, cut-through: true, watchdog: {poll: 1ms, detect: 2ms, restore: 2ms, action: drop}}",
    "roles: {leaf: {balance: {use: adaptive, hysteresis: 1}}, spine: {architecture: voq}}",
    "devices: {leaf0: {trust: pcp, pfc: {rx: [3], tx: false}, ports: {0-1: {mtu: 9000, up: false}}}}",
    "faults: [{down: 'leaf0:2', at: 1us, for: 2us}, {flap: h0, every: 4us, down: 1us, times: 3}, {corrupt: h1, ber: 1e-7}]",
    "jobs: [{poisson: {sizes: [[1KB, 50%], [1MB, 100%]], load: 50%, until: 1ms}, qps: 2}, {flows: 'h0 h1 1MB 3us'}]",
    "nics: {mtu: 4096, congestion: {use: dcqcn/connectx, rpg_ai_rate: 5M}, recovery: selective, ack: {every: 4}, timeout: 14}",
    "converge: {detect: 10us, step: 7us}\nseed: 42\nstop: 1ms\nmodel: hpcc-ns3",
)


def main():
    with tempfile.TemporaryDirectory() as tmp:
        mixed = os.path.join(tmp, "mixed.gen")
        subprocess.run([sys.argv[1], "mixed", mixed], check=True)
        sources = [os.path.join(PCAPS, name) for name in sorted(os.listdir(PCAPS)) if name.endswith(".pcap")]
        real, mads = pick(sources)
        made, made_mads = pick([mixed])
        picked, opcodes, wraps = [], set(), set()
        for frame in real + made:  # every opcode and every encapsulation, not every pair of them
            layers, bth = shape(frame)
            opcode, wrap = (layers[-1], layers[:-1]) if bth else (None, layers)
            if opcode not in opcodes or wrap not in wraps:
                picked.append(frame)
                opcodes.add(opcode)
                wraps.add(wrap)
        store("frame", frame_seeds(picked))
        store("rewrite", rewrite_seeds(picked))
        store("cm", (mads + made_mads)[:100])
        store("capfile", capture_seeds(picked, tmp))
        store("capture", analysis_seeds(sources))
        store("cmflow", script_seeds())
        store("nic", script_seeds())
        store("naks", [seed[:len(seed) - i % 16] for i, seed in enumerate(script_seeds())])
        store("live", script_seeds())
        store("switch", switch_seeds())
        store("attach", attach_seeds())
        store("trace", trace_seeds())
        store("fabric", fabric_seeds())
        store("evidence", evidence_seeds())
        store("paste", paste_seeds())


main()
