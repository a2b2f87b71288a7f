/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routes that follow failures, late.
 *
 * What is up changes at the times the faults say, so every set of routes that a run will ever need is known before it
 * starts: one for each set of links between switches that is avoided at some time, computed once (fabric_reroute)
 * however often the set comes back.  A change spreads from where it happened: the switches beside it have their new
 * routes after `detect`, each other after `step` for every hop it is away, over links that are up then.  In between
 * tables disagree, and packets may go in circles until their time to live is over; that is what routing protocols do,
 * and nothing is done here to hide it.
 *
 * A switch takes a change when its time comes, unless it has a later one already.  One that is withdrawn as a whole
 * keeps its own routes, so that what is still sent to it gets through; so does one that is down as a whole, which has
 * them when its ports come up.  One that cannot be reached by the news keeps
 * what it has until a later change reaches it.  A link that is withdrawn still carries the news, and is noticed at
 * once: somebody typed it.
 *
 * With credits (InfiniBand) see healed_at().
 *
 * With `ordered` a withdrawal goes the other way: the switches farthest from it move first, those beside it last.  That
 * is what a graceful shutdown of BGP comes to (RFC 8326: the old way is kept as the last choice until others have
 * moved) and what RFC 6976 orders for link-state protocols.
 *
 * Not modelled: the messages themselves, their loss, and protocols that hold routes back after a failure.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/sim_int.h"

#include "fabric/fabric.h"
#include "fabric/routing.h"

#define NOT_REACHED UINT32_MAX

struct plan { /* while the changes are found */
    struct sim *sim;
    uint8_t *down, *avoid; /* [ports] now: does not work; is not to be used */
    uint8_t *down_before, *avoid_before;
    uint32_t *far, *queue; /* [switches] */
    uint8_t *seen;         /* [tables][ports] the sets that have a table of this plan */
    uint32_t base;         /* tables of plans before it, which switches may still use */
    bool *leaving;         /* [switches] withdrawn, or down, as a whole */
    uint32_t epoch;
};

static void mark_port(const struct fabric *fabric, uint32_t port, uint8_t *set)
{
    uint32_t peer = fabric->port[port].peer;

    if (peer == FABRIC_NONE || fabric->port[port].node < fabric->hosts || fabric->port[peer].node < fabric->hosts)
        return;
    set[port] = set[peer] = 1;
}

static void mark_fault(const struct fabric *fabric, const struct fabric_fault *fault, uint8_t *set)
{
    const struct fabric_node *node = &fabric->node[fault->node];

    if (fault->port != FABRIC_NONE) {
        mark_port(fabric, fault->port, set);
        return;
    }
    for (uint32_t p = 0; p < node->ports; p++)
        mark_port(fabric, node->first_port + p, set);
}

static bool moves_routes(const struct fabric_fault *fault)
{
    return fault->kind == FABRIC_FAULT_DOWN || fault->kind == FABRIC_FAULT_WITHDRAW;
}

static void find_sets(struct plan *plan, ps_t now)
{
    const struct fabric *fabric = plan->sim->fabric;

    memcpy(plan->down_before, plan->down, fabric->ports);
    memcpy(plan->avoid_before, plan->avoid, fabric->ports);
    memset(plan->down, 0, fabric->ports);
    memset(plan->avoid, 0, fabric->ports);
    memset(plan->leaving, 0, fabric->switches * sizeof(*plan->leaving));
    for (uint32_t i = 0; i < fabric->faults; i++) {
        const struct fabric_fault *fault = &fabric->fault[i];
        if (!moves_routes(fault) || now < fault->at || now >= ps_add(fault->at, fault->lasts_ps)) continue;
        mark_fault(fabric, fault, plan->avoid);
        if (fault->port == FABRIC_NONE && fault->node >= fabric->hosts)
            plan->leaving[fault->node - fabric->hosts] = true;
        if (fault->kind == FABRIC_FAULT_DOWN) mark_fault(fabric, fault, plan->down);
    }
}

/* The table for the links avoided now: 0 is the fabric's own.  -ENOMEM. */
static int find_table(struct plan *plan, uint32_t *ret)
{
    struct sim *sim = plan->sim;
    const struct fabric *fabric = sim->fabric;
    size_t ports = fabric->ports;

    if (memchr(plan->avoid, 1, ports) == NULL) {
        *ret = 0;
        return 0;
    }
    uint32_t own = sim->routings - plan->base;
    for (uint32_t i = 0; i < own; i++) {
        if (memcmp(plan->seen + i * ports, plan->avoid, ports) != 0) continue;
        *ret = plan->base + i + 1;
        return 0;
    }
    uint8_t *seen = realloc(plan->seen, (own + 1) * ports);
    if (seen == NULL) return -ENOMEM;
    plan->seen = seen;
    struct fabric_routing **routing = realloc(sim->routing, (sim->routings + 1) * sizeof(*routing));
    if (routing == NULL) return -ENOMEM;
    sim->routing = routing;
    int error = fabric_reroute(fabric, plan->avoid, &routing[sim->routings]);
    if (error) return error;
    memcpy(seen + own * ports, plan->avoid, ports);
    *ret = ++sim->routings;
    return 0;
}

