/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings that a plan may have besides: NAKs said again, adaptive retransmission, software that takes its time, faults
 * of one way, Poisson jobs whose senders and receivers are named, RoCEv1.
 *
 * Drawn from a stream of their own, so that the other plans stay what they were.  Each sets what the watch must allow
 * for and no more.
 */
#include <stdio.h>
#include <string.h>

#include "plan.h"

#define MORE_STREAM 80
#define WAY_STREAM 81
#define POISSON_STREAM 82
#define SYSTEM_STREAM 83

void more_nics(struct plan *plan)
{
    struct rng rng;

    rng_init(&rng, plan->seed, MORE_STREAM);
    if (chance(&rng, 20)) {
        const char *repeat = ONE_OF(&rng, "20us", "100us", "500us", "2ms");
        /* A NAK takes a retry: said again within a round trip it may take all of them. */
        plan->eager = strcmp(repeat, "500us") != 0 && strcmp(repeat, "2ms") != 0;
        say(plan, ", nak-repeat: %s", repeat);
    }
    if (chance(&rng, 20)) {
        const char *start = ONE_OF(&rng, "20us", "60us", "200us", "1ms");
        unsigned each = (unsigned)pick(&rng, 1, 4);
        plan->early = true;
        if (chance(&rng, 25))
            say(plan, ", adaptive-retransmission: true");
        else
            say(plan, ", adaptive-retransmission: {start: %s, each: %u}", start, each);
    }
    if (chance(&rng, 20)) {
        unsigned post = chance(&rng, 30) ? 0 : (unsigned)pick(&rng, 1, 3000);
        unsigned poll = chance(&rng, 30) ? 0 : (unsigned)pick(&rng, 1, 3000);
        say(plan, ", software: {post: %uns, poll: %uns}", post, poll);
    }
}

/* On a bad day routes may make a loop, which frames without a hop limit never leave. */
void more_system(struct plan *plan)
{
    struct rng rng;

    rng_init(&rng, plan->seed, SYSTEM_STREAM);
    plan->v1 = chance(&rng, 12) && !plan->bare && !plan->bad_day;
    if (plan->v1) say(plan, "system: rocev1\n");
}

const char *more_way(uint64_t seed)
{
    struct rng rng;

    rng_init(&rng, seed, WAY_STREAM);
    return ONE_OF(&rng, "", "", ", way: in", ", way: out", ", way: both");
}

/* Hosts from `first` up to `end`. */
static void name_hosts(struct plan *plan, const char *key, unsigned first, unsigned end)
{
    say(plan, ", %s: [", key);
    for (unsigned i = first; i < end; i++)
        say(plan, "%sh%u", i > first ? ", " : "", i);
    say(plan, "]");
}

void more_poisson(struct plan *plan)
{
    struct rng rng;

    rng_init(&rng, plan->seed, POISSON_STREAM);
    if (!chance(&rng, 50)) return;
    unsigned part = (unsigned)pick(&rng, 1, plan->hosts - 1);
    switch (rng_below(&rng, 4)) {
    case 0:
        name_hosts(plan, "from", 0, part);
        break;
    case 1: /* two at least: who sends does not send to itself */
        name_hosts(plan, "to", plan->hosts - (part > 1 ? part : 2), plan->hosts);
        break;
    default:
        name_hosts(plan, "from", 0, part);
        name_hosts(plan, "to", part, plan->hosts);
    }
}
