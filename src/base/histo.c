/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The histogram behind every percentile we print: latencies, message sizes, gaps between CNPs.
 *
 * A value's bucket is its exponent and the four bits below its leading one, so adding is a count of
 * leading zeros and two shifts.  Fixed size, because there is one for each connection and quantity
 * and memory is bounded; integers only, because the same counts must give the same report on every
 * machine.  It does not keep values: what needs exact quantiles sorts.
 */
#include "base/histo.h"

#include "base/check.h"
#include "base/wide.h"

_Static_assert(HISTO_BUCKETS == HISTO_SUB + (HISTO_TOP_BIT - HISTO_SUB_BITS) * HISTO_SUB,
               "one row of buckets a power of two");

static uint64_t bucket_middle(uint32_t index)
{
    if (index < 2 * HISTO_SUB) return index;
    uint32_t shift = (index >> HISTO_SUB_BITS) - 1;
    uint64_t least = (uint64_t)(HISTO_SUB + index % HISTO_SUB) << shift;
    return least + (1ULL << shift) / 2;
}

uint64_t histo_bucket_top(uint32_t bucket)
{
    if (bucket < 2 * HISTO_SUB) return bucket;
    if (bucket == HISTO_BUCKETS - 1) return UINT64_MAX;
    uint32_t shift = (bucket >> HISTO_SUB_BITS) - 1;
    return ((uint64_t)(HISTO_SUB + bucket % HISTO_SUB + 1) << shift) - 1;
}

static uint64_t add_u64(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint32_t add_u32(uint32_t a, uint32_t b)
{
    return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

void histo_add(struct histo *histo, uint64_t value)
{
    uint32_t *bucket = &histo->bucket[histo_bucket(value)];

    if (histo->count == 0 || value < histo->min) histo->min = value;
    if (histo->count == 0 || value > histo->max) histo->max = value;
    histo->count = add_u64(histo->count, 1);
    histo->sum = add_u64(histo->sum, value);
    *bucket = add_u32(*bucket, 1);
}

void histo_merge(struct histo *into, const struct histo *from)
{
    if (from->count == 0) return;
    if (into->count == 0 || from->min < into->min) into->min = from->min;
    if (into->count == 0 || from->max > into->max) into->max = from->max;
    into->count = add_u64(into->count, from->count);
    into->sum = add_u64(into->sum, from->sum);
    for (uint32_t i = 0; i < HISTO_BUCKETS; i++)
        into->bucket[i] = add_u32(into->bucket[i], from->bucket[i]);
}

uint64_t histo_percentile(const struct histo *histo, uint32_t ppm)
{
    uint64_t total = 0;
    uint64_t seen = 0;
    uint32_t i = 0;

    CHECK(ppm <= 1000000);
    if (histo->count == 0) return 0;
    if (ppm == 0) return histo->min;
    if (ppm == 1000000) return histo->max;

    /* Ranks are counted in the buckets, not in `count`: the two differ once a bucket is saturated. */
    for (uint32_t b = 0; b < HISTO_BUCKETS; b++)
        total += histo->bucket[b];
    uint64_t rank = (uint64_t)(((u128)total * ppm + 999999) / 1000000);
    for (;; i++) {
        CHECK(i < HISTO_BUCKETS);
        seen += histo->bucket[i];
        if (seen >= rank) break;
    }
    uint64_t value = bucket_middle(i);
    if (value < histo->min) return histo->min;
    return value > histo->max ? histo->max : value;
}
