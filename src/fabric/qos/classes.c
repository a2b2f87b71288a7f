/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traffic classes: DSCP and priority, lossless or not, marking, scheduling, buffer.
 *
 * A class is defined once, under `classes`; a layer may change what it does there, never what it is
 * (name, DSCP, priority): a fabric in which those differ is expressed by the maps of a device.
 */
#include "fabric/qos/settings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "fabric/fabric.h"
#include "fabric/system_keys.h"

#define TRIM_BYTES 64    /* that are left, where the file does not say */
#define CLASSES_TEXT 400 /* of the usual ones */

static void read_ecn(struct loader *loader, const struct tree *value, void *into)
{
    static const struct field fields[] = {
        F_VALUE("min", FIELD_SIZE, struct class_raw, ecn_min_bytes, 0, UINT32_MAX),
        F_VALUE("max", FIELD_SIZE, struct class_raw, ecn_max_bytes, 0, UINT32_MAX),
        F_VALUE("probability", FIELD_SHARE, struct class_raw, ecn_ppm, 1, 1000000),
        F_VALUE("per", FIELD_RATE, struct class_raw, ecn_per_bps, 1000, 0),
    };
    struct class_raw *raw = into;
    struct field_set set = {fields, COUNT_OF(fields), raw};
    bool on = true;

    if (value->type == TREE_SCALAR) {
        if (!read_bool(loader, value, &on)) return;
        if (on && raw->ecn_max_bytes == 0)
            read_error(loader, value->at, "ecn: write the curve, as in {min: 500KB, max: 1500KB, probability: 10%%}");
        raw->ecn_on = on;
        return;
    }
    if (!read_map(loader, value, "ecn", &set, 1)) return;
    raw->ecn_on = true;
    if (raw->ecn_max_bytes == 0) {
        read_error(loader, value->at,
                   "ecn: no max; write the curve, as in {min: 500KB, max: 1500KB, probability: 10%%}");
    } else if (raw->ecn_min_bytes > raw->ecn_max_bytes) {
        char min[UNIT_TEXT], max[UNIT_TEXT];
        read_error(loader, value->at, "ecn: min %s is above max %s", unit_format(UNIT_SIZE, raw->ecn_min_bytes, min),
                   unit_format(UNIT_SIZE, raw->ecn_max_bytes, max));
    }
}

static void read_trim(struct loader *loader, const struct tree *value, void *into)
{
    static const struct field fields[] = {
        F_VALUE("bytes", FIELD_BYTES, struct sw_trim, bytes, 64, 1024),
        F_VALUE("dscp", FIELD_COUNT, struct sw_trim, dscp, 0, 63),
        F_VALUE("last-hop-dscp", FIELD_COUNT, struct sw_trim, last_hop_dscp, 0, 63),
    };
    struct class_raw *raw = into;
    struct sw_trim trim = {.bytes = TRIM_BYTES, .dscp = UINT8_MAX, .last_hop_dscp = UINT8_MAX};
    struct field_set set = {fields, COUNT_OF(fields), &trim};
    bool on = true;

    if (value->type == TREE_SCALAR) {
        if (!read_bool(loader, value, &on)) return;
        if (on) read_error(loader, value->at, "trim: write the DSCP of what is left, as in {bytes: 64, dscp: 40}");
        raw->trim = (struct sw_trim){0};
        return;
    }
    if (!read_map(loader, value, "trim", &set, 1)) return;
    if (trim.dscp == UINT8_MAX) {
        read_error(loader, value->at, "trim: no dscp; write that of what is left, as in {bytes: 64, dscp: 40}");
        return;
    }
    if (trim.last_hop_dscp == UINT8_MAX) trim.last_hop_dscp = trim.dscp;
    raw->trim = trim;
}

#define ALPHA_MAX 2048u /* of a switch, whose threshold is a product of 32 bits */

static void read_alpha(struct loader *loader, const struct tree *value, void *into)
{
    struct class_raw *raw = into;
    uint32_t num, den;

    if (!read_fraction(loader, value, &num, &den)) return;
    if (num / den >= ALPHA_MAX) {
        read_error(loader, value->at, "alpha: %s is too large, write less than %u", value->text, ALPHA_MAX);
        return;
    }
    raw->alpha_num = num;
    raw->alpha_den = den;
    raw->xoff_bytes = NOT_GIVEN;
}

