# SPDX-License-Identifier: Apache-2.0
"""Mistakes written into a good script for a host: told at the line that is wrong, and nothing beside them."""
import json
import subprocess
import unittest

from mistakes import PROGRAM, Mistakes

GOOD = """#!/bin/bash
# started by roce.service
NICS="eth0 eth1 eth2 eth3"
for i in $NICS; do
  mlnx_qos -i $i -d os --trust dscp
  mlnx_qos -i $i --pfc 0,0,0,1,0,0,0,0
  mlnx_qos -i $i --tsa ets,ets,ets,ets,ets,ets,strict,ets --tcbw 20,0,0,80,0,0,0,0
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

    def test_points_of_a_playbook(self):
        """`{{ item }}` is one adapter; where PFC is not known, its two points disagree."""
        text = "- hosts: all\n  tasks:\n    - shell: |\n        mlnx_qos -i {{ item }} --trust dscp\n" + "".join(
            f"        echo 1 > /sys/class/net/{{{{ item }}}}/ecn/roce_{half}/enable/3\n" for half in ("np", "rp"))
        self.assertNotIn("HOST004", {item["rule"] for item in self.checked(h0=text)["findings"]})
        answer = self.checked(h0=text.replace("roce_rp/enable/3", "roce_rp/enable/4"))
        self.assertIn(("HOST004", "h0", 6), self.said(answer))

    def test_buffers(self):
        self.mistake(None, "mlnx_qos -i eth0 --prio2buffer 0,0,0,1,0,0,0,0 --buffer_size 32768,229376,0,0,0,0,0,0\n")
        self.mistake(None, "mlnx_qos -i eth0 --prio2buffer 0,0,0,0,1,0,0,0\n", ("HOST001", "--prio2buffer"))
        self.mistake(None, "mlnx_qos -i eth0 --prio2buffer 0,0,0,2,0,0,0,0 --buffer_size 32768,229376,0,0,0,0,0,0\n", ("HOST001", "--prio2buffer"))

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

    def test_lists(self):
        """Arrays by number and by word, tables, what the shell cuts off and works out: four adapters each time."""
        body = """  mlnx_qos -i "$nic" -d os --trust dscp
  mlnx_qos -i "$nic" --pfc 0,0,0,1,0,0,0,0 --tsa ets,ets,ets,ets,ets,ets,strict,ets --tcbw 20,0,0,80,0,0,0,0
  echo 1 > "/sys/class/net/${nic}/ecn/roce_np/enable/3"
  echo 1 > "/sys/class/net/${nic}/ecn/roce_rp/enable/3"
  cma_roce_tos -d "$dev" -t $((DSCP << 2 | 2))
  mlxconfig -d "$dev" -y set DCBX_WILLING_P1=0
