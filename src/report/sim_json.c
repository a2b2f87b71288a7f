/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run as JSON: one object; keys keep their order and are always there.  `rocelab help fields sim` says what each
 * means.
 */
#include "report/rows/rows.h"
#include "report/sim_report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/fabric.h"
#include "fabric/switches.h"

const char *sim_state_name(enum sim_state state)
{
    static const char *const name[] = {"running", "done", "until", "stuck", "deadlock", "failed"};
    return name[state];
}

const char *sim_endpoint_name(const struct fabric *fabric, uint32_t endpoint, char buf[FABRIC_NAME])
{
    return fabric_port_name(fabric, fabric->endpoint[endpoint].port, buf);
}

static void json_endpoint(struct jout *jout, const char *key, const struct fabric *fabric, uint32_t endpoint)
{
    char name[FABRIC_NAME];

    jout_text(jout, key, sim_endpoint_name(fabric, endpoint, name));
}

static void json_ends(struct jout *jout, const char *key, const struct sim_report *report, uint32_t first,
                      uint32_t count)
{
    jout_open_line(jout, key, '[');
    for (uint32_t i = 0; i < count; i++)
        json_endpoint(jout, NULL, report->fabric, report->result->end[first + i]);
    jout_close(jout);
}

/* Lists of thousands are not written again for each repetition. */
static void json_job_ends(struct jout *jout, const struct sim_report *report, const struct sim_job *job)
{
    const struct sim_job *before = job > report->result->job ? job - 1 : NULL;

    if (before && before->job == job->job && before->first_from == job->first_from) {
        jout_null(jout, "from");
        jout_null(jout, "to");
        return;
    }
    json_ends(jout, "from", report, job->first_from, job->froms);
    json_ends(jout, "to", report, job->first_to, job->tos);
}

static void json_job(struct jout *jout, const struct sim_report *report, const struct sim_job *job)
{
    jout_open_line(jout, NULL, '{');
#include "report/rows/job.def"
    jout_close(jout);
}

static void json_path(struct jout *jout, const struct sim_report *report, const struct sim_flow *flow)
{
    char name[FABRIC_NAME];

    if (flow->hops == 0) {
        jout_null(jout, "path");
        return;
    }
    JOUT_LIST_LINE(
        jout, "path", i, flow->hops,
        jout_text(jout, NULL, fabric_port_name(report->fabric, report->result->hop[flow->first_hop + i], name)));
}

static void json_flow(struct jout *jout, const struct sim_report *report, const struct sim_flow *flow)
{
    const struct fabric *fabric = report->fabric;
    char src[FABRIC_NAME], dst[FABRIC_NAME];

    jout_open_line(jout, NULL, '{');
#include "report/rows/flow.def"
    jout_close(jout);
}

static void json_drops(struct jout *jout, const struct sim_report *report, const struct sim_port *port)
{
    const char *const *name = port->sw ? sw_drop_name : nic_drop_name;
    const uint64_t *drop = sim_port_drops(report, port);
    int count = port->sw ? SW_DROPS : NIC_DROPS;

    jout_open_line(jout, "drops_by", '{');
    for (int i = 0; i < count; i++)
        if (drop[i]) jout_u64(jout, name[i], drop[i]);
    jout_close(jout);
}

static void json_switch_prio(struct jout *jout, unsigned priority, const struct sw_prio_counters *count)
{
    if (!(count->tx_bytes | count->drops | count->queue_max_bytes | count->headroom_max_bytes | count->tx_xoff |
          count->rx_xoff | count->tx_pause_ps | count->rx_pause_ps | count->rx_bytes))
        return;
    jout_open_line(jout, NULL, '{');
#include "report/rows/port_priority.def"
    jout_close(jout);
}

static void json_nic_prio(struct jout *jout, unsigned priority, const struct nic_prio_counters *count)
{
    if (!(count->tx_bytes | count->tx_pause | count->rx_pause | count->rx_pause_ps)) return;
    jout_open_line(jout, NULL, '{');
    jout_u64(jout, "priority", priority);
    jout_u64(jout, "tx_bytes", count->tx_bytes);
    jout_u64(jout, "xoff_tx", count->tx_pause);
    jout_u64(jout, "xoff_rx", count->rx_pause);
    jout_u64(jout, "paused_ps", count->rx_pause_ps);
    jout_u64(jout, "tx_packets", count->tx_packets);
    jout_u64(jout, "paused", count->rx_pause_transition);
    jout_u64(jout, "pfc_tx", count->tx_pause + count->tx_resume);
    jout_u64(jout, "pfc_rx", count->rx_pause + count->rx_resume);
    jout_close(jout);
}

static void json_optic(struct jout *jout, const char *key, const struct sim_port *port)
{
    if (port->pre_fec_ber) jout_fixed(jout, key, port->pre_fec_ber / 1000000, 12);
}

