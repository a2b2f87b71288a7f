# SPDX-License-Identifier: Apache-2.0
"""Mistakes in configurations of one fabric: each is found by its rule, at its line, and nothing else is.

A good fabric is written for a system with `rocelab config`, one thing in it is changed by hand, and it is checked."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROCELAB = os.environ["ROCELAB"]
FABRIC = """rocelab: 1
topology: {leaf-spine: {leaves: 2, spines: 4, hosts: 4}}
links: {host: {rate: 400G, cable: 3m}, fabric: {rate: 400G, cable: 30m}}
switches: {model: tomahawk5, watchdog: true}
nics:
  dcqcn: {rp: true, np: true}
  dcbx: {willing: false}
  nccl: {NCCL_IB_TC: 106, NCCL_IB_QPS_PER_CONNECTION: 4}
"""
SUFFIX = {"nxos": "cfg", "eos": "cfg", "sonic": "json", "nvue": "yaml"}
LEAF, SPINE = ("leaf0",), ("spine0",)
SWITCHES = ("leaf0", "leaf1", "spine0", "spine1", "spine2", "spine3")
HOSTS = tuple(f"h{i}" for i in range(8))


def at(text, line, after=""):
    """The number of the first line with `line` in it, behind the first one with `after` in it."""
    lines = text.split("\n")
    first = next(i for i, one in enumerate(lines) if after in one)
    return next(i + 1 for i, one in enumerate(lines) if i >= first and line in one)


def changed(text, old, new, after=""):
    where = text.index(old, text.index(after))
    return text[:where] + new + text[where + len(old):]


UNMARKED = """policy-map type queuing OTHER
  class type queuing c-out-8q-q7
    priority level 1
  class type queuing c-out-8q-q6
    priority level 2
  class type queuing c-out-8q-q3
    bandwidth remaining percent 90
  class type queuing c-out-8q-q-default
    bandwidth remaining percent 10
