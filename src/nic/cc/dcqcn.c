/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DCQCN, reaction point (Zhu et al., SIGCOMM 2015), in the terms of ConnectX's parameters.
 *
 * Until the first CNP a QP runs at line rate and nothing here has a clock.  From then on three things go on:
 *
 * - alpha, how congested the path is thought to be: each dce_tcp_rtt it becomes g * alpha, plus 1 - g when a CNP
 *   came in that time.  Nobody looks at it but a cut, so it is brought up to date then and when a
 *   CNP comes, in as many steps as time went by, and costs no timer.  (As published, alpha_per_cnp: a
 *   CNP raises it at once and the time starts anew.)
 * - cuts: rate * (1 - alpha / 2), at each CNP (as published) or at the end of a rate_reduce_monitor_period in which
 *   one came (ConnectX).  Only a period with a CNP has a timer.
 * - increases, by time and by bytes, each counting its own: rpg_threshold steps half way back to the target, then
 *   the target rises by rpg_ai_rate, and by rpg_hai_rate once both counters are past the
 *   threshold.  With only one of the two in use, it alone decides.  A rate that is back at the maximum has no
 *   timer.
 *
 * alpha has 32 fraction bits; rates are whole bits a second, halves rounded up so that a rate reaches its target.
 */
#include "base/check.h"
#include "base/time.h"
#include "nic/cc/algorithm.h"
#include "nic/nic_int.h"

#define ALPHA_ONE (1ULL << 32)
#define STEPS_LOOPED 8
#define TIME_MAX (1000 * PS_S) /* of a parameter: sums with the time of day stay far from 2^64 */

static uint64_t max_rate(const struct cc *cc)
{
    uint64_t max = cc->config->rpg_max_rate;
    return max && max < cc->line_bps ? max : cc->line_bps;
}

static void init(struct cc *cc)
{
    cc->rate_bps = max_rate(cc);
    cc->wants_sent = false; /* until the first CNP */
    cc->dcqcn = (struct cc_dcqcn){.target_bps = cc->rate_bps, .increase_at = PS_NEVER};
}

/* alpha * g^n */
static uint64_t decay(uint64_t alpha, uint64_t g, uint64_t n)
{
    if (n <= STEPS_LOOPED) {
        while (n--)
            alpha = alpha * g >> 10;
        return alpha;
    }
    for (uint64_t power = g << 22; n && alpha; n >>= 1) {
        if (n & 1) alpha = (uint64_t)((u128)alpha * power >> 32);
        power = (uint64_t)((u128)power * power >> 32);
    }
    return alpha;
}

/* Every update of alpha that is due by now. */
static void alpha_catch_up(struct cc *cc, ps_t now)
{
    struct cc_dcqcn *d = &cc->dcqcn;
    ps_t period = cc->config->dce_tcp_rtt;
    uint64_t g = cc->config->dce_tcp_g;

    if (now < d->alpha_at) return;
    uint64_t steps = now - d->alpha_at < period ? 1 : 1 + (now - d->alpha_at) / period;
    d->alpha_at += steps * period;
    if (d->alpha_cnp) {
        d->alpha = decay(d->alpha, g, 1) + ((1024 - g) << 22);
        d->alpha_cnp = false;
        steps--;
    }
    d->alpha = decay(d->alpha, g, steps);
    CHECK(d->alpha <= ALPHA_ONE);
}

static void set_deadline(struct cc *cc)
{
    struct cc_dcqcn *d = &cc->dcqcn;

    cc->deadline = d->cut_wanted && d->look_at < d->increase_at ? d->look_at : d->increase_at;
}

static void cut(struct cc *cc, ps_t now)
{
    struct cc_dcqcn *d = &cc->dcqcn;
    const struct cc_config *c = cc->config;
    bool raised = d->byte_stage > 0 || (d->time_stage > 0 && c->clamp_tgt_rate_after_time_inc);

    alpha_catch_up(cc, now);
    if (c->clamp_tgt_rate || raised) d->target_bps = cc->rate_bps;
    uint64_t less = (uint64_t)((u128)cc->rate_bps * (d->alpha << 10 >> c->rpg_gd) >> 32);
    uint64_t rate = cc->rate_bps - less;
    uint64_t least = (uint64_t)((u128)cc->rate_bps * c->rpg_min_dec_fac / 1000000);
    if (rate < least) rate = least;
    if (rate < c->rpg_min_rate) rate = c->rpg_min_rate;
    if (rate > max_rate(cc)) rate = max_rate(cc);
    cc->rate_bps = rate;
    d->time_stage = d->byte_stage = 0;
    d->bytes_left = c->rpg_byte_reset;
    d->increase_at = c->rpg_time_reset ? now + c->rpg_time_reset : PS_NEVER;
    d->cut_wanted = false;
}

