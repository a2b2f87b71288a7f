/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configuration: is it sound, and its compiled form.
 *
 * Ports that share a configuration share its compiled form too, so a switch of 64 equal ports keeps one set of rules
 * in cache.  All divisions of the switch are here: bytes become cells (reserves and headroom rounded up, limits and
 * thresholds down), alpha and the marking curve become fixed point.
 *
 * Weights below a small packet would make the scheduler go round many times for one packet; all weights of a port
 * are then multiplied by the same number, which leaves the shares alone.
 */
#include <string.h>

#include "switch/switch_int.h"

#define CELLS_MAX (UINT64_C(1) << 31)
#define WEIGHT_SMALL 2048u
#define WEIGHT_MAX (1u << 29)
#define PPM 1000000u

static uint64_t cells_up(uint64_t bytes, uint32_t cell)
{
    return bytes / cell + (bytes % cell != 0);
}

static uint32_t cells_down(uint64_t bytes, uint32_t cell)
{
    uint64_t cells = bytes / cell;
    return cells < UINT32_MAX ? (uint32_t)cells : UINT32_MAX;
}

static uint32_t cells_up32(uint64_t bytes, uint32_t cell)
{
    uint64_t cells = cells_up(bytes, cell);
    return cells < UINT32_MAX ? (uint32_t)cells : UINT32_MAX;
}

/* What is set aside, in cells; 0 headroom where it is a pool. */
static uint64_t set_aside(const struct sw_config *config)
{
    uint64_t sum = cells_up(config->headroom_pool_bytes, config->cell_bytes);
    for (uint32_t port = 0; port < config->ports; port++) {
        for (uint32_t i = 0; i < SW_PRIOS; i++) {
            const struct sw_pg_config *pg = &config->port[port]->pg[i];
            sum += cells_up(pg->reserved_bytes, config->cell_bytes);
            if (pg->lossless && !config->headroom_pool_bytes) sum += cells_up(pg->headroom_bytes, config->cell_bytes);
        }
    }
    return sum;
}

static bool alpha_wrong(uint32_t num, uint32_t den)
{
    return den == 0 || num / den >= SW_ALPHA_MAX;
}

static const char *port_problem(const struct sw_port_config *port)
{
    if (port->trust > SW_TRUST_PCP) return "trust is neither DSCP nor PCP";
    for (uint32_t i = 0; i < 64; i++)
        if (port->dscp_to_tc[i] >= SW_PRIOS) return "a DSCP maps to a class above 7";
    for (uint32_t i = 0; i < SW_PRIOS; i++) {
        const struct sw_queue_config *queue = &port->queue[i];
        const struct sw_pg_config *pg = &port->pg[i];
        if (port->pcp_to_tc[i] >= SW_PRIOS) return "a PCP maps to a class above 7";
        if (port->tc_to_queue[i] >= SW_PRIOS) return "a class maps to a queue above 7";
        if (port->tc_to_pg[i] >= SW_PRIOS) return "a class maps to a priority group above 7";
        if (queue->ecn.on && queue->ecn.min_bytes > queue->ecn.max_bytes) return "ECN min is above max";
        if (queue->ecn.on && queue->ecn.probability_ppm > PPM) return "an ECN probability is above 1";
        if (queue->trim.bytes && (queue->trim.dscp >= 64 || queue->trim.last_hop_dscp >= 64))
            return "what is trimmed goes on with a DSCP above 63";
        if (queue->alpha_num && alpha_wrong(queue->alpha_num, queue->alpha_den)) return "a queue's alpha is above 2047";
        if (pg->dynamic && alpha_wrong(pg->alpha_num, pg->alpha_den)) return "a priority group's alpha is above 2047";
    }
    return port->pfc_tx && !port->pause_quanta ? "pauses of 0 quanta would end pauses" : NULL;
}

const char *sw_config_problem(const struct sw_config *config)
{
    if (config->ports == 0 || config->ports == SW_DROPPED) return "a switch has 1 to 65534 ports";
    if (config->cell_bytes == 0 || config->cell_bytes > SW_CELL_MAX) return "a cell has 1 to 32768 bytes";
    if (config->buffer_bytes / config->cell_bytes >= CELLS_MAX)
        return "the buffer has 2^31 cells or more: name a larger cell";
    if (config->mark > SW_MARK_DEQUEUE) return "ECN marks at enqueue or at dequeue";
    if (config->watchdog.on && !config->watchdog.poll_ps) return "the watchdog's poll interval is 0";
    if (config->voq.on && (config->voq.credit_bytes == 0 || config->voq.credit_bytes > WEIGHT_MAX))
        return "a credit has no bytes, or more than 2^29";
    const char *balance = balance_problem(&config->balance);
    if (balance) return balance;
    const char *credit = credit_problem(config);
    if (credit) return credit;
    for (uint32_t port = 0; port < config->ports; port++) {
        const char *problem = port_problem(config->port[port]);
        if (problem) return problem;
        if (config->rate_bps[port] == 0 || config->rate_bps[port] >> 47) return "a port's rate is 0 or above 140 Tb/s";
    }
    if (set_aside(config) >= config->buffer_bytes / config->cell_bytes)
        return "reserved and headroom leave nothing of the buffer to share";
    return NULL;
}

uint32_t sw_profiles_count(const struct sw_config *config)
{
    uint32_t count = 0;
    for (uint32_t port = 0; port < config->ports; port++) {
        uint32_t same = 0;
        while (config->port[same] != config->port[port])
            same++;
        count += same == port;
    }
    return count;
}

static uint32_t alpha_fixed(uint32_t num, uint32_t den)
{
    uint64_t alpha = ((uint64_t)num << SW_ALPHA_BITS) / den;
    return alpha ? (uint32_t)alpha : num != 0;
}

