/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bins.h"

#include "base/check.h"
#include "base/rng.h"

struct bins_thrown bins_throw(uint32_t balls, uint32_t *bin, uint32_t bins, uint32_t trials)
{
    struct bins_thrown thrown = {0};
    struct rng rng;

    CHECK(balls && bins && trials);
    rng_init(&rng, balls * 1000u + bins, 0);
    for (uint32_t trial = 0; trial < trials; trial++) {
        uint32_t most = 0;
        for (uint32_t i = 0; i < bins; i++)
            bin[i] = 0;
        for (uint32_t i = 0; i < balls; i++) {
            uint32_t at = rng_u32(&rng) % bins;
            if (++bin[at] > most) most = bin[at];
        }
        thrown.most_sum += most;
        if (most > thrown.most) thrown.most = most;
    }
    return thrown;
}
