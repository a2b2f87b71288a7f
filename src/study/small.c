/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A simulation of its own, not a formula: 8 bytes there and back, then 4096 bytes there and back, one after the other,
 * as ib_write_lat measures it.  Each message begins when the one before has arrived, so what lies between the begin of
 * two is the way of one.
 */
#include "study/small.h"

#include "fabric/fabric.h"
#include "fabric/routing.h"

#define WINDOWS (1u << 16)
#define MESSAGES 5u /* the last one only marks when the one before arrived */

static uint32_t farthest(const struct fabric *fabric)
{
    uint32_t best = FABRIC_NONE, most = 0;

    for (uint32_t e = 1; e < fabric->endpoints; e++) {
        uint32_t hops = fabric->endpoint[e].host == fabric->endpoint[0].host ? 0 : fabric_hops(fabric, 0, e);
        if (hops <= most) continue;
        most = hops;
        best = e;
    }
    return best;
}

static bool read_times(struct sim *sim, ps_t *ret_8, ps_t *ret_4k)
{
    ps_t start[MESSAGES];
    struct sim_result result;
    uint32_t known = 0;

    if (sim_result(sim, &result) != 0) return false;
    for (uint32_t i = 0; i < result.flows && i < MESSAGES; i++) {
        start[i] = result.flow[i].start;
        known += start[i] != PS_NEVER;
    }
    sim_result_free(&result);
    if (known < MESSAGES) return false;
    *ret_8 = (start[2] - start[0]) / 2;
    *ret_4k = (start[4] - start[2]) / 2;
    return true;
}

bool small_messages(const struct fabric *fabric, const struct sim_options *options, ps_t *ret_8, ps_t *ret_4k)
{
    const struct sim_options run = {.seed = options->seed, .until = PS_NEVER};
    struct fabric_errors errors = {.path = fabric->path};
    struct fabric_flow flow[MESSAGES];
    struct fabric small = *fabric;
    struct fabric_job job = {.name = "small",
                             .kind = FABRIC_JOB_FLOWS,
                             .after = FABRIC_NONE,
                             .repeat = 1,
                             .qps = 1,
                             .to = FABRIC_NONE,
                             .flow = flow,
                             .flows = MESSAGES};
    uint32_t far = farthest(fabric);
    struct sim *sim = NULL;

    if (far == FABRIC_NONE || fabric->jobs == 0) return false;
    job.job_class = fabric->job[0].job_class;
    for (uint32_t i = 0; i < MESSAGES; i++)
        flow[i] = (struct fabric_flow){.src = i % 2 ? far : 0,
                                       .dst = i % 2 ? 0 : far,
                                       .bytes = i < 2 ? 8 : 4096,
                                       .qp = FABRIC_NONE,
                                       .after = i ? i - 1 : FABRIC_NONE};
    small.job = &job;
    small.jobs = 1;
    small.faults = small.slow_gpus = small.hot_optics = 0;
    small.stop = PS_NEVER;
    if (sim_create(&small, &run, &sim, &errors) != 0) return false;
    while (sim_advance(sim, WINDOWS, PS_NEVER) == SIM_RUNNING)
        ;
    bool good = read_times(sim, ret_8, ret_4k);
    sim_free(sim);
    return good;
}
