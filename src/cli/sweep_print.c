/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of a sweep: as text, CSV and JSON.
 *
 * Text shows the columns chosen; CSV and JSON have all of them, with the keys of measures.def and whole numbers or
 * exact fractions.  A point without values has its sentence under the table, because it does not fit into it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/nearest.h"
#include "cli/cli.h"
#include "cli/sweep_print.h"
#include "report/json_out.h"
#include "report/table.h"

#define SENTENCES 20
#define PLAIN 96

enum kind { TIME, GBPS, MILLI, COUNT, BYTES };

static const struct {
    const char *name, *key;
    enum kind kind;
    bool shown;
    const char *help;
} columns[MEASURES] = {
#define MEASURE(id, name, key, kind, shown, help) {name, key, kind, shown, help},
#include "study/measures.def"
#undef MEASURE
};

static const char *const states[] = {
    [SIM_RUNNING] = "running", [SIM_DONE] = "done",         [SIM_UNTIL] = "until",
    [SIM_STUCK] = "stuck",     [SIM_DEADLOCK] = "deadlock", [SIM_FAILED] = "failed",
};

void sweep_list_columns(FILE *out)
{
    const struct text_style style = cli_style();

    text_wrap(out, &style, 0, 2, "Columns (* where --show does not say; those that are empty are left out):");
    for (int i = 0; i < MEASURES; i++) {
        int width = fprintf(out, "  %c %-10s ", columns[i].shown ? '*' : ' ', columns[i].name);
        text_wrap(out, &style, (unsigned)width, (unsigned)width, columns[i].help);
    }
    fputs("    time:JOB, busbw:JOB  of one job, the mean of its runs\n", out);
}

static bool show_one(struct sweep_view *view, const char *word)
{
    const char *colon = strchr(word, ':');
    size_t length = colon ? (size_t)(colon - word) : strlen(word);
    struct nearest nearest;

    if (view->showns == SWEEP_SHOWN) {
        cli_error("--show: at most %d columns", SWEEP_SHOWN);
        return false;
    }
    nearest_init(&nearest, word);
    for (int i = 0; i < MEASURES; i++) {
        nearest_try(&nearest, columns[i].name);
        if (strlen(columns[i].name) != length || strncmp(columns[i].name, word, length) != 0) continue;
        if (colon && i != MEASURE_TIME && i != MEASURE_BUSBW) break;
        struct sweep_shown *shown = &view->shown[view->showns++];
        shown->column = (uint8_t)i;
        snprintf(shown->job, sizeof shown->job, "%s", colon ? colon + 1 : "");
        return true;
    }
    if (colon)
        cli_error("--show '%s': of one job there are time:JOB and busbw:JOB", word);
    else if (nearest.word)
        cli_error("--show '%s': there is no such column; did you mean '%s'?", word, nearest.word);
    else
        cli_error("--show '%s': there is no such column; 'rocelab help sweep' lists them", word);
    return false;
}

bool sweep_show(struct sweep_view *view, const char *argument)
{
    for (;;) {
        size_t length = strcspn(argument, ",");
        char word[FABRIC_NAME + 16];
        snprintf(word, sizeof word, "%.*s", (int)length, argument);
        if (!show_one(view, word)) return false;
        if (argument[length] == '\0') return true;
        argument += length + 1;
    }
}

const char *sweep_note(const struct row *row)
{
    if (row->error) return "no values";
    if (row->state == SIM_STUCK || row->state == SIM_DEADLOCK) return states[row->state];
    return row->failed ? "failed" : "";
}

static uint64_t cell_value(const struct row *row, const struct sweep_shown *shown)
{
    if (row->error) return MEASURE_NOTHING;
    if (shown->job[0] == '\0') return row->value[shown->column];
    for (uint32_t i = 0; i < row->jobs; i++) {
        const struct row_job *job = &row->job[i];
        if (strcmp(job->name, shown->job) != 0 || job->ended < job->runs) continue;
        return shown->column == MEASURE_TIME ? job->time_ps : job->busbw_kBps;
    }
    return MEASURE_NOTHING;
}

