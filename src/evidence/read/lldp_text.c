/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Neighbours: SONiC's, EOS's and NX-OS's tables, lldpctl as text and as name=value.
 */
#include <ctype.h>
#include <string.h>

#include "evidence/read/table.h"

#define NAME 96

/* --- SONiC: show lldp table --- */

static const struct text_column sonic[] = {
    {"LocalPort", TABLE_PORT, 0, 0},  {"RemoteDevice", TABLE_PEER, 0, 0},    {"RemotePortID", TABLE_PEER, 0, 0},
    {"Capability", TABLE_PEER, 0, 0}, {"RemotePortDescr", TABLE_PEER, 0, 0}, {NULL, 0, 0, 0},
};

static bool sonic_head(const char *line)
{
    return line_words(line, "LocalPort RemoteDevice");
}

static bool sonic_line(struct reading *in, const char *line)
{
    struct text_table *table = (struct text_table *)in->state;
    struct text_field local, device, id, description = {"", 0};

    if (sonic_head(line)) {
        reading_system(in, "sonic", FABRIC_ROLE_SWITCH);
        table_titles(table, sonic, line);
        return true;
    }
    if (table_is_rule(line, 2)) return table_line(in, table, line);
    if (!table_cell(table, line, table_column(table, "LocalPort"), &local) || !field_is_port(&local) ||
        !table_cell(table, line, table_column(table, "RemoteDevice"), &device) ||
        !table_cell(table, line, table_column(table, "RemotePortID"), &id))
        return false;
    table_cell(table, line, table_column(table, "RemotePortDescr"), &description);
    reading_neighbour(in, reading_port(in, &local), &device, &id, &description);
    return true;
}
const struct text_reader reader_lldp_sonic = {"sonic-lldp", "SONiC: show lldp table", sonic_head, sonic_line, NULL};

/* --- EOS: Port, Neighbor Device ID, Neighbor Port ID, TTL --- */

static bool eos_head(const char *line)
{
    return line_words(line, "Port Neighbor Device ID");
}

static bool eos_line(struct reading *in, const char *line)
{
    struct text_field word[4];

    if (eos_head(line)) {
        reading_system(in, "eos", FABRIC_ROLE_SWITCH);
        return true;
    }
    if (field_split(line, word, 4) != 4 || !field_is_port(&word[0])) return false;
    reading_neighbour(in, reading_port(in, &word[0]), &word[1], &word[2], &word[2]);
    return true;
}
const struct text_reader reader_lldp_eos = {"eos-lldp", "EOS: show lldp neighbors", eos_head, eos_line, NULL};

/* --- NX-OS: Device ID, Local Intf, Hold-time, Capability, Port ID; a long name stands on a line of its own --- */

static bool nxos_head(const char *line)
{
    return line_words(line, "Device ID Local Intf");
}

#define WORDS 12 /* names and capabilities may have blanks: "Access Point  Eth1/5  120  BR T  wlan0" */

/* The local port: a port with a time behind it; `words`: the row has none. */
static size_t nxos_local(const struct text_field *word, size_t words)
{
    uint64_t hold_s;
    size_t i = 0;

    while (i + 1 < words && !(field_is_port(&word[i]) && field_number(&word[i + 1], &hold_s)))
        i++;
    return i + 1 < words ? i : words;
}

/* What stands from one word to another, both included. */
static struct text_field between(const struct text_field *first, const struct text_field *last)
{
    return (struct text_field){first->at, (size_t)(last->at + last->length - first->at)};
}

/* Behind the time and the capabilities, which may be none or several: "BR", "B T". */
static struct text_field nxos_port_id(const struct text_field *word, size_t words, size_t at)
{
    while (at + 1 < words && strspn(word[at].at, "RBTCWPSO") >= word[at].length)
        at++;
    return between(&word[at], &word[words - 1]);
}

