/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TCP with loss that is known: what is sent again, when, and what becomes of the window.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rig.h"
#include "tcp/tcp_int.h"

#define MSS 1448u

static void start(enum tcp_cc cc, bool probes)
{
    struct tcp_config config = rig_plain(cc);

    config.probes = probes;
    rig_start(config);
    line.delay_ps = 100 * PS_US;
}

static void finish(uint64_t again, uint64_t timeouts, uint64_t probes)
{
    line_run(&line, 1000 * PS_S);
    line_finished(&line);
    assert_int_equal(rig_counters(0)->retrans_segs, again);
    assert_int_equal(rig_counters(0)->timeouts, timeouts);
    assert_int_equal(rig_counters(0)->loss_probes, probes);
}

/* One is sent again, once, after three that came after it; half the window is left. */
static void one_loss_is_repaired_by_duplicates(void **state)
{
    (void)state;
    start(TCP_NEWRENO, false);
    rig_lose(30, 31, 0);
    line_post(&line, 0, 60 * MSS);
    line_run(&line, PS_MS);
    finish(1, 0, 0);
    assert_int_equal(rig_counters(0)->fast_recoveries, 1);
    assert_int_equal(rig_counters(0)->fast_retrans, 1);
    assert_int_equal(rig_counters(1)->in_duplicate, 0);
    uint32_t acks = 0;
    uint32_t number = 0;
    for (uint32_t i = 0; i < line.seen_count; i++) { /* from the first that reports a piece to what is sent again */
        if (line.seen[i].pkt.flags & PKT_TCP_SACK && line.seen[i].from == 1) acks++;
        if (line.seen[i].pkt.opcode == PKT_TCP_DATA && line.seen[i].pkt.psn == 0xfffff000u + 30 * MSS && number++)
            break;
    }
    assert_true(acks >= 3);
}

static void two_after_it_are_not_enough(void **state)
{
    (void)state;
    start(TCP_NEWRENO, false);
    rig_lose(7, 8, 0);
    line_post(&line, 0, 10 * MSS); /* 8 and 9 arrive after it */
    finish(1, 1, 0);
    assert_true(line.conn[0].sent_at > 200 * PS_MS && line.conn[0].sent_at < 202 * PS_MS);
}

/* With probes age tells: a quarter of an RTT, and what timers add. */
static void age_tells_where_duplicates_do_not(void **state)
{
    (void)state;
    start(TCP_NEWRENO, true);
    rig_lose(7, 8, 0);
    line_post(&line, 0, 10 * MSS);
    finish(1, 0, 0);
    assert_true(line.conn[0].sent_at < 4 * PS_MS);
}

static void a_lost_tail_is_probed(void **state)
{
    (void)state;
    start(TCP_NEWRENO, true);
    rig_lose(56, 60, 0);
    line_post(&line, 0, 60 * MSS);
    line_run(&line, 1000 * PS_S);
    line_finished(&line);
    assert_int_equal(rig_counters(0)->timeouts, 0);
    assert_int_equal(rig_counters(0)->loss_probes, 1);
    assert_int_equal(rig_counters(0)->retrans_segs, 4);
    assert_true(line.conn[0].sent_at < 6 * PS_MS);
}

static void a_lost_tail_waits_without_probes(void **state)
{
    (void)state;
    start(TCP_NEWRENO, false);
    rig_lose(56, 60, 0);
    line_post(&line, 0, 60 * MSS);
    finish(4, 1, 0);
    assert_int_equal(rig_counters(0)->slow_start_retrans, 4);
}

/* What was sent again is lost again: what was sent after it tells. */
static void a_second_loss_is_seen(void **state)
{
    (void)state;
    start(TCP_NEWRENO, true);
    rig_lose(20, 22, 0);
    line_post(&line, 0, 100 * MSS);
    line_run(&line, 520 * PS_US); /* both were sent again by now, or are about to be */
    uint32_t first = 0;
    for (uint32_t i = 0, n = 0; i < line.seen_count; i++) {
        if (line.seen[i].pkt.opcode != PKT_TCP_DATA) continue;
        if (n > 22 && line.seen[i].pkt.psn == 0xfffff000u + 20 * MSS) first = n;
        n++;
    }
    assert_int_not_equal(first, 0);
    line_release(&line);
    start(TCP_NEWRENO, true);
    rig_lose(20, 22, first);
    line_post(&line, 0, 100 * MSS);
    finish(3, 0, 0);
    assert_int_equal(rig_counters(0)->lost_retransmit, 1);
}

