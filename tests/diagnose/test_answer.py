#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The three answers of `rocelab diagnose`: a cause, clear, not enough; what stands out.  Never an all-clear over something."""
import functools
import json
import pathlib
import shutil
import tempfile
import unittest

import public
from support import DUMPS, PROGRAM, SOURCE, Case, rocelab

CAUSE, CLEAR, NOT_ENOUGH = 1, 0, 3
ETHTOOL = "NIC statistics:\n     rx_packets_phy: {packets}\n     tx_packets_phy: {packets}\n     rx_discards_phy: {drops}\n     rx_crc_errors_phy: {crc}\n" \
          "     link_down_events_phy: {downs}\n     rx_prio3_pause: {pauses}\n     rx_prio3_pause_duration: {paused_us}\n"
PFC = """  Port Rx    PFC0    PFC1    PFC2    PFC3    PFC4    PFC5    PFC6    PFC7
---------  ------  ------  ------  ------  ------  ------  ------  ------
Ethernet0       0       0       0       0       0       0       0       0
"""
COUNTS = {"packets": 0, "drops": 0, "crc": 0, "downs": 0, "pauses": 0, "paused_us": 0}


HELD = tempfile.TemporaryDirectory(prefix="rocelab-answer-")
SYSTEMS = {"sonic": "sonic", "nxos": "nxos", "eos": "eos", "nvue": "cumulus"}  # of asks, of dumps


@functools.cache
def dumped(system):
    """A healthy run as dumps: for as long as the tests run."""
    folder = pathlib.Path(HELD.name) / system
    rocelab("sim", "--quiet", "--dump", folder, "--as", system, SOURCE / "examples/cases/H01-permutation.yaml", program=DUMPS)
    return folder


class Asks(Case):
    """Every output that may be asked for has a reader."""

    @classmethod
    def setUpClass(cls):
        cls.known = json.loads(rocelab("diagnose", "--list", "--json").stdout)

    def test_kinds(self):
        kinds = {kind["kind"] for kind in self.known["kinds"]}
        self.assertGreater(len(self.known["asks"]), 40)
        self.assertEqual([], [ask for ask in self.known["asks"] if ask["kind"] not in kinds])

    def test_dumps_have_what_is_asked_for(self):
        """A file of a dump is called by its command: what it holds is read."""
        asked = {}
        for ask in self.known["asks"]:
            name = ask["command"].replace(" | json", ".json").replace(" -o json", ".json").replace(" -f json", "_-f_json.json").replace(" ", "_")
            asked.setdefault(ask["system"], set()).add(name if name.endswith(".json") else name + ".txt")
        found = set()
        for system, called in SYSTEMS.items():
            for device, port, of in (("leaf0", "swp1", system), ("h0", "eth0", "host")):
                [source] = sorted(dumped(called).glob(f"*/{device}"))[-1:]
                for name in asked[of]:
                    path = source / (name.replace("#", port) if "nv_" not in name else name.replace("_#", "").replace(".json", f"_{port}.json"))
                    if path.exists() and (of, name) not in found:
                        found.add((of, name))
                        place = self.folder / "asked" / f"{of}-{name}"
                        (place / device).mkdir(parents=True)
                        (place / device / path.name).write_bytes(path.read_bytes())
                        (place / "known").mkdir()
                        (place / "known" / "pfc.txt").write_text(PFC, encoding="utf-8")
                        document = json.loads(rocelab("diagnose", "--json", place).stdout)
                        self.assertNotIn("no reader knows", " ".join(remark["text"] for remark in document["remarks"]), name)
        self.assertGreaterEqual(len(found), 27, found)


