/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plants that are settings: a small MTU, an old class map, packets that are sprayed to adapters that cannot order them.
 */
#include <string.h>

#include "validate/plants/plants_int.h"

#include "fabric/fabric.h"
#include "fabric/switches.h"

static void plant_mtu(struct planting *planting, uint32_t port)
{
    const struct fabric *fabric = planting->fabric;
    struct planted *plant = plant_add(planting, "small MTU at a port", "D16", "MtuDrop", PLANT_ALWAYS);
    const char *value =
        case_text(planting->of, "%u", fabric->nic[fabric->endpoint[planting->failures->rank[1]].nic].mtu_bytes);

    blame_port(fabric, &plant->cause[0], port);
    plant_set(plant, value, "devices.%.90s.ports.%u.mtu", fabric->node[fabric->port[port].node].name,
              fabric->port[port].index);
    plant->until = 5 * PS_MS;
}

static void plant_map(struct planting *planting, uint32_t leaf)
{
    const struct fabric *fabric = planting->fabric;
    struct planted *plant = plant_add(planting, "old class map on a leaf", "D15", "WrongClass", PLANT_ALWAYS);

    blame_node(fabric, &plant->cause[0], leaf);
    plant_set(plant, case_text(planting->of, "{%u: 0}", fabric->classes[planting->class].dscp),
              "devices.%.90s.dscp-map", fabric->node[leaf].name);
}

/* Packets over all links, to adapters that take a gap for a loss. */
static void plant_spray(struct planting *planting)
{
    struct planted *plant = plant_add(planting, "sprayed packets, and adapters that take order for loss", "D12", NULL,
                                      PLANT_AGAIN); /* how often something is sent again is chance */

    plant->cause[0].any_switch = plant->needs_clean = true;
    plant_set(plant, "spray", "switches.balance");
    plant_set(plant, "false", "nics.reorder");
    plant->until = 5 * PS_MS;
}

void plants_of_settings(struct planting *planting)
{
    const struct fabric *fabric = planting->fabric;
    uint32_t port = fabric->port[planting->host].peer;

    plant_mtu(planting, port);
    if (fabric->system != FABRIC_ROCEV2) return;
    if (planting->failures->link != FABRIC_NONE) plant_spray(planting);
    if (fabric->classes[planting->class].lossless) plant_map(planting, fabric->port[port].node);
}
