/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a fabric file says a thing.
 *
 * The loader keeps values, not places: a place is needed for findings only, which are few.  So the text is parsed once
 * more, and the layers are looked through from the port outwards in the order in which the loader writes them over each
 * other.  A path that no layer has is shortened word by word: what encloses it is where it would be written.
 *
 * A fabric may have a hundred thousand ports, each with a layer of its own, and be asked about all of them: the layers
 * of devices and ports are found once.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/fabric.h"
#include "fabric/file/read.h"
#include "fabric/file/tree.h"
#include "fabric/places.h"

#define PATH_MAX_BYTES 128
#define LAYERS 12

struct fabric_places {
    const struct fabric *fabric;
    struct arena arena;
    struct tree *root;
    const struct tree **device, **port; /* their layers, [nodes] and [ports]; NULL: nothing is said of it */
};

/* The first port from `index` on that has no layer yet; each knows one that is not before it. */
static uint32_t free_from(uint32_t *from, uint32_t index)
{
    while (from[index] != index) {
        from[index] = from[from[index]];
        index = from[index];
    }
    return index;
}

/* `ports: {2: ..., 4-7: ...}`; of several for one port the last is the one that holds. */
static bool index_ports(struct fabric_places *places, const struct fabric_node *node, const struct tree *ports)
{
    if (!ports || ports->type != TREE_MAP || !ports->count) return true;
    const struct tree **item = ARENA_NEW(&places->arena, const struct tree *, ports->count);
    uint32_t *from = ARENA_NEW(&places->arena, uint32_t, node->ports + 1u), items = 0;

    if (!item || !from) return false;
    for (uint32_t p = 0; p <= node->ports; p++)
        from[p] = p;
    for (const struct tree *at = ports->first; at && items < ports->count; at = at->next)
        item[items++] = at;
    while (items-- > 0) {
        unsigned first, last;
        int got = sscanf(item[items]->key, "%u-%u", &first, &last);
        if (got < 1 || first >= node->ports) continue;
        if (got == 1) last = first;
        for (uint32_t p = free_from(from, first); p < node->ports && p <= last; p = free_from(from, p)) {
            places->port[node->first_port + p] = item[items];
            from[p] = p + 1;
        }
    }
    return true;
}

static bool index_devices(struct fabric_places *places)
{
    const struct fabric *fabric = places->fabric;
    const struct tree *devices = tree_get(places->root, "devices");

    places->device = ARENA_NEW(&places->arena, const struct tree *, fabric->nodes + 1u);
    places->port = ARENA_NEW(&places->arena, const struct tree *, fabric->ports + 1u);
    if (!places->device || !places->port) return false;
    for (const struct tree *at = devices && devices->type == TREE_MAP ? devices->first : NULL; at; at = at->next) {
        uint32_t node = fabric_find_node(fabric, at->key);
        if (node == FABRIC_NONE || places->device[node]) continue;
        places->device[node] = at;
        if (!index_ports(places, &fabric->node[node], tree_get(at, "ports"))) return false;
    }
    return true;
}

int fabric_places_open(const struct fabric *fabric, const char *text, struct fabric_places **ret)
{
    struct fabric_places *places = calloc(1, sizeof(*places));
    struct fabric_errors errors = {0};

    if (!places) return -ENOMEM;
    places->fabric = fabric;
    arena_init(&places->arena, 0);
    /* A text that was loaded is YAML; whatever else is wrong with memory or text leaves no places, which is allowed. */
    if (tree_parse(text, strlen(text), &places->arena, &places->root, &errors) == -ENOMEM || !index_devices(places)) {
        fabric_places_free(places);
        return -ENOMEM;
    }
    *ret = places;
    return 0;
}

void fabric_places_free(struct fabric_places *places)
{
    if (!places) return;
    arena_release(&places->arena);
    free(places);
}

/* A word of a path: a key of a map, or the `name` of an element of a list. */
static const struct tree *step(const struct tree *tree, const char *word)
{
    if (!tree || tree->type == TREE_MAP) return tree_get(tree, word);
    if (tree->type != TREE_LIST) return NULL;
    for (const struct tree *item = tree->first; item; item = item->next) {
        const struct tree *name = tree_get(item, "name");
        if (name && name->type == TREE_SCALAR && strcmp(name->text, word) == 0) return item;
    }
    return NULL;
}

