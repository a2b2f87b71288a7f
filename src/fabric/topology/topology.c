/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes, ports and endpoints out of a plan.
 *
 * What a file asks for is estimated before memory is taken: a fabric of a thousand million hosts is
 * one sentence, not an hour of swapping.
 */
#include "fabric/topology/topology.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/wide.h"
#include "fabric/fabric.h"
#include "fabric/switches.h"

#define PS_PER_MM 5 /* 5 ns a metre: light at two thirds of its speed in vacuum */

static void read_errors(struct loader *loader, const struct tree *value, void *into)
{
    struct link_class *as = into;
    uint64_t ppm;
    if (read_unit(loader, value, UNIT_SHARE, 0, 1000000, &ppm)) as->error_ppm = (uint32_t)ppm;
}

const struct field link_fields[] = {
    F_VALUE("rate", FIELD_RATE, struct link_class, rate_bps, 1000, 100000000000000ull),
    F_VALUE("cable", FIELD_LENGTH, struct link_class, cable_mm, 1, 100000000000ull),
    F_VALUE("delay", FIELD_TIME, struct link_class, delay_ps, 1, PS_S),
    F_CALL("errors", read_errors),
    F_VALUE("llr", FIELD_BOOL, struct link_class, llr, 0, 0),
};
const uint32_t link_field_count = COUNT_OF(link_fields);

struct link_class link_over(const struct link_class *base, const struct link_class *over)
{
    struct link_class as = *base;

    if (over->rate_bps != NOT_GIVEN) as.rate_bps = over->rate_bps;
    if (over->cable_mm != NOT_GIVEN || over->delay_ps != NOT_GIVEN) {
        as.cable_mm = over->cable_mm;
        as.delay_ps = over->delay_ps;
        as.said = true;
    }
    if (over->error_ppm != ERRORS_NOT_GIVEN) as.error_ppm = over->error_ppm;
    if (over->llr != LLR_NOT_GIVEN) as.llr = over->llr;
    return as;
}

bool link_check(struct loader *loader, const struct link_class *as, struct fabric_at at)
{
    if (as->cable_mm == NOT_GIVEN || as->delay_ps == NOT_GIVEN) return true;
    read_error(loader, at, "give cable or delay, not both: a metre is 5 ns");
    return false;
}

ps_t link_propagation_ps(const struct link_class *as)
{
    return as->delay_ps != NOT_GIVEN ? as->delay_ps : as->cable_mm * PS_PER_MM;
}

uint64_t link_cable_mm(const struct link_class *as)
{
    return as->cable_mm != NOT_GIVEN ? as->cable_mm : (as->delay_ps + PS_PER_MM - 1) / PS_PER_MM;
}

static uint64_t plan_nodes(const struct plan *plan)
{
    uint64_t nodes = 0;
    for (int r = 0; r < FABRIC_ROLES; r++)
        if (__builtin_add_overflow(nodes, plan->count[r], &nodes)) return UINT64_MAX;
    return nodes;
}

/* Bytes of the arrays, plan and routes together; saturates. */
static uint64_t plan_bytes(const struct plan *plan)
{
    const u128 limit = UINT64_MAX;
    u128 nodes = plan_nodes(plan), links = plan->links, hosts = plan->count[FABRIC_ROLE_HOST];
    u128 switches = nodes > hosts ? nodes - hosts : 0;
    u128 edges = plan->count[FABRIC_ROLE_LEAF] ? plan->count[FABRIC_ROLE_LEAF] : switches;

    if (edges > links) edges = links;
    u128 total = nodes * (sizeof(struct fabric_node) + sizeof(struct plan_node) + 32);
    total += links * (2 * sizeof(struct fabric_port) + sizeof(struct plan_link) + sizeof(struct fabric_endpoint) + 24);
    total += switches * (sizeof(struct fabric_switch) + sizeof(struct fabric_route) + edges * 2 * sizeof(uint16_t));
    return total > limit ? UINT64_MAX : (uint64_t)total;
}

