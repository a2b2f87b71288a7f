/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was done to the fabric, as JSON: faults that have begun, and switches that have changed their routes.
 */
#include "report/sim_report.h"

#include "fabric/fabric.h"
#include "report/rows/rows.h"

static void json_fault(struct jout *jout, const struct fabric *fabric, const struct sim_fault_seen *fault)
{
    char name[FABRIC_NAME];

    jout_open_line(jout, NULL, '{');
#include "report/rows/fault.def"
    jout_close(jout);
}

static void json_route(struct jout *jout, const struct fabric *fabric, const struct sim_route_change *route)
{
    jout_open_line(jout, NULL, '{');
#include "report/rows/route.def"
    jout_close(jout);
}

void sim_json_faults(struct jout *jout, const struct sim_report *report)
{
    const struct sim_result *result = report->result;
    const struct fabric *fabric = report->fabric;

#include "report/rows/sim_faults.def"
}
