/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search for buffers that can wait in a circle.
 *
 * A buffer is what came in by a link in a lossless priority.  It waits for another if some packet in it is to leave by
 * the link that leads there, and that buffer can pause the link.  Whether such a packet can exist is taken from the
 * routes: all shortest paths from every edge to every other.  A circle of waits is needed for a deadlock,
 * and, with the traffic for it, enough (Dally and Seitz; for PFC: Hu et al., HotNets 2016).
 *
 * Buffers without a circle have an order: each waits only for those before it.  The order that the search leaves behind
 * is kept; affected.c holds against it what a failure adds.
 *
 * Waits are kept as bits: for each port that packets come in by, the ports they leave by.  Where switches raise the
 * class of a packet that turns from down to up, there is a set of these for each lossless class, and the turn leads to
 * the next.
 */
#include "check/deadlock_int.h"
#include "check/rule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "fabric/switches.h"

/* With credits every port holds back every lane.  A packet keeps its lane, which is the same everywhere, so the lanes
 * that classes travel in have the circles of the routes, and the others none. */
static uint8_t lanes_sent(const struct fabric *fabric)
{
    uint8_t lanes = 0;

    for (uint32_t c = 0; c < fabric->class_count; c++)
        lanes |= (uint8_t)(1u << fabric->lanes.vl_of[fabric->classes[c].priority]);
    return lanes;
}

static void find_links(struct deadlock *d)
{
    const struct fabric *fabric = d->fabric;
    uint32_t base = fabric->endpoints;

    for (uint32_t s = 0; s < d->switches; s++)
        d->first[s] = fabric->node[fabric->hosts + s].first_port - base;
    d->first[d->switches] = d->ports;
    for (uint32_t p = 0; p < d->ports; p++) {
        const struct fabric_port *port = &fabric->port[base + p];
        d->neighbour[p] = d->peer[p] = FABRIC_NONE;
        if (port->peer == FABRIC_NONE || !port->up || !fabric->port[port->peer].up || port->peer < base) continue;
        const struct fabric_settings *here = &fabric->settings[port->settings];
        const struct fabric_settings *there = &fabric->settings[fabric->port[port->peer].settings];
        d->peer[p] = port->peer - base;
        d->neighbour[p] = fabric->port[port->peer].node - fabric->hosts;
        if (fabric->lanes.vls) d->mask[p] = lanes_sent(fabric);
        for (unsigned tc = 0; tc < FABRIC_PRIOS && !fabric->lanes.vls; tc++)
            if (here->pg[here->tc_to_pg[tc]].lossless && (here->pfc_tx & there->pfc_rx) >> tc & 1)
                d->mask[p] |= (uint8_t)(1u << tc);
        CHECK(d->peer[p] < d->ports && d->neighbour[p] < d->switches);
    }
    for (uint32_t s = 0; s < d->switches; s++)
        CHECK(d->first[s] <= d->first[s + 1]);
    for (uint32_t p = 0; p < d->ports; p++)
        CHECK(d->peer[p] == FABRIC_NONE || (d->peer[d->peer[p]] == p && d->peer[p] != p));
}

static void find_levels(struct deadlock *d)
{
    const struct fabric *fabric = d->fabric;

    for (uint32_t s = 0; s < d->switches; s++)
        d->raises = d->raises || fabric->sw[s].raise_bounce;
    d->levels = 1;
    d->injected = 1;
    if (!d->raises) return;
    uint8_t bits = 0;
    for (uint32_t c = 0; c < fabric->class_count; c++)
        if (fabric->classes[c].lossless) bits |= (uint8_t)(1u << fabric->classes[c].priority);
    if (!bits) {
        d->raises = false;
        return;
    }
    d->levels = 0;
    for (uint8_t p = 0; p < FABRIC_PRIOS; p++)
        if (bits >> p & 1) d->level_prio[d->levels++] = p;
    d->injected = 0;
    for (uint32_t j = 0; j < fabric->jobs; j++)
        for (uint32_t l = 0; l < d->levels; l++)
            if (fabric->classes[fabric->job[j].job_class].priority == d->level_prio[l])
                d->injected |= (uint8_t)(1u << l);
    if (!d->injected) d->injected = 1;
}

