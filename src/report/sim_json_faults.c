/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was done to the fabric, as JSON: faults that have begun, and switches that have changed their routes.
 */
#include "report/sim_report.h"

#include "fabric/fabric.h"

static void json_fault(struct jout *jout, const struct fabric *fabric, const struct sim_fault_seen *fault)
{
    char name[FABRIC_NAME];

    jout_open_line(jout, NULL, '{');
    jout_u64(jout, "at_ps", fault->at);
    jout_time(jout, "until_ps", fault->until);
    jout_text(jout, "kind", fabric_fault_kind_name[fault->kind]);
    jout_text(jout, "what",
              fault->port == FABRIC_NONE ? fabric->node[fault->node].name
                                         : fabric_port_name(fabric, fault->port, name));
    jout_text(jout, "text", fault->text);
    jout_close(jout);
}

void sim_json_faults(struct jout *jout, const struct sim_report *report)
{
    const struct sim_result *result = report->result;
    const struct fabric *fabric = report->fabric;

    jout_open(jout, "faults", '[');
    for (uint32_t i = 0; i < result->faults; i++)
        json_fault(jout, fabric, &result->fault[i]);
    jout_close(jout);
    jout_open(jout, "routes", '[');
    for (uint32_t i = 0; i < result->routes; i++) {
        jout_open_line(jout, NULL, '{');
        jout_u64(jout, "at_ps", result->route[i].at);
        jout_text(jout, "switch", fabric->node[result->route[i].node].name);
        jout_u64(jout, "change", result->route[i].change);
        jout_close(jout);
    }
    jout_close(jout);
    jout_u64(jout, "routes_left_out", result->routes_left_out);
}
