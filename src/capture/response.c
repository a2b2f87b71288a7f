/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a direction sends as a responder: ACKs, NAKs, READ and ATOMIC responses, and what they say
 * about the requests they answer (InfiniBand 1.x vol. 1, 9.7.5 and table 44).
 *
 * An ACK acknowledges every request up to its PSN; so does a NAK or a READ or ATOMIC response, up
 * to the PSN before its own.  The latency of a request is measured to the packet that covers it.
 * A READ is measured to the last packet of its response.
 */
#include "capture/capture_int.h"

#include "base/check.h"
#include "base/time.h"

/* Takes every request with a PSN below `end` out of the requester's ring.  `end_read` is set when the
 * packet at hand ends the response to the READ or ATOMIC it meets last. */
static void ring_cover(struct capture *capture, struct direction *requester, uint32_t end, bool end_read)
{
    uint64_t now = capture->now_ns;
    while (requester->ring_count) {
        const struct outstanding *waits = &requester->ring[requester->ring_head];
        if ((int32_t)(waits->psn - end) >= 0) break;
        unsigned after = (requester->ring_head + 1u) % RING_SLOTS;
        bool last = requester->ring_count == 1 || (int32_t)(requester->ring[after].psn - end) >= 0;
        bool usable = !waits->again && now >= waits->time_ns;
        uint32_t weight = 1u << requester->ring_shift;
        if (usable && !waits->read) {
            requester->last_latency_ns = (uint32_t)(now - waits->time_ns);
            requester->flags |= DIR_SAMPLED;
            cap_table_histo_weigh(capture, &requester->ack_histo, now - waits->time_ns, weight);
        } else if (usable && last && end_read && (!waits->packets || waits->psn + waits->packets == end)) {
            requester->flags |= DIR_SAMPLED;
            cap_table_histo_weigh(capture, &requester->view.read_latency, now - waits->time_ns, weight);
        }
        requester->ring_head = (uint8_t)after;
        requester->ring_count--;
    }
}

static void acknowledge(struct direction *requester, uint64_t end)
{
    if (requester->flags & DIR_TROUBLE) requester->recovery.retries = 0;
    if (end > requester->acked) requester->acked = end;
}

/* The requester's extended PSN that this answer carries; 0: it answers nothing this requester can have sent, as
 * when it belongs to an earlier life of the QP number. */
static uint64_t answered_psn(const struct direction *requester, uint32_t psn)
{
    int32_t distance = psn_distance(requester->next, psn);
    if (!(requester->flags & DIR_BEGUN) || distance > PSN_RESET) return 0;
    return requester->next + (uint64_t)(int64_t)distance;
}

/* The requester was found behind time: what the responder had answered by then gives no latency. */
static void ring_drop(struct direction *requester, uint32_t psn)
{
    uint64_t answered = answered_psn(requester, psn & 0xffffff);
    for (unsigned i = 0; i < requester->ring_count; i++) {
        struct outstanding *waits = &requester->ring[(requester->ring_head + i) % RING_SLOTS];
        if (answered && (int32_t)(waits->psn - (uint32_t)answered) <= 0) waits->again = true;
    }
}

static void nak_packet(struct capture *capture, struct direction *direction, struct direction *requester,
                       const struct pkt *pkt)
{
    struct capture_direction *view = &direction->view;
    unsigned code = pkt->ack.syndrome & 0x1f;
    bool known = aeth_kind(pkt->ack.syndrome) == AETH_NAK && code < NAK_CODES;
    capture->totals.naks++;
    if (known)
        view->naks[code]++;
    else
        view->naks_reserved++;
    if (known && code == NAK_PSN_SEQUENCE) {
        if (!direction->first_nak) direction->first_nak = capture->number;
        if (requester && !capture->copy) cap_request_hint(capture, requester, HINT_NAK, pkt->psn);
        return;
    }
    capture->fatal_naks++;
    evidence_add(capture, EVIDENCE_FATAL);
    if (!view->fatal_packet) view->fatal_packet = capture->number;
}

static void rnr_packet(struct capture *capture, struct direction *direction, struct direction *requester,
                       const struct pkt *pkt)
{
    struct capture_direction *view = &direction->view;
    uint64_t timer_ns = rnr_timer_ps(pkt->ack.syndrome & 0x1f) / PS_NS;
    if (view->rnr_naks++ == 0) {
        view->rnr_first_packet = capture->number;
        view->rnr_min_ns = view->rnr_max_ns = timer_ns;
    }
    if (timer_ns < view->rnr_min_ns) view->rnr_min_ns = timer_ns;
    if (timer_ns > view->rnr_max_ns) view->rnr_max_ns = timer_ns;
    capture->totals.rnr_naks++;
    evidence_add(capture, EVIDENCE_RNR);
    if (requester && !capture->copy) cap_request_hint(capture, requester, HINT_RNR, pkt->psn);
}

#define MSN_RESTART 16 /* further back than ACKs that overtook each other */

/* Does this ACK count messages from the beginning again?  Then the packets it answers, which looked like old ones
 * sent again, are the first of a new life of the QP number. */
static bool msn_restarts(const struct direction *direction, const struct direction *requester, const struct pkt *pkt)
{
    const struct recovery *recovery = &requester->recovery;
    uint32_t back = (direction->ack_msn - pkt->ack.msn) & 0xffffff;
    uint64_t psn = answered_psn(requester, pkt->psn);
    if (direction->ack_psn == NONE || back < MSN_RESTART || back > 1u << 23) return false;
    if (!recovery->run_next || !recovery->shown || recovery->cause != CAPTURE_BY_TIMEOUT) return false;
    if (pkt->ack.msn > recovery->run_seen) return false;
    return psn >= recovery->retry_psn && psn < recovery->run_next;
}

