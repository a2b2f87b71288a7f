/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routes: from each switch to each edge, every port on a shortest path.
 *
 * Distances first (a breadth-first walk over links that are up), then each switch groups its ports by
 * edge; switches have few distinct groups, so an edge costs two bytes.  For a fat tree of 8,192 hosts that
 * is 1,280 switches x 512 edges: 1.3 MB.
 *
 * Places with the same neighbours are twins: seen from a switch that is neither of the two nor a neighbour,
 * the way to one is the way to the other, since it ends with a neighbour of both.  So one edge of each
 * set of twins is computed (the pods of a fat tree, one in all of a leaf-spine) and the others are copied,
 * which turns edges x ports into pods x ports.
 *
 * Weighted: a port stands in its group as often as its rate is a multiple of the group's common
 * divisor, so that a hash over the group's length spreads by capacity.
 */
#include "fabric/topology/topology.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "fabric/fabric.h"
#include "fabric/routing.h"
#include "fabric/switches.h"

#define FAR UINT16_MAX
#define WEIGHT_ENTRIES 4096

struct router {
    const struct fabric *fabric;
    const uint8_t *down; /* [port] not to be used besides those that are not up; NULL: none */
    struct arena *keep, *scratch;
    struct fabric_route *route; /* [switch] */
    const uint32_t *twin;       /* [edge] the first edge with the same neighbours */
    uint32_t *row;              /* [edge] of distance[], for edges that are their own first twin */
    uint32_t rows;
    uint16_t *distance;  /* [row][switch] */
    uint32_t *near;      /* [edge] the switch it was last found to be a neighbour of, + 1 */
    uint32_t *neighbour; /* [switch port] switch at the other end of a link that is up; FABRIC_NONE */
    uint32_t first_port; /* of the first switch */
    uint16_t *port;      /* groups found so far */
    uint32_t ports, ports_room;
    struct sw_group *group; /* of the switch in work */
    uint32_t groups, groups_room;
    uint16_t *slot; /* hash -> group + 1, of the switch in work */
    uint32_t slot_mask;
    uint16_t *one; /* the group in work */
};

static bool find_places(struct loader *loader)
{
    struct fabric *fabric = loader->fabric;
    uint32_t *edge_of = KEEP_NEW(loader, uint32_t, fabric->endpoints);
    uint16_t *local = KEEP_NEW(loader, uint16_t, fabric->endpoints);
    uint32_t *edge_switch = KEEP_NEW(loader, uint32_t, fabric->switches);
    struct fabric_route *route = KEEP_NEW(loader, struct fabric_route, fabric->switches);

    if (!edge_of || !local || !edge_switch || !route) return false;
    for (uint32_t s = 0; s < fabric->switches; s++)
        route[s].own_edge = FABRIC_NONE;
    for (uint32_t e = 0; e < fabric->endpoints; e++) {
        const struct fabric_port *peer = &fabric->port[fabric->port[e].peer];
        edge_of[e] = FABRIC_NONE;
        if (peer->node < fabric->hosts) continue;
        uint32_t s = peer->node - fabric->hosts;
        if (route[s].own_edge == FABRIC_NONE) {
            edge_switch[fabric->edges] = s;
            route[s].own_edge = fabric->edges++;
        }
        edge_of[e] = route[s].own_edge;
        local[e] = peer->index;
    }
    fabric->edge_of = edge_of;
    fabric->local_port = local;
    fabric->edge_switch = edge_switch;
    fabric->route = loader->route = route;
    return true;
}

static void find_neighbours(struct router *router)
{
    const struct fabric *fabric = router->fabric;

    for (uint32_t p = router->first_port; p < fabric->ports; p++) {
        const struct fabric_port *port = &fabric->port[p];
        uint32_t *to = &router->neighbour[p - router->first_port];
        *to = FABRIC_NONE;
        if (port->peer == FABRIC_NONE || !port->up || !fabric->port[port->peer].up) continue;
        if (router->down && (router->down[p] || router->down[port->peer])) continue;
        uint32_t node = fabric->port[port->peer].node;
        if (node >= fabric->hosts) *to = node - fabric->hosts;
    }
}

