/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tuner: NCCL's choices for machines people have, its cost model against sums done by hand, and what holds for all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "fabric/handle.h"
#include "load/load.h"
#include "seed.h"
#include "workload/collective/tuner.h"

#define H100 3600000000000ull
#define A100 2400000000000ull
#define PORT 400000000000ull

static struct tuner_group group_of(uint32_t hosts, uint32_t gpus, uint64_t gpu_bps)
{
    return (struct tuner_group){
        .ranks = hosts * gpus, .hosts = hosts, .least_in_host = gpus, .gpu_bps = gpu_bps, .nic_bps = gpus * PORT};
}

/* Latency and bandwidth worked out by hand from NCCL 2.21's tables. */
static void test_by_hand(void **state)
{
    struct tuner_group one = group_of(1, 8, H100), two = group_of(2, 8, H100), four = group_of(4, 8, H100);

    (void)state;
    /* Ring, LL, one host: 6.6 + 14 x 0.6 us, and 87.7 GB/s x 8/14. */
    assert_int_equal(tuner_time_ns(&one, FABRIC_JOB_ALLREDUCE, FABRIC_ALGORITHM_RING, FABRIC_PROTOCOL_LL, 0), 15000);
    assert_in_range(tuner_time_ns(&one, FABRIC_JOB_ALLREDUCE, FABRIC_ALGORITHM_RING, FABRIC_PROTOCOL_LL, 1000000),
                    15000 + 19950, 15000 + 19960);
    /* NVLS: 23 us, and 370.8 GB/s x 5/6. */
    assert_in_range(tuner_time_ns(&one, FABRIC_JOB_ALLREDUCE, FABRIC_ALGORITHM_NVLS, FABRIC_PROTOCOL_SIMPLE, 1000000),
                    23000 + 3236, 23000 + 3237);
    /* Tree, LL128, four hosts: 14 + 2 (7 x 1.25 + 2 x 8.5) us. */
    assert_int_equal(tuner_time_ns(&four, FABRIC_JOB_ALLREDUCE, FABRIC_ALGORITHM_TREE, FABRIC_PROTOCOL_LL128, 0),
                     65500);
    /* NVLS tree, two hosts: 23 + 2 x 14 us. */
    assert_int_equal(tuner_time_ns(&two, FABRIC_JOB_ALLREDUCE, FABRIC_ALGORITHM_NVLS_TREE, FABRIC_PROTOCOL_SIMPLE, 0),
                     51000);
    /* Ring, Simple, four hosts: 62 steps, 8 of them between hosts, and 384 x .. / 370.8 GB/s of a host. */
    assert_int_equal(tuner_time_ns(&four, FABRIC_JOB_ALLREDUCE, FABRIC_ALGORITHM_RING, FABRIC_PROTOCOL_SIMPLE, 0),
                     8400 + 54 * 3400 + 8 * 14000);
    /* Above 64 bytes a channel and rank the plateau: 1.4 times. */
    assert_in_range(
        tuner_time_ns(&four, FABRIC_JOB_ALLREDUCE, FABRIC_ALGORITHM_RING, FABRIC_PROTOCOL_SIMPLE, 1000000000), 5600000,
        5700000);
}

/* 256 MB on 8 hosts: the sums of docs/collectives.md, where three are near each other and ring/Simple is far. */
static void test_near(void **state)
{
    static const struct {
        uint8_t algorithm, protocol;
        uint64_t latency_ns, mbps;
    } due[] = {{FABRIC_ALGORITHM_TREE, FABRIC_PROTOCOL_LL128, 82500, 159900},
               {FABRIC_ALGORITHM_NVLS_TREE, FABRIC_PROTOCOL_SIMPLE, 107000, 160000},
               {FABRIC_ALGORITHM_RING, FABRIC_PROTOCOL_LL128, 287000, 173280},
               {FABRIC_ALGORITHM_RING, FABRIC_PROTOCOL_SIMPLE, 606400 * 14 / 10, 188340}};
    struct tuner_group group = group_of(8, 8, H100);
    const uint64_t bytes = 256000000;
    uint64_t before = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(due) / sizeof(due[0]); i++) {
        uint64_t ns = tuner_time_ns(&group, FABRIC_JOB_ALLREDUCE, due[i].algorithm, due[i].protocol, bytes);
        uint64_t expected = due[i].latency_ns + bytes * 1000 / due[i].mbps;
        if (ns < expected - expected / 1000 || ns > expected + expected / 1000)
            fail_msg("row %zu: %llu ns, %llu expected", i, (unsigned long long)ns, (unsigned long long)expected);
        assert_true(ns > before);
        before = ns;
    }
}

