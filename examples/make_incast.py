#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes incast.pcap: five hosts write to a sixth through one switch, seen at the sixth's port.

A model of the size of a page, not the simulator: senders with a window, a rate that a CNP halves
and time restores, one queue in the switch that marks CE above a threshold, a receiver that sends
ACKs, NAKs, CNPs and, twice, pauses.  One packet is dropped in the switch and one arrives with a
flipped bit, so that the capture has something to explain.  No randomness: the file is the same
every time."""
import heapq
import struct
import sys
import zlib

SENDERS = 5
MESSAGES = 6
PACKETS = 24             # of each message
MTU = 1024
LINK_BPS = 10_000_000_000
DELAY_NS = 3_000         # one way, between switch and sender
WINDOW = 48              # packets a sender may have in flight
MARK_BYTES = 60_000      # the switch marks CE above this
CNP_EVERY_NS = 50_000    # and connection
RECOVER_NS = 25_000      # a rate is raised this often
START_NS = 1_780_000_000_000_000_000
DROPPED = (3, 70)        # sender, its packet: lost in the switch
FLIPPED = (1, 40)        # arrives with a flipped bit: the receiver ignores it
PAUSES_NS = ((180_000, 40_000), (420_000, 65_000))  # when the receiver pauses priority 3, for how long
ECT0, CE = 0x6A, 0x6B    # DSCP 26 with ECN
RECEIVER_QP, SENDER_QP = 0x200, 0x100

WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, ACK, CNP = 0x06, 0x07, 0x08, 0x11, 0x81


def mac(host):
    return bytes([0x02, 0, 0, 0, 0, host])


def ipv4(host):
    return bytes([10, 0, 0, host])


RECEIVER = 100


def frame(src, dst, tos, opcode, qp, psn, ack_request=False, extended=b"", payload=b""):
    bth = struct.pack(">BBHBBHI", opcode, 0x40, 0xFFFF, 0, qp >> 16, qp & 0xFFFF,
                      (0x80000000 if ack_request else 0) | psn)
    if opcode == CNP:  # BECN
        bth = bth[:4] + b"\x40" + bth[5:]
    udp_bytes = 8 + len(bth) + len(extended) + len(payload) + 4
    sport = 0xC000 | (src * 37 + dst) & 0x3FFF
    ip = struct.pack(">BBHHHBBH", 0x45, tos, 20 + udp_bytes, psn & 0xFFFF, 0x4000, 64, 17, 0) + ipv4(src) + ipv4(dst)
    total = sum(struct.unpack(">10H", ip))
    total = (total & 0xFFFF) + (total >> 16)
    total = (total & 0xFFFF) + (total >> 16)
    ip = ip[:10] + struct.pack(">H", ~total & 0xFFFF) + ip[12:]
    udp = struct.pack(">HHHH", sport, 4791, udp_bytes, 0)
    # Fields that change on the way count as ones: TOS, TTL, checksums, the byte of FECN and BECN.
    masked = b"\xff" * 8 + ip[:1] + b"\xff" + ip[2:8] + b"\xff" + ip[9:10] + b"\xff\xff" + ip[12:]
    masked += udp[:6] + b"\xff\xff" + bth[:4] + b"\xff" + bth[5:] + extended + payload
    icrc = struct.pack("<I", zlib.crc32(masked))
    return mac(dst) + mac(src) + b"\x08\x00" + ip + udp + bth + extended + payload + icrc


def pfc(quanta):
    vector = [0] * 8
    vector[3] = quanta
    return b"\x01\x80\xc2\x00\x00\x01" + mac(RECEIVER) + b"\x88\x08" + struct.pack(">HH8H", 0x0101, 8, *vector) + bytes(26)


class Sender:
    def __init__(self, host):
        self.host = host
        self.first_psn = 1000 * host
        self.next = 0          # next packet to send
        self.acked = 0
        self.rate = LINK_BPS
        self.free_ns = 0

    def packet(self, index, tos):
        within = index % PACKETS
        opcode = WRITE_FIRST if within == 0 else WRITE_LAST if within == PACKETS - 1 else WRITE_MIDDLE
        reth = struct.pack(">QII", 0x7F0000000000 + index * MTU, 0x1234, PACKETS * MTU) if within == 0 else b""
        payload = bytes((index + i) & 0xFF for i in range(64)) * (MTU // 64)
        return frame(self.host, RECEIVER, tos, opcode, RECEIVER_QP + self.host, self.first_psn + index,
                     opcode == WRITE_LAST or index % 8 == 7, reth, payload)


class Model:
    def __init__(self):
        self.events, self.order, self.records = [], 0, []
        self.senders = {host: Sender(host) for host in range(1, SENDERS + 1)}
        self.queue, self.queued_bytes = [], 0
        self.busy, self.paused_until = False, 0
        self.expected = {host: 0 for host in self.senders}
        self.nak_sent = {host: False for host in self.senders}
        self.cnp_ns = {host: -CNP_EVERY_NS for host in self.senders}
        self.faults = {DROPPED, FLIPPED}

    def at(self, time_ns, what, *arguments):
        self.order += 1
        heapq.heappush(self.events, (time_ns, self.order, what, arguments))

    def record(self, now, data):
        self.records.append((now, data))

    def send(self, now, host):
        sender = self.senders[host]
        if sender.next >= MESSAGES * PACKETS or sender.next - sender.acked >= WINDOW or sender.free_ns > now:
            return
        index = sender.next
        sender.next += 1
        sender.free_ns = now + (MTU + 80) * 8 * 1_000_000_000 // sender.rate
        self.at(now + DELAY_NS, self.arrive, host, index)
        self.at(sender.free_ns, self.send, host)

    def arrive(self, now, host, index):
        if (host, index) == DROPPED and DROPPED in self.faults:
            self.faults.remove(DROPPED)
            return
        data = self.senders[host].packet(index, CE if self.queued_bytes > MARK_BYTES else ECT0)
        self.queue.append((host, index, data))
        self.queued_bytes += len(data)
        self.forward(now)

    def forward(self, now):
        if self.busy or not self.queue:
            return
        if now < self.paused_until:
            self.at(self.paused_until, self.forward)
            return
        host, index, data = self.queue.pop(0)
        self.queued_bytes -= len(data)
        self.busy = True
        self.at(now + (len(data) + 24) * 8 * 1_000_000_000 // LINK_BPS, self.deliver, host, index, data)

    def deliver(self, now, host, index, data):
        self.busy = False
        self.forward(now)
        if (host, index) == FLIPPED and FLIPPED in self.faults:
            self.faults.remove(FLIPPED)
            self.record(now, data[:200] + bytes([data[200] ^ 0x10]) + data[201:])
            return
        self.record(now, data)
        self.receive(now, host, index, data)

    def receive(self, now, host, index, data):
        if data[15] & 3 == 3 and now - self.cnp_ns[host] >= CNP_EVERY_NS:
            self.cnp_ns[host] = now
            self.answer(now + 800, host, frame(RECEIVER, host, 0xC0, CNP, SENDER_QP + host, 0, payload=bytes(16)),
                        self.slow_down, host)
        if index > self.expected[host]:
            if not self.nak_sent[host]:
                self.nak_sent[host] = True
                self.acknowledge(now + 900, host, self.expected[host], 0x60, self.go_back)
        elif index == self.expected[host]:
            self.expected[host] += 1
            self.nak_sent[host] = False
            if data[50] & 0x80:
                self.acknowledge(now + 900, host, index, 0x1F, self.acked)

    def acknowledge(self, now, host, index, syndrome, what):
        aeth = struct.pack(">I", syndrome << 24 | (self.expected[host] // PACKETS))
        psn = self.senders[host].first_psn + index
        self.answer(now, host, frame(RECEIVER, host, ECT0, ACK, SENDER_QP + host, psn, extended=aeth), what, host, index)

    def answer(self, now, host, data, what, *arguments):
        self.at(now, self.record, data)
        self.at(now + DELAY_NS, what, *arguments)

    def acked(self, now, host, index):
        self.senders[host].acked = max(self.senders[host].acked, index + 1)
        self.send(now, host)

    def go_back(self, now, host, index):
        self.senders[host].next = self.senders[host].acked = index
        self.send(now, host)

    def slow_down(self, now, host):
        self.senders[host].rate = max(self.senders[host].rate // 2, LINK_BPS // 50)
        self.at(now + RECOVER_NS, self.recover, host)

    def recover(self, now, host):
        sender = self.senders[host]
        if sender.rate < LINK_BPS:
            sender.rate = min(LINK_BPS, sender.rate + LINK_BPS // 20)
            self.at(now + RECOVER_NS, self.recover, host)
        self.send(now, host)

    def pause(self, now, span):
        self.record(now, pfc(0xFFFF))
        self.paused_until = now + span
        self.at(now + span, self.record, pfc(0))
        self.at(now + span, self.forward)

    def run(self):
        for host in self.senders:
            self.at(host * 400, self.send, host)
        for begin, span in PAUSES_NS:
            self.at(begin, self.pause, span)
        while self.events:
            now, _, what, arguments = heapq.heappop(self.events)
            what(now, *arguments)
        return sorted(self.records, key=lambda item: item[0])


def main():
    with open(sys.argv[1] if len(sys.argv) > 1 else "incast.pcap", "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1))
        for now, data in Model().run():
            time = START_NS + now
            out.write(struct.pack("<IIII", time // 1_000_000_000, time % 1_000_000_000, len(data), len(data)) + data)


if __name__ == "__main__":
    main()
