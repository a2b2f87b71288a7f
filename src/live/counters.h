/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters of the adapters that run on this machine, as another process sees them.
 */
#ifndef ROCELAB_LIVE_COUNTERS_H
#define ROCELAB_LIVE_COUNTERS_H

#include <stddef.h>
#include <stdint.h>

#include "live/live.h"
#include "record/event.h"

#define LIVE_COUNTERS_MAX 256
#define LIVE_COUNTER_NAME 40
#define LIVE_EVENTS_KEPT 256 /* the last so many of a device, less one that may be being written */

struct live_counter {
    char name[LIVE_COUNTER_NAME];
    const char *help; /* may be NULL */
    uint64_t value;
};

struct live_counter_set { /* of one opened device of one process */
    uint32_t pid, slot;   /* in the namespaces of that process */
    uint64_t device_id;   /* as others' are not */
    char device[LIVE_NAME_MAX], ifname[LIVE_NAME_MAX], program[LIVE_NAME_MAX];
    unsigned counters;
    struct live_counter counter[LIVE_COUNTERS_MAX];
    uint64_t noted; /* events since it was opened */
    unsigned events;
    struct record_event event[LIVE_EVENTS_KEPT]; /* the last of them, in order of time (live_now()) */
};

/* Every adapter of this user that runs now; free() the answer.  Names are those of nic/counters.def (mlx5's where it
 * has one; those of a priority with its number, rx_prio3_pause), wire_* for the wire's, and the loop's own. */
int live_counters_read(struct live_counter_set **ret, unsigned *ret_count);
/* The same for who has listed this device: its adapter alone, where that is not one of this machine's. */
int live_device_counters(const struct live_device *device, struct live_counter_set **ret, unsigned *ret_count);

#endif
