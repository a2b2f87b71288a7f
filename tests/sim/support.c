/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running a fabric written as text; see support.h.
 */
#include "support.h"
#include "fabric/handle.h"
#include "load/load.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

struct sim_options options_of(uint64_t seed, uint32_t threads)
{
    return (struct sim_options){.seed = seed, .threads = threads, .until = PS_NEVER};
}

struct run run_text(const char *text, struct sim_options options)
{
    return run_text_with(text, options, NULL);
}

struct run run_text_with(const char *text, struct sim_options options, struct sim **ret_sim)
{
    struct fabric_errors errors = {0};
    struct run run = {0};

    if (fabric_load("test.yaml", text, &run.fabric, &errors) != 0) {
        fabric_errors_print(&errors, stderr);
        fail_msg("the fabric does not load");
    }
    if (sim_create(run.fabric, &options, &run.sim, &errors) != 0) {
        fabric_errors_print(&errors, stderr);
        fail_msg("the simulation cannot be made");
    }
    if (ret_sim) *ret_sim = run.sim;
    while (sim_advance(run.sim, 1000000, PS_NEVER) == SIM_RUNNING) {
    }
    assert_int_equal(sim_result(run.sim, &run.result), 0);
    sim_audit(run.sim);
    return run;
}

void run_free(struct run *run)
{
    sim_result_free(&run->result);
    sim_free(run->sim);
    fabric_free(run->fabric);
    *run = (struct run){0};
}

struct sums run_sums(const struct run *run)
{
    struct sums sums = {0};

    for (uint32_t i = 0; i < run->result.ports; i++) {
        sums.drops += run->result.port[i].drops;
        sums.lost += run->result.port[i].lost;
        sums.pauses += run->result.port[i].pauses_sent;
        sums.marks += run->result.port[i].ecn_marked;
    }
    for (uint32_t i = 0; i < run->result.nics; i++) {
        const struct sim_nic *nic = &run->result.nic[i];
        if (nic->counters) sums.cnps += nic->counters->np_cnp_sent;
        sums.retransmitted += nic->common.retransmitted_packets;
        sums.timeouts += nic->common.timeouts;
        sums.naks += nic->common.nacks;
    }
    return sums;
}
