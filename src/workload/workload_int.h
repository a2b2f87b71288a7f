/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The workload's insides.
 */
#ifndef ROCELAB_WORKLOAD_WORKLOAD_INT_H
#define ROCELAB_WORKLOAD_WORKLOAD_INT_H

#include <stddef.h>

#include "base/heap.h"
#include "base/rng.h"
#include "workload/collective/collectives.h"
#include "workload/training/train.h"
#include "workload/workload.h"

struct host_task { /* a host's part in an instance */
    uint32_t instance, host;
    uint32_t next, end; /* into host_transfer[]; of a collective, ranks not started: positions; of a training job
                         * into train.by_host[] */
};

struct workload_host {
    uint32_t first_task, tasks; /* in order of instance */
    uint32_t live;              /* tasks before are over */
    uint32_t stalled;           /* pipes that found no room for their posts: pipe << 1 | clears; WORKLOAD_NONE: none */
    uint32_t freed;             /* pipes within it that have a slot again; WORKLOAD_NONE: none */
    struct heap events;         /* of its collectives; the id says what: EVENT_ID */
    struct host_done *done;     /* programs to be told */
    uint32_t dones, done_capacity;
};

struct pair_user { /* whose a connection is */
    uint32_t job;  /* into fabric.job */
    uint32_t comm; /* of its collectives; WORKLOAD_NONE: transfers */
};

struct pair_slot {
    uint32_t connection; /* WORKLOAD_NONE: empty */
    struct pair_user last;
};

struct workload {
    const struct fabric *fabric;
    struct workload_options options;
    struct workload_connection *connection;
    struct workload_transfer *transfer;
    struct workload_instance *instance;
    uint32_t connections, transfers, instances;
    uint32_t connection_capacity, transfer_capacity, instance_capacity;
    struct collectives coll;
    struct trains trains;

    struct workload_host *host;
    struct host_task *task;
    uint32_t tasks;
    uint32_t *host_transfer;

    uint32_t first_unfinished; /* instances before have ended, or were given up */
    ps_t *broke;               /* [fabric.jobs] first work request of its collectives that failed; atomic */
    uint32_t *wake;            /* hosts to be woken, a stack */
    uint32_t wakes;

    /* while building */
    struct pair_slot *pair_slot; /* hash of (src, dst, class, kind, number) -> connection */
    uint32_t pair_mask;
    bool failed; /* out of memory */
};

/* build.c */
/* Connection `number` of the pair for a job's transfers, made if there is none that the job may use; `qps` of them, one
 * after the other, for collectives. */
uint32_t workload_pair(struct workload *workload, uint32_t job, uint32_t src, uint32_t dst, uint32_t job_class,
                       uint32_t number);
uint32_t workload_pairs(struct workload *workload, struct pair_user user, const struct workload_connection *like,
                        uint32_t qps);
uint32_t workload_add_transfer(struct workload *workload, uint32_t instance, uint32_t connection, uint64_t bytes,
                               ps_t offset);
void *workload_grow(void *array, uint32_t count, uint32_t *capacity, size_t size, bool *failed);

/* transfers.c: the transfers of one instance of a job that is no collective */
void transfers_generate(struct workload *workload, uint32_t instance);

/* jobs.c: collectives as jobs */
int jobs_build(struct workload *workload, uint32_t instance, uint64_t bytes, struct fabric_errors *errors);
extern const struct coll_program jobs_program;

/* run.c */
void host_event(struct workload *workload, uint32_t host, ps_t at, uint64_t id);
/* A transfer that has waited for another is due. */
void transfer_due(struct workload *workload, uint32_t host, uint32_t transfer, ps_t now, struct app_out *out);
/* A transfer that starts when somebody says so; out has room for a post. */
void transfer_begin(struct workload *workload, uint32_t transfer, ps_t now, struct app_out *out);
void host_tell(struct workload *workload, uint32_t host, const struct coll_program *program, uint64_t token);

#endif
