# SPDX-License-Identifier: Apache-2.0
"""tests/soak where it does not run to its end: a build that is missing, and the interrupt key.

What it would run is replaced by programs that start one of their own and wait for it."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SOAK = pathlib.Path(os.environ.get("ROCELAB_SOURCE", pathlib.Path(__file__).resolve().parents[2])) / "tests/soak"
CAPTURE = '{"files": [{"packets": 1000000, "connections": [], "connections_evicted": 1, "connections_seen": 1}]}'
STEP = f"""#!/bin/sh
[ "$1" != - ] || exec {sys.executable} "$@"
sleep 600 &
echo $$ $! >"$STARTED/$$.part"
mv "$STARTED/$$.part" "$STARTED/$$"
wait
"""
PATIENCE_S = 60  # the least a busy machine is given; nothing waits for it where all is well


def program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def until(condition):
    end = time.monotonic() + PATIENCE_S
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


class Soak(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        program(self.folder / "build/tests/gen/gen_capture", "#!/bin/sh\n")
        program(self.folder / "build/tests/experiments/dcqcn_senders", "#!/bin/sh\n")
        program(self.folder / "build/rocelab", f"#!/bin/sh\necho '{CAPTURE}'\n")
        program(self.folder / "bin/python3", STEP)
        (self.folder / "started").mkdir()

    def start(self):
        environment = {"PATH": f"{self.folder}/bin:{os.environ['PATH']}", "STARTED": f"{self.folder}/started",
                       "TMPDIR": str(self.folder)}
        return subprocess.Popen(["sh", SOAK, "build", "1"], cwd=self.folder, env=environment, stderr=subprocess.PIPE,
                                stdout=subprocess.DEVNULL, text=True)

    def started(self):
        return [pid for file in (self.folder / "started").glob("[0-9]*[0-9]") for pid in file.read_text().split()]

    def left(self):
        return [pid for pid in self.started() if alive(pid)]

    def test_a_build_that_is_missing(self):
        soak = self.start()
        self.assertEqual(soak.communicate(timeout=PATIENCE_S)[1],
                         "soak: build-gcc/rocelab is missing; `make soak` builds it\n")
        self.assertEqual(soak.returncode, 2)

    def test_a_signal_ends_both_lanes(self):
        program(self.folder / "build-gcc/rocelab", "#!/bin/sh\n")
        for number in (signal.SIGINT, signal.SIGTERM):
            for file in (self.folder / "started").iterdir():
                file.unlink()
            soak = self.start()
            self.assertTrue(until(lambda: len(self.started()) == 4), "two lanes, a step and its child each")
            soak.send_signal(number)
            until(lambda: soak.poll() is not None and not self.left())
            still = self.left()
            for pid in [*still, *([] if soak.poll() is not None else [soak.pid])]:
                os.kill(int(pid), signal.SIGKILL)
            soak.communicate()
            with self.subTest(number):
                self.assertEqual(still, [])
                self.assertEqual(soak.returncode, 128 + number)


if __name__ == "__main__":
    unittest.main()
