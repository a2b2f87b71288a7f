# SPDX-License-Identifier: Apache-2.0
"""The full circle, for each system: config, import, check and diff; then one line is broken, and they name that line."""
import json
import pathlib
import re
import unittest

from support import SOURCE, Case, rocelab

# Watchdog times, marking and cables that are not the defaults, and a port that is an exception.
FABRIC = """rocelab: 1
fabric: pod
topology: {rail: {hosts: 2, gpus: 2, leaves: 2, spines: 2}}
links: {host: {rate: 400G, cable: 3m}, fabric: {rate: 400G, cable: 30m}}
switches: {model: MODEL, watchdog: {poll: 100ms, detect: 400ms, restore: 800ms}}
nics: {mtu: 4096, congestion: dcqcn/connectx, nccl: {NCCL_IB_TC: 106}}
classes:
  - {name: rdma, dscp: 26, priority: 3, lossless: true, ecn: {min: 400KB, max: 1600KB, probability: 20%}, share: 80%}
  - {name: cnp, dscp: 48, priority: 6, strict: true}
  - {name: default, priority: 0, share: 20%}
devices:
  leaf1: {ports: {1: {mtu: 5000}}}
"""
SYSTEMS = {"nxos": "g200", "eos": "tomahawk5", "sonic": "tomahawk5", "nvue": "spectrum4", "nvue-set": "spectrum4",
           "junos": "tomahawk5", "junos-set": "tomahawk5", "host": "generic"}
# system, device, the line that is broken (a pattern of which the first match counts), what it becomes,
# the key that `diff` names at that line, the rule that `check` names there, or with a text behind it on the line that
# has this (a curve is one thing of several lines); None: not asked, for rules that need both ends of a link
BREAKS = (
    ("nxos", "leaf0", r"minimum-threshold 400 kbytes", "minimum-threshold 1700 kbytes", "classes.rdma.ecn.min", "ECN002"),
    ("nxos", "leaf0", r"set qos-group 6", "set qos-group 5", "dscp-map.48", None),
    ("nxos", "leaf0", r"^priority-flow-control watch-dog-interval on", "priority-flow-control watch-dog-interval off",
     "watchdog", "WD001"),
    ("nxos", "leaf1", r"  priority-flow-control mode on", "  priority-flow-control mode off", "pfc", None),
    ("nxos", "leaf0", r"  priority-flow-control watch-dog-interval on", "  priority-flow-control watch-dog-interval off",
     None, "WD001"),
    ("nxos", "spine0", r"bandwidth remaining percent 80", "bandwidth remaining percent 70", "classes.rdma.share", None),
    ("nxos", "spine0", r"bandwidth remaining percent 20", "bandwidth remaining percent 30", None, "SCH001 bandwidth remaining percent 80"),
    ("eos", "leaf0", r"minimum-threshold 400 kbytes", "minimum-threshold 1700 kbytes", "classes.rdma.ecn.min", "ECN002"),
    ("eos", "leaf0", r"   priority-flow-control on", "   priority-flow-control off", "pfc", None),
    ("eos", "leaf0", r"default timeout 0.40", "default timeout 2.40", "watchdog.detect", "WD007"),
    ("eos", "leaf1", r"   mtu 5000", "   mtu 1500", "mtu", "MTU001"),
    ("eos", "leaf0", r"^hostname leaf0", "hostname leaf0\npriority-flow-control mode on", None, "SYN001"),
    ("sonic", "spine0", r'"pfc_enable": "3"', '"pfc_enable": ""', "pfc", "PFC001"),
    ("sonic", "spine0", r'"mtu": "9198"', '"mtu": "8000"', "mtu", "MTU001"),
    ("sonic", "leaf0", r'"green_min_threshold": "400000"', '"green_min_threshold": "300000"', "classes.rdma.ecn.min", None),
    ("sonic", "leaf0", r'"green_max_threshold": "1600000"', '"green_max_threshold": "1600"', None, "ECN002"),
    ("sonic", "leaf0", r'"26": "3"', '"26": "1"', "dscp-map.26", None),
    ("sonic", "leaf0", r'"xoff": "[0-9]+"', '"xoff": "20000"', "classes.rdma.headroom", "HR001"),
    ("sonic", "leaf0", r'"detection_time": "400"', '"detection_time": "9000"', None, "WD002"),
    ("sonic", "leaf0", r'"wred_profile": "ROCE_0"', '"wred_profile": "ROCE_9"', None, "MAP007"),
    ("nvue", "leaf0", r"min-threshold: 400000", "min-threshold: 300000", "classes.rdma.ecn.min", None),
    ("nvue", "leaf0", r"min-threshold: 400000", "min-threshold: 1700000", None, "ECN002"),
    ("nvue", "leaf0", r"bw-percent: 80", "bw-percent: 70", "classes.rdma.share", None),
    ("nvue", "leaf0", r"profile: roce0", "profile: roce7", None, "MAP007"),
    ("nvue-set", "leaf0", r"polling-interval 100", "polling-interval 300", "watchdog.poll", None),
    ("nvue-set", "leaf0", r"switch-priority 6$", "switch-priority 5", "dscp-map.48", None),
    ("junos", "leaf0", r"fill-level \[ 1 3 \]", "fill-level [ 3 9 ]", "classes.rdma.ecn.min", None),
    ("junos", "leaf0", r"fill-level \[ 1 3 \]", "fill-level [ 3 1 ]", None, "ECN002"),
    ("junos", "leaf0", r"detection 4", "detection 8", "watchdog.detect", None),
    ("junos", "leaf0", r"code-points 110000", "code-points 110001", None, "MAP001"),
    ("junos", "leaf1", r"mtu 5000", "mtu 1500", "mtu", "MTU001"),
    ("junos", "leaf0", r"flow-control-queue 3", "flow-control-queue 4", None, "PFC007"),
    ("junos", "spine0", r"transmit-rate percent 80", "transmit-rate percent 70", "classes.rdma.share", None),
    ("junos-set", "leaf0", r"congestion-notification-profile ROCELAB-PFC$", "congestion-notification-profile PFC", None, "MAP007"),
    ("junos-set", "leaf0", r"schedulers ROCELAB-q6 priority strict-high", "schedulers ROCELAB-q6 priority low",
     "classes.cnp.strict", None),
    ("host", "h0", r" 26,3", " 26,4", "dscp-map.26", None),
    ("host", "h0", r"--pfc 0,0,0,1,0,0,0,0", "--pfc 0,0,0,0,0,0,0,0", "pfc", None),
    ("host", "h0", r"DCBX_WILLING_P1=0", "DCBX_WILLING_P1=1", None, "HOST005"),
)


