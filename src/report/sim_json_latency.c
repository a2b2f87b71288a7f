/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long things took, as JSON: histograms of round trips, of completion times of flows, and of waiting in queues.
 *
 * A queue's delay is what it holds over the rate of its line: how long a packet that comes now waits, unless others go
 * first or the queue is paused.  Of a run that was watched it is known at each step; the steps at which a queue held
 * something are counted, by where it stands and by class.  Of any run the longest each queue was is known, which is
 * told as such.  Nothing else is: where nobody looked there is no histogram.
 */
#include <stdlib.h>
#include <string.h>

#include "base/histo.h"
#include "base/wide.h"
#include "fabric/fabric.h"
#include "fabric/switches.h"
#include "report/rows/rows.h"
#include "report/sim_report.h"

#define PS_PER_NS 1000u

static const char *const role_name[FABRIC_ROLES] = {
#define X(id, name, prefix) name,
    FABRIC_ROLE_LIST(X)
#undef X
};

static void json_bucket(struct jout *jout, const struct histo *histo, uint32_t bucket)
{
    uint64_t top = histo_bucket_top(bucket);

    if (histo->bucket[bucket] == 0) return;
    jout_open_line(jout, NULL, '[');
    jout_u64(jout, NULL, top < histo->max ? top : histo->max);
    jout_u64(jout, NULL, histo->bucket[bucket]);
    jout_close(jout);
}

/* Of nothing, nothing is written. */
static void json_histo(struct jout *jout, const char *what, const char *object, const struct histo *histo)
{
    if (histo->count == 0) return;
    jout_open_line(jout, NULL, '{');
#include "report/rows/histogram.def"
    jout_close(jout);
}

static void json_rtt(struct jout *jout, const struct sim_result *result)
{
    struct histo all = {0};

    for (uint32_t i = 0; i < result->nics; i++)
        if (result->nic[i].rtt_ns) histo_merge(&all, result->nic[i].rtt_ns);
    json_histo(jout, "rtt", "all", &all);
}

/* Flows of a job lie together. */
static void json_fct(struct jout *jout, const struct sim_report *report)
{
    const struct sim_result *result = report->result;
    struct histo one = {0}, all = {0};

    for (uint32_t i = 0; i < result->flows; i++) {
        const struct sim_flow *flow = &result->flow[i];
        if (!flow->failed && flow->fct_ps != PS_NEVER) histo_add(&one, flow->fct_ps / PS_PER_NS);
        if (i + 1 < result->flows && result->flow[i + 1].job == flow->job) continue;
        json_histo(jout, "fct", report->fabric->job[flow->job].name, &one);
        histo_merge(&all, &one);
        one = (struct histo){0};
    }
    json_histo(jout, "fct", "all", &all);
}

/* Classes of one priority share a queue: the first of them names it. */
static const char *class_of(const struct fabric *fabric, unsigned priority, char buf[32])
{
    for (uint32_t i = 0; i < fabric->class_count; i++)
        if (fabric->classes[i].priority == priority) return fabric->classes[i].name;
    snprintf(buf, 32, "priority %u", priority);
    return buf;
}

static void json_queue_max(struct jout *jout, const struct sim_report *report)
{
    const struct sim_result *result = report->result;
    char name[32];

    for (unsigned p = 0; p < FABRIC_PRIOS; p++) {
        struct histo histo = {0};
        for (uint32_t i = 0; i < result->ports; i++) {
            const struct sim_port *port = &result->port[i];
            uint64_t bytes = port->sw ? port->sw->prio[p].queue_max_bytes : 0;
            uint64_t rate_bps = report->fabric->port[port->port].rate_bps;
            if (bytes && rate_bps) histo_add(&histo, (uint64_t)((u128)bytes * 8 * 1000000000u / rate_bps));
        }
        json_histo(jout, "queue_max", class_of(report->fabric, p, name), &histo);
    }
}

struct queue_delays {
    struct histo tier[FABRIC_ROLES][FABRIC_ROLES]; /* from, to */
    struct histo prio[FABRIC_PRIOS];
};

/* A queue's steps; value: room for all of them. */
static void add_queue(const struct sim_report *report, uint32_t metric, uint32_t port, unsigned priority,
                      uint64_t *value, struct queue_delays *delays)
{
    const struct fabric *fabric = report->fabric;
    const struct fabric_port *out = &fabric->port[port];

    if (out->peer == FABRIC_NONE || !series_read(report->series, metric, port, priority, value)) return;
    uint8_t from = fabric->node[out->node].role, to = fabric->node[fabric->port[out->peer].node].role;
    for (uint32_t s = 0; s < series_steps(report->series); s++) {
        if (value[s] == 0) continue;
        histo_add(&delays->tier[from][to], value[s] / PS_PER_NS);
        histo_add(&delays->prio[priority], value[s] / PS_PER_NS);
    }
}

static void json_queue_delays(struct jout *jout, const struct fabric *fabric, const struct queue_delays *delays)
{
    char name[32];

    for (int from = 0; from < FABRIC_ROLES; from++)
        for (int to = 0; to < FABRIC_ROLES; to++) {
            snprintf(name, sizeof(name), "%s-%s", role_name[from], role_name[to]);
            json_histo(jout, "queue", name, &delays->tier[from][to]);
        }
    for (unsigned p = 0; p < FABRIC_PRIOS; p++)
        json_histo(jout, "queue", class_of(fabric, p, name), &delays->prio[p]);
}

static void json_queue(struct jout *jout, const struct sim_report *report)
{
    const struct observe_catalogue *catalogue = series_catalogue(report->series);
    struct queue_delays *delays = calloc(1, sizeof(*delays));
    uint64_t *value = calloc(series_steps(report->series) + 1u, sizeof(*value));

    for (uint32_t m = 0; m < catalogue->count && delays && value; m++) {
        const struct observe_metric *metric = &catalogue->metric[m];
        if (metric->series == NULL || strcmp(metric->series, "delay") != 0) continue;
        for (uint32_t i = 0; i < series_objects(report->series, metric->object); i++)
            for (unsigned p = 0; p < FABRIC_PRIOS; p++)
                add_queue(report, m, i, p, value, delays);
    }
    if (delays) json_queue_delays(jout, report->fabric, delays);
    free(delays);
    free(value);
}

void sim_json_latency(struct jout *jout, const struct sim_report *report)
{
    jout_open(jout, "latency", '[');
    json_rtt(jout, report->result);
    json_fct(jout, report);
    if (report->series) json_queue(jout, report);
    json_queue_max(jout, report);
    jout_close(jout);
}
