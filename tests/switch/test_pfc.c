/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pauses, both ways: frames sent, refreshed, ended; pauses obeyed, expired, ended; ports that go down.
 */
#include "lab.h"

#define LONG_PAUSE (65535 * LAB_QUANTUM)

static struct lab lab;

static void expect_pause(uint32_t index, uint16_t port, uint8_t enable, uint16_t quanta)
{
    assert_true(index < lab.io.pauses);
    assert_int_equal(lab.io.pause[index].port, port);
    assert_int_equal(lab.io.pause[index].enable, enable);
    assert_int_equal(lab.io.pause[index].quanta, quanta);
}

/* Class 3 and 4 lossless, each port pausing at 3000 bytes. */
static void two_classes(uint16_t ports)
{
    lab_defaults(&lab, ports);
    for (int i = 3; i <= 4; i++)
        lab.plain.pg[i] = (struct sw_pg_config){.lossless = true, .static_bytes = 3000, .headroom_bytes = 5000};
    lab.plain.pfc_tx = lab.plain.pfc_rx = 3u << 3;
    lab.config.buffer_bytes = 10000000;
}

static void fill(uint16_t in, uint32_t dst, uint8_t tc, int packets)
{
    while (packets--)
        assert_int_not_equal(lab_rx(&lab, in, dst, tc, 1000), SW_DROPPED);
}

static void test_refresh(void **state)
{
    (void)state;
    two_classes(3);
    lab_start(&lab);
    lab.now = 1000;
    fill(0, 2, 3, 3);
    expect_pause(0, 0, 1u << 3, 65535);
    assert_int_equal(lab.io.deadline, 1000 + LONG_PAUSE / 2);
    /* The second class joins: told at once, and from then on both share the port's refresh. */
    lab.now = 5000;
    fill(0, 2, 4, 3);
    expect_pause(0, 0, 1u << 4, 65535);
    lab_tick(&lab, 1000 + LONG_PAUSE / 2 - 1);
    assert_int_equal(lab.io.pauses, 0);
    lab_tick(&lab, 1000 + LONG_PAUSE / 2);
    assert_int_equal(lab.io.pauses, 1);
    expect_pause(0, 0, 3u << 3, 65535);
    ps_t next = 1000 + LONG_PAUSE / 2 + LONG_PAUSE / 2;
    assert_int_equal(lab.io.deadline, next);
    /* Class 3 ends; the refresh goes on for class 4 alone; then nothing is left to refresh. */
    lab.now = next - 1;
    assert_int_equal(lab_tx(&lab, 2), 3);
    expect_pause(0, 0, 1u << 3, 0);
    lab_tick(&lab, next);
    expect_pause(0, 0, 1u << 4, 65535);
    while (lab_tx(&lab, 2) >= 0) {
    }
    lab_run(&lab, 10 * PS_MS);
    assert_int_equal(lab.io.pauses, 0);
    assert_int_equal(lab.io.deadline, PS_NEVER);
    const struct sw_port_counters *count = lab_count(&lab, 0);
    assert_int_equal(count->tx_pfc_frames, 6);
    assert_int_equal(count->prio[3].tx_xoff, 1);
    assert_int_equal(count->prio[3].tx_xoff_refresh, 1);
    assert_int_equal(count->prio[3].tx_xon, 1);
    assert_int_equal(count->prio[4].tx_xoff_refresh, 2);
    assert_int_equal(count->prio[3].tx_pause_ps, next - 1 - 1000);
    assert_int_equal(count->prio[4].tx_pause_ps, next - 5000);
    lab_stop(&lab);
}

static void test_no_refresh(void **state)
{
    (void)state;
    two_classes(3);
    lab.config.refresh_pauses = false;
    lab_start(&lab);
    fill(0, 2, 3, 5);
    assert_int_equal(lab.io.deadline, PS_NEVER);
    lab_pause(&lab, 2, 1u << 3, 1);
    assert_int_equal(lab.io.deadline, PS_NEVER);
    lab.now = PS_S;
    assert_int_equal(lab_tx(&lab, 2), -1);
    lab_pause(&lab, 2, 1u << 3, 0);
    assert_int_equal(lab.io.kicks, 1);
    while (lab_tx(&lab, 2) >= 0) {
    }
    lab_stop(&lab);
}

