/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations side of a fabric file: what is installed and approved, who owns a threshold, what hosts are set to,
 * how routes are made again, which findings of `rocelab check` somebody answers for.
 *
 * No simulation needs any of it.  It is read with the same tables of fields as the rest, so that a wrong key is
 * refused here too.  What belongs to a layer of settings (keys of NICs) is read where layers are; what belongs to a
 * node or to the file (`installed`, `approved`, `owners`, `check`) is read here, when nodes are known.
 */
#include <string.h>

#include "fabric/fabric.h"
#include "fabric/owners.h"
#include "fabric/qos/settings.h"
#include "fabric/topology/topology.h"

const char *const fabric_nos_names[FABRIC_NOSES + 1] = {"unsaid", "nxos", "eos", "sonic", "nvue", "junos", NULL};
const char *const fabric_fec_names[FABRIC_FEC_RS + 2] = {"unsaid", "none", "fc", "rs", NULL};
const char *const fabric_dcbx_names[] = {"ieee", "cee", "off", NULL};
const char *const fabric_part_names[FABRIC_PARTS + 1] = {
#define X(id, name) name,
    FABRIC_PART_LIST(X)
#undef X
        NULL,
};

static void read_dcqcn(struct loader *loader, const struct tree *value, void *into)
{
    static const struct field fields[] = {
        F_VALUE("rp", FIELD_BOOL, struct fabric_nic, dcqcn_rp, 0, 0),
        F_VALUE("np", FIELD_BOOL, struct fabric_nic, dcqcn_np, 0, 0),
    };
    struct fabric_nic *nic = into;
    struct field_set set = {fields, COUNT_OF(fields), nic};
    bool on;

    if (value->type != TREE_SCALAR)
        read_map(loader, value, "dcqcn", &set, 1);
    else if (read_bool(loader, value, &on))
        nic->dcqcn_rp = nic->dcqcn_np = on;
}

static void read_dcbx(struct loader *loader, const struct tree *value, void *into)
{
    static const struct field fields[] = {
        F_VALUE("willing", FIELD_BOOL, struct fabric_nic, dcbx_willing, 0, 0),
        F_CHOICE("mode", struct fabric_nic, dcbx_mode, fabric_dcbx_names),
    };
    struct field_set set = {fields, COUNT_OF(fields), into};

    read_map(loader, value, "dcbx", &set, 1);
}

bool read_params(struct loader *loader, const struct tree *map, const struct fabric_param *below, uint32_t *ret_count,
                 const struct fabric_param **ret)
{
    uint32_t count = *ret_count;
    struct fabric_param *param = KEEP_NEW(loader, struct fabric_param, (size_t)count + map->count);

    if (!param) return false;
    if (count) memcpy(param, below, count * sizeof(*param));
    for (const struct tree *item = map->first; item; item = item->next) {
        uint32_t at = 0;
        while (at < count && strcmp(param[at].name, item->key) != 0)
            at++;
        const char *name = arena_strndup(loader->keep, item->key, strlen(item->key));
        if (!name) loader->no_memory = true;
        if (!name || !read_text(loader, item, &param[at].value)) return false;
        param[at].name = name;
        param[at].at = item->at;
        if (at == count) count++;
    }
    *ret = param;
    *ret_count = count;
    return true;
}

