/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The symbolic check of data movement: every algorithm's generator is run with sums instead of bytes.
 *
 * Each rank's contribution to each block is a random 64-bit number, so a sum is right only if every contribution is in
 * it exactly once (but for one chance in 2^64).  Pipes have few slots; a step takes what its pipes hold and puts what
 * it makes.  At the end every rank has kept each block it is to have, once, with the right sum, every message was
 * taken, every lane ran to its end.  Seats are tried in a random order, so nothing depends on luck with it.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "fabric/work.h"
#include "workload/collective/program.h"

#define SLOTS_MOST 8

struct pipe { /* FIFO of sums, with what they are sums of */
    uint32_t from, to, tag;
    uint64_t value[SLOTS_MOST];
    uint64_t name[SLOTS_MOST]; /* loop, slice, block */
    uint32_t put, taken;
    bool received_from;
};

struct bench {
    struct program_shape shape;
    struct program program;
    uint32_t *first, *host_of, *rank_of, *pos_of;
    uint16_t *head;
    uint32_t slots, channel;
    struct pipe *pipe;
    uint32_t pipes;
    uint32_t *in, *out, *in_first, *out_first; /* port -> pipe */
    uint64_t *done;                            /* [pos * lanes] */
    uint64_t *kept;                            /* [pos][loop][slice][block] */
    uint8_t *times;
    uint64_t seed;
    char what[160];
};

static uint64_t contribution(const struct bench *bench, uint32_t pos, uint64_t name)
{
    uint64_t x = (bench->seed << 32 ^ (uint64_t)pos << 20 ^ bench->channel) * 0x9e3779b97f4a7c15ULL ^
                 (name + 1) * 0xd1342543de82ef95ULL;

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
    return x ^ x >> 31;
}

static uint64_t name_of(const struct program_step *step, uint32_t block)
{
    return (uint64_t)step->loop << 40 | (uint64_t)step->slice << 36 | block;
}

/* Shapes: `gpus` ranks in each of `hosts` hosts, or uneven ones. */
static void bench_shape(struct bench *bench, uint32_t hosts, uint32_t gpus, bool uneven, uint32_t channels,
                        struct rng *rng)
{
    uint32_t n = 0;

    bench->first = calloc(hosts + 1u, sizeof(uint32_t));
    for (uint32_t h = 0; h < hosts; h++)
        bench->first[h + 1] = bench->first[h] + (uneven ? 1 + (uint32_t)rng_below(rng, gpus) : gpus);
    n = bench->first[hosts];
    bench->host_of = calloc(n, sizeof(uint32_t));
    bench->rank_of = calloc(n, sizeof(uint32_t));
    bench->pos_of = calloc(n, sizeof(uint32_t));
    bench->head = calloc((size_t)hosts * channels, sizeof(uint16_t));
    for (uint32_t h = 0; h < hosts; h++) {
        for (uint32_t p = bench->first[h]; p < bench->first[h + 1]; p++)
            bench->host_of[p] = h;
        for (uint32_t c = 0; c < channels; c++)
            bench->head[h * channels + c] = (uint16_t)rng_below(rng, bench->first[h + 1] - bench->first[h]);
    }
    for (uint32_t p = 0; p < n; p++) { /* ranks are somewhere else than positions */
        bench->rank_of[p] = (p * 7 + 3) % n;
        if (n % 7 == 0) bench->rank_of[p] = n - 1 - p;
        bench->pos_of[bench->rank_of[p]] = p;
    }
    bench->shape = (struct program_shape){.ranks = n,
                                          .hosts = hosts,
                                          .channels = channels,
                                          .alike = program_alike(hosts, bench->first),
                                          .first = bench->first,
                                          .host_of = bench->host_of,
                                          .rank_of = bench->rank_of,
                                          .pos_of = bench->pos_of,
                                          .head = bench->head};
}

static void bench_free(struct bench *bench)
{
    free(bench->first);
    free(bench->host_of);
    free(bench->rank_of);
    free(bench->pos_of);
    free(bench->head);
}

