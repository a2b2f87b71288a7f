/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two fabrics compared as they are resolved, so that a value said in another layer is no drift and one that is said
 * nowhere and comes out otherwise is.
 *
 * Devices are the same by name, ports by the name their system gives them or else by number, classes by priority.
 * Where the running fabric comes from configurations, what a configuration is silent about and only the fabric's
 * defaults would fill (shares, headroom, timers) is not compared; on and off always are.
 */
#include "cli/diff.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"

struct pair { /* what is being compared */
    struct diff *diff;
    uint32_t node[2], port[2]; /* approved, running; port FABRIC_NONE: the device */
    char name[FABRIC_NAME];
};

/* Who answers for a key: the owner of one of its words, or of the family it belongs to. */
static const char *owner_of(const struct fabric *fabric, const char *key)
{
    static const struct {
        const char *word, *family;
    } families[] = {{"xoff", "headroom"},
                    {"xon", "headroom"},
                    {"headroom", "buffer"},
                    {"dscp-map", "maps"},
                    {"pcp-map", "maps"},
                    {"trust", "maps"},
                    {"lossless", "pfc"},
                    {"share", "scheduling"},
                    {"strict", "scheduling"},
                    {"queue-map", "maps"},
                    {NULL, NULL}};
    const struct fabric_operations *operations = &fabric->operations;

    for (uint32_t o = 0; o < operations->owners; o++) {
        const char *found = strstr(key, operations->owner[o].name);
        size_t length = strlen(operations->owner[o].name);
        if (found && (found == key || found[-1] == '.') && (found[length] == 0 || found[length] == '.'))
            return operations->owner[o].value;
    }
    for (int f = 0; families[f].word; f++) {
        if (!strstr(key, families[f].word)) continue;
        for (uint32_t o = 0; o < operations->owners; o++)
            if (strcmp(operations->owner[o].name, families[f].family) == 0) return operations->owner[o].value;
    }
    return NULL;
}

static void report(const struct pair *pair, const char *key, const char *running_key, const char *approved,
                   const char *running)
{
    struct diff *diff = pair->diff;
    struct drift drift = {.device = diff->approved->fabric->node[pair->node[0]].name,
                          .port = pair->port[0] == FABRIC_NONE ? NULL : pair->name,
                          .key = key,
                          .owner = owner_of(diff->approved->fabric, key)};

    snprintf(drift.approved, sizeof drift.approved, "%s", approved);
    snprintf(drift.running, sizeof drift.running, "%s", running);
    drift.approved_at =
        cli_source_place(diff->approved, fabric_where(diff->approved->places, pair->node[0], pair->port[0], key));
    drift.running_at =
        cli_source_place(diff->running, fabric_where(diff->running->places, pair->node[1], pair->port[1], running_key));
    diff->drifts++;
    diff->each(diff->to, &drift);
}

/* Does the running side say it, or is it a whole fabric file? */
static bool told(const struct pair *pair, const char *key)
{
    const struct cli_source *running = pair->diff->running;

    return !running->imported || fabric_says(running->places, pair->node[1], pair->port[1], key) ||
           fabric_says(running->places, pair->node[1], FABRIC_NONE, key);
}

static void units(const struct pair *pair, const char *key, const char *running_key, enum unit_kind unit, uint64_t a,
                  uint64_t b)
{
    char x[UNIT_TEXT], y[UNIT_TEXT];

    if (a == b) return;
    report(pair, key, running_key, a == FABRIC_UNLIMITED ? "none" : unit_format(unit, a, x),
           b == FABRIC_UNLIMITED ? "none" : unit_format(unit, b, y));
}

