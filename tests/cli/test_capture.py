# SPDX-License-Identifier: Apache-2.0
"""rocelab capture: golden reports, every JSON field, damaged and foreign input, pipes."""
import gzip
import json
import os
import re
import signal
import struct
import subprocess
import sys
import unittest

from support import (CAPTURES, PCAPS, PROGRAM, SOURCE, Case, Patient, environment, file_header, header, packets,
                     pcapng, record, rocelab, unexplained)

GOLDEN = SOURCE / "tests" / "cli" / "golden"
EXAMPLE = SOURCE / "examples" / "incast.pcap"
# What each shows: loss and NAKs, RNR, READ, ATOMIC, UD, PSN wrap, set-up through CM, refused access.
STORED = ["loss_send.pcap", "rc_rnr.pcap", "rc_read.pcap", "ib_atomic_lat.pcap", "ud_send.pcap", "rc_send_psnwrap.pcap",
          "rdma_client.pcap", "rc_bad_rkey_write.pcap", "uc_write.pcap", "rping.pcap"]
SIM = ["sim_pauses.txt", "sim_pauses.json", "sim_lossy.txt"]  # of test_sim.py
SMALL = ["--max-connections", "64"]  # what all of them need; the sanitizers are slow with much memory
COUNTS = ["packets", "roce_packets", "icrc_errors", "malformed", "retransmitted", "naks", "rnr_naks", "cnps",
          "ecn_marked", "pfc_frames"]

# Keys every direction has; its others are absent when 0.
ALWAYS = ["packets", "bytes", "payload_bytes", "goodput_bytes", "first_ns", "last_ns", "first_packet", "requests",
          "retransmitted", "filled", "acks", "ack_latency", "read_latency", "cnp_gap"]


class Golden(Case):
    """UPDATE=1 in the environment writes the files anew; then look at the difference."""

    def check(self, name, text):
        path = GOLDEN / name
        if os.environ.get("UPDATE"):
            path.write_text(text, encoding="utf-8")
        self.assertEqual(text, path.read_text(encoding="utf-8"),
                         f"{path} differs; after a wanted change, UPDATE=1 writes it anew")

    def test_text(self):
        for name in STORED:
            with self.subTest(name):
                self.check(name + ".txt", rocelab("capture", name).stdout)
        self.check("incast.pcap.txt", rocelab("capture", "incast.pcap", cwd=EXAMPLE.parent).stdout)
        self.check("incast.pcap.60.txt", rocelab("capture", "--connections", "2", "incast.pcap", cwd=EXAMPLE.parent,
                                                 env=environment(COLUMNS="60", LC_ALL="C")).stdout)

    def test_the_front_page_shows_what_is_printed(self):
        text = rocelab("capture", "--details", "0", "examples/incast.pcap", cwd=SOURCE).stdout
        path = SOURCE / "README.md"
        page = path.read_text(encoding="utf-8")
        block = re.compile(r"(<!-- output of: rocelab capture --details 0 examples/incast\.pcap -->\n```\n)(.*?)(```\n)", re.S)
        self.shows_parts(block.search(page)[2], text)

    def test_json(self):
        for name in STORED:
            with self.subTest(name):
                self.check(name + ".json", rocelab("capture", "--json", name).stdout)

    def test_no_golden_file_is_left_over(self):
        wanted = {name + end for name in STORED for end in (".txt", ".json")} | {"incast.pcap.txt", "incast.pcap.60.txt",
                                                                                  *SIM}
        self.assertEqual({path.name for path in GOLDEN.iterdir()}, wanted)


