/* SPDX-License-Identifier: Apache-2.0 */
/*
 * EOS classification by policy: access lists, class-maps, policy-maps of type quality-of-service.
 *
 * A policy stands before what a port trusts: the first of its classes that matches a packet gives it its traffic class,
 * and what none matches is classified by trust.  A fabric file has a map of DSCPs for that, so classes that match by
 * DSCP (or by everything) are laid over the map.  One that matches by address, port or VLAN cannot be: it is listed,
 * with the traffic class that some packets get by it.
 */
#include <string.h>

#include "config/eos/eos_int.h"

#define MAPS_MAX 1024u

enum { CLASS_MAP, ACCESS_LIST };

struct eos_class { /* of either kind */
    struct lines_named;
    uint64_t dscps;
    uint8_t cos;
    bool other;
    uint32_t match_line; /* of the last that could be read */
};

static struct eos_class *add_class(struct eos *eos, int kind, const struct line *line)
{
    const char *name = line->word[line->words - 1];
    struct eos_class *class = lines_find(eos->classes, kind, name);

    if (!class)
        class = eos->classes =
            lines_define(&eos->lines_in, eos->classes, kind, name, line->number, sizeof(struct eos_class));
    return class;
}

/* `10 permit ip any any dscp ef`: by DSCP; with anything else in it, by other things too. */
static void read_entry(struct eos_class *list, struct line *line)
{
    uint32_t w = 0;
    uint64_t number, bits = 0;

    if (line_number(line->word[0], &number)) w = 1;
    if (w >= line->words || strcmp(line->word[w], "permit") != 0) {
        list->other |= w < line->words && strcmp(line->word[w], "deny") == 0;
        return;
    }
    bool any = w + 3 < line->words && strncmp(line->word[w + 1], "ip", 2) == 0 &&
               strcmp(line->word[w + 2], "any") == 0 && strcmp(line->word[w + 3], "any") == 0;
    if (any && w + 4 == line->words)
        bits = UINT64_MAX;
    else if (any && w + 6 == line->words && strcmp(line->word[w + 4], "dscp") == 0)
        any = lines_dscps(line->word[w + 5], &bits);
    list->dscps |= any ? bits : 0;
    list->other |= !any || !bits;
    line->known = any && bits;
}

static void read_list(struct eos *eos, uint32_t index)
{
    struct line *line = &eos->lines.line[index];
    struct eos_class *list = add_class(eos, ACCESS_LIST, line);

    for (uint32_t i = index + 1; list && i < line->end; i++)
        if (eos->lines.line[i].parent == index) read_entry(list, &eos->lines.line[i]);
}

static void read_match(struct eos *eos, struct eos_class *class, struct line *line)
{
    struct line_match match;
    uint64_t bits = 0;

    if (line_take(line, "match ip access-group *", &match) || line_take(line, "match ipv6 access-group *", &match)) {
        struct eos_class *list = lines_find(eos->classes, ACCESS_LIST, match.word[0]);
        if (!list) {
            NOTE(eos, line->number, "MAP007", CONFIG_NONE,
                 "class-map %.60s matches access-list %.60s, which is not defined", class->name, match.word[0]);
            return;
        }
        list->used = true;
        class->dscps |= list->dscps;
        class->other |= list->other;
        return;
    }
    bool dscp = line_is(line, "match dscp * ...", NULL) || line_is(line, "match ip dscp * ...", NULL);
    bool cos = line_is(line, "match cos * ...", NULL), good = dscp || cos;
    for (uint32_t w = line->word[1][0] == 'i' ? 3 : 2; good && w < line->words; w++)
        good = dscp ? lines_dscps(line->word[w], &bits) : lines_bits(line->word[w], 8, &bits);
    if (!good) {
        class->other = true;
        return;
    }
    line->known = true;
    class->match_line = line->number;
    if (dscp)
        class->dscps |= bits;
    else
        class->cos |= (uint8_t)bits;
}

static void read_class_map(struct eos *eos, uint32_t index)
{
    struct line *line = &eos->lines.line[index];
    bool typed = line->words > 3 && strcmp(line->word[1], "type") == 0;

    if (line->words < 2 || (typed && strcmp(line->word[2], "qos") != 0)) return;
    struct eos_class *class = add_class(eos, CLASS_MAP, line);
    line->known = true;
    for (uint32_t i = index + 1; class && i < line->end; i++)
        if (eos->lines.line[i].parent == index && eos->lines.line[i].words > 1)
            read_match(eos, class, &eos->lines.line[i]);
}

/* What one class of a policy gives to the packets that no class before it took. */
static void lay_class(struct eos *eos, struct eos_policy *policy, const struct eos_class *class, bool rest, uint8_t tc,
                      uint32_t line)
{
    uint64_t wanted = rest || class->other ? 0 : class->dscps;

    for (unsigned d = 0; d < 64; d++) {
        if (wanted >> d & 1 && policy->dscp_line[d] && policy->dscp_to_tc[d] != tc && class->match_line)
            CAUTION(eos, class->match_line, "MAP001", CONFIG_NONE,
                    "class-map %.60s matches DSCP %u, which a class before it in policy-map %.60s has put into traffic "
                    "class %u",
                    class->name, d, policy->name, policy->dscp_to_tc[d]);
        if (policy->dscp_line[d] || !(rest || class->dscps >> d & 1)) continue;
        policy->dscp_to_tc[d] = tc;
        policy->dscp_line[d] = line;
    }
    for (unsigned c = 0; c < 8; c++) {
        if (policy->cos_line[c] || !(rest || class->cos >> c & 1)) continue;
        policy->cos_to_tc[c] = tc;
        policy->cos_line[c] = line;
    }
}

