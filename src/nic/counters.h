/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structs, names and help of the adapter's counters, from counters.def.
 */
#ifndef ROCELAB_NIC_COUNTERS_H
#define ROCELAB_NIC_COUNTERS_H

#include <stddef.h>
#include <stdint.h>

enum nic_drop {
#define DROP(name, help) NIC_DROP_##name,
#include "nic/counters.def"
    NIC_DROPS
};

struct nic_prio_counters {
#define PRIO(name, help) uint64_t name;
#include "nic/counters.def"
};

struct nic_counters {
#define COUNTER(name, help) uint64_t name;
#include "nic/counters.def"
    uint64_t drop[NIC_DROPS]; /* by enum nic_drop */
    struct nic_prio_counters prio[8];
};

struct nic_counter { /* what a field is called and means */
    const char *name, *help;
    size_t offset; /* of the uint64_t: in nic_counters, or in nic_prio_counters */
};

/* Each list ends with a NULL name.  Drops are in nic_counter_list as drop_<reason>. */
extern const struct nic_counter nic_counter_list[];
extern const struct nic_counter nic_prio_counter_list[];
extern const char *const nic_drop_name[NIC_DROPS];

#endif
