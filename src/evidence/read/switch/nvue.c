/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cumulus Linux: what `nv show interface …` prints as JSON (-o json) and as text.
 *
 * Without an interface in the document the file's name says it (nv_show_interface_swp1_qos_roce_counters.json does not
 * end with it, so that any part of the name that is a port counts).  Counters of RoCE do not say of which priority:
 * NVUE's own is 3, and what is counted by priority is better.  Pauses last microseconds.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "evidence/read/json_walk.h"
#include "evidence/read/switch/nvue.h"
#include "evidence/read/table.h"

#define ROCE 3 /* NVUE's switch priority of RoCE */

/* clang-format off */
static const struct counter_name names[] = {
    {"rx-pause-frames", EVIDENCE_RX_PAUSE_FRAMES, 0, false},
    {"tx-pause-frames", EVIDENCE_TX_PAUSE_FRAMES, 0, false},
    {"rx-pause-duration", EVIDENCE_RX_PAUSE_NS, 1000, false},
    {"tx-pause-duration", EVIDENCE_TX_PAUSE_NS, 1000, false},
    {"tx-frames", EVIDENCE_TX_PACKETS, 0, false},
    {"tx-bytes", EVIDENCE_TX_BYTES, 0, false},
    {"rx-frames", EVIDENCE_RX_PACKETS, 0, false},
    {"rx-bytes", EVIDENCE_RX_BYTES, 0, false},
    {"tx-uc-buffer-discards", EVIDENCE_QUEUE_DROPS, 0, false},
    {"wred-discards", EVIDENCE_WRED_DROPS, 0, false},
    {"ecn-marked-frames", EVIDENCE_MARKED, 0, false},
    {"rx-buffer-discards", EVIDENCE_GROUP_DROPS, 0, false},
    {"in-bytes", EVIDENCE_PORT_RX_BYTES, 0, false},
    {"in-pkts", EVIDENCE_PORT_RX_PACKETS, 0, false},
    {"out-bytes", EVIDENCE_PORT_TX_BYTES, 0, false},
    {"out-pkts", EVIDENCE_PORT_TX_PACKETS, 0, false},
    {"in-drops", EVIDENCE_PORT_RX_DROPS, 0, false},
    {"out-drops", EVIDENCE_PORT_TX_DROPS, 0, false},
    {"deadlock-count", EVIDENCE_WATCHDOG_DETECTED, 0, false},
    {"in-errors", EVIDENCE_CRC_ERRORS, 0, true},
    {"crc-errors", EVIDENCE_CRC_ERRORS, 0, false},
    {"carrier-down-count", EVIDENCE_LINK_DOWN, 0, false},
    {"fec-corrected-bits", EVIDENCE_FEC_CORRECTED, 0, false},
    {"fec-uncorrected-codewords", EVIDENCE_FEC_UNCORRECTED, 0, false},
    {"symbol-errors", EVIDENCE_SYMBOL_ERRORS, 0, false},
    {"mtu", EVIDENCE_MTU, 0, false},
    {NULL, 0, 0, false},
};
/* Parts of the counters of RoCE, and what is in each. */
static const struct part {
    const char *part, *name;
    uint8_t counter;
    uint16_t scale;
} parts[] = {
    {"rx-pfc-stats", "pause-packets", EVIDENCE_RX_PAUSE_FRAMES, 0},
    {"rx-pfc-stats", "pause-duration", EVIDENCE_RX_PAUSE_NS, 1000},
    {"tx-pfc-stats", "pause-packets", EVIDENCE_TX_PAUSE_FRAMES, 0},
    {"tx-pfc-stats", "pause-duration", EVIDENCE_TX_PAUSE_NS, 1000},
    {"rx-roce-stats", "roce-packets", EVIDENCE_RX_PACKETS, 0},
    {"rx-roce-stats", "roce-bytes", EVIDENCE_RX_BYTES, 0},
    {"rx-roce-stats", "no-buffer-discard", EVIDENCE_GROUP_DROPS, 0},
    {"rx-roce-stats", "pg-max-usage", EVIDENCE_GROUP_PEAK, 0},
    {"tx-roce-stats", "roce-packets", EVIDENCE_TX_PACKETS, 0},
    {"tx-roce-stats", "roce-bytes", EVIDENCE_TX_BYTES, 0},
    {"tx-roce-stats", "unicast-no-buffer-discard", EVIDENCE_QUEUE_DROPS, 0},
    {"tx-roce-stats", "tc-usage", EVIDENCE_QUEUE_BYTES, 0},
    {"tx-roce-stats", "tc-max-usage", EVIDENCE_QUEUE_PEAK, 0},
    {"tx-ecn-stats", "ecn-marked-packets", EVIDENCE_MARKED, 0},
};
/* clang-format on */

