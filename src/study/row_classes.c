/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the jobs of each traffic class got, as lines of a row: how long their flows took, and what switches dropped.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "fabric/fabric.h"
#include "fabric/switches.h"
#include "report/sim_report.h"
#include "study/row.h"

static bool in_class(const struct fabric *fabric, uint32_t job, uint32_t of_class)
{
    return job < fabric->jobs && fabric->job[job].job_class == of_class;
}

static uint64_t drops_of(const struct sim_result *result, unsigned priority)
{
    uint64_t drops = 0;

    for (uint32_t p = 0; p < result->ports; p++)
        if (result->port[p].sw) drops += result->port[p].sw->prio[priority].drops;
    return drops;
}

/* Completion times and slowdowns of a class, where they are known; the number of either. */
static void gather(const struct fabric *fabric, const struct sim_result *result, uint32_t of_class, uint64_t *fct,
                   uint32_t *ret_ended, uint64_t *slow, uint32_t *ret_known)
{
    uint32_t ended = 0, known = 0;

    for (uint32_t i = 0; i < result->flows; i++) {
        const struct sim_flow *flow = &result->flow[i];
        if (flow->fct_ps == PS_NEVER || flow->failed || !in_class(fabric, flow->job, of_class)) continue;
        fct[ended++] = flow->fct_ps;
        if (sim_slowdown_milli(flow)) slow[known++] = sim_slowdown_milli(flow);
    }
    for (uint32_t i = 0; ended == 0 && i < result->jobs; i++) {
        const struct sim_job *job = &result->job[i];
        if (job->end == PS_NEVER || job->failed || !in_class(fabric, job->job, of_class)) continue;
        fct[ended++] = job->end - job->start;
    }
    qsort(fct, ended, sizeof *fct, row_compare);
    qsort(slow, known, sizeof *slow, row_compare);
    *ret_ended = ended;
    *ret_known = known;
}

bool row_print_classes(FILE *to, const struct fabric *fabric, const struct sim_result *result)
{
    uint64_t *fct = calloc((size_t)result->flows + result->jobs + 1u, sizeof *fct);
    uint64_t *slow = calloc(result->flows + 1u, sizeof *slow);
    bool enough = fct && slow;

    for (uint32_t c = 0; enough && c < fabric->class_count; c++) {
        const struct fabric_class *of = &fabric->classes[c];
        uint32_t ended, known;
        gather(fabric, result, c, fct, &ended, slow, &known);
        fprintf(to, "class %d %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " ", of->lossless, ended,
                row_percentile(slow, known, 500), row_percentile(slow, known, 990), row_percentile(fct, ended, 990),
                drops_of(result, of->priority));
        row_print_line(to, of->name);
    }
    free(fct);
    free(slow);
    return enough;
}

bool row_parse_class(const char *line, struct row *row)
{
    struct row_class of = {.flows = 0};
    int lossless = 0, length = 0;

    if (sscanf(line, "class %d %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %n", &lossless, &of.flows,
               &of.p50, &of.p99, &of.fct_ps, &of.drops, &length) != 6 ||
        length == 0)
        return false;
    of.lossless = lossless != 0;
    snprintf(of.name, sizeof of.name, "%s", line + length);
    struct row_class *grown = realloc(row->of_class, (row->classes + 1) * sizeof *grown);
    if (grown == NULL) return false;
    row->of_class = grown;
    row->of_class[row->classes++] = of;
    return true;
}
