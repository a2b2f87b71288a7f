/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The 4-ary heap of (time, id).  Four children of 16 bytes are one cache line, and the tree is half as
 * deep as a binary one.  The order is total over (time, id), so what leaves does not depend on the
 * order in which things came: that is what makes a run repeatable.
 *
 * There is no removal from the middle: timers re-arm lazily, a deadline that fires early is pushed again.
 */
#include "base/heap.h"

#include <stddef.h>

#include "base/check.h"

#define ARITY 4

static bool before(struct heap_item a, struct heap_item b)
{
    return a.at < b.at || (a.at == b.at && a.id < b.id);
}

void heap_init(struct heap *heap, struct heap_item *item, uint32_t capacity)
{
    CHECK(item != NULL || capacity == 0);
    CHECK(capacity <= UINT32_MAX / ARITY); /* a child's index does not wrap */
    *heap = (struct heap){.item = item, .capacity = capacity};
}

bool heap_push(struct heap *heap, ps_t at, uint64_t id)
{
    struct heap_item item = {at, id};
    uint32_t hole = heap->count;

    if (hole == heap->capacity) return false;
    heap->count++;
    while (hole > 0) {
        uint32_t parent = (hole - 1) / ARITY;
        if (!before(item, heap->item[parent])) break;
        heap->item[hole] = heap->item[parent];
        hole = parent;
    }
    heap->item[hole] = item;
    return true;
}

bool heap_pop(struct heap *heap, struct heap_item *ret)
{
    uint32_t hole = 0;

    if (heap->count == 0) return false;
    *ret = heap->item[0];
    struct heap_item last = heap->item[--heap->count];
    if (heap->count == 0) return true;
    for (;;) {
        uint32_t child = hole * ARITY + 1;
        uint32_t end = child + ARITY < heap->count ? child + ARITY : heap->count;
        if (child >= end) break;
        uint32_t least = child;
        while (++child < end)
            if (before(heap->item[child], heap->item[least])) least = child;
        if (!before(heap->item[least], last)) break;
        heap->item[hole] = heap->item[least];
        hole = least;
    }
    heap->item[hole] = last;
    return true;
}