static bool paused_alike(const struct deadlock *d, uint8_t a, uint8_t b)
{
    for (uint32_t p = 0; p < d->ports; p++)
        if ((d->mask[p] >> a & 1) != (d->mask[p] >> b & 1)) return false;
    return true;
}

/* Priorities that the same ports pause have the same circles: one of them is enough. */
static void find_sets(struct deadlock *d)
{
    uint8_t bits = 0;

    for (uint32_t p = 0; p < d->ports; p++)
        bits |= d->mask[p];
    for (uint8_t prio = 0; prio < FABRIC_PRIOS; prio++) {
        bool known = !(bits >> prio & 1) || (d->raises && d->sets);
        for (uint32_t k = 0; k < d->sets && !known; k++)
            known = paused_alike(d, d->set_prio[k], prio);
        if (!known) d->set_prio[d->sets++] = prio;
    }
}

static void find_failures(struct deadlock *d)
{
    for (uint32_t p = 0; p < d->ports; p++)
        if (d->peer[p] != FABRIC_NONE && d->peer[p] > p)
            d->failure[d->failures++] = (struct deadlock_failure){
                .port = d->fabric->endpoints + p, .node = d->fabric->port[p + d->fabric->endpoints].node};
    for (uint32_t s = 0; s < d->switches; s++)
        d->failure[d->failures++] = (struct deadlock_failure){.port = FABRIC_NONE, .node = d->fabric->hosts + s};
    CHECK(d->failures <= d->ports + d->switches);
}

/* Of an imported fabric, what hangs on a port may not be known.  Hosts are taken to be there where the port pauses, and
 * not on spines and cores: what is plugged in there is another switch. */
static void find_talkers(struct deadlock *d)
{
    const struct fabric *fabric = d->fabric;

    for (uint32_t e = 0; e < fabric->endpoints; e++) {
        uint32_t p = fabric->port[e].peer;
        if (p == FABRIC_NONE || !is_switch_port(fabric, p)) continue;
        uint32_t node = fabric->port[p].node;
        uint8_t role = fabric->node[node].role;
        bool upper = role == FABRIC_ROLE_SPINE || role == FABRIC_ROLE_CORE;
        bool pauses = settings_of(fabric, p)->pfc_rx || settings_of(fabric, p)->pfc_tx;
        if (!node_unknown(fabric, fabric->endpoint[e].host) || (!upper && pauses && fabric->port[p].up))
            d->talks[node - fabric->hosts] = 1;
    }
}

