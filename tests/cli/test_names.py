# SPDX-License-Identifier: Apache-2.0
"""Names of a fabric file are texts wherever they end up: in what devices, shells and other readers execute, none is more.

A fabric that has every key of the reader that takes a text is written out twice, with harmless and with hostile names;
what comes out has the same lines, and differs within quotes and comments alone."""
import csv
import html
import io
import json
import os
import re
import subprocess
import unittest

from support import SAMPLED, SOURCE, Case, rocelab

HOSTILE = "$(:>p)`:>p`';:>p;\"#!|&<b>\\"
HARMLESS = "x" * len(HOSTILE)
LONG = 5000
CONTROLS = "\n\r\t\x1b\x07\x7f\x85\x9b\u2028\u2029"
FABRIC = {
    "rocelab": 1,
    "fabric": "lab",
    "topology": {"links": {"hosts": ["h0", "h1", "h2"], "leaves": ["leaf0"],
                           "links": [{"a": f"h{host}", "b": f"leaf0:{host}"} for host in range(3)]}},
    "links": {"host": {"rate": "100G", "cable": "3m"}},
    "switches": {"model": "tomahawk3", "nos": "nxos"},
    "classes": [{"name": "rdma", "dscp": 26, "priority": 3, "lossless": True, "share": "90%",
                 "ecn": {"min": "40KB", "max": "60KB", "probability": "1%"}},
                {"name": "cnp", "dscp": 48, "priority": 6, "strict": True}, {"name": "rest", "priority": 0, "share": "10%"}],
    "nics": {"congestion": {"use": "dcqcn/connectx", "rpg_ai_rate": "10M"}, "nccl": {"NCCL_ALGO": "tree"}, "cable-length": "3m"},
    "devices": {"leaf0": {"installed": {"nos": "v1"}, "ports": {"0": {"name": "Eth1/1"}}}},
    "roles": {"leaf": {"approved": {"nos": ["v2", "v3"], "optics": "sr8"}}},
    "owners": {"ecn": "switches-team"},
    "teams": {"switches-team": ["ann"]},
    "check": {"ignore": [{"rule": "HR002", "device": "leaf0", "port": "0", "reason": "known"}]},
    "jobs": [{"name": "first", "incast": 2, "size": "1MB", "to": "h0", "class": "rdma"},
             {"name": "second", "flows": {"file": "flows.txt"}, "after": "first"}],
    "faults": [{"down": "leaf0:2", "at": "1ms", "for": "1ms"}],
}
FLOWS = b"h0 h1 4KB\n"
SURELY_FREE = {"lab", "rdma", "tree", "first", "flows.txt", "switches-team", "ann", "v1", "known"}


def strings(part):
    """All of a file, keys too."""
    if isinstance(part, dict):
        return {text for key, value in part.items() for text in strings(key) | strings(value)}
    if isinstance(part, list):
        return {text for value in part for text in strings(value)}
    return {part} if isinstance(part, str) else set()


def named(part, names):
    """The file with other names."""
    if isinstance(part, dict):
        return {names.get(key, key): named(value, names) for key, value in part.items()}
    if isinstance(part, list):
        return [named(value, names) for value in part]
    return names.get(part, part) if isinstance(part, str) else part


def quoted(text):
    """How a text stands in one of the forms that are read as a text and nothing else."""
    row = io.StringIO()
    csv.writer(row, lineterminator="").writerow([text])
    return {json.dumps(text, ensure_ascii=False), row.getvalue(),
            html.escape(text, quote=False).replace('"', "&quot;"), "'" + text.replace("'", "'\\''") + "'", re.sub(r"[^\w.-]", "-", text), re.sub(r"\W", "_", text)}


