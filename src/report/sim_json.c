/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run as JSON: one object; keys keep their order and are always there.  docs/json.md says what each means.
 */
#include "report/sim_report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/fabric.h"
#include "fabric/switches.h"

static const char *state_name(enum sim_state state)
{
    static const char *const name[] = {"running", "done", "until", "stuck", "deadlock", "failed"};
    return name[state];
}

static void json_endpoint(struct jout *jout, const char *key, const struct fabric *fabric, uint32_t endpoint)
{
    char name[FABRIC_NAME];

    jout_text(jout, key, fabric_port_name(fabric, fabric->endpoint[endpoint].port, name));
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
    jout_text(jout, "name", job->name);
    jout_bool(jout, "coupled", sim_job_coupled(&report->fabric->job[job->job]));
    jout_u64(jout, "priority", report->fabric->classes[report->fabric->job[job->job].job_class].priority);
    jout_u64(jout, "repetition", job->repetition);
    jout_u64(jout, "ranks", job->ranks);
    jout_u64(jout, "bytes", job->bytes);
    jout_time(jout, "start_ps", job->start);
    jout_time(jout, "time_ps", job->end == PS_NEVER ? PS_NEVER : job->end - job->start);
    jout_time(jout, "ideal_ps", job->ideal_ps);
    jout_u64(jout, "inside_ps", job->inside_ps);
    if (job->sharp_ps != PS_NEVER) jout_time(jout, "sharp_ps", job->sharp_ps);
    jout_time(jout, "failed_ps", job->failed_at);
    jout_bool(jout, "stuck", sim_job_is_stuck(report->result, job));
    jout_fixed(jout, "algbw_GBps", sim_bandwidth_kBps(job, false), 6);
    jout_fixed(jout, "busbw_GBps", sim_bandwidth_kBps(job, true), 6);
    json_job_ends(jout, report, job);
    jout_close(jout);
}

static void json_path(struct jout *jout, const struct sim_report *report, const struct sim_flow *flow)
{
    char name[FABRIC_NAME];

    if (flow->hops == 0) {
        jout_null(jout, "path");
        return;
    }
    jout_open_line(jout, "path", '[');
    for (uint32_t i = 0; i < flow->hops; i++)
        jout_text(jout, NULL, fabric_port_name(report->fabric, report->result->hop[flow->first_hop + i], name));
    jout_close(jout);
}

