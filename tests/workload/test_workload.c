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

#include "base/heap.h"
#include "workload/workload.h"

#define DELAY (3 * PS_US)
#define SYNC (2 * PS_US)
#define HEAD                                                                                                           \
    "rocelab: 1\nfabric: work\n"                                                                                       \
    "links: {host: {rate: 100G, cable: 3m}, fabric: {rate: 100G, cable: 30m}}\n"                                       \
    "switches: {model: generic}\n"                                                                                     \
    "classes: [{name: rdma, dscp: 26, priority: 3, lossless: true}, {name: default, priority: 0}]\n"                   \
    "nics: {mtu: 1024}\n"
#define SINGLE(hosts) HEAD "topology: {single: {hosts: " hosts "}}\njobs:\n"
#define RAIL HEAD "topology: {rail: {hosts: 4, gpus: 4, leaves: 4, spines: 2}}\njobs:\n"

struct bench {
    struct fabric *fabric;
    struct workload *workload;
    struct heap heap;
    struct heap_item *item;
    struct workload_post *post; /* [sequence] what was posted */
    uint64_t posts, capacity;
    uint64_t *sent_to; /* bytes, [src * endpoints + dst] */
    ps_t now;
};

static struct bench bench_of(const char *text, uint64_t seed)
{
    struct fabric_errors errors = {0};
    struct workload_options options = {.seed = seed, .sync_latency = SYNC};
    struct bench bench = {.capacity = 1 << 20};

    if (fabric_load("test.yaml", text, &bench.fabric, &errors) != 0) {
        fabric_errors_print(&errors, stderr);
        fail_msg("the fabric does not load");
    }
    assert_int_equal(workload_create(bench.fabric, &options, &bench.workload, &errors), 0);
    bench.item = calloc(bench.capacity, sizeof(*bench.item));
    bench.post = calloc(bench.capacity, sizeof(*bench.post));
    bench.sent_to = calloc((size_t)bench.fabric->endpoints * bench.fabric->endpoints, sizeof(*bench.sent_to));
    assert_true(bench.item && bench.post && bench.sent_to);
    heap_init(&bench.heap, bench.item, (uint32_t)bench.capacity);
    return bench;
}

static void bench_free(struct bench *bench)
{
    workload_free(bench->workload);
    fabric_free(bench->fabric);
    free(bench->item);
    free(bench->post);
    free(bench->sent_to);
}

static void take_posts(struct bench *bench, uint32_t host, struct workload_out *out)
{
    for (;;) {
        for (uint32_t i = 0; i < out->posts; i++) {
            const struct workload_connection *c = workload_connection(bench->workload, out->post[i].connection);
            assert_int_equal(bench->fabric->endpoint[c->src].host, host);
            assert_true(out->post[i].bytes > 0);
            assert_true(c->posted - c->done <= WORKLOAD_DEPTH);
            bench->sent_to[c->src * bench->fabric->endpoints + c->dst] += out->post[i].bytes;
            bench->post[bench->posts] = out->post[i];
            assert_true(heap_push(&bench->heap, bench->now + DELAY, bench->posts++));
            assert_true(bench->posts < bench->capacity);
        }
        out->posts = 0;
        if (!out->more) return;
        workload_timer(bench->workload, host, bench->now, out);
    }
}

static ps_t earliest_host(const struct bench *bench, uint32_t *ret_host)
{
    ps_t least = PS_NEVER;

    for (uint32_t h = 0; h < bench->fabric->hosts; h++) {
        ps_t at = workload_next(bench->workload, h);
        if (at < least) {
            least = at;
            *ret_host = h;
        }
    }
    return least;
}

/* Runs to the end; answers whether all jobs ended. */
static bool bench_run(struct bench *bench)
{
    struct workload_out out = {0};
    uint32_t wake[64], host = 0;
    struct heap_item item;

    for (;;) {
        while (workload_coordinate(bench->workload, bench->now, wake, 64)) {
        }
        ps_t at = earliest_host(bench, &host);
        if (at == PS_NEVER && heap_next(&bench->heap) == PS_NEVER) return workload_finished(bench->workload);
        if (at <= heap_next(&bench->heap)) {
            assert_true(at >= bench->now);
            bench->now = at;
            workload_timer(bench->workload, host, bench->now, &out);
            take_posts(bench, host, &out);
            continue;
        }
        heap_pop(&bench->heap, &item);
        bench->now = item.at;
        const struct workload_post *post = &bench->post[item.id];
        const struct workload_connection *c = workload_connection(bench->workload, post->connection);
        uint32_t src = bench->fabric->endpoint[c->src].host, dst = bench->fabric->endpoint[c->dst].host;
        if (c->notifies) {
            workload_received(bench->workload, dst, post->connection, bench->now, &out);
            take_posts(bench, dst, &out);
        }
        workload_sent(bench->workload, src, post->connection, post->tag, true, bench->now, &out);
        take_posts(bench, src, &out);
    }
}

static uint64_t sent(const struct bench *bench, uint32_t src, uint32_t dst)
{
    return bench->sent_to[src * bench->fabric->endpoints + dst];
}

static uint64_t total(const struct bench *bench)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < bench->fabric->endpoints * bench->fabric->endpoints; i++)
        sum += bench->sent_to[i];
    return sum;
}

