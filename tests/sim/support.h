/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running a fabric written as text, for tests.
 */
#ifndef ROCELAB_TESTS_SIM_SUPPORT_H
#define ROCELAB_TESTS_SIM_SUPPORT_H

#include <stdint.h>

#include "sim/sim.h"

struct run {
    struct fabric *fabric;
    struct sim *sim;
    struct sim_result result;
};

/* Loads, runs to the end and audits; fails the test where any of it fails. */
struct run run_text(const char *text, struct sim_options options);
/* The same; *ret_sim is set before it runs. */
struct run run_text_with(const char *text, struct sim_options options, struct sim **ret_sim);
void run_free(struct run *run);
struct sim_options options_of(uint64_t seed, uint32_t threads);

struct sums { /* over all ports and adapters */
    uint64_t drops, lost, pauses, marks, cnps, retransmitted, timeouts, naks;
};
struct sums run_sums(const struct run *run);

#endif
