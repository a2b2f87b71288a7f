/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one simulation measured, as a row: the values of measures.def and the times of its jobs.
 */
#ifndef ROCELAB_STUDY_ROW_H
#define ROCELAB_STUDY_ROW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "fabric/names.h"
#include "sim/sim.h"

struct fabric;
struct fabric_errors;

enum measure {
#define MEASURE(id, name, key, kind, shown, help) MEASURE_##id,
#include "study/measures.def"
#undef MEASURE
    MEASURES
};
#define MEASURE_NOTHING UINT64_MAX

enum measure_kind { /* its unit: picoseconds, kB/s, thousandths, one, bytes, parts per million, thousandths of what is
                     * shown whole */
                    MEASURE_KIND_TIME,
                    MEASURE_KIND_GBPS,
                    MEASURE_KIND_MILLI,
                    MEASURE_KIND_COUNT,
                    MEASURE_KIND_BYTES,
                    MEASURE_KIND_SHARE,
                    MEASURE_KIND_WHOLE,
};
struct measure_info {
    const char *name, *key; /* in tables; in JSON and CSV */
    enum measure_kind kind;
    bool shown; /* where nobody says which are */
    const char *help;
};
extern const struct measure_info measure_infos[MEASURES];

struct row_job { /* a job of the file, its repetitions together; or a program of a script */
    char name[FABRIC_NAME];
    bool program;
    int exit; /* of a program that has ended; -1: not known */
    uint32_t runs, ended;
    uint64_t time_ps, busbw_kBps; /* means of those that ended */
};

struct row_class { /* of jobs, by the class that they send in */
    char name[FABRIC_NAME];
    bool lossless;
    uint64_t flows;    /* that ended; of jobs without flows their runs */
    uint64_t p50, p99; /* slowdown, thousandths; MEASURE_NOTHING: not known */
    uint64_t fct_ps;   /* completion time, 99th percentile; MEASURE_NOTHING: none ended */
    uint64_t drops;    /* by switches */
};

struct row {
    bool there;      /* its run is over */
    char *error;     /* why there are no values; NULL: there are */
    uint64_t seed;   /* it was run with */
    uint32_t state;  /* enum sim_state */
    uint64_t failed; /* work requests */
    char *slices;    /* training jobs that are run in part (sim_slices()); NULL: none */
    uint64_t value[MEASURES];
    uint32_t jobs, classes;
    struct row_job *job;
    struct row_class *of_class; /* [classes] of the fabric, in its order */
};

/* Runs a fabric to its end and writes its row as text, with `small` also what small messages take (small.c); false: it
 * is not worth keeping. */
bool row_simulate(const struct fabric *fabric, const struct sim_options *options, bool small, FILE *to);
/* What it came to, but for the last line; false: there is no memory. */
bool row_print_result(FILE *to, const struct fabric *fabric, struct sim *sim);
bool row_print(FILE *to, const struct fabric *fabric, const struct sim_result *result); /* with sim_imbalance() */
/* A row without values, because of these errors. */
void row_print_error(FILE *to, const struct fabric_errors *errors);
/* The text on one line, whatever it holds. */
void row_print_line(FILE *to, const char *text);
/* Reads that text; false: it is not whole. */
bool row_parse(const char *text, struct row *ret);
/* row_classes.c: its lines about classes; false: there is no memory, or the line is not understood. */
bool row_print_classes(FILE *to, const struct fabric *fabric, const struct sim_result *result);
bool row_parse_class(const char *line, struct row *row);
/* Nearest rank of sorted values; `point` is of 1000. */
uint64_t row_percentile(const uint64_t *sorted, uint32_t count, uint32_t point);
int row_compare(const void *a, const void *b); /* for qsort() of values */
void row_release(struct row *row);
/* Its jobs all ended well, or reached the time to stop. */
bool row_ended(const struct row *row);

#endif
