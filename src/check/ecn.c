/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ECN: that it marks at all, that it marks before PFC pauses, that it marks alike.
 *
 * Before PFC: N groups that are congested alike each may hold T_N = alpha B / (1 + N alpha) (Choudhury and Hahne's
 * dynamic threshold, solved for N).  If one ingress port feeds a queue, the queue is as long as that port's share, so
 * marking must be complete below T_N; if m ports feed it, each holds an m-th of it.  The first is the stricter, and the
 * one in which other ports are congested for reasons of their own.
 */
#include <stdio.h>

#include "base/wide.h"
#include "check/rule.h"
#include "fabric/switches.h"

#define RACK_PS (4 * PS_US) /* there and back within a rack, with adapters, where cables are not known */

/* Cabled ports of switches with a queue for a lossless class. */
#define EACH_QUEUE(fabric, p, tc)                                                                                      \
    for (uint32_t p = (fabric)->endpoints; p < (fabric)->ports; p++)                                                   \
        for (unsigned tc = 0; tc < FABRIC_PRIOS && port_used(check, p); tc++)                                          \
            if (settings_of(fabric, p)->lossless >> tc & 1 && fed_classes(settings_of(fabric, p)) >> tc & 1)

static const struct sw_ecn *ecn_of(const struct fabric *fabric, uint32_t port, unsigned tc)
{
    const struct fabric_settings *settings = settings_of(fabric, port);

    return &settings->queue[settings->tc_to_queue[tc]].ecn;
}

/* Is marking of this class in the place of the other's?  It is where no port of the switch marks both. */
static bool stands_in(const struct check *check, uint32_t node, unsigned tc, unsigned other)
{
    const struct fabric_node *as = &check->fabric->node[node];

    for (uint32_t p = as->first_port; p < as->first_port + as->ports; p++)
        if (port_used(check, p) && ecn_of(check->fabric, p, tc)->on && ecn_of(check->fabric, p, other)->on)
            return false;
    return true;
}

/* A lossy class whose queue marks where that of `tc` should; FABRIC_PRIOS: none. */
static unsigned marked_instead(const struct check *check, uint32_t p, unsigned tc)
{
    const struct fabric_settings *settings = settings_of(check->fabric, p);

    uint8_t nos = switch_of(check->fabric, p)->nos;
    if (nos == FABRIC_NOS_SONIC || nos == FABRIC_NOS_NVUE) return FABRIC_PRIOS; /* importers know which row is odd */
    for (uint32_t c = 0; c < check->fabric->class_count; c++) {
        unsigned other = check->fabric->classes[c].priority;
        if (other != tc && !(settings->lossless >> other & 1) && ecn_of(check->fabric, p, other)->on &&
            stands_in(check, check->fabric->port[p].node, tc, other))
            return other;
    }
    return FABRIC_PRIOS;
}

RULE_FUNCTION(ecn_on)
{
    const struct fabric *fabric = check->fabric;
    char name[FABRIC_NAME], path[96];

    EACH_QUEUE(fabric, p, tc)
    {
        if (ecn_of(fabric, p, tc)->on) continue;
        unsigned other = marked_instead(check, p, tc);
        if (other < FABRIC_PRIOS)
            check_find(check, CHECK_ERROR, fabric->port[p].node, p, class_path(fabric, other, "ecn.min", path),
                       "%s marks '%s', which is lossy, but not '%s'", port_label(fabric, p, name),
                       class_name(fabric, other), class_name(fabric, tc));
        else
            check_find(check, CHECK_ERROR, fabric->port[p].node, p, class_path(fabric, tc, "ecn", path),
                       "%s does not mark '%s': senders learn of this queue by pauses only", port_label(fabric, p, name),
                       class_name(fabric, tc));
    }
}

