/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What NX-OS says of the whole switch outside of policies: its platform, ports that are broken out or down unless said
 * otherwise, the times of the watchdog, the hash of equal paths.
 *
 * The watchdog looks at the interval (100 ms unless said), calls a queue stuck after the shutdown multiplier of them
 * (1), and lets it go after the auto-restore (10) and the fixed-restore multiplier (0) of them together.
 */
#include <stdlib.h>
#include <string.h>

#include "config/nxos/nxos_int.h"

#define BREAKOUTS_MAX 1024u
#define RESTORES_USUAL 10u
#define FLOWLET_USUAL_US 500u

/* Releases of Nexus 3000, 3500, 5000 and 6000, `6.0(2)U6(10)`: there, frames of bridged ports are as large as
 * network-qos says. */
static bool small_platform(const char *version)
{
    const char *close = strchr(version, ')');

    return close && (close[1] == 'U' || close[1] == 'A' || close[1] == 'N');
}

/* interface breakout module 1 port 1-8,12 map 100g-4x */
static void read_breakout(struct nxos *nxos, struct line *line)
{
    struct line_match match;
    uint64_t ports[4] = {0}, first, last;
    char *end;

    if (!line_is(line, "interface breakout module # port * map * ...", &match)) return;
    struct nxos_breakout *breakout = ARENA_NEW(&nxos->set->arena, struct nxos_breakout, 1);
    for (const char *at = match.word[0]; *at; at += strspn(at, ",")) {
        first = strtoull(at, &end, 10);
        last = *end == '-' ? strtoull(end + 1, &end, 10) : first;
        if (end == at || (*end && *end != ',') || first > last || last >= 256) return;
        for (; first <= last; first++)
            ports[first / 64] |= UINT64_C(1) << first % 64;
        at = end;
    }
    uint64_t rate = strtoull(match.word[1], &end, 10);
    uint64_t lanes = end[0] == 'g' && end[1] == '-' ? strtoull(end + 2, &end, 10) : 0;
    if (rate == 0 || rate > 1600 || lanes == 0 || lanes > 16 || *end != 'x') return;
    line->known = true;
    *breakout = (struct nxos_breakout){.module = match.number[0],
                                       .lanes = (uint32_t)lanes,
                                       .rate_mbps = (uint32_t)rate * 1000,
                                       .line = line->number,
                                       .next = nxos->breakouts};
    memcpy(breakout->ports, ports, sizeof(ports));
    nxos->breakouts = breakout;
}

const struct nxos_breakout *nxos_breakout(const struct nxos *nxos, const char *name, uint32_t *ret_lane)
{
    char *end;

    *ret_lane = 0;
    if (strncmp(name, "Ethernet", 8) != 0) return NULL;
    uint64_t module = strtoull(name + 8, &end, 10), port = *end == '/' ? strtoull(end + 1, &end, 10) : 256;
    uint64_t lane = *end == '/' ? strtoull(end + 1, &end, 10) : 0;
    if (*end || port >= 256 || lane > 16) return NULL;
    for (const struct nxos_breakout *at = nxos->breakouts; at; at = at->next) {
        if (at->module != module || !(at->ports[port / 64] >> port % 64 & 1)) continue;
        *ret_lane = (uint32_t)lane;
        return at;
    }
    return NULL;
}

static void read_multiplier(struct nxos *nxos, struct line *line, uint64_t value, uint32_t least, uint32_t most,
                            struct nxos_time *ret)
{
    if (value < least || value > most)
        NOTE(nxos, line->number, "WD002", CONFIG_NONE, "%llu is out of range: %u to %u", (unsigned long long)value,
             least, most);
    *ret = (struct nxos_time){value > most ? most : (uint32_t)value, line->number};
}

static bool read_watchdog(struct nxos *nxos, struct line *line)
{
    struct nxos_watchdog *watchdog = &nxos->watchdog;
    struct line_match match;

    if (line_take_part(line, "priority-flow-control watch-dog-interval on", NULL)) {
        watchdog->on = true;
        watchdog->line = line->number;
    } else if (line_take_part(line, "priority-flow-control watch-dog-interval off", NULL) ||
               line_take(line, "no priority-flow-control watch-dog-interval ...", NULL)) {
        watchdog->on = false;
        watchdog->line = line->number;
    } else if (line_take_part(line, "priority-flow-control watch-dog interval #", &match)) {
        read_multiplier(nxos, line, match.number[0], NXOS_POLL_LEAST_MS, NXOS_POLL_MOST_MS, &watchdog->poll_ms);
    } else if (line_take_part(line, "priority-flow-control watch-dog shutdown-multiplier #", &match)) {
        read_multiplier(nxos, line, match.number[0], 1, NXOS_SHUTDOWNS_MOST, &watchdog->shutdowns);
    } else if (line_take_part(line, "priority-flow-control auto-restore multiplier #", &match)) {
        read_multiplier(nxos, line, match.number[0], 0, NXOS_RESTORES_MOST, &watchdog->restores);
    } else if (line_take_part(line, "priority-flow-control fixed-restore multiplier #", &match)) {
        read_multiplier(nxos, line, match.number[0], 0, NXOS_RESTORES_MOST, &watchdog->fixed);
    } else {
        return line_take(line, "no priority-flow-control watch-dog ...", NULL) ||
               line_take(line, "no priority-flow-control auto-restore ...", NULL) ||
               line_take(line, "no priority-flow-control fixed-restore ...", NULL);
    }
    return true;
}

