/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every single failure costs: a run without, and one with each.
 */
#ifndef ROCELAB_STUDY_EACH_H
#define ROCELAB_STUDY_EACH_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "fabric/fabric.h"
#include "report/sim_report.h"
#include "sim/sim.h"
#include "study/error.h"

/* A failure degrades predictably when the jobs take at most this many times what it explains. */
#define EACH_MARGIN_NUM 3
#define EACH_MARGIN_DEN 2

enum each_what { EACH_NOTHING, EACH_LINK, EACH_LEAF, EACH_SPINE, EACH_CORE, EACH_SWITCH };
extern const char *const each_names[]; /* [enum each_what] */

struct each_options {
    enum each_what what;
    ps_t at;                /* PS_NEVER: a quarter of the way */
    ps_t lasts_ps;          /* PS_NEVER: to the end */
    struct sim_options sim; /* threads: how many runs at once; 0: as many as processors */
    bool quiet;             /* no progress line */
    const volatile sig_atomic_t *stopped;
};

struct each_one {
    uint32_t node, port;    /* what fails; FABRIC_NONE, FABRIC_NONE: nothing */
    char name[FABRIC_NAME]; /* of it; of a link one of its ports */
    bool ran, failed_to_run, completed, predictable, cut_off;
    enum sim_state state;
    ps_t time_ps, predicted_ps, recover_ps; /* PS_NEVER: never */
    uint64_t lost_packets, lost_bytes, again_packets, again_bytes, timeouts, delivered_bytes;
    uint64_t digest;
    char why[SIM_REASON];
};

struct each {
    const struct each_options *options;
    const struct fabric *fabric;
    struct fabric_converge converge;
    struct each_one *one; /* [0] is without a failure */
    uint32_t count, next, done;
    ps_t at;
    uint64_t begun_ns, drawn_ns;
    pthread_mutex_t lock; /* next, done, drawn_ns, error */
    struct study_error *error;
};

/* Every run; each->options, fabric and error are given.  False after an error; without one, the jobs do not complete
 * without a failure, and one[0].why says why. */
bool each_run(struct each *each);
void each_release(struct each *each);

#endif
