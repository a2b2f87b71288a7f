/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NX-OS class-maps and policy-maps of the three types that make a lossless class: qos (what is it), network-qos (is it
 * lossless), queuing (how is it served).  They meet in a number, the qos-group; whether they do is checked here, with
 * the line that does not.
 *
 * Class names are read in both queue modes (c-8q-nq3 and c-nq3, c-out-8q-q3 and c-out-q3).  Policing, shaping and
 * other types are left over for lines_end(); the type control-plane is passed over.
 */
#include <string.h>

#include "config/nxos/nxos_int.h"

#define POLICIES_MAX 512u

static enum nxos_type type_of(const char *word)
{
    if (strcmp(word, "qos") == 0) return NXOS_QOS;
    if (strcmp(word, "network-qos") == 0) return NXOS_NETWORK;
    return strcmp(word, "queuing") == 0 ? NXOS_QUEUING : NXOS_OTHER;
}

static const char *after(const char *text, const char *start)
{
    size_t length = strlen(start);
    return strncmp(text, start, length) == 0 ? text + length : NULL;
}

int nxos_builtin(const char *name, enum nxos_type type)
{
    static const char *const network[] = {"c-8q-nq", "c-nq", NULL};
    static const char *const queuing[] = {"c-out-8q-q", "c-out-q", "c-in-8q-q", "c-in-q", NULL};

    if (strcmp(name, "class-default") == 0) return 0;
    for (const char *const *start = type == NXOS_NETWORK ? network : queuing; *start; start++) {
        const char *rest = after(name, *start);
        if (!rest) continue;
        if (strcmp(rest, "-default") == 0) return 0;
        if (rest[0] >= '1' && rest[0] <= '7' && rest[1] == 0) return rest[0] - '0';
    }
    return -1;
}

static struct nxos_class *find_class(struct nxos *nxos, enum nxos_type type, const char *name)
{
    return lines_find(nxos->classes, type, name);
}

/* `match dscp 24-31`, `match ip dscp af31`, `match precedence 3`, `match cos 3,4`, `match qos-group 3`. */
static void read_match(struct nxos *nxos, struct nxos_class *class, struct line *line)
{
    uint32_t first = 2;
    uint64_t bits = 0;

    if (!line_is(line, "match * ...", NULL) || line->words < 3) return;
    if (strcmp(line->word[1], "ip") == 0 || strcmp(line->word[1], "ipv6") == 0) first = 3;
    const char *kind = line->word[first - 1];
    bool dscp = strcmp(kind, "dscp") == 0, precedence = strcmp(kind, "precedence") == 0;
    bool of_eight = precedence || strcmp(kind, "cos") == 0 || strcmp(kind, "qos-group") == 0;
    if (!dscp && !of_eight) {
        if (class->kind == NXOS_QOS && nxos->device < nxos->set->devices)
            nxos->set->device[nxos->device].unclear = true;
        return;
    }
    for (uint32_t w = first; w < line->words; w++) {
        if (dscp ? lines_dscps(line->word[w], &bits) : lines_bits(line->word[w], 8, &bits)) continue;
        if (w == first) return;
        line->taken = (uint16_t)w; /* what could be read of the list counts */
        break;
    }
    line->known = true;
    class->match_line = line->number;
    if (dscp || precedence) {
        for (unsigned d = 0; d < 64; d++)
            if (bits >> (precedence ? d / 8 : d) & 1) class->dscps |= UINT64_C(1) << d;
        class->by_dscp = true;
    } else if (strcmp(kind, "cos") == 0) {
        class->cos |= (uint8_t)bits;
        class->by_cos = true;
    } else {
        class->groups |= (uint8_t)bits;
    }
    if (class->all && class->by_dscp && class->by_cos)
        NOTE(nxos, line->number, "MAP001", CONFIG_NONE,
             "class-map %.60s is match-all: a packet has to match dscp and cos together", class->name);
}

