/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of a sweep, for programs: CSV and JSON have all columns, with the keys of measures.def and whole numbers or
 * exact fractions.  With --seeds they have means and intervals.
 */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "cli/cli.h"
#include "cli/simulate/seeds_print.h"
#include "cli/simulate/sweep_print.h"

static void json_point(struct jout *jout, const struct sweep *sweep, const struct sweep_view *view, uint32_t point)
{
    const struct row *row = &sweep->row[point * sweep->seeds];

    jout_open_line(jout, NULL, '{');
    JOUT_LIST(jout, "set", i, sweep->grid.axes, jout_text(jout, NULL, sweep_label(&sweep->grid, i, point)));
    if (view->summary) {
        seeds_json(jout, row, &view->summary[point]);
    } else {
        row_json(jout, row);
        row_jobs_json(jout, row);
    }
    jout_close(jout);
}

/* What the members of points are called in tables, and in what they are; and which the tables show. */
static void json_columns(struct jout *jout, const struct sweep *sweep, const struct sweep_view *view)
{
    static const char *const units[] = {
        [MEASURE_KIND_TIME] = "ps", [MEASURE_KIND_GBPS] = "GB/s",   [MEASURE_KIND_MILLI] = "",
        [MEASURE_KIND_COUNT] = "",  [MEASURE_KIND_BYTES] = "bytes", [MEASURE_KIND_SHARE] = "share",
        [MEASURE_KIND_WHOLE] = ""};
    struct sweep_shown shown[SWEEP_SHOWN];
    uint32_t count = sweep_columns(sweep, view, shown);

    jout_open(jout, "columns", '[');
    for (int i = 0; i < MEASURES; i++) {
        jout_open_line(jout, NULL, '{');
        jout_text(jout, "key", measure_infos[i].key);
        jout_text(jout, "name", measure_infos[i].name);
        jout_text(jout, "unit", units[measure_infos[i].kind]);
        jout_text(jout, "help", measure_infos[i].help);
        jout_close(jout);
    }
    jout_close(jout);
    jout_open(jout, "show", '[');
    for (uint32_t i = 0; i < count; i++) {
        jout_open_line(jout, NULL, '{');
        jout_text(jout, "key", measure_infos[shown[i].column].key);
        jout_text(jout, "job", shown[i].job[0] ? shown[i].job : NULL);
        jout_close(jout);
    }
    jout_close(jout);
}

static void json_named(struct jout *jout, const struct sweep_grid *grid)
{
    jout_open(jout, "named", '[');
    for (uint32_t i = 0; i < grid->axes; i++) {
        for (uint32_t v = 0; v < grid->axis[i].values; v++) {
            if (grid->axis[i].name[v] == NULL) continue;
            jout_open_line(jout, NULL, '{');
            jout_text(jout, "vary", grid->axis[i].path);
            jout_text(jout, "name", grid->axis[i].name[v]);
            jout_text(jout, "value", grid->axis[i].value[v]);
            jout_close(jout);
        }
    }
    jout_close(jout);
}

void sweep_json(const struct sweep *sweep, const struct sweep_view *view, FILE *out)
{
    struct jout *jout = jout_begin(out, "sweep");

    jout_text(jout, "file", sweep->path);
    JOUT_LIST_LINE(jout, "vary", i, sweep->grid.axes, jout_text(jout, NULL, sweep->grid.axis[i].path));
    json_named(jout, &sweep->grid);
    json_columns(jout, sweep, view);
    jout_bool(jout, "partial", view->partial);
    JOUT_LIST(jout, "points", i, sweep->points, if (sweep_has(sweep, i)) json_point(jout, sweep, view, i));
    jout_end(jout);
}

struct names {
    const char **name;
    uint32_t count, room;
};

static bool names_have(const struct names *names, const char *name)
{
    for (uint32_t i = 0; i < names->count; i++)
        if (strcmp(names->name[i], name) == 0) return true;
    return false;
}

/* The jobs of all points, or the programs alone, each once: a sweep may vary them.  Without memory, those that fit. */
static struct names job_names(const struct sweep *sweep, bool programs)
{
    struct names names = {0};

