/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Balls in bins: what a hash that is as good as random does to flows on equal links.
 *
 * Monte Carlo with a fixed seed, so that the answer is a number and not a range.  All links are alike and each flow
 * would fill one alone, so shares of capacity follow from the counts: at the pace of the slowest every flow has what
 * those on the fullest link have; with max-min shares every link that has a flow is full.
 */
#include <math.h>
#include <stdlib.h>

#include "base/rng.h"
#include "sim/link_loads.h"
#include "study/experiments.h"

#define SEED 18
#define LINKS_MAX 65536
#define DRAWS_MAX 10000000000u /* some minutes */

struct placed { /* means over the trials */
    double max_mean, mean_max, used;
};

bool ecmp_can(const uint64_t *count)
{
    /* A trial also looks at each link, so links count as draws. */
    uint64_t links = count[1], flows = count[0], trials = count[2];

    return links <= LINKS_MAX && flows <= DRAWS_MAX && (flows + links) <= DRAWS_MAX / trials;
}

static struct placed place(uint64_t flows, uint64_t links, uint64_t trials)
{
    uint32_t *on = calloc(links, sizeof(*on));
    struct placed total = {0};
    struct rng rng;

    rng_init(&rng, SEED, links);
    for (uint64_t t = 0; t < trials; t++) {
        struct link_loads loads = {0};
        uint32_t used = 0;
        for (uint64_t i = 0; i < links; i++)
            on[i] = 0;
        for (uint64_t i = 0; i < flows; i++)
            on[rng_below(&rng, links)]++;
        for (uint64_t i = 0; i < links; i++) {
            link_loads_add(&loads, on[i]);
            used += on[i] > 0;
        }
        total.max_mean += link_loads_max_mean(&loads);
        total.mean_max += link_loads_mean(&loads) / loads.most;
        total.used += (double)used / (double)links;
    }
    free(on);
    return (struct placed){total.max_mean / (double)trials, total.mean_max / (double)trials,
                           total.used / (double)trials};
}

double ecmp_max_mean(const uint64_t *count)
{
    return place(count[0], count[1], count[2]).max_mean;
}

double ecmp_slowest(const uint64_t *count)
{
    return place(count[0], count[1], count[2]).mean_max;
}

double ecmp_max_min(const uint64_t *count)
{
    return place(count[0], count[1], count[2]).used;
}
