/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs of settings, on all processors, and what each is worth beside the file as it is.
 *
 * A run is a setting, a scenario and a seed.  It is loaded in its own process, so what the loader says of it is its
 * row; under --out it is found again.  A run that takes much longer than the file as it is ends early: how much longer
 * follows from runs before it, not from those beside it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/hash.h"
#include "fabric/fabric.h"
#include "load/load.h"
#include "plant/plant.h"
#include "study/pool.h"
#include "study/statistics.h"
#include "tune/tune_int.h"

#define BOUND_MOST 1.5
#define PAYLOAD_LEAST 0.95 /* of what the file as it is carries, where its jobs do not end */

struct task {
    struct tune_point *point;
    uint32_t scenario, seed;
};

struct batch {
    struct tune *tune;
    const struct tune_work *work;
    bool first; /* the file as it is under its own jobs: when a link of the other scenarios fails follows from it */
    struct task *task;
    uint32_t tasks;
};

const struct row *tune_row(const struct tune_point *point, uint32_t scenario, uint32_t seed)
{
    return point->row ? point->row[scenario * TUNE_SEEDS + seed] : NULL;
}

static uint64_t seed_of(const struct tune *tune, uint32_t seed)
{
    return tune->fabric->seed + (seed < TUNE_SEARCH_SEEDS ? seed : TUNE_FRESH_FROM + seed - TUNE_SEARCH_SEEDS);
}

/* When the first job of the file begins. */
static ps_t first_start(const struct fabric *fabric)
{
    ps_t first = PS_NEVER;

    for (uint32_t j = 0; j < fabric->jobs; j++)
        if (fabric->job[j].after == FABRIC_NONE && fabric->job[j].at < first) first = fabric->job[j].at;
    return first == PS_NEVER ? 0 : first;
}

static ps_t own_time(const struct tune *tune, uint32_t scenario, uint32_t seed)
{
    const struct row *own = tune->points ? tune_row(tune->point[0], scenario, seed) : NULL;

    return own && own->value[MEASURE_TIME] != MEASURE_NOTHING ? own->value[MEASURE_TIME] : PS_NEVER;
}

struct making {
    const struct tune *tune;
    const struct task *task;
    struct fabric *fabric;
    struct sim_options options;
};

static bool make_row(const void *context, FILE *to)
{
    const struct making *making = context;

    return row_simulate(making->fabric, &making->options, false, to);
}

static int load(const struct tune *tune, const struct task *task, struct fabric **ret, struct fabric_errors *errors)
{
    const struct tune_scenario *scenario = &tune->scenario[task->scenario];
    struct tune_overrides *with = malloc(sizeof *with);

    tune_overrides(tune, task->point, with);
    if (scenario->jobs) {
        for (uint32_t i = 0; i < with->count; i++) /* what is of the file's jobs means nothing to others */
            if (strncmp(with->path[i], "jobs.", 5) == 0) with->override[i--] = with->override[--with->count];
        with->override[with->count++] = (struct fabric_override){"jobs", scenario->jobs};
    }
    const struct fabric_with as = {.override = with->override, .overrides = with->count, .judge = plant_judge_nic};
    int result = fabric_load_with(tune->path, tune->text, &as, ret, errors);
    free(with);
    return result;
}

