/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the jobs' arrays will take, before any of it is made: `repeat: 1G` and a Poisson job of an hour are a few
 * letters each and hundreds of gigabytes.
 *
 * Transfers are counted (a Poisson job's by their expectation), connections bounded by the pairs there are.  Arrays
 * grow by doubling and are twice there while they do, so three times the contents is taken.  Of collectives the pipes
 * are counted, about, with the channels that plan.c gives them: an AllToAll has one for each pair.  Repetitions and
 * sizes share them.  Training jobs are left out.
 */
#include "fabric/fabric.h"
#include "workload/draw.h"
#include "workload/workload_int.h"

#define GROWTH 3

static uint64_t arrivals(const struct fabric *fabric, const struct fabric_job *job)
{
    u128 sum = 0;

    const uint32_t *from = job->from ? job->from : job->rank;
    for (uint32_t i = 0; i < (job->from ? job->froms : job->ranks); i++) {
        u128 mean = draw_mean_gap(job, fabric->port[fabric->endpoint[from[i]].port].rate_bps);
        sum += ((u128)job->until << DRAW_GAP_BITS) / (mean ? mean : 1);
    }
    return sum > UINT64_MAX ? UINT64_MAX : (uint64_t)sum;
}

/* Transfers of one repetition. */
static uint64_t transfers(const struct fabric *fabric, const struct fabric_job *job)
{
    switch (job->kind) {
    case FABRIC_JOB_FLOWS:
        return job->flows;
    case FABRIC_JOB_PERMUTATION:
        return job->ranks;
    case FABRIC_JOB_ALL_TO_ALL:
        return (uint64_t)job->ranks * (job->ranks - 1);
    case FABRIC_JOB_INCAST:
        return (uint64_t)job->degree * (job->bursts ? job->bursts : 1);
    case FABRIC_JOB_RANDOM:
        return job->degree;
    case FABRIC_JOB_POISSON:
        return arrivals(fabric, job);
    default:
        return 0; /* of another form */
    }
}

static u128 least(u128 a, u128 b)
{
    return a < b ? a : b;
}

static u128 job_bytes(const struct fabric *fabric, const struct fabric_job *job)
{
    uint64_t repeat = (uint64_t)(job->repeat ? job->repeat : 1) * (job->sizes ? job->size_count : 1);
    uint64_t each = transfers(fabric, job);
    uint64_t pairs = (uint64_t)job->ranks * job->ranks * (job->qps ? job->qps : 1);
    u128 all = (u128)each * repeat, connections = least(all, pairs);
    u128 tasks = (u128)least(each ? each : job->ranks, fabric->hosts) * repeat;

    if (job->kind == FABRIC_JOB_FLOWS) connections = each;
    if (job->kind == FABRIC_JOB_RANDOM) connections = all; /* each pair it draws has a queue pair of its own */
    return GROWTH * (collectives_estimate_bytes(fabric, job) + repeat * (u128)sizeof(struct workload_instance) +
                     all * (sizeof(struct workload_transfer) + sizeof(uint32_t)) + tasks * sizeof(struct host_task) +
                     connections * (sizeof(struct workload_connection) + 4 * sizeof(uint32_t)));
}

uint64_t workload_estimate_bytes(const struct fabric *fabric, uint32_t *ret_largest)
{
    u128 sum = 0, most = 0;

    for (uint32_t i = 0; i < fabric->jobs; i++) {
        u128 bytes = job_bytes(fabric, &fabric->job[i]);
        if (i == 0 || bytes > most) {
            most = bytes;
            *ret_largest = i;
        }
        sum += bytes;
    }
    return sum > UINT64_MAX ? UINT64_MAX : (uint64_t)sum;
}
