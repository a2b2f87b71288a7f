/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was done to the fabric: faults that have begun, and routes that switches have changed.
 *
 * Both are known before they happen, in the fabric and in the nodes' lists; what is read out is what a run has come to.
 * A node's list is the past up to its `next`, and a switch passes over a change when it has a later one already, so the
 * way through the list shows which it took.
 */
#include <errno.h>
#include <stdlib.h>

#include "sim/sim_int.h"

#include "fabric/fabric.h"

static int compare_seen(const void *a, const void *b)
{
    const struct sim_fault_seen *x = a, *y = b;

    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    if (x->node != y->node) return x->node < y->node ? -1 : 1;
    if (x->port != y->port) return x->port < y->port ? -1 : 1;
    return x->kind < y->kind ? -1 : x->kind > y->kind;
}

static int compare_changes(const void *a, const void *b)
{
    const struct sim_route_change *x = a, *y = b;

    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    if (x->node != y->node) return x->node < y->node ? -1 : 1;
    return x->change < y->change ? -1 : x->change > y->change;
}

static int read_faults(const struct fabric *fabric, ps_t now, struct sim_result *ret)
{
    ret->fault = calloc(fabric->faults, sizeof(*ret->fault));
    if (ret->fault == NULL) return -ENOMEM;
    for (uint32_t i = 0; i < fabric->faults; i++) {
        const struct fabric_fault *from = &fabric->fault[i];
        ps_t until = ps_add(from->at, from->lasts_ps);
        if (from->at > now) continue;
        ret->fault[ret->faults++] = (struct sim_fault_seen){.at = from->at,
                                                            .until = until <= now ? until : PS_NEVER,
                                                            .kind = from->kind,
                                                            .node = from->node,
                                                            .port = from->port,
                                                            .text = from->text};
    }
    qsort(ret->fault, ret->faults, sizeof(*ret->fault), compare_seen);
    return 0;
}

/* Changes that a switch took, in order; counts them where `to` is NULL. */
static uint32_t taken(const struct fault_list *list, struct sim_route_change *to)
{
    uint32_t epoch = 0, count = 0;

    for (uint32_t i = 0; i < list->next; i++) {
        const struct sim_fault *event = &list->fault[i];
        if (event->fault != FAULT_ROUTES || event->epoch <= epoch) continue;
        epoch = event->epoch;
        if (to) to[count] = (struct sim_route_change){.at = event->at, .node = event->node, .change = epoch};
        count++;
    }
    return count;
}

static int read_routes(const struct sim *sim, struct sim_result *ret)
{
    size_t all = 0;

    for (uint32_t s = 0; s < sim->fabric->switches; s++)
        all += taken(&sim->sw[s].faults, NULL);
    if (all == 0) return 0;
    struct sim_route_change *route = calloc(all, sizeof(*route));
    if (route == NULL) return -ENOMEM;
    size_t count = 0;
    for (uint32_t s = 0; s < sim->fabric->switches; s++)
        count += taken(&sim->sw[s].faults, route + count);
    qsort(route, all, sizeof(*route), compare_changes);
    ret->route = route;
    ret->routes = all < SIM_ROUTES_MAX ? (uint32_t)all : SIM_ROUTES_MAX;
    ret->routes_left_out = all - ret->routes;
    return 0;
}

int sim_happened_read(const struct sim *sim, struct sim_result *ret)
{
    if (sim->fabric->faults == 0) return 0;
    int error = read_faults(sim->fabric, engine_now(sim->engine), ret);

    return error ? error : read_routes(sim, ret);
}
