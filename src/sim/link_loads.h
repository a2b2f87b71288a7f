/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Balls in bins: how evenly a load lies on parallel links, by what each of them carries.
 */
#ifndef ROCELAB_SIM_LINK_LOADS_H
#define ROCELAB_SIM_LINK_LOADS_H

#include <stdint.h>

struct link_loads { /* a zeroed struct is empty */
    double sum, most;
    uint32_t links;
};

static inline void link_loads_add(struct link_loads *loads, double load)
{
    loads->sum += load;
    loads->links++;
    if (load > loads->most) loads->most = load;
}

/* 0 where nothing is carried. */
static inline double link_loads_mean(const struct link_loads *loads)
{
    return loads->links ? loads->sum / loads->links : 0;
}

/* The fullest link over the mean; something is carried. */
static inline double link_loads_max_mean(const struct link_loads *loads)
{
    return loads->most / link_loads_mean(loads);
}

#endif
