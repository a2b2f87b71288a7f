/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is wrong in a Junos class of service by itself: its parts must agree, and only the whole makes traffic lossless.
 * The classifier puts a DSCP into a class without loss; the congestion notification profile pauses for that DSCP, with
 * the priority of the class; the same priority, when the peer pauses, stops the queue of the class.
 */
#include <string.h>

#include "config/junos/junos_int.h"

#define CONTROL_DSCP 48u
#define CNP_DSCP 48u
#define LATE_FILL 50u /* per cent of a queue: marking that begins there is worth a word */

/* DSCPs that RoCE is usually sent with: of two places that disagree, the other one is told. */
static bool usual(unsigned dscp)
{
    return dscp == 24 || dscp == 26;
}

static int class_of(const struct junos *in, const struct junos_classifier *as, unsigned dscp)
{
    int class = as->class[dscp];

    return class >= 0 && in->class[class].no_loss ? class : -1;
}

/* A DSCP of a class without loss that the profile does not pause for; -1: there is none. */
static int left_out(const struct junos *in, const struct junos_classifier *as, const struct junos_pauses *pauses)
{
    for (unsigned d = 0; d < 64; d++)
        if (d && d < CONTROL_DSCP && class_of(in, as, d) >= 0 && !(pauses->dscps >> d & 1)) return (int)d; /* PFC004 */
    return -1;
}

static bool stops(const struct junos_pauses *pauses, int queue)
{
    for (unsigned p = 0; p < JUNOS_PRIOS; p++)
        if (queue < (int)JUNOS_PRIOS && (pauses->queues[p] >> queue & 1)) return true;
    return false;
}

static void judge_points(struct junos *in, const struct junos_classifier *as, const struct junos_pauses *pauses)
{
    int other = left_out(in, as, pauses);
    bool told = false;

    for (unsigned d = 0; d < 64; d++) {
        if (!(pauses->dscps >> d & 1) || class_of(in, as, d) >= 0) continue;
        bool there = other >= 0 && usual(d) && !usual((unsigned)other); /* the classifier is the odd one */
        uint32_t line = there                                        ? as->at[other]
                        : usual(d) && as->class[d] >= 0 && other < 0 ? as->at[d]
                                                                     : pauses->dscp_line[d];
        const char *class = as->class[d] < 0 ? "best-effort" : in->class[as->class[d]].name;
        told = true;
        if (as->class[d] >= 0 && stops(pauses, in->class[as->class[d]].queue)) { /* all else is there */
            NOTE(in, in->class[as->class[d]].line, "PFC002", CONFIG_NONE,
                 "forwarding class %.60s is paused for and its queue is stopped by pauses, and it is not no-loss",
                 class);
            continue;
        }
        NOTE(in, line, "MAP001", CONFIG_NONE,
             "congestion-notification-profile %.60s pauses for DSCP %u, which classifier %.60s puts into %.60s, a "
             "class with loss",
             pauses->name, d, as->name, class);
    }
    if (told || other < 0 || !pauses->dscps) return;
    NOTE(in, pauses->input_line ? pauses->input_line : pauses->line, "PFC002", CONFIG_NONE,
         "classifier %.60s puts DSCP %d into %.60s, which is without loss, and congestion-notification-profile %.60s "
         "does not pause for it",
         as->name, other, in->class[as->class[other]].name, pauses->name);
}

/* A class of this profile: its priority stops its queue.  Of two priorities that disagree, the one that the upper bits
 * of the DSCP have is right. */
static void judge_output(struct junos *in, const struct junos_class *class, const struct junos_pauses *pauses)
{
    unsigned p = (unsigned)(class->priority >= 0 ? class->priority : class->tc), q = (unsigned)class->queue;
    unsigned stopping = JUNOS_PRIOS;

    if (!pauses->output || (pauses->queues[p] >> q & 1)) return;
    for (unsigned other = 0; other < JUNOS_PRIOS; other++)
        if (pauses->queues[other] >> q & 1) stopping = other;
    if (stopping == JUNOS_PRIOS && pauses->queues[p]) {
        unsigned stopped = (unsigned)__builtin_ctz(pauses->queues[p]);
        NOTE(in, pauses->queue_line[p], "PFC007", CONFIG_NONE,
             "a pause of priority %u stops queue %u, and forwarding class %.60s of that priority is in queue %u", p,
             stopped, class->name, q);
    } else if (stopping < JUNOS_PRIOS) {
        bool own = class->tc == (int)stopping && class->priority_line;
        NOTE(in, own ? class->priority_line : pauses->point_line[stopping], "PFC007", CONFIG_NONE,
             "queue %u is stopped by pauses of priority %u, and forwarding class %.60s has pfc-priority %u", q,
             stopping, class->name, p);
    }
}

