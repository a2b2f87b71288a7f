/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `validate --measured DIR`: outputs of a real cluster held against the same criteria, with the fabric file as what is
 * expected.  Nothing of the load is simulated: where a limit needs numbers of the fabric (the payload rate of a line,
 * what a collective can have), they are those of the simulated rows.
 *
 * Tests keep their names and order; measured.c says of each which function answers it, or which output would.
 */
#ifndef ROCELAB_VALIDATE_MEASURED_MEASURED_H
#define ROCELAB_VALIDATE_MEASURED_MEASURED_H

#include "diagnose/diagnose.h"
#include "diagnose/walk.h"
#include "validate/case.h"

struct measured {
    const char *path; /* DIR */
    struct evidence evidence;
    struct diagnose diagnose;
    struct walk walk;
};

/* Reads DIR and ties it to the fabric.  False: `why` says what is wrong with it, and nothing is to be released. */
bool measured_open(struct measured *measured, const char *path, const struct fabric *fabric,
                   const struct diagnose_baseline *baseline, char *why, size_t size);
void measured_release(struct measured *measured);
/* The rows of a test. */
void measured_run(struct validate_case *of, uint32_t test);

/* What perftest reached on its hosts, for a baseline; the list is the arena's. */
void measured_programs(const struct measured *measured, struct arena *arena, struct diagnose_baseline *ret);

/* --- for the files of this folder --- */

/* "leaf0/show_pfc_counters.txt:12", below DIR; "": it is not known. */
const char *measured_at(const struct validate_case *of, uint32_t file, uint32_t line);
/* Some object's value of one of these counters; of two looks where `twice`.  NULL: nobody says it. */
#define MEASURED_ANY(of, twice, ...)                                                                                   \
    measured_any(of, twice, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))
const struct evidence_value *measured_any(const struct validate_case *of, bool twice, const uint8_t *counter,
                                          size_t counters);
/* A row by what rules of diagnosis ("D05 D07") find: their warnings are counted.  Without one it passes where the
 * evidence has what they look at (`seen`), else it is skipped with `lacking`. */
void measured_rules(struct validate_case *of, const char *subject, const char *rules, enum criterion criterion,
                    const struct evidence_value *seen, const char *lacking);

/* An endpoint of the job's host; of any host where the output is in no host's folder and all lines are alike; else
 * FABRIC_NONE. */
uint32_t measured_endpoint(const struct validate_case *of, uint32_t job);

/* Versions that devices say of themselves against those that are approved for their role. */
void measured_versions(struct validate_case *of);
void measured_inputs(struct validate_case *of);
void measured_spread(struct validate_case *of);
void measured_points(struct validate_case *of);
void measured_figures(struct validate_case *of);
void measured_idle(struct validate_case *of);
void measured_load(struct validate_case *of);
void measured_collectives(struct validate_case *of);
void measured_training(struct validate_case *of);

#endif
