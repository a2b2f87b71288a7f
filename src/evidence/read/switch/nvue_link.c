/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cumulus Linux: what NVUE says of a port's line: its faults (nv show interface status), its physical layer (link phy
 * health, link phy detail), its module (nv show platform transceiver), and queues that its pause watchdog found stuck.
 *
 * Why a link went down is kept after it came up again: it counts while the link is down.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "evidence/read/switch/fec_bins.h"
#include "evidence/read/switch/nvue.h"
#include "evidence/read/switch/optics.h"

static uint32_t hinted_port(struct reading *in)
{
    struct text_field port = field_of(in->hint);

    return field_is_port(&port) ? reading_port(in, &port) : EVIDENCE_NONE;
}

static bool is_rule(const char *line)
{
    return strchr("-=", *line_text(line)) && *line_text(line) && !line[strspn(line, " \t-=")];
}

static void event(struct reading *in, enum evidence_event_kind kind, uint32_t port, const char *text)
{
    struct text_field detail = field_of(text);

    reading_event(in, kind, port, EVIDENCE_NO_PRIORITY, NULL, NULL, &detail);
}

/* --- nv show interface status --- */

static bool status_head(const char *line)
{
    return line_words(line, "Interface Admin Status Oper Status");
}

/* Cells between the states and the fault may be empty. */
static bool status_line(struct reading *in, const char *line)
{
    struct text_field word[3];
    size_t words = field_split(line, word, 3);
    uint64_t admin, oper;

    if (status_head(line)) {
        reading_system(in, "nvue", FABRIC_ROLE_SWITCH);
        return true;
    }
    if (is_rule(line)) return true;
    if (words < 3 || !field_state(&word[1], &admin) || !field_state(&word[2], &oper)) return false;
    if (!field_is_port(&word[0]) || line_begins(line, "eth")) return true; /* a bundle, a VLAN, management */
    uint32_t port = reading_port(in, &word[0]);
    if (port == EVIDENCE_NONE) return true;
    evidence_set(in->evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_LINK_UP, oper, &in->source);
    if (!admin)
        reading_event(in, EVIDENCE_EVENT_PORT_SHUT, port, EVIDENCE_NO_PRIORITY, NULL, NULL, NULL);
    else if (line_has(line, "Local Fault"))
        event(in, EVIDENCE_EVENT_LINE_FAULT, port, "Local Fault");
    else if (line_has(line, "Remote Fault"))
        event(in, EVIDENCE_EVENT_LINE_FAULT, port, "Remote Fault");
    return true;
}
const struct text_reader reader_nvue_status = {"nvue-status", "Cumulus: nv show interface status", status_head,
                                               status_line, NULL};

/* --- nv show interface SWP link phy health, link phy detail, qos pfc-watchdog --- */

struct link_state {
    struct fec_bins bins;
    bool watchdog; /* rows of its table follow */
};

static bool link_head(const char *line)
{
    return line_words(line, "operational") || line_words(line, "PFC WD Status") ||
           line_words(line, "traffic-class status deadlock-count") || line_begins(line, "linkdown-reason-") ||
           line_begins(line, "phy-received-bits") || line_begins(line, "time-since-last-clear-min");
}

/* "2  DEADLOCK  4" */
static bool watchdog_row(struct reading *in, const struct text_field *word, uint32_t port)
{
    uint64_t class;

    if (!field_number(&word[0], &class) || class >= EVIDENCE_PRIORITIES) return false;
    if (port == EVIDENCE_NONE) return true;
    evidence_set(in->evidence, port, (unsigned)class, EVIDENCE_WATCHDOG_ON, field_is(&word[1], "DEADLOCK"),
                 &in->source);
    reading_set(in, port, (unsigned)class, EVIDENCE_WATCHDOG_DETECTED, &word[2]);
    return true;
}

/* "CABLE_WAS_UNPLUGGED", of planes "A/A/B" or "A###A": the first is the last time. */
static void reason(struct reading *in, uint32_t port, struct text_field why)
{
    const struct evidence_value *up =
        port == EVIDENCE_NONE ? NULL : evidence_find(in->evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_LINK_UP);
    char text[64];

    for (size_t i = 0; i < why.length; i++)
        if (why.at[i] == '/' || why.at[i] == '#') why.length = i;
    if (!up || up->last || !why.length || why.length >= sizeof text || field_is(&why, "UNKNOWN_REASON") ||
        field_is(&why, "DOWN_BY_MANAGEMENT_COMMAND") || field_is(&why, "N/A"))
        return;
    snprintf(text, sizeof text, "%.*s", (int)why.length, why.at);
    event(in, EVIDENCE_EVENT_LINE_FAULT, port, text);
}

