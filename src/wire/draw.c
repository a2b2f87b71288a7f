/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's random numbers, or none: a run with ROCELAB_SEED counts from the beginning, the same each time.
 */
#include "wire/draw.h"

#include <stdlib.h>
#include <sys/random.h>

uint32_t draw_below(uint32_t below)
{
    const char *seed = getenv("ROCELAB_SEED");
    uint64_t number;

    if ((seed && seed[0]) || getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number) return 0;
    return (uint32_t)(number % below);
}
