/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run came to, as tables.  Their columns are the lists of src/report/rows, which the JSON and the CSV files are
 * made of too: a list is read twice, for the names and for the values.  What is an object or a list in the JSON is not
 * in a table.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/text_stream.h"
#include "columns.h"
#include "fabric/fabric.h"
#include "fabric/switches.h"
#include "lab.h"
#include "report/sim_report.h"
#include "rocelab/rocelab.h"
#include "sim/sim.h"
#include "study/row.h"

/* What the kinds of rows.h are here. */
#define KIND_u64 ROCELAB_COUNT
#define KIND_time ROCELAB_COUNT
#define KIND_bool ROCELAB_FLAG
#define KIND_text ROCELAB_TEXT
#define KIND_names ROCELAB_NAMES
#define KIND_millionths ROCELAB_REAL

_Static_assert(ROCELAB_NONE == PS_NEVER && ROCELAB_NONE == SIM_FINDING_NONE, "one word for nothing");

static void put_u64(struct rocelab_table *table, uint64_t value)
{
    columns_count(table, value);
}

static void put_time(struct rocelab_table *table, ps_t at)
{
    columns_count(table, at);
}

static void put_bool(struct rocelab_table *table, bool value)
{
    columns_count(table, value);
}

static void put_text(struct rocelab_table *table, const char *value)
{
    columns_text(table, value);
}

static void put_fixed(struct rocelab_table *table, uint64_t value, unsigned digits)
{
    static const double unit[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6};

    columns_real(table, (double)value / unit[digits]);
}

static void put_millionths(struct rocelab_table *table, uint64_t value)
{
    put_fixed(table, value, 6);
}

/* Names, a line each. */
static void put_names(struct rocelab_table *table, const struct sim_names *names)
{
    char *text, *at;
    size_t bytes = 1;

    for (uint32_t i = 0; i < names->count; i++)
        bytes += strlen(names->name[i]) + 1;
    text = at = malloc(bytes);
    for (uint32_t i = 0; text && i < names->count; i++)
        at = stpcpy(i ? stpcpy(at, "\n") : at, names->name[i]);
    if (text == NULL) table->failed = true;
    columns_text(table, names->count ? text : NULL);
    free(text);
}

static void put_nothing(struct rocelab_table *table, enum rocelab_kind kind)
{
    if (kind == ROCELAB_TEXT || kind == ROCELAB_NAMES)
        columns_text(table, NULL);
    else if (kind == ROCELAB_REAL)
        columns_real(table, NAN);
    else
        columns_count(table, ROCELAB_NONE);
}

#define MADE(keys, statement, help)

#define ROW(kind, key, value, help) columns_add(table, KIND_##kind, #key, help);
#define TABLE(kind, key, value, help) columns_add(table, KIND_##kind, #key, help);
#define COLUMN(kind, key, value, help) columns_add(table, KIND_##kind, #key, help);
#define COLUMN_ALONE(kind, column, value) ALONE(columns_add(table, KIND_##kind, #column, "");)
#define FIXED(key, digits, value, help) columns_add(table, ROCELAB_REAL, #key, help);
#define COLUMN_FIXED(key, digits, column, value, help) columns_add(table, ROCELAB_REAL, #key, help);
#define KNOWN(key, known, value, help) columns_add(table, ROCELAB_COUNT, #key, help);
#define WHEN(condition, kind, key, value, help) columns_add(table, KIND_##kind, #key, help);

static void head_run(struct rocelab_table *table)
{
#include "report/rows/sim.def"
}

static void head_jobs(struct rocelab_table *table)
{
#define ALONE(statement) statement
#include "report/rows/job.def"
#undef ALONE
}

#define ALONE(statement) /* a flow's job is there already */
static void head_flows(struct rocelab_table *table)
{
#include "report/rows/flow.def"
}

static void head_ports(struct rocelab_table *table)
{
#include "report/rows/port.def"
}

static void head_priorities(struct rocelab_table *table)
{
    columns_add(table, ROCELAB_TEXT, "port", "its name");
#include "report/rows/port_priority.def"
}

static void head_nics(struct rocelab_table *table)
{
    columns_add(table, ROCELAB_TEXT, "nic", "its name");
#include "report/rows/nic.def"
}

static void head_port_steps(struct rocelab_table *table)
{
#include "report/rows/port_step.def"
}

static void head_qp_steps(struct rocelab_table *table)
{
#include "report/rows/qp_step.def"
}

static void head_findings(struct rocelab_table *table)
{
#include "report/rows/finding.def"
}

