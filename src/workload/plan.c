/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a buffer is cut: channels, loops, chunks, slices, and what a protocol makes of a message.
 *
 * NCCL's values: a buffer of 4 MiB in 8 steps, so a step of 512 KiB.  A ring's chunk is a step here, where NCCL's is
 * four (docs/collectives.md says what that changes), and is sent in two slices, none smaller than a 32nd of a full one;
 * a tree's chunk is a step, halved while the buffer has fewer than 8 (4, 1) chunks a level of the tree, not below 128
 * (64, 32) KiB; pairs of ranks send 128 KiB at a time.  NVLS runs 16 channels, each with a chunk of 128 KiB for every
 * GPU of a host, less for buffers of few such rounds and, with a tree, for four hosts or more.  LL has buffers of
 * 512 KiB of which half is flags, LL128 has 120 bytes of data in a line of 128, and both send a chunk in one piece.
 *
 * What software takes for a hop between hosts (proxy, flush, flags; none of it is simulated) is what NCCL's tuning
 * model has for the hop, less what the network takes for a small message.
 */
#include "workload/tuner.h"
#include "workload/workload_int.h"

#define STEP_BYTES 524288u
#define PAIR_BYTES 131072u
#define NVLS_BYTES 131072u
#define NVLS_LEAST 16384u /* NCCL's smallest chunk; a channel more than that fills would only cost events */
#define NVLS_CHANNELS 16  /* on Hopper */
#define LL_BYTES 32768u
#define LL128_BYTES (STEP_BYTES / 128 * 120)
#define SLICE_LEAST 32          /* a slice is at least this part of a full one */
#define MESSAGE_MOST (1u << 29) /* a pipe has 30 bits for what is on the wire; LL doubles it */
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

/* At least one, or two for the two trees. */
static uint32_t nvls_channels(const struct comm *comm, const struct coll_config *config, uint32_t at_least)
{
    uint64_t channels = divide_up(config->bytes, (uint64_t)comm->most * NVLS_LEAST);

    if (channels > NVLS_CHANNELS) channels = NVLS_CHANNELS;
    return channels > at_least ? (uint32_t)channels : at_least;
}

uint32_t coll_plan_channels(const struct comm *comm, const struct coll_config *config)
{
    uint32_t nics = comm->most_nics ? comm->most_nics : 1, channels;
    uint32_t nics_a_gpu = nics > comm->most ? nics / comm->most : 1;

    if (fabric_job_pairs(config->kind))
        channels = config->kind == FABRIC_JOB_ALLTOALL ? PAIR_CHANNELS : 1;
    else if (config->algorithm == FABRIC_ALGORITHM_TREE)
        channels = 2 * nics;
    else if (config->algorithm == FABRIC_ALGORITHM_NVLS_TREE)
        channels = nvls_channels(comm, config, 2 * nics_a_gpu);
    else if (config->algorithm == FABRIC_ALGORITHM_HIERARCHICAL)
        channels = RAIL_CHANNELS * nics_a_gpu; /* a ring of few hosts waits long: others use the line meanwhile */
    else if (config->algorithm == FABRIC_ALGORITHM_NVLS)
        channels = nvls_channels(comm, config, 1);
    else
        channels = nics;
    if (comm->config.channels) channels = comm->config.channels;
    if (config->bytes < channels) channels = config->bytes ? (uint32_t)config->bytes : 1;
    return channels;
}

static uint64_t tree_chunk(const struct program *program, uint64_t channel_bytes)
{
    uint64_t chunk = STEP_BYTES, depth = program_tree_depth(program->shape);

    if (program->kind != FABRIC_JOB_ALLREDUCE) return chunk;
    while (chunk > 131072 && channel_bytes / chunk < depth * 8)
        chunk /= 2;
    while (chunk > 65536 && channel_bytes / chunk < depth * 4)
        chunk /= 2;
    while (chunk > 32768 && channel_bytes / chunk < depth)
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

static uint64_t chunk_of(const struct program *program, const struct comm *comm, uint8_t protocol, uint64_t bytes,
                         uint64_t channel_bytes)
{
    if (comm->config.chunk_bytes) return comm->config.chunk_bytes;
    if (protocol == COLL_LL) return LL_BYTES;
    if (fabric_job_pairs(program->kind)) return PAIR_BYTES;
    if (protocol == COLL_LL128) return LL128_BYTES;
    if (program->algorithm == FABRIC_ALGORITHM_TREE) return tree_chunk(program, channel_bytes);
    if (is_nvls(program->algorithm)) return nvls_chunk(program, comm, bytes);
    return STEP_BYTES;
}

static uint32_t on_the_wire(uint8_t protocol, uint64_t bytes)
{
    if (bytes == 0) bytes = 1; /* a message of nothing would not be noticed */
    if (protocol == COLL_LL) bytes = divide_up(bytes, 8) * 16;
    if (protocol == COLL_LL128) bytes = divide_up(bytes, 120) * 128;
    return (uint32_t)bytes;
}

static bool in_slices(const struct program *program, uint8_t protocol)
{
    bool scatters = program->kind == FABRIC_JOB_ALLREDUCE || program->kind == FABRIC_JOB_REDUCESCATTER ||
                    program->kind == FABRIC_JOB_ALLGATHER;

    return scatters && protocol == COLL_SIMPLE &&
           (program->algorithm <= FABRIC_ALGORITHM_RING || program->algorithm == FABRIC_ALGORITHM_HIERARCHICAL);
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
    uint64_t loops = part ? divide_up(part, chunk * blocks) : 1;
    *ret = (struct coll_plan){
        .channel_bytes = part,
        .chunk_bytes = chunk,
        .loops = loops,
        .slices = in_slices(program, protocol) && chunk > full / COLL_SLICES / SLICE_LEAST ? COLL_SLICES : 1,
        .protocol = protocol,
        .net_ps = coll_net_ps(protocol, program->algorithm == FABRIC_ALGORITHM_TREE),
        .gpu_ps = coll_gpu_ps(protocol, fabric)};
    uint64_t last = divide_up(part - (loops - 1) * chunk * blocks, blocks);
    for (uint32_t s = 0; s < ret->slices; s++) {
        uint64_t size = divide_up(chunk, ret->slices), end = divide_up(last, ret->slices);
        ret->wire_bytes[0][s] = on_the_wire(protocol, s * size >= chunk         ? 0
                                                      : chunk - s * size < size ? chunk - s * size
                                                                                : size);
        ret->wire_bytes[1][s] = on_the_wire(protocol, s * end >= last        ? 0
                                                      : last - s * end < end ? last - s * end
                                                                             : end);
    }
}
