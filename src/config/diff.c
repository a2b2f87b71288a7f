/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two fabrics compared as they are resolved, so that a value said in another layer is no drift and one that is said
 * nowhere and comes out otherwise is.
 *
 * Devices are the same by name, ports by the name their system gives them, classes by priority.  Where the approved
 * file names no port of a device, and the device has none of the names that we would give, ports are the same by
 * number.
 * Where the running fabric comes from configurations, what a configuration is silent about and only the fabric's
 * defaults would fill (shares, headroom, timers) is not compared, nor what its system has no words for; on and off
 * always are.
 */
#include "config/diff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "config/unsupported.h"
#include "fabric/fabric.h"
#include "fabric/owners.h"
#include "fabric/places.h"
#include "fabric/switches.h"

struct pair { /* what is being compared */
    struct diff *diff;
    uint32_t node[2], port[2]; /* approved, running; port FABRIC_NONE: the device */
    char name[FABRIC_NAME];
};

static const char *name_of(const struct fabric *fabric, uint32_t port)
{
    return fabric->operations.port_name ? fabric->operations.port_name[port] : NULL;
}

/* Numbers of ports are the importer's own; the device knows its names. */
static const char *running_name(const struct pair *pair)
{
    const struct fabric *one = pair->diff->approved.fabric, *two = pair->diff->running.fabric;
    const char *name = pair->port[1] != FABRIC_NONE ? name_of(two, pair->port[1]) : NULL;

    return name || pair->port[0] == FABRIC_NONE ? name : name_of(one, pair->port[0]);
}

/* An entry of a DSCP map mostly comes from the `dscp` of a class. */
static struct fabric_at approved_where(const struct pair *pair, const char *key)
{
    const struct fabric *one = pair->diff->approved.fabric;
    char path[96];

    for (uint32_t c = 0; c < one->class_count && strncmp(key, "dscp-map.", 9) == 0; c++) {
        const struct fabric_class *as = &one->classes[c];
        if (!(as->dscps >> (strtoul(key + 9, NULL, 10) & 63) & 1)) continue;
        snprintf(path, sizeof path, "classes.%.60s.dscp", as->name);
        return fabric_where(pair->diff->approved.places, pair->node[0], pair->port[0], path);
    }
    return fabric_where(pair->diff->approved.places, pair->node[0], pair->port[0], key);
}

/* A device or port that one side lacks has FABRIC_NONE there: it is told at that side's topology. */
static void report(const struct pair *pair, const char *key, const char *running_key, const char *approved,
                   const char *running)
{
    struct diff *diff = pair->diff;
    const struct fabric *one = diff->approved.fabric, *two = diff->running.fabric;
    bool extra = pair->node[0] == FABRIC_NONE;
    struct drift drift = {.device = extra ? two->node[pair->node[1]].name : one->node[pair->node[0]].name,
                          .port = pair->port[0] == FABRIC_NONE && pair->port[1] == FABRIC_NONE ? NULL : pair->name,
                          .name = running_name(pair),
                          .key = key,
                          .number = pair->port[1] == FABRIC_NONE ? FABRIC_NONE : two->port[pair->port[1]].index,
                          .owner = fabric_owner(one, key)};

    snprintf(drift.approved, sizeof drift.approved, "%s", approved);
    snprintf(drift.running, sizeof drift.running, "%s", running);
    drift.approved_at = approved_where(pair, extra ? "topology" : key);
    drift.running_at = fabric_where(diff->running.places, pair->node[1], pair->port[1],
                                    pair->node[1] == FABRIC_NONE ? "topology" : running_key);
    diff->drifts++;
    diff->each(diff->to, &drift);
}

/* Does the running side say it, or is it a whole fabric file? */
static bool told(const struct pair *pair, const char *key)
{
    const struct diff_side *running = &pair->diff->running;

    return !running->imported || fabric_says(running->places, pair->node[1], pair->port[1], key) ||
           fabric_says(running->places, pair->node[1], FABRIC_NONE, key);
}

/* What the configuration of the running port says itself: of a link one value is taken, and its ends may differ.
 * NULL: nothing, or it is a fabric file. */
static const char *said(const struct pair *pair, const char *key)
{
    const struct diff_side *running = &pair->diff->running;
    uint32_t device =
        running->imported ? config_device_find(running->set, running->fabric->node[pair->node[1]].name) : CONFIG_NONE;

    return device == CONFIG_NONE ? NULL
                                 : config_said(running->set, device, running->fabric->port[pair->port[1]].index, key);
}

