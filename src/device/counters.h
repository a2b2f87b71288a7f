/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters of an opened device, as who asks gets them.
 */
#ifndef ROCELAB_DEVICE_COUNTERS_H
#define ROCELAB_DEVICE_COUNTERS_H

#include <stddef.h>
#include <stdint.h>

#include "device/device.h"
#include "record/event.h"

#define DEVICE_COUNTERS_MAX 256
#define DEVICE_COUNTER_NAME 40
#define DEVICE_EVENTS_KEPT 256 /* the last so many of a device, less one that may be being written */

struct device_counter {
    char name[DEVICE_COUNTER_NAME];
    const char *help; /* may be NULL */
    uint64_t value;
};

struct device_counter_set { /* of one opened device of one process */
    uint32_t pid, slot;     /* in the namespaces of that process */
    uint64_t device_id;     /* as others' are not */
    char device[DEVICE_NAME_MAX], ifname[DEVICE_NAME_MAX], program[DEVICE_NAME_MAX];
    unsigned counters;
    struct device_counter counter[DEVICE_COUNTERS_MAX];
    uint64_t noted; /* events since it was opened */
    unsigned events;
    struct record_event event[DEVICE_EVENTS_KEPT]; /* the last of them, in order of time */
};

#endif
