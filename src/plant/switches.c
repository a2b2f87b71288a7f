/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Switches from the fabric's arrays: settings become port configurations (shared by the ports that share
 * settings), routes are used where they lie.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plant/plant_int.h"

#include "fabric/fabric.h"
#include "fabric/switches.h"

#define UNPLUGGED_BPS 1000000000ULL /* of a port without a cable: never asked, but a switch wants a rate */

_Static_assert(FABRIC_NONE == SW_PIN_ANY && FABRIC_NO_GROUP == UINT16_MAX && FABRIC_UNLIMITED == UINT64_MAX, "nothing");

static struct sw_port_config port_config(const struct fabric_settings *from)
{
    struct sw_port_config config = {.rules = from->sw, .unwatched = (uint8_t)~from->watched};

    for (int i = 0; i < SW_PRIOS; i++) {
        config.queue[i] = from->queue[i].sw;
        config.pg[i] = from->pg[i].sw;
    }
    return config;
}

/* Above is what stands in a higher tier; among equals, what comes later in the file. */
static bool stands_above(const struct fabric *fabric, uint32_t node, uint32_t other)
{
    if (other < fabric->hosts) return false;
    if (fabric->node[node].role != fabric->node[other].role) return fabric->node[other].role > fabric->node[node].role;
    return other > node;
}

/* From each lossless class to the next higher one. */
static int plan_raise(struct plant *plant, uint32_t index)
{
    const struct fabric *fabric = plant->fabric;
    const struct fabric_node *node = &fabric->node[fabric->hosts + index];
    struct plant_switch *sw = &plant->sw[index];

    if (!fabric->sw[index].raise_bounce) return 0;
    sw->raise = calloc(1, sizeof(*sw->raise) + node->ports);
    if (sw->raise == NULL) return -ENOMEM;
    uint8_t *above = (uint8_t *)(sw->raise + 1);
    for (uint32_t p = 0; p < node->ports; p++) {
        uint32_t peer = fabric->port[node->first_port + p].peer;
        above[p] = peer != FABRIC_NONE && stands_above(fabric, fabric->hosts + index, fabric->port[peer].node);
    }
    sw->raise->above = above;
    for (uint8_t d = 0; d < 64; d++)
        sw->raise->dscp[d] = d;
    for (uint32_t c = 0; c < fabric->class_count; c++) {
        const struct fabric_class *from = &fabric->classes[c], *to = NULL;
        for (uint32_t n = 0; n < fabric->class_count && from->lossless; n++) {
            const struct fabric_class *one = &fabric->classes[n];
            bool higher = one->lossless && one->dscps && one->priority > from->priority;
            if (higher && (to == NULL || one->priority < to->priority)) to = one;
        }
        for (uint8_t d = 0; d < 64 && to; d++)
            if (from->dscps >> d & 1) sw->raise->dscp[d] = to->dscp;
    }
    return 0;
}

static int own_tables(const struct fabric *fabric, struct plant_switch *sw)
{
    if (sw->local_port) return 0;
    sw->local_port = calloc(fabric->endpoints + 1u, sizeof(*sw->local_port));
    sw->edge_of = calloc(fabric->endpoints + 1u, sizeof(*sw->edge_of));
    if (sw->local_port == NULL || sw->edge_of == NULL) return -ENOMEM;
    memcpy(sw->local_port, fabric->local_port, fabric->endpoints * sizeof(*sw->local_port));
    memcpy(sw->edge_of, fabric->edge_of, fabric->endpoints * sizeof(*sw->edge_of));
    return 0;
}

/* A switch that will forget a port, or have a wrong route, has tables of its own. */
static int plan_tables(struct plant *plant)
{
    const struct fabric *fabric = plant->fabric;
    int error = 0;

    for (uint32_t i = 0; i < fabric->faults && !error; i++) {
        const struct fabric_fault *fault = &fabric->fault[i];
        if (fault->kind == FABRIC_FAULT_MISROUTE) error = own_tables(fabric, &plant->sw[fault->node - fabric->hosts]);
        if (fault->kind != FABRIC_FAULT_FLOOD) continue;
        for (uint32_t p = 0; p < fabric->node[fault->node].ports && !error; p++) {
            uint32_t own = fabric->node[fault->node].first_port + p, peer = fabric->port[own].peer;
            if (fault->port != FABRIC_NONE && fault->port != own) continue;
            if (peer == FABRIC_NONE || fabric->port[peer].node < fabric->hosts) continue;
            error = own_tables(fabric, &plant->sw[fabric->port[peer].node - fabric->hosts]);
        }
    }
    return error;
}

