/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a switch spreads flows over next hops, and how it keeps packets: the keys `balance`, `ecmp` and `architecture`.
 *
 * `balance` is a word, or {use: WORD, ...} with parameters; without `use` a layer keeps what is below it.  Pins name
 * endpoints and ports, so they are read when the topology is known, and judged when routes are: a pin that leads
 * away from its destination would be passed over by the switch, which nobody means.
 */
#include <string.h>

#include "fabric/fabric.h"
#include "fabric/qos/settings.h"
#include "fabric/topology/topology.h"

static const char *const kinds[] = {"ecmp", "flowlet", "adaptive", "spray", "pin", NULL};

static void read_pins(struct loader *loader, const struct tree *value, void *into)
{
    if (read_is_list(loader, value, "pins")) ((struct switch_raw *)into)->pins = value;
}

static void read_table(struct loader *loader, const struct tree *value, void *into)
{
    struct switch_raw *sw = into;
    uint64_t entries;

    if (!read_unit(loader, value, UNIT_COUNT, 1, 1u << 20, &entries)) return;
    if (entries & (entries - 1))
        read_error(loader, value->at, "table: %llu is no power of two, as the tables of chips are",
                   (unsigned long long)entries);
    else
        sw->balance.table = (uint32_t)entries;
}

void balance_read(struct loader *loader, const struct tree *value, void *into)
{
    static const char *const orders[] = {"random", "round-robin", NULL};
    static const char *const pers[] = {"packet", "flowlet", NULL};
    static const char *const bys[] = {"dst", "src", "hash", NULL};
    static const struct field fields[] = {
        F_CHOICE("use", struct switch_raw, balance.kind, kinds),
        F_VALUE("gap", FIELD_TIME, struct switch_raw, balance.gap_ps, 1, PS_S),
        F_CALL("table", read_table),
        F_CHOICE("order", struct switch_raw, balance.round_robin, orders),
        F_CHOICE("per", struct switch_raw, balance.by_flowlet, pers),
        F_VALUE("quantum", FIELD_SIZE, struct switch_raw, balance.quantum_bytes, 1, UINT32_MAX),
        F_VALUE("hysteresis", FIELD_COUNT, struct switch_raw, balance.hysteresis, 0, 7),
        F_CHOICE("by", struct switch_raw, balance.pin_by, bys),
        F_CALL("pins", read_pins),
    };
    struct switch_raw *sw = into;
    uint32_t choice;

    if (value->type == TREE_SCALAR) {
        if (read_choice(loader, value, kinds, &choice)) sw->balance.kind = (uint8_t)choice;
        return;
    }
    struct field_set set = {fields, COUNT_OF(fields), sw};
    read_map(loader, value, "balance", &set, 1);
}

void balance_defaults(const struct fabric *fabric, struct switch_raw *sw)
{
    bool credits = fabric_system(fabric)->link == FABRIC_LINK_CREDITS; /* levels of queues in blocks: 20, 40, 80 */

    sw->balance = (struct fabric_balance){.kind = fabric_system(fabric)->balance,
                                          .gap_ps = 50 * PS_US,
                                          .table = 4096,
                                          .quantum_bytes = credits ? 20 * 64 : 8192};
    sw->voq = (struct sw_voq_config){.credit_bytes = 4096};
}

void hash_seed_read(struct loader *loader, const struct tree *value, void *into)
{
    struct switch_raw *sw = into;

    if (value->type == TREE_SCALAR && strcmp(value->text, "per-switch") == 0)
        sw->hash_seed = NOT_GIVEN;
    else if (value->type == TREE_SCALAR && strcmp(value->text, "per-tier") == 0)
        sw->hash_seed = SEED_PER_TIER;
    else if (value->type == TREE_SCALAR && value->text[strspn(value->text, "0123456789")])
        read_error(loader, value->at, "seed: '%s' is neither per-switch, per-tier nor a number", value->text);
    else
        read_unit(loader, value, UNIT_COUNT, 0, SEED_PER_TIER - 1, &sw->hash_seed);
}