/* Hops from the places of change of one kind: of what works, or (`typed`) of what is used although nothing broke. */
static void spread(struct plan *plan, bool typed)
{
    const struct fabric *fabric = plan->sim->fabric;
    uint32_t head = 0, tail = 0;

    for (uint32_t s = 0; s < fabric->switches; s++)
        plan->far[s] = NOT_REACHED;
    for (uint32_t p = fabric->endpoints; p < fabric->ports; p++) {
        bool broke = plan->down[p] != plan->down_before[p];
        if (typed ? broke || plan->avoid[p] == plan->avoid_before[p] : !broke) continue;
        uint32_t s = fabric->port[p].node - fabric->hosts;
        if (plan->far[s] == 0) continue;
        plan->far[s] = 0;
        plan->queue[tail++] = s;
    }
    while (head < tail) {
        uint32_t s = plan->queue[head++];
        const struct fabric_node *node = &fabric->node[fabric->hosts + s];
        for (uint32_t i = node->first_port; i < node->first_port + node->ports; i++) {
            uint32_t peer = fabric->port[i].peer;
            if (peer == FABRIC_NONE || plan->down[i] || !fabric->port[i].up) continue;
            if (fabric->port[peer].node < fabric->hosts) continue;
            uint32_t to = fabric->port[peer].node - fabric->hosts;
            if (plan->far[to] != NOT_REACHED) continue;
            plan->far[to] = plan->far[s] + 1;
            plan->queue[tail++] = to;
        }
    }
}

static ps_t news_at(ps_t now, ps_t first, ps_t step, uint32_t hops)
{
    if (hops == NOT_REACHED) return PS_NEVER;
    return ps_add(ps_add(now, first), hops && step > PS_NEVER / 2 / hops ? PS_NEVER / 2 : hops * step);
}

/* Whether each way of the switch that is gone has another port of the same group beside it. */
static bool chooses_alone(const struct plan *plan, uint32_t s)
{
    const struct fabric *fabric = plan->sim->fabric;
    const struct fabric_route *route = &fabric->route[s];
    uint32_t first = fabric->node[fabric->hosts + s].first_port;

    for (uint32_t edge = 0; edge < fabric->edges; edge++) {
        uint32_t gone = 0;
        if (route->group_of[edge] == FABRIC_NO_GROUP) continue;
        const struct sw_group *group = &route->group[route->group_of[edge]];
        for (uint32_t i = 0; i < group->count; i++)
            gone += plan->avoid[first + fabric->route_port[group->first + i]];
        if (gone && gone == group->count) return false;
    }
    return true;
}

/* Self-healing switches: those beside the change use what is left of their groups; where nothing is left, and
 * everywhere else, the tables change together one step later.  So no packet is sent back to where it came from: on
 * lines with credits, without a time to live, that would be a deadlock. */
static ps_t healed_at(const struct plan *plan, uint32_t s, ps_t now)
{
    const struct fabric_converge *converge = &plan->sim->fabric->converge;

    if (plan->far[s] == NOT_REACHED) return PS_NEVER;
    return news_at(now, converge->detect_ps, converge->step_ps, plan->far[s] != 0 || !chooses_alone(plan, s));
}

/* After spread(): the farthest comes first.  Who sends towards what is withdrawn is farther from it than whom it sends
 * to, so a switch moves when nobody sends to it any more what it would send back.  What comes back is told as a
 * failure is: the nearest first, and for the same reason nothing goes in circles. */
static void turn_round(struct plan *plan)
{
    const struct fabric *fabric = plan->sim->fabric;
    uint32_t most = 0;

    for (uint32_t p = fabric->endpoints; p < fabric->ports; p++)
        if (plan->avoid[p] < plan->avoid_before[p]) return;
    for (uint32_t s = 0; s < fabric->switches; s++)
        if (plan->far[s] != NOT_REACHED && plan->far[s] > most) most = plan->far[s];
    for (uint32_t s = 0; s < fabric->switches; s++)
        if (plan->far[s] != NOT_REACHED) plan->far[s] = most - plan->far[s];
}

static int add_change(struct plan *plan, ps_t now, uint32_t table)
{
    struct sim *sim = plan->sim;
    const struct fabric *fabric = sim->fabric;
    const struct fabric_converge *converge = &fabric->converge;
    ps_t *at = calloc(fabric->switches + 1u, sizeof(*at));

    if (at == NULL) return -ENOMEM;
    spread(plan, false);
    for (uint32_t s = 0; s < fabric->switches; s++)
        at[s] = fabric->lanes.vls && !fabric->lanes.cbfc
                    ? healed_at(plan, s, now)
                    : news_at(now, converge->detect_ps, converge->step_ps, plan->far[s]);
    spread(plan, true);
    if (converge->ordered) turn_round(plan);
    plan->epoch++;
    int error = 0;
    for (uint32_t s = 0; s < fabric->switches && !error; s++) {
        ps_t typed = news_at(now, 0, converge->step_ps, plan->far[s]);
        ps_t first = typed < at[s] ? typed : at[s];
        struct sim_fault event = {.at = first,
                                  .sim = sim,
                                  .fault = FAULT_ROUTES,
                                  .node = fabric->hosts + s,
                                  .table = table,
                                  .epoch = plan->epoch,
                                  .begins = true};
        if (first != PS_NEVER && !plan->leaving[s]) error = sim_fault_add(sim, &event);
    }
    free(at);
    return error;
}

