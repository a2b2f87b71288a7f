# SPDX-License-Identifier: Apache-2.0
"""What people paste of a host: pieces of ethtool, RDMA tools, priorities, InfiniBand's counters, PCIe and NVLink."""
import pathlib
import tempfile
import unittest

from shown import Evidence


class Hosts(unittest.TestCase):
    def read(self, text, name="paste.txt"):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "0" / "n3" / name
            path.parent.mkdir(parents=True)
            path.write_text(text)
            shown = Evidence(folder)
        self.assertEqual([], shown.unknown, text)
        return shown

    def values(self, text, wanted, name="paste.txt"):
        shown = self.read(text, name)
        for (port, counter, *priority), value in wanted.items():
            self.assertEqual(value, shown.get(f"n3:{port}", counter, *priority), (port, counter, text))
        return shown

    def events(self, shown):
        return [(event[0], event[1], event[5]) for event in shown.event]

    def test_pieces_of_statistics(self):
        """What a grep left, with indentation and without; notes behind numbers; rings are summed."""
        self.values("rx_prio3_pause: 17\n     tx_prio3_pause: 40921   <- sent\nrx_discards_phy: 3\nmodule_high_temp: 2\n",
                    {("ens2f0", "rx_pause_frames", 3): 17, ("ens2f0", "tx_pause_frames", 3): 40921, ("ens2f0", "rx_discards"): 3, ("ens2f0", "optic_hot_events"): 2,
                     ("ens2f0", "temperature"): None}, "ethtool_-S_ens2f0.txt")
        self.values("     rx_pfc_ena_frames_pri5: 11\n     [0]: rx_discards: 5\n     [1]: rx_ucast_packets: 9\n     [1]: rx_discards: 7\n",
                    {("p2p1", "ring_drops"): 12, ("p2p1", "rx_pause_frames", 5): 11}, "ethtool_-S_p2p1.txt")
        self.values("rx_pripause_4_1us_count: 250\nframes_rx_pripause: 6\n", {("benic1p1", "rx_pause_time", 4): 250000, ("benic1p1", "port_rx_pause_frames"): 6},
                    "ethtool_-S_benic1p1.txt")
        self.values("     rx_pause_frames: 88\n", {("NIC", "port_rx_pause_frames"): 88})

    def test_statistics_without_their_head(self):
        """The first name of a list begins it; where nobody says the interface it is the host's NIC."""
        self.values("rx_packets: 91\nrx_lro_packets: 0\ntx_tso_packets: 7\nlink_down_events_phy: 0\nrx_out_of_buffer: 0\n", {("NIC", "port_rx_packets"): 91, ("NIC", "link_down_events"): 0})

    def test_hw_counters(self):
        self.values("Port 1 hw counters:\nlocal_ack_timeout_err: 9\nlifespan: 12\nnp_cnp_sent: 31\n", {("mlx50", "local_ack_timeout_err"): 9, ("mlx50", "np_cnp_sent"): 31},
                    "show_counters_mlx50.txt")
        self.values("out_of_sequence: 4\npacket_seq_err: 2\nresp_cqe_error: 0\n", {("NIC", "out_of_sequence"): 4, ("NIC", "packet_seq_err"): 2})

    def test_what_runbooks_tell_people_to_type(self):
        """Greps of docs/runbooks leave pieces: one name and number a line, below the link's name or without it."""
        self.values("link mlx5_0/1\nout_of_sequence 4\npacket_seq_err 7\nlink mlx5_1/1\nout_of_sequence 9\n",
                    {("mlx5_0", "out_of_sequence"): 4, ("mlx5_0", "packet_seq_err"): 7, ("mlx5_1", "out_of_sequence"): 9})
        self.values("np_cnp_sent 31\nrp_cnp_handled 29\n", {("NIC", "np_cnp_sent"): 31, ("NIC", "rp_cnp_handled"): 29})
        self.values("ens2f0           UP             02:00:00:00:00:07 <BROADCAST,MULTICAST,UP,LOWER_UP>\nens2f1           DOWN           02:00:00:00:00:08 <NO-CARRIER,BROADCAST,MULTICAST,UP>\n",
                    {("ens2f0", "link_up"): 1, ("ens2f1", "link_up"): 0})
        self.read("/sys/class/net/ens2f0/ecn/roce_rp/rpg_time_reset:300\n/sys/class/net/ens2f0/ecn/roce_rp/enable/3:1\n")
        self.read("\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported\n\t\tLnkSta:\tSpeed 32GT/s, Width x16\n\t\t\tMaxPayload 512 bytes, MaxReadReq 4096 bytes\n"
                  "\t\tACSCtl:\tSrcValid- TransBlk- ReqRedir- CmpltRedir-\n")
        self.read("Field Name          | Data       \n==================================\nroce_adp_retrans_en | 0x00000001\nroce_tx_window_en   | 0x00000000\n")

    def test_ports_of_infiniband(self):
        """A port of InfiniBand has its subnet first; one without a LID that is disabled is a virtual function without a state."""
        text = ("link mlx5_4/1 subnet_prefix fe80:0000:0000:0000 lid 12 sm_lid 3 lmc 0 state ACTIVE physical_state LINK_UP\n"
                "link mlx5_9/1 subnet_prefix fe80:0000:0000:0000 lid 65535 sm_lid 0 lmc 0 state DOWN physical_state DISABLED\n"
                "link mlx5_10/1 state DOWN physical_state DISABLED netdev ens3f1np1\n")
        shown = self.values(text, {("mlx5_4", "link_up"): 1, ("mlx5_9", "link_up"): 0, ("ens3f1np1", "link_up"): 0})
        self.assertEqual([("n3:mlx5_9", "port_down", "disabled by setting, without a LID")], self.events(shown))

    def test_links_of_infiniband(self):
        """Each end says whether its link is up and who is behind it; what switches count with themselves is nobody's."""
        shown = self.read("CA: gx3 HCA-2:\n      0x0002c9030a0b0c01     11    1[  ] ==( 4X      25.78125 Gbps Active/  LinkUp)==>       2    7[  ] \"MF0;isw9:QM8700/U1\" ( )\n"
                          "CA: Mellanox Technologies Aggregation Node:\n      0x0002c9030a0b0c09      8    1[  ] ==( 4X        53.125 Gbps Active/  LinkUp)==>       2   41[  ] \"MF0;isw9:QM8700/U1\" ( )\n"
                          "Switch: 0x0002c9030a0b0cff MF0;isw9:QM8700/U1:\n           2    6[  ] ==(                Down/ Polling)==>             [  ] \"\" ( )\n"
                          "           2    7[  ] ==( 4X      25.78125 Gbps Active/  LinkUp)==>      11    1[  ] \"gx3 HCA-2\" ( )\n"
                          "           2    8[  ] ==( 1X      25.78125 Gbps Active/  LinkUp)==>      14    1[  ] \"gx4 HCA-1\" ( Could be 4X)\n")
        self.assertEqual([1, 0, 1, 1], [shown.get(name, "link_up") for name in ("gx3:port1", "MF0;isw9:QM8700/U1:port6", "MF0;isw9:QM8700/U1:port7", "MF0;isw9:QM8700/U1:port8")])
        self.assertEqual("MF0;isw9:QM8700/U1:port7", shown.peer["gx3:port1"])
        self.assertEqual([("MF0;isw9:QM8700/U1:port8", "line_fault", "Could be 4X")], self.events(shown))

    def test_settings(self):
        self.values("Settings for ens2f0:\n\tSupported ports: [ FIBRE ]\n\tSupported link modes:   25000baseCR/Full\n\t                        100000baseCR4/Full\n"
                    "\tSpeed: 25000Mb/s\n\tLink detected: no (No cable)\n", {("ens2f0", "rate"): 25000000000, ("ens2f0", "link_up"): 0})
        self.values("FEC parameters for ens2f0:\nConfigured FEC encodings: RS\nActive FEC encoding: RS\nStatistics:\n  corrected_blocks: 256\n    Lane 0: 255\n"
                    "  uncorrectable_blocks: 145\n", {("ens2f0", "fec_corrected"): 256, ("ens2f0", "fec_uncorrected"): 145})
        self.values("3: ens2f0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 qdisc mq state UP mode DEFAULT group default qlen 1000\n    link/ether 02:00:00:00:00:07 brd ff:ff:ff:ff:ff:ff\n"
                    "    RX:  bytes packets errors dropped  missed   mcast\n      90000     100      0       2      13       0\n    TX:  bytes packets errors dropped carrier collsns\n"
                    "      70000      80      0       0       0       0\n",
                    {("ens2f0", "mtu"): 9000, ("ens2f0", "link_up"): 1, ("ens2f0", "port_rx_packets"): 100, ("ens2f0", "ring_drops"): 13, ("ens2f0", "port_tx_bytes"): 70000})

    def test_module(self):
        text = ("\tIdentifier                                : 0x18 (QSFP-DD Double Density 8X Pluggable Transceiver)\n\tConnector                                 : 0x28 (MPO 1x12)\n"
                "\tModule temperature                        : {} degrees C / 158.00 degrees F\n\tModule temperature high alarm             : {}\n"
                "\tLaser rx power low alarm   (Channel 1)    : Off\n\tModule temperature high alarm threshold   : 75.00 degrees C / 167.00 degrees F\n")
        shown = self.values(text.format("61.50", "Off"), {("ens2f0", "temperature"): 61}, "ethtool_-m_ens2f0.txt")
        self.assertEqual([], shown.event)
        self.assertEqual([("n3:ens2f0", "optic_alarm", "Module temperature high alarm"), ("n3:ens2f0", "optic_alarm", "77.0 degrees, the alarm is at 75.0")],
                         self.events(self.read(text.format("77.00", "On"), "ethtool_-m_ens2f0.txt")))

    def test_adapters(self):
        shown = self.values("CA 'mlx5_0'\n\tCA type: MT4129\n\tNumber of ports: 1\n\tFirmware version: 28.39.1002\n\tPort 1:\n\t\tState: Active\n\t\tPhysical state: LinkUp\n\t\tRate: 400\n"
                            "\t\tLink layer: Ethernet\nCA 'mlx5_1'\n\tNumber of ports: 1\n\tPort 1:\n\t\tState: Down\n\t\tPhysical state: Disabled\n\t\tRate: 40\n",
                            {("mlx5_0", "link_up"): 1, ("mlx5_0", "rate"): 400000000000, ("mlx5_1", "link_up"): 0, ("mlx5_1", "rate"): None})
        self.assertEqual([("n3:mlx5_1", "port_down", "-")], self.events(shown))
        self.values("Infiniband device 'mlx5_4' port 1 status:\n\tdefault gid:\t fe80:0000:0000:0000:0200:00ff:fe00:0007\n\tbase lid:\t 0x0\n\tstate:\t\t 4: ACTIVE\n"
                    "\tphys state:\t 5: LinkUp\n\trate:\t\t 100 Gb/sec (4X EDR)\n\tlink_layer:\t Ethernet\n", {("mlx5_4", "link_up"): 1, ("mlx5_4", "rate"): 100000000000})
        shown = self.values("hca_id:\tmlx5_bond_0\n\ttransport:\t\t\tInfiniBand (0)\n\tphys_port_cnt:\t\t\t2\n\t\tport:\t1\n\t\t\tstate:\t\t\tPORT_ACTIVE (4)\n\t\t\tmax_mtu:\t\t4096 (5)\n"
                            "\t\tport:\t2\n\t\t\tstate:\t\t\tPORT_DOWN (1)\n\t\t\tGID[  0]:\t\tfe80::1, RoCE v1\n", {("mlx5_bond_0", "link_up"): 1, ("mlx5_bond_0/2", "link_up"): 0})
        self.assertEqual([("n3:mlx5_bond_0/2", "port_down", "-")], self.events(shown))
        self.values("mlx5_0 port 1 ==> ens2f0 (Up)\n0000:3b:00.1 mlx5_1 (MT4129 - X1) CX7 fw 28.39.1002 port 1 (DOWN  ) ==> ens2f1 (Down)\n",
                    {("ens2f0", "link_up"): 1, ("ens2f1", "link_up"): 0})

    def test_ip_over_infiniband(self):
        """Interfaces of InfiniBand that are all down say that nobody uses IP there."""
        self.assertEqual([], self.read("mlx5_0 port 1 ==> ib0 (Down)\nmlx5_1 port 1 ==> ib1 (Down)\nmlx5_2 port 1 ==> ens2f0 (Up)\n").event)
        self.assertEqual([("n3:ib0", "port_down", "-")], self.events(self.read("mlx5_0 port 1 ==> ib0 (Down)\nmlx5_1 port 1 ==> ib1 (Up)\n")))

    def test_gids(self):
        head = "DEV     PORT    INDEX   GID                                     IPv4            VER     DEV\n---     ----    -----   ---                                     ------------    ---     ---\n"
        local = "mlx5_0  1       0       fe80:0000:0000:0000:0200:00ff:fe00:0007                 v1      ens2f0\nmlx5_0  1       1       fe80:0000:0000:0000:0200:00ff:fe00:0007                 v2      ens2f0\n"
        routed = "mlx5_0  1       3       0000:0000:0000:0000:0000:ffff:0a01:0203 10.1.2.3        v2      ens2f0\nn_gids_found=3\n"
        self.assertEqual([], self.read(head + local + routed).event)
        self.assertEqual([("n3:mlx5_0", "gid_wrong", "no RoCEv2 GID but link-local ones")], self.events(self.read(head + local)))

    def test_infiniband(self):
        self.values("# Port extended counters: Lid 41 port 3 (CapMask: 0x5A00 CapMask2: 0x0000002)\nPortSelect:......................3\nCounterSelect:...................0x0000\n"
                    "PortXmitData:....................1000\nSymbolErrorCounter:..............7\nLinkDownedCounter:...............2\nPortXmitWait:....................99\n",
                    {("lid41/3", "port_tx_bytes"): 4000, ("lid41/3", "symbol_errors"): 7, ("lid41/3", "link_down_events"): 2, ("lid41/3", "PortXmitWait"): 99})
        shown = self.read("Errors for 0x200007 \"rack4-leaf2\"\n   GUID 0x200007 port ALL: [SymbolErrorCounter == 9]\n   GUID 0x200007 port 12: [SymbolErrorCounter == 9] [PortXmitDiscards == 4]\n"
                          "\n## Summary: 12 nodes checked, 1 bad nodes found\n")
        self.assertEqual((9, 4), (shown.get("rack4-leaf2:port12", "symbol_errors"), shown.get("rack4-leaf2:port12", "PortXmitDiscards")))
        shown = self.read("-I- Using port 1 as the local port\n-W- rack4-leaf2/P12 - symbol_error_counter increased during the run\n-E- Links check finished with errors\n")
        self.assertEqual(["symbol_error_counter" in detail for _, _, detail in self.events(shown)], [True, False])

    def test_priorities(self):
        qos = "DCBX mode: OS controlled\nPriority trust state: dscp\ndscp2prio mapping:\n\tprio:0 dscp:07,06,05,04,03,02,01,00,\nReceive buffer size (bytes): 130944,130944,0,0,0,0,0,0,\n" \
              "Cable len: 7\nPFC configuration:\n\tpriority    0   1   2   3   4   5   6   7\n\tenabled     0   0   0   {}   0   0   0   0   \n\tbuffer      0   0   0   1   0   0   0   0   \n" \
              "tc: 0 ratelimit: unlimited, tsa: vendor\n\t priority:  1\n"
        dcb = "pfc-cap 8 macsec-bypass off delay 0\nprio-pfc 0:off 1:off 2:off 3:{} 4:off 5:off 6:off 7:off\n"
        lldp = "IEEE 8021QAZ ETS Configuration TLV\n\t Willing: yes\n\t CBS: not supported\nIEEE 8021QAZ PFC TLV\n\t Willing: yes\n\t PFC capable traffic classes: 8\n\t PFC enabled: {}\nEnd of LLDPDU TLV\n"
        for text, on, off in ((qos, "1", "0"), (dcb, "on", "off"), (lldp, "3", "none")):
            shown = self.values(text.format(on), {("ens2f0", "pfc", 3): 1, ("ens2f0", "pfc", 4): 0}, "qos_ens2f0.txt")
            self.assertEqual([], shown.event)
            self.assertEqual([("n3:ens2f0", "pfc_off", "-")], self.events(self.read(text.format(off), "qos_ens2f0.txt")))

    def test_bus(self):
        text = "{} controller: Maker [Model 7]\n\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported\n\tLnkSta:\tSpeed 32GT/s, Width x8 (downgraded)\n"
        self.assertEqual([("n3", "bus_error", "PCIe link below what it could: Speed 32GT/s, Width x8 (downgraded) at 3b:00.0")], self.events(self.read(text.format("3b:00.0 Ethernet"))))
        self.assertEqual([], self.read(text.format("3b:00.0 3D")).event)
        self.values("Operational Info\n----------------\nState                           : Active\nPhysical state                  : LinkUp\nSpeed                           : 400G\n\n"
                    "Physical Counters and BER Info\n------------------------------\nEffective Physical Errors       : 3\nRaw Physical BER                : 2E-5\nLink Down Counter               : 4\n",
                    {("mlx50", "rate"): 400000000000, ("mlx50", "fec_uncorrected"): 3, ("mlx50", "link_down_events"): 4}, "mlxlink_mlx50.txt")
        nvlink = "GPU 0: Maker X9 (UUID: GPU-0a)\n\t Link 0: Replay Errors: 0\n\t Link 0: CRC Errors: {}\n"
        self.assertEqual([], self.read(nvlink.format(0)).event)
        self.assertEqual([("n3", "line_fault", "NVLink of GPU 0, Link 0: CRC Errors: 12")], self.events(self.read(nvlink.format(12))))
        self.assertEqual([], self.read("\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tNV18\tPIX\t0-55\t0\nGPU1\tNV18\t X \tSYS\t0-55\t0\n\nLegend:\n\n"
                                       "  X    = Self\n  SYS  = Connection traversing PCIe as well as the SMP interconnect\n  NV#  = Connection traversing a bonded set of # NVLinks\n\n"
                                       "NIC Legend:\n\n  NIC0: mlx5_0\n").event)


if __name__ == "__main__":
    unittest.main()
