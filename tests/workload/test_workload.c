/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workloads on a network that is nothing but a delay: every post is completed and delivered, in order, a while later.
 * Who sends to whom, how much, in which order; jobs one after the other; what the seed decides.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "bench.h"

static void test_permutation(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct bench bench = bench_of(SINGLE("17") "  - {permutation: random, size: 5MB}\n", seed);
        assert_true(bench_run(&bench));
        for (uint32_t i = 0; i < 17; i++) {
            uint32_t out = 0, in = 0;
            for (uint32_t j = 0; j < 17; j++) {
                out += bench_sent(&bench, i, j) == 5000000;
                in += bench_sent(&bench, j, i) == 5000000;
            }
            assert_int_equal(bench_sent(&bench, i, i), 0);
            assert_int_equal(out, 1);
            assert_int_equal(in, 1);
        }
        assert_int_equal(bench_total(&bench), 17 * 5000000ULL);
        bench_free(&bench);
    }
    struct bench bench = bench_of(SINGLE("8") "  - {permutation: 3, size: 1KB}\n", 1);
    assert_true(bench_run(&bench));
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(bench_sent(&bench, i, (i + 3) % 8), 1000);
    bench_free(&bench);
}

static void test_incast(void **state)
{
    (void)state;
    struct bench bench = bench_of(SINGLE("20") "  - {incast: 12, size: 1MB, to: h3, repeat: 3, gap: 50us}\n", 4);
    assert_true(bench_run(&bench));
    uint64_t into = 0;
    for (uint32_t i = 0; i < 20; i++)
        into += bench_sent(&bench, i, 3);
    assert_int_equal(into, 3 * 12 * 1000000ULL);
    assert_int_equal(bench_total(&bench), into);
    assert_int_equal(bench_sent(&bench, 3, 3), 0);
    assert_int_equal(workload_instances(bench.workload), 3);
    for (uint32_t i = 0; i < 3; i++) {
        const struct workload_instance *instance = workload_instance(bench.workload, i);
        assert_int_equal(instance->end - instance->start, DELAY);
        if (i) assert_int_equal(instance->start, workload_instance(bench.workload, i - 1)->end + 50 * PS_US);
    }
    bench_free(&bench);
}

static void test_all_to_all(void **state)
{
    static const char *const texts[] = {SINGLE("9") "  - {all-to-all: at-once, size: 9KB}\n",
                                        SINGLE("9") "  - {all-to-all: pairwise, size: 9KB}\n"};

    (void)state;
    for (int pairwise = 0; pairwise < 2; pairwise++) {
        struct bench bench = bench_of(texts[pairwise], 1);
        assert_true(bench_run(&bench));
        for (uint32_t i = 0; i < 9; i++)
            for (uint32_t j = 0; j < 9; j++)
                assert_int_equal(bench_sent(&bench, i, j), i == j ? 0 : 1000);
        assert_int_equal(workload_instance(bench.workload, 0)->end, (pairwise ? 8 : 1) * DELAY);
        bench_free(&bench);
    }
}

static void test_flows_and_order_of_jobs(void **state)
{
    (void)state;
    struct bench bench =
        bench_of(SINGLE("4") "  - {name: a, flows: [{src: h0, dst: h1, size: 3GB}, "
                             "{src: h0, dst: h1, size: 1KB, at: 1us}, {src: h2, dst: h1, size: 7B, at: 9us}]}\n"
                             "  - {name: b, permutation: 1, size: 1KB, after: a}\n"
                             "  - {name: c, permutation: 1, size: 1KB, after: b, at: 40us}\n",
                 1);
    assert_true(bench_run(&bench));
    assert_int_equal(bench_sent(&bench, 0, 1), 3000000000ULL + 1000 + 2000);
    const struct workload_instance *a = workload_instance(bench.workload, 0), *b = workload_instance(bench.workload, 1),
                                   *c = workload_instance(bench.workload, 2);
    assert_int_equal(a->end, 9 * PS_US + DELAY);
    assert_int_equal(b->start, a->end + SYNC);
    assert_int_equal(c->start, b->end + 40 * PS_US);
    /* Two flows between the same two have queue pairs of their own; later jobs use the first of them again. */
    assert_int_equal(workload_transfer(bench.workload, 1)->start, PS_US);
    assert_true(workload_transfer(bench.workload, 0)->connection != workload_transfer(bench.workload, 1)->connection);
    assert_int_equal(workload_transfer(bench.workload, 3)->connection,
                     workload_transfer(bench.workload, 0)->connection);
    bench_free(&bench);
}

