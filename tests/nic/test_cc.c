/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Congestion control against models of the papers in floating point: the same events, the same rates.
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

#include "base/rng.h"
#include "base/support.h"
#include "base/time.h"
#include "nic/nic.h"

#define LINE_BPS (100 * 1000000000ULL)

static void near_to(double ours, double model, double part, const char *what, uint64_t step)
{
    if (fabs(ours - model) > part * fabs(model) + 32) /* rates and windows are whole; halves are rounded up */
        fail_msg("%s: %.3f, the model says %.3f (seed %llu, step %llu)", what, ours, model,
                 (unsigned long long)test_seed(), (unsigned long long)step);
}

/* DCQCN as the papers and the vendor's parameter list describe it, one event after the other, each alpha update too. */
struct model {
    const struct cc_config *c;
    double rate, target, alpha;
    bool active, alpha_cnp, cut_wanted;
    ps_t alpha_at, look_at, increase_at;
    double bytes_left;
    uint32_t t, b;
};

static void model_increase(struct model *m, bool by_time)
{
    uint32_t t = m->c->rpg_time_reset ? m->t : m->b, b = m->c->rpg_byte_reset ? m->b : m->t;
    double max = m->c->rpg_max_rate ? (double)m->c->rpg_max_rate : (double)LINE_BPS;

    if (t >= m->c->rpg_threshold || b >= m->c->rpg_threshold) {
        bool hyper = t > m->c->rpg_threshold && b > m->c->rpg_threshold;
        m->target += (double)(hyper ? m->c->rpg_hai_rate : m->c->rpg_ai_rate);
    }
    m->target = fmin(m->target, max);
    m->rate = (m->rate + m->target) / 2;
    if (by_time)
        m->t++;
    else
        m->b++;
}

static void model_cut(struct model *m, ps_t now)
{
    bool raised = m->b > 0 || (m->t > 0 && m->c->clamp_tgt_rate_after_time_inc);

    if (m->c->clamp_tgt_rate || raised) m->target = m->rate;
    double factor = 1 - m->alpha * 1024 / pow(2, (double)m->c->rpg_gd);
    m->rate *= fmax(factor, (double)m->c->rpg_min_dec_fac / 1e6);
    m->rate = fmax(m->rate, (double)m->c->rpg_min_rate);
    m->t = m->b = 0;
    m->bytes_left = (double)m->c->rpg_byte_reset;
    m->increase_at = m->c->rpg_time_reset ? now + m->c->rpg_time_reset : PS_NEVER;
    m->cut_wanted = false;
}

/* All timers up to and including `now`, in order; alpha before cuts. */
static void model_advance(struct model *m, ps_t now)
{
    double g = (double)m->c->dce_tcp_g / 1024;

    while (m->active) {
        ps_t look = m->c->rate_reduce_monitor_period ? m->look_at : PS_NEVER;
        ps_t next = m->alpha_at < look ? m->alpha_at : look;
        if (m->increase_at < next) next = m->increase_at;
        if (next > now) break;
        if (m->alpha_at == next) {
            m->alpha = g * m->alpha + (m->alpha_cnp ? 1 - g : 0);
            m->alpha_cnp = false;
            m->alpha_at += m->c->dce_tcp_rtt;
        } else if (m->increase_at == next) {
            m->increase_at += m->c->rpg_time_reset;
            model_increase(m, true);
        } else {
            m->look_at += m->c->rate_reduce_monitor_period;
            if (m->cut_wanted) model_cut(m, next);
        }
    }
}