static void channel_free(struct bench *bench)
{
    free(bench->pipe);
    free(bench->in);
    free(bench->out);
    free(bench->in_first);
    free(bench->out_first);
    free(bench->done);
    free(bench->kept);
    free(bench->times);
}

/* A pipe for every port that sends; every port that receives must find the one that is meant. */
static void bench_pipes(struct bench *bench)
{
    uint32_t n = bench->shape.ranks, ins = 0, outs = 0, mask = 1;
    struct program_peer peer;

    bench->in_first = calloc(n + 1u, sizeof(uint32_t));
    bench->out_first = calloc(n + 1u, sizeof(uint32_t));
    for (uint32_t p = 0; p < n; p++) {
        bench->in_first[p] = ins;
        bench->out_first[p] = outs;
        ins += program_ports(&bench->program, p, bench->channel, true);
        outs += program_ports(&bench->program, p, bench->channel, false);
    }
    bench->in_first[n] = ins;
    bench->out_first[n] = outs;
    while (mask < outs * 2 + 2)
        mask *= 2;
    mask--;
    bench->in = calloc(ins + 1u, sizeof(uint32_t));
    bench->out = calloc(outs + 1u, sizeof(uint32_t));
    bench->pipe = calloc(outs + 1u, sizeof(*bench->pipe));
    uint32_t *slot = malloc((mask + 1u) * sizeof(*slot));
    assert_true(bench->in && bench->out && bench->pipe && slot);
    memset(slot, 0xff, (mask + 1u) * sizeof(*slot));
    bench->pipes = 0;
    for (uint32_t p = 0; p < n; p++) {
        for (uint32_t i = bench->out_first[p]; i < bench->out_first[p + 1]; i++) {
            bench->out[i] = PROGRAM_NONE;
            if (!program_peer(&bench->program, p, bench->channel, false, i - bench->out_first[p], &peer)) continue;
            if (peer.pos >= n || peer.pos == p) fail_msg("%s: %u sends to %u", bench->what, p, peer.pos);
            bench->out[i] = bench->pipes;
            uint32_t at = (p * 2654435761u ^ peer.pos * 40503u ^ peer.tag * 97u) & mask;
            while (slot[at] != PROGRAM_NONE)
                at = (at + 1) & mask;
            slot[at] = bench->pipes;
            bench->pipe[bench->pipes++] = (struct pipe){.from = p, .to = peer.pos, .tag = peer.tag};
        }
    }
    for (uint32_t p = 0; p < n; p++) {
        for (uint32_t i = bench->in_first[p]; i < bench->in_first[p + 1]; i++) {
            bench->in[i] = PROGRAM_NONE;
            if (!program_peer(&bench->program, p, bench->channel, true, i - bench->in_first[p], &peer)) continue;
            uint32_t at = (peer.pos * 2654435761u ^ p * 40503u ^ peer.tag * 97u) & mask;
            for (; slot[at] != PROGRAM_NONE; at = (at + 1) & mask) {
                struct pipe *pipe = &bench->pipe[slot[at]];
                if (pipe->from == peer.pos && pipe->to == p && pipe->tag == peer.tag && !pipe->received_from) break;
            }
            if (slot[at] == PROGRAM_NONE) fail_msg("%s: %u hears %u, who does not send", bench->what, p, peer.pos);
            bench->in[i] = slot[at];
            bench->pipe[slot[at]].received_from = true;
        }
    }
    for (uint32_t i = 0; i < bench->pipes; i++)
        if (!bench->pipe[i].received_from)
            fail_msg("%s: %u sends to %u, who does not hear", bench->what, bench->pipe[i].from, bench->pipe[i].to);
    free(slot);
}

static uint32_t blocks_of(const struct bench *bench)
{
    bool pairs = bench->program.kind == FABRIC_JOB_ALLTOALL || bench->program.kind == FABRIC_JOB_GATHER ||
                 bench->program.kind == FABRIC_JOB_SENDRECV;
    return pairs ? bench->shape.ranks : program_blocks(&bench->program);
}

