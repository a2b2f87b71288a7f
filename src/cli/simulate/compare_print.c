/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A comparison as text: one table, a sentence a system, the answer and what would change it, the prices.
 */
#include "cli/simulate/compare_print.h"

#include <math.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/measures.h"
#include "cli/plan/bom_print.h"
#include "cli/simulate/seeds_print.h"
#include "cli/simulate/sweep_print.h"
#include "report/table.h"

#define PLAIN 96

static const struct column {
    uint8_t measure;
    const char *title;
    uint8_t drop; /* when lines are too short for it, the highest first */
} columns[] = {
    {MEASURE_TIME, "time", 0},       {MEASURE_BUSBW, "busbw", 0},   {MEASURE_STEP, "step", 0},
    {MEASURE_IDLE, "idle", 0},       {MEASURE_FCT50, "p50", 2},     {MEASURE_FCT, "p99", 0},
    {MEASURE_FCT999, "p99.9", 3},    {MEASURE_SMALL, "8 B", 0},     {MEASURE_SMALL4K, "4 KiB", 1},
    {MEASURE_DROPS, "drops", 4},     {MEASURE_AGAIN, "again", 5},   {MEASURE_HELD, "held", 6},
    {MEASURE_TRIMMED, "trimmed", 6}, {MEASURE_BUFFER, "buffer", 7}, {MEASURE_OVERHEAD, "overhead", 8},
    {MEASURE_WATTS, "W", 0},         {MEASURE_USD, "USD", 0},
};
#define COLUMNS (sizeof columns / sizeof columns[0])

static const char *plain(const char *text, char buf[PLAIN])
{
    size_t length = strnlen(text, PLAIN - 1);

    for (size_t i = 0; i < length; i++)
        buf[i] = text[i] >= 0x20 && text[i] < 0x7f ? text[i] : '?';
    buf[length] = '\0';
    return buf;
}

/* The last word of an axis' path. */
static const char *axis_title(const struct sweep_grid *grid, uint32_t axis, char buf[PLAIN])
{
    const char *dot = strrchr(grid->axis[axis].path, '.');
    return plain(dot ? dot + 1 : grid->axis[axis].path, buf);
}

/* "hosts 32, rate 400G" */
static void print_set(const struct sweep_grid *grid, uint32_t set, FILE *out)
{
    for (uint32_t i = 1; i < grid->axes; i++) {
        char title[PLAIN], value[PLAIN];
        fprintf(out, "%s%s %s", i > 1 ? ", " : "", axis_title(grid, i, title), plain(sweep_label(grid, i, set), value));
    }
}

static void print_row(const struct compare_view *view, const struct compared *system, struct table *table)
{
    const char *cell[COMPARE_AXES + COLUMNS + 3];
    char value[COMPARE_AXES][PLAIN], text[COLUMNS][MEASURE_TEXT], score[TEXT_COUNT], note[SEEDS_NOTE];
    uint32_t axes = view->sweep->grid.axes - 1, at = 0;

    for (uint32_t i = 0; i < axes; i++)
        cell[at++] = plain(sweep_label(&view->sweep->grid, i + 1, system->point), value[i]);
    cell[at++] = system->system;
    for (uint32_t i = 0; i < COLUMNS; i++) {
        enum measure_kind kind = measure_infos[columns[i].measure].kind;
        cell[at++] = view->many ? summary_text(&system->summary.measure[columns[i].measure], kind, text[i])
                                : measure_text(system->value[columns[i].measure], kind, text[i]);
    }
    cell[at++] = isnan(system->score) ? "-" : text_fixed((uint64_t)(system->score * 1000 + 0.5), 1000, 3, score);
    cell[at++] = view->many ? seeds_note(&system->summary, note) : sweep_note(system->row);
    table_row(table, cell);
}

static void print_table(const struct compare_view *view, FILE *out)
{
    struct table_column column[COMPARE_AXES + COLUMNS + 3] = {0};
    const struct sweep_grid *grid = &view->sweep->grid;
    const struct text_style style = cli_style();
    char title[COMPARE_AXES][PLAIN];
    struct table table;
    uint32_t at = 0;

    _Static_assert(COMPARE_AXES + COLUMNS + 3 <= TABLE_COLUMNS, "the table is wide enough");
    for (uint32_t i = 1; i < grid->axes; i++) {
        column[at++] = (struct table_column){.title = axis_title(grid, i, title[i - 1]), .right = true};
    }
    column[at++] = LEFT("system");
    for (uint32_t i = 0; i < COLUMNS; i++)
        column[at++] = RIGHT(columns[i].title, .optional = true, .drop = columns[i].drop);
    column[at++] = RIGHT("score", .optional = true);
    column[at++] = LEFT("note", .optional = true);
    table_init(&table, column, at);
    for (uint32_t c = 0; c < view->sets; c++)
        for (uint32_t s = 0; s < view->set[c].systems; s++)
            print_row(view, &view->set[c].system[s], &table);
    table_end(&table, out, &style, 0);
}

static void print_whys(const struct compare_view *view, const struct comparison *set, FILE *out)
{
    const struct text_style style = cli_style();

    for (uint32_t s = 0; s < set->systems; s++) {
        const struct compared *system = &set->system[s];
        char text[COMPARE_WHY];
        int width = fprintf(out, "%s: ", system->system);
        size_t length = strlen(system->why);
        for (size_t i = 0; i <= length; i++) /* an error has words of the file in it */
            text[i] = (unsigned char)system->why[i] < 0x20 && i < length ? '?' : system->why[i];
        text_wrap(out, &style, (unsigned)width, 2, text);
        const struct fabric_errors *left_out = &view->cost[s].left_out;
        for (uint32_t i = 0; i < left_out->count; i++) {
            fprintf(out, "  left out, line %u: ", left_out->error[i].at.line);
            text_outside(out, &style, left_out->error[i].text);
            fputc('\n', out);
        }
        if (left_out->more) fprintf(out, "  and %u more keys\n", left_out->more);
    }
}

