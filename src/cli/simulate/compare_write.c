/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A comparison as JSON: every system with every measure, the answers, and the prices behind the sums.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/measures.h"
#include "cli/plan/bom_print.h"
#include "cli/simulate/compare_print.h"
#include "cli/simulate/seeds_print.h"
#include "cli/simulate/sweep_print.h"
#include "fabric/handle.h"

static void json_set(struct jout *jout, const struct sweep_grid *grid, uint32_t point)
{
    jout_open(jout, "set", '[');
    for (uint32_t i = 1; i < grid->axes; i++)
        jout_text(jout, NULL, sweep_label(grid, i, point));
    jout_close(jout);
}

static void json_left_out(struct jout *jout, const struct fabric_errors *left_out)
{
    jout_open(jout, "left_out", '[');
    for (uint32_t i = 0; i < left_out->count; i++) {
        jout_open_line(jout, NULL, '{');
        jout_u64(jout, "line", left_out->error[i].at.line);
        jout_u64(jout, "column", left_out->error[i].at.column);
        jout_text(jout, "message", left_out->error[i].text);
        jout_close(jout);
    }
    jout_close(jout);
}

/* The range is of the first combination of values: with several it would stand beside the sums of others. */
static void json_cost(struct jout *jout, const struct compare_cost *cost, bool alone)
{
    if (cost->known && alone) {
        jout_fixed(jout, "usd_least", cost->usd_least_milli, 3);
        jout_fixed(jout, "usd_most", cost->usd_most_milli, 3);
        jout_fixed(jout, "usd_year", cost->usd_year_milli, 3);
    }
    json_left_out(jout, &cost->left_out);
}

static void json_system(struct jout *jout, const struct compare_view *view, const struct compared *system,
                        uint32_t number)
{
    static const struct {
        const char *key;
        enum measure measure;
    } short_names[] = {{"p50_ps", MEASURE_FCT50}, {"p99_ps", MEASURE_FCT}, {"p999_ps", MEASURE_FCT999}};

    jout_open(jout, NULL, '{');
    jout_text(jout, "system", system->system);
    json_set(jout, &view->sweep->grid, system->point);
    jout_text(jout, "why", system->why);
    jout_real(jout, "score", system->score);
    for (size_t i = 0; i < sizeof short_names / sizeof short_names[0]; i++)
        measure_json(jout, short_names[i].key, system->value[short_names[i].measure], MEASURE_KIND_TIME);
    if (view->many) {
        seeds_json(jout, system->row, &system->summary);
    } else {
        row_json(jout, system->row);
        row_jobs_json(jout, system->row);
    }
    json_cost(jout, &view->cost[number], view->sets == 1);
    jout_close(jout);
}

static void json_move(struct jout *jout, const char *key, const struct comparison *set, const struct compare_move *move)
{
    jout_open_line(jout, key, '{');
    jout_real(jout, "weight", move->to / 1000);
    jout_text(jout, "system", isnan(move->to) ? NULL : set->system[move->system].system);
    jout_close(jout);
}

static void json_answer(struct jout *jout, const struct compare_view *view, const struct comparison *set)
{
    jout_open(jout, NULL, '{');
    json_set(jout, &view->sweep->grid, set->system[0].point);
    jout_text(jout, "system", set->answer == COMPARE_NONE ? NULL : set->system[set->answer].system);
    jout_open(jout, "weights", '[');
    for (int d = 0; d < DECISIONS; d++) {
        jout_open(jout, NULL, '{');
        jout_text(jout, "of", decision_names[d]);
        jout_fixed(jout, "weight", set->decision.weight[d], 3);
        jout_bool(jout, "counts", set->counts[d]);
        json_move(jout, "below", set, &set->down[d]);
        json_move(jout, "above", set, &set->up[d]);
        jout_close(jout);
    }
    jout_close(jout);
    jout_close(jout);
}

bool compare_json(const void *context, FILE *out)
{
    const struct compare_view *view = context;
    struct jout *jout = jout_begin(out, "compare");
    const struct sweep *sweep = view->sweep;
    bool used[PRICE_ITEMS_MAX] = {false};

    jout_text(jout, "file", sweep->path);
    jout_text(jout, "fabric", fabric_name(view->fabric));
    jout_open_line(jout, "vary", '[');
    for (uint32_t i = 1; i < sweep->grid.axes; i++)
        jout_text(jout, NULL, sweep->grid.axis[i].path);
    jout_close(jout);
    jout_open(jout, "systems", '[');
    for (uint32_t c = 0; c < view->sets; c++)
        for (uint32_t s = 0; s < view->set[c].systems; s++)
            json_system(jout, view, &view->set[c].system[s], s);
    jout_close(jout);
    JOUT_LIST(jout, "answers", c, view->sets, json_answer(jout, view, &view->set[c]));
    for (uint32_t s = 0; s < view->set[0].systems; s++)
        for (uint32_t i = 0; i < PRICE_ITEMS_MAX; i++)
            used[i] |= view->cost[s].known && view->cost[s].used[i];
    bom_prices_json(jout, view->fabric, used);
    jout_end(jout);
    return true;
}
