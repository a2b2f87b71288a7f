/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a name to a node, a port, an endpoint, and back.
 */
#include "fabric/topology/topology.h"

#include <stdio.h>
#include <string.h>

#include "fabric/fabric.h"

struct names {
    uint32_t mask;
    uint32_t slot[]; /* node + 1 */
};

uint32_t names_hash(const char *name, size_t length)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (uint8_t)name[i]) * 16777619u;
    return hash ^ hash >> 15;
}

bool names_build(struct loader *loader)
{
    struct fabric *fabric = loader->fabric;
    uint32_t size = 16;

    while (size < fabric->nodes * 2)
        size *= 2;
    struct names *names = read_alloc(loader, loader->keep, 1, sizeof(*names) + size * sizeof(names->slot[0]));
    if (!names) return false;
    names->mask = size - 1;
    for (uint32_t n = 0; n < fabric->nodes; n++) {
        const char *name = fabric->node[n].name;
        uint32_t at = names_hash(name, strlen(name)) & names->mask;
        while (names->slot[at])
            at = (at + 1) & names->mask;
        names->slot[at] = n + 1;
    }
    fabric->names = names;
    return true;
}

static uint32_t find_node(const struct fabric *fabric, const char *name, size_t length)
{
    const struct names *names = fabric->names;
    uint32_t at = names_hash(name, length) & names->mask;

    for (; names->slot[at]; at = (at + 1) & names->mask) {
        const char *other = fabric->node[names->slot[at] - 1].name;
        if (strncmp(other, name, length) == 0 && other[length] == 0) return names->slot[at] - 1;
    }
    return FABRIC_NONE;
}

uint32_t fabric_find_node(const struct fabric *fabric, const char *name)
{
    return find_node(fabric, name, strlen(name));
}

uint32_t fabric_find_port(const struct fabric *fabric, const char *name)
{
    const char *colon = strrchr(name, ':');
    uint64_t number;

    if (!colon || !read_decimal(colon + 1, &number)) return FABRIC_NONE;
    uint32_t node = find_node(fabric, name, (size_t)(colon - name));
    if (node == FABRIC_NONE || number >= fabric->node[node].ports) return FABRIC_NONE;
    return fabric->node[node].first_port + (uint32_t)number;
}

uint32_t fabric_find_endpoint(const struct fabric *fabric, const char *name)
{
    uint32_t port = fabric_find_port(fabric, name);

    if (port == FABRIC_NONE) {
        uint32_t node = fabric_find_node(fabric, name);
        if (node == FABRIC_NONE || node >= fabric->hosts || fabric->node[node].ports == 0) return FABRIC_NONE;
        return fabric->first_endpoint[node];
    }
    return port < fabric->endpoints ? port : FABRIC_NONE;
}

const char *fabric_port_name(const struct fabric *fabric, uint32_t port, char buf[FABRIC_NAME])
{
    snprintf(buf, FABRIC_NAME, "%s:%u", fabric->node[fabric->port[port].node].name, fabric->port[port].index);
    return buf;
}

uint32_t gpu_read(struct loader *loader, const char *name, struct fabric_at at, uint32_t *ret_many)
{
    const struct fabric *fabric = loader->fabric;
    size_t length = strcspn(name, ":");
    uint64_t number = 0;
    char *host = arena_strndup(&loader->scratch, name, length);
    uint32_t node = host ? fabric_find_node(fabric, host) : FABRIC_NONE;

    if (node == FABRIC_NONE || node >= fabric->hosts) {
        if (node != FABRIC_NONE)
            read_error(loader, at, "'%s' is a switch; a host or a GPU, as in h0 or h0:2, is expected", name);
        else
            read_error(loader, at, "no host is named '%s'; hosts are '%s' to '%s'", name, fabric->node[0].name,
                       fabric->node[fabric->hosts - 1].name);
        return FABRIC_NONE;
    }
    if (fabric->node[node].gpus == 0) {
        read_error(loader, at, "'%s': host '%s' has no GPU", name, host);
        return FABRIC_NONE;
    }
    if (name[length] && (!read_decimal(name + length + 1, &number) || number >= fabric->node[node].gpus)) {
        read_error(loader, at, "'%s': host '%s' has GPUs 0 to %u", name, host, fabric->node[node].gpus - 1u);
        return FABRIC_NONE;
    }
    *ret_many = name[length] ? 1 : fabric->node[node].gpus;
    return fabric->first_gpu[node] + (uint32_t)number;
}

bool fabric_node_unknown(const struct fabric *fabric, uint32_t node)
{
    return strncmp(fabric->node[node].name, FABRIC_UNKNOWN, sizeof(FABRIC_UNKNOWN) - 1) == 0;
}

const char *fabric_node_name(const struct fabric *fabric, uint32_t node)
{
    return fabric->node[node].name;
}

uint32_t fabric_port_number(const struct fabric *fabric, uint32_t port)
{
    return fabric->port[port].index;
}
