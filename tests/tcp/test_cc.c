/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Congestion control against its formulas: the cube root and CUBIC's curve (in floating point here), HyStart, DCTCP's
 * alpha and its cuts, NewReno's segment a round trip.  The endpoints' own code is driven over the line.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rig.h"
#include "tcp/tcp_int.h"

#define MSS 1448u

static void cube_roots_are_exact(void **state)
{
    (void)state;
    for (uint64_t root = 0; root < 3000; root++) {
        u128 cube = (u128)root * root * root;
        assert_int_equal(cubic_root(cube), root);
        if (root > 1) assert_int_equal(cubic_root(cube - 1), root - 1);
    }
    for (int bit = 12; bit < 42; bit++) {
        uint64_t root = (1ULL << bit) + 12345;
        if (bit == 41) root = 1ULL << bit;
        assert_int_equal(cubic_root((u128)root * root * root), root);
        assert_int_equal(cubic_root((u128)root * root * root - 1), root - 1);
    }
}

/* A window in congestion avoidance over ten seconds, beside the curve. */
static void cubic_follows_its_curve(void **state)
{
    struct tcp tcp = {.payload = MSS, .config = {.cc = TCP_CUBIC}};
    struct tcp_conn conn = {.cwnd = 1000 * MSS, .ssthresh = 1, .min_rtt = 100 * PS_MS, .una = 1, .nxt = 2};
    const double rtt = 0.1, w_max = 1000;

    (void)state;
    assert_in_range(cubic_ssthresh(&tcp, &conn), 700 * MSS, 701 * MSS);
    conn.cwnd = 700 * MSS;
    const double k = cbrt((w_max - 700) / 0.4);
    ps_t start = PS_S;
    for (int i = 0; i < 150; i++) { /* a round trip each, acknowledged segment by segment */
        ps_t now = start + (ps_t)i * 100 * PS_MS;
        uint64_t window = conn.cwnd / MSS;
        for (uint64_t n = 0; n < window; n++)
            cubic_grow(&tcp, &conn, MSS, now);
        double t = i * rtt + rtt, curve = 0.4 * pow(t - k, 3) + w_max;
        double reno = 700 + 3 * (1 - 0.7) / (1 + 0.7) * (i + 1); /* RFC 9438, 4.3 */
        double expected = curve > reno ? curve : reno;
        assert_true(fabs((double)conn.cwnd / MSS - expected) < 0.02 * expected + 2);
    }
    assert_true(conn.cwnd > 1000 * MSS);
}

/* A window that did not reach the last maximum gives way: the new maximum is lower than the window was. */
static void cubic_converges(void **state)
{
    struct tcp tcp = {.payload = MSS, .config = {.cc = TCP_CUBIC}};
    struct tcp_conn conn = {.cwnd = 1000 * MSS};

    (void)state;
    cubic_ssthresh(&tcp, &conn);
    assert_int_equal(conn.cubic.w_max, 1000);
    conn.cwnd = 800 * MSS;
    cubic_ssthresh(&tcp, &conn);
    assert_int_equal(conn.cubic.w_max, 680);
}

/* On a line that is filled by a window, slow start ends soon after: acknowledgements come as a train. */
static void hystart_ends_slow_start(void **state)
{
    (void)state;
    rig_start(rig_plain(TCP_CUBIC));
    line.delay_ps = 100 * PS_US;
    line_post(&line, 0, 4000 * MSS);
    line_run(&line, PS_S);
    line_finished(&line);
    /* 201 us are 163 segments of line, half of them 82: in the round that begins with a window of 160 */
    assert_in_range(line.conn[0].from->ssthresh, 238 * MSS, 246 * MSS);
}

static void newreno_grows_a_segment_a_window(void **state)
{
    struct tcp_conn conn = {.cwnd = 100 * MSS};

    (void)state;
    for (int i = 0; i < 99; i++)
        reno_grow(&conn, MSS, MSS);
    assert_int_equal(conn.cwnd, 100 * MSS);
    reno_grow(&conn, MSS, MSS);
    assert_int_equal(conn.cwnd, 101 * MSS);
    reno_grow(&conn, 101 * MSS, MSS);
    assert_int_equal(conn.cwnd, 102 * MSS);
}

static void slow_start_stops_at_the_threshold(void **state)
{
    struct tcp_conn conn = {.cwnd = 10 * MSS, .ssthresh = 12 * MSS};

    (void)state;
    assert_int_equal(slow_start(&conn, MSS), 0);
    assert_int_equal(slow_start(&conn, 3 * MSS), 2 * MSS);
    assert_int_equal(conn.cwnd, 12 * MSS);
}

