# SPDX-License-Identifier: Apache-2.0
"""rocelab up: debuggers.  What they run, or are attached to, lives in fabric time, which stands still at each stop."""
import pathlib
import re
import subprocess
import unittest

from test_failures import PATIENCE_S, Failures, needs, until

PROGRAM = """import os, sys, time
begun = time.monotonic()
for _ in range(int(sys.argv[1])):
    time.sleep(0.001)
print('slept', round(time.monotonic() - begun, 5), sorted(name for name in os.environ if name.startswith('ROCELAB_FABRIC')))
"""
GDB = "gdb -nx -batch"


class Debuggers(Failures):
    def run_script(self, text, *options):
        up = self.script(text, *options)
        self.ends(up, 0)
        self.nothing_left()
        return up.text()

    def slept(self, debugger, rounds=100):
        """What the program printed, and how long all took in fabric time."""
        words = " ".join(self.python("slow.py", PROGRAM))
        text = self.run_script(f"h0: {debugger} {words} {rounds}\nh1 after 10ms: sleep 1\n")
        return re.findall("slept.*|^.* of virtual time", text, re.MULTILINE), text

    @needs("gdb")
    def test_a_program_that_gdb_runs_is_as_without(self):
        alone, _ = self.slept("")
        self.assertEqual(2, len(alone))
        for shell in ("on", "off"):
            with self.subTest(shell=shell):
                seen, text = self.slept(f"{GDB} -ex 'set startup-with-shell {shell}' -ex run --args")
                self.assertIn("exited normally", text)
                self.assertEqual(alone[0], seen[0].strip())
                self.assertEqual(alone[1].split(",")[0].split(" of")[0], seen[1].split(" of")[0])

    @needs("gdb")
    def test_a_stop_takes_no_time_of_the_fabric(self):
        alone, _ = self.slept("")
        seen, text = self.slept(f"{GDB} -ex 'set breakpoint pending on' -ex 'tbreak clock_nanosleep' -ex run -ex 'shell sleep 0.2' "
                                "-ex cont --args")
        self.assertRegex(text, "Temporary breakpoint 1.*, clock_nanosleep")
        self.assertEqual(alone[0], seen[0].strip())

    @needs("gdb", "ib_write_lat")
    def test_loops_on_memory_and_the_time_stamp_counter_do_not_stop(self):
        words = "ib_write_lat -n 100"
        text = self.run_script(f"h0: {GDB} -ex run --args {words}\nh1 after 10ms: {words} h0\n")
        self.assertIn("exited normally", text)
        self.assertNotIn("received signal", text)

    @needs("gdb")
    def test_gdb_comes_to_a_program_that_runs(self):
        words = " ".join(self.python("slow.py", PROGRAM)) + " 40000"
        up = self.script(f"h0: {words}\n")
        pid = self.one_of(up, words)
        until(lambda: b"librocelab-fabric" in pathlib.Path(f"/proc/{pid}/maps").read_bytes())
        done = subprocess.run([*GDB.split(), "-p", str(pid), "-ex", "info threads", "-ex", "detach"], capture_output=True,
                              text=True, check=False, env=self.env, stdin=subprocess.DEVNULL, timeout=PATIENCE_S)
        self.assertRegex(done.stdout, r"\[Inferior 1 \(process \d+\) detached\]", done.stderr)
        self.ends(up, 0)
        self.assertIn("slept 40.0", up.text())

    @needs("gdb", "gdbserver")
    def test_gdb_reaches_a_program_through_gdbserver(self):
        alone, _ = self.slept("")
        up = self.by_hand()
        server = self.on("h0", "gdbserver", "--once", "localhost:0", *self.python("slow.py", PROGRAM), "100")
        port = until(lambda: re.search(r"Listening on port (\d+)", server.text()))[1]
        done = subprocess.run([*GDB.split(), "-ex", f"target remote localhost:{port}", "-ex", "cont"], capture_output=True,
                              text=True, check=False, env=self.env, stdin=subprocess.DEVNULL, timeout=PATIENCE_S)
        self.assertIn("exited normally", done.stdout, done.stderr)
        self.ends(server, 0)
        self.assertIn(alone[0].strip().removeprefix("h0: "), server.text())
        self.ends(up)

    @needs("strace")
    def test_strace(self):
        alone, _ = self.slept("")
        seen, text = self.slept("strace -f -e trace=%process")
        self.assertIn("+++ exited with 0 +++", text)
        self.assertEqual(alone[0], seen[0].strip())

    @needs("gdb")
    def test_without_a_program_time_stands_still_and_that_is_said(self):
        text = self.run_script(f"h0: {GDB} -ex 'shell sleep 1.5'\nh1: sleep 2\n", "--turn-limit", "1")
        self.assertRegex(text, r"h0: 'gdb .*' \(pid \d+\) is a debugger without a program: fabric time stands still")
        self.assertIn("2s of virtual time", text)


if __name__ == "__main__":
    unittest.main()
