/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plants that show in a queue alone: many senders to one, where congestion control, headroom, marks or CNPs are
 * missing.
 */
#include <string.h>

#include "validate/plants/plants_int.h"

#define INCAST_PS (3 * PS_MS)
#define LEAST_RANKS 3u

/* All send to the first. */
static struct plant *add_incast(struct planting *planting, const char *name, const char *rules, const char *alerts,
                                enum plant_effect effect)
{
    const struct failures *failures = planting->failures;
    struct plant *plant = plant_add(planting, name, rules, alerts, effect);

    for (uint32_t r = 1; r < failures->ranks; r++)
        plant_flow(plant, failures->rank[r], failures->rank[0]);
    plant->needs_clean = true;
    plant->beside = "D04";
    plant->until = INCAST_PS;
    if (failures->ranks < LEAST_RANKS) plant->lacks = "there are no three hosts";
    return plant;
}

void plants_of_incasts(struct planting *planting)
{
    static const char paused[] = "PauseShareHigh|PauseWithoutMarks";
    const struct fabric *fabric = planting->fabric;
    uint32_t port = fabric->port[fabric->endpoint[planting->failures->rank[0]].port].peer;
    const char *leaf = fabric->node[fabric->port[port].node].name, *class = fabric->classes[planting->class].name;
    bool alone = planting->failures->link == FABRIC_NONE; /* then adapters are paused alone, and no switch */
    struct plant *plant;

    plant = add_incast(planting, "incast without congestion control", "D04", alone ? NULL : paused, PLANT_PAUSES);
    blame_port(fabric, &plant->cause[0], port);
    plant_set(plant, "none", "nics.congestion");
    plant = add_incast(planting, "leaf without headroom", "D08", "LosslessDrop", PLANT_DROPS);
    blame_node(fabric, &plant->cause[0], fabric->port[port].node);
    plant_set(plant, "1KB", "devices.%.90s.classes.%.60s.headroom", leaf, class);
    plant_set(plant, "none", "nics.congestion");
    plant = add_incast(planting, "leaf that does not mark", "D09", "PauseWithoutMarks", PLANT_PAUSES);
    blame_node(fabric, &plant->cause[0], fabric->port[port].node);
    plant_set(plant, "false", "devices.%.90s.classes.%.60s.ecn", leaf, class);
    if (alone) return;
    plant = add_incast(planting, "half of a link's lanes and an incast", "D06", "LinkDegraded", PLANT_PAUSES);
    snprintf(plant->fault, sizeof plant->fault, "lanes %.90s lost 2 of 4 at %lluns",
             blame_port(fabric, &plant->cause[0], planting->failures->link), planting->at);
    plant->cause[1].rules = "D04";
    blame_port(fabric, &plant->cause[1], port);
    plant->alerts[1] = paused;
    plant_set(plant, "none", "nics.congestion");
}
