/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers: all switches (or NICs), a role, a device, a port; each writes over what is below it.
 *
 * A layer is applied to a copy of the profile below, so a device without a layer of its own shares
 * its role's profile, and ports that share profile, rate and cable share their settings: a fabric of
 * 50,000 ports has a handful of them.
 */
#include "fabric/qos/settings.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/wide.h"
#include "fabric/fabric.h"
#include "fabric/qos/headroom.h"
#include "fabric/topology/topology.h"

static const char *const role_names[FABRIC_ROLES + 1] = {
#define X(id, name, prefix) name,
    FABRIC_ROLE_LIST(X)
#undef X
        NULL,
};

struct key { /* ports alike in these share their settings */
    const struct profile *profile;
    uint64_t rate_bps, cable_mm, propagation_ps;
    uint32_t settings;
    bool host, cabled;
};

struct layers {
    struct loader *loader;
    struct profile *switches, *nics; /* all of them */
    struct profile *role[FABRIC_ROLES];
    const struct profile **device; /* [node], NULL: its role's */
    const struct profile **port;   /* [port], NULL: its device's; NULL when no port has a layer */
    struct key *key;               /* hash table */
    uint32_t key_mask, keys;
    struct fabric_settings *settings;
    uint32_t *hash_slot; /* of settings, by content: index + 1 */
    uint32_t slots_mask, count, room;
};

static struct profile *profile_copy(struct layers *layers, const struct profile *from)
{
    struct profile *copy = SCRATCH_NEW(layers->loader, struct profile, 1);
    if (copy) *copy = *from;
    if (copy) copy->nic_index = FABRIC_NONE;
    return copy;
}

static const struct field frame_fields[] = {F_VALUE("mtu", FIELD_BYTES, struct qos, frame_bytes, 576, 65535)};

struct port_layer { /* keys of a port besides QoS */
    struct link_class as;
    uint8_t up;       /* truth; UP_AS_IS: not given */
    const char *name; /* NULL: not given */
};
#define UP_AS_IS 2
static const struct field port_fields[] = {F_VALUE("up", FIELD_BOOL, struct port_layer, up, 0, 0),
                                           F_VALUE("name", FIELD_TEXT, struct port_layer, name, 0, 0)};
static const struct field device_fields[] = {F_IGNORE("ports"), F_IGNORE("installed")};
static const struct field role_fields[] = {F_IGNORE("approved")};

enum layer { LAYER_ALL, LAYER_ROLE, LAYER_DEVICE };

/* Applies a map to a profile of its own; `ports` is read by apply_ports(). */
static struct profile *apply(struct layers *layers, const struct tree *map, const char *what,
                             const struct profile *below, bool host, enum layer layer)
{
    struct profile *profile = profile_copy(layers, below);
    struct field_set sets[6];
    uint32_t count = 0;

    if (!profile) return NULL;
    if (host) {
        sets[count++] = (struct field_set){nic_fields, nic_field_count, &profile->nic};
        sets[count++] = (struct field_set){nic_operation_fields, nic_operation_field_count, &profile->nic};
    } else {
        sets[count++] = (struct field_set){switch_fields, switch_field_count, &profile->sw};
        sets[count++] = (struct field_set){frame_fields, COUNT_OF(frame_fields), &profile->qos};
    }
    sets[count++] = (struct field_set){qos_fields, qos_field_count, &profile->qos};
    if (layer == LAYER_DEVICE) sets[count++] = (struct field_set){device_fields, COUNT_OF(device_fields), NULL};
    if (layer == LAYER_ROLE) sets[count++] = (struct field_set){role_fields, COUNT_OF(role_fields), NULL};
    profile->at = map->at;
    bool good = read_map(layers->loader, map, what, sets, count);
    if (host && layers->loader->judge) layers->loader->judge(&profile->nic, layers->loader->errors);
    if (!good) return profile;
    qos_check(layers->loader, &profile->qos, map->at);
    if (host) nic_check(layers->loader, &profile->nic, map);
    return profile;
}

