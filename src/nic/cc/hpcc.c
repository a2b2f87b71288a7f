/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HPCC (Li et al., SIGCOMM 2019, algorithm 1): a window from what the switches of the path say.
 *
 * Each ACK brings, of every hop, the bytes sent so far, the queue, the time and the rate.  The hop
 * most in use since the last ACK (rate of sending plus queue over bandwidth-delay product, both relative to the link)
 * goes into a moving average U over a base round trip T.  The window is Wc / (U / eta) + W_AI, or, for at most
 * maxStage rounds while U is below eta, Wc + W_AI; Wc itself moves once a round trip.  The rate is W / T.
 *
 * Arithmetic: times a byte takes (24 fraction bits) are kept for each hop, so a utilisation costs one division of
 * 64 bits, and an ACK as many as the path has hops and two more.  U and eta have 32 fraction bits, windows 16.
 *
 * The telemetry names no switch.  A path is taken for another one when it has another number of hops, when a hop has
 * another rate, or when its count of bytes went back or further ahead than the line can send: what is known of the old
 * path says nothing about the new one.
 *
 * READ responses are not controlled: nothing is acknowledged to their sender.
 */
#include "base/check.h"
#include "base/time.h"
#include "nic/cc/algorithm.h"
#include "nic/nic_int.h"
#include "packet/telemetry.h"

#define ONE (1ULL << 32)
#define SLACK_BYTES 65536u /* counted at another moment than the time was taken: a frame, a unit of telemetry */

/* 8e12 / bps, 24 fraction bits */
static uint64_t ps_per_byte(uint64_t bps)
{
    uint64_t whole = (8 * PS_S << 20) / bps;
    uint64_t rest = (8 * PS_S << 20) % bps;

    return (whole << 4) + ((rest << 4) / bps);
}

/* a / b, 32 fraction bits, for times; both are shortened where a would not fit */
static uint64_t ratio(uint64_t a, uint64_t b)
{
    while (a >> 32) {
        a >>= 1;
        b >>= 1;
    }
    return b ? (a << 32) / b : UINT32_MAX * ONE;
}

/* bytes in a round trip, 16 fraction bits */
static uint64_t window_of(uint64_t bps, ps_t rtt)
{
    return (uint64_t)(((u128)bps * rtt << 16) / (8 * PS_S));
}

static void use_window(struct cc *cc, uint64_t window)
{
    struct cc_hpcc *h = &cc->hpcc;

    cc->window_bytes = window >> 16;
    if (cc->window_bytes == 0) cc->window_bytes = 1; /* a closed window hears no ACK that could open it */
    cc->rate_bps = window >= h->window_max ? cc->line_bps : (uint64_t)((u128)window * h->bps_per_byte >> 40);
    if (cc->rate_bps < CC_RATE_MIN) cc->rate_bps = CC_RATE_MIN;
}

static void init(struct cc *cc)
{
    struct cc_hpcc *h = &cc->hpcc;
    ps_t rtt = cc->config->hpcc_base_rtt;

    CHECK(cc->path != NULL);
    *cc->path = (struct cc_path){.hops = 0};
    *h = (struct cc_hpcc){.utilised = ONE,
                          .window_max = window_of(cc->line_bps, rtt),
                          .window_min = window_of(cc->config->hpcc_min_rate, rtt),
                          .window_add = cc->config->hpcc_w_ai ? cc->config->hpcc_w_ai << 16
                                                              : window_of(cc->config->hpcc_ai_rate, rtt),
                          .eta = (cc->config->hpcc_eta << 32) / 1000000,
                          .inverse_rtt = UINT64_MAX / rtt,
                          .bps_per_byte = (uint64_t)(((u128)8 * PS_S << 24) / rtt)};
    h->window = h->window_max;
    use_window(cc, h->window);
}

/* As the packed telemetry of real packets would say it; no division where it is exact. */
static uint64_t in_units(uint64_t bytes, uint64_t unit)
{
    return unit ? bytes - bytes % unit : bytes;
}

static struct pkt_hop as_told(const struct cc_config *config, const struct pkt_hop *hop)
{
    struct pkt_hop told = *hop;

    told.tx_bytes = in_units(hop->tx_bytes, config->hpcc_tx_unit);
    told.queue_bytes = (uint32_t)in_units(hop->queue_bytes, config->hpcc_queue_unit);
    return told;
}

static void remember(struct cc_hop *known, const struct pkt_hop *hop)
{
    if (known->rate_bps != hop->rate_bps) known->ps_per_byte = ps_per_byte(hop->rate_bps);
    known->rate_bps = hop->rate_bps;
    known->at = hop->at;
    known->tx_bytes = hop->tx_bytes;
    known->queue_bytes = hop->queue_bytes;
}

/* Can this be what the known hop has come to?  What is older than that was overtaken, and tells nothing. */
static bool same_hop(const struct cc_hop *known, const struct pkt_hop *hop)
{
    if (hop->rate_bps != known->rate_bps) return false;
    if (hop->at <= known->at) return true;
    if (hop->tx_bytes < known->tx_bytes) return false;
    uint64_t bytes = hop->tx_bytes - known->tx_bytes;
    return bytes <= SLACK_BYTES || (u128)(bytes - SLACK_BYTES) * known->ps_per_byte >> 25 <= hop->at - known->at;
}

