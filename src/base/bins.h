/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Balls in bins: how full the fullest is when each ball falls into one at random, as flows do onto equal links under an
 * ideal hash.
 *
 * Thrown many times rather than computed: formulas with a logarithm hold for many bins only.  The seed follows from the
 * two numbers, so that the answer is always the same.
 */
#ifndef ROCELAB_BASE_BINS_H
#define ROCELAB_BASE_BINS_H

#include <stdint.h>

struct bins_thrown {
    uint64_t most_sum; /* balls in the fullest bin, added up over the trials */
    uint32_t most;     /* in the worst of them */
};
/* CHECKs that there are balls, bins and trials; bin[bins] is scratch of the caller. */
struct bins_thrown bins_throw(uint32_t balls, uint32_t *bin, uint32_t bins, uint32_t trials);

#endif