static void keep(struct bench *bench, uint32_t pos, uint64_t name, uint64_t value)
{
    uint32_t blocks = blocks_of(bench), block = (uint32_t)(name & 0xfffffffff);
    uint64_t at =
        (((uint64_t)pos * bench->program.loops + (name >> 40)) * bench->program.slices + (name >> 36 & 15)) * blocks +
        block;

    assert_true(block < blocks);
    bench->kept[at] = value;
    bench->times[at]++;
}

/* A step if it can be taken. */
static bool try_step(struct bench *bench, uint32_t pos, uint32_t lane)
{
    struct program_step step;
    const uint32_t *in = &bench->in[bench->in_first[pos]], *out = &bench->out[bench->out_first[pos]];

    program_step(&bench->program, pos, bench->channel, lane, bench->done[pos * PROGRAM_LANES + lane], &step);
    assert_true(step.in + step.ins <= bench->in_first[pos + 1] - bench->in_first[pos] || step.ins == 0);
    assert_true(step.out + step.outs <= bench->out_first[pos + 1] - bench->out_first[pos] || step.outs == 0);
    for (uint32_t i = step.in; i < step.in + step.ins; i++) {
        if (in[i] == PROGRAM_NONE) fail_msg("%s: %u receives by a port that is not there", bench->what, pos);
        if (bench->pipe[in[i]].put == bench->pipe[in[i]].taken) return false;
    }
    for (uint32_t i = step.out; i < step.out + step.outs; i++) {
        if (out[i] == PROGRAM_NONE) fail_msg("%s: %u sends by a port that is not there", bench->what, pos);
        if (bench->pipe[out[i]].put - bench->pipe[out[i]].taken == bench->slots) return false;
    }
    uint64_t value = step.does & PROGRAM_OWN ? contribution(bench, pos, name_of(&step, step.block)) : 0;
    for (uint32_t i = step.in; i < step.in + step.ins; i++) {
        struct pipe *pipe = &bench->pipe[in[i]];
        uint64_t name = name_of(&step, program_block(&bench->program, pos, bench->channel, &step, true, i));
        if (pipe->name[pipe->taken % SLOTS_MOST] != name)
            fail_msg("%s: %u awaits %" PRIx64 " of %u and is given %" PRIx64, bench->what, pos, name, pipe->from,
                     pipe->name[pipe->taken % SLOTS_MOST]);
        uint64_t got = pipe->value[pipe->taken++ % SLOTS_MOST];
        value += got;
        if (step.does & PROGRAM_BY_PEER && step.does & PROGRAM_KEEP) keep(bench, pos, name, got);
    }
    if (!(step.does & PROGRAM_RECEIVED)) assert_int_equal(step.ins, 0);
    if (step.does & PROGRAM_KEEP && !(step.does & PROGRAM_BY_PEER)) keep(bench, pos, name_of(&step, step.block), value);
    for (uint32_t i = step.out; i < step.out + step.outs; i++) {
        struct pipe *pipe = &bench->pipe[out[i]];
        uint64_t name = name_of(&step, program_block(&bench->program, pos, bench->channel, &step, false, i));
        pipe->name[pipe->put % SLOTS_MOST] = name;
        pipe->value[pipe->put++ % SLOTS_MOST] =
            step.does & PROGRAM_BY_PEER
                ? contribution(bench, pos,
                               bench->program.kind == FABRIC_JOB_ALLTOALL ? name ^ (uint64_t)pipe->to << 50 : name)
                : value;
    }
    bench->done[pos * PROGRAM_LANES + lane]++;
    return true;
}

