/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All configurations of a fabric together: made, and given back.
 */
#include "plant/plant.h"

#include <stdlib.h>

#include "fabric/fabric.h"
#include "plant/plant_int.h"

int plant_init(struct plant *plant, const struct fabric *fabric, const struct plant_options *options,
               struct fabric_errors *errors)
{
    *plant = (struct plant){.fabric = fabric, .options = *options};
    int error = plant_switches(plant, errors);
    if (!error) error = plant_adapters(plant, errors);
    if (!error) plant_lanes_mark(plant);
    for (uint32_t i = 0; !error && i < fabric->switches; i++)
        plant->sw[i].config.telemetry = plant->needs.telemetry;
    return error;
}

void plant_release(struct plant *plant)
{
    for (uint32_t i = 0; plant->sw && i < plant->fabric->switches; i++) {
        free(plant->sw[i].local_port);
        free(plant->sw[i].edge_of);
        free(plant->sw[i].raise);
    }
    free(plant->sw);
    free(plant->cc);
    free(plant->port_config);
    free(plant->port_table);
    free(plant->port_rate);
    free(plant->credit_port);
    *plant = (struct plant){0};
}
