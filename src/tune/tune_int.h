/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the search share.  Private to src/tune.
 */
#ifndef ROCELAB_TUNE_TUNE_INT_H
#define ROCELAB_TUNE_TUNE_INT_H

#include "tune/tune.h"

struct fabric_job;

#define TUNE_WORTH 0.005 /* of log(cost): a gain of half a per cent is one */

/* parameters.c */
bool parameters_find(struct tune *tune);
/* A value between 0 and 1 as one of the parameter's, which it can be written with. */
uint64_t parameter_at(const struct tune_parameter *parameter, double where);
double parameter_where(const struct tune_parameter *parameter, uint64_t value);
uint64_t parameter_round(const struct tune_parameter *parameter, uint64_t value);
void point_set(const struct tune *tune, struct tune_point *point, uint32_t parameter, uint64_t value);
bool point_same(const struct tune *tune, const struct tune_point *a, const struct tune_point *b);

/* write.c */
uint64_t tune_host_rate(const struct fabric *fabric);
bool tune_takes_qps(const struct fabric_job *job);
/* The word that a path has for a class: its name, or its number. */
void tune_class_word(const struct fabric *fabric, uint32_t of_class, char buf[TUNE_TEXT]);

/* presets.c: the preset as a point; false: it is about nothing that this fabric has. */
bool preset_point(const struct tune *tune, uint32_t preset, struct tune_point *ret);
/* All that it sets may be varied. */
bool preset_searched(const struct tune *tune, const struct tune_point *point);

/* nos.c: which parameters a system cannot say; NULL: it can, else why not. */
const char *nos_refuses(const struct tune *tune, const struct tune_kind *kind);

/* refuse.c */
void refuse_open(struct tune *tune);
void refuse_judge(struct tune *tune, struct tune_point *point);

/* scenarios.c */
bool scenarios_make(struct tune *tune);
bool scenario_apply(const struct tune_scenario *scenario, struct fabric *fabric, ps_t at, struct fabric_errors *errors);

/* evaluate.c: every run of these points with seeds from, to - 1, of scenarios that the search goes by (or all); runs
 * that there are already are not made again.  limit_milli: a run ends when its jobs have taken so many thousandths of
 * what they take in the file as it is, and is worth nothing; 0: it never does. */
struct tune_work {
    struct tune_point *const *point;
    uint32_t points, from, to;
    bool every_scenario;
    uint64_t limit_milli;
    const char *noun;
};
bool tune_evaluate(struct tune *tune, const struct tune_work *work);
const struct row *tune_row(const struct tune_point *point, uint32_t scenario, uint32_t seed);
/* Of all its seeds of the search up to `seeds`: what the search goes by. */
void tune_score(const struct tune *tune, struct tune_point *point, uint32_t seeds);
/* Sets `worthless` where a run with seeds from, to - 1 is; never for the file as it is. */
void tune_worth(const struct tune *tune, struct tune_point *point, uint32_t from, uint32_t to);
/* The score without keeping it. */
double tune_score_over(const struct tune *tune, const struct tune_point *point, uint32_t from, uint32_t to);
/* The best of those with most seeds; 0: the file as it is. */
uint32_t tune_best(const struct tune *tune);
bool tune_late(struct tune *tune); /* --time is over */
/* log(cost / own cost) under a scenario (FABRIC_NONE: the mean over those that the search goes by), over seeds from,
 * to - 1. */
struct tune_interval tune_compare(const struct tune *tune, const struct tune_point *point, uint32_t scenario,
                                  enum tune_goal what, uint32_t from, uint32_t to);
double tune_bounded(double ratio); /* log(cost) as one of several counts */
struct tune_point *tune_add(struct tune *tune, const struct tune_point *point);

/* polish.c, judge.c, sensitivity.c, why.c */
bool tune_polish(struct tune *tune);
bool tune_prune(struct tune *tune);
bool tune_judge(struct tune *tune);
void tune_sense(struct tune *tune);
void tune_explain(struct tune *tune);
bool tune_probe(struct tune *tune);
/* The budget as a plan; false after an error. */
bool tune_budget(struct tune *tune);

#endif
