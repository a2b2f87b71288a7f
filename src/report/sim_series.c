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
#include "report/rows/rows.h"
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
#include "report/rows/series_column.def"
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
#include "report/rows/series.def"
    JOUT_LIST(jout, "columns", m, series_catalogue(series)->count,
              if (series_catalogue(series)->metric[m].series) left_out += json_metric(jout, report, m, value));
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

/* What is counted by that name in JSON's series, of objects of a kind. */
uint32_t sim_series_metric(const struct series *series, enum observe_object object, const char *name)
{
    const struct observe_catalogue *catalogue = series_catalogue(series);

    for (uint32_t m = 0; m < catalogue->count; m++) {
        const struct observe_metric *about = &catalogue->metric[m];
        if (about->object == object && about->series && strcmp(about->series, name) == 0) return m;
    }
    CHECK(false);
}

/* The columns of a port, as far as they have been read; what is counted by priority as their sum. */
struct port_columns {
    struct series_cursor waiting, paused, sent, lost;
    struct series_cursor stood[OBSERVE_PRIORITIES], marked[OBSERVE_PRIORITIES], drops[OBSERVE_PRIORITIES];
    struct sim_port_step before; /* what was counted by then */
};

struct sim_port_steps {
    const struct sim_report *report;
    uint32_t step, port;
    struct port_columns column[]; /* [ports] */
};

static void open_priorities(const struct series *series, uint32_t metric, uint32_t number,
                            struct series_cursor ret[OBSERVE_PRIORITIES])
{
    for (uint32_t p = 0; p < OBSERVE_PRIORITIES; p++)
        ret[p] = series_cursor(series, metric, number, p);
}

static uint64_t next_sum(struct series_cursor cursor[OBSERVE_PRIORITIES])
{
    uint64_t sum = 0;

    for (uint32_t p = 0; p < OBSERVE_PRIORITIES; p++)
        sum += series_cursor_next(&cursor[p]);
    return sum;
}

/* A host's port marks nothing, and its drops are its adapter's: cursors of nothing. */
static void open_port(const struct sim_report *report, uint32_t index, struct port_columns *ret)
{
    const struct series *series = report->series;
    const struct fabric_port *at = &report->fabric->port[index];
    bool host = at->node < report->fabric->hosts;
    uint32_t number = host ? report->fabric->first_endpoint[at->node] + at->index : index;
    enum observe_object object = host ? OBSERVE_OBJECT_NIC_PRIO : OBSERVE_OBJECT_PORT_COUNTERS;

    ret->waiting = series_cursor(series, metric_at(series, "rocelab_link_waiting_bytes"), index, 0);
    ret->paused = series_cursor(series, metric_at(series, "rocelab_link_paused_priorities"), index, 0);
    ret->sent = series_cursor(series, metric_at(series, "rocelab_link_tx_line_bytes_total"), index, 0);
    ret->lost = series_cursor(series, metric_at(series, "rocelab_link_lost_packets_total"), index, 0);
    open_priorities(series, sim_series_metric(series, object, "paused"), number, ret->stood);
    if (host) return;
    open_priorities(series, sim_series_metric(series, object, "marks"), number, ret->marked);
    open_priorities(series, sim_series_metric(series, object, "drops"), number, ret->drops);
}

struct sim_port_steps *sim_port_steps_new(const struct sim_report *report)
{
    uint32_t ports = report->fabric->ports;
    struct sim_port_steps *steps = calloc(1, sizeof(*steps) + ports * sizeof(steps->column[0]));

    if (steps == NULL) return NULL;
    steps->report = report;
    for (uint32_t i = 0; i < ports; i++)
        if (report->fabric->port[i].peer != FABRIC_NONE) open_port(report, i, &steps->column[i]);
    return steps;
}

/* What a port did in the next of its steps; false: it had nothing to do. */
static bool read_port_step(struct sim_port_steps *steps, uint32_t index, struct sim_port_step *ret)
{
    const struct series *series = steps->report->series;
    struct port_columns *from = &steps->column[index];
    const struct sim_port_step now = {.line_bytes = series_cursor_next(&from->sent),
                                      .lost = series_cursor_next(&from->lost),
                                      .paused_ps = next_sum(from->stood),
                                      .ecn_marked = next_sum(from->marked),
                                      .drops = next_sum(from->drops)};

    *ret = (struct sim_port_step){.at = series_first(series) + steps->step * series_step(series),
                                  .port = index,
                                  .queue_bytes = series_cursor_next(&from->waiting),
                                  .paused = series_cursor_next(&from->paused),
                                  .line_bytes = now.line_bytes - from->before.line_bytes,
                                  .paused_ps = now.paused_ps - from->before.paused_ps,
                                  .ecn_marked = now.ecn_marked - from->before.ecn_marked,
                                  .drops = now.drops - from->before.drops,
                                  .lost = now.lost - from->before.lost};
    ret->rate_bps = rate_measure(ret->line_bytes, series_step(series));
    from->before = now;
    return ret->line_bytes || ret->queue_bytes || ret->paused || ret->paused_ps;
}

bool sim_port_steps_next(struct sim_port_steps *steps, struct sim_port_step *ret)
{
    const struct fabric *fabric = steps->report->fabric;

    for (; steps->step < series_steps(steps->report->series); steps->step++, steps->port = 0)
        while (steps->port < fabric->ports) {
            uint32_t index = steps->port++;
            if (fabric->port[index].peer != FABRIC_NONE && read_port_step(steps, index, ret)) return true;
        }
    return false;
}

void sim_port_steps_free(struct sim_port_steps *steps)
{
    free(steps);
}
