/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What goes wrong, when the fabric file says: links that go down and come back, corruption, every Nth
 * packet lost, a port that sends pauses without end, a slow link, a slow receiver, a forgotten port, a hot optic.
 *
 * A fault of a link is an event at each of its two ends, at the same time, and each end changes only its own
 * sending half; so faults need no latency between nodes.  A node that fails is all its ports failing.  What is
 * under way when a link goes down is lost where it would have arrived.  What is routed to a port that is down is lost
 * there; changes of routes are entries of the same lists (reroute.c).
 *
 * Faults may overlap.  What holds is therefore not kept as state but asked of the list, each time one begins or ends:
 * of those of a kind on a port, the one that began last.  Storms of several priorities on one port add up.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/grow.h"
#include "base/wide.h"
#include "engine/visit.h"
#include "fabric/fabric.h"
#include "sim/sim_int.h"

#define STORM_QUANTA 65535
#define LEAST_BPS 1000 /* as in fabric files: a line is slow, never still */

static int compare_faults(const void *a, const void *b)
{
    const struct sim_fault *x = a, *y = b;

    if (x->node != y->node) return x->node < y->node ? -1 : 1;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    if (x->begins != y->begins) return x->begins ? 1 : -1;
    if (x->port != y->port) return x->port < y->port ? -1 : 1;
    if (x->epoch != y->epoch) return x->epoch < y->epoch ? -1 : 1;
    return x->fault < y->fault ? -1 : x->fault > y->fault;
}

int sim_fault_add(struct sim *sim, const struct sim_fault *event)
{
    if (!GROW(sim->fault, sim->faults, sim->fault_room)) return -ENOMEM;
    sim->fault[sim->faults++] = *event;
    return 0;
}

static int add_end(struct sim *sim, uint32_t fault, uint32_t port)
{
    const struct fabric_fault *what = &sim->fabric->fault[fault];
    const struct fabric_port *end = &sim->fabric->port[port];
    struct sim_fault entry = {
        .at = what->at, .fault = fault, .node = end->node, .port = end->index, .begins = true, .sim = sim};

    int error = sim_fault_add(sim, &entry);
    if (error || what->lasts_ps == PS_NEVER) return error;
    entry.at = ps_add(what->at, what->lasts_ps);
    entry.begins = false;
    return sim_fault_add(sim, &entry);
}

/* Both ends of a link, but only the end that storms or is slow to take data; of a forgotten port the switch's; of
 * corruption and lost lanes in one way the end that sends that way. */
static int add_port(struct sim *sim, uint32_t fault, uint32_t port)
{
    enum fabric_fault_kind kind = sim->fabric->fault[fault].kind;
    uint32_t peer = sim->fabric->port[port].peer;
    int error = 0;

    if (kind == FABRIC_FAULT_WITHDRAW || kind == FABRIC_FAULT_SLOW_GPU) return 0;
    if (kind == FABRIC_FAULT_HOT_OPTICS && sim->fabric->fault[fault].ber == 0) return 0;
    enum fabric_way way = sim->fabric->fault[fault].way;
    if (kind != FABRIC_FAULT_FLOOD && way != FABRIC_WAY_IN) error = add_end(sim, fault, port);
    if (error || way == FABRIC_WAY_OUT || kind == FABRIC_FAULT_PAUSE || kind == FABRIC_FAULT_MISROUTE ||
        kind == FABRIC_FAULT_RECEIVE || peer == FABRIC_NONE)
        return error;
    return add_end(sim, fault, peer);
}

static struct fault_list *list_of(struct sim *sim, uint32_t node)
{
    return node < sim->fabric->hosts ? &sim->host[node].faults : &sim->sw[node - sim->fabric->hosts].faults;
}

