/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NX-OS: show queuing interface (boxes, and the older list of the 5000), show queuing pfc-queue detail, burst-detect.
 *
 * Counters are by qos-group.  A qos-group is taken for the priority of the same number, which it is unless a policy
 * says otherwise; the table of PFC, and the watchdog, say the CoS itself.
 */
#include <string.h>

#include "evidence/read/reader.h"

#define CELLS 12

struct queuing {
    uint32_t port;
    int group; /* -1: none */
    bool ingress;
    uint64_t dropped[2]; /* of the watchdog: on the way out, in */
};

/* The word after `words`: "Ethernet1/2" of "Egress Queuing for Ethernet1/2 [System]". */
static uint32_t port_after(struct reading *in, const char *line, const char *words)
{
    struct text_field word;
    const char *at = strstr(line, words);

    if (!at || !field_split(at + strlen(words), &word, 1)) return EVIDENCE_NONE;
    return field_is_port(&word) ? reading_port(in, &word) : EVIDENCE_NONE;
}

/* Cells between '|', trimmed; empty ones too. */
static size_t cells_of(const char *line, struct text_field *cell)
{
    size_t count = 0;
    const char *at = strchr(line, '|');

    while (at && count < CELLS) {
        const char *begin = at + 1, *end = strchr(begin, '|');
        size_t length = end ? (size_t)(end - begin) : strlen(begin);
        while (length && (*begin == ' ' || *begin == '\t'))
            begin++, length--;
        while (length && (begin[length - 1] == ' ' || begin[length - 1] == '\t'))
            length--;
        if (end || length) cell[count++] = (struct text_field){begin, length};
        at = end;
    }
    return count;
}

/* "QOS GROUP 3", "QOS GROUP 3 [Shutdown] PFC [YES] PFC-COS [3]"; -1: the line has none. */
static int group_of(const char *line)
{
    const char *at = strstr(line, "QOS GROUP ");

    if (!at || at[10] < '0' || at[10] > '9') return -1;
    struct text_field digits = {at + 10, strspn(at + 10, "0123456789")};
    uint64_t group;
    return field_number(&digits, &group) && group < EVIDENCE_PRIORITIES ? (int)group : EVIDENCE_PRIORITIES;
}

/* --- show queuing interface --- */

/* clang-format off */
static const struct counter_name labels[] = {
    {"Tx Pkts", EVIDENCE_TX_PACKETS, 0, false},
    {"Tx Byts", EVIDENCE_TX_BYTES, 0, false},
    {"Dropped Pkts", EVIDENCE_QUEUE_DROPS, 0, false},
    {"Tail Drop Pkts", EVIDENCE_QUEUE_DROPS, 0, false},
    {"WRED/AFD & Tail Drop Pkts", EVIDENCE_QUEUE_DROPS, 0, false},
    {"WD & Tail Drop Pkts", EVIDENCE_QUEUE_DROPS, 0, false},
    {"WRED/AFD Drop Pkts", EVIDENCE_WRED_DROPS, 0, false},
    {"ECN Marked Pkts", EVIDENCE_MARKED, 0, false},
    {"Random ECN Marked Pkts", EVIDENCE_MARKED, 0, false},
    {"Q Depth Byts", EVIDENCE_QUEUE_BYTES, 0, false},
    {"Current Q Depth Byts", EVIDENCE_QUEUE_BYTES, 0, false},
    {"Peak Q Depth Byts", EVIDENCE_QUEUE_PEAK, 0, false},
    {NULL, 0, 0, false},
};
/* clang-format on */

static bool queuing_head(const char *line)
{
    return line_begins(line, "Egress Queuing for ") || line_begins(line, "Ingress Queuing for ");
}

/* A label and a number for each kind of traffic, whose sum counts; or pairs of label and number. */
static bool box_row(struct reading *in, const struct queuing *state, const struct text_field *cell, size_t cells)
{
    uint64_t number, sum;

    for (size_t i = 0; i < cells;) {
        struct text_field label = cell[i++];
        for (sum = 0; i < cells && field_number(&cell[i], &number); i++)
            if (__builtin_add_overflow(sum, number, &sum)) return false;
        if (!label.length || !field_number(&cell[i - 1], &number)) continue;
        for (const struct counter_name *known = labels; known->pattern; known++)
            if (field_is(&label, known->pattern))
                evidence_set(in->evidence, state->port, (unsigned)state->group, known->counter, sum, &in->source);
    }
    return true;
}