#undef ROW
#undef TABLE
#undef COLUMN
#undef COLUMN_ALONE
#undef FIXED
#undef COLUMN_FIXED
#undef KNOWN
#undef WHEN
#undef ALONE
#define ROW(kind, key, value, help) put_##kind(table, value);
#define TABLE(kind, key, value, help) put_##kind(table, value);
#define COLUMN(kind, key, value, help) put_##kind(table, value);
#define COLUMN_ALONE(kind, column, value) ALONE(put_##kind(table, value);)
#define FIXED(key, digits, value, help) put_fixed(table, value, digits);
#define COLUMN_FIXED(key, digits, column, value, help) put_fixed(table, value, digits);
#define KNOWN(key, known, value, help) put_u64(table, (known) ? (value) : ROCELAB_NONE);
#define WHEN(condition, kind, key, value, help)                                                                        \
    if (condition)                                                                                                     \
        put_##kind(table, value);                                                                                      \
    else                                                                                                               \
        put_nothing(table, KIND_##kind);

static void row_run(struct rocelab_table *table, const struct sim_report *report)
{
    const struct sim_result *result = report->result;
    const struct fabric *fabric = report->fabric;
    char digest[17];

    snprintf(digest, sizeof digest, "%016" PRIx64, result->digest);
    columns_row(table);
#include "report/rows/sim.def"
}

static void row_job(struct rocelab_table *table, const struct sim_report *report, const struct sim_job *job)
{
    columns_row(table);
#define ALONE(statement) statement
#include "report/rows/job.def"
#undef ALONE
}

#define ALONE(statement)
static void row_flow(struct rocelab_table *table, const struct sim_report *report, const struct sim_flow *flow)
{
    const struct fabric *fabric = report->fabric;
    char src[FABRIC_NAME], dst[FABRIC_NAME];

    columns_row(table);
#include "report/rows/flow.def"
}

static void row_port(struct rocelab_table *table, const struct sim_report *report, const struct sim_port *port)
{
    const struct fabric *fabric = report->fabric;
    const struct sw_port_counters *sw = port->sw;
    bool credits = port->credits_sent || port->credits_received;
    char name[FABRIC_NAME];

    columns_row(table);
#include "report/rows/port.def"
}

static void row_priority(struct rocelab_table *table, const struct sim_report *report, const struct sim_port *port,
                         unsigned priority)
{
    const struct sw_prio_counters *count = &port->sw->prio[priority];
    char name[FABRIC_NAME];

    if (!(count->tx_bytes | count->drops | count->queue_max_bytes | count->rx_bytes | count->tx_xoff | count->rx_xoff))
        return;
    columns_row(table);
    put_text(table, fabric_port_name(report->fabric, port->port, name));
#include "report/rows/port_priority.def"
}

static void row_nic(struct rocelab_table *table, const struct sim_report *report, const struct sim_nic *nic)
{
    const struct endpoint_counters *common = &nic->common;
    const struct nic_counters *c = nic->counters;
    char name[FABRIC_NAME];

    columns_row(table);
    put_text(table, sim_endpoint_name(report->fabric, nic->endpoint, name));
#include "report/rows/nic.def"
}

static void row_port_step(struct rocelab_table *table, const struct fabric *fabric, const struct sim_port_step *step)
{
    char name[FABRIC_NAME];

    columns_row(table);
#include "report/rows/port_step.def"
}

/* The columns of a queue pair in the series, as far as they have been read. */
struct qp_columns {
    struct series_cursor rate, window, alpha;
    uint32_t flow, next; /* its last and the one after, into sim_result.flow; UINT32_MAX: none yet */
};

static uint32_t next_flow(const struct sim_result *result, uint32_t qp, uint32_t from)
{
    while (from < result->flows && result->flow[from].connection != qp)
        from++;
    return from;
}

/* Flows of a connection go in their order: the last that had begun, but for those that still wait behind another. */
static uint64_t flow_on(const struct sim_result *result, uint32_t qp, ps_t at, struct qp_columns *from)
{
    while (from->next < result->flows && result->flow[from->next].start < at) {
        const struct sim_flow *flow = from->flow == UINT32_MAX ? NULL : &result->flow[from->flow];
        if (flow && (flow->fct_ps == PS_NEVER || flow->start + flow->fct_ps >= at)) break;
        from->flow = from->next;
        from->next = next_flow(result, qp, from->next + 1);
    }
    return from->flow == UINT32_MAX ? ROCELAB_NONE : result->flow[from->flow].id;
}

static void row_qp_step(struct rocelab_table *table, const struct sim_report *report, uint32_t qp, ps_t at,
                        struct qp_columns *from)
{
    const struct fabric *fabric = report->fabric;
    const struct sim_connection_sample *ends = &report->series_connection[qp];
    uint64_t rate_bps = series_cursor_next(&from->rate), window_bytes = series_cursor_next(&from->window);
    uint64_t alpha_ppm = series_cursor_next(&from->alpha), flow = flow_on(report->result, qp, at, from);
    char src[FABRIC_NAME], dst[FABRIC_NAME];

    columns_row(table);
#include "report/rows/qp_step.def"
}

static void row_finding(void *context, const struct sim_finding *finding)
{
    struct rocelab_table *table = context;

    columns_row(table);
#include "report/rows/finding.def"
}

static void fill_run(struct rocelab_table *table, const struct sim_report *report)
{
    head_run(table);
    row_run(table, report);
}

static void fill_jobs(struct rocelab_table *table, const struct sim_report *report)
{
    head_jobs(table);
    for (uint32_t i = 0; i < report->result->jobs; i++)
        row_job(table, report, &report->result->job[i]);
}

static void fill_flows(struct rocelab_table *table, const struct sim_report *report)
{
    head_flows(table);
    for (uint32_t i = 0; i < report->result->flows; i++)
        row_flow(table, report, &report->result->flow[i]);
}

static void fill_ports(struct rocelab_table *table, const struct sim_report *report)
{
    head_ports(table);
    for (uint32_t i = 0; i < report->result->ports; i++)
        row_port(table, report, &report->result->port[i]);
}

static void fill_priorities(struct rocelab_table *table, const struct sim_report *report)
{
    head_priorities(table);
    for (uint32_t i = 0; i < report->result->ports; i++)
        for (unsigned p = 0; report->result->port[i].sw && p < FABRIC_PRIOS; p++)
            row_priority(table, report, &report->result->port[i], p);
}

static void fill_nics(struct rocelab_table *table, const struct sim_report *report)
{
    head_nics(table);
    for (uint32_t i = 0; i < report->result->nics; i++)
        row_nic(table, report, &report->result->nic[i]);
}

static void fill_port_steps(struct rocelab_table *table, const struct sim_report *report)
{
    struct sim_port_steps *steps = report->series ? sim_port_steps_new(report) : NULL;
    struct sim_port_step step;

    head_port_steps(table);
    if (report->series && steps == NULL) table->failed = true;
    while (steps && !table->failed && sim_port_steps_next(steps, &step))
        row_port_step(table, report->fabric, &step);
    sim_port_steps_free(steps);
}

static void fill_qp_steps(struct rocelab_table *table, const struct sim_report *report)
{
    const enum observe_object object = OBSERVE_OBJECT_CONNECTION;
    const struct series *series = report->series;
    uint32_t qps = series ? series_objects(series, object) : 0, steps = qps ? series_steps(series) : 0;
    struct qp_columns *from = calloc(qps + 1u, sizeof *from);

    head_qp_steps(table);
    if (from == NULL) table->failed = true;
    for (uint32_t i = 0; i < qps && from; i++)
        from[i] = (struct qp_columns){
            .rate = series_cursor(series, sim_series_metric(series, object, "rate"), i, 0),
            .window = series_cursor(series, sim_series_metric(series, object, "window"), i, 0),
            .alpha = series_cursor(series, sim_series_metric(series, object, "alpha"), i, 0),
            .flow = UINT32_MAX,
            .next = next_flow(report->result, i, 0),
        };
    for (uint32_t step = 0; step < steps && !table->failed; step++)
        for (uint32_t i = 0; i < qps; i++)
            row_qp_step(table, report, i, series_first(series) + step * series_step(series), &from[i]);
    free(from);
}

static void fill_findings(struct rocelab_table *table, const struct sim_report *report)
{
    head_findings(table);
    if (!sim_findings(report, row_finding, table)) table->failed = true;
}

/* In units that need no table: seconds, bytes a second, shares of 1. */
static double in_units(enum measure_kind kind, uint64_t value)
{
    switch (kind) {
    case MEASURE_KIND_TIME:
        return (double)value / 1e12;
    case MEASURE_KIND_GBPS:
        return (double)value * 1e3;
    case MEASURE_KIND_MILLI:
    case MEASURE_KIND_WHOLE:
        return (double)value / 1e3;
    case MEASURE_KIND_SHARE:
        return (double)value / 1e6;
    case MEASURE_KIND_COUNT:
    case MEASURE_KIND_BYTES:
        return (double)value;
    }
    CHECK(false);
}

/* The values of the run so far, by way of the text that a study keeps of each run.  False: no memory. */
static bool measure_all(const struct sim_report *report, struct row *ret)
{
    size_t length;
    char *text = NULL;
    FILE *stream = text_stream(&text, &length);

    if (stream == NULL) return false;
    bool good = row_print(stream, report->fabric, report->result);
    fputs("end\n", stream);
    if (fclose(stream) != 0) good = false;
    good = good && row_parse(text, ret);
    free(text);
    return good;
}

static void fill_measures(struct rocelab_table *table, const struct sim_report *report)
{
    static const char *const unit[] = {
        [MEASURE_KIND_TIME] = "s",      [MEASURE_KIND_GBPS] = "B/s",    [MEASURE_KIND_MILLI] = "ratio",
        [MEASURE_KIND_COUNT] = "count", [MEASURE_KIND_BYTES] = "bytes", [MEASURE_KIND_SHARE] = "share",
        [MEASURE_KIND_WHOLE] = "",
    };
    struct row row = {0};

    columns_add(table, ROCELAB_TEXT, "name", "as `sweep --show` has it");
    columns_add(table, ROCELAB_REAL, "value", "of the run so far; nothing: this run has none");
    columns_add(table, ROCELAB_TEXT, "unit", "of the value");
    columns_add(table, ROCELAB_TEXT, "help", "what it is");
    if (!measure_all(report, &row)) table->failed = true;
    for (unsigned m = 0; m < MEASURES && !table->failed; m++) {
        const struct measure_info *info = &measure_infos[m];
        columns_row(table);
        columns_text(table, info->name);
        columns_real(table, row.value[m] == MEASURE_NOTHING ? NAN : in_units(info->kind, row.value[m]));
        columns_text(table, unit[info->kind]);
        columns_text(table, info->help);
    }
    row_release(&row);
}

PUBLIC const char *rocelab_measure_name(size_t index)
{
    return index < MEASURES ? measure_infos[index].name : NULL;
}

PUBLIC const char *rocelab_measure_help(size_t index)
{
    return index < MEASURES ? measure_infos[index].help : NULL;
}

PUBLIC int rocelab_measure(struct rocelab *lab, const char *name, double *ret)
{
    struct sim_report report;
    struct row row = {0};
    unsigned which = 0;

    while (which < MEASURES && strcmp(name, measure_infos[which].name) != 0)
        which++;
    if (which == MEASURES) return -ENOENT;
    if (lab_report(lab, &report) != 0 || !measure_all(&report, &row)) return -ENOMEM;
    uint64_t value = row.value[which];
    row_release(&row);
    if (value == MEASURE_NOTHING) return -ENODATA;
    *ret = in_units(measure_infos[which].kind, value);
    return 0;
}

static const struct {
    const char *name, *help;
    void (*fill)(struct rocelab_table *table, const struct sim_report *report);
} kinds[] = {
    {"run", "the run itself: one row", fill_run},
    {"jobs", "each repetition of each job", fill_jobs},
    {"flows", "transfers", fill_flows},
    {"ports", "of hosts and switches, over the whole run", fill_ports},
    {"priorities", "of ports of switches, where they had anything", fill_priorities},
    {"nics", "adapters", fill_nics},
    {"port_steps", "ports over time, where the run is sampled: a row where a port had anything to do", fill_port_steps},
    {"qp_steps", "queue pairs over time: what congestion control allowed them", fill_qp_steps},
    {"measures", "single figures of the run", fill_measures},
    {"findings", "the verdict: what became of the run, then causes", fill_findings},
};
#define KINDS (sizeof kinds / sizeof kinds[0])

PUBLIC const char *rocelab_table_name(size_t index)
{
    return index < KINDS ? kinds[index].name : NULL;
}

PUBLIC const char *rocelab_table_help(size_t index)
{
    return index < KINDS ? kinds[index].help : NULL;
}

PUBLIC int rocelab_table(struct rocelab *lab, const char *name, struct rocelab_table **ret)
{
    struct sim_report report;
    size_t which = 0;

    while (which < KINDS && strcmp(name, kinds[which].name) != 0)
        which++;
    if (which == KINDS) return -ENOENT;
    struct rocelab_table *table = columns_new();
    if (table == NULL || lab_report(lab, &report) != 0) {
        rocelab_table_free(table);
        return -ENOMEM;
    }
    kinds[which].fill(table, &report);
    return columns_done(table, ret);
}
