/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Laying an algorithm out: seats, ports, pipes, connections.
 *
 * A ring or tree enters and leaves a host by one adapter, the channel's number modulo the adapters that are next to
 * its ranks; so with as many channels as adapters each carries one ring and traffic stays on its rail.  Where each GPU
 * has its own business (rails, pairs) it goes by the GPU's own adapter.  With PXN a message to a GPU on another rail
 * goes to the GPU of the own host that is on that rail first.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "fabric/fabric.h"
#include "workload/collective/coll_int.h"
#include "workload/workload_int.h"

/* Broadcast and Reduce: nothing goes around. */
static bool is_pipeline(const struct program *program)
{
    return program->kind == FABRIC_JOB_BROADCAST || program->kind == FABRIC_JOB_REDUCE;
}

static bool by_rail(const struct program *program)
{
    return fabric_job_pairs(program->kind) || program->algorithm >= FABRIC_ALGORITHM_NVLS;
}

/* The adapter a GPU's messages in a channel go by; several a GPU take turns. */
static uint32_t gpu_endpoint(const struct fabric *fabric, uint32_t gpu, uint32_t channel)
{
    uint32_t many = fabric_gpu_nics(fabric, gpu);

    return many > 1 ? fabric->gpu_nic[gpu] + channel % many : fabric->gpu_nic[gpu];
}

static uint32_t seat_endpoint(const struct workload *workload, const struct coll_graph *graph, uint32_t pos,
                              uint32_t channel)
{
    const struct comm *comm = workload->coll.comm[graph->comm];
    uint32_t host = comm->host_of[pos], nics = comm->first_nic[host + 1] - comm->first_nic[host];

    if (by_rail(&graph->program)) return gpu_endpoint(workload->fabric, comm->gpu[pos], channel);
    return comm->nic[comm->first_nic[host] + channel % nics];
}

/* The GPU of the sender's host that is next to the adapter with the receiver's number; its own where there is none. */
static uint32_t rail_gpu(const struct fabric *fabric, uint32_t gpu, uint32_t endpoint)
{
    uint32_t host = fabric->gpu_host[gpu], nic = fabric->first_endpoint[host] + fabric->endpoint[endpoint].index;

    for (uint32_t g = fabric->first_gpu[host]; g < fabric->first_gpu[host + 1]; g++)
        if (nic - fabric->gpu_nic[g] < fabric_gpu_nics(fabric, g)) return g;
    return gpu;
}

static bool same_graph(const struct coll_graph *graph, const struct program *program, uint32_t channels)
{
    const struct program *own = &graph->program;

    if (graph->shape.channels != channels || fabric_job_pairs(own->kind) != fabric_job_pairs(program->kind))
        return false;
    if (own->algorithm != program->algorithm && !fabric_job_pairs(program->kind)) return false;
    if (!fabric_job_pairs(program->kind) && program->algorithm <= FABRIC_ALGORITHM_RING)
        return is_pipeline(own) == is_pipeline(program);
    bool rooted = is_pipeline(program) || program->kind == FABRIC_JOB_GATHER;
    return own->kind == program->kind && (!rooted || own->root == program->root);
}

static void *graph_array(struct coll_graph *graph, size_t count, size_t size, bool *failed)
{
    void *made = calloc(count + 1, size);

    graph->bytes += (count + 1) * size;
    if (made == NULL) *failed = true;
    return made;
}

void graph_free(struct coll_graph *graph)
{
    if (graph == NULL) return;
    free(graph->head);
    free(graph->in_first);
    free(graph->out_first);
    free(graph->in);
    free(graph->out);
    free(graph);
}

/* In each host the GPU next to the channel's adapter; among several of one adapter, and several channels, in turn. */
static void find_heads(const struct workload *workload, struct coll_graph *graph, uint32_t channels)
{
    const struct comm *comm = workload->coll.comm[graph->comm];

    for (uint32_t h = 0; h < comm->hosts; h++) {
        uint32_t count = comm->first[h + 1] - comm->first[h], nics = comm->first_nic[h + 1] - comm->first_nic[h];
        for (uint32_t c = 0; c < channels; c++) {
            uint32_t head = c % count, turn = nics ? c / nics : 0, found = 0;
            uint32_t nic = nics ? comm->nic[comm->first_nic[h] + c % nics] : FABRIC_NONE;
            for (uint32_t i = 0; nics && i < count; i++)
                found += workload->fabric->gpu_nic[comm->gpu[comm->first[h] + i]] == nic;
            for (uint32_t i = 0, at = 0; found && i < count; i++)
                if (workload->fabric->gpu_nic[comm->gpu[comm->first[h] + i]] == nic && at++ == turn % found) head = i;
            graph->head[h * channels + c] = (uint16_t)head;
        }
    }
}

