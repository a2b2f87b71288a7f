/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plants whose traffic is led over a way of choice, by wrong static routes: all through one spine, whose marks or
 * pauses are missing; and round in a circle, which is a deadlock.
 */
#include <string.h>

#include "validate/plants/plants_int.h"

#include "fabric/fabric.h"
#include "fabric/routing.h"
#include "fabric/switches.h"

#define FUNNEL_PS (3 * PS_MS)
#define CIRCLE_PS (10 * PS_MS)
#define CIRCLE_TIMES 4u
#define CIRCLE_ALPHA "1/64" /* so that buffers fill while the run lasts */
#define SIDE_MOST 8u        /* senders on each side of a circle */

/* The first port of a node to another; FABRIC_NONE: there is none. */
static uint32_t port_to(const struct fabric *fabric, uint32_t node, uint32_t other)
{
    for (uint32_t i = 0; i < fabric->node[node].ports; i++) {
        uint32_t port = fabric->node[node].first_port + i, peer = fabric->port[port].peer;
        if (peer != FABRIC_NONE && fabric->port[port].up && fabric->port[peer].node == other) return port;
    }
    return FABRIC_NONE;
}

/* The next switch above a leaf that another leaf hangs on too, after `last` (FABRIC_NONE: the first). */
static uint32_t above_both(const struct fabric *fabric, uint32_t leaf, uint32_t other, uint32_t last)
{
    bool past = last == FABRIC_NONE;

    for (uint32_t i = 0; i < fabric->node[leaf].ports; i++) {
        uint32_t port = fabric->node[leaf].first_port + i;
        uint32_t peer = fabric->port[port].up ? fabric->port[port].peer : FABRIC_NONE;
        uint32_t node = peer == FABRIC_NONE ? FABRIC_NONE : fabric->port[peer].node;
        if (node == FABRIC_NONE || node < fabric->hosts || fabric->node[node].tier <= fabric->node[leaf].tier) continue;
        if (past && node != last && port_to(fabric, node, other) != FABRIC_NONE) return node;
        past |= node == last;
    }
    return FABRIC_NONE;
}

static void lead(struct planted *plant, uint32_t port, uint32_t endpoint)
{
    for (uint32_t i = 0; i < plant->ways; i++)
        if (plant->way[i].from == port && plant->way[i].to == endpoint) return;
    if (plant->ways < PLANT_WAYS) plant->way[plant->ways++] = (struct plant_pair){port, endpoint};
}

/* --- all through one spine --- */

struct funnel {
    uint32_t spine, leaf, first; /* of the receivers; of the first sender */
    struct plant_pair flow[FAILURE_RANKS];
    uint32_t flows;
    uint64_t offered, line; /* bits a second: what they send; of the spine to the leaf */
};

static uint64_t rate_to(const struct fabric *fabric, uint32_t node, uint32_t other)
{
    uint64_t rate = 0;

    for (uint32_t i = 0; i < fabric->node[node].ports; i++) {
        uint32_t port = fabric->node[node].first_port + i, peer = fabric->port[port].peer;
        if (peer != FABRIC_NONE && fabric->port[peer].node == other) rate += fabric->port[port].rate_bps;
    }
    return rate;
}

static uint64_t line_of(const struct fabric *fabric, uint32_t endpoint)
{
    return fabric->port[fabric->endpoint[endpoint].port].rate_bps;
}

/* What senders of a leaf and one more send, and its link to the spine: the queue is to be the spine's. */
static bool fits(const struct fabric *fabric, const struct funnel *funnel, uint32_t leaf, uint32_t endpoint)
{
    uint64_t sent = line_of(fabric, endpoint);

    for (uint32_t i = 0; i < funnel->flows; i++)
        if (leaf_of(fabric, funnel->flow[i].from) == leaf) sent += line_of(fabric, funnel->flow[i].from);
    return sent <= fabric->port[port_to(fabric, leaf, funnel->spine)].rate_bps;
}

