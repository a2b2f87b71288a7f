/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RC requester (volume 1, 9.7): cuts messages into packets, counts what is acknowledged, completes work
 * requests in order.  UC and UD requests leave through the same door and complete when sent.
 *
 * PSNs are given out when a work request is posted: a READ takes as many as its answer has packets
 * (9.7.2).  An ACK speaks for everything before it; a READ response also for everything before the
 * READ.  READs and atomics are complete only with their own responses: an acknowledgement that
 * reaches past one whose response is missing is an implied NAK, see requester_retry.c.
 *
 * The A bit is set on the last packet of a message, on every ack_request_every-th, on the first that is sent
 * again, and on the one that closes the window: else nobody would open it again before the timer.  Under a window in
 * bytes, which congestion control may close after the packets have gone, each packet asks.
 */
#include "base/check.h"
#include "base/histo.h"
#include "base/hot.h"
#include "base/time.h"
#include "nic/nic_int.h"
#include "packet/opcode.h"
#include "packet/telemetry.h"

/* by verb, and first | last << 1; UC adds 0x20 */
static const uint8_t opcode_of[NIC_VERBS][4] = {
    [NIC_SEND] = {OPCODE_RC_SEND_MIDDLE, OPCODE_RC_SEND_FIRST, OPCODE_RC_SEND_LAST, OPCODE_RC_SEND_ONLY},
    [NIC_SEND_IMM] = {OPCODE_RC_SEND_MIDDLE, OPCODE_RC_SEND_FIRST, OPCODE_RC_SEND_LAST_IMM, OPCODE_RC_SEND_ONLY_IMM},
    [NIC_SEND_INV] = {OPCODE_RC_SEND_MIDDLE, OPCODE_RC_SEND_FIRST, OPCODE_RC_SEND_LAST_INV, OPCODE_RC_SEND_ONLY_INV},
    [NIC_WRITE] = {OPCODE_RC_WRITE_MIDDLE, OPCODE_RC_WRITE_FIRST, OPCODE_RC_WRITE_LAST, OPCODE_RC_WRITE_ONLY},
    [NIC_WRITE_IMM] = {OPCODE_RC_WRITE_MIDDLE, OPCODE_RC_WRITE_FIRST, OPCODE_RC_WRITE_LAST_IMM,
                       OPCODE_RC_WRITE_ONLY_IMM},
    [NIC_READ] = {OPCODE_RC_READ_REQUEST, OPCODE_RC_READ_REQUEST, OPCODE_RC_READ_REQUEST, OPCODE_RC_READ_REQUEST},
    [NIC_CAS] = {OPCODE_RC_COMPARE_SWAP, OPCODE_RC_COMPARE_SWAP, OPCODE_RC_COMPARE_SWAP, OPCODE_RC_COMPARE_SWAP},
    [NIC_FETCH_ADD] = {OPCODE_RC_FETCH_ADD, OPCODE_RC_FETCH_ADD, OPCODE_RC_FETCH_ADD, OPCODE_RC_FETCH_ADD},
};
static const uint8_t opcode_add[] = {[NIC_RC] = 0, [NIC_UC] = 0x20, [NIC_UD] = 0x60};
_Static_assert(OPCODE_UC_WRITE_ONLY_IMM == OPCODE_RC_WRITE_ONLY_IMM + 0x20, "UC opcodes follow RC's");
_Static_assert(OPCODE_UD_SEND_ONLY_IMM == OPCODE_RC_SEND_ONLY_IMM + 0x60, "and UD's");

bool requester_may_begin(const struct nic_qp *qp, const struct nic_wr *wr)
{
    if (wr_local(wr)) return false; /* unsent.c sees to it */
    if (wr->flags & NIC_FENCE && qp->offset == 0 && qp->reads_out > 0) return false;
    if (wr->verb < NIC_READ) return true;
    /* A READ takes all its PSNs at once: together with what is outstanding they must stay comparable. */
    bool room = qp->nxt == qp->una || wr->last_psn + 1 - qp->una <= PSN_SPAN;
    return room && qp->reads_out < qp->max_read;
}

