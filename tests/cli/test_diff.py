# SPDX-License-Identifier: Apache-2.0
"""`rocelab diff`: what drifted in either direction, who answers for it, and the exit status."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROCELAB = os.environ["ROCELAB"]

APPROVED = """rocelab: 1
topology:
  links:
    hosts: 2
    leaves: 2
    links:
      - [h0, leaf0]
      - [h1, leaf1]
      - {a: leaf0, b: leaf1, count: 2}
links: {host: {rate: 100G, cable: 3m}, fabric: {rate: 100G, cable: 30m}}
switches: {model: tomahawk5, watchdog: true}
classes:
  - {name: rdma, dscp: 26, priority: 3, lossless: true, ecn: {min: 500KB, max: 1500KB, probability: 10%}, share: 90%}
  - {name: cnp, dscp: 48, priority: 6, strict: true}
  - {name: default, priority: 0, share: 10%}
nics: {cnp-dscp: 48, dcqcn: true, dcbx: {willing: false}, nccl: {NCCL_IB_TC: 106}}
owners: {ecn: marking, pfc: pauses, cabling: hands, buffer: memory, nics: hosts, watchdog: storms, maps: marks, scheduling: lines}
"""

# What is edited (from, to) or appended (None, text): drifts (where, key, approved, running, owner) in that order, and
# the same with the two files changed over.
CASES = [
    ([(None, "devices: {leaf0: {ports: {1: {pfc: false}}}}\n")], [("leaf0:1", "pfc", "[3]", "[]", "pauses")]),
    ([(None, "devices: {leaf0: {classes: {rdma: {ecn: false}}}}\n")],
     [(f"leaf0:{port}", "classes.rdma.ecn", "true", "false", "marking") for port in range(3)]),
    ([(None, "devices: {leaf1: {classes: {rdma: {alpha: 1/4}}}}\n")],
     [(f"leaf1:{port}", "classes.rdma.alpha", "1/8", "1/4", "memory") for port in range(3)]),
    ([(None, "devices: {leaf1: {watchdog: {detect: 300ms}}}\n")], [("leaf1", "watchdog.detect", "200ms", "300ms", "storms")]),
    ([(None, "devices: {leaf0: {ports: {0: {dscp-map: {26: 0}}}}}\n")], [("leaf0:0", "dscp-map.26", "3", "0", "marks")]),
    ([(None, "devices: {leaf0: {ports: {0: {classes: {default: {strict: true}}}}}}\n")],
     [("leaf0:0", "classes.default.strict", "false", "true", "lines")]),
    ([(None, "devices: {h1: {cnp-dscp: 46, dcbx: {willing: true}}}\n")],
     [("h1:0", "dcbx.willing", "false", "true", "hosts"), ("h1:0", "cnp-dscp", "48", "46", "hosts")]),
    ([("NCCL_IB_TC: 106", "NCCL_IB_TC: 96, NCCL_IB_QPS_PER_CONNECTION: 4")],
     [(f"h{host}:0", key, one, two, "hosts") for host in range(2)
      for key, one, two in (("nccl.NCCL_IB_TC", "106", "96"), ("nccl.NCCL_IB_QPS_PER_CONNECTION", "not said", "4"))]),
    ([(None, "devices: {leaf1: {buffer: 80MB}}\n")], [("leaf1", "buffer", "165867080B", "80MB", "memory")]),
    ([("hosts: 2", "hosts: 3"), ("      - [h1, leaf1]\n", "      - [h1, leaf1]\n      - [h2, leaf1:9]\n")],
     [("leaf1:9", "ports", "missing", "leaf1:9", "hands"), ("h2", "devices", "missing", "h2", "hands")]),
    ([("- [h0, leaf0]", "- [h0, leaf1:0]"), ("- [h1, leaf1]", "- [h1, leaf0:0]")],
     [("h0:0", "peer", "leaf0:0", "leaf1:0", "hands"), ("h1:0", "peer", "leaf1:0", "leaf0:0", "hands"),
      ("leaf0:0", "peer", "h0:0", "h1:0", "hands"), ("leaf1:0", "peer", "h1:0", "h0:0", "hands")]),
]


class Diff(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.file("approved.yaml", APPROVED)

    def file(self, name, text):
        (pathlib.Path(self.folder.name) / name).write_text(text, encoding="utf-8")

    def diff(self, *arguments, status):
        result = subprocess.run([ROCELAB, "diff", *arguments], capture_output=True, text=True, check=False, cwd=self.folder.name)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return result

    def drifts(self, one, two):
        document = json.loads(self.diff("--json", one, two, status=1).stdout)
        self.assertEqual((document["version"], document["kind"]), (1, "diff"))
        return [(drift["port"] or drift["device"], drift["key"], drift["approved"]["value"], drift["running"]["value"],
                 drift["owner"]) for drift in document["drifts"]]

    def test_nothing_drifted(self):
        self.assertEqual(self.diff("approved.yaml", "approved.yaml", status=0).stdout, "0 differences in 8 ports of 4 devices\n")
        self.assertEqual(self.diff("--quiet", "approved.yaml", "approved.yaml", status=0).stdout, "")

    def test_either_way(self):
        for edits, expected in CASES:
            running = APPROVED
            for before, after in edits:
                self.assertIn(before or "", running)
                running = running.replace(before, after, 1) if before else running + after
            self.file("running.yaml", running)
            with self.subTest(expected[0]):
                self.assertEqual(sorted(self.drifts("approved.yaml", "running.yaml")), sorted(expected))
                back = [(where, key, two, one, owner) for where, key, one, two, owner in expected]
                self.assertEqual(sorted(self.drifts("running.yaml", "approved.yaml")), sorted(back))

    def test_a_class_that_nobody_approved(self):
        extra = "  - {name: second, dscp: 30, priority: 4, lossless: true, share: 10%}\n  - {name: default"
        self.file("running.yaml", APPROVED.replace("  - {name: default", extra).replace("share: 90%", "share: 80%"))
        found = self.drifts("approved.yaml", "running.yaml")
        self.assertIn(("leaf0:0", "classes.second.lossless", "false", "true", "pauses"), found)
        self.assertIn(("leaf0:0", "pfc", "[3]", "[3, 4]", "pauses"), found)
        self.assertIn(("leaf0:0", "dscp-map.30", "0", "4", "marks"), found)

    def test_places_and_text(self):
        self.file("running.yaml", APPROVED + "devices: {leaf0: {ports: {1: {pfc: false}}}}\n")
        self.assertEqual(self.diff("approved.yaml", "running.yaml", status=1).stdout,
                         "running.yaml:18:36: leaf0:1: pfc is [], approved is [3] (approved.yaml:11:1); owner: pauses\n"
                         "1 difference in 8 ports of 4 devices\n")
        self.file("none.yaml", APPROVED.replace("owners:", "# owners:"))
        self.assertNotIn("owner", self.diff("none.yaml", "running.yaml", status=1).stdout)

    def test_who_changes_it(self):
        teams = "teams: {marking: [alice, bob], memory: [carol]}\n"
        self.file("approved.yaml", APPROVED + teams)
        self.file("running.yaml", APPROVED.replace("min: 500KB", "min: 400KB") + teams)
        self.assertIn("; 0 are not for alice to change", self.diff("approved.yaml", "running.yaml", "--by", "alice", status=0).stdout)
        self.diff("approved.yaml", "running.yaml", "--by", "marking", status=0)
        out = self.diff("approved.yaml", "running.yaml", "--by", "carol", status=1).stdout
        self.assertIn("; owner: marking; carol may not change it\n", out)
        document = json.loads(self.diff("approved.yaml", "running.yaml", "--by", "carol", "--json", status=1).stdout)
        self.assertEqual({drift["allowed"] for drift in document["drifts"]}, {False})
        self.file("approved.yaml", APPROVED.replace("owners: {ecn: marking,", "owners: {"))
        out = self.diff("approved.yaml", "running.yaml", "--by", "alice", status=1).stdout
        self.assertIn("; alice may not change it: nobody owns it\n", out)
        self.assertIn("give one of the two", self.diff("approved.yaml", "running.yaml", "--by", "a", "--fix", status=2).stderr)
        self.file("running.yaml", APPROVED + "teams: {marking: alice}\n")
        self.assertIn("a team", self.diff("approved.yaml", "running.yaml", status=2).stderr)

    def test_folded(self):
        """Ports of a configuration by their names, what they have alike in one line, and the watchdog of a port."""
        here = pathlib.Path(self.folder.name)
        self.file("approved.yaml", APPROVED.replace("hosts: 2", "hosts: 20").replace(
            "      - [h1, leaf1]\n", "".join(f"      - [h{n}, leaf1]\n" for n in range(1, 20))))
        subprocess.run([ROCELAB, "config", "approved.yaml", "--nos", "nxos", "--quiet", "--out", "run"], check=True, cwd=here)
        text = (here / "run" / "leaf1.cfg").read_text(encoding="utf-8")
        text = text.replace("minimum-threshold 500", "minimum-threshold 400")
        text = text.replace("  priority-flow-control watch-dog-interval on\n", "", 1)
        (here / "run" / "leaf1.cfg").write_text(text, encoding="utf-8")
        out = self.diff("approved.yaml", "run", status=1).stdout.splitlines()
        out[:2] = sorted(out[:2], key=lambda line: "watched" in line)
        self.assertRegex(out[0], r"^run/leaf1.cfg:\d+: leaf1 Ethernet1/1 \(and 20 more: Ethernet1/2-21\): "
                                 r"classes.rdma.ecn.min is 400KB, approved is 500KB \(approved.yaml:\d+:\d+\); owner: marking$")
        self.assertRegex(out[1], r"^run/leaf1.cfg:\d+: leaf1 Ethernet1/1: watched is false, approved is true .*; owner: storms$")
        self.assertRegex(out[2], r"^20 ports have no known other end .*: what they are cabled to is not compared")
        self.assertEqual(out[3:], ["22 differences of 2 kinds in 24 ports of 2 devices"])
        self.assertEqual(len(self.diff("approved.yaml", "run", "--all", "--quiet", status=1).stdout.splitlines()), 22)
        drifts = json.loads(self.diff("approved.yaml", "run", "--json", status=1).stdout)["drifts"]
        self.assertEqual((len(drifts), drifts[0]["port"], drifts[0]["name"]), (22, "leaf1:0", "Ethernet1/1"))

    def written(self, nos, *edits):
        """Configurations of the approved fabric, with texts (file, from, to) replaced once; the folder's name."""
        here = pathlib.Path(self.folder.name)
        subprocess.run([ROCELAB, "config", "approved.yaml", "--nos", nos, "--quiet", "--out", nos], check=True, cwd=here)
        self.diff("approved.yaml", nos, "--quiet", status=0)
        for name, before, after in edits:
            text = (here / nos / name).read_text(encoding="utf-8")
            self.assertIn(before, text)
            (here / nos / name).write_text(text.replace(before, after, 1), encoding="utf-8")
        return nos

    def told(self, folder):
        drifts = json.loads(self.diff("approved.yaml", folder, "--json", status=1).stdout)["drifts"]
        return [(drift["port"] or drift["device"], drift["key"], drift["approved"]["value"], drift["running"]["value"],
                 drift["running"]["file"]) for drift in drifts]

    def test_rate_of_a_port(self):
        """The rate that one end is set to, at its line, on each system; the other end says what was approved."""
        for nos, name, before, after in (
                ("nxos", "leaf1.cfg", "speed 100000", "speed 50000"), ("eos", "leaf1.cfg", "speed 100g-1", "speed forced 50g-1"),
                ("sonic", "leaf1.json", '"speed": "100000"', '"speed": "50000"'),
                ("junos", "leaf1.conf", "speed 100g", "speed 50g"), ("nvue", "leaf1.yaml", "speed: 100G", "speed: 50G")):
            with self.subTest(nos):
                folder = self.written(nos, (name, before, after))
                self.assertEqual(self.told(folder), [("leaf1:0", "rate", "100G", "50G", f"{nos}/{name}")])
                text = (pathlib.Path(self.folder.name) / nos / name).read_text(encoding="utf-8").splitlines()
                line = next(i for i, one in enumerate(text, 1) if after in one)
                self.assertIn(f"{nos}/{name}:{line}: leaf1 ", self.diff("approved.yaml", folder, status=1).stdout)

    def test_place_is_of_the_device(self):
        """What a port lost is told at a line of its own device, though another device's text holds the line that is typical."""
        folder = self.written("junos", ("leaf0.conf", "            scheduler-map ROCELAB;\n", ""))
        found = self.told(folder)
        self.assertIn(("leaf0:0", "classes.rdma.ecn", "true", "false"), [one[:4] for one in found])
        self.assertEqual({one[4] for one in found}, {"junos/leaf0.conf"})

    def test_one_end_is_shut(self):
        """The end that is not shut is no drift, though its link is down."""
        folder = self.written("nxos")
        file = pathlib.Path(self.folder.name) / folder / "leaf0.cfg"
        before, after = file.read_text(encoding="utf-8").split("  description leaf1:", 1)
        file.write_text(before + "  description leaf1:" + after.replace("no shutdown", "shutdown", 1), encoding="utf-8")
        self.assertEqual(self.told(folder), [("leaf0:1", "up", "true", "false", "nxos/leaf0.cfg")])
        self.diff("approved.yaml", folder, "--fix", "--out", "mended", "--quiet", status=1)
        self.assertEqual(os.listdir(pathlib.Path(self.folder.name) / "mended"), ["leaf0.cfg"])

    def test_mtu_of_an_adapter(self):
        """Of an interface's MTU what it leaves for verbs, at its line; between two files the value itself."""
        folder = self.written("host", ("h1.sh", " mtu 9000", " mtu 1500"))
        self.assertEqual(self.told(folder), [("h1:0", "mtu", "4096", "1024", "host/h1.sh")])
        self.file("running.yaml", APPROVED.replace("nics: {", "nics: {mtu: 2048, "))
        self.assertEqual(self.drifts("approved.yaml", "running.yaml"),
                         [(f"h{host}:0", "mtu", "4096", "2048", None) for host in range(2)])

    def test_sonic_watchdog_of_a_port(self):
        """A row of PFC_WD that is gone, or set otherwise on one port; the patch brings it back."""
        folder = self.written("sonic")
        file = pathlib.Path(self.folder.name) / folder / "leaf0.json"
        whole = json.loads(file.read_text(encoding="utf-8"))
        port = next(key for key in whole["PFC_WD"] if key != "GLOBAL")
        for change, key, approved, running in (
                (None, "watched", "[3]", "[]"), ({"detection_time": "300"}, "watchdog.detect", "200ms", "300ms"),
                ({"restoration_time": "900"}, "watchdog.restore", None, "900ms"),
                ({"action": "forward"}, "watchdog.action", "drop", "forward")):
            rows = dict(whole["PFC_WD"])
            if change:
                rows[port] = {**rows[port], **change}
            else:
                del rows[port]
            file.write_text(json.dumps({**whole, "PFC_WD": rows}, indent=1), encoding="utf-8")
            with self.subTest(key):
                found = self.told(folder)
                self.assertEqual([(one[0], one[1], one[3], one[4]) for one in found],
                                 [("leaf0:0", key, running, "sonic/leaf0.json")])
                self.assertIn(approved, (None, found[0][2]))
                patch = json.loads(self.diff("approved.yaml", folder, "--fix", status=1).stdout)
                name = port if not change else next(iter(change))
                self.assertEqual([one["path"].rsplit("/", 1)[1] for one in patch], [name])

    def test_negotiated_pauses(self):
        """PFC that is left to DCBX, said or by the system's default, is not PFC that is on; the commands bring it back."""
        line = "  priority-flow-control mode on\n"
        for other in (line.replace("on\n", "auto\n"), ""):
            with self.subTest(other):
                folder = self.written("nxos", ("leaf1.cfg", line, other))
                self.assertEqual(self.told(folder), [("leaf1:0", "pfc-mode", "on", "auto", "nxos/leaf1.cfg")])
                self.assertIn(line, self.diff("approved.yaml", folder, "--fix", status=1).stdout)

    def test_cable_of_headroom(self):
        for nos, name, before, after, mended in (
                ("junos", "leaf1.conf", "cable-length 3;", "cable-length 300;", "cable-length 3\n"),
                ("nvue", "leaf1.yaml", "cable-length: 3\n", "cable-length: 300\n", "cable-length 3\n")):
            with self.subTest(nos):
                folder = self.written(nos, (name, before, after))
                found = self.told(folder)
                self.assertEqual(found, [("leaf1:0", "headroom-cable", "3m", "300m", f"{nos}/{name}")])
                self.assertIn(mended, self.diff("approved.yaml", folder, "--fix", status=1).stdout)

    def test_what_a_fabric_file_has_no_key_for(self):
        """Priorities of pauses and queues of Junos, the MTU of a class of NX-OS, the cable that a description names."""
        port = r"leaf0 \S+ \(and 2 more: \S+\): "
        for system, before, after, drifts in (
                ("junos-set", "pfc-priority 3", "pfc-priority 4", [port + "pfc-priority.3 is 4, approved is 3"]),
                ("junos-set", "code-point 011 flow-control-queue 3", "code-point 100 flow-control-queue 3",
                 [port + "pfc-queue.3 is none, approved is 3", port + "pfc-queue.4 is 3, approved is none"]),
                ("junos-set", "flow-control-queue 3", "flow-control-queue 4", [port + "pfc-queue.3 is 4, approved is 3"]),
                ("nxos", "    mtu 9216", "    mtu 2000", [port + "class-mtu.3 is 2000, approved is 9216"]),
                *((system, ":eth0,3m", ":eth0,30m", [r"leaf0 \S+: cable is 30m, approved is 3m"])
                  for system in ("nxos", "eos", "nvue-set", "junos-set"))):
            approved = APPROVED.replace("tomahawk5", "spectrum4") if system == "nvue-set" else APPROVED
            folder = pathlib.Path(self.folder.name)
            self.file("approved.yaml", approved.replace("cable: 30m", "cable: 29.5m"))
            subprocess.run([ROCELAB, "config", "approved.yaml", "--nos", system, "--quiet", "--out", system], check=True, cwd=folder)
            path = next((folder / system).glob("leaf0.*"))
            text = path.read_text(encoding="utf-8")
            self.assertIn(before, text)
            for running, expected in ((text, []), (text.replace(before, after), drifts)):
                path.write_text(running, encoding="utf-8")
                lines = self.diff("approved.yaml", str(path), "--quiet", status=1 if expected else 0).stdout.splitlines()
                with self.subTest(f"{system} {after}"):
                    self.assertEqual(len(lines), len(expected), lines)
                    for line, one in zip(lines, expected):
                        self.assertRegex(line, one)
            commands = self.diff("approved.yaml", str(path), "--quiet", "--fix", status=1).stdout
            self.assertIn(before.strip(), commands)

    def test_eos_port_without_pauses(self):
        """A port that turns off the PFC of its profile: the command that turns it on again, which then is no drift."""
        off = "   service-profile ROCELAB\n   no priority-flow-control\n"
        folder = self.written("eos", ("leaf1.cfg", "   service-profile ROCELAB\n", off))
        self.assertEqual(self.told(folder), [("leaf1:0", "pfc", "[3]", "[]", "eos/leaf1.cfg")])
        commands = self.diff("approved.yaml", folder, "--fix", status=1).stdout.splitlines()[1:]
        self.assertEqual([line.strip() for line in commands[1:]], ["priority-flow-control on"])
        self.assertRegex(commands[0], "^interface Ethernet")
        self.written("eos", ("leaf1.cfg", "   service-profile ROCELAB\n", off.replace("no priority-flow-control", "priority-flow-control on")))
        self.diff("approved.yaml", folder, status=0)

    def test_mtu_as_the_system_has_it(self):
        """Systems whose MTU is without the header: their number, and the frame that a fabric file says."""
        for nos, name, line in (("sonic", "leaf1.json", '"mtu": "%u"'), ("nvue", "leaf1.yaml", "mtu: %u")):
            with self.subTest(nos):
                self.written(nos)
                text = (pathlib.Path(self.folder.name) / nos / name).read_text(encoding="utf-8")
                before = int(text.split(line.split("%")[0], 1)[1].split('"')[0].split()[0])
                folder = self.written(nos, (name, line % before, line % 1500))
                frame = before + 18
                self.assertEqual(self.told(folder), [("leaf1:0", "mtu", f"{before} (frames of {frame})", "1500 (frames of 1518)",
                                                      f"{nos}/{name}")])

    def test_entries_of_a_map(self):
        self.file("running.yaml", APPROVED + "devices: {leaf0: {dscp-map: {8: 1, 9: 1, 10: 1, 12: 1}}}\n")
        out = self.diff("approved.yaml", "running.yaml", "--quiet", status=1).stdout.splitlines()
        self.assertEqual(len(out), 1, out)
        self.assertIn(": leaf0:0 (and 2 more: leaf0:1-2): dscp-map.8-10, dscp-map.12 is 1, approved is 0", out[0])

    def test_status(self):
        self.diff("approved.yaml", status=2)
        self.diff("approved.yaml", "missing.yaml", status=2)
        self.file("other.yaml", APPROVED.replace("hosts: 2", "hosts: [a, b]").replace("leaves: 2", "leaves: [x, y]").replace(
            "h0, leaf0", "a, x").replace("h1, leaf1", "b, y").replace("a: leaf0, b: leaf1", "a: x, b: y"))
        self.assertIn("no device of other.yaml is in approved.yaml", self.diff("approved.yaml", "other.yaml", status=2).stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
