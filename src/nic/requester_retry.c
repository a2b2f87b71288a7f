/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RC requester, when something went wrong: NAKs, RNR, timers, responses that are missing (volume 1,
 * 9.7 and 9.9.2), in three ways of recovery.
 *
 * Go-back-N: everything from the oldest unacknowledged packet is sent again.  Go-back-0: the whole
 * message is, and the peer forgets what it had of it (early ConnectX firmware; the reason for a
 * livelock Microsoft described at SIGCOMM 2016).  Selective repeat: only what is missing is; the
 * responder names the packet that came after the gap (struct pkt's `original`, where an ACK has no
 * other use for it), so the requester knows what arrived; a packet repeated once and lost again waits
 * for the timer.  READ responses are never reordered: a READ is asked for again from the first
 * byte that is missing.
 *
 * The retry counter goes down with each timeout, and with each NAK or implied NAK that acknowledges
 * nothing new; any progress sets it back.  The timer is exactly 4.096 us * 2^timeout (the specification
 * allows up to four times that), counted from the first packet that is not acknowledged, again from each
 * acknowledgement that moves, and again from the first packet repeated.
 *
 * Adaptive retransmission (NVIDIA's "Adaptive Retransmission: Parameters Control" has the algorithm; here with one
 * range of timeouts, and without chance): the timer begins short and doubles while nothing is acknowledged, up to the
 * QP's own; timeouts then cost no retry, but the QP fails when all of them together last as long as its own timeout,
 * retry times.  So a repetition that is lost, or a NAK, costs the short time.
 */
#include "base/check.h"
#include "base/time.h"
#include "nic/nic_int.h"
#include "packet/opcode.h"

#define RNR_FOREVER 7

/* The next packet to be sent is psn: finds its work request, and counts the READs before it. */
void requester_back_to(struct nic_qp *qp, uint32_t psn)
{
    uint32_t index = qp->sq_head;

    qp->nxt = psn;
    qp->reads_out = 0;
    for (; index != qp->sq_tail; index++) {
        const struct nic_wr *wr = wr_at(qp, index);
        if (psn_diff(psn, wr->last_psn) <= 0 || wr_local(wr)) break;
        qp->reads_out += wr->verb >= NIC_READ;
    }
    qp->sq_cur = index;
    qp->offset = 0;
    qp->nxt_bytes = qp->post_bytes;
    if (index != qp->sq_tail) {
        const struct nic_wr *wr = wr_at(qp, index);
        qp->offset = (uint64_t)(psn - wr->first_psn) * qp->mtu;
        qp->nxt_bytes = wr->stream + (wr->verb < NIC_READ ? qp->offset : 0);
    }
    qp->rto_at = PS_NEVER;
    /* The next packet asks: a slow QP's timer may be over before its turn to ask comes, again and again. */
    qp->since_request = (uint16_t)(qp->ack_request_every - 1);
}

/* Go-back-0: what was acknowledged of the oldest message is not. */
static void restart_message(struct nic_qp *qp)
{
    const struct nic_wr *wr = wr_at(qp, qp->sq_head);

    qp->una = wr->first_psn;
    qp->una_bytes = wr->stream;
}

static bool bit_get(const uint64_t *bits, uint32_t at)
{
    return bits[at / 64] >> (at % 64) & 1;
}

static void bit_set(uint64_t *bits, uint32_t at)
{
    bits[at / 64] |= 1ULL << (at % 64);
}

static void bit_clear(uint64_t *bits, uint32_t at)
{
    bits[at / 64] &= ~(1ULL << (at % 64));
}

static void sacked_clear(struct selective *s, uint32_t at)
{
    s->sacked_count -= bit_get(s->sacked, at);
    bit_clear(s->sacked, at);
}

/* The peer has it: it need not be sent again. */
static void sacked_set(struct selective *s, uint32_t at)
{
    s->sacked_count += !bit_get(s->sacked, at);
    bit_set(s->sacked, at);
    s->resend_count -= bit_get(s->resend, at);
    bit_clear(s->resend, at);
}

void selective_also(struct nic_qp *qp, const struct pkt *p)
{
    uint32_t psn = psn_wide(p->ack.msn & PSN_MASK, qp->una);

    if (psn_diff(psn, qp->una) > 0 && psn_diff(psn, qp->nxt) < 0 && psn - qp->una <= qp->selective->mask)
        sacked_set(qp->selective, psn & qp->selective->mask);
}

