/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a direction sends as a requester: PSNs in order or not, messages, goodput, retransmission.
 *
 * A READ request takes as many PSNs as its response has packets (InfiniBand 1.x vol. 1, 9.7.1 and
 * 9.4.4), which only the path MTU tells.  Until that is known, from a First or Middle packet either
 * way or from CM, the request after a READ is taken as in order wherever it is.
 *
 * Messages are put together in message.h.
 */
#include "capture/capture_int.h"

#include "base/check.h"
#include "capture/message.h"

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
    if (!(direction->flags & DIR_READ_OPEN) || direction->read_bytes == 0) return;
    uint32_t packets = read_packets(capture, direction, direction->read_bytes);
    if (packets == 0) return;
    direction->flags &= (uint8_t)~DIR_READ_OPEN;
    for (unsigned i = 0; i < direction->ring_count; i++) {
        struct outstanding *waits = &direction->ring[(direction->ring_head + i) % RING_SLOTS];
        if (waits->psn == (uint32_t)direction->read_psn) waits->packets = packets & 0x3fffffff;
    }
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

/* One PSN in 2^shift.  Scrambled, because those that ask for an ACK are often equally far apart. */
static inline bool ring_chooses(uint32_t psn, unsigned shift)
{
    uint32_t mixed = (psn & 0xffffff) * 0x9e3779b1u;
    mixed = (mixed ^ mixed >> 15) * 0x85ebca77u;
    return ((mixed ^ mixed >> 13) & ((1u << shift) - 1)) == 0;
}

/* Half as many are watched from now on, of those at hand too. */
static void ring_thin(struct direction *direction)
{
    unsigned kept = 0, head = direction->ring_head;
    direction->ring_shift++;
    for (unsigned i = 0; i < RING_SLOTS; i++) {
        struct outstanding waits = direction->ring[(head + i) % RING_SLOTS];
        if (ring_chooses(waits.psn, direction->ring_shift)) direction->ring[(head + kept++) % RING_SLOTS] = waits;
    }
    direction->ring_count = (uint8_t)kept;
}

/* Which requests are watched is a matter of their PSNs alone, never of what is free when they are sent: slots come free
 * sooner where answers are fast.  A request once chosen is watched until it is answered, or until fewer are chosen. */
static void ring_push_request(struct capture *capture, struct direction *direction, uint64_t psn, bool read,
                              uint32_t packets)
{
    if (direction->ring_count == 0) {
        direction->ring_head = 0;
        if (!(direction->flags & DIR_SAMPLED)) direction->ring_shift = 0;
    }
    while (direction->ring_count == RING_SLOTS) {
        if (direction->ring_shift == RING_SHIFT_MAX)
            direction->ring_count = direction->ring_shift = 0;
        else
            ring_thin(direction);
    }
    if (direction->ring_shift && !ring_chooses((uint32_t)psn, direction->ring_shift)) return;
    unsigned slot = (direction->ring_head + direction->ring_count++) % RING_SLOTS;
    direction->ring[slot] = (struct outstanding){
        .time_ns = capture->now_ns, .psn = (uint32_t)psn, .packets = packets & 0x3fffffff, .read = read};
}

/* A request sent again gives no latency, nor does a READ asked for again from its middle on. */
static void ring_forget(struct direction *direction, uint64_t psn)
{
    for (unsigned i = 0; i < direction->ring_count; i++) {
        struct outstanding *waits = &direction->ring[(direction->ring_head + i) % RING_SLOTS];
        if ((uint32_t)psn - waits->psn < (waits->packets ? waits->packets : 1)) waits->again = true;
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
    recovery->run_next = recovery->run_filled = recovery->run_seen = 0;
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
static void run_show(struct capture *capture, struct recovery *recovery, uint64_t psn)
{
    recovery->shown = true;
    if (recovery->repeated_end && psn >= recovery->repeated_end) recovery->heard = true;
    recovery->run_shown = capture->number;
    if (recovery->cause != CAPTURE_BY_RNR)
        evidence_add(capture, recovery->cause == CAPTURE_BY_NAK ? EVIDENCE_LOSS : EVIDENCE_TIMEOUT);
    if (!recovery->first_packet[recovery->cause]) recovery->first_packet[recovery->cause] = capture->number;
}

static void evidence_drop(struct capture_evidence *evidence, uint64_t number)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < evidence->kept; i++)
        if (evidence->packet[i] != number) evidence->packet[kept++] = evidence->packet[i];
    evidence->kept = kept;
}

void cap_request_undo_run(struct capture *capture, struct direction *direction)
{
    struct recovery *recovery = &direction->recovery;
    struct capture_direction *view = &direction->view;
    CHECK(recovery->run_next && recovery->shown && view->retransmitted_by[recovery->cause] >= recovery->run_seen);
    view->retransmitted -= recovery->run_seen;
    view->retransmitted_by[recovery->cause] -= recovery->run_seen;
    capture->totals.retransmitted -= recovery->run_seen;
    capture->totals.retransmitted_by[recovery->cause] -= recovery->run_seen;
    view->reordered -= recovery->run_filled;
    capture->totals.reordered -= recovery->run_filled;
    if (view->retransmitted_first_packet == recovery->run_shown) view->retransmitted_first_packet = 0;
    if (recovery->first_packet[recovery->cause] == recovery->run_shown) recovery->first_packet[recovery->cause] = 0;
    evidence_drop(&capture->evidence[EVIDENCE_TIMEOUT], recovery->run_shown);
    evidence_drop(&capture->evidence[EVIDENCE_LOSS], recovery->run_shown);
    recovery->run_next = recovery->run_filled = recovery->run_seen = 0;
}

