/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives, inside: communicators, graphs, operations, lanes, segments and pipes.
 *
 * A *graph* is an algorithm laid out on a communicator: its channels, the seats' ports and the pipes between them.  An
 * *operation* runs on a graph; several share one.  A *pipe* is a FIFO of messages from one seat to another; between
 * hosts it goes over a connection, within a host over the GPUs' links.  It has an end at either host, kept apart, so
 * that each is touched by its own host alone.
 */
#ifndef ROCELAB_WORKLOAD_COLLECTIVE_COLL_INT_H
#define ROCELAB_WORKLOAD_COLLECTIVE_COLL_INT_H

#include <stddef.h>

#include "base/heap.h"
#include "workload/collective/coll.h"
#include "workload/collective/collectives.h"
#include "workload/collective/program.h"

#define COLL_SLOTS 8 /* messages a pipe holds at most: NCCL's steps */
#define COLL_SLICES 2
#define COLL_MESSAGES_MAX (1u << 31) /* a rank sends in a channel */
#define COLL_CTS_BYTES 64            /* what a receiver writes when a slot is free: address, size, key, tag */

enum { COLL_SIMPLE, COLL_LL, COLL_LL128, COLL_CLEARS }; /* in two bits of the immediate data; the last: no data */

struct coll_plan {
    uint64_t channel_bytes, chunk_bytes, loops;
    uint32_t slices;
    uint8_t protocol;
    uint8_t slots;                       /* messages of it that a pipe holds */
    uint32_t wire_bytes[2][COLL_SLICES]; /* of a message, flags included: [last loop][slice] */
    ps_t net_ps;                         /* from a message's arrival to its use: what proxy, flush and flags take */
    ps_t gpu_ps;                         /* latency of a hop within the host */
};

struct coll_op {
    uint32_t comm, graph;
    struct coll_config config;
    struct program program;
    struct coll_plan plan;
    ps_t hop_ps[2][COLL_SLICES]; /* a segment's share of a GPU's link for a message */
    uint64_t messages, a_loop;   /* a segment's; of them, in each loop */
    uint32_t next;               /* of the communicator's */
};

struct comm_start { /* an operation a rank has started */
    uint32_t coll;
    uint64_t token;
};

struct comm_rank {       /* by position; its host's */
    uint32_t head, tail; /* into its part of comm.start */
    uint32_t parts;      /* lanes, or a segment's channels, that are not over */
};

struct comm {
    struct comm_config config;
    uint32_t ranks, hosts, most; /* most: ranks in one host */
    uint32_t *first, *host, *host_of, *rank_of, *pos_of, *gpu;
    uint32_t *first_nic, *nic; /* [hosts + 1]; endpoints next to its ranks, by host */
    uint32_t *waiting;         /* [hosts] ranks that have come to the operation a segment is to start with */
    uint32_t most_nics;
    uint64_t hash;
    uint32_t first_graph, first_op; /* lists; WORKLOAD_NONE: empty */
    struct comm_rank *rank;
    struct comm_start *start; /* [position * depth] */
};

struct coll_graph {
    uint32_t comm;
    struct program program; /* kind, root and algorithm that laid it out */
    struct program_shape shape;
    uint16_t *head;
    bool folded;                    /* a ring through hosts: each host's part is a segment */
    uint32_t lanes, first_lane;     /* lanes of a seat; of seat (pos * channels + channel) */
    uint32_t *in_first, *out_first; /* [seat] */
    uint32_t *in, *out;             /* port -> pipe */
    uint32_t first_segment;         /* host * channels + channel */
    size_t bytes;
    uint32_t next; /* of the communicator's */
};

struct coll_lane {
    uint32_t graph, pos, coll;
    uint16_t channel;
    uint8_t number;
    bool running, ready; /* ready: `next` is made */
    uint64_t step, steps, granted;
    struct program_step next;
};

/*
 * A host's part of one channel's ring, folded: its GPUs pass messages on in a chain whose times follow from one
 * another, so only what enters and what leaves the host is an event.  Message m of a GPU is made of message m - slices
 * of the one before; what enters as J leaves as J + gpus * slices.
 */
struct segment {
    uint32_t graph, host, gpus, first_pos; /* host: of the fabric */
    uint32_t channel;
    uint32_t in, out; /* pipes */
    uint32_t coll;    /* WORKLOAD_NONE: none */
    uint32_t done;    /* of its ranks */
    bool held;        /* its last rank has everything, but not all of it has left */
    uint64_t entered, left, granted;
    ps_t scheduled;  /* an event is set for the first in `ready`; PS_NEVER: none */
    ps_t *link_free; /* [gpus] */
    ps_t *ready;     /* ring: when what is to leave is there */
    uint32_t ready_head, ready_tail, ready_mask;
};