/* What polices the switch's own processor has no say in what it forwards. */
static void pass_control_plane(struct nxos *nxos, uint32_t index)
{
    struct line *line = &nxos->lines.line[index];

    if (line->words < 3 || strcmp(line->word[1], "type") != 0 || strcmp(line->word[2], "control-plane") != 0) return;
    for (uint32_t i = index; i < line->end; i++)
        nxos->lines.line[i].known = true;
}

static void read_class_map(struct nxos *nxos, uint32_t index)
{
    struct line *line = &nxos->lines.line[index];
    uint32_t w = 1;
    enum nxos_type type = NXOS_QOS;

    if (line->words > 2 && strcmp(line->word[1], "type") == 0) {
        type = type_of(line->word[2]);
        w = 3;
    }
    bool all = w < line->words && strcmp(line->word[w], "match-all") == 0;
    if (all || (w < line->words && strcmp(line->word[w], "match-any") == 0)) w++;
    if (w >= line->words || type == NXOS_OTHER) {
        pass_control_plane(nxos, index);
        return;
    }
    line->known = true;
    struct nxos_class *class = find_class(nxos, type, line->word[w]);
    if (!class) {
        class = nxos->classes =
            lines_define(&nxos->lines_in, nxos->classes, type, line->word[w], line->number, sizeof(*class));
        class->all = all;
    }
    for (uint32_t i = index + 1; i < line->end; i++)
        read_match(nxos, class, &nxos->lines.line[i]);
}

/* A DSCP that a class before this one has taken, for another group: whichever was meant, one of the two is idle. */
static void judge_twice(struct nxos *nxos, const struct nxos_policy *policy, const struct nxos_class *class,
                        uint8_t group, unsigned dscp)
{
    if (policy->dscp_to_tc[dscp] == group) return;
    CAUTION(nxos, class->match_line, "MAP001", CONFIG_NONE,
            "class-map %.60s matches DSCP %u, which a class before it in policy-map %.60s has put into qos-group %u",
            class->name, dscp, policy->name, policy->dscp_to_tc[dscp]);
}

static void read_qos_class(struct nxos *nxos, struct nxos_policy *policy, struct line *line)
{
    struct line_match match;
    const char *name = line->word[line->words - 1];
    struct nxos_class *class = find_class(nxos, NXOS_QOS, name);
    bool rest = strcmp(name, "class-default") == 0;

    line->known = true;
    if (class) class->used = true;
    if (!class && !rest) {
        policy->unknown_line = line->number;
        NOTE(nxos, line->number, "MAP007", CONFIG_NONE, "policy-map %.60s uses class-map %.60s, which is not defined",
             policy->name, name);
    }
    for (uint32_t i = (uint32_t)(line - nxos->lines.line) + 1; i < line->end; i++) {
        struct line *set = &nxos->lines.line[i];
        if (line_take(set, "set dscp *", &match) || line_take(set, "set ip dscp *", &match) ||
            line_take(set, "set precedence *", &match))
            NOTE(nxos, set->number, "MAP004", CONFIG_NONE,
                 "packets of class %.60s leave with another DSCP than they came with", name);
        if (!line_is(set, "set qos-group # ...", &match) || match.number[0] >= NXOS_PRIOS) continue;
        line_take_part(set, "set qos-group #", NULL);
        uint8_t group = (uint8_t)match.number[0];
        if (rest) {
            policy->rest = group;
            policy->rest_line = set->number;
        } else if (class && !policy->group_line[group]) {
            policy->group_line[group] = class->match_line;
        }
        if (class && class->by_cos && !class->by_dscp) policy->cos_only_line = class->match_line;
        for (unsigned d = 0; d < 64; d++) {
            if (rest ? policy->dscp_line[d] : !(class && class->dscps >> d & 1)) continue;
            if (policy->dscp_line[d] && !rest) { /* the first class that matches takes it */
                judge_twice(nxos, policy, class, group, d);
                continue;
            }
            policy->dscp_to_tc[d] = group;
            if (!rest) policy->dscp_line[d] = set->number;
            if (!rest && (d == 0 || __builtin_popcountll(class->dscps) > 1)) policy->among_line[d] = class->match_line;
        }
        for (unsigned c = 0; c < 8; c++) {
            if (rest ? policy->cos_line[c] : !(class && class->cos >> c & 1)) continue;
            if (policy->cos_line[c] && !rest) continue;
            policy->cos_to_tc[c] = group;
            if (!rest) policy->cos_line[c] = set->number;
        }
        if (class) {
            policy->by_dscp |= class->by_dscp;
            policy->by_cos |= class->by_cos;
            config_class_name(nxos->set, group, name);
            config_class_dscps(nxos->set, nxos->device, name, class->dscps);
            if (strcasestr(name, "cnp") && class->dscps) policy->cnp_group = group;
        }
    }
}

