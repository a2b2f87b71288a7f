/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An index pool: hands out the indices 0 .. capacity-1, each to one owner at a time.
 *
 * The caller brings the links (one uint32_t an index) and keeps its objects in a parallel array.
 * A freed index is reused first (it is warm in cache); an index never used is taken in order, so
 * memory that was never needed is never touched.  Freeing twice is caught: a live index's link
 * holds POOL_LIVE.
 */
#ifndef ROCELAB_BASE_POOL_H
#define ROCELAB_BASE_POOL_H

#include <stdint.h>

#define POOL_NONE UINT32_MAX
#define POOL_LIVE (UINT32_MAX - 1)

struct pool {
    uint32_t *link;
    uint32_t capacity;
    uint32_t fresh; /* indices below were handed out at least once */
    uint32_t free;  /* head of the free list, or POOL_NONE */
    uint32_t live;  /* owned by somebody now */
};

void pool_init(struct pool *pool, uint32_t *link, uint32_t capacity);
uint32_t pool_get(struct pool *pool); /* POOL_NONE when empty */
void pool_put(struct pool *pool, uint32_t index);

#endif
