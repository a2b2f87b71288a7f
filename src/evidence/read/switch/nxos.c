/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NX-OS: show interface, its counters and priority-flow-control; JSON of NX-API and of the object store (DME).
 * Queues are in nxos_queuing.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evidence/read/json_walk.h"
#include "evidence/read/table.h"

/* --- show interface priority-flow-control --- */

static bool pfc_head(const char *line)
{
    return line_words(line, "Port Mode") && line_has(line, "RxPPP") && line_has(line, "TxPPP");
}

/* "(8)", "(c)", "(88)": bit p is priority p, in hex; three digits can only be decimal.  False: it is no map. */
static bool pfc_map(const struct text_field *word, unsigned *map)
{
    struct text_field digits = {word->at + 1, word->length - 2};
    uint64_t number = 0;

    if (word->length < 3 || word->at[0] != '(' || word->at[word->length - 1] != ')') return false;
    if (digits.length > 2 && digits.at[0] == '0' && digits.at[1] == 'x') digits.at += 2, digits.length -= 2;
    if (digits.length > 2) {
        if (!field_number(&digits, &number) || number > 255) return false;
    } else {
        for (size_t i = 0; i < digits.length; i++) {
            char digit = digits.at[i];
            bool decimal = digit >= '0' && digit <= '9', letter = (digit | 32) >= 'a' && (digit | 32) <= 'f';
            if (!decimal && !letter) return false;
            number = number * 16 + (unsigned)(decimal ? digit - '0' : (digit | 32) - 'a' + 10);
        }
    }
    *map = (unsigned)number;
    return true;
}

/* "Off", "OFF" */
static bool is_off(const struct text_field *word)
{
    return word->length == 3 && (word->at[0] | 32) == 'o' && (word->at[1] | 32) == 'f' && (word->at[2] | 32) == 'f';
}

/* Auto asks the other end: it is off where that did not agree, or did not answer. */
static bool pfc_row(struct reading *in, const struct text_field *word, size_t words, uint64_t rx, uint64_t tx)
{
    static const struct text_field asked = {"Auto, and operationally off", 27},
                                   told = {"On, and operationally off", 25};
    bool automatic = field_is(&word[1], "Auto"), off = is_off(&word[2]);
    uint32_t port = reading_port(in, &word[0]);
    struct text_field last = word[words - 3];
    unsigned map = 0;

    reading_system(in, "nxos", FABRIC_ROLE_SWITCH);
    evidence_set(in->evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_PORT_RX_PAUSE_FRAMES, rx, &in->source);
    evidence_set(in->evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_PORT_TX_PAUSE_FRAMES, tx, &in->source);
    if (off && is_off(&word[1]))
        reading_event(in, EVIDENCE_EVENT_PFC_OFF, port, EVIDENCE_NO_PRIORITY, NULL, NULL, NULL);
    else if (off)
        reading_event(in, EVIDENCE_EVENT_PFC_NOT_AGREED, port, EVIDENCE_NO_PRIORITY, NULL, NULL,
                      automatic ? &asked : &told);
    const char *bracket = memchr(last.at, '(', last.length); /* "On(8)" */
    if (bracket) last = (struct text_field){bracket, (size_t)(last.at + last.length - bracket)};
    if (!off && !pfc_map(&last, &map)) return true;
    for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++)
        evidence_set(in->evidence, port, p, EVIDENCE_PFC_ON, map >> p & 1, &in->source);
    return true;
}

/* "Ethernet1/2  Auto On   (9)  4088353  1890": what stands between may be missing, the last two are the counters. */
static bool pfc_line(struct reading *in, const char *line)
{
    struct text_field word[8];
    size_t words = field_split(line, word, 8);
    uint64_t rx, tx;

    if (pfc_head(line)) return true;
    if (words < 4 || words > 7 || !field_is_port(&word[0]) || !field_number(&word[words - 1], &tx) ||
        !field_number(&word[words - 2], &rx))
        return false;
    return pfc_row(in, word, words, rx, tx);
}
const struct text_reader reader_nxos_pfc = {"nxos-pfc", "NX-OS: show interface priority-flow-control", pfc_head,
                                            pfc_line, NULL};

