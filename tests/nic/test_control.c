/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TIMELY, Swift and DCTCP, step by step against numbers worked out by hand and against the papers' formulas in floating
 * point; and the round-trip times they go by, as the adapter measures them.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/histo.h"
#include "base/rng.h"
#include "base/support.h"
#include "base/time.h"
#include "nic/cc/cc.h"
#include "nic/nic_int.h"
#include "nic/rig.h"
#include "packet/opcode.h"

#define GBPS 1000000000.0
#define LINE_BPS (10 * 1000000000ULL)

static void near_to(double ours, double model, double part, const char *what, uint64_t step)
{
    if (fabs(ours - model) > part * fabs(model) + 2)
        fail_msg("%s: %.3f, should be %.3f (seed %llu, step %llu)", what, ours, model, (unsigned long long)test_seed(),
                 (unsigned long long)step);
}

static struct cc_config preset(const char *name)
{
    struct cc_config config;
    assert_int_equal(cc_preset(name, &config), 0);
    return config;
}

/* The n-th ACK of a connection whose every ACK ends a round trip. */
static void tell_rtt(struct cc *cc, uint32_t n, ps_t rtt)
{
    cc_on_ack(cc, &(struct cc_ack){.acked_bytes = 1000, .acked_psn = n, .next_psn = n, .rtt_ps = rtt}, n * PS_MS);
}

/* 10 Gb/s, beta 0.8, alpha 0.875, 20 us: a rise of 4 us is a gradient of 0.175; then a fall, five small increases and
 * the large ones; above t_high by the time alone; below t_low by small steps alone. */
static void test_timely_steps(void **state)
{
    struct cc_config config = preset("timely/paper");
    struct cc cc;
    uint32_t n = 1;
    (void)state;
    config.timely_segment = 0;
    config.timely_alpha = 875000;
    cc_init(&cc, &config, LINE_BPS, 1024, NULL);
    assert_int_equal(cc.rate_bps, LINE_BPS);
    assert_true(cc.window_bytes == CC_WINDOW_NONE);
    tell_rtt(&cc, n++, 100 * PS_US);
    assert_int_equal(cc.rate_bps, LINE_BPS); /* the first has none to be compared with */
    tell_rtt(&cc, n++, 104 * PS_US);
    near_to((double)cc.rate_bps, 8.6 * GBPS, 1e-8, "a positive gradient", 0);
    uint64_t rate = cc.rate_bps;
    for (int i = 0; i < 8; i++) {
        tell_rtt(&cc, n++, 102 * PS_US - (ps_t)i * PS_NS);
        rate += i < 5 ? 10000000 : 50000000;
        assert_int_equal(cc.rate_bps, rate);
    }
    tell_rtt(&cc, n++, 600 * PS_US);
    near_to((double)cc.rate_bps, (double)rate * (1 - 0.8 / 6), 1e-8, "above t_high", 0);
    rate = cc.rate_bps;
    for (int i = 0; i < 8; i++) {
        tell_rtt(&cc, n++, 40 * PS_US + (ps_t)i * PS_US); /* rising, but low */
        assert_int_equal(cc.rate_bps, rate += 10000000);
    }
    /* whatever the gradient, an update leaves half of the rate; without that limit, the least */
    rate = cc.rate_bps;
    tell_rtt(&cc, n++, 90 * PS_US);
    near_to((double)cc.rate_bps, (double)rate / 2, 1e-8, "a steep gradient", 0);
    config.timely_max_mdf = 1000000;
    tell_rtt(&cc, n++, 200 * PS_US);
    assert_int_equal(cc.rate_bps, LINE_BPS / 100);
    cc_on_ack(&cc, &(struct cc_ack){.acked_bytes = 1, .acked_psn = n, .next_psn = n}, n * PS_MS); /* no time told */
    assert_int_equal(cc.rate_bps, LINE_BPS / 100);
}

