/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine's own state; for the files that make up the engine and for the visit template.
 */
#ifndef ROCELAB_ENGINE_ENGINE_INT_H
#define ROCELAB_ENGINE_ENGINE_INT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/engine.h"
#include "engine/pages.h"

/* What workers draw on when their own store is empty, and give back to when it is too full. */
struct reserve {
    pthread_mutex_t lock;
    struct link_block *blocks; /* free, linked by next */
    uint64_t block_count;
    uint32_t *packet; /* stack of free indices */
    uint32_t packets;
    uint32_t packet_fresh; /* indices below were handed out at least once */
    uint32_t packets_max;
    uint8_t *chunk; /* memory new blocks are cut from */
    size_t chunk_left;
    struct chunk_header *chunks;
    size_t memory_bytes;
};

int reserve_init(struct reserve *reserve, uint32_t packets_max);
void reserve_release(struct reserve *reserve);
/* Sees to it that the worker can take `least` packets; CHECKs that the reserve has them. */
void reserve_packets(struct reserve *reserve, struct pktpool *pool, uint32_t least);
/* Takes what the worker holds beyond `most`. */
void reserve_give_back(struct reserve *reserve, struct pktpool *pool, uint32_t most);

/* Sorts by key, all of them in [low, high); `other` has room for as many.  Answers where the sorted list is, one of
 * the two. */
struct event *events_sort(struct event *list, struct event *other, uint32_t count, uint64_t low, uint64_t high);

/* line.c: packets in replay buffers. */
uint64_t node_line_packets(const struct node *node);

/* Lines of their own, two each: processors fetch them in pairs, and who waits must not slow down who works. */
#define APART 128
struct barrier {
    _Alignas(APART) uint32_t waiting; /* atomic */
    _Alignas(APART) uint32_t turn;    /* atomic: changes when all have come */
    uint32_t sleepers;                /* atomic: in the kernel, or about to be */
    _Alignas(APART) uint32_t threads;
    uint32_t spins;
};

struct engine {
    struct line_model model;
    struct node *node;  /* by index */
    ps_t *next;         /* [index] earliest event of the node; its tile's worker writes it */
    ps_t *far_next[2];  /* [index] earliest arrival from other tiles, by parity of the window that sent it; atomic */
    uint32_t *index_of; /* [id] */
    uint32_t *boundary;
    struct tile *tile;
    uint32_t *shared_out; /* [tiles] tiles by worker */
    uint32_t nodes, tiles, threads, links;
    struct worker *worker;
    _Alignas(APART) struct reserve reserve;
    _Alignas(APART) struct pkt *hot;
    struct pkt_cold *cold;
    struct pkt_int *telemetry;
    struct pkt_frame *frame;
    uint8_t *bytes;
    uint32_t packets_max, burst;

    ps_t window; /* great */
    ps_t small_window;
    uint64_t windows; /* run so far; the parity of the current one is windows & 1 */
    ps_t start, end;  /* of the current window */
    ps_t now;         /* everything before has been run */

    /* between windows, by one thread alone */
    bool going; /* a run is under way */
    uint64_t budget;
    ps_t until;
    coordinate_fn coordinate;
    void *context;
    enum engine_state state;
    ps_t wake_min; /* earliest engine_wake() since the last window */

    pthread_t *thread;
    struct barrier barrier;
    bool ending; /* worker 0 wants the threads to end ... */
    bool quit;   /* ... and they may; written when all have met */
    uint32_t started;

    void *memory[16];
    size_t memory_bytes[16];
    uint32_t memories;
};

#endif
