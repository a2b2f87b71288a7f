/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each port of a SONiC switch says: its link, its maps, its priorities, its queues.
 */
#include <string.h>

#include "base/units.h"
#include "config/sonic/sonic_int.h"

struct maps { /* of one port */
    uint8_t field[64], queue[FABRIC_PRIOS], group[FABRIC_PRIOS];
    unsigned classes; /* bits: those that anything speaks of */
    unsigned fed;     /* bits: those that a DSCP or PCP leads to */
    bool pcp;
    const struct sonic_row *dscp, *to_queue, *to_group;
};

uint32_t sonic_line(const struct sonic_row *row, const char *name)
{
    uint32_t line = row ? row->line : 1;

    sonic_field(row, name, &line);
    return line;
}

/* Of an entry of a map, or of the map. */
static uint32_t at_entry(const struct sonic_row *map, unsigned entry)
{
    char key[4];

    snprintf(key, sizeof(key), "%u", entry & 63);
    return sonic_line(map, key);
}

static void say_link(struct sonic *in, uint32_t p)
{
    struct sonic_port *port = &in->port[p];
    const struct sonic_row *row = port->port_row;
    const char *text;
    char buf[UNIT_TEXT];
    int64_t got;

    if (row && sonic_read(in, row, "speed", 1, 10000000, &got)) {
        port->rate_mbps = (uint64_t)got;
        SAY(in, sonic_line(row, "speed"), p, "rate", "%s", unit_format(UNIT_RATE, port->rate_mbps * 1000000, buf));
    }
    if (row) {
        got = SONIC_MTU_DEFAULT;
        if (sonic_field(row, "mtu", NULL) && !sonic_read(in, row, "mtu", SONIC_MTU_MIN, 65535 - SONIC_MTU_OVER, &got))
            got = SONIC_MTU_DEFAULT;
        uint64_t frame = (uint64_t)got + SONIC_MTU_OVER;
        SAY(in, sonic_line(row, "mtu"), p, "mtu", "%llu", (unsigned long long)(frame < 576 ? 576 : frame));
    }
    text = sonic_field(row, "fec", NULL);
    if (text && (!strcmp(text, "none") || !strcmp(text, "fc") || !strcmp(text, "rs")))
        SAY(in, sonic_line(row, "fec"), p, "fec", "%s", text);
    if (port->down) SAY(in, sonic_line(row, "admin_status"), p, "up", "false");
    if (port->cable) {
        uint64_t mm = 0;
        uint32_t at = port->cable->key_at.line;
        if (unit_parse(UNIT_LENGTH, port->cable->text, &mm, NULL) == 0 && mm > 0 && mm <= 1000000000)
            SAY(in, at, p, "cable", "%s", unit_format(UNIT_LENGTH, mm, buf));
        else if (mm != 0 || strcmp(port->cable->text, "0m") != 0) /* 0m: nothing is cabled */
            NOTE(in, at, "SYN001", p, "CABLE_LENGTH '%.20s' is not a length, as in 40m", port->cable->text);
    }
}

/* A row of numbers into a table; what it lacks stays. */
static void read_map_row(struct sonic *in, const struct sonic_row *row, uint8_t *table, unsigned keys, unsigned below)
{
    for (const struct tree *item = row->fields->first; item; item = item->next) {
        int64_t from, to;
        if (item->type == TREE_SCALAR && sonic_number(item->key, 0, keys - 1, &from) &&
            sonic_number(item->text, 0, below - 1, &to)) {
            table[from] = (uint8_t)to;
            continue;
        }
        NOTE(in, item->key_at.line, "SYN001", CONFIG_NONE, "%s %.60s: '%.20s' to '%.20s' is not of 0 to %u, to 0 to %u",
             row->table, row->key, item->key, item->type == TREE_SCALAR ? item->text : "a map", keys - 1, below - 1);
    }
}

