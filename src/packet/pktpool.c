/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Giving a packet back, and copying one; see pktpool.h.  Out of line because of its CHECKs: the free stack of a
 * thread is as large as the whole array, so it overflows only when an index was given back twice.
 */
#include "packet/pktpool.h"

#include <string.h>

#include "base/check.h"
#include "packet/frame.h"
#include "packet/telemetry.h"

void pktpool_put(struct pktpool *pool, pkt_t id)
{
    CHECK(id != PKT_NONE);
    CHECK(pool->free_count < pool->free_capacity);
    pool->given++;
    pool->free[pool->free_count++] = id;
}

void pktpool_copy(const struct pktpool *pool, pkt_t to, pkt_t from)
{
    CHECK(to != PKT_NONE && from != PKT_NONE);
    if (to == from) return;
    pool->hot[to] = pool->hot[from];
    if (pool->cold) pool->cold[to] = pool->cold[from];
    if (pool->telemetry) pool->telemetry[to] = pool->telemetry[from];
    if (pool->frame == NULL) return;
    CHECK(pool->frame[from].bytes <= pool->bytes_each);
    pool->frame[to] = pool->frame[from];
    memcpy(frame_data(pool, to), frame_data(pool, from), pool->frame[from].bytes);
}
