/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where nodes stand: tiers, and rails.  Both are read off the cables, so that a fabric that names its links has them
 * as one that a builder made.
 *
 * A tier is the role's.  A switch without a role stands one above the lowest switch that it is cabled to, and one with
 * hosts stands on tier 1; what no host reaches is there too.
 *
 * A rail is the number of an adapter within its host, where the host's adapters hang on more than one switch.  (The
 * ports that one adapter has on several planes are of one rail.)  A switch is of a rail where all its hosts are cabled
 * to it by that adapter; its other cables are of this rail then.  The storage network has none.
 */
#include "fabric/topology/topology.h"

#include "fabric/fabric.h"

static const uint8_t role_tier[FABRIC_ROLES] = {
    [FABRIC_ROLE_LEAF] = 1, [FABRIC_ROLE_SPINE] = 2, [FABRIC_ROLE_CORE] = 3};

/* One above what is known of its neighbours; 0: nothing is. */
static uint8_t tier_above(const struct fabric *fabric, uint32_t node)
{
    uint8_t lowest = UINT8_MAX;

    for (uint32_t p = 0; p < fabric->node[node].ports; p++) {
        uint32_t peer = fabric->port[fabric->node[node].first_port + p].peer;
        if (peer == FABRIC_NONE) continue;
        const struct fabric_node *other = &fabric->node[fabric->port[peer].node];
        bool known = other->kind == FABRIC_HOST || other->tier;
        if (known && other->tier < lowest) lowest = other->tier;
    }
    return lowest < UINT8_MAX - 1 ? (uint8_t)(lowest + 1) : 0;
}

/* Rounds of one tier each; what is found in a round counts in the next. */
static bool find_tiers(struct loader *loader)
{
    struct fabric *fabric = loader->fabric;
    uint8_t *found = SCRATCH_NEW(loader, uint8_t, fabric->nodes);
    bool more = true;

    if (!found) return false;
    for (uint32_t n = 0; n < fabric->nodes; n++)
        loader->node[n].tier = role_tier[fabric->node[n].role];
    while (more) {
        more = false;
        for (uint32_t n = fabric->hosts; n < fabric->nodes; n++)
            found[n] = fabric->node[n].tier ? fabric->node[n].tier : tier_above(fabric, n);
        for (uint32_t n = fabric->hosts; n < fabric->nodes; n++) {
            more |= found[n] != fabric->node[n].tier;
            loader->node[n].tier = found[n];
        }
    }
    for (uint32_t n = fabric->hosts; n < fabric->nodes; n++)
        if (fabric->node[n].tier == 0) loader->node[n].tier = 1;
    return true;
}

static uint32_t peer_node(const struct fabric *fabric, uint32_t port)
{
    return fabric->port[fabric->port[port].peer].node;
}

/* Numbers the cables of a host whose adapters hang on more than one switch. */
static void host_rails(struct loader *loader, uint32_t host, uint32_t planes)
{
    const struct fabric *fabric = loader->fabric;
    const struct fabric_node *node = &fabric->node[host];
    bool apart = false;

    for (uint32_t i = planes; i < node->gpu_ports; i += planes)
        apart |= peer_node(fabric, node->first_port + i) != peer_node(fabric, node->first_port);
    for (uint32_t i = 0; i < node->gpu_ports && apart; i++) {
        struct fabric_port *port = &loader->port[node->first_port + i];
        port->rail = loader->port[port->peer].rail = (uint16_t)(i / planes);
    }
}

/* The rail of all hosts that hang on a switch, and then of all its cables. */
static void switch_rail(struct loader *loader, uint32_t index)
{
    struct fabric_node *node = &loader->node[index];
    uint32_t hosts = loader->fabric->hosts, rail = FABRIC_NONE;

    for (uint32_t p = 0; p < node->ports; p++) {
        const struct fabric_port *port = &loader->port[node->first_port + p];
        if (port->peer == FABRIC_NONE || loader->port[port->peer].node >= hosts) continue;
        if (rail == FABRIC_NONE) rail = port->rail;
        if (rail != port->rail) return;
    }
    if (rail == FABRIC_NONE || rail == FABRIC_NO_RAIL) return;
    node->rail = (uint16_t)rail;
    for (uint32_t p = 0; p < node->ports; p++) {
        struct fabric_port *port = &loader->port[node->first_port + p];
        if (port->peer == FABRIC_NONE) continue;
        port->rail = loader->port[port->peer].rail = (uint16_t)rail;
    }
}

bool tiers_find(struct loader *loader, const struct plan *plan)
{
    const struct fabric *fabric = loader->fabric;

    for (uint32_t n = 0; n < fabric->nodes; n++)
        loader->node[n].rail = FABRIC_NO_RAIL;
    for (uint32_t p = 0; p < fabric->ports; p++)
        loader->port[p].rail = FABRIC_NO_RAIL;
    for (uint32_t h = 0; h + fabric->storage_hosts < fabric->hosts; h++)
        host_rails(loader, h, plan->planes ? plan->planes : 1);
    for (uint32_t n = fabric->hosts; n < fabric->nodes; n++)
        switch_rail(loader, n);
    return find_tiers(loader);
}
