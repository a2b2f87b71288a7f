/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TIMELY (Mittal et al., SIGCOMM 2015, algorithm 1): a rate from round-trip times and from how they change.
 *
 * Differences of successive round-trip times go into a moving average; divided by the round trip of the empty
 * network it is the gradient, the share of the line by which the path is asked for more than it can carry.  Below
 * t_low the rate rises whatever the gradient, above t_high it falls whatever the gradient; between them it rises by
 * steps while the gradient is not positive, and is cut by beta times the gradient when it is.  After some increases
 * in a row the steps are larger (hyperactive increase).
 *
 * An update is made for each segment of bytes acknowledged, as published, or once a round trip (timely_segment 0), as
 * in the simulations of the HPCC authors.  A segment was about a round trip at 10 Gb/s and is a small part of one on
 * faster lines, so that a burst of updates would follow one and the same queue.  As in the code that the authors gave
 * out, an update therefore counts by the time since the last one, in parts of the smallest round trip
 * (timely_scaled), and takes half of the rate at most (timely_max_mdf).
 *
 * The round-trip time is that of the packet whose ACK completes the segment: the adapter stamps packets one by one, so
 * the time that a segment takes on the line is not in it, and need not be taken out.  A QP begins at line rate unless
 * timely_start_rate says otherwise; the paper divides the line by the flows of the host, which a QP does not know.
 *
 * Patched (Zhu et al., CoNEXT 2016, algorithm 2): between the thresholds the gradient is a weight between an increase
 * and a decrease that goes by the distance from t_low, which gives it one fixed point, the same for all flows.
 *
 * Arithmetic: times in picoseconds, the average with 8 fraction bits; gradients have 32.
 */
#include "base/check.h"
#include "base/time.h"
#include "nic/cc/algorithm.h"
#include "nic/nic_int.h"

#define ONE (1LL << 32)
#define MILLION 1000000
#define ASK_BYTES 16384u /* where an update is one a round trip, and nothing says how often ACKs come */

static uint64_t increase_of(const struct cc *cc)
{
    return cc->config->timely_ai_rate ? cc->config->timely_ai_rate : cc->line_bps / 1000;
}

static uint64_t least_of(const struct cc *cc)
{
    uint64_t least = cc->config->timely_min_rate ? cc->config->timely_min_rate : cc->line_bps / 100;
    return least > CC_RATE_MIN ? least : CC_RATE_MIN;
}

static void set_rate(struct cc *cc, uint64_t rate)
{
    if (rate < least_of(cc)) rate = least_of(cc);
    cc->rate_bps = rate < cc->line_bps ? rate : cc->line_bps;
}

static void init(struct cc *cc)
{
    cc->timely = (struct cc_timely){.previous_rtt = 0};
    if (cc->config->timely_start_rate) set_rate(cc, cc->config->timely_start_rate);
}

/* By `step` times as much as an update does, 1 is 2^32. */
static void increase(struct cc *cc, bool counts, uint64_t step)
{
    struct cc_timely *t = &cc->timely;
    const struct cc_config *c = cc->config;
    bool hyper = counts && t->stage >= c->timely_hai_after;
    uint64_t add = increase_of(cc);

    if (hyper) add = c->timely_hai_rate ? c->timely_hai_rate : 5 * add;
    set_rate(cc, cc->rate_bps + (uint64_t)((u128)add * step >> 32));
    if (counts && t->stage < UINT32_MAX) t->stage++;
}

/* By `less` of the rate, for as much as this update counts; 1 is 2^32. */
static uint64_t decreased(const struct cc *cc, u128 less, uint64_t step)
{
    uint64_t most = (uint64_t)(((u128)cc->config->timely_max_mdf << 32) / MILLION);

    if (less > (u128)ONE) less = (u128)ONE;
    less = less * step >> 32;
    uint64_t part = (uint64_t)ONE - (less < most ? (uint64_t)less : most);
    return (uint64_t)((u128)cc->rate_bps * part >> 32);
}

static void decrease(struct cc *cc, u128 less, uint64_t step)
{
    set_rate(cc, decreased(cc, less, step));
    cc->timely.stage = 0;
}

/* Zhu et al., CoNEXT 2016, algorithm 2: the weight w rises from 0 to 1 while the gradient goes from -1/4 to 1/4. */
static void update_patched(struct cc *cc, ps_t rtt, i128 gradient, uint64_t step)
{
    const struct cc_config *c = cc->config;
    i128 w = 2 * gradient + ONE / 2;
    uint64_t weight = w < 0 ? 0 : w > ONE ? (uint64_t)ONE : (uint64_t)w;
    u128 error = ((u128)(rtt - c->timely_t_low) << 32) / (c->timely_t_low ? c->timely_t_low : 1);
    uint64_t add = (uint64_t)((u128)increase_of(cc) * ((uint64_t)ONE - weight) >> 32);

    set_rate(cc, decreased(cc, (error * weight >> 32) * c->timely_beta / MILLION, step) +
                     (uint64_t)((u128)add * step >> 32));
}

