#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The programs of examples/library, compiled and run as docs/library.md says, against `rocelab` itself; and what the library shows."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["ROCELAB_SOURCE"])
LIBRARY = pathlib.Path(os.environ["ROCELAB_LIBRARY"])
EXAMPLES = SOURCE / "examples/library"
FABRIC = """rocelab: 1
fabric: small
topology: {leaf-spine: {leaves: 2, spines: 1, hosts: 8}}
links: {host: {rate: 100G, cable: 3m}, fabric: {rate: 400G, cable: 30m}}
classes:
  - {name: rdma, dscp: 26, priority: 3, lossless: true, ecn: {min: 100KB, max: 1500KB, probability: 10%}}
jobs:
  - {incast: 12, size: 1MB}
"""


def said(*command):
    env = {**os.environ, "PYTHONPATH": str(SOURCE / "python")}
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, env=env)
    return done.returncode, done.stdout, done.stderr


class Examples(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.fabric = pathlib.Path(self.folder.name) / "small.yaml"
        self.fabric.write_text(FABRIC)

    def tearDown(self):
        self.folder.cleanup()

    def test_python(self):
        code, out, error = said(sys.executable, EXAMPLES / "sweep.py", self.fabric)
        self.assertEqual(code, 0, error)
        ours = dict(re.findall(r"^ *(\d+KB) .* digest (\w{16})$", out, re.M))
        self.assertEqual(list(ours), ["100KB", "200KB", "400KB", "800KB"])
        self.fabric.write_text(FABRIC.replace("min: 100KB", "min: 400KB") + "seed: 7\n")
        code, out, error = said(os.environ["ROCELAB"], "sim", "--json", self.fabric)
        self.assertEqual(code, 0, error)
        self.assertEqual(ours["400KB"], json.loads(out)["digest"])
        self.assertNotEqual(ours["400KB"], ours["100KB"])

    def test_python_of_a_broken_file(self):
        self.fabric.write_text(FABRIC.replace("incast", "incats"))
        code, _, error = said(sys.executable, EXAMPLES / "sweep.py", self.fabric)
        self.assertEqual(code, 1)
        self.assertRegex(error, r"small\.yaml:8:6: ")

    def test_c(self):
        program = pathlib.Path(self.folder.name) / "queue"
        code, _, error = said(*os.environ["CC"].split(), "-Wall", "-Wextra", "-Werror", "-std=c99", EXAMPLES / "queue.c", "-o", program,
                              f"-I{SOURCE}/include", f"-L{LIBRARY.parent}", "-lrocelab", f"-Wl,-rpath,{LIBRARY.parent}")
        self.assertEqual(code, 0, error)
        code, out, error = said(program, self.fabric, "leaf1:1")
        self.assertEqual((code, error), (0, ""))
        queues = [int(queue) for queue in re.findall(r"queue +(\d+) B", out)]
        self.assertGreater(max(queues), 100_000)
        self.assertRegex(out, r"\njobs took \d+\.\d{3} ms, p99 slowdown \d+\.\d, digest \w{16}\n$")
        code, _, error = said(program, self.fabric, "leaf0:77")
        self.assertEqual((code, error), (2, "leaf0:77: no such port\n"))
        code, _, error = said(program, self.folder.name + "/none.yaml", "leaf0:0")
        self.assertEqual(code, 2)
        self.assertIn("none.yaml", error)

    def test_shows_its_header_and_nothing_else(self):
        code, out, error = said("nm", "-D", "--defined-only", LIBRARY)
        self.assertEqual(code, 0, error)
        shown = set(re.findall(r" [A-Z] (rocelab_\w+)@@ROCELAB_0\.\d+$", out, re.M))
        header = (SOURCE / "include/rocelab/rocelab.h").read_text()
        declared = set(re.findall(r"^[\w ].*?\b(rocelab_\w+)\(", header, re.M))
        self.assertEqual(shown, declared)
        self.assertGreater(len(shown), 10)
        others = [line for line in out.splitlines() if "rocelab_" not in line and " A ROCELAB_0." not in line]
        self.assertEqual(others, [])


if __name__ == "__main__":
    unittest.main()
