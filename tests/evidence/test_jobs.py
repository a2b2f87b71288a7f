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
                ("NET/IBP:Got completion from peer 10.9.0.2<4100> with status=12 opcode=7 len=7 vendor err 129 (Send)", "job.log", "-", "10.9.0.2", "-"),
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

    def test_tags_of_mpirun(self):
        for tag in ("2019-06-02T16:13:44.884Z: [1,12]<stdout>:", "Mon Feb 26 12:09:38 2018[1,564]<stderr>:", "(Worker pid=581, ip=10.9.0.4) ", "12: "):
            self.assertEqual([("link_went_down", "ws4")], [e[:2] for e in events(f"x\n{tag}ws4:61:90 [0] transport/net_ib.cu:80 NCCL WARN NET/IB : Got async event : port error")], tag)

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
        for line, kind, to, detail in (
                ("a/ibrc.cpp:422: non-zero status: 110 ibv_modify_qp failed", "unreachable", "-", "queue pair to RTR: Connection timed out"),
                ("RuntimeError: Gloo connectFullMesh failed with [pair.cc:144] no error, SO_ERROR: Connection refused, remote=[10.9.0.2]:331", "rejected", "10.9.0.2",
                 "a socket: nobody listens at that address"),
                ("RuntimeError: [gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.9.0.2]:1234", "disconnected", "10.9.0.2", "-"),
                ("[launch.py:325:sigkill_handler] ['python', 'train.py'] exits with return code = -9", "program_failed", "-", "signal 9: killed, often for want of memory")):
            self.assertEqual([(kind, to, detail)], [(e[0], e[3], e[4]) for e in events("x\n" + line)], line)
        for line in ("  exitcode  : 1 (pid: 812)", "exited on signal 15 (Terminated)", "connect to the store", "a log of something else"):
            self.assertEqual([], events(line), line)

    def test_older_names(self):
        """UCX before 1.11 says no "error"; other programs print the number alone."""
        for line, kind, of in (("x\n[ws7:301:0:301] ib_mlx5_log.c:143  Remote access on mlx5_2:1/IB (synd 0x13 vend 0x88 hw_synd 0/0)", "access_refused", "ws7:mlx5_2"),
                               ("x\n[ws7:301:0:301] ib_mlx5_log.c:139  Remote QP on mlx5_2:1/IB (synd 0x14 vend 0x89 hw_synd 0/0)", "request_refused", "ws7:mlx5_2"),
                               ("x\n[ws7:301 :0:301] ib_mlx5_log.c:115  FATAL: Error on mlx5_3:1 QP 0xe6 wqe[78]: Transport retry count exceeded (synd 0x15 vend 0x81)", "retry_exhausted", "ws7:mlx5_3"),
                               ("rdma_io.cc:811] Check failed: wc->status == IBV_WC_SUCCESS RC send CQ state error: 12, 0", "retry_exhausted", "job.log"),
                               ("x\n[ws7:301:a]   ib_device.c:475  UCX  WARN  IB Async event on mlx5_0: GID table change on port 1", "gid_changed", "ws7:mlx5_0"),
                               ("ws4:61:90 [0] NCCL WARN NET/IB : mlx5_3:1 GID table changed", "gid_changed", "ws4:mlx5_3")):
            self.assertEqual([(kind, of)], [e[:2] for e in events(line)], line)

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
            self.assertIn(["process group/rank 4", "ALLREDUCE 91"], [[e[0], e[5]] for e in seen.event if e[1] == "collective_timeout"])

    def test_analyzer_and_debug_mode(self):
        self.assertEqual([("ranks_differ", "rank 22: SIZE_OR_SYNTAX_MISMATCH")], [(e[0], e[4]) for e in events(
            "error msg: Culprit rank 22; Error type: SIZE_OR_SYNTAX_MISMATCH, Expected input sizes: '[[1]]' does not match found input sizes: '[[2]]'")])
        self.assertEqual([], events("error msg: Culprit rank 22; Error type: COLLECTIVE_STATE_MISMATCH, Expected state: completed"))
        self.assertEqual(["ranks_differ"], [e[0] for e in events("RuntimeError: Detected mismatch between collectives on ranks. Rank 0 is running collective: CollectiveFingerPrint(OpType=ALLREDUCE)")])
        self.assertEqual([("rank_missing", "ranks {2, 5}")], [(e[0], e[4]) for e in events("missing ranks: {2, 5}")])
        self.assertEqual([("rank_missing", "ranks 1, 3 ")], [(e[0], e[4]) for e in events("RuntimeError: [Rank 0]: Ranks 1, 3 failed to pass monitoredBarrier in 10000 ms")])
        self.assertEqual([("collective_timeout", "default_pg/rank 34")], [e[:2] for e in events(
            "x\n[rank5]:[E9 ProcessGroupNCCL.cpp:1746] [PG ID 0 PG GUID 0(default_pg) Rank 5] Received a dump signal due to a collective timeout from  rank 34 and we will try")])

    def test_store(self):
        self.assertEqual([("unreachable", "10.9.0.1")], [(e[0], e[3]) for e in events(
            "DistNetworkError: The client socket has timed out after 900000ms while trying to connect to (10.9.0.1, 29500).")])
        self.assertEqual([("rank_missing", "3/4 clients joined")], [(e[0], e[4]) for e in events(
            "DistStoreError: Timed out after 901 seconds waiting for clients. 3/4 clients joined.")])


