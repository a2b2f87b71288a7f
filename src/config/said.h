/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a port or a device has said, by path; and the index of names under it.  Private to set.c, said.c, pairs.c and
 * write/: write.c and audit.c.
 */
#ifndef ROCELAB_CONFIG_SAID_H
#define ROCELAB_CONFIG_SAID_H

#include "config/config.h"

#define CONFIG_VALUE_BYTES 512

/* Paths in the order in which they were first said.  Ports of a device say the same paths one after another, so they
 * share an order for as long as they keep to it: the index is made once and not for each of thousands of ports.  A
 * port that has said `count` paths has said the first `count` of its order. */
struct config_order {
    struct config_ordered {
        const char *path;
        uint64_t hash; /* of the path */
    } * at;
    uint32_t count, room;
    struct config_names names; /* once there are more than a few */
};

/* A list's elements begin with their names.  CONFIG_NONE: none of it has this one. */
uint32_t config_names_find(const struct config_names *names, const void *list, size_t size, const char *name);
void config_names_put(struct config_names *names, uint32_t index, const char *name);
/* Makes room for one more than `count`; false: there is no memory. */
void config_names_room(struct config_set *set, struct config_names *names, const void *list, size_t size,
                       uint32_t count);

const char *config_kept(struct config_set *set, const char *text);
/* The port, or what holds for the device (CONFIG_NONE); NULL: there is none. */
struct config_port *config_layer(const struct config_set *set, uint32_t device, uint32_t port);

#endif