static bool feeds(const struct junos_classifier *as, const struct junos_pauses *pauses, int class)
{
    for (unsigned d = 0; d < 64; d++)
        if (as->class[d] == class && (pauses->dscps >> d & 1)) return true;
    return false;
}

static void judge_pair(struct junos *in, const struct junos_classifier *as, const struct junos_pauses *pauses)
{
    judge_points(in, as, pauses);
    for (uint32_t c = 0; c < in->classes; c++) {
        const struct junos_class *class = &in->class[c];
        if (class->tc < 0 || !class->no_loss || !feeds(as, pauses, (int)c)) continue;
        judge_output(in, class, pauses);
        if (class->priority < 0)
            NOTE(in, class->line, "PFC007", CONFIG_NONE,
                 "forwarding class %.60s has no pfc-priority: with which priority it pauses for a DSCP is not said",
                 class->name);
    }
}

/* Each classifier and profile that meet on a port, once. */
static void judge_pauses(struct junos *in)
{
    for (uint32_t n = 0; n < in->pauseses; n++) {
        for (uint32_t m = 0; m < in->classifiers; m++) {
            bool meet = false;
            for (uint32_t p = 0; p < in->ports && !meet && in->pauses[n].used && in->classifier[m].used; p++) {
                const struct junos_binding *cos = &in->port[p].cos;
                meet = cos->pauses && cos->dscp && !in->classifier[m].ieee &&
                       strcmp(cos->pauses, in->pauses[n].name) == 0 && strcmp(cos->dscp, in->classifier[m].name) == 0;
            }
            if (meet) judge_pair(in, &in->classifier[m], &in->pauses[n]);
        }
    }
}

/* A class with loss in this map that marks, in place of one without loss whose scheduler is strict and does not: CNPs
 * have what was meant for RDMA; -1: there is none. */
static int exchanged_with(const struct junos *in, const struct junos_map *map, uint32_t lossless)
{
    const struct junos_scheduler *own = map->scheduler[lossless];

    if (!own || own->ecn || own->drop) return -1;
    for (uint32_t c = 0; c < in->classes; c++) {
        const struct junos_scheduler *as = map->scheduler[c];
        bool cnp = strcasestr(in->class[c].name, "cnp") != NULL;
        if (as && as->ecn && !in->class[c].no_loss && (cnp || own->strict)) return (int)c;
    }
    return -1;
}

/* What follows from the exchange is not told again. */
static void judge_exchanged(struct junos *in)
{
    static const char *const follow[] = {"ECN", "SCH", "MAP005", "MAP006", "MAP008"};

    for (uint32_t m = 0; m < in->maps; m++) {
        const struct junos_map *map = &in->map[m];
        for (uint32_t c = 0; c < in->classes && map->used; c++) {
            int other = in->class[c].no_loss ? exchanged_with(in, map, c) : -1;
            if (other < 0) continue;
            NOTE(in, map->at[c], "ECN001", CONFIG_NONE,
                 "scheduler-map %.60s gives %.60s, which is without loss, scheduler %.60s, which does not mark, and "
                 "%.60s scheduler %.60s, which does: they are exchanged",
                 map->name, in->class[c].name, map->scheduler[c]->name, in->class[other].name,
                 map->scheduler[other]->name);
            for (uint32_t i = 0; i < in->ports * (sizeof(follow) / sizeof(follow[0])); i++) {
                const struct junos_port *port = &in->port[i % in->ports];
                if (port->cos.map && strcmp(port->cos.map, map->name) == 0)
                    UNJUDGED(in, map->at[c], follow[i / in->ports], port->id, "schedulers are exchanged");
            }
        }
    }
}

static void judge_drops(struct junos *in)
{
    for (uint32_t m = 0; m < in->maps; m++) {
        for (uint32_t c = 0; c < in->classes; c++) {
            const struct junos_scheduler *as = in->map[m].scheduler[c];
            if (!in->map[m].used || !as || !in->class[c].no_loss) continue;
            if (as->drop && !as->ecn)
                NOTE(in, as->drop_line, "ECN006", CONFIG_NONE,
                     "scheduler %.60s drops by profile %.60s, and %.60s is without loss", as->name, as->drop->name,
                     in->class[c].name);
            if (as->ecn && as->drop && as->drop->fills && as->drop->fill[0] >= LATE_FILL)
                HINT(in, as->drop->fill_line, "ECN010", CONFIG_NONE,
                     "drop-profile %.60s marks from %u %% of the queue on: PFC may pause before senders slow down",
                     as->drop->name, as->drop->fill[0]);
            if (as->ecn && !as->drop && !as->drop_line)
                NOTE(in, as->ecn_line, "ECN002", CONFIG_NONE,
                     "scheduler %.60s marks by no drop profile: when it marks is not said", as->name);
        }
    }
}

