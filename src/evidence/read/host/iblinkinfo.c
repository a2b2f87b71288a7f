/* SPDX-License-Identifier: Apache-2.0 */
/* iblinkinfo: the links of an InfiniBand fabric, each from both ends: whether they are up, and what they could be. */
#include <stdio.h>
#include <string.h>

#include "evidence/read/reader.h"

/* Nodes are other machines than the one that asks: whose text it is comes back at the end. */
struct links {
    uint32_t own, node;
    bool kept;
};
_Static_assert(sizeof(struct links) <= READER_STATE, "a reader's state");

static bool is_node(const char *line)
{
    return (!strncmp(line, "CA: ", 4) || !strncmp(line, "Switch: 0x", 10)) && line[strlen(line) - 1] == ':';
}

static bool is_link(const char *line)
{
    const char *at = strstr(line, "==(");

    return at && memchr(line, '[', (size_t)(at - line)) && strstr(at, ")==>");
}

static bool head(const char *line)
{
    return is_node(line) || is_link(line);
}

/* A node by the first word of its name, as ibqueryerrors has it; none of what switches count with themselves. */
static uint32_t node_of(struct reading *in, const char *name)
{
    size_t length = strcspn(name, " :\""), whole = strcspn(name, "\"");

    if (memmem(name, whole, "Aggregation Node", 16)) return EVIDENCE_NONE;
    if (name[length] == ':' && name[length + 1] && name[length + 1] != ' ') length = strcspn(name, " \"");
    while (length && name[length - 1] == ':')
        length--;
    return length && length < 64 ? evidence_device(in->evidence, name, length) : EVIDENCE_NONE;
}

/* "port3" of "... 3[  ]", the number before the bracket. */
static bool port_before(const char *bracket, const char *begin, char buf[16], struct text_field *port)
{
    const char *at = bracket;

    while (at > begin && at[-1] >= '0' && at[-1] <= '9')
        at--;
    if (at == bracket || bracket - at > 3) return false;
    snprintf(buf, 16, "port%.*s", (int)(bracket - at), at);
    *port = field_of(buf);
    return true;
}

static void neighbour(struct reading *in, uint32_t port, const char *behind)
{
    const char *bracket = strchr(behind, '['), *quote = strchr(behind, '"');
    struct text_field number;
    char text[16];

    if (!bracket || !quote || !quote[1] || quote[1] == '"' || !port_before(bracket, behind, text, &number)) return;
    uint32_t node = node_of(in, quote + 1);
    if (node == EVIDENCE_NONE) return;
    struct text_field device = field_of(in->evidence->object[node].name);
    reading_neighbour(in, port, &device, &number, &number);
}

static void could_be(struct reading *in, uint32_t port, const char *behind)
{
    const char *at = strstr(behind, "Could be");
    struct text_field detail = {at ? at : "", at ? strcspn(at, ")") : 0};

    if (at && detail.length < 80)
        reading_event(in, EVIDENCE_EVENT_LINE_FAULT, port, EVIDENCE_NO_PRIORITY, NULL, NULL, &detail);
}

static bool one_line(struct reading *in, const char *line)
{
    struct links *state = (struct links *)in->state;
    struct text_field number;
    char text[16];

    if (!state->kept) *state = (struct links){in->device, EVIDENCE_NONE, true};
    if (is_node(line)) {
        const char *name = line + 4;
        if (*line == 'S') name = line + 8 + strcspn(line + 8, " ");
        state->node = node_of(in, name + strspn(name, " "));
        return true;
    }
    if (!is_link(line)) return false;
    const char *arrow = strstr(line, "==("), *behind = strstr(arrow, ")==>");
    if (state->node == EVIDENCE_NONE || !port_before(strchr(line, '['), line, text, &number)) return true;
    in->device = state->node;
    uint32_t port = reading_port(in, &number);
    if (port == EVIDENCE_NONE) return true;
    bool up = memmem(arrow, (size_t)(behind - arrow), "LinkUp", 6) != NULL;
    evidence_offer(in->evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_LINK_UP, up, &in->source);
    neighbour(in, port, behind);
    could_be(in, port, behind);
    return true;
}

static void end(struct reading *in)
{
    const struct links *state = (const struct links *)in->state;

    if (state->kept) in->device = state->own;
}
const struct text_reader reader_iblinkinfo = {"iblinkinfo", "InfiniBand: iblinkinfo", head, one_line, end};
