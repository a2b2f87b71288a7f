/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How evenly parallel links were used, tier by tier, and how evenly they should have been.
 *
 * A tier is all links from switches of one role to those of another, in one direction.  Measured: at each switch
 * that sent anything there, the bytes of its fullest link of the tier over the mean of its links; the mean over
 * switches and the worst.  A link counts as used when it carried a tenth of that mean: acknowledgements alone are
 * less.
 *
 * Expected: the connections of the jobs, each with the payload it moved, are placed at random where a switch hashes
 * (Monte Carlo: an ideal hash with independent seeds; a flowlet counts as its flow), split evenly where it sprays or
 * adapts, and placed by the rule where it pins.  So what is measured above it is bad luck or a bad hash, and what is
 * expected above 1 is the price of few flows.  Payload alone counts; acknowledgements of the other direction do not.
 *
 * Polarised: two tiers that hash alike (seed and fields) choose alike, so the second sees only flows that the first
 * sent its way and uses few of its links.  It is named where seeds and fields are equal and the share of links used
 * is below three quarters of what an ideal hash would use.
 *
 * Routes are the fabric's own: those that followed a failure are not looked at.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/rng.h"
#include "fabric/fabric.h"
#include "fabric/switches.h"
#include "sim/link_loads.h"
#include "sim/sim_int.h"

#define TRIALS_MOST 32u    /* for the mean ... */
#define CHANCES_MOST 1000u /* ... and for the most that chance gives: few flows on few links are often all on one */
#define TRIALS_LEAST 8u    /* fewer do not tell how far chance goes */
#define PLACEMENTS 200000u /* of connections, over all trials */
#define PORTS_LOOKED_AT 2000000u /* over all chances */
#define STEPS_MOST 20000000u
#define HOPS_MOST 8u
#define TIERS (FABRIC_ROLES * FABRIC_ROLES)
#define MILLI 1000u

struct guess {
    const struct sim *sim;
    double *load; /* [ports] */
    struct rng rng;
    uint64_t steps;
};

static uint32_t tier_of(const struct fabric *fabric, uint32_t port)
{
    const struct fabric_port *as = &fabric->port[port];
    if (as->peer == FABRIC_NONE || as->node < fabric->hosts || fabric->port[as->peer].node < fabric->hosts)
        return FABRIC_NONE;
    return fabric->node[as->node].role * FABRIC_ROLES + fabric->node[fabric->port[as->peer].node].role;
}

/* The member a switch with pins would take; pins of a queue pair apply to the whole connection here. */
static uint32_t pinned(const struct fabric *fabric, uint32_t index, const struct sw_group *group, uint32_t src,
                       uint32_t dst, uint32_t draw)
{
    const struct fabric_balance *rule = &fabric->sw[index].balance;
    for (uint32_t i = rule->pins; i-- > 0;) {
        const struct sw_pin *pin = &rule->pin[i];
        if (pin->dst != dst || (pin->src != src && pin->src != FABRIC_NONE)) continue;
        for (uint32_t m = 0; m < group->count; m++)
            if (fabric->route_port[group->first + m] == pin->port) return m;
    }
    if (rule->pin_by == SW_PIN_BY_HASH) return draw;
    return fabric->local_port[rule->pin_by == SW_PIN_BY_SRC ? src : dst] % group->count;
}

static void walk(struct guess *guess, uint32_t node, uint32_t src, uint32_t dst, double bytes, uint32_t hops)
{
    const struct fabric *fabric = guess->sim->fabric;
    uint32_t index = node - fabric->hosts, edge = fabric->edge_of[dst];

    if (node < fabric->hosts || hops == HOPS_MOST || ++guess->steps > STEPS_MOST) return;
    const struct fabric_route *route = &fabric->route[index];
    if (edge == FABRIC_NONE || edge == route->own_edge || route->group_of[edge] == FABRIC_NO_GROUP) return;
    const struct sw_group *group = &route->group[route->group_of[edge]];
    uint8_t kind = fabric->sw[index].balance.kind;
    bool splits = kind == SW_SPRAY || kind == SW_ADAPTIVE;
    uint32_t member = group->count > 1 && !splits ? (uint32_t)rng_below(&guess->rng, group->count) : 0;

    if (kind == SW_PIN && group->count > 1) member = pinned(fabric, index, group, src, dst, member);
    for (uint32_t m = splits ? 0 : member; m < group->count; m++) {
        uint32_t port = fabric->node[node].first_port + fabric->route_port[group->first + m];
        double part = splits ? bytes / group->count : bytes;
        guess->load[port] += part;
        walk(guess, fabric->port[fabric->port[port].peer].node, src, dst, part, hops + 1);
        if (!splits) break;
    }
}

