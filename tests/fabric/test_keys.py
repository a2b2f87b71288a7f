# SPDX-License-Identifier: Apache-2.0
"""Every key the loader reads is on the page, and every file written out on the page is shown as it is read.

    test_keys.py SOURCE_FOLDER PAGE"""
import pathlib
import re
import sys
import unittest

SOURCE, PAGE = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
ROOMS = ("fabric", "jobs", "load")
FIELD = re.compile(r'\b(?:F_VALUE|F_CALL|F_CHOICE|F_IGNORE|RAW|SW|NIC|JOB|SHAPE)\(\s*"([a-z][a-z0-9-]*)"')


def keys():
    return {key for room in ROOMS for path in (SOURCE / room).rglob("*.c") for key in FIELD.findall(path.read_text(encoding="utf-8"))}


class Keys(unittest.TestCase):
    def test_every_key_is_on_the_page(self):
        words = set(re.findall(r"[a-z0-9]+(?:-[a-z0-9]+)*", PAGE.read_text(encoding="utf-8")))
        self.assertGreater(len(keys()), 90)
        self.assertEqual(set(), keys() - words)

    def test_every_job_and_fault_is_on_the_page(self):
        text = PAGE.read_text(encoding="utf-8")
        jobs = re.search(r"define FABRIC_JOB_LIST\(X\)(.*?)\nenum", (SOURCE / "fabric/work.h").read_text(encoding="utf-8"), re.S)
        faults = re.search(r"fabric_fault_names\[\w+\] = \{([^}]*)\}", (SOURCE / "fabric/faults.c").read_text(encoding="utf-8"))
        for body in (jobs.group(1), faults.group(1)):
            words = re.findall(r'"([^"]+)"', body)
            self.assertGreater(len(words), 5)
            for word in words:
                self.assertIn(word, text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
