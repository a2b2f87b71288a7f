/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of several next hops, where it is not a hash of the flow alone (that is route.c): flowlets, adaptive
 * routing, spraying, pins.  A switch that only hashes has no balancer and never comes here.
 *
 * Flowlets: a flow that was silent for longer than the gap may go another way, and no packet overtakes another if
 * the gap is longer than ways differ (Vanini et al., "Let It Flow", NSDI 2017).  Flows share a table of fixed size
 * by their hash, as chips have it; two that meet in an entry go together.
 *
 * Adaptive: the least filled queue of the packet's class, as this switch sees its own ports; it does not know what
 * lies behind them.  Lengths are compared in eight levels that double, as chips quantise them, so that small
 * differences do not drive all flows to one port at once; ties are broken at random.  Hysteresis: a flow leaves the
 * port it used last only for one that is so many levels emptier.  A paused queue counts as full, a port that is down
 * as worse.
 *
 * Spraying: each packet by itself, at random or, for each flow, in turn.  It looks at nothing, so a port that is
 * down loses its share until routes change.
 *
 * Pins: a table of flows, looked up by source, destination and queue pair, then without the queue pair, then by the
 * destination alone; what is not in it goes by a rule without memory: the port at its edge of destination or source,
 * modulo the next hops, or the hash.  A pin that names none of the next hops (routes have changed) is passed over.
 *
 * Draws come from a stream of the switch's own: switches that hash alike still spray independently.
 */
#include "base/bits.h"
#include "switch/switch_int.h"

#define LEVELS 8u
#define LEVEL_PAUSED LEVELS
#define LEVEL_REFUSES (LEVELS + 1)
#define NO_MEMBER UINT32_MAX

struct sw_flow { /* an entry of the flow table */
    ps_t seen;
    uint16_t group; /* + 1; 0: never used */
    uint16_t member;
    uint32_t spare;
};

struct sw_balancer {
    struct sw_balance rule;
    struct rng rng;
    struct sw_flow *flow;
    uint32_t flow_mask;
    uint32_t pin_mask;
    struct sw_pin *pin; /* hashed; port SW_DROPPED: empty */
};

static bool has_table(const struct sw_balance *rule)
{
    if (rule->kind == SW_SPRAY) return rule->round_robin;
    return rule->kind == SW_FLOWLET || (rule->kind == SW_ADAPTIVE && (rule->hysteresis || rule->by_flowlet));
}

static uint32_t pin_slots(const struct sw_balance *rule)
{
    uint32_t slots = 2;
    while (slots < 2 * rule->pins)
        slots *= 2;
    return slots;
}

const char *balance_problem(const struct sw_balance *rule)
{
    if (rule->kind > SW_PIN) return "no such way to balance";
    if (has_table(rule) && (rule->table == 0 || rule->table > SW_FLOWS_MAX || (rule->table & (rule->table - 1))))
        return "the flow table has 1 to 2^20 entries, a power of two";
    if (rule->kind == SW_ADAPTIVE && (rule->quantum_bytes == 0 || rule->hysteresis >= LEVELS))
        return "adaptive routing wants a quantum, and a hysteresis below 8";
    if (rule->pins > SW_PINS_MAX) return "more than 65536 pins";
    return NULL;
}

size_t balance_bytes(const struct sw_balance *rule)
{
    if (rule->kind == SW_ECMP) return 0;
    return lines_up(sizeof(struct sw_balancer)) +
           (has_table(rule) ? lines_up(rule->table * sizeof(struct sw_flow)) : 0) +
           (rule->kind == SW_PIN ? lines_up(pin_slots(rule) * sizeof(struct sw_pin)) : 0);
}

static uint32_t pin_hash(uint32_t src, uint32_t dst, uint32_t qp)
{
    uint64_t hash = ((uint64_t)dst << 32 | src) * UINT64_C(0x9E3779B97F4A7C15);
    hash = (hash ^ hash >> 32 ^ qp) * UINT64_C(0xD6E8FEB86659FD93);
    return (uint32_t)(hash >> 32);
}

/* Where it is, or where it would be entered. */
static struct sw_pin *pin_slot(const struct sw_balancer *balancer, uint32_t src, uint32_t dst, uint32_t qp)
{
    uint32_t at = pin_hash(src, dst, qp) & balancer->pin_mask;
    for (;; at = (at + 1) & balancer->pin_mask) {
        struct sw_pin *pin = &balancer->pin[at];
        if (pin->port == SW_DROPPED || (pin->src == src && pin->dst == dst && pin->qp == qp)) return pin;
    }
}

