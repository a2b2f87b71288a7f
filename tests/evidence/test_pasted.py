# SPDX-License-Identifier: Apache-2.0
"""Texts as people paste them: sessions with prompts, several devices and looks in one text, what pagers, mails and pages
leave around lines, JSON that is cut, files whose names say it."""
import pathlib
import tempfile
import unittest

from shown import Evidence

PFC = """  Port Rx    PFC0    PFC1    PFC2    PFC3    PFC4    PFC5    PFC6    PFC7
---------  ------  ------  ------  ------  ------  ------  ------  ------
Ethernet0       0       0       0     {}       0       0       0       0
"""
NIC = "NIC statistics:\n     rx_prio3_pause: {}\n     rx_packets_phy: {}\n"


class Pasted(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def read(self, text, name="paste.txt"):
        return Evidence(self.file(name, text))

    def pauses(self, seen, port):
        return seen.get(port, "rx_pause_frames", 3)

    def test_prompts(self):
        """The device's name is in the prompt of every system, and the command line is none that is not understood."""
        for prompt in ("admin@leaf1:~$ ", "root@leaf1:~# ", "[root@leaf1 ~]# ", "leaf1# ", "leaf1#", "leaf1> ", "leaf1(config)# ", "leaf1(config-if-Et1)# ", "admin@leaf1> ",
                       "cumulus@leaf1:mgmt:~$ ", "admin@leaf1:/var/log# ", "(venv) ops@leaf1:~$ ", "[10:00:01] ops@leaf1:~$ ", "leaf1 [standalone: master] (config) # ",
                       "RP/0/RP0/CPU0:leaf1#", "[ops@leaf1 dumps]$ ", "[leaf1 ~]# ", "> admin@leaf1:~$ ", "    admin@leaf1:~$ "):
            quote = "> " if prompt[0] == ">" else "    " if prompt[0] == " " else ""
            text = f"{prompt}show pfc counters\n" + "".join(f"{quote}{line}\n" for line in PFC.format(7).split("\n")) + f"{prompt}\n"
            seen = self.read(text)
            self.assertEqual({"leaf1"}, set(seen.device), prompt)
            self.assertEqual(7, self.pauses(seen, "leaf1:Ethernet0"), prompt)
            self.assertEqual([], seen.unknown, prompt)

    def test_no_prompts(self):
        """Lines with these signs that are none."""
        for line in ("queue#3 is full", "rx>tx by far", "comm 10.0.0.1<0> used", "#1 show", "a@b wrote:", "port 5 > port 6"):
            self.assertEqual({}, self.read(f"{line}\n").device, line)

    def test_several_devices(self):
        """Prompts of several, heads of several kinds, a host in front of each line, also mixed."""
        both = PFC.format(7), PFC.format(9)
        dsh = "".join(f"leaf1: {a}\nleaf2: {b}\n" for a, b in zip(*(text.strip("\n").split("\n") for text in both)))
        for text in (*("{}{}{}{}".format(head.format("leaf1"), both[0], head.format("leaf2"), both[1]) for head in (
                "admin@{}:~$ show pfc counters\n", "===== {} =====\n", "--- host {} ---\n", "### {} ###\n", "{} | CHANGED | rc=0 >>\n", "== {} | before | 10:00 ==\n", "----------------\n{}\n----------------\n",
                "== {}: show pfc counters ==\n", "ops@jump:~$ ssh {} show pfc counters\n", "ops@jump:~$ ssh admin@{} 'show pfc counters'\n")), dsh):
            seen = self.read(text)
            self.assertEqual((7, 9), (self.pauses(seen, "leaf1:Ethernet0"), self.pauses(seen, "leaf2:Ethernet0")), text[:60])
            self.assertEqual([], seen.unknown, text[:60])

    def test_a_folder_says_whose_it_is(self):
        """The first name that a prompt has is the folder's device; another is another's."""
        seen = Evidence(self.file("d/spine9/a.txt", "admin@leaf1:~$ show pfc counters\n" + PFC.format(7) + "admin@leaf2:~$ show pfc counters\n" + PFC.format(9)).parents[1])
        self.assertEqual((7, 9), (self.pauses(seen, "spine9:Ethernet0"), self.pauses(seen, "leaf2:Ethernet0")))
        self.assertEqual({"spine9", "leaf2"}, set(seen.device))

    def test_looks_in_a_session(self):
        """The same command again is another look; nobody says when, so that what grew is known, and no time."""
        seen = self.read("leaf1# show pfc counters\n" + PFC.format(7) + "leaf1# show pfc counters\n" + PFC.format(19))
        value = seen.value["leaf1:Ethernet0", 3, "rx_pause_frames"]
        self.assertEqual((2, 7, 19, 12, 0), (value.looks, value.first, value.last, value.grown, value.span))
        self.assertEqual(0, seen.seconds)

    def test_looks_of_a_loop(self):
        """The same output again, without a command between: its first row comes again."""
        seen = self.read("leaf1# watch show pfc counters\n" + PFC.format(7) + PFC.format(9) + PFC.format(19))
        value = seen.value["leaf1:Ethernet0", 3, "rx_pause_frames"]
        self.assertEqual((3, 12, 0), (value.looks, value.grown, value.span))
        seen = self.read("$ for i in 1 2; do ethtool -S eth0; sleep 10; done\n" + NIC.format(5, 100) + NIC.format(8, 300), "h0.txt")
        value = seen.value["h0:eth0", 3, "rx_pause_frames"]
        self.assertEqual((2, 3, 0), (value.looks, value.grown, value.span))

    def test_tables_of_one_look(self):
        """Other rows below the same titles, as of the parts of a chassis: one look."""
        seen = self.read("leaf1# show pfc counters\n" + PFC.format(7) + PFC.format(9).replace("Ethernet0 ", "Ethernet4 "))
        self.assertEqual((1, 1), (seen.value["leaf1:Ethernet0", 3, "rx_pause_frames"].looks, seen.looks))

    def test_dates(self):
        """What `date` says of looks, and heads that are times."""
        dates = (("Thu Nov 19 10:00:00 UTC 2026", "Thu Nov 19 10:01:30 UTC 2026"), ("Thu 19 Nov 2026 10:00:00 AM UTC", "Thu 19 Nov 2026 10:01:30 AM UTC"),
                 ("2026-11-19T10:00:00Z", "2026-11-19T10:01:30Z"), ("2026-11-19 10:00:00.250000+01:00", "2026-11-19 10:01:30.250000+01:00"), ("Thu Nov 19 10:00:00.123 UTC", "Thu Nov 19 10:01:30.123 UTC"),
                 ("*10:00:00.001 UTC Thu Nov 19 2026", "*10:01:30.001 UTC Thu Nov 19 2026"), ("=== 2026-11-19 10:00:00 ===", "=== 2026-11-19 10:01:30 ==="), ("1795082400", "1795082490"))
        for first, last in dates:
            for before in ("", "leaf1# date\n"):
                if not before and first.isdigit():
                    continue
                seen = self.read(f"{before}{first}\nleaf1# show pfc counters\n{PFC.format(7)}{before}{last}\nleaf1# show pfc counters\n{PFC.format(19)}")
                value = seen.value["leaf1:Ethernet0", 3, "rx_pause_frames"]
                self.assertEqual((2, 12, 90), (value.looks, value.grown, round(value.span, 6)), (first, before))
                self.assertEqual([], seen.unknown, first)

    def test_no_dates(self):
        for line in ("Nov 19 10:00:00 leaf1 kernel: up", "Last input 10:00:00", "Thu 5", "10:00:00", "May 3"):
            self.assertNotIn("looks\t2", self.read(f"leaf1# show pfc counters\n{PFC.format(7)}{line}\n").remark)
            self.assertEqual(0, self.read(f"{line}\n").seconds, line)

    def test_before_and_after(self):
        seen = self.read("=== before ===\n" + NIC.format(5, 100) + "=== after ===\n" + NIC.format(8, 300), "h0_ethtool_-S_eth0.txt")
        self.assertEqual((2, 3), (seen.value["h0:eth0", 3, "rx_pause_frames"].looks, seen.get("h0:eth0", "rx_pause_frames", 3)))

    def test_what_is_around_lines(self):
        """Pagers, numbers of lines, quotes, fences, indents, entities, blanks of a page, UTF-16: the text is the same."""
        text = "leaf1# show pfc counters\n" + PFC.format(7)
        lines = text.split("\n")
        same = {"crlf": text.replace("\n", "\r\n"), "more": text.replace("Ethernet0", " --More-- Ethernet0").replace(" --More-- ", "--More--\b\b\b\b\b\b\b\b        \b\b\b\b\b\b\b\b"),
                "left": text.replace("---------  -", " --More--\n---------  -"), "quote": "".join(f"> {line}\n" for line in lines), "quotes": "".join(f">> {line}\n" for line in lines),
                "fence": f"It says:\n\n```console\n{text}```\n\nWhy?\n", "indent": "".join(f"    {line}\n" for line in lines), "cat -n": "".join(f"{i + 1:6}\t{line}\n" for i, line in enumerate(lines)),
                "grep -n": "".join(f"{i + 31}:{line}\n" for i, line in enumerate(lines[:-1])), "entities": "".join(f"&gt; {line}\n" for line in lines), "blanks": text.replace(" ", "\u00a0"),
                "mark": "\ufeff" + text, "colours": text.replace("leaf1#", "\033[1;32mleaf1\033[0m#"), "utf-16": text.encode("utf-16"), "utf-16-be": b"\xfe\xff" + text.encode("utf-16-be"),
                "vi": "".join(f"{i + 1:3} {line}\n" for i, line in enumerate(lines + ["leaf1#"] * 7))}
        for how, changed in same.items():
            seen = self.read(changed)
            self.assertEqual(7, self.pauses(seen, "leaf1:Ethernet0"), how)
            self.assertEqual([["-", "1", "1"]] if how == "fence" else [], [one for one in seen.unknown if one[1] == "1"], how)

    def test_brackets_are_no_json(self):
        for line in ("[   12.345678] mlx5_core 0000:3b:00.0 eth0: Link down", "[2026-11-19 10:00:00] up", "[0] NCCL INFO up", "[rank3]: up", "[1,0]<stdout>: up", "[root@h0 ~]# ls", "[12] up",
                     "[INFO] up", "{master:0}", "[\"x\" up", "[] up", "[[9,1],0][x.c:3615:y] up"):
            seen = self.read(f"{line}\n{NIC.format(5, 9)}", "h0_ethtool_-S_eth0.txt")
            self.assertEqual([], [text for _, text in seen.remark if "JSON" in text], line)
            self.assertEqual(5, seen.get("h0:eth0", "rx_pause_frames", 3), line)

    def test_json_among_lines(self):
        """Behind a prompt, between other outputs; of what is cut the whole elements."""
        document = '{"interfaces": {\n  "Ethernet1": {"interfaceStatus": "connected", "mtu": 9214},\n  "Ethernet2": {"interfaceStatus": "connected", "mtu": 9000}\n}}\n'
        text = f"leaf1# show interfaces | json\n{document}leaf1# show pfc counters\n{PFC.format(7)}"
        seen = self.read(text)
        self.assertEqual((9214, 9000, 7), (seen.get("leaf1:Ethernet1", "mtu"), seen.get("leaf1:Ethernet2", "mtu"), self.pauses(seen, "leaf1:Ethernet0")))
        self.assertEqual(3, seen.value["leaf1:Ethernet1", None, "mtu"].line - 0)
        for cut in (text.replace(', "mtu": 9000}\n}}\n', ', "mt\n'), f"leaf1# show interfaces | json\n{document[:-20]}"):
            seen = self.read(cut)
            self.assertEqual(9214, seen.get("leaf1:Ethernet1", "mtu"))
            self.assertTrue(any("JSON that is cut" in words for _, words in seen.remark), seen.remark)
        self.assertEqual(7, self.pauses(self.read(text.replace(', "mtu": 9000}\n}}\n', ', "mt\n')), "leaf1:Ethernet0"))

    def test_broken_json_is_said(self):
        seen = self.read('{"a": 1,\n "b" 2}\nleaf1# show pfc counters\n' + PFC.format(7))
        self.assertEqual(7, self.pauses(seen, "leaf1:Ethernet0"))
        self.assertEqual([["2", True]], [[line, "JSON" in words] for line, words in seen.remark if line != "0"])

    def test_names_of_files(self):
        """A flat folder: device, command and time are in the names."""
        for name in ("leaf1_show_pfc_counters.txt", "leaf1-show-pfc-counters.log", "leaf1.txt", "leaf1_2026-11-15T10:00:00Z.txt", "leaf1-20261115-100000.log", "leaf1_show_pfc_counters_1731664800.txt"):
            seen = self.read(PFC.format(7), name)
            self.assertEqual({"leaf1"}, set(seen.device), name)
        for name, count in (("a/h0_ethtool_-S_eth0_20261115-100000.txt", 5), ("a/h0_ethtool_-S_eth0_20261115-100100.txt", 8), ("a/h0_ethtool_-S_eth0_20261115-095900.txt", 1)):
            self.file(name, NIC.format(count, 100 * count))
        seen = Evidence(self.folder / "a")
        value = seen.value["h0:eth0", 3, "rx_pause_frames"]
        self.assertEqual((3, 7, 120), (value.looks, value.grown, value.span))
        self.file("b/ethtool_-S_eth0.txt", NIC.format(5, 9))
        self.file("b/show_pfc_counters.txt", PFC.format(7))
        self.assertEqual({"b"}, set(Evidence(self.folder / "b").device))

    def test_device_and_then_time(self):
        for name, count in (("leaf1/0/a.txt", 7), ("leaf1/60/a.txt", 9), ("leaf2/0/a.txt", 1), ("leaf2/60/a.txt", 1)):
            self.file(f"d/{name}", PFC.format(count))
        seen = Evidence(self.folder / "d")
        value = seen.value["leaf1:Ethernet0", 3, "rx_pause_frames"]
        self.assertEqual((2, 2, 60), (value.looks, value.grown, value.span))

    def test_without_heads(self):
        """What is left of `ethtool -S` behind a grep: the command, or the file's name, says what it is."""
        rows = "     rx_prio3_pause: 5\n     tx_prio3_pause: 2\n"
        for text, name in ((f"root@h0:~# ethtool -S eth0 | grep prio3\n{rows}", "paste.txt"), (f"# ethtool -S eth0 | grep prio3\n{rows}", "h0.txt"), (f"`ethtool -S eth0 | grep prio3`\n{rows}", "h0.txt"),
                           (rows, "h0_ethtool_-S_eth0.txt"), (f"ethtool -S eth0 | grep prio3\n{rows}", "h0.txt"), (f"$ grep prio3 networking/ethtool_-S_eth0\n{rows}", "h0.txt")):
            seen = self.read(text, name)
            self.assertEqual((5, 2), (seen.get("h0:eth0", "rx_pause_frames", 3), seen.get("h0:eth0", "tx_pause_frames", 3)), text)


if __name__ == "__main__":
    unittest.main()
