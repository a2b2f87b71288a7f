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
    ("a host of small frames", "eos", SWITCHES + HOSTS, [("h0", "", "mtu 4200", "mtu 1500")], [("TOP006", "h0", "", "mtu 1500")]),
    ("no classification on a port", "nxos", LEAF, [("leaf0", "Ethernet1/3", "  service-policy type qos input ROCELAB-QOS\n", "")],
     [("MAP001", "leaf0", "interface Ethernet1/3", "interface Ethernet1/3")]),
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
