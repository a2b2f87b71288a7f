/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TCP without loss: times on the line, windows, acknowledgements, handshake, cores, iWARP's framing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rig.h"

#define MSS 1448u
#define SEGMENT_PS ((MSS + 66 + 24) * 800ULL) /* on a line of 10 Gb/s */
#define ACK_PS ((66 + 24) * 800ULL)
#define DELAY (5 * PS_US)

static void one_segment_takes_its_time(void **state)
{
    (void)state;
    rig_start(rig_plain(TCP_NEWRENO));
    line_post(&line, 0, MSS);
    line_run(&line, PS_S);
    line_finished(&line);
    assert_int_equal(line.conn[0].received_at, SEGMENT_PS + DELAY);
    assert_int_equal(line.conn[0].sent_at, SEGMENT_PS + DELAY + ACK_PS + DELAY);
    assert_int_equal(rig_counters(0)->out_data_segs, 1);
}

/* 10, then 20, then 40: windows double while the line has room. */
static void slow_start_doubles(void **state)
{
    (void)state;
    rig_start(rig_plain(TCP_NEWRENO));
    line.delay_ps = PS_MS;
    line_post(&line, 0, 150 * MSS);
    line_run(&line, PS_S);
    line_finished(&line);
    uint32_t round[4] = {0};
    for (uint32_t i = 0; i < line.seen_count; i++)
        if (line.seen[i].from == 0) round[line.seen[i].at / (2 * PS_MS)]++;
    assert_int_equal(round[0], 10);
    assert_int_equal(round[1], 20);
    assert_int_equal(round[2], 40);
    assert_int_equal(round[3], 80);
}

/* The rest of the time the line is full: the bytes, and the round trips that slow start leaves it idle. */
static void a_long_flow_fills_the_line(void **state)
{
    (void)state;
    rig_start(rig_plain(TCP_NEWRENO));
    line_post(&line, 0, 1000 * MSS);
    line_run(&line, PS_S);
    line_finished(&line);
    assert_true(line.conn[0].received_at >= 1000 * SEGMENT_PS + DELAY);
    assert_true(line.conn[0].received_at < 1000 * SEGMENT_PS + 2 * DELAY);
    assert_int_equal(rig_counters(0)->retrans_segs, 0);
    assert_int_equal(line_sent(&line, 1, PKT_TCP_ACK), 1000);
}

static void a_handshake_is_one_round_trip(void **state)
{
    struct tcp_config config = rig_plain(TCP_NEWRENO);

    (void)state;
    config.handshake = true;
    rig_start(config);
    line_post(&line, 0, MSS);
    line_run(&line, PS_S);
    line_finished(&line);
    assert_int_equal(line_sent(&line, 0, PKT_TCP_SYN), 1);
    assert_int_equal(line_sent(&line, 1, PKT_TCP_SYN_ACK), 1);
    assert_int_equal(line.conn[0].received_at, 2 * (ACK_PS + DELAY) + SEGMENT_PS + DELAY);
}

static void messages_start_segments(void **state)
{
    (void)state;
    rig_start(rig_plain(TCP_NEWRENO));
    line_post(&line, 0, MSS + 1);
    line_post(&line, 0, 0); /* takes one byte */
    line_post(&line, 0, 10);
    line_run(&line, PS_S);
    line_finished(&line);
    assert_int_equal(line.conn[0].received, 3);
    assert_int_equal(rig_counters(0)->out_data_segs, 4);
    const uint32_t bytes[] = {MSS, 1, 1, 10};
    for (uint32_t i = 0, n = 0; i < line.seen_count; i++) {
        if (line.seen[i].pkt.opcode != PKT_TCP_DATA) continue;
        assert_int_equal(line.seen[i].pkt.payload_bytes, bytes[n]);
        assert_int_equal(line.seen[i].pkt.flags & PKT_TCP_END ? 1 : 0, n != 0);
        assert_int_equal(line.seen[i].pkt.frame_bytes, bytes[n] + 66);
        n++;
    }
}

/* Every second segment, once the first sixteen are through; a message's end at once; else 40 ms. */
static void acknowledgements_are_delayed(void **state)
{
    struct tcp_config config = rig_plain(TCP_NEWRENO);

    (void)state;
    config.ack_every = 2;
    rig_start(config);
    line_post(&line, 0, 216 * MSS);
    line_run(&line, PS_S);
    line_finished(&line);
    assert_int_equal(line_sent(&line, 1, PKT_TCP_ACK), 16 + 100);
    assert_int_equal(rig_counters(1)->delayed_acks, 0);
}

static void a_lone_segment_waits_for_the_delay(void **state)
{
    struct tcp_config config = rig_plain(TCP_NEWRENO);

    (void)state;
    config.ack_every = 2;
    config.probes = false;
    config.window_bytes = MSS; /* one at a time */
    rig_start(config);
    line_post(&line, 0, 18 * MSS);
    line_run(&line, PS_S);
    line_finished(&line);
    /* sixteen are quick, the seventeenth waits, the last ends the message */
    assert_int_equal(rig_counters(1)->delayed_acks, 1);
    assert_true(line.conn[0].sent_at > 40 * PS_MS && line.conn[0].sent_at < 41 * PS_MS);
}