class Json(Case):
    def test_every_capture(self):
        files = self.json(*SMALL, *CAPTURES)
        self.assertEqual([file["file"] for file in files], CAPTURES)
        self.assertGreater(len(CAPTURES), 60)
        shape = {key: type(value) for key, value in files[0].items()}
        for file in files:
            with self.subTest(file["file"]):
                self.assertEqual(list(file), list(files[0]))
                self.assertIsNone(file["error"])
                self.assertEqual({key: type(value) for key, value in file.items()}, shape)
                self.assertEqual(file["packets"], len(packets(file["file"])))
                self.assertEqual(file["icrc_errors"], 0)
                for key in COUNTS:
                    self.assertIsInstance(file[key], int)
                self.check_connections(file)
                if not file["connections_evicted"]:
                    self.check_sum_of_bins(file)

    def check_bins(self, bins, file):
        """The numbers, after a look at where they are."""
        if bins is None:
            return []
        self.assertEqual(list(bins), ["width_ns", "first", "bytes"])
        self.assertEqual(bins["width_ns"], file["bins"]["width_ns"])
        if bins["bytes"]:
            self.assertTrue(bins["bytes"][0] and bins["bytes"][-1], "zeros at both ends are left out")
        self.assertLessEqual(bins["first"] + len(bins["bytes"]), 64)
        return bins["bytes"]

    def check_sum_of_bins(self, file):
        """A bin of the file holds what its connections have there: `first` says where that is."""
        total = [0] * 64
        for connection in file["connections"]:
            for way in ("forward", "reverse"):
                bins = (connection[way] or {}).get("bins", {"first": 0, "bytes": []})
                for at, count in enumerate(bins["bytes"], bins["first"]):
                    total[at] += count
        listed = [0] * file["bins"]["first"] + self.check_bins(file["bins"], file)
        self.assertEqual(listed + [0] * (64 - len(listed)), total)

    def check_connections(self, file):
        for connection in file["connections"]:
            self.assertRegex(connection["src"], r"^[0-9a-f.:]+$")
            self.assertRegex(connection["dst"], r"^[0-9a-f.:]+$")
            self.assertTrue(connection["src_qp"] is None or connection["src_qp"] < 1 << 24)
            self.assertLess(connection["dst_qp"], 1 << 24)
            both = [connection[way] for way in ("forward", "reverse") if connection[way]]
            for key in ("packets", "bytes", "payload_bytes", "goodput_bytes", "retransmitted", "filled", "reordered",
                        "gaps", "missing", "naks", "rnr_naks", "duplicate_acks", "cnps", "ecn_capable", "ecn_marked",
                        "psn_wraps", "icrc_errors"):
                self.assertEqual(connection[key], sum(way.get(key, 0) for way in both), key)
            for way in both:
                self.assertEqual([key for key in way if key in ALWAYS], ALWAYS)
                self.assertFalse([key for key in way if key not in ALWAYS and not way[key]], "absent when 0")
                self.assertEqual(way.get("naks", 0), sum(way.get("naks_by", {}).values()))
                self.assertEqual(way["retransmitted"], sum(way.get("retransmitted_by", {}).values()))
                self.assertEqual(way["goodput_bytes"], sum(self.check_bins(way.get("bins"), file)))
                for ops in way.get("ops", {}).values():
                    self.assertGreater(ops["messages"], 0)
                    self.assertEqual(ops["messages"], sum(size["messages"] for size in ops["sizes"]))
                for latency in (way["ack_latency"], way["read_latency"], way["cnp_gap"]):
                    if latency:
                        rising = [latency[key] for key in ("min_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns")]
                        self.assertEqual(rising, sorted(rising))
        if not file["connections_evicted"]:
            for key in ("retransmitted", "naks", "rnr_naks"):
                self.assertEqual(file[key], sum(c[key] for c in file["connections"]), key)

    def test_the_program_explains_every_key(self):
        result = rocelab("capture", "--json", *SMALL, *CAPTURES, EXAMPLE, self.file("cut", self.odd_file()))
        short = rocelab("capture", "--json", "--no-icrc", self.file("short", self.short_middle()))
        self.assertEqual(unexplained("capture", json.loads(result.stdout), json.loads(short.stdout)), ([], []))

    def odd_file(self):
        """A link type that is not read, and a malformed packet: the keys that only these have."""
        entry = packets("rc_send.pcap")[0]
        bad = bytearray(entry[4])
        bad[14] = 0x41  # IPv4 header of four bytes
        return pcapng([1, 105], [(0, entry), (1, entry), (0, (*entry[:4], bytes(bad)))])

    def short_middle(self):
        """A Middle packet with less payload than the First before it; its ICRC is not made anew."""
        content = file_header("rc_write.pcap")
        shortened = False
        for seconds, fraction, captured, length, data in packets("rc_write.pcap"):
            if data[42] == 0x07 and not shortened:  # Ethernet, IPv4, UDP; RC WRITE Middle
                ip, udp = (struct.unpack_from(">H", data, at)[0] - 256 for at in (16, 38))
                data = bytearray(data[:-256])
                struct.pack_into(">H", data, 16, ip)
                struct.pack_into(">H", data, 38, udp)
                data[22] += 1  # a TTL one higher makes up for the length in the header's checksum
                captured, length, shortened = captured - 256, length - 256, True
            content += record(seconds, fraction, captured, length, data)
        self.assertTrue(shortened)
        return content

    def test_quiet_changes_nothing(self):
        self.assertEqual(rocelab("capture", "--json", "--quiet", "loss_send.pcap").stdout,
                         rocelab("capture", "--json", "loss_send.pcap").stdout)

    def test_any_file_name(self):
        content = (PCAPS / "rc_send.pcap").read_bytes()
        for name in ('quote".pcap', "back\\slash", "new\nline", "gr\u00fcn", "\x01"):
            self.file(name, content)
            self.assertEqual(self.json(name, cwd=self.folder)[0]["file"], name)
        raw = os.fsencode(self.folder) + b"/not-\xff-utf8"
        with open(raw, "wb") as file:
            file.write(content)
        result = subprocess.run([os.fsencode(PROGRAM), b"capture", b"--json", raw], capture_output=True, check=True,
                                env=environment())
        self.assertTrue(json.loads(result.stdout)["files"][0]["file"].endswith("/not-\ufffd-utf8"))

    def test_several_files(self):
        files = self.json("rc_bad_rkey_write.pcap", "rc_read.pcap", status=1)
        self.assertEqual(files[0], self.json("rc_bad_rkey_write.pcap", status=1)[0])
        self.assertEqual(files[1], self.json("rc_read.pcap", status=0)[0])


