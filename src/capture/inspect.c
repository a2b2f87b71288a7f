/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is wrong with a connection, added up for each rule of verdict.def: how many directions are concerned, which
 * is worst, and packets to look at.
 *
 * A connection is inspected once: when the capture ends, or when it is dropped to keep the memory bound.  So the
 * verdict covers both alike.  What a sentence says about the worst direction is copied, as that may be gone when
 * the sentence is written.
 */
#include "capture/capture_int.h"

/* What is being inspected. */
struct patient {
    struct capture *capture;
    const struct direction *direction;
    const struct direction *back; /* NULL: nothing seen, or not paired */
    uint32_t connection;
};

static uint32_t nak_codes(const struct capture_direction *view)
{
    uint32_t codes = view->naks_reserved ? 1u << 31 : 0;
    for (unsigned code = NAK_INVALID_REQUEST; code < NAK_CODES; code++)
        if (view->naks[code]) codes |= 1u << code;
    return codes;
}

static struct subject subject_of(const struct direction *direction)
{
    const struct capture_direction *view = &direction->view;
    return (struct subject){
        .src = view->src,
        .dst = view->dst,
        .dst_qp = view->dst_qp,
        .nak_codes = nak_codes(view),
        .rnr_min_ns = view->rnr_min_ns,
        .rnr_max_ns = view->rnr_max_ns,
        .cnp_gap_ns = view->cnp_gap ? view->cnp_gap->min : 0,
        .retry_first = direction->recovery.retry_first,
        .retry_packet = direction->recovery.retry_packet,
        .retry_psn = (uint32_t)direction->recovery.retry_psn & 0xffffff,
    };
}

static void concern(const struct patient *patient, enum rule rule, uint64_t value, uint64_t of, uint64_t packet)
{
    struct worst *worst = &patient->capture->worst[rule];
    if (value == 0) return;
    worst->sum += value;
    worst->sum_of += of;
    worst->count++;
    if (packet) evidence_keep(&worst->shown, packet);
    /* of equals, one that the report still lists */
    if (worst->count > 1 && (value < worst->value || (value == worst->value && worst->connection != NONE))) return;
    worst->connection = patient->connection;
    worst->value = value;
    worst->of = of;
    worst->packet = packet;
    worst->subject = subject_of(patient->direction);
}

static uint64_t nak_sum(const struct capture_direction *view)
{
    uint64_t sum = view->naks_reserved;
    for (unsigned code = NAK_INVALID_REQUEST; code < NAK_CODES; code++)
        sum += view->naks[code];
    return sum;
}

static unsigned hole_arrived(const struct direction *direction, const struct psn_hole *hole)
{
    return hole->to <= direction->acked;
}

void cap_inspect_lose_holes(struct direction *direction)
{
    for (unsigned i = 0; i < direction->holes; i++) {
        const struct psn_hole *hole = &direction->hole[i];
        unsigned arrived = hole_arrived(direction, hole);
        direction->lost[arrived] += hole->to - hole->from;
        if (!direction->lost_packet[arrived]) direction->lost_packet[arrived] = hole->packet;
    }
}

/* Packets skipped and never seen since: [1] those the other end acknowledged, [0] the others. */
static void inspect_holes(const struct patient *patient)
{
    const struct direction *direction = patient->direction;
    static const enum rule rule[2] = {RULE_GAPS, RULE_CAPTURE_LOSS};
    uint64_t missing[2] = {direction->lost[0], direction->lost[1]};
    uint64_t packet[2] = {direction->lost_packet[0], direction->lost_packet[1]};
    for (unsigned i = 0; i < direction->holes; i++) {
        const struct psn_hole *hole = &direction->hole[i];
        unsigned arrived = hole_arrived(direction, hole);
        missing[arrived] += hole->to - hole->from;
        if (packet[arrived])
            evidence_keep(&patient->capture->worst[rule[arrived]].shown, hole->packet);
        else
            packet[arrived] = hole->packet;
    }
    for (unsigned arrived = 0; arrived < 2; arrived++)
        concern(patient, rule[arrived], missing[arrived], direction->view.requests + missing[arrived], packet[arrived]);
}

