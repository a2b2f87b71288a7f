/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fabric that is up as a report; see up_report.h.
 */
#include "cli/programs/up_report.h"

#include <stdlib.h>

bool up_report_take(struct up *up, const struct sim_report *base, bool real, struct up_report *ret)
{
    *ret = (struct up_report){.report = *base};
    struct sim_report *report = &ret->report;

    report->real = real;
    up_stood_still(up, &report->stood_still_ns, &report->real_ns);
    report->programs = up_programs(up, NULL, 0);
    report->program_flows = up_flows(up, NULL, 0);
    report->foreign_ports = up_ports(up, ret->port, UP_REPORT_PORTS);
    report->foreign_port = ret->port;
    ret->program = calloc(report->programs + 1u, sizeof *ret->program);
    ret->flow = calloc(report->program_flows + 1u, sizeof *ret->flow);
    if (ret->program && ret->flow && sim_result(up_sim(up), &ret->result) == 0) {
        up_programs(up, ret->program, report->programs);
        up_flows(up, ret->flow, report->program_flows);
        report->program = ret->program;
        report->program_flow = ret->flow;
        report->result = &ret->result;
        if (sim_imbalance(up_sim(up), &ret->result) == 0) return true;
        sim_result_free(&ret->result);
    }
    free(ret->program);
    free(ret->flow);
    return false;
}

void up_report_free(struct up_report *report)
{
    sim_result_free(&report->result);
    free(report->program);
    free(report->flow);
}