/* A window of forty lost but for one: all is repaired within a few round trips, each once. */
static void many_losses_are_repaired(void **state)
{
    (void)state;
    start(TCP_NEWRENO, true);
    rig_lose(30, 65, 0);
    line_post(&line, 0, 200 * MSS);
    line_run(&line, 1000 * PS_S);
    line_finished(&line);
    assert_int_equal(rig_counters(0)->timeouts, 0);
    assert_int_equal(rig_counters(0)->retrans_segs, 35);
    assert_int_equal(rig_counters(1)->in_duplicate, 0);
}

/* Recovery leaves half of the window, a timeout a segment; then slow start up to the half. */
static void windows_shrink(void **state)
{
    (void)state;
    start(TCP_NEWRENO, false);
    rig_lose(60, 61, 0);
    line_post(&line, 0, 5000 * MSS);
    uint64_t before = 0, after = 0;
    for (ps_t at = 0; at < 5 * PS_MS; at += 10 * PS_US) {
        line_run(&line, at);
        line.now = at;
        uint64_t window = tcp_conn_window(line.conn[0].from);
        if (rig_counters(0)->fast_recoveries == 0) before = window;
        if (rig_counters(0)->fast_recoveries && after == 0 && line.now > 2 * PS_MS) after = window;
    }
    assert_true(before > 50 * MSS);
    assert_in_range(after, before / 2, before / 2 + 12 * MSS);
    line_run(&line, PS_S);
    line_finished(&line);
}

/* Two losses of one window take one half. */
static void a_window_is_halved_once(void **state)
{
    (void)state;
    start(TCP_NEWRENO, false);
    rig_lose(60, 61, 66);
    line_post(&line, 0, 5000 * MSS);
    uint64_t before = 0;
    for (ps_t at = 0; at < 5 * PS_MS && line.conn[0].from->cwnd_state != CWND_RECOVERY; at += 5 * PS_US) {
        before = tcp_conn_window(line.conn[0].from);
        line_run(&line, at);
        line.now = at;
    }
    line_run(&line, PS_S);
    line_finished(&line);
    assert_int_equal(rig_counters(0)->fast_recoveries, 1);
    assert_int_equal(rig_counters(0)->retrans_segs, 2);
    assert_in_range(line.conn[0].from->ssthresh, before / 2 - 2 * MSS, before / 2 + 2 * MSS);
}

/* A probe that is lost is not sent again: the timer runs out. */
static void a_tail_is_probed_once(void **state)
{
    (void)state;
    start(TCP_NEWRENO, true);
    rig_lose(56, 61, 0); /* the last is the probe */
    line_post(&line, 0, 60 * MSS);
    line_run(&line, 1000 * PS_S);
    line_finished(&line);
    assert_int_equal(rig_counters(0)->loss_probes, 1);
    assert_int_equal(rig_counters(0)->timeouts, 1);
}

/* Its acknowledgement might be delayed, so a lone segment is probed 40 ms later. */
static void a_lone_segment_is_probed_late(void **state)
{
    (void)state;
    start(TCP_NEWRENO, true);
    rig_lose(1, 2, 0);
    line_post(&line, 0, MSS);
    line_run(&line, PS_MS);
    line_post(&line, 0, MSS);
    finish(1, 0, 1);
    assert_in_range(line.conn[0].sent_at, 42 * PS_MS, 44 * PS_MS);
}

static bool lose_one_hold_one(struct line *l, int from, struct pkt *p, ps_t now)
{
    (void)now;
    l->hold_ppm = 0;
    if (from != 0 || p->opcode != PKT_TCP_DATA) return true;
    uint32_t number = l->count++;
    if (number == 35) l->hold_ppm = 1000000;
    return number != 30;
}

