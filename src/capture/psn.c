/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which PSNs a direction has sent, exactly and in bounded memory.
 *
 * PSNs are 24 bits and wrap (InfiniBand 1.x vol. 1, 9.7.1); here they are extended to 64 by the
 * nearest-distance rule, which a window of 2^23 makes unambiguous.  Everything from the first to the
 * highest PSN counts as sent except a short sorted list of holes.  A hole is made when a PSN is
 * skipped and shrinks when it is filled; when there are more than PSN_HOLES the lowest is forgotten,
 * that is, taken as sent.  With go-back-N a direction has one hole at a time, with selective repeat
 * a few.  Each hole also keeps the ends of the messages beside it (message.h).
 *
 * In order is the common case and does not come here (request.c).
 */
#include "capture/capture_int.h"

#include "base/check.h"
#include "capture/message.h"

void cap_psn_advance(struct capture *capture, struct direction *direction, uint64_t next)
{
    CHECK(next >= direction->next);
    uint64_t wraps = ((next - 1) >> 24) - ((direction->next - 1) >> 24);
    direction->view.psn_wraps += wraps;
    capture->totals.psn_wraps += wraps;
    direction->next = next;
}

/* One slot more than PSN_HOLES is there; hole_trim() is to follow. */
static void hole_insert(struct capture *capture, struct direction *direction, unsigned at, const struct psn_hole *hole)
{
    if (!direction->hole) {
        uint32_t list = pool_get(&capture->hole_pool);
        CHECK(list != POOL_NONE); /* one for each direction there can be */
        direction->hole = &capture->hole[(size_t)list * HOLE_LIST];
    }
    CHECK(at <= direction->holes && direction->holes <= PSN_HOLES);
    memmove(&direction->hole[at + 1], &direction->hole[at], sizeof direction->hole[0] * (direction->holes - at));
    direction->hole[at] = *hole;
    direction->holes++;
}

static void hole_remove(struct direction *direction, unsigned at)
{
    direction->holes--;
    memmove(&direction->hole[at], &direction->hole[at + 1], sizeof direction->hole[0] * (direction->holes - at));
}

static void hole_close_if_empty(struct direction *direction, unsigned at)
{
    if (direction->hole[at].from < direction->hole[at].to) return;
    cap_message_meet(direction, at);
    hole_remove(direction, at);
}

static void hole_trim(struct capture *capture, struct direction *direction)
{
    if (direction->holes <= PSN_HOLES) return;
    if (direction->view.holes_forgotten++ == 0) direction->first_forgotten = direction->hole[0].packet;
    capture->totals.holes_forgotten++;
    cap_message_give_up(direction);
    hole_remove(direction, 0);
}

/* A packet, and the PSNs it takes. */
struct placed {
    const struct pkt *pkt;
    const struct opcode_info *info;
    uint64_t at, end; /* [at, end) */
};

/* Takes the packet out of the hole it is in, which it may split; false when it is in none. */
static bool hole_fill(struct capture *capture, struct direction *direction, const struct placed *placed)
{
    for (unsigned i = 0; i < direction->holes; i++) {
        struct psn_hole *hole = &direction->hole[i];
        if (placed->at < hole->from || placed->at >= hole->to) continue;
        struct psn_hole above = {.from = placed->end < hole->to ? placed->end : hole->to,
                                 .to = hole->to,
                                 .packet = hole->packet,
                                 .tail = hole->tail};
        struct message_tail tail;
        cap_message_alone(direction, placed->pkt, placed->info, placed->at, &tail, &above.head);
        hole->to = placed->at;
        hole->tail = tail;
        hole_insert(capture, direction, i + 1, &above);
        hole_close_if_empty(direction, i + 1);
        hole_close_if_empty(direction, i);
        hole_trim(capture, direction);
        return true;
    }
    return false;
}

static void psn_begin(struct capture *capture, struct direction *direction, const struct placed *placed)
{
    direction->first = placed->at;
    direction->next = placed->at + 1;
    cap_psn_advance(capture, direction, placed->end);
    cap_message_alone(direction, placed->pkt, placed->info, placed->at, &direction->front, &direction->end);
}

