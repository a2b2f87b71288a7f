/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Struct, names and help of a TCP endpoint's counters, from counters.def.
 */
#ifndef ROCELAB_TCP_COUNTERS_H
#define ROCELAB_TCP_COUNTERS_H

#include <stddef.h>
#include <stdint.h>

struct tcp_counters {
#define COUNTER(field, name, help) uint64_t field;
#include "tcp/counters.def"
};

struct tcp_counter { /* what a field is called and means */
    const char *name, *help;
    size_t offset; /* of the uint64_t in tcp_counters */
};
extern const struct tcp_counter tcp_counter_list[]; /* ends with a NULL name */

#endif
