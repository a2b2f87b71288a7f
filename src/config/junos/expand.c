/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a tree of words says once its shorthand is written out: groups where they are applied, interface ranges with
 * their members, nothing of what is inactive.
 *
 * What stands at the place itself goes before what a group or a range says there.  Copies keep the line they come from.
 */
#include <stdio.h>
#include <string.h>

#include "config/junos/tree.h"
#include "config/lines/lines.h"

#define APPLIED_MAX 20000u
#define WORK_MOST 4000000u /* statements laid over others and names compared; more is no switch */

struct expander {
    struct junos_tree *tree;
    uint32_t device;
    uint32_t applied, work;
};

static void told(const struct expander *in, uint32_t line, const char *what, const char *name)
{
    config_note(in->tree->set, CONFIG_AT(in->tree->text, line), NULL, in->device, CONFIG_NONE, "%s %.60s", what, name);
}

/* Counts work of all groups and ranges together; false: there has been too much, and the rest is left out. */
static bool may_work(struct expander *in, size_t work)
{
    if (work > WORK_MOST - in->work) in->tree->full = true;
    if (!in->tree->full) in->work += (uint32_t)work;
    return !in->tree->full;
}

/* Does the pattern match?  At worst that takes the product of both lengths. */
static bool fits(struct expander *in, const char *pattern, const char *word)
{
    return may_work(in, 1 + strlen(pattern) * strlen(word) / 64) && junos_matches(pattern, word);
}

/* Lays what is below `from` below `to`.  A name in brackets < > is laid over what is there already. */
static void merge(struct expander *in, struct junos_node *to, struct junos_node *from)
{
    for (struct junos_node *part = from->last; part && !in->tree->full; part = part->before) {
        part->known = true;
        if (!may_work(in, 1)) return;
        if (part->word[0] == '<') {
            for (struct junos_node *there = to->first; there && !in->tree->full; there = there->next)
                if (fits(in, part->word, there->word)) merge(in, there, part);
            continue;
        }
        uint32_t nodes = in->tree->nodes;
        struct junos_node *copy = junos_add(in->tree, to, part->word, part->line);
        if (!copy) return;
        if (in->tree->nodes != nodes) { /* it is new: a value that stood there before remains the last */
            copy->folded = true;
            copy->inactive = part->inactive;
            junos_move(copy, true);
        }
        merge(in, copy, part);
    }
}

/* The places of a group that fit the path down to `target`, its words from `depth` on. */
static void apply_at(struct expander *in, struct junos_node *group, struct junos_node *target, unsigned depth)
{
    struct junos_node *step = target;

    group->known = true;
    if (depth == target->depth) {
        merge(in, target, group);
        return;
    }
    while (step->depth > depth + 1)
        step = step->parent;
    for (struct junos_node *part = group->first; part && !in->tree->full; part = part->next)
        if (fits(in, part->word, step->word)) apply_at(in, part, target, depth + 1);
}

static void apply_groups(struct expander *in, struct junos_node *groups, struct junos_node *apply)
{
    struct junos_node *target = apply->parent;

    apply->known = true;
    for (struct junos_node *name = apply->last; name; name = name->before) { /* the first of them goes before others */
        struct junos_node *group = groups ? junos_child(in->tree, groups, name->word) : NULL;
        name->known = true;
        if (++in->applied > APPLIED_MAX) {
            told(in, name->line, "more groups are applied than are followed; not applied:", name->word);
            return;
        }
        if (group && !group->inactive)
            apply_at(in, group, target, 0);
        else if (strncmp(name->word, "junos-", 6) != 0) /* those are the system's own */
            told(in, name->line, "apply-groups: there is no group", name->word);
    }
}

/* The next node that is not within this one. */
static struct junos_node *after(const struct junos_node *root, const struct junos_node *node)
{
    struct junos_node alone = *node;

    alone.first = NULL;
    return junos_next_below(root, &alone);
}

