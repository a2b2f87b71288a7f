/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs as transfers: who sends what to whom, and when.
 *
 * The jobs of a fabric become plain arrays: connections (a queue pair at each end, made at set-up), transfers (a
 * message on a connection at a time) and collectives (coll.h).  What happens then is a
 * state machine of each host, driven as the application of a node (node/app.h): a time it named has come, a work
 * request was completed, a message arrived.
 *
 * A host's state is touched only by calls for that host, so hosts may run on different threads.  What concerns
 * all, the end of one job and the start of the next, happens in workload_coordinate(), which is called alone,
 * between windows; a job that waits for another starts no sooner than the declared latency after its end.
 */
#ifndef ROCELAB_WORKLOAD_WORKLOAD_H
#define ROCELAB_WORKLOAD_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/time.h"
#include "node/app.h"

struct fabric;
struct fabric_errors;

#define WORKLOAD_NONE UINT32_MAX
#define WORKLOAD_DEPTH 8 /* work requests a connection has in its queue at most ... */
#define WORKLOAD_DEEP 64 /* ... and one that flows share, as programs have them */

enum workload_kind { /* of a connection */
                     WORKLOAD_TRANSFERS,
                     WORKLOAD_DATA,  /* of collectives */
                     WORKLOAD_CLEARS /* what receivers clear senders with */
};

struct workload_connection { /* from src to dst; what flows back are acknowledgements */
    uint32_t src, dst;       /* endpoints */
    uint32_t number;         /* of its kind, counted between the two */
    uint32_t job;            /* into fabric.job; of several that use it in turn, the first */
    uint16_t copy;           /* how many equal ones were there before, of users that this one's may overlap with */
    uint8_t job_class;       /* into fabric.classes */
    uint8_t kind;            /* enum workload_kind */
    uint8_t part;            /* of several that share each message */
    uint8_t parts;
    bool notifies;                        /* the receiver is told of each message (WRITE with immediate) */
    uint16_t depth;                       /* WORKLOAD_DEPTH or WORKLOAD_DEEP */
    uint32_t posted, done;                /* work requests; the src host's */
    uint32_t first_waiting, last_waiting; /* transfers, or pipes, that found the queue full; the src host's */
};

struct workload_transfer {
    uint32_t connection;
    uint32_t instance;
    uint64_t bytes;
    ps_t offset;        /* after the instance's start */
    ps_t start, end;    /* when it was due, when it was completed; PS_NEVER: not yet */
    uint64_t unposted;  /* bytes; a message is at most 2^30, so a long one is several */
    uint32_t parts;     /* posted and not completed */
    uint32_t next;      /* in its connection's waiting list */
    uint32_t then;      /* started when this one is completed; its offset is PS_NEVER.  WORKLOAD_NONE: none */
    uint32_t completes; /* first of those that wait for its completion, and ... */
    uint32_t arrives;   /* ... for its arrival, of the host that it goes to; WORKLOAD_NONE: none */
    uint32_t beside;    /* the next that waits for the same */
    ps_t delay;         /* how long after that */
    bool failed;        /* a work request of it was completed with an error */
};

struct workload_instance { /* one run of a job */
    uint32_t job, repetition;
    uint32_t ranks;
    uint64_t bytes;  /* for bandwidths: a rank's buffer, or all transfers together */
    ps_t start, end; /* PS_NEVER: not yet */
    ps_t failed;     /* when it was given up, or the one it waits for was; PS_NEVER: it was not */
    uint32_t after;  /* instance whose end it waits for; WORKLOAD_NONE: none */
    ps_t delay;      /* after that end, or after 0 */
    uint32_t first_transfer, transfers;
    uint32_t coll;      /* operation; WORKLOAD_NONE: transfers, or training */
    uint32_t train;     /* training job; WORKLOAD_NONE: none */
    uint64_t remaining; /* transfers or ranks not finished; atomic */
    ps_t last;          /* latest completion so far; atomic */
};

struct workload;

struct workload_options {
    uint64_t seed;
    ps_t sync_latency; /* from the end of a job to the start of one that waits for it */
    bool unfolded;     /* each GPU of a ring on its own, for tests: see struct segment */
};

/* 0, -EINVAL with errors, -ENOMEM. */
int workload_create(const struct fabric *fabric, const struct workload_options *options, struct workload **ret,
                    struct fabric_errors *errors);
void workload_free(struct workload *workload);

uint32_t workload_connections(const struct workload *workload);
const struct workload_connection *workload_connection(const struct workload *workload, uint32_t connection);

/* When the host wants workload_timer(); PS_NEVER: not. */
ps_t workload_next(const struct workload *workload, uint32_t host);
void workload_timer(struct workload *workload, uint32_t host, ps_t now, struct app_out *out);
/* A work request of this host was completed, successfully or not. */
void workload_sent(struct workload *workload, uint32_t host, uint32_t connection, uint32_t tag, bool good, ps_t now,
                   struct app_out *out);
/* A message arrived at this host, on a connection that notifies. */
void workload_received(struct workload *workload, uint32_t host, uint32_t connection, uint32_t imm, ps_t now,
                       struct app_out *out);
/* A message with this immediate data is about to be told to its host: what that touches is brought near.  Answers the
 * connection that will most likely be posted on; WORKLOAD_NONE: none. */
uint32_t workload_expect(const struct workload *workload, uint32_t imm);

/* Ends and starts jobs; everything before `now` has happened.  Answers up to `capacity` hosts that have something
 * new to wait for (workload_next() tells when); call again until it answers 0. */
uint32_t workload_coordinate(struct workload *workload, ps_t now, uint32_t *ret_hosts, uint32_t capacity);
/* Every job that will ever run has ended, or was given up. */
bool workload_finished(const struct workload *workload);

uint32_t workload_instances(const struct workload *workload);
const struct workload_instance *workload_instance(const struct workload *workload, uint32_t instance);
uint32_t workload_transfers(const struct workload *workload);
const struct workload_transfer *workload_transfer(const struct workload *workload, uint32_t transfer);
/* Bus bandwidth over algorithm bandwidth of the instance's job, as a fraction. */
void workload_bus_factor(const struct workload *workload, uint32_t instance, uint64_t *ret_num, uint64_t *ret_den);
size_t workload_memory_bytes(const struct workload *workload);
/* What workload_create() will take at most, about, and the job that takes the largest part of it (untouched without
 * jobs). */
uint64_t workload_estimate_bytes(const struct fabric *fabric, uint32_t *ret_largest);

#endif