RAS = """NCCL version 2.27.3 compiled with CUDA 12.9
CUDA runtime version 12090, driver version 12040

Job summary
===========

Communicators... (0.00s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1         2         8        16        16   RUNNING  MISMATCH

Errors
======

"""


class Ras(unittest.TestCase):
    def seen(self, text):
        with tempfile.TemporaryDirectory() as root:
            path = pathlib.Path(root) / "0/login/ras.txt"
            path.parent.mkdir(parents=True)
            path.write_text(text)
            return Evidence(root)

    def test_missing(self):
        """A process and its rank are one event; a number that is no rank is told, and made nothing of."""
        seen = self.seen(RAS + "INCOMPLETE\n  Missing communicator data from 1 job process\n  Process 812 on node 10.9.0.4 managing GPU 3\n\n"
                         "#0-0 (b3398875b8b2a063) INCOMPLETE\n  Missing communicator data from 2 ranks\n"
                         "  Rank 3 -- GPU 3 managed by process 812 on node 10.9.0.4\n  Rank 1057455228 -- GPU 0 managed by process 9 on node 10.9.0.4\n")
        self.assertEqual([["10.9.0.4", "rank_missing", "process 812 does not answer"]], [e[:2] + e[5:6] for e in seen.event])
        self.assertTrue(any("no rank 1057455228" in r[1] for r in seen.remark), seen.remark)
        self.assertEqual([], seen.unknown)
        self.assertEqual("10.9.0.4", seen.host["comm b3398875b8b2a063/rank 3"])
        seen = self.seen(RAS + "DEAD\n  1 job process is considered dead (unreachable via the RAS network)\n  Process 812 on node gpu4 managing GPU 3\n")
        self.assertEqual([["gpu4", "rank_missing", "process 812, considered dead"]], [e[:2] + e[5:6] for e in seen.event])

    def test_ahead_and_states(self):
        text = (RAS + "#0-0 (fa93) MISMATCH\n  Communicator ranks have different AllGather operation counts\n  14 ranks have launched up to operation 640\n"
                "  2 ranks have launched up to operation 641\n  Rank 12 -- GPU 4 managed by process 32 on node gpu1\n  Rank 13 -- GPU 5 managed by process 33 on node gpu1\n")
        seen = self.seen(text)
        self.assertEqual([["comm fa93", "rank_behind", "2 ranks (12, 13) began AllGather 641, and 14 others 640"]], [e[:2] + e[5:6] for e in seen.event])
        self.assertEqual((640, 641), (seen.get("comm fa93/rank 0", "rank_last_operation"), seen.get("comm fa93/rank 12", "rank_last_operation")))
        seen = self.seen(RAS + "#0-0 (fa93) MISMATCH\n  Communicator ranks have different status\n  15 ranks have status RUNNING\n"
                         "  Rank 5 has status ABORT -- GPU 5 managed by process 32 on node gpu1\n")
        self.assertEqual([["comm fa93/rank 5", "ranks_differ", "status ABORT"]], [e[:2] + e[5:6] for e in seen.event])

    def test_json(self):
        rank = '{{"rank": {}, "host": "gpu{}", "pid": 4, "status": {{"abort_flag": false}}, "collective_counts": {{"Broadcast": 1, "AllReduce": {}}}}}'
        seen = self.seen('{"nccl_version": "2.29.2", "communicators_count": 1, "communicators": [{"hash": "0xfa93", "size": 3, "ranks": ['
                         + rank.format(0, 0, 63) + "," + rank.format(1, 1, 62) + '], "missing_ranks": [{"rank": 2, "host": "gpu2", "pid": 9, '
                         '"status": {"unresponsive": true, "considered_dead": true}}]}], "ras": {"timeouts_count": 0}}')
        self.assertEqual((64, 63, 3), (seen.get("comm fa93/rank 0", "rank_last_operation"), seen.get("comm fa93/rank 1", "rank_last_operation"), seen.get("comm fa93", "ranks")))
        self.assertEqual([["comm fa93/rank 2", "rank_missing", "considered dead"]], [e[:2] + e[5:6] for e in seen.event])