/* What a key is called in the approved fabric and in the running one. */
struct key {
    char approved[96], running[96];
};

static struct key key_of(const char *name)
{
    struct key key;

    snprintf(key.approved, sizeof key.approved, "%s", name);
    memcpy(key.running, key.approved, sizeof key.running);
    return key;
}

/* Of a class: each fabric has its own name for it. */
static struct key class_key(const struct pair *pair, unsigned priority, const char *leaf)
{
    const struct fabric_class *a = config_class_of(pair->diff->approved.fabric, priority);
    const struct fabric_class *b = config_class_of(pair->diff->running.fabric, priority);
    struct key key;

    snprintf(key.approved, sizeof key.approved, "classes.%.48s.%s", a ? a->name : b->name, leaf);
    snprintf(key.running, sizeof key.running, "classes.%.48s.%s", b ? b->name : a->name, leaf);
    return key;
}

static void units(const struct pair *pair, struct key key, enum unit_kind unit, uint64_t a, uint64_t b)
{
    char x[UNIT_TEXT], y[UNIT_TEXT];

    if (a == b) return;
    report(pair, key.approved, key.running, a == FABRIC_UNLIMITED ? "none" : unit_format(unit, a, x),
           b == FABRIC_UNLIMITED ? "none" : unit_format(unit, b, y));
}

/* The same of what configurations may be silent about. */
static void told_units(const struct pair *pair, struct key key, enum unit_kind unit, uint64_t a, uint64_t b)
{
    if (told(pair, key.running)) units(pair, key, unit, a, b);
}

static void truth(const struct pair *pair, struct key key, bool a, bool b)
{
    if (a != b) report(pair, key.approved, key.running, a ? "true" : "false", b ? "true" : "false");
}

static void bits(const struct pair *pair, const char *key, uint8_t a, uint8_t b)
{
    char text[2][DIFF_VALUE];
    uint8_t value[2] = {a, b};

    if (a == b) return;
    for (int side = 0; side < 2; side++) {
        size_t used = (size_t)snprintf(text[side], DIFF_VALUE, "[");
        for (unsigned p = 0; p < FABRIC_PRIOS; p++)
            if (value[side] >> p & 1)
                used += (size_t)snprintf(text[side] + used, DIFF_VALUE - used, "%s%u", used > 1 ? ", " : "", p);
        snprintf(text[side] + used, DIFF_VALUE - used, "]");
    }
    report(pair, key, key, text[0], text[1]);
}

static void maps(const struct pair *pair, const char *name, const uint8_t *a, const uint8_t *b, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        char key[32], x[8], y[8];
        if (a[i] == b[i]) continue;
        snprintf(key, sizeof key, "%s.%u", name, i);
        snprintf(x, sizeof x, "%u", a[i]);
        snprintf(y, sizeof y, "%u", b[i]);
        report(pair, key, key, x, y);
    }
}

/* The system that a switch of the running fabric has; NULL: not known. */
static const struct config_format *format_of(const struct pair *pair)
{
    const struct fabric *two = pair->diff->running.fabric;
    uint8_t nos = pair->node[1] < two->hosts ? FABRIC_NOS_UNSAID : two->sw[pair->node[1] - two->hosts].nos;

    return nos != FABRIC_NOS_UNSAID ? config_format_find(fabric_nos_names[nos]) : NULL;
}

/* What it can say; NULL: not known, or all of it is said. */
static const struct config_can *can_of(const struct pair *pair)
{
    const struct config_format *format = pair->diff->running.imported ? format_of(pair) : NULL;

    return format ? format->can : NULL;
}

/* Some systems say no bytes.  True: the running thresholds, now in bytes, are what would be written for the approved
 * ones. */
static bool same_marking(const struct pair *pair, unsigned priority, bool lossless, const struct sw_ecn *approved,
                         struct sw_ecn *io_running)
{
    const struct fabric *one = pair->diff->approved.fabric;
    const struct config_format *format = format_of(pair);
    char own[32];

    snprintf(own, sizeof own, "own.ecn-fill.%u", priority);
    const char *text = said(pair, own);
    return text && format && format->same_marking &&
           format->same_marking(&one->sw[pair->node[0] - one->hosts], lossless, text, approved, io_running);
}

