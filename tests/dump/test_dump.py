# SPDX-License-Identifier: Apache-2.0
"""`sim --dump`: what it writes has the layouts of the systems, and two moments subtracted are what the run counted.

One small run of mixed.yaml is dumped in each system. The texts are read here by rules of their own, and held against
`--counters prometheus` of the same run, which has every counter of the machines."""
import collections
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["ROCELAB"]
HERE = pathlib.Path(os.environ["ROCELAB_SOURCE"]) / "tests" / "dump"
FABRIC = HERE / "mixed.yaml"
BEGIN = "0.000000000"
PORTS = 14  # of switches


def rocelab(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL)


def number(text):
    return int(text.replace(",", ""))


class Metrics:
    """What Prometheus would see: name -> [(labels, value)]."""

    def __init__(self, text):
        self.rows = collections.defaultdict(list)
        for line in text.splitlines():
            match = re.match(r"(\w+)\{(.*)\} (\S+)$", line)
            if match:
                labels = dict(re.findall(r'(\w+)="([^"]*)"', match[2]))
                self.rows[match[1]].append((labels, float(match[3])))

    def sum(self, name, **labels):
        labels = {key: str(value) for key, value in labels.items()}
        return sum(value for own, value in self.rows[name] if labels.items() <= own.items())

    def us(self, name, **labels):
        return int(self.sum(name, **labels) * 1e6 + 1e-4)


class Dump:
    """The folders of one run."""

    def __init__(self, system, folder, *more):
        self.root = pathlib.Path(tempfile.mkdtemp(dir=folder)) / "dumps"
        self.run = rocelab("sim", "--dump", self.root, "--as", system, *more, FABRIC)
        self.times = sorted(path.name for path in self.root.iterdir())

    def text(self, device, name, time=None):
        return (self.root / (time or self.times[-1]) / device / name).read_text(encoding="ascii")

    def json(self, device, name, time=None):
        return json.loads(self.text(device, name, time))

    def grown(self, read):
        """read(time) at the end minus at the beginning, key by key."""
        first, last = read(self.times[0]), read(self.times[-1])
        assert first.keys() == last.keys() and first, (len(first), len(last))
        return {key: last[key] - first[key] for key in last}, first


def table(text):
    """Rows of a table with dashes: (title of the column, cell) by position."""
    lines = text.splitlines()
    for at, line in enumerate(lines):
        if re.fullmatch(r"-+(  -+)+", line):
            spans = [match.span() for match in re.finditer(r"-+", line)]
            titles = [lines[at - 1][a:b].strip() for a, b in spans]
            for row, next_row in zip(lines[at + 1:], [*lines[at + 2:], ""]):
                if row.startswith("---") or re.fullmatch(r"-+(  -+)+", next_row):
                    break  # the end, or the titles of the next table
                if row.strip():
                    yield dict(zip(titles, (row[a:b].strip() for a, b in spans)))


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.metrics = Metrics(rocelab("sim", "--counters", "prometheus", FABRIC).stdout)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def agree(self, grown, expected, what):
        self.assertEqual(grown, {key: expected(*key) for key in grown}, what)
        return sum(value != 0 for value in grown.values())


