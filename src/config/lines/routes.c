/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BGP of NX-OS and EOS, as far as it decides whether there are equal paths: how many it uses (one, unless told), and
 * how many neighbours it has that could offer some.
 *
 * Neighbours that carry EVPN only are not of the underlay, those of a VRF are not of the fabric.  Where an interior
 * protocol runs, equal paths are its business, and it uses them without being told.
 */
#include <string.h>

#include "config/lines/importing.h"
#include "config/words.h"

#define NEIGHBOURS_MAX 512u

struct bgp {
    const struct lines *lines;
    uint32_t block;
    const char *seen[NEIGHBOURS_MAX];
    uint32_t neighbours;
    uint32_t of_ipv6; /* of them, those of IPv6 */
    uint64_t work;    /* lines that were looked at, of LINES_WORK: more is no router */
};

static bool interior(const struct lines *lines)
{
    for (uint32_t i = 0; i < lines->count; i++) {
        const struct line *line = &lines->line[i];
        if (line->parent != LINES_NONE || line->words < 2 || strcmp(line->word[0], "router") != 0) continue;
        if (words_have("ospf ospfv3 isis eigrp", line->word[1])) return true;
    }
    return false;
}

/* Of what the block of a neighbour or a template carries: evpn is there, IP is not. */
static bool evpn_only(struct bgp *bgp, uint32_t index)
{
    bool evpn = false, ip = false;

    for (uint32_t i = index + 1; i < bgp->lines->line[index].end && bgp->work < LINES_WORK; i++, bgp->work++) {
        const struct line *line = &bgp->lines->line[i];
        if (line->words < 3 || strcmp(line->word[0], "address-family") != 0) continue;
        evpn |= strcmp(line->word[1], "l2vpn") == 0;
        ip |= strncmp(line->word[1], "ip", 2) == 0;
    }
    return evpn && !ip;
}

/* EOS: `neighbor X activate` under address-family evpn. */
static bool activated_evpn(struct bgp *bgp, const char *name)
{
    for (uint32_t i = bgp->block + 1; i < bgp->lines->line[bgp->block].end && bgp->work < LINES_WORK;
         i++, bgp->work++) {
        const struct line *line = &bgp->lines->line[i];
        if (line->parent == bgp->block || line->words < 3 || strcmp(line->word[0], "neighbor") != 0) continue;
        const struct line *family = &bgp->lines->line[line->parent];
        if (strcmp(line->word[1], name) == 0 && strcmp(line->word[2], "activate") == 0 && family->words > 1 &&
            strcmp(family->word[0], "address-family") == 0 && strcmp(family->word[1], "evpn") == 0)
            return true;
    }
    return false;
}

/* Is this line's neighbour one of an overlay, by itself, its template or its group? */
static bool of_overlay(struct bgp *bgp, uint32_t index)
{
    const struct line *line = &bgp->lines->line[index];

    if (evpn_only(bgp, index) || activated_evpn(bgp, line->word[1])) return true;
    for (uint32_t i = index; i < line->end; i++) {
        const struct line *inner = &bgp->lines->line[i];
        for (uint32_t w = 0; w + 1 < inner->words; w++) {
            bool group = strcmp(inner->word[w], "group") == 0 || strcmp(inner->word[w], "peer-group") == 0;
            bool template = i > index && w == 1 && strcmp(inner->word[0], "inherit") == 0;
            if (group && activated_evpn(bgp, inner->word[w + 1])) return true;
            for (uint32_t t = bgp->block + 1; template && t < index && bgp->work < LINES_WORK; t++, bgp->work++) {
                const struct line *at = &bgp->lines->line[t];
                if (at->words > 2 && strcmp(at->word[0], "template") == 0 &&
                    strcmp(at->word[2], inner->word[w + 1]) == 0 && evpn_only(bgp, t))
                    return true;
            }
        }
    }
    return false;
}

static void add_neighbour(struct bgp *bgp, uint32_t index)
{
    const struct line *line = &bgp->lines->line[index];
    const char *name = line->word[1];
    bool several = strcmp(name, "interface") == 0 || strchr(name, '/');

    if (!several && !strchr(name, ':') && !strchr(name, '.') && strncasecmp(name, "eth", 3) != 0) return; /* a group */
    for (uint32_t n = 0; n < bgp->neighbours; n++)
        if (strcmp(bgp->seen[n], name) == 0) return;
    if (bgp->neighbours + 2 > NEIGHBOURS_MAX || of_overlay(bgp, index)) return;
    if (strchr(name, ':')) bgp->of_ipv6 += 1 + several;
    bgp->seen[bgp->neighbours++] = name;
    if (several) bgp->seen[bgp->neighbours++] = name; /* a range of addresses or of interfaces */
}

/* `maximum-paths 16`, `maximum-paths 4 ecmp 4`, `maximum-paths ibgp 8`. */
static uint32_t paths_of(const struct line *line)
{
    uint64_t number;

    for (uint32_t w = 1; w < line->words && strcmp(line->word[0], "maximum-paths") == 0; w++)
        if (line_number(line->word[w], &number)) return number > UINT16_MAX ? UINT16_MAX : (uint32_t)number;
    return 0;
}

void lines_routes(struct lines_import *in)
{
    const struct lines *lines = &in->lines;
    struct bgp bgp = {.lines = lines, .block = LINES_NONE};
    uint32_t paths = 0, at = 0, family = 0;

    for (uint32_t i = 0; i < lines->count && bgp.block == LINES_NONE; i++)
        if (lines->line[i].parent == LINES_NONE && line_is(&lines->line[i], "router bgp * ...", NULL)) bgp.block = i;
    if (bgp.block == LINES_NONE || interior(lines)) return;
    for (uint32_t i = bgp.block + 1; i < lines->line[bgp.block].end; i++) {
        const struct line *line = &lines->line[i];
        if (line->parent == bgp.block && strcmp(line->word[0], "vrf") == 0) {
            i = line->end - 1;
            continue;
        }
        if (paths_of(line) > paths) {
            paths = paths_of(line);
            at = line->number;
        }
        if (line->parent != bgp.block || line->words < 2) continue;
        if (!family && strcmp(line->word[0], "address-family") == 0 && strncmp(line->word[1], "ip", 2) == 0)
            family = line->number;
        if (strcmp(line->word[0], "neighbor") == 0) add_neighbour(&bgp, i);
    }
    if (bgp.work >= LINES_WORK) return;
    if (!at) at = family ? family : lines->line[bgp.block].number;
    uint32_t others = bgp.neighbours - bgp.of_ipv6; /* a link may have a neighbour of each family */
    config_paths(in->set, CONFIG_AT(in->text, at), in->device, paths ? paths : 1,
                 others > bgp.of_ipv6 ? others : bgp.of_ipv6);
}