bool plan_allocate(struct loader *loader, struct plan *plan)
{
    if (plan->storage && !storage_count(loader, plan)) return false;
    uint64_t bytes = plan_bytes(plan), nodes = plan_nodes(plan);
    char need[UNIT_TEXT], limit[UNIT_TEXT];

    if (nodes == UINT64_MAX || plan->links == UINT64_MAX) {
        read_error(loader, plan->at, "topology: more nodes or links than can be counted; the limit is %s of memory",
                   unit_format_short(UNIT_SIZE, FABRIC_MEMORY_MAX, 3, limit));
        return false;
    }
    if (bytes > FABRIC_MEMORY_MAX || nodes > INT32_MAX || plan->links > INT32_MAX / 2) {
        read_error(loader, plan->at,
                   "topology: %llu hosts, %llu switches and %llu links need about %s of memory; the limit is %s",
                   (unsigned long long)plan->count[FABRIC_ROLE_HOST],
                   (unsigned long long)(nodes - plan->count[FABRIC_ROLE_HOST]), (unsigned long long)plan->links,
                   unit_format_short(UNIT_SIZE, bytes, 3, need),
                   unit_format_short(UNIT_SIZE, FABRIC_MEMORY_MAX, 3, limit));
        return false;
    }
    plan->node = SCRATCH_NEW(loader, struct plan_node, nodes);
    plan->link = SCRATCH_NEW(loader, struct plan_link, plan->links);
    if (!plan->node || !plan->link) return false;
    for (uint64_t n = 0; n < nodes; n++)
        plan->node[n].pod = FABRIC_NONE;
    return true;
}

void plan_link(struct plan *plan, uint32_t a, uint32_t b, const struct link_class *as)
{
    CHECK(plan->linked < plan->links);
    plan->link[plan->linked++] =
        (struct plan_link){.a = a, .b = b, .a_port = FABRIC_NONE, .b_port = FABRIC_NONE, .as = *as, .at = plan->at};
}

/* Names, roles, pods; ports come later. */
static bool make_nodes(struct loader *loader, const struct plan *plan)
{
    static const char *const prefix[FABRIC_ROLES] = {
#define X(id, name, prefix) prefix,
        FABRIC_ROLE_LIST(X)
#undef X
    };
    struct fabric *fabric = loader->fabric;
    uint32_t nodes = (uint32_t)plan_nodes(plan), n = 0;
    struct fabric_node *node = KEEP_NEW(loader, struct fabric_node, nodes);

    if (!node) return false;
    for (int role = 0; role < FABRIC_ROLES; role++) {
        for (uint64_t i = 0; i < plan->count[role]; i++, n++) {
            char made[32];
            const char *name = plan->node[n].name;

            if (!name) snprintf(made, sizeof(made), "%s%u", prefix[role], (unsigned)i);
            if (!name) name = made;
            size_t length = strlen(name), digits = strspn(name + strcspn(name, "0123456789"), "0123456789");
            uint64_t number = i;
            if (digits && name[strcspn(name, "0123456789") + digits] == 0)
                if (!read_decimal(name + length - digits, &number) || number > UINT32_MAX) number = i;
            node[n] = (struct fabric_node){
                .name = arena_strndup(loader->keep, name, length),
                .kind = role == FABRIC_ROLE_HOST ? FABRIC_HOST : FABRIC_SWITCH,
                .role = (uint8_t)role,
                .gpus = plan->node[n].gpus,
                .pod = plan->node[n].pod,
                .number = (uint32_t)number,
            };
            if (!node[n].name) loader->no_memory = true;
        }
    }
    fabric->node = loader->node = node;
    fabric->nodes = nodes;
    fabric->hosts = (uint32_t)plan->count[FABRIC_ROLE_HOST];
    fabric->switches = nodes - fabric->hosts;
    fabric->storage_hosts = (uint32_t)plan->storage_hosts;
    fabric->operations.oversubscribed = plan->oversubscribed;
    return !loader->no_memory;
}

