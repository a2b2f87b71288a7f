/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives: communicators, operations on them, and how a rank's program starts one and hears of its end.
 *
 * Set-up (single-threaded, before the run): a communicator is an ordered list of GPUs with channels and a traffic
 * class; an operation is what is done on it: kind, algorithm, protocol, bytes, root.  Connections are made when an
 * operation asks for a way that is not there yet, and shared by the operations of a communicator whose ways are the
 * same pair of adapters and channel.  An operation may be started any number of times.
 *
 * The run: each rank starts an operation by itself, on its own host, when its program gets there (coll_start).
 * Operations of one communicator run in the order of their starts, which must be the same on each of its ranks;
 * those of different communicators run side by side.  When a rank's part is over, its program is told on that
 * host (coll_program.done), never from within coll_start().  A host's state is touched by its own calls alone.
 */
#ifndef ROCELAB_WORKLOAD_COLLECTIVE_COLL_H
#define ROCELAB_WORKLOAD_COLLECTIVE_COLL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"
#include "fabric/words.h"
#include "workload/workload.h"

/* Who is told.  One object for each kind of program (a plain job is one, a training job another); calls for
 * different hosts come from different threads.  Either may start operations and set alarms, and adds posts to out. */
struct coll_program {
    void (*done)(struct workload *workload, uint32_t host, uint64_t token, ps_t now, struct app_out *out);
    void (*alarm)(struct workload *workload, uint32_t host, uint32_t token, ps_t now, struct app_out *out);
};

struct comm_config {
    const uint32_t *gpu; /* by rank: into fabric.gpu_host; copied */
    uint32_t ranks;      /* two or more */
    uint32_t job_class;
    uint32_t channels;    /* 0: NCCL's (plan.c) */
    uint32_t qps;         /* a connection; 0: 1 */
    uint64_t chunk_bytes; /* 0: NCCL's */
    uint32_t depth;       /* operations a rank may have started and not finished; 0: 8 */
    uint64_t owner;       /* of whom it is (a job): communicators of different owners are different */
    uint32_t job;         /* into fabric.job: who fails with it */
    bool clear_to_send, pxn;
    const struct coll_program *program;
    struct fabric_at where; /* for errors */
};

struct coll_config {
    uint8_t kind;      /* enum fabric_job_kind: ALLREDUCE, REDUCESCATTER, ALLGATHER, BROADCAST, REDUCE, GATHER, SENDRECV
                        * (each rank to the next; of two ranks: a send), ALLTOALL */
    uint8_t algorithm; /* enum fabric_algorithm; AUTO: the tuner's */
    uint8_t protocol;  /* enum fabric_protocol; AUTO: the tuner's */
    uint64_t bytes;    /* a rank's buffer: the larger of its two */
    uint32_t root;     /* a rank */
};

/* 0, -ENOMEM, or -EINVAL with errors.  Equal communicators (GPUs in order, owner, class, channels, qps, flags,
 * program) and equal operations on one are found again, not made twice. */
int comm_create(struct workload *workload, const struct comm_config *config, uint32_t *ret_comm,
                struct fabric_errors *errors);
int coll_create(struct workload *workload, uint32_t comm, const struct coll_config *config, uint32_t *ret_coll,
                struct fabric_errors *errors);

/* Rank `rank` of the communicator is there; called on its host.  CHECKs that no more than `depth` are started. */
void coll_start(struct workload *workload, uint32_t coll, uint32_t rank, uint64_t token, ps_t now, struct app_out *out);
/* The program's `alarm` is called on this host at that time (now or later), with the token; set-up and run alike.  The
 * program has been named before: by a communicator of it, or by coll_register(), at set-up. */
void coll_alarm(struct workload *workload, uint32_t host, const struct coll_program *program, uint32_t token, ps_t at);

void coll_register(struct workload *workload, const struct coll_program *program);

uint32_t comm_host(const struct workload *workload, uint32_t comm, uint32_t rank); /* of that rank */
/* What is run, after the tuner. */
struct coll_config coll_config(const struct workload *workload, uint32_t coll);

/* What an operation has to move at least (bound.c).  `arrives`: when a message of `bytes`, alone in the network, is
 * whole at dst; PS_NEVER: there is no way. */
struct coll_bound {
    uint64_t *tx_bytes, *rx_bytes; /* [endpoint] on the wire without headers; the caller's, zeroed by it */
    ps_t (*arrives)(const void *of, uint32_t src, uint32_t dst, uint64_t bytes);
    const void *of;
    ps_t inside_ps;      /* the busiest link of a GPU is used for */
    uint32_t hops;       /* messages between hosts that wait for each other, one after the other */
    ps_t hop_ps;         /* each takes at least, on an idle network; PS_NEVER: nothing leaves a host */
    ps_t least_ps;       /* a single packet takes at least */
    ps_t software_ps;    /* from a message's arrival to its use */
    ps_t hops_inside_ps; /* messages within hosts in that chain take together */
};
bool coll_bound(const struct workload *workload, uint32_t coll, struct coll_bound *ret); /* false: no memory */

/* An instance's part is over (a rank of a job); the instance ends with the last of `remaining`. */
void instance_part_done(struct workload *workload, uint32_t instance, ps_t now);

#endif
