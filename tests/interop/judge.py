# SPDX-License-Identifier: Apache-2.0
"""What a capture says of a run: was anything of ours sent twice before its time, and whom did the kernel wait for?

A packet that is sent again on a clean cable is a fault of ours, unless its acknowledgement was late: a guest under emulation on a busy
machine may take longer than the timeout that a program asked for, and then sending again is right.  Which it was is read from the
stamps: the timer runs from the oldest packet that is not acknowledged, and anew from each answer that acknowledges something.
What the kernel asks for by NAK was lost, and a clean cable loses nothing.

Where it is judged what was sent twice the records are of one connection, whose PSNs do not wrap twice.
"""
import ipaddress
import json
import shutil
import struct
import subprocess
from typing import NamedTuple

import guest as guests

# Stamps are taken after a call that sends, so two may lie closer together than the timer was set.
NEARLY = 0.9
ACK, ATOMIC_ACK, READ_RESPONSES = 0x11, 0x12, range(0x0d, 0x11)
RC_OPCODES = 0x20  # and what is below
PSNS = 1 << 24
IN_VAIN = 3  # times, at least: one answer may be lost
NEAR = 4096  # PSNs of one connection
RETRIES = 7  # as all these programs ask


class Packet(NamedTuple):
    at: float  # seconds
    ours: bool
    opcode: int
    dest_qp: int
    psn: int
    syndrome: int  # of an ACK

    @property
    def response(self):
        return self.opcode in (ACK, ATOMIC_ACK) or self.opcode in READ_RESPONSES

    @property
    def refuses(self):
        """NAK, or receiver not ready."""
        return self.opcode == ACK and self.syndrome >> 5 in (1, 3)


def packets(path):
    """The RC packets of a capture file (pcap, microseconds or nanoseconds, Ethernet), in its order."""
    data = path.read_bytes()
    unit = {0xa1b2c3d4: 1e-6, 0xa1b23c4d: 1e-9}[struct.unpack_from("<I", data)[0]]
    ours = (ipaddress.ip_address(guests.HOST_IP).packed, ipaddress.ip_address(guests.HOST_IP6).packed)
    at = 24
    while at + 16 <= len(data):
        seconds, fraction, length = struct.unpack_from("<III", data, at)
        frame = data[at + 16:at + 16 + length]
        at += 16 + length
        v4 = frame[12:14] == b"\x08\x00"
        bth = frame[42 if v4 else 62:]
        if (not v4 and frame[12:14] != b"\x86\xdd") or frame[36 if v4 else 56:][:2] != b"\x12\xb7" or len(bth) < 16:
            continue
        if bth[0] < RC_OPCODES:
            source = frame[26:30] if v4 else frame[22:38]
            yield Packet(seconds + fraction * unit, source in ours, bth[0], int.from_bytes(bth[5:8], "big"),
                         int.from_bytes(bth[9:12], "big"), bth[12])


