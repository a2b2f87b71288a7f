/* SPDX-License-Identifier: Apache-2.0 */
/* Philox against the published known answers; draws that depend on seed, stream and counter alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/bins.h"
#include "base/rng.h"
#include "support.h"

/* The philox4x32 10-round vectors of the Random123 distribution. */
static void test_known_answers(void **state)
{
    (void)state;
    static const struct {
        uint32_t counter[4], key[2], answer[4];
    } vector[] = {
        {{0}, {0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof(vector) / sizeof(vector[0]); i++) {
        uint32_t got[4];
        rng_philox(vector[i].counter, vector[i].key, got);
        assert_memory_equal(got, vector[i].answer, sizeof(got));
    }
}

/* The layout of (seed, stream, counter) is part of every digest: it must not change unseen. */
static void test_layout(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, 0x299f31d0a4093822ULL, 0x0370734413198a2eULL);
    rng.counter = 0x85a308d3243f6a88ULL;
    assert_int_equal(rng_u32(&rng), 0xd16cfe09);
    assert_true(rng_u64(&rng) == 0x5001e42094fdccebULL);
    assert_int_equal(rng_u32(&rng), 0x24126ea1);
    assert_true(rng.counter == 0x85a308d3243f6a89ULL);
}

static void test_streams_do_not_touch(void **state)
{
    (void)state;
    struct rng alone, beside, other;
    rng_init(&alone, test_seed(), 1);
    rng_init(&beside, test_seed(), 1);
    rng_init(&other, test_seed(), 2);
    int same = 0;
    for (int i = 0; i < 1000; i++) {
        uint64_t a = rng_u64(&alone);
        same += rng_u64(&other) == a;
        EXPECT(rng_u64(&beside) == a, i);
    }
    assert_int_equal(same, 0);
}

/* Chi-square of 100,000 draws over few cells; the bounds are about six sigma. */
static void test_below_is_even(void **state)
{
    (void)state;
    static const uint64_t bound[] = {1, 2, 3, 7, 10, 64, 100};
    struct rng rng;
    rng_init(&rng, test_seed(), 3);
    for (size_t b = 0; b < sizeof(bound) / sizeof(bound[0]); b++) {
        uint64_t seen[100] = {0};
        uint64_t draws = 100000 / bound[b] * bound[b], each = draws / bound[b], squares = 0;
        for (uint64_t i = 0; i < draws; i++) {
            uint64_t value = rng_below(&rng, bound[b]);
            EXPECT(value < bound[b], i);
            seen[value]++;
        }
        for (uint64_t i = 0; i < bound[b]; i++) {
            uint64_t off = seen[i] > each ? seen[i] - each : each - seen[i];
            squares += off * off;
        }
        EXPECT(squares / each <= bound[b] + 90, b);
    }
}

/* With a bound of 3 * 2^62, four draws fall on three values.  Reduced by remainder, the lowest third would come half of
 * the time; scaled without throwing draws away, the multiples of three would. */
static void test_below_has_no_bias(void **state)
{
    (void)state;
    struct rng rng;
    uint64_t bound = 3ULL << 62, low = 0, threes = 0;
    rng_init(&rng, test_seed(), 4);
    for (int i = 0; i < 30000; i++) {
        uint64_t value = rng_below(&rng, bound);
        EXPECT(value < bound, i);
        low += value < 1ULL << 62;
        threes += value % 3 == 0;
    }
    EXPECT(low > 9500 && low < 10500, low);
    EXPECT(threes > 9500 && threes < 10500, threes);
    for (int i = 0; i < 1000; i++)
        EXPECT(rng_below(&rng, UINT64_MAX) < UINT64_MAX, i);
}

static void test_chance(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, test_seed(), 5);
    uint64_t hits = 0;
    for (int i = 0; i < 100000; i++) {
        EXPECT(!rng_chance(&rng, 0), i);
        EXPECT(rng_chance(&rng, 1000000), i);
        hits += rng_chance(&rng, 250000) != 0;
    }
    EXPECT(hits > 24000 && hits < 26000, hits);
}

static void below_zero(void *arg)
{
    rng_below(arg, 0);
}

static void test_below_zero_aborts(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, 1, 1);
    ASSERT_ABORTS(below_zero, &rng, "bound > 0");
}

/* Every way that so many balls can fall, each as likely. */
static double fullest_counted(uint32_t balls, uint32_t bins)
{
    uint64_t ways = 1, sum = 0;

    for (uint32_t i = 0; i < balls; i++)
        ways *= bins;
    for (uint64_t way = 0; way < ways; way++) {
        uint32_t in[8] = {0}, most = 0;
        uint64_t rest = way;
        for (uint32_t i = 0; i < balls; i++, rest /= bins)
            if (++in[rest % bins] > most) most = in[rest % bins];
        sum += most;
    }
    return (double)sum / (double)ways;
}

static void test_bins_are_as_counted(void **state)
{
    static const uint32_t thrown[][2] = {{1, 4}, {2, 2}, {3, 2}, {2, 4}, {5, 3}, {8, 4}};
    uint32_t bin[8];

    (void)state;
    for (size_t i = 0; i < sizeof(thrown) / sizeof(thrown[0]); i++) {
        uint32_t balls = thrown[i][0], bins = thrown[i][1];
        struct bins_thrown got = bins_throw(balls, bin, bins, 65536);
        double off = (double)got.most_sum / 65536 - fullest_counted(balls, bins);
        assert_true(off > -0.02 && off < 0.02);
        assert_true(got.most <= balls);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_answers),        cmocka_unit_test(test_layout),
        cmocka_unit_test(test_streams_do_not_touch), cmocka_unit_test(test_below_is_even),
        cmocka_unit_test(test_below_has_no_bias),    cmocka_unit_test(test_chance),
        cmocka_unit_test(test_below_zero_aborts),    cmocka_unit_test(test_bins_are_as_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