static void read_policy_class(struct eos *eos, struct eos_policy *policy, struct line *line)
{
    const char *name = line->word[line->words - 1];
    struct eos_class *class = lines_find(eos->classes, CLASS_MAP, name);
    bool rest = strcmp(name, "class-default") == 0;
    struct line_match match;

    line->known = true;
    if (class) class->used = true;
    if (!class && !rest) policy->unknown_line = line->number;
    if (class && class->dscps & 1) policy->match_line = class->match_line;
    if (!class && !rest)
        NOTE(eos, line->number, "MAP007", CONFIG_NONE, "policy-map %.60s uses class-map %.60s, which is not defined",
             policy->name, name);
    for (uint32_t i = (uint32_t)(line - eos->lines.line) + 1; i < line->end; i++) {
        struct line *inner = &eos->lines.line[i];
        if (line_take(inner, "set dscp *", NULL))
            NOTE(eos, inner->number, "MAP004", CONFIG_NONE,
                 "packets of class %.60s leave with another DSCP than they came with", name);
        if (line_take(inner, "set cos #", NULL)) continue; /* of the tag, which no routed hop sees */
        if (!line_is(inner, "set traffic-class #", &match) || match.number[0] >= EOS_PRIOS) continue;
        inner->known = true;
        if (class) config_class_dscps(eos->set, eos->device, name, class->dscps);
        if (class || rest) lay_class(eos, policy, class, rest, (uint8_t)match.number[0], inner->number);
        if (class && class->other && eos->device < eos->set->devices) eos->set->device[eos->device].unclear = true;
        if (class && class->other)
            NOTE(eos, inner->number, NULL, CONFIG_NONE,
                 "class %.60s matches by more than DSCP: which packets get traffic class %u is not known", name,
                 (unsigned)match.number[0]);
    }
}

static void read_policy_map(struct eos *eos, uint32_t index)
{
    struct line *line = &eos->lines.line[index];
    bool typed = line->words > 3 && strcmp(line->word[1], "type") == 0;

    if (line->words < 2 ||
        (typed && strcmp(line->word[2], "quality-of-service") != 0 && strcmp(line->word[2], "qos") != 0))
        return;
    const char *name = line->word[line->words - 1];
    struct eos_policy *policy = lines_find(eos->policies, 0, name);
    if (!policy) /* one that is there already is added to */
        policy = eos->policies = lines_define(&eos->lines_in, eos->policies, 0, name, line->number, sizeof(*policy));
    line->known = true;
    for (uint32_t i = index + 1; i < line->end; i++)
        if (eos->lines.line[i].parent == index && strcmp(eos->lines.line[i].word[0], "class") == 0 &&
            eos->lines.line[i].words > 1)
            read_policy_class(eos, policy, &eos->lines.line[i]);
}

static bool is_list(const struct line *line)
{
    return line->words > 2 && strcmp(line->word[1], "access-list") == 0 &&
           (strcmp(line->word[0], "ip") == 0 || strcmp(line->word[0], "ipv6") == 0);
}

void eos_policies(struct eos *eos)
{
    uint32_t maps = 0;

    /* lists before class-maps before policies: each refers to what is read already, in whatever order they stand */
    for (int pass = 0; pass < 3; pass++) {
        for (uint32_t i = 0; i < eos->lines.count && maps < MAPS_MAX; i++) {
            const struct line *line = &eos->lines.line[i];
            if (line->parent != LINES_NONE) continue;
            if (pass == 0 && is_list(line)) {
                maps++;
                read_list(eos, i);
            } else if (pass == 1 && strcmp(line->word[0], "class-map") == 0) {
                maps++;
                read_class_map(eos, i);
            } else if (pass == 2 && strcmp(line->word[0], "policy-map") == 0) {
                maps++;
                read_policy_map(eos, i);
            }
        }
    }
    /* a list that no class-map names filters traffic and has nothing to do with QoS */
    for (uint32_t i = 0; i < eos->lines.count; i++) {
        struct line *line = &eos->lines.line[i];
        if (line->parent != LINES_NONE || !is_list(line)) continue;
        const struct eos_class *list = lines_find(eos->classes, ACCESS_LIST, line->word[line->words - 1]);
        line->known = list && list->used;
    }
}

const struct eos_policy *eos_policy(struct eos *eos, const char *name, uint32_t line)
{
    struct eos_policy *policy = lines_find(eos->policies, 0, name);

    if (policy) {
        policy->used = true;
        return policy;
    }
    NOTE(eos, line, "MAP007", CONFIG_NONE, "policy-map %.60s is not defined", name);
    return NULL;
}

void eos_policies_unused(struct eos *eos)
{
    lines_unused(&eos->lines_in, eos->policies, ~0u, "policy-map", "applied nowhere");
    lines_unused(&eos->lines_in, eos->classes, 1u << CLASS_MAP, "class-map", "in no policy-map");
}
