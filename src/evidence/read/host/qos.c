/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a host has its priorities: mlnx_qos, dcb, lldptool.  Of it all PFC is taken, by priority; the rest is known and
 * not needed.
 */
#include <stdlib.h>
#include <string.h>

#include "evidence/read/host/host_names.h"

static uint32_t port_of(struct reading *in)
{
    uint32_t port = host_hinted_port(in);
    struct text_field name = field_of(in->hint);

    if (port != EVIDENCE_NONE) host_say_system(in, &name);
    return port;
}

/* --- mlnx_qos --- */

static bool qos_head(const char *line)
{
    return !strncmp(line, "DCBX mode: ", 11) || !strncmp(line, "Priority trust state: ", 22) ||
           !strncmp(line, "PFC configuration:", 18);
}

/* "enabled     0   0   0   1   0   0   0   0", with a colon in some releases. */
static bool enabled_row(const char *line, unsigned *bits)
{
    struct text_field word[10];

    if (!line_begins(line, "enabled") || field_split(line, word, 10) < 9) return false;
    *bits = 0;
    for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++)
        if (field_is(&word[1 + p], "1"))
            *bits |= 1u << p;
        else if (!field_is(&word[1 + p], "0"))
            return false;
    return true;
}

static bool qos_line(struct reading *in, const char *line)
{
    static const char *const known[] = {
        "dscp2prio mapping", "prio:",      "Receive buffer size", "Cable len", "priority",         "buffer", "tc: ",
        "Enabled TC",        "Rate limit", "ECN Enabled",         "pcp2prio",  "default priority", NULL};
    unsigned bits;

    if (qos_head(line)) return true;
    if (enabled_row(line, &bits)) {
        host_pfc(in, port_of(in), bits);
        return true;
    }
    for (size_t i = 0; known[i]; i++)
        if (line_begins(line, known[i])) return true;
    return false;
}
const struct text_reader reader_mlnx_qos = {"mlnx-qos", "hosts: mlnx_qos -i DEV", qos_head, qos_line, NULL};

/* --- dcb --- */

static bool dcb_head(const char *line)
{
    static const char *const begins[] = {"pfc-cap ",   "prio-pfc ",    "willing ",     "tc-bw ",        "prio-tc ",
                                         "dscp-prio ", "prio-buffer ", "buffer-size ", "default-prio ", NULL};

    if (!*line || !strchr("pwtdb", *line)) return false;
    for (size_t i = 0; begins[i]; i++)
        if (!strncmp(line, begins[i], strlen(begins[i]))) return true;
    return false;
}

static bool dcb_line(struct reading *in, const char *line)
{
    static const char *const known[] = {
        "ets-cap", "tc-tsa",   "reco-", "requests",  "indications", "total-size", "pcp-prio", "dcbx-", "prio-rate",
        "app ",    "apptrust", "order", "port-prio", "stream-port", "tc-maxrate", "dscp-",    NULL};
    const char *at = strstr(line, "prio-pfc ");
    unsigned bits = 0, seen = 0;

    for (at = at ? at + 9 : NULL; at; at = *at ? at : NULL) {
        at += strspn(at, " ");
        if (*at < '0' || *at > '7' || at[1] != ':') break;
        bits |= (unsigned)!strncmp(at + 2, "on", 2) << (*at - '0');
        seen |= 1u << (*at - '0');
        at += strcspn(at, " ");
    }
    if (seen == 0xff) host_pfc(in, port_of(in), bits);
    if (seen || dcb_head(line)) return true;
    for (size_t i = 0; known[i]; i++)
        if (line_begins(line, known[i])) return true;
    return false;
}
const struct text_reader reader_dcb = {"dcb", "hosts: dcb pfc|ets|app|buffer show dev DEV", dcb_head, dcb_line, NULL};

/* --- lldptool --- */

static bool lldptool_head(const char *line)
{
    static const char *const names[] = {
        "IEEE 8021QAZ ", "Chassis ID ",         "Port ID ",          "Time to Live ",       "System ",
        "Port Desc",     "Management Address ", "Link Aggregation ", "Maximum Frame Size ", NULL};
    size_t length = strlen(line);

    if (length < 4 || strcmp(line + length - 4, " TLV")) return false;
    for (size_t i = 0; names[i]; i++)
        if (!strncmp(line, names[i], strlen(names[i]))) return true;
    return false;
}

/* "PFC enabled: 3,4", "PFC enabled: none" */
static bool lldptool_line(struct reading *in, const char *line)
{
    struct text_field label, value;
    unsigned bits = 0;

    if (lldptool_head(line) || line_begins(line, "End of LLDPDU")) return true;
    if (*line != ' ' && *line != '\t') return false;
    if (!host_label(line, &label, &value) || !field_is(&label, "PFC enabled")) return true;
    for (size_t i = 0; i < value.length; i++)
        if (value.at[i] >= '0' && value.at[i] <= '7') bits |= 1u << (value.at[i] - '0');
    host_pfc(in, port_of(in), bits);
    return true;
}
const struct text_reader reader_lldptool = {"lldptool", "hosts: lldptool -t -i DEV, IEEE 802.1Qaz", lldptool_head,
                                            lldptool_line, NULL};
