/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens in the fabric: jobs, and faults.  Part of fabric.h.
 */
#ifndef ROCELAB_FABRIC_WORK_H
#define ROCELAB_FABRIC_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"
#include "fabric/words.h"

struct fabric_flow {
    uint32_t src, dst; /* endpoints */
    uint64_t bytes;
    ps_t at;        /* after the job's start, or after what it waits for */
    uint32_t qp;    /* between the two; FABRIC_NONE: one of its own */
    uint32_t after; /* flow of the same job: completed where it is of the same host, arrived where it was sent to that
                     * host; FABRIC_NONE: none */
};

/* How a job's ranks work: they send messages; they are GPUs, with an algorithm or from rank to rank; they run a program
 * of compute and communication (fabric_job.training). */
enum fabric_job_form { FABRIC_FORM_TRANSFERS, FABRIC_FORM_ALGORITHM, FABRIC_FORM_PAIRS, FABRIC_FORM_PROGRAM };
/* Every kind of job, once: X(ID, name in files, form).  Whoever does something of his own for a kind has a case for it;
 * all else goes by the form. */
#define FABRIC_JOB_LIST(X)                                                                                             \
    X(ALLREDUCE, "allreduce", ALGORITHM)                                                                               \
    X(REDUCESCATTER, "reducescatter", ALGORITHM)                                                                       \
    X(ALLGATHER, "allgather", ALGORITHM)                                                                               \
    X(FLOWS, "flows", TRANSFERS)                                                                                       \
    X(PERMUTATION, "permutation", TRANSFERS)                                                                           \
    X(INCAST, "incast", TRANSFERS)                                                                                     \
    X(ALL_TO_ALL, "all-to-all", TRANSFERS)                                                                             \
    X(RANDOM, "random", TRANSFERS)                                                                                     \
    X(POISSON, "poisson", TRANSFERS)                                                                                   \
    X(BROADCAST, "broadcast", ALGORITHM)                                                                               \
    X(REDUCE, "reduce", ALGORITHM)                                                                                     \
    X(GATHER, "gather", PAIRS)       /* every rank `size` to one */                                                    \
    X(SENDRECV, "sendrecv", PAIRS)   /* a pipeline: each rank to the next */                                           \
    X(ALLTOALL, "alltoall", PAIRS)   /* as NCCL runs it: GPUs, rounds, PXN; all-to-all is bare transfers */            \
    X(TRAINING, "training", PROGRAM) /* steps of compute and communication */                                          \
    X(INFERENCE, "inference", PROGRAM)                                                                                 \
    X(TRACE, "trace", PROGRAM) /* the same, read from a trace file */
enum fabric_job_kind {
#define X(id, name, form) FABRIC_JOB_##id,
    FABRIC_JOB_LIST(X)
#undef X
        FABRIC_JOB_KINDS,
};
static inline enum fabric_job_form fabric_job_form(enum fabric_job_kind kind)
{
    static const uint8_t forms[FABRIC_JOB_KINDS] = {
#define X(id, name, form) FABRIC_FORM_##form,
        FABRIC_JOB_LIST(X)
#undef X
    };
    return (enum fabric_job_form)forms[kind];
}
/* Its ranks are GPUs that run a program. */
static inline bool fabric_job_trains(enum fabric_job_kind kind)
{
    return fabric_job_form(kind) == FABRIC_FORM_PROGRAM;
}
/* Its ranks are GPUs that run a collective. */
static inline bool fabric_job_collective(enum fabric_job_kind kind)
{
    return fabric_job_form(kind) == FABRIC_FORM_ALGORITHM || fabric_job_form(kind) == FABRIC_FORM_PAIRS;
}
/* It goes from rank to rank: there is no algorithm to choose. */
static inline bool fabric_job_pairs(enum fabric_job_kind kind)
{
    return fabric_job_form(kind) == FABRIC_FORM_PAIRS;
}
/* One of its ranks is the root. */
static inline bool fabric_job_rooted(enum fabric_job_kind kind)
{
    return kind == FABRIC_JOB_BROADCAST || kind == FABRIC_JOB_REDUCE || kind == FABRIC_JOB_GATHER;
}

/* How a collective is run; AUTO: as NCCL's tuner chooses by size. */
enum fabric_algorithm {
    FABRIC_ALGORITHM_AUTO,
    FABRIC_ALGORITHM_RING,
    FABRIC_ALGORITHM_TREE,         /* double binary tree over hosts, chains within */
    FABRIC_ALGORITHM_NVLS,         /* reduced and multicast by the switches of one domain */
    FABRIC_ALGORITHM_NVLS_TREE,    /* that within a domain, trees between */
    FABRIC_ALGORITHM_HIERARCHICAL, /* scatter within a host, ring on each rail, gather within */
};
#define FABRIC_ALGORITHMS (FABRIC_ALGORITHM_HIERARCHICAL + 1)
enum fabric_protocol { FABRIC_PROTOCOL_AUTO, FABRIC_PROTOCOL_SIMPLE, FABRIC_PROTOCOL_LL, FABRIC_PROTOCOL_LL128 };
#define FABRIC_PROTOCOLS (FABRIC_PROTOCOL_LL128 + 1)
extern const char *const fabric_job_names[FABRIC_JOB_KINDS];
const char *fabric_algorithm_name(enum fabric_algorithm algorithm); /* as in the file */
const char *fabric_protocol_name(enum fabric_protocol protocol);

struct fabric_training;