/* --- show interface counters, errors --- */

static const struct text_column counters[] = {
    {"Port", TABLE_PORT, 0, 0},
    {"FCS-Err", TABLE_COUNT, EVIDENCE_CRC_ERRORS, 0},
    {"OutDiscards", TABLE_COUNT, EVIDENCE_PORT_TX_DROPS, 0},
    {"InDiscards", TABLE_COUNT, EVIDENCE_PORT_RX_DROPS, 0},
    {"Giants", TABLE_COUNT, EVIDENCE_MTU_DROPS, 0},
    {"Symbol-Err", TABLE_COUNT, EVIDENCE_SYMBOL_ERRORS, 0},
    {"Stomped-CRC", TABLE_COUNT, EVIDENCE_STOMPED, 0},
    {"InOctets", TABLE_COUNT, EVIDENCE_PORT_RX_BYTES, 0},
    {"InUcastPkts", TABLE_COUNT, EVIDENCE_PORT_RX_PACKETS, 0},
    {"OutOctets", TABLE_COUNT, EVIDENCE_PORT_TX_BYTES, 0},
    {"OutUcastPkts", TABLE_COUNT, EVIDENCE_PORT_TX_PACKETS, 0},
    {"RxPause", TABLE_WEAK, EVIDENCE_PORT_RX_PAUSE_FRAMES, 0},
    {"TxPause", TABLE_WEAK, EVIDENCE_PORT_TX_PAUSE_FRAMES, 0},
    {NULL, 0, 0, 0},
};

static bool counters_head(const char *line)
{
    static const char *const second[] = {"Align-Err",   "FCS-Err",   "Rcv-Err",      "OutDiscards", "Symbol-Err",
                                         "Single-Col",  "Giants",    "InDiscards",   "Stomped-CRC", "InOctets",
                                         "InMcastPkts", "OutOctets", "OutMcastPkts", "InUcastPkts", NULL};
    struct text_field word[2];

    if (!line_words(line, "Port") || field_split(line, word, 2) < 2) return false;
    for (size_t i = 0; second[i]; i++)
        if (field_is(&word[1], second[i])) return true;
    return false;
}

/* Titles and numbers do not stand below each other: they are matched by words. */
static bool counters_line(struct reading *in, const char *line)
{
    struct text_table *table = (struct text_table *)in->state;
    char spread[TABLE_TITLES];
    size_t used = 0;

    if (!counters_head(line)) {
        if (line_begins(line, "Eth")) reading_system(in, "nxos", FABRIC_ROLE_SWITCH);
        return table_line(in, table, line);
    }
    for (const char *at = line; *at && used + 3 < sizeof spread; at++) {
        spread[used++] = *at;
        if (*at == ' ' || *at == '\t') spread[used++] = ' ';
    }
    spread[used] = 0;
    table_titles(table, counters, spread);
    return true;
}
const struct text_reader reader_nxos_counters = {"nxos-counters", "NX-OS: show interface counters, errors",
                                                 counters_head, counters_line, NULL};

/* --- show interface --- */

/* "Ethernet1/1 is up", also where all of the text was set in by somebody; "mgmt0 is up", "port-channel5 is down (No
 * operational members)", whose counters are of other things, stand at the beginning of their line. */
static bool interface_head(const char *line)
{
    struct text_field word[3];

    if (!line_has(line, " is ") || field_split(line, word, 3) < 3 || !field_is(&word[1], "is")) return false;
    char last = word[0].at[word[0].length - 1];
    bool state = word[2].at[0] == 'u' || word[2].at[0] == 'd' || word[2].at[0] == 'a';
    if (!state || last < '0' || last > '9') return false;
    return (*line != ' ' && *line != '\t') || field_is_interface(&word[0]);
}

