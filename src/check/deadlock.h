/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cyclic buffer dependencies: the proof behind TOP001 and TOP002, and what traffic a circle needs.
 */
#ifndef ROCELAB_CHECK_DEADLOCK_H
#define ROCELAB_CHECK_DEADLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct deadlock;
struct fabric;

/* The bound of the proof's work.  A step is a port that is looked at for the routes to an edge, or an edge that is
 * looked at for a failure: some 5 to 50 ns. */
#define DEADLOCK_STEPS_MAX 60000000000ull
#define DEADLOCK_BYTES_MAX ((uint64_t)2 << 30)

struct deadlock_how {
    uint64_t steps; /* 0: DEADLOCK_STEPS_MAX */
    void (*tell)(const char *what, uint64_t done,
                 uint64_t of_all); /* how far it is, again and again; NULL: nobody asks */
};
/* 0 or -E2BIG: the routes alone are more work than the bound, or take more memory than DEADLOCK_BYTES_MAX. */
int deadlock_open(const struct fabric *fabric, const struct deadlock_how *how, struct deadlock **ret);
void deadlock_free(struct deadlock *deadlock);

struct deadlock_failure { /* a link, by one of its ports, or a switch */
    uint32_t port;        /* FABRIC_NONE: the switch */
    uint32_t node;
};

#define DEADLOCK_CYCLE_MAX 64
struct deadlock_cycle {
    uint32_t
        hop[DEADLOCK_CYCLE_MAX]; /* ports that packets leave by, each towards the next; the last waits for the first */
    uint32_t hops;               /* of the whole circle; those beyond the array are not kept */
    uint8_t priority;            /* of the first hop */
};

/* Whether buffers can wait in a circle as routed. */
bool deadlock_circle(const struct deadlock *deadlock, struct deadlock_cycle *ret);
/* The same with these failed: every route is made again and everything searched. */
bool deadlock_search(struct deadlock *deadlock, const struct deadlock_failure *failed, uint32_t count,
                     struct deadlock_cycle *ret);
/* The same answer, from what the failures change alone where there is no circle as routed.  The circle may be another
 * one. */
bool deadlock_after(struct deadlock *deadlock, const struct deadlock_failure *failed, uint32_t count,
                    struct deadlock_cycle *ret);
/* Of deadlock_after(): how often waits had to be followed, and how often everything had to be searched. */
void deadlock_effort(const struct deadlock *deadlock, uint64_t *ret_followed, uint64_t *ret_searched);
/* Steps of all work so far, and whether they have come to the bound. */
uint64_t deadlock_steps(const struct deadlock *deadlock);
bool deadlock_spent(const struct deadlock *deadlock);
/* The nearest two edges between which packets go by these two ports, one after the other, with these failed: the
 * traffic of two hops of a circle.  False: no shortest way does, or there is no memory. */
bool deadlock_pair(struct deadlock *deadlock, const struct deadlock_failure *failed, uint32_t count,
                   const uint32_t hop[2], uint32_t *ret_src, uint32_t *ret_dst);
/* The failures there are: links between switches, then switches. */
uint32_t deadlock_failures(const struct deadlock *deadlock, const struct deadlock_failure **ret);

#endif