/* `3,4` as bits. */
unsigned sonic_bits(struct sonic *in, const struct sonic_row *row, const char *name)
{
    uint32_t line = 0;
    const char *text = sonic_field(row, name, &line);
    unsigned bits = 0;

    for (const char *c = text ? text : ""; *c; c++) {
        bool digit = *c >= '0' && *c <= '7' && (c[1] == 0 || c[1] == ',');
        if (digit) bits |= 1u << (*c - '0');
        if (digit || *c == ',') continue;
        NOTE(in, line, "SYN001", CONFIG_NONE, "%s %.60s: %s '%.40s' is not a list of priorities, as in 3,4", row->table,
             row->key, name, text);
        break;
    }
    return bits;
}

static const struct sonic_row *map_of(struct sonic *in, const struct sonic_port *port, const char *name,
                                      const char *table)
{
    if (sonic_field(port->qos, name, NULL)) return sonic_follow(in, port->qos, name, table);
    return sonic_field(in->global, name, NULL) ? sonic_follow(in, in->global, name, table) : NULL;
}

/* What a port refers to is not in the text: rules that rest on it find nothing there. */
static void not_known(struct sonic *in, uint32_t p, uint32_t line, bool map)
{
    static const char of_maps[] = "MAP001 MAP002 MAP005 MAP006 MAP008 PFC008 PFC010 SIB001";

    UNJUDGED(in, line, map ? of_maps : "SCH MAP005 MAP008 SIB001", p, "what it refers to is not defined");
}

static void say_maps(struct sonic *in, uint32_t p, struct maps *maps)
{
    struct sonic_port *port = &in->port[p];
    const struct sonic_row *dscp = map_of(in, port, "dscp_to_tc_map", "DSCP_TO_TC_MAP");
    const struct sonic_row *dot1p = map_of(in, port, "dot1p_to_tc_map", "DOT1P_TO_TC_MAP");
    const struct sonic_row *queue = map_of(in, port, "tc_to_queue_map", "TC_TO_QUEUE_MAP");
    const struct sonic_row *group = map_of(in, port, "tc_to_pg_map", "TC_TO_PRIORITY_GROUP_MAP");
    const struct sonic_row *trusted = dscp ? dscp : dot1p;
    uint32_t at = trusted ? trusted->line : port->qos ? port->qos->line : 1;

    maps->pcp = !dscp && dot1p;
    maps->dscp = dscp;
    if (!dscp && port->qos && sonic_field(port->qos, "dscp_to_tc_map", NULL)) not_known(in, p, port->qos->line, true);
    if (trusted) read_map_row(in, trusted, maps->field, maps->pcp ? 8 : 64, FABRIC_PRIOS);
    if (queue) read_map_row(in, queue, maps->queue, FABRIC_PRIOS, FABRIC_PRIOS);
    if (group) read_map_row(in, group, maps->group, FABRIC_PRIOS, FABRIC_PRIOS);
    SAY(in, at, p, "trust", maps->pcp ? "pcp" : "dscp");
    maps->to_queue = queue;
    maps->to_group = group;
    for (unsigned f = 0; f < (maps->pcp ? 8u : 64u); f++) {
        uint32_t entry = trusted ? at_entry(trusted, f) : at;
        SAY_MAP(in, entry, p, maps->pcp ? "pcp-map" : "dscp-map", f, maps->field[f]);
        maps->fed |= 1u << maps->field[f];
    }
    maps->classes |= maps->fed;
    for (unsigned tc = 0; tc < FABRIC_PRIOS; tc++) {
        SAY_MAP(in, queue ? at_entry(queue, tc) : at, p, "queue-map", tc, maps->queue[tc]);
        SAY_MAP(in, group ? at_entry(group, tc) : at, p, "group-map", tc, maps->group[tc]);
    }
}

