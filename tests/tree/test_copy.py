# SPDX-License-Identifier: Apache-2.0
"""The Makefile in a tree that was copied or moved with its build folders: it refuses, and the original's files stay as they
are.  The tree is a small one with this Makefile, whose build takes no compiler."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get("ROCELAB_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
PROJECT = "project('small')\ninstall_data('notes', install_dir: 'share')\n"


def make(tree, *arguments):
    return subprocess.run(["make", "--no-print-directory", "-C", str(tree), *arguments], capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL, env={**{k: v for k, v in os.environ.items() if not k.startswith("MAKE")}, "LC_ALL": "C.UTF-8"})


def files(folder):
    return {path: (path.lstat().st_mtime_ns, path.read_bytes() if path.is_file() else None) for path in folder.rglob("*")}


class Copied(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rocelab-copy-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()
        self.tree, self.copy = self.folder / "bäume" / "one", self.folder / "two"
        self.tree.mkdir(parents=True)
        shutil.copy(SOURCE / "Makefile", self.tree)
        (self.tree / "meson.build").write_text(PROJECT)
        (self.tree / "notes").write_text("notes\n")
        self.made(self.tree, "build")

    def made(self, tree, *arguments):
        done = make(tree, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)

    def refused(self, tree, *arguments, told):
        done = make(tree, *arguments)
        self.assertEqual(done.returncode, 2, (arguments, done.stdout, done.stderr))
        self.assertIn(f"still stand for {told}: \"make clean\"", done.stderr, arguments)

    def test_a_copy(self):
        shutil.copytree(self.tree, self.copy, symlinks=True)
        (self.copy / "meson.build").write_text(PROJECT)  # newer than what was built: meson is to run again
        before = files(self.tree)
        for goal in (), ("install", "PREFIX=/nonexistent"), ("uninstall",), ("demo",), ("test",), ("bench",), ("soak",), ("fuzz",), ("built-gcc",), ("built-tsan",):
            self.refused(self.copy, *goal, told=self.tree / "build")
        for name in ("build-gcc", "build-clang", "build-tsan", "build-arm"):
            (self.copy / "build").rename(self.copy / name)
            self.refused(self.copy, "build", told=self.tree / "build")
            (self.copy / name).rename(self.copy / "build")
        self.assertEqual(files(self.tree), before)
        self.made(self.copy, "clean")
        self.made(self.copy, "install", f"PREFIX={self.folder}/there")
        self.assertTrue((self.folder / "there" / "share" / "notes").exists())
        self.assertEqual(files(self.tree), before)

    def test_a_link_to_the_original_s_folder(self):
        self.copy.mkdir()
        shutil.copy(SOURCE / "Makefile", self.copy)
        (self.copy / "build").symlink_to(self.tree / "build")
        self.refused(self.copy, "build", told=self.tree / "build")
        self.made(self.copy, "clean")
        self.assertTrue((self.tree / "build" / "build.ninja").exists())

    def test_a_moved_tree(self):
        self.tree.rename(self.copy)
        self.refused(self.copy, "build", told=self.tree / "build")

    def test_the_tree_itself(self):
        self.made(self.tree, "build")
        self.copy.symlink_to(self.tree)
        self.made(self.copy, "build")


if __name__ == "__main__":
    unittest.main()
