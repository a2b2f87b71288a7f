/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows, and summaries of rows, as members of JSON objects and fields of CSV lines.
 */
#include "cli/simulate/seeds_print.h"

#include <inttypes.h>
#include <string.h>

#include "cli/cli.h"
#include "report/sim_report.h"

#define SLICES 20 /* of different words, that are told */

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
    jout_text(jout, "slice", row->slices);
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

/* Seeds of a file are of the same slice; the first that has run says it. */
static const char *slices_of(const struct row *row, uint32_t rows)
{
    for (uint32_t i = 0; i < rows; i++)
        if (row[i].slices) return row[i].slices;
    return NULL;
}

void seeds_json(struct jout *jout, const struct row *row, const struct row_summary *summary)
{
    jout_u64(jout, "seeds", summary->runs);
    jout_u64(jout, "ended", summary->ended);
    jout_text(jout, "error", summary->error);
    jout_text(jout, "state", any_values(summary) ? state_names[summary->state] : NULL);
    jout_u64(jout, "failed", summary->failed);
    jout_text(jout, "slice", slices_of(row, summary->runs));
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
    fputs(",failed,error,slice", out);
}

void row_csv(FILE *out, const struct row *row)
{
    fputs(row->error ? "" : state_names[row->state], out);
    for (int i = 0; i < MEASURES; i++)
        measure_csv(out, row->error ? MEASURE_NOTHING : row->value[i], measure_infos[i].kind);
    fprintf(out, ",%" PRIu64 ",", row->failed);
    csv_text(out, row->error ? row->error : "");
    fputc(',', out);
    csv_text(out, row->slices ? row->slices : "");
}

void seeds_csv_head(FILE *out)
{
    fputs("seeds,ended,state", out);
    for (int i = 0; i < MEASURES; i++)
        fprintf(out, ",%s,%s_ci95", measure_infos[i].key, measure_infos[i].key);
    fputs(",failed,error,slice", out);
}

void seeds_csv(FILE *out, const struct row *row, const struct row_summary *summary)
{
    fprintf(out, "%" PRIu32 ",%" PRIu32 ",%s", summary->runs, summary->ended,
            any_values(summary) ? state_names[summary->state] : "");
    for (int i = 0; i < MEASURES; i++)
        summary_csv(out, &summary->measure[i], measure_infos[i].kind);
    fprintf(out, ",%" PRIu64 ",", summary->failed);
    csv_text(out, summary->error ? summary->error : "");
    const char *slices = slices_of(row, summary->runs);
    fputc(',', out);
    csv_text(out, slices ? slices : "");
}

void rows_slices(FILE *out, const struct row *row, uint32_t rows)
{
    const struct text_style style = cli_style();
    const char *told[SLICES];
    uint32_t count = 0;

    for (uint32_t i = 0; i < rows && count < SLICES; i++) {
        bool before = row[i].slices == NULL;
        for (uint32_t t = 0; t < count && !before; t++)
            before = strcmp(told[t], row[i].slices) == 0;
        if (!before) told[count++] = row[i].slices;
    }
    sim_slices_text(out, &style, told, count);
}