/* A new life of the QP number: nothing of the old one counts any more. */
static void psn_end(struct capture *capture, struct direction *direction)
{
    direction->view.resets++;
    capture->totals.resets++;
    evidence_add(capture, EVIDENCE_RESET);
    cap_message_finish(direction);
    cap_inspect_lose_holes(direction);
    direction->holes = 0;
    direction->acked = 0;
    direction->front.kind = TAIL_NONE;
    direction->end.kind = END_NONE;
    cap_request_reset(capture, direction);
}

static void psn_restart(struct capture *capture, struct direction *direction, const struct placed *placed)
{
    psn_end(capture, direction);
    psn_begin(capture, direction, placed);
}

void cap_psn_forget(struct capture *capture, struct direction *direction)
{
    if (direction->flags & DIR_BEGUN) psn_end(capture, direction);
    direction->flags &= (uint8_t) ~(DIR_BEGUN | DIR_ANSWERS);
    direction->ack_psn = NONE;
    direction->response_hole = (struct psn_range){0, 0};
}

void cap_psn_forget_before_run(struct capture *capture, struct direction *direction)
{
    uint64_t first = direction->recovery.retry_psn, next = direction->recovery.run_next;
    CHECK(direction->flags & DIR_BEGUN && next > first);
    cap_request_undo_run(capture, direction);
    psn_end(capture, direction);
    direction->first = first;
    direction->next = next;
}

static void psn_ahead(struct capture *capture, struct direction *direction, const struct placed *placed)
{
    uint64_t skipped = placed->at - direction->next;
    if (direction->flags & DIR_READ_OPEN) {
        direction->flags &= (uint8_t)~DIR_READ_OPEN;
        message_append(direction, direction->holes, &direction->end, placed->pkt, placed->info, placed->at);
    } else {
        struct psn_hole hole = {
            .from = direction->next, .to = placed->at, .packet = capture->number, .head = direction->end};
        direction->view.gaps++;
        direction->view.missing += skipped;
        capture->totals.gaps++;
        capture->totals.missing += skipped;
        cap_message_alone(direction, placed->pkt, placed->info, placed->at, &hole.tail, &direction->end);
        hole_insert(capture, direction, direction->holes, &hole);
        hole_trim(capture, direction);
    }
    cap_psn_advance(capture, direction, placed->end);
}

/* Older than everything seen: there was something before the first packet. */
static void psn_below(struct capture *capture, struct direction *direction, const struct placed *placed)
{
    struct psn_hole hole = {.to = direction->first, .packet = capture->number, .tail = direction->front};
    hole.from = placed->end < hole.to ? placed->end : hole.to;
    cap_message_alone(direction, placed->pkt, placed->info, placed->at, &direction->front, &hole.head);
    direction->first = placed->at;
    hole_insert(capture, direction, 0, &hole);
    hole_close_if_empty(direction, 0);
    hole_trim(capture, direction);
}

enum psn_news cap_psn_place_odd(struct capture *capture, struct direction *direction, const struct pkt *pkt,
                                const struct opcode_info *info, uint32_t packets, uint64_t *ret_psn)
{
    struct placed placed = {pkt, info, PSN_BASE + pkt->psn, PSN_BASE + pkt->psn + packets};
    *ret_psn = placed.at;
    if (!(direction->flags & DIR_BEGUN)) {
        direction->flags |= DIR_BEGUN;
        psn_begin(capture, direction, &placed);
        return PSN_NEW;
    }
    int32_t distance = psn_distance(direction->next, pkt->psn);
    uint64_t at = direction->next + (uint64_t)(int64_t)distance;
    if (distance > PSN_RESET || (at < direction->first && direction->first - at > PSN_RESET)) {
        psn_restart(capture, direction, &placed);
        return PSN_NEW;
    }
    *ret_psn = placed.at = at;
    placed.end = at + packets;
    if (distance >= 0) {
        psn_ahead(capture, direction, &placed);
        return PSN_NEW;
    }
    bool news = at < direction->first;
    if (news)
        psn_below(capture, direction, &placed);
    else
        news = hole_fill(capture, direction, &placed);
    if (placed.end > direction->next) cap_psn_advance(capture, direction, placed.end);
    return news ? PSN_FILLED : PSN_SEEN;
}
