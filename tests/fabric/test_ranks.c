/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives as the file says them: algorithm, sizes, and who takes part in which order.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "load/load.h"
#include "support.h"

#include <unistd.h>

/* Two leaves with two hosts each, two GPUs a host; h4 and its leaf's other host come last. */
#define HEAD                                                                                                           \
    "rocelab: 1\nlinks: {host: {rate: 100G}}\n"                                                                        \
    "topology: {leaf-spine: {leaves: 3, spines: 2, hosts: 2, gpus: 2, nics: 1}}\njobs:\n"

static void assert_ranks(const struct fabric_job *job, const uint32_t *rank, uint32_t count)
{
    assert_int_equal(job->ranks, count);
    for (uint32_t r = 0; r < count; r++)
        assert_int_equal(job->rank[r], rank[r]);
}
#define ASSERT_RANKS(job, ...)                                                                                         \
    assert_ranks(job, (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static void test_kinds(void **state)
{
    struct fabric *fabric = must_load("r.yaml", HEAD "  - {allreduce: auto, size: 1MB}\n"
                                                     "  - {allreduce: nvls-tree, size: 1MB, protocol: simple}\n"
                                                     "  - {reducescatter: hierarchical, size: 1MB}\n"
                                                     "  - {broadcast: tree, size: 1MB, root: 11}\n"
                                                     "  - {reduce: ring, size: 1MB, protocol: ll128}\n"
                                                     "  - {alltoall: auto, size: 1MB, pxn: false}\n"
                                                     "  - {gather: auto, size: 1MB, root: 2, clear-to-send: false}\n"
                                                     "  - {sendrecv: auto, size: 1MB, iterations: 20}\n");
    static const uint8_t kind[] = {FABRIC_JOB_ALLREDUCE, FABRIC_JOB_ALLREDUCE, FABRIC_JOB_REDUCESCATTER,
                                   FABRIC_JOB_BROADCAST, FABRIC_JOB_REDUCE,    FABRIC_JOB_ALLTOALL,
                                   FABRIC_JOB_GATHER,    FABRIC_JOB_SENDRECV};
    static const uint8_t algorithm[] = {
        FABRIC_ALGORITHM_AUTO, FABRIC_ALGORITHM_NVLS_TREE, FABRIC_ALGORITHM_HIERARCHICAL, FABRIC_ALGORITHM_TREE,
        FABRIC_ALGORITHM_RING, FABRIC_ALGORITHM_AUTO,      FABRIC_ALGORITHM_AUTO,         FABRIC_ALGORITHM_AUTO};

    (void)state;
    assert_int_equal(fabric->jobs, 8);
    for (uint32_t j = 0; j < fabric->jobs; j++) {
        assert_int_equal(fabric->job[j].kind, kind[j]);
        assert_int_equal(fabric->job[j].algorithm, algorithm[j]);
        assert_int_equal(fabric->job[j].ranks, 12);
        assert_int_equal(fabric->job[j].pxn, j != 5);
        assert_int_equal(fabric->job[j].clear_to_send, j != 6);
        assert_int_equal(fabric->job[j].repeat, j == 7 ? 20 : 1);
    }
    assert_int_equal(fabric->job[0].protocol, FABRIC_PROTOCOL_AUTO);
    assert_int_equal(fabric->job[1].protocol, FABRIC_PROTOCOL_SIMPLE);
    assert_int_equal(fabric->job[4].protocol, FABRIC_PROTOCOL_LL128);
    assert_int_equal(fabric->job[3].root, 11);
    fabric_free(fabric);
}

static void test_sizes(void **state)
{
    struct fabric *fabric = must_load("r.yaml", HEAD "  - {allreduce: auto, sizes: [8B..1KiB x2]}\n"
                                                     "  - {allreduce: auto, sizes: [1MB, 2MB..4MB +1MB, 512B]}\n"
                                                     "  - {allreduce: auto, sizes: 1KB..1GB x10}\n"
                                                     "  - {allreduce: auto, size: 3MB}\n");
    static const uint64_t mixed[] = {1000000, 2000000, 3000000, 4000000, 512};

    (void)state;
    assert_int_equal(fabric->job[0].size_count, 8);
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(fabric->job[0].sizes[i], UINT64_C(8) << i);
    assert_int_equal(fabric->job[0].size_bytes, 1024);
    assert_int_equal(fabric->job[1].size_count, 5);
    assert_memory_equal(fabric->job[1].sizes, mixed, sizeof(mixed));
    assert_int_equal(fabric->job[1].size_bytes, 4000000);
    assert_int_equal(fabric->job[2].size_count, 7);
    assert_int_equal(fabric->job[2].sizes[6], 1000000000);
    assert_null(fabric->job[3].sizes);
    assert_int_equal(fabric->job[3].size_count, 0);
    fabric_free(fabric);
}

static void test_placement(void **state)
{
    struct fabric *fabric = must_load(
        "r.yaml", HEAD "  - {allreduce: auto, size: 1MB, ranks: 6}\n"
                       "  - {allreduce: auto, size: 1MB, ranks: 6, placement: packed}\n"
                       "  - {allreduce: auto, size: 1MB, ranks: 6, placement: spread}\n"
                       "  - {allreduce: auto, size: 1MB, placement: spread}\n"
                       "  - {allreduce: auto, size: 1MB, placement: spread, order: topology}\n"
                       "  - {allreduce: auto, size: 1MB, ranks: [h5, \"h0:1\", h1, \"h0:0\"], order: topology}\n"
                       "  - {allreduce: auto, size: 1MB, ranks: [h1, h0, h5], placement: spread}\n"
                       "  - {incast: 3, size: 1MB, ranks: 4}\n");

    (void)state;
    ASSERT_RANKS(&fabric->job[0], 0, 1, 2, 3, 4, 5);
    ASSERT_RANKS(&fabric->job[1], 0, 1, 2, 3, 4, 5);
    ASSERT_RANKS(&fabric->job[2], 0, 1, 4, 5, 8, 9);
    ASSERT_RANKS(&fabric->job[3], 0, 1, 4, 5, 8, 9, 2, 3, 6, 7, 10, 11);
    ASSERT_RANKS(&fabric->job[4], 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
    ASSERT_RANKS(&fabric->job[5], 0, 1, 2, 3, 10, 11);
    ASSERT_RANKS(&fabric->job[6], 2, 3, 10, 11, 0, 1);
    ASSERT_RANKS(&fabric->job[7], 0, 1, 2, 3); /* endpoints */
    fabric_free(fabric);
}

/* Drawn from the seed: whole hosts, each once, the same again, another for another job and another seed. */
static void test_random(void **state)
{
    static const char jobs[] = HEAD "  - {allreduce: auto, size: 1MB, placement: random}\n"
                                    "  - {allreduce: auto, size: 1MB, placement: random}\n"
                                    "  - {allreduce: auto, size: 1MB, ranks: 4, placement: random}\n";
    struct fabric *fabric = must_load("r.yaml", jobs), *again = must_load("r.yaml", jobs);
    uint32_t seen = 0;

    (void)state;
    for (uint32_t j = 0; j < 3; j++)
        assert_memory_equal(fabric->job[j].rank, again->job[j].rank, fabric->job[j].ranks * sizeof(uint32_t));
    assert_memory_not_equal(fabric->job[0].rank, fabric->job[1].rank, 12 * sizeof(uint32_t));
    for (uint32_t r = 0; r < 12; r++) {
        seen |= 1u << fabric->job[0].rank[r];
        if (r % 2) assert_int_equal(fabric->job[0].rank[r], fabric->job[0].rank[r - 1] + 1);
    }
    assert_int_equal(seen, 0xfff);
    assert_int_equal(fabric->job[2].ranks, 4);
    fabric_free(fabric);
    fabric_free(again);
}

static char *write_file(const char *text)
{
    static char path[] = "/tmp/rocelab-ranks-XXXXXX";
    memcpy(path + sizeof(path) - 7, "XXXXXX", 6);
    int file = mkstemp(path);

    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), (ssize_t)strlen(text));
    close(file);
    return path;
}

static void test_file(void **state)
{
    char *path = write_file("# who\nh3\nh0:1, h0:0 # two\n\nh5:1"), text[300];

    (void)state;
    snprintf(text, sizeof(text), HEAD "  - {allreduce: auto, size: 1MB, placement: {file: %s}}\n", path);
    struct fabric *fabric = must_load("r.yaml", text);
    unlink(path);
    ASSERT_RANKS(&fabric->job[0], 6, 7, 1, 0, 11);
    fabric_free(fabric);

    path = write_file("h3\nh9\n");
    snprintf(text, sizeof(text), HEAD "  - {allreduce: auto, size: 1MB, placement: {file: %s}}\n", path);
    struct fabric_errors errors = {0};
    assert_true(fabric_load("r.yaml", text, &fabric, &errors) < 0);
    unlink(path);
    assert_int_equal(errors.count, 2);
    assert_string_equal(errors.error[0].text, "no host is named 'h9'; hosts are 'h0' to 'h5'");
    assert_non_null(strstr(errors.error[1].text, "placement: so says line 2 of"));
}

/* Bare transfers are on the main network where nothing is said, and on storage's where it is. */
static void test_storage(void **state)
{
    struct fabric *fabric = must_load("r.yaml", "rocelab: 1\nlinks: {host: {rate: 100G}}\n"
                                                "topology: {single: {hosts: 2, gpus: 2}, storage: {hosts: 2}}\njobs:\n"
                                                "  - {permutation: 1, size: 1MB}\n"
                                                "  - {incast: 2, size: 1MB, ranks: storage, to: store0}\n"
                                                "  - {allreduce: auto, size: 1MB}\n");

    (void)state;
    ASSERT_RANKS(&fabric->job[0], 0, 1, 3, 4);
    ASSERT_RANKS(&fabric->job[1], 2, 5, 6, 7);
    ASSERT_RANKS(&fabric->job[2], 0, 1, 2, 3);
    fabric_free(fabric);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kinds),     cmocka_unit_test(test_sizes),
                                       cmocka_unit_test(test_placement), cmocka_unit_test(test_random),
                                       cmocka_unit_test(test_file),      cmocka_unit_test(test_storage)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