static void model_cnp(struct model *m, ps_t now)
{
    double g = (double)m->c->dce_tcp_g / 1024;

    if (!m->active) {
        m->active = true;
        m->alpha = (double)m->c->initial_alpha / 1024;
        m->alpha_at = now + m->c->dce_tcp_rtt;
        m->look_at = now + m->c->rate_reduce_monitor_period;
        if (m->c->rate_to_set_on_first_cnp) m->rate = (double)m->c->rate_to_set_on_first_cnp;
        m->target = m->rate;
        m->bytes_left = (double)m->c->rpg_byte_reset;
    } else if (!m->c->alpha_per_cnp) {
        m->alpha_cnp = true;
    }
    if (m->c->rate_reduce_monitor_period)
        m->cut_wanted = true;
    else
        model_cut(m, now);
    if (m->c->alpha_per_cnp) {
        m->alpha = g * m->alpha + 1 - g;
        m->alpha_at = now + m->c->dce_tcp_rtt;
    }
}

static void model_sent(struct model *m, uint32_t bytes)
{
    if (!m->active || !m->c->rpg_byte_reset) return;
    m->bytes_left -= bytes;
    if (m->bytes_left > 0) return;
    m->bytes_left += (double)m->c->rpg_byte_reset;
    model_increase(m, false);
}

static void dcqcn_against_model(const struct cc_config *config, uint64_t stream)
{
    struct cc cc;
    struct model m = {.c = config, .rate = (double)LINE_BPS, .increase_at = PS_NEVER, .alpha_at = PS_NEVER};
    struct rng rng;
    ps_t now = 5 * PS_US;

    cc_init(&cc, config, LINE_BPS, 1024, NULL);
    m.rate = (double)cc.rate_bps;
    m.target = m.rate;
    rng_init(&rng, test_seed(), stream);
    for (uint64_t step = 0; step < 20000; step++) {
        /* bursts of congestion, then quiet */
        bool quiet = step / 500 % 3 == 2;
        now += 1 + rng_below(&rng, quiet ? 40 * PS_US : 3 * PS_US);
        while (cc.deadline <= now) {
            ps_t at = cc.deadline;
            cc_on_timer(&cc, at);
            assert_true(cc.deadline > at);
        }
        model_advance(&m, now);
        near_to((double)cc.rate_bps, m.rate, 1e-6, "rate", step);
        if (!quiet && rng_below(&rng, 3) == 0) {
            cc_on_cnp(&cc, now);
            model_cnp(&m, now);
        } else {
            uint32_t bytes = 100 + (uint32_t)rng_below(&rng, 9000);
            if (cc.wants_sent) cc_on_sent(&cc, bytes, now);
            model_sent(&m, bytes);
        }
        near_to((double)cc.rate_bps, m.rate, 1e-6, "rate after the event", step);
        if (m.active) near_to((double)cc.dcqcn.target_bps, m.target, 1e-6, "target", step);
    }
    assert_true(m.active);
}

static void test_dcqcn_model(void **state)
{
    static const char *const presets[] = {"dcqcn/paper", "dcqcn/connectx", "dcqcn/hpcc-sim"};
    struct cc_config config;

    (void)state;
    for (uint64_t i = 0; i < 3; i++) {
        assert_int_equal(cc_preset(presets[i], &config), 0);
        dcqcn_against_model(&config, i);
    }
    assert_int_equal(cc_preset("dcqcn/connectx", &config), 0);
    config.clamp_tgt_rate = 1;
    config.rpg_gd = 10;
    config.rpg_min_dec_fac = 800000;
    config.rate_to_set_on_first_cnp = LINE_BPS / 2;
    config.rpg_max_rate = LINE_BPS / 4 * 3;
    config.rpg_threshold = 3;
    dcqcn_against_model(&config, 10);
    config.clamp_tgt_rate_after_time_inc = 0;
    config.clamp_tgt_rate = 0;
    config.rpg_time_reset = 0; /* bytes alone */
    dcqcn_against_model(&config, 11);
}

