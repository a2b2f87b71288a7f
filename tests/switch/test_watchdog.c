/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pause watchdog: when it acts, what it does, when it stops; and that it sleeps while nothing is paused.
 */
#include "lab.h"

static struct lab lab;

static void start(bool drop)
{
    lab_defaults(&lab, 3);
    lab.config.watchdog = (struct sw_watchdog){
        .on = true, .drop = drop, .poll_ps = 100 * PS_US, .detect_ps = 200 * PS_US, .restore_ps = 300 * PS_US};
    lab_start(&lab);
}

/* The peer of port 2 pauses it without end; frames come often enough that no gap is left. */
static void storm(ps_t until)
{
    for (;;) {
        lab_pause(&lab, 2, 1u << 3, 65535);
        ps_t next = lab.now + 50 * PS_US;
        if (next > until) break;
        lab_run(&lab, next);
    }
    lab_run(&lab, until);
}

static void test_sleeps(void **state)
{
    (void)state;
    start(true);
    lab_rx(&lab, 0, 2, 3, 1000);
    assert_int_equal(lab.io.deadline, PS_NEVER);
    lab_pause(&lab, 2, 1u << 3, 10);
    lab_run(&lab, 100 * PS_US); /* one poll finds the pause over */
    assert_int_equal(lab.io.deadline, PS_NEVER);
    lab_tx(&lab, 2);
    lab_stop(&lab);
}

static void test_drop(void **state)
{
    (void)state;
    start(true);
    for (int i = 0; i < 5; i++)
        lab_rx(&lab, 0, 2, 3, 1000);
    lab_rx(&lab, 0, 2, 0, 1000);
    storm(299 * PS_US); /* polls at 100 (clock starts), 200, 300 */
    assert_int_equal(lab_count(&lab, 2)->prio[3].watchdog_detected, 0);
    assert_int_equal(sw_queue_bytes(lab.sw, 2, 3), 5000);
    storm(300 * PS_US);
    assert_int_equal(lab_count(&lab, 2)->prio[3].watchdog_detected, 1);
    assert_int_equal(lab_count(&lab, 2)->drop[SW_DROP_watchdog], 5);
    assert_int_equal(sw_queue_bytes(lab.sw, 2, 3), 0);
    assert_int_equal(lab_rx(&lab, 0, 2, 3, 1000), SW_DROPPED);
    assert_int_equal(lab_count(&lab, 2)->drop[SW_DROP_watchdog], 6);
    assert_int_equal(lab_tx(&lab, 2), 0); /* the other classes go on */
    assert_int_equal(lab_rx(&lab, 0, 1, 3, 1000), 1);
    lab_tx(&lab, 1);
    storm(PS_MS);
    assert_int_equal(lab_rx(&lab, 0, 2, 3, 1000), SW_DROPPED);
    /* The last XOFF was at 1 ms, its pause ends at 1.335, restore is due at the next poll. */
    lab_run(&lab, 1399 * PS_US);
    assert_int_equal(lab_rx(&lab, 0, 2, 3, 1000), SW_DROPPED);
    lab_run(&lab, 1400 * PS_US);
    assert_int_equal(lab_count(&lab, 2)->prio[3].watchdog_restored, 1);
    assert_int_equal(lab_rx(&lab, 0, 2, 3, 1000), 2);
    assert_int_equal(lab_tx(&lab, 2), 3);
    assert_int_equal(lab.io.deadline, PS_NEVER);
    lab_stop(&lab);
}

/* A port that the watchdog does not look at obeys its peer for good, and is not polled. */
static void test_unwatched(void **state)
{
    (void)state;
    struct sw_port_config off;

    lab_defaults(&lab, 3);
    lab.config.watchdog = (struct sw_watchdog){
        .on = true, .drop = true, .poll_ps = 100 * PS_US, .detect_ps = 200 * PS_US, .restore_ps = 300 * PS_US};
    off = lab.plain;
    off.unwatched = 1u << 3;
    lab.port_of[2] = &off;
    lab_start(&lab);
    lab_rx(&lab, 0, 2, 3, 1000);
    lab_rx(&lab, 0, 1, 3, 1000);
    for (int i = 0; i < 20; i++) { /* both peers pause without end */
        lab_pause(&lab, 1, 1u << 3, 65535);
        lab_pause(&lab, 2, 1u << 3, 65535);
        lab_run(&lab, lab.now + 50 * PS_US);
    }
    assert_int_equal(lab_count(&lab, 1)->prio[3].watchdog_detected, 1);
    assert_int_equal(lab_count(&lab, 2)->prio[3].watchdog_detected, 0);
    assert_int_equal(sw_queue_bytes(lab.sw, 2, 3), 1000);
    lab_pause(&lab, 2, 1u << 3, 0);
    assert_int_equal(lab_tx(&lab, 2), 3);
    lab_stop(&lab);
}

