# SPDX-License-Identifier: Apache-2.0
"""UCX's own performance test on two hosts of a fabric: a main thread, an asynchronous one, wire-up over UD, traffic over
RC.  Each test twice: what it measures and the digest are the same."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROCELAB = os.environ["ROCELAB"]
FABRIC = """rocelab: 1
fabric: ucx
topology: {single: {hosts: 2}}
links: {host: {rate: 400G, cable: 5m}}
"""
TESTS = ("tag_lat", "tag_bw", "tag_sync_lat", "ucp_put_lat", "ucp_put_bw", "ucp_get", "ucp_fadd", "ucp_cswap", "ucp_am_lat",
         "ucp_am_bw", "stream_lat", "stream_bw")
ATOMIC = ("ucp_fadd", "ucp_cswap")


def measure(test):
    """The line of the result, and the digest."""
    command = f"ucx_perftest -t {test} -n 100 -w 10 -s {8 if test in ATOMIC else 4096}"
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        (path / "ucx.yaml").write_text(FABRIC)
        (path / "ucx.up").write_text(f"h0: {command}\nh1 after 1ms: {command} h0\n")
        with open(path / "out", "w") as out, open(path / "err", "w") as err:
            code = subprocess.call([ROCELAB, "up", "ucx.yaml", "--script", "ucx.up", "--name", f"ucx-{os.getpid()}"],
                                   cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err, timeout=600)
        out, err = (path / "out").read_text(), (path / "err").read_text()
    if code != 0:
        raise AssertionError(f"{command}: exit {code}\n{out}\n{err}")
    result = next(line for line in out.splitlines() if line.startswith("h1: Final:"))
    return result, next(line for line in out.splitlines() if "digest " in line)


@unittest.skipIf(shutil.which("ucx_perftest") is None, "ucx_perftest: not installed")
class Ucx(unittest.TestCase):
    def test_the_same_again(self):
        for test in TESTS if os.environ.get("ROCELAB_SOAK") else TESTS[:1]:
            with self.subTest(test=test):
                first = measure(test)
                self.assertEqual(first, measure(test))

    def test_latency_of_a_tagged_message(self):
        """A half of a round trip is what a switch and two cables take, and the declared cost of polls and posts."""
        half = float(measure("tag_lat")[0].split()[3])
        self.assertTrue(0.5 < half < 3, half)


if __name__ == "__main__":
    unittest.main()