void selective_forget(struct nic_qp *qp, uint32_t from, uint32_t to)
{
    struct selective *s = qp->selective;

    if (to - from > s->mask) from = to - s->mask - 1; /* a READ may have more PSNs than there are bits */
    for (uint32_t psn = from; psn != to; psn++) {
        uint32_t at = psn & s->mask;
        s->resend_count -= bit_get(s->resend, at);
        sacked_clear(s, at);
        bit_clear(s->resend, at);
        bit_clear(s->resent, at);
    }
    if (psn_diff(to, s->decided) > 0) s->decided = to;
}

static void resend_set(struct selective *s, uint32_t at)
{
    if (bit_get(s->sacked, at) || bit_get(s->resent, at) || bit_get(s->resend, at)) return;
    bit_set(s->resend, at);
    s->resend_count++;
}

/*
 * What lies in [una, to) and is not known to have arrived is to be sent again; once, unless by the timer.  NAKs come
 * one for each packet behind a gap: what the last one has decided is not looked at again, but for the oldest.
 */
static void selective_mark(struct nic *nic, struct nic_qp *qp, uint32_t to, bool timer)
{
    struct selective *s = qp->selective;
    uint32_t index = qp->sq_head, psn = qp->una;

    while (psn_diff(to, psn) > 0) {
        const struct nic_wr *wr = wr_at(qp, index);
        if (!QP_CHECK(nic, qp, index != qp->sq_tail)) return;
        if (psn_diff(psn, wr->last_psn) > 0) {
            index++;
            continue;
        }
        uint32_t at = psn & s->mask;
        if (timer) bit_clear(s->resent, at);
        /* The oldest is sent again though it arrived: it was the answer that was lost. */
        if (psn == qp->una && (timer || wr->verb >= NIC_READ)) sacked_clear(s, at);
        resend_set(s, at);
        psn = wr->verb >= NIC_READ ? wr->last_psn + 1 : psn + 1; /* a READ is one packet */
        if (!timer && psn_diff(s->decided, psn) > 0) psn = s->decided;
    }
    if (psn_diff(psn, s->decided) > 0) s->decided = psn;
}

/* Where the peer names every gap that a packet shows it, the oldest and the newest packet bring all there is to know:
 * an acknowledgement that was lost, or what is missing.  A READ's peer has shown what it has by its responses. */
static void newest_again(struct nic *nic, struct nic_qp *qp)
{
    struct selective *s = qp->selective;
    uint32_t psn = qp->nxt - 1, index = qp->sq_head;

    while (index != qp->sq_tail && (wr_local(wr_at(qp, index)) || psn_diff(psn, wr_at(qp, index)->last_psn) > 0))
        index++;
    if (!QP_CHECK(nic, qp, index != qp->sq_tail)) return;
    if (wr_at(qp, index)->verb >= NIC_READ) return;
    bit_clear(s->resent, psn & s->mask);
    resend_set(s, psn & s->mask);
}

/* The oldest packet that is to be sent again (there is one), and its work request. */
bool selective_next(struct nic *nic, struct nic_qp *qp, uint32_t *ret_psn, uint32_t *ret_index)
{
    struct selective *s = qp->selective;
    uint32_t psn = qp->una, index = qp->sq_head;
    uint64_t word = 0;

    while (psn_diff(qp->nxt, psn) > 0 && (word = s->resend[(psn & s->mask) / 64] >> (psn % 64)) == 0)
        psn = (psn | 63) + 1;
    if (!QP_CHECK(nic, qp, word != 0)) return false;
    psn += (uint32_t)__builtin_ctzll(word);
    if (!QP_CHECK(nic, qp, psn_diff(qp->nxt, psn) > 0)) return false;
    while (index != qp->sq_tail && psn_diff(psn, wr_at(qp, index)->last_psn) > 0)
        index++;
    if (!QP_CHECK(nic, qp, index != qp->sq_tail)) return false;
    bit_clear(s->resend, psn & s->mask);
    bit_set(s->resent, psn & s->mask);
    s->resend_count--;
    *ret_psn = psn;
    *ret_index = index;
    return true;
}

void selective_release(struct nic *nic, struct nic_qp *qp, struct nic_io *io)
{
    struct selective *s = qp->selective;

    responder_forget_kept(nic, qp, io);
    for (uint32_t i = 0; i <= s->mask / 64; i++)
        s->sacked[i] = s->resend[i] = s->resent[i] = 0;
    s->resend_count = s->sacked_count = 0;
    s->unsaid = false;
    s->gap_at = PS_NEVER;
}

