# SPDX-License-Identifier: Apache-2.0
"""What systems of switches say of lines and modules: faults, physical layer, FEC's histogram, stuck queues."""
import pathlib
import tempfile
import unittest

from shown import Evidence

STATUS = """cumulus@leaf7:mgmt:~$ nv show interface status
Interface  Admin Status  Oper Status  Protodown  Protodown Reason  Fault
---------  ------------  -----------  ---------  ----------------  ------------
eth0       up            up           disabled
bond3      up            up           disabled
swp3       up            up           disabled                     No Fault
swp11      up            down         disabled                     Remote Fault
swp12s1    up            down         disabled                     Local Fault
swp13      down          down         disabled                     Local Fault
swp14      up            down         enabled    clag              No Fault
"""
DETAIL = """cumulus@leaf7:mgmt:~$ nv show interface %s link phy detail
                                  operational
--------------------------------  -------------------
linkdown-reason-code-local        %s
linkdown-reason-status-local      %s
linkdown-reason-code-remote       0
linkdown-reason-status-remote     UNKNOWN_REASON
"""
HEALTH = """cumulus@leaf7:~$ nv show interface swp6 link phy health
                           operational
-------------------------  -----------
time-since-last-clear-min  88
phy-received-bits          512300000000
symbol-errors              %d
effective-errors           %d
phy-raw-errors-lane0       81234
raw-ber                    2E-7
symbol-ber                 15E-255
raw-ber-lane0              2E-7
rs-num-corr-err-bin0       812345
rs-num-corr-err-bin1       9120
rs-num-corr-err-bin%d       41
snr-media-lane0            24.10 dB
"""
MODULE = """cable-type             : Optical module
cable-length           : 10m
diagnostics-status     : Diagnostic Data Available
status                 : plugged_enabled
error-status           : %s
vendor-name            : ACME
temperature:
  temperature         : 51.20 C
  high-alarm-threshold: 75.00 C
  low-alarm-threshold : -5.00 C
  alarm               : %s
voltage:
  voltage             : 3.3100 V
  alarm               : Off
channel:
  channel-1:
    rx-power:
        power            : 0.6310 mW / -2.00 dBm
        high-alarm-thresh: 5.40 dBm
        alarm            : Off
    tx-bias-current:
        current          : 6.900 mA
        alarm            : Off
  channel-2:
    rx-power:
        power            : 0.0251 mW / -16.00 dBm
        low-alarm-thresh : -13.30 dBm
        alarm            : %s
    tx-bias-current:
        current          : 11.200 mA
        alarm            : %s
"""
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

    def test_faults(self):
        """Of ports that are meant to be up, and not of management and bundles."""
        shown = self.read(STATUS)
        self.assertEqual([1, 0, 0, 0, None, None], [shown.get(f"leaf7:{port}", "link_up") for port in ("swp3", "swp11", "swp12s1", "swp14", "eth0", "bond3")])
        self.assertEqual([("line_fault", "swp11", "Remote Fault"), ("line_fault", "swp12s1", "Local Fault"), ("port_shut", "swp13", "-")], self.events(STATUS))

    def test_reasons(self):
        """Why a link went down is of the past where it is up, or not known to be down."""
        faults = self.events(STATUS)
        for port, code, status, said in (("swp12s1", "23/23", "CABLE_WAS_UNPLUGGED/NONE", "CABLE_WAS_UNPLUGGED"), ("swp3", "23", "CABLE_WAS_UNPLUGGED", None),
                                         ("swp14", "45", "BW_LOSS_THRESHOLD_EXCEEDED", "BW_LOSS_THRESHOLD_EXCEEDED"), ("swp14", "22", "DOWN_BY_MANAGEMENT_COMMAND", None),
                                         ("swp14", "1", "UNKNOWN_REASON", None), ("swp29", "23", "CABLE_WAS_UNPLUGGED", None)):
            self.assertEqual(faults + [("line_fault", port, said)] * (said is not None), self.events(STATUS + DETAIL % (port, code, status)), (port, status))

    def test_physical_layer(self):
        shown = self.read(HEALTH % (0, 0, 7))
        self.assertEqual([0, 0, 9161, []], [shown.get("leaf7:swp6", name) for name in ("symbol_errors", "fec_uncorrected", "fec_corrected")] + [shown.event])
        shown = self.read(HEALTH % (12, 3, 11))
        self.assertEqual([12, 3], [shown.get("leaf7:swp6", name) for name in ("symbol_errors", "fec_uncorrected")])
        self.assertEqual(["optic_alarm"], [event[1] for event in shown.event])
        self.assertIn("41 code words with up to 11", shown.event[0][5])

    def test_stuck_queues(self):
        shown = self.read("cumulus@leaf7:~$ nv show interface swp9 qos pfc-watchdog\n        operational  applied\n------  -----------  -------\nstate   enabled      enabled\n\n"
                          "PFC WD Status\n==============\n    traffic-class  status    deadlock-count\n    -------------  --------  --------------\n"
                          "    0              OK        0\n    3              DEADLOCK  17\n    5              OK        4\n")
        self.assertEqual([0, 1, 0], [shown.get("leaf7:swp9", "watchdog_stormed", p) for p in (0, 3, 5)])
        self.assertEqual([0, 17, 4], [shown.get("leaf7:swp9", "watchdog_detected", p) for p in (0, 3, 5)])

    def test_modules(self):
        prompt = "cumulus@leaf7:~$ nv show platform transceiver swp8\n"
        self.assertEqual([], self.events(prompt + MODULE % ("N/A", "Off", "Off", "Off")))
        self.assertEqual([("optic_alarm", "swp8", "Unsupported_Cable")], self.events(prompt + MODULE % ("Unsupported_Cable", "Off", "Off", "Off")))
        self.assertEqual([("optic_alarm", "swp8", "temperature too high"), ("optic_alarm", "swp8", "light received too low on channel 2"),
                          ("optic_alarm", "swp8", "current of the laser too high on channel 2")], self.events(prompt + MODULE % ("N/A", "high", "low", "high")))
        shown = self.read("".join(f"{port}:\n" + "".join(f"  {line}\n" for line in (MODULE % ("N/A", "Off", how, "Off")).splitlines())
                                  for port, how in (("swp8", "Off"), ("swp10", "low"))), "nv_show_platform_transceiver_detail.txt")
        self.assertEqual(["leaf7:swp10"], [event[0] for event in shown.event])
        self.assertAlmostEqual(51.2, shown.value["leaf7:swp8", None, "temperature"].real, 1)
        self.assertAlmostEqual(10 ** -1.6, shown.value["leaf7:swp8", None, "rx_power"].real, 3)

    def test_histogram(self):
        """High bins alone say something; a list is of the port that its command names."""
        self.assertEqual([], self.events(BINS + "  Ethernet4  5,112,004      919      17      4      1      0      0      0      0      0\n"))
        self.assertEqual([("optic_alarm", "Ethernet8", "5 code words with up to 9 wrong symbols, and FEC puts 15 right")],
                         self.events(BINS + "  Ethernet8  5,112,004      919      17      4      1      1      1      1      2      3\n"))
        listed = "admin@leaf7:~$ show interfaces counters fec-histogram Ethernet40\nSymbol Errors Per Codeword    Codewords\n--------------------------  -----------\n" \
                 "BIN0:                           9000000\nBIN1:                                12\nBIN13:                                2\n"
        self.assertEqual([("optic_alarm", "Ethernet40", "2 code words with up to 13 wrong symbols, and FEC puts 15 right")], self.events(listed))

    def test_lasers(self):
        """Current and no light is worth a word; neither is a laser that is off."""
        for bias, power, said in (("71.250 mA", "0.0000 mW / - Inf dBm", ["no light sent, though the laser has 71.2 mA"]), ("0.000 mA", "0.0000 mW / - Inf dBm", []),
                                  ("36.400 mA", "0.6100 mW / -2.15 dBm", [])):
            text = f"Interface               Admin Link Proto    Local\nxe-0/0/17               up    up\n\nPhysical interface: xe-0/0/17\n    Laser bias current                        :  {bias}\n" \
                   f"    Laser output power                        :  {power}\n    Laser output power low alarm              :  Off\n<trimmed>\n"
            self.assertEqual(said, [event[2] for event in self.events(text)])


if __name__ == "__main__":
    unittest.main()
