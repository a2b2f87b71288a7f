/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small sums that many need: powers of two, whole cache lines, and a pause for a processor that spins.
 */
#ifndef ROCELAB_BASE_BITS_H
#define ROCELAB_BASE_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/check.h"

#define LINE_BYTES 64u /* of a cache line */

static inline bool is_power_of_two(uint64_t n)
{
    return n != 0 && (n & (n - 1)) == 0;
}

/* The least power of two that is not less than n; at most 2^31. */
static inline uint32_t power_of_two_up(uint32_t n)
{
    CHECK(n <= 1u << 31);
    return n <= 1 ? 1 : 1u << (32 - __builtin_clz(n - 1));
}

/* Bytes of whole cache lines that hold so many. */
static inline size_t lines_up(size_t bytes)
{
    return (bytes + LINE_BYTES - 1) & ~(size_t)(LINE_BYTES - 1);
}

/* Of a loop that waits for another core: lets the other hyperthread work. */
static inline void cpu_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