/* Packets go out again: what was sent cannot be timed any more, and congestion control is told. */
static void lost(struct nic *nic, struct nic_qp *qp, bool timeout, ps_t now, struct nic_io *io)
{
    if (qp->cc.wants_rtt) rtt_forget(&nic->stamps[qp->index]);
    if (!qp->cc.wants_loss) return;
    cc_on_loss(&qp->cc, timeout, qp->nxt, now);
    pace_rate(nic, qp, now, io);
}

/* One retry less; false: there was none, and the QP is in error now. */
static bool take_retry(struct nic *nic, struct nic_qp *qp, ps_t now, struct nic_io *io)
{
    if (qp->retry == NIC_RETRY_FOREVER) return true;
    if (qp->retry_left == 0) {
        nic->counters.retry_exceeded++;
        qp_fail_send(nic, qp, NIC_RETRY_EXC_ERR, now, io);
        return false;
    }
    qp->retry_left--;
    return true;
}

void requester_timer_anew(struct nic_qp *qp)
{
    qp->rto_ps = qp->adaptive_ps;
    qp->waited_ps = 0;
    qp->adaptive_count = 0;
}

/* One more timeout; false: it was the last, and the QP is in error now. */
static bool take_time(struct nic *nic, struct nic_qp *qp, ps_t now, struct nic_io *io)
{
    nic->counters.roce_adp_retrans += qp->rto_ps < qp->rto_max_ps;
    qp->waited_ps += qp->rto_ps;
    if (++qp->adaptive_count == qp->adaptive_each) {
        qp->adaptive_count = 0;
        qp->rto_ps = 2 * qp->rto_ps < qp->rto_max_ps ? 2 * qp->rto_ps : qp->rto_max_ps;
    }
    if (qp->retry == NIC_RETRY_FOREVER || qp->waited_ps < qp->rto_max_ps * (qp->retry ? qp->retry : 1)) return true;
    nic->counters.retry_exceeded++;
    qp_fail_send(nic, qp, NIC_RETRY_EXC_ERR, now, io);
    return false;
}

void requester_implied(struct nic *nic, struct nic_qp *qp, ps_t now, struct nic_io *io)
{
    if (qp->implied && qp->implied_psn == qp->una) return;
    if (qp->nxt == qp->una || qp->state == NIC_ERROR) return; /* it is about to be asked for again, or never */
    nic->counters.implied_nak_seq_err++;
    if (!take_retry(nic, qp, now, io)) return;
    if (qp->cc.wants_rtt) rtt_forget(&nic->stamps[qp->index]);
    qp->implied = true;
    qp->implied_psn = qp->una;
    if (qp->repeats) {
        bit_clear(qp->selective->resent, qp->una & qp->selective->mask);
        selective_mark(nic, qp, qp->una + 1, false);
    } else {
        if (qp->recovery == NIC_GO_BACK_0) restart_message(qp);
        requester_back_to(qp, qp->una);
    }
    nic_wake(nic, qp, now, io);
}

/* Selective repeat does not go back, so packets stay outstanding with nothing to be sent first. */
static void restart_timer(struct nic *nic, struct nic_qp *qp, ps_t now)
{
    if (qp->rto_ps == 0) return;
    qp->rto_at = now + qp->rto_ps;
    timer_arm(nic, qp, qp->rto_at);
}

/*
 * A request that is to be sent and cannot be, because the link is down, is as good as sent and lost: a port
 * that is down discards what it is given, and the retries are used up.  Here it is kept, so that it leaves at once
 * when the link is back, but the timer runs and takes its retries.  So it does for a QP that
 * is to repeat and is paused; one that is paused before it has sent anything waits without a timer.
 */
void requester_hold(struct nic *nic, struct nic_qp *qp, ps_t now)
{
    if (qp->transport != NIC_RC || qp->rto_ps == 0 || qp->rto_at != PS_NEVER || qp->rnr_wait) return;
    if (qp->una != qp->nxt || qp->sq_cur == qp->sq_tail || qp->state != NIC_RTS) return;
    nic->helds += !qp->held;
    qp->held = true;
    restart_timer(nic, qp, now);
}

void requester_held(struct nic *nic, struct nic_qp *qp, bool up, ps_t now)
{
    if (!up) {
        requester_hold(nic, qp, now);
    } else if (qp->held) {
        qp->held = false;
        nic->helds--;
        if (qp->una == qp->nxt) qp->rto_at = PS_NEVER; /* it starts with what is sent first */
    }
}

