/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Circles of the pause graph: queues that stand still for good and wait for each other (strongly connected components,
 * Tarjan 1972, without recursion).  Where the input says itself that there was a circle, that is taken.
 */
#include <stdlib.h>

#include "diagnose/graph_int.h"

struct search {
    struct diagnose_graph *graph;
    uint32_t *index, *low, *edge; /* of a node: when it was met (0: not yet), the first it reaches, its next edge */
    uint32_t *stack, *path;       /* nodes whose component is open; nodes on the way to this one */
    bool *open;
    uint32_t stacked, depth, met;
};

static void enter(struct search *search, uint32_t node)
{
    search->index[node] = search->low[node] = ++search->met;
    search->edge[node] = search->graph->node[node].out;
    search->stack[search->stacked++] = node;
    search->path[search->depth++] = node;
    search->open[node] = true;
}

/* The component that ends at `node` is on top of the stack. */
static void close_component(struct search *search, uint32_t node)
{
    struct diagnose_graph *graph = search->graph;
    bool circle = search->stack[search->stacked - 1] != node;
    uint32_t top;

    do {
        top = search->stack[--search->stacked];
        search->open[top] = false;
        if (circle) graph->node[top].circle = graph->circles;
    } while (top != node);
    graph->circles += circle;
}

static void walk_from(struct search *search, uint32_t start)
{
    const struct diagnose_graph *graph = search->graph;

    enter(search, start);
    while (search->depth) {
        uint32_t node = search->path[search->depth - 1];
        if (search->edge[node] < graph->node[node].out + graph->node[node].outs) {
            uint32_t to = graph->edge[search->edge[node]++].to;
            if (!graph->node[to].stuck) continue;
            if (!search->index[to])
                enter(search, to);
            else if (search->open[to] && search->index[to] < search->low[node])
                search->low[node] = search->index[to];
            continue;
        }
        search->depth--;
        if (search->low[node] == search->index[node]) close_component(search, node);
        if (!search->depth) break;
        uint32_t before = search->path[search->depth - 1];
        if (search->low[node] < search->low[before]) search->low[before] = search->low[node];
    }
}

/* A NIC that pauses without end makes whatever is behind it stand still for good, and explains it without a circle. */
static bool storm(const struct diagnose_graph *graph)
{
    for (uint32_t i = 0; i < graph->edges; i++)
        if (graph->node[graph->edge[i].to].host && graph->node[graph->edge[i].from].stuck) return true;
    return false;
}

static void said(struct diagnose *diagnose)
{
    struct diagnose_graph *graph = diagnose->graph;

    for (uint32_t c = 0; c < diagnose->evidence->circles; c++) {
        const struct evidence_circle *circle = &diagnose->evidence->circle[c];
        for (uint32_t i = 0; i < circle->count; i++) {
            uint32_t at = graph->of[circle->port[i] * EVIDENCE_PRIORITIES + circle->priority[i]];
            if (at) graph->node[at - 1].circle = graph->circles;
        }
        graph->circles++;
    }
}

void circles_find(struct diagnose *diagnose)
{
    struct diagnose_graph *graph = diagnose->graph;
    size_t nodes = graph->nodes + 1u;
    uint32_t *words = NULL;
    bool *open = NULL;

    if (diagnose->evidence->circles) {
        said(diagnose);
        return;
    }
    if (storm(graph)) return;
    words = calloc(nodes * 5, sizeof words[0]);
    open = calloc(nodes, sizeof open[0]);
    struct search search = {.graph = graph,
                            .index = words,
                            .low = words + nodes,
                            .edge = words + 2 * nodes,
                            .stack = words + 3 * nodes,
                            .path = words + 4 * nodes,
                            .open = open};
    for (uint32_t i = 0; words && open && i < graph->nodes; i++)
        if (graph->node[i].stuck && !search.index[i]) walk_from(&search, i);
    if (!words || !open) diagnose->full = true;
    free(words);
    free(open);
}
