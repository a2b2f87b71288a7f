/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A search for settings as text: the answer first, then what was compared, what matters, and why.
 */
#include "cli/tune_print.h"

#include <math.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/measures.h"
#include "report/table.h"

#define CELL 64

static void heading(FILE *out, const struct text_style *style, const char *text)
{
    fputc('\n', out);
    text_colour(out, style, TEXT_BOLD);
    fputs(text, out);
    text_colour(out, style, TEXT_PLAIN);
    fputc('\n', out);
}

const char *tune_name(const struct tune *tune, uint32_t index, char buf[TUNE_NAME])
{
    const struct tune_point *point = tune->point[index];

    if (index == 0)
        snprintf(buf, TUNE_NAME, "as it is");
    else if (index == tune->answer && tune->helps)
        snprintf(buf, TUNE_NAME, "tuned");
    else if (point->origin == TUNE_PRESET)
        snprintf(buf, TUNE_NAME, "%s", tune_presets[point->preset].name);
    else
        snprintf(buf, TUNE_NAME, "setting %u", index);
    return buf;
}

/* "-12.3%"; an interval in brackets. */
static const char *percent(const struct tune_interval *interval, bool inverse, char buf[CELL])
{
    double sign = inverse ? -1 : 1;

    if (isnan(interval->mean))
        snprintf(buf, CELL, "-");
    else if (isnan(interval->half))
        snprintf(buf, CELL, "%+.1f%%", 100 * expm1(sign * interval->mean));
    else
        snprintf(buf, CELL, "%+.1f%% (%+.1f to %+.1f)", 100 * expm1(sign * interval->mean),
                 100 * expm1(sign * interval->mean - interval->half),
                 100 * expm1(sign * interval->mean + interval->half));
    return buf;
}

/* The mean over fresh seeds of a goal's own value, with its unit. */
static const char *value_text(const struct tune *tune, const struct tune_point *point, enum tune_goal what,
                              uint32_t seeds, char buf[CELL])
{
    double sum = 0;
    uint32_t count = 0;
    char text[TEXT_COUNT];

    for (uint32_t seed = TUNE_SEARCH_SEEDS; point->row && seed < TUNE_SEARCH_SEEDS + seeds; seed++) {
        double cost = tune_cost(tune, point->row[seed], what);
        if (isnan(cost)) continue;
        sum += what == TUNE_FOR_BUSBW ? 1 / cost : cost;
        count++;
    }
    double mean = count ? sum / count : 0;
    if (count == 0)
        snprintf(buf, CELL, "-");
    else if (what == TUNE_FOR_TIME)
        snprintf(buf, CELL, "%s", text_ps((uint64_t)mean, text));
    else if (what == TUNE_FOR_BUSBW)
        snprintf(buf, CELL, "%s", measure_text((uint64_t)mean, MEASURE_KIND_GBPS, text));
    else if (what == TUNE_FOR_PAUSED)
        snprintf(buf, CELL, "%.2f%%", 100 * (mean - TUNE_PAUSED_LEAST));
    else if (tune_p99_is_time(tune))
        snprintf(buf, CELL, "%s", text_ps((uint64_t)mean, text));
    else
        snprintf(buf, CELL, "x%.2f", mean / 1000);
    return buf;
}

static void goal_words(const struct tune *tune, char buf[CELL])
{
    if (tune->goal == TUNE_FOR_P99)
        snprintf(buf, CELL, "p99 of %.40s", tune->goal_class_word);
    else
        snprintf(buf, CELL, "%s", tune->goal == TUNE_FOR_PAUSED ? "paused share" : tune_goal_names[tune->goal]);
}

