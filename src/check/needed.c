/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the routes as they are tell of all failures at once, so that few have to be looked at one by one.
 *
 * Twins.  To change two edges with the same neighbours for each other changes nothing of the graph, so the ways to the
 * second are those to the first with the two changed in them.  Kept is one row of routes for each set of twins: for a
 * fat tree one a pod, for a leaf-spine one in all.  Waits at a neighbour of both are what differs; nobody goes through
 * one twin to the other, for all neighbours of one are next to the other.
 *
 * Failures that matter.  A failure brings new waits only where a switch with hosts loses its last way to an edge
 * (affected.c).  It does where all its shortest ways go over what failed, which is then one of its dominators in the
 * graph of ways to the edge: a switch, or the link of a switch that has one next hop.  Dominators are found switch by
 * switch in order of distance, each the meeting point of its next hops (Cooper, Harvey and Kennedy; the graph has no
 * circle, so one pass is enough).  In a Clos network whose leaves have two spines no failure matters for a switch with
 * hosts, whatever its size.
 */
#include <stdlib.h>

#include "base/check.h"
#include "check/deadlock_int.h"
#include "fabric/fabric.h"
#include "fabric/routing.h"

/* To change these two keeps the order of tiers, hosts, and who is next to whom. */
static bool can_change(const struct deadlock *d, uint32_t a, uint32_t b)
{
    if (!d->talks[a] || !d->talks[b]) return false;
    for (uint32_t p = d->first[b]; p < d->first[b + 1]; p++) {
        uint32_t to = d->neighbour[p];
        if (to == FABRIC_NONE) continue;
        if (to == a || to == b || deadlock_up(a, to) != deadlock_up(b, to)) return false;
    }
    return true;
}

void deadlock_find_twins(struct deadlock *d)
{
    const uint32_t *edge_switch = d->fabric->edge_switch;
    uint32_t *last;

    d->twin = fabric_twins(d->fabric, d->neighbour, &d->arena);
    d->next_twin = ARENA_NEW(&d->arena, uint32_t, d->edges);
    d->row_of = ARENA_NEW(&d->arena, uint32_t, d->edges);
    last = ARENA_NEW(&d->arena, uint32_t, d->edges);
    for (uint32_t e = 0; e < d->edges; e++) {
        uint32_t first = d->twin[e];
        d->next_twin[e] = FABRIC_NONE;
        if (first != e && !can_change(d, edge_switch[first], edge_switch[e])) first = d->twin[e] = e;
        if (first != e)
            d->next_twin[last[first]] = e;
        else
            d->rows++;
        last[first] = e;
        d->row_of[e] = first == e ? d->rows - 1 : d->row_of[first];
    }
}

/* What came into x by port p on its way to this edge, from what came in for its first twin at `first`. */
static uint8_t carried_for(const struct deadlock *d, uint32_t p, uint32_t edge, uint32_t first, uint32_t from_edge)
{
    if (d->neighbour[p] == edge) return 0;
    return d->carried[d->neighbour[p] == first ? from_edge : p];
}

/* After deadlock_route() to the first of twins: the waits on the way to another one. */
static void mark_for_twin(const struct deadlock *d, uint32_t first_edge, uint32_t twin_edge, uint64_t *turn)
{
    uint32_t first = d->fabric->edge_switch[first_edge], edge = d->fabric->edge_switch[twin_edge];

    for (uint32_t q = d->first[edge]; q < d->first[edge + 1]; q++) {
        uint32_t x = d->neighbour[q];
        if (x == FABRIC_NONE) continue;
        uint32_t to = d->peer[q], o = to - d->first[x];
        for (uint32_t p = d->first[x]; p < d->first[x + 1]; p++) {
            uint8_t carried = d->neighbour[p] == FABRIC_NONE ? 0 : carried_for(d, p, edge, first, to);
            for (uint32_t l = 0; carried >> l; l++)
                if (carried >> l & 1) turn[(size_t)l * d->row[d->ports] + d->row[p] + o / 64] |= UINT64_C(1) << o % 64;
        }
    }
}

/* The last switch that all ways from a and from b go over. */
static uint32_t meet(const struct deadlock *d, uint32_t a, uint32_t b)
{
    while (a != b) {
        if (d->deep[a] < d->deep[b]) {
            uint32_t c = a;
            a = b;
            b = c;
        }
        CHECK(d->over[a] != a); /* only the edge is its own, and it is the least deep */
        a = d->over[a];
    }
    return a;
}

