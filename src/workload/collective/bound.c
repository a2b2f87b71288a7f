/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an operation has to move at least, and in what order: for the time that no network can beat.
 *
 * Bytes are those of the program itself: its steps of one loop are walked (a folded ring's are all alike, and
 * counted), and each message is charged to the two adapters, or the two links within the host, that it goes over.  So
 * what an algorithm keeps inside a host, what a protocol adds in flags and what a tree asks of its inner hosts is what
 * the run will do, not a formula about it.
 *
 * Order is the longest chain of messages that wait for each other, cut short where it is not certain: twice around a
 * ring less a step at either end, from the deepest host of a tree to its root and back, a single message of a pair.
 * That a receiver clears its senders, that messages queue behind each other, and acknowledgements are left out: all of
 * them add to the time.
 */
#include <stdlib.h>

#include "base/check.h"
#include "fabric/fabric.h"
#include "workload/collective/coll_int.h"
#include "workload/workload_int.h"

struct charge { /* what is added up for */
    const struct workload *workload;
    const struct coll_op *op;
    struct coll_bound *to;
    ps_t *gpu_out, *gpu_in; /* [GPU] time on its link */
    uint64_t pipe_bytes;    /* a pipe carries in all loops, for each message of it in one */
};

static uint64_t bytes_of_all_loops(const struct coll_plan *plan)
{
    uint64_t whole = 0, last = 0;

    for (uint32_t s = 0; s < plan->slices; s++) {
        whole += plan->wire_bytes[0][s];
        last += plan->wire_bytes[1][s];
    }
    return (plan->loops - 1) * whole + last;
}

/* The first message of an operation. */
static uint32_t first_bytes(const struct coll_plan *plan)
{
    return plan->wire_bytes[plan->loops == 1][0];
}

static void charge_network(struct charge *charge, const struct pipe_out *out, uint64_t bytes)
{
    const struct workload_connection *way = &charge->workload->connection[out->connection];

    charge->to->tx_bytes[way->src] += bytes;
    charge->to->rx_bytes[way->dst] += bytes;
}

/* Of a multicast the sender's link has one copy; where the switch adds, the receiver's has one sum. */
static void charge_link(struct charge *charge, const struct pipe_out *out, uint64_t bytes)
{
    const struct collectives *coll = &charge->workload->coll;
    struct rate rate = out->flags & (PIPE_MULTICAST | PIPE_ADDED) ? coll->nvls_rate : coll->gpu_rate;
    ps_t span = rate_take(&rate, bytes);

    if (!(out->flags & PIPE_FOLLOWS)) charge->gpu_out[out->gpu] = ps_add(charge->gpu_out[out->gpu], span);
    charge->gpu_in[out->to] = ps_add(charge->gpu_in[out->to], out->flags & PIPE_ADDED ? span / out->fan : span);
}

static void charge_pipe(struct charge *charge, uint32_t pipe, uint64_t messages)
{
    const struct pipe_out *out = &charge->workload->coll.out[pipe];

    if (out->flags & PIPE_NETWORK) charge_network(charge, out, messages * charge->pipe_bytes);
    if (!(out->flags & PIPE_NETWORK) || out->flags & PIPE_VIA) charge_link(charge, out, messages * charge->pipe_bytes);
}

/* The way of a message between hosts, where it is shorter than those seen before. */
static void see_way(struct charge *charge, uint32_t pipe)
{
    const struct pipe_out *out = &charge->workload->coll.out[pipe];
    struct coll_bound *to = charge->to;

    if (!(out->flags & PIPE_NETWORK)) return;
    const struct workload_connection *way = &charge->workload->connection[out->connection];
    ps_t small = to->arrives(to->of, way->src, way->dst, 1);
    ps_t first = to->arrives(to->of, way->src, way->dst, first_bytes(&charge->op->plan));
    if (small < to->least_ps) to->least_ps = small;
    if (first < to->hop_ps) to->hop_ps = first;
}

static void charge_segments(struct charge *charge, const struct coll_graph *graph)
{
    const struct coll_op *op = charge->op;
    uint32_t channels = graph->shape.channels;
    uint64_t messages = op->a_loop / op->plan.slices;
    bool inside = false;

    for (uint32_t s = 0; s < graph->shape.hosts * channels; s++) {
        const struct segment *segment = &charge->workload->coll.segment[graph->first_segment + s];
        charge_pipe(charge, segment->out, messages);
        if (segment->channel == 0) see_way(charge, segment->out);
        inside |= segment->gpus > 1;
    }
    /* A chain's GPU has its part of the link for each channel. */
    struct rate share = rate_of(charge->workload->fabric->gpu_rate_bps / channels);
    if (inside) charge->to->inside_ps = rate_take(&share, messages * charge->pipe_bytes);
}

