# SPDX-License-Identifier: Apache-2.0
"""Mistakes written into a good script for a host: told at the line that is wrong, and nothing beside them."""
import json
import unittest

from mistakes import Mistakes

GOOD = """#!/bin/bash
NICS="eth0 eth1 eth2 eth3"
for i in $NICS; do
  mlnx_qos -i $i -d os --trust dscp
  mlnx_qos -i $i --pfc 0,0,0,1,0,0,0,0
  echo 1 > /sys/class/net/$i/ecn/roce_np/enable/3
  echo 1 > /sys/class/net/$i/ecn/roce_rp/enable/3
  echo 48 > /sys/class/net/$i/ecn/roce_np/cnp_dscp
  echo 6 > /sys/class/net/$i/ecn/roce_np/cnp_802p_prio
  ip link set dev $i mtu 9000
done
for d in $(seq 0 3)
do
  cma_roce_tos -d mlx5_$d -t 106
  echo 106 | sudo tee /sys/class/infiniband/mlx5_${d}/tc/1/traffic_class
  mlxconfig -d mlx5_$d -y set DCBX_WILLING_P1=0
done
"""


class Host(Mistakes):
    def mistake(self, part, instead, *wanted, beside=(), listed=0):
        """`part` replaced (None: `instead` is put behind); `wanted`: (rule, part of its line)."""
        if part is not None:
            self.assertIn(part, GOOD)
        text = GOOD + instead if part is None else GOOD.replace(part, instead)
        answer = self.checked(h0=text)
        lines = text.splitlines()
        at = [(rule, "h0", next(n for n, line in enumerate(lines, 1) if where in line)) for rule, where in wanted]
        self.told({"findings": []}, answer, at, beside)
        self.assertEqual(len(answer["not_understood"]), listed, answer["not_understood"])
        return answer

    def test_good(self):
        """Loops, variables and pipes are put in: four adapters, and nothing to find."""
        answer = self.checked(h0=GOOD)
        self.assertEqual((answer["findings"], answer["not_understood"]), ([], []))

    def test_trust(self):
        self.mistake(" --trust dscp", "", ("HOST001", "--pfc"))
        self.mistake(None, "mlnx_qos -i eth2 --dscp2prio flush\n", ("HOST001", "flush"))
        self.mistake(None, "mlnx_qos -i eth2 --trust pcp\n", ("HOST001", "--trust pcp"))

    def test_priorities(self):
        self.mistake("-t 106", "-t 26", ("HOST001", "-t 26"))
        self.mistake("echo 106", "echo 26", ("HOST001", "echo 26"))
        self.mistake("0,0,0,1,0", "0,0,0,0,1", ("HOST001", "--pfc"))
        self.mistake(None, "mlnx_qos -i eth0 --dscp2prio set,26,5\n", ("HOST001", "set,26,5"))
        self.mistake(None, "mlnx_qos -i eth2 --pfc 0,0,0,0,0,0,0,0\n", ("HOST001", "eth2 --pfc"))

    def test_congestion(self):
        self.mistake("echo 1 > /sys/class/net/$i/ecn/roce_np", "echo 0 > /sys/class/net/$i/ecn/roce_np", ("HOST004", "roce_np/enable"))
        self.mistake("roce_rp/enable/3", "roce_rp/enable/5", ("HOST004", "roce_rp/enable"))
        self.mistake("echo 48 ", "echo 26 ", ("MAP005", "cnp_dscp"), beside=("MAP006",))
        self.mistake("echo 6 ", "echo 5 ", ("MAP006", "cnp_802p_prio"))

    def test_traffic_class(self):
        """NCCL's: 0 is DSCP 0, in no priority with PFC; each DSCP that is in one is right."""
        self.mistake(None, "export NCCL_IB_TC=0\n", ("HOST002", "NCCL_IB_TC=0"))
        self.mistake(None, "export NCCL_IB_TC=26\n", ("HOST002", "NCCL_IB_TC=26"))
        for good in (106, 96, 98, 104):
            self.mistake(None, f"export NCCL_IB_TC={good}\n")

    def test_pauses_and_frames(self):
        self.mistake(None, "ethtool -A eth1 rx on tx on\n", ("PFC005", "ethtool"))
        self.mistake(None, "ethtool -A eth1 rx off tx off\n")
        self.mistake(None, "ip link set dev eth2 mtu 1500\n", ("TOP006", "mtu 1500"), beside=("TOP006",))

    def test_shell(self):
        """Functions and lines that go on are read; what depends on the machine is listed, and nothing follows from it."""
        self.mistake(None, "setup() {\n  local dev=$1\n  mlnx_qos -i ${dev} --pfc 0,0,0,0,1,0,0,0\n}\nsetup eth3\n",
                     ("HOST001", "${dev}"))
        self.mistake(None, "mlnx_qos -i eth0 \\\n  --pfc 0,0,0,0,0,1,0,0\n", ("HOST001", "eth0 \\"))
        self.mistake(None, "for x in $(ls /sys/class/net); do mlnx_qos -i eth0 --pfc $x; done\n", listed=1)
        self.mistake(None, "mlnx_qos -i eth0 --pfc $1\n", listed=1)
        self.mistake("--pfc 0", "--novelty 7 --pfc 0", listed=1)
        self.mistake("--pfc 0,0,0,1,0", "--novelty 7 --pfc 0,0,0,0,1", ("HOST001", "--novelty"), listed=1)

    def test_device_in_a_variable(self):
        """A script for a device that it is told: judged as one device, and not against those it names."""
        one = ("mlnx_qos -i $1 -d os --trust dscp\nmlnx_qos -i ${1} --pfc 0,0,0,1,0,0,0,0\n"
               "echo 106 >/sys/class/infiniband/$2/tc/1/traffic_class\nmlxconfig -d $2 -y set DCBX_WILLING_P1=0\n")
        self.assertEqual(self.checked(h0=one)["findings"], [])
        self.assertEqual(self.checked(h0=one)["not_understood"], [])
        wrong = one.replace("106", "26")
        self.assertEqual(self.said(self.checked(h0=wrong)), {("HOST001", "h0", 3)})
        quoted = wrong.replace("$1", '"$1"').replace("${1}", '"${1}"').replace("$2", '"$2"')
        self.assertEqual(self.said(self.checked(h0=quoted)), {("HOST001", "h0", 3)})
        self.assertEqual(self.checked(h0=GOOD + "mlnx_qos -i $1 -d os --trust dscp\n")["findings"], [])

    def test_names_that_nobody_joins(self):
        """RDMA devices without a word on their interfaces, and an interface for management before them."""
        good = "ip link set dev eno1 mtu 1500\n"
        good += "".join(f"ip link set dev ens{i} mtu 9000\nmlnx_qos -i ens{i} --trust dscp\nmlnx_qos -i ens{i} --dscp2prio set,34,5\n"
                        f"mlnx_qos -i ens{i} --pfc 0,0,0,0,0,1,0,0\n" for i in (6, 7))
        good += "".join(f"cma_roce_tos -d mlx5_{i} -t 136\n" for i in (0, 3))

        def answer(text):
            return {one for one in self.said(self.checked(h0=text)) if one[0] != "HOST005"}

        self.assertEqual(answer(good), set())
        self.assertEqual(answer(good.replace("-t 136", "-t 34")), {("HOST001", "h0", 10)})  # and the second, folded
        self.assertEqual(answer(good.replace("dev ens7 mtu 9000", "dev ens7 mtu 1500")), {("TOP006", "h0", 6)})
        self.assertEqual(answer(good + "mlnx_qos -i ens6 --dscp2prio flush\n") - {("HOST001", "h0", 4)}, {("HOST001", "h0", 12)})

    def test_what_links_of_hosts_say(self):
        """Cabling that only a host's LLDP knows: what is wrong with the switch is told in the switch's text."""
        def switch(name, rate, ports):
            return (f"version 10.3(3)\nfeature lldp\nhostname {name}\npolicy-map type network-qos N\n  class type network-qos c-8q-nq3\n"
                    "    pause pfc-cos 3\nsystem qos\n  service-policy type network-qos N\n" +
                    "".join(f"interface Ethernet1/{i + 1}\n  description {to}\n  no shutdown\n  priority-flow-control mode on\n{rate}"
                            for i, to in enumerate(ports)))
        ends = [{f"eth{i}": {"chassis": {"leaf1": {"id": {"type": "mac", "value": "00:1c"}}},
                             "port": {"id": {"type": "ifname", "value": f"Ethernet1/{i + 2}"}}}} for i in range(2)]
        hosts, spine = json.dumps({"lldp": {"interface": ends}}), switch("spine1", "", ["leaf1:Ethernet1/1"])
        leaf = switch("leaf1", "  speed 400000\n", ["spine1:Ethernet1/1", "x", "y"])
        said = self.said(self.checked(leaf1=leaf, spine1=spine, h1=hosts))
        self.assertIn(("TOP005", "leaf1", 3), said)
        self.assertNotIn("h1", {file for _, file, _ in said})
        self.assertNotIn("MAP005", {rule for rule, _, _ in said})  # nothing is known of the adapters
        answer = self.checked(leaf1=switch("leaf1", "", ["spine1:Ethernet1/1", "x", "y"]), spine1=spine, h1=hosts)
        self.assertNotIn("TOP005", {rule for rule, _, _ in self.said(answer)})  # no rate is said
        self.assertIn("TOP005", {item["rule"] for item in answer["unjudged"]})


if __name__ == "__main__":
    unittest.main()
