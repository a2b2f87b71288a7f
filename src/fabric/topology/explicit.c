/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The topology written out: nodes by name or number, links one by one.
 *
 *     topology:
 *       links:
 *         hosts: [a, b, c]          # or a number: h0, h1, ...
 *         switches: 2               # sw0, sw1; also leaves, spines, cores
 *         links:
 *           - [a, sw0]
 *           - [b, sw0:7, 100G, 3m]  # port, rate, cable (or a time: the delay)
 *           - {a: sw0, b: sw1, rate: 400G, count: 4}
 */
#include "fabric/topology/topology.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"

#define PORT_NUMBER_MAX 4095
#define NAME_MAX_BYTES 64

struct explicit
{
    struct plan *plan;
    const struct tree *list[FABRIC_ROLES]; /* of names, or a number */
    uint64_t gpus;
    const struct tree *links;
    uint32_t *slot; /* name -> node + 1 */
    uint32_t slots;
    char(*made)[16]; /* names of counted nodes */
};

#define NODES(id, key)                                                                                                 \
    static void read_##id(struct loader *loader, const struct tree *value, void *into)                                 \
    {                                                                                                                  \
        struct explicit *ex = into;                                                                                    \
        uint64_t count = 0;                                                                                            \
        if (value->type == TREE_LIST)                                                                                  \
            count = value->count;                                                                                      \
        else if (!read_unit(loader, value, UNIT_COUNT, 0, 1000000000000ull, &count))                                   \
            return;                                                                                                    \
        ex->list[FABRIC_ROLE_##key] = value;                                                                           \
        ex->plan->count[FABRIC_ROLE_##key] = count;                                                                    \
    }
NODES(hosts, HOST)
NODES(leaves, LEAF)
NODES(spines, SPINE)
NODES(cores, CORE)
NODES(switches, SWITCH)

static void read_links(struct loader *loader, const struct tree *value, void *into)
{
    struct explicit *ex = into;
    if (read_is_list(loader, value, "links")) ex->links = value;
}

/* The slot that holds the name, or the free one where it belongs. */
static uint32_t *find_slot(const struct explicit *ex, const char *name, size_t length)
{
    uint32_t at = names_hash(name, length) & (ex->slots - 1);

    while (ex->slot[at]) {
        const char *other = ex->plan->node[ex->slot[at] - 1].name;
        if (strncmp(other, name, length) == 0 && other[length] == 0) break;
        at = (at + 1) & (ex->slots - 1);
    }
    return &ex->slot[at];
}

static bool good_name(const char *name)
{
    size_t length = strlen(name);

    if (length == 0 || length > NAME_MAX_BYTES || name[0] == '.' || name[0] == '-') return false;
    for (const char *c = name; *c; c++)
        if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || strchr("-_.", *c)))
            return false;
    return true;
}

static void add_name(struct loader *loader, struct explicit *ex, const char *name, uint32_t node, struct fabric_at at)
{
    if (!good_name(name)) {
        read_error(loader, at,
                   "'%.64s' is not a name: letters, digits, - _ and . only, %d at most, and neither - nor . first",
                   name, NAME_MAX_BYTES);
        return;
    }
    uint32_t *slot = find_slot(ex, name, strlen(name));
    if (*slot) {
        read_error(loader, at, "two nodes are named '%s'", name);
        return;
    }
    ex->plan->node[node].name = name;
    *slot = node + 1;
}

static void name_role(struct loader *loader, struct explicit *ex, enum fabric_role role)
{
    static const char *const prefix[FABRIC_ROLES] = {
#define X(id, name, prefix) prefix,
        FABRIC_ROLE_LIST(X)
#undef X
    };
    const struct tree *list = ex->list[role];
    uint32_t node = plan_first(ex->plan, role);

    if (!list) return;
    if (list->type != TREE_LIST) {
        for (uint64_t i = 0; i < ex->plan->count[role]; i++, node++) {
            snprintf(ex->made[node], sizeof(ex->made[node]), "%s%u", prefix[role], (unsigned)i);
            add_name(loader, ex, ex->made[node], node, list->at);
        }
        return;
    }
    for (const struct tree *item = list->first; item; item = item->next, node++) {
        if (item->type != TREE_SCALAR)
            read_error(loader, item->at, "a name is expected here");
        else
            add_name(loader, ex, item->text, node, item->at);
    }
}

static bool name_nodes(struct loader *loader, struct explicit *ex)
{
    uint32_t before = loader->errors->count + loader->errors->more;
    uint64_t nodes = plan_first(ex->plan, FABRIC_ROLES);

    ex->slots = 16;
    while (ex->slots < nodes * 2)
        ex->slots *= 2;
    ex->slot = SCRATCH_NEW(loader, uint32_t, ex->slots);
    ex->made = read_alloc(loader, &loader->scratch, nodes, sizeof(*ex->made));
    if (!ex->slot || !ex->made) return false;
    for (int role = 0; role < FABRIC_ROLES; role++)
        name_role(loader, ex, (enum fabric_role)role);
    return loader->errors->count + loader->errors->more == before;
}

