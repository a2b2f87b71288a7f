/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each port of a SONiC switch says: its link, its maps, its priorities, its queues.
 */
#include <string.h>

#include "base/units.h"
#include "config/sonic/sonic.h"
#include "config/sonic/sonic_int.h"

struct maps { /* of one port */
    uint8_t field[64], queue[FABRIC_PRIOS], group[FABRIC_PRIOS];
    unsigned classes; /* bits */
    bool pcp;
    const struct sonic_row *dscp;
};

struct origin sonic_at(struct sonic *in, const struct sonic_row *row, const char *name)
{
    uint32_t line = row ? row->line : 1;

    sonic_field(row, name, &line);
    return CONFIG_AT(in->text, line);
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
        config_say(in->set, sonic_at(in, row, "speed"), in->device, p, "rate", "%s",
                   unit_format(UNIT_RATE, port->rate_mbps * 1000000, buf));
    }
    if (row) {
        got = SONIC_MTU_DEFAULT;
        if (sonic_field(row, "mtu", NULL) && !sonic_read(in, row, "mtu", SONIC_MTU_MIN, 65535 - SONIC_MTU_OVER, &got))
            got = SONIC_MTU_DEFAULT;
        uint64_t frame = (uint64_t)got + SONIC_MTU_OVER;
        config_say(in->set, sonic_at(in, row, "mtu"), in->device, p, "mtu", "%llu",
                   (unsigned long long)(frame < 576 ? 576 : frame));
    }
    text = sonic_field(row, "fec", NULL);
    if (text && (!strcmp(text, "none") || !strcmp(text, "fc") || !strcmp(text, "rs")))
        config_say(in->set, sonic_at(in, row, "fec"), in->device, p, "fec", "%s", text);
    text = sonic_field(row, "admin_status", NULL);
    if (text && strcmp(text, "down") == 0)
        config_say(in->set, sonic_at(in, row, "admin_status"), in->device, p, "up", "false");
    if (port->cable) {
        uint64_t mm = 0;
        struct origin at = CONFIG_AT(in->text, port->cable->key_at.line);
        if (unit_parse(UNIT_LENGTH, port->cable->text, &mm, NULL) == 0 && mm > 0 && mm <= 1000000000)
            config_say(in->set, at, in->device, p, "cable", "%s", unit_format(UNIT_LENGTH, mm, buf));
        else if (mm != 0 || strcmp(port->cable->text, "0m") != 0) /* 0m: nothing is cabled */
            config_note(in->set, at, "SYN001", in->device, p, "CABLE_LENGTH '%.20s' is not a length, as in 40m",
                        port->cable->text);
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
        config_note(in->set, CONFIG_AT(in->text, item->key_at.line), "SYN001", in->device, CONFIG_NONE,
                    "%s %.60s: '%.20s' to '%.20s' is not of 0 to %u, to 0 to %u", row->table, row->key, item->key,
                    item->type == TREE_SCALAR ? item->text : "a map", keys - 1, below - 1);
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
        config_note(in->set, CONFIG_AT(in->text, line), "SYN001", in->device, CONFIG_NONE,
                    "%s %.60s: %s '%.40s' is not a list of priorities, as in 3,4", row->table, row->key, name, text);
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

static void say_maps(struct sonic *in, uint32_t p, struct maps *maps)
{
    struct sonic_port *port = &in->port[p];
    const struct sonic_row *dscp = map_of(in, port, "dscp_to_tc_map", "DSCP_TO_TC_MAP");
    const struct sonic_row *dot1p = map_of(in, port, "dot1p_to_tc_map", "DOT1P_TO_TC_MAP");
    const struct sonic_row *queue = map_of(in, port, "tc_to_queue_map", "TC_TO_QUEUE_MAP");
    const struct sonic_row *group = map_of(in, port, "tc_to_pg_map", "TC_TO_PRIORITY_GROUP_MAP");
    const struct sonic_row *trusted = dscp ? dscp : dot1p;
    struct origin at = CONFIG_AT(in->text, trusted ? trusted->line : port->qos ? port->qos->line : 1);

    maps->pcp = !dscp && dot1p;
    maps->dscp = dscp;
    if (trusted) read_map_row(in, trusted, maps->field, maps->pcp ? 8 : 64, FABRIC_PRIOS);
    if (queue) read_map_row(in, queue, maps->queue, FABRIC_PRIOS, FABRIC_PRIOS);
    if (group) read_map_row(in, group, maps->group, FABRIC_PRIOS, FABRIC_PRIOS);
    config_say(in->set, at, in->device, p, "trust", maps->pcp ? "pcp" : "dscp");
    for (unsigned f = 0; f < (maps->pcp ? 8u : 64u); f++) {
        char key[4];
        snprintf(key, sizeof(key), "%u", f);
        struct origin entry = trusted ? sonic_at(in, trusted, key) : at;
        config_say_map(in->set, entry, in->device, p, maps->pcp ? "pcp-map" : "dscp-map", f, maps->field[f]);
        maps->classes |= 1u << maps->field[f];
    }
    for (unsigned tc = 0; tc < FABRIC_PRIOS; tc++) {
        char key[4];
        snprintf(key, sizeof(key), "%u", tc);
        config_say_map(in->set, queue ? sonic_at(in, queue, key) : at, in->device, p, "queue-map", tc, maps->queue[tc]);
        config_say_map(in->set, group ? sonic_at(in, group, key) : at, in->device, p, "group-map", tc, maps->group[tc]);
    }
}

static void say_pfc(struct sonic *in, uint32_t p, const struct maps *maps)
{
    struct sonic_port *port = &in->port[p];
    struct origin at = sonic_at(in, port->qos ? port->qos : port->port_row, "pfc_enable");
    const char *asym = sonic_field(port->port_row, "pfc_asym", NULL);
    const struct sonic_row *pfc_map = map_of(in, port, "pfc_to_queue_map", "MAP_PFC_PRIORITY_TO_QUEUE");
    uint8_t to_queue[FABRIC_PRIOS];

    port->pfc = sonic_bits(in, port->qos, "pfc_enable");
    if (asym && strcmp(asym, "on") == 0) {
        config_say_bits(in->set, sonic_at(in, port->port_row, "pfc_asym"), in->device, p, "pfc.rx", 0xff);
        config_say_bits(in->set, at, in->device, p, "pfc.tx", port->pfc);
    } else {
        config_say_bits(in->set, at, in->device, p, "pfc.rx", port->pfc);
        config_say_bits(in->set, at, in->device, p, "pfc.tx", port->pfc);
    }
    if (sonic_field(port->qos, "pfcwd_sw_enable", NULL)) {
        unsigned watched = sonic_bits(in, port->qos, "pfcwd_sw_enable");
        config_say_bits(in->set, sonic_at(in, port->qos, "pfcwd_sw_enable"), in->device, p, "watched", watched);
    }
    if (!pfc_map) return;
    memcpy(to_queue, maps->queue, sizeof(to_queue));
    read_map_row(in, pfc_map, to_queue, FABRIC_PRIOS, FABRIC_PRIOS);
    for (unsigned tc = 0; tc < FABRIC_PRIOS; tc++)
        if ((port->pfc >> tc & 1) && to_queue[tc] != maps->queue[tc])
            config_note(in->set, CONFIG_AT(in->text, pfc_map->line), "PFC007", in->device, CONFIG_NONE,
                        "a pause of priority %u stops queue %u, and traffic class %u is in queue %u", tc, to_queue[tc],
                        tc, maps->queue[tc]);
}

/* --- queues --- */

static void say_ecn(struct sonic *in, uint32_t p, unsigned tc, const struct sonic_row *queue)
{
    const struct sonic_row *wred = sonic_follow(in, queue, "wred_profile", "WRED_PROFILE");
    struct origin at = CONFIG_AT(in->text, wred ? wred->line : queue->line);
    const char *ecn = sonic_field(wred, "ecn", NULL), *green = sonic_field(wred, "wred_green_enable", NULL);
    bool on = green && strcmp(green, "true") == 0;
    bool marks = ecn && (strcmp(ecn, "ecn_all") == 0 || strstr(ecn, "green"));
    bool lossless = in->port[p].lossless >> tc & 1;
    int64_t min = 0, max = 0, probability = 100;

    if (!wred || (!marks && !on)) {
        config_say_class(in->set, at, in->device, p, tc, "ecn", "false");
        return;
    }
    if (!marks && lossless) /* once for all classes and ports */
        config_note(in->set, at, "ECN006", in->device, CONFIG_NONE,
                    "WRED_PROFILE %.60s drops and does not mark (ecn is %.20s), and lossless classes are in its queues",
                    wred->key, ecn ? ecn : "ecn_none");
    bool good = sonic_read(in, wred, "green_min_threshold", 0, UINT32_MAX, &min) &&
                sonic_read(in, wred, "green_max_threshold", 0, UINT32_MAX, &max);
    bool chance = !sonic_field(wred, "green_drop_probability", NULL) ||
                  sonic_read(in, wred, "green_drop_probability", 0, 100, &probability);
    if (marks && !on)
        config_note(in->set, at, "ECN002", in->device, CONFIG_NONE,
                    "WRED_PROFILE %.60s is not enabled for green (wred_green_enable): it marks nothing", wred->key);
    if (marks && on && (!good || max == 0 || min > max || !chance || probability == 0))
        config_note(in->set, at, "ECN002", in->device, CONFIG_NONE,
                    "WRED_PROFILE %.60s: green thresholds %lld to %lld at %lld %% are no marking curve", wred->key,
                    (long long)min, (long long)max, (long long)probability);
    if (!marks || !on || !good || max == 0 || min > max || !chance || probability == 0) {
        config_say_class(in->set, at, in->device, p, tc, "ecn", "false");
        return;
    }
    config_say_class(in->set, sonic_at(in, wred, "green_min_threshold"), in->device, p, tc, "ecn.min", "%lldB",
                     (long long)min);
    config_say_class(in->set, sonic_at(in, wred, "green_max_threshold"), in->device, p, tc, "ecn.max", "%lldB",
                     (long long)max);
    config_say_class(in->set, sonic_at(in, wred, "green_drop_probability"), in->device, p, tc, "ecn.probability",
                     "%lld%%", (long long)probability);
}

struct turns { /* schedulers of a port's queues */
    int64_t weight[FABRIC_PRIOS];
    int64_t sum;
    struct origin at[FABRIC_PRIOS];
    unsigned strict, sharing;
};

static void read_turns(struct sonic *in, const struct sonic_port *port, const struct maps *maps, struct turns *turns)
{
    for (unsigned tc = 0; tc < FABRIC_PRIOS; tc++) {
        unsigned q = maps->queue[tc];
        if (!(maps->classes >> tc & 1) || ((turns->strict | turns->sharing) >> q & 1) || !port->queue[q]) continue;
        const struct sonic_row *scheduler = sonic_follow(in, port->queue[q], "scheduler", "SCHEDULER");
        const char *type = sonic_field(scheduler, "type", NULL);
        if (!scheduler) continue;
        turns->at[q] = sonic_at(in, scheduler, "type");
        if (type && strcmp(type, "STRICT") == 0) {
            turns->strict |= 1u << q;
            continue;
        }
        turns->weight[q] = 1;
        if (sonic_field(scheduler, "weight", NULL)) sonic_read(in, scheduler, "weight", 1, 100, &turns->weight[q]);
        turns->sharing |= 1u << q;
        turns->sum += turns->weight[q];
    }
}

/* A queue's share is said for the lowest of its classes: shares are added up by class. */
static void say_turn(struct sonic *in, uint32_t p, unsigned tc, unsigned q, const struct turns *turns, unsigned *shared)
{
    char buf[UNIT_TEXT];

    if (turns->strict >> q & 1) config_say_class(in->set, turns->at[q], in->device, p, tc, "strict", "true");
    if (!(turns->sharing >> q & 1)) return;
    config_say_class(in->set, turns->at[q], in->device, p, tc, "strict", "false");
    if (*shared >> q & 1) return;
    *shared |= 1u << q;
    uint64_t ppm = (uint64_t)(turns->weight[q] * 1000000 / turns->sum);
    config_say_class(in->set, turns->at[q], in->device, p, tc, "share", "%s",
                     unit_format(UNIT_SHARE, ppm ? ppm : 1, buf));
}

/* Adapters send RoCE as DSCP 26, or 24, unless they are told otherwise. */
static void note_roce_dscp(struct sonic *in, uint32_t p, const struct maps *maps)
{
    const struct sonic_port *port = &in->port[p];
    unsigned tc = maps->field[26];

    if (maps->pcp || !maps->dscp || !port->lossless || (port->lossless >> tc & 1)) return;
    config_note(in->set, sonic_at(in, maps->dscp, "26"), "MAP001", in->device, CONFIG_NONE,
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
        config_note(in->set, sonic_at(in, by, "tc_to_dscp_map"), "MAP004", in->device, CONFIG_NONE,
                    "packets leave with the DSCP of TC_TO_DSCP_MAP %.60s, not with their own", map->key);
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
        config_say_bits(in->set, CONFIG_AT(in->text, port_line(port)), in->device, p, "pfc", 0);
    }
    for (unsigned tc = 0; tc < FABRIC_PRIOS; tc++)
        if (port->queue[maps.queue[tc]] || port->pg[maps.group[tc]]) maps.classes |= 1u << tc;
    read_turns(in, port, &maps, &turns);
    for (unsigned tc = 0; tc < FABRIC_PRIOS; tc++) {
        if (!(maps.classes >> tc & 1)) continue;
        const struct sonic_row *queue = port->queue[maps.queue[tc]];
        sonic_say_group(in, p, tc, maps.group[tc]);
        sonic_say_queue_limit(in, p, tc, maps.queue[tc]);
        say_turn(in, p, tc, maps.queue[tc], &turns, &shared);
        if (queue)
            say_ecn(in, p, tc, queue);
        else if ((port->lossless >> tc & 1) && (in->whole || in->has_qos)) /* said of no port in particular */
            config_say_class(in->set, in->set->device[in->device].at, in->device, p, tc, "ecn", "false");
    }
    note_roce_dscp(in, p, &maps);
    note_rewrite(in, port);
}

/* Headroom that no pause protects: told once, for a table has a row for every port. */
static void note_idle_headroom(struct sonic *in)
{
    uint32_t count = 0, first = 0;
    unsigned bits = 0;

    if (!in->whole && !in->has_qos) return; /* a file of buffers alone */
    for (uint32_t p = 0; p < in->ports; p++) {
        unsigned idle = in->port[p].set_aside & ~in->port[p].pfc;
        if (!idle) continue;
        if (!count++) first = p;
        bits |= idle;
    }
    if (!count) return;
    unsigned priority = (unsigned)__builtin_ctz(bits), group = 0;
    while (group < FABRIC_PRIOS - 1 && !in->port[first].pg[group])
        group++;
    const struct sonic_row *row =
        in->port[first].pg[priority] ? in->port[first].pg[priority] : in->port[first].pg[group];
    config_note(in->set, CONFIG_AT(in->text, row ? row->line : 1), "HR007", in->device, first,
                "keeps headroom for priority %u and does not pause it (pfc_enable of PORT_QOS_MAP)%s", priority,
                count > 1 ? ", as other ports" : "");
}

/* Without these maps a packet's queue and group are the chip's choice. */
static void note_missing_maps(struct sonic *in)
{
    static const char *const names[] = {"tc_to_queue_map", "tc_to_pg_map"};

    for (int i = 0; i < 2; i++) {
        for (uint32_t p = 0; p < in->ports && !sonic_field(in->global, names[i], NULL); p++) {
            const struct sonic_row *row = in->port[p].qos;
            if (!row || !in->port[p].pfc || sonic_field(row, names[i], NULL)) continue;
            config_assume(in->set, CONFIG_AT(in->text, row->line), in->device, CONFIG_NONE,
                          "no %s: traffic class 3 is taken to be in %s 3, and so on", names[i],
                          i ? "priority group" : "queue");
            break;
        }
    }
}

void sonic_say_ports(struct sonic *in)
{
    for (uint32_t p = 0; p < in->ports; p++)
        if (in->port[p].met) say_port(in, p);
    note_idle_headroom(in);
    note_missing_maps(in);
}
