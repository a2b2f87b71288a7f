/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rocelab sweep, in parts: what is varied (sweep_values.c), a point (sweep_point.c), all of them (sweep_run.c), the
 * table (sweep_print.c).
 */
#ifndef ROCELAB_CLI_SWEEP_H
#define ROCELAB_CLI_SWEEP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/time.h"
#include "fabric/fabric.h"
#include "telemetry/sim_result.h"

#define SWEEP_AXES 8
#define SWEEP_POINTS 100000u
#define SWEEP_SHOWN 14

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
};

/* `PATH=VALUES` as another axis; false after a message. */
bool sweep_vary(struct sweep_grid *grid, const char *argument, bool with);
/* More than SWEEP_POINTS: too many. */
uint64_t sweep_points(const struct sweep_grid *grid);
/* What an axis is at a point; the first axis is the slowest. */
const char *sweep_value(const struct sweep_grid *grid, uint32_t axis, uint32_t point);

enum sweep_column {
#define COLUMN(id, name, key, kind, shown, help) SWEEP_##id,
#include "cli/sweep_columns.def"
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
    uint32_t jobs;
    bool quiet, json, csv;
    struct sweep_shown {
        uint8_t column;        /* enum sweep_column */
        char job[FABRIC_NAME]; /* "": of all */
    } shown[SWEEP_SHOWN];
    uint32_t showns;
    uint32_t points;
    struct sweep_row *row;
};

/* Loads, runs and writes one point as text to `to`, and to the folder of results. */
void sweep_point(const struct sweep *sweep, uint32_t point, FILE *to);
/* Reads that text; false: it is not whole. */
bool sweep_row_parse(const char *text, struct sweep_row *ret);
void sweep_row_release(struct sweep_row *row);
int sweep_load(const struct sweep *sweep, uint32_t point, struct fabric **ret, struct fabric_errors *errors);
/* The same with another value for one axis; NULL: its own. */
int sweep_load_other(const struct sweep *sweep, uint32_t point, uint32_t axis, const char *value, struct fabric **ret,
                     struct fabric_errors *errors);

/* Every point; false after a message. */
bool sweep_run(struct sweep *sweep);

bool sweep_show(struct sweep *sweep, const char *argument);
void sweep_list_columns(FILE *out);
void sweep_print(const struct sweep *sweep, FILE *out);
bool sweep_json(const struct sweep *sweep, FILE *out);
void sweep_csv(const struct sweep *sweep, FILE *out);
/* "" where every job ended well. */
const char *sweep_note(const struct sweep_row *row);

#endif
