/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which ports a job's packets may leave by, by the fabric's own routes: a flow's by those from its sender to its
 * receiver, a collective's by those between any two of its adapters.  Routes that followed a failure are not looked at.
 *
 * Routes lead to edges (switches with endpoints), so the ways are walked once for each edge that is sent to, from all
 * edges that send there.
 */
#include <stdlib.h>
#include <string.h>

#include "report/verdict/judge.h"

#include "fabric/fabric.h"
#include "fabric/switches.h"

struct walk {
    const struct fabric *fabric;
    uint8_t *used;   /* [ports] the answer */
    uint8_t *seen;   /* [switches] on the way to this edge */
    uint32_t *stack; /* [switches] */
};

static void visit(struct walk *walk, uint32_t sw, uint32_t *depth)
{
    if (walk->seen[sw]) return;
    walk->seen[sw] = 1;
    walk->stack[(*depth)++] = sw;
}

/* From the edges that are marked in `from` to the edge `to`. */
static void walk_to(struct walk *walk, const uint8_t *from, uint32_t to)
{
    const struct fabric *fabric = walk->fabric;
    uint32_t depth = 0;

    memset(walk->seen, 0, fabric->switches);
    for (uint32_t e = 0; e < fabric->edges; e++)
        if (from[e] && e != to) visit(walk, fabric->edge_switch[e], &depth);
    while (depth) {
        uint32_t sw = walk->stack[--depth];
        const struct fabric_route *route = &fabric->route[sw];
        if (route->own_edge == to || route->group_of[to] == FABRIC_NO_GROUP) continue;
        const struct sw_group *group = &route->group[route->group_of[to]];
        for (uint32_t m = 0; m < group->count; m++) {
            uint32_t port = fabric->node[fabric->hosts + sw].first_port + fabric->route_port[group->first + m];
            walk->used[port] = 1;
            uint32_t next = fabric->port[fabric->port[port].peer].node;
            if (next >= fabric->hosts) visit(walk, next - fabric->hosts, &depth);
        }
    }
}

/* An adapter sends, an adapter receives. */
static void sends(struct walk *walk, uint32_t endpoint, uint8_t *edges)
{
    walk->used[walk->fabric->endpoint[endpoint].port] = 1;
    if (walk->fabric->edge_of[endpoint] != FABRIC_NONE) edges[walk->fabric->edge_of[endpoint]] = 1;
}

static void receives(struct walk *walk, uint32_t endpoint, uint8_t *edges)
{
    uint32_t peer = walk->fabric->port[walk->fabric->endpoint[endpoint].port].peer;

    if (peer != FABRIC_NONE) walk->used[peer] = 1;
    if (walk->fabric->edge_of[endpoint] != FABRIC_NONE) edges[walk->fabric->edge_of[endpoint]] = 1;
}

static void walk_flows(const struct judge *judge, struct walk *walk, uint32_t job, uint8_t *from, uint8_t *to)
{
    const struct fabric *fabric = judge->fabric;
    const struct sim_result *result = judge->result;

    for (uint32_t i = judge->flow_of[job]; i < judge->flow_of[job + 1]; i++) {
        sends(walk, result->flow[judge->flow[i]].src, from);
        receives(walk, result->flow[judge->flow[i]].dst, to);
    }
    for (uint32_t e = 0; e < fabric->edges; e++) {
        if (!to[e]) continue;
        memset(from, 0, fabric->edges);
        for (uint32_t i = judge->flow_of[job]; i < judge->flow_of[job + 1]; i++) {
            const struct sim_flow *flow = &result->flow[judge->flow[i]];
            if (fabric->edge_of[flow->dst] == e && fabric->edge_of[flow->src] != FABRIC_NONE)
                from[fabric->edge_of[flow->src]] = 1;
        }
        walk_to(walk, from, e);
    }
}

static void walk_ranks(struct walk *walk, const struct fabric_job *job, uint8_t *edges)
{
    const struct fabric *fabric = walk->fabric;

    memset(edges, 0, fabric->edges);
    for (uint32_t r = 0; r < job->ranks; r++) {
        for (uint32_t n = 0; n < fabric_gpu_nics(fabric, job->rank[r]); n++) {
            sends(walk, fabric->gpu_nic[job->rank[r]] + n, edges);
            receives(walk, fabric->gpu_nic[job->rank[r]] + n, edges);
        }
    }
    for (uint32_t e = 0; e < fabric->edges; e++)
        if (edges[e]) walk_to(walk, edges, e);
}

void judge_ways(struct judge *judge, uint32_t index, uint8_t *used)
{
    const struct fabric *fabric = judge->fabric;
    const struct fabric_job *job = &fabric->job[index];
    struct walk walk = {.fabric = fabric,
                        .used = used,
                        .seen = calloc(fabric->switches + 1u, 1),
                        .stack = calloc(fabric->switches + 1u, sizeof(uint32_t))};
    uint8_t *from = calloc(fabric->edges + 1u, 1), *to = calloc(fabric->edges + 1u, 1);

    memset(used, 0, fabric->ports);
    if (walk.seen && walk.stack && from && to) {
        walk_flows(judge, &walk, index, from, to);
        if (fabric_job_collective((enum fabric_job_kind)job->kind) || job->training) walk_ranks(&walk, job, from);
    } else {
        judge->failed = true;
    }
    free(walk.seen);
    free(walk.stack);
    free(from);
    free(to);
}
