/* SPDX-License-Identifier: Apache-2.0 */
/*
 * READs and atomics at the responder (volume 1, 9.4.4, 9.4.5, 9.7).
 *
 * Each that is accepted takes a place in a ring; the responses are cut into packets when the port asks for them, in
 * turn with the QP's own requests and under the same pacing and pauses.  A place stays after its
 * response was sent, until the ring comes round: a duplicate READ is executed again from the PSN
 * it names, a duplicate atomic gets the answer it got before (9.4.5: it must not be executed
 * twice).  A requester that has more outstanding than the ring holds is told so: invalid request.
 *
 * When an older one is asked for again, the later ones will be too: whatever of them was still to be
 * sent is not.
 */
#include "base/check.h"
#include "nic/nic_int.h"
#include "packet/opcode.h"

#define SYNDROME_ACK 0x1fu

static struct nic_resource *resource_at(const struct nic_qp *qp, uint32_t index)
{
    return &qp->resource[index & qp->resource_mask];
}

static enum verdict may_access(struct nic *nic, const struct nic_qp *qp, const struct pkt *p, bool read)
{
    uint8_t right = read ? NIC_REMOTE_READ : NIC_REMOTE_ATOMIC;

    if (!(qp->access & right)) return REFUSED_INVALID;
    if (!read && p->rdma.va & 7) return REFUSED_INVALID;
    if (read && p->rdma.dma_bytes > NIC_LENGTH_MAX) return REFUSED_INVALID;
    return mr_check(nic, qp, p->rdma.rkey, p->rdma.va, read ? p->rdma.dma_bytes : 8, right);
}

/*
 * From its first READ or atomic on a QP acknowledges in its own class, whatever class acknowledgements were given: in
 * another an ACK could overtake the response before it, which the requester must take for a response lost.  An ACK that
 * still waits in the other class speaks for earlier packets alone, and stays as it is.
 */
static void keep_in_order(struct nic_qp *qp)
{
    if (qp->ack_prio == qp->prio && qp->ack_tos == (qp->tos & ~PKT_ECN_MASK)) return;
    qp->ack_prio = qp->prio;
    qp->ack_tos = (uint8_t)(qp->tos & ~PKT_ECN_MASK);
    qp->ack_id = PKT_NONE;
}

/* Places that have nothing to send are passed over. */
static void skip_answered(struct nic_qp *qp)
{
    while (qp->resource_next != qp->resource_tail && !resource_at(qp, qp->resource_next)->pending)
        qp->resource_next++;
}

/* A place for one more.  An answer that is only being repeated gives way: the requester has gone on. */
static bool make_room(struct nic_qp *qp)
{
    if (qp->resource_size == 0) return false;
    while (qp->resource_tail - qp->resource_next >= qp->resource_size) {
        struct nic_resource *oldest = resource_at(qp, qp->resource_next);
        if (!oldest->done) return false;
        oldest->pending = false;
        skip_answered(qp);
    }
    return true;
}

enum verdict responder_accept(struct nic *nic, struct nic_qp *qp, pkt_t id, struct nic_io *io)
{
    const struct pkt *p = &io->pool->hot[id];
    bool read = p->opcode == OPCODE_RC_READ_REQUEST;
    enum verdict verdict = may_access(nic, qp, p, read);

    if (verdict != DONE) return verdict;
    if (!make_room(qp)) return REFUSED_INVALID;
    keep_in_order(qp);
    uint32_t length = read ? p->rdma.dma_bytes : 8;
    uint32_t packets = read && length ? (length + qp->mtu - 1) / qp->mtu : 1;
    qp->msn++;
    *resource_at(qp, qp->resource_tail) = (struct nic_resource){.va = p->rdma.va,
                                                                .length = length,
                                                                .rkey = p->rdma.rkey,
                                                                .first_psn = qp->epsn,
                                                                .last_psn = qp->epsn + packets - 1,
                                                                .next_psn = qp->epsn,
                                                                .msn = qp->msn,
                                                                .opcode = p->opcode,
                                                                .pending = true};
    if (read) {
        nic->counters.rx_read_requests++;
    } else {
        const struct pkt_cold *cold = io->pool->cold ? &io->pool->cold[id] : NULL;
        nic->counters.rx_atomic_requests++;
        io->atomic.va = p->rdma.va;
        io->atomic.swap = cold ? cold->swap : 0;
        io->atomic.compare = cold ? cold->compare : 0;
        io->atomic.qpn = qp->qpn;
        io->atomic.slot = qp->resource_tail & qp->resource_mask;
        io->atomic.verb = p->opcode == OPCODE_RC_COMPARE_SWAP ? NIC_CAS : NIC_FETCH_ADD;
    }
    qp->resource_tail++;
    qp->epsn += packets;
    return DONE_RESPONSE;
}

