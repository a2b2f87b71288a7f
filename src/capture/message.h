/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages put together from packets that come in any order: private to the capture analysis.
 *
 * Between two holes in the PSNs lies a run of packets without a break.  Of each run two things are
 * kept: its *tail*, what it knows of a message that began before it, and its *end*, the message it
 * leaves open.  Whatever is complete inside a run has been counted.  When a hole closes, the end on
 * its left meets the tail on its right, and the message between them is counted.  So it does not
 * matter which packets were lost ahead of the capture point and in which order they come again: each
 * PSN counts once, and a message is exact as soon as all of it has been seen.
 *
 * In order is the common case: one run, whose end is in the direction's hot cache line.
 */
#ifndef ROCELAB_CAPTURE_MESSAGE_H
#define ROCELAB_CAPTURE_MESSAGE_H

#include <stdint.h>

#include "capture/capture_int.h"

/* The tail of run n: run 0 is the first, run n is behind hole n - 1. */
static inline struct message_tail *message_tail_of(struct direction *direction, unsigned run)
{
    return run ? &direction->hole[run - 1].tail : &direction->front;
}

static inline void message_count(struct direction *direction, unsigned verb, uint64_t bytes)
{
    struct capture_ops *ops = &direction->view.ops[verb];
    if (ops->messages == 0 || bytes < ops->min_bytes) ops->min_bytes = bytes;
    if (bytes > ops->max_bytes) ops->max_bytes = bytes;
    ops->messages++;
    ops->bytes += bytes;
    unsigned class = bytes ? 64 - (unsigned)__builtin_clzll(bytes) : 0;
    ops->size_class[class < CAPTURE_SIZE_CLASSES ? class : CAPTURE_SIZE_CLASSES - 1]++;
}

static inline unsigned message_verb(const struct opcode_info *info)
{
    _Static_assert((int)OP_SEND == CAPTURE_SEND && (int)OP_WRITE == CAPTURE_WRITE && (int)OP_READ == CAPTURE_READ &&
                       (int)OP_ATOMIC == CAPTURE_ATOMIC,
                   "a request's verb is its message's");
    return info->verb & 3u;
}

/* A message of one packet; a READ request stands for all of its response. */
static inline void message_only(struct direction *direction, const struct pkt *pkt, const struct opcode_info *info)
{
    if (info->verb == OP_READ && pkt->missing & OP_RETH) return; /* how long, the capture does not say */
    uint64_t bytes = info->verb == OP_READ ? pkt->rdma.dma_bytes : info->verb == OP_ATOMIC ? 8 : pkt->payload_bytes;
    message_count(direction, message_verb(info), bytes);
}

/* All packets but the last are as long as the first. */
static inline uint64_t message_size(const struct message_end *begun, uint64_t last, uint32_t last_bytes)
{
    return begun->dma_bytes ? begun->dma_bytes : (last - begun->start) * begun->packet_bytes + last_bytes;
}

static inline struct message_end message_begin(const struct pkt *pkt, const struct opcode_info *info, uint64_t psn)
{
    return (struct message_end){
        .start = psn,
        .dma_bytes = info->flags & OP_RETH ? pkt->rdma.dma_bytes : 0,
        .packet_bytes = pkt->payload_bytes,
        .kind = END_OPEN,
    };
}

/* The packet comes right behind the last one of run `run`, whose end is *end. */
static inline void message_append(struct direction *direction, unsigned run, struct message_end *end,
                                  const struct pkt *pkt, const struct opcode_info *info, uint64_t psn)
{
    if (info->flags & OP_FIRST) {
        /* what began before the run was never ended: not a message */
        if (end->kind == END_THROUGH) message_tail_of(direction, run)->kind = TAIL_NONE;
        if (info->flags & OP_LAST) {
            end->kind = END_NONE;
            message_only(direction, pkt, info);
        } else {
            *end = message_begin(pkt, info, psn);
        }
        return;
    }
    if (end->kind == END_NONE) *end = message_begin(pkt, info, psn); /* no First where one is due: begins here */
    if (!(info->flags & OP_LAST)) return;
    if (end->kind == END_OPEN)
        message_count(direction, message_verb(info), message_size(end, psn, pkt->payload_bytes));
    else
        *message_tail_of(direction, run) = (struct message_tail){psn, pkt->payload_bytes, TAIL_ENDED, info->verb & 3u};
    end->kind = END_NONE;
}

/* A run of its own: counts what is complete, says what is not. */
void cap_message_alone(struct direction *direction, const struct pkt *pkt, const struct opcode_info *info, uint64_t psn,
                       struct message_tail *ret_tail, struct message_end *ret_end);
/* Hole `at` has been filled: the runs beside it are one. */
void cap_message_meet(struct direction *direction, unsigned at);
/* The lowest hole will not be filled: what is known around it is counted. */
void cap_message_give_up(struct direction *direction);
/* Nothing more will come: counts what is known around every hole, which all stay. */
void cap_message_finish(struct direction *direction);

#endif
