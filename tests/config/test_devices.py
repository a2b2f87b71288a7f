# SPDX-License-Identifier: Apache-2.0
"""The models of devices that judge fixes: what each system's documents say of its commands, and that every drift is seen."""
import json
import os
import unittest

os.environ.setdefault("ROCELAB", "rocelab")
import fixes
from devices.base import Outcome, Refused, guards, numbers, written


def device(system, name):
    return fixes.SYSTEMS[system](fixes.own_texts(system)[name])


class Devices(unittest.TestCase):
    def does(self, one, commands):
        """Takes them all, and gives what is then in force."""
        one.begin(commands)
        for command in one.statements(commands):
            one.take(command)
        self.assertEqual([str(wrong) for wrong in one.commit()], [])
        return one.effective()

    def refuses(self, one, commands, kind):
        one.begin(commands)
        with self.assertRaises(Refused) as told:
            for command in one.statements(commands):
                one.take(command)
            for wrong in one.commit():
                raise wrong
        self.assertEqual(told.exception.kind, kind, str(told.exception))

    def test_numbers(self):
        self.assertEqual(numbers("24,26,30-32"), [24, 26, 30, 31, 32])
        self.assertEqual(written([32, 24, 30, 31, 26, 27]), "24,26,27,30-32")

    def test_texts(self):
        """A text is printed as it was read, is in force without anything refused, and each of its drifts does something."""
        for system in fixes.SYSTEMS:
            for name in fixes.own_texts(system):
                with self.subTest(name):
                    one = device(system, name)
                    again = type(one)(one.text())
                    self.assertEqual((again.effective(), again.others()), (one.effective(), one.others()))
                    self.assertGreater(len(guards(one.effective())), 20)
                    self.assertGreater(len({kind for kind, _ in one.changes()}), 4)
                    goal = one.effective()
                    for kind, commands in one.changes()[::5]:
                        drifted = one.copy()
                        drifted.by_patch = False
                        self.assertTrue(self.does(drifted, commands) != goal, f"{kind}: {commands}")

    def test_nxos(self):
        one = device("nxos", "pod3-leaf2.cfg")
        port = "Ethernet1/1"
        self.assertEqual((one.effective()[port, "mtu"], one.effective()[port, "class", 26]), (9216, (3,)))
        for commands, kind in (
                ("interface Ethernet1/1\nservice-policy type qos input NONE\n", "undefined"),
                ("policy-map type qos CLASSIFY\nclass NONE\n", "undefined"), ("policy-map type queuing OUT\nclass type queuing own\n", "undefined"),
                ("no class-map type qos match-any ROCE\n", "in use"), ("no policy-map type qos CLASSIFY\n", "in use"),
                ("no policy-map type network-qos NQ\n", "in use"), ("service-profile X\n", "invalid"),
                ("interface Ethernet1/1\nno service-policy type qos input OTHER\n", "invalid"),
                ("class-map type qos match-any ROCE\nno match dscp 11\n", "invalid"), ("interface Ethernet1/1\nmtu 9300\n", "invalid")):
            self.refuses(one.copy(), commands, kind)
        off = self.does(one.copy(), "system qos\n  no service-policy type network-qos NQ\n")
        self.assertFalse([key for key in off if key[1] == "pfc"])
        more = self.does(one.copy(), "class-map type qos match-any ROCE\nmatch dscp 24-25\nno match dscp 26\n")
        self.assertEqual([more[port, "class", dscp] for dscp in (24, 25, 26)], [(3,), (3,), (0,)])
        self.assertEqual(self.does(one.copy(), "interface Ethernet1/1\nno mtu\ninterface Ethernet1/2\nmtu 4200\n")[port, "mtu"], 1500)

    def test_eos(self):
        one = device("eos", "row7-leaf1.cfg")
        port = "Ethernet1/1"
        for commands, kind in (("interface Ethernet1/1\nservice-profile NONE\n", "undefined"), ("no qos profile RDMA-PORT\n", "in use"),
                               ("qos profile RDMA-PORT\ntx-queue 3\n", "invalid"), ("pause pfc-cos 3\n", "invalid")):
            self.refuses(one.copy(), commands, kind)
        moved = self.does(one.copy(), "qos map dscp 26 to traffic-class 5\n")
        self.assertEqual((moved[port, "class", 26], moved[port, "class", 25]), ("5", "1"))
        self.assertEqual(self.does(one.copy(), "no qos map dscp 24 26\n")[port, "class", 24], "3")  # DSCP / 8 by itself
        own = self.does(one.copy(), "interface Ethernet1/1\nqos trust cos\nuc-tx-queue 3\nno random-detect ecn minimum-threshold\n")
        self.assertIn((port, "ecn", 3), own)  # the port's own word of it is gone, the profile's is not
        self.assertNotIn((port, "class", 26), own)
        # One after the other a port is without its profile; in a session it is not.
        commands = "interface Ethernet1/1\n   no service-profile RDMA-PORT\n   service-profile RDMA-PORT\n"
        self.assertEqual(len(Outcome(one.copy(), commands, one.effective()).gaps), 1)
        self.assertEqual(Outcome(one.copy(), "! in `configure session`\n" + commands, one.effective()).gaps, [])

    def test_junos(self):
        one = device("junos", "brace1.conf")
        port, cos = "et-0/0/0", "class-of-service"
        for commands, kind in (
                (f"set {cos} interfaces {port} scheduler-map NONE\n", "undefined"), (f"delete {cos} schedulers FOR-GPU\n", "undefined"),
                (f"delete {cos} forwarding-classes class GPU\n", "undefined"), (f"delete {cos} drop-profiles STEEP\n", "undefined"),
                (f"set {cos} drop-profiles STEEP interpolate fill-level 70\n", "invalid"), ("interface et-0/0/0\n", "invalid"),
                (f"set {cos} forwarding-classes class GPU lossless\n", "invalid")):
            self.refuses(one.copy(), commands, kind)
        state = self.does(one.copy(), f"set interfaces {port} mtu 9000\nset {cos} schedulers FOR-GPU transmit-rate percent 40\n")
        self.assertEqual((state[port, "mtu"], state[port, "queue", 4, ("transmit-rate", "percent")]), ("9000", "40"))
        self.assertEqual(state[port, "class", "011010"], (4, "low"))
        same = self.does(one.copy(), f"delete {cos} schedulers NONE\nset {cos} schedulers FOR-GPU priority low\n")
        self.assertEqual(same, one.effective())
        # Refused at the commit, nothing of it is in force.
        refused = one.copy()
        Outcome(refused, f"set interfaces {port} mtu 9000\ndelete {cos} schedulers FOR-GPU\n", one.effective())
        self.assertEqual(refused.effective(), one.effective())

    def test_nvue(self):
        one = device("nvue", "explicit.txt")
        for commands, kind in (("nv set interface swp1 qos pfc profile none\n", "undefined"), ("nv unset qos congestion-control roce\n", "undefined"),
                               ("nv set qos egress-scheduler roce traffic-class 0 bw-percent 70\n", "invalid"),
                               ("nv set qos pfc roce priority 3\n", "invalid"), ("nv set qos traffic-pool roce-lossless memory-percent 0\n", "invalid")):
            self.refuses(one.copy(), commands, kind)
        state = self.does(one.copy(), "nv set interface swp1-2,swp4 link mtu 4000\nnv set qos mapping roce dscp 24,25 switch-priority 3\n")
        self.assertEqual([state[f"swp{i}", "mtu"] for i in (1, 2, 3, 4)], ["4000", "4000", "9216", "4000"])
        self.assertEqual(state["swp3", "class", "dscp", "25"], "3")
        roce = device("nvue", "roce.txt")
        self.assertIn(("swp1", "pfc", "3"), roce.effective())
        self.assertNotIn(("swp1", "pfc", "3"), self.does(roce, "nv unset qos roce state\n"))  # its default is off

    def test_sonic(self):
        one = device("sonic", "leaf1.json")

        def patch(*operations):
            return json.dumps([dict(zip(("op", "path", "value"), operation)) for operation in operations])
        for commands, kind in (
                (patch(("add", "/QUEUE/Ethernet0|3/scheduler", "none")), "undefined"), (patch(("remove", "/WRED_PROFILE/MARK")), "undefined"),
                (patch(("remove", "/BUFFER_PROFILE/pg_lossless_100000_5m_profile")), "undefined"),
                (patch(("replace", "/PORT/Ethernet4/fec", "rs"), ("remove", "/PORT/Ethernet4/none")), "invalid"),
                (patch(("replace", "/BUFFER_POOL/ingress_lossless_pool/size", "1")), "invalid"), (patch(("add", "/NONE/a/b", "1")), "invalid"),
                (patch(("replace", "/BUFFER_PROFILE/pg_lossless_100000_5m_profile/size", "1")), "invalid"),
                (patch(("remove", "/PFC_WD/GLOBAL")), "invalid"), ("config interface mtu Ethernet999 9100\n", "undefined")):
            self.refuses(one.copy(), commands, kind)
        state = self.does(one.copy(), patch(("replace", "/WRED_PROFILE/MARK/ecn", "ecn_none"), ("add", "/PORT/Ethernet0/mtu", "4000")))
        self.assertNotIn(("Ethernet0", "ecn", 3), state)
        self.assertEqual(state["Ethernet0", "port", "mtu"], "4000")
        self.assertNotIn(("Ethernet4", "pfc", "3"), self.does(one.copy(), "config interface pfc priority Ethernet4 3 off\n"))

    def test_host(self):
        one = device("host", "loops.sh")
        state = one.effective()
        self.assertEqual(len([key for key in state if key[1] == "mtu"]), 4)
        self.assertEqual((state["mlx5_3", "traffic class"], state["eth2", "class", 26]), ("106", 3))
        flushed = self.does(one.copy(), "mlnx_qos -i eth2 --dscp2prio flush\n")
        self.assertNotIn(("eth2", "class", 26), flushed)
        script = ('case "${1-set}" in\nset)\n    if command -v mlnx_qos >/dev/null; then\n    for e in 11,3 12,3; do mlnx_qos -i eth0 --dscp2prio "set,$e"; done\n'
                  "    else\n    dcb pfc set dev eth0 prio-pfc all:off\n    fi\n    ;;\nverify)\n    mlnx_qos -i eth0 --pfc 0,0,0,0,0,0,0,0\n    ;;\nesac\n")
        state = self.does(one.copy(), script)
        self.assertEqual((state["eth0", "class", 12], state["eth0", "pfc", 3]), (3, True))
        self.refuses(one.copy(), "mlnx_qos -i eth0 --pcf 1\n", "invalid")


if __name__ == "__main__":
    unittest.main()