class Example(Case):
    def test_it_is_what_its_script_makes(self):
        path = self.folder / "made.pcap"
        subprocess.run([sys.executable, SOURCE / "examples" / "make_incast.py", path], check=True)
        self.assertEqual(path.read_bytes(), EXAMPLE.read_bytes())

    def test_what_was_put_in_is_found(self):
        file, = self.json(EXAMPLE, status=1)
        self.assertEqual((file["icrc_errors"], file["naks"], file["pfc_frames"], file["malformed"]), (1, 2, 4, 0))
        self.assertEqual(len(file["connections"]), 5)
        self.assertEqual([pause["xoff"] for pause in file["pauses"]], [2])
        self.assertEqual(sum(c["forward"]["ops"]["write"]["messages"] for c in file["connections"]), 30)


class Text(Case):
    def test_quiet_is_the_verdict(self):
        text = rocelab("capture", "--quiet", "loss_send.pcap").stdout
        self.assertIn("VERDICT", text)
        self.assertNotIn("CONNECTION", text)
        self.assertTrue(rocelab("capture", "loss_send.pcap").stdout.startswith(text))

    def test_the_filter_names_the_packets(self):
        finding = next(f for f in self.json("loss_send.pcap")[0]["verdict"] if len(f["packets"]) > 1)
        self.assertEqual(finding["filter"], "frame.number in {" + ", ".join(map(str, finding["packets"])) + "}")
        self.assertIn("Wireshark: " + finding["filter"], rocelab("capture", "loss_send.pcap").stdout)

    def test_lines_fit(self):
        for width in (60, 80, 160):
            text = rocelab("capture", "--connections", "0", "--details", "100", *SMALL, *CAPTURES,
                           env=environment(COLUMNS=str(width))).stdout
            self.assertGreater(text.count("\n"), 10 * len(CAPTURES))
            for line in text.splitlines():
                if "Wireshark: " not in line:  # that one is to be copied whole
                    self.assertLessEqual(len(line), width, line)

    def test_as_many_connections_as_asked_for(self):
        def rows(*arguments):
            text = rocelab("capture", *arguments, EXAMPLE).stdout
            table = text[text.index("\nCONNECTIONS\n"):].split("\n\n")[0]
            return len(re.findall(r"(?m)^ +\d+  ", table)), len(re.findall(r"(?m)^CONNECTION \d+ ", text)), table
        every = len(self.json(EXAMPLE)[0]["connections"])
        self.assertGreater(every, 3)
        self.assertEqual(rows("--connections", "0", "--details", "0")[:2], (every, 0))
        self.assertEqual(rows("--connections", "0", "--details", "1K")[:2], (every, every))
        shown, details, table = rows("--connections", "2")
        self.assertEqual((shown, details), (2, 2))
        self.assertIn(f"... and {every - 2} more", table)

    def test_the_memory_bound_is_said_when_it_is_met(self):
        file = self.json("--max-connections", "1", EXAMPLE)[0]
        self.assertGreater(file["connections_evicted"], 0)
        self.assertIn("dropped to keep the memory bound", rocelab("capture", "--max-connections", "1", EXAMPLE).stdout)

    def test_strict(self):
        kinds = {}  # severities -> a capture that has them
        for file in self.json(*SMALL, *CAPTURES):
            kinds[frozenset(finding["severity"] for finding in file["verdict"])] = file["file"]
        self.assertTrue(any("error" in kind for kind in kinds))
        self.assertTrue(any("warning" in kind and "error" not in kind for kind in kinds))
        self.assertTrue(any(not kind & {"error", "warning"} for kind in kinds))
        for kind, name in kinds.items():
            self.assertEqual(rocelab("capture", name).returncode, 1 if "error" in kind else 0)
            self.assertEqual(rocelab("capture", "--strict", name).returncode, 1 if kind & {"error", "warning"} else 0)


