/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel Random
 * Numbers: As Easy as 1, 2, 3", SC 2011).
 *
 * A draw is a pure function of (seed, stream, counter).  Every node, QP and test draws from a
 * stream of its own, so the numbers one of them sees do not depend on what others drew, nor on
 * the number of threads: that is half of the determinism rule.
 */
#ifndef ROCELAB_BASE_RNG_H
#define ROCELAB_BASE_RNG_H

#include <stdint.h>

void rng_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t ret[4]);

struct rng {
    uint64_t seed, stream, counter; /* counter: blocks already drawn */
    uint32_t block[4];
    uint32_t left; /* words of `block` not yet given out */
};

void rng_init(struct rng *rng, uint64_t seed, uint64_t stream);
uint32_t rng_u32(struct rng *rng);
uint64_t rng_u64(struct rng *rng);
/* Uniform in [0, bound), without bias.  CHECKs bound > 0. */
uint64_t rng_below(struct rng *rng, uint64_t bound);
/* True with probability ppm / 1,000,000. */
int rng_chance(struct rng *rng, uint32_t ppm);

#endif