/* A threshold that the running system cannot have as it is approved is no drift, and is told. */
static void rounded(const struct pair *pair, const char *key, uint64_t approved, uint64_t running)
{
    struct diff *diff = pair->diff;
    char a[UNIT_TEXT], b[UNIT_TEXT];

    if (approved == running || diff->rounded++) return;
    snprintf(diff->first_rounded, sizeof diff->first_rounded, "%.60s %.60s: %.60s is %s, approved is %s",
             pair->diff->approved.fabric->node[pair->node[0]].name,
             running_name(pair) ? running_name(pair) : pair->name, key, unit_format(UNIT_SIZE, running, a),
             unit_format(UNIT_SIZE, approved, b));
}

static void compare_marking(const struct pair *pair, unsigned priority, bool lossless, const struct sw_ecn *a,
                            const struct sw_ecn *running)
{
    struct key min = class_key(pair, priority, "ecn.min"), max = class_key(pair, priority, "ecn.max");
    struct sw_ecn b = *running;

    if (same_marking(pair, priority, lossless, a, &b)) {
        rounded(pair, min.approved, a->min_bytes, b.min_bytes);
        rounded(pair, max.approved, a->max_bytes, b.max_bytes);
    } else {
        units(pair, min, UNIT_SIZE, a->min_bytes, b.min_bytes);
        units(pair, max, UNIT_SIZE, a->max_bytes, b.max_bytes);
    }
    units(pair, class_key(pair, priority, "ecn.probability"), UNIT_SHARE, a->probability_ppm, b.probability_ppm);
}

static void compare_class(const struct pair *pair, unsigned priority, const struct fabric_settings *a,
                          const struct fabric_settings *b)
{
    const struct fabric_queue *x = &a->queue[a->tc_to_queue[priority]], *y = &b->queue[b->tc_to_queue[priority]];
    const struct fabric_pg *g = &a->pg[a->tc_to_pg[priority]], *h = &b->pg[b->tc_to_pg[priority]];
    bool lossless = a->lossless >> priority & 1;

    truth(pair, class_key(pair, priority, "lossless"), lossless, b->lossless >> priority & 1);
    truth(pair, class_key(pair, priority, "strict"), x->strict, y->strict);
    if (!x->strict && !y->strict)
        told_units(pair, class_key(pair, priority, "share"), UNIT_SHARE, x->share_ppm, y->share_ppm);
    if (pair->node[0] < pair->diff->approved.fabric->hosts) return; /* adapters mark nothing and have no groups */
    truth(pair, class_key(pair, priority, "ecn"), x->ecn.on, y->ecn.on);
    if (x->ecn.on && y->ecn.on) compare_marking(pair, priority, lossless, &x->ecn, &y->ecn);
    if (!g->lossless || !h->lossless) return;
    told_units(pair, class_key(pair, priority, "xoff"), UNIT_SIZE, g->static_bytes, h->static_bytes);
    told_units(pair, class_key(pair, priority, "xon"), UNIT_SIZE, g->xon_offset_bytes, h->xon_offset_bytes);
    told_units(pair, class_key(pair, priority, "headroom"), UNIT_SIZE, g->headroom_bytes, h->headroom_bytes);
    if (pair->diff->running.imported) return; /* systems round these, or keep them to themselves */
    units(pair, class_key(pair, priority, "reserved"), UNIT_SIZE, g->reserved_bytes, h->reserved_bytes);
    units(pair, class_key(pair, priority, "limit"), UNIT_SIZE, x->limit_bytes, y->limit_bytes);
    if (!g->dynamic || !h->dynamic || (uint64_t)g->alpha_num * h->alpha_den == (uint64_t)h->alpha_num * g->alpha_den)
        return;
    struct key key = class_key(pair, priority, "alpha");
    char a_text[32], b_text[32];
    snprintf(a_text, sizeof a_text, "%u/%u", g->alpha_num, g->alpha_den);
    snprintf(b_text, sizeof b_text, "%u/%u", h->alpha_num, h->alpha_den);
    report(pair, key.approved, key.running, a_text, b_text);
}

/* A class that the approved fabric does not have.  Systems have names for every queue; what counts is what they do. */
static void compare_extra_class(const struct pair *pair, unsigned priority, const struct fabric_settings *b)
{
    truth(pair, class_key(pair, priority, "lossless"), false, b->lossless >> priority & 1);
    if (pair->node[0] < pair->diff->approved.fabric->hosts) return;
    truth(pair, class_key(pair, priority, "ecn"), false, b->queue[b->tc_to_queue[priority]].ecn.on);
}