static void switch_config(struct plant *plant, uint32_t index)
{
    const struct fabric *fabric = plant->fabric;
    const struct fabric_switch *from = &fabric->sw[index];
    const struct fabric_node *node = &fabric->node[fabric->hosts + index];
    const struct fabric_route *route = &fabric->route[index];
    struct plant_switch *sw = &plant->sw[index];

    sw->config = (struct sw_config){.ports = node->ports,
                                    .cell_bytes = from->cell_bytes,
                                    .buffer_bytes = from->buffer_bytes,
                                    .headroom_pool_bytes = from->headroom_pool_bytes,
                                    .mark = from->mark_at_dequeue ? SW_MARK_DEQUEUE : SW_MARK_ENQUEUE,
                                    .refresh_pauses = from->refresh_pauses,
                                    .seed = from->hash_seed ^ plant->options.seed,
                                    .watchdog = from->watchdog.sw,
                                    .balance = from->balance.sw,
                                    .voq = from->voq,
                                    .refuses_newest = fabric->behaviour == FABRIC_UET_HTSIM,
                                    .forgets_ports = sw->local_port != NULL,
                                    .drop_unknown = from->drop_unknown,
                                    .raise = sw->raise,
                                    .port = plant->port_table + node->first_port,
                                    .rate_bps = plant->port_rate + node->first_port};
    sw->config.watchdog.on = fabric_watchdog_runs(&from->watchdog);
    plant_lanes_switch(plant, index, &sw->config);
    sw->config.balance.seed =
        (fabric->seed ^ plant->options.seed << 20) + (uint64_t)(index + 1) * 0x9e3779b97f4a7c15ULL;
    sw->routes = (struct sw_routes){.edge_of = sw->edge_of ? sw->edge_of : fabric->edge_of,
                                    .local_port = sw->local_port ? sw->local_port : fabric->local_port,
                                    .wired_port = fabric->local_port,
                                    .own_edge = route->own_edge,
                                    .group_of = route->group_of,
                                    .group = route->group,
                                    .port = fabric->route_port,
                                    .hash_fields = from->hash_fields};
}

int plant_switches(struct plant *plant, struct fabric_errors *errors)
{
    const struct fabric *fabric = plant->fabric;

    plant->sw = calloc(fabric->switches + 1u, sizeof(*plant->sw));
    plant->port_config = calloc(fabric->settings_count + 1u, sizeof(*plant->port_config));
    plant->port_table = calloc(fabric->ports + 1u, sizeof(*plant->port_table));
    plant->port_rate = calloc(fabric->ports + 1u, sizeof(*plant->port_rate));
    if (!plant->sw || !plant->port_config || !plant->port_table || !plant->port_rate) return -ENOMEM;
    for (uint32_t i = 0; i < fabric->settings_count; i++)
        plant->port_config[i] = port_config(&fabric->settings[i]);
    for (uint32_t i = 0; i < fabric->ports; i++) {
        const struct fabric_port *port = &fabric->port[i];
        if (fabric->node[port->node].kind == FABRIC_SWITCH) plant->port_table[i] = &plant->port_config[port->settings];
        plant->port_rate[i] = port->peer == FABRIC_NONE ? UNPLUGGED_BPS : port->rate_bps;
    }
    if (plant_lanes(plant) != 0 || plan_tables(plant) != 0) return -ENOMEM;
    for (uint32_t i = 0; i < fabric->switches; i++) {
        if (plan_raise(plant, i) != 0) return -ENOMEM;
        switch_config(plant, i);
        const char *problem = sw_config_problem(&plant->sw[i].config);
        if (problem) {
            fabric_errors_add(errors, (struct fabric_at){0}, "%s: %s", fabric->node[fabric->hosts + i].name, problem);
            return -EINVAL;
        }
    }
    return 0;
}