/* Ranks of other leaves to hosts of the first one's, each to another, by a spine that all of them hang on. */
static bool find_funnel(const struct planting *planting, struct funnel *ret)
{
    const struct fabric *fabric = planting->fabric;
    const struct failures *failures = planting->failures;
    uint32_t into[FAILURE_RANKS], rooms;

    *ret = (struct funnel){.leaf = leaf_of(fabric, failures->rank[0]), .spine = FABRIC_NONE, .first = FABRIC_NONE};
    if (ret->leaf == FABRIC_NONE) return false;
    rooms = choose_of_edge(fabric, fabric->edge_of[failures->rank[0]], into, FAILURE_RANKS);
    for (uint32_t r = 1; r < failures->ranks && ret->flows < rooms; r++) {
        uint32_t leaf = leaf_of(fabric, failures->rank[r]);
        if (leaf == FABRIC_NONE || leaf == ret->leaf) continue;
        if (ret->spine == FABRIC_NONE) {
            ret->spine = above_both(fabric, ret->leaf, leaf, FABRIC_NONE);
            ret->first = leaf;
        }
        if (ret->spine == FABRIC_NONE || port_to(fabric, leaf, ret->spine) == FABRIC_NONE) continue;
        if (fabric->endpoint[failures->rank[r]].host == fabric->endpoint[into[ret->flows]].host) continue;
        if (!fits(fabric, ret, leaf, failures->rank[r])) continue;
        ret->flow[ret->flows] = (struct plant_pair){failures->rank[r], into[ret->flows]};
        ret->flows++;
        ret->offered += line_of(fabric, failures->rank[r]);
    }
    if (ret->spine == FABRIC_NONE) return false;
    ret->line = rate_to(fabric, ret->spine, ret->leaf);
    return ret->offered > ret->line;
}

static struct planted *add_funnel(struct planting *planting, const struct funnel *funnel, const char *name,
                                  const char *rules, const char *alerts, enum plant_effect effect)
{
    const struct fabric *fabric = planting->fabric;
    struct planted *plant = plant_add(planting, name, rules, alerts, effect);

    for (uint32_t i = 0; i < funnel->flows; i++) {
        uint32_t leaf = leaf_of(fabric, funnel->flow[i].from);
        plant_flow(plant, funnel->flow[i].from, funnel->flow[i].to);
        lead(plant, port_to(fabric, leaf, funnel->spine), funnel->flow[i].to);
    }
    plant->needs_clean = true;
    plant->beside = "D05"; /* other spines are empty */
    plant->until = FUNNEL_PS;
    return plant;
}

void plants_of_a_spine(struct planting *planting)
{
    static const char lacks[] = "no spine has hosts enough below it to fill its link to a leaf";
    const struct fabric *fabric = planting->fabric;
    struct funnel funnel;
    bool found = find_funnel(planting, &funnel);
    struct planted *plant;

    if (!found) funnel.flows = 0;
    plant = add_funnel(planting, &funnel, "spine that does not mark", "D09", "PauseWithoutMarks", PLANT_PAUSES);
    if (found) {
        blame_node(fabric, &plant->cause[0], funnel.spine);
        plant_set(plant, "false", "devices.%.90s.classes.%.60s.ecn", fabric->node[funnel.spine].name,
                  fabric->classes[planting->class].name);
    } else {
        plant->lacks = lacks;
    }
    plant = add_funnel(planting, &funnel, "leaf that does not obey pauses", "D08", "LosslessDrop", PLANT_DROPS);
    if (found) {
        uint32_t port = port_to(fabric, funnel.first, funnel.spine);
        blame_queue(fabric, &plant->cause[0], port);
        plant_set(plant, "false", "devices.%.90s.ports.%u.pfc", fabric->node[funnel.first].name,
                  fabric->port[port].index);
        plant_set(plant, "none", "nics.congestion");
    } else {
        plant->lacks = lacks;
    }
}

/* --- a circle --- */

/* Two leaves and two switches above both: what is for hosts elsewhere goes a, x, b, y or b, y, a, x, and out from
 * there, so that each of the four links waits for the next. */