/* A burst of 45 segments (64 KiB) is acknowledged as one, and others wait while it is sent. */
static void bursts_are_merged(void **state)
{
    struct tcp_config config = rig_plain(TCP_NEWRENO);

    (void)state;
    config.ack_every = 2;
    config.burst_bytes = 65536;
    config.initial_window = 1000;
    rig_start(config);
    line_connect(&line, false, true);
    line_post(&line, 0, 90 * MSS);
    line_post(&line, 1, 90 * MSS);
    line_run(&line, PS_S);
    line_finished(&line);
    assert_int_equal(line_sent(&line, 1, PKT_TCP_ACK), 4);
    uint32_t changes = 0, last = 0, first = 0, count = 0;
    for (uint32_t i = 0; i < line.seen_count; i++) {
        if (line.seen[i].pkt.opcode != PKT_TCP_DATA) continue;
        if (last && line.seen[i].pkt.dest_qp != last) changes++;
        if (changes == 0) first++;
        last = line.seen[i].pkt.dest_qp;
        count++;
    }
    assert_int_equal(changes, 3);
    assert_int_equal(first, 45);
    assert_int_equal(count, 180);
}

/* A connection sends what its core can; another has a core of its own; the host's cores limit both. */
static void cores_limit(void **state)
{
    struct tcp_config config = rig_plain(TCP_NEWRENO);

    (void)state;
    config.cpu_bps = 2000000000;
    config.burst_bytes = 65536;
    rig_start(config);
    line_connect(&line, false, true);
    line_post(&line, 0, 4000000);
    line_post(&line, 1, 4000000);
    line_run(&line, PS_S);
    line_finished(&line);
    for (int i = 0; i < 2; i++) {
        assert_true(line.conn[i].received_at > 15700 * PS_US);
        assert_true(line.conn[i].received_at < 16100 * PS_US);
    }
    assert_true(rig_counters(0)->cpu_wait_ps > 0);
}

static void the_host_limits(void **state)
{
    struct tcp_config config = rig_plain(TCP_NEWRENO);

    (void)state;
    config.host_bps = 2000000000;
    rig_start(config);
    line_connect(&line, false, true);
    line_post(&line, 0, 2000000);
    line_post(&line, 1, 2000000);
    line_run(&line, PS_S);
    line_finished(&line);
    for (int i = 0; i < 2; i++) {
        assert_true(line.conn[i].received_at > 15900 * PS_US);
        assert_true(line.conn[i].received_at < 16100 * PS_US);
    }
    /* Its line is idle for all of the time in which it sends nothing. */
    ps_t busy = (rig_counters(0)->out_bytes + 24 * rig_counters(0)->out_segs) * 8 * (PS_S / 10000000000ULL);
    ps_t time =
        line.conn[0].received_at > line.conn[1].received_at ? line.conn[0].received_at : line.conn[1].received_at;
    assert_in_range(rig_counters(0)->cpu_idle_ps + busy, time - 50 * PS_US, time + 50 * PS_US);
    assert_int_equal(rig_counters(1)->cpu_idle_ps, 0);
}

static void reception_takes_time(void **state)
{
    struct tcp_config config = rig_plain(TCP_NEWRENO);
    ps_t reception = 4096 * 1000; /* whole ticks */

    (void)state;
    config.receive_ps = reception;
    rig_start(config);
    line_post(&line, 0, MSS);
    line_run(&line, PS_S);
    line_finished(&line);
    ps_t there = line.conn[0].received_at, back = line.conn[0].sent_at;
    assert_true(there >= SEGMENT_PS + DELAY + reception && there < SEGMENT_PS + DELAY + reception + 4096);
    assert_true(back >= there + ACK_PS + DELAY + reception && back < there + ACK_PS + DELAY + reception + 4096);
}

static void a_slow_receiver_slows_the_sender(void **state)
{
    (void)state;
    rig_start(rig_plain(TCP_NEWRENO));
    tcp_receive_rate(line.tcp[1], 1000000000, 0, &line.io[1]);
    line_post(&line, 0, 1000000);
    line_run(&line, PS_S);
    line_finished(&line);
    assert_true(line.conn[0].received_at > 8 * PS_MS && line.conn[0].received_at < 8100 * PS_US);
    tcp_settle(line.tcp[1], line.conn[0].received_at);
    ps_t busy = (rig_counters(1)->in_bytes + 24 * rig_counters(1)->in_segs) * 8 * (PS_S / 10000000000ULL);
    assert_in_range(rig_counters(1)->cpu_receive_idle_ps + busy, 7900 * PS_US, 8100 * PS_US);
}