#define RAW(name, kind, member, min, max) F_VALUE(name, kind, struct class_raw, member, min, max)
static const struct field class_fields[] = {
    RAW("lossless", FIELD_BOOL, lossless, 0, 0),
    RAW("strict", FIELD_BOOL, strict, 0, 0),
    RAW("share", FIELD_SHARE, share_ppm, 1, 1000000),
    F_CALL("ecn", read_ecn),
    F_CALL("trim", read_trim),
    F_CALL("alpha", read_alpha),
    RAW("limit", FIELD_SIZE, limit_bytes, 0, 0),
    RAW("xoff", FIELD_SIZE, xoff_bytes, 0, 0),
    RAW("xon", FIELD_SIZE, xon_bytes, 0, UINT32_MAX),
    RAW("reserved", FIELD_SIZE, reserved_bytes, 0, UINT32_MAX),
    RAW("headroom", FIELD_SIZE, headroom_bytes, 0, UINT32_MAX),
};

static const struct class_raw raw_empty = {
    .limit_bytes = NOT_GIVEN,
    .xoff_bytes = NOT_GIVEN,
    .xon_bytes = NOT_GIVEN,
    .reserved_bytes = NOT_GIVEN,
    .headroom_bytes = NOT_GIVEN,
    .ecn_ppm = 1000000,
};

uint32_t class_find(struct loader *loader, const struct tree *value)
{
    const struct fabric *fabric = loader->fabric;
    const char *name = NULL;
    struct nearest nearest;

    if (!read_text(loader, value, &name)) return FABRIC_NONE;
    nearest_init(&nearest, name);
    for (uint32_t c = 0; c < fabric->class_count; c++) {
        if (strcmp(fabric->classes[c].name, name) == 0) return c;
        nearest_try(&nearest, fabric->classes[c].name);
    }
    if (!loader->classes_good) return FABRIC_NONE; /* it may be one of those that are wrong */
    if (nearest.word)
        read_error(loader, value->at, "no class is named '%s'; did you mean '%s'?", name, nearest.word);
    else
        read_error(loader, value->at, "no class is named '%s'", name);
    return FABRIC_NONE;
}

struct definition { /* a class as it is read */
    struct fabric_class as;
    uint64_t priority;
    const struct tree *dscp;
};

static void read_dscp(struct loader *loader, const struct tree *value, void *into)
{
    struct definition *definition = into;
    uint64_t bits = 0;
    if (read_bits(loader, value, 64, &bits) && bits) {
        definition->as.dscps = bits;
        definition->as.dscp = (uint8_t)__builtin_ctzll(bits);
        if (value->type == TREE_LIST && value->first) { /* the first that is named is the one that is sent */
            uint64_t first = 0;
            if (read_decimal(value->first->text, &first)) definition->as.dscp = (uint8_t)first;
        }
    }
    definition->dscp = value;
}

/* Another system's traffic beside the fabric's, in the same buffers: TCP beside RoCE. */
static void read_class_system(struct loader *loader, const struct tree *value, void *into)
{
    const struct fabric_system_row *own = fabric_system(loader->fabric);
    uint8_t choice;

    if (!system_read(loader, value, &choice)) return;
    ((struct definition *)into)->as.system = choice;
    if (choice == loader->fabric->system) return;
    if (choice != FABRIC_TCP || own->link != FABRIC_LINK_PFC)
        read_error(loader, value->at, "a class of '%s' in a fabric of '%s': only 'tcp' beside rocev2 or rocev1 can be",
                   fabric_system_names[choice], own->name);
    else if (!fabric_systems[choice].runs)
        read_error(loader, value->at, "system '%s' cannot be run yet", fabric_system_names[choice]);
}

/* Conflicts with the classes read so far. */
static bool class_conflicts(struct loader *loader, const struct tree *item, const struct definition *definition,
                            const struct fabric_class *before, uint32_t count)
{
    const struct fabric_class *as = &definition->as;

    if (definition->priority == NOT_GIVEN) {
        if (as->lossless)
            read_error(
                loader, item->at,
                "class '%s' is lossless and has no priority: PFC pauses a priority; write one, as in priority: 3",
                as->name);
        else
            read_error(loader, item->at, "class '%s' has no priority; write one, 0 to 7", as->name);
        return true;
    }
    for (uint32_t c = 0; c < count; c++) {
        if (strcmp(before[c].name, as->name) == 0) {
            read_error(loader, item->at, "two classes are named '%s', the first in line %u", as->name,
                       before[c].at.line);
            return true;
        }
        if (before[c].priority == definition->priority) {
            read_error(loader, tree_get(item, "priority")->at, "priority %u is of class '%s' already",
                       before[c].priority, before[c].name);
            return true;
        }
        if (before[c].dscps & as->dscps) {
            read_error(loader, definition->dscp->at, "DSCP %u is of class '%s' already",
                       (unsigned)__builtin_ctzll(before[c].dscps & as->dscps), before[c].name);
            return true;
        }
    }
    return false;
}

