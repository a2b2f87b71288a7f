/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Figures of live programs, held against a baseline of this machine: private to this folder.
 */
#ifndef ROCELAB_VALIDATE_LIVE_FIGURES_H
#define ROCELAB_VALIDATE_LIVE_FIGURES_H

#include "validate/live/pair.h"

/* Skipped where others used too much of the processors; false: they did not. */
bool live_skip_busy(struct validate_case *of, const char *subject, double others, const char *what);

#define LIVE_RUNS_MOST 16u
struct live_figures { /* of runs while the machine was idle */
    double value[LIVE_RUNS_MOST];
    uint32_t count;
    double others; /* the most that others used of the processors, of runs that do not count */
    struct machine_steady steady;
};
/* What a row says where the yardstick deviates too much; NULL: it does not, or a fault is looked for. */
const char *live_unsteady(const struct validate_case *of, const struct machine_steady *steady);
/* How many runs a figure is the median of: one with --fault, and where it is only printed. */
uint32_t live_runs(const struct validate_case *of);
/* ", median of 9 runs"; "": of one. */
const char *live_runs_text(const struct validate_case *of);
/* Whether more runs are due: until there are enough, or twice as many were tried. */
bool live_more(const struct validate_case *of, const struct live_figures *figures, uint32_t tried);
void live_add(struct live_figures *figures, double value, double others);
/* Waits a moment for the others to leave the processors; false: they do not. */
bool live_wait_idle(struct live_figures *figures);
/* The row: `finding` has what it is of (subject, criterion, unit, job, bytes). */
void live_hold(struct validate_case *of, struct validate_finding *finding, struct live_figures *figures);
/* Bandwidth or latency of a program: its runs and the row. */
void live_hold_program(struct validate_case *of, const struct live_program *program);

#endif
