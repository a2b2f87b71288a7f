/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Switches from the fabric's arrays: settings become port configurations (shared by the ports that share
 * settings), routes are used where they lie.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "sim/sim_int.h"

#define UNPLUGGED_BPS 1000000000ULL /* of a port without a cable: never asked, but a switch wants a rate */

_Static_assert(FABRIC_PRIOS == SW_PRIOS, "priorities");
_Static_assert((int)FABRIC_TRUST_DSCP == SW_TRUST_DSCP && (int)FABRIC_TRUST_PCP == SW_TRUST_PCP, "trust");
_Static_assert(FABRIC_HASH_SRC == SW_HASH_SRC && FABRIC_HASH_DST == SW_HASH_DST && FABRIC_HASH_SPORT == SW_HASH_SPORT &&
                   FABRIC_HASH_QP == SW_HASH_QP,
               "hash fields");
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
                                    .pause_quanta = from->pause_quanta,
                                    .mtu_bytes = from->mtu_bytes};

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

static void switch_config(struct sim *sim, uint32_t index)
{
    const struct fabric *fabric = sim->fabric;
    const struct fabric_switch *from = &fabric->sw[index];
    const struct fabric_node *node = &fabric->node[fabric->hosts + index];
    const struct fabric_route *route = &fabric->route[index];
    struct sim_switch *sw = &sim->sw[index];

    sw->config = (struct sw_config){.ports = node->ports,
                                    .cell_bytes = from->cell_bytes,
                                    .buffer_bytes = from->buffer_bytes,
                                    .headroom_pool_bytes = from->headroom_pool_bytes,
                                    .mark = from->mark_at_dequeue ? SW_MARK_DEQUEUE : SW_MARK_ENQUEUE,
                                    .refresh_pauses = from->refresh_pauses,
                                    .seed = from->hash_seed ^ sim->options.seed,
                                    .watchdog = {.on = from->watchdog.on,
                                                 .drop = from->watchdog.drop,
                                                 .poll_ps = from->watchdog.poll_ps,
                                                 .detect_ps = from->watchdog.detect_ps,
                                                 .restore_ps = from->watchdog.restore_ps},
                                    .port = sim->port_table + node->first_port,
                                    .rate_bps = sim->port_rate + node->first_port};
    sw->routes = (struct sw_routes){.place_of = fabric->place_of,
                                    .local_port = fabric->local_port,
                                    .own_place = route->own_place,
                                    .group_of = route->group_of,
                                    .group = (const struct sw_group *)(const void *)route->group,
                                    .port = fabric->route_port,
                                    .hash_fields = from->hash_fields};
    sw->deadline = PS_NEVER;
}

int sim_plan_switches(struct sim *sim, size_t *ret_bytes, struct fabric_errors *errors)
{
    const struct fabric *fabric = sim->fabric;
    size_t bytes = 0;

    sim->sw = calloc(fabric->switches + 1u, sizeof(*sim->sw));
    sim->port_config = calloc(fabric->settings_count + 1u, sizeof(*sim->port_config));
    sim->port_table = calloc(fabric->ports + 1u, sizeof(*sim->port_table));
    sim->port_rate = calloc(fabric->ports + 1u, sizeof(*sim->port_rate));
    if (!sim->sw || !sim->port_config || !sim->port_table || !sim->port_rate) return -ENOMEM;
    for (uint32_t i = 0; i < fabric->settings_count; i++)
        sim->port_config[i] = port_config(&fabric->settings[i]);
    for (uint32_t i = 0; i < fabric->ports; i++) {
        const struct fabric_port *port = &fabric->port[i];
        if (fabric->node[port->node].kind == FABRIC_SWITCH) sim->port_table[i] = &sim->port_config[port->settings];
        sim->port_rate[i] = port->peer == FABRIC_NONE ? UNPLUGGED_BPS : port->rate_bps;
    }
    for (uint32_t i = 0; i < fabric->switches; i++) {
        switch_config(sim, i);
        const char *problem = sw_config_problem(&sim->sw[i].config);
        if (problem) {
            fabric_errors_add(errors, (struct fabric_at){0}, "%s: %s", fabric->node[fabric->hosts + i].name, problem);
            return -EINVAL;
        }
        bytes += sw_memory_bytes(&sim->sw[i].config);
    }
    *ret_bytes = bytes;
    return 0;
}

void sim_make_switch(struct sim *sim, uint32_t index)
{
    struct sim_switch *sw = &sim->sw[index];

    sw->sw = sw_init(sim_take(sim, sw_memory_bytes(&sw->config)), &sw->config, &sw->routes);
}
