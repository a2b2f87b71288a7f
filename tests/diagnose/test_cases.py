# SPDX-License-Identifier: Apache-2.0
"""The labelled cases: cause, culprit and victims from the simulator's document, which says the same itself; `--bundles`: from the dumps of the four systems.

With `--bundles` as the first argument every case is also dumped as each system prints it and diagnosed from there, with the
fabric file: of the twenty kinds of case at least eighteen have to be right for each system, and what is not is printed."""
import concurrent.futures
import pathlib
import shutil
import sys
import tempfile
import unittest

import judged
from cases import cases

BUNDLES = len(sys.argv) > 1 and sys.argv[1] == "--bundles"
LEAST = 18
# One of each system in every run: what its counters lack most.
QUICK = {"sonic": "C01-storm", "nxos": "C05-ring", "eos": "C03-incast", "cumulus": "C11-down"}
# Of every system without the fabric file: a cable, a setting.
ALONE = ("C12-ber", "C17-mtu")


def kind(case):
    """C01 of C01-storm-watchdog."""
    return case.name.split("-")[0]


class Cases(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="rocelab-cases-")
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.pool = concurrent.futures.ThreadPoolExecutor(2)
        cls.cases = cases()
        cls.documents = dict(zip((case.name for case in cls.cases),
                                 cls.pool.map(lambda case: judged.document_of(case, cls.folder), cls.cases)))

    @classmethod
    def tearDownClass(cls):
        cls.pool.shutdown()
        cls.temporary.cleanup()

    def judge(self, case, path, *more):
        answer = judged.json.loads(judged.run("diagnose", "--json", path, *more))
        return answer, judged.complaints(case, answer, judged.peers_of(self.documents[case.name][1]))

    def judge_bundle(self, case, system):
        end_ps = self.documents[case.name][1]["virtual_ps"]
        path = judged.bundle_of(case, system, end_ps, self.folder)
        return self.judge(case, path, "--fabric", case.path)[1]

    def test_documents(self):
        self.assertGreaterEqual(len({kind(case) for case in self.cases if case.causes}), 19)
        for case, (answer, wrong) in zip(self.cases, self.pool.map(lambda case: self.judge(case, self.documents[case.name][0]), self.cases)):
            with self.subTest(case=case.name):
                self.assertEqual([], wrong)
                self.assertTrue(answer["looked_at"]["exact"])
                self.assertTrue(judged.same_findings(self.documents[case.name][1], answer), "sim says something else")

    def test_a_wrong_answer_is_seen(self):
        case = next(case for case in self.cases if case.name == "C20-two-causes")
        answer, _ = self.judge(case, self.documents[case.name][0])
        peers = judged.peers_of(self.documents[case.name][1])
        first, second = answer["findings"][:2]
        for findings in ([second], [second, first], [dict(first, culprit="leaf3:8"), second], [first, dict(second, victims=["h1:0"])],
                         [first, second, dict(first, rule="D01", severity="critical")], [dict(first, evidence=[]), second]):
            self.assertTrue(judged.complaints(case, dict(answer, findings=findings), peers))

    def test_one_bundle_of_each_system(self):
        chosen = [(case, system) for system, name in QUICK.items() for case in self.cases if case.name == name]
        for (case, system), wrong in zip(chosen, self.pool.map(lambda pair: self.judge_bundle(*pair), chosen)):
            with self.subTest(case=case.name, system=system):
                self.assertEqual([], wrong)

    def test_bundles_without_the_fabric_file(self):
        """Cables are known by LLDP and descriptions alone, and everybody is called as its own system calls it."""
        chosen = [(case, system) for system in judged.SYSTEMS for case in self.cases if case.name in (QUICK[system], *ALONE)]
        self.assertEqual(len(chosen), len(QUICK) * (1 + len(ALONE)))

        def judge(pair):
            case, system = pair
            path = judged.bundle_of(case, system, self.documents[case.name][1]["virtual_ps"], self.folder)
            answer = judged.json.loads(judged.run("diagnose", "--json", path))
            return judged.complaints(case, judged.in_canonical_names(answer, system), judged.peers_of(self.documents[case.name][1]))

        for (case, system), wrong in zip(chosen, self.pool.map(judge, chosen)):
            with self.subTest(case=case.name, system=system):
                self.assertEqual([], wrong)

    def test_counters_that_were_reset_and_a_device_that_lacks(self):
        """C21: somebody cleared the counters of a spine between two looks, and nobody dumped a leaf."""
        case = next(case for case in self.cases if case.name == "C03-incast")
        path = self.folder / "C21"
        shutil.copytree(judged.bundle_of(case, "sonic", self.documents[case.name][1]["virtual_ps"], self.folder), path)
        times = sorted(path.iterdir())
        for time in times:
            shutil.rmtree(time / "leaf2")
        (times[0] / "spine1").rename(path / "was")
        (times[-1] / "spine1").rename(times[0] / "spine1")
        (path / "was").rename(times[-1] / "spine1")
        answer, _ = self.judge(case, path, "--fabric", case.path)
        found = [finding for finding in answer["findings"] if finding["rule"] == "D04"]
        self.assertEqual([finding["culprit"] for finding in found], ["leaf0:0"])
        self.assertFalse([finding for finding in answer["findings"] if finding["severity"] == "critical"])
        for row in (row for finding in answer["findings"] for row in finding["evidence"]):
            self.assertLess(row["value"], 1.000001 if row["unit"] == "share" else 1e9, row)
        remarks = "\n".join(remark["text"] for remark in answer["remarks"])
        self.assertRegex(remarks, r"nothing was read of 1 of 47 devices of the fabric: leaf2")
        self.assertRegex(remarks, r"spine1.*(went down|reset)")

    @unittest.skipUnless(BUNDLES, "--bundles was not asked for")
    def test_every_bundle(self):
        for system in judged.SYSTEMS:
            answers = list(self.pool.map(lambda case, system=system: self.judge_bundle(case, system), self.cases))
            bad = {kind(case) for case, wrong in zip(self.cases, answers) if wrong}
            for case, wrong in zip(self.cases, answers):
                if wrong:
                    print(f"{system} {case.name}: {'; '.join(wrong)}")
            kinds = {kind(case) for case in self.cases if kind(case)[0] == "C"}
            print(f"{system}: {len(kinds - bad)} of {len(kinds)} kinds of case right")
            with self.subTest(system=system):
                self.assertGreaterEqual(len(kinds - bad), LEAST)
                self.assertFalse({name for name in bad if name[0] == "H"}, "a finding in a healthy fabric")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1 + BUNDLES:]])