static void test_not_configured(void **state)
{
    (void)state;
    two_classes(3);
    lab.plain.pfc_tx = lab.plain.pfc_rx = 1u << 4;
    lab_start(&lab);
    fill(0, 2, 3, 8);
    assert_int_equal(lab_rx(&lab, 0, 2, 3, 1000), SW_DROPPED); /* nobody was told to stop */
    assert_int_equal(lab_count(&lab, 0)->tx_pfc_frames, 0);
    assert_int_equal(lab_count(&lab, 0)->drop[SW_DROP_headroom], 1);
    lab_pause(&lab, 2, 1u << 3, 65535);
    assert_int_equal(lab_count(&lab, 2)->prio[3].rx_xoff, 1);
    assert_int_equal(lab_tx(&lab, 2), 3); /* not honoured */
    while (lab_tx(&lab, 2) >= 0) {
    }
    lab_stop(&lab);
}

/* Two priorities in one group: the group pauses both, with one frame. */
static void test_shared_group(void **state)
{
    (void)state;
    two_classes(3);
    lab.plain.tc_to_pg[4] = 3;
    lab_start(&lab);
    fill(0, 2, 3, 2);
    fill(0, 2, 4, 1);
    assert_int_equal(lab.io.pauses, 1);
    expect_pause(0, 0, 3u << 3, 65535);
    assert_int_equal(sw_pausing(lab.sw, 0), 3u << 3);
    lab_tx(&lab, 2);
    expect_pause(0, 0, 3u << 3, 0);
    while (lab_tx(&lab, 2) >= 0) {
    }
    lab_stop(&lab);
}

static void test_obeyed(void **state)
{
    (void)state;
    two_classes(3);
    lab_start(&lab);
    fill(0, 2, 3, 1);
    fill(0, 2, 0, 1);
    fill(0, 2, 4, 1);
    lab.now = 100;
    lab_pause(&lab, 2, 1u << 3, 10);
    assert_int_equal(sw_paused(lab.sw, 2), 1u << 3);
    assert_int_equal(lab.io.kicks, 0);
    assert_int_equal(lab.io.deadline, 100 + 10 * LAB_QUANTUM);
    assert_int_not_equal(lab_tx(&lab, 2), 3);
    assert_int_not_equal(lab_tx(&lab, 2), 3);
    assert_int_equal(lab_tx(&lab, 2), -1);
    /* Renewed: the old deadline finds nothing due and names the new one. */
    lab.now = 200;
    lab_pause(&lab, 2, 1u << 3, 20);
    lab_tick(&lab, 100 + 10 * LAB_QUANTUM);
    assert_int_equal(lab.io.kicks, 0);
    assert_int_equal(lab_tx(&lab, 2), -1);
    assert_int_equal(lab.io.deadline, 200 + 20 * LAB_QUANTUM);
    lab_tick(&lab, 200 + 20 * LAB_QUANTUM);
    assert_int_equal(lab.io.kicks, 1);
    assert_int_equal(lab.io.kick[0], 2);
    assert_int_equal(lab.io.deadline, PS_NEVER);
    assert_int_equal(lab_tx(&lab, 2), 3);
    const struct sw_prio_counters *count = &lab_count(&lab, 2)->prio[3];
    assert_int_equal(count->rx_xoff, 2);
    assert_int_equal(count->rx_pause_ps, 100 + 20 * LAB_QUANTUM);
    /* An empty queue needs no kick. */
    lab_pause(&lab, 2, 1u << 3, 65535);
    lab_pause(&lab, 2, 1u << 3, 0);
    assert_int_equal(lab.io.kicks, 0);
    assert_int_equal(lab_count(&lab, 2)->prio[3].rx_xon, 1);
    lab_stop(&lab);
}

/* A frame that pauses one priority and resumes another; a priority it does not speak of stays as it is. */
static void test_mixed_frame(void **state)
{
    (void)state;
    two_classes(3);
    lab_start(&lab);
    fill(0, 2, 3, 1);
    fill(0, 2, 4, 1);
    uint16_t quanta[8] = {0, 0, 0, 100, 0, 0, 0, 0};
    lab_pause(&lab, 2, 1u << 4, 65535);
    sw_pause(lab.sw, 2, 1u << 3, quanta, lab.now, &lab.io);
    assert_int_equal(sw_paused(lab.sw, 2), 3u << 3);
    quanta[3] = 0;
    quanta[4] = 7;
    lab_clear(&lab);
    sw_pause(lab.sw, 2, 3u << 3, quanta, lab.now, &lab.io);
    assert_int_equal(sw_paused(lab.sw, 2), 1u << 4);
    assert_int_equal(lab.io.kicks, 1);
    assert_int_equal(lab_tx(&lab, 2), 3);
    assert_int_equal(lab_tx(&lab, 2), -1);
    lab_run(&lab, 7 * LAB_QUANTUM);
    assert_int_equal(lab_tx(&lab, 2), 4);
    lab_stop(&lab);
}

