/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters of the adapters that run on this machine, as another process sees them.
 */
#ifndef ROCELAB_LIVE_COUNTERS_H
#define ROCELAB_LIVE_COUNTERS_H

#include "device/counters.h"

/* Every adapter of this user that runs now; free() the answer.  Names are those of nic/counters.def (mlx5's where it
 * has one; those of a priority with its number, rx_prio3_pause), wire_* for the wire's, and the loop's own. */
int live_counters_read(struct device_counter_set **ret, unsigned *ret_count);

#endif