/* Room for a node's ports: the largest number that is named, and those that are not. */
static bool port_room(struct loader *loader, const struct plan *plan, uint32_t *first)
{
    uint32_t nodes = loader->fabric->nodes, total = 0;
    uint32_t *named = SCRATCH_NEW(loader, uint32_t, nodes); /* highest + 1 */

    if (!named) return false;
    for (uint64_t l = 0; l < plan->links; l++) {
        const struct plan_link *link = &plan->link[l];
        uint32_t end[2] = {link->a, link->b}, port[2] = {link->a_port, link->b_port};
        for (int e = 0; e < 2; e++) {
            if (port[e] == FABRIC_NONE)
                first[end[e]]++;
            else if (port[e] >= named[end[e]])
                named[end[e]] = port[e] + 1;
        }
    }
    for (uint32_t n = 0; n < nodes; n++) {
        uint32_t room = first[n] + named[n];
        if (room > NODE_PORTS_MAX) {
            read_error(loader, plan->at, "topology: '%s' would have %u ports; a node has %d at most",
                       loader->fabric->node[n].name, room, NODE_PORTS_MAX);
            return false;
        }
        first[n] = total;
        total += room;
    }
    first[nodes] = total;
    return true;
}

/* Puts link l's end on a port of the node; -1 when that is taken. */
static int64_t take_port(uint32_t *owner, uint32_t room, uint32_t wanted, uint32_t *next, uint32_t mark)
{
    if (wanted != FABRIC_NONE) {
        if (owner[wanted]) return -1;
        owner[wanted] = mark;
        return wanted;
    }
    while (*next < room && owner[*next])
        ++*next;
    CHECK(*next < room);
    owner[*next] = mark;
    return (int64_t)(*next)++;
}

static bool number_ports(struct loader *loader, struct plan *plan, const uint32_t *first, uint32_t *owner)
{
    uint32_t *next = SCRATCH_NEW(loader, uint32_t, loader->fabric->nodes);

    if (!next) return false;
    /* Ports that the file names, then the others. */
    for (int named = 1; named >= 0; named--) {
        for (uint64_t l = 0; l < plan->links; l++) {
            struct plan_link *link = &plan->link[l];
            for (int e = 0; e < 2; e++) {
                uint32_t node = e ? link->b : link->a, *port = e ? &link->b_port : &link->a_port;
                if ((*port != FABRIC_NONE) != named) continue;
                int64_t got = take_port(owner + first[node], first[node + 1] - first[node], *port, &next[node],
                                        (uint32_t)(l * 2 + (uint32_t)e + 1));
                if (got < 0) {
                    read_error(loader, link->at, "port %s:%u is used twice, first by the link in line %u",
                               loader->fabric->node[node].name, *port,
                               plan->link[(owner[first[node] + *port] - 1) / 2].at.line);
                    return false;
                }
            }
        }
    }
    return true;
}

/* port[] from who owns which number. */
static bool make_ports(struct loader *loader, const struct plan *plan, const uint32_t *first, const uint32_t *owner)
{
    struct fabric *fabric = loader->fabric;
    struct fabric_node *node = loader->node;
    uint32_t *where = SCRATCH_NEW(loader, uint32_t, plan->links * 2); /* link end -> port */
    uint32_t total = 0;

    if (!where) return false;
    for (uint32_t n = 0; n < fabric->nodes; n++) {
        uint32_t ports = first[n + 1] - first[n];
        while (ports && !owner[first[n] + ports - 1])
            ports--;
        node[n].ports = (uint16_t)ports;
        node[n].first_port = total;
        total += ports;
    }
    struct fabric_port *port = KEEP_NEW(loader, struct fabric_port, total);
    if (!port) return false;
    for (uint32_t n = 0, p = 0; n < fabric->nodes; n++) {
        for (uint32_t i = 0; i < node[n].ports; i++, p++) {
            port[p] = (struct fabric_port){.node = n, .peer = FABRIC_NONE, .index = (uint16_t)i};
            if (owner[first[n] + i]) where[owner[first[n] + i] - 1] = p;
        }
    }
    for (uint64_t l = 0; l < plan->links; l++) {
        const struct plan_link *link = &plan->link[l];
        for (int e = 0; e < 2; e++) {
            struct fabric_port *end = &port[where[l * 2 + (uint64_t)e]];
            end->peer = where[l * 2 + (uint64_t)!e];
            end->rate_bps = link->as.rate_bps;
            end->cable_mm = link_cable_mm(&link->as);
            end->propagation_ps = link_propagation_ps(&link->as);
            end->error_ppm = link->as.error_ppm;
            end->llr = link->as.llr == LLR_NOT_GIVEN ? fabric->llr.on : link->as.llr;
            end->up = true;
            end->cable_known = link->as.said;
        }
    }
    if (strcmp(plan->kind, "links") == 0) {
        struct fabric_at *at = KEEP_NEW(loader, struct fabric_at, total);
        if (!at) return false;
        for (uint64_t l = 0; l < plan->links; l++)
            at[where[l * 2]] = at[where[l * 2 + 1]] = plan->link[l].at;
        fabric->operations.link_at = at;
    }
    fabric->port = loader->port = port;
    fabric->ports = total;
    return true;
}