/* Of one map: keys of which one makes the other mean nothing. */
static bool class_contradicts(struct loader *loader, const struct tree *item, const char *name,
                              const struct class_raw *raw)
{
    const struct tree *share = tree_get(item, "share"), *xoff = tree_get(item, "xoff");

    if (raw->strict && share)
        read_error(loader, share->at, "class '%s' is strict: a share means nothing to it", name);
    else if (xoff && tree_get(item, "alpha"))
        read_error(loader, xoff->key_at, "class '%s': give alpha or xoff, not both", name);
    else
        return false;
    return true;
}

static bool read_class(struct loader *loader, const struct tree *item, struct fabric_class *classes, uint32_t index,
                       struct class_raw *raw)
{
    static const struct field fields[] = {
        F_VALUE("name", FIELD_TEXT, struct definition, as.name, 0, 0),
        F_VALUE("priority", FIELD_COUNT, struct definition, priority, 0, 7),
        F_CALL("dscp", read_dscp),
        F_CALL("system", read_class_system),
    };
    struct definition definition = {.priority = NOT_GIVEN, .as = {.system = loader->fabric->system}};
    struct field_set sets[] = {{fields, COUNT_OF(fields), &definition}, {class_fields, COUNT_OF(class_fields), raw}};

    *raw = raw_empty;
    if (!read_map(loader, item, "class", sets, 2)) return false;
    if (!definition.as.name) {
        read_error(loader, item->at, "a class needs a name");
        return false;
    }
    definition.as.lossless = raw->lossless;
    definition.as.strict = raw->strict;
    definition.as.share_ppm = raw->share_ppm;
    definition.as.at = item->at;
    if (class_contradicts(loader, item, definition.as.name, raw)) return false;
    if (class_conflicts(loader, item, &definition, classes, index)) return false;
    definition.as.priority = (uint8_t)definition.priority;
    classes[index] = definition.as;
    return true;
}

struct tree *classes_usual(struct arena *arena, bool hpcc, uint8_t system)
{
    static const char usual[] = "- {name: rdma, dscp: 26, priority: 3, %s, share: 90%%}\n"
                                "- {name: cnp, dscp: %s, priority: 6, strict: true}\n"
                                "- {name: default, priority: 0, share: 10%%}\n";
    static const char ns3[] = "lossless: true, ecn: {min: 400KB, max: 1600KB, probability: 20%, per: 100G}";
    struct fabric_errors errors = {0};
    struct tree *list = NULL;
    char *text = ARENA_NEW(arena, char, CLASSES_TEXT);

    if (text == NULL) return NULL;
    int length = snprintf(text, CLASSES_TEXT, usual, hpcc ? ns3 : fabric_systems[system].data_class,
                          system == FABRIC_UET ? "[48, 40, 41]" : "48"); /* trimmed packets are as urgent */
    CHECK(length > 0 && length < CLASSES_TEXT);
    int result = tree_parse(text, (size_t)length, arena, &list, &errors);
    CHECK(result != -EINVAL);
    if (result < 0) return NULL;
    list->key = "classes";
    list->at = (struct fabric_at){0, 0};
    tree_relocate(list, list->at); /* no file says it */
    return list;
}

/* DSCP and PCP to traffic class: the classes' own, all others to the class named default, or the first lossy one
 * without a DSCP, or 0. */