/* The first rate, and how much an update counts that comes soon after another. */
static void test_timely_start(void **state)
{
    struct cc_config config = preset("timely/paper");
    struct cc cc;

    (void)state;
    config.timely_segment = 1024;
    config.timely_start_rate = 3 * 1000000000ULL;
    cc_init(&cc, &config, LINE_BPS, 1024, NULL);
    assert_int_equal(cc.rate_bps, 3000000000);
    uint64_t rate = cc.rate_bps;
    for (uint32_t n = 0; n < 40; n++) { /* 5 us apart, of 20: a quarter of an increase each */
        cc_on_ack(&cc, &(struct cc_ack){.acked_bytes = 1024, .acked_psn = n, .next_psn = n + 50, .rtt_ps = 9 * PS_US},
                  PS_MS + n * 5 * PS_US);
        assert_int_equal(cc.rate_bps, rate + n * 2500000ULL);
    }
    rate = cc.rate_bps; /* and of a decrease: beta 0.8, alpha 0.02, 100 us more of 20 */
    cc_on_ack(&cc, &(struct cc_ack){.acked_bytes = 1024, .acked_psn = 40, .next_psn = 90, .rtt_ps = 109 * PS_US},
              PS_MS + 200 * PS_US);
    near_to((double)cc.rate_bps, (double)rate * (1 - 0.8 * 0.02 * 5 / 4), 1e-8, "a quarter of a decrease", 0);
    config.timely_start_rate = 1000000000000;
    cc_init(&cc, &config, LINE_BPS, 1024, NULL);
    assert_int_equal(cc.rate_bps, LINE_BPS);
}

/* An update for each segment, or for each round trip; and the variant in which low round trips count too. */
static void test_timely_when(void **state)
{
    struct cc_config config = preset("timely/paper");
    struct cc cc;
    (void)state;
    config.timely_scaled = 0;
    cc_init(&cc, &config, LINE_BPS, 1024, NULL);
    cc.rate_bps = 1000000000;
    for (uint32_t n = 1; n <= 64; n++) {
        cc_on_ack(&cc, &(struct cc_ack){.acked_bytes = 1024, .acked_psn = n, .next_psn = n + 50, .rtt_ps = 9 * PS_US},
                  n * PS_US);
        assert_int_equal(cc.rate_bps, 1000000000 + (n - 1) / 16 * 10000000ULL);
    }
    config = preset("timely/hpcc-sim");
    cc_init(&cc, &config, LINE_BPS, 1024, NULL);
    cc.rate_bps = 1000000000;
    uint64_t rate = cc.rate_bps;
    for (uint32_t n = 1; n <= 501; n++) { /* 50 packets in flight: the first ACK, then one in 51 ends a round */
        cc_on_ack(&cc, &(struct cc_ack){.acked_bytes = 1000, .acked_psn = n, .next_psn = n + 50, .rtt_ps = 9 * PS_US},
                  n * PS_US);
        if (n > 1 && n % 51 == 1) rate += n / 51 <= 5 ? 100000000 : 500000000;
        assert_int_equal(cc.rate_bps, rate);
    }
}

/* One update in floating point: algorithm 1, or algorithm 2 of Zhu et al.; `part` of a whole one. */
static double timely_model(const struct cc_config *c, double rate, double rtt, double gradient, double part,
                           uint32_t *stage)
{
    double low = (double)c->timely_t_low, high = (double)c->timely_t_high, beta = (double)c->timely_beta / 1e6;
    double add = c->timely_ai_rate ? (double)c->timely_ai_rate : (double)LINE_BPS / 1000, less, more = 0;
    double hyper = c->timely_hai_rate ? (double)c->timely_hai_rate : 5 * add;
    bool up = rtt < low || (rtt <= high && !c->timely_patched && gradient <= 0);

    if (up) {
        bool counts = rtt >= low || c->timely_hai_low;
        rate += part * (counts && *stage >= c->timely_hai_after ? hyper : add);
        if (counts) ++*stage;
    } else if (rtt <= high && c->timely_patched) {
        double w = fmin(fmax(2 * gradient + 0.5, 0), 1);
        less = beta * w * (rtt - low) / low;
        more = add * (1 - w) * part;
    } else {
        less = beta * (rtt > high ? 1 - high / rtt : gradient);
        *stage = 0;
    }
    if (!up) rate = rate * (1 - fmin(part * fmin(less, 1), (double)c->timely_max_mdf / 1e6)) + more;
    double least = c->timely_min_rate ? (double)c->timely_min_rate : (double)LINE_BPS / 100;
    return fmin(fmax(rate, least), (double)LINE_BPS);
}