static void run_all(struct bench *bench, struct rng *rng)
{
    uint32_t n = bench->shape.ranks, left = 0;
    uint32_t *order = calloc((size_t)n * PROGRAM_LANES, sizeof(*order));

    assert_non_null(order);
    for (uint32_t i = 0; i < n * PROGRAM_LANES; i++)
        if (program_steps(&bench->program, i / PROGRAM_LANES, bench->channel, i % PROGRAM_LANES)) order[left++] = i;
    for (uint32_t i = left; i > 1; i--) {
        uint32_t j = (uint32_t)rng_below(rng, i), moved = order[i - 1];
        order[i - 1] = order[j];
        order[j] = moved;
    }
    while (left) {
        bool moved = false;
        for (uint32_t i = 0; i < left; i++) {
            uint32_t pos = order[i] / PROGRAM_LANES, lane = order[i] % PROGRAM_LANES;
            uint64_t steps = program_steps(&bench->program, pos, bench->channel, lane);
            while (bench->done[order[i]] < steps && try_step(bench, pos, lane))
                moved = true;
            if (bench->done[order[i]] == steps) order[i--] = order[--left];
        }
        if (!moved) fail_msg("%s: deadlock, %u lanes left", bench->what, left);
    }
    free(order);
    for (uint32_t i = 0; i < bench->pipes; i++)
        if (bench->pipe[i].put != bench->pipe[i].taken) fail_msg("%s: messages nobody took", bench->what);
}

/* What position `pos` is to have of a block: 0 and false if nothing. */
static bool expected(const struct bench *bench, uint32_t pos, uint64_t name, uint64_t at, const uint64_t *sums,
                     uint64_t *ret)
{
    const struct program_shape *shape = &bench->shape;
    uint32_t block = (uint32_t)(name & 0xfffffffff), rank = shape->rank_of[pos];
    uint32_t own = bench->program.algorithm == FABRIC_ALGORITHM_RING
                       ? program_place(shape, pos, bench->channel)
                       : (pos - shape->first[shape->host_of[pos]]) * shape->hosts + shape->host_of[pos];

    switch (bench->program.kind) {
    case FABRIC_JOB_ALLREDUCE:
        *ret = sums[block];
        return true;
    case FABRIC_JOB_REDUCESCATTER:
        *ret = sums[block];
        return block == own;
    case FABRIC_JOB_ALLGATHER: /* the block is its owner's alone */
        *ret = sums[block];
        return true;
    case FABRIC_JOB_BROADCAST:
        *ret = contribution(bench, bench->program.root, name);
        return true;
    case FABRIC_JOB_REDUCE:
        *ret = sums[block];
        return pos == bench->program.root;
    case FABRIC_JOB_ALLTOALL: /* in one of the channels: count_pairs() sees that */
        *ret = contribution(bench, block, name ^ (uint64_t)pos << 50);
        return bench->times[at] != 0;
    case FABRIC_JOB_GATHER:
        *ret = contribution(bench, block, name);
        return pos == bench->program.root && block != pos &&
               (shape->ranks + rank - shape->rank_of[block]) % shape->ranks % shape->channels == bench->channel;
    default:
        *ret = contribution(bench, block, name);
        return rank > 0 && block == shape->pos_of[rank - 1] && 1 % shape->channels == bench->channel;
    }
}

static void check_kept(struct bench *bench)
{
    uint32_t n = bench->shape.ranks, blocks = blocks_of(bench);
    uint64_t *sums = calloc(blocks, sizeof(*sums));

    assert_non_null(sums);
    for (uint64_t loop = 0; loop < bench->program.loops; loop++) {
        for (uint64_t slice = 0; slice < bench->program.slices; slice++) {
            uint64_t base = loop << 40 | slice << 36, value = 0;
            memset(sums, 0, blocks * sizeof(*sums));
            for (uint32_t b = 0; b < blocks; b++) {
                for (uint32_t p = 0; p < n; p++) {
                    uint32_t own =
                        bench->program.algorithm == FABRIC_ALGORITHM_RING
                            ? program_place(&bench->shape, p, bench->channel)
                            : (p - bench->shape.first[bench->host_of[p]]) * bench->shape.hosts + bench->host_of[p];
                    if (bench->program.kind != FABRIC_JOB_ALLGATHER || own == b)
                        sums[b] += contribution(bench, p, base | b);
                }
            }
            for (uint32_t p = 0; p < n; p++) {
                for (uint32_t b = 0; b < blocks; b++) {
                    uint64_t at = ((p * bench->program.loops + loop) * bench->program.slices + slice) * blocks + b;
                    bool due = expected(bench, p, base | b, at, sums, &value);
                    if (bench->times[at] != due)
                        fail_msg("%s: %u has block %u %u times, not %u", bench->what, p, b, bench->times[at], due);
                    if (due && bench->kept[at] != value) fail_msg("%s: %u has block %u wrong", bench->what, p, b);
                }
            }
        }
    }
    free(sums);
}