#define PIPE_NETWORK 1u
#define PIPE_VIA 2u       /* by the link to another GPU of the host first (PXN) */
#define PIPE_ADMITTED 4u  /* waits to be cleared */
#define PIPE_MULTICAST 8u /* the switch copies: the sender's link is used once for `fan` pipes, this one and the next */
#define PIPE_ADDED 16u    /* the switch adds: the receiver's link is used once for all of a step */
#define PIPE_FOLLOWS 32u  /* a copy of the multicast whose first stands before it */
#define PIPE_TREE 64u     /* of the tree algorithm: software takes longer for a hop */
#define OWNER_SEGMENT 0x80000000u

struct pipe_out {        /* the sending host's */
    uint32_t owner;      /* first lane of the seat; OWNER_SEGMENT | segment */
    uint32_t connection; /* the first of `qps` */
    uint32_t gpu, to;    /* ends of the link within the host */
    uint32_t produced, ready, posted, completed, granted;
    uint32_t next;  /* in a list of who waits to post */
    uint32_t parts; /* into part[]: completions a queue pair, where there is more than one */
    uint8_t qps, flags, fan;
    uint8_t slots; /* of the operation that it sends for, or that waits for room: pipe_sent() wakes by them */
    bool queued, link_waits;
    uint32_t started; /* of produced, on the link */
    ps_t link_free;
    uint32_t message[COLL_SLOTS]; /* bytes, protocol << 30 */
};

struct pipe_in { /* the receiving host's */
    uint32_t owner;
    uint32_t cts;                      /* connection back */
    uint32_t whole, arrived, consumed; /* messages: come, there to be used (software took its time), used */
    uint32_t clear;                    /* slots to be told of */
    uint32_t next, parts;
    uint8_t qps, flags;
    bool queued;
};

/* plan.c */
void coll_plan_make(const struct program *program, const struct comm *comm, const struct coll_config *config,
                    const struct fabric *fabric, struct coll_plan *ret);
ps_t coll_net_ps(uint32_t protocol, bool tree);
ps_t coll_gpu_ps(uint32_t protocol, const struct fabric *fabric);
struct coll_shape { /* of a communicator, as far as the number of channels goes by it */
    uint32_t ranks, hosts;
    uint32_t most, most_nics; /* of one host */
    uint32_t channels;        /* asked for; 0: NCCL's */
    bool fast;                /* GPUs and adapters for which NCCL doubles them */
};
uint32_t coll_channels(const struct coll_shape *shape, const struct coll_config *config);
bool coll_fast(const struct fabric *fabric, uint32_t endpoint); /* whether `fast` may be, going by this one */
uint32_t coll_plan_channels(const struct comm *comm, const struct coll_config *config, const struct fabric *fabric);

/* graph.c */
int graph_find(struct workload *workload, uint32_t comm, const struct program *program, uint32_t channels,
               uint32_t *ret);
void graph_free(struct coll_graph *graph);

/* comm.c */
/* A lane, or a rank's place in a segment, is over. */
void comm_part_done(struct workload *workload, uint32_t comm, uint32_t pos, ps_t now, struct app_out *out);
/* lanes.c */
void lane_begin(struct workload *workload, uint32_t lane, uint32_t coll, uint64_t steps);
void lane_advance(struct workload *workload, uint32_t host, uint32_t lane, ps_t now, struct app_out *out);
void lanes_wake(struct workload *workload, uint32_t host, uint32_t first, ps_t now, struct app_out *out);

/* segment.c */
void segment_begin(struct workload *workload, uint32_t segment, uint32_t coll, ps_t now, struct app_out *out);
void segment_wake(struct workload *workload, uint32_t segment, ps_t now, struct app_out *out);
void segment_done(struct workload *workload, uint32_t segment, uint32_t p, ps_t now, struct app_out *out);
void segment_leaves(struct workload *workload, uint32_t segment, ps_t now, struct app_out *out);

/* pipe.c */
void pipe_produce(struct workload *workload, uint32_t host, uint32_t pipe, uint32_t bytes, const struct coll_plan *plan,
                  ps_t now, struct app_out *out);
void pipe_clear(struct workload *workload, uint32_t host, uint32_t pipe, struct app_out *out);

#endif
