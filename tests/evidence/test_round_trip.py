# SPDX-License-Identifier: Apache-2.0
"""Bundles of `sim --dump` read back: every counter that a system prints equals the simulator's own document after
subtraction, ports and cables are those of the fabric, and what a system does not print is on a list.  Then a bundle as
operators hand it in: counters of a switch and a NIC reset between the looks, one device missing, another gone at the
second look."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from shown import SOURCE, Evidence

ROCELAB = os.environ["ROCELAB"]
DUMPS = os.environ["ROCELAB_DUMPS"]  # tests/gen/dump: it has --as SYSTEM
FABRIC = SOURCE / "tests" / "dump" / "mixed.yaml"
PAUSE = 84  # bytes of a pause frame with all that: on the line, and in no counter of packets
OVERHEAD = 24  # bytes of a frame that the document counts and devices do not: FCS, preamble, gap
MTU_OVER = 18  # SONiC's MTU is without the Ethernet header and FCS

# What the document says in other words, or estimates: ranks and jobs are test_gpu.py's.
OTHER_WORDS = {"tx_data_packets", "retry_exceeded", "route_drops", "rx_pause_transitions", "pause_threshold", "lossless",
               "full_rate", "tx_pause_transitions", "retransmitted_packets"}
# A run alone knows why a port was idle, what its line lost, what its NIC goes by.
NO_DEVICE = {"cnps_wanted", "connections", "credits_received", "idle_fetch_time", "idle_rate_time", "line_lost", "outside", "rx_buffer_watermark", "software_time", "trimmed"}
NOWHERE = {"sonic": set(),
           "nxos": {"queue_watermark", "rx_packets", "rx_bytes", "group_watermark", "headroom_watermark", "tx_pause_time",
                    "rx_pause_time", "group_drops", "ecn_min", "ecn_max", "headroom"},
           "eos": {"queue_watermark", "rx_packets", "rx_bytes", "group_watermark", "headroom_watermark", "tx_pause_time",
                   "rx_pause_time", "group_drops", "ecn_min", "ecn_max", "headroom", "rx_pause_frames", "tx_pause_frames",
                   "pfc", "watchdog_stormed", "watchdog_drops", "mtu"},
           "cumulus": {"queue_watermark", "rx_bytes", "group_watermark", "headroom_watermark", "ecn_min", "ecn_max",
                       "headroom", "pfc", "watchdog_restored", "watchdog_drops"}}


def dump(folder, system, fabric):
    """A run as a document and as a bundle."""
    document, bundle = pathlib.Path(folder) / "document.json", pathlib.Path(folder) / "bundle"
    with document.open("wb") as out:
        subprocess.run([DUMPS, "sim", "--json", "--dump", str(bundle), "--as", system, str(fabric)], stdout=out,
                       stderr=subprocess.DEVNULL, check=False)
    return document, bundle


class RoundTrip(unittest.TestCase):
    def expected(self, system, document, key):
        """What a device prints where the document says it in another way."""
        name, priority, counter = key
        value = document.value[key].grown
        if counter in ("port_rx_bytes", "port_tx_bytes"):
            value -= OVERHEAD * document.get(name, counter.replace("bytes", "packets"))
        if system == "eos" and counter == "mtu" and not name.startswith("h"):
            value = min(value, 9214)  # EOS has no larger one
        if system == "sonic" and counter == "mtu" and not name.startswith("h"):
            value -= MTU_OVER
        if system == "sonic" and counter == "group_watermark":  # its headroom is counted apart
            value -= document.get(name, "headroom_watermark", priority) or 0
        return value

    def compare(self, system, document, bundle):
        compared = 0
        for key, value in document.value.items():
            name, _, counter = key
            if ":" not in name or counter in OTHER_WORDS or "rank" in counter:
                continue
            read = bundle.value.get(key)
            if read is None:
                self.assertTrue(value.grown == 0 or counter in NOWHERE[system] | NO_DEVICE, f"{system} lacks {key}")
                continue
            if counter == "tx_pause_frames" and name == "h2:0":  # the storm: frames that no adapter sent itself
                continue
            wanted = self.expected(system, document, key)
            near = 1000 if counter.endswith("_time") else 0  # whole microseconds, twice rounded down
            if counter in ("port_rx_bytes", "port_tx_bytes"):
                near = PAUSE * sum(document.get(name, counter[5:7] + "_pause_frames", p) or 0 for p in range(8))
            self.assertLessEqual(abs(read.grown - wanted), near, f"{system} {key} {read.file}:{read.line}")
            self.assertFalse(read.reset, key)
            compared += 1
        return compared

    def test_every_counter(self):
        for system, least in (("sonic", 800), ("nxos", 500), ("eos", 300), ("cumulus", 500)):
            with self.subTest(system), tempfile.TemporaryDirectory() as folder:
                document, bundle = (Evidence("--fabric", FABRIC, path) for path in dump(folder, system, FABRIC))
                self.assertEqual(document.peer, bundle.peer)
                self.assertEqual(len(bundle.peer), 20)
                self.assertEqual(bundle.looks, 2)
                self.assertGreater(self.compare(system, document, bundle), least)
                self.assertEqual(bundle.remark, [])

    def test_cables_without_the_fabric_file(self):
        """LLDP and descriptions tie the same cables, by the systems' own names."""
        for system in NOWHERE:
            with self.subTest(system), tempfile.TemporaryDirectory() as folder:
                _, path = dump(folder, system, FABRIC)
                bundle = Evidence(path)
                self.assertEqual(len(bundle.peer), 20)
                self.assertEqual({bundle.peer[p] for p in bundle.peer}, set(bundle.peer))
                roles = {name: role for name, (role, _) in bundle.device.items()}
                self.assertEqual({roles[f"h{i}"] for i in range(6)}, {roles["h0"]})
                self.assertNotEqual(roles["h0"], roles["leaf0"])


