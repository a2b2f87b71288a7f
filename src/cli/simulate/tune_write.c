/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A search for settings as JSON (`rocelab help fields tune`).
 */
#include <math.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/simulate/tune_print.h"
#include "fabric/handle.h"
#include "report/json_out.h"
#include "report/rows/rows.h"
#include "report/sim_report.h"

static void json_interval(struct jout *jout, const char *key, const struct tune_interval *interval)
{
    jout_open_line(jout, key, '{');
    jout_real(jout, "ratio", exp(interval->mean));
    jout_real(jout, "ratio_least", exp(interval->mean - interval->half));
    jout_real(jout, "ratio_most", exp(interval->mean + interval->half));
    jout_u64(jout, "seeds", interval->seeds);
    jout_close(jout);
}

static void json_mean(struct jout *jout, const struct tune *tune, const struct tune_point *point, const char *key,
                      enum tune_goal what)
{
    bool other = tune->first_choice && point == tune->point[tune->answer]; /* chosen on the seeds of the rest */
    uint32_t from = other ? tune->plan.answer_from : TUNE_SEARCH_SEEDS, count = 0;
    uint32_t to = from + (other ? tune->plan.answer_seeds : tune->plan.fresh_seeds);
    double sum = 0;

    for (uint32_t seed = from; point->row && seed < to; seed++) {
        double cost = tune_cost(tune, point->row[seed], what);
        if (isnan(cost)) continue;
        sum += what == TUNE_FOR_BUSBW ? 1 / cost / 1e6 : what == TUNE_FOR_PAUSED ? cost - TUNE_PAUSED_LEAST : cost;
        count++;
    }
    jout_real(jout, key, count ? sum / count : NAN);
}

static void json_p99(struct jout *jout, const struct tune *tune, const struct tune_point *point)
{
    json_mean(jout, tune, point, tune_p99_is_time(tune) ? "p99_ps" : "p99_slowdown_milli", TUNE_FOR_P99);
}

static void json_values(struct jout *jout, const struct tune *tune, const struct tune_point *point)
{
    char text[TUNE_TEXT];

    jout_open(jout, "values", '[');
    for (uint32_t i = 0; i < tune->parameters; i++) {
        jout_open_line(jout, NULL, '{');
        jout_text(jout, "key", tune->parameter[i].path);
        jout_text(jout, "value", tune_value_text(tune, point, i, text));
        jout_bool(jout, "changed", tune_has(point, i));
        jout_close(jout);
    }
    jout_close(jout);
}

static void json_setting(struct jout *jout, const struct tune *tune, uint32_t index)
{
    const struct tune_point *point = tune->point[index];
    char name[TUNE_NAME];

    jout_open(jout, NULL, '{');
    jout_text(jout, "name", tune_name(tune, index, name));
    jout_text(jout, "source", point->origin == TUNE_PRESET ? tune_presets[point->preset].source : NULL);
    jout_bool(jout, "front", point->front);
    jout_bool(jout, "knee", point->knee);
    jout_text(jout, "worthless", point->worthless || point->refused ? point->why : NULL);
    json_interval(jout, "goal", &point->goal);
    json_mean(jout, tune, point, "time_ps", TUNE_FOR_TIME);
    json_mean(jout, tune, point, "busbw_GBps", TUNE_FOR_BUSBW);
    json_p99(jout, tune, point);
    json_mean(jout, tune, point, "paused_share", TUNE_FOR_PAUSED);
    json_interval(jout, "speed", &point->objective[0]);
    json_interval(jout, "p99", &point->objective[1]);
    json_interval(jout, "paused", &point->objective[2]);
    json_values(jout, tune, point);
    jout_close(jout);
}

static void json_change(struct jout *jout, const struct tune *tune)
{
    struct tune_overrides *with = calloc(1, sizeof *with);

    jout_open(jout, "change", '[');
    if (with) tune_overrides(tune, tune->point[tune->helps ? tune->answer : 0], with);
    for (uint32_t i = 0; with && i < with->count; i++) {
        jout_open_line(jout, NULL, '{');
        jout_text(jout, "key", with->path[i]);
        jout_text(jout, "value", with->value[i]);
        jout_close(jout);
    }
    jout_close(jout);
    free(with);
}

static void json_parameters(struct jout *jout, const struct tune *tune)
{
    char text[TUNE_TEXT];

    jout_open(jout, "parameters", '[');
    for (uint32_t i = 0; i < tune->parameters; i++) {
        const struct tune_sensitivity *sensitivity = &tune->sensitivity[i];
        if (!tune->parameter[i].varied) continue;
        jout_open_line(jout, NULL, '{');
#include "report/rows/tune_parameter.def"
        jout_close(jout);
    }
    jout_close(jout);
}

static void json_under(struct jout *jout, const struct tune *tune)
{
    jout_open(jout, "under", '[');
    for (uint32_t s = 1; tune->under && s < tune->scenarios; s++) {
        jout_open_line(jout, NULL, '{');
        jout_text(jout, "traffic", tune->scenario[s].name);
        jout_bool(jout, "searched", tune->scenario[s].searched);
        jout_bool(jout, "foreign", tune->scenario[s].foreign);
        jout_real(jout, "ratio", exp(tune->under[s].mean));
        jout_close(jout);
    }
    jout_close(jout);
    jout_u64(jout, "links", tune->links);
    jout_u64(jout, "links_tried", tune->links_tried);
    jout_real(jout, "robustness_ratio", exp(tune->robustness_mean));
    jout_real(jout, "robustness_worst_ratio", exp(tune->robustness));
}

bool tune_json(const void *context, FILE *out)
{
    const struct tune *tune = context;
    struct jout *jout = jout_begin(out, "tune");
#include "report/rows/tune.def"
    json_change(jout, tune);
    json_parameters(jout, tune);
    JOUT_LIST(jout, "settings", i, tune->points, if (tune->point[i]->judged) json_setting(jout, tune, i));
    json_under(jout, tune);
    JOUT_LIST(jout, "why", i, tune->why_count, jout_text(jout, NULL, tune->whys[i]));
    JOUT_LIST(jout, "not_tuned", i, tune->left_outs, jout_text(jout, NULL, tune->left_out[i]));
    jout_end(jout);
    return true;
}
