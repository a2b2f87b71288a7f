/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON of SONiC's commands: show interfaces counters -j, show queue counters --json; and CONFIG_DB, for what ports are
 * told: headroom and ECN thresholds of their groups and queues, priorities with PFC.
 */
#include <stdlib.h>
#include <string.h>

#include "evidence/read/reader.h"

/* --- commands --- */

/* {"Ethernet0": {"RX_OK": "1,200", ...}} */
static bool interfaces_is(const struct json *root)
{
    struct text_field name = field_of(root->type == JSON_OBJECT && root->child ? root->child->name : NULL);

    return field_is_port(&name) && json_get(root->child, "STATE") &&
           (json_get(root->child, "RX_ERR") || json_get(root->child, "FEC_CORR") || json_get(root->child, "RX_OK"));
}

static void interfaces_read(struct reading *in, const struct json *root)
{
    static const struct counter_name names[] = {
        {"RX_OK", EVIDENCE_PORT_RX_PACKETS, 0, true},
        {"TX_OK", EVIDENCE_PORT_TX_PACKETS, 0, true},
        {"RX_ERR", EVIDENCE_CRC_ERRORS, 0, true},
        {"RX_DRP", EVIDENCE_PORT_RX_DROPS, 0, true},
        {"TX_DRP", EVIDENCE_PORT_TX_DROPS, 0, true},
        {"RX_OVR", EVIDENCE_MTU_DROPS, 0, true},
        {"FEC_CORR", EVIDENCE_FEC_CORRECTED, 0, true},
        {"FEC_UNCORR", EVIDENCE_FEC_UNCORRECTED, 0, true},
        {"FEC_SYMBOL_ERR", EVIDENCE_SYMBOL_ERRORS, 0, true},
        {NULL, 0, 0, false},
    };

    reading_system(in, "sonic", FABRIC_ROLE_SWITCH);
    for (const struct json *one = root->child; one; one = one->next) {
        struct text_field name = field_of(one->name), state = field_of(json_string(json_get(one, "STATE")));
        uint32_t port = field_is_port(&name) ? reading_port(in, &name) : EVIDENCE_NONE;
        uint64_t up;
        double ber;
        if (port == EVIDENCE_NONE) continue;
        for (const struct json *cell = one->child; cell; cell = cell->next) {
            struct text_field key = field_of(cell->name), value = field_of(cell->text);
            in->source.line = cell->line;
            reading_named(in, names, port, EVIDENCE_NO_PRIORITY, &key, &value);
        }
        in->source.line = one->line;
        if (field_state(&state, &up))
            evidence_set(in->evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_LINK_UP, up, &in->source);
        if (json_real(json_get(one, "FEC_PRE_BER"), &ber))
            evidence_set_real(in->evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_PRE_FEC_BER, ber, &in->source);
    }
}
const struct json_reader reader_sonic_interfaces_json = {"sonic-interfaces-json", "SONiC: show interfaces counters -j",
                                                         interfaces_is, interfaces_read};

/* {"Ethernet0": {"UC0": {"totalpacket": "0", "droppacket": ...}}} */
static bool queues_is(const struct json *root)
{
    const struct json *port = root->type == JSON_OBJECT ? root->child : NULL;
    struct text_field name = field_of(port ? port->name : NULL);

    if (!field_is_port(&name)) return false;
    for (const struct json *queue = port->child; queue; queue = queue->next)
        if (json_get(queue, "totalpacket") || json_get(queue, "ecnmarkedpacket")) return true;
    return false;
}

