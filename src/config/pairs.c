/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What configurations say of ports that belong together, and a fabric file cannot hold: members of a bundle that are
 * set differently (LAG001), two ends of a link that are set to different rates (TOP006), and routing that leaves equal
 * paths unused (TOP008).  judge.c calls it once all links are known.
 *
 * The one told is the odd one: of a bundle the member that fewest others equal, of a link the end whose device has
 * fewer ports of its rate.
 */
#include "config/pairs.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"

/* What members of a bundle must have alike: paths that begin so. */
enum matter { PFC, FRAMES, TRUST, MAPS, CLASSES, MATTERS };
static const struct {
    const char *words;
    const char *path[4];
} matters[MATTERS] = {
    [PFC] = {"PFC", {"pfc"}},
    [FRAMES] = {"frames", {"mtu"}},
    [TRUST] = {"trust", {"trust"}},
    [MAPS] = {"classification", {"dscp-map", "pcp-map", "queue-map", "group-map"}},
    [CLASSES] = {"queues and buffers", {"classes"}},
};

static bool is_of(const char *path, size_t matter)
{
    for (size_t i = 0; i < sizeof(matters[0].path) / sizeof(matters[0].path[0]) && matters[matter].path[i]; i++) {
        size_t length = strlen(matters[matter].path[i]);
        if (strncmp(path, matters[matter].path[i], length) == 0 && (!path[length] || strchr(".-", path[length])))
            return true;
    }
    return false;
}

struct member {
    uint64_t hash;    /* of all it says of the matter, in any order */
    uint32_t set;     /* values that turn something on */
    const char *path; /* the first, NULL: it says nothing */
};

static struct member member_of(const struct config_port *port, size_t matter)
{
    struct member as = {0};

    for (uint32_t i = 0; i < port->count; i++) {
        uint64_t hash = 14695981039346656037ull;
        if (!is_of(port->said[i].path, matter)) continue;
        for (const char *c = port->said[i].path; *c; c++)
            hash = (hash ^ (unsigned char)*c) * 1099511628211ull;
        hash *= 31;
        for (const char *c = port->said[i].value; *c; c++)
            hash = (hash ^ (unsigned char)*c) * 1099511628211ull;
        as.hash += hash ^ hash >> 29;
        as.set += strcmp(port->said[i].value, "false") != 0 && strcmp(port->said[i].value, "0") != 0;
        if (!as.path) as.path = port->said[i].path;
    }
    return as;
}

static bool same_lag(const struct config_device *device, uint32_t a, uint32_t b)
{
    return device->port[a].lag && device->port[b].lag && strcmp(device->port[a].lag, device->port[b].lag) == 0;
}

static bool is_down(const struct config_set *set, uint32_t device, uint32_t port)
{
    const char *up = config_said(set, device, port, "up");

    return up && strcmp(up, "false") == 0;
}

/* The member that most others equal; of as many, the one that turns more on. */
static uint32_t usual_member(const struct config_set *set, uint32_t d, uint32_t first, size_t matter)
{
    const struct config_device *device = &set->device[d];
    uint32_t best = first, most = 0, most_set = 0;

    for (uint32_t p = first; p < device->ports; p++) {
        struct member as = member_of(&device->port[p], matter);
        uint32_t equal = 0;
        if (!same_lag(device, first, p) || is_down(set, d, p)) continue;
        for (uint32_t q = first; q < device->ports; q++)
            equal += same_lag(device, first, q) && !is_down(set, d, q) &&
                     member_of(&device->port[q], matter).hash == as.hash;
        if (equal > most || (equal == most && as.set > most_set)) {
            most = equal;
            most_set = as.set;
            best = p;
        }
    }
    return best;
}

static bool alike(const struct config_port *a, const struct config_port *b, size_t matter)
{
    return member_of(a, matter).hash == member_of(b, matter).hash;
}

static void judge_matter(struct config_set *set, uint32_t d, uint32_t first, size_t matter)
{
    const struct config_device *device = &set->device[d];
    uint32_t usual = usual_member(set, d, first, matter);
    struct member best = member_of(&device->port[usual], matter);

    for (uint32_t p = first; p < device->ports; p++) {
        struct member as = member_of(&device->port[p], matter);
        if (!same_lag(device, first, p) || is_down(set, d, p) || as.hash == best.hash) continue;
        if (matter == MAPS && !alike(&device->port[p], &device->port[usual], TRUST)) continue; /* they follow */
        if (matter == CLASSES && !alike(&device->port[p], &device->port[usual], PFC)) continue;
        const char *mine = as.path ? config_said(set, d, p, as.path) : NULL;
        const char *theirs = best.path ? config_said(set, d, usual, best.path) : NULL;
        struct origin at = as.path ? config_said_at(set, d, p, as.path) : (struct origin){CONFIG_NONE, 0};
        at = at.line ? config_own(&device->port[p], at) : device->port[p].at;
        if (matter <= TRUST) /* one value says it all */
            config_note(set, at, "LAG001", d, p, "member of %.40s: %s is %.40s, of the member %.40s %.40s",
                        device->port[p].lag, matters[matter].path[0], mine ? mine : "not said",
                        device->port[usual].name, theirs ? theirs : "not said");
        else
            config_note(set, at, "LAG001", d, p, "member of %.40s: %s differ from those of the member %.40s",
                        device->port[p].lag, matters[matter].words, device->port[usual].name);
    }
}