static void run_task(const void *context, uint32_t index, FILE *to)
{
    const struct batch *batch = context;
    const struct tune *tune = batch->tune;
    const struct task *task = &batch->task[index];
    const struct tune_scenario *scenario = &tune->scenario[task->scenario];
    struct fabric_errors errors = {0};
    struct making making = {.tune = tune, .task = task};
    ps_t alone = own_time(tune, 0, task->seed), own = own_time(tune, task->scenario, task->seed);
    ps_t at = alone == PS_NEVER ? PS_MS : first_start(tune->fabric) + alone / 4, until = PS_NEVER;

    if (load(tune, task, &making.fabric, &errors) != 0 || !scenario_apply(scenario, making.fabric, at, &errors)) {
        fputc('0' + CACHE_MADE, to);
        row_print_error(to, &errors);
        return;
    }
    if (batch->work->limit_milli && own != PS_NEVER && task->point != tune->point[0])
        until = first_start(making.fabric) + own / 1000 * batch->work->limit_milli;
    if (until != PS_NEVER && until > making.fabric->stop) until = PS_NEVER;
    making.options = (struct sim_options){.seed = seed_of(tune, task->seed), .until = until};
    const uint64_t parts[] = {until, at, scenario->only, scenario->size_milli, scenario->port};
    const struct cache_key key = {.fabric = making.fabric->source_hash,
                                  .seed = making.options.seed,
                                  .options = hash_bytes(hash_bytes(HASH_BEGIN, "tune", 5), parts, sizeof parts)};
    cache_row(&tune->cache, &key, make_row, &making, to);
    fabric_free(making.fabric);
}

static bool take_row(void *context, uint32_t index, const struct pool_row *got)
{
    struct batch *batch = context;
    const struct task *task = &batch->task[index];
    const char *why = got->why ? got->why : "the run ended without a result", *text = got->bytes;
    size_t length = got->length;
    enum cache_origin origin = got->why ? CACHE_MADE : cache_origin(&text, &length);
    struct row *row = ARENA_NEW(&batch->tune->arena, struct row, 1);

    if (got->why || !row_parse(text, row)) *row = (struct row){.there = true, .error = strdup(why)};
    task->point->row[task->scenario * TUNE_SEEDS + task->seed] = row;
    batch->tune->rows.of[origin]++;
    return origin == CACHE_FOUND;
}

/* Every run that is due and not there. */
static void list_tasks(struct batch *batch)
{
    const struct tune_work *work = batch->work;
    struct tune *tune = batch->tune;

    batch->task =
        ARENA_NEW(&tune->arena, struct task, (size_t)work->points * (work->to - work->from) * tune->scenarios + 1u);
    for (uint32_t p = 0; p < work->points; p++) {
        struct tune_point *point = work->point[p];
        if (point->row == NULL)
            point->row = ARENA_NEW(&tune->arena, struct row *, (size_t)tune->scenarios * TUNE_SEEDS);
        for (uint32_t seed = work->from; seed < work->to; seed++)
            for (uint32_t s = 0; s < tune->scenarios; s++)
                if ((tune->scenario[s].searched || work->every_scenario) && !tune_row(point, s, seed) &&
                    batch->first == (point == tune->point[0] && s == 0))
                    batch->task[batch->tasks++] = (struct task){point, s, seed};
    }
}

static bool run_batch(struct tune *tune, const struct tune_work *work, bool first)
{
    struct batch batch = {.tune = tune, .work = work, .first = first};
    struct pool_done done = {0};

    list_tasks(&batch);
    const struct pool_work pool = {.points = batch.tasks,
                                   .at_once = tune->jobs,
                                   .noun = work->noun,
                                   .quiet = tune->quiet,
                                   .stopped = tune->stopped,
                                   .context = &batch,
                                   .run = run_task,
                                   .take = take_row,
                                   .error = tune->error};
    bool good = batch.tasks == 0 || pool_run(&pool, &done);
    tune->spent += done.done;
    tune->reused += done.reused;
    return good;
}

bool tune_evaluate(struct tune *tune, const struct tune_work *work)
{
    return run_batch(tune, work, true) && run_batch(tune, work, false);
}

/* --- what it is worth --- */

static uint64_t cabled(const struct fabric *fabric)
{
    uint64_t ports = 0;

    for (uint32_t p = 0; p < fabric->ports; p++)
        ports += fabric->port[p].peer != FABRIC_NONE;
    return ports ? ports : 1;
}

static double known(uint64_t value)
{
    return value == MEASURE_NOTHING || value == 0 ? NAN : (double)value;
}