class Hosts(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.dump = Dump("sonic", cls.folder.name)
        cls.hosts = [f"h{i}" for i in range(6)]

    def lines(self, name, pattern):
        def read(time):
            return {(host, match[1]): int(match[2]) for host in self.hosts
                    for match in re.finditer(pattern, self.dump.text(host, name, time), re.M)}
        return self.dump.grown(read)

    def port_of(self, host):
        """The switch port that the host hangs on, as the metrics name it."""
        return next(labels["port"] for labels, _ in self.metrics.rows["rocelab_link_info"]
                    if labels["peer"] == f"{host}:0")

    def ethtool(self, host, name):
        metrics, nic = self.metrics, {"device": f"{host}:0"}
        plain = {"link_down_events_phy": ("rocelab_link_down_total", {"port": f"{host}:0"}),
                 "rx_crc_errors_phy": ("rocelab_link_crc_errors_total", {"port": f"{host}:0"}),
                 "rx_discards_phy": ("rdma_drops_total", {**nic, "reason": "rx_buffer"})}
        for way in ("rx", "tx"):
            for unit in ("packets", "bytes"):
                for form in (f"{way}_vport_rdma_unicast_{unit}", f"{way}_{unit}_phy"):
                    plain[form] = (f"rdma_{way}_{unit}_total", nic)
        match = re.fullmatch(r"(rx|tx)_prio(\d)_(.*)", name)
        if name in plain:
            return metrics.sum(plain[name][0], **plain[name][1])
        if re.fullmatch("[rt]x_pause_ctrl_phy", name):
            return sum(metrics.sum(f"rdma_roce_pfc_{what}_frames_total", direction=name[:2], **nic)
                       for what in ("pause", "resume"))
        if not match or match[3] == "discards":
            return 0
        way, prio, what = match.groups()
        there = {"port": self.port_of(host), "priority": prio}
        if what in ("bytes", "packets"):
            return metrics.sum(f"rocelab_switch_tx_{what}_total", **there) if way == "rx" else metrics.sum(
                f"rdma_netdev_prio_{what}_total", priority=prio, **nic)
        if what == "pause":
            return sum(metrics.sum(f"rdma_roce_pfc_{kind}_frames_total", direction=way, priority=prio, **nic)
                       for kind in ("pause", "resume"))
        if what == "pause_transition":
            return metrics.sum("rdma_roce_pfc_pause_transitions_total", priority=prio, **nic)
        if way == "tx":
            return metrics.us("rocelab_switch_rx_pause_seconds_total", **there)
        return metrics.sum("rdma_roce_pfc_pause_duration_total", priority=prio, **nic)

    def test_ethtool(self):
        grown, first = self.lines("ethtool_-S_eth0.txt", r"^     (\w+): (\d+)$")
        gauges = {key for key in grown if "outbound_pci" in key[1]}
        counted = {key: value for key, value in grown.items() if key not in gauges}
        self.assertGreater(self.agree(counted, self.ethtool, "ethtool -S"), 60)
        self.assertEqual({key[0] for key in gauges if grown[key]}, {"h5"}, "only the slow receiver's bus stalls")
        names = {name for host, name in grown if host == "h0"}
        self.assertIn("rx_prio3_pause_duration", names)
        self.assertNotIn("rx_prio0_pause", names, "PFC is on for priority 3 alone")
        self.assertNotIn("tx_prio3_pause_transition", names, "mlx5 has none")
        self.assertGreater(sum(value != 0 for value in first.values()), len(first) // 2, "counters begin above 0")

    def test_hw_counters(self):
        def expected(host, name):
            return self.metrics.sum(f"rdma_{name}_total", device=f"{host}:0")

        def expected_sysfs(host, path):
            words = {"counters/port_rcv_data": "rx_bytes", "counters/port_xmit_data": "tx_bytes"}
            if path in words:
                return expected(host, words[path]) // 4
            folder, name = path.split("/")
            if folder == "hw_counters":
                return expected(host, name)
            link = {"link_downed": "rocelab_link_down_total", "port_rcv_errors": "rocelab_link_crc_errors_total"}
            if name in link:
                return self.metrics.sum(link[name], port=f"{host}:0")
            way = {"port_rcv_packets": "rx", "unicast_rcv_packets": "rx", "port_xmit_packets": "tx",
                   "unicast_xmit_packets": "tx"}.get(name)
            return expected(host, f"{way}_packets") if way else 0

        grown, _ = self.lines("rdma_statistic_show.txt", r" (\w+) (\d+)")
        self.assertGreater(self.agree(grown, expected, "rdma statistic"), 20)
        grown, _ = self.lines("sysfs_mlx5_0.txt", r"^/sys/class/infiniband/mlx5_0/ports/1/(\w+/\w+):(\d+)$")
        self.assertGreater(self.agree(grown, expected_sysfs, "sysfs"), 40)

    def test_links(self):
        self.assertEqual(self.dump.text("h0", "rdma_link_show.txt"),
                         "link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev eth0\n")
        self.assertIn("\tSpeed: 100000Mb/s\n", self.dump.text("h0", "ethtool_eth0.txt"))
        lldp = self.dump.text("h4", "lldpctl.txt")
        self.assertRegex(lldp, r"Interface:    eth0, via: LLDP, RID: 1, .*\n  Chassis:\n.*\n    SysName:      leaf1\n")
        self.assertIn("    PortID:       ifname Ethernet4\n    PortDescr:    h4:eth0\n", lldp)

    def test_collectives(self):
        document = json.loads(rocelab("sim", "--json", FABRIC).stdout)
        row = next(row for row in document["collectives"] if row["job"] == "sum")
        lines = self.dump.text("h0", "nccl-tests_sum.txt").splitlines()
        at = next(i for i, line in enumerate(lines) if line.startswith("#       size "))
        self.assertEqual(lines[at].split()[1:], "size count type redop root".split() + "time algbw busbw #wrong".split() * 2)
        cells = lines[at + 2].split()
        self.assertEqual(cells[:5], ["100000", "25000", "float", "sum", "-1"])
        self.assertAlmostEqual(float(cells[5]), row["time_us"], delta=0.051)
        self.assertAlmostEqual(float(cells[7]), row["busbw_GBps"], delta=0.0051)
        self.assertFalse((self.dump.root / BEGIN / "h0" / "nccl-tests_sum.txt").exists(), "nothing had ended then")
        self.assertRegex(self.dump.text("h0", "nccl_log.txt"), r"^h0:\d+:\d+ \[0\] NCCL INFO NET/IB : Using \[0\]mlx5_0:1/RoCE ")
        first = document["failure"]
        log = self.dump.text(first["src"].split(":")[0], "nccl_log.txt")
        self.assertRegex(log, r"NCCL WARN NET/IB: Got completion from peer [\d.]+<\d+> with status=IBV_WC_RETRY_EXC_ERR\(12\) "
                              r"opcode=\w+\(\d+\) vendor_err=129 .* hca mlx5_0\n")

    def test_training(self):
        training = json.loads(rocelab("sim", "--json", FABRIC).stdout)["training"][0]
        waits = {(rank, step + 1): wait // 1000000 for step, row in enumerate(training["rank_waits_ps"])
                 for rank, wait in enumerate(row)}
        calls, recorded = {}, {}
        for rank, host in enumerate(self.hosts):
            for line in self.dump.text(host, "nccl_inspector.json").splitlines():
                call = json.loads(line)
                if call["coll_perf"]["coll_msg_size_bytes"] != 100000:
                    calls[call["header"]["rank"], call["coll_perf"]["coll_sn"]] = call["coll_perf"]["coll_exec_time_us"]
            *entries, last = self.dump.json(host, f"nccl_trace_rank_{rank}.json")["entries"]
            self.assertEqual((last["state"], last["collective_seq_id"]), ("started", 3), "the job was given up")
            for entry in entries:
                took = entry["time_discovered_completed_ns"] - entry["time_created_ns"]
                recorded[rank, entry["collective_seq_id"]] = took // 1000
            active = float(re.search(r'TENSOR_ACTIVE\{gpu="0",.*Hostname="%s"\} (\S+)' % host,
                                     self.dump.text(host, "dcgm_exporter.txt"))[1])
            self.assertTrue(0 < active < 1, active)
        self.assertEqual(len(waits), 12, "two steps ended")
        self.assertEqual(calls, waits)
        self.assertTrue(all(abs(recorded[key] - waits[key]) <= 1 for key in waits), (recorded, waits))


class Sonic(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.dump = Dump("sonic", cls.folder.name)
        cls.switches = ["leaf0", "leaf1", "spine0", "spine1"]

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


class Switches(Case):
    """Of the systems whose ports count from 1; what is printed is called by NX-OS' words here."""
    system = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.dump = Dump(cls.system, cls.folder.name)
        cls.switches = ["leaf0", "leaf1", "spine0", "spine1"]

    def read(self, name, values):
        """values(text): {key: number} of a switch's file; with the switch before each key."""
        return self.dump.grown(lambda time: {(switch, *key): value for switch in self.switches
                                             for key, value in values(self.dump.text(switch, name, time)).items()})

    def at(self, switch, port):
        return {"port": f"{switch}:{int(re.search('[0-9]+$', port)[0]) - 1}"}

    def expected(self, switch, port, prio, what):
        metrics, at = self.metrics, self.at(switch, port)
        queue = {"priority": prio, **at}
        drops = lambda *reasons: sum(metrics.sum("rocelab_switch_port_drops_total", reason=reason, **at) for reason in reasons)
        out = ("egress", "port_down", "watchdog")
        mine = metrics.sum("rocelab_switch_drops_total", **queue) if prio is not None else 0
        values = {
            "RxPPP": lambda: metrics.sum("rocelab_switch_port_rx_pfc_frames_total", **at),
            "TxPPP": lambda: metrics.sum("rocelab_switch_port_tx_pfc_frames_total", **at),
            "RxCount": lambda: sum(metrics.sum(f"rocelab_switch_{name}_total", **queue) for name in ("rx_xoff", "rx_xon")),
            "TxCount": lambda: sum(metrics.sum(f"rocelab_switch_{name}_total", **queue)
                                   for name in ("tx_xoff", "tx_xoff_refresh", "tx_xon")),
            "Tx Pkts": lambda: metrics.sum("rocelab_switch_tx_packets_total", **queue),
            "Tx Byts": lambda: metrics.sum("rocelab_switch_tx_bytes_total", **queue),
            "Dropped Pkts": lambda: drops(*out) if mine else 0,
            "marked": lambda: metrics.sum("rocelab_switch_ecn_marked_total", **queue),
            "Ingress MMU Drop Pkts": lambda: drops("buffer", "headroom"),
            "Shutdown": lambda: metrics.sum("rocelab_switch_watchdog_detected_total", **queue),
            "Restored": lambda: metrics.sum("rocelab_switch_watchdog_restored_total", **queue),
            "Total pkts dropped": lambda: drops("watchdog"),
            "input packets": lambda: metrics.sum("rocelab_switch_port_rx_packets_total", **at),
            "output packets": lambda: metrics.sum("rocelab_switch_port_tx_packets_total", **at),
            "input bytes": lambda: metrics.sum("rocelab_switch_port_rx_bytes_total", **at),
            "output bytes": lambda: metrics.sum("rocelab_switch_port_tx_bytes_total", **at),
            "CRC": lambda: metrics.sum("rocelab_link_crc_errors_total", **at), "giants": lambda: drops("mtu"),
            "input discard": lambda: drops("ttl", "no_route", "buffer", "headroom", "unknown", "flood", "not_mine"),
            "output discard": lambda: drops(*out),
            "interface resets": lambda: metrics.sum("rocelab_link_down_total", **at),
            "RxTime": lambda: metrics.us("rocelab_switch_rx_pause_seconds_total", **queue),
            "TxTime": lambda: metrics.us("rocelab_switch_tx_pause_seconds_total", **queue),
            "Rx Pkts": lambda: metrics.sum("rocelab_switch_rx_packets_total", **queue),
            "Rx Byts": lambda: metrics.sum("rocelab_switch_rx_bytes_total", **queue),
            "MMU drops": lambda: drops("buffer", "headroom") if mine else 0}
        return values[what]()


class Nxos(Switches):
    system = "nxos"

    def test_pfc(self):
        def values(text):
            rows = re.findall(r"^(Ethernet\S+) +On +On  \(8\) +(\d+) +(\d+) *$", text, re.M)
            return {(port, None, what): int(value) for port, *both in rows for what, value in zip(("RxPPP", "TxPPP"), both)}

        grown, _ = self.read("show_interface_priority-flow-control.txt", values)
        self.assertEqual(len(grown), 2 * PORTS)
        self.assertGreater(self.agree(grown, self.expected, "priority-flow-control"), 5)

    def test_queuing(self):
        def values(text):
            found, port, group = {}, None, None
            for line in text.splitlines():
                if match := re.match(r"Egress Queuing for (\S+) \[System\]$", line):
                    port = match[1]
                elif match := re.match(r"\| +QOS GROUP (\d) +\|$", line):
                    group = match[1]
                elif match := re.match(r"\| +(Tx Pkts|Tx Byts|Dropped Pkts) \| *(\d+)\| +0\| +0\|$", line):
                    found[port, group, match[1]] = int(match[2])
                elif match := re.match(r"Ingress MMU Drop Pkts +(\d+)$", line):
                    found[port, None, "Ingress MMU Drop Pkts"] = int(match[1])
                elif match := re.match(r"TxPPP: +(\d+), RxPPP: +(\d+)$", line):
                    found[port, None, "TxPPP"], found[port, None, "RxPPP"] = int(match[1]), int(match[2])
                elif match := re.match(r" +(\d) +\1 +\1 +(?:Ina|A)ctive +(\d+) +(?:Ina|A)ctive +(\d+)$", line):
                    found[port, match[1], "TxCount"], found[port, match[1], "RxCount"] = int(match[2]), int(match[3])
            return found

        grown, first = self.read("show_queuing_interface.txt", values)
        self.assertEqual(len(grown), PORTS * (8 * 5 + 3))
        self.assertGreater(self.agree(grown, self.expected, "show queuing interface"), 60)
        self.assertGreater(sum(value != 0 for value in first.values()), len(first) * 0.9)
        self.assertRegex(self.dump.text("leaf0", "show_queuing_interface.txt"), r"\n +3 +6000 +- +- ", "headroom")

        def document(text):
            found = {}
            for row in json.loads(text)["TABLE_module"]["ROW_module"]["TABLE_queuing_interface"]["ROW_queuing_interface"]:
                port = row["if_name_str"]
                if row["dir"] == "Egress":
                    for group in row["TABLE_qosgrp_egress_stats"]["ROW_qosgrp_egress_stats"]:
                        for entry in group["TABLE_qosgrp_egress_stats_entry"]["ROW_qosgrp_egress_stats_entry"]:
                            what = f"{entry['eq-stat-type']} {entry['eq-stat-units']}"
                            found[port, group["eq-qosgrp"], what] = int(entry["eq-uc-stat-value"])
                    continue
                found[port, None, "TxPPP"], found[port, None, "RxPPP"] = int(row["tx-ppp"]), int(row["rx-ppp"])
                drop, = row["TABLE_ingress_stats_entry"]["ROW_ingress_stats_entry"]
                found[port, None, "Ingress MMU Drop Pkts"] = int(drop["ip-stat-value"])
                for pauses in row["TABLE_pfc_stats"]["ROW_pfc_stats"]:
                    for way in ("Tx", "Rx"):
                        found[port, pauses["cos"], f"{way}Count"] = int(pauses[f"{way.lower()}-pause-count"])
            return found

        for time in self.dump.times:
            for switch in self.switches:
                self.assertEqual(document(self.dump.text(switch, "show_queuing_interface.json", time)),
                                 values(self.dump.text(switch, "show_queuing_interface.txt", time)))

    def test_managed_objects(self):
        def values(text):
            names = {"txPackets": "Tx Pkts", "txBytes": "Tx Byts", "dropPackets": "Dropped Pkts", "pfcRxPpp": "RxCount",
                     "pfcTxPpp": "TxCount", "randEcnMarkedPackets": "marked"}
            found = {}
            for item in json.loads(text)["imdata"]:
                own = item["ipqosQueuingStats"]["attributes"]
                queue = own["cmapName"].removeprefix("c-out-8q-q").replace("-default", "0")
                for key, what in names.items():
                    found[re.search(r"\[(eth\S+?)\]", own["dn"])[1], queue, what] = int(own[key])
            return found

        grown, _ = self.read("ipqosQueuingStats.json", values)
        self.assertEqual(len(grown), PORTS * 8 * 6)
        self.assertGreater(self.agree(grown, self.expected, "ipqosQueuingStats"), 60)

    def test_watchdog(self):
        def values(text):
            found, port = {}, None
            for line in text.splitlines():
                if match := re.match(r"(\S+) Interface PFC watchdog: \[Enabled\]$", line):
                    port = match[1]
                elif match := re.match(r"\| +(Shutdown|Restored|Total pkts dropped)\| +(\d+)\|$", line):
                    found[port, 3, match[1]] = int(match[2])
            return found

        grown, _ = self.read("show_queuing_pfc-queue_detail.txt", values)
        self.assertEqual(len(grown), 3 * PORTS)
        self.assertGreater(self.agree(grown, self.expected, "pfc-queue"), 2)

    def test_interfaces(self):
        def values(text):
            found, port = {}, None
            for line in text.splitlines():
                if match := re.match(r"(Ethernet\S+) is (?:up|down)", line):
                    port = match[1]
                for what in ("giants", "CRC", "input discard", "output discard", "interface resets", "input packets", "output packets"):
                    if match := re.search(rf"(?<!\w)(\d+) {what}(?!\w)", line):
                        if "Stomped" not in line:
                            found[port, None, what] = int(match[1])
                if match := re.search(r"(input|output) packets  (\d+) bytes", line):
                    found[port, None, f"{match[1]} bytes"] = int(match[2])
            return found

        grown, _ = self.read("show_interface.txt", values)
        self.assertEqual(len(grown), 9 * PORTS)
        self.assertGreater(self.agree(grown, self.expected, "show interface"), 60)
        self.assertRegex(self.dump.text("leaf0", "show_interface.txt"),
                         r"Ethernet1/4 is up\n.*\n.*\n  Description: spine0:Ethernet1/1\n  MTU \d+ bytes, BW 100000000 Kbit ")

        def errors(text):
            return {(port, None, what): int(value) for port, fcs, out in
                    re.findall(r"^(Eth\S+) +0 +(\d+) +0 +\2 +0 +(\d+)$", text, re.M)
                    for what, value in (("CRC", fcs), ("output discard", out))}

        grown, _ = self.read("show_interface_counters_errors.txt", errors)
        self.assertEqual(len(grown), 2 * PORTS)
        self.agree(grown, self.expected, "show interface counters errors")
        self.assertRegex(self.dump.text("leaf1", "show_interface_status.txt"), r"\nEth1/1 +h3:eth0 +connected routed +full +100G +--\n")
        self.assertRegex(self.dump.text("leaf1", "show_lldp_neighbors.txt"), r"\nh3 +Eth1/1 +120 +S +eth0\n")
        self.assertIn("interface Ethernet1/1\n", self.dump.text("leaf1", "show_running-config.txt"))


class Eos(Switches):
    system = "eos"

    def both(self, name, text, document, count, least):
        """Both forms say the same, and what the run counted."""
        for time in self.dump.times:
            for switch in self.switches:
                self.assertEqual(text(self.dump.text(switch, name + ".txt", time)),
                                 document(self.dump.json(switch, name + ".json", time)))
        grown, _ = self.read(name + ".txt", text)
        self.assertEqual(len(grown), count)
        self.assertGreaterEqual(self.agree(grown, self.expected, name), least)

    def test_pfc(self):
        def text(given):
            return {(port, None, what): int(value) for port, *both in re.findall(r"^(Et\d+) +(\d+) +(\d+) *$", given, re.M)
                    for what, value in zip(("RxPPP", "TxPPP"), both)}

        def document(given):
            return {(port.replace("Ethernet", "Et"), None, what): counters[key]
                    for port, counters in given["interfaceCounters"].items()
                    for what, key in (("RxPPP", "rxFrames"), ("TxPPP", "txFrames"))}

        self.both("show_priority-flow-control_counters", text, document, 2 * PORTS, 6)

    def test_queues(self):
        def values(text):
            return {(port, queue, what): int(value) for port, queue, *numbers in
                    re.findall(r"^(Et\d+) +UC(\d) +(\d+) +(\d+) +(\d+) +\d+$", text, re.M)
                    for what, value in zip(("Tx Pkts", "Tx Byts", "Dropped Pkts"), numbers)}

        grown, _ = self.read("show_interfaces_counters_queue_detail.txt", values)
        self.assertEqual(len(grown), PORTS * 8 * 3)
        self.assertGreater(self.agree(grown, self.expected, "queue detail"), 50)

        def ecn(text):
            queues = {port: counters["queueCounters"] for port, counters in json.loads(text)["intfQueueCounters"].items()}
            self.assertEqual({queue for own in queues.values() for queue, value in own.items() if value == "-"}, set("0124567"))
            return {(port, "3", "marked"): int(own["3"]) for port, own in queues.items()}

        grown, _ = self.read("show_qos_interfaces_ecn_counters_queue.json", ecn)
        self.assertGreater(self.agree(grown, self.expected, "ecn counters"), 1)

    def test_watchdog(self):
        def read(time):
            return {(switch, port, queue, what): counters[key] for switch in self.switches
                    for port, own in self.dump.json(switch, "show_priority-flow-control_counters_watchdog.json", time)
                    ["interfaces"].items() for queue, counters in own["txQueues"].items()
                    for what, key in (("Shutdown", "stuckCount"), ("Restored", "recoveryCount"))}

        first, last = read(self.dump.times[0]), read(self.dump.times[-1])
        self.assertLess(len(first), len(last), "a port without an event is absent")
        grown = {key: value - first.get(key, 0) for key, value in last.items()}
        self.assertGreater(self.agree(grown, self.expected, "watchdog"), 1)

    def test_errors(self):
        def text(given):
            return {(port, None, what): int(value) for port, *numbers in
                    re.findall(r"^(Et\d+) +(\d+) +0 +0 +\d+ +0 +(\d+) +0$", given, re.M)
                    for what, value in zip(("CRC", "giants"), numbers)}

        def document(given):
            return {(port.replace("Ethernet", "Et"), None, what): counters[key]
                    for port, counters in given["interfaceErrorCounters"].items()
                    for what, key in (("CRC", "fcsErrors"), ("giants", "frameTooLongs"))}

        self.both("show_interfaces_counters_errors", text, document, 2 * PORTS, 1)

        def discards(given):
            return {(port, None, what): int(value) for port, *numbers in re.findall(r"^(Et\d+) +(\d+) +(\d+)$", given, re.M)
                    for what, value in zip(("input discard", "output discard"), numbers)}

        grown, _ = self.read("show_interfaces_counters_discards.txt", discards)
        self.assertGreater(self.agree(grown, self.expected, "discards"), 3)

    def test_interfaces(self):
        def values(text):
            found, port = {}, None
            for line in text.splitlines():
                if match := re.match(r"(Ethernet\d+) is (?:up|down)", line):
                    port = match[1]
                for way in ("input", "output"):
                    if match := re.search(rf"(\d+) packets {way}, (\d+) bytes", line):
                        found[port, None, f"{way} packets"], found[port, None, f"{way} bytes"] = int(match[1]), int(match[2])
                    if match := re.search(rf"(\d+) {way} discards", line):
                        found[port, None, f"{way} discard"] = int(match[1])
                if match := re.search(r"(\d+) link status changes", line):
                    found[port, None, "interface resets"] = (int(match[1]) + 1) // 2
                for what in ("giants", "CRC"):
                    if match := re.search(rf"(\d+) {what}", line):
                        found[port, None, what] = int(match[1])
            return found

        grown, _ = self.read("show_interfaces.txt", values)
        self.assertEqual(len(grown), 9 * PORTS)
        self.assertGreater(self.agree(grown, self.expected, "show interfaces"), 60)
        self.assertRegex(self.dump.text("leaf0", "show_interfaces_status.txt"), r"\nEt4 +spine0:Ethernet1 +connected +routed +full +100G ")
        self.assertRegex(self.dump.text("leaf1", "show_lldp_neighbors.txt"), r"\nEt1 +h3 +eth0 +120\n")
        self.assertIn("interface Ethernet1\n", self.dump.text("leaf1", "show_running-config.txt"))


class Cumulus(Switches):
    system = "cumulus"

    def files(self, name, values, suffix="json"):
        """As read(), of files of one interface each: values(text) has keys without the port."""
        def at(time):
            found = {}
            for switch in self.switches:
                for path in (self.dump.root / time / switch).glob(f"{name}_swp*.{suffix}"):
                    port = path.stem.rsplit("_", 1)[1]
                    found |= {(switch, port, *key): value for key, value in values(path.read_text()).items()}
            return found
        return self.dump.grown(at)

    def test_qos(self):
        names = {"egress-queue-stats": {"tx-frames": "Tx Pkts", "tx-bytes": "Tx Byts", "ecn-marked-frames": "marked",
                                        "tx-uc-buffer-discards": "Dropped Pkts"},
                 "ingress-buffer-stats": {"rx-frames": "Rx Pkts", "rx-buffer-discards": "MMU drops"},
                 "pfc-stats": {"rx-pause-frames": "RxCount", "rx-pause-duration": "RxTime", "tx-pause-frames": "TxCount",
                               "tx-pause-duration": "TxTime"}}

        def values(text):
            return {(prio, what): own[key] for group, rows in json.loads(text).items() for prio, own in rows.items()
                    for key, what in names[group].items()}

        grown, first = self.files("nv_show_interface_counters_qos", values)
        self.assertEqual(len(grown), PORTS * 8 * 10)
        self.assertGreater(self.agree(grown, self.expected, "counters qos"), 100)
        self.assertGreater(sum(value != 0 for value in first.values()), len(first) * 0.9)

    def test_roce(self):
        def values(text):
            rx, tx = (json.loads(text)[f"{way}-stats"] for way in ("rx", "tx"))
            return {("3", "RxTime"): rx["rx-pfc-stats"]["pause-duration"], ("3", "RxCount"): rx["rx-pfc-stats"]["pause-packets"],
                    ("3", "TxTime"): tx["tx-pfc-stats"]["pause-duration"], ("3", "TxCount"): tx["tx-pfc-stats"]["pause-packets"],
                    ("3", "marked"): tx["tx-ecn-stats"]["ecn-marked-packets"],
                    ("3", "Rx Pkts"): rx["rx-roce-stats"]["roce-packets"], ("3", "Rx Byts"): rx["rx-roce-stats"]["roce-bytes"],
                    ("3", "MMU drops"): rx["rx-roce-stats"]["no-buffer-discard"],
                    ("3", "Tx Pkts"): tx["tx-roce-stats"]["roce-packets"], ("3", "Tx Byts"): tx["tx-roce-stats"]["roce-bytes"],
                    ("3", "Dropped Pkts"): tx["tx-roce-stats"]["unicast-no-buffer-discard"],
                    ("6", "Tx Pkts"): tx["tx-cnp-stats"]["cnp-packets"], ("6", "Tx Byts"): tx["tx-cnp-stats"]["cnp-bytes"]}

        grown, _ = self.files("nv_show_interface_qos_roce_counters", values)
        self.assertEqual(len(grown), PORTS * 13)
        self.assertGreater(self.agree(grown, self.expected, "roce counters"), 40)

    def test_ethtool(self):
        names = {"HwIfInOctets": "input bytes", "HwIfInUcastPkts": "input packets", "HwIfOutOctets": "output bytes",
                 "HwIfOutUcastPkts": "output packets", "HwIfInDiscards": "input discard", "HwIfOutDiscards": "output discard",
                 "HwIfInBufferDrops": "Ingress MMU Drop Pkts", "HwIfInDot3FrameErrors": "CRC", "HwIfInDot3LengthErrors": "giants"}

        def values(text):
            found = {}
            for name, value in re.findall(r"^     (\w+): (\d+)$", text, re.M):
                if match := re.fullmatch(r"HwIf(In|Out)Pfc(\d)Pkt", name):
                    found[match[2], "RxCount" if match[1] == "In" else "TxCount"] = int(value)
                elif name in names:
                    found[None, names[name]] = int(value)
            return found

        grown, _ = self.files("ethtool_-S", values, "txt")
        self.assertEqual(len(grown), PORTS * (len(names) + 16))
        self.assertGreater(self.agree(grown, self.expected, "ethtool -S swp"), 60)

    def test_interfaces(self):
        names = {"in-bytes": "input bytes", "in-pkts": "input packets", "in-drops": "input discard", "out-bytes": "output bytes",
                 "out-pkts": "output packets", "out-drops": "output discard", "carrier-down-count": "interface resets"}

        def values(text):
            return {(port, None, what): own["link"]["stats"][key] for port, own in json.loads(text).items()
                    for key, what in names.items()}

        grown, _ = self.read("nv_show_interface.json", values)
        self.assertEqual(len(grown), PORTS * len(names))
        self.assertGreater(self.agree(grown, self.expected, "nv show interface"), 60)
        link = self.dump.json("leaf0", "nv_show_interface.json")["swp4"]
        self.assertEqual((link["description"], link["link"]["speed"], link["link"]["oper-status"]), ("spine0:swp1", "100G", "up"))
        neighbours = self.dump.json("leaf1", "lldpctl_-f_json.json")["lldp"]["interface"]
        self.assertEqual(list(neighbours[0]["swp1"]["chassis"]), ["h3"])
        self.assertEqual(neighbours[0]["swp1"]["port"]["id"], {"type": "ifname", "value": "eth0"})

        def watchdog(text):
            return {(prio, "Shutdown"): own["deadlock-count"] for prio, own in json.loads(text)["status"].items()}

        grown, _ = self.files("nv_show_interface_qos_pfc-watchdog", watchdog)
        self.assertEqual(len(grown), PORTS)
        self.assertGreater(self.agree(grown, self.expected, "pfc-watchdog"), 0)
        self.assertIn("hostname: leaf1\n", self.dump.text("leaf1", "nv_config_show.txt"))


class Options(Case):
    def test_times(self):
        dump = Dump("sonic", self.folder.name, "--dump-at", "300us,100us,300us,1s")
        self.assertEqual(dump.times[:3], [BEGIN, "0.000100000", "0.000300000"])
        self.assertEqual(len(dump.times), 4)
        self.assertIn("the run ended before 1 of the times", dump.run.stderr)
        plain = rocelab("sim", FABRIC)
        self.assertEqual(re.findall("digest .*", dump.run.stdout), re.findall("digest .*", plain.stdout))
        self.assertEqual(dump.run.returncode, plain.returncode)
        frames = [number(next(table(dump.text("leaf0", "show_interfaces_counters.txt", time)))["RX_OK"]) for time in dump.times]
        self.assertEqual(frames, sorted(frames))
        self.assertEqual(rocelab("sim", "--dump", dump.root, "--as", "sonic", FABRIC).returncode, 2, "it is not empty")

    def test_same_again(self):
        one, two = Dump("sonic", self.folder.name), Dump("sonic", self.folder.name)
        other = Dump("sonic", self.folder.name, "--seed", "2")
        for path in sorted((one.root / BEGIN).rglob("*.txt")):
            self.assertEqual(path.read_bytes(), (two.root / path.relative_to(one.root)).read_bytes())
        self.assertNotEqual(one.text("leaf0", "show_pfc_counters.txt", BEGIN), other.text("leaf0", "show_pfc_counters.txt", BEGIN))

    def test_wrong_use(self):
        folder = pathlib.Path(self.folder.name)
        (folder / "full").mkdir()
        (folder / "full" / "x").touch()
        (folder / "file").touch()
        for arguments, message in (
                (["--dump", folder / "new"], "--as sonic"),
                (["--dump", folder / "new", "--as", "sonix"], "did you mean 'sonic'"),
                (["--dump", folder / "new", "--as", "junos-evolved"], "one of sonic, nxos, eos, cumulus"),
                (["--as", "sonic"], "--dump DIR"),
                (["--dump-at", "1ms"], "--dump DIR"),
                (["--dump", folder / "new", "--as", "sonic", "--dump-at", "1ms,,2ms"], "--dump-at"),
                (["--dump", folder / "new", "--as", "sonic", "--seeds", "2"], "one run"),
                (["--dump", folder / "full", "--as", "sonic"], "something in it"),
                (["--dump", folder / "file", "--as", "sonic"], "Not a directory"),
                (["--dump", folder / "none" / "new", "--as", "sonic"], "No such file")):
            answer = rocelab("sim", *arguments, FABRIC)
            self.assertEqual((answer.returncode, answer.stdout), (2, ""), arguments)
            self.assertIn(message, answer.stderr)
            self.assertFalse((folder / "new").exists(), arguments)


if __name__ == "__main__":
    unittest.main()
