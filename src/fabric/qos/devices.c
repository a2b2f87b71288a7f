/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keys of a switch and of a NIC, and their defaults.
 */
#include "fabric/qos/settings.h"

#include <string.h>

#include "base/check.h"
#include "fabric/fabric.h"

#define ADAPTIVE_PS PS_MS     /* where `adaptive-retransmission` says no more */
#define REORDER_PACKETS 1024u /* where `reorder` says no more */
#define REORDER_PS (200 * PS_US)

static void read_model(struct loader *loader, const struct tree *value, void *into)
{
    struct switch_raw *sw = into;
    const char *name = NULL;

    if (!read_text(loader, value, &name)) return;
    const struct switch_model *model = switch_model_find(name);
    if (!model) model = switch_model_of_product(name);
    if (model) {
        sw->model = model;
        sw->model_at = value->at;
        return;
    }
    const char *near = switch_model_nearest(name);
    if (near)
        read_error(loader, value->at, "unknown switch model '%s'; did you mean '%s'?", name, near);
    else
        read_error(loader, value->at, "unknown switch model '%s'; generic, with buffer and cell, can stand for any",
                   name);
}

static void read_hash(struct loader *loader, const struct tree *value, void *into)
{
    static const char *const words[] = {"src", "dst", "sport", "qp", NULL};
    struct switch_raw *sw = into;
    uint64_t bits = 0;
    uint32_t choice;

    if (!read_is_list(loader, value, "hash")) return;
    for (const struct tree *item = value->first; item; item = item->next) {
        if (!read_choice(loader, item, words, &choice)) return;
        bits |= 1u << choice;
    }
    sw->hash_fields = bits;
}

static void read_ecmp(struct loader *loader, const struct tree *value, void *into)
{
    static const struct field fields[] = {
        F_CALL("hash", read_hash),
        F_CALL("seed", hash_seed_read),
        F_VALUE("weighted", FIELD_BOOL, struct switch_raw, weighted, 0, 0),
    };
    struct field_set set = {fields, COUNT_OF(fields), into};
    read_map(loader, value, "ecmp", &set, 1);
}

static void read_action(struct loader *loader, const struct tree *value, void *into)
{
    static const char *const actions[] = {"forward", "drop", "shutdown", NULL};
    struct fabric_watchdog *watchdog = into;
    uint32_t action;

    if (!read_choice(loader, value, actions, &action)) return;
    watchdog->drop = action != 0;
    watchdog->shutdown = action == 2;
}

static void read_watchdog(struct loader *loader, const struct tree *value, void *into)
{
    static const struct field fields[] = {
        F_VALUE("poll", FIELD_TIME, struct fabric_watchdog, poll_ps, PS_NS, 0),
        F_VALUE("detect", FIELD_TIME, struct fabric_watchdog, detect_ps, PS_NS, 0),
        F_VALUE("restore", FIELD_TIME, struct fabric_watchdog, restore_ps, PS_NS, 0),
        F_CALL("action", read_action),
    };
    struct switch_raw *sw = into;
    struct field_set set = {fields, COUNT_OF(fields), &sw->watchdog};

    sw->watchdog.shutdown = sw->watchdog.assumed = false;
    if (value->type == TREE_SCALAR)
        read_bool(loader, value, &sw->watchdog.on);
    else if (read_map(loader, value, "watchdog", &set, 1))
        sw->watchdog.on = true;
}

static const char *const raise_words[] = {"never", "bounce", NULL};
static const char *const forwarding_words[] = {"routed", "bridged", NULL};
static const char *const mark_words[] = {"enqueue", "dequeue", NULL};
#define SW(name, kind, member, min, max) F_VALUE(name, kind, struct switch_raw, member, min, max)
const struct field switch_fields[] = {
    F_CALL("model", read_model),
    SW("buffer", FIELD_SIZE, buffer_bytes, 1, (uint64_t)1 << 50),
    SW("cell", FIELD_SIZE, cell_bytes, 1, 32768),
    SW("latency", FIELD_TIME, latency_ps, 0, PS_S),
    SW("cut-through", FIELD_BOOL, cut_through, 0, 0),
    F_CHOICE("mark", struct switch_raw, mark, mark_words),
    SW("headroom-pool", FIELD_SIZE, headroom_pool_bytes, 0, (uint64_t)1 << 50),
    SW("refresh-pauses", FIELD_BOOL, refresh_pauses, 0, 0),
    F_CHOICE("raise", struct switch_raw, raise, raise_words),
    SW("drop-unknown-lossless", FIELD_BOOL, drop_unknown, 0, 0),
    F_CALL("ecmp", read_ecmp),
    F_CALL("balance", balance_read),
    F_CALL("architecture", architecture_read),
    F_CALL("watchdog", read_watchdog),
    F_CHOICE("nos", struct switch_raw, nos, fabric_nos_names),
    F_CHOICE("forwarding", struct switch_raw, bridged, forwarding_words),
};
const uint32_t switch_field_count = COUNT_OF(switch_fields);