/* Random round-trip times against the model, with updates at random distances. */
static void timely_against_model(const struct cc_config *c, uint64_t stream)
{
    double rate = (double)LINE_BPS, diff = 0, previous = 0, alpha = (double)c->timely_alpha / 1e6;
    uint32_t stage = 0;
    ps_t at = PS_MS;
    struct rng rng;
    struct cc cc;

    rng_init(&rng, test_seed(), stream);
    cc_init(&cc, c, LINE_BPS, 1024, NULL);
    if (c->timely_start_rate) rate = (double)c->timely_start_rate;
    for (uint32_t n = 1; n < 20000; n++) {
        ps_t rtt = (n / 500 % 2 ? 45 : 200) * PS_US + rng_below(&rng, (n / 1000 % 3) * 300 * PS_US + 3 * PS_US);
        ps_t since = 1 + rng_below(&rng, 30 * PS_US);
        at += since;
        cc_on_ack(&cc, &(struct cc_ack){.acked_bytes = 20000, .acked_psn = n, .next_psn = n, .rtt_ps = rtt}, at);
        if (n > 1) {
            diff = (1 - alpha) * diff + alpha * ((double)rtt - previous);
            double part = c->timely_scaled ? fmin((double)since / (20.0 * PS_US), 1) : 1;
            rate = timely_model(c, rate, (double)rtt, diff / (20.0 * PS_US), part, &stage);
        }
        previous = (double)rtt;
        near_to((double)cc.rate_bps, rate, 1e-6, "rate", n);
        rate = (double)cc.rate_bps; /* from here on ours: rounding must not add up through the branches */
    }
}

static void test_timely_model(void **state)
{
    static const char *const presets[] = {"timely/hpcc-sim", "timely/paper", "timely/patched"};

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct cc_config config = preset(presets[i]);
        timely_against_model(&config, 31 + (uint64_t)i);
        config.timely_scaled = !config.timely_scaled;
        timely_against_model(&config, 41 + (uint64_t)i);
    }
}

/* Packets of 1000 bytes, 100 Gb/s, 13 us: the window begins at 162,500 bytes, and alpha at 1. */
static void test_dctcp_steps(void **state)
{
    struct cc_config config = preset("dctcp/hpcc-sim");
    struct cc cc;
    (void)state;
    cc_init(&cc, &config, 10 * LINE_BPS, 1000, NULL);
    assert_int_equal(cc.window_bytes, 162500);
    assert_int_equal(cc.rate_bps, 10 * LINE_BPS);
    struct cc_ack ack = {.acked_bytes = 1000, .acked_psn = 1, .next_psn = 101};
    cc_on_ack(&cc, &ack, 0); /* the first round begins: no more than it began with */
    assert_int_equal(cc.window_bytes, 162500);
    for (uint32_t n = 2; n <= 102; n++) { /* the last one ends the round: 51 of 101 packets are marked */
        ack.acked_psn = n;
        ack.next_psn = n + 100;
        ack.marked = n % 2 == 0;
        cc_on_ack(&cc, &ack, 0);
        assert_int_equal(cc.window_bytes, 81250); /* once, by half: alpha was 1 */
    }
    near_to((double)cc.rate_bps, 50 * GBPS, 1e-6, "paced at window / 13 us", 0);
    ack.acked_psn = 103; /* sent after the cut */
    ack.next_psn = 160;
    ack.marked = true;
    cc_on_ack(&cc, &ack, 0);
    double alpha = 15.0 / 16 + 51.0 / 101 / 16;
    near_to((double)cc.dctcp.alpha, alpha * 4294967296.0, 1e-5, "alpha", 0);
    near_to((double)cc.window_bytes, 81250 * (1 - alpha / 2), 1e-4, "window", 0);
    uint64_t window = cc.window_bytes;
    ack.marked = false;
    for (uint32_t round = 0; round < 3; round++) { /* the first of these acknowledges what was sent before the cut */
        ack.acked_psn = ack.next_psn + (round > 0);
        ack.next_psn += 50;
        cc_on_ack(&cc, &ack, 0);
        assert_int_equal(cc.window_bytes, window += round ? 1000 : 0);
    }
    cc_on_loss(&cc, false, ack.next_psn, 0);
    cc_on_loss(&cc, false, ack.next_psn, 0); /* of the same window */
    assert_int_equal(cc.window_bytes, window / 2);
    cc_on_loss(&cc, true, ack.next_psn, 0);
    assert_int_equal(cc.window_bytes, 1625);
}