struct spread { /* of a tier, summed over its switches */
    double ratio, worst;
    double most; /* of trials: the highest mean over switches that one gave */
    uint32_t switches, links, used, trials;
};

/* One switch: the fullest of its links of the tier over their mean. */
static void spread_switch(const struct fabric *fabric, uint32_t node, const double *load, struct spread *spread)
{
    const struct fabric_node *as = &fabric->node[node];
    struct link_loads loads[FABRIC_ROLES] = {{0}};

    for (uint32_t p = as->first_port; p < as->first_port + as->ports; p++) {
        uint32_t tier = tier_of(fabric, p);
        if (tier == FABRIC_NONE) continue;
        link_loads_add(&loads[tier % FABRIC_ROLES], load[p]);
    }
    for (uint32_t to = 0; to < FABRIC_ROLES; to++) {
        struct spread *of = &spread[as->role * FABRIC_ROLES + to];
        double mean = link_loads_mean(&loads[to]);
        if (mean <= 0) continue;
        double ratio = link_loads_max_mean(&loads[to]);
        of->ratio += ratio;
        if (ratio > of->worst) of->worst = ratio;
        of->switches++;
        of->links += loads[to].links;
        for (uint32_t p = as->first_port; p < as->first_port + as->ports; p++)
            of->used += tier_of(fabric, p) == as->role * FABRIC_ROLES + to && load[p] * 10 >= mean;
    }
}

static void spread_all(const struct fabric *fabric, const double *load, struct spread *spread)
{
    for (uint32_t node = fabric->hosts; node < fabric->nodes; node++)
        spread_switch(fabric, node, load, spread);
}

/* A trial: of all the most uneven is kept, of the first ones the mean. */
static void spread_trial(const struct fabric *fabric, const double *load, bool averaged, struct spread *ret)
{
    struct spread one[TIERS] = {{0}};

    spread_all(fabric, load, one);
    for (uint32_t i = 0; i < TIERS; i++) {
        ret[i].trials++;
        if (one[i].switches && one[i].ratio / one[i].switches > ret[i].most)
            ret[i].most = one[i].ratio / one[i].switches;
        if (!averaged) continue;
        ret[i].ratio += one[i].ratio;
        ret[i].switches += one[i].switches;
        ret[i].links += one[i].links;
        ret[i].used += one[i].used;
    }
}

static void place_all(struct guess *guess, uint32_t connections)
{
    const struct sim *sim = guess->sim;
    const struct fabric *fabric = sim->fabric;

    for (uint32_t p = 0; p < fabric->ports; p++)
        guess->load[p] = 0;
    for (uint32_t i = 0; i < connections; i++) {
        const struct workload_connection *from = workload_connection(sim->workload, i);
        uint32_t peer = fabric->port[fabric->endpoint[from->src].port].peer;
        double bytes = (double)sim_acked_bytes(sim, i);
        if (peer != FABRIC_NONE && bytes > 0) walk(guess, fabric->port[peer].node, from->src, from->dst, bytes, 0);
    }
}