static uint32_t connection_of(const struct bench *bench, uint32_t transfer)
{
    return workload_transfer(bench->workload, transfer)->connection;
}

/* Queue pairs of their own where two jobs can overlap; a job's repetitions, and one that waits for it, keep them. */
static void test_queue_pairs_of_jobs(void **state)
{
#define FLOW "flows: [{src: h0, dst: h1, size: 1KB}]"
    (void)state;
    struct bench bench = bench_of(SINGLE("4") "  - {name: a, " FLOW ", repeat: 2}\n"
                                              "  - {name: b, " FLOW "}\n"
                                              "  - {name: c, " FLOW ", after: a}\n"
                                              "  - {name: d, " FLOW ", after: c}\n"
                                              "  - {name: e, " FLOW ", after: a}\n"
                                              "  - {name: f, " FLOW ", after: e}\n"
                                              "  - {name: g, flows: [{src: h2, dst: h1, size: 1KB}], after: b}\n"
                                              "  - {name: h, " FLOW ", after: g}\n",
                                  1);
    enum { A, A_AGAIN, B, C, D, E, F, G, H };

    assert_int_equal(workload_transfers(bench.workload), 9);
    assert_int_equal(connection_of(&bench, A_AGAIN), connection_of(&bench, A));
    assert_int_not_equal(connection_of(&bench, B), connection_of(&bench, A));
    assert_int_equal(connection_of(&bench, C), connection_of(&bench, A));
    assert_int_equal(connection_of(&bench, D), connection_of(&bench, A));
    assert_int_not_equal(connection_of(&bench, E), connection_of(&bench, A)); /* it may overlap with c and d */
    assert_int_not_equal(connection_of(&bench, E), connection_of(&bench, B));
    assert_int_equal(connection_of(&bench, F), connection_of(&bench, E));
    assert_int_equal(connection_of(&bench, H), connection_of(&bench, B)); /* g, between them, has no use for it */
    assert_int_equal(workload_connections(bench.workload), 4);
    /* Equal otherwise, they are told apart: each has a UDP source port of its own. */
    assert_int_not_equal(workload_connection(bench.workload, connection_of(&bench, E))->copy,
                         workload_connection(bench.workload, connection_of(&bench, B))->copy);
    assert_true(bench_run(&bench));
    bench_free(&bench);
}

static void test_queue_pairs_of_collectives(void **state)
{
#define RING "allreduce: ring, size: 1MB, channels: 1"
    static const struct {
        const char *jobs;
        uint32_t times; /* what one job has */
    } cases[] = {{"  - {" RING "}\n", 1},
                 {"  - {" RING ", repeat: 3}\n", 1},
                 {"  - {name: a, " RING "}\n  - {" RING ", after: a}\n", 1},
                 {"  - {name: a, " RING "}\n  - {allgather: ring, size: 1MB, channels: 1, after: a}\n", 1},
                 {"  - {" RING "}\n  - {" RING "}\n", 2},
                 {"  - {" RING "}\n  - {allgather: ring, size: 1MB, channels: 1}\n", 2}};
    char text[2000];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        snprintf(text, sizeof(text), SINGLE("4") "%s", cases[i].jobs);
        struct bench bench = bench_of(text, 1);
        assert_int_equal(workload_connections(bench.workload), cases[i].times * 8); /* data and clears of four */
        assert_true(bench_run(&bench));
        bench_free(&bench);
    }
}

static void test_poisson_load(void **state)
{
    (void)state;
    struct bench bench =
        bench_of(SINGLE("16") "  - {poisson: {sizes: websearch, load: 40%, until: 200ms}, qps: 4}\n", 2);
    uint64_t bytes = 0;
    ps_t last = 0;

    for (uint32_t i = 0; i < workload_transfers(bench.workload); i++) {
        const struct workload_transfer *transfer = workload_transfer(bench.workload, i);
        const struct workload_connection *c = workload_connection(bench.workload, transfer->connection);
        bytes += transfer->bytes;
        assert_true(c->src != c->dst);
        assert_true(transfer->offset <= 200 * PS_MS);
        if (transfer->offset > last) last = transfer->offset;
    }
    /* 16 hosts at 100G, 200 ms: 40 % of 40 GB, some 10,000 flows */
    assert_true(last > 199 * PS_MS);
    if (bytes < 15200000000ULL || bytes > 16800000000ULL)
        fail_msg("%" PRIu64 " bytes in %u flows", bytes, workload_transfers(bench.workload));
    bench_free(&bench);
}