/* The next switch that all ways from s go over, once all nearer ones have theirs; and a port to a next hop. */
static uint32_t find_over(const struct deadlock *d, uint32_t s, uint32_t edge)
{
    uint32_t by = FABRIC_NONE;

    for (uint32_t p = d->first[s]; p < d->first[s + 1] && by != edge; p++) {
        uint32_t to = d->neighbour[p];
        if (to == FABRIC_NONE || d->far[to] + 1 != d->far[s]) continue;
        by = by == FABRIC_NONE ? to : meet(d, by, to);
    }
    CHECK(by != FABRIC_NONE);
    return by;
}

static bool is_twin_of(const struct deadlock *d, uint32_t s, uint32_t first_edge)
{
    uint32_t edge = d->fabric->route[s].own_edge;

    return edge != FABRIC_NONE && d->twin[edge] == first_edge;
}

/* The one link by which s goes on.  True: an end of it is a twin of the edge, so that it stands for others. */
static bool need_link(struct deadlock *d, uint32_t s, uint32_t first_edge)
{
    uint32_t p = d->first[s];

    while (d->neighbour[p] == FABRIC_NONE || d->far[d->neighbour[p]] + 1 != d->far[s])
        p++;
    CHECK(p < d->first[s + 1]);
    d->needed[p] = d->needed[d->peer[p]] = 1;
    return is_twin_of(d, s, first_edge) || is_twin_of(d, d->neighbour[p], first_edge);
}

/* All that every way from s goes over; what was seen from another switch is not gone through again. */
static bool need_from(struct deadlock *d, uint32_t s, uint32_t first_edge)
{
    uint32_t edge = d->fabric->edge_switch[first_edge];
    bool others = false;

    for (; s != edge && d->source[s] != d->stamp; s = d->over[s]) {
        d->source[s] = d->stamp;
        if (d->ways[deadlock_at(d, s, first_edge)] == 1) others |= need_link(d, s, first_edge);
        if (d->over[s] != edge) d->needed_switch[d->over[s]] = 1;
    }
    return others;
}

static void need_links_of(struct deadlock *d, uint32_t s)
{
    for (uint32_t p = d->first[s]; p < d->first[s + 1]; p++)
        if (d->neighbour[p] != FABRIC_NONE) d->needed[p] = d->needed[d->peer[p]] = 1;
}

/* After deadlock_route() to the edge, and once its ways are counted. */
static void find_needed(struct deadlock *d, uint32_t first_edge)
{
    uint32_t edge = d->fabric->edge_switch[first_edge];
    bool others = false;

    CHECK(d->queued && d->queue[0] == edge);
    d->over[edge] = edge;
    d->deep[edge] = 0;
    d->stamp++;
    for (uint32_t i = 1; i < d->queued; i++) {
        uint32_t s = d->queue[i];
        d->over[s] = find_over(d, s, edge);
        d->deep[s] = d->deep[d->over[s]] + 1;
    }
    for (uint32_t i = 1; i < d->queued; i++)
        if (d->talks[d->queue[i]]) others |= need_from(d, d->queue[i], first_edge);
    for (uint32_t e = first_edge; e != FABRIC_NONE && others; e = d->next_twin[e])
        need_links_of(d, d->fabric->edge_switch[e]);
}

static void keep_row(struct deadlock *d, uint32_t edge)
{
    for (uint32_t s = 0; s < d->switches; s++) {
        size_t at = deadlock_at(d, s, edge);
        d->distance[at] = d->far[s];
        d->used[at] = d->talks[s];
        if (d->far[s] == DEADLOCK_FAR) continue;
        for (uint32_t p = d->first[s]; p < d->first[s + 1]; p++) {
            uint32_t to = d->neighbour[p];
            if (to == FABRIC_NONE) continue;
            if (d->carried[p]) d->used[at] = true;
            if (d->far[to] + 1 == d->far[s]) d->ways[at]++;
        }
    }
}

void deadlock_keep_routes(struct deadlock *d)
{
    for (uint32_t edge = 0; edge < d->edges; edge++) {
        if (d->twin[edge] != edge || !d->talks[d->fabric->edge_switch[edge]]) continue;
        deadlock_route(d, edge, d->base);
        keep_row(d, edge);
        find_needed(d, edge);
        if (d->how.tell) d->how.tell("sets of routes", d->row_of[edge], d->rows);
        for (uint32_t e = d->next_twin[edge]; e != FABRIC_NONE; e = d->next_twin[e])
            mark_for_twin(d, edge, e, d->base);
    }
}

bool deadlock_matters(const struct deadlock *d, const struct deadlock_failure *failed)
{
    if (failed->port == FABRIC_NONE) return d->needed_switch[failed->node - d->fabric->hosts];
    return d->needed[failed->port - d->fabric->endpoints];
}
