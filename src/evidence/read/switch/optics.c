/* SPDX-License-Identifier: Apache-2.0 */
/* Optics of SONiC, EOS, NX-OS, Junos and Cumulus: what their texts have in common is in optics.h. */
#include "evidence/read/switch/optics.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "evidence/read/table.h"

/* --- what is kept of a port --- */

void optics_begin(struct optics *optics, uint32_t port)
{
    *optics = (struct optics){.port = port, .begun = true, .temperature = NAN, .hot_at = NAN, .cold_light_at = NAN};
}

static void alarm(struct reading *in, uint32_t port, const char *text)
{
    struct text_field detail = field_of(text);

    reading_event(in, EVIDENCE_EVENT_OPTIC_ALARM, port, EVIDENCE_NO_PRIORITY, NULL, NULL, &detail);
}

/* The weakest lane that is in use; OPTICS_LANES: none says it. */
static unsigned weakest(const struct optics *optics)
{
    unsigned at = OPTICS_LANES;

    for (unsigned lane = 0; lane < OPTICS_LANES; lane++)
        if (optics->has_light[lane] && !optics->lane_off[lane] &&
            (at == OPTICS_LANES || optics->light[lane] < optics->light[at]))
            at = lane;
    return at;
}

void optics_end(struct reading *in, struct optics *optics)
{
    unsigned lane = weakest(optics), lanes = 0, darks = 0;
    struct evidence_source source = in->source;
    char text[128];

    for (unsigned i = 0; i < OPTICS_LANES; i++) {
        lanes += optics->has_light[i];
        darks += optics->has_light[i] && (double)optics->light[i] <= OPTICS_DARK_DBM;
    }
    if (optics->seen && optics->port != EVIDENCE_NONE) {
        in->source = optics->source;
        double celsius = (double)optics->temperature, dbm = lane < OPTICS_LANES ? (double)optics->light[lane] : 0;
        bool hot = optics->hot || optics->temperature > optics->hot_at;
        if (optics->temperature >= 0)
            evidence_set_real(in->evidence, optics->port, EVIDENCE_NO_PRIORITY, EVIDENCE_TEMPERATURE, celsius,
                              &in->source);
        if (hot && isfinite(celsius)) {
            snprintf(text, sizeof text, "temperature %.1f C, alarm at %.1f C", celsius, (double)optics->hot_at);
            alarm(in, optics->port, text);
        }
        if (lane < OPTICS_LANES)
            evidence_set_real(in->evidence, optics->port, EVIDENCE_NO_PRIORITY, EVIDENCE_RX_POWER, pow(10, dbm / 10),
                              &in->source);
        if (lane < OPTICS_LANES && (optics->weak_light || dbm < (double)optics->cold_light_at)) {
            /* No light at all: nothing is plugged in at the other end, or nobody sends.  That is no alarm. */
            bool dark = dbm <= OPTICS_DARK_DBM && darks == lanes;
            char of_lane[24] = "";
            if (lanes > 1) snprintf(of_lane, sizeof of_lane, " of lane %u", lane + !optics->from_zero);
            snprintf(text, sizeof text, "light received%s %.1f dBm, alarm at %.1f dBm", of_lane, dbm,
                     (double)optics->cold_light_at);
            if (dark) {
                struct text_field none = field_of("no light is received");
                reading_event(in, EVIDENCE_EVENT_LINE_FAULT, optics->port, EVIDENCE_NO_PRIORITY, NULL, NULL, &none);
            } else {
                alarm(in, optics->port, text);
            }
        }
        in->source = source;
    }
    optics_begin(optics, EVIDENCE_NONE);
}

void optics_temperature(struct reading *in, struct optics *optics, double celsius)
{
    if (!(celsius > -100 && celsius < 200)) return;
    optics->temperature = (float)celsius;
    optics->seen = true;
    optics->source = in->source;
}

void optics_light(struct reading *in, struct optics *optics, unsigned lane, double dbm)
{
    if (lane >= OPTICS_LANES || !(dbm < 100)) return;
    optics->light[lane] = dbm > -40 ? (float)dbm : -40;
    optics->has_light[lane] = optics->seen = true;
    optics->source = in->source;
}

/* "35.66 C", "-infdBm", "-2.1dBm", "0.500 mW / -3.01 dBm": the number at the beginning; false: it is none. */
static bool number_at(const char *text, double *value)
{
    struct text_field digits;

    text += strspn(text, " \t:");
    if (!strncasecmp(text, "-inf", 4) || !strncasecmp(text, "- Inf", 5)) {
        *value = -40;
        return true;
    }
    digits = (struct text_field){text, strspn(text, "+-.0123456789")};
    return digits.length && field_real(&digits, value);
}

