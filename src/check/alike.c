/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ports of one switch that do the same work are set alike: a port unlike most of its siblings is told, once for each
 * matter.
 *
 * Siblings are ports of one rate towards hosts, towards switches, towards one kind of thing by what the configuration
 * says of the other end, or towards what is not known.  At least three of them, and two thirds of all, must agree
 * before one is odd.  A port that has another job is no mistake: one without anything of RoCE among others like it,
 * or, where nothing is known of its other end, one that differs in more than what a forgotten line explains.  What
 * another rule has found on the port is not told again: this one runs last.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "check/rule.h"

#include "fabric/switches.h"

#define AGREE_LEAST 3u /* siblings that agree ... */
#define AGREE_OF 3u    /* ... and are two thirds of all */
#define UNKNOWN_OF 8u /* where the other ends are not known, odd ones alike are at most an eighth of those that agree */

enum matter { PFC, MTU, TRUST, MAPS, TURNS, MARKS, WATCHED, MATTERS };
enum towards { TO_HOSTS, TO_SWITCHES, TO_ONE_KIND, TO_UNKNOWN }; /* one kind: by what the text says is there */

/* What it is called, and rules that have told of it where they have found something on the port. */
static const struct {
    const char *words;
    const char *rules[6];
} matters[MATTERS] = {
    [PFC] = {"PFC", {"PFC", "LAG", "HOST001", "HR007", "MAP001"}},
    [MTU] = {"frames", {"MTU", "LAG", "HR009"}},
    [TRUST] = {"trust", {"MAP003", "LAG", "HOST001", "PFC008", "MAP007"}},
    [MAPS] = {"classification", {"MAP", "PFC004", "PFC007", "PFC008", "LAG", "HOST001"}},
    [TURNS] = {"scheduling", {"SCH", "MAP005", "MAP008", "LAG", "ECN"}}, /* a row may give both */
    [MARKS] = {"marking", {"ECN", "LAG"}},
    [WATCHED] = {"watchdog", {"WD", "LAG"}},
};

static bool same_curve(const struct sw_ecn *a, const struct sw_ecn *b)
{
    if (!a->on || !b->on) return a->on == b->on;
    return a->min_bytes == b->min_bytes && a->max_bytes == b->max_bytes && a->probability_ppm == b->probability_ppm;
}

static bool same_turn(const struct fabric_queue *a, const struct fabric_queue *b)
{
    return a->strict == b->strict && a->share_ppm == b->share_ppm;
}

/* Of the classes that anything leads to. */
static bool same_queues(const struct fabric_settings *a, const struct fabric_settings *b, bool marks)
{
    uint8_t fed = fed_classes(a);

    for (unsigned tc = 0; tc < FABRIC_PRIOS; tc++) {
        const struct fabric_queue *x = &a->queue[a->tc_to_queue[tc]], *y = &b->queue[b->tc_to_queue[tc]];
        if (fed >> tc & 1 && !(marks ? same_curve(&x->ecn, &y->ecn) : same_turn(x, y))) return false;
    }
    return true;
}

static bool same(const struct fabric_settings *a, const struct fabric_settings *b, enum matter matter)
{
    switch (matter) {
    case PFC:
        return a->pfc_rx == b->pfc_rx && a->pfc_tx == b->pfc_tx && a->pfc_auto == b->pfc_auto &&
               a->pause_all == b->pause_all;
    case MTU:
        return a->mtu_bytes == b->mtu_bytes;
    case TRUST:
        return a->trust == b->trust;
    case MAPS:
        if (a->trust != b->trust) return true; /* that is told */
        if (memcmp(a->tc_to_queue, b->tc_to_queue, sizeof(a->tc_to_queue)) != 0) return false;
        return a->trust == SW_TRUST_DSCP ? memcmp(a->dscp_to_tc, b->dscp_to_tc, sizeof(a->dscp_to_tc)) == 0
                                         : memcmp(a->pcp_to_tc, b->pcp_to_tc, sizeof(a->pcp_to_tc)) == 0;
    case TURNS:
    case MARKS: /* of another classification queues follow */
        return a->trust != b->trust || !same(a, b, MAPS) || same_queues(a, b, matter == MARKS);
    default:
        return a->watched == b->watched || !same(a, b, PFC);
    }
}

static enum towards towards(const struct fabric *fabric, uint32_t p)
{
    if (peer_is_switch(fabric, p)) return TO_SWITCHES;
    return node_unknown(fabric, fabric->port[fabric->port[p].peer].node) ? TO_UNKNOWN : TO_HOSTS;
}

static bool is_management(const struct fabric *fabric, uint32_t p)
{
    const char *const *names = fabric->operations.port_name;
    const char *name = names && names[p] ? names[p] : "";

    return strncasecmp(name, "mgmt", 4) == 0 || strncasecmp(name, "management", 10) == 0 || strcmp(name, "eth0") == 0 ||
           strcmp(name, "ma1") == 0;
}

struct group { /* siblings: ports of one switch, rate and direction */
    uint32_t *port;
    uint32_t ports;
};