static void charge_seat(struct charge *charge, const struct coll_graph *graph, uint32_t pos, uint32_t channel)
{
    struct program once = charge->op->program;
    const uint32_t *out = &graph->out[graph->out_first[pos * graph->shape.channels + channel]];
    bool pairs = fabric_job_pairs(once.kind);
    struct program_step step;

    once.loops = once.slices = 1;
    for (uint32_t lane = 0; lane < graph->lanes; lane++) {
        uint64_t steps = program_steps(&once, pos, channel, lane);
        for (uint64_t n = 0; n < steps; n++) {
            program_step(&once, pos, channel, lane, n, &step);
            for (uint32_t i = step.out; i < step.out + step.outs; i++) {
                charge_pipe(charge, out[i], 1);
                /* A chain is in each channel, so one is looked at; of pairs any one will do. */
                if (pairs ? charge->to->least_ps == PS_NEVER : channel == 0) see_way(charge, out[i]);
            }
        }
    }
}

/* Messages between hosts from a tree's deepest host to its root. */
static uint32_t tree_depth(const struct program *program, bool chains)
{
    const struct program_shape *shape = program->shape;
    uint32_t deepest = 0;

    for (uint32_t h = 0; h < shape->hosts; h++) {
        uint32_t at = shape->first[h], depth = 0;
        struct program_tree tree;
        for (;;) {
            program_tree(program, at, 0, chains, &tree);
            if (tree.parent == PROGRAM_NONE) break;
            depth += shape->host_of[tree.parent] != shape->host_of[at];
            at = tree.parent;
        }
        if (depth > deepest) deepest = depth;
    }
    return deepest;
}

/* Times around the ring, the tree, the rails. */
static uint32_t rounds(const struct program *program)
{
    return program->kind == FABRIC_JOB_ALLREDUCE ? 2 : 1;
}

static void find_chain(struct charge *charge)
{
    const struct program *program = &charge->op->program;
    uint32_t hosts = program->shape->hosts, ranks = program->shape->ranks, times = rounds(program), inside = 0;
    struct coll_bound *to = charge->to;

    if (fabric_job_pairs(program->kind)) {
        to->hops = to->least_ps != PS_NEVER;
        inside = !to->hops;
    } else if (program->algorithm == FABRIC_ALGORITHM_TREE || program->algorithm == FABRIC_ALGORITHM_NVLS_TREE) {
        to->hops = times * tree_depth(program, program->algorithm == FABRIC_ALGORITHM_TREE);
        inside = ranks > hosts ? times : 0;
    } else if (program->algorithm > FABRIC_ALGORITHM_RING) {
        to->hops = times * (hosts - 1);
        inside = ranks > hosts ? times : 0;
    } else {
        to->hops = times * (hosts - 1);
        inside = times * (ranks - 1) > times * hosts ? times * (ranks - 1 - hosts) : 0;
    }
    to->software_ps = charge->op->plan.net_ps;
    to->hops_inside_ps = inside * charge->op->plan.gpu_ps;
}

bool coll_bound(const struct workload *workload, uint32_t index, struct coll_bound *ret)
{
    const struct coll_op *op = &workload->coll.op[index];
    const struct coll_graph *graph = workload->coll.graph[op->graph];
    uint32_t gpus = workload->fabric->gpus;
    ps_t *links = calloc(2u * gpus + 1u, sizeof(*links));
    struct charge charge = {.workload = workload,
                            .op = op,
                            .to = ret,
                            .gpu_out = links,
                            .gpu_in = links ? links + gpus : NULL,
                            .pipe_bytes = bytes_of_all_loops(&op->plan)};

    if (links == NULL) return false;
    ret->inside_ps = 0;
    ret->least_ps = ret->hop_ps = PS_NEVER;
    if (graph->folded) {
        charge_segments(&charge, graph);
    } else {
        for (uint32_t seat = 0; seat < graph->shape.ranks * graph->shape.channels; seat++)
            charge_seat(&charge, graph, seat / graph->shape.channels, seat % graph->shape.channels);
    }
    for (uint32_t i = 0; i < 2 * gpus; i++)
        if (links[i] > ret->inside_ps) ret->inside_ps = links[i];
    find_chain(&charge);
    free(links);
    return true;
}