/* The qos-group of a network-qos or queuing class; -1 and a note where there is none. */
static int group_of(struct nxos *nxos, const struct nxos_policy *policy, const struct line *line)
{
    const char *name = line->word[line->words - 1];
    int group = nxos_builtin(name, policy->kind);
    struct nxos_class *class = find_class(nxos, policy->kind, name);

    if (group >= 0) return group;
    if (class) class->used = true;
    if (class && class->groups) return __builtin_ctz(class->groups);
    if (class && class->cos && policy->kind == NXOS_NETWORK) return __builtin_ctz(class->cos);
    if (policy->kind == NXOS_NETWORK && (strncmp(name, "c-out-", 6) == 0 || strncmp(name, "c-in-", 5) == 0)) {
        NOTE(nxos, line->number, "SYN001", CONFIG_NONE,
             "'%.60s' is a class of type queuing; network-qos classes are c-8q-nq1 to c-8q-nq7", name);
    } else if (!class) {
        NOTE(nxos, line->number, "MAP007", CONFIG_NONE,
             "policy-map %.60s uses class %.60s, which is neither built in nor defined", policy->name, name);
    }
    return -1;
}

static void read_network_class(struct nxos *nxos, struct nxos_policy *policy, struct line *line)
{
    int group = group_of(nxos, policy, line);
    struct line_match match;

    line->known = true;
    if (group > 0 && strcasestr(line->word[line->words - 1], "fcoe")) policy->fcoe |= (uint8_t)(1u << group);
    policy->own_classes |= nxos_builtin(line->word[line->words - 1], NXOS_NETWORK) < 0;
    if (group >= 0) policy->class_line[group] = line->number;
    if (group > 0) policy->named |= (uint8_t)(1u << group);
    for (uint32_t i = (uint32_t)(line - nxos->lines.line) + 1; i < line->end; i++) {
        struct line *inner = &nxos->lines.line[i];
        bool pause = false;
        unsigned priority = 0;

        if (line_take_part(inner, "pause pfc-cos #", &match) ||
            line_take_part(inner, "pause no-drop pfc-cos #", &match)) {
            pause = inner->known = match.number[0] < NXOS_PRIOS;
            priority = (unsigned)match.number[0] & 7u;
        } else if (line_take_part(inner, "pause no-drop", NULL)) {
            pause = true;
            priority = group > 0 ? (unsigned)group : 0;
        } else if (line_take_part(inner, "mtu #", &match)) {
            policy->mtu[group > 0 ? group : 0] =
                match.number[0] > NXOS_MTU_MOST ? NXOS_MTU_MOST : (uint32_t)match.number[0];
            policy->mtu_line[group > 0 ? group : 0] = inner->number;
            continue;
        } else if (line_take(inner, "no pause", NULL) || line_take(inner, "congestion-control tail-drop", NULL) ||
                   line_take(inner, "no congestion-control random-detect", NULL)) {
            continue;
        }
        if (!pause) continue;
        if (group > 0 && (unsigned)group != priority) policy->elsewhere_line = inner->number;
        /* where the class leads nowhere, the priority is all there is to go by */
        unsigned of = group > 0 ? (unsigned)group : priority;
        policy->lossless |= (uint8_t)(1u << of);
        policy->pfc |= (uint8_t)(1u << priority);
        policy->lossless_line[of] = inner->number;
        policy->paused[of] = (uint8_t)priority;
    }
}