done
"""
        heads = {
            "by word": "declare -A OF=(\n  [mlx5_0]=e0  # first\n  [mlx5_1]=e1\n)\nfor dev in \"${!OF[@]}\"; do\n  nic=${OF[$dev]}\n",
            "by number": "NICS=(e0 e1)\nfor i in \"${!NICS[@]}\"; do\n  nic=${NICS[$i]}; dev=mlx5_$i\n",
            "cut": "for pair in e0:mlx5_0 e1:mlx5_1; do\n  nic=${pair%%:*}\n  dev=${pair##*:}\n",
            "words": "PAIRS=(\"e0 mlx5_0\" \"e1 mlx5_1\")\nfor pair in \"${PAIRS[@]}\"; do\n  read -r nic dev <<< \"$pair\"\n",
            "set": "for pair in \"e0 mlx5_0\" \"e1 mlx5_1\"; do\n  set -- $pair\n  nic=$1\n  dev=$2\n",
            "table": "while read -r nic dev; do\n",
        }
        for name, head in heads.items():
            for wrong in (False, True):
                text = "#!/bin/sh\n# of roce.service\nDSCP=${1:-26}\n" + head + body
                if name == "table":
                    text = text.replace("done\n", "done <<LIST\ne0 mlx5_0\ne1 mlx5_1\nLIST\n")
                if wrong:
                    text += "mlnx_qos -i e1 --pfc 0,0,0,0,1,0,0,0\n"
                with self.subTest(name, wrong=wrong):
                    answer = self.checked(h0=text)
                    self.assertEqual(answer["not_understood"], [])
                    rules = {(item["rule"], item["port"], item["line"]) for item in answer["findings"]}
                    line = len(text.splitlines())
                    self.assertLessEqual(rules - {("HOST001", "e1", line)}, set())
                    self.assertEqual(("HOST001", "e1", line) in rules, wrong, rules)

    def test_units_and_rules(self):
        """Commands of a systemd unit, a udev rule, interfaces(5) and a playbook."""
        each = ["mlnx_qos -i {n} -d os --trust dscp --pfc 0,0,0,1,0,0,0,0", "mlnx_qos -i {n} --tsa ets,ets,ets,ets,ets,ets,strict,ets --tcbw 20,0,0,80,0,0,0,0"]
        unit = "[Unit]\nDescription=adapters\n[Service]\nType=oneshot\n" + "".join(
            f"ExecStart=/usr/bin/{command.format(n=n)}\n" for n in ("e0", "e1", "e2") for command in each)
        unit += "".join(f"ExecStart=/bin/sh -c 'for h in rp np; do echo 1 > /sys/class/net/{n}/ecn/roce_$$h/enable/3; done'\n" for n in ("e0", "e1", "e2"))
        self.assertEqual(self.said(self.checked(h0=unit)), set())
        wrong = unit.replace("-i e1 -d os --trust dscp", "-i e1 -d os --trust pcp")
        self.assertEqual(self.said(self.checked(h0=wrong)), {("HOST001", "h0", 7)})
        paused = unit + "ExecStartPost=-/sbin/ethtool -A e2 rx on tx on\n"
        self.assertEqual(self.said(self.checked(h0=paused)), {("PFC005", "h0", 14)})
        stopped = unit + "ExecStop=/usr/bin/mlnx_qos -i e2 --pfc 0,0,0,0,0,0,0,0\n"  # what is done then is not what is set
        self.assertEqual(self.said(self.checked(h0=stopped)), set())
        udev = "".join(f'ACTION=="add", SUBSYSTEM=="net", KERNEL=="{n}", RUN+="/usr/bin/{command.format(n="%k")}"\n' for n in ("e0", "e1", "e2") for command in each)
        self.assertEqual(self.said(self.checked(h0=udev)), set())
        self.assertEqual(self.said(self.checked(h0=udev.replace('KERNEL=="e1", RUN+="/usr/bin/mlnx_qos -i %k -d os --trust dscp --pfc 0,0,0,1,0',
                                                                'KERNEL=="e1", RUN+="/usr/bin/mlnx_qos -i %k -d os --trust dscp --pfc 0,0,0,0,1'))),
                         {("HOST001", "h0", 3)})
        for before in ("    post-up ", "- ", "  shell: "):
            text = "".join(f"{before}{command.format(n=n)}\n" for n in ("e0", "e1", "e2") for command in each)
            wrong = text.replace("-i e2 -d os --trust dscp --pfc 0,0,0,1,0", "-i e2 -d os --trust dscp --pfc 0,0,0,0,1")
            self.assertEqual(self.said(self.checked(h0=text)), set(), before)
            self.assertEqual(self.said(self.checked(h0=wrong)), {("HOST001", "h0", 5)}, before)

    def test_hostile(self):
        """Quotes that end elsewhere, sums that shift by less than nothing, lists without an end: read or listed, never more."""
        for line in ("RUN+=\"sh -c\"z 'mlnx_qos -i e0 --pfc 1'", "mlnx_qos -i e0 --pfc $((1<<(2-5)))", "X=$(( (3-9) << 2 ))", "A=(", "A=(a \"b",
                     "echo ${A%%", "echo ${", "while read a b; do", "read -r a <<<", "ExecStart=sh -c '", "f() { f; }; f", "{{ x", "X=${Y:-${Y:-${Y"):
            self.checked(h0=GOOD + line + "\n")

    def test_weak(self):
        """No mistake, and worth an info: nothing runs it again, failures are passed over, no shares."""
        def infos(text):
            return {(item["rule"], item["severity"], item["line"]) for item in self.checked(h0=text)["findings"]}
        self.assertEqual(infos(GOOD.replace("# started by roce.service", "# to be run by hand")), {("HOST007", "info", 2)})
        hidden = GOOD.replace("roce_rp/enable/3", "roce_rp/enable/3 2>/dev/null || true")
        self.assertEqual(infos(hidden), {("HOST007", "info", 9)})
        self.assertEqual(infos(GOOD.replace("--tsa", "-a #")), {("SCH001", "info", 6)})
        self.mistake("--tcbw 20,0,0,80", "--tcbw 20,0,0,70", ("SCH001", "--tcbw"))
        self.mistake("--tcbw 20,0,0,80", "--tcbw 90,0,0,10", ("SCH001", "--tcbw"))
        self.mistake(None, "cma_roce_mode -d mlx5_0 -p 1 -m 1\n", ("HOST003", "-m 1"))
        self.mistake(None, "echo 3 > /sys/class/net/eth1/ecn/roce_np/cnp_802p_prio\n", ("MAP005", "net/eth1"))
        self.mistake(None, "echo 104 > /sys/kernel/config/rdma_cm/mlx5_2/ports/1/default_roce_tos\n", ("HOST001", "rdma_cm"))

    def test_device_in_a_variable(self):
        """A script for a device that it is told: judged as one device, and not against those it names."""
        one = ("mlnx_qos -i $1 -d os --trust dscp\nmlnx_qos -i ${1} --pfc 0,0,0,1,0,0,0,0\n"
               "echo 106 >/sys/class/infiniband/$2/tc/1/traffic_class\nmlxconfig -d $2 -y set DCBX_WILLING_P1=0\n")
        one += "mlnx_qos -i $1 --tsa ets,ets,ets,ets,ets,ets,strict,ets --tcbw 20,0,0,80,0,0,0,0\n"
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
            return {one for one in self.said(self.checked(h0=text)) if one[0] not in ("HOST005", "SCH001")}

        self.assertEqual(answer(good), set())
        self.assertEqual(answer(good.replace("-t 136", "-t 34")), {("HOST001", "h0", 10)})  # and the second, folded
        self.assertEqual(answer(good.replace("dev ens7 mtu 9000", "dev ens7 mtu 1500")), {("TOP006", "h0", 6)})
        self.assertEqual(answer(good + "mlnx_qos -i ens6 --dscp2prio flush\n") - {("HOST001", "h0", 4)}, {("HOST001", "h0", 12)})

    def test_functions_that_others_run(self):
        """A function that is a word of another command is run; one that runs its arguments is not in their way."""
        def lines(text):
            return {one for one in self.said(self.checked(h0=text)) if one[0] not in ("HOST005", "HOST007", "SCH001")}

        body = ("prepare() {\n  for i in a0 a1; do\n    mlnx_qos -i $i --trust TRUST\n    mlnx_qos -i $i --pfc 0,0,0,1,0,0,0,0\n"
                "    cma_roce_tos -d $i -t 106\n    echo 1  | sudo tee /sys/class/net/$i/ecn/roce_rp/enable/PRIO > /dev/null\n  done\n}\n")
        for by in ("srun -N 4 bash -c prepare", "export -f prepare", 'ssh node1 "prepare"', "parallel prepare ::: 1", "start) prepare"):
            self.assertEqual(lines(body.replace("PRIO", "3").replace("TRUST", "dscp") + by + "\n"), set(), by)
            self.assertEqual(lines(body.replace("PRIO", "3").replace("TRUST", "pcp") + by + "\n"), {("HOST001", "h0", 3)}, by)
            self.assertEqual(lines(body.replace("PRIO", "5").replace("TRUST", "dscp") + by + "\n"), {("HOST004", "h0", 6)}, by)
        undo = "undo() {\n  mlnx_qos -i a0 --trust pcp\n}\ntrap undo EXIT\n# undo\n"
        self.assertEqual(lines(body.replace("PRIO", "3").replace("TRUST", "dscp") + undo + "prepare\n"), set())
        run = 'try() {\n  if ! "$@"; then\n    logger failed\n  fi\n}\n'
        text = run + body.replace("PRIO", "3").replace("TRUST", "pcp").replace("  mlnx_qos", "  try mlnx_qos") + "prepare\n"
        self.assertEqual(lines(text), {("HOST001", "h0", 8)})

    def test_classes_of_one_adapter(self):
        """Priorities in another traffic class than on the other adapters; not said is no difference."""
        same = "".join(f"mlnx_qos -i eth{i} --prio_tc 0,1,2,3,4,5,6,7\n" for i in range(3))
        self.mistake(None, same)
        self.mistake(None, same + "mlnx_qos -i eth3 --prio_tc 0,1,2,0,4,5,6,7\n", ("HOST001", "2,0,4"), beside=("MAP001", "SCH001"))

    def test_made_anew(self):
        """What is set before the driver is loaded again is gone; after it, it holds."""
        self.mistake(None, "devlink dev reload pci/0000:1a:00.0 action driver_reinit\n", ("HOST001", "devlink"))
        self.mistake("NICS=", "mlxfwreset -d mlx5_0 -y reset\nNICS=")

    def test_frames_of_a_path_mtu(self):
        self.mistake("mtu 9000", "mtu 4096", ("TOP006", "mtu 4096"))
        self.mistake("mtu 9000", "mtu 4200")

    def test_loop_over_fewer(self):
        """RDMA devices by number where interfaces are more, and a loop that leaves an adapter out: told at the loop."""
        self.mistake("for i in $NICS", "for i in eth0 eth1 eth2", ("HOST001", "for i in"))
        self.mistake("for d in $(seq 0 3)", "for d in 0 4 5 6")

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



SCRIPT = """#!/bin/bash
for i in ens1 ens2; do
  mlnx_qos -i $i -d os --trust dscp --pfc 0,0,0,1,0,0,0,0 --tsa ets,ets,ets,ets,ets,ets,strict,ets --tcbw 20,0,0,80,0,0,0,0
