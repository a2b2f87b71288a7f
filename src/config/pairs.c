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
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/units.h"
#include "config/said.h"

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

/* MATTERS: none of them. */
static enum matter matter_of(const char *path)
{
    for (enum matter m = 0; m < MATTERS; m++)
        for (size_t i = 0; i < sizeof(matters[0].path) / sizeof(matters[0].path[0]) && matters[m].path[i]; i++) {
            size_t length = strlen(matters[m].path[i]);
            if (strncmp(path, matters[m].path[i], length) == 0 && (!path[length] || strchr(".-", path[length])))
                return m;
        }
    return MATTERS;
}

struct member {
    uint32_t port;
    bool down;
    struct saying {
        uint64_t hash;    /* of all it says of the matter, in any order */
        uint32_t set;     /* values that turn something on */
        const char *path; /* the first, NULL: it says nothing */
    } on[MATTERS];
};

static void read_member(const struct config_set *set, uint32_t d, uint32_t p, struct member *ret)
{
    const struct config_port *port = &set->device[d].port[p];

    *ret = (struct member){.port = p, .down = config_is_down(set, d, p)};
    for (uint32_t i = 0; i < port->count; i++) {
        const char *path = port->said[i].path, *value = port->said[i].value;
        enum matter m = matter_of(path);
        if (m == MATTERS) continue;
        uint64_t hash = hash_bytes(port->order->at[i].hash * 31, value, strlen(value));
        ret->on[m].hash += hash ^ hash >> 29;
        ret->on[m].set += strcmp(value, "false") != 0 && strcmp(value, "0") != 0;
        if (!ret->on[m].path) ret->on[m].path = path;
    }
}

#define PORTS_ASKED 64u /* of the device, when two members disagree */

/* Other ports of the device that are like this member. */
static uint32_t elsewhere(const struct config_set *set, uint32_t d, const struct member *as, enum matter matter)
{
    const struct config_device *device = &set->device[d];
    uint32_t like = 0;

    for (uint32_t p = 0; p < device->ports && p < PORTS_ASKED; p++) {
        struct member other;
        const char *lag = device->port[p].lag;
        if (p == as->port || (lag && strcmp(lag, device->port[as->port].lag) == 0)) continue;
        read_member(set, d, p, &other);
        like += !other.down && other.on[matter].hash == as->on[matter].hash;
    }
    return like;
}

/* The member that most others equal; of as many, the one that turns more on.  NULL: all are down. */
static const struct member *usual_member(const struct config_set *set, uint32_t d, const struct member *member,
                                         uint32_t members, enum matter matter)
{
    const struct member *best = NULL;
    uint32_t most = 0, most_set = 0;

    for (uint32_t m = 0; m < members; m++) {
        uint32_t equal = 0, turned_on = member[m].on[matter].set;
        for (uint32_t n = 0; n < members && !member[m].down; n++)
            equal += !member[n].down && member[n].on[matter].hash == member[m].on[matter].hash;
        if (members == 2 && equal == 1) equal += elsewhere(set, d, &member[m], matter);
        if (equal > most || (equal == most && equal && turned_on > most_set)) {
            most = equal;
            most_set = turned_on;
            best = &member[m];
        }
    }
    return best;
}

static bool alike(const struct member *a, const struct member *b, enum matter matter)
{
    return a->on[matter].hash == b->on[matter].hash;
}

static void judge_member(struct config_set *set, uint32_t d, const struct member *as, const struct member *usual,
                         enum matter matter)
{
    const struct config_port *port = &set->device[d].port[as->port], *other = &set->device[d].port[usual->port];
    const char *path = as->on[matter].path, *their_path = usual->on[matter].path;

