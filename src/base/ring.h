/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bounded FIFO of 32-bit values (packet indices), one thread.  The caller brings the slots; the
 * capacity is a power of two.  Head and tail run freely and are masked on use, so a full ring
 * uses every slot.
 */
#ifndef ROCELAB_BASE_RING_H
#define ROCELAB_BASE_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/check.h"

struct ring {
    uint32_t *slot;
    uint32_t mask;
    uint32_t head; /* next to leave */
    uint32_t tail; /* next free */
};

static inline void ring_init(struct ring *ring, uint32_t *slot, uint32_t capacity)
{
    CHECK(capacity > 0 && (capacity & (capacity - 1)) == 0);
    *ring = (struct ring){.slot = slot, .mask = capacity - 1};
}

static inline uint32_t ring_count(const struct ring *ring)
{
    return ring->tail - ring->head;
}

/* False when full; nothing changes then. */
static inline bool ring_push(struct ring *ring, uint32_t value)
{
    if (ring_count(ring) > ring->mask) return false;
    ring->slot[ring->tail++ & ring->mask] = value;
    return true;
}

/* False when empty; *ret is untouched then. */
static inline bool ring_pop(struct ring *ring, uint32_t *ret)
{
    if (ring->head == ring->tail) return false;
    *ret = ring->slot[ring->head++ & ring->mask];
    return true;
}

#endif