static bool nxos_line(struct reading *in, const char *line)
{
    struct text_field word[WORDS], device;
    char *long_name = (char *)in->state;
    size_t words = field_split(line, word, WORDS), local;

    if (nxos_head(line)) {
        reading_system(in, "nxos", FABRIC_ROLE_SWITCH);
        return true;
    }
    if (!words || words > WORDS) return false;
    local = nxos_local(word, words);
    device = local ? between(&word[0], &word[local - 1]) : field_of(long_name);
    if (local == words && !isspace((unsigned char)*line) && device.length < NAME) {
        memcpy(long_name, device.at, device.length);
        long_name[device.length] = 0;
    }
    if (words < local + 3) return false;
    struct text_field id = nxos_port_id(word, words, local + 2);
    reading_neighbour(in, reading_port(in, &word[local]), &device, &id, &id);
    long_name[0] = 0;
    return true;
}
const struct text_reader reader_lldp_nxos = {"nxos-lldp", "NX-OS: show lldp neighbors", nxos_head, nxos_line, NULL};

/* --- lldpctl --- */

struct lldpctl {
    uint32_t port;
    char device[NAME], id[NAME], description[NAME];
};

static void keep(char to[NAME], const char *text)
{
    size_t length;

    while (isspace((unsigned char)*text))
        text++;
    length = strlen(text);
    while (length && isspace((unsigned char)text[length - 1]))
        length--;
    if (length >= NAME) length = 0;
    memcpy(to, text, length);
    to[length] = 0;
}

static void lldpctl_end(struct reading *in)
{
    struct lldpctl *state = (struct lldpctl *)in->state;
    struct text_field device = field_of(state->device), id = field_of(state->id);
    struct text_field description = field_of(state->description);

    if (state->port && device.length) reading_neighbour(in, state->port - 1, &device, &id, &description);
    state->port = 0;
}

static bool lldpctl_head(const char *line)
{
    return line_begins(line, "Interface: ") && line_has(line, ", via: LLDP");
}

static bool lldpctl_line(struct reading *in, const char *line)
{
    struct lldpctl *state = (struct lldpctl *)in->state;
    struct text_field word[2];

    if (lldpctl_head(line)) {
        if (field_split(line, word, 2) < 2 || word[1].length < 2) return true;
        word[1].length--;
        *state = (struct lldpctl){0};
        if (field_is_port(&word[1])) state->port = reading_port(in, &word[1]) + 1;
    } else if (line_begins(line, "SysName:")) {
        keep(state->device, strchr(line, ':') + 1);
    } else if (line_begins(line, "PortID:") && field_split(strchr(line, ':') + 1, word, 2) >= 2) {
        keep(state->id, word[1].at);
    } else if (line_begins(line, "PortDescr:")) {
        keep(state->description, strchr(line, ':') + 1);
    }
    return true;
}
const struct text_reader reader_lldpctl = {"lldpctl", "hosts and Cumulus: lldpctl", lldpctl_head, lldpctl_line,
                                           lldpctl_end};

/* lldp.eth0.chassis.name=leaf0, lldp.eth0.port.ifname=…, lldp.eth0.port.descr=… */
static bool values_head(const char *line)
{
    return !strncmp(line, "lldp.", 5) && line_has(line, ".via=LLDP");
}

static bool values_line(struct reading *in, const char *line)
{
    struct lldpctl *state = (struct lldpctl *)in->state;
    const char *value = strchr(line, '=');

    if (strncmp(line, "lldp.", 5) || !value) return false;
    if (values_head(line)) {
        const char *end = strstr(line, ".via=LLDP");
        struct text_field name = {line + 5, end > line + 5 ? (size_t)(end - line - 5) : 0};
        *state = (struct lldpctl){0};
        if (field_is_port(&name)) state->port = reading_port(in, &name) + 1;
    } else if (line_has(line, ".chassis.name=")) {
        keep(state->device, value + 1);
    } else if (line_has(line, ".port.ifname=") || line_has(line, ".port.local=") || line_has(line, ".port.mac=")) {
        keep(state->id, value + 1);
    } else if (line_has(line, ".port.descr=")) {
        keep(state->description, value + 1);
    }
    return true;
}
const struct text_reader reader_lldp_values = {"lldpctl-keyvalue", "hosts and Cumulus: lldpctl -f keyvalue",
                                               values_head, values_line, lldpctl_end};