/* One CNP at line rate, as published: half, then five steps half way back, then 40 Mb/s more. */
static void test_dcqcn_by_hand(void **state)
{
    struct cc_config config;
    struct cc cc;
    (void)state;
    assert_int_equal(cc_preset("dcqcn/paper", &config), 0);
    config.rpg_byte_reset = 0;
    cc_init(&cc, &config, 40 * 1000000000ULL, 1024, NULL);
    assert_int_equal(cc.deadline, PS_NEVER);
    cc_on_cnp(&cc, PS_US);
    assert_int_equal(cc.rate_bps, 20 * 1000000000ULL); /* alpha 1 */
    assert_int_equal(cc.dcqcn.target_bps, 40 * 1000000000ULL);
    assert_int_equal(cc.deadline, 56 * PS_US);
    cc_on_cnp(&cc, 51 * PS_US);
    assert_int_equal(cc.rate_bps, 10 * 1000000000ULL);
    assert_int_equal(cc.dcqcn.target_bps, 20 * 1000000000ULL);
    assert_int_equal(cc.deadline, 106 * PS_US);
    for (int i = 0; i < 5; i++)
        cc_on_timer(&cc, cc.deadline);
    assert_int_equal(cc.rate_bps, 20 * 1000000000ULL - 10 * 1000000000ULL / 32);
    assert_int_equal(cc.dcqcn.target_bps, 20 * 1000000000ULL);
    cc_on_timer(&cc, cc.deadline);
    assert_int_equal(cc.dcqcn.target_bps, 20040 * 1000000ULL);
    assert_int_equal(cc.deadline, 51 * PS_US + 7 * 55 * PS_US);
    /* alpha: raised to 1 - by g it stays 1 -, then (1 - g) for each 55 us since */
    cc_on_cnp(&cc, 51 * PS_US + 6 * 55 * PS_US);
    double alpha = pow(255.0 / 256, 6);
    alpha = alpha * 255 / 256 + 1.0 / 256;
    near_to((double)cc.dcqcn.alpha, alpha * 4294967296.0, 1e-8, "alpha", 0);
}

/* Back at the maximum a QP has no timer. */
static void test_dcqcn_rests(void **state)
{
    struct cc_config config;
    struct cc cc;
    uint32_t timers = 0;
    (void)state;
    assert_int_equal(cc_preset("dcqcn/hpcc-sim", &config), 0);
    cc_init(&cc, &config, LINE_BPS, 1024, NULL);
    cc_on_cnp(&cc, PS_US);
    assert_int_equal(cc.rate_bps, LINE_BPS); /* it looks 4 us later */
    assert_int_equal(cc.deadline, 5 * PS_US);
    while (cc.deadline != PS_NEVER) {
        cc_on_timer(&cc, cc.deadline);
        assert_true(++timers < 1000);
    }
    assert_int_equal(cc.rate_bps, LINE_BPS);
}

static void test_window(void **state)
{
    struct cc_config config;
    struct cc cc;
    (void)state;
    assert_int_equal(cc_preset("dcqcn/paper", &config), 0);
    config.window = 100000;
    cc_init(&cc, &config, LINE_BPS, 1024, NULL);
    assert_int_equal(cc.window_bytes, 100000);
    config.window_scales = 1;
    cc_init(&cc, &config, LINE_BPS, 1024, NULL);
    cc_on_cnp(&cc, PS_US);
    assert_int_equal(cc.window_bytes, 50000);
}

/* HPCC, algorithm 1 in floating point. */
struct hpcc_model {
    double wc, u;
    uint32_t stage, update_psn;
    struct pkt_hop hop[PKT_INT_HOPS];
    double w;
};

static struct pkt_hop hpcc_told(const struct cc_config *c, struct pkt_hop hop)
{
    if (c->hpcc_tx_unit) hop.tx_bytes = hop.tx_bytes / c->hpcc_tx_unit * c->hpcc_tx_unit;
    if (c->hpcc_queue_unit) hop.queue_bytes = (uint32_t)(hop.queue_bytes / c->hpcc_queue_unit * c->hpcc_queue_unit);
    return hop;
}

