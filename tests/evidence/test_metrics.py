# SPDX-License-Identifier: Apache-2.0
"""Prometheus' text and OpenMetrics as evidence: rocelab's own metrics say what its document says; other exporters by name."""
import os
import pathlib
import subprocess
import tempfile
import unittest

from shown import DATA, SOURCE, Evidence

ROCELAB = os.environ["ROCELAB"]
CASES = SOURCE / "examples" / "cases"
SAMPLES = DATA / "metrics"


class Metrics(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.held = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.held.name)

    @classmethod
    def tearDownClass(cls):
        cls.held.cleanup()

    def write(self, text, name="text.prom"):
        path = self.folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def run_case(self, case):
        """The document, the snapshot and the series of one run."""
        paths = [self.folder / f"{case}.{end}" for end in ("json", "prom", "om")]
        with paths[0].open("wb") as out:
            whole = subprocess.run([ROCELAB, "sim", "--json", "--series", "50us", f"--counters=openmetrics={paths[2]}", str(CASES / f"{case}.yaml")],
                           stdout=out, stderr=subprocess.DEVNULL, check=False)
        last = subprocess.run([ROCELAB, "sim", "--quiet", f"--counters=prometheus={paths[1]}", str(CASES / f"{case}.yaml")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       check=False)
        self.assertTrue({whole.returncode, last.returncode} <= {0, 1}, case)
        return [Evidence(path) for path in paths]

    def test_says_what_the_document_says(self):
        for case in ("C01-storm-watchdog", "C06-headroom", "C10-half-rate", "C12-ber"):
            document, snapshot, series = self.run_case(case)
            compared = 0
            self.assertGreater(len(document.peer), 10, case)
            self.assertEqual(document.peer, snapshot.peer, case)
            self.assertEqual(document.peer, series.peer, case)
            self.assertEqual(document.device, snapshot.device, case)
            for counter in ("tx_bytes", "rx_bytes", "ecn_marked", "group_drops", "watchdog_drops", "mtu_drops", "crc_errors", "full_rate", "rate", "retransmitted_packets",
                            "headroom", "ecn_min", "lossless", "link_up", "np_cnp_sent", "queue_drops"):
                for key, value in document.value.items():
                    if key[2] != counter or (counter in ("rx_bytes", "full_rate", "rate") and not value.grown):
                        continue
                    other = snapshot.value.get(key)
                    if other is None:  # what is 0 everywhere has no row; a line that carried nothing shows no rate
                        self.assertTrue(value.grown == 0 or counter in ("full_rate", "rate"), (case, key))
                        continue
                    self.assertAlmostEqual(1, (other.grown + 1) / (value.grown + 1), places=2, msg=str((case, key)))
                    self.assertEqual(value.looks, other.looks, (case, key))
                    compared += 1
            self.assertGreater(compared, 100, case)

    def test_series(self):
        document, _, series = self.run_case("C01-storm-watchdog")
        self.assertGreater(series.looks, 20)
        key = "leaf1:0", 3, "rx_pause_time"
        share = [e.value[key].grown / 1e9 / e.value[key].span for e in (document, series)]
        self.assertAlmostEqual(share[0], share[1], delta=0.05)
        self.assertEqual(3391, series.get("leaf1:0", "watchdog_drops", 3))
        self.assertFalse([key for key, value in series.value.items() if value.reset])

    def test_node_exporter(self):
        seen = Evidence(SAMPLES / "node.prom")
        self.assertEqual(2, seen.get("host:mlx5_0", "link_down_events"))
        self.assertEqual(22031412340, seen.get("host:mlx5_0", "port_tx_bytes"))
        self.assertEqual(400 * 10**9, seen.get("host:mlx5_0", "rate"))
        self.assertEqual((1, 0), (seen.get("host:mlx5_0", "link_up"), seen.get("host:mlx5_1", "link_up")))
        self.assertEqual(17, seen.get("host:mlx5_0", "local_ack_timeout_err"))
        self.assertEqual(12345, seen.get("host:ens1f0", "rx_pause_frames", 3))
        self.assertEqual(77000, seen.get("host:ens1f0", "tx_pause_time", 3))
        self.assertNotIn(("host:lo", None, "link_up"), seen.value)

    def test_times_in_milliseconds(self):
        seen = Evidence(SAMPLES / "federated.prom")
        value = seen.value["gpu07:mlx5_2", None, "np_cnp_sent"]
        self.assertEqual((20, 2, 30), (value.grown, value.looks, value.span))
        self.assertEqual(30 * 10**6, seen.get("gpu07:mlx5_2", "rx_pause_time", 3))
        self.assertEqual(412000, seen.get("GPUs of gpu07/rank 0", "rank_tensor_active"))
        self.assertEqual("gpu07", seen.host["GPUs of gpu07/rank 1"])
        self.assertTrue(seen.value["leaf3:Ethernet3/1", None, "port_rx_bytes"].reset)

    def test_sonic(self):
        seen = Evidence(SAMPLES / "sonic.prom")
        self.assertEqual(73, seen.get("leaf1:Ethernet0", "queue_drops", 3))
        self.assertEqual("leaf2:Ethernet88", seen.peer["leaf1:Ethernet0"])

    def test_inspector(self):
        seen = Evidence(SAMPLES / "inspector.prom")
        self.assertEqual((8, 3 * 10**8), (seen.get("comm 5e1f00d00aa110", "ranks"), seen.get("comm 5e1f00d00aa110/rank 0", "rank_collective")))
        self.assertEqual((41104, "gpu02"), (seen.get("comm 5e1f00d00aa110/rank 4", "rank_last_operation"), seen.host["comm 5e1f00d00aa110/rank 4"]))
        self.assertEqual([10**8, 0, 0], [seen.get(f"comm 5e1f00d00aa110/rank {r}", "rank_late") for r in (4, 0, 1)])
        self.assertEqual((365500000000, 16), (seen.get("comm dp", "busbw"), seen.get("comm dp", "ranks")))
        self.assertEqual(1500000000, seen.get("comm 9f/rank 1", "rank_wait_network"))

    def test_of_a_folder(self):
        """Two looks of one host: the folder says the time and the host."""
        for time, count in (("0", 5), ("10", 25)):
            path = self.folder / "dumps" / time / "h9" / "metrics.prom"
            path.parent.mkdir(parents=True)
            path.write_text(f'# TYPE rdma_out_of_sequence_total counter\nrdma_out_of_sequence_total{{device="mlx5_0",port="1"}} {count}\n')
        value = Evidence(self.folder / "dumps").value["h9:mlx5_0", None, "out_of_sequence"]
        self.assertEqual((20, 10), (value.grown, value.span))

    def test_hostile(self):
        head = "# TYPE rocelab_link_up gauge\n"
        for text in (b'rocelab_link_up{port="a:0"', b'rocelab_link_up{port="a:0} 1', b"rocelab_link_up{port} 1", b'rocelab_link_up{port="a:0"} NaN',
                     b'rocelab_link_up{port="a:0"} -1', b'rocelab_link_up{port="a:0"} 1e999', b'rocelab_link_up{port=":0"} 1', b'rocelab_link_up{port="\xff\xfe"} 1',
                     b'rocelab_link_up{' + b'x="y",' * 3000 + b'port="a:0"} 1', b"rocelab_link_up" * 100000, b"\0" * 5000, b"{" * 5000):
            seen = Evidence("--from", "prometheus", self.write(head.encode() + text))
            self.assertEqual((0, {}), (seen.status, seen.value), text[:60])
        seen = Evidence(self.write(head + 'rocelab_link_up{port="a:0",more="\\"\\\\\\n"} 1 # {trace="x"} 3\n'))
        self.assertEqual(1, seen.get("a:0", "link_up"))
        seen = Evidence(self.write(head + "".join(f'rocelab_link_up{{port="s{i // 64}:{i % 64}"}} 1\n' for i in range(60000))))
        self.assertEqual(60000, len(seen.value))


if __name__ == "__main__":
    unittest.main()
