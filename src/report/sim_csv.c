/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run as CSV files (RFC 4180): one for each of jobs, flows, ports and adapters, and one for the time series.  A
 * value that is not known is an empty field.
 */
#include "report/sim_report.h"

#include <inttypes.h>

#include "base/check.h"
#include "fabric/fabric.h"

const char *const sim_csv_names[SIM_CSVS] = {"jobs.csv", "flows.csv", "ports.csv", "nics.csv"};

void sim_csv_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"') fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

void sim_csv_port_name(FILE *out, const struct fabric *fabric, uint32_t port)
{
    char name[FABRIC_NAME];

    sim_csv_text(out, fabric_port_name(fabric, port, name));
}

/* What begins a field that is not the first of its line. */
struct csv {
    FILE *out;
    bool begun;
};

static void csv_next(struct csv *csv)
{
    if (csv->begun) fputc(',', csv->out);
    csv->begun = true;
}

static void csv_name(struct csv *csv, const char *name)
{
    csv_next(csv);
    fputs(name, csv->out);
}

static void csv_u64(struct csv *csv, uint64_t value)
{
    csv_next(csv);
    fprintf(csv->out, "%" PRIu64, value);
}

static void csv_bool(struct csv *csv, bool value)
{
    csv_u64(csv, value);
}

static void csv_time(struct csv *csv, ps_t at)
{
    csv_next(csv);
    if (at != PS_NEVER) fprintf(csv->out, "%" PRIu64, at);
}

static void csv_text(struct csv *csv, const char *text)
{
    csv_next(csv);
    sim_csv_text(csv->out, text);
}

static void csv_end(struct csv *csv)
{
    fputs("\r\n", csv->out);
    csv->begun = false;
}

#define ROW(kind, key, value, help)
#define FIXED(key, digits, value, help)
#define KNOWN(key, known, value, help)
#define WHEN(condition, kind, key, value, help)
#define MADE(keys, statement, help)
#define TABLE(kind, key, value, help)

#define COLUMN(kind, key, value, help) csv_name(csv, #key);
#define COLUMN_FIXED(key, digits, column, value, help) csv_name(csv, #column);
#define COLUMN_ALONE(kind, column, value) csv_name(csv, #column);
static void head_jobs(struct csv *csv)
{
#include "report/rows/job.def"
    csv_end(csv);
}

static void head_flows(struct csv *csv)
{
#include "report/rows/flow.def"
    csv_end(csv);
}

static void head_ports(struct csv *csv)
{
    char name[64];

#include "report/rows/port.def"
    for (int i = 0; i < SW_DROPS; i++) {
        snprintf(name, sizeof name, "drop_%s", sw_drop_name[i]);
        csv_name(csv, name);
    }
    csv_name(csv, "credits_tx");
    csv_name(csv, "credits_rx");
    csv_end(csv);
}

static void head_series(struct csv *csv)
{
#include "report/rows/port_step.def"
    csv_end(csv);
}
#undef COLUMN
#undef COLUMN_FIXED
#undef COLUMN_ALONE

#define COLUMN(kind, key, value, help) csv_##kind(csv, value);
#define COLUMN_FIXED(key, digits, column, value, help) csv_u64(csv, value);
#define COLUMN_ALONE(kind, column, value) csv_##kind(csv, value);
static void csv_job(struct csv *csv, const struct sim_job *job)
{
#include "report/rows/job.def"
    csv_end(csv);
}

static void csv_flow(struct csv *csv, const struct fabric *fabric, const struct sim_flow *flow)
{
    char src[FABRIC_NAME], dst[FABRIC_NAME];

#include "report/rows/flow.def"
    csv_end(csv);
}

static void csv_port(struct csv *csv, const struct fabric *fabric, const struct sim_port *port)
{
    char name[FABRIC_NAME];

#include "report/rows/port.def"
    for (int d = 0; d < SW_DROPS; d++)
        csv_u64(csv, port->sw ? port->sw->drop[d] : 0);
    csv_u64(csv, port->credits_sent);
    csv_u64(csv, port->credits_received);
    csv_end(csv);
}

static void csv_port_step(struct csv *csv, const struct fabric *fabric, const struct sim_port_step *step)
{
    char name[FABRIC_NAME];

#include "report/rows/port_step.def"
    csv_end(csv);
}

/* Of adapters without RoCE's counters: what all have. */
static void csv_endpoints(FILE *out, const struct fabric *fabric, const struct sim_result *result)
{
    fputs("nic", out);
#define X(name, help) fputs("," #name, out);
    ENDPOINT_COUNTER_LIST(X)
#undef X
    fputs("\r\n", out);
    for (uint32_t i = 0; i < result->nics; i++) {
        const struct endpoint_counters *common = &result->nic[i].common;
        sim_csv_port_name(out, fabric, fabric->endpoint[result->nic[i].endpoint].port);
#define X(name, help) fprintf(out, ",%" PRIu64, common->name);
        ENDPOINT_COUNTER_LIST(X)
#undef X
        fputs("\r\n", out);
    }
}

static void csv_nics(FILE *out, const struct fabric *fabric, const struct sim_result *result)
{
    if (result->nics && result->nic[0].counters == NULL) {
        csv_endpoints(out, fabric, result);
        return;
    }
    fputs("nic", out);
    for (const struct nic_counter *counter = nic_counter_list; counter->name; counter++)
        fprintf(out, ",%s", counter->name);
    fputs("\r\n", out);
    for (uint32_t i = 0; i < result->nics; i++) {
        const char *base = (const char *)result->nic[i].counters;
        sim_csv_port_name(out, fabric, fabric->endpoint[result->nic[i].endpoint].port);
        for (const struct nic_counter *counter = nic_counter_list; counter->name; counter++)
            fprintf(out, ",%" PRIu64, *(const uint64_t *)(const void *)(base + counter->offset));
        fputs("\r\n", out);
    }
}

void sim_csv(FILE *out, const struct sim_report *report, enum sim_csv which)
{
    const struct sim_result *result = report->result;
    struct csv csv = {.out = out};

    switch (which) {
    case SIM_CSV_JOBS:
        head_jobs(&csv);
        for (uint32_t i = 0; i < result->jobs; i++)
            csv_job(&csv, &result->job[i]);
        break;
    case SIM_CSV_FLOWS:
        head_flows(&csv);
        for (uint32_t i = 0; i < result->flows; i++)
            csv_flow(&csv, report->fabric, &result->flow[i]);
        break;
    case SIM_CSV_PORTS:
        head_ports(&csv);
        for (uint32_t i = 0; i < result->ports; i++)
            csv_port(&csv, report->fabric, &result->port[i]);
        break;
    case SIM_CSV_NICS:
        csv_nics(out, report->fabric, result);
        break;
    case SIM_CSVS:
        break;
    }
}

void sim_csv_series(FILE *out, const struct sim_report *report)
{
    struct sim_port_steps *steps = sim_port_steps_new(report);
    struct csv csv = {.out = out};
    struct sim_port_step step;

    CHECK(steps != NULL);
    head_series(&csv);
    while (sim_port_steps_next(steps, &step))
        csv_port_step(&csv, report->fabric, &step);
    sim_port_steps_free(steps);
}