static void first_cnp(struct cc *cc, ps_t now)
{
    struct cc_dcqcn *d = &cc->dcqcn;
    const struct cc_config *c = cc->config;

    d->active = true;
    d->alpha = c->initial_alpha << 22;
    d->alpha_at = now + c->dce_tcp_rtt;
    d->look_at = now + c->rate_reduce_monitor_period;
    d->bytes_left = c->rpg_byte_reset;
    cc->wants_sent = c->rpg_byte_reset > 0;
    if (c->rate_to_set_on_first_cnp && c->rate_to_set_on_first_cnp < cc->rate_bps) {
        cc->rate_bps = c->rate_to_set_on_first_cnp;
        if (cc->rate_bps < c->rpg_min_rate) cc->rate_bps = c->rpg_min_rate;
    }
    d->target_bps = cc->rate_bps;
}

static void on_cnp(struct cc *cc, ps_t now)
{
    struct cc_dcqcn *d = &cc->dcqcn;
    const struct cc_config *c = cc->config;
    bool first = !d->active;

    if (first)
        first_cnp(cc, now);
    else
        alpha_catch_up(cc, now);
    if (!c->alpha_per_cnp && !first) d->alpha_cnp = true;
    if (c->rate_reduce_monitor_period == 0) {
        cut(cc, now);
    } else if (!d->cut_wanted) {
        if (d->look_at < now) { /* looks that found nothing had no timer */
            uint64_t missed = (now - d->look_at + c->rate_reduce_monitor_period - 1) / c->rate_reduce_monitor_period;
            d->look_at += missed * c->rate_reduce_monitor_period;
        }
        if (d->look_at == now) d->look_at += c->rate_reduce_monitor_period;
        d->cut_wanted = true;
    }
    if (c->alpha_per_cnp) {
        d->alpha = decay(d->alpha, c->dce_tcp_g, 1) + ((1024 - c->dce_tcp_g) << 22);
        d->alpha_at = now + c->dce_tcp_rtt;
    }
    set_deadline(cc);
}

static void increase(struct cc *cc, bool by_time)
{
    struct cc_dcqcn *d = &cc->dcqcn;
    const struct cc_config *c = cc->config;
    uint32_t t = c->rpg_time_reset ? d->time_stage : d->byte_stage;
    uint32_t b = c->rpg_byte_reset ? d->byte_stage : d->time_stage;
    uint64_t max = max_rate(cc);

    if ((t > b ? t : b) >= c->rpg_threshold)
        d->target_bps += (t < b ? t : b) > c->rpg_threshold ? c->rpg_hai_rate : c->rpg_ai_rate;
    if (d->target_bps > max) d->target_bps = max;
    cc->rate_bps = (cc->rate_bps + d->target_bps + 1) / 2;
    if (by_time)
        d->time_stage++;
    else
        d->byte_stage++;
    if (cc->rate_bps == max) d->increase_at = PS_NEVER;
}

static void on_sent(struct cc *cc, uint32_t bytes, ps_t now)
{
    struct cc_dcqcn *d = &cc->dcqcn;

    (void)now;
    if (d->bytes_left > bytes) {
        d->bytes_left -= bytes;
        return;
    }
    uint64_t past = bytes - d->bytes_left;
    d->bytes_left = past < cc->config->rpg_byte_reset ? cc->config->rpg_byte_reset - past : 1;
    if (cc->rate_bps == max_rate(cc)) return;
    increase(cc, false);
    set_deadline(cc);
}

static void on_timer(struct cc *cc, ps_t now)
{
    struct cc_dcqcn *d = &cc->dcqcn;

    while (d->increase_at <= now) {
        d->increase_at += cc->config->rpg_time_reset;
        increase(cc, true);
    }
    if (d->cut_wanted && d->look_at <= now) {
        d->look_at += cc->config->rate_reduce_monitor_period;
        cut(cc, now);
    }
    set_deadline(cc);
}

