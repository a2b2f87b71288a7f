/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Training steps: each rank runs a program of compute, collectives and sends (jobs/training.h), made as it goes.
 *
 * A rank has a place in its program, what it waits for, and its books; all of it is its host's.  Collectives are
 * coll.h's, computing is an alarm.  Ranks of a host share nothing here, and ranks of different hosts meet in
 * collectives alone.
 */
#ifndef ROCELAB_WORKLOAD_TRAINING_TRAIN_H
#define ROCELAB_WORKLOAD_TRAINING_TRAIN_H

#include "base/rng.h"
#include "base/wide.h"
#include "jobs/training.h"
#include "workload/collective/coll.h"

/* What a rank may have under way, each in a communicator of its own: the groups, and the four ways between stages. */
enum { TRAIN_TO_NEXT = FABRIC_GROUPS, TRAIN_FROM_PREV, TRAIN_TO_PREV, TRAIN_FROM_NEXT, TRAIN_WAYS };
#define TRAIN_RUNS TRAIN_WAYS /* waits for nothing: computes, or is not started */
/* An alarm's token is a rank, and above it what the alarm is for: 0, compute is over; a way plus 1, an operation
 * within the host is; or a checkpoint is to be written. */
#define TRAIN_RANK_BITS 27
#define TRAIN_WRITES (TRAIN_WAYS + 1u)

struct train_op { /* a fabric_op with its collective found */
    uint8_t what, way;
    bool beside, uneven;
    uint32_t left;
    uint32_t form;   /* into train.form; of a send or receive into train.pair */
    uint32_t number; /* of a send or receive */
    uint64_t bytes;
    ps_t time_ps;
};

struct train_ops {
    struct train_op *op;
    uint32_t count;
};

struct train_form { /* a collective or send that is the same in each group of its way */
    uint8_t way, kind;
    uint64_t bytes;
    uint32_t *coll; /* [groups of the way]; of a send [rank of the sender] */
    ps_t inside_ps; /* what it takes within one host, by the model */
};

struct train_pair { /* a message from one rank to another */
    uint32_t src, dst, lane;
    uint64_t bytes;
    uint32_t coll;
    uint32_t next; /* of the sender's */
};

struct train_inside { /* a group that is within one host; the host's */
    bool is;
    ps_t free_at;      /* when the operation before is through */
    uint32_t *arrived; /* [depth] ranks that have come to an operation, by its number */
};

enum train_section {
    TRAIN_BEFORE,
    TRAIN_RECEIVE,
    TRAIN_HEAD_FIRST,
    TRAIN_BODY,
    TRAIN_HEAD_LAST,
    TRAIN_SEND,
    TRAIN_FINISH,
    TRAIN_AFTER
};

struct train_slot { /* of a stage's schedule: a micro-batch goes through a chunk of its layers, one way */
    uint32_t micro, chunk;
    bool backward;
};

struct train_books {
    ps_t busy_ps[TRAIN_WAYS], exposed_ps[TRAIN_WAYS], compute_ps;
    uint64_t bytes[TRAIN_WAYS], operations[TRAIN_WAYS];
};

struct train_rank {
    uint32_t host, stage;
    /* its place */
    uint32_t step, layer, at;
    uint32_t number; /* of the slot */
    uint32_t posted; /* slots before have their receives posted */
    struct train_slot slot;
    uint8_t section; /* enum train_section */
    uint8_t waits;   /* a way; TRAIN_RUNS: for none */
    uint32_t room;   /* it waits until less than so many are under way: 1, or a queue's depth; 0: for `wanted` */
    uint32_t wanted; /* a send or receive */
    ps_t since;      /* when it began to wait */
    struct train_op retry;
    bool retries; /* `retry` found the queue full, and is to be done next */
    struct rng rng;
    uint32_t writer, written; /* of checkpoints, for its host; WORKLOAD_NONE: it does not */
    /* under way, and the books */
    uint32_t under_way[TRAIN_WAYS];
    ps_t busy_since[TRAIN_WAYS];
    uint64_t started[TRAIN_WAYS];
    struct train_books now, closed;     /* closed: of the steps that have ended */
    ps_t last_compute_ps, last_wait_ps; /* of the step that ended last */
};