static void ack_packet(struct capture *capture, struct direction *direction, struct direction *requester,
                       const struct pkt *pkt)
{
    struct capture_direction *view = &direction->view;
    bool plain = aeth_kind(pkt->ack.syndrome) == AETH_ACK;
    if (requester && plain && msn_restarts(direction, requester, pkt)) cap_psn_forget_before_run(capture, requester);
    uint64_t psn = requester ? answered_psn(requester, pkt->psn) : 0;
    if (psn) {
        acknowledge(requester, plain ? psn + 1 : psn);
        ring_cover(capture, requester, (uint32_t)(plain ? psn + 1 : psn), false);
    }
    if (!plain) {
        if (aeth_kind(pkt->ack.syndrome) == AETH_RNR_NAK)
            rnr_packet(capture, direction, requester, pkt);
        else
            nak_packet(capture, direction, requester, pkt);
        return;
    }
    view->acks++;
    if (direction->ack_psn == pkt->psn && direction->ack_msn == pkt->ack.msn) {
        view->duplicate_acks++;
        capture->totals.duplicate_acks++;
    }
    direction->ack_psn = pkt->psn;
    direction->ack_msn = pkt->ack.msn;
}

/* Is this READ response packet sent for the first time?  Responses skip the PSNs of other requests, so
 * only a jump inside one response is a hole. */
static bool response_is_new(struct direction *direction, const struct pkt *pkt, const struct opcode_info *info)
{
    if (!(direction->flags & DIR_ANSWERS)) {
        direction->flags |= DIR_ANSWERS;
        direction->response_next = PSN_BASE + pkt->psn + 1;
        return true;
    }
    uint64_t at = direction->response_next + (uint64_t)(int64_t)psn_distance(direction->response_next, pkt->psn);
    if (at >= direction->response_next) {
        if (!(info->flags & OP_FIRST) && at > direction->response_next)
            direction->response_hole = (struct psn_range){direction->response_next, at};
        direction->response_next = at + 1;
        return true;
    }
    if (direction->response_next - at > PSN_RESET) {
        direction->response_next = PSN_BASE + pkt->psn + 1;
        direction->response_hole = (struct psn_range){0, 0};
        return true;
    }
    if (at < direction->response_hole.from || at >= direction->response_hole.to) return false;
    direction->response_hole.from = at + 1; /* filled in order: a READ is repeated from its first missing packet */
    return true;
}

static void read_packet(struct capture *capture, struct direction *direction, struct direction *requester,
                        const struct pkt *pkt, const struct opcode_info *info)
{
    direction->view.read_responses++;
    if (!(info->flags & OP_LAST) && pkt->payload_bytes != direction->view.mtu)
        cap_request_learn_mtu(capture, direction, pkt->payload_bytes);
    if (response_is_new(direction, pkt, info) && pkt->payload_bytes) bins_add(capture, direction, pkt->payload_bytes);
    uint64_t psn = requester ? answered_psn(requester, pkt->psn) : 0;
    if (!psn) return;
    acknowledge(requester, psn + 1);
    if (info->flags & OP_LAST)
        ring_cover(capture, requester, (uint32_t)psn + 1, true);
    else if (info->flags & OP_FIRST)
        ring_cover(capture, requester, (uint32_t)psn, false);
}

static struct direction *find_requester(struct capture *capture, struct direction *direction, const struct pkt *pkt,
                                        const struct opcode_info *info)
{
    struct direction *requester = cap_pair_by_answer(capture, direction, pkt->psn, pkt->sport);
    /* A NAK for a sequence error names a packet that may never have come by here; the one before it has arrived. */
    if (!requester && info->verb == OP_ACK && pkt->ack.syndrome == (AETH_NAK << 5 | NAK_PSN_SEQUENCE))
        requester = cap_pair_by_answer(capture, direction, (pkt->psn - 1) & 0xffffff, pkt->sport);
    if (!requester) return NULL;
    if (direction->ack_psn != NONE) ring_drop(requester, direction->ack_psn);
    if (direction->flags & DIR_ANSWERS) ring_drop(requester, (uint32_t)direction->response_next - 1);
    return requester;
}

void cap_response_packet(struct capture *capture, struct direction *direction, const struct pkt *pkt,
                         const struct opcode_info *info)
{
    struct direction *requester = direction_peer(capture, direction);
    if (!requester) requester = find_requester(capture, direction, pkt, info);
    if (info->verb == OP_ACK && pkt->missing & OP_AETH) {
        direction->view.answers_cut++;
        capture->totals.answers_cut++;
        if (requester && requester->flags & DIR_TROUBLE) requester->recovery.retries = 0;
    } else if (info->verb == OP_ACK) {
        ack_packet(capture, direction, requester, pkt);
    } else if (info->verb == OP_READ) {
        read_packet(capture, direction, requester, pkt, info);
    } else {
        direction->view.atomic_responses++;
        uint64_t psn = requester ? answered_psn(requester, pkt->psn) : 0;
        if (!psn) return;
        acknowledge(requester, psn + 1);
        ring_cover(capture, requester, (uint32_t)psn + 1, true);
    }
}
