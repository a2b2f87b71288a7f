/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics over time: the series of a run that was watched, as JSON and as a table of ports.
 *
 * In the JSON a counter is what it grew by in each step, a gauge what it was at the step's end; a column that is all 0
 * is absent.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "fabric/fabric.h"
#include "report/sim_report.h"

/* What a column is about, as people call it; `ret_port`: the fabric's port, where it is about one. */
static const char *object_name(const struct sim_report *report, enum observe_object object, uint32_t number,
                               char buf[2 * FABRIC_NAME + 1], uint32_t *ret_port)
{
    const struct fabric *fabric = report->fabric;

    *ret_port = FABRIC_NONE;
    switch (object) {
    case OBSERVE_OBJECT_NIC:
    case OBSERVE_OBJECT_NIC_PRIO:
        *ret_port = fabric->endpoint[number].port;
        return fabric_port_name(fabric, *ret_port, buf);
    case OBSERVE_OBJECT_PORT:
    case OBSERVE_OBJECT_PORT_COUNTERS:
    case OBSERVE_OBJECT_PORT_PRIO:
    case OBSERVE_OBJECT_LINK:
        *ret_port = number;
        return fabric_port_name(fabric, number, buf);
    case OBSERVE_OBJECT_SWITCH:
        return fabric->node[fabric->hosts + number].name;
    case OBSERVE_OBJECT_JOB:
        return fabric->job[number].name;
    case OBSERVE_OBJECT_CONNECTION: {
        const struct sim_connection_sample *ends = &report->series_connection[number];
        char from[FABRIC_NAME], to[FABRIC_NAME];
        snprintf(buf, 2 * FABRIC_NAME + 1, "%s>%s", fabric_port_name(fabric, fabric->endpoint[ends->src].port, from),
                 fabric_port_name(fabric, fabric->endpoint[ends->dst].port, to));
        return buf;
    }
    default:
        return "";
    }
}

static void json_column(struct jout *jout, const struct sim_report *report, uint32_t metric, uint32_t number,
                        uint32_t priority, const char *name, uint64_t *value)
{
    const struct series *series = report->series;
    const struct observe_metric *about = &series_catalogue(series)->metric[metric];

    series_read(series, metric, number, priority, value);
    for (uint32_t i = series_steps(series); about->kind == OBSERVE_COUNTER && i-- > 1;)
        value[i] -= value[i - 1];
    jout_open_line(jout, NULL, '{');
    jout_text(jout, "metric", about->series);
    jout_text(jout, "object", name);
    if (observe_priorities(about->object) > 1)
        jout_u64(jout, "priority", priority);
    else
        jout_null(jout, "priority");
    jout_text(jout, "unit", observe_unit_name(about->unit));
    jout_list(jout, "data", value, series_steps(series));
    jout_close(jout);
}

static uint64_t json_metric(struct jout *jout, const struct sim_report *report, uint32_t metric, uint64_t *value)
{
    const struct series *series = report->series;
    const struct observe_metric *about = &series_catalogue(series)->metric[metric];
    uint64_t left_out = 0;

    for (uint32_t i = 0; i < series_objects(series, about->object); i++) {
        for (uint32_t p = 0; p < observe_priorities(about->object); p++) {
            char buf[2 * FABRIC_NAME + 1];
            uint32_t port;
            if (!series_has(series, metric, i, p)) continue;
            const char *name = object_name(report, about->object, i, buf, &port);
            if (report->series_port && port != FABRIC_NONE && !report->series_port[port])
                left_out++;
            else
                json_column(jout, report, metric, i, p, name, value);
        }
    }
    return left_out;
}

void sim_json_series(struct jout *jout, const struct sim_report *report)
{
    const struct series *series = report->series;
    uint64_t *value, left_out = 0;

    if (series == NULL) return;
    value = calloc(series_steps(series) + 1u, sizeof(*value));
    CHECK(value != NULL);
    jout_open(jout, "series", '{');
    jout_u64(jout, "step_ps", series_step(series));
    jout_time(jout, "first_ps", series_first(series));
    jout_u64(jout, "steps", series_steps(series));
    jout_bool(jout, "full", series_full(series));
    jout_open(jout, "columns", '[');
    for (uint32_t m = 0; m < series_catalogue(series)->count; m++)
        if (series_catalogue(series)->metric[m].series) left_out += json_metric(jout, report, m, value);
    jout_close(jout);
    jout_u64(jout, "left_out", left_out);
    jout_close(jout);
    free(value);
}

