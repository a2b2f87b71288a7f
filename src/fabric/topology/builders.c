/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The small regular topologies and the fat tree: single, dumbbell, fat-tree; leaf-spine and rail are in clos.c.
 *
 * Port order is the same in all: on a leaf the hosts' ports first, in order of hosts and NICs, then
 * the uplinks in order of spines; on a spine the leaves in order, then the cores.  Whoever reads a
 * port number can tell what hangs on it.
 *
 * Counts are 64 bits wide and saturate, so that an absurd file is refused by its estimate and not by
 * an overflow.
 */
#include "fabric/topology/builders.h"

#include "base/check.h"

static const struct shape shape_empty = {
    .hosts = NOT_GIVEN,
    .left = NOT_GIVEN,
    .right = NOT_GIVEN,
    .leaves = NOT_GIVEN,
    .spines = NOT_GIVEN,
    .gpus = NOT_GIVEN,
    .nics = NOT_GIVEN,
    .links = NOT_GIVEN,
    .uplinks = NOT_GIVEN,
    .k = NOT_GIVEN,
    .planes = NOT_GIVEN,
    .sites = NOT_GIVEN,
    .ways = NOT_GIVEN,
    .site_links = NOT_GIVEN,
    .distance_mm = NOT_GIVEN,
};

bool shape_read(struct loader *loader, const struct tree *map, const char *what, const struct field *field,
                uint32_t count, struct shape *shape)
{
    struct field_set set = {field, count, shape};

    *shape = shape_empty;
    if (!read_map(loader, map, what, &set, 1)) return false;
    if (shape->nics == NOT_GIVEN) shape->nics = shape->gpus == NOT_GIVEN ? 1 : shape->gpus;
    if (shape->gpus == NOT_GIVEN) shape->gpus = shape->nics;
    if (shape->planes == NOT_GIVEN) shape->planes = 1;
    if (shape->sites == NOT_GIVEN) shape->sites = 1;
    return true;
}

bool shape_needs(struct loader *loader, const struct tree *map, const char *what, uint64_t value, const char *key,
                 const char *more)
{
    struct nearest nearest;

    if (value != NOT_GIVEN) return true;
    if (map->type != TREE_MAP || tree_get(map, key)) return false; /* it is there, and wrong */
    nearest_init(&nearest, key);
    for (const struct tree *item = map->first; item; item = item->next)
        nearest_try(&nearest, item->key);
    /* A misspelt key has been told already; but a key there is may look like one too, as planes does like spines. */
    if (!nearest.word || loader->errors->count == 0) read_error(loader, map->at, "%s needs %s%s", what, key, more);
    return false;
}

/* Hosts of one leaf: `nics` links each, all to that leaf. */
static void link_hosts(struct plan *plan, uint64_t first, uint64_t count, const struct shape *shape, uint32_t leaf,
                       uint32_t pod)
{
    for (uint64_t h = first; h < first + count; h++) {
        plan->node[h].gpus = (uint16_t)shape->gpus;
        plan->node[h].pod = pod;
        for (uint64_t n = 0; n < shape->nics; n++)
            plan_link(plan, (uint32_t)h, leaf, &plan->host);
    }
}

bool build_single(struct loader *loader, const struct tree *map, struct plan *plan)
{
    static const struct field fields[] = {HOST_FIELDS};
    struct shape shape;

    if (!shape_read(loader, map, "topology.single", fields, COUNT_OF(fields), &shape)) return false;
    if (!shape_needs(loader, map, "topology.single", shape.hosts, "hosts", ", as in {hosts: 16}")) return false;
    plan->count[FABRIC_ROLE_HOST] = shape.hosts;
    plan->count[FABRIC_ROLE_LEAF] = 1;
    plan->links = times(shape.hosts, shape.nics);
    if (!plan_allocate(loader, plan)) return false;
    plan->node[plan_node(plan, FABRIC_ROLE_LEAF, 0)].pod = 0;
    link_hosts(plan, 0, shape.hosts, &shape, plan_node(plan, FABRIC_ROLE_LEAF, 0), 0);
    return true;
}