/* InfiniBand: each BECN raises the index, up to its limit; each period of the timer lowers it, down to its least. */
static void test_ibcc(void **state)
{
    struct cc_config config = preset("ibcc/default");
    struct cc cc;
    ps_t now = 0, period = 150 * 1024 * PS_NS;

    (void)state;
    cc_init(&cc, &config, LINE_BPS, 4096, NULL);
    assert_int_equal(cc.rate_bps, LINE_BPS);
    assert_true(cc.deadline == PS_NEVER);
    for (uint64_t i = 1; i <= 200; i++) {
        cc_on_cnp(&cc, now);
        assert_int_equal(cc.rate_bps, LINE_BPS / (1 + (i < 127 ? i : 127)));
        assert_true(cc.deadline == period);
    }
    for (uint64_t i = 127; i > 0; i--) {
        now = cc.deadline;
        cc_on_timer(&cc, now);
        assert_int_equal(cc.rate_bps, LINE_BPS / i);
        assert_true(cc.deadline == (i > 1 ? now + period : PS_NEVER));
    }
    /* The quadratic table: 127 squared of 61/65536 are 15 line times. */
    config = preset("ibcc/quadratic");
    cc_init(&cc, &config, LINE_BPS, 4096, NULL);
    for (uint64_t i = 0; i < 127; i++)
        cc_on_cnp(&cc, 0);
    near_to((double)cc.rate_bps, (double)LINE_BPS / (1 + 127.0 * 127 * 61 / 65536), 1e-9, "rate", 0);
}

/* As published: ten packets, doubling until the first mark, not paced; never less than a packet. */
static void test_dctcp_slow_start(void **state)
{
    struct cc_config config = preset("dctcp/paper");
    struct cc_ack ack = {.acked_bytes = 1460};
    struct cc cc;
    (void)state;
    cc_init(&cc, &config, LINE_BPS, 1460, NULL);
    assert_int_equal(cc.window_bytes, 14600);
    for (uint32_t n = 1; n <= 30; n++) {
        ack.acked_psn = n;
        ack.next_psn = 2 * n + 10;
        cc_on_ack(&cc, &ack, 0);
        assert_int_equal(cc.window_bytes, 14600 + n * 1460);
        assert_int_equal(cc.rate_bps, LINE_BPS);
    }
    ack.marked = true;
    cc_on_ack(&cc, &ack, 0);
    near_to((double)cc.window_bytes, 40 * 1460 * (1 - (double)cc.dctcp.alpha / 8589934592.0), 1e-6, "cut", 0);
    assert_true(cc.dctcp.alpha < 4294967296 && cc.dctcp.alpha > 4294967296 / 2);
    for (uint32_t n = 100; n < 4000; n += 100) {
        ack.acked_psn = n;
        ack.next_psn = n + 1;
        cc_on_ack(&cc, &ack, 0);
    }
    assert_int_equal(cc.window_bytes, 1460);
}

/* What flow scaling adds to the target, from the paper's formula. */
static double scaling(const struct cc_config *c, double packets)
{
    double least = (double)c->swift_fs_min / 1e6, most = (double)c->swift_fs_max, range = (double)c->swift_fs_range;
    double alpha = range / (1 / sqrt(least) - 1 / sqrt(most));
    return fmin(fmax(alpha / sqrt(packets) - alpha / sqrt(most), 0), range);
}