static uint32_t connect(struct workload *workload, uint32_t index, uint32_t src, uint32_t dst, uint8_t kind,
                        uint32_t channel)
{
    const struct comm *comm = workload->coll.comm[index];
    struct pair_user user = {.job = comm->config.job, .comm = index};
    struct workload_connection like = {.src = src,
                                       .dst = dst,
                                       .job_class = (uint8_t)comm->config.job_class,
                                       .number = channel * FABRIC_QPS_MAX,
                                       .kind = kind,
                                       .notifies = true,
                                       .first_waiting = WORKLOAD_NONE,
                                       .last_waiting = WORKLOAD_NONE};

    return workload_pairs(workload, user, &like, kind == WORKLOAD_DATA ? comm->config.qps : 1);
}

static uint32_t add_parts(struct workload *workload, uint32_t count)
{
    struct collectives *coll = &workload->coll;
    uint32_t first = coll->parts;

    for (uint32_t i = 0; i < count && !workload->failed; i++) {
        coll->part =
            workload_grow(coll->part, coll->parts, &coll->part_capacity, sizeof(*coll->part), &workload->failed);
        if (!workload->failed) coll->part[coll->parts++] = 0;
    }
    return first;
}

static void pipe_network(struct workload *workload, const struct coll_graph *graph, uint32_t channel, uint32_t from,
                         uint32_t to, struct pipe_out *out, struct pipe_in *in)
{
    const struct fabric *fabric = workload->fabric;
    const struct comm *comm = workload->coll.comm[graph->comm];
    uint32_t src = seat_endpoint(workload, graph, from, channel), dst = seat_endpoint(workload, graph, to, channel);

    out->flags = in->flags = PIPE_NETWORK | (comm->config.clear_to_send ? PIPE_ADMITTED : 0);
    if (graph->program.algorithm == FABRIC_ALGORITHM_TREE) in->flags |= PIPE_TREE;
    if (comm->config.pxn && fabric_job_pairs(graph->program.kind)) {
        uint32_t other = rail_gpu(fabric, comm->gpu[from], dst);
        if (other != comm->gpu[from] && fabric->gpu_nic[other] != fabric->gpu_nic[comm->gpu[from]]) {
            out->flags |= PIPE_VIA;
            out->to = other;
            src = gpu_endpoint(fabric, other, channel);
        }
    }
    out->connection = connect(workload, graph->comm, src, dst, WORKLOAD_DATA, channel);
    if (comm->config.clear_to_send) in->cts = connect(workload, graph->comm, dst, src, WORKLOAD_CLEARS, channel);
    if (comm->config.qps > 1) {
        out->parts = add_parts(workload, comm->config.qps);
        in->parts = add_parts(workload, comm->config.qps);
    }
}

/* The pipe of a sending port. */
static uint32_t add_pipe(struct workload *workload, const struct coll_graph *graph, uint32_t channel, uint32_t from,
                         uint32_t to, uint32_t tag, uint32_t first_copy)
{
    struct collectives *coll = &workload->coll;
    const struct comm *comm = coll->comm[graph->comm];
    struct pipe_out out = {.gpu = comm->gpu[from], .to = comm->gpu[to], .qps = (uint8_t)comm->config.qps, .fan = 1};
    struct pipe_in in = {.qps = (uint8_t)comm->config.qps};

    if (comm->host_of[from] != comm->host_of[to]) {
        pipe_network(workload, graph, channel, from, to, &out, &in);
    } else if (graph->program.algorithm == FABRIC_ALGORITHM_NVLS ||
               graph->program.algorithm == FABRIC_ALGORITHM_NVLS_TREE) {
        uint32_t host = comm->host_of[from], others = comm->first[host + 1] - comm->first[host] - 1;
        out.fan = (uint8_t)others;
        out.flags = tag == PROGRAM_SCATTER ? PIPE_ADDED : PIPE_MULTICAST;
        /* A seat's pipes are made one after the other, so the copies stand together. */
        if (tag == PROGRAM_COLLECT && first_copy != coll->pipes) out.flags |= PIPE_FOLLOWS;
    }
    coll->out = workload_grow(coll->out, coll->pipes, &coll->out_capacity, sizeof(*coll->out), &workload->failed);
    coll->in = workload_grow(coll->in, coll->pipes, &coll->in_capacity, sizeof(*coll->in), &workload->failed);
    if (workload->failed) return 0;
    coll->out[coll->pipes] = out;
    coll->in[coll->pipes] = in;
    return coll->pipes++;
}

struct by_ends { /* a channel's pipes, to be found by their receivers */
    uint64_t ends;
    uint32_t tag, pipe;
};

static int compare_ends(const void *a, const void *b)
{
    const struct by_ends *x = a, *y = b;

    if (x->ends != y->ends) return x->ends < y->ends ? -1 : 1;
    return x->tag < y->tag ? -1 : x->tag > y->tag;
}