    if (as->down || alike(as, usual, matter)) return;
    if (matter == MAPS && !alike(as, usual, TRUST)) return; /* they follow */
    if (matter == CLASSES && !alike(as, usual, PFC)) return;
    const char *mine = path ? config_said(set, d, as->port, path) : NULL;
    const char *theirs = their_path ? config_said(set, d, usual->port, their_path) : NULL;
    struct origin at = path ? config_said_at(set, d, as->port, path) : (struct origin){CONFIG_NONE, 0};
    at = at.line ? config_own(port, at) : port->at;
    if (matter <= TRUST) /* one value says it all */
        config_note(set, at, "LAG001", d, as->port, "member of %.40s: %s is %.40s, of the member %.40s %.40s",
                    port->lag, matters[matter].path[0], mine ? mine : "not said", other->name,
                    theirs ? theirs : "not said");
    else
        config_note(set, at, "LAG001", d, as->port, "member of %.40s: %s differ from those of the member %.40s",
                    port->lag, matters[matter].words, other->name);
}

#define LAG_MEMBERS_MAX 128u /* of one bundle that are compared: more than any system takes */

static void judge_bundle(struct config_set *set, uint32_t d, const uint32_t *port, uint32_t ports)
{
    if (ports < 2 || ports > LAG_MEMBERS_MAX) return;
    struct member *member = ARENA_NEW(&set->arena, struct member, ports);
    for (uint32_t m = 0; m < ports; m++)
        read_member(set, d, port[m], &member[m]);
    for (enum matter matter = 0; matter < MATTERS; matter++) {
        const struct member *usual = usual_member(set, d, member, ports, matter);
        for (uint32_t m = 0; usual && m < ports; m++)
            judge_member(set, d, &member[m], usual, matter);
    }
}

static int by_lag(const void *x, const void *y, void *of)
{
    const struct config_port *port = of;
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    int order = strcmp(port[a].lag, port[b].lag);

    return order ? order : a < b ? -1 : a > b;
}

/* Bundles in the order of their first ports. */
static void judge_bundles(struct config_set *set, uint32_t d)
{
    const struct config_device *device = &set->device[d];
    uint32_t *sorted = ARENA_NEW(&set->arena, uint32_t, device->ports + 1u), count = 0;
    uint32_t *place = ARENA_NEW(&set->arena, uint32_t, device->ports + 1u); /* where a port's bundle begins, and 1 */

    for (uint32_t p = 0; p < device->ports; p++)
        if (device->port[p].lag) sorted[count++] = p;
    if (count) qsort_r(sorted, count, sizeof(*sorted), by_lag, device->port);
    for (uint32_t s = 0; s < count; s++)
        if (!s || strcmp(device->port[sorted[s]].lag, device->port[sorted[s - 1]].lag) != 0) place[sorted[s]] = s + 1;
    for (uint32_t p = 0; p < device->ports; p++) {
        if (!place[p]) continue;
        uint32_t first = place[p] - 1, end = first + 1;
        while (end < count && !place[sorted[end]])
            end++;
        judge_bundle(set, d, &sorted[first], end - first);
    }
}

/* Of the ports of a device in thousandths: those with this rate. */
static uint32_t ports_with_rate(const struct config_set *set, uint32_t d, const char *rate)
{
    uint32_t same = 0, all = 0;

    for (uint32_t p = 0; p < set->device[d].ports; p++) {
        const char *got = config_said(set, d, p, "rate");
        if (!got || config_is_down(set, d, p)) continue;
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
    if (config_is_down(set, d, p) || config_is_down(set, e, q)) return;
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
            config_note(
                set, device->paths_at, "TOP008", d, CONFIG_NONE,
                "routing uses one path at a time, and has %u neighbours: of equal links all but one carry nothing",
                device->routers);
        else if (device->paths > 1 && device->paths * 2 <= device->routers && device->routers * 2 <= device->ports &&
                 wanted) /* a spine has a neighbour at each port, and few equal paths to each */
            config_note(set, device->paths_at, "TOP008", d, CONFIG_NONE,
                        "routing uses %u equal paths at most, and has %u neighbours: the other links carry nothing",
                        device->paths, device->routers);
    }
}