/* `leaf0` or `leaf0:3`. */
static bool read_end(struct loader *loader, const struct explicit *ex, const struct tree *value, uint32_t *ret_node,
                     uint32_t *ret_port)
{
    char found[TREE_FOUND];
    struct nearest nearest;
    uint64_t port = FABRIC_NONE;

    if (value->type != TREE_SCALAR || !value->text[0]) {
        read_error(loader, value->at, "link: found %s where a node, as in h0 or leaf0:3, is expected",
                   tree_found(value, found));
        return false;
    }
    const char *colon = strrchr(value->text, ':');
    size_t length = colon ? (size_t)(colon - value->text) : strlen(value->text);
    if (colon && (!read_decimal(colon + 1, &port) || port > PORT_NUMBER_MAX)) {
        read_error(loader, value->at, "'%s': a port is a number from 0 to %d, as in leaf0:3", value->text,
                   PORT_NUMBER_MAX);
        return false;
    }
    uint32_t node = *find_slot(ex, value->text, length);
    if (node) {
        *ret_node = node - 1;
        *ret_port = (uint32_t)port;
        return true;
    }
    char *wrong = arena_strndup(&loader->scratch, value->text, length);
    nearest_init(&nearest, wrong ? wrong : "");
    for (uint32_t i = 0; i < plan_first(ex->plan, FABRIC_ROLES) && i < 4096; i++)
        nearest_try(&nearest, ex->plan->node[i].name);
    if (nearest.word)
        read_error(loader, value->at, "no node is named '%.*s'; did you mean '%s'?", (int)length, value->text,
                   nearest.word);
    else
        read_error(loader, value->at, "no node is named '%.*s'; name it under hosts, leaves, spines, cores or switches",
                   (int)length, value->text);
    return false;
}

/* A list's further values say what they are by their unit; each is held to the bounds of the key it stands for. */
static bool read_extra(struct loader *loader, const struct tree *value, struct link_class *as)
{
    static const struct {
        enum unit_kind unit;
        const char *key;
    } kinds[] = {{UNIT_RATE, "rate"}, {UNIT_LENGTH, "cable"}, {UNIT_TIME, "delay"}};
    struct field_set set = {link_fields, link_field_count, as};
    struct tree pair = *value, map = {.type = TREE_MAP, .at = value->at, .count = 1, .first = &pair, .last = &pair};
    char found[TREE_FOUND];
    uint64_t got;

    pair.next = NULL;
    for (uint32_t i = 0; value->type == TREE_SCALAR && i < COUNT_OF(kinds); i++) {
        if (unit_parse(kinds[i].unit, value->text, &got, NULL) != 0) continue;
        pair.key = kinds[i].key;
        return read_map(loader, &map, "link", &set, 1);
    }
    read_error(loader, value->at, "link: %s is neither a rate (400G) nor a cable (3m) nor a delay (1us)",
               tree_found(value, found));
    return false;
}

struct ends {
    const struct tree *a, *b;
    uint64_t count;
};
static void read_a(struct loader *loader, const struct tree *value, void *into)
{
    (void)loader;
    ((struct ends *)into)->a = value;
}
static void read_b(struct loader *loader, const struct tree *value, void *into)
{
    (void)loader;
    ((struct ends *)into)->b = value;
}

static bool read_link_map(struct loader *loader, const struct tree *item, struct ends *ends, struct link_class *as)
{
    static const struct field fields[] = {F_CALL("a", read_a), F_CALL("b", read_b),
                                          F_VALUE("count", FIELD_COUNT, struct ends, count, 1, 4096)};
    struct field_set sets[] = {{fields, COUNT_OF(fields), ends}, {link_fields, link_field_count, as}};

    if (!read_map(loader, item, "link", sets, 2)) return false;
    if (ends->a && ends->b) return true;
    read_error(loader, item->at, "a link needs its two ends, as in {a: h0, b: leaf0}");
    return false;
}

static bool is_core(const struct plan *plan, uint32_t node)
{
    uint32_t first = plan_first(plan, FABRIC_ROLE_CORE);

    return node >= first && node < first + plan->count[FABRIC_ROLE_CORE];
}

