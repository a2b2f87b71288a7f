/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a test of `rocelab validate` is given, and how it says what it found: for the files phaseN*.c.
 *
 * A test makes a variant of the file's fabric (other jobs, other faults), runs it, and calls validate_judge() for
 * every number that a criterion speaks of; validate_tell() for what is no number; validate_skip() for what cannot be
 * judged on this fabric, so that nothing is left out in silence.
 */
#ifndef ROCELAB_VALIDATE_CASE_H
#define ROCELAB_VALIDATE_CASE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "fabric/names.h"
#include "fabric/override.h"
#include "sim/sim.h"
#include "validate/validate.h"

struct fabric;
struct fabric_approved;

struct validate_case { /* a test under way, in a process of its own */
    const struct validate *plan;
    const struct fabric *fabric; /* as the file has it */
    FILE *rows;
    uint32_t count;      /* rows that were written */
    struct arena *arena; /* of its texts and lists, which live as long as the test; without memory the process ends */
    FILE *writing;       /* case_open() */
    char *written;
    size_t written_bytes;
};

#define VALIDATE_TEXT 320 /* of a row: what is longer is cut */

/* judge.c: texts, numbers, names and lists for rows and jobs. */
__attribute__((format(printf, 2, 3))) const char *case_text(const struct validate_case *of, const char *format, ...);
const char *case_number(const struct validate_case *of, enum validate_unit unit, double value);
const char *case_endpoint(const struct validate_case *of, uint32_t endpoint);
const char *case_port(const struct validate_case *of, uint32_t port);
/* "[h0:0, h1:0]" */
const char *case_list(const struct validate_case *of, const uint32_t *endpoint, uint32_t count);
/* A text that is written piece by piece, one at a time. */
FILE *case_open(struct validate_case *of);
const char *case_close(struct validate_case *of);

struct validate_finding {
    const char *subject;
    enum criterion criterion;
    enum criterion warn; /* that makes a warning of what is beyond the first; CRITERION_NONE: a failure at once */
    enum validate_unit unit;
    double value;
    double base;        /* the limit is the criterion's value times this; 0: the criterion's value alone */
    const char *of;     /* what base is, in words with its numbers: "payload rate 400G x 4096/4178"; NULL with base 0 */
    const char *why;    /* said where it does not pass; NULL: nothing */
    const char *excuse; /* why a value that does not pass is skipped instead of failing; NULL: it fails */
    const char *unjudged; /* why the value is told and not judged, with `of` beside it; NULL: it is judged */
    const char *job; /* a baseline keeps the value by this, ranks and bytes, and holds it against; NULL: it does not */
    uint64_t ranks, bytes; /* 0: it has none */
    const char *host;      /* of the baseline's figure, where it is a cluster's program; NULL: of none */
    const char *source;    /* file and line of a value that was measured; NULL, "": it has none */
};
/* One row: the value held against the criterion, or skipped where only a file can say it and does not. */
void validate_judge(struct validate_case *of, const struct validate_finding *finding);
#define JUDGE(of, ...) validate_judge((of), &(struct validate_finding){__VA_ARGS__})
/* baseline.c: a second row for what the plan's baseline has a number of, skipped where it has none. */
void baseline_judge(struct validate_case *of, const struct validate_finding *finding);
/* What a program reached, held against the baseline's figure of it (its criterion is live-rate or live-latency); where
 * `base` is 0 it is skipped, with the value and this reason. */
void baseline_hold(struct validate_case *of, struct validate_finding *finding, double base, const char *lacking);
/* The figure of the finding's program (job), host and bytes in a baseline's list, in its row's unit; 0: it has none. */
struct diagnose_baseline_program;
double baseline_figure(const struct diagnose_baseline_program *list, uint32_t count,
                       const struct validate_finding *finding);
/* phase1.c: what is judged of the file alone: digest, `check`, `diff`. */
void inputs_judge_file(struct validate_case *of);
/* Every part that a role has approved versions of, on every node of that role. */
void versions_judge(struct validate_case *of);
bool version_is_approved(const struct fabric_approved *approved, uint32_t part, const char *version);
/* A row whose verdict is known; formula says by what. */
__attribute__((format(printf, 5, 6))) void validate_tell(struct validate_case *of, enum validate_verdict verdict,
                                                         const char *subject, const char *formula, const char *why,
                                                         ...);