static bool link_given(const struct link_class *as)
{
    return as->rate_bps != NOT_GIVEN || as->cable_mm != NOT_GIVEN || as->delay_ps != NOT_GIVEN ||
           as->error_ppm != ERRORS_NOT_GIVEN || as->llr != LLR_NOT_GIVEN;
}

/* A link has one rate and one cable: what one end's layer says holds for both. */
static void apply_link(struct loader *loader, uint32_t port, const struct port_layer *layer)
{
    struct fabric_port *ports = loader->port;
    uint32_t ends[2] = {port, ports[port].peer};

    for (int e = 0; e < 2 && ends[1] != FABRIC_NONE; e++) {
        struct fabric_port *end = &ports[ends[e]];
        struct link_class was = {end->rate_bps, end->cable_mm, end->propagation_ps, end->error_ppm, true, end->llr};
        if (layer->as.rate_bps != NOT_GIVEN) end->rate_bps = layer->as.rate_bps;
        if (layer->as.cable_mm != NOT_GIVEN || layer->as.delay_ps != NOT_GIVEN) {
            was = link_over(&was, &layer->as);
            end->cable_mm = link_cable_mm(&was);
            end->propagation_ps = link_propagation_ps(&was);
            end->cable_known = true;
        }
        if (layer->as.error_ppm != ERRORS_NOT_GIVEN) end->error_ppm = layer->as.error_ppm;
        if (layer->as.llr != LLR_NOT_GIVEN) end->llr = layer->as.llr;
        if (layer->up != UP_AS_IS) end->up = layer->up;
    }
}

static void apply_port(struct layers *layers, const struct tree *map, uint32_t port, const struct profile *below)
{
    struct loader *loader = layers->loader;
    bool host = port < loader->fabric->endpoints;
    struct profile *profile = profile_copy(layers, below);
    struct port_layer layer = {LINK_NOT_GIVEN, UP_AS_IS, NULL};
    struct field_set sets[6];
    uint32_t count = 0;

    if (!profile) return;
    if (!layers->port) layers->port = SCRATCH_NEW(loader, const struct profile *, loader->fabric->ports);
    if (!layers->port) return;
    sets[count++] = (struct field_set){qos_fields, qos_field_count, &profile->qos};
    sets[count++] = (struct field_set){link_fields, link_field_count, &layer.as};
    sets[count++] = (struct field_set){port_fields, COUNT_OF(port_fields), &layer};
    if (host) {
        sets[count++] = (struct field_set){nic_fields, nic_field_count, &profile->nic};
        sets[count++] = (struct field_set){nic_operation_fields, nic_operation_field_count, &profile->nic};
    } else {
        sets[count++] = (struct field_set){frame_fields, COUNT_OF(frame_fields), &profile->qos};
    }
    profile->at = map->at;
    if (!read_map(loader, map, "port", sets, count) || !link_check(loader, &layer.as, map->at)) return;
    qos_check(loader, &profile->qos, map->at);
    if (host) nic_check(loader, &profile->nic, map);
    if (host && loader->judge) loader->judge(&profile->nic, loader->errors);
    if (link_given(&layer.as) && loader->fabric->port[port].peer == FABRIC_NONE) {
        read_error(loader, map->at, "port %u of '%s' has no cable: rate, cable, delay, errors and llr are of a link",
                   loader->fabric->port[port].index, loader->fabric->node[loader->fabric->port[port].node].name);
        return;
    }
    apply_link(loader, port, &layer);
    if (layer.name) operations_port_name(loader, port, layer.name);
    layers->port[port] = profile;
}

/* "3" or "0-7". */
static bool port_range(const char *text, uint64_t *ret_first, uint64_t *ret_last)
{
    char buf[32];
    size_t length = strlen(text);

    if (length >= sizeof(buf)) return false;
    memcpy(buf, text, length + 1);
    char *dash = strchr(buf, '-');
    if (dash) *dash = 0;
    if (!read_decimal(buf, ret_first)) return false;
    *ret_last = *ret_first;
    return !dash || (read_decimal(dash + 1, ret_last) && *ret_last >= *ret_first);
}