RULE_FUNCTION(ecn_curve)
{
    const struct fabric *fabric = check->fabric;
    char name[FABRIC_NAME], path[96], a[UNIT_TEXT], b[UNIT_TEXT], c[UNIT_TEXT];

    EACH_QUEUE(fabric, p, tc)
    {
        const struct sw_ecn *ecn = ecn_of(fabric, p, tc);
        bool step = ecn->min_bytes == ecn->max_bytes && ecn->probability_ppm == 1000000;
        if (!ecn->on) continue;
        if (ecn->min_bytes >= ecn->max_bytes && !step)
            check_find(check, CHECK_ERROR, fabric->port[p].node, p, class_path(fabric, tc, "ecn.min", path),
                       "%s marks '%s' from %s to %s with %s at most: neither a curve nor a step",
                       port_label(fabric, p, name), class_name(fabric, tc), unit_format(UNIT_SIZE, ecn->min_bytes, a),
                       unit_format(UNIT_SIZE, ecn->max_bytes, b), unit_format(UNIT_SHARE, ecn->probability_ppm, c));
        else if (ecn->max_bytes < PACKET_BYTES && ecn->max_bytes < settings_of(fabric, p)->mtu_bytes)
            check_find(check, CHECK_ERROR, fabric->port[p].node, p, class_path(fabric, tc, "ecn.max", path),
                       "%s marks '%s' up to %s, less than one RDMA packet: every packet that waits is marked",
                       port_label(fabric, p, name), class_name(fabric, tc), unit_format(UNIT_SIZE, ecn->max_bytes, a));
        else if (step && check->imported)
            check_find(check, CHECK_INFO, fabric->port[p].node, p, class_path(fabric, tc, "ecn.min", path),
                       "%s marks '%s' by a step: nothing below %s, and every packet above", port_label(fabric, p, name),
                       class_name(fabric, tc), unit_format(UNIT_SIZE, ecn->min_bytes, a));
        else if (ecn->probability_ppm < PROBABILITY_LEAST_PPM)
            check_find(check, CHECK_ERROR, fabric->port[p].node, p, class_path(fabric, tc, "ecn.probability", path),
                       "%s marks '%s' with a probability of %s at most", port_label(fabric, p, name),
                       class_name(fabric, tc), unit_format(UNIT_SHARE, ecn->probability_ppm, a));
        else if (step && check->imported)
            check_find(check, CHECK_INFO, fabric->port[p].node, p, class_path(fabric, tc, "ecn.min", path),
                       "%s marks all of '%s' from %s on and nothing below: DCTCP uses such a step, DCQCN needs a slope",
                       port_label(fabric, p, name), class_name(fabric, tc), unit_format(UNIT_SIZE, ecn->min_bytes, a));
    }
}

RULE_FUNCTION(ecn_before_pfc)
{
    const struct fabric *fabric = check->fabric;
    char name[FABRIC_NAME], path[96], a[UNIT_TEXT], b[UNIT_TEXT], c[UNIT_TEXT], end[UNIT_TEXT], together[128];

    EACH_QUEUE(fabric, p, tc)
    {
        const struct fabric_settings *settings = settings_of(fabric, p);
        const struct sw_ecn *ecn = ecn_of(fabric, p, tc);
        const struct fabric_pg *pg = &settings->pg[settings->tc_to_pg[tc]];
        uint32_t fan_in = design_fan_in(fabric, fabric->port[p].node);
        if (!ecn->on || !pg->lossless) continue;
        uint64_t threshold = threshold_bytes(switch_of(fabric, p), pg, fan_in) + pg->reserved_bytes;
        bool before = threshold <= ecn->min_bytes, many = fan_in > 1 && threshold * fan_in <= ecn->max_bytes;
        if (threshold > ecn->max_bytes) continue;
        snprintf(together, sizeof(together), "; all of them into one queue hold %s, less than the %s it takes",
                 unit_format_short(UNIT_SIZE, threshold * fan_in, 4, c),
                 unit_format_short(UNIT_SIZE, ecn->max_bytes, 4, end));
        enum check_severity severity = before || many ? CHECK_ERROR : CHECK_WARNING;
        if (check->imported && !fabric->operations.fan_in) { /* how many are congested is assumed; one may always be */
            uint64_t alone = threshold_bytes(switch_of(fabric, p), pg, 1) + pg->reserved_bytes;
            severity = alone <= ecn->min_bytes ? CHECK_ERROR : alone <= ecn->max_bytes ? CHECK_WARNING : CHECK_INFO;
        }
        check_find(check, severity, fabric->port[p].node, p, class_path(fabric, tc, "ecn.max", path),
                   "%s: with %u port%s congested '%s' pauses at %s a port, before %s at %s%s",
                   port_label(fabric, p, name), fan_in, fan_in == 1 ? "" : "s", class_name(fabric, tc),
                   unit_format_short(UNIT_SIZE, threshold, 4, a), before ? "marking begins" : "all is marked",
                   unit_format_short(UNIT_SIZE, before ? ecn->min_bytes : ecn->max_bytes, 4, b), many ? together : "");
    }
}

/* Ports of one role, class and rate, by the curves they have: the most common one stands for the kind. */
#define CURVES 8 /* more than so many are too many to tell which is meant */
struct kind {
    uint64_t rate_bps, work; /* rate, and what it leads to */
    uint32_t port[CURVES], votes[CURVES], curves;
};
#define KINDS 16
struct kinds {
    struct kind kind[KINDS];
    uint32_t kinds;
};

static bool same_curve(const struct sw_ecn *a, const struct sw_ecn *b)
{
    return a->on == b->on && a->min_bytes == b->min_bytes && a->max_bytes == b->max_bytes &&
           a->probability_ppm == b->probability_ppm;
}

/* What a port of a configuration leads to: ports to hosts and to switches may mark differently by design. */
static uint64_t work_of(const struct check *check, uint32_t p)
{
    if (!check->imported) return 0;
    if (peer_is_switch(check->fabric, p)) return 1;
    if (!node_unknown(check->fabric, check->fabric->port[check->fabric->port[p].peer].node)) return 2;
    return check->kind ? check->kind[p] : 0;
}

