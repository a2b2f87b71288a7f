# SPDX-License-Identifier: Apache-2.0
"""Logs of jobs as people paste them: which events their lines are, whose, and between whom."""
import pathlib
import re
import tempfile
import unittest

from shown import SOURCE, Evidence

PEERS = "localGid ::ffff:172.20.8.3 remoteGids::ffff:172.20.8.9"


def events(text, folder=None):
    """(kind, object, from, to, detail, count) of a text, in a folder of a device or alone."""
    with tempfile.TemporaryDirectory() as root:
        path = pathlib.Path(root) / (f"0/{folder}/job.log" if folder else "job.log")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        seen = Evidence(root if folder else path)
        return [(kind, of, begin, to, detail, int(count)) for of, kind, _, begin, to, detail, count, *_ in seen.event]


class Phrases(unittest.TestCase):
    def test_sorted(self):
        """Of two phrases at one place the longer counts: it is the later one."""
        phrases = re.findall(r'^PHRASE\("(.*?)", ', (SOURCE / "src/evidence/read/gpu/phrases.def").read_text(), re.M)
        self.assertEqual(sorted(set(phrases)), phrases)


class Nccl(unittest.TestCase):
    def test_spellings_of_a_completion(self):
        """2.4 to 2.30: an error, a peer, a type, GIDs, the adapter, names of statuses."""
        for line, of, begin, to, detail in (
                ("ws4:61:90 [0] transport/net_ib.cu:788 NCCL WARN NET/IB : Got completion with error 12, opcode 0, len 0, vendor err 129", "ws4", "-", "-", "-"),
                ("ws4:61:90 [0] NCCL WARN NET/IB : Got completion from peer 10.9.0.2<4100> with error 12, opcode 0, len 0, vendor err 129", "ws4", "-", "10.9.0.2", "-"),
                (f"ws4:61:90 [0] NCCL WARN NET/IB : Got completion from peer 10.9.0.2<4100> with status=12 opcode=0 len=0 vendor err 129 (Send) {PEERS}",
                 "ws4", "172.20.8.3", "172.20.8.9", "peer 10.9.0.2"),
                (f"ws4:61:90 [0] NCCL WARN NET/IB: Got completion from peer 10.9.0.2<4100> with status=12 opcode=0 len=0 vendor err 129 (Recv) {PEERS} hca mlx5_4",
                 "ws4:mlx5_4", "172.20.8.3", "172.20.8.9", "peer 10.9.0.2"),
                (f"x\n[2026-01-02 03:04:05] ws4:61:90 [0] a/b.cc:1 (init) NCCL WARN NET/IB: Got completion from peer 10.9.0.2<4100> with "
                 f"status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_SEND(0) vendor_err=129 {PEERS} hca mlx5_4", "ws4:mlx5_4", "172.20.8.3", "172.20.8.9", "peer 10.9.0.2"),
                ("NET/IBP:Got completion from peer 10.9.0.2<4100> with status=12 opcode=7 len=7 vendor err 129 (Send)", "-", "-", "10.9.0.2", "-"),
                ("ws4:61:90 [0] ib_plugin.c:1 NCCL WARN NET/IB : Got completion from peer 10.9.0.2<4100> with status=12 opcode=0 len=0 vendor err 129 (Recv) "
                 "localGid fd00:7:5000::2 remoteGidsfd00:7:5000::9", "ws4", "fd00:7:5000::2", "fd00:7:5000::9", "peer 10.9.0.2")):
            self.assertEqual([("retry_exhausted", of, begin, to, detail, 1)], events(line), line)

    def test_statuses(self):
        for status, kind in ((1, "length_wrong"), (4, "access_refused"), (5, "flushed"), (9, "request_refused"), (10, "access_refused"), (11, "request_refused"),
                             (13, "rnr_exhausted")):
            line = f"ws4:61:90 [0] NCCL WARN NET/IB : Got completion from peer 10.9.0.2<4100> with status={status} opcode=0 len=0 vendor err 1 (Send)"
            self.assertEqual([kind], [e[0] for e in events(line)])

    def test_async_events(self):
        for words, kind in (("mlx5_1:1 Got async event : port error", "link_went_down"), ("mlx5_1:1 Got non-fatal async event: port active(9)", "link_came_up"),
                            ("mlx5_1:1 async fatal event: local catastrophic error", "adapter_failed"),
                            ("mlx5_1:1 async fatal event on QP (0x7f) qpn=9: local access violation work queue error", "access_refused")):
            self.assertEqual([(kind, "ws4:mlx5_1")], [e[:2] for e in events(f"ws4:61:90 [0] NCCL WARN NET/IB : {words}")])
        self.assertEqual([], events("ws4:61:90 [0] NCCL WARN NET/IB : mlx5_1:1 Got non-fatal async event: client reregistration(17)"))

    def test_before_the_first_packet(self):
        line = ("ws4:61:90 [5] ibvwrap.c:262 NCCL WARN Call to ibv_modify_qp failed with {}, on dev mlx5_2:1, curr state INIT, next state {}, "
                "local GID index 3, local GID ::ffff:172.20.8.3, remote GID ::ffff:172.20.9.3")
        self.assertEqual([("unreachable", "ws4:mlx5_2", "172.20.8.3", "172.20.9.3", "queue pair to RTR: No route to host", 1)],
                         events(line.format("113 No route to host", "RTR")))
        self.assertEqual([], events(line.format("22 Invalid argument", "RTS")))
        self.assertEqual([("rejected", "10.9.0.2")], [(e[0], e[3]) for e in events(
            "ws4:61:90 [0] misc/socket.cc:4 NCCL WARN socketStartConnect: Connect to 10.9.0.2<4100> failed : Connection refused")])
        self.assertEqual([("unreachable", "10.9.0.2", "No route to host")], [(e[0], e[3], e[4]) for e in events(
            "ws4:61:90 [0] include/socket.h:4 NCCL WARN Net : Connect to 10.9.0.2<4100> failed : No route to host")])
        self.assertEqual(["memory_limit"], [e[0] for e in events("ws4:61:90 [0] NCCL WARN Call to ibv_reg_mr failed with error Cannot allocate memory")])
        self.assertEqual(["no_rdma"], [e[0] for e in events("ws4:61:90 [0] NCCL INFO NET/IB : No device found.")])

    def test_hosts_of_a_folder(self):
        """The first name is the folder's device, another is another host."""
        line = "{}:61:90 [0] NCCL WARN NET/IB : Got async event : port error\n"
        self.assertEqual([("rack3", 2), ("pod-b", 1)], [(e[1], e[5]) for e in events(line.format("pod-a") * 2 + line.format("pod-b"), "rack3")])

    def test_between_the_rows_of_a_table(self):
        table = ("#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
                 "ws4:61:90 [0] NCCL INFO Connected all rings\n"
                 "     1048576        262144     float     sum      -1    50.00   20.97   39.32      0    50.00   20.97   39.32      0\n"
                 "ws4:61:90 [0] NCCL WARN NET/IB : Got completion with error 12, opcode 0, len 0, vendor err 129\n"
                 "     2097152        524288     float     sum      -1    100.0   20.97   39.32      7    100.0   20.97   39.32      0\n")
        with tempfile.TemporaryDirectory() as root:
            path = pathlib.Path(root) / "text"
            path.write_text(table)
            seen = Evidence(path)
            self.assertEqual((2097152, 7), (seen.get("nccl-tests", "message_size"), seen.get("nccl-tests", "wrong_values")))
            self.assertEqual(["retry_exhausted"], [e[1] for e in seen.event])