static void apply_ports(struct layers *layers, const struct tree *ports, uint32_t node, const struct profile *below)
{
    const struct fabric_node *as = &layers->loader->fabric->node[node];

    if (!read_is_map(layers->loader, ports, "ports")) return;
    for (const struct tree *item = ports->first; item; item = item->next) {
        uint64_t first, last;
        if (!port_range(item->key, &first, &last)) {
            read_error(layers->loader, item->key_at, "ports: '%s' is neither a port (3) nor a range (0-7)", item->key);
            continue;
        }
        if (last >= as->ports) {
            read_error(layers->loader, item->key_at, "'%s' has no port %llu; its ports are 0 to %u", as->name,
                       (unsigned long long)last, as->ports ? as->ports - 1u : 0u);
            continue;
        }
        for (uint64_t p = first; p <= last; p++)
            apply_port(layers, item, as->first_port + (uint32_t)p, below);
    }
}

static bool read_roles(struct layers *layers)
{
    struct loader *loader = layers->loader;
    const struct tree *roles = loader->part[PART_ROLES];

    for (int r = 0; r < FABRIC_ROLES; r++)
        layers->role[r] = r == FABRIC_ROLE_HOST ? layers->nics : layers->switches;
    if (!roles) return true;
    if (!read_is_map(loader, roles, "roles")) return false;
    for (const struct tree *item = roles->first; item; item = item->next) {
        struct tree name = {.type = TREE_SCALAR, .text = item->key, .at = item->key_at, .key = "roles"};
        uint32_t role;
        if (!read_choice(loader, &name, role_names, &role)) continue;
        layers->role[role] = apply(layers, item, "role", layers->role[role], role == FABRIC_ROLE_HOST, LAYER_ROLE);
        if (!layers->role[role]) return false;
    }
    return true;
}

static void unknown_device(struct loader *loader, const struct tree *item)
{
    const struct fabric *fabric = loader->fabric;
    struct nearest nearest;

    nearest_init(&nearest, item->key);
    for (uint32_t n = fabric->hosts; n < fabric->nodes && n < fabric->hosts + 4096; n++)
        nearest_try(&nearest, fabric->node[n].name);
    for (uint32_t n = 0; n < fabric->hosts && n < 4096; n++)
        nearest_try(&nearest, fabric->node[n].name);
    if (nearest.word)
        read_error(loader, item->key_at, "no device is named '%s'; did you mean '%s'?", item->key, nearest.word);
    else
        read_error(loader, item->key_at, "no device is named '%s'", item->key);
}

static bool read_devices(struct layers *layers)
{
    struct loader *loader = layers->loader;
    const struct tree *devices = loader->part[PART_DEVICES];

    layers->device = SCRATCH_NEW(loader, const struct profile *, loader->fabric->nodes);
    if (!layers->device) return false;
    if (!devices) return true;
    if (!read_is_map(loader, devices, "devices")) return false;
    for (const struct tree *item = devices->first; item; item = item->next) {
        uint32_t node = fabric_find_node(loader->fabric, item->key);
        if (node == FABRIC_NONE) {
            unknown_device(loader, item);
            continue;
        }
        const struct fabric_node *as = &loader->fabric->node[node];
        struct profile *profile =
            apply(layers, item, item->key, layers->role[as->role], as->kind == FABRIC_HOST, LAYER_DEVICE);
        if (!profile) return false;
        layers->device[node] = profile;
        const struct tree *ports = tree_get(item, "ports");
        if (ports) apply_ports(layers, ports, node, profile);
    }
    return true;
}

static const struct profile *profile_of(const struct layers *layers, uint32_t port)
{
    const struct fabric *fabric = layers->loader->fabric;
    uint32_t node = fabric->port[port].node;

    if (layers->port && layers->port[port]) return layers->port[port];
    return layers->device[node] ? layers->device[node] : layers->role[fabric->node[node].role];
}

static uint64_t slot_hash(const void *bytes, size_t length)
{
    uint64_t hash = hash_bytes(HASH_BEGIN, bytes, length);

    return hash ^ hash >> 29;
}

