/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search for settings: what may be changed (parameters.c, presets.c, write.c), how settings are tried (refuse.c,
 * evaluate.c), which are tried (search.c, polish.c), and what came of it (judge.c, sensitivity.c, why.c).
 *
 * A setting is a point: a value for some parameters, and for all others what the file says.  What a point is worth is
 * the mean over seeds of log(cost / cost of the file as it is), both with the same seed: below 0 is better.  All that
 * is decided follows from runs by their number, never from which of them ended first.
 */
#ifndef ROCELAB_TUNE_TUNE_H
#define ROCELAB_TUNE_TUNE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/units.h"
#include "config/config.h"
#include "fabric/override.h"
#include "study/cache.h"
#include "study/error.h"
#include "study/row.h"

struct fabric;

#define TUNE_PARAMETERS 32 /* at most */
#define TUNE_TEXT 64
#define TUNE_PATH 160
#define TUNE_SEARCH_SEEDS 9  /* of the search: 1, then 3, then 9 of them */
#define TUNE_FRESH_SEEDS 16  /* at most, of the verdict */
#define TUNE_FRESH_FROM 1000 /* they are so far from those of the search */
#define TUNE_SEEDS (TUNE_SEARCH_SEEDS + TUNE_FRESH_SEEDS)
#define TUNE_PROBE_SEEDS 2 /* of the look at other traffic */
#define TUNE_SENTENCE 400
#define TUNE_WHYS 16
#define TUNE_PAUSED_LEAST 1e-4 /* share of the time: less than that is no difference, and added to each */

enum tune_place {                 /* of a key in the file */
                  TUNE_AT_ECN,    /* classes.C.ecn, written whole */
                  TUNE_AT_CLASS,  /* classes.C */
                  TUNE_AT_NICS,   /* nics.congestion */
                  TUNE_AT_SHARES, /* classes.C.share, and those of the others, so that they add up */
                  TUNE_AT_JOBS,   /* every job that takes the key */
};
enum tune_scale { TUNE_LOG, TUNE_LINEAR, TUNE_DOUBLING };
enum tune_unit { TUNE_SIZE, TUNE_TIME, TUNE_RATE, TUNE_SHARE, TUNE_COUNT, TUNE_RATIO, TUNE_ALPHA };
enum tune_kind_id {
#define PARAMETER(id, name, group, place, key, scale, unit, least, most, step, per, help) TUNE_##id##_KIND,
#include "tune/parameters.def"
#undef PARAMETER
    TUNE_KINDS
};
struct tune_kind { /* a row of parameters.def */
    const char *name, *group, *key, *help;
    enum tune_place place;
    enum tune_scale scale;
    enum tune_unit unit;
    uint64_t least, most, step;
    bool per_rate;
};
extern const struct tune_kind tune_kinds[TUNE_KINDS];

struct tune_parameter { /* of this fabric */
    const struct tune_kind *kind;
    uint32_t kind_id;
    uint32_t of_class; /* into fabric's classes; FABRIC_NONE: of none */
    char path[TUNE_PATH];
    uint64_t least, most, own; /* own: what the file says, as it is resolved */
    bool varied;               /* the search may change it; else only presets do */
};

struct tune_preset {
    const char *name, *source, *values;
};
extern const struct tune_preset tune_presets[];
extern const uint32_t tune_preset_count;

enum tune_origin { TUNE_OWN, TUNE_PRESET, TUNE_DRAWN, TUNE_POLISHED, TUNE_PRUNED };
#define TUNE_OBJECTIVES 3 /* of the front: speed, latency, pauses */

struct tune_interval { /* of log(cost / own cost) over seeds */
    double mean, half; /* NAN: not known */
    uint32_t seeds;
};

struct tune_point {
    uint64_t value[TUNE_PARAMETERS];
    uint32_t set; /* bit i: it has value[i]; else as the file */
    enum tune_origin origin;
    uint32_t preset;   /* of TUNE_PRESET */
    bool refused;      /* by the loader or by `check`: */
    char why[256];     /* for that, or why its runs are worth nothing */
    bool worthless;    /* a run of it failed, dropped packets of a lossless class, or was too slow */
    struct row **row;  /* [scenarios][TUNE_SEEDS], NULL where there is none; NULL: none yet */
    uint32_t searched; /* seeds of the search that it has run with */
    double score;      /* over those: what the search goes by; INFINITY: worth nothing */
    /* The verdict, over fresh seeds. */
    uint32_t judged; /* fresh seeds that it has run with */
    struct tune_interval goal, objective[TUNE_OBJECTIVES];
    bool front, knee;
};

enum tune_goal { TUNE_FOR_TIME, TUNE_FOR_BUSBW, TUNE_FOR_P99, TUNE_FOR_PAUSED };

/* Another traffic, or a failure, that a setting is tried under (scenarios.c). */
struct tune_scenario {
    char name[TUNE_TEXT];
    char *jobs;          /* instead of the file's; NULL: the file's own */
    uint32_t only;       /* that job of the file alone; FABRIC_NONE: all */
    uint32_t size_milli; /* sizes and loads in thousandths; 1000: as they are */
    uint32_t port;       /* whose link goes down, a quarter of the way; FABRIC_NONE: none */
    bool searched;       /* the search goes by it too; else only the verdict looks */
    bool foreign;        /* another traffic: it goes by completion times, as the goal may mean nothing to its jobs */
};