struct train {
    const struct fabric_training *from;
    uint32_t instance;
    uint32_t ranks, stages;
    uint32_t first_rank; /* number of its first rank among those of all jobs: tokens */
    uint32_t stride[FABRIC_DIMENSIONS];
    struct train_rank *rank;
    uint32_t *by_host; /* ranks, host by host */
    struct train_ops before, forward, backward, gradient, finish, after;
    struct train_ops *whole;             /* [lists] */
    uint32_t lists;                      /* stages, or ranks */
    struct train_op receive[2], send[2]; /* [backward] */
    struct train_form *form;
    uint32_t forms, form_capacity;
    struct train_pair *pair;
    uint32_t pairs, pair_capacity, *first_pair; /* [rank of the sender] */
    uint32_t numbers, over_words;               /* sends and receives a rank has at most */
    uint64_t *over;                             /* [rank * over_words] bits; the rank's host's */
    uint32_t depth[TRAIN_WAYS];
    uint32_t *member[TRAIN_WAYS];            /* [group * size + index]; of the ways that are used */
    struct train_inside *inside[TRAIN_WAYS]; /* [groups] */
    uint32_t first_write;                    /* transfers of checkpoints: round * writers + writer */
    ps_t *step_end;                          /* [steps] of the last rank; atomic */
    ps_t *wait_ps;                           /* [rank * wait_steps + step]; the rank's host's */
    uint32_t wait_steps;
};
#define TRAIN_WAITS_MOST (1u << 22) /* waits that are kept, of all ranks: those of the first steps */

struct trains { /* part of struct workload */
    struct train **train;
    uint32_t count, capacity, ranks;
};

/* train.c */
int train_build(struct workload *workload, uint32_t instance, struct fabric_errors *errors);
void trains_free(struct workload *workload);
/* The group a rank is in, and as which of it. */
void train_place(const struct train *train, uint32_t way, uint32_t rank, uint32_t *ret_group, uint32_t *ret_index);
uint32_t train_group_size(const struct fabric_training *from, uint32_t way);
/* Of all chunks of a stage. */
uint32_t train_stage_layers(const struct fabric_training *from, uint32_t stage);

/* checkpoint.c: -ENOMEM; the rank is done with a step; the alarm for it */
int train_checkpoint_build(struct workload *workload, struct train *train);
void train_checkpoint_due(struct workload *workload, const struct train *train, uint32_t number, ps_t now);
void train_checkpoint_write(struct workload *workload, struct train *train, uint32_t number, ps_t now,
                            struct app_out *out);

/* pairs.c: the pair of a rank's send or receive; the collectives of all, or errors; whether one is over */
int train_pair_find(struct train *train, uint32_t rank, const struct fabric_op *op, uint32_t *ret);
int train_pairs_build(struct workload *workload, struct train *train, struct fabric_errors *errors);
void train_pairs_free(struct train *train);
bool train_pair_over(const struct train *train, uint32_t rank, uint32_t number);
void train_pair_ends(struct train *train, uint32_t rank, uint32_t number);
void train_pairs_step(struct train *train, uint32_t rank); /* all are to be run again */

static inline uint64_t train_owner(uint32_t job, uint32_t way, uint32_t lane)
{
    return (uint64_t)lane << 32 | job << 4 | way;
}
_Static_assert(TRAIN_WAYS <= 16, "a way has four bits");

/* run.c */
extern const struct coll_program train_program;
void train_start(struct workload *workload, uint32_t train, uint32_t at, ps_t now, struct app_out *out);

/* The books of a job, for whoever reports: of a step, sums over its ranks.  While a rank has ended none, what it has
 * done so far. */
struct workload_training {
    uint32_t ranks, steps, steps_ended;
    const ps_t *step_end; /* [steps_ended] */
    const ps_t *wait_ps;  /* [rank * wait_steps + step] that a rank waited, in a step, for others and for the network */
    uint32_t wait_steps;  /* kept; below steps_ended where ranks and steps are very many */
    u128 compute_ps;
    ps_t compute_most_ps; /* of one rank, and which */
    uint32_t slowest;
    struct {
        uint32_t size;
        uint64_t operations, bytes; /* a rank's, the one with most */
        u128 busy_ps, exposed_ps;
        ps_t exposed_most_ps;
    } group[FABRIC_GROUPS];
};
/* Whether every rank of such a job has ended a step, and when the last did.  `rank` is the caller's, 0 at first for
 * each step: those before it are known to have. */
bool workload_step_ended(const struct workload *workload, uint32_t instance, uint32_t step, uint32_t *rank,
                         ps_t *ret_end);
/* False: the instance is no such job. */
bool workload_training(const struct workload *workload, uint32_t instance, struct workload_training *ret);
/* What a rank of it computed in a step, the mean of those it has ended; while it has ended none, so far. */
ps_t workload_rank_compute(const struct workload *workload, uint32_t instance, uint32_t rank);
/* How many steps every rank of a training instance has ended, and what the last of them took. */
void workload_last_step(const struct workload *workload, uint32_t instance, uint64_t *ret_steps, ps_t *ret_ps);
/* Ranks of all training jobs, job by job; what one computed and waited in the last step that it ended. */
uint32_t workload_ranks(const struct workload *workload);
void workload_rank(const struct workload *workload, uint32_t number, ps_t *ret_compute, ps_t *ret_wait);

#endif
