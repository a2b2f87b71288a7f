# SPDX-License-Identifier: Apache-2.0
"""Mistakes in the configuration of one switch: told, as an error or a warning, at the line that an operator would change, and
nowhere else."""
import unittest

from mistakes import Mistakes
from single_texts import EOS, JUNOS, NXOS

HERE = "where the first change is"
NOTHING = "no mistake"


def put(part, instead, nth=0):
    """`part` of the line that has it, of several the nth, becomes `instead`."""
    def change(lines):
        at = [n for n, line in enumerate(lines) if part in line][nth]
        lines[at] = lines[at].replace(part, instead)
        return at
    return change


def drop(part, nth=0):
    def change(lines):
        del lines[[n for n, line in enumerate(lines) if part in line][nth]]
    return change


def behind(part, new, nth=0):
    def change(lines):
        at = [n for n, line in enumerate(lines) if part in line][nth] + 1
        lines[at:at] = [new] if isinstance(new, str) else new
        return at
    return change


# (what is wrong, changes, the line that is told: HERE, or the first with this in it)
ON_NXOS = [
    ("dscp of class 28: no mistake by itself", [put("match dscp 26", "match dscp 28")], NOTHING),
    ("qos-group of RDMA wrong", [put("set qos-group 3", "set qos-group 4")], HERE),
    ("CNP into rdma group", [put("set qos-group 7", "set qos-group 3")], HERE),
    ("CNP into default", [put("set qos-group 7", "set qos-group 0")], HERE),
    ("CNP with a DSCP of its own", [put("match dscp 48", "match dscp 46")], NOTHING),
    ("CNP of its own into a queue of nothing", [put("set qos-group 7", "set qos-group 6"), put("match dscp 48", "match dscp 46")], HERE),
    ("CNP of its own into default", [put("set qos-group 7", "set qos-group 0"), put("match dscp 48", "match dscp 46")], HERE),
    ("CNP among best effort, and a class of other traffic",
     [put("match dscp 48", "match dscp 40,42"), put("set qos-group 7", "set qos-group 6"), put("match-any CNP", "match-any VOICE"), put("  class CNP", "  class VOICE")], HERE),
    ("a DSCP in two classes", [put("match dscp 48", "match dscp 26,48")], HERE),
    ("pause cos 4", [put("pause pfc-cos 3", "pause pfc-cos 4")], HERE),
    ("nq4 class", [put("c-8q-nq3", "c-8q-nq4")], HERE),
    ("pause missing", [drop("pause pfc-cos 3")], "c-8q-nq3"),
    ("ecn word missing", [put(" weight 0 ecn", " weight 0")], "drop-probability"),
    ("random-detect missing", [drop("random-detect")], "c-out-8q-q3"),
    ("random-detect in q4",
     [drop("random-detect"),
      behind("c-out-8q-q4", "    random-detect minimum-threshold 300 kbytes maximum-threshold 2500 kbytes drop-probability 20 weight 0 ecn")],
     "random-detect"),
    ("min over max", [put("minimum-threshold 300", "minimum-threshold 3000")], HERE),
    ("probability 0", [put("drop-probability 20", "drop-probability 0")], HERE),
    ("queue share tiny", [put("remaining percent 55", "remaining percent 3"), put("remaining percent 45", "remaining percent 97")], HERE),
    ("shares over 100", [put("remaining percent 55", "remaining percent 65")], HERE),
    ("no network-qos applied", [drop("service-policy type network-qos NQ")], "system qos"),
    ("default network-qos", [put("service-policy type network-qos NQ", "service-policy type network-qos default-8q-nq-policy")], HERE),
    ("undefined network-qos", [put("service-policy type network-qos NQ", "service-policy type network-qos NQ2")], HERE),
    ("no queuing applied", [drop("service-policy type queuing output OUT")], "system qos"),
    ("one port pfc off", [put("priority-flow-control mode on", "priority-flow-control mode off", 2)], HERE),
    ("one port pfc missing", [drop("priority-flow-control mode on", 2)], "interface Ethernet1/3"),
    ("one uplink pfc missing", [drop("priority-flow-control mode on", 8)], "interface Ethernet1/33"),
    ("one port mtu", [put("mtu 9216", "mtu 1500", 4)], HERE),
    ("one port mtu missing", [drop("  mtu 9216", 4)], "interface Ethernet1/3"),
    ("uplink mtu 1500", [put("mtu 9216", "mtu 1500", 10)], HERE),
    ("one port policy missing", [drop("service-policy type qos input", 2)], "interface Ethernet1/3"),
    ("uplink policy missing", [drop("service-policy type qos input", 7)], "interface Ethernet1/32"),
    ("one port policy typo", [put("input CLASSIFY", "input CLASIFY", 1)], HERE),
    ("one port watch missing", [drop("watch-dog-interval on", 3)], "interface Ethernet1/3"),
    ("global watch missing", [drop("priority-flow-control watch-dog-interval on")], "interface Ethernet1/1"),
    ("global watch off", [put("priority-flow-control watch-dog-interval on", "priority-flow-control watch-dog-interval off")], HERE),
    ("flowcontrol on a port", [behind("interface Ethernet1/2", "  flowcontrol receive on")], HERE),
    ("class-map typo in policy", [put("  class ROCE", "  class ROCEV2")], HERE),
    ("maximum-paths 1", [put("maximum-paths 16", "maximum-paths 1")], HERE),
    ("strict rdma", [put("bandwidth remaining percent 55", "priority level 2")], HERE),
    ("default strict", [put("bandwidth remaining percent 45", "priority level 2")], HERE),
    ("class mtu 1500", [put("mtu 9216", "mtu 1500")], HERE),
    ("second pause", [behind("pause pfc-cos 3", ["  class type network-qos c-8q-nq5", "    pause pfc-cos 5"])], "pause pfc-cos 5"),
    ("multiplier over", [put("shutdown-multiplier 2", "shutdown-multiplier 20")], HERE),
    ("restore 0", [put("auto-restore multiplier 10", "auto-restore multiplier 0")], HERE),
    ("restore smaller", [put("auto-restore multiplier 10", "auto-restore multiplier 1")], HERE),
    ("class-default into 3", [put("set qos-group 0", "set qos-group 3")], HERE),
    ("match dscp 26 and 0", [put("match dscp 26", "match dscp 0,26")], HERE),
    ("default queuing in use", [put("queuing output OUT", "queuing output default-8q-out-policy")], HERE),
]
SVIS = [line for vlan in (40, 41) for line in (f"interface Vlan{vlan}", "  no shutdown", f"  mtu {9200 + vlan}", f"  ip address 10.8.{vlan}.1/24")]
ON_NXOS += [
    ("VLANs with large frames", [behind("feature lldp", SVIS)], NOTHING),
    ("a VLAN without", [behind("feature lldp", SVIS), drop("mtu 9240")], "interface Vlan40"),
    ("a VLAN of no port", [behind("feature lldp", SVIS), drop("mtu 9241")], NOTHING),
    ("a VLAN that is down", [behind("feature lldp", SVIS), drop("mtu 9240"), put("  no shutdown", "  shutdown")], NOTHING),
]
ON_EOS = [
    ("26 to tc 4", [put("dscp 26 to traffic-class 3", "dscp 26 to traffic-class 4")], HERE),
    ("26 to tc 1", [put("dscp 26 to traffic-class 3", "dscp 26 to traffic-class 1")], HERE),
    ("26 missing -> default 3", [drop("qos map dscp 26")], NOTHING),
    ("26 in the list to 1", [put("dscp 24 25 27", "dscp 24 25 26 27"), drop("qos map dscp 26")], "dscp 24 25 26"),
    ("48 to tc 3", [put("48 to traffic-class 6", "48 to traffic-class 3")], HERE),
    ("48 to tc 1", [put("48 to traffic-class 6", "48 to traffic-class 1")], HERE),
    ("CNPs with DSCP 46, control among best effort",
     [put("qos map dscp 48 to", "qos map dscp 46 to"), behind("qos map dscp 26", "qos map dscp 40-45,47-63 to traffic-class 1")], NOTHING),
    ("0 to tc 3", [behind("qos map dscp 26", "qos map dscp 0 to traffic-class 3")], HERE),
    ("no-drop 4", [put("priority 3 no-drop", "priority 4 no-drop")], HERE),
    ("no-drop missing", [drop("priority 3 no-drop")], "qos profile"),
    ("pfc on missing", [drop("   priority-flow-control on")], "priority 3 no-drop"),
    ("trust cos", [put("qos trust dscp", "qos trust cos")], HERE),
    ("trust missing: routed ports trust dscp", [drop("qos trust dscp")], NOTHING),
    ("ecn missing", [drop("random-detect ecn")], "uc-tx-queue 3"),
    ("ecn in queue 1",
     [drop("random-detect ecn"),
      behind("bandwidth percent 35", "      random-detect ecn minimum-threshold 400 kbytes maximum-threshold 1600 kbytes max-mark-probability 25")],
     "random-detect"),
    ("min over max", [put("minimum-threshold 400", "minimum-threshold 4000")], HERE),
    ("drop not ecn", [put("random-detect ecn minimum", "random-detect drop minimum")], "random-detect drop"),
    ("share small", [put("bandwidth percent 65", "bandwidth percent 5"), put("bandwidth percent 35", "bandwidth percent 95")], HERE),
    ("shares 130", [put("bandwidth percent 65", "bandwidth percent 95")], HERE),
    ("rdma strict", [put("      no priority", "      priority strict", 1)], "priority strict"),
    ("a port's queue shaped",
     [behind("   service-profile RDMA-PORT", ["   uc-tx-queue 3", "      shape rate 10 percent"], 2)], "      shape rate"),
    ("shaped above its share", [behind("bandwidth percent 65", "      shape rate 80 percent")], NOTHING),
    ("cnp not strict", [put("      priority strict", "      no priority")], HERE),
    ("wd timeout < poll", [put("timeout 0.30", "timeout 0.05")], HERE),
    ("wd poll > both", [put("interval 0.10", "interval 0.80")], HERE),
    ("wd recovery < timeout", [put("recovery-time 0.60", "recovery-time 0.20")], HERE),
    ("wd missing", [drop("default timeout"), drop("recovery-time"), drop("polling-interval"), drop("watchdog action")], "priority 3 no-drop"),
    ("wd action errdisable", [put("action drop", "action errdisable")], NOTHING),
    ("wd off on port", [behind("   service-profile RDMA-PORT", "   no priority-flow-control pause watchdog")], HERE),
    ("port without profile", [drop("service-profile RDMA-PORT", 2)], "interface Ethernet3/1"),
    ("uplink without profile", [drop("service-profile RDMA-PORT", 8)], "interface Ethernet31/1"),
    ("profile typo", [put("service-profile RDMA-PORT", "service-profile RDMA-PROT", 4)], HERE),
    ("mtu 1500", [put("mtu 9214", "mtu 1500", 3)], HERE),
    ("mtu missing", [drop("mtu 9214", 3)], "interface Ethernet4/1"),
    ("mtu 9000 uplink", [put("mtu 9214", "mtu 9000", 7)], HERE),
    ("port pfc off", [behind("   service-profile RDMA-PORT", "   no priority-flow-control", 1)], HERE),
    ("port no no-drop", [behind("   service-profile RDMA-PORT", "   no priority-flow-control priority 3 no-drop", 1)], HERE),
    ("flowcontrol", [behind("   service-profile RDMA-PORT", "   flowcontrol receive on", 1)], HERE),
    ("all off", [behind("priority-flow-control pause watchdog action", "priority-flow-control all off")], HERE),
    ("rewrite", [behind("qos map dscp 26", "qos rewrite dscp")], HERE),
    ("max paths", [put("maximum-paths 8 ecmp 8", "maximum-paths 1")], HERE),
    ("paths for half of the uplinks", [put("maximum-paths 8 ecmp 8", "maximum-paths 2 ecmp 2")], HERE),
    ("paths for all but a neighbour", [put("maximum-paths 8 ecmp 8", "maximum-paths 3")], NOTHING),
    ("paths of two families",
     [put("maximum-paths 8 ecmp 8", "maximum-paths 4"), behind("neighbor 10.2.32.1", [f"   neighbor fd00::{i} remote-as 65000" for i in range(4)])],
     NOTHING),
    ("thresholds in bytes", [put("400 kbytes maximum-threshold 1600 kbytes", "400 bytes maximum-threshold 1600 bytes")], HERE),
    ("peer-link without PFC",
     [behind("ip routing", ["mlag configuration", "   peer-link Port-Channel9", "interface Port-Channel9", "   mtu 9214", "   qos trust dscp",
                            "interface Ethernet9/1", "   mtu 9214", "   channel-group 9 mode active",
                            "interface Ethernet10/1", "   mtu 9214", "   channel-group 9 mode active"])],
     "interface Ethernet9/1"),
    ("peer-link with PFC",
     [behind("ip routing", ["mlag configuration", "   peer-link Port-Channel9", "interface Port-Channel9", "   mtu 9214", "   service-profile RDMA-PORT",
                            "interface Ethernet9/1", "   mtu 9214", "   channel-group 9 mode active", "   service-profile RDMA-PORT"])],
     NOTHING),
    ("second no-drop", [behind("priority 3 no-drop", "   priority-flow-control priority 5 no-drop")], HERE),
    ("queue map", [behind("qos map dscp 48", "qos map traffic-class 3 to tx-queue 1")], HERE),
]
ON_JUNOS = [
    ("balancing not exported", [drop("forwarding-table export BAL")], "policy-statement BAL"),
    ("shaped below its share", [behind("S-RDMA transmit-rate", "set class-of-service schedulers S-RDMA shaping-rate 25g")], HERE),
    ("shaped to a part", [behind("S-RDMA transmit-rate", "set class-of-service schedulers S-RDMA shaping-rate percent 20")], HERE),
    ("shaped above its share", [behind("S-RDMA transmit-rate", "set class-of-service schedulers S-RDMA shaping-rate 90g")], NOTHING),
    ("best effort shaped", [behind("S-REST transmit-rate", "set class-of-service schedulers S-REST shaping-rate 5g")], NOTHING),
    ("code point 26 -> 34 in classifier", [put("code-points 011010", "code-points 100010")], HERE),
    ("code point into CNP", [put("CNP loss-priority low code-points 110000", "CNP loss-priority low code-points 011010")], HERE),
    ("CNP with a code point of its own", [put("code-points 110000", "code-points 101110")], NOTHING),
    ("CNP of its own, not strict", [put("S-CNP priority strict-high", "S-CNP priority low"), put("code-points 110000", "code-points 101110")], HERE),
    ("48 into RDMA", [put("forwarding-class CNP loss-priority low", "forwarding-class RDMA loss-priority low")], HERE),
    ("profile other code point", [put("code-point 011010 pfc", "code-point 011100 pfc")], HERE),
    ("no-loss missing", [drop("RDMA no-loss")], "RDMA queue-num"),
    ("pfc-priority 4", [put("pfc-priority 3", "pfc-priority 4")], HERE),
    ("flow control queue 4", [put("flow-control-queue 3", "flow-control-queue 4")], HERE),
    ("output code point 100", [put("code-point 011 flow", "code-point 100 flow")], HERE),
    ("rdma queue 6", [put("RDMA queue-num 3", "RDMA queue-num 6")], HERE),
    ("cnp queue 3", [put("CNP queue-num 6", "CNP queue-num 3")], HERE),
    ("cnp queue 0", [put("CNP queue-num 6", "CNP queue-num 0")], HERE),
    ("ecn missing", [drop("explicit-congestion-notification")], "S-RDMA drop-profile-map"),
    ("schedulers exchanged", [put("RDMA scheduler S-RDMA", "RDMA scheduler S-CNP"), put("CNP scheduler S-CNP", "CNP scheduler S-RDMA")], HERE),
    ("drop profile missing", [drop("drop-profile-map")], "S-RDMA explicit"),
    ("both missing", [drop("explicit-congestion-notification"), drop("drop-profile-map")], "S-RDMA transmit-rate"),
    ("fill reversed", [put("fill-level 10", "fill-level 80")], HERE),
    ("probability 0", [put("drop-probability 100", "drop-probability 0")], HERE),
    ("rate 5",
     [put("S-RDMA transmit-rate percent 60", "S-RDMA transmit-rate percent 5"),
      put("S-REST transmit-rate percent 35", "S-REST transmit-rate percent 90")],
     HERE),
    ("rates over", [put("S-RDMA transmit-rate percent 60", "S-RDMA transmit-rate percent 90")], HERE),
    ("rdma strict", [behind("S-RDMA transmit-rate", "set class-of-service schedulers S-RDMA priority strict-high")], HERE),
    ("cnp not strict", [put("S-CNP priority strict-high", "S-CNP priority low")], HERE),
    ("wrong scheduler", [put("RDMA scheduler S-RDMA", "RDMA scheduler S-REST")], HERE),
    ("undefined scheduler", [put("RDMA scheduler S-RDMA", "RDMA scheduler S-RMDA")], HERE),
    ("headroom 0", [put("headroom percent 25", "headroom percent 0"), put("lossy percent 15", "lossy percent 40")], HERE),
    ("partitions 130", [put("lossless percent 60", "lossless percent 90")], HERE),
    ("partitions 80", [put("lossless percent 60", "lossless percent 40")], "ingress"),
    ("watchdog missing", [drop("poll-interval"), drop("detection"), drop("recovery")], "PAUSE input cable"),
    ("recovery short", [put("recovery 400", "recovery 100")], HERE),
    ("port mtu", [put("et-0/0/2 mtu 9216", "et-0/0/2 mtu 1500")], HERE),
    ("port mtu missing", [drop("et-0/0/2 mtu 9216")], "et-0/0/2 description"),
    ("uplink mtu", [put("et-0/0/61 mtu 9216", "et-0/0/61 mtu 1514")], HERE),
    ("no cnp on port", [drop("interfaces et-0/0/3 congestion")], "class-of-service interfaces et-0/0/3"),
    ("no classifier on port, network control scheduled",
     [drop("interfaces et-0/0/3 unit 0 classifiers"), put("S-REST transmit-rate percent 35", "S-REST transmit-rate percent 30"),
      behind("best-effort scheduler", ["set class-of-service scheduler-maps TURNS forwarding-class network-control scheduler S-NC",
                                       "set class-of-service schedulers S-NC transmit-rate percent 5"])],
     "class-of-service interfaces et-0/0/3"),
    ("no classifier on port", [drop("interfaces et-0/0/3 unit 0 classifiers")], "class-of-service interfaces et-0/0/3"),
    ("no map on port", [drop("interfaces et-0/0/3 scheduler-map")], "class-of-service interfaces et-0/0/3"),
    ("profile of a port inactive",
     [behind("set routing-options", "deactivate class-of-service interfaces et-0/0/61 congestion-notification-profile")], HERE),
    ("a rewrite that is inactive: no mistake",
     [behind("set routing-options", ["set class-of-service interfaces et-0/0/61 unit 0 rewrite-rules dscp default",
                                     "deactivate class-of-service interfaces et-0/0/61 unit 0 rewrite-rules"])], NOTHING),
    ("no cos on port",
     [drop("interfaces et-0/0/3 congestion"),
      drop("interfaces et-0/0/3 unit 0 classifiers"),
      drop("interfaces et-0/0/3 scheduler-map")],
     "et-0/0/3 description"),
    ("uplink without pause", [drop("interfaces et-0/0/62 congestion")], "class-of-service interfaces et-0/0/62"),
    ("typo profile", [put("et-0/0/4 congestion-notification-profile PAUSE", "et-0/0/4 congestion-notification-profile PAUES")], HERE),
    ("typo classifier", [put("et-0/0/4 unit 0 classifiers dscp DSCP-IN", "et-0/0/4 unit 0 classifiers dscp DSCP_IN")], HERE),
    ("ieee classifier", [put("et-0/0/4 unit 0 classifiers dscp DSCP-IN", "et-0/0/4 unit 0 classifiers ieee-802.1 default")], HERE),
    ("flow-control", [behind("et-0/0/1 mtu", "set interfaces et-0/0/1 ether-options flow-control")], HERE),
    ("no multipath", [drop("multipath")], "group UP type"),
    ("rewrite",
     [behind("scheduler-maps TURNS forwarding-class RDMA", ["set class-of-service rewrite-rules dscp RW forwarding-class RDMA loss-priority low code-point 000000", "set class-of-service interfaces et-0/0/0 unit 0 rewrite-rules dscp RW"])],
     HERE),
    ("second no-loss",
     [behind("RDMA pfc-priority", ["set class-of-service forwarding-classes class OTHER queue-num 4", "set class-of-service forwarding-classes class OTHER no-loss", "set class-of-service forwarding-classes class OTHER pfc-priority 4"])],
     NOTHING),
    ("cos of absent port", [put("class-of-service interfaces et-0/0/5 unit", "class-of-service interfaces et-0/0/50 unit")], HERE),
]