struct tune_plan {     /* of the budget, in runs */
    uint32_t seeds[3]; /* of the rungs */
    uint32_t drawn;    /* settings at the start, presets and the file's own among them */
    uint32_t rung[3];
    uint32_t polish, fresh, fresh_seeds, robust;
    uint32_t answer_from, answer_seeds; /* fresh ones, of the answer and the file as it is: more where there is room */
};

struct tune_sensitivity {
    double share; /* of what the goal varies with in the settings that were drawn; NAN: too few */
    double
        set_back; /* log(cost) when this alone is set back to what the file has; NAN: the answer does not change it */
};

struct tune {
    /* Given. */
    const char *path;
    char *text; /* of the file */
    enum tune_goal goal;
    const char *class_name;          /* of TUNE_FOR_P99 */
    const char *vary;                /* keys divided by commas; NULL: all */
    uint32_t runs;                   /* 0: as many as usual */
    const struct config_format *nos; /* NULL: what each switch has, or any */
    bool robust, quiet;
    uint64_t time_ns; /* no rung begins later than this; 0: no limit */
    uint32_t jobs;    /* runs at once; 0: as many as processors */
    struct cache cache;
    const volatile sig_atomic_t *stopped;
    struct study_error *error;

    /* Found: tune_open(). */
    struct fabric *fabric; /* as the file has it */
    struct arena arena;    /* of what is made: without memory the process ends */
    char goal_class_word[TUNE_TEXT];
    uint32_t goal_class; /* FABRIC_NONE: of all */
    struct tune_parameter parameter[TUNE_PARAMETERS];
    uint32_t parameters, varied;
    char left_out[TUNE_PARAMETERS][TUNE_SENTENCE]; /* what is not tuned, and why */
    uint32_t left_outs;
    struct tune_scenario *scenario; /* [0]: the file as it is */
    uint32_t scenarios, searched_scenarios;
    uint32_t links, links_tried; /* between switches; that are down in a scenario */
    uint32_t *errors_own;        /* [check rules] findings of the file itself */

    /* Made: tune_search(). */
    struct tune_point **point; /* [0]: the file as it is */
    uint32_t points, room;
    uint32_t drawn;          /* points of the start, refused presets among them */
    uint32_t tried, refused; /* of the start without those; settings that were refused before a run */
    struct tune_plan plan;
    uint32_t spent, reused; /* runs */
    struct cache_count rows;
    uint64_t begun_ns;
    bool out_of_time; /* --time ended the search before its budget did */
    uint32_t rungs;   /* that were run */
    uint32_t answer;  /* into point: the best by the search */
    const struct tune_point
        *first_choice; /* of the search, which did not hold on fresh seeds; NULL: it is the answer */
    bool helps;        /* it is better than the file as it is, beyond the interval */
    struct tune_sensitivity sensitivity[TUNE_PARAMETERS];
    bool sensitivity_known; /* values of the answer were set back: one without set_back is refused by check */
    char whys[TUNE_WHYS][TUNE_SENTENCE];
    uint32_t why_count;
    double robustness;           /* worst log(cost) of the answer under foreign traffic; NAN: not looked at */
    double robustness_mean;      /* the mean of them */
    struct tune_interval *under; /* [scenarios] of the answer */
};

/* The fabric, its parameters and scenarios; false after an error. */
bool tune_open(struct tune *tune);
/* All runs; false after an error, or when *stopped. */
bool tune_search(struct tune *tune);
void tune_release(struct tune *tune);

/* A parameter's value as people write it; of ecn.max the bytes.  `point` NULL: the file's own. */
const char *tune_value_text(const struct tune *tune, const struct tune_point *point, uint32_t parameter,
                            char buf[TUNE_TEXT]);
bool tune_has(const struct tune_point *point, uint32_t parameter);

/* The point as values of the file replaced. */
struct tune_overrides {
    char path[2 * TUNE_PARAMETERS][TUNE_PATH], value[2 * TUNE_PARAMETERS][TUNE_PATH];
    struct fabric_override override[2 * TUNE_PARAMETERS];
    uint32_t count;
};
void tune_overrides(const struct tune *tune, const struct tune_point *point, struct tune_overrides *ret);
/* A fabric with the point's values; as fabric_load_with(). */
int tune_load(const struct tune *tune, const struct tune_point *point, struct fabric **ret,
              struct fabric_errors *errors);

extern const char *const tune_goal_names[]; /* as --for has them */
/* What a run has of an objective, lower is better; NAN: nothing. */
double tune_cost(const struct tune *tune, const struct row *row, enum tune_goal what);
/* Of p99: completion times, because no flow has a time alone to be measured against. */
bool tune_p99_is_time(const struct tune *tune);
enum tune_goal tune_objective(const struct tune *tune, uint32_t objective);

#endif
