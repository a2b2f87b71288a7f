/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NSCC by hand: each step of the window against the sum it stands for, worked out here in floating point.
 *
 * The line is the reference (`a` is 1): packets of 4,096 B, target 9 us, largest window 225,000 B.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lone.h"

#define MTU 4096.0
#define MSS 4032.0
#define LARGEST 225000.0
#define RTT (12 * PS_US)
#define TARGET (9 * PS_US)

static struct lone lone;
static uint32_t acked; /* packets */
static ps_t sent_at;

/* A window that has room on both sides, nothing that arrived counted, and all packets sent at `sent_at`. */
static void start(uint32_t qa_gate, enum uet_control control)
{
    struct uet_config config = lone_config(control);

    config.qa_gate = qa_gate;
    config.pull_permille = 990;
    lone_open(&lone, &config);
    acked = 0;
    sent_at = 100 * PS_US;
    assert_int_equal(uet_post(lone.uet, lone.source, 4000000, 0, 0, sent_at), 0);
    assert_int_equal(lone_tx_all(&lone, sent_at), 54); /* of 4,096 B in 225,000 */
}

static double window(void)
{
    return (double)uet_window_bytes(lone.source);
}

static void near(double is, double want, double by)
{
    if (is < want - by || is > want + by) fail_msg("window %.1f, wanted %.1f", is, want);
}

/* The next `packets` in order arrive; the last was so long under way. */
static void arrive(uint32_t packets, ps_t rtt, bool marked)
{
    acked += packets;
    lone_ack(&lone, acked - 1, acked, acked * 4096, marked ? PKT_UET_MARKED : 0, sent_at + rtt);
}

/* The same of packets that were sent for the second time. */
static void again(uint32_t packets, ps_t rtt)
{
    acked += packets;
    lone_ack(&lone, acked - 1, acked, acked * 4096, PKT_UET_AGAIN, sent_at + rtt);
}

/* NACKs for the last of those sent: 4,096 B off each. */
static void lower(uint32_t packets)
{
    for (uint32_t i = 0; i < packets; i++)
        lone_nack(&lone, 53 - i, 0, sent_at + RTT);
}

static void test_starts_at_the_largest(void **state)
{
    (void)state;
    start(31, UET_NSCC);
    near(window(), LARGEST, 0);
    arrive(4, RTT, false);
    near(window(), LARGEST, 0);
    lone_close(&lone);
}

static void test_trimmed_packets_come_off(void **state)
{
    (void)state;
    start(31, UET_NSCC);
    lower(20);
    near(window(), LARGEST - 20 * MTU, 0);
    lone_close(&lone);
}

static void test_least_is_a_packet(void **state)
{
    (void)state;
    start(31, UET_NSCC);
    for (uint32_t i = 0; i < 54; i++)
        lone_nack(&lone, i, 0, sent_at + RTT);
    near(window(), LARGEST - 54 * MTU < MTU ? MTU : LARGEST - 54 * MTU, 0);
    lone_close(&lone);
}

/* Nothing is paid out before 8 packets, or a round trip after the last time; eta comes with the latter. */
static void test_grows_with_distance_from_target(void **state)
{
    double was;

    (void)state;
    start(31, UET_NSCC);
    lower(20);
    arrive(4, RTT + 2 * PS_US, false); /* the first: a period is over, so what came is paid out with eta */
    was = LARGEST - 20 * MTU;
    near(window(), was + 4 * MSS * 4 * MTU * 7 / 12 / was + 0.15 * MSS, 2);
    was = window();
    arrive(4, RTT + 3 * PS_US, false);
    near(window(), was, 0);
    arrive(4, RTT + 3 * PS_US, false);
    near(window(), was, 0);
    arrive(4, RTT + 3 * PS_US, false); /* 12 packets, more than 8 */
    near(window(), was + 4 * MSS * 12 * MTU * 6 / 12 / was, 2);
    lone_close(&lone);
}

static void test_grows_fairly_where_delay_is_not_marked(void **state)
{
    double was;

    (void)state;
    start(31, UET_NSCC);
    lower(20);
    arrive(4, RTT + 10 * PS_US, false);
    was = LARGEST - 20 * MTU;
    near(window(), was + 5 * MSS * 4 * MTU / was + 0.15 * MSS, 2);
    lone_close(&lone);
}

