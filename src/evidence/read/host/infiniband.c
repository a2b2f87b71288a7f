/* SPDX-License-Identifier: Apache-2.0 */
/*
 * InfiniBand's counters as its tools print them: perfquery, ibqueryerrors, ibdiagnet; and hw_counters as show_counters
 * has them, "name: value".
 */
#include <stdio.h>
#include <string.h>

#include "evidence/read/host/host_names.h"

/* --- perfquery --- */

static bool perfquery_head(const char *line)
{
    return *line == '#' &&
           (!strncmp(line, "# Port counters: ", 17) || !strncmp(line, "# Port extended counters: ", 26));
}

/* "Lid 5 port 1": a switch has more than one. */
static uint32_t perfquery_port(struct reading *in, const char *line)
{
    struct text_field hint = field_of(in->hint), lid, number;
    const char *at = strstr(line, "Lid "), *port = strstr(line, " port ");
    char name[64];

    if (field_is_port(&hint) || !at || !port) return host_hinted_port(in);
    lid = (struct text_field){at + 4, strcspn(at + 4, " ")};
    number = (struct text_field){port + 6, strspn(port + 6, "0123456789")};
    snprintf(name, sizeof name, "lid%.*s/%.*s", lid.length < 20 ? (int)lid.length : 20, lid.at,
             number.length < 6 ? (int)number.length : 6, number.at);
    struct text_field field = field_of(name);
    return reading_port(in, &field);
}

static bool perfquery_line(struct reading *in, const char *line)
{
    uint32_t *port = (uint32_t *)in->state;
    const char *colon = strchr(line, ':');

    if (perfquery_head(line)) {
        *port = perfquery_port(in, line);
        return true;
    }
    if (!colon || strspn(colon + 1, ".") < 2) return false;
    struct text_field name = {line, (size_t)(colon - line)}, value = field_of(colon + 1 + strspn(colon + 1, "."));
    struct text_field word;
    if (*port != EVIDENCE_NONE && field_split(value.at, &word, 1))
        reading_named(in, host_infiniband_names, *port, EVIDENCE_NO_PRIORITY, &name, &word);
    return true;
}
const struct text_reader reader_perfquery = {"perfquery", "InfiniBand: perfquery, also -x", perfquery_head,
                                             perfquery_line, NULL};

/* --- ibqueryerrors --- */

/* "Errors for "spine1"", "Errors for 0x200002 "leaf1"" */
static bool queryerrors_head(const char *line)
{
    return !strncmp(line, "Errors for ", 11) ||
           (strstr(line, "GUID 0x") && strstr(line, " port ") && strstr(line, ": [") && strstr(line, " == "));
}

/* "[SymbolErrorCounter == 5] [LinkDownedCounter == 2]" */
static void queryerrors_pairs(struct reading *in, uint32_t port, const char *at)
{
    while ((at = strchr(at, '['))) {
        struct text_field name = {at + 1, strcspn(at + 1, " ]")};
        const char *equal = strstr(at, "== ");
        if (!equal) return;
        struct text_field value = {equal + 3, strcspn(equal + 3, " ]")};
        if (field_is(&name, "XmtWait")) name = field_of("PortXmitWait");
        reading_named(in, host_infiniband_names, port, EVIDENCE_NO_PRIORITY, &name, &value);
        at = equal;
    }
}

/* Nodes are other machines than the one that asks: whose text it is comes back at the end. */
struct queryerrors {
    uint32_t own;
    bool kept;
};

static bool queryerrors_line(struct reading *in, const char *line)
{
    struct queryerrors *state = (struct queryerrors *)in->state;
    char name[64];

    if (!state->kept) *state = (struct queryerrors){in->device, true};
    if (!strncmp(line, "Errors for ", 11)) {
        const char *quote = strchr(line, '"');
        const char *at = quote ? quote + 1 : line + 11;
        size_t length = strcspn(at, " \"");
        in->device = length ? evidence_device(in->evidence, at, length) : state->own;
        return true;
    }
    if (!strncmp(line, "##", 2)) return true;
    const char *port = strstr(line, " port "), *pairs = strstr(line, ": [");
    if (!strstr(line, "GUID 0x") || !port || !pairs) return false;
    struct text_field number = {port + 6, strcspn(port + 6, ": ")};
    if (!field_is(&number, "ALL") && number.length < 8) {
        snprintf(name, sizeof name, "port%.*s", (int)number.length, number.at);
        struct text_field field = field_of(name);
        uint32_t object = reading_port(in, &field);
        if (object != EVIDENCE_NONE) queryerrors_pairs(in, object, pairs + 2);
    }
    return true;
}