static void hpcc_model_ack(struct hpcc_model *m, const struct cc_config *c, const struct cc_ack *ack)
{
    double t = (double)c->hpcc_base_rtt, wmax = (double)LINE_BPS * t / 8e12, u = 0, tau = 0;
    double eta = (double)c->hpcc_eta / 1e6, wmin = (double)c->hpcc_min_rate * t / 8e12;
    double add = c->hpcc_w_ai ? (double)c->hpcc_w_ai : (double)c->hpcc_ai_rate * t / 8e12;

    for (uint32_t i = 0; i < ack->hops; i++) {
        struct pkt_hop hop = hpcc_told(c, ack->hop[i]);
        double dt = (double)(hop.at - m->hop[i].at), bps = (double)hop.rate_bps;
        double tx = (double)(hop.tx_bytes - m->hop[i].tx_bytes) * 8e12 / dt;
        double q = fmin(hop.queue_bytes, m->hop[i].queue_bytes);
        double ui = q * 8e12 / (bps * t) + tx / bps;
        if (ui > u) {
            u = ui;
            tau = dt;
        }
        m->hop[i] = hop;
    }
    tau = fmin(tau, t);
    m->u = (1 - tau / t) * m->u + tau / t * u;
    uint32_t stage = 0;
    if (m->u >= eta || m->stage >= c->hpcc_max_stage) {
        m->w = m->wc / (m->u / eta) + add;
    } else {
        m->w = m->wc + add;
        stage = m->stage + 1;
    }
    m->w = fmin(fmax(m->w, wmin), wmax);
    if ((int32_t)(ack->acked_psn - m->update_psn) > 0) {
        m->wc = m->w;
        m->stage = stage;
        m->update_psn = ack->next_psn;
    }
}

static void hpcc_against_model(const struct cc_config *config, uint64_t stream)
{
    struct cc cc;
    struct cc_path path;
    struct rng rng;
    struct hpcc_model m = {.u = 1, .wc = (double)LINE_BPS * (double)config->hpcc_base_rtt / 8e12};
    struct pkt_hop hop[3] = {{.rate_bps = LINE_BPS}, {.rate_bps = 4 * LINE_BPS}, {.rate_bps = LINE_BPS / 4}};
    uint32_t psn = 1000;

    cc_init(&cc, config, LINE_BPS, 1024, &path);
    assert_int_equal(cc.rate_bps, LINE_BPS);
    near_to((double)cc.window_bytes, m.wc, 1e-9, "first window", 0);
    rng_init(&rng, test_seed(), stream);
    for (uint64_t step = 0; step < 20000; step++) {
        ps_t dt = 80 * PS_NS + rng_below(&rng, step % 700 == 0 ? 40 * PS_US : 400 * PS_NS);
        for (int i = 0; i < 3; i++) {
            double load = 0.2 + (double)rng_below(&rng, 800) / 1000; /* of the link */
            hop[i].at += dt + rng_below(&rng, 1000);
            hop[i].tx_bytes += (uint64_t)((double)dt * load * (double)hop[i].rate_bps / 8e12);
            int64_t queue =
                (int64_t)hop[i].queue_bytes + (int64_t)rng_below(&rng, 3001) - (step / 2000 % 2 ? 1700 : 1300);
            hop[i].queue_bytes = queue < 0 ? 0 : queue > 400000 ? 400000 : (uint32_t)queue;
        }
        psn++;
        struct cc_ack ack = {.acked_psn = psn, .next_psn = psn + 100, .hop = hop, .hops = 3};
        cc_on_ack(&cc, &ack, 0);
        if (step == 0) {
            m.update_psn = ack.next_psn;
            for (int i = 0; i < 3; i++)
                m.hop[i] = hpcc_told(config, hop[i]);
            continue;
        }
        hpcc_model_ack(&m, config, &ack);
        near_to((double)cc.hpcc.utilised / 4294967296.0, m.u, 1e-6, "utilisation", step);
        near_to((double)cc.window_bytes, m.w, 1e-5, "window", step);
        near_to((double)cc.rate_bps, m.w * 8e12 / (double)config->hpcc_base_rtt, 1e-5, "rate", step);
        near_to((double)cc.hpcc.window / 65536, m.wc, 1e-5, "window of the round", step);
        assert_int_equal(cc.hpcc.stage, m.stage);
        /* the model follows ours from here: rounding must not add up through the branches */
        m.wc = (double)cc.hpcc.window / 65536;
        m.u = (double)cc.hpcc.utilised / 4294967296.0;
        m.stage = cc.hpcc.stage;
    }
}

