/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fabric file run with every combination of values, in parts: what is varied (sweep_values.c), whether that makes
 * sense (sweep_check.c), all of its points (sweep_run.c).
 */
#ifndef ROCELAB_STUDY_SWEEP_H
#define ROCELAB_STUDY_SWEEP_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/time.h"
#include "study/cache.h"
#include "study/error.h"
#include "study/pool.h"
#include "study/row.h"

struct fabric;

#define SWEEP_AXES 8
#define SWEEP_POINTS 100000u

struct sweep_axis {
    const char *path;
    const char **value;
    const char **name; /* of each value, as somebody gave it; NULL: it has none */
    uint32_t values;
    bool with; /* changes together with the axis before it */
};

struct sweep_grid {
    struct sweep_axis axis[SWEEP_AXES];
    uint32_t axes;
    struct arena arena;
    struct study_error *error;
};

/* `PATH=VALUES` as another axis; false after an error. */
bool sweep_vary(struct sweep_grid *grid, const char *argument, bool with);
/* More than SWEEP_POINTS: too many. */
uint64_t sweep_points(const struct sweep_grid *grid);
/* What an axis is at a point; the first axis is the slowest. */
const char *sweep_value(const struct sweep_grid *grid, uint32_t axis, uint32_t point);

/* The same for people: its name, where it has one. */
const char *sweep_label(const struct sweep_grid *grid, uint32_t axis, uint32_t point);

/* Runs a fabric otherwise than row_simulate() does, with programs; as that. */
typedef bool sweep_simulate(void *context, struct fabric *fabric, const struct sim_options *options, FILE *to);

struct sweep {
    struct sweep_grid grid;
    const char *path;         /* of the fabric file, for messages */
    char *text;               /* what is in it */
    struct sim_options sim;   /* of each run; seed: where own_seed is, else the file's */
    sweep_simulate *simulate; /* NULL: row_simulate() */
    void *simulate_context;
    uint64_t simulate_hash; /* of all that it knows besides the fabric */
    bool own_seed;
    bool small;      /* each run is followed by one of small messages */
    bool leave_out;  /* keys that the system of a point does not have, instead of refusing it */
    bool of_several; /* the file itself may have settings that its system does not */
    uint32_t seeds;  /* runs of each point, with this seed and those that follow; 1 at least */
    struct cache cache;
    uint32_t jobs; /* runs at once; 0: as many as processors */
    bool quiet;    /* no progress line */
    const volatile sig_atomic_t *stopped;
    uint32_t points;
    struct row *row; /* [points][seeds] */
    struct pool_done done;
    struct cache_count rows; /* where they come from */
    struct study_error *error;
};

/* The file is right as it is, every path leads somewhere, and every value is used; false after an error. */
bool sweep_check(const struct sweep *sweep);
int sweep_load(const struct sweep *sweep, uint32_t point, struct fabric **ret, struct fabric_errors *errors);
/* The same with another value for one axis; NULL: its own. */
int sweep_load_other(const struct sweep *sweep, uint32_t point, uint32_t axis, const char *value, struct fabric **ret,
                     struct fabric_errors *errors);

/* A point without the keys that its system does not have, which are told in *left_out. */
int sweep_load_leaving(const struct sweep *sweep, uint32_t point, struct fabric **ret, struct fabric_errors *errors,
                       struct fabric_errors *left_out);

/* Every point; false after an error, or when *stopped: sweep->done says how far it came. */
bool sweep_run(struct sweep *sweep);
/* All runs of a point are over: false of some where the sweep was stopped. */
bool sweep_has(const struct sweep *sweep, uint32_t point);
void sweep_release(struct sweep *sweep); /* its rows */

#endif
