/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SONiC's COUNTERS_DB as redis-dump or sonic-db-dump write it: statistics of object ids, and maps from names to ids.
 *
 * Hashes stand under "value" (both tools) or directly.  Queues of multicast are left out: which priority such a queue
 * carries is not said.  Watermarks stand in three places (since the last poll, the user's and the persistent ones):
 * the largest counts.
 */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "evidence/read/reader.h"

/* clang-format off */
static const struct counter_name port_names[] = {
    {"SAI_PORT_STAT_PFC_#_RX_PKTS", EVIDENCE_RX_PAUSE_FRAMES, 0, false},
    {"SAI_PORT_STAT_PFC_#_TX_PKTS", EVIDENCE_TX_PAUSE_FRAMES, 0, false},
    {"SAI_PORT_STAT_PFC_#_RX_PAUSE_DURATION_US", EVIDENCE_RX_PAUSE_NS, 1000, false},
    {"SAI_PORT_STAT_PFC_#_TX_PAUSE_DURATION_US", EVIDENCE_TX_PAUSE_NS, 1000, false},
    {"EST_PORT_STAT_PFC_#_RX_PAUSE_DURATION_US", EVIDENCE_RX_PAUSE_NS, 1000, true},
    {"EST_PORT_STAT_PFC_#_TX_PAUSE_DURATION_US", EVIDENCE_TX_PAUSE_NS, 1000, true},
    {"SAI_PORT_STAT_PFC_#_ON2OFF_RX_PKTS", EVIDENCE_RX_PAUSE_EVENTS, 0, false},
    {"SAI_PORT_STAT_IF_IN_OCTETS", EVIDENCE_PORT_RX_BYTES, 0, false},
    {"SAI_PORT_STAT_IF_OUT_OCTETS", EVIDENCE_PORT_TX_BYTES, 0, false},
    {"SAI_PORT_STAT_IF_IN_UCAST_PKTS", EVIDENCE_PORT_RX_PACKETS, 0, false},
    {"SAI_PORT_STAT_IF_OUT_UCAST_PKTS", EVIDENCE_PORT_TX_PACKETS, 0, false},
    {"SAI_PORT_STAT_IF_IN_DISCARDS", EVIDENCE_PORT_RX_DROPS, 0, false},
    {"SAI_PORT_STAT_IF_OUT_DISCARDS", EVIDENCE_PORT_TX_DROPS, 0, false},
    {"SAI_PORT_STAT_ETHER_STATS_CRC_ALIGN_ERRORS", EVIDENCE_CRC_ERRORS, 0, false},
    {"SAI_PORT_STAT_IF_IN_ERRORS", EVIDENCE_CRC_ERRORS, 0, true},
    {"SAI_PORT_STAT_ETHER_RX_OVERSIZE_PKTS", EVIDENCE_MTU_DROPS, 0, false},
    {"SAI_PORT_STAT_IF_IN_FEC_CORRECTABLE_FRAMES", EVIDENCE_FEC_CORRECTED, 0, false},
    {"SAI_PORT_STAT_IF_IN_FEC_NOT_CORRECTABLE_FRAMES", EVIDENCE_FEC_UNCORRECTED, 0, false},
    {"SAI_PORT_STAT_IF_IN_FEC_SYMBOL_ERRORS", EVIDENCE_SYMBOL_ERRORS, 0, false},
    {NULL, 0, 0, false},
};
static const struct counter_name queue_names[] = {
    {"SAI_QUEUE_STAT_PACKETS", EVIDENCE_TX_PACKETS, 0, false},
    {"SAI_QUEUE_STAT_BYTES", EVIDENCE_TX_BYTES, 0, false},
    {"SAI_QUEUE_STAT_DROPPED_PACKETS", EVIDENCE_QUEUE_DROPS, 0, false},
    {"SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS", EVIDENCE_MARKED, 0, false},
    {"SAI_QUEUE_STAT_WRED_DROPPED_PACKETS", EVIDENCE_WRED_DROPS, 0, false},
    {"SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES", EVIDENCE_QUEUE_PEAK, 0, false},
    {"SAI_QUEUE_STAT_CURR_OCCUPANCY_BYTES", EVIDENCE_QUEUE_BYTES, 0, false},
    {"PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED", EVIDENCE_WATCHDOG_DETECTED, 0, false},
    {"PFC_WD_QUEUE_STATS_DEADLOCK_RESTORED", EVIDENCE_WATCHDOG_RESTORED, 0, false},
    {NULL, 0, 0, false},
};
static const struct counter_name group_names[] = {
    {"SAI_INGRESS_PRIORITY_GROUP_STAT_PACKETS", EVIDENCE_RX_PACKETS, 0, false},
    {"SAI_INGRESS_PRIORITY_GROUP_STAT_BYTES", EVIDENCE_RX_BYTES, 0, false},
    {"SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS", EVIDENCE_GROUP_DROPS, 0, false},
    {"SAI_INGRESS_PRIORITY_GROUP_STAT_SHARED_WATERMARK_BYTES", EVIDENCE_GROUP_PEAK, 0, false},
    {"SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES", EVIDENCE_HEADROOM_PEAK, 0, false},
    {NULL, 0, 0, false},
};
static const struct counter_name pool_names[] = {
    {"SAI_BUFFER_POOL_STAT_WATERMARK_BYTES", EVIDENCE_POOL_PEAK, 0, false},
    {"SAI_BUFFER_POOL_STAT_XOFF_ROOM_WATERMARK_BYTES", EVIDENCE_HEADROOM_POOL_PEAK, 0, false},
    {NULL, 0, 0, false},
};
/* clang-format on */

/* Maps from names to ids, and what the ids are of. */
static const struct kind {
    const char *map;
    const struct counter_name *names;
    bool numbered; /* "Ethernet0:3" */
} kinds[] = {
    {"COUNTERS_PORT_NAME_MAP", port_names, false},
    {"COUNTERS_QUEUE_NAME_MAP", queue_names, true},
    {"COUNTERS_PG_NAME_MAP", group_names, true},
    {"COUNTERS_BUFFER_POOL_NAME_MAP", pool_names, false},
};

struct id {
    uint64_t oid;
    uint32_t object;
    uint8_t kind, priority;
};
struct ids {
    struct id *id;
    uint32_t count, room;
};

static const struct json *hash_of(const struct json *value)
{
    const struct json *inner = json_get(value, "value");

    return inner && inner->type == JSON_OBJECT ? inner : value;
}

static bool oid_of(const char *text, uint64_t *oid)
{
    char *end;

    if (!text || strncmp(text, "oid:0x", 6)) return false;
    *oid = strtoull(text + 6, &end, 16);
    return end > text + 6 && !*end;
}

static int by_oid(const void *a, const void *b)
{
    const struct id *one = a, *two = b;

    return one->oid < two->oid ? -1 : one->oid > two->oid;
}

static void ids_add(struct ids *ids, const struct id *id)
{
    GROW(ids->id, ids->count, ids->room);
    ids->id[ids->count++] = *id;
}

/* "Ethernet0:3" -> port and priority; false: it is none of the eight, or of another kind of port. */
static bool numbered(struct reading *in, const char *name, struct id *id)
{
    const char *colon = strrchr(name, ':');
    uint64_t priority;

    if (!colon) return false;
    struct text_field port = {name, (size_t)(colon - name)}, number = field_of(colon + 1);
    if (!field_is_port(&port) || !field_number(&number, &priority) || priority >= EVIDENCE_PRIORITIES) return false;
    id->object = reading_port(in, &port);
    id->priority = (uint8_t)priority;
    return true;
}

static void ids_map(struct reading *in, struct ids *ids, const struct json *map, uint8_t kind)
{
    for (const struct json *one = map ? map->child : NULL; one; one = one->next) {
        struct id id = {0, in->device, kind, EVIDENCE_NO_PRIORITY};
        struct text_field name = field_of(one->name);
        if (!one->name || !oid_of(json_string(one), &id.oid)) continue;
        if (kinds[kind].numbered) {
            if (!numbered(in, one->name, &id)) continue;
        } else if (kinds[kind].names == port_names) {
            if (!field_is_port(&name)) continue;
            id.object = reading_port(in, &name);
        }
        ids_add(ids, &id);
    }
}

static struct id *ids_find(const struct ids *ids, const char *text)
{
    struct id wanted = {0};

    if (!ids->count || !oid_of(text, &wanted.oid)) return NULL;
    return bsearch(&wanted, ids->id, ids->count, sizeof ids->id[0], by_oid);
}

/* Queues of multicast are no priority's. */
static void leave_multicast_out(const struct ids *ids, const struct json *types)
{
    for (const struct json *one = types ? types->child : NULL; one; one = one->next) {
        const char *type = json_string(one);
        struct id *id = type && strstr(type, "MULTICAST") ? ids_find(ids, one->name) : NULL;
        if (id) id->object = EVIDENCE_NONE;
    }
}

static void watchdog_of(struct reading *in, const struct id *id, const struct json *hash)
{
    const char *status = json_string(json_get(hash, "PFC_WD_STATUS"));
    const char *paused = json_string(json_get(hash, "SAI_QUEUE_ATTR_PAUSE_STATUS"));
    uint64_t tx = 0, rx = 0;

    if (status)
        evidence_set(in->evidence, id->object, id->priority, EVIDENCE_WATCHDOG_ON, !strcmp(status, "stormed"),
                     &in->source);
    if (paused)
        evidence_set(in->evidence, id->object, id->priority, EVIDENCE_RX_PAUSED_NOW, !strcmp(paused, "true"),
                     &in->source);
    bool any = json_u64(json_get(hash, "PFC_WD_QUEUE_STATS_TX_DROPPED_PACKETS"), &tx);
    any |= json_u64(json_get(hash, "PFC_WD_QUEUE_STATS_RX_DROPPED_PACKETS"), &rx);
    if (any && !__builtin_add_overflow(tx, rx, &tx))
        evidence_set(in->evidence, id->object, id->priority, EVIDENCE_WATCHDOG_DROPS, tx, &in->source);
}

static void statistics(struct reading *in, const struct id *id, const struct json *hash)
{
    for (const struct json *one = hash->child; one; one = one->next) {
        struct text_field name = field_of(one->name), value = field_of(one->text);
        in->source.line = one->line;
        if (one->name && one->text) reading_named(in, kinds[id->kind].names, id->object, id->priority, &name, &value);
    }
    if (kinds[id->kind].names == queue_names) watchdog_of(in, id, hash);
}

static bool db_is(const struct json *root)
{
    return root->type == JSON_OBJECT &&
           (json_get(root, "COUNTERS_PORT_NAME_MAP") || json_get(root, "COUNTERS_QUEUE_NAME_MAP"));
}

static void db_read(struct reading *in, const struct json *root)
{
    struct ids ids = {0};

    reading_system(in, "sonic", FABRIC_ROLE_SWITCH);
    if (in->device == EVIDENCE_NONE) return;
    for (uint8_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        ids_map(in, &ids, hash_of(json_get(root, kinds[k].map)), k);
    if (ids.count) qsort(ids.id, ids.count, sizeof ids.id[0], by_oid);
    leave_multicast_out(&ids, hash_of(json_get(root, "COUNTERS_QUEUE_TYPE_MAP")));
    for (const struct json *one = root->child; one; one = one->next) {
        const char *name = one->name ? one->name : "";
        if (strncmp(name, "COUNTERS:", 9) && strncmp(name, "USER_WATERMARKS:", 16) &&
            strncmp(name, "PERSISTENT_WATERMARKS:", 22))
            continue;
        const struct id *id = ids_find(&ids, strchr(name, ':') + 1);
        if (id && id->object != EVIDENCE_NONE) statistics(in, id, hash_of(one));
    }
    free(ids.id);
}
const struct json_reader reader_sonic_db = {"sonic-db", "SONiC: COUNTERS_DB of redis-dump or sonic-db-dump", db_is,
                                            db_read};
