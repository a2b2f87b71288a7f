/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The regular topologies: single, dumbbell, leaf-spine, rail, fat-tree.
 *
 * Port order is the same in all: on a leaf the hosts' ports first, in order of hosts and NICs, then
 * the uplinks in order of spines; on a spine the leaves in order, then the cores.  Whoever reads a
 * port number can tell what hangs on it.
 *
 * Counts are 64 bits wide and saturate, so that an absurd file is refused by its estimate and not by
 * an overflow.
 */
#include "fabric/topology.h"

#include "base/check.h"
#include "base/wide.h"

#define NICS_MAX 256
#define COUNT_MAX 1000000000000ull

struct shape {
    uint64_t hosts, left, right, leaves, spines, gpus, nics, uplinks, links, k;
    uint32_t over_num, over_den;
    struct fabric_at over_at;
};

static const struct shape shape_empty = {
    NOT_GIVEN, NOT_GIVEN, NOT_GIVEN, NOT_GIVEN, NOT_GIVEN, NOT_GIVEN, NOT_GIVEN,
    NOT_GIVEN, NOT_GIVEN, NOT_GIVEN, 0,         0,         {0, 0},
};

static uint64_t times(uint64_t a, uint64_t b)
{
    uint64_t got;
    return __builtin_mul_overflow(a, b, &got) ? UINT64_MAX : got;
}

static uint64_t plus(uint64_t a, uint64_t b)
{
    uint64_t got;
    return __builtin_add_overflow(a, b, &got) ? UINT64_MAX : got;
}

/* `3`, `2.5` or `3:1`. */
static void read_oversubscription(struct loader *loader, const struct tree *value, void *into)
{
    struct shape *shape = into;
    struct tree copy = *value;
    size_t length = 0;

    if (value->type == TREE_SCALAR)
        while (value->text[length])
            length++;
    if (length > 2 && value->text[length - 2] == ':' && value->text[length - 1] == '1') {
        copy.text = arena_strndup(&loader->scratch, value->text, length - 2);
        if (!copy.text) {
            loader->no_memory = true;
            return;
        }
    }
    shape->over_at = value->at;
    read_fraction(loader, &copy, &shape->over_num, &shape->over_den);
}

#define SHAPE(name, member, min, max) F_VALUE(name, FIELD_COUNT, struct shape, member, min, max)
#define HOST_FIELDS                                                                                                    \
    SHAPE("hosts", hosts, 1, COUNT_MAX), SHAPE("gpus", gpus, 1, NICS_MAX), SHAPE("nics", nics, 1, NICS_MAX)

static bool read_shape(struct loader *loader, const struct tree *map, const char *what, const struct field *field,
                       uint32_t count, struct shape *shape)
{
    struct field_set set = {field, count, shape};

    *shape = shape_empty;
    if (!read_map(loader, map, what, &set, 1)) return false;
    if (shape->nics == NOT_GIVEN) shape->nics = shape->gpus == NOT_GIVEN ? 1 : shape->gpus;
    if (shape->gpus == NOT_GIVEN) shape->gpus = shape->nics;
    return true;
}