/* The first ACK of a path only sets the marks. */
static void start_path(struct cc *cc, const struct cc_ack *ack)
{
    struct cc_hpcc *h = &cc->hpcc;

    for (uint32_t i = 0; i < ack->hops; i++) {
        const struct pkt_hop told = as_told(cc->config, &ack->hop[i]);
        remember(&cc->path->hop[i], &told);
    }
    cc->path->hops = ack->hops;
    h->started = true;
    h->update_psn = ack->next_psn;
}

/* The busiest hop since the last ACK; false: nothing new. */
static bool measure(struct cc *cc, const struct cc_ack *ack, uint64_t *ret_use, ps_t *ret_span)
{
    struct cc_hpcc *h = &cc->hpcc;
    bool any = false;

    *ret_use = 0;
    *ret_span = 0;
    for (uint32_t i = 0; i < ack->hops; i++) {
        const struct pkt_hop told = as_told(cc->config, &ack->hop[i]), *hop = &told;
        struct cc_hop *known = &cc->path->hop[i];
        if (!same_hop(known, hop)) {
            start_path(cc, ack);
            return false;
        }
        if (hop->at <= known->at) continue;
        ps_t span = hop->at - known->at;
        uint64_t busy = (uint64_t)((u128)(hop->tx_bytes - known->tx_bytes) * known->ps_per_byte >> 24);
        uint64_t queue = hop->queue_bytes < known->queue_bytes ? hop->queue_bytes : known->queue_bytes;
        uint64_t queue_ps = (uint64_t)((u128)queue * known->ps_per_byte >> 24);
        uint64_t use = ratio(busy, span) + (uint64_t)((u128)queue_ps * h->inverse_rtt >> 32);
        if (use > *ret_use) {
            *ret_use = use;
            *ret_span = span;
        }
        remember(known, hop);
        any = true;
    }
    return any;
}

static void on_ack(struct cc *cc, const struct cc_ack *ack, ps_t now)
{
    struct cc_hpcc *h = &cc->hpcc;
    const struct cc_config *c = cc->config;
    uint64_t use, window;
    ps_t span;

    (void)now;
    if (ack->hops == 0 || ack->hops > PKT_INT_HOPS) return;
    for (uint32_t i = 0; i < ack->hops; i++)
        if (ack->hop[i].rate_bps == 0) return; /* no link has such */
    if (!h->started || cc->path->hops != ack->hops) {
        start_path(cc, ack);
        return;
    }
    if (!measure(cc, ack, &use, &span)) return;
    if (span > c->hpcc_base_rtt) span = c->hpcc_base_rtt;
    uint64_t weight = (uint64_t)((u128)span * h->inverse_rtt >> 32);
    h->utilised = (uint64_t)(((u128)h->utilised * (ONE - weight) + (u128)use * weight) >> 32);
    uint32_t stage = 0;
    if (h->utilised >= h->eta || h->stage >= c->hpcc_max_stage) {
        uint64_t factor = h->utilised ? (h->eta << 28) / h->utilised : UINT64_MAX >> 8; /* 28 fraction bits */
        u128 scaled = (u128)h->window * factor >> 28;
        window = (scaled > h->window_max ? h->window_max : (uint64_t)scaled) + h->window_add;
    } else {
        window = h->window + h->window_add;
        stage = h->stage + 1;
    }
    if (window < h->window_min) window = h->window_min;
    if (window > h->window_max) window = h->window_max;
    bool round = psn_diff(ack->acked_psn, h->update_psn) > 0;
    if (round) {
        h->window = window;
        h->stage = stage;
        h->update_psn = ack->next_psn;
    }
    if (round || c->hpcc_fast_react) use_window(cc, window);
}

static const char *invalid(const struct cc_config *c, const char **ret_name)
{
    REFUSE_IF(c->hpcc_eta == 0 || NOT_A_SHARE(c->hpcc_eta), "hpcc_eta", "is a share: more than 0, at most 100%");
    REFUSE_IF(NOT_A_RTT(c->hpcc_base_rtt), "hpcc_base_rtt", "is 1 ns to 1 s");
    REFUSE_IF(c->hpcc_min_rate < CC_RATE_MIN, "hpcc_min_rate", "is 10 kb/s or more");
    return NULL;
}

static const struct cc_preset presets[] = {
    {"hpcc/paper",
     {.hpcc_eta = 95 * PERCENT,
      .hpcc_w_ai = 80,
      .hpcc_max_stage = 5,
      .hpcc_base_rtt = 13 * PS_US,
      .hpcc_min_rate = 100 * MBPS,
      .hpcc_fast_react = 1}},
    {"hpcc/hpcc-sim",
     {.hpcc_eta = 95 * PERCENT,
      .hpcc_ai_rate = 50 * MBPS,
      .hpcc_max_stage = 0,
      .hpcc_base_rtt = 13 * PS_US,
      .hpcc_min_rate = 1000 * MBPS,
      .hpcc_fast_react = 1,
      .hpcc_tx_unit = 512,
      .hpcc_queue_unit = 320}},
    {.name = NULL},
};

const struct cc_algorithm cc_algorithm_hpcc = {
    .preset = presets,
    .invalid = invalid,
    .needs = {.telemetry = true},
    .window = true,
    .moves_waiting = true,
    .init = init,
    .ack = on_ack,
};
