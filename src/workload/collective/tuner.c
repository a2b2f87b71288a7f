/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NCCL's choice of algorithm and protocol, by its own cost model.
 *
 * NCCL estimates for every algorithm and protocol a latency and a bandwidth from the shape of the communicator, and
 * takes the least of latency + bytes / bandwidth.  The figures below are those of NCCL 2.21's tuning model (its
 * src/graph/tuning.cc); the arithmetic is ours, in nanoseconds and megabytes a second, so that the choice is the same
 * on every machine.
 *
 * What is simplified: the bandwidths that NCCL's topology search finds are taken from the rates of the file, less what
 * the search loses (NIC_PERCENT); a search's number of channels is CHANNELS; the generation of the
 * GPUs is told by the rate between them; CPUs are Intel's.  CollNet and PAT are not there.  The model chooses, and does
 * nothing else: how long a collective takes is for the simulation to tell.
 */
#include "workload/collective/tuner.h"

#include <stdlib.h>

#include "base/wide.h"
#include "fabric/fabric.h"

#define PROTOCOLS 3 /* in the tables: LL, LL128, Simple */
enum { LL, LL128, SIMPLE };
enum { TREE, RING, NVLS, NVLS_TREE, ALGORITHMS };
enum { AMPERE, HOPPER };

#define HOPPER_BPS 2700000000000ull /* from here on GPUs are Hopper's or later, with switches that can reduce */
#define CHANNELS 16
#define NIC_PERCENT 96          /* 48 GB/s of a port of 400G is the step its search finds */
#define P2P_LL_MOST_BYTES 16384 /* NCCL_P2P_LL_THRESHOLD */
#define NET_OVERHEAD_NS 1000    /* of a post, Intel */
#define NVLS_RANKS_LEAST 3      /* in a host: with two GPUs there is nothing to gain */

static const uint32_t base_ns[ALGORITHMS][PROTOCOLS] = {
    [TREE] = {6800, 14000, 0}, [RING] = {6600, 14000, 8400}, [NVLS] = {0, 0, 0}, [NVLS_TREE] = {0, 0, 0}};
static const uint32_t nvlink_ns[ALGORITHMS][PROTOCOLS] = {
    [TREE] = {600, 1250, 28000}, [RING] = {600, 1900, 3400}, [NVLS] = {0, 0, 23000}, [NVLS_TREE] = {0, 0, 23000}};
static const uint32_t net_ns[ALGORITHMS][PROTOCOLS] = {
    [TREE] = {5000, 8500, 28000}, [RING] = {2700, 4000, 14000}, [NVLS] = {0, 0, 18000}, [NVLS_TREE] = {0, 0, 14000}};

/* By 1, 2, more hosts; MB/s. */
static const uint32_t ll_most_mbps[2][3] = {[AMPERE] = {87700, 39000, 20400}, [HOPPER] = {87700, 39000, 20400}};
static const uint32_t ring_ll128_mbps[2][3] = {[AMPERE] = {20000, 20000, 20000}, [HOPPER] = {36700, 36700, 36700}};
static const uint32_t tree_ll128_mbps[2][3] = {[AMPERE] = {20000, 20000, 20000}, [HOPPER] = {36700, 36700, 29000}};
static const uint32_t tree_mbps[2][3] = {[AMPERE] = {24000, 23600, 17800}, [HOPPER] = {38700, 41400, 36000}};
static const uint32_t nvlink_permille[2] = {[AMPERE] = 800, [HOPPER] = 824}; /* of the rate: 20.0, 20.6 of 25 GB/s */

/* Trees fall behind their bandwidth at medium sizes: tenths, for each power of two from 64 bytes. */
static const uint8_t tree_tenths[PROTOCOLS][23] = {
    [LL] = {10, 10, 10, 10, 9, 8, 7, 7, 7, 7, 6, 5, 4, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10},
    [LL128] = {10, 10, 10, 10, 10, 9, 8, 8, 8, 7, 6, 6, 6, 6, 6, 6, 8, 9, 9, 9, 9, 10, 10},
    [SIMPLE] = {9, 9, 9, 9, 9, 9, 9, 8, 7, 6, 6, 5, 5, 5, 5, 6, 7, 8, 7, 7, 8, 9, 9}};

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint32_t log2_of(uint64_t n)
{
    return n ? 63u - (uint32_t)__builtin_clzll(n) : 0;
}

bool tuner_hopper(uint64_t gpu_bps)
{
    return gpu_bps >= HOPPER_BPS;
}

static uint32_t generation(const struct tuner_group *group)
{
    return tuner_hopper(group->gpu_bps) ? HOPPER : AMPERE;
}