/* COS, QOS Group, PG, TxPause, TxCount, RxPause, RxCount */
static bool pfc_row(struct reading *in, const struct queuing *state, const char *line)
{
    struct text_field word[8];
    size_t words = field_split(line, word, 8);
    uint64_t cos;

    if (words < 5 || words > 7 || !field_number(&word[0], &cos) || cos >= EVIDENCE_PRIORITIES) return false;
    const struct text_field *last = &word[words - 4];
    bool tx = field_is(&last[0], "Active"), rx = field_is(&last[2], "Active");
    if ((!tx && !field_is(&last[0], "Inactive")) || (!rx && !field_is(&last[2], "Inactive"))) return false;
    unsigned priority = (unsigned)cos;
    evidence_set(in->evidence, state->port, priority, EVIDENCE_TX_PAUSED_NOW, tx, &in->source);
    evidence_set(in->evidence, state->port, priority, EVIDENCE_RX_PAUSED_NOW, rx, &in->source);
    reading_set(in, state->port, priority, EVIDENCE_TX_PAUSE_FRAMES, &last[1]);
    reading_set(in, state->port, priority, EVIDENCE_RX_PAUSE_FRAMES, &last[3]);
    return true;
}

/* "TxPPP:   11, RxPPP:   12", "Ingress MMU Drop Pkts   10" */
static bool port_row(struct reading *in, const struct queuing *state, const char *line)
{
    static const struct {
        const char *label;
        enum evidence_counter counter;
    } rows[] = {{"TxPPP:", EVIDENCE_PORT_TX_PAUSE_FRAMES},
                {"RxPPP:", EVIDENCE_PORT_RX_PAUSE_FRAMES},
                {"Ingress MMU Drop Pkts", EVIDENCE_PORT_RX_DROPS},
                {"Egress MMU Drop Pkts", EVIDENCE_PORT_TX_DROPS}};
    bool any = false;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *at = strstr(line, rows[i].label);
        struct text_field value;
        if (!at || !field_split(at + strlen(rows[i].label), &value, 1)) continue;
        if (field_is(&value, "|") || field_is(&value, ":")) field_split(value.at + value.length, &value, 1);
        while (value.length && strchr(",|", value.at[value.length - 1]))
            value.length--;
        reading_set(in, state->port, EVIDENCE_NO_PRIORITY, rows[i].counter, &value);
        any = true;
    }
    return any;
}

static bool queuing_line(struct reading *in, const char *line)
{
    struct queuing *state = (struct queuing *)in->state;
    struct text_field cell[CELLS];
    int group = group_of(line);

    if (queuing_head(line)) {
        reading_system(in, "nxos", FABRIC_ROLE_SWITCH);
        *state = (struct queuing){port_after(in, line, "Queuing for "), -1, line_begins(line, "Ingress"), {0}};
        return true;
    }
    if (group >= 0) {
        state->group = group;
        return true;
    }
    if (state->port == EVIDENCE_NONE) return false;
    if (line_begins(line, "Port Egress Statistics") || line_begins(line, "Port Ingress Statistics") ||
        line_has(line, "CONTROL QOS GROUP") || line_has(line, "SPAN QOS GROUP"))
        state->group = -1;
    if (port_row(in, state, line)) return true;
    size_t cells = cells_of(line, cell);
    if (cells && state->group >= 0 && !state->ingress) return box_row(in, state, cell, cells);
    return pfc_row(in, state, line);
}
const struct text_reader reader_nxos_queuing = {"nxos-queuing", "NX-OS: show queuing interface", queuing_head,
                                                queuing_line, NULL};

/* --- the older form --- */

static bool old_head(const char *line)
{
    return line_begins(line, "Ethernet") && line_has(line, " queuing information:");
}

static void old_counters(struct reading *in, const struct queuing *state, const char *line)
{
    static const struct {
        const char *label;
        enum evidence_counter counter;
    } rows[] = {{"Pkts received over the port", EVIDENCE_RX_PACKETS},
                {"Pkts sent to the port", EVIDENCE_TX_PACKETS},
                {"Pkts discarded on ingress", EVIDENCE_GROUP_DROPS}};
    const char *colon = strchr(line, ':');
    struct text_field value;

    for (size_t i = 0; colon && i < sizeof rows / sizeof rows[0]; i++)
        if (line_begins(line, rows[i].label) && field_split(colon + 1, &value, 1))
            reading_set(in, state->port, (unsigned)state->group, rows[i].counter, &value);
    if (line_begins(line, "drop-type:"))
        evidence_set(in->evidence, state->port, (unsigned)state->group, EVIDENCE_LOSSLESS, line_has(line, "no-drop"),
                     &in->source);
    if (!line_begins(line, "Per-priority-pause status")) return;
    if (line_has(line, "Rx ("))
        evidence_set(in->evidence, state->port, (unsigned)state->group, EVIDENCE_RX_PAUSED_NOW,
                     line_has(line, "Rx (Active)"), &in->source);
    if (line_has(line, "Tx (")) /* a narrow terminal has it on the next line */
        evidence_set(in->evidence, state->port, (unsigned)state->group, EVIDENCE_TX_PAUSED_NOW,
                     line_has(line, "Tx (Active)"), &in->source);
}

