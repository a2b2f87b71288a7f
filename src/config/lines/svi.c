/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interfaces of VLANs (`interface Vlan120`) in configurations of lines: one that routes for ports with large frames,
 * and has the default of 1500 bytes itself, drops what is larger.  Told where another VLAN's interface has large frames
 * too; a switch on which none has routes no RoCE between VLANs.
 */
#include <string.h>
#include <strings.h>

#include "config/lines/importing.h"

#define LARGE_BYTES 4200u /* that take RDMA packets of 4096 bytes */

static bool is_vlan(const struct line *line)
{
    return line->parent == LINES_NONE && line->words == 2 && strcmp(line->word[0], "interface") == 0 &&
           strncasecmp(line->word[1], "vlan", 4) == 0;
}

/* The frames that a block says; 0: nothing. */
static uint64_t mtu_of(const struct lines *lines, uint32_t block)
{
    struct line_match match;

    for (uint32_t i = block + 1; i < lines->line[block].end; i++)
        if (line_is(&lines->line[i], "mtu #", &match)) return match.number[0];
    return 0;
}

/* Does it route, and is it up? */
static bool routes(const struct lines *lines, uint32_t block)
{
    bool address = false;

    for (uint32_t i = block + 1; i < lines->line[block].end; i++) {
        const struct line *line = &lines->line[i];
        if (line_is(line, "shutdown", NULL)) return false;
        address = address || line_is(line, "ip address * ...", NULL) || line_is(line, "ipv6 address * ...", NULL);
    }
    return address;
}

/* A port with large frames that hosts of this VLAN are at; LINES_NONE: there is none. */
static uint32_t large_port(const struct lines *lines, const char *vlan)
{
    struct line_match match;

    for (uint32_t i = 0; i < lines->count; i++) {
        uint32_t block = lines->line[i].parent;
        if (block == LINES_NONE || !line_is(&lines->line[i], "switchport access vlan *", &match) ||
            strcmp(match.word[0], vlan) != 0 || lines->line[block].words < 2)
            continue;
        if (mtu_of(lines, block) >= LARGE_BYTES) return block;
        i = lines->line[block].end - 1; /* once for each block */
    }
    return LINES_NONE;
}

void lines_svis(struct lines_import *in)
{
    const struct lines *lines = &in->lines;
    const char *large = NULL;
    uint64_t work = 0;

    for (uint32_t i = 0; i < lines->count && !large; i++)
        if (is_vlan(&lines->line[i]) && mtu_of(lines, i) >= LARGE_BYTES) large = lines->line[i].word[1];
    for (uint32_t i = 0; i < lines->count && large && work < LINES_WORK; i++) {
        const struct line *line = &lines->line[i];
        if (!is_vlan(line) || mtu_of(lines, i) || !routes(lines, i)) continue;
        uint32_t port = large_port(lines, line->word[1] + 4);
        work += lines->count;
        if (port != LINES_NONE)
            CAUTION(in, line->number, "MTU001", CONFIG_NONE,
                    "%.40s routes frames of 1500 bytes, the default; its port %.40s takes %u, as does %.40s",
                    line->word[1], lines->line[port].word[1], (unsigned)mtu_of(lines, port), large);
    }
}
