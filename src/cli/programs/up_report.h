/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a fabric that is up has to report, at its end and while it runs.
 */
#ifndef ROCELAB_CLI_UP_REPORT_H
#define ROCELAB_CLI_UP_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "report/sim_report.h"
#include "up/up.h"

#define UP_REPORT_PORTS 64 /* that are interfaces: `up` takes no more */

struct up_report {
    struct sim_report report;
    struct sim_result result;
    struct up_program *program;
    struct up_flow_result *flow;
    struct up_port_result port[UP_REPORT_PORTS];
};

/* As of now; `base` has what does not change.  False: not enough memory. */
bool up_report_take(struct up *up, const struct sim_report *base, bool real, struct up_report *ret);
void up_report_free(struct up_report *report);

#endif