class Others(unittest.TestCase):
    def test_ucx(self):
        """Two lines, between which others may write."""
        text = ("x\n[ws7:301:0:301] ib_mlx5_log.c:179  Transport retry count exceeded on mlx5_2:1/RoCE (synd 0x15 vend 0x81 hw_synd 0/0)\n"
                "[ws7:302:0:302] ib_mlx5_log.c:179  Local protection error on mlx5_2:1/RoCE (synd 0x4 vend 0x51 hw_synd 0/0)\n"
                "[ws7:302:0:302] ib_mlx5_log.c:179  RC QP 0x9c wqe[8]: RDMA_READ s-- [rva 0x7f rkey 0x1] [rqpn 0x9d dlid=0 sl=0 dgid=::ffff:172.20.8.9 sgid_index=3]\n")
        self.assertEqual([("retry_exhausted", "ws7:mlx5_2", "-", "-", "-", 1), ("access_refused", "ws7:mlx5_2", "-", "172.20.8.9", "-", 1)], events(text))
        text = ("x\n[ws7:301:0:301] ib_mlx5_log.c:143  Transport retry count exceeded on mlx5_2:1/RoCE (synd 0x15 vend 0x81 hw_synd 0/0)\n"
                "[ws7:301:0:301] ib_mlx5_log.c:143  DCI QP 0x90 wqe[0]: SEND s-e [rqpn 0x223 rmac 02:00:00:00:00:09 sgix 0 dgid fe80::9:9 tc 0] [inl len 18]\n")
        self.assertEqual([("retry_exhausted", "fe80::9:9", "-"), ("gid_wrong", "fe80::9:9", "GID index 0, link-local")], [(e[0], e[3], e[4]) for e in events(text)])

    def test_spdk(self):
        """Its line about aborted requests names an error that need not have been."""
        self.assertEqual(["access_refused"], [e[0] for e in events(
            "nvme_rdma.c:1748:process: *ERROR*: CQ error on Queue Pair 0x7ef, Opcode 128, Response Index 88 (4): local protection error\n"
            "nvme_qpair.c: 453:process: *ERROR*: CQ error, abort requests after transport retry counter exceeded\n")])
        self.assertEqual(["retry_exhausted"], [e[0] for e in events(
            "rdma.c:3778:log_wc: *ERROR*: Error on CQ 0xff, (qp state 1 ibv_state 6) request 0x28, type SEND, status: (12): transport retry counter exceeded\n")])

    def test_other_programs(self):
        for line, kind, to in (
                ("x\n[[9,1],0][btl_openib_component.c:3615:handle_wc] from ws7 to: ws8 error polling LP CQ with status RETRY EXCEEDED ERROR status number 12 for wr_id 1a", "retry_exhausted", "ws8"),
                ("Failed status transport retry counter exceeded (12) for wr_id 2", "retry_exhausted", "-"),
                ("cma event RDMA_CM_EVENT_ADDR_ERROR, error -19", "unreachable", "-"), ("cmatose: event: RDMA_CM_EVENT_REJECTED, error: 8", "rejected", "-"),
                ("  Failed status 12: wr_id 0 syndrom 0x81", "retry_exhausted", "-"), ("Couldn't connect to 10.9.0.2:18515", "unreachable", "10.9.0.2:18515"),
                ("Failed to modify QP to RTR: Connection timed out", "unreachable", "-"), ("Couldn't allocate MR", "memory_limit", "-"),
                ("srun: error: ws7: task 3: Out Of Memory", "killed", "-"), ("  exitcode  : -9 (pid: 812)", "program_failed", "-")):
            self.assertEqual([(kind, to)], [(e[0], e[3]) for e in events(line)], line)
        for line in ("  exitcode  : 1 (pid: 812)", "exited on signal 15 (Terminated)", "connect to the store", "a log of something else"):
            self.assertEqual([], events(line), line)

    def test_completion_of_mlx5(self):
        """The library prints the completion: of its 14th word the last byte is the syndrome."""
        zero = "00000000 00000000 00000000 00000000\n"
        text = f"mlx5: ws7: got completion with error:\n{zero}{zero}000000b3 00000000 00000000 00000000\n00000000 {{}} 0a0019a1 c0921cd2\n"
        self.assertEqual(["access_refused"], [e[0] for e in events(text.format("93005204"))])
        self.assertEqual(["retry_exhausted"], [e[0] for e in events(text.format("00008115"))])


