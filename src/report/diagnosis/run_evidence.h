/* SPDX-License-Identifier: Apache-2.0 */
/* A run as evidence: what src/diagnose judges of it (run_evidence.c). */
#ifndef ROCELAB_REPORT_DIAGNOSIS_RUN_EVIDENCE_H
#define ROCELAB_REPORT_DIAGNOSIS_RUN_EVIDENCE_H

#include "evidence/evidence.h"
#include "report/sim_report.h"

/* Fills evidence that is new; evidence_finish() comes after.  False: memory ran out, and what is there is not whole. */
bool run_evidence(struct evidence *evidence, const struct sim_report *report);

#endif