static void print_head(const struct tune *tune, const struct text_style *style, FILE *out)
{
    const struct tune_point *answer = tune->point[tune->answer];
    uint32_t seeds = tune->point[tune->helps ? tune->answer : 0]->judged;
    char goal[CELL], own[CELL], tuned[CELL], change[CELL], line[512];

    goal_words(tune, goal);
    if (tune->helps)
        snprintf(line, sizeof line, "%s: %s instead of %s: %s on %u fresh seeds", goal,
                 value_text(tune, answer, tune->goal, seeds, tuned),
                 value_text(tune, tune->point[0], tune->goal, seeds, own),
                 percent(&answer->goal, tune->goal == TUNE_FOR_BUSBW, change), answer->judged);
    else
        snprintf(
            line, sizeof line,
            "%s: tuning cannot help: %s as it is, and no setting that was tried is better beyond the 95%% interval",
            goal, value_text(tune, tune->point[0], tune->goal, seeds, own));
    text_colour(out, style, TEXT_BOLD);
    text_wrap(out, style, 0, 0, line);
    text_colour(out, style, TEXT_PLAIN);
    snprintf(
        line, sizeof line,
        "%u runs; %u settings drawn, %u refused by check before a run; searched with seeds %llu to %llu, judged with "
        "%llu to %llu%s",
        tune->spent, tune->tried, tune->refused, (unsigned long long)tune->fabric->seed,
        (unsigned long long)tune->fabric->seed + tune->plan.seeds[2] - 1,
        (unsigned long long)tune->fabric->seed + TUNE_FRESH_FROM,
        (unsigned long long)tune->fabric->seed + TUNE_FRESH_FROM + tune->plan.answer_seeds - 1,
        tune->out_of_time ? "; --time ended the search before its runs were used: another machine may answer otherwise"
                          : "");
    text_wrap(out, style, 0, 0, line);
}

static void print_change(const struct tune *tune, const struct text_style *style, FILE *out)
{
    static const struct table_column columns[] = {{"key", false, false, 12, 0},
                                                  {"now", true, false, 0, 0},
                                                  {"tuned", true, false, 0, 0},
                                                  {"if set back", true, true, 0, 2},
                                                  {"matters", true, true, 0, 1}};
    struct table table;

    heading(out, style, tune->helps ? "CHANGE" : "PARAMETERS");
    table_init(&table, columns, sizeof columns / sizeof columns[0]);
    for (uint32_t i = 0; i < tune->parameters; i++) {
        const struct tune_sensitivity *sensitivity = &tune->sensitivity[i];
        char now[TUNE_TEXT], then[TUNE_TEXT], back[CELL] = "", share[CELL] = "";
        const struct tune_point *answer = tune->point[tune->helps ? tune->answer : 0];
        if (!tune->parameter[i].varied) continue;
        tune_value_text(tune, tune->point[0], i, now);
        tune_value_text(tune, answer, i, then);
        if (!isnan(sensitivity->set_back) && tune->helps)
            snprintf(back, sizeof back, "%+.1f%%",
                     100 * expm1(tune->goal == TUNE_FOR_BUSBW ? -sensitivity->set_back : sensitivity->set_back));
        else if (tune->helps && tune->sensitivity_known && tune_has(tune->point[tune->answer], i))
            snprintf(back, sizeof back, "refused");
        if (!isnan(sensitivity->share)) snprintf(share, sizeof share, "%.0f%%", 100 * sensitivity->share);
        const char *cell[] = {tune->parameter[i].path, now, strcmp(now, then) == 0 ? "as it is" : then, back, share};
        table_row(&table, cell);
    }
    table_print(&table, out, style, 2);
    table_release(&table);
    if (!tune->helps) return;
    fputs("  ", out);
    text_wrap(
        out, style, 2, 2,
        "if set back: what the goal loses when that value alone stays as it is. matters: share of the differences "
        "between drawn settings that goes with it.");
}

static void print_settings(const struct tune *tune, const struct text_style *style, FILE *out)
{
    char goal[CELL], title[CELL];
    const struct table_column columns[] = {
        {"setting", false, false, 12, 0}, {goal, true, false, 0, 0}, {"against the file", true, false, 0, 0},
        {title, true, true, 0, 3},        {"p99", true, true, 0, 2}, {"paused", true, false, 0, 1},
        {"", false, true, 11, 0}};
    enum tune_goal speed = tune_objective(tune, 0);
    struct table table;

    goal_words(tune, goal);
    snprintf(title, sizeof title, "%s", tune_goal_names[speed]);
    heading(out, style, "SETTINGS (means and 95% intervals over fresh seeds; front: no other is better in everything)");
    table_init(&table, columns, sizeof columns / sizeof columns[0]);
    for (uint32_t i = 0; i < tune->points; i++) {
        const struct tune_point *point = tune->point[i];
        char name[TUNE_NAME], value[CELL], change[CELL], time[CELL] = "", p99[CELL] = "", paused[CELL] = "";
        const char *note = point->worthless ? point->why : point->knee ? "front, knee" : point->front ? "front" : "";
        if (point->judged == 0) continue;
        if (tune->goal != speed) value_text(tune, point, speed, tune->plan.fresh_seeds, time);
        if (tune->goal != TUNE_FOR_P99) value_text(tune, point, TUNE_FOR_P99, tune->plan.fresh_seeds, p99);
        if (tune->goal != TUNE_FOR_PAUSED) value_text(tune, point, TUNE_FOR_PAUSED, tune->plan.fresh_seeds, paused);
        const char *cell[] = {tune_name(tune, i, name),
                              value_text(tune, point, tune->goal, tune->plan.fresh_seeds, value),
                              i ? percent(&point->goal, tune->goal == TUNE_FOR_BUSBW, change) : "",
                              time,
                              p99,
                              paused,
                              note};
        table_row(&table, cell);
    }
    table_print(&table, out, style, 2);
    table_release(&table);
}

