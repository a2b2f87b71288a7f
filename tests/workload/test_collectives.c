/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives on a network that is nothing but a delay: what each adapter carries, in what order, how long it takes;
 * who is cleared to send and when; ranks that start by themselves; what is refused.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "fabric/handle.h"
#include "fabric/work.h"
#include "load/load.h"
#include "workload/collective/coll_int.h"
#include "workload/workload_int.h"

#define SIMPLE ", protocol: simple"
#define NET (12800 * PS_NS) /* what software takes for a hop with Simple */

/* Each rank's adapter carries 2(n-1)/n of its channel's bytes, give or take the rounding of a slice. */
static void test_rings(void **state)
{
    static const struct {
        const char *text;
        uint64_t each, channels;
    } cases[] = {
        {RAIL "  - {allreduce: ring, size: 16MB" SIMPLE "}\n", 2ULL * 15 * 16000000 / 16 / 4, 4},
        {RAIL "  - {allreduce: ring, size: 16MB, qps: 3, chunk: 10KB, repeat: 3" SIMPLE "}\n",
         3ULL * 2 * 15 * 16000000 / 16 / 4, 4},
        {RAIL "  - {allreduce: ring, size: 16MB, qps: 64" SIMPLE "}\n", 2ULL * 15 * 16000000 / 16 / 4, 4},
        {RAIL "  - {allgather: ring, size: 16MB, channels: 8" SIMPLE "}\n", 15ULL * 16000000 / 16 / 4, 8},
        {RAIL "  - {reducescatter: ring, size: 999999B, channels: 1" SIMPLE "}\n", 15ULL * 999999 / 16, 1},
        /* half of it flags; 8 of 128 bytes */
        {RAIL "  - {allreduce: ring, size: 16MB, protocol: ll}\n", 2 * 2ULL * 15 * 16000000 / 16 / 4, 4},
        {RAIL "  - {allreduce: ring, size: 16MB, protocol: ll128}\n", 2ULL * 15 * 16000000 / 16 / 4 * 128 / 120, 4},
        /* as much as there may be, and the longest messages */
        {RAIL "  - {allreduce: ring, size: 1TB, chunk: 512MiB" SIMPLE "}\n", 2ULL * 15 * 1000000000000 / 16 / 4, 4},
        {RAIL "  - {allreduce: ring, size: 1TB, chunk: 512MiB, protocol: ll}\n", 2 * 2ULL * 15 * 1000000000000 / 16 / 4,
         4},
        {RAIL "  - {allreduce: ring, size: 1TB, chunk: 512MiB, protocol: ll128}\n",
         2ULL * 15 * 1000000000000 / 16 / 4 * 128 / 120, 4},
    };

    (void)state;
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        struct bench bench = bench_of(cases[k].text, 1);
        if (!bench_run(&bench)) fail_msg("case %zu did not end", k);
        for (uint32_t h = 0; h < 4; h++) {
            for (uint32_t nic = 0; nic < 4; nic++) {
                uint64_t bytes = 0;
                for (uint32_t e = 0; e < 16; e++)
                    bytes += bench_sent(&bench, 4 * h + nic, e);
                /* the same rail of the next host, and nobody else */
                assert_int_equal(bytes, bench_sent(&bench, 4 * h + nic, (4 * (h + 1) + nic) % 16));
                uint64_t expected = nic < cases[k].channels ? cases[k].each : 0;
                if (bytes < expected || bytes > expected + expected / 50 + 4000)
                    fail_msg("case %zu: h%u:%u sent %" PRIu64 ", expected %" PRIu64, k, h, nic, bytes, expected);
            }
        }
        bench_free(&bench);
    }
}

/* Nothing can be sent on before it has come: a ring of n ranks takes its steps times a hop, and before the first the
 * time until the sender is cleared. */
