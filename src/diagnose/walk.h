/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A walk over every cable of the evidence, as ibdiagnet does of InfiniBand: rates, errors, counters of the two ends
 * that disagree, settings that differ, neighbours that are not those of the plan.  Nothing is weighed here and nobody
 * is blamed: rules do that (diagnose.h).  Without I/O.
 */
#ifndef ROCELAB_DIAGNOSE_WALK_H
#define ROCELAB_DIAGNOSE_WALK_H

#include "evidence/evidence.h"

enum walk_kind {
    WALK_DOWN,
    WALK_FLAPS,
    WALK_RATE,
    WALK_ERRORS,
    WALK_PAUSES,
    WALK_LOST,
    WALK_CREDITS,
    WALK_DISCARDS,
    WALK_MTU,
    WALK_PFC,
    WALK_NEIGHBOUR,
    WALK_KINDS
};
extern const char *const walk_kind_names[WALK_KINDS]; /* "rate" */

struct walk_problem {
    uint32_t link; /* EVIDENCE_NONE: of a port without a cable */
    uint8_t kind;  /* enum walk_kind */
    const char *what;
    uint32_t file, line; /* EVIDENCE_NONE, 0: the fabric file, or several */
};
/* A cable; numbers are those of its two ends, 0 where nobody says them. */
struct walk_link {
    uint32_t end[2];                                             /* ports */
    uint64_t rate_bps[2], errors[2], paused_frames[2], bytes[2]; /* errors and pauses received, bytes sent */
    uint64_t waits[2];                                           /* InfiniBand: PortXmitWait */
    int8_t up;                                                   /* 1, 0; -1: not known */
    uint32_t problems;
};
struct walk {
    const struct evidence *evidence;
    struct arena arena;
    struct walk_link *link;
    uint32_t links;
    struct walk_problem *problem; /* by link */
    uint32_t problems;
    bool full; /* memory ran out: the walk is not whole */
};
void walk_run(struct walk *walk, const struct evidence *evidence);
void walk_release(struct walk *walk);

#endif