static const char *invalid(const struct cc_config *c, const char **ret_name)
{
    REFUSE_IF(c->dce_tcp_g > 1024, "dce_tcp_g", "is a weight in 1024ths: at most 1024");
    REFUSE_IF(c->initial_alpha > 1024, "initial_alpha", "is in 1024ths: at most 1024");
    REFUSE_IF(c->rpg_gd < 10 || c->rpg_gd > 32, "rpg_gd", "is 10 (a cut by alpha) to 32");
    REFUSE_IF(NOT_A_SHARE(c->rpg_min_dec_fac), "rpg_min_dec_fac", "is a share: at most 100%");
    REFUSE_IF(c->rpg_min_rate < CC_RATE_MIN, "rpg_min_rate", "is 10 kb/s or more");
    REFUSE_IF(c->dce_tcp_rtt == 0 || c->dce_tcp_rtt > TIME_MAX, "dce_tcp_rtt", "must not be 0, nor above 1000 s");
    REFUSE_IF(c->rpg_time_reset && (c->rpg_time_reset < PS_NS || c->rpg_time_reset > TIME_MAX), "rpg_time_reset",
              "is 0 (none), or 1 ns to 1000 s");
    REFUSE_IF(c->rate_reduce_monitor_period > TIME_MAX, "rate_reduce_monitor_period", "is 1000 s at most");
    REFUSE_IF(c->rpg_max_rate && c->rpg_max_rate < c->rpg_min_rate, "rpg_max_rate", "is below rpg_min_rate");
    return NULL;
}

static const struct cc_preset presets[] = {
    {"dcqcn/paper",
     {.rpg_time_reset = 55 * PS_US,
      .rpg_byte_reset = 10 * 1000 * 1000,
      .rpg_threshold = 5,
      .rpg_ai_rate = 40 * MBPS,
      .rpg_hai_rate = 400 * MBPS,
      .rpg_gd = 11,
      .rpg_min_dec_fac = 50 * PERCENT,
      .rpg_min_rate = 1 * MBPS,
      .dce_tcp_g = 1020,
      .dce_tcp_rtt = 55 * PS_US,
      .initial_alpha = 1024,
      .clamp_tgt_rate = 1,
      .clamp_tgt_rate_after_time_inc = 1,
      .alpha_per_cnp = 1,
      .min_time_between_cnps = 50 * PS_US,
      .cnp_remember = 1}},
    {"dcqcn/connectx",
     {.rpg_time_reset = 300 * PS_US,
      .rpg_byte_reset = 32767 * 64,
      .rpg_threshold = 1,
      .rpg_ai_rate = 5 * MBPS,
      .rpg_hai_rate = 50 * MBPS,
      .rpg_gd = 11,
      .rpg_min_dec_fac = 50 * PERCENT,
      .rpg_min_rate = 1 * MBPS,
      .dce_tcp_g = 1019,
      .dce_tcp_rtt = 1 * PS_US,
      .rate_reduce_monitor_period = 4 * PS_US,
      .initial_alpha = 1023,
      .clamp_tgt_rate_after_time_inc = 1,
      .min_time_between_cnps = 2 * PS_US}},
    {"dcqcn/hpcc-sim",
     {.rpg_time_reset = 300 * PS_US,
      .rpg_threshold = 1,
      .rpg_ai_rate = 20 * MBPS,
      .rpg_hai_rate = 200 * MBPS,
      .rpg_gd = 11,
      .rpg_min_dec_fac = 50 * PERCENT,
      .rpg_min_rate = 1000 * MBPS,
      .dce_tcp_g = 1020,
      .dce_tcp_rtt = 1 * PS_US,
      .rate_reduce_monitor_period = 4 * PS_US,
      .initial_alpha = 1024,
      .clamp_tgt_rate_after_time_inc = 1,
      .min_time_between_cnps = 0}},
    {.name = NULL},
};

static uint64_t alpha(const struct cc *cc)
{
    return cc->dcqcn.alpha;
}

const struct cc_algorithm cc_algorithm_dcqcn = {
    .preset = presets,
    .invalid = invalid,
    .needs = {.cnp = true},
    .init = init,
    .cnp = on_cnp,
    .sent = on_sent,
    .timer = on_timer,
    .alpha = alpha,
};
