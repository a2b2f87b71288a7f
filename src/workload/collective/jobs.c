/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives as jobs: an instance is one operation on the communicator of all its job's ranks, started by each of
 * them when the instance starts, and over when the last of them is.
 */
#include "workload/workload_int.h"

#include "fabric/fabric.h"
#include "workload/collective/coll_int.h"

static void job_done(struct workload *workload, uint32_t host, uint64_t token, ps_t now, struct app_out *out)
{
    (void)host;
    (void)out;
    instance_part_done(workload, (uint32_t)token, now);
}

const struct coll_program jobs_program = {.done = job_done};

int jobs_build(struct workload *workload, uint32_t index, uint64_t bytes, struct fabric_errors *errors)
{
    struct workload_instance *instance = &workload->instance[index];
    const struct fabric_job *job = &workload->fabric->job[instance->job];
    struct comm_config config = {.gpu = job->rank,
                                 .ranks = job->ranks,
                                 .job_class = job->job_class,
                                 .channels = job->channels,
                                 .qps = job->qps,
                                 .chunk_bytes = job->chunk_bytes,
                                 .depth = 1,
                                 .owner = instance->job,
                                 .job = instance->job,
                                 .clear_to_send = job->clear_to_send,
                                 .pxn = job->pxn,
                                 .program = &jobs_program,
                                 .where = job->where};
    struct coll_config what = {
        .kind = job->kind, .algorithm = job->algorithm, .protocol = job->protocol, .bytes = bytes, .root = job->root};
    uint32_t comm;

    int error = comm_create(workload, &config, &comm, errors);
    if (!error) error = coll_create(workload, comm, &what, &instance->coll, errors);
    if (error) return error;
    instance->bytes = bytes;
    instance->remaining = job->ranks;
    return 0;
}