struct sw_balancer *balance_init(void *memory, const struct sw_balance *rule)
{
    if (rule->kind == SW_ECMP) return NULL;
    uint8_t *at = memory;
    struct sw_balancer *balancer = memory;
    balancer->rule = *rule;
    rng_init(&balancer->rng, rule->seed, 0);
    at += lines_up(sizeof *balancer);
    if (has_table(rule)) {
        balancer->flow = (struct sw_flow *)(void *)at;
        balancer->flow_mask = rule->table - 1;
        at += lines_up(rule->table * sizeof(struct sw_flow));
    }
    if (rule->kind == SW_PIN) {
        balancer->pin = (struct sw_pin *)(void *)at;
        balancer->pin_mask = pin_slots(rule) - 1;
        for (uint32_t i = 0; i <= balancer->pin_mask; i++)
            balancer->pin[i].port = SW_DROPPED;
        for (uint32_t i = 0; i < rule->pins; i++)
            *pin_slot(balancer, rule->pin[i].src, rule->pin[i].dst, rule->pin[i].qp) = rule->pin[i];
    }
    return balancer;
}

void balance_forget(struct sw_balancer *balancer)
{
    for (uint32_t i = 0; balancer->flow && i <= balancer->flow_mask; i++)
        balancer->flow[i] = (struct sw_flow){0};
}

static uint32_t draw(struct sw_balancer *balancer, uint32_t count)
{
    return (uint32_t)((uint64_t)rng_u32(&balancer->rng) * count >> 32);
}

/* The flow's entry: of this group, or new (`group` 0) and this group's from now on. */
static struct sw_flow *flow_at(const struct sw *sw, const struct pkt *pkt, uint32_t group, uint32_t count,
                               bool *ret_known)
{
    struct sw_balancer *balancer = sw->balancer;
    struct sw_flow *flow = &balancer->flow[(route_hash(sw, pkt) + group * 0x9E3779B9u) & balancer->flow_mask];
    *ret_known = flow->group == (uint16_t)(group + 1) && flow->member < count;
    flow->group = (uint16_t)(group + 1);
    return flow;
}

uint32_t balance_level(uint64_t bytes, uint32_t quantum_bytes)
{
    uint32_t level = 0;
    while (level < LEVELS - 1 && bytes >= (uint64_t)quantum_bytes << level)
        level++;
    return level;
}

static uint32_t level_of(const struct sw *sw, uint32_t port, uint32_t tc)
{
    if (port >= sw->ports) return LEVEL_REFUSES;
    const struct sw_port *to = &sw->port[port];
    uint32_t queue = to->profile->queue_of[tc];
    if (to->refuse >> queue & 1) return LEVEL_REFUSES;
    if (to->paused >> queue & 1) return LEVEL_PAUSED;
    return balance_level(sw_queue_at(sw, port, queue)->bytes, sw->balancer->rule.quantum_bytes);
}

/* The emptiest member, and its level; any of equals. */
static uint32_t emptiest(const struct sw *sw, const uint16_t *port, uint32_t count, uint32_t tc, uint32_t *ret_level)
{
    uint32_t best = NO_MEMBER, least = UINT32_MAX, at = draw(sw->balancer, count);
    for (uint32_t i = 0; i < count && least; i++, at = at + 1 == count ? 0 : at + 1) {
        uint32_t level = level_of(sw, port[at], tc);
        if (level >= least) continue;
        least = level;
        best = at;
    }
    *ret_level = least;
    return best;
}

static uint32_t adaptive(const struct sw *sw, const uint16_t *port, uint32_t count, uint32_t group,
                         const struct pkt *pkt, uint32_t tc, ps_t now)
{
    const struct sw_balance *rule = &sw->balancer->rule;
    uint32_t least;
    if (!sw->balancer->flow) return emptiest(sw, port, count, tc, &least);
    bool known;
    struct sw_flow *flow = flow_at(sw, pkt, group, count, &known);
    bool within = known && rule->by_flowlet && now - flow->seen <= rule->gap_ps;
    flow->seen = now;
    if (known) {
        uint32_t here = level_of(sw, port[flow->member], tc);
        if (within && here < LEVEL_REFUSES) return flow->member;
        if (here < rule->hysteresis) return flow->member;
        uint32_t other = emptiest(sw, port, count, tc, &least);
        if (here < least + rule->hysteresis) return flow->member;
        flow->member = (uint16_t)other;
    } else {
        flow->member = (uint16_t)emptiest(sw, port, count, tc, &least);
    }
    return flow->member;
}

