/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which settings are tried: the file's own, the presets, and points of a Halton sequence; a third of them survives each
 * rung, with three times the seeds; what is left is polished (polish.c) and judged (judge.c).
 *
 * The sequence is scrambled by fixed factors and begins at a place that the file's seed names.  Points that are refused
 * are replaced by the next of the sequence.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "fabric/fabric.h"
#include "fabric/switches.h"
#include "load/load.h"
#include "plant/plant.h"
#include "study/clock.h"
#include "tune/tune_int.h"

#define ETA 3
#define RUNGS 3
#define LIMIT_FIRST_MILLI 4000 /* a run of the first rung ends when it takes four times as long as the file's */
#define LIMIT_NEXT_MILLI 2000
#define TRIES 50    /* points of the sequence for each that is wanted, at most */
#define SURVIVORS 3 /* at least */

const char *const tune_goal_names[] = {"time", "busbw", "p99", "paused"};

struct tune_point *tune_add(struct tune *tune, const struct tune_point *point)
{
    struct tune_point *added = ARENA_NEW(&tune->arena, struct tune_point, 1);

    ARENA_ROOM(&tune->arena, tune->point, tune->points, tune->room);
    *added = *point;
    added->score = INFINITY;
    tune->point[tune->points++] = added;
    return added;
}

/* --- the sequence --- */

static double halton(uint64_t index, uint32_t dimension)
{
    static const uint16_t primes[TUNE_PARAMETERS] = {2,  3,  5,  7,   11,  13,  17,  19,  23,  29, 31,
                                                     37, 41, 43, 47,  53,  59,  61,  67,  71,  73, 79,
                                                     83, 89, 97, 101, 103, 107, 109, 113, 127, 131};
    uint32_t base = primes[dimension], factor = base > 3 ? base * 5 / 8 : 1; /* never a multiple of the prime */
    double result = 0, part = 1;

    for (; index; index /= base) {
        part /= base;
        result += part * (double)(index % base * factor % base);
    }
    return result;
}

static void draw(const struct tune *tune, uint64_t index, struct tune_point *ret)
{
    uint32_t dimension = 0;

    *ret = (struct tune_point){.origin = TUNE_DRAWN};
    for (uint32_t i = 0; i < tune->parameters; i++)
        if (tune->parameter[i].varied)
            point_set(tune, ret, i, parameter_at(&tune->parameter[i], halton(index, dimension++)));
}

static bool known_already(const struct tune *tune, const struct tune_point *point)
{
    for (uint32_t i = 0; i < tune->points; i++)
        if (point_same(tune, tune->point[i], point)) return true;
    return false;
}

/* Fills up to `wanted` points. */
static void draw_all(struct tune *tune, uint32_t wanted)
{
    uint64_t index = 20 + tune->fabric->seed % 1000;
    uint32_t taken = 1; /* the file as it is */
    struct tune_point point;

    for (uint32_t preset = 0; preset < tune_preset_count && taken < wanted; preset++) {
        if (!preset_point(tune, preset, &point) || !preset_searched(tune, &point) || known_already(tune, &point))
            continue;
        refuse_judge(tune, &point);
        tune->refused += point.refused;
        taken += !point.refused;
        tune_add(tune, &point);
    }
    for (uint32_t tries = 0; taken < wanted && tries < TRIES * wanted; tries++) {
        draw(tune, index++, &point);
        if (known_already(tune, &point)) continue;
        refuse_judge(tune, &point);
        tune->refused += point.refused;
        taken += !point.refused;
        if (!point.refused) tune_add(tune, &point);
    }
    tune->drawn = tune->points;
    tune->tried = taken - 1;
}

/* --- rungs --- */

/* By score; what is equal stays in the order in which it was drawn, which qsort does not promise. */
static void sort(struct tune_point **point, uint32_t points)
{
    for (uint32_t i = 1; i < points; i++) {
        struct tune_point *one = point[i];
        uint32_t at = i;
        for (; at > 0 && one->score < point[at - 1]->score; at--)
            point[at] = point[at - 1];
        point[at] = one;
    }
}

/* How much longer than the file's a run of the next rung may take: twice as long as the slowest survivor. */
static uint64_t limit_for(const struct tune *tune, struct tune_point *const *point, uint32_t points, uint32_t seeds)
{
    double worst = 0;

    if (tune->goal != TUNE_FOR_TIME) return LIMIT_FIRST_MILLI;
    for (uint32_t i = 0; i < points; i++) {
        double mean = tune_compare(tune, point[i], 0, TUNE_FOR_TIME, 0, seeds).mean;
        if (mean > worst) worst = mean;
    }
    return (uint64_t)(LIMIT_NEXT_MILLI * exp(worst < 1 ? worst : 1));
}

