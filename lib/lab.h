/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run, as the library's own files see it.  It owns its fabric, because a fault while running is added to it.
 */
#ifndef ROCELAB_LIB_LAB_H
#define ROCELAB_LIB_LAB_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/sim_result.h"

struct fabric;
struct series;
struct sim;
struct sim_report;

#define PUBLIC __attribute__((visibility("default")))

struct rocelab {
    struct fabric *fabric;
    struct sim *sim;
    struct series *series;                    /* NULL: it is not sampled */
    struct sim_connection_sample *connection; /* [its connections] */
    uint64_t seed;
    uint32_t threads;
    bool read; /* `result` is that of now */
    struct sim_result result;
};

/* What `rocelab sim` would report now; it is good until the run goes on.  0 or -ENOMEM. */
int lab_report(struct rocelab *lab, struct sim_report *ret);

#endif
