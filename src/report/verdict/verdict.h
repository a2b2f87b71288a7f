/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What limited a run and why, in words: findings with numbers of the run, the objects they are about and a sentence of
 * why, the worst first.
 *
 * Judged from a finished result alone (sim/sim_result.h) and the fabric it ran on; nothing here looks at time series or
 * at counters that a real device would not have, but for the pause tree, which the simulator knows exactly, and the
 * faults that were ordered.
 */
#ifndef ROCELAB_REPORT_VERDICT_VERDICT_H
#define ROCELAB_REPORT_VERDICT_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "report/sim_report.h"

enum verdict_severity { VERDICT_OK, VERDICT_INFO, VERDICT_WARNING, VERDICT_CRITICAL };
enum verdict_id {
#define X(id, name, severity, title) VERDICT_##id,
#include "report/verdict/verdict.def"
#undef X
    VERDICT_IDS
};

struct verdict_kind {
    const char *name, *title;
    enum verdict_severity severity;
};
extern const struct verdict_kind verdict_kind[VERDICT_IDS];
extern const char *const verdict_severity_name[];

#define VERDICT_OBJECTS 16
#define VERDICT_TEXT 512
struct verdict_finding {
    enum verdict_id id;
    enum verdict_severity severity; /* of its kind, or less */
    uint32_t job;                   /* into fabric.job; FABRIC_NONE: of the whole run */
    char what[VERDICT_TEXT];        /* numbers; no full stop */
    char why[VERDICT_TEXT];
    uint32_t object[VERDICT_OBJECTS]; /* ports, those of adapters too; the worst first */
    uint32_t objects;                 /* listed */
    uint64_t weight;                  /* among findings of one kind the larger is first */
};

struct verdict {
    struct verdict_finding *finding;
    uint32_t findings, room;
};

/* 0 or -ENOMEM; the caller's to release. */
int verdict_make(const struct sim_report *report, struct verdict *ret);
void verdict_release(struct verdict *verdict);

#endif