/* The headers of the packet; io->gather says where its payload is. */
static void fill_headers(struct nic_qp *qp, struct pkt *p, const struct nic_wr *wr, uint64_t offset, bool last)
{
    const struct opcode_info *info = opcode_info(p->opcode);

    if (info->flags & OP_RETH) {
        p->rdma.va = (wr->verb >= NIC_WRITE ? wr->remote_va : 0) + offset;
        p->rdma.rkey = wr->rkey;
        p->rdma.dma_bytes = (uint32_t)(wr->length - (wr->verb == NIC_READ ? offset : 0));
    }
    if (info->flags & OP_ATOMICETH) {
        p->rdma.va = wr->remote_va;
        p->rdma.rkey = wr->rkey;
        p->rdma.dma_bytes = 0;
    }
    if (info->flags & (OP_IMMDT | OP_IETH)) p->imm = wr->imm;
    if (info->flags & OP_DETH) {
        p->tos = (uint8_t)((wr->tos & ~PKT_ECN_MASK) | (qp->tos & PKT_ECN_MASK));
        p->ud.qkey = wr->qkey;
        p->src_qp = qp->qpn;
    }
    /* of what ends in a completion at the peer (volume 1, 9.2.3) */
    if (last && wr->flags & NIC_SOLICITED && wr->verb < NIC_READ && wr->verb != NIC_WRITE) p->flags |= PKT_SOLICITED;
    if (wr->verb == NIC_READ && offset) qp->read_again_psn = wr->first_psn + (uint32_t)(offset / qp->mtu);
}

uint32_t request_fill(struct nic *nic, struct nic_qp *qp, struct pkt *p, const struct nic_wr *wr, uint32_t psn,
                      uint64_t offset, struct nic_io *io, pkt_t id)
{
    uint64_t left = wr_payload(wr) - offset;
    bool data = wr->verb < NIC_READ;
    uint32_t payload = !data ? 0 : left > qp->mtu ? qp->mtu : (uint32_t)left;
    bool last = !data || left <= qp->mtu;
    uint8_t opcode = (uint8_t)(opcode_of[wr->verb][(offset == 0) | last << 1] + opcode_add[qp->transport]);
    bool ud = qp->transport == NIC_UD;

    packet_begin(nic, p, opcode, ud ? wr->dest : qp->remote, ud ? wr->dest_qp : qp->remote_qp);
    p->tos = qp->tos;
    p->pcp = qp->prio;
    p->sport = qp->sport;
    p->psn = psn & PSN_MASK;
    p->payload_bytes = (uint16_t)payload;
    p->pad = (uint8_t)(-payload & 3);
    p->frame_bytes = frame_of(nic, opcode, payload, p->pad);
    if (qp->selective) p->mark = qp->mark;
    if (offset == 0 || last) fill_headers(qp, p, wr, offset, last);
    if (wr->verb >= NIC_CAS && io->pool->cold) {
        io->pool->cold[id].swap = wr->swap;
        io->pool->cold[id].compare = wr->compare;
    }
    io->gather.local = wr->local;
    io->gather.offset = offset;
    io->gather.bytes = payload;
    io->gather.qpn = qp->qpn;
    io->gather.read = false;
    return payload;
}

/* Unreliable requests are complete when their last packet is sent. */
static void sent_unreliable(struct nic *nic, struct nic_qp *qp, bool last, ps_t now, struct nic_io *io)
{
    qp->una = qp->nxt;
    qp->una_bytes = qp->nxt_bytes;
    if (!last) return;
    complete_send(nic, qp, wr_at(qp, qp->sq_head), NIC_SUCCESS, io);
    qp->sq_head++;
    if (qp->transport == NIC_UD && qp->sq_head != qp->sq_tail) ud_prio(nic, qp);
    if (qp->attend) requester_attend(nic, qp, now, io);
}

/* Whether it is sent for the first time. */
static bool count_sent(struct nic *nic, struct nic_qp *qp, uint32_t payload)
{
    if (psn_diff(qp->nxt, qp->high) > 0) {
        qp->high = qp->nxt;
        return true;
    }
    nic->counters.retransmitted_packets++;
    nic->counters.retransmitted_bytes += payload;
    qp->resent_packets++;
    return false;
}

/* Starts the acknowledgement timer, unless it runs. */
static inline void timer_start(struct nic *nic, struct nic_qp *qp, ps_t now)
{
    if (qp->rto_at == PS_NEVER && qp->rto_ps) {
        qp->rto_at = now + qp->rto_ps;
        timer_arm(nic, qp, qp->rto_at);
    }
}