static bool old_line(struct reading *in, const char *line)
{
    struct queuing *state = (struct queuing *)in->state;
    struct text_field word[3];
    uint64_t group;

    if (old_head(line)) {
        reading_system(in, "nxos", FABRIC_ROLE_SWITCH);
        *state = (struct queuing){port_after(in, line, ""), -1, false, {0}};
    } else if (line_has(line, " queuing information:")) { /* of a channel: its members have theirs */
        *state = (struct queuing){EVIDENCE_NONE, -1, false, {0}};
    } else if (line_begins(line, "Total Multicast crossbar")) {
        state->group = -1;
    } else if (field_split(line, word, 3) == 2 && field_is(&word[0], "qos-group") && field_number(&word[1], &group)) {
        state->group = group < EVIDENCE_PRIORITIES ? (int)group : -1;
    } else if (state->port != EVIDENCE_NONE && state->group >= 0) {
        old_counters(in, state, line);
    }
    return true;
}
const struct text_reader reader_nxos_queuing_old = {"nxos-queuing-5k", "NX-OS: show queuing interface (Nexus 5000)",
                                                    old_head, old_line, NULL};

/* --- show queuing pfc-queue detail --- */

static bool watchdog_head(const char *line)
{
    return line_has(line, " Interface PFC watchdog:");
}

static void watchdog_row(struct reading *in, struct queuing *state, const struct text_field *label,
                         const struct text_field *value)
{
    uint64_t number;

    if (!field_number(value, &number)) return;
    if (field_is(label, "Shutdown"))
        reading_set(in, state->port, (unsigned)state->group, EVIDENCE_WATCHDOG_DETECTED, value);
    else if (field_is(label, "Restored"))
        reading_set(in, state->port, (unsigned)state->group, EVIDENCE_WATCHDOG_RESTORED, value);
    else if (field_is(label, "Aggregate pkts dropped"))
        state->dropped[0] = number;
    else if (field_is(label, "Aggregate Ingress pkts dropped"))
        state->dropped[1] = number;
    else
        return;
    if (!field_is(label, "Shutdown") && !field_is(label, "Restored") &&
        state->dropped[0] <= UINT64_MAX - state->dropped[1])
        evidence_set(in->evidence, state->port, (unsigned)state->group, EVIDENCE_WATCHDOG_DROPS,
                     state->dropped[0] + state->dropped[1], &in->source);
}

static bool watchdog_line(struct reading *in, const char *line)
{
    struct queuing *state = (struct queuing *)in->state;
    struct text_field cell[CELLS];
    int group = group_of(line);

    if (watchdog_head(line)) {
        reading_system(in, "nxos", FABRIC_ROLE_SWITCH);
        *state = (struct queuing){port_after(in, line, ""), -1, false, {0}};
        return true;
    }
    if (state->port == EVIDENCE_NONE) return false;
    if (group >= 0) {
        const char *cos = strstr(line, "PFC-COS [");
        *state = (struct queuing){state->port, group, false, {0}};
        if (cos && cos[9] >= '0' && cos[9] <= '7' && cos[10] == ']') state->group = cos[9] - '0';
        evidence_set(in->evidence, state->port, (unsigned)state->group, EVIDENCE_WATCHDOG_ON,
                     line_has(line, "[Shutdown]"), &in->source);
        return true;
    }
    if (state->group >= 0 && cells_of(line, cell) == 2) watchdog_row(in, state, &cell[0], &cell[1]);
    return true;
}
const struct text_reader reader_nxos_watchdog = {"nxos-pfcwd", "NX-OS: show queuing pfc-queue detail", watchdog_head,
                                                 watchdog_line, NULL};

/* --- show queuing burst-detect: the peak of each burst --- */

static bool burst_head(const char *line)
{
    return line_has(line, "Microburst Statistics");
}

static bool burst_line(struct reading *in, const char *line)
{
    int *peak = (int *)in->state; /* which column it is, plus one */
    struct text_field cell[CELLS];
    size_t cells = cells_of(line, cell);

    if (burst_head(line)) return true;
    for (size_t i = 0; i < cells && !*peak; i++)
        if (field_is(&cell[i], "Peak")) *peak = (int)i + 1;
    if (cells < 3 || !*peak || (size_t)*peak > cells || !field_is_port(&cell[0])) return cells > 0;
    const char *digits = cell[1].at + strcspn(cell[1].at, "0123456789|");
    uint32_t port = reading_port(in, &cell[0]);
    reading_system(in, "nxos", FABRIC_ROLE_SWITCH);
    if (*digits >= '0' && *digits <= '7' && !(digits[1] >= '0' && digits[1] <= '9'))
        reading_set(in, port, (unsigned)(*digits - '0'), EVIDENCE_QUEUE_PEAK, &cell[*peak - 1]);
    return true;
}
const struct text_reader reader_nxos_burst = {"nxos-burst", "NX-OS: show queuing burst-detect", burst_head, burst_line,
                                              NULL};
