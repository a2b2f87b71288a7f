/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that are each one rank's: sends and receives from any rank to any, and whether ranks agree on collectives.
 *
 * A message from one rank to another goes by a communicator of two, one for each lane (jobs/training.h), since those
 * of a communicator run in the order of their starts.  Unlike collectives of a group, sends and receives of a rank end
 * in any order, so each has a number, and a bit that says it is over.  They are run message by message, within a host
 * too.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/fabric.h"
#include "workload/training/train.h"
#include "workload/workload_int.h"

int train_pair_find(struct train *train, uint32_t rank, const struct fabric_op *op, uint32_t *ret)
{
    bool receives = op->what == FABRIC_OP_RECV, failed = false;
    struct train_pair made = {.src = receives ? op->peer : rank,
                              .dst = receives ? rank : op->peer,
                              .lane = op->lane,
                              .bytes = op->bytes,
                              .coll = WORKLOAD_NONE};

    if (op->number >= train->numbers) train->numbers = op->number + 1;
    if (train->first_pair == NULL) {
        train->first_pair = malloc((train->ranks + 1u) * sizeof(*train->first_pair));
        if (train->first_pair == NULL) return -ENOMEM;
        memset(train->first_pair, 0xff, (train->ranks + 1u) * sizeof(*train->first_pair));
    }
    for (uint32_t i = train->first_pair[made.src]; i != WORKLOAD_NONE; i = train->pair[i].next) {
        const struct train_pair *pair = &train->pair[i];
        if (pair->dst != made.dst || pair->lane != made.lane || pair->bytes != made.bytes) continue;
        *ret = i;
        return 0;
    }
    train->pair = workload_grow(train->pair, train->pairs, &train->pair_capacity, sizeof(*train->pair), &failed);
    if (failed) return -ENOMEM;
    made.next = train->first_pair[made.src];
    train->pair[train->pairs] = made;
    train->first_pair[made.src] = *ret = train->pairs++;
    return 0;
}

static int pair_collective(struct workload *workload, const struct train *train, struct train_pair *pair,
                           struct fabric_errors *errors)
{
    uint32_t job_index = workload->instance[train->instance].job, comm;
    const struct fabric_job *job = &workload->fabric->job[job_index];
    const uint32_t gpu[2] = {job->rank[pair->src], job->rank[pair->dst]};
    struct comm_config config = {.gpu = gpu,
                                 .ranks = 2,
                                 .job_class = job->job_class,
                                 .qps = job->qps,
                                 .depth = train->depth[FABRIC_GROUP_P2P],
                                 .owner = train_owner(job_index, FABRIC_GROUP_P2P, pair->lane),
                                 .job = job_index,
                                 .clear_to_send = job->clear_to_send,
                                 .pxn = job->pxn,
                                 .program = &train_program,
                                 .where = job->where};
    struct coll_config what = {.kind = FABRIC_JOB_SENDRECV, .bytes = pair->bytes};

    int error = comm_create(workload, &config, &comm, errors);
    return error ? error : coll_create(workload, comm, &what, &pair->coll, errors);
}

/* The next collective of a way in a rank's list; NULL: there is none. */
static const struct train_op *next_collective(const struct train_ops *ops, uint32_t way, uint32_t *at)
{
    while (*at < ops->count) {
        const struct train_op *op = &ops->op[(*at)++];
        if (op->what == FABRIC_OP_COLLECTIVE && op->way == way) return op;
    }
    return NULL;
}

/* Ranks of a group make the same collectives in the same order. */
static int same_collectives(struct workload *workload, const struct train *train, uint32_t way, uint32_t first,
                            uint32_t other, struct fabric_errors *errors)
{
    const struct fabric_job *job = &workload->fabric->job[workload->instance[train->instance].job];
    uint32_t i = 0, j = 0;

    for (uint32_t count = 1;; count++) {
        const struct train_op *a = next_collective(&train->whole[first], way, &i);
        const struct train_op *b = next_collective(&train->whole[other], way, &j);
        if (!a && !b) return 0;
        if (a && b && a->form == b->form) continue;
        const struct train_form *x = a ? &train->form[a->form] : NULL, *y = b ? &train->form[b->form] : NULL;
        fabric_errors_add(errors, job->where,
                          "trace '%s': ranks %u and %u are in one group %s, but number %u of its collectives is %s of "
                          "%" PRIu64 " bytes for the one, %s of %" PRIu64 " for the other",
                          train->from->trace, first, other, fabric_group_names[way], count,
                          x ? fabric_job_names[x->kind] : "none", x ? x->bytes : 0,
                          y ? fabric_job_names[y->kind] : "none", y ? y->bytes : 0);
        return -EINVAL;
    }
}

static int groups_agree(struct workload *workload, const struct train *train, struct fabric_errors *errors)
{
    uint32_t group, index;
    int error = 0;

    for (uint32_t way = 0; way < FABRIC_GROUP_P2P && !error; way++) {
        uint32_t size = train_group_size(train->from, way);
        for (uint32_t r = 0; r < train->ranks && train->member[way] && size > 1 && !error; r++) {
            train_place(train, way, r, &group, &index);
            if (index) error = same_collectives(workload, train, way, train->member[way][group * size], r, errors);
        }
    }
    return error;
}

int train_pairs_build(struct workload *workload, struct train *train, struct fabric_errors *errors)
{
    int error = 0;

    if (!train->from->by_rank) return 0;
    train->over_words = train->numbers / 64 + 1;
    train->over = calloc((size_t)train->ranks * train->over_words, sizeof(*train->over));
    if (train->over == NULL) return -ENOMEM;
    for (uint32_t i = 0; i < train->pairs && !error; i++)
        error = pair_collective(workload, train, &train->pair[i], errors);
    return error ? error : groups_agree(workload, train, errors);
}

void train_pairs_free(struct train *train)
{
    free(train->pair);
    free(train->first_pair);
    free(train->over);
}

bool train_pair_over(const struct train *train, uint32_t rank, uint32_t number)
{
    return train->over[(size_t)rank * train->over_words + number / 64] >> number % 64 & 1;
}

void train_pair_ends(struct train *train, uint32_t rank, uint32_t number)
{
    train->over[(size_t)rank * train->over_words + number / 64] |= UINT64_C(1) << number % 64;
}

void train_pairs_step(struct train *train, uint32_t rank)
{
    if (train->over) memset(&train->over[(size_t)rank * train->over_words], 0, train->over_words * sizeof(uint64_t));
}