/* alpha' = 15/16 alpha + 1/16 F, a window at a time. */
static void alpha_follows_the_share_of_marks(void **state)
{
    struct tcp_conn conn = {.una = 0, .nxt = 100 * MSS};
    double alpha = 1;

    (void)state;
    dctcp_init(&conn);
    conn.dctcp.window_end = 100 * MSS;
    for (int window = 0; window < 60; window++) {
        uint32_t marked = window < 20 ? 25 : window < 40 ? 100 : 0;
        for (uint32_t i = 0; i < 100; i++) {
            struct ack_news news = {.acked = MSS, .ece = i < marked};
            conn.una += MSS;
            if (i == 99) conn.nxt = conn.una + 100 * MSS;
            dctcp_acked(&conn, &news);
        }
        alpha = alpha * 15 / 16 + marked / 100.0 / 16;
        assert_true(fabs((double)conn.dctcp.alpha / DCTCP_ONE - alpha) < 0.001);
    }
    struct tcp tcp = {.payload = MSS, .config = {.cc = TCP_DCTCP}};
    conn.cwnd = 1000 * MSS;
    assert_true(fabs((double)dctcp_ssthresh(&tcp, &conn, true) - (1 - alpha / 2) * 1000 * MSS) < 2000);
    assert_int_equal(dctcp_ssthresh(&tcp, &conn, false), 500 * MSS);
    conn.cwnd = MSS;
    assert_int_equal(dctcp_ssthresh(&tcp, &conn, true), 2 * MSS);
}

static bool mark_some(struct line *l, int from, struct pkt *p, ps_t now)
{
    (void)now;
    if (from == 0 && p->opcode == PKT_TCP_DATA && l->count++ % 10 == 3) p->tos |= PKT_ECN_CE;
    return true;
}

/* One segment in ten marked: each is told of, alone, whatever acknowledgements are delayed. */
static void marks_are_echoed_exactly(void **state)
{
    struct tcp_config config = rig_plain(TCP_DCTCP);

    (void)state;
    config.ack_every = 2;
    rig_start(config);
    line.filter = mark_some;
    line_post(&line, 0, 2000 * MSS);
    line_run(&line, 100 * PS_S);
    line_finished(&line);
    assert_int_equal(rig_counters(1)->in_ce, 200);
    assert_int_equal(rig_counters(0)->delivered_ce, 200);
    assert_true(rig_counters(1)->delayed_acks <= 1);
    assert_in_range(tcp_conn_alpha_ppm(line.conn[0].from), 30000, 300000);
    assert_int_equal(rig_counters(0)->retrans_segs, 0);
}

static bool mark_once(struct line *l, int from, struct pkt *p, ps_t now)
{
    (void)now;
    if (from == 0 && p->opcode == PKT_TCP_DATA && l->count++ == 60) p->tos |= PKT_ECN_CE;
    return true;
}

/* A mark takes its part of the window once, and nothing is sent again. */
static void a_mark_cuts_once(void **state)
{
    (void)state;
    rig_start(rig_plain(TCP_DCTCP));
    line.delay_ps = 200 * PS_US;
    line.filter = mark_once;
    line_post(&line, 0, 1000 * MSS);
    uint64_t before = 0, after = UINT64_MAX;
    for (ps_t at = 0; at < 4 * PS_MS; at += 5 * PS_US) {
        line_run(&line, at);
        line.now = at;
        uint64_t window = tcp_conn_window(line.conn[0].from);
        if (rig_counters(0)->delivered_ce == 0) before = window;
        if (line.conn[0].from->cwnd_state == CWND_OPEN && rig_counters(0)->delivered_ce && after == UINT64_MAX)
            after = window;
    }
    double alpha = 1;
    for (int i = 0; i < 3; i++) /* windows without a mark before it */
        alpha *= 15 / 16.0;
    assert_true(before > 60 * MSS);
    assert_in_range(after, (uint64_t)((1 - alpha / 2) * (double)before) - 2 * MSS, before * 7 / 10);
    line_run(&line, PS_S);
    line_finished(&line);
    assert_int_equal(rig_counters(0)->fast_recoveries, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cube_roots_are_exact),
        cmocka_unit_test(cubic_follows_its_curve),
        cmocka_unit_test(cubic_converges),
        cmocka_unit_test_teardown(hystart_ends_slow_start, rig_tear_down),
        cmocka_unit_test(newreno_grows_a_segment_a_window),
        cmocka_unit_test(slow_start_stops_at_the_threshold),
        cmocka_unit_test(alpha_follows_the_share_of_marks),
        cmocka_unit_test_teardown(marks_are_echoed_exactly, rig_tear_down),
        cmocka_unit_test_teardown(a_mark_cuts_once, rig_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
