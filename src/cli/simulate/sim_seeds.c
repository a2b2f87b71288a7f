/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rocelab sim --seeds N: one file with several seeds, and what they say together: as a table, JSON, CSV and for
 * Prometheus.  It is a sweep of one point: the runs, the rows that are kept and the summary are the study's.
 */
#include "cli/simulate/sim_seeds.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/outputs.h"
#include "cli/simulate/seeds_print.h"
#include "cli/simulate/study.h"
#include "cli/source.h"
#include "report/table.h"
#include "study/sweep.h"

#define FILE_BYTES ((size_t)1 << 30)

struct seeds_report {
    const struct sim_seeds *settings;
    const struct sweep *sweep;
    struct row_summary summary;
};

/* Every value that has a mean: of all jobs (job NULL) and of each. */
typedef void each_value(void *to, const char *key, const char *name, const char *job, const struct summary *summary,
                        enum measure_kind kind);

static void for_each_value(const struct row_summary *summary, each_value *call, void *to)
{
    for (int m = 0; m < MEASURES; m++) {
        const struct measure_info *info = &measure_infos[m];
        if (summary->measure[m].mean != SUMMARY_NOTHING)
            call(to, info->key, info->name, NULL, &summary->measure[m], info->kind);
        for (uint32_t j = 0; (m == MEASURE_TIME || m == MEASURE_BUSBW) && j < summary->jobs; j++) {
            const struct summary_job *job = &summary->job[j];
            const struct summary *of = m == MEASURE_TIME ? &job->time : &job->busbw;
            if (of->mean != SUMMARY_NOTHING) call(to, info->key, info->name, job->name, of, info->kind);
        }
    }
}

struct lines { /* of the table */
    struct table table;
    bool jobs; /* each by itself: there are several */
};

static void text_value(void *to, const char *key, const char *name, const char *job, const struct summary *summary,
                       enum measure_kind kind)
{
    char title[FABRIC_NAME + 32], mean[TEXT_COUNT], half[TEXT_COUNT], least[TEXT_COUNT], most[TEXT_COUNT];

    struct lines *lines = to;

    (void)key;
    if (summary->most == 0 || (job && !lines->jobs)) return;
    snprintf(title, sizeof title, "%s%s%s", name, job ? ":" : "", job ? job : "");
    for (char *c = title; *c; c++)
        if (*c < 0x20 || *c >= 0x7f) *c = '?'; /* a table's cells are ASCII */
    TABLE_ROW(&lines->table, title, summary_part_text(summary->mean, kind, mean),
              summary_part_text(summary->half, kind, half), measure_text(summary->least, kind, least),
              measure_text(summary->most, kind, most));
}

static void print_text(const struct seeds_report *report, FILE *out)
{
    const struct row_summary *summary = &report->summary;
    const struct row *row = report->sweep->row;
    const struct text_style style = cli_style();
    struct lines lines = {.jobs = summary->jobs > 1};

    fprintf(out, "%u run%s", summary->runs, summary->runs == 1 ? "" : "s");
    if (row[0].error == NULL) fprintf(out, ", seed%s %" PRIu64, summary->runs == 1 ? "" : "s", row[0].seed);
    if (row[0].error == NULL && summary->runs > 1) fprintf(out, " to %" PRIu64, row[0].seed + summary->runs - 1);
    fputs(summary->ended == summary->runs ? "; the jobs ended in each\n" : "\n", out);
    TABLE_BEGIN(&lines.table, LEFT("measure"), RIGHT("mean"), RIGHT("+-95%"), RIGHT("least"), RIGHT("most"));
    for_each_value(summary, text_value, &lines);
    if (lines.table.rows) table_print(&lines.table, out, &style, 0);
    table_release(&lines.table);
    for (uint32_t i = 0; i < summary->runs; i++) {
        if (row_ended(&row[i])) continue;
        fprintf(out, "run %u: ", i + 1);
        text_outside(out, &style, row[i].error ? row[i].error : state_names[row[i].state]);
        if (row[i].failed) fprintf(out, ", %" PRIu64 " work requests failed", row[i].failed);
        fputc('\n', out);
    }
    rows_slices(out, row, summary->runs);
}

static bool print_json(const void *context, FILE *out)
{
    const struct seeds_report *report = context;
    struct jout *jout = jout_begin(out, "sim-seeds");

    jout_text(jout, "file", report->sweep->path);
    seeds_json(jout, report->sweep->row, &report->summary);
    jout_end(jout);
    return true;
}

static void csv_value(void *to, const char *key, const char *name, const char *job, const struct summary *summary,
                      enum measure_kind kind)
{
    FILE *out = to;

    (void)name;
    fprintf(out, "%s,", key);
    csv_text(out, job ? job : "");
    summary_csv(out, summary, kind);
    measure_csv(out, summary->least, kind);
    measure_csv(out, summary->most, kind);
    fputc('\n', out);
}

static bool print_summary_csv(const void *context, FILE *out)
{
    const struct seeds_report *report = context;

    fputs("measure,job,mean,ci95,least,most\n", out);
    for_each_value(&report->summary, csv_value, out);
    return true;
}

