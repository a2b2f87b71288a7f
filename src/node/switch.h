/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A switch as a node.
 */
#ifndef ROCELAB_NODE_SWITCH_H
#define ROCELAB_NODE_SWITCH_H

#include "node/node.h"

struct node_switch {
    struct sw *sw;
    const struct sw_config *config;
    ps_t deadline; /* as the switch named it */
};

void node_switch_init(struct node_switch *self, struct sw *sw, const struct sw_config *config);
extern const struct node_ops node_switch_ops;

/* The calls of node_switch_ops that need no speed, for drivers that inline the others (switch_inline.h). */
void node_switch_control(void *node, uint32_t port, uint32_t word, ps_t now, struct node_io *io);
void node_switch_tick(void *node, ps_t now, struct node_io *io);
void node_switch_link(void *node, uint32_t port, bool up, ps_t now, struct node_io *io);
void node_switch_observe(void *node, uint32_t port, ps_t now, struct node_view *ret);
/* What the switch answered, as the node's answers. */
void node_switch_answers(struct node_switch *self, struct node_io *io);

#endif