/* A whole window without delay: then a quarter of what arrives, at once. */
static void test_grows_fast_without_delay(void **state)
{
    double was;

    (void)state;
    start(31, UET_NSCC);
    lower(20);
    arrive(34, RTT, false); /* not more than the window of 34.9 packets */
    was = LARGEST - 20 * MTU;
    near(window(), was + 4 * MSS * 34 * MTU * 9 / 12 / was + 0.15 * MSS, 3);
    assert_true(lone_tx_all(&lone, sent_at + RTT) > 20);
    was = window(); /* 37.95 packets */
    again(3, 2 * RTT);
    near(window(), was + 0.15 * MSS + 4 * MSS * 3 * MTU * 9 / 12 / was, 3);
    was = window();
    again(2, 2 * RTT); /* the 39th */
    near(window(), was + 0.25 * 2 * MTU, 2);
    was = window();
    again(1, 2 * RTT);
    near(window(), was + 0.25 * MTU, 2);
    was = window();
    again(1, 2 * RTT + PS_US); /* a delay ends it */
    near(window(), was, 0);
    lone_close(&lone);
}

/* The average starts at 0, so high delays must come for a while before it is above the target: 112 of them. */
static void test_shrinks_for_marks_and_delay(void **state)
{
    double average = 0, was;

    (void)state;
    start(31, UET_NSCC);
    for (uint32_t i = 0; i < 40; i++) {
        lone_nack(&lone, 53 - i, 0, sent_at + RTT); /* a sample of 12 us each */
        average = (79 * average + 12) / 80;
    }
    arrive(1, RTT + 60 * PS_US, true); /* still below the target: nothing but eta, as a period is over */
    average = (79 * average + 60) / 80;
    assert_true(average < 9);
    was = LARGEST - 40 * MTU + 0.15 * MSS;
    near(window(), was, 2);
    arrive(1, RTT + 600 * PS_US, true);
    average = (79 * average + 600) / 80;
    assert_true(average > 9);
    near(window(), was * (1 - 0.8 * (average - 9) / average) + 0.15 * MSS, 3);
    was = window();
    arrive(1, RTT + 605 * PS_US, true); /* within a round trip */
    near(window(), was, 0);
    arrive(1, RTT + 100000 * PS_US, true);
    near(window(), was / 2 + 0.15 * MSS, 2); /* never by more than half */
    lone_close(&lone);
}

static void test_a_mark_without_delay_changes_nothing(void **state)
{
    double was;

    (void)state;
    start(31, UET_NSCC);
    lower(20);
    arrive(1, RTT + 2 * PS_US, true);
    was = window();
    arrive(12, RTT + 2 * PS_US, true);
    near(window(), was, 0);
    lone_close(&lone);
}

/* An eighth of the largest window is 28,125 B: 6 packets in a period are less. */
static void test_quick_adapt(void **state)
{
    (void)state;
    start(3, UET_NSCC);
    lone_nack(&lone, 53, 0, sent_at + RTT); /* begins a period of 21 us */
    arrive(3, RTT + 5 * PS_US, false);
    arrive(3, RTT + 6 * PS_US, false);
    assert_int_equal(uet_counters(lone.uet)->quick_adapts, 0);
    lone_nack(&lone, 52, 0, sent_at + RTT + 22 * PS_US);
    assert_int_equal(uet_counters(lone.uet)->quick_adapts, 1);
    near(window(), 6 * MTU, 0);
    /* until what was under way then is accounted for, marks say nothing */
    lone_nack(&lone, 51, 0, sent_at + RTT + 23 * PS_US);
    near(window(), 6 * MTU, 0);
    lone_close(&lone);
}

static void test_no_quick_adapt_where_much_arrived(void **state)
{
    (void)state;
    start(3, UET_NSCC);
    lone_nack(&lone, 53, 0, sent_at + RTT);
    arrive(7, RTT + 6 * PS_US, false);
    lone_nack(&lone, 52, 0, sent_at + RTT + 22 * PS_US);
    assert_int_equal(uet_counters(lone.uet)->quick_adapts, 0);
    lone_close(&lone);
}

static void test_credit_answers_the_last_hop(void **state)
{
    double was;

    (void)state;
    start(31, UET_BOTH);
    was = window();
    lone_nack(&lone, 53, PKT_UET_LAST_HOP, sent_at + RTT);
    near(window(), was, 0);
    lone_nack(&lone, 52, 0, sent_at + RTT);
    near(window(), was - MTU, 0);
    lone_close(&lone);
    start(31, UET_NSCC); /* without credit nobody else does */
    lone_nack(&lone, 53, PKT_UET_LAST_HOP, sent_at + RTT);
    near(window(), LARGEST - MTU, 0);
    lone_close(&lone);
}

