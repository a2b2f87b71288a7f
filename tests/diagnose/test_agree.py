# SPDX-License-Identifier: Apache-2.0
"""A run's document and its dumps never contradict each other: dumps may only say less.

For each labelled case, each system's dumps of its run are diagnosed, with the fabric file.  Whatever they call a cause the document
has to have found too: the same rule at the same cable or device, or what the document calls the cause of it.  With `--all` as
the first argument every case as every system; else a case a system."""
import concurrent.futures
import json
import os
import pathlib
import sys
import tempfile
import unittest

import judged
from cases import cases

ALL = len(sys.argv) > 1 and sys.argv[1] == "--all"
QUICK = {"sonic": "C16-wrong-class", "nxos": "C10-half-rate", "eos": "C02-slow-receiver", "cumulus": "C20-two-causes"}


class Agree(unittest.TestCase):
    maxDiff = None

    def look(self, case, system, folder):
        path, document = judged.document_of(case, folder)
        said = json.loads(judged.run("diagnose", "--json", path))["findings"]
        dumps = judged.bundle_of(case, system, document["virtual_ps"], folder)
        less = json.loads(judged.run("diagnose", "--json", dumps, "--fabric", case.path))["findings"]
        peers = judged.peers_of(document)
        return [f"{case.name} as {system}: {found['rule']} {found['culprit']}: {found['what']}"
                for found in judged.causes(less) if not judged.agrees(found, said, peers)]

    def test_dumps_say_nothing_else(self):
        chosen = [(case, system) for system in judged.SYSTEMS for case in cases() if ALL or case.name == QUICK[system]]
        self.assertGreaterEqual(len(chosen), len(judged.SYSTEMS))
        with tempfile.TemporaryDirectory(prefix="rocelab-agree-") as folder, \
                concurrent.futures.ThreadPoolExecutor(min(2, os.cpu_count())) as pool:
            made = [pathlib.Path(folder, str(number)) for number in range(len(chosen))]
            for one in made:
                one.mkdir()
            wrong = sum(pool.map(lambda of: self.look(*of[0], of[1]), zip(chosen, made)), [])
        self.assertEqual([], wrong)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1 + ALL:]])
