/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives as the workload around them has them: what it holds of them, and its calls into them.
 */
#ifndef ROCELAB_WORKLOAD_COLLECTIVE_COLLECTIVES_H
#define ROCELAB_WORKLOAD_COLLECTIVE_COLLECTIVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/time.h"
#include "base/wide.h"
#include "node/app.h"

struct fabric;
struct fabric_job;
struct workload;
struct coll_program;

struct collectives { /* part of struct workload; coll_int.h has what it points to */
    struct comm **comm;
    struct coll_graph **graph;
    struct coll_op *op;
    struct coll_lane *lane;
    struct segment *segment;
    struct pipe_out *out;
    struct pipe_in *in;
    uint32_t *part;
    uint32_t comms, graphs, ops, lanes, segments, pipes, parts;
    uint32_t comm_capacity, graph_capacity, op_capacity, lane_capacity, segment_capacity, out_capacity, in_capacity,
        part_capacity;
    ps_t *gpu_out, *gpu_in; /* [GPU] when its link is free, either way */
    const struct coll_program *program[4];
    uint32_t programs;
    struct rate gpu_rate, nvls_rate; /* nvls: of what the switch adds or copies */
};

struct host_done {
    const struct coll_program *program;
    uint64_t token;
};

enum coll_event { /* of a host, in the id of its heap */
                  EVENT_LOCAL,
                  EVENT_VIA,
                  EVENT_ARRIVED,
                  EVENT_LEAVES,
                  EVENT_DONE,
                  EVENT_ALARM,
                  EVENT_LINK,
                  EVENT_TRANSFER
};
#define EVENT_ID(kind, high, low) ((uint64_t)(kind) << 60 | (uint64_t)(high) << 32 | (low))

/* comm.c */
int collectives_init(struct workload *workload); /* 0, -ENOMEM; in any case collectives_free() follows */
void collectives_free(struct workload *workload);
size_t collectives_bytes(const struct workload *workload);
/* Ranks of an operation that are in its host number i: positions first .. end-1; false: it has not so many
 * hosts. */
struct coll_part {
    uint32_t host, first, end;
};
bool coll_part_of(const struct workload *workload, uint32_t coll, uint32_t i, struct coll_part *ret);
void comm_start_at(struct workload *workload, uint32_t coll, uint32_t pos, uint64_t token, ps_t now,
                   struct app_out *out);

/* estimate.c: what the job's collectives will take, about, before any is made */
u128 collectives_estimate_bytes(const struct fabric *fabric, const struct fabric_job *job);

/* lanes.c */
void lanes_settle(struct workload *workload, uint32_t host, ps_t now, struct app_out *out);

/* pipe.c */
void pipe_sent(struct workload *workload, uint32_t host, uint32_t connection, uint32_t pipe, ps_t now,
               struct app_out *out);
/* A message of it, or what clears one, was completed with an error: its job is broken. */
void pipe_failed(struct workload *workload, uint32_t connection, uint32_t pipe, ps_t now);
void pipe_received(struct workload *workload, uint32_t host, uint32_t connection, uint32_t imm, ps_t now,
                   struct app_out *out);
void pipe_event(struct workload *workload, uint32_t host, uint64_t id, ps_t now, struct app_out *out);
void pipes_resume(struct workload *workload, uint32_t host, struct app_out *out);

#endif