def broken(text, pattern, instead):
    """The text with the first line that matches broken, and that line's number."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if re.search(pattern, line):
            changed = re.sub(pattern, instead, line, count=1)
            lines[number:number + 1] = changed.split("\n")
            return "\n".join(lines) + "\n", number + 1 + changed.count("\n")
    raise AssertionError(f"no line has {pattern}")


def one_by_one(text):
    """Each statement with all headings above it, as if every section were opened again for it: by indentation or braces."""
    out, above, lines = [], [], text.splitlines()
    for line, after in zip(lines, lines[1:] + [""]):
        indent = len(line) - len(line.lstrip())
        if not line.strip() or line.strip()[0] in "!#":
            out.append(line)
        elif line.endswith("{"):
            above.append((-1, line))
        elif line.strip() == "}":
            above.pop()
        else:
            while above and above[-1][0] >= indent:
                above.pop()
            if len(after) - len(after.lstrip()) > indent:
                above.append((indent, line))
            else:
                out += [heading for _, heading in above] + [line] + ["}"] * sum(width < 0 for width, _ in above)
    return "\n".join(out) + "\n"


class Loop(Case):
    def run_here(self, *arguments, status=0):
        result = rocelab(*arguments, cwd=self.folder)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return result

    def written(self, nos):
        """The fabric, its configurations in a folder of the system's name, the files' paths."""
        self.file("pod.yaml", FABRIC.replace("MODEL", SYSTEMS[nos]).encode())
        self.run_here("config", "pod.yaml", "--nos", nos, "--out", nos, "--comments")
        return sorted(f"{nos}/{path.name}" for path in (pathlib.Path(self.folder) / nos).iterdir())

    def findings(self, *paths):
        result = rocelab("check", "--json", *paths, cwd=self.folder)
        self.assertIn(result.returncode, (0, 1), result.stderr)
        return json.loads(result.stdout)["findings"]

    def test_nothing_is_new(self):
        for nos in SYSTEMS:
            with self.subTest(nos):
                files = self.written(nos)
                self.assertEqual(len(files), 2 if nos == "host" else 4)
                before = {(found["rule"], found["device"]) for found in self.findings("pod.yaml")}
                after = {(found["rule"], found["device"]) for found in self.findings(*files)}
                # a port of its own in a fabric file is meant so; in a configuration it may be a slip
                self.assertEqual(after - before, set() if nos == "host" else {("SIB001", "leaf1")})
                self.assertIn("0 differences", self.run_here("diff", "pod.yaml", *files).stdout)
                document = json.loads(self.run_here("import", "--json", *files).stdout)
                self.assertEqual([line for line in document["lines"] if not line.get("assumed") and line.get("rule") != "SIB001"], [])
                self.file("imported.yaml", document["fabric"].encode())
                again = {(found["rule"], found["device"]) for found in self.findings("imported.yaml")}
                self.assertEqual(again - before, set())

    def test_a_section_may_be_opened_again(self):
        for nos in ("nxos", "eos", "junos"):
            with self.subTest(nos):
                files = self.written(nos)
                meant = re.sub("#.*", "", self.run_here("import", *files).stdout)
                found = sorted((item["rule"], item["device"]) for item in self.findings(*files))
                for path in files:
                    text = (pathlib.Path(self.folder) / path).read_text()
                    self.assertGreater(len(one_by_one(text)), len(text))
                    self.file(path, one_by_one(text).encode())
                self.assertEqual(re.sub("#.*", "", self.run_here("import", *files).stdout), meant)
                self.assertEqual(sorted((item["rule"], item["device"]) for item in self.findings(*files)), found)

    def test_thresholds_of_junos_have_one_meaning(self):
        """In bytes, whole per cent, bytes, per cent: the second way round changes nothing, and what the first has rounded is told."""
        cases = (("500KB", "1500KB", "[ 1 2 ]"), ("300KB", "1200KB", "[ 1 2 ]"), ("6MB", "30MB", "[ 10 49 ]"), ("34MB", "54MB", "[ 55 88 ]"))
        for least, most, levels in cases:
            with self.subTest(levels):
                self.file("pod.yaml", FABRIC.replace("MODEL", "tomahawk5").replace("min: 400KB, max: 1600KB", f"min: {least}, max: {most}").encode())
                out = self.run_here("config", "pod.yaml", "--nos", "junos", "--device", "leaf0", "--comments")
                self.assertIn(f"fill-level {levels};", out.stdout)
                self.assertIn("thresholds of marking in bytes", out.stderr)
                self.file("leaf0.conf", out.stdout.encode())
                said = self.run_here("diff", "pod.yaml", "leaf0.conf").stdout
                self.assertRegex(said, rf"thresholds of marking are approved finer than the system can say it: leaf0 et-0/0/0: .* approved is {least}")
                self.assertIn("0 differences", said)
                held = int(re.search(r"may hold: (\d+) KB", out.stdout)[1]) * 1000
                imported = self.run_here("import", "leaf0.conf").stdout
                self.file("imported.yaml", imported.encode())
                for key, level in zip(("min", "max"), levels.split()[1:3]):
                    self.assertAlmostEqual(int(re.search(rf"{key}: (\d+)B", imported)[1]), held * int(level) // 100, delta=1000)
                again = self.run_here("config", "imported.yaml", "--nos", "junos", "--device", "leaf0").stdout
                self.assertIn(f"fill-level {levels};", again)
                exact = self.run_here("diff", "imported.yaml", "leaf0.conf").stdout
                self.assertNotIn("finer", exact)
                # without a word of the chip, levels are compared all the same
                self.file("leaf0.conf", re.sub("##.*", "", out.stdout).encode())
                self.assertIn("0 differences", self.run_here("diff", "pod.yaml", "leaf0.conf").stdout)
        self.file("leaf0.conf", re.sub("##.*", "", out.stdout).replace("[ 55 88 ]", "[ 50 88 ]").encode())
        self.assertIn("classes.rdma.ecn.min is 30688", self.run_here("diff", "pod.yaml", "leaf0.conf", status=1).stdout)

    def test_a_broken_line_is_named(self):
        for nos, device, pattern, instead, key, rule in BREAKS:
            with self.subTest(f"{nos}: {instead}"):
                files = self.written(nos)
                path = next(name for name in files if pathlib.Path(name).stem == device)
                text, line = broken((pathlib.Path(self.folder) / path).read_text(), pattern, instead)
                self.file(path, text.encode())
                if key:
                    drifts = json.loads(self.run_here("diff", "pod.yaml", *files, "--json", status=1).stdout)["drifts"]
                    self.assertIn((key, path, line), [(drift["key"], drift["running"]["file"], drift["running"]["line"])
                                                      for drift in drifts])
                if rule:
                    rule, _, part = rule.partition(" ")
                    if part:
                        line = next(n for n, other in enumerate(text.splitlines(), 1) if part in other)
                    found = [(item["rule"], item["file"], item["line"]) for item in self.findings(*files)]
                    self.assertIn((rule, path, line), found)

    def test_comments_name_rules_that_exist(self):
        rules = set(re.findall(r"^(?:RULE|NOTE)\((\w+)", (SOURCE / "src/check/rules.def").read_text(), re.M))
        for nos in SYSTEMS:
            for path in self.written(nos):
                named = set()
                for line in (pathlib.Path(self.folder) / path).read_text().splitlines():
                    if re.match(r"\s*(!|#|//)", line):
                        named |= set(re.findall(r"\b[A-Z]{2,4}\d{3}\b", line))
                self.assertGreaterEqual(len(named), 8, path)
                self.assertEqual(named - rules, set(), path)

    def test_commands_that_show_what_is_set(self):
        shows = {"nxos": "show interface priority-flow-control", "eos": "show priority-flow-control status",
                 "sonic": "pfcwd show config", "nvue": "nv show interface swp1 qos pfc", "nvue-set": "nv show",
                 "junos": "show class-of-service shared-buffer", "junos-set": "show interfaces queue", "host": "dcb pfc show dev eth0"}
        for nos, show in shows.items():
            text = (pathlib.Path(self.folder) / self.written(nos)[0]).read_text()
            self.assertIn(show, text)


if __name__ == "__main__":
    unittest.main()