void switch_defaults(struct loader *loader, struct switch_raw *sw)
{
    const struct fabric_system_row *system = fabric_system(loader->fabric);
    bool hpcc = loader->fabric->behaviour == FABRIC_HPCC_NS3, ns3 = loader->fabric->behaviour == FABRIC_NS3_TCP;

    *sw = (struct switch_raw){
        .model = switch_model_find(SWITCH_MODEL_DEFAULT),
        .buffer_bytes = hpcc || ns3 ? 32 * 1024 * 1024 : NOT_GIVEN,
        .cell_bytes = ns3,
        .latency_ps = hpcc || ns3         ? 0
                      : system->switch_ns ? system->switch_ns * PS_NS
                                          : NOT_GIVEN,
        .hash_seed = NOT_GIVEN,
        .cut_through = system->link == FABRIC_LINK_CREDITS,
        .mark = hpcc,
        .refresh_pauses = !hpcc,
        .hash_fields = system->hash_fields,
        .watchdog = {.on = !hpcc && system->link == FABRIC_LINK_PFC && !loader->fabric->lanes.cbfc,
                     .drop = true,
                     .assumed = true,
                     .poll_ps = 100 * PS_MS,
                     .detect_ps = 200 * PS_MS,
                     .restore_ps = 200 * PS_MS},
    };
    balance_defaults(loader->fabric, sw);
    CHECK(sw->model);
}

static bool good_algorithm(const char *text)
{
    size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-_");

    if (length == 0) return false;
    if (!text[length]) return true;
    if (text[length] != '/') return false;
    const char *preset = text + length + 1;
    return preset[0] && preset[strspn(preset, "abcdefghijklmnopqrstuvwxyz0123456789-_.")] == 0;
}

bool fabric_congestion_is_file(const char *name)
{
    size_t length = strlen(name);

    return length > 3 && strcmp(name + length - 3, ".so") == 0;
}

/* Beside the fabric file; what is in it counts as if it stood in the file. */
static const char *algorithm_file(struct loader *loader, const char *name, struct fabric_at at)
{
    const char *base = loader->fabric->path, *slash = strrchr(base, '/');
    bool beside = name[0] != '/' && slash;
    char path[4096];
    size_t length;

    while (beside && strncmp(name, "./", 2) == 0)
        name += 2;
    snprintf(path, sizeof path, "%.*s%s", beside ? (int)(slash - base + 1) : 0, base, name);
    if (file_read(loader, path, at, &length) == NULL) return NULL;
    const char *kept = arena_strndup(loader->keep, path, strlen(path));
    if (!kept) loader->no_memory = true;
    return kept;
}

static void set_algorithm(struct loader *loader, const struct tree *value, struct fabric_nic *nic)
{
    const char *text = NULL;

    if (!read_text(loader, value, &text)) return;
    if (fabric_congestion_is_file(text)) {
        text = algorithm_file(loader, text, value->at);
        if (!text) return;
    } else if (!good_algorithm(text)) {
        read_error(loader, value->at, "congestion: '%s' is not ALGORITHM or ALGORITHM/PRESET, as in dcqcn/connectx",
                   text);
        return;
    }
    nic->congestion = text;
    nic->congestion_at = value->at;
    nic->param = NULL;
    nic->params = 0;
}

