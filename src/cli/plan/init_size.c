/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many switches: the smallest fabric of a shape that has room for all GPUs, within the ports of one kind of switch.
 *
 * All links have the rate of a NIC's port, so a switch of 64 ports of 800G has 128 of 400G.  Servers are whole: the
 * fabric may have some GPUs more than were asked for, and it says so.
 */
#include <string.h>

#include "base/units.h"
#include "cli/plan/init.h"

#define GENERIC_PORTS 128u /* of a switch that has no number of its own */
#define SPINES_LEAST 4u    /* where a leaf has as many uplinks: one that fails takes a quarter */

/* Ports of the switch at this rate; 0: its ports are slower. */
static uint32_t radix_at(const struct init_switch *sw, uint64_t bps)
{
    uint32_t ports = sw->ports ? sw->ports : sw->model->ports;
    uint64_t port_bps = sw->ports ? sw->port_bps : (uint64_t)sw->model->rate_gbps * 1000000000u, radix;

    if (!ports) return GENERIC_PORTS;
    if (bps > port_bps) return 0;
    radix = ports * (port_bps / bps);
    return radix > sw->model->ports_most ? sw->model->ports_most : (uint32_t)radix;
}

/* Uplinks for `down` ports at the ratio or a little better, and as few spines as can take those of all leaves. */
static bool spines_for(const struct init_answers *answers, uint32_t down, struct init_plan *plan)
{
    uint32_t least = init_ceil((uint64_t)down * answers->over.den, answers->over.num), best = UINT32_MAX;

    if (plan->leaves > plan->radix || down + least > plan->radix) return false;
    for (uint32_t up = least; up <= least + least / 8 && down + up <= plan->radix; up++) {
        uint32_t each = plan->radix / plan->leaves, some = up < SPINES_LEAST ? up : SPINES_LEAST;
        while (up % each || up / each < some)
            each--;
        if (up / each >= best) continue;
        best = up / each;
        plan->uplinks = up;
    }
    plan->down = down;
    plan->spines = best;
    return true;
}

static bool size_rails(const struct init_answers *answers, uint32_t servers, struct init_plan *plan)
{
    for (plan->groups = 1; plan->groups <= servers; plan->groups++) {
        plan->leaves = plan->groups * answers->per_server;
        if (plan->leaves > plan->radix) return false;
        if (spines_for(answers, init_ceil(servers, plan->groups), plan)) break;
    }
    plan->servers = servers;
    return plan->groups <= servers;
}

static bool size_leaf_spine(const struct init_answers *answers, uint32_t servers, struct init_plan *plan)
{
    for (plan->leaves = 2; plan->leaves <= plan->radix; plan->leaves++) {
        plan->on_leaf = init_ceil(servers, plan->leaves);
        if (spines_for(answers, plan->on_leaf * answers->per_server, plan)) break;
    }
    plan->servers = plan->leaves * plan->on_leaf;
    return plan->leaves <= plan->radix;
}

static bool size_fat_tree(const struct init_answers *answers, uint32_t servers, struct init_plan *plan)
{
    for (uint32_t k = 4; k <= plan->radix; k += 2) {
        uint32_t down = (uint32_t)((uint64_t)(k / 2) * answers->over.num / answers->over.den);
        uint32_t most = (down < plan->radix - k / 2 ? down : plan->radix - k / 2) / answers->per_server;
        plan->leaves = plan->spines = k * k / 2;
        if ((uint64_t)most * plan->leaves < servers) continue;
        plan->k = k;
        plan->cores = k * k / 4;
        plan->on_leaf = init_ceil(servers, plan->leaves);
        plan->servers = plan->leaves * plan->on_leaf;
        plan->down = plan->on_leaf * answers->per_server;
        plan->uplinks = k / 2;
        return true;
    }
    return false;
}

static bool size_as(const struct init_answers *answers, enum init_shape shape, struct init_plan *plan)
{
    uint32_t servers = init_ceil(answers->gpus, answers->per_server);
    bool good = false;

    *plan = (struct init_plan){.shape = shape, .link_bps = answers->nic_bps / (shape == INIT_PLANES ? 2 : 1)};
    plan->radix = radix_at(&answers->sw, plan->link_bps);
    if (shape == INIT_RAIL || shape == INIT_PLANES) good = size_rails(answers, servers, plan);
    if (shape == INIT_LEAF_SPINE) good = size_leaf_spine(answers, servers, plan);
    if (shape == INIT_FAT_TREE) good = size_fat_tree(answers, servers, plan);
    plan->gpus = plan->servers * answers->per_server;
    return good;
}

static const char *model_name(const struct init_switch *sw)
{
    return sw->words[0] ? sw->words : sw->model->name;
}

bool init_size(const struct init_answers *answers, struct init_plan *ret, char why[INIT_WHY])
{
    static const char *const names[] = {"rail", "leaf-spine", "fat-tree", "planes"};
    char rate[UNIT_TEXT];
    struct init_plan other;

    if (answers->gpus <= answers->per_server) {
        snprintf(
            why, INIT_WHY,
            "%u GPUs are one server of %u, and nothing of it would cross the network: more GPUs, or fewer a server",
            answers->gpus, answers->per_server);
        return false;
    }
    if (radix_at(&answers->sw, answers->nic_bps) == 0) {
        snprintf(why, INIT_WHY, "ports of %s are slower than NICs of %s: a faster switch, or slower NICs",
                 model_name(&answers->sw), unit_format(UNIT_RATE, answers->nic_bps, rate));
        return false;
    }
    if (size_as(answers, (enum init_shape)answers->shape, ret)) return true;
    if (!answers->given.shape && size_as(answers, INIT_FAT_TREE, ret)) return true;
    int used = snprintf(why, INIT_WHY, "%u GPUs, %u a server, are too many for %s of switches with %u ports of %s%s",
                        answers->gpus, answers->per_server, names[ret->shape], ret->radix,
                        unit_format(UNIT_RATE, ret->link_bps, rate),
                        ret->shape == INIT_FAT_TREE ? ": larger ones" : "; these have room: ");
    bool first = true;
    for (int s = INIT_RAIL; s <= INIT_PLANES && ret->shape != INIT_FAT_TREE; s++) {
        if (!size_as(answers, (enum init_shape)s, &other)) continue;
        used += snprintf(why + used, INIT_WHY - (size_t)used, "%s%s", first ? "" : ", ", names[s]);
        first = false;
    }
    if (ret->shape != INIT_FAT_TREE && first)
        snprintf(why + used, INIT_WHY - (size_t)used, "none, larger switches are needed");
    return false;
}
