/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Systems beside each other: their values, scores, and the answer.
 *
 * A score is the weighted mean of what a system needs over what the best one needs: 1 is the best in everything.  It is
 * linear in each weight, so where two systems are equal can be solved for any single weight.
 */
#include "study/compare.h"

#include <math.h>
#include <stdlib.h>

#define LEAST_WEIGHT 0.5 /* thousandths: less is no weight, and with none nothing is decided */

enum measure compare_measure(enum decision which)
{
    static const uint8_t measures[DECISIONS] = {
        [DECISION_TIME] = MEASURE_TIME,   [DECISION_STEP] = MEASURE_STEP, [DECISION_P99] = MEASURE_FCT,
        [DECISION_SMALL] = MEASURE_SMALL, [DECISION_COST] = MEASURE_USD,  [DECISION_WATTS] = MEASURE_WATTS,
    };
    return (enum measure)measures[which];
}

static bool read_values(const struct sweep *sweep, struct compared *system)
{
    const struct row *row = system->row;

    if (!row_summarise(row, sweep->seeds, &system->summary)) return false;
    system->error = system->summary.error;
    system->ended = system->summary.ended == sweep->seeds;
    for (int m = 0; m < MEASURES; m++) {
        const struct summary *of = &system->summary.measure[m];
        system->value[m] =
            of->mean == SUMMARY_NOTHING ? MEASURE_NOTHING : of->mean / measure_scale(measure_infos[m].kind);
    }
    return true;
}

/* What a system needs over what the best one does; NAN: not known. */
static double over_best(const struct comparison *comparison, uint32_t system, enum decision which)
{
    enum measure measure = compare_measure(which);
    uint64_t best = MEASURE_NOTHING, own = comparison->system[system].value[measure];

    for (uint32_t s = 0; s < comparison->systems; s++) {
        const struct compared *other = &comparison->system[s];
        if (other->ended && other->value[measure] < best) best = other->value[measure];
    }
    if (own == MEASURE_NOTHING || best == MEASURE_NOTHING) return NAN;
    return best ? (double)own / (double)best : own ? NAN : 1;
}

static void score(struct comparison *comparison)
{
    comparison->answer = COMPARE_NONE;
    for (int d = 0; d < DECISIONS; d++) {
        comparison->counts[d] = false;
        for (uint32_t s = 0; comparison->decision.weight[d] && s < comparison->systems; s++)
            comparison->counts[d] |= comparison->system[s].ended && !isnan(over_best(comparison, s, (enum decision)d));
    }
    for (uint32_t s = 0; s < comparison->systems; s++) {
        struct compared *system = &comparison->system[s];
        double sum = 0, weights = 0;
        for (int d = 0; d < DECISIONS; d++) {
            if (!comparison->counts[d]) continue;
            sum += comparison->decision.weight[d] * over_best(comparison, s, (enum decision)d);
            weights += comparison->decision.weight[d];
        }
        system->score = system->ended && weights > 0 ? sum / weights : NAN;
        if (isnan(system->score)) continue;
        if (comparison->answer == COMPARE_NONE || system->score < comparison->system[comparison->answer].score)
            comparison->answer = s;
    }
}

/* Where another system would be as good, for the weight `which` alone. */
static void move(struct comparison *comparison, enum decision which, uint32_t other)
{
    double weight = comparison->decision.weight[which], weights = 0;
    double apart = over_best(comparison, other, which) - over_best(comparison, comparison->answer, which);

    for (int d = 0; d < DECISIONS; d++)
        if (comparison->counts[d]) weights += comparison->decision.weight[d];
    double behind = (comparison->system[other].score - comparison->system[comparison->answer].score) * weights;
    if (isnan(apart) || apart == 0) return;
    double to = weight - behind / apart;
    struct compare_move *way = apart > 0 ? &comparison->down[which] : &comparison->up[which];
    if (to < LEAST_WEIGHT || (!isnan(way->to) && (apart > 0 ? to <= way->to : to >= way->to))) return;
    *way = (struct compare_move){to, other};
}

static void find_moves(struct comparison *comparison)
{
    for (int d = 0; d < DECISIONS; d++) {
        comparison->down[d] = comparison->up[d] = (struct compare_move){NAN, COMPARE_NONE};
        for (uint32_t s = 0; comparison->answer != COMPARE_NONE && s < comparison->systems; s++)
            if (s != comparison->answer && !isnan(comparison->system[s].score)) move(comparison, (enum decision)d, s);
    }
}

bool compare_make(const struct sweep *sweep, uint32_t set, const struct fabric_decision *decision, uint32_t endpoints,
                  struct comparison *ret)
{
    uint32_t systems = sweep->grid.axis[0].values, sets = sweep->points / systems;
    struct comparison comparison = {.systems = systems, .decision = *decision};

    comparison.system = calloc(systems, sizeof *comparison.system);
    for (uint32_t s = 0; s < systems; s++) {
        struct compared *system = &comparison.system[s];
        system->point = s * sets + set;
        system->system = sweep_value(&sweep->grid, 0, system->point);
        system->row = &sweep->row[(size_t)system->point * sweep->seeds];
        if (!read_values(sweep, system)) {
            compare_release(&comparison);
            return false;
        }
    }
    score(&comparison);
    find_moves(&comparison);
    compare_explain(&comparison, endpoints);
    *ret = comparison;
    return true;
}

void compare_release(struct comparison *comparison)
{
    for (uint32_t s = 0; comparison->system && s < comparison->systems; s++)
        row_summary_release(&comparison->system[s].summary);
    free(comparison->system);
    *comparison = (struct comparison){0};
}
