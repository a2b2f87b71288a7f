/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of plant_init().  Private to src/plant.
 */
#ifndef ROCELAB_PLANT_PLANT_INT_H
#define ROCELAB_PLANT_PLANT_INT_H

#include "plant/plant.h"

int plant_switches(struct plant *plant, struct fabric_errors *errors); /* 0, -EINVAL, -ENOMEM */
/* lanes.c: nothing where the system has no credits */
int plant_lanes(struct plant *plant); /* 0, -ENOMEM */
void plant_lanes_switch(const struct plant *plant, uint32_t index, struct sw_config *config);
void plant_lanes_mark(struct plant *plant); /* when all adapters' needs are known */
void plant_lanes_adapter(const struct plant *plant, uint32_t endpoint, struct nic_config *config);
int plant_adapters(struct plant *plant, struct fabric_errors *errors);

#endif
