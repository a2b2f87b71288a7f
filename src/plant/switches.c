/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Switches from the fabric's arrays: settings become port configurations (shared by the ports that share
 * settings), routes are used where they lie.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plant/plant_int.h"

#define UNPLUGGED_BPS 1000000000ULL /* of a port without a cable: never asked, but a switch wants a rate */

_Static_assert(FABRIC_PRIOS == SW_PRIOS, "priorities");
_Static_assert((int)FABRIC_TRUST_DSCP == SW_TRUST_DSCP && (int)FABRIC_TRUST_PCP == SW_TRUST_PCP, "trust");
_Static_assert(FABRIC_HASH_SRC == SW_HASH_SRC && FABRIC_HASH_DST == SW_HASH_DST && FABRIC_HASH_SPORT == SW_HASH_SPORT &&
                   FABRIC_HASH_QP == SW_HASH_QP,
               "hash fields");
_Static_assert((int)FABRIC_FLOWLET == SW_FLOWLET && (int)FABRIC_ADAPTIVE == SW_ADAPTIVE &&
                   (int)FABRIC_SPRAY == SW_SPRAY && (int)FABRIC_PIN == SW_PIN && FABRIC_NONE == SW_PIN_ANY,
               "balance");
_Static_assert(FABRIC_NONE == UINT32_MAX && FABRIC_NO_GROUP == UINT16_MAX && FABRIC_UNLIMITED == UINT64_MAX, "nothing");
_Static_assert(sizeof(struct fabric_group) == sizeof(struct sw_group) &&
                   offsetof(struct fabric_group, count) == offsetof(struct sw_group, count),
               "groups are copied as they are");

static uint32_t clamp32(uint64_t value)
{
    return value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

static struct sw_queue_config queue_config(const struct fabric_queue *from)
{
    return (struct sw_queue_config){.ecn = {.on = from->ecn.on,
                                            .min_bytes = clamp32(from->ecn.min_bytes),
                                            .max_bytes = clamp32(from->ecn.max_bytes),
                                            .probability_ppm = from->ecn.probability_ppm},
                                    .strict = from->strict,
                                    .weight = from->weight_bytes,
                                    .limit_bytes = from->limit_bytes,
                                    .alpha_num = from->alpha_num,
                                    .alpha_den = from->alpha_den};
}

static struct sw_pg_config pg_config(const struct fabric_pg *from)
{
    return (struct sw_pg_config){.lossless = from->lossless,
                                 .reserved_bytes = clamp32(from->reserved_bytes),
                                 .dynamic = from->dynamic,
                                 .alpha_num = from->alpha_num,
                                 .alpha_den = from->alpha_den,
                                 .static_bytes = from->static_bytes,
                                 .xon_offset_bytes = clamp32(from->xon_offset_bytes),
                                 .headroom_bytes = clamp32(from->headroom_bytes)};
}

static struct sw_port_config port_config(const struct fabric_settings *from)
{
    struct sw_port_config config = {.trust = from->trust,
                                    .pfc_rx = from->pfc_rx,
                                    .pfc_tx = from->pfc_tx,
                                    .unwatched = (uint8_t)~from->watched,
                                    .pause_quanta = from->pause_quanta,
                                    .mtu_bytes = from->mtu_bytes};

    config.pause_all = from->pause_all;
    memcpy(config.dscp_to_tc, from->dscp_to_tc, sizeof(config.dscp_to_tc));
    memcpy(config.pcp_to_tc, from->pcp_to_tc, sizeof(config.pcp_to_tc));
    memcpy(config.tc_to_queue, from->tc_to_queue, sizeof(config.tc_to_queue));
    memcpy(config.tc_to_pg, from->tc_to_pg, sizeof(config.tc_to_pg));
    for (int i = 0; i < SW_PRIOS; i++) {
        config.queue[i] = queue_config(&from->queue[i]);
        config.pg[i] = pg_config(&from->pg[i]);
    }
    return config;
}

static struct sw_balance balance_config(const struct plant *plant, uint32_t index, struct sw_pin *pin)
{
    const struct fabric_balance *from = &plant->fabric->sw[index].balance;

    for (uint32_t i = 0; i < from->pins; i++)
        pin[i] = (struct sw_pin){from->pin[i].src, from->pin[i].dst, from->pin[i].qp, from->pin[i].port};
    return (struct sw_balance){.kind = from->kind,
                               .round_robin = from->round_robin,
                               .by_flowlet = from->by_flowlet,
                               .pin_by = from->pin_by,
                               .hysteresis = from->hysteresis,
                               .quantum_bytes = from->quantum_bytes,
                               .table = from->table,
                               .gap_ps = from->gap_ps,
                               .seed = (plant->fabric->seed ^ plant->options.seed << 20) +
                                       (uint64_t)(index + 1) * 0x9e3779b97f4a7c15ULL,
                               .pin = pin,
                               .pins = from->pins};
}

/* All pins of all switches lie in one array. */
static int plan_balance(struct plant *plant)
{
    const struct fabric *fabric = plant->fabric;
    size_t pins = 0;

    for (uint32_t i = 0; i < fabric->switches; i++)
        pins += fabric->sw[i].balance.pins;
    plant->pin = calloc(pins + 1u, sizeof(*plant->pin));
    if (!plant->pin) return -ENOMEM;
    pins = 0;
    for (uint32_t i = 0; i < fabric->switches; i++) {
        plant->sw[i].config.balance = balance_config(plant, i, plant->pin + pins);
        pins += fabric->sw[i].balance.pins;
    }
    return 0;
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
    sw->place_of = calloc(fabric->endpoints + 1u, sizeof(*sw->place_of));
    if (sw->local_port == NULL || sw->place_of == NULL) return -ENOMEM;
    memcpy(sw->local_port, fabric->local_port, fabric->endpoints * sizeof(*sw->local_port));
    memcpy(sw->place_of, fabric->place_of, fabric->endpoints * sizeof(*sw->place_of));
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
                                    .watchdog = {.on = fabric_watchdog_runs(&from->watchdog),
                                                 .drop = from->watchdog.drop,
                                                 .poll_ps = from->watchdog.poll_ps,
                                                 .detect_ps = from->watchdog.detect_ps,
                                                 .restore_ps = from->watchdog.restore_ps},
                                    .balance = sw->config.balance,
                                    .voq = {.on = from->voq.on,
                                            .credit_bytes = from->voq.credit_bytes,
                                            .xoff_bytes = from->voq.xoff_bytes,
                                            .on_chip_bytes = from->voq.on_chip_bytes,
                                            .deep_bps = from->voq.deep_bps},
                                    .forgets_ports = sw->local_port != NULL,
                                    .drop_unknown = from->drop_unknown,
                                    .raise = sw->raise,
                                    .port = plant->port_table + node->first_port,
                                    .rate_bps = plant->port_rate + node->first_port};
    sw->routes = (struct sw_routes){.place_of = sw->place_of ? sw->place_of : fabric->place_of,
                                    .local_port = sw->local_port ? sw->local_port : fabric->local_port,
                                    .wired_port = fabric->local_port,
                                    .own_place = route->own_place,
                                    .group_of = route->group_of,
                                    .group = (const struct sw_group *)(const void *)route->group,
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
    if (plan_balance(plant) != 0 || plan_tables(plant) != 0) return -ENOMEM;
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
