/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weeks of training: how often parts fail joined with what each failure does to the jobs, as share of useful time.
 *
 * A failure stops the job or slows it down until the part is repaired; which of the two, and how slow, is simulated for
 * links and switches (study/each.h) and known of GPUs, hosts and NICs.  A stop costs the steps since the last
 * checkpoint and the restart.  The mean is a closed form; the interval is of weeks drawn from the seed, and is of
 * chance alone: rates are taken as given.
 */
#ifndef ROCELAB_VALIDATE_WEEKS_H
#define ROCELAB_VALIDATE_WEEKS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "fabric/reliability.h"
#include "study/cache.h"
#include "study/error.h"

struct fabric;

#define WEEKS_MOST 520
#define WEEKS_TRIALS 1000
#define WEEKS_NAME 64
#define WEEKS_SOURCES 64

struct weeks_source { /* parts that fail alike, and do alike when they do */
    char name[WEEKS_NAME];
    enum rate_part part;
    uint64_t parts;
    uint32_t simulated;               /* failures that were run; 0: what it does is known without */
    double stops;                     /* share of them that stop the job */
    double slowdown;                  /* of the job by the others, until the repair; 1: none */
    double failures_a_year, repair_s; /* of one part */
    double failures, lost_s;          /* expected, of all of them in the time asked for */
};

struct weeks_better { /* something to improve, and what that would save */
    char what[96];
    double saved_gpu_hours;
};

struct weeks {
    uint32_t weeks;
    uint64_t seed, gpus;
    struct fabric_reliability reliability;
    struct weeks_source source[WEEKS_SOURCES];
    uint32_t sources;
    double failures, stops; /* expected */
    double writing_s, lost_s;
    double useful, useful_least, useful_most; /* share of the time; mean, and 95 % of the weeks drawn lie between */
    double gpu_hours, gpu_hours_lost, lost_least, lost_most;
    double between_stops_s; /* mean; 0: nothing stops it */
    double best_checkpoint_s;
    struct weeks_better better[WEEKS_SOURCES + 3];
    uint32_t betters; /* the largest saving first */
};

struct weeks_options {
    uint32_t weeks;
    uint32_t sample; /* links and switches of a kind that are run; 0: all */
    uint32_t threads;
    uint64_t seed;
    bool quiet;
    const struct cache *cache;
    const volatile sig_atomic_t *stopped;
};

/* Runs what has to be simulated, and computes.  False after an error, or when *stopped. */
bool weeks_run(const struct fabric *fabric, const struct weeks_options *options, struct weeks *ret,
               struct study_error *error);
/* Computes from sources that are filled in but for `failures` and `lost_s`; weeks, seed, gpus and reliability are
 * given. */
void weeks_compute(struct weeks *weeks);

#endif
