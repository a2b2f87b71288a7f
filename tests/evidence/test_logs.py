# SPDX-License-Identifier: Apache-2.0
"""Logs become events: time, writer and tag of every form are taken off, and what is left is looked up in log.def."""
import pathlib
import tempfile
import unittest

from shown import Evidence

STORM = "NOTICE swss#orchagent: :- {}: PFC Watchdog {} port Ethernet48, queue index 4, queue id 0x150000000006a1 and port id 0x10000000002f4."


class Logs(unittest.TestCase):
    def read(self, *lines, device="r7"):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "0" / device / "messages.txt"
            path.parent.mkdir(parents=True)
            path.write_text("\n".join(("# dmesg", *lines)) + "\n")
            return Evidence(folder)

    def one(self, line):
        """(object, kind, priority, detail, first) of a line that says one event."""
        shown = self.read(line)
        self.assertEqual([], shown.unknown, line)
        self.assertEqual(1, len(shown.event), line)
        name, kind, priority, _, _, detail, count, first = shown.event[0][:8]
        self.assertEqual("1", count)
        return name, kind, int(priority), detail, float(first)

    def test_forms(self):
        """One event, however the line begins: with the time of its clock."""
        said = "mlx5_core 0000:5e:00.0 ens3f0np0: Link down"
        leap = 323 * 86400 + 10 * 3600 + 57 * 60 + 7 + (1972 - 1970) * 365 * 86400
        year = 1795085827
        for begin, at in (("Nov 19 10:57:07 n7 kernel: ", leap), ("Nov 19 10:57:07 n7 kernel: [  821.220116] ", leap), ("Nov 19 10:57:07.250 n7 kernel: ", leap + 0.25),
                          ("<6>Nov 19 10:57:07 n7 kernel: ", leap), ("2026-11-19T10:57:07.500000+00:00 n7 kernel: ", year + 0.5),
                          ("2026-11-19T11:57:07+0100 n7.example kernel: ", year), ("<6>1 2026-11-19T10:57:07Z n7 kernel - - - ", year),
                          ("[Thu Nov 19 10:57:07 2026] ", year), ("[2026-11-19T10:57:07,500000+00:00] ", year + 0.5), ("[ 1234.500000] ", 1234.5),
                          ("<4>[ 1234.500000] ", 1234.5), ("kern  :info  : [ 1234.500000] ", 1234.5), ("[ 1234.500000][    C0] ", 1234.5),
                          ("6,9921,1234500000,-;", 1234.5), ("Thu Nov 19 10:57:07 2026 kern.info kernel: [ 1234.500000] ", year), ("kernel: ", None), ("", None)):
            name, kind, _, _, first = self.one(begin + said)
            self.assertEqual(("r7:ens3f0np0", "link_went_down"), (name, kind), begin)
            if at is None:
                self.assertTrue(first != first, begin)
            else:
                self.assertAlmostEqual(at, first, places=3, msg=begin)

    def test_what_lines_say(self):
        for line, said in (
                ("Nov 19 10:57:07 r7 Ebra: %LINEPROTO-5-UPDOWN: Line protocol on Interface Ethernet9/1, changed state to down", ("r7:Ethernet9/1", "link_went_down")),
                ("Nov 19 10:57:07 r7 Ebra: %LINEPROTO-5-UPDOWN: Line protocol on Interface Ethernet9/1 (to spine2 Et3), changed state to up", ("r7:Ethernet9/1", "link_came_up")),
                ("Nov 19 10:57:07 r7 Ebra: %ETH-4-ERRDISABLE: link-flap error detected on Ethernet9/1.", ("r7:Ethernet9/1", "port_disabled", -1, "link-flap")),
                ("2026 Nov 19 10:57:07 r7 %ETHPORT-5-IF_DOWN_LINK_FAILURE: Interface Ethernet1/9 is down (Link failure)", ("r7:Ethernet1/9", "link_went_down")),
                ("2026 Nov 19 10:57:07.801 r7 %ETHPORT-5-IF_DOWN_ADMIN_DOWN: Interface Ethernet1/9 is down (Administratively down)", ("r7:Ethernet1/9", "port_shut")),
                ("Nov 19 10:57:09 r7 : 2026 Nov 19 10:57:07 UTC: %ETHPORT-5-IF_UP: Interface Ethernet1/9 is up in mode trunk", ("r7:Ethernet1/9", "link_came_up")),
                ("Nov 19 10:57:07  r7 mib2d[4086]: SNMP_TRAP_LINK_DOWN: ifIndex 550, ifAdminStatus up(1), ifOperStatus down(2), ifName et-0/0/7", ("r7:et-0/0/7", "link_went_down")),
                ("Nov 19 10:57:07  r7 mib2d[4086]: SNMP_TRAP_LINK_DOWN: ifIndex 550, ifAdminStatus down(2), ifOperStatus down(2), ifName et-0/0/7", ("r7:et-0/0/7", "port_shut")),
                ("2026 Nov 19 10:57:07.006966 r7 NOTICE swss#orchagent: :- updatePortOperStatus: Port Ethernet48 oper state set from up to down", ("r7:Ethernet48", "link_went_down")),
                ("2026 Nov 19 10:57:07.006966 r7 NOTICE swss#orchagent: :- updatePortErrorStatus: Port Ethernet48 oper error event: mac_remote_fault occurred",
                 ("r7:Ethernet48", "line_fault", -1, "mac_remote_fault")),
                ("Nov 19 10:57:07.006966 r7 " + STORM.format("report_pfc_storm", "detected PFC storm on"), ("r7:Ethernet48", "storm_began", 4)),
                ("Nov 19 10:57:07.006966 r7 " + STORM.format("report_pfc_restored", "storm restored on"), ("r7:Ethernet48", "storm_ended", 4)),
                ("Nov 19 10:57:07.006966 r7 NOTICE swss#orchagent: :- registerInWdDb: No lossless TC found on port Ethernet48", ("r7:Ethernet48", "class_missing")),
                ("Nov 19 10:57:07.006966 r7 ERR swss#orchagent: :- createEntry: Failed to start PFC Watchdog on port Ethernet48", ("r7:Ethernet48", "watchdog_off")),
                ("[  821.220120] mlx5_core 0000:5e:00.1: print_health_info:423:(pid 0): synd 0x8: unrecoverable hardware error",
                 ("r7", "adapter_failed", -1, "synd 0x8: unrecoverable hardware error (0000:5e:00.1)")),
                ("[   12.5] mlx5_core 0000:5e:00.1: probe_one:1764:(pid 9): mlx5_init_one failed with error code -110", ("r7", "driver_failed", -1, "start failed, error -110 (0000:5e:00.1)")),
                ("[   12.5] mlx5_core: probe of 0000:5e:00.1 failed with error -110", ("r7", "driver_failed", -1, "start failed, error -110 (0000:5e:00.1)")),
                ("mlx5_core: Port module event[error]: module 1, Cable error, Bus stuck(I2C or data shorted)",
                 ("r7", "optic_alarm", -1, "cable error Bus stuck(I2C or data shorted")),
                ("[  900.1] mlx5_core 0000:5e:00.1: Port module event[error]: module 1, Cable error, Bad or shorted cable/module",
                 ("r7", "optic_alarm", -1, "cable error Bad or shorted cable/module (0000:5e:00.1)")),
                ("[  900.1] bnxt_en 0000:18:00.0 enp24s0f0np0: Error (timeout: 500015) msg {0x41 0x3} len:0",
                 ("r7:enp24s0f0np0", "adapter_failed", -1, "a command to its firmware had no answer")),
                ("[  900.1] ice 0000:17:00.1 ens2f1: NIC Link is Down", ("r7:ens2f1", "link_went_down")),
                ("[  900.1] bond4: (slave ens2f1): link status definitely down, disabling slave", ("r7:ens2f1", "link_went_down")),
                ("[  900.1] pcieport 0000:16:02.0: AER: Uncorrected (Fatal) error received: 0000:17:00.0", ("r7", "bus_error", -1, "uncorrected error, Fatal (0000:17:00.0)")),
                ("[  900.1] NVRM: Xid (PCI:0000:ba:00): 79, pid=8123, GPU has fallen off the bus.", ("r7", "gpu_failed", -1, "Xid 79, the GPU has fallen off the bus (0000:ba:00)")),
                ("[  900.1] NVRM: Xid (PCI:0000:ba:00): 74, pid=8123, NVLink: fatal error detected on link 6", ("r7", "gpu_failed", -1, "Xid 74, NVLink error (0000:ba:00)")),
                ("[  900.1] Out of memory: Killed process 8123 (trainer) total-vm:9kB, anon-rss:8kB", ("r7", "killed", -1, "out of memory (trainer)")),
                ("[  900.1] blk_update_request: I/O error, dev nvme2n1, sector 4096 op 0x0", ("r7", "storage_error", -1, "input or output failed (nvme2n1)")),
                ("[  900.1] watchdog: BUG: soft lockup - CPU#12 stuck for 23s! [python:99]", ("r7", "host_fault", -1, "a processor hangs (CPU#12)")),
        ):
            self.assertEqual(said, self.one(line)[:len(said)], line)

    def test_everyday(self):
        """Lines without trouble are a log's everyday; one of a driver that no pattern fits is said to be not understood."""
        shown = self.read("Nov 19 10:57:07 r7 sshd[22]: Accepted publickey for ops", "Nov 19 10:57:07 r7 kernel: mlx5_core 0000:5e:00.0: firmware version: 28.39.1002",
                          "Nov 19 10:57:08 r7 CRON[1]: (root) CMD (true)", "Nov 19 10:57:09 r7 kernel: mlx5_core 0000:5e:00.0: a word that nobody knows",
                          "Nov 19 10:57:09 r7 nfsd[3]: server failed")
        self.assertEqual([], shown.event)
        self.assertEqual([["log", "5", "2"]], shown.unknown)

    def test_twice_said(self):
        """The driver and the bond above it say the same thing; a minute later it is another."""
        shown = self.read("Nov 19 10:57:07 r7 kernel: mlx5_core 0000:5e:00.0 ens3f0np0: Link down",
                          "Nov 19 10:57:07 r7 kernel: bond0: (slave ens3f0np0): link status definitely down, disabling slave",
                          "Nov 19 10:57:11 r7 kernel: mlx5_core 0000:5e:00.0 ens3f0np0: Link up", "Nov 19 10:58:07 r7 kernel: mlx5_core 0000:5e:00.0 ens3f0np0: Link down")
        self.assertEqual({("link_went_down", "2"), ("link_came_up", "1")}, {(event[1], event[6]) for event in shown.event})

    def test_many_machines(self):
        """A collector's file says of each line whose it is; a folder's name is stronger."""
        lines = ["Nov 19 10:57:07 n1 kernel: mlx5_core 0000:5e:00.0 ens3f0np0: Link down", "Nov 19 10:57:08 n2 kernel: mlx5_core 0000:5e:00.0 ens3f0np0: Link down"]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "messages"
            path.write_text("\n".join(lines) + "\n")
            self.assertEqual(["n1:ens3f0np0", "n2:ens3f0np0"], [event[0] for event in Evidence(path).event])
        self.assertEqual(["r7:ens3f0np0"], [event[0] for event in self.read(*lines).event])


if __name__ == "__main__":
    unittest.main()
