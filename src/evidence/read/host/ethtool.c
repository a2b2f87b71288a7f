/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ethtool of a host: counters (-S, also what a grep left of them), settings, the module's values (-m), FEC and pauses.
 *
 * Lines of -S without their first one are known by names that only NICs have.  The interface is that of the command, or
 * of the file's name; where neither says it the port is called NIC, and a remark says so.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evidence/read/host/host_names.h"

#define HINT 64

struct statistics {
    char hint[HINT];
    uint32_t port;
    bool known;
};
_Static_assert(sizeof(struct statistics) <= READER_STATE, "a reader's state");

/* The interface at hand; another command may have named another. */
static uint32_t port_now(struct reading *in)
{
    struct statistics *state = (struct statistics *)in->state;

    if (state->known && !strcmp(state->hint, in->hint)) return state->port;
    struct text_field name = field_of(in->hint);
    host_say_system(in, &name);
    snprintf(state->hint, sizeof state->hint, "%s", in->hint);
    state->port = host_hinted_port(in);
    state->known = true;
    return state->port;
}

/* "[3]: rx_discards: 17": of one ring. */
static const char *behind_ring(const char *line)
{
    line += strspn(line, " \t");
    const char *end = *line == '[' ? line + 1 + strspn(line + 1, "0123456789") : NULL;

    return end && end > line + 1 && end[0] == ']' && end[1] == ':' ? end + 2 + strspn(end + 2, " \t") : NULL;
}

static bool is_statistic(const char *line, struct text_field *name, struct text_field *value)
{
    uint64_t number;
    struct text_field word;

    if (!host_label(line, name, value) || !name->length || memchr(name->at, ' ', name->length)) return false;
    return field_split(value->at, &word, 1) && (*value = word, field_number(&word, &number));
}

/* Names that lists of other things have too: not by themselves the sign of a NIC's counters. */
static bool is_common(const struct text_field *name)
{
    return !memchr(name->at, '_', name->length) || field_is(name, "rx_bytes") || field_is(name, "tx_bytes") ||
           field_is(name, "rx_packets") || field_is(name, "tx_packets");
}

static bool statistics_head(const char *line)
{
    struct text_field name, value;
    const char *first = line + strspn(line, " \t");

    if (*first == 'N') return line_begins(line, "NIC statistics:");
    if (*first == '[') return (line = behind_ring(line)) && line_begins(line, "rx_discards:");
    if (*first != 'r' && *first != 't' && *first != 'p' && *first != 'm' && *first != 'l' && *first != 'o' &&
        *first != 'f')
        return false;
    if (!is_statistic(line, &name, &value)) return false;
    /* What most drivers begin with, as they print it or without its blanks. */
    if (field_is(&name, "rx_packets") && (first == line || first == line + 5)) return true;
    return !is_common(&name) && host_has_name(host_interface_names, &name);
}

/* A count of something lost that no list has: whoever reads the text would miss it. */
static bool is_loss(const struct text_field *name, const struct text_field *value)
{
    static const char *const words[] = {"drop", "discard", "missed", "crc", "fcs", NULL};
    uint64_t number;

    if (!field_number(value, &number) || !number) return false;
    for (size_t i = 0; words[i]; i++)
        if (memmem(name->at, name->length, words[i], strlen(words[i]))) return true;
    return false;
}

/* Of one queue or ring: what it dropped is added to the port's. */
static bool queue_line(struct reading *in, uint32_t port, const struct text_field *name, const struct text_field *value)
{
    uint64_t number;
    bool full =
        field_is(name, "rx_discards") || field_is(name, "rx_drops_no_frags") || field_is(name, "rx_drops_no_skbs");

    if (full && field_number(value, &number))
        evidence_sum(in->evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_RING_DROPS, number, &in->source);
    return full || !is_loss(name, value);
}

static bool statistics_line(struct reading *in, const char *line)
{
    struct text_field name, value;

    if (line_begins(line, "NIC statistics:")) {
        ((struct statistics *)in->state)->known = false;
        port_now(in);
        return true;
    }
    const char *ring = behind_ring(line), *queue = strstr(line, ": ");
    if (!ring && queue && is_statistic(queue + 2, &name, &value)) ring = queue + 2; /* "rxq0: rx_bytes: 5" */
    if (!is_statistic(ring ? ring : line, &name, &value)) return false;
    uint32_t port = port_now(in);
    if (port == EVIDENCE_NONE) return false;
    if (ring) return queue_line(in, port, &name, &value);
    return reading_named(in, host_interface_names, port, EVIDENCE_NO_PRIORITY, &name, &value) ||
           !is_loss(&name, &value);
}
const struct text_reader reader_ethtool_statistics = {"ethtool-s", "hosts: ethtool -S DEV, also after grep",
                                                      statistics_head, statistics_line, NULL};

/* --- settings --- */

/* "Settings for eth0:", "FEC parameters for eth0:", "Pause parameters for eth0:" */
static const char *const settings_heads[] = {"Settings for ", "FEC parameters for ", "Pause parameters for ", NULL};

