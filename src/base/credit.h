/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credits of a line: how much the other end has promised to take (InfiniBand volume 1, 7.9; CBFC counts alike).
 *
 * One line and virtual lane (VL) has two halves.  The sender counts the blocks it has sent (FCTBS) and knows up to
 * which count it may (FCCL); it sends a packet only when all blocks of it fit below.  The receiver tells FCCL: the
 * blocks that have arrived (ABR) and those free in its buffer.  All counts are absolute and wrap: an FCCL is assigned,
 * not added, so one that is lost does no harm once the next is there.
 *
 * The receiver keeps FCCL itself: freeing a block raises it by one, for arrived minus held is what has left.  It tells
 * when an eighth of the buffer is free that the sender does not know of, unless the sender knows of so much (`calm`)
 * that a later word is in time; when the sender has less than a packet left and would have more; and from a timer of
 * whoever uses it (CREDIT_PERIOD) when anything is untold.
 *
 * A packet lost on the line was counted by its sender alone.  From the same timer the sender says FCTBS when it has
 * changed; what was sent before that word and has not arrived is lost, and its blocks are given back.  A word may
 * overtake packets that are still in the receiver's forwarding pipeline, so it counts `skew` later: the first arrival
 * after that moment, or the timer, sees to it.
 *
 * Integers only; the counts are 32 bits wide here and CREDIT_BITS in a word.  Timers, words and buffers are the
 * owner's.
 */
#ifndef ROCELAB_BASE_CREDIT_H
#define ROCELAB_BASE_CREDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"

#define CREDIT_BITS 26
#define CREDIT_MASK ((1u << CREDIT_BITS) - 1)
#define CREDIT_BLOCKS_MAX (1u << (CREDIT_BITS - 2)) /* a promise: counts stay comparable */
#define CREDIT_VLS 16
#define CREDIT_BLOCK_BYTES 64u
#define CREDIT_PERIOD (4096 * PS_NS)
#define CREDIT_SHARE 8u /* of the buffer, free and untold: worth a word */

struct credit_tx {        /* the sender's half */
    uint32_t limit, sent; /* FCCL, FCTBS */
    uint32_t said;        /* FCTBS as the receiver has heard it */
    uint32_t spare;
};

struct credit_rx {        /* the receiver's half */
    uint32_t limit, told; /* FCCL as it is, and as the sender knows it */
    uint32_t arrived;     /* ABR */
    uint32_t size;        /* blocks of the buffer */
    ps_t heard_at;        /* when `heard` counts; PS_NEVER: it has */
    uint32_t heard;       /* FCTBS */
    uint32_t calm;        /* blocks that the sender may know of: with more a word can wait; 0: none can */
};

/* A word that either half sends: what it counts, of which lane. */
enum credit_kind { CREDIT_LIMIT, CREDIT_SENT };
#define CREDIT_WORD (1u << 31)
static inline uint32_t credit_word(enum credit_kind kind, uint32_t vl, uint32_t count)
{
    return CREDIT_WORD | (uint32_t)kind << 30 | vl << CREDIT_BITS | (count & CREDIT_MASK);
}
static inline enum credit_kind credit_word_kind(uint32_t word)
{
    return (enum credit_kind)(word >> 30 & 1);
}
static inline uint32_t credit_word_vl(uint32_t word)
{
    return word >> CREDIT_BITS & (CREDIT_VLS - 1);
}

/* The count of a word, as wide as `near`, from which it is less than half the range away. */
static inline uint32_t credit_wide(uint32_t word, uint32_t near)
{
    return near + (uint32_t)((int32_t)((word - near) << (32 - CREDIT_BITS)) >> (32 - CREDIT_BITS));
}

static inline uint32_t credit_blocks(uint32_t bytes)
{
    return (bytes + CREDIT_BLOCK_BYTES - 1) / CREDIT_BLOCK_BYTES;
}

/* Of blocks that are 2^extra times as large. */
static inline uint32_t credit_blocks_of(uint32_t bytes, uint32_t extra)
{
    return (bytes + (CREDIT_BLOCK_BYTES << extra) - 1) >> (6 + extra);
}

/* Blocks that may be sent; below 0 after the receiver took some back (its line was reset). */
static inline int32_t credit_left(const struct credit_tx *tx)
{
    return (int32_t)(tx->limit - tx->sent);
}

static inline bool credit_dry(const struct credit_tx *tx, uint32_t packet_blocks)
{
    return credit_left(tx) < (int32_t)packet_blocks;
}

static inline void credit_sent(struct credit_tx *tx, uint32_t blocks)
{
    tx->sent += blocks;
}

static inline void credit_limit(struct credit_tx *tx, uint32_t word)
{
    tx->limit = credit_wide(word, tx->limit);
}

/* Whether the receiver is to hear FCTBS. */
static inline bool credit_says(const struct credit_tx *tx)
{
    return tx->sent != tx->said;
}

static inline uint32_t credit_say(struct credit_tx *tx)
{
    tx->said = tx->sent;
    return tx->said;
}

/* All that was sent before FCTBS is here or lost: ABR is FCTBS. */
static inline void credit_repair(struct credit_rx *rx)
{
    uint32_t lost = rx->heard - rx->arrived;

    rx->arrived += lost;
    rx->limit += lost;
    rx->heard_at = PS_NEVER;
}

static inline void credit_arrived(struct credit_rx *rx, uint32_t blocks, ps_t now)
{
    if (__builtin_expect(now > rx->heard_at, 0)) credit_repair(rx);
    rx->arrived += blocks;
}

static inline void credit_freed(struct credit_rx *rx, uint32_t blocks)
{
    rx->limit += blocks;
}

static inline uint32_t credit_held(const struct credit_rx *rx)
{
    return rx->size - (rx->limit - rx->arrived);
}

static inline bool credit_untold(const struct credit_rx *rx)
{
    return rx->limit != rx->told;
}

/* After blocks were freed: is it worth a word now?  `packet_blocks`: of the largest packet. */
static inline bool credit_tells(const struct credit_rx *rx, uint32_t packet_blocks)
{
    int32_t untold = (int32_t)(rx->limit - rx->told);
    int32_t known = (int32_t)(rx->told - rx->arrived), free = (int32_t)(rx->limit - rx->arrived);

    if (untold >= (int32_t)(rx->size / CREDIT_SHARE)) return untold > 0 && (!rx->calm || known <= (int32_t)rx->calm);
    return known < (int32_t)packet_blocks && free >= (int32_t)packet_blocks;
}

static inline uint32_t credit_tell(struct credit_rx *rx)
{
    rx->told = rx->limit;
    return rx->told;
}

/* FCTBS was heard. */
static inline void credit_heard(struct credit_rx *rx, uint32_t word, ps_t skew, ps_t now)
{
    rx->heard = credit_wide(word, rx->arrived);
    rx->heard_at = ps_add(now, skew);
}

/* A line that is up: `promised` is what the sender knows of (0: it waits to be told); `held` blocks are in the buffer
 * from before, and will be freed. */
static inline void credit_tx_reset(struct credit_tx *tx, uint32_t promised)
{
    *tx = (struct credit_tx){.limit = promised};
}

static inline void credit_rx_reset(struct credit_rx *rx, uint32_t size, uint32_t held, uint32_t told)
{
    *rx = (struct credit_rx){.limit = size - held, .told = told, .size = size, .heard_at = PS_NEVER, .calm = rx->calm};
}

#endif