/* "48034291 input packets  3680032221 bytes": a number before each name. */
static void interface_counts(struct reading *in, uint32_t port, const char *line)
{
    static const struct {
        const char *name;
        enum evidence_counter counter;
    } names[] = {{" input packets", EVIDENCE_PORT_RX_PACKETS},
                 {" output packets", EVIDENCE_PORT_TX_PACKETS},
                 {" giants", EVIDENCE_MTU_DROPS},
                 {" CRC/FCS", EVIDENCE_CRC_ERRORS},
                 {" CRC", EVIDENCE_CRC_ERRORS},
                 {" Stomped CRC", EVIDENCE_STOMPED},
                 {" input discard", EVIDENCE_PORT_RX_DROPS},
                 {" output discard", EVIDENCE_PORT_TX_DROPS},
                 {" interface resets", EVIDENCE_LINK_DOWN},
                 {" packets input,", EVIDENCE_PORT_RX_PACKETS},
                 {" packets output,", EVIDENCE_PORT_TX_PACKETS},
                 {" input discards", EVIDENCE_PORT_RX_DROPS},
                 {" output discards", EVIDENCE_PORT_TX_DROPS},
                 {" symbol", EVIDENCE_SYMBOL_ERRORS}};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *at = strstr(line, names[i].name);
        if (!at || (at[strlen(names[i].name)] >= 'a' && at[strlen(names[i].name)] <= 'z')) continue;
        const char *begin = at;
        while (begin > line && begin[-1] >= '0' && begin[-1] <= '9')
            begin--;
        struct text_field value = {begin, (size_t)(at - begin)}, bytes[3];
        if (value.length) reading_set(in, port, EVIDENCE_NO_PRIORITY, names[i].counter, &value);
        bool rx = names[i].counter == EVIDENCE_PORT_RX_PACKETS, tx = names[i].counter == EVIDENCE_PORT_TX_PACKETS;
        if ((rx || tx) && field_split(at + strlen(names[i].name), bytes, 3) >= 2 && field_is(&bytes[1], "bytes"))
            reading_set(in, port, EVIDENCE_NO_PRIORITY, tx ? EVIDENCE_PORT_TX_BYTES : EVIDENCE_PORT_RX_BYTES,
                        &bytes[0]);
    }
}

/* EOS counts changes, down and up again: two for each time the link was away, and one more where it is down now. */
static void link_changes(struct reading *in, uint32_t port, const char *line)
{
    const struct evidence_value *up = evidence_find(in->evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_LINK_UP);
    struct text_field word[1];
    uint64_t changes;

    if (!field_split(line, word, 1) || !field_number(&word[0], &changes)) return;
    evidence_set(in->evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_LINK_DOWN,
                 changes / 2 + (up && !up->last ? changes % 2 : 0), &in->source);
}

/* "Ethernet2 is down, line protocol is down (errdisabled)", "Ethernet1/5 is down (linkFlapErrDisabled)",
 * "Ethernet1/2 is down (Administratively down)": an event where somebody, or the system, disabled it. */
static void interface_state(struct reading *in, uint32_t port, const char *line)
{
    const char *bracket = strchr(line, '('), *is = strstr(line, " is ");
    struct text_field why = {bracket ? bracket + 1 : "", bracket ? strcspn(bracket + 1, ")") : 0};
    enum evidence_event_kind kind = EVIDENCE_EVENTS;

    evidence_set(in->evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_LINK_UP, is && !strncmp(is + 4, "up", 2),
                 &in->source);
    if (line_has(line, "rrDisabled") || line_has(line, "errdisabled") || line_has(line, "rr-disabled"))
        kind = EVIDENCE_EVENT_PORT_DISABLED;
    else if (line_has(line, "dministratively down"))
        kind = EVIDENCE_EVENT_PORT_SHUT;
    bool plain = field_is(&why, "errdisabled") || field_is(&why, "errDisabled") || kind == EVIDENCE_EVENT_PORT_SHUT;
    if (kind != EVIDENCE_EVENTS)
        reading_event(in, kind, port, EVIDENCE_NO_PRIORITY, NULL, NULL, why.length && !plain ? &why : NULL);
}