static const char *behind_settings(const char *line)
{
    for (size_t i = 0; settings_heads[i]; i++)
        if (line_begins(line, settings_heads[i])) return line + strspn(line, " \t") + strlen(settings_heads[i]);
    return NULL;
}

static bool settings_head(const char *line)
{
    return (*line == 'S' || *line == 'F' || *line == 'P') && behind_settings(line);
}

static const struct counter_name settings_names[] = {
    {"tx_pause_frames", EVIDENCE_PORT_TX_PAUSE_FRAMES, 0, true},
    {"rx_pause_frames", EVIDENCE_PORT_RX_PAUSE_FRAMES, 0, true},
    {"corrected_blocks", EVIDENCE_FEC_CORRECTED, 0, true},
    {"uncorrectable_blocks", EVIDENCE_FEC_UNCORRECTED, 0, true},
    {"corrected_bits", EVIDENCE_FEC_CORRECTED, 0, true},
    {NULL, 0, 0, false},
};

static bool settings_line(struct reading *in, const char *line)
{
    struct text_field word[2], name, value;
    uint32_t *port = (uint32_t *)in->state;
    const char *of = *line == ' ' || *line == '\t' ? NULL : behind_settings(line);
    uint64_t number;

    if (of) {
        *port = EVIDENCE_NONE;
        if (field_split(of, word, 2) == 1 && word[0].length > 1 && word[0].at[word[0].length - 1] == ':') {
            word[0].length--;
            host_say_system(in, &word[0]);
            if (field_is_port(&word[0])) *port = reading_port(in, &word[0]);
        }
        return true;
    }
    if (*port == EVIDENCE_NONE) return false;
    if (!host_label(line, &name, &value)) return *line == ' ' || *line == '\t'; /* goes on from the line above */
    if (field_is(&name, "Speed") && field_rate(&value, &number))
        evidence_set(in->evidence, *port, EVIDENCE_NO_PRIORITY, EVIDENCE_RATE, number, &in->source);
    else if (field_is(&name, "Link detected") && field_split(value.at, word, 1) && field_state(&word[0], &number))
        evidence_set(in->evidence, *port, EVIDENCE_NO_PRIORITY, EVIDENCE_LINK_UP, number, &in->source);
    else if (field_split(value.at, word, 1))
        reading_named(in, settings_names, *port, EVIDENCE_NO_PRIORITY, &name, &word[0]);
    return true;
}
const struct text_reader reader_ethtool_settings = {
    "ethtool", "hosts: ethtool DEV, ethtool [-I] --show-fec DEV, ethtool [-I] -a DEV", settings_head, settings_line,
    NULL};

/* --- the module --- */

struct module {
    struct statistics of; /* first: port_now() */
    double hot, alarm;    /* degrees; 0: not said */
    uint32_t line;
};
_Static_assert(sizeof(struct module) <= READER_STATE, "a reader's state");

/* Junos prints much the same, indented by blanks and in whole degrees. */
static bool module_head(const char *line)
{
    static const char *const begins[] = {"Identifier ",
                                         "Module temperature ",
                                         "Receiver signal average",
                                         "Rcvr signal avg",
                                         "Module State ",
                                         "Laser ",
                                         "Vendor rev",
                                         "Connector ",
                                         "Alarm/warning flags",
                                         NULL};
    bool tab = *line == '\t';

    line += strspn(line, " \t");
    const char *colon = *line && strchr("ILMRVCA", *line) ? strchr(line, ':') : NULL;
    if (!colon) return false;
    for (size_t i = 0; begins[i]; i++) {
        if (strncmp(line, begins[i], strlen(begins[i]))) continue;
        if (i == 0) return !strncmp(colon, ": 0x", 4);
        if (i == 1) return colon[1 + strcspn(colon + 1, ".d")] == '.';
        return tab || i < 5;
    }
    return false;
}

static bool module_line(struct reading *in, const char *line)
{
    struct module *state = (struct module *)in->state;
    struct text_field label, value, word;
    char what[96];
    double degrees;

    if (!host_label(line, &label, &value)) return *line == ' ' || *line == '\t';
    bool number = value.length && field_split(value.at, &word, 1) && field_real(&word, &degrees);
    uint32_t port = port_now(in);
    if (port == EVIDENCE_NONE) return true;
    if (field_is(&label, "Module temperature high alarm threshold") && number) {
        state->alarm = degrees;
    } else if (field_is(&label, "Module temperature") && number) {
        state->hot = degrees;
        state->line = in->source.line;
        evidence_set_real(in->evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_TEMPERATURE, degrees, &in->source);
    } else if (field_is(&value, "On") && memmem(label.at, label.length, " alarm", 6)) {
        snprintf(what, sizeof what, "%.*s", label.length < 90 ? (int)label.length : 90, label.at);
        struct text_field detail = field_of(what);
        reading_event(in, EVIDENCE_EVENT_OPTIC_ALARM, port, EVIDENCE_NO_PRIORITY, NULL, NULL, &detail);
    }
    return true;
}