/* Packets of 1000 bytes, 100 Gb/s, base target 25 us: 312,500 bytes, where flow scaling adds nothing. */
static void test_swift_steps(void **state)
{
    struct cc_config config = preset("swift/paper");
    struct cc cc;
    ps_t now = PS_MS;
    (void)state;
    cc_init(&cc, &config, 10 * LINE_BPS, 1000, NULL);
    assert_int_equal(cc.window_bytes, 312500);
    struct cc_ack ack = {.acked_bytes = 2000, .rtt_ps = 20 * PS_US, .switches = 1};
    cc_on_ack(&cc, &ack, now);
    near_to((double)cc.swift.fabric.bytes / 65536, 312500 + 2000 * 1000 / 312500.0, 1e-9, "additive increase", 0);
    cc.swift.fabric.bytes = (uint64_t)200000 << 16;
    ack.rtt_ps = 50 * PS_US; /* 24 us more than 25 and one switch */
    cc_on_ack(&cc, &ack, now);
    near_to((double)cc.window_bytes, 200000 * (1 - 0.8 * 24 / 50), 1e-6, "decrease", 0);
    uint64_t window = cc.window_bytes;
    cc_on_ack(&cc, &ack, now += 49 * PS_US);
    assert_int_equal(cc.window_bytes, window); /* once a round trip */
    ack.rtt_ps = 500 * PS_US;
    cc_on_ack(&cc, &ack, now += 500 * PS_US);
    near_to((double)cc.window_bytes, (double)window / 2, 1e-5, "no more than max_mdf", 0);
    assert_int_equal(cc.rate_bps, 10 * LINE_BPS); /* more than a packet is not paced */
    /* 4 packets: scaling adds 6.53 us to 26, so that 32 us are not too much and 33 are */
    assert_true(fabs(scaling(&config, 4) - 6.531 * PS_US) < 0.001 * PS_US);
    for (int over = 0; over < 2; over++) {
        cc.swift.fabric.bytes = (uint64_t)4000 << 16;
        ack.rtt_ps = (32 + (ps_t)over) * PS_US;
        cc_on_ack(&cc, &ack, now += PS_MS);
        assert_true(over ? cc.window_bytes < 4000 : cc.window_bytes == 4500);
    }
    /* half a packet: one every two round trips of 100 us, 40 Mb/s */
    cc.swift.fabric.bytes = (uint64_t)1000 << 16;
    ack.rtt_ps = 1000 * PS_US;
    cc_on_ack(&cc, &ack, now += PS_MS);
    ack.rtt_ps = 100 * PS_US;
    ack.acked_bytes = 0;
    cc.swift.fabric.decreased_at = now;
    cc_on_ack(&cc, &ack, now);
    assert_int_equal(cc.window_bytes, 500);
    assert_int_equal(cc.rate_bps, 40000000);
    ack.rtt_ps = 10 * PS_US;
    ack.acked_bytes = 100;
    cc_on_ack(&cc, &ack, now);
    assert_int_equal(cc.window_bytes, 600); /* below a packet all that is acknowledged is added */
}

/* The receiver's delay has a window of its own, losses cut by half, and the fifth timeout in a row leaves the least. */
static void test_swift_host_and_loss(void **state)
{
    struct cc_config config = preset("swift/paper");
    struct cc_ack ack = {.acked_bytes = 1000, .rtt_ps = 10 * PS_US, .host_ps = 200 * PS_US};
    struct cc cc;
    ps_t now = PS_MS;
    (void)state;
    cc_init(&cc, &config, 10 * LINE_BPS, 1000, NULL);
    double host = (double)cc.swift.host.bytes;
    for (int i = 0; i < 5; i++) {
        cc_on_ack(&cc, &ack, now += PS_MS);
        host *= 1 - 0.8 * 100 / 200;
        near_to((double)cc.swift.host.bytes, host, 1e-6, "host window", (uint64_t)i);
    }
    assert_int_equal(cc.window_bytes, cc.swift.host.bytes >> 16);
    assert_true(cc.swift.fabric.bytes > cc.swift.host.bytes);
    cc.swift.host.bytes = UINT64_C(1) << 45;
    uint64_t fabric = cc.swift.fabric.bytes;
    cc_on_loss(&cc, false, 0, now += PS_MS);
    assert_in_range(cc.swift.fabric.bytes, fabric / 2, fabric / 2 + 1);
    for (int i = 0; i < 4; i++)
        cc_on_loss(&cc, true, 0, now += PS_MS);
    assert_in_range(cc.swift.fabric.bytes, fabric / 32, fabric / 32 + 5);
    cc_on_loss(&cc, true, 0, now += PS_MS);
    assert_int_equal(cc.swift.fabric.bytes, (1000 << 16) / 1000);
    assert_int_equal(cc.window_bytes, 1);
}

