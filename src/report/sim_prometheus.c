/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every metric of a run, as Prometheus reads them: what it came to (text exposition format, version 0.0.4), or over
 * time (OpenMetrics, for `promtool tsdb create-blocks-from openmetrics`).
 *
 * Names, units and help are the catalogue's, values a series'.  NICs have the names that dashboards for real ones ask
 * for: rdma_*, and for those that node_exporter renames node_infiniband_* too.  Times are in seconds, to the
 * picosecond, except for rdma_roce_pfc_pause_duration_total, which rdma_exporter has in microseconds.  Of the
 * priorities, those appear that were used anywhere in the fabric.
 *
 * Over time, a run of milliseconds is shown in slow motion: its clock is stretched, and with it whatever has seconds in
 * its unit, so that shares of time are what they were.  A value that never changes is written every four minutes of
 * that clock, for Prometheus forgets it after five.
 *
 * Queue pairs have no rows here: they are too many, and JSON has those that were chosen.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "fabric/fabric.h"
#include "fabric/switches.h"
#include "observe/series.h"
#include "report/sim_report.h"

#define EPOCH_S 1767225600ull /* 2026-01-01 00:00 UTC: where a run that is stretched begins */
#define AGAIN_S 240
#define LABELS 1024

struct exposition {
    FILE *out;
    const struct fabric *fabric;
    const struct series *series;
    uint32_t steps;
    uint64_t *value; /* [steps] of the row at hand */
    bool over_time;
    double stretch;
    uint8_t nic_prios, switch_prios; /* bit p: used */
    char family[96];                 /* whose head has been written */
};

static const struct { /* what node_exporter calls some of them */
    const char *name, *other;
} node_names[] = {
    {"rdma_np_cnp_sent_total", "node_infiniband_np_cnp_packets_sent_total"},
    {"rdma_np_ecn_marked_roce_packets_total", "node_infiniband_np_ecn_marked_roce_packets_received_total"},
    {"rdma_rp_cnp_handled_total", "node_infiniband_rp_cnp_packets_handled_total"},
    {"rdma_rp_cnp_ignored_total", "node_infiniband_rp_cnp_ignored_packets_received_total"},
    {"rdma_packet_seq_err_total", "node_infiniband_packet_sequence_errors_total"},
    {"rdma_out_of_sequence_total", "node_infiniband_out_of_sequence_packets_received_total"},
    {"rdma_local_ack_timeout_err_total", "node_infiniband_local_ack_timeout_errors_total"},
    {"rdma_rnr_nak_retry_err_total", "node_infiniband_rnr_nak_retry_packets_received_total"},
    {"rdma_out_of_buffer_total", "node_infiniband_out_of_buffer_drops_total"},
    {"rdma_duplicate_request_total", "node_infiniband_duplicate_requests_packets_total"},
};

static const char *const role_name[FABRIC_ROLES] = {
#define X(id, name, prefix) name,
    FABRIC_ROLE_LIST(X)
#undef X
};

static bool ends_in(const char *name, const char *end)
{
    size_t length = strlen(name), tail = strlen(end);

    return length >= tail && strcmp(name + length - tail, end) == 0;
}

static void unit_out(const struct exposition *e, const char *family, enum observe_unit unit)
{
    static const char *const name[] = {[OBSERVE_BYTES] = "bytes",
                                       [OBSERVE_SECONDS] = "seconds",
                                       [OBSERVE_RATIO] = "ratio",
                                       [OBSERVE_CELSIUS] = "celsius",
                                       [OBSERVE_BIT_ERRORS] = NULL};

    if (unit < sizeof name / sizeof name[0] && name[unit] && ends_in(family, name[unit]))
        fprintf(e->out, "# UNIT %s %s\n", family, name[unit]);
}

/* Once a family, before its first row. */
static void head(struct exposition *e, const struct observe_metric *metric, const char *name)
{
    const char *help =
        metric->label && strcmp(metric->label, "reason") == 0 ? "packets dropped, by reason" : metric->help;
    char family[96];

    if (strcmp(e->family, name) == 0) return;
    snprintf(e->family, sizeof e->family, "%s", name);
    snprintf(family, sizeof family, "%s", name);
    if (e->over_time && ends_in(family, "_total")) family[strlen(family) - strlen("_total")] = '\0';
    fprintf(e->out, "# HELP %s %s\n# TYPE %s %s\n", family, help, family,
            metric->kind == OBSERVE_COUNTER ? "counter" : "gauge");
    if (e->over_time) unit_out(e, family, metric->unit);
}

