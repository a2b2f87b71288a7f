/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Philox4x32-10: ten rounds of two 32 x 32 -> 64 multiplications, with a key that moves by a Weyl
 * constant each round (section 4.3 of the paper named in the header; the constants are theirs).
 *
 * The 128-bit counter is split: the low half counts blocks, the high half is the stream, and the key
 * is the seed.  So 2^64 streams of 2^66 words each, none overlapping, and no state to jump or split.
 * Not for secrets.
 */
#include "base/rng.h"

#include "base/check.h"
#include "base/wide.h"

#define PHILOX_ROUNDS 10
#define PHILOX_M0 0xD2511F53U
#define PHILOX_M1 0xCD9E8D57U
#define PHILOX_W0 0x9E3779B9U /* golden ratio */
#define PHILOX_W1 0xBB67AE85U /* square root of 3, less 1 */

void rng_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t ret[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];

    for (int round = 0; round < PHILOX_ROUNDS; round++) {
        uint64_t p0 = (uint64_t)PHILOX_M0 * c0;
        uint64_t p1 = (uint64_t)PHILOX_M1 * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += PHILOX_W0;
        k1 += PHILOX_W1;
    }
    ret[0] = c0;
    ret[1] = c1;
    ret[2] = c2;
    ret[3] = c3;
}

void rng_init(struct rng *rng, uint64_t seed, uint64_t stream)
{
    *rng = (struct rng){.seed = seed, .stream = stream};
}

uint32_t rng_u32(struct rng *rng)
{
    if (rng->left == 0) {
        uint32_t counter[4] = {(uint32_t)rng->counter, (uint32_t)(rng->counter >> 32), (uint32_t)rng->stream,
                               (uint32_t)(rng->stream >> 32)};
        uint32_t key[2] = {(uint32_t)rng->seed, (uint32_t)(rng->seed >> 32)};
        rng_philox(counter, key, rng->block);
        rng->counter++;
        rng->left = 4;
    }
    CHECK(rng->left <= 4);
    return rng->block[4 - rng->left--];
}

uint64_t rng_u64(struct rng *rng)
{
    uint64_t low = rng_u32(rng);
    return (uint64_t)rng_u32(rng) << 32 | low;
}

uint64_t rng_below(struct rng *rng, uint64_t bound)
{
    CHECK(bound > 0);
    /* The high half of draw * bound is the answer; draws whose low half falls among the 2^64 mod bound
     * surplus ones are thrown away, or small answers would come up more often. */
    for (;;) {
        u128 product = (u128)rng_u64(rng) * bound;
        uint64_t low = (uint64_t)product;
        if (low >= bound || low >= -bound % bound) return (uint64_t)(product >> 64);
    }
}

int rng_chance(struct rng *rng, uint32_t ppm)
{
    return rng_below(rng, 1000000) < ppm;
}
