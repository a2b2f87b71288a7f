# SPDX-License-Identifier: Apache-2.0
"""What GPUs' side says as evidence: collectives, ranks and where they run, errors of NCCL; each in two versions of its layout."""
import json
import pathlib
import tempfile
import unittest

from shown import DATA, Evidence

GPU = DATA / "gpu"


class Gpu(unittest.TestCase):
    def test_inspector(self):
        seen = Evidence(*(GPU / f"inspector-{r}.log" for r in range(4)))
        self.assertEqual(4, seen.get("comm 7f8c496ae9f661", "ranks"))
        self.assertEqual(26800000000, seen.get("comm 7f8c496ae9f661", "busbw"))
        rank = "comm 7f8c496ae9f661/rank 2"
        self.assertEqual((41020000, 19000000, 1403), tuple(seen.get(rank, c) for c in ("rank_collective", "rank_late", "rank_last_operation")))
        self.assertEqual(0, seen.get("comm 7f8c496ae9f661/rank 0", "rank_late"))
        self.assertEqual("gpu1", seen.host[rank])

    def test_inspector_on_several_lines(self):
        seen = Evidence(GPU / "inspector-pretty.json")
        rank = "comm e62dedaa97644a/rank 4"
        self.assertEqual((41057000, 1231), (seen.get(rank, "rank_collective"), seen.get(rank, "rank_last_operation")))
        self.assertIsNone(seen.get("comm e62dedaa97644a", "busbw"))
        self.assertEqual("gpu9", seen.host[rank])

    def test_plugin(self):
        seen = Evidence(GPU / "plugin-0.jsonl", GPU / "plugin-1.jsonl")
        for rank, network in ((0, 1000000), (1, 50000000)):
            name = f"comm 7f8c496ae9f6/rank {rank}"
            self.assertEqual((10000000, 2000000, network, 2),
                             tuple(seen.get(name, c) for c in ("rank_wait_gpu", "rank_wait_peer", "rank_wait_network", "rank_last_operation")))
            self.assertEqual(f"gpu{rank}", seen.host[name])
        self.assertEqual(268435456 * 10, seen.get("comm 7f8c496ae9f6", "busbw"))
        self.assertEqual(100000000, seen.get("comm 7f8c496ae9f6", "job_time"))

    def test_flight_recorder(self):
        seen = Evidence(*(GPU / f"nccl_trace_rank_{r}.json" for r in range(3)))
        self.assertEqual([40, 37, 40], [seen.get(f"default_pg/rank {r}", "rank_last_operation") for r in range(3)])
        self.assertEqual(4, seen.get("default_pg", "ranks"))
        seen = Evidence(GPU / "flight-old.json")
        self.assertEqual((13, 1500000), (seen.get("tp/rank 3", "rank_last_operation"), seen.get("tp/rank 3", "rank_collective")))

    def test_flight_recorder_without_a_rank(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "trace.json"
            path.write_text(json.dumps({"pg_config": {}, "pg_status": {}, "entries": []}))
            seen = Evidence(path)
            self.assertTrue(any("which rank" in r[1] for r in seen.remark), seen.remark)

    def test_flight_recorder_of_a_folder(self):
        """The folder is the host."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "0" / "h3" / "nccl_trace_rank_1.json"
            path.parent.mkdir(parents=True)
            path.write_bytes((GPU / "nccl_trace_rank_1.json").read_bytes())
            self.assertEqual("h3", Evidence(folder).host["default_pg/rank 1"])

    def test_nccl_tests(self):
        for name, time, busbw, hosts in (("nccl-tests.txt", 250000, 34.36, ["gpu0", "gpu1"]), ("nccl-tests-old.txt", 5120, 26.21, ["node-a", "node-a"]),
                                         ("nccl-tests.json", 250000, 34.3, ["gpu0", "gpu1"])):
            seen = Evidence(GPU / name)
            self.assertEqual(time * 1000, seen.get("nccl-tests", "job_time"), name)
            self.assertAlmostEqual(busbw * 1e9, seen.get("nccl-tests", "busbw"), delta=1000)
            self.assertGreater(seen.get("nccl-tests", "message_size"), 0)
            self.assertEqual(hosts, [seen.host[f"nccl-tests/rank {r}"] for r in range(2)], name)
            self.assertEqual(2, seen.get("nccl-tests", "ranks"))
            self.assertEqual(None if "old" in name else 0, seen.get("nccl-tests", "wrong_values"))  # of old ones 'error' is no count

    def test_out_of_bounds(self):
        """The last line, where no column says which values were wrong."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "text"
            table = "#       size         count    type   redop     time   algbw   busbw\n     1048576        262144   float     sum    50.00   20.97   39.32\n"
            path.write_text(table + "# Out of bounds values : 3 FAILED\n")
            self.assertEqual(3, Evidence(path).get("nccl-tests", "wrong_values"))
            path.write_text(table + "# Out of bounds values : 0 OK\n")
            self.assertIsNone(Evidence(path).get("nccl-tests", "wrong_values"))

    def test_wrong_values(self):
        """Of all sizes, out of place and in place; what was not checked counts for nothing."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "text"
            path.write_text((GPU / "nccl-tests.txt").read_text().replace("10.43      0", "10.43  1e+06").replace("10.59      0", "10.59      7"))
            value = Evidence(path).value["nccl-tests", None, "wrong_values"]
            self.assertEqual((1000007, 13), (value.last, value.line))
            path.write_text((GPU / "nccl-tests.json").read_text().replace('"nwrong": 0', '"nwrong": 5'))
            self.assertEqual(5, Evidence(path).get("nccl-tests", "wrong_values"))
            path.write_text((GPU / "nccl-tests.txt").read_text().replace("      0 ", "    N/A ").replace("      0\n", "    N/A\n"))
            self.assertIsNone(Evidence(path).get("nccl-tests", "wrong_values"))

    def test_nccl_tests_with_a_row_that_is_too_short(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "cut.txt"
            path.write_text("#  count time busbw algbw type redop root size\n 1 2 3\n 256 5.0 7.0 3 float sum -1 1024\n")
            seen = Evidence(path)
            self.assertEqual((5000, 7e9), (seen.get("nccl-tests", "job_time"), seen.get("nccl-tests", "busbw")))

    def test_nccl_log(self):
        seen = Evidence(GPU / "nccl.log")
        self.assertEqual((1, 1), (seen.get("gpu0:mlx5_1", "retry_exceeded"), seen.get("gpu0:mlx5_0", "link_down_events")))
        self.assertIsNone(seen.get("gpu0:mlx5_0", "retry_exceeded"))
        self.assertEqual(5, seen.value["gpu0:mlx5_1", None, "retry_exceeded"].line)
        self.assertEqual(("gpu0", "gpu1.cluster.example"), tuple(seen.host[f"comm 9f1c2a77/rank {r}"] for r in range(2)))
        self.assertIn(["gpu0:mlx5_0", "unreachable", "queue pair to RTR: Connection timed out"], [e[:2] + e[5:6] for e in seen.event])
        seen = Evidence(GPU / "nccl-old.log")
        self.assertEqual((2, 1), (seen.get("node7:mlx5_2", "retry_exceeded"), seen.get("node7:mlx5_2", "rnr_nak_retry_err")))

    def test_job_log(self):
        """Lines of several programs and hosts in one log."""
        kinds = [event[1] for event in Evidence(GPU / "job.log").event]
        self.assertEqual(["link_went_down", "retry_exhausted", "flushed", "unreachable", "retry_exhausted", "gid_wrong", "rnr_exhausted", "collective_timeout", "collective_timeout", "unreachable",
                          "program_failed"], kinds)

    def test_ras(self):
        seen = Evidence(GPU / "ras.txt")
        operations = [seen.get(f"comm 27a079b828ff1a75/rank {r}", "rank_last_operation") for r in range(32)]
        self.assertEqual([6641 if r in (3, 7) else 6650 for r in range(32)], operations)
        self.assertEqual("gpu0", seen.host["comm 27a079b828ff1a75/rank 7"])
        seen = Evidence(GPU / "ras-one.txt")
        self.assertEqual([64] * 7 + [60], [seen.get(f"comm 78db921d1c117b4a/rank {r}", "rank_last_operation") for r in range(8)])

    def test_perftest(self):
        self.assertEqual(392500000000 // 8, Evidence(GPU / "perftest-bw.txt").get("perftest", "busbw"))
        self.assertEqual(1080, Evidence(GPU / "perftest-lat.txt").get("perftest", "job_time"))

    def test_perftest_with_other_columns(self):
        """-D has no median; service levels are a column before the others."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "text"
            path.write_text(" #bytes        #iterations       t_avg[usec]    tps average\n 8             12345             1.25           400000.00\n")
            self.assertEqual(1250, Evidence(path).get("perftest", "job_time"))
            path.write_text(" #bytes    #sl      #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n 65536      3        5000             99.00              88.00              0.167\n")
            self.assertEqual(11 * 10**9, Evidence(path).get("perftest", "busbw"))

    def test_outputs_side_by_side(self):
        """Each output is a job of its own, in a host's folder or beside it; another look at the same program is the same job."""
        with tempfile.TemporaryDirectory() as folder:
            for look, faster in (("10", 0), ("20", 1)):
                host = pathlib.Path(folder) / look / "h3"
                host.mkdir(parents=True)
                text = (GPU / "perftest-bw.txt").read_text()
                (host / "a.txt").write_text(text.replace("392.50", f"{300 + faster}"))
                (host / "b.txt").write_text(text + text.replace("392.50", f"{200 + faster}"))
                (host / "lat.txt").write_text("   RDMA_Write Latency Test\n" + (GPU / "perftest-lat.txt").read_text())
            tests = (GPU / "nccl-tests.txt").read_text()
            (pathlib.Path(folder) / "reduce.txt").write_text(tests)
            (pathlib.Path(folder) / "shuffle.txt").write_text(tests.replace("all_reduce_perf", "alltoall_perf").replace("34.36", "20.5"))
            (pathlib.Path(folder) / "sum-all_gather.txt").write_text((GPU / "nccl-tests-old.txt").read_text())
            (pathlib.Path(folder) / "loose.txt").write_text("show pfc counters\n")
            seen = Evidence(folder)
        busbw = {name: seen.get(name, "busbw") * 8 / 1e9 for name, _, counter in seen.value if counter == "busbw"}
        self.assertEqual({"perftest on h3": 301, "perftest on h3 ib_write_bw": 392.5, "perftest on h3 ib_write_bw, 2": 201},
                         {name: value for name, value in busbw.items() if "perftest" in name})
        self.assertEqual(1080, seen.get("perftest on h3 ib_write_lat", "job_time"))
        self.assertAlmostEqual(20.5 * 8, busbw["nccl-tests alltoall"], places=3)
        self.assertAlmostEqual(34.36 * 8, busbw["nccl-tests"], places=3)
        self.assertAlmostEqual(26.21 * 8, busbw["nccl-tests allgather"], places=3)
        self.assertTrue(any("no reader knows anything in it" in text for _, text in seen.remark), seen.remark)

    def test_numbers_without_end(self):
        """Larger than any counter: no number, and nothing undefined.  What other rows say stays."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "text"
            for name, of, big, stays in (("perftest-bw.txt", "perftest", ("392.50", "1e300"), 48997500000),
                                         ("perftest-lat.txt", "perftest", ("1.08 ", "9e306 "), None),
                                         ("nccl-tests.txt", "nccl-tests", ("250000 ", "1e306 "), 100500)):
                path.write_text((GPU / name).read_text().replace(*big))
                seen = Evidence(path)
                self.assertEqual(0, seen.status)
                self.assertEqual(stays, seen.get(of, "busbw" if "bw" in name else "job_time"), name)


if __name__ == "__main__":
    unittest.main()