static const struct tree *find(const struct tree *tree, const char *path)
{
    char word[PATH_MAX_BYTES];

    while (tree && *path) {
        size_t length = strcspn(path, ".");
        if (length >= sizeof(word)) return NULL;
        memcpy(word, path, length);
        word[length] = 0;
        tree = step(tree, word);
        path += length + (path[length] == '.');
    }
    return tree;
}

static const char *link_kind(const struct fabric *fabric, const struct fabric_port *port)
{
    if (port->peer == FABRIC_NONE) return "fabric";
    uint32_t peer = fabric->port[port->peer].node;
    if (port->node < fabric->hosts || peer < fabric->hosts) return "host";
    if (fabric->node[port->node].role == FABRIC_ROLE_CORE || fabric->node[peer].role == FABRIC_ROLE_CORE) return "core";
    return "fabric";
}

/* Layers from the innermost; their number. */
static uint32_t layers_of(const struct fabric_places *places, uint32_t node, uint32_t port, const char *path,
                          const struct tree **ret)
{
    static const char *const roles[FABRIC_ROLES] = {
#define X(id, name, prefix) name,
        FABRIC_ROLE_LIST(X)
#undef X
    };
    const struct fabric *fabric = places->fabric;
    const struct tree *root = places->root;
    uint32_t count = 0;

    if (node != FABRIC_NONE) {
        if (port != FABRIC_NONE) ret[count++] = places->port[port];
        ret[count++] = places->device[node];
        ret[count++] = tree_get(tree_get(root, "roles"), roles[fabric->node[node].role]);
        ret[count++] = tree_get(root, node < fabric->hosts ? "nics" : "switches");
        if (port != FABRIC_NONE) {
            const struct tree *links = tree_get(root, "links");
            ret[count++] = tree_get(links, link_kind(fabric, &fabric->port[port]));
            if (strcmp(path, "rate") == 0 || strcmp(path, "delay") == 0) { /* a cable's length is never another's */
                ret[count++] = tree_get(links, "fabric");
                ret[count++] = tree_get(links, "host");
            }
        }
    }
    ret[count++] = root;
    return count;
}

static struct fabric_at at_of(const struct tree *tree)
{
    /* A map in a list, or in a block, begins where its first key does; a map under a key is named by the key. */
    return tree->type != TREE_SCALAR && tree->key_at.line ? tree->key_at : tree->at;
}

/* Where a thing that nothing says would be said. */
static struct fabric_at nowhere(const struct fabric_places *places, uint32_t node, uint32_t port, const char *path,
                                const struct tree *const *layer)
{
    const struct fabric *fabric = places->fabric;
    const struct fabric_at *link_at = fabric->operations.link_at;
    const struct tree *found = NULL;
    uint32_t inner = port != FABRIC_NONE ? 2 : 1; /* layers of the port and of the device */

    if (port != FABRIC_NONE && (!path[0] || strcmp(path, "cable") == 0)) {
        if (link_at && link_at[port].line) return link_at[port];
        found = tree_get(tree_get(places->root, "links"), link_kind(fabric, &fabric->port[port]));
    }
    for (uint32_t l = 0; node != FABRIC_NONE && path[0] && l < inner && !found; l++)
        found = layer[l];
    if (node != FABRIC_NONE && path[0] && !found)
        found = tree_get(places->root, node < fabric->hosts ? "nics" : "switches");
    if (!found || !path[0]) found = tree_get(places->root, "topology");
    return found ? at_of(found) : (struct fabric_at){1, 1};
}

struct fabric_at fabric_where(const struct fabric_places *places, uint32_t node, uint32_t port, const char *path)
{
    const struct tree *layer[LAYERS] = {0};
    char part[PATH_MAX_BYTES];
    uint32_t count = layers_of(places, node, port, path, layer);

    snprintf(part, sizeof(part), "%s", path);
    while (part[0]) {
        for (uint32_t l = 0; l < count; l++) {
            const struct tree *found = layer[l] ? find(layer[l], part) : NULL;
            if (found) return at_of(found);
        }
        char *dot = strrchr(part, '.');
        *(dot ? dot : part) = 0;
    }
    return nowhere(places, node, port, path, layer);
}

bool fabric_says(const struct fabric_places *places, uint32_t node, uint32_t port, const char *path)
{
    const struct tree *layer[LAYERS] = {0};

    layers_of(places, node, port, path, layer);
    for (int l = 0; l < (port != FABRIC_NONE ? 2 : 1); l++)
        if (layer[l] && find(layer[l], path)) return true;
    return false;
}