/* --- SONiC: show interfaces transceiver eeprom -d, status; sfputil show eeprom -d --- */

/* "        Vendor PN: MFA1A00": also what versions are found by, which is not to end the port. */
static bool is_part_number(const char *line)
{
    return *line == ' ' && line_begins(line, "Vendor PN: ");
}

static bool sonic_optics_head(const char *line)
{
    struct text_field word[2];

    if (is_part_number(line)) return true;
    if (strncmp(line, "Ethernet", 8) != 0) return false;
    size_t words = field_split(line, word, 2);
    if (!words || word[0].length < 10 || word[0].at[word[0].length - 1] != ':') return false;
    word[0].length--;
    if (memchr(word[0].at, ':', word[0].length) || !field_is_port(&word[0])) return false;
    return words == 1 || line_has(line, "SFP EEPROM") || line_has(line, "Transceiver status") ||
           line_has(line, "ransceiver performance");
}

/* "Rx power low alarm flag on media lane 1: True": what is raised, in the text's own words. */
static void raised(struct reading *in, uint32_t port, const char *line)
{
    const char *colon = strrchr(line, ':');
    bool flag = line_has(line, " flag") && (line_has(line, "larm") || line_has(line, "loss of signal") ||
                                            line_has(line, "fault") || line_has(line, "loss of lock"));

    if (!colon || !flag || strncmp(colon + 1 + strspn(colon + 1, " "), "True", 4) != 0) return;
    while (isspace((unsigned char)*line))
        line++;
    struct text_field what = {line, (size_t)(colon - line)};
    while (what.length && what.at[what.length - 1] == ' ')
        what.length--;
    bool fault = line_has(line, "loss of signal") || line_has(line, "fault");
    reading_event(in, fault ? EVIDENCE_EVENT_LINE_FAULT : EVIDENCE_EVENT_OPTIC_ALARM, port, EVIDENCE_NO_PRIORITY, NULL,
                  NULL, &what);
}

/* "RX3Power: -40.0dBm", "TX3Bias: 0.0mA" */
static bool sonic_lane(struct reading *in, struct optics *optics, const char *name, double value)
{
    bool tx = !strncasecmp(name, "TX", 2), rx = !strncasecmp(name, "RX", 2);
    unsigned digits = (unsigned)strspn(name + 2, "0123456789"), lane = 0;

    if ((!rx && !tx) || digits > 2) return false;
    for (unsigned i = 0; i < digits; i++)
        lane = lane * 10 + (unsigned)(name[2 + i] - '0');
    lane -= lane > 0;
    if (lane >= OPTICS_LANES) return false;
    if (rx && !strncmp(name + 2 + digits, "Power:", 6)) optics_light(in, optics, lane, value);
    if (tx && !strncmp(name + 2 + digits, "Bias:", 5)) optics->lane_off[lane] = !(value > 0);
    return true;
}

static bool sonic_optics_line(struct reading *in, const char *line)
{
    struct optics *optics = (struct optics *)in->state;
    struct text_field word[1];
    double value = NAN;

    if (is_part_number(line)) {
        field_split(strstr(line, "PN:") + 3, word, 1);
        bool known = optics->begun && optics->port != EVIDENCE_NONE;
        evidence_set_version(in->evidence, in->device, FABRIC_PART_OPTICS,
                             known ? in->evidence->object[optics->port].local_name : in->hint, word[0].at,
                             word[0].length, &in->source);
        return true;
    }
    if (sonic_optics_head(line)) {
        optics_end(in, optics);
        reading_system(in, "sonic", FABRIC_ROLE_SWITCH);
        field_split(line, word, 1);
        word[0].length--;
        optics_begin(optics, reading_port(in, &word[0]));
        return true;
    }
    if ((*line != ' ' && *line != '\t') || !optics->begun) return false;
    line += strspn(line, " \t");
    raised(in, optics->port, line);
    const char *colon = strchr(line, ':');
    if (!colon || !number_at(colon + 1, &value)) return true;
    if (!strncmp(line, "Temperature:", 12))
        optics_temperature(in, optics, value);
    else if (!strncmp(line, "TempHighAlarm", 13))
        optics->hot_at = (float)value;
    else if (!strncmp(line, "RxPowerLowAlarm", 15))
        optics->cold_light_at = (float)value;
    else
        sonic_lane(in, optics, line, value);
    return true;
}