/* The port that most others equal in this; FABRIC_NONE: too few agree. */
static uint32_t usual_port(const struct fabric *fabric, const struct group *group, enum matter matter, uint32_t *ret)
{
    uint32_t best = FABRIC_NONE, most = 0;

    for (uint32_t i = 0; i < group->ports; i++) {
        const struct fabric_settings *as = settings_of(fabric, group->port[i]);
        uint32_t equal = 0;
        if (i && fabric->port[group->port[i]].settings == fabric->port[group->port[i - 1]].settings) continue;
        for (uint32_t j = 0; j < group->ports; j++)
            equal += same(as, settings_of(fabric, group->port[j]), matter);
        if (equal > most) {
            most = equal;
            best = group->port[i];
        }
    }
    *ret = most;
    return most >= AGREE_LEAST && most * AGREE_OF >= group->ports * 2 ? best : FABRIC_NONE;
}

static bool without_roce(const struct fabric_settings *settings)
{
    return !settings->pfc_rx && !settings->pfc_tx; /* some systems make a class lossless for all ports at once */
}

/* Matters that the rule tells of, as bits. */
static uint8_t told_by(const char *rule)
{
    uint8_t told = 0;

    for (unsigned m = 0; m < MATTERS; m++)
        for (unsigned i = 0; i < sizeof(matters[0].rules) / sizeof(matters[0].rules[0]) && matters[m].rules[i]; i++)
            if (strncmp(rule, matters[m].rules[i], strlen(matters[m].rules[i])) == 0) told |= (uint8_t)(1u << m);
    return told;
}

/* [port] matters that another rule has found something in on it, as bits: once for all ports, for there may be as many
 * findings.  NULL: there is no memory. */
static const uint8_t *told_already(struct check *check)
{
    const struct fabric *fabric = check->fabric;
    uint8_t *told = ARENA_NEW(&check->arena, uint8_t, fabric->ports + 1);

    for (uint32_t f = 0; f < check->findings; f++) {
        const struct check_finding *finding = &check->finding[f];
        if (finding->node >= fabric->nodes || finding->number >= fabric->node[finding->node].ports) continue;
        told[fabric->node[finding->node].first_port + finding->number] |= told_by(check_rules[finding->rule].id);
    }
    return told;
}

/* The key in which they differ. */
static const char *where(const struct fabric *fabric, uint32_t p, uint32_t usual, enum matter matter, char buf[96])
{
    static const char *const keys[MATTERS] = {[PFC] = "pfc", [MTU] = "mtu", [TRUST] = "trust", [WATCHED] = "watched"};
    const struct fabric_settings *a = settings_of(fabric, p), *b = settings_of(fabric, usual);

    if (keys[matter]) return keys[matter];
    for (unsigned d = 0; d < 64 && matter == MAPS && a->trust == SW_TRUST_DSCP; d++)
        if (a->dscp_to_tc[d] != b->dscp_to_tc[d]) {
            snprintf(buf, 96, "dscp-map.%u", d);
            return buf;
        }
    if (matter == MAPS) return a->trust == SW_TRUST_DSCP ? "queue-map" : "pcp-map";
    for (uint32_t c = 0; c < fabric->class_count; c++) {
        uint8_t tc = fabric->classes[c].priority;
        const struct fabric_queue *x = &a->queue[a->tc_to_queue[tc]], *y = &b->queue[b->tc_to_queue[tc]];
        if (matter == TURNS && !same_turn(x, y))
            return class_path(fabric, tc, x->strict != y->strict ? "strict" : "share", buf);
        if (matter == MARKS && !same_curve(&x->ecn, &y->ecn)) return class_path(fabric, tc, "ecn", buf);
    }
    return "classes";
}

/* What the two have, where one value says it. */
static void values(const struct fabric *fabric, uint32_t p, enum matter matter, char buf[64])
{
    const struct fabric_settings *as = settings_of(fabric, p);
    char bits[32];

    buf[0] = 0;
    if (matter == PFC)
        snprintf(buf, 64, " (priority %s%s%s)", priorities_text(as->pfc_rx | as->pfc_tx, bits),
                 as->pfc_auto ? ", negotiated" : "", as->pfc_rx != as->pfc_tx ? ", one way" : "");
    else if (matter == MTU)
        snprintf(buf, 64, " (%u B)", as->mtu_bytes);
    else if (matter == TRUST)
        snprintf(buf, 64, " (%s)", as->trust == SW_TRUST_DSCP ? "DSCP" : "PCP");
    else if (matter == WATCHED)
        snprintf(buf, 64, " (priority %s)", priorities_text(as->watched, bits));
}

