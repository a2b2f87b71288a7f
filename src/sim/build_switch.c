/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Switches as the plant has configured them.
 */
#include <errno.h>
#include <stdlib.h>

#include "sim/sim_int.h"

#include "fabric/fabric.h"

int sim_plan_switches(struct sim *sim, size_t *ret_bytes)
{
    size_t bytes = 0;

    sim->sw = calloc(sim->fabric->switches + 1u, sizeof(*sim->sw));
    if (sim->sw == NULL) return -ENOMEM;
    for (uint32_t i = 0; i < sim->fabric->switches; i++) {
        sim->sw[i].plant = &sim->plant.sw[i];
        bytes += sw_memory_bytes(&sim->plant.sw[i].config);
    }
    *ret_bytes = bytes;
    return 0;
}

void sim_make_switch(struct sim *sim, uint32_t index)
{
    struct sim_switch *sw = &sim->sw[index];
    struct plant_switch *plant = sw->plant;
    struct line_model model = sim_line_model(sim->fabric);

    plant->config.line = (struct sw_line){.least_bytes = model.min_bytes,
                                          .added_bytes = (uint16_t)(model.before + model.after + model.gap),
                                          .pause_bytes = model.pause_bytes};
    plant->config.events = sim_events_of(sim, sim->fabric->hosts + index);
    sw->sw = sw_init(sim_take(sim, sw_memory_bytes(&plant->config)), &plant->config, &plant->routes);
    node_switch_init(&sw->node, sw->sw, &plant->config);
    if (plant->local_port == NULL) return;
    /* What is flooded goes to every port that is up: those without a cable are not. */
    const struct fabric_node *node = &sim->fabric->node[sim->fabric->hosts + index];
    struct sw_io io = {0};
    for (uint16_t p = 0; p < node->ports; p++) {
        const struct fabric_port *port = &sim->fabric->port[node->first_port + p];
        if (port->peer == FABRIC_NONE || !port->up || !sim->fabric->port[port->peer].up)
            sw_port_state(sw->sw, p, false, 0, &io);
    }
}
