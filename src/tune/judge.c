/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verdict, on seeds that the search has not seen: how much better each setting is than the file as it is, with
 * 95 % intervals of paired log ratios; which of them no other beats in everything (the front), and which is a fair
 * trade (the knee).
 *
 * The answer was chosen by the search alone, so its interval is not flattered by the choice.  Where it does not hold,
 * another that is better beyond its interval on these seeds is, and is judged with seeds of its own.
 */
#include <math.h>
#include <stdlib.h>

#include "tune/tune_int.h"

#define CANDIDATES 40
#define SECOND_SEEDS 4 /* with fewer, the interval of a second choice says nothing */
#define ALIKE 0.01     /* of log(cost): a per cent is no difference */

enum tune_goal tune_objective(const struct tune *tune, uint32_t objective)
{
    if (objective == 1) return TUNE_FOR_P99;
    if (objective == 2) return TUNE_FOR_PAUSED;
    return tune->goal == TUNE_FOR_BUSBW ? TUNE_FOR_BUSBW : TUNE_FOR_TIME;
}

static void fill(const struct tune *tune, struct tune_point *point, uint32_t from, uint32_t to)
{
    for (uint32_t k = 0; k < TUNE_OBJECTIVES; k++)
        point->objective[k] = tune_compare(tune, point, FABRIC_NONE, tune_objective(tune, k), from, to);
    point->goal = tune_compare(tune, point, FABRIC_NONE, tune->goal, from, to);
}

/* a is nowhere worse than b, and somewhere better. */
static bool beats(const struct tune_point *a, const struct tune_point *b)
{
    bool better = false;

    for (uint32_t k = 0; k < TUNE_OBJECTIVES; k++) {
        double x = a->objective[k].mean, y = b->objective[k].mean;
        if (isnan(x) || isnan(y)) continue;
        if (x > y + ALIKE) return false;
        better |= x < y - ALIKE;
    }
    return better;
}

static bool alike(const struct tune_point *a, const struct tune_point *b)
{
    for (uint32_t k = 0; k < TUNE_OBJECTIVES; k++)
        if (fabs(a->objective[k].mean - b->objective[k].mean) > ALIKE) return false; /* not known: no difference */
    return true;
}

static void find_front(struct tune_point *const *point, uint32_t points)
{
    for (uint32_t i = 0; i < points; i++) {
        point[i]->front = true;
        for (uint32_t j = 0; j < points && point[i]->front; j++)
            point[i]->front = !beats(point[j], point[i]);
    }
}

/* The least product of losses, each between 1 (the best of the front) and 2 (the worst). */
static struct tune_point *find_knee(struct tune_point *const *point, uint32_t points)
{
    double least[TUNE_OBJECTIVES], most[TUNE_OBJECTIVES], best = INFINITY;
    struct tune_point *knee = NULL;

    for (uint32_t k = 0; k < TUNE_OBJECTIVES; k++) {
        least[k] = INFINITY;
        most[k] = -INFINITY;
        for (uint32_t i = 0; i < points; i++) {
            double mean = point[i]->objective[k].mean;
            if (!point[i]->front || isnan(mean)) continue;
            least[k] = fmin(least[k], mean);
            most[k] = fmax(most[k], mean);
        }
    }
    for (uint32_t i = 0; i < points; i++) {
        double product = 1;
        for (uint32_t k = 0; k < TUNE_OBJECTIVES; k++) {
            double mean = point[i]->objective[k].mean;
            if (!isnan(mean) && most[k] > least[k] + ALIKE) product *= 1 + (mean - least[k]) / (most[k] - least[k]);
        }
        if (!point[i]->front || product >= best) continue;
        best = product;
        knee = point[i];
    }
    return knee;
}

static bool listed(struct tune_point *const *list, uint32_t count, const struct tune_point *point)
{
    for (uint32_t i = 0; i < count; i++)
        if (list[i] == point) return true;
    return false;
}

static void push(struct tune_point **list, uint32_t *count, uint32_t most, struct tune_point *point)
{
    if (*count < most && !point->refused && !listed(list, *count, point)) list[(*count)++] = point;
}