static void print_under(const struct tune *tune, const struct text_style *style, FILE *out)
{
    static const struct table_column columns[] = {{"under", false, false, 12, 0},
                                                  {"against the file", true, false, 0, 0}};
    struct table table;
    char change[CELL];

    if (tune->under == NULL) return;
    heading(out, style, "OTHER TRAFFIC (the tuned setting against the file's, fresh seeds)");
    table_init(&table, columns, sizeof columns / sizeof columns[0]);
    for (uint32_t s = 1; s < tune->scenarios; s++) {
        struct tune_interval under = tune->under[s];
        if (under.seeds < 4) under.half = NAN; /* two seeds make no interval that says anything */
        bool inverse = tune->goal == TUNE_FOR_BUSBW && !tune->scenario[s].foreign;
        const char *cell[] = {tune->scenario[s].name, percent(&under, inverse, change)};
        if (!isnan(under.mean)) table_row(&table, cell);
    }
    table_print(&table, out, style, 2);
    table_release(&table);
    if (tune->robust && tune->links_tried < tune->links)
        fprintf(out, "  %u of %u links were down in turn; more --runs have room for more\n", tune->links_tried,
                tune->links);
    if (!isnan(tune->robustness))
        fprintf(out, "  robustness: %+.1f%% on average under traffic of another kind, %+.1f%% in the worst\n",
                100 * expm1(tune->robustness_mean), 100 * expm1(tune->robustness));
}

static void print_left_out(const struct tune *tune, const struct text_style *style, FILE *out)
{
    for (uint32_t i = 0; i < tune->left_outs; i++) {
        fputs("  not tuned: ", out);
        text_wrap(out, style, 13, 4, tune->left_out[i]);
    }
}

void tune_print(const struct tune *tune, FILE *out)
{
    const struct text_style style = cli_style();

    print_head(tune, &style, out);
    print_change(tune, &style, out);
    print_settings(tune, &style, out);
    print_under(tune, &style, out);
    heading(out, &style, "WHY");
    for (uint32_t i = 0; i < tune->why_count; i++) {
        fputs("  ", out);
        text_wrap(out, &style, 2, 2, tune->whys[i]);
    }
    print_left_out(tune, &style, out);
}

void tune_print_list(const struct tune *tune, FILE *out)
{
    static const struct table_column columns[] = {{"key", false, false, 0, 0}, {"group", false, false, 0, 2},
                                                  {"now", true, false, 0, 0},  {"from", true, false, 0, 0},
                                                  {"to", true, false, 0, 0},   {"what it is", false, false, 12, 1}};
    const struct text_style style = cli_style();
    struct table table;

    table_init(&table, columns, sizeof columns / sizeof columns[0]);
    for (uint32_t i = 0; i < tune->parameters; i++) {
        const struct tune_parameter *parameter = &tune->parameter[i];
        struct tune_point least = {.set = 1u << i}, most = {.set = 1u << i};
        char now[TUNE_TEXT], from[TUNE_TEXT], to[TUNE_TEXT];
        least.value[i] = parameter->least;
        most.value[i] = parameter->most;
        const char *cell[] = {parameter->path,
                              parameter->kind->group,
                              tune_value_text(tune, NULL, i, now),
                              tune_value_text(tune, &least, i, from),
                              tune_value_text(tune, &most, i, to),
                              parameter->kind->help};
        table_row(&table, cell);
    }
    table_print(&table, out, &style, 0);
    table_release(&table);
    print_left_out(tune, &style, out);
    heading(out, &style, "PRESETS");
    for (uint32_t p = 0; p < tune_preset_count; p++)
        fprintf(out, "  %-12s %s: %s\n", tune_presets[p].name, tune_presets[p].source, tune_presets[p].values);
}