static void say_pfc(struct sonic *in, uint32_t p, const struct maps *maps)
{
    struct sonic_port *port = &in->port[p];
    uint32_t at = sonic_line(port->qos ? port->qos : port->port_row, "pfc_enable");
    const char *asym = sonic_field(port->port_row, "pfc_asym", NULL);
    const struct sonic_row *pfc_map = map_of(in, port, "pfc_to_queue_map", "MAP_PFC_PRIORITY_TO_QUEUE");
    uint8_t to_queue[FABRIC_PRIOS];

    port->pfc = sonic_bits(in, port->qos, "pfc_enable");
    if (asym && strcmp(asym, "on") == 0) {
        SAY_BITS(in, sonic_line(port->port_row, "pfc_asym"), p, "pfc.rx", 0xff);
        SAY_BITS(in, at, p, "pfc.tx", port->pfc);
    } else {
        SAY_BITS(in, at, p, "pfc.rx", port->pfc);
        SAY_BITS(in, at, p, "pfc.tx", port->pfc);
    }
    if (sonic_field(port->qos, "pfcwd_sw_enable", NULL)) {
        unsigned watched = sonic_bits(in, port->qos, "pfcwd_sw_enable");
        SAY_BITS(in, sonic_line(port->qos, "pfcwd_sw_enable"), p, "watched", watched);
    }
    if (!pfc_map) return;
    memcpy(to_queue, maps->queue, sizeof(to_queue));
    read_map_row(in, pfc_map, to_queue, FABRIC_PRIOS, FABRIC_PRIOS);
    for (unsigned tc = 0; tc < FABRIC_PRIOS; tc++) {
        if (!(port->pfc >> tc & 1) || to_queue[tc] == maps->queue[tc]) continue;
        /* of the two maps the one that is not straight is the odd one */
        const struct sonic_row *odd = to_queue[tc] == tc && maps->to_queue ? maps->to_queue : pfc_map;
        NOTE(in, at_entry(odd, tc), "PFC007", CONFIG_NONE,
             "a pause of priority %u stops queue %u, and traffic class %u is in queue %u", tc, to_queue[tc], tc,
             maps->queue[tc]);
    }
}

/* --- queues --- */

/* All packets are green until something colours them: a curve of another colour shows only then. */
static void note_colours(struct sonic *in, const struct sonic_row *wred)
{
    static const char *const fields[] = {"min_threshold", "max_threshold", "drop_probability"};
    static const char *const colours[] = {"yellow", "red"};

    for (int c = 0; c < 2; c++) {
        for (int f = 0; f < 3; f++) {
            char name[40], green[40];
            snprintf(name, sizeof(name), "%s_%s", colours[c], fields[f]);
            snprintf(green, sizeof(green), "green_%s", fields[f]);
            const char *there = sonic_field(wred, name, NULL), *here = sonic_field(wred, green, NULL);
            if (!there || !here || strcmp(there, here) == 0) continue;
            HINT(in, sonic_line(wred, name), "ECN004", CONFIG_NONE,
                 "WRED_PROFILE %.60s: %s is %.20s, for green packets %.20s", wred->key, name, there, here);
        }
    }
}

struct marking { /* a WRED profile's curve for green packets */
    int64_t min, max, probability;
};

