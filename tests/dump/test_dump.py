# SPDX-License-Identifier: Apache-2.0
"""`sim --dump`: what hosts write, options, times."""
import json
import pathlib
import re
import resource
import subprocess
import tempfile
import unittest

from dumps import BEGIN, FABRIC, PROGRAM, Case, Dump, number, rocelab, table


class Hosts(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.dump = Dump("sonic", cls.folder.name)
        cls.hosts = [f"h{i}" for i in range(6)]

    def lines(self, name, pattern):
        def read(time):
            return {(host, match[1]): int(match[2]) for host in self.hosts
                    for match in re.finditer(pattern, self.dump.text(host, name, time), re.M)}
        return self.dump.grown(read)

    def port_of(self, host):
        """The switch port that the host hangs on, as the metrics name it."""
        return next(labels["port"] for labels, _ in self.metrics.rows["rocelab_link_info"]
                    if labels["peer"] == f"{host}:0")

    def ethtool(self, host, name):
        metrics, nic = self.metrics, {"device": f"{host}:0"}
        plain = {"link_down_events_phy": ("rocelab_link_down_total", {"port": f"{host}:0"}),
                 "rx_crc_errors_phy": ("rocelab_link_crc_errors_total", {"port": f"{host}:0"}),
                 "rx_discards_phy": ("rdma_drops_total", {**nic, "reason": "rx_buffer"})}
        for way in ("rx", "tx"):
            for unit in ("packets", "bytes"):
                for form in (f"{way}_vport_rdma_unicast_{unit}", f"{way}_{unit}_phy"):
                    plain[form] = (f"rdma_{way}_{unit}_total", nic)
        match = re.fullmatch(r"(rx|tx)_prio(\d)_(.*)", name)
        if name in plain:
            return metrics.sum(plain[name][0], **plain[name][1])
        if re.fullmatch("[rt]x_pause_ctrl_phy", name):
            return sum(metrics.sum(f"rdma_roce_pfc_{what}_frames_total", direction=name[:2], **nic)
                       for what in ("pause", "resume"))
        if not match or match[3] == "discards":
            return 0
        way, prio, what = match.groups()
        there = {"port": self.port_of(host), "priority": prio}
        if what in ("bytes", "packets"):
            return metrics.sum(f"rocelab_switch_tx_{what}_total", **there) if way == "rx" else metrics.sum(
                f"rdma_netdev_prio_{what}_total", priority=prio, **nic)
        if what == "pause":
            return sum(metrics.sum(f"rdma_roce_pfc_{kind}_frames_total", direction=way, priority=prio, **nic)
                       for kind in ("pause", "resume"))
        if what == "pause_transition":
            return metrics.sum("rdma_roce_pfc_pause_transitions_total", priority=prio, **nic)
        if way == "tx":
            return metrics.us("rocelab_switch_rx_pause_seconds_total", **there)
        return metrics.sum("rdma_roce_pfc_pause_duration_total", priority=prio, **nic)

    def test_ethtool(self):
        grown, first = self.lines("ethtool_-S_eth0.txt", r"^     (\w+): (\d+)$")
        gauges = {key for key in grown if "outbound_pci" in key[1]}
        counted = {key: value for key, value in grown.items() if key not in gauges}
        self.assertGreater(self.agree(counted, self.ethtool, "ethtool -S"), 60)
        self.assertEqual({key[0] for key in gauges if grown[key]}, {"h5"}, "only the slow receiver's bus stalls")
        names = {name for host, name in grown if host == "h0"}
        self.assertIn("rx_prio3_pause_duration", names)
        self.assertNotIn("rx_prio0_pause", names, "PFC is on for priority 3 alone")
        self.assertNotIn("tx_prio3_pause_transition", names, "mlx5 has none")
        self.assertGreater(sum(value != 0 for value in first.values()), len(first) // 2, "counters begin above 0")

    def test_hw_counters(self):
        def expected(host, name):
            return self.metrics.sum(f"rdma_{name}_total", device=f"{host}:0")

        def expected_sysfs(host, path):
            words = {"counters/port_rcv_data": "rx_bytes", "counters/port_xmit_data": "tx_bytes"}
            if path in words:
                return expected(host, words[path]) // 4
            folder, name = path.split("/")
            if folder == "hw_counters":
                return expected(host, name)
            link = {"link_downed": "rocelab_link_down_total", "port_rcv_errors": "rocelab_link_crc_errors_total"}
            if name in link:
                return self.metrics.sum(link[name], port=f"{host}:0")
            way = {"port_rcv_packets": "rx", "unicast_rcv_packets": "rx", "port_xmit_packets": "tx",
                   "unicast_xmit_packets": "tx"}.get(name)
            return expected(host, f"{way}_packets") if way else 0

        grown, _ = self.lines("rdma_statistic_show.txt", r" (\w+) (\d+)")
        self.assertGreater(self.agree(grown, expected, "rdma statistic"), 20)
        grown, _ = self.lines("sysfs_mlx5_0.txt", r"^/sys/class/infiniband/mlx5_0/ports/1/(\w+/\w+):(\d+)$")
        self.assertGreater(self.agree(grown, expected_sysfs, "sysfs"), 40)

    def test_links(self):
        self.assertEqual(self.dump.text("h0", "rdma_link_show.txt"),
                         "link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev eth0\n")
        self.assertIn("\tSpeed: 100000Mb/s\n", self.dump.text("h0", "ethtool_eth0.txt"))
        lldp = self.dump.text("h4", "lldpctl.txt")
        self.assertRegex(lldp, r"Interface:    eth0, via: LLDP, RID: 1, .*\n  Chassis:\n.*\n    SysName:      leaf1\n")
        self.assertIn("    PortID:       ifname Ethernet4\n    PortDescr:    h4:eth0\n", lldp)

    def test_collectives(self):
        document = json.loads(rocelab("sim", "--json", FABRIC).stdout)
        row = next(row for row in document["collectives"] if row["job"] == "sum")
        lines = self.dump.text("h0", "nccl-tests_sum.txt").splitlines()
        at = next(i for i, line in enumerate(lines) if line.startswith("#       size "))
        self.assertEqual(lines[at].split()[1:], "size count type redop root".split() + "time algbw busbw #wrong".split() * 2)
        cells = lines[at + 2].split()
        self.assertEqual(cells[:5], ["100000", "25000", "float", "sum", "-1"])
        self.assertAlmostEqual(float(cells[5]), row["time_us"], delta=0.051)
        self.assertAlmostEqual(float(cells[7]), row["busbw_GBps"], delta=0.0051)
        self.assertFalse((self.dump.root / BEGIN / "h0" / "nccl-tests_sum.txt").exists(), "nothing had ended then")
        self.assertRegex(self.dump.text("h0", "nccl_log.txt"), r"^h0:\d+:\d+ \[0\] NCCL INFO NET/IB : Using \[0\]mlx5_0:1/RoCE ")
        first = document["failure"]
        log = self.dump.text(first["src"].split(":")[0], "nccl_log.txt")
        self.assertRegex(log, r"NCCL WARN NET/IB: Got completion from peer [\d.]+<\d+> with status=IBV_WC_RETRY_EXC_ERR\(12\) "
                              r"opcode=\w+\(\d+\) vendor_err=129 .* hca mlx5_0\n")

    def test_training(self):
        training = json.loads(rocelab("sim", "--json", FABRIC).stdout)["training"][0]
        waits = {(rank, step + 1): wait // 1000000 for step, row in enumerate(training["rank_waits_ps"])
                 for rank, wait in enumerate(row)}
        calls, recorded = {}, {}
        for rank, host in enumerate(self.hosts):
            for line in self.dump.text(host, "nccl_inspector.json").splitlines():
                call = json.loads(line)
                self.assertEqual(call["header"]["nnodes"], 6)
                if call["coll_perf"]["coll_msg_size_bytes"] != 100000:
                    calls[call["header"]["rank"], call["coll_perf"]["coll_sn"]] = call["coll_perf"]["coll_exec_time_us"]
            *entries, last = self.dump.json(host, f"nccl_trace_rank_{rank}.json")["entries"]
            self.assertEqual((last["state"], last["collective_seq_id"]), ("started", 3), "the job was given up")
            for entry in entries:
                took = entry["time_discovered_completed_ns"] - entry["time_created_ns"]
                recorded[rank, entry["collective_seq_id"]] = took // 1000
            active = float(re.search(r'TENSOR_ACTIVE\{gpu="0",.*Hostname="%s"\} (\S+)' % host,
                                     self.dump.text(host, "dcgm_exporter.txt"))[1])
            self.assertTrue(0 < active < 1, active)
        self.assertEqual(len(waits), 12, "two steps ended")
        self.assertEqual(calls, waits)
        self.assertTrue(all(abs(recorded[key] - waits[key]) <= 1 for key in waits), (recorded, waits))


TWO_JOBS = """
rocelab: 1
fabric: two
topology: {leaf-spine: {leaves: 2, spines: 1, hosts: 1}}
links: {host: {rate: 100G, cable: 3m}, fabric: {rate: 100G, cable: 30m}}
jobs:
  - {name: sum, allreduce: ring, size: 100KB}
  - {name: in, gather: auto, size: 100KB}
  - {name: all, allgather: ring, size: 100KB}
  - {name: swap, sendrecv: auto, size: 100KB}
  - {name: a, training: {model: {layers: 1, hidden: 64, sequence: 64}, groups: {dp: 2}, compute: {forward: 5us}, steps: 3}}
  - {name: b, training: {model: {layers: 1, hidden: 64, sequence: 64}, groups: {dp: 2}, compute: {forward: 5us}, steps: 4}}
"""


class TwoJobs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.file = pathlib.Path(cls.folder.name) / "two.yaml"
        cls.file.write_text(TWO_JOBS, encoding="ascii")
        cls.dump = Dump("eos", cls.folder.name, fabric=cls.file)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_flight_recorders_of_two_jobs(self):
        for job, group, steps in (("a", "0", 3), ("b", "1", 4)):
            for rank in (0, 1):
                entries = self.dump.json(f"h{rank}", f"nccl_trace_{job}_rank_{rank}.json")["entries"]
                self.assertEqual([entry["process_group"][0] for entry in entries], [group] * steps)

    def test_bus_bandwidth(self):
        document = json.loads(rocelab("sim", "--json", self.file).stdout)
        due = {row["collective"]: row["busbw_GBps"] for row in document["collectives"]}
        seen = {}
        for line in self.dump.text("h0", "nccl_inspector.json").splitlines():
            call = json.loads(line)["coll_perf"]
            if call["coll_msg_size_bytes"] == 100000:
                seen[call["coll"].lower()] = call["coll_busbw_gbs"]
        self.assertEqual(sorted(seen), sorted(due))
        for kind, busbw in due.items():
            self.assertAlmostEqual(seen[kind], busbw, delta=0.01 * busbw, msg=kind)


class Options(Case):
    def test_times(self):
        dump = Dump("sonic", self.folder.name, "--dump-at", "300us,100us,300us,1s")
        self.assertEqual(dump.times[:3], [BEGIN, "0.000100000", "0.000300000"])
        self.assertEqual(len(dump.times), 4)
        self.assertIn("the run ended before 1 of the times", dump.run.stderr)
        plain = rocelab("sim", FABRIC)
        self.assertEqual(re.findall("digest .*", dump.run.stdout), re.findall("digest .*", plain.stdout))
        self.assertEqual(dump.run.returncode, plain.returncode)
        frames = [number(next(table(dump.text("leaf0", "show_interfaces_counters.txt", time)))["RX_OK"]) for time in dump.times]
        self.assertEqual(frames, sorted(frames))
        self.assertEqual(rocelab("sim", "--dump", dump.root, FABRIC).returncode, 2, "it is not empty")

    def test_nothing_goes_down(self):
        """Which drops were a queue's is guessed where several priorities had some: also then no counter ever goes down."""
        dump = Dump("eos", self.folder.name, "--dump-at", ",".join(f"{at}us" for at in range(10, 900, 13)))
        self.assertGreater(len(dump.times), 62)
        for switch in ("leaf0", "leaf1"):
            before = {}
            for time in dump.times:
                text = dump.text(switch, "show_interfaces_counters_queue_detail.txt", time)
                now = {row[:2]: tuple(map(int, row[2:])) for row in
                       re.findall(r"^(Et\d+) +(UC\d) +(\d+) +(\d+) +(\d+) +(\d+)$", text, re.M)}
                for key, values in before.items():
                    self.assertTrue(all(a <= b for a, b in zip(values, now[key])), (switch, key, time, values, now[key]))
                before = now

    def test_slow_collective(self):
        """Above 10 ms nccl-tests prints whole microseconds."""
        path = pathlib.Path(self.folder.name) / "slow.yaml"
        path.write_text("""rocelab: 1
topology: {leaf-spine: {leaves: 1, spines: 1, hosts: 2}}
links: {host: {rate: 1G, cable: 3m}, fabric: {rate: 1G, cable: 3m}}
jobs: [{name: slow, allreduce: ring, size: 2MB}]
""")
        dump = Dump("eos", self.folder.name, fabric=path)
        line = dump.text("h0", "nccl-tests_slow.txt").splitlines()[-5]
        self.assertRegex(line, r"^     2000000 +500000 +float +sum +-1 +\d{5} ")

    def test_same_again(self):
        one, two = Dump("sonic", self.folder.name), Dump("sonic", self.folder.name)
        other = Dump("sonic", self.folder.name, "--seed", "2")
        for path in sorted((one.root / BEGIN).rglob("*.txt")):
            self.assertEqual(path.read_bytes(), (two.root / path.relative_to(one.root)).read_bytes())
        self.assertNotEqual(one.text("leaf0", "show_pfc_counters.txt", BEGIN), other.text("leaf0", "show_pfc_counters.txt", BEGIN))

    def test_whole_or_not_at_all(self):
        """A file that cannot be written, in the middle: nothing stays that looks like a run."""
        folder = pathlib.Path(self.folder.name) / "cut"
        words = [PROGRAM, "sim", "--quiet", "--dump", folder, "--dump-at", "1us", FABRIC]
        for there in (False, True):
            if there:
                folder.mkdir()
            result = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, capture_output=True,
                                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600)), check=False)
            self.assertEqual(result.returncode, 2)
            self.assertRegex(result.stderr.decode(), r"(?m)^rocelab: --dump: \S+/cut/0\.000000000/\w+/\S+: File too large$")
            self.assertEqual([] if there else None, list(folder.iterdir()) if folder.exists() else None)
        self.assertEqual(1, rocelab(*words[1:]).returncode)  # as without it
        self.assertEqual(["0.000000000", "0.000001000"], sorted(path.name for path in folder.iterdir())[:2])
        self.assertEqual(3, len(list(folder.iterdir())))

    def test_wrong_use(self):
        folder = pathlib.Path(self.folder.name)
        (folder / "full").mkdir()
        (folder / "full" / "x").touch()
        (folder / "file").touch()
        for arguments, message in (
                (["--dump-at", "1ms"], "--dump DIR"),
                (["--dump", folder / "new", "--dump-at", "1ms,,2ms"], "--dump-at"),
                (["--dump", folder / "new", "--seeds", "2"], "one run"),
                (["--dump", folder / "full"], "something in it"),
                (["--dump", folder / "file"], "Not a directory"),
                (["--dump", folder / "none" / "new"], "No such file")):
            answer = rocelab("sim", *arguments, FABRIC)
            self.assertEqual((answer.returncode, answer.stdout), (2, ""), arguments)
            self.assertIn(message, answer.stderr)
            self.assertFalse((folder / "new").exists(), arguments)


if __name__ == "__main__":
    unittest.main()