/* The front and knee as the search sees them: settings that came to the second rung. */
static uint32_t search_front(struct tune *tune, struct tune_point **list, uint32_t room)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < tune->points && count < room; i++) {
        struct tune_point *point = tune->point[i];
        point->front = false;
        if (point->searched < tune->plan.seeds[1] || point->worthless || point->refused) continue;
        fill(tune, point, 0, tune->plan.seeds[1]);
        list[count++] = point;
    }
    find_front(list, count);
    return count;
}

/* Own, answer, knee, presets, the rest of the front; how many. */
static uint32_t choose(struct tune *tune, struct tune_point *ret[CANDIDATES])
{
    uint32_t count = 0, most = tune->plan.fresh / (tune->plan.fresh_seeds * tune->searched_scenarios);
    struct tune_point **all = ARENA_NEW(&tune->arena, struct tune_point *, tune->points + 1u);
    uint32_t known = search_front(tune, all, tune->points);
    struct tune_point *knee = known ? find_knee(all, known) : NULL, preset;

    if (most > CANDIDATES) most = CANDIDATES;
    push(ret, &count, most, tune->point[0]);
    push(ret, &count, most, tune->point[tune->answer]);
    if (knee && !alike(knee, tune->point[tune->answer])) push(ret, &count, most, knee);
    for (uint32_t i = 1; i < tune->points; i++)
        if (tune->point[i]->origin == TUNE_PRESET && !tune->point[i]->refused) push(ret, &count, most, tune->point[i]);
    for (uint32_t p = 0; p < tune_preset_count && count < most; p++) {
        if (!preset_point(tune, p, &preset) || preset_searched(tune, &preset)) continue;
        refuse_judge(tune, &preset);
        struct tune_point *added = tune_add(tune, &preset);
        if (!added->refused) push(ret, &count, most, added);
    }
    for (uint32_t i = 0; i < known; i++) {
        bool seen = !all[i]->front;
        for (uint32_t j = 0; j < count && !seen; j++)
            seen = alike(all[i], ret[j]);
        if (!seen) push(ret, &count, most, all[i]);
    }
    return count;
}

static bool better(const struct tune_point *point)
{
    return !point->worthless && point->goal.mean + point->goal.half < 0 && point->goal.mean < -TUNE_WORTH;
}

static bool judge_seeds(struct tune *tune, struct tune_point *point, uint32_t from, uint32_t seeds)
{
    struct tune_point *both[2] = {tune->point[0], point};
    struct tune_work work = {both, 2, from, from + seeds, false, 0, "runs"};

    if (!tune_evaluate(tune, &work)) return false;
    tune->plan.answer_from = from;
    tune->plan.answer_seeds = seeds;
    return true;
}

/* Seeds for which the answer and the file as it is can still be run. */
static uint32_t seeds_left(const struct tune *tune, uint32_t kept)
{
    uint32_t used = tune->spent + kept, each = 2 * tune->searched_scenarios;
    uint32_t room = tune->runs > used ? (tune->runs - used) / each : 0,
             most = TUNE_FRESH_SEEDS - tune->plan.fresh_seeds;

    return room < most ? room : most;
}

/* What is left of the budget goes to more seeds for the answer: how many does not depend on what they say. */
static bool judge_longer(struct tune *tune)
{
    struct tune_point *answer = tune->point[tune->answer];
    uint32_t more = tune->answer == 0 || tune_late(tune) ? 0 : seeds_left(tune, tune->plan.robust);
    uint32_t seeds = tune->plan.fresh_seeds + more;

    if (!judge_seeds(tune, answer, TUNE_SEARCH_SEEDS, seeds)) return false;
    tune_worth(tune, answer, TUNE_SEARCH_SEEDS, TUNE_SEARCH_SEEDS + seeds);
    answer->goal = tune_compare(tune, answer, FABRIC_NONE, tune->goal, TUNE_SEARCH_SEEDS, TUNE_SEARCH_SEEDS + seeds);
    answer->judged = tune->point[0]->judged = seeds;
    return true;
}

/* The search's best does not hold on fresh seeds, and another setting does: that one is the answer.  It was chosen
 * there, so it is judged with further seeds alone.  *ret: there is such a one. */