! MAP007: defined and applied
"""

# (what is wrong, system, devices read, [(device, after, old, new)], [(rule, device, after, text of the line)])
MISTAKES = [
    ("nothing: ports that are shut, and one that nobody uses", "nxos", SWITCHES,
     [("spine0", "", "! To see", "interface Ethernet1/60\n  shutdown\ninterface Ethernet1/61\n! To see"),
      ("spine1", "", "! To see", "interface Ethernet1/60\n  priority-flow-control mode on\n  shutdown\n! To see")], []),
    ("nothing: cables whose lengths are not said", "nxos", SWITCHES, [("leaf0", "", ",30m", "")], []),
    ("cables whose lengths nobody says", "nxos", ("leaf0", "spine0"),
     [("leaf0", "Ethernet1/5", ",30m", ""), ("spine0", "Ethernet1/1", ",30m", "")],
     [("HR002", "leaf0", "", "description spine0:Ethernet1/1")]),
    ("a port without PFC, its peer not known", "nxos", LEAF, [("leaf0", "Ethernet1/6", "  priority-flow-control mode on\n", "")],
     [("PFC006", "leaf0", "interface Ethernet1/6", "interface Ethernet1/6")]),  # it is then negotiated
    ("a port with PFC off, its peer not known", "nxos", LEAF, [("leaf0", "Ethernet1/6", "control mode on", "control mode off")],
     [("SIB001", "leaf0", "interface Ethernet1/6", "priority-flow-control mode off")]),
    ("small frames on a port to a host", "nxos", SWITCHES + HOSTS, [("leaf0", "Ethernet1/2", "mtu 9216", "mtu 5000")],
     [("SIB001", "leaf0", "interface Ethernet1/2", "mtu 5000")]),
    ("small frames on a spine", "nxos", SWITCHES, [("spine1", "Ethernet1/2", "mtu 9216", "mtu 1500")],
     [("MTU001", "spine1", "interface Ethernet1/2", "mtu 1500")]),
    ("an end without PFC", "nxos", SWITCHES + HOSTS, [("spine1", "Ethernet1/2", "control mode on", "control mode off")],
     [("PFC001", "spine1", "interface Ethernet1/2", "priority-flow-control mode off")]),
    ("a host that pauses another priority", "nxos", SWITCHES + HOSTS,
     [("h2", "", "--pfc 0,0,0,1,0,0,0,0", "--pfc 0,0,0,0,1,0,0,0"), ("h2", "", "prio-pfc all:off 3:on", "prio-pfc all:off 4:on")],
     [("HOST001", "h2", "", "--pfc 0,0,0,0,1")]),
    ("a host of small frames", "eos", SWITCHES + HOSTS, [("h0", "", "mtu 9000", "mtu 1500")], [("TOP006", "h0", "", "mtu 1500")]),
    ("no classification on a port", "nxos", LEAF, [("leaf0", "Ethernet1/3", "  service-policy type qos input ROCELAB-QOS\n", "")],
     [("MAP001", "leaf0", "interface Ethernet1/3", "interface Ethernet1/3")]),
    ("nothing: CNPs in the highest group, as Cisco has them", "nxos", SWITCHES + HOSTS,
     [edit for device in SWITCHES for edit in
      ((device, "class cnp", "set qos-group 6", "set qos-group 7"), (device, "network-qos", "c-8q-nq6", "c-8q-nq7"),
       (device, "c-out-8q-q6", "priority level 2", "bandwidth remaining percent 0"))], []),
    ("nothing: so does one switch, with one host", "nxos", ("leaf0", "h0"),
     [("leaf0", "class cnp", "set qos-group 6", "set qos-group 7"), ("leaf0", "network-qos", "c-8q-nq6", "c-8q-nq7"),
      ("leaf0", "c-out-8q-q6", "priority level 2", "bandwidth remaining percent 0")], []),
    ("nothing: CNPs with another DSCP of control, in a strict class of its own", "nxos", LEAF,
     [("leaf0", "", "match dscp 48", "match dscp 56")], []),
    ("info: CNPs with a DSCP of their own, by the name of their class", "nxos", LEAF, [("leaf0", "", "match dscp 48", "match dscp 40")],
     [("MAP006", "leaf0", "", "set qos-group 6")]),
    ("no watchdog", "nxos", LEAF, [("leaf0", "", "\npriority-flow-control watch-dog-interval on\n", "\n")],
     [("WD001", "leaf0", "", "interface Ethernet1/1")]),
    ("CoS is looked at on routed ports", "nxos", SWITCHES + HOSTS,
     [("leaf0", "", "match dscp 26", "match cos 3"), ("leaf0", "", "match dscp 48", "match cos 6")], [("MAP003", "leaf0", "", "match cos 6")]),
    ("an uplink with a queuing policy of its own, which does not mark", "nxos", SWITCHES,
     [("leaf0", "", "! MAP007: defined and applied\n", UNMARKED),
      ("leaf0", "interface Ethernet1/6", "  no shutdown", "  service-policy type queuing output OTHER\n  no shutdown")],
     [("ECN001", "leaf0", "policy-map type queuing OTHER", "class type queuing c-out-8q-q3")]),
    ("asymmetric PFC on an uplink", "sonic", SWITCHES,
     [("leaf0", '"Ethernet16": {', '"admin_status": "up"', '"pfc_asym": "on",\n            "admin_status": "up"')],
     [("PFC009", "leaf0", "", "pfc_asym")]),
    ("FEC of two ends", "nxos", SWITCHES,
     [(device, f"interface Ethernet1/{port}\n", "  mtu", "  fec rs-fec\n  mtu") for device in SWITCHES for port in (1, 2)] +
     [("leaf0", "interface Ethernet1/5\n", "  mtu", "  fec off\n  mtu")], [("TOP006", "leaf0", "interface Ethernet1/5", "fec off")]),
    ("a hash without ports", "nxos", SWITCHES,
     [("leaf0", "", "interface Ethernet1/1", "ip load-sharing address source-destination\ninterface Ethernet1/1")],
     [("TOP004", "leaf0", "! WD001", "ip load-sharing")]),
    ("RDMA in the queue of best effort", "sonic", LEAF, [("leaf0", "TC_TO_QUEUE_MAP", '"3": "3"', '"3": "0"')],
     [("MAP001", "leaf0", "TC_TO_QUEUE_MAP", '"3": "0"')]),
    ("a policy of its own, with another group", "nxos", LEAF,
     [("leaf0", "interface Ethernet1/7", "input ROCELAB-QOS", "input OLD"),
      ("leaf0", "", "! PFC001, PFC007", "policy-map type qos OLD\n  class rdma\n    set qos-group 1\n  class cnp\n    set qos-group 6\n! PFC001, PFC007")],
     [("MAP001", "leaf0", "policy-map type qos OLD", "set qos-group 1")]),
    ("BGP with one path", "nxos", SWITCHES,
     [("leaf0", "", "! To see", "router bgp 65001\n  neighbor 10.0.0.1\n    remote-as 65100\n  neighbor 10.0.1.1\n    remote-as 65100\n! To see")],
     [("TOP008", "leaf0", "", "router bgp 65001")]),
    ("a member of a bundle without PFC", "nxos", LEAF,
     [("leaf0", f"interface Ethernet1/{port}\n", "  mtu", "  channel-group 10 mode active\n  mtu") for port in (5, 6)] +
     [("leaf0", "interface Ethernet1/6", "control mode on", "control mode off")],
     [("LAG001", "leaf0", "interface Ethernet1/6", "priority-flow-control mode off")]),
    ("a port that pauses another priority", "sonic", LEAF, [("leaf0", '"PORT_QOS_MAP"', '"pfc_enable": "3"', '"pfc_enable": "4"')],
     [("PFC010", "leaf0", "", '"pfc_enable": "4"')]),
    ("small frames on a port", "sonic", LEAF, [("leaf0", '"Ethernet16": {', '"mtu": "9198"', '"mtu": "1500"')],
     [("MTU001", "leaf0", "", '"mtu": "1500"')]),
    ("an uplink without its profile, the other end not read", "eos", LEAF,
     [("leaf0", "interface Ethernet5", "   service-profile ROCELAB\n", "")], [("SIB001", "leaf0", "", "interface Ethernet5")]),
    ("an uplink without its profile", "eos", SWITCHES, [("leaf0", "interface Ethernet5", "   service-profile ROCELAB\n", "")],
     [("PFC001", "leaf0", "", "interface Ethernet5")]),
    ("a port that pauses another priority, of two devices", "eos", ("leaf0", "spine0"),
     [("leaf0", "interface Ethernet5", "   service-profile ROCELAB\n",
       "   qos trust dscp\n   priority-flow-control on\n   priority-flow-control priority 4 no-drop\n")],
     [("PFC001", "leaf0", "interface Ethernet5", "priority 4 no-drop")]),
    ("all ports pause another priority", "eos", LEAF, [("leaf0", "", "priority 3 no-drop", "priority 4 no-drop")],
     [("PFC010", "leaf0", "", "priority 4 no-drop")]),
    ("an adapter alone pauses another priority", "nxos", ("h2",),
     [("h2", "", "--pfc 0,0,0,1,0,0,0,0", "--pfc 0,0,0,0,1,0,0,0"), ("h2", "", "prio-pfc all:off 3:on", "prio-pfc all:off 4:on")],
     [("PFC010", "h2", "", "--pfc 0,0,0,0,1")]),
    ("a group that pauses another priority", "nxos", SWITCHES, [("spine0", "", "pause pfc-cos 3", "pause pfc-cos 4")],
     [("PFC007", "spine0", "", "pause pfc-cos 4")]),
    # What follows was written down before it was tried.
    ("small frames on a spine's port", "eos", SWITCHES, [("spine1", "interface Ethernet2", "mtu 9214", "mtu 1500")],
     [("MTU001", "spine1", "interface Ethernet2", "mtu 1500")]),
    ("another priority without drops on a spine", "eos", SWITCHES, [("spine3", "", "priority 3 no-drop", "priority 4 no-drop")],
     [("PFC001", "spine3", "", "priority-flow-control priority 4 no-drop")]),
    ("a spine that does not mark", "eos", SWITCHES, [("spine1", "", "      random-detect ecn minimum-threshold 500 kbytes "
      "maximum-threshold 1500 kbytes max-mark-probability 10 weight 0\n", "")],
     [("ECN001", "spine1", "", "uc-tx-queue 3")]),
    ("another DSCP in the class of RDMA", "nxos", SWITCHES + HOSTS, [("leaf1", "", "match dscp 26", "match dscp 24")],
     [("MAP001", "leaf1", "policy-map type qos", "set qos-group 3")]),
    ("CNPs have no strict queue on a spine", "nxos", SWITCHES,
     [("spine2", "c-out-8q-q6", "priority level 2", "bandwidth remaining percent 0")], [("MAP005", "spine2", "c-out-8q-q6", "bandwidth remaining percent 0")]),
    ("a port that the watchdog leaves out", "nxos", SWITCHES,
     [("leaf0", "interface Ethernet1/4", "  priority-flow-control watch-dog-interval on\n", "")],
     [("WD001", "leaf0", "", "interface Ethernet1/4")]),
    ("CNPs among best effort on a spine", "sonic", SWITCHES + HOSTS, [("spine1", "DSCP_TO_TC_MAP", '"48": "6"', '"48": "0"')],
     [("MAP006", "spine1", "DSCP_TO_TC_MAP", '"48": "0"')]),
    ("a watchdog for a port that is not there", "sonic", SWITCHES, [("spine1", '"PFC_WD"', '"Ethernet8": {', '"Ethernet80": {')],
     [("WD001", "spine1", '"PORT_QOS_MAP"', '"Ethernet8": {')]),
    ("a curve that falls", "sonic", SWITCHES,
     [("leaf1", "WRED_PROFILE", '"green_max_threshold": "1500000"', '"green_max_threshold": "150000"')],
     [("ECN002", "leaf1", "WRED_PROFILE", "green_max_threshold")]),
    ("small frames on an uplink", "nvue", SWITCHES, [("leaf0", "swp6:", "mtu: 9198", "mtu: 8000")],
     [("MTU001", "leaf0", "swp6:", "mtu: 8000")]),
    ("NCCL with another DSCP", "nxos", SWITCHES + HOSTS, [("h3", "", "NCCL_IB_TC=106", "NCCL_IB_TC=96")],
     [("HOST002", "h3", "", "NCCL_IB_TC=96")]),
    ("an adapter's CNPs with another DSCP", "eos", SWITCHES + HOSTS,
     [("h5", "", "echo 48 >", "echo 46 >"), ("h5", "", "CNP_DSCP_P1=48", "CNP_DSCP_P1=46")], [("MAP006", "h5", "", "CNP_DSCP_P1=46")]),
    ("two ends of different rates", "nxos", SWITCHES, [("spine2", "Ethernet1/1", "speed 400000", "speed 100000")],
     [("TOP006", "spine2", "interface Ethernet1/1", "speed 100000")]),
]


class Mistakes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        fabric = pathlib.Path(cls.folder.name) / "fabric.yaml"
        fabric.write_text(FABRIC, encoding="utf-8")
        for system in ("nxos", "eos", "sonic", "nvue", "host"):
            subprocess.run([ROCELAB, "config", "--quiet", "--nos", system, "--out", str(fabric.parent / system), str(fabric)],
                           check=True, capture_output=True)

    def text(self, system, device):
        system, suffix = ("host", "sh") if device[0] == "h" else (system, SUFFIX[system])
        return device + "." + suffix, (pathlib.Path(self.folder.name) / system / f"{device}.{suffix}").read_text(encoding="utf-8")

    def found(self, texts, *options):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in texts.values():
                (pathlib.Path(folder) / name).write_text(text, encoding="utf-8")
            result = subprocess.run([ROCELAB, "check", "--json", *options, *(name for name, _ in texts.values())], cwd=folder,
                                    capture_output=True, text=True, check=False)
        self.assertIn(result.returncode, (0, 1), result.stderr)
        return json.loads(result.stdout)

    def test_nothing_is_wrong_before(self):
        for system in SUFFIX:
            for devices in (LEAF, SPINE, SWITCHES, SWITCHES + HOSTS):
                document = self.found({device: self.text(system, device) for device in devices})
                self.assertEqual(document["findings"], [], system)
                self.assertEqual(document["unjudged"], [], system)

    def test_mistakes(self):
        for words, system, devices, edits, expected in MISTAKES:
            with self.subTest(words, system=system):
                texts = {device: self.text(system, device) for device in devices}
                for device, after, old, new in edits:
                    name, text = texts[device]
                    texts[device] = (name, changed(text, old, new, after))
                document = self.found(texts)
                found = [(one["rule"], one["file"], one["line"]) for one in document["findings"]]
                wanted = [(rule, texts[device][0], at(texts[device][1], line, after)) for rule, device, after, line in expected]
                self.assertEqual(sorted(found), sorted(wanted), json.dumps(document["findings"], indent=1))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