static bool settings_grow(struct layers *layers)
{
    uint32_t room = layers->room ? layers->room * 2 : 64;
    struct fabric_settings *settings = SCRATCH_NEW(layers->loader, struct fabric_settings, room);
    uint32_t *slot = SCRATCH_NEW(layers->loader, uint32_t, (size_t)room * 2);

    if (!settings || !slot) return false;
    if (layers->count) memcpy(settings, layers->settings, layers->count * sizeof(*settings));
    layers->settings = settings;
    layers->hash_slot = slot;
    layers->room = room;
    layers->slots_mask = room * 2 - 1;
    for (uint32_t i = 0; i < layers->count; i++) {
        uint32_t at = (uint32_t)slot_hash(&settings[i], sizeof(settings[i])) & layers->slots_mask;
        while (slot[at])
            at = (at + 1) & layers->slots_mask;
        slot[at] = i + 1;
    }
    return true;
}

/* The index of settings with this content. */
static uint32_t settings_index(struct layers *layers, const struct fabric_settings *wanted)
{
    if (layers->count == layers->room && !settings_grow(layers)) return FABRIC_NONE;
    uint32_t at = (uint32_t)slot_hash(wanted, sizeof(*wanted)) & layers->slots_mask;
    for (; layers->hash_slot[at]; at = (at + 1) & layers->slots_mask)
        if (memcmp(&layers->settings[layers->hash_slot[at] - 1], wanted, sizeof(*wanted)) == 0)
            return layers->hash_slot[at] - 1;
    layers->settings[layers->count] = *wanted;
    layers->hash_slot[at] = ++layers->count;
    return layers->count - 1;
}

static bool key_grow(struct layers *layers)
{
    uint32_t size = layers->key ? (layers->key_mask + 1) * 2 : 256;
    struct key *key = SCRATCH_NEW(layers->loader, struct key, size);

    if (!key) return false;
    for (uint32_t i = 0; layers->key && i <= layers->key_mask; i++) {
        if (!layers->key[i].profile) continue;
        uint32_t at = (uint32_t)(layers->key[i].rate_bps * 31 + (uintptr_t)layers->key[i].profile / 64) & (size - 1);
        while (key[at].profile)
            at = (at + 1) & (size - 1);
        key[at] = layers->key[i];
    }
    layers->key = key;
    layers->key_mask = size - 1;
    return true;
}

static uint32_t port_settings(struct layers *layers, uint32_t port, const struct profile *profile)
{
    const struct fabric *fabric = layers->loader->fabric;
    const struct fabric_port *as = &fabric->port[port];
    struct fabric_settings wanted;
    bool host = port < fabric->endpoints;

    if (layers->keys * 2 >= layers->key_mask && !key_grow(layers)) return FABRIC_NONE;
    uint32_t at = (uint32_t)(as->rate_bps * 31 + (uintptr_t)profile / 64) & layers->key_mask;
    for (; layers->key[at].profile; at = (at + 1) & layers->key_mask) {
        const struct key *key = &layers->key[at];
        if (key->profile == profile && key->rate_bps == as->rate_bps && key->cable_mm == as->cable_mm &&
            key->propagation_ps == as->propagation_ps && key->host == host && key->cabled == (as->peer != FABRIC_NONE))
            return key->settings;
    }
    settings_resolve(layers->loader, profile, as, host, &wanted);
    uint32_t index = settings_index(layers, &wanted);
    layers->key[at] =
        (struct key){profile, as->rate_bps, as->cable_mm, as->propagation_ps, index, host, as->peer != FABRIC_NONE};
    layers->keys++;
    return index;
}