static void json_flow(struct jout *jout, const struct sim_report *report, const struct sim_flow *flow)
{
    const struct fabric *fabric = report->fabric;

    jout_open_line(jout, NULL, '{');
    jout_u64(jout, "id", flow->id);
    json_endpoint(jout, "src", fabric, flow->src);
    json_endpoint(jout, "dst", fabric, flow->dst);
    jout_u64(jout, "bytes", flow->bytes);
    jout_time(jout, "start_ps", flow->start);
    jout_time(jout, "fct_ps", flow->fct_ps);
    jout_time(jout, "ideal_ps", flow->ideal_ps);
    jout_text(jout, "job", fabric->job[flow->job].name);
    jout_bool(jout, "failed", flow->failed);
    jout_u64(jout, "acked_bytes", flow->acked_bytes);
    jout_u64(jout, "goodput_bps", flow->goodput_bps);
    json_path(jout, report, flow);
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
    jout_u64(jout, "priority", priority);
    jout_u64(jout, "tx_bytes", count->tx_bytes);
    jout_u64(jout, "ecn_marked", count->ecn_marked);
    jout_u64(jout, "drops", count->drops);
    jout_u64(jout, "queue_max_bytes", count->queue_max_bytes);
    jout_u64(jout, "headroom_max_bytes", count->headroom_max_bytes);
    jout_u64(jout, "xoff_tx", count->tx_xoff);
    jout_u64(jout, "xoff_rx", count->rx_xoff);
    jout_u64(jout, "paused_ps", count->rx_pause_ps);
    jout_u64(jout, "pausing_ps", count->tx_pause_ps);
    jout_u64(jout, "tx_packets", count->tx_packets);
    jout_u64(jout, "rx_packets", count->rx_packets);
    jout_u64(jout, "rx_bytes", count->rx_bytes);
    jout_u64(jout, "group_max_bytes", count->pg_max_bytes);
    jout_u64(jout, "pfc_tx", count->tx_xoff + count->tx_xoff_refresh + count->tx_xon);
    jout_u64(jout, "pfc_rx", count->rx_xoff + count->rx_xon);
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

static void json_priorities(struct jout *jout, const char *key, uint8_t bits)
{
    jout_open_line(jout, key, '[');
    for (unsigned p = 0; p < FABRIC_PRIOS; p++)
        if (bits >> p & 1) jout_u64(jout, NULL, p);
    jout_close(jout);
}

/* What a device says of its port and the line: as it is now, and what went wrong on it. */
static void json_cable(struct jout *jout, const struct sim_port *port)
{
    jout_bool(jout, "up", port->up);
    jout_u64(jout, "rate_now_bps", port->rate_bps);
    jout_u64(jout, "link_downs", port->downs);
    jout_u64(jout, "crc_errors", port->crc_errors);
    if (port->celsius) jout_u64(jout, "celsius", port->celsius);
    if (port->pre_fec_ber) jout_fixed(jout, "pre_fec_ber", port->pre_fec_ber / 1000000, 12);
    if (port->sw == NULL) return;
    jout_u64(jout, "tx_packets", port->sw->tx_packets);
    jout_u64(jout, "rx_packets", port->sw->rx_packets);
    jout_u64(jout, "rx_bytes", port->sw->rx_bytes);
    if (port->mtu_bytes)
        jout_u64(jout, "mtu_bytes", port->mtu_bytes);
    else
        jout_null(jout, "mtu_bytes");
    json_priorities(jout, "pfc_sends", port->pfc_sends);
    json_priorities(jout, "pfc_obeys", port->pfc_obeys);
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
static void json_infiniband(struct jout *jout, const struct observe_infiniband *from)
{
    jout_open(jout, "perfquery", '{');
#define IB(field, name, metric, per, help) jout_u64(jout, name, from->field / (per));
#include "observe/infiniband.def"
#undef IB
    jout_close(jout);
}

static void json_port(struct jout *jout, const struct sim_report *report, const struct sim_port *port)
{
    const struct fabric *fabric = report->fabric;
    char name[FABRIC_NAME];

    jout_open_line(jout, NULL, '{');
    jout_text(jout, "port", fabric_port_name(fabric, port->port, name));
    jout_u64(jout, "rate_bps", fabric->port[port->port].rate_bps);
    jout_fixed(jout, "utilisation", port->utilisation_ppm, 6);
    jout_u64(jout, "frames", port->frames);
    jout_u64(jout, "line_bytes", port->line_bytes);
    jout_u64(jout, "pfc_tx", port->pauses_sent);
    jout_u64(jout, "pfc_rx", port->pauses_received);
    if (port->credits_sent || port->credits_received) {
        jout_u64(jout, "credits_tx", port->credits_sent);
        jout_u64(jout, "credits_rx", port->credits_received);
    }
    jout_u64(jout, "paused_ps", port->paused_ps);
    if (port->has_infiniband) json_infiniband(jout, &port->infiniband);
    jout_u64(jout, "ecn_marked", port->ecn_marked);
    jout_u64(jout, "queue_max_bytes", port->queue_max_bytes);
    jout_u64(jout, "drops", port->drops);
    json_drops(jout, report, port);
    jout_u64(jout, "lost", port->lost);
    json_cable(jout, port);
    json_llr(jout, port->llr);
    if (port->thresholds == UINT32_MAX)
        jout_null(jout, "thresholds");
    else
        jout_u64(jout, "thresholds", port->thresholds);
    jout_open_line(jout, "priorities", '[');
    for (unsigned p = 0; port->sw && p < FABRIC_PRIOS; p++)
        json_switch_prio(jout, p, &port->sw->prio[p]);
    jout_close(jout);
    jout_close(jout);
}

/* The transport's own counters, by the names that its users know. */
static void json_own(struct jout *jout, const struct sim_nic *nic)
{
    uint64_t value;

    if (nic->has_tcp) {
        jout_open(jout, "nstat", '{');
        for (const struct tcp_counter *counter = tcp_counter_list; counter->name; counter++) {
            memcpy(&value, (const char *)&nic->tcp + counter->offset, sizeof(value));
            jout_u64(jout, counter->name, value);
        }
        jout_close(jout);
    }
    if (nic->has_uet) {
        jout_open(jout, "uet", '{');
        for (const struct uet_counter *counter = uet_counter_list; counter->name; counter++) {
            memcpy(&value, (const char *)&nic->uet + counter->offset, sizeof(value));
            jout_u64(jout, counter->name, value);
        }
        jout_close(jout);
    }
}

static void json_nic(struct jout *jout, const struct sim_report *report, const struct sim_nic *nic)
{
    const struct fabric *fabric = report->fabric;
    const struct endpoint_counters *common = &nic->common;
    const struct nic_counters *c = nic->counters;

    jout_open_line(jout, NULL, '{');
    json_endpoint(jout, "nic", fabric, nic->endpoint);
    jout_u64(jout, "tx_packets", common->tx_packets);
    jout_u64(jout, "rx_packets", common->rx_packets);
    jout_u64(jout, "tx_payload_bytes", common->tx_payload_bytes);
    jout_u64(jout, "rx_payload_bytes", common->rx_payload_bytes);
    jout_u64(jout, "ecn_marked", common->marked);
    jout_u64(jout, "cnps_sent", c ? c->np_cnp_sent : 0);
    jout_u64(jout, "cnps_handled", c ? c->rp_cnp_handled : 0);
    jout_u64(jout, "retransmitted", common->retransmitted_packets);
    jout_u64(jout, "timeouts", common->timeouts);
    jout_u64(jout, "naks", common->nacks);
    jout_u64(jout, "rnr_naks", c ? c->rnr_nak_retry_err : 0);
    jout_u64(jout, "errors", common->errors);
    jout_u64(jout, "tx_data_packets", common->tx_data_packets);
    jout_u64(jout, "tx_bytes", common->tx_bytes);
    jout_u64(jout, "rx_bytes", common->rx_bytes);
    jout_u64(jout, "out_of_sequence", common->out_of_order);
    jout_u64(jout, "out_of_buffer", c ? c->out_of_buffer : 0);
    jout_u64(jout, "discards", c ? c->drop[NIC_DROP_rx_buffer] : common->drops);
    jout_u64(jout, "retry_exceeded", c ? c->retry_exceeded : 0);
    jout_u64(jout, "cnps_ignored", c ? c->rp_cnp_ignored : 0);
    jout_u64(jout, "duplicates", common->duplicates);
    jout_u64(jout, "trimmed", common->trimmed);
    jout_u64(jout, "held_ps", common->held_ps);
    jout_u64(jout, "idle_rate_ps", c ? c->idle_rate_ps : 0);
    jout_u64(jout, "idle_fetch_ps", c ? c->idle_fetch_ps : 0);
    jout_bool(jout, "cnps_wanted", sim_nic_wants_cnps(report, nic));
    if (c)
        jout_u64(jout, "rx_buffer_max_bytes", c->rx_buffer_max_bytes);
    else
        jout_null(jout, "rx_buffer_max_bytes");
    jout_u64(jout, "software_ps", nic->software_ps);
    json_own(jout, nic);
    jout_open_line(jout, "priorities", '[');
    for (unsigned p = 0; c && p < FABRIC_PRIOS; p++)
        json_nic_prio(jout, p, &c->prio[p]);
    jout_close(jout);
    jout_close(jout);
}

void sim_json(struct jout *jout, const struct sim_report *report)
{
    const struct sim_result *result = report->result;
    const struct fabric *fabric = report->fabric;
    char digest[17];

    snprintf(digest, sizeof(digest), "%016" PRIx64, result->digest);
    jout_open(jout, NULL, '{');
    jout_u64(jout, "version", 1);
    jout_text(jout, "kind", report->program ? "up" : "sim");
    jout_text(jout, "fabric", fabric->name);
    jout_text(jout, "system", fabric_system(fabric)->name);
    jout_text(jout, "state", state_name(result->state));
    jout_u64(jout, "seed", report->seed);
    jout_u64(jout, "threads", report->threads);
    jout_u64(jout, "virtual_ps", result->virtual_ps);
    jout_fixed(jout, "setup_s", report->setup_us, 6);
    jout_fixed(jout, "wall_s", report->wall_us, 6);
    jout_u64(jout, "packet_hops", result->packet_hops);
    jout_text(jout, "digest", digest);
    jout_u64(jout, "windows", result->windows);
    jout_u64(jout, "window_ps", result->window_ps);
    if (report->real) {
        jout_u64(jout, "stood_still_ns", report->stood_still_ns);
        jout_u64(jout, "real_ns", report->real_ns);
    }
    sim_json_verdict(jout, report);
    sim_json_programs(jout, report);
    jout_open(jout, "jobs", '[');
    for (uint32_t i = 0; i < result->jobs; i++)
        json_job(jout, report, &result->job[i]);
    jout_close(jout);
    sim_collectives_json(jout, report);
    sim_training_json(jout, report);
    sim_json_trouble(jout, report);
    sim_json_faults(jout, report);
    sim_json_balance(jout, report);
    sim_json_latency(jout, report);
    sim_json_fabric(jout, report);
    jout_open(jout, "flows", '[');
    for (uint32_t i = 0; i < result->flows; i++)
        if (report->flow_chosen == NULL || report->flow_chosen[i]) json_flow(jout, report, &result->flow[i]);
    jout_close(jout);
    jout_open(jout, "ports", '[');
    for (uint32_t i = 0; i < result->ports; i++)
        json_port(jout, report, &result->port[i]);
    jout_close(jout);
    jout_open(jout, "nics", '[');
    for (uint32_t i = 0; i < result->nics; i++)
        json_nic(jout, report, &result->nic[i]);
    jout_close(jout);
    sim_json_events(jout, report);
    sim_json_series(jout, report);
    jout_close(jout);
}

bool sim_json_write(FILE *out, const struct sim_report *report)
{
    struct jout *jout = malloc(sizeof *jout);

    if (jout == NULL) return false;
    jout_init(jout, out);
    sim_json(jout, report);
    bool good = !jout->failed;
    free(jout);
    return good;
}