static void sonic_optics_end(struct reading *in)
{
    optics_end(in, (struct optics *)in->state);
}
const struct text_reader reader_sonic_optics = {"sonic-transceiver",
                                                "SONiC: show interfaces transceiver eeprom -d, status",
                                                sonic_optics_head, sonic_optics_line, sonic_optics_end};

/* --- EOS: show interfaces transceiver, and its detail --- */

enum { EOS_OTHER, EOS_ALL, EOS_TEMPERATURE, EOS_LIGHT };

static bool eos_optics_head(const char *line)
{
    return line_begins(line, "If device is externally calibrated") || line_begins(line, "mA: milliamperes") ||
           line_words(line, "Temp Voltage Current Tx Power Rx Power") ||
           line_words(line, "Temperature Threshold Threshold") || line_words(line, "Voltage Threshold Threshold") ||
           line_words(line, "Current Threshold Threshold") || line_words(line, "Tx Power Threshold Threshold") ||
           line_words(line, "Rx Power Threshold Threshold");
}

/* "28.5 ++": a mark of an alarm stands behind its value, and is no column. */
static size_t without_marks(struct text_field *word, size_t words, bool *marked)
{
    size_t kept = 0;

    for (size_t i = 0; i < words; i++) {
        bool mark =
            field_is(&word[i], "++") || field_is(&word[i], "--") || field_is(&word[i], "+") || field_is(&word[i], "-");
        if (mark && word[i].length == 2) *marked = true;
        if (!mark) word[kept++] = word[i];
    }
    return kept;
}

static void eos_value(struct reading *in, unsigned part, uint32_t port, const struct text_field *word, size_t words,
                      bool marked)
{
    struct optics optics;
    double value, first, second;

    optics_begin(&optics, port);
    if (part == EOS_ALL) {
        if (field_real(&word[1], &value)) optics_temperature(in, &optics, value);
        if (words > 5 && field_real(&word[5], &value)) optics_light(in, &optics, 0, value);
    } else if (words >= 6 && field_real(&word[1], &value)) {
        if (part == EOS_TEMPERATURE) {
            optics_temperature(in, &optics, value);
            if (field_real(&word[2], &first)) optics.hot_at = (float)first;
            optics.hot = marked;
        } else {
            optics_light(in, &optics, 0, value);
            if (field_real(&word[4], &first) && field_real(&word[5], &second))
                optics.cold_light_at = (float)(first < second ? first : second);
            optics.weak_light = marked && value <= (double)optics.cold_light_at;
        }
    }
    optics_end(in, &optics);
}

static bool eos_optics_line(struct reading *in, const char *line)
{
    unsigned *part = (unsigned *)in->state;
    struct text_field word[10];
    size_t words = field_split(line, word, 10);
    bool marked = false;

    if (eos_optics_head(line)) {
        *part = field_is(&word[0], "Temperature") ? EOS_TEMPERATURE
                : field_is(&word[0], "Rx")        ? EOS_LIGHT
                : field_is(&word[0], "Temp")      ? EOS_ALL
                                                  : EOS_OTHER;
        return true;
    }
    if (line_words(line, "Port") || line_words(line, "High Alarm") || line_words(line, "Bias Optical") ||
        line_begins(line, "N/A:") || line_begins(line, "++ :") || line_begins(line, "A2D readouts") ||
        line_begins(line, "The threshold values"))
        return true;
    if (words < 2 || words > 10 || !field_is_port(&word[0])) return false;
    if (line_begins(line, "Et")) reading_system(in, "eos", FABRIC_ROLE_SWITCH);
    words = without_marks(word, words, &marked);
    if (*part != EOS_OTHER && words > 2) eos_value(in, *part, reading_port(in, &word[0]), word, words, marked);
    return true;
}
const struct text_reader reader_eos_optics = {"eos-transceiver", "EOS: show interfaces transceiver, detail",
                                              eos_optics_head, eos_optics_line, NULL};

/* --- NX-OS --- */