static int build(struct sim *sim)
{
    const struct fabric *fabric = sim->fabric;
    int error = 0;

    for (uint32_t i = 0; i < fabric->faults && !error; i++) {
        const struct fabric_fault *fault = &fabric->fault[i];
        const struct fabric_node *node = &fabric->node[fault->node];
        if (fault->port != FABRIC_NONE) {
            error = add_port(sim, i, fault->port);
            continue;
        }
        for (uint32_t p = 0; p < node->ports && !error; p++)
            error = add_port(sim, i, node->first_port + p);
    }
    if (!error) error = sim_reroute_build(sim);
    if (error || sim->faults == 0) return error;
    qsort(sim->fault, sim->faults, sizeof(*sim->fault), compare_faults);
    for (uint32_t i = 0; i < sim->faults;) {
        struct fault_list *list = list_of(sim, sim->fault[i].node);
        list->fault = &sim->fault[i];
        for (uint32_t node = sim->fault[i].node; i < sim->faults && sim->fault[i].node == node; i++)
            list->count++;
    }
    return 0;
}

int sim_faults_build(struct sim *sim)
{
    for (uint32_t i = 0; i < sim->fabric->nodes; i++)
        list_of(sim, i)->storm_at = PS_NEVER;
    return build(sim);
}

/* The lists are made anew.  What is over is in them as before, in the same order, for a fault cannot be added to the
 * past: each list goes on where it was. */
static int build_again(struct sim *sim)
{
    struct sim_fault *before = sim->fault;

    sim->fault = NULL;
    sim->faults = sim->fault_room = 0;
    for (uint32_t i = 0; i < sim->fabric->nodes; i++)
        list_of(sim, i)->count = 0;
    int error = build(sim);
    for (uint32_t i = 0; i < sim->fabric->nodes && !error; i++) {
        const struct fault_list *list = list_of(sim, i);
        CHECK(list->next <= list->count &&
              (list->next == 0 || list->fault[list->next - 1].at <= engine_now(sim->engine)));
    }
    free(before);
    if (!error) sim_wake_all(sim, engine_now(sim->engine));
    return error;
}

int sim_fault(struct sim *sim, struct fabric *fabric, const char *text, struct fabric_errors *errors)
{
    uint32_t before = fabric->faults;

    CHECK(fabric == sim->fabric);
    int error = fabric_faults_add(fabric, text, engine_now(sim->engine), errors);
    for (uint32_t i = before; i < fabric->faults && !error; i++) {
        enum fabric_fault_kind kind = fabric->fault[i].kind;
        if (kind != FABRIC_FAULT_FLOOD && kind != FABRIC_FAULT_MISROUTE) continue;
        fabric_errors_add(errors, (struct fabric_at){0},
                          "%s: a switch that may have wrong tables is made so: write it into the file, under 'faults:'",
                          fabric->fault[i].word);
        error = -EINVAL;
    }
    if (!error) return build_again(sim);
    fabric->faults = before;
    return error;
}

static void set_corrupt(struct node *node, uint16_t port)
{
    const struct port_extra *extra = &node->extra[port];

    if (extra->loss_ppm || extra->keeps || extra->drop_every)
        node->port[port].flags |= PORT_CORRUPT;
    else
        node->port[port].flags &= (uint16_t)~PORT_CORRUPT;
}

static void port_state(struct sim *sim, struct worker *worker, struct node *node, uint16_t port, bool up, ps_t now)
{
    sim_events_note(sim, node->id, up ? RECORD_LINK_UP : RECORD_LINK_DOWN, port, 0, now);
    if (node->id >= sim->fabric->hosts)
        sim_switch_link(worker, node, port, up, now);
    else
        sim_host_link(worker, node, port, up, now);
    if (up) node_kick(node, port, now);
}

static bool holds(const struct fabric_fault *fault, ps_t now)
{
    return fault->at <= now && now < ps_add(fault->at, fault->lasts_ps);
}

/* Hot optics lose packets as corruption does. */
static enum fabric_fault_kind effect(enum fabric_fault_kind kind)
{
    return kind == FABRIC_FAULT_HOT_OPTICS ? FABRIC_FAULT_CORRUPT : kind;
}