/* The rate that the port is set to: systems say whole steps. */
static void compare_rate(const struct pair *pair)
{
    uint64_t approved = pair->diff->approved.fabric->port[pair->port[0]].rate_bps;
    uint64_t running = pair->diff->running.fabric->port[pair->port[1]].rate_bps;
    const struct config_can *can = can_of(pair);

    if (pair->diff->running.imported) {
        const char *text = said(pair, "rate");
        if (!text || unit_parse(UNIT_RATE, text, &running, NULL) < 0) return;
        if (can && can->rate_step_bps && approved - approved % can->rate_step_bps == running) return;
    }
    units(pair, key_of("rate"), UNIT_RATE, approved, running);
}

/* Of a configuration, as this end's description has it: a link has one cable, and its ends may say two. */
static void compare_cable(const struct pair *pair)
{
    const struct fabric_port *p = &pair->diff->approved.fabric->port[pair->port[0]];
    uint64_t running = pair->diff->running.fabric->port[pair->port[1]].cable_mm;
    const char *text = said(pair, "cable");

    if (pair->diff->running.imported) {
        if (!p->cable_known || !text || unit_parse(UNIT_LENGTH, text, &running, NULL) < 0) return;
        if (running == config_metres(p->cable_mm) * 1000) return; /* as we write it */
    } else if (!told(pair, "cable")) {
        return;
    }
    units(pair, key_of("cable"), UNIT_LENGTH, p->cable_mm, running);
}

/* What a link is: of a configuration, where it says who the peer is. */
static void compare_link(const struct pair *pair)
{
    const struct fabric *one = pair->diff->approved.fabric, *two = pair->diff->running.fabric;
    const struct fabric_port *p = &one->port[pair->port[0]], *q = &two->port[pair->port[1]];
    bool imported = pair->diff->running.imported;
    char a[FABRIC_NAME], b[FABRIC_NAME];

    compare_rate(pair);
    compare_cable(pair);
    if (q->peer == FABRIC_NONE) {
        if (!imported) report(pair, "peer", "", fabric_port_name(one, p->peer, a), "none");
        return;
    }
    uint32_t near = one->port[p->peer].node, far = two->port[q->peer].node;
    if (fabric_node_unknown(two, far) || fabric_node_unknown(one, near)) return;
    bool same = strcmp(one->node[near].name, two->node[far].name) == 0;
    /* Numbers of ports are the importer's own. */
    if (same && (imported || one->port[p->peer].index == two->port[q->peer].index)) return;
    report(pair, "peer", "", fabric_port_name(one, p->peer, a), fabric_port_name(two, q->peer, b));
}

/* Which priorities the watchdog looks at, of those that pause on both sides: another PFC is a drift of its own. */
static void compare_watched(const struct pair *pair, const struct fabric_settings *a, const struct fabric_settings *b)
{
    const struct fabric *one = pair->diff->approved.fabric, *two = pair->diff->running.fabric;
    const struct config_can *can = can_of(pair);
    uint8_t both = (uint8_t)((a->pfc_rx | a->pfc_tx) & (b->pfc_rx | b->pfc_tx));
    uint8_t x = a->watched & both, y = b->watched & both;

    if (pair->node[0] < one->hosts || !one->sw[pair->node[0] - one->hosts].watchdog.on ||
        !two->sw[pair->node[1] - two->hosts].watchdog.on)
        return;
    if (said(pair, "own.watchdog")) y = 0;
    if (can && !can->watched)
        truth(pair, key_of("watched"), x != 0, y != 0);
    else
        bits(pair, "watched", x, y);
}

static const char *action_of(const struct fabric_watchdog *as)
{
    return as->shutdown ? "shutdown" : as->drop ? "drop" : "forward";
}

/* A port whose watchdog is set unlike that of most ports, which is the switch's. */
static void compare_own_watchdog(const struct pair *pair)
{
    const struct fabric *one = pair->diff->approved.fabric;
    uint64_t detect = 0, restore = 0;

    if (pair->node[0] < one->hosts || !one->sw[pair->node[0] - one->hosts].watchdog.on) return;
    const struct fabric_watchdog *as = &one->sw[pair->node[0] - one->hosts].watchdog;
    const char *text = said(pair, "own.watchdog.detect");
    if (text && unit_parse(UNIT_TIME, text, &detect, NULL) >= 0)
        units(pair, key_of("watchdog.detect"), UNIT_TIME, as->detect_ps, detect);
    text = said(pair, "own.watchdog.restore");
    if (text && unit_parse(UNIT_TIME, text, &restore, NULL) >= 0)
        units(pair, key_of("watchdog.restore"), UNIT_TIME, as->restore_ps, restore);
    text = said(pair, "own.watchdog.action");
    if (text && strcmp(text, action_of(as)) != 0)
        report(pair, "watchdog.action", "watchdog.action", action_of(as), text);
}