class Ranks(unittest.TestCase):
    def test_watchdog(self):
        text = ("x\n[rank4]:[E1 ProcessGroupNCCL.cpp:607] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=91, OpType=ALLREDUCE, NumelIn=1, "
                "NumelOut=1, Timeout(ms)=600000) ran for 600060 milliseconds before timing out.\n"
                "[rank4]:[E1 ProcessGroupNCCL.cpp:1785] [PG ID 2 PG GUID 11(tp) Rank 0] Exception (either an error or timeout) detected by watchdog at work: 91, "
                "last enqueued NCCL work: 93, last completed NCCL work: 90.\n"
                "[E ProcessGroupNCCL.cpp:458] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=77, OpType=ALLREDUCE, Timeout(ms)=9) ran for 9\n"
                "[E ProcessGroupNCCL.cpp:458] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=75, OpType=ALLREDUCE, Timeout(ms)=9) ran for 9\n")
        with tempfile.TemporaryDirectory() as root:
            path = pathlib.Path(root) / "text"
            path.write_text(text)
            seen = Evidence(path)
            self.assertEqual((91, 91, 75), tuple(seen.get(r, "rank_stuck_operation") for r in ("process group/rank 4", "tp/rank 4", "process group/rank 1")))
            self.assertIn(["process group/rank 4", "ALLREDUCE"], [[e[0], e[5]] for e in seen.event if e[1] == "collective_timeout"])

    def test_store(self):
        self.assertEqual([("unreachable", "10.9.0.1")], [(e[0], e[3]) for e in events(
            "DistNetworkError: The client socket has timed out after 900000ms while trying to connect to (10.9.0.1, 29500).")])
        self.assertEqual([("rank_missing", "3/4 clients joined")], [(e[0], e[4]) for e in events(
            "DistStoreError: Timed out after 901 seconds waiting for clients. 3/4 clients joined.")])


if __name__ == "__main__":
    unittest.main()