/* A group with class of service that nobody has applied; those that were are known by now. */
static void find_spare(struct expander *in, const struct junos_node *groups)
{
    struct junos_node *apply = junos_child(in->tree, &in->tree->root, "apply-groups");

    in->tree->apply_line = apply ? apply->line : 0;
    for (struct junos_node *at = groups->first; at; at = at->next) {
        if (at->known || at->inactive || !junos_child(in->tree, at, "class-of-service")) continue;
        in->tree->spare = at->word;
        in->tree->spare_line = at->line;
    }
}

static void expand_groups(struct expander *in)
{
    struct junos_node *root = &in->tree->root, *groups = junos_child(in->tree, root, "groups");

    if (groups && groups->inactive) groups = NULL;
    for (struct junos_node *at = junos_next_below(root, NULL), *next; at && !in->tree->full; at = next) {
        if (strcmp(at->word, "apply-groups") == 0 && !at->inactive) apply_groups(in, groups, at);
        if (strcmp(at->word, "apply-groups-except") == 0)
            told(in, at->line, "apply-groups-except", at->last ? at->last->word : "");
        next = at == groups ? after(root, at) : junos_next_below(root, at);
    }
    if (groups) {
        find_spare(in, groups);
        junos_known_all(groups);
        junos_drop(in->tree, groups);
    }
}

/* The statement that the node is the end of: `mtu 1500` goes as a whole, the block around it stays. */
static struct junos_node *statement_of(struct junos_node *node)
{
    while (node->parent->depth && node->parent->line == node->line && !node->before && !node->next)
        node = node->parent;
    return node;
}

/* `class-of-service interfaces et-0/0/3 scheduler-map`: what the port would have by it. */
static void keep_off(struct junos_tree *tree, const struct junos_node *node)
{
    const struct junos_node *port = node;

    while (port->depth > 3)
        port = port->parent;
    if (port->depth < 3 || tree->offs == JUNOS_OFF_MAX || strcmp(port->parent->word, "interfaces") != 0 ||
        strcmp(port->parent->parent->word, "class-of-service") != 0)
        return;
    tree->off[tree->offs++] = (struct junos_off){port->word, node->word, node->off_line ? node->off_line : node->line};
}

/* What is inactive has no say; each is told once. */
static void drop_inactive(struct expander *in)
{
    struct junos_node *root = &in->tree->root, *next;

    for (struct junos_node *at = junos_next_below(root, NULL); at; at = next) {
        if (!at->inactive) {
            next = junos_next_below(root, at);
            continue;
        }
        next = after(root, at);
        keep_off(in->tree, at);
        struct junos_node *whole = statement_of(at);
        config_assume(in->tree->set, CONFIG_AT(in->tree->text, at->line), in->device, CONFIG_NONE,
                      "inactive, and taken as not there: %.60s", whole->word);
        junos_drop(in->tree, whole);
    }
}

/* --- interface ranges --- */

/* et-0/0/3 is `et-0/0/` and 3; false: no such name. */
static bool split(const char *name, char head[64], uint64_t *ret)
{
    size_t length = strlen(name), digits = length;

    while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9')
        digits--;
    if (digits == length || digits == 0 || digits >= 64) return false;
    memcpy(head, name, digits);
    head[digits] = 0;
    return line_number(name + digits, ret);
}

struct range {
    struct expander *in;
    struct junos_node *interfaces, *node;
    uint32_t members;
};

static void add_member(struct range *range, const char *name, uint32_t line)
{
    if (range->members++ >= CONFIG_PORTS_MAX || !may_work(range->in, 1)) return;
    struct junos_node *member = junos_add(range->in->tree, range->interfaces, name, line);
    if (!member) return;
    struct junos_node *body = range->node;
    for (struct junos_node *part = body->last; part && may_work(range->in, 1); part = part->before) {
        if (strcmp(part->word, "member") == 0 || strcmp(part->word, "member-range") == 0) continue;
        uint32_t nodes = range->in->tree->nodes;
        struct junos_node *copy = junos_add(range->in->tree, member, part->word, part->line);
        if (!copy) return;
        if (range->in->tree->nodes != nodes) junos_move(copy, true);
        merge(range->in, copy, part);
    }
}

