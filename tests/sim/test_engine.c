/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine on toy machines: the same deliveries for any tiling and any number of threads, no packet lost or
 * made up, time that jumps, runs that stop and go on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/rng.h"
#include "engine/engine_int.h"
#include "toy.h"

static struct toy_config small(void)
{
    return (struct toy_config){.k = 4,
                               .packets = 200,
                               .window = 100,
                               .payload = 1000,
                               .pause_at = 20,
                               .start_gap = 777,
                               .rate_bps = 100000000000ULL,
                               .host_link = 15 * PS_NS,
                               .fabric_link = 150 * PS_NS,
                               .core_link = 2 * PS_US,
                               .latency = 300 * PS_NS,
                               .threads = 1,
                               .seed = 3};
}

static struct engine_totals run(const struct toy_config *config)
{
    struct toy *toy = toy_create(config);

    assert_int_equal(toy_run(toy, UINT64_MAX, PS_NEVER), ENGINE_IDLE);
    struct engine_totals totals = toy_totals(toy);
    if (config->loss_ppm == 0)
        assert_int_equal(toy_delivered(toy), (uint64_t)toy_hosts(toy) * config->packets);
    else
        assert_true(toy_delivered(toy) < (uint64_t)toy_hosts(toy) * config->packets);
    if (config->pause_at) assert_true(toy_pauses(toy) > 0);
    assert_int_equal(totals.packets_live, 0);
    assert_int_equal(totals.packets_on_links, 0);
    toy_free(toy);
    return totals;
}

static void test_any_tiling_any_threads(void **state)
{
    (void)state;
    for (int variant = 0; variant < 4; variant++) {
        struct toy_config config = small();
        if (variant == 1) config.incast = 4;
        if (variant == 2) config.loss_ppm = 5000;
        if (variant == 3) config.rate_bps = 25781250000ULL; /* a byte is no whole number of picoseconds */
        struct engine_totals first = run(&config);
        assert_true(first.hops > 10000);
        for (uint32_t threads = 1; threads <= 8; threads = threads < 3 ? threads + 1 : threads + 5) {
            for (config.tiling = 0; config.tiling < 4; config.tiling++) {
                config.threads = threads;
                struct engine_totals again = run(&config);
                assert_int_equal(again.digest, first.digest);
                assert_int_equal(again.hops, first.hops);
            }
        }
    }
}

static void test_tiles_make_great_windows(void **state)
{
    struct toy_config config = small();

    (void)state;
    struct engine_totals tiled = run(&config);
    config.tiling = 1;
    struct engine_totals plain = run(&config);
    assert_int_equal(plain.great_window, 315 * PS_NS);
    assert_int_equal(tiled.small_window, 315 * PS_NS);
    assert_int_equal(tiled.great_window, 2300 * PS_NS);
    assert_true(tiled.windows * 4 < plain.windows);
}

static void test_stop_and_go_on(void **state)
{
    struct toy_config config = small();
    struct engine_totals whole = run(&config);
    struct toy *toy = toy_create(&config);
    enum engine_state now;

    (void)state;
    for (ps_t until = PS_US; (now = toy_run(toy, UINT64_MAX, until)) == ENGINE_UNTIL; until += 3331 * PS_NS) {
        struct engine_totals totals = toy_totals(toy);
        assert_int_equal(totals.now, until);
        /* Every packet is somewhere: on a wire, in a switch, or waiting to be answered in a host. */
        assert_true(totals.packets_live >= totals.packets_on_links + toy_queued(toy));
    }
    assert_int_equal(now, ENGINE_IDLE);
    assert_int_equal(toy_totals(toy).digest, whole.digest);
    toy_free(toy);
}

static void test_idle_time_is_jumped_over(void **state)
{
    struct toy_config config = small();

    (void)state;
    config.packets = 1;
    config.pause_at = 0;
    config.start_gap = PS_S;
    struct engine_totals totals = run(&config);
    assert_true(totals.now > 15 * PS_S);
    assert_true(totals.windows < 16 * 40);
}

static void test_sorting(void **state)
{
    static struct event list[5000], other[5001];
    struct rng rng;

    (void)state;
    rng_init(&rng, 11, 0);
    for (uint32_t round = 0; round < 300; round++) {
        uint32_t count = (uint32_t)rng_below(&rng, round % 10 ? 200 : 5000), at = 0;
        uint64_t sum = 0, low = rng_below(&rng, 1ULL << 50), span = 1 + rng_below(&rng, 1ULL << 30);
        while (at < count) { /* ascending runs, as they come off wires */
            uint32_t length = 1 + (uint32_t)rng_below(&rng, 30);
            uint64_t key = low + rng_below(&rng, span);
            for (; length-- && at < count && key < low + span; key += rng_below(&rng, span / 8 + 1)) {
                sum += key * (at + 1);
                list[at] = (struct event){.key = key, .what = at + 1};
                at++;
            }
        }
        struct event *sorted = events_sort(list, other, count, low, low + span);
        for (uint32_t i = 0; i < count; i++) {
            if (i) assert_true(sorted[i - 1].key <= sorted[i].key);
            sum -= sorted[i].key * sorted[i].what;
        }
        assert_int_equal(sum, 0);
    }
}

static void test_links_without_latency_are_refused(void **state)
{
    struct engine_node node[2] = {{.ports = 1, .tile = 0}, {.ports = 1, .tile = 1}};
    struct engine_link link = {
        .end = {{.node = 0, .latency = 5, .reaction = 5}, {.node = 1, .latency = 0, .reaction = 5}},
        .rate_bps = 1000000000};
    struct engine_config config = {.node = node,
                                   .nodes = 2,
                                   .link = &link,
                                   .links = 1,
                                   .threads = 1,
                                   .sync_latency = PS_US,
                                   .packets_max = 64,
                                   .burst = 8,
                                   .model = LINE_MODEL_ETHERNET};
    struct engine *engine = NULL;

    (void)state;
    assert_int_equal(engine_create(&config, &engine), -22);
    assert_null(engine);
    link.propagation = 1;
    assert_int_equal(engine_create(&config, &engine), 0);
    assert_int_equal(engine_totals(engine).small_window, 1);
    assert_int_equal(engine_run(engine, 10, PS_NEVER, NULL, NULL), ENGINE_IDLE);
    engine_free(engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_tiling_any_threads),
        cmocka_unit_test(test_tiles_make_great_windows),
        cmocka_unit_test(test_stop_and_go_on),
        cmocka_unit_test(test_idle_time_is_jumped_over),
        cmocka_unit_test(test_sorting),
        cmocka_unit_test(test_links_without_latency_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
