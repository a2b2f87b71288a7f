/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routes: every way through a fabric, walked without a packet.
 *
 * Distances are worked out here from the cables alone.  The next hops that a switch has towards an edge must be all
 * its neighbours that are one nearer, each of them, and no other.  So every path is a shortest one, ends where it
 * should, and all equal ones are used.  The same with some links down.
 */
#include <stdlib.h>
#include <string.h>

#include "swarm.h"

#include "fabric/fabric.h"
#include "fabric/routing.h"
#include "fabric/switches.h"

struct ways { /* a table to be judged */
    const struct fabric *fabric;
    const struct fabric_route *route;
    const uint16_t *port;
    const uint8_t *down; /* [port]; NULL: none */
};

/* The switch at the other end of a port, or FABRIC_NONE. */
static uint32_t beyond(const struct ways *ways, uint32_t port)
{
    const struct fabric *fabric = ways->fabric;
    uint32_t peer = fabric->port[port].peer;

    if (peer == FABRIC_NONE || fabric->port[peer].node < fabric->hosts) return FABRIC_NONE;
    if (!fabric->port[port].up || !fabric->port[peer].up) return FABRIC_NONE;
    if (ways->down && (ways->down[port] || ways->down[peer])) return FABRIC_NONE;
    return fabric->port[peer].node - fabric->hosts;
}

static void distances(const struct ways *ways, uint32_t from, uint32_t *distance, uint32_t *queue)
{
    const struct fabric *fabric = ways->fabric;
    uint32_t head = 0, tail = 0;

    for (uint32_t s = 0; s < fabric->switches; s++)
        distance[s] = FABRIC_NONE;
    distance[from] = 0;
    queue[tail++] = from;
    while (head < tail) {
        uint32_t s = queue[head++];
        const struct fabric_node *node = &fabric->node[fabric->hosts + s];
        for (uint32_t p = 0; p < node->ports; p++) {
            uint32_t next = beyond(ways, node->first_port + p);
            if (next == FABRIC_NONE || distance[next] != FABRIC_NONE) continue;
            distance[next] = distance[s] + 1;
            queue[tail++] = next;
        }
    }
}

static void check_switch(const struct ways *ways, uint32_t s, uint32_t edge, const uint32_t *distance)
{
    const struct fabric *fabric = ways->fabric;
    const struct fabric_node *node = &fabric->node[fabric->hosts + s];
    const struct fabric_route *route = &ways->route[s];
    uint16_t group = route->group_of[edge];
    bool reached = distance[s] != FABRIC_NONE && distance[s] != 0;
    uint32_t members = 0;
    uint8_t seen[1024] = {0};

    HOLDS(reached == (group != FABRIC_NO_GROUP), "there is a route where there is a way", "switch %u, edge %u", s,
          edge);
    if (!reached) return;
    HOLDS(group < route->groups && node->ports <= sizeof(seen), "a route is one of the switch's", "switch %u", s);
    for (uint32_t i = 0; i < route->group[group].count; i++) {
        uint32_t p = ways->port[route->group[group].first + i], next;
        HOLDS(p < node->ports, "a route leads to a port", "switch %u: %u", s, p);
        next = beyond(ways, node->first_port + p);
        HOLDS(next != FABRIC_NONE && distance[next] + 1 == distance[s], "each hop is one nearer",
              "switch %u port %u, edge %u", s, p, edge);
        HOLDS(!seen[p] || fabric->sw[s].weighted, "a next hop counts once", "switch %u port %u", s, p);
        members += !seen[p];
        seen[p] = 1;
    }
    for (uint32_t p = 0; p < node->ports; p++) {
        uint32_t next = beyond(ways, node->first_port + p);
        members -= next != FABRIC_NONE && distance[next] + 1 == distance[s];
    }
    HOLDS(members == 0, "all ways of equal cost are used", "switch %u, edge %u", s, edge);
}

static void check_ways(const struct ways *ways)
{
    const struct fabric *fabric = ways->fabric;
    uint32_t *distance = calloc(2 * (size_t)fabric->switches + 1, sizeof(*distance));

    CHECK(distance);
    for (uint32_t edge = 0; edge < fabric->edges; edge++) {
        distances(ways, fabric->edge_switch[edge], distance, distance + fabric->switches);
        for (uint32_t s = 0; s < fabric->switches; s++)
            check_switch(ways, s, edge, distance);
    }
    free(distance);
}

void routes_check(const struct fabric *fabric, uint64_t seed)
{
    struct ways ways = {.fabric = fabric, .route = fabric->route, .port = fabric->route_port};
    struct fabric_routing *routing;
    struct rng rng;

    for (uint32_t e = 0; e < fabric->endpoints; e++) {
        const struct fabric_port *hung_on = &fabric->port[fabric->port[fabric->endpoint[e].port].peer];
        uint32_t edge = fabric->edge_of[e];
        HOLDS(edge != FABRIC_NONE && fabric->edge_switch[edge] == hung_on->node - fabric->hosts &&
                  fabric->route[fabric->edge_switch[edge]].own_edge == edge && fabric->local_port[e] == hung_on->index,
              "an endpoint hangs where its cable ends", "endpoint %u", e);
    }
    check_ways(&ways);
    rng_init(&rng, seed, 78);
    if (rng_below(&rng, 4)) return;
    uint8_t *down = calloc(fabric->ports + 1u, 1);
    CHECK(down);
    for (uint32_t i = 0; i < 1 + fabric->ports / 16; i++)
        down[rng_below(&rng, fabric->ports)] = 1;
    CHECK(fabric_reroute(fabric, down, &routing) == 0);
    check_ways(&(struct ways){.fabric = fabric, .route = routing->route, .port = routing->route_port, .down = down});
    fabric_routing_free(routing);
    free(down);
}

/* Over all runs: how often each member of a group of so many was chosen, by flows' first packets. */
#define GROUP_MAX 5
static uint64_t chosen[GROUP_MAX][GROUP_MAX];

void routes_chosen(uint32_t members, uint32_t which)
{
    if (members < GROUP_MAX) chosen[members][which]++;
}

void routes_shares(void)
{
    for (uint32_t n = 2; n < GROUP_MAX; n++) {
        uint64_t all = 0;
        for (uint32_t i = 0; i < n; i++)
            all += chosen[n][i];
        for (uint32_t i = 0; i < n && all > 3000; i++)
            HOLDS(chosen[n][i] * n * 4 > 3 * all && chosen[n][i] * n * 4 < 5 * all, "flows are spread evenly",
                  "member %u of %u has %lu of %lu", i, n, (unsigned long)chosen[n][i], (unsigned long)all);
    }
}
