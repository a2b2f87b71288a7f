/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where descriptors live: one array for the run, handed out by index.
 *
 * An index has one owner at a time (a link, a queue, a machine's hands, the pool); pktpool_put()
 * CHECKs it.  The hot array is shared by all threads; each thread has a pktpool of its own that
 * holds free indices, so get and put never meet another thread.  The cold array is there only
 * when a feature asked for it.
 */
#ifndef ROCELAB_PACKET_PKTPOOL_H
#define ROCELAB_PACKET_PKTPOOL_H

#include "base/pool.h"
#include "packet/pkt.h"

struct pkt_int; /* packet/telemetry.h */

struct pktpool {
    struct pkt *hot;
    struct pkt_cold *cold;     /* NULL: no feature asked */
    struct pkt_int *telemetry; /* NULL: no feature asked */
    uint32_t *free;            /* stack of free indices */
    uint32_t free_count;
    uint32_t free_capacity;
    uint64_t taken, given; /* ever; taken - given over all pools = packets alive */
};

/* PKT_NONE when this thread's stack is empty (the engine refills between windows). */
static inline pkt_t pktpool_get(struct pktpool *pool)
{
    if (pool->free_count == 0) return PKT_NONE;
    pool->taken++;
    return pool->free[--pool->free_count];
}

void pktpool_put(struct pktpool *pool, pkt_t id);

#endif