/* The fault of a kind that holds on a port, the last to begin; NULL: none. */
static const struct fabric_fault *fault_on(const struct fault_list *list, enum fabric_fault_kind kind, uint16_t port,
                                           ps_t now)
{
    for (uint32_t i = list->next; i-- > 0;) {
        const struct sim_fault *event = &list->fault[i];
        if (event->fault == FAULT_ROUTES) continue;
        const struct fabric_fault *fault = &event->sim->fabric->fault[event->fault];
        if (event->begins && event->port == port && effect(fault->kind) == kind && holds(fault, now)) return fault;
    }
    return NULL;
}

static uint64_t slow_rate(uint64_t rate_bps, uint32_t ppm)
{
    uint64_t left = (uint64_t)((u128)rate_bps * ppm / 1000000);

    return left > LEAST_BPS ? left : LEAST_BPS;
}

/* Of all bytes, how many survive: (1 - ber)^8, 2^64 is 1. */
static uint64_t bytes_kept(uint64_t ber)
{
    uint64_t kept = UINT64_MAX - ber;

    for (int i = 0; i < 3; i++)
        kept = (uint64_t)((u128)kept * kept >> 64);
    return kept;
}

static void set_rate(struct sim *sim, struct worker *worker, struct node *node, const struct fault_list *list,
                     uint16_t index, ps_t now)
{
    const struct fabric_port *port = &sim->fabric->port[sim->fabric->node[node->id].first_port + index];
    const struct fabric_fault *fault = fault_on(list, FABRIC_FAULT_SLOW, index, now);
    uint64_t rate = fault ? slow_rate(port->rate_bps, fault->ppm) : port->rate_bps;

    if (rate != node->extra[index].rate.bps) sim_events_note(sim, node->id, RECORD_RATE, index, rate, now);
    node_port_rate(node, index, rate, engine_model(worker->engine));
}

static void set_receive(struct sim *sim, struct worker *worker, struct node *node, const struct fabric_fault *fault,
                        uint16_t port, ps_t now)
{
    uint32_t endpoint = sim->fabric->first_endpoint[node->id] + port;
    uint64_t usual = sim->fabric->nic[sim->fabric->endpoint[endpoint].nic].rx_rate_bps;

    sim_host_receive_rate(worker, node, port, fault ? fault->rate_bps : usual, now);
}

/* The edge has forgotten, or learnt again, the port of the endpoint at the other end. */
static void set_flood(struct sim *sim, const struct node *node, bool flood, uint16_t port)
{
    const struct fabric *fabric = sim->fabric;
    struct sim_switch *sw = &sim->sw[node->id - fabric->hosts];
    uint32_t endpoint = fabric->port[fabric->node[node->id].first_port + port].peer;

    sw->plant->local_port[endpoint] = flood ? SW_FLOOD_PORT : fabric->local_port[endpoint];
}

/* The wrong route that holds for an endpoint, the last to begin; NULL: none. */
static const struct sim_fault *misroute_of(const struct fault_list *list, uint32_t endpoint, ps_t now)
{
    for (uint32_t i = list->next; i-- > 0;) {
        const struct sim_fault *event = &list->fault[i];
        if (event->fault == FAULT_ROUTES || !event->begins) continue;
        const struct fabric_fault *fault = &event->sim->fabric->fault[event->fault];
        if (fault->kind == FABRIC_FAULT_MISROUTE && endpoint - fault->to < fault->to_count && holds(fault, now))
            return event;
    }
    return NULL;
}

/* What is for these endpoints leaves by the port of the route that holds, as if they hung on it. */
static void set_misroute(struct sim *sim, const struct node *node, const struct fault_list *list,
                         const struct fabric_fault *fault, ps_t now)
{
    const struct fabric *fabric = sim->fabric;
    struct sim_switch *sw = &sim->sw[node->id - fabric->hosts];

    for (uint32_t e = fault->to; e < fault->to + fault->to_count; e++) {
        const struct sim_fault *wrong = misroute_of(list, e, now);
        sw->plant->edge_of[e] = wrong ? sw->plant->routes.own_edge : fabric->edge_of[e];
        sw->plant->local_port[e] = wrong ? wrong->port : fabric->local_port[e];
    }
}

