/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cages that are broken out: `nv set interface swp1 link breakout 4x100G` makes swp1s0 to swp1s3 of swp1, which is no
 * port any more.  What is said of it besides is of no effect.
 */
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "config/nvue/read.h"

#define TRIES_MOST (16u * BROKEN_MOST) /* names that lines have, the same ones again included */

/* The first in the order of names that is not before this one. */
static uint32_t place_of(const struct nvue *in, const char *name)
{
    uint32_t low = 0, high = in->brokens;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (strcmp(in->broken[in->broken_order[middle]].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct broken *nvue_broken(const struct nvue *in, const char *name)
{
    uint32_t place = place_of(in, name);
    const struct broken *found = place < in->brokens ? &in->broken[in->broken_order[place]] : NULL;

    return found && strcmp(found->name, name) == 0 ? found : NULL;
}

/* `4x100G`, `4x`, `2x` with lanes: how many; 0: not broken out.  `ret_rate` is NULL where it says none. */
static unsigned parts(struct nvue *in, const char *mode, const char **ret_rate)
{
    char *end = NULL;
    unsigned long count = strtoul(mode, &end, 10);
    uint64_t rate;

    *ret_rate = NULL;
    if (end == mode || *end != 'x' || count < 2 || count > 16) return 0;
    const char *each = arena_strndup(in->arena, end + 1, strlen(end + 1));
    if (each[0] && unit_parse(UNIT_RATE, each, &rate, NULL) == 0 && rate) *ret_rate = each;
    return (unsigned)count;
}

static void add_broken(struct nvue *in, const char *name, const char *mode, uint32_t line)
{
    const char *rate;

    if (in->brokens >= BROKEN_MOST || nvue_broken(in, name)) return;
    unsigned ports = parts(in, mode, &rate);
    if (!ports) return;
    ARENA_ROOM(in->arena, in->broken, in->brokens, in->brokens_room);
    const char *kept = arena_strndup(in->arena, name, strlen(name));
    uint32_t place = place_of(in, name);
    uint16_t *order = &in->broken_order[place];
    memmove(order + 1, order, (in->brokens - place) * sizeof(*order));
    *order = (uint16_t)in->brokens;
    in->broken[in->brokens++] = (struct broken){kept, ports, rate, line};
}

void nvue_find_breakouts(struct nvue *in)
{
    uint32_t tries = 0;

    for (uint32_t f = 0; f < in->facts.count && in->brokens < BROKEN_MOST; f++) {
        const struct nvue_fact *fact = &in->facts.fact[f];
        if (!nvue_says(fact, "interface * link breakout *") || strncmp(fact->word[1], "swp", 3) != 0) continue;
        for (const char *at = fact->word[1] + 3; *at;) { /* `swp1-4,swp6`, `swp1-4,6` */
            char name[FABRIC_NAME], *end = NULL;
            at += strncmp(at, "swp", 3) == 0 ? 3 : 0;
            unsigned long first = strtoul(at, &end, 10), last = first;
            if (end == at || (*end && *end != '-' && *end != ',')) break; /* of a port that is a part itself */
            if (*end == '-') last = strtoul(end + 1, &end, 10);
            for (unsigned long i = first; i <= last && i - first < BROKEN_MOST && tries < TRIES_MOST; i++, tries++) {
                snprintf(name, sizeof(name), "swp%lu", i);
                add_broken(in, name, fact->word[4], fact->line);
            }
            at = end + (*end == ',');
            if (*end && *end != ',') break;
        }
    }
}

void nvue_add_broken(struct nvue *in)
{
    for (uint32_t b = 0; b < in->brokens; b++) {
        for (unsigned i = 0; i < in->broken[b].ports; i++) {
            char name[FABRIC_NAME];
            uint32_t p = CONFIG_NONE;
            snprintf(name, sizeof(name), "%.40ss%u", in->broken[b].name, i);
            const struct nvue_port *port = nvue_port(in, name, in->broken[b].line, &p);
            if (!port) return;
            if (!port->mentioned) config_idle(in->set, in->device, p);
            if (in->broken[b].rate && !config_said(in->set, in->device, p, "rate"))
                SAY(in, in->broken[b].line, p, "rate", "%s", in->broken[b].rate);
        }
    }
}