static double paused_share(const struct tune *tune, const struct row *row)
{
    double time = known(row->value[MEASURE_TIME] != MEASURE_NOTHING ? row->value[MEASURE_TIME] : tune->fabric->stop);

    return row->value[MEASURE_PAUSED] == MEASURE_NOTHING
               ? NAN
               : (double)row->value[MEASURE_PAUSED] / (time * (double)cabled(tune->fabric));
}

double tune_cost(const struct tune *tune, const struct row *row, enum tune_goal what)
{
    if (row == NULL || row->error) return NAN;
    switch (what) {
    case TUNE_FOR_TIME:
        return known(row->value[MEASURE_TIME]);
    case TUNE_FOR_BUSBW:
        return 1 / known(row->value[MEASURE_BUSBW]);
    case TUNE_FOR_P99:
        if (tune->goal_class != FABRIC_NONE && tune->goal_class < row->classes) {
            const struct row_class *of = &row->of_class[tune->goal_class];
            return known(of->p99 != MEASURE_NOTHING ? of->p99 : of->fct_ps);
        }
        return known(row->value[row->value[MEASURE_P99] != MEASURE_NOTHING ? MEASURE_P99 : MEASURE_FCT]);
    case TUNE_FOR_PAUSED:
        return paused_share(tune, row) + TUNE_PAUSED_LEAST;
    }
    return NAN;
}

bool tune_p99_is_time(const struct tune *tune)
{
    const struct row *row = tune_row(tune->point[0], 0, 0);

    if (tune->goal_class != FABRIC_NONE && row && tune->goal_class < row->classes)
        return row->of_class[tune->goal_class].p99 == MEASURE_NOTHING;
    return row == NULL || row->value[MEASURE_P99] == MEASURE_NOTHING;
}

/* Under traffic of another kind the goal may mean nothing: then it is how long the slowest flows take. */
static double cost_under(const struct tune *tune, const struct row *row, uint32_t scenario, enum tune_goal what)
{
    if (row && !row->error && tune->scenario[scenario].foreign && what != TUNE_FOR_PAUSED)
        return known(row->value[MEASURE_FCT]);
    return tune_cost(tune, row, what);
}

/* Where several scenarios are averaged none decides alone: a timeout that one setting meets by chance is a hundred
 * times the time. */
double tune_bounded(double ratio)
{
    return fmin(fmax(ratio, -M_LN2), BOUND_MOST);
}

/* Of one seed; NAN: not known. */
static double log_ratio(const struct tune *tune, const struct tune_point *point, uint32_t scenario, enum tune_goal what,
                        uint32_t seed)
{
    double sum = 0;
    uint32_t counted = 0;

    for (uint32_t s = 0; s < tune->scenarios; s++) {
        if (scenario == FABRIC_NONE ? !tune->scenario[s].searched : s != scenario) continue;
        double own = cost_under(tune, tune_row(tune->point[0], s, seed), s, what);
        double cost = cost_under(tune, tune_row(point, s, seed), s, what);
        if (isnan(own) || (isnan(cost) && tune->scenario[s].port == FABRIC_NONE)) continue;
        double ratio = isnan(cost) ? BOUND_MOST : log(cost / own); /* a failure that the file as it is survives */
        sum += scenario == FABRIC_NONE && tune->searched_scenarios > 1 ? tune_bounded(ratio) : ratio;
        counted++;
    }
    return counted ? sum / counted : NAN;
}

struct tune_interval tune_compare(const struct tune *tune, const struct tune_point *point, uint32_t scenario,
                                  enum tune_goal what, uint32_t from, uint32_t to)
{
    struct tune_interval interval = {NAN, NAN, 0};
    double ratio[TUNE_SEEDS], sum = 0;

    for (uint32_t seed = from; seed < to; seed++) {
        double one = log_ratio(tune, point, scenario, what, seed);
        if (isnan(one)) continue;
        ratio[interval.seeds++] = one;
        sum += one;
    }
    if (interval.seeds == 0) return interval;
    interval.mean = sum / interval.seeds;
    interval.half = interval_half(ratio, interval.seeds);
    return interval;
}

