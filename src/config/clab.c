/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A containerlab topology (*.clab.yml) as a source of devices and links.
 *
 * Nodes of kind linux are hosts, `bridge` and `ovs-bridge` are no devices, all others are switches.  Both forms of a
 * link are read: endpoints as "node:interface" and as maps of node and interface.  Links to the host that runs the lab
 * (host, mgmt-net, macvlan) are listed as not understood.
 */
#include <errno.h>
#include <string.h>

#include "config/links.h"
#include "fabric/errors.h"
#include "fabric/file/tree.h"

struct end {
    char node[80];
    char port[80];
};

static bool read_end(const struct tree *value, struct end *end)
{
    const struct tree *node = tree_get(value, "node"), *port = tree_get(value, "interface");

    if (value->type == TREE_MAP) {
        if (!node || !port || node->type != TREE_SCALAR || port->type != TREE_SCALAR) return false;
        snprintf(end->node, sizeof(end->node), "%s", node->text);
        snprintf(end->port, sizeof(end->port), "%s", port->text);
        return end->node[0] && end->port[0];
    }
    const char *colon = value->type == TREE_SCALAR ? strchr(value->text, ':') : NULL;
    if (!colon || colon == value->text || !colon[1]) return false;
    snprintf(end->node, sizeof(end->node), "%.*s", (int)(colon - value->text), value->text);
    snprintf(end->port, sizeof(end->port), "%s", colon + 1);
    return true;
}

static void read_nodes(struct config_set *set, const struct config_text *text, const struct tree *topology)
{
    const struct tree *nodes = tree_get(topology, "nodes"), *usual = tree_get(tree_get(topology, "defaults"), "kind");

    for (const struct tree *node = nodes && nodes->type == TREE_MAP ? nodes->first : NULL; node; node = node->next) {
        const struct tree *kind = tree_get(node, "kind");
        if (!kind) kind = usual;
        const char *word = kind && kind->type == TREE_SCALAR ? kind->text : "";
        if (strcmp(word, "bridge") == 0 || strcmp(word, "ovs-bridge") == 0) {
            config_note(set, CONFIG_AT(text, node->key_at.line), NULL, CONFIG_NONE, CONFIG_NONE, "a node of kind %s",
                        word);
            continue;
        }
        config_device(set, CONFIG_AT(text, node->key_at.line), node->key, NULL, strcmp(word, "linux") == 0);
    }
}

static void read_link(struct config_set *set, const struct config_text *text, const struct tree *link)
{
    const struct tree *ends = tree_get(link, "endpoints");
    struct origin at = CONFIG_AT(text, link->at.line);
    struct end a, b;

    if (!ends || ends->type != TREE_LIST || ends->count != 2 || !read_end(ends->first, &a) ||
        !read_end(ends->first->next, &b)) {
        config_note(set, at, NULL, CONFIG_NONE, CONFIG_NONE, "a link without two ends node:interface");
        return;
    }
    uint32_t one = config_device_find(set, a.node), other = config_device_find(set, b.node);
    if (one == CONFIG_NONE || other == CONFIG_NONE) {
        config_note(set, at, NULL, CONFIG_NONE, CONFIG_NONE, "a link of %.60s, which is no node",
                    one == CONFIG_NONE ? a.node : b.node);
        return;
    }
    links_join(set, at, one, links_port(set, at, one, a.port), other, links_port(set, at, other, b.port));
}

static int import(struct config_set *set, const struct config_text *text)
{
    struct tree *root;
    int result = tree_parse(text->text, text->length, &set->arena, &root, text->errors);

    if (result != 0) return result;
    const struct tree *topology = tree_get(root, "topology"), *links = tree_get(topology, "links");
    if (!topology || !tree_get(topology, "nodes")) {
        fabric_errors_add(text->errors, root->at, "no topology.nodes: this is no containerlab file");
        return -EINVAL;
    }
    read_nodes(set, text, topology);
    for (const struct tree *link = links && links->type == TREE_LIST ? links->first : NULL; link; link = link->next)
        read_link(set, text, link);
    return 0;
}

static int guess(const char *text, size_t length)
{
    bool topology = memmem(text, length, "topology:", 9), nodes = memmem(text, length, "nodes:", 6),
         endpoints = memmem(text, length, "endpoints:", 10), kind = memmem(text, length, "kind:", 5);

    return topology && nodes ? (endpoints || kind ? 95 : 30) : 0;
}

const struct config_format config_clab = {.name = "clab", .suffix = "yml", .guess = guess, .import = import};