static int compare_times(const void *a, const void *b)
{
    ps_t x = *(const ps_t *)a, y = *(const ps_t *)b;

    return x < y ? -1 : x > y;
}

static int find_changes(struct plan *plan)
{
    const struct fabric *fabric = plan->sim->fabric;
    ps_t *time = calloc(2 * (size_t)fabric->faults + 1, sizeof(*time));
    uint32_t times = 0;
    int error = 0;

    if (time == NULL) return -ENOMEM;
    for (uint32_t i = 0; i < fabric->faults; i++) {
        const struct fabric_fault *fault = &fabric->fault[i];
        if (!moves_routes(fault)) continue;
        time[times++] = fault->at;
        if (fault->lasts_ps != PS_NEVER) time[times++] = ps_add(fault->at, fault->lasts_ps);
    }
    qsort(time, times, sizeof(*time), compare_times);
    for (uint32_t i = 0; i < times && !error; i++) {
        uint32_t table;
        if (i > 0 && time[i] == time[i - 1]) continue;
        find_sets(plan, time[i]);
        if (memcmp(plan->avoid, plan->avoid_before, fabric->ports) == 0) continue;
        error = find_table(plan, &table);
        if (!error) error = add_change(plan, time[i], table);
    }
    free(time);
    return error;
}

int sim_reroute_build(struct sim *sim)
{
    const struct fabric *fabric = sim->fabric;
    size_t ports = fabric->ports;
    bool any = false;

    for (uint32_t i = 0; i < fabric->faults; i++)
        any |= moves_routes(&fabric->fault[i]);
    if (!any || !fabric->converge.on || fabric->switches == 0) return 0;
    uint8_t *sets = calloc(4, ports + 1);
    uint32_t *lists = calloc(2 * (size_t)fabric->switches, sizeof(*lists));
    struct plan plan = {.sim = sim, .base = sim->routings, .leaving = calloc(fabric->switches, sizeof(bool))};
    int error = -ENOMEM;
    if (sets && lists && plan.leaving) {
        plan.down = sets;
        plan.avoid = sets + ports;
        plan.down_before = sets + 2 * ports;
        plan.avoid_before = sets + 3 * ports;
        plan.far = lists;
        plan.queue = lists + fabric->switches;
        error = find_changes(&plan);
    }
    free(plan.seen);
    free(plan.leaving);
    free(sets);
    free(lists);
    return error;
}

void sim_reroute_free(struct sim *sim)
{
    for (uint32_t i = 0; i < sim->routings; i++)
        fabric_routing_free(sim->routing[i]);
    free(sim->routing);
}

void sim_reroute_apply(const struct sim_fault *event, struct sim_switch *sw, ps_t now)
{
    const struct sim *sim = event->sim;
    uint32_t index = event->node - sim->fabric->hosts;

    if (event->epoch <= sw->epoch) return;
    sw->epoch = event->epoch;
    const struct fabric_routing *to = event->table ? sim->routing[event->table - 1] : NULL;
    const struct fabric_route *route = to ? &to->route[index] : &sim->fabric->route[index];
    sw->plant->routes.group_of = route->group_of;
    sw->plant->routes.group = route->group;
    sw->plant->routes.port = to ? to->route_port : sim->fabric->route_port;
    sw_set_routes(sw->sw, &sw->plant->routes);
    sim_events_note(sim, event->node, RECORD_ROUTES, RECORD_NO_PORT, event->epoch, now);
}

bool sim_reaches(const struct sim *sim, uint32_t src, uint32_t dst)
{
    const struct fabric *fabric = sim->fabric;
    uint32_t at = fabric->endpoint[src].port, edge = fabric->edge_of[dst];

    for (uint32_t hops = 0; hops <= fabric->switches; hops++) {
        const struct fabric_port *out = &fabric->port[at];
        const struct node *node = engine_node(sim->engine, out->node);
        if (out->peer == FABRIC_NONE || node->port[out->index].flags & PORT_DOWN) return false;
        const struct fabric_port *in = &fabric->port[out->peer];
        if (in->node < fabric->hosts) return out->peer == fabric->endpoint[dst].port;
        if (edge == FABRIC_NONE) return false;
        const struct sw_routes *routes = &sim->plant.sw[in->node - fabric->hosts].routes;
        uint32_t port = routes->local_port[dst] == SW_FLOOD_PORT ? fabric->local_port[dst] : routes->local_port[dst];
        if (routes->edge_of[dst] != routes->own_edge) {
            uint16_t group = routes->group_of[edge];
            if (group == FABRIC_NO_GROUP) return false;
            port = routes->port[routes->group[group].first];
        }
        at = fabric->node[in->node].first_port + port;
    }
    return false;
}