done
"""

PLAN = """# any host
network:
  version: 2
  ethernets:
    eno1: {dhcp4: true}
    rail0:
      match: {macaddress: "02:00:00:00:00:01"}
      set-name: ens1
      mtu: 9000
      addresses:
        - 10.9.0.1/31
    ens2:
      mtu: 9000
      addresses: ["10.9.0.3/31"]
"""

SWITCH = """! device: leaf1 (DCS-7060DX5-32, EOS-4.32.1F)
hostname leaf1
interface Ethernet1
   no switchport
   ip address 10.9.0.0/31
   priority-flow-control on
   priority-flow-control priority 3 no-drop
interface Ethernet2
   no switchport
   ip address 10.9.0.2/31
   priority-flow-control on
   priority-flow-control priority 3 no-drop
"""


class Halves(Mistakes):
    def test_reaction_point_of_one(self):
        """Of two adapters one has half of DCQCN only: neither is the usual one, and half of it is never meant."""
        text = SCRIPT + "".join(f"echo 1 > /sys/class/net/{nic}/ecn/roce_{half}/enable/3\n" for nic in ("ens1", "ens2") for half in ("np", "rp"))
        self.assertNotIn("HOST004", {item["rule"] for item in self.checked(h0=text)["findings"]})
        for half, other in (("rp", "np"), ("np", "rp")):
            lines = [line for line in text.splitlines() if f"ens2/ecn/roce_{half}" not in line]
            found = [lines[item["line"] - 1] for item in self.checked(h0="\n".join(lines) + "\n")["findings"] if item["rule"] == "HOST004"]
            self.assertEqual(found, [f"echo 1 > /sys/class/net/ens2/ecn/roce_{other}/enable/3"])
            lines = [line for line in lines if f"roce_{half}" not in line]  # the firmware's default holds for both
            self.assertNotIn("HOST004", {item["rule"] for item in self.checked(h0="\n".join(lines) + "\n")["findings"]})


class Beside(Mistakes):
    """Texts that lie beside a host's script, and texts of no known kind."""

    def rules(self, answer):
        return {item["rule"] for item in answer["findings"]}

    def run_files(self, status, **texts):
        for name, text in texts.items():
            (self.folder / name).write_text(text, encoding="utf-8")
        result = subprocess.run([PROGRAM, "check", *texts], cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return result.stdout + result.stderr

    def test_what_runs_a_script(self):
        self.assertIn("HOST007", self.rules(self.checked(**{"h1-roce": SCRIPT})))
        for text in ("[Unit]\nDescription=RoCE\n[Service]\nType=oneshot\nExecStart=/usr/local/sbin/roce.txt up\n[Install]\nWantedBy=multi-user.target\n",
                     "# both\nACTION==\"add\", SUBSYSTEM==\"net\", RUN+=\"/sbin/roce.txt %k\"\n",
                     "@reboot root /usr/local/sbin/roce.txt\n"):
            self.assertNotIn("HOST007", self.rules(self.checked(**{"h1-roce": SCRIPT, "any": text})), text)
            self.assertIn("HOST007", self.rules(self.checked(**{"h1-roce": SCRIPT, "any": text.replace("roce.txt", "x.sh")})))
        unit = "[Service]\nExecStart=/usr/local/sbin/roce.txt\n"
        answer = self.checked(**{"h1-roce": SCRIPT, "h2-roce": SCRIPT, "h2-unit": unit})
        self.assertEqual([item["file"] for item in answer["findings"] if item["rule"] == "HOST007"], ["h1-roce.txt"])

    def test_unit_that_nothing_wants(self):
        unit = "[Unit]\nDescription=RoCE\n\n[Service]\nExecStart=/usr/local/sbin/roce.txt\n"
        answer = self.checked(**{"h1-roce": SCRIPT, "h1-unit": unit})
        self.assertEqual([(item["file"], item["line"], item["severity"]) for item in answer["findings"] if item["rule"] == "HOST007"],
                         [("h1-unit.txt", 4, "warning")])
        self.assertNotIn("HOST007", self.rules(self.checked(**{"h1-roce": SCRIPT, "h1-unit@": unit})))

    def test_netplan_left_out(self):
        """An interface like those of the script, of which the script does not speak; one of another kind is no matter."""
        third = PLAN + "    ens3:\n      mtu: 9000\n      addresses: [\"10.9.0.5/31\"]\n"
        answer = self.checked(**{"h1-60-net": third, "h1-roce": SCRIPT})
        self.assertIn(("HOST001", "h1-60-net", third[:third.index("ens3")].count("\n") + 1), self.said(answer))
        for other in (third.replace("ens3", "eno3"), third.replace("ens3:\n      mtu: 9000", "ens3:\n      mtu: 1500"), PLAN):
            self.assertNotIn("HOST001", self.rules(self.checked(**{"h1-60-net": other, "h1-roce": SCRIPT})))

    def test_netplan(self):
        """Its MTUs and addresses are those of the script's interfaces, also of one that it gives a name."""
        small = PLAN.replace("mtu: 9000\n      addresses: [", "mtu: 1500\n      addresses: [")
        good = self.checked(**{"h1-60-net": PLAN, "h1-roce": SCRIPT, "h2-roce": SCRIPT})
        self.assertNotIn("TOP006", self.rules(good))
        answer = self.checked(**{"h1-60-net": small, "h1-roce": SCRIPT, "h2-roce": SCRIPT})
        self.assertIn(("TOP006", "h1-60-net", small[:small.index("1500")].count("\n") + 1), self.said(answer))
        self.assertFalse(any("eno1" in item["message"] for item in answer["findings"]))
        unsaid = PLAN.replace("      mtu: 9000\n      addresses: [", "      addresses: [")
        answer = self.checked(**{"h1-60-net": unsaid, "h1-roce": SCRIPT})
        self.assertIn(("TOP006", "h1-60-net", unsaid[:unsaid.index("ens2:")].count("\n") + 1), self.said(answer))
        answer = self.checked(leaf=SWITCH, **{"60-net": PLAN, "h1-roce": SCRIPT})
        self.assertEqual((answer["not_understood"], answer["unknown_ends"]["ports"]), ([], []))
        set_too = SCRIPT.replace("done", "ip link set dev $i mtu 9000\ndone")
        self.assertNotIn("TOP006", self.rules(self.checked(**{"h1-60-net": small, "h1-roce": set_too})))

    def test_netplan_alone(self):
        """A host of its own; a bond's MTU is that of its members."""
        answer = self.checked(h1=PLAN.replace("mtu: 9000\n      addresses: [", "mtu: 1500\n      addresses: ["))
        self.assertIn("TOP006", self.rules(answer))
        self.checked(h1="network:\n  ethernets:\n    eno1: {dhcp4: true}\n", leaf=SWITCH)  # management alone is no host
        bond = "network:\n  ethernets: {ens1: {}, ens2: {mtu: 1500}}\n  bonds:\n    bond0: {interfaces: [ens1, ens2], mtu: 9000}\n"
        self.assertNotIn("TOP006", self.rules(self.checked(h1=bond.replace("mtu: 1500", "optional: true"))))

    def test_described_by_the_first_word(self):
        """A description names the host as its file's name begins, with one of its interfaces; not where two files do."""
        switch = SWITCH.replace("10.9.0.0/31", "10.8.0.0/24\n   description h1 ens1").replace("10.9.0.2/31", "10.8.1.0/24\n   description h1 ens2")
        answer = self.checked(leaf=switch, **{"h1-roce": SCRIPT})
        self.assertEqual(answer["unknown_ends"]["ports"], [])
        answer = self.checked(leaf=switch, **{"h1-roce": SCRIPT, "h1-other": SCRIPT})
        self.assertEqual(len(answer["unknown_ends"]["ports"]), 6)

    def test_of_no_known_kind(self):
        answer = self.checked(other="net.ipv4.tcp_ecn = 1\n", h0=GOOD)
        self.assertEqual([(item["file"], item["line"]) for item in answer["not_understood"]], [("other.txt", 0)])
        self.assertIn("not read: other.txt: ", self.run_files(0, **{"other.txt": "a = 1\n", "h0.txt": GOOD}))
        notes = "# Notes\nSet NCCL_IB_TC for jobs; `mlnx_qos -i` shows what an adapter has.\n"
        self.assertIn("not read: notes.md: nothing about an adapter", self.run_files(0, **{"notes.md": notes, "h0.txt": GOOD}))
        self.run_files(2, **{"notes.md": notes})
        self.run_files(2, **{"other.txt": "a = 1\n", "another.txt": "b = 1\n"})
        self.run_files(2, **{"alone.txt": "[Service]\nExecStart=/usr/local/sbin/roce.sh\n"})


if __name__ == "__main__":
    unittest.main()