struct labels {
    char text[LABELS];
    size_t used;
};

/* Backslash and quote of a value are escaped. */
static void label(struct labels *to, const char *key, const char *value)
{
    size_t room = sizeof to->text - 4; /* for the end */
    int more = snprintf(to->text + to->used, room - to->used, "%s%s=\"", to->used ? "," : "", key);

    to->used += more > 0 && to->used + (size_t)more < room ? (size_t)more : 0;
    for (unsigned bytes; (bytes = utf8_length(value, 4)) && *value && to->used + bytes + 1 < room; value += bytes) {
        if (*value == '"' || *value == '\\') to->text[to->used++] = '\\';
        memcpy(to->text + to->used, value, bytes); /* names are of one line and UTF-8; a long one is cut between two */
        to->used += bytes;
    }
    to->text[to->used++] = '"';
    to->text[to->used] = '\0';
}

static void label_number(struct labels *to, const char *key, uint32_t number)
{
    char text[16];

    snprintf(text, sizeof text, "%u", number);
    label(to, key, text);
}

static void cable_labels(const struct exposition *e, uint32_t index, struct labels *to)
{
    const struct fabric_port *port = &e->fabric->port[index], *peer = &e->fabric->port[port->peer];
    const struct fabric_node *node = &e->fabric->node[port->node];
    char name[FABRIC_NAME];

    label(to, "node", node->name);
    label(to, "peer", fabric_port_name(e->fabric, port->peer, name));
    label(to, "from", role_name[node->role]);
    label(to, "to", role_name[e->fabric->node[peer->node].role]);
    if (port->rail == FABRIC_NO_RAIL)
        label(to, "rail", "");
    else
        label_number(to, "rail", port->rail);
}

/* Ranks are numbered job by job. */
static void rank_labels(const struct exposition *e, uint32_t number, struct labels *to)
{
    const struct fabric *fabric = e->fabric;

    for (uint32_t i = 0; i < fabric->jobs; i++) {
        const struct fabric_job *job = &fabric->job[i];
        if (!fabric_job_trains((enum fabric_job_kind)job->kind)) continue;
        if (number >= job->ranks) {
            number -= job->ranks;
            continue;
        }
        uint32_t host = fabric->gpu_host[job->rank[number]];
        char name[FABRIC_NAME + 16];
        snprintf(name, sizeof name, "%s:%u", fabric->node[host].name, job->rank[number] - fabric->first_gpu[host]);
        label(to, "job_name", job->name);
        label_number(to, "rank", number);
        label(to, "gpu", name);
        return;
    }
}

static void object_labels(const struct exposition *e, enum observe_object object, uint32_t number, struct labels *to)
{
    const struct fabric *fabric = e->fabric;
    char name[FABRIC_NAME];

    switch (object) {
    case OBSERVE_OBJECT_INFINIBAND:
        label(to, "device", fabric_port_name(fabric, number, name));
        label(to, "port", "1");
        break;
    case OBSERVE_OBJECT_NIC:
    case OBSERVE_OBJECT_NIC_PRIO:
    case OBSERVE_OBJECT_UET:
    case OBSERVE_OBJECT_TCP:
        label(to, "device", fabric_port_name(fabric, fabric->endpoint[number].port, name));
        label(to, "port", "1");
        break;
    case OBSERVE_OBJECT_PORT:
    case OBSERVE_OBJECT_PORT_COUNTERS:
    case OBSERVE_OBJECT_PORT_PRIO:
    case OBSERVE_OBJECT_LIMITS:
        label(to, "switch", fabric->node[fabric->port[number].node].name);
        label(to, "port", fabric_port_name(fabric, number, name));
        break;
    case OBSERVE_OBJECT_LINK:
    case OBSERVE_OBJECT_CABLE:
        label(to, "port", fabric_port_name(fabric, number, name));
        if (object == OBSERVE_OBJECT_CABLE) cable_labels(e, number, to);
        break;
    case OBSERVE_OBJECT_SWITCH:
        label(to, "switch", fabric->node[fabric->hosts + number].name);
        break;
    case OBSERVE_OBJECT_JOB:
        label(to, "job_name", fabric->job[number].name);
        break;
    case OBSERVE_OBJECT_RANK:
        rank_labels(e, number, to);
        break;
    case OBSERVE_OBJECT_CLASS:
        label(to, "class", fabric->classes[number].name);
        label_number(to, "priority", fabric->classes[number].priority);
        break;
    case OBSERVE_OBJECT_TIER:
        label(to, "from", role_name[number / FABRIC_ROLES]);
        label(to, "to", role_name[number % FABRIC_ROLES]);
        break;
    case OBSERVE_OBJECT_RUN:
    case OBSERVE_OBJECT_CONNECTION:
    case OBSERVE_OBJECT_COMMUNICATOR:
    case OBSERVE_OBJECTS:
        break;
    }
}

