/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every single failure costs: a run without, and one with each.
 */
#ifndef ROCELAB_STUDY_EACH_H
#define ROCELAB_STUDY_EACH_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "fabric/names.h"
#include "fabric/work.h"
#include "report/sim_report.h"
#include "sim/sim.h"
#include "study/cache.h"
#include "study/error.h"
#include "study/summary.h"

struct fabric;

/* A failure degrades predictably when the jobs take at most this many times what it explains. */
#define EACH_MARGIN_NUM 3
#define EACH_MARGIN_DEN 2

enum each_what { EACH_NOTHING, EACH_LINK, EACH_LEAF, EACH_SPINE, EACH_CORE, EACH_SWITCH };
extern const char *const each_names[]; /* [enum each_what] */

struct each_options {
    enum each_what what;
    ps_t at;                /* PS_NEVER: a quarter of the way */
    ps_t lasts_ps;          /* PS_NEVER: to the end */
    uint32_t sample;        /* of links, or switches, between the same roles: so many, spread evenly; 0: all */
    bool with_path;         /* only failures that leave every endpoint a path */
    struct sim_options sim; /* threads: how many runs at once; 0: as many as processors */
    bool quiet;             /* no progress line */
    const volatile sig_atomic_t *stopped;
};

struct each_one {        /* a run */
    uint32_t node, port; /* what fails; FABRIC_NONE, FABRIC_NONE: nothing */
    uint64_t seed;
    char name[FABRIC_NAME]; /* of what fails; of a link one of its ports */
    bool ran, completed, predictable, cut_off;
    enum sim_state state;
    ps_t time_ps, predicted_ps, recover_ps; /* PS_NEVER: never */
    uint64_t lost_packets, lost_bytes, again_packets, again_bytes, timeouts, delivered_bytes;
    uint64_t digest;
    char why[SIM_REASON]; /* it did not run, did not complete, or took too long */
};

struct each {
    const struct each_options *options;
    const struct fabric *fabric;
    const struct cache *cache;
    uint32_t seeds; /* of each target, from options->sim.seed on */
    struct study_error *error;
    struct fabric_converge converge;
    struct each_one *one; /* [count][seeds]; those of [0] are without a failure */
    uint8_t *used;        /* [seeds][]: bit p, port p sent packets in the run without a failure */
    uint32_t count, done; /* targets; runs that are over */
    uint32_t first;       /* of the runs the pool has */
    struct cache_count rows;
};

/* Every run; options, fabric, cache, seeds and error are given.  False after an error, or when *stopped; else the jobs
 * do not complete without a failure, and a `why` of the first runs says why. */
bool each_run(struct each *each);
void each_release(struct each *each);

/* Targets of one kind are alike in what they join: the role of a switch, or of a link's two ends. */
#define EACH_KINDS (FABRIC_ROLES * (FABRIC_ROLES + 1))
uint32_t each_kind(const struct fabric *fabric, uint32_t node, uint32_t port);
/* What a failure of a node, or of a port's link, leaves: jobs that fill the fabric take num / den of their time.  True:
 * an endpoint is cut off. */
bool each_loss(const struct fabric *fabric, uint32_t node, uint32_t port, uint64_t *ret_num, uint64_t *ret_den);
/* A link that may fail, seen from the first of its ports. */
bool each_is_link(const struct fabric *fabric, uint32_t port);

/* Of a target with all its seeds. */
enum each_value {
    EACH_TIME,
    EACH_SLOWDOWN,       /* over the run without a failure that has the same seed */
    EACH_EXPLAINED_TIME, /* what the failure explains */
    EACH_EXPLAINED,      /* the same, over the run without */
    EACH_RECOVERED,
    EACH_LOST_PACKETS,
    EACH_LOST_BYTES,
    EACH_AGAIN_PACKETS,
    EACH_AGAIN_BYTES,
    EACH_TIMEOUTS,
    EACH_DELIVERED,
    EACH_VALUES
};
struct each_value_info {
    const char *key; /* in JSON */
    enum measure_kind kind;
};
extern const struct each_value_info each_values[EACH_VALUES];

struct each_summary {
    const char *name;
    uint32_t runs, ran, completed, predictable;
    bool cut_off;
    uint32_t whys;   /* runs that say why */
    const char *why; /* of the first of them; NULL: none does */
    struct summary value[EACH_VALUES];
};
/* False: no memory. */
bool each_summarise(const struct each *each, uint32_t target, struct each_summary *ret);

#endif
