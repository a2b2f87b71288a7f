/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults: what happens to a link or a node, and when.
 *
 *     faults:
 *       - {down: leaf0:3, at: 1ms, for: 5ms}
 *       - {corrupt: h3, share: 0.01%}
 *       - {drop: h0, every: 256}
 *       - {pause: h7, priority: 3, at: 2ms}
 *       - {slow: h5, share: 10%}
 */
#include "fabric/jobs.h"

#include <string.h>

const char *const fabric_fault_names[FABRIC_FAULT_KINDS] = {"down", "corrupt", "drop", "pause", "slow"};

struct raw_fault {
    struct fabric_fault as;
    uint64_t share_ppm, every, priority;
};

static void read_target(struct loader *loader, const struct tree *value, struct fabric_fault *fault)
{
    const struct fabric *fabric = loader->fabric;
    const char *name = NULL;
    struct nearest nearest;

    if (!read_text(loader, value, &name)) return;
    fault->node = fabric_find_node(fabric, name);
    fault->port = FABRIC_NONE;
    if (fault->node != FABRIC_NONE) return;
    fault->port = fabric_find_port(fabric, name);
    if (fault->port != FABRIC_NONE && fabric->port[fault->port].peer != FABRIC_NONE) {
        fault->node = fabric->port[fault->port].node;
        return;
    }
    if (strchr(name, ':')) {
        read_error(loader, value->at, "%s: there is no cabled port '%s'", value->key, name);
        return;
    }
    nearest_init(&nearest, name);
    for (uint32_t n = 0; n < fabric->nodes && n < 8192; n++)
        nearest_try(&nearest, fabric->node[n].name);
    if (nearest.word)
        read_error(loader, value->at, "%s: nothing is named '%s'; did you mean '%s'?", value->key, name, nearest.word);
    else
        read_error(loader, value->at, "%s: nothing is named '%s'; write a node or a port, as in leaf0 or leaf0:3",
                   value->key, name);
}

static const struct field fault_fields[] = {
    F_VALUE("at", FIELD_TIME, struct raw_fault, as.at, 0, 0),
    F_VALUE("for", FIELD_TIME, struct raw_fault, as.lasts_ps, 1, 0),
    F_VALUE("share", FIELD_SHARE, struct raw_fault, share_ppm, 0, 1000000),
    F_VALUE("every", FIELD_COUNT, struct raw_fault, every, 1, UINT32_MAX),
    F_VALUE("priority", FIELD_COUNT, struct raw_fault, priority, 0, 7),
    F_IGNORE("down"),
    F_IGNORE("corrupt"),
    F_IGNORE("drop"),
    F_IGNORE("pause"),
    F_IGNORE("slow"),
};

/* What this kind of fault needs besides its target. */
static void check_fault(struct loader *loader, const struct tree *item, const struct raw_fault *raw)
{
    const struct fabric *fabric = loader->fabric;
    const char *kind = fabric_fault_names[raw->as.kind];
    bool share = raw->as.kind == FABRIC_FAULT_CORRUPT || raw->as.kind == FABRIC_FAULT_SLOW;
    bool every = raw->as.kind == FABRIC_FAULT_DROP;

    if (share && raw->share_ppm == NOT_GIVEN)
        read_error(loader, item->at, "%s needs a share, as in {%s: h0, share: 1%%}", kind, kind);
    if (every && raw->every == NOT_GIVEN)
        read_error(loader, item->at, "drop needs every, as in {drop: h0, every: 256}");
    if (raw->as.kind == FABRIC_FAULT_SLOW && raw->share_ppm == 0)
        read_error(loader, tree_get(item, "share")->at, "slow: a share of 0 is a line that is down: write {down: h0}");
    if (!share && raw->share_ppm != NOT_GIVEN)
        read_error(loader, tree_get(item, "share")->key_at, "share means nothing to %s", kind);
    if (!every && raw->every != NOT_GIVEN)
        read_error(loader, tree_get(item, "every")->key_at, "every means nothing to %s", kind);
    if (raw->as.kind != FABRIC_FAULT_PAUSE && raw->priority != NOT_GIVEN)
        read_error(loader, tree_get(item, "priority")->key_at, "priority means nothing to %s", kind);
    if (raw->as.kind == FABRIC_FAULT_SLOW && raw->as.node != FABRIC_NONE && raw->as.node >= fabric->hosts)
        read_error(loader, item->at, "slow: a host or a port of one is due, as in {slow: h0, share: 10%%}");
}

static void read_fault(struct loader *loader, const struct tree *item, struct fabric_fault *ret)
{
    struct raw_fault raw = {.as = {.lasts_ps = PS_NEVER, .node = FABRIC_NONE, .port = FABRIC_NONE, .where = item->at},
                            .share_ppm = NOT_GIVEN,
                            .every = NOT_GIVEN,
                            .priority = NOT_GIVEN};
    struct field_set set = {fault_fields, COUNT_OF(fault_fields), &raw};
    const struct fabric *fabric = loader->fabric;
    uint32_t kinds = 0;

    if (!read_map(loader, item, "fault", &set, 1)) return;
    for (uint8_t k = 0; k < FABRIC_FAULT_KINDS; k++) {
        const struct tree *target = tree_get(item, fabric_fault_names[k]);
        if (!target) continue;
        kinds++;
        raw.as.kind = k;
        read_target(loader, target, &raw.as);
    }
    if (kinds != 1) {
        read_error(loader, item->at, "a fault is one of down, corrupt, drop, pause, slow, with its target");
        return;
    }
    check_fault(loader, item, &raw);
    raw.as.ppm = raw.share_ppm == NOT_GIVEN ? 0 : (uint32_t)raw.share_ppm;
    raw.as.every = raw.every == NOT_GIVEN ? 0 : (uint32_t)raw.every;
    if (raw.priority != NOT_GIVEN) {
        raw.as.priority = (uint8_t)raw.priority;
    } else {
        for (uint32_t c = fabric->class_count; c-- > 0;)
            if (fabric->classes[c].lossless) raw.as.priority = fabric->classes[c].priority;
    }
    *ret = raw.as;
}

bool faults_load(struct loader *loader)
{
    struct fabric *fabric = loader->fabric;
    const struct tree *list = tree_get(loader->root, "faults");
    uint32_t before = loader->errors->count + loader->errors->more;

    if (!list) return true;
    if (!read_is_list(loader, list, "faults")) return false;
    struct fabric_fault *fault = KEEP_NEW(loader, struct fabric_fault, list->count);
    if (!fault) return false;
    fabric->fault = fault;
    for (const struct tree *item = list->first; item; item = item->next)
        read_fault(loader, item, &fault[fabric->faults++]);
    return loader->errors->count + loader->errors->more == before && !loader->no_memory;
}