/* "Last clearing of "show interface" counters 00:03:55": that of "never" is as long as the device is up. */
static bool times(struct reading *in, uint32_t port, const char *line)
{
    static const char clearing[] = "Last clearing of \"show interface\" counters";
    uint64_t seconds;

    if (!line_begins(line, clearing)) return false;
    if (field_duration(strstr(line, clearing) + sizeof clearing - 1, &seconds))
        evidence_set(in->evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_CLEARED_S, seconds, &in->source);
    return true;
}

struct interface {
    uint32_t port;
    bool in, out; /* what came in, and what went wrong on the way out, was said */
};

static bool interface_line(struct reading *in, const char *line)
{
    struct interface *state = (struct interface *)in->state;
    uint32_t *port = &state->port;
    struct text_field word[3];
    uint64_t number;

    if (interface_head(line)) {
        bool of_port = field_split(line, word, 3) >= 3 && line_begins(line, "Ethernet") && field_is_port(&word[0]);
        *state = (struct interface){.port = EVIDENCE_NONE};
        if (of_port) {
            reading_system(in, line_has(line, "line protocol") ? "eos" : "nxos", FABRIC_ROLE_SWITCH);
            *port = reading_port(in, &word[0]);
        }
        if (*port != EVIDENCE_NONE) interface_state(in, *port, line);
        return true;
    }
    if (*port == EVIDENCE_NONE) return *line == ' ' || *line == '\t' || line_begins(line, "admin state");
    if (times(in, *port, line)) return true;
    state->in |= line_has(line, " input packets") || line_has(line, " packets input,");
    state->out |= line_has(line, " output error") || line_has(line, " output discard");
    if (line_begins(line, "Description: ")) {
        struct text_field text = field_of(strchr(line, ':') + 2);
        reading_description(in, *port, &text);
    } else if ((line_begins(line, "MTU ") || line_begins(line, "IP MTU ") || line_begins(line, "Ethernet MTU ")) &&
               field_split(line, word, 3) >= 3) {
        reading_set(in, *port, EVIDENCE_NO_PRIORITY, EVIDENCE_MTU, &word[field_is(&word[0], "MTU") ? 1 : 2]);
    } else if (line_begins(line, "full-duplex, ") || line_begins(line, "Full-duplex, ")) {
        struct text_field rate = field_of(strchr(line, ',') + 2);
        if (field_rate(&rate, &number))
            evidence_set(in->evidence, *port, EVIDENCE_NO_PRIORITY, EVIDENCE_RATE, number, &in->source);
    } else if (line_has(line, " link status changes")) {
        link_changes(in, *port, line);
    } else {
        interface_counts(in, *port, line);
    }
    return true;
}
/* Whoever copied the text stopped inside of a port: what was not copied acquits nobody. */
static void interface_end(struct reading *in)
{
    const struct interface *state = (struct interface *)in->state;

    if (state->port != EVIDENCE_NONE && state->in && !state->out)
        evidence_unknown(in->evidence, &in->source, "nxos-interface",
                         "the text ends before what the port dropped on the way out", false);
}
const struct text_reader reader_nxos_interface = {"nxos-interface", "NX-OS: show interface; EOS: show interfaces",
                                                  interface_head, interface_line, interface_end};

/* --- show interface brief --- */

static bool brief_head(const char *line)
{
    return line_words(line, "Ethernet VLAN Type Mode Status Reason") ||
           line_words(line, "Port VRF Status IP Address") ||
           line_words(line, "Port-channel VLAN Type Mode Status Reason");
}

