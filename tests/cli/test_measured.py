# SPDX-License-Identifier: Apache-2.0
"""rocelab validate --measured: dumps of good and of broken fabrics, perftest, nccl-tests, inputs that are none."""
import json
import os
import unittest
import xml.etree.ElementTree

from support import SOURCE, Case, rocelab

EXAMPLES = SOURCE / "examples"
POD = EXAMPLES / "pod64-accepted.yaml"
GPU = SOURCE / "tests" / "data" / "evidence" / "gpu"
SYSTEMS = ("sonic", "nxos", "eos", "cumulus")
SMALL = """rocelab: 1
fabric: small
topology: {leaf-spine: {leaves: 2, spines: 2, hosts: 2}}
links: {host: {rate: 400G, cable: 3m}, fabric: {rate: 400G, cable: 30m}}
nics: {mtu: 4096}
"""
# The test that finds each case, whatever the switches run.
CAUGHT = {
    "C01-storm": "a bad host or cable", "C02-slow-receiver": "a bad host or cable", "C03-incast": "incast", "C05-ring": "deadlock stress",
    "C06-headroom": "incast", "C07-no-pfc": "incast", "C08-ecn-off": "microbursts", "C09-cnp-lost": "mixed traffic", "C10-half-rate": "inputs pinned",
    "C11-down": "failures that pass", "C12-ber": "a bad host or cable", "C13-polarised": "throughput sustained", "C15-spray": "a bad host or cable",
    "C16-wrong-class": "mixed traffic", "C17-mtu": "inputs pinned", "C18-slow-gpu": "training step",
}
BW = """---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
 Dual-port       : OFF		Device         : mlx5_0
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 1048576    5000             %.2f             %.2f               0.046790
"""