/* How a port that pauses came to it, and the cable that its headroom is for, which two systems take in whole metres. */
static void compare_pause(const struct pair *pair, const struct fabric_settings *a, const struct fabric_settings *b)
{
    const struct config_can *can = can_of(pair);
    const char *text = said(pair, "headroom-cable");
    uint64_t cable = a->headroom_cable_mm, running = 0;

    if (!(a->pfc_rx | a->pfc_tx) || !(b->pfc_rx | b->pfc_tx)) return; /* told as that */
    if (a->pfc_auto != b->pfc_auto && (!can || can->pfc_auto))
        report(pair, "pfc-mode", "pfc-mode", a->pfc_auto ? "auto" : "on", b->pfc_auto ? "auto" : "on");
    if (!cable) cable = pair->diff->approved.fabric->port[pair->port[0]].cable_mm;
    if (text && unit_parse(UNIT_LENGTH, text, &running, NULL) >= 0 && running != config_metres(cable) * 1000)
        units(pair, key_of("headroom-cable"), UNIT_LENGTH, cable, running);
}

/* What configurations say of priorities and classes and a fabric file does not: a class pauses with its own priority,
 * a pause stops the queue of its class, and a class takes the largest frames of the switch's ports that its system has
 * a number for. */
static void compare_own_classes(const struct pair *pair, const struct fabric_settings *a)
{
    const struct fabric *one = pair->diff->approved.fabric;
    const struct fabric_node *node = &one->node[pair->node[0]];
    const struct config_can *can = can_of(pair);
    uint32_t most = 0;

    for (uint32_t p = node->first_port; p < node->first_port + node->ports; p++)
        if (config_settings(one, p)->mtu_bytes > most) most = config_settings(one, p)->mtu_bytes;
    if (can && most > can->mtu_most) most = can->mtu_most;
    for (unsigned p = 0; p < FABRIC_PRIOS; p++) {
        bool lossless = a->lossless >> p & 1;
        char own[3][40], value[3][16];
        snprintf(own[0], sizeof own[0], "own.pfc-priority.%u", p);
        snprintf(own[1], sizeof own[1], "own.pfc-queue.%u", p);
        snprintf(own[2], sizeof own[2], "own.class-mtu.%u", p);
        snprintf(value[0], sizeof value[0], "%u", p);
        snprintf(value[1], sizeof value[1], "%u", a->tc_to_queue[p]);
        snprintf(value[2], sizeof value[2], "%u", most);
        for (int i = 0; i < 3; i++) {
            const char *text = said(pair, own[i]), *approved = i == 1 && !lossless ? "none" : value[i];
            if (text && (lossless || i == 1) && strcmp(text, approved) != 0)
                report(pair, own[i] + strlen("own."), own[i] + strlen("own."), approved, text);
        }
    }
}

/* Of a configuration, whether this end is shut: a link is down where either is. */
static void compare_up(const struct pair *pair)
{
    bool running = pair->diff->running.fabric->port[pair->port[1]].up;
    const char *text = said(pair, "up");

    if (pair->diff->running.imported) running = !text || strcmp(text, "false") != 0;
    truth(pair, key_of("up"), pair->diff->approved.fabric->port[pair->port[0]].up, running);
}

/* A bare number, as in the fabric file; systems that leave the header out of theirs have their own number before it. */
static void compare_mtu(const struct pair *pair, uint32_t a, uint32_t b)
{
    const struct config_format *format = format_of(pair);
    uint32_t over = format ? format->mtu_over : 0;
    char x[DIFF_VALUE], y[DIFF_VALUE];

    if (!told(pair, "mtu") || a == b) return;
    if (pair->diff->running.imported && over && a > over && b > over) {
        snprintf(x, sizeof x, "%u (frames of %u)", a - over, a);
        snprintf(y, sizeof y, "%u (frames of %u)", b - over, b);
    } else {
        snprintf(x, sizeof x, "%u", a);
        snprintf(y, sizeof y, "%u", b);
    }
    report(pair, "mtu", "mtu", x, y);
}