/* "Eth1/2  401  eth  access down  Link not connected  auto(D) --": the reason is some words. */
static bool brief_line(struct reading *in, const char *line)
{
    struct text_field word[7];
    size_t words = field_split(line, word, 7);
    uint64_t up;

    if (brief_head(line) || line_words(line, "Interface Ch #") || line_words(line, "Interface Status Description") ||
        line_words(line, "Interface Secondary VLAN"))
        return true;
    if (words && !field_is_port(&word[0]) && field_is_interface(&word[0])) return true;
    if (words < 7 || !field_is_port(&word[0]) || !field_state(&word[4], &up)) return false;
    reading_system(in, "nxos", FABRIC_ROLE_SWITCH);
    uint32_t port = reading_port(in, &word[0]);
    evidence_set(in->evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_LINK_UP, up, &in->source);
    bool disabled = line_has(line, "rrDisabled") || line_has(line, "rrorDisabled") || line_has(line, "rr-disabled");
    if (disabled || line_has(line, "Administratively"))
        reading_event(in, disabled ? EVIDENCE_EVENT_PORT_DISABLED : EVIDENCE_EVENT_PORT_SHUT, port,
                      EVIDENCE_NO_PRIORITY, NULL, NULL, disabled ? &word[5] : NULL);
    return true;
}
const struct text_reader reader_nxos_brief = {"nxos-brief", "NX-OS: show interface brief", brief_head, brief_line,
                                              NULL};

/* --- JSON --- */