#define LAG_MEMBERS_MAX 128u /* of one bundle that are compared: more than any system takes */

static void judge_bundles(struct config_set *set, uint32_t d)
{
    const struct config_device *device = &set->device[d];

    for (uint32_t p = 0; p < device->ports; p++) {
        uint32_t members = 0;
        bool first = device->port[p].lag != NULL;
        for (uint32_t q = 0; first && q < p; q++)
            first = !same_lag(device, p, q);
        for (uint32_t q = p; first && q < device->ports; q++)
            members += same_lag(device, p, q);
        for (size_t m = 0; first && members > 1 && members <= LAG_MEMBERS_MAX && m < MATTERS; m++)
            judge_matter(set, d, p, m);
    }
}

/* Of the ports of a device in thousandths: those with this rate. */
static uint32_t ports_with_rate(const struct config_set *set, uint32_t d, const char *rate)
{
    uint32_t same = 0, all = 0;

    for (uint32_t p = 0; p < set->device[d].ports; p++) {
        const char *got = config_said(set, d, p, "rate");
        if (!got || is_down(set, d, p)) continue;
        all++;
        same += strcmp(got, rate) == 0;
    }
    return all ? (uint32_t)((uint64_t)same * 1000 / all) : 0;
}

bool pairs_rates_differ(const struct config_set *set, const struct config_link *link, bool *ret_a_is_odd)
{
    const char *a = config_said(set, link->a, link->a_port, "rate"),
               *b = config_said(set, link->b, link->b_port, "rate");

    uint64_t x, y;
    if (!a || !b || unit_parse(UNIT_RATE, a, &x, NULL) != 0 || unit_parse(UNIT_RATE, b, &y, NULL) != 0 || x == y)
        return false;
    *ret_a_is_odd = ports_with_rate(set, link->a, a) < ports_with_rate(set, link->b, b);
    return true;
}

static void judge_rates(struct config_set *set, const struct config_link *link)
{
    bool a_is_odd;

    if (!pairs_rates_differ(set, link, &a_is_odd)) return;
    uint32_t d = a_is_odd ? link->a : link->b, p = a_is_odd ? link->a_port : link->b_port;
    uint32_t e = a_is_odd ? link->b : link->a, q = a_is_odd ? link->b_port : link->a_port;
    if (is_down(set, d, p) || is_down(set, e, q)) return;
    config_note(set, config_said_at(set, d, p, "rate"), "TOP006", d, p,
                "its rate is %.20s, that of the other end, %.40s %.40s, %.20s: such a link does not come up",
                config_said(set, d, p, "rate"), set->device[e].name, set->device[e].port[q].name,
                config_said(set, e, q, "rate"));
}

/* Is any class lossless?  Without one there is no RoCE that would want all paths. */
static bool lossless(const struct config_set *set)
{
    for (uint32_t d = 0; d < set->devices; d++)
        for (uint32_t p = 0; p < set->device[d].ports; p++)
            for (uint32_t i = 0; i < set->device[d].port[p].count; i++) {
                const struct config_said *said = &set->device[d].port[p].said[i];
                if (strncmp(said->path, "pfc", 3) == 0 && said->value[0] == '[') return true;
            }
    return false;
}

void pairs_judge(struct config_set *set)
{
    bool wanted = lossless(set);

    for (uint32_t l = 0; l < set->links; l++) {
        struct config_link link = set->link[l];
        judge_rates(set, &link);
    }
    for (uint32_t d = 0; d < set->devices; d++) {
        const struct config_device *device = &set->device[d];
        judge_bundles(set, d);
        if (device->paths == 1 && device->routers > 1 && wanted)
            config_note(set, device->paths_at, "TOP008", d, CONFIG_NONE,
                        "routing uses one path at a time, and has %u neighbours: of equal links all but one carry "
                        "nothing",
                        device->routers);
    }
}
