/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In which order a node takes its events: the one rule that every driver keeps.
 *
 * By time; at one time by kind: control words, frames, ports that are free, the machine's deadline; of one kind by
 * port.  So all that arrives at one moment is in its queue before any port chooses, and a pause that comes with a frame
 * is obeyed before it.  A node sees nothing else: two drivers that keep this order, whatever they do between nodes and
 * however they move frames, give the same run.
 *
 * The order is one number, a key: time << 12 | kind << 10 | port.  52 bits of picoseconds are 75 minutes of virtual
 * time; longer runs are refused when they are set up.
 */
#ifndef ROCELAB_NODE_ORDER_H
#define ROCELAB_NODE_ORDER_H

#include <stdint.h>

#include "base/time.h"

#define EVENT_BITS 12
#define EVENT_PORT_BITS 10
#define NODE_PORTS_MAX (1u << EVENT_PORT_BITS)
#define NODE_TIME_MAX (PS_NEVER >> EVENT_BITS)
#define EVENT_NEVER UINT64_MAX
enum event_kind { EVENT_CONTROL, EVENT_ARRIVAL, EVENT_FREE, EVENT_TICK };

static inline uint64_t event_key(ps_t at, enum event_kind kind, uint32_t port)
{
    return at >= NODE_TIME_MAX ? EVENT_NEVER : at << EVENT_BITS | (uint64_t)kind << EVENT_PORT_BITS | port;
}

/* Where `at` is known to be a time of the run. */
static inline uint64_t event_key_near(ps_t at, enum event_kind kind, uint32_t port)
{
    return at << EVENT_BITS | (uint64_t)kind << EVENT_PORT_BITS | port;
}

static inline ps_t event_time(uint64_t key)
{
    ps_t at = key >> EVENT_BITS;
    return at >= NODE_TIME_MAX ? PS_NEVER : at;
}

static inline enum event_kind event_kind(uint64_t key)
{
    return (enum event_kind)(key >> EVENT_PORT_BITS & 3);
}

static inline uint32_t event_port(uint64_t key)
{
    return (uint32_t)key & (NODE_PORTS_MAX - 1);
}

#endif