/* clang-format off */
static const struct counter_name names[] = {
    {"eth_inpkts", EVIDENCE_PORT_RX_PACKETS, 0, false},
    {"eth_inbytes", EVIDENCE_PORT_RX_BYTES, 0, false},
    {"eth_outpkts", EVIDENCE_PORT_TX_PACKETS, 0, false},
    {"eth_outbytes", EVIDENCE_PORT_TX_BYTES, 0, false},
    {"eth_inucast", EVIDENCE_PORT_RX_PACKETS, 0, true},
    {"eth_outucast", EVIDENCE_PORT_TX_PACKETS, 0, true},
    {"eth_crc", EVIDENCE_CRC_ERRORS, 0, false},
    {"eth_fcs_err", EVIDENCE_CRC_ERRORS, 0, false},
    {"eth_symbol_err", EVIDENCE_SYMBOL_ERRORS, 0, false},
    {"eth_giants", EVIDENCE_MTU_DROPS, 0, false},
    {"eth_indiscard", EVIDENCE_PORT_RX_DROPS, 0, false},
    {"eth_outdiscard", EVIDENCE_PORT_TX_DROPS, 0, false},
    {"eth_indisc", EVIDENCE_PORT_RX_DROPS, 0, false},
    {"eth_outdisc", EVIDENCE_PORT_TX_DROPS, 0, false},
    {"eth_inpause", EVIDENCE_PORT_RX_PAUSE_FRAMES, 0, true},
    {"eth_outpause", EVIDENCE_PORT_TX_PAUSE_FRAMES, 0, true},
    {"eth_reset_cntr", EVIDENCE_LINK_DOWN, 0, false},
    {"eth_mtu", EVIDENCE_MTU, 0, false},
    {"rxppp", EVIDENCE_PORT_RX_PAUSE_FRAMES, 0, false},
    {"txppp", EVIDENCE_PORT_TX_PAUSE_FRAMES, 0, false},
    {"rx-ppp", EVIDENCE_PORT_RX_PAUSE_FRAMES, 0, false},
    {"tx-ppp", EVIDENCE_PORT_TX_PAUSE_FRAMES, 0, false},
    {"rx-pause-count", EVIDENCE_RX_PAUSE_FRAMES, 0, false},
    {"tx-pause-count", EVIDENCE_TX_PAUSE_FRAMES, 0, false},
    {"pfc-rx-ppp", EVIDENCE_PORT_RX_PAUSE_FRAMES, 0, false},
    {"pfc-tx-ppp", EVIDENCE_PORT_TX_PAUSE_FRAMES, 0, false},
    {"peak", EVIDENCE_QUEUE_PEAK, 0, false},
    /* DME: ipqosQueuingStats, rmon… */
    {"txPackets", EVIDENCE_TX_PACKETS, 0, false},
    {"txBytes", EVIDENCE_TX_BYTES, 0, false},
    {"dropPackets", EVIDENCE_QUEUE_DROPS, 0, false},
    {"pfcRxPpp", EVIDENCE_RX_PAUSE_FRAMES, 0, false},
    {"pfcTxPpp", EVIDENCE_TX_PAUSE_FRAMES, 0, false},
    {"randDropPackets", EVIDENCE_WRED_DROPS, 0, false},
    {"randEcnMarkedPackets", EVIDENCE_MARKED, 0, false},
    {"ucCurrQueueDepth", EVIDENCE_QUEUE_BYTES, 0, false},
    {"fCSErrors", EVIDENCE_CRC_ERRORS, 0, false},
    {"cRCAlignErrors", EVIDENCE_CRC_ERRORS, 0, true},
    {"symbolErrors", EVIDENCE_SYMBOL_ERRORS, 0, false},
    {"frameTooLongs", EVIDENCE_MTU_DROPS, 0, false},
    {"inPauseFrames", EVIDENCE_PORT_RX_PAUSE_FRAMES, 0, true},
    {"outPauseFrames", EVIDENCE_PORT_TX_PAUSE_FRAMES, 0, true},
    {"inOctets", EVIDENCE_PORT_RX_BYTES, 0, false},
    {"outOctets", EVIDENCE_PORT_TX_BYTES, 0, false},
    {"inUcastPkts", EVIDENCE_PORT_RX_PACKETS, 0, false},
    {"outUcastPkts", EVIDENCE_PORT_TX_PACKETS, 0, false},
    {"inDiscards", EVIDENCE_PORT_RX_DROPS, 0, false},
    {"outDiscards", EVIDENCE_PORT_TX_DROPS, 0, false},
    {NULL, 0, 0, false},
};
/* What a row of statistics is of: "eq-stat-type" with or without "eq-stat-units". */
static const struct counter_name rows[] = {
    {"Tx Pkts", EVIDENCE_TX_PACKETS, 0, false},
    {"Tx Byts", EVIDENCE_TX_BYTES, 0, false},
    {"Tx Bytes", EVIDENCE_TX_BYTES, 0, false},
    {"Dropped Pkts", EVIDENCE_QUEUE_DROPS, 0, false},
    {"WRED/AFD & Tail Drop Pkts", EVIDENCE_QUEUE_DROPS, 0, false},
    {"WD & Tail Drop Pkts", EVIDENCE_QUEUE_DROPS, 0, false},
    {"Tail Drop Pkts", EVIDENCE_QUEUE_DROPS, 0, false},
    {"ECN Marked Pkts", EVIDENCE_MARKED, 0, false},
    {"ECN Pkts", EVIDENCE_MARKED, 0, false},
    {"Q Depth Byts", EVIDENCE_QUEUE_BYTES, 0, false},
    {"Current Q Depth Byts", EVIDENCE_QUEUE_BYTES, 0, false},
    {"Peak Q Depth Byts", EVIDENCE_QUEUE_PEAK, 0, false},
    {"Ingress MMU Drop Pkts", EVIDENCE_PORT_RX_DROPS, 0, false},
    {"Egress MMU Drop Pkts", EVIDENCE_PORT_TX_DROPS, 0, false},
    {"uc-tx-pkts", EVIDENCE_TX_PACKETS, 0, false},
    {"uc-drop-pkts", EVIDENCE_QUEUE_DROPS, 0, false},
    {"uc-ecn-mark-pkts", EVIDENCE_MARKED, 0, false},
    {"pfc-tx-pkts", EVIDENCE_TX_PAUSE_FRAMES, 0, false},
    {"pfc-rx-pkts", EVIDENCE_RX_PAUSE_FRAMES, 0, false},
    {"Shutdown", EVIDENCE_WATCHDOG_DETECTED, 0, false},
    {"Restored", EVIDENCE_WATCHDOG_RESTORED, 0, false},
    {"Aggregate pkts dropped", EVIDENCE_WATCHDOG_DROPS, 0, false},
    {NULL, 0, 0, false},
};
/* clang-format on */