    for (uint32_t p = 0; p < sweep->points * sweep->seeds; p++) {
        for (uint32_t j = 0; j < sweep->row[p].jobs; j++) {
            const char *name = sweep->row[p].job[j].name;
            if (names_have(&names, name) || (programs && !sweep->row[p].job[j].program)) continue;
            GROW(names.name, names.count, names.room);
            names.name[names.count++] = name;
        }
    }
    return names;
}

static void csv_jobs(FILE *out, const struct row *row, const struct names *names)
{
    for (uint32_t n = 0; n < names->count; n++) {
        const struct row_job *job = NULL;
        for (uint32_t j = 0; j < row->jobs && job == NULL; j++)
            if (strcmp(row->job[j].name, names->name[n]) == 0 && row->job[j].ended) job = &row->job[j];
        measure_csv(out, job ? job->time_ps : MEASURE_NOTHING, MEASURE_KIND_TIME);
        measure_csv(out, job && !job->program ? job->busbw_kBps : MEASURE_NOTHING, MEASURE_KIND_GBPS);
    }
}

static void csv_exits(FILE *out, const struct row *row, const struct names *programs)
{
    for (uint32_t n = 0; n < programs->count; n++) {
        int status = -1;
        for (uint32_t j = 0; j < row->jobs; j++)
            if (row->job[j].program && strcmp(row->job[j].name, programs->name[n]) == 0) status = row->job[j].exit;
        measure_csv(out, status < 0 ? MEASURE_NOTHING : (uint64_t)status, MEASURE_KIND_COUNT);
    }
}

static void csv_jobs_of_seeds(FILE *out, const struct row_summary *summary, const struct names *names)
{
    const struct summary nothing = summary_of(NULL, 0, 1);

    for (uint32_t n = 0; n < names->count; n++) {
        const struct summary_job *job = NULL;
        for (uint32_t j = 0; j < summary->jobs && job == NULL; j++)
            if (strcmp(summary->job[j].name, names->name[n]) == 0) job = &summary->job[j];
        summary_csv(out, job ? &job->time : &nothing, MEASURE_KIND_TIME);
        summary_csv(out, job ? &job->busbw : &nothing, MEASURE_KIND_GBPS);
    }
}

static void csv_head(const struct sweep *sweep, const struct sweep_view *view, const struct names *jobs,
                     const struct names *programs, FILE *out)
{
    static const char *const keys[] = {"time_ps", "time_ps_ci95", "busbw_GBps", "busbw_GBps_ci95"};
    char name[FABRIC_NAME + 32];

    for (uint32_t i = 0; i < sweep->grid.axes; i++) {
        csv_text(out, sweep->grid.axis[i].path);
        fputc(',', out);
    }
    if (view->summary)
        seeds_csv_head(out);
    else
        row_csv_head(out);
    for (uint32_t j = 0; j < jobs->count; j++) {
        for (uint32_t k = 0; k < 4; k += view->summary ? 1 : 2) {
            snprintf(name, sizeof name, "%s:%s", keys[k], jobs->name[j]);
            fputc(',', out);
            csv_text(out, name);
        }
    }
    for (uint32_t j = 0; j < programs->count; j++) {
        snprintf(name, sizeof name, "exit:%s", programs->name[j]);
        fputc(',', out);
        csv_text(out, name);
    }
    fputc('\n', out);
}

void sweep_csv(const struct sweep *sweep, const struct sweep_view *view, FILE *out)
{
    struct names jobs = job_names(sweep, false), programs = {0};

    if (view->summary == NULL) programs = job_names(sweep, true);
    csv_head(sweep, view, &jobs, &programs, out);
    for (uint32_t p = 0; p < sweep->points; p++) {
        if (!sweep_has(sweep, p)) continue;
        const struct row *row = &sweep->row[p * sweep->seeds];
        for (uint32_t i = 0; i < sweep->grid.axes; i++) {
            csv_text(out, sweep_label(&sweep->grid, i, p));
            fputc(',', out);
        }
        if (view->summary) {
            seeds_csv(out, row, &view->summary[p]);
            csv_jobs_of_seeds(out, &view->summary[p], &jobs);
        } else {
            row_csv(out, row);
            csv_jobs(out, row, &jobs);
            csv_exits(out, row, &programs);
        }
        fputc('\n', out);
    }
    free(jobs.name);
    free(programs.name);
}
