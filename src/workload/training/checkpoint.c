/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checkpoints of training jobs: plain transfers, made at set-up, that a host starts when its first rank is done with
 * a step.  The job is over when the last of them is.  A transfer needs room among the caller's posts to begin at all,
 * so each is begun in an alarm of its own, which comes again where there is none.
 */
#include <errno.h>

#include "fabric/work.h"
#include "workload/training/train.h"
#include "workload/workload_int.h"

int train_checkpoint_build(struct workload *workload, struct train *train)
{
    const struct fabric_checkpoint *from = &train->from->checkpoint;
    struct workload_instance *instance = &workload->instance[train->instance];
    uint32_t rounds = from->every ? train->from->steps / from->every : 0;

    for (uint32_t r = 0; r < train->ranks; r++)
        train->rank[r].writer = WORKLOAD_NONE;
    train->first_write = workload->transfers;
    for (uint32_t c = 0; c < rounds; c++) {
        for (uint32_t w = 0; w < from->writers && !workload->failed; w++) {
            uint64_t bytes = from->bytes / from->writers + (w < from->bytes % from->writers);
            uint32_t pair = workload_pair(workload, instance->job, from->writer[w].from, from->writer[w].to,
                                          from->job_class, FABRIC_QPS_MAX - 1);
            if (!workload->failed) workload_add_transfer(workload, train->instance, pair, bytes ? bytes : 1, PS_NEVER);
        }
    }
    if (workload->failed) return -ENOMEM;
    instance->bytes = 0; /* they are not what the job is measured by */
    instance->remaining += (uint64_t)rounds * from->writers;
    for (uint32_t w = 0; rounds && w < from->writers; w++)
        for (uint32_t r = 0; r < train->ranks; r++) {
            if (train->rank[r].host != from->writer[w].host) continue;
            train->rank[r].writer = w;
            break;
        }
    return 0;
}

void train_checkpoint_due(struct workload *workload, const struct train *train, uint32_t number, ps_t now)
{
    const struct train_rank *rank = &train->rank[number];

    if (rank->writer == WORKLOAD_NONE || rank->step % train->from->checkpoint.every != 0) return;
    coll_alarm(workload, rank->host, &train_program, TRAIN_WRITES << TRAIN_RANK_BITS | (train->first_rank + number),
               now);
}

void train_checkpoint_write(struct workload *workload, struct train *train, uint32_t number, ps_t now,
                            struct app_out *out)
{
    const struct fabric_checkpoint *from = &train->from->checkpoint;
    struct train_rank *rank = &train->rank[number];

    if (out->posts == APP_POSTS) {
        out->more = true;
        coll_alarm(workload, rank->host, &train_program, TRAIN_WRITES << TRAIN_RANK_BITS | (train->first_rank + number),
                   now);
        return;
    }
    transfer_begin(workload, train->first_write + rank->written++ * from->writers + rank->writer, now, out);
}
