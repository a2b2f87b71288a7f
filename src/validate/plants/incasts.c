/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plants that show in a queue alone: many senders to one, where congestion control, headroom, marks or CNPs are
 * missing.
 */
#include <string.h>

#include "validate/plants/plants_int.h"

#include "fabric/fabric.h"
#include "fabric/switches.h"

#define INCAST_PS (3 * PS_MS)
#define SILENT_PS (12 * PS_MS) /* marks enough that one CNP is next to none */
#define LEAST_RANKS 3u
#define RANKS_BOTH_WAYS 4u

/* All send to the first. */
static struct planted *add_incast(struct planting *planting, const char *name, const char *rules, const char *alerts,
                                  enum plant_effect effect)
{
    const struct failures *failures = planting->failures;
    struct planted *plant = plant_add(planting, name, rules, alerts, effect);

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
    struct planted *plant;

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

/* CNPs that are not sent, are dropped, or wait behind what they are to slow down. */
void plants_of_cnps(struct planting *planting)
{
    const struct fabric *fabric = planting->fabric;
    const struct failures *failures = planting->failures;
    const struct fabric_endpoint *first = &fabric->endpoint[failures->rank[0]];
    const struct fabric_nic *nic = &fabric->nic[first->nic];
    uint32_t leaf = fabric->port[fabric->port[first->port].peer].node;
    bool own = nic->cnp_class != FABRIC_NONE && nic->cnp_class != planting->class;
    struct planted *plant;

    plant = add_incast(planting, "receiver that sends no CNPs", "D10", NULL, PLANT_MARKS);
    blame_port(fabric, &plant->cause[0], first->port);
    plant_set(plant, "{min_time_between_cnps: 1000s, cnp_per_nic: true}", "devices.%.90s.congestion",
              fabric->node[first->host].name); /* but the first */
    plant->until = SILENT_PS;
    if (!nic->congestion || strncmp(nic->congestion, "dcqcn", 5) != 0)
        plant->lacks = "congestion control here is another than DCQCN";
    plant = add_incast(planting, "leaf without room for CNPs", "D11", "CnpLost", PLANT_CNPS_LOST);
    blame_node(fabric, &plant->cause[0], leaf);
    if (own)
        plant_set(plant, "1B", "devices.%.90s.classes.%.60s.limit", fabric->node[leaf].name,
                  fabric->classes[nic->cnp_class].name);
    else
        plant->lacks = "CNPs have no class of their own";
    plant = plant_add(planting, "CNPs in the class of data", "D11", NULL, PLANT_CNPS_SENT);
    plant->needs_clean = true;
    plant->beside = "D04";
    plant->until = INCAST_PS;
    if (!own || failures->ranks < RANKS_BOTH_WAYS) {
        plant->lacks = own ? "there are no four hosts" : "CNPs have no class of their own";
        return;
    }
    static const struct plant_pair both_ways[] = {{2, 0}, {3, 0}, {0, 2}, {1, 2}};
    for (size_t i = 0; i < sizeof both_ways / sizeof both_ways[0]; i++)
        plant_flow(plant, failures->rank[both_ways[i].from], failures->rank[both_ways[i].to]);
    blame_port(fabric, &plant->cause[0], first->port);
    blame_port(fabric, &plant->cause[0], fabric->endpoint[failures->rank[2]].port);
    plant_set(plant, fabric->classes[planting->class].name, "nics.cnp-class");
}
