/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `class-of-service interfaces` binds to ports, and the number that each forwarding class has in the fabric.
 *
 * A port's own entry goes before one with a wildcard (`et-*`), that before the entry of its aggregate.
 *
 * A fabric's class is known by its priority.  A class without loss has the priority of its pauses; all others are free
 * to have any, for Junos knows queues only: that of the queue, else that of the upper bits of its lowest DSCP, else one
 * that is left.  A name that begins with TC and a digit has that number: written configurations have such names.
 */
#include <string.h>

#include "config/junos/junos_int.h"
#include "config/words.h"

#define PATTERNS_MAX 64u

static void take_value(struct junos_node *value, const char **ret, uint32_t *ret_line)
{
    if (!value) return;
    *ret = value->word;
    *ret_line = value->line;
}

/* Of the port itself, or of a unit of it. */
static void read_level(struct junos *in, struct junos_node *node, struct junos_binding *as)
{
    struct junos_tree *tree = &in->tree;

    take_value(junos_value(tree, node, "congestion-notification-profile"), &as->pauses, &as->pauses_line);
    take_value(junos_value(tree, node, "scheduler-map"), &as->map, &as->map_line);
    take_value(junos_value(tree, node, "classifiers dscp"), &as->dscp, &as->dscp_line);
    take_value(junos_value(tree, node, "classifiers ieee-802.1"), &as->ieee, &as->ieee_line);
    take_value(junos_value(tree, node, "rewrite-rules dscp"), &as->rewrite, &as->rewrite_line);
    take_value(junos_value(tree, node, "forwarding-class"), &as->fixed, &as->fixed_line);
}

/* `output-traffic-control-profile T`, alone or of a forwarding-class-set: its scheduler map. */
static void read_control(struct junos *in, struct junos_node *cos, struct junos_node *node, struct junos_binding *as)
{
    struct junos_node *profile = junos_value(&in->tree, node, "output-traffic-control-profile");
    struct junos_node *profiles = junos_get(&in->tree, cos, "traffic-control-profiles");

    for (struct junos_node *set = junos_first(&in->tree, node, "forwarding-class-set"); set && !profile;
         set = set->next) {
        profile = junos_value(&in->tree, set, "output-traffic-control-profile");
        junos_known_all(set);
    }
    if (!profile || as->map || !cos) return;
    struct junos_node *of = profiles ? junos_child(&in->tree, profiles, profile->word) : NULL;
    struct junos_node *map = junos_value(&in->tree, of, "scheduler-map");
    if (!of)
        NOTE(in, profile->line, "MAP007", CONFIG_NONE, "traffic-control-profile %.60s is not defined", profile->word);
    take_value(map, &as->map, &as->map_line);
}

static void read_entry(struct junos *in, struct junos_node *cos, struct junos_node *node, struct junos_binding *as)
{
    *as = (struct junos_binding){.line = node->line};
    junos_known(node);
    read_level(in, node, as);
    read_control(in, cos, node, as);
    for (struct junos_node *unit = junos_first(&in->tree, node, "unit"); unit; unit = unit->next) {
        unit->known = true;
        read_level(in, unit, as);
    }
}

/* What `over` leaves open is `below`'s. */
static void lay(struct junos_binding *over, const struct junos_binding *below)
{
#define LAY(name)                                                                                                      \
    if (!over->name) over->name = below->name, over->name##_line = below->name##_line
    LAY(pauses);
    LAY(map);
    LAY(rewrite);
    LAY(fixed);
    if (!over->dscp && !over->ieee) {
        LAY(dscp);
        LAY(ieee);
    }
#undef LAY
    if (!over->line) over->line = below->line;
}

static bool is_cos_word(const char *word)
{
    static const char words[] =
        "congestion-notification-profile scheduler-map classifiers rewrite-rules forwarding-class"
        " forwarding-class-set output-traffic-control-profile input-traffic-control-profile shaping-rate"
        " dedicated-buffer-profile monitoring-profile";

    return words_have(words, word);
}

/* Does the outermost `interfaces` say what class of service says of ports, and nothing else?  Then it is a part that
 * was cut out without its head. */
static bool is_cos_only(const struct junos_node *interfaces)
{
    bool any = false;

    for (const struct junos_node *port = interfaces->first; port; port = port->next) {
        for (const struct junos_node *at = port->first; at; at = at->next) {
            bool units = strcmp(at->word, "unit") == 0;
            if (!units && !is_cos_word(at->word)) return false;
            any = any || !units;
            for (const struct junos_node *unit = units ? at->first : NULL; unit; unit = unit->next)
                for (const struct junos_node *of = unit->first; of; of = of->next, any = true)
                    if (!is_cos_word(of->word)) return false;
        }
    }
    return any;
}

