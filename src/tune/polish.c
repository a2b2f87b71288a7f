/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The best settings made better by steps of single values, and then made smaller: what does not matter is set back to
 * what the file has.
 *
 * Only the values that the goal depends on most are moved, two steps each, all of a round at once; moves that help are
 * also tried together.  A round is judged with the seeds of the second rung; what comes out gets all seeds of the
 * search.
 */
#include <math.h>
#include <stdlib.h>

#include "tune/tune_int.h"

#define BEST 3    /* settings that are polished */
#define MOVED 4   /* values that are moved in a round */
#define STEP 0.12 /* of the range: about x1.5 of ecn.min */

struct round {
    struct tune_point *move[2 * MOVED + 1];
    uint32_t moves;
};

/* The values that the goal depends on most, in that order. */
static uint32_t order(const struct tune *tune, uint32_t ret[TUNE_PARAMETERS])
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < tune->parameters; i++) {
        if (!tune->parameter[i].varied) continue;
        uint32_t at = count++;
        double share = isnan(tune->sensitivity[i].share) ? 0 : tune->sensitivity[i].share;
        for (; at > 0 && tune->sensitivity[ret[at - 1]].share < share; at--)
            ret[at] = ret[at - 1];
        ret[at] = i;
    }
    return count;
}

static uint64_t moved(const struct tune_parameter *parameter, uint64_t value, double step)
{
    uint64_t next = parameter_at(parameter, fmin(1, fmax(0, parameter_where(parameter, value) + step)));
    uint64_t least = parameter->kind->scale == TUNE_DOUBLING ? value : parameter->kind->step;

    if (next != value) return next; /* else a step that is finer than the value can be */
    if (step > 0) return parameter_round(parameter, value + least);
    return parameter_round(parameter, value > parameter->kind->step ? value - parameter->kind->step : value);
}

/* Adds a point that is new and not refused; NULL: it is neither, or there is no memory. */
static struct tune_point *try_point(struct tune *tune, struct tune_point *point)
{
    for (uint32_t i = 0; i < tune->points; i++)
        if (point_same(tune, tune->point[i], point)) return NULL;
    refuse_judge(tune, point);
    tune->refused += point->refused;
    return point->refused ? NULL : tune_add(tune, point);
}

static struct tune_point copy_of(const struct tune_point *from, enum tune_origin origin)
{
    struct tune_point point = {.set = from->set, .origin = origin};

    for (uint32_t i = 0; i < TUNE_PARAMETERS; i++)
        point.value[i] = from->value[i];
    return point;
}

static uint64_t current(const struct tune *tune, const struct tune_point *point, uint32_t i)
{
    return tune_has(point, i) ? point->value[i] : tune->parameter[i].own;
}

static void make_moves(struct tune *tune, const struct tune_point *from, double step, uint32_t first,
                       struct round *round)
{
    uint32_t by[TUNE_PARAMETERS], count = order(tune, by);

    round->moves = 0;
    for (uint32_t k = 0; k < MOVED && k < count; k++) {
        uint32_t i = by[(first + k) % count];
        for (int way = -1; way <= 1; way += 2) {
            struct tune_point point = copy_of(from, TUNE_POLISHED);
            uint64_t value = current(tune, from, i);
            point_set(tune, &point, i, moved(&tune->parameter[i], value, way * step));
            struct tune_point *added = try_point(tune, &point);
            if (added) round->move[round->moves++] = added;
        }
    }
}

static bool run_moves(struct tune *tune, struct round *round)
{
    struct tune_work work = {round->move, round->moves, 0, tune->plan.seeds[1], false, 4000, "runs"};

    if (!tune_evaluate(tune, &work)) return false;
    for (uint32_t i = 0; i < round->moves; i++)
        tune_score(tune, round->move[i], tune->plan.seeds[1]);
    return true;
}