static void set_row(struct reading *in, const struct json *row, const struct json_walk_at *at, const char *label,
                    uint64_t number)
{
    in->source.line = row->line;
    for (const struct counter_name *known = rows; at->port != EVIDENCE_NONE && known->pattern; known++) {
        if (strcmp(label, known->pattern)) continue;
        bool of_port = evidence_counters[known->counter].scope == EVIDENCE_PORT;
        if (of_port || at->priority < EVIDENCE_PRIORITIES)
            evidence_set(in->evidence, at->port, of_port ? EVIDENCE_NO_PRIORITY : at->priority, known->counter, number,
                         &in->source);
    }
}

/* {"eq-stat-type": "Tx", "eq-stat-units": "Pkts", "eq-uc-stat-value": "5", "eq-mc-stat-value": "6"}: numbers are of
 * kinds of traffic, and their sum counts.  "eq-" is of a queue, "q-" of its watchdog, "ip-" and "ep-" of the port. */
static bool statistics_row(struct reading *in, const struct json *row, const struct json_walk_at *at)
{
    const char *type = NULL, *units = NULL;
    uint64_t sum = 0, number;
    bool any = false;
    char label[96];

    for (const struct json *one = row->child; one; one = one->next) {
        const char *key = one->name ? strstr(one->name, "-stat-") : NULL;
        if (!one->name) continue;
        if (key && !strcmp(key, "-stat-type")) {
            type = json_string(one);
        } else if (key && !strcmp(key, "-stat-units")) {
            units = json_string(one);
        } else if (json_u64(one, &number)) {
            if (__builtin_add_overflow(sum, number, &sum)) return true;
            any = true;
        }
    }
    if (!type) return false;
    snprintf(label, sizeof label, "%s%s%s", type, units ? " " : "", units ? units : "");
    if (any) set_row(in, row, at, label, sum);
    return true;
}

/* {"counter_name_str": "uc-ecn-mark-pkts", "qos_group_0": "0", …, "qos_group_7": "5"} */
static bool tabular_row(struct reading *in, const struct json *row, const struct json_walk_at *at)
{
    const char *counter = json_string(json_get(row, "counter_name_str"));
    uint64_t number;

    if (!counter) return false;
    for (const struct json *one = row->child; one; one = one->next) {
        struct text_field key = field_of(one->name);
        int group = field_suffix(&key, "qos_group_");
        if (group < 0 || group >= EVIDENCE_PRIORITIES || !json_u64(one, &number)) continue;
        set_row(in, one, &(struct json_walk_at){at->port, (unsigned)group}, counter, number);
    }
    return true;
}

/* {"cos": "3", "tx-pause-state": "Inactive", "tx-pause-count": "7", …}: the counts have names of their own. */
static void pause_state(struct reading *in, const struct json *row, const struct json_walk_at *at)
{
    const char *tx = json_string(json_get(row, "tx-pause-state")), *rx = json_string(json_get(row, "rx-pause-state"));

    if (at->port == EVIDENCE_NONE || at->priority >= EVIDENCE_PRIORITIES) return;
    in->source.line = row->line;
    if (tx)
        evidence_set(in->evidence, at->port, at->priority, EVIDENCE_TX_PAUSED_NOW, !strcmp(tx, "Active"), &in->source);
    if (rx)
        evidence_set(in->evidence, at->port, at->priority, EVIDENCE_RX_PAUSED_NOW, !strcmp(rx, "Active"), &in->source);
}