static void json_mtu(struct jout *jout, const char *key, const struct sim_port *port)
{
    if (port->sw) jout_known(jout, key, port->mtu_bytes, port->mtu_bytes != 0);
}

static void json_priorities(struct jout *jout, const char *key, const struct sim_port *port, uint8_t bits)
{
    if (port->sw == NULL) return;
    jout_open_line(jout, key, '[');
    for (unsigned p = 0; p < FABRIC_PRIOS; p++)
        if (bits >> p & 1) jout_u64(jout, NULL, p);
    jout_close(jout);
}

/* As the SAI proposal names them, without its prefix. */
static void json_llr(struct jout *jout, const struct llr_counters *llr)
{
    if (llr == NULL) return;
    jout_open_line(jout, "llr", '{');
#define X(name, help) jout_u64(jout, #name, llr->name);
    LLR_COUNTER_LIST(X)
#undef X
    jout_close(jout);
}

/* As perfquery prints them. */
static void json_infiniband(struct jout *jout, const char *key, const struct sim_port *port)
{
    if (!port->has_infiniband) return;
    jout_open(jout, key, '{');
#define IB(field, name, metric, per, help) jout_u64(jout, name, port->infiniband.field / (per));
#include "observe/infiniband.def"
#undef IB
    jout_close(jout);
}

static void json_switch_prios(struct jout *jout, const char *key, const struct sw_port_counters *sw)
{
    jout_open_line(jout, key, '[');
    for (unsigned p = 0; sw && p < FABRIC_PRIOS; p++)
        json_switch_prio(jout, p, &sw->prio[p]);
    jout_close(jout);
}

static void json_port(struct jout *jout, const struct sim_report *report, const struct sim_port *port)
{
    const struct fabric *fabric = report->fabric;
    const struct sw_port_counters *sw = port->sw;
    bool credits = port->credits_sent || port->credits_received;
    char name[FABRIC_NAME];

    jout_open_line(jout, NULL, '{');
#include "report/rows/port.def"
    jout_close(jout);
}

/* The transport's own counters, by the names that its users know. */
static void json_nstat(struct jout *jout, const char *key, const struct sim_nic *nic)
{
    uint64_t value;

    if (!nic->has_tcp) return;
    jout_open(jout, key, '{');
    for (const struct tcp_counter *counter = tcp_counter_list; counter->name; counter++) {
        memcpy(&value, (const char *)&nic->tcp + counter->offset, sizeof(value));
        jout_u64(jout, counter->name, value);
    }
    jout_close(jout);
}

static void json_uet(struct jout *jout, const char *key, const struct sim_nic *nic)
{
    uint64_t value;

    if (!nic->has_uet) return;
    jout_open(jout, key, '{');
    for (const struct uet_counter *counter = uet_counter_list; counter->name; counter++) {
        memcpy(&value, (const char *)&nic->uet + counter->offset, sizeof(value));
        jout_u64(jout, counter->name, value);
    }
    jout_close(jout);
}

static void json_nic_prios(struct jout *jout, const char *key, const struct nic_counters *c)
{
    jout_open_line(jout, key, '[');
    for (unsigned p = 0; c && p < FABRIC_PRIOS; p++)
        json_nic_prio(jout, p, &c->prio[p]);
    jout_close(jout);
}

static void json_nic(struct jout *jout, const struct sim_report *report, const struct sim_nic *nic)
{
    const struct fabric *fabric = report->fabric;
    const struct endpoint_counters *common = &nic->common;
    const struct nic_counters *c = nic->counters;

    jout_open_line(jout, NULL, '{');
#include "report/rows/nic.def"
    jout_close(jout);
}

bool sim_json_write(FILE *out, const struct sim_report *report)
{
    struct jout *jout = jout_begin(out, report->program ? "up" : "sim");
    const struct sim_result *result = report->result;
    const struct fabric *fabric = report->fabric;
    char digest[17];

    if (jout == NULL) return false;
    snprintf(digest, sizeof(digest), "%016" PRIx64, result->digest);
#include "report/rows/sim.def"
    if (report->real) jout_u64(jout, "stood_still_ns", report->stood_still_ns);
    if (report->real) jout_u64(jout, "real_ns", report->real_ns);
    sim_json_verdict(jout, report);
    sim_json_programs(jout, report);
    JOUT_LIST(jout, "jobs", i, result->jobs, json_job(jout, report, &result->job[i]));
    sim_collectives_json(jout, report);
    sim_training_json(jout, report);
    sim_slowdowns_json(jout, report);
    sim_json_trouble(jout, report);
    sim_json_faults(jout, report);
    sim_json_balance(jout, report);
    sim_json_latency(jout, report);
    sim_json_fabric(jout, report);
#include "report/rows/sim_objects.def"
    sim_json_events(jout, report);
    sim_json_series(jout, report);
    return jout_end(jout);
}
