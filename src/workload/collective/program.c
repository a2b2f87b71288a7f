/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generators: the ring, pairs of ranks, and which algorithm does what.
 *
 * A ring enters a host at the GPU whose adapter the channel uses, visits the host's other GPUs and leaves for the next
 * host: AllReduce in 2(n-1) steps of a chunk, ReduceScatter and AllGather in n-1, Broadcast and Reduce as a pipeline
 * along the ring that starts or ends at the root.
 *
 * Pairs: AllToAll goes in rounds; in round d a rank sends to the rank d after it and receives from the one d before
 * (counted in hosts and within the host, where hosts are alike).  Rounds are dealt out to the channels; a channel's
 * sends go one after the other, and so do its receives.  Gather and SendRecv (each rank to the next) are some of the
 * same pairs.  Pairs go by rank, everything else by position: a pipeline's order is the caller's.
 */
#include "workload/collective/program.h"

#include <stddef.h>

#include "base/check.h"
#include "fabric/work.h"

uint32_t program_place(const struct program_shape *shape, uint32_t pos, uint32_t channel)
{
    uint32_t host = shape->host_of[pos], first = shape->first[host], count = shape->first[host + 1] - first;
    uint32_t at = pos - first + count - shape->head[host * shape->channels + channel];

    return first + (at < count ? at : at - count);
}

uint32_t program_at(const struct program_shape *shape, uint32_t place, uint32_t channel)
{
    uint32_t host = shape->host_of[place], first = shape->first[host], count = shape->first[host + 1] - first;
    uint32_t at = place - first + shape->head[host * shape->channels + channel];

    return first + (at < count ? at : at - count);
}

static uint32_t ring_ports(const struct program *program, uint32_t pos, uint32_t channel, bool in)
{
    (void)program;
    (void)pos;
    (void)channel;
    (void)in;
    return 1;
}

static bool ring_peer(const struct program *program, uint32_t pos, uint32_t channel, bool in, uint32_t port,
                      struct program_peer *ret)
{
    const struct program_shape *shape = program->shape;
    uint32_t place = program_place(shape, pos, channel), n = shape->ranks;

    (void)port;
    *ret = (struct program_peer){.pos = program_at(shape, (in ? place + n - 1 : place + 1) % n, channel)};
    return true;
}

static uint32_t ring_steps(const struct program *program, uint32_t pos, uint32_t channel, uint32_t lane)
{
    uint32_t n = program->shape->ranks;

    (void)pos;
    (void)channel;
    if (lane > 0) return 0;
    switch (program->kind) {
    case FABRIC_JOB_ALLREDUCE:
        return 2 * n - 1;
    case FABRIC_JOB_REDUCESCATTER:
    case FABRIC_JOB_ALLGATHER:
        return n;
    default:
        return 1;
    }
}

/* How far a rank is from where the pipeline begins: Broadcast at the root, Reduce at the rank after it. */
static uint32_t pipeline_distance(const struct program *program, uint32_t place, uint32_t channel)
{
    uint32_t n = program->shape->ranks, root = program_place(program->shape, program->root, channel);

    return (place + n - root + (program->kind == FABRIC_JOB_REDUCE ? n - 1 : 0)) % n;
}

static void ring_step(const struct program *program, uint32_t pos, uint32_t channel, uint32_t lane, uint32_t number,
                      struct program_step *ret)
{
    uint32_t n = program->shape->ranks, place = program_place(program->shape, pos, channel), last = n - 1;
    bool first = number == 0;

    (void)lane;
    ret->block = (place + 2 * n - number) % n;
    switch (program->kind) {
    case FABRIC_JOB_ALLREDUCE:
        last = 2 * n - 2;
        ret->does = number < n ? PROGRAM_OWN : 0;
        if (number >= n - 1) ret->does |= PROGRAM_KEEP;
        break;
    case FABRIC_JOB_REDUCESCATTER:
        ret->block = (place + 2 * n - 1 - number) % n;
        ret->does = number == last ? PROGRAM_OWN | PROGRAM_KEEP : PROGRAM_OWN;
        break;
    case FABRIC_JOB_ALLGATHER:
        ret->does = first ? PROGRAM_OWN | PROGRAM_KEEP : PROGRAM_KEEP;
        break;
    default:
        number = pipeline_distance(program, place, channel);
        first = number == 0;
        ret->block = 0;
        ret->does = first || program->kind == FABRIC_JOB_REDUCE ? PROGRAM_OWN : 0;
        if (program->kind == FABRIC_JOB_BROADCAST || number == last) ret->does |= PROGRAM_KEEP;
        break;
    }
    ret->ins = !first;
    ret->outs = number != last;
    if (!first) ret->does |= PROGRAM_RECEIVED;
}

