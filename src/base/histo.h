/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A histogram of fixed size for values of any size: 16 linear buckets in each power of two, so a
 * percentile is at most 1/32 (3.2%) off; least and largest value are exact.  2 KB, merges by
 * addition, no floating point.  Values of 2^36 and more share the last bucket.
 *
 * Values below 32 have a bucket each and are exact.  Past 2^36 the bound does not hold: a percentile
 * that falls there is answered too low (but never below the least value), so pick the unit for what
 * is measured: in nanoseconds 2^36 is 68 s.
 */
#ifndef ROCELAB_BASE_HISTO_H
#define ROCELAB_BASE_HISTO_H

#include <stdint.h>

#define HISTO_BUCKETS 528
#define HISTO_SUB_BITS 4
#define HISTO_SUB (1U << HISTO_SUB_BITS)
#define HISTO_TOP_BIT 36 /* values of 2^HISTO_TOP_BIT and more share the last bucket */

struct histo {
    uint64_t count, sum, min, max;  /* min, max, valid when count > 0; count, sum saturate */
    uint32_t bucket[HISTO_BUCKETS]; /* saturating */
};

/* The bucket a value is counted in. */
static inline uint32_t histo_bucket(uint64_t value)
{
    if (value < HISTO_SUB) return (uint32_t)value;
    if (value >> HISTO_TOP_BIT) return HISTO_BUCKETS - 1;
    uint32_t shift = 63 - (uint32_t)__builtin_clzll(value) - HISTO_SUB_BITS;
    return (shift << HISTO_SUB_BITS) + (uint32_t)(value >> shift);
}

/* The largest value that is counted in a bucket; of the last one UINT64_MAX. */
uint64_t histo_bucket_top(uint32_t bucket);
void histo_add(struct histo *histo, uint64_t value); /* a zeroed struct is an empty histogram */
void histo_merge(struct histo *into, const struct histo *from);
/* The value below which ppm/1e6 of the values lie (nearest rank): middle of its bucket, clamped to
 * [min, max]; 0 when empty.  ppm 0 answers min, 1000000 answers max; CHECKs ppm <= 1000000. */
uint64_t histo_percentile(const struct histo *histo, uint32_t ppm);

#endif
