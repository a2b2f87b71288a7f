/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Edges that look the same from everywhere else: their switches have the same neighbours.
 *
 * The switches of a regular fabric differ in few ways.  The leaves of one pod of a fat tree have the same neighbours in
 * the same order of ports, as all leaves of a leaf-spine have: to change two of them for each other, with their links,
 * changes nothing of the graph.  What was found of the ways to one of them holds for the other.
 */
#include "fabric/fabric.h"

#include <string.h>

#include "fabric/routing.h"

struct seen {
    const struct fabric *fabric;
    const uint32_t *neighbour; /* [port of switches] */
};

static const uint32_t *neighbours_of(const struct seen *seen, uint32_t s, const uint32_t **ret_end)
{
    const struct fabric_node *node = &seen->fabric->node[seen->fabric->hosts + s];
    const uint32_t *first = seen->neighbour + (node->first_port - seen->fabric->endpoints);

    *ret_end = first + node->ports;
    return first;
}

/* In order of ports, those without left out. */
static bool same_neighbours(const struct seen *seen, uint32_t s, uint32_t t)
{
    const uint32_t *a_end, *b_end, *a = neighbours_of(seen, s, &a_end), *b = neighbours_of(seen, t, &b_end);

    for (;;) {
        while (a < a_end && *a == FABRIC_NONE)
            a++;
        while (b < b_end && *b == FABRIC_NONE)
            b++;
        if (a == a_end || b == b_end) return a == a_end && b == b_end;
        if (*a++ != *b++) return false;
    }
}

static uint64_t hash_neighbours(const struct seen *seen, uint32_t s)
{
    const uint32_t *end, *neighbour = neighbours_of(seen, s, &end);
    uint64_t hash = 14695981039346656037ull;

    for (; neighbour < end; neighbour++)
        if (*neighbour != FABRIC_NONE) hash = (hash ^ *neighbour) * 1099511628211ull;
    return hash ^ hash >> 31;
}

uint32_t *fabric_twins(const struct fabric *fabric, const uint32_t *neighbour, struct arena *arena)
{
    struct seen seen = {fabric, neighbour};
    uint32_t size = 16;

    while (size < fabric->edges * 2)
        size *= 2;
    uint32_t *slot = ARENA_NEW(arena, uint32_t, size); /* edge + 1 */
    uint32_t *twin = ARENA_NEW(arena, uint32_t, fabric->edges);
    if (!slot || !twin) return NULL;
    for (uint32_t e = 0; e < fabric->edges; e++) {
        uint32_t at = (uint32_t)hash_neighbours(&seen, fabric->edge_switch[e]) & (size - 1);
        while (slot[at] && !same_neighbours(&seen, fabric->edge_switch[slot[at] - 1], fabric->edge_switch[e]))
            at = (at + 1) & (size - 1);
        if (!slot[at]) slot[at] = e + 1;
        twin[e] = slot[at] - 1;
    }
    return twin;
}
