/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links between devices of a set, by names that other systems give to ports.  For clab.c, lldp.c and ends.c.
 */
#ifndef ROCELAB_CONFIG_LINKS_H
#define ROCELAB_CONFIG_LINKS_H

#include "config/config.h"

/* The port of this name; `eth3`, `Et3` and `e3` are also Ethernet3, Ethernet1/3 or swp3.  CONFIG_NONE: none. */
uint32_t links_port_known(const struct config_set *set, uint32_t device, const char *name);
/* The same; a port that the device does not have yet is added. */
uint32_t links_port(struct config_set *set, struct origin at, uint32_t device, const char *name);
/* Joins two ports.  The same link twice is one; a port with two links is a note. */
void links_join(struct config_set *set, struct origin at, uint32_t a, uint32_t a_port, uint32_t b, uint32_t b_port);

#endif