/* `dcqcn/connectx`, or {use: dcqcn/connectx, PARAMETER: VALUE, ...}; without `use` the layer below keeps its own. */
static void read_congestion(struct loader *loader, const struct tree *value, void *into)
{
    struct fabric_nic *nic = into;

    if (value->type == TREE_SCALAR) {
        set_algorithm(loader, value, nic);
        return;
    }
    if (!read_is_map(loader, value, "congestion")) return;
    const struct tree *use = tree_get(value, "use");
    if (use) set_algorithm(loader, use, nic);
    struct fabric_param *param = KEEP_NEW(loader, struct fabric_param, nic->params + value->count);
    if (!param) return;
    if (nic->params) memcpy(param, nic->param, nic->params * sizeof(*param));
    for (const struct tree *item = value->first; item; item = item->next) {
        uint32_t at = 0;
        if (item == use) continue;
        while (at < nic->params && strcmp(param[at].name, item->key) != 0)
            at++;
        const char *name = arena_strndup(loader->keep, item->key, strlen(item->key));
        if (!name) loader->no_memory = true;
        if (!name || !read_text(loader, item, &param[at].value)) return;
        param[at].name = name;
        param[at].at = item->key_at;
        if (at == nic->params) nic->params++;
    }
    nic->param = param;
}

static void read_ack(struct loader *loader, const struct tree *value, void *into)
{
    static const struct field fields[] = {
        F_VALUE("every", FIELD_COUNT, struct fabric_nic, ack_every, 1, 65535),
        F_VALUE("request-every", FIELD_COUNT, struct fabric_nic, ack_request_every, 1, 65535),
    };
    struct field_set set = {fields, COUNT_OF(fields), into};
    read_map(loader, value, "ack", &set, 1);
}

static void read_receive(struct loader *loader, const struct tree *value, void *into)
{
    static const struct field fields[] = {
        F_VALUE("rate", FIELD_RATE, struct fabric_nic, rx_rate_bps, 1000, 0),
        F_VALUE("buffer", FIELD_SIZE, struct fabric_nic, rx_buffer_bytes, 0, UINT32_MAX - 1),
        F_VALUE("xoff", FIELD_SIZE, struct fabric_nic, rx_xoff_bytes, 0, UINT32_MAX - 1),
        F_VALUE("xon", FIELD_SIZE, struct fabric_nic, rx_xon_bytes, 0, UINT32_MAX - 1),
    };
    struct fabric_nic *nic = into;
    struct field_set set = {fields, COUNT_OF(fields), nic};

    if (!read_map(loader, value, "receive", &set, 1)) return;
    if (nic->rx_xon_bytes > nic->rx_xoff_bytes || nic->rx_xoff_bytes > nic->rx_buffer_bytes)
        if (nic->rx_xoff_bytes) read_error(loader, value->at, "receive: xon <= xoff <= buffer does not hold");
}

static const char *const recovery_words[] = {
#define X(id, name) name,
    NIC_RECOVERY_LIST(X)
#undef X
        NULL,
};

static void read_reorder(struct loader *loader, const struct tree *value, void *into)
{
    static const struct field fields[] = {
        F_VALUE("window", FIELD_COUNT, struct fabric_nic, reorder_packets, 1, 4095),
        F_VALUE("delay", FIELD_TIME, struct fabric_nic, reorder_ps, PS_NS, PS_S),
    };
    struct fabric_nic *nic = into;
    struct field_set set = {fields, COUNT_OF(fields), nic};
    bool on;

    if (value->type == TREE_SCALAR) {
        if (!read_bool(loader, value, &on)) return;
        nic->reorder_packets = on ? REORDER_PACKETS : 0;
        if (on && !nic->reorder_ps) nic->reorder_ps = REORDER_PS;
    } else if (read_map(loader, value, "reorder", &set, 1)) {
        if (!nic->reorder_packets) nic->reorder_packets = REORDER_PACKETS;
        if (!nic->reorder_ps) nic->reorder_ps = REORDER_PS;
    }
    if (nic->reorder_packets) nic->recovery = NIC_SELECTIVE;
}

static void read_adaptive(struct loader *loader, const struct tree *value, void *into)
{
    static const struct field fields[] = {
        F_VALUE("start", FIELD_TIME, struct fabric_nic, adaptive_ps, 4 * PS_US, PS_S),
        F_VALUE("each", FIELD_COUNT, struct fabric_nic, adaptive_each, 1, 255),
    };
    struct fabric_nic *nic = into;
    struct field_set set = {fields, COUNT_OF(fields), nic};
    bool on;

    if (value->type == TREE_SCALAR) {
        if (!read_bool(loader, value, &on)) return;
        nic->adaptive_ps = on ? ADAPTIVE_PS : 0;
    } else if (read_map(loader, value, "adaptive-retransmission", &set, 1)) {
        if (!nic->adaptive_ps) nic->adaptive_ps = ADAPTIVE_PS;
    }
}

