/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a buffer is cut: channels, loops, chunks, slices, and what a protocol makes of a message.
 *
 * NCCL's values (2.21: computeCollChunkInfo() and getChannnelThreadInfo() of its src/enqueue.cc, src/graph/connect.cc):
 * a buffer of 4 MiB in 8 steps, so a step of 512 KiB.  A ring's chunk is four steps and is sent in two slices of two
 * steps, none smaller than a 32nd of a full one, so four slices are under way; of Broadcast and Reduce it is one step
 * in one piece, as it is in a tree.  Pairs of ranks send 128 KiB at a time.  NVLS runs 16 channels, each with a chunk
 * of 128 KiB for every GPU of a host, less for buffers of few such rounds and, with a tree, for four hosts or more.  LL
 * has buffers of 512 KiB of which half is flags, LL128 of 4.7 MiB with 120 bytes of data in a line of 128; both send a
 * chunk of one step in one piece, which LL128's trees halve where the buffer has few of them.
 *
 * Rings and trees have two channels for each that the search found, here one an adapter; four from Hopper on where that
 * is a port of 400G and there are fewer than 16.  A small buffer takes as many as have work for all of a channel's
 * threads.
 *
 * What software takes for a hop between hosts (proxy, flush, flags; none of it is simulated) is what NCCL's tuning
 * model has for the hop, less what the network takes for a small message.
 */
#include "fabric/fabric.h"
#include "workload/collective/coll_int.h"
#include "workload/collective/tuner.h"
#include "workload/workload_int.h"

#define STEP_BYTES 524288u
#define PAIR_BYTES 131072u
#define NVLS_BYTES 131072u
#define NVLS_LEAST 16384u /* NCCL's smallest chunk; a channel more than that fills would only cost events */
#define NVLS_CHANNELS 16  /* on Hopper */
#define LL_BYTES 32768u
#define LL128_BYTES (120u * 640 * 8 / 128 * 120) /* elements a thread, threads, bytes of one */
#define RING_STEPS 4                             /* of a chunk, where ranks have parts of their own; half in a slice */
#define SLICE_LEAST 32                           /* a slice is at least this part of a full one */
#define CHANNELS_MOST 32
#define CHANNELS_ENOUGH 16           /* fewer are doubled once more for fast adapters */
#define FAST_NIC_BPS 375000000000ull /* of which the search finds more than 45 GB/s */
#define MESSAGE_MOST (1u << 29)      /* a pipe has 30 bits for what is on the wire; LL doubles it */
#define PAIR_CHANNELS 4
#define RAIL_CHANNELS 4

#define NETWORK_PS                                                                                                     \
    (1200 * PS_NS) /* adapters, a leaf and cables, for a small message: simulated, so not counted twice */

ps_t coll_net_ps(uint32_t protocol, bool tree)
{
    enum fabric_protocol as = protocol == COLL_LL      ? FABRIC_PROTOCOL_LL
                              : protocol == COLL_LL128 ? FABRIC_PROTOCOL_LL128
                                                       : FABRIC_PROTOCOL_SIMPLE;

    return tuner_hop_ns(tree, as) * PS_NS - NETWORK_PS;
}

ps_t coll_gpu_ps(uint32_t protocol, const struct fabric *fabric)
{
    return protocol == COLL_LL ? fabric->gpu_latency_ps * 6 / 10 : fabric->gpu_latency_ps;
}

