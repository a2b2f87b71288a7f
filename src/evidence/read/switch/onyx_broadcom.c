/* SPDX-License-Identifier: Apache-2.0 */
/* HPE's and NVIDIA's Onyx: show interfaces ethernet counters pfc|tc; Broadcom's shell: show c. */
#include <string.h>

#include "evidence/read/switch/optics.h"

/* --- Onyx: the port alone on a line, below it "PFC 5:", "Rx", "n pause packets", ... --- */

struct onyx {
    uint32_t port;
    int priority; /* -1: none */
    char part;    /* 'P'FC, 'T'C, 'G' of "PG" */
    bool tx;
    struct optics optics; /* of NX-OS, which writes the port's name alone above them as well */
};
_Static_assert(sizeof(struct onyx) <= READER_STATE, "a reader's state");

static bool onyx_head(const char *line)
{
    struct text_field word[2];

    if (strncmp(line, "Eth", 3) != 0 || field_split(line, word, 2) != 1) return false;
    if (word[0].at[word[0].length - 1] == ':') word[0].length--;
    return memchr(word[0].at, '/', word[0].length) && field_is_port(&word[0]);
}

static bool onyx_part(struct onyx *state, const struct text_field *word, size_t words)
{
    struct text_field number = words == 2 ? word[1] : (struct text_field){"", 0};
    uint64_t priority;

    if (number.length && number.at[number.length - 1] == ':') number.length--;
    if (!field_number(&number, &priority)) return false;
    state->part = field_is(&word[0], "PFC") ? 'P' : field_is(&word[0], "TC") ? 'T' : field_is(&word[0], "PG") ? 'G' : 0;
    state->priority = state->part && priority < EVIDENCE_PRIORITIES ? (int)priority : -1;
    return state->part != 0;
}

static void onyx_count(struct reading *in, const struct onyx *state, const struct text_field *value, const char *name)
{
    static const struct {
        char part;
        const char *name;
        enum evidence_counter rx, tx;
        uint16_t scale;
    } names[] = {{'P', "pause packets", EVIDENCE_RX_PAUSE_FRAMES, EVIDENCE_TX_PAUSE_FRAMES, 1},
                 {'P', "pause duration", EVIDENCE_RX_PAUSE_NS, EVIDENCE_TX_PAUSE_NS, 1000},
                 {'P', "packets", EVIDENCE_RX_PACKETS, EVIDENCE_TX_PACKETS, 1},
                 {'P', "bytes", EVIDENCE_RX_BYTES, EVIDENCE_TX_BYTES, 1},
                 {'T', "packets", EVIDENCE_TX_PACKETS, EVIDENCE_TX_PACKETS, 1},
                 {'T', "bytes", EVIDENCE_TX_BYTES, EVIDENCE_TX_BYTES, 1},
                 {'T', "unicast no buffer discard", EVIDENCE_QUEUE_DROPS, EVIDENCE_QUEUE_DROPS, 1},
                 {'T', "WRED discard", EVIDENCE_WRED_DROPS, EVIDENCE_WRED_DROPS, 1},
                 {'T', "ECN marked packets", EVIDENCE_MARKED, EVIDENCE_MARKED, 1},
                 {'G', "no buffer discard", EVIDENCE_GROUP_DROPS, EVIDENCE_GROUP_DROPS, 1}};
    uint64_t number;

    if (!field_number(value, &number)) return;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t length = strlen(names[i].name);
        if (names[i].part != state->part || strncmp(name, names[i].name, length) != 0 ||
            (name[length] && name[length] != ' ' && name[length] != '(') ||
            __builtin_mul_overflow(number, names[i].scale, &number))
            continue;
        evidence_set(in->evidence, state->port, (unsigned)state->priority, state->tx ? names[i].tx : names[i].rx,
                     number, &in->source);
        return;
    }
}

