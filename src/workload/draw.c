/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exponential gaps and sizes off a distribution, without floating point.
 *
 * A logarithm out of libm differs in its last bit from library to library, compilers contract and reorder, and one
 * picosecond of one arrival changes the digest of a run.  So the draws are integers throughout:
 *
 *   -ln(x / 2^53) = (53 - e) ln 2 - ln m,   x = m 2^e, 1 <= m < 2,
 *   ln m = 2 artanh z = 2 (z + z^3/3 + z^5/5 + ...),   z = (m - 1) / (m + 1) < 1/3,
 *
 * with 60 fraction bits; twenty terms, since 9^-20 < 2^-60.  A term is rounded down by at most two units, so the sum is
 * off by less than 2^-53.  A draw happens once a flow, when a run is set up: its cost does not matter.
 *
 * A line's mean gap is (mean size) / (load x rate); it is divided out once a source, with 16 fraction bits of a
 * picosecond.
 */
#include "workload/draw.h"

#include "base/check.h"
#include "fabric/work.h"

#define FRACTION 60
#define LN2 799144290325165978ULL /* ln 2, 60 fraction bits */
#define TERMS 20u
#define PPB_BITS 32 /* a point on the distribution's axis: parts of 10^9, with this many fraction bits */

uint64_t draw_uniform(struct rng *rng)
{
    return (rng_u64(rng) >> (64 - DRAW_BITS)) + 1;
}

/* ln(mantissa / 2^60), 60 fraction bits; the mantissa is in [2^60, 2^61). */
static uint64_t log_mantissa(uint64_t mantissa)
{
    const uint64_t one = 1ULL << FRACTION;
    uint64_t z = (uint64_t)(((u128)(mantissa - one) << FRACTION) / (mantissa + one));
    uint64_t square = (uint64_t)((u128)z * z >> FRACTION), power = z, sum = 0;

    for (uint32_t i = 0; i < TERMS; i++) {
        sum += power / (2 * i + 1);
        power = (uint64_t)((u128)power * square >> FRACTION);
    }
    return 2 * sum;
}

uint64_t draw_log(uint64_t x)
{
    CHECK(x > 0 && x <= 1ULL << DRAW_BITS);
    uint32_t exponent = 63 - (uint32_t)__builtin_clzll(x);
    u128 whole = (u128)(DRAW_BITS - exponent) * LN2;
    uint64_t part = log_mantissa(x << (FRACTION - exponent));

    return (uint64_t)((whole > part ? whole - part : 0) >> (FRACTION - DRAW_LOG_BITS));
}

u128 draw_mean_gap(const struct fabric_job *job, uint64_t rate_bps)
{
    CHECK(rate_bps && job->load_ppm);
    /* Twice the mean, times 10^9: under each straight line the mean is halfway. */
    u128 twice = 2 * (u128)job->cdf[0].bytes * job->cdf[0].ppb;
    for (uint32_t i = 1; i < job->cdf_points; i++)
        twice += ((u128)job->cdf[i - 1].bytes + job->cdf[i].bytes) * (job->cdf[i].ppb - job->cdf[i - 1].ppb);
    if (twice < 2000000000u) twice = 2000000000u; /* nothing is smaller than a byte */
    if (twice >> 95) twice = (u128)1 << 95;       /* nor so large that the product below overflows */

    /* bytes / 10^9 / 2 * 8 bits * 10^12 ps / (rate * load / 10^6) */
    u128 above = twice * 4000000000u, below = (u128)rate_bps * job->load_ppm;
    u128 whole = above / below, rest = above % below;
    if (whole >= PS_NEVER) whole = PS_NEVER, rest = 0;
    return (whole << DRAW_GAP_BITS) + (rest << DRAW_GAP_BITS) / below;
}

u128 draw_gap(u128 mean, struct rng *rng)
{
    /* 80 bits of mean, 46 of logarithm */
    return mean * draw_log(draw_uniform(rng)) >> DRAW_LOG_BITS;
}

uint64_t draw_size(const struct fabric_job *job, struct rng *rng)
{
    uint64_t at = (uint64_t)((u128)draw_uniform(rng) * 1000000000u >> (DRAW_BITS - PPB_BITS));

    for (uint32_t i = 1; i < job->cdf_points; i++) {
        const struct fabric_cdf *low = &job->cdf[i - 1], *high = &job->cdf[i];
        uint64_t from = (uint64_t)low->ppb << PPB_BITS, to = (uint64_t)high->ppb << PPB_BITS;
        if (at > to) continue;
        uint64_t bytes = low->bytes;
        if (at > from) bytes += (uint64_t)((u128)(high->bytes - low->bytes) * (at - from) / (to - from));
        return bytes ? bytes : 1;
    }
    return job->cdf[job->cdf_points - 1].bytes;
}