static void compare_port(struct pair *pair)
{
    const struct fabric *one = pair->diff->approved.fabric, *two = pair->diff->running.fabric;
    const struct fabric_port *p = &one->port[pair->port[0]], *q = &two->port[pair->port[1]];
    const struct fabric_settings *a = &one->settings[p->settings], *b = &two->settings[q->settings];

    pair->diff->ports++;
    if (a->trust != b->trust)
        report(pair, "trust", "trust", a->trust == SW_TRUST_PCP ? "pcp" : "dscp",
               b->trust == SW_TRUST_PCP ? "pcp" : "dscp");
    else if (a->trust == SW_TRUST_DSCP)
        maps(pair, "dscp-map", a->dscp_to_tc, b->dscp_to_tc, 64);
    else
        maps(pair, "pcp-map", a->pcp_to_tc, b->pcp_to_tc, 8);
    if (told(pair, "queue-map")) maps(pair, "queue-map", a->tc_to_queue, b->tc_to_queue, FABRIC_PRIOS);
    if (a->pfc_rx == a->pfc_tx && b->pfc_rx == b->pfc_tx) {
        bits(pair, "pfc", a->pfc_rx, b->pfc_rx);
    } else {
        bits(pair, "pfc.rx", a->pfc_rx, b->pfc_rx);
        bits(pair, "pfc.tx", a->pfc_tx, b->pfc_tx);
    }
    compare_pause(pair, a, b);
    compare_own_classes(pair, a);
    truth(pair, key_of("pause"), a->pause_all, b->pause_all);
    compare_mtu(pair, a->mtu_bytes, b->mtu_bytes);
    compare_up(pair);
    compare_watched(pair, a, b);
    compare_own_watchdog(pair);
    for (unsigned priority = 0; priority < FABRIC_PRIOS; priority++) {
        if (config_class_of(one, priority))
            compare_class(pair, priority, a, b);
        else if (config_class_of(two, priority))
            compare_extra_class(pair, priority, b);
    }
    compare_link(pair);
}

static void texts(const struct pair *pair, const char *key, const char *a, const char *b)
{
    if (strcmp(a ? a : "", b ? b : "") != 0) report(pair, key, key, a ? a : "not said", b ? b : "not said");
}

static const char *hash_text(uint8_t fields, char text[DIFF_VALUE])
{
    static const struct {
        uint8_t field;
        const char *name;
    } names[] = {{SW_HASH_SRC, "src"}, {SW_HASH_DST, "dst"}, {SW_HASH_SPORT, "sport"}, {SW_HASH_QP, "qp"}};
    size_t used = (size_t)snprintf(text, DIFF_VALUE, "[");

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (fields & names[i].field)
            used += (size_t)snprintf(text + used, DIFF_VALUE - used, "%s%s", used > 1 ? ", " : "", names[i].name);
    snprintf(text + used, DIFF_VALUE - used, "]");
    return text;
}

/* The switch itself, between two fabric files: a configuration knows little of it. */
static void compare_chip(const struct pair *pair)
{
    const struct fabric *one = pair->diff->approved.fabric, *two = pair->diff->running.fabric;
    const struct fabric_switch *a = &one->sw[pair->node[0] - one->hosts], *b = &two->sw[pair->node[1] - two->hosts];
    char x[DIFF_VALUE], y[DIFF_VALUE];

    if (pair->diff->running.imported) return;
    texts(pair, "model", a->model, b->model);
    units(pair, key_of("buffer"), UNIT_SIZE, a->buffer_bytes, b->buffer_bytes);
    units(pair, key_of("headroom-pool"), UNIT_SIZE, a->headroom_pool_bytes, b->headroom_pool_bytes);
    texts(pair, "nos", fabric_nos_names[a->nos], fabric_nos_names[b->nos]);
    texts(pair, "forwarding", a->bridged ? "bridged" : "routed", b->bridged ? "bridged" : "routed");
    texts(pair, "raise", a->raise_bounce ? "bounce" : "never", b->raise_bounce ? "bounce" : "never");
    truth(pair, key_of("drop-unknown-lossless"), a->drop_unknown, b->drop_unknown);
    texts(pair, "ecmp.hash", hash_text(a->hash_fields, x), hash_text(b->hash_fields, y));
}

/* A setting of an adapter that may be unsaid; of a configuration only what both say. */
static void choice(const struct pair *pair, const char *key, const char *const *names, uint8_t a, uint8_t b)
{
    if (pair->diff->running.imported && (a == FABRIC_UNSAID || b == FABRIC_UNSAID)) return;
    texts(pair, key, a == FABRIC_UNSAID ? NULL : names[a], b == FABRIC_UNSAID ? NULL : names[b]);
}

