# SPDX-License-Identifier: Apache-2.0
"""`rocelab diff --fix`: commands that bring drifted devices back, tried on small models of the devices.

A random drift of a fabric is written as running configurations; the commands are applied to their texts as the device would;
what is read back must not differ from what was approved."""
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest

ROCELAB = os.environ["ROCELAB"]
ROUNDS = int(os.environ.get("FIX_ROUNDS", "6"))

APPROVED = """rocelab: 1
topology: {leaf-spine: {leaves: 2, spines: 1, hosts: 2}}
links: {host: {rate: 400G, cable: 3m}, fabric: {rate: 400G, cable: 30m}}
switches: {model: MODEL, watchdog: true}
classes:
  - {name: rdma, dscp: 26, priority: 3, lossless: true, ecn: {min: 500KB, max: 1500KB, probability: 10%}, share: 90%}
  - {name: cnp, dscp: 48, priority: 6, strict: true}
  - {name: default, priority: 0, share: 10%}
"""
# What may be set otherwise, of a switch, or of one of its ports.
DEVICE = ["dscp-map: {26: 0}", "dscp-map: {26: 0, 24: 3}", "dscp-map: {48: 0}", "watchdog: false", "mtu: 4218",
          "classes: {rdma: {ecn: {min: 300KB, max: 900KB}}}", "classes: {rdma: {ecn: {probability: 20%}}}",
          "classes: {rdma: {share: 50%}, default: {share: 50%}}", "classes: {rdma: {ecn: false}}"]
PORT = ["pfc: false", "mtu: 1518", "up: false", "classes: {rdma: {ecn: {min: 250KB}}}", "classes: {rdma: {ecn: false}}",
        "classes: {rdma: {share: 60%}, default: {share: 40%}}", "watched: false"]


def words_alike(one, other):
    """The same command with another value."""
    a, b = (line.removeprefix("no ").split() for line in (one, other))
    if a[0] == "match" or a[:2] == ["priority-flow-control", "priority"] or len(a) != len(b):
        return False
    return all(x == y or (re.search(r"\d", x) and re.search(r"\d", y)) or i == len(a) - 1
               for i, (x, y) in enumerate(zip(a, b)))


def blocks(text):
    """(path of blocks, command) in order."""
    found, path = [], []
    for line in text.splitlines():
        if not line.strip() or line.strip().startswith("!") or line.strip() == "end":
            continue
        indent = len(line) - len(line.lstrip())
        while path and path[-1][0] >= indent:
            path.pop()
        found.append((tuple(one for _, one in path), line.strip()))
        path.append((indent, line.strip()))
    return found


def apply_lines(running, commands):
    """As a switch of commands and blocks takes them: `no` removes, another value replaces, all else is added."""
    tree = blocks(running)
    for path, command in blocks(commands):
        undone = command[3:] if command.startswith("no ") else "no " + command
        if command.startswith("no ") and any(p == path and c.startswith(undone) for p, c in tree):
            gone = {path + (c,) for p, c in tree if p == path and c.startswith(undone)}
            tree = [(p, c) for p, c in tree if not (p == path and c.startswith(undone)) and not any(p[:len(g)] == g for g in gone)]
            continue
        if (path, command) in tree:
            continue
        if command.startswith("qos map dscp"):  # entries, each by itself
            moved = set(re.match(r"qos map dscp ([\d ]+) to", command).group(1).split())
            for i, (p, c) in enumerate(tree):
                entry = re.match(r"qos map dscp ([\d ]+) (to .*)", c)
                if entry:
                    left = [one for one in entry.group(1).split() if one not in moved]
                    tree[i] = (p, f"qos map dscp {' '.join(left)} {entry.group(2)}" if left else "")
            tree = [one for one in tree if one[1]]
        else:
            block = any(p[:len(path) + 1] == path + (command,) for p, _ in blocks(commands))
            tree = [(p, c) for p, c in tree if not (p == path and not block and c != command and words_alike(c, command)
                                                    and not any(q[:len(p) + 1] == p + (c,) for q, _ in tree))]
        at = max((i + 1 for i, (p, c) in enumerate(tree) if p[:len(path)] == path or p + (c,) == path), default=len(tree))
        tree.insert(at if path else len(tree), (path, command))
    return "".join(" " * (2 * len(path)) + command + "\n" for path, command in tree)