static bool make_endpoints(struct loader *loader, const struct plan *plan)
{
    struct fabric *fabric = loader->fabric;
    struct fabric_node *node = loader->node;
    uint32_t endpoints = fabric->hosts < fabric->nodes ? node[fabric->hosts].first_port : fabric->ports;
    struct fabric_endpoint *endpoint = KEEP_NEW(loader, struct fabric_endpoint, endpoints);
    uint32_t *first = KEEP_NEW(loader, uint32_t, (size_t)fabric->hosts + 1);

    if (!endpoint || !first) return false;
    for (uint32_t h = 0; h < fabric->hosts; h++) {
        first[h] = node[h].first_port;
        if (node[h].gpus == 0) node[h].gpus = node[h].ports;
        if (node[h].gpus == PLAN_NO_GPUS) node[h].gpus = 0;
        node[h].gpu_ports = plan->node[h].gpu_ports ? plan->node[h].gpu_ports : node[h].ports;
        for (uint32_t i = 0; i < node[h].ports; i++) {
            uint32_t e = first[h] + i, address = 0x0a000001u + e;
            if (fabric->port[e].peer == FABRIC_NONE) {
                read_error(loader, plan->at, "topology: port %s:%u of a host is not cabled", node[h].name, i);
                return false;
            }
            if (fabric->behaviour == FABRIC_HPCC_NS3)
                address = 0x0b000001u + (node[h].number / 256 << 16) + (node[h].number % 256 << 8);
            endpoint[e] = (struct fabric_endpoint){.host = h, .port = e, .index = (uint16_t)i};
            for (int b = 0; b < 4; b++)
                endpoint[e].address[b] = (uint8_t)(address >> (24 - 8 * b));
        }
    }
    first[fabric->hosts] = endpoints;
    fabric->endpoint = loader->endpoint = endpoint;
    fabric->endpoints = endpoints;
    fabric->first_endpoint = first;
    if (endpoints) return true;
    read_error(loader, plan->at, "topology: no host is cabled");
    return false;
}

/* GPUs share out the adapters of their host evenly and in order: GPU g of G is next to adapter g * N / G of N. */
static bool make_gpus(struct loader *loader)
{
    struct fabric *fabric = loader->fabric;
    uint32_t *first = KEEP_NEW(loader, uint32_t, (size_t)fabric->hosts + 1), gpus = 0;

    if (!first) return false;
    for (uint32_t h = 0; h < fabric->hosts; h++) {
        first[h] = gpus;
        gpus += fabric->node[h].gpus;
    }
    first[fabric->hosts] = gpus;
    uint32_t *nic = KEEP_NEW(loader, uint32_t, gpus), *host = KEEP_NEW(loader, uint32_t, gpus);
    if (!nic || !host) return false;
    for (uint32_t h = 0; h < fabric->hosts; h++) {
        const struct fabric_node *node = &fabric->node[h];
        for (uint32_t g = 0; g < node->gpus; g++) {
            host[first[h] + g] = h;
            nic[first[h] + g] = node->gpu_ports ? node->first_port + g * node->gpu_ports / node->gpus : FABRIC_NONE;
        }
    }
    fabric->gpus = gpus;
    fabric->first_gpu = first;
    fabric->gpu_nic = nic;
    fabric->gpu_host = host;
    return true;
}

