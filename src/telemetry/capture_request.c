/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a direction sends as a requester: PSNs in order or not, messages, goodput, retransmission.
 *
 * A READ request takes as many PSNs as its response has packets (InfiniBand 1.x vol. 1, 9.7.1 and
 * 9.4.4), which only the path MTU tells.  Until that is known, from a First or Middle packet either
 * way or from CM, the request after a READ is taken as in order wherever it is.
 *
 * Messages are put together in capture_message.h.
 */
#include "telemetry/capture_internal.h"

#include "telemetry/capture_message.h"

static uint32_t mtu_of(struct capture *capture, const struct direction *direction)
{
    if (direction->view.mtu) return direction->view.mtu;
    const struct direction *peer = direction_peer(capture, direction);
    if (peer && peer->view.mtu) return peer->view.mtu;
    return direction->cm_mtu;
}

#define READ_PACKETS_MAX (1u << 23) /* half of the PSNs: 2^31 bytes with the smallest MTU; more is nonsense */

/* PSNs a READ of this length takes; 0: not known. */
static uint32_t read_packets(struct capture *capture, const struct direction *direction, uint32_t bytes)
{
    if (bytes <= 256) return 1; /* the smallest MTU there is */
    uint32_t mtu = mtu_of(capture, direction);
    if (!mtu) return 0;
    uint32_t packets = (bytes - 1) / mtu + 1;
    return packets < READ_PACKETS_MAX ? packets : READ_PACKETS_MAX;
}

/* An MTU has become known: a READ that waited for it takes its PSNs. */
void cap_request_know_mtu(struct capture *capture, struct direction *direction)
{
    if (!(direction->flags & DIR_READ_OPEN)) return;
    uint32_t packets = read_packets(capture, direction, direction->read_bytes);
    if (packets == 0) return;
    direction->flags &= (uint8_t)~DIR_READ_OPEN;
    uint64_t end = direction->read_psn + packets;
    if (end > direction->next) cap_psn_advance(capture, direction, end);
}

void cap_request_learn_mtu(struct capture *capture, struct direction *direction, uint32_t payload_bytes)
{
    uint32_t known = direction->view.mtu;
    if (known && payload_bytes != known) {
        direction->view.odd_sizes++;
        evidence_add(capture, EVIDENCE_SIZE);
    }
    if (payload_bytes <= known) return;
    direction->view.mtu = payload_bytes;
    cap_request_know_mtu(capture, direction);
    struct direction *peer = direction_peer(capture, direction);
    if (peer) cap_request_know_mtu(capture, peer);
}

/* The other end asks for `psn` again.  A run already under way goes on: what follows may have been sent
 * before the NAK arrived.  A sequence error right behind an RNR NAK is its echo, not a loss. */
void cap_request_hint(struct capture *capture, struct direction *requester, enum hint hint, uint32_t psn)
{
    struct recovery *recovery = &requester->recovery;
    bool echo = recovery->hint == HINT_RNR && hint == HINT_NAK && recovery->hint_psn == psn;
    if (!echo) recovery->hint = (uint8_t)hint;
    recovery->hint_psn = psn;
    recovery->hint_requests = requester->view.requests;
    recovery->hint_packet = capture->number;
    recovery->retries = 0;
    requester->flags |= DIR_TROUBLE;
}

static void ring_push_request(struct capture *capture, struct direction *direction, uint64_t psn, bool read)
{
    if (direction->ring_count == RING_SLOTS) {
        /* Keep the oldest, so that what is measured does not depend on the depth of the queue; but where
         * no answer ever meets one of them, begin anew. */
        if (++direction->ring_skipped < RING_PATIENCE) return;
        cap_pair_index_drop(capture, direction);
        direction->ring_head = direction->ring_count = 0;
    }
    if (direction->ring_count == 0) direction->ring_head = direction->ring_skipped = 0;
    unsigned slot = (direction->ring_head + direction->ring_count++) % RING_SLOTS;
    direction->ring[slot] = (struct outstanding){.time_ns = capture->now_ns, .psn = (uint32_t)psn, .read = read};
    if (direction->peer == NONE) cap_pair_index_add(capture, direction, slot);
}

