# SPDX-License-Identifier: Apache-2.0
"""tests/cpu and tests/summary.py: what a test took of a processor is counted, children's too, and one that took more than it
may fails the run of all."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TESTS = pathlib.Path(os.environ.get("ROCELAB_SOURCE", pathlib.Path(__file__).resolve().parents[2])) / "tests"
SPIN = "import time\nwhile time.process_time() < 0.2: pass"


def timed(*command):
    return subprocess.run([TESTS / "cpu", *command], capture_output=True, text=True, check=False)


class Summary(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)
        (self.folder / "meson-logs").mkdir()

    def summary(self, *rows, limit=20):
        text = "".join(json.dumps({"name": f"rocelab:some / {name}", "result": result, "stderr": said}) + "\n"
                       for name, result, said in rows)
        (self.folder / "meson-logs" / "testlog-cpu.json").write_text(text)
        return subprocess.run([sys.executable, TESTS / "summary.py", "--limit", str(limit), str(self.folder)],
                              capture_output=True, text=True, check=False)

    def test_what_children_take_is_counted(self):
        done = timed("sh", "-c", f"{sys.executable} -c '{SPIN}'; echo words >&2; exit 3")
        self.assertEqual(done.returncode, 3)
        self.assertTrue(done.stderr.startswith("words\n"), done.stderr)
        said = self.summary(("spins", "OK", done.stderr), limit=0.15)
        self.assertEqual(said.returncode, 1)
        self.assertIn("spins: 0.", said.stderr)
        self.assertIn("a test may take 0.15", said.stderr)
        self.assertEqual(self.summary(("sleeps", "OK", timed("sleep", "0.3").stderr), limit=0.15).returncode, 0)

    def test_counts(self):
        end = "0m0.000000s 0m0.010000s\n1m2.500000s 0m0.500000s\n"
        said = self.summary(("short", "OK", "x\n" + end.replace("1m", "0m")), ("none", "SKIP", ""), ("ended", "FAIL", "words"))
        self.assertEqual((said.returncode, said.stderr), (1, ""))
        self.assertTrue(said.stdout.endswith("1 passed, 1 failed, 1 skipped\n"), said.stdout)
        said = self.summary(("long", "OK", end), ("short", "OK", end.replace("1m", "0m")))
        self.assertEqual(said.returncode, 1)
        self.assertRegex(said.stderr, r"long: 63\.0 s of a processor")
        self.assertNotIn("short: ", said.stderr)
        self.assertTrue(said.stdout.endswith("2 passed, 0 failed, 0 skipped, 1 too long\n"), said.stdout)

    def test_none_was_run(self):
        self.assertEqual(self.summary(("none", "SKIP", "")).returncode, 1)


if __name__ == "__main__":
    unittest.main()
