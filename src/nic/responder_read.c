/* SPDX-License-Identifier: Apache-2.0 */
/*
 * READs and atomics at the responder (volume 1, 9.4.4, 9.4.5, 9.7).
 *
 * Each that is accepted takes a place in a ring; the responses are cut into packets when the port asks for them, in
 * turn with the QP's own requests and under the same pacing and pauses.  A place stays after its
 * response was sent, until the ring comes round: a duplicate READ is executed again from the PSN
 * it names, for as much as it asks, a duplicate atomic gets the answer it got before (9.4.5: it must not be executed
 * twice).  A requester that has more outstanding than `accept_reads` is told so: invalid request.
 *
 * Keys are looked up again for each packet of a READ's answer.  One that is good no more ends it: NAK remote access.
 *
 * When an older one is asked for again, the later ones will be too: whatever of them was still to be
 * sent is not.
 */
#include "base/check.h"
#include "nic/nic_int.h"
#include "packet/opcode.h"

static struct nic_resource *resource_at(const struct nic_qp *qp, uint32_t index)
{
    return &qp->resource[index & qp->resource_mask];
}

/* An answer of no bytes is one packet too. */
static uint32_t packets_of(const struct nic_qp *qp, uint32_t length)
{
    return length ? (length - 1) / qp->mtu + 1 : 1;
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
    qp->ack_id = qp->nak_id = PKT_NONE;
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
    if (qp->accept_reads == 0) return false;
    while (qp->resource_tail - qp->resource_next >= qp->accept_reads) {
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
    uint32_t length = read ? p->rdma.dma_bytes : 8;
    uint32_t packets = packets_of(qp, length);
    if (packets > PSN_SPAN) return REFUSED_INVALID;
    keep_in_order(qp);
    qp->msn++;
    *resource_at(qp, qp->resource_tail) = (struct nic_resource){.va = p->rdma.va,
                                                                .length = length,
                                                                .rkey = p->rdma.rkey,
                                                                .first_psn = qp->epsn,
                                                                .last_psn = qp->epsn + packets - 1,
                                                                .next_psn = qp->epsn,
                                                                .stop_psn = qp->epsn + packets - 1,
                                                                .stop = length,
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

/* A duplicate asks for the part of the same memory that its PSN stands for, or for the beginning of that part. */
static bool asks_again(const struct nic_qp *qp, const struct nic_resource *r, const struct pkt *p, uint32_t psn)
{
    uint64_t offset = (uint64_t)(psn - r->first_psn) * qp->mtu;

    if (r->opcode != p->opcode) return false;
    if (r->opcode != OPCODE_RC_READ_REQUEST) return true;
    if (!(qp->access & NIC_REMOTE_READ)) return false;
    if (p->rdma.rkey != r->rkey || p->rdma.va != r->va + offset) return false;
    return p->rdma.dma_bytes <= r->length - offset && (p->rdma.dma_bytes > 0 || r->length == 0);
}

bool responder_replay(struct nic_qp *qp, const struct pkt *p, uint32_t psn)
{
    uint32_t known = qp->resource_tail < qp->resource_size ? qp->resource_tail : qp->resource_size;

    for (uint32_t i = 1; i <= known; i++) {
        uint32_t index = qp->resource_tail - i;
        struct nic_resource *r = resource_at(qp, index);
        if (psn_diff(psn, r->first_psn) < 0 || psn_diff(psn, r->last_psn) > 0) continue;
        if (!asks_again(qp, r, p, psn)) return false;
        r->next_psn = psn;
        if (p->opcode == OPCODE_RC_READ_REQUEST) {
            r->stop_psn = psn + packets_of(qp, p->rdma.dma_bytes) - 1;
            r->stop = (uint64_t)(psn - r->first_psn) * qp->mtu + p->rdma.dma_bytes;
        }
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

/* Of the next packet of a READ's answer. */
static uint64_t read_offset(const struct nic_qp *qp, const struct nic_resource *r)
{
    return (uint64_t)(r->next_psn - r->first_psn) * qp->mtu;
}

static uint32_t read_payload(const struct nic_qp *qp, const struct nic_resource *r)
{
    uint64_t offset = read_offset(qp, r);

    return r->stop - offset > qp->mtu ? qp->mtu : (uint32_t)(r->stop - offset);
}

static void fill_read(struct nic *nic, struct nic_qp *qp, struct pkt *p, struct nic_resource *r, struct nic_io *io)
{
    uint64_t offset = read_offset(qp, r);
    uint32_t payload = read_payload(qp, r);
    bool last = r->next_psn == r->stop_psn;

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
    io->gather.qpn = qp->qpn;
    io->gather.read = true;
    p->frame_bytes = frame_of(nic, p->opcode, payload, p->pad);
}

/*
 * Selective repeat: what was not kept must be asked for, but the NAK that did so may have given way to a refusal, an
 * acknowledgement or one more response while it waited.  Nobody else would say it: a later NAK comes with a later
 * packet alone.
 */
static void ask_for_dropped(struct nic *nic, struct nic_qp *qp, const struct answer *said, struct nic_io *io)
{
    struct selective *s = qp->selective;

    if (!s || !s->unsaid) return;
    s->unsaid = false;
    if (said && said->names && psn_diff(said->trigger, s->dropped) >= 0) return;
    if (qp->failing || psn_diff(s->dropped, qp->epsn) < 0) return;
    struct answer answer = {.psn = qp->epsn,
                            .trigger = s->dropped,
                            .syndrome = AETH_SYNDROME_NAK | NAK_PSN_SEQUENCE,
                            .names = true,
                            .not_kept = true};
    responder_answer(nic, qp, PKT_NONE, &answer, io);
}

/* The answers are out: what waited behind them may go. */
static void answer_trailing(struct nic *nic, struct nic_qp *qp, ps_t now, struct nic_io *io)
{
    bool trails = qp->trail;

    if (responder_has_work(qp) || (!trails && !qp->selective)) return;
    struct answer answer = qp->trailing;
    if (trails) responder_answer(nic, qp, PKT_NONE, &answer, io);
    ask_for_dropped(nic, qp, trails ? &answer : NULL, io);
    if (trails && qp->failing) qp_fail_recv(nic, qp, qp->failing, now, io);
}

pkt_t responder_tx(struct nic *nic, struct nic_qp *qp, ps_t now, struct nic_io *io)
{
    struct nic_resource *r = resource_at(qp, qp->resource_next);
    bool read = r->opcode == OPCODE_RC_READ_REQUEST;

    if (!QP_CHECK(nic, qp, r->pending && (!read || read_offset(qp, r) <= r->stop))) return PKT_NONE;
    if (read && key_check(nic, qp, r->rkey, r->va + read_offset(qp, r), read_payload(qp, r), NIC_REMOTE_READ) != DONE) {
        if (r->done) { /* asked for again after it was answered, by a late copy: its memory may be gone since */
            nic->counters.drop[NIC_DROP_duplicate]++;
            r->pending = false;
            skip_answered(qp);
            answer_trailing(nic, qp, now, io);
            return PKT_NONE;
        }
        nic->counters.resp_remote_access_errors++;
        event_qp(nic, qp, NIC_EVENT_QP_ACCESS);
        responder_unanswerable(nic, qp, r->next_psn, NAK_REMOTE_ACCESS, now, io);
        return PKT_NONE;
    }
    pkt_t id = pktpool_get(io->pool);
    CHECK(id != PKT_NONE);
    struct pkt *p = &io->pool->hot[id];
    packet_begin(nic, p, OPCODE_RC_ATOMIC_ACK, qp->remote, qp->remote_qp);
    p->tos = qp->tos;
    p->pcp = qp->prio;
    p->sport = qp->sport;
    p->psn = r->next_psn & PSN_MASK;
    if (read)
        fill_read(nic, qp, p, r, io);
    else
        p->frame_bytes = frame_of(nic, OPCODE_RC_ATOMIC_ACK, 0, 0);
    if (opcode_info(p->opcode)->flags & OP_AETH) {
        p->ack.syndrome = AETH_SYNDROME_ACK;
        p->ack.msn = r->msn & PSN_MASK;
        p->ack.original = r->original;
    }
    r->answered = true;
    if (r->next_psn++ == r->stop_psn) {
        r->pending = false;
        r->done = true;
        skip_answered(qp);
    }
    answer_trailing(nic, qp, now, io);
    return id;
}
