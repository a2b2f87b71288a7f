/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ways through a fabric: who reaches whom, and what its routes are when ports are down.
 */
#ifndef ROCELAB_FABRIC_ROUTING_H
#define ROCELAB_FABRIC_ROUTING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

struct fabric;
struct fabric_route;

bool fabric_reaches(const struct fabric *fabric, uint32_t src, uint32_t dst); /* endpoints */
/* Links between two endpoints on a shortest path; 0 when unreachable. */
uint32_t fabric_hops(const struct fabric *fabric, uint32_t src, uint32_t dst);

/* Routes when ports are down, for the simulator and for checks: as fabric's own, without the links of which
 * either end is marked in down[port] (or not up).  0 or -ENOMEM. */
struct fabric_routing {
    const struct fabric_route *route; /* [switches] */
    const uint16_t *route_port;
    uint32_t route_ports;
    struct arena arena;
};
int fabric_reroute(const struct fabric *fabric, const uint8_t *down, struct fabric_routing **ret);
void fabric_routing_free(struct fabric_routing *routing);

/* [edge] the first edge whose switch has the same neighbours in order of its ports (itself, where it is the first).
 * neighbour[port of switches] is a switch, or FABRIC_NONE.  NULL: there is no memory. */
uint32_t *fabric_twins(const struct fabric *fabric, const uint32_t *neighbour, struct arena *arena);

#endif