/* Distances of all switches to one edge. */
static void walk(const struct router *router, uint32_t from, uint16_t *distance, uint32_t *queue)
{
    const struct fabric *fabric = router->fabric;
    uint32_t head = 0, tail = 0;

    for (uint32_t s = 0; s < fabric->switches; s++)
        distance[s] = FAR;
    distance[from] = 0;
    queue[tail++] = from;
    while (head < tail) {
        uint32_t s = queue[head++];
        const struct fabric_node *node = &fabric->node[fabric->hosts + s];
        const uint32_t *neighbour = router->neighbour + (node->first_port - router->first_port);
        uint16_t next = (uint16_t)(distance[s] + 1);
        if (next == FAR) continue;
        for (uint32_t i = 0; i < node->ports; i++) {
            uint32_t to = neighbour[i];
            if (to == FABRIC_NONE || distance[to] != FAR) continue;
            distance[to] = next;
            queue[tail++] = to;
        }
    }
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Repeats ports by rate; leaves the group alone where that would be too long. */
static uint32_t weigh(const struct router *router, const struct fabric_node *node, uint16_t *ports, uint32_t count)
{
    uint64_t divisor = 0, total = 0;
    uint32_t out = count;

    for (uint32_t i = 0; i < count; i++) {
        uint64_t rate = router->fabric->port[node->first_port + ports[i]].rate_bps;
        divisor = common_divisor(divisor, rate);
        total += rate;
    }
    if (divisor == 0 || total / divisor > WEIGHT_ENTRIES || total / divisor == count) return count;
    /* From the back, so that a port is read before its place is written. */
    uint32_t at = (uint32_t)(total / divisor);
    for (uint32_t i = count; i-- > 0;) {
        uint16_t port = ports[i];
        for (uint64_t n = router->fabric->port[node->first_port + port].rate_bps / divisor; n > 0; n--)
            ports[--at] = port;
    }
    out = (uint32_t)(total / divisor);
    return out;
}

/* The index of the group with these ports, added when it is new; FABRIC_NO_GROUP when memory ends. */
static uint16_t group_index(struct router *router, uint32_t count)
{
    uint32_t hash = 2166136261u;

    for (uint32_t i = 0; i < count; i++)
        hash = (hash ^ router->one[i]) * 16777619u;
    hash ^= hash >> 15;
    uint32_t at = hash & router->slot_mask;
    for (; router->slot[at]; at = (at + 1) & router->slot_mask) {
        const struct sw_group *group = &router->group[router->slot[at] - 1];
        if (group->count == count && memcmp(router->port + group->first, router->one, count * sizeof(uint16_t)) == 0)
            return (uint16_t)(router->slot[at] - 1);
    }
    if (router->ports + count > router->ports_room) {
        uint32_t room = (router->ports + count) * 2;
        uint16_t *grown = ARENA_NEW(router->scratch, uint16_t, room);
        if (!grown) return FABRIC_NO_GROUP;
        if (router->ports) memcpy(grown, router->port, router->ports * sizeof(uint16_t));
        router->port = grown;
        router->ports_room = room;
    }
    CHECK(router->groups < router->groups_room);
    router->group[router->groups] = (struct sw_group){.first = router->ports, .count = (uint16_t)count};
    memcpy(router->port + router->ports, router->one, count * sizeof(uint16_t));
    router->ports += count;
    router->slot[at] = (uint16_t)++router->groups;
    return (uint16_t)(router->groups - 1);
}

static const uint32_t *neighbours_of(const struct router *router, uint32_t s)
{
    return router->neighbour + (router->fabric->node[router->fabric->hosts + s].first_port - router->first_port);
}

static bool find_twins(struct router *router)
{
    const struct fabric *fabric = router->fabric;

    router->twin = fabric_twins(fabric, router->neighbour, router->scratch);
    router->row = ARENA_NEW(router->scratch, uint32_t, fabric->edges);
    router->near = ARENA_NEW(router->scratch, uint32_t, fabric->edges);
    if (!router->twin || !router->row || !router->near) return false;
    for (uint32_t p = 0; p < fabric->edges; p++)
        if (router->twin[p] == p) router->row[p] = router->rows++;
    return true;
}

/* The ports of switch s towards edge p, into router->one. */
static uint32_t ports_towards(struct router *router, uint32_t s, uint32_t p)
{
    const struct fabric *fabric = router->fabric;
    const uint32_t *neighbour = neighbours_of(router, s);
    const uint16_t *distance = router->distance + (size_t)router->row[router->twin[p]] * fabric->switches;
    uint32_t ports = fabric->node[fabric->hosts + s].ports, target = fabric->edge_switch[p], count = 0;
    bool adjacent = router->near[p] == s + 1, is_twin = s == fabric->edge_switch[router->twin[p]];

    if (s == target || (!is_twin && !adjacent && distance[s] == FAR)) return 0;
    for (uint32_t i = 0; i < ports; i++) {
        if (neighbour[i] == FABRIC_NONE) continue;
        /* Between twins any neighbour will do; beside the edge only the edge itself. */
        if (adjacent ? neighbour[i] == target : is_twin || distance[neighbour[i]] + 1 == distance[s])
            router->one[count++] = (uint16_t)i;
    }
    return count;
}

static bool route_switch(struct router *router, uint32_t s)
{
    const struct fabric *fabric = router->fabric;
    const struct fabric_node *node = &fabric->node[fabric->hosts + s];
    const uint32_t *neighbour = neighbours_of(router, s);
    uint16_t *group_of = ARENA_NEW(router->keep, uint16_t, fabric->edges);
    uint32_t own = router->route[s].own_edge;

    if (!group_of) return false;
    router->groups = 0;
    memset(router->slot, 0, (router->slot_mask + 1) * sizeof(router->slot[0]));
    for (uint32_t i = 0; i < node->ports; i++)
        if (neighbour[i] != FABRIC_NONE && router->route[neighbour[i]].own_edge != FABRIC_NONE)
            router->near[router->route[neighbour[i]].own_edge] = s + 1;
    for (uint32_t p = 0; p < fabric->edges; p++) {
        uint32_t twin = router->twin[p];
        if (twin != p && twin != own && p != own && router->near[p] != s + 1) {
            group_of[p] = group_of[twin];
            continue;
        }
        uint32_t count = ports_towards(router, s, p);
        group_of[p] = FABRIC_NO_GROUP;
        if (count == 0) continue;
        if (fabric->sw && fabric->sw[s].weighted) count = weigh(router, node, router->one, count);
        group_of[p] = group_index(router, count);
        if (group_of[p] == FABRIC_NO_GROUP) return false;
    }
    struct sw_group *group = ARENA_NEW(router->keep, struct sw_group, router->groups);
    if (!group) return false;
    if (router->groups) memcpy(group, router->group, router->groups * sizeof(*group));
    router->route[s].groups = router->groups;
    router->route[s].group = group;
    router->route[s].group_of = group_of;
    return true;
}

static bool router_init(struct router *router)
{
    const struct fabric *fabric = router->fabric;
    uint32_t slots = 16;

    router->first_port = fabric->endpoints;
    router->groups_room = fabric->edges < 65534 ? fabric->edges : 65534;
    while (slots < router->groups_room * 2)
        slots *= 2;
    router->slot_mask = slots - 1;
    router->neighbour = ARENA_NEW(router->scratch, uint32_t, fabric->ports - router->first_port);
    router->group = ARENA_NEW(router->scratch, struct sw_group, router->groups_room);
    router->slot = ARENA_NEW(router->scratch, uint16_t, slots);
    router->one = ARENA_NEW(router->scratch, uint16_t, 65536 + WEIGHT_ENTRIES);
    if (!router->neighbour || !router->group || !router->slot || !router->one) return false;
    find_neighbours(router);
    if (!find_twins(router)) return false;
    router->distance = ARENA_NEW(router->scratch, uint16_t, (size_t)router->rows * fabric->switches);
    return router->distance != NULL;
}

/* All switches' routes; the ports of their groups in an array of router->ports.  NULL when memory ends. */
static const uint16_t *router_run(struct router *router)
{
    const struct fabric *fabric = router->fabric;
    uint32_t *queue = ARENA_NEW(router->scratch, uint32_t, fabric->switches);

    if (!queue || !router_init(router)) return NULL;
    for (uint32_t p = 0; p < fabric->edges; p++)
        if (router->twin[p] == p)
            walk(router, fabric->edge_switch[p], router->distance + (size_t)router->row[p] * fabric->switches, queue);
    for (uint32_t s = 0; s < fabric->switches; s++)
        if (!route_switch(router, s)) return NULL;
    uint16_t *port = ARENA_NEW(router->keep, uint16_t, router->ports);
    if (port && router->ports) memcpy(port, router->port, router->ports * sizeof(*port));
    return port;
}

bool routes_build(struct loader *loader)
{
    struct fabric *fabric = loader->fabric;
    struct router router = {.fabric = fabric, .keep = loader->keep, .scratch = &loader->scratch};

    if (!find_places(loader)) return false;
    if (fabric->edges > 65534) {
        read_error(loader, loader->root->at, "topology: hosts hang on %u switches; 65534 at most", fabric->edges);
        return false;
    }
    router.route = loader->route;
    fabric->route_port = router_run(&router);
    fabric->route_ports = router.ports;
    if (!fabric->route_port) loader->no_memory = true;
    return fabric->route_port != NULL;
}

int fabric_reroute(const struct fabric *fabric, const uint8_t *down, struct fabric_routing **ret)
{
    struct fabric_routing *routing = calloc(1, sizeof(*routing));
    struct arena scratch;

    if (!routing) return -ENOMEM;
    arena_init(&scratch, 0);
    arena_init(&routing->arena, 0);
    struct fabric_route *route = ARENA_NEW(&routing->arena, struct fabric_route, fabric->switches);
    struct router router = {
        .fabric = fabric, .down = down, .keep = &routing->arena, .scratch = &scratch, .route = route};
    if (route) {
        for (uint32_t s = 0; s < fabric->switches; s++)
            route[s].own_edge = fabric->route[s].own_edge;
        routing->route_port = router_run(&router);
    }
    arena_release(&scratch);
    if (!routing->route_port) {
        fabric_routing_free(routing);
        return -ENOMEM;
    }
    routing->route = route;
    routing->route_ports = router.ports;
    *ret = routing;
    return 0;
}

void fabric_routing_free(struct fabric_routing *routing)
{
    if (!routing) return;
    arena_release(&routing->arena);
    free(routing);
}

bool fabric_reaches(const struct fabric *fabric, uint32_t src, uint32_t dst)
{
    return fabric_hops(fabric, src, dst) != 0;
}

uint32_t fabric_hops(const struct fabric *fabric, uint32_t src, uint32_t dst)
{
    uint32_t to = fabric->edge_of[dst], hops = 1;
    const struct fabric_port *port = &fabric->port[src];

    if (!port->up || !fabric->port[dst].up) return 0;
    if (port->peer == dst) return 1;
    while (to != FABRIC_NONE && fabric->port[port->peer].node >= fabric->hosts) {
        uint32_t node = fabric->port[port->peer].node;
        const struct fabric_route *route = &fabric->route[node - fabric->hosts];
        hops++;
        if (route->own_edge == to) return hops;
        if (route->group_of[to] == FABRIC_NO_GROUP) return 0;
        port =
            &fabric->port[fabric->node[node].first_port + fabric->route_port[route->group[route->group_of[to]].first]];
    }
    return 0;
}
