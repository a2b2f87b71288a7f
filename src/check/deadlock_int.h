/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the deadlock proof, shared by the search (deadlock.c) and by what avoids it (failures.c).
 */
#ifndef ROCELAB_CHECK_DEADLOCK_INT_H
#define ROCELAB_CHECK_DEADLOCK_INT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "check/deadlock.h"

#define DEADLOCK_FAR UINT16_MAX

struct deadlock {
    const struct fabric *fabric;
    struct arena arena;
    uint32_t switches, places, ports; /* ports of switches; number 0 is the first switch's first */
    uint32_t *neighbour;              /* [port] a switch, FABRIC_NONE */
    uint32_t *peer;                   /* [port] the other end, among switch ports */
    uint32_t *first;                  /* [switches + 1] */
    uint8_t *mask;                    /* [port] bit p: what comes in here of priority p can be paused */
    struct deadlock_failure *failure;
    uint32_t failures;

    uint8_t level_prio[FABRIC_PRIOS]; /* a level is a lossless priority; packets go up a level where they bounce */
    uint32_t levels;                  /* without such switches there is one, which stands for every priority */
    bool raises;
    uint8_t injected; /* bit l: hosts send in level l */

    /* Without failures, by [switch][place]: */
    uint16_t *distance, *ways; /* ways: links that are next hops */
    uint8_t *used;             /* packets for the place come through */
    bool bounced;              /* some route goes down and up again */

    /* Of the state in work: */
    uint8_t *down;   /* [port] */
    uint8_t *dead;   /* [switch] */
    uint16_t *far;   /* [switch] distance to the place in work */
    uint32_t *queue; /* [switch] in order of distance */
    uint32_t queued;
    uint8_t *carried; /* [port] bits of levels that come in here */
    uint64_t *turn;   /* [level][row] bits of ports that what came in here leaves by */
    uint32_t *row;    /* [ports + 1] words */
    uint64_t *out;    /* [words] of the switch in work */
    uint8_t *colour;  /* [level][port] */
    uint32_t *stack;  /* [level * ports] */
    uint32_t *cursor;

    /* failures.c */
    uint16_t *lost;    /* [switch] next hops lost */
    uint8_t *affected; /* [switch] */
    uint16_t *anew;    /* [switch] distance of those affected */
    uint32_t *list;    /* of switches affected */
    uint8_t *reached;  /* [switch] in use anew */
    uint32_t *touched;
};

/* Routes to one place, without what is down: far[], queue[] and, by levels, carried[].  Marks turns where asked. */
void deadlock_route(struct deadlock *deadlock, uint32_t place, bool turns);
/* A hop from switch a to switch b goes up: to a later one, since roles are in order. */
static inline bool deadlock_up(uint32_t a, uint32_t b)
{
    return b > a;
}
void deadlock_fail(struct deadlock *deadlock, const struct deadlock_failure *failed, uint32_t count, uint8_t value);

#endif