def behind(psn, other):
    """How many PSNs after the other it comes; negative: before."""
    return (psn - other + PSNS // 2) % PSNS - PSNS // 2


def twice(path, timeout):
    """Packets of ours that were sent again: (asked for by NAK, before the timeout, after it)."""
    newest = acknowledged = None  # the last PSN sent, and the last that was acknowledged
    quiet_since = 0.0  # when the timer was last set
    asked = False
    count = {"nak": 0, "early": 0, "late": 0}
    row = None  # why the row of packets that is being sent again is; None: there is none
    for packet in packets(path):
        if not packet.ours and packet.response:
            asked = packet.refuses
            psn = packet.psn - asked  # a NAK acknowledges what is before the packet that it asks for
            if acknowledged is None or behind(psn, acknowledged) > 0:
                acknowledged, quiet_since = psn, packet.at
        elif packet.ours and not packet.response:
            if newest is None or behind(packet.psn, newest) > 0:
                if newest is None or (acknowledged is not None and behind(acknowledged, newest) >= 0):  # nothing was under way
                    quiet_since = packet.at
                newest, row = packet.psn, None
                continue
            if row is None or behind(packet.psn, row[1]) <= 0:  # a row begins, or begins anew
                row = ["nak" if asked else "late" if packet.at - quiet_since >= NEARLY * timeout else "early", packet.psn]
                quiet_since = packet.at
            row[1] = packet.psn
            count[row[0]] += 1
    return count["nak"], count["early"], count["late"]


def clean(rocelab, pcap, timeout):
    """A capture of a clean cable: what is wrong on our side, in words, or nothing; and what is to be told."""
    if not pcap.exists():
        return "nothing was captured", ""
    text = subprocess.run([rocelab, "capture", "--json", "--connections", "0", str(pcap)], capture_output=True, text=True, check=False).stdout
    seen = json.loads(text)["files"][0]
    wrong = [f"{seen[what]} {what}" for what in ("icrc_errors", "malformed", "unknown_opcodes") if seen[what]]
    if seen["icrc_checked"] != seen["roce_packets"]:
        wrong.append(f"{seen['icrc_checked']} ICRCs checked of {seen['roce_packets']} packets")
    asked, early, late = twice(pcap, timeout)
    if asked:
        wrong.append(f"{asked} packets of ours sent again as the kernel's NAKs asked")
    if early:
        wrong.append(f"{early} packets of ours sent twice before the timeout of {timeout * 1000:.0f} ms")
    wrong += malformed(pcap)
    theirs = sum(c[way]["retransmitted"] for c in seen["connections"] for end, way in (("src", "forward"), ("dst", "reverse"))
                 if c[way] and c[end] not in (guests.HOST_IP, guests.HOST_IP6))
    told = f", {late} packets of ours again after {timeout * 1000:.0f} ms without an answer" if late else ""
    return "\n".join(wrong), told + (f", the kernel sent {theirs} packets twice" if theirs else "")


def malformed(pcap):
    """What tshark finds, but not in what it takes a payload for: perftest sends random bytes, and it guesses."""
    if not shutil.which("tshark"):
        return []
    lines = subprocess.run(["tshark", "-r", str(pcap), "-Y", "_ws.malformed", "-T", "fields", "-e", "frame.number", "-e", "frame.protocols"],
                           capture_output=True, text=True, check=False).stdout.splitlines()
    return [f"tshark: malformed: {line}" for line in lines if line.removesuffix(":data").endswith(("ethertype", "ip", "ipv6", "udp", "infiniband"))][:5]


class Orphan(NamedTuple):
    """A packet that was sent again and again, and never acknowledged on the cable."""
    ours: bool
    dest_qp: int
    psn: int
    first: float  # seconds
    repeats: int

    def __str__(self):
        return f"PSN {self.psn} of {'ours' if self.ours else 'the kernel'} for QP {self.dest_qp:#x}, sent again {self.repeats} times"


def orphans(pcap, ended, ours=False):
    """What the kernel (or, `ours`, our side) repeated since `ended` though it was never acknowledged on the cable.

    A packet does not name the queue pair that it comes from, so an acknowledgement is told by its PSN: those of two connections
    begin far apart.
    """
    if not pcap.exists():
        return []
    last, repeats, first, answers = {}, {}, {}, set()
    for packet in packets(pcap):
        qp = packet.dest_qp
        if packet.ours != ours and packet.response:
            answers.add(packet.psn - packet.refuses)
        elif packet.ours == ours and not packet.response:
            if qp not in last or behind(packet.psn, last[qp]) > 0:
                last[qp], repeats[qp], first[qp] = packet.psn, 0, packet.at
            elif packet.psn == last[qp]:
                repeats[qp] += packet.at > ended
    return [Orphan(ours, qp, psn, first[qp], repeats[qp]) for qp, psn in last.items()
            if repeats[qp] >= IN_VAIN and not any(covers(answer, psn) for answer in answers)]


class Late(NamedTuple):
    """A packet of ours that was sent until its retries were used up, and answered only then."""
    dest_qp: int
    psn: int
    times: int  # it was sent
    gave_up: float  # seconds since it was first sent
    answered: float

    def __str__(self):
        return (f"PSN {self.psn} for QP {self.dest_qp:#x}, sent {self.times} times, given up after {self.gave_up * 1000:.0f} ms, "
                f"answered after {self.answered * 1000:.0f}")


def late(pcap, cable):
    """What our adapter (its capture) gave up because the answer came later than all its timeouts (by the cable), or None.

    The timeout is told by the sendings: the time between the last two.
    """
    if not pcap.exists() or not cable.exists():
        return None
    sent = {}
    for packet in packets(pcap):
        if packet.ours and not packet.response:
            sent.setdefault((packet.dest_qp, packet.psn), []).append(packet.at)
    answers = [(packet.at, packet.psn - packet.refuses) for packet in packets(cable) if not packet.ours and packet.response]
    spent = [(2 * stamps[-1] - stamps[-2], stamps, *which) for which, stamps in sent.items() if len(stamps) > RETRIES]
    for gave_up, stamps, qp, psn in sorted(spent):  # the first of several ends the program
        answer = next((at for at, answer in answers if at > stamps[0] and covers(answer, psn)), None)
        if answer is None or answer >= gave_up:
            return answer and Late(qp, psn, len(stamps), gave_up - stamps[0], answer - stamps[0])
    return None


def covers(answer, psn):
    return 0 <= behind(answer, psn) < NEAR


def came(pcap, lonely):
    """By this capture of the other side's adapter: did it get in order what is repeated in vain, and did it acknowledge it?"""
    got = said = False
    gap = None  # what it has asked for by NAK and not got: nothing behind it counts
    for packet in packets(pcap):
        if packet.ours == lonely.ours and not packet.response:
            if packet.dest_qp == lonely.dest_qp:
                gap = None if packet.psn == gap else gap
                got |= packet.psn == lonely.psn and gap is None
        elif packet.ours != lonely.ours and packet.response:
            said |= covers(packet.psn - packet.refuses, lonely.psn)
            if packet.refuses and 0 <= behind(lonely.psn, packet.psn) < NEAR:
                gap = packet.psn
    return got, said