static void add_numbers(struct range *range, struct junos_node *from, struct junos_node *to)
{
    char head[64], other[64], name[96];
    uint64_t first, last;

    if (!to || !split(from->word, head, &first) || !split(to->word, other, &last) || strcmp(head, other) != 0 ||
        last < first || last - first >= CONFIG_PORTS_MAX) {
        told(range->in, from->line, "interface-range: not a range of ports:", from->word);
        return;
    }
    for (; first <= last && range->members < CONFIG_PORTS_MAX && !range->in->tree->full; first++) {
        snprintf(name, sizeof(name), "%s%llu", head, (unsigned long long)first);
        add_member(range, arena_strndup(range->in->tree->arena, name, strlen(name)), from->line);
    }
}

/* `member et-0/0/[0-3]` names ports whether they are written elsewhere or not; `et-*` those that are. */
static void add_matching(struct range *range, struct junos_node *pattern)
{
    char name[96];
    const char *open = strchr(pattern->word, '['), *close = open ? strchr(open, ']') : NULL;
    bool found = false;

    if (open && close && close[1] == 0 && open - pattern->word < 64 && close - open < 16) {
        for (unsigned d = 0; d < 10; d++) {
            snprintf(name, sizeof(name), "%.*s%u", (int)(open - pattern->word), pattern->word, d);
            if (!junos_matches(pattern->word, name)) continue;
            add_member(range, arena_strndup(range->in->tree->arena, name, strlen(name)), pattern->line);
        }
        return;
    }
    for (struct junos_node *there = range->interfaces->first; there && !range->in->tree->full; there = there->next) {
        if (!fits(range->in, pattern->word, there->word) || strcmp(there->word, "interface-range") == 0) continue;
        found = true;
        add_member(range, there->word, pattern->line);
    }
    if (!found && !range->in->tree->full)
        told(range->in, pattern->line, "interface-range: no port is written that is", pattern->word);
}

static void expand_range(struct range *range)
{
    struct junos_tree *tree = range->in->tree;
    struct junos_node *members = junos_child(tree, range->node, "member");
    struct junos_node *ranges = junos_child(tree, range->node, "member-range");

    for (struct junos_node *at = members ? members->first : NULL; at && !tree->full; at = at->next) {
        if (junos_has_wildcard(at->word))
            add_matching(range, at);
        else
            add_member(range, at->word, at->line);
    }
    for (struct junos_node *at = ranges ? ranges->first : NULL; at && !tree->full; at = at->next) {
        struct junos_node *to = junos_child(tree, at, "to");
        add_numbers(range, at, to ? to->last : NULL);
    }
    if (range->members > CONFIG_PORTS_MAX)
        told(range->in, range->node->line, "interface-range with too many members:", range->node->word);
    junos_known_all(range->node);
}

static void expand_ranges(struct expander *in)
{
    struct junos_node *interfaces = junos_child(in->tree, &in->tree->root, "interfaces");
    struct junos_node *ranges = interfaces ? junos_child(in->tree, interfaces, "interface-range") : NULL;

    for (struct junos_node *at = ranges ? ranges->first : NULL; at && !in->tree->full; at = at->next) {
        struct range range = {in, interfaces, at, 0};
        expand_range(&range);
    }
    if (ranges) junos_drop(in->tree, ranges);
}

void junos_tree_expand(struct junos_tree *tree, uint32_t device)
{
    struct expander in = {.tree = tree, .device = device};

    expand_groups(&in);
    drop_inactive(&in);
    expand_ranges(&in);
    if (tree->full) told(&in, 1, "groups and ranges say more than is followed: the rest is left out", "");
}
