/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other ends of ports, out of what configurations say of them: neighbours, descriptions, addresses.
 */
#ifndef ROCELAB_CONFIG_ENDS_H
#define ROCELAB_CONFIG_ENDS_H

#include "config/config.h"

/* After all texts: links of neighbours, then of descriptions, then of small subnets.  What contradicts is a note of
 * TOP007. */
void ends_join(struct config_set *set);
/* After config_write(): the port is in use, and nothing names its other end. */
bool ends_unknown(const struct config_set *set, uint32_t device, uint32_t port);

#endif