class Answer(Case):
    def answer(self, *looks, device="leaf1", name="ethtool_-S_swp1.txt", status=None):
        """Of looks ten seconds apart: numbers for ETHTOOL, or a text."""
        for number, look in enumerate(looks):
            place = self.folder / "dumps" / str(10 * number) / device
            place.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(look if isinstance(look, str) else ETHTOOL.format(**{**COUNTS, **look}), encoding="utf-8")
        done = rocelab("diagnose", "--json", self.folder / "dumps")
        document = json.loads(done.stdout)
        self.assertEqual({"clear": CLEAR, "cause": CAUSE, "not-enough": NOT_ENOUGH}[document["answer"]], done.returncode, done.stderr)
        text = rocelab("diagnose", self.folder / "dumps")
        self.assertEqual(done.returncode, text.returncode)
        self.assertRegex(text.stdout, r"\Aanswer: (clear|cause|not enough|not the network): ")
        if status is not None:
            self.assertEqual(status, done.returncode, text.stdout)
        return document, " ".join(text.stdout.split())

    def test_two_looks_and_nothing_grew(self):
        document, text = self.answer({"packets": 10**6, "crc": 7}, {"packets": 10**7, "crc": 7}, status=CLEAR)
        self.assertIn("between the looks", document["because"])
        [crc] = document["standing"]
        self.assertEqual((crc["counter"], crc["count"], crc["grew"], crc["looks"]), ("crc_errors", 7, False, 2))
        self.assertIn("since it was cleared, none between the looks", text)

    def test_one_look_at_zeros(self):
        document, _ = self.answer({"packets": 10**9, "downs": 2}, status=CLEAR)
        self.assertEqual([], document["standing"])
        self.assertIn("since the counters were cleared", document["because"])

    def test_one_look_and_something_stands_out(self):
        document, text = self.answer({"packets": 10**7, "crc": 90, "drops": 30000, "downs": 9}, status=NOT_ENOUGH)
        self.assertEqual([], document["findings"])
        self.assertEqual(["crc_errors", "link_down_events", "rx_discards"], [one["counter"] for one in document["standing"]])
        self.assertAlmostEqual(90 / (10**7 + 90), document["standing"][0]["share"])
        self.assertRegex(text, r"stands out: leaf1:swp1 crc_errors 90 frames since it was cleared, 0.0009% of the packets: .* \S+ethtool_-S_swp1.txt:5")

    def test_a_share_that_is_small_stands_last(self):
        document, _ = self.answer({"packets": 10**12, "crc": 3, "drops": 10**8}, status=NOT_ENOUGH)
        self.assertEqual(["rx_discards", "crc_errors"], [one["counter"] for one in document["standing"]])

    def test_two_looks_and_something_grew(self):
        """Too little for a rule, and no all-clear either."""
        document, _ = self.answer({"packets": 10**6}, {"packets": 10**9, "drops": 1}, status=NOT_ENOUGH)
        self.assertTrue(document["standing"][0]["grew"])

    def test_pauses_that_cost_nothing(self):
        looks = {"packets": 10**6}, {"packets": 10**9, "pauses": 20, "paused_us": 900}
        self.answer(*looks, status=CLEAR)
        looks[1]["paused_us"] = 4 * 10**6  # of ten seconds
        document, text = self.answer(*looks, status=NOT_ENOUGH)
        self.assertEqual({"rx_pause_time", "rx_pause_frames"}, {one["counter"] for one in document["standing"]})
        self.assertIn("missing: counters of the device behind leaf1:swp1", text)

    def test_drops_on_the_way_out_alone_show_loss(self):
        """Of a text that was cut before them nothing is clear: not by drops of frames that are too large, not by CRC."""
        port = "Ethernet1/7 is up\n  Last clearing of \"show interface\" counters 3d04h\n  RX\n    5000 input packets  983000 bytes\n" \
               "    0 runts  0 giants  {} CRC  0 no buffer\n"
        out = "  TX\n    6000 output packets  99000 bytes\n    0 output error  0 collision  0 deferred  0 late collision\n    0 output discard\n"
        name = "show_interface.txt"
        self.answer(port.format(0), name=name, status=NOT_ENOUGH)
        self.answer(port.format(0) + out, name=name, status=CLEAR)
        document, text = self.answer(port.format(1) + out, name=name, status=NOT_ENOUGH)
        self.assertEqual([3 * 86400 + 4 * 3600], [one["cleared_s"] for one in document["standing"]])
        self.assertIn("crc_errors 1 frames since it was cleared 3 days ago", text)

    def test_counters_that_were_just_cleared(self):
        port = "Ethernet1/7 is up\n  Last clearing of \"show interface\" counters {}\n  RX\n    5000 input packets  983000 bytes\n" \
               "    0 runts  0 giants  0 CRC  0 no buffer\n  TX\n    6000 output packets  99000 bytes\n    0 output discard\n"
        self.answer(port.format("00:00:09"), name="show.txt", status=NOT_ENOUGH)
        self.answer(port.format("00:10:09"), name="show.txt", status=CLEAR)
        self.answer(port.format("00:00:09"), port.format("00:00:19"), name="show.txt", status=CLEAR)

    def test_a_switch_of_the_fabric_that_nobody_looked_at(self):
        fabric = SOURCE / "examples/cases/H01-permutation.yaml"
        folder = self.folder / "less"
        shutil.copytree(dumped("sonic"), folder)
        said = rocelab("diagnose", "--fabric", fabric, folder)
        self.assertEqual(CLEAR, said.returncode, said.stdout)
        for place in folder.glob("*/spine1"):
            shutil.rmtree(place)
        said = rocelab("diagnose", "--fabric", fabric, folder)
        self.assertEqual(NOT_ENOUGH, said.returncode)
        self.assertIn("answer: not enough: nothing was read of spine1", said.stdout)
        self.assertIn("to decide, of spine1: drops by queue", said.stdout)

    def test_pauses_alone_clear_nobody(self):
        """A port on which PFC is off counts no pauses."""
        document, _ = self.answer(PFC, name="pfc.txt", status=NOT_ENOUGH)
        self.assertIn("would show loss", document["because"])
        self.assertEqual(["show queue counters", "show interfaces counters"], [one["command"] for one in document["asks"]])

    def test_wrong_bits_alone(self):
        """They clear an idle line; of one that carried packets its drops have to be known."""
        crc = "NIC statistics:\n     rx_crc_errors_phy: 0\n"
        self.answer(crc, status=CLEAR)
        self.answer(crc + "     rx_packets_phy: 5\n", status=NOT_ENOUGH)

    def test_symbols_that_fec_put_right(self):
        """Every fast line has them; they stand out where FEC could not help."""
        fec = "IFACE STATE FEC_CORR FEC_UNCORR FEC_SYMBOL_ERR\nEthernet0 U 8,123 {lost} 8,127\n"
        self.answer(fec.format(lost=0), name="fec.txt", status=CLEAR)
        document, _ = self.answer(fec.format(lost=2), name="fec.txt", status=NOT_ENOUGH)
        self.assertEqual({"symbol_errors", "fec_uncorrected"}, {one["counter"] for one in document["standing"]})

    def test_flaps_of_one_look(self):
        """So many that it does not matter when they were."""
        self.answer({"downs": 99}, status=NOT_ENOUGH)
        document, _ = self.answer({"downs": 2612}, status=CAUSE)
        self.assertEqual([("D19", "weak", "leaf1:swp1")], [(one["rule"], one["confidence"], one["culprit"]) for one in document["findings"]])

    def test_lines_that_were_not_understood(self):
        zeros = "IFACE STATE RX_OK RX_ERR RX_DRP RX_OVR TX_OK TX_ERR TX_DRP TX_OVR\nEthernet0 U 5 0 0 0 5 0 0 0\n"
        self.answer(zeros, name="counters.txt", status=CLEAR)
        document, text = self.answer(zeros + "rows of another release\n", name="counters.txt", status=NOT_ENOUGH)
        self.assertIn("not understood", document["because"])
        self.assertIn('counters.txt:3: "rows of another release"', text)

    def test_a_program_that_fills_its_line(self):
        """With the link's rate; without it a number says nothing."""
        perftest = "                    RDMA_Write BW Test\n Dual-port       : OFF          Device         : mlx5_0\n" \
                   " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n 65536      5000             0.00               {}              0.1\n"
        self.answer(perftest.format(91.2), device="h0", name="ib_write_bw.txt", status=NOT_ENOUGH)
        settings = "Settings for eth0:\n\tSpeed: 100000Mb/s\n\tLink detected: yes\n"
        document, _ = self.answer(settings, device="h0", name="ethtool_eth0.txt", status=CLEAR)
        self.assertIn("91% of the line", document["because"])
        self.answer(perftest.format(51.2), device="h0", name="ib_write_bw.txt", status=NOT_ENOUGH)

    def test_names_of_faults_that_nobody_knows(self):
        """A new driver's, a column that a release has more of, words of a line whose other numbers are known."""
        head = "IFACE STATE RX_OK RX_ERR RX_DRP RX_OVR TX_OK TX_ERR TX_DRP TX_OVR TRIM_DROP\nEthernet0 U 5 0 0 0 5 0 0 0 {}\n"
        lines = "Ethernet1/7 is up\n  RX\n    5000 input packets  983000 bytes\n    0 runts  0 giants  0 CRC  0 no buffer\n" \
                "    0 input error  0 short frame  {} overrun   0 underrun  0 ignored\n    0 input discard\n" \
                "  TX\n    6000 output packets  99000 bytes\n    0 output error  0 collision\n    0 output discard\n"
        names = ETHTOOL.format(**COUNTS) + "     rx_fifo_overrun_errors: {}\n     interrupts_rx: 12\n     rx_fec_corrected_errors: 99\n"
        management = "mgmt0 is up\n" + lines[lines.index("  RX"):].format(777)  # of a port that is passed over
        self.answer(lines.format(0) + management, device="d9", name="show.txt", status=CLEAR)
        shutil.rmtree(self.folder / "dumps")
        for number, text in enumerate((head, lines, names)):
            device, name = f"d{number}", "ethtool_-S_swp1.txt" if text is names else "show.txt"
            self.answer(text.format(0), device=device, name=name, status=CLEAR)
            document, _ = self.answer(text.format(777), device=device, name=name, status=NOT_ENOUGH)
            self.assertRegex(document["because"], rf"^{device}: .* of 777 \(\S+:\d+\) is a counter that nobody here knows")
            self.answer(text.format(777), text.format(777), device=device, name=name, status=CLEAR)
            self.answer(text.format(777), text.format(778), device=device, name=name, status=NOT_ENOUGH)
            shutil.rmtree(self.folder / "dumps")

    def test_a_device_that_shows_nothing(self):
        """One of two devices has nothing but its status: the other's counters do not clear it."""
        self.answer({"packets": 10}, status=CLEAR)
        document, _ = self.answer("Settings for eth0:\n\tSpeed: 100000Mb/s\n\tLink detected: yes\n", device="h0", name="ethtool_eth0.txt",
                                  status=NOT_ENOUGH)
        self.assertIn("h0", document["because"])

    def test_what_would_decide(self):
        """Commands of the device's own system: of what stands out a second look, its reason, the other end."""
        document, text = self.answer({"packets": 10**6, "crc": 90}, status=NOT_ENOUGH)
        asks = [(one["device"], one["command"]) for one in document["asks"]]
        self.assertEqual(("leaf1", "ethtool -S swp1"), asks[0])
        self.assertIn(("leaf1", "lldpctl -f json"), asks)
        self.assertLessEqual(len(asks), 5)
        self.assertIn("to decide, on leaf1: ethtool -S swp1 (a second time, ten seconds later: whether crc_errors grows)", text)

    def test_a_clear_answer_asks_nothing(self):
        self.assertEqual([], self.answer({"packets": 1}, {"packets": 2}, status=CLEAR)[0]["asks"])

    def test_the_other_end_is_named(self):
        """LLDP says who it is, and nothing of it was read."""
        counters = "IFACE STATE RX_OK RX_ERR RX_DRP RX_OVR TX_OK TX_ERR TX_DRP TX_OVR\nEthernet4 U 5000 9 0 0 5 0 0 0\n"
        lldp = "LocalPort    RemoteDevice    RemotePortID    Capability    RemotePortDescr\n" \
               "-----------  --------------  --------------  ------------  -----------------\n" \
               "Ethernet4    spine7          Ethernet8       BR            to leaf1\n"
        (self.folder / "dumps/0/leaf1").mkdir(parents=True)
        (self.folder / "dumps/0/leaf1/lldp.txt").write_text(lldp, encoding="utf-8")
        document, text = self.answer(counters, name="counters.txt", status=NOT_ENOUGH)
        self.assertIn(("spine7", None, "the other end of leaf1:Ethernet4"), [(one["device"], one["command"], one["why"]) for one in document["asks"]])
        self.assertIn("to decide, of spine7: the other end of leaf1:Ethernet4", text)

    def test_what_a_log_says(self):
        """Events are evidence of a cause, or stand out: with the text's own words, its ends, file and line."""
        log = "h0:99:120 [0] NCCL WARN NET/IB : Got completion from peer 10.0.0.2<4000> with status=5 opcode=0 len=0 vendor err 249 " \
              "(Recv) localGid ::ffff:10.0.0.1 remoteGids ::ffff:10.0.0.2 hca mlx5_0\n"
        document, text = self.answer(log, device="h0", name="nccl.log", status=NOT_ENOUGH)
        [flushed] = [one for one in document["events"] if one["event"] == "flushed"]
        self.assertEqual((flushed["count"], flushed["line"]), (1, 1))
        self.assertEqual(["flushed"], [one["counter"] for one in document["standing"]])
        self.assertRegex(text, r"stands out: h0\S* flushed, from \S*10.0.0.1 to \S*10.0.0.2: .* \S+/nccl.log:1")
        self.assertIn("NCCL_DEBUG=INFO", text)
        down = "Nov 19 10:00:00 h1 kernel: mlx5_core 0000:03:00.0 eth0: Link down\n"
        document, text = self.answer(down, device="h1", name="dmesg.txt")
        rows = [row for found in document["findings"] for row in found["evidence"] if row["counter"] == "link_went_down"]
        self.assertTrue(all("detail" in row for row in rows))
        self.assertEqual(bool(rows), "h1:eth0 link_went_down: " in text)

    def test_a_cause(self):
        document, text = self.answer({"packets": 10**6}, {"packets": 10**7, "crc": 10**5}, status=CAUSE)
        self.assertEqual("", document["because"])
        self.assertRegex(text, r"^answer: cause: bad cable or optic, leaf1:swp1 \(\w+\) warning D13: ")

    def test_quiet(self):
        self.answer({"packets": 10**6, "drops": 9})
        said = rocelab("diagnose", "--quiet", self.folder / "dumps")
        self.assertEqual((1, NOT_ENOUGH), (said.stdout.strip().count("\n") + 1, said.returncode))

    def test_dumps_of_a_healthy_run_are_clear(self):
        """Of four systems: every line of them is understood, and nothing that should be 0 grew."""
        for system in ("sonic", "eos", "cumulus"):
            document = json.loads(rocelab("diagnose", "--json", dumped(system)).stdout)
            with self.subTest(system=system):
                self.assertEqual([], document["not_understood"])
                self.assertEqual("clear", document["answer"], document["because"])

    @unittest.skipUnless((public.FOLDER / "INDEX.md").exists(), "the public dumps are not here")
    def test_public_dumps(self):
        """No false all-clear, and nobody in the network is blamed for what is healthy."""
        judged = public.judge(PROGRAM)
        self.assertGreater(len(judged), 60)
        wrong = {case: bad for case, (_, _, bad) in judged.items() if bad in ("false all-clear", "healthy blamed")}
        self.assertEqual({}, wrong)


if __name__ == "__main__":
    unittest.main()