/* Jobs that no setting ends before the file's `stop`: who sends less has fewer pauses and shorter queues, and is no
 * better for it. */
static bool carries_less(const struct tune *tune, const struct row *row, uint32_t scenario, uint32_t seed,
                         char why[256])
{
    const struct row *own = tune_row(tune->point[0], scenario, seed);
    double before = own && !own->error ? known(own->value[MEASURE_PAYLOAD]) : NAN;
    double now = row->value[MEASURE_PAYLOAD] == MEASURE_NOTHING ? NAN : (double)row->value[MEASURE_PAYLOAD];

    if (own_time(tune, scenario, seed) != PS_NEVER || !(now < PAYLOAD_LEAST * before)) return false;
    snprintf(why, 256, "it carries %.0f%% less than the file as it is before 'stop'", 100 * (1 - now / before));
    return true;
}

/* Why a run is worth nothing; false: it is not. */
static bool worthless(const struct tune *tune, const struct row *row, uint32_t scenario, uint32_t seed, char why[256])
{
    if (row->error) {
        snprintf(why, 256, "%.200s", row->error);
        return true;
    }
    if (tune->scenario[scenario].port != FABRIC_NONE) return false; /* what a failure costs is in the comparison */
    for (uint32_t c = 0; c < row->classes; c++) {
        const struct row_class *of = &row->of_class[c];
        if (!of->lossless || of->drops == 0) continue;
        snprintf(why, 256, "%llu packets of the lossless class '%.96s' were dropped", (unsigned long long)of->drops,
                 of->name);
        return true;
    }
    if (carries_less(tune, row, scenario, seed, why)) return true;
    if (row_ended(row) && (row->value[MEASURE_TIME] != MEASURE_NOTHING || own_time(tune, scenario, seed) == PS_NEVER))
        return false;
    snprintf(why, 256, "%s",
             row->state == SIM_UNTIL ? "its jobs take too long" : "its jobs do not end, or work requests fail");
    return true;
}

void tune_worth(const struct tune *tune, struct tune_point *point, uint32_t from, uint32_t to)
{
    for (uint32_t s = 0; s < tune->scenarios && point != tune->point[0]; s++)
        for (uint32_t seed = from; seed < to && !point->worthless && tune->scenario[s].searched; seed++)
            point->worthless = worthless(tune, tune_row(point, s, seed), s, seed, point->why);
}

double tune_score_over(const struct tune *tune, const struct tune_point *point, uint32_t from, uint32_t to)
{
    double sum = 0, worst = -INFINITY;
    uint32_t scenarios = 0;

    for (uint32_t s = 0; s < tune->scenarios; s++) {
        double mean = tune->scenario[s].searched ? tune_compare(tune, point, s, tune->goal, from, to).mean : NAN;
        if (isnan(mean)) continue;
        sum += tune->searched_scenarios > 1 ? tune_bounded(mean) : mean;
        if (mean > worst) worst = mean;
        scenarios++;
    }
    if (scenarios == 0) return INFINITY;
    return sum / scenarios + (scenarios > 1 && worst > 0 ? worst : 0); /* what is worse in one counts again */
}

void tune_score(const struct tune *tune, struct tune_point *point, uint32_t seeds)
{
    point->searched = seeds;
    tune_worth(tune, point, 0, seeds);
    point->score = point->worthless ? INFINITY : tune_score_over(tune, point, 0, seeds);
}

uint32_t tune_best(const struct tune *tune)
{
    uint32_t best = 0, seeds = 0;

    for (uint32_t i = 1; i < tune->points; i++)
        if (tune->point[i]->searched > seeds && !tune->point[i]->worthless) seeds = tune->point[i]->searched;
    for (uint32_t i = 1; i < tune->points; i++)
        if (tune->point[i]->searched == seeds && tune->point[i]->score < (best ? tune->point[best]->score : 0))
            best = i;
    return best;
}
