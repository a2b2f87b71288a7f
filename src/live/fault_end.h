/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the faults that were asked for have done to a process, told when it ends: fault_end.c.
 */
#ifndef ROCELAB_LIVE_FAULT_END_H
#define ROCELAB_LIVE_FAULT_END_H

struct nic_counters;
struct wire_counters;

/* Of an adapter that ends, by any thread. */
void fault_end_count(const struct wire_counters *wire, const struct nic_counters *nic);
void fault_end_forget(void); /* in the child of a fork */
void fault_end_say(void);    /* the process ends */

#endif