static void queues_read(struct reading *in, const struct json *root)
{
    static const struct counter_name names[] = {
        {"totalpacket", EVIDENCE_TX_PACKETS, 0, true}, {"totalbytes", EVIDENCE_TX_BYTES, 0, true},
        {"droppacket", EVIDENCE_QUEUE_DROPS, 0, true}, {"wreddroppacket", EVIDENCE_WRED_DROPS, 0, true},
        {"ecnmarkedpacket", EVIDENCE_MARKED, 0, true}, {NULL, 0, 0, false},
    };

    reading_system(in, "sonic", FABRIC_ROLE_SWITCH);
    for (const struct json *one = root->child; one; one = one->next) {
        struct text_field name = field_of(one->name);
        uint32_t port = field_is_port(&name) ? reading_port(in, &name) : EVIDENCE_NONE;
        if (port == EVIDENCE_NONE) continue;
        for (const struct json *queue = one->child; queue; queue = queue->next) {
            struct text_field which = field_of(queue->name);
            int priority = field_suffix(&which, "UC");
            if (priority < 0) priority = field_suffix(&which, "ALL");
            if (priority < 0) priority = field_suffix(&which, "VOQ");
            if (priority < 0 || priority >= EVIDENCE_PRIORITIES) continue;
            for (const struct json *cell = queue->child; cell; cell = cell->next) {
                struct text_field key = field_of(cell->name), value = field_of(cell->text);
                in->source.line = cell->line;
                reading_named(in, names, port, (unsigned)priority, &key, &value);
            }
        }
    }
}
const struct json_reader reader_sonic_queues_json = {"sonic-queues-json", "SONiC: show queue counters --json",
                                                     queues_is, queues_read};

/* --- CONFIG_DB --- */

static bool config_is(const struct json *root)
{
    return root->type == JSON_OBJECT && (json_get(root, "BUFFER_PG") || json_get(root, "PORT_QOS_MAP") ||
                                         (json_get(root, "DEVICE_METADATA") && json_get(root, "PORT")));
}

/* What a profile says that many ports may have; NULL: it does not. */
struct profile {
    const struct json *headroom;        /* of a buffer's */
    const struct json *ecn, *min, *max; /* of WRED's */
};
struct profiles {
    struct json_index names;
    struct profile *profile; /* of each of them */
};

static void profiles_init(struct profiles *profiles, const struct json *table)
{
    json_index_init(&profiles->names, table);
    profiles->profile = calloc(profiles->names.count + 1u, sizeof profiles->profile[0]);
    for (uint32_t i = 0; profiles->profile && i < profiles->names.count; i++) {
        const struct json *one = profiles->names.member[i];
        profiles->profile[i] =
            (struct profile){json_get(one, "xoff"), json_get(one, "ecn"), json_get(one, "green_min_threshold"),
                             json_get(one, "green_max_threshold")};
    }
}

static void profiles_release(struct profiles *profiles)
{
    json_index_release(&profiles->names);
    free(profiles->profile);
}

/* A profile by what an entry says: "AZURE_LOSSLESS" or, of older releases, "[WRED_PROFILE|AZURE_LOSSLESS]". */
static const struct profile *profile_of(const struct profiles *profiles, const char *said)
{
    char name[128];
    const char *begin = said ? strrchr(said, '|') : NULL;
    size_t length;

    if (!said || !profiles->profile) return NULL;
    begin = begin ? begin + 1 : said;
    length = strcspn(begin, "]");
    if (length >= sizeof name) return NULL;
    memcpy(name, begin, length);
    name[length] = 0;
    uint32_t at = json_index_find(&profiles->names, name);
    return at < profiles->names.count ? &profiles->profile[at] : NULL;
}

static void set_number(struct reading *in, uint32_t port, unsigned priority, enum evidence_counter counter,
                       const struct json *value)
{
    uint64_t number;

    if (json_u64(value, &number)) evidence_set(in->evidence, port, priority, counter, number, &in->source);
}

static void set_headroom(struct reading *in, const struct profile *set, uint32_t port, unsigned priority)
{
    set_number(in, port, priority, EVIDENCE_HEADROOM_LIMIT, set->headroom);
    if (set->headroom) evidence_set(in->evidence, port, priority, EVIDENCE_LOSSLESS, 1, &in->source);
}