def since(old, new):
    """A counter that began again at the first look."""
    return max(0, int(new.replace(",", "")) - int(old.replace(",", "")))


def reset_database(first, second):
    """COUNTERS_DB of a switch that was started again at the first look."""
    before, after = json.loads(first.read_text()), json.loads(second.read_text())
    for key, entry in after.items():
        for name, value in entry.get("value", {}).items():
            if key.startswith("COUNTERS:") and "WATERMARK" not in name and "CURR" not in name and value.isdigit():
                entry["value"][name] = str(since(before[key]["value"][name], value))
    second.write_text(json.dumps(after, indent=1))


def reset_statistics(first, second):
    """ethtool -S of a NIC whose driver was loaded again."""
    before = dict(re.findall(r"^ +(\S+): (\d+)$", first.read_text(), re.M))
    second.write_text(re.sub(r"^( +)(\S+): (\d+)$", lambda m: f"{m[1]}{m[2]}: {since(before[m[2]], m[3])}",
                             second.read_text(), flags=re.M))


class Damaged(unittest.TestCase):
    """C21: what was reset is counted from there, and what is missing is said."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.fabric = SOURCE / "examples" / "cases" / "C03-incast.yaml"
        _, cls.bundle = dump(cls.folder.name, "sonic", cls.fabric)
        cls.whole = Evidence("--fabric", cls.fabric, cls.bundle)
        first, second = sorted(cls.bundle.iterdir())
        reset_database(first / "leaf0" / "counters_db.json", second / "leaf0" / "counters_db.json")
        for text in (second / "leaf0").glob("show_*"):
            if "status" not in text.name and "lldp" not in text.name and "description" not in text.name:
                text.unlink()
        reset_statistics(first / "h1" / "ethtool_-S_eth0.txt", second / "h1" / "ethtool_-S_eth0.txt")
        for look in (first, second):
            shutil.rmtree(look / "spine1")
        shutil.rmtree(second / "h3")
        cls.damaged = Evidence("--fabric", cls.fabric, cls.bundle)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_no_huge_rate(self):
        resets = 0
        for (name, priority, counter), value in self.damaged.value.items():
            whole = self.whole.get(name, counter, priority)
            if name.startswith("h3") or whole is None:
                continue
            resets += value.reset
            if name.startswith(("leaf0:", "h1:")) and value.looks == 2 and not value.file.startswith("nccl"):
                self.assertLessEqual(value.grown, max(whole, value.last if counter.endswith("watermark") else 0), (name, counter))
        self.assertGreater(resets, 20)

    def test_it_is_said(self):
        remarks = "\n".join(r[-1] for r in self.damaged.remark)
        self.assertRegex(remarks, r"\d+ counters of leaf0 went down between two looks")
        self.assertRegex(remarks, r"\d+ counters of h1 went down between two looks")
        self.assertRegex(remarks, r"nothing was read of 1 of \d+ devices of the fabric: spine1")
        self.assertIn("h3 was not looked at the last time", remarks)
        self.assertNotIn("went down", "\n".join(r[-1] for r in self.whole.remark))

    def test_diagnose_says_it(self):
        run = subprocess.run([ROCELAB, "diagnose", "--json", "--fabric", str(self.fabric), str(self.bundle)],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        self.assertIn(run.returncode, (0, 1), run.stderr)
        answer = json.loads(run.stdout)
        said = json.dumps(answer)
        self.assertIn("spine1", said)
        self.assertIn("leaf0 went down between two looks", said)
        for finding in answer["findings"]:
            for row in finding["evidence"]:
                value = row["value"]
                if isinstance(value, (int, float)) and "pause" in row["counter"]:
                    self.assertLess(value, 1e12, row)


if __name__ == "__main__":
    unittest.main()