/* Does the profile mark by a curve?  If not, `ret_field` is what it lacks. */
static bool read_curve(struct sonic *in, const struct sonic_row *wred, bool lossless, struct marking *ret,
                       const char **ret_field)
{
    const char *ecn = sonic_field(wred, "ecn", NULL), *green = sonic_field(wred, "wred_green_enable", NULL);
    bool on = green && strcmp(green, "true") == 0;

    *ret = (struct marking){0, 0, 100};
    *ret_field = "ecn";
    if (!ecn || (strcmp(ecn, "ecn_all") != 0 && !strstr(ecn, "green"))) {
        if (on && lossless) /* once for all classes and ports */
            NOTE(in, sonic_line(wred, "ecn"), "ECN006", CONFIG_NONE,
                 "WRED_PROFILE %.60s drops and does not mark (ecn is %.20s), and lossless classes are in its queues",
                 wred->key, ecn ? ecn : "ecn_none");
        return false;
    }
    *ret_field = "wred_green_enable";
    if (!on) {
        NOTE(in, sonic_line(wred, "wred_green_enable"), "ECN002", CONFIG_NONE,
             "WRED_PROFILE %.60s is not enabled for green (wred_green_enable): it marks nothing", wred->key);
        return false;
    }
    bool good = sonic_read(in, wred, "green_min_threshold", 0, UINT32_MAX, &ret->min) &&
                sonic_read(in, wred, "green_max_threshold", 0, UINT32_MAX, &ret->max);
    bool chance = !sonic_field(wred, "green_drop_probability", NULL) ||
                  sonic_read(in, wred, "green_drop_probability", 0, 100, &ret->probability);
    if (good && ret->max > 0 && ret->min <= ret->max && chance && ret->probability > 0) return true;
    /* of two thresholds that do not fit the one that is not as for yellow packets */
    const char *yellow = sonic_field(wred, "yellow_min_threshold", NULL);
    const char *least = sonic_field(wred, "green_min_threshold", NULL);
    bool odd_max = !least || (yellow && strcmp(yellow, least) == 0);
    *ret_field = !chance || ret->probability == 0 ? "green_drop_probability"
                 : odd_max                        ? "green_max_threshold"
                                                  : "green_min_threshold";
    NOTE(in, sonic_line(wred, *ret_field), "ECN002", CONFIG_NONE,
         "WRED_PROFILE %.60s: green thresholds %lld to %lld at %lld %% are no marking curve", wred->key,
         (long long)ret->min, (long long)ret->max, (long long)ret->probability);
    return false;
}

static void say_ecn(struct sonic *in, uint32_t p, unsigned tc, const struct sonic_row *queue)
{
    const struct sonic_row *wred = sonic_follow(in, queue, "wred_profile", "WRED_PROFILE");
    const char *field = "wred_profile";
    struct marking curve;

    if (!wred || !read_curve(in, wred, in->port[p].lossless >> tc & 1, &curve, &field)) {
        SAY_CLASS(in, sonic_line(wred ? wred : queue, field), p, tc, "ecn", "false");
        return;
    }
    note_colours(in, wred);
    SAY_CLASS(in, sonic_line(wred, "green_min_threshold"), p, tc, "ecn.min", "%lldB", (long long)curve.min);
    SAY_CLASS(in, sonic_line(wred, "green_max_threshold"), p, tc, "ecn.max", "%lldB", (long long)curve.max);
    SAY_CLASS(in, sonic_line(wred, "green_drop_probability"), p, tc, "ecn.probability", "%lld%%",
              (long long)curve.probability);
}

struct turns { /* schedulers of a port's queues */
    int64_t weight[FABRIC_PRIOS];
    int64_t sum;
    uint32_t at[FABRIC_PRIOS], share_at[FABRIC_PRIOS];
    unsigned strict, sharing;
    unsigned bounded; /* of those that are strict */
    bool unknown;     /* one is not defined */
};