/* Any window: the square root and all that is made of it. */
static void test_swift_scaling(void **state)
{
    struct cc_config config = preset("swift/paper");
    struct rng rng;
    struct cc cc;
    (void)state;
    rng_init(&rng, test_seed(), 32);
    for (uint64_t step = 0; step < 20000; step++) {
        cc_init(&cc, &config, 10 * LINE_BPS, (uint16_t)(1 + rng_below(&rng, 4096)), NULL);
        uint64_t bytes = (1 + rng_u64(&rng) % (UINT64_C(1) << (17 + step % 20))) + cc.packet_bytes * UINT64_C(100);
        cc.swift.fabric.bytes = bytes;
        double target = 25.0 * PS_US + 3.0 * PS_US + scaling(&config, (double)bytes / 65536 / cc.packet_bytes);
        struct cc_ack ack = {.rtt_ps = (ps_t)(target * 1.001) + 1000, .switches = 3};
        cc_on_ack(&cc, &ack, PS_S);
        bool cut = cc.swift.fabric.decreased_at == PS_S;
        cc.swift.fabric = (struct cc_swift_window){.bytes = bytes};
        ack.rtt_ps = (ps_t)(target * 0.999) - 1000;
        cc_on_ack(&cc, &ack, PS_S);
        EXPECT(cut && cc.swift.fabric.decreased_at == 0, step);
    }
}

/* Packets every microsecond, each acknowledged 200 us later: few stamps, each time exact, and together they stand for
 * about as many packets as there were. */
static void test_stamps(void **state)
{
    struct rtt_stamps stamps;
    uint64_t stood_for = 0, told = 0;
    uint32_t packets;
    (void)state;
    rtt_forget(&stamps);
    for (uint32_t t = 0; t < 2200; t++) {
        if (t < 2000) rtt_sent(&stamps, 0xfffffe00 + t, t * PS_US); /* PSNs wrap */
        assert_true(stamps.count <= RTT_STAMPS && (t < 40 || t > 2100 || stamps.count >= RTT_STAMPS / 4));
        if (t < 200) continue;
        ps_t rtt = rtt_acked(&stamps, 0xfffffe00 + t - 200 + 1, t * PS_US, &packets);
        if (rtt == 0) continue;
        assert_int_equal(rtt, 200 * PS_US);
        stood_for += packets;
        told++;
    }
    assert_true(told >= 2000 / 32 && told < 400);
    assert_in_range(stood_for, 1800, 2200);
    assert_int_equal(stamps.count, 0);
    rtt_sent(&stamps, 5, 0);
    rtt_forget(&stamps);
    assert_int_equal(rtt_acked(&stamps, 6, PS_US, &packets), 0);
}

static enum pair_fate lose_fifth(struct pair *p, int from, struct pkt *pkt, ps_t now)
{
    int *count = p->context;
    (void)now;
    return from == 0 && pkt->payload_bytes && ++*count == 5 ? PAIR_LOSE : PAIR_PASS;
}

/* Two adapters, 1 us apart at 100 Gb/s: a packet and its ACK take what frames and wire take; after a loss nothing is
 * measured by what was sent again; and TIMELY is refused where nobody measures. */
static void test_measured(void **state)
{
    struct nic_config config[2] = {nic_config_default(10 * LINE_BPS, 10), nic_config_default(10 * LINE_BPS, 11)};
    struct nic_qp_config qp = pair_qp_config();
    struct cc_config timely = preset("timely/paper");
    struct histo histo[2] = {{0}, {0}};
    struct nic_qp *refused;
    (void)state;
    qp.cc = &timely;
    assert_int_equal(nic_qp_create(pair.nic[0], 0, &qp, 0, &refused), -EINVAL);
    pair_release(&pair);
    for (int i = 0; i < 2; i++) {
        config[i].any_key = config[i].rtt = true;
        config[i].rtt_ns = &histo[i];
    }
    pair_init(&pair, config, 1);
    qp.ack_every = 1;
    qp.ack_request_every = 1;
    rig_connect(&qp);
    pair_send(&pair, 0, &end[0], (struct nic_wr){.verb = NIC_WRITE, .length = 4 * 1024});
    pair_run(&pair, PS_NEVER);
    assert_int_equal(histo[0].count, 4);
    assert_int_equal(histo[1].count, 0);
    assert_in_range(histo[0].min, 2000 + 88 + 6, 2000 + 88 + 20); /* 2 us, 1082 + 24 bytes, an ACK of 62 + 24 */
    int count = 0;
    pair.filter = lose_fifth;
    pair.context = &count;
    pair_send(&pair, 0, &end[0], (struct nic_wr){.verb = NIC_WRITE, .length = 20 * 1024});
    pair_run(&pair, PS_NEVER);
    assert_true(nic_counters(pair.nic[0])->retransmitted_packets > 0);
    assert_in_range(histo[0].count, 8, 23); /* four more came before the gap; what was repeated counts for nothing */
    assert_in_range(histo[0].max, histo[0].min, histo[0].min + 2000);
}