struct junos_node *junos_cos_interfaces(struct junos *in, struct junos_node *cos)
{
    struct junos_node *entries = junos_get(&in->tree, cos, "interfaces");
    struct junos_node *outer = junos_child(&in->tree, &in->tree.root, "interfaces");

    if (entries || !cos || !outer || !is_cos_only(outer)) return entries;
    junos_known(outer);
    return outer;
}

/* An entry for an aggregate that is not there, or for the one port that is not: what it binds is bound to nothing, and
 * the port that it was meant for lacks it. */
static void judge_ghosts(struct junos *in, struct junos_node *entries)
{
    struct junos_node *interfaces = junos_child(&in->tree, &in->tree.root, "interfaces");
    uint32_t unwritten = 0, written = 0;

    for (uint32_t p = 0; p < in->ports; p++) {
        bool with_cos = in->port[p].cos.line != 0;
        unwritten += with_cos && in->port[p].unwritten;
        written += with_cos && !in->port[p].unwritten;
    }
    for (struct junos_node *at = entries && interfaces ? entries->first : NULL; at; at = at->next) {
        bool aggregate = strncmp(at->word, "ae", 2) == 0 && at->word[2] >= '0' && at->word[2] <= '9';
        bool port = unwritten == 1 && written > 2 && strncmp(at->word, "et-", 3) == 0 && !junos_has_wildcard(at->word);
        if ((!aggregate && !port) || junos_child(&in->tree, interfaces, at->word)) continue;
        NOTE(in, at->line, "MAP007", CONFIG_NONE, "class-of-service interfaces %.60s: there is no such interface",
             at->word);
        struct junos_binding as;
        read_entry(in, NULL, at, &as);
        for (uint32_t p = 0; p < in->ports; p++) {
            const struct junos_binding *cos = &in->port[p].cos;
            bool lacks = (as.dscp && !cos->dscp && !cos->ieee) || (as.pauses && !cos->pauses) || (as.map && !cos->map);
            if (!cos->line || in->port[p].unwritten || !lacks) continue;
            in->port[p].ghost_line = at->line;
        }
    }
}

void junos_bind(struct junos *in, struct junos_node *cos)
{
    struct junos_node *entries = junos_cos_interfaces(in, cos), *pattern[PATTERNS_MAX];
    struct junos_binding below[PATTERNS_MAX];
    uint32_t patterns = 0;

    for (struct junos_node *at = entries ? entries->first : NULL; at; at = at->next) {
        if (!junos_has_wildcard(at->word) && strcmp(at->word, "all") != 0) continue;
        if (patterns == PATTERNS_MAX || strlen(at->word) > 64) continue;
        read_entry(in, cos, at, &below[patterns]);
        pattern[patterns++] = at;
    }
    bool any = false;
    for (uint32_t p = 0; p < in->ports; p++) {
        struct junos_node *own = entries ? junos_child(&in->tree, entries, in->port[p].name) : NULL;
        if (own) read_entry(in, cos, own, &in->port[p].cos);
        any = any || own;
        for (uint32_t i = 0; i < patterns; i++) {
            if (strcmp(pattern[i]->word, "all") != 0 && !junos_matches(pattern[i]->word, in->port[p].name)) continue;
            lay(&in->port[p].cos, &below[i]);
            any = true;
        }
    }
    if (!any && in->ports && patterns) /* templates have patterns for kinds of ports that a switch has none of */
        NOTE(in, pattern[0]->line, "MAP007", CONFIG_NONE, "class-of-service interfaces %.60s: there is no such port",
             pattern[0]->word);
    for (uint32_t p = 0; p < in->ports; p++) {
        for (uint32_t a = 0; in->port[p].lag && a < in->ports; a++)
            if (strcmp(in->port[a].name, in->port[p].lag) == 0) lay(&in->port[p].cos, &in->port[a].cos);
    }
    judge_ghosts(in, entries);
}

/* --- numbers of classes --- */

static unsigned taken_by(const struct junos *in, int tc, const struct junos_class **ret)
{
    for (uint32_t c = 0; c < in->classes; c++) {
        if (in->class[c].tc != tc) continue;
        *ret = &in->class[c];
        return true;
    }
    return false;
}

static bool is_free(const struct junos *in, int tc)
{
    const struct junos_class *other;

    return tc >= 0 && tc < (int)JUNOS_PRIOS && !taken_by(in, tc, &other);
}

