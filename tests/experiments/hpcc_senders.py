# SPDX-License-Identifier: Apache-2.0
"""HPCC's algorithm 1 alone: senders, links that serve in order, telemetry written when a packet leaves, ACKs that take a fixed time.

Written from the published algorithm and not from src/nic, in floating point.  It answers how senders share lines: what
is not here (adapters, switches, headers' details) cannot be the cause of what it shows.  `python3 hpcc_senders.py` prints
the cases of docs/model.md; jitter is added to each packet's way to the first link."""
import collections
import heapq
import random

PAYLOAD, FRAME, LINE_BPS = 1000, 1124, 100e9  # bytes; of a frame with telemetry, gap included
FRAME_S = FRAME * 8 / LINE_BPS
ETA, MAX_STAGE, MIN_BPS = 0.95, 5, 100e6


class Sender:
    def __init__(self, path, base_rtt, w_ai):
        self.path, self.base_rtt, self.w_ai = path, base_rtt, w_ai
        self.most = self.window = self.reference = LINE_BPS * base_rtt / 8
        self.next = self.acked = self.update = self.stage = 0
        self.known, self.use, self.free, self.waits = None, 1.0, 0.0, False

    def measure(self, hops):
        """Utilisation of the busiest hop since the last ACK, and the time it is of."""
        most, span = 0.0, 0.0
        for (at0, sent0, queue0), (at, sent, queue) in zip(self.known, hops):
            if at <= at0:
                continue
            use = ((sent - sent0) / (at - at0) + min(queue, queue0) / self.base_rtt) * 8 / LINE_BPS
            if use > most:
                most, span = use, min(at - at0, self.base_rtt)
        return most, span

    def heard(self, number, hops):
        self.acked = max(self.acked, number + 1)
        if self.known is None:
            self.known, self.update = hops, self.next
            return
        use, span = self.measure(hops)
        self.known = hops
        self.use += (use - self.use) * span / self.base_rtt
        if self.use >= ETA or self.stage >= MAX_STAGE:
            window, stage = self.reference * ETA / self.use + self.w_ai, 0
        else:
            window, stage = self.reference + self.w_ai, self.stage + 1
        self.window = min(max(window, MIN_BPS * self.base_rtt / 8), self.most)
        if self.acked > self.update:
            self.reference, self.stage, self.update = self.window, stage, self.next


class Network:
    def __init__(self, senders, delay, jitter, seed):
        links = 1 + max(max(sender.path) for sender in senders)
        self.senders, self.delay, self.jitter, self.random = senders, delay, jitter, random.Random(seed)
        self.queue, self.sent, self.busy = [collections.deque() for _ in range(links)], [0] * links, [False] * links
        self.events, self.count = [], 0

    def at(self, time, what, *rest):
        self.count += 1
        heapq.heappush(self.events, (time, self.count, what, rest))

    def send(self, now, who):
        sender = self.senders[who]
        if now < sender.free - 1e-15:
            self.at(sender.free, self.send, who)
            return
        sender.waits = (sender.next - sender.acked) * PAYLOAD >= sender.window
        if sender.waits:
            return
        late = self.random.random() * self.jitter if self.jitter else 0
        self.at(now + FRAME_S + self.delay + late, self.arrive, [who, sender.next, []])
        sender.next += 1
        sender.free = now + FRAME * 8 / min(sender.window * 8 / sender.base_rtt, LINE_BPS)
        self.at(sender.free, self.send, who)

    def arrive(self, now, packet):
        link = self.senders[packet[0]].path[len(packet[2])]
        self.queue[link].append(packet)
        self.serve(now, link)

    def serve(self, now, link):
        if self.busy[link] or not self.queue[link]:
            return
        packet = self.queue[link].popleft()
        packet[2].append((now, self.sent[link], len(self.queue[link]) * FRAME))
        self.sent[link] += FRAME
        self.busy[link] = True
        self.at(now + FRAME_S, self.left, link, packet)

    def left(self, now, link, packet):
        path = self.senders[packet[0]].path
        self.busy[link] = False
        if len(packet[2]) < len(path):
            self.at(now + self.delay, self.arrive, packet)
        else:
            self.at(now + self.delay * (2 + len(path)), self.acknowledge, packet)
        self.serve(now, link)

    def acknowledge(self, now, packet):
        sender = self.senders[packet[0]]
        sender.heard(packet[1], packet[2])
        if sender.waits:
            sender.waits = False
            self.at(max(now, sender.free), self.send, packet[0])


def shares(paths, starts, since, until, base_rtt=13e-6, w_ai=80, delay=1e-6, jitter=0.0, seed=1):
    """Payload acknowledged between the two times, Gb/s, of each sender; links are numbered in `paths`."""
    senders = [Sender(path, base_rtt, w_ai) for path in paths]
    network = Network(senders, delay, jitter, seed)
    for who, start in enumerate(starts):
        network.at(start, network.send, who)
    before = None
    while network.events[0][0] < until:
        now, _, what, rest = heapq.heappop(network.events)
        if before is None and now >= since:
            before = [sender.acked for sender in senders]
        what(now, *rest)
    return [(sender.acked - b) * PAYLOAD * 8e-9 / (until - since) for sender, b in zip(senders, before)]


TWO, LOT = [[0], [0]], [[0, 1], [0], [1]]

if __name__ == "__main__":
    for told, paths, starts, more in (
            ("two senders, 60 ns apart", TWO, [0, 60e-9], {}),
            ("317 us apart", TWO, [0, 317e-6], {}),
            ("1500.05 us apart", TWO, [0, 1500.05e-6], {}),
            ("317 us apart, jitter 200 ns", TWO, [0, 317e-6], {"jitter": 200e-9}),
            ("317 us apart, W_AI 1000 B", TWO, [0, 317e-6], {"w_ai": 1000}),
            ("two lines, one sender over both", LOT, [0, 0, 0], {"delay": 1.8e-6}),
            ("jitter 20 ns", LOT, [0, 0, 0], {"delay": 1.8e-6, "jitter": 20e-9}),
            ("W_AI 1000 B", LOT, [0, 0, 0], {"delay": 1.8e-6, "w_ai": 1000})):
        print(f"{told:32}", *(f"{share:6.2f}" for share in shares(paths, starts, 5e-3, 10e-3, **more)), flush=True)