/* The slow receiver tells how long what it holds will take it. */
static void test_host_delay_told(void **state)
{
    struct nic_config config[2] = {nic_config_default(10 * LINE_BPS, 10), nic_config_default(10 * LINE_BPS, 11)};
    struct nic_qp_config qp = pair_qp_config();
    uint32_t most = 0;
    (void)state;
    pair_release(&pair);
    config[0].any_key = config[1].any_key = true;
    config[1].rx_bps = LINE_BPS;
    config[1].rx_buffer_bytes = 1000000;
    config[1].rx_xoff_bytes = config[1].rx_xon_bytes = 900000;
    pair_init(&pair, config, 1);
    qp.ack_every = 1;
    rig_connect(&qp);
    pair_send(&pair, 0, &end[0], (struct nic_wr){.verb = NIC_WRITE, .length = 100 * 1024});
    pair_run(&pair, PS_NEVER);
    for (uint32_t i = 0; i < pair.seen_count; i++)
        if (pair.seen[i].from == 1 && seen(i)->ack.held > most) most = seen(i)->ack.held;
    /* 100 frames of 1082 at a tenth of the line: nine tenths of them, 78 us, are there when the last comes */
    assert_in_range(most * (uint64_t)PKT_HELD_PS, 74 * PS_US, 82 * PS_US);
}

static void test_refused(void **state)
{
    static const struct {
        const char *preset, *name;
        uint64_t value;
    } bad[] = {{"timely/paper", "timely_min_rtt", 0},        {"timely/paper", "timely_alpha", 1000001},
               {"timely/paper", "timely_beta", 1000001},     {"timely/paper", "timely_t_high", 1},
               {"timely/paper", "timely_min_rate", 1},       {"timely/paper", "timely_start_rate", 1},
               {"timely/paper", "timely_max_mdf", 1000001},  {"timely/patched", "timely_t_low", 0},
               {"swift/paper", "swift_base_target", 0},      {"swift/paper", "swift_fs_min", 0},
               {"swift/paper", "swift_fs_max", 1},           {"swift/paper", "swift_max_mdf", 1000001},
               {"swift/paper", "swift_min_window", 1000001}, {"dctcp/paper", "dctcp_first_window", 0},
               {"dctcp/paper", "dctcp_g", 1000001},          {"dctcp/hpcc-sim", "dctcp_base_rtt", PS_NS - 1}};
    const char *name = NULL;
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct cc_config config = preset(bad[i].preset);
        assert_null(cc_invalid(&config, &name));
        assert_int_equal(cc_set(&config, bad[i].name, bad[i].value), 0);
        assert_non_null(cc_invalid(&config, &name));
        assert_string_equal(name, bad[i].name);
    }
}

#define RIG(test) cmocka_unit_test_setup_teardown(test, rig_set_up, rig_tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timely_steps),
        cmocka_unit_test(test_timely_start),
        cmocka_unit_test(test_timely_when),
        cmocka_unit_test(test_timely_model),
        cmocka_unit_test(test_dctcp_steps),
        cmocka_unit_test(test_dctcp_slow_start),
        cmocka_unit_test(test_ibcc),
        cmocka_unit_test(test_swift_steps),
        cmocka_unit_test(test_swift_host_and_loss),
        cmocka_unit_test(test_swift_scaling),
        cmocka_unit_test(test_stamps),
        RIG(test_measured),
        RIG(test_host_delay_told),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