static void test_ring_dependencies(void **state)
{
    (void)state;
    for (int clear = 0; clear < 2; clear++) {
        char text[1000];
        snprintf(text, sizeof(text), "%s  - {allreduce: ring, size: 600KB, channels: 1, clear-to-send: %s" SIMPLE "}\n",
                 SINGLE("6"), clear ? "true" : "false");
        struct bench bench = bench_of(text, 1);
        assert_true(bench_run(&bench));
        assert_int_equal(workload_instance(bench.workload, 0)->end, (unsigned)clear * DELAY + 10 * (DELAY + NET));
        assert_int_equal(bench.clears, clear ? 6 * 2 * 10 : 0); /* one a message: 10 steps of two slices */
        uint64_t num, den;
        workload_bus_factor(bench.workload, 0, &num, &den);
        assert_int_equal(num, 10);
        assert_int_equal(den, 6);
        bench_free(&bench);
    }
}

/* A hop takes what NCCL's tuning model has for it, less 1.2 us of network: more in a tree than in a ring. */
static void test_hops(void **state)
{
    static const struct {
        const char *job;
        uint64_t hops;
        ps_t software;
    } cases[] = {
        {"ring, protocol: simple", 10, 12800 * PS_NS}, {"ring, protocol: ll128", 10, 2800 * PS_NS},
        {"ring, protocol: ll", 10, 1500 * PS_NS},      {"tree, protocol: simple", 6, 12800 * PS_NS},
        {"tree, protocol: ll128", 6, 7300 * PS_NS},    {"tree, protocol: ll", 6, 3800 * PS_NS},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[1000];
        snprintf(text, sizeof(text), "%s  - {allreduce: %s, size: 600B, clear-to-send: false}\n", SINGLE("6"),
                 cases[i].job);
        struct bench bench = bench_of(text, 1);
        assert_true(bench_run(&bench));
        assert_int_equal(workload_instance(bench.workload, 0)->end, cases[i].hops * (DELAY + cases[i].software));
        bench_free(&bench);
    }
}

/* NVLS: 16 channels where the buffer fills them; chunks of 64 KiB, or 128 where there are 64 rounds of them. */
static void test_nvls_chunks(void **state)
{
    static const struct {
        const char *size;
        uint64_t hosts, events; /* messages between the hosts, both ways */
    } cases[] = {
        {"64KiB", 2, 2 * 8 * 2},        /* two channels at least */
        {"1MiB", 2, 2 * 8 * 8},         /* 16 KiB for each GPU in a channel */
        {"16MiB", 2, 2 * 8 * 16 * 2},   /* a round of 128 KiB: chunks of 64 */
        {"128MiB", 2, 2 * 8 * 16 * 8},  /* chunks of 128 KiB */
        {"128MiB", 4, 6 * 8 * 16 * 16}, /* four hosts: 64 KiB, three edges of a tree */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[1000];
        snprintf(text, sizeof(text),
                 "rocelab: 1\ntopology: {rail: {hosts: %u, gpus: 8, spines: 2}}\nlinks: {host: {rate: 100G}}\njobs:\n"
                 "  - {allreduce: nvls-tree, size: %s, clear-to-send: true, protocol: simple}\n",
                 (unsigned)cases[i].hosts, cases[i].size);
        struct bench bench = bench_of(text, 1);
        assert_true(bench_run(&bench));
        assert_int_equal(bench.clears, cases[i].events); /* one a message */
        bench_free(&bench);
    }
}

