# SPDX-License-Identifier: Apache-2.0
"""Counters of InfiniBand, Ultra Ethernet and TCP by the names that their users know, and what reports say of them."""
import json
import re
import unittest

from support import Case, rocelab

FILE = """rocelab: 1
system: %s
topology: {leaf-spine: {leaves: 2, spines: 1, hosts: 3}}
links: {host: {rate: 100G, cable: 3m}}
jobs: [{incast: 5, to: h0, size: 1MB}]
"""
RATE = 100e9


class Systems(Case):
    def run_of(self, system, *arguments, more=""):
        result = rocelab("sim", *arguments, self.file("f.yaml", (FILE % system + more).encode()), cwd=self.folder)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def metric(self, text, name, device):
        return int(re.search(rf'^{name}{{[^}}]*device="{device}",port="1"}} (\d+)$', text, re.M)[1])

    def test_ports_of_infiniband(self):
        ports = {port["port"]: port for port in json.loads(self.run_of("infiniband", "--json"))["ports"]}
        text = self.run_of("infiniband", "--counters", "prometheus")
        sender = ports["h5:0"]["perfquery"]
        # what the sender had to wait, in words that its line would have carried
        self.assertAlmostEqual(sender["PortXmitWait"], ports["h5:0"]["paused_ps"] * RATE / 8e12 / 4, delta=8)
        self.assertGreater(sender["PortXmitWait"], sender["PortXmitData"])
        self.assertEqual(sender["PortXmitPkts"], ports["leaf1:2"]["perfquery"]["PortRcvPkts"])
        for port in ports.values():
            self.assertEqual({port["perfquery"][name] for name in ("PortXmitDiscards", "VL15Dropped", "ExcessiveBufferOverrunErrors")}, {0})
        self.assertEqual(self.metric(text, "node_infiniband_port_transmit_wait_total", "h5:0"), sender["PortXmitWait"])
        self.assertEqual(self.metric(text, "node_infiniband_port_data_transmitted_bytes_total", "h5:0") // 4, sender["PortXmitData"])

    def test_marks_of_infiniband(self):
        ports = json.loads(self.run_of("infiniband", "--json", more="nics: {congestion: ibcc/default}\n"))["ports"]
        counts = {port["port"]: port["perfquery"] for port in ports}
        self.assertGreater(counts["h0:0"]["PortRcvFECN"], 0)
        self.assertGreater(counts["h5:0"]["PortRcvBECN"], 0)

    def test_a_walk_knows_credits(self):
        self.file("ib.json", self.run_of("infiniband", "--json").encode())
        walk = rocelab("diagnose", "--walk", "ib.json", cwd=self.folder)
        self.assertEqual(walk.returncode, 1, walk.stderr)
        self.assertRegex(walk.stdout, r"credits: h5:0: PortXmitWait \d+, \d+ % of the time that it had something to send: leaf1:2 gave too few credits")
        document = json.loads(rocelab("diagnose", "--walk", "--json", "ib.json", cwd=self.folder).stdout)
        self.assertIn("credits", {problem["kind"] for link in document["links"] for problem in link["problems"]})

    def test_nobody_is_blamed_for_a_good_run(self):
        """Switches of InfiniBand count by lane and its adapters by service level: that is no wrong class."""
        good = FILE.replace("incast: 5, to: h0", "permutation: 3")
        for system in ("rocev1", "infiniband", "uet", "tcp", "iwarp"):
            run = rocelab("sim", "--json", self.file("f.yaml", (good % system).encode()), cwd=self.folder)
            self.file("run.json", run.stdout.encode())
            found = rocelab("diagnose", "--json", "run.json", cwd=self.folder)
            self.assertNotIn("D15", [finding["rule"] for finding in json.loads(found.stdout)["findings"]], system)

    def test_tcp_as_nstat_has_it(self):
        small = "classes: [{name: data, dscp: 0, priority: 0, limit: 100KB}]\n"
        nics = {nic["nic"]: nic for nic in json.loads(self.run_of("tcp", "--json", more=small))["nics"]}
        text = self.run_of("tcp", "--counters", "prometheus", more=small)
        self.assertGreater(nics["h5:0"]["nstat"]["TcpRetransSegs"], 0)
        for nic in nics.values():
            self.assertEqual(nic["nstat"]["TcpRetransSegs"], nic["retransmitted"])
            self.assertEqual(nic["nstat"]["TcpExtTCPTimeouts"], nic["timeouts"])
            self.assertEqual(self.metric(text, "node_netstat_Tcp_RetransSegs", nic["nic"]), nic["retransmitted"])
            self.assertEqual(self.metric(text, "node_netstat_TcpExt_TCPTimeouts", nic["nic"]), nic["timeouts"])

    def test_ultra_ethernet(self):
        nics = json.loads(self.run_of("uet", "--json"))["nics"]
        text = self.run_of("uet", "--counters", "prometheus")
        self.assertGreater(nics[0]["uet"]["rx_trimmed"], 0)
        self.assertEqual(self.metric(text, "rocelab_uet_rx_trimmed_total", "h0:0"), nics[0]["trimmed"])

    def test_adapters_have_columns_of_their_own(self):
        titles = {system: self.run_of(system).split("ADAPTERS\n")[1].splitlines()[0] for system in ("rocev2", "infiniband", "uet", "tcp", "iwarp")}
        self.assertIn("CNPs sent", titles["rocev2"])
        self.assertIn("BECN sent", titles["infiniband"])
        for system in ("uet", "tcp", "iwarp"):
            self.assertNotIn("CNP", titles[system])
        self.assertIn("NACKs", titles["uet"])
        self.assertNotIn("NAK", titles["tcp"])

    def test_sharp_is_a_closed_form_beside_the_ring(self):
        """n / (2 (n - 1)) of the ring's bytes: its buffer once, at the line's rate, and the way up and down."""
        text = (FILE % "infiniband").replace("jobs: [{incast: 5, to: h0, size: 1MB}]", "jobs: [{allreduce: ring, size: 64MB, protocol: %s}]")
        for protocol in ("simple", "ll128"):
            path = self.file("f.yaml", (text % protocol).encode())
            job = json.loads(rocelab("sim", "--json", path, cwd=self.folder).stdout)["jobs"][0]
            line = 64e6 * 8 / RATE * 4122 / 4096 * 1e12
            self.assertTrue(line < job["sharp_ps"] < line * 1.001 + 3e6, (protocol, job["sharp_ps"], line))
        self.assertIn("with SHARP: ", rocelab("sim", path, cwd=self.folder).stdout)
        self.assertIn("calculated, not simulated", rocelab("compare", path, "--systems", "infiniband", cwd=self.folder).stdout.replace("\n  ", " "))
        other = json.loads(rocelab("sim", "--json", self.file("f.yaml", (text % "simple").replace("infiniband", "rocev2").encode()), cwd=self.folder).stdout)
        self.assertNotIn("sharp_ps", other["jobs"][0])

    def test_why_a_job_is_slow(self):
        """A ring beside an incast: its pauses without PFC reach the ring, and nobody is called short of credits."""
        ring = "jobs: [{allreduce: ring, size: 4MB}, {incast: 5, to: h0, size: 2MB}]\n"
        verdict = " ".join(rocelab("sim", self.file("f.yaml", (FILE % "infiniband").replace("jobs: [{incast: 5, to: h0, size: 1MB}]\n", ring).encode()), cwd=self.folder).stdout.split())
        self.assertRegex(verdict, r"warning D04, incast: leaf0:0, the port to h0:0, was 99% full; its switch paused 3 ports for it")
        self.assertNotIn("D26", verdict)


if __name__ == "__main__":
    unittest.main()
