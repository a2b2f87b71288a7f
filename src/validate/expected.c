/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a set of flows can have of a fabric's links: the rates that are max-min fair over the ways that the balance
 * gives them.
 *
 * Where a switch hashes, ways are drawn as an ideal hash would, many times over: of the sums the one that nineteen of
 * twenty draws reach is the answer, so that bad luck alone does not fail a fabric and a bad hash does.  Where it sprays
 * or adapts a flow is split evenly over its next hops, and one draw is all there are.  Nothing of congestion control or
 * pauses is in it; headers are not: rates are those of lines.
 */
#include "validate/expected.h"

#include <stdlib.h>

#include "base/grow.h"
#include "base/rng.h"
#include "base/time.h"
#include "fabric/fabric.h"
#include "fabric/switches.h"

#define HOPS_MOST 16u
#define DRAWS 100u
#define UNLUCKY 5u         /* draws of these that may be below the answer */
#define WORK_MOST 2000000u /* ways, over all draws */

struct way { /* a flow's part on a link */
    uint32_t flow, port;
    double share;
};

struct ways {
    const struct fabric *fabric;
    struct rng rng;
    struct way *way;
    uint32_t count, room;
    bool drawn; /* a hash was asked */
};

static void add_way(struct ways *ways, uint32_t flow, uint32_t port, double share)
{
    GROW(ways->way, ways->count, ways->room);
    ways->way[ways->count++] = (struct way){flow, port, share};
}

/* From a switch on. */
static void follow(struct ways *ways, uint32_t flow, uint32_t node, uint32_t dst, double share, uint32_t hops)
{
    const struct fabric *fabric = ways->fabric;
    uint32_t index = node - fabric->hosts, edge = fabric->edge_of[dst];

    if (node < fabric->hosts || hops == HOPS_MOST || edge == FABRIC_NONE) return;
    const struct fabric_route *route = &fabric->route[index];
    if (edge == route->own_edge) {
        add_way(ways, flow, fabric->node[node].first_port + fabric->local_port[dst], share);
        return;
    }
    if (route->group_of[edge] == FABRIC_NO_GROUP) return;
    const struct sw_group *group = &route->group[route->group_of[edge]];
    uint8_t kind = fabric->sw[index].balance.kind;
    bool splits = kind == SW_SPRAY || kind == SW_ADAPTIVE || (kind == SW_PIN && group->count > 1);
    uint32_t first = 0, last = group->count;
    if (!splits) {
        if (group->count > 1) ways->drawn = true;
        first = group->count > 1 ? (uint32_t)rng_below(&ways->rng, group->count) : 0;
        last = first + 1;
    }
    for (uint32_t m = first; m < last; m++) {
        uint32_t port = fabric->node[node].first_port + fabric->route_port[group->first + m];
        double part = share / (last - first);
        add_way(ways, flow, port, part);
        follow(ways, flow, fabric->port[fabric->port[port].peer].node, dst, part, hops + 1);
    }
}

static void find_ways(struct ways *ways, const struct expected_flow *flow, uint32_t flows)
{
    ways->count = 0;
    for (uint32_t f = 0; f < flows; f++) {
        uint32_t port = ways->fabric->endpoint[flow[f].src].port, peer = ways->fabric->port[port].peer;
        add_way(ways, f, port, 1);
        if (peer != FABRIC_NONE) follow(ways, f, ways->fabric->port[peer].node, flow[f].dst, 1, 0);
    }
}

struct filling {           /* all flows grow alike until a link is full; those on it stay, the others grow on */
    double *left, *weight; /* [ports] what is free of a link; flows that still grow on it */
    uint8_t *stays;        /* [flows] */
};

static double fill(const struct ways *ways, struct filling *filling, uint32_t flows)
{
    const struct fabric *fabric = ways->fabric;
    double level = 0, sum = 0;
    uint32_t growing = flows;

    for (uint32_t p = 0; p < fabric->ports; p++) {
        filling->left[p] = (double)fabric->port[p].rate_bps;
        filling->weight[p] = 0;
    }
    for (uint32_t f = 0; f < flows; f++)
        filling->stays[f] = 0;
    for (uint32_t w = 0; w < ways->count; w++)
        filling->weight[ways->way[w].port] += ways->way[w].share;
    while (growing) {
        double step = -1;
        for (uint32_t w = 0; w < ways->count; w++) {
            uint32_t p = ways->way[w].port;
            if (filling->weight[p] <= 1e-9) continue;
            double more = filling->left[p] / filling->weight[p];
            if (step < 0 || more < step) step = more;
        }
        if (step < 0) break;
        level += step;
        for (uint32_t p = 0; p < fabric->ports; p++)
            filling->left[p] -= step * filling->weight[p];
        for (uint32_t w = 0; w < ways->count; w++) {
            const struct way *way = &ways->way[w];
            if (filling->stays[way->flow] || filling->left[way->port] > 1e-6 * (double)fabric->port[way->port].rate_bps)
                continue;
            filling->stays[way->flow] = 1;
            growing--;
            sum += level;
        }
        for (uint32_t p = 0; p < fabric->ports; p++)
            filling->weight[p] = 0;
        for (uint32_t w = 0; w < ways->count; w++)
            if (!filling->stays[ways->way[w].flow]) filling->weight[ways->way[w].port] += ways->way[w].share;
    }
    return sum;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

void expected_rates(const struct fabric *fabric, const struct expected_flow *flow, uint32_t flows, uint64_t seed,
                    struct expected *ret)
{
    struct ways ways = {.fabric = fabric};
    struct filling filling = {.left = calloc(fabric->ports + 1u, sizeof(double)),
                              .weight = calloc(fabric->ports + 1u, sizeof(double)),
                              .stays = calloc(flows + 1u, 1)};
    double sum[DRAWS];
    uint32_t draws = 0;

    rng_init(&ways.rng, seed, 0x76616c);
    while (draws < DRAWS && (draws == 0 || (ways.drawn && (uint64_t)draws * ways.count < WORK_MOST))) {
        find_ways(&ways, flow, flows);
        sum[draws++] = fill(&ways, &filling, flows);
    }
    qsort(sum, draws, sizeof *sum, compare);
    *ret = (struct expected){.bps = sum[draws * UNLUCKY / DRAWS], .draws = draws, .hashed = ways.drawn};
    free(ways.way);
    free(filling.left);
    free(filling.weight);
    free(filling.stays);
}
