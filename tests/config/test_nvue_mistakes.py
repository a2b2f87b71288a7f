# SPDX-License-Identifier: Apache-2.0
"""Mistakes written into good NVUE commands: told at the line that is wrong, and nothing beside them."""
import unittest

from mistakes import Mistakes

QOS = """nv set system hostname leaf1
nv set qos mapping roce trust l3
nv set qos mapping roce dscp 26 switch-priority 3
nv set qos mapping roce dscp 48 switch-priority 6
nv set qos egress-queue-mapping default-global switch-priority 0 traffic-class 0
nv set qos egress-queue-mapping default-global switch-priority 3 traffic-class 3
nv set qos egress-queue-mapping default-global switch-priority 6 traffic-class 6
nv set qos egress-scheduler roce traffic-class 0 mode dwrr
nv set qos egress-scheduler roce traffic-class 0 bw-percent 40
nv set qos egress-scheduler roce traffic-class 3 mode dwrr
nv set qos egress-scheduler roce traffic-class 3 bw-percent 60
nv set qos egress-scheduler roce traffic-class 6 mode strict
nv set qos congestion-control roce traffic-class 3 min-threshold 150000
nv set qos congestion-control roce traffic-class 3 max-threshold 1500000
nv set qos congestion-control roce traffic-class 3 probability 100
nv set qos congestion-control roce traffic-class 3 ecn enabled
nv set qos pfc roce switch-priority 3
nv set qos pfc roce rx enabled
nv set qos pfc roce tx enabled
nv set qos pfc roce cable-length 30
nv set qos traffic-pool default-lossless memory-percent 50
nv set qos traffic-pool default-lossless switch-priority 3
nv set qos traffic-pool default-lossy memory-percent 50
nv set qos pfc-watchdog polling-interval 100
nv set qos pfc-watchdog robustness 3
""".splitlines()
PORT = """nv set interface {} link speed 400G
nv set interface {} link mtu 9216
nv set interface {} qos mapping profile roce
nv set interface {} qos egress-scheduler profile roce
nv set interface {} qos congestion-control profile roce
nv set interface {} qos pfc profile roce
nv set interface {} qos pfc-watchdog state enabled
""".splitlines()
EXPLICIT = QOS + [line.format(f"swp{i}") for i in range(1, 9) for line in PORT]
ROCE = ["nv set system hostname leaf1", "nv set qos roce state enabled", "nv set qos roce mode lossless",
        "nv set qos roce cable-length 30", "nv set interface swp1-8 link speed 400G"]
ROCE += [f"nv set interface swp{i} qos pfc-watchdog state enabled" for i in range(1, 9)]


