/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See copper.h: what is assumed of racks is said there.
 */
#include "fabric/copper.h"

#include "fabric/fabric.h"

#define COPPER_MM 3000u
#define COPPER_FAST_MM 2000u
#define COPPER_FAST_BPS UINT64_C(400000000000) /* above it */
#define NEXT_RACK_MM 2000u
#define RACKS_NEAR 3u
#define RACK 1000u /* parts of a rack */

/* What the file says is in a device; false: nothing of its optics. */
static bool names_optics(const struct fabric *fabric, uint32_t node)
{
    const struct fabric_device *const *devices = fabric->operations.device;

    return devices && devices[node] && devices[node]->installed[FABRIC_PART_OPTICS];
}

bool fabric_copper(const struct fabric *fabric, uint32_t port)
{
    const struct fabric_port *as = &fabric->port[port];

    return as->cable_mm <= (as->rate_bps > COPPER_FAST_BPS ? COPPER_FAST_MM : COPPER_MM) &&
           !names_optics(fabric, as->node) && !names_optics(fabric, fabric->port[as->peer].node);
}

static uint32_t part_of_rack(uint32_t gpus)
{
    return gpus > 16 ? RACK : gpus > 4 ? RACK / 4 : gpus > 1 ? RACK / 20 : RACK / 40;
}

/* The host at the other end of a switch's port, once for all of its copper to this switch; FABRIC_NONE. */
static uint32_t host_at(const struct fabric *fabric, uint32_t node, uint32_t port, bool said)
{
    uint32_t peer = fabric->port[port].peer;
    uint32_t host = peer == FABRIC_NONE ? FABRIC_NONE : fabric->port[peer].node;

    if (host >= fabric->hosts || fabric_node_unknown(fabric, host) || fabric_node_unknown(fabric, node))
        return FABRIC_NONE;
    for (uint32_t p = fabric->node[host].first_port; p < peer; p++) {
        uint32_t to = fabric->port[p].peer;
        if (to != FABRIC_NONE && fabric->port[to].node == node && fabric_copper(fabric, to) &&
            (fabric->port[to].cable_known || !said))
            return FABRIC_NONE;
    }
    return fabric_copper(fabric, port) && (fabric->port[port].cable_known || !said) ? host : FABRIC_NONE;
}

bool fabric_crowd_find(const struct fabric *fabric, uint32_t node, bool said, struct fabric_crowd *ret)
{
    const struct fabric_node *as = &fabric->node[node];
    struct fabric_crowd crowd = {.port = FABRIC_NONE};
    uint64_t parts = 0;

    for (uint32_t p = as->first_port; p < as->first_port + as->ports; p++) {
        uint32_t host = host_at(fabric, node, p, said);
        if (host == FABRIC_NONE) continue;
        if (crowd.port == FABRIC_NONE) crowd.port = p;
        if (fabric->port[p].cable_mm > crowd.cable_mm) crowd.cable_mm = fabric->port[p].cable_mm;
        parts += part_of_rack(fabric->node[host].gpus);
        crowd.hosts++;
    }
    crowd.racks = crowd.cable_mm >= NEXT_RACK_MM ? RACKS_NEAR : 1;
    if (parts <= (uint64_t)crowd.racks * RACK) return false;
    crowd.reach = (uint32_t)((uint64_t)crowd.hosts * crowd.racks * RACK / parts);
    *ret = crowd;
    return true;
}

uint32_t fabric_crowds(const struct fabric *fabric, struct fabric_crowd *ret)
{
    struct fabric_crowd crowd;
    uint32_t crowds = 0;

    for (uint32_t n = fabric->hosts; n < fabric->nodes; n++) {
        if (!fabric_crowd_find(fabric, n, false, &crowd)) continue;
        if (!crowds++ || crowd.hosts - crowd.reach > ret->hosts - ret->reach) *ret = crowd;
    }
    return crowds;
}
