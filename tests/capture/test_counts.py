# SPDX-License-Identifier: Apache-2.0
"""What `rocelab capture --json` counts, against a count of our own from tshark's fields.

Usage: test_counts.py ROCELAB GEN_CAPTURE PCAPS

The count here is as literal as it can be: a request is sent again when its PSN is in the set of PSNs
seen from the same source to the same QP.  It shares no code and no idea with the analysis.  tshark does
not verify ICRCs: what damaged packets change is known from the maker of the capture alone.
"""
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

ROCELAB, GEN_CAPTURE, PCAPS = sys.argv[1:4]
FIELDS = ["frame.number", "ip.src", "ipv6.src", "infiniband.grh.sgid", "ip.dst", "ipv6.dst", "infiniband.grh.dgid",
          "infiniband.bth.opcode", "infiniband.bth.destqp", "infiniband.bth.psn", "infiniband.aeth.syndrome",
          "ip.dsfield.ecn", "ipv6.tclass.ecn", "infiniband.grh.tclass", "vxlan.vni"]
# (retransmitted, naks, rnr_naks) that must not change, whatever is compared with whatever
KNOWN = {
    "loss_send.pcap": (231, 25, 0),
    "loss_write.pcap": (244, 13, 0),
    "ib_send_bw_rnr.pcap": (356, 4, 4),
    "perf_send_lat.pcap": (71, 0, 0),
    "rc_pingpong.pcap": (17, 0, 0),
    "rc_send.pcap": (8, 0, 0),
    "rc_rnr.pcap": (26, 0, 26),
    "rc_retry_exceeded.pcap": (2, 0, 0),
    "rc_write_imm_psnwrap.pcap": (1, 0, 0),
    "rc_bad_rkey_read.pcap": (0, 1, 0),
}
# verb, messages, bytes of each: what the programs that were captured did, behind the loss
MESSAGES = {"loss_send.pcap": ("send", 200, 3000), "loss_write.pcap": ("write", 38, 8192)}
FILLED = {"loss_send.pcap": 23, "loss_write.pcap": 10}


def ours(path, *options):
    result = subprocess.run([ROCELAB, "capture", "--json", *options, str(path)], capture_output=True, text=True,
                            check=False)
    if result.returncode not in (0, 1):
        raise AssertionError(f"{path}: {result.stderr}")
    return json.loads(result.stdout)["files"][0]


def tshark(path):
    command = ["tshark", "-r", str(path), "-Y", "infiniband.bth", "-T", "fields", "-E", "separator=;", "-E",
               "occurrence=l"]
    for field in FIELDS:
        command += ["-e", field]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [dict(zip(FIELDS, line.split(";"))) for line in output.splitlines()]


def records(path):
    """Records in a classic little-endian pcap file."""
    data, at, number = path.read_bytes(), 24, 0
    while at < len(data):
        at += 16 + struct.unpack_from("<I", data, at + 8)[0]
        number += 1
    return number


def tshark_all(paths):
    """The rows of each file, with one tshark for all: it takes longer to start than to read any of them."""
    with tempfile.TemporaryDirectory() as folder:
        whole = pathlib.Path(folder) / "all.pcapng"
        subprocess.run(["mergecap", "-a", "-w", str(whole), *map(str, paths)], check=True)
        rows = iter(tshark(whole))
    row, end, result = next(rows), 0, []
    for path in paths:
        end += records(path)
        mine = []
        while row and int(row["frame.number"]) <= end:
            mine.append(row)
            row = next(rows, None)
        result.append(mine)
    return result


def is_request(opcode):
    """Every RC and UC request; UD has PSNs but never sends again."""
    return opcode < 0x60 and not 13 <= opcode <= 18


