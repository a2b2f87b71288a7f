/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DCTCP (Alizadeh et al., SIGCOMM 2010) for a queue pair: a window that is cut by the share of packets that were
 * marked.
 *
 * The receiver echoes the mark of each packet in its ACK (nic_config.echo_ce).  Once a window of data the share of
 * bytes acknowledged with a mark goes into alpha, with weight g; the first mark of a window cuts the window by alpha
 * / 2, and nothing more happens until data sent after the cut is acknowledged.  A round trip without a cut adds to
 * the window, a packet as a rule.  It begins small and doubles until the first mark, as published (slow start), or
 * at what line rate holds in a round trip, as the HPCC authors simulated it; they also pace it, at window / base
 * round trip.
 *
 * What is lost halves the window once, as TCP does; a timeout leaves the least.
 *
 * The window has 16 fraction bits, alpha 32.
 */
#include "base/check.h"
#include "base/time.h"
#include "nic/cc/algorithm.h"
#include "nic/nic_int.h"

#define ONE (1ULL << 32)
#define MILLION 1000000u

static uint64_t line_window(const struct cc *cc)
{
    return (uint64_t)((u128)cc->line_bps * cc->config->dctcp_base_rtt / (8 * PS_S));
}

static void use_window(struct cc *cc, uint64_t window)
{
    const struct cc_config *c = cc->config;
    uint64_t least = c->dctcp_min_window ? c->dctcp_min_window : cc->packet_bytes;
    uint64_t most = c->dctcp_max_window ? c->dctcp_max_window : line_window(cc);

    if (most == 0) most = UINT64_MAX >> 17;
    if (window > most << 16) window = most << 16;
    if (window < least << 16) window = least << 16;
    cc->dctcp.window = window;
    cc->window_bytes = window >> 16;
    cc->rate_bps = cc->line_bps;
    if (c->dctcp_base_rtt == 0) return;
    uint64_t rate = (uint64_t)((u128)window * 8 * PS_S / c->dctcp_base_rtt >> 16);
    if (rate < CC_RATE_MIN) rate = CC_RATE_MIN;
    if (rate < cc->line_bps) cc->rate_bps = rate;
}

static void init(struct cc *cc)
{
    const struct cc_config *c = cc->config;
    uint64_t first = c->dctcp_first_window ? c->dctcp_first_window : line_window(cc);

    cc->dctcp = (struct cc_dctcp){.alpha = c->initial_alpha << 22, .slow_start = c->dctcp_slow_start != 0};
    use_window(cc, first << 16);
}

/* A window of data is acknowledged: alpha follows the marks. */
static void end_round(struct cc *cc, const struct cc_ack *ack)
{
    struct cc_dctcp *d = &cc->dctcp;
    uint64_t g = cc->config->dctcp_g;

    if (d->started && d->acked) {
        uint64_t share = (uint64_t)(((u128)d->marked << 32) / d->acked);
        d->alpha = (uint64_t)(((u128)d->alpha * (MILLION - g) + (u128)share * g) / MILLION);
        CHECK(d->alpha <= ONE);
    }
    d->started = true;
    d->acked = d->marked = 0;
    d->round_psn = ack->next_psn;
}

static void on_ack(struct cc *cc, const struct cc_ack *ack, ps_t now)
{
    struct cc_dctcp *d = &cc->dctcp;
    bool round = !d->started || psn_diff(ack->acked_psn, d->round_psn) > 0;

    (void)now;
    d->acked += ack->acked_bytes;
    if (ack->marked) d->marked += ack->acked_bytes;
    if (round) end_round(cc, ack);
    if (d->reduced && psn_diff(ack->acked_psn, d->reduced_psn) > 0) d->reduced = false;
    if (ack->marked) {
        d->slow_start = false;
        if (d->reduced) return;
        d->reduced = true;
        d->reduced_psn = ack->next_psn;
        use_window(cc, d->window - (uint64_t)((u128)d->window * d->alpha >> 33));
    } else if (d->slow_start) {
        use_window(cc, d->window + (ack->acked_bytes << 16));
    } else if (round && !d->reduced) {
        use_window(cc, d->window + ((cc->config->dctcp_add ? cc->config->dctcp_add : cc->packet_bytes) << 16));
    }
}

static void on_loss(struct cc *cc, bool timeout, uint32_t next_psn, ps_t now)
{
    struct cc_dctcp *d = &cc->dctcp;

    (void)now;
    d->slow_start = false;
    if (timeout) {
        use_window(cc, 0);
    } else if (!d->reduced) {
        d->reduced = true;
        d->reduced_psn = next_psn;
        use_window(cc, d->window / 2);
    }
}

static const char *invalid(const struct cc_config *c, const char **ret_name)
{
    REFUSE_IF(c->initial_alpha > 1024, "initial_alpha", "is in 1024ths: at most 1024");
    REFUSE_IF(NOT_A_SHARE(c->dctcp_g), "dctcp_g", "is a share: at most 100%");
    REFUSE_IF(c->dctcp_add >> 40, "dctcp_add", "is below 1 TiB");
    REFUSE_IF(c->dctcp_min_window >> 40, "dctcp_min_window", "is below 1 TiB");
    REFUSE_IF(c->dctcp_max_window >> 40, "dctcp_max_window", "is below 1 TiB");
    REFUSE_IF(c->dctcp_first_window >> 40, "dctcp_first_window", "is below 1 TiB");
    REFUSE_IF(c->dctcp_first_window == 0 && c->dctcp_base_rtt == 0, "dctcp_first_window",
              "or dctcp_base_rtt must say how large the window is at the start");
    REFUSE_IF(c->dctcp_base_rtt && NOT_A_RTT(c->dctcp_base_rtt), "dctcp_base_rtt", "is 0, or 1 ns to 1 s");
    return NULL;
}

static const struct cc_preset presets[] = {
    {"dctcp/paper",
     {.initial_alpha = 1024,
      .dctcp_g = 62500, /* 1/16 */
      .dctcp_first_window = 10 * 1460,
      .dctcp_slow_start = 1}},
    {"dctcp/hpcc-sim",
     {.initial_alpha = 1024,
      .dctcp_g = 62500,
      .dctcp_add = 1000,        /* 615 Mb/s * 13 us */
      .dctcp_min_window = 1625, /* 1 Gb/s * 13 us */
      .dctcp_base_rtt = 13 * PS_US}},
    {.name = NULL},
};

static uint64_t alpha(const struct cc *cc)
{
    return cc->dctcp.alpha;
}

const struct cc_algorithm cc_algorithm_dctcp = {
    .preset = presets,
    .invalid = invalid,
    .needs = {.echo = true},
    .window = true,
    .init = init,
    .ack = on_ack,
    .loss = on_loss,
    .alpha = alpha,
};