static void test_hpcc_model(void **state)
{
    struct cc_config config;
    (void)state;
    assert_int_equal(cc_preset("hpcc/paper", &config), 0);
    hpcc_against_model(&config, 20);
    assert_int_equal(cc_preset("hpcc/hpcc-sim", &config), 0);
    hpcc_against_model(&config, 21);
    config.hpcc_base_rtt = 4161 * PS_NS;
    hpcc_against_model(&config, 22);
}

/* A path of another length starts anew; a hop older than what is known is passed over. */
static void test_hpcc_paths(void **state)
{
    struct cc_config config;
    struct cc_path path;
    struct cc cc;
    struct pkt_hop hop[2] = {{.at = PS_US, .tx_bytes = 10, .rate_bps = LINE_BPS}, {.at = PS_US, .rate_bps = LINE_BPS}};
    (void)state;
    assert_int_equal(cc_preset("hpcc/hpcc-sim", &config), 0);
    cc_init(&cc, &config, LINE_BPS, 1024, &path);
    cc_on_ack(&cc, &(struct cc_ack){.acked_psn = 1, .next_psn = 9, .hop = hop, .hops = 1}, 0);
    hop[0].at += PS_US;
    hop[0].tx_bytes += 12500; /* full */
    hop[0].queue_bytes = 100000;
    cc_on_ack(&cc, &(struct cc_ack){.acked_psn = 2, .next_psn = 9, .hop = hop, .hops = 1}, 0);
    uint64_t window = cc.window_bytes;
    assert_true(window < (uint64_t)13 * 12500);
    cc_on_ack(&cc, &(struct cc_ack){.acked_psn = 3, .next_psn = 9, .hop = hop, .hops = 1}, 0); /* the same once more */
    cc_on_ack(&cc, &(struct cc_ack){.acked_psn = 4, .next_psn = 9, .hop = hop, .hops = 2}, 0); /* another path */
    cc_on_ack(&cc, &(struct cc_ack){.acked_psn = 5, .next_psn = 9, .hop = NULL, .hops = 0}, 0);
    assert_int_equal(cc.window_bytes, window);
    assert_int_equal(path.hops, 2);
}

/* Routes change and the path has as many hops as before: another port's count of bytes, smaller or larger than any that
 * the known port can have reached, or another rate, is no utilisation, and the next ACK is measured from there. */
static void test_hpcc_other_path(void **state)
{
    static const struct {
        uint64_t tx_bytes, rate_bps;
    } other[] = {{5000, LINE_BPS}, {40000000, LINE_BPS}, {1012500, LINE_BPS / 4}};
    struct cc_config config;
    (void)state;
    assert_int_equal(cc_preset("hpcc/paper", &config), 0);
    for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
        struct pkt_hop hop = {.at = PS_US, .tx_bytes = 1000000, .rate_bps = LINE_BPS};
        struct cc_path path;
        struct cc cc;
        cc_init(&cc, &config, LINE_BPS, 1024, &path);
        cc_on_ack(&cc, &(struct cc_ack){.acked_psn = 1, .next_psn = 2, .hop = &hop, .hops = 1}, 0);
        hop.at += PS_US;
        hop.tx_bytes += 6250;
        cc_on_ack(&cc, &(struct cc_ack){.acked_psn = 2, .next_psn = 3, .hop = &hop, .hops = 1}, 0);
        uint64_t utilised = cc.hpcc.utilised, window = cc.window_bytes;
        hop = (struct pkt_hop){.at = hop.at + PS_US, .tx_bytes = other[i].tx_bytes, .rate_bps = other[i].rate_bps};
        cc_on_ack(&cc, &(struct cc_ack){.acked_psn = 3, .next_psn = 4, .hop = &hop, .hops = 1}, 0);
        assert_int_equal(cc.hpcc.utilised, utilised);
        assert_int_equal(cc.window_bytes, window);
        hop.at += PS_US;
        hop.tx_bytes += other[i].rate_bps / 16000000; /* half the line for a microsecond */
        cc_on_ack(&cc, &(struct cc_ack){.acked_psn = 5, .next_psn = 6, .hop = &hop, .hops = 1}, 0);
        double u = (double)utilised / 4294967296.0;
        near_to((double)cc.hpcc.utilised / 4294967296.0, u * 12 / 13 + 0.5 / 13, 1e-6, "utilisation", i);
    }
}

