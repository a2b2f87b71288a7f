# SPDX-License-Identifier: Apache-2.0
"""A terminal is shown text: whatever files, devices and programs are called, no verb prints what moves a cursor.

Every verb is run with files whose own names have escape sequences, on dumps, configurations, metrics and captures in
which devices and ports have such names, and with programs that are called so."""
import json
import re
import shutil
import signal
import subprocess
import unittest

from support import CAPTURES, DUMPS, PATIENCE_S, PCAPS, PROGRAM, Case, environment, verbs

BAD = "\x1b]0;x\x07\x9b1m\u2028\x85"
SHOWN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
FABRIC = """rocelab: 1
fabric: lab
topology: {leaf-spine: {leaves: 2, spines: 1, hosts: 2}}
links: {host: {rate: 100G, cable: 3m}, fabric: {rate: 100G, cable: 30m}}
switches: {model: tomahawk3}
classes:
  - {name: rdma, dscp: 26, priority: 3, lossless: true, alpha: 1/32, ecn: {min: 40KB, max: 60KB, probability: 1%}, share: 90%}
  - {name: default, priority: 0, share: 10%}
jobs:
  - {name: burst, incast: 3, size: 300KB, to: h0}
"""


class Terminal(Case):
    def setUp(self):
        super().setUp()
        self.here = self.folder / f"d{BAD}"
        self.here.mkdir()
        (self.here / "runtime").mkdir(mode=0o700)
        self.fabric = self.put("f.yaml", FABRIC)
        self.env = environment(XDG_RUNTIME_DIR=str(self.folder), COLUMNS="100")
        self.covered = set()

    def put(self, name, text):
        path = self.here / f"{BAD}{name}"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def shown(self, *arguments, status=(0, 1, 2, 3), says=None, program=PROGRAM, **how):
        """What a verb prints, which has nothing of BAD in it."""
        self.covered.add(arguments[0])
        done = subprocess.run([program, *map(str, arguments)], cwd=self.here, env=self.env, capture_output=True, check=False,
                              timeout=PATIENCE_S, stdin=subprocess.DEVNULL, **how)
        text = done.stdout.decode("utf-8") + done.stderr.decode("utf-8")
        self.assertIsNone(SHOWN.search(text), f"{arguments}: {ascii(text)}")
        self.assertIn(done.returncode, status, text)
        if says:
            self.assertIn(says, text)
        return text

    def hostile(self, text, quoted=False):
        """Devices and ports of a text called otherwise."""
        bad = json.dumps(BAD)[1:-1] if quoted else BAD
        return text.replace("leaf0", f"leaf0{bad}").replace("Ethernet", f"Ether{bad}")

    def fabrics(self):
        f = self.fabric
        self.shown("check", f, says=":")
        self.shown("sim", f)
        self.shown("sim", f, "--counters", "prometheus")
        self.shown("sim", f, "--seeds", "2")
        self.shown("sim", f, "--each", "link")
        self.shown("sweep", f, "--vary", f"jobs.burst.size=1KB,'{BAD}'")
        self.shown("compare", f)
        self.shown("tune", f, "--for", "time", "--vary", "alpha", "--runs", "12", "--out", f"out{BAD}")
        self.shown("validate", f, "--phase", "2", "--quick")
        self.shown("suggest", "all", f)
        for what in (("--nos", "eos", "--device", "leaf0"), ("--bom",), ("--cabling", "table"), ("--nos", "eos", "--out", f"eos{BAD}")):
            self.shown("config", f, *what, status=(0,))
        wrong = self.put("wrong.yaml", FABRIC.replace("burst", f"bu{BAD}rst").replace("300KB", f"'{BAD}'"))
        for verb in ("check", "sim", "compare", "validate", "config", "up"):
            self.shown(verb, wrong, *(("--nos", "eos") if verb == "config" else ()), status=(2,))
        self.shown("suggest", "all", wrong, status=(2,))

    def configurations(self):
        self.shown("config", self.fabric, "--nos", "eos", "--out", "cfg")
        for path in (self.here / "cfg").iterdir():
            text = self.hostile(path.read_text(encoding="utf-8"))
            (self.here / "cfg" / f"{BAD}{path.name}").write_text(f"{text}\nfoo {BAD} bar\n", encoding="utf-8")
            path.unlink()
        files = sorted((self.here / "cfg").iterdir())
        self.shown("import", *files)
        self.shown("check", *files)
        self.shown("diff", self.fabric, *files)
        self.shown("diff", self.fabric, *files, "--fix")
        self.shown("diff", self.fabric, *files, "--by", BAD)
        sonic = {"DEVICE_METADATA": {"localhost": {"hostname": f"leaf0{BAD}"}},
                 "PORT": {f"Ethernet{BAD}": {"lanes": "1", "speed": "100000", "alias": BAD, "description": BAD, BAD: BAD}}}
        row = self.put("db.json", json.dumps(sonic))
        for verb in ("import", "check", "suggest"):
            self.shown(verb, *(("all",) if verb == "suggest" else ()), row)
        self.shown("import", "--from", BAD, row, status=(2,))

    def evidence(self):
        self.shown("sim", self.fabric, "--dump", "dumps", "--as", "eos", program=DUMPS)
        for path in sorted((self.here / "dumps").rglob("*"), key=lambda path: -len(path.parts)):
            if path.is_file():
                text = path.read_text(encoding="utf-8")
                path.write_text(self.hostile(text, text[:1] == "{"), encoding="utf-8")
            elif path.parent.parent.name == "dumps":
                path.rename(path.with_name(path.name + BAD))
        self.shown("diagnose", "dumps")
        self.shown("diagnose", "dumps", "--walk")
        self.shown("diagnose", "dumps", "--fabric", self.fabric)
        run = json.loads(subprocess.run([PROGRAM, "sim", self.fabric, "--json"], capture_output=True, check=True).stdout)
        self.shown("diagnose", self.put("run.json", self.hostile(json.dumps(run), quoted=True)), says="leaf0?")
        metrics = subprocess.run([PROGRAM, "sim", self.fabric, "--counters", "prometheus"], capture_output=True, check=True).stdout.decode()
        self.shown("diagnose", self.put("m.prom", self.hostile(metrics)))
        self.shown("validate", self.fabric, "--measured", "dumps")
        self.shown("capture", self.put("c.pcap", (PCAPS / CAPTURES[0]).read_bytes()), status=(0, 1))

    def programs(self):
        program = self.here / f"p{BAD}.sh"
        program.write_text("#!/bin/sh\nsleep 1\nexit 3\n")
        program.chmod(0o755)
        link = self.here / f"s{BAD}"
        link.symlink_to(shutil.which("sleep"))
        script = self.put("x.up", f'h0: "{program}" "{BAD}"\nh1: "{link}" 1\n')
        self.shown("up", self.fabric, "--script", script, says="??.sh")
        self.shown("up", self.fabric, "--script", self.put("y.up", f"h0{BAD}: true\n"), status=(2,))
        self.shown("up", self.fabric, "--name", BAD, status=(2,))
        self.shown("up", "--list")
        self.shown("run", "--", f"/nowhere/{BAD}", status=(127,))
        self.shown("run", "--device", BAD, "--", "true", status=(2, 0))
        for verb in ("counters", "serve"):
            self.shown(verb, "--fabric", BAD, status=(2,))
        self.shown("counters", BAD)
        self.shown("fault", BAD, "down", BAD, status=(1, 2))
        self.shown("devices")

    def running(self):
        """A fabric that is up tells of itself, and is told."""
        with subprocess.Popen([PROGRAM, "up", self.fabric, "--clock", "real"], env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as up:
            try:
                while b"is up" not in up.stderr.readline():
                    self.assertIsNone(up.poll())
                self.shown("up", "--list", says="lab")
                self.shown("counters", "--fabric", "lab")
                self.shown("counters", "--fabric", "lab", BAD, status=(1, 2))
                self.shown("fault", "lab", "down", BAD, status=(1, 2))
                self.shown("fault", "lab", "down", "h0:0", "for", f"1ms{BAD}", status=(1, 2))
                self.shown("fault", "lab", "down", "h0:0", "for", "1ms", status=(0,))
            finally:
                up.send_signal(signal.SIGINT)
                told = up.stderr.read().decode()
        self.assertIsNone(SHOWN.search(told), ascii(told))

    def test_files(self):
        """What is run under sanitizers too, which programs of others are not."""
        self.fabrics()
        self.configurations()
        self.evidence()

    def test_every_verb(self):
        self.test_files()
        self.programs()
        self.running()
        self.shown("init", "--yes", "--force", BAD)
        self.assertIsNone(SHOWN.search((self.here / BAD).read_text().replace("\n", "")))
        self.shown("init", "--yes", "--switch", BAD, "x.yaml", status=(2,))
        for verb in ("experiments", "help", "version"):
            self.shown(verb, BAD, status=(0, 2))
        self.shown("experiments", "--list")
        self.shown(BAD, status=(2,))
        self.assertEqual(set(verbs()) | {BAD}, self.covered)


if __name__ == "__main__":
    unittest.main()
