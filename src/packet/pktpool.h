/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where descriptors live: one array for the run, handed out by index.
 *
 * An index has one owner at a time: a link, a queue, a machine's hands, the pool.  Nothing here knows who: what is
 * given back twice is noticed when the stack of free indices overflows (a CHECK), or by whoever adds up `taken` and
 * `given`.
 * The arrays of descriptors, cold records and telemetry are shared by all threads, the last two there only when a
 * feature asked for them; each thread has a pktpool of its own that holds free indices, so get and put never meet
 * another thread.
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