static void take_part(struct reading *in, uint32_t port, const char *part, const struct text_field *name,
                      const struct text_field *value)
{
    uint64_t number;

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (strcmp(part, parts[i].part) != 0 || !field_is(name, parts[i].name) || !field_number(value, &number))
            continue;
        if (parts[i].scale && __builtin_mul_overflow(number, parts[i].scale, &number)) return;
        evidence_offer(in->evidence, port, ROCE, parts[i].counter, number, &in->source);
    }
}

/* --- JSON --- */

static void roce_counters(struct reading *in, const struct json *object, uint32_t port)
{
    for (const struct json *part = object->child; part; part = part->next)
        for (const struct json *one = part->name ? part->child : NULL; one; one = one->next) {
            struct text_field name = field_of(one->name), value = field_of(one->text), word[2];
            in->source.line = one->line;
            if (field_split(value.at, word, 2) == 2 && field_is(&word[1], "Bytes")) value = word[0];
            take_part(in, port, part->name, &name, &value);
        }
}

/* {"leaf0": {"chassis": {"system-name": ...}, "port": {"name": ...}}} under "neighbor" */
static void neighbours(struct reading *in, const struct json *list, uint32_t port)
{
    for (const struct json *one = list ? list->child : NULL; one; one = one->next) {
        struct text_field device = field_of(json_string(json_path(one, "chassis/system-name")));
        struct text_field id = field_of(json_string(json_path(one, "port/name")));
        struct text_field text = field_of(json_string(json_path(one, "port/description")));
        if (!id.length) id = field_of(json_string(json_path(one, "port/id/value")));
        if (!device.length) device = field_of(one->name);
        in->source.line = one->line;
        reading_neighbour(in, port, &device, &id, &text);
    }
}

/* "state": {"up": {}} or "state": "up" of a link; that of the watchdog is another. */
static void link_state(struct reading *in, const struct json *link, uint32_t port)
{
    const struct json *state = json_get(link, "state");
    const char *text = state && state->type == JSON_OBJECT && state->child ? state->child->name : json_string(state);
    struct text_field word = field_of(text);
    uint64_t up;

    if (!field_state(&word, &up)) return;
    in->source.line = state->line;
    evidence_set(in->evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_LINK_UP, up, &in->source);
}

static bool json_object(struct reading *in, const struct json *object, const struct json_walk_at *at)
{
    if (at->port == EVIDENCE_NONE) return false;
    if (json_get(object, "rx-pfc-stats") || json_get(object, "tx-pfc-stats") || json_get(object, "rx-roce-stats") ||
        json_get(object, "tx-roce-stats")) {
        roce_counters(in, object, at->port);
        return true;
    }
    const char *watchdog = json_string(json_get(object, "status"));
    if (watchdog && json_get(object, "deadlock-count") && at->priority < EVIDENCE_PRIORITIES) {
        in->source.line = object->line;
        evidence_set(in->evidence, at->port, at->priority, EVIDENCE_WATCHDOG_ON, !strcmp(watchdog, "DEADLOCK"),
                     &in->source);
    }
    if (json_get(object, "neighbor")) neighbours(in, json_get(object, "neighbor"), at->port);
    const struct json *state = json_get(object, "state");
    if (state && (state->type == JSON_OBJECT || json_get(object, "mtu") || json_get(object, "speed")))
        link_state(in, object, at->port);
    return false;
}

static bool known_here(const struct json *value)
{
    static const char *const paths[] = {"egress-queue-stats",
                                        "ingress-buffer-stats",
                                        "pfc-stats",
                                        "rx-pfc-stats",
                                        "tx-pfc-stats",
                                        "rx-stats/rx-pfc-stats",
                                        "rx-stats/rx-roce-stats",
                                        "counters/qos",
                                        "qos/roce",
                                        "link/state",
                                        "link/stats",
                                        "link/mtu",
                                        "link/oper-status",
                                        "lldp/neighbor",
                                        NULL};

    const struct json *status = json_get(value, "status");

    for (size_t i = 0; paths[i]; i++)
        if (json_path(value, paths[i])) return true;
    if (!status || status->type != JSON_OBJECT) return false;
    return status->child ? json_get(status->child, "deadlock-count") != NULL
                         : json_string(json_get(value, "state")) != NULL;
}

/* Of one interface, or of several by name: the first few tell. */
static bool json_is(const struct json *root)
{
    unsigned seen = 0;

    if (root->type != JSON_OBJECT) return false;
    if (known_here(root)) return true;
    for (const struct json *one = root->child; one && seen < 8; one = one->next, seen++) {
        struct text_field name = field_of(one->name);
        if (field_is_port(&name) && (known_here(one) || json_get(one, "neighbor"))) return true;
    }
    return false;
}