static uint64_t bytes_of(uint64_t number, const char *unit)
{
    uint64_t scale = strcmp(unit, "kbytes") == 0   ? NXOS_KBYTE
                     : strcmp(unit, "mbytes") == 0 ? NXOS_KBYTE * NXOS_KBYTE
                     : strcmp(unit, "bytes") == 0  ? 1
                                                   : 0;

    return scale == 0 || number > UINT32_MAX / scale ? 0 : number * scale;
}

/* random-detect [minimum-threshold N UNIT maximum-threshold N UNIT [drop-probability P] [weight W]] [ecn] */
static void read_detect(struct nxos *nxos, struct line *line, struct nxos_queue *queue)
{
    uint64_t min = 0, max = 0, probability = 100, weight = 0, number;
    bool ecn = false, good = true;

    if (line_is(line, "random-detect ecn minimum-threshold ...", NULL)) return;
    line->known = true;
    for (uint32_t w = 1; w < line->words; w++) {
        const char *word = line->word[w];
        bool numbered = w + 1 < line->words && line_number(line->word[w + 1], &number);
        if (strcmp(word, "ecn") == 0) {
            ecn = true;
        } else if (numbered && strcmp(word, "drop-probability") == 0) {
            probability = number;
            w++;
        } else if (numbered && strcmp(word, "weight") == 0) {
            weight = number;
            w++;
        } else if (numbered && w + 2 < line->words && strstr(word, "-threshold")) {
            uint64_t bytes = bytes_of(number, line->word[w + 2]);
            *(strcmp(word, "minimum-threshold") == 0 ? &min : &max) = bytes;
            good &= bytes != 0;
            w += 2;
        } else if (strcmp(word, "burst-optimized") == 0 || strcmp(word, "mesh-optimized") == 0) {
            good = false;
        } else if (!line->taken) {
            line->taken = (uint16_t)w; /* an option that is not known; the curve stands */
        }
    }
    if (good && max == 0 && queue->detect && queue->max_bytes) { /* a second line that only adds to the first */
        queue->ecn |= ecn;
        return;
    }
    queue->detect = true;
    queue->ecn_line = line->number;
    queue->ecn = ecn;
    queue->probability_ppm = (uint32_t)(probability >= 1 && probability <= 100 ? probability * 10000 : 1000000);
    if (good && max == 0) { /* the platform's own thresholds */
        ASSUME(nxos, line->number, CONFIG_NONE, "thresholds are not said; 150KB and 3MB are taken");
        UNJUDGED(nxos, line->number, "ECN003", CONFIG_NONE, "thresholds are not said");
        min = 150 * NXOS_KBYTE;
        max = 3000 * NXOS_KBYTE;
    } else if (!good || max == 0) {
        NOTE(nxos, line->number, "ECN007", CONFIG_NONE, "thresholds that are not in bytes: 150KB and 3MB are taken");
        min = 150 * NXOS_KBYTE;
        max = 3000 * NXOS_KBYTE;
    } else if (min > max || probability < 1 || probability > 100) {
        NOTE(nxos, line->number, "ECN002", CONFIG_NONE, "the curve is wrong: %s",
             min > max ? "minimum above maximum" : "a probability is 1 to 100");
        min = min > max ? max : min;
    }
    if (weight && ecn)
        NOTE(nxos, line->number, "ECN008", CONFIG_NONE, "weight %u averages the queue: bursts end before they are seen",
             (unsigned)weight);
    queue->min_bytes = min;
    queue->max_bytes = max;
}

