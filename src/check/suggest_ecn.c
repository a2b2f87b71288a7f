/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where marking begins and ends.
 *
 * It begins no lower than one hop holds (ECN005) and best where a round trip over the longest path is held, so that one
 * flow fills the line; it ends below the pause threshold at the design fan-in (ECN003), best at four times its
 * beginning.  Ports of a role have one curve, in proportion to their rates (ECN004): the role's fastest rate stands for
 * it, and `per` scales it.  Where less than that fits below the threshold, the curve is made smaller.
 */
#include "base/wide.h"
#include "check/suggest_int.h"
#include "fabric/switches.h"

#define PROBABILITY_PPM 200000 /* at the end of the curve: HPCC's and SimAI's settings; the rules leave it open */

struct curve {                        /* of a role and class, for ports of rate `per` */
    uint64_t per, hop, wanted, limit; /* limit: what it must stay below */
    uint64_t min, max;
    bool possible;
};

static const struct sw_ecn *marks_of(const struct fabric *fabric, uint32_t port, unsigned tc)
{
    const struct fabric_settings *settings = settings_of(fabric, port);

    return &settings->queue[settings->tc_to_queue[tc]].ecn;
}

static bool marked(const struct fabric *fabric, uint32_t port, unsigned tc)
{
    const struct fabric_settings *settings = settings_of(fabric, port);

    return settings->lossless >> tc & 1 && fed_classes(settings) >> tc & 1;
}

/* What the port's queue may hold when it is paused. */
static uint64_t paused_at(const struct fabric *fabric, const struct suggest_kind *kind, unsigned tc)
{
    const struct fabric_settings *settings = settings_of(fabric, kind->port);
    const struct fabric_pg *pg = &settings->pg[settings->tc_to_pg[tc]];
    uint64_t threshold = threshold_bytes(switch_of(fabric, kind->port), pg, kind->fan_in);

    return threshold > UINT32_MAX ? UINT32_MAX : threshold + pg->reserved_bytes;
}

static uint64_t at_rate(uint64_t bytes, uint64_t to_bps, uint64_t from_bps, bool up)
{
    return (uint64_t)(((u128)bytes * to_bps + (up ? from_bps - 1 : 0)) / from_bps);
}

static uint64_t thousands(uint64_t bytes, bool up)
{
    if (bytes < 10000) return bytes;
    return (bytes + (up ? 999 : 0)) / 1000 * 1000;
}

static void choose(struct curve *curve)
{
    uint64_t ends = curve->limit / 10 * 9;

    curve->possible = curve->hop + 1 < curve->limit;
    if (!curve->possible) return;
    curve->min = thousands(curve->wanted, true);
    curve->max = SUGGEST_CURVE * curve->min;
    if (curve->max <= ends) return;
    curve->max = thousands(ends, false);
    curve->min = thousands(curve->max / SUGGEST_CURVE, true);
    if (curve->min < curve->hop) curve->min = curve->hop;
    if (curve->max <= curve->min) curve->max = curve->min + (curve->limit - curve->min) / 2;
}

static bool curve_of(const struct fabric *fabric, const struct suggest_kinds *kinds, uint8_t role, unsigned tc,
                     struct curve *ret)
{
    *ret = (struct curve){.limit = UINT64_MAX};
    for (uint32_t k = 0; k < kinds->kinds; k++)
        if (kinds->kind[k].role == role && marked(fabric, kinds->kind[k].port, tc) &&
            fabric->port[kinds->kind[k].port].rate_bps > ret->per)
            ret->per = fabric->port[kinds->kind[k].port].rate_bps;
    for (uint32_t k = 0; k < kinds->kinds; k++) {
        const struct suggest_kind *kind = &kinds->kind[k];
        uint64_t rate = fabric->port[kind->port].rate_bps;
        if (kind->role != role || !marked(fabric, kind->port, tc)) continue;
        uint64_t hop = at_rate(hop_bytes(fabric, kind->port), ret->per, rate, true);
        uint64_t wanted = at_rate(suggest_wanted_min(fabric, kind->port), ret->per, rate, true);
        uint64_t limit = at_rate(paused_at(fabric, kind, tc), ret->per, rate, false);
        if (hop > ret->hop) ret->hop = hop;
        if (wanted > ret->wanted) ret->wanted = wanted;
        if (limit < ret->limit) ret->limit = limit;
    }
    if (ret->per) choose(ret);
    return ret->per;
}

static const char *threshold_words(struct suggest *suggest, const struct suggest_kind *kind, unsigned tc)
{
    const struct fabric_settings *settings = settings_of(suggest->fabric, kind->port);
    const struct fabric_pg *pg = &settings->pg[settings->tc_to_pg[tc]];
    char a[UNIT_TEXT], b[UNIT_TEXT], c[UNIT_TEXT];

    if (!pg->dynamic)
        return suggest_print(suggest, "T + reserve = %s + %s = %s",
                             unit_format_short(UNIT_SIZE, pg->static_bytes, 4, a),
                             unit_format(UNIT_SIZE, pg->reserved_bytes, b),
                             unit_format_short(UNIT_SIZE, paused_at(suggest->fabric, kind, tc), 4, c));
    return suggest_print(suggest, "T_%u + reserve = %u/%u x %s / (1 + %u x %u/%u) + %s = %s", kind->fan_in,
                         pg->alpha_num, pg->alpha_den, unit_format_short(UNIT_SIZE, kind->shared, 4, a), kind->fan_in,
                         pg->alpha_num, pg->alpha_den, unit_format(UNIT_SIZE, pg->reserved_bytes, b),
                         unit_format_short(UNIT_SIZE, paused_at(suggest->fabric, kind, tc), 4, c));
}

