/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A search for settings as text: the answer first, then what was compared, what matters, and why.
 */
#include "cli/simulate/tune_print.h"

#include <math.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/measures.h"
#include "fabric/fabric.h"
#include "report/sim_report.h"
#include "report/table.h"

#define CELL 64

static void heading(FILE *out, const struct text_style *style, const char *text)
{
    fputc('\n', out);
    text_in(out, style, TEXT_BOLD, "%s", text);
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

/* "-12.3%"; an interval in brackets.  What is ten times as much and more is "x12.3". */
static const char *percent(const struct tune_interval *interval, bool inverse, char buf[CELL])
{
    double sign = inverse ? -1 : 1;

    if (isnan(interval->mean))
        snprintf(buf, CELL, "-");
    else if (sign * interval->mean >= M_LN10)
        snprintf(buf, CELL, "x%.3g", exp(sign * interval->mean));
    else if (isnan(interval->half))
        snprintf(buf, CELL, "%+.1f%%", 100 * expm1(sign * interval->mean));
    else
        snprintf(buf, CELL, "%+.1f%% (%+.1f to %+.1f)", 100 * expm1(sign * interval->mean),
                 100 * expm1(sign * interval->mean - interval->half),
                 100 * expm1(sign * interval->mean + interval->half));
    return buf;
}

/* The mean over fresh seeds of a goal's own value, with its unit. */
static const char *value_over(const struct tune *tune, const struct tune_point *point, enum tune_goal what,
                              uint32_t from, uint32_t seeds, char buf[CELL])
{
    double sum = 0;
    uint32_t count = 0;
    char text[TEXT_COUNT];

    for (uint32_t seed = from; point->row && seed < from + seeds; seed++) {
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

static const char *value_text(const struct tune *tune, const struct tune_point *point, enum tune_goal what,
                              char buf[CELL])
{
    bool other = tune->first_choice && point == tune->point[tune->answer]; /* chosen on the seeds of the rest */

    return value_over(tune, point, what, other ? tune->plan.answer_from : TUNE_SEARCH_SEEDS,
                      other ? tune->plan.answer_seeds : tune->plan.fresh_seeds, buf);
}

static void goal_words(const struct tune *tune, char buf[CELL])
{
    if (tune->goal == TUNE_FOR_P99)
        snprintf(buf, CELL, "p99 of %.40s", tune->goal_class_word);
    else
        snprintf(buf, CELL, "%s", tune->goal == TUNE_FOR_PAUSED ? "paused share" : tune_goal_names[tune->goal]);
}

/* The answer as one sentence. */
static void print_verdict(const struct tune *tune, const struct text_style *style, FILE *out)
{
    const struct tune_point *answer = tune->point[tune->answer];
    uint32_t from = tune->plan.answer_from, seeds = tune->plan.answer_seeds;
    char goal[CELL], own[CELL], tuned[CELL], change[CELL], line[512];

    goal_words(tune, goal);
    value_over(tune, tune->point[0], tune->goal, from, seeds, own);
    if (tune->helps)
        snprintf(line, sizeof line, "%s: %s instead of %s, %s: the mean of %u fresh seeds and its 95%% interval", goal,
                 value_over(tune, answer, tune->goal, from, seeds, tuned), own,
                 percent(&answer->goal, tune->goal == TUNE_FOR_BUSBW, change), answer->judged);
    else
        snprintf(line, sizeof line,
                 "%s: tuning cannot help: %s as it is, and no setting that was tried is better beyond the 95%% "
                 "interval",
                 goal, own);
    text_colour(out, style, TEXT_BOLD);
    text_wrap(out, style, 0, 0, line);
    text_colour(out, style, TEXT_PLAIN);
}

static void print_head(const struct tune *tune, const struct text_style *style, FILE *out)
{
    unsigned long long first = tune->fabric->seed;
    unsigned long long fresh = first + TUNE_FRESH_FROM + tune->plan.answer_from - TUNE_SEARCH_SEEDS;
    char line[512];

    print_verdict(tune, style, out);
    fabric_slices_text(out, style, tune->fabric);
    snprintf(line, sizeof line,
             "%u runs of %u; %u settings drawn, %u refused by check before a run; searched with seeds %llu to %llu, "
             "judged with seeds %llu to %llu",
             tune->spent, tune->runs, tune->tried, tune->refused, first, first + tune->plan.seeds[2] - 1, fresh,
             fresh + tune->plan.answer_seeds - 1);
    text_wrap(out, style, 0, 0, line);
    if (tune->out_of_time)
        text_wrap(out, style, 0, 0,
                  "--time ended the search between two rounds, before its runs were used: another machine, or the next "
                  "time, may answer otherwise");
}

/* What the goal loses without this value. */
static const char *back_text(const struct tune *tune, uint32_t i, char buf[CELL])
{
    const struct tune_interval loss = {tune->sensitivity[i].set_back, NAN, 0};

    buf[0] = '\0';
    if (!tune->sensitivity_known) return buf;
    if (isinf(loss.mean))
        snprintf(buf, CELL, "fails");
    else if (!isnan(loss.mean))
        percent(&loss, tune->goal == TUNE_FOR_BUSBW, buf);
    else
        snprintf(buf, CELL, "refused");
    return buf;
}

static void print_change(const struct tune *tune, const struct text_style *style, FILE *out)
{
    const struct tune_point *answer = tune->point[tune->answer];
    struct table table;
    bool shares = false;

    heading(out, style, "CHANGE");
    TABLE_BEGIN(&table, LEFT("key", .min_width = 12), RIGHT("now"), RIGHT("tuned"),
                RIGHT("if set back", .optional = true, .drop = 2), RIGHT("matters", .optional = true, .drop = 1));
    for (uint32_t i = 0; i < tune->parameters; i++) {
        char now[TUNE_TEXT], then[TUNE_TEXT], back[CELL], share[CELL] = "";
        tune_value_text(tune, tune->point[0], i, now);
        tune_value_text(tune, answer, i, then);
        if (strcmp(now, then) == 0) continue;
        shares |= !isnan(tune->sensitivity[i].share);
        if (!isnan(tune->sensitivity[i].share)) snprintf(share, CELL, "%.0f%%", 100 * tune->sensitivity[i].share);
        TABLE_ROW(&table, tune->parameter[i].path, now, then, tune_has(answer, i) ? back_text(tune, i, back) : "",
                  share);
    }
    table_end(&table, out, style, 2);
    char line[256] = "";
    if (tune->sensitivity_known)
        snprintf(line, sizeof line, "if set back: how the goal changes when this value alone stays as it is. ");
    if (shares)
        snprintf(line + strlen(line), sizeof line - strlen(line),
                 "matters: the share of the differences between all settings drawn that goes with this key.");
    if (!tune->sensitivity_known)
        snprintf(line + strlen(line), sizeof line - strlen(line), "%sMore --runs show which of these values can stay.",
                 shares ? " " : "");
    fputs("  ", out);
    text_wrap(out, style, 2, 2, line);
}

/* The keys that were searched and stay, in one sentence; with their ranges where nothing helped. */
static void print_kept(const struct tune *tune, const struct text_style *style, FILE *out)
{
    const struct tune_point *answer = tune->point[tune->helps ? tune->answer : 0];
    char line[TUNE_PARAMETERS * (TUNE_PATH + 2 * TUNE_TEXT)], now[TUNE_TEXT], then[TUNE_TEXT];
    size_t used = 0;

    for (uint32_t i = 0; i < tune->parameters; i++) {
        tune_value_text(tune, tune->point[0], i, now);
        if (!tune->parameter[i].varied || strcmp(now, tune_value_text(tune, answer, i, then)) != 0) continue;
        used += (size_t)snprintf(line + used, sizeof line - used, "%s%s %s", used ? ", " : "", tune->parameter[i].path,
                                 now);
    }
    if (used == 0) return;
    fputs(tune->helps ? "  stays as it is: " : "\nsearched: ", out);
    text_wrap(out, style, tune->helps ? 18 : 10, 2, line);
}

/* What a setting that has only a number is. */
static void print_values(const struct tune *tune, const struct text_style *style, uint32_t index, FILE *out)
{
    const struct tune_point *point = tune->point[index];
    char line[TUNE_PARAMETERS * (TUNE_PATH + TUNE_TEXT)], value[TUNE_TEXT], name[TUNE_NAME];
    size_t used = 0;

    for (uint32_t i = 0; i < tune->parameters; i++)
        if (tune_has(point, i))
            used += (size_t)snprintf(line + used, sizeof line - used, "%s%s %s", used ? ", " : "",
                                     tune->parameter[i].path, tune_value_text(tune, point, i, value));
    unsigned at = (unsigned)fprintf(out, "  %s: ", tune_name(tune, index, name));
    text_wrap(out, style, at, 4, line);
}

static void print_settings(const struct tune *tune, const struct text_style *style, FILE *out)
{
    char goal[CELL], title[CELL];
    enum tune_goal speed = tune_objective(tune, 0);
    struct table table;
    /* Of no pauses there is no share. */
    bool from_none =
        tune->goal == TUNE_FOR_PAUSED && strcmp(value_text(tune, tune->point[0], tune->goal, goal), "0.00%") == 0;

    goal_words(tune, goal);
    snprintf(title, sizeof title, "%s", tune_goal_names[speed]);
    heading(out, style, "SETTINGS (means and 95% intervals over fresh seeds; front: no other is better in everything)");
    TABLE_BEGIN(&table, LEFT("setting", .min_width = 12), RIGHT(goal), RIGHT("against the file"),
                RIGHT(title, .optional = true, .drop = 3), RIGHT("p99", .optional = true, .drop = 2),
                RIGHT("paused", .optional = true, .drop = 1), LEFT("", .optional = true, .min_width = 11));
    for (uint32_t i = 0; i < tune->points; i++) {
        const struct tune_point *point = tune->point[i];
        char name[TUNE_NAME], value[CELL], change[CELL], time[CELL] = "", p99[CELL] = "", paused[CELL] = "";
        const char *note = point->worthless ? point->why : point->knee ? "front, knee" : point->front ? "front" : "";
        if (point->judged == 0) continue;
        if (tune->goal != speed) value_text(tune, point, speed, time);
        if (tune->goal != TUNE_FOR_P99) value_text(tune, point, TUNE_FOR_P99, p99);
        if (tune->goal != TUNE_FOR_PAUSED) value_text(tune, point, TUNE_FOR_PAUSED, paused);
        TABLE_ROW(&table, tune_name(tune, i, name), value_text(tune, point, tune->goal, value),
                  i && !from_none ? percent(&point->goal, tune->goal == TUNE_FOR_BUSBW, change) : "", time, p99, paused,
                  note);
    }
    table_end(&table, out, style, 2);
    for (uint32_t i = 1; i < tune->points; i++)
        if (tune->point[i]->judged && tune->point[i]->front && tune->point[i]->origin != TUNE_PRESET &&
            !(tune->helps && i == tune->answer))
            print_values(tune, style, i, out);
}

static void print_under(const struct tune *tune, const struct text_style *style, FILE *out)
{
    struct table table;
    char change[CELL];

    if (tune->under == NULL) return;
    heading(out, style, "OTHER TRAFFIC (the tuned setting against the file's, fresh seeds)");
    TABLE_BEGIN(&table, LEFT("under", .min_width = 12), RIGHT("against the file"));
    for (uint32_t s = 1; s < tune->scenarios; s++) {
        struct tune_interval under = tune->under[s];
        if (under.seeds < 4) under.half = NAN; /* two seeds make no interval that says anything */
        bool inverse = tune->goal == TUNE_FOR_BUSBW && !tune->scenario[s].foreign;
        const char *cell[] = {tune->scenario[s].name, percent(&under, inverse, change)};
        if (!isnan(under.mean)) table_row(&table, cell);
    }
    table_end(&table, out, style, 2);
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
    if (tune->helps) print_change(tune, &style, out);
    print_kept(tune, &style, out);
    print_settings(tune, &style, out);
    print_under(tune, &style, out);
    heading(out, &style, "WHY");
    for (uint32_t i = 0; i < tune->why_count; i++) {
        fputs("  ", out);
        text_wrap(out, &style, 2, 2, tune->whys[i]);
    }
    print_left_out(tune, &style, out);
}

static void print_folder(const struct tune *tune, const char *folder, bool configs, const struct text_style *style,
                         FILE *out)
{
    fputs("  written into ", out);
    text_outside(out, style, folder);
    fprintf(out, ": tuned.yaml (the file %s), tune.json%s\n", tune->helps ? "with these values" : "as it is",
            configs ? ",\n  change.diff (the lines of each device), configurations in present/ and tuned/" : "");
    if (!tune->helps) return;
    if (strcmp(tune->path, "<stdin>") != 0) {
        fputs("  rocelab diff ", out);
        text_outside(out, style, folder);
        fputs("/tuned.yaml ", out);
        text_outside(out, style, tune->path);
        fputs("\n", out);
    }
    fputs("  rocelab validate ", out);
    text_outside(out, style, folder);
    fputs("/tuned.yaml\n", out);
}

void tune_print_next(const struct tune *tune, const char *folder, bool configs, FILE *out)
{
    const struct text_style style = cli_style();
    char qps[TUNE_TEXT];

    if (!tune->helps && folder == NULL) return;
    heading(out, &style, "NEXT");
    if (folder) {
        print_folder(tune, folder, configs, &style, out);
    } else {
        fputs("  The same command with --out DIR writes the file with these values, DIR/tuned.yaml. With\n"
              "  --nos SYSTEM it searches what that system can say, and writes configurations too.\n",
              out);
    }
    for (uint32_t i = 0; i < tune->parameters; i++)
        if (tune->helps && tune->parameter[i].kind_id == TUNE_QPS_KIND && tune_has(tune->point[tune->answer], i))
            fprintf(out, "  jobs.qps is in no configuration: with NCCL it is NCCL_IB_QPS_PER_CONNECTION=%s\n",
                    tune_value_text(tune, tune->point[tune->answer], i, qps));
}

void tune_print_list(const struct tune *tune, FILE *out)
{
    const struct text_style style = cli_style();
    bool listed[TUNE_KINDS] = {false};
    struct table table;

    TABLE_BEGIN(&table, LEFT("key"), LEFT("group", .drop = 1), RIGHT("now"), RIGHT("from"), RIGHT("to"));
    for (uint32_t i = 0; i < tune->parameters; i++) {
        const struct tune_parameter *parameter = &tune->parameter[i];
        struct tune_point least = {.set = 1u << i}, most = {.set = 1u << i};
        char now[TUNE_TEXT], from[TUNE_TEXT], to[TUNE_TEXT];
        least.value[i] = parameter->least;
        most.value[i] = parameter->most;
        listed[parameter->kind_id] = true;
        TABLE_ROW(&table, parameter->path, parameter->kind->group, tune_value_text(tune, NULL, i, now),
                  tune_value_text(tune, &least, i, from), tune_value_text(tune, &most, i, to));
    }
    table_end(&table, out, &style, 0);
    print_left_out(tune, &style, out);
    heading(out, &style, "KEYS");
    for (uint32_t k = 0; k < TUNE_KINDS; k++)
        if (listed[k]) fprintf(out, "  %-22s %s\n", tune_kinds[k].name, tune_kinds[k].help);
    heading(out, &style, "PRESETS");
    for (uint32_t p = 0; p < tune_preset_count; p++) {
        fprintf(out, "  %-12s %s\n%15s", tune_presets[p].name, tune_presets[p].source, "");
        text_wrap(out, &style, 15, 15, tune_presets[p].values);
    }
}
