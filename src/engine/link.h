/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A link: what travels from one port to the port at its other end, in order of arrival.
 *
 * Two FIFOs, because the two kinds of traffic take different paths through the receiver: frames
 * arrive after propagation and the receiver's forwarding latency, control frames (pauses) after propagation and
 * its reaction time.  Each alone is monotonic, together they are not.
 *
 * A FIFO is a chain of blocks.  A block comes from the worker that writes and goes to the worker that
 * reads it empty, so memory follows what is in flight, nothing has to be sized in advance and nothing
 * can be lost; blocks are reused last in, first out, and stay in cache.
 *
 * Who touches what: the sending node's worker writes the entries and `write` (release), and `read` once, before the
 * first entry; the receiving node's worker writes `read`, and looks at it and at entries only after `write` (acquire).
 * In one window both may be at work on one link: what is pushed in a window arrives after its end,
 * so the reader, which stops at the end, gives the same answer whether it sees the new entry or not.
 */
#ifndef ROCELAB_ENGINE_LINK_H
#define ROCELAB_ENGINE_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/time.h"

struct link_entry {
    ps_t at;
    uint32_t what; /* data: the packet; control: the word */
    uint32_t spare;
};

#define LINK_BLOCK_BYTES 512u
#define LINK_BLOCK_ENTRIES 31
struct link_block { /* aligned to its size: a pointer to an entry tells where its block begins and ends */
    struct link_block *next;
    uint64_t spare;
    struct link_entry entry[LINK_BLOCK_ENTRIES];
};
_Static_assert(sizeof(struct link_block) == LINK_BLOCK_BYTES, "a block is eight cache lines");

/* At the end of a block either pointer stays there until there is a next entry; equal pointers: empty. */
struct fifo {
    struct link_entry *write; /* NULL: nothing was ever written */
    struct link_entry *read;
};

struct link {
    _Alignas(64) struct fifo data;
    struct fifo control;
};
_Static_assert(sizeof(struct link) == 64, "a link is one cache line, which no other link's sender writes");

/* Free blocks of one worker. */
struct link_store {
    struct link_block *free;
    uint32_t count;
    struct reserve *reserve; /* shared by all workers, under its lock */
};

struct link_block *link_block_get(struct link_store *store);
void link_block_put(struct link_store *store, struct link_block *block);

/* The first entry of a new block, for a FIFO whose last one is full. */
struct link_entry *fifo_extend(struct fifo *fifo, struct link_store *store);
/* The first entry of the next block, for a reader that is through with one. */
struct link_entry *fifo_next_block(struct link_entry *end, struct link_store *store);
/* Entries not read yet; when nobody writes. */
uint64_t fifo_count(const struct fifo *fifo);

static inline bool link_block_end(const struct link_entry *entry)
{
    return ((uintptr_t)entry & (LINK_BLOCK_BYTES - 1)) == 0;
}

static inline __attribute__((always_inline)) void fifo_push(struct fifo *fifo, struct link_store *store, ps_t at,
                                                            uint32_t what)
{
    struct link_entry *entry = fifo->write;

    if (__builtin_expect(link_block_end(entry), 0)) entry = fifo_extend(fifo, store);
    entry->at = at;
    entry->what = what;
    __atomic_store_n(&fifo->write, entry + 1, __ATOMIC_RELEASE);
}

/* Up to where the reader may look; NULL: nowhere. */
static inline struct link_entry *fifo_written(const struct fifo *fifo)
{
    return __atomic_load_n(&fifo->write, __ATOMIC_ACQUIRE);
}

#endif