/* Selective repeat: one packet that the peer misses. */
static pkt_t resend_tx(struct nic *nic, struct nic_qp *qp, ps_t now, struct nic_io *io)
{
    uint32_t psn, index;

    if (!selective_next(nic, qp, &psn, &index)) return PKT_NONE;
    pkt_t id = pktpool_get(io->pool);
    CHECK(id != PKT_NONE);
    struct pkt *p = &io->pool->hot[id];
    const struct nic_wr *wr = wr_at(qp, index);
    uint32_t payload = request_fill(nic, qp, p, wr, psn, (uint64_t)(psn - wr->first_psn) * qp->mtu, io, id);
    p->flags |= PKT_ACK_REQUEST;
    nic->counters.retransmitted_packets++;
    nic->counters.retransmitted_bytes += payload;
    qp->resent_packets++;
    timer_start(nic, qp, now);
    return id;
}

NO_CANARY pkt_t requester_tx(struct nic *nic, struct nic_qp *qp, ps_t now, struct nic_io *io)
{
    if (qp->selective && qp->selective->resend_count) return resend_tx(nic, qp, now, io);
    pkt_t id = pktpool_get(io->pool);
    CHECK(id != PKT_NONE);
    struct pkt *p = &io->pool->hot[id];
    const struct nic_wr *wr = wr_at(qp, qp->sq_cur);
    bool data = wr->verb < NIC_READ;
    uint32_t payload = request_fill(nic, qp, p, wr, qp->nxt, qp->offset, io, id);
    bool last = qp->offset + payload >= wr->length || !data;

    qp->nxt = data ? qp->nxt + 1 : wr->last_psn + 1;
    qp->offset += payload;
    qp->nxt_bytes += payload;
    qp->reads_out += !data;
    bool fresh = count_sent(nic, qp, payload);
    if (last) {
        qp->sq_cur++;
        qp->offset = 0;
    }
    if (qp->transport != NIC_RC) {
        sent_unreliable(nic, qp, last, now, io);
        return id;
    }
    qp->since_request++;
    if (last || qp->since_request == qp->ack_request_every || qp->nxt - qp->una >= qp->window ||
        qp->cc.window_bytes != CC_WINDOW_NONE) {
        p->flags |= PKT_ACK_REQUEST;
        qp->since_request = 0;
        if (__builtin_expect(qp->cc.wants_rtt, 0) && fresh && data) rtt_sent(&nic->stamps[qp->index], qp->nxt - 1, now);
    }
    timer_start(nic, qp, now);
    return id;
}

static inline void progress(struct nic_qp *qp, ps_t now)
{
    qp->retry_left = qp->retry;
    qp->rnr_left = qp->rnr_retry;
    qp->implied = false;
    if (__builtin_expect(qp->adaptive, 0)) requester_timer_anew(qp);
    qp->rto_at = qp->una == qp->nxt || qp->rto_ps == 0 ? PS_NEVER : now + qp->rto_ps;
}

static void complete_head(struct nic *nic, struct nic_qp *qp, struct nic_io *io)
{
    const struct nic_wr *wr = wr_at(qp, qp->sq_head);

    qp->una = wr->last_psn + 1;
    qp->una_bytes = wr->stream + wr_payload(wr);
    complete_send(nic, qp, wr, NIC_SUCCESS, io);
    qp->sq_head++;
}

bool requester_advance(struct nic *nic, struct nic_qp *qp, uint32_t upto, ps_t now, struct nic_io *io)
{
    uint32_t from = qp->una;
    bool whole = true;

    while (psn_diff(upto, qp->una) > 0) {
        const struct nic_wr *wr = wr_at(qp, qp->sq_head);
        if (!QP_CHECK(nic, qp, qp->sq_head != qp->sq_tail)) return true;
        if (wr->verb >= NIC_READ) {
            whole = false;
            break;
        }
        if (psn_diff(upto, wr->last_psn) > 0) {
            complete_head(nic, qp, io);
        } else {
            qp->una = upto;
            qp->una_bytes = wr->stream + (uint64_t)(upto - wr->first_psn) * qp->mtu;
        }
    }
    if (qp->una == from) return whole;
    if (qp->selective) selective_forget(qp, from, qp->una);
    if (psn_diff(qp->una, qp->nxt) > 0) requester_back_to(qp, qp->una); /* more arrived than we were about to repeat */
    progress(qp, now);
    if (qp->rto_at != PS_NEVER) timer_arm(nic, qp, qp->rto_at);
    if (__builtin_expect(qp->attend, 0)) requester_attend(nic, qp, now, io);
    return whole;
}