/* What helped, together; NULL: fewer than two did, or it is refused. */
static struct tune_point *join(struct tune *tune, const struct tune_point *from, const struct round *round,
                               double score)
{
    struct tune_point point = copy_of(from, TUNE_POLISHED);
    uint32_t helped = 0;

    for (uint32_t i = 0; i < tune->parameters; i++) {
        const struct tune_point *best = NULL;
        for (uint32_t m = 0; m < round->moves; m++)
            if (current(tune, round->move[m], i) != current(tune, from, i) &&
                round->move[m]->score < (best ? best->score : score - TUNE_WORTH))
                best = round->move[m];
        if (best == NULL) continue;
        point_set(tune, &point, i, current(tune, best, i));
        helped++;
    }
    return helped > 1 ? try_point(tune, &point) : NULL;
}

/* Up from one setting while rounds help; *ret is where it ends. */
static bool climb(struct tune *tune, struct tune_point *from, uint32_t end, struct tune_point **ret)
{
    double step = STEP, score = tune_score_over(tune, from, 0, tune->plan.seeds[1]);
    uint32_t first = 0, cost = (2 * MOVED + 1) * tune->plan.seeds[1] * tune->searched_scenarios;
    struct round round;

    for (*ret = from; tune->spent + cost <= end && step > STEP / 5 && !tune_late(tune);) {
        make_moves(tune, *ret, step, first, &round);
        if (!run_moves(tune, &round)) return false;
        struct tune_point *both = join(tune, *ret, &round, score), *best = *ret;
        if (both) {
            struct round one = {.move = {both}, .moves = 1};
            if (!run_moves(tune, &one)) return false;
            round.move[round.moves++] = both;
        }
        for (uint32_t i = 0; i < round.moves; i++) {
            if (round.move[i]->score >= score - TUNE_WORTH) continue;
            score = round.move[i]->score;
            best = round.move[i];
        }
        if (best == *ret && first) step /= 2;
        first = best == *ret ? (first ? 0 : MOVED) : 0; /* the next values, then smaller steps */
        *ret = best;
    }
    return true;
}

static bool finish(struct tune *tune, struct tune_point **point, uint32_t points)
{
    struct tune_work own = {&tune->point[0], 1, 0, tune->plan.seeds[2], false, 0, "runs"};
    struct tune_work work = {point, points, 0, tune->plan.seeds[2], false, 4000, "runs"};

    if (!tune_evaluate(tune, &own) || !tune_evaluate(tune, &work)) return false;
    tune_score(tune, tune->point[0], tune->plan.seeds[2]);
    for (uint32_t i = 0; i < points; i++)
        tune_score(tune, point[i], tune->plan.seeds[2]);
    return true;
}

/* The best points of the rungs; how many. */
static uint32_t take_best(const struct tune *tune, struct tune_point *ret[BEST])
{
    uint32_t count = 0, seeds = 0;

    for (uint32_t i = 1; i < tune->points; i++)
        if (tune->point[i]->searched > seeds && !tune->point[i]->worthless) seeds = tune->point[i]->searched;
    for (uint32_t i = 1; i < tune->points; i++) {
        struct tune_point *point = tune->point[i];
        if (point->searched < seeds || point->worthless) continue;
        uint32_t at = count < BEST ? count++ : BEST;
        for (; at > 0 && ret[at - 1]->score > point->score; at--)
            if (at < BEST) ret[at] = ret[at - 1];
        if (at < BEST) ret[at] = point;
    }
    return count;
}

bool tune_polish(struct tune *tune)
{
    uint32_t each = tune->searched_scenarios, budget = tune->plan.polish;
    uint32_t kept = (tune->varied * tune->plan.seeds[1] + tune->plan.seeds[2]) * each; /* for setting back */
    uint32_t begin = tune->spent, count;
    struct tune_point *best[BEST], *end[BEST];

    uint32_t last = BEST * (tune->plan.seeds[2] - tune->plan.seeds[1]) * each; /* what the ends get */

    if (tune->rungs == 0 || tune_late(tune) || budget <= kept + last) return true;
    budget -= kept + last;
    count = take_best(tune, best);
    for (uint32_t b = 0; b < count; b++) {
        /* The best may take half of it, the next half of what is left. */
        uint32_t until = b + 1 < count ? tune->spent + (begin + budget - tune->spent) / 2 : begin + budget;
        if (begin + budget < tune->spent) until = tune->spent;
        if (!climb(tune, best[b], until, &end[b])) return false;
    }
    return count == 0 || finish(tune, end, count);
}

