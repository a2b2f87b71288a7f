/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Giving a packet back; see pktpool.h.  Out of line because of its CHECKs: the free stack of a
 * thread is as large as the whole array, so it overflows only when an index was given back twice.
 */
#include "packet/pktpool.h"

#include "base/check.h"

void pktpool_put(struct pktpool *pool, pkt_t id)
{
    CHECK(id != PKT_NONE);
    CHECK(pool->free_count < pool->free_capacity);
    pool->given++;
    pool->free[pool->free_count++] = id;
}