/* One of two segments sent again was not lost; the other was, so the window stays halved. */
static void one_duplicate_of_two_undoes_nothing(void **state)
{
    (void)state;
    start(TCP_NEWRENO, true);
    line.hold_ps = 400 * PS_US;
    line.filter = lose_one_hold_one;
    line_post(&line, 0, 60 * MSS);
    line_run(&line, 1000 * PS_S);
    line_finished(&line);
    assert_int_equal(rig_counters(0)->retrans_segs, 2);
    assert_int_equal(rig_counters(1)->in_duplicate, 1);
    assert_int_equal(rig_counters(0)->undos, 0);
}

static bool lose_all_for_a_time(struct line *l, int from, struct pkt *p, ps_t now)
{
    (void)l;
    (void)p;
    return from != 0 || now < 300 * PS_US || now > 1200 * PS_MS;
}

/* 200, 400 and 800 ms after each other. */
static void timeouts_double(void **state)
{
    (void)state;
    start(TCP_NEWRENO, false);
    line.filter = lose_all_for_a_time;
    line_post(&line, 0, 1000 * MSS);
    line_run(&line, 1000 * PS_S);
    line_finished(&line);
    assert_int_equal(rig_counters(0)->timeouts, 3);
    ps_t at[4] = {0};
    uint32_t n = 0;
    for (uint32_t i = 1; i < line.seen_count && n < 3; i++)
        if (line.seen[i].from == 0 && line.seen[i].at > 100 * PS_MS) at[n++] = line.seen[i].at;
    assert_in_range(at[1] - at[0], 400 * PS_MS, 402 * PS_MS);
    assert_in_range(at[2] - at[1], 800 * PS_MS, 804 * PS_MS);
}

static void a_dead_line_ends_connections(void **state)
{
    struct tcp_config config = rig_plain(TCP_NEWRENO);

    (void)state;
    config.retries = 3;
    rig_start(config);
    line.dead_from = PS_MS;
    line_post(&line, 0, 5 * MSS);
    line_run(&line, PS_MS);
    line.now = 2 * PS_MS;
    line_post(&line, 0, 100 * MSS);
    line_post(&line, 0, MSS);
    line_run(&line, 1000 * PS_S);
    assert_int_equal(line.conn[0].sent, 1);
    assert_int_equal(line.conn[0].failed, 2);
    assert_int_equal(rig_counters(0)->aborts, 1);
    assert_int_equal(rig_counters(0)->timeouts, 4);
    line_post(&line, 0, MSS); /* on one that has ended */
    assert_int_equal(line.conn[0].failed, 3);
    assert_int_equal(tcp_deadline(line.tcp[0]), PS_NEVER);
}

static bool lose_first_syn(struct line *l, int from, struct pkt *p, ps_t now)
{
    (void)from;
    (void)now;
    return p->opcode != PKT_TCP_SYN || l->count++ > 0;
}

static void a_lost_syn_costs_a_second(void **state)
{
    struct tcp_config config = rig_plain(TCP_NEWRENO);

    (void)state;
    config.handshake = true;
    rig_start(config);
    line.filter = lose_first_syn;
    line_post(&line, 0, MSS);
    line_run(&line, 1000 * PS_S);
    line_finished(&line);
    assert_int_equal(rig_counters(0)->syn_retrans, 1);
    assert_in_range(line.conn[0].sent_at, PS_S, PS_S + PS_MS);
}

static bool lose_all_acks_but_last(struct line *l, int from, struct pkt *p, ps_t now)
{
    (void)l;
    (void)now;
    return from != 1 || p->psn == 0xfffff000u + 20 * MSS;
}

/* Acknowledgements are cumulative: the last says it all. */
static void lost_acknowledgements_cost_nothing(void **state)
{
    struct tcp_config config = rig_plain(TCP_NEWRENO);

    (void)state;
    config.initial_window = 20;
    rig_start(config);
    line.filter = lose_all_acks_but_last;
    line_post(&line, 0, 20 * MSS);
    finish(0, 0, 0);
}

