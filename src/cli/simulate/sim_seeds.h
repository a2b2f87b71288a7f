/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rocelab sim --seeds: private to the verb sim.
 */
#ifndef ROCELAB_CLI_SIM_SEEDS_H
#define ROCELAB_CLI_SIM_SEEDS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "sim/sim.h"

struct sim_seeds {
    const char *path;
    uint32_t seeds;
    struct sim_options sim; /* threads: runs at once, 0: as many as processors; seed: where own_seed is */
    bool own_seed;
    const char *out, *csv; /* folders; NULL: nothing is kept, or written */
    bool force, json, quiet;
    bool counters;             /* --counters was given ... */
    const char *counters_file; /* ... to this file; NULL: to standard output, instead of the report */
};

/* Runs the file with every seed and prints; answers an enum cli_exit. */
int sim_seeds(const struct sim_seeds *settings, FILE *out);

#endif