static void read_queuing_line(struct nxos *nxos, struct line *line, struct nxos_queue *queue)
{
    struct line_match match;

    bool remaining = line_take_part(line, "bandwidth remaining percent #", &match);
    if (remaining || line_take_part(line, "bandwidth percent #", &match)) {
        line->known = match.number[0] <= 100;
        if (!line->known) return;
        queue->share_ppm = (uint32_t)match.number[0] * 10000;
        queue->remaining = remaining;
        queue->share_line = line->number;
    } else if (line_take_part(line, "priority level #", NULL) || line_take_part(line, "priority", NULL)) {
        queue->strict = true;
        queue->share_line = line->number;
    } else if (line_is(line, "random-detect ...", NULL)) {
        read_detect(nxos, line, queue);
    } else if (line_take_part(line, "pause buffer-size # pause-threshold # resume-threshold #", &match)) {
        if (match.number[0] < match.number[1] || match.number[1] < match.number[2] || match.number[0] > UINT32_MAX) {
            NOTE(nxos, line->number, "HR006", CONFIG_NONE,
                 "buffer-size, pause-threshold and resume-threshold have to go down in this order");
            return;
        }
        queue->buffer_bytes = match.number[0];
        queue->pause_bytes = match.number[1];
        queue->resume_bytes = match.number[2];
        queue->pause_line = line->number;
    }
}

static void read_queuing_class(struct nxos *nxos, struct nxos_policy *policy, struct line *line)
{
    int group = group_of(nxos, policy, line);

    line->known = true;
    if (group >= 0) policy->queue[group].line = line->number;
    for (uint32_t i = (uint32_t)(line - nxos->lines.line) + 1; group >= 0 && i < line->end; i++)
        read_queuing_line(nxos, &nxos->lines.line[i], &policy->queue[group]);
}

static struct nxos_policy *add_policy(struct nxos *nxos, enum nxos_type type, const struct line *line, const char *name)
{
    struct nxos_policy *policy = lines_find(nxos->policies, type, name);

    if (policy) return policy;
    policy = nxos->policies = lines_define(&nxos->lines_in, nxos->policies, type, name, line->number, sizeof(*policy));
    for (int q = 0; q < NXOS_PRIOS; q++)
        policy->queue[q].buffer_bytes = NXOS_UNSAID;
    return policy;
}

/* Shares of the line and shares of what these leave.  Either that adds up to more than all cannot be held by a fabric
 * file, and means nothing on the switch; the two together may, and then the latter are less of the line than said. */
static void check_shares(struct nxos *nxos, struct nxos_policy *policy)
{
    uint64_t sum[2] = {0};
    uint32_t largest = 0, most = 0; /* its line */

    for (int q = 0; q < NXOS_PRIOS; q++) {
        const struct nxos_queue *queue = &policy->queue[q];
        if (queue->strict) continue;
        sum[queue->remaining] += queue->share_ppm;
        bool before = queue->share_ppm == most && queue->share_line < largest;
        if (queue->share_ppm > most || before) most = queue->share_ppm, largest = queue->share_line;
    }
    bool over = sum[0] > 1000000 || sum[1] > 1000000;
    if (over)
        NOTE(nxos, largest, "SCH001", CONFIG_NONE, "the shares of policy-map %.60s add up to %u%%", policy->name,
             (unsigned)((sum[0] > sum[1] ? sum[0] : sum[1]) / 10000));
    if (sum[0] + sum[1] <= 1000000) return;
    for (int q = 0; q < NXOS_PRIOS; q++) {
        struct nxos_queue *queue = &policy->queue[q];
        if (over)
            queue->share_ppm = 0;
        else if (queue->remaining)
            queue->share_ppm = (uint32_t)((uint64_t)queue->share_ppm * (1000000 - sum[0]) / 1000000);
    }
}