def apply_sets(running, commands):
    lines = [line for line in running.splitlines() if line.startswith("nv set ")]
    for command in commands.splitlines():
        if command.startswith("nv unset "):
            gone = "nv set " + command.removeprefix("nv unset ")
            lines = [line for line in lines if line != gone and not line.startswith(gone + " ")]
        elif command.startswith("nv set "):
            many = re.match(r"nv set qos (pfc|link-pause|traffic-pool) .* switch-priority ", command)
            lines = [line for line in lines if many or line.rsplit(" ", 1)[0] != command.rsplit(" ", 1)[0]] + [command]
    return "\n".join(lines) + "\n"


def junos_words(text):
    """Lists stand for their members."""
    words = re.findall(r'"[^"]*"|[^\s"]+', text)
    if "[" not in words:
        return [words]
    at, end = words.index("["), words.index("]")
    return [words[:at] + [word] + words[end + 1:] for word in words[at + 1:end]]


def apply_junos(running, commands):
    """Statements are paths of words; a value of a statement that takes one replaces the other."""
    single = ("mtu", "speed", "description", "congestion-notification-profile", "scheduler-map", "dscp", "percent", "priority")
    paths = [path for line in running.splitlines() if line.startswith("set ") for path in junos_words(line[4:])]
    for command in commands.splitlines():
        if command.startswith("delete "):
            gone = junos_words(command[7:])[0]
            paths = [path for path in paths if path[:len(gone)] != gone]
        elif command.startswith("set "):
            for path in junos_words(command[4:]):
                one = len(path) > 2 and path[-2] in single and path[1] != "classifiers"
                paths = [old for old in paths if not (one and old[:-1] == path[:-1] and len(old) == len(path))] + [path]
    return "".join("set " + " ".join(path) + "\n" for path in paths)


def apply_patch(running, commands):
    """RFC 6902, of members of objects."""
    document = json.loads(running)
    for operation in json.loads(commands):
        *parents, last = [part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]]
        place = document
        for part in parents:
            place = place[part]
        if operation["op"] == "remove":
            del place[last]
        else:
            place[last] = operation["value"]
    return json.dumps(document, indent=1)


SYSTEMS = {"nxos": ("nxos", "cfg", apply_lines, "tomahawk5"), "eos": ("eos", "cfg", apply_lines, "tomahawk5"),
           "nvue": ("nvue-set", "txt", apply_sets, "spectrum4"), "sonic": ("sonic", "json", apply_patch, "tomahawk5"),
           "junos": ("junos-set", "txt", apply_junos, "tomahawk5"),
           "host": ("host", "sh", lambda running, commands: commands, "tomahawk5")}


