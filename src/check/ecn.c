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

#define PROBABILITY_LEAST_PPM 1000 /* a curve that ends lower marks next to nothing */

/* Cabled ports of switches with a queue for a lossless class. */
#define EACH_QUEUE(fabric, p, tc)                                                                                      \
    for (uint32_t p = (fabric)->endpoints; p < (fabric)->ports; p++)                                                   \
        for (unsigned tc = 0; tc < FABRIC_PRIOS && port_used(check, p); tc++)                                          \
            if (settings_of(fabric, p)->lossless >> tc & 1)

static const struct sw_ecn *ecn_of(const struct fabric *fabric, uint32_t port, unsigned tc)
{
    const struct fabric_settings *settings = settings_of(fabric, port);

    return &settings->queue[settings->tc_to_queue[tc]].ecn;
}

RULE_FUNCTION(ecn_on)
{
    const struct fabric *fabric = check->fabric;
    char name[FABRIC_NAME], path[96];

    EACH_QUEUE(fabric, p, tc)
    {
        if (ecn_of(fabric, p, tc)->on) continue;
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
                       "%s marks '%s' from %s to %s with %s at most: not a curve, and not a step either",
                       port_label(fabric, p, name), class_name(fabric, tc), unit_format(UNIT_SIZE, ecn->min_bytes, a),
                       unit_format(UNIT_SIZE, ecn->max_bytes, b), unit_format(UNIT_SHARE, ecn->probability_ppm, c));
        else if (ecn->probability_ppm < PROBABILITY_LEAST_PPM)
            check_find(check, CHECK_ERROR, fabric->port[p].node, p, class_path(fabric, tc, "ecn.probability", path),
                       "%s marks '%s' with a probability of %s at most", port_label(fabric, p, name),
                       class_name(fabric, tc), unit_format(UNIT_SHARE, ecn->probability_ppm, a));
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
        check_find(check, before || many ? CHECK_ERROR : CHECK_WARNING, fabric->port[p].node, p,
                   class_path(fabric, tc, "ecn.max", path),
                   "%s: with %u port%s congested '%s' pauses at %s a port, before %s at %s%s",
                   port_label(fabric, p, name), fan_in, fan_in == 1 ? "" : "s", class_name(fabric, tc),
                   unit_format_short(UNIT_SIZE, threshold, 4, a), before ? "marking begins" : "all is marked",
                   unit_format_short(UNIT_SIZE, before ? ecn->min_bytes : ecn->max_bytes, 4, b), many ? together : "");
    }
}

/* The first port of each role, class and rate stands for its kind. */
struct kind {
    uint32_t port;
    uint64_t rate_bps;
};
#define KINDS 16

static bool same_curve(const struct sw_ecn *a, const struct sw_ecn *b)
{
    return a->on == b->on && a->min_bytes == b->min_bytes && a->max_bytes == b->max_bytes &&
           a->probability_ppm == b->probability_ppm;
}

static void compare_kind(struct check *check, uint32_t p, unsigned tc, struct kind *kind, uint32_t *kinds)
{
    const struct fabric *fabric = check->fabric;
    const struct sw_ecn *ecn = ecn_of(fabric, p, tc);
    char name[FABRIC_NAME], other[FABRIC_NAME], path[96];
    uint32_t k = 0;

    while (k < *kinds && kind[k].rate_bps != fabric->port[p].rate_bps)
        k++;
    if (k < *kinds && !same_curve(ecn, ecn_of(fabric, kind[k].port, tc)))
        check_find(check, CHECK_WARNING, fabric->port[p].node, p, class_path(fabric, tc, "ecn", path),
                   "%s marks '%s' otherwise than %s, of the same role and rate", port_label(fabric, p, name),
                   class_name(fabric, tc), port_label(fabric, kind[k].port, other));
    if (k < *kinds || k == KINDS) return;
    for (uint32_t j = 0; j < *kinds; j++) {
        const struct sw_ecn *at = ecn_of(fabric, kind[j].port, tc);
        bool faster = fabric->port[p].rate_bps > kind[j].rate_bps;
        if (faster ? ecn->max_bytes >= at->max_bytes : ecn->max_bytes <= at->max_bytes) continue;
        check_find(check, CHECK_WARNING, fabric->port[p].node, p, class_path(fabric, tc, "ecn.max", path),
                   "%s marks '%s' at a %s threshold than %s, which is %s", port_label(fabric, p, name),
                   class_name(fabric, tc), faster ? "lower" : "higher", port_label(fabric, kind[j].port, other),
                   faster ? "slower" : "faster");
    }
    kind[(*kinds)++] = (struct kind){p, fabric->port[p].rate_bps};
}

RULE_FUNCTION(ecn_alike)
{
    const struct fabric *fabric = check->fabric;
    struct kind kind[FABRIC_ROLES][FABRIC_PRIOS][KINDS];
    uint32_t kinds[FABRIC_ROLES][FABRIC_PRIOS] = {0};

    EACH_QUEUE(fabric, p, tc)
    {
        uint8_t role = fabric->node[fabric->port[p].node].role;
        if (ecn_of(fabric, p, tc)->on) compare_kind(check, p, tc, kind[role][tc], &kinds[role][tc]);
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
        ps_t round = 2 * (as->propagation_ps + switch_of(fabric, p)->latency_ps);
        uint64_t product = (uint64_t)((u128)as->rate_bps * round / PS_S / 8);
        if (!ecn->on || ecn->min_bytes >= product) continue;
        check_find(check, CHECK_INFO, as->node, p, class_path(fabric, tc, "ecn.min", path),
                   "%s marks '%s' from %s, less than the %s that one hop holds", port_label(fabric, p, name),
                   class_name(fabric, tc), unit_format_short(UNIT_SIZE, ecn->min_bytes, 4, a),
                   unit_format_short(UNIT_SIZE, product, 4, b));
    }
}
