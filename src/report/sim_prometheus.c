/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every counter of a run in Prometheus' text exposition format, version 0.0.4.
 *
 * Adapters have the names that dashboards for real ones ask for: rdma_<counter>_total as rdma_exporter makes them of
 * mlx5's hw_counters (ours have mlx5's names where it has one), pauses as rdma_roce_pfc_*, and for those that
 * node_exporter renames, node_infiniband_* too.  Switches have rocelab_switch_*.  Names and help come from the
 * machines' own lists.
 *
 * Counters end in _total; what ends in _ps there is in seconds here, to the picosecond, except for
 * rdma_roce_pfc_pause_duration_total, which rdma_exporter has in microseconds.  A high-water mark is a gauge.  Of the
 * priorities, those appear that were used anywhere in the fabric.
 */
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "report/sim_report.h"

struct prometheus {
    FILE *out;
    const struct fabric *fabric;
    const struct sim_result *result;
    uint8_t nic_prios, switch_prios; /* bit p: used */
};

static const struct { /* what node_exporter calls some of them */
    const char *counter, *name;
} node_names[] = {
    {"np_cnp_sent", "np_cnp_packets_sent"},
    {"np_ecn_marked_roce_packets", "np_ecn_marked_roce_packets_received"},
    {"rp_cnp_handled", "rp_cnp_packets_handled"},
    {"rp_cnp_ignored", "rp_cnp_ignored_packets_received"},
    {"packet_seq_err", "packet_sequence_errors"},
    {"out_of_sequence", "out_of_sequence_packets_received"},
    {"local_ack_timeout_err", "local_ack_timeout_errors"},
    {"rnr_nak_retry_err", "rnr_nak_retry_packets_received"},
    {"out_of_buffer", "out_of_buffer_drops"},
    {"duplicate_request", "duplicate_requests_packets"},
};

static uint64_t value_at(const void *base, size_t offset)
{
    uint64_t value;

    memcpy(&value, (const char *)base + offset, sizeof(value));
    return value;
}

static bool ends_in(const char *name, const char *end)
{
    size_t length = strlen(name), tail = strlen(end);

    return length >= tail && strcmp(name + length - tail, end) == 0;
}

