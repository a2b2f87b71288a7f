/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --counters FORMAT[=FILE] and --stretch: every metric of a run for Prometheus.
 *
 * cli_metrics_begin() before the run, so that a file that cannot be written is told first; cli_metrics_write() after
 * it; cli_metrics_release() at last.
 */
#ifndef ROCELAB_CLI_METRICS_H
#define ROCELAB_CLI_METRICS_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/outputs.h"
#include "report/sim_report.h"
#include "sim/sim.h"

enum cli_metrics_form { CLI_METRICS_NONE, CLI_METRICS_PROMETHEUS, CLI_METRICS_OPENMETRICS };
struct cli_metrics {
    enum cli_metrics_form form;
    const char *path;     /* NULL: standard output, instead of the report */
    double stretch;       /* 0: not given */
    struct cli_file file; /* of path */
};

/* The values of the two options; false after a message. */
bool cli_metrics_set(void *metrics, const char *argument);
bool cli_metrics_stretch(void *metrics, const char *argument);
/* series: the step that was asked for; 0: none.  False after a message: what was said does not fit together, or the
 * file cannot be written. */
bool cli_metrics_begin(struct cli_metrics *metrics, ps_t series);
static inline bool cli_metrics_to_stdout(const struct cli_metrics *metrics)
{
    return metrics->form != CLI_METRICS_NONE && metrics->path == NULL;
}
/* To the file, or to `out`.  `seen` is the run's series, for what is over time.  False after a message. */
bool cli_metrics_write(struct cli_metrics *metrics, struct sim *sim, const struct sim_report *report,
                       struct series *seen, FILE *out);
void cli_metrics_release(struct cli_metrics *metrics);
/* Every metric as it is at this moment, as Prometheus reads it; false: no memory. */
bool cli_metrics_now(struct sim *sim, const struct sim_report *report, FILE *out);

#endif