class Fix(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def rocelab(self, *arguments, status=0):
        result = subprocess.run([ROCELAB, *arguments], capture_output=True, text=True, check=False, cwd=self.folder,
                                input=(self.folder / "run" / "leaf0.json").read_text() if "-" in arguments else "")
        self.assertIn(result.returncode, status if isinstance(status, tuple) else (status,),
                      " ".join(arguments) + "\n" + result.stdout + result.stderr)
        return result

    def drifted(self, rng, system):
        devices = []
        if system == "host":
            chosen = rng.sample(["pfc: false", "mtu: 1518", "dscp-map: {26: 0}", "trust: pcp"], rng.randint(1, 2))
            return "devices:\n  h0: {" + ", ".join(chosen) + "}\n"
        for name, ports in (("leaf0", 3), ("spine0", 2)):
            parts, used = [], set()
            for text in rng.sample(DEVICE, rng.randint(0, 2)):
                if text.split(":")[0] not in used:
                    parts.append(text)
                    used.add(text.split(":")[0])
            if rng.random() < 0.7:
                parts.append("ports: {%d: {%s}}" % (rng.randrange(ports), rng.choice(PORT)))
            if parts:
                devices.append(f"  {name}: {{{', '.join(parts)}}}\n")
        return "devices:\n" + "".join(devices) if devices else ""

    def back(self, system, seed):
        nos, suffix, apply, model = SYSTEMS[system]
        rng = random.Random(f"{system} {seed}")
        approved = APPROVED.replace("MODEL", model)
        (self.folder / "approved.yaml").write_text(approved, encoding="utf-8")
        (self.folder / "drifted.yaml").write_text(approved + self.drifted(rng, system), encoding="utf-8")
        for name in ("run", "fix", "back"):
            subprocess.run(["rm", "-rf", name], cwd=self.folder, check=True)
            (self.folder / name).mkdir()
        self.rocelab("config", "drifted.yaml", "--nos", nos, "--quiet", "--no-comments", "--out", "run")
        before = self.rocelab("diff", "approved.yaml", "run", "--quiet", status=(0, 1))
        self.rocelab("diff", "approved.yaml", "run", "--fix", "--quiet", "--out", "fix", status=before.returncode)
        for path in sorted((self.folder / "run").iterdir()):
            text, fix = path.read_text(encoding="utf-8"), sorted((self.folder / "fix").glob(path.stem + ".*"))
            if fix:
                text = apply(text, fix[0].read_text(encoding="utf-8"))
            (self.folder / "back" / path.name).write_text(text, encoding="utf-8")
        after = self.rocelab("diff", "approved.yaml", "back", "--quiet", status=(0, 1)).stdout
        commands = "".join(path.read_text(encoding="utf-8") for path in (self.folder / "fix").iterdir())
        self.assertEqual(after, "", f"{system} {seed}\nbefore:\n{before.stdout}\ncommands:\n{commands}")
        return before.returncode

    def test_random_drifts(self):
        for system in SYSTEMS:
            with self.subTest(system):
                self.assertGreater(sum(self.back(system, seed) for seed in range(ROUNDS)), ROUNDS // 2)

    def test_names_that_a_shell_would_run(self):
        """What a device calls its ports never becomes a command of root's, and no file is begun."""
        approved = APPROVED.replace("MODEL", "tomahawk5")
        (self.folder / "approved.yaml").write_text(approved, encoding="utf-8")
        for name in ("eth0;reboot", "$IF", "-x", "eth0&reboot", "a|b"):
            (self.folder / "h0.sh").write_text(f"host=h0\nmlnx_qos -i '{name}' --trust dscp --pfc 0,0,0,0,0,0,0,0\n", encoding="utf-8")
            fix = self.rocelab("diff", "approved.yaml", "h0.sh", "--fix", "--out", "fix", status=2)
            self.assertIn("not one of an interface", fix.stderr)
            self.assertEqual(fix.stdout, "")
            self.assertEqual(list(self.folder.glob("fix/*")), [], name)
        (self.folder / "approved.yaml").write_text(
            approved + "devices: {h0: {ports: {0: {name: 'eth0;reboot'}}}, h1: {ports: {0: {name: 'eth0;reboot'}}}}\n", encoding="utf-8")
        (self.folder / "h0.sh").write_text("host=h0\nmlnx_qos -i eth9 --trust dscp --pfc 0,0,0,0,0,0,0,0\n", encoding="utf-8")
        fix = self.rocelab("diff", "approved.yaml", "h0.sh", "--fix", status=(1, 2))
        self.assertNotIn("reboot", fix.stdout)

    def test_few_commands(self):
        """Three changed lines are about three commands, and names of the device stay out of it."""
        approved = APPROVED.replace("MODEL", "tomahawk5").replace("hosts: 2", "hosts: 60")
        (self.folder / "approved.yaml").write_text(approved, encoding="utf-8")
        (self.folder / "drifted.yaml").write_text(
            approved + "devices: {leaf0: {dscp-map: {26: 0, 24: 3}, classes: {rdma: {ecn: {min: 400KB}}}, ports: {1: {pfc: false}}}}\n",
            encoding="utf-8")
        self.rocelab("config", "drifted.yaml", "--nos", "nxos", "--quiet", "--out", "run")
        self.assertEqual(len(self.rocelab("diff", "approved.yaml", "run", "--quiet", status=1).stdout.splitlines()), 4)
        self.assertEqual(self.rocelab("diff", "approved.yaml", "run", "--fix", status=1).stdout.splitlines(), [
            "! leaf0: in `configure terminal`",
            "class-map type qos match-any rdma", "  no match dscp 24", "  match dscp 26",
            "policy-map type queuing ROCELAB-OUT", "  class type queuing c-out-8q-q3",
            "    random-detect minimum-threshold 500 kbytes maximum-threshold 1500 kbytes drop-probability 10 weight 0 ecn",
            "interface Ethernet1/2", "  priority-flow-control mode on",
            "  priority-flow-control watch-dog-interval on"])

    def test_names_of_their_own(self):
        """Policies that the device calls otherwise: where lines are read back, they are mended in place; else ours are written whole."""
        renamed = {"nxos": (("ROCELAB-", "SITE-"), ("match-any rdma", "match-any DATA"), ("class rdma", "class DATA"),
                            ("minimum-threshold 500", "minimum-threshold 400"), ("match dscp 26", "match dscp 24")),
                   "eos": (("ROCELAB", "SITE"), ("minimum-threshold 500", "minimum-threshold 400")),
                   "nvue": ((" roce", " site"), ("min-threshold 500000", "min-threshold 400000")),
                   "sonic": (("ROCE_", "SITE_"), ("AZURE", "SITE"), ("scheduler.", "site."),
                             ('min_threshold": "500000"', 'min_threshold": "400000"'), ('"26": "3"', '"26": "0"'))}
        for system, edits in renamed.items():
            nos, suffix, apply, model = SYSTEMS[system]
            with self.subTest(system):
                (self.folder / "approved.yaml").write_text(APPROVED.replace("MODEL", model), encoding="utf-8")
                self.rocelab("config", "approved.yaml", "--nos", nos, "--quiet", "--no-comments", "--device", "leaf0", "--out", system)
                path = next((self.folder / system).iterdir())
                text = path.read_text(encoding="utf-8")
                for before, after in edits:
                    self.assertIn(before, text)
                    text = text.replace(before, after)
                path.write_text(text, encoding="utf-8")
                fix = self.rocelab("diff", "approved.yaml", system, "--fix", "--quiet", status=1).stdout
                self.assertNotIn("description", fix)
                if system == "nxos":
                    self.assertEqual([line.strip() for line in fix.splitlines()[1:]], [
                        "class-map type qos match-any DATA", "no match dscp 24", "class-map type qos match-any DATA", "match dscp 26",
                        "policy-map type queuing SITE-OUT", "class type queuing c-out-8q-q3",
                        "random-detect minimum-threshold 500 kbytes maximum-threshold 1500 kbytes drop-probability 10 weight 0 ecn"])
                if system in ("nxos", "eos"):
                    self.assertNotIn("ROCELAB", fix)
                path.write_text(apply(text, fix), encoding="utf-8")
                self.assertEqual(self.rocelab("diff", "approved.yaml", system, "--quiet", status=(0, 1)).stdout, "", fix)

    def test_a_switch_set_up_by_hand(self):
        """No profile, ports called as nobody would guess: the same by number, and the interfaces' own queues are mended where they are."""
        approved = APPROVED.replace("MODEL", "tomahawk5").replace("leaves: 2", "leaves: 1").replace("hosts: 2", "hosts: 1")
        (self.folder / "approved.yaml").write_text(approved, encoding="utf-8")
        others = " ".join(str(dscp) for dscp in range(64) if dscp not in (26, 48))
        port = ("   mtu 9214\n   speed 400g-4\n   no switchport\n   qos trust dscp\n   priority-flow-control on\n"
                "   priority-flow-control priority 3 no-drop\n   uc-tx-queue 3\n      no priority\n      bandwidth percent 90\n"
                "      random-detect ecn minimum-threshold 200 kbytes maximum-threshold 1500 kbytes max-mark-probability 10 weight 0\n"
                "   uc-tx-queue 0\n      no priority\n      bandwidth percent 10\n   uc-tx-queue 6\n      priority strict\n")
        text = (f"hostname leaf0\nqos map dscp {others} to traffic-class 0\nqos map dscp 26 to traffic-class 3\n"
                "qos map dscp 48 to traffic-class 6\npriority-flow-control pause watchdog default timeout 0.20\n"
                "priority-flow-control pause watchdog default recovery-time 0.20\n"
                "priority-flow-control pause watchdog default polling-interval 0.100\npriority-flow-control pause watchdog action drop\n"
                f"interface Ethernet7/1\n{port}interface Ethernet9/1\n{port}")
        (self.folder / "leaf0.cfg").write_text(text, encoding="utf-8")
        out = self.rocelab("diff", "approved.yaml", "leaf0.cfg", "--quiet", status=1).stdout.splitlines()
        self.assertEqual(len(out), 1, out)
        self.assertIn("leaf0 Ethernet7/1 (and 1 more: Ethernet9/1): classes.rdma.ecn.min is 200KB, approved is 500KB", out[0])
        fix = self.rocelab("diff", "approved.yaml", "leaf0.cfg", "--fix", "--quiet", status=1).stdout
        curve = "random-detect ecn minimum-threshold 500 kbytes maximum-threshold 1500 kbytes max-mark-probability 10 weight 0"
        self.assertEqual(fix, "! leaf0: in `configure session`\n" + "".join(
            f"interface Ethernet{i}/1\n   uc-tx-queue 3\n      {curve}\n" for i in (7, 9)))
        (self.folder / "leaf0.cfg").write_text(apply_lines(text, fix), encoding="utf-8")
        self.assertEqual(self.rocelab("diff", "approved.yaml", "leaf0.cfg", "--quiet", status=(0, 1)).stdout, "", fix)

    def of_leaf(self, system, drift, *edits, applies=True):
        """Commands for a leaf that drifted so and whose text has these edits too."""
        nos, _, apply, model = SYSTEMS[system]
        approved = APPROVED.replace("MODEL", model)
        (self.folder / "approved.yaml").write_text(approved, encoding="utf-8")
        (self.folder / "drifted.yaml").write_text(f"{approved}devices: {{leaf0: {{{drift}}}}}\n", encoding="utf-8")
        self.rocelab("config", "drifted.yaml", "--nos", nos, "--quiet", "--no-comments", "--device", "leaf0", "--out", system)
        path = next((self.folder / system).iterdir())
        text = path.read_text(encoding="utf-8")
        for before, after in edits:
            self.assertIn(before, text)
            text = text.replace(before, after)
        path.write_text(text, encoding="utf-8")
        fix = self.rocelab("diff", "approved.yaml", system, "--fix", "--quiet", status=1).stdout
        if applies:
            path.write_text(apply(text, fix), encoding="utf-8")
            self.assertEqual(self.rocelab("diff", "approved.yaml", system, "--quiet", status=(0, 1)).stdout, "", fix)
        return fix

    def test_a_healthy_port_is_not_shut(self):
        """`no shutdown` is the default: a port that says so stays up when another one is brought up."""
        fix = self.of_leaf("eos", "ports: {0: {up: false}}", ("   mtu ", "   no shutdown\n   mtu "),
                           ("   shutdown\n   no shutdown\n", "   shutdown\n"))
        self.assertEqual(fix.splitlines()[1:], ["interface Ethernet1/1", "   no shutdown"])

    def test_words_of_nvue_stay_words(self):
        """Values with blanks are unset by their path, and what is not plain stands in quotes."""
        approved = APPROVED.replace("MODEL", "spectrum4")
        (self.folder / "approved.yaml").write_text(approved, encoding="utf-8")
        self.rocelab("config", "approved.yaml", "--nos", "nvue-set", "--quiet", "--no-comments", "--device", "leaf0", "--out", "run")
        path = next((self.folder / "run").iterdir())
        text = re.sub(r"nv set interface swp2 description .*\n", "", path.read_text(encoding="utf-8"))
        text = re.sub(r"link mtu \d+", "link mtu 4000", text)
        self.assertIn("mtu 4000", text)
        for value in ("'x mtu; reboot; y'", "x mtu; reboot; y", "'" + "long " * 300 + "mtu; reboot'"):
            path.write_text(text + f"nv set interface swp2 description {value}\n"
                            "nv set interface swp2 link mtu 'a;reboot' 1\n", encoding="utf-8")
            fix = self.rocelab("diff", "approved.yaml", "run", "--fix", "--quiet", status=1).stdout
            self.assertIn("link mtu", fix)
            self.assertIn("nv unset interface swp2 link mtu 'a;reboot'\n", fix)
            self.assertNotIn("reboot", fix.replace("'a;reboot'", ""))
            self.assertNotIn("description x", fix)
        path.write_text(text + "nv set interface swp2 link mtu \"it's\" 1\n", encoding="utf-8")
        result = self.rocelab("diff", "approved.yaml", "run", "--fix", "--quiet", "--out", "fix", status=2)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr.splitlines(), [
            f"rocelab: run/{path.name}:{len(text.splitlines()) + 1}: leaf0: 'interface swp2 link mtu 'it's'' would have to be unset: "
            "quotation marks, backslashes and control characters are not written into a command; remove the line by hand"])

    def test_words_of_junos_are_clean(self):
        """A statement that no command can name is named by its line, and nothing is written."""
        approved = APPROVED.replace("MODEL", "tomahawk5")
        (self.folder / "approved.yaml").write_text(approved, encoding="utf-8")
        (self.folder / "drifted.yaml").write_text(f"{approved}devices: {{leaf0: {{mtu: 4218, dscp-map: {{26: 0}}}}}}\n", encoding="utf-8")
        self.rocelab("config", "drifted.yaml", "--nos", "junos-set", "--quiet", "--no-comments", "--device", "leaf0", "--out", "run")
        path = next((self.folder / "run").iterdir())
        text = path.read_text(encoding="utf-8")
        port = re.search(r"set interfaces (\S+) mtu", text).group(1)
        line = f'set class-of-service interfaces {port} unit "0\x1b[2J" classifiers dscp other\n'
        path.write_text(text + line, encoding="utf-8")
        result = self.rocelab("diff", "approved.yaml", "run", "--fix", "--quiet", "--out", "fix", status=2)
        self.assertEqual(result.stdout, "")
        self.assertEqual(list(self.folder.glob("fix/*")), [])
        self.assertEqual(result.stderr.splitlines(), [
            f"rocelab: run/{path.name}:{len(text.splitlines()) + 1}: leaf0: this would have to be deleted: "
            "control characters are not written into a command; delete it by hand"])

    def test_others_lines_are_left_alone(self):
        """Words of ours within commands that are not: OSPF, storm control, DHCP, a metric, a description."""
        others = ("ip ospf mtu-ignore", "storm-control broadcast action shutdown", "description uplink mtu 9000 no shutdown",
                  "ip dhcp snooping trust", "bandwidth 100000000", "ip pim hello speed 1", "no ip redirects mtu")
        lines = "".join(f"  {line}\n" for line in others)
        for system in ("nxos", "eos"):
            with self.subTest(system):
                fix = self.of_leaf(system, "mtu: 4218, dscp-map: {26: 0}, classes: {rdma: {share: 50%}, default: {share: 50%}}, ports: {0: {up: false}}",
                                   ("no switchport\n", "no switchport\n" + lines))
                for line in others:
                    self.assertNotIn(line.removeprefix("no "), fix)
                self.assertIn("mtu 9", fix)
        fix = self.of_leaf("nvue", "mtu: 4218", ("nv set interface swp1 type swp\n", "nv set interface swp1 router ospf mtu-ignore on\n"))
        self.assertNotIn("ospf", fix)

    def test_control_characters_of_the_running_text(self):
        """What the commands and messages quote does not move a terminal's cursor."""
        port = ("  no switchport\n", "  no switchport\n  priority-flow-control \x1b[2J\x7f\u009b1m\n")
        fix = self.of_leaf("nxos", "ports: {0: {pfc: false}}", port)
        self.assertIn("  no priority-flow-control ?[2J??1m\n", fix)
        fix = self.of_leaf("sonic", "ports: {0: {pfc: false}}", ('"PORT_QOS_MAP": {', '"PORT_QOS_MAP": {"Ethernet0|\u009b1m": {},'))
        self.assertIn('"path": "/PORT_QOS_MAP/Ethernet0|\\u009b1m"', fix)
        self.assertTrue(all(c == "\n" or c.isprintable() for c in fix), fix)
        (self.folder / "nxos" / "a\x1b[2Jb.bin").write_text("nothing\n", encoding="utf-8")
        told = self.rocelab("diff", "approved.yaml", "nxos").stderr
        self.assertIn("a?[2Jb.bin", told)
        self.assertNotIn("\x1b", told)

    def test_all_files_or_none(self):
        """A device without commands, or a place that is taken, leaves the folder as it was."""
        approved = APPROVED.replace("MODEL", "tomahawk5")
        (self.folder / "approved.yaml").write_text(approved, encoding="utf-8")
        (self.folder / "drifted.yaml").write_text(approved + "devices: {leaf0: {mtu: 4218}, spine0: {mtu: 4218}}\n", encoding="utf-8")
        self.rocelab("config", "drifted.yaml", "--nos", "eos", "--quiet", "--no-comments", "--out", "run")
        (self.folder / "fix" / "spine0.cfg").mkdir(parents=True)
        (self.folder / "fix" / "leaf0.cfg").write_text("before\n", encoding="utf-8")
        result = self.rocelab("diff", "approved.yaml", "run", "--fix", "--out", "fix", status=2)
        self.assertIn("spine0.cfg: Is a directory", result.stderr)
        self.assertEqual((self.folder / "fix" / "leaf0.cfg").read_text(encoding="utf-8"), "before\n")
        self.assertEqual(sorted(path.name for path in (self.folder / "fix").iterdir()), ["leaf0.cfg", "spine0.cfg"])
        result = self.rocelab("diff", "approved.yaml", "run", "--fix", "--out", "a/b", status=1)
        self.assertEqual(result.stdout, "2 devices: commands are in a/b\n")
        self.assertEqual(sorted(path.name for path in (self.folder / "a" / "b").iterdir()), ["leaf0.cfg", "spine0.cfg"])

    def test_many_policies(self):
        """Policies that were applied and are not any more go, each looked for once: also where there are thousands."""
        many = 1500
        policies = "".join(f"policy-map type qos ROCELAB-X{i}\n  class class-default\n    set qos-group 0\n" for i in range(many))
        applied = "".join(f"  service-policy type qos input ROCELAB-X{i}\n" for i in range(many))
        fix = self.of_leaf("nxos", "dscp-map: {26: 0}", ("policy-map type qos ROCELAB-QOS\n", policies + "policy-map type qos ROCELAB-QOS\n"),
                           ("interface Ethernet1/1\n", "interface Ethernet1/1\n" + applied), applies=False)
        self.assertEqual(fix.count("\nno policy-map type qos ROCELAB-X"), many)
        self.assertEqual(fix.count("\n  no service-policy type qos input ROCELAB-X"), many)

    def test_wrong(self):
        (self.folder / "approved.yaml").write_text(APPROVED.replace("MODEL", "tomahawk5"), encoding="utf-8")
        (self.folder / "drifted.yaml").write_text(APPROVED.replace("MODEL", "tomahawk5") + "devices: {leaf0: {mtu: 4218}, leaf1: {mtu: 4218}}\n",
                                                  encoding="utf-8")
        self.rocelab("config", "drifted.yaml", "--nos", "sonic", "--quiet", "--out", "run")
        for words, *arguments in (("RUNNING is a fabric file", "drifted.yaml", "--fix"), ("--out belongs to --fix", "run", "--out", "x"),
                                  ("not JSON", "run", "--fix", "--json"), ("give --out FOLDER", "run", "--fix"),
                                  ("not standard input", "-", "--fix"), ("Not a directory", "run", "--fix", "--out", "/dev/null")):
            result = self.rocelab("diff", "approved.yaml", *arguments, status=2)
            self.assertIn(words, result.stderr)
            self.assertEqual(result.stdout, "")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