class Unreadable(Case):
    def test_missing(self):
        result = rocelab("capture", "nowhere.pcap")
        self.wrong(result, "nowhere.pcap: ", "No such file or directory")
        self.assertEqual(result.stdout, "")

    def test_directory(self):
        self.wrong(rocelab("capture", self.folder), "directory")

    def test_empty(self):
        self.wrong(rocelab("capture", self.file("empty", b"")), "empty")
        self.wrong(rocelab("capture", "-", stdin=b""), "standard input: ")

    def test_compressed(self):
        path = self.file("x.pcap.gz", gzip.compress((PCAPS / "rc_send.pcap").read_bytes()))
        self.wrong(rocelab("capture", path), "gzip")

    def test_text(self):
        self.wrong(rocelab("capture", self.file("x.txt", b"These are not packets, as anybody can see.\n" * 9)), "x.txt: ")

    def test_json_has_an_entry_for_it(self):
        file, = self.json("nowhere.pcap", status=2)
        self.assertIn("No such file", file["error"])
        self.assertEqual(list(file), list(self.json("rc_send.pcap")[0]))
        self.assertEqual((file["packets"], file["connections"], file["verdict"]), (0, [], []))

    def test_only_a_header(self):
        result = rocelab("capture", self.file("none.pcap", header()))
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("none.pcap: 0 packets\n", result.stdout)
        self.assertIn("no RoCE packets", result.stdout)

    def test_truncated(self):
        raw = (PCAPS / "loss_send.pcap").read_bytes()
        whole = packets("loss_send.pcap")
        path = self.file("cut.pcap", raw[:-7])
        result = rocelab("capture", path)
        self.wrong(result, "cut.pcap: ")
        self.assertIn(f"{len(whole) - 1:,} packets", result.stdout)
        self.assertIn("not all of it was read: ", result.stdout)
        file, = self.json(path, status=2)
        self.assertEqual(file["packets"], len(whole) - 1)
        self.assertTrue(file["error"])
        self.assertIn(file["error"], result.stderr)

    def test_the_other_files_are_still_read(self):
        damaged = self.file("bad.pcap", (PCAPS / "rc_send.pcap").read_bytes()[:-1])
        result = rocelab("capture", damaged, "nowhere.pcap", "rc_read.pcap")
        self.assertEqual(result.returncode, 2)
        self.assertEqual(result.stderr.count("\n"), 2)
        self.assertIn("\nrc_read.pcap: ", result.stdout)
        files = self.json(damaged, "nowhere.pcap", "rc_read.pcap", status=2)
        self.assertEqual([bool(file["error"]) for file in files], [True, True, False])
        self.assertGreater(files[2]["packets"], 0)

    def test_wrong_link_type(self):
        entry = packets("rc_send.pcap")[0]
        path = self.file("wifi.pcap", header(link_type=105) + record(*entry) * 3)
        file, = self.json(path)
        self.assertEqual((file["unread"], file["roce_packets"]), (3, 0))
        self.assertEqual([(t["link_type"], t["packets"]) for t in file["unread_types"]], [(105, 3)])
        result = rocelab("capture", path)
        self.assertIn("3 packets not read: link type " + file["unread_types"][0]["name"], result.stdout)
        self.wrong(result, "nothing in it can be read")

    def test_two_link_types(self):
        entries = packets("rc_send.pcap")
        path = self.file("two.pcapng", pcapng([105, 1], [(i % 2, entry) for i, entry in enumerate(entries)]))
        file, = self.json(path)
        self.assertEqual(file["packets"], len(entries))
        self.assertEqual(file["unread"], (len(entries) + 1) // 2)
        self.assertEqual(file["roce_packets"], len(entries) // 2)

    def test_pcapng_says_the_same(self):
        entries = packets("loss_send.pcap")
        path = self.file("same.pcapng", pcapng([1], [(0, entry) for entry in entries]))
        ours, theirs = self.json(path)[0], self.json("loss_send.pcap")[0]
        self.assertEqual([ours[key] for key in COUNTS], [theirs[key] for key in COUNTS])

    def test_cut_by_the_snap_length(self):
        cut = b"".join(record(s, f, min(c, 80), n, data[:80]) for s, f, c, n, data in packets("rc_write.pcap"))
        path = self.file("snap.pcap", header(snap_length=80) + cut)
        file, whole = self.json(path)[0], self.json("rc_write.pcap")[0]
        self.assertGreater(file["cut"], 0)
        self.assertEqual(file["icrc_errors"], 0)
        self.assertEqual(file["icrc_checked"] + file["cut"], whole["icrc_checked"])
        for key in ("roce_packets", "retransmitted", "naks", "bytes"):
            self.assertEqual(file[key], whole[key], key)
        self.assertIn("cut short by the capture's snap length", rocelab("capture", path).stdout)

    def test_wrong_icrc_is_found(self):
        entries = packets("rc_write.pcap")
        seconds, fraction, captured, length, data = entries[5]
        entries[5] = (seconds, fraction, captured, length, data[:-1] + bytes([data[-1] ^ 1]))
        path = self.file("icrc.pcap", file_header("rc_write.pcap") + b"".join(record(*entry) for entry in entries))
        file, = self.json(path)
        self.assertEqual(file["icrc_errors"], 1)
        self.assertTrue(any(6 in finding["packets"] for finding in file["verdict"]))
        self.assertEqual(self.json("--no-icrc", path)[0]["icrc_checked"], 0)


class Pipe(Patient, Case):
    def test_standard_input(self):
        raw = (PCAPS / "loss_send.pcap").read_bytes()
        result = rocelab("capture", "--json", "-", stdin=raw)
        file, = json.loads(result.stdout)["files"]
        self.assertEqual(file.pop("file"), "-")
        wanted = self.json("loss_send.pcap")[0]
        del wanted["file"]
        self.assertEqual(file, wanted)
        self.assertIn("standard input: ", rocelab("capture", "--quiet", "-", stdin=raw).stdout)

    def start(self, *arguments):
        process = subprocess.Popen([PROGRAM, "capture", *arguments, "-"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def dribble(self, process, name, count):
        """Writes packets one by one; --interval 0 owes a line for each before it waits again."""
        process.stdin.write(file_header(name))
        process.stdin.flush()
        lines = []
        for number, entry in enumerate(packets(name)[:count], 1):
            process.stdin.write(record(*entry))
            process.stdin.flush()
            if number == 1:
                self.assertEqual(process.stdout.readline().split()[:3], [b"time", b"packets", b"RoCE"])
            lines.append(process.stdout.readline().split())
        return lines

    def test_follow(self):
        process = self.start("--interval", "0")
        lines = self.dribble(process, "loss_send.pcap", 12)
        self.assertEqual([int(line[1]) for line in lines], list(range(1, 13)))
        process.stdin.close()
        rest = process.stdout.read().decode()
        process.wait()
        self.assertIn("standard input: 12 packets in ", rest)
        self.assertIn("VERDICT", rest)
        self.assertEqual(process.stderr.read(), b"")

    def interrupted(self, number):
        process = self.start("--interval", "0")
        self.dribble(process, "rc_send.pcap", 5)
        process.send_signal(number)
        rest = process.stdout.read().decode()
        process.wait()
        process.stdin.close()
        self.assertIn("standard input: 5 packets in ", rest)
        self.assertIn("\nCONNECTIONS\n", rest)
        self.assertIn(process.returncode, (0, 1))
        self.assertEqual(process.stderr.read(), b"")

    def test_interrupt_gives_the_report(self):
        self.interrupted(signal.SIGINT)

    def test_terminate_gives_the_report(self):
        self.interrupted(signal.SIGTERM)

    def test_what_the_writer_flushes_when_stopped_is_read(self):
        """tcpdump, stopped by the same Ctrl-C, writes what it still holds: that is part of the capture."""
        process = self.start("--interval", "0")
        raw = (PCAPS / "rc_send.pcap").read_bytes()
        self.dribble(process, "rc_send.pcap", 5)
        process.send_signal(signal.SIGINT)
        used = 24 + sum(16 + entry[2] for entry in packets("rc_send.pcap")[:5])
        out, err = process.communicate(raw[used:])
        self.assertIn(f"standard input: {len(packets('rc_send.pcap'))} packets in ", out.decode())
        self.assertEqual(err, b"")

    def test_json_has_no_status_lines(self):
        process = self.start("--json", "--interval", "0")
        out, err = process.communicate((PCAPS / "rc_send.pcap").read_bytes())
        self.assertEqual(len(json.loads(out)["files"]), 1)
        self.assertEqual(err, b"")

    def test_a_pipe_that_ends_in_a_packet(self):
        raw = (PCAPS / "rc_send.pcap").read_bytes()
        result = rocelab("capture", "-", stdin=raw[:-5])
        self.wrong(result, "standard input: ")
        self.assertIn(f"standard input: {len(packets('rc_send.pcap')) - 1} packets", result.stdout)

    def test_the_reader_of_a_pipe_goes_away(self):
        process = self.start("--interval", "0")
        self.dribble(process, "rc_send.pcap", 3)
        process.stdout.close()
        try:
            for entry in packets("rc_send.pcap")[3:] * 100:
                process.stdin.write(record(*entry))
                process.stdin.flush()
        except BrokenPipeError:
            pass
        self.assertEqual(process.wait(), 2)
        self.assertEqual(process.stderr.read(), b"")
        try:
            process.stdin.close()
        except BrokenPipeError:
            pass


class Endian(Case):
    def test_big_endian(self):
        swapped = struct.pack(">IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1)
        for seconds, fraction, captured, length, data in packets("rc_send.pcap"):
            swapped += struct.pack(">IIII", seconds, fraction % 1000000, captured, length) + data
        ours, theirs = self.json(self.file("big.pcap", swapped))[0], self.json("rc_send.pcap")[0]
        self.assertEqual([ours[key] for key in COUNTS], [theirs[key] for key in COUNTS])


if __name__ == "__main__":
    unittest.main()
