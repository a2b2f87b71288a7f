#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python module with what few machines have: frames of pandas, notebooks that are run, types by mypy; and 5,000 runs.

Needs Debian's python3-pandas, python3-nbconvert, python3-ipykernel and mypy; what is missing is skipped, and the rest of
the module is tested by test_python.py.
"""
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

DEBIAN = "/usr/bin/python3"
if not importlib.util.find_spec("pandas") and os.path.exists(DEBIAN) and not os.path.samefile(sys.executable, DEBIAN):
    os.execv(DEBIAN, [DEBIAN, *sys.argv])  # packages of Debian are for that one alone

SOURCE = pathlib.Path(os.environ["ROCELAB_SOURCE"])
sys.path.insert(0, str(SOURCE / "python"))

import rocelab  # noqa: E402
from rocelab import _pool  # noqa: E402

ENV = {**os.environ, "PYTHONPATH": str(SOURCE / "python")}
SMALL = """rocelab: 1
fabric: small
topology: {leaf-spine: {leaves: 2, spines: 2, hosts: 4}}
links: {host: {rate: 100G, cable: 3m}, fabric: {rate: 100G, cable: 30m}}
jobs:
  - {incast: 6, size: 100KB}
"""


def has(*modules):
    return all(importlib.util.find_spec(module) for module in modules)


@unittest.skipUnless(has("pandas"), "python3-pandas is not installed")
class Frames(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.result = rocelab.run("example:pod64", sample="20us")

    def test_a_frame_is_its_table(self):
        import pandas

        result = self.result
        for table in (result.jobs, result.flows, result.ports, result.ports.over_time, result.nics, result.priorities, result.findings):
            frame = table.frame()
            self.assertEqual((list(frame.columns), len(frame)), (table.columns, len(table)))
            for name in table.columns:
                ours = [None if not isinstance(cell, tuple) and pandas.isna(cell) else cell for cell in frame[name]]
                self.assertEqual(ours, table[name], f"{table.name}.{name}")

    def test_kinds(self):
        frame = self.result.jobs.frame()
        self.assertEqual(str(frame.time_ps.dtype), "int64")
        self.assertEqual(str(frame.sharp_ps.dtype), "Int64")  # of InfiniBand alone: nothing here
        self.assertEqual(str(frame.stuck.dtype), "bool")
        self.assertEqual(str(frame.busbw_GBps.dtype), "float64")
        self.assertAlmostEqual((frame.time_ps / 1e9).max(), max(self.result.jobs["time_ps"]) / 1e9)
        until = rocelab.run(SMALL, until="10us").flows.frame()
        self.assertTrue(until.fct_ps.isna().all())
        self.assertEqual(len(rocelab.run("example:nccl-tests", until="1ns").flows.frame()), 0)

    def test_the_five_lines_of_the_readme(self):
        for page in ("README.md", "docs/python.md"):
            lines = re.search(r"((?:^    .*\n)+)", (SOURCE / page).read_text()[(SOURCE / page).read_text().index("    import rocelab"):], re.M)
            code = "".join(line[4:] + "\n" for line in lines.group(1).splitlines())
            self.assertEqual(len(code.splitlines()), 5)
            done = subprocess.run([sys.executable, "-c", code], env=ENV, capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertRegex(done.stdout, r"100KB +dcqcn/connectx +0\.00\d+ .*\n +hpcc/paper +0\.00\d+ ")

    def test_over_time_as_a_picture(self):
        steps = self.result.ports.over_time.frame()
        queues = steps.pivot(index="time_ps", columns="port", values="queue_bytes").fillna(0)
        self.assertGreater(queues.max().max(), 500_000)


@unittest.skipUnless(has("pandas", "nbconvert", "ipykernel"), "python3-nbconvert or python3-ipykernel is not installed")
class Notebooks(unittest.TestCase):
    def run_notebook(self, path):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--output-dir", folder, path],
                                  env={**ENV, "IPYTHONDIR": folder, "JUPYTER_RUNTIME_DIR": folder}, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            return json.loads((pathlib.Path(folder) / path.name).read_text())["cells"]

    def test_the_example(self):
        cells = self.run_notebook(SOURCE / "examples/library/sweep.ipynb")
        outputs = [output for cell in cells if cell["cell_type"] == "code" for output in cell["outputs"]]
        texts = ["".join(output.get("data", {}).get("text/plain", "")) for output in outputs]
        self.assertTrue(any(re.match(r"<rocelab.Result .*pod64.*: done", text) for text in texts), texts)
        self.assertTrue(any("800KB" in text for text in texts))
        self.assertFalse([output for output in outputs if output["output_type"] in ("stream", "error")])

    def test_progress_and_a_crash_and_the_next_run(self):
        endless = SMALL.replace("100KB", "1000GB")
        cells = [
            f"import os, signal, threading, rocelab\nrun = rocelab.start({endless!r})\n"
            "threading.Timer(1.5, run.cancel).start()\nrun.result(None).state",
            f"run = rocelab.start({endless!r})\nos.kill(run._worker.process.pid, signal.SIGSEGV)\n"
            "try:\n    run.result()\nexcept rocelab.CrashError as error:\n    print(error)",
            f"rocelab.run({SMALL!r}).jobs",
        ]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "cells.ipynb"
            path.write_text(json.dumps({
                "cells": [{"cell_type": "code", "id": f"c{i}", "metadata": {}, "source": cell, "execution_count": None, "outputs": []}
                          for i, cell in enumerate(cells)],
                "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}},
                "nbformat": 4, "nbformat_minor": 5}))
            first, second, third = self.run_notebook(path)
        shown = [output for output in first["outputs"] if output["output_type"] == "display_data"]
        self.assertEqual(len(shown), 1)  # one output, which was written again and again, and is empty in the end
        self.assertEqual("".join(shown[0]["data"]["text/plain"]), "")
        self.assertIn("'cancelled'", str(first["outputs"][-1]))
        self.assertIn("ended by SIGSEGV", str(second["outputs"]))
        self.assertIn("<th>busbw_GBps</th>", "".join(third["outputs"][0]["data"]["text/html"]))


class Types(unittest.TestCase):
    @unittest.skipUnless(has("mypy"), "mypy is not installed")
    def test_mypy(self):
        with tempfile.TemporaryDirectory() as folder:
            user = pathlib.Path(folder) / "user.py"
            user.write_text("import rocelab\nresult: rocelab.Result = rocelab.run('f.yaml', vary={'seed': 7, 'a': '1KB'}, sample='10us')\n"
                            "time: float = result.measures['time'] or 0.0\nfor row in result.jobs:\n    print(row.time_ps, time)\n"
                            "table = rocelab.sweep('f.yaml', {'a.b': ['1KB', 2], 'c': [True]}, seeds=range(3), also=lambda result: {'x': result.digest})\n")
            for what in (SOURCE / "python/rocelab", user):
                done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", folder, what],
                                      env={**ENV, "MYPYPATH": str(SOURCE / "python")}, capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            user.write_text("import rocelab\nrocelab.run('f.yaml', threads='two')\n")
            done = subprocess.run([sys.executable, "-m", "mypy", "--cache-dir", folder, user],
                                  env={**ENV, "MYPYPATH": str(SOURCE / "python")}, capture_output=True, text=True, check=False)
            self.assertIn('incompatible type "str"; expected "int"', done.stdout)


class Thousands(unittest.TestCase):
    def memory(self, process):
        """Now, and at most, in KiB."""
        text = pathlib.Path(f"/proc/{process}/status").read_text()
        return [int(re.search(rf"{name}:\s+(\d+)", text).group(1)) for name in ("VmRSS", "VmHWM")]

    def test_memory_of_5000_runs_is_flat(self):
        seen = []
        took = []
        for number in range(5000):
            begun = time.process_time()
            result = rocelab.run(SMALL, seed=number % 7, vary={"jobs.0.size": f"{1 + number % 50}KB"})
            took.append(time.process_time() - begun)
            self.assertEqual(result.state, "done")
            if number % 500 == 499:
                seen.append((self.memory(os.getpid()), self.memory(_pool._idle[-1].process.pid)))
        print("RSS and its peak every 500 runs (module, worker), KiB:", seen, file=sys.stderr)
        print(f"CPU of the module a run: {1e3 * sorted(took)[2500]:.2f} ms", file=sys.stderr)
        for first, last in zip(seen[1], seen[-1]):
            self.assertLess(last[1] - first[1], 1024)


if __name__ == "__main__":
    unittest.main()
