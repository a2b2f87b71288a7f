/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is no mistake in a switch's configuration, and worth a word all the same: infos, whatever the system.
 *
 * A port that nobody described among ports that are; DSCPs that come to RDMA's class by the system's own map; a cable
 * whose length is said twice, differently.
 */
#include "config/hints.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"

#define DESCRIBED_LEAST 3u /* ports with a description for one without */
#define BULK 32u           /* entries of a map with one line: they are the system's own */
#define FEW 2              /* DSCPs that were written for a class */
#define METRES_MOST 100000u

static bool is_on(const struct config_set *set, uint32_t d, uint32_t p, const char *path)
{
    const char *got = config_said(set, d, p, path);

    if (!got) got = config_said(set, d, CONFIG_NONE, path);
    return got && strcmp(got, "false") != 0;
}

static bool pauses(const struct config_set *set, uint32_t d, uint32_t p)
{
    if (config_is_down(set, d, p) || set->device[d].port[p].idle) return false;
    return is_on(set, d, p, "pfc") || is_on(set, d, p, "pfc.tx");
}

static void judge_descriptions(struct config_set *set, uint32_t d, const bool *described)
{
    uint32_t with = 0, without = 0;

    for (uint32_t p = 0; p < set->device[d].ports; p++)
        if (pauses(set, d, p)) *(described[p] ? &with : &without) += 1;
    if (!without || with < DESCRIBED_LEAST * without) return;
    for (uint32_t p = 0; p < set->device[d].ports; p++)
        if (pauses(set, d, p) && !described[p])
            config_finding(set, set->device[d].port[p].at, "SIB001", CONFIG_INFO, d, p,
                           "has no description, as %u other ports with PFC have", with);
}

/* A number with `m` behind it, as a word: `(30m AOC)`, `30 m`; 0: there is none, or more than one. */
static uint32_t metres_in(const char *text)
{
    uint32_t found = 0;

    for (const char *at = text; *at; at++) {
        if (*at < '0' || *at > '9' || (at > text && (strchr("-_./:", at[-1]) || (at[-1] | 32) >= 'a'))) {
            at += strspn(at, "0123456789");
            if (!*at) break;
            continue;
        }
        char *end = NULL;
        unsigned long got = strtoul(at, &end, 10);
        const char *unit = end + (*end == ' ');
        bool metres =
            *unit == 'm' && !((unit[1] | 32) >= 'a' && (unit[1] | 32) <= 'z') && !(unit[1] >= '0' && unit[1] <= '9');
        if (metres && got && got < METRES_MOST) {
            if (found && found != got) return 0;
            found = (uint32_t)got;
        }
        at = end - 1;
    }
    return found;
}

static void judge_cable(struct config_set *set, const struct config_description *as)
{
    static const char *const paths[] = {"cable", "headroom-cable"};
    uint32_t metres = metres_in(as->text);

    for (unsigned i = 0; metres && i < sizeof(paths) / sizeof(paths[0]); i++) {
        const char *said = config_said(set, as->device, as->port, paths[i]);
        uint64_t mm = 0;
        if (!said || unit_parse(UNIT_LENGTH, said, &mm, NULL) != 0 || !mm) continue;
        if (mm / 1000 < (uint64_t)metres * 2 && (uint64_t)metres * 1000 < mm * 2) return;
        config_finding(set, config_said_at(set, as->device, as->port, paths[i]), "HR002", CONFIG_INFO, as->device,
                       as->port, "its cable is %.20s long, and its description says %u m", said, metres);
        return;
    }
}

/* DSCPs that lead to a class with PFC by a line that says most of the map, beside the few that were written for it. */
static bool judge_shared(struct config_set *set, uint32_t d, uint32_t p)
{
    const char *bits = config_said(set, d, p, "pfc"), *trust = config_said(set, d, p, "trust");
    struct origin at[64];
    unsigned bulk = 0, own = 0, first = 64, same = 0;
    char path[32];

    if (!bits) bits = config_said(set, d, p, "pfc.tx");
    if (!bits || (trust && strcmp(trust, "dscp") != 0)) return false;
    for (unsigned dscp = 0; dscp < 64; dscp++) {
        snprintf(path, sizeof(path), "dscp-map.%u", dscp);
        at[dscp] = config_said_at(set, d, p, path);
        if (!at[dscp].line) return false;
    }
    for (unsigned dscp = 0; dscp < 64; dscp++) {
        snprintf(path, sizeof(path), "dscp-map.%u", dscp);
        const char *class = config_said(set, d, p, path);
        same = 0;
        for (unsigned e = 0; e < 64; e++)
            same += at[e].line == at[dscp].line;
        if (!class || !strstr(bits, class)) continue;
        *(same >= BULK ? &bulk : &own) += 1;
        if (same < BULK && first == 64) first = dscp;
    }
    if (bulk < 2 || own > FEW) return false;
    config_finding(
        set, at[first < 64 ? first : 26], "MAP009", CONFIG_INFO, d, CONFIG_NONE,
        "%u more DSCPs lead to the class with PFC by the system's own map: what else is sent with them shares it",
        first < 64 ? bulk : bulk - 1);
    return true;
}

void hints_judge(struct config_set *set)
{
    for (uint32_t i = 0; i < set->descriptions; i++)
        if (set->description[i].device < set->devices) judge_cable(set, &set->description[i]);
    for (uint32_t d = 0; d < set->devices; d++) {
        const struct config_device *device = &set->device[d];
        if (device->host || !device->nos || !device->ports) continue;
        bool *described = ARENA_NEW(&set->arena, bool, device->ports);
        for (uint32_t i = 0; i < set->descriptions; i++)
            if (set->description[i].device == d && set->description[i].port < device->ports)
                described[set->description[i].port] = true;
        for (uint32_t i = 0; i < set->neighbours; i++)
            if (set->neighbour[i].device == d && set->neighbour[i].port < device->ports)
                described[set->neighbour[i].port] = true;
        judge_descriptions(set, d, described);
        for (uint32_t p = 0; p < device->ports; p++)
            if (pauses(set, d, p)) {
                judge_shared(set, d, p);
                break;
            }
    }
}
