# SPDX-License-Identifier: Apache-2.0
"""`rocelab diagnose` from outside: options, wrong use, what it says of its rules."""
import json
import os
import re
import resource
import subprocess
import unittest

from support import DUMPS, PROGRAM, SOURCE, Case, rocelab

RULES = re.findall(r'^RULE\((D\d\d), (\w+), (\w+), (RB\d\d), "([^"]+)"', (SOURCE / "src/diagnose/rules.def").read_text(), re.M)
LIMITS = re.findall(r'^LIMIT\((\w+), ([0-9.]+), "([D0-9 ]*)"', (SOURCE / "src/diagnose/limits.def").read_text(), re.M)


class Program(Case):
    def test_every_rule_is_listed_and_explained(self):
        document = json.loads(rocelab("diagnose", "--list", "--json").stdout)
        self.assertEqual([rule["rule"] for rule in document["rules"]], [rule[0] for rule in RULES])
        kinds = [kind["kind"] for kind in document["kinds"]]
        self.assertEqual(sorted(set(kinds)), sorted(kinds))
        text = rocelab("diagnose", "--list").stdout
        for rule, _, owner, runbook, cause in RULES:
            self.assertRegex(text, rf"(?m)^{rule} +\w+ +{re.escape(cause)}$")
            said = rocelab("diagnose", "--explain", rule)
            self.assertEqual(said.returncode, 0)
            self.assertIn(f"{owner} team; runbook {runbook}", said.stdout)
            for name, value, of in LIMITS:
                self.assertEqual(rule in of.split(), f"{name} = {float(value):g}:" in said.stdout, (rule, name))
            self.assertTrue((SOURCE / "docs" / "runbooks" / f"{runbook}.md").exists())

    def test_limits_name_rules_that_there_are(self):
        names = {rule[0] for rule in RULES}
        self.assertTrue(LIMITS)
        for _, _, of in LIMITS:
            self.assertLessEqual(set(of.split()), names)

    def test_the_page_has_every_rule(self):
        page = (SOURCE / "docs" / "diagnose.md").read_text(encoding="utf-8")
        page = " ".join(page.split())
        self.assertEqual([rule[0] for rule in RULES if not re.search(rf"{rule[0]} {re.escape(rule[4])}[,: ]", page)], [])
        listed = " ".join(rocelab("diagnose", "--list").stdout.split())
        for rule, *_, cause in RULES:
            self.assertRegex(listed, rf"{rule} \w+ {re.escape(cause)} [^;]+; (?:[^;]+; )*?culprit: \w+")

    def test_memory_that_runs_out_acquits_nobody(self):
        """With less and less memory: the whole answer, or exit status 2, never an all-clear or half of it."""
        run = self.file("run.json", rocelab("sim", "--json", SOURCE / "examples/cases/C03-incast.yaml").stdout.encode())

        def with_memory(kib, *options):
            return subprocess.run([PROGRAM, "diagnose", run, *options], capture_output=True, text=True, check=False,
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (kib << 10, kib << 10)))

        enough, little = 256 << 10, 4 << 10
        if with_memory(enough).returncode != 1:
            self.skipTest("it takes more memory here: sanitizers do")
        while enough - little > 32:
            middle = (enough + little) // 2
            if with_memory(middle).returncode == 1:
                enough = middle
            else:
                little = middle
        said = ""
        for kib in range(enough - 1024, enough, 64):
            for options in ((), ("--walk",)):
                done = with_memory(kib, *options)
                if done.returncode == 127:  # the loader's: it did not come as far as to begin
                    continue
                self.assertIn(done.returncode, (1, 2) if options else (2,), (kib, done.stderr))
                self.assertNotIn("answer: clear", done.stdout)
                said += done.stderr
        self.assertIn("rocelab: out of memory", said)

    def dumps(self):
        """Two looks at a fabric with a bad cable, in folders."""
        folder = self.folder / "dumps"
        rocelab("sim", "--dump", folder, "--as", "nxos", SOURCE / "examples/cases/C12-ber.yaml", program=DUMPS)
        self.assertEqual(rocelab("diagnose", folder).returncode, 1)
        return folder, sorted(look for look in folder.iterdir() if look.is_dir())

    def not_whole(self, folder, *said, limited=()):
        """Part of it cannot be read: path and reason, exit status 2, and nobody acquitted, however it is asked."""
        for options in ((), ("--json",), ("--walk",), ("--walk", "--json")):
            done = subprocess.run([*limited, PROGRAM, "diagnose", *options, folder], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2, (options, done.stdout, done.stderr))
            for words in said:
                self.assertIn(words, done.stderr)
            self.assertNotIn("answer: clear", done.stdout)
            self.assertNotIn("not the cause", done.stdout)
            if "--json" in options and done.stdout:
                document = json.loads(done.stdout)
                self.assertFalse(document["whole"])
                self.assertFalse(document.get("acquitted"))
                self.assertIn(said[-1], str(document["remarks"]))

    def test_folders_that_may_not_be_read_acquit_nobody(self):
        folder, looks = self.dumps()
        limited = ["setpriv", "--inh-caps=-all", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
        if limited and subprocess.run([*limited, "true"], capture_output=True, check=False).returncode:
            self.skipTest("root reads everything, and setpriv cannot take that away here")
        device = next(one for one in sorted(looks[1].iterdir()) if one.is_dir())
        file = next(one for one in sorted(device.iterdir()) if one.is_file())
        for path in (looks[1], device, file):
            mode = path.stat().st_mode
            for less in (0, 0o444) if path.is_dir() else (0,):
                path.chmod(less)
                try:
                    self.not_whole(folder, str(path), "Permission denied", limited=limited)
                finally:
                    path.chmod(mode)

    def test_files_that_cannot_be_opened_acquit_nobody(self):
        folder, looks = self.dumps()
        device = next(one for one in sorted(looks[0].iterdir()) if one.is_dir())
        circle = device / "circle.txt"
        circle.symlink_to(circle)
        self.not_whole(folder, str(circle), "Too many levels of symbolic links")
        circle.unlink()
        (device / "nowhere.txt").symlink_to("/nowhere/at/all")  # nothing is behind it: a note
        self.assertEqual(rocelab("diagnose", folder).returncode, 1)
        deep = device.joinpath(*"abcdefghijklmnop")
        deep.mkdir(parents=True)
        self.not_whole(folder, "more folders inside each other than are followed")

    def test_two_looks_of_one_time_acquit_nobody(self):
        folder, looks = self.dumps()
        self.assertEqual(looks[0].name, "0.000000000")
        looks[-1].rename(folder / "0.0")
        self.not_whole(folder, str(looks[0]), "the folder before it has the same time")

    def test_owners_are_those_of_the_runbooks(self):
        teams = dict(re.findall(r"^RUNBOOK\((RB\d\d), (\w+),", (SOURCE / "src/diagnose/runbooks.def").read_text(), re.M))
        self.assertEqual([(rule[0], rule[2]) for rule in RULES], [(rule[0], teams[rule[3]]) for rule in RULES])

    def test_options_say_what_they_do_here(self):
        self.assertRegex(rocelab("diagnose", "--help").stdout, r"--strict +exit 1 for findings that are only for information too")
        run = self.file("run.json", b"{}")
        self.wrong(rocelab("diagnose", run, "--interval", "1s"), "--interval", "live")

    def test_files_outside_of_a_devices_folder(self):
        """Of a folder that is no look nothing is read, and that is said; a file beside devices is of whom its name says."""
        text = b"NIC statistics:\n     rx_prio3_pause: 0\n     tx_prio3_pause: 0\n"
        for name in ("dumps/0/h0/ethtool_-S_eth0.txt", "dumps/0/h9_ethtool_-S_eth1.txt", "dumps/yesterday/h1/ethtool_-S_eth0.txt"):
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_bytes(text)
        document = json.loads(rocelab("diagnose", "--json", self.folder / "dumps").stdout)
        remarks = "\n".join(f"{remark['file']}: {remark['text']}" for remark in document["remarks"])
        self.assertRegex(remarks, r"dumps: folders in it whose names are no time were not read")
        self.assertEqual({"h0", "h9"}, {one["device"] for one in document["devices"]})

    def test_text(self):
        run = self.file("run.json", rocelab("sim", "--json", SOURCE / "examples/cases/C11-down.yaml").stdout.encode())
        said = rocelab("diagnose", run)
        self.assertEqual(said.returncode, 1)
        self.assertRegex(said.stdout, r"(?m)^critical D14: path lost, (leaf0:4|spine0:0) \(")
        self.assertRegex(said.stdout, r"(?m)^    victims: h\d:0, ")
        self.assertRegex(said.stdout, rf"(?m)^    spine0:0 link_up 0 \(limit 1\) {re.escape(str(run))}:\d+$")
        self.assertIn("runbook RB07", said.stdout)
        self.assertRegex(said.stdout, r"(?m)^    explains:\n        warning D07: not enough links, leaf0:4")
        self.assertRegex(said.stdout, r"Read 12 devices with \d+ ports, 1 job, 2 times in 1\.\d+ms\.$")
        quiet = rocelab("diagnose", "--quiet", run)
        self.assertEqual((quiet.stdout.count("\n"), quiet.returncode), (1, 1))

    def test_names_from_outside_are_harmless(self):
        for time in (0, 1):
            sample = self.folder / "d" / str(time) / "le\033[31maf"
            sample.mkdir(parents=True)
            (sample / "ethtool_-S_eth0.txt").write_text(f"NIC statistics:\n     rx_crc_errors_phy: {5000 * time}\n     rx_packets_phy: {10000 * time}\n")
        said = rocelab("diagnose", self.folder / "d")
        self.assertIn("le?[31maf", said.stdout)
        self.assertNotIn("\033", said.stdout + said.stderr)

    def test_a_text_without_its_device(self):
        """One file of a switch says of no port whose it is: the device is called as the file is."""
        text = b"  Port Rx    PFC0    PFC1    PFC2    PFC3    PFC4    PFC5    PFC6    PFC7\n---------  ------  ------  ------  ------  ------  ------  ------  ------\n" \
               b"Ethernet0       0       0       0      12       3       0       0       0\n"
        for name, device in (("show_pfc_counters.txt", "show_pfc_counters"), ("leaf1_show_pfc_counters.txt", "leaf1"), ("leaf2-2026-11-15T100000.log", "leaf2")):
            answer = json.loads(rocelab("diagnose", "--json", self.file(name, text)).stdout)
            self.assertEqual([device], [one["device"] for one in answer["devices"]])
        run = subprocess.run([PROGRAM, "diagnose", "--json", "-"], input=text, capture_output=True, check=False)
        self.assertEqual(["standard input"], [one["device"] for one in json.loads(run.stdout)["devices"]])

    def test_lines_that_nobody_understands_are_listed(self):
        """Five places in the text, all in JSON; which reader knows the layout around them."""
        rows = b"".join(b"Ethernet%d U 5 0\nrow %d of another release\nand its end\n" % (i, i) for i in range(7))
        (self.folder / "dumps/leaf0").mkdir(parents=True)
        (self.folder / "dumps/leaf0/counters.txt").write_bytes(b"IFACE STATE RX_OK RX_ERR\n" + rows)
        said = " ".join(rocelab("diagnose", self.folder / "dumps").stdout.split())
        self.assertRegex(said, r'not understood by sonic-interfaces: \S+/leaf0/counters.txt:3: "row 0 of another release" and 1 line more')
        self.assertEqual(5, said.count("note: not understood"))
        self.assertIn("note: and 2 more places like these; --json has them", said)
        for options in ((), ("--walk",)):
            document = json.loads(rocelab("diagnose", "--json", *options, self.folder / "dumps").stdout)
            self.assertEqual([(one["line"], one["lines"], one["reader"]) for one in document["not_understood"]],
                             [(3 * i + 3, 2, "sonic-interfaces") for i in range(7)])
            self.assertEqual(0, document["not_understood_left_out"])

    def looks(self, folder, *looks):
        """Errors that leaf0 and leaf1 count at each time; None: it was not looked at."""
        for time, errors in enumerate(looks):
            for device, count in zip(("leaf0", "leaf1"), errors):
                if count is None:
                    continue
                (self.folder / folder / str(time) / device).mkdir(parents=True)
                (self.folder / folder / str(time) / device / "ethtool_-S_swp1.txt").write_text(
                    f"NIC statistics:\n     rx_crc_errors_phy: {count}\n     rx_fec_uncorrectable_blocks_phy: {count}\n     rx_packets_phy: {count * 3}\n")
        return self.folder / folder

    def test_a_device_that_was_looked_at_once(self):
        """What it counted since boot is weak, though others were looked at twice, and a second look is said to be missing."""
        answer = json.loads(rocelab("diagnose", "--json", self.looks("once", (5000, 6000), (90000, None))).stdout)
        self.assertEqual({finding["culprit"]: finding["confidence"] for finding in answer["findings"]}, {"leaf0:swp1": "strong", "leaf1:swp1": "weak"})
        self.assertEqual([False, True], ["all that since the counters were cleared" in finding["what"] for finding in answer["findings"]])
        answer = json.loads(rocelab("diagnose", "--json", self.looks("few", (5000, 90), (6000, None))).stdout)
        self.assertEqual(["leaf0:swp1"], [finding["culprit"] for finding in answer["findings"]])
        self.assertIn("one look gives no rates", " ".join(answer["missing"]))

    def test_who_paused_was_not_read(self):
        """A host that stood still, and nothing of its switch: no cause, but what would have been needed."""
        for time in (0, 10):
            folder = self.folder / "alone" / str(time) / "h0"
            folder.mkdir(parents=True)
            (folder / "ethtool_-S_eth0.txt").write_text(
                f"NIC statistics:\n     rx_prio3_pause: {time * 50}\n     rx_prio3_pause_duration: {time * 400000}\n     tx_packets_phy: {time * 1000}\n")
        said = rocelab("diagnose", self.folder / "alone")
        self.assertEqual(3, said.returncode)
        self.assertIn("missing: counters of the device behind h0:eth0: it paused that port for 40% of the time", said.stdout)

    def test_nics_alone(self):
        """Packets that were sent again, and no switch: whether they were lost is not known."""
        metrics = b'node_infiniband_packet_sequence_errors_total{device="mlx5_0",port="1"} 120\nnode_infiniband_local_ack_timeout_errors_total{device="mlx5_0",port="1"} 7\n'
        answer = json.loads(rocelab("diagnose", "--json", self.file("h0.prom", metrics)).stdout)
        self.assertEqual([], [finding["rule"] for finding in answer["findings"] if finding["rule"] == "D12"])
        self.assertIn("drops of the switches that were not read: retransmitted packets may have been lost there", answer["missing"])

    def test_links_without_end(self):
        """Twelve links to their own folder, each of which has all twelve."""
        folder = self.looks("links", (1, 1))
        for number in range(12):
            (folder / "0" / "leaf0" / f"link{number}").symlink_to(".")
        said = rocelab("diagnose", folder)
        self.assertEqual(3, said.returncode)
        self.assertIn("/leaf0/link0: not a file; and 11 more alike", said.stdout.replace("\n  ", " "))

    def test_a_walk_says_what_it_did_not_see(self):
        folder = self.looks("walk", (1, 1), (1, None))
        said = rocelab("diagnose", "--walk", folder)
        self.assertIn("note: leaf1 was not looked at the last time", said.stdout)
        self.assertIn("leaf1 was not looked at", json.loads(rocelab("diagnose", "--walk", "--json", folder).stdout)["remarks"][0]["text"])

    def test_a_time_that_is_none(self):
        folder = self.looks("times", (1, 1), (1, 1))
        (folder / "1").rename(folder / "1e300")
        self.assertIn("2 times in ", rocelab("diagnose", folder).stdout)

    def test_very_many_findings(self):
        """Every cable is bad and every NIC sends again: the answer stays short, and says what it leaves out."""
        for time in (0, 10):
            for host in range(300):
                folder = self.folder / "many" / str(time) / f"h{host}"
                folder.mkdir(parents=True)
                (folder / "ethtool_-S_eth0.txt").write_text(f"NIC statistics:\n     rx_crc_errors_phy: {time * 5000}\n     rx_packets_phy: {time * 10000}\n")
                (folder / "rdma_statistic_show.txt").write_text(f"link mlx5_0/1 packet_seq_err {time * 90}\n")
        answer = json.loads(rocelab("diagnose", "--json", self.folder / "many").stdout)
        bad = [finding for finding in answer["findings"] if finding["rule"] == "D13"]
        self.assertEqual(256, len(bad))
        self.assertEqual([300, 300], [len(bad[0]["victims"]), len(set(bad[0]["victims"]))])
        self.assertIn("D13 was found in more than 256 places: the rest is left out", answer["missing"])
        self.assertLess(rocelab("diagnose", self.folder / "many").stdout.count("\n"), 250)

    def test_rows_of_a_finding(self):
        """A switch with many ports that drop is one finding; the text has the first counters of it."""
        ports = {f"oid:0x1{n:012x}": f"Ethernet{n}" for n in range(40)}
        for time in (0, 1):
            leaf = self.folder / "rows" / str(time) / "leaf0"
            leaf.mkdir(parents=True)
            (leaf / "db.json").write_text(json.dumps(
                {"COUNTERS_PORT_NAME_MAP": {"value": {name: oid for oid, name in ports.items()}}} |
                {f"COUNTERS:{oid}": {"value": {"SAI_PORT_STAT_IF_IN_UCAST_PKTS": f"{100000 * time}", "SAI_PORT_STAT_ETHER_RX_OVERSIZE_PKTS": f"{900 * time}"}}
                 for oid in ports}))
        rows = [len(finding["evidence"]) for finding in json.loads(rocelab("diagnose", "--json", self.folder / "rows").stdout)["findings"]]
        self.assertGreater(max(rows), 8)
        self.assertIn(f"and {max(rows) - 8} more counters; --json has them", rocelab("diagnose", self.folder / "rows").stdout)

    def test_wrong_use(self):
        self.wrong(rocelab("diagnose"), "which input")
        self.wrong(rocelab("diagnose", "--explain", "D99"), "no such rule")
        self.wrong(rocelab("diagnose", "--explain", "d03"), "D03")
        self.wrong(rocelab("diagnose", "--from", "nonsense", "."), "no such kind")
        self.wrong(rocelab("diagnose", self.folder / "nothing"), "nothing")
        self.wrong(rocelab("diagnose", self.folder), "no dumps in it")
        self.wrong(rocelab("diagnose", self.file("words.txt", b"words\n")), "no known counter")
        self.assertEqual(rocelab("diagnose", "--fabric", self.folder / "no.yaml", self.folder).returncode, 2)

    def test_a_pipe(self):
        document = rocelab("sim", "--json", SOURCE / "examples/cases/C12-ber.yaml").stdout
        said = rocelab("diagnose", "-", stdin=document.encode())
        self.assertEqual(1, said.returncode, said.stderr)
        self.assertIn("D13: bad cable or optic", said.stdout)
        self.assertIn("standard input:", said.stdout)
        self.wrong(rocelab("diagnose", "-", stdin=b""), "no known counter")

    def test_half_a_document(self):
        fabric = SOURCE / "examples/cases/C03-incast.yaml"
        document = rocelab("sim", "--json", fabric).stdout.encode()
        half = self.file("half.json", document[: len(document) // 2])
        self.wrong(rocelab("diagnose", half), "is the document whole?")

    def test_a_page_that_cannot_be(self):
        words = self.file("words.txt", b"words\n")
        self.wrong(rocelab("diagnose", words, "--html", words), "twice")
        self.assertEqual(words.read_bytes(), b"words\n")
        self.wrong(rocelab("diagnose", words, "--html", self.folder / "no" / "page.html"), "No such file")
        self.wrong(rocelab("diagnose", words, "--html", self.folder / "page.html"), "no known counter")
        self.assertFalse((self.folder / "page.html").exists())


if __name__ == "__main__":
    unittest.main()