void nvue_hint(struct reading *in)
{
    if (!strncmp(in->hint, "swp", 3)) return;
    const char *name = in->source.file < in->evidence->files ? in->evidence->file[in->source.file] : "";
    const char *at = strrchr(name, '/');

    for (at = at ? at : name; (at = strstr(at, "swp")); at++) {
        size_t length = 3 + strspn(at + 3, "0123456789");
        if (at[length] == 's') length += 1 + strspn(at + length + 1, "0123456789");
        if (length == 3 || length >= sizeof in->hint) continue;
        memcpy(in->hint, at, length);
        in->hint[length] = 0;
        return;
    }
}

static void json_read(struct reading *in, const struct json *root)
{
    static const char *const by_priority[] = {"pfc-stats", "egress-queue-stats", "ingress-buffer-stats", "status",
                                              NULL};
    static const char *const rates[] = {"speed", NULL}, *const states[] = {"oper-status", NULL}, *const none[] = {NULL};
    static const char *const passed_over[] = {"neighbor", "state", "port-stats", "eth0", NULL};
    static const struct json_words words = {.names = names,
                                            .port_keys = none,
                                            .by_priority = by_priority,
                                            .scalar = EVIDENCE_MARKED,
                                            .state_keys = states,
                                            .rate_keys = rates,
                                            .passed_over = passed_over,
                                            .object = json_object};

    reading_system(in, "nvue", FABRIC_ROLE_SWITCH);
    nvue_hint(in);
    json_walk(in, &words, root);
}
const struct json_reader reader_nvue_json = {
    "nvue-json", "Cumulus: nv show interface … -o json (counters, RoCE, link, LLDP)", json_is, json_read};

/* --- text --- */

static const struct text_column layout[] = {
    {"switch-priority", TABLE_PRIORITY, 0, 0},
    {"traffic-class", TABLE_PRIORITY, 0, 0},
    {"priority-group", TABLE_PRIORITY, 0, 0},
    {"rx-pause-frames", TABLE_COUNT, EVIDENCE_RX_PAUSE_FRAMES, 0},
    {"tx-pause-frames", TABLE_COUNT, EVIDENCE_TX_PAUSE_FRAMES, 0},
    {"rx-pause-duration", TABLE_COUNT, EVIDENCE_RX_PAUSE_NS, 1000},
    {"tx-pause-duration", TABLE_COUNT, EVIDENCE_TX_PAUSE_NS, 1000},
    {"tx-frames", TABLE_COUNT, EVIDENCE_TX_PACKETS, 0},
    {"rx-frames", TABLE_COUNT, EVIDENCE_RX_PACKETS, 0},
    {"wred-discards", TABLE_COUNT, EVIDENCE_WRED_DROPS, 0},
    {"ecn-marked-frames", TABLE_COUNT, EVIDENCE_MARKED, 0},
    {"tx-uc-buffer-discards", TABLE_BYTES, EVIDENCE_QUEUE_DROPS, 0},
    {"rx-buffer-discards", TABLE_BYTES, EVIDENCE_GROUP_DROPS, 0},
    {NULL, 0, 0, 0},
};

static bool tables_titles(const char *line)
{
    return (line_words(line, "switch-priority") && line_has(line, "-pause-frames")) ||
           (line_words(line, "traffic-class") && line_has(line, " tx-frames")) ||
           (line_words(line, "priority-group") && line_has(line, " rx-frames"));
}

/* Titles of a table, or what stands above it. */
static bool tables_head(const char *line)
{
    return tables_titles(line) || line_words(line, "Ingress Buffer Statistics") ||
           line_words(line, "Egress Queue Statistics") || line_words(line, "Qos Port Statistics");
}

/* "pause-frames  0  0" below Counter, Receive, Transmit: pauses of the line, not of a priority. */
static bool port_counter(struct reading *in, const char *line)
{
    struct text_field word[4], port = field_of(in->hint);
    size_t words = field_split(line, word, 4);

    if (line_words(line, "Counter Receive Transmit")) return true;
    if (words != 3 || (!field_is(&word[0], "pause-frames") && !field_is(&word[0], "ecn-marked-packets") &&
                       !field_is(&word[0], "mc-buffer-discards")))
        return false;
    if (!field_is(&word[0], "pause-frames") || !field_is_port(&port)) return true;
    uint32_t of = reading_port(in, &port);
    reading_set(in, of, EVIDENCE_NO_PRIORITY, EVIDENCE_PORT_RX_PAUSE_FRAMES, &word[1]);
    reading_set(in, of, EVIDENCE_NO_PRIORITY, EVIDENCE_PORT_TX_PAUSE_FRAMES, &word[2]);
    return true;
}