static uint64_t divide_up(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

static bool is_nvls(uint8_t algorithm)
{
    return algorithm == FABRIC_ALGORITHM_NVLS || algorithm == FABRIC_ALGORITHM_NVLS_TREE;
}

static bool is_ring(const struct program *program)
{
    return program->algorithm <= FABRIC_ALGORITHM_RING;
}

/* At least one, or two for the two trees. */
static uint32_t nvls_channels(const struct coll_shape *shape, const struct coll_config *config, uint32_t at_least)
{
    uint64_t channels = divide_up(config->bytes, (uint64_t)shape->most * NVLS_LEAST);

    if (channels > NVLS_CHANNELS) channels = NVLS_CHANNELS;
    return channels > at_least ? (uint32_t)channels : at_least;
}

/* What a channel of rings and trees must have to do, bytes of the buffer: threads times bytes for each. */
static uint64_t channel_least(const struct coll_shape *shape, const struct coll_config *config)
{
    bool ring = config->algorithm != FABRIC_ALGORITHM_TREE;

    if (config->protocol == FABRIC_PROTOCOL_LL) return 512 * 8 * (uint64_t)(ring ? shape->ranks : 1);
    return config->protocol == FABRIC_PROTOCOL_LL128 ? 640 * 8 : 512 * 64;
}

static uint32_t ring_channels(const struct coll_shape *shape, const struct coll_config *config)
{
    uint32_t nics = shape->most_nics ? shape->most_nics : 1, channels = 2 * nics;

    if (shape->fast && channels < CHANNELS_ENOUGH) channels *= 2;
    if (channels > CHANNELS_MOST) channels = CHANNELS_MOST;
    uint64_t busy = config->bytes / channel_least(shape, config);
    if (busy < channels) channels = busy ? (uint32_t)busy : 1;
    return channels;
}

uint32_t coll_channels(const struct coll_shape *shape, const struct coll_config *config)
{
    uint32_t nics = shape->most_nics ? shape->most_nics : 1, channels;
    uint32_t nics_a_gpu = nics > shape->most ? nics / shape->most : 1;

    if (fabric_job_pairs(config->kind))
        channels = config->kind == FABRIC_JOB_ALLTOALL ? PAIR_CHANNELS : 1;
    else if (config->algorithm == FABRIC_ALGORITHM_NVLS_TREE)
        channels = nvls_channels(shape, config, 2 * nics_a_gpu);
    else if (config->algorithm == FABRIC_ALGORITHM_HIERARCHICAL)
        channels = RAIL_CHANNELS * nics_a_gpu; /* a ring of few hosts waits long: others use the line meanwhile */
    else if (config->algorithm == FABRIC_ALGORITHM_NVLS)
        channels = nvls_channels(shape, config, 1);
    else
        channels = ring_channels(shape, config);
    if (shape->channels) channels = shape->channels;
    if (config->bytes < channels) channels = config->bytes ? (uint32_t)config->bytes : 1;
    return channels;
}

bool coll_fast(const struct fabric *fabric, uint32_t endpoint)
{
    return tuner_hopper(fabric->gpu_line_bps) && fabric->port[fabric->endpoint[endpoint].port].rate_bps >= FAST_NIC_BPS;
}

uint32_t coll_plan_channels(const struct comm *comm, const struct coll_config *config, const struct fabric *fabric)
{
    struct coll_shape shape = {.ranks = comm->ranks,
                               .hosts = comm->hosts,
                               .most = comm->most,
                               .most_nics = comm->most_nics,
                               .channels = comm->config.channels,
                               .fast = comm->hosts > 1 && tuner_hopper(fabric->gpu_line_bps)};

    for (uint32_t i = 0; i < comm->first_nic[comm->hosts]; i++)
        shape.fast &= coll_fast(fabric, comm->nic[i]);
    return coll_channels(&shape, config);
}

/* Halved while the channels have fewer than 64 (16) of it for each step of the tree and rank of a host, where a step
 * within the host counts a tenth. */
static uint64_t tree_ll128_chunk(const struct comm *comm, uint64_t channel_bytes)
{
    uint64_t chunk = LL128_BYTES, levels = 1, wanted;

    while (2u << (levels - 1) <= comm->hosts)
        levels++;
    wanted = 10 * levels * comm->hosts + comm->ranks;
    while (chunk > 131072 && channel_bytes / chunk * 10 * comm->ranks < 64 * wanted)
        chunk /= 2;
    while (chunk > 32768 && channel_bytes / chunk * 10 * comm->ranks < 16 * wanted)
        chunk /= 2;
    return chunk;
}

/* By how many rounds of all channels and GPUs the buffer has. */
static uint64_t nvls_chunk(const struct program *program, const struct comm *comm, uint64_t bytes)
{
    uint64_t chunk = NVLS_BYTES, at_once = (uint64_t)NVLS_CHANNELS * comm->most;

    if (program->algorithm == FABRIC_ALGORITHM_NVLS) {
        if (bytes < 64 * at_once * chunk) chunk = 65536;
        if (bytes < 8 * at_once * chunk) chunk = 32768;
        if (bytes < 2 * at_once * chunk) chunk = NVLS_LEAST;
        return chunk;
    }
    if (comm->hosts >= 4 || bytes < 4 * at_once * chunk) chunk = 65536;
    if (bytes < at_once * chunk) chunk = 32768;
    return chunk;
}

static uint32_t on_the_wire(uint8_t protocol, uint64_t bytes)
{
    if (bytes == 0) bytes = 1; /* a message of nothing would not be noticed */
    if (protocol == COLL_LL) bytes = divide_up(bytes, 8) * 16;
    if (protocol == COLL_LL128) bytes = divide_up(bytes, 120) * 128;
    return (uint32_t)bytes;
}

/* Of a ring whose ranks have parts of their own; Simple alone. */
static bool in_slices(const struct program *program, uint8_t protocol)
{
    bool scatters = program->kind == FABRIC_JOB_ALLREDUCE || program->kind == FABRIC_JOB_REDUCESCATTER ||
                    program->kind == FABRIC_JOB_ALLGATHER;

    return scatters && protocol == COLL_SIMPLE &&
           (is_ring(program) || program->algorithm == FABRIC_ALGORITHM_HIERARCHICAL);
}

static uint64_t chunk_of(const struct program *program, const struct comm *comm, uint8_t protocol, uint64_t bytes,
                         uint64_t channel_bytes)
{
    bool tree = program->algorithm == FABRIC_ALGORITHM_TREE;

    if (comm->config.chunk_bytes) return comm->config.chunk_bytes;
    if (protocol == COLL_LL) return LL_BYTES;
    if (fabric_job_pairs(program->kind)) return PAIR_BYTES;
    if (protocol == COLL_LL128) return tree ? tree_ll128_chunk(comm, channel_bytes) : LL128_BYTES;
    if (is_nvls(program->algorithm)) return nvls_chunk(program, comm, bytes);
    return in_slices(program, protocol) && is_ring(program) ? RING_STEPS * STEP_BYTES : STEP_BYTES;
}

/* A chunk into slices, the first of them no smaller than the least. */
static void cut(const struct coll_plan *plan, uint64_t chunk, uint64_t least, uint32_t *ret)
{
    uint64_t size = divide_up(chunk, plan->slices);

    if (plan->slices > 1 && size < least) size = least;
    for (uint32_t s = 0; s < plan->slices; s++) {
        ret[s] = on_the_wire(plan->protocol, chunk < size ? chunk : size);
        chunk -= chunk < size ? chunk : size;
    }
}

void coll_plan_make(const struct program *program, const struct comm *comm, const struct coll_config *config,
                    const struct fabric *fabric, struct coll_plan *ret)
{
    uint8_t protocol = config->protocol == FABRIC_PROTOCOL_LL      ? COLL_LL
                       : config->protocol == FABRIC_PROTOCOL_LL128 ? COLL_LL128
                                                                   : COLL_SIMPLE;
    bool pairs = fabric_job_pairs(program->kind);
    uint64_t blocks = pairs ? 1 : program_blocks(program), part;

    if (pairs)
        part = program->kind == FABRIC_JOB_ALLTOALL ? divide_up(config->bytes, program->shape->ranks) : config->bytes;
    else
        part = divide_up(config->bytes, program->shape->channels);
    uint64_t full = chunk_of(program, comm, protocol, config->bytes, part), chunk = full;
    if (chunk > divide_up(part, blocks)) chunk = divide_up(part, blocks);
    if (chunk > MESSAGE_MOST >> (protocol == COLL_LL)) chunk = MESSAGE_MOST >> (protocol == COLL_LL);
    if (chunk == 0) chunk = 1;
    uint64_t loops = part ? divide_up(part, chunk * blocks) : 1, least = full / COLL_SLICES / SLICE_LEAST;
    bool sliced = in_slices(program, protocol);
    *ret = (struct coll_plan){.channel_bytes = part,
                              .chunk_bytes = chunk,
                              .loops = loops,
                              .slices = sliced && chunk > least ? COLL_SLICES : 1,
                              .protocol = protocol,
                              .slots = sliced && is_ring(program) ? COLL_SLOTS * COLL_SLICES / RING_STEPS : COLL_SLOTS,
                              .net_ps = coll_net_ps(protocol, program->algorithm == FABRIC_ALGORITHM_TREE),
                              .gpu_ps = coll_gpu_ps(protocol, fabric)};
    cut(ret, chunk, least, ret->wire_bytes[0]);
    cut(ret, divide_up(part - (loops - 1) * chunk * blocks, blocks), least, ret->wire_bytes[1]);
}