/* The smallest window still has room for a packet to go, or no ACK would ever open it. */
static void test_hpcc_never_closed(void **state)
{
    struct pkt_hop hop = {.rate_bps = LINE_BPS, .queue_bytes = 1 << 24};
    struct cc_config config;
    struct cc_path path;
    struct cc cc;
    (void)state;
    assert_int_equal(cc_preset("hpcc/paper", &config), 0);
    config.hpcc_min_rate = 1000000;
    config.hpcc_base_rtt = 4 * PS_US;
    config.hpcc_w_ai = config.hpcc_ai_rate = 0;
    cc_init(&cc, &config, LINE_BPS, 1024, &path);
    for (uint32_t i = 1; i < 1000; i++) {
        hop.at += PS_US;
        hop.tx_bytes += 12500;
        cc_on_ack(&cc, &(struct cc_ack){.acked_psn = 2 * i, .next_psn = 2 * i + 1, .hop = &hop, .hops = 1}, 0);
        assert_true(cc.window_bytes > 0 && cc.rate_bps >= 10000);
    }
    assert_int_equal(cc.window_bytes, 1);
}

/* More than 2^40 ps of a busy hop between two ACKs; and telemetry that no switch writes. */
static void test_hpcc_odd_telemetry(void **state)
{
    struct pkt_hop hop[8] = {{.at = 1, .rate_bps = LINE_BPS}};
    struct cc_config config;
    struct cc_path path;
    struct cc cc;
    (void)state;
    assert_int_equal(cc_preset("hpcc/paper", &config), 0);
    cc_init(&cc, &config, LINE_BPS, 1024, &path);
    cc_on_ack(&cc, &(struct cc_ack){.acked_psn = 1, .next_psn = 2, .hop = hop, .hops = 1}, 0);
    hop[0].at += 1100 * PS_MS;
    hop[0].tx_bytes += (uint64_t)((double)(1100 * PS_MS) * LINE_BPS / 8e12);
    cc_on_ack(&cc, &(struct cc_ack){.acked_psn = 3, .next_psn = 4, .hop = hop, .hops = 1}, 0);
    assert_true(fabs((double)cc.hpcc.utilised / 4294967296.0 - 1) < 0.001);
    struct cc before = cc;
    cc_on_ack(&cc, &(struct cc_ack){.acked_psn = 5, .next_psn = 6, .hop = hop, .hops = 8}, 0);
    hop[0].at++;
    hop[0].rate_bps = 0;
    cc_on_ack(&cc, &(struct cc_ack){.acked_psn = 5, .next_psn = 6, .hop = hop, .hops = 1}, 0);
    assert_memory_equal(&before, &cc, sizeof(cc));
}