bool tuner_group_of(const struct fabric *fabric, const uint32_t *rank, uint32_t ranks, struct tuner_group *ret)
{
    uint32_t *in_host = calloc(fabric->hosts + 1u, sizeof(*in_host));
    uint64_t *bps = calloc(fabric->hosts + 1u, sizeof(*bps));
    uint8_t *seen = calloc(fabric->endpoints + 1u, 1);
    struct tuner_group group = {
        .ranks = ranks, .least_in_host = UINT32_MAX, .gpu_bps = fabric->gpu_line_bps, .nic_bps = UINT64_MAX};
    bool good = in_host && bps && seen;

    for (uint32_t r = 0; r < ranks && good; r++) {
        uint32_t host = fabric->gpu_host[rank[r]], nics = fabric_gpu_nics(fabric, rank[r]);
        group.hosts += in_host[host]++ == 0;
        for (uint32_t i = 0; i < nics; i++) {
            uint32_t e = fabric->gpu_nic[rank[r]] + i;
            if (!seen[e]) bps[host] += fabric->port[fabric->endpoint[e].port].rate_bps;
            seen[e] = 1;
        }
    }
    for (uint32_t h = 0; h < fabric->hosts && good; h++) {
        if (!in_host[h]) continue;
        if (in_host[h] < group.least_in_host) group.least_in_host = in_host[h];
        if (bps[h] < group.nic_bps) group.nic_bps = bps[h];
    }
    free(in_host);
    free(bps);
    free(seen);
    if (good) *ret = group;
    return good;
}

static int algorithm_index(enum fabric_algorithm algorithm)
{
    switch (algorithm) {
    case FABRIC_ALGORITHM_RING:
        return RING;
    case FABRIC_ALGORITHM_TREE:
        return TREE;
    case FABRIC_ALGORITHM_NVLS:
        return NVLS;
    case FABRIC_ALGORITHM_NVLS_TREE:
        return NVLS_TREE;
    case FABRIC_ALGORITHM_AUTO:
    case FABRIC_ALGORITHM_HIERARCHICAL: /* NCCL has none */
        break;
    }
    return -1;
}

static int protocol_index(enum fabric_protocol protocol)
{
    return protocol == FABRIC_PROTOCOL_LL ? LL : protocol == FABRIC_PROTOCOL_LL128 ? LL128 : SIMPLE;
}

/* A tree's hop with Simple has the time of a chunk of 256 kB in it; without, later versions of NCCL say, it is as long
 * as a ring's. */
uint64_t tuner_hop_ns(bool tree, enum fabric_protocol protocol)
{
    int p = protocol_index(protocol);

    return net_ns[tree && p != SIMPLE ? TREE : RING][p];
}

static bool applies(const struct tuner_group *group, enum fabric_job_kind kind, int algorithm, int protocol)
{
    bool reduces_all = kind == FABRIC_JOB_ALLREDUCE;
    bool halves = kind == FABRIC_JOB_REDUCESCATTER || kind == FABRIC_JOB_ALLGATHER;

    if (algorithm < 0 || !(reduces_all || halves || kind == FABRIC_JOB_BROADCAST || kind == FABRIC_JOB_REDUCE))
        return false;
    if (algorithm == RING) return true;
    if (algorithm == TREE) return reduces_all;
    if (protocol != SIMPLE || generation(group) != HOPPER || group->least_in_host < NVLS_RANKS_LEAST) return false;
    if (!reduces_all) return false; /* NCCL has NVLS for the halves, we have not */
    return algorithm == NVLS ? group->hosts == 1
                             : group->hosts > 1 && group->ranks == group->hosts * group->least_in_host;
}

/* Steps of a ring: all, and those that leave a host. */
static void ring_steps(const struct tuner_group *group, enum fabric_job_kind kind, uint64_t *ret_all, uint64_t *ret_net)
{
    uint64_t ranks = group->ranks, hosts = group->hosts;

    if (kind == FABRIC_JOB_ALLREDUCE) {
        *ret_all = 2 * (ranks - 1);
        *ret_net = hosts > 1 ? 2 * hosts : 0;
    } else if (kind == FABRIC_JOB_REDUCESCATTER || kind == FABRIC_JOB_ALLGATHER) {
        *ret_all = ranks - 1;
        *ret_net = hosts - 1;
    } else {
        *ret_all = ranks;
        *ret_net = hosts;
    }
}

/* Algorithm bandwidth: bytes of the buffer over time. */
static uint64_t bandwidth_mbps(const struct tuner_group *group, enum fabric_job_kind kind, int algorithm, int protocol)
{
    uint32_t gen = generation(group), column = group->hosts <= 2 ? group->hosts - 1 : 2;
    uint64_t inside = group->gpu_bps / 8000000 * nvlink_permille[gen] / 1000;
    uint64_t outside = group->hosts == 1 ? inside : group->nic_bps / 8000000 * NIC_PERCENT / 100;
    uint64_t bw = least(inside, outside), all, net;
    bool slow_ll = group->hosts > 1 || kind == FABRIC_JOB_ALLREDUCE || kind == FABRIC_JOB_REDUCE;

    switch (algorithm) {
    case RING:
        if (protocol == LL) bw = least(ll_most_mbps[gen][column], bw / (slow_ll ? 4 : 3));
        if (protocol == LL128)
            bw = least(bw * (group->ranks < 2 * group->hosts ? 70 : 92) / 100,
                       (uint64_t)CHANNELS * ring_ll128_mbps[gen][column]);
        ring_steps(group, kind, &all, &net);
        return bw * group->ranks / all;
    case TREE:
        if (group->hosts == 2) bw = inside; /* each end of the one edge is used one way at a time */
        bw = least(bw * 92 / 100, (uint64_t)CHANNELS * tree_mbps[gen][column]);
        if (protocol == LL) bw = least(bw * 10 / 38, ll_most_mbps[gen][column]);
        if (protocol == LL128)
            bw = least(group->hosts == 1 ? bw * 7 / 9 : bw * 120 / 128,
                       (uint64_t)CHANNELS * tree_ll128_mbps[gen][column]);
        return bw / 2;
    case NVLS:
        return inside * 5 / 6;
    default:
        return least(inside, group->hosts == 2 ? outside : outside / 2) * 5 / 6;
    }
}