struct fabric_cdf { /* of flow sizes; at least two points, probability ends at 1,000,000,000 */
    uint64_t bytes;
    uint32_t ppb; /* flows of at most `bytes`, parts per billion */
};

struct fabric_job {
    const char *name;
    uint8_t kind;         /* enum fabric_job_kind */
    uint32_t job_class;   /* into class[] */
    uint64_t size_bytes;  /* a rank's buffer (the largest of sizes), or of each transfer; 0 with flows and poisson */
    ps_t at;              /* start; with `after`, later than that job's end by so much */
    uint32_t after;       /* a job, FABRIC_NONE: none */
    uint32_t repeat;      /* 1: once */
    ps_t gap_ps;          /* between repetitions: end to start */
    uint32_t channels;    /* rings; 0: as many as a host has adapters */
    uint32_t qps;         /* a connection */
    uint64_t chunk_bytes; /* 0: the workload's own */
    const uint32_t *rank; /* that take part, in order of rank: GPUs of a collective or a training job, endpoints of
                           * the rest; all of them when not named.  Placement has been applied. */
    uint32_t ranks;
    uint8_t algorithm, protocol; /* of a collective: enum fabric_algorithm, fabric_protocol */
    bool pxn;                    /* all-to-all: by the GPU of the same host that is on the receiver's rail */
    bool clear_to_send;          /* a sender waits until the receiver has said that its buffer is free */
    const uint64_t *sizes;       /* a collective's runs, each with its repetitions; NULL: size_bytes alone */
    uint32_t size_count;
    uint32_t root; /* broadcast, reduce, gather: a rank's number */
    uint32_t
        degree; /* incast: senders; random: pairs; permutation: shift, 0: drawn; all-to-all: peers at a time, 0: all */
    uint32_t bursts; /* incast: how many, from start to start `every_ps` apart; 0: one */
    ps_t every_ps;
    uint32_t to; /* incast: receiver; FABRIC_NONE: drawn from the seed */
    const struct fabric_flow *flow;
    uint32_t flows;
    const struct fabric_cdf *cdf;
    uint32_t cdf_points;
    uint32_t load_ppm;               /* of the endpoints' line rate */
    ps_t until;                      /* last arrival, after the job's start */
    const uint32_t *from, *receiver; /* poisson: who sends, who is sent to; NULL: all ranks */
    uint32_t froms, receivers;
    const struct fabric_training *training; /* training.h; NULL: not of these kinds */
    struct fabric_at where;
};

enum fabric_way { FABRIC_WAY_BOTH, FABRIC_WAY_IN, FABRIC_WAY_OUT }; /* of a link, seen from the port that is named */

enum fabric_fault_kind {
    FABRIC_FAULT_DOWN,
    FABRIC_FAULT_CORRUPT,
    FABRIC_FAULT_DROP,
    FABRIC_FAULT_PAUSE,
    FABRIC_FAULT_SLOW,
    FABRIC_FAULT_WITHDRAW, /* routes avoid it, though it works */
    FABRIC_FAULT_FLOOD,    /* its edge has forgotten the port of an endpoint */
    FABRIC_FAULT_RECEIVE,  /* a host takes data more slowly */
    FABRIC_FAULT_MISROUTE, /* a switch sends what is for some endpoints by this port */
    FABRIC_FAULT_HOT_OPTICS,
    FABRIC_FAULT_SLOW_GPU
};
#define FABRIC_FAULT_KINDS (FABRIC_FAULT_SLOW_GPU + 1)
extern const char *const fabric_fault_kind_name[FABRIC_FAULT_KINDS];

struct fabric_fault {
    uint8_t kind; /* enum fabric_fault_kind */
    ps_t at;
    ps_t lasts_ps;         /* PS_NEVER: to the end */
    uint32_t node;         /* the target */
    uint32_t port;         /* into port[]; FABRIC_NONE: the whole node */
    uint32_t ppm;          /* corrupt: of frames; slow: of the line rate that is left */
    uint32_t every;        /* drop: every Nth data packet */
    uint8_t way;           /* corrupt, drop, slow: enum fabric_way */
    uint8_t priority;      /* pause */
    uint64_t ber;          /* corrupt, hot-optics: of bits, 2^64 is all; 0: of frames, by ppm */
    uint64_t pre_fec_ber;  /* hot-optics: what the receiver's FEC reports, likewise; 0: not said */
    uint32_t celsius;      /* hot-optics */
    uint32_t gpu, gpus;    /* slow-gpu: the first GPU, and how many */
    uint32_t factor_milli; /* slow-gpu: compute takes so many times as long */
    uint64_t rate_bps;     /* receive */
    uint32_t to, to_count; /* misroute: endpoints */
    const char *word;      /* what the file calls it: `flap` and `reset` are downs */
    const char *text;      /* as fabric_faults_add() takes it, all of its repetitions: `flap leaf0:3 every 10ms ...` */
    struct fabric_at where;
};

struct fabric_converge { /* how routes follow what is up and down */
    bool on;             /* false: they do not */
    ps_t detect_ps;      /* until the switch beside a failure knows */
    ps_t step_ps;        /* until each next switch does */
    bool ordered;        /* of a withdrawal: switches farthest from it have new routes first */
};
/* `converge: true`: a link that says it is down, and a routing protocol on a switch's processor. */
#define FABRIC_CONVERGE_USUAL                                                                                          \
    {                                                                                                                  \
        .on = true, .detect_ps = 1 * PS_MS, .step_ps = 200 * PS_US                                                     \
    }

#define FABRIC_QPS_MAX 64 /* queue pairs a connection of a collective has */

#endif
