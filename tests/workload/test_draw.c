/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws in integers against the C library's long double, which has 11 bits more than is asked for here, and against
 * what a distribution promises: mean, variance, share below a point.
 */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "workload/draw.h"

#include "fabric/work.h"

#define ONE (1ULL << DRAW_BITS)

static void check_log(uint64_t x)
{
    long double right = -logl((long double)x / (long double)ONE);
    long double got = (long double)draw_log(x) / (long double)(1ULL << DRAW_LOG_BITS);

    /* rounded down; never more than a unit below */
    if (got > right + 0x1p-50L || got < right - 1.0001L / (long double)(1ULL << DRAW_LOG_BITS))
        fail_msg("x = %" PRIu64 ": %.20Lg, not %.20Lg", x, got, right);
}

static void test_log(void **state)
{
    (void)state;
    struct rng rng;

    rng_init(&rng, 1, 1);
    assert_int_equal(draw_log(ONE), 0);
    for (uint32_t i = 0; i <= DRAW_BITS; i++) /* powers of two and their neighbours */
        for (uint64_t x = (1ULL << i) - (i > 2); x <= ONE && x <= (1ULL << i) + 1; x++)
            check_log(x);
    for (uint32_t i = 0; i < 200000; i++) /* every magnitude */
        check_log(draw_uniform(&rng) >> rng_below(&rng, DRAW_BITS) | 1);
    for (uint32_t i = 0; i < 1000; i++)
        check_log(ONE - i);
}

/* A value or two written out: what the digest of a run stands on. */
static void test_log_fixed(void **state)
{
    (void)state;
    assert_int_equal(draw_log(ONE / 2), 762123384785ULL);              /* ln 2 * 2^40 */
    assert_int_equal(draw_log(1), 40392539393647ULL);                  /* 53 ln 2 * 2^40 */
    assert_int_equal(draw_log(3377699720527872ULL), 1078433168549ULL); /* 3/8 */
}

static void test_gaps(void **state)
{
    (void)state;
    static const struct fabric_cdf cdf[] = {{1000, 0}, {3000, 1000000000}};
    struct fabric_job job = {.cdf = cdf, .cdf_points = 2, .load_ppm = 500000};
    struct rng rng;
    u128 sum = 0, mean = draw_mean_gap(&job, 100000000000ULL);
    const uint32_t draws = 400000;
    uint32_t longer = 0;

    /* 2000 B at half of 100G: 320 ns */
    assert_int_equal((uint64_t)mean, 320000ULL << DRAW_GAP_BITS);
    assert_int_equal((uint64_t)draw_mean_gap(&job, 3), (uint64_t)((u128)32000000000000000ULL * 65536 / 3));
    rng_init(&rng, 7, 7);
    for (uint32_t i = 0; i < draws; i++) {
        u128 gap = draw_gap(mean, &rng);
        sum += gap;
        longer += gap > mean;
    }
    /* the standard error of the mean is 0.16 %, that of the share above it 0.08 % */
    uint64_t average = (uint64_t)(sum / draws) >> DRAW_GAP_BITS;
    if (average < 318000 || average > 322000) fail_msg("mean gap %" PRIu64 " ps", average);
    if (longer < draws * 0.364 || longer > draws * 0.372) fail_msg("%u of %u above the mean", longer, draws);
}

static void test_gap_bounds(void **state)
{
    (void)state;
    static const struct fabric_cdf huge[] = {{UINT64_MAX, 0}, {UINT64_MAX, 1000000000}};
    static const struct fabric_cdf tiny[] = {{0, 0}, {1, 1000000000}};
    struct fabric_job job = {.cdf = huge, .cdf_points = 2, .load_ppm = 1};
    struct rng rng;

    rng_init(&rng, 1, 1);
    assert_true(draw_mean_gap(&job, 1) == (u128)PS_NEVER << DRAW_GAP_BITS);
    assert_true(draw_gap(draw_mean_gap(&job, 1), &rng) >> DRAW_GAP_BITS > 0);
    assert_int_equal(draw_size(&job, &rng), UINT64_MAX);
    job.cdf = tiny;
    job.load_ppm = 1000000;
    assert_int_equal((uint64_t)(draw_mean_gap(&job, 8000000000ULL) >> DRAW_GAP_BITS), 1000);
    assert_int_equal(draw_size(&job, &rng), 1);
}

static void test_sizes(void **state)
{
    (void)state;
    static const struct fabric_cdf cdf[] = {{100, 250000000}, {100, 500000000}, {1100, 500000000}, {2100, 1000000000}};
    struct fabric_job job = {.cdf = cdf, .cdf_points = 4};
    struct rng rng;
    uint32_t small = 0, middle = 0;
    const uint32_t draws = 200000;

    rng_init(&rng, 3, 3);
    for (uint32_t i = 0; i < draws; i++) {
        uint64_t bytes = draw_size(&job, &rng);
        assert_true(bytes == 100 || (bytes >= 1100 && bytes <= 2100));
        small += bytes == 100;
        middle += bytes > 100 && bytes < 1600;
    }
    /* standard errors of 0.11 % and 0.1 % */
    assert_true(small > draws * 0.494 && small < draws * 0.506);
    assert_true(middle > draws * 0.245 && middle < draws * 0.255);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_log),        cmocka_unit_test(test_log_fixed), cmocka_unit_test(test_gaps),
        cmocka_unit_test(test_gap_bounds), cmocka_unit_test(test_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
