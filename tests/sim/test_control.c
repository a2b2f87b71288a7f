/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where congestion controls settle: long flows over one line, against the fixed points that the papers derive.
 * DCTCP's queue has a sawtooth of known height, TIMELY keeps the round-trip time between its two thresholds, Swift
 * at its target, with windows of many packets and of less than one.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fabric/handle.h"
#include "fabric/names.h"
#include "load/load.h"
#include "support.h"

#define FRAME (1024 + 58 + 24) /* of a full packet, on the line */
#define LINE_OF(rate_g) ((double)(rate_g)*1e9)

struct settled {
    double queue_min, queue_max, queue_mean; /* bytes of frames, sampled */
    double used;                             /* of the line */
    double rtt_median_us;                    /* of all packets */
};

/* `flows` long flows to h0, looked at from `from` to `to`. */
static struct settled settle(const char *congestion, const char *ecn, unsigned rate_g, unsigned flows, ps_t from,
                             ps_t to)
{
    static const char form[] =
        "rocelab: 1\ntopology: {single: {hosts: %u}}\nlinks: {host: {rate: %uG, delay: 2us}}\n"
        "switches: {buffer: 64MB, latency: 0ns, mark: dequeue}\n"
        "classes:\n  - {name: rdma, dscp: 26, priority: 3, lossless: true, ecn: %s}\n"
        "  - {name: cnp, dscp: 48, priority: 6, strict: true}\n  - {name: default, priority: 0}\n"
        "nics: {mtu: 1024, latency: 0ns, congestion: %s, ack: {every: 1, request-every: 1}}\n"
        "jobs: [{incast: %u, to: h0, size: 10GB}]\n";
    struct settled s = {.queue_min = 1e18};
    struct sim_options options = options_of(1, 1);
    struct fabric_errors errors = {0};
    struct fabric *fabric = NULL;
    struct sim_result result;
    struct sim_sample sample;
    struct sim *sim = NULL;
    char text[1024];
    uint64_t count = 0, sent = 0;

    snprintf(text, sizeof(text), form, flows + 1, rate_g, ecn, congestion, flows);
    assert_int_equal(fabric_load("test.yaml", text, &fabric, &errors), 0);
    options.rtt = true;
    assert_int_equal(sim_create(fabric, &options, &sim, &errors), 0);
    uint32_t port = fabric_find_port(fabric, "leaf0:0");
    for (ps_t at = from; at <= to; at += PS_US) {
        assert_int_equal(sim_advance(sim, UINT64_MAX, at), SIM_UNTIL);
        sim_sample_port(sim, port, &sample);
        double queue = (double)sample.queue_bytes;
        s.queue_min = fmin(s.queue_min, queue);
        s.queue_max = fmax(s.queue_max, queue);
        s.queue_mean += queue;
        if (count++ == 0) sent = sample.line_bytes;
    }
    s.queue_mean /= (double)count;
    s.used = (double)(sample.line_bytes - sent) * 8e12 / ((double)(to - from) * LINE_OF(rate_g));
    assert_int_equal(sim_result(sim, &result), 0);
    struct histo all = {0};
    for (uint32_t i = 0; i < result.nics; i++)
        histo_merge(&all, result.nic[i].rtt_ns);
    s.rtt_median_us = (double)histo_percentile(&all, 500000) / 1000;
    sim_result_free(&result);
    sim_free(sim);
    fabric_free(fabric);
    print_message("%s, %u flows: queue %.0f to %.0f, mean %.0f; line %.3f; RTT %.1f us\n", congestion, flows,
                  s.queue_min, s.queue_max, s.queue_mean, s.used, s.rtt_median_us);
    return s;
}

/* SIGCOMM 2010, section 3.3: the queue of N flows that keep in step rises to K + N packets and falls by
 * sqrt(2 N (C RTT + K)) / 2.  The line never runs dry. */
static void test_dctcp_sawtooth(void **state)
{
    const double frame = FRAME - 24, k = 65000 / frame, flight = 100e9 * 8.2e-6 / 8 / FRAME; /* C x RTT, packets */

    (void)state;
    for (unsigned n = 2; n <= 8; n *= 2) {
        struct settled s =
            settle("dctcp/paper", "{min: 65KB, max: 65KB, probability: 100%}", 100, n, 4 * PS_MS, 12 * PS_MS);
        double height = sqrt(2 * n * (flight + k)) / 2;
        assert_true(fabs(s.queue_max / frame - (k + n)) < 3);
        assert_true(fabs((s.queue_max - s.queue_min) / frame - height) < 0.25 * height);
        assert_true(s.used > 0.998);
    }
}

/* Below t_low rates rise, so the round-trip time cannot stay there; above t_high they fall.  Between them a steady
 * queue of any length is a fixed point. */
