/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs and faults as the file says them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <unistd.h>

#include "growth.h"
#include "support.h"

#define HEAD                                                                                                           \
    "rocelab: 1\nlinks: {host: {rate: 100G, cable: 3m}}\n"                                                             \
    "topology: {rail: {hosts: 4, gpus: 2, spines: 1}}\n"

static void test_collectives(void **state)
{
    struct fabric *fabric = must_load(
        "j.yaml", HEAD "jobs:\n"
                       "  - {allreduce: ring, size: 256MB}\n"
                       "  - {reducescatter: ring, size: 1GiB, channels: 4, qps: 2, chunk: 512KiB, ranks: 3,\n"
                       "     name: scatter, at: 2ms}\n"
                       "  - {allgather: ring, size: 1MB, ranks: [h3, h0:1], after: scatter, repeat: 5, gap: 10us,\n"
                       "     class: default}\n"
                       "  - {allgather: ring, size: 1MB, after: previous}\n");
    const struct fabric_job *job = fabric->job;

    (void)state;
    assert_int_equal(fabric->jobs, 4);
    assert_int_equal(job[0].kind, FABRIC_JOB_ALLREDUCE);
    assert_string_equal(job[0].name, "allreduce0");
    assert_int_equal(job[0].size_bytes, 256000000);
    assert_int_equal(job[0].ranks, 8);
    assert_int_equal(job[0].rank[7], 7);
    assert_int_equal(job[0].channels, 0);
    assert_int_equal(job[0].qps, 1);
    assert_int_equal(job[0].repeat, 1);
    assert_int_equal(job[0].after, FABRIC_NONE);
    assert_int_equal(job[0].job_class, 0);
    assert_int_equal(job[0].where.line, 5);
    assert_int_equal(job[1].channels, 4);
    assert_int_equal(job[1].qps, 2);
    assert_int_equal(job[1].chunk_bytes, 524288);
    assert_int_equal(job[1].ranks, 3);
    assert_int_equal(job[1].at, 2 * PS_MS);
    assert_int_equal(job[2].ranks, 3);
    static const uint32_t ranks[] = {6, 7, 1};
    assert_memory_equal(job[2].rank, ranks, sizeof(ranks));
    assert_int_equal(job[2].after, 1);
    assert_int_equal(job[2].repeat, 5);
    assert_int_equal(job[2].gap_ps, 10 * PS_US);
    assert_int_equal(job[2].job_class, 2);
    assert_int_equal(job[3].after, 2);
    fabric_free(fabric);
}

static void test_transfers(void **state)
{
    struct fabric *fabric = must_load("j.yaml", HEAD "jobs:\n"
                                                     "  - {permutation: random, size: 4MB}\n"
                                                     "  - {permutation: 3, size: 4MB}\n"
                                                     "  - {incast: 7, size: 1MB, to: h2:1}\n"
                                                     "  - {incast: 7, size: 1MB}\n"
                                                     "  - {all-to-all: at-once, size: 1KB}\n"
                                                     "  - {all-to-all: pairwise, size: 1KB}\n"
                                                     "  - {random: 100, size: 1MB}\n");
    const struct fabric_job *job = fabric->job;

    (void)state;
    assert_int_equal(job[0].degree, 0);
    assert_int_equal(job[1].degree, 3);
    assert_int_equal(job[2].degree, 7);
    assert_int_equal(job[2].to, 5);
    assert_int_equal(job[3].to, FABRIC_NONE);
    assert_int_equal(job[4].degree, 0);
    assert_int_equal(job[5].degree, 1);
    assert_int_equal(job[6].degree, 100);
    assert_int_equal(job[6].kind, FABRIC_JOB_RANDOM);
    fabric_free(fabric);
}

static void test_flows(void **state)
{
    struct fabric *fabric = must_load("j.yaml", HEAD "jobs:\n"
                                                     "  - flows:\n"
                                                     "      - {src: h0, dst: h1:1, size: 1MB}\n"
                                                     "      - {src: h3:1, dst: h0, size: 2KB, at: 5us}\n"
                                                     "  - name: text\n"
                                                     "    flows: |\n"
                                                     "      # src dst size at\n"
                                                     "      h0 h1 1MB\n"
                                                     "\n"
                                                     "      h1:1\th0:0  3B  7ns # last\n");

    (void)state;
    assert_int_equal(fabric->job[0].flows, 2);
    assert_int_equal(fabric->job[0].flow[0].dst, 3);
    assert_int_equal(fabric->job[0].flow[1].src, 7);
    assert_int_equal(fabric->job[0].flow[1].at, 5 * PS_US);
    assert_int_equal(fabric->job[1].flows, 2);
    assert_int_equal(fabric->job[1].flow[0].bytes, 1000000);
    assert_int_equal(fabric->job[1].flow[0].at, 0);
    assert_int_equal(fabric->job[1].flow[1].src, 3);
    assert_int_equal(fabric->job[1].flow[1].bytes, 3);
    assert_int_equal(fabric->job[1].flow[1].at, 7000);
    fabric_free(fabric);
}

static void test_many_flows(void **state)
{
    char *text = NULL;
    size_t length;
    FILE *to = open_memstream(&text, &length);

    (void)state;
    assert_non_null(to);
    fprintf(to, HEAD "jobs:\n  - flows: |\n");
    for (int i = 0; i < 50000; i++)
        fprintf(to, "      h%d h%d:%d %dB %dns\n", i % 4, (i + 1 + i % 3) % 4, i % 2, i + 1, i);
    fclose(to);
    struct fabric *fabric = must_load("j.yaml", text);
    assert_int_equal(fabric->job[0].flows, 50000);
    for (uint32_t i = 0; i < 50000; i++) {
        assert_int_equal(fabric->job[0].flow[i].bytes, i + 1);
        assert_int_equal(fabric->job[0].flow[i].at, i * 1000);
    }
    fabric_free(fabric);
    free(text);
}

