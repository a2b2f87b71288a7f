/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What holds for every fabric, whichever builder made it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support.h"

#include "switch/config.h"

static void check_port(const struct fabric *fabric, uint32_t p, uint64_t step)
{
    const struct fabric_port *port = &fabric->port[p];

    EXPECT(port->settings < fabric->settings_count, step);
    if (port->peer == FABRIC_NONE) {
        EXPECT(!port->up && port->rate_bps == 0, step);
        return;
    }
    const struct fabric_port *peer = &fabric->port[port->peer];
    EXPECT(port->peer < fabric->ports && peer->peer == p && peer->node != port->node, step);
    EXPECT(peer->rate_bps == port->rate_bps && port->rate_bps > 0, step);
    EXPECT(peer->cable_mm == port->cable_mm && peer->propagation_ps == port->propagation_ps, step);
    EXPECT(port->propagation_ps > 0 && peer->up == port->up, step);
}

static void check_endpoint(const struct fabric *fabric, uint32_t e, uint64_t step)
{
    const struct fabric_endpoint *endpoint = &fabric->endpoint[e];
    const struct fabric_port *port = &fabric->port[endpoint->port];
    const struct fabric_port *peer = &fabric->port[port->peer];

    EXPECT(endpoint->port == e && port->node == endpoint->host && endpoint->host < fabric->hosts, step);
    EXPECT(endpoint->index == port->index && endpoint->nic < fabric->nics, step);
    EXPECT(fabric->first_endpoint[endpoint->host] + endpoint->index == e, step);
    if (e > 0) EXPECT(memcmp(fabric->endpoint[e - 1].address, endpoint->address, 4) < 0, step);
    if (peer->node < fabric->hosts) {
        EXPECT(fabric->edge_of[e] == FABRIC_NONE, step);
        return;
    }
    uint32_t edge = fabric->edge_of[e];
    EXPECT(edge < fabric->edges, step);
    EXPECT(fabric->edge_switch[edge] == peer->node - fabric->hosts, step);
    EXPECT(fabric->route[peer->node - fabric->hosts].own_edge == edge, step);
    EXPECT(fabric->local_port[e] == peer->index, step);
}

void check_arrays(const struct fabric *fabric, uint64_t step)
{
    uint32_t ports = 0;
    char name[FABRIC_NAME];

    EXPECT(fabric->nodes == fabric->hosts + fabric->switches, step);
    for (uint32_t n = 0; n < fabric->nodes; n++) {
        const struct fabric_node *node = &fabric->node[n];
        EXPECT(node->kind == (n < fabric->hosts ? FABRIC_HOST : FABRIC_SWITCH), step);
        EXPECT((node->role == FABRIC_ROLE_HOST) == (n < fabric->hosts), step);
        EXPECT(node->first_port == ports, step);
        EXPECT(fabric_find_node(fabric, node->name) == n, step);
        for (uint32_t i = 0; i < node->ports; i++) {
            EXPECT(fabric->port[ports + i].node == n && fabric->port[ports + i].index == i, step);
            EXPECT(fabric_find_port(fabric, fabric_port_name(fabric, ports + i, name)) == ports + i, step);
        }
        ports += node->ports;
    }
    EXPECT(ports == fabric->ports, step);
    for (uint32_t p = 0; p < fabric->ports; p++)
        check_port(fabric, p, step);
    for (uint32_t e = 0; e < fabric->endpoints; e++)
        check_endpoint(fabric, e, step);
    EXPECT(fabric->first_endpoint[fabric->hosts] == fabric->endpoints, step);
}

/* Distances to an edge, by relaxing every link until nothing changes: slow, and unlike what it checks. */
static void relax(const struct fabric *fabric, uint32_t edge, uint32_t *distance)
{
    bool changed = true;

    for (uint32_t s = 0; s < fabric->switches; s++)
        distance[s] = s == fabric->edge_switch[edge] ? 0 : UINT32_MAX / 2;
    while (changed) {
        changed = false;
        for (uint32_t p = fabric->endpoints; p < fabric->ports; p++) {
            const struct fabric_port *port = &fabric->port[p];
            if (port->peer == FABRIC_NONE || !port->up || fabric->port[port->peer].node < fabric->hosts) continue;
            uint32_t s = port->node - fabric->hosts, t = fabric->port[port->peer].node - fabric->hosts;
            if (distance[t] + 1 < distance[s]) {
                distance[s] = distance[t] + 1;
                changed = true;
            }
        }
    }
}

