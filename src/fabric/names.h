/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes, ports and endpoints of a fabric by their names, and the names of these.
 */
#ifndef ROCELAB_FABRIC_NAMES_H
#define ROCELAB_FABRIC_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "fabric/words.h"

struct fabric;

/* FABRIC_NONE where there is no such thing.  `h0` is its first endpoint where an endpoint is asked for. */
uint32_t fabric_find_node(const struct fabric *fabric, const char *name);
uint32_t fabric_find_port(const struct fabric *fabric, const char *name);     /* `leaf0:3` */
uint32_t fabric_find_endpoint(const struct fabric *fabric, const char *name); /* `h0:2`, `h0` */
#define FABRIC_NAME 96
const char *fabric_node_name(const struct fabric *fabric, uint32_t node);
bool fabric_fault_is_word(const char *text);                             /* what a fault begins with: `down` */
uint32_t fabric_port_number(const struct fabric *fabric, uint32_t port); /* within its node: 3 of `leaf0:3` */
const char *fabric_port_name(const struct fabric *fabric, uint32_t port, char buf[FABRIC_NAME]);

/* A host of this name stands for what an imported configuration does not say: the other end of its port. */
#define FABRIC_UNKNOWN "unknown."
bool fabric_node_unknown(const struct fabric *fabric, uint32_t node);

#endif