static bool hold_one(struct line *l, int from, struct pkt *p, ps_t now)
{
    (void)now;
    l->hold_ppm = 0;
    if (from == 0 && p->opcode == PKT_TCP_DATA && l->count++ % 50 == 25) l->hold_ppm = 1000000;
    return true;
}

/* Segments that change places: the first time one is sent again for nothing, later gaps are waited for. */
static void changed_places_are_learnt(void **state)
{
    (void)state;
    start(TCP_NEWRENO, true);
    line.delay_ps = 50 * PS_US;
    line.hold_ps = 25 * PS_US;
    line.filter = hold_one;
    line_post(&line, 0, 8000 * MSS);
    line_run(&line, 1000 * PS_S);
    line_finished(&line);
    assert_true(rig_counters(0)->reorders > 0);
    assert_true(rig_counters(0)->undos > 0);
    assert_true(rig_counters(0)->retrans_segs < 80); /* of 160 held back */
    assert_int_equal(rig_counters(0)->timeouts, 0);
}

static bool lose_every_second(struct line *l, int from, struct pkt *p, ps_t now)
{
    (void)now;
    return from != 0 || p->opcode != PKT_TCP_DATA || l->count > 700 || l->count++ % 2 == 0;
}

/* More pieces than either side's list has room for. */
static void lists_overflow(void **state)
{
    struct tcp_config config = rig_plain(TCP_NEWRENO);

    (void)state;
    config.initial_window = 600;
    config.runs = 64;
    rig_start(config);
    line.delay_ps = PS_MS;
    line.filter = lose_every_second;
    line_post(&line, 0, 1000 * MSS);
    line_run(&line, 1000 * PS_S);
    line_finished(&line);
    assert_true(rig_counters(1)->ooo_dropped > 0);
    assert_true(rig_counters(0)->sacks_forgotten > 0);
}

/* An adapter that keeps little of what comes after a gap drops the rest. */
static void held_bytes_are_bounded(void **state)
{
    struct tcp_config config = rig_plain(TCP_NEWRENO);

    (void)state;
    config.held_bytes = 5 * MSS;
    rig_start(config);
    rig_lose(20, 21, 0);
    line_post(&line, 0, 100 * MSS);
    line_run(&line, 1000 * PS_S);
    line_finished(&line);
    assert_int_equal(rig_counters(1)->ooo_bytes_max, 5 * MSS);
    assert_true(rig_counters(1)->ooo_dropped > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(one_loss_is_repaired_by_duplicates, rig_tear_down),
        cmocka_unit_test_teardown(two_after_it_are_not_enough, rig_tear_down),
        cmocka_unit_test_teardown(age_tells_where_duplicates_do_not, rig_tear_down),
        cmocka_unit_test_teardown(a_lost_tail_is_probed, rig_tear_down),
        cmocka_unit_test_teardown(a_lost_tail_waits_without_probes, rig_tear_down),
        cmocka_unit_test_teardown(a_second_loss_is_seen, rig_tear_down),
        cmocka_unit_test_teardown(many_losses_are_repaired, rig_tear_down),
        cmocka_unit_test_teardown(windows_shrink, rig_tear_down),
        cmocka_unit_test_teardown(a_window_is_halved_once, rig_tear_down),
        cmocka_unit_test_teardown(a_tail_is_probed_once, rig_tear_down),
        cmocka_unit_test_teardown(a_lone_segment_is_probed_late, rig_tear_down),
        cmocka_unit_test_teardown(one_duplicate_of_two_undoes_nothing, rig_tear_down),
        cmocka_unit_test_teardown(timeouts_double, rig_tear_down),
        cmocka_unit_test_teardown(a_dead_line_ends_connections, rig_tear_down),
        cmocka_unit_test_teardown(a_lost_syn_costs_a_second, rig_tear_down),
        cmocka_unit_test_teardown(lost_acknowledgements_cost_nothing, rig_tear_down),
        cmocka_unit_test_teardown(changed_places_are_learnt, rig_tear_down),
        cmocka_unit_test_teardown(lists_overflow, rig_tear_down),
        cmocka_unit_test_teardown(held_bytes_are_bounded, rig_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
