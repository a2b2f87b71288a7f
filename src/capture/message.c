/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages around holes in the PSNs; see message.h for the idea.  In order does not come here.
 *
 * A hole that is never filled was made by the capture itself, or by a sender that gave up.  It is
 * settled when the list of holes is full and it is the lowest, when the QP number is used again, and
 * when the capture ends.  The message that ended behind it counts in any case, for its Last was seen.
 * It is the one that was open before the hole if the hole is one packet (which cannot be both a Last
 * and a First) or if the length in the RETH reaches over it; else its size is what was seen of it, a
 * lower bound.  A message whose Last was in the hole is not counted.
 */
#include "capture/message.h"

#include "base/check.h"

static struct message_end *end_of(struct direction *direction, unsigned run)
{
    return run < direction->holes ? &direction->hole[run].head : &direction->end;
}

/* The message is known from `psn` on. */
static struct message_end known_from(const struct direction *direction, uint64_t psn)
{
    return (struct message_end){.start = psn, .packet_bytes = (uint16_t)direction->view.mtu, .kind = END_OPEN};
}

void cap_message_alone(struct direction *direction, const struct pkt *pkt, const struct opcode_info *info, uint64_t psn,
                       struct message_tail *ret_tail, struct message_end *ret_end)
{
    bool first = info->flags & OP_FIRST, last = info->flags & OP_LAST;
    *ret_tail = (struct message_tail){.kind = TAIL_NONE};
    *ret_end = (struct message_end){.kind = END_NONE};
    if (first && last) {
        message_only(direction, pkt, info);
    } else if (first) {
        *ret_end = message_begin(pkt, info, psn);
    } else if (last) {
        *ret_tail = (struct message_tail){psn, pkt->payload_bytes, TAIL_ENDED, info->verb & 3u};
    } else {
        ret_tail->kind = TAIL_THROUGH;
        ret_end->kind = END_THROUGH;
    }
}

static void tail_count(struct direction *direction, const struct message_tail *tail, const struct message_end *begun)
{
    message_count(direction, tail->verb, message_size(begun, tail->last, tail->bytes));
}

void cap_message_meet(struct direction *direction, unsigned at)
{
    const struct psn_hole *hole = &direction->hole[at];
    struct message_end *right = end_of(direction, at + 1);
    struct message_end begun = hole->head.kind == END_OPEN ? hole->head : known_from(direction, hole->to);
    CHECK((hole->tail.kind == TAIL_THROUGH) == (right->kind == END_THROUGH));
    if (hole->tail.kind == TAIL_NONE) {
        /* nothing reaches over; and what came through the left run has no end */
        if (hole->head.kind == END_THROUGH) message_tail_of(direction, at)->kind = TAIL_NONE;
    } else if (hole->head.kind == END_THROUGH) {
        *message_tail_of(direction, at) = hole->tail;
    } else if (hole->tail.kind == TAIL_ENDED) {
        tail_count(direction, &hole->tail, &begun);
    } else {
        *right = begun;
    }
}

/* Does the message that was open before the hole go on behind it? */
static bool reaches_over(const struct message_end *begun, const struct psn_hole *hole)
{
    if (begun->kind != END_OPEN) return false;
    if (hole->to - hole->from == 1) return true;
    if (!begun->dma_bytes || !begun->packet_bytes) return false;
    return begun->start + (begun->dma_bytes - 1) / begun->packet_bytes >= hole->to;
}

/* Counts what ended behind a hole that stays open; `begun` is what was open before it.  Returns what is open
 * behind it, when nothing ended. */
static struct message_end settle(struct direction *direction, const struct psn_hole *hole, struct message_end begun)
{
    if (!reaches_over(&begun, hole)) begun = known_from(direction, hole->to);
    if (hole->tail.kind == TAIL_ENDED) tail_count(direction, &hole->tail, &begun);
    return begun;
}

void cap_message_give_up(struct direction *direction)
{
    CHECK(direction->holes > 0);
    const struct psn_hole *hole = &direction->hole[0];
    struct message_end begun = hole->head;
    if (begun.kind == END_THROUGH) {
        begun = known_from(direction, direction->first);
        direction->front.kind = TAIL_NONE;
    }
    begun = settle(direction, hole, begun);
    if (hole->tail.kind == TAIL_THROUGH) *end_of(direction, 1) = begun;
}

void cap_message_finish(struct direction *direction)
{
    struct message_end through = known_from(direction, direction->first);
    if (direction->front.kind == TAIL_ENDED) tail_count(direction, &direction->front, &through);
    for (unsigned i = 0; i < direction->holes; i++) {
        const struct psn_hole *hole = &direction->hole[i];
        through = settle(direction, hole, hole->head.kind == END_THROUGH ? through : hole->head);
    }
}