uint64_t hash_seed_of(const struct fabric *fabric, const struct switch_raw *raw, uint32_t index)
{
    const struct fabric_node *node = &fabric->node[fabric->hosts + index];
    uint64_t which = raw->hash_seed == SEED_PER_TIER ? UINT64_C(1) << 32 | node->role : index + 1u;

    if (raw->hash_seed < SEED_PER_TIER) return raw->hash_seed;
    if (raw->hash_seed == NOT_GIVEN && fabric->behaviour == FABRIC_HPCC_NS3) return node->number;
    return (fabric->seed + 1) * 0x9e3779b97f4a7c15ull + which * 0xbf58476d1ce4e5b9ull;
}

static const char *const architectures[] = {"shared", "voq", NULL};

void architecture_read(struct loader *loader, const struct tree *value, void *into)
{
    static const struct field fields[] = {
        F_CHOICE("use", struct switch_raw, voq.on, architectures),
        F_VALUE("credit", FIELD_SIZE, struct switch_raw, voq.credit_bytes, 64, 1 << 20),
        F_VALUE("on-chip", FIELD_SIZE, struct switch_raw, voq.on_chip_bytes, 1, (uint64_t)1 << 40),
        F_VALUE("deep-rate", FIELD_RATE, struct switch_raw, voq.deep_bps, 1000000, 0),
        F_VALUE("xoff", FIELD_SIZE, struct switch_raw, voq.xoff_bytes, 1, UINT32_MAX),
    };
    struct switch_raw *sw = into;
    uint32_t choice;

    sw->architecture_given = true;
    if (value->type == TREE_SCALAR) {
        if (read_choice(loader, value, architectures, &choice)) sw->voq.on = choice;
        return;
    }
    sw->voq.on = true;
    struct field_set set = {fields, COUNT_OF(fields), sw};
    read_map(loader, value, "architecture", &set, 1);
}

/* Memory on the chip of those models that have more beside it. */
static uint64_t model_on_chip(const struct switch_model *model)
{
    static const struct {
        const char *name;
        uint64_t bytes;
    } deep[] = {{"jericho2", 32000000},    {"jericho2c+", 32000000}, {"jericho3", 64000000},
                {"jericho3-ai", 64000000}, {"qumran3d", 64000000},   {"q200", 108000000}};

    for (uint32_t i = 0; i < COUNT_OF(deep); i++)
        if (strcmp(model->name, deep[i].name) == 0) return deep[i].bytes;
    return 0;
}

struct sw_voq_config voq_of(const struct switch_raw *raw)
{
    struct sw_voq_config voq = raw->voq;
    uint64_t on_chip = model_on_chip(raw->model);

    if (!raw->architecture_given && on_chip) voq.on = true;
    if (!voq.on) return (struct sw_voq_config){0};
    if (!voq.on_chip_bytes) voq.on_chip_bytes = on_chip;
    return voq;
}

struct pin_raw {
    uint32_t src, dst;
    uint64_t qp, port;
};

static void read_pin_end(struct loader *loader, const struct tree *value, uint32_t *ret)
{
    const char *name = NULL;

    if (!read_text(loader, value, &name)) return;
    *ret = fabric_find_endpoint(loader->fabric, name);
    if (*ret == FABRIC_NONE) read_error(loader, value->at, "pins: there is no endpoint '%s'", name);
}

static void read_pin_src(struct loader *loader, const struct tree *value, void *into)
{
    read_pin_end(loader, value, &((struct pin_raw *)into)->src);
}

static void read_pin_dst(struct loader *loader, const struct tree *value, void *into)
{
    read_pin_end(loader, value, &((struct pin_raw *)into)->dst);
}

