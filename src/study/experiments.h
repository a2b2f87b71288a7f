/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Experiments: files that say what to simulate, what to read off, and what was published.
 *
 * Loading (experiments_load.c) makes plain structs of a file.  An expression's calls become probes of the run they
 * name (experiments_value.c), so a run knows beforehand when it must look at what; running fills the probes in
 * (experiments_run.c, experiments_probe.c), and then expressions are evaluated with them.
 */
#ifndef ROCELAB_STUDY_EXPERIMENTS_H
#define ROCELAB_STUDY_EXPERIMENTS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/time.h"
#include "fabric/words.h"
#include "sim/sim.h"
#include "study/cache.h"
#include "study/error.h"

struct fabric;

#define EXPERIMENT_SEEDS 64
#define PROBE_ARGUMENTS 6
#define PROBE_TEXT 128

/* How an argument of a call is read. */
enum probe_argument {
    ARGUMENT_END,
    ARGUMENT_RUN,
    ARGUMENT_PORT,
    ARGUMENT_WHERE,
    ARGUMENT_SRC,
    ARGUMENT_DST,
    ARGUMENT_JOB,
    ARGUMENT_PERCENT,
    ARGUMENT_FROM,
    ARGUMENT_TO,
    ARGUMENT_COUNT,
    ARGUMENT_SIZE,
};

struct probe;
struct probe_seen;

struct probe_kind {
    const char *name;
    const char *help; /* what it answers */
    uint8_t argument[PROBE_ARGUMENTS];
    bool queue;                                                      /* sampled between FROM and TO */
    bool bytes;                                                      /* connections' bytes at FROM and at TO */
    bool rtt;                                                        /* the run counts round-trip times */
    double (*read)(const struct probe *, const struct probe_seen *); /* after the run */
    double (*calculate)(const uint64_t *count);                      /* of no run */
};
extern const struct probe_kind probe_kinds[];
extern const size_t probe_kind_count;
void probe_kind_write(const struct probe_kind *kind, FILE *out); /* as "queue(RUN, PORT, FROM, TO)" */

struct probe { /* a call, as written */
    const struct probe_kind *kind;
    char text[PROBE_TEXT]; /* that of the call, without spaces: calls written alike are one probe */
    char word[PROBE_ARGUMENTS][PROBE_TEXT];
    uint32_t run;
    ps_t from, to;
    double percent;
    uint64_t count[PROBE_ARGUMENTS];
    double value[EXPERIMENT_SEEDS];
    uint32_t values;
};

struct parameter {
    const char *name, *text;
};

struct experiment_run {
    const char *name;
    const char *fabric; /* the text, parameters not filled in */
    struct parameter *parameter;
    uint32_t parameters;
    uint32_t seeds;
};

struct limit { /* what a number may be */
    bool published_is_number, has_least, has_most, has_tolerance, share;
    double published, least, most, tolerance;
};

enum verdict { VERDICT_PASS, VERDICT_EXPLAINED, VERDICT_MISS };
enum over { OVER_MEAN, OVER_MEDIAN, OVER_MIN, OVER_MAX };

struct experiment_measure {
    const char *what, *value, *published;
    struct limit limit;
    uint8_t over; /* enum over */
    struct limit explained;
    const char *because; /* NULL: no explanation */
    struct fabric_at at;
    double measured;
    double half; /* of the 95 % confidence interval about it; NAN: none was asked for, or of its kind there is none */
    enum verdict verdict;
};

struct experiment {
    const char *path;
    const char *id, *title, *source, *notes;
    bool quick;
    ps_t sample;
    struct parameter *part; /* of all runs; a run's own of the same name goes first */
    uint32_t parts;
    struct experiment_run *run;
    uint32_t runs;
    struct experiment_measure *measure;
    uint32_t measures;
    struct probe *probe;
    uint32_t probes, probe_capacity;
    uint64_t wall_us, packet_hops; /* of all its runs */
    struct arena arena;
};

/* 0, or -errno with an error. */
int experiment_load(const char *path, struct experiment **ret, struct study_error *error);
void experiment_free(struct experiment *experiment);
struct experiment_options {
    uint32_t seeds; /* of every run; 0: as many as the file says, and no intervals */
    uint32_t jobs;  /* runs at once; 0: as many as processors */
    bool quiet;     /* no progress line */
    const volatile sig_atomic_t *stopped;
    const struct cache *cache;
    struct cache_count *rows; /* where they come from is added */
};
/* Every run with each of its seeds.  0; -errno with an error; -EINTR when *stopped. */
int experiment_execute(struct experiment *experiment, const struct experiment_options *options,
                       struct study_error *error);
/* Fills in measured, half and verdict; the runs are over.  0, or -errno with an error. */
int experiment_judge(struct experiment *experiment, const struct experiment_options *options,
                     struct study_error *error);
/* The tolerance, for tables. */
const char *limit_text(const struct limit *limit, char buf[48]);

/* Go through an expression: value_plan() makes probes of its calls.  0, or -EINVAL with *why. */
int value_plan(struct experiment *experiment, const char *text, const char **why);
int value_evaluate(const struct experiment *experiment, const char *text, enum over over, double *ret,
                   const char **why);

/* With what the seed of this number, from 0, showed. */
int value_evaluate_seed(const struct experiment *experiment, const char *text, uint32_t seed, double *ret,
                        const char **why);

/* What a run showed a probe; the arrays may be put in another order. */
struct probe_seen {
    const struct fabric *fabric;
    const struct sim_result *result;
    double *sample; /* of a queue, bytes */
    size_t samples;
    double *goodput; /* Gb/s of each connection from SRC to DST */
    size_t goodputs;
};
/* Checks a probe's names against the fabric; NULL, or what is wrong. */
const char *probe_bind(const struct probe *probe, const struct fabric *fabric);
uint32_t probe_port(const struct probe *probe, const struct fabric *fabric);
/* True when the connection's ends are those the probe names. */
bool probe_covers(const struct probe *probe, const struct fabric *fabric, uint32_t src, uint32_t dst);

/* experiments_ecmp.c: of so many flows, links and trials, if they are not too many */
bool ecmp_can(const uint64_t *count);
double ecmp_max_mean(const uint64_t *count);
double ecmp_slowest(const uint64_t *count);
double ecmp_max_min(const uint64_t *count);

#endif