static uint64_t latency_ns(const struct tuner_group *group, enum fabric_job_kind kind, int algorithm, int protocol)
{
    uint64_t inside = nvlink_ns[algorithm][protocol], outside = net_ns[algorithm][protocol];
    uint64_t base = base_ns[algorithm][protocol], all, net;
    uint64_t in_host = group->ranks / group->hosts;

    switch (algorithm) {
    case RING:
        ring_steps(group, kind, &all, &net);
        if (kind == FABRIC_JOB_BROADCAST || kind == FABRIC_JOB_REDUCE)
            return base + (group->hosts > 1 ? outside : inside); /* pipelined: one hop shows */
        if (group->hosts > 1) {
            uint64_t post = protocol == SIMPLE ? 3 * NET_OVERHEAD_NS : NET_OVERHEAD_NS;
            if (inside < post) inside = post;
        }
        return base + (all - net) * inside + net * outside;
    case TREE:
        return base + 2 * ((in_host - 1) * inside + log2_of(group->hosts) * outside);
    case NVLS:
        return base + inside;
    default:
        return base + inside + 2 * log2_of(group->hosts) * outside;
    }
}

uint64_t tuner_time_ns(const struct tuner_group *group, enum fabric_job_kind kind, enum fabric_algorithm algorithm,
                       enum fabric_protocol protocol, uint64_t bytes)
{
    int a = algorithm_index(algorithm), p = protocol_index(protocol);
    uint32_t step = log2_of(bytes >> 6);

    if (group->ranks < 2 || group->hosts == 0 || protocol == FABRIC_PROTOCOL_AUTO || !applies(group, kind, a, p))
        return UINT64_MAX;
    uint64_t bw = bandwidth_mbps(group, kind, a, p), latency = latency_ns(group, kind, a, p);
    if (a == TREE && step < 23) bw = bw * tree_tenths[p][step] / 10;
    /* A ring over the network does not reach its bandwidth at once. */
    if (a == RING && p == SIMPLE && group->hosts > 1 && kind == FABRIC_JOB_ALLREDUCE &&
        bytes / CHANNELS / group->ranks >= 64)
        latency = latency * 14 / 10;
    return latency + (uint64_t)((u128)bytes * 1000 / (bw ? bw : 1));
}

void tuner_choose(const struct tuner_group *group, enum fabric_job_kind kind, enum fabric_algorithm algorithm,
                  enum fabric_protocol protocol, uint64_t bytes, struct tuner_choice *ret)
{
    struct tuner_choice best = {.algorithm = FABRIC_ALGORITHM_RING, .protocol = FABRIC_PROTOCOL_SIMPLE};
    uint64_t least_ns = UINT64_MAX;

    if (algorithm != FABRIC_ALGORITHM_AUTO) best.algorithm = (uint8_t)algorithm;
    if (protocol != FABRIC_PROTOCOL_AUTO) best.protocol = (uint8_t)protocol;
    if (fabric_job_pairs(kind) && protocol == FABRIC_PROTOCOL_AUTO) {
        uint64_t message = kind == FABRIC_JOB_ALLTOALL && group->ranks ? bytes / group->ranks : bytes;
        if (message <= P2P_LL_MOST_BYTES) best.protocol = FABRIC_PROTOCOL_LL;
    }
    for (int a = FABRIC_ALGORITHM_RING; a < FABRIC_ALGORITHMS; a++) {
        for (int p = FABRIC_PROTOCOL_SIMPLE; p < FABRIC_PROTOCOLS; p++) {
            if (algorithm != FABRIC_ALGORITHM_AUTO && a != (int)algorithm) continue;
            if (protocol != FABRIC_PROTOCOL_AUTO && p != (int)protocol) continue;
            uint64_t ns = tuner_time_ns(group, kind, (enum fabric_algorithm)a, (enum fabric_protocol)p, bytes);
            if (ns >= least_ns) continue;
            least_ns = ns;
            best = (struct tuner_choice){.algorithm = (uint8_t)a, .protocol = (uint8_t)p, .time_ns = ns};
        }
    }
    *ret = best;
}
