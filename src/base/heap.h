/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small 4-ary heap of deadlines.  For a node's own few timers, not for the events of a fabric
 * (those travel in link FIFOs).  Equal times leave in order of id: the order is part of the
 * result's digest.  The caller brings the slots.
 */
#ifndef ROCELAB_BASE_HEAP_H
#define ROCELAB_BASE_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"

struct heap_item {
    ps_t at;
    uint64_t id;
};

struct heap {
    struct heap_item *item;
    uint32_t count;
    uint32_t capacity;
};

void heap_init(struct heap *heap, struct heap_item *item, uint32_t capacity);
bool heap_push(struct heap *heap, ps_t at, uint64_t id); /* false when full */
bool heap_pop(struct heap *heap, struct heap_item *ret); /* false when empty */
static inline ps_t heap_next(const struct heap *heap)
{
    return heap->count ? heap->item[0].at : PS_NEVER;
}

#endif