/* Senders and receivers that are named: all of them take part, nobody else, and nobody sends to itself. */
static void test_poisson_from_to(void **state)
{
    static const struct {
        const char *who;
        uint32_t from, to; /* bits of hosts */
    } cases[] = {
        {"from: [h0, h1, h2], to: [h2, h3]", 0x7, 0xc}, {"from: [h4]", 0x10, 0xef}, {"to: [h6, h7]", 0xff, 0xc0}};
    char text[2000];

    (void)state;
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        uint32_t from = 0, to = 0;
        snprintf(text, sizeof(text),
                 SINGLE("8") "  - {poisson: {sizes: [[1KB, 0%%], [2KB, 100%%]], load: 40%%, until: 100us, %s}}\n",
                 cases[k].who);
        struct bench bench = bench_of(text, 2);
        for (uint32_t i = 0; i < workload_transfers(bench.workload); i++) {
            const struct workload_connection *c =
                workload_connection(bench.workload, workload_transfer(bench.workload, i)->connection);
            assert_true(c->src != c->dst);
            from |= 1u << c->src;
            to |= 1u << c->dst;
        }
        assert_int_equal(from, cases[k].from);
        assert_int_equal(to, cases[k].to);
        assert_true(bench_run(&bench));
        bench_free(&bench);
    }
}

/* An estimate that is no less than what is taken, and not far from it. */
static void test_estimate(void **state)
{
    static const char *const jobs[] = {
        SINGLE("16") "  - {permutation: random, size: 1MB, repeat: 50}\n",
        SINGLE("16") "  - {all-to-all: at-once, size: 1MB, repeat: 20}\n",
        SINGLE("16") "  - {random: 3000, size: 1MB}\n",
        SINGLE("16") "  - {poisson: {sizes: websearch, load: 40%, until: 200ms}, qps: 4}\n",
        SINGLE("160") "  - {alltoall: auto, size: 1MB}\n",
        SINGLE("500") "  - {allreduce: tree, size: 1MB}\n",
        SINGLE("500") "  - {allreduce: ring, size: 1MB, qps: 4}\n",
        RAIL "  - {allreduce: hierarchical, size: 1MB, channels: 32}\n",
        SINGLE("500") "  - {allreduce: ring, size: 64MB, qps: 16}\n",
        SINGLE("500") "  - {allreduce: tree, size: 64MB, qps: 16}\n",
        SINGLE("500") "  - {allreduce: auto, size: 64MB, qps: 16}\n",
        SINGLE("500") "  - {reducescatter: ring, sizes: [1KB, 64MB], qps: 16}\n",
        RAIL "  - {allreduce: ring, size: 64MB, qps: 64}\n",
        RAIL "  - {allreduce: hierarchical, size: 64MB, qps: 64}\n",
    };

    (void)state;
    for (size_t k = 0; k < sizeof(jobs) / sizeof(jobs[0]); k++) {
        struct bench bench = bench_of(jobs[k], 1);
        uint32_t largest = 7;
        uint64_t estimate = workload_estimate_bytes(bench.fabric, &largest),
                 taken = workload_memory_bytes(bench.workload);
        assert_int_equal(largest, 0);
        if (estimate < taken * 9 / 10 || estimate > 6 * taken + 100000)
            fail_msg("case %zu: estimated %" PRIu64 ", taken %" PRIu64, k, estimate, taken);
        bench_free(&bench);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_permutation),
        cmocka_unit_test(test_incast),
        cmocka_unit_test(test_all_to_all),
        cmocka_unit_test(test_flows_and_order_of_jobs),
        cmocka_unit_test(test_queue_pairs_of_jobs),
        cmocka_unit_test(test_queue_pairs_of_collectives),
        cmocka_unit_test(test_poisson_load),
        cmocka_unit_test(test_poisson_from_to),
        cmocka_unit_test(test_estimate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
