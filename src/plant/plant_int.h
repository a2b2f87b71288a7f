/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of plant_init().  Private to src/plant.
 */
#ifndef ROCELAB_PLANT_PLANT_INT_H
#define ROCELAB_PLANT_PLANT_INT_H

#include "plant/plant.h"

int plant_switches(struct plant *plant, struct fabric_errors *errors); /* 0, -EINVAL, -ENOMEM */
int plant_adapters(struct plant *plant, struct fabric_errors *errors);

#endif
