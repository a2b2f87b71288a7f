# SPDX-License-Identifier: Apache-2.0
"""Two ends of a connection that try every operation on each other and compare every byte.

    verify.py DEVICE GID_INDEX MTU [SERVER]      without SERVER: waits for the other end on TCP port 18600

Both ends walk through the same list of steps twice: first the client asks, then the server.  A step is
one operation at one size; data are made from a number both know, so each end knows what it has to find, and what
lies around the target must not change.  Meeting points go over TCP, so a step begins with both ends ready.  The
refusals come last, each on a queue pair of its own: a key that is not valid, a message longer than its receive.

Uses pyverbs, which is the same on both sides: below it lies the kernel's Soft-RoCE or our library.
"""
import json
import random
import socket
import sys
import time

from pyverbs.addr import AH, AHAttr, GID, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
import pyverbs.enums as e
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

PORT, QKEY, GRH, ROOM, EDGE = 18600, 0x11111111, 40, 1 << 20, 64
SIZES = (0, 1, 63, 1024, 4096, 4097, 100001, 700000)
ACCESS = (e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE | e.IBV_ACCESS_REMOTE_READ | e.IBV_ACCESS_REMOTE_ATOMIC)
PATIENCE_S = 120


def data_of(number, size):
    return random.Random(number).randbytes(size)


class End:
    def __init__(self, device, gid_index, mtu, peer):
        self.context = Context(name=device)
        self.device = device
        self.gid_index, self.mtu = gid_index, mtu
        self.gid = str(self.context.query_gid(1, gid_index))
        self.pd = PD(self.context)
        self.mr = MR(self.pd, ROOM, ACCESS)
        self.server = not peer
        self.link = self.listen() if self.server else self.call(peer)
        self.heard = self.link.makefile("r")

    @staticmethod
    def listen():
        with socket.create_server(("", PORT), family=socket.AF_INET6, dualstack_ipv6=True) as server:
            server.settimeout(PATIENCE_S)
            link = server.accept()[0]
            link.settimeout(PATIENCE_S)
            return link

    @staticmethod
    def call(peer):
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                return socket.create_connection((peer, PORT), timeout=PATIENCE_S)
            except ConnectionRefusedError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)

    def swap(self, what=None):
        """Says something, hears what the other end said: also the meeting point."""
        self.link.sendall(json.dumps(what).encode() + b"\n")
        line = self.heard.readline()
        assert line, "the other end has gone"
        return json.loads(line)

    def handle(self, gid):
        return AHAttr(gr=GlobalRoute(dgid=GID(gid), sgid_index=self.gid_index), is_global=1, port_num=1)

    def connect(self, kind, psn):
        """A queue pair and its queue; both ends call it together."""
        self.cq = CQ(self.context, 64)
        cap = QPCap(max_send_wr=16, max_recv_wr=16, max_send_sge=2, max_recv_sge=2)
        self.qp = QP(self.pd, QPInitAttr(qp_type=kind, scq=self.cq, rcq=self.cq, cap=cap, sq_sig_all=1))
        self.kind = kind
        self.peer = self.swap({"qpn": self.qp.qp_num, "gid": self.gid, "psn": psn, "addr": self.mr.buf, "rkey": self.mr.rkey, "device": self.device})
        attr = QPAttr(port_num=1)
        if kind == e.IBV_QPT_UD:
            attr.qkey, attr.sq_psn = QKEY, psn
            self.ah = AH(self.pd, attr=self.handle(self.peer["gid"]))
        else:
            attr.dest_qp_num, attr.path_mtu, attr.ah_attr = self.peer["qpn"], self.mtu, self.handle(self.peer["gid"])
            attr.rq_psn, attr.sq_psn, attr.qp_access_flags = self.peer["psn"], psn, ACCESS & ~e.IBV_ACCESS_LOCAL_WRITE
            attr.max_rd_atomic = attr.max_dest_rd_atomic = 4
            attr.min_rnr_timer, attr.timeout, attr.retry_cnt, attr.rnr_retry = 12, 14, 7, 7
        self.qp.to_rts(attr)
        self.swap()

    def sge(self, offset, size):
        return [SGE(self.mr.buf + offset, size, self.mr.lkey)]

    def receive(self, offset, size):
        sg = self.sge(offset, size)
        self.qp.post_recv(RecvWR(num_sge=len(sg), sg=sg, wr_id=7))

    def send(self, opcode, offset, size, imm=0, rkey=None, atomic=None):
        sg = self.sge(offset, size)
        wr = SendWR(wr_id=9, opcode=opcode, num_sge=len(sg), sg=sg, send_flags=e.IBV_SEND_SIGNALED, imm_data=imm)
        remote = self.peer["addr"] + EDGE
        if atomic:
            wr.set_wr_atomic(self.peer["rkey"], remote, *atomic)
        elif opcode not in (e.IBV_WR_SEND, e.IBV_WR_SEND_WITH_IMM):
            wr.set_wr_rdma(self.peer["rkey"] if rkey is None else rkey, remote)
        if self.kind == e.IBV_QPT_UD:
            wr.set_wr_ud(self.ah, self.peer["qpn"], QKEY)
        self.qp.post_send(wr)

    def complete(self, status=e.IBV_WC_SUCCESS):
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            count, found = self.cq.poll(1)
            if count:
                assert found[0].status == status, f"completion status {found[0].status}, not {status}"
                return found[0]
        raise AssertionError("no completion")

    def fill(self, number, offset, size):
        self.mr.write(data_of(number, size), size, offset) if size else None

    def expect(self, number, offset, size):
        found = self.mr.read(size + 2 * EDGE, offset - EDGE)
        assert found[EDGE:EDGE + size] == data_of(number, size), "the data differ"
        assert found[:EDGE] == found[EDGE + size:] == bytes(EDGE), "bytes beside the target changed"

    def clear(self):
        self.mr.write(bytes(ROOM), ROOM, 0)