class Single(Mistakes):
    def strong(self, lines):
        return [item for item in self.checked(switch="\n".join(lines) + "\n")["findings"] if item["severity"] != "info"]

    def each(self, good, cases):
        self.assertEqual(self.strong(good), [])
        for what, changes, where in cases:
            lines = list(good)
            first = [change(lines) for change in changes][0]
            found = {item["line"]: f"{item['rule']}: {item['message']}" for item in self.strong(lines)}
            wanted = set() if where == NOTHING else {first + 1} if where == HERE else {next(n for n, line in enumerate(lines, 1) if where in line)}
            with self.subTest(what):
                self.assertEqual(set(found), wanted, found)

    def test_nxos(self):
        self.each(NXOS, ON_NXOS)

    def test_eos(self):
        self.each(EOS, ON_EOS)

    def test_junos(self):
        self.each(JUNOS, ON_JUNOS)

    def test_weak_points(self):
        """No mistakes, and worth an info."""
        for good, changes, rule, where in (
                (NXOS, [drop("description gpu-04")], "SIB001", "interface Ethernet1/4"),
                (EOS, [drop("description spine2")], "SIB001", "interface Ethernet30/1"),
                (JUNOS, [drop('description "node03')], "SIB001", "set interfaces et-0/0/3"),
                (NXOS, [put("minimum-threshold 300", "minimum-threshold 2500"), put("drop-probability 20", "drop-probability 100")], "ECN002", "random-detect"),
                (EOS, [drop("qos map dscp 24 25")], "MAP009", "qos map dscp 26"),
                (EOS, [put("minimum-threshold 400", "minimum-threshold 40")], "ECN005", "random-detect ecn"),
                (JUNOS, [put("fill-level 40", "fill-level 90"), put("fill-level 10", "fill-level 60")], "ECN010", "fill-level 60"),
                (EOS, [put("400 kbytes maximum-threshold 1600 kbytes max-mark-probability 25", "900 kbytes maximum-threshold 900 kbytes max-mark-probability 100")],
                 "ECN002", "random-detect ecn"),
                (JUNOS, [put("node03 nic0", "node03 nic0 (150m)")], "HR002", "cable-length 20"),
                (JUNOS, [put("node03 nic0", "node03 nic0 20 m")], None, ""),
                (JUNOS, [put("node03 nic0", "node3m nic150m a-150m")], None, ""),
                (JUNOS, [drop("forwarding-table export BAL"), drop("policy-statement BAL")], "TOP008", "protocols bgp")):
            lines = list(good)
            for change in changes:
                change(lines)
            found = self.checked(switch="\n".join(lines) + "\n")["findings"]
            before = {(item["rule"], item["message"]) for item in self.checked(switch="\n".join(good) + "\n")["findings"]}
            new = {(item["rule"], item["line"], item["severity"]) for item in found if (item["rule"], item["message"]) not in before}
            at = next((n for n, line in enumerate(lines, 1) if where in line), 0)
            self.assertEqual(new, {(rule, at, "info")} if rule else set(), where)

    def test_control_without_a_scheduler(self):
        """A classifier that leads to network-control, and a map that does not serve it."""
        lines = list(JUNOS)
        lines.insert(next(n for n, line in enumerate(lines) if "classifiers dscp DSCP-IN" in line),
                     "set class-of-service classifiers dscp DSCP-IN forwarding-class network-control loss-priority low code-points 111000")
        self.assertEqual([(item["rule"], "scheduler-maps TURNS" in lines[item["line"] - 1]) for item in self.strong(lines)], [("SCH001", True)])
        at = next(n for n, line in enumerate(lines) if "schedulers S-REST transmit-rate" in line)
        lines[at:at + 1] = ["set class-of-service scheduler-maps TURNS forwarding-class network-control scheduler S-NC",
                            "set class-of-service schedulers S-NC transmit-rate percent 5", "set class-of-service schedulers S-REST transmit-rate percent 30"]
        self.assertEqual(self.strong(lines), [])

    def test_trust_beside_a_second_priority(self):
        """Every port pauses a priority that nothing is in; the one that trusts CoS is told all the same."""
        lines = [line for line in EOS if line != "   no switchport" and "ip address" not in line and "neighbor" not in line]
        lines.insert(lines.index("   priority-flow-control priority 3 no-drop") + 1, "   priority-flow-control priority 4 no-drop")
        before = {item["rule"] for item in self.strong(lines)}
        self.assertNotIn("SIB001", before)
        lines.insert(lines.index("interface Ethernet3/1") + 1, "   qos trust cos")
        found = [(item["rule"], lines[item["line"] - 1]) for item in self.strong(lines) if item["rule"] not in before]
        self.assertEqual(found, [("SIB001", "   qos trust cos")])

    def test_bundles(self):
        """A member without something is told at its head; a bundle without something at the bundle's, once."""
        lines = [line for line in NXOS if "service-policy type qos input" not in line or line in NXOS[:46]]
        for number in range(1, 4):
            at = lines.index(f"interface Ethernet1/{number}")
            lines[at + 1:at + 1] = [f"  channel-group {10 + number} mode active"]
            lines += [f"interface port-channel{10 + number}", "  switchport", "  mtu 9216", "  service-policy type qos input CLASSIFY"]
        for number in (4, 5, 6, 31, 32, 33, 34):
            lines.insert(lines.index(f"interface Ethernet1/{number}") + 1, "  service-policy type qos input CLASSIFY")
        self.assertEqual(self.strong(lines), [])
        lines.pop()
        found = self.strong(lines)
        self.assertEqual([lines[item["line"] - 1] for item in found], ["interface port-channel13"])

    def test_frames_of_channels(self):
        """A routed channel takes frames of its own, whatever its members say."""
        good = list(EOS)
        for number, members in ((10, (29, 30)), (20, (31, 32))):
            for port in members:
                at = good.index(f"interface Ethernet{port}/1")
                good[at + 1:at + 5] = [f"   description agg{number} member", "   mtu 9214", f"   channel-group {number} mode active"]
            good[good.index("ip routing"):good.index("ip routing")] = [
                f"interface Port-Channel{number}", f"   description agg{number}", "   mtu 9214", "   no switchport",
                f"   ip address 10.3.{number}.0/31", "   service-profile RDMA-PORT", "!"]
        self.each(good, [
            ("a channel without mtu", [drop("   mtu 9214", 11)], "interface Port-Channel20"),
            ("a channel with a small one", [put("   mtu 9214", "   mtu 1500", 10)], HERE),
            ("members without", [drop("   mtu 9214", 9), drop("   mtu 9214", 8)], NOTHING)])

    def test_group_not_applied(self):
        """Class of service of all ports in a group: told where groups are applied, of the switch that leaves it out."""
        parts = ("congestion-notification-profile PAUSE", "scheduler-map TURNS", "unit 0 classifiers dscp DSCP-IN")
        lines = [line for line in JUNOS if not any(line.startswith("set class-of-service interfaces") and part in line for part in parts)]
        lines += [f"set groups COS class-of-service interfaces <et-*> {part}" for part in parts]
        lines += [f"set class-of-service interfaces et-0/0/{port} unit 0" for port in (*range(6), *range(60, 64))]
        lines += ["set groups NTP system ntp server 10.0.0.1", "set apply-groups NTP", "set apply-groups COS"]
        self.assertEqual(self.strong(lines), [])
        other = [line.replace("q5240-4", "q5240-5").replace("10.6.", "10.7.") for line in lines if line != "set apply-groups COS"]
        found = self.checked(good="\n".join(lines) + "\n", switch="\n".join(other) + "\n")["findings"]
        strong = {(item["rule"], item["file"], item["line"]) for item in found if item["severity"] != "info"}
        self.assertEqual(strong, {("MAP007", "switch.txt", other.index("set apply-groups NTP") + 1)}, found)

    def test_members_and_policies(self):
        """EOS without profiles: members of a channel, classification by a policy-map, a port that has another job."""
        queues = ["   priority-flow-control on", "   priority-flow-control priority 3 no-drop", "   uc-tx-queue 1", "      no priority",
                  "      bandwidth percent 50", "   uc-tx-queue 3", "      no priority", "      bandwidth percent 50",
                  "      random-detect ecn minimum-threshold 300 kbytes maximum-threshold 1200 kbytes max-mark-probability 30",
                  "   uc-tx-queue 6", "      priority strict", "!"]
        good = EOS[:10] + ["class-map type qos match-any R", "   match dscp 26", "!", "class-map type qos match-any C", "   match dscp 48", "!",
                           "policy-map type quality-of-service IN", "   class R", "      set traffic-class 3", "   class C", "      set traffic-class 6",
                           "   class class-default", "      set traffic-class 1", "!", "interface Port-Channel10", "   description vm01 bond", "   mtu 9214",
                           "   switchport access vlan 9", "   service-policy type qos input IN", "!"]
        for number in (1, 2):
            good += [f"interface Ethernet{number}/1", f"   description vm01 p{number}", "   channel-group 10 mode active", "   mtu 9214", *queues]
        good += ["interface Ethernet3/1", "   description backup (TCP)", "   switchport access vlan 9", "!"]
        for number in (31, 32):
            good += [f"interface Ethernet{number}/1", f"   description spine{number}", "   mtu 9214", "   no switchport", f"   ip address 10.0.{number}.1/31",
                     "   service-policy type qos input IN", *queues]
        self.each(good, [
            ("a member without no-drop", [drop("priority 3 no-drop", 1)], "interface Ethernet2/1"),
            ("a member with another no-drop", [put("priority 3 no-drop", "priority 4 no-drop", 1)], HERE),
            ("a channel without its policy", [drop("service-policy type qos input IN")], "interface Port-Channel10"),
            ("an uplink without its policy", [drop("service-policy type qos input IN", 1)], "interface Ethernet31/1"),
            ("PFC off beside no-drop", [put("   priority-flow-control on", "   no priority-flow-control", 2)], HERE),
            ("a class that is not defined", [put("   class R", "   class ROCE")], HERE),
            ("best effort for RDMA", [put("match dscp 26", "match dscp 0")], HERE),
            ("a DSCP in two classes", [put("match dscp 48", "match dscp 26 48")], HERE),
            ("detecting sooner than two looks", [put("timeout 0.30", "timeout 0.15")], HERE),
            ("an uplink with another frame", [put("   mtu 9214", "   mtu 9000", 3)], HERE)])


if __name__ == "__main__":
    unittest.main()
