# SPDX-License-Identifier: Apache-2.0
"""What systems of switches say of lines: FEC's histogram."""
import pathlib
import tempfile
import unittest

from shown import Evidence

BINS = "      IFACE       BIN0     BIN1    BIN2   BIN3   BIN4   BIN5   BIN6   BIN7   BIN8   BIN9\n" \
       "-----------  ---------  -------  ------  -----  -----  -----  -----  -----  -----  -----\n"


class Lines(unittest.TestCase):
    def read(self, text, name="session.txt"):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "0" / "leaf7" / name
            path.parent.mkdir(parents=True)
            path.write_text(text)
            shown = Evidence(folder)
        self.assertEqual([], shown.unknown, text)
        return shown

    def events(self, text, name="session.txt"):
        return [(event[1], event[0].removeprefix("leaf7:"), event[5]) for event in self.read(text, name).event]

    def test_histogram(self):
        """High bins alone say something; a list is of the port that its command names."""
        self.assertEqual([], self.events(BINS + "  Ethernet4  5,112,004      919      17      4      1      0      0      0      0      0\n"))
        self.assertEqual([("optic_alarm", "Ethernet8", "5 code words with up to 9 wrong symbols, and FEC puts 15 right")],
                         self.events(BINS + "  Ethernet8  5,112,004      919      17      4      1      1      1      1      2      3\n"))
        listed = "admin@leaf7:~$ show interfaces counters fec-histogram Ethernet40\nSymbol Errors Per Codeword    Codewords\n--------------------------  -----------\n" \
                 "BIN0:                           9000000\nBIN1:                                12\nBIN13:                                2\n"
        self.assertEqual([("optic_alarm", "Ethernet40", "2 code words with up to 13 wrong symbols, and FEC puts 15 right")], self.events(listed))


if __name__ == "__main__":
    unittest.main()