static void test_permutation(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct bench bench = bench_of(SINGLE("17") "  - {permutation: random, size: 5MB}\n", seed);
        assert_true(bench_run(&bench));
        for (uint32_t i = 0; i < 17; i++) {
            uint32_t out = 0, in = 0;
            for (uint32_t j = 0; j < 17; j++) {
                out += sent(&bench, i, j) == 5000000;
                in += sent(&bench, j, i) == 5000000;
            }
            assert_int_equal(sent(&bench, i, i), 0);
            assert_int_equal(out, 1);
            assert_int_equal(in, 1);
        }
        assert_int_equal(total(&bench), 17 * 5000000ULL);
        bench_free(&bench);
    }
    struct bench bench = bench_of(SINGLE("8") "  - {permutation: 3, size: 1KB}\n", 1);
    assert_true(bench_run(&bench));
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(sent(&bench, i, (i + 3) % 8), 1000);
    bench_free(&bench);
}

static void test_incast(void **state)
{
    (void)state;
    struct bench bench = bench_of(SINGLE("20") "  - {incast: 12, size: 1MB, to: h3, repeat: 3, gap: 50us}\n", 4);
    assert_true(bench_run(&bench));
    uint64_t into = 0;
    for (uint32_t i = 0; i < 20; i++)
        into += sent(&bench, i, 3);
    assert_int_equal(into, 3 * 12 * 1000000ULL);
    assert_int_equal(total(&bench), into);
    assert_int_equal(sent(&bench, 3, 3), 0);
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
                assert_int_equal(sent(&bench, i, j), i == j ? 0 : 1000);
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
    assert_int_equal(sent(&bench, 0, 1), 3000000000ULL + 1000 + 2000);
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

/* Each rank's adapter carries 2(n-1)/n of its channel's bytes, give or take the rounding of a slice. */
static void test_rings(void **state)
{
    static const struct {
        const char *text;
        uint64_t each, channels;
    } cases[] = {
        {RAIL "  - {allreduce: ring, size: 16MB}\n", 2ULL * 15 * 16000000 / 16 / 4, 4},
        {RAIL "  - {allreduce: ring, size: 16MB, qps: 3, chunk: 10KB, repeat: 3}\n", 3ULL * 2 * 15 * 16000000 / 16 / 4,
         4},
        {RAIL "  - {allreduce: ring, size: 16MB, qps: 64}\n", 2ULL * 15 * 16000000 / 16 / 4, 4},
        {RAIL "  - {allgather: ring, size: 16MB, channels: 8}\n", 15ULL * 16000000 / 16 / 4, 8},
        {RAIL "  - {reducescatter: ring, size: 999999B, channels: 1}\n", 15ULL * 999999 / 16, 1},
    };

    (void)state;
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        struct bench bench = bench_of(cases[k].text, 1);
        if (!bench_run(&bench)) fail_msg("case %zu did not end", k);
        for (uint32_t h = 0; h < 4; h++) {
            for (uint32_t nic = 0; nic < 4; nic++) {
                uint64_t bytes = 0;
                for (uint32_t e = 0; e < 16; e++)
                    bytes += sent(&bench, 4 * h + nic, e);
                /* the same rail of the next host, and nobody else */
                assert_int_equal(bytes, sent(&bench, 4 * h + nic, (4 * (h + 1) + nic) % 16));
                uint64_t expected = nic < cases[k].channels ? cases[k].each : 0;
                if (bytes < expected || bytes > expected + expected / 50 + 4000)
                    fail_msg("case %zu: h%u:%u sent %" PRIu64 ", expected %" PRIu64, k, h, nic, bytes, expected);
            }
        }
        bench_free(&bench);
    }
}

/* Nothing can be sent on before it has come: a ring of n ranks takes at least its steps times the delay. */
static void test_ring_dependencies(void **state)
{
    (void)state;
    struct bench bench = bench_of(SINGLE("6") "  - {allreduce: ring, size: 60KB}\n", 1);
    assert_true(bench_run(&bench));
    assert_int_equal(workload_instance(bench.workload, 0)->end, 10 * DELAY);
    uint64_t num, den;
    workload_bus_factor(bench.workload, 0, &num, &den);
    assert_int_equal(num, 10);
    assert_int_equal(den, 6);
    bench_free(&bench);
}

/* A ring inside one host takes what the links between its GPUs take. */
static void test_gpu_links(void **state)
{
    static const struct {
        const char *links;
        ps_t least, most;
    } cases[] = {
        /* 3 steps, each of a quarter of a channel's quarter */
        {"links: {host: {rate: 100G}}\n", 3 * PS_US, 4 * PS_US},
        {"links: {host: {rate: 100G}, gpu: {rate: 1G}}\n", 1500 * PS_US, 1800 * PS_US},
        {"links: {host: {rate: 100G}, gpu: {delay: 1ms}}\n", 3000 * PS_US, 3001 * PS_US},
    };

    (void)state;
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        char text[500];
        snprintf(text, sizeof(text),
                 "rocelab: 1\ntopology: {rail: {hosts: 2, gpus: 4, leaves: 4, spines: 1}}\n%s"
                 "jobs: [{allgather: ring, size: 1MB, ranks: [h0]}]\n",
                 cases[k].links);
        struct bench bench = bench_of(text, 1);
        assert_true(bench_run(&bench));
        ps_t end = workload_instance(bench.workload, 0)->end;
        if (end < cases[k].least || end > cases[k].most) fail_msg("case %zu: %" PRIu64 " ps", k, end);
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
        cmocka_unit_test(test_permutation),       cmocka_unit_test(test_incast),
        cmocka_unit_test(test_all_to_all),        cmocka_unit_test(test_flows_and_order_of_jobs),
        cmocka_unit_test(test_poisson_load),      cmocka_unit_test(test_rings),
        cmocka_unit_test(test_ring_dependencies), cmocka_unit_test(test_gpu_links),
        cmocka_unit_test(test_estimate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