/* What was sent again, and why. */
static void inspect_repeats(const struct patient *patient)
{
    const struct direction *direction = patient->direction;
    const struct capture_direction *view = &direction->view;
    const struct recovery *recovery = &direction->recovery;
    const uint64_t *first = recovery->first_packet;
    uint64_t timeouts = view->retransmitted_by[CAPTURE_BY_TIMEOUT] - view->copies;
    bool silent = cap_request_silent(patient->capture, direction);
    concern(patient, RULE_LOSS, view->retransmitted_by[CAPTURE_BY_NAK], view->requests, first[CAPTURE_BY_NAK]);
    if (first[CAPTURE_BY_NAK]) /* selective repeat, behind the loss: nothing is seen twice */
        concern(patient, RULE_LOSS_AHEAD, view->filled - view->reordered, view->requests, first[CAPTURE_BY_NAK]);
    if (patient->back && patient->back->view.packets && view->transport == OP_RC)
        concern(patient, RULE_TIMEOUT, timeouts, view->requests, first[CAPTURE_BY_TIMEOUT]);
    concern(patient, RULE_TIMEOUT_BLIND, view->retransmitted_by[CAPTURE_BY_UNKNOWN], view->requests,
            first[CAPTURE_BY_UNKNOWN]);
    if (silent) concern(patient, RULE_SILENT, recovery->retries, 0, recovery->retry_first);
    if (recovery->hint == HINT_RNR && recovery->hint_requests == view->requests)
        concern(patient, RULE_RNR_LAST, 1, 0, recovery->hint_packet);
    concern(patient, RULE_COPIES, view->copies, view->requests, recovery->first_copy);
    concern(patient, RULE_REORDER, view->reordered, view->requests, recovery->first_overtaken);
}

/* Did the requester send anything again because it was asked to? */
static bool acted_on(const struct direction *requester)
{
    const uint64_t *first = requester->recovery.first_packet;
    return first[CAPTURE_BY_NAK] || first[CAPTURE_BY_RNR] || first[CAPTURE_BY_UNKNOWN] ||
           requester->view.filled > requester->view.reordered;
}

static void inspect(const struct patient *patient)
{
    const struct direction *direction = patient->direction;
    const struct capture_direction *view = &direction->view;
    const struct capture_direction *back = patient->back ? &patient->back->view : NULL;
    concern(patient, RULE_ICRC, view->icrc_errors, view->packets, view->icrc_first_packet);
    concern(patient, RULE_FATAL, nak_sum(view), 0, view->fatal_packet);
    concern(patient, RULE_RNR, view->rnr_naks, 0, view->rnr_first_packet);
    concern(patient, RULE_CNPS, view->cnps, 0, 0);
    inspect_repeats(patient);
    concern(patient, RULE_ODD_SIZE, view->odd_sizes, view->requests, 0);
    concern(patient, RULE_RESET, view->resets, 0, 0);
    concern(patient, RULE_FORGOTTEN, view->holes_forgotten, 0, direction->first_forgotten);
    if (!patient->back || !acted_on(patient->back))
        concern(patient, RULE_NAK_ALONE, view->naks[NAK_PSN_SEQUENCE], 0, direction->first_nak);
    inspect_holes(patient);
    /* one that is dropped may be answered yet */
    if (view->transport == OP_RC && !back && patient->connection != NONE)
        concern(patient, RULE_ONE_WAY, view->requests, 0, view->first_request_packet);
    if (view->ecn_marked && view->payload_bytes && view->transport != OP_UD && back && back->cnps == 0)
        concern(patient, RULE_CE_NO_CNP, view->ecn_marked, view->packets, direction->first_ce);
    if (back && view->packets && view->ecn_capable == 0)
        concern(patient, RULE_CNP_NOT_ECT, back->cnps, 0, patient->back->first_cnp);
}

void cap_inspect(struct capture *capture, const struct direction *forward, uint32_t connection)
{
    const struct direction *reverse = direction_peer(capture, forward);
    inspect(&(struct patient){capture, forward, reverse, connection});
    if (reverse) inspect(&(struct patient){capture, reverse, forward, connection});
}