static bool print_runs_csv(const void *context, FILE *out)
{
    const struct seeds_report *report = context;

    fputs("seed,", out);
    row_csv_head(out);
    fputc('\n', out);
    for (uint32_t i = 0; i < report->summary.runs; i++) {
        const struct row *row = &report->sweep->row[i];
        if (row->error == NULL) fprintf(out, "%" PRIu64, row->seed);
        fputc(',', out);
        row_csv(out, row);
        fputc('\n', out);
    }
    return true;
}

struct gauge {
    FILE *out;
    const char *name;
    bool half;
};

/* A label's value: backslash, quote and newline are escaped. */
static void label(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\\' || *text == '"') fputc('\\', out);
        fputc(*text == '\n' ? ' ' : *text, out);
    }
}

static void gauge_value(void *to, const char *key, const char *name, const char *job, const struct summary *summary,
                        enum measure_kind kind)
{
    const struct gauge *gauge = to;
    uint64_t part = gauge->half ? summary->half : summary->mean;

    (void)name;
    if (part == SUMMARY_NOTHING) return;
    fprintf(gauge->out, "%s{measure=\"%s\"", gauge->name, key);
    if (job) {
        fputs(",job=\"", gauge->out);
        label(gauge->out, job);
        fputc('"', gauge->out);
    }
    fputs("} ", gauge->out);
    summary_number(gauge->out, part, kind);
    fputc('\n', gauge->out);
}

static bool print_prometheus(const void *context, FILE *out)
{
    const struct seeds_report *report = context;
    struct gauge mean = {out, "rocelab_seeds_mean", false}, half = {out, "rocelab_seeds_ci95", true};

    fprintf(out,
            "# HELP rocelab_seeds_runs Runs with different seeds.\n# TYPE rocelab_seeds_runs gauge\n"
            "rocelab_seeds_runs %u\n",
            report->summary.runs);
    fprintf(out,
            "# HELP rocelab_seeds_ended Runs whose jobs ended.\n# TYPE rocelab_seeds_ended gauge\n"
            "rocelab_seeds_ended %u\n",
            report->summary.ended);
    fputs("# HELP rocelab_seeds_mean Mean over the runs.\n# TYPE rocelab_seeds_mean gauge\n", out);
    for_each_value(&report->summary, gauge_value, &mean);
    fputs("# HELP rocelab_seeds_ci95 Half the width of the 95 % confidence interval of the mean.\n"
          "# TYPE rocelab_seeds_ci95 gauge\n",
          out);
    for_each_value(&report->summary, gauge_value, &half);
    return true;
}

static bool write_files(const struct seeds_report *report)
{
    const struct sim_seeds *settings = report->settings;
    bool good = true;

    if (settings->out) good &= cli_write_in(settings->out, "seeds.json", print_json, report);
    for (int i = 0; i < 2; i++) {
        const char *folder = i == 0 ? settings->out : settings->csv;
        if (folder == NULL) continue;
        good &= cli_write_in(folder, "summary.csv", print_summary_csv, report);
        good &= cli_write_in(folder, "runs.csv", print_runs_csv, report);
    }
    if (settings->counters_file) {
        struct cli_file file = {0};
        bool begun = cli_file_open(&file, "--counters", settings->counters_file);
        good &= begun && print_prometheus(report, file.to) && cli_file_close(&file);
        cli_file_drop(&file);
    }
    return good;
}

static int print(const struct sim_seeds *settings, const struct sweep *sweep, FILE *out)
{
    struct seeds_report report = {.settings = settings, .sweep = sweep};
    int status = CLI_WRONG;

    if (!row_summarise(sweep->row, sweep->seeds, &report.summary)) {
        cli_error("not enough memory for the report");
    } else if (write_files(&report)) {
        status = report.summary.ended == report.summary.runs ? CLI_DONE : CLI_PROBLEMS;
        if (settings->counters && settings->counters_file == NULL)
            print_prometheus(&report, out);
        else if (settings->json)
            status = print_json(&report, out) ? status : CLI_WRONG;
        else
            print_text(&report, out);
    }
    row_summary_release(&report.summary);
    return status;
}

int sim_seeds(const struct sim_seeds *settings, FILE *out)
{
    struct study_error error = {0};
    struct sweep sweep = {.path = strcmp(settings->path, "-") == 0 ? "<stdin>" : settings->path,
                          .sim = settings->sim,
                          .own_seed = settings->own_seed,
                          .seeds = settings->seeds,
                          .cache = {.force = settings->force},
                          .jobs = settings->sim.threads,
                          .quiet = settings->quiet,
                          .stopped = &cli_stopped,
                          .points = 1,
                          .error = &error};
    int status = CLI_WRONG;

    sweep.sim.threads = 1;
    if (settings->csv && !cli_folder("csv", settings->csv)) return CLI_WRONG;
    if (!cli_read_text(settings->path, FILE_BYTES, &sweep.text)) return CLI_WRONG;
    if (sweep_check(&sweep) && (settings->out == NULL || cache_open(&sweep.cache, settings->out, &error))) {
        cli_catch_stop(1);
        if (sweep_run(&sweep)) {
            status = print(settings, &sweep, out);
            if (settings->out && !settings->quiet) cli_study_rows(&sweep.rows, settings->out, "runs");
        } else if (cli_stopped) {
            cli_study_stopped(&sweep.done, sweep.seeds, settings->out, "runs");
        }
    }
    cli_study_error(&error);
    sweep_release(&sweep);
    free(sweep.text);
    return status;
}