uint32_t fabric_gpu_nics(const struct fabric *fabric, uint32_t gpu)
{
    const struct fabric_node *node = &fabric->node[fabric->gpu_host[gpu]];
    uint32_t g = gpu - fabric->first_gpu[fabric->gpu_host[gpu]], ports = node->gpu_ports;
    uint32_t many = (g + 1) * ports / node->gpus - g * ports / node->gpus;

    return many || !ports ? many : 1;
}

static bool plan_finish(struct loader *loader, struct plan *plan)
{
    if (!make_nodes(loader, plan)) return false;
    uint32_t *first = SCRATCH_NEW(loader, uint32_t, (size_t)loader->fabric->nodes + 1);
    if (!first || !port_room(loader, plan, first)) return false;
    uint32_t *owner = SCRATCH_NEW(loader, uint32_t, first[loader->fabric->nodes]); /* link * 2 + end + 1 */
    return owner && number_ports(loader, plan, first, owner) && make_ports(loader, plan, first, owner) &&
           make_endpoints(loader, plan) && make_gpus(loader) && tiers_find(loader, plan) && names_build(loader);
}

static bool read_link_class(struct loader *loader, const struct tree *value, const char *what, struct link_class *as)
{
    struct field_set set = {link_fields, link_field_count, as};

    return read_map(loader, value, what, &set, 1) && link_check(loader, as, value->at);
}