/* A second copy in the file, not a second transmission?  Asked to, or in the course of going back as asked, a sender
 * repeats itself faster than any timer, and with the same bytes when it does not count the IP identification up. */
static bool is_copy(const struct capture *capture, const struct direction *direction, uint64_t psn)
{
    const struct recovery *recovery = &direction->recovery;
    if (!capture->copy || recovery->hint != HINT_NONE) return false;
    bool goes_on = recovery->run_next && psn >= recovery->run_next && recovery->run_next != direction->next;
    return !(goes_on && recovery->cause != CAPTURE_BY_TIMEOUT);
}

/* The books are literal: a PSN seen before, and nobody asked for it. */
static void count_copy(struct capture *capture, struct direction *direction)
{
    struct capture_direction *view = &direction->view;
    view->retransmitted++;
    view->retransmitted_by[CAPTURE_BY_TIMEOUT]++;
    view->copies++;
    capture->totals.retransmitted++;
    capture->totals.retransmitted_by[CAPTURE_BY_TIMEOUT]++;
    capture->totals.copies++;
    evidence_add(capture, EVIDENCE_COPY);
    if (!view->retransmitted_first_packet) view->retransmitted_first_packet = capture->number;
    if (!direction->recovery.first_copy) direction->recovery.first_copy = capture->number;
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
        if (!recovery->shown) run_show(capture, recovery, psn);
        recovery->run_seen++;
        recovery->repeated_end = psn + 1;
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
    direction->ring_head = direction->ring_count = 0;
    direction->flags &= (uint8_t) ~(DIR_READ_OPEN | DIR_TROUBLE);
    run_end(capture, &direction->recovery);
    direction->recovery.retries = direction->recovery.hint = 0;
    direction->recovery.repeated_end = 0;
}

void cap_request_finish(struct capture *capture, struct direction *direction)
{
    cap_message_finish(direction);
    run_end(capture, &direction->recovery);
}

/* Is an answer of `responder` in the capture? */
static bool answered(const struct direction *responder)
{
    const struct capture_direction *view = responder ? &responder->view : NULL;
    return view && (view->acks || view->rnr_naks || view->naks[NAK_PSN_SEQUENCE] || view->fatal_packet ||
                    view->read_responses || view->atomic_responses || view->answers_cut);
}

static const struct direction *peer_of(const struct capture *capture, const struct direction *direction)
{
    return direction->peer == NONE ? NULL : &capture->direction[direction->peer];
}

bool cap_request_silent(const struct capture *capture, const struct direction *direction)
{
    if (direction->view.transport != OP_RC || direction->recovery.retries < 2) return false;
    return answered(peer_of(capture, direction)) || !direction->recovery.heard;
}

void cap_request_settle(struct capture *capture, struct direction *direction)
{
    const struct direction *peer = peer_of(capture, direction);
    struct capture_direction *view = &direction->view;
    struct recovery *recovery = &direction->recovery;
    bool blind = peer && peer->view.answers_cut;
    if (!answered(peer)) blind = !cap_request_silent(capture, direction);
    uint64_t count = view->retransmitted_by[CAPTURE_BY_TIMEOUT] - view->copies;
    if (!blind || count == 0) return;
    view->retransmitted_by[CAPTURE_BY_TIMEOUT] -= count;
    view->retransmitted_by[CAPTURE_BY_UNKNOWN] += count;
    capture->totals.retransmitted_by[CAPTURE_BY_TIMEOUT] -= count;
    capture->totals.retransmitted_by[CAPTURE_BY_UNKNOWN] += count;
    recovery->first_packet[CAPTURE_BY_UNKNOWN] = recovery->first_packet[CAPTURE_BY_TIMEOUT];
    recovery->first_packet[CAPTURE_BY_TIMEOUT] = 0;
}

static enum psn_news place(struct capture *capture, struct direction *direction, const struct pkt *pkt,
                           const struct opcode_info *info, uint64_t *ret_psn)
{
    uint32_t packets = 1;
    bool open = false;
    if (info->verb == OP_READ) {
        packets = pkt->missing & OP_RETH ? 0 : read_packets(capture, direction, pkt->rdma.dma_bytes);
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
        direction->read_bytes = pkt->rdma.dma_bytes; /* 0: cut off; one packet long is never open */
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
        if (news == PSN_SEEN && is_copy(capture, direction, psn)) {
            count_copy(capture, direction);
            return; /* the first copy has said everything */
        }
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
    bool asks = read || pkt->flags & PKT_ACK_REQUEST;
    if (direction->peer == NONE) cap_pair_request(capture, direction, pkt->psn, asks);
    if (!asks) return;
    bool sized = info->verb == OP_READ && !(pkt->missing & OP_RETH);
    uint32_t packets = sized ? read_packets(capture, direction, pkt->rdma.dma_bytes) : info->verb == OP_ATOMIC;
    ring_push_request(capture, direction, psn, read, packets);
}