static void module_end(struct reading *in)
{
    struct module *state = (struct module *)in->state;
    char what[96];

    if (state->alarm <= 0 || state->hot < state->alarm || state->of.port == EVIDENCE_NONE || !state->of.known) return;
    snprintf(what, sizeof what, "%.1f degrees, the alarm is at %.1f", state->hot, state->alarm);
    struct text_field detail = field_of(what);
    reading_event(in, EVIDENCE_EVENT_OPTIC_ALARM, state->of.port, EVIDENCE_NO_PRIORITY, NULL, NULL, &detail);
}
const struct text_reader reader_ethtool_module = {"ethtool-m", "hosts: ethtool -m DEV", module_head, module_line,
                                                  module_end};

/* --- ip -s link --- */

struct ip_link {
    uint32_t port;
    bool known, receives, sends; /* the line before names what is received, sent */
};

/* "eth0  UP  02:00:00:00:00:07 <BROADCAST,MULTICAST,UP,LOWER_UP>" */
static bool is_brief(const char *line, struct text_field word[5])
{
    uint64_t up;

    if (!strchr(line, '<') || line[0] == ' ') return false;
    return field_split(line, word, 5) == 4 && *word[3].at == '<' &&
           (field_state(&word[1], &up) || field_is(&word[1], "UNKNOWN"));
}

static bool ip_head(const char *line)
{
    struct text_field word[5];

    if (is_brief(line, word)) return true;
    if (*line < '0' || *line > '9') return false;
    const char *at = line + strspn(line, "0123456789");

    return at[0] == ':' && at[1] == ' ' && strstr(at, ": <") && strstr(at, " mtu ");
}

/* Values of the columns "RX:  bytes packets errors dropped missed mcast", or TX's. */
static void ip_values(struct reading *in, const struct ip_link *state, const char *line)
{
    static const enum evidence_counter of[2][2] = {{EVIDENCE_PORT_TX_BYTES, EVIDENCE_PORT_TX_PACKETS},
                                                   {EVIDENCE_PORT_RX_BYTES, EVIDENCE_PORT_RX_PACKETS}};
    struct text_field word[6];
    uint64_t number;
    size_t words = field_split(line, word, 6);

    for (size_t i = 0; i < 2 && i < words; i++)
        if (field_number(&word[i], &number))
            evidence_offer(in->evidence, state->port, EVIDENCE_NO_PRIORITY, of[state->receives][i], number,
                           &in->source);
    if (state->receives && words > 4 && field_number(&word[4], &number))
        evidence_offer(in->evidence, state->port, EVIDENCE_NO_PRIORITY, EVIDENCE_RING_DROPS, number, &in->source);
}

static bool ip_line(struct reading *in, const char *line)
{
    struct ip_link *state = (struct ip_link *)in->state;
    struct text_field word[READER_FIELDS];
    size_t words = field_split(line, word, READER_FIELDS);
    uint64_t number;

    if (is_brief(line, word)) {
        struct text_field name = {word[0].at, strcspn(word[0].at, "@ ")};
        *state = (struct ip_link){.port = EVIDENCE_NONE};
        if (field_is_port(&name) && field_state(&word[1], &number) &&
            (state->port = reading_port(in, &name)) != EVIDENCE_NONE)
            evidence_offer(in->evidence, state->port, EVIDENCE_NO_PRIORITY, EVIDENCE_LINK_UP, number, &in->source);
        return true;
    }
    if (ip_head(line)) {
        struct text_field name = {word[1].at, strcspn(word[1].at, ":@ ")};
        *state = (struct ip_link){.port = EVIDENCE_NONE};
        if (!field_is_port(&name) || (state->port = reading_port(in, &name)) == EVIDENCE_NONE) return true;
        host_say_system(in, &name);
        state->known = true;
        for (size_t i = 3; i + 1 < words && i + 1 < READER_FIELDS; i++) {
            if (field_is(&word[i], "mtu") && field_number(&word[i + 1], &number))
                evidence_offer(in->evidence, state->port, EVIDENCE_NO_PRIORITY, EVIDENCE_MTU, number, &in->source);
            if (field_is(&word[i], "state") && field_state(&word[i + 1], &number))
                evidence_offer(in->evidence, state->port, EVIDENCE_NO_PRIORITY, EVIDENCE_LINK_UP, number, &in->source);
        }
        return true;
    }
    if (*line != ' ' && *line != '\t') return false;
    if ((state->receives || state->sends) && state->known) ip_values(in, state, line);
    state->receives = words > 2 && field_is(&word[0], "RX:") && field_is(&word[1], "bytes");
    state->sends = words > 2 && field_is(&word[0], "TX:") && field_is(&word[1], "bytes");
    return true;
}
const struct text_reader reader_ip_link = {"ip-link", "hosts: ip -s link, ip -br link", ip_head, ip_line, NULL};