static void set_marking(struct reading *in, const struct profile *set, uint32_t port, unsigned priority)
{
    const char *ecn = json_string(set->ecn);

    if (!ecn) return;
    if (!strcmp(ecn, "ecn_none")) {
        evidence_set(in->evidence, port, priority, EVIDENCE_ECN_MIN, 0, &in->source);
        evidence_set(in->evidence, port, priority, EVIDENCE_ECN_MAX, 0, &in->source);
        return;
    }
    set_number(in, port, priority, EVIDENCE_ECN_MIN, set->min);
    set_number(in, port, priority, EVIDENCE_ECN_MAX, set->max);
}

struct setting {
    const char *table, *profiles, *key; /* the key of an entry that names its profile */
    void (*set)(struct reading *in, const struct profile *set, uint32_t port, unsigned priority);
};

/* "Ethernet0,Ethernet4|3-4": ports, then priorities. */
static void settings_of(struct reading *in, const struct json *root, const struct setting *from)
{
    const struct json *table = json_get(root, from->table);
    struct profiles profiles;

    profiles_init(&profiles, json_get(root, from->profiles));
    for (const struct json *entry = table ? table->child : NULL; entry; entry = entry->next) {
        const char *bar = entry->name ? strrchr(entry->name, '|') : NULL;
        const struct profile *set = profile_of(&profiles, json_string(json_get(entry, from->key)));
        if (!bar || bar[1] < '0' || bar[1] > '7') continue;
        in->source.line = entry->line;
        unsigned first = (unsigned)(bar[1] - '0'), last = first;
        if (bar[2] == '-' && bar[3] >= '0' && bar[3] <= '7') last = (unsigned)(bar[3] - '0');
        for (const char *at = entry->name; at < bar; at++) {
            struct text_field name = {at, strcspn(at, ",|")};
            at += name.length;
            uint32_t port = field_is_port(&name) ? reading_port(in, &name) : EVIDENCE_NONE;
            for (unsigned p = first; set && p <= last && port != EVIDENCE_NONE; p++)
                from->set(in, set, port, p);
        }
    }
    profiles_release(&profiles);
}

static void config_read(struct reading *in, const struct json *root)
{
    const struct json *maps = json_get(root, "PORT_QOS_MAP"), *ports = json_get(root, "PORT");

    reading_system(in, "sonic", FABRIC_ROLE_SWITCH);
    settings_of(in, root, &(struct setting){"BUFFER_PG", "BUFFER_PROFILE", "profile", set_headroom});
    settings_of(in, root, &(struct setting){"QUEUE", "WRED_PROFILE", "wred_profile", set_marking});
    for (const struct json *entry = maps ? maps->child : NULL; entry; entry = entry->next) {
        struct text_field name = field_of(entry->name);
        const char *on = json_string(json_get(entry, "pfc_enable"));
        uint32_t port = field_is_port(&name) ? reading_port(in, &name) : EVIDENCE_NONE;
        if (!on || port == EVIDENCE_NONE) continue;
        in->source.line = entry->line;
        for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++)
            evidence_set(in->evidence, port, p, EVIDENCE_PFC_ON, strchr(on, (int)('0' + p)) != NULL, &in->source);
    }
    for (const struct json *entry = ports ? ports->child : NULL; entry; entry = entry->next) {
        struct text_field name = field_of(entry->name), text = field_of(json_string(json_get(entry, "description")));
        struct text_field speed = field_of(json_string(json_get(entry, "speed")));
        uint64_t rate;
        uint32_t port = field_is_port(&name) ? reading_port(in, &name) : EVIDENCE_NONE;
        if (port == EVIDENCE_NONE) continue;
        in->source.line = entry->line;
        reading_description(in, port, &text);
        if (field_rate(&speed, &rate))
            evidence_set(in->evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_FULL_RATE, rate, &in->source);
    }
}
const struct json_reader reader_sonic_config = {"sonic-config", "SONiC: CONFIG_DB (config_db.json)", config_is,
                                                config_read};
