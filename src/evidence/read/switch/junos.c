/* SPDX-License-Identifier: Apache-2.0 */
/* Junos: show interfaces extensive, diagnostics optics; show lldp neighbors. */
#include <string.h>

#include "evidence/read/switch/optics.h"

struct junos {
    uint32_t port;
    bool output; /* of "Output errors:", not "Input errors:" */
    bool queues; /* rows of "Queue counters:" */
    struct optics optics;
};
_Static_assert(sizeof(struct junos) <= READER_STATE, "a reader's state");

static bool extensive_head(const char *line)
{
    return line_begins(line, "Physical interface: ");
}

/* The number behind a name that may stand anywhere in the line: "Carrier transitions: 5, Errors: 0". */
static void after(struct reading *in, uint32_t port, const char *line, const char *name, enum evidence_counter counter)
{
    const char *at = strstr(line, name);
    struct text_field value = {at ? at + strlen(name) : "", 0};

    if (!at) return;
    value.at += strspn(value.at, " :");
    value.length = strspn(value.at, "0123456789");
    if (value.length) reading_set(in, port, EVIDENCE_NO_PRIORITY, counter, &value);
}

/* "Total octets   received   sent" */
static bool mac_row(struct reading *in, uint32_t port, const char *line)
{
    static const struct {
        const char *name;
        int rx, tx; /* -1: none */
    } rows[] = {{"Total octets", EVIDENCE_PORT_RX_BYTES, EVIDENCE_PORT_TX_BYTES},
                {"Total packets", EVIDENCE_PORT_RX_PACKETS, EVIDENCE_PORT_TX_PACKETS},
                {"CRC/Align errors", EVIDENCE_CRC_ERRORS, -1},
                {"Oversized frames", EVIDENCE_MTU_DROPS, -1},
                {"FEC Corrected Errors", EVIDENCE_FEC_CORRECTED, -1},
                {"FEC Uncorrected Errors", EVIDENCE_FEC_UNCORRECTED, -1},
                {"Code violations", EVIDENCE_SYMBOL_ERRORS, -1}};
    struct text_field word[2];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (!line_begins(line, rows[i].name)) continue;
        const char *rest = strstr(line, rows[i].name) + strlen(rows[i].name);
        size_t words = field_split(rest, word, 2);
        if (words >= 1) reading_set(in, port, EVIDENCE_NO_PRIORITY, (enum evidence_counter)rows[i].rx, &word[0]);
        if (words >= 2 && rows[i].tx >= 0)
            reading_set(in, port, EVIDENCE_NO_PRIORITY, (enum evidence_counter)rows[i].tx, &word[1]);
        return true;
    }
    return false;
}

/* "Priority :  5   received   sent" */
static bool pause_row(struct reading *in, uint32_t port, const char *line)
{
    struct text_field word[5];
    uint64_t priority;

    if (!line_words(line, "Priority :") || field_split(line, word, 5) != 5 || !field_number(&word[2], &priority) ||
        priority >= EVIDENCE_PRIORITIES)
        return false;
    reading_set(in, port, (unsigned)priority, EVIDENCE_RX_PAUSE_FRAMES, &word[3]);
    reading_set(in, port, (unsigned)priority, EVIDENCE_TX_PAUSE_FRAMES, &word[4]);
    return true;
}

/* A queue's number, perhaps a name, queued, sent and dropped packets. */
static void queue_row(struct reading *in, uint32_t port, const char *line)
{
    struct text_field word[6];
    size_t words = field_split(line, word, 6);
    uint64_t queue, number;

    if (words < 4 || words > 5 || !field_number(&word[0], &queue) || queue >= EVIDENCE_PRIORITIES ||
        !field_number(&word[words - 1], &number) || !field_number(&word[words - 2], &number))
        return;
    reading_set(in, port, (unsigned)queue, EVIDENCE_TX_PACKETS, &word[words - 2]);
    reading_set(in, port, (unsigned)queue, EVIDENCE_QUEUE_DROPS, &word[words - 1]);
}

/* A port of the machine ("et-0/0/1", "xe-0/0/1:2", "mge-0/0/1"); not a tunnel, a service, a part of the machine itself,
 * or a bundle. */
static bool is_port(const struct text_field *name)
{
    static const char *const kinds[] = {"et", "xe", "ge", "mge", "fe", "so", NULL};
    size_t letters = 0;

    while (letters < name->length && name->at[letters] >= 'a' && name->at[letters] <= 'z')
        letters++;
    for (size_t i = 0; kinds[i]; i++)
        if (strlen(kinds[i]) == letters && !memcmp(kinds[i], name->at, letters)) return letters < name->length;
    return false;
}

/* "Last flapped   : 2021-01-12 10:04:59 EST (00:30:40 ago)", "Statistics last cleared: ..." */
static bool last_cleared(struct reading *in, uint32_t port, const char *line)
{
    const char *bracket = strchr(line, '(');
    uint64_t seconds;

    if (!line_begins(line, "Statistics last cleared:")) return false;
    if (bracket && field_duration(bracket + 1, &seconds))
        evidence_set(in->evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_CLEARED_S, seconds, &in->source);
    return true;
}