/* A request sent again gives no latency.  It stays in the pairing index: its answer still says whose it is. */
static void ring_forget(struct direction *direction, uint64_t psn)
{
    for (unsigned i = 0; i < direction->ring_count; i++) {
        struct outstanding *waits = &direction->ring[(direction->ring_head + i) % RING_SLOTS];
        if (waits->psn == (uint32_t)psn) waits->again = true;
    }
}

/* The run is over: what it filled and did not repeat was overtaken, or asked for packet by packet. */
static void run_end(struct capture *capture, struct recovery *recovery)
{
    if (recovery->run_filled) {
        evidence_keep(&capture->evidence[EVIDENCE_REORDER], recovery->run_packet);
        if (!recovery->first_overtaken) recovery->first_overtaken = recovery->run_packet;
    }
    if (recovery->run_next && !recovery->shown && recovery->cause == CAPTURE_BY_NAK) {
        evidence_keep(&capture->evidence[EVIDENCE_LOSS], recovery->retry_first);
        if (!recovery->first_packet[CAPTURE_BY_NAK]) recovery->first_packet[CAPTURE_BY_NAK] = recovery->retry_first;
    }
    recovery->run_next = recovery->run_filled = 0;
}

static void run_begin(struct capture *capture, struct direction *direction, uint64_t psn)
{
    struct recovery *recovery = &direction->recovery;
    run_end(capture, recovery);
    recovery->cause = recovery->hint == HINT_NAK   ? CAPTURE_BY_NAK
                      : recovery->hint == HINT_RNR ? CAPTURE_BY_RNR
                                                   : CAPTURE_BY_TIMEOUT;
    bool again = recovery->retries && recovery->retry_psn == psn && recovery->cause == CAPTURE_BY_TIMEOUT;
    recovery->retries = again ? recovery->retries + 1 : 1;
    if (!again) recovery->retry_first = capture->number;
    recovery->retry_psn = psn;
    recovery->shown = false;
    recovery->hint = HINT_NONE;
    direction->flags |= DIR_TROUBLE;
}

/* The first packet of a run that had been seen before; what the run filled is known by then to be no accident. */
static void run_show(struct capture *capture, struct recovery *recovery)
{
    recovery->shown = true;
    if (recovery->cause != CAPTURE_BY_RNR)
        evidence_add(capture, recovery->cause == CAPTURE_BY_NAK ? EVIDENCE_LOSS : EVIDENCE_TIMEOUT);
    if (!recovery->first_packet[recovery->cause]) recovery->first_packet[recovery->cause] = capture->number;
}

/* A packet below the highest PSN: which run of repeated packets is it part of, and why was that sent? */
static void recovery_packet(struct capture *capture, struct direction *direction, uint64_t psn, bool seen)
{
    struct recovery *recovery = &direction->recovery;
    struct capture_direction *view = &direction->view;
    /* A run goes on over packets lost a second time; it ends when it has caught up or turns back. */
    if (recovery->run_next == 0 || psn < recovery->run_next || recovery->run_next == direction->next)
        run_begin(capture, direction, psn);
    recovery->run_next = psn + 1;
    recovery->retry_packet = capture->number;
    if (seen) {
        view->retransmitted++;
        view->retransmitted_by[recovery->cause]++;
        capture->totals.retransmitted++;
        capture->totals.retransmitted_by[recovery->cause]++;
        if (!view->retransmitted_first_packet) view->retransmitted_first_packet = capture->number;
        if (!recovery->shown) run_show(capture, recovery);
        /* so the packets filled before it in this run were sent again as well, not overtaken */
        view->reordered -= recovery->run_filled;
        capture->totals.reordered -= recovery->run_filled;
        recovery->run_filled = 0;
        return;
    }
    view->filled++;
    capture->totals.filled++;
    if (recovery->cause == CAPTURE_BY_TIMEOUT) {
        view->reordered++;
        capture->totals.reordered++;
        if (recovery->run_filled++ == 0) recovery->run_packet = capture->number;
    }
}