__attribute__((format(printf, 3, 4))) void validate_skip(struct validate_case *of, const char *subject, const char *why,
                                                         ...);
/* The same where something is lacking; answers `lacking`. */
__attribute__((format(printf, 4, 5))) bool validate_skip_if(struct validate_case *of, bool lacking, const char *subject,
                                                            const char *why, ...);
/* The same with the finding's value, which a baseline may keep. */
__attribute__((format(printf, 3, 4))) void validate_leave(struct validate_case *of,
                                                          const struct validate_finding *finding, const char *why, ...);
/* "95%", "1.05", "10us", "0": a criterion as a person writes it. */
const char *validate_criterion_text(enum criterion which, uint64_t value, char buf[VALIDATE_NUMBER]);

/* variant.c: the file with other jobs, a YAML list, and other values.  Faults of the file stay: they are how its fabric
 * is. */
#define VARIANT_OVERRIDES 16
struct variant {
    struct fabric_override override[VARIANT_OVERRIDES];
    uint32_t overrides;
    const char *const *fault; /* [faults] besides the file's, in its words: `down leaf0:3 at 1ms for 5ms`; "": none */
    uint32_t faults;
    struct fabric *fabric;
    struct sim *sim;
    struct sim_result result;
    bool read; /* result holds */
};
/* Fabric and simulation are made.  Else false, after a row that fails and says why; `subject` is what was meant. */
bool variant_open(struct validate_case *of, const char *subject, const char *jobs, struct variant *variant,
                  const struct sim_options *options);
/* The same with one job of the file as it is. */
bool variant_open_job(struct validate_case *of, const char *subject, uint32_t job, struct variant *variant);
/* To the end of its jobs, or to `until` at the latest; the result is read, the one before it freed.  False as above. */
bool variant_run(struct validate_case *of, const char *subject, struct variant *variant, ps_t until);
void variant_close(struct variant *variant);
/* What its switches and adapters counted. */
struct variant_counts {
    uint64_t drops, lossless_drops, lost; /* packets: by switches and adapters; of lossless classes; on links */
    uint64_t discarded;                   /* of drops: by adapters, which they have reached */
    uint64_t circled;                     /* of drops: by switches, their time to live was over */
    uint64_t crowded;                     /* of drops: by switches, of lossy classes whose queue was full */
    uint64_t pauses, marks, again, timeouts, payload_bytes;
    double headroom; /* most that a group used of its headroom; 1: all */
    uint32_t headroom_port;
};
struct variant_counts variant_count(const struct variant *variant);
/* p99 of the times of a job's flows (FABRIC_NONE: all jobs'), each over its time alone; one that does not end counts as
 * INFINITY.  NAN: none has begun. */
double variant_p99(const struct variant *variant, uint32_t job);

/* choose.c: which endpoints a test takes. */
/* Adapters and classes are those of RoCE. */
bool is_roce(const struct fabric *fabric);
/* The class that jobs have where nothing is said: the first lossless one. */
uint32_t choose_class(const struct fabric *fabric);
struct endpoint_pair {
    uint32_t src, dst, hops;
};
/* From the first endpoint one of another host at each distance, the nearest first; answers how many, `most` at most. */
uint32_t choose_distances(const struct fabric *fabric, struct endpoint_pair *ret, uint32_t most);
/* Endpoints of an edge, at most one a host; answers how many. */
uint32_t choose_of_edge(const struct fabric *fabric, uint32_t edge, uint32_t *ret, uint32_t most);
/* The list of the first endpoint and those that it reaches, so many at most: planes that do not meet are looked at by
 * the first.  *ret_count: how many. */
const char *choose_ranks(const struct validate_case *of, uint32_t most, uint32_t *ret_count);
/* What a long message can have of the line: of two that are alone, the longer one's bytes more over its time more. */
double payload_rate(const struct sim_flow *shorter, const struct sim_flow *longer);

#define TEST(id, phase, name, function, least, about) void function(struct validate_case *of);
#include "validate/tests.def"
#undef TEST

#endif
