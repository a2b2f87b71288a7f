/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Swift (Kumar et al., SIGCOMM 2020, algorithm 1): a window that holds the delay at a target.
 *
 * Two windows, each with a delay and a target of its own: one for the fabric, one for the receiving host.  The
 * smaller one counts.  A delay below its target adds `ai` packets a round trip; one above cuts the window by beta
 * times the part of the delay that is too much, at most by max_mdf, and at most once a round trip.
 *
 * The fabric's target is a base, plus something for each switch on the way, plus flow scaling: with n flows on a
 * line the queue varies as the square root of n, and a window is as small as the flows are many, so alpha /
 * sqrt(window) - beta is added, between 0 and fs_range.  How many switches there are is read off the ACK's time to
 * live: those of the way back, where the paper has its receiver send back those of the way there.  The receiver's
 * delay is what its slow side holds (nic_config.rx_bps); it comes in the ACK's descriptor, which no header of RoCE
 * carries: over a real wire it is 0.
 *
 * A window below a packet is paced: one packet each round trip / window.  What is lost cuts by max_mdf; after some
 * timeouts in a row the window is the least.
 *
 * Windows have 16 fraction bits.  The square root is an integer one, of a window in packets with 16 fraction bits.
 */
#include "base/check.h"
#include "base/time.h"
#include "nic/cc/algorithm.h"
#include "nic/nic_int.h"

#define MILLION 1000000u

/* The whole part of the square root. */
static uint64_t root(uint64_t n)
{
    uint64_t r = 0;

    if (n == 0) return 0;
    for (uint64_t bit = 1ULL << (62 - (__builtin_clzll(n) & ~1)); bit; bit >>= 2) {
        if (n >= r + bit) {
            n -= r + bit;
            r = (r >> 1) + bit;
        } else {
            r >>= 1;
        }
    }
    return r;
}

/* 1 / sqrt(packets), 16 fraction bits in and 32 out; 0 is no window. */
static uint64_t inverse_root(uint64_t packets)
{
    return (1ULL << 56) / root(packets << 32);
}

static uint64_t max_window(const struct cc *cc)
{
    const struct cc_config *c = cc->config;

    if (c->swift_max_window) return c->swift_max_window << 16;
    return (uint64_t)(((u128)cc->line_bps * (c->swift_base_target + c->swift_fs_range) << 17) / (8 * PS_S));
}

static uint64_t min_window(const struct cc *cc)
{
    uint64_t least = ((uint64_t)cc->packet_bytes << 16) * cc->config->swift_min_window / MILLION;
    return least ? least : 1;
}

static uint64_t within(const struct cc *cc, uint64_t window)
{
    uint64_t least = min_window(cc), most = max_window(cc);

    if (window > most) window = most;
    return window < least ? least : window;
}

static void use_windows(struct cc *cc)
{
    const struct cc_swift *s = &cc->swift;
    uint64_t window = s->host.bytes < s->fabric.bytes ? s->host.bytes : s->fabric.bytes;

    cc->window_bytes = window >> 16 ? window >> 16 : 1; /* a closed window hears no ACK that could open it */
    cc->rate_bps = cc->line_bps;
    if (window >= (uint64_t)cc->packet_bytes << 16 || s->rtt == 0) return;
    uint64_t rate = (uint64_t)((u128)window * 8 * PS_S / s->rtt >> 16);
    if (rate < CC_RATE_MIN) rate = CC_RATE_MIN;
    if (rate < cc->line_bps) cc->rate_bps = rate;
}

static void init(struct cc *cc)
{
    struct cc_swift *s = &cc->swift;
    const struct cc_config *c = cc->config;
    uint64_t first = c->swift_first_window ? c->swift_first_window << 16
                                           : (uint64_t)(((u128)cc->line_bps * c->swift_base_target << 16) / (8 * PS_S));
    uint64_t at_min = inverse_root((c->swift_fs_min << 16) / MILLION), at_max = inverse_root(c->swift_fs_max << 16);

    *s = (struct cc_swift){.fabric.bytes = within(cc, first), .host.bytes = max_window(cc)};
    CHECK(at_min > at_max);
    s->scale_ps = (uint64_t)(((u128)c->swift_fs_range << 32) / (at_min - at_max));
    s->offset_ps = (uint64_t)((u128)s->scale_ps * at_max >> 32);
    use_windows(cc);
}

static ps_t fabric_target(const struct cc *cc, uint32_t switches)
{
    const struct cc_swift *s = &cc->swift;
    const struct cc_config *c = cc->config;
    uint64_t packets = s->fabric.bytes / cc->packet_bytes;
    if (packets >> 32) packets = UINT32_MAX;
    uint64_t scaled = (uint64_t)((u128)s->scale_ps * inverse_root(packets ? packets : 1) >> 32);
    uint64_t more = scaled > s->offset_ps ? scaled - s->offset_ps : 0;

    if (more > c->swift_fs_range) more = c->swift_fs_range;
    return c->swift_base_target + c->swift_hop * switches + more;
}

