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

enum { WAITING, SENT, PAUSED, COLUMNS };

/* The columns of a port's rows: what waits, what was sent, which priorities are paused; then the time paused. */
static void read_port(const struct series *series, const uint32_t metric[COLUMNS], uint32_t port, uint64_t *value)
{
    for (int i = 0; i < COLUMNS; i++)
        series_read(series, metric[i], port, 0, value + (size_t)i * series_steps(series));
}

/* For how long it was paused so far, over all priorities. */
static void read_paused(const struct sim_report *report, uint32_t port, uint64_t *value, uint64_t *ret)
{
    const struct series *series = report->series;
    const struct observe_catalogue *catalogue = series_catalogue(series);
    bool host = report->fabric->port[port].node < report->fabric->hosts;
    const struct fabric_port *at = &report->fabric->port[port];
    uint32_t number = host ? report->fabric->first_endpoint[at->node] + at->index : port;

    memset(ret, 0, series_steps(series) * sizeof(*ret));
    for (uint32_t m = 0; m < catalogue->count; m++) {
        const struct observe_metric *about = &catalogue->metric[m];
        if (about->object != (host ? OBSERVE_OBJECT_NIC_PRIO : OBSERVE_OBJECT_PORT_COUNTERS) || about->series == NULL ||
            strcmp(about->series, "paused") != 0)
            continue;
        for (uint32_t p = 0; p < OBSERVE_PRIORITIES; p++) {
            if (!series_read(series, m, number, p, value)) continue;
            for (uint32_t i = 0; i < series_steps(series); i++)
                ret[i] += value[i];
        }
    }
}

static uint32_t metric_at(const struct series *series, const char *name)
{
    const struct observe_catalogue *catalogue = series_catalogue(series);

    for (uint32_t m = 0; m < catalogue->count; m++)
        if (strcmp(catalogue->metric[m].name, name) == 0) return m;
    CHECK(false);
}

/* Rows are in order of time, then port: every port's columns are read first. */
void sim_csv_series(FILE *out, const struct sim_report *report)
{
    const struct series *series = report->series;
    const struct fabric *fabric = report->fabric;
    const uint32_t metric[COLUMNS] = {[WAITING] = metric_at(series, "rocelab_link_waiting_bytes"),
                                      [SENT] = metric_at(series, "rocelab_link_tx_line_bytes_total"),
                                      [PAUSED] = metric_at(series, "rocelab_link_paused_priorities")};
    size_t steps = series_steps(series), room = (COLUMNS + 1) * steps;
    uint64_t *value = calloc(room * fabric->ports + steps + 1, sizeof(*value));

    CHECK(value != NULL);
    fputs("time_ps,port,queue_bytes,rate_bps,paused_ps,paused_priorities\r\n", out);
    for (uint32_t port = 0; port < fabric->ports; port++) {
        if (fabric->port[port].peer == FABRIC_NONE) continue;
        read_port(series, metric, port, value + room * port);
        read_paused(report, port, value + room * fabric->ports, value + room * port + COLUMNS * steps);
    }
    for (size_t i = 0; i < steps; i++) {
        for (uint32_t port = 0; port < fabric->ports; port++) {
            const uint64_t *at = value + room * port + i, *paused = at + COLUMNS * steps;
            uint64_t bytes = at[SENT * steps] - (i ? at[SENT * steps - 1] : 0), stood = *paused - (i ? paused[-1] : 0);
            if (bytes == 0 && at[WAITING * steps] == 0 && at[PAUSED * steps] == 0 && stood == 0) continue;
            fprintf(out, "%" PRIu64 ",", (uint64_t)(series_first(series) + i * series_step(series)));
            sim_csv_port_name(out, fabric, port);
            fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\r\n", at[WAITING * steps],
                    rate_measure(bytes, series_step(series)), stood, at[PAUSED * steps]);
        }
    }
    free(value);
}