static void compile_pg(struct sw_pg_rule *rule, const struct sw_pg_config *pg, uint32_t cell)
{
    rule->lossless = pg->lossless;
    rule->reserved = cells_up32(pg->reserved_bytes, cell);
    rule->fixed = pg->dynamic ? 0 : cells_down(pg->static_bytes, cell);
    rule->alpha = pg->dynamic ? alpha_fixed(pg->alpha_num, pg->alpha_den) : 0;
    /* At least a cell: XOFF holds at the threshold, so XON may not. */
    rule->xon_offset = pg->xon_offset_bytes ? cells_up32(pg->xon_offset_bytes, cell) : 1;
    rule->headroom = pg->lossless ? cells_up32(pg->headroom_bytes, cell) : 0;
}

static void compile_queue(struct sw_queue_rule *rule, const struct sw_queue_config *queue,
                          const struct sw_config *config)
{
    rule->mark_in_above = UINT64_MAX;
    rule->mark_out_above = UINT64_MAX;
    if (queue->ecn.on) {
        uint64_t range = queue->ecn.max_bytes - queue->ecn.min_bytes;
        *(config->mark == SW_MARK_ENQUEUE ? &rule->mark_in_above : &rule->mark_out_above) = queue->ecn.min_bytes;
        rule->mark_min = queue->ecn.min_bytes;
        rule->mark_max = queue->ecn.max_bytes;
        rule->mark_slope = range ? ((((uint64_t)queue->ecn.probability_ppm << 40) / PPM) << 8) / range : 0;
    }
    rule->trim = queue->trim;
    rule->limit = cells_down(queue->limit_bytes, config->cell_bytes);
    rule->limit_alpha = queue->alpha_num ? alpha_fixed(queue->alpha_num, queue->alpha_den) : 0;
}

static void compile_weights(struct sw_profile *profile, const struct sw_port_config *port)
{
    uint32_t least = UINT32_MAX;
    for (uint32_t i = 0; i < SW_PRIOS; i++)
        if (!port->queue[i].strict && port->queue[i].weight_bytes && port->queue[i].weight_bytes < least)
            least = port->queue[i].weight_bytes;
    if (least == UINT32_MAX) least = WEIGHT_SMALL;
    uint64_t scale = least < WEIGHT_SMALL ? (WEIGHT_SMALL + least - 1) / least : 1;
    for (uint32_t i = 0; i < SW_PRIOS; i++) {
        uint64_t weight = (port->queue[i].weight_bytes ? port->queue[i].weight_bytes : least) * scale;
        profile->queue[i].weight = (int32_t)(weight < WEIGHT_MAX ? weight : WEIGHT_MAX);
    }
}

static void compile(struct sw_profile *profile, const struct sw_port_config *port, const struct sw_config *config)
{
    profile->config = port;
    memcpy(profile->dscp_to_tc, port->dscp_to_tc, sizeof profile->dscp_to_tc);
    memcpy(profile->pcp_to_tc, port->pcp_to_tc, sizeof profile->pcp_to_tc);
    memcpy(profile->queue_of, port->tc_to_queue, sizeof profile->queue_of);
    memcpy(profile->pg_of, port->tc_to_pg, sizeof profile->pg_of);
    profile->mtu_bytes = port->mtu_bytes ? port->mtu_bytes : UINT32_MAX;
    profile->trust_pcp = port->trust == SW_TRUST_PCP;
    profile->pfc_rx = port->pfc_rx;
    profile->pause_quanta = port->pause_quanta;
    compile_weights(profile, port);
    for (uint32_t i = 0; i < SW_PRIOS; i++) {
        compile_pg(&profile->pg[i], &port->pg[i], config->cell_bytes);
        compile_queue(&profile->queue[i], &port->queue[i], config);
        if (port->queue[i].strict) profile->strict |= (uint16_t)(1u << i);
        if (profile->queue[i].limit != UINT32_MAX || profile->queue[i].limit_alpha)
            profile->limited |= (uint16_t)(1u << i);
    }
    for (uint32_t prio = 0; prio < SW_PRIOS; prio++)
        if (!(port->unwatched >> prio & 1)) profile->watched |= (uint16_t)(1u << port->tc_to_queue[prio]);
    for (uint32_t prio = 0; prio < SW_PRIOS; prio++)
        if (port->pfc_tx >> prio & 1) profile->pg[port->tc_to_pg[prio]].prios |= (uint16_t)(1u << prio);
    if (!port->pause_all) return;
    for (uint32_t pg = 0; pg < SW_PRIOS; pg++)
        if (profile->pg[pg].prios) profile->pg[pg].prios = UINT8_MAX;
    if (port->pfc_rx) profile->pfc_rx = UINT8_MAX;
    if (profile->watched) profile->watched = UINT8_MAX;
}

void sw_profiles_compile(struct sw *sw)
{
    const struct sw_config *config = sw->config;
    for (uint32_t port = 0; port < config->ports; port++) {
        uint32_t i = 0;
        while (i < sw->profiles && sw->profile[i].config != config->port[port])
            i++;
        if (i == sw->profiles) compile(&sw->profile[sw->profiles++], config->port[port], config);
        sw->port[port].profile = &sw->profile[i];
    }
    sw->cell_bytes = config->cell_bytes;
    sw->cell_inverse = ((UINT64_C(1) << 32) + config->cell_bytes - 1) / config->cell_bytes;
    sw->headroom_size =
        config->headroom_pool_bytes ? (uint32_t)cells_up(config->headroom_pool_bytes, config->cell_bytes) : UINT32_MAX;
    sw->shared_size = cells_down(config->buffer_bytes, config->cell_bytes) - (uint32_t)set_aside(config);
}
