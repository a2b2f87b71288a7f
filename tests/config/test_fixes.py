# SPDX-License-Identifier: Apache-2.0
"""Fixes of single drifts of configurations written by hand, judged by the models of the devices: one statement each.

What works is held here; hundreds of changes at random, of which many do not, are `fixes.py`, in the soak."""
import os
import pathlib
import tempfile
import unittest

os.environ.setdefault("ROCELAB", "rocelab")
import fixes

# system, text, what drifts
HELD = (
    ("nxos", "pod3-leaf2.cfg", "interface Ethernet1/5\nshutdown\n"),
    ("nxos", "pod3-leaf2.cfg", "interface Ethernet1/31\nno priority-flow-control watch-dog-interval on\n"),
    ("nxos", "pod3-leaf2.cfg", "interface Ethernet1/5\nno service-policy type qos input CLASSIFY\n"),
    ("nxos", "pod3-leaf2.cfg", "class-map type qos match-any ROCE\nmatch dscp 25\n"),
    ("nxos", "edge-a1.cfg", "interface Ethernet1/1\nno priority-flow-control mode\n"),
    ("nxos", "edge-a1.cfg", "policy-map type network-qos SYS\nclass type network-qos nq-render\nno pause pfc-cos 4\n"),
    ("eos", "row7-leaf1.cfg", "interface Ethernet6/1\nmtu 1500\n"), ("eos", "deep3.cfg", "interface Ethernet5/1\nshutdown\n"),
    ("eos", "row7-leaf1.cfg", "qos profile RDMA-PORT\npriority-flow-control priority 4 no-drop\n"),
    ("eos", "row7-leaf1.cfg", "interface Ethernet6/1\nno service-profile RDMA-PORT\n"),
    ("eos", "deep3.cfg", "qos profile HOSTS\ntx-queue 3\nrandom-detect ecn minimum-threshold 256 kbytes maximum-threshold 2048 kbytes "
     "max-mark-probability 20 weight 0\n"),
    ("eos", "deep3.cfg", "qos map dscp 24 to traffic-class 0\n"),
    ("junos", "q5240-4.txt", "set interfaces et-0/0/0 disable\n"), ("junos", "brace1.conf", "set interfaces et-0/0/3 disable\n"),
    ("junos", "q5240-4.txt", "delete class-of-service schedulers S-RDMA explicit-congestion-notification\n"),
    ("junos", "q5240-4.txt", "set class-of-service classifiers dscp DSCP-IN forwarding-class CNP loss-priority low code-points 001011\n"),
    ("junos", "brace1.conf", "set interfaces et-0/0/2 mtu 1514\n"),
    ("junos", "brace1.conf", "delete class-of-service interfaces et-0/0/1 congestion-notification-profile\n"),
    ("nvue", "explicit.txt", "nv set qos congestion-control roce traffic-class 3 min-threshold 200000\n"),
    ("nvue", "roce.txt", "nv set interface swp3 link mtu 1500\n"), ("nvue", "sn-9.txt", "nv unset interface swp4 qos pfc profile\n"),
    ("nvue", "sn-9.txt", "nv set qos pfc-watchdog robustness 6\n"),
    ("sonic", "leaf1.json", "config interface mtu Ethernet8 4200\n"), ("sonic", "leaf1.json", "pfcwd stop Ethernet4\n"),
    ("sonic", "leaf1.json", "config interface pfc priority Ethernet16 5 on\n"),
    ("sonic", "leaf1.json", '[{"op": "replace", "path": "/WRED_PROFILE/MARK/green_min_threshold", "value": "125000"}]\n'),
    ("sonic", "tor-12.json", '[{"op": "remove", "path": "/QUEUE/Ethernet8|3-4/wred_profile"}]\n'),
    ("sonic", "tor-12.json", '[{"op": "replace", "path": "/BUFFER_PROFILE/short/xoff", "value": "100000"}]\n'), ("sonic", "tor-12.json", "config interface shutdown Ethernet16\n"),
    ("host", "loops.sh", "ip link set dev eth2 mtu 1500\n"), ("host", "loops.sh", "mlnx_qos -i eth1 --trust pcp\n"),
    ("host", "loops.sh", "mlnx_qos -i eth0 --pfc 0,0,0,0,1,0,0,0\n"), ("host", "loops.sh", "mlnx_qos -i eth3 --dscp2prio set,26,5\n"),
    ("host", "plain.sh", "echo 0 > /sys/class/net/ens0f0np0/ecn/roce_np/enable/3\n"),
)


class Fixes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.judge = fixes.Judge(os.environ["ROCELAB"], pathlib.Path(folder.name))

    def judged(self, system, name, commands):
        device = fixes.SYSTEMS[system](fixes.own_texts(system)[name])
        approved = self.judge.approved(name, device.text())
        self.assertEqual(approved.returncode, 0, approved.stderr)
        return self.judge.judged(device, name, commands, approved.stdout)

    def test_held(self):
        for system, name, commands in HELD:
            with self.subTest(f"{name}: {commands}"):
                found = self.judged(system, name, commands)
                self.assertEqual((found["verdict"], found["statements"], found["after"]), ("converged", 1, ""), found["why"] + found["fix"])

    def test_the_judge(self):
        """Commands that do harm are told by what they do, whatever they are meant for."""
        for commands, verdict in (
                ("interface Ethernet1/5\nno shutdown\n", "converged"), ("interface Ethernet1/5\nno shutdown\ninterface Ethernet1/6\nmtu 9000\n", "else changed"),
                ("interface Ethernet1/6\nno shutdown\n", "not converged"), ("interface Ethernet1/5\nup\n", "invalid"),
                ("interface Ethernet1/5\nno shutdown\nservice-policy type qos input NONE\n", "undefined"),
                ("system qos\nno service-policy type network-qos NQ\nservice-policy type network-qos NQ\ninterface Ethernet1/5\nno shutdown\n", "lossless off"),
                ("interface Ethernet1/5\nno shutdown\nno ip redirects\n", "invalid")):
            device = fixes.Nxos(fixes.own_texts("nxos")["pod3-leaf2.cfg"])
            drifted = device.copy()
            for command in ("interface Ethernet1/5", "shutdown"):
                drifted.take(command)
            self.assertEqual(self.judge.outcome(device, drifted, device.effective(), commands)["verdict"], verdict, commands)


if __name__ == "__main__":
    unittest.main()