#define CELL_BYTES (2 * sizeof(uint16_t) + sizeof(uint8_t))      /* distance, ways, used */
#define WORD_BYTES (3 * sizeof(uint64_t) + 2 * sizeof(uint32_t)) /* turn, base, fresh, fresh_word, fresh_from */
#define TAKE(member, type, count) (d->member = ARENA_NEW(&d->arena, type, (count)))
static bool take_memory(struct deadlock *d)
{
    uint32_t words = 0, widest = 0;

    TAKE(neighbour, uint32_t, d->ports);
    TAKE(peer, uint32_t, d->ports);
    TAKE(mask, uint8_t, d->ports);
    TAKE(first, uint32_t, (size_t)d->switches + 1);
    TAKE(row, uint32_t, (size_t)d->ports + 1);
    TAKE(failure, struct deadlock_failure, (size_t)d->ports + d->switches);
    TAKE(talks, uint8_t, d->switches);
    find_links(d);
    find_levels(d);
    find_sets(d);
    find_failures(d);
    find_talkers(d);
    deadlock_find_twins(d);
    for (uint32_t s = 0; s < d->switches; s++) {
        uint32_t width = (d->first[s + 1] - d->first[s] + 63) / 64;
        if (width > widest) widest = width;
        for (uint32_t p = d->first[s]; p < d->first[s + 1]; p++) {
            d->row[p] = words;
            words += width;
        }
    }
    d->row[d->ports] = words;
    size_t cells = (size_t)d->switches * d->rows, nodes = (size_t)d->levels * d->ports;
    size_t all = (size_t)words * d->levels;
    d->too_big = (uint64_t)d->rows * d->ports > d->how.steps || all > UINT32_MAX ||
                 cells * CELL_BYTES + all * WORD_BYTES > DEADLOCK_BYTES_MAX;
    if (d->too_big) return false;
    for (uint32_t k = 0; k < d->sets; k++)
        TAKE(order[k], uint32_t, nodes);
    TAKE(distance, uint16_t, cells);
    TAKE(ways, uint16_t, cells);
    TAKE(used, uint8_t, cells);
    TAKE(down, uint8_t, d->ports);
    TAKE(dead, uint8_t, d->switches);
    TAKE(far, uint16_t, d->switches);
    TAKE(queue, uint32_t, d->switches);
    TAKE(carried, uint8_t, d->ports);
    TAKE(turn, uint64_t, all);
    TAKE(base, uint64_t, all);
    TAKE(out, uint64_t, widest);
    TAKE(colour, uint8_t, nodes);
    TAKE(stack, uint32_t, nodes);
    TAKE(cursor, uint32_t, nodes);
    TAKE(lost, uint16_t, d->switches);
    TAKE(affected, uint8_t, d->switches);
    TAKE(anew, uint16_t, d->switches);
    TAKE(list, uint32_t, d->switches);
    TAKE(touched, uint32_t, d->switches);
    TAKE(fresh, uint64_t, all);
    TAKE(fresh_word, uint32_t, all);
    TAKE(fresh_from, uint32_t, all);
    TAKE(seen, uint32_t, nodes);
    TAKE(visited, uint32_t, nodes);
    TAKE(ring, uint32_t, nodes);
    TAKE(proven, uint8_t, nodes);
    TAKE(source, uint32_t, d->switches);
    TAKE(needed, uint8_t, d->ports);
    TAKE(needed_switch, uint8_t, d->switches);
    TAKE(over, uint32_t, d->switches);
    TAKE(deep, uint32_t, d->switches);
    return true;
}

static void walk(struct deadlock *d, uint32_t from)
{
    uint32_t head = 0;

    for (uint32_t s = 0; s < d->switches; s++)
        d->far[s] = DEADLOCK_FAR;
    d->queued = 0;
    if (d->dead[from]) return;
    d->far[from] = 0;
    d->queue[d->queued++] = from;
    while (head < d->queued) {
        uint32_t s = d->queue[head++];
        uint16_t next = (uint16_t)(d->far[s] + 1);
        for (uint32_t p = d->first[s]; p < d->first[s + 1]; p++) {
            uint32_t to = d->neighbour[p];
            if (to == FABRIC_NONE || d->down[p] || d->dead[to] || d->far[to] != DEADLOCK_FAR) continue;
            CHECK(d->queued < d->switches);
            d->far[to] = next;
            d->queue[d->queued++] = to;
        }
    }
}

static uint8_t raised(const struct deadlock *d, uint32_t s, uint8_t levels)
{
    if (!d->raises || !d->fabric->sw[s].raise_bounce) return levels;
    uint8_t top = (uint8_t)(1u << (d->levels - 1));
    return (uint8_t)((levels & ~top) << 1 | (levels & top));
}

/* The next hops of s as bits of d->out, and what goes on by them. */
static void route_switch(struct deadlock *d, uint32_t s, bool source)
{
    uint32_t first = d->first[s], ports = d->first[s + 1] - first, width = (ports + 63) / 64;
    uint8_t above = 0, below = source ? d->injected : 0;

    memset(d->out, 0, width * sizeof(d->out[0]));
    for (uint32_t p = first; p < first + ports; p++) {
        uint32_t from = d->neighbour[p];
        if (from == FABRIC_NONE || !d->carried[p]) continue;
        if (deadlock_up(from, s))
            below |= d->carried[p];
        else
            above |= d->carried[p];
    }
    if (!above && !below) return;
    for (uint32_t p = first; p < first + ports; p++) {
        uint32_t to = d->neighbour[p];
        if (to == FABRIC_NONE || d->down[p] || d->dead[to] || d->far[to] + 1 != d->far[s]) continue;
        d->out[(p - first) / 64] |= UINT64_C(1) << (p - first) % 64;
        d->carried[d->peer[p]] |= (uint8_t)(below | (deadlock_up(s, to) ? raised(d, s, above) : above));
    }
}