/* They are written into scripts: a name is a variable's, and a value is one line. */
static bool good_variable(struct loader *loader, const struct fabric_param *param)
{
    bool name = param->name[0] && param->name[strspn(param->name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")] == 0;

    if (!name) read_error(loader, param->at, "nccl: a variable is expected: capital letters, digits and _");
    return name;
}

static void read_nccl(struct loader *loader, const struct tree *value, void *into)
{
    struct fabric_nic *nic = into;

    if (!read_is_map(loader, value, "nccl") || !read_params(loader, value, nic->nccl, &nic->nccls, &nic->nccl)) return;
    for (uint32_t i = 0; i < nic->nccls; i++)
        if (!good_variable(loader, &nic->nccl[i])) return;
}

#define NIC(name, kind, member, min, max) F_VALUE(name, kind, struct fabric_nic, member, min, max)
const struct field nic_operation_fields[] = {
    NIC("cnp-dscp", FIELD_COUNT, cnp_dscp, 0, 63),
    F_CALL("dcqcn", read_dcqcn),
    F_CALL("dcbx", read_dcbx),
    F_CALL("nccl", read_nccl),
    NIC("cable-length", FIELD_LENGTH, cable_mm, 1, 0),
};
const uint32_t nic_operation_field_count = COUNT_OF(nic_operation_fields);

void operations_port_name(struct loader *loader, uint32_t port, const char *name)
{
    struct fabric_operations *operations = &loader->fabric->operations;

    if (!operations->port_name) operations->port_name = KEEP_NEW(loader, const char *, loader->fabric->ports);
    if (operations->port_name) operations->port_name[port] = name;
}

static bool part_of(struct loader *loader, const struct tree *item, uint32_t *ret)
{
    struct tree name = {.type = TREE_SCALAR, .text = item->key, .at = item->key_at, .key = "a part"};

    return read_choice(loader, &name, fabric_part_names, ret);
}

static void read_installed(struct loader *loader, const struct tree *map, uint32_t node)
{
    struct fabric_operations *operations = &loader->fabric->operations;
    struct fabric_device *device = KEEP_NEW(loader, struct fabric_device, 1);
    uint32_t part;

    if (!operations->device) operations->device = KEEP_NEW(loader, const struct fabric_device *, loader->fabric->nodes);
    if (!device || !operations->device || !read_is_map(loader, map, "installed")) return;
    for (const struct tree *item = map->first; item; item = item->next) {
        if (!part_of(loader, item, &part) || !read_text(loader, item, &device->installed[part])) return;
        device->at[part] = item->at;
    }
    operations->device[node] = device;
}

/* One version, or a list. */
static void read_approved(struct loader *loader, const struct tree *map, struct fabric_approved *approved)
{
    uint32_t part;

    if (!read_is_map(loader, map, "approved")) return;
    for (const struct tree *item = map->first; item; item = item->next) {
        if (!part_of(loader, item, &part)) return;
        uint32_t count = item->type == TREE_LIST ? item->count : 1;
        const char **version = KEEP_NEW(loader, const char *, count);
        const struct tree *value = item->type == TREE_LIST ? item->first : item;
        if (!version) return;
        for (uint32_t i = 0; i < count; i++, value = value->next)
            if (!read_text(loader, value, &version[i])) return;
        approved->version[part] = version;
        approved->versions[part] = count;
    }
}

static void read_ignores(struct loader *loader, const struct tree *value, void *into)
{
    static const struct field fields[] = {
        F_VALUE("rule", FIELD_TEXT, struct fabric_ignore, rule, 0, 0),
        F_VALUE("device", FIELD_TEXT, struct fabric_ignore, device, 0, 0),
        F_VALUE("port", FIELD_TEXT, struct fabric_ignore, port, 0, 0),
        F_VALUE("reason", FIELD_TEXT, struct fabric_ignore, reason, 0, 0),
    };
    struct fabric_operations *operations = into;

    if (!read_is_list(loader, value, "ignore")) return;
    struct fabric_ignore *ignore = KEEP_NEW(loader, struct fabric_ignore, value->count);
    if (!ignore) return;
    for (const struct tree *item = value->first; item; item = item->next) {
        struct fabric_ignore *one = &ignore[operations->ignores];
        struct field_set set = {fields, COUNT_OF(fields), one};
        if (!read_map(loader, item, "ignore", &set, 1)) return;
        if (!one->rule || !one->reason || !one->reason[0]) {
            read_error(loader, item->at, "ignore: write which rule and why, as in {rule: HR002, reason: \"...\"}");
            return;
        }
        one->at = item->at;
        operations->ignores++;
    }
    operations->ignore = ignore;
}

static void read_check(struct loader *loader, const struct tree *value)
{
    static const struct field fields[] = {
        F_VALUE("fan-in", FIELD_COUNT, struct fabric_operations, fan_in, 1, 65535),
        F_VALUE("share", FIELD_SHARE, struct fabric_operations, share_ppm, 1, 1000000),
        F_CALL("ignore", read_ignores),
    };
    struct field_set set = {fields, COUNT_OF(fields), &loader->fabric->operations};

    read_map(loader, value, "check", &set, 1);
}

static void read_layers(struct loader *loader)
{
    struct fabric *fabric = loader->fabric;
    static const char *const names[FABRIC_ROLES] = {
#define X(id, name, prefix) name,
        FABRIC_ROLE_LIST(X)
#undef X
    };
    const struct tree *roles = loader->part[PART_ROLES], *devices = loader->part[PART_DEVICES];

    for (int r = 0; r < FABRIC_ROLES; r++) {
        const struct tree *approved = tree_get(tree_get(roles, names[r]), "approved");
        if (approved) read_approved(loader, approved, &fabric->operations.approved[r]);
    }
    if (!devices || devices->type != TREE_MAP || !fabric->port) return;
    for (const struct tree *item = devices->first; item; item = item->next) {
        const struct tree *installed = tree_get(item, "installed");
        uint32_t node = installed ? fabric_find_node(fabric, item->key) : FABRIC_NONE;
        if (node != FABRIC_NONE) read_installed(loader, installed, node);
    }
}

static void read_oversubscription(struct loader *loader)
{
    const struct tree *topology = loader->part[PART_TOPOLOGY];

    if (!topology || topology->type != TREE_MAP) return;
    for (const struct tree *item = topology->first; item; item = item->next)
        if (tree_get(item, "oversubscription")) loader->fabric->operations.oversubscribed = true;
}

void operations_load(struct loader *loader)
{
    static const char *const words[] = {"shortest", "valley-free", NULL};
    struct fabric_operations *operations = &loader->fabric->operations;
    const struct tree *routing = loader->part[PART_ROUTING];
    const struct tree *check = loader->part[PART_CHECK];
    uint32_t choice;

    if (routing && read_choice(loader, routing, words, &choice)) operations->routing = (uint8_t)choice;
    owners_load(loader);
    if (check) read_check(loader, check);
    prices_load(loader);
    criteria_load(loader);
    reliability_load(loader);
    read_oversubscription(loader);
    read_layers(loader);
}