static bool phy_value(struct reading *in, struct link_state *state, uint32_t port, const struct text_field *name,
                      const struct text_field *value)
{
    static const char *const known[] = {
        "linkdown-reason-",        "phy-",  "raw-ber", "symbol-ber", "effective-ber", "snr-", "time-since-last-clear",
        "unintentional-link-down", "state", NULL};
    int bin = field_suffix(name, "rs-num-corr-err-bin");
    double share;

    if (field_is(name, "symbol-errors") || field_is(name, "effective-errors")) {
        reading_set(in, port, EVIDENCE_NO_PRIORITY,
                    field_is(name, "symbol-errors") ? EVIDENCE_SYMBOL_ERRORS : EVIDENCE_FEC_UNCORRECTED, value);
        return true;
    }
    if (bin >= 0) {
        fec_bins_take(in, &state->bins, (unsigned)bin, value);
        return true;
    }
    if (field_is(name, "linkdown-reason-status-local")) reason(in, port, *value);
    if (field_is(name, "raw-ber") && port != EVIDENCE_NONE && field_real(value, &share) && share >= 0 && share <= 1)
        evidence_set_real(in->evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_PRE_FEC_BER, share, &in->source);
    for (size_t i = 0; known[i]; i++)
        if (name->length >= strlen(known[i]) && !memcmp(name->at, known[i], strlen(known[i]))) return true;
    return false;
}

static bool link_line(struct reading *in, const char *line)
{
    struct link_state *state = (struct link_state *)in->state;
    struct text_field word[4];
    size_t words = field_split(line, word, 4);

    if (link_head(line)) {
        reading_system(in, "nvue", FABRIC_ROLE_SWITCH);
        nvue_hint(in);
        state->watchdog = line_words(line, "PFC WD") || line_words(line, "traffic-class");
        if (state->watchdog || line_words(line, "operational")) return true;
    }
    if (is_rule(line)) return true;
    uint32_t port = hinted_port(in);
    if (state->watchdog && words == 3) return watchdog_row(in, word, port);
    return words >= 2 && phy_value(in, state, port, &word[0], &word[1]);
}

static void link_end(struct reading *in)
{
    struct link_state *state = (struct link_state *)in->state;

    if (state->bins.corrected) fec_bins_end(in, &state->bins, hinted_port(in));
}
const struct text_reader reader_nvue_link = {
    "nvue-link", "Cumulus: nv show interface SWP link phy health, link phy detail, qos pfc-watchdog", link_head,
    link_line, link_end};

/* --- nv show platform transceiver --- */

enum part { RX_POWER, TX_POWER, TX_BIAS, PARTS, TEMPERATURE, OTHER };

struct module {
    struct optics optics;
    unsigned part;                    /* enum part, of the lines that follow */
    uint32_t low[PARTS], high[PARTS]; /* a bit a channel */
    bool hot, cold;
};
_Static_assert(sizeof(struct module) <= READER_STATE, "a reader's state");

/* "swp2:" alone, where several follow each other */
static bool module_name(const char *line, struct text_field *name)
{
    struct text_field word[2];

    if (field_split(line, word, 2) != 1 || line[0] != 's' || word[0].length < 4 ||
        word[0].at[word[0].length - 1] != ':' || strncmp(line, "sw", 2) != 0)
        return false;
    *name = (struct text_field){word[0].at, word[0].length - 1};
    return field_is_port(name);
}

static bool module_head(const char *line)
{
    struct text_field name;

    return module_name(line, &name) || (line_begins(line, "cable-type") && strchr(line, ':'));
}

/* "rx-power low on channels 1, 3" */
static void channels(struct reading *in, uint32_t port, unsigned part, const char *how, uint32_t bits)
{
    static const char *const names[PARTS] = {"light received", "light sent", "current of the laser"};
    char text[96];
    int length = snprintf(text, sizeof text, "%s too %s on channel%s", names[part], how, bits & (bits - 1) ? "s" : "");

    for (unsigned i = 0; bits && i < OPTICS_LANES && (size_t)length + 8 < sizeof text; i++)
        if (bits >> i & 1)
            length += snprintf(text + length, sizeof text - (size_t)length, "%s %u", bits & ((1u << i) - 1) ? "," : "",
                               i + 1);
    event(in, EVIDENCE_EVENT_OPTIC_ALARM, port, text);
}

static void module_end(struct reading *in)
{
    struct module *module = (struct module *)in->state;
    uint32_t port = module->optics.port;

    if (module->optics.seen && port != EVIDENCE_NONE) {
        if (module->hot || module->cold)
            event(in, EVIDENCE_EVENT_OPTIC_ALARM, port, module->hot ? "temperature too high" : "temperature too low");
        for (unsigned part = 0; part < PARTS; part++) {
            if (module->low[part]) channels(in, port, part, "low", module->low[part]);
            if (module->high[part]) channels(in, port, part, "high", module->high[part]);
        }
    }
    optics_end(in, &module->optics);
    memset(module, 0, sizeof *module);
    optics_begin(&module->optics, EVIDENCE_NONE);
}

