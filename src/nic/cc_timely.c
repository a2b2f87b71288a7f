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
#include "nic/cc.h"
#include "nic/nic_int.h"

#define ONE (1LL << 32)
#define MILLION 1000000

__extension__ typedef __int128 nic_i128;

void cc_timely_init(struct cc *cc)
{
    cc->timely = (struct cc_timely){.previous_rtt = 0};
    cc->wants_ack = true;
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

void cc_timely_ack(struct cc *cc, const struct cc_ack *ack)
{
    struct cc_timely *t = &cc->timely;
    ps_t rtt = ack->rtt_ps < PS_S ? ack->rtt_ps : PS_S;

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
