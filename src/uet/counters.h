/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Struct, names and help of an Ultra Ethernet endpoint's counters, from counters.def.
 */
#ifndef ROCELAB_UET_COUNTERS_H
#define ROCELAB_UET_COUNTERS_H

#include <stddef.h>
#include <stdint.h>

struct uet_counters {
#define COUNTER(name, help) uint64_t name;
#include "uet/counters.def"
#undef COUNTER
};
struct uet_counter {
    const char *name, *help; /* NULL: the list ends */
    size_t offset;
};
extern const struct uet_counter uet_counter_list[];

#endif