#define LINK_CLASS(id, member)                                                                                         \
    static void read_class_##id(struct loader *loader, const struct tree *value, void *into)                           \
    {                                                                                                                  \
        read_link_class(loader, value, "links." #id, &((struct plan *)into)->member);                                  \
    }
LINK_CLASS(host, host)
LINK_CLASS(fabric, fabric)
LINK_CLASS(core, core)
LINK_CLASS(site, site)
LINK_CLASS(storage, storage_link)

/* Between GPUs of a host: no cable of the fabric, and nothing queues there. */
static void read_gpu_links(struct loader *loader, const struct tree *value, void *into)
{
    (void)into;
    gpu_links_read(loader, value);
}

/* links: what is not said of fabric links is as of hosts' (rate, delay), or 30 m. */
static bool read_link_classes(struct loader *loader, struct plan *plan, bool rate_needed)
{
    static const struct field fields[] = {F_CALL("host", read_class_host),       F_CALL("fabric", read_class_fabric),
                                          F_CALL("core", read_class_core),       F_CALL("site", read_class_site),
                                          F_CALL("storage", read_class_storage), F_CALL("gpu", read_gpu_links)};
    const struct tree *links = loader->part[PART_LINKS];
    struct field_set set = {fields, COUNT_OF(fields), plan};
    const struct link_class empty = LINK_NOT_GIVEN;
    struct link_class host = {NOT_GIVEN, 3000, NOT_GIVEN, 0, false, LLR_NOT_GIVEN};
    struct link_class fabric = {NOT_GIVEN, 30000, NOT_GIVEN, 0, false, LLR_NOT_GIVEN};

    plan->host = plan->fabric = plan->core = plan->site = plan->storage_link = empty;
    if (links && !read_map(loader, links, "links", &set, 1)) return false;
    if (plan->host.rate_bps == NOT_GIVEN) plan->host.rate_bps = plan->fabric.rate_bps;
    if (rate_needed && plan->host.rate_bps == NOT_GIVEN) {
        read_error(loader, links ? links->at : plan->at,
                   "links: no rate; write it, as in links: {host: {rate: 400G, cable: 3m}}");
        return false;
    }
    host = link_over(&host, &plan->host);
    fabric.rate_bps = host.rate_bps;
    if (plan->host.delay_ps != NOT_GIVEN) { /* idealised links are alike */
        fabric.cable_mm = NOT_GIVEN;
        fabric.delay_ps = plan->host.delay_ps;
        fabric.said = true;
    }
    fabric = link_over(&fabric, &plan->fabric);
    plan->core = link_over(&fabric, &plan->core);
    plan->site_length_given = plan->site.cable_mm != NOT_GIVEN || plan->site.delay_ps != NOT_GIVEN;
    plan->site = link_over(&fabric, &plan->site);
    plan->storage_link = link_over(&host, &plan->storage_link);
    plan->host = host;
    plan->fabric = fabric;
    return true;
}

#define KINDS "single, dumbbell, leaf-spine, rail, fat-tree, links"
struct builder {
    const char *name;
    bool (*build)(struct loader *, const struct tree *, struct plan *);
};

/* Links of a kind that the topology has not would be read and forgotten. */
static void links_used(struct loader *loader, const struct builder *builder, const struct tree *map,
                       const struct tree *storage)
{
    const struct {
        const char *key, *why;
        bool used;
    } kinds[] = {{"core", "this topology has no cores", builder->build == build_fat_tree || tree_get(map, "cores")},
                 {"site", "there is one site; write sites: 2", tree_get(map, "sites") != NULL},
                 {"storage", "there is no storage network in topology", storage != NULL}};
    const struct tree *links = loader->part[PART_LINKS];

    for (uint32_t i = 0; i < COUNT_OF(kinds); i++) {
        const struct tree *written = tree_get(links, kinds[i].key);
        if (!written || kinds[i].used) continue;
        read_error(loader, written->key_at, "links.%s: %s", kinds[i].key, kinds[i].why);
    }
}

/* Links, the storage network's counts, the nodes, the rest. */
static bool build(struct loader *loader, const struct builder *builder, const struct tree *map,
                  const struct tree *storage)
{
    struct plan plan = {.at = map->key_at, .kind = builder->name};
    bool links = read_link_classes(loader, &plan, builder->build != build_explicit);
    links_used(loader, builder, map, storage);
    plan.rates_known = links;
    if (!links) { /* go on, to say what else is wrong */
        const struct link_class any = {1000000000, 1000, NOT_GIVEN, 0, false, LLR_NOT_GIVEN};
        plan.host = plan.fabric = plan.core = plan.site = plan.storage_link = any;
    }
    if (storage && builder->build == build_explicit) {
        read_error(loader, storage->key_at, "storage: with links written out, write those of storage too");
        return false;
    }
    if (storage && !storage_read(loader, storage, &plan)) return false;
    return builder->build(loader, map, &plan) && (!storage || storage_build(loader, &plan)) &&
           plan_finish(loader, &plan);
}

static const struct builder builders[] = {{"single", build_single},         {"dumbbell", build_dumbbell},
                                          {"leaf-spine", build_leaf_spine}, {"rail", build_rail},
                                          {"fat-tree", build_fat_tree},     {"links", build_explicit}};

static const struct builder *builder_of(const char *name)
{
    for (uint32_t i = 0; i < COUNT_OF(builders); i++)
        if (strcmp(builders[i].name, name) == 0) return &builders[i];
    return NULL;
}

static void unknown(struct loader *loader, const struct tree *map)
{
    struct nearest nearest;

    nearest_init(&nearest, map->key);
    for (uint32_t i = 0; i < COUNT_OF(builders); i++)
        nearest_try(&nearest, builders[i].name);
    if (nearest.word)
        read_error(loader, map->key_at, "unknown key '%s' in topology; did you mean '%s'?", map->key, nearest.word);
    else
        read_error(loader, map->key_at, "unknown key '%s' in topology; known are " KINDS, map->key);
}

bool topology_load(struct loader *loader)
{
    const struct tree *topology = loader->part[PART_TOPOLOGY], *map = NULL;

    if (!topology) {
        if (loader->errors->count) return false; /* it may be there, mistyped */
        read_error(loader, loader->root->at, "no topology; write one, as in topology: {single: {hosts: 16}}");
        return false;
    }
    if (!read_is_map(loader, topology, "topology")) return false;
    const struct tree *storage = tree_get(topology, "storage");
    for (const struct tree *item = topology->first; item; item = item->next) {
        if (item == storage) continue;
        if (!builder_of(item->key)) {
            unknown(loader, item);
            return false;
        }
        if (map) {
            read_error(loader, item->key_at, "topology: exactly one of " KINDS " is expected");
            return false;
        }
        map = item;
    }
    if (!map) {
        read_error(loader, topology->at, "topology: exactly one of " KINDS " is expected");
        return false;
    }
    return build(loader, builder_of(map->key), map, storage);
}