static const char *cell_text(uint64_t value, enum kind kind, char buf[TEXT_COUNT])
{
    if (value == MEASURE_NOTHING) return "-";
    switch (kind) {
    case TIME:
        return text_ps(value, buf);
    case GBPS:
        return text_fixed(value, 1000000, 2, buf);
    case MILLI:
        return text_fixed(value, 1000, 2, buf);
    case BYTES:
        return text_bytes(value, buf);
    case COUNT:
        break;
    }
    return text_count_short(value, buf);
}

/* The last word of the path where that is clear. */
static const char *title_of(const struct sweep_grid *grid, uint32_t axis)
{
    const char *dot = strrchr(grid->axis[axis].path, '.'), *title = dot ? dot + 1 : grid->axis[axis].path;

    for (uint32_t i = 0; i < grid->axes; i++) {
        const char *other = strrchr(grid->axis[i].path, '.');
        if (i != axis && strcmp(other ? other + 1 : grid->axis[i].path, title) == 0) return grid->axis[axis].path;
    }
    return title;
}

/* Where --show says nothing: the usual ones, and with several jobs the time of each. */
static uint32_t choose(const struct sweep *sweep, const struct sweep_view *view, struct sweep_shown *shown)
{
    const struct row *first = NULL;
    uint32_t count = 0;

    if (view->showns) {
        memcpy(shown, view->shown, sizeof view->shown);
        return view->showns;
    }
    for (uint32_t i = 0; i < sweep->points && first == NULL; i++)
        if (sweep->row[i].error == NULL) first = &sweep->row[i];
    for (int i = 0; i < MEASURES; i++) {
        if (columns[i].shown) shown[count++] = (struct sweep_shown){.column = (uint8_t)i};
        for (uint32_t j = 0; i == MEASURE_TIME && first && first->jobs > 1 && first->jobs <= 4 && j < first->jobs;
             j++) {
            shown[count] = (struct sweep_shown){.column = MEASURE_TIME};
            snprintf(shown[count++].job, sizeof shown->job, "%s", first->job[j].name);
        }
    }
    return count;
}

struct sentences { /* under the table, each once */
    const char *text[SENTENCES];
    uint32_t count, more;
};

/* Its number, from 1; 0: there are too many. */
static uint32_t number_of(struct sentences *sentences, const char *text)
{
    for (uint32_t i = 0; i < sentences->count; i++)
        if (strcmp(sentences->text[i], text) == 0) return i + 1;
    if (sentences->count == SENTENCES) {
        sentences->more++;
        return 0;
    }
    sentences->text[sentences->count++] = text;
    return sentences->count;
}

static void print_sentences(const struct sentences *sentences, FILE *out, const struct text_style *style)
{
    for (uint32_t i = 0; i < sentences->count; i++) {
        fprintf(out, "(%u) ", i + 1);
        text_outside(out, style, sentences->text[i]);
        fputc('\n', out);
    }
    if (sentences->more) fprintf(out, "and %u more points without values\n", sentences->more);
}

/* A table's cells are ASCII, a value given by somebody may be anything. */
static const char *plain(const char *text, char buf[PLAIN])
{
    size_t length = strnlen(text, PLAIN - 1);

    for (size_t i = 0; i < length; i++)
        buf[i] = text[i] >= 0x20 && text[i] < 0x7f ? text[i] : '?';
    buf[length] = '\0';
    return buf;
}

static void print_row(const struct sweep *sweep, uint32_t point, const struct sweep_shown *shown, uint32_t count,
                      struct sentences *sentences, struct table *table)
{
    const struct row *row = &sweep->row[point];
    const char *cell[SWEEP_AXES + SWEEP_SHOWN + 1];
    char value[SWEEP_AXES][PLAIN], text[SWEEP_SHOWN][TEXT_COUNT], note[TEXT_COUNT];
    uint32_t axes = sweep->grid.axes, number = row->error ? number_of(sentences, row->error) : 0;

