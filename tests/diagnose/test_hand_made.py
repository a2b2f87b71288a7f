#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Texts as operators paste them into a mail: one look, one or two devices, no fabric file."""
import json
import shutil
import unittest

from support import Case, rocelab

# Two servers' ports: PFC was not negotiated on the first, whose other counters say what came of it.
NXOS_PFC = """leaf1# show interface priority-flow-control
slot  1
=======

============================================================
Port               Mode Oper(VL bmap)  RxPPP      TxPPP
============================================================

Ethernet1/1        Auto Off            7316       762946
Ethernet1/2        Auto On   (8)       104        95
Ethernet1/3        Auto Off            0          0
"""
NXOS_QUEUING = """leaf1# show queuing interface ethernet 1/1

Egress Queuing for Ethernet1/1 [System]
------------------------------------------------------------------------------
QoS-Group# Bandwidth% PrioLevel                Shape                   QLimit
                                   Min          Max        Units
------------------------------------------------------------------------------
      3         50          -           -            -     -            7(D)

Ingress Queuing for Ethernet1/1
-----------------------------------------------------
QoS-Group#                 Pause
           Buff Size       Pause Th      Resume Th
-----------------------------------------------------
      3          -               -            -

Port Ingress Statistics
--------------------------------------------------------
Hw Drop Pkts                            0
Low Drop Pkts                           0
Ingress MMU Drop Pkts                   51873
Ingress MMU Drop Bytes                  217866600
"""
NCCL = """h0:2211:2245 [0] transport/net_ib/p2p.cc:1213 NCCL WARN NET/IB: Got completion from peer 10.0.0.2<48912> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_RDMA_WRITE(1) vendor_err=129 localGid ::ffff:10.0.0.1 remoteGids ::ffff:10.0.0.2 hca mlx5_0
"""
EOS_INTERFACES = """leaf1#show interfaces
Ethernet5/1 is up, line protocol is up (connected)
  Description: spine1:Ethernet3/1
  Full-duplex, 400Gb/s, auto negotiation: off, uni-link: n/a
  Up 12 seconds
  82 link status changes since last clear
     2400000 packets input, 9400000000 bytes
Ethernet6/1 is up, line protocol is up (connected)
  Full-duplex, 400Gb/s, auto negotiation: off, uni-link: n/a
  1 link status changes since last clear
     2500000 packets input, 9500000000 bytes
"""
LLDP = """leaf1# show lldp neighbors
Capability codes:
  (R) Router, (B) Bridge, (T) Telephone, (C) DOCSIS Cable Device
Device ID            Local Intf      Hold-time  Capability  Port ID
h0                   Eth1/1          120                    mlx5_0
Total entries displayed: 1
"""


class HandMade(Case):
    def diagnose(self, *files, time=0):
        """Findings of device, name and text of each file, and of what was there at earlier times."""
        for device, name, text in files:
            place = self.folder / "dumps" / str(time) / device
            place.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(text)
        done = rocelab("diagnose", "--json", self.folder / "dumps")
        findings = json.loads(done.stdout)["findings"]
        self.assertEqual(1 if findings else 3, done.returncode, "one look acquits nobody: " + done.stderr)
        return findings

    def test_pfc_was_not_negotiated(self):
        found = self.diagnose(("leaf1", "pfc.txt", NXOS_PFC))
        self.assertEqual([(one["rule"], one["culprit"], one["confidence"]) for one in found], [("D08", "leaf1:Ethernet1/1", "weak")])
        self.assertIn(762946, [evidence["value"] for evidence in found[0]["evidence"]])
        self.assertTrue(all(evidence["file"].endswith("pfc.txt") and evidence["line"] for evidence in found[0]["evidence"]))

    def test_and_packets_were_dropped(self):
        found = self.diagnose(("leaf1", "pfc.txt", NXOS_PFC), ("leaf1", "queuing.txt", NXOS_QUEUING))
        self.assertEqual([(one["rule"], one["culprit"], one["severity"]) for one in found], [("D08", "leaf1:Ethernet1/1", "critical")])
        self.assertIn("PFC is off on it", found[0]["what"])
        self.assertIn(51873, [evidence["value"] for evidence in found[0]["evidence"]])

    def test_counters_of_one_look_may_be_years_old(self):
        """Errors, flaps, drops by MTU: nobody knows when.  What is so now is found all the same."""
        old = "NIC statistics:\n     rx_crc_errors_phy: 90\n     link_down_events_phy: 70\n     rx_oversize_pkts_phy: 60\n     rx_packets_phy: 1000000000\n"
        self.assertEqual([], self.diagnose(("h0", "ethtool_-S_eth0.txt", old)))
        answer = json.loads(rocelab("diagnose", "--json", self.folder / "dumps").stdout)
        self.assertIn("one look gives no rates", " ".join(answer["missing"]))

    def test_a_large_share_of_all_that_was_ever_received(self):
        """It is no burst of years ago: found, weak, never critical, and called what it is."""
        for name, text, limit in (("crc", "rx_crc_errors_phy: {}", 10**4), ("mtu", "rx_oversize_pkts_phy: {}", 5 * 10**5)):
            for count, rules in ((limit - limit // 10, []), (limit + limit // 10, ["D13" if name == "crc" else "D16"])):
                shutil.rmtree(self.folder / "dumps", ignore_errors=True)
                found = self.diagnose(("h0", "ethtool_-S_eth0.txt", f"NIC statistics:\n     {text.format(count)}\n     rx_packets_phy: {10**9 - count}\n"))
                self.assertEqual(rules, [one["rule"] for one in found], (name, count))
                for one in found:
                    self.assertEqual(("weak", "warning"), (one["confidence"], one["severity"]))
                    self.assertIn("all that since the counters were cleared", one["what"])

    def test_a_link_of_eos_that_goes_up_and_down(self):
        self.assertEqual([], self.diagnose(("leaf1", "interfaces.txt", EOS_INTERFACES)))
        later = EOS_INTERFACES.replace("82 link", "86 link")
        [flap] = self.diagnose(("leaf1", "interfaces.txt", later), time=10)
        self.assertEqual((flap["rule"], flap["culprit"]), ("D19", "leaf1:Ethernet5/1"))
        [downs] = [one for one in flap["evidence"] if one["counter"] == "link_down_events"]
        self.assertEqual(downs["value"], 2)

    def test_status_12(self):
        found = self.diagnose(("h0", "nccl.txt", NCCL))
        self.assertEqual([(one["rule"], one["culprit"]) for one in found], [("D14", "h0:mlx5_0")])
        self.assertEqual(found[0]["confidence"], "weak")

    def test_status_12_behind_a_port_without_pfc(self):
        found = self.diagnose(("leaf1", "pfc.txt", NXOS_PFC), ("leaf1", "lldp.txt", LLDP), ("h0", "nccl.txt", NCCL))
        [loss] = [one for one in found if one["rule"] == "D08"]
        self.assertEqual((loss["culprit"], loss["victims"], loss["severity"]), ("leaf1:Ethernet1/1", ["h0:mlx5_0"], "critical"))


if __name__ == "__main__":
    unittest.main()
