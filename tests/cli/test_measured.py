# SPDX-License-Identifier: Apache-2.0
"""rocelab validate --measured: dumps of good and of broken fabrics, perftest, nccl-tests, inputs that are none."""
import json
import os
import unittest
import xml.etree.ElementTree

from support import DUMPS, SOURCE, Case, once, rocelab

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
LAT = """                    %s Latency Test
 #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99%% percentile[usec]   99.9%% percentile[usec]
 %d       1000          0.98           6.33         %.2f               9.90              0.08            1.31                    6.33
"""
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
        rocelab("sim", "--quiet", *sum(options, []), "--dump", str(folder), "--as", system, str(path), program=DUMPS)
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

    @once
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

    @once
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
        self.assertEqual(self.row(document, "h1: latency against what light")["verdict"], "pass")
        for number, rate in enumerate((390, 300, 391)):
            self.write(f"runs/h2/bw{number}.txt", BW % (rate, rate))
        document = self.measured(small, "runs", "--phase", "1,2", status=1)
        self.assertEqual(self.failed(document), {"reproducible", "point to point"})
        self.assertIn("the slowest of 4 outputs", self.row(document, "ib_write_bw of", "point to point")["subject"])
        self.assertEqual(self.row(document, "ib_write_bw of", "point to point")["source"], "h2/bw1.txt:6")

    def test_latency(self):
        """Half a round trip, the median, never below light and bits; more is a baseline's to say."""
        small = self.write("small.yaml", SMALL)
        self.write("runs/h0/lat.txt", LAT % ("RDMA_Write", 8, 1.08))
        self.write("runs/h1/lat.txt", LAT % ("RDMA_Write", 8, 1.23))
        self.write("runs/h1/read.txt", LAT % ("RDMA_Read", 8, 2.10))
        self.write("runs/h1/large.txt", LAT % ("Send", 1 << 20, 25.0))
        self.write("runs/h2/unnamed.txt", (LAT % ("", 8, 1.0)).split("\n", 1)[1])
        document = self.measured(small, "runs", "--phase", "2")
        floor = self.row(document, "ib_write_lat of 8B, the worst of 2 hosts, h0: latency against what light")
        self.assertEqual((floor["verdict"], floor["criterion"], floor["value"], floor["source"]), ("pass", "latency-least", 1080000, "h0/lat.txt:3"))
        self.assertRegex(floor["formula"], r">= 1 x light in the host's cable and the message's bits at line rate = 15\.\d+ns")
        slow = self.row(document, "ib_write_lat of 8B, the worst of 2 hosts, h1: latency")
        self.assertEqual((slow["verdict"], slow["value"], slow["source"]), ("skipped", 1230000, "h1/lat.txt:3"))
        self.assertIn("--write-baseline FILE", slow["why"])
        self.assertIn("30", self.row(document, "ib_read_lat of 8B, h1: latency against")["formula"])  # light there and back
        self.assertIn("keep its title", self.row(document, "other outputs of perftest")["why"])
        self.write("runs/h1/large.txt", LAT % ("Send", 1 << 20, 20.0))  # 1 MiB takes 20.97 us at 400G
        wrong = self.row(self.measured(small, "runs", "--phase", "2", status=1), "ib_send_lat of 1.049MB, h1: latency against")
        self.assertEqual((wrong["verdict"], wrong["source"]), ("fail", "h1/large.txt:3"))
        self.assertIn("a lower rate than there is", wrong["why"])

    def test_baseline(self):
        """A good day's perftest is kept by program, host and size; another day is held against it."""
        small = self.write("small.yaml", SMALL)
        for run, typical in enumerate((1.08, 1.02, 9.0)):
            self.write(f"good/h0/lat{run}.txt", LAT % ("RDMA_Write", 8, typical))
        self.write("good/h1/lat.txt", LAT % ("RDMA_Write", 8, 1.20))
        self.write("good/h1/bw.txt", BW % (391, 391))
        self.measured(small, "good", "--phase", "2", "--write-baseline", "good.json", "--by", "cy")
        self.assertEqual(json.loads((self.folder / "good.json").read_text())["measured"], [
            {"program": "ib_write_lat", "host": "h0", "message_bytes": 8, "latency_ns": 1080},
            {"program": "ib_write_bw", "host": "h1", "message_bytes": 1048576, "bits_per_s": 391000000000},
            {"program": "ib_write_lat", "host": "h1", "message_bytes": 8, "latency_ns": 1200}])
        document = self.measured(small, "good", "--phase", "2", "--baseline", "good.json")
        held = [row for row in document["rows"] if "against the baseline" in row["subject"]]
        self.assertEqual([(row["criterion"], row["verdict"]) for row in held], [("live-latency", "pass"), ("live-rate", "pass")])
        self.write("bad/h0/lat.txt", LAT % ("RDMA_Write", 8, 1.18))
        self.write("bad/h1/lat.txt", LAT % ("RDMA_Write", 8, 1.33))
        self.write("bad/h2/lat.txt", LAT % ("RDMA_Write", 8, 1.33))
        self.write("bad/h1/bw.txt", BW % (380, 380))
        document = self.measured(small, "bad", "--phase", "2", "--baseline", "good.json", status=1)
        slow = self.row(document, "ib_write_lat of 8B, the worst of 2 hosts, h1: latency against the baseline")
        self.assertEqual((slow["verdict"], slow["criterion"], slow["source"]), ("fail", "live-latency", "h1/lat.txt:3"))
        self.assertEqual(slow["formula"], "<= 1.1 x the baseline's 1.2us = 1.32us")
        rate = self.row(document, "ib_write_bw of 1.049MB, h1: bandwidth against the baseline")
        self.assertEqual((rate["verdict"], rate["criterion"]), ("pass", "live-rate"))
        self.assertIn("no figure of it on h2", self.row(document, "ib_write_lat of 8B against the baseline")["why"])

    def test_baseline_of_steps(self):
        """Steps and collectives that were measured are kept as phase 4 keeps simulated ones."""
        small = self.write("small.yaml", SMALL)
        metrics = '# TYPE rocelab_training_step_seconds gauge\nrocelab_training_step_seconds{job_name="train",fabric="small"} %s\n'
        self.write("good/h0/metrics.prom", metrics % 0.1)
        text = (GPU / "nccl-tests.txt").read_text().replace("gpu0", "h0").replace("gpu1", "h1").replace("34.36", "47.10")
        self.write("good/all.txt", text)
        self.measured(small, "good", "--phase", "4", "--write-baseline", "good.json", "--by", "cy")
        jobs = {job["job"]: job for job in json.loads((self.folder / "good.json").read_text())["jobs"]}
        self.assertEqual((jobs["train"]["step_ns"], jobs["allreduce"]["busbw_bytes_per_s"]), (100000000, 47100000000))
        self.write("good/h0/metrics.prom", metrics % 0.12)
        document = self.measured(small, "good", "--phase", "4", "--baseline", "good.json", status=1)
        self.assertEqual(self.row(document, "job train: mean step")["verdict"], "fail")

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
        self.assertEqual(self.row(document, "wrong values")["verdict"], "pass")
        self.write("runs/all.txt", text.replace("10.43      0", "10.43     12"))
        wrong = self.row(self.measured(small, "runs", "--phase", "4", status=1), "wrong values")
        self.assertEqual((wrong["verdict"], wrong["value"], wrong["source"]), ("fail", 12, "all.txt:13"))
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
