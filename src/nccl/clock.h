/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clocks of the plugin, in nanoseconds.
 */
#ifndef ROCELAB_NCCL_CLOCK_H
#define ROCELAB_NCCL_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#endif