static void read_policy_map(struct nxos *nxos, uint32_t index)
{
    struct line *line = &nxos->lines.line[index];
    bool typed = line->words > 3 && strcmp(line->word[1], "type") == 0;
    enum nxos_type type = typed ? type_of(line->word[2]) : NXOS_QOS;

    if (type == NXOS_OTHER || line->words < 2) {
        pass_control_plane(nxos, index);
        return;
    }
    struct nxos_policy *policy = add_policy(nxos, type, line, line->word[line->words - 1]);
    line->known = true;
    for (uint32_t i = index + 1; i < line->end; i++) {
        struct line *inner = &nxos->lines.line[i];
        if (strcmp(inner->word[0], "class") != 0 || inner->words < 2) continue;
        if (type == NXOS_QOS)
            read_qos_class(nxos, policy, inner);
        else if (type == NXOS_NETWORK)
            read_network_class(nxos, policy, inner);
        else
            read_queuing_class(nxos, policy, inner);
    }
    check_shares(nxos, policy);
}

void nxos_policies(struct nxos *nxos)
{
    uint32_t maps = 0;

    for (int pass = 0; pass < 2; pass++) {
        const char *word = pass ? "policy-map" : "class-map";
        for (uint32_t i = 0; i < nxos->lines.count && maps < 2 * POLICIES_MAX; i++) {
            const struct line *line = &nxos->lines.line[i];
            if (line->parent != LINES_NONE || strcmp(line->word[0], word) != 0) continue;
            maps++;
            if (pass)
                read_policy_map(nxos, i);
            else
                read_class_map(nxos, i);
        }
    }
}

struct nxos_policy *nxos_policy(struct nxos *nxos, enum nxos_type type, const char *name, uint32_t line, uint32_t port)
{
    struct nxos_policy *policy = lines_find(nxos->policies, type, name), *any = nxos->policies;

    nxos->missing = !policy && strncmp(name, "default-", 8) != 0;
    if (policy) policy->used = true;
    if (!nxos->missing || nxos->noted == line) return policy;
    nxos->noted = line;
    while (any && any->kind != (int)type)
        any = any->next;
    if (!any && !nxos->whole)
        UNJUDGED(nxos, line, "MAP007", CONFIG_NONE,
                 "policy-map %.60s is not in the text, which is a part of a configuration", name);
    else
        NOTE(nxos, line, "MAP007", port, "policy-map %.60s is not defined", name);
    return NULL;
}

/* Is anything applied at all?  A part of a configuration may be about something else. */
static bool applies(const struct nxos *nxos)
{
    for (uint32_t i = 0; i < nxos->lines.count; i++)
        if (strcmp(nxos->lines.line[i].word[0], "service-policy") == 0) return true;
    return false;
}

void nxos_unused(struct nxos *nxos)
{
    bool part = !nxos->whole && !applies(nxos), ports = nxos->whole;
    for (uint32_t i = 0; i < nxos->lines.count; i++)
        ports |= strcmp(nxos->lines.line[i].word[0], "interface") == 0;

    if (part && nxos->policies)
        UNJUDGED(nxos, nxos->policies->line, "MAP007", CONFIG_NONE,
                 "the text is a part of a configuration that applies no policy-map");
    if (!part) /* those of type qos are of interfaces */
        lines_unused(&nxos->lines_in, nxos->policies, ports ? ~0u : ~(1u << NXOS_QOS), "policy-map", "applied nowhere");
    bool unknown = false; /* a class of another name: that is told, and this would be its other half */
    for (struct nxos_policy *policy = nxos->policies; policy; policy = policy->next)
        unknown |= policy->unknown_line != 0;
    if (!unknown) lines_unused(&nxos->lines_in, nxos->classes, ~0u, "class-map", "in no policy-map");
}
