/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows, and summaries of rows, as members of JSON objects and fields of CSV lines.
 */
#include "cli/seeds_print.h"

#include <inttypes.h>

const char *seeds_note(const struct row_summary *summary, char buf[SEEDS_NOTE])
{
    buf[0] = '\0';
    if (summary->ended == summary->runs) return buf;
    if (summary->error && summary->ended == 0)
        snprintf(buf, SEEDS_NOTE, "no values");
    else
        snprintf(buf, SEEDS_NOTE, "%u of %u ended", summary->ended, summary->runs);
    return buf;
}

void row_json(struct jout *jout, const struct row *row)
{
    jout_text(jout, "error", row->error);
    jout_text(jout, "state", row->error ? NULL : state_names[row->state]);
    jout_u64(jout, "failed", row->failed);
    for (int i = 0; i < MEASURES; i++)
        measure_json(jout, measure_infos[i].key, row->error ? MEASURE_NOTHING : row->value[i], measure_infos[i].kind);
}

void row_jobs_json(struct jout *jout, const struct row *row)
{
    jout_open(jout, "jobs", '[');
    for (uint32_t i = 0; i < row->jobs; i++) {
        const struct row_job *job = &row->job[i];
        jout_open(jout, NULL, '{');
        jout_text(jout, "name", job->name);
        jout_u64(jout, "runs", job->runs);
        jout_u64(jout, "ended", job->ended);
        measure_json(jout, "time_ps", job->ended ? job->time_ps : MEASURE_NOTHING, MEASURE_KIND_TIME);
        measure_json(jout, "busbw_GBps", job->ended && !job->program ? job->busbw_kBps : MEASURE_NOTHING,
                     MEASURE_KIND_GBPS);
        if (job->program && job->exit >= 0) jout_u64(jout, "exit", (uint64_t)job->exit);
        jout_close(jout);
    }
    jout_close(jout);
}

static bool any_values(const struct row_summary *summary)
{
    return summary->measure[MEASURE_HOPS].mean != SUMMARY_NOTHING;
}

void seeds_json(struct jout *jout, const struct row *row, const struct row_summary *summary)
{
    jout_u64(jout, "seeds", summary->runs);
    jout_u64(jout, "ended", summary->ended);
    jout_text(jout, "error", summary->error);
    jout_text(jout, "state", any_values(summary) ? state_names[summary->state] : NULL);
    jout_u64(jout, "failed", summary->failed);
    for (int i = 0; i < MEASURES; i++)
        summary_json(jout, measure_infos[i].key, &summary->measure[i], measure_infos[i].kind);
    jout_open(jout, "jobs", '[');
    for (uint32_t i = 0; i < summary->jobs; i++) {
        jout_open(jout, NULL, '{');
        jout_text(jout, "name", summary->job[i].name);
        summary_json(jout, "time_ps", &summary->job[i].time, MEASURE_KIND_TIME);
        summary_json(jout, "busbw_GBps", &summary->job[i].busbw, MEASURE_KIND_GBPS);
        jout_close(jout);
    }
    jout_close(jout);
    jout_open(jout, "runs", '[');
    for (uint32_t i = 0; i < summary->runs; i++) {
        jout_open_line(jout, NULL, '{');
        if (row[i].error)
            jout_null(jout, "seed");
        else
            jout_u64(jout, "seed", row[i].seed);
        row_json(jout, &row[i]);
        jout_close(jout);
    }
    jout_close(jout);
}

void row_csv_head(FILE *out)
{
    fputs("state", out);
    for (int i = 0; i < MEASURES; i++)
        fprintf(out, ",%s", measure_infos[i].key);
    fputs(",failed,error", out);
}

void row_csv(FILE *out, const struct row *row)
{
    fputs(row->error ? "" : state_names[row->state], out);
    for (int i = 0; i < MEASURES; i++)
        measure_csv(out, row->error ? MEASURE_NOTHING : row->value[i], measure_infos[i].kind);
    fprintf(out, ",%" PRIu64 ",", row->failed);
    csv_text(out, row->error ? row->error : "");
}

void seeds_csv_head(FILE *out)
{
    fputs("seeds,ended,state", out);
    for (int i = 0; i < MEASURES; i++)
        fprintf(out, ",%s,%s_ci95", measure_infos[i].key, measure_infos[i].key);
    fputs(",failed,error", out);
}

void seeds_csv(FILE *out, const struct row_summary *summary)
{
    fprintf(out, "%" PRIu32 ",%" PRIu32 ",%s", summary->runs, summary->ended,
            any_values(summary) ? state_names[summary->state] : "");
    for (int i = 0; i < MEASURES; i++)
        summary_csv(out, &summary->measure[i], measure_infos[i].kind);
    fprintf(out, ",%" PRIu64 ",", summary->failed);
    csv_text(out, summary->error ? summary->error : "");
}