const struct program_algorithm program_ring = {ring_ports, ring_peer, ring_steps, ring_step};

/* Which rounds a channel has: channel, channel + channels, … below n, without 0 (oneself). */
static uint32_t rounds_of(const struct program_shape *shape, uint32_t channel)
{
    uint32_t first = channel ? channel : shape->channels;

    return first < shape->ranks ? (shape->ranks - 1 - first) / shape->channels + 1 : 0;
}

static uint32_t round_at(const struct program_shape *shape, uint32_t channel, uint32_t index)
{
    return (channel ? channel : shape->channels) + index * shape->channels;
}

/* Where hosts are alike a round is a distance in hosts and one within the host, as NCCL has it: in a round all stay
 * inside or none. */
static uint32_t round_peer(const struct program_shape *shape, uint32_t pos, bool in, uint32_t round)
{
    uint32_t gpus = shape->first[1], hosts = round / gpus, within = round % gpus;
    uint32_t host = shape->host_of[pos], number = pos - shape->first[host];

    if (in) return (host + shape->hosts - hosts) % shape->hosts * gpus + (number + gpus - within) % gpus;
    return (host + hosts) % shape->hosts * gpus + (number + within) % gpus;
}

/* Whether that pair is one of the operation's. */
static bool pair_used(const struct program *program, uint32_t from, uint32_t to)
{
    switch (program->kind) {
    case FABRIC_JOB_GATHER:
        return to == program->shape->rank_of[program->root];
    case FABRIC_JOB_SENDRECV:
        return to == from + 1;
    default:
        return true;
    }
}

static uint32_t pairs_ports(const struct program *program, uint32_t pos, uint32_t channel, bool in)
{
    const struct program_shape *shape = program->shape;
    uint32_t rank = shape->rank_of[pos], root = shape->rank_of[program->root], round;

    switch (program->kind) {
    case FABRIC_JOB_GATHER:
        if (in) return rank == root ? rounds_of(shape, channel) : 0;
        round = (root + shape->ranks - rank) % shape->ranks;
        return rank != root && round % shape->channels == channel;
    case FABRIC_JOB_SENDRECV:
        return 1 % shape->channels == channel && (in ? rank > 0 : rank + 1 < shape->ranks);
    default:
        return rounds_of(shape, channel);
    }
}

static bool pairs_peer(const struct program *program, uint32_t pos, uint32_t channel, bool in, uint32_t port,
                       struct program_peer *ret)
{
    const struct program_shape *shape = program->shape;
    uint32_t n = shape->ranks, rank = shape->rank_of[pos], round = round_at(shape, channel, port);

    if (program->kind == FABRIC_JOB_ALLTOALL && shape->alike) {
        *ret = (struct program_peer){.pos = round_peer(shape, pos, in, round)};
        return true;
    }
    if (program->kind == FABRIC_JOB_SENDRECV) round = 1;
    if (program->kind == FABRIC_JOB_GATHER && !in) round = (shape->rank_of[program->root] + n - rank) % n;
    uint32_t other = (in ? rank + n - round : rank + round) % n;
    if (!pair_used(program, in ? other : rank, in ? rank : other)) return false;
    *ret = (struct program_peer){.pos = shape->pos_of[other]};
    return true;
}

static uint32_t pairs_steps(const struct program *program, uint32_t pos, uint32_t channel, uint32_t lane)
{
    return lane < 2 ? pairs_ports(program, pos, channel, lane == 1) : 0;
}

static void pairs_step(const struct program *program, uint32_t pos, uint32_t channel, uint32_t lane, uint32_t number,
                       struct program_step *ret)
{
    (void)program;
    (void)pos;
    (void)channel;
    if (lane == 0) {
        ret->out = number;
        ret->outs = 1;
        ret->does = PROGRAM_OWN | PROGRAM_BY_PEER;
    } else {
        ret->in = number;
        ret->ins = 1;
        ret->does = PROGRAM_RECEIVED | PROGRAM_KEEP | PROGRAM_BY_PEER;
    }
}

const struct program_algorithm program_pairs = {pairs_ports, pairs_peer, pairs_steps, pairs_step};

static const struct program_algorithm *algorithm_of(const struct program *program)
{
    if (fabric_job_pairs(program->kind)) return &program_pairs;
    switch ((enum fabric_algorithm)program->algorithm) {
    case FABRIC_ALGORITHM_TREE:
        return &program_trees;
    case FABRIC_ALGORITHM_NVLS:
    case FABRIC_ALGORITHM_HIERARCHICAL:
        return &program_rails;
    case FABRIC_ALGORITHM_NVLS_TREE:
        return &program_nvls_tree;
    default:
        return &program_ring;
    }
}