static bool resolve_ports(struct layers *layers)
{
    struct loader *loader = layers->loader;
    struct fabric *fabric = loader->fabric;
    struct fabric_port *port = loader->port;

    layers->key_mask = 0;
    for (uint32_t p = 0; p < fabric->ports; p++) {
        const struct profile *profile = profile_of(layers, p);
        const struct qos *qos = &profile->qos;

        port[p].settings = port_settings(layers, p, profile);
        if (port[p].settings == FABRIC_NONE) return false;
        if (port[p].peer == FABRIC_NONE) continue;
        port[p].pause_reaction_ps = fabric->lanes.reaction_ps;
        if (fabric->lanes.vls) continue;
        port[p].pause_reaction_ps =
            qos->reaction_ps != NOT_GIVEN
                ? qos->reaction_ps
                : (ps_t)((u128)headroom_response_ps(port[p].rate_bps) * qos->reaction_ppm / 1000000);
    }
    struct fabric_settings *kept = KEEP_NEW(loader, struct fabric_settings, layers->count);
    if (!kept) return false;
    memcpy(kept, layers->settings, layers->count * sizeof(*kept));
    fabric->settings = kept;
    fabric->settings_count = layers->count;
    return true;
}

/* Where a receive buffer has no thresholds: what the mlx5 driver keeps above xoff is left above it, for the port that
 * needs most; half of the buffer where it is too small for that. */
static void nic_thresholds(const struct profile *profile, const struct fabric_port *port, struct fabric_nic *nic)
{
    uint64_t keep = headroom_mlx5(port->rate_bps, port->cable_mm, profile->qos.frame_bytes);
    uint64_t buffer = nic->rx_buffer_bytes;

    if (!buffer || profile->nic.rx_xoff_bytes) return;
    uint64_t xoff = buffer > 2 * keep ? buffer - keep : buffer / 2;
    if (nic->rx_xoff_bytes && nic->rx_xoff_bytes <= xoff) return;
    nic->rx_xoff_bytes = xoff;
    nic->rx_xon_bytes = xoff > 2 * profile->qos.frame_bytes ? xoff - profile->qos.frame_bytes : xoff / 2;
}

/* One entry a profile; NICs are few kinds. */
static bool resolve_nics(struct layers *layers)
{
    struct loader *loader = layers->loader;
    struct fabric *fabric = loader->fabric;
    struct fabric_endpoint *endpoint = loader->endpoint;
    uint32_t count = 0;

    for (int pass = 0; pass < 2; pass++) {
        struct fabric_nic *nic = pass ? KEEP_NEW(loader, struct fabric_nic, count) : NULL;
        if (pass && !nic) return false;
        for (uint32_t e = 0; e < fabric->endpoints; e++) {
            struct profile *profile = (struct profile *)(uintptr_t)profile_of(layers, e);
            if (profile->nic_index == FABRIC_NONE) profile->nic_index = count++;
            if (!pass) continue;
            if (!nic[profile->nic_index].congestion) nic[profile->nic_index] = profile->nic;
            nic_bus(&nic[profile->nic_index], fabric->port[e].rate_bps);
            nic_thresholds(profile, &fabric->port[e], &nic[profile->nic_index]);
            endpoint[e].nic = profile->nic_index;
        }
        fabric->nic = nic;
        fabric->nics = count;
    }
    return true;
}

/* Where the file says what kind of switch it is. */
static struct fabric_at switch_at(const struct loader *loader, const struct profile *profile)
{
    if (profile->sw.model_at.line) return profile->sw.model_at;
    return profile->at.line ? profile->at : loader->part[PART_TOPOLOGY]->at;
}

static void too_many_ports(struct loader *loader, const struct profile *profile, const struct fabric_node *node,
                           uint32_t cabled, uint64_t sum_bps)
{
    const struct switch_model *model = profile->sw.model;
    struct fabric_at at = switch_at(loader, profile);
    char rate[UNIT_TEXT], most[UNIT_TEXT];

    if (cabled > model->ports_most)
        read_error(loader, at, "'%s' has %u ports cabled; a %s has %u at most", node->name, cabled, model->name,
                   model->ports_most);
    else
        read_error(loader, at, "'%s' has ports for %s cabled; a %s switches %s (%u x %uG)", node->name,
                   unit_format(UNIT_RATE, sum_bps, rate), model->name,
                   unit_format(UNIT_RATE, (uint64_t)model->ports * model->rate_gbps * 1000000000u, most), model->ports,
                   model->rate_gbps);
}