struct square {
    uint32_t a, x, b, y;
    uint32_t from_a, from_b; /* ranks */
};

static bool find_square(const struct planting *planting, struct square *ret)
{
    const struct fabric *fabric = planting->fabric;
    const struct failures *failures = planting->failures;

    for (uint32_t i = 0; i + 1 < failures->ranks; i++)
        for (uint32_t j = i + 1; j < failures->ranks; j++) {
            struct square square = {.a = leaf_of(fabric, failures->rank[i]),
                                    .b = leaf_of(fabric, failures->rank[j]),
                                    .from_a = failures->rank[i],
                                    .from_b = failures->rank[j]};
            if (square.a == FABRIC_NONE || square.b == FABRIC_NONE || square.a == square.b) continue;
            square.x = above_both(fabric, square.a, square.b, FABRIC_NONE);
            if (square.x == FABRIC_NONE) continue;
            square.y = above_both(fabric, square.a, square.b, square.x);
            if (square.y == FABRIC_NONE) continue;
            *ret = square;
            return true;
        }
    return false;
}

/* Endpoints of other leaves that a host of the circle reaches, the last first: the first hosts send.  Answers how
 * many. */
static uint32_t find_ways_out(const struct fabric *fabric, const struct square *square, uint32_t *ret, uint32_t most)
{
    uint32_t count = 0;

    for (uint32_t e = fabric->endpoints; e-- > 0 && count < most;) {
        uint32_t leaf = leaf_of(fabric, e);
        if (leaf == FABRIC_NONE || leaf == square->a || leaf == square->b) continue;
        if (fabric_reaches(fabric, square->from_a, e)) ret[count++] = e;
    }
    return count;
}

/* Hosts of one side to every other of the ways out, over three of the four links. */
static void add_side(struct planted *plant, const struct fabric *fabric, uint32_t rank, const uint32_t *out,
                     uint32_t outs, const uint32_t link[3])
{
    uint32_t from[SIDE_MOST], most = (uint32_t)(fabric->port[link[0]].rate_bps / line_of(fabric, rank)) + 1;
    uint32_t count = choose_of_edge(fabric, fabric->edge_of[rank], from, most < SIDE_MOST ? most : SIDE_MOST);

    for (uint32_t i = 0; i < count; i++) {
        uint32_t into = out[2 * i % outs];
        if (fabric->endpoint[from[i]].host == fabric->endpoint[into].host) continue;
        plant_flow(plant, from[i], into);
        for (unsigned l = 0; l < 3; l++)
            lead(plant, link[l], into);
    }
}

void plants_of_a_circle(struct planting *planting)
{
    const struct fabric *fabric = planting->fabric;
    struct planted *plant = plant_add(planting, "deadlock", "D01", "PauseStorm|WatchdogActed", PLANT_CIRCLE);
    uint32_t out[2 * SIDE_MOST], outs = 0;
    struct square square;

    if (find_square(planting, &square)) outs = find_ways_out(fabric, &square, out, 2 * SIDE_MOST) / 2 * 2;
    if (outs == 0) {
        plant->lacks = "no two leaves with two switches above both, and hosts elsewhere";
        return;
    }
    const uint32_t link[4] = {port_to(fabric, square.a, square.x), port_to(fabric, square.x, square.b),
                              port_to(fabric, square.b, square.y), port_to(fabric, square.y, square.a)};
    const uint32_t second[3] = {link[2], link[3], link[0]};
    add_side(plant, fabric, square.from_a, out, outs, link);
    add_side(plant, fabric, square.from_b, out + 1, outs, second);
    for (unsigned l = 0; l < 4; l++)
        blame_queue(fabric, &plant->cause[0], link[l]);
    plant->needs_clean = true;
    plant->until = CIRCLE_PS;
    plant->times = CIRCLE_TIMES;
    plant_set(plant, CIRCLE_ALPHA, "classes.%.60s.alpha", fabric->classes[planting->class].name);
    plant_set(plant, "none", "nics.congestion");
}