static const char *weight_text(double milli, char buf[TEXT_COUNT])
{
    uint64_t value = (uint64_t)(milli + 0.5);

    return value % 1000 == 0 ? text_count(value / 1000, buf) : text_fixed(value, 1000, 2, buf);
}

static void print_moves(const struct comparison *set, FILE *out)
{
    bool any = false;

    for (int d = 0; d < DECISIONS; d++) {
        const struct compare_move *way[] = {&set->down[d], &set->up[d]};
        for (int w = 0; w < 2; w++) {
            char to[TEXT_COUNT], from[TEXT_COUNT];
            if (isnan(way[w]->to) || way[w]->to > 1e6) continue;
            any = true;
            fprintf(out, "  with a weight of %s %s %s (now %s) it would be %s\n", decision_names[d],
                    w ? "above" : "below", weight_text(way[w]->to, to), weight_text(set->decision.weight[d], from),
                    set->system[way[w]->system].system);
        }
    }
    if (!any) fputs("  No single weight changes that.\n", out);
}

static void print_answer(const struct comparison *set, FILE *out)
{
    bool first = true;

    if (set->answer == COMPARE_NONE) {
        fputs("No answer: no system has a value for everything that is weighed.\n", out);
        return;
    }
    fprintf(out, "Answer: %s, with weights", set->system[set->answer].system);
    for (int d = 0; d < DECISIONS; d++) {
        char weight[TEXT_COUNT];
        if (!set->counts[d]) continue;
        fprintf(out, "%s %s %s", first ? "" : ",", decision_names[d], weight_text(set->decision.weight[d], weight));
        first = false;
    }
    fputs(set->decision.said ? ".\n" : " (the default; 'decision:' in the file sets others).\n", out);
    for (int d = 0; d < DECISIONS; d++)
        if (set->decision.weight[d] && !set->counts[d])
            fprintf(out, "  %s is not weighed: no system has a value for it.\n", decision_names[d]);
    print_moves(set, out);
}

/* Along the values that were varied: where the answer becomes another. */
static void print_changes(const struct compare_view *view, FILE *out)
{
    const struct sweep_grid *grid = &view->sweep->grid;

    for (uint32_t c = 0; c < view->sets; c++) {
        const struct comparison *set = &view->set[c], *before = c ? &view->set[c - 1] : NULL;
        const char *name = set->answer == COMPARE_NONE ? "none" : set->system[set->answer].system;
        if (before && before->answer == set->answer) continue;
        fputs(c ? "From " : "At ", out);
        print_set(grid, c, out);
        fprintf(out, "%s the answer is %s.\n", c ? " on" : "", name);
    }
}

static void print_costs(const struct compare_view *view, FILE *out)
{
    bool used[PRICE_ITEMS_MAX] = {false};

    for (uint32_t s = 0; s < view->set[0].systems; s++) {
        const struct compare_cost *cost = &view->cost[s];
        char least[TEXT_COUNT], most[TEXT_COUNT];
        for (uint32_t i = 0; i < PRICE_ITEMS_MAX; i++)
            used[i] |= cost->known && cost->used[i];
        if (view->sets > 1 || !cost->known || cost->usd_least_milli == cost->usd_most_milli) continue;
        fprintf(out, "%s costs between %s and %s USD, depending on the source of prices.\n",
                view->set[0].system[s].system, text_count(cost->usd_least_milli / 1000, least),
                text_count(cost->usd_most_milli / 1000, most));
    }
    fputs("Prices used, all of them assumptions ('prices:' in the file replaces them):\n", out);
    bom_prices_text(view->fabric, used, out);
}

/* Of all systems with all values, and the reasons instead; false: some could be run. */
static bool print_none(const struct compare_view *view, FILE *out)
{
    const struct sweep *sweep = view->sweep;
    const struct text_style style = cli_style();
    uint32_t runs = sweep->points * sweep->seeds;

    for (uint32_t i = 0; i < runs; i++)
        if (sweep->row[i].error == NULL) return false;
    fputs("No system can run this file", out);
    fputs(sweep->grid.axes > 1 ? " with any of the values:\n" : ":\n", out);
    for (uint32_t i = 0; i < runs; i++) {
        bool told = false;
        for (uint32_t k = 0; k < i && !told; k++)
            told = strcmp(sweep->row[k].error, sweep->row[i].error) == 0;
        if (told) continue;
        fputs("  ", out);
        text_outside(out, &style, sweep->row[i].error);
        fputc('\n', out);
    }
    return true;
}

void compare_print(const struct compare_view *view, FILE *out)
{
    if (print_none(view, out)) return;
    print_table(view, out);
    rows_slices(out, view->sweep->row, view->sweep->points * view->sweep->seeds);
    fputc('\n', out);
    if (view->sets == 1) {
        print_whys(view, &view->set[0], out);
        fputc('\n', out);
        print_answer(&view->set[0], out);
    } else {
        print_changes(view, out);
        fputs("\nAt ", out);
        print_set(&view->sweep->grid, view->sets - 1, out);
        fputs(":\n", out);
        print_whys(view, &view->set[view->sets - 1], out);
    }
    fputc('\n', out);
    print_costs(view, out);
}