static bool tables_line(struct reading *in, const char *line)
{
    struct text_table *table = (struct text_table *)in->state;

    if (!tables_head(line) && !line_words(line, "PFC Statistics"))
        return port_counter(in, line) || (table->layout && table_line(in, table, line));
    reading_system(in, "nvue", FABRIC_ROLE_SWITCH);
    nvue_hint(in);
    if (tables_titles(line))
        table_titles(table, layout, line);
    else
        table->layout = NULL;
    return true;
}
const struct text_reader reader_nvue_tables = {"nvue", "Cumulus: nv show interface SWP counters qos", tables_head,
                                               tables_line, NULL};

static bool roce_head(const char *line)
{
    return line_words(line, "rx-stats") || line_words(line, "rx-pfc-stats");
}

/* Digits of a number with a unit of bytes; 0: it has none. */
static size_t number_text(char *text, size_t size, const struct text_field *field)
{
    uint64_t bytes;

    if (!memchr(field->at, 'B', field->length) || !field_bytes(field, &bytes)) return 0;
    return (size_t)snprintf(text, size, "%" PRIu64, bytes);
}

/* A part's name stands alone; its counters below it, further in. */
static bool roce_line(struct reading *in, const char *line)
{
    char *part = (char *)in->state;
    struct text_field word[3];
    size_t words = field_split(line, word, 3);
    char text[24];
    uint64_t number;

    if (roce_head(line)) {
        reading_system(in, "nvue", FABRIC_ROLE_SWITCH);
        nvue_hint(in);
    }
    if (words == 1 && word[0].length > 6 && word[0].length < 32 &&
        !memcmp(word[0].at + word[0].length - 6, "-stats", 6)) {
        memcpy(part, word[0].at, word[0].length);
        part[word[0].length] = 0;
        return true;
    }
    struct text_field port = field_of(in->hint);
    if (words < 2 || !field_is_port(&port)) return false;
    if (line_words(line, "operational applied")) return true;
    if (words > 2 && field_bytes(&word[1], &number)) { /* "13.47 MB" */
        struct text_field both = {word[1].at, (size_t)(word[2].at + word[2].length - word[1].at)};
        size_t length = number_text(text, sizeof text, &both);
        if (length) word[1] = (struct text_field){text, length};
    }
    take_part(in, reading_port(in, &port), part, &word[0], &word[1]);
    return true;
}
const struct text_reader reader_nvue_roce = {"nvue-roce", "Cumulus: nv show interface SWP qos roce counters", roce_head,
                                             roce_line, NULL};

/* --- what RoCE is set to --- */

struct settings {
    bool pfc; /* inside of "pfc" */
    uint32_t priorities;
};

static bool settings_head(const char *line)
{
    struct text_field word[1];

    return line_words(line, "congestion-control") && field_split(line, word, 1) == 1;
}

/* "pfc-priority  3", "rx-enabled  yes", "tx-enabled  yes": PFC is on for a priority where both are. */
static bool settings_line(struct reading *in, const char *line)
{
    struct settings *state = (struct settings *)in->state;
    struct text_field word[3], port;
    size_t words = field_split(line, word, 3);

    if (settings_head(line)) {
        reading_system(in, "nvue", FABRIC_ROLE_SWITCH);
        nvue_hint(in);
        return true;
    }
    if (words == 1 && line[0] > ' ') state->pfc = field_is(&word[0], "pfc");
    if (words >= 2 && field_is(&word[0], "pfc-priority"))
        for (size_t i = 0; i < word[1].length; i++)
            if (word[1].at[i] >= '0' && word[1].at[i] < '0' + EVIDENCE_PRIORITIES)
                state->priorities |= 1u << (word[1].at[i] - '0');
    port = field_of(in->hint);
    bool off = words >= 2 && (field_is(&word[1], "no") || field_is(&word[1], "off") || field_is(&word[1], "disabled"));
    bool enabled = words >= 2 && (field_is(&word[0], "rx-enabled") || field_is(&word[0], "tx-enabled"));
    if (!state->pfc || !enabled || !field_is_port(&port)) return true;
    uint32_t of = reading_port(in, &port);
    for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++)
        if (state->priorities >> p & 1 && (off || field_is(&word[0], "rx-enabled")))
            evidence_set(in->evidence, of, p, EVIDENCE_PFC_ON, !off, &in->source);
    return true;
}
const struct text_reader reader_nvue_settings = {"nvue-roce-status", "Cumulus: nv show interface SWP qos roce status",
                                                 settings_head, settings_line, NULL};