    for (uint32_t i = 0; i < axes; i++)
        cell[i] = plain(sweep_value(&sweep->grid, i, point), value[i]);
    for (uint32_t i = 0; i < count; i++)
        cell[axes + i] = cell_text(cell_value(row, &shown[i]), columns[shown[i].column].kind, text[i]);
    cell[axes + count] = sweep_note(row);
    snprintf(note, sizeof note, "(%u)", number);
    if (number) cell[axes + count] = note;
    table_row(table, cell);
}

void sweep_print(const struct sweep *sweep, const struct sweep_view *view, FILE *out)
{
    struct table_column column[SWEEP_AXES + SWEEP_SHOWN + 1] = {0};
    struct sweep_shown shown[SWEEP_SHOWN];
    uint32_t axes = sweep->grid.axes, count = choose(sweep, view, shown);
    char name[SWEEP_AXES][PLAIN], title[SWEEP_SHOWN][FABRIC_NAME + 8], job[PLAIN];
    struct text_style style = cli_style();
    struct sentences sentences = {0};
    struct table table;

    _Static_assert(SWEEP_AXES + SWEEP_SHOWN + 1 <= TABLE_COLUMNS, "the table is wide enough");
    for (uint32_t i = 0; i < axes; i++)
        column[i] =
            (struct table_column){.title = plain(title_of(&sweep->grid, i), name[i]), .right = true, .min_width = 8};
    for (uint32_t i = 0; i < count; i++) {
        snprintf(title[i], sizeof title[i], "%s%s%s", columns[shown[i].column].name, shown[i].job[0] ? ":" : "",
                 plain(shown[i].job, job));
        column[axes + i] =
            (struct table_column){.title = title[i], .right = true, .optional = view->showns == 0, .min_width = 8};
    }
    column[axes + count] = (struct table_column){.title = "note", .optional = true};
    table_init(&table, column, axes + count + 1);
    for (uint32_t p = 0; p < sweep->points; p++)
        print_row(sweep, p, shown, count, &sentences, &table);
    table_print(&table, out, &style, 0);
    table_release(&table);
    print_sentences(&sentences, out, &style);
}

static void json_value(struct jout *jout, const char *key, uint64_t value, enum kind kind)
{
    if (value == MEASURE_NOTHING)
        jout_null(jout, key);
    else if (kind == GBPS || kind == MILLI)
        jout_fixed(jout, key, value, kind == GBPS ? 6 : 3);
    else
        jout_u64(jout, key, value);
}

static void json_row(struct jout *jout, const struct sweep *sweep, uint32_t point)
{
    const struct row *row = &sweep->row[point];

    jout_open_line(jout, NULL, '{');
    jout_open(jout, "set", '[');
    for (uint32_t i = 0; i < sweep->grid.axes; i++)
        jout_text(jout, NULL, sweep_value(&sweep->grid, i, point));
    jout_close(jout);
    jout_text(jout, "error", row->error);
    jout_text(jout, "state", row->error ? NULL : states[row->state]);
    jout_u64(jout, "failed", row->failed);
    for (int i = 0; i < MEASURES; i++)
        json_value(jout, columns[i].key, row->error ? MEASURE_NOTHING : row->value[i], columns[i].kind);
    jout_open(jout, "jobs", '[');
    for (uint32_t i = 0; i < row->jobs; i++) {
        const struct row_job *job = &row->job[i];
        jout_open(jout, NULL, '{');
        jout_text(jout, "name", job->name);
        jout_u64(jout, "runs", job->runs);
        jout_u64(jout, "ended", job->ended);
        json_value(jout, "time_ps", job->ended ? job->time_ps : MEASURE_NOTHING, TIME);
        json_value(jout, "busbw_GBps", job->ended ? job->busbw_kBps : MEASURE_NOTHING, GBPS);
        jout_close(jout);
    }
    jout_close(jout);
    jout_close(jout);
}

