/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a rank of a training job does, as the file or a trace says it: compute, communicate, wait.
 *
 * A step of a rank is made of short lists that are repeated, so that nothing grows with layers times micro-batches:
 *
 *     before, then the schedule's slots (one forward and one backward a micro-batch and chunk), `finish` a layer, after
 *     a forward slot:  receive, `forward` a layer, [head], send
 *     a backward slot: receive, [head], `backward` a layer (in the last micro-batch `gradient` after each), send
 *
 * A stage's layers are in one chunk, or, interleaved, in several: with p stages chunk c of stage s is part c p + s of
 * the model, so what leaves the last stage goes on in the first.  The head is the last part's alone.  A trace that
 * lists each stage's whole step, or each rank's, has `whole` instead.
 */
#ifndef ROCELAB_JOBS_TRAINING_H
#define ROCELAB_JOBS_TRAINING_H

#include <stdbool.h>

#include "base/time.h"

/* Ranks that do something together.  The first four are the dimensions: their sizes multiply to the ranks.  Experts
 * are shared out within DP; EDP are those of DP that hold the same experts. */
#define FABRIC_GROUP_LIST(X)                                                                                           \
    X(TP, "tp")                                                                                                        \
    X(CP, "cp")                                                                                                        \
    X(DP, "dp")                                                                                                        \
    X(PP, "pp")                                                                                                        \
    X(EP, "ep")                                                                                                        \
    X(EDP, "edp")                                                                                                      \
    X(ALL, "all")                                                                                                      \
    X(P2P, "p2p") /* two ranks, whichever: what a trace sends from one to another */
enum fabric_group_kind {
#define X(id, name) FABRIC_GROUP_##id,
    FABRIC_GROUP_LIST(X)
#undef X
        FABRIC_GROUPS,
};
#define FABRIC_DIMENSIONS (FABRIC_GROUP_PP + 1)
extern const char *const fabric_group_names[FABRIC_GROUPS];

enum fabric_op_kind {
    FABRIC_OP_COMPUTE,
    FABRIC_OP_COLLECTIVE, /* of `group`, not PP */
    FABRIC_OP_SEND_NEXT,  /* to the next stage; it never waits */
    FABRIC_OP_RECV_PREV,
    FABRIC_OP_SEND_PREV,
    FABRIC_OP_RECV_NEXT,
    FABRIC_OP_SEND,     /* to rank `peer`; both go on beside */
    FABRIC_OP_RECV,     /* from rank `peer` */
    FABRIC_OP_WAIT,     /* until of what went on beside of `group` all is over but the last `left` */
    FABRIC_OP_WAIT_FOR, /* until send or receive `number` of the list is over */
};

struct fabric_op {
    uint8_t what;       /* enum fabric_op_kind */
    uint8_t group;      /* enum fabric_group_kind */
    uint8_t collective; /* enum fabric_job_kind */
    bool beside;        /* the rank goes on meanwhile */
    bool uneven;        /* compute of experts: one rank of the group has more of it, by `imbalance_ppm` */
    uint32_t left;
    uint32_t peer, number; /* number: of the list's sends and receives */
    uint32_t lane;         /* those of one lane between two ranks are sent and received in the same order */
    uint64_t bytes;
    ps_t time_ps;
};

struct fabric_ops {
    const struct fabric_op *op;
    uint32_t count;
};

struct fabric_writer {       /* a host's part in a checkpoint */
    uint32_t host, from, to; /* from, to: endpoints */
};

struct fabric_checkpoint {
    uint64_t bytes; /* of all writers */
    uint32_t every; /* steps; 0: there is none */
    uint32_t job_class;
    const struct fabric_writer *writer;
    uint32_t writers;
};

#define FABRIC_STEPS_MAX 10000u
#define FABRIC_CHUNKS_MAX 1024u

enum fabric_schedule { /* of a pipeline */
                       FABRIC_SCHEDULE_1F1B,
                       FABRIC_SCHEDULE_GPIPE,
                       FABRIC_SCHEDULE_INTERLEAVED
};

struct fabric_training {
    uint32_t size[FABRIC_GROUPS];
    uint8_t order[FABRIC_DIMENSIONS]; /* innermost first: whose ranks are next to each other */
    uint32_t steps;
    uint32_t micro_batches;
    uint8_t schedule;       /* enum fabric_schedule */
    uint32_t chunks;        /* of a stage; 1 unless interleaved */
    const uint32_t *layers; /* [chunks * stages] of each part of the model; NULL: it is a trace */
    struct fabric_ops before, forward, backward, gradient, finish, after;
    const struct fabric_ops *whole; /* [stages], or [ranks]; NULL: the lists above */
    bool by_rank;                   /* `whole` has a list for each rank, not for each stage */
    ps_t head_forward_ps, head_backward_ps;
    uint64_t stage_bytes; /* from stage to stage, a rank */
    uint32_t jitter_ppm, imbalance_ppm;
    bool exact; /* messages between GPUs of a host are run one by one, not taken from a formula */
    struct fabric_checkpoint checkpoint;
    /* What the result is about. */
    uint64_t tokens;   /* of a step; 0: not known */
    const char *slice; /* "16 of 126 layers, ..."; NULL: the whole */
    const char *trace; /* the file it was read from; NULL: none */
};

#endif