static void test_choices(void **state)
{
    static const struct {
        uint32_t hosts;
        uint64_t gpu_bps, bytes;
        uint8_t kind, algorithm, protocol;
    } due[] = {
        {1, H100, 8, FABRIC_JOB_ALLREDUCE, FABRIC_ALGORITHM_RING, FABRIC_PROTOCOL_LL},
        {1, H100, 1 << 30, FABRIC_JOB_ALLREDUCE, FABRIC_ALGORITHM_NVLS, FABRIC_PROTOCOL_SIMPLE},
        {1, A100, 1 << 30, FABRIC_JOB_ALLREDUCE, FABRIC_ALGORITHM_RING, FABRIC_PROTOCOL_SIMPLE},
        {2, H100, 8, FABRIC_JOB_ALLREDUCE, FABRIC_ALGORITHM_TREE, FABRIC_PROTOCOL_LL},
        {2, H100, 1 << 30, FABRIC_JOB_ALLREDUCE, FABRIC_ALGORITHM_NVLS_TREE, FABRIC_PROTOCOL_SIMPLE},
        {4, H100, 1 << 20, FABRIC_JOB_ALLREDUCE, FABRIC_ALGORITHM_TREE, FABRIC_PROTOCOL_LL128},
        {4, H100, UINT64_C(8) << 30, FABRIC_JOB_ALLREDUCE, FABRIC_ALGORITHM_RING, FABRIC_PROTOCOL_SIMPLE},
        {64, H100, 1 << 16, FABRIC_JOB_ALLREDUCE, FABRIC_ALGORITHM_TREE, FABRIC_PROTOCOL_LL},
        {4, H100, 1 << 30, FABRIC_JOB_ALLGATHER, FABRIC_ALGORITHM_RING, FABRIC_PROTOCOL_SIMPLE},
        {4, H100, 8, FABRIC_JOB_REDUCESCATTER, FABRIC_ALGORITHM_RING, FABRIC_PROTOCOL_LL},
        {4, H100, 1 << 30, FABRIC_JOB_BROADCAST, FABRIC_ALGORITHM_RING, FABRIC_PROTOCOL_SIMPLE},
        {4, H100, 1 << 18, FABRIC_JOB_ALLTOALL, FABRIC_ALGORITHM_RING, FABRIC_PROTOCOL_LL},
        {4, H100, 1 << 30, FABRIC_JOB_ALLTOALL, FABRIC_ALGORITHM_RING, FABRIC_PROTOCOL_SIMPLE},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(due) / sizeof(due[0]); i++) {
        struct tuner_group group = group_of(due[i].hosts, 8, due[i].gpu_bps);
        struct tuner_choice choice;
        tuner_choose(&group, due[i].kind, FABRIC_ALGORITHM_AUTO, FABRIC_PROTOCOL_AUTO, due[i].bytes, &choice);
        if (choice.algorithm != due[i].algorithm || choice.protocol != due[i].protocol)
            fail_msg("row %zu: %s/%s", i, fabric_algorithm_name(choice.algorithm),
                     fabric_protocol_name(choice.protocol));
    }
}