static void test_a_shorter_way_lowers_the_largest(void **state)
{
    (void)state;
    start(31, UET_NSCC);
    arrive(1, 6 * PS_US, false);
    near(window(), LARGEST / 2, 1);
    lone_close(&lone);
}

/* Of a packet that was sent twice and acknowledged as if once nobody knows the round trip. */
static void test_no_sample_of_a_doubtful_packet(void **state)
{
    (void)state;
    for (uint32_t second = 0; second < 2; second++) {
        start(31, UET_NSCC);
        lone_nack(&lone, 4, 0, sent_at + RTT);
        arrive(4, RTT, false);
        assert_true(lone_tx_all(&lone, sent_at + RTT) > 0);
        lone_ack(&lone, 4, 5, 5 * 4096, second ? PKT_UET_AGAIN : 0, sent_at + RTT + PS_US);
        if (second)
            near(window(), LARGEST / 12, 1); /* 1 us is the way */
        else
            assert_true(window() > LARGEST - 2 * MTU);
        lone_close(&lone);
    }
}

static void test_penalty(void **state)
{
    (void)state;
    start(31, UET_NSCC);
    lone_rx(&lone,
            (struct pkt){.opcode = PKT_UET_ACK,
                         .dest_qp = LONE_SOURCE,
                         .psn = 3,
                         .imm = 4,
                         .mark = 64,
                         .uet = {.bytes = 4 * 4096, .base = 1}},
            sent_at + RTT);
    /* 50 packets are left under way, less half of 4; then eta, as a period is over, and the growth of 4 */
    near(window(), 48 * MTU + 0.15 * MSS + 4 * MSS * 4 * MTU * 9 / 12 / (48 * MTU), 3);
    lone_close(&lone);
}

static void test_constants(void **state)
{
    struct uet_config c = uet_config_default(UET_HTSIM, UET_NSCC, true, 4086, 100000000000, 14022720);

    (void)state;
    assert_int_equal(c.max_window, 262926); /* 1.5 x 175,284 */
    assert_int_equal(c.target_ps, 10517040);
    assert_int_equal(c.qa_threshold_ps, 4 * 10517040);
    assert_int_equal(c.adjust_bytes, 33200);
    assert_int_equal(c.payload_bytes + c.data_bytes, 4150);
    assert_int_equal(c.control_bytes, 64);
    assert_int_equal((uint64_t)c.factor_q16 * 1000000 >> 16, 1168548); /* 175,284 / 150,000 */
    c = uet_config_default(UET_SPECIFICATION, UET_RCCC, false, 4096, 400000000000, 10 * PS_US);
    assert_int_equal(c.max_window, 750000);
    assert_int_equal(c.target_ps, 10 * PS_US);
    assert_int_equal(4096 + c.data_bytes + 4 + 20, 4096 + 126);
    assert_int_equal(c.control_bytes + 4, 90);
    assert_int_equal(uet_config_default(UET_SPECIFICATION, UET_NSCC, true, 4096, 1000000000, PS_US).qa_threshold_ps,
                     PS_NEVER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_starts_at_the_largest),
        cmocka_unit_test(test_trimmed_packets_come_off),
        cmocka_unit_test(test_least_is_a_packet),
        cmocka_unit_test(test_grows_with_distance_from_target),
        cmocka_unit_test(test_grows_fairly_where_delay_is_not_marked),
        cmocka_unit_test(test_grows_fast_without_delay),
        cmocka_unit_test(test_shrinks_for_marks_and_delay),
        cmocka_unit_test(test_a_mark_without_delay_changes_nothing),
        cmocka_unit_test(test_quick_adapt),
        cmocka_unit_test(test_no_quick_adapt_where_much_arrived),
        cmocka_unit_test(test_credit_answers_the_last_hop),
        cmocka_unit_test(test_a_shorter_way_lowers_the_largest),
        cmocka_unit_test(test_no_sample_of_a_doubtful_packet),
        cmocka_unit_test(test_penalty),
        cmocka_unit_test(test_constants),
    };
    return cmocka_run_group_tests_name("uet nscc", tests, NULL, NULL);
}