/* All sending ports of a channel, then the receiving ones. */
static void lay_channel(struct workload *workload, struct coll_graph *graph, uint32_t channel, struct by_ends *ends)
{
    uint32_t n = graph->shape.ranks, channels = graph->shape.channels, count = 0;
    struct program_peer peer;

    for (uint32_t p = 0; p < n && !workload->failed; p++) {
        uint32_t seat = p * channels + channel, first = graph->out_first[seat], first_copy = WORKLOAD_NONE;
        for (uint32_t i = first; i < graph->out_first[seat + 1] && !workload->failed; i++) {
            graph->out[i] = WORKLOAD_NONE;
            if (!program_peer(&graph->program, p, channel, false, i - first, &peer)) continue;
            if (peer.tag == PROGRAM_COLLECT && first_copy == WORKLOAD_NONE) first_copy = workload->coll.pipes;
            graph->out[i] = add_pipe(workload, graph, channel, p, peer.pos, peer.tag, first_copy);
            ends[count++] =
                (struct by_ends){.ends = (uint64_t)peer.pos << 32 | p, .tag = peer.tag, .pipe = graph->out[i]};
            if (!workload->failed) workload->coll.out[graph->out[i]].owner = graph->first_lane + seat * graph->lanes;
        }
    }
    if (workload->failed) return;
    qsort(ends, count, sizeof(*ends), compare_ends);
    for (uint32_t p = 0; p < n; p++) {
        uint32_t seat = p * channels + channel, first = graph->in_first[seat];
        for (uint32_t i = first; i < graph->in_first[seat + 1]; i++) {
            graph->in[i] = WORKLOAD_NONE;
            if (!program_peer(&graph->program, p, channel, true, i - first, &peer)) continue;
            struct by_ends key = {.ends = (uint64_t)p << 32 | peer.pos, .tag = peer.tag};
            const struct by_ends *found = bsearch(&key, ends, count, sizeof(*ends), compare_ends);
            CHECK(found != NULL);
            graph->in[i] = found->pipe;
            workload->coll.in[found->pipe].owner = graph->first_lane + seat * graph->lanes;
        }
    }
}

static uint32_t lanes_of(const struct program *program)
{
    if (fabric_job_pairs(program->kind)) return 2;
    switch ((enum fabric_algorithm)program->algorithm) {
    case FABRIC_ALGORITHM_TREE:
        return 2;
    case FABRIC_ALGORITHM_NVLS:
    case FABRIC_ALGORITHM_HIERARCHICAL:
        return 3;
    case FABRIC_ALGORITHM_NVLS_TREE:
        return 4;
    default:
        return 1;
    }
}

static void lay_lanes(struct workload *workload, struct coll_graph *graph, uint32_t index)
{
    struct collectives *coll = &workload->coll;
    uint32_t seats = graph->shape.ranks * graph->shape.channels, ins = 0, outs = 0, most = 0;

    graph->in_first = graph_array(graph, seats, sizeof(uint32_t), &workload->failed);
    graph->out_first = graph_array(graph, seats, sizeof(uint32_t), &workload->failed);
    graph->lanes = lanes_of(&graph->program);
    graph->first_lane = coll->lanes;
    for (uint32_t s = 0; s < seats && !workload->failed; s++) {
        uint32_t pos = s / graph->shape.channels, channel = s % graph->shape.channels;
        ins += program_ports(&graph->program, pos, channel, true);
        outs += program_ports(&graph->program, pos, channel, false);
        graph->in_first[s + 1] = ins;
        graph->out_first[s + 1] = outs;
        for (uint32_t l = 0; l < graph->lanes; l++) {
            coll->lane =
                workload_grow(coll->lane, coll->lanes, &coll->lane_capacity, sizeof(*coll->lane), &workload->failed);
            if (workload->failed) return;
            coll->lane[coll->lanes++] =
                (struct coll_lane){.graph = index, .pos = pos, .channel = (uint16_t)channel, .number = (uint8_t)l};
        }
    }
    graph->in = graph_array(graph, ins, sizeof(uint32_t), &workload->failed);
    graph->out = graph_array(graph, outs, sizeof(uint32_t), &workload->failed);
    for (uint32_t c = 0; c < graph->shape.channels && !workload->failed; c++) {
        uint32_t count = 0;
        for (uint32_t p = 0; p < graph->shape.ranks; p++) {
            uint32_t seat = p * graph->shape.channels + c;
            count += graph->out_first[seat + 1] - graph->out_first[seat];
        }
        if (count > most) most = count;
    }
    struct by_ends *ends = calloc(most + 1u, sizeof(*ends));
    if (ends == NULL) workload->failed = true;
    for (uint32_t c = 0; c < graph->shape.channels && !workload->failed; c++)
        lay_channel(workload, graph, c, ends);
    free(ends);
}