/* A round-trip time, counted too; 0: this ACK tells none. */
static ps_t measure_rtt(struct nic *nic, struct nic_qp *qp, ps_t now)
{
    uint32_t packets;
    ps_t rtt = rtt_acked(&nic->stamps[qp->index], qp->una, now, &packets);

    if (rtt == 0 || nic->config.rtt_ns == NULL) return rtt;
    for (uint32_t i = 0; i < packets; i++)
        histo_add(nic->config.rtt_ns, rtt / PS_NS);
    return rtt;
}

/* 0 also where nobody knows: a socket may not tell the time to live. */
static uint32_t switches_crossed(const struct nic *nic, const struct pkt *p)
{
    return p->ttl && p->ttl < nic->config.ttl ? (uint32_t)(nic->config.ttl - p->ttl) : 0;
}

static void tell_cc(struct nic *nic, struct nic_qp *qp, pkt_t id, uint64_t bytes_before, ps_t rtt, ps_t now,
                    struct nic_io *io)
{
    const struct pkt *p = &io->pool->hot[id];
    bool marked = nic->config.echo_ce && p->flags & PKT_BECN;

    if (marked && qp->cc.wants_cnp && nic->config.cnp_off) {
        nic->counters.rp_cnp_handled++;
        nic_note(nic, RECORD_CNP, qp->prio, qp->qpn, 0, now);
        cc_on_cnp(&qp->cc, now);
    }
    if (qp->cc.wants_ack) {
        const struct pkt_int *record = nic->config.telemetry ? &io->pool->telemetry[id] : NULL;
        /* go-back-0 takes back what was acknowledged of a message */
        struct cc_ack ack = {.acked_bytes = qp->una_bytes > bytes_before ? qp->una_bytes - bytes_before : 0,
                             .in_flight_bytes = qp->nxt_bytes - qp->una_bytes,
                             .acked_psn = qp->una,
                             .next_psn = qp->nxt,
                             .marked = marked,
                             .rtt_ps = rtt,
                             .host_ps = (ps_t)p->ack.held * PKT_HELD_PS,
                             .switches = switches_crossed(nic, p),
                             .hop = record ? record->hop : NULL,
                             .hops = !record                       ? 0
                                     : record->hops > PKT_INT_HOPS ? PKT_INT_HOPS
                                                                   : record->hops};
        cc_on_ack(&qp->cc, &ack, now);
    }
    pace_rate(nic, qp, now, io);
}

/* An ACK of nothing new, or of what was never sent. */
static void ack_out_of_place(struct nic *nic, struct nic_qp *qp, pkt_t id, uint32_t psn, ps_t now, struct nic_io *io)
{
    const struct pkt *p = &io->pool->hot[id];

    if (!qp->selective || !qp->selective->window || psn_diff(psn, qp->una) >= 0) {
        drop(nic, id, NIC_DROP_ghost, io);
        return;
    }
    if (p->mark == NIC_MARK_ALSO) {
        selective_also(qp, p);
        if (qp->cc.wants_ack || p->flags & PKT_BECN)
            tell_cc(nic, qp, id, qp->una_bytes, 0, now, io);
        else
            nic_wake(nic, qp, now, io);
    } else {
        nic->counters.rx_ack_late++;
    }
    pktpool_put(io->pool, id);
}

void requester_ack(struct nic *nic, struct nic_qp *qp, pkt_t id, ps_t now, struct nic_io *io)
{
    const struct pkt *p = &io->pool->hot[id];
    uint32_t psn = psn_wide(p->psn, qp->una);
    uint64_t bytes_before = qp->una_bytes;

    nic->counters.rx_ack_packets++;
    if (__builtin_expect(aeth_kind(p->ack.syndrome) != AETH_ACK, 0)) {
        requester_nak(nic, qp, p, now, io);
        if (qp->state != NIC_ERROR) tell_cc(nic, qp, id, bytes_before, 0, now, io);
        pktpool_put(io->pool, id);
        return;
    }
    if (__builtin_expect(psn_diff(psn, qp->high) >= 0 || psn_diff(psn, qp->una) < 0, 0)) {
        ack_out_of_place(nic, qp, id, psn, now, io);
        return;
    }
    if (!requester_advance(nic, qp, psn + 1, now, io)) requester_implied(nic, qp, now, io);
    if (__builtin_expect(p->mark == NIC_MARK_ALSO, 0) && qp->selective) selective_also(qp, p);
    ps_t rtt = __builtin_expect(qp->cc.wants_rtt, 0) ? measure_rtt(nic, qp, now) : 0;
    if (__builtin_expect(qp->state == NIC_ERROR, 0))
        ;
    else if (qp->cc.wants_ack || p->flags & PKT_BECN)
        tell_cc(nic, qp, id, bytes_before, rtt, now, io);
    else
        nic_wake(nic, qp, now, io);
    pktpool_put(io->pool, id);
}