def step_send(end, active, number, size, opcode):
    imm = number * 0x01020304 & 0xffffffff
    receives = opcode != e.IBV_WR_RDMA_WRITE
    head = GRH if end.kind == e.IBV_QPT_UD else 0
    end.clear()
    if active:
        end.fill(number, EDGE, size)
    elif receives:
        end.receive(EDGE - head, size + head)
    end.swap()
    if active:
        end.send(opcode, EDGE, size, imm)
        end.complete()
    elif receives:
        wc = end.complete()
        if opcode in (e.IBV_WR_SEND_WITH_IMM, e.IBV_WR_RDMA_WRITE_WITH_IMM):
            assert wc.wc_flags & e.IBV_WC_WITH_IMM and wc.imm_data == imm, f"immediate data {wc.imm_data:#x}, not {imm:#x}"
        assert wc.byte_len == size + head, f"{wc.byte_len} bytes, not {size + head}"
    end.swap()
    if not active and not head:
        end.expect(number, EDGE, size)
    elif not active:
        assert end.mr.read(size, EDGE) == data_of(number, size), "the data differ"


def step_read(end, active, number, size):
    end.clear()
    if not active:
        end.fill(number, EDGE, size)
    end.swap()
    if active:
        end.send(e.IBV_WR_RDMA_READ, EDGE, size)
        end.complete()
        end.expect(number, EDGE, size)
    end.swap()


def step_atomics(end, active):
    start, wrong, new, more = 0x0123456789abcdef, 5, 0xfedcba9876543210, 0x1111
    end.clear()
    if not active:
        end.mr.write(start.to_bytes(8, "little"), 8, EDGE)
    end.swap()
    steps = [(e.IBV_WR_ATOMIC_CMP_AND_SWP, (wrong, new), start), (e.IBV_WR_ATOMIC_CMP_AND_SWP, (start, new), start),
             (e.IBV_WR_ATOMIC_FETCH_AND_ADD, (more, 0), new), (e.IBV_WR_ATOMIC_FETCH_AND_ADD, ((1 << 64) - 1, 0), new + more)]
    for opcode, operands, before in steps if active else ():
        end.send(opcode, 4096, 8, atomic=operands)
        end.complete()
        found = int.from_bytes(end.mr.read(8, 4096), "little")
        assert found == before, f"original value {found:#x}, not {before:#x}"
    end.swap()
    if not active:
        found = int.from_bytes(end.mr.read(8, EDGE), "little")
        assert found == new + more - 1, f"in memory {found:#x}"


def step_rnr(end, active, number, size):
    """The receive is posted long after the message came."""
    end.clear()
    if active:
        end.fill(number, EDGE, size)
    end.swap()
    if active:
        end.send(e.IBV_WR_SEND, EDGE, size)
    else:
        time.sleep(0.1)
        end.receive(EDGE, size)
    end.complete()
    end.swap()
    if not active:
        end.expect(number, EDGE, size)


