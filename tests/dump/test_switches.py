# SPDX-License-Identifier: Apache-2.0
"""`sim --dump` of NX-OS, EOS and Cumulus (tests/gen/dump): layouts of the switches, and counters that subtract to those of the run."""
import json
import re
import unittest

from dumps import PORTS, SWITCHES, Case, Dump


class Switches(Case):
    """Of the systems whose ports count from 1; what is printed is called by NX-OS' words here."""
    system = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.dump = Dump(cls.system, cls.folder.name)
        cls.switches = SWITCHES

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


if __name__ == "__main__":
    unittest.main()