static void value_out(const struct exposition *e, enum observe_unit unit, uint64_t value)
{
    bool as_it_was = e->stretch == 1;

    switch (unit) {
    case OBSERVE_SECONDS:
        if (as_it_was)
            fprintf(e->out, "%" PRIu64 ".%012" PRIu64, (uint64_t)(value / PS_S), (uint64_t)(value % PS_S));
        else
            fprintf(e->out, "%.15g", (double)value / (double)PS_S * e->stretch);
        break;
    case OBSERVE_MICROSECONDS:
        if (as_it_was)
            fprintf(e->out, "%" PRIu64, (uint64_t)(value / PS_US));
        else
            fprintf(e->out, "%.15g", (double)value / (double)PS_US * e->stretch);
        break;
    case OBSERVE_RATIO:
        fprintf(e->out, "%" PRIu64 ".%06" PRIu64, value / 1000000, value % 1000000);
        break;
    case OBSERVE_PER_SECOND:
        if (as_it_was)
            fprintf(e->out, "%" PRIu64, value);
        else
            fprintf(e->out, "%.15g", (double)value / e->stretch);
        break;
    case OBSERVE_BIT_ERRORS:
        fprintf(e->out, "%.6g", (double)value * 1e-18);
        break;
    case OBSERVE_NONE:
    case OBSERVE_BYTES:
    case OBSERVE_CELSIUS:
    case OBSERVE_NANOSECONDS: /* of live programs alone */
        fprintf(e->out, "%" PRIu64, value);
        break;
    }
}

/* When a step ended, in milliseconds of the stretched clock. */
static uint64_t step_ms(const struct exposition *e, uint32_t step)
{
    ps_t at = series_first(e->series) + step * series_step(e->series);

    return EPOCH_S * 1000 + (uint64_t)((double)at / (double)PS_MS * e->stretch + 0.5);
}

static void sample_out(const struct exposition *e, const struct observe_metric *metric, const char *name,
                       const char *labels, uint32_t step)
{
    fprintf(e->out, "%s{%s} ", name, labels);
    value_out(e, metric->unit, e->value[step]);
    if (e->over_time) {
        uint64_t at = step_ms(e, step);
        fprintf(e->out, " %" PRIu64 ".%03u", at / 1000, (unsigned)(at % 1000));
    }
    fputc('\n', e->out);
}

static void samples_out(struct exposition *e, const struct observe_metric *metric, const char *name, const char *labels)
{
    uint32_t first = e->over_time ? 0 : e->steps - 1;
    uint64_t due = 0;
    bool same = true;

    if (metric->object == OBSERVE_OBJECT_TIER) /* known at the end, and true of the whole run */
        for (uint32_t i = 0; i < e->steps; i++)
            e->value[i] = e->value[e->steps - 1];
    for (uint32_t i = 1; i < e->steps; i++)
        same &= e->value[i] == e->value[0];
    for (uint32_t i = first; i < e->steps; i++) {
        if (metric->kind == OBSERVE_SPARSE && e->value[i] == 0) continue;
        if (same && step_ms(e, i) < due && i + 1 < e->steps) continue;
        due = step_ms(e, i) + AGAIN_S * 1000;
        head(e, metric, name);
        sample_out(e, metric, name, labels, i);
    }
}

