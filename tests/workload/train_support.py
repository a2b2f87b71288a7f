# SPDX-License-Identifier: Apache-2.0
"""A small fabric with jobs, run by the program named first: what tests of training and traces share."""
import json
import pathlib
import subprocess
import sys
import tempfile

PROGRAM, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])

FABRIC = """rocelab: 1
topology: {{rail: {{hosts: {hosts}, gpus: {gpus}, leaves: {gpus}, spines: 2}}}}
links: {{host: {{rate: 100G, cable: 3m}}, fabric: {{rate: 100G, cable: 10m}}}}
switches: {{model: tomahawk5}}
classes:
  - {{name: rdma, dscp: 26, priority: 3, lossless: true}}
  - {{name: default, priority: 0}}
nics: {{mtu: 4096, congestion: none}}
jobs:
{jobs}
"""


def fabric(jobs, hosts=4, gpus=2):
    lines = "\n".join("  " + line for line in jobs.strip("\n").split("\n"))
    return FABRIC.format(hosts=hosts, gpus=gpus, jobs=lines)


def run(text, *options):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "f.yaml"
        path.write_text(text, encoding="utf-8")
        return subprocess.run([PROGRAM, "sim", *options, str(path)], capture_output=True, text=True, check=False)


def result(text, *options):
    done = run(text, "--json", *options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def training(text, *options):
    return result(text, *options)["training"][0]


def group(job, name):
    return next(g for g in job["groups"] if g["group"] == name)