/* All-to-all: over the channels, each has had something of each other once, and nothing of itself. */
static void count_pairs(const struct bench *bench, uint8_t *pairs)
{
    uint32_t n = bench->shape.ranks;

    for (uint32_t p = 0; p < n; p++)
        for (uint32_t b = 0; b < n; b++)
            pairs[p * n + b] = (uint8_t)(pairs[p * n + b] + bench->times[(uint64_t)p * bench->program.loops * n + b]);
    if (bench->channel + 1 < bench->shape.channels) return;
    for (uint32_t p = 0; p < n; p++)
        for (uint32_t b = 0; b < n; b++)
            if (pairs[p * n + b] != (p != b))
                fail_msg("%s: %u had %u times of %u", bench->what, p, pairs[p * n + b], b);
}

struct setting {
    uint8_t kind, algorithm;
    uint32_t hosts, gpus;
    bool uneven;
    uint32_t loops, slices, slots;
};

static void run_setting(const struct setting *setting, uint64_t seed)
{
    struct bench bench = {.seed = seed, .slots = setting->slots};
    uint32_t channels = setting->kind >= FABRIC_JOB_GATHER ? 3 : 2;
    struct rng rng;

    rng_init(&rng, seed, 5);
    bench_shape(&bench, setting->hosts, setting->gpus, setting->uneven, channels, &rng);
    uint32_t n = bench.shape.ranks;
    bench.program = (struct program){.shape = &bench.shape,
                                     .kind = setting->kind,
                                     .algorithm = setting->algorithm,
                                     .root = (uint32_t)rng_below(&rng, n),
                                     .loops = setting->loops,
                                     .slices = setting->kind >= FABRIC_JOB_GATHER ? 1 : setting->slices};
    snprintf(bench.what, sizeof(bench.what), "seed %" PRIu64 ", %s by %u, %u ranks in %u hosts, %u loops, %u slots",
             seed, fabric_job_names[setting->kind], setting->algorithm, n, setting->hosts, setting->loops,
             setting->slots);
    if (n < 2) {
        bench_free(&bench);
        return;
    }
    const char *why = program_refuses(&bench.program);
    if (why) fail_msg("%s: refused: %s", bench.what, why);
    uint8_t *pairs = calloc((size_t)n * n, 1);
    assert_non_null(pairs);
    /* of two channels that are alike but for their trees, one is enough where there are many ranks */
    for (bench.channel = channels == 2 && n > 300; bench.channel < channels; bench.channel++) {
        uint64_t room = (uint64_t)n * bench.program.loops * bench.program.slices * blocks_of(&bench);
        bench_pipes(&bench);
        bench.done = calloc((size_t)n * PROGRAM_LANES, sizeof(*bench.done));
        bench.kept = calloc(room, sizeof(*bench.kept));
        bench.times = calloc(room, 1);
        assert_true(bench.done && bench.kept && bench.times);
        run_all(&bench, &rng);
        check_kept(&bench);
        if (setting->kind == FABRIC_JOB_ALLTOALL) count_pairs(&bench, pairs);
        channel_free(&bench);
    }
    free(pairs);
    bench_free(&bench);
}