static void class_maps(const struct fabric *fabric, struct qos *qos)
{
    uint32_t rest = FABRIC_NONE;

    for (uint32_t c = 0; c < fabric->class_count; c++) {
        const struct fabric_class *as = &fabric->classes[c];
        bool named = strcmp(as->name, "default") == 0;
        if (named || (rest == FABRIC_NONE && !as->dscps && !as->lossless)) rest = c;
        if (named) break;
    }
    memset(qos->dscp_to_tc, rest == FABRIC_NONE ? 0 : fabric->classes[rest].priority, sizeof(qos->dscp_to_tc));
    for (uint32_t c = 0; c < fabric->class_count; c++)
        for (unsigned d = 0; d < 64; d++)
            if (fabric->classes[c].dscps >> d & 1) qos->dscp_to_tc[d] = fabric->classes[c].priority;
    for (uint8_t p = 0; p < FABRIC_PRIOS; p++)
        qos->pcp_to_tc[p] = qos->tc_to_queue[p] = qos->tc_to_pg[p] = p;
}

bool classes_load(struct loader *loader, struct qos *ret)
{
    struct fabric *fabric = loader->fabric;
    const struct tree *list = loader->part[PART_CLASSES];
    struct fabric_class *classes = KEEP_NEW(loader, struct fabric_class, CLASSES_MAX);
    bool good = true;

    if (!classes) return false;
    fabric->classes = classes;
    if (!list) list = classes_usual(&loader->scratch, fabric->behaviour == FABRIC_HPCC_NS3, fabric->system);
    if (!list) {
        loader->no_memory = true;
        return false;
    }
    if (!read_is_list(loader, list, "classes")) return false;
    if (list->count == 0 || list->count > CLASSES_MAX) {
        read_error(loader, list->at, "classes: %u of them; from 1 to %d can be", list->count, CLASSES_MAX);
        return false;
    }
    for (const struct tree *item = list->first; item; item = item->next) {
        if (read_class(loader, item, classes, fabric->class_count, &ret->class_of[fabric->class_count]))
            fabric->class_count++;
        else
            good = false;
    }
    class_maps(fabric, ret);
    if (good) qos_check(loader, ret, list->at);
    return good;
}

void qos_check(struct loader *loader, const struct qos *qos, struct fabric_at at)
{
    uint64_t sum = 0;
    char text[UNIT_TEXT];

    for (uint32_t c = 0; c < loader->fabric->class_count; c++)
        if (!qos->class_of[c].strict) sum += qos->class_of[c].share_ppm;
    if (sum > 1000000)
        read_error(loader, at, "the shares of the classes add up to %s", unit_format(UNIT_SHARE, sum, text));
}

/* A layer's classes: {rdma: {lossless: false}}. */
static void read_class_layer(struct loader *loader, const struct tree *value, void *into)
{
    struct qos *qos = into;

    if (!read_is_map(loader, value, "classes")) return;
    for (const struct tree *item = value->first; item; item = item->next) {
        struct tree name = {.type = TREE_SCALAR, .text = item->key, .at = item->key_at};
        uint32_t c = class_find(loader, &name);
        if (c == FABRIC_NONE) continue;
        struct field_set set = {class_fields, COUNT_OF(class_fields), &qos->class_of[c]};
        if (read_map(loader, item, "class", &set, 1))
            class_contradicts(loader, item, loader->fabric->classes[c].name, &qos->class_of[c]);
    }
}

static void read_trust(struct loader *loader, const struct tree *value, void *into)
{
    static const char *const words[] = {"dscp", "pcp", NULL};
    uint32_t choice;
    if (read_choice(loader, value, words, &choice)) ((struct qos *)into)->trust = (uint8_t)choice;
}

/* `pfc: false`, `pfc: [3]`, `pfc: {rx: [3], tx: false}`. */
static void read_pfc_bits(struct loader *loader, const struct tree *value, uint64_t *ret)
{
    bool on;

    if (value->type == TREE_SCALAR && !(value->text[0] >= '0' && value->text[0] <= '9')) {
        if (read_bool(loader, value, &on)) *ret = on ? NOT_GIVEN : 0;
        return;
    }
    read_bits(loader, value, 8, ret);
}
static void read_pfc_rx(struct loader *loader, const struct tree *value, void *into)
{
    read_pfc_bits(loader, value, &((struct qos *)into)->pfc_rx);
}
static void read_pfc_tx(struct loader *loader, const struct tree *value, void *into)
{
    read_pfc_bits(loader, value, &((struct qos *)into)->pfc_tx);
}
static void read_pfc(struct loader *loader, const struct tree *value, void *into)
{
    static const struct field fields[] = {F_CALL("rx", read_pfc_rx), F_CALL("tx", read_pfc_tx)};
    struct field_set set = {fields, COUNT_OF(fields), into};

    if (value->type == TREE_MAP) {
        read_map(loader, value, "pfc", &set, 1);
        return;
    }
    read_pfc_rx(loader, value, into);
    read_pfc_tx(loader, value, into);
}