/* Is it another job, and not a mistake? */
static bool other_job(const struct check *check, const struct group *group, uint32_t p, enum towards to,
                      const uint32_t usual[MATTERS], const uint32_t agree[MATTERS])
{
    const struct fabric *fabric = check->fabric;
    const struct fabric_settings *as = settings_of(fabric, p);
    uint32_t alike = 0, differs = 0, most = 0, kin = 0;

    for (uint32_t i = 0; i < group->ports; i++)
        alike += fabric->port[group->port[i]].settings == fabric->port[p].settings;
    for (uint32_t i = 0; i < group->ports && check->kind && check->kind[p]; i++)
        kin += check->kind[group->port[i]] == check->kind[p];
    for (int m = 0; m < MATTERS; m++) {
        differs += usual[m] != FABRIC_NONE && !same(as, settings_of(fabric, usual[m]), (enum matter)m);
        if (agree[m] > most) most = agree[m];
    }
    if (to == TO_ONE_KIND) return false;
    if (without_roce(as) && alike > 1) return true;
    if (to != TO_UNKNOWN) return false;
    if (without_roce(as) && (differs > 1 || kin == 1)) return true; /* what it leads to is called like no other's */
    return alike > 1 && alike * UNKNOWN_OF > most;
}

static void judge_group(struct check *check, const struct group *group, enum towards to, const uint8_t *told)
{
    const struct fabric *fabric = check->fabric;
    uint32_t usual[MATTERS], agree[MATTERS];
    char name[FABRIC_NAME], other[FABRIC_NAME], path[96], here[64], there[64];

    for (int m = 0; m < MATTERS; m++)
        usual[m] = usual_port(fabric, group, (enum matter)m, &agree[m]);
    /* Ports that have nothing to do with RoCE may be as different as they like. */
    if (usual[PFC] == FABRIC_NONE || without_roce(settings_of(fabric, usual[PFC]))) return;
    for (uint32_t i = 0; i < group->ports; i++) {
        uint32_t p = group->port[i];
        if (other_job(check, group, p, to, usual, agree)) continue;
        for (int m = 0; m < MATTERS; m++) {
            enum matter matter = (enum matter)m;
            if (usual[m] == FABRIC_NONE || same(settings_of(fabric, p), settings_of(fabric, usual[m]), matter))
                continue;
            /* Without PFC the port lacks the whole of it: that is one thing. */
            if (m > MTU && without_roce(settings_of(fabric, p))) continue;
            if (told[p] >> m & 1) continue;
            values(fabric, p, matter, here);
            values(fabric, usual[m], matter, there);
            check_find_own(check, CHECK_WARNING, p, where(fabric, p, usual[m], matter, path),
                           "%s: its %s%s differs from that of %u of %u ports of its kind, such as %s%s",
                           port_label(fabric, p, name), matters[m].words, here, agree[m], group->ports,
                           port_label(fabric, usual[m], other), there);
        }
    }
}

static uint64_t kind_of(const struct check *check, uint32_t p)
{
    return check->kind && towards(check->fabric, p) == TO_UNKNOWN ? check->kind[p] : 0;
}

static bool are_siblings(const struct check *check, uint32_t p, uint32_t q, bool by_kind)
{
    const struct fabric *fabric = check->fabric;

    if (!port_used(check, q) || is_management(fabric, q) || towards(fabric, q) != towards(fabric, p)) return false;
    return fabric->port[q].rate_bps == fabric->port[p].rate_bps && (!by_kind || kind_of(check, p) == kind_of(check, q));
}

/* Groups of a switch, the first port not yet in one begins the next: those of one kind, then all others. */
static void judge_switch(struct check *check, const struct fabric_node *node, uint32_t *port, bool *done,
                         const uint8_t *told)
{
    const struct fabric *fabric = check->fabric;
    uint32_t end = node->first_port + node->ports;

    memset(done, 0, node->ports * sizeof(*done));
    for (int by_kind = 1; by_kind >= 0; by_kind--) {
        for (uint32_t p = node->first_port; p < end; p++) {
            struct group group = {port, 0};
            if (done[p - node->first_port] || !port_used(check, p) || is_management(fabric, p)) continue;
            if (by_kind && !kind_of(check, p)) continue;
            for (uint32_t q = p; q < end; q++)
                if (!done[q - node->first_port] && are_siblings(check, p, q, by_kind)) group.port[group.ports++] = q;
            if (by_kind && group.ports <= AGREE_LEAST) continue;
            for (uint32_t i = 0; i < group.ports; i++)
                done[group.port[i] - node->first_port] = true;
            if (group.ports > AGREE_LEAST) judge_group(check, &group, by_kind ? TO_ONE_KIND : towards(fabric, p), told);
        }
    }
}

RULE_FUNCTION(siblings)
{
    const struct fabric *fabric = check->fabric;
    uint32_t most = 0;

    for (uint32_t n = fabric->hosts; n < fabric->nodes; n++)
        if (fabric->node[n].ports > most) most = fabric->node[n].ports;
    uint32_t *port = ARENA_NEW(&check->arena, uint32_t, most + 1);
    bool *done = ARENA_NEW(&check->arena, bool, most + 1);
    const uint8_t *told = told_already(check);
    for (uint32_t n = fabric->hosts; n < fabric->nodes; n++)
        judge_switch(check, &fabric->node[n], port, done, told);
}
