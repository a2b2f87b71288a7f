/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The workload's insides.
 */
#ifndef ROCELAB_WORKLOAD_WORKLOAD_INT_H
#define ROCELAB_WORKLOAD_WORKLOAD_INT_H

#include "base/heap.h"
#include "base/rng.h"
#include "workload/workload.h"

#define RING_SLICES 2 /* of a chunk: one is reduced while the other travels */
#define RING_CHUNK_BYTES 524288u
#define RING_MESSAGES_MAX (1u << 31) /* of a rank in a channel: counted in 32 bits, with room for those under way */

/*
 * A rank's place in one channel.  Message m carries slice m % RING_SLICES of step m / RING_SLICES % steps; it may
 * go when the slice it is made from has arrived, which is the message before it by one step, and that is all the order
 * there is: NCCL's kernels run the same program.
 */
struct ring {
    uint32_t host;
    uint32_t instance;                      /* that runs now, or will next; rings of a job's repetitions are the same */
    uint32_t first_connection, connections; /* to the next rank; 0: it is in the same host */
    uint32_t first_in, ins;                 /* from the rank before */
    uint32_t next_ring;                     /* same host: who gets what is sent */
    uint64_t channel_bytes;
    uint32_t ranks, messages; /* in all */
    uint32_t steps;
    uint64_t chunk_bytes;
    uint32_t sent, completed, received; /* messages */
    ps_t local_free;                    /* when the way to the next GPU is free */
};

struct host_task { /* a host's part in an instance */
    uint32_t instance, host;
    uint32_t next, end;         /* into host_transfer[] */
    uint32_t first_ring, rings; /* into host_ring[] */
    bool rings_started;
};

struct workload_host {
    uint32_t first_task, tasks; /* in order of instance */
    uint32_t live;              /* tasks before are over */
    bool stalled;               /* a ring found no room for its posts */
    struct heap local;          /* messages between its GPUs, by arrival; id: ring from << 32 | ring to */
};

struct workload {
    const struct fabric *fabric;
    struct workload_options options;
    struct workload_connection *connection;
    struct workload_transfer *transfer;
    struct workload_instance *instance;
    struct ring *ring;
    uint32_t connections, transfers, instances, rings;
    uint32_t connection_capacity, transfer_capacity, instance_capacity, ring_capacity;

    struct workload_host *host;
    struct host_task *task;
    uint32_t tasks;
    uint32_t *host_transfer, *host_ring;

    uint32_t first_unfinished; /* instances before have ended */
    uint32_t *wake;            /* hosts to be woken, a stack */
    uint32_t wakes;

    /* while building */
    uint32_t *pair_slot; /* hash of (src, dst, class, number) -> connection */
    uint32_t pair_mask;
    bool failed; /* out of memory */
    struct heap_item *local_items;
};

/* build.c */
uint32_t workload_add_connection(struct workload *workload, uint32_t src, uint32_t dst, uint32_t job_class);
/* Connection `number` of the pair, made if it is not there. */
uint32_t workload_pair(struct workload *workload, uint32_t src, uint32_t dst, uint32_t job_class, uint32_t number);
uint32_t workload_add_transfer(struct workload *workload, uint32_t instance, uint32_t connection, uint64_t bytes,
                               ps_t offset);
void *workload_grow(void *array, uint32_t count, uint32_t *capacity, size_t size, bool *failed);

/* transfers.c: the transfers of one instance of a job that is no collective */
void transfers_generate(struct workload *workload, uint32_t instance);

/* rings.c */
int rings_build(struct workload *workload, uint32_t instance, struct fabric_errors *errors);
void ring_start(struct workload *workload, uint32_t ring, uint32_t instance);
/* Posts what may go; false: no room for it. */
bool ring_advance(struct workload *workload, uint32_t host, uint32_t ring, ps_t now, struct workload_out *out);
void ring_sent(struct workload *workload, uint32_t host, uint32_t connection, ps_t now, struct workload_out *out);
void ring_received(struct workload *workload, uint32_t host, uint32_t connection, ps_t now, struct workload_out *out);
void ring_local(struct workload *workload, uint32_t host, uint32_t from, uint32_t to, ps_t now,
                struct workload_out *out);

/* run.c */
void instance_part_done(struct workload *workload, uint32_t instance, ps_t now);

#endif