static const struct {
    uint8_t kind, algorithm;
    bool even, one_host;
} algorithms[] = {
    {FABRIC_JOB_ALLREDUCE, FABRIC_ALGORITHM_RING, false, false},
    {FABRIC_JOB_REDUCESCATTER, FABRIC_ALGORITHM_RING, false, false},
    {FABRIC_JOB_ALLGATHER, FABRIC_ALGORITHM_RING, false, false},
    {FABRIC_JOB_BROADCAST, FABRIC_ALGORITHM_RING, false, false},
    {FABRIC_JOB_REDUCE, FABRIC_ALGORITHM_RING, false, false},
    {FABRIC_JOB_ALLREDUCE, FABRIC_ALGORITHM_TREE, false, false},
    {FABRIC_JOB_BROADCAST, FABRIC_ALGORITHM_TREE, false, false},
    {FABRIC_JOB_REDUCE, FABRIC_ALGORITHM_TREE, false, false},
    {FABRIC_JOB_ALLREDUCE, FABRIC_ALGORITHM_HIERARCHICAL, true, false},
    {FABRIC_JOB_REDUCESCATTER, FABRIC_ALGORITHM_HIERARCHICAL, true, false},
    {FABRIC_JOB_ALLGATHER, FABRIC_ALGORITHM_HIERARCHICAL, true, false},
    {FABRIC_JOB_ALLREDUCE, FABRIC_ALGORITHM_NVLS_TREE, true, false},
    {FABRIC_JOB_ALLREDUCE, FABRIC_ALGORITHM_NVLS, true, true},
    {FABRIC_JOB_REDUCESCATTER, FABRIC_ALGORITHM_NVLS, true, true},
    {FABRIC_JOB_ALLGATHER, FABRIC_ALGORITHM_NVLS, true, true},
    {FABRIC_JOB_GATHER, FABRIC_ALGORITHM_RING, false, false},
    {FABRIC_JOB_SENDRECV, FABRIC_ALGORITHM_RING, false, false},
    {FABRIC_JOB_ALLTOALL, FABRIC_ALGORITHM_RING, false, false},
};
#define ALGORITHMS (sizeof(algorithms) / sizeof(algorithms[0]))

/* Every algorithm in hosts x gpus, with one slot a pipe as well as with eight. */
static void run_shape(uint32_t hosts, uint32_t gpus, bool uneven, uint32_t loops, uint64_t seed)
{
    for (size_t a = 0; a < ALGORITHMS; a++) {
        if (algorithms[a].one_host && hosts > 1) continue;
        if (algorithms[a].even && uneven) continue;
        struct setting setting = {.kind = algorithms[a].kind,
                                  .algorithm = algorithms[a].algorithm,
                                  .hosts = hosts,
                                  .gpus = gpus,
                                  .uneven = uneven,
                                  .loops = loops,
                                  .slices = 1 + seed % 2,
                                  /* one more than slices: a ring's ranks all send before they receive */
                                  .slots = seed % 3 ? SLOTS_MOST : 3};
        run_setting(&setting, seed);
    }
}

/* ROCELAB_RANKS of the environment: up to how many ranks every shape is tried; below 64 the largest are left out. */
static uint32_t small_most(void)
{
    const char *text = getenv("ROCELAB_RANKS");
    return text ? (uint32_t)strtoul(text, NULL, 10) : 64;
}

static void test_all_small(void **state)
{
    uint64_t seed = 1;

    (void)state;
    for (uint32_t n = 2; n <= small_most(); n++) {
        run_shape(n, 1, false, 1 + n % 2, seed++);
        run_shape(1, n, false, 1 + n % 2, seed++);
        for (uint32_t gpus = 2; gpus * 2 <= n; gpus++)
            if (n % gpus == 0) run_shape(n / gpus, gpus, false, 2, seed++);
    }
}

static void test_uneven_hosts(void **state)
{
    (void)state;
    for (uint64_t seed = 1000; seed < 1060; seed++)
        run_shape(1 + (uint32_t)(seed % 13), 1 + (uint32_t)(seed % 9), true, 2, seed);
}

static void test_large(void **state)
{
    static const uint32_t shapes[][2] = {{128, 1}, {16, 8}, {100, 1}, {9, 8}, {25, 8}, {32, 8}, {3, 72}, {43, 6}};

    (void)state;
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
        run_shape(shapes[i][0], shapes[i][1], false, 1, 2000 + i);
}