/* After an event at a port: what holds there now. */
static void fault_apply(const struct sim_fault *event, struct fault_list *list, struct worker *worker,
                        struct node *node, ps_t now)
{
    struct sim *sim = event->sim;
    const struct fabric *fabric = sim->fabric;
    enum fabric_fault_kind kind = effect(fabric->fault[event->fault].kind);
    const struct fabric_fault *fault = fault_on(list, kind, event->port, now);
    const struct fabric_port *port = &fabric->port[fabric->node[node->id].first_port + event->port];
    struct port_extra *extra = &node->extra[event->port];

    switch (kind) {
    case FABRIC_FAULT_DOWN:
        if (!fault == !(node->port[event->port].flags & PORT_DOWN)) break;
        port_state(sim, worker, node, event->port, !fault, now);
        if (!fault && fault_on(list, FABRIC_FAULT_SLOW, event->port, now))
            set_rate(sim, worker, node, list, event->port, now);
        break;
    case FABRIC_FAULT_CORRUPT:
        extra->keeps = fault && fault->ber ? bytes_kept(fault->ber) : 0;
        extra->loss_ppm = fault && !fault->ber        ? fault->ppm
                          : port->peer != FABRIC_NONE ? fabric->port[port->peer].error_ppm
                                                      : 0;
        set_corrupt(node, event->port);
        break;
    case FABRIC_FAULT_DROP:
        extra->drop_every = extra->until_drop = fault ? fault->every : 0;
        set_corrupt(node, event->port);
        break;
    case FABRIC_FAULT_PAUSE:
        list->storm_at = now;
        break;
    case FABRIC_FAULT_SLOW:
        set_rate(sim, worker, node, list, event->port, now);
        break;
    case FABRIC_FAULT_RECEIVE:
        set_receive(sim, worker, node, fault, event->port, now);
        break;
    case FABRIC_FAULT_FLOOD:
        set_flood(sim, node, fault != NULL, event->port);
        break;
    case FABRIC_FAULT_MISROUTE:
        set_misroute(sim, node, list, &fabric->fault[event->fault], now);
        break;
    case FABRIC_FAULT_WITHDRAW: /* moves routes, and nothing else */
    case FABRIC_FAULT_HOT_OPTICS:
    case FABRIC_FAULT_SLOW_GPU: /* the workload asks */
        break;
    }
}

/* Pause frames on every port that a storm names, one a port, again before the last ones expire. */
static void storm_run(struct fault_list *list, struct worker *worker, struct node *node, ps_t now)
{
    const struct fabric *fabric = list->fault[0].sim->fabric;
    uint32_t first_port = fabric->node[node->id].first_port;
    uint8_t enable[NODE_PORTS_MAX] = {0};
    uint64_t fastest = 0;

    for (uint32_t i = 0; i < list->next; i++) {
        if (list->fault[i].fault == FAULT_ROUTES) continue;
        const struct fabric_fault *fault = &fabric->fault[list->fault[i].fault];
        if (list->fault[i].begins && fault->kind == FABRIC_FAULT_PAUSE && holds(fault, now))
            enable[list->fault[i].port] |= (uint8_t)(1u << fault->priority);
    }
    for (uint16_t p = 0; p < node->ports; p++) {
        if (enable[p] == 0) continue;
        node_send_control(worker, node, p, control_pause(enable[p], STORM_QUANTA), now);
        uint64_t rate = fabric->port[first_port + p].rate_bps;
        if (rate > fastest) fastest = rate;
    }
    /* Quanta are shorter on a faster line; half of the shortest pause is in time for all. */
    list->storm_at = fastest ? now + pause_quanta_ps(STORM_QUANTA, fastest) / 2 : PS_NEVER;
}

void faults_run(struct fault_list *list, struct worker *worker, struct node *node, ps_t now)
{
    while (list->next < list->count && list->fault[list->next].at <= now) {
        const struct sim_fault *event = &list->fault[list->next++];
        if (event->fault == FAULT_ROUTES)
            sim_reroute_apply(event, &event->sim->sw[node->id - event->sim->fabric->hosts], now);
        else
            fault_apply(event, list, worker, node, now);
    }
    if (list->storm_at <= now) storm_run(list, worker, node, now);
}
