#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The three answers of `rocelab diagnose`: a cause, clear, not enough; what stands out.  Never an all-clear over something."""
import json
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
        document, text = self.answer({"packets": 10**6, "crc": 90, "drops": 3000, "downs": 9}, status=NOT_ENOUGH)
        self.assertEqual([], document["findings"])
        self.assertEqual(["crc_errors", "link_down_events", "rx_discards"], [one["counter"] for one in document["standing"]])
        self.assertAlmostEqual(90 / (10**6 + 90), document["standing"][0]["share"])
        self.assertRegex(text, r"stands out: leaf1:swp1 crc_errors 90 frames since it was cleared, 0.009% of the packets: .* \S+ethtool_-S_swp1.txt:5")

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

    def test_pauses_alone_clear_nobody(self):
        """A port on which PFC is off counts no pauses."""
        document, _ = self.answer(PFC, name="pfc.txt", status=NOT_ENOUGH)
        self.assertIn("would show loss", document["because"])

    def test_wrong_bits_alone(self):
        """They clear an idle line; of one that carried packets its drops have to be known."""
        crc = "NIC statistics:\n     rx_crc_errors_phy: 0\n"
        self.answer(crc, status=CLEAR)
        self.answer(crc + "     rx_packets_phy: 5\n", status=NOT_ENOUGH)

    def test_lines_that_were_not_understood(self):
        zeros = "IFACE STATE RX_OK RX_ERR RX_DRP RX_OVR TX_OK TX_ERR TX_DRP TX_OVR\nEthernet0 U 5 0 0 0 5 0 0 0\n"
        self.answer(zeros, name="counters.txt", status=CLEAR)
        document, text = self.answer(zeros + "rows of another release\n", name="counters.txt", status=NOT_ENOUGH)
        self.assertIn("not understood", document["because"])
        self.assertIn('counters.txt:3: "rows of another release"', text)

    def test_a_device_that_shows_nothing(self):
        """One of two devices has nothing but its status: the other's counters do not clear it."""
        self.answer({"packets": 10}, status=CLEAR)
        document, _ = self.answer("Settings for eth0:\n\tSpeed: 100000Mb/s\n\tLink detected: yes\n", device="h0", name="ethtool_eth0.txt",
                                  status=NOT_ENOUGH)
        self.assertIn("h0", document["because"])

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
            folder = self.folder / system
            rocelab("sim", "--quiet", "--dump", folder, "--as", system, SOURCE / "examples/cases/H01-permutation.yaml", program=DUMPS)
            document = json.loads(rocelab("diagnose", "--json", folder).stdout)
            with self.subTest(system=system):
                self.assertEqual([], document["not_understood"])
                self.assertEqual("clear", document["answer"], document["because"])

    @unittest.skipUnless((public.FOLDER / "INDEX.md").exists(), "the public dumps are not here")
    def test_public_dumps(self):
        """No false all-clear, and nobody in the network is blamed for what is healthy."""
        judged = public.judge(PROGRAM)
        self.assertGreater(len(judged), 60)
        wrong = {case: bad for case, (_, _, bad) in judged.items() if bad in ("false all-clear", "healthy blamed")}
        self.assertLessEqual(set(wrong), {"nxos-stomped-crc"})


if __name__ == "__main__":
    unittest.main()