/* Channels, chunk and messages under way, as NCCL 2.21 has them by size, ranks and protocol. */
static void test_nccl_plans(void **state)
{
#define EIGHT "{rail: {hosts: 4, gpus: 8, leaves: 8, spines: 2}}", "400G"
#define ALONE(rate) "{single: {hosts: 8}}", rate
    static const struct {
        const char *topology, *rate, *job;
        uint32_t channels;
        uint64_t chunk;
        uint32_t slices, slots;
    } cases[] = {
        /* two channels an adapter; a chunk of four steps in two slices, half of the buffer's eight steps each */
        {EIGHT, "allreduce: ring, protocol: simple, size: 4GiB", 16, 2097152, 2, 4},
        {EIGHT, "allgather: ring, protocol: simple, size: 4GiB", 16, 2097152, 2, 4},
        {EIGHT, "reducescatter: ring, protocol: simple, size: 4GiB", 16, 2097152, 2, 4},
        {EIGHT, "broadcast: ring, protocol: simple, size: 4GiB", 16, 524288, 1, 8},
        {EIGHT, "allreduce: ring, protocol: ll, size: 4GiB", 16, 32768, 1, 8},
        {EIGHT, "allreduce: ring, protocol: ll128, size: 4GiB", 16, 576000, 1, 8},
        {EIGHT, "allreduce: tree, protocol: simple, size: 4GiB", 16, 524288, 1, 8},
        {EIGHT, "allreduce: tree, protocol: ll, size: 4GiB", 16, 32768, 1, 8},
        {EIGHT, "allreduce: tree, protocol: ll128, size: 4GiB", 16, 576000, 1, 8},
        /* a channel has 512 threads of 64 bytes (LL: of 8, in a ring for each rank; LL128: 640 of 8) to do */
        {EIGHT, "allreduce: ring, protocol: simple, size: 256KiB", 8, 1024, 1, 4},
        {EIGHT, "allreduce: ring, protocol: simple, size: 1KiB", 1, 32, 1, 4},
        {EIGHT, "allreduce: ring, protocol: ll, size: 256KiB", 2, 4096, 1, 8},
        {EIGHT, "allreduce: tree, protocol: ll, size: 16KiB", 4, 4096, 1, 8},
        {EIGHT, "allreduce: ring, protocol: ll128, size: 50KiB", 10, 160, 1, 8},
        /* 1 + 2 levels and 0.8 for the host's eight: 30.4 chunks a channel wanted, then 7.6 */
        {EIGHT, "allreduce: tree, protocol: ll128, size: 64MiB", 16, 72000, 1, 8},
        {EIGHT, "allreduce: tree, protocol: ll128, size: 128MiB", 16, 144000, 1, 8},
        /* fewer than 16 channels are doubled for 400G; a slice is a 32nd of a full one at least */
        {ALONE("400G"), "allreduce: ring, protocol: simple, size: 1GiB", 4, 2097152, 2, 4},
        {ALONE("400G"), "allreduce: tree, protocol: simple, size: 1GiB", 4, 524288, 1, 8},
        {ALONE("200G"), "allreduce: ring, protocol: simple, size: 1GiB", 2, 2097152, 2, 4},
        {ALONE("200G"), "allreduce: ring, protocol: simple, size: 512KiB", 2, 32768, 1, 4},
        {ALONE("200G"), "allreduce: ring, protocol: simple, size: 640KiB", 2, 40960, 2, 4},
        {ALONE("200G"), "allreduce: ring, protocol: simple, size: 1GiB, channels: 3, chunk: 1MiB", 3, 1048576, 2, 4},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[500];
        snprintf(text, sizeof(text), "rocelab: 1\ntopology: %s\nlinks: {host: {rate: %s}}\njobs: [{%s}]\n",
                 cases[i].topology, cases[i].rate, cases[i].job);
        struct bench bench = bench_of(text, 1);
        const struct coll_op *op = &bench.workload->coll.op[0];
        uint32_t channels = bench.workload->coll.graph[op->graph]->shape.channels;
        if (channels != cases[i].channels || op->plan.chunk_bytes != cases[i].chunk ||
            op->plan.slices != cases[i].slices || op->plan.slots != cases[i].slots)
            fail_msg("case %zu: %u channels, chunks of %" PRIu64 " in %u slices, %u under way", i, channels,
                     op->plan.chunk_bytes, op->plan.slices, op->plan.slots);
        bench_free(&bench);
    }
    /* 40 KiB: the first slice is no smaller than a 32nd of a full one */
    struct bench bench = bench_of("rocelab: 1\ntopology: {single: {hosts: 8}}\nlinks: {host: {rate: 200G}}\n"
                                  "jobs: [{allreduce: ring, protocol: simple, size: 640KiB}]\n",
                                  1);
    assert_int_equal(bench.workload->coll.op[0].plan.wire_bytes[0][0], 32768);
    assert_int_equal(bench.workload->coll.op[0].plan.wire_bytes[0][1], 8192);
    bench_free(&bench);
}