bool tune_late(struct tune *tune)
{
    if (tune->time_ns == 0 || clock_now_ns() - tune->begun_ns < tune->time_ns) return false;
    return tune->out_of_time = true;
}

static bool run_rungs(struct tune *tune)
{
    const uint32_t *seeds = tune->plan.seeds;
    struct tune_point **alive = ARENA_NEW(&tune->arena, struct tune_point *, tune->points);
    uint64_t limit = LIMIT_FIRST_MILLI;
    uint32_t count = 0;

    for (uint32_t i = 1; i < tune->points; i++)
        if (!tune->point[i]->refused) alive[count++] = tune->point[i];
    for (uint32_t rung = 0; rung < RUNGS && count && (rung == 0 || !tune_late(tune)); rung++) {
        if (tune->plan.rung[rung] < count) count = tune->plan.rung[rung];
        if (count == 0) break;
        struct tune_work own = {&tune->point[0], 1, 0, seeds[rung], false, 0, "runs"};
        struct tune_work work = {alive, count, 0, seeds[rung], false, limit, "runs"};
        if (!tune_evaluate(tune, &own) || !tune_evaluate(tune, &work)) return false;
        tune_score(tune, tune->point[0], seeds[rung]);
        for (uint32_t i = 0; i < count; i++)
            tune_score(tune, alive[i], seeds[rung]);
        sort(alive, count);
        limit = limit_for(tune, alive,
                          rung + 1 < RUNGS && tune->plan.rung[rung + 1] < count ? tune->plan.rung[rung + 1] : count,
                          seeds[rung]);
        tune->rungs = rung + 1;
    }
    return true;
}

/* --- the whole --- */

bool tune_budget(struct tune *tune)
{
    struct tune_plan *plan = &tune->plan;
    uint32_t each = tune->searched_scenarios, others = tune->scenarios - 1, presets = 0;
    struct tune_point point;

    /* Several traffics average as several seeds do. */
    plan->seeds[0] = 1;
    plan->seeds[1] = tune->robust ? 2 : 3;
    plan->seeds[2] = tune->robust ? 3 : TUNE_SEARCH_SEEDS;
    for (uint32_t p = 0; p < tune_preset_count; p++)
        presets += preset_point(tune, p, &point);
    uint32_t least = (2 * plan->seeds[1] + 4) * each;
    if (tune->runs < least)
        return study_fail(
            tune->error,
            "--runs %u: too few to try one setting: the file as it is and one other, each with %u seeds of the "
            "search and two fresh ones%s, take %u; say --runs %u or more",
            tune->runs, plan->seeds[1], each > 1 ? ", under each traffic" : "", least, least);
    plan->fresh_seeds = tune->runs / (12 * each);
    if (plan->fresh_seeds < 2) plan->fresh_seeds = 2;
    if (plan->fresh_seeds > 8) plan->fresh_seeds = 8;
    plan->robust = 2 * TUNE_PROBE_SEEDS * (tune->robust ? tune->scenarios - tune->searched_scenarios : others);
    if (plan->robust > tune->runs / (tune->robust ? 2 : 4)) plan->robust = 0;
    uint32_t candidates = 4 + presets, most = tune->runs / 3 / (plan->fresh_seeds * each);
    if (candidates > most) candidates = most > 2 ? most : 2;
    plan->fresh = candidates * plan->fresh_seeds * each;
    uint32_t search = tune->runs > plan->fresh + plan->robust ? tune->runs - plan->fresh - plan->robust : 0;
    uint32_t halving = search / 2 / each;
    plan->drawn = tune->robust ? halving * 9 / 13 : halving * 3 / 7; /* n + n/3 + n/9; n + 2n/3 + 6n/9 */
    if (plan->drawn < 1) plan->drawn = 1;
    plan->rung[0] = plan->drawn;
    plan->rung[1] = plan->drawn / ETA;
    plan->rung[2] = plan->drawn / ETA / ETA;
    for (uint32_t r = 1; r < RUNGS; r++)
        if (plan->rung[r] < SURVIVORS) plan->rung[r] = plan->drawn < SURVIVORS ? plan->drawn : SURVIVORS;
    const uint32_t *seeds = plan->seeds;
    uint32_t second = seeds[1] - seeds[0], third = seeds[2] - seeds[1];
    uint32_t halved = (plan->rung[0] + second * plan->rung[1] + third * plan->rung[2] + seeds[2]) * each;
    uint32_t smaller = (tune->varied + seeds[2]) * each;     /* what making the change smaller takes at least */
    while (halved + smaller > search && plan->rung[2] > 0) { /* a small budget: fewer seeds for the last ones */
        plan->rung[2]--;
        halved -= third * each;
    }
    plan->polish = search > halved ? search - halved : 0;
    return true;
}

