# SPDX-License-Identifier: Apache-2.0
"""What judge.py reads from captures, with captures made for it: no guest is needed."""
import ipaddress
import pathlib
import struct
import tempfile
import unittest

import guest as guests
import judge

TIMEOUT = 0.067
WRITE, LAST_PSN = 0x0a, judge.PSNS - 1


def frame(ours, opcode, psn, syndrome=0x1f, qp=17):
    host, other = (ipaddress.ip_address(text).packed for text in (guests.HOST_IP, guests.GUEST_IP))
    ends = host + other if ours else other + host
    ip = b"\x45" + bytes(8) + b"\x11" + bytes(2) + ends
    bth = bytes([opcode]) + bytes(4) + qp.to_bytes(3, "big") + bytes(1) + (psn % judge.PSNS).to_bytes(3, "big")
    return bytes(12) + b"\x08\x00" + ip + b"\xc0\x00\x12\xb7" + bytes(4) + bth + bytes([syndrome]) + bytes(8)


class Judge(unittest.TestCase):
    def capture(self, *records):
        """(seconds, ours, opcode, psn[, syndrome]) each; a file."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name) / "a.pcap"
        data = struct.pack("<IHHiIII", 0xa1b23c4d, 2, 4, 0, 0, 65535, 1)
        for at, *what in records:
            packet = frame(*what)
            data += struct.pack("<IIII", int(at), round(at % 1 * 1e9), len(packet), len(packet)) + packet
        path.write_bytes(data)
        return path

    def test_nothing_twice(self):
        path = self.capture((1, True, WRITE, LAST_PSN), (1.001, True, WRITE, 0), (1.5, False, judge.ACK, 0), (2, True, WRITE, 1))
        self.assertEqual(judge.twice(path, TIMEOUT), (0, 0, 0))

    def test_after_the_timeout(self):
        """Three go again, in a row, when the timeout has passed since the last acknowledgement; then once more."""
        first = [(1 + i / 1000, True, WRITE, i) for i in range(4)]
        again = [(1.081 + i / 1000, True, WRITE, 1 + i) for i in range(3)]
        more = [(1.149 + i / 1000, True, WRITE, 1 + i) for i in range(3)]
        path = self.capture(*first, (1.013, False, judge.ACK, 0), *again, *more)
        self.assertEqual(judge.twice(path, TIMEOUT), (0, 0, 6))

    def test_before_the_timeout(self):
        path = self.capture((1, True, WRITE, 5), (1.050, True, WRITE, 5))
        self.assertEqual(judge.twice(path, TIMEOUT), (0, 1, 0))
        path = self.capture((1, True, WRITE, 5), (1.010, True, WRITE, 6), (1.050, False, judge.ACK, 5), (1.070, True, WRITE, 6))
        self.assertEqual(judge.twice(path, TIMEOUT), (0, 1, 0))

    def test_after_a_nak(self):
        path = self.capture((1, True, WRITE, 5), (1.001, True, WRITE, 6), (1.002, False, judge.ACK, 5, 0x60), (1.003, True, WRITE, 5),
                            (1.004, True, WRITE, 6))
        self.assertEqual(judge.twice(path, TIMEOUT), (2, 0, 0))

    def test_orphans(self):
        sent = [(1, False, WRITE, 7), (1.001, True, judge.ACK, 7), (1.002, False, WRITE, 8)]
        repeats = [(1.1 + i / 10, False, WRITE, 8) for i in range(3)]
        self.assertEqual(judge.orphans(self.capture(*sent, *repeats), 1.05), [(False, 17, 8, 1.002, 3)])
        self.assertEqual(judge.orphans(self.capture(*sent, (1.003, True, judge.ACK, 8), *repeats), 1.05), [])
        self.assertEqual(judge.orphans(self.capture(*sent), 1.05), [])
        self.assertEqual(judge.orphans(self.capture(*sent, *repeats[:2]), 1.05), [])
        mine = [(1 + i / 10, True, WRITE, 3) for i in range(4)]
        self.assertEqual(judge.orphans(self.capture(*mine), 0, ours=True), [(True, 17, 3, 1, 3)])
        self.assertEqual(judge.orphans(self.capture(*mine, (2, False, judge.ACK, 3)), 0, ours=True), [])
        other = [(1.003, False, WRITE, 900000, 0, 18), (1.004, True, judge.ACK, 900000, 0x1f, 5)]  # a connection that is well
        self.assertEqual([each.dest_qp for each in judge.orphans(self.capture(*sent, *other, *repeats), 1.05)], [17])
        self.assertEqual(judge.orphans(self.capture(*sent, *other, (1.2, False, WRITE, 900000, 0, 18)), 1.05), [])
        self.assertEqual([each.psn for each in judge.orphans(self.capture(*sent, (1.003, True, judge.ACK, 8, 0x60), *repeats), 1.05)], [8])

    def test_came(self):
        lonely = judge.Orphan(False, 17, 8, 1.002, 3)
        self.assertEqual(judge.came(self.capture((1, False, WRITE, 7), (1.001, True, judge.ACK, 7)), lonely), (False, False))
        self.assertEqual(judge.came(self.capture((1, False, WRITE, 8), (1.001, True, judge.ACK, 7)), lonely), (True, False))
        self.assertEqual(judge.came(self.capture((1, False, WRITE, 8), (1.5, True, judge.ACK, 8)), lonely), (True, True))
        self.assertEqual(judge.came(self.capture((1.5, False, judge.ACK, 8)), lonely), (False, False))
        asked = [(1, False, WRITE, 7), (1.001, True, judge.ACK, 6, 0x60), (1.002, False, WRITE, 8)]  # it waits for 6: 8 comes to nothing
        self.assertEqual(judge.came(self.capture(*asked), lonely), (False, False))
        self.assertEqual(judge.came(self.capture(*asked, (1.003, False, WRITE, 6), (1.004, False, WRITE, 8)), lonely), (True, False))
        other = (1.0005, True, judge.ACK, 900000, 0x60, 5)  # another connection's
        self.assertEqual(judge.came(self.capture(other, (1.002, False, WRITE, 8)), lonely), (True, False))

    def test_late(self):
        """Sent eight times, 67 ms apart, and answered after the last timeout or before it."""
        sent = [(1 + i * TIMEOUT, True, WRITE, 8) for i in range(8)]
        before = [(0.9, True, WRITE, 7), (0.95, False, judge.ACK, 7)]
        ours = self.capture(*before, *sent)
        late = judge.late(ours, self.capture(*before, *sent, (1.542, False, judge.ACK, 8)))
        self.assertEqual((late.dest_qp, late.psn, late.times), (17, 8, 8))
        self.assertEqual([round(t, 3) for t in (late.gave_up, late.answered)], [0.536, 0.542])
        last_moment = [(0.3 + i * TIMEOUT, True, WRITE, 7) for i in range(7)] + before
        late = judge.late(self.capture(*last_moment, *sent), self.capture(*last_moment, *sent, (1.542, False, judge.ACK, 8)))
        self.assertEqual((late.dest_qp, late.psn, late.times), (17, 8, 8))
        longer = [(1.04 + i * TIMEOUT, True, WRITE, 900000, 0, 18) for i in range(8)]  # the program had ended before this one was given up
        late = judge.late(self.capture(*before, *sent, *longer), self.capture(*before, *sent, *longer, (1.542, False, judge.ACK, 8),
                                                                              (1.543, False, judge.ACK, 900000, 0x1f, 5)))
        self.assertEqual((late.dest_qp, late.psn, late.times), (17, 8, 8))
        self.assertIsNone(judge.late(ours, self.capture(*before, *sent, (1.530, False, judge.ACK, 8))))  # we gave up too soon
        self.assertIsNone(judge.late(ours, self.capture(*before, *sent)))  # nobody is there
        self.assertIsNone(judge.late(ours, self.capture(*before, *sent, (1.542, False, judge.ACK, 7))))  # it never had it
        self.assertIsNone(judge.late(self.capture(*before, *sent[:7]), self.capture(*before, *sent, (1.542, False, judge.ACK, 8))))
        self.assertIsNone(judge.late(ours.with_name("none"), ours))


if __name__ == "__main__":
    unittest.main()
