/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counters of a fabric at one moment, each by the name that its machine's own list has.
 *
 * A port of a switch has the switch's counters, a host's port those of its adapter; those of a priority are written
 * prio3_<name>.  The text leaves out what is 0, the JSON document leaves out nothing but priorities never used.
 */
#include <inttypes.h>
#include <string.h>

#include "report/sim_report.h"

#include "fabric/fabric.h"

struct each {
    const struct sim_report *report;
    FILE *out;         /* text, or */
    struct jout *jout; /* JSON */
    bool quiet;
};

static void one(const struct each *each, const char *name, const char *help, uint64_t value)
{
    char count[TEXT_COUNT];

    if (each->jout) {
        jout_u64(each->jout, name, value);
    } else if (value) {
        fprintf(each->out, "  %-36s %18s", name, text_count(value, count));
        fprintf(each->out, each->quiet ? "\n" : "  %s\n", help);
    }
}

static uint64_t value_at(const void *base, size_t offset)
{
    uint64_t value;

    memcpy(&value, (const char *)base + offset, sizeof(value));
    return value;
}

static void one_prio(const struct each *each, int prio, const char *name, const char *help, uint64_t value)
{
    char whole[96];

    snprintf(whole, sizeof whole, "prio%d_%s", prio, name);
    one(each, whole, help, value);
}

static void of_switch(const struct each *each, const struct sw_port_counters *counters)
{
    for (const struct sw_counter *counter = sw_port_counter_list; counter->name; counter++)
        one(each, counter->name, counter->help, value_at(counters, counter->offset));
    for (int prio = 0; prio < 8; prio++) {
        bool used = false;
        for (const struct sw_counter *counter = sw_prio_counter_list; counter->name; counter++)
            used |= value_at(&counters->prio[prio], counter->offset) != 0;
        for (const struct sw_counter *counter = sw_prio_counter_list; used && counter->name; counter++)
            one_prio(each, prio, counter->name, counter->help, value_at(&counters->prio[prio], counter->offset));
    }
}

static void of_nic(const struct each *each, const struct nic_counters *counters)
{
    for (const struct nic_counter *counter = nic_counter_list; counter->name; counter++)
        one(each, counter->name, counter->help, value_at(counters, counter->offset));
    for (int prio = 0; prio < 8; prio++) {
        bool used = false;
        for (const struct nic_counter *counter = nic_prio_counter_list; counter->name; counter++)
            used |= value_at(&counters->prio[prio], counter->offset) != 0;
        for (const struct nic_counter *counter = nic_prio_counter_list; used && counter->name; counter++)
            one_prio(each, prio, counter->name, counter->help, value_at(&counters->prio[prio], counter->offset));
    }
}

static void of_tcp(const struct each *each, const struct tcp_counters *counters)
{
    for (const struct tcp_counter *counter = tcp_counter_list; counter->name; counter++)
        one(each, counter->name, counter->help, value_at(counters, counter->offset));
}

static void of_uet(const struct each *each, const struct uet_counters *counters)
{
    for (const struct uet_counter *counter = uet_counter_list; counter->name; counter++)
        one(each, counter->name, counter->help, value_at(counters, counter->offset));
}

static void of_infiniband(const struct each *each, const struct observe_infiniband *from)
{
#define IB(field, name, metric, per, help) one(each, name, help, from->field / (per));
#include "observe/infiniband.def"
#undef IB
}

static void of_endpoint(const struct each *each, const struct endpoint_counters *common)
{
#define X(name, help) one(each, #name, help, common->name);
    ENDPOINT_COUNTER_LIST(X)
#undef X
}

/* `which`: a port, a node for all its ports, or NULL for everything. */
static bool wanted(const struct fabric *fabric, uint32_t port, const char *which)
{
    char name[FABRIC_NAME];

    return which == NULL || strcmp(which, fabric->node[fabric->port[port].node].name) == 0 ||
           strcmp(which, fabric_port_name(fabric, port, name)) == 0;
}

static const struct sim_nic *nic_at(const struct sim_report *report, uint32_t port)
{
    for (uint32_t i = 0; i < report->result->nics; i++)
        if (report->fabric->endpoint[report->result->nic[i].endpoint].port == port) return &report->result->nic[i];
    return NULL;
}

static uint32_t all_ports(const struct each *each, const char *which)
{
    const struct fabric *fabric = each->report->fabric;
    uint32_t shown = 0;

    for (uint32_t i = 0; i < each->report->result->ports; i++) {
        const struct sim_port *port = &each->report->result->port[i];
        const struct sim_nic *nic = port->sw ? NULL : nic_at(each->report, port->port);
        char name[FABRIC_NAME];
        if (!wanted(fabric, port->port, which) || (port->sw == NULL && nic == NULL)) continue;
        shown++;
        fabric_port_name(fabric, port->port, name);
        if (each->jout) {
            jout_open(each->jout, NULL, '{');
            jout_text(each->jout, "port", name);
            jout_open(each->jout, "counters", '{');
        } else {
            fprintf(each->out, "%s\n", name);
        }
        if (port->sw)
            of_switch(each, port->sw);
        else if (nic->counters)
            of_nic(each, nic->counters);
        else if (nic->has_tcp)
            of_tcp(each, &nic->tcp);
        else if (nic->has_uet)
            of_uet(each, &nic->uet);
        else
            of_endpoint(each, &nic->common);
        if (port->has_infiniband) of_infiniband(each, &port->infiniband);
        if (each->jout) {
            jout_close(each->jout);
            jout_close(each->jout);
        }
    }
    return shown;
}

uint32_t sim_counters_text(FILE *out, const struct sim_report *report, const char *which, bool quiet)
{
    const struct each each = {.report = report, .out = out, .quiet = quiet};

    return all_ports(&each, which);
}

uint32_t sim_counters_json(struct jout *jout, const struct sim_report *report, const char *which)
{
    const struct each each = {.report = report, .jout = jout};

    jout_open(jout, "ports", '[');
    uint32_t shown = all_ports(&each, which);
    jout_close(jout);
    return shown;
}