static void test_poisson(void **state)
{
    char path[] = "/tmp/rocelab-sizes-XXXXXX", text[1024];
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    static const char sizes[] = "0 0\n1000 33.3333\n# comment\n2000 99.9999997\n4000 100\n";
    assert_int_equal(write(fd, sizes, sizeof(sizes) - 1), sizeof(sizes) - 1);
    close(fd);
    snprintf(text, sizeof(text),
             HEAD "jobs:\n"
                  "  - {poisson: {sizes: websearch, load: 50%%, until: 10ms}}\n"
                  "  - {poisson: {sizes: [[1KB, 25%%], [1MB, 100%%]], load: 0.5%%, until: 1us}}\n"
                  "  - {poisson: {sizes: {file: %s}, load: 30%%, until: 1s}, ranks: 4}\n"
                  "  - {poisson: {sizes: hadoop, load: 30%%, until: 1s}}\n"
                  "  - {poisson: {sizes: storage, load: 30%%, until: 1s}}\n",
             path);
    struct fabric *fabric = must_load("j.yaml", text);
    const struct fabric_job *job = fabric->job;
    assert_int_equal(job[0].cdf_points, 12);
    assert_int_equal(job[0].cdf[11].bytes, 30000000);
    assert_int_equal(job[0].cdf[5].ppb, 530000000);
    assert_int_equal(job[0].load_ppm, 500000);
    assert_int_equal(job[0].until, 10 * PS_MS);
    assert_int_equal(job[1].cdf[0].ppb, 250000000);
    assert_int_equal(job[1].load_ppm, 5000);
    assert_int_equal(job[2].cdf_points, 4);
    assert_int_equal(job[2].cdf[1].ppb, 333333000);
    assert_int_equal(job[2].cdf[2].ppb, 999999997);
    assert_int_equal(job[2].ranks, 4);
    assert_int_equal(job[3].cdf[19].ppb, 1000000000);
    assert_int_equal(job[4].cdf_points, 9);
    fabric_free(fabric);
    unlink(path);
}

static void test_faults(void **state)
{
    struct fabric *fabric = must_load("j.yaml", HEAD "seed: 7\nstop: 3ms\n"
                                                     "faults:\n"
                                                     "  - {down: leaf0:3, at: 1ms, for: 5ms}\n"
                                                     "  - {down: spine0}\n"
                                                     "  - {corrupt: h3:1, share: 0.01%}\n"
                                                     "  - {drop: h0:0, every: 256}\n"
                                                     "  - {pause: h2, at: 2ms}\n"
                                                     "  - {pause: h2, priority: 5}\n"
                                                     "  - {slow: h1, share: 10%}\n");
    const struct fabric_fault *fault = fabric->fault;

    (void)state;
    assert_int_equal(fabric->seed, 7);
    assert_int_equal(fabric->stop, 3 * PS_MS);
    assert_int_equal(fabric->faults, 7);
    assert_int_equal(fault[0].kind, FABRIC_FAULT_DOWN);
    assert_int_equal(fault[0].port, fabric_find_port(fabric, "leaf0:3"));
    assert_int_equal(fault[0].node, fabric_find_node(fabric, "leaf0"));
    assert_int_equal(fault[0].at, PS_MS);
    assert_int_equal(fault[0].lasts_ps, 5 * PS_MS);
    assert_int_equal(fault[1].port, FABRIC_NONE);
    assert_int_equal(fault[1].lasts_ps, PS_NEVER);
    assert_int_equal(fault[2].ppm, 100);
    assert_int_equal(fault[3].every, 256);
    assert_int_equal(fault[4].priority, 3);
    assert_int_equal(fault[5].priority, 5);
    assert_int_equal(fault[6].kind, FABRIC_FAULT_SLOW);
    assert_int_equal(fault[6].ppm, 100000);
    fabric_free(fabric);
}

/* So many jobs, each with a name, and each after one that is far above. */
static uint64_t load_many(unsigned jobs)
{
    static const char head[] =
        "rocelab: 1\ntopology: {single: {hosts: 4}}\nlinks: {host: {rate: 100G, cable: 3m}}\njobs:\n";
    size_t room = sizeof(head) + jobs * 64ul, used = 0;
    char *text = malloc(room);
    struct fabric_errors errors = {0};
    struct fabric *fabric;

    assert_non_null(text);
    used += (size_t)snprintf(text, room, "%s", head);
    for (unsigned j = 0; j < jobs; j++) {
        used += (size_t)snprintf(text + used, room - used, "- {name: job%u, incast: 1, size: 1B", j);
        if (j % 2) used += (size_t)snprintf(text + used, room - used, ", after: job%u", j / 2);
        used += (size_t)snprintf(text + used, room - used, "}\n");
        assert_true(used < room);
    }
    uint64_t begun = growth_ns();
    assert_int_equal(fabric_load("f.yaml", text, &fabric, &errors), 0);
    uint64_t took = growth_ns() - begun;
    assert_int_equal(fabric->jobs, jobs);
    assert_int_equal(fabric->job[jobs - 1].after, (jobs - 1) / 2);
    fabric_free(fabric);
    free(text);
    return took;
}

/* Sixteen times the jobs take about sixteen times the work, not its square. */
static void test_many_jobs(void **state)
{
    (void)state;
    expect_growth(load_many, 1000, 16000, 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_collectives), cmocka_unit_test(test_transfers), cmocka_unit_test(test_flows),
        cmocka_unit_test(test_many_flows),  cmocka_unit_test(test_many_jobs), cmocka_unit_test(test_poisson),
        cmocka_unit_test(test_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