/* `{26: 3, 48: 6}` into a table of bytes. */
static void read_byte_map(struct loader *loader, const struct tree *value, uint8_t *table, uint64_t keys)
{
    if (!read_is_map(loader, value, value->key)) return;
    for (const struct tree *item = value->first; item; item = item->next) {
        uint64_t from, to;
        if (!read_decimal(item->key, &from) || from >= keys) {
            read_error(loader, item->key_at, "%s: '%s' is not a number from 0 to %u", value->key, item->key,
                       (unsigned)keys - 1);
            continue;
        }
        if (read_unit(loader, item, UNIT_COUNT, 0, FABRIC_PRIOS - 1, &to)) table[from] = (uint8_t)to;
    }
}
#define BYTE_MAP(member, keys)                                                                                         \
    static void read_##member(struct loader *loader, const struct tree *value, void *into)                             \
    {                                                                                                                  \
        read_byte_map(loader, value, ((struct qos *)into)->member, keys);                                              \
    }
BYTE_MAP(dscp_to_tc, 64)
BYTE_MAP(pcp_to_tc, 8)
BYTE_MAP(tc_to_queue, FABRIC_PRIOS)
BYTE_MAP(tc_to_pg, FABRIC_PRIOS)

/* A time, or a share of the standard's response time. */
static void read_reaction(struct loader *loader, const struct tree *value, void *into)
{
    struct qos *qos = into;
    uint64_t got;

    if (value->type == TREE_SCALAR && strchr(value->text, '%')) {
        if (!read_unit(loader, value, UNIT_SHARE, 0, 1000000, &got)) return;
        qos->reaction_ppm = (uint32_t)got;
        qos->reaction_ps = NOT_GIVEN;
    } else if (read_unit(loader, value, UNIT_TIME, 0, PS_S, &got)) {
        qos->reaction_ps = got;
    }
}

/* `false`, `true` (as PFC), or priorities. */
static void read_watched(struct loader *loader, const struct tree *value, void *into)
{
    struct qos *qos = into;
    bool on;

    if (value->type == TREE_LIST || value->text[strspn(value->text, "01234567")] == 0)
        read_bits(loader, value, FABRIC_PRIOS, &qos->watched);
    else if (read_bool(loader, value, &on))
        qos->watched = on ? NOT_GIVEN : 0;
}

static const char *const mode_words[] = {"on", "auto", NULL};
static const char *const pause_words[] = {"pfc", "802.3x", NULL};
const struct field qos_fields[] = {
    F_CALL("trust", read_trust),
    F_CALL("pfc", read_pfc),
    F_CHOICE("pfc-mode", struct qos, pfc_auto, mode_words),
    F_CALL("watched", read_watched),
    F_CHOICE("fec", struct qos, fec, fabric_fec_names),
    F_VALUE("headroom-cable", FIELD_LENGTH, struct qos, headroom_cable_mm, 1, 0),
    F_VALUE("headroom-mtu", FIELD_BYTES, struct qos, headroom_frame_bytes, 64, 65535),
    F_CHOICE("pause", struct qos, pause_all, pause_words),
    F_CALL("classes", read_class_layer),
    F_CALL("dscp-map", read_dscp_to_tc),
    F_CALL("pcp-map", read_pcp_to_tc),
    F_CALL("queue-map", read_tc_to_queue),
    F_CALL("group-map", read_tc_to_pg),
    F_CALL("pause-reaction", read_reaction),
    F_VALUE("pause-quanta", FIELD_COUNT, struct qos, pause_quanta, 1, 65535),
};
const uint32_t qos_field_count = COUNT_OF(qos_fields);

void qos_defaults(struct loader *loader, struct qos *qos)
{
    bool hpcc = loader->fabric->behaviour == FABRIC_HPCC_NS3;

    qos->pfc_rx = qos->pfc_tx = qos->watched = NOT_GIVEN;
    qos->frame_bytes = 9216;
    qos->pause_quanta = 65535;
    qos->reaction_ps = hpcc ? 0 : NOT_GIVEN;
    qos->reaction_ppm = 500000;
}