/* Two priorities share a queue: it waits for both. */
static void test_shared_queue(void **state)
{
    (void)state;
    two_classes(3);
    lab.plain.tc_to_queue[4] = 3;
    lab_start(&lab);
    fill(0, 2, 3, 1);
    lab_pause(&lab, 2, 1u << 4, 10);
    assert_int_equal(lab_tx(&lab, 2), -1);
    lab_pause(&lab, 2, 1u << 3, 20);
    lab_run(&lab, 10 * LAB_QUANTUM);
    assert_int_equal(lab_tx(&lab, 2), -1);
    lab_run(&lab, 20 * LAB_QUANTUM);
    assert_int_equal(lab.io.kicks, 1);
    assert_int_equal(lab_tx(&lab, 2), 3);
    lab_stop(&lab);
}

static void test_quanta_of_odd_rate(void **state)
{
    (void)state;
    two_classes(3);
    lab.rate_bps[2] = 25781250000ULL; /* 512 bits are 19859.39... ps */
    lab_start(&lab);
    lab_pause(&lab, 2, 1u << 3, 65535);
    assert_in_range(lab.io.deadline, 65535ULL * 512 * 4000 / 103125 * 1000,
                    65535ULL * 512 * 4000 / 103125 * 1000 + 1000);
    lab_run(&lab, PS_MS * 2);
    assert_int_equal(sw_paused(lab.sw, 2), 0);
    lab_stop(&lab);
}

static void test_port_down(void **state)
{
    (void)state;
    two_classes(4);
    lab_start(&lab);
    fill(0, 3, 3, 4);
    fill(0, 3, 4, 3);
    fill(1, 3, 3, 3);
    fill(2, 1, 3, 3);
    assert_int_equal(sw_pausing(lab.sw, 0), 3u << 3);
    lab_pause(&lab, 3, 1u << 3, 65535);
    lab_port(&lab, 3, false);
    /* All that went there is dropped, whoever waited for it is let go, one frame a port. */
    assert_int_equal(lab_count(&lab, 3)->drop[SW_DROP_port_down], 10);
    assert_int_equal(lab.io.pauses, 2);
    expect_pause(0, 0, 3u << 3, 0);
    expect_pause(1, 1, 1u << 3, 0);
    assert_int_equal(sw_pausing(lab.sw, 2), 1u << 3);
    assert_int_equal(lab_rx(&lab, 0, 3, 3, 1000), SW_DROPPED);
    assert_int_equal(lab_count(&lab, 3)->drop[SW_DROP_port_down], 11);
    assert_int_equal(lab_tx(&lab, 3), -1);
    /* A port that goes down forgets what it told its peer and was told; what it brought in stays. */
    lab_port(&lab, 2, false);
    assert_int_equal(sw_pausing(lab.sw, 2), 0);
    assert_int_equal(sw_queue_bytes(lab.sw, 1, 3), 3000);
    /* It comes back, and its peer is told at once of all groups that are still above their threshold. */
    lab_port(&lab, 2, true);
    assert_int_equal(lab.io.pauses, 1);
    expect_pause(0, 2, 1u << 3, 65535);
    assert_int_equal(lab.io.deadline, lab.now + LONG_PAUSE / 2);
    lab_port(&lab, 3, true);
    assert_int_equal(lab.io.pauses, 0);
    assert_int_equal(sw_paused(lab.sw, 3), 0);
    fill(0, 3, 3, 1);
    assert_int_equal(lab_tx(&lab, 3), 3);
    lab_port(&lab, 1, false);
    lab_port(&lab, 1, false);
    lab_stop(&lab);
}

/*
 * A group used its headroom, its link flapped, and the shared pool drained meanwhile: its next packets find room below
 * the threshold, yet the headroom is not free before what it holds has left, and the peer must know.
 */