static struct kind *kind_of(const struct check *check, struct kinds *kinds, uint32_t p)
{
    for (uint32_t k = 0; k < kinds->kinds; k++)
        if (kinds->kind[k].rate_bps == check->fabric->port[p].rate_bps && kinds->kind[k].work == work_of(check, p))
            return &kinds->kind[k];
    return NULL;
}

static void count_curve(const struct check *check, struct kinds *kinds, uint32_t p, unsigned tc)
{
    const struct fabric *fabric = check->fabric;
    struct kind *kind = kind_of(check, kinds, p);

    if (!kind && kinds->kinds == KINDS) return;
    if (!kind) {
        kind = &kinds->kind[kinds->kinds++];
        *kind = (struct kind){.rate_bps = fabric->port[p].rate_bps, .work = work_of(check, p)};
    }
    uint32_t c = 0;
    while (c < kind->curves && !same_curve(ecn_of(fabric, p, tc), ecn_of(fabric, kind->port[c], tc)))
        c++;
    if (c == CURVES) return;
    if (c == kind->curves) kind->port[kind->curves++] = p;
    kind->votes[c]++;
}

/* A port with the curve that most have. */
static uint32_t usual_curve(const struct kind *kind)
{
    uint32_t best = 0;

    for (uint32_t c = 1; c < kind->curves; c++)
        if (kind->votes[c] > kind->votes[best]) best = c;
    return kind->port[best];
}

static void compare_kind(struct check *check, uint32_t p, unsigned tc, struct kinds *kinds)
{
    const struct fabric *fabric = check->fabric;
    const struct kind *own = kind_of(check, kinds, p);
    char name[FABRIC_NAME], other[FABRIC_NAME], path[96];

    if (!own) return;
    if (!same_curve(ecn_of(fabric, p, tc), ecn_of(fabric, usual_curve(own), tc)))
        check_find(check, CHECK_WARNING, fabric->port[p].node, p, class_path(fabric, tc, "ecn", path),
                   "%s marks '%s' differently from most ports of its role and rate, such as %s",
                   port_label(fabric, p, name), class_name(fabric, tc), port_label(fabric, usual_curve(own), other));
    if (p != usual_curve(own)) return;
    for (uint32_t k = 0; k < kinds->kinds && &kinds->kind[k] != own; k++) {
        uint32_t q = usual_curve(&kinds->kind[k]);
        const struct sw_ecn *here = ecn_of(fabric, p, tc), *there = ecn_of(fabric, q, tc);
        bool faster = own->rate_bps > kinds->kind[k].rate_bps;
        if (own->rate_bps == kinds->kind[k].rate_bps) continue;
        if (faster ? here->max_bytes >= there->max_bytes : here->max_bytes <= there->max_bytes) continue;
        check_find(check, check->imported ? CHECK_INFO : CHECK_WARNING, fabric->port[p].node, p,
                   class_path(fabric, tc, "ecn.max", path), "%s marks '%s' at a %s threshold than %s, which is %s",
                   port_label(fabric, p, name), class_name(fabric, tc), faster ? "lower" : "higher",
                   port_label(fabric, q, other), faster ? "slower" : "faster");
    }
}

RULE_FUNCTION(ecn_alike)
{
    const struct fabric *fabric = check->fabric;
    struct kinds *kinds = ARENA_NEW(&check->arena, struct kinds, FABRIC_ROLES * FABRIC_PRIOS);

    for (int pass = 0; pass < 2; pass++)
        EACH_QUEUE(fabric, p, tc)
        {
            struct kinds *of = &kinds[fabric->node[fabric->port[p].node].role * FABRIC_PRIOS + tc];
            if (!ecn_of(fabric, p, tc)->on) continue;
            if (pass == 0)
                count_curve(check, of, p, tc);
            else
                compare_kind(check, p, tc, of);
        }
}

RULE_FUNCTION(ecn_bdp)
{
    const struct fabric *fabric = check->fabric;
    char name[FABRIC_NAME], path[96], a[UNIT_TEXT], b[UNIT_TEXT];

    EACH_QUEUE(fabric, p, tc)
    {
        const struct sw_ecn *ecn = ecn_of(fabric, p, tc);
        const struct fabric_port *as = &fabric->port[p];
        uint64_t product = hop_bytes(fabric, p);
        uint64_t rack = (uint64_t)((u128)as->rate_bps * RACK_PS / PS_S / 8);
        if (check->imported && rack > product) product = rack;
        if (!ecn->on || ecn->min_bytes >= product) continue;
        check_find(check, CHECK_INFO, as->node, p, class_path(fabric, tc, "ecn.min", path),
                   "%s marks '%s' from %s, less than the %s that one hop holds", port_label(fabric, p, name),
                   class_name(fabric, tc), unit_format_short(UNIT_SIZE, ecn->min_bytes, 4, a),
                   unit_format_short(UNIT_SIZE, product, 4, b));
    }
}
