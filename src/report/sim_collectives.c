/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives as nccl-tests prints them: a row a size, with the mean over its repetitions.
 *
 * Columns, their order and what they count are nccl-tests' own (doc/PERFORMANCE.md there): `size` is the larger of a
 * rank's two buffers; `count` what a rank hands over, in elements, so a rank's share of it where buffers are gathered
 * or scattered; `type` is float, of four bytes, since data is not looked at.  Algorithm and protocol, which nccl-tests
 * does not print, come last.
 */
#include <inttypes.h>

#include "fabric/fabric.h"
#include "report/collectives.h"
#include "report/rows/rows.h"
#include "report/sim_report.h"
#include "report/table.h"

#define CELL 48
#define ELEMENT_BYTES 4

/* Rows follow each other as the jobs do; *at is where to go on. */
bool collective_next(const struct sim_result *result, uint32_t *at, struct collective_row *ret)
{
    while (*at < result->jobs && !result->job[*at].collective)
        ++*at;
    if (*at == result->jobs) return false;
    *ret = (struct collective_row){.first = &result->job[*at]};
    for (; *at < result->jobs; ++*at) {
        const struct sim_job *job = &result->job[*at];
        if (job->job != ret->first->job || job->bytes != ret->first->bytes) break;
        ret->runs++;
        if (job->end == PS_NEVER) continue;
        ret->ended++;
        ret->time_ps += job->end - job->start;
    }
    return true;
}

static bool shares(enum fabric_job_kind kind)
{
    return kind == FABRIC_JOB_ALLGATHER || kind == FABRIC_JOB_REDUCESCATTER || kind == FABRIC_JOB_ALLTOALL;
}

bool collective_reduces(enum fabric_job_kind kind)
{
    return kind == FABRIC_JOB_ALLREDUCE || kind == FABRIC_JOB_REDUCESCATTER || kind == FABRIC_JOB_REDUCE;
}

static const char *algorithm(const struct fabric_job *job, const struct collective_row *row)
{
    return fabric_job_pairs((enum fabric_job_kind)job->kind)
               ? "pairs"
               : fabric_algorithm_name((enum fabric_algorithm)row->first->algorithm);
}

uint64_t collective_count(const struct fabric_job *job, const struct collective_row *row)
{
    uint64_t count = row->first->bytes / ELEMENT_BYTES;

    return shares((enum fabric_job_kind)job->kind) && row->first->ranks ? count / row->first->ranks : count;
}

uint64_t collective_mean_ps(const struct collective_row *row)
{
    return row->ended ? (uint64_t)(row->time_ps / row->ended) : 0;
}

uint64_t collective_kBps(const struct collective_row *row, bool bus)
{
    struct sim_job job = *row->first;

    if (!row->ended) return 0;
    job.start = 0;
    job.end = (ps_t)(row->time_ps / row->ended);
    return sim_bandwidth_kBps(&job, bus);
}

static void cells(const struct sim_report *report, const struct collective_row *row, struct table *table)
{
    const struct fabric_job *job = &report->fabric->job[row->first->job];
    enum fabric_job_kind kind = (enum fabric_job_kind)job->kind;
    uint64_t ps = collective_mean_ps(row), alg = collective_kBps(row, false), bus = collective_kBps(row, true);
    char how[CELL], size[CELL], count[CELL], root[CELL] = "-1", time[CELL] = "-", algbw[CELL] = "-", busbw[CELL] = "-";

    snprintf(how, CELL, "%s/%s", algorithm(job, row), fabric_protocol_name((enum fabric_protocol)row->first->protocol));
    snprintf(size, CELL, "%" PRIu64, row->first->bytes);
    snprintf(count, CELL, "%" PRIu64, collective_count(job, row));
    if (fabric_job_rooted(kind)) snprintf(root, CELL, "%u", job->root);
    if (row->ended) {
        text_fixed(ps, PS_US, 2, time);
        text_fixed(alg, 1000000, 2, algbw);
        text_fixed(bus, 1000000, 2, busbw);
    }
    TABLE_ROW(table, row->first->name, size, count, "float", collective_reduces(kind) ? "sum" : "none", root, time,
              algbw, busbw, how);
}

void sim_collectives_text(FILE *out, const struct sim_report *report, const struct sim_text_options *options)
{
    uint32_t at = 0, rows = 0, more = 0;
    struct table table;
    struct collective_row row;

    TABLE_BEGIN(&table, LEFT("job", .min_width = 8), RIGHT("size"), RIGHT("count", .drop = 1), RIGHT("type", .drop = 4),
                RIGHT("redop", .drop = 3), RIGHT("root", .drop = 2), RIGHT("time us"), RIGHT("algbw"), RIGHT("busbw"),
                LEFT("algorithm", .drop = 5));
    while (collective_next(report->result, &at, &row)) {
        if (options->rows && rows == options->rows) {
            more++;
            continue;
        }
        cells(report, &row, &table);
        rows++;
    }
    if (rows) {
        text_heading(out, &options->style,
                     "COLLECTIVES (as nccl-tests prints them: bytes, GB/s, mean of the repetitions)");
        table_print(&table, out, &options->style, 2);
        if (more) fprintf(out, "  and %u more\n", more);
    }
    table_release(&table);
}

void sim_collectives_json(struct jout *jout, const struct sim_report *report)
{
    uint32_t at = 0;
    struct collective_row row;

    jout_open(jout, "collectives", '[');
    while (collective_next(report->result, &at, &row)) {
        const struct fabric_job *job = &report->fabric->job[row.first->job];
        enum fabric_job_kind kind = (enum fabric_job_kind)job->kind;
        jout_open_line(jout, NULL, '{');
#include "report/rows/collective.def"
        jout_close(jout);
    }
    jout_close(jout);
}