/* Whether it is the name of a field that is about the module, which nobody judges. */
static bool is_about_module(const char *line)
{
    static const char *const names[] = {"transceiver is",
                                        "type is",
                                        "name is",
                                        "part number",
                                        "revision is",
                                        "serial number",
                                        "nominal bitrate",
                                        "Link length",
                                        "cable type",
                                        "cisco ",
                                        "DOM is",
                                        "SFP Detail",
                                        "QSFP Detail",
                                        "Lane Number",
                                        "Current ",
                                        "Measurement",
                                        "Voltage",
                                        "Tx Power",
                                        "Transmit Fault",
                                        "Note:",
                                        "firmware ",
                                        "Nominal ",
                                        "Wavelength",
                                        "host lane",
                                        "media lane",
                                        "max module",
                                        "min module",
                                        "min operational",
                                        "vendor ",
                                        "date code",
                                        "clei ",
                                        "number of lanes",
                                        "Current",
                                        "dom is",
                                        "module ",
                                        "Alarms",
                                        NULL};

    for (size_t i = 0; names[i]; i++)
        if (line_begins(line, names[i])) return true;
    return false;
}

/* "Rx Power     -30.45 dBm --    2.00 dBm  -13.90 dBm   -1.00 dBm   -9.90 dBm": value, its mark, alarms high and low,
 * then warnings. */
static void nxos_value(struct reading *in, struct optics *optics, const char *line, bool light)
{
    struct text_field word[16];
    size_t words = field_split(line, word, 16), at = light ? 2 : 1, numbers = 0;
    double value[3];
    bool mark[2] = {false, false}; /* of an alarm: high, low */

    for (; at < words && at < 16; at++) {
        mark[0] |= field_is(&word[at], "++");
        mark[1] |= field_is(&word[at], "--") && numbers;
        if (numbers < 3 && field_real(&word[at], &value[numbers])) numbers++;
        if (!numbers && field_is(&word[at], "N/A")) return;
    }
    if (!numbers) return;
    if (light) {
        optics_light(in, optics, optics->lane, value[0]);
        if (numbers == 3) optics->cold_light_at = (float)value[2];
        optics->weak_light |= mark[1];
    } else {
        optics_temperature(in, optics, value[0]);
        if (numbers >= 2) optics->hot_at = (float)value[1];
        optics->hot |= mark[0];
    }
}

bool optics_nxos_line(struct reading *in, struct optics *optics, const char *line)
{
    const char *lane = strstr(line, "Lane Number:");

    if (lane) {
        unsigned number = 0;
        for (lane += 12; *lane >= '0' && *lane <= '9' && number < OPTICS_LANES; lane++)
            number = number * 10 + (unsigned)(*lane - '0');
        optics->lane = number ? number - 1 : 0;
        return true;
    }
    if (line_begins(line, "Temperature")) {
        nxos_value(in, optics, line, false);
        return true;
    }
    if (line_begins(line, "Rx Power")) {
        nxos_value(in, optics, line, true);
        return true;
    }
    if (!is_about_module(line)) return false;
    reading_system(in, "nxos", FABRIC_ROLE_SWITCH);
    return true;
}

/* --- Junos --- */

/* A laser that has its current and sends nothing is broken, or its gauge is; one without current is switched off. */
static void no_light_sent(struct reading *in, const struct optics *optics)
{
    char text[80];

    if (!(optics->bias > 1) || optics->port == EVIDENCE_NONE) return;
    snprintf(text, sizeof text, "no light sent, though the laser has %.1f mA", (double)optics->bias);
    alarm(in, optics->port, text);
}

bool optics_junos_line(struct reading *in, struct optics *optics, const char *line)
{
    const char *colon = strchr(line, ':'), *dbm;
    double value;

    line += strspn(line, " \t");
    if (!strncmp(line, "Lane ", 5) && !colon) {
        optics->from_zero = true;
        struct text_field digits = {line + 5, strspn(line + 5, "0123456789")};
        uint64_t lane = 0;
        if (field_number(&digits, &lane) && lane < OPTICS_LANES) optics->lane = (unsigned)lane;
        return true;
    }
    if (!colon || (strncmp(line, "Laser ", 6) && strncmp(line, "Module ", 7) && strncmp(line, "Receiver ", 9)))
        return false;
    dbm = strchr(colon, '/');
    bool on = !strncmp(colon + 1 + strspn(colon + 1, " "), "On", 2);
    if (!strncmp(line, "Module temperature high alarm threshold", 39)) {
        if (number_at(colon + 1, &value)) optics->hot_at = (float)value;
    } else if (!strncmp(line, "Laser rx power low alarm threshold", 34)) {
        if (dbm && number_at(dbm + 1, &value)) optics->cold_light_at = (float)value;
    } else if (!strncmp(line, "Module temperature high alarm", 29)) {
        optics->hot |= on;
    } else if (!strncmp(line, "Laser rx power low alarm", 24)) {
        optics->weak_light |= on;
    } else if (!strncmp(line, "Module temperature ", 19)) {
        if (number_at(colon + 1, &value) && !line_has(line, "warning") && !line_has(line, "alarm"))
            optics_temperature(in, optics, value);
    } else if (!strncmp(line, "Laser bias current ", 19)) {
        if (number_at(colon + 1, &value) && !line_has(line, "alarm") && !line_has(line, "warning"))
            optics->bias = (float)value;
    } else if (!strncmp(line, "Laser output power ", 19)) {
        bool limit = line_has(line, "alarm") || line_has(line, "warning");
        if (!limit && dbm && number_at(dbm + 1, &value) && value <= -40) no_light_sent(in, optics);
    } else if (!strncmp(line, "Laser receiver power", 20) || !strncmp(line, "Receiver signal average", 23)) {
        if (dbm && number_at(dbm + 1, &value)) optics_light(in, optics, optics->lane, value);
    }
    return true;
}