static void mark_turns(struct deadlock *d, uint32_t s, uint64_t *turn)
{
    uint32_t first = d->first[s], ports = d->first[s + 1] - first, width = (ports + 63) / 64;

    for (uint32_t p = first; p < first + ports; p++) {
        for (uint32_t l = 0; d->carried[p] >> l; l++) {
            if (!(d->carried[p] >> l & 1)) continue;
            uint64_t *row = turn + (size_t)l * d->row[d->ports] + d->row[p];
            for (uint32_t w = 0; w < width; w++)
                row[w] |= d->out[w];
        }
    }
}

void deadlock_route(struct deadlock *d, uint32_t edge, uint64_t *turn)
{
    uint32_t target = d->fabric->edge_switch[edge];

    d->steps += d->ports;
    walk(d, target);
    memset(d->carried, 0, d->ports);
    for (uint32_t i = d->queued; i-- > 1;) {
        uint32_t s = d->queue[i];
        route_switch(d, s, d->talks[s]);
        mark_turns(d, s, turn);
    }
}

void deadlock_fail(struct deadlock *d, const struct deadlock_failure *failed, uint32_t count, uint8_t value)
{
    for (uint32_t f = 0; f < count; f++) {
        if (failed[f].port == FABRIC_NONE) {
            CHECK(failed[f].node >= d->fabric->hosts && failed[f].node < d->fabric->nodes);
            d->dead[failed[f].node - d->fabric->hosts] = value;
            continue;
        }
        uint32_t p = failed[f].port - d->fabric->endpoints;
        CHECK(p < d->ports && d->peer[p] != FABRIC_NONE);
        d->down[p] = d->down[d->peer[p]] = value;
    }
}

uint32_t deadlock_level(const struct deadlock *d, uint32_t in, uint32_t out, uint32_t level)
{
    uint32_t s = d->neighbour[d->peer[in]];
    bool bounce = !deadlock_up(d->neighbour[in], s) && deadlock_up(s, d->neighbour[out]);

    return bounce && d->raises && d->fabric->sw[s].raise_bounce && level + 1 < d->levels ? level + 1 : level;
}

/* The next node that this one waits for, from its cursor on; FABRIC_NONE: no other. */
static uint32_t next_wait(const struct deadlock *d, const struct deadlock_graph *graph, uint32_t node, uint32_t *cursor)
{
    uint32_t port = node % d->ports, level = node / d->ports;
    uint32_t s = d->neighbour[d->peer[port]], first = d->first[s], ports = d->first[s + 1] - first;
    size_t row = (size_t)level * d->row[d->ports] + d->row[port];

    for (uint32_t o = *cursor; o < ports; o++) {
        uint64_t word = graph->turn[row + o / 64] | (graph->more ? graph->more[row + o / 64] : 0);
        word >>= o % 64;
        if (!word) {
            o |= 63;
            continue;
        }
        o += (uint32_t)__builtin_ctzll(word);
        uint32_t to = d->peer[first + o], next = deadlock_level(d, port, first + o, level);
        uint8_t of = d->raises ? d->level_prio[next] : graph->prio;
        if (!(d->mask[to] >> of & 1) || d->down[to] || d->dead[d->neighbour[d->peer[to]]]) continue;
        *cursor = o + 1;
        return next * d->ports + to;
    }
    *cursor = ports;
    return FABRIC_NONE;
}