#define CELLS_MAX ((uint64_t)1 << 31) /* what a switch counts its cells in has 32 bits, one of them to spare */

/* Cells set aside: each reserve and headroom takes whole ones, of ports without a cable too. */
static uint64_t cells_aside(const struct fabric *fabric, const struct fabric_node *node, const struct fabric_switch *sw)
{
    uint64_t cell = sw->cell_bytes, cells = (sw->headroom_pool_bytes + cell - 1) / cell;

    for (uint32_t p = node->first_port; p < node->first_port + node->ports; p++) {
        const struct fabric_settings *settings = &fabric->settings[fabric->port[p].settings];
        for (int g = 0; g < FABRIC_PRIOS; g++) {
            cells += (settings->pg[g].reserved_bytes + cell - 1) / cell;
            if (settings->pg[g].lossless && !sw->headroom_pool_bytes)
                cells += (settings->pg[g].headroom_bytes + cell - 1) / cell;
        }
    }
    return cells;
}

/* The largest headroom of a port's group, in whole cells. */
static uint64_t headroom_largest(const struct fabric *fabric, const struct fabric_node *node, uint64_t cell)
{
    uint64_t most = 0;

    for (uint32_t p = node->first_port; p < node->first_port + node->ports; p++)
        for (int g = 0; g < FABRIC_PRIOS; g++) {
            const struct fabric_pg *pg = &fabric->settings[fabric->port[p].settings].pg[g];
            uint64_t cells = pg->lossless ? (pg->headroom_bytes + cell - 1) / cell : 0;
            if (fabric->port[p].peer != FABRIC_NONE && cells > most) most = cells;
        }
    return most * cell;
}

static void overfull(struct loader *loader, const struct profile *profile, const struct fabric_node *node,
                     const struct fabric_switch *sw, uint32_t cabled)
{
    uint64_t need = cells_aside(loader->fabric, node, sw) * sw->cell_bytes;
    uint64_t one = headroom_largest(loader->fabric, node, sw->cell_bytes);
    char all[UNIT_TEXT], have[UNIT_TEXT], most[UNIT_TEXT], advice[128];

    unit_format_short(UNIT_SIZE, one, 4, most);
    if (sw->headroom_pool_bytes)
        snprintf(advice, sizeof(advice), "give the pool less");
    else if (one + sw->reserved_sum_bytes >= sw->buffer_bytes)
        snprintf(advice, sizeof(advice), "one port takes %s: a shorter or slower link, or a deeper buffer", most);
    else
        snprintf(advice, sizeof(advice), "share it: switches: {headroom-pool: SIZE}, of %s or more (one port's)", most);
    read_error(loader, switch_at(loader, profile),
               "'%s': reserve and headroom of its %u ports need %s of a buffer of %s, in cells of %uB; %s", node->name,
               cabled, unit_format_short(UNIT_SIZE, need, 4, all),
               unit_format_short(UNIT_SIZE, sw->buffer_bytes, 4, have), sw->cell_bytes, advice);
}

/* Reserve and headroom of a switch's ports together, and whether the chip holds them. */
static bool switch_fits(struct loader *loader, const struct profile *profile, uint32_t node, struct fabric_switch *sw)
{
    const struct fabric *fabric = loader->fabric;
    const struct fabric_node *as = &fabric->node[node];
    const struct switch_model *model = profile->sw.model;
    uint64_t rate_sum = 0;
    uint32_t cabled = 0;
    char have[UNIT_TEXT];

    for (uint32_t p = as->first_port; p < as->first_port + as->ports; p++) {
        if (fabric->port[p].peer == FABRIC_NONE) continue;
        const struct fabric_settings *settings = &fabric->settings[fabric->port[p].settings];
        cabled++;
        rate_sum += fabric->port[p].rate_bps;
        for (int g = 0; g < FABRIC_PRIOS; g++) {
            sw->reserved_sum_bytes += settings->pg[g].reserved_bytes;
            sw->headroom_sum_bytes += settings->pg[g].headroom_bytes;
        }
    }
    if (cabled > model->ports_most ||
        (model->ports && rate_sum > (uint64_t)model->ports * model->rate_gbps * 1000000000u)) {
        too_many_ports(loader, profile, as, cabled, rate_sum);
        return false;
    }
    if (sw->buffer_bytes / sw->cell_bytes >= CELLS_MAX) {
        read_error(loader, switch_at(loader, profile),
                   "'%s': a buffer of %s has 2^31 cells of %uB or more; write a larger cell, as in cell: 256B",
                   as->name, unit_format_short(UNIT_SIZE, sw->buffer_bytes, 4, have), sw->cell_bytes);
        return false;
    }
    if (cells_aside(fabric, as, sw) < sw->buffer_bytes / sw->cell_bytes) return true;
    if (loader->errors->takes_overfull) {
        loader->errors->overfull++;
        return true;
    }
    overfull(loader, profile, as, sw, cabled);
    return false;
}