static void test_parameters(void **state)
{
    struct cc_config config;
    const char *name = NULL;
    uint32_t count = 0, own = 0;
    (void)state;
    assert_int_equal(cc_preset("dcqcn/vendor", &config), -ENOENT);
    for (size_t i = 0; cc_preset_name(i); i++) {
        assert_int_equal(cc_preset(cc_preset_name(i), &config), 0);
        assert_null(cc_invalid(&config, &name));
    }
    assert_int_equal(cc_preset("dcqcn/connectx", &config), 0);
    assert_int_equal(config.rpg_byte_reset, 32767 * 64);
    assert_int_equal(cc_set(&config, "rpg_ai_rate", 123), 0);
    assert_int_equal(config.rpg_ai_rate, 123);
    assert_int_equal(cc_set(&config, "rpg_air", 123), -ENOENT);
    assert_int_equal(cc_set(&config, "dce_tcp_g", 1025), 0);
    assert_non_null(cc_invalid(&config, &name));
    assert_string_equal(name, "dce_tcp_g");
    assert_int_equal(cc_preset("hpcc/paper", &config), 0);
    config.hpcc_base_rtt = 0;
    assert_non_null(cc_invalid(&config, &name));
    assert_string_equal(name, "hpcc_base_rtt");
    assert_int_equal(cc_preset("dcqcn/paper", &config), 0);
    config.rpg_time_reset = UINT64_MAX;
    assert_non_null(cc_invalid(&config, &name));
    assert_string_equal(name, "rpg_time_reset");
    config.rpg_time_reset = 1;
    assert_non_null(cc_invalid(&config, &name));
    config.rpg_time_reset = 0;
    config.rate_reduce_monitor_period = UINT64_MAX;
    assert_non_null(cc_invalid(&config, &name));
    assert_string_equal(name, "rate_reduce_monitor_period");
    for (const struct cc_param *p; (p = cc_param(count + own)) != NULL;) {
        bool of_one = p->offset >= offsetof(struct cc_config, own); /* declared in an algorithm's own file */
        assert_true(p->help[0] && p->offset < sizeof(struct cc_config));
        own += of_one;
        count += !of_one;
    }
    assert_int_equal(count, sizeof(struct cc_config) / 8 - 2 - CC_OWN_PARAMS);
}

/* What an adapter does for congestion control: its own needs, and those of peers where they are known. */
static void test_needs(void **state)
{
    static const struct {
        const char *preset;
        bool ecn, cnp, echo, rtt, telemetry;
    } row[] = {{"none", false, false, false, false, false},       {"dcqcn/paper", true, true, false, false, false},
               {"hpcc/paper", false, false, false, false, true},  {"timely/paper", false, false, false, true, false},
               {"swift/paper", false, false, false, true, false}, {"dctcp/paper", true, false, true, false, false}};
    const struct cc_needs nobody = {0}, anybody = {.cnp = true}, all = {.cnp = true, .echo = true, .telemetry = true};
    struct cc_config config;

    (void)state;
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        struct nic_config nic = nic_config_default(LINE_BPS, 0);
        assert_int_equal(cc_preset(row[i].preset, &config), 0);
        nic_config_cc(&nic, &config, &nobody);
        assert_true(nic.ecn == row[i].ecn && nic.cnp_off == !row[i].cnp && nic.echo_ce == row[i].echo);
        assert_true(nic.rtt == row[i].rtt && nic.telemetry == row[i].telemetry);
        nic_config_cc(&nic, &config, &anybody);
        assert_true(nic.ecn == row[i].ecn && !nic.cnp_off && nic.echo_ce == row[i].echo);
        nic_config_cc(&nic, &config, &all);
        assert_true(!nic.cnp_off && nic.echo_ce && nic.telemetry && nic.rtt == row[i].rtt);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dcqcn_model),
        cmocka_unit_test(test_dcqcn_by_hand),
        cmocka_unit_test(test_dcqcn_rests),
        cmocka_unit_test(test_window),
        cmocka_unit_test(test_hpcc_model),
        cmocka_unit_test(test_hpcc_other_path),
        cmocka_unit_test(test_hpcc_paths),
        cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_needs),
        cmocka_unit_test(test_hpcc_never_closed),
        cmocka_unit_test(test_hpcc_odd_telemetry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
