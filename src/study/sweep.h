/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fabric file run with every combination of values, in parts: what is varied (sweep_values.c), whether that makes
 * sense (sweep_check.c), a point (sweep_point.c), all of them (sweep_run.c).
 */
#ifndef ROCELAB_STUDY_SWEEP_H
#define ROCELAB_STUDY_SWEEP_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/time.h"
#include "fabric/fabric.h"
#include "sim/sim_result.h"
#include "study/error.h"

#define SWEEP_AXES 8
#define SWEEP_POINTS 100000u

struct sweep_axis {
    const char *path;
    const char **value;
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

enum sweep_column {
#define COLUMN(id, name, key, kind, shown, help) SWEEP_##id,
#include "study/sweep_columns.def"
#undef COLUMN
    SWEEP_COLUMNS
};
#define SWEEP_NOTHING UINT64_MAX

struct sweep_job { /* a job of the file, its repetitions together */
    char name[FABRIC_NAME];
    uint32_t runs, ended;
    uint64_t time_ps, busbw_kBps; /* means of those that ended */
};

struct sweep_row {
    bool there;      /* its run is over */
    bool kept;       /* it was there from an earlier sweep */
    char *error;     /* why there are no values; NULL: there are */
    uint32_t state;  /* enum sim_state */
    uint64_t failed; /* work requests */
    uint64_t value[SWEEP_COLUMNS];
    uint32_t jobs;
    struct sweep_job *job;
};

struct sweep {
    struct sweep_grid grid;
    const char *path; /* of the fabric file, for messages */
    char *text;       /* what is in it */
    const char *out;  /* NULL: nothing is kept */
    uint64_t program_hash;
    uint32_t jobs; /* points at once */
    bool quiet;    /* no progress line */
    const volatile sig_atomic_t *stopped;
    uint32_t points;
    struct sweep_row *row;
    struct study_error *error;
};

/* The file is right as it is, every path leads somewhere, and every value is used; false after an error. */
bool sweep_check(const struct sweep *sweep);
/* Of this very program: results of another build are not taken for its own. */
uint64_t sweep_program_hash(void);

/* Loads, runs and writes one point as text to `to`, and to the folder of results. */
void sweep_point(const struct sweep *sweep, uint32_t point, FILE *to);
/* Reads that text; false: it is not whole. */
bool sweep_row_parse(const char *text, struct sweep_row *ret);
void sweep_row_release(struct sweep_row *row);
int sweep_load(const struct sweep *sweep, uint32_t point, struct fabric **ret, struct fabric_errors *errors);
/* The same with another value for one axis; NULL: its own. */
int sweep_load_other(const struct sweep *sweep, uint32_t point, uint32_t axis, const char *value, struct fabric **ret,
                     struct fabric_errors *errors);

/* Every point; false after an error, with `stopped` because somebody asked to. */
bool sweep_run(struct sweep *sweep);

#endif