static bool needs(struct loader *loader, const struct tree *map, const char *what, uint64_t value, const char *key)
{
    if (value != NOT_GIVEN) return true;
    read_error(loader, map->at, "%s needs %s", what, key);
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

    if (!read_shape(loader, map, "topology.single", fields, COUNT_OF(fields), &shape)) return false;
    if (!needs(loader, map, "topology.single", shape.hosts, "hosts, as in {hosts: 16}")) return false;
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

    if (!read_shape(loader, map, "topology.dumbbell", fields, COUNT_OF(fields), &shape)) return false;
    if (shape.left == NOT_GIVEN) shape.left = shape.hosts;
    if (shape.right == NOT_GIVEN) shape.right = shape.hosts;
    if (!needs(loader, map, "topology.dumbbell", shape.left | shape.right,
               "hosts (on each side), or left and right, as in {left: 4, right: 1}"))
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

/* Uplinks of a leaf and spines, from what is given of uplinks, spines and oversubscription; `down` links a leaf. */
static bool shape_uplinks(struct loader *loader, const struct tree *map, const char *what, struct shape *shape,
                          const struct plan *plan, uint64_t down)
{
    if (shape->over_num) {
        u128 bits = (u128)down * plan->host.rate_bps * shape->over_den;
        u128 unit = (u128)plan->fabric.rate_bps * shape->over_num;
        u128 got = (bits + unit - 1) / unit;
        uint64_t uplinks = got > COUNT_MAX ? COUNT_MAX : (uint64_t)got;

        if (shape->uplinks != NOT_GIVEN) {
            read_error(loader, shape->over_at, "%s: give oversubscription or uplinks, not both", what);
            return false;
        }
        if (shape->spines == NOT_GIVEN) shape->spines = uplinks;
        if (shape->spines == 0 || uplinks % shape->spines) {
            read_error(loader, shape->over_at,
                       "oversubscription: needs %llu uplinks a leaf, which %llu spines do not share evenly",
                       (unsigned long long)uplinks, (unsigned long long)shape->spines);
            return false;
        }
        shape->uplinks = uplinks;
    }
    if (!needs(loader, map, what, shape->spines, "spines (or oversubscription)")) return false;
    if (shape->uplinks == NOT_GIVEN) shape->uplinks = shape->spines;
    if (shape->spines == 0 ? shape->uplinks != 0 : shape->uplinks % shape->spines != 0) {
        read_error(loader, map->at, "%s: %llu uplinks a leaf do not spread evenly over %llu spines", what,
                   (unsigned long long)shape->uplinks, (unsigned long long)shape->spines);
        return false;
    }
    return true;
}

static void link_spines(struct plan *plan, const struct shape *shape)
{
    uint64_t each = shape->spines ? shape->uplinks / shape->spines : 0;

    for (uint64_t l = 0; l < shape->leaves; l++)
        for (uint64_t s = 0; s < shape->spines; s++)
            for (uint64_t i = 0; i < each; i++)
                plan_link(plan, plan_node(plan, FABRIC_ROLE_LEAF, l), plan_node(plan, FABRIC_ROLE_SPINE, s),
                          &plan->fabric);
}

bool build_leaf_spine(struct loader *loader, const struct tree *map, struct plan *plan)
{
    static const struct field fields[] = {HOST_FIELDS, SHAPE("leaves", leaves, 1, COUNT_MAX),
                                          SHAPE("spines", spines, 0, COUNT_MAX), SHAPE("uplinks", uplinks, 0, 65534),
                                          F_CALL("oversubscription", read_oversubscription)};
    static const char what[] = "topology.leaf-spine";
    struct shape shape;

    if (!read_shape(loader, map, what, fields, COUNT_OF(fields), &shape)) return false;
    if (!needs(loader, map, what, shape.leaves, "leaves") ||
        !needs(loader, map, what, shape.hosts, "hosts (on each leaf)"))
        return false;
    if (!shape_uplinks(loader, map, what, &shape, plan, times(shape.hosts, shape.nics))) return false;
    plan->count[FABRIC_ROLE_HOST] = times(shape.leaves, shape.hosts);
    plan->count[FABRIC_ROLE_LEAF] = shape.leaves;
    plan->count[FABRIC_ROLE_SPINE] = shape.spines;
    plan->links = plus(times(plan->count[FABRIC_ROLE_HOST], shape.nics), times(shape.leaves, shape.uplinks));
    if (!plan_allocate(loader, plan)) return false;
    for (uint64_t l = 0; l < shape.leaves; l++) {
        uint32_t leaf = plan_node(plan, FABRIC_ROLE_LEAF, l);
        plan->node[leaf].pod = (uint32_t)l;
        link_hosts(plan, l * shape.hosts, shape.hosts, &shape, leaf, (uint32_t)l);
    }
    link_spines(plan, &shape);
    return true;
}

/* How rails lie on leaves: `rails` NICs of a host on a leaf, `groups` of hosts with leaves of their own. */
static bool rail_groups(struct loader *loader, const struct tree *map, const struct shape *shape, uint64_t *ret_groups)
{
    if (shape->leaves % shape->nics == 0) {
        *ret_groups = shape->leaves / shape->nics;
        if (*ret_groups <= shape->hosts) return true;
        read_error(loader, map->at, "topology.rail: %llu groups of leaves for %llu hosts",
                   (unsigned long long)*ret_groups, (unsigned long long)shape->hosts);
        return false;
    }
    *ret_groups = 1;
    if (shape->nics % shape->leaves == 0) return true;
    read_error(loader, map->at, "topology.rail: %llu leaves for %llu rails: one must be a multiple of the other",
               (unsigned long long)shape->leaves, (unsigned long long)shape->nics);
    return false;
}

static void link_rails(struct plan *plan, const struct shape *shape, uint64_t groups)
{
    uint64_t rails = shape->leaves < shape->nics ? shape->nics / shape->leaves : 1;
    uint64_t in_group = (shape->hosts + groups - 1) / groups;

    for (uint64_t l = 0; l < shape->leaves; l++)
        plan->node[plan_node(plan, FABRIC_ROLE_LEAF, l)].pod = (uint32_t)(l / (shape->leaves / groups));
    for (uint64_t h = 0; h < shape->hosts; h++) {
        uint64_t group = h / in_group;

        plan->node[h].gpus = (uint16_t)shape->gpus;
        plan->node[h].pod = (uint32_t)group;
        for (uint64_t n = 0; n < shape->nics; n++)
            plan_link(plan, (uint32_t)h,
                      plan_node(plan, FABRIC_ROLE_LEAF, group * (shape->leaves / groups) + n / rails), &plan->host);
    }
}

bool build_rail(struct loader *loader, const struct tree *map, struct plan *plan)
{
    static const struct field fields[] = {HOST_FIELDS, SHAPE("leaves", leaves, 1, COUNT_MAX),
                                          SHAPE("spines", spines, 0, COUNT_MAX), SHAPE("uplinks", uplinks, 0, 65534),
                                          F_CALL("oversubscription", read_oversubscription)};
    static const char what[] = "topology.rail";
    struct shape shape;
    uint64_t groups, rails;

    if (!read_shape(loader, map, what, fields, COUNT_OF(fields), &shape)) return false;
    if (!needs(loader, map, what, shape.hosts, "hosts (in all)")) return false;
    if (shape.leaves == NOT_GIVEN) shape.leaves = shape.nics;
    if (!rail_groups(loader, map, &shape, &groups)) return false;
    rails = shape.leaves < shape.nics ? shape.nics / shape.leaves : 1;
    if (!shape_uplinks(loader, map, what, &shape, plan, times((shape.hosts + groups - 1) / groups, rails)))
        return false;
    plan->count[FABRIC_ROLE_HOST] = shape.hosts;
    plan->count[FABRIC_ROLE_LEAF] = shape.leaves;
    plan->count[FABRIC_ROLE_SPINE] = shape.spines;
    plan->links = plus(times(shape.hosts, shape.nics), times(shape.leaves, shape.uplinks));
    if (!plan_allocate(loader, plan)) return false;
    link_rails(plan, &shape, groups);
    link_spines(plan, &shape);
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

    if (!read_shape(loader, map, what, fields, COUNT_OF(fields), &shape)) return false;
    if (!needs(loader, map, what, shape.k, "k, the number of ports of a switch, as in {k: 8}")) return false;
    if (shape.k % 2) {
        read_error(loader, tree_get(map, "k")->at, "k: %llu is odd; half of a switch's ports go up, half down",
                   (unsigned long long)shape.k);
        return false;
    }
    uint64_t half = shape.k / 2;
    if (shape.hosts == NOT_GIVEN) shape.hosts = half / shape.nics ? half / shape.nics : 1;
    plan->count[FABRIC_ROLE_LEAF] = plan->count[FABRIC_ROLE_SPINE] = times(shape.k, half);
    plan->count[FABRIC_ROLE_CORE] = times(half, half);
    plan->count[FABRIC_ROLE_HOST] = times(plan->count[FABRIC_ROLE_LEAF], shape.hosts);
    plan->links = plus(times(plan->count[FABRIC_ROLE_HOST], shape.nics), times(times(shape.k, half), shape.k));
    if (!plan_allocate(loader, plan)) return false;
    link_fat_tree(plan, &shape);
    return true;
}