static bool may_decrease(const struct cc *cc, const struct cc_swift_window *window, ps_t now)
{
    return now - window->decreased_at >= cc->swift.rtt;
}

static void cut(struct cc *cc, struct cc_swift_window *window, uint64_t part, ps_t now)
{
    if (!may_decrease(cc, window, now)) return;
    if (part > cc->config->swift_max_mdf) part = cc->config->swift_max_mdf;
    uint64_t before = window->bytes;
    window->bytes = within(cc, before - (uint64_t)((u128)before * part / MILLION));
    if (window->bytes < before) window->decreased_at = now;
}

/* One of the windows hears of its delay. */
static void hear(struct cc *cc, struct cc_swift_window *window, ps_t delay, ps_t target, uint64_t acked, ps_t now)
{
    const struct cc_config *c = cc->config;

    if (delay >= target && delay > 0) {
        cut(cc, window, (uint64_t)((u128)(delay - target) * c->swift_beta / delay), now);
        return;
    }
    u128 add = (u128)acked * c->swift_ai / MILLION << 16; /* below a packet: all of it */
    if (window->bytes >= (uint64_t)cc->packet_bytes << 16) add = (add * cc->packet_bytes << 16) / window->bytes;
    window->bytes = within(cc, window->bytes + (uint64_t)add);
}

static void on_ack(struct cc *cc, const struct cc_ack *ack, ps_t now)
{
    struct cc_swift *s = &cc->swift;

    if (ack->rtt_ps) s->rtt = ack->rtt_ps < PS_S ? ack->rtt_ps : PS_S;
    if (ack->acked_bytes) s->again = 0;
    if (s->rtt == 0) return;
    hear(cc, &s->fabric, s->rtt, fabric_target(cc, ack->switches), ack->acked_bytes, now);
    hear(cc, &s->host, ack->host_ps, cc->config->swift_host_target, ack->acked_bytes, now);
    use_windows(cc);
}

static void on_loss(struct cc *cc, bool timeout, uint32_t next_psn, ps_t now)
{
    struct cc_swift *s = &cc->swift;

    (void)next_psn;
    if (!timeout) {
        s->again = 0;
        cut(cc, &s->fabric, MILLION, now);
    } else if (++s->again >= cc->config->swift_reset_after) {
        s->fabric.bytes = min_window(cc);
    } else {
        cut(cc, &s->fabric, MILLION, now);
    }
    use_windows(cc);
}

static const char *invalid(const struct cc_config *c, const char **ret_name)
{
    REFUSE_IF(NOT_A_RTT(c->swift_base_target), "swift_base_target", "is 1 ns to 1 s");
    REFUSE_IF(c->swift_hop > PS_MS, "swift_hop", "is 1 ms at most");
    REFUSE_IF(c->swift_fs_range > PS_S, "swift_fs_range", "is 1 s at most");
    REFUSE_IF(c->swift_host_target > PS_S, "swift_host_target", "is 1 s at most");
    REFUSE_IF(c->swift_fs_min < 1000 || NOT_A_SHARE(c->swift_fs_min), "swift_fs_min", "is 0.1% to 100% of a packet");
    REFUSE_IF(c->swift_fs_max < 2 || c->swift_fs_max > 60000, "swift_fs_max", "is 2 to 60000 packets");
    REFUSE_IF(NOT_A_SHARE(c->swift_beta), "swift_beta", "is a share: at most 100%");
    REFUSE_IF(NOT_A_SHARE(c->swift_max_mdf), "swift_max_mdf", "is a share: at most 100%");
    REFUSE_IF(c->swift_ai > 1000000000, "swift_ai", "is 1000 packets at most");
    REFUSE_IF(NOT_A_SHARE(c->swift_min_window), "swift_min_window", "is at most 100% of a packet");
    REFUSE_IF(c->swift_first_window >> 40, "swift_first_window", "is below 1 TiB");
    REFUSE_IF(c->swift_max_window >> 40, "swift_max_window", "is below 1 TiB");
    return NULL;
}

static const struct cc_preset presets[] = {
    {"swift/paper",
     {.swift_base_target = 25 * PS_US,
      .swift_hop = 1 * PS_US,
      .swift_fs_range = 50 * PS_US,
      .swift_fs_min = 10 * PERCENT,
      .swift_fs_max = 100,
      .swift_host_target = 100 * PS_US,
      .swift_ai = 100 * PERCENT,
      .swift_beta = 80 * PERCENT,
      .swift_max_mdf = 50 * PERCENT,
      .swift_min_window = 1000, /* a thousandth of a packet */
      .swift_reset_after = 5}},
    {.name = NULL},
};

const struct cc_algorithm cc_algorithm_swift = {
    .preset = presets,
    .invalid = invalid,
    .needs = {.rtt = true},
    .window = true,
    .init = init,
    .ack = on_ack,
    .loss = on_loss,
};