static const char *nccl_value(const struct fabric_nic *nic, const char *name)
{
    for (uint32_t i = 0; i < nic->nccls; i++)
        if (strcmp(nic->nccl[i].name, name) == 0) return nic->nccl[i].value;
    return NULL;
}

static void compare_nccl(const struct pair *pair, const struct fabric_nic *a, const struct fabric_nic *b)
{
    bool imported = pair->diff->running.imported;
    char key[96];

    for (uint32_t i = 0; i < a->nccls; i++) {
        const char *running = nccl_value(b, a->nccl[i].name);
        snprintf(key, sizeof key, "nccl.%.80s", a->nccl[i].name);
        if (running || !imported) texts(pair, key, a->nccl[i].value, running);
    }
    for (uint32_t i = 0; i < b->nccls && !imported; i++) {
        if (nccl_value(a, b->nccl[i].name)) continue;
        snprintf(key, sizeof key, "nccl.%.80s", b->nccl[i].name);
        texts(pair, key, NULL, b->nccl[i].value);
    }
}

static void compare_nic(const struct pair *pair)
{
    static const char *const truths[] = {"false", "true"};
    const struct fabric *one = pair->diff->approved.fabric, *two = pair->diff->running.fabric;
    const struct fabric_nic *a = &one->nic[one->endpoint[pair->port[0]].nic];
    const struct fabric_nic *b = &two->nic[two->endpoint[pair->port[1]].nic];
    char x[8], y[8];

    choice(pair, "dcqcn.rp", truths, a->dcqcn_rp, b->dcqcn_rp);
    choice(pair, "dcqcn.np", truths, a->dcqcn_np, b->dcqcn_np);
    choice(pair, "dcbx.willing", truths, a->dcbx_willing, b->dcbx_willing);
    choice(pair, "dcbx.mode", fabric_dcbx_names, a->dcbx_mode, b->dcbx_mode);
    snprintf(x, sizeof x, "%u", a->cnp_dscp);
    snprintf(y, sizeof y, "%u", b->cnp_dscp);
    if (a->cnp_dscp != b->cnp_dscp &&
        !(pair->diff->running.imported && (a->cnp_dscp == FABRIC_UNSAID || b->cnp_dscp == FABRIC_UNSAID)))
        texts(pair, "cnp-dscp", a->cnp_dscp == FABRIC_UNSAID ? NULL : x, b->cnp_dscp == FABRIC_UNSAID ? NULL : y);
    compare_nccl(pair, a, b);
    if (told(pair, "mtu") && a->mtu_bytes != b->mtu_bytes) {
        snprintf(x, sizeof x, "%u", a->mtu_bytes);
        snprintf(y, sizeof y, "%u", b->mtu_bytes);
        report(pair, "mtu", "mtu", x, y);
    }
    if (!pair->diff->running.imported) texts(pair, "congestion", a->congestion, b->congestion);
}

static void compare_switch(struct pair *pair)
{
    const struct fabric *one = pair->diff->approved.fabric, *two = pair->diff->running.fabric;
    const struct fabric_watchdog *a = &one->sw[pair->node[0] - one->hosts].watchdog;
    const struct fabric_watchdog *b = &two->sw[pair->node[1] - two->hosts].watchdog;
    const struct config_can *can = can_of(pair);

    compare_chip(pair);
    truth(pair, key_of("watchdog"), a->on, b->on);
    if (!a->on || !b->on) return;
    told_units(pair, key_of("watchdog.poll"), UNIT_TIME, a->poll_ps, b->poll_ps);
    told_units(pair, key_of("watchdog.detect"), UNIT_TIME, a->detect_ps, b->detect_ps);
    if (!can || can->restore) told_units(pair, key_of("watchdog.restore"), UNIT_TIME, a->restore_ps, b->restore_ps);
    if ((a->drop != b->drop || a->shutdown != b->shutdown) && (!can || can->action))
        report(pair, "watchdog.action", "watchdog.action", action_of(a), action_of(b));
}

/* The name that the running system would give an approved port; NULL: none. */
static const char *label_of(const struct fabric *one, const struct fabric *two, uint32_t node, uint32_t port,
                            char buf[FABRIC_NAME])
{
    const char *name = name_of(one, port);

    if (name || node < two->hosts) return name;
    uint8_t nos = two->sw[node - two->hosts].nos;
    const struct config_format *format = nos ? config_format_find(fabric_nos_names[nos]) : NULL;
    buf[0] = 0;
    if (format && format->port_name) format->port_name(one, port, buf, FABRIC_NAME);
    return buf[0] ? buf : NULL;
}