static void test_headroom_after_flap(void **state)
{
    (void)state;
    two_classes(4);
    lab.plain.pg[3] = (struct sw_pg_config){
        .lossless = true, .dynamic = true, .alpha_num = 1, .alpha_den = 1, .headroom_bytes = 5000};
    lab.plain.pg[0] = (struct sw_pg_config){.dynamic = true, .alpha_num = 64, .alpha_den = 1};
    lab.config.buffer_bytes = 20000 + 4 * 2 * 5000; /* 20000 to share */
    lab_start(&lab);
    fill(1, 2, 0, 18);
    fill(0, 3, 3, 3);
    assert_true(sw_pg_headroom_bytes(lab.sw, 0, 3) > 0);
    assert_int_equal(sw_pausing(lab.sw, 0), 1u << 3);
    lab_port(&lab, 0, false);
    while (lab_tx(&lab, 2) >= 0)
        continue;
    lab_port(&lab, 0, true);
    expect_pause(0, 0, 1u << 3, 65535);
    fill(0, 3, 3, 1);
    assert_true(sw_pg_headroom_bytes(lab.sw, 0, 3) > 0);
    assert_int_equal(sw_pausing(lab.sw, 0), 1u << 3);
    while (lab_tx(&lab, 3) >= 0)
        continue;
    assert_int_equal(sw_pausing(lab.sw, 0), 0);
    lab_stop(&lab);
}

/* More frames than the caller's list has room for: none is lost. */
static void test_lists_full(void **state)
{
    (void)state;
    two_classes(101);
    lab_start(&lab);
    for (uint16_t in = 0; in < 100; in++)
        fill(in, 100, 3, 3);
    lab_port(&lab, 100, false);
    assert_int_equal(lab.io.pauses, SW_PAUSES_MAX);
    assert_int_equal(lab.io.deadline, lab.now);
    lab_tick(&lab, lab.now);
    assert_int_equal(lab.io.pauses, 100 - SW_PAUSES_MAX);
    for (uint16_t in = 0; in < 100; in++)
        assert_int_equal(lab_count(&lab, in)->prio[3].tx_xon, 1);
    assert_true(lab.io.deadline > lab.now);
    /* Kicks: 100 ports whose pauses end at the same moment. */
    lab_port(&lab, 100, true);
    for (uint16_t port = 0; port < 100; port++) {
        fill(100, port, 3, port < 3);
        fill(port, port, 0, 1);
        fill(port, port, 3, 1);
        lab_pause(&lab, port, 1u << 3, 1);
    }
    lab_tick(&lab, lab.now + LAB_QUANTUM);
    assert_int_equal(lab.io.kicks, SW_PAUSES_MAX);
    lab_tick(&lab, lab.now);
    assert_int_equal(lab.io.kicks, 100 - SW_PAUSES_MAX);
    for (uint16_t port = 0; port < 100; port++)
        while (lab_tx(&lab, port) >= 0)
            continue;
    for (uint16_t port = 0; port < 100; port++)
        lab_pause(&lab, port, 1u << 3, 1);
    lab_run(&lab, lab.now + LAB_QUANTUM);
    assert_int_equal(lab.io.kicks, 0); /* nothing is owed any more */
    lab_stop(&lab);
}

static void test_settle(void **state)
{
    (void)state;
    two_classes(3);
    lab_start(&lab);
    lab.now = 1000;
    fill(0, 2, 3, 3);
    lab_pause(&lab, 2, 1u << 3, 65535);
    sw_settle(lab.sw, 500); /* a run may be said to end before a pause that was under way */
    assert_int_equal(lab_count(&lab, 0)->prio[3].tx_pause_ps, 0);
    assert_int_equal(lab_count(&lab, 2)->prio[3].rx_pause_ps, 0);
    sw_settle(lab.sw, 3000);
    assert_int_equal(lab_count(&lab, 0)->prio[3].tx_pause_ps, 2000);
    assert_int_equal(lab_count(&lab, 2)->prio[3].rx_pause_ps, 2000);
    lab.now = 10000;
    lab_pause(&lab, 2, 1u << 3, 0);
    assert_int_equal(lab_count(&lab, 2)->prio[3].rx_pause_ps, 9000);
    while (lab_tx(&lab, 2) >= 0) {
    }
    assert_int_equal(lab_count(&lab, 0)->prio[3].tx_pause_ps, 9000);
    lab_stop(&lab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refresh),        cmocka_unit_test(test_no_refresh),
        cmocka_unit_test(test_not_configured), cmocka_unit_test(test_shared_group),
        cmocka_unit_test(test_obeyed),         cmocka_unit_test(test_mixed_frame),
        cmocka_unit_test(test_shared_queue),   cmocka_unit_test(test_quanta_of_odd_rate),
        cmocka_unit_test(test_port_down),      cmocka_unit_test(test_headroom_after_flap),
        cmocka_unit_test(test_lists_full),     cmocka_unit_test(test_settle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