static void test_timely_band(void **state)
{
    static const struct {
        unsigned low_us, high_us;
    } band[] = {{50, 500}, {100, 500}, {50, 80}};

    (void)state;
    for (int i = 0; i < 3; i++) {
        char congestion[128];
        snprintf(congestion, sizeof(congestion),
                 "{use: timely/hpcc-sim, timely_hai_rate: 100M, timely_min_rtt: 100us, timely_t_low: %uus, "
                 "timely_t_high: %uus}",
                 band[i].low_us, band[i].high_us);
        struct settled s = settle(congestion, "false", 100, 8, 20 * PS_MS, 40 * PS_MS);
        assert_true(s.rtt_median_us > band[i].low_us && s.rtt_median_us < band[i].high_us);
        assert_true(s.queue_min > 0 && s.used > 0.998);
    }
}

/* Flows that begin at line rate all at once: cut down by the queue they made, they come back, fill the line, and hold
 * a queue of T_low or so. */
static void test_timely_comes_back(void **state)
{
    (void)state;
    for (unsigned n = 2; n <= 8; n *= 2) {
        struct settled s = settle("timely/paper", "false", 100, n, 20 * PS_MS, 40 * PS_MS);
        assert_true(s.used > 0.9);
        assert_true(s.queue_max > 400e3 && s.queue_max < 100e9 / 8 * 200e-6);
    }
}

/* The target at the window that the target gives: base + one switch + flow scaling, and W = C RTT / n. */
static double swift_fixed_point_us(unsigned rate_g, unsigned flows)
{
    double rtt = 25, alpha = 50 / (1 / sqrt(0.1) - 1 / sqrt(100));

    for (int i = 0; i < 200; i++) {
        double window = LINE_OF(rate_g) * rtt * 1e-6 / 8 / FRAME / flows;
        double more = fmin(fmax(alpha / sqrt(window) - alpha / sqrt(100), 0), 50);
        rtt = (rtt + 25 + 1 + more) / 2;
    }
    return rtt;
}

static void test_swift_target(void **state)
{
    static const struct {
        const char *congestion;
        unsigned rate_g, flows;
        double used;
    } of[] = {{"swift/paper", 100, 4, 0.998},
              {"swift/paper", 100, 32, 0.998},
              {"{use: swift/paper, swift_ai: 5%}", 10, 50, 0.99},
              {"{use: swift/paper, swift_ai: 5%}", 10, 100, 0.93}}; /* the last: half a packet each, paced */

    (void)state;
    for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
        struct settled s = settle(of[i].congestion, "false", of[i].rate_g, of[i].flows, 20 * PS_MS, 40 * PS_MS);
        double due = swift_fixed_point_us(of[i].rate_g, of[i].flows);
        if (fabs(s.rtt_median_us - due) > 0.1 * due) fail_msg("%.1f us, should be %.1f", s.rtt_median_us, due);
        assert_true(s.used > of[i].used);
    }
}

/* A receiver of another kind does for its senders what theirs would. */
static void test_mixed(void **state)
{
    static const char form[] = "rocelab: 1\ntopology: {single: {hosts: 3}}\nlinks: {host: {rate: 100G, delay: 1us}}\n"
                               "nics: {mtu: 1000, congestion: %s}\ndevices: {h0: {congestion: %s}}\n"
                               "classes: [{name: rdma, dscp: 26, priority: 3, lossless: true, ecn: {min: 20KB, max: "
                               "20KB, probability: 100%%}}, "
                               "{name: default, priority: 0}]\njobs: [{incast: 2, to: h0, size: 1MB}]\n";
    static const char *const of[][2] = {
        {"dcqcn/connectx", "timely/paper"}, {"dctcp/paper", "swift/paper"}, {"timely/paper", "swift/paper"}};
    char text[1024];

    (void)state;
    for (int i = 0; i < 3; i++) {
        snprintf(text, sizeof(text), form, of[i][0], of[i][1]);
        struct run run = run_text(text, options_of(1, 1));
        struct sums sums = run_sums(&run);
        uint64_t longest = 0;
        for (uint32_t p = 0; p < run.result.ports; p++)
            if (run.result.port[p].queue_max_bytes > longest) longest = run.result.port[p].queue_max_bytes;
        assert_true(sums.marks > 0);
        assert_true((sums.cnps > 0) == (i == 0));
        if (i == 1) assert_true(longest < 100000); /* marks came back in ACKs */
        run_free(&run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dctcp_sawtooth),
        cmocka_unit_test(test_timely_band),
        cmocka_unit_test(test_timely_comes_back),
        cmocka_unit_test(test_swift_target),
        cmocka_unit_test(test_mixed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