static uint32_t port_called(const struct fabric *two, uint32_t node, const char *name)
{
    const struct fabric_node *as = &two->node[node];

    for (uint32_t p = as->first_port; name && p < as->first_port + as->ports; p++)
        if (name_of(two, p) && strcmp(name, name_of(two, p)) == 0) return p;
    return FABRIC_NONE;
}

bool diff_by_number(const struct fabric *one, const struct fabric *two, uint32_t approved, uint32_t running)
{
    const struct fabric_node *node = &one->node[approved], *other = &two->node[running];
    bool named = false;
    char buf[FABRIC_NAME];

    for (uint32_t p = other->first_port; p < other->first_port + other->ports; p++)
        named |= name_of(two, p) != NULL;
    for (uint32_t p = node->first_port; named && p < node->first_port + node->ports; p++) {
        const char *label = label_of(one, two, running, p, buf);
        if (name_of(one, p) || port_called(two, running, label) != FABRIC_NONE) return false;
    }
    return true;
}

uint32_t diff_same_port(const struct fabric *one, const struct fabric *two, uint32_t running, uint32_t port,
                        bool by_number)
{
    const struct fabric_node *node = &two->node[running];
    uint32_t index = one->port[port].index;
    char buf[FABRIC_NAME];

    if (!by_number) return port_called(two, running, label_of(one, two, running, port, buf));
    return index < node->ports ? node->first_port + index : FABRIC_NONE;
}

/* Ports of a device that both have; those of the running side that are approved nowhere. */
static void compare_ports(struct pair *pair)
{
    const struct fabric *one = pair->diff->approved.fabric, *two = pair->diff->running.fabric;
    const struct fabric_node *node = &one->node[pair->node[0]], *other = &two->node[pair->node[1]];
    bool *met = calloc(other->ports + 1u, sizeof(*met));
    bool by_number = diff_by_number(one, two, pair->node[0], pair->node[1]);

    for (uint32_t p = node->first_port; p < node->first_port + node->ports; p++) {
        if (one->port[p].peer == FABRIC_NONE) continue;
        pair->port[0] = p;
        pair->port[1] = diff_same_port(one, two, pair->node[1], p, by_number);
        fabric_port_name(one, p, pair->name);
        if (pair->port[1] == FABRIC_NONE) {
            report(pair, "ports", "ports", pair->name, "missing");
            continue;
        }
        met[pair->port[1] - other->first_port] = true;
        compare_port(pair);
        if (pair->node[0] < one->hosts) compare_nic(pair);
    }
    for (uint32_t q = other->first_port; q < other->first_port + other->ports; q++) {
        uint32_t peer = two->port[q].peer;
        if (met[q - other->first_port] || peer == FABRIC_NONE || fabric_node_unknown(two, two->port[peer].node))
            continue;
        pair->port[0] = FABRIC_NONE;
        pair->port[1] = q;
        fabric_port_name(two, q, pair->name);
        report(pair, "ports", "", "missing", pair->name);
    }
    free(met);
}

/* Devices that run and are approved nowhere. */
static void extra_devices(struct diff *diff)
{
    const struct fabric *one = diff->approved.fabric, *two = diff->running.fabric;

    for (uint32_t n = 0; n < two->nodes; n++) {
        struct pair pair = {.diff = diff, .node = {FABRIC_NONE, n}, .port = {FABRIC_NONE, FABRIC_NONE}};
        if (fabric_node_unknown(two, n) || fabric_find_node(one, two->node[n].name) != FABRIC_NONE) continue;
        report(&pair, "devices", "", "missing", two->node[n].name);
    }
}

void diff_run(struct diff *diff)
{
    const struct fabric *one = diff->approved.fabric, *two = diff->running.fabric;

    for (uint32_t n = 0; n < one->nodes; n++) {
        struct pair pair = {.diff = diff, .node = {n, fabric_find_node(two, one->node[n].name)}};
        const struct fabric_node *node = &one->node[n];

        if (fabric_node_unknown(one, n)) continue;
        pair.port[0] = pair.port[1] = FABRIC_NONE;
        if (pair.node[1] == FABRIC_NONE || two->node[pair.node[1]].kind != node->kind) {
            /* of configurations only those that were given are there */
            if (!diff->running.imported) report(&pair, "devices", "devices", node->name, "missing");
            continue;
        }
        diff->devices++;
        if (node->kind == FABRIC_SWITCH) compare_switch(&pair);
        compare_ports(&pair);
    }
    extra_devices(diff);
}