static bool read_pin(struct loader *loader, const struct tree *item, const struct fabric_node *node, struct sw_pin *ret)
{
    static const struct field fields[] = {
        F_CALL("src", read_pin_src),
        F_CALL("dst", read_pin_dst),
        F_VALUE("qp", FIELD_COUNT, struct pin_raw, qp, 0, 0xffffff),
        F_VALUE("port", FIELD_COUNT, struct pin_raw, port, 0, UINT16_MAX - 1),
    };
    struct pin_raw pin = {FABRIC_NONE, FABRIC_NONE, FABRIC_NONE, NOT_GIVEN};
    struct field_set set = {fields, COUNT_OF(fields), &pin};
    uint32_t before = loader->errors->count + loader->errors->more;

    if (!read_is_map(loader, item, "a pin") || !read_map(loader, item, "pins", &set, 1)) return false;
    if (loader->errors->count + loader->errors->more != before) return false;
    if (pin.dst == FABRIC_NONE || pin.port == NOT_GIVEN) {
        read_error(loader, item->at, "a pin names a dst and a port, as in {src: h0, dst: h5, port: 8}");
        return false;
    }
    if (pin.port >= node->ports) {
        read_error(loader, item->at, "pins: '%s' has no port %llu; its ports are 0 to %u", node->name,
                   (unsigned long long)pin.port, node->ports - 1u);
        return false;
    }
    *ret = (struct sw_pin){pin.src, pin.dst, (uint32_t)pin.qp, (uint16_t)pin.port};
    return true;
}

bool balance_resolve(struct loader *loader, const struct switch_raw *raw, uint32_t index, struct fabric_balance *ret)
{
    const struct fabric_node *node = &loader->fabric->node[loader->fabric->hosts + index];

    *ret = raw->balance;
    if (!raw->pins || raw->balance.kind != SW_PIN || !raw->pins->count) return true;
    if (raw->pins->count > SW_PINS_MAX) {
        read_error(loader, raw->pins->at, "pins: %u of them; a switch takes %u", raw->pins->count, SW_PINS_MAX);
        return false;
    }
    struct sw_pin *pin = KEEP_NEW(loader, struct sw_pin, raw->pins->count);
    struct fabric_at *at = KEEP_NEW(loader, struct fabric_at, raw->pins->count);
    uint32_t pins = 0;
    if (!pin || !at) return false;
    for (const struct tree *item = raw->pins->first; item; item = item->next) {
        at[pins] = item->at;
        if (!read_pin(loader, item, node, &pin[pins++])) return false;
    }
    ret->pin = pin;
    ret->pin_at = at;
    ret->pins = pins;
    return true;
}

/* Is the port a next hop of the switch on its way to the endpoint? */
static bool leads(const struct fabric *fabric, uint32_t index, const struct sw_pin *pin)
{
    const struct fabric_route *route = &fabric->route[index];
    uint32_t edge = fabric->edge_of[pin->dst];

    if (edge == route->own_edge) return fabric->local_port[pin->dst] == pin->port;
    if (edge == FABRIC_NONE || route->group_of[edge] == FABRIC_NO_GROUP) return false;
    const struct sw_group *group = &route->group[route->group_of[edge]];
    for (uint32_t i = 0; i < group->count; i++)
        if (fabric->route_port[group->first + i] == pin->port) return true;
    return false;
}

void balance_check(struct loader *loader)
{
    const struct fabric *fabric = loader->fabric;

    for (uint32_t s = 0; fabric->sw && s < fabric->switches; s++) {
        const struct fabric_balance *balance = &fabric->sw[s].balance;
        for (uint32_t i = 0; i < balance->pins; i++) {
            if (leads(fabric, s, &balance->pin[i])) continue;
            const struct fabric_endpoint *to = &fabric->endpoint[balance->pin[i].dst];
            read_error(loader, balance->pin_at[i], "pins: port %u of '%s' is on no shortest path to '%s'",
                       balance->pin[i].port, fabric->node[fabric->hosts + s].name, fabric->node[to->host].name);
            return;
        }
    }
}
