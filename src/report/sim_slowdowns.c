/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slowdown by size of flow, of jobs whose flows arrive at random (poisson), in the classes of the literature; and how
 * much of it (each flow's slowdown above 1) is waiting behind other flows of the same two ranks: flows share the queue
 * pairs of a pair (`qps`), which send in order, so a short one stands behind a long one however free the network is.
 *
 * Percentiles are of the nearest rank.  Flows that did not complete, failed, or have no way of their own are left out.
 */
#include <stdlib.h>

#include "base/wide.h"
#include "fabric/fabric.h"
#include "report/rows/rows.h"
#include "report/sim_report.h"
#include "report/table.h"
#include "sim/sim_result.h"

#define CELL 24
#define SIZES 5
#define POINTS 3
#define WAITED_MILLI 100 /* less of the slowdown is not worth a line */

static const uint64_t below[SIZES] = {10000, 100000, 1000000, 10000000, 0}; /* the last has no end */
static const char *const size_name[SIZES] = {"below 10KB", "10KB to 100KB", "100KB to 1MB", "1MB to 10MB",
                                             "10MB and more"};
static const uint32_t point[POINTS] = {50, 95, 99};

struct slowdowns {
    const char *job;
    uint32_t qps, flows, flows_of[SIZES];
    uint64_t percentile[SIZES][POINTS]; /* thousandths */
    uint32_t waited_milli;
};

struct slow {
    uint64_t milli;
    uint32_t size;
};

static int by_size(const void *a, const void *b)
{
    const struct slow *x = a, *y = b;

    if (x->size != y->size) return x->size < y->size ? -1 : 1;
    return x->milli < y->milli ? -1 : x->milli > y->milli;
}

static uint32_t size_of(uint64_t bytes)
{
    uint32_t size = 0;

    while (size < SIZES - 1 && bytes >= below[size])
        size++;
    return size;
}

/* False: it is of another kind, or no flow of it says anything. */
static bool read_job(const struct sim_report *report, uint32_t job, struct slow *slow, struct slowdowns *ret)
{
    const struct sim_result *result = report->result;
    const struct fabric_job *as = &report->fabric->job[job];
    uint64_t over = 0, waited = 0;

    *ret = (struct slowdowns){.job = as->name, .qps = as->qps};
    if (as->kind != FABRIC_JOB_POISSON) return false;
    for (uint32_t i = 0; i < result->flows; i++) {
        const struct sim_flow *flow = &result->flow[i];
        uint64_t milli = sim_slowdown_milli(flow);
        if (flow->job != job || flow->failed || !milli) continue;
        slow[ret->flows++] = (struct slow){milli, size_of(flow->bytes)};
        if (milli <= 1000) continue;
        over += milli - 1000;
        waited += (uint64_t)((u128)flow->waited_ps * 1000 / flow->ideal_ps);
    }
    qsort(slow, ret->flows, sizeof(*slow), by_size);
    for (uint32_t i = 0; i < ret->flows; i++)
        ret->flows_of[slow[i].size]++;
    for (uint32_t size = 0, first = 0; size < SIZES; first += ret->flows_of[size++])
        for (int p = 0; p < POINTS && ret->flows_of[size]; p++)
            ret->percentile[size][p] = slow[first + (ret->flows_of[size] * (uint64_t)point[p] + 99) / 100 - 1].milli;
    ret->waited_milli = over ? (uint32_t)((u128)waited * 1000 / over) : 0;
    return ret->flows > 0;
}

static void print_job(FILE *out, const struct slowdowns *of, bool named, const struct sim_text_options *options)
{
    struct table table;

    TABLE_BEGIN(&table, LEFT("slowdown of flows of"), RIGHT("flows"), RIGHT("p50"), RIGHT("p95"), RIGHT("p99"));
    for (uint32_t size = 0; size < SIZES; size++) {
        char flows[TEXT_COUNT], text[POINTS][CELL];
        if (!of->flows_of[size]) continue;
        for (int p = 0; p < POINTS; p++)
            text_fixed(of->percentile[size][p], 1000, 2, text[p]);
        TABLE_ROW(&table, size_name[size], text_count(of->flows_of[size], flows), text[0], text[1], text[2]);
    }
    if (named) fprintf(out, "  %s:\n", of->job);
    table_print(&table, out, &options->style, 2);
    table_release(&table);
    if (of->waited_milli < WAITED_MILLI) return;
    fprintf(out, "  %u%% of the slowdown is waiting for other flows of the same queue pair (qps: %u)%s.\n",
            of->waited_milli / 10, of->qps, of->qps < FABRIC_QPS_MAX ? "; more 'qps' of the job let them pass" : "");
}

void sim_slowdowns_print(FILE *out, const struct sim_report *report, const struct sim_text_options *options)
{
    struct slow *slow = calloc(report->result->flows + 1u, sizeof(*slow));
    struct slowdowns of;
    uint32_t jobs = 0;

    for (uint32_t j = 0; j < report->fabric->jobs; j++)
        jobs += report->fabric->job[j].kind == FABRIC_JOB_POISSON;
    for (uint32_t j = 0; slow && j < report->fabric->jobs; j++)
        if (read_job(report, j, slow, &of)) print_job(out, &of, jobs > 1, options);
    free(slow);
}

static void json_size(struct jout *jout, const struct slowdowns *of, uint32_t size)
{
    jout_open_line(jout, NULL, '{');
#include "report/rows/slowdown_size.def"
    jout_close(jout);
}

static void json_job(struct jout *jout, const struct slowdowns *of)
{
    jout_open(jout, NULL, '{');
#include "report/rows/slowdown.def"
    jout_close(jout);
}

void sim_slowdowns_json(struct jout *jout, const struct sim_report *report)
{
    struct slow *slow = calloc(report->result->flows + 1u, sizeof(*slow));
    struct slowdowns of;
    bool opened = false;

    for (uint32_t j = 0; slow && j < report->fabric->jobs; j++) {
        if (!read_job(report, j, slow, &of)) continue;
        if (!opened) jout_open(jout, "slowdowns", '[');
        opened = true;
        json_job(jout, &of);
    }
    if (opened) jout_close(jout);
    free(slow);
}