void requester_timeout(struct nic *nic, struct nic_qp *qp, ps_t now, struct nic_io *io)
{
    bool sent = qp->una != qp->nxt;

    qp->rto_at = PS_NEVER;
    if ((!sent && !qp->held) || qp->rnr_wait) return;
    nic->counters.local_ack_timeout_err++;
    nic_note(nic, RECORD_TIMEOUT, qp->prio, qp->qpn, qp->retry_left, now);
    if (!(qp->adaptive ? take_time(nic, qp, now, io) : take_retry(nic, qp, now, io))) return;
    if (sent) lost(nic, qp, true, now, io);
    qp->implied = false;
    if (sent && qp->repeats) {
        bool asks = qp->selective->window == 1; /* the peer, for each gap it knows of */
        selective_mark(nic, qp, asks ? qp->una + 1 : qp->nxt, true);
        if (asks) newest_again(nic, qp);
        restart_timer(nic, qp, now);
    } else {
        if (sent && qp->recovery == NIC_GO_BACK_0) restart_message(qp);
        requester_back_to(qp, qp->una);
    }
    if (__builtin_expect(nic->link_down || nic->paused >> qp->prio & 1, 0)) requester_hold(nic, qp, now);
    nic_wake(nic, qp, now, io);
}

void requester_rnr_over(struct nic *nic, struct nic_qp *qp, ps_t now, struct nic_io *io)
{
    qp->rnr_wait = false;
    qp->rnr_at = PS_NEVER;
    if (qp->repeats && qp->una != qp->nxt) restart_timer(nic, qp, now);
    if (nic->link_down) requester_hold(nic, qp, now);
    nic_wake(nic, qp, now, io);
}

static void receiver_not_ready(struct nic *nic, struct nic_qp *qp, const struct pkt *p, ps_t now, struct nic_io *io)
{
    nic->counters.rnr_nak_retry_err++;
    nic_note(nic, RECORD_RNR, qp->prio, qp->qpn, p->psn & PSN_MASK, now);
    /* Once more what it waits for; what comes after that, when acknowledgements have moved on, is waited for anew. */
    if (qp->rnr_wait && psn_diff(qp->una, qp->rnr_psn) <= 0) {
        /* go-back-0: the message may have been moved back once more */
        if (!qp->repeats && qp->nxt != qp->una) requester_back_to(qp, qp->una);
        return;
    }
    if (qp->rnr_retry != RNR_FOREVER) {
        if (qp->rnr_left == 0) {
            nic->counters.rnr_retry_exceeded++;
            qp_fail_send(nic, qp, NIC_RNR_RETRY_EXC_ERR, now, io);
            return;
        }
        qp->rnr_left--;
    }
    qp->rnr_wait = true;
    qp->rnr_psn = qp->una;
    qp->rnr_at = now + rnr_timer_ps(p->ack.syndrome & 0x1f);
    timer_arm(nic, qp, qp->rnr_at);
    if (qp->cc.wants_rtt) rtt_forget(&nic->stamps[qp->index]);
    if (qp->repeats && qp->nxt != qp->una) { /* else a plain NAK has taken it back: nothing is under way */
        bit_clear(qp->selective->resent, qp->una & qp->selective->mask);
        sacked_clear(qp->selective, qp->una & qp->selective->mask); /* it was kept, and refused in its turn */
        selective_mark(nic, qp, qp->una + 1, false);
        qp->rto_at = PS_NEVER;
    } else {
        if (qp->recovery == NIC_GO_BACK_0) restart_message(qp);
        requester_back_to(qp, qp->una);
    }
}

/*
 * The peer has waited, and misses these: they are sent again, even what was before.  A READ among them is one packet.
 */
static void gap_named(struct nic *nic, struct nic_qp *qp, const struct pkt *p, ps_t now, struct nic_io *io)
{
    struct selective *s = qp->selective;
    uint32_t from = psn_wide(p->psn, qp->una), index = qp->sq_head;
    uint32_t to = psn_wide(p->ack.msn & PSN_MASK, from);

    if (psn_diff(from, qp->una) < 0) from = qp->una;
    if (psn_diff(to, qp->nxt) > 0) to = qp->nxt;
    if (psn_diff(to, from) <= 0 || to - from > s->mask || qp->rnr_wait) {
        nic->counters.drop[NIC_DROP_ghost]++;
        return;
    }
    nic->counters.packet_seq_err++;
    nic_note(nic, RECORD_NAK, qp->prio, qp->qpn, p->psn & PSN_MASK, now);
    qp->repeats = true;
    lost(nic, qp, false, now, io);
    for (uint32_t psn = from; psn_diff(to, psn) > 0;) {
        const struct nic_wr *wr = wr_at(qp, index);
        if (!QP_CHECK(nic, qp, index != qp->sq_tail)) return;
        if (psn_diff(psn, wr->last_psn) > 0 || wr_local(wr)) {
            index++;
            continue;
        }
        uint32_t at = psn & s->mask;
        bit_clear(s->resent, at);
        sacked_clear(s, at);
        resend_set(s, at);
        psn = wr->verb >= NIC_READ ? wr->last_psn + 1 : psn + 1;
    }
}