static void neighbour(struct reading *in, const struct json *row)
{
    static const char *const devices[] = {"sys_name", "chassis_id", "sysName", NULL};
    struct text_field local = field_of(json_string(json_get(row, "l_port_id"))), device = {"", 0};
    struct text_field id = field_of(json_string(json_get(row, "port_id")));
    struct text_field text = field_of(json_string(json_get(row, "port_desc")));

    for (size_t i = 0; devices[i] && !device.length; i++)
        device = field_of(json_string(json_get(row, devices[i])));
    in->source.line = row->line;
    if (field_is_port(&local)) reading_neighbour(in, reading_port(in, &local), &device, &id, &text);
}

/* "dn": "sys/intf/phys-[eth1/3]/…": the port, and by "cmapName" the queue; what is counted is in the same object. */
static void managed_object(struct reading *in, const struct json *attributes, const char *dn)
{
    const char *begin = strchr(dn, '['), *end = begin ? strchr(begin, ']') : NULL;
    const char *class = json_string(json_get(attributes, "cmapName"));
    struct json_walk_at at = {EVIDENCE_NONE, EVIDENCE_NO_PRIORITY};

    if (!end) return;
    struct text_field name = {begin + 1, (size_t)(end - begin - 1)};
    if (!field_is_port(&name)) return;
    at.port = reading_port(in, &name);
    if (class) { /* c-out-8q-q3, c-out-8q-q-default */
        const char *queue = strrchr(class, 'q');
        at.priority = queue && queue[1] >= '0' && queue[1] <= '7' && !queue[2] ? (unsigned)(queue[1] - '0')
                      : strstr(class, "q-default")                             ? 0
                                                                               : EVIDENCE_PRIORITIES;
    }
    if (json_get(attributes, "sysName")) {
        struct text_field device = field_of(json_string(json_get(attributes, "sysName")));
        struct text_field id = field_of(json_string(json_get(attributes, "portIdV")));
        struct text_field text = field_of(json_string(json_get(attributes, "portDesc")));
        reading_neighbour(in, at.port, &device, &id, &text);
    }
    for (const struct json *one = attributes->child; one; one = one->next) {
        struct text_field key = field_of(one->name), value = field_of(one->text);
        in->source.line = one->line;
        if (one->name && one->text) reading_named(in, names, at.port, at.priority, &key, &value);
    }
}

static bool json_object(struct reading *in, const struct json *object, const struct json_walk_at *at)
{
    const char *dn = json_string(json_get(object, "dn"));

    if (dn) {
        managed_object(in, object, dn);
        return true;
    }
    if (json_get(object, "l_port_id")) {
        neighbour(in, object);
        return true;
    }
    pause_state(in, object, at);
    return statistics_row(in, object, at) || tabular_row(in, object, at);
}

static bool json_is(const struct json *root)
{
    static const char *const tops[] = {"TABLE_module", "TABLE_interface",   "TABLE_queuing_interface",
                                       "imdata",       "TABLE_instance",    "TABLE_pfc_interface",
                                       "TABLE_nbor",   "TABLE_nbor_detail", NULL};

    return json_body_with(root, tops) != NULL;
}

static void json_read(struct reading *in, const struct json *root)
{
    static const char *const ports[] = {"interface", "if_name_str", "if-str", "if-name-str", "if_name", "port", NULL};
    static const char *const queues[] = {"eq-qosgrp", "queue", "cos", NULL};
    static const char *const states[] = {"state", NULL}, *const rates[] = {"eth_speed", NULL}, *const none[] = {NULL};
    static const struct json_words words = {.names = names,
                                            .port_keys = ports,
                                            .priority_keys = queues,
                                            .by_priority = none,
                                            .scalar = EVIDENCE_MARKED,
                                            .state_keys = states,
                                            .rate_keys = rates,
                                            .passed_over = none,
                                            .object = json_object};

    reading_system(in, "nxos", FABRIC_ROLE_SWITCH);
    json_walk(in, &words, root);
}
const struct json_reader reader_nxos_json = {
    "nxos-json", "NX-OS: NX-API JSON of interfaces, queuing, LLDP; DME classes (ipqosQueuingStats)", json_is,
    json_read};
