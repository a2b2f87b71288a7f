/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the rows of several seeds to one: statistics.c for each of their values.
 */
#include "study/summary.h"

#include <stdlib.h>
#include <string.h>

uint32_t measure_scale(enum measure_kind kind)
{
    return kind == MEASURE_KIND_COUNT || kind == MEASURE_KIND_MILLI ? 1000 : 1;
}

/* One value of every row that has values: `get` answers MEASURE_NOTHING where it has not this one. */
static struct summary sum_up(const struct row *row, uint32_t rows, uint64_t (*get)(const struct row *, uint32_t),
                             uint32_t which, uint32_t scale, uint64_t *scratch)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < rows; i++) {
        if (row[i].error) continue;
        scratch[count] = get(&row[i], which);
        if (scratch[count++] == MEASURE_NOTHING) return summary_of(NULL, 0, scale);
    }
    return summary_of(scratch, count, scale);
}

static uint64_t get_measure(const struct row *row, uint32_t measure)
{
    return row->value[measure];
}

static bool job_ended(const struct row *row, uint32_t job)
{
    return job < row->jobs && row->job[job].ended == row->job[job].runs;
}

static uint64_t get_time(const struct row *row, uint32_t job)
{
    return job_ended(row, job) ? row->job[job].time_ps : MEASURE_NOTHING;
}

static uint64_t get_busbw(const struct row *row, uint32_t job)
{
    return job_ended(row, job) ? row->job[job].busbw_kBps : MEASURE_NOTHING;
}

static void sum_jobs(const struct row *row, uint32_t rows, const struct row *first, struct row_summary *ret,
                     uint64_t *scratch)
{
    ret->jobs = first->jobs;
    for (uint32_t j = 0; j < ret->jobs; j++) {
        ret->job[j] =
            (struct summary_job){.name = first->job[j].name,
                                 .time = sum_up(row, rows, get_time, j, measure_scale(MEASURE_KIND_TIME), scratch),
                                 .busbw = sum_up(row, rows, get_busbw, j, measure_scale(MEASURE_KIND_GBPS), scratch)};
    }
}

bool row_summarise(const struct row *row, uint32_t rows, struct row_summary *ret)
{
    uint64_t *scratch = calloc(rows + 1u, sizeof *scratch);
    const struct row *first = NULL;
    bool odd = false;

    *ret = (struct row_summary){.runs = rows};
    for (uint32_t i = 0; i < rows; i++) {
        if (row[i].error) {
            if (ret->error == NULL) ret->error = row[i].error;
            continue;
        }
        if (first == NULL) first = &row[i];
        if (first == &row[i] || (!odd && !row_ended(&row[i]))) ret->state = row[i].state;
        odd |= !row_ended(&row[i]);
        ret->ended += row_ended(&row[i]);
        ret->failed += row[i].failed;
    }
    ret->job = calloc(first ? first->jobs + 1u : 1, sizeof *ret->job);
    bool enough = scratch && ret->job;
    for (uint32_t m = 0; enough && m < MEASURES; m++)
        ret->measure[m] = sum_up(row, rows, get_measure, m, measure_scale(measure_infos[m].kind), scratch);
    if (enough && first) sum_jobs(row, rows, first, ret, scratch);
    free(scratch);
    return enough;
}

void row_summary_release(struct row_summary *summary)
{
    free(summary->job);
    *summary = (struct row_summary){0};
}
