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

#include "config/lines/statements.h"
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

static bool read_version(const struct statement_said *said)
{
    struct nxos *nxos = said->object;

    nxos->whole = true;
    nxos->network_mtu |= small_platform(said->match->word[0]);
    return true;
}

/* interface breakout module 1 port 1-8,12 map 100g-4x */
static bool read_breakout(const struct statement_said *said)
{
    struct nxos *nxos = said->object;
    struct line_match match;
    uint64_t ports[4] = {0}, first, last;
    char *end;

    if (nxos->breakouts_read++ >= BREAKOUTS_MAX) return false;
    if (!line_is(said->line, "interface breakout module # port * map * ...", &match)) return true;
    struct nxos_breakout *breakout = ARENA_NEW(&nxos->set->arena, struct nxos_breakout, 1);
    for (const char *at = match.word[0]; *at; at += strspn(at, ",")) {
        first = strtoull(at, &end, 10);
        last = *end == '-' ? strtoull(end + 1, &end, 10) : first;
        if (end == at || (*end && *end != ',') || first > last || last >= 256) return true;
        for (; first <= last; first++)
            ports[first / 64] |= UINT64_C(1) << first % 64;
        at = end;
    }
    uint64_t rate = strtoull(match.word[1], &end, 10);
    uint64_t lanes = end[0] == 'g' && end[1] == '-' ? strtoull(end + 2, &end, 10) : 0;
    if (rate == 0 || rate > 1600 || lanes == 0 || lanes > 16 || *end != 'x') return true;
    said->line->known = true;
    *breakout = (struct nxos_breakout){.module = match.number[0],
                                       .lanes = (uint32_t)lanes,
                                       .rate_mbps = (uint32_t)rate * 1000,
                                       .line = said->line->number,
                                       .next = nxos->breakouts};
    memcpy(breakout->ports, ports, sizeof(ports));
    nxos->breakouts = breakout;
    return true;
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

/* An interval in ms, or how many of them: one that is out of range is told, and no more than the most. */
static bool read_time(const struct statement_said *said)
{
    struct line *line = said->line;
    struct nxos *nxos = said->object;
    struct nxos_watchdog *as = &nxos->watchdog;
    const struct {
        const char *word;
        uint32_t least, most;
        struct nxos_time *time;
    } times[] = {{"interval", NXOS_POLL_LEAST_MS, NXOS_POLL_MOST_MS, &as->poll_ms},
                 {"shutdown-multiplier", 1, NXOS_SHUTDOWNS_MOST, &as->shutdowns},
                 {"auto-restore", 0, NXOS_RESTORES_MOST, &as->restores},
                 {"fixed-restore", 0, NXOS_RESTORES_MOST, &as->fixed}},
      *of = times;
    uint64_t value = said->match->number[0];

    while (strcmp(line->word[1], of->word) != 0 && strcmp(line->word[2], of->word) != 0)
        of++;
    if (value < of->least || value > of->most)
        NOTE(nxos, line->number, "WD002", CONFIG_NONE, "%llu is out of range: %u to %u", (unsigned long long)value,
             of->least, of->most);
    *of->time = (struct nxos_time){value > of->most ? of->most : (uint32_t)value, line->number};
    return true;
}

/* ip load-sharing address source-destination port source-destination [universal-id N] [rotate N] [...] */
static bool read_hash(const struct statement_said *said)
{
    struct line *line = said->line;
    bool source = false, sport = false;

    line->known = true;
    for (uint32_t w = 2; w + 1 < line->words; w++) {
        bool both = strncmp(line->word[w + 1], "source", 6) == 0;
        if (strcmp(line->word[w], "address") == 0) source |= both;
        if (strcmp(line->word[w], "port") == 0) sport |= both;
    }
    SAY((struct nxos *)said->object, line->number, CONFIG_NONE, "ecmp.hash", "[%sdst%s]", source ? "src, " : "",
        sport ? ", sport" : "");
    return true;
}

/* hardware profile dlb / mode flowlet / dlb-interface all / flowlet-aging 500.  Without interfaces it does nothing; on
 * some of them it is taken for the whole switch. */
static bool read_dlb(const struct statement_said *said)
{
    struct line *line = said->line;
    struct nxos *nxos = said->object;
    struct line_match match;
    uint32_t packets = 0, ports = 0, aging = 0;
    uint64_t gap_us = 0;

    line->known = true;
    for (struct line *inner = line + 1; inner < nxos->lines.line + line->end; inner++) {
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
    if (!ports) return true;
    SAY(nxos, packets ? packets : line->number, CONFIG_NONE, "balance.use", "%s", packets ? "spray" : "flowlet");
    if (!packets)
        SAY(nxos, aging ? aging : line->number, CONFIG_NONE, "balance.gap", "%lluus",
            (unsigned long long)(gap_us ? gap_us : FLOWLET_USUAL_US));
    return true;
}

#define OBJECT struct nxos
static const struct statement system_says[] = {
#include "config/nxos/system.def"
};
#undef OBJECT

void nxos_system(struct nxos *nxos)
{
    for (uint32_t i = 0; i < nxos->lines.count; i++)
        if (nxos->lines.line[i].parent == LINES_NONE) STATEMENTS_READ(system_says, nxos, nxos, &nxos->lines.line[i]);
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