/* A ring inside one host takes what the links between its GPUs take. */
static void test_gpu_links(void **state)
{
    static const struct {
        const char *links;
        ps_t least, most;
    } cases[] = {
        /* 3 steps, each of a quarter of the buffer */
        {"links: {host: {rate: 100G}}\n", 3 * PS_US, 5 * PS_US},
        {"links: {host: {rate: 100G}, gpu: {rate: 1G}}\n", 6000 * PS_US, 6100 * PS_US},
        {"links: {host: {rate: 100G}, gpu: {delay: 1ms}}\n", 3000 * PS_US, 3003 * PS_US},
    };

    (void)state;
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        char text[500];
        snprintf(text, sizeof(text),
                 "rocelab: 1\ntopology: {rail: {hosts: 2, gpus: 4, leaves: 4, spines: 1}}\n%s"
                 "jobs: [{allgather: ring, size: 1MB, ranks: [h0]" SIMPLE "}]\n",
                 cases[k].links);
        struct bench bench = bench_of(text, 1);
        assert_true(bench_run(&bench));
        ps_t end = workload_instance(bench.workload, 0)->end;
        if (end < cases[k].least || end > cases[k].most) fail_msg("case %zu: %" PRIu64 " ps", k, end);
        bench_free(&bench);
    }
}

/* A host's part of a ring computed in one go is what its GPUs do one by one, to the picosecond. */
static void test_folded_as_unfolded(void **state)
{
    static const char *const jobs[] = {
        "{allreduce: ring, size: 16MB, channels: 1, clear-to-send: false" SIMPLE "}",
        "{allreduce: ring, size: 1234567B, channels: 1, clear-to-send: false, protocol: ll}",
        "{reducescatter: ring, size: 40MB, channels: 1, clear-to-send: false, qps: 2" SIMPLE "}",
        "{allgather: ring, size: 100KB, channels: 1, clear-to-send: false, repeat: 3" SIMPLE "}",
        "{allreduce: ring, size: 3MB, channels: 1, clear-to-send: false, ranks: [h0, h1:1, h1:2, h3:0]" SIMPLE "}",
    };

    (void)state;
    for (size_t k = 0; k < sizeof(jobs) / sizeof(jobs[0]); k++) {
        struct workload_options options = {.seed = 1, .sync_latency = SYNC};
        char text[1000];
        snprintf(text, sizeof(text), "%s  - %s\n", RAIL, jobs[k]);
        struct bench folded = bench_with(text, &options);
        options.unfolded = true;
        struct bench unfolded = bench_with(text, &options);
        assert_true(folded.workload->coll.segments > 0);
        assert_int_equal(unfolded.workload->coll.segments, 0);
        if (!bench_run(&folded) || !bench_run(&unfolded)) fail_msg("case %zu did not end", k);
        for (uint32_t i = 0; i < workload_instances(folded.workload); i++)
            if (workload_instance(folded.workload, i)->end != workload_instance(unfolded.workload, i)->end)
                fail_msg("case %zu: %" PRIu64 " ps folded, %" PRIu64 " unfolded", k,
                         workload_instance(folded.workload, i)->end, workload_instance(unfolded.workload, i)->end);
        assert_memory_equal(folded.sent_to, unfolded.sent_to, 16 * 16 * sizeof(uint64_t));
        bench_free(&folded);
        bench_free(&unfolded);
    }
}

/* Everything runs to its end, several times over, with clearing and without, and the bytes between hosts are those of
 * the algorithm. */