static bool class_has_jobs(const struct tune *tune)
{
    for (uint32_t j = 0; j < tune->fabric->jobs; j++)
        if (tune->fabric->job[j].job_class == tune->goal_class) return true;
    return false;
}

static bool goal_met(struct tune *tune)
{
    const struct row *own = tune_row(tune->point[0], 0, 0);
    double cost = tune_cost(tune, own, tune->goal);

    if (own->error) return study_fail(tune->error, "the file as it is does not run: %s", own->error);
    if (!row_ended(own))
        return study_fail(tune->error,
                          "%s: its jobs do not end as the file is: there is nothing to compare with; 'rocelab sim %s' "
                          "says why",
                          tune->path, tune->path);
    if (!isnan(cost)) return true;
    if (tune->goal == TUNE_FOR_P99 && !class_has_jobs(tune))
        return study_fail(tune->error, "--for p99:%s: no job is in this class; 'class: %s' puts one into it",
                          tune->class_name, tune->class_name);
    if (tune->goal == TUNE_FOR_P99)
        return study_fail(tune->error, "--for p99:%s: no flow of this class ends before the file's 'stop'",
                          tune->class_name);
    if (tune->goal == TUNE_FOR_BUSBW)
        return study_fail(tune->error, "--for busbw: no job of %s ends, so none has a bandwidth", tune->path);
    return study_fail(tune->error,
                      "--for %s: not all jobs end before the file's 'stop': a later one, or --for p99:CLASS or paused",
                      tune_goal_names[tune->goal]);
}

bool tune_search(struct tune *tune)
{
    const struct tune_point own = {.origin = TUNE_OWN};

    tune->begun_ns = clock_now_ns();
    tune->robustness = tune->robustness_mean = NAN;
    tune_add(tune, &own);
    struct tune_work first = {&tune->point[0], 1, 0, 1, false, 0, "runs"};
    if (!tune_evaluate(tune, &first)) return false;
    if (!goal_met(tune)) return false;
    draw_all(tune, tune->plan.drawn + 1);
    if (!run_rungs(tune)) return false;
    tune_sense(tune);
    if (!tune_polish(tune) || !tune_prune(tune) || !tune_judge(tune) || !tune_probe(tune)) return false;
    tune_explain(tune);
    return true;
}

/* --- open and close --- */

static bool find_class(struct tune *tune)
{
    const struct fabric *fabric = tune->fabric;
    char list[TUNE_SENTENCE] = "";

    tune->goal_class = FABRIC_NONE;
    if (tune->goal != TUNE_FOR_P99) return true;
    for (uint32_t c = 0; c < fabric->class_count; c++) {
        if (strcmp(fabric->classes[c].name, tune->class_name) == 0) tune->goal_class = c;
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", c ? ", " : "", fabric->classes[c].name);
    }
    if (tune->goal_class != FABRIC_NONE) tune_class_word(fabric, tune->goal_class, tune->goal_class_word);
    return tune->goal_class != FABRIC_NONE ||
           study_fail(tune->error, "--for p99:%s: the file has no such class; it has %s", tune->class_name, list);
}

bool tune_open(struct tune *tune)
{
    const struct fabric_with as_is = {.judge = plant_judge_nic};

    arena_init_or_end(&tune->arena, 0);
    if (fabric_load_with(tune->path, tune->text, &as_is, &tune->fabric, &tune->error->loader) != 0) return false;
    if (tune->runs == 0) tune->runs = tune->robust ? 1500 : 600;
    if (tune->fabric->jobs == 0)
        return study_fail(tune->error, "%s has no jobs: what is tuned is tuned for a traffic", tune->path);
    if (!find_class(tune) || !parameters_find(tune)) return false;
    refuse_open(tune);
    return scenarios_make(tune) && tune_budget(tune);
}

void tune_release(struct tune *tune)
{
    for (uint32_t p = 0; p < tune->points; p++)
        for (uint32_t i = 0; tune->point[p]->row && i < tune->scenarios * TUNE_SEEDS; i++)
            if (tune->point[p]->row[i]) row_release(tune->point[p]->row[i]);
    fabric_free(tune->fabric);
    arena_release(&tune->arena);
}