static bool judge_second(struct tune *tune, struct tune_point *const *valid, uint32_t count, bool *ret)
{
    uint32_t from = TUNE_SEARCH_SEEDS + tune->plan.fresh_seeds, seeds = seeds_left(tune, tune->plan.robust);
    struct tune_point *second = NULL;

    *ret = false;
    for (uint32_t i = 0; i < count; i++)
        if (better(valid[i]) &&
            (!second || valid[i]->goal.mean + valid[i]->goal.half < second->goal.mean + second->goal.half))
            second = valid[i];
    if (seeds < SECOND_SEEDS) { /* rather than a look at other traffic */
        seeds = seeds_left(tune, 0);
        if (second && seeds >= SECOND_SEEDS) tune->plan.robust = 0;
    }
    if (second == NULL || seeds < SECOND_SEEDS || tune_late(tune)) return true;
    tune->first_choice = tune->point[tune->answer];
    if (!judge_seeds(tune, second, from, seeds)) return false;
    tune_worth(tune, second, from, from + seeds);
    fill(tune, second, from, from + seeds);
    second->judged = seeds;
    for (uint32_t i = 0; i < tune->points; i++)
        if (tune->point[i] == second) tune->answer = i;
    tune->sensitivity_known = false; /* that was of another setting */
    for (uint32_t i = 0; i < tune->parameters; i++)
        tune->sensitivity[i].set_back = NAN;
    return *ret = true;
}

bool tune_judge(struct tune *tune)
{
    uint32_t from = TUNE_SEARCH_SEEDS, to = from + tune->plan.fresh_seeds, fair = 0;
    struct tune_point *candidate[CANDIDATES], *valid[CANDIDATES];
    uint32_t count = choose(tune, candidate);
    struct tune_work own = {&tune->point[0], 1, from, to, false, 0, "runs"};
    struct tune_work work = {candidate, count, from, to, false, 0, "runs"};
    bool second = false;

    if (!tune_evaluate(tune, &own) || !tune_evaluate(tune, &work)) return false;
    for (uint32_t i = 0; i < tune->points; i++)
        tune->point[i]->front = false;
    for (uint32_t i = 0; i < count; i++) {
        candidate[i]->judged = tune->plan.fresh_seeds;
        tune_worth(tune, candidate[i], from, to);
        fill(tune, candidate[i], from, to);
        if (!candidate[i]->worthless) valid[fair++] = candidate[i];
    }
    find_front(valid, fair);
    struct tune_point *knee = find_knee(valid, fair);
    if (knee) knee->knee = true;
    if (!better(tune->point[tune->answer]) && !judge_second(tune, valid, fair, &second)) return false;
    if (!second && !judge_longer(tune)) return false;
    tune->helps = tune->answer && better(tune->point[tune->answer]);
    return true;
}

bool tune_probe(struct tune *tune)
{
    struct tune_point *both[2] = {tune->point[0], tune->point[tune->answer]};
    uint32_t from = TUNE_SEARCH_SEEDS, to = from + TUNE_PROBE_SEEDS, known = 0;
    struct tune_work own = {both, 1, from, to, true, 0, "runs"};
    struct tune_work work = {both, 2, from, to, true, 4000, "runs"};
    double sum = 0;

    if (!tune->helps || tune->plan.robust == 0) return true;
    tune->under = ARENA_NEW(&tune->arena, struct tune_interval, tune->scenarios);
    if (!tune_evaluate(tune, &own) || !tune_evaluate(tune, &work)) return false;
    for (uint32_t s = 1; s < tune->scenarios; s++) {
        uint32_t end = tune->scenario[s].searched ? from + tune->plan.fresh_seeds : to;
        tune->under[s] = tune_compare(tune, both[1], s, tune->goal, from, end);
        if (isnan(tune->under[s].mean) || !tune->scenario[s].foreign)
            continue; /* what is like the file's says little */
        if (!(tune->under[s].mean <= tune->robustness)) tune->robustness = tune->under[s].mean;
        sum += tune_bounded(tune->under[s].mean);
        known++;
    }
    if (known) tune->robustness_mean = sum / known;
    return true;
}