static void head(const struct prometheus *p, const char *name, const char *type, const char *help)
{
    fprintf(p->out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* A label's value: backslash, quote and newline are escaped. */
static void label(FILE *out, const char *before, const char *key, const char *value)
{
    fprintf(out, "%s%s=\"", before, key);
    for (; *value; value++) {
        if (*value == '\n')
            fputs("\\n", out);
        else if (*value == '"' || *value == '\\')
            fprintf(out, "\\%c", *value);
        else
            fputc(*value, out);
    }
    fputc('"', out);
}

static void seconds(FILE *out, uint64_t value_ps)
{
    fprintf(out, "%" PRIu64 ".%012" PRIu64, (uint64_t)(value_ps / PS_S), (uint64_t)(value_ps % PS_S));
}

static void nic_labels(const struct prometheus *p, const char *metric, uint32_t nic)
{
    char name[FABRIC_NAME];

    fputs(metric, p->out);
    label(p->out, "{", "device",
          fabric_port_name(p->fabric, p->fabric->endpoint[p->result->nic[nic].endpoint].port, name));
    label(p->out, ",", "port", "1");
}

static void nic_family(const struct prometheus *p, const char *metric, const char *type, const char *help,
                       size_t offset)
{
    head(p, metric, type, help);
    for (uint32_t i = 0; i < p->result->nics; i++) {
        nic_labels(p, metric, i);
        fprintf(p->out, "} %" PRIu64 "\n", value_at(p->result->nic[i].counters, offset));
    }
}

static void nic_counters_out(const struct prometheus *p)
{
    char metric[96];

    for (const struct nic_counter *counter = nic_counter_list; counter->name; counter++) {
        bool mark = ends_in(counter->name, "_max_bytes");
        if (strncmp(counter->name, "drop_", 5) == 0) continue;
        snprintf(metric, sizeof metric, "rdma_%s%s", counter->name, mark ? "" : "_total");
        nic_family(p, metric, mark ? "gauge" : "counter", counter->help, counter->offset);
        for (size_t i = 0; i < sizeof node_names / sizeof node_names[0]; i++) {
            if (strcmp(counter->name, node_names[i].counter) != 0) continue;
            snprintf(metric, sizeof metric, "node_infiniband_%s_total", node_names[i].name);
            nic_family(p, metric, "counter", counter->help, counter->offset);
        }
    }
    head(p, "rdma_drops_total", "counter", "packets the adapter dropped, by reason");
    for (uint32_t i = 0; i < p->result->nics; i++) {
        for (int d = 0; d < NIC_DROPS; d++) {
            nic_labels(p, "rdma_drops_total", i);
            label(p->out, ",", "reason", nic_drop_name[d]);
            fprintf(p->out, "} %" PRIu64 "\n", p->result->nic[i].counters->drop[d]);
        }
    }
}

/* How a counter by priority is called where rdma_exporter has it; `rx` in our name: the peer paused this adapter. */
static const char *nic_prio_metric(const char *name, const char **ret_help, char buf[96])
{
    const char *rest = name + 3;

    if (strcmp(rest, "pause") == 0) {
        *ret_help = "PFC frames that pause; rx: the peer paused this adapter";
        return "rdma_roce_pfc_pause_frames_total";
    }
    if (strcmp(rest, "resume") == 0) {
        *ret_help = "PFC frames that end a pause";
        return "rdma_roce_pfc_resume_frames_total";
    }
    if (strcmp(rest, "pause_ps") == 0) {
        *ret_help = "microseconds for which the priority was paused";
        return "rdma_roce_pfc_pause_duration_total";
    }
    if (strcmp(rest, "pause_transition") == 0) {
        *ret_help = "times the priority went from sending to paused";
        return "rdma_roce_pfc_pause_transitions_total";
    }
    snprintf(buf, 96, "rdma_netdev_prio_%s_total", rest);
    return buf;
}

static void nic_prio_rows(const struct prometheus *p, const char *metric, const struct nic_counter *counter)
{
    const char direction[3] = {counter->name[0], counter->name[1], '\0'};

    for (uint32_t i = 0; i < p->result->nics; i++) {
        for (int prio = 0; prio < 8; prio++) {
            uint64_t value = value_at(&p->result->nic[i].counters->prio[prio], counter->offset);
            char digit[2] = {(char)('0' + prio), '\0'};
            if (!(p->nic_prios >> prio & 1)) continue;
            nic_labels(p, metric, i);
            label(p->out, ",", "direction", direction);
            label(p->out, ",", "priority", digit);
            fprintf(p->out, "} %" PRIu64 "\n", ends_in(counter->name, "_ps") ? (uint64_t)(value / PS_US) : value);
        }
    }
}

/* rx and tx of one kind are one metric: those of the second kind follow where the first is. */
static void nic_prios_out(const struct prometheus *p)
{
    const struct nic_counter *const list = nic_prio_counter_list;

    for (const struct nic_counter *counter = list; counter->name; counter++) {
        const char *help = counter->help, *metric;
        const struct nic_counter *other;
        bool seen = false;
        char buf[96];

        for (other = list; other < counter; other++)
            seen |= strcmp(other->name + 3, counter->name + 3) == 0;
        if (seen) continue;
        metric = nic_prio_metric(counter->name, &help, buf);
        head(p, metric, "counter", help);
        for (other = counter; other->name; other++)
            if (strcmp(other->name + 3, counter->name + 3) == 0) nic_prio_rows(p, metric, other);
    }
}

static void switch_labels(const struct prometheus *p, const char *metric, uint32_t port)
{
    const struct fabric_port *from = &p->fabric->port[port];
    char name[FABRIC_NAME];

    fputs(metric, p->out);
    label(p->out, "{", "switch", p->fabric->node[from->node].name);
    label(p->out, ",", "port", fabric_port_name(p->fabric, port, name));
}

static void switch_ports_out(const struct prometheus *p)
{
    char metric[96];

    for (const struct sw_counter *counter = sw_port_counter_list; counter->name; counter++) {
        if (strncmp(counter->name, "drop_", 5) == 0) continue;
        snprintf(metric, sizeof metric, "rocelab_switch_port_%s_total", counter->name);
        head(p, metric, "counter", counter->help);
        for (uint32_t i = 0; i < p->result->ports; i++) {
            const struct sim_port *port = &p->result->port[i];
            if (port->sw == NULL) continue;
            switch_labels(p, metric, port->port);
            fprintf(p->out, "} %" PRIu64 "\n", value_at(port->sw, counter->offset));
        }
    }
    head(p, "rocelab_switch_port_drops_total", "counter", "packets the switch dropped, by reason");
    for (uint32_t i = 0; i < p->result->ports; i++) {
        const struct sim_port *port = &p->result->port[i];
        for (int d = 0; port->sw && d < SW_DROPS; d++) {
            switch_labels(p, "rocelab_switch_port_drops_total", port->port);
            label(p->out, ",", "reason", sw_drop_name[d]);
            fprintf(p->out, "} %" PRIu64 "\n", port->sw->drop[d]);
        }
    }
}

static void switch_prio_rows(const struct prometheus *p, const char *metric, const struct sw_counter *counter,
                             bool is_time)
{
    for (uint32_t i = 0; i < p->result->ports; i++) {
        const struct sim_port *port = &p->result->port[i];
        for (int prio = 0; port->sw && prio < 8; prio++) {
            uint64_t value = value_at(&port->sw->prio[prio], counter->offset);
            char digit[2] = {(char)('0' + prio), '\0'};
            if (!(p->switch_prios >> prio & 1)) continue;
            switch_labels(p, metric, port->port);
            label(p->out, ",", "priority", digit);
            fputs("} ", p->out);
            if (is_time)
                seconds(p->out, value);
            else
                fprintf(p->out, "%" PRIu64, value);
            fputc('\n', p->out);
        }
    }
}

static void switch_prios_out(const struct prometheus *p)
{
    char metric[96];

    for (const struct sw_counter *counter = sw_prio_counter_list; counter->name; counter++) {
        bool is_time = ends_in(counter->name, "_ps"), mark = counter->kind == SW_COUNTER_MAX;
        int kept = (int)strlen(counter->name) - (is_time ? 3 : 0);
        snprintf(metric, sizeof metric, "rocelab_switch_%.*s%s%s", kept, counter->name, is_time ? "_seconds" : "",
                 mark ? "" : "_total");
        head(p, metric, mark ? "gauge" : "counter", counter->help);
        switch_prio_rows(p, metric, counter, is_time);
    }
}

static void port_family(const struct prometheus *p, const char *metric, const char *help, size_t offset)
{
    char name[FABRIC_NAME];

    head(p, metric, "counter", help);
    for (uint32_t i = 0; i < p->result->ports; i++) {
        fputs(metric, p->out);
        label(p->out, "{", "port", fabric_port_name(p->fabric, p->result->port[i].port, name));
        fprintf(p->out, "} %" PRIu64 "\n", value_at(&p->result->port[i], offset));
    }
}

static void run_out(const struct prometheus *p)
{
    head(p, "rocelab_sim_virtual_seconds", "gauge", "how far the run came");
    fputs("rocelab_sim_virtual_seconds ", p->out);
    seconds(p->out, p->result->virtual_ps);
    fputc('\n', p->out);
    head(p, "rocelab_sim_packet_hops_total", "counter", "deliveries on links");
    fprintf(p->out, "rocelab_sim_packet_hops_total %" PRIu64 "\n", p->result->packet_hops);
    port_family(p, "rocelab_link_tx_frames_total", "frames sent, pauses included", offsetof(struct sim_port, frames));
    port_family(p, "rocelab_link_tx_line_bytes_total", "what they occupied of the line, preamble and gap included",
                offsetof(struct sim_port, line_bytes));
    port_family(p, "rocelab_link_lost_packets_total", "lost on the line: corruption, or a link that was down",
                offsetof(struct sim_port, lost));
}

static bool any_set(const void *from, size_t bytes)
{
    const unsigned char *byte = from;

    for (size_t i = 0; i < bytes; i++)
        if (byte[i]) return true;
    return false;
}

void sim_prometheus(FILE *out, const struct sim_report *report)
{
    struct prometheus p = {.out = out, .fabric = report->fabric, .result = report->result};

    for (int prio = 0; prio < 8; prio++) {
        for (uint32_t i = 0; i < p.result->nics; i++)
            if (any_set(&p.result->nic[i].counters->prio[prio], sizeof(struct nic_prio_counters)))
                p.nic_prios |= (uint8_t)(1u << prio);
        for (uint32_t i = 0; i < p.result->ports; i++)
            if (p.result->port[i].sw && any_set(&p.result->port[i].sw->prio[prio], sizeof(struct sw_prio_counters)))
                p.switch_prios |= (uint8_t)(1u << prio);
    }
    run_out(&p);
    nic_counters_out(&p);
    nic_prios_out(&p);
    switch_ports_out(&p);
    switch_prios_out(&p);
}