static uint32_t flowlet(const struct sw *sw, uint32_t count, uint32_t group, const struct pkt *pkt, ps_t now)
{
    bool known;
    struct sw_flow *flow = flow_at(sw, pkt, group, count, &known);
    if (!known || now - flow->seen > sw->balancer->rule.gap_ps) flow->member = (uint16_t)draw(sw->balancer, count);
    flow->seen = now;
    return flow->member;
}

static uint32_t spray(const struct sw *sw, uint32_t count, uint32_t group, const struct pkt *pkt)
{
    if (!sw->balancer->flow) return draw(sw->balancer, count);
    bool known;
    struct sw_flow *flow = flow_at(sw, pkt, group, count, &known);
    uint32_t next = known ? flow->member + 1u : draw(sw->balancer, count);
    flow->member = (uint16_t)(next < count ? next : 0);
    return flow->member;
}

static uint32_t pinned(const struct sw *sw, const uint16_t *port, uint32_t count, const struct pkt *pkt)
{
    const struct sw_balancer *balancer = sw->balancer;
    if (balancer->rule.pins) {
        const struct sw_pin *pin = pin_slot(balancer, pkt->src_node, pkt->dst_node, pkt->dest_qp);
        if (pin->port == SW_DROPPED) pin = pin_slot(balancer, pkt->src_node, pkt->dst_node, SW_PIN_ANY);
        if (pin->port == SW_DROPPED) pin = pin_slot(balancer, SW_PIN_ANY, pkt->dst_node, SW_PIN_ANY);
        for (uint32_t i = 0; pin->port != SW_DROPPED && i < count; i++)
            if (port[i] == pin->port) return i;
    }
    if (balancer->rule.pin_by == SW_PIN_BY_HASH) return (uint32_t)((uint64_t)route_hash(sw, pkt) * count >> 32);
    return sw->routes->local_port[balancer->rule.pin_by == SW_PIN_BY_SRC ? pkt->src_node : pkt->dst_node] % count;
}

uint32_t route_balanced(struct sw *sw, const struct pkt *pkt, uint32_t tc, ps_t now)
{
    const struct sw_routes *routes = sw->routes;
    uint32_t edge = routes->edge_of[pkt->dst_node];
    uint32_t group = edge == routes->own_edge ? UINT16_MAX : routes->group_of[edge];
    uint32_t count = group == UINT16_MAX ? 0 : routes->group[group].count;
    if (!sw->balancer || count < 2) return route_port(sw, pkt);
    const uint16_t *port = &routes->port[routes->group[group].first];
    uint32_t member = 0;
    switch ((enum sw_balance_kind)sw->balancer->rule.kind) {
    case SW_FLOWLET:
        member = flowlet(sw, count, group, pkt, now);
        break;
    case SW_ADAPTIVE:
        member = adaptive(sw, port, count, group, pkt, tc, now);
        break;
    case SW_SPRAY:
        member = spray(sw, count, group, pkt);
        break;
    case SW_PIN:
        member = pinned(sw, port, count, pkt);
        break;
    case SW_ECMP:
        break;
    }
    return port[member] < sw->ports ? port[member] : SW_NO_PORT;
}

uint16_t sw_route(const struct sw *sw, const struct pkt *flow)
{
    const struct sw_routes *routes = sw->routes;
    uint32_t edge = routes->edge_of[flow->dst_node], port = SW_NO_PORT;
    const struct sw_group *group = NULL;

    if (edge != routes->own_edge && routes->group_of[edge] != UINT16_MAX)
        group = &routes->group[routes->group_of[edge]];
    if (!sw->balancer || !group || group->count < 2) {
        port = route_port(sw, flow);
    } else if (sw->balancer->rule.kind == SW_PIN) {
        const uint16_t *member = &routes->port[group->first];
        port = member[pinned(sw, member, group->count, flow)];
    } else {
        return SW_SPREADS;
    }
    return port < sw->ports ? (uint16_t)port : SW_DROPPED;
}
