# SPDX-License-Identifier: Apache-2.0
"""What is said of logs of jobs: which pair lost its path, who was not reached, what was the program's, which ranks are apart."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

ROCELAB = os.environ["ROCELAB"]
RETRY = "{}:61:90 [0] NCCL WARN NET/IB: Got completion from peer {}<4100> with status=12 opcode=0 len=0 vendor err 129 (Send) localGid ::ffff:{} remoteGids::ffff:{} hca {}\n"
ACCESS = "{}:61:90 [0] NCCL WARN NET/IB: Got completion from peer 10.9.0.2<4100> with status=10 opcode=0 len=0 vendor err 136 (Send)\n"
STUCK = "[E ProcessGroupNCCL.cpp:458] [Rank {}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={}, OpType=ALLREDUCE, Timeout(ms)=9) ran for 9\n"


def diagnose(text):
    with tempfile.TemporaryDirectory() as root:
        path = pathlib.Path(root) / "job.log"
        path.write_text("x\n" + text)
        done = subprocess.run([ROCELAB, "diagnose", "--json", path], capture_output=True, check=False)
        return json.loads(done.stdout)


class Jobs(unittest.TestCase):
    def cause(self, text, rule):
        """The one cause of a text."""
        found = diagnose(text)
        causes = [one for one in found["findings"] if one["severity"] != "info" and one["consequence_of"] is None]
        self.assertEqual([rule], [one["rule"] for one in causes], found)
        self.assertEqual("weak", causes[0]["confidence"])
        return causes[0]

    def test_a_pair(self):
        one = self.cause(RETRY.format("ws4", "10.9.0.2", "172.20.8.3", "172.20.8.9", "mlx5_4") * 3, "D14")
        self.assertEqual(("ws4:mlx5_4", "172.20.8.3 and 172.20.8.9"), (one["culprit"], one["between"]))
        self.assertIn("3 times: 172.20.8.3 (ws4:mlx5_4) to 172.20.8.9 (of the peer 10.9.0.2)", one["what"])

    def test_what_pairs_have_in_common(self):
        for lines, words in (
                ([("ws4", "10.9.0.2", "172.20.8.3", "172.20.8.9", "mlx5_4"), ("ws5", "10.9.0.2", "172.20.8.4", "172.20.8.9", "mlx5_4")], "all 2 pairs have that far end"),
                ([("ws4", "10.9.0.2", "172.20.8.3", "172.20.8.9", "mlx5_4"), ("ws4", "10.9.0.2", "172.20.7.3", "172.20.7.9", "mlx5_3")], "of these two hosts"),
                ([("ws4", "10.9.0.2", "172.20.8.3", "172.20.8.9", "mlx5_4"), ("ws4", "10.9.0.3", "172.20.8.3", "172.20.8.8", "mlx5_4")], "have ws4:mlx5_4 in common"),
                ([("ws4", "10.9.0.2", "172.20.8.3", "172.20.8.9", "mlx5_4"), ("ws5", "10.9.0.3", "172.20.8.4", "172.20.8.8", "mlx5_4")], "of mlx5_4 of several hosts"),
                ([("ws4", "10.9.0.2", "172.20.8.3", "172.20.8.9", "mlx5_4"), ("ws4", "10.9.0.3", "172.20.7.3", "172.20.7.8", "mlx5_3")], "the log is its own"),
                ([("ws4", "10.9.0.2", "172.20.8.3", "172.20.8.9", "mlx5_4"), ("ws5", "10.9.0.3", "172.20.7.3", "172.20.7.8", "mlx5_3")], "no end in common")):
            one = self.cause("".join(RETRY.format(*line) for line in lines), "D14")
            self.assertIn(words, one["what"])
            self.assertEqual("ws4 and 10.9.0.2" if "two hosts" in words else "", one["between"])

    def test_what_follows(self):
        """A link that went down is the cause of timeouts, and flushes are of nothing."""
        down = "ws4:61:90 [0] transport/net_ib.cc:93 NCCL WARN NET/IB : Got async event : port error\n"
        flush = RETRY.format("ws4", "10.9.0.2", "172.20.8.3", "172.20.8.9", "mlx5_4").replace("status=12", "status=5")
        self.assertIn("a link of ws4 went down, which its log says 2 times", self.cause(down * 2 + flush, "D14")["what"])
        self.assertEqual("not-enough", diagnose(flush)["answer"])
        found = diagnose(down + "2026 NET/IB : Got async event : port active\n" + RETRY.format("ws5", "10.9.0.2", "172.20.8.4", "172.20.8.9", "mlx5_4"))
        self.assertEqual("ws4", [one for one in found["findings"] if one["consequence_of"] is None][0]["culprit"])

    def test_before_the_first_packet(self):
        line = ("ws4:61:90 [5] ibvwrap.c:262 NCCL WARN Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_2:1, curr state INIT, next state RTR, "
                "local GID index 3, local GID ::ffff:172.20.8.3, remote GID ::ffff:172.20.{}.3\n")
        one = self.cause(line.format(9), "D34")
        self.assertEqual("172.20.8.3 and 172.20.9.3", one["between"])
        self.assertIn("different subnets", one["what"])
        self.assertNotIn("different subnets", self.cause(line.format(8), "D34")["what"])

    def test_a_link_local_gid_is_wrong_where_something_failed(self):
        gid = "ws7:301:9 [0] NCCL INFO NET/IB: NCCL Dev 0 IbDev 0 Port 1 qpn 1047 mtu 5 GID 0 (80FE/1A8A41FEFF21A75E) fifoRkey=0x15\n"
        self.assertEqual([], diagnose(gid)["findings"])
        one = self.cause(gid + RETRY.format("ws7", "10.9.0.2", "fe80::1", "fe80::2", "mlx5_4"), "D34")
        self.assertIn("GID index 0, link-local", one["what"])

    def test_addresses_that_changed(self):
        change = "ws7:301:9 [0] transport/net_ib.cc:73 NCCL WARN NET/IB : Got async event : GID table change\n"
        retry = RETRY.format("ws7", "10.9.0.2", "172.20.8.3", "172.20.8.9", "mlx5_4")
        self.assertIn("changed while the job ran", self.cause(change + retry, "D34")["what"])
        self.cause(retry + change, "D14")
        self.assertEqual(([], "not-enough"), tuple(diagnose(change)[key] for key in ("findings", "answer")))

    def test_the_program(self):
        for text in (ACCESS.format("ws4"), ACCESS.format("ws4") + RETRY.format("ws5", "10.9.0.1", "172.20.8.4", "172.20.8.3", "mlx5_4"),
                     "ws4:61:90 [0] NCCL WARN Call to ibv_reg_mr failed with error Cannot allocate memory\n", "RNR retry counter exceeded\n",
                     "Connect to 10.9.0.2<4100> failed : Connection refused\n"):
            found = diagnose(text)
            self.assertTrue(found["not_the_network"], text)
            self.cause(text, "D35")

    def test_what_is_said_after_the_path_was_lost(self):
        """It is what follows."""
        text = RETRY.format("ws5", "10.9.0.1", "172.20.8.4", "172.20.8.3", "mlx5_4")
        self.cause(text + ACCESS.format("ws4"), "D14")
        self.cause(text + "  exitcode  : -9 (pid: 812)\n", "D14")

    def test_ranks(self):
        one = self.cause(STUCK.format(0, 96120) + STUCK.format(0, 96117) + STUCK.format(7, 64088), "D36")
        self.assertIn("rank 7 waits in collective 64088 and rank 0 in 96117", one["what"])
        found = diagnose(STUCK.format(0, 1580) + STUCK.format(3, 1580))
        self.assertEqual(([], "not-enough"), (found["findings"], found["answer"]))
        self.assertTrue(any("ranks 0, 3 wait in the same collective (1580)" in one for one in found["missing"]), found["missing"])

    def test_operations_of_one_number(self):
        one = self.cause(STUCK.format(0, 1580) + STUCK.format(3, 1580).replace("ALLREDUCE", "ALLGATHER"), "D36")
        self.assertIn("waits in ALLREDUCE 1580 and rank 3 in ALLGATHER 1580", one["what"])

    def test_operations_where_another_line_says_the_group(self):
        group = "[rank{0}]:[E1 ProcessGroupNCCL.cpp:1785] [PG ID 2 PG GUID 11(tp) Rank {0}] failure detected by watchdog at work sequence id: 1580 PG status: last enqueued work: 1581\n"
        lines = [STUCK.format(rank, 1580) + group.format(rank) for rank in (0, 3)]
        self.assertIn("of tp rank 0 waits in ALLREDUCE 1580 and rank 3 in ALLGATHER 1580", self.cause(lines[0] + lines[1].replace("ALLREDUCE", "ALLGATHER"), "D36")["what"])
        self.assertEqual([], diagnose("".join(lines))["findings"])
        later = STUCK.format(0, 1583).replace("ALLREDUCE", "ALLGATHER")  # what the rank had asked for besides
        self.assertEqual([], diagnose(later + "".join(lines))["findings"])

    def flight(self, *sizes):
        """The dumps of ranks that have begun collective 8."""
        with tempfile.TemporaryDirectory() as root:
            for rank, size in enumerate(sizes):
                entry = {"collective_seq_id": 8, "process_group": ["0", "default_pg"], "profiling_name": "nccl:all_reduce", "state": "started", "is_p2p": False, "input_sizes": [[size]]}
                (pathlib.Path(root) / f"trace_rank_{rank}.json").write_text(json.dumps({"pg_config": {"0": {"desc": "default_pg", "ranks": "[0, 1, 2]"}}, "pg_status": {}, "entries": [entry]}))
            return json.loads(subprocess.run([ROCELAB, "diagnose", "--json", *pathlib.Path(root).iterdir()], capture_output=True, check=False).stdout)

    def test_flight_recorder(self):
        self.assertIn("all_reduce of 1024 and rank", self.flight(1024, 1024, 512)["findings"][0]["what"].replace("all_reduce of 512 and rank", "all_reduce of 1024 and rank"))
        self.assertEqual([], self.flight(1024, 1024, 1024)["findings"])

    def test_one_host(self):
        join = "ws4:{0}:{0} [{1}] NCCL INFO ncclCommInitRank comm 0x55 rank {1} nranks 2 cudaDev {1} nvmlDev {1} busId 4 commId 0x9f1c - Init COMPLETE\n"
        text = join.format(61, 0) + join.format(62, 1) + STUCK.format(0, 1580)
        self.assertIn("all 2 ranks of comm 9f1c are on ws4", diagnose(text)["findings"][0]["what"])
        self.assertEqual([], diagnose(text.replace("ws4:62", "ws5:62"))["findings"])

    def test_no_rdma(self):
        found = diagnose("ws4:61:90 [0] NCCL INFO NET/IB : No device found.\n")
        self.assertEqual(["info"], [one["severity"] for one in found["findings"]])


if __name__ == "__main__":
    unittest.main()
