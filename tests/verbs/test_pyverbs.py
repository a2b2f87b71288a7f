# SPDX-License-Identifier: Apache-2.0
"""rdma-core's own tests (python3-pyverbs), as Debian packs them, on the loopback device: none fails.

They are unpacked into a temporary folder and removed with it; nothing of them is ours to keep.  Those for mlx5 and EFA
adapters skip themselves, and so do those for what docs/verbs.md says is not there."""
import gzip
import importlib.util
import pathlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from support import command, environment, need

PLACES = ("/usr/share/doc/rdma-core/tests", "/usr/share/doc/python3-pyverbs/tests")
PYTHON = "/usr/bin/python3"
PASSES = 86  # what the kernel's Soft-RoCE passes of rdma-core 44's
LIMIT = 300  # seconds: a guard against hanging
# Why a test may skip itself; another reason is a capability lost.
REASONS = (r"non MLX5 device|not an MLX5 device|non EFA device|PCI device must be passed|cuda-python|dmabuf|huge pages"
           r"|No ODP caps|XRCD|QP type 8|Raw Packet QP|Extended CQ is not supported|Converting timestamp"
           r"|Extended QP is not supported|net interface")


def unpack(folder):
    """The tests as files; None where the package is not there."""
    source = next((path for path in map(pathlib.Path, PLACES) if (path / "run_tests.py").exists()), None)
    if source is None:
        return None
    tests = pathlib.Path(folder) / "tests"
    tests.mkdir()
    for path in source.iterdir():
        if path.suffix == ".gz":
            (tests / path.stem).write_bytes(gzip.decompress(path.read_bytes()))
        elif path.is_file():
            shutil.copy(path, tests / path.name)
    return tests


class Pyverbs(unittest.TestCase):
    def test_rdma_cores_own(self):
        need(PYTHON, "ip")
        if importlib.util.find_spec("pyverbs") is None and not list(
                pathlib.Path("/usr/lib/python3/dist-packages").glob("pyverbs/device*.so")):
            self.skipTest("python3-pyverbs is not installed")
        with tempfile.TemporaryDirectory() as folder:
            tests = unpack(folder)
            if tests is None:
                self.skipTest("rdma-core's tests are not in the package's doc folder")
            run = [PYTHON, str(tests / "run_tests.py"), "-v", "--dev", "rocelab0"]
            result = subprocess.run(command(run, ["--device", "lo"]), env=environment(), cwd=folder, timeout=LIMIT,
                                    capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        text = result.stdout + result.stderr
        ran = re.search(r"(?m)^Ran (\d+) tests", text)
        self.assertIsNotNone(ran, text)
        skipped = re.findall(r"(?m)\.\.\. skipped (.*)$", text)
        passed = int(ran[1]) - len(skipped)
        self.assertRegex(text, r"(?m)^OK", "\n".join(re.findall(r"(?ms)^(?:ERROR|FAIL): .*?\n\n", text)) or text)
        self.assertEqual(result.returncode, 0, text)
        self.assertGreaterEqual(passed, PASSES, text)
        self.assertEqual([reason for reason in skipped if not re.search(REASONS, reason)], [])
        print(f"pyverbs: {passed} pass, {len(skipped)} skip themselves")


if __name__ == "__main__":
    if not os.path.isdir("/sys/class/net"):
        print("skipped: no /sys (a bare chroot): the programs of others read it")
        sys.exit(77)
    unittest.main()