def step_many(end, active):
    """A row of WRITEs and READs of several packets each, 16 in flight."""
    size = 20000
    end.clear()
    for i in range(16):
        end.fill(700 + i if active else 800 + i, EDGE + i * size, size)
    end.swap()
    if active:
        for i in range(16):
            sg = end.sge(EDGE + i * size, size)
            opcode = e.IBV_WR_RDMA_READ if i % 3 == 2 else e.IBV_WR_RDMA_WRITE
            wr = SendWR(wr_id=i, opcode=opcode, num_sge=1, sg=sg, send_flags=e.IBV_SEND_SIGNALED)
            wr.set_wr_rdma(end.peer["rkey"], end.peer["addr"] + EDGE + i * size)
            end.qp.post_send(wr)
        for i in range(16):
            assert end.complete().wr_id == i, "completions out of order"
    end.swap()
    for i in range(16):
        wanted = 800 + i if i % 3 == 2 else 700 + i
        assert end.mr.read(size, EDGE + i * size) == data_of(wanted, size), f"the data differ in part {i}"


def refused(end, active, psn):
    """The requester learns why, the responder's memory stays as it was."""
    end.connect(e.IBV_QPT_RC, psn)
    end.clear()
    end.swap()
    if active:
        end.fill(1, EDGE, 5000)
        end.send(e.IBV_WR_RDMA_WRITE, EDGE, 5000, rkey=end.peer["rkey"] ^ 0x5a5a5a)
        end.complete(e.IBV_WC_REM_ACCESS_ERR)
    end.swap()
    if not active:
        assert end.mr.read(6000, 0) == bytes(6000), "a WRITE with a wrong key changed memory"
    end.connect(e.IBV_QPT_RC, psn)
    if not active:
        end.receive(EDGE, 1000)
    end.swap()
    kernel = (end.peer["device"] if active else end.device).startswith("rxe")  # it answers "operational error"
    if active:
        end.send(e.IBV_WR_SEND, EDGE, 20000)
        end.complete(e.IBV_WC_REM_OP_ERR if kernel else e.IBV_WC_REM_INV_REQ_ERR)
    else:
        end.complete(e.IBV_WC_LOC_QP_OP_ERR if kernel else e.IBV_WC_LOC_LEN_ERR)
    end.swap()


def reliable(end, active):
    for opcode in (e.IBV_WR_SEND, e.IBV_WR_SEND_WITH_IMM, e.IBV_WR_RDMA_WRITE, e.IBV_WR_RDMA_WRITE_WITH_IMM):
        for size in SIZES:
            step_send(end, active, opcode * 1000 + size % 997, size, opcode)
    for size in SIZES:
        step_read(end, active, 50 + size % 997, size)
    step_atomics(end, active)
    step_many(end, active)
    step_rnr(end, active, 60, 5000)


def unreliable(end, active):
    for opcode in (e.IBV_WR_SEND, e.IBV_WR_SEND_WITH_IMM, e.IBV_WR_RDMA_WRITE_WITH_IMM):
        for size in SIZES[:6]:
            step_send(end, active, opcode * 1000 + size, size, opcode)


def main():
    device, gid_index, mtu = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    lossy = "--lossy" in sys.argv
    peer = next((a for a in sys.argv[4:] if not a.startswith("--")), None)
    mtus = {256: e.IBV_MTU_256, 512: e.IBV_MTU_512, 1024: e.IBV_MTU_1024, 2048: e.IBV_MTU_2048, 4096: e.IBV_MTU_4096}
    end = End(device, gid_index, mtus[mtu], peer)
    roles = (not end.server, end.server)
    end.connect(e.IBV_QPT_RC, 0xfffff0)  # the numbers wrap soon
    for active in roles:
        reliable(end, active)
    if not lossy:  # these may lose what the cable loses
        end.connect(e.IBV_QPT_UC, 0xfffffe)
        for active in roles:
            unreliable(end, active)
        end.connect(e.IBV_QPT_UD, 5)
        for active in roles:
            for size in (1, 63, mtu):
                step_send(end, active, 90 + size, size, e.IBV_WR_SEND_WITH_IMM)
        for active in roles:  # a NAK that is lost is not repeated
            refused(end, active, 100)
    end.swap()
    print("verified")


if __name__ == "__main__":
    main()
