# SPDX-License-Identifier: Apache-2.0
"""What is installed is in one Debian package each: debian/*.install against the files of an installation."""
import collections
import fnmatch
import os
import pathlib
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD, PREFIX = os.environ["ROCELAB_BUILD"], os.environ["ROCELAB_PREFIX"].lstrip("/")


def patterns():
    """(package, pattern) of each line."""
    for file in sorted((SOURCE / "debian").glob("*.install")):
        for line in file.read_text().splitlines():
            if line and not line.startswith("#"):
                yield file.stem, line.split()[0]


def is_in(path, pattern):
    """A pattern is a file, or a folder with all that is in it; `*` stands for one name."""
    parts, wanted = path.split("/"), pattern.split("/")
    return len(parts) >= len(wanted) and all(map(fnmatch.fnmatchcase, parts, wanted))


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", folder],
                           stdout=subprocess.DEVNULL, check=True)
            root = pathlib.Path(folder) / PREFIX
            cls.installed = ["usr/" + str(path.relative_to(root)) for path in root.rglob("*")
                             if path.is_symlink() or not path.is_dir()]

    def test_each_file_is_in_one_package(self):
        homes = collections.defaultdict(set)
        for package, pattern in patterns():
            for path in self.installed:
                if is_in(path, pattern):
                    homes[path].add(package)
        self.assertGreater(len(self.installed), 200)
        self.assertEqual([(path, homes[path]) for path in self.installed if len(homes[path]) != 1], [])

    def test_each_line_is_of_something(self):
        self.assertEqual([line for line in patterns() if not any(is_in(path, line[1]) for path in self.installed)], [])

    def test_links_lead_to_what_is_installed(self):
        links = [path for path in self.installed if path.endswith(("share/rocelab/docs", "share/doc/rocelab/examples"))]
        self.assertEqual(len(links), 2, links)


if __name__ == "__main__":
    unittest.main()
