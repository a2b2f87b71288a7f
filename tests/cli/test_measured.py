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
    "C11-down": "flap, reset, drain", "C12-ber": "a bad host or cable", "C13-polarised": "throughput sustained", "C15-spray": "a bad host or cable",
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

    def test_versions(self):
        """What each system and a host's programs print of themselves against what is approved."""
        text = SMALL.replace("leaves: 2, spines: 2", "leaves: 4, spines: 2") + """roles:
  leaf: {approved: {nos: [4.31.1F, 4.31.2F], optics: MMA4Z00-NS}}
  spine: {approved: {nos: 23.4R1.10}}
  host: {approved: {firmware: 28.39.1002, driver: 24.10-1.1.4, nccl: 2.21.5}}
"""
        small = self.write("small.yaml", text)
        outputs = {
            "leaf0/show_version.txt": "Arista DCS-7060DX5-64S-F\nHardware version: 11.01\nSoftware image version: 4.31.2F\n",
            "leaf0/optics.txt": "Ethernet0: SFP EEPROM detected\n        Vendor Name: NVIDIA\n        Vendor PN: MMA4Z00-NS\n"
                                "Ethernet4: SFP EEPROM detected\n        Vendor PN: OTHER-1\n",
            "leaf1/show_version.json": '{"modelName": "DCS-7060", "version": "4.30.0F"}',
            "leaf2/show_version.txt": "\nSONiC Software Version: SONiC.202311.1-abc\nSONiC OS Version: 11\nDistribution: Debian 11.8\n",
            "leaf3/show_version.txt": "Software\n  BIOS: version 07.69\n  NXOS: version 10.3(4a) [Maintenance Release]\n",
            "spine0/show_version.txt": "Hostname: spine0\nModel: qfx5240-64od\nJunos: 23.4R1.10\n",
            "spine1/nv_show_system.txt": "                   operational\n-----------------  -----------\nbuild              Cumulus Linux 5.9.1\n"
                                         "product-release    5.9.1\n",
            "h0/ethtool_-i_eth0.txt": "driver: mlx5_core\nversion: 24.10-1.1.4\nfirmware-version: 28.39.1002 (MT_0000000838)\nbus-info: 0000:0c:00.0\n",
            "h0/nccl.txt": "h0:4000:4100 [0] NCCL INFO NCCL version 2.21.5+cuda12.4\n",
            "h1/mlxfwmanager.txt": "Querying Mellanox devices firmware ...\n\nDevice #1:\n----------\n\n  Device Type:      ConnectX7\n"
                                   "  Versions:         Current        Available\n     FW             28.38.1002     N/A\n     PXE            3.7.0201       N/A\n",
            "h1/nccl.txt": "NCCL version 2.20.3+cuda12.4\n",
            "h2/mstflint.txt": "Image type:            FS4\nFW Version:            28.39.1002\nFW Release Date:       8.11.2023\n",
        }
        for name, output in outputs.items():
            self.write("dumps/" + name, output)
        document = self.measured(small, "dumps", "--phase", "1,6", status=1)
        for phase in (1, 6):
            [row] = [row for row in document["rows"] if row["phase"] == phase and row["subject"] == "parts without an approved version"]
            self.assertEqual((row["verdict"], row["value"], row["criterion"]), ("fail", 7, "unapproved"), row)
        found = {}
        for name in ("leaf0", "leaf1", "leaf2", "leaf3", "spine1", "h1"):
            self.write("one.yaml", text)
            for other, output in outputs.items():
                self.write(f"one-{name}/{other}", output if other.startswith(name) else "Software image version: 4.31.2F\n" if other[0] == "l" else
                           "Junos: 23.4R1.10\n" if other[0] == "s" else "FW Version: 28.39.1002\n")
            row = self.row(self.measured("one.yaml", f"one-{name}", "--phase", "1", status=1), "parts without an")
            found[name] = (row["value"], row["why"], row["source"])
        self.assertEqual(found, {
            "leaf0": (1, "leaf0 Ethernet4: optics OTHER-1, approved is MMA4Z00-NS", "leaf0/optics.txt:5"),
            "leaf1": (1, "leaf1: nos 4.30.0F, approved is 4.31.1F", "leaf1/show_version.json:1"),
            "leaf2": (1, "leaf2: nos 202311.1-abc, approved is 4.31.1F", "leaf2/show_version.txt:2"),
            "leaf3": (1, "leaf3: nos 10.3(4a), approved is 4.31.1F", "leaf3/show_version.txt:3"),
            "spine1": (1, "spine1: nos 5.9.1, approved is 23.4R1.10", "spine1/nv_show_system.txt:4"),
            "h1": (2, "h1 #1: firmware 28.38.1002, approved is 28.39.1002; h1: nccl 2.20.3, approved is 2.21.5", "h1/mlxfwmanager.txt:8"),
        })
        self.assertIn("parts whose version no output says", {row["subject"] for row in document["rows"]})

    def test_versions_of_a_run(self):
        """What the file says is installed is what `sim --dump` prints, and is read back."""
        text = SMALL + """roles: {leaf: {approved: {nos: 1.2.3}}, host: {approved: {firmware: 28.1, driver: 24.10, nccl: 2.21.5}}}
devices: {leaf0: {installed: {nos: 1.2.3}}, leaf1: {installed: {nos: 1.2.4}}, h3: {installed: {firmware: 28.2, driver: 24.10, nccl: 2.21.5}}}
jobs: [{allreduce: ring, size: 1MB}]
"""
        small = self.write("small.yaml", text)
        for system in SYSTEMS:
            with self.subTest(system):
                row = self.row(self.measured(small, self.dump(small, system), "--phase", "1", status=1), "parts without an")
                self.assertEqual((row["value"], row["why"]),
                                 (2, "h3 eth0: firmware 28.2, approved is 28.1; leaf1: nos 1.2.4, approved is 1.2.3"))

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