static void row_out(struct exposition *e, uint32_t index, const char *name, uint32_t number, uint32_t priority)
{
    const struct observe_metric *metric = &series_catalogue(e->series)->metric[index];
    struct labels labels = {.used = 0};
    bool by_priority = observe_priorities(metric->object) > 1, any;

    any = series_read(e->series, index, number, priority, e->value);
    if (!any && metric->object == OBSERVE_OBJECT_TIER) return; /* not a tier, or not known */
    label(&labels, "fabric", e->fabric->name);
    object_labels(e, metric->object, number, &labels);
    if (metric->label) label(&labels, metric->label, metric->word);
    if (by_priority) label_number(&labels, "priority", priority);
    samples_out(e, metric, name, labels.text);
}

/* Whether the fabric has this object: ports are numbered with those that have no cable, or are a host's. */
static bool exists(const struct exposition *e, enum observe_object object, uint32_t number)
{
    const struct fabric *fabric = e->fabric;

    switch (object) {
    case OBSERVE_OBJECT_PORT:
    case OBSERVE_OBJECT_PORT_COUNTERS:
    case OBSERVE_OBJECT_PORT_PRIO:
    case OBSERVE_OBJECT_LIMITS:
        return fabric->port[number].peer != FABRIC_NONE && fabric->port[number].node >= fabric->hosts;
    case OBSERVE_OBJECT_LINK:
    case OBSERVE_OBJECT_CABLE:
        return fabric->port[number].peer != FABRIC_NONE;
    default:
        return object != OBSERVE_OBJECT_CONNECTION;
    }
}

static bool priority_used(const struct exposition *e, enum observe_object object, uint32_t priority)
{
    if (observe_priorities(object) == 1) return true;
    return (object == OBSERVE_OBJECT_NIC_PRIO ? e->nic_prios : e->switch_prios) >> priority & 1;
}

static void metric_out(struct exposition *e, uint32_t index, const char *name)
{
    enum observe_object object = series_catalogue(e->series)->metric[index].object;

    for (uint32_t i = 0; i < series_objects(e->series, object); i++)
        for (uint32_t p = 0; exists(e, object, i) && p < observe_priorities(object); p++)
            if (priority_used(e, object, p)) row_out(e, index, name, i, p);
}

static void find_priorities(struct exposition *e)
{
    const struct observe_catalogue *catalogue = series_catalogue(e->series);

    for (uint32_t m = 0; m < catalogue->count; m++) {
        enum observe_object object = catalogue->metric[m].object;
        uint8_t *prios = object == OBSERVE_OBJECT_NIC_PRIO ? &e->nic_prios : &e->switch_prios;
        if (object != OBSERVE_OBJECT_NIC_PRIO && object != OBSERVE_OBJECT_PORT_COUNTERS) continue;
        for (uint32_t i = 0; i < series_objects(e->series, object); i++)
            for (uint32_t p = 0; p < OBSERVE_PRIORITIES; p++)
                if (series_has(e->series, m, i, p)) *prios |= (uint8_t)(1u << p);
    }
}

static bool expose(struct exposition *e)
{
    const struct observe_catalogue *catalogue = series_catalogue(e->series);

    e->steps = series_steps(e->series);
    e->value = calloc(e->steps + 1u, sizeof(*e->value));
    if (e->value == NULL) return false;
    find_priorities(e);
    for (uint32_t m = 0; m < catalogue->count && e->steps > 0; m++) {
        metric_out(e, m, catalogue->metric[m].name);
        for (size_t i = 0; i < sizeof node_names / sizeof node_names[0]; i++)
            if (strcmp(catalogue->metric[m].name, node_names[i].name) == 0) metric_out(e, m, node_names[i].other);
    }
    free(e->value);
    return true;
}

bool sim_prometheus(FILE *out, const struct fabric *fabric, const struct series *series)
{
    struct exposition e = {.out = out, .fabric = fabric, .series = series, .stretch = 1};

    return expose(&e);
}

bool sim_openmetrics(FILE *out, const struct fabric *fabric, const struct series *series, double stretch)
{
    struct exposition e = {.out = out, .fabric = fabric, .series = series, .stretch = stretch, .over_time = true};

    if (!expose(&e)) return false;
    fputs("# EOF\n", out);
    return true;
}
