/* SPDX-License-Identifier: Apache-2.0 */
/* Rates: however the bytes are cut, the time adds up exactly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "base/time.h"
#include "base/wide.h"
#include "support.h"

static uint64_t any_rate(struct rng *rng)
{
    static const uint64_t usual[] = {1,           3,           1000,          25781250000,   10000000000,
                                     25000000000, 40000000000, 100000000000,  400000000000,  800000000000,
                                     37482113,    53125000000, 1600000000000, 7999999999999, 8000000000000};
    if (rng_below(rng, 2)) return usual[rng_below(rng, sizeof(usual) / sizeof(usual[0]))];
    return 1 + (rng_u64(rng) >> rng_below(rng, 60) >> 4);
}

static void test_known(void **state)
{
    (void)state;
    struct rate rate = rate_of(400000000000);
    assert_int_equal(rate_take(&rate, 4096), 81920);
    assert_int_equal(rate.carry, 0);
    rate = rate_of(25781250000); /* 1 byte: 310.30303... ps */
    assert_int_equal(rate_take(&rate, 1), 310);
    assert_int_equal(rate_take(&rate, 1), 310);
    assert_int_equal(rate_take(&rate, 1), 310);
    assert_int_equal(rate_take(&rate, 1), 311); /* the carried thirds */
    assert_int_equal(rate_take(&rate, 0), 0);
    rate = rate_of(3);
    assert_int_equal(rate_take(&rate, 3), 8 * PS_S);
    rate = rate_of(1000);
    assert_int_equal(rate_take(&rate, 125), PS_S);
}

/* floor of the whole equals the sum of the parts, and the carry is the remainder. */
static void test_sum_over_cuts(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, test_seed(), 40);
    for (uint64_t round = 0; round < 5000; round++) {
        uint64_t bps = any_rate(&rng);
        struct rate rate = rate_of(bps);
        unsigned shift = 40 + (unsigned)rng_below(&rng, 24); /* up to 16 MB a cut: both divisions */
        u128 bytes = 0, span = 0;
        for (uint64_t cuts = 1 + rng_below(&rng, 40); cuts > 0; cuts--) {
            uint64_t cut = rng_u64(&rng) >> shift;
            bytes += cut;
            ps_t took = rate_take(&rate, cut);
            if (took == PS_NEVER) { /* 16 MB at 1 b/s are more than 213 days: not one of the exact ones */
                EXPECT((u128)cut * 8 * PS_S + rate.carry >= (u128)PS_NEVER * bps, round);
                bytes -= cut;
                continue;
            }
            span += took;
        }
        EXPECT(span == bytes * 8 * PS_S / bps, round);
        u128 left = bytes * 8 * PS_S % bps;
        EXPECT(rate.ps_per_byte ? left == 0 && rate.carry == 0 : rate.carry == left, round);
    }
}

/* A struct made by hand, without the cached quotient, gives the same answers. */
static void test_ways_agree(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, test_seed(), 41);
    for (uint64_t round = 0; round < 20000; round++) {
        uint64_t bps = any_rate(&rng), bytes = rng_u64(&rng) >> rng_below(&rng, 64);
        struct rate cached = rate_of(bps);
        cached.carry = rng_below(&rng, bps);
        struct rate plain = {.bps = bps, .carry = cached.carry};
        EXPECT(rate_take(&cached, bytes) == rate_take(&plain, bytes), round);
        EXPECT(cached.carry == plain.carry, round);
        EXPECT(cached.carry < bps, round);
    }
}

/* The carry keeps its length: 0 <= old - new < 1/bps of the new rate. */
static void test_set_rescales_the_carry(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, test_seed(), 42);
    for (uint64_t round = 0; round < 20000; round++) {
        uint64_t from = 1 + (any_rate(&rng) >> 1), to = 1 + (any_rate(&rng) >> 1);
        struct rate rate = rate_of(from), fresh = rate_of(to);
        rate.carry = rng_below(&rng, from);
        u128 old = (u128)rate.carry * to; /* in units of 1/(from * to) ps */
        rate_set(&rate, to);
        EXPECT(rate.bps == to && rate.ps_per_byte == fresh.ps_per_byte && rate.carry < to, round);
        u128 now = (u128)rate.carry * from;
        EXPECT(old >= now && old - now < from, round);
    }
    struct rate rate = rate_of(3);
    rate_take(&rate, 1);
    rate_set(&rate, 0);
    assert_int_equal(rate.carry, 0);
    rate_set(&rate, 3);
    assert_int_equal(rate.carry, 0);
    rate_take(&rate, 1);
    assert_int_equal(rate.carry, 2);
    rate_set(&rate, 3);
    assert_int_equal(rate.carry, 2);
}