void deadlock_keep(const struct deadlock *d, const uint32_t *node, uint32_t hops, uint8_t prio,
                   struct deadlock_cycle *ret)
{
    /* Where one hop arrives, the next leaves: else it is no circle. */
    for (uint32_t i = 0; i < hops; i++)
        CHECK(d->neighbour[d->peer[node[i] % d->ports]] == d->neighbour[node[(i + 1) % hops] % d->ports]);
    ret->hops = hops;
    ret->priority = d->raises ? d->level_prio[node[0] / d->ports] : prio;
    for (uint32_t i = 0; i < hops && i < DEADLOCK_CYCLE_MAX; i++)
        ret->hop[i] = d->fabric->endpoints + d->peer[node[i] % d->ports];
}

static void enter(struct deadlock *d, struct deadlock_graph *graph, uint32_t node, uint32_t *depth)
{
    CHECK(node < d->levels * d->ports && *depth < d->levels * d->ports && !d->colour[node]);
    d->colour[node] = 1;
    if (graph->bound) d->visited[graph->visited++] = node;
    d->stack[*depth] = node;
    d->cursor[(*depth)++] = 0;
}

/* Colours: 0 not seen, 1 on the way here, 2 done. */
uint32_t deadlock_follow(struct deadlock *d, struct deadlock_graph *graph, uint32_t root, uint32_t *ret_from)
{
    uint32_t depth = 0;

    enter(d, graph, root, &depth);
    while (depth) {
        uint32_t node = d->stack[depth - 1], to = next_wait(d, graph, node, &d->cursor[depth - 1]);
        if (to == FABRIC_NONE) {
            d->colour[node] = 2;
            if (graph->order) graph->order[node] = graph->finished++;
            depth--;
        } else if (d->colour[to] == 0 && (!graph->bound || graph->bound[to] >= graph->least)) {
            enter(d, graph, to, &depth);
        } else if (d->colour[to] == 1) {
            uint32_t from = depth;
            while (d->stack[from - 1] != to) {
                from--;
                CHECK(from > 0); /* it is on the way here */
            }
            *ret_from = from - 1;
            return depth - from + 1;
        }
    }
    return 0;
}

/* Everything, for one set of priorities. */
static bool search_all(struct deadlock *d, struct deadlock_graph *graph, struct deadlock_cycle *ret)
{
    memset(d->colour, 0, (size_t)d->levels * d->ports);
    for (uint32_t node = 0; node < d->levels * d->ports; node++) {
        uint32_t port = node % d->ports, from, hops;
        uint8_t of = d->raises ? d->level_prio[node / d->ports] : graph->prio;
        if (d->neighbour[port] == FABRIC_NONE || d->colour[node] || !(d->mask[port] >> of & 1)) continue;
        hops = deadlock_follow(d, graph, node, &from);
        if (!hops) continue;
        deadlock_keep(d, d->stack + from, hops, graph->prio, ret);
        memset(d->colour, 0, (size_t)d->levels * d->ports);
        return true;
    }
    memset(d->colour, 0, (size_t)d->levels * d->ports);
    return false;
}

bool deadlock_search(struct deadlock *d, const struct deadlock_failure *failed, uint32_t count,
                     struct deadlock_cycle *ret)
{
    bool found = false;

    if (!d->sets) return false;
    memset(d->turn, 0, (size_t)d->row[d->ports] * d->levels * sizeof(d->turn[0]));
    deadlock_fail(d, failed, count, 1);
    for (uint32_t edge = 0; edge < d->edges; edge++)
        if (d->talks[d->fabric->edge_switch[edge]]) deadlock_route(d, edge, d->turn);
    for (uint32_t k = 0; k < d->sets && !found; k++) {
        struct deadlock_graph graph = {.turn = d->turn, .prio = d->set_prio[k]};
        found = search_all(d, &graph, ret);
    }
    deadlock_fail(d, failed, count, 0);
    return found;
}