/* --- Cumulus: l1-show --- */

static bool l1_head(const char *line)
{
    struct text_field word[3];

    return line_begins(line, "Port:") && field_split(line, word, 3) == 2 && field_is_port(&word[1]);
}

/* "Link Status: Kernel: Up   Hardware: Up": what the hardware says counts. */
static void l1_state(struct reading *in, uint32_t port, const char *line)
{
    const char *hardware = strstr(line, "Hardware:"), *kernel = strstr(line, "Kernel:");
    struct text_field word;

    if (!hardware) hardware = kernel;
    if (!hardware || !field_split(strchr(hardware, ':') + 1, &word, 1)) return;
    evidence_set(in->evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_LINK_UP, word.at[0] == 'U' || word.at[0] == 'u',
                 &in->source);
}

/* "RX Power (mW): [0.6379, 0.0001]" */
static void l1_light(struct reading *in, struct optics *optics, const char *line)
{
    const char *at = strchr(line, '[');
    double mw;

    for (unsigned lane = 0; at && *at && lane < OPTICS_LANES; lane++) {
        at += strspn(at, "[, '");
        if (!number_at(at, &mw)) return;
        optics_light(in, optics, lane, mw > 0 ? 10 * log10(mw) : -40);
        at = strchr(at, ',');
    }
}

static bool l1_line(struct reading *in, const char *line)
{
    struct optics *optics = (struct optics *)in->state;
    struct text_field word[4];
    uint64_t rate;
    double value;

    if (l1_head(line)) {
        optics_end(in, optics);
        reading_system(in, "nvue", FABRIC_ROLE_SWITCH);
        field_split(line, word, 3);
        optics_begin(optics, reading_port(in, &word[1]));
        return true;
    }
    if ((*line != ' ' && *line != '\t') || optics->port == EVIDENCE_NONE) return false;
    line += strspn(line, " \t");
    const char *fault = strstr(line, "Rx Fault:"), *speed = strstr(line, "Speed: Kernel:");
    const char *neighbour = strstr(line, "LLDP Neighbor:"), *admin = strstr(line, "Admin: Admin Down");
    if (!strncmp(line, "Link Status:", 12)) l1_state(in, optics->port, line);
    if (!strncmp(line, "RX Power", 8)) l1_light(in, optics, line);
    if (!strncmp(line, "Temperature:", 12) && number_at(line + 12, &value)) optics_temperature(in, optics, value);
    if (admin) reading_event(in, EVIDENCE_EVENT_PORT_SHUT, optics->port, EVIDENCE_NO_PRIORITY, NULL, NULL, NULL);
    if (speed && field_split(speed + 14, word, 1) && field_rate(&word[0], &rate))
        evidence_set(in->evidence, optics->port, EVIDENCE_NO_PRIORITY, EVIDENCE_RATE, rate, &in->source);
    if (fault && field_split(fault + 9, word, 1) && (field_is(&word[0], "Local") || field_is(&word[0], "Remote"))) {
        struct text_field what = {word[0].at, word[0].length};
        reading_event(in, EVIDENCE_EVENT_LINE_FAULT, optics->port, EVIDENCE_NO_PRIORITY, NULL, NULL, &what);
    }
    if (neighbour && field_split(neighbour + 14, word, 3) == 2 && word[0].at[word[0].length - 1] == ',') {
        word[0].length--;
        reading_neighbour(in, optics->port, &word[0], &word[1], &word[1]);
    }
    return true;
}

static void l1_end(struct reading *in)
{
    optics_end(in, (struct optics *)in->state);
}
const struct text_reader reader_l1_show = {"l1-show", "Cumulus: l1-show", l1_head, l1_line, l1_end};
