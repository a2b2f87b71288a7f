#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The capture reader against tshark: number, time, lengths and interface of every record, for files that
editcap, mergecap and tshark wrote and for blocks that take a number in Wireshark without being packets.

usage: test_tshark.py LIST_RECORDS PCAP_DIR
"""
import os
import struct
import subprocess
import sys
import tempfile


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True).stdout


def ours(program, path):
    return [line.split() for line in run(program, path).splitlines()]


def theirs(path):
    fields = ["frame.number", "frame.time_epoch", "frame.len", "frame.cap_len", "frame.interface_id"]
    command = ["tshark", "-n", "-r", path, "-T", "fields"]
    for field in fields:
        command += ["-e", field]
    return [line.split("\t") for line in run(*command).splitlines()]


def compare(program, path, want_interfaces):
    got, want = ours(program, path), theirs(path)
    # tshark's lines for what is no packet (custom blocks and the like) have no interface; pcap has none at all
    if any(row[4] for row in want):
        want = [row for row in want if row[4]]
    want = [row[:4] + [row[4] or "0"] for row in want]
    assert got, f"{path}: no records"
    assert len(got) == len(want), f"{path}: {len(got)} records, tshark has {len(want)}"
    for a, b in zip(got, want):
        assert a == b, f"{path}: we say {a}, tshark {b}"
    interfaces = {row[4] for row in got}
    assert len(interfaces) == want_interfaces, f"{path}: interfaces {interfaces}"
    print(f"ok {os.path.basename(path)}: {len(got)} records, {len(interfaces)} interfaces")


def block(kind, body):
    body += b"\0" * (-len(body) % 4)
    return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)


def packet(ticks, data, interface=0):
    return block(6, struct.pack("<IIIII", interface, ticks >> 32, ticks & 0xFFFFFFFF, len(data), len(data)) + data)


def interface(link_type, resolution):
    return block(1, struct.pack("<HHI", link_type, 0, 0) + struct.pack("<HHBxxx", 9, 1, resolution) + b"\0\0\0\0")


SECTION = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))


def numbered_blocks(path):
    data = bytes(range(60))
    journal = b"__REALTIME_TIMESTAMP=1700000000000000\nMESSAGE=hello\n"
    event = struct.pack("<HQQIH", 0, 5 * 10**9, 1, 66, 1) + bytes(40)
    with open(path, "wb") as out:
        out.write(SECTION + interface(1, 9) + packet(10**18, data))
        for kind, body in (
            (0x00000BAD, struct.pack("<I", 32473) + b"abcd"), (0x40000BAD, struct.pack("<I", 32473) + b"abcd"),
            (9, journal), (0x204, event), (0x208, event), (0x216, event), (0x221, event),
            (4, struct.pack("<HH", 0, 0)), (5, struct.pack("<III", 0, 0, 0)),
            (10, struct.pack("<II", 0x544C534B, 4) + b"abcd"), (0x12345, b"xxxx")):
            out.write(block(kind, body) + packet(10**18 + kind, data))


def clocks(path):
    """Every resolution that Wireshark reads: 10^-0..10^-9 and 2^-0..2^-30, one interface each."""
    data = bytes(range(60))
    seconds = 1_700_000_000
    with open(path, "wb") as out:
        out.write(SECTION)
        exponents = [(10, n) for n in range(10)] + [(2, n) for n in range(31)]
        for base, n in exponents:
            out.write(interface(1, n if base == 10 else 0x80 | n))
        for i, (base, n) in enumerate(exponents):
            out.write(packet(seconds * base**n + base**n // 3, data, i))
    return len(exponents)


def main():
    program, pcaps = sys.argv[1:]
    with tempfile.TemporaryDirectory() as tmp:
        path = lambda name: os.path.join(tmp, name)
        ud, loss = os.path.join(pcaps, "ud_pingpong.pcap"), os.path.join(pcaps, "loss_write.pcap")
        run("tshark", "-r", loss, "-F", "pcapng", "-w", path("tshark.pcapng"))
        run("editcap", "-F", "nsecpcap", loss, path("nanoseconds.pcap"))
        run("editcap", "-F", "pcap", "-t", "0.000000123", loss, path("microseconds.pcap"))
        run("editcap", "-F", "modpcap", loss, path("modified.pcap"))
        run("editcap", "-F", "pcapng", "-s", "80", "-t", "0.123456789", loss, path("cut.pcapng"))
        run("editcap", "-F", "pcapng", "-T", "ieee-802-11", ud, path("other.pcapng"))
        run("mergecap", "-F", "pcapng", "-w", path("merged.pcapng"), loss, path("other.pcapng"), path("cut.pcapng"))
        numbered_blocks(path("numbered.pcapng"))
        clock_interfaces = clocks(path("clocks.pcapng"))
        with open(path("joined.pcapng"), "wb") as out:  # two sections: interface numbers begin again
            for name in ("cut.pcapng", "numbered.pcapng"):
                with open(path(name), "rb") as part:
                    out.write(part.read())
        compare(program, path("tshark.pcapng"), 1)
        compare(program, path("nanoseconds.pcap"), 1)
        compare(program, path("microseconds.pcap"), 1)
        compare(program, path("modified.pcap"), 1)
        compare(program, path("cut.pcapng"), 1)
        compare(program, path("merged.pcapng"), 3)
        compare(program, path("numbered.pcapng"), 1)
        compare(program, path("clocks.pcapng"), clock_interfaces)
        records = ours(program, path("joined.pcapng"))
        first = len(ours(program, path("cut.pcapng")))
        assert records[first][0] == str(first + 1) and {row[4] for row in records} == {"0"}, records[first]


main()