/* ip load-sharing address source-destination port source-destination [universal-id N] [rotate N] [...] */
static void read_hash(struct nxos *nxos, struct line *line)
{
    bool source = false, sport = false;

    line->known = true;
    for (uint32_t w = 2; w + 1 < line->words; w++) {
        bool both = strncmp(line->word[w + 1], "source", 6) == 0;
        if (strcmp(line->word[w], "address") == 0) source |= both;
        if (strcmp(line->word[w], "port") == 0) sport |= both;
    }
    SAY(nxos, line->number, CONFIG_NONE, "ecmp.hash", "[%sdst%s]", source ? "src, " : "", sport ? ", sport" : "");
}

/* hardware profile dlb / mode flowlet / dlb-interface all / flowlet-aging 500.  Without interfaces it does nothing; on
 * some of them it is taken for the whole switch. */
static void read_dlb(struct nxos *nxos, uint32_t index)
{
    struct line *line = &nxos->lines.line[index];
    struct line_match match;
    uint32_t packets = 0, ports = 0, aging = 0;
    uint64_t gap_us = 0;

    line->known = true;
    for (uint32_t i = index + 1; i < line->end; i++) {
        struct line *inner = &nxos->lines.line[i];
        if (line_take(inner, "mode per-packet", NULL))
            packets = inner->number;
        else if (line_take(inner, "dlb-interface ...", NULL))
            ports = inner->number;
        else if (line_is(inner, "flowlet-aging # ...", &match) && match.number[0] && match.number[0] <= 1000000) {
            line_take_part(inner, "flowlet-aging #", NULL);
            gap_us = match.number[0];
            aging = inner->number;
        } else if (!line_take(inner, "mac-address *", NULL) && !line_take(inner, "dre-thresholds ...", NULL)) {
            line_take(inner, "mode flowlet", NULL);
        }
    }
    if (!ports) return;
    SAY(nxos, packets ? packets : line->number, CONFIG_NONE, "balance.use", "%s", packets ? "spray" : "flowlet");
    if (!packets)
        SAY(nxos, aging ? aging : line->number, CONFIG_NONE, "balance.gap", "%lluus",
            (unsigned long long)(gap_us ? gap_us : FLOWLET_USUAL_US));
}

void nxos_system(struct nxos *nxos)
{
    uint32_t breakouts = 0;

    for (uint32_t i = 0; i < nxos->lines.count; i++) {
        struct line *line = &nxos->lines.line[i];
        struct line_match match;

        if (line->parent != LINES_NONE || read_watchdog(nxos, line)) continue;
        if (line_take(line, "version * ...", &match)) {
            nxos->whole = true;
            nxos->network_mtu |= small_platform(match.word[0]);
        } else if (line_is(line, "hostname *", NULL) || line_is(line, "switchname *", NULL)) {
            nxos->whole = true;
        } else if (line_take(line, "system default switchport shutdown", NULL)) {
            nxos->down_line = line->number;
        } else if (line_take(line, "no system default switchport shutdown", NULL)) {
            nxos->down_line = 0;
        } else if (line_take(line, "no system default switchport", NULL)) {
            nxos->routed = true;
        } else if (line_take(line, "system default switchport", NULL)) {
            nxos->routed = false;
        } else if (line_is(line, "interface breakout ...", NULL) && breakouts++ < BREAKOUTS_MAX) {
            read_breakout(nxos, line);
        } else if (line_is(line, "hardware profile dlb", NULL)) {
            read_dlb(nxos, i);
        } else if (line_is(line, "ip load-sharing address * ...", NULL)) {
            read_hash(nxos, line);
        } else if (line_take(line, "lldp tlv-select dcbxp ...", NULL) ||
                   line_take(line, "logging level ipqosmgr #", NULL)) {
            continue; /* what is announced takes nothing from the peer; what is logged */
        }
    }
}

void nxos_say_watchdog(struct nxos *nxos)
{
    const struct nxos_watchdog *watchdog = &nxos->watchdog;
    uint32_t poll = watchdog->poll_ms.line && watchdog->poll_ms.value ? watchdog->poll_ms.value : NXOS_POLL_LEAST_MS;
    uint32_t shutdowns = watchdog->shutdowns.line && watchdog->shutdowns.value ? watchdog->shutdowns.value : 1;
    uint32_t restores = (watchdog->restores.line ? watchdog->restores.value : RESTORES_USUAL) + watchdog->fixed.value;
    uint32_t restore_line = watchdog->restores.line ? watchdog->restores.line : watchdog->fixed.line;

    if (!watchdog->on) {
        SAY(nxos, watchdog->line, CONFIG_NONE, "watchdog", "false");
        return;
    }
    uint32_t on = watchdog->line;
    SAY(nxos, watchdog->poll_ms.line ? (watchdog->poll_ms.line) : on, CONFIG_NONE, "watchdog.poll", "%ums", poll);
    SAY(nxos, watchdog->shutdowns.line ? (watchdog->shutdowns.line) : on, CONFIG_NONE, "watchdog.detect", "%ums",
        poll * shutdowns);
    SAY(nxos, restore_line ? (restore_line) : on, CONFIG_NONE, "watchdog.restore", "%ums",
        poll * (restores ? restores : RESTORES_USUAL));
    if (!restores) /* a time that never comes cannot be said */
        NOTE(nxos, restore_line, "WD003", CONFIG_NONE,
             "the watchdog never restores a queue: its multipliers of restoring are 0");
}
