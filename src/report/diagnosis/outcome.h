/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What became of a run, in words: jobs that ended in about the least time that their adapters' lines allow, or did not,
 * what failed, what was sent again.  Why is src/diagnose's to say.
 */
#ifndef ROCELAB_REPORT_DIAGNOSIS_OUTCOME_H
#define ROCELAB_REPORT_DIAGNOSIS_OUTCOME_H

#include "report/sim_report.h"

enum outcome_id {
#define OUTCOME(id, name, alias, severity, title) OUTCOME_##id,
#include "report/diagnosis/outcome.def"
#undef OUTCOME
    OUTCOME_IDS
};
enum outcome_severity { OUTCOME_OK, OUTCOME_INFO, OUTCOME_WARNING, OUTCOME_CRITICAL };

struct outcome_kind {
    const char *name, *alias, *title;
    enum outcome_severity severity;
};
extern const struct outcome_kind outcome_kind[OUTCOME_IDS];

#define OUTCOME_TEXT 512
struct outcome {
    enum outcome_id id;
    uint32_t job;            /* into fabric.job; FABRIC_NONE: of the whole run */
    char what[OUTCOME_TEXT]; /* numbers; no full stop */
    uint32_t object[2], objects;
    uint64_t weight; /* of one kind the larger is first */
};
struct outcomes {
    struct outcome *list; /* in the order of outcome.def */
    uint32_t count, room;
    bool failed; /* memory ran out */
};

/* `ideal_ratio`, `exposed_least`: limits of src/diagnose.  False: memory ran out; released all the same. */
bool outcomes_make(const struct sim_report *report, double ideal_ratio, double exposed_least, struct outcomes *ret);
void outcomes_release(struct outcomes *outcomes);

#endif
