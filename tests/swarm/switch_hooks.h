/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Read before src/sim/visit_switch.c when it is compiled for the swarm: the inlined way into a switch, with the
 * watch at each step.  The code is the product's; only who is asked on the way differs.  The glue's `now` is used where
 * the step itself has no time.
 */
#ifndef ROCELAB_TESTS_SWARM_SWITCH_HOOKS_H
#define ROCELAB_TESTS_SWARM_SWITCH_HOOKS_H

#include "switch/crossing.h"
#include "watch_hooks.h"

static inline bool hooked_find(struct sw *sw, uint32_t in, pkt_t id, bool simple, ps_t now, struct sw_io *io,
                               struct sw_crossing *crossing)
{
    if (!watching) return sw_cross_find(sw, in, id, simple, now, io, crossing);
    watch_switch_before(sw, (uint16_t)in, id, now, io);
    bool found = sw_cross_find(sw, in, id, simple, now, io, crossing);
    if (!found) watch_switch_dropped(sw);
    return found;
}

static inline bool hooked_pass(struct sw *sw, const struct sw_crossing *crossing, ps_t now)
{
    bool passed = sw_cross_at_once(sw, crossing);
    if (watching && passed) watch_switch_passed(sw, (uint16_t)crossing->out, now);
    return passed;
}

static inline bool hooked_queue(struct sw *sw, const struct sw_crossing *crossing, pkt_t id, bool simple, ps_t now,
                                struct sw_io *io)
{
    bool queued = sw_cross_queue(sw, crossing, id, simple, now, io);
    if (watching && queued)
        watch_switch_queued(sw, (uint16_t)crossing->out, now);
    else if (watching)
        watch_switch_dropped(sw);
    return queued;
}

#define sw_cross_find(sw, in, id, simple, now_, io, crossing) hooked_find(sw, in, id, simple, now_, io, crossing)
#define sw_cross_at_once(sw, crossing) hooked_pass(sw, crossing, now)
#define sw_cross_queue(sw, crossing, id, simple, now_, io) hooked_queue(sw, crossing, id, simple, now_, io)

#endif