/* Where the payload of a response goes; at its end the work request is complete. */
static void take_response(struct nic *nic, struct nic_qp *qp, const struct pkt *p, uint32_t psn, ps_t now,
                          struct nic_io *io)
{
    const struct nic_wr *wr = wr_at(qp, qp->sq_head);

    io->place.local = wr->local;
    io->place.offset = (uint64_t)(psn - wr->first_psn) * qp->mtu;
    io->place.bytes = p->payload_bytes;
    io->place.kind = NIC_PLACE_READ;
    if (wr->verb != NIC_READ) {
        io->place.kind = NIC_PLACE_ATOMIC;
        io->place.bytes = 8;
        io->place.original = p->ack.original;
    }
    nic->counters.rx_payload_bytes += p->payload_bytes;
    uint32_t from = qp->una;
    qp->una = psn + 1;
    if (psn == wr->last_psn) {
        qp->reads_out -= qp->sq_cur != qp->sq_head; /* else it was about to be asked for again: not counted */
        complete_head(nic, qp, io);
        qp->response_psn = psn;
    }
    if (qp->selective) selective_forget(qp, from, qp->una);
    if (psn_diff(qp->una, qp->nxt) > 0) requester_back_to(qp, qp->una);
    progress(qp, now);
    if (qp->rto_at != PS_NEVER) timer_arm(nic, qp, qp->rto_at);
    if (__builtin_expect(qp->attend, 0)) requester_attend(nic, qp, now, io);
}

/*
 * A READ's response packet has the length that its place in the answer gives it, and says which place that is: FIRST
 * and ONLY where the answer begins, or where it was asked for again; LAST and ONLY at its end.  An AETH in it, or in
 * an atomic's, acknowledges; refusals come as NAKs.
 */
static bool response_fits(const struct nic_qp *qp, const struct nic_wr *wr, const struct pkt *p, uint32_t psn)
{
    const struct opcode_info *info = opcode_info(p->opcode);
    bool atomic = p->opcode == OPCODE_RC_ATOMIC_ACK;

    if (info->flags & OP_AETH && aeth_kind(p->ack.syndrome) != AETH_ACK) return false;
    if (atomic || wr->verb != NIC_READ) return atomic && wr->verb != NIC_READ;
    uint64_t left = wr->length - (uint64_t)(psn - wr->first_psn) * qp->mtu;
    if (p->payload_bytes != (left < qp->mtu ? left : qp->mtu)) return false;
    bool first = p->opcode == OPCODE_RC_READ_RESPONSE_FIRST || p->opcode == OPCODE_RC_READ_RESPONSE_ONLY;
    bool last = p->opcode == OPCODE_RC_READ_RESPONSE_LAST || p->opcode == OPCODE_RC_READ_RESPONSE_ONLY;
    if (last != (psn == wr->last_psn)) return false;
    return first ? psn == wr->first_psn || psn == qp->read_again_psn : psn != wr->first_psn;
}

void requester_response(struct nic *nic, struct nic_qp *qp, pkt_t id, ps_t now, struct nic_io *io)
{
    const struct pkt *p = &io->pool->hot[id];
    uint32_t psn = psn_wide(p->psn, qp->una);

    if (psn_diff(psn, qp->una) < 0 || psn_diff(psn, qp->high) >= 0) {
        drop(nic, id, NIC_DROP_ghost, io);
        return;
    }
    bool whole = requester_advance(nic, qp, psn, now, io);
    if (__builtin_expect(qp->cc.wants_rtt, 0)) measure_rtt(nic, qp, now); /* what came before the READ */
    const struct nic_wr *wr = wr_at(qp, qp->sq_head);
    if (psn != qp->una || !whole) {
        requester_implied(nic, qp, now, io);
        nic_wake(nic, qp, now, io);
        drop(nic, id, NIC_DROP_out_of_sequence, io);
        return;
    }
    /* nxt moved back over this READ: what comes is the answer to the first asking, and as good */
    if (wr->verb < NIC_READ || !response_fits(qp, wr, p, psn)) {
        drop(nic, id, NIC_DROP_ghost, io);
        qp_fail_send(nic, qp, NIC_BAD_RESP_ERR, now, io);
        return;
    }
    take_response(nic, qp, p, psn, now, io);
    pktpool_put(io->pool, id);
    nic_wake(nic, qp, now, io);
}
