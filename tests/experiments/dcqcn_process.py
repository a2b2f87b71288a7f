# SPDX-License-Identifier: Apache-2.0
"""DCQCN's reaction point as a process of its own: one sender, event by event, marks independent.

Written from the published algorithm and not from src/nic, in floating point.  It answers which rate a sender holds at a
marking probability, and so what queue N senders need on a marking line.  The notification point remembers a mark that comes
within 50 us of a CNP and sends the next CNP when they are over, as published, or forgets it.  Remembered, the answer is the
fixed point of the fluid model (CoNEXT 2016), which is below too."""
import random

LINE_BPS = 40e9
PACKET_BITS = 8000
TIMER_S = 55e-6
ALPHA_S = 55e-6
CNP_GAP_S = 50e-6
BYTE_COUNTER_BITS = 80e6
FAST_RECOVERY = 5
AI_BPS = 40e6
HAI_BPS = 400e6
G = 1 / 256
KMIN, SLOPE_BYTES = 5000, 195000 / 0.01  # bytes of queue for a probability of 1
NEVER = float("inf")


class Sender:
    def __init__(self, probability, rate, seed, remembers):
        self.random = random.Random(seed)
        self.probability, self.rate, self.target = probability, rate, rate
        self.alpha, self.now = 1.0, 0.0
        self.remembers, self.marked, self.window_at = remembers, False, NEVER
        self.timer = self.bytes = 0  # expired since the last cut
        self.timer_at, self.alpha_at, self.bits_left = TIMER_S, ALPHA_S, BYTE_COUNTER_BITS
        self.draw_mark()

    def draw_mark(self):
        self.bits_to_mark = self.random.expovariate(self.probability) * PACKET_BITS

    def cut(self):
        self.marked, self.window_at = False, self.now + CNP_GAP_S
        self.target, self.rate = self.rate, self.rate * (1 - self.alpha / 2)
        self.alpha = (1 - G) * self.alpha + G
        self.timer = self.bytes = 0
        self.timer_at, self.alpha_at, self.bits_left = self.now + TIMER_S, self.now + ALPHA_S, BYTE_COUNTER_BITS

    def mark(self):
        self.draw_mark()
        if self.window_at == NEVER:
            self.cut()
        else:
            self.marked = self.remembers

    def window(self):
        self.window_at = NEVER
        if self.marked:
            self.cut()

    def increase(self):
        if max(self.timer, self.bytes) >= FAST_RECOVERY:
            self.target += HAI_BPS if min(self.timer, self.bytes) > FAST_RECOVERY else AI_BPS
        self.target = min(self.target, LINE_BPS)
        self.rate = (self.rate + self.target) / 2

    def step(self):
        """The next event; answers the bits sent until then."""
        spans = {
            "mark": self.bits_to_mark / self.rate,
            "bytes": self.bits_left / self.rate,
            "timer": self.timer_at - self.now,
            "alpha": self.alpha_at - self.now,
            "window": self.window_at - self.now,
        }
        event = min(spans, key=spans.get)
        sent = self.rate * spans[event]
        self.now += spans[event]
        self.bits_to_mark -= sent
        self.bits_left -= sent
        if event == "mark":
            self.mark()
        elif event == "window":
            self.window()
        elif event == "alpha":
            self.alpha *= 1 - G
            self.alpha_at = self.now + ALPHA_S
        elif event == "timer":
            self.timer_at = self.now + TIMER_S
            self.increase()
            self.timer += 1
        else:
            self.bits_left = BYTE_COUNTER_BITS
            self.increase()
            self.bytes += 1
        return sent


def mean_rate(probability, start, seconds, seed, remembers):
    sender, sent, warm = Sender(probability, start, seed, remembers), 0.0, seconds / 4
    while sender.now < seconds:
        bits = sender.step()
        if sender.now > warm:
            sent += bits
    return sent / (sender.now - warm)


def queue_bytes(senders, remembers, seconds=2.0, seed=2, steps=9):
    """Where on the marking line `senders` of them share the line evenly."""
    share, low, high = LINE_BPS / senders, 2e-4, 2e-2
    for _ in range(steps):
        middle = (low * high) ** 0.5
        if mean_rate(middle, share, seconds, seed, remembers) > share:
            low = middle
        else:
            high = middle
    return KMIN + (low * high) ** 0.5 * SLOPE_BYTES


def fluid_queue_bytes(senders):
    """The fluid model's fixed point (CoNEXT 2016) for the same parameters."""
    rate, gap, timer = LINE_BPS / PACKET_BITS / senders, CNP_GAP_S, TIMER_S
    count, increase = BYTE_COUNTER_BITS / PACKET_BITS, AI_BPS / PACKET_BITS
    low, high = 1e-5, 5e-2
    for _ in range(80):
        p = (low * high) ** 0.5
        kept = 1 - p
        cuts, alpha = 1 - kept ** (gap * rate), 1 - kept ** (ALPHA_S * rate)
        by_bytes, by_time = p / (kept ** -count - 1), p / (kept ** (-timer * rate) - 1)
        later = kept ** (FAST_RECOVERY * count) * by_bytes + kept ** (FAST_RECOVERY * timer * rate) * by_time
        if cuts * cuts * alpha > gap * gap * increase * rate * (by_bytes + by_time) * later:
            high = p
        else:
            low = p
    return KMIN + low * SLOPE_BYTES


if __name__ == "__main__":
    for count in (2, 4, 8, 10):
        print(count, "KB, remembered", round(queue_bytes(count, True) / 1000, 1), "forgotten", round(queue_bytes(count, False) / 1000, 1),
              "fluid", round(fluid_queue_bytes(count) / 1000, 2))