bool sweep_json(const struct sweep *sweep, FILE *out)
{
    struct jout *jout = malloc(sizeof *jout);

    if (jout == NULL) {
        cli_error("not enough memory for the report");
        return false;
    }
    jout_init(jout, out);
    jout_open(jout, NULL, '{');
    jout_u64(jout, "version", 1);
    jout_text(jout, "kind", "sweep");
    jout_text(jout, "file", sweep->path);
    jout_open_line(jout, "vary", '[');
    for (uint32_t i = 0; i < sweep->grid.axes; i++)
        jout_text(jout, NULL, sweep->grid.axis[i].path);
    jout_close(jout);
    jout_open(jout, "points", '[');
    for (uint32_t i = 0; i < sweep->points; i++)
        json_row(jout, sweep, i);
    jout_close(jout);
    jout_close(jout);
    free(jout);
    return true;
}

/* RFC 4180: in quotes where it must be. */
static void csv_text(FILE *out, const char *text)
{
    if (text[strcspn(text, ",\"\r\n")] == '\0') {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"') fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

static void csv_value(FILE *out, uint64_t value, enum kind kind)
{
    fputc(',', out);
    if (value == MEASURE_NOTHING) return;
    if (kind == GBPS)
        fprintf(out, "%" PRIu64 ".%06" PRIu64, value / 1000000, value % 1000000);
    else if (kind == MILLI)
        fprintf(out, "%" PRIu64 ".%03" PRIu64, value / 1000, value % 1000);
    else
        fprintf(out, "%" PRIu64, value);
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

/* The jobs of all points, each once: a sweep may vary them.  Without memory, those that fit. */
static struct names job_names(const struct sweep *sweep)
{
    struct names names = {0};

    for (uint32_t p = 0; p < sweep->points; p++) {
        for (uint32_t j = 0; j < sweep->row[p].jobs; j++) {
            const char *name = sweep->row[p].job[j].name;
            if (names_have(&names, name)) continue;
            if (names.count == names.room) {
                uint32_t room = names.room ? names.room * 2 : 16;
                const char **grown = realloc(names.name, room * sizeof *grown);
                if (grown == NULL) return names;
                names.name = grown;
                names.room = room;
            }
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
        csv_value(out, job ? job->time_ps : MEASURE_NOTHING, TIME);
        csv_value(out, job ? job->busbw_kBps : MEASURE_NOTHING, GBPS);
    }
}

static void csv_head(const struct sweep *sweep, const struct names *jobs, FILE *out)
{
    char name[FABRIC_NAME + 16];

    for (uint32_t i = 0; i < sweep->grid.axes; i++) {
        csv_text(out, sweep->grid.axis[i].path);
        fputc(',', out);
    }
    fputs("state", out);
    for (int i = 0; i < MEASURES; i++)
        fprintf(out, ",%s", columns[i].key);
    fputs(",failed,error", out);
    for (uint32_t j = 0; j < jobs->count; j++) {
        snprintf(name, sizeof name, "time_ps:%s", jobs->name[j]);
        fputc(',', out);
        csv_text(out, name);
        snprintf(name, sizeof name, "busbw_GBps:%s", jobs->name[j]);
        fputc(',', out);
        csv_text(out, name);
    }
    fputc('\n', out);
}

void sweep_csv(const struct sweep *sweep, FILE *out)
{
    struct names jobs = job_names(sweep);

    csv_head(sweep, &jobs, out);
    for (uint32_t p = 0; p < sweep->points; p++) {
        const struct row *row = &sweep->row[p];
        for (uint32_t i = 0; i < sweep->grid.axes; i++) {
            csv_text(out, sweep_value(&sweep->grid, i, p));
            fputc(',', out);
        }
        fputs(row->error ? "" : states[row->state], out);
        for (int i = 0; i < MEASURES; i++)
            csv_value(out, row->error ? MEASURE_NOTHING : row->value[i], columns[i].kind);
        fprintf(out, ",%" PRIu64 ",", row->failed);
        csv_text(out, row->error ? row->error : "");
        csv_jobs(out, row, &jobs);
        fputc('\n', out);
    }
    free(jobs.name);
}