static void truth(const struct pair *pair, const char *key, const char *running_key, bool a, bool b)
{
    if (a != b) report(pair, key, running_key, a ? "true" : "false", b ? "true" : "false");
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

static const struct fabric_class *class_of(const struct fabric *fabric, unsigned priority)
{
    for (uint32_t c = 0; c < fabric->class_count; c++)
        if (fabric->classes[c].priority == priority) return &fabric->classes[c];
    return NULL;
}

struct class_keys {
    char approved[96], running[96];
};

static const struct class_keys *keys(const struct pair *pair, unsigned priority, const char *leaf,
                                     struct class_keys *buf)
{
    const struct fabric_class *a = class_of(pair->diff->approved->fabric, priority);
    const struct fabric_class *b = class_of(pair->diff->running->fabric, priority);

    snprintf(buf->approved, sizeof buf->approved, "classes.%.48s.%s", a->name, leaf);
    snprintf(buf->running, sizeof buf->running, "classes.%.48s.%s", b ? b->name : a->name, leaf);
    return buf;
}

static void compare_class(const struct pair *pair, unsigned priority, const struct fabric_settings *a,
                          const struct fabric_settings *b)
{
    const struct fabric_queue *x = &a->queue[a->tc_to_queue[priority]], *y = &b->queue[b->tc_to_queue[priority]];
    const struct fabric_pg *g = &a->pg[a->tc_to_pg[priority]], *h = &b->pg[b->tc_to_pg[priority]];
    struct class_keys buf;
    const struct class_keys *k = keys(pair, priority, "lossless", &buf);

    truth(pair, k->approved, k->running, a->lossless >> priority & 1, b->lossless >> priority & 1);
    k = keys(pair, priority, "strict", &buf);
    truth(pair, k->approved, k->running, x->strict, y->strict);
    k = keys(pair, priority, "share", &buf);
    if (!x->strict && !y->strict && told(pair, k->running))
        units(pair, k->approved, k->running, UNIT_SHARE, x->share_ppm, y->share_ppm);
    k = keys(pair, priority, "ecn", &buf);
    truth(pair, k->approved, k->running, x->ecn.on, y->ecn.on);
    if (x->ecn.on && y->ecn.on) {
        k = keys(pair, priority, "ecn.min", &buf);
        units(pair, k->approved, k->running, UNIT_SIZE, x->ecn.min_bytes, y->ecn.min_bytes);
        k = keys(pair, priority, "ecn.max", &buf);
        units(pair, k->approved, k->running, UNIT_SIZE, x->ecn.max_bytes, y->ecn.max_bytes);
        k = keys(pair, priority, "ecn.probability", &buf);
        units(pair, k->approved, k->running, UNIT_SHARE, x->ecn.probability_ppm, y->ecn.probability_ppm);
    }
    if (!g->lossless || !h->lossless) return;
    k = keys(pair, priority, "xoff", &buf);
    if (told(pair, k->running)) units(pair, k->approved, k->running, UNIT_SIZE, g->static_bytes, h->static_bytes);
    k = keys(pair, priority, "xon", &buf);
    if (told(pair, k->running))
        units(pair, k->approved, k->running, UNIT_SIZE, g->xon_offset_bytes, h->xon_offset_bytes);
    k = keys(pair, priority, "headroom", &buf);
    if (told(pair, k->running)) units(pair, k->approved, k->running, UNIT_SIZE, g->headroom_bytes, h->headroom_bytes);
}

static void compare_port(struct pair *pair)
{
    const struct fabric *one = pair->diff->approved->fabric, *two = pair->diff->running->fabric;
    const struct fabric_port *p = &one->port[pair->port[0]], *q = &two->port[pair->port[1]];
    const struct fabric_settings *a = &one->settings[p->settings], *b = &two->settings[q->settings];

    pair->diff->ports++;
    if (a->trust != b->trust)
        report(pair, "trust", "trust", a->trust == FABRIC_TRUST_PCP ? "pcp" : "dscp",
               b->trust == FABRIC_TRUST_PCP ? "pcp" : "dscp");
    else if (a->trust == FABRIC_TRUST_DSCP)
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
    truth(pair, "pause", "pause", a->pause_all, b->pause_all);
    if (told(pair, "mtu") && a->mtu_bytes != b->mtu_bytes) { /* a bare number, as in the file */
        char x[16], y[16];
        snprintf(x, sizeof x, "%u", a->mtu_bytes);
        snprintf(y, sizeof y, "%u", b->mtu_bytes);
        report(pair, "mtu", "mtu", x, y);
    }
    truth(pair, "up", "up", p->up, q->up);
    for (uint32_t c = 0; c < one->class_count; c++)
        compare_class(pair, one->classes[c].priority, a, b);
}

static void compare_switch(struct pair *pair)
{
    const struct fabric *one = pair->diff->approved->fabric, *two = pair->diff->running->fabric;
    const struct fabric_watchdog *a = &one->sw[pair->node[0] - one->hosts].watchdog;
    const struct fabric_watchdog *b = &two->sw[pair->node[1] - two->hosts].watchdog;

    truth(pair, "watchdog", "watchdog", a->on, b->on);
    if (!a->on || !b->on) return;
    if (told(pair, "watchdog.poll")) units(pair, "watchdog.poll", "watchdog.poll", UNIT_TIME, a->poll_ps, b->poll_ps);
    if (told(pair, "watchdog.detect"))
        units(pair, "watchdog.detect", "watchdog.detect", UNIT_TIME, a->detect_ps, b->detect_ps);
    if (told(pair, "watchdog.restore"))
        units(pair, "watchdog.restore", "watchdog.restore", UNIT_TIME, a->restore_ps, b->restore_ps);
    if (a->drop != b->drop || a->shutdown != b->shutdown)
        report(pair, "watchdog.action", "watchdog.action",
               a->shutdown ? "shutdown"
               : a->drop   ? "drop"
                           : "forward",
               b->shutdown ? "shutdown"
               : b->drop   ? "drop"
                           : "forward");
}

static const char *name_of(const struct fabric *fabric, uint32_t port)
{
    return fabric->operations.port_name ? fabric->operations.port_name[port] : NULL;
}

/* The running port that is this one: by the name its system has for it, else by number. */
static uint32_t same_port(const struct pair *pair, uint32_t port)
{
    const struct fabric *one = pair->diff->approved->fabric, *two = pair->diff->running->fabric;
    const struct fabric_node *node = &two->node[pair->node[1]];
    const char *name = name_of(one, port);
    char label[FABRIC_NAME] = "";

    if (!name && pair->node[1] >= two->hosts) {
        uint8_t nos = two->sw[pair->node[1] - two->hosts].nos;
        const struct config_format *format = nos ? config_format_find(fabric_nos_names[nos]) : NULL;
        if (format && format->port_name) format->port_name(one, port, label, sizeof label);
        name = label[0] ? label : NULL;
    }
    bool named = false;
    for (uint32_t p = node->first_port; p < node->first_port + node->ports; p++) {
        const char *other = name_of(two, p);
        named |= other != NULL;
        if (name && other && strcmp(name, other) == 0) return p;
    }
    uint32_t index = one->port[port].index;
    return name && named ? FABRIC_NONE : index < node->ports ? node->first_port + index : FABRIC_NONE;
}

void diff_run(struct diff *diff)
{
    const struct fabric *one = diff->approved->fabric, *two = diff->running->fabric;

    for (uint32_t n = 0; n < one->nodes; n++) {
        struct pair pair = {.diff = diff, .node = {n, fabric_find_node(two, one->node[n].name)}};
        const struct fabric_node *node = &one->node[n];

        if (fabric_node_unknown(one, n)) continue;
        pair.port[0] = pair.port[1] = FABRIC_NONE;
        if (pair.node[1] == FABRIC_NONE || two->node[pair.node[1]].kind != node->kind) {
            /* of configurations only those that were given are there */
            if (!diff->running->imported) report(&pair, "devices", "devices", node->name, "missing");
            continue;
        }
        diff->devices++;
        if (node->kind == FABRIC_SWITCH) compare_switch(&pair);
        for (uint32_t p = node->first_port; p < node->first_port + node->ports; p++) {
            if (one->port[p].peer == FABRIC_NONE) continue;
            pair.port[0] = p;
            pair.port[1] = same_port(&pair, p);
            fabric_port_name(one, p, pair.name);
            if (pair.port[1] != FABRIC_NONE) {
                compare_port(&pair);
                continue;
            }
            pair.port[1] = FABRIC_NONE;
            report(&pair, "ports", "ports", pair.name, "missing");
        }
    }
}