/* Up to 1,024 ranks; all-to-all, with a pipe for each pair, in one shape. */
static void test_largest(void **state)
{
    static const uint32_t shapes[][2] = {{64, 8}, {1024, 1}, {128, 8}, {125, 8}, {14, 72}};

    (void)state;
    if (small_most() < 64) skip();
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        for (size_t a = 0; a < ALGORITHMS; a++) {
            if (algorithms[a].one_host) continue;
            if (algorithms[a].kind == FABRIC_JOB_ALLTOALL && shapes[i][0] != 128) continue;
            struct setting setting = {.kind = algorithms[a].kind,
                                      .algorithm = algorithms[a].algorithm,
                                      .hosts = shapes[i][0],
                                      .gpus = shapes[i][1],
                                      .loops = 1,
                                      .slices = 1,
                                      .slots = SLOTS_MOST};
            run_setting(&setting, 3000 + i);
        }
    }
}

/* What an algorithm cannot do it refuses, with a reason. */
static void test_refused(void **state)
{
    static const struct {
        uint8_t kind, algorithm;
        uint32_t hosts, gpus;
        bool uneven;
    } cases[] = {
        {FABRIC_JOB_ALLREDUCE, FABRIC_ALGORITHM_NVLS, 2, 4, false},
        {FABRIC_JOB_BROADCAST, FABRIC_ALGORITHM_NVLS, 1, 4, false},
        {FABRIC_JOB_ALLGATHER, FABRIC_ALGORITHM_TREE, 2, 4, false},
        {FABRIC_JOB_ALLGATHER, FABRIC_ALGORITHM_NVLS_TREE, 2, 4, false},
        {FABRIC_JOB_ALLTOALL, FABRIC_ALGORITHM_TREE, 2, 4, false},
        {FABRIC_JOB_ALLREDUCE, FABRIC_ALGORITHM_HIERARCHICAL, 7, 9, true},
        {FABRIC_JOB_ALLREDUCE, FABRIC_ALGORITHM_NVLS_TREE, 7, 9, true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bench bench = {0};
        struct rng rng;
        rng_init(&rng, 1, i);
        bench_shape(&bench, cases[i].hosts, cases[i].gpus, cases[i].uneven, 1, &rng);
        bench.program = (struct program){
            .shape = &bench.shape, .kind = cases[i].kind, .algorithm = cases[i].algorithm, .loops = 1, .slices = 1};
        assert_non_null(program_refuses(&bench.program));
        bench_free(&bench);
    }
}

/* The double binary tree: nobody is inside both trees (but for the first, in a second tree with an odd number), and
 * a way up is no longer than the logarithm says. */
static void test_double_tree(void **state)
{
    (void)state;
    for (uint32_t hosts = 2; hosts <= 300; hosts++) {
        struct bench bench = {0};
        struct rng rng;
        rng_init(&rng, hosts, 1);
        bench_shape(&bench, hosts, 1, false, 2, &rng);
        bench.program = (struct program){.shape = &bench.shape,
                                         .kind = FABRIC_JOB_ALLREDUCE,
                                         .algorithm = FABRIC_ALGORITHM_TREE,
                                         .loops = 1,
                                         .slices = 1};
        uint32_t both = 0, depth = 1;
        while (1u << depth < hosts)
            depth++;
        for (uint32_t p = 0; p < hosts; p++) {
            struct program_tree tree[2];
            for (uint32_t c = 0; c < 2; c++) {
                uint32_t up = 0, at = p;
                program_tree(&bench.program, p, c, true, &tree[c]);
                for (struct program_tree way = tree[c]; way.parent != PROGRAM_NONE; up++) {
                    at = way.parent;
                    program_tree(&bench.program, at, c, true, &way);
                }
                if (up > depth) fail_msg("%u hosts: %u is %u from the root", hosts, p, up);
            }
            both += tree[0].children > 1 && tree[1].children > 1;
        }
        if (both > 1) fail_msg("%u hosts: %u inside both trees", hosts, both);
        bench_free(&bench);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_small), cmocka_unit_test(test_uneven_hosts), cmocka_unit_test(test_large),
        cmocka_unit_test(test_largest),   cmocka_unit_test(test_refused),      cmocka_unit_test(test_double_tree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
