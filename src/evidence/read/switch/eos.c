/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arista EOS: its tables, and the JSON of its commands (`| json`, or eAPI's answers).
 *
 * PFC is counted by port, not by priority.  An interface without watchdog events is not in the watchdog's answer, and a
 * queue of "-" has no ECN or does not count it.
 */
#include <string.h>

#include "evidence/read/json_walk.h"
#include "evidence/read/table.h"

/* --- text --- */

static const struct text_column layout[] = {
    {"Port", TABLE_PORT, 0, 0},
    {"RxPfc", TABLE_COUNT, EVIDENCE_PORT_RX_PAUSE_FRAMES, 0},
    {"TxPfc", TABLE_COUNT, EVIDENCE_PORT_TX_PAUSE_FRAMES, 0},
    {"FCS", TABLE_COUNT, EVIDENCE_CRC_ERRORS, 0},
    {"Symbol", TABLE_COUNT, EVIDENCE_SYMBOL_ERRORS, 0},
    {"Giants", TABLE_COUNT, EVIDENCE_MTU_DROPS, 0},
    {"InOctets", TABLE_COUNT, EVIDENCE_PORT_RX_BYTES, 0},
    {"InUcastPkts", TABLE_COUNT, EVIDENCE_PORT_RX_PACKETS, 0},
    {"OutOctets", TABLE_COUNT, EVIDENCE_PORT_TX_BYTES, 0},
    {"OutUcastPkts", TABLE_COUNT, EVIDENCE_PORT_TX_PACKETS, 0},
    {"InDiscards", TABLE_COUNT, EVIDENCE_PORT_RX_DROPS, 0},
    {"OutDiscards", TABLE_COUNT, EVIDENCE_PORT_TX_DROPS, 0},
    {NULL, 0, 0, 0},
};

static bool is_eos(const char *line)
{
    return line_begins(line, "Et") && !line_begins(line, "Eth");
}

static bool tables_head(const char *line)
{
    return line_words(line, "Port RxPfc TxPfc") || line_words(line, "Port FCS Align") ||
           line_words(line, "Port InOctets InUcastPkts InMcastPkts") ||
           line_words(line, "Port OutOctets OutUcastPkts OutMcastPkts") ||
           line_words(line, "Port InDiscards OutDiscards");
}

static bool tables_line(struct reading *in, const char *line)
{
    struct text_table *table = (struct text_table *)in->state;

    if (tables_head(line)) {
        table_titles(table, layout, line);
        return true;
    }
    if (is_eos(line)) reading_system(in, "eos", FABRIC_ROLE_SWITCH);
    return table_line(in, table, line);
}
const struct text_reader reader_eos_tables = {
    "eos", "EOS: show priority-flow-control counters, show interfaces counters, errors, discards", tables_head,
    tables_line, NULL};

/* Titles of two lines: the last two words are RxPause and TxPause. */
static bool pauses_head(const char *line)
{
    return line_words(line, "Port Send FlowControl Receive FlowControl");
}

static bool pauses_line(struct reading *in, const char *line)
{
    struct text_field word[8];
    size_t words = field_split(line, word, 8);

    if (pauses_head(line)) return true;
    if (words != 7 || !field_is_port(&word[0])) return false;
    if (is_eos(line)) reading_system(in, "eos", FABRIC_ROLE_SWITCH);
    uint32_t port = reading_port(in, &word[0]);
    uint64_t rx, tx;
    if (!field_number(&word[5], &rx) || !field_number(&word[6], &tx)) return true;
    evidence_offer(in->evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_PORT_RX_PAUSE_FRAMES, rx, &in->source);
    evidence_offer(in->evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_PORT_TX_PAUSE_FRAMES, tx, &in->source);
    return true;
}
const struct text_reader reader_eos_pauses = {"eos-flowcontrol", "EOS, NX-OS: show interfaces flow-control",
                                              pauses_head, pauses_line, NULL};

static const struct text_column status[] = {
    {"Port", TABLE_PORT, 0, 0},
    {"Name", TABLE_PEER, 0, 0},
    {"Status", TABLE_STATE, EVIDENCE_LINK_UP, 0},
    {"Speed", TABLE_RATE, EVIDENCE_RATE, 0},
    {"Reason", TABLE_REASON, 0, 0},
    {NULL, 0, 0, 0},
};

/* A row that lost its blanks when it was copied: the word of the state stands behind the description. */
static void state_anywhere(struct reading *in, uint32_t port, const char *line)
{
    struct text_field word[16];
    size_t words = field_split(line, word, 16), at = words < 16 ? words : 16;

    while (at > 1)
        if (word[--at].length > 4 && reading_state(in, port, &word[at])) return;
}

/* Also `show interface status err-disabled`. */
static bool status_head(const char *line)
{
    return line_words(line, "Port Name Status Vlan") || line_words(line, "Port Name Status Reason");
}

static bool status_line(struct reading *in, const char *line)
{
    struct text_table *table = (struct text_table *)in->state;
    struct text_field name;

    if (status_head(line)) {
        table_titles_left(table, status, line);
        return true;
    }
    if (!field_split(line, &name, 1)) return false;
    bool port = field_is_port(&name);
    if (port) reading_system(in, is_eos(line) ? "eos" : "nxos", FABRIC_ROLE_SWITCH);
    bool taken = table_line(in, table, line);
    if (port && !evidence_find(in->evidence, reading_port(in, &name), EVIDENCE_NO_PRIORITY, EVIDENCE_LINK_UP))
        state_anywhere(in, reading_port(in, &name), line);
    return taken || field_is_interface(&name);
}
const struct text_reader reader_eos_status = {"interface-status", "EOS, NX-OS: show interfaces status", status_head,
                                              status_line, NULL};

static const struct text_column description[] = {
    {"Interface", TABLE_PORT, 0, 0},
    {"Port", TABLE_PORT, 0, 0},
    {"Protocol", TABLE_STATE, EVIDENCE_LINK_UP, 0},
    {"Description", TABLE_PEER, 0, 0},
    {NULL, 0, 0, 0},
};

static bool description_head(const char *line)
{
    return line_words(line, "Interface Status Protocol Description") ||
           line_words(line, "Port Type Speed Description") || line_words(line, "Interface Description");
}

static bool description_line(struct reading *in, const char *line)
{
    struct text_table *table = (struct text_table *)in->state;

    if (!description_head(line)) return table_line(in, table, line);
    table_titles_left(table, description, line);
    return true;
}
const struct text_reader reader_eos_description = {"interface-description", "EOS, NX-OS: show interfaces description",
                                                   description_head, description_line, NULL};

/* --- JSON --- */

/* clang-format off */
static const struct counter_name names[] = {
    {"rxFrames", EVIDENCE_PORT_RX_PAUSE_FRAMES, 0, false},
    {"txFrames", EVIDENCE_PORT_TX_PAUSE_FRAMES, 0, false},
    {"rxPause", EVIDENCE_PORT_RX_PAUSE_FRAMES, 0, true},
    {"txPause", EVIDENCE_PORT_TX_PAUSE_FRAMES, 0, true},
    {"stuckCount", EVIDENCE_WATCHDOG_DETECTED, 0, false},
    {"recoveryCount", EVIDENCE_WATCHDOG_RESTORED, 0, false},
    {"enqueuedPackets", EVIDENCE_TX_PACKETS, 0, false},
    {"enqueuedBytes", EVIDENCE_TX_BYTES, 0, false},
    {"droppedPackets", EVIDENCE_QUEUE_DROPS, 0, false},
    {"fcsErrors", EVIDENCE_CRC_ERRORS, 0, false},
    {"symbolErrors", EVIDENCE_SYMBOL_ERRORS, 0, false},
    {"frameTooLongs", EVIDENCE_MTU_DROPS, 0, false},
    {"giantFrames", EVIDENCE_MTU_DROPS, 0, false},
    {"inOctets", EVIDENCE_PORT_RX_BYTES, 0, false},
    {"outOctets", EVIDENCE_PORT_TX_BYTES, 0, false},
    {"inTotalPkts", EVIDENCE_PORT_RX_PACKETS, 0, false},
    {"inUcastPkts", EVIDENCE_PORT_RX_PACKETS, 0, true},
    {"outTotalPkts", EVIDENCE_PORT_TX_PACKETS, 0, false},
    {"outUcastPkts", EVIDENCE_PORT_TX_PACKETS, 0, true},
    {"inDiscards", EVIDENCE_PORT_RX_DROPS, 0, false},
    {"outDiscards", EVIDENCE_PORT_TX_DROPS, 0, false},
    {"mtu", EVIDENCE_MTU, 0, false},
    {"correctedCodewords", EVIDENCE_FEC_CORRECTED, 0, false},
    {"uncorrectedCodewords", EVIDENCE_FEC_UNCORRECTED, 0, false},
    {NULL, 0, 0, false},
};
/* clang-format on */

/* {"systemName": ..., "neighborInterfaceInfo": {...}} of one port, {"port": ..., "neighborDevice": ...} of a list;
 * {"linkStatusChanges": ...} counts down and up again. */
static bool object(struct reading *in, const struct json *object, const struct json_walk_at *at)
{
    uint64_t changes;
    const struct json *info = json_get(object, "neighborInterfaceInfo");
    struct text_field device = field_of(json_string(json_get(object, "systemName")));
    struct text_field id = field_of(json_string(json_get(info, "interfaceId_v2")));
    struct text_field text = field_of(json_string(json_get(info, "interfaceDescription")));

    in->source.line = object->line;
    if (at->port != EVIDENCE_NONE && json_u64(json_get(object, "linkStatusChanges"), &changes))
        evidence_set(in->evidence, at->port, EVIDENCE_NO_PRIORITY, EVIDENCE_LINK_DOWN, changes / 2, &in->source);
    if (json_get(object, "neighborDevice")) {
        device = field_of(json_string(json_get(object, "neighborDevice")));
        id = text = field_of(json_string(json_get(object, "neighborPort")));
    } else if (!info) {
        return false;
    } else if (!id.length) {
        id = field_of(json_string(json_get(info, "interfaceId")));
        if (id.length > 2 && id.at[0] == '"' && id.at[id.length - 1] == '"')
            id = (struct text_field){id.at + 1, id.length - 2};
    }
    if (at->port != EVIDENCE_NONE) reading_neighbour(in, at->port, &device, &id, &text);
    return true;
}

static const char *const tops[] = {"interfaceCounters",
                                   "intfQueueCounters",
                                   "interfaceErrorCounters",
                                   "interfaceFlowControls",
                                   "interfaceStatuses",
                                   "egressQueueCounters",
                                   "lldpNeighbors",
                                   "interfaces",
                                   "interfaceDescriptions",
                                   "ingressVoqCounters",
                                   NULL};

static bool json_is(const struct json *root)
{
    return json_body_with(root, tops) != NULL;
}

static void json_read(struct reading *in, const struct json *root)
{
    static const char *const port_keys[] = {"port", NULL};
    static const char *const by_priority[] = {"txQueues", "queueCounters", "trafficClasses", NULL};
    static const char *const states[] = {"linkStatus", "interfaceStatus", NULL}, *const rates[] = {"bandwidth", NULL};
    static const char *const passed_over[] = {"mcastQueues", "neighborInterfaceInfo", NULL};
    static const struct json_words words = {.names = names,
                                            .port_keys = port_keys,
                                            .by_priority = by_priority,
                                            .scalar = EVIDENCE_MARKED,
                                            .state_keys = states,
                                            .rate_keys = rates,
                                            .passed_over = passed_over,
                                            .object = object};

    reading_system(in, "eos", FABRIC_ROLE_SWITCH);
    json_walk(in, &words, root);
}
const struct json_reader reader_eos_json = {
    "eos-json", "EOS: JSON of PFC counters, watchdog, ECN and queue counters, errors, flow control, status, LLDP",
    json_is, json_read};