static uint32_t metric_at(const struct series *series, const char *name)
{
    const struct observe_catalogue *catalogue = series_catalogue(series);

    for (uint32_t m = 0; m < catalogue->count; m++)
        if (strcmp(catalogue->metric[m].name, name) == 0) return m;
    CHECK(false);
}

/* The time that ports of an object's kind stood still. */
static uint32_t paused_of(const struct series *series, enum observe_object object)
{
    const struct observe_catalogue *catalogue = series_catalogue(series);

    for (uint32_t m = 0; m < catalogue->count; m++) {
        const struct observe_metric *about = &catalogue->metric[m];
        if (about->object == object && about->series && strcmp(about->series, "paused") == 0) return m;
    }
    CHECK(false);
}

struct csv_port { /* a port's columns, as far as they have been read */
    struct series_cursor waiting, sent, paused, stood[OBSERVE_PRIORITIES];
    uint64_t sent_before, stood_before;
};

static struct csv_port *open_ports(const struct sim_report *report)
{
    const struct series *series = report->series;
    const struct fabric *fabric = report->fabric;
    uint32_t waiting = metric_at(series, "rocelab_link_waiting_bytes");
    uint32_t sent = metric_at(series, "rocelab_link_tx_line_bytes_total");
    uint32_t paused = metric_at(series, "rocelab_link_paused_priorities");
    uint32_t stood[] = {paused_of(series, OBSERVE_OBJECT_PORT_COUNTERS), paused_of(series, OBSERVE_OBJECT_NIC_PRIO)};
    struct csv_port *port = calloc(fabric->ports + 1u, sizeof(*port));

    CHECK(port != NULL);
    for (uint32_t i = 0; i < fabric->ports; i++) {
        const struct fabric_port *at = &fabric->port[i];
        bool host = at->node < fabric->hosts;
        uint32_t number = host ? fabric->first_endpoint[at->node] + at->index : i;
        if (at->peer == FABRIC_NONE) continue;
        port[i].waiting = series_cursor(series, waiting, i, 0);
        port[i].sent = series_cursor(series, sent, i, 0);
        port[i].paused = series_cursor(series, paused, i, 0);
        for (uint32_t p = 0; p < OBSERVE_PRIORITIES; p++)
            port[i].stood[p] = series_cursor(series, stood[host], number, p);
    }
    return port;
}

static void csv_row(FILE *out, const struct sim_report *report, uint32_t index, struct csv_port *port, ps_t at)
{
    uint64_t waiting = series_cursor_next(&port->waiting), sent = series_cursor_next(&port->sent);
    uint64_t paused = series_cursor_next(&port->paused), stood = 0;

    for (uint32_t p = 0; p < OBSERVE_PRIORITIES; p++)
        stood += series_cursor_next(&port->stood[p]);
    uint64_t bytes = sent - port->sent_before, stood_now = stood - port->stood_before;
    port->sent_before = sent;
    port->stood_before = stood;
    if (bytes == 0 && waiting == 0 && paused == 0 && stood_now == 0) return;
    fprintf(out, "%" PRIu64 ",", at);
    sim_csv_port_name(out, report->fabric, index);
    fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\r\n", waiting,
            rate_measure(bytes, series_step(report->series)), stood_now, paused);
}

/* Rows are in order of time, then port. */
void sim_csv_series(FILE *out, const struct sim_report *report)
{
    const struct series *series = report->series;
    const struct fabric *fabric = report->fabric;
    struct csv_port *port = open_ports(report);

    fputs("time_ps,port,queue_bytes,rate_bps,paused_ps,paused_priorities\r\n", out);
    for (uint32_t step = 0; step < series_steps(series); step++) {
        ps_t at = series_first(series) + step * series_step(series);
        for (uint32_t i = 0; i < fabric->ports; i++)
            if (fabric->port[i].peer != FABRIC_NONE) csv_row(out, report, i, &port[i], at);
    }
    free(port);
}
