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
#include <strings.h>

uint32_t links_port_known(const struct config_set *set, uint32_t device, const char *name)
{
    static const char *const forms[] = {"Ethernet", "Ethernet1/", "swp", NULL};
    static const char *const short_forms[] = {"ethernet", "eth", "et", "e", NULL};
    uint32_t found = config_port_find(set, device, name);
    size_t letters = strcspn(name, "0123456789");
    char number[32], other[64];
    bool ethernet = false;

    for (int f = 0; short_forms[f]; f++)
        ethernet |= strlen(short_forms[f]) == letters && strncasecmp(name, short_forms[f], letters) == 0;
    if (found != CONFIG_NONE || !ethernet || !name[letters] || strlen(name) >= sizeof(number)) return found;
    snprintf(number, sizeof(number), "%s", name + letters);
    for (char *c = number; *c; c++)
        if (*c == '_' || *c == '-') *c = '/';
    for (int f = 0; forms[f]; f++) {
        snprintf(other, sizeof(other), "%s%s", forms[f], number);
        found = config_port_find(set, device, other);
        if (found != CONFIG_NONE) return found;
    }
    snprintf(other, sizeof(other), "Ethernet%s/1", number); /* a cage that is not split, by its first lane */
    return config_port_find(set, device, other);
}

uint32_t links_port(struct config_set *set, struct origin at, uint32_t device, const char *name)
{
    uint32_t found = links_port_known(set, device, name);

    return found != CONFIG_NONE ? found : config_port(set, at, device, name);
}

void links_join(struct config_set *set, struct origin at, uint32_t a, uint32_t a_port, uint32_t b, uint32_t b_port)
{
    if (a_port == CONFIG_NONE || b_port == CONFIG_NONE) return;
    if (a == b) {
        config_note(set, at, NULL, a, a_port, "a link from a device to itself is left out");
        return;
    }
    uint32_t of_a = set->device[a].port[a_port].link, of_b = set->device[b].port[b_port].link;
    if (of_a && of_a == of_b) return; /* both ends of a link may tell of it */
    if (of_a || of_b) {
        config_note(set, at, NULL, of_a ? a : b, of_a ? a_port : b_port,
                    "a second link of a port is left out: it goes elsewhere already");
        return;
    }
    config_link(set, at, a, a_port, b, b_port);
}