static void update(struct cc *cc, ps_t rtt, uint64_t step)
{
    struct cc_timely *t = &cc->timely;
    const struct cc_config *c = cc->config;
    int64_t newest = ((int64_t)rtt - (int64_t)t->previous_rtt) * 256;
    int64_t alpha = (int64_t)c->timely_alpha;

    t->rtt_diff = (int64_t)(((i128)t->rtt_diff * (MILLION - alpha) + (i128)newest * alpha) / MILLION);
    i128 gradient = (i128)t->rtt_diff * (1 << 24) / (int64_t)c->timely_min_rtt;
    if (rtt < c->timely_t_low) {
        increase(cc, c->timely_hai_low, step);
    } else if (rtt > c->timely_t_high) {
        uint64_t above = (uint64_t)ONE - (uint64_t)(((u128)c->timely_t_high << 32) / rtt);
        decrease(cc, (u128)above * c->timely_beta / MILLION, step);
    } else if (c->timely_patched) {
        update_patched(cc, rtt, gradient, step);
    } else if (t->rtt_diff <= 0) {
        increase(cc, true, step);
    } else {
        decrease(cc, (u128)gradient * c->timely_beta / MILLION, step);
    }
}

/* How much of a whole update there is to be made. */
static uint64_t step_of(const struct cc *cc, ps_t now)
{
    ps_t since = now - cc->timely.updated, whole = cc->config->timely_min_rtt;

    if (!cc->config->timely_scaled || since >= whole) return (uint64_t)ONE;
    return (uint64_t)(((u128)since << 32) / whole);
}

static void on_ack(struct cc *cc, const struct cc_ack *ack, ps_t now)
{
    struct cc_timely *t = &cc->timely;
    ps_t rtt = ack->rtt_ps < PS_S ? ack->rtt_ps : PS_S;

    t->acked += ack->acked_bytes;
    if (rtt == 0) return;
    if (t->started) {
        bool due = cc->config->timely_segment ? t->acked >= cc->config->timely_segment
                                              : psn_diff(ack->acked_psn, t->round_psn) > 0;
        if (!due) return;
        update(cc, rtt, step_of(cc, now));
    }
    t->started = true;
    t->updated = now;
    t->previous_rtt = rtt;
    t->acked = 0;
    t->round_psn = ack->next_psn;
}

static uint32_t ask_bytes(const struct cc_config *config)
{
    return config->timely_segment ? (uint32_t)config->timely_segment : ASK_BYTES;
}

static const char *invalid(const struct cc_config *c, const char **ret_name)
{
    REFUSE_IF(NOT_A_SHARE(c->timely_alpha), "timely_alpha", "is a share: at most 100%");
    REFUSE_IF(NOT_A_SHARE(c->timely_beta), "timely_beta", "is a share: at most 100%");
    REFUSE_IF(NOT_A_RTT(c->timely_min_rtt), "timely_min_rtt", "is 1 ns to 1 s");
    REFUSE_IF(c->timely_t_low > PS_S, "timely_t_low", "is 1 s at most");
    REFUSE_IF(c->timely_t_high > PS_S || c->timely_t_high < c->timely_t_low, "timely_t_high",
              "is timely_t_low or more, 1 s at most");
    REFUSE_IF(NOT_A_SHARE(c->timely_max_mdf), "timely_max_mdf", "is a share: at most 100%");
    REFUSE_IF(c->timely_patched && c->timely_t_low == 0, "timely_t_low", "is above 0 with timely_patched");
    REFUSE_IF(c->timely_min_rate && c->timely_min_rate < CC_RATE_MIN, "timely_min_rate", "is 0, or 10 kb/s or more");
    REFUSE_IF(c->timely_start_rate && c->timely_start_rate < CC_RATE_MIN, "timely_start_rate",
              "is 0 (the line's), or 10 kb/s or more");
    REFUSE_IF(c->timely_ai_rate >> 50 || c->timely_hai_rate >> 50, "timely_ai_rate", "is 1000 Tb/s at most");
    REFUSE_IF(c->timely_segment > NIC_LENGTH_MAX, "timely_segment", "is 2 GiB at most");
    return NULL;
}

static const struct cc_preset presets[] = {
    {"timely/paper",
     {.timely_alpha = 2 * PERCENT,
      .timely_beta = 80 * PERCENT,
      .timely_t_low = 50 * PS_US,
      .timely_t_high = 500 * PS_US,
      .timely_min_rtt = 20 * PS_US,
      .timely_hai_after = 5,
      .timely_scaled = 1,
      .timely_max_mdf = 50 * PERCENT,
      .timely_segment = 16 * 1024}},
    {"timely/patched",
     {.timely_alpha = 875000,
      .timely_beta = 8000, /* 0.008 */
      .timely_t_low = 50 * PS_US,
      .timely_t_high = 500 * PS_US,
      .timely_min_rtt = 20 * PS_US,
      .timely_hai_after = 5,
      .timely_patched = 1,
      .timely_max_mdf = 100 * PERCENT,
      .timely_segment = 16 * 1024,
      .timely_start_rate = 1000 * MBPS}},
    {"timely/hpcc-sim",
     {.timely_alpha = 875000,
      .timely_beta = 80 * PERCENT,
      .timely_t_low = 50 * PS_US,
      .timely_t_high = 500 * PS_US,
      .timely_min_rtt = 20 * PS_US,
      .timely_ai_rate = 100 * MBPS,
      .timely_hai_rate = 500 * MBPS,
      .timely_hai_after = 5,
      .timely_hai_low = 1,
      .timely_max_mdf = 100 * PERCENT,
      .timely_min_rate = 1000 * MBPS}},
    {.name = NULL},
};

const struct cc_algorithm cc_algorithm_timely = {
    .preset = presets,
    .invalid = invalid,
    .needs = {.rtt = true},
    .ask_bytes = ask_bytes,
    .init = init,
    .ack = on_ack,
};
