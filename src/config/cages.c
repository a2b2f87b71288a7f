/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which cage of a switch a port of a fabric is in, and which part of it where cages are split.
 *
 * A fabric numbers ports; systems name cages.  Where a switch of a known model has no more ports than cages, each port
 * has one for itself, also where it is slower.  Where it has more, ports go into cages in order of number, as many into
 * one as the rate allows; ports of another rate begin a new cage.
 */
#include "config/config.h"
#include "fabric/fabric.h"
#include "fabric/qos/models.h"
#include "fabric/switches.h"

#define PARTS_MOST 8u
#define LANES_8_GBPS 400u /* cages of this rate and more have eight lanes, others four */

/* Into how many a cage is split for a port of this rate: 1, 2, 4 or 8. */
static uint32_t parts_for(const struct switch_model *model, uint64_t rate_bps, uint32_t ports)
{
    uint64_t cage_bps = model->rate_gbps * UINT64_C(1000000000);
    uint32_t parts = 1;

    if (rate_bps == 0) /* not cabled: split as much as the number of ports asks for */
        while (parts < PARTS_MOST && ports > model->ports * parts)
            parts *= 2;
    else
        while (parts < PARTS_MOST && rate_bps <= cage_bps / (parts * 2))
            parts *= 2;
    return parts;
}

/* The same for all cages of a switch: names count by it. */
static uint32_t lanes_of(const struct fabric *fabric, const struct fabric_node *node, const struct switch_model *model)
{
    if (model->rate_gbps >= LANES_8_GBPS) return 8;
    if (node->ports <= model->ports) return 4;
    for (uint32_t p = node->first_port; p < node->first_port + node->ports; p++)
        if (parts_for(model, fabric->port[p].rate_bps, node->ports) > 4) return 8;
    return 4;
}

bool config_cage(const struct fabric *fabric, uint32_t port, struct config_cage *ret)
{
    const struct fabric_node *node = &fabric->node[fabric->port[port].node];
    uint32_t index = port - node->first_port, used = 0, split = 0, cage = 0;

    if (fabric->port[port].node < fabric->hosts) return false;
    const struct switch_model *model = switch_model_find(fabric->sw[fabric->port[port].node - fabric->hosts].model);
    if (!model || !model->ports || !model->rate_gbps) return false;
    *ret = (struct config_cage){index + 1, 1, 1, model->rate_gbps, lanes_of(fabric, node, model)};
    if (node->ports <= model->ports) return true;
    for (uint32_t p = 0; p <= index; p++) {
        uint32_t parts = parts_for(model, fabric->port[node->first_port + p].rate_bps, node->ports);
        if (p == 0 || parts != split || used == split) {
            cage++;
            used = 0;
            split = parts;
        }
        used++;
    }
    ret->cage = cage;
    ret->part = used;
    ret->parts = split;
    return true;
}
