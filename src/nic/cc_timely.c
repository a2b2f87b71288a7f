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
 * in the simulations of the HPCC authors.  The round-trip time is that of the packet whose ACK completes the segment:
 * the adapter stamps packets one by one, so the time that a segment takes on the line is not in it, and need not be
 * taken out.  A QP begins at line rate; the paper's first rate depends on how many flows the host has, which a
 * QP does not know.
 *
 * Arithmetic: times in picoseconds, the average with 8 fraction bits; gradients have 32.
 */
#include "base/check.h"
#include "base/time.h"
#include "nic/cc_algorithm.h"
#include "nic/nic_int.h"

#define ONE (1LL << 32)
#define MILLION 1000000
#define ASK_BYTES 16384u /* where an update is one a round trip, and nothing says how often ACKs come */

__extension__ typedef __int128 nic_i128;

static void init(struct cc *cc)
{
    cc->timely = (struct cc_timely){.previous_rtt = 0};
}

static void increase(struct cc *cc, bool counts)
{
    struct cc_timely *t = &cc->timely;
    const struct cc_config *c = cc->config;
    bool hyper = counts && t->stage >= c->timely_hai_after;

    cc->rate_bps += hyper ? c->timely_hai_rate : c->timely_ai_rate;
    if (cc->rate_bps > cc->line_bps) cc->rate_bps = cc->line_bps;
    if (counts && t->stage < UINT32_MAX) t->stage++;
}

/* To so much of the rate; 1 is 2^32. */
static void decrease(struct cc *cc, int64_t part)
{
    if (part < 0) part = 0;
    cc->rate_bps = (uint64_t)((nic_u128)cc->rate_bps * (uint64_t)part >> 32);
    if (cc->rate_bps < cc->config->timely_min_rate) cc->rate_bps = cc->config->timely_min_rate;
    if (cc->rate_bps > cc->line_bps) cc->rate_bps = cc->line_bps;
    cc->timely.stage = 0;
}

static void update(struct cc *cc, ps_t rtt)
{
    struct cc_timely *t = &cc->timely;
    const struct cc_config *c = cc->config;
    int64_t newest = ((int64_t)rtt - (int64_t)t->previous_rtt) * 256;
    int64_t alpha = (int64_t)c->timely_alpha, beta = (int64_t)c->timely_beta;

    t->rtt_diff = (int64_t)(((nic_i128)t->rtt_diff * (MILLION - alpha) + (nic_i128)newest * alpha) / MILLION);
    if (rtt < c->timely_t_low) {
        increase(cc, c->timely_hai_low);
    } else if (rtt > c->timely_t_high) {
        int64_t above = ONE - (int64_t)(((nic_u128)c->timely_t_high << 32) / rtt);
        decrease(cc, ONE - (int64_t)((nic_i128)above * beta / MILLION));
    } else if (t->rtt_diff <= 0) {
        increase(cc, true);
    } else {
        nic_i128 gradient = ((nic_i128)t->rtt_diff << 24) / (int64_t)c->timely_min_rtt;
        nic_i128 less = gradient * beta / MILLION;
        decrease(cc, less > ONE ? 0 : ONE - (int64_t)less);
    }
}

static void on_ack(struct cc *cc, const struct cc_ack *ack, ps_t now)
{
    struct cc_timely *t = &cc->timely;
    ps_t rtt = ack->rtt_ps < PS_S ? ack->rtt_ps : PS_S;

    (void)now;
    t->acked += ack->acked_bytes;
    if (rtt == 0) return;
    if (t->started) {
        bool due = cc->config->timely_segment ? t->acked >= cc->config->timely_segment
                                              : psn_diff(ack->acked_psn, t->round_psn) > 0;
        if (!due) return;
        update(cc, rtt);
    }
    t->started = true;
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
    REFUSE_IF(c->timely_min_rate < CC_RATE_MIN, "timely_min_rate", "is 10 kb/s or more");
    REFUSE_IF(c->timely_ai_rate >> 50 || c->timely_hai_rate >> 50, "timely_ai_rate", "is 1000 Tb/s at most");
    REFUSE_IF(c->timely_segment > NIC_LENGTH_MAX, "timely_segment", "is 2 GiB at most");
    return NULL;
}

static const struct cc_preset presets[] = {
    {"timely/paper",
     {.timely_alpha = 875000,
      .timely_beta = 80 * PERCENT,
      .timely_t_low = 50 * PS_US,
      .timely_t_high = 500 * PS_US,
      .timely_min_rtt = 20 * PS_US,
      .timely_ai_rate = 10 * MBPS,
      .timely_hai_rate = 50 * MBPS,
      .timely_hai_after = 5,
      .timely_segment = 16 * 1024,
      .timely_min_rate = 100 * MBPS}},
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
