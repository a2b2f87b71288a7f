# SPDX-License-Identifier: Apache-2.0
"""Every key the loader reads is on the page or on one that has a map's, and every job and fault on the page itself.

    test_keys.py SOURCE_FOLDER PAGE"""
import pathlib
import re
import sys
import unittest

SOURCE, PAGE = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
OWN = ("training.md", "system-infiniband.md", "system-uet.md", "system-tcp.md", "load-balancing.md", "internals/switch.md")
ROOMS = ("fabric", "jobs", "load")
FIELD = re.compile(r'\b(?:F_VALUE|F_CALL|F_CHOICE|F_IGNORE|RAW|SW|NIC|JOB|SHAPE)\(\s*"([a-z][a-z0-9-]*)"')


def keys():
    return {key for room in ROOMS for path in (SOURCE / room).rglob("*.c") for key in FIELD.findall(path.read_text(encoding="utf-8"))}


class Keys(unittest.TestCase):
    def test_every_key_is_on_a_page(self):
        """As code: in backquotes or in a block.  Some maps have a page of their own."""
        words = set()
        for page in [PAGE, *(PAGE.parent / name for name in OWN)]:
            if page != PAGE:
                self.assertIn(f"]({page.relative_to(PAGE.parent)}", PAGE.read_text(encoding="utf-8"))
            for code in re.findall(r"`[^`]+`|^ {4,}.*", page.read_text(encoding="utf-8"), re.M):
                words |= set(re.findall(r"[a-z0-9]+(?:-[a-z0-9]+)*", code))
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
