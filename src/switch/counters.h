/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structs, names and help of the switch's counters, from counters.def.
 */
#ifndef ROCELAB_SWITCH_COUNTERS_H
#define ROCELAB_SWITCH_COUNTERS_H

#include <stddef.h>
#include <stdint.h>

enum sw_drop {
#define DROP(name, help) SW_DROP_##name,
#include "switch/counters.def"
    SW_DROPS
};

struct sw_prio_counters {
#define PRIO(name, kind, help) uint64_t name;
#include "switch/counters.def"
};

struct sw_port_counters {
#define PORT(name, help) uint64_t name;
#include "switch/counters.def"
    uint64_t drop[SW_DROPS]; /* by enum sw_drop */
    struct sw_prio_counters prio[8];
};

enum sw_counter_kind { SW_COUNTER_COUNT, SW_COUNTER_MAX };

struct sw_counter { /* what a field is called and means */
    const char *name, *help;
    enum sw_counter_kind kind;
    size_t offset; /* of the uint64_t: in sw_port_counters, or in sw_prio_counters */
};

/* Each list ends with a NULL name.  Drops are in sw_port_counter_list as drop_<reason>. */
extern const struct sw_counter sw_port_counter_list[];
extern const struct sw_counter sw_prio_counter_list[];
extern const char *const sw_drop_name[SW_DROPS];

#endif