static void read_turns(struct sonic *in, const struct sonic_port *port, const struct maps *maps, struct turns *turns)
{
    for (unsigned tc = 0; tc < FABRIC_PRIOS; tc++) {
        unsigned q = maps->queue[tc];
        if (!(maps->classes >> tc & 1) || ((turns->strict | turns->sharing) >> q & 1) || !port->queue[q]) continue;
        const struct sonic_row *scheduler = sonic_follow(in, port->queue[q], "scheduler", "SCHEDULER");
        const char *type = sonic_field(scheduler, "type", NULL);
        if (!scheduler && sonic_field(port->queue[q], "scheduler", NULL)) turns->unknown = true;
        if (!scheduler) continue;
        turns->at[q] = turns->share_at[q] = sonic_line(scheduler, "type");
        for (unsigned o = 0; o < FABRIC_PRIOS; o++) /* one that another queue has too: the row that takes it is odd */
            if (o != q && port->pfc >> q & 1 && !(port->pfc >> o & 1) && port->queue[o] &&
                port->queue[o] != port->queue[q] &&
                sonic_follow(in, port->queue[o], "scheduler", "SCHEDULER") == scheduler)
                turns->at[q] = sonic_line(port->queue[q], "scheduler");
        if (type && strcmp(type, "STRICT") == 0) {
            turns->strict |= 1u << q;
            if (sonic_field(scheduler, "pir", NULL)) turns->bounded |= 1u << q;
            continue;
        }
        turns->weight[q] = 1;
        if (sonic_field(scheduler, "weight", NULL)) {
            turns->share_at[q] = sonic_line(scheduler, "weight");
            sonic_read(in, scheduler, "weight", 1, 100, &turns->weight[q]);
        }
        turns->sharing |= 1u << q;
        turns->sum += turns->weight[q];
    }
}

/* A queue's share is said for the lowest of its classes: shares are added up by class. */
static void say_turn(struct sonic *in, uint32_t p, unsigned tc, unsigned q, const struct turns *turns, unsigned *shared)
{
    char buf[UNIT_TEXT];

    if (turns->strict >> q & 1) SAY_CLASS(in, turns->at[q], p, tc, "strict", "true");
    if (turns->bounded >> q & 1)
        UNJUDGED(in, turns->at[q], "SCH002", p,
                 "a scheduler has a pir: how much it leaves to others is not worked out");
    if (!(turns->sharing >> q & 1)) return;
    SAY_CLASS(in, turns->at[q], p, tc, "strict", "false");
    if (*shared >> q & 1) return;
    *shared |= 1u << q;
    uint64_t ppm = (uint64_t)(turns->weight[q] * 1000000 / turns->sum);
    SAY_CLASS(in, turns->share_at[q], p, tc, "share", "%s", unit_format(UNIT_SHARE, ppm ? ppm : 1, buf));
}

#define NEAR_MOST 4u /* of DSCPs 24 to 31: where so many others are lossless, 26 was left out */

/* Adapters send RoCE as DSCP 26 by custom; a map that leads others to its lossless classes may mean those. */
static void note_roce_dscp(struct sonic *in, uint32_t p, const struct maps *maps)
{
    const struct sonic_port *port = &in->port[p];
    unsigned tc = maps->field[26];

    if (maps->pcp || !maps->dscp || port->down || !port->lossless || (port->lossless >> tc & 1)) return;
    unsigned others = 0, near = 0, with = 0; /* with 26 in its class */
    for (unsigned d = 0; d < 64; d++)
        with += maps->field[d] == tc;
    for (unsigned d = 0; d < 64; d++)
        if (port->lossless >> maps->field[d] & 1) *(d / 8 == 3 ? &near : &others) += 1;
    if (near ? near < NEAR_MOST && with > 1 : others > 0) {
        ASSUME(in, sonic_line(maps->dscp, "26"), CONFIG_NONE,
               "DSCP_TO_TC_MAP %.60s: RDMA is taken to be sent with the DSCPs of its lossless classes, and not with "
               "26, which adapters send by custom",
               maps->dscp->key);
        return;
    }
    NOTE(in, sonic_line(maps->dscp, "26"), "MAP001", CONFIG_NONE,
         "DSCP_TO_TC_MAP %.60s puts DSCP 26, which RoCE adapters send by custom, into class %u, which is lossy",
         maps->dscp->key, tc);
}

static uint32_t port_line(const struct sonic_port *port)
{
    return port->port_row ? port->port_row->line : port->cable ? port->cable->key_at.line : 1;
}