class Measured(Case):
    def measured(self, fabric, folder, *arguments, status=0):
        result = rocelab("validate", str(fabric), "--measured", str(folder), "--json", *arguments, cwd=self.folder)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return json.loads(result.stdout)

    def dump(self, path, system):
        options = [line.split()[2:] for line in path.read_text().splitlines() if line.startswith("# Options:")]
        folder = self.folder / f"{path.stem}-{system}"
        rocelab("sim", "--quiet", *sum(options, []), "--dump", str(folder), "--as", system, str(path))
        return folder

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def row(self, document, subject, test=None):
        found = [row for row in document["rows"] if subject in row["subject"] and test in (None, row["test"])]
        self.assertEqual(len(found), 1, [row["subject"] for row in document["rows"]])
        return found[0]

    def failed(self, document):
        return {row["test"] for row in document["rows"] if row["verdict"] == "fail"}

    def test_a_good_pod(self):
        for system in SYSTEMS:
            with self.subTest(system):
                folder = self.dump(POD, system)
                document = self.measured(POD, folder)
                self.assertEqual((document["measured"], document["accepted"], document["verdicts"]["warn"]), (str(folder), True, 0))
                self.assertGreater(document["verdicts"]["pass"], 15)
                busbw = self.row(document, "allreduce of 256MB over 64 GPUs")
                self.assertEqual((busbw["criterion"], busbw["verdict"]), ("busbw", "pass"))
                path, line = busbw["source"].rsplit(":", 1)
                self.assertIn("256000000", (folder / path).read_text().splitlines()[int(line) - 1])
                for row in document["rows"]:
                    if row["verdict"] == "skipped":
                        self.assertTrue(row["why"], row)

    def test_cases(self):
        """Each labelled case fails the row that is about its cause, with a file and a line; healthy ones fail none but owners."""
        for number, path in enumerate(sorted((EXAMPLES / "cases").glob("*.yaml"))):
            if path.stem not in CAUGHT and path.stem[0] != "H" and path.stem != "C19-healthy":
                continue
            system = SYSTEMS[number % len(SYSTEMS)] if path.stem not in ("C05-ring",) else "sonic"
            with self.subTest(path.stem, system=system):
                document = self.measured(path, self.dump(path, system), status=1)
                if path.stem in CAUGHT:
                    wrong = [row for row in document["rows"] if row["verdict"] == "fail" and row["test"] == CAUGHT[path.stem]]
                    self.assertTrue(wrong, self.failed(document))
                    self.assertIn("diagnosis", self.failed(document))
                    self.assertTrue(any(row["source"] and os.path.exists(os.path.join(document["measured"], row["source"].rsplit(":", 1)[0]))
                                        for row in wrong), wrong)
                else:
                    self.assertLessEqual(self.failed(document), {"ownership", "inputs pinned"})
                    self.assertEqual(self.row(document, "cables and ports")["verdict"], "pass")

    def test_idle(self):
        path = EXAMPLES / "cases" / "H03-idle.yaml"
        row = self.row(self.measured(path, self.dump(path, "sonic"), status=1), "without load")
        self.assertEqual((row["verdict"], row["value"]), ("pass", 0))

    def test_perftest(self):
        """Real and slow outputs in hosts' folders; three runs that differ."""
        small = self.write("small.yaml", SMALL)
        self.write("runs/h0/bw.txt", (GPU / "perftest-bw.txt").read_text())
        self.write("runs/h1/lat.txt", "   RDMA_Write Latency Test\n" + (GPU / "perftest-lat.txt").read_text())
        document = self.measured(small, "runs", "--phase", "2")
        row = self.row(document, "ib_write_bw of 1.049MB")
        self.assertEqual((row["verdict"], row["value"], row["source"]), ("pass", 392.5e9, "h0/bw.txt:9"))
        self.assertRegex(row["formula"], r">= 95% x payload rate of the way, 39\d.*G of a line of 400G = ")
        self.assertIn("1.1us (h1/lat.txt:3)", self.row(document, "ib_write_lat")["why"])
        for number, rate in enumerate((390, 300, 391)):
            self.write(f"runs/h2/bw{number}.txt", BW % (rate, rate))
        document = self.measured(small, "runs", "--phase", "1,2", status=1)
        self.assertEqual(self.failed(document), {"reproducible", "point to point"})
        self.assertIn("the slowest of 4 outputs", self.row(document, "ib_write_bw of", "point to point")["subject"])
        self.assertEqual(self.row(document, "ib_write_bw of", "point to point")["source"], "h2/bw1.txt:6")

    def test_nccl_tests(self):
        small = self.write("small.yaml", SMALL)
        text = (GPU / "nccl-tests.txt").read_text().replace("gpu0", "h0").replace("gpu1", "h1")
        self.write("runs/all.txt", text.replace("34.36", "47.10"))
        self.write("runs/shuffle.txt", text.replace("all_reduce_perf", "alltoall_perf"))
        self.write("runs/unknown.txt", text.replace("all_reduce_perf", "own_perf"))
        document = self.measured(small, "runs", "--phase", "4", status=1)
        good, bad = self.row(document, "allreduce of 8.59GB over 2 GPUs"), self.row(document, "alltoall of 8.59GB")
        self.assertEqual((good["verdict"], good["value"], good["source"]), ("pass", 376.8e9, "all.txt:14"))
        self.assertEqual((bad["verdict"], bad["source"]), ("fail", "shuffle.txt:14"))
        self.assertIn("all_reduce_perf.txt", self.row(document, "other outputs")["why"])
        self.assertIn("no output of nccl-tests", self.row(document, "allgather")["why"])

    def test_forms(self):
        small = self.write("small.yaml", SMALL)
        self.write("runs/h0/bw.txt", BW % (200, 200))
        page = self.folder / "page.html"
        result = rocelab("validate", str(small), "--measured", "runs", "--junit", "--html", str(page), cwd=self.folder)
        self.assertEqual(result.returncode, 1)
        tests = xml.etree.ElementTree.fromstring(result.stdout).iter("testcase")
        [wrong] = [test for test in tests if test.find("failure") is not None and "point to point" in test.get("name")]
        self.assertIn("h0/bw.txt:6", wrong.find("failure").get("message"))
        self.assertIn("</html>", page.read_text(encoding="utf-8"))
        text = rocelab("validate", str(small), "--measured", "runs", cwd=self.folder).stdout
        self.assertIn("h0/bw.txt:6", text)
        self.assertIn("not accepted (measured, runs)", text)

    def test_no_input(self):
        small = self.write("small.yaml", SMALL)
        (self.folder / "empty").mkdir()
        self.write("unknown/h0/notes.txt", "nothing that a command prints\n")
        self.write("other/h99/bw.txt", BW % (390, 390))
        self.write("other/h99/ethtool_-S_eth0.txt", "NIC statistics:\n     rx_packets: 3\n")
        for folder, words in (("none", "No such file"), ("empty", "no dumps in it"), ("unknown", "no output in it is known"),
                              ("other", "another fabric"), ("small.yaml", "no output in it is known")):
            with self.subTest(folder):
                result = rocelab("validate", str(small), "--measured", folder, cwd=self.folder)
                self.assertEqual((result.returncode, result.stdout), (2, ""), result.stderr)
                self.assertIn(f"--measured '{folder}'", result.stderr)
                self.assertIn(words, result.stderr)
        for more in (["--quick"], ["--full"], ["--seed", "1"], ["--soak", "1s"], ["--weeks", "2"], ["--live"]):
            result = rocelab("validate", str(small), "--measured", "empty", *more, cwd=self.folder)
            self.assertEqual(result.returncode, 2)
            self.assertIn("runs nothing", result.stderr)


if __name__ == "__main__":
    unittest.main()
