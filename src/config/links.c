/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ports by the names that a lab or a neighbour has for them, and links between them.
 *
 * A containerlab file calls ports after the Linux interface of the container, the configuration after the system's own;
 * the number is the same.  So configurations are read first and links after them.
 */
#include "config/links.h"

#include <stdio.h>
#include <string.h>

uint32_t links_device(const struct config_set *set, const char *name)
{
    for (uint32_t d = 0; d < set->devices; d++)
        if (strcmp(set->device[d].name, name) == 0) return d;
    return CONFIG_NONE;
}

uint32_t links_port(struct config_set *set, struct origin at, uint32_t device, const char *name)
{
    static const char *const forms[] = {"Ethernet%s", "Ethernet1/%s", "swp%s", NULL};
    uint32_t found = config_port_find(set, device, name);
    char number[32], other[64];

    if (found != CONFIG_NONE) return found;
    if (strncmp(name, "eth", 3) == 0 && name[3] >= '0' && name[3] <= '9' && strlen(name) < sizeof(number)) {
        snprintf(number, sizeof(number), "%s", name + 3);
        for (char *c = number; *c; c++)
            if (*c == '_' || *c == '-') *c = '/';
        for (int f = 0; forms[f]; f++) {
            size_t before = strcspn(forms[f], "%");
            snprintf(other, sizeof(other), "%.*s%s", (int)before, forms[f], number);
            found = config_port_find(set, device, other);
            if (found != CONFIG_NONE) return found;
        }
    }
    return config_port(set, at, device, name);
}

void links_join(struct config_set *set, struct origin at, uint32_t a, uint32_t a_port, uint32_t b, uint32_t b_port)
{
    if (a_port == CONFIG_NONE || b_port == CONFIG_NONE) return;
    if (a == b) {
        config_note(set, at, NULL, a, a_port, "a link from a device to itself is left out");
        return;
    }
    for (uint32_t l = 0; l < set->links; l++) {
        const struct config_link *link = &set->link[l];
        bool same = (link->a == a && link->a_port == a_port && link->b == b && link->b_port == b_port) ||
                    (link->a == b && link->a_port == b_port && link->b == a && link->b_port == a_port);
        bool a_taken = (link->a == a && link->a_port == a_port) || (link->b == a && link->b_port == a_port);
        bool b_taken = (link->a == b && link->a_port == b_port) || (link->b == b && link->b_port == b_port);
        if (same) return;
        if (!a_taken && !b_taken) continue;
        config_note(set, at, NULL, a_taken ? a : b, a_taken ? a_port : b_port,
                    "a second link of a port is left out: it goes elsewhere already");
        return;
    }
    config_link(set, at, a, a_port, b, b_port);
}