static bool in_group(const struct fabric *fabric, const struct sw_group *group, uint16_t port)
{
    for (uint32_t i = 0; group && i < group->count; i++)
        if (fabric->route_port[group->first + i] == port) return true;
    return false;
}

void check_routes(const struct fabric *fabric, uint64_t step)
{
    uint32_t *distance = calloc(fabric->switches + 1u, sizeof(*distance));

    assert_non_null(distance);
    for (uint32_t edge = 0; edge < fabric->edges; edge++) {
        relax(fabric, edge, distance);
        for (uint32_t s = 0; s < fabric->switches; s++) {
            const struct fabric_route *route = &fabric->route[s];
            const struct fabric_node *node = &fabric->node[fabric->hosts + s];
            uint16_t index = route->group_of[edge];
            bool reachable = distance[s] > 0 && distance[s] < UINT32_MAX / 2;

            EXPECT((index != FABRIC_NO_GROUP) == reachable, step);
            EXPECT((route->own_edge == edge) == (distance[s] == 0), step);
            if (!reachable) continue;
            EXPECT(index < route->groups && route->group[index].count > 0, step);
            for (uint32_t i = 0; i < node->ports; i++) {
                const struct fabric_port *port = &fabric->port[node->first_port + i];
                bool nearer = port->peer != FABRIC_NONE && port->up && fabric->port[port->peer].node >= fabric->hosts &&
                              distance[fabric->port[port->peer].node - fabric->hosts] + 1 == distance[s];
                EXPECT(in_group(fabric, &route->group[index], (uint16_t)i) == nearer, step);
            }
        }
    }
    free(distance);
}

static void follow(const struct fabric *fabric, uint32_t node, uint32_t edge, bool turned, uint64_t step)
{
    const struct fabric_route *route = &fabric->route[node - fabric->hosts];

    if (route->own_edge == edge || route->group_of[edge] == FABRIC_NO_GROUP) return;
    const struct sw_group *group = &route->group[route->group_of[edge]];
    for (uint32_t i = 0; i < group->count; i++) {
        uint32_t port = fabric->node[node].first_port + fabric->route_port[group->first + i];
        uint32_t next = fabric->port[fabric->port[port].peer].node;
        bool up = fabric->node[next].role > fabric->node[node].role;
        EXPECT(fabric->node[next].role >= FABRIC_ROLE_LEAF, step);
        EXPECT(!(turned && fabric->node[next].role >= fabric->node[node].role), step);
        follow(fabric, next, edge, turned || !up, step);
    }
}

void check_valleys(const struct fabric *fabric, uint64_t step)
{
    for (uint32_t from = 0; from < fabric->edges; from++)
        for (uint32_t to = 0; to < fabric->edges; to++)
            follow(fabric, fabric->hosts + fabric->edge_switch[from], to, false, step);
}

static uint64_t paths_from(const struct fabric *fabric, uint32_t node, uint32_t edge)
{
    const struct fabric_route *route = &fabric->route[node - fabric->hosts];
    uint64_t paths = 0;

    if (route->own_edge == edge) return 1;
    if (route->group_of[edge] == FABRIC_NO_GROUP) return 0;
    const struct sw_group *group = &route->group[route->group_of[edge]];
    for (uint32_t i = 0; i < group->count; i++) {
        const struct fabric_port *port =
            &fabric->port[fabric->node[node].first_port + fabric->route_port[group->first + i]];
        paths += paths_from(fabric, fabric->port[port->peer].node, edge);
    }
    return paths;
}

uint64_t count_paths(const struct fabric *fabric, uint32_t src, uint32_t dst)
{
    return paths_from(fabric, fabric->port[fabric->port[src].peer].node, fabric->edge_of[dst]);
}