bool build_dumbbell(struct loader *loader, const struct tree *map, struct plan *plan)
{
    static const struct field fields[] = {HOST_FIELDS, SHAPE("left", left, 1, COUNT_MAX),
                                          SHAPE("right", right, 1, COUNT_MAX), SHAPE("links", links, 1, 4096)};
    struct shape shape;
    uint32_t leaf;

    if (!shape_read(loader, map, "topology.dumbbell", fields, COUNT_OF(fields), &shape)) return false;
    if (shape.left == NOT_GIVEN) shape.left = shape.hosts;
    if (shape.right == NOT_GIVEN) shape.right = shape.hosts;
    if (!shape_needs(loader, map, "topology.dumbbell", shape.left | shape.right, "hosts",
                     " (on each side), or left and right, as in {left: 4, right: 1}"))
        return false;
    if (shape.links == NOT_GIVEN) shape.links = 1;
    plan->count[FABRIC_ROLE_HOST] = plus(shape.left, shape.right);
    plan->count[FABRIC_ROLE_LEAF] = 2;
    plan->links = plus(times(plan->count[FABRIC_ROLE_HOST], shape.nics), shape.links);
    if (!plan_allocate(loader, plan)) return false;
    leaf = plan_node(plan, FABRIC_ROLE_LEAF, 0);
    link_hosts(plan, 0, shape.left, &shape, leaf, 0);
    link_hosts(plan, shape.left, shape.right, &shape, leaf + 1, 1);
    plan->node[leaf].pod = 0;
    plan->node[leaf + 1].pod = 1;
    for (uint64_t l = 0; l < shape.links; l++)
        plan_link(plan, leaf, leaf + 1, &plan->fabric);
    return true;
}

static void link_fat_tree(struct plan *plan, const struct shape *shape)
{
    uint64_t half = shape->k / 2;

    for (uint64_t l = 0; l < shape->k * half; l++) {
        uint32_t leaf = plan_node(plan, FABRIC_ROLE_LEAF, l);
        plan->node[leaf].pod = (uint32_t)(l / half);
        plan->node[plan_node(plan, FABRIC_ROLE_SPINE, l)].pod = (uint32_t)(l / half);
        link_hosts(plan, l * shape->hosts, shape->hosts, shape, leaf, (uint32_t)(l / half));
    }
    for (uint64_t l = 0; l < shape->k * half; l++)
        for (uint64_t s = 0; s < half; s++)
            plan_link(plan, plan_node(plan, FABRIC_ROLE_LEAF, l),
                      plan_node(plan, FABRIC_ROLE_SPINE, l / half * half + s), &plan->fabric);
    for (uint64_t s = 0; s < shape->k * half; s++)
        for (uint64_t c = 0; c < half; c++)
            plan_link(plan, plan_node(plan, FABRIC_ROLE_SPINE, s),
                      plan_node(plan, FABRIC_ROLE_CORE, s % half * half + c), &plan->core);
}

bool build_fat_tree(struct loader *loader, const struct tree *map, struct plan *plan)
{
    static const struct field fields[] = {HOST_FIELDS, SHAPE("k", k, 2, COUNT_MAX)};
    static const char what[] = "topology.fat-tree";
    struct shape shape;

    if (!shape_read(loader, map, what, fields, COUNT_OF(fields), &shape)) return false;
    if (!shape_needs(loader, map, what, shape.k, "k", ", the number of ports of a switch, as in {k: 8}")) return false;
    if (shape.k % 2) {
        read_error(loader, tree_get(map, "k")->at, "k: %llu is odd; half of a switch's ports go up, half down",
                   (unsigned long long)shape.k);
        return false;
    }
    uint64_t half = shape.k / 2;
    if (shape.hosts == NOT_GIVEN)
        shape.hosts = half / shape.nics ? half / shape.nics : 1;
    else if (times(shape.hosts, shape.nics) > half) /* there is no key for a ratio: this says it */
        plan->oversubscribed = true;
    plan->count[FABRIC_ROLE_LEAF] = plan->count[FABRIC_ROLE_SPINE] = times(shape.k, half);
    plan->count[FABRIC_ROLE_CORE] = times(half, half);
    plan->count[FABRIC_ROLE_HOST] = times(plan->count[FABRIC_ROLE_LEAF], shape.hosts);
    plan->links = plus(times(plan->count[FABRIC_ROLE_HOST], shape.nics), times(times(shape.k, half), shape.k));
    if (!plan_allocate(loader, plan)) return false;
    link_fat_tree(plan, &shape);
    return true;
}