class Names(Case):
    def write(self, names, name="fabric.yaml"):
        file = names.get("flows.txt", "flows.txt")
        if "/" not in file and not set(file) & set(CONTROLS) and len(file) < 200:
            (self.folder / file).write_bytes(FLOWS)
        return self.file(name, json.dumps(named(FABRIC, names)).replace("\x7f", "\\u007f").encode())

    def check(self, names):
        self.write(names)
        result = rocelab("check", "fabric.yaml", cwd=self.folder)
        self.assertFalse(set(result.stdout + result.stderr) & set(CONTROLS) - set("\n"), names)
        return result

    def free(self):
        """Those names that may be anything; ports have those of interfaces, which is for the writers to say."""
        return sorted(text for text in strings(FABRIC) if self.check({text: "n" + HOSTILE}).returncode != 2 and
                      rocelab("config", "fabric.yaml", "--nos", "nxos", "--device", "leaf0", cwd=self.folder).returncode == 0)

    def test_every_key_that_takes_a_text_is_here(self):
        field = re.compile(r'\b(?:F_VALUE|RAW|SW|NIC|JOB|SHAPE)\(\s*"([a-z-]+)",\s*FIELD_TEXT')
        keys = {key for room in ("fabric", "jobs", "load") for path in (SOURCE / "src" / room).rglob("*.c")
                for key in field.findall(path.read_text(encoding="utf-8"))}
        self.assertGreater(len(keys), 5)
        self.assertEqual(set(), keys - strings(FABRIC))

    def test_no_text_has_a_control_character(self):
        for i, text in list(enumerate(sorted(strings(FABRIC))))[::4 if SAMPLED else 1]:
            control = CONTROLS[i % len(CONTROLS)]
            result = self.check({text: text + control + "x"})
            self.assertEqual(result.returncode, 2, text)
            self.assertRegex(result.stderr, rf"(?m)^fabric.yaml:1:\d+: error: .*control character \(U\+{ord(control):04X}", text)
        self.write({})
        varied = rocelab("sweep", "fabric.yaml", "--vary", 'fabric="a\\nb"', cwd=self.folder)
        self.assertIn("a control character (U+000A", varied.stdout + varied.stderr)

    def outputs(self, names, folder):
        """What is written of the fabric, by name: (the system, its text)."""
        self.write(names)
        found = {}
        for system in ("nxos", "eos", "sonic", "nvue", "nvue-set", "junos", "junos-set", "host"):
            out = rocelab("config", "fabric.yaml", "--nos", system, "--comments", "--device", "h0" if system == "host" else "leaf0",
                          cwd=self.folder)
            self.assertEqual(out.returncode, 0, out.stderr)
            found[system] = (system, out.stdout)
        for what in (("--cabling", "csv"), ("--cabling", "table"), ("--bom",), ("--svg",)):
            out = rocelab("config", "fabric.yaml", *what, cwd=self.folder)
            self.assertEqual(out.returncode, 0, out.stderr)
            found[" ".join(what)] = ("", out.stdout)
        for system in ("nxos", "host"):
            out = rocelab("tune", "fabric.yaml", "--for", "time", "--vary", "dcqcn", "--runs", "12", "--nos", system,
                          "--out", f"{folder}-{system}", cwd=self.folder)
            self.assertEqual(out.returncode, 0, out.stderr)
            for path in sorted((self.folder / f"{folder}-{system}").rglob("*")):
                if path.is_file() and path.parent.name in ("present", "tuned"):
                    found[f"tune {system} {path.parent.name}/{path.name}"] = ("host" if path.suffix == ".sh" else system, path.read_text(encoding="utf-8"))
        return found

    def same_lines(self, what, system, hostile, harmless, names):
        comment = {"nxos": "!", "eos": "!", "sonic": "//", "nvue": "#", "nvue-set": "#", "junos": "##", "junos-set": "##", "host": "#"}
        self.assertEqual(hostile.count("\n"), harmless.count("\n"), what)
        for ours, theirs in zip(hostile.splitlines(), harmless.splitlines()):
            if ours == theirs:
                continue
            inside = bool(system) and theirs.lstrip().startswith(comment[system])
            forms = names if inside else {form for name in names for form in quoted(name)}
            place = r"(n\d\dx+)" if inside else r"""('n\d\dx+'|"n\d\dx+"|n\d\dx+)"""
            shape = "".join("(?:" + "|".join(map(re.escape, forms)) + ")" if i % 2 else re.escape(part)
                            for i, part in enumerate(re.split(place, theirs)))
            self.assertIsNotNone(re.fullmatch(shape, ours), f"{what}: '{ours}' is not '{theirs}'")

    def run_script(self, text):
        """With tools that do nothing, and no sysfs: what it makes is what its names made."""
        tools, here = self.folder / "bin", self.folder / "here"
        tools.mkdir(exist_ok=True)
        here.mkdir(exist_ok=True)
        for tool in ("mlnx_qos", "dcb", "cma_roce_tos", "mlxconfig", "ip", "cat", "show_gids", "ethtool", "mlxfwreset"):
            (tools / tool).write_text("#!/bin/sh\n")
            (tools / tool).chmod(0o755)
        script = here / "host.sh"
        script.write_text(text.replace("/sys/", f"{self.folder}/sys/"), encoding="utf-8")
        self.assertEqual(subprocess.run(["/bin/sh", "-n", script], check=False).returncode, 0)
        for argument in ("set", "verify", "nccl"):
            subprocess.run(["/bin/sh", script, argument], cwd=here, env={"PATH": str(tools)}, check=False, capture_output=True)
        self.assertEqual(os.listdir(here), ["host.sh"])

    def test_a_name_is_no_line_and_no_command(self):
        free = sorted(SURELY_FREE) if SAMPLED else self.free()
        self.assertLessEqual(SURELY_FREE, set(free))
        hostile, harmless = ({text: f"n{i:02}" + tail for i, text in enumerate(free)} for tail in (HOSTILE, HARMLESS))
        ours, theirs = self.outputs(hostile, "hostile"), self.outputs(harmless, "harmless")
        self.assertEqual(list(ours), list(theirs))
        for what, (system, text) in ours.items():
            self.assertFalse(set(text) & set(CONTROLS) - set("\n"), what)
            self.same_lines(what, system, text, theirs[what][1], hostile.values())
            if system == "host":
                self.run_script(text)

    def test_what_is_imported_is_a_fabric_file(self):
        """Other programs' names may have what a fabric file's may not."""
        for control in CONTROLS:
            text = "a" + control + "[1m\u00fc\"b"
            ports = {"Ethernet0" + text: {"lanes": "1", "speed": "100000", "alias": text, "description": text}}
            row = {"hostname": text, "platform": text, "hwsku": text}
            self.file("config_db.json", json.dumps({"DEVICE_METADATA": {"localhost": row}, "PORT": ports,
                                                    "SCHEDULER": {text: {"type": "DWRR", "weight": "10"}}}).encode())
            read = rocelab("import", "config_db.json", cwd=self.folder)
            self.assertFalse(set(read.stdout + read.stderr) & set(CONTROLS) - set("\n"))
            self.file("imported.yaml", read.stdout.encode())
            for again in ("imported.yaml", "config_db.json"):
                result = rocelab("check", again, cwd=self.folder)
                self.assertNotIn("control character", result.stdout + result.stderr)
                self.assertFalse(set(result.stdout + result.stderr) & set(CONTROLS) - set("\n"))
            self.assertIn('?[1m\u00fc\\"b', read.stdout)

    def test_a_long_name_is_cut_or_whole(self):
        for tail in ("x" * LONG, "\u00fc" * LONG):
            for system, device in (("nxos", "leaf0"), ("host", "h0")):
                self.write({"lab": "n" + tail})
                out = rocelab("config", "fabric.yaml", "--nos", system, "--device", device, cwd=self.folder)
                self.assertEqual(out.returncode, 0, out.stderr)
                self.assertLess(max(map(len, out.stdout.splitlines())), 1100)


if __name__ == "__main__":
    unittest.main()