class Perftest(unittest.TestCase):
    TEXT = """                    RDMA_Write BW Test
 Dual-port       : OFF          Device         : mlx5_3
 Link type       : Ethernet
 GID index       : 0
 local address: LID 0000 QPN 0x003b PSN 0xab3a5e RKey 0x015b1a VAddr 0x007f72e9620000
 GID: {}:00:00:00:00:00:00:02:00:00:255:254:00:00:09
 remote address: LID 0000 QPN 0x003c PSN 0x65b096 RKey 0x014d0c VAddr 0x007fcb322d5000
 GID: {}:00:00:00:00:00:00:02:00:00:255:254:00:00:07
"""

    def seen(self, text):
        with tempfile.TemporaryDirectory() as root:
            path = pathlib.Path(root) / "0/h1/ib_write_bw.txt"
            path.parent.mkdir(parents=True)
            path.write_text(text)
            return Evidence(root)

    def test_without_a_result(self):
        """Its GIDs may be why; with a result they are not."""
        text = self.TEXT.format("254:128", "254:128")
        seen = self.seen(text + "Failed to modify QP 59 to RTR\n Unable to Connect the HCA's through the link\n")
        self.assertEqual([["h1", "unreachable", "queue pair to RTR"], ["h1:mlx5_3", "gid_wrong", "GID index 0, link-local"]], [e[:2] + e[5:6] for e in seen.event])
        self.assertEqual([], seen.unknown)
        self.assertTrue(any("without a result" in r[1] for r in seen.remark))
        seen = self.seen(text + " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n 65536      5000     0.00               96.31              0.18\n")
        self.assertEqual([], seen.event)
        self.assertFalse(any("without a result" in r[1] for r in seen.remark))
        self.assertEqual("GID index 0, empty", self.seen(self.TEXT.format("00:00", "00:00").replace("02:00:00:255:254:00:00:0", "00:00:00:00:00:00:00:0").replace(":09\n", ":00\n").replace(
            ":07\n", ":00\n")).event[0][5])


if __name__ == "__main__":
    unittest.main()
