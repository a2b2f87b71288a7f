/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where descriptors live: one array for the run, handed out by index.
 *
 * An index has one owner at a time: a link, a queue, a machine's hands, the pool.  Nothing here knows who: what is
 * given back twice is noticed when the stack of free indices overflows (a CHECK), or by whoever adds up `taken` and
 * `given`.
 * The arrays of descriptors, cold records, telemetry and bytes are shared by all threads, all but the first there only
 * when a feature asked for them; each thread has a pktpool of its own that holds free indices, so get and put never
 * meet another thread.
 *
 * Bytes are the frame itself, for those who move real frames (frame.h fills and reads them).  A machine that changes a
 * descriptor does not touch them: whoever puts the frame on a line writes the changes into it first.
 */
#ifndef ROCELAB_PACKET_PKTPOOL_H
#define ROCELAB_PACKET_PKTPOOL_H

#include "base/pool.h"
#include "packet/pkt.h"

struct pkt_int;   /* packet/telemetry.h */
struct pkt_frame; /* packet/frame.h */

struct pktpool {
    struct pkt *hot;
    struct pkt_cold *cold;     /* NULL: no feature asked */
    struct pkt_int *telemetry; /* NULL: no feature asked */
    struct pkt_frame *frame;   /* NULL: packets have no bytes; else how many each has, and where its headers are */
    uint8_t *bytes;            /* with `frame`: room for bytes_each of every index */
    uint32_t bytes_each;
    uint32_t *free; /* stack of free indices */
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

/* Makes `to` the same packet as `from`: descriptor, and of cold record, telemetry and bytes what the pool has.  Both
 * indices are the caller's. */
void pktpool_copy(const struct pktpool *pool, pkt_t to, pkt_t from);

#endif