static void test_every_algorithm(void **state)
{
    static const struct {
        const char *job;
        uint64_t bytes; /* all adapters together, of one repetition; 0: not known in a few letters */
    } cases[] = {
        /* four hosts: S/4 a rail, 2 x 3/4 of it a host */
        {"allreduce: hierarchical", 2 * 3 * 4 * 4000000ULL / 4 * 4},
        {"reducescatter: hierarchical", 3 * 4 * 4000000ULL / 4 * 4},
        {"allgather: hierarchical", 3 * 4 * 4000000ULL / 4 * 4},
        {"allreduce: tree", 2 * 3 * 16000000ULL},
        {"allreduce: nvls-tree", 2 * 3 * 16000000ULL},
        {"broadcast: tree, root: 5", 3 * 16000000ULL},
        {"reduce: tree, root: 15", 3 * 16000000ULL},
        /* where the root is not the last of its host, the channel comes back into it: all but one of four (three) */
        {"broadcast: ring, root: 5", 0},
        {"reduce: ring, root: 7", 0},
        {"alltoall: auto", 16 * 12 * 1000000ULL},
        {"alltoall: auto, pxn: false, qps: 2", 16 * 12 * 1000000ULL},
        {"gather: auto, root: 3", 12 * 16000000ULL},
        {"sendrecv: auto", 3 * 16000000ULL},
    };

    (void)state;
    for (size_t k = 0; k < 3 * sizeof(cases) / sizeof(cases[0]); k++) {
        char text[1000];
        snprintf(text, sizeof(text), "%s  - {%s, size: 16MB, repeat: 2, clear-to-send: %s" SIMPLE "%s}\n", RAIL,
                 cases[k / 3].job, k % 3 ? "true" : "false", k % 3 == 2 ? ", channels: 3" : "");
        struct bench bench = bench_of(text, 1);
        if (!bench_run(&bench)) fail_msg("%s: did not end", text);
        uint64_t bytes = bench_total(&bench) / 2, due = cases[k / 3].bytes;
        if (due == 0) due = k % 3 == 2 ? 11 * 16000000ULL / 3 : 15 * 16000000ULL / 4;
        if (bytes < due || bytes > due + due / 100)
            fail_msg("%s: %" PRIu64 " bytes, %" PRIu64 " due", text, bytes, due);
        assert_true((bench.clears > 0) == (k % 3 > 0));
        assert_int_equal(workload_instance(bench.workload, 1)->start, workload_instance(bench.workload, 0)->end + SYNC);
        bench_free(&bench);
    }
}

/* With PXN all that leaves a host is on the receiver's rail; without, it goes by the sender's own adapter. */
static void test_pxn(void **state)
{
    (void)state;
    for (int pxn = 0; pxn < 2; pxn++) {
        char text[1000];
        snprintf(text, sizeof(text), "%s  - {alltoall: auto, size: 16MB, pxn: %s" SIMPLE "}\n", RAIL,
                 pxn ? "true" : "false");
        struct bench bench = bench_of(text, 1);
        assert_true(bench_run(&bench));
        for (uint32_t src = 0; src < 16; src++) {
            for (uint32_t dst = 0; dst < 16; dst++) {
                uint64_t due = src / 4 == dst / 4 ? 0 : !pxn ? 1000000 : src % 4 == dst % 4 ? 4000000 : 0;
                assert_int_equal(bench_sent(&bench, src, dst), due);
            }
        }
        bench_free(&bench);
    }
}

/* 16 to one: cleared senders have no more on its way than the receiver has slots; free ones have all they can. */
static void test_receiver_admits(void **state)
{
    (void)state;
    for (int clear = 0; clear < 2; clear++) {
        char text[1000];
        snprintf(text, sizeof(text), "%s  - {gather: auto, size: 4MB, root: 0, clear-to-send: %s" SIMPLE "}\n",
                 SINGLE("17"), clear ? "true" : "false");
        struct bench bench = bench_of(text, 1);
        assert_true(bench_run(&bench));
        for (uint32_t i = 1; i < 17; i++)
            assert_int_equal(bench_sent(&bench, i, 0), 4000000);
        assert_int_equal(bench.most_under_way, clear ? COLL_SLOTS : 16 * COLL_SLOTS);
        bench_free(&bench);
    }
}

