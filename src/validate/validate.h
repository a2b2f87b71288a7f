/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `rocelab validate`: the acceptance plan of a fabric.
 *
 * A test is a line of tests.def and a function, which simulates the file's fabric with jobs of its own and holds what
 * it measured against criteria (fabric/criteria.def).  Each thing that is judged is a row.  A test runs in a process of
 * its own (study/pool.h), and its rows are kept where --out says (study/cache.h): a plan that was killed goes on from
 * there.  Rows are in the order of tests.def, whoever was first.
 */
#ifndef ROCELAB_VALIDATE_VALIDATE_H
#define ROCELAB_VALIDATE_VALIDATE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/time.h"
#include "fabric/criteria.h"
#include "study/cache.h"
#include "study/error.h"
#include "study/pool.h"

struct fabric;

#define VALIDATE_PHASES 6
extern const char *const validate_phase_names[VALIDATE_PHASES + 1]; /* from 1 */

enum validate_level { VALIDATE_QUICK, VALIDATE_DEFAULT, VALIDATE_FULL, VALIDATE_LIVE }; /* the last of tests alone */
#define VALIDATE_LEVELS (VALIDATE_FULL + 1)
extern const char *const validate_level_names[VALIDATE_LEVELS];

enum validate_verdict { VALIDATE_PASS, VALIDATE_WARN, VALIDATE_FAIL, VALIDATE_SKIPPED };
#define VALIDATE_VERDICTS (VALIDATE_SKIPPED + 1)
extern const char *const validate_verdict_names[VALIDATE_VERDICTS];

/* Of a value and its limit: a count, a ratio (1 is as much), bits a second, picoseconds, bytes. */
enum validate_unit {
    VALIDATE_COUNT,
    VALIDATE_RATIO,
    VALIDATE_RATE,
    VALIDATE_TIME,
    VALIDATE_BYTES,
};
#define VALIDATE_UNITS (VALIDATE_BYTES + 1)
extern const char *const validate_unit_names[VALIDATE_UNITS]; /* in JSON */
#define VALIDATE_NUMBER 40
/* "374.3G", "1.05", "12.3us"; "-": there is none. */
const char *validate_number(enum validate_unit unit, double value, char buf[VALIDATE_NUMBER]);

struct diagnose_baseline;
struct measured;
struct validate_case;
struct validate_test {
    const char *id, *name, *about;
    uint8_t phase;
    enum validate_level least;
    void (*run)(struct validate_case *of);
};
enum validate_test_id {
#define TEST(id, phase, name, function, least, about) VALIDATE_TEST_##id,
#include "validate/tests.def"
#undef TEST
    VALIDATE_TESTS
};
extern const struct validate_test validate_tests[VALIDATE_TESTS];

struct validate_row { /* a thing that was judged; the texts are its own */
    uint32_t test;
    enum validate_verdict verdict;
    enum criterion criterion; /* CRITERION_NONE: judged without a number of the list */
    enum validate_unit unit;
    double value, limit; /* NAN: there is none */
    char *subject;       /* what was looked at */
    char *formula;       /* the criterion with this fabric's numbers */
    char *why;           /* of what did not pass, or was skipped; else a remark, or "" */
    char *source;        /* "leaf0/show_pfc_counters.txt:12": where a measured value stands; "" */
    char *job;           /* what a baseline keeps the value by, with its ranks and bytes; "": it does not */
    uint64_t ranks, bytes;
    uint64_t ns; /* that its test took, of a test's first row; 0: of the others */
};

struct validate {
    /* Given: */
    const struct fabric *fabric;
    const char *path, *text;       /* of the fabric file, for messages; what is in it */
    const struct fabric *approved; /* that it must not differ from; NULL: none was named */
    const char *approved_path, *approved_text;
    enum validate_level level;
    bool phase[VALIDATE_PHASES + 1];          /* which are run */
    ps_t soak_ps;                             /* 0: no soak */
    const struct diagnose_baseline *baseline; /* that phase 4 is held against; NULL: none */
    const char *signer;                       /* of the baseline that is written of this run; NULL: none is */
    const struct measured *measured;          /* outputs that are judged instead of runs; NULL: none */
    bool live;                                /* programs of this machine are run too ... */
    const char *live_fault;                   /* ... with these faults on their wire; NULL: none */
    const char *nccl_tests;                   /* the folder of nccl-tests' programs; NULL: where PATH leads */
    uint64_t seed;
    struct cache cache;
    uint32_t jobs; /* tests at once; 0: as many as processors */
    bool quiet;
    const volatile sig_atomic_t *stopped;
    struct study_error *error;
    /* Made: */
    struct validate_row *row;
    uint32_t rows, room;
    uint32_t asked; /* tests */
    struct pool_done done;
    struct cache_count kept;
};

/* Every test of the phases asked for.  False after an error, or when *stopped. */
bool validate_run(struct validate *validate);
void validate_release(struct validate *validate);

/* What phase 4 measured, with digests and who signs: for a baseline.  Names in it are the rows', the list
 * is the arena's. */
void validate_baseline(const struct validate *validate, struct arena *arena, struct diagnose_baseline *ret);

uint32_t validate_count(const struct validate *validate, enum validate_verdict verdict);
/* Of the values and verdicts of all rows: the same for any number of processes. */
uint64_t validate_digest(const struct validate *validate);

#endif
