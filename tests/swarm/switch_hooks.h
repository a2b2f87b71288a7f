/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Read before src/sim/switch_node.c when it is compiled for the swarm: the inlined way into a switch, with the
 * watch at each step.  The code is the product's; only who is asked on the way differs.  The glue's `now` is used where
 * the step itself has no time.
 */
#ifndef ROCELAB_TESTS_SWARM_SWITCH_HOOKS_H
#define ROCELAB_TESTS_SWARM_SWITCH_HOOKS_H

#include "switch/hot.h"
#include "watch_hooks.h"

static inline bool hooked_find(struct sw *sw, uint32_t in, pkt_t id, bool balanced, ps_t now, struct sw_io *io,
                               struct sw_way *way)
{
    if (!watching) return sw_way_find_by(sw, in, id, balanced, now, io, way);
    watch_switch_before(sw, (uint16_t)in, id, now, io);
    bool found = sw_way_find_by(sw, in, id, balanced, now, io, way);
    if (!found) watch_switch_dropped(sw);
    return found;
}

static inline bool hooked_pass(struct sw *sw, const struct sw_way *way, ps_t now)
{
    bool passed = sw_way_pass(sw, way);
    if (watching && passed) watch_switch_passed(sw, (uint16_t)way->out, now);
    return passed;
}

static inline bool hooked_queue(struct sw *sw, const struct sw_way *way, pkt_t id, bool any, ps_t now, struct sw_io *io)
{
    bool queued = sw_way_queue_by(sw, way, id, any, now, io);
    if (watching && queued)
        watch_switch_queued(sw, (uint16_t)way->out, now);
    else if (watching)
        watch_switch_dropped(sw);
    return queued;
}

#define sw_way_find_by(sw, in, id, balanced, now_, io, way) hooked_find(sw, in, id, balanced, now_, io, way)
#define sw_way_find(sw, in, id, io, way) hooked_find(sw, in, id, false, now, io, way)
#define sw_way_find_any(sw, in, id, now_, io, way) hooked_find(sw, in, id, true, now_, io, way)
#define sw_way_pass(sw, way) hooked_pass(sw, way, now)
#define sw_way_queue_by(sw, way, id, any, now_, io) hooked_queue(sw, way, id, any, now_, io)

#endif