/* --- smaller --- */

/* The answer with each of its values set back alone, run; what each is worth is kept.  False after an error. */
static bool set_back(struct tune *tune, const struct tune_point *answer, uint32_t seeds)
{
    struct tune_point *back[TUNE_PARAMETERS] = {NULL}, *run[TUNE_PARAMETERS];
    uint32_t runs = 0;

    for (uint32_t i = 0; i < tune->parameters; i++) {
        struct tune_point point = copy_of(answer, TUNE_PRUNED);
        if (!tune_has(answer, i)) continue;
        point_set(tune, &point, i, tune->parameter[i].own);
        back[i] = try_point(tune, &point);
        if (back[i]) run[runs++] = back[i];
    }
    struct tune_work work = {run, runs, 0, seeds, false, 4000, "runs"};
    if (!tune_evaluate(tune, &work)) return false;
    double score = tune_score_over(tune, answer, 0, seeds);
    tune->sensitivity_known = true;
    for (uint32_t i = 0; i < tune->parameters; i++) {
        if (back[i] == NULL) continue;
        tune_score(tune, back[i], seeds);
        tune->sensitivity[i].set_back = back[i]->score - score;
    }
    return true;
}

/* Values that are worth nothing, the least first; how many. */
static uint32_t needless(const struct tune *tune, uint32_t ret[TUNE_PARAMETERS])
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < tune->parameters; i++) {
        double loss = tune->sensitivity[i].set_back;
        if (isnan(loss) || loss > TUNE_WORTH) continue;
        uint32_t at = count++;
        for (; at > 0 && tune->sensitivity[ret[at - 1]].set_back > loss; at--)
            ret[at] = ret[at - 1];
        ret[at] = i;
    }
    return count;
}

/* The answer with the first `count` of these set back together, but for those without which it is refused; NULL: that
 * is none of them, or there is no memory. */
static struct tune_point *smaller(struct tune *tune, const struct tune_point *answer, const uint32_t *which,
                                  uint32_t count)
{
    struct tune_point small = copy_of(answer, TUNE_PRUNED);

    for (uint32_t k = 0; k < count; k++) {
        struct tune_point next = small;
        point_set(tune, &next, which[k], tune->parameter[which[k]].own);
        refuse_judge(tune, &next);
        if (!next.refused && next.set) small = next;
    }
    if (point_same(tune, &small, answer)) return NULL;
    for (uint32_t i = 0; i < tune->points; i++)
        if (point_same(tune, tune->point[i], &small)) return tune->point[i];
    return tune_add(tune, &small);
}

bool tune_prune(struct tune *tune)
{
    uint32_t set = 0, seeds = tune->plan.seeds[1], left = tune->runs - tune->plan.fresh - tune->plan.robust;
    uint32_t each = tune->searched_scenarios, which[TUNE_PARAMETERS];

    tune->answer = tune_best(tune);
    struct tune_point *answer = tune->point[tune->answer];
    for (uint32_t i = 0; i < tune->parameters; i++)
        set += tune_has(answer, i);
    if (tune->spent + set * seeds * each > left) seeds = 1;
    if (tune->answer == 0 || tune_late(tune) || tune->spent + set * seeds * each > left) return true;
    if (!set_back(tune, answer, seeds)) return false;
    for (uint32_t count = needless(tune, which); count > 0; count /= 2) {
        struct tune_point *small = smaller(tune, answer, which, count);
        if (small == NULL || tune->spent + tune->plan.seeds[2] * each > left) return true;
        if (!finish(tune, &small, 1)) return false;
        if (small->score > answer->score + TUNE_WORTH) continue; /* together they do matter */
        for (uint32_t i = 0; i < tune->points; i++)
            if (tune->point[i] == small) tune->answer = i;
        return true;
    }
    return true;
}