/* Does any classifier in use put the DSCP that CNPs are sent with into this class? */
static bool has_cnps(const struct junos *in, uint32_t c)
{
    for (uint32_t n = 0; n < in->classifiers; n++)
        if (in->classifier[n].used && !in->classifier[n].ieee && in->classifier[n].class[CNP_DSCP] == (int)c)
            return true;
    return false;
}

/* Two classes in one queue that schedulers treat unlike: one of the two is not what it was meant to be. */
static void judge_queue(struct junos *in, const struct junos_map *map, uint32_t a, uint32_t b)
{
    const struct junos_class *class = &in->class[b], *other = &in->class[a];
    bool cnps = has_cnps(in, a) || has_cnps(in, b);
    uint32_t line = class->queue_line ? class->queue_line : other->queue_line ? other->queue_line : map->line;

    NOTE(in, line, cnps ? "MAP005" : "SCH001", CONFIG_NONE,
         "forwarding classes %.60s and %.60s are both in queue %d, and scheduler-map %.60s serves one strictly and the "
         "other by a share%s",
         other->name, class->name, class->queue, map->name, cnps ? ": CNPs wait with the other's packets" : "");
    UNJUDGED(in, line, cnps ? "MAP006 MAP008 SCH001" : "MAP006 MAP008 MAP005", CONFIG_NONE,
             "two forwarding classes are in queue %d: how it is served is not known", class->queue);
}

static void judge_queues(struct junos *in)
{
    uint32_t told = 0; /* bits: queues */

    for (uint32_t m = 0; m < in->maps; m++) {
        const struct junos_map *map = &in->map[m];
        for (uint32_t a = 0; a < in->classes && map->used; a++) {
            for (uint32_t b = a + 1; b < in->classes; b++) {
                if (!map->scheduler[a] || !map->scheduler[b] || in->class[a].queue != in->class[b].queue) continue;
                if (in->class[a].no_loss || in->class[b].no_loss) continue; /* MAP001 */
                if (map->scheduler[a]->strict == map->scheduler[b]->strict || told >> in->class[a].queue & 1) continue;
                told |= 1u << in->class[a].queue;
                judge_queue(in, map, a, b);
            }
        }
    }
}

/* Does the map serve the queue of this class, by its own scheduler or by that of a class in the same queue? */
static bool is_served(const struct junos *in, const struct junos_map *map, uint32_t c)
{
    for (uint32_t o = 0; o < in->classes; o++)
        if (map->scheduler[o] && in->class[o].queue == in->class[c].queue) return true;
    return false;
}

/* A map that has schedulers for data and none for network control, into which a classifier puts packets: BGP and the
 * like get what the others leave. */
static void judge_control(struct junos *in)
{
    int control = junos_class_find(in, "network-control", 0);
    bool fed = false;

    for (uint32_t n = 0; n < in->classifiers; n++)
        for (unsigned d = 0; d < 64 && in->classifier[n].used; d++)
            fed = fed || in->classifier[n].class[d] == control;
    if (!fed) return;
    for (uint32_t m = 0; m < in->maps && control >= 0; m++) {
        const struct junos_map *map = &in->map[m];
        bool any = false, lossless = false;
        for (uint32_t c = 0; c < in->classes; c++) {
            any = any || map->scheduler[c];
            lossless = lossless || (map->scheduler[c] && in->class[c].no_loss);
        }
        if (!map->used || !any || !lossless || is_served(in, map, (uint32_t)control)) continue;
        CAUTION(in, map->line, "SCH001", CONFIG_NONE,
                "scheduler-map %.60s has no scheduler for %.60s: control traffic is promised nothing", map->name,
                in->class[control].name);
    }
}

static void unused(struct junos *in, uint32_t line, const char *what, const char *name)
{
    HINT(in, line, "MAP007", CONFIG_NONE, "%s %.60s is defined and applied nowhere", what, name);
}