/* Hosts that are not alike cannot share out what NVLS reduces. */
static void test_uneven(void **state)
{
    struct tuner_group group = group_of(2, 8, H100);
    struct tuner_choice choice;

    (void)state;
    group.ranks = 14;
    group.least_in_host = 6;
    tuner_choose(&group, FABRIC_JOB_ALLREDUCE, FABRIC_ALGORITHM_AUTO, FABRIC_PROTOCOL_AUTO, 1 << 30, &choice);
    assert_int_not_equal(choice.algorithm, FABRIC_ALGORITHM_NVLS_TREE);
    group = group_of(1, 8, H100);
    tuner_choose(&group, FABRIC_JOB_ALLGATHER, FABRIC_ALGORITHM_AUTO, FABRIC_PROTOCOL_AUTO, 1 << 30, &choice);
    assert_int_not_equal(choice.algorithm, FABRIC_ALGORITHM_NVLS);
}

/* What is asked for stays; the rest is the best of what applies; nothing that does not apply is chosen. */
static void test_any(void **state)
{
    struct rng rng;

    (void)state;
    rng_init(&rng, test_seed_or(20240229), 3);
    for (uint32_t step = 0; step < 20000; step++) {
        uint32_t hosts = 1 + (uint32_t)rng_below(&rng, 200), gpus = 1 + (uint32_t)rng_below(&rng, 9);
        struct tuner_group group = group_of(hosts, gpus, rng_below(&rng, 2) ? H100 : A100);
        enum fabric_job_kind kind = (enum fabric_job_kind)rng_below(&rng, 3);
        enum fabric_algorithm algorithm = (enum fabric_algorithm)rng_below(&rng, FABRIC_ALGORITHMS);
        enum fabric_protocol protocol = (enum fabric_protocol)rng_below(&rng, FABRIC_PROTOCOLS);
        uint64_t bytes = UINT64_C(1) << rng_below(&rng, 45);
        struct tuner_choice choice;
        if (group.ranks < 2) continue;
        tuner_choose(&group, kind, algorithm, protocol, bytes, &choice);
        bool good = choice.algorithm != FABRIC_ALGORITHM_AUTO && choice.protocol != FABRIC_PROTOCOL_AUTO;
        if (algorithm != FABRIC_ALGORITHM_AUTO) good &= choice.algorithm == algorithm;
        if (protocol != FABRIC_PROTOCOL_AUTO) good &= choice.protocol == protocol;
        if (algorithm == FABRIC_ALGORITHM_AUTO) {
            good &= choice.algorithm != FABRIC_ALGORITHM_HIERARCHICAL;
            good &= choice.time_ns == tuner_time_ns(&group, kind, choice.algorithm, choice.protocol, bytes);
            for (int a = 0; a < FABRIC_ALGORITHMS; a++)
                good &= choice.time_ns <= tuner_time_ns(&group, kind, (enum fabric_algorithm)a, choice.protocol, bytes);
        }
        if (!good) fail_msg("seed %u, step %u", test_seed_or(20240229), step);
    }
}

static void test_group(void **state)
{
    struct fabric_errors errors = {0};
    struct fabric *fabric = NULL;
    struct tuner_group group;
    static const uint32_t some[] = {0, 1, 8, 9, 10};

    (void)state;
    assert_int_equal(fabric_load("t.yaml",
                                 "rocelab: 1\nlinks: {host: {rate: 400G}, gpu: a100}\n"
                                 "topology: {single: {hosts: 3, gpus: 8, nics: 4}, storage: {hosts: 1}}\n",
                                 &fabric, &errors),
                     0);
    assert_true(tuner_group_of(fabric, some, 5, &group));
    assert_int_equal(group.ranks, 5);
    assert_int_equal(group.hosts, 2);
    assert_int_equal(group.least_in_host, 2);
    assert_int_equal(group.gpu_bps, A100);
    assert_int_equal(group.nic_bps, PORT); /* h0's two GPUs share one adapter, the others have two */
    fabric_free(fabric);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_by_hand), cmocka_unit_test(test_choices),
                                       cmocka_unit_test(test_near),    cmocka_unit_test(test_uneven),
                                       cmocka_unit_test(test_any),     cmocka_unit_test(test_group)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
