/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The index pool: a free list threaded through the caller's links, and a mark for what was never used.
 *
 * Nothing is written to `link` at init: a pool for a million packets costs nothing until they exist.
 * That an index has one owner is the rule the packet books rest on, so giving back what is not out
 * is a CHECK, not a return code.
 */
#include "base/pool.h"

#include <stddef.h>

#include "base/check.h"

void pool_init(struct pool *pool, uint32_t *link, uint32_t capacity)
{
    CHECK(capacity <= POOL_LIVE); /* the two largest values are not indices */
    CHECK(link != NULL || capacity == 0);
    *pool = (struct pool){.link = link, .capacity = capacity, .free = POOL_NONE};
}

uint32_t pool_get(struct pool *pool)
{
    uint32_t index = pool->free;

    if (index != POOL_NONE) {
        pool->free = pool->link[index];
    } else {
        if (pool->fresh == pool->capacity) return POOL_NONE;
        index = pool->fresh++;
    }
    pool->link[index] = POOL_LIVE;
    pool->live++;
    return index;
}

void pool_put(struct pool *pool, uint32_t index)
{
    CHECK(index < pool->fresh);
    CHECK(pool->link[index] == POOL_LIVE);
    CHECK(pool->live > 0);
    pool->link[index] = pool->free;
    pool->free = index;
    pool->live--;
}