static bool onyx_line(struct reading *in, const char *line)
{
    struct onyx *state = (struct onyx *)in->state;
    struct text_field word[3];
    size_t words = field_split(line, word, 3);

    if (onyx_head(line)) {
        if (word[0].at[word[0].length - 1] == ':') word[0].length--;
        optics_end(in, &state->optics);
        *state = (struct onyx){.port = reading_port(in, &word[0]), .priority = -1};
        optics_begin(&state->optics, state->port);
        return true;
    }
    if (optics_nxos_line(in, &state->optics, line)) return true;
    if (state->port == EVIDENCE_NONE || !words) return false;
    if (words == 2 && onyx_part(state, word, words)) {
        reading_system(in, "onyx", FABRIC_ROLE_SWITCH);
    } else if (words == 1 && (line_begins(line, "Rx") || line_begins(line, "Tx"))) {
        state->tx = line_begins(line, "Tx");
    } else if (words >= 2 && state->priority >= 0) {
        onyx_count(in, state, &word[0], word[1].at);
    }
    return true;
}
static void onyx_end(struct reading *in)
{
    optics_end(in, &((struct onyx *)in->state)->optics);
}
const struct text_reader reader_onyx = {
    "onyx", "Onyx: show interfaces ethernet counters pfc prio N, tc N; NX-OS: show interface transceiver details",
    onyx_head, onyx_line, onyx_end};

/* --- Broadcom: "NAME.port : value [+delta [rate/s]]" --- */

/* clang-format off */
static const struct counter_name registers[] = {
    {"TPFC#", EVIDENCE_TX_PAUSE_FRAMES, 0, false},
    {"RPFC#", EVIDENCE_RX_PAUSE_FRAMES, 0, false},
    {"UC_PERQ_PKT(#)", EVIDENCE_TX_PACKETS, 0, false},
    {"UC_PERQ_BYTE(#)", EVIDENCE_TX_BYTES, 0, false},
    {"UCQ_DROP_PKT(#)", EVIDENCE_QUEUE_DROPS, 0, false},
    {"WRED_PKT_UCQ(#)", EVIDENCE_WRED_DROPS, 0, false},
    {"DROP_PKT_ING", EVIDENCE_PORT_RX_DROPS, 0, false},
    {"RPKT", EVIDENCE_PORT_RX_PACKETS, 0, false},
    {"TPKT", EVIDENCE_PORT_TX_PACKETS, 0, false},
    {"RBYT", EVIDENCE_PORT_RX_BYTES, 0, false},
    {"TBYT", EVIDENCE_PORT_TX_BYTES, 0, false},
    {"RFCS", EVIDENCE_CRC_ERRORS, 0, false},
    {"ROVR", EVIDENCE_MTU_DROPS, 0, false},
    {NULL, 0, 0, false},
};
/* clang-format on */

/* The register's name and its port; false: it is no such line. */
static bool split_register(const char *line, struct text_field *name, struct text_field *port, struct text_field *value)
{
    struct text_field word[3];

    if (field_split(line, word, 3) < 3 || !field_is(&word[1], ":")) return false;
    const char *dot = memchr(word[0].at, '.', word[0].length);
    if (!dot || word[0].at[0] < 'A' || word[0].at[0] > 'Z') return false;
    *name = (struct text_field){word[0].at, (size_t)(dot - word[0].at)};
    *port = (struct text_field){dot + 1, word[0].length - name->length - 1};
    *value = word[2];
    for (size_t i = 0; i + 4 < name->length; i++) /* XLMIB_RPKT, CLMIB_RPKT */
        if (!memcmp(name->at + i, "MIB_", 4)) {
            *name = (struct text_field){name->at + i + 4, name->length - i - 4};
            break;
        }
    return name->length && port->length && port->at[0] >= 'a' && port->at[0] <= 'z';
}

static bool broadcom_head(const char *line)
{
    struct text_field name, port, value;

    return split_register(line, &name, &port, &value);
}

static bool broadcom_line(struct reading *in, const char *line)
{
    struct text_field name, port, value;

    if (!split_register(line, &name, &port, &value)) return false;
    if (!field_is_port(&port)) return true;
    uint32_t of = reading_port(in, &port);
    if (!in->said)
        evidence_remark(in->evidence, in->source.file, in->source.line,
                        "ports have the chip's names (xe0): give them to the fabric file's ports to have them tied");
    in->said = true;
    reading_named(in, registers, of, EVIDENCE_NO_PRIORITY, &name, &value);
    return true;
}
const struct text_reader reader_broadcom = {"broadcom", "Broadcom's shell: show c", broadcom_head, broadcom_line, NULL};
