/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run as CSV files (RFC 4180): one for each of jobs, flows, ports and adapters, and one for the time series.  A
 * value that is not known is an empty field.
 */
#include "report/sim_report.h"

#include <inttypes.h>

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

static void csv_time(FILE *out, ps_t at)
{
    fputc(',', out);
    if (at != PS_NEVER) fprintf(out, "%" PRIu64, at);
}

void sim_csv_port_name(FILE *out, const struct fabric *fabric, uint32_t port)
{
    char name[FABRIC_NAME];

    sim_csv_text(out, fabric_port_name(fabric, port, name));
}

static void csv_jobs(FILE *out, const struct sim_result *result)
{
    fputs("name,repetition,ranks,bytes,start_ps,end_ps,time_ps,algbw_kBps,busbw_kBps\r\n", out);
    for (uint32_t i = 0; i < result->jobs; i++) {
        const struct sim_job *job = &result->job[i];
        sim_csv_text(out, job->name);
        fprintf(out, ",%u,%u,%" PRIu64, job->repetition, job->ranks, job->bytes);
        csv_time(out, job->start);
        csv_time(out, job->end);
        csv_time(out, job->end == PS_NEVER ? PS_NEVER : job->end - job->start);
        fprintf(out, ",%" PRIu64 ",%" PRIu64 "\r\n", sim_bandwidth_kBps(job, false), sim_bandwidth_kBps(job, true));
    }
}

static void csv_flows(FILE *out, const struct fabric *fabric, const struct sim_result *result)
{
    fputs("id,src,dst,bytes,start_ps,fct_ps,ideal_ps,failed,job,acked_bytes,goodput_bps\r\n", out);
    for (uint32_t i = 0; i < result->flows; i++) {
        const struct sim_flow *flow = &result->flow[i];
        fprintf(out, "%u,", flow->id);
        sim_csv_port_name(out, fabric, fabric->endpoint[flow->src].port);
        fputc(',', out);
        sim_csv_port_name(out, fabric, fabric->endpoint[flow->dst].port);
        fprintf(out, ",%" PRIu64, flow->bytes);
        csv_time(out, flow->start);
        csv_time(out, flow->fct_ps);
        csv_time(out, flow->ideal_ps);
        fprintf(out, ",%d,", flow->failed);
        sim_csv_text(out, fabric->job[flow->job].name);
        fprintf(out, ",%" PRIu64 ",%" PRIu64 "\r\n", flow->acked_bytes, flow->goodput_bps);
    }
}

static void csv_ports(FILE *out, const struct fabric *fabric, const struct sim_result *result)
{
    fputs(
        "port,rate_bps,utilisation_ppm,frames,line_bytes,pfc_tx,pfc_rx,paused_ps,ecn_marked,queue_max_bytes,drops,lost",
        out);
    for (int i = 0; i < SW_DROPS; i++)
        fprintf(out, ",drop_%s", sw_drop_name[i]);
    fputs(",credits_tx,credits_rx\r\n", out);
    for (uint32_t i = 0; i < result->ports; i++) {
        const struct sim_port *port = &result->port[i];
        sim_csv_port_name(out, fabric, port->port);
        fprintf(out,
                ",%" PRIu64 ",%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
                ",%" PRIu64 ",%" PRIu64,
                fabric->port[port->port].rate_bps, port->utilisation_ppm, port->frames, port->line_bytes,
                port->pauses_sent, port->pauses_received, port->paused_ps, port->ecn_marked, port->queue_max_bytes,
                port->drops, port->lost);
        for (int d = 0; d < SW_DROPS; d++)
            fprintf(out, ",%" PRIu64, port->sw ? port->sw->drop[d] : 0);
        fprintf(out, ",%" PRIu64 ",%" PRIu64 "\r\n", port->credits_sent, port->credits_received);
    }
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
    switch (which) {
    case SIM_CSV_JOBS:
        csv_jobs(out, report->result);
        break;
    case SIM_CSV_FLOWS:
        csv_flows(out, report->fabric, report->result);
        break;
    case SIM_CSV_PORTS:
        csv_ports(out, report->fabric, report->result);
        break;
    case SIM_CSV_NICS:
        csv_nics(out, report->fabric, report->result);
        break;
    case SIM_CSVS:
        break;
    }
}