def count(rows):
    """The literal count."""
    result = {"roce_packets": 0, "retransmitted": 0, "naks": 0, "rnr_naks": 0, "cnps": 0, "ecn_marked": 0}
    seen = set()
    for row in rows:
        result["roce_packets"] += 1
        opcode = int(row["infiniband.bth.opcode"], 0)
        ecn = row["infiniband.grh.tclass"] or row["ipv6.tclass.ecn"] or row["ip.dsfield.ecn"]
        result["ecn_marked"] += ecn != "" and int(ecn, 0) & 3 == 3
        if opcode == 0x81:
            result["cnps"] += 1
        elif opcode == 17:
            kind = int(row["infiniband.aeth.syndrome"], 0) >> 5 & 3
            result["naks"] += kind == 3
            result["rnr_naks"] += kind == 1
        elif is_request(opcode):
            source = row["infiniband.grh.sgid"] or row["ipv6.src"] or row["ip.src"]
            destination = row["infiniband.grh.dgid"] or row["ipv6.dst"] or row["ip.dst"]
            key = (source, destination, row["vxlan.vni"], row["infiniband.bth.destqp"],
                   int(row["infiniband.bth.psn"], 0))
            result["retransmitted"] += key in seen
            seen.add(key)
    return result


class Recorded(unittest.TestCase):
    def test_every_capture(self):
        paths = sorted(pathlib.Path(PCAPS).glob("*.pcap"))
        self.assertGreater(len(paths), 60)
        total = 0
        for path, rows in zip(paths, tshark_all(paths)):
            with self.subTest(path.name):
                mine, theirs = ours(path), count(rows)
                self.assertEqual({key: mine[key] for key in theirs}, theirs)
                self.assertEqual((mine["icrc_errors"], mine["malformed"]), (0, 0))
                directions = [way for connection in mine["connections"]
                              for way in (connection["forward"], connection["reverse"]) if way]
                self.assertEqual(sum(way["packets"] for way in directions), mine["roce_packets"])
                if path.name in KNOWN:
                    self.assertEqual((mine["retransmitted"], mine["naks"], mine["rnr_naks"]), KNOWN[path.name])
                if path.name in MESSAGES:
                    verb, messages, size = MESSAGES[path.name]
                    ops = [way["ops"][verb] for way in directions if verb in way.get("ops", {})]
                    self.assertEqual([(op["messages"], op["min_bytes"], op["max_bytes"], op["bytes"]) for op in ops],
                                     [(messages, size, size, messages * size)])
                if path.name in FILLED:
                    self.assertEqual(sum(way["filled"] for way in directions), FILLED[path.name])
                total += mine["roce_packets"]
        self.assertEqual(total, 9102)


class Made(unittest.TestCase):
    def test_mixed(self):
        with tempfile.TemporaryDirectory() as folder:
            path, expect = pathlib.Path(folder) / "mixed.pcap", pathlib.Path(folder) / "mixed.json"
            subprocess.run([GEN_CAPTURE, "mixed", str(path), "--expect", str(expect)], check=True)
            mine = ours(path)
            wanted = json.loads(expect.read_text())
            self.assertEqual({key: mine[key] for key in wanted}, wanted)
            self.assertGreater(wanted["retransmitted"], 0)
            # tshark believes damaged packets, and reads those whose BTH version is wrong
            unchecked, theirs = ours(path, "--no-icrc"), count(tshark(path))
            theirs["roce_packets"] -= wanted["malformed"]
            self.assertEqual({key: unchecked[key] for key in theirs}, theirs)

    def test_writes_of_many_connections(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "small.pcap"
            subprocess.run([GEN_CAPTURE, "small", str(path), "--packets", "20000", "--connections", "700"], check=True)
            rows, mine = count(tshark(path)), ours(path)
            self.assertEqual({key: mine[key] for key in rows}, rows)
            self.assertEqual(len(mine["connections"]), 700)
            few = ours(path, "--max-connections", "100")
            self.assertEqual({key: few[key] for key in rows}, rows | {"retransmitted": few["retransmitted"]})
            self.assertLessEqual(len(few["connections"]), 100)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