static void queryerrors_end(struct reading *in)
{
    const struct queryerrors *state = (const struct queryerrors *)in->state;

    if (state->kept) in->device = state->own;
}
const struct text_reader reader_ibqueryerrors = {"ibqueryerrors", "InfiniBand: ibqueryerrors", queryerrors_head,
                                                 queryerrors_line, queryerrors_end};

/* --- ibdiagnet --- */

/* "-E- …", "-W- …", "-I- …" */
static bool ibdiagnet_head(const char *line)
{
    return line[0] == '-' && line[1] && strchr("EWI", line[1]) && line[2] == '-' && line[3] == ' ';
}

static bool ibdiagnet_line(struct reading *in, const char *line)
{
    if (!ibdiagnet_head(line)) return line[strspn(line, " \t-=*.")] == 0;
    if (line[1] == 'I') return true;
    struct text_field detail = field_of(line + 4 + strspn(line + 4, " "));
    if (in->device == EVIDENCE_NONE) return false;
    if (detail.length > 120) detail.length = 120;
    reading_event(in, EVIDENCE_EVENT_LINE_FAULT, EVIDENCE_NONE, EVIDENCE_NO_PRIORITY, NULL, NULL, &detail);
    return true;
}
const struct text_reader reader_ibdiagnet = {"ibdiagnet", "InfiniBand: ibdiagnet's errors and warnings", ibdiagnet_head,
                                             ibdiagnet_line, NULL};

/* --- hw_counters as "name: value" --- */

static bool is_pair(const char *line, struct text_field *name, struct text_field *value)
{
    struct text_field word;
    uint64_t number;

    if (!host_label(line, name, value) || !name->length || memchr(name->at, ' ', name->length)) return false;
    if (!value->length || !field_split(value->at, &word, 1) || !field_number(&word, &number)) return false;
    *value = word;
    return true;
}

/* "Port 1 hw counters:", or a name that nothing else has. */
static bool hw_counters_head(const char *line)
{
    struct text_field name, value;

    if (!strncmp(line, "Port ", 5) && (strstr(line, " hw counters:") || strstr(line, " port counters:"))) return true;
    line += strspn(line, " \t");
    if (!*line || !strchr("oplrnds", *line)) return false;
    return is_pair(line, &name, &value) && memchr(name.at, '_', name.length) && host_has_name(host_rdma_names, &name) &&
           !host_has_name(host_interface_names, &name);
}

static bool hw_counters_line(struct reading *in, const char *line)
{
    uint32_t *port = (uint32_t *)in->state;
    bool *known = (bool *)(in->state + sizeof *port);
    struct text_field name, value;

    if (!*known) {
        *port = host_hinted_port(in);
        *known = true;
        if (*port != EVIDENCE_NONE) reading_system(in, "host", FABRIC_ROLE_HOST);
    }
    if (!strncmp(line, "Port ", 5)) return true;
    if (!is_pair(line, &name, &value)) return false;
    if (*port != EVIDENCE_NONE) reading_named(in, host_rdma_names, *port, EVIDENCE_NO_PRIORITY, &name, &value);
    return true;
}
const struct text_reader reader_hw_counters = {"hw-counters", "hosts: show_counters, hw_counters as NAME: VALUE",
                                               hw_counters_head, hw_counters_line, NULL};

/* "np_cnp_sent 31": what `grep -o` left of `rdma statistic`, without the line of its link. */
static bool piece_row(struct reading *in, const char *line)
{
    struct text_field word[3];
    uint64_t number;

    if (field_split(line, word, 3) != 2 || !field_number(&word[1], &number)) return false;
    if (!memchr(word[0].at, '_', word[0].length) || !host_has_name(host_rdma_names, &word[0])) return false;
    uint32_t port = host_hinted_port(in);
    if (port == EVIDENCE_NONE) return false;
    reading_system(in, "host", FABRIC_ROLE_HOST);
    return reading_named(in, host_rdma_names, port, EVIDENCE_NO_PRIORITY, &word[0], &word[1]);
}
const struct row_reader reader_rdma_row = {"hw-counters", piece_row};