static void pauses_are_obeyed(void **state)
{
    (void)state;
    rig_start(rig_plain(TCP_NEWRENO));
    tcp_pause(line.tcp[0], 1, 58593, 0, &line.io[0]); /* quanta of 51.2 ns */
    line.tick_at[0] = line.io[0].deadline;
    line_post(&line, 0, MSS);
    line_run(&line, PS_S);
    line_finished(&line);
    assert_int_equal(line.conn[0].received_at, 58593 * 51200ULL + SEGMENT_PS + DELAY);
    assert_int_equal(rig_counters(0)->paused_ps, 58593 * 51200ULL);
    assert_int_equal(tcp_paused(line.tcp[0]), 0);
}

/* After an RTO of silence the window is the first one again. */
static void idle_windows_start_again(void **state)
{
    (void)state;
    rig_start(rig_plain(TCP_NEWRENO));
    line_post(&line, 0, 500 * MSS);
    line_run(&line, PS_S);
    assert_true(tcp_conn_window(line.conn[0].from) > 15 * MSS);
    line.now = 2 * PS_S;
    line_post(&line, 0, MSS);
    assert_int_equal(tcp_conn_window(line.conn[0].from), 10 * MSS);
    line_run(&line, 3 * PS_S);
    line_finished(&line);
}

/* A window that is not used does not grow. */
static void unused_windows_stay(void **state)
{
    (void)state;
    rig_start(rig_plain(TCP_NEWRENO));
    for (int i = 0; i < 100; i++) {
        line_post(&line, 0, MSS);
        line_run(&line, line.now + PS_MS);
        line.now += PS_MS;
    }
    line_finished(&line);
    assert_int_equal(tcp_conn_window(line.conn[0].from), 10 * MSS);
}

/* With MTUs of 1500 and 9000: 93.6 and 98.9 % of the line without markers, 92.9 and 98.1 with. */
static void fpdus_have_their_sizes(void **state)
{
    const struct mpa_config off = {0}, plain = {.on = true}, marked = {.on = true, .markers = true},
                            untagged = {.on = true, .untagged = true};

    (void)state;
    assert_int_equal(mpa_payload(&off, 1460), 1460);
    assert_int_equal(mpa_bytes(&off, 1460), 1460);
    assert_int_equal(mpa_payload(&plain, 1460), 1440);
    assert_int_equal(mpa_payload(&plain, 8960), 8940);
    assert_int_equal(mpa_payload(&marked, 1460), 1428);
    assert_int_equal(mpa_payload(&marked, 8960), 8868);
    assert_int_equal(mpa_bytes(&plain, 1), 2 + 14 + 1 + 3 + 4);
    assert_int_equal(mpa_bytes(&plain, 8), 2 + 14 + 8 + 0 + 4);
    assert_int_equal(mpa_bytes(&untagged, 8), 2 + 18 + 8 + 0 + 4);
    for (uint32_t mss = 600; mss < 9000; mss += 7) {
        assert_true(mpa_bytes(&marked, mpa_payload(&marked, mss)) <= mss);
        assert_true(mpa_bytes(&marked, mpa_payload(&marked, mss) + 1) > mss);
    }
}

static void iwarp_frames_are_longer(void **state)
{
    struct tcp_config config = rig_plain(TCP_NEWRENO);

    (void)state;
    config.mss = 1460;
    config.header_bytes = 54;
    config.mpa.on = true;
    rig_start(config);
    line_post(&line, 0, 100 * 1440);
    line_run(&line, PS_S);
    line_finished(&line);
    assert_int_equal(rig_counters(0)->out_data_segs, 100);
    for (uint32_t i = 0; i < line.seen_count; i++)
        if (line.seen[i].pkt.opcode == PKT_TCP_DATA) assert_int_equal(line.seen[i].pkt.frame_bytes, 1514);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(one_segment_takes_its_time, rig_tear_down),
        cmocka_unit_test_teardown(slow_start_doubles, rig_tear_down),
        cmocka_unit_test_teardown(a_long_flow_fills_the_line, rig_tear_down),
        cmocka_unit_test_teardown(a_handshake_is_one_round_trip, rig_tear_down),
        cmocka_unit_test_teardown(messages_start_segments, rig_tear_down),
        cmocka_unit_test_teardown(acknowledgements_are_delayed, rig_tear_down),
        cmocka_unit_test_teardown(a_lone_segment_waits_for_the_delay, rig_tear_down),
        cmocka_unit_test_teardown(bursts_are_merged, rig_tear_down),
        cmocka_unit_test_teardown(cores_limit, rig_tear_down),
        cmocka_unit_test_teardown(the_host_limits, rig_tear_down),
        cmocka_unit_test_teardown(reception_takes_time, rig_tear_down),
        cmocka_unit_test_teardown(a_slow_receiver_slows_the_sender, rig_tear_down),
        cmocka_unit_test_teardown(pauses_are_obeyed, rig_tear_down),
        cmocka_unit_test_teardown(idle_windows_start_again, rig_tear_down),
        cmocka_unit_test_teardown(unused_windows_stay, rig_tear_down),
        cmocka_unit_test(fpdus_have_their_sizes),
        cmocka_unit_test_teardown(iwarp_frames_are_longer, rig_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
