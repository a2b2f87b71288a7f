/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the collectives of a job will take: the pipes of its largest communicator, with the channels that plan.c gives
 * them.
 */
#include "fabric/fabric.h"
#include "workload/collective/coll_int.h"
#include "workload/workload_int.h"

/* The largest communicator that the job may have, wherever its ranks are. */
static struct coll_shape shape_of(const struct fabric *fabric, const struct fabric_job *job)
{
    struct coll_shape shape = {.ranks = job->ranks, .most = 1, .most_nics = 1, .channels = job->channels};

    for (uint32_t h = 0; h < fabric->hosts; h++) {
        uint32_t own = fabric->first_gpu[h + 1] - fabric->first_gpu[h];
        uint32_t ports = fabric->first_endpoint[h + 1] - fabric->first_endpoint[h];
        if (own > shape.most) shape.most = own;
        if (ports > shape.most_nics) shape.most_nics = ports;
    }
    if (shape.ranks && shape.most > shape.ranks) shape.most = shape.ranks;
    for (uint32_t e = 0; e < fabric->endpoints; e++)
        shape.fast |= coll_fast(fabric, e);
    shape.hosts = shape.ranks / shape.most + 1;
    return shape;
}

/* As many as its largest buffer has, by whichever algorithm and protocol has most where the tuner chooses. */
static uint64_t channels_most(const struct coll_shape *shape, const struct fabric_job *job)
{
    struct coll_config what = {.kind = job->kind, .algorithm = job->algorithm, .protocol = job->protocol};
    uint32_t most;

    what.bytes = job->size_bytes;
    if (job->algorithm == FABRIC_ALGORITHM_AUTO) what.algorithm = FABRIC_ALGORITHM_TREE; /* it needs least to do */
    if (job->protocol != FABRIC_PROTOCOL_AUTO) return coll_channels(shape, &what);
    what.protocol = FABRIC_PROTOCOL_LL;
    most = coll_channels(shape, &what);
    what.protocol = FABRIC_PROTOCOL_LL128;
    return most > coll_channels(shape, &what) ? most : coll_channels(shape, &what);
}

u128 collectives_estimate_bytes(const struct fabric *fabric, const struct fabric_job *job)
{
    u128 qps = job->qps ? job->qps : 1;

    if (!fabric_job_collective((enum fabric_job_kind)job->kind)) return 0;
    struct coll_shape shape = shape_of(fabric, job);
    uint64_t n = job->ranks, channels = channels_most(&shape, job), pipes, local = 0, lanes = 0;
    if (job->kind == FABRIC_JOB_ALLTOALL) {
        pipes = n * (n - 1);
        lanes = n * 2 * channels;
    } else if (job->kind == FABRIC_JOB_GATHER || job->kind == FABRIC_JOB_SENDRECV) {
        pipes = n;
        lanes = n * 2 * channels;
    } else if (job->algorithm == FABRIC_ALGORITHM_RING && n > shape.most) {
        pipes = shape.hosts * channels;
    } else if (job->algorithm >= FABRIC_ALGORITHM_NVLS) {
        pipes = 2 * n * channels;
        local = n * channels * (2 * shape.most - 1); /* within hosts */
        lanes = n * channels * 4;
    } else {
        pipes = 2 * n * channels;
        lanes = pipes;
    }
    return (u128)(pipes + local) * (sizeof(struct pipe_out) + sizeof(struct pipe_in) + 2 * sizeof(uint32_t)) +
           pipes * (qps + 1) * (sizeof(struct workload_connection) + 4 * sizeof(uint32_t)) +
           (u128)lanes * (sizeof(struct coll_lane) + 2 * sizeof(uint32_t)) + n * (sizeof(struct comm_rank) + 64);
}
