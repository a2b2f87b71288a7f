/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the deadlock proof, shared by the search (deadlock.c) and by what failures change (affected.c).
 */
#ifndef ROCELAB_CHECK_DEADLOCK_INT_H
#define ROCELAB_CHECK_DEADLOCK_INT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "check/deadlock.h"
#include "fabric/fabric.h"

#define DEADLOCK_FAR UINT16_MAX

struct deadlock {
    const struct fabric *fabric;
    struct deadlock_how how;
    uint64_t steps;
    bool too_big;
    struct arena arena;
    uint32_t switches, edges, ports; /* ports of switches; number 0 is the first switch's first */
    uint32_t *neighbour;             /* [port] a switch, FABRIC_NONE */
    uint32_t *peer;                  /* [port] the other end, among switch ports */
    uint32_t *first;                 /* [switches + 1] */
    uint8_t *mask;                   /* [port] bit p: what comes in here of priority p can be paused */
    struct deadlock_failure *failure;
    uint32_t failures;

    uint8_t level_prio[FABRIC_PRIOS]; /* a level is a lossless priority; packets go up a level where they bounce */
    uint32_t levels;                  /* without such switches there is one, which stands for every priority */
    bool raises;
    uint8_t injected; /* bit l: hosts send in level l */

    uint8_t *talks; /* [switch] hosts there send and receive RDMA */

    /* As routed, by deadlock_at(): a row for each set of edges that are twins (needed.c) */
    uint32_t *twin, *next_twin; /* [edge] the first of its set; the next of it, FABRIC_NONE */
    uint32_t *row_of, rows;     /* [edge] */
    uint16_t *distance, *ways;  /* ways: links that are next hops */
    uint8_t *used;              /* packets for the edge come through */
    /* As routed: waits, and an order of the buffers for each set of priorities that are paused alike. */
    uint64_t *base;                 /* as turn */
    uint32_t sets;                  /* with levels one, which stands for all of them */
    uint8_t set_prio[FABRIC_PRIOS]; /* one priority of each */
    uint32_t
        *order[FABRIC_PRIOS]; /* [set][level * ports + port]: who waits has a higher number than whom it waits for */
    bool circle;
    struct deadlock_cycle found; /* where there is one */

    /* Of the state in work: */
    uint8_t *down;   /* [port] */
    uint8_t *dead;   /* [switch] */
    uint16_t *far;   /* [switch] distance to the edge in work */
    uint32_t *queue; /* [switch] in order of distance */
    uint32_t queued;
    uint8_t *carried; /* [port] bits of levels that come in here */
    uint64_t *turn;   /* [level][row] bits of ports that what came in here leaves by */
    uint32_t *row;    /* [ports + 1] words */
    uint64_t *out;    /* [words] of the switch in work */
    uint8_t *colour;  /* [level * ports + port] */
    uint32_t *stack;  /* [level * ports] */
    uint32_t *cursor;

    /* needed.c */
    uint8_t *needed, *needed_switch; /* [port], [switch] without it a switch with hosts loses its last way to an edge */
    uint32_t *over, *deep;           /* [switch] the next switch that all its ways go over, and how many there are */

    /* affected.c */
    uint16_t *lost;    /* [switch] next hops lost */
    uint8_t *affected; /* [switch] */
    uint16_t *anew;    /* [switch] distance of those affected */
    uint32_t *list;    /* of switches affected */
    uint32_t *touched;
    uint64_t *fresh; /* as turn: waits that were not there as routed */
    uint32_t *fresh_word,
        *fresh_from; /* words of fresh[] that are not zero, and whose they are: level * ports + port */
    uint32_t freshes;
    uint32_t *seen;    /* [level * ports + port] */
    uint32_t stamp;    /* what seen[] holds for the edge in work */
    uint32_t *visited; /* whose colour is set */
    uint32_t *ring;    /* a circle */
    uint8_t *proven;   /* [hop of ring] */
    uint32_t *source;  /* [switch] as seen[]: what stamp it was asked at */
    uint64_t followed, searched;
};

/* Where what is kept of ways from s to the edge is: with the edge and the first of its twins changed for each other. */
static inline size_t deadlock_at(const struct deadlock *deadlock, uint32_t s, uint32_t edge)
{
    uint32_t to = deadlock->fabric->edge_switch[edge];
    uint32_t first = deadlock->fabric->edge_switch[deadlock->twin[edge]];

    if (s == to)
        s = first;
    else if (s == first)
        s = to;
    return (size_t)s * deadlock->rows + deadlock->row_of[edge];
}

/* A search among buffers of a set of priorities, over two sets of waits. */
struct deadlock_graph {
    const uint64_t *turn, *more; /* more NULL: one set */
    uint8_t prio;
    uint32_t *order;       /* filled where not NULL */
    uint32_t finished;     /* numbers given */
    const uint32_t *bound; /* where not NULL: nodes below `least` in this order are not entered */
    uint32_t least;
    uint32_t visited; /* in d->visited, with a bound */
};

/* Routes to one edge, without what is down: far[], queue[] and, by levels, carried[].  Marks turns where asked. */
void deadlock_route(struct deadlock *deadlock, uint32_t edge, uint64_t *turn);
/* A hop from switch a to switch b goes up: to a later one, since roles are in order. */
static inline bool deadlock_up(uint32_t a, uint32_t b)
{
    return b > a;
}
/* Sets of twins, after neighbours and who talks are known.  False: there is no memory. */
void deadlock_find_twins(struct deadlock *deadlock);
/* The routes as they are, the waits they make, and which single failures matter. */
void deadlock_keep_routes(struct deadlock *deadlock);
/* False: after this failure alone there are no waits that were not there before. */
bool deadlock_matters(const struct deadlock *deadlock, const struct deadlock_failure *failed);
/* The level in which what came into s by port `in`, in this level, leaves by port `out`. */
uint32_t deadlock_level(const struct deadlock *deadlock, uint32_t in, uint32_t out, uint32_t level);
void deadlock_fail(struct deadlock *deadlock, const struct deadlock_failure *failed, uint32_t count, uint8_t value);
/* Depth first from one buffer.  0: no circle; else the hops of one, which are in stack[] from `*ret_from` on. */
uint32_t deadlock_follow(struct deadlock *deadlock, struct deadlock_graph *graph, uint32_t root, uint32_t *ret_from);
void deadlock_keep(const struct deadlock *deadlock, const uint32_t *node, uint32_t hops, uint8_t prio,
                   struct deadlock_cycle *ret);

#endif