static void alarmed(struct module *module, const struct text_field *how)
{
    bool low = field_is(how, "low") || field_is(how, "Low"), high = field_is(how, "high") || field_is(how, "High");

    if (module->part < PARTS && module->optics.lane < OPTICS_LANES) {
        module->low[module->part] |= (uint32_t)low << module->optics.lane;
        module->high[module->part] |= (uint32_t)high << module->optics.lane;
    }
    module->hot |= module->part == TEMPERATURE && high;
    module->cold |= module->part == TEMPERATURE && low;
}

static bool real_at(const char *text, double *value)
{
    struct text_field word[1];

    if (!field_split(text, word, 1)) return false;
    if (field_is(&word[0], "-inf")) {
        *value = -40;
        return true;
    }
    return field_real(&word[0], value);
}

/* "power : 0.5000 mW / -3.01 dBm", "current : 6.750 mA", "temperature : 48.74 C" */
static void measured(struct reading *in, struct module *module, const char *text)
{
    const char *dbm = strchr(text, '/');
    double value;

    if (module->part == RX_POWER && dbm && real_at(dbm + 1, &value))
        optics_light(in, &module->optics, module->optics.lane, value);
    if (module->part == TEMPERATURE && real_at(text, &value)) optics_temperature(in, &module->optics, value);
    if (module->part == TX_BIAS && module->optics.lane < OPTICS_LANES && real_at(text, &value))
        module->optics.lane_off[module->optics.lane] = !(value > 0);
}

/* Names that open a part, with nothing behind them; false: it is none. */
static bool opens(struct module *module, const char *line)
{
    static const struct {
        const char *name;
        unsigned part;
    } parts[] = {{"rx-power:", RX_POWER},       {"tx-power:", TX_POWER}, {"tx-bias-current:", TX_BIAS},
                 {"temperature:", TEMPERATURE}, {"voltage:", OTHER},     {"channel:", OTHER}};
    struct text_field word[2], digits;
    uint64_t lane;

    if (field_split(line, word, 2) != 1 || word[0].at[word[0].length - 1] != ':') return false;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (field_is(&word[0], parts[i].name)) {
            module->part = parts[i].part;
            return true;
        }
    if (word[0].length < 10 || strncmp(word[0].at, "channel-", 8) != 0) return false;
    digits = (struct text_field){word[0].at + 8, word[0].length - 9};
    if (!field_number(&digits, &lane) || !lane || lane > OPTICS_LANES) return false;
    module->optics.lane = (unsigned)lane - 1;
    return true;
}

/* "Power_Budget_Exceeded": why the module is not in use. */
static void error_status(struct reading *in, struct module *module, const struct text_field *word)
{
    static const char *const none[] = {"N/A", "-", "None", "none", "OK", "No", "no", "No_Error", NULL};
    char text[80];

    for (size_t i = 0; none[i]; i++)
        if (field_is(word, none[i])) return;
    size_t length = strnlen(word->at, sizeof text - 1);
    while (length > word->length && strchr(" \t\r", word->at[length - 1]))
        length--;
    snprintf(text, sizeof text, "%.*s", (int)length, word->at);
    event(in, EVIDENCE_EVENT_OPTIC_ALARM, module->optics.port, text);
}

static bool module_line(struct reading *in, const char *line)
{
    struct module *module = (struct module *)in->state;
    struct text_field name, word[1];

    if (module_head(line)) {
        reading_system(in, "nvue", FABRIC_ROLE_SWITCH);
        nvue_hint(in);
        bool named = module_name(line, &name), fresh = module->optics.port == EVIDENCE_NONE || !module->optics.port;
        if (named || fresh) {
            if (!fresh) module_end(in);
            optics_begin(&module->optics, named ? reading_port(in, &name) : hinted_port(in));
            module->part = OTHER;
        }
        return true;
    }
    if (opens(module, line)) return true;
    const char *colon = strchr(line, ':');
    line = line_text(line);
    if (!colon || *line < 'a' || *line > 'z' || module->optics.port == EVIDENCE_NONE) return false;
    bool value = field_split(colon + 1, word, 1) > 0;
    if (value && line_words(line, "error-status")) error_status(in, module, &word[0]);
    if (value && line_words(line, "alarm")) alarmed(module, &word[0]);
    if (value && (line_words(line, "power") || line_words(line, "current") || line_words(line, "temperature")))
        measured(in, module, colon + 1);
    module->optics.seen |= value && line_words(line, "alarm");
    return true;
}
const struct text_reader reader_nvue_module = {"nvue-transceiver", "Cumulus: nv show platform transceiver SWP",
                                               module_head, module_line, module_end};