/* The priority whose pauses stop this queue; -1: none does. */
static int stopped_by(const struct junos *in, int queue)
{
    for (uint32_t n = 0; n < in->pauseses; n++)
        for (unsigned p = 0; p < JUNOS_PRIOS && queue < (int)JUNOS_PRIOS; p++)
            if (in->pauses[n].queues[p] >> queue & 1) return (int)p;
    return -1;
}

static int hinted(const struct junos_class *class)
{
    const char *name = class->name;
    bool hint = strncmp(name, "TC", 2) == 0 && name[2] >= '0' && name[2] <= '7' && (name[3] == 0 || name[3] == '-');

    return hint ? name[2] - '0' : -1;
}

static int upper_bits(const struct junos *in, int class)
{
    for (unsigned d = 0; d < 64; d++)
        for (uint32_t n = 0; n < in->classifiers; n++)
            if (!in->classifier[n].ieee && in->classifier[n].class[d] == class) return (int)d >> 3;
    return -1;
}

static int lossy_number(const struct junos *in, uint32_t c)
{
    const struct junos_class *class = &in->class[c], *other;
    int bits = upper_bits(in, (int)c);

    if (is_free(in, class->queue)) return class->queue;
    for (uint32_t o = 0; o < in->classes; o++) { /* of one queue: they are served as one */
        other = &in->class[o];
        if (other->tc >= 0 && !other->no_loss && other->queue == class->queue) return other->tc;
    }
    if (is_free(in, bits)) return bits;
    for (int tc = 0; tc < (int)JUNOS_PRIOS; tc++)
        if (is_free(in, tc)) return tc;
    return 0;
}

static bool is_needed(const struct junos *in, uint32_t c)
{
    const struct junos_class *class = &in->class[c];
    bool best = strcmp(class->name, "best-effort") == 0, control = strcmp(class->name, "network-control") == 0;

    if (class->used || class->queue >= (int)JUNOS_PRIOS) return class->used && class->queue < (int)JUNOS_PRIOS;
    if (!best && !control) return false;
    for (uint32_t p = 0; p < in->ports; p++)
        if (!in->port[p].channels && !in->port[p].cos.dscp && !in->port[p].cos.ieee) return true;
    for (uint32_t n = 0; n < in->classifiers && best; n++)
        for (unsigned d = 0; d < (in->classifier[n].ieee ? 8u : 64u); d++)
            if (in->classifier[n].class[d] < 0) return true;
    return false;
}

static bool is_paused_for(const struct junos *in, int class)
{
    for (uint32_t n = 0; n < in->pauseses; n++)
        for (uint32_t m = 0; m < in->classifiers; m++)
            for (unsigned d = 0; d < 64 && !in->classifier[m].ieee; d++)
                if (in->classifier[m].class[d] == class && (in->pauses[n].dscps >> d & 1)) return true;
    return false;
}

/* A class without loss: the priority of its pauses.  Where its queue is stopped by another, which the DSCP's upper bits
 * have too, that: the one that is wrong is told, and what follows from it is not. */
static int lossless_number(const struct junos *in, uint32_t c)
{
    const struct junos_class *class = &in->class[c];
    int stopped = stopped_by(in, class->queue);

    if (class->priority < 0) return stopped >= 0 ? stopped : class->queue;
    return stopped >= 0 && stopped != class->priority && stopped == upper_bits(in, (int)c) ? stopped : class->priority;
}

void junos_traffic_classes(struct junos *in)
{
    for (uint32_t c = 0; c < in->classes; c++) {
        struct junos_class *class = &in->class[c];
        if (class->used && class->no_loss && class->queue < (int)JUNOS_PRIOS) class->tc = lossless_number(in, c);
    }
    for (uint32_t c = 0; c < in->classes; c++) { /* one that lacks no-loss, and has all else of it */
        struct junos_class *class = &in->class[c];
        int stopped = stopped_by(in, class->queue);
        if (class->tc < 0 && class->configured && hinted(class) < 0 && is_free(in, stopped) &&
            is_paused_for(in, (int)c))
            class->tc = stopped;
    }
    for (uint32_t c = 0; c < in->classes; c++) {
        struct junos_class *class = &in->class[c];
        if (class->tc < 0 && is_needed(in, c) && is_free(in, hinted(class))) class->tc = hinted(class);
    }
    for (uint32_t c = 0; c < in->classes; c++)
        if (in->class[c].tc < 0 && is_needed(in, c)) in->class[c].tc = lossy_number(in, c);
    for (uint32_t c = 0; c < in->classes; c++) {
        const struct junos_class *class = &in->class[c];
        if (class->tc < 0 || !class->configured) continue;
        config_class_name(in->set, (unsigned)class->tc,
                          hinted(class) >= 0 && class->name[3] ? class->name + 4 : class->name);
    }
}