static uint32_t at_most(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* What an ideal hash would do, averaged; false: too much to work out. */
static bool guess_spread(struct guess *guess, struct spread *ret)
{
    const struct fabric *fabric = guess->sim->fabric;
    uint32_t connections = workload_connections(guess->sim->workload);
    uint32_t trials = connections ? PLACEMENTS / connections : 0;
    uint32_t chances = at_most(at_most(trials, CHANCES_MOST), PORTS_LOOKED_AT / (fabric->ports + 1u));

    trials = trials < 1 ? 1 : at_most(trials, TRIALS_MOST);
    for (uint32_t trial = 0; trial < trials || trial < chances; trial++) {
        place_all(guess, connections);
        if (guess->steps > STEPS_MOST) return trial > 0;
        spread_trial(fabric, guess->load, trial < trials, ret);
    }
    return true;
}

/* Does some switch of role `to` hash as one of role `from` does, both with a choice? */
static bool hash_alike(const struct fabric *fabric, uint32_t from, uint32_t to)
{
    for (uint32_t a = 0; a < fabric->switches; a++) {
        if (fabric->node[fabric->hosts + a].role != from) continue;
        for (uint32_t b = 0; b < fabric->switches; b++) {
            const struct fabric_switch *x = &fabric->sw[a], *y = &fabric->sw[b];
            if (a != b && fabric->node[fabric->hosts + b].role == to && x->hash_seed == y->hash_seed &&
                x->hash_fields == y->hash_fields && x->balance.kind == SW_ECMP && y->balance.kind == SW_ECMP)
                return true;
        }
        return false; /* one of the role speaks for all: seeds are by switch, by tier, or the same everywhere */
    }
    return false;
}

static void find_polarised(const struct fabric *fabric, const double *load, struct sim_tier *tier)
{
    tier->alike = UINT8_MAX;
    if (!tier->expected_used_milli || tier->used_milli * 4 >= tier->expected_used_milli * 3) return;
    for (uint8_t role = 0; role < FABRIC_ROLES && tier->alike == UINT8_MAX; role++)
        if (role != tier->from && role != tier->to && hash_alike(fabric, role, tier->from)) tier->alike = role;
    if (tier->alike == UINT8_MAX) return;
    for (uint32_t node = fabric->hosts; node < fabric->nodes; node++) {
        const struct fabric_node *as = &fabric->node[node];
        double sum = 0;
        for (uint32_t p = as->first_port; p < as->first_port + as->ports; p++)
            if (tier_of(fabric, p) == (uint32_t)tier->from * FABRIC_ROLES + tier->to) sum += load[p];
        for (uint32_t p = as->first_port; sum > 0 && p < as->first_port + as->ports; p++) {
            if (tier_of(fabric, p) != (uint32_t)tier->from * FABRIC_ROLES + tier->to) continue;
            if (load[p] * 10 * as->ports >= sum) continue;
            if (tier->empties < SIM_TIER_EMPTIES) tier->empty[tier->empties++] = p;
        }
    }
}

static uint32_t milli(double value)
{
    return (uint32_t)(value * MILLI + 0.5);
}

static void fill_tier(const struct fabric *fabric, uint32_t index, const struct spread *measured,
                      const struct spread *expected, const double *load, struct sim_tier *ret)
{
    *ret = (struct sim_tier){.from = (uint8_t)(index / FABRIC_ROLES),
                             .to = (uint8_t)(index % FABRIC_ROLES),
                             .switches = measured->switches,
                             .links = measured->links,
                             .mean_milli = milli(measured->ratio / measured->switches),
                             .worst_milli = milli(measured->worst),
                             .used_milli = milli((double)measured->used / measured->links)};
    if (expected->switches) {
        ret->expected_milli = milli(expected->ratio / expected->switches);
        if (expected->trials >= TRIALS_LEAST) ret->expected_most_milli = milli(expected->most);
        ret->expected_used_milli = milli((double)expected->used / expected->links);
    }
    for (uint32_t s = 0; s < fabric->switches; s++)
        if (fabric->node[fabric->hosts + s].role == ret->from) ret->balance = fabric->sw[s].balance.kind;
    find_polarised(fabric, load, ret);
}

int sim_imbalance(struct sim *sim, struct sim_result *result)
{
    const struct fabric *fabric = sim->fabric;
    struct spread measured[TIERS] = {{0}}, expected[TIERS] = {{0}};
    double *load = calloc(fabric->ports + 1u, sizeof(*load));
    struct guess guess = {.sim = sim, .load = calloc(fabric->ports + 1u, sizeof(double))};

    free(result->tier);
    result->tiers = 0;
    result->tier = calloc(TIERS, sizeof(*result->tier));
    int error = load && guess.load && result->tier ? 0 : -ENOMEM;
    if (!error) {
        rng_init(&guess.rng, sim->options.seed, 0);
        if (!guess_spread(&guess, expected))
            for (uint32_t i = 0; i < TIERS; i++)
                expected[i] = (struct spread){0};
        for (uint32_t p = fabric->endpoints; p < fabric->ports; p++) {
            const struct fabric_port *port = &fabric->port[p];
            if (port->node >= fabric->hosts)
                load[p] = (double)sw_port_counters(sim->sw[port->node - fabric->hosts].sw, port->index)->tx_bytes;
        }
        spread_all(fabric, load, measured);
        for (uint32_t i = 0; i < TIERS; i++)
            if (measured[i].links > measured[i].switches)
                fill_tier(fabric, i, &measured[i], &expected[i], load, &result->tier[result->tiers++]);
    }
    free(load);
    free(guess.load);
    return error;
}