void nic_atomic_done(struct nic *nic, uint32_t qpn, uint32_t slot, uint64_t original)
{
    struct nic_qp *qp = qp_find(nic, qpn);

    if (qp && slot < qp->resource_size) qp->resource[slot].original = original;
}

bool responder_replay(struct nic *nic, struct nic_qp *qp, const struct pkt *p, uint32_t psn)
{
    uint32_t known = qp->resource_tail < qp->resource_size ? qp->resource_tail : qp->resource_size;
    bool read = p->opcode == OPCODE_RC_READ_REQUEST;

    for (uint32_t i = 1; i <= known; i++) {
        uint32_t index = qp->resource_tail - i;
        struct nic_resource *r = resource_at(qp, index);
        if (psn_diff(psn, r->first_psn) < 0 || psn_diff(psn, r->last_psn) > 0) continue;
        if (r->opcode != p->opcode) return false;
        /* It must be the part of the same memory that this PSN stands for. */
        if (read && p->rdma.va != r->va + (uint64_t)(psn - r->first_psn) * qp->mtu) return false;
        if (read && may_access(nic, qp, p, true) != DONE) return false;
        r->next_psn = psn;
        r->pending = true;
        r->answered = false;
        for (uint32_t later = index + 1; later != qp->resource_tail; later++)
            resource_at(qp, later)->pending = false;
        if (psn_diff(qp->resource_next, index) > 0) qp->resource_next = index;
        if (!qp->failing) qp->trail = false;
        skip_answered(qp);
        return true;
    }
    return false; /* too old: the requester's timer will end it */
}

static void fill_read(struct nic *nic, struct nic_qp *qp, struct pkt *p, struct nic_resource *r, struct nic_io *io)
{
    uint64_t offset = (uint64_t)(r->next_psn - r->first_psn) * qp->mtu;
    uint64_t left = r->length - offset;
    uint32_t payload = left > qp->mtu ? qp->mtu : (uint32_t)left;
    bool last = r->next_psn == r->last_psn;

    if (r->answered)
        p->opcode = last ? OPCODE_RC_READ_RESPONSE_LAST : OPCODE_RC_READ_RESPONSE_MIDDLE;
    else
        p->opcode = last ? OPCODE_RC_READ_RESPONSE_ONLY : OPCODE_RC_READ_RESPONSE_FIRST;
    p->payload_bytes = (uint16_t)payload;
    p->pad = (uint8_t)(-payload & 3);
    io->gather.local = r->va + offset;
    io->gather.offset = 0;
    io->gather.bytes = payload;
    io->gather.rkey = r->rkey;
    io->gather.read = true;
    p->frame_bytes = frame_of(nic, p->opcode, payload, p->pad);
}

pkt_t responder_tx(struct nic *nic, struct nic_qp *qp, ps_t now, struct nic_io *io)
{
    pkt_t id = pktpool_get(io->pool);
    struct nic_resource *r = resource_at(qp, qp->resource_next);

    (void)now;
    CHECK(id != PKT_NONE && r->pending);
    struct pkt *p = &io->pool->hot[id];
    packet_begin(nic, p, OPCODE_RC_ATOMIC_ACK, qp->remote, qp->remote_qp);
    p->tos = qp->tos;
    p->pcp = qp->prio;
    p->sport = qp->sport;
    p->psn = r->next_psn & PSN_MASK;
    if (r->opcode == OPCODE_RC_READ_REQUEST)
        fill_read(nic, qp, p, r, io);
    else
        p->frame_bytes = frame_of(nic, OPCODE_RC_ATOMIC_ACK, 0, 0);
    if (opcode_info(p->opcode)->flags & OP_AETH) {
        p->ack.syndrome = SYNDROME_ACK;
        p->ack.msn = r->msn & PSN_MASK;
        p->ack.original = r->original;
    }
    r->answered = true;
    if (r->next_psn++ == r->last_psn) {
        r->pending = false;
        r->done = true;
        skip_answered(qp);
    }
    if (!responder_has_work(qp) && qp->trail) {
        struct answer answer = qp->trailing;
        responder_answer(nic, qp, PKT_NONE, &answer, io);
        if (qp->failing) qp_fail_recv(nic, qp, qp->failing, io);
    }
    return id;
}
