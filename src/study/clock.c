/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one place of the simulator's command line that reads a clock.
 */
#include "study/clock.h"

#include <time.h>

uint64_t clock_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
