/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files that write plans share.  Two draws never stand in one call or expression: their order would be the
 * compiler's, and a seed another plan with each.
 */
#ifndef ROCELAB_TESTS_SWARM_PLAN_H
#define ROCELAB_TESTS_SWARM_PLAN_H

#include "swarm.h"

__attribute__((format(printf, 2, 3))) void say(struct plan *plan, const char *format, ...);
uint64_t pick(struct rng *rng, uint64_t low, uint64_t high); /* both included */
bool chance(struct rng *rng, uint32_t percent);
const char *one_of(struct rng *rng, const char *const *list, uint32_t count);
#define ONE_OF(rng, ...)                                                                                               \
    one_of(rng, (const char *const[]){__VA_ARGS__}, sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *))

/* plan_bad.c: chooses what goes wrong on a bad day, sets what follows from it, and keeps the words for later */
struct bad_day {
    char faults[1024];  /* lines of the list `faults` */
    char devices[512];  /* what stands under `devices`; "": nothing */
    char converge[128]; /* the line; "": none */
    char switches[128]; /* more of `switches`; "": nothing */
};
void bad_day_draw(struct plan *plan, struct bad_day *day);

/* plan_more.c: each says its words, or nothing */
void more_nics(struct plan *plan);
void more_poisson(struct plan *plan);
void more_system(struct plan *plan); /* after the bad day is drawn, before classes */
const char *more_way(uint64_t seed); /* of a fault that loses packets; "": both, unsaid */

#endif
