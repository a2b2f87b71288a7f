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

static struct tune_point *known_point(const struct tune *tune, const struct tune_point *point)
{
    for (uint32_t i = 0; i < tune->points; i++)
        if (point_same(tune, tune->point[i], point)) return tune->point[i];
    return NULL;
}

/* Adds a point that is new and not refused; NULL: it is not. */
static struct tune_point *try_point(struct tune *tune, struct tune_point *point)
{
    if (known_point(tune, point)) return NULL;
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
    uint32_t kept = (2 * tune->varied * tune->plan.seeds[1] + tune->plan.seeds[2]) * each; /* for setting back */
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

static uint32_t values_of(const struct tune_point *point)
{
    return (uint32_t)__builtin_popcount(point->set);
}

static bool has_room(const struct tune *tune, uint32_t points, uint32_t seeds)
{
    uint32_t left = tune->runs - tune->plan.fresh - tune->plan.robust;

    return tune->spent + points * seeds * tune->searched_scenarios <= left;
}

/* The answer with each of its values set back alone, run; what each is worth is kept.  False after an error. */
static bool set_back(struct tune *tune, const struct tune_point *answer, uint32_t seeds)
{
    struct tune_point *back[TUNE_PARAMETERS] = {NULL}, *run[TUNE_PARAMETERS];
    uint32_t runs = 0;

    for (uint32_t i = 0; i < tune->parameters; i++) {
        struct tune_point point = copy_of(answer, TUNE_PRUNED);
        tune->sensitivity[i].set_back = NAN;
        if (!tune_has(answer, i)) continue;
        point_set(tune, &point, i, tune->parameter[i].own);
        back[i] = known_point(tune, &point);
        if (back[i] == NULL) back[i] = try_point(tune, &point);
        if (back[i] && back[i]->refused) back[i] = NULL;
        if (back[i]) run[runs++] = back[i];
    }
    struct tune_work work = {run, runs, 0, seeds, false, 4000, "runs"};
    if (!tune_evaluate(tune, &work)) return false;
    double score = tune_score_over(tune, answer, 0, seeds);
    tune->sensitivity_known = score < -TUNE_WORTH; /* else nothing can be missed on these seeds */
    for (uint32_t i = 0; i < tune->parameters; i++) {
        if (back[i] == NULL) continue;
        if (back[i]->searched < seeds) tune_score(tune, back[i], seeds);
        tune->sensitivity[i].set_back =
            back[i]->worthless ? INFINITY : tune_score_over(tune, back[i], 0, seeds) - score;
    }
    return true;
}

/* A loss that a smaller change is worth: half a per cent, or a twentieth of what the answer gains. */
static double bearable(const struct tune *tune, const struct tune_point *answer, uint32_t seeds)
{
    return fmax(TUNE_WORTH, -tune_score_over(tune, answer, 0, seeds) / 20);
}

/* Values that can be set back, the least missed first; how many, and how many of them are worth nothing alone. */
static uint32_t order_back(const struct tune *tune, double worth, uint32_t ret[TUNE_PARAMETERS], uint32_t *ret_needless)
{
    uint32_t count = 0;

    *ret_needless = 0;
    for (uint32_t i = 0; i < tune->parameters; i++) {
        double loss = tune->sensitivity[i].set_back;
        if (isnan(loss)) continue;
        *ret_needless += loss <= worth;
        uint32_t at = count++;
        for (; at > 0 && tune->sensitivity[ret[at - 1]].set_back > loss; at--)
            ret[at] = ret[at - 1];
        ret[at] = i;
    }
    return count;
}

/* A setting with these values set back together, but for those without which it is refused; NULL: that is none of
 * them, or there is no memory. */
static struct tune_point *smaller(struct tune *tune, const struct tune_point *from, const uint32_t *which,
                                  uint32_t count)
{
    struct tune_point small = copy_of(from, TUNE_PRUNED);

    for (uint32_t k = 0; k < count; k++) {
        struct tune_point next = small;
        point_set(tune, &next, which[k], tune->parameter[which[k]].own);
        refuse_judge(tune, &next);
        if (!next.refused && next.set) small = next;
    }
    if (point_same(tune, &small, from)) return NULL;
    struct tune_point *known = known_point(tune, &small);
    return known ? known : tune_add(tune, &small);
}

/* Does the goal bear a smaller setting?  With the seeds of the second rung, and only then with all: false after an
 * error. */
static bool bears(struct tune *tune, const struct tune_point *answer, struct tune_point *small, bool *ret)
{
    const uint32_t seeds[] = {tune->plan.seeds[1], tune->plan.seeds[2]};
    struct tune_work work = {&small, 1, 0, 0, false, 4000, "runs"};

    *ret = true;
    for (size_t i = 0; i < sizeof seeds / sizeof seeds[0] && *ret; i++) {
        work.to = seeds[i];
        if (!tune_evaluate(tune, &work)) return false;
        if (small->searched < seeds[i]) tune_score(tune, small, seeds[i]);
        double loss = tune_score_over(tune, small, 0, seeds[i]) - tune_score_over(tune, answer, 0, seeds[i]);
        *ret = !small->worthless && loss <= bearable(tune, answer, seeds[i]);
    }
    return true;
}

/* Sets back as many of the answer's values as the goal bears: `part` of them together, then fewer, down to single ones.
 * *now is what is left.  False after an error. */
static bool shrink(struct tune *tune, const uint32_t *which, uint32_t count, uint32_t part, struct tune_point **now)
{
    const struct tune_point *answer = *now;
    bool good, shrunk;

    for (; part > 0; part = part > 1 ? part / 2 : shrunk) { /* single ones until none goes */
        shrunk = false;
        for (uint32_t at = 0; at < count; at += part) {
            struct tune_point *small = smaller(tune, *now, which + at, part < count - at ? part : count - at);
            if (small == NULL || small->refused) continue;
            if (!has_room(tune, 1, tune->plan.seeds[2])) return true;
            if (!bears(tune, answer, small, &good)) return false;
            if (!good) continue;
            *now = small;
            shrunk = true;
        }
    }
    return true;
}

bool tune_prune(struct tune *tune)
{
    uint32_t seeds = tune->plan.seeds[1], all = tune->plan.seeds[2], which[TUNE_PARAMETERS], needless;

    tune->answer = tune_best(tune);
    struct tune_point *answer = tune->point[tune->answer], *small = answer;
    uint32_t least = 2 * all - answer->searched; /* the answer with all seeds, and one that is smaller */
    if (!has_room(tune, 1, values_of(answer) * seeds + least)) seeds = 1;
    if (tune->answer == 0 || tune_late(tune) || !has_room(tune, 1, values_of(answer) * seeds + least)) return true;
    if (!set_back(tune, answer, seeds) || !finish(tune, &small, 1)) return false;
    uint32_t count = order_back(tune, bearable(tune, answer, seeds), which, &needless);
    if (!shrink(tune, which, count, needless ? needless : 1, &small)) return false;
    if (small == answer) return true;
    for (uint32_t i = 0; i < tune->points; i++)
        if (tune->point[i] == small) tune->answer = i;
    tune->sensitivity_known = false; /* that was of a larger change */
    for (uint32_t i = 0; i < tune->parameters; i++)
        tune->sensitivity[i].set_back = NAN;
    seeds = has_room(tune, values_of(small), tune->plan.seeds[1]) ? tune->plan.seeds[1] : 1;
    return !has_room(tune, values_of(small), seeds) || set_back(tune, small, seeds);
}
