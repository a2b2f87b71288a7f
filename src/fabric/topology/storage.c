/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A storage network beside the main one: leaves and spines of its own, storage hosts, and a NIC (or more) of every
 * compute host on it.
 *
 *     topology:
 *       rail: {hosts: 8, gpus: 8, spines: 4}
 *       storage: {hosts: 4, leaves: 2, spines: 2}
 *
 * It is added to whatever builder made the main network, after it: storage nodes come last in their roles, and the
 * storage NIC of a host after those of its GPUs (h0:8), so that nothing of the main network changes its name when
 * storage is added.  The two networks share hosts and nothing else; hosts do not forward.
 */
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "fabric/topology/builders.h"

struct storage {
    struct shape shape;
    uint64_t compute; /* hosts */
    uint64_t hosts, leaves, spines;
};

bool storage_read(struct loader *loader, const struct tree *map, struct plan *plan)
{
    static const struct field fields[] = {
        SHAPE("hosts", hosts, 1, COUNT_MAX),   SHAPE("nics", nics, 1, NICS_MAX),
        SHAPE("leaves", leaves, 1, COUNT_MAX), SHAPE("spines", spines, 0, COUNT_MAX),
        SHAPE("uplinks", uplinks, 0, 65534),   F_CALL("oversubscription", read_oversubscription)};
    static const char what[] = "topology.storage";
    struct storage *storage = SCRATCH_NEW(loader, struct storage, 1);

    if (!storage || !shape_read(loader, map, what, fields, COUNT_OF(fields), &storage->shape)) return false;
    if (!shape_needs(loader, map, what, storage->shape.hosts, "hosts", ", as in {hosts: 4, leaves: 2, spines: 2}"))
        return false;
    if (storage->shape.leaves == NOT_GIVEN) storage->shape.leaves = 1;
    if (storage->shape.leaves == 1 && storage->shape.spines == NOT_GIVEN && !storage->shape.over_num)
        storage->shape.spines = 0;
    storage->hosts = storage->shape.hosts;
    storage->leaves = storage->shape.leaves;
    plan->storage = storage;
    plan->storage_map = map;
    return true;
}

static uint64_t divide_up(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

bool storage_count(struct loader *loader, struct plan *plan)
{
    struct storage *storage = plan->storage;
    struct shape *shape = &storage->shape;
    uint64_t all = plus(plan->count[FABRIC_ROLE_HOST], storage->hosts), on_leaf;

    storage->compute = plan->count[FABRIC_ROLE_HOST];
    on_leaf = plus(divide_up(storage->compute, storage->leaves), divide_up(storage->hosts, storage->leaves));
    if (!shape_uplinks(loader, plan->storage_map, "topology.storage", shape, plan, &plan->storage_link,
                       times(on_leaf, shape->nics)))
        return false;
    storage->spines = shape->spines;
    plan->count[FABRIC_ROLE_HOST] = all;
    plan->count[FABRIC_ROLE_LEAF] = plus(plan->count[FABRIC_ROLE_LEAF], storage->leaves);
    plan->count[FABRIC_ROLE_SPINE] = plus(plan->count[FABRIC_ROLE_SPINE], storage->spines);
    plan->links = plus(plan->links, plus(times(all, shape->nics), times(storage->leaves, shape->uplinks)));
    plan->storage_hosts = storage->hosts;
    return true;
}

static const char *name_of(struct loader *loader, const char *prefix, uint64_t number)
{
    char made[40];

    snprintf(made, sizeof(made), "%s%llu", prefix, (unsigned long long)number);
    const char *name = arena_strndup(&loader->scratch, made, strlen(made));
    if (!name) loader->no_memory = true;
    return name;
}

bool storage_build(struct loader *loader, struct plan *plan)
{
    const struct storage *storage = plan->storage;
    const struct shape *shape = &storage->shape;
    uint64_t first_leaf = plan->count[FABRIC_ROLE_LEAF] - storage->leaves;
    uint64_t first_spine = plan->count[FABRIC_ROLE_SPINE] - storage->spines;
    uint64_t each = storage->spines ? shape->uplinks / storage->spines : 0;
    uint32_t pod = 0; /* the first that is free */

    for (uint64_t h = 0; h < storage->compute; h++)
        if (plan->node[h].pod != FABRIC_NONE && plan->node[h].pod >= pod) pod = plan->node[h].pod + 1;
    for (uint64_t l = 0; l < plan->linked; l++) {
        CHECK(plan->link[l].b >= storage->compute);
        if (plan->link[l].a < storage->compute) plan->node[plan->link[l].a].gpu_ports++;
    }
    for (uint64_t h = 0; h < storage->compute + storage->hosts; h++) {
        bool compute = h < storage->compute;
        uint64_t leaf = compute ? h * storage->leaves / storage->compute
                                : (h - storage->compute) * storage->leaves / storage->hosts;
        if (!compute) {
            plan->node[h].name = name_of(loader, "store", h - storage->compute);
            plan->node[h].gpus = PLAN_NO_GPUS;
            plan->node[h].pod = pod + (uint32_t)leaf;
        }
        for (uint64_t n = 0; n < shape->nics; n++)
            plan_link(plan, (uint32_t)h, plan_node(plan, FABRIC_ROLE_LEAF, first_leaf + leaf), &plan->storage_link);
    }
    for (uint64_t l = 0; l < storage->leaves; l++) {
        struct plan_node *node = &plan->node[plan_node(plan, FABRIC_ROLE_LEAF, first_leaf + l)];
        node->name = name_of(loader, "storage-leaf", l);
        node->pod = pod + (uint32_t)l;
        for (uint64_t s = 0; s < storage->spines; s++)
            for (uint64_t i = 0; i < each; i++)
                plan_link(plan, plan_node(plan, FABRIC_ROLE_LEAF, first_leaf + l),
                          plan_node(plan, FABRIC_ROLE_SPINE, first_spine + s), &plan->fabric);
    }
    for (uint64_t s = 0; s < storage->spines; s++)
        plan->node[plan_node(plan, FABRIC_ROLE_SPINE, first_spine + s)].name = name_of(loader, "storage-spine", s);
    return !loader->no_memory;
}
