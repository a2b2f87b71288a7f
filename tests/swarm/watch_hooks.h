/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the hooks in the switch's glue tell the watch: see switch_hooks.h.
 */
#ifndef ROCELAB_TESTS_SWARM_WATCH_HOOKS_H
#define ROCELAB_TESTS_SWARM_WATCH_HOOKS_H

#include "switch/switch.h"

struct watch;
extern struct watch *watching; /* NULL: look away */

/* A packet arrived; then exactly one of the others. */
void watch_switch_before(struct sw *sw, uint16_t in, pkt_t id, ps_t now, const struct sw_io *io);
void watch_switch_dropped(const struct sw *sw);
void watch_switch_queued(const struct sw *sw, uint16_t out, ps_t now);
void watch_switch_passed(const struct sw *sw, uint16_t out, ps_t now); /* in and out at once */

#endif