static bool read_link(struct loader *loader, const struct explicit *ex, const struct tree *item, struct plan_link *link,
                      uint64_t *ret_count)
{
    struct ends ends = {.count = 1};
    struct link_class over = LINK_NOT_GIVEN;
    const struct plan *plan = ex->plan;

    if (item->type == TREE_MAP) {
        if (!read_link_map(loader, item, &ends, &over)) return false;
    } else if (item->type == TREE_LIST && item->count >= 2) {
        ends.a = item->first;
        ends.b = item->first->next;
        for (const struct tree *extra = ends.b->next; extra; extra = extra->next)
            if (!read_extra(loader, extra, &over)) return false;
    } else {
        read_error(loader, item->at, "a link is [a, b] or [a, b, rate, cable], as in [h0, leaf0:3, 400G, 3m]");
        return false;
    }
    if (!read_end(loader, ex, ends.a, &link->a, &link->a_port) ||
        !read_end(loader, ex, ends.b, &link->b, &link->b_port))
        return false;
    if (link->a == link->b) {
        read_error(loader, item->at, "a link from '%s' to itself", plan->node[link->a].name);
        return false;
    }
    if (ends.count > 1 && (link->a_port != FABRIC_NONE || link->b_port != FABRIC_NONE)) {
        read_error(loader, item->at, "count: several links cannot share one port; leave the port numbers out");
        return false;
    }
    bool host = link->a < plan->count[FABRIC_ROLE_HOST] || link->b < plan->count[FABRIC_ROLE_HOST];
    if (!link_check(loader, &over, item->at)) return false;
    bool core = is_core(plan, link->a) || is_core(plan, link->b);
    link->as = link_over(host ? &plan->host : core ? &plan->core : &plan->fabric, &over);
    link->at = item->at;
    if (link->as.rate_bps == NOT_GIVEN) {
        read_error(loader, item->at, "this link has no rate: write it here or under links.%s",
                   host ? "host" : "fabric");
        return false;
    }
    *ret_count = ends.count;
    return true;
}

/* Links by the list, those with a count multiplied; false when the total passes what was allowed. */
static bool add_links(struct loader *loader, struct explicit *ex)
{
    struct plan *plan = ex->plan;
    uint32_t before = loader->errors->count + loader->errors->more;

    for (const struct tree *item = ex->links->first; item; item = item->next) {
        struct plan_link link = {0};
        uint64_t count = 1;
        if (!read_link(loader, ex, item, &link, &count)) continue;
        for (uint64_t i = 0; i < count; i++)
            plan->link[plan->linked++] = link;
    }
    plan->links = plan->linked;
    return loader->errors->count + loader->errors->more == before;
}

static uint64_t count_links(const struct tree *links)
{
    uint64_t total = 0;

    for (const struct tree *item = links->first; item; item = item->next) {
        const struct tree *count = tree_get(item, "count");
        uint64_t times = 1;
        if (count && count->type == TREE_SCALAR) unit_parse(UNIT_COUNT, count->text, &times, NULL);
        total += times > 4096 ? 4096 : times ? times : 1;
    }
    return total;
}

/* A leaf and its hosts are a pod: where explicit links put them, they talk most. */
static void find_pods(struct plan *plan)
{
    uint32_t hosts = (uint32_t)plan->count[FABRIC_ROLE_HOST];

    for (uint64_t l = 0; l < plan->linked; l++) {
        uint32_t host = plan->link[l].a, edge = plan->link[l].b;
        if (edge < hosts) {
            host = plan->link[l].b;
            edge = plan->link[l].a;
        }
        if (host >= hosts || edge < hosts || plan->node[host].pod != FABRIC_NONE) continue;
        if (plan->node[edge].pod == FABRIC_NONE) plan->node[edge].pod = edge - hosts;
        plan->node[host].pod = plan->node[edge].pod;
    }
}

bool build_explicit(struct loader *loader, const struct tree *map, struct plan *plan)
{
    static const struct field fields[] = {F_CALL("hosts", read_hosts),
                                          F_CALL("leaves", read_leaves),
                                          F_CALL("spines", read_spines),
                                          F_CALL("cores", read_cores),
                                          F_CALL("switches", read_switches),
                                          F_CALL("links", read_links),
                                          F_VALUE("gpus", FIELD_COUNT, struct explicit, gpus, 1, 256)};
    struct explicit ex = {.plan = plan};
    struct field_set set = {fields, COUNT_OF(fields), &ex};

    if (!read_map(loader, map, "topology.links", &set, 1)) return false;
    if (!ex.links || !ex.list[FABRIC_ROLE_HOST]) {
        read_error(loader, map->at,
                   "topology.links needs hosts and links, as in {hosts: 2, switches: 1, links: "
                   "[[h0, sw0], [h1, sw0]]}");
        return false;
    }
    plan->links = count_links(ex.links);
    if (!plan_allocate(loader, plan)) return false;
    if (!name_nodes(loader, &ex) || !add_links(loader, &ex)) return false;
    find_pods(plan);
    for (uint64_t h = 0; h < plan->count[FABRIC_ROLE_HOST]; h++)
        plan->node[h].gpus = (uint16_t)ex.gpus;
    return true;
}
