/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --series, --events, --html and --serve: a run that is watched, for `sim` and `up`.
 *
 * cli_observe_options() before the simulation is made, cli_observe_begin() with it, cli_observe_report() when it has
 * run, cli_observe_release() at last.  Where nothing is wanted all do nothing.
 */
#ifndef ROCELAB_CLI_OBSERVE_H
#define ROCELAB_CLI_OBSERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/outputs.h"
#include "observe/series.h"
#include "record/event.h"
#include "report/sim_report.h"
#include "sim/sim.h"

struct cli_observe {
    ps_t step;      /* --series; 0: not given */
    bool wanted;    /* by something else, such as a page: steps are as long as they must be */
    uint32_t ports; /* of the fabric: then the more, the longer */
    uint32_t qps;   /* queue pairs whose rate, window and alpha are seen */
    struct series *series;
    struct record_log log;
    const char *events_path; /* --events; NULL: not given */
    struct cli_file events;
    struct sim_connection_sample *connection;
};

#define CLI_STEP_LEAST (10 * PS_NS) /* of --series: a frame of 1024 bytes at 800G */
/* The value of --events; false after a message. */
bool cli_observe_events(void *observe, const char *argument);
/* Begins files, so that one that cannot be written is known before the run; false after a message. */
bool cli_observe_options(struct cli_observe *observe, struct sim_options *options);
bool cli_observe_begin(struct cli_observe *observe, struct sim *sim); /* false after a message */
/* What was seen so far. */
void cli_observe_show(const struct cli_observe *observe, struct sim_report *report);
/* The same at the end.  False after a message: not all of the run could be kept. */
bool cli_observe_report(struct cli_observe *observe, struct sim_report *report);
void cli_observe_release(struct cli_observe *observe);

#endif