class Nvue(Mistakes):
    def checked(self, **texts):
        """What RoCE mode does by itself is worth an info: seven more DSCPs in its class, marking from 150 KB at 400G."""
        answer = super().checked(**texts)
        answer["findings"] = [item for item in answer["findings"] if item["rule"] not in ("MAP009", "ECN005")]
        return answer

    def mistake(self, good, part, instead, *wanted, beside=()):
        """`part` of a line replaced (None: the line goes; a list: lines behind the last); `wanted`: (rule, part of its line)."""
        lines = list(good)
        if isinstance(instead, list):
            lines += instead
        else:
            at = [n for n, line in enumerate(lines) if part in line]
            self.assertTrue(at, part)
            for n in reversed(at):
                if instead is None:
                    del lines[n]
                else:
                    lines[n] = lines[n].replace(part, instead)
        answer = self.checked(leaf1="\n".join(lines) + "\n")
        old = {(item["rule"], item["message"]) for item in self.checked(leaf1="\n".join(good) + "\n")["findings"]}
        answer["findings"] = [item for item in answer["findings"] if (item["rule"], item["message"]) not in old]
        at = [(rule, "leaf1", next(n for n, line in enumerate(lines, 1) if where in line)) for rule, where in wanted]
        self.told({"findings": []}, answer, at, beside)
        return answer

    def test_good(self):
        for text in (EXPLICIT, ROCE):
            self.assertEqual(self.checked(leaf1="\n".join(text) + "\n")["findings"], [])

    def test_pools(self):
        self.mistake(EXPLICIT, "traffic-pool", None, ("HR007", "qos pfc roce switch-priority"))
        self.mistake(EXPLICIT, "default-lossy memory-percent 50", "default-lossy memory-percent 60",
                     ("SYN001", "default-lossy memory-percent"))
        self.mistake(EXPLICIT, "default-lossy memory", None, ("SYN001", "default-lossless memory-percent"))
        self.mistake(EXPLICIT, "default-lossless switch-priority 3", "default-lossless switch-priority 4",
                     ("HR007", "default-lossless switch-priority"))
        self.mistake(EXPLICIT, None, ["nv set qos traffic-pool default-lossy switch-priority 0-7"],
                     ("HR007", "default-lossy switch-priority"))
        self.mistake(ROCE, None, ["nv set qos traffic-pool roce-lossless memory-percent 4",
                                  "nv set qos traffic-pool default-lossy memory-percent 96"], ("HR007", "roce-lossless memory-percent"))
        self.mistake(ROCE, None, ["nv set qos traffic-pool roce-lossless memory-percent 90",
                                  "nv set qos traffic-pool default-lossy memory-percent 10"])

    def test_pfc(self):
        self.mistake(EXPLICIT, "pfc roce rx enabled", "pfc roce rx disabled", ("PFC009", "pfc roce rx"))
        self.mistake(EXPLICIT, "pfc roce tx enabled", "pfc roce tx disabled", ("PFC009", "pfc roce tx"))
        self.mistake(EXPLICIT, "pfc roce switch-priority 3", "pfc roce switch-priority 4",
                     ("PFC010", "pfc roce switch-priority"))
        self.mistake(EXPLICIT, None, ["nv set qos link-pause all rx enabled", "nv set interface swp3 qos link-pause profile all"],
                     ("PFC005", "swp3 qos link-pause"))
        self.mistake(ROCE, None, ["nv set qos pfc mine switch-priority 5", "nv set interface swp3 qos pfc profile mine"],
                     ("PFC010", "qos pfc mine"))

    def test_lists(self):
        """A port that one of two lists leaves out is told at that list."""
        lists = [line.format("swp1-8") for line in PORT if "pfc profile" not in line]
        good = QOS + lists + ["nv set interface swp1-4 qos pfc profile roce", "nv set interface swp5-8 qos pfc profile roce"]
        self.assertEqual(self.checked(leaf1="\n".join(good) + "\n")["findings"], [])
        self.mistake(good, "swp5-8 qos pfc profile", "swp5-7 qos pfc profile", ("SIB001", "swp5-7 qos pfc profile"))

    def test_roce_moved(self):
        """RoCE in a priority of its own over the preset: priority 3 is what all else has; a switch that forgot the queue is told."""
        moved = ROCE + ["nv set qos pfc default-global switch-priority 4", "nv set qos mapping default-global dscp 34 switch-priority 4",
                        "nv set qos egress-queue-mapping default-global switch-priority 4 traffic-class 3",
                        "nv set qos egress-queue-mapping default-global switch-priority 3 traffic-class 0"]
        strong = [item for item in self.checked(leaf1="\n".join(moved) + "\n")["findings"] if item["severity"] != "info"]
        self.assertEqual(strong, [])
        forgot = [line for line in moved if "switch-priority 4 traffic-class 3" not in line]
        found = self.checked(leaf1="\n".join(forgot) + "\n")["findings"]
        strong = {(item["rule"], item["line"]) for item in found if item["severity"] != "info"}
        self.assertEqual(strong, {("MAP001", forgot.index("nv set qos pfc default-global switch-priority 4") + 1)}, found)

    def test_maps(self):
        self.mistake(EXPLICIT, "dscp 26 switch-priority 3", "dscp 26 switch-priority 2", ("MAP001", "dscp 26"))
        self.mistake(ROCE, None, ["nv set qos mapping default-global dscp 26 switch-priority 4"], ("MAP001", "dscp 26"))
        self.mistake(EXPLICIT, "trust l3", "trust l2", ("MAP003", "trust l2"), beside=("MAP005", "MAP006", "MAP008"))
        self.mistake(EXPLICIT, "trust l3", "trust port", ("MAP003", "trust port"), beside=("PFC008", "MAP005", "MAP006", "MAP008"))
        self.mistake(EXPLICIT, "switch-priority 3 traffic-class 3", "switch-priority 3 traffic-class 2",
                     ("MAP001", "switch-priority 3 traffic-class 2"), beside=("ECN001",))
        moved = [line.replace("priority 3 traffic-class 3", "priority 3 traffic-class 5")
                 .replace("roce traffic-class 3", "roce traffic-class 5") for line in EXPLICIT]  # and its queue with it
        self.assertEqual({item["severity"] for item in self.checked(leaf1="\n".join(moved) + "\n")["findings"]}, {"info"})
        self.mistake(moved, None, ["nv set qos mapping roce dscp 40 switch-priority 5"], ("MAP001", "priority 3 traffic-class 5"),
                     beside=("PFC007",))
        self.mistake(EXPLICIT, "swp3 qos pfc profile roce", "swp3 qos pfc profile rocee", ("MAP007", "swp3 qos pfc profile"),
                     beside=("PFC001", "PFC002", "WD004"))
        self.mistake(EXPLICIT, None, ["nv set qos remark out rewrite l3"])
        self.mistake(EXPLICIT, None, ["nv set qos remark out rewrite l3", "nv set interface swp3 qos remark profile out"],
                     ("MAP004", "remark out rewrite"))
        same = ["nv set qos remark out rewrite l3", "nv set interface swp3 qos remark profile out",
                "nv set qos remark out switch-priority 0 dscp 0", "nv set qos remark out switch-priority 3 dscp 26"]
        self.mistake(EXPLICIT, None, same)
        self.mistake(EXPLICIT, None, same[:3] + ["nv set qos remark out switch-priority 3 dscp 28"], ("MAP004", "dscp 28"))
        self.mistake(EXPLICIT, None, same[:3] + ["nv set qos remark out switch-priority 3 dscp 10"], ("MAP004", "dscp 10"))

    def test_lists_of_ports(self):
        """A port that the one list with PFC leaves out is told at that list."""
        ports = [line.format("swp1-8") for line in PORT]
        self.mistake(QOS + ports, "swp1-8 qos pfc profile", "swp1-3,swp5-8 qos pfc profile", ("SIB001", "swp1-3,swp5-8"), beside=("WD004",))

    def test_shares(self):
        self.mistake(EXPLICIT, "traffic-class 0 bw-percent 40", "traffic-class 0 bw-percent 60", ("SCH001", "0 bw-percent 60"))
        self.mistake(EXPLICIT, "traffic-class 3 bw-percent 60", "traffic-class 3 bw-percent 80", ("SCH001", "3 bw-percent 80"))
        self.mistake(ROCE, None, ["nv set qos egress-scheduler default-global traffic-class 3 bw-percent 70"])

    def test_marking(self):
        self.mistake(EXPLICIT, "min-threshold 150000", "min-threshold 1600000", ("ECN002", "min-threshold"), beside=("ECN001",))
        self.mistake(EXPLICIT, "ecn enabled", "ecn disabled", ("ECN001", "ecn disabled"))
        self.mistake(EXPLICIT, "traffic-class 3 ecn", None, ("ECN001", "traffic-class 3 min-threshold"))
        self.mistake(EXPLICIT, "swp3 qos congestion-control", None, ("ECN001", "swp3 link speed"))
        self.mistake(ROCE, None, ["nv set qos congestion-control default-global traffic-class 3 max-threshold 100000"],
                     ("ECN002", "max-threshold"), beside=("ECN001",))

    def test_watchdog(self):
        self.mistake(EXPLICIT, "swp3 qos pfc-watchdog", None, ("WD001", "interface swp3"))
        self.mistake(EXPLICIT, "swp3 qos pfc-watchdog state enabled", "swp3 qos pfc-watchdog state disabled",
                     ("WD001", "swp3 qos pfc-watchdog"))
        self.mistake(EXPLICIT, "polling-interval 100", "polling-interval 20", ("WD002", "polling-interval"))
        self.mistake(ROCE, "qos pfc-watchdog", None, ("WD001", "qos roce mode"))
        some = [line for line in ROCE if "watchdog" not in line] + ["nv set interface swp1-8 qos pfc-watchdog state enabled"]
        self.mistake(some, "swp1-8 qos pfc-watchdog", "swp1-6 qos pfc-watchdog", ("WD001", "swp1-6 qos pfc-watchdog"))

    def test_breakouts(self):
        """A cage that is broken out is no port; its parts have its rate, and nothing is found on those nobody uses."""
        self.mistake(ROCE, None, ["nv set interface swp9 link breakout 4x100G", "nv set interface swp9 link mtu 1500"])
        self.mistake(ROCE, None, ["nv set interface swp9 link breakout 2x200G", "nv set interface swp9s0-1 link state up"],
                     ("WD001", "swp9s0-1"))

    def test_device_and_port(self):
        """What is told of the whole switch hides no port: without pools, and one port without its profile."""
        lines = [line for line in EXPLICIT if "traffic-pool" not in line and "swp5 qos pfc" not in line]
        at = next(n for n, line in enumerate(lines, 1) if "swp5" in line)
        answer = self.said(self.checked(leaf1="\n".join(lines) + "\n"))
        self.assertEqual({rule for rule, _, _ in answer}, {"HR007", "SIB001"})
        self.assertIn(("SIB001", "leaf1", at), answer)

    def test_adaptive_routing(self):
        """On for the switch and for ports: then no hash is asked for; and LLDP has no say."""
        blind = ROCE + ["nv set system forwarding ecmp-hash source-port off"]
        switch, port = "nv set router adaptive-routing state enabled", "nv set interface swp1-8 router adaptive-routing enable on"
        for lines, wanted in (([], True), ([switch], True), ([port], True), ([switch, port], False),
                              ([switch.replace("state enabled", "enable on"), port], False)):
            answer = self.checked(leaf1="\n".join(blind + lines) + "\n")
            self.assertEqual("TOP004" in {item["rule"] for item in answer["findings"]}, wanted, lines)
        lldp = ["nv set service lldp application-tlv udp-port 4791 priority 3", "nv set system lldp state enabled",
                "nv set interface swp1 lldp dcbx-pfc-tlv on"]
        self.assertEqual(self.checked(leaf1="\n".join(ROCE + lldp) + "\n")["not_understood"], [])

    def test_hash_and_quotes(self):
        self.mistake(ROCE, None, ["nv set system forwarding ecmp-hash source-port off"], ("TOP004", "source-port"))
        spine = [line.replace("leaf1", "spine1") for line in ROCE] + ["nv set interface swp2 description 'to leaf1 swp1'"]
        leaf = ROCE + ["nv set interface swp1 description 'to spine1 swp2'", "nv set interface swp1 link mtu 1500"]
        answer = self.said(self.checked(leaf1="\n".join(leaf) + "\n", spine1="\n".join(spine) + "\n"))
        self.assertIn(("MTU001", "leaf1", len(leaf)), answer)

    def test_yaml_lines(self):
        """What a port lacks is told where its name stands; what a lossy mode turns off, at the mode."""
        def switch(name, peer, mode, count):
            ports = "".join(f"      swp{i}:\n        description: {peer} swp{i}\n        link:\n          speed: 400G\n          mtu: 9216\n"
                            + (f"        qos:\n          pfc-watchdog:\n            state: enabled\n" if i != 3 else "") for i in range(1, count + 1))
            return (f"- set:\n    system:\n      hostname: {name}\n    interface:\n{ports}"
                    f"    qos:\n      roce:\n        state: enabled\n        mode: {mode}\n")

        leaf = switch("leaf1", "other", "lossless", 6)
        at = leaf.splitlines().index("      swp3:") + 1
        self.assertIn(("WD001", "leaf1", at), self.said(self.checked(leaf1=leaf)))
        self.checked(leaf1=leaf + "    interface:\n      {{}}:")  # a key of a template, as short as can be
        spine = switch("spine1", "leaf1", "lossy", 6)
        answer = self.said(self.checked(leaf1=switch("leaf1", "spine1", "lossless", 6), spine1=spine))
        self.assertIn(("PFC001", "spine1", spine.splitlines().index("        mode: lossy") + 1), answer)

    def test_first_of_a_map(self):
        """The first DSCP of a map in YAML stands where the map begins, and is a line of its own all the same."""
        ports = "".join(f"      swp{i}:\n        qos:\n          mapping:\n            profile: m\n          pfc:\n            profile: p\n"
                        for i in range(1, 5))
        text = ("- set:\n    system:\n      hostname: leaf1\n    interface:\n" + ports +
                "    qos:\n      mapping:\n        m:\n          dscp:\n            '34':\n              switch-priority: 4\n"
                "          trust: l3\n      pfc:\n        p:\n          switch-priority:\n            '4': {}\n")
        rules = {rule for rule, _, _ in self.said(self.checked(leaf1=text))}
        self.assertNotIn("MAP001", rules)
        rules = {rule for rule, _, _ in self.said(self.checked(leaf1=text.replace("'34'", "'26'").replace("priority: 4", "priority: 3")))}
        self.assertIn("MAP001", rules)


if __name__ == "__main__":
    unittest.main()