static struct suggest_row *row_of(struct suggest *suggest, const struct suggest_kind *kind, unsigned tc,
                                  const char *key, const char *rules)
{
    struct suggest_row *row = suggest_row_add(suggest, SUGGEST_ECN, kind, key, rules);

    row->class_name = class_name(suggest->fabric, tc);
    row->priority = (uint8_t)tc;
    return row;
}

static void min_row(struct suggest *suggest, const struct suggest_kind *kind, unsigned tc, const struct curve *curve)
{
    const struct fabric *fabric = suggest->fabric;
    const struct fabric_port *port = &fabric->port[kind->port];
    const struct sw_ecn *today = marks_of(fabric, kind->port, tc);
    struct suggest_row *row = row_of(suggest, kind, tc, "ecn.min", "ECN003, ECN005");
    ps_t round = suggest_round_trip(fabric, port->rate_bps);
    char a[UNIT_TEXT], b[UNIT_TEXT], c[UNIT_TEXT], d[UNIT_TEXT], e[UNIT_TEXT], f[UNIT_TEXT];

    row->unit = SUGGEST_SIZE;
    row->least = hop_bytes(fabric, kind->port);
    row->most = paused_at(fabric, kind, tc) < 2 ? 0 : paused_at(fabric, kind, tc) - 2;
    if (curve->possible) row->value = at_rate(curve->min, port->rate_bps, curve->per, false);
    if (today->on) row->today = today->min_bytes;
    row->formula = suggest_print(
        suggest, "a hop holds %s x 2 x (%s + %s) / 8 = %s; the longest path holds %s x %s / 8 = %s; less than %s",
        unit_format(UNIT_RATE, port->rate_bps, a), unit_format_short(UNIT_TIME, port->propagation_ps, 4, b),
        unit_format_short(UNIT_TIME, switch_of(fabric, kind->port)->latency_ps, 4, c),
        unit_format_short(UNIT_SIZE, row->least, 4, d), a, unit_format_short(UNIT_TIME, round, 4, e),
        unit_format_short(UNIT_SIZE, (uint64_t)((u128)port->rate_bps * round / PS_S / 8), 4, f),
        threshold_words(suggest, kind, tc));
    suggest_row_judge(row);
}

static void max_row(struct suggest *suggest, const struct suggest_kind *kind, unsigned tc, const struct curve *curve)
{
    const struct fabric *fabric = suggest->fabric;
    uint64_t rate = fabric->port[kind->port].rate_bps, limit = paused_at(fabric, kind, tc);
    const struct sw_ecn *today = marks_of(fabric, kind->port, tc);
    struct suggest_row *row = row_of(suggest, kind, tc, "ecn.max", "ECN002, ECN003");
    bool full = curve->max == SUGGEST_CURVE * curve->min;

    row->unit = SUGGEST_SIZE;
    row->least = hop_bytes(fabric, kind->port) + 1;
    row->most = limit < 1 ? 0 : limit - 1;
    if (curve->possible) row->value = at_rate(curve->max, rate, curve->per, false);
    if (today->on) row->today = today->max_bytes;
    row->formula = suggest_print(suggest, "%s; less than %s",
                                 full ? "four times the beginning" : "nine tenths of the threshold of the role",
                                 threshold_words(suggest, kind, tc));
    suggest_row_judge(row);
}

static void probability_row(struct suggest *suggest, const struct suggest_kind *kind, unsigned tc)
{
    const struct sw_ecn *today = marks_of(suggest->fabric, kind->port, tc);
    struct suggest_row *row = row_of(suggest, kind, tc, "ecn.probability", "ECN002");

    row->unit = SUGGEST_SHARE;
    row->least = PROBABILITY_LEAST_PPM;
    row->most = 1000000;
    row->value = PROBABILITY_PPM;
    if (today->on) row->today = today->probability_ppm;
    row->formula = "at least 0.1%, or next to nothing is marked below the end of the curve; 20% is what published "
                   "settings of 100G to 400G have";
    suggest_row_judge(row);
}

void suggest_ecn(struct suggest *suggest, const struct suggest_kinds *kinds)
{
    for (uint8_t role = 0; role < FABRIC_ROLES; role++)
        for (unsigned tc = 0; tc < FABRIC_PRIOS; tc++) {
            struct curve curve;
            char a[UNIT_TEXT], b[UNIT_TEXT], c[UNIT_TEXT], d[UNIT_TEXT];
            if (!curve_of(suggest->fabric, kinds, role, tc, &curve)) continue;
            for (uint32_t k = 0; k < kinds->kinds; k++) {
                const struct suggest_kind *kind = &kinds->kind[k];
                if (kind->role != role || !marked(suggest->fabric, kind->port, tc)) continue;
                min_row(suggest, kind, tc, &curve);
                max_row(suggest, kind, tc, &curve);
                probability_row(suggest, kind, tc);
            }
            if (!curve.possible) continue;
            suggest_line_add(suggest, role, suggest_class_path(suggest, tc, "ecn"),
                             suggest_print(suggest, "{min: %s, max: %s, probability: %s, per: %s}",
                                           unit_format(UNIT_SIZE, curve.min, a), unit_format(UNIT_SIZE, curve.max, b),
                                           unit_format(UNIT_SHARE, PROBABILITY_PPM, c),
                                           unit_format(UNIT_RATE, curve.per, d)));
        }
}