static void note_rewrite(struct sonic *in, const struct sonic_port *port)
{
    const struct sonic_row *map = map_of(in, port, "tc_to_dscp_map", "TC_TO_DSCP_MAP");
    const struct sonic_row *by = sonic_field(port->qos, "tc_to_dscp_map", NULL) ? port->qos : in->global;

    if (map)
        NOTE(in, sonic_line(by, "tc_to_dscp_map"), "MAP004", CONFIG_NONE,
             "packets leave with the DSCP of TC_TO_DSCP_MAP %.60s, not with their own", map->key);
}

/* Where a class's queue has no row: the map that leads there, if it is not straight; else a row of the port that marks
 * for nobody; else its first row. */
static uint32_t at_no_queue(struct sonic *in, uint32_t p, unsigned tc, const struct maps *maps)
{
    const struct sonic_port *port = &in->port[p];
    const struct sonic_row *first = NULL, *marking = NULL;

    if (maps->to_queue && maps->queue[tc] != tc) return at_entry(maps->to_queue, tc);
    for (unsigned q = 0; q < FABRIC_PRIOS; q++) {
        if (!port->queue[q]) continue;
        if (!first) first = port->queue[q];
        if (!marking && sonic_field(port->queue[q], "wred_profile", NULL)) marking = port->queue[q];
    }
    if (!marking) marking = first ? first : port->qos;
    return marking ? marking->line : port_line(port);
}

/* Pauses of a class whose group is lossy: that is where they are wrong, not where they are turned on. */
static void say_lossy_pauses(struct sonic *in, uint32_t p, const struct maps *maps)
{
    const struct sonic_port *port = &in->port[p];
    unsigned bits = port->pfc & ~port->lossless;

    if (!bits || sonic_field(port->port_row, "pfc_asym", NULL)) return;
    if (port->lossless & ~port->pfc) return; /* another group is lossless and not paused: PFC is the odd one */
    unsigned tc = (unsigned)__builtin_ctz(bits), group = maps->group[tc];
    uint32_t at = maps->to_group && group != tc ? at_entry(maps->to_group, tc) : sonic_line(port->pg[group], "profile");
    if (!port->pg[group] && !(maps->to_group && group != tc)) return;
    SAY_BITS(in, at, p, "pfc.rx", port->pfc);
    SAY_BITS(in, at, p, "pfc.tx", port->pfc);
    SAY_CLASS(in, at, p, tc, "lossless", "false");
}

static void say_port(struct sonic *in, uint32_t p)
{
    struct sonic_port *port = &in->port[p];
    struct maps maps = {.classes = 0};
    struct turns turns = {.sum = 0};
    unsigned shared = 0;

    for (uint8_t tc = 0; tc < FABRIC_PRIOS; tc++)
        maps.queue[tc] = maps.group[tc] = tc;
    say_link(in, p);
    if (port->qos || in->global) {
        say_maps(in, p, &maps);
        say_pfc(in, p, &maps);
        maps.classes |= port->pfc;
    } else if (in->whole) { /* nothing enables it */
        SAY_BITS(in, port_line(port), p, "pfc", 0);
    }
    for (unsigned tc = 0; tc < FABRIC_PRIOS; tc++)
        if (port->queue[maps.queue[tc]] || port->pg[maps.group[tc]]) maps.classes |= 1u << tc;
    read_turns(in, port, &maps, &turns);
    if (turns.unknown) not_known(in, p, port->qos ? port->qos->line : port_line(port), false);
    for (unsigned tc = 0; tc < FABRIC_PRIOS; tc++) {
        if (!(maps.classes >> tc & 1)) continue;
        const struct sonic_row *queue = port->queue[maps.queue[tc]];
        sonic_say_group(in, p, tc, maps.group[tc]);
        sonic_say_queue_limit(in, p, tc, maps.queue[tc]);
        say_turn(in, p, tc, maps.queue[tc], &turns, &shared);
        if (queue)
            say_ecn(in, p, tc, queue);
        else if ((port->lossless >> tc & 1) && (in->whole || in->has_qos))
            SAY_CLASS(in, at_no_queue(in, p, tc, &maps), p, tc, "ecn", "false");
    }
    say_lossy_pauses(in, p, &maps);
    note_roce_dscp(in, p, &maps);
    note_rewrite(in, port);
}

