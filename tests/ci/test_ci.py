#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Templates for CI (action.yml, examples/ci): their own commands, run here.

A stand-in takes the place of the tarball (its `rocelab` starts the one that was built; tests/packages/soak unpacks the
real one), of apt-get and of sudo.  Containers are processes, which share what the templates let containers share.

    test_ci.py     ROCELAB names the program
"""
import fnmatch
import hashlib
import os
import pathlib
import platform
import re
import subprocess
import tarfile
import tempfile
import time
import unittest

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROCELAB = os.environ["ROCELAB"]
CI = ROOT / "examples" / "ci"
VERSION = re.search(r"version: '([^']*)'", (ROOT / "meson.build").read_text())[1]
PATIENCE_S = 120
ROW = re.compile(r"^ *65536 +\d+ +([\d.]+)", re.MULTILINE)


def read(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


class Templates(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.dir = pathlib.Path(held.name)
        self.bin = self.dir / "bin"
        self.bin.mkdir()
        self.program(self.bin / "sudo", 'exec "$@"')
        self.program(self.bin / "apt-get", f'echo "$@" >>"{self.dir}/apt"')
        self.package = self.tarball()
        self.env = dict(os.environ, PATH=f"{self.bin}:{os.environ['PATH']}", TMPDIR=held.name)

    def program(self, path, text):
        path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        path.chmod(0o755)

    def tarball(self):
        name = f"rocelab-{VERSION}-linux-any"
        program = self.dir / "program"
        self.program(program, f'exec "{ROCELAB}" "$@"')
        path = self.dir / f"{name}.tar.gz"
        with tarfile.open(path, "w:gz") as tar:
            tar.add(program, f"{name}/bin/rocelab")
        return path

    def shell(self, text, status=0, **env):
        done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", text], cwd=self.dir, env=self.env | env, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_S)
        self.assertEqual(status, done.returncode, done.stdout + done.stderr)
        return done.stdout + done.stderr


class Action(Templates):
    """A step of the action has an expression of GitHub in its `env` alone: what it runs is shell."""

    def step(self, number, status=0, **given):
        action = read(ROOT / "action.yml")
        step = action["runs"]["steps"][number]
        values = {f"inputs.{name}": of["default"] for name, of in action["inputs"].items()}
        values |= {"github.server_url": f"file://{self.dir}", "github.action_repository": "owner/rocelab",
                   "github.action_path": str(ROOT), "runner.temp": str(self.dir / "temp")}
        values |= {f"inputs.{name}": value for name, value in given.items()}
        (self.dir / "temp").mkdir(exist_ok=True)
        env = {name: re.sub(r"\$\{\{ *([a-z0-9_.]+) *\}\}", lambda key: values[key[1]], text) for name, text in step["env"].items()}
        self.assertNotIn("${{", step["run"])
        self.assertEqual("bash", step["shell"])
        return self.shell(step["run"], status, GITHUB_PATH=str(self.dir / "path"), **env)

    def test_programs_are_installed(self):
        self.step(0)
        self.assertEqual("-qq update\n-qqy --no-install-recommends install ibverbs-utils perftest\n", (self.dir / "apt").read_text())

    def test_a_tarball_is_unpacked_and_found(self):
        for package in (str(self.package), self.package.name, f"file://{self.package}"):
            with self.subTest(package=package):
                self.assertIn(f"rocelab {VERSION}", self.step(1, package=package))
        folder = (self.dir / "path").read_text().split()[0]
        self.shell("rocelab sim --quiet example:incast", PATH=f"{folder}:{self.env['PATH']}")

    def test_the_release_is_that_of_the_action(self):
        machine = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
        release = self.dir / "owner" / "rocelab" / "releases" / "download" / f"v{VERSION}"
        release.mkdir(parents=True)
        self.package.rename(release / f"rocelab-{VERSION}-linux-{machine}.tar.gz")
        self.assertIn(f"rocelab {VERSION}", self.step(1))

    def test_the_sum_is_held_to(self):
        right = hashlib.sha256(self.package.read_bytes()).hexdigest()
        self.step(1, package=str(self.package), sha256=right)
        (self.dir / "path").unlink()
        said = self.step(1, 1, package=str(self.package), sha256="0" * 64)
        self.assertIn("did NOT match", said)
        self.assertFalse((self.dir / "path").exists())

    def test_a_package_that_is_not_there_ends_the_step(self):
        self.step(1, 37, package="none.tar.gz")
        self.assertFalse((self.dir / "path").exists())

    def test_another_processor_is_refused(self):
        self.program(self.bin / "uname", "echo riscv64")
        self.assertIn("no package for riscv64", self.step(1, 1, package=str(self.package)))


class GitLab(Templates):
    def before(self, status=0, then="rocelab sim --quiet example:incast", **variables):
        template = read(CI / "gitlab.yml")[".rocelab"]
        self.assertEqual("debian:12", template["image"])
        return self.shell("\n".join(template["before_script"] + [then]), status, **(template["variables"] | variables))

    def test_a_job_finds_the_program(self):
        right = hashlib.sha256(self.package.read_bytes()).hexdigest()
        self.assertIn(f"rocelab {VERSION}", self.before(ROCELAB_PACKAGE=self.package.name, ROCELAB_SHA256=right))
        self.assertIn(f"rocelab {VERSION}", self.before(ROCELAB_PACKAGE=f"file://{self.package}"))
        self.assertIn("install ca-certificates curl ibverbs-utils perftest", (self.dir / "apt").read_text())

    def test_the_sum_is_held_to(self):
        self.before(1, ROCELAB_PACKAGE=self.package.name, ROCELAB_SHA256="0" * 64)

    def test_no_package_ends_the_job(self):
        self.before(37, ROCELAB_PACKAGE="none.tar.gz")


class Containers(Templates):
    def setUp(self):
        super().setUp()
        (self.bin / "rocelab").symlink_to(ROCELAB)
        self.running = {}

    def start(self, name, command):
        out = open(self.dir / f"{name}.log", "w", encoding="utf-8")
        self.addCleanup(out.close)
        child = subprocess.Popen(command, env=self.env, cwd=self.dir, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
        self.addCleanup(lambda: (child.poll() is None and child.kill(), child.wait()))
        self.running[name] = child

    def text(self, name):
        return (self.dir / f"{name}.log").read_text(encoding="utf-8")

    def ends(self, name):
        self.assertEqual(0, self.running[name].wait(PATIENCE_S), self.text(name))
        return self.text(name)

    def test_the_image_holds_what_its_file_names(self):
        text = (CI / "Containerfile").read_text(encoding="utf-8")
        lines = [line.split(maxsplit=1) for line in text.splitlines() if line and not line.startswith("#")]
        self.assertEqual(["FROM", "ARG", "RUN", "ADD", "RUN", "USER", "CMD"], [word for word, _ in lines])
        glob, where = dict(lines)["ADD"].split()
        made = re.search("^name=(.*)$", (ROOT / "package" / "tarball").read_text(encoding="utf-8"), re.MULTILINE)[1]
        self.assertTrue(fnmatch.fnmatchcase(made + ".tar.gz", glob), made)
        self.assertIn(f"/{made}.tar.gz", read(ROOT / "action.yml")["runs"]["steps"][1]["run"])
        self.assertEqual("/opt/", where)
        self.assertIn("ln -s /opt/rocelab/bin/rocelab /usr/local/bin/rocelab", text)

    def test_two_containers_over_a_fabric(self):
        services = read(CI / "compose.yaml")["services"]
        for name in ("server", "client"):
            shared = {services[name][key] for key in ("network_mode", "pid", "ipc")}
            self.assertEqual({"service:fabric"}, shared)
            self.assertEqual({"fabric": {"condition": "service_healthy"}}, services[name]["depends_on"])
        self.start("fabric", services["fabric"]["command"].split())
        until = time.monotonic() + PATIENCE_S
        while subprocess.run(["sh", "-c", services["fabric"]["healthcheck"]["test"]], env=self.env, capture_output=True).returncode:
            self.assertIsNone(self.running["fabric"].poll(), self.text("fabric"))
            self.assertLess(time.monotonic(), until)
            time.sleep(0.1)
        for name in ("server", "client"):
            self.start(name, services[name]["command"].split())
        seen = {ROW.search(self.ends(name))[1] for name in ("server", "client")}
        self.assertEqual(1, len(seen))
        self.assertGreater(float(seen.pop()), 40000)  # MiB/s, of 400 Gb/s: the fabric's, not this machine's
        self.assertIn("2 programs", self.ends("fabric"))

    def test_pods_have_devices(self):
        service, *pods = yaml.safe_load_all((CI / "kubernetes.yaml").read_text(encoding="utf-8"))
        self.assertEqual(service["spec"]["selector"], pods[0]["metadata"]["labels"])
        commands = {}
        for pod in pods:
            spec = pod["spec"]
            [init], [test] = spec["initContainers"], spec["containers"]
            self.assertEqual(init["volumeMounts"], test["volumeMounts"])
            volume = self.dir / pod["metadata"]["name"]
            (volume / "opt" / "rocelab" / "bin").mkdir(parents=True)
            (volume / "rocelab").mkdir()
            self.program(volume / "opt" / "rocelab" / "bin" / "rocelab", f'exec "{ROCELAB}" "$@"')
            here = [re.sub("^/(?=opt|rocelab)", f"{volume}/", word) for word in init["command"]]
            subprocess.run(here, check=True)
            words = [re.sub("^/(?=rocelab)", f"{volume}/", word) for word in test["command"]]
            commands[pod["metadata"]["name"]] = [{"eth0": "lo", "server": "127.0.0.1"}.get(word, word) for word in words]
        self.assertEqual("OnFailure", pods[1]["spec"]["restartPolicy"])
        self.start("server", commands["server"])
        until = time.monotonic() + PATIENCE_S
        while True:
            self.start("client", commands["client"])
            if self.running["client"].wait(PATIENCE_S) == 0:
                break
            self.assertIsNone(self.running["server"].poll(), self.text("server"))
            self.assertLess(time.monotonic(), until)
        self.assertTrue(ROW.search(self.text("client")))
        self.ends("server")


if __name__ == "__main__":
    unittest.main()