void nic_check(struct loader *loader, const struct fabric_nic *nic, const struct tree *map)
{
    const struct tree *recovery = tree_get(map, "recovery");

    if (recovery && nic->reorder_packets && strcmp(recovery->text, recovery_words[NIC_SELECTIVE]) != 0)
        read_error(loader, recovery->at, "recovery: with reorder it is selective; leave it out, or write selective");
}

static void read_software(struct loader *loader, const struct tree *value, void *into)
{
    static const struct field fields[] = {F_VALUE("post", FIELD_TIME, struct fabric_software, post_ps, 0, PS_MS),
                                          F_VALUE("poll", FIELD_TIME, struct fabric_software, poll_ps, 0, PS_MS),
                                          F_VALUE("clock", FIELD_TIME, struct fabric_software, clock_ps, 0, PS_MS),
                                          F_VALUE("hop", FIELD_TIME, struct fabric_software, hop_ps, 0, PS_MS)};
    struct field_set set = {fields, COUNT_OF(fields), &((struct fabric_nic *)into)->software};

    read_map(loader, value, "software", &set, 1);
}

static void read_cnp_class(struct loader *loader, const struct tree *value, void *into)
{
    ((struct fabric_nic *)into)->cnp_class = class_find(loader, value);
}
static void read_ack_class(struct loader *loader, const struct tree *value, void *into)
{
    ((struct fabric_nic *)into)->ack_class = class_find(loader, value);
}

#define NIC(name, kind, member, min, max) F_VALUE(name, kind, struct fabric_nic, member, min, max)
const struct field nic_fields[] = {
    NIC("mtu", FIELD_BYTES, mtu_bytes, 64, 16384),
    F_CALL("congestion", read_congestion),
    F_CALL("ack", read_ack),
    NIC("timeout", FIELD_COUNT, timeout, 0, 31),
    NIC("retry", FIELD_COUNT, retry, 0, 7),
    NIC("rnr-retry", FIELD_COUNT, rnr_retry, 0, 7),
    NIC("rnr-timer", FIELD_COUNT, min_rnr_timer, 0, 31),
    F_CHOICE("recovery", struct fabric_nic, recovery, recovery_words),
    F_CALL("reorder", read_reorder),
    NIC("max-read", FIELD_COUNT, max_read, 1, 255),
    NIC("window", FIELD_SIZE, window_bytes, 1, 0),
    NIC("window-packets", FIELD_COUNT, window_packets, 1, 0),
    NIC("latency", FIELD_TIME, latency_ps, 0, PS_S),
    F_CALL("receive", read_receive),
    F_CALL("pcie", pcie_read),
    F_CALL("software", read_software),
    F_CALL("cnp-class", read_cnp_class),
    F_CALL("ack-class", read_ack_class),
    NIC("nak-repeat", FIELD_TIME, nak_repeat_ps, 0, PS_S),
    F_CALL("adaptive-retransmission", read_adaptive),
    F_CALL("tcp", tcp_read),
};
const uint32_t nic_field_count = COUNT_OF(nic_fields);

void nic_defaults(struct loader *loader, struct fabric_nic *nic)
{
    const struct fabric *fabric = loader->fabric;
    const struct fabric_system_row *system = fabric_system(fabric);

    *nic = fabric_nic_default();
    nic->system = fabric->system;
    nic->congestion = system->congestion;
    nic->mtu_bytes = system->mtu_bytes;
    nic->latency_ps = system->nic_ns * PS_NS;
    nic->software.post_ps = nic->software.poll_ps = system->software_ns * PS_NS;
    if (fabric_systems_used(fabric) & (FABRIC_SYSTEM(FABRIC_TCP) | FABRIC_SYSTEM(FABRIC_IWARP)))
        tcp_defaults(fabric, &nic->tcp);
    if (fabric->behaviour == FABRIC_NS3_TCP) {
        nic->mtu_bytes = 1448;
        nic->latency_ps = nic->software.post_ps = nic->software.poll_ps = 0;
    }
    if (fabric->behaviour == FABRIC_HPCC_NS3) {
        nic->mtu_bytes = 1000;
        nic->congestion = "dcqcn/hpcc-sim";
        nic->ack_every = nic->ack_request_every = 1;
        nic->timeout = 0;
        nic->nak_repeat_ps = 500 * PS_US;
        nic->latency_ps = 0;
    }
    for (uint32_t c = 0; c < fabric->class_count; c++)
        if (strcmp(fabric->classes[c].name, "cnp") == 0) nic->cnp_class = c;
}