/* Headroom that no pause protects.  Where most ports that keep it pause, the port that does not is the odd one: told at
 * its row; else once, for a table has a row for every port. */
static void note_idle_headroom(struct sonic *in, unsigned tc)
{
    uint32_t count = 0, first = 0, pausing = 0;

    for (uint32_t p = 0; p < in->ports; p++) {
        const struct sonic_port *port = &in->port[p];
        if (port->down || !(port->set_aside >> tc & 1)) continue;
        pausing += port->pfc >> tc & 1;
        if ((port->pfc >> tc & 1) == 0 && !count++) first = p;
    }
    for (uint32_t p = first; count && p < in->ports; p++) {
        const struct sonic_port *port = &in->port[p];
        const struct sonic_row *row = port->pg[tc], *qos = port->qos ? port->qos : port->port_row;
        if (port->down || !(port->set_aside >> tc & 1) || (port->pfc >> tc & 1)) continue;
        if (pausing > count)
            NOTE(in, sonic_line(qos, "pfc_enable"), "HR007", p,
                 "keeps headroom for priority %u and does not pause it (pfc_enable), as %u other ports do", tc,
                 pausing);
        else
            NOTE(in, row ? row->line : 1, "HR007", p,
                 "keeps headroom for priority %u and does not pause it (pfc_enable of PORT_QOS_MAP)%s", tc,
                 count > 1 ? ", as other ports" : "");
        if (pausing <= count) return;
    }
}

/* A port that names no map where most ports that pause name one: its packets go where the chip puts them. */
static void note_missing_map(struct sonic *in, const char *name)
{
    uint32_t with = 0, without = 0;

    for (uint32_t p = 0; p < in->ports; p++) {
        const struct sonic_port *port = &in->port[p];
        if (port->down || !port->qos || !port->pfc) continue;
        *(sonic_field(port->qos, name, NULL) ? &with : &without) += 1;
    }
    if (!without || sonic_field(in->global, name, NULL)) return;
    for (uint32_t p = 0; p < in->ports; p++) {
        const struct sonic_port *port = &in->port[p];
        if (port->down || !port->qos || !port->pfc || sonic_field(port->qos, name, NULL)) continue;
        if (with > without) {
            NOTE(in, port->qos->line, "MAP001", p, "names no %s, and %u other ports do", name, with);
            continue;
        }
        ASSUME(in, port->qos->line, CONFIG_NONE, "no %s: traffic class 3 is taken to be in %s 3, and so on", name,
               strcmp(name, "tc_to_pg_map") == 0 ? "priority group" : "queue");
        return;
    }
}

/* Profiles that no queue of this text names are for queues that it does not have. */
static void judge_loose_curves(struct sonic *in)
{
    struct marking curve;
    const char *field;

    for (uint32_t r = 0; r < in->rows.count && sonic_partial(in, "QUEUE"); r++)
        if (strcmp(in->rows.row[r].table, "WRED_PROFILE") == 0) read_curve(in, &in->rows.row[r], false, &curve, &field);
}

void sonic_say_ports(struct sonic *in)
{
    for (uint32_t p = 0; p < in->ports; p++)
        if (in->port[p].met) say_port(in, p);
    for (unsigned tc = 0; tc < FABRIC_PRIOS && (in->whole || in->has_qos); tc++) /* not a file of buffers alone */
        note_idle_headroom(in, tc);
    judge_loose_curves(in);
    sonic_note_no_group(in);
    sonic_note_no_wred(in);
    note_missing_map(in, "tc_to_queue_map");
    note_missing_map(in, "tc_to_pg_map");
}