/* A ring through several hosts: a pipe from each host to the next, and a segment in each. */
static void lay_segments(struct workload *workload, struct coll_graph *graph, uint32_t index)
{
    struct collectives *coll = &workload->coll;
    const struct comm *comm = coll->comm[graph->comm];
    uint32_t hosts = comm->hosts, channels = graph->shape.channels;

    graph->folded = true;
    graph->first_segment = coll->segments;
    for (uint32_t s = 0; s < hosts * channels && !workload->failed; s++) {
        uint32_t h = s / channels, gpus = comm->first[h + 1] - comm->first[h], room = COLL_SLOTS;
        while (room < COLL_SLOTS * gpus)
            room *= 2;
        coll->segment = workload_grow(coll->segment, coll->segments, &coll->segment_capacity, sizeof(*coll->segment),
                                      &workload->failed);
        if (workload->failed) return;
        struct segment *segment = &coll->segment[coll->segments++];
        *segment = (struct segment){.graph = index,
                                    .host = comm->host[h],
                                    .gpus = gpus,
                                    .first_pos = comm->first[h],
                                    .channel = s % channels,
                                    .coll = WORKLOAD_NONE,
                                    .scheduled = PS_NEVER,
                                    .ready_mask = room - 1,
                                    .link_free = calloc(gpus + room, sizeof(ps_t))};
        graph->bytes += (gpus + room) * sizeof(ps_t);
        segment->ready = segment->link_free + gpus;
        if (segment->link_free == NULL) workload->failed = true;
    }
    for (uint32_t s = 0; s < hosts * channels && !workload->failed; s++) {
        uint32_t h = s / channels, c = s % channels, next = (h + 1) % hosts, first = graph->first_segment;
        uint32_t from = program_at(&graph->shape, comm->first[h + 1] - 1, c);
        uint32_t to = program_at(&graph->shape, comm->first[next], c);
        uint32_t pipe = add_pipe(workload, graph, c, from, to, 0, 0);
        if (workload->failed) return;
        coll->segment[first + s].out = coll->segment[first + next * channels + c].in = pipe;
        coll->out[pipe].owner = OWNER_SEGMENT | (first + s);
        coll->in[pipe].owner = OWNER_SEGMENT | (first + next * channels + c);
    }
}

static struct coll_graph *make_graph(struct workload *workload, uint32_t comm_index, const struct program *program,
                                     uint32_t channels, uint32_t index)
{
    const struct comm *comm = workload->coll.comm[comm_index];
    struct coll_graph *graph = calloc(1, sizeof(*graph));

    if (graph == NULL) return NULL;
    graph->comm = comm_index;
    graph->head = graph_array(graph, (size_t)comm->hosts * channels, sizeof(uint16_t), &workload->failed);
    graph->shape = (struct program_shape){.ranks = comm->ranks,
                                          .hosts = comm->hosts,
                                          .channels = channels,
                                          .alike = program_alike(comm->hosts, comm->first),
                                          .first = comm->first,
                                          .host_of = comm->host_of,
                                          .rank_of = comm->rank_of,
                                          .pos_of = comm->pos_of,
                                          .head = graph->head};
    graph->program = *program;
    graph->program.shape = &graph->shape;
    graph->program.loops = graph->program.slices = 1;
    if (!workload->failed) find_heads(workload, graph, channels);
    if (workload->failed) {
    } else if (!fabric_job_pairs(program->kind) && !is_pipeline(program) &&
               program->algorithm <= FABRIC_ALGORITHM_RING && comm->hosts > 1 && !workload->options.unfolded) {
        lay_segments(workload, graph, index);
    } else {
        lay_lanes(workload, graph, index);
    }
    return graph;
}

int graph_find(struct workload *workload, uint32_t comm, const struct program *program, uint32_t channels,
               uint32_t *ret)
{
    struct collectives *coll = &workload->coll;

    for (uint32_t i = coll->comm[comm]->first_graph; i != WORKLOAD_NONE; i = coll->graph[i]->next) {
        if (!same_graph(coll->graph[i], program, channels)) continue;
        *ret = i;
        return 0;
    }
    coll->graph =
        workload_grow(coll->graph, coll->graphs, &coll->graph_capacity, sizeof(*coll->graph), &workload->failed);
    if (workload->failed) return -ENOMEM;
    coll->graph[coll->graphs] = make_graph(workload, comm, program, channels, coll->graphs);
    if (coll->graph[coll->graphs] == NULL) return -ENOMEM;
    coll->graph[coll->graphs]->next = coll->comm[comm]->first_graph;
    coll->comm[comm]->first_graph = *ret = coll->graphs++;
    return workload->failed ? -ENOMEM : 0;
}
