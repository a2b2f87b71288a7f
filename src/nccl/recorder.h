/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What NCCL tells of its communicators, kept until it is written: collectives that are under way, their proxy
 * operations and steps, and totals.
 *
 * Events come from threads of the program and from NCCL's progress thread, in the middle of its work: nothing here
 * waits for a lock, allocates or writes a file.  A communicator has room for so many collectives and operations at a
 * time; what does not fit is counted as lost.  A handle that NCCL is given is a number, not an address, and says which
 * use of its place it means: one that is out of date, or another process's, finds nothing.
 */
#ifndef ROCELAB_NCCL_RECORDER_H
#define ROCELAB_NCCL_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "nccl/waits.h"

#define RECORDER_COMMS 256u
#define RECORDER_COLLS 1024u /* of a communicator, from their start until they are written; a power of two */
#define RECORDER_OPS 1024u   /* the same */
#define RECORDER_NAME 64
#define RECORDER_WORD 24

struct recorder_coll { /* a collective, or one send or receive */
    uint64_t open;     /* operations and kernels that go on; until it is looked at, with the use that they hold */
    uint32_t use;      /* odd: it is there; another number each time */
    uint32_t kernels;  /* channels whose kernel ended */
    uint32_t channels; /* how many there are; 0: not known */
    uint32_t ops;      /* that ended */
    bool stopped;      /* NCCL has handed it over to the GPU and the proxy */
    bool told;         /* the writer's: a line says that it goes on */
    int peer;          /* of a send or receive, else -1 */
    int root;
    char func[RECORDER_WORD], algo[RECORDER_WORD], proto[RECORDER_WORD], datatype[RECORDER_WORD];
    uint64_t number; /* in the communicator, from 0 */
    uint64_t seq, count, bytes;
    uint64_t begun_ns, last_ns;       /* last: when something of it began or ended */
    uint64_t gpu_first, gpu_last;     /* the GPU's clock; 0: nothing was told */
    uint64_t proxy_first, proxy_last; /* of its operations */
    struct wait_times times[2];       /* [0] of receives, [1] of sends */
};

struct recorder_op {
    uint32_t use;
    uint64_t coll; /* handle; 0: none */
    uint64_t begun_ns;
    struct waits waits;
};

struct recorder_totals { /* uint64_t throughout */
    uint64_t collectives, bytes;
    uint64_t lost_collectives, lost_ops, foreign_ops;
    struct wait_times times[2];
};

struct recorder_comm {
    uint32_t use;
    uint32_t index;   /* as recorder_comm() takes it */
    uint32_t next_op; /* where the search for a free one begins */
    uint64_t id;
    int rank, ranks, nodes;
    char name[RECORDER_NAME];
    uint64_t next_coll;
    uint64_t sends, receives; /* so many: their numbers */
    struct recorder_totals totals;
    struct recorder_coll coll[RECORDER_COLLS];
    struct recorder_op op[RECORDER_OPS];
};

struct recorder_about { /* a communicator, as NCCL tells of it */
    uint64_t id;
    const char *name; /* may be NULL */
    int nodes, ranks, rank;
};
/* Opened and closed one at a time: the caller sees to it.  NULL: there is no room. */
struct recorder_comm *recorder_open(const struct recorder_about *about, void **ret_context);
struct recorder_comm *recorder_find(void *context);  /* NULL: there is none */
void recorder_close(struct recorder_comm *comm);     /* its memory stays for the next */
struct recorder_comm *recorder_comm(unsigned index); /* NULL: not open */
void recorder_release(void);

/* Events, from any thread. */
void *recorder_start(void *context, uint64_t type, const struct nccl_event *event, uint64_t now);
void recorder_state(void *handle, int state, const union nccl_state_args *args, uint64_t now);
void recorder_stop(void *handle, uint64_t now);

/* A copy of one that may go on, its operations counted up to now.  False: it is not there. */
bool recorder_look(struct recorder_comm *comm, uint32_t index, uint64_t now, struct recorder_coll *ret);
/* Takes the record out; its handle is out of date then.  False: there is none, or something of it goes on and it is not
 * forced. */
bool recorder_take(struct recorder_coll *coll, bool force, struct recorder_coll *ret);
/* Totals with what goes on counted up to now; what is being changed is left out. */
void recorder_totals(struct recorder_comm *comm, uint64_t now, struct recorder_totals *ret);

#endif