static void test_ends_of_the_range(void **state)
{
    (void)state;
    struct rate rate = rate_of(8 * PS_S); /* 1 ps a byte */
    assert_true(rate_take(&rate, UINT64_MAX - 1) == UINT64_MAX - 1);
    rate = rate_of(4 * PS_S);
    assert_true(rate_take(&rate, UINT64_MAX) == PS_NEVER);
    rate = rate_of(1);
    assert_true(rate_take(&rate, UINT64_MAX) == PS_NEVER);
    assert_int_equal(rate.carry, 0);
    rate = rate_of(UINT64_MAX);
    assert_int_equal(rate_take(&rate, 1), 0);
    assert_true(rate.carry == 8 * PS_S);
    assert_true(ps_add(PS_NEVER, 1) == PS_NEVER);
    assert_true(ps_add(1, PS_NEVER - 1) == PS_NEVER);
    assert_true(ps_add(2, PS_NEVER - 1) == PS_NEVER);
    assert_true(ps_add(1, 2) == 3);
}

static void test_bytes_in_and_measure(void **state)
{
    (void)state;
    struct rng rng;
    assert_int_equal(rate_bytes_in(400000000000, 81920), 4096);
    assert_int_equal(rate_bytes_in(400000000000, 81919), 4095);
    assert_int_equal(rate_bytes_in(0, PS_S), 0);
    assert_true(rate_bytes_in(UINT64_MAX, UINT64_MAX) == UINT64_MAX);
    assert_int_equal(rate_measure(4096, 81920), 400000000000);
    assert_int_equal(rate_measure(4096, 0), 0);
    assert_true(rate_measure(UINT64_MAX, 1) == UINT64_MAX);
    rng_init(&rng, test_seed(), 43);
    for (uint64_t round = 0; round < 20000; round++) {
        uint64_t a = rng_u64(&rng) >> rng_below(&rng, 64), b = 1 + (rng_u64(&rng) >> 1 >> rng_below(&rng, 63));
        u128 in = (u128)a * b / (8 * PS_S), bps = (u128)a * 8 * PS_S / b;
        EXPECT(rate_bytes_in(a, b) == (in > UINT64_MAX ? UINT64_MAX : (uint64_t)in), round);
        EXPECT(rate_measure(a, b) == (bps > UINT64_MAX ? UINT64_MAX : (uint64_t)bps), round);
    }
}

static void take_without_rate(void *arg)
{
    rate_take(arg, 1);
}

static void test_pause_quanta(void **state)
{
    (void)state;
    static const struct {
        uint32_t quanta;
        uint64_t bps;
        ps_t span;
    } cases[] = {{0, 1, 0},
                 {1, 100000000000, 5120},
                 {65535, 400000000000, 83884800},
                 {1, 377000000000, 1358},
                 {65535, 377000000000, 89002440},
                 {65535, 10000000, 3355392000000},
                 {65535, 1, PS_NEVER}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_true(pause_quanta_ps(cases[i].quanta, cases[i].bps) == cases[i].span);
}

static void test_no_rate_aborts(void **state)
{
    (void)state;
    struct rate rate = rate_of(0);
    ASSERT_ABORTS(take_without_rate, &rate, "bps > 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known),
        cmocka_unit_test(test_sum_over_cuts),
        cmocka_unit_test(test_ways_agree),
        cmocka_unit_test(test_set_rescales_the_carry),
        cmocka_unit_test(test_ends_of_the_range),
        cmocka_unit_test(test_bytes_in_and_measure),
        cmocka_unit_test(test_pause_quanta),
        cmocka_unit_test(test_no_rate_aborts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
