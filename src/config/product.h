/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a configuration says of the hardware it is for.
 */
#ifndef ROCELAB_CONFIG_PRODUCT_H
#define ROCELAB_CONFIG_PRODUCT_H

#include "config/config.h"

/* After a text was imported: the chip of its devices, where the text names it, or a product that has it. */
void product_say(struct config_set *set, const struct config_text *text);

#endif