bool program_alike(uint32_t hosts, const uint32_t *first)
{
    for (uint32_t h = 0; h < hosts; h++)
        if (first[h + 1] - first[h] != first[1]) return false;
    return true;
}

const char *program_refuses(const struct program *program)
{
    const struct program_shape *shape = program->shape;
    bool scatters = program->kind == FABRIC_JOB_ALLREDUCE || program->kind == FABRIC_JOB_REDUCESCATTER ||
                    program->kind == FABRIC_JOB_ALLGATHER;

    if (fabric_job_pairs(program->kind))
        return program->algorithm > FABRIC_ALGORITHM_RING ? "it goes from rank to rank" : NULL;
    switch ((enum fabric_algorithm)program->algorithm) {
    case FABRIC_ALGORITHM_TREE:
        if (program->kind == FABRIC_JOB_REDUCESCATTER || program->kind == FABRIC_JOB_ALLGATHER)
            return "a tree has all data at its root, which nobody is here";
        return NULL;
    case FABRIC_ALGORITHM_NVLS:
        if (!scatters) return "NVLS does allreduce, reducescatter and allgather";
        return shape->hosts > 1 ? "NVLS stays within one host, and the ranks are in several; nvls-tree goes between"
                                : NULL;
    case FABRIC_ALGORITHM_NVLS_TREE:
        if (program->kind != FABRIC_JOB_ALLREDUCE) return "nvls-tree does allreduce";
        return shape->alike ? NULL : "nvls-tree needs as many ranks in each host";
    case FABRIC_ALGORITHM_HIERARCHICAL:
        if (!scatters) return "hierarchical does allreduce, reducescatter and allgather";
        return shape->alike ? NULL : "hierarchical needs as many ranks in each host";
    default:
        return NULL;
    }
}

uint32_t program_blocks(const struct program *program)
{
    bool whole =
        program->kind == FABRIC_JOB_BROADCAST || program->kind == FABRIC_JOB_REDUCE || fabric_job_pairs(program->kind);

    if (whole || program->algorithm == FABRIC_ALGORITHM_TREE) return 1;
    if (program->algorithm == FABRIC_ALGORITHM_NVLS_TREE) return program->shape->first[1];
    return program->shape->ranks;
}

uint32_t program_ports(const struct program *program, uint32_t pos, uint32_t channel, bool in)
{
    return algorithm_of(program)->ports(program, pos, channel, in);
}

bool program_peer(const struct program *program, uint32_t pos, uint32_t channel, bool in, uint32_t port,
                  struct program_peer *ret)
{
    return algorithm_of(program)->peer(program, pos, channel, in, port, ret);
}

uint64_t program_steps(const struct program *program, uint32_t pos, uint32_t channel, uint32_t lane)
{
    return (uint64_t)algorithm_of(program)->steps(program, pos, channel, lane) * program->loops * program->slices;
}

void program_step(const struct program *program, uint32_t pos, uint32_t channel, uint32_t lane, uint64_t number,
                  struct program_step *ret)
{
    const struct program_algorithm *algorithm = algorithm_of(program);
    uint32_t of_loop;

    *ret = (struct program_step){0};
    if (fabric_job_pairs(program->kind)) { /* a pair's chunks, then the next pair's */
        ret->loop = (uint32_t)(number % program->loops);
        algorithm->step(program, pos, channel, lane, (uint32_t)(number / program->loops), ret);
        return;
    }
    if (program->slices > 1) {
        ret->slice = (uint32_t)(number % program->slices);
        number /= program->slices;
    }
    of_loop = (uint32_t)number;
    if (program->loops > 1) {
        uint32_t steps = algorithm->steps(program, pos, channel, lane);
        ret->loop = (uint32_t)(number / steps);
        of_loop = (uint32_t)(number % steps);
    }
    algorithm->step(program, pos, channel, lane, of_loop, ret);
}

uint32_t program_block(const struct program *program, uint32_t pos, uint32_t channel, const struct program_step *step,
                       bool in, uint32_t port)
{
    const struct program_shape *shape = program->shape;
    struct program_peer peer;

    if (!(step->does & PROGRAM_BY_PEER)) return step->block;
    bool there = program_peer(program, pos, channel, in, port, &peer);
    CHECK(there);
    if (fabric_job_pairs(program->kind)) return in ? peer.pos : pos; /* blocks of pairs are named by their sender */
    /* by number within the host, then by host */
    uint32_t hosts = program->algorithm == FABRIC_ALGORITHM_NVLS_TREE ? 1 : shape->hosts;
    return (peer.pos - shape->first[shape->host_of[peer.pos]]) * hosts + step->block;
}
