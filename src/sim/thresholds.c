/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where queues mark and groups pause: read from the configurations that the switches were made with.
 *
 * Ten thousand ports have a handful of different sets, so each is kept once and ports name it by its number.  Ports
 * that share a configuration share the set; ports that do not may still (one has another MTU), which a table by hash
 * finds.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "fabric/fabric.h"
#include "sim/sim_int.h"

_Static_assert(sizeof(((struct sim_thresholds *)0)->prio) / sizeof(struct sim_threshold) == SW_PRIOS, "one each");

struct threshold_table {
    struct sim_result *result;
    uint32_t *slot; /* set + 1; 0: empty */
    uint32_t mask;
};

static bool group_pauses(const struct sw_port_config *port, int group)
{
    bool told = false;

    for (int p = 0; p < SW_PRIOS; p++)
        told |= (port->pfc_tx >> p & 1) && port->tc_to_pg[p] == group;
    return told && port->pg[group].lossless;
}

/* Field by field into zeroes, padding too: sets are compared as bytes. */
void sim_thresholds_of(const struct sw_config *sw, const struct sw_port_config *port, struct sim_thresholds *ret)
{
    memset(ret, 0, sizeof(*ret));
    for (int i = 0; i < SW_PRIOS; i++) {
        const struct sw_ecn *ecn = &port->queue[i].ecn;
        const struct sw_pg_config *pg = &port->pg[i];
        struct sim_threshold *to = &ret->prio[i];
        to->ecn = ecn->on;
        to->pauses = group_pauses(port, i);
        to->reserved_bytes = pg->reserved_bytes;
        if (pg->lossless) to->headroom_bytes = pg->headroom_bytes;
        if (ecn->on) {
            to->ecn_min_bytes = ecn->min_bytes;
            to->ecn_max_bytes = ecn->max_bytes;
            to->ecn_probability_ppm = ecn->probability_ppm;
        }
        if (!to->pauses) continue;
        to->dynamic = pg->dynamic;
        if (pg->dynamic) {
            to->alpha_num = pg->alpha_num;
            to->alpha_den = pg->alpha_den;
        } else {
            to->pause_bytes = pg->static_bytes;
        }
        if (sw->voq.on) to->voq_pause_bytes = sw->voq.xoff_bytes;
    }
}

/* The number of the set, which is a new one where there is none like it. */
static uint32_t number_of(struct threshold_table *table, const struct sim_thresholds *set)
{
    uint32_t at = (uint32_t)hash_bytes(HASH_BEGIN, set, sizeof(*set)) & table->mask;

    for (; table->slot[at]; at = (at + 1) & table->mask)
        if (memcmp(&table->result->thresholds[table->slot[at] - 1], set, sizeof(*set)) == 0) return table->slot[at] - 1;
    uint32_t count = table->result->threshold_sets;
    if ((count & (count - 1)) == 0) { /* room for twice as many */
        struct sim_thresholds *more =
            realloc(table->result->thresholds, (count ? 2u * count : 1u) * sizeof(*table->result->thresholds));
        if (more == NULL) return UINT32_MAX;
        table->result->thresholds = more;
    }
    table->result->thresholds[count] = *set;
    table->slot[at] = ++table->result->threshold_sets;
    return count;
}

int sim_thresholds_read(const struct sim *sim, struct sim_result *ret)
{
    const struct fabric *fabric = sim->fabric;
    const struct sw_config *last_sw = NULL;
    const struct sw_port_config *last = NULL;
    struct threshold_table table = {.result = ret, .mask = 1};
    struct sim_thresholds set;
    uint32_t number = UINT32_MAX;
    int error = 0;

    while (table.mask < 2 * ret->ports)
        table.mask = table.mask * 2 + 1;
    table.slot = calloc((size_t)table.mask + 1, sizeof(*table.slot));
    if (table.slot == NULL) return -ENOMEM;
    for (uint32_t i = 0; i < ret->ports && !error; i++) {
        const struct fabric_port *port = &fabric->port[ret->port[i].port];
        ret->port[i].thresholds = UINT32_MAX;
        if (port->node < fabric->hosts) continue;
        const struct sw_config *sw = &sim->sw[port->node - fabric->hosts].plant->config;
        const struct sw_port_config *config = sw->port[port->index];
        if (sw != last_sw || config != last) {
            sim_thresholds_of(sw, config, &set);
            number = number_of(&table, &set);
        }
        last_sw = sw;
        last = config;
        ret->port[i].thresholds = number;
        if (number == UINT32_MAX) error = -ENOMEM;
    }
    free(table.slot);
    return error;
}