/* Jobs on the same GPUs run side by side, each on a communicator and connections of its own. */
static void test_side_by_side(void **state)
{
    (void)state;
    struct bench one = bench_of(RAIL "  - {allreduce: ring, size: 1MB" SIMPLE "}\n", 1);
    struct bench two = bench_of(RAIL "  - {allreduce: ring, size: 1MB" SIMPLE "}\n"
                                     "  - {allreduce: ring, size: 1MB, at: 1us" SIMPLE "}\n",
                                1);
    assert_true(bench_run(&one) && bench_run(&two));
    assert_int_equal(workload_connections(two.workload), 2 * workload_connections(one.workload));
    assert_int_equal(bench_total(&two), 2 * bench_total(&one));
    assert_true(workload_instance(two.workload, 1)->start < workload_instance(two.workload, 0)->end);
    bench_free(&one);
    bench_free(&two);
}

/* The sizes of a job, each with its repetitions, one after the other. */
static void test_sizes(void **state)
{
    static const uint64_t sizes[] = {1024, 4096, 16384};

    (void)state;
    struct bench bench = bench_of(RAIL "  - {allreduce: auto, sizes: [1KiB..16KiB x4], repeat: 2}\n", 1);
    assert_true(bench_run(&bench));
    assert_int_equal(workload_instances(bench.workload), 6);
    for (uint32_t i = 0; i < 6; i++) {
        const struct workload_instance *instance = workload_instance(bench.workload, i);
        assert_int_equal(instance->bytes, sizes[i / 2]);
        assert_int_equal(instance->repetition, i % 2);
        assert_int_equal(instance->ranks, 16);
        if (i) assert_int_equal(instance->start, workload_instance(bench.workload, i - 1)->end + SYNC);
    }
    bench_free(&bench);
}

/*
 * Programs: rank r of two communicators computes for r microseconds, starts an operation on the first, then another on
 * the same and one on the second, and hears of each end once.
 */
static struct {
    uint32_t coll[2], told[3][16], alarms;
    ps_t end[3][16];
} seen;

static void program_done(struct workload *workload, uint32_t host, uint64_t token, ps_t now, struct app_out *out)
{
    (void)out;
    uint32_t op = (uint32_t)token / 16, rank = (uint32_t)token % 16;
    assert_int_equal(comm_host(workload, 0, rank), host);
    seen.told[op][rank]++;
    seen.end[op][rank] = now;
}

static void program_alarm(struct workload *workload, uint32_t host, uint32_t rank, ps_t now, struct app_out *out)
{
    assert_int_equal(comm_host(workload, 0, rank), host);
    assert_int_equal(now, rank * 100 * PS_US);
    seen.alarms++;
    coll_start(workload, seen.coll[0], rank, rank, now, out);
    coll_start(workload, seen.coll[0], rank, 16 + rank, now, out);
    coll_start(workload, seen.coll[1], rank, 32 + rank, now, out);
}

static const struct coll_program program = {.done = program_done, .alarm = program_alarm};

