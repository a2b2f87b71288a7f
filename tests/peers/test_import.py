# SPDX-License-Identifier: Apache-2.0
"""`rocelab import` from outside: what it prints, what it says of wrong input, and that nothing half-done is printed."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import peers

MATRIX = ("Nodes 4\nConnections 3\n1->0 id 1 start 0 size 20000\n2->0 id 2 start 1000000 size 20000\n"
          "3->2 id 3 start 0 size 5000\n")


class Import(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rocelab-import-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.topology = self.file("topology.txt", peers.topology())
        self.flows = self.file("flows.txt", peers.flow_list(2, 5000))

    def file(self, name, text):
        (self.folder / name).write_text(text)
        return name

    def run_it(self, *arguments):
        return subprocess.run([os.environ["ROCELAB"], *arguments], cwd=self.folder, capture_output=True, text=True,
                              check=False)

    def good(self, *arguments):
        result = self.run_it("import", *arguments)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout

    def wrong(self, arguments, *words):
        result = self.run_it("import", *arguments)
        self.assertEqual((result.returncode, result.stdout), (2, ""), result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)

    def simulate(self, text):
        self.file("fabric.yaml", text)
        result = self.run_it("sim", "--json", "fabric.yaml")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return json.loads(result.stdout)

    def test_hpcc_runs(self):
        for congestion in ("dcqcn", "hpcc"):
            text = self.good("--from", "hpcc", self.topology, self.flows, "--congestion", congestion)
            self.assertIn("model: hpcc-ns3\n", text)
            self.assertIn(f"{congestion}/hpcc-sim", text)
            flows = self.simulate(text)["flows"]
            self.assertEqual([(flow["src"], flow["dst"], flow["bytes"]) for flow in flows],
                             [("h2:0", "h1:0", 5000), ("h3:0", "h1:0", 5000)])

    def test_dcqcn_unless_said(self):
        self.assertEqual(self.good("--from", "hpcc", self.topology, self.flows),
                         self.good("--from", "hpcc", self.topology, self.flows, "--congestion", "dcqcn"))

    def test_buffer_is_counted_as_there(self):
        def buffer(*option):
            text = self.good("--from", "hpcc", self.topology, self.flows, *option)
            return [line for line in text.splitlines() if line.startswith("switches:")]

        self.assertEqual(buffer(), ["switches: {buffer: 32MiB}"])
        for same in ("2", "2MB", "2MiB", "2048KiB", "2097152B"):
            self.assertEqual(buffer("--buffer", same), ["switches: {buffer: 2MiB}"], same)
        self.assertEqual(buffer("--buffer", "2000KB"), ["switches: {buffer: 2MB}"])

    def test_units_of_telemetry_follow_the_hosts_rate(self):
        fast = self.file("fast.txt", peers.topology("400Gbps"))
        text = self.good("--from", "hpcc", fast, self.flows, "--congestion", "hpcc")
        self.assertIn("hpcc_tx_unit: 2KiB, hpcc_queue_unit: 1280B", text)
        self.assertEqual(len(self.simulate(text)["flows"]), 2)

    def test_htsim_runs(self):
        text = self.good("--from", "htsim", self.file("m.cm", MATRIX))
        flows = self.simulate(text)["flows"]
        self.assertEqual([(flow["start_ps"], flow["bytes"]) for flow in flows],
                         [(0, 20000), (1000000, 20000), (0, 5000)])

    def test_wrong_use(self):
        self.wrong([], "which files")
        self.wrong(["--from", "ns2", "a", "b"], "ns2", "hpcc or htsim")
        self.wrong(["--from", "hpcc", self.topology], "two files")
        self.wrong(["--from", "htsim", "a", "b"], "one file")
        self.wrong(["--from", "htsim", "a", "--buffer", "2MB"], "--buffer")
        self.wrong(["--from", "hpcc", "a", "b", "--congestion", "swift"], "swift", "dcqcn or hpcc")
        for size in ("0", "0MB", "-1", "2MBit", "x", ""):
            self.wrong(["--from", "hpcc", "a", "b", "--buffer", size], "buffer")

    def test_wrong_input_with_its_place(self):
        self.wrong(["--from", "hpcc", "none.txt", self.flows], "none.txt")
        self.wrong(["--from", "hpcc", self.topology, "none.txt"], "none.txt")
        bad = self.file("bad.txt", peers.topology().replace("0 5 100Gbps", "0 5 100Gbqs"))
        self.wrong(["--from", "hpcc", bad, self.flows], "bad.txt:7:5:", "100Gbqs")
        bad = self.file("bad.txt", peers.flow_list(2, 5000).replace("3 1 3", "3 99 3"))
        self.wrong(["--from", "hpcc", self.topology, bad], "bad.txt:3:3:", "99")
        bad = self.file("bad.cm", MATRIX.replace("3->2", "9->2"))
        self.wrong(["--from", "htsim", bad], "bad.cm:5:")


if __name__ == "__main__":
    unittest.main()