/* A PSN never sent before: whatever was repeated is over.  What the other end asked for is not: a sender
 * may have more on its way when the NAK arrives. */
static inline void recovery_over(struct capture *capture, struct direction *direction)
{
    if (!(direction->flags & DIR_TROUBLE)) return;
    direction->flags &= (uint8_t)~DIR_TROUBLE;
    direction->recovery.retries = 0;
    run_end(capture, &direction->recovery);
}

void cap_request_reset(struct capture *capture, struct direction *direction)
{
    cap_pair_index_drop(capture, direction);
    direction->ring_head = direction->ring_count = direction->ring_skipped = 0;
    direction->flags &= (uint8_t) ~(DIR_READ_OPEN | DIR_TROUBLE);
    run_end(capture, &direction->recovery);
    direction->recovery.retries = direction->recovery.hint = 0;
}

void cap_request_finish(struct capture *capture, struct direction *direction)
{
    cap_message_finish(direction);
    run_end(capture, &direction->recovery);
}

static enum psn_news place(struct capture *capture, struct direction *direction, const struct pkt *pkt,
                           const struct opcode_info *info, uint64_t *ret_psn)
{
    uint32_t packets = 1;
    bool open = false;
    if (info->verb == OP_READ) {
        packets = read_packets(capture, direction, pkt->rdma.dma_bytes);
        open = packets == 0;
        if (open) packets = 1;
    }
    enum psn_news news = PSN_NEW;
    if (direction->flags & DIR_BEGUN && psn_distance(direction->next, pkt->psn) == 0) {
        *ret_psn = direction->next;
        direction->flags &= (uint8_t)~DIR_READ_OPEN;
        if (pkt->psn + packets > 0xffffff || pkt->psn == 0)
            cap_psn_advance(capture, direction, direction->next + packets);
        else
            direction->next += packets;
        message_append(direction, direction->holes, &direction->end, pkt, info, *ret_psn);
    } else {
        news = cap_psn_place_odd(capture, direction, pkt, info, packets, ret_psn);
    }
    if (open && *ret_psn + 1 == direction->next) {
        direction->flags |= DIR_READ_OPEN;
        direction->read_psn = *ret_psn;
        direction->read_bytes = pkt->rdma.dma_bytes;
    }
    return news;
}

void cap_request_packet(struct capture *capture, struct direction *direction, const struct pkt *pkt,
                        const struct opcode_info *info)
{
    struct capture_direction *view = &direction->view;
    uint64_t psn = 0;
    enum psn_news news = PSN_NEW;
    if (view->requests++ == 0) view->first_request_packet = capture->number;
    capture->totals.requests++;
    if (info->transport != OP_UD) {
        if (!(info->flags & OP_LAST) && pkt->payload_bytes != view->mtu)
            cap_request_learn_mtu(capture, direction, pkt->payload_bytes);
        news = place(capture, direction, pkt, info, &psn);
        if (news == PSN_NEW)
            recovery_over(capture, direction);
        else
            recovery_packet(capture, direction, psn, news == PSN_SEEN);
    } else {
        message_only(direction, pkt, info);
    }
    if (news == PSN_SEEN) {
        ring_forget(direction, psn);
        return;
    }
    if (pkt->payload_bytes) bins_add(capture, direction, pkt->payload_bytes);
    if (info->transport != OP_RC || news != PSN_NEW) return; /* the ring is in order of PSN */
    bool read = info->verb == OP_READ || info->verb == OP_ATOMIC;
    if (read || pkt->flags & PKT_ACK_REQUEST) ring_push_request(capture, direction, psn, read);
}