/* After walk(): of the switches whose ways to its target go over `by`, the nearest with hosts; FABRIC_NONE: none. */
static uint32_t nearest_sender(const struct deadlock *d, uint32_t by, uint8_t *over)
{
    memset(over, 0, d->switches);
    for (uint32_t i = 0; i < d->queued; i++) {
        uint32_t s = d->queue[i];
        over[s] = s == by;
        for (uint32_t p = d->first[s]; p < d->first[s + 1] && !over[s]; p++) {
            uint32_t to = d->neighbour[p];
            if (to == FABRIC_NONE || d->down[p] || d->far[to] == DEADLOCK_FAR) continue;
            over[s] = d->far[to] + 1 == d->far[s] && over[to];
        }
        if (over[s] && d->talks[s]) return s;
    }
    return FABRIC_NONE;
}

static uint32_t edge_of_switch(const struct deadlock *d, uint32_t s)
{
    for (uint32_t e = 0; e < d->edges; e++)
        if (d->fabric->edge_switch[e] == s) return e;
    return FABRIC_NONE;
}

bool deadlock_pair(struct deadlock *d, const struct deadlock_failure *failed, uint32_t count, const uint32_t hop[2],
                   uint32_t *ret_src, uint32_t *ret_dst)
{
    uint32_t first = hop[0] - d->fabric->endpoints, second = hop[1] - d->fabric->endpoints;
    uint32_t begin = d->neighbour[d->peer[first]], middle = d->neighbour[first], end = d->neighbour[second];
    uint8_t *over = malloc(d->switches);
    uint32_t best = UINT32_MAX;

    deadlock_fail(d, failed, count, 1);
    for (uint32_t edge = 0; edge < d->edges; edge++) {
        if (!d->talks[d->fabric->edge_switch[edge]]) continue;
        walk(d, d->fabric->edge_switch[edge]);
        if (d->far[end] == DEADLOCK_FAR || d->far[begin] != d->far[end] + 2 || d->far[middle] != d->far[end] + 1)
            continue;
        uint32_t src = nearest_sender(d, begin, over);
        if (src == FABRIC_NONE || d->far[src] >= best || edge_of_switch(d, src) == FABRIC_NONE) continue;
        best = d->far[src];
        *ret_src = edge_of_switch(d, src);
        *ret_dst = edge;
    }
    deadlock_fail(d, failed, count, 0);
    free(over);
    return best != UINT32_MAX;
}

bool deadlock_circle(const struct deadlock *d, struct deadlock_cycle *ret)
{
    if (d->circle) *ret = d->found;
    return d->circle;
}

static void find_order(struct deadlock *d)
{
    for (uint32_t k = 0; k < d->sets && !d->circle; k++) {
        struct deadlock_graph graph = {.turn = d->base, .prio = d->set_prio[k], .order = d->order[k]};
        d->circle = search_all(d, &graph, &d->found);
    }
}

int deadlock_open(const struct fabric *fabric, const struct deadlock_how *how, struct deadlock **ret)
{
    struct deadlock *d = calloc(1, sizeof(*d));

    if (how) d->how = *how;
    if (!d->how.steps) d->how.steps = DEADLOCK_STEPS_MAX;
    arena_init_or_end(&d->arena, 0);
    d->fabric = fabric;
    d->switches = fabric->switches;
    d->edges = fabric->edges;
    d->ports = fabric->ports - fabric->endpoints;
    if (!take_memory(d)) {
        deadlock_free(d);
        return -E2BIG;
    }
    deadlock_keep_routes(d);
    find_order(d);
    *ret = d;
    return 0;
}

void deadlock_free(struct deadlock *d)
{
    if (!d) return;
    arena_release(&d->arena);
    free(d);
}

uint32_t deadlock_failures(const struct deadlock *d, const struct deadlock_failure **ret)
{
    *ret = d->failure;
    return d->failures;
}

void deadlock_effort(const struct deadlock *d, uint64_t *ret_followed, uint64_t *ret_searched)
{
    *ret_followed = d->followed;
    *ret_searched = d->searched;
}

uint64_t deadlock_steps(const struct deadlock *d)
{
    return d->steps;
}

bool deadlock_spent(const struct deadlock *d)
{
    return d->steps >= d->how.steps;
}