static void judge_unused(struct junos *in)
{
    for (uint32_t n = 0; n < in->pauseses; n++)
        if (!in->pauses[n].used) unused(in, in->pauses[n].line, "congestion-notification-profile", in->pauses[n].name);
    for (uint32_t n = 0; n < in->maps; n++)
        if (!in->map[n].used) unused(in, in->map[n].line, "scheduler-map", in->map[n].name);
    for (uint32_t n = 0; n < in->classifiers; n++)
        if (!in->classifier[n].used) unused(in, in->classifier[n].line, "classifier", in->classifier[n].name);
    for (uint32_t n = 0; n < in->profiles; n++)
        if (!in->profile[n].used) unused(in, in->profile[n].line, "drop-profile", in->profile[n].name);
}

/* A rule that writes one DSCP over all of a class that RDMA or its CNPs are in. */
static void judge_rewrite(struct junos *in, struct junos_node *rule, const struct junos_classifier *as)
{
    for (struct junos_node *at = junos_first(&in->tree, rule, "forwarding-class"); at; at = at->next) {
        int class = junos_class_find(in, at->word, at->line);
        struct junos_node *point = junos_below(at, "code-point");
        unsigned to;
        junos_known_all(at);
        if (class < 0 || !point || !junos_code_point(in, point, 6, &to)) continue;
        bool cnp = as->class[48] == class;
        for (unsigned d = 0; d < 64; d++) {
            if (as->class[d] != class || d == to || !(in->class[class].no_loss || (cnp && d == 48))) continue;
            NOTE(in, point->line, "MAP004", CONFIG_NONE,
                 "rewrite-rule %.60s: packets of %.60s leave with DSCP %u, and came with %u", rule->word, at->word, to,
                 d);
            break;
        }
    }
}

static void judge_rewrites(struct junos *in)
{
    for (struct junos_node *rule = junos_first(&in->tree, &in->tree.root, "class-of-service rewrite-rules dscp"); rule;
         rule = rule->next) {
        const struct junos_classifier *with = NULL;
        rule->known = true;
        for (uint32_t p = 0; p < in->ports && !with; p++) {
            const struct junos_binding *cos = &in->port[p].cos;
            for (uint32_t n = 0; n < in->classifiers && cos->rewrite && cos->dscp; n++)
                if (strcmp(cos->rewrite, rule->word) == 0 && !in->classifier[n].ieee &&
                    strcmp(cos->dscp, in->classifier[n].name) == 0)
                    with = &in->classifier[n];
        }
        if (with) judge_rewrite(in, rule, with);
    }
}

/* What a port would have by statements that are inactive: that it lacks it is told there, and what follows is not. */
static void judge_inactive(struct junos *in)
{
    for (uint32_t i = 0; i < in->tree.offs; i++) {
        const struct junos_off *off = &in->tree.off[i];
        const struct junos_port *port = NULL;
        bool others = false;
        for (uint32_t p = 0; p < in->ports; p++) {
            if (strcmp(in->port[p].name, off->interface) == 0)
                port = &in->port[p];
            else if (!in->port[p].down)
                others = others || in->port[p].cos.pauses;
        }
        if (!port || port->down || !port->in_use || !others || !strcmp(off->word, "rewrite-rules")) continue;
        CAUTION(in, off->line, "MAP007", CONFIG_NONE, "%.60s: %.60s is inactive, and other ports have class of service",
                off->interface, strcmp(off->word, off->interface) == 0 ? "all of it" : off->word);
        UNJUDGED(in, off->line, "SIB001 MAP PFC ECN WD SCH HR", port->id, "a statement of it is inactive");
    }
}

/* A group with class of service that is applied nowhere, on a switch none of whose ports has any. */
static void judge_spare(struct junos *in)
{
    const struct junos_tree *tree = &in->tree;

    if (!tree->spare) return;
    for (uint32_t p = 0; p < in->ports; p++)
        if (in->port[p].cos.pauses || in->port[p].cos.dscp || in->port[p].cos.map) {
            unused(in, tree->spare_line, "group", tree->spare);
            return;
        }
    NOTE(in, tree->apply_line ? tree->apply_line : tree->spare_line, "MAP007", CONFIG_NONE,
         "group %.60s has class of service and is not applied: no port has a classifier, PFC or a scheduler-map",
         tree->spare);
}

void junos_judge(struct junos *in)
{
    judge_inactive(in);
    judge_spare(in);
    judge_pauses(in);
    judge_exchanged(in);
    judge_drops(in);
    judge_queues(in);
    judge_control(in);
    judge_unused(in);
    judge_rewrites(in);
}
