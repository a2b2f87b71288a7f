/* SPDX-License-Identifier: Apache-2.0 */
/* Percentiles against the sorted values; merging against adding. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/histo.h"
#include "base/rng.h"
#include "support.h"

#define MOST 5000
static const uint32_t ppms[] = {0, 1, 1000, 10000, 250000, 500000, 900000, 950000, 990000, 999000, 999999, 1000000};

static int order(const void *a, const void *b)
{
    uint64_t x, y;
    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    return x < y ? -1 : x > y;
}

/* Sizes of every order of magnitude below 2^bits. */
static uint64_t draw(struct rng *rng, unsigned bits)
{
    unsigned shift = 64 - bits + (unsigned)rng_below(rng, bits);
    return rng_u64(rng) >> shift;
}

static uint64_t nearest_rank(const uint64_t *sorted, uint64_t count, uint32_t ppm)
{
    uint64_t rank = (count * ppm + 999999) / 1000000;
    return sorted[rank ? rank - 1 : 0];
}

static void test_error_bound(void **state)
{
    (void)state;
    static uint64_t value[MOST];
    struct rng rng;
    rng_init(&rng, test_seed(), 10);
    for (uint64_t round = 0; round < 200; round++) {
        struct histo histo = {0};
        uint64_t count = 1 + rng_below(&rng, round < 100 ? 20 : MOST);
        unsigned bits = 1 + (unsigned)rng_below(&rng, 36);
        uint64_t sum = 0;
        for (uint64_t i = 0; i < count; i++) {
            value[i] = draw(&rng, bits);
            sum += value[i];
            histo_add(&histo, value[i]);
        }
        qsort(value, count, sizeof(value[0]), order);
        EXPECT(histo.count == count && histo.sum == sum, round);
        EXPECT(histo.min == value[0] && histo.max == value[count - 1], round);
        for (size_t p = 0; p < sizeof(ppms) / sizeof(ppms[0]); p++) {
            uint64_t exact = nearest_rank(value, count, ppms[p]);
            uint64_t got = histo_percentile(&histo, ppms[p]);
            uint64_t off = got > exact ? got - exact : exact - got;
            EXPECT(off * 32 <= exact, round);
        }
    }
}

static void test_small_values_are_exact(void **state)
{
    (void)state;
    struct histo histo = {0};
    for (uint64_t i = 0; i < 32; i++)
        histo_add(&histo, i);
    for (uint32_t i = 1; i <= 32; i++)
        assert_int_equal(histo_percentile(&histo, i * 1000000 / 32), i - 1);
}

/* A bucket ends where the next begins. */
static void test_bucket_tops(void **state)
{
    (void)state;
    for (uint32_t b = 0; b + 1 < HISTO_BUCKETS; b++) {
        assert_int_equal(histo_bucket(histo_bucket_top(b)), b);
        assert_int_equal(histo_bucket(histo_bucket_top(b) + 1), b + 1);
    }
    assert_true(histo_bucket_top(HISTO_BUCKETS - 1) == UINT64_MAX);
}

static void test_merge_is_addition(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, test_seed(), 11);
    struct histo all = {0}, part[3] = {0}, sum = {0};
    histo_merge(&sum, &part[0]);
    assert_int_equal(sum.count, 0);
    for (uint64_t i = 0; i < 10000; i++) {
        uint64_t value = draw(&rng, 64);
        histo_add(&all, value);
        histo_add(&part[rng_below(&rng, 2)], value);
    }
    for (int i = 0; i < 3; i++)
        histo_merge(&sum, &part[i]);
    assert_memory_equal(&sum, &all, sizeof(sum));
}

static void test_edges(void **state)
{
    (void)state;
    struct histo histo = {0};
    assert_int_equal(histo_percentile(&histo, 500000), 0);
    histo_add(&histo, 1000); /* its bucket is 992 to 1023: the middle is clamped to the largest value */
    assert_int_equal(histo_percentile(&histo, 500000), 1000);
    histo = (struct histo){0};
    histo_add(&histo, UINT64_MAX);
    assert_true(histo_percentile(&histo, 500000) == UINT64_MAX); /* clamped to the least value */
    histo_add(&histo, 1ULL << 36);
    histo_add(&histo, (1ULL << 36) - 1);
    assert_int_equal(histo.bucket[HISTO_BUCKETS - 1], 3);
    assert_true(histo.sum == UINT64_MAX);
    assert_true(histo_percentile(&histo, 0) == (1ULL << 36) - 1);
    assert_true(histo_percentile(&histo, 1000000) == UINT64_MAX);
}

/* A full bucket stays full, and the ranks still add up. */
static void test_saturation(void **state)
{
    (void)state;
    struct histo histo = {0};
    histo_add(&histo, 5);
    histo_add(&histo, 9);
    histo.bucket[5] = UINT32_MAX;
    histo.count += UINT32_MAX;
    histo_add(&histo, 5);
    assert_int_equal(histo.bucket[5], UINT32_MAX);
    histo_merge(&histo, &histo);
    assert_int_equal(histo.bucket[5], UINT32_MAX);
    assert_int_equal(histo_percentile(&histo, 999999), 5);
    assert_int_equal(histo_percentile(&histo, 1000000), 9);
}

static void too_much(void *arg)
{
    histo_percentile(arg, 1000001);
}

static void test_more_than_all_aborts(void **state)
{
    (void)state;
    struct histo histo = {0};
    ASSERT_ABORTS(too_much, &histo, "ppm <= 1000000");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_error_bound),
        cmocka_unit_test(test_small_values_are_exact),
        cmocka_unit_test(test_bucket_tops),
        cmocka_unit_test(test_merge_is_addition),
        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_saturation),
        cmocka_unit_test(test_more_than_all_aborts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
