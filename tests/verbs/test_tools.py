# SPDX-License-Identifier: Apache-2.0
"""Programs under the tools that people debug with: sanitizers, valgrind.  Each is skipped where the tool is not there."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from support import LIMIT, need, run

SOURCE = os.environ["ROCELAB_SELF_SEND"]
BUG = "int main(void) { volatile char *p = __builtin_malloc(8); p[8] = 1; return 0; }\n"


class Tools(unittest.TestCase):
    def setUp(self):
        need()
        if os.environ.get("ROCELAB_SANITIZED"):
            self.skipTest("the library itself has a sanitizer")
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def build(self, compiler, *flags, source=SOURCE, name="program"):
        need(compiler)
        path = str(pathlib.Path(self.folder) / name)
        result = subprocess.run([compiler, "-g", "-O1", *flags, str(source), "-o", path, "-libverbs"],
                                capture_output=True, text=True, timeout=LIMIT, check=False)
        if result.returncode != 0:
            self.skipTest(f"{compiler} {' '.join(flags)} does not build here: {result.stderr[-200:]}")
        return path

    def right(self, *arguments, **more):
        result = run(*arguments, **more)
        self.assertEqual((result.returncode, result.stdout), (0, "20 messages\n"), result.stderr)
        self.assertEqual(result.stderr, "")

    def test_address_sanitizer(self):
        for compiler in ("gcc", "clang"):
            with self.subTest(compiler=compiler):
                self.right(self.build(compiler, "-fsanitize=address"))

    def test_address_sanitizer_still_finds_bugs(self):
        source = pathlib.Path(self.folder) / "bug.c"
        source.write_text(BUG, encoding="ascii")
        result = run(self.build("gcc", "-fsanitize=address", source=source))
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("heap-buffer-overflow", result.stderr)

    def test_address_sanitizer_behind_a_script(self):
        self.right("sh", "-c", self.build("gcc", "-fsanitize=address"))

    def test_thread_sanitizer(self):
        for compiler in ("gcc", "clang"):
            with self.subTest(compiler=compiler):
                program = self.build(compiler, "-fsanitize=thread")
                alone = subprocess.run([program], capture_output=True, text=True, timeout=LIMIT, check=False)
                if "ThreadSanitizer" in alone.stderr:
                    self.skipTest("ThreadSanitizer does not run on this machine")
                self.right(program)

    def test_valgrind(self):
        """Nothing uninitialised reaches the kernel, nothing is lost; on both kinds of wire."""
        need("valgrind")
        program = self.build("gcc")
        for wire in ("auto", "udp"):
            with self.subTest(wire=wire):
                self.right("valgrind", "-q", "--error-exitcode=9", "--leak-check=full", program,
                           options=["--device", "lo", "--wire", wire])


if __name__ == "__main__":
    unittest.main()