static void test_programs(void **state)
{
    static const char *const algorithms[] = {"tree", "ring", "hierarchical"};

    (void)state;
    for (uint8_t k = 0; k < 3; k++) {
        struct bench bench = bench_of(RAIL "  - {permutation: 1, size: 1KB}\n", 1);
        struct fabric_errors errors = {0};
        uint32_t gpu[16], comm;
        memset(&seen, 0, sizeof(seen));
        for (uint32_t i = 0; i < 16; i++)
            gpu[i] = i;
        for (uint32_t i = 0; i < 2; i++) {
            struct comm_config config = {
                .gpu = gpu, .ranks = 16, .channels = 2 + i, .clear_to_send = i == 0, .depth = 2, .program = &program};
            struct coll_config what = {.kind = FABRIC_JOB_ALLREDUCE,
                                       .algorithm = k == 0   ? FABRIC_ALGORITHM_TREE
                                                    : k == 1 ? FABRIC_ALGORITHM_RING
                                                             : FABRIC_ALGORITHM_HIERARCHICAL,
                                       .protocol = FABRIC_PROTOCOL_SIMPLE,
                                       .bytes = 1000000};
            uint32_t again;
            assert_int_equal(comm_create(bench.workload, &config, &comm, &errors), 0);
            assert_int_equal(coll_create(bench.workload, comm, &what, &seen.coll[i], &errors), 0);
            assert_int_equal(comm_create(bench.workload, &config, &again, &errors), 0);
            assert_int_equal(comm, again);
            assert_int_equal(coll_create(bench.workload, comm, &what, &again, &errors), 0);
            assert_int_equal(seen.coll[i], again);
        }
        for (uint32_t i = 0; i < 16; i++)
            coll_alarm(bench.workload, comm_host(bench.workload, 0, i), &program, i, i * 100 * PS_US);
        assert_true(bench_run(&bench));
        assert_int_equal(seen.alarms, 16);
        for (uint32_t i = 0; i < 16; i++) {
            for (uint32_t op = 0; op < 3; op++)
                if (seen.told[op][i] != 1)
                    fail_msg("%s: rank %u, %u: %u times", algorithms[k], i, op, seen.told[op][i]);
            /* nobody has all of an AllReduce before the last rank has come; the second is after the first */
            assert_true(seen.end[0][i] > 1500 * PS_US);
            assert_true(seen.end[1][i] > seen.end[0][i]);
            assert_true(seen.end[2][i] > 1500 * PS_US);
        }
        bench_free(&bench);
    }
}

/* Two operations of one ring, one after the other: LL has eight messages under way, Simple four.  Each rank starts
 * both, a while after the one before it, so the last finds all that the others can send. */
static struct {
    const struct bench *bench;
    uint32_t coll[2];
    uint64_t sent; /* by the last rank, when the one before it is through with the first operation */
} mixed;

static void mixed_done(struct workload *workload, uint32_t host, uint64_t token, ps_t now, struct app_out *out)
{
    (void)workload, (void)host, (void)now, (void)out;
    if (token == 14) mixed.sent = bench_sent(mixed.bench, 15, 0);
}

static void mixed_alarm(struct workload *workload, uint32_t host, uint32_t rank, ps_t now, struct app_out *out)
{
    (void)host;
    coll_start(workload, mixed.coll[0], rank, rank, now, out);
    coll_start(workload, mixed.coll[1], rank, 16 + rank, now, out);
}

/* The last rank ends the first operation with more under way than the second may have; it goes on as soon as enough of
 * them have arrived, not when its own neighbour brings something. */
static void test_fewer_slots(void **state)
{
    static const struct coll_program mixed_program = {.done = mixed_done, .alarm = mixed_alarm};
    static const uint8_t protocols[] = {FABRIC_PROTOCOL_LL, FABRIC_PROTOCOL_SIMPLE};
    struct bench bench = bench_of(SINGLE("16") "  - {permutation: 1, size: 1KB}\n", 1);
    struct fabric_errors errors = {0};
    uint32_t gpu[16], comm;

    (void)state;
    for (uint32_t i = 0; i < 16; i++)
        gpu[i] = i;
    struct comm_config config = {.gpu = gpu, .ranks = 16, .channels = 1, .depth = 2, .program = &mixed_program};
    assert_int_equal(comm_create(bench.workload, &config, &comm, &errors), 0);
    for (uint32_t i = 0; i < 2; i++) {
        struct coll_config what = {.kind = FABRIC_JOB_ALLGATHER,
                                   .algorithm = FABRIC_ALGORITHM_RING,
                                   .protocol = protocols[i],
                                   .bytes = i ? 64000000 : 160000};
        assert_int_equal(coll_create(bench.workload, comm, &what, &mixed.coll[i], &errors), 0);
    }
    mixed.bench = &bench;
    for (uint32_t i = 0; i < 16; i++)
        coll_alarm(bench.workload, comm_host(bench.workload, comm, i), &mixed_program, i, i * 1000 * PS_US);
    assert_true(bench_run(&bench));
    assert_true(mixed.sent > 1000000);
    bench_free(&bench);
}