static bool resolve_switches(struct layers *layers)
{
    struct loader *loader = layers->loader;
    struct fabric *fabric = loader->fabric;
    struct fabric_switch *sw = KEEP_NEW(loader, struct fabric_switch, fabric->switches);
    bool refused[FABRIC_ROLES] = {false};

    if (!sw) return false;
    fabric->sw = sw;
    for (uint32_t s = 0; s < fabric->switches; s++) {
        const struct fabric_node *node = &fabric->node[fabric->hosts + s];
        const struct profile *profile = layers->device[fabric->hosts + s];
        if (!profile) profile = layers->role[node->role];
        const struct switch_raw *raw = &profile->sw;

        sw[s] = (struct fabric_switch){
            .model = raw->model->name,
            .buffer_bytes = raw->buffer_bytes == NOT_GIVEN ? raw->model->buffer_bytes : raw->buffer_bytes,
            .cell_bytes = raw->cell_bytes ? raw->cell_bytes : raw->model->cell_bytes,
            .latency_ps = raw->latency_ps == NOT_GIVEN ? raw->model->latency_ns * PS_NS : raw->latency_ps,
            .cut_through = raw->cut_through,
            .mark_at_dequeue = raw->mark,
            .refresh_pauses = raw->refresh_pauses,
            .raise_bounce = raw->raise,
            .drop_unknown = raw->drop_unknown,
            .headroom_pool_bytes = raw->headroom_pool_bytes,
            .hash_fields = (uint8_t)raw->hash_fields,
            .weighted = raw->weighted,
            .hash_seed = hash_seed_of(fabric, raw, s),
            .voq = voq_of(raw),
            .watchdog = raw->watchdog,
            .nos = raw->nos,
            .bridged = raw->bridged,
        };
        if (!balance_resolve(loader, raw, s, &sw[s].balance)) return false;
        /* Switches of a role are alike: one sentence is enough. */
        if (!refused[node->role] && !switch_fits(loader, profile, fabric->hosts + s, &sw[s]))
            refused[node->role] = true;
    }
    for (int r = 0; r < FABRIC_ROLES; r++)
        if (refused[r]) return false;
    return true;
}

bool settings_load(struct loader *loader)
{
    struct layers layers = {.loader = loader};
    struct profile *base = SCRATCH_NEW(loader, struct profile, 1);
    const struct tree *switches = loader->part[PART_SWITCHES], *nics = loader->part[PART_NICS];

    if (!base) return false;
    qos_defaults(loader, &base->qos);
    loader->classes_good = classes_load(loader, &base->qos);
    switch_defaults(loader, &base->sw);
    nic_defaults(loader, &base->nic);
    layers.switches =
        switches ? apply(&layers, switches, "switches", base, false, LAYER_ALL) : profile_copy(&layers, base);
    layers.nics = nics ? apply(&layers, nics, "nics", base, true, LAYER_ALL) : profile_copy(&layers, base);
    if (!layers.switches || !layers.nics || !read_roles(&layers)) return false;
    if (loader->blind || !read_devices(&layers)) return false;
    if (loader->errors->count) return false; /* what ports come to would follow from what is wrong */
    return resolve_ports(&layers) && resolve_nics(&layers) && resolve_switches(&layers);
}