static void sequence_error(struct nic *nic, struct nic_qp *qp, const struct pkt *p, bool moved, ps_t now,
                           struct nic_io *io)
{
    nic->counters.packet_seq_err++;
    nic_note(nic, RECORD_NAK, qp->prio, qp->qpn, p->psn & PSN_MASK, now);
    if (qp->nxt != qp->una) lost(nic, qp, false, now, io);
    if (qp->repeats && p->mark) {
        struct selective *sel = qp->selective;
        uint32_t trigger = psn_wide(p->ack.msn & PSN_MASK, qp->una), at = trigger & sel->mask;
        bool kept = p->mark == NIC_MARK_KEPT;
        /* What was kept has a gap before it.  What was not may be the next that is missing by now. */
        if (psn_diff(trigger, qp->una) < (kept ? 1 : 0) || psn_diff(trigger, qp->nxt) >= 0) return;
        if (kept) {
            sacked_set(sel, at);
        } else {
            bit_clear(sel->resent, at);
            resend_set(sel, at);
        }
        selective_mark(nic, qp, trigger, false);
        return;
    }
    if (qp->nxt == qp->una) return; /* already back */
    if (!moved && qp->free_naks < nic->config.free_naks) {
        qp->free_naks++;
    } else {
        qp->free_naks = 0;
        if (!moved && !take_retry(nic, qp, now, io)) return;
    }
    if (qp->repeats) { /* all is sent anew, and nothing is known of it */
        selective_forget(qp, qp->una, qp->nxt);
        qp->selective->decided = qp->una;
    }
    requester_back_to(qp, qp->una);
}

static void fatal(struct nic *nic, struct nic_qp *qp, unsigned code, ps_t now, struct nic_io *io)
{
    enum nic_status status = NIC_REM_OP_ERR;

    if (code == NAK_INVALID_REQUEST || code == NAK_INVALID_RD) {
        nic->counters.req_remote_invalid_request++;
        status = NIC_REM_INV_REQ_ERR;
    } else if (code == NAK_REMOTE_ACCESS) {
        nic->counters.req_remote_access_errors++;
        status = NIC_REM_ACCESS_ERR;
    } else {
        nic->counters.req_remote_operation_errors++;
    }
    qp_fail_send(nic, qp, status, now, io);
}

void requester_nak(struct nic *nic, struct nic_qp *qp, const struct pkt *p, ps_t now, struct nic_io *io)
{
    uint32_t psn = psn_wide(p->psn, qp->una);
    uint32_t una = qp->una;
    unsigned code = p->ack.syndrome & 0x1f;
    enum aeth_kind kind = aeth_kind(p->ack.syndrome);

    /* Until the peer has shown that it keeps what comes after a gap it is taken to drop it. */
    if (qp->selective && (p->mark == NIC_MARK_KEPT || p->mark == NIC_MARK_NOT_KEPT)) qp->repeats = true;
    if (__builtin_expect(qp->selective && p->mark == NIC_MARK_GAP, 0)) {
        gap_named(nic, qp, p, now, io);
        nic_wake(nic, qp, now, io);
        return;
    }
    bool again = kind == AETH_RNR_NAK || (kind == AETH_NAK && code == NAK_PSN_SEQUENCE);
    /* A responder that goes back to 0 names the message's first packet, acknowledged though it may be. */
    if (again && qp->recovery == NIC_GO_BACK_0 && qp->sq_head != qp->sq_tail &&
        psn == wr_at(qp, qp->sq_head)->first_psn && psn_diff(psn, una) < 0) {
        restart_message(qp);
        una = qp->una;
    }
    if (kind == AETH_RESERVED || psn_diff(psn, qp->una) < 0 || psn_diff(psn, qp->high) >= 0) {
        nic->counters.drop[NIC_DROP_ghost]++;
        return;
    }
    if (!requester_advance(nic, qp, psn, now, io)) {
        requester_implied(nic, qp, now, io);
        return;
    }
    if (qp->state == NIC_ERROR) return; /* what was next could not be done */
    if (kind == AETH_RNR_NAK)
        receiver_not_ready(nic, qp, p, now, io);
    else if (code == NAK_PSN_SEQUENCE)
        sequence_error(nic, qp, p, qp->una != una, now, io);
    else
        fatal(nic, qp, code, now, io);
    if (qp->state != NIC_ERROR) nic_wake(nic, qp, now, io);
}