/* Communicators run side by side, so each has queue pairs of its own; the operations of one share them. */
static void test_queue_pairs_of_communicators(void **state)
{
    uint32_t gpu[2] = {0, 4}, comm, coll, before[3];

    (void)state;
    struct bench bench = bench_of(RAIL "  - {permutation: 1, size: 1KB}\n", 1);
    for (uint32_t i = 0; i < 3; i++) {
        struct fabric_errors errors = {0};
        struct comm_config config = {
            .gpu = gpu, .ranks = 2, .channels = 1, .clear_to_send = true, .owner = i, .program = &program};
        struct coll_config what = {
            .kind = FABRIC_JOB_ALLREDUCE, .algorithm = FABRIC_ALGORITHM_RING, .protocol = FABRIC_PROTOCOL_SIMPLE};
        before[i] = workload_connections(bench.workload);
        for (what.bytes = 1000; what.bytes < 4000; what.bytes += 1000) {
            assert_int_equal(comm_create(bench.workload, &config, &comm, &errors), 0);
            assert_int_equal(coll_create(bench.workload, comm, &what, &coll, &errors), 0);
        }
    }
    assert_int_equal(before[1] - before[0], 4); /* data and clears, there and back */
    assert_int_equal(before[2] - before[1], 4);
    assert_int_equal(workload_connections(bench.workload) - before[2], 4);
    bench_free(&bench);
}

static void test_refused(void **state)
{
    static const struct {
        const char *job, *says;
    } cases[] = {
        {"{allgather: ring, size: 8GiB, chunk: 1B}", "too many messages; more than 2147483648 are not counted"},
        {"{allreduce: nvls, size: 1MB}", "one host"},
        {"{allreduce: hierarchical, size: 1MB, ranks: [h0, h1:0]}", "as many"},
        {"{allreduce: nvls-tree, size: 1MB, ranks: [h0, h1:0]}", "as many"},
        {"{broadcast: ring, size: 1MB, root: 16}", "root"},
    };

    (void)state;
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        struct workload_options options = {.seed = 1, .sync_latency = SYNC};
        struct fabric_errors errors = {0};
        struct fabric *fabric = NULL;
        struct workload *workload = NULL;
        char text[1000];
        snprintf(text, sizeof(text), "%s  - %s\n", RAIL, cases[k].job);
        /* by the loader where it can see it, else when the workload is made; either way with the place */
        int error = fabric_load("test.yaml", text, &fabric, &errors);
        if (error == 0) error = workload_create(fabric, &options, &workload, &errors);
        assert_int_equal(error, -EINVAL);
        assert_true(errors.count > 0 && errors.error[0].at.line > 0 && errors.error[0].at.column > 0);
        if (!strstr(errors.error[0].text, cases[k].says)) fail_msg("case %zu: %s", k, errors.error[0].text);
        fabric_free(fabric);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rings),
        cmocka_unit_test(test_ring_dependencies),
        cmocka_unit_test(test_gpu_links),
        cmocka_unit_test(test_folded_as_unfolded),
        cmocka_unit_test(test_every_algorithm),
        cmocka_unit_test(test_pxn),
        cmocka_unit_test(test_receiver_admits),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_programs),
        cmocka_unit_test(test_fewer_slots),
        cmocka_unit_test(test_queue_pairs_of_communicators),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_side_by_side),
        cmocka_unit_test(test_hops),
        cmocka_unit_test(test_nvls_chunks),
        cmocka_unit_test(test_nccl_plans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
