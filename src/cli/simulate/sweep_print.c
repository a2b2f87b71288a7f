/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of a sweep, as text: the columns chosen, of one run of each point or the mean of several with its interval.
 * A point without values has its sentence under the table, because it does not fit into it.
 */
#include <string.h>

#include "base/check.h"
#include "base/nearest.h"
#include "cli/cli.h"
#include "cli/simulate/seeds_print.h"
#include "cli/simulate/sweep_print.h"
#include "report/table.h"

#define SENTENCES 20
#define PLAIN 96
#define CUT 24     /* a value is cut no shorter than this */
#define LEGEND 100 /* lines of it */

void sweep_list_columns(FILE *out)
{
    const struct text_style style = cli_style();

    text_wrap(out, &style, 0, 2, "Columns (* by default; empty ones are left out):");
    for (int i = 0; i < MEASURES; i++) {
        int width = fprintf(out, "  %c %-10s ", measure_infos[i].shown ? '*' : ' ', measure_infos[i].name);
        text_wrap(out, &style, (unsigned)width, (unsigned)width, measure_infos[i].help);
    }
    fputs("    time:JOB, busbw:JOB  of one job, the mean of its runs; time:HOST of a program\n", out);
}

static bool show_one(struct sweep_view *view, const char *word)
{
    const char *colon = strchr(word, ':');
    size_t length = colon ? (size_t)(colon - word) : strlen(word);
    struct nearest nearest;

    if (view->showns == SWEEP_SHOWN) return cli_fail("--show: at most %d columns", SWEEP_SHOWN);
    nearest_init(&nearest, word);
    for (int i = 0; i < MEASURES; i++) {
        nearest_try(&nearest, measure_infos[i].name);
        if (strlen(measure_infos[i].name) != length || strncmp(measure_infos[i].name, word, length) != 0) continue;
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

bool sweep_show(void *to, const char *argument)
{
    struct sweep_view *view = to;

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
    if (row->state == SIM_STUCK || row->state == SIM_DEADLOCK) return state_names[row->state];
    for (uint32_t i = 0; i < row->jobs; i++)
        if (row->job[i].program && (row->job[i].ended == 0 || row->job[i].exit > 0)) return "failed";
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

/* What several seeds say of it. */
static struct summary cell_summary(const struct row_summary *summary, const struct sweep_shown *shown)
{
    if (shown->job[0] == '\0') return summary->measure[shown->column];
    for (uint32_t i = 0; i < summary->jobs; i++)
        if (strcmp(summary->job[i].name, shown->job) == 0)
            return shown->column == MEASURE_TIME ? summary->job[i].time : summary->job[i].busbw;
    return summary_of(NULL, 0, 1);
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
    for (uint32_t i = 0; i < sweep->points * sweep->seeds && first == NULL; i++)
        if (sweep->row[i].there && sweep->row[i].error == NULL) first = &sweep->row[i];
    for (int i = 0; i < MEASURES; i++) {
        if (measure_infos[i].shown) shown[count++] = (struct sweep_shown){.column = (uint8_t)i};
        for (uint32_t j = 0; i == MEASURE_TIME && first && first->jobs > 1 && first->jobs <= 4 && j < first->jobs;
             j++) {
            shown[count] = (struct sweep_shown){.column = MEASURE_TIME};
            snprintf(shown[count++].job, sizeof shown->job, "%s", first->job[j].name);
        }
    }
    return count;
}

static bool empty(const struct sweep *sweep, const struct sweep_view *view, const struct sweep_shown *shown)
{
    for (uint32_t p = 0; p < sweep->points; p++) {
        if (!sweep_has(sweep, p)) continue;
        uint64_t value = view->summary ? cell_summary(&view->summary[p], shown).mean
                                       : cell_value(&sweep->row[(size_t)p * sweep->seeds], shown);
        if (value != 0 && value != (view->summary ? SUMMARY_NOTHING : MEASURE_NOTHING)) return false;
    }
    return true;
}

uint32_t sweep_columns(const struct sweep *sweep, const struct sweep_view *view, struct sweep_shown ret[SWEEP_SHOWN])
{
    uint32_t count = choose(sweep, view, ret), kept = 0;

    for (uint32_t i = 0; i < count; i++)
        if (view->showns || !empty(sweep, view, &ret[i])) ret[kept++] = ret[i];
    return kept;
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

/* What a table shows of an axis: its values, or, where two of them would look the same when they are cut, their
 * numbers, which are told below. */
struct axis_view {
    bool numbers;
    uint8_t least; /* columns */
};

static const char *label_at(const struct sweep_axis *axis, uint32_t index)
{
    return axis->name[index] ? axis->name[index] : axis->value[index];
}

/* As the table cuts a text: both ends of it. */
static bool looks_like(const char *a, const char *b, size_t width)
{
    size_t long_a = strlen(a), long_b = strlen(b), tail = (width - 1) / 2, head = width - 2 - tail;

    if (long_a <= width || long_b <= width) return long_a == long_b && strcmp(a, b) == 0;
    return strncmp(a, b, head) == 0 && strcmp(a + long_a - tail, b + long_b - tail) == 0;
}

static bool told_apart(const struct sweep_axis *axis, size_t width)
{
    for (uint32_t i = 1; i < axis->values && i < LEGEND; i++)
        for (uint32_t k = 0; k < i; k++)
            if (looks_like(label_at(axis, i), label_at(axis, k), width) &&
                strcmp(label_at(axis, i), label_at(axis, k)) != 0)
                return false;
    return true;
}

static struct axis_view view_axis(const struct sweep_axis *axis)
{
    struct axis_view view = {.least = 8};

    while (view.least < CUT && !told_apart(axis, view.least))
        view.least++;
    view.numbers = !told_apart(axis, CUT);
    return view;
}

static void print_legend(const struct sweep_grid *grid, const struct axis_view *view, FILE *out,
                         const struct text_style *style)
{
    for (uint32_t i = 0; i < grid->axes; i++) {
        const struct sweep_axis *axis = &grid->axis[i];
        for (uint32_t v = 0; view[i].numbers && v < axis->values && v < LEGEND; v++) {
            fputs(title_of(grid, i), out);
            fprintf(out, " #%u: ", v + 1);
            text_outside(out, style, label_at(axis, v));
            fputc('\n', out);
        }
    }
}

static const char *axis_cell(const struct sweep_grid *grid, const struct axis_view *view, uint32_t axis, uint32_t point,
                             char buf[PLAIN])
{
    const char *label = sweep_label(grid, axis, point);

    if (!view[axis].numbers) return plain(label, buf);
    for (uint32_t v = 0; v < grid->axis[axis].values; v++)
        if (label_at(&grid->axis[axis], v) == label) snprintf(buf, PLAIN, "#%u", v + 1);
    return buf;
}

static void print_row(const struct sweep *sweep, const struct sweep_view *view, uint32_t point,
                      const struct axis_view *axis, const struct sweep_shown *shown, uint32_t count,
                      struct sentences *sentences, struct table *table)
{
    const struct row *row = &sweep->row[point * sweep->seeds];
    const struct row_summary *summary = view->summary ? &view->summary[point] : NULL;
    const char *cell[SWEEP_AXES + SWEEP_SHOWN + 1], *error = summary ? summary->error : row->error;
    char value[SWEEP_AXES][PLAIN], text[SWEEP_SHOWN][MEASURE_TEXT], ended[SEEDS_NOTE], note[SEEDS_NOTE + 16];
    uint32_t axes = sweep->grid.axes, number = error ? number_of(sentences, error) : 0;

    for (uint32_t i = 0; i < axes; i++)
        cell[i] = axis_cell(&sweep->grid, axis, i, point, value[i]);
    for (uint32_t i = 0; i < count; i++) {
        enum measure_kind kind = measure_infos[shown[i].column].kind;
        struct summary of = summary ? cell_summary(summary, &shown[i]) : (struct summary){0};
        cell[axes + i] =
            summary ? summary_text(&of, kind, text[i]) : measure_text(cell_value(row, &shown[i]), kind, text[i]);
    }
    const char *words = summary ? seeds_note(summary, ended) : sweep_note(row);
    bool none = summary == NULL || summary->ended == 0;
    snprintf(note, sizeof note, "%s%s(%u)", none ? "" : words, none ? "" : " ", number);
    cell[axes + count] = number ? note : words;
    table_row(table, cell);
}

void sweep_print(const struct sweep *sweep, const struct sweep_view *view, FILE *out)
{
    struct table_column column[SWEEP_AXES + SWEEP_SHOWN + 1] = {0};
    struct sweep_shown shown[SWEEP_SHOWN];
    uint32_t axes = sweep->grid.axes, count = sweep_columns(sweep, view, shown);
    char name[SWEEP_AXES][PLAIN], title[SWEEP_SHOWN][FABRIC_NAME + 8], job[PLAIN];
    struct text_style style = cli_style();
    struct axis_view axis[SWEEP_AXES];
    struct sentences sentences = {0};
    struct table table;

    _Static_assert(SWEEP_AXES + SWEEP_SHOWN + 1 <= TABLE_COLUMNS, "the table is wide enough");
    for (uint32_t i = 0; i < axes; i++) {
        axis[i] = view_axis(&sweep->grid.axis[i]);
        column[i] = (struct table_column){
            .title = plain(title_of(&sweep->grid, i), name[i]), .right = true, .min_width = axis[i].least};
    }
    for (uint32_t i = 0; i < count; i++) {
        snprintf(title[i], sizeof title[i], "%s%s%s", measure_infos[shown[i].column].name, shown[i].job[0] ? ":" : "",
                 plain(shown[i].job, job));
        column[axes + i] = RIGHT(title[i], .optional = view->showns == 0, .min_width = 8);
        if (view->summary == NULL) continue;
        /* half a mean is no mean: columns that nobody asked for are left out instead, jobs first */
        column[axes + i].min_width = 0;
        if (view->showns == 0) column[axes + i].drop = (uint8_t)(i + (shown[i].job[0] ? 2 * SWEEP_SHOWN : 1));
    }
    column[axes + count] = LEFT("note", .optional = true);
    table_init(&table, column, axes + count + 1);
    for (uint32_t p = 0; p < sweep->points; p++)
        if (sweep_has(sweep, p)) print_row(sweep, view, p, axis, shown, count, &sentences, &table);
    table_print(&table, out, &style, 0);
    size_t rows = table.rows;
    table_release(&table);
    print_legend(&sweep->grid, axis, out, &style);
    print_sentences(&sentences, out, &style);
    if (view->partial) fprintf(out, "partial: interrupted after %u of %u points\n", (unsigned)rows, sweep->points);
    rows_slices(out, sweep->row, sweep->points * sweep->seeds);
}