static void test_forward(void **state)
{
    (void)state;
    start(false);
    for (int i = 0; i < 3; i++)
        lab_rx(&lab, 0, 2, 3, 1000);
    storm(250 * PS_US);
    assert_int_equal(lab_tx(&lab, 2), -1);
    while (lab_count(&lab, 2)->prio[3].watchdog_detected == 0)
        lab_tick(&lab, lab.io.deadline);
    assert_int_equal(lab.now, 300 * PS_US);
    assert_int_equal(lab.io.kicks, 1);
    assert_int_equal(lab.io.kick[0], 2);
    assert_int_equal(lab_tx(&lab, 2), 3);
    storm(400 * PS_US);
    assert_int_equal(lab_tx(&lab, 2), 3); /* against every pause that comes */
    assert_int_equal(lab_count(&lab, 2)->drop[SW_DROP_watchdog], 0);
    lab_run(&lab, 2 * PS_MS);
    assert_int_equal(lab_count(&lab, 2)->prio[3].watchdog_restored, 1);
    lab_pause(&lab, 2, 1u << 3, 10);
    assert_int_equal(lab_tx(&lab, 2), -1); /* and obeys again */
    lab_run(&lab, 3 * PS_MS);
    assert_int_equal(lab_tx(&lab, 2), 3);
    lab_stop(&lab);
}

/* Pauses that end early: the storm lasts until no XOFF came for restore_ps. */
static void test_restore_waits(void **state)
{
    (void)state;
    start(true);
    lab_rx(&lab, 0, 2, 3, 1000);
    storm(320 * PS_US);
    assert_int_equal(lab_count(&lab, 2)->prio[3].watchdog_detected, 1);
    for (int i = 0; i < 10; i++) {
        lab_pause(&lab, 2, 1u << 3, 10); /* replaces the long one; over after 51 ns */
        lab_run(&lab, lab.now + 250 * PS_US);
        assert_int_equal(lab_count(&lab, 2)->prio[3].watchdog_restored, 0);
        assert_int_equal(sw_paused(lab.sw, 2), 0);
    }
    lab_run(&lab, lab.now + 150 * PS_US); /* 300 since the last XOFF, and a poll */
    assert_int_equal(lab_count(&lab, 2)->prio[3].watchdog_restored, 1);
    lab_stop(&lab);
}

/* Long pauses with a gap are no storm, nor is a pause of an empty queue. */
static void test_no_storm(void **state)
{
    (void)state;
    start(true);
    for (int i = 0; i < 40; i++)
        lab_rx(&lab, 0, 2, 3, 1000);
    for (int i = 0; i < 20; i++) {
        storm(lab.now + 190 * PS_US);
        lab_pause(&lab, 2, 1u << 3, 0);
        lab_tx(&lab, 2);
    }
    assert_int_equal(lab_count(&lab, 2)->prio[3].watchdog_detected, 0);
    while (lab_tx(&lab, 2) >= 0) {
    }
    storm(lab.now + 5 * PS_MS);
    assert_int_equal(lab_count(&lab, 2)->prio[3].watchdog_detected, 0);
    lab_stop(&lab);
}

/* When the watchdog empties the queue, the ports that were paused because of it are told to go on. */
static void test_storm_ends_xoff(void **state)
{
    (void)state;
    start(true);
    lab_stop(&lab);
    lab.plain.pg[3].dynamic = false;
    lab.plain.pg[3].static_bytes = 3000;
    lab.pool = (struct pktpool){0};
    lab.now = 0;
    lab_start(&lab);
    for (uint16_t i = 0; i < 8; i++)
        lab_rx(&lab, i % 2, 2, 3, 1000);
    assert_int_equal(sw_pausing(lab.sw, 0), 1u << 3);
    assert_int_equal(sw_pausing(lab.sw, 1), 1u << 3);
    storm(290 * PS_US);
    while (lab_count(&lab, 2)->prio[3].watchdog_detected == 0)
        lab_tick(&lab, lab.io.deadline);
    assert_int_equal(lab.io.pauses, 2);
    assert_int_equal(sw_pausing(lab.sw, 0) | sw_pausing(lab.sw, 1), 0);
    lab_port(&lab, 2, false);
    lab_port(&lab, 2, true); /* the storm is forgotten with the link */
    assert_int_equal(lab_rx(&lab, 0, 2, 3, 1000), 2);
    lab_tx(&lab, 2);
    lab_stop(&lab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sleeps),        cmocka_unit_test(test_drop),     cmocka_unit_test(test_unwatched),
        cmocka_unit_test(test_forward),       cmocka_unit_test(test_no_storm), cmocka_unit_test(test_storm_ends_xoff),
        cmocka_unit_test(test_restore_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
