# SPDX-License-Identifier: Apache-2.0
"""`sim --dump`: layouts of the switches, and counters that subtract to those of the run."""
import unittest

from dumps import BEGIN, PORTS, SWITCHES, Case, Dump, number, table


class Sonic(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.dump = Dump("sonic", cls.folder.name)
        cls.switches = SWITCHES

    def port(self, switch, name):
        return {"port": f"{switch}:{int(name.removeprefix('Ethernet')) // 4}"}

    def cells(self, name, key, columns):
        """{(switch, port, column or (row, column)): value} of a file's tables."""
        def read(time):
            values = {}
            for switch in self.switches:
                for row in table(self.dump.text(switch, name, time)):
                    own = next((column for column in row if key in column))
                    for column in columns:
                        if column in row and row[column] != "N/A":
                            values[switch, row[own], row.get("TxQ") or row.get("Priority") or own, column] = number(row[column])
            return values
        return self.dump.grown(read)

    def prio(self, metric, switch, port, prio):
        return self.metrics.sum(f"rocelab_switch_{metric}", priority=prio, **self.port(switch, port))

    def test_pfc(self):
        def expected(switch, port, title, column):
            names = ("rx_xoff", "rx_xon") if title == "Port Rx" else ("tx_xoff", "tx_xoff_refresh", "tx_xon")
            return sum(self.prio(f"{name}_total", switch, port, column[3:]) for name in names)

        grown, first = self.cells("show_pfc_counters.txt", "Port", [f"PFC{p}" for p in range(8)])
        self.assertEqual(len(grown), 2 * 8 * PORTS)
        self.assertGreater(self.agree(grown, expected, "show pfc counters"), 10)
        self.assertGreater(sum(value != 0 for value in first.values()), len(first) * 0.9, "counters begin above 0")
        text = self.dump.text("leaf0", "show_pfc_counters.txt").splitlines()
        self.assertEqual(text[0], "   Port Rx    PFC0    PFC1    PFC2    PFC3    PFC4    PFC5    PFC6    PFC7")
        self.assertEqual(text[1], "----------" + "  ------" * 8)

        def paused(switch, port, prio, column):
            return self.metrics.us("rocelab_switch_rx_pause_seconds_total", priority=prio[3:], **self.port(switch, port))

        grown, _ = self.cells("show_pfc_counters_--history.txt", "Port", ["Total RX Pause Time US"])
        self.assertGreater(self.agree(grown, paused, "history"), 3)

    def test_queues(self):
        def expected(switch, port, queue, column):
            metric = {"Counter/pkts": "tx_packets", "Counter/bytes": "tx_bytes", "EcnMarked/pkts": "ecn_marked"}
            if column in metric:
                return self.prio(f"{metric[column]}_total", switch, port, queue[2:])
            egress = sum(self.metrics.sum("rocelab_switch_port_drops_total", reason=reason, **self.port(switch, port))
                         for reason in ("egress", "port_down", "watchdog"))
            return egress if self.prio("drops_total", switch, port, queue[2:]) else 0

        grown, _ = self.cells("show_queue_counters.txt", "Port", ["Counter/pkts", "Counter/bytes", "Drop/pkts"])
        self.assertGreater(self.agree(grown, expected, "show queue counters"), 50)
        self.assertGreater(grown["leaf0", "Ethernet8", "UC3", "Drop/pkts"], 0, "the watchdog dropped there")
        grown, _ = self.cells("show_queue_wredcounters.txt", "Port", ["EcnMarked/pkts"])
        self.assertGreater(self.agree(grown, expected, "show queue wredcounters"), 1)

    def test_groups(self):
        def drops(switch, port, _, column):
            buffer = sum(self.metrics.sum("rocelab_switch_port_drops_total", reason=reason, **self.port(switch, port))
                         for reason in ("buffer", "headroom"))
            return buffer if self.prio("drops_total", switch, port, column[2:]) else 0

        def watermark(metric):
            return lambda switch, port, _, column: metric(switch, port, column[2:])

        groups = [f"PG{p}" for p in range(8)]
        grown, _ = self.cells("show_priority-group_drop_counters.txt", "Port", groups)
        self.assertGreater(self.agree(grown, drops, "show priority-group drop counters"), 0)
        for name, titles, metric in (
                ("queue_watermark_unicast", [f"UC{p}" for p in range(8)], lambda *at: self.prio("queue_max_bytes", *at)),
                ("priority-group_watermark_headroom", groups, lambda *at: self.prio("headroom_max_bytes", *at)),
                ("priority-group_watermark_shared", groups,
                 lambda *at: self.prio("pg_max_bytes", *at) - self.prio("headroom_max_bytes", *at))):
            grown, first = self.cells(f"show_{name}.txt", "Port", titles)
            self.assertEqual(set(first.values()), {0}, "watermarks were cleared")
            self.assertGreater(self.agree(grown, watermark(metric), name), 2)

    def test_interfaces(self):
        def expected(switch, port, _, column):
            at = self.port(switch, port)
            drops = {reason: self.metrics.sum("rocelab_switch_port_drops_total", reason=reason, **at) for reason in
                     ("ttl", "no_route", "buffer", "headroom", "unknown", "flood", "not_mine", "mtu", "egress", "port_down",
                      "watchdog")}
            out = drops["egress"] + drops["port_down"] + drops["watchdog"]
            return {"RX_OK": lambda: self.metrics.sum("rocelab_switch_port_rx_packets_total", **at),
                    "TX_OK": lambda: self.metrics.sum("rocelab_switch_port_tx_packets_total", **at),
                    "RX_ERR": lambda: self.metrics.sum("rocelab_link_crc_errors_total", **at),
                    "FEC_UNCORR": lambda: self.metrics.sum("rocelab_link_crc_errors_total", **at),
                    "Flap Count": lambda: self.metrics.sum("rocelab_link_down_total", **at),
                    "RX_DRP": lambda: sum(drops.values()) - out - drops["mtu"], "RX_OVR": lambda: drops["mtu"],
                    "TX_DRP": lambda: out, "TX_ERR": lambda: 0, "TX_OVR": lambda: 0}[column]()

        errors = ["RX_ERR", "RX_DRP", "RX_OVR", "TX_ERR", "TX_DRP", "TX_OVR"]
        for name, key, columns, least in (("counters", "IFACE", ["RX_OK", "TX_OK", *errors], 20),
                                          ("counters_errors", "IFACE", errors, 3),
                                          ("counters_fec-stats", "IFACE", ["FEC_UNCORR"], 1),
                                          ("flap", "Interface", ["Flap Count"], 1)):
            grown, _ = self.cells(f"show_interfaces_{name}.txt", key, columns)
            self.assertEqual(len(grown), PORTS * len(columns))
            self.assertGreaterEqual(self.agree(grown, expected, name), least)
        row = next(table(self.dump.text("leaf0", "show_interfaces_status.txt")))
        self.assertEqual((row["Interface"], row["Speed"], row["Oper"], row["Admin"]), ("Ethernet0", "100G", "up", "up"))
        row = list(table(self.dump.text("leaf0", "show_interfaces_description.txt")))[3]
        self.assertEqual(row["Description"], "spine0:Ethernet0")
        row = list(table(self.dump.text("leaf1", "show_lldp_table.txt")))[0]
        self.assertEqual(list(row.values()), ["Ethernet0", "h3", "eth0", "O", "leaf1:Ethernet0"])

    def test_watchdog(self):
        rows = {row["QUEUE"]: row for row in table(self.dump.text("leaf0", "show_pfcwd_stats.txt"))}
        first = {row["QUEUE"]: row for row in table(self.dump.text("leaf0", "show_pfcwd_stats.txt", BEGIN))}
        self.assertEqual(list(rows), [f"Ethernet{4 * i}:3" for i in range(5)])
        for queue, row in rows.items():
            at = (row["STORM DETECTED/RESTORED"].split("/"), first[queue]["STORM DETECTED/RESTORED"].split("/"))
            grown = [int(now) - int(then) for now, then in zip(*at)]
            port = queue.split(":")[0]
            self.assertEqual(grown, [self.prio(f"watchdog_{what}_total", "leaf0", port, 3) for what in ("detected", "restored")])
            self.assertEqual(row["STATUS"], "stormed" if grown[0] > grown[1] else "operational")

    def test_settings(self):
        self.assertRegex(self.dump.text("leaf0", "show_pfc_priority.txt"), r"Ethernet0    3\n")
        self.assertRegex(self.dump.text("leaf0", "show_ecn.txt"), r"Profile: ROCE_0\n-+  -+\necn +ecn_all\n")
        self.assertRegex(self.dump.text("leaf0", "show_ecn.txt"), r"green_max_threshold +60000\n")
        config = self.dump.json("leaf0", "config_db.json")
        name, profile = next((name, value) for name, value in config["BUFFER_PROFILE"].items() if "pg_lossless" in name)
        self.assertRegex(self.dump.text("leaf0", "show_buffer_configuration.txt"),
                         rf"Profile: {name}\n(?:\S.*\n)*xoff +{profile['xoff']}\n")

    def test_database(self):
        """What the commands print is what the database holds."""
        for time in self.dump.times:
            database = self.dump.json("leaf0", "counters_db.json", time)
            of = {key: value["value"] for key, value in database.items()}
            ports, queues, groups = (of[f"COUNTERS_{what}_NAME_MAP"] for what in ("PORT", "QUEUE", "PG"))
            self.assertEqual((len(ports), len(queues), len(groups)), (5, 40, 40))
            self.assertEqual(of["COUNTERS_QUEUE_PORT_MAP"][queues["Ethernet4:3"]], ports["Ethernet4"])
            for row in table(self.dump.text("leaf0", "show_pfc_counters.txt", time)):
                way = "RX" if "Port Rx" in row else "TX"
                stats = of[f"COUNTERS:{ports[row['Port Rx' if way == 'RX' else 'Port Tx']]}"]
                self.assertEqual([number(row[f"PFC{p}"]) for p in range(8)],
                                 [int(stats[f"SAI_PORT_STAT_PFC_{p}_{way}_PKTS"]) for p in range(8)])
            for row in table(self.dump.text("leaf0", "show_queue_counters.txt", time)):
                stats = of[f"COUNTERS:{queues[row['Port'] + ':' + row['TxQ'][2:]]}"]
                self.assertEqual([number(row[name]) for name in ("Counter/pkts", "Counter/bytes", "Drop/pkts")],
                                 [int(stats[f"SAI_QUEUE_STAT_{name}"]) for name in ("PACKETS", "BYTES", "DROPPED_PACKETS")])
            for row in table(self.dump.text("leaf0", "show_priority-group_watermark_headroom.txt", time)):
                self.assertEqual([number(row[f"PG{p}"]) for p in range(8)], [
                    int(of[f"COUNTERS:{groups[f'''{row['Port']}:{p}''']}"]
                        ["SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES"]) for p in range(8)])
        pauses = int(of[f"COUNTERS:{ports['Ethernet0']}"]["SAI_PORT_STAT_PFC_3_TX_PAUSE_DURATION_US"])
        begun = self.dump.json("leaf0", "counters_db.json", BEGIN)[f"COUNTERS:{ports['Ethernet0']}"]["value"]
        self.assertEqual(pauses - int(begun["SAI_PORT_STAT_PFC_3_TX_PAUSE_DURATION_US"]),
                         self.metrics.us("rocelab_switch_tx_pause_seconds_total", port="leaf0:0", priority=3))


if __name__ == "__main__":
    unittest.main()