static void begin(struct reading *in, struct junos *state, const char *line)
{
    struct text_field name;
    const char *at = strstr(line, "Physical interface: ") + 20;

    optics_end(in, &state->optics);
    *state = (struct junos){.port = EVIDENCE_NONE};
    name = (struct text_field){at, strcspn(at, ", ")};
    bool bundle = name.length > 2 && !memcmp(name.at, "ae", 2) && name.at[2] >= '0' && name.at[2] <= '9';
    if (bundle) {
        reading_system(in, "junos", FABRIC_ROLE_SWITCH);
        evidence_remark(in->evidence, in->source.file, in->source.line,
                        "%.*s is a bundle of links: its members count too, and say which cable it is", (int)name.length,
                        name.at);
    }
    /* Where a bundle is all that there is, it is read; its members stand before it. */
    bool alone = bundle && in->device != EVIDENCE_NONE && in->evidence->object[in->device].next == EVIDENCE_NONE;
    if (!is_port(&name) && !alone) return;
    reading_system(in, "junos", FABRIC_ROLE_SWITCH);
    state->port = reading_port(in, &name);
    optics_begin(&state->optics, state->port);
    if (state->port != EVIDENCE_NONE && line_has(line, "Administratively down"))
        reading_event(in, EVIDENCE_EVENT_PORT_SHUT, state->port, EVIDENCE_NO_PRIORITY, NULL, NULL, NULL);
    if (state->port != EVIDENCE_NONE && line_has(line, "Physical link is "))
        evidence_set(in->evidence, state->port, EVIDENCE_NO_PRIORITY, EVIDENCE_LINK_UP,
                     line_has(line, "Physical link is Up"), &in->source);
}

static bool extensive_line(struct reading *in, const char *line)
{
    struct junos *state = (struct junos *)in->state;
    uint64_t rate;

    if (extensive_head(line)) {
        begin(in, state, line);
        return true;
    }
    if (line_begins(line, "Logical interface "))
        state->port = EVIDENCE_NONE; /* its counters are of a part of the port */
    /* What belongs to no port of interest is known, all the same. */
    if (state->port == EVIDENCE_NONE)
        return *line == ' ' || *line == '\t' || line_has(line, ": ") || line_begins(line, "Logical interface ");
    if (last_cleared(in, state->port, line) || optics_junos_line(in, &state->optics, line)) return true;
    if (line_begins(line, "Input errors:") || line_begins(line, "Output errors:"))
        state->output = line_begins(line, "Output");
    if (line_has(line, "Queue counters:")) state->queues = true;
    if (line_begins(line, "MAC statistics:") || line_begins(line, "Queue number:")) state->queues = false;
    if (line_begins(line, "Description: ")) {
        struct text_field text = field_of(strchr(line, ':') + 2);
        reading_description(in, state->port, &text);
    } else if (line_begins(line, "Link-level type:") || line_begins(line, "Link-mode:")) {
        const char *speed = strstr(line, "Speed: ");
        struct text_field text = {speed ? speed + 7 : "", speed ? strcspn(speed + 7, ", ") : 0};
        if (field_rate(&text, &rate))
            evidence_set(in->evidence, state->port, EVIDENCE_NO_PRIORITY, EVIDENCE_RATE, rate, &in->source);
        after(in, state->port, line, " MTU: ", EVIDENCE_MTU);
    } else if (!mac_row(in, state->port, line) && !pause_row(in, state->port, line)) {
        after(in, state->port, line, "Carrier transitions", EVIDENCE_LINK_DOWN);
        if (line_has(line, "Errors: "))
            after(in, state->port, line, " Drops: ", state->output ? EVIDENCE_PORT_TX_DROPS : EVIDENCE_PORT_RX_DROPS);
        if (state->queues) queue_row(in, state->port, line);
    }
    return true;
}
static void extensive_end(struct reading *in)
{
    optics_end(in, &((struct junos *)in->state)->optics);
}
const struct text_reader reader_junos = {"junos", "Junos: show interfaces extensive, diagnostics optics",
                                         extensive_head, extensive_line, extensive_end};

/* --- show interfaces descriptions, show interfaces terse --- */

static bool descriptions_head(const char *line)
{
    return line_words(line, "Interface Admin Link Description") || line_words(line, "Interface Admin Link Proto");
}

/* "ge-0/0/0  up  down  to spine0 et-0/0/4": of the port, not of its units ("ge-0/0/0.0"). */
static bool descriptions_line(struct reading *in, const char *line)
{
    struct text_field word[4];
    size_t words = field_split(line, word, 4);
    uint64_t admin, up;

    if (descriptions_head(line)) return true;
    if (words < 3 || !field_state(&word[1], &admin) || !field_state(&word[2], &up)) return false;
    if (!is_port(&word[0]) || memchr(word[0].at, '.', word[0].length)) return true;
    reading_system(in, "junos", FABRIC_ROLE_SWITCH);
    uint32_t port = reading_port(in, &word[0]);
    evidence_set(in->evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_LINK_UP, up, &in->source);
    if (!admin) reading_event(in, EVIDENCE_EVENT_PORT_SHUT, port, EVIDENCE_NO_PRIORITY, NULL, NULL, NULL);
    if (words < 4) return true;
    struct text_field text = field_of(word[3].at);
    reading_description(in, port, &text);
    return true;
}
const struct text_reader reader_junos_descriptions = {
    "junos-descriptions", "Junos: show interfaces descriptions, terse", descriptions_head, descriptions_line, NULL};

/* --- show lldp neighbors --- */

static bool lldp_head(const char *line)
{
    return line_words(line, "Local Interface Parent Interface Chassis Id");
}

/* Local interface, parent, chassis, port, system: the last two are the neighbour. */
static bool lldp_line(struct reading *in, const char *line)
{
    struct text_field word[6];
    size_t words = field_split(line, word, 6);

    if (lldp_head(line)) {
        reading_system(in, "junos", FABRIC_ROLE_SWITCH);
        return true;
    }
    if (words != 5 || !field_is_port(&word[0])) return false;
    reading_neighbour(in, reading_port(in, &word[0]), &word[4], &word[3], &word[3]);
    return true;
}
const struct text_reader reader_junos_lldp = {"junos-lldp", "Junos: show lldp neighbors", lldp_head, lldp_line, NULL};
