/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets that change places: nothing is said of a gap until it is too far behind or too old, then exactly what is
 * missing is asked for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/support.h"
#include "nic/nic_int.h"
#include "nic/pair.h"

#define PACKETS 100u
#define DELAY (100 * PS_US)

static struct pair pair;
static struct pair_end end[2];
static ps_t delay = DELAY;
static uint16_t every = 1; /* packets ask for an acknowledgement */
static uint32_t times[PACKETS];
static uint32_t number, lose[8], losses; /* of side 0's packets, in order sent */

static enum pair_fate lose_listed(struct pair *p, int from, struct pkt *pkt, ps_t now)
{
    (void)p;
    (void)pkt;
    (void)now;
    if (from != 0) return PAIR_PASS;
    uint32_t own = number++;
    for (uint32_t i = 0; i < losses; i++)
        if (lose[i] == own) return PAIR_LOSE;
    return PAIR_PASS;
}

static void start(uint32_t window)
{
    struct nic_qp_config config = pair_qp_config();

    pair_init_default(&pair, 1, test_seed());
    config.recovery = NIC_SELECTIVE;
    config.mtu = 1024;
    config.timeout = 14;
    config.ack_every = 1;
    config.ack_request_every = every;
    config.reorder_window = window;
    config.reorder_ps = delay;
    pair_connect(&pair, &config, end);
    pair.filter = lose_listed;
    number = losses = 0;
}

static void run(void)
{
    pair_send(&pair, 0, &end[0],
              (struct nic_wr){.wr_id = 1, .verb = NIC_WRITE, .length = PACKETS * 1024, .flags = NIC_SIGNALED});
    pair_run(&pair, PS_NEVER);
    const struct nic_cqe *cqe = nic_cq_poll(&end[0].send_cq);
    assert_non_null(cqe);
    assert_int_equal(cqe->status, NIC_SUCCESS);
    assert_int_equal(nic_counters(pair.nic[1])->rx_payload_bytes, PACKETS * 1024);
    assert_int_equal(pair.placed_bytes[1], PACKETS * 1024);
    assert_int_equal(pair.misplaced, 0);
}

static void stop(void)
{
    pair_disconnect(&pair, end);
    pair_release(&pair);
}

/* When side 0 first sent a packet for the second time. */
static ps_t repeated_at(uint32_t *ret_psn)
{
    for (uint32_t i = 1; i < pair.seen_count; i++)
        for (uint32_t j = 0; j < i && pair.seen[i].from == 0; j++) {
            if (pair.seen[j].from != 0 || pair.seen[j].pkt.psn != pair.seen[i].pkt.psn) continue;
            *ret_psn = pair.seen[i].pkt.psn;
            return pair.seen[i].at;
        }
    return PS_NEVER;
}

static void test_held_back(void **state)
{
    (void)state;
    start(200);
    pair.hold_ppm = 200000; /* a fifth of the packets come up to 20 us late */
    run();
    const struct nic_counters *a = nic_counters(pair.nic[0]), *b = nic_counters(pair.nic[1]);
    assert_int_equal(a->retransmitted_packets, 0);
    assert_int_equal(b->tx_nak_sequence, 0);
    assert_int_equal(b->drop[NIC_DROP_out_of_sequence], 0);
    assert_true(b->reordered_packets > 20);
    assert_int_equal(a->drop[NIC_DROP_ghost], 0);
    stop();
}

static void test_old_gap(void **state)
{
    (void)state;
    uint32_t psn;
    start(200);
    losses = 4;
    lose[0] = 10;
    lose[1] = 11;
    lose[2] = 40;
    lose[3] = PACKETS + 1; /* of what is sent again the second: once more after another delay, no timeout */
    run();
    const struct nic_counters *a = nic_counters(pair.nic[0]), *b = nic_counters(pair.nic[1]);
    assert_int_equal(a->retransmitted_packets, 4);
    assert_int_equal(a->local_ack_timeout_err, 0);
    assert_int_equal(b->drop[NIC_DROP_duplicate], 0);
    ps_t at = repeated_at(&psn);
    assert_int_equal(psn, (0xfffff0 + 10) & PSN_MASK);
    assert_in_range(at, DELAY, 2 * DELAY + 10 * PS_US);
    stop();
}

static void test_far_gap(void **state)
{
    (void)state;
    uint32_t psn;
    start(16);
    losses = 2;
    lose[0] = 10;
    lose[1] = 30;
    run();
    assert_int_equal(nic_counters(pair.nic[0])->retransmitted_packets, 2);
    assert_int_equal(nic_counters(pair.nic[1])->tx_nak_sequence, 2);
    ps_t at = repeated_at(&psn);
    assert_int_equal(psn, (0xfffff0 + 10) & PSN_MASK);
    assert_true(at < DELAY / 2); /* by distance, long before it is old */
    stop();
}

/* A window in bytes counts what is under way: what waits behind a gap does not close it. */
/* A window of one: a gap is a loss, asked for once, with the first packet behind it; and again by the clock. */
static void test_no_window(void **state)
{
    (void)state;
    uint32_t psn;
    start(1);
    losses = 3;
    lose[0] = 10;
    lose[1] = 30;
    lose[2] = PACKETS; /* what is sent again, whichever is the last to be */
    run();
    const struct nic_counters *a = nic_counters(pair.nic[0]), *b = nic_counters(pair.nic[1]);
    assert_int_equal(a->retransmitted_packets, b->tx_nak_sequence);
    assert_in_range(b->tx_nak_sequence, 2, 3);
    assert_int_equal(a->local_ack_timeout_err, 0);
    ps_t at = repeated_at(&psn);
    assert_int_equal(psn, (0xfffff0 + 10) & PSN_MASK);
    assert_true(at < DELAY / 10);
    stop();
}

/* The tenth twice, and the last two once: nothing shows the peer that those are missing. */
static enum pair_fate lose_twice(struct pair *p, int from, struct pkt *pkt, ps_t now)
{
    (void)p;
    (void)now;
    if (from != 0) return PAIR_PASS;
    uint32_t own = (pkt->psn - 0xfffff0) & PSN_MASK;
    assert_in_range(own, 0, PACKETS - 1);
    times[own]++;
    return times[own] <= (own == 10 ? 2 : own >= PACKETS - 2) ? PAIR_LOSE : PAIR_PASS;
}

/* What the peer asked for is lost too, and it will not ask again for long: the timer sends the oldest and the newest,
 * not all of which nothing is known. */
static void test_timer(void **state)
{
    (void)state;
    delay = PS_S;
    every = 0;
    start(1);
    delay = DELAY;
    every = 1;
    memset(times, 0, sizeof times);
    pair.filter = lose_twice;
    run();
    const struct nic_counters *a = nic_counters(pair.nic[0]);
    assert_int_equal(a->local_ack_timeout_err, 1);
    assert_int_equal(a->retransmitted_packets, 4); /* 10, 10 and 99, 98 */
    stop();
}

/* Atomics are not kept: those behind the gap are asked for too, without waiting. */
static void test_atomics_behind_a_gap(void **state)
{
    (void)state;
    for (uint32_t count = 4; count < 16; count++) {
        start(1);
        losses = 1;
        lose[0] = 2;
        for (uint32_t i = 0; i < count; i++)
            pair_send(
                &pair, 0, &end[0],
                (struct nic_wr){.wr_id = i, .verb = NIC_FETCH_ADD, .length = 8, .swap = 1, .flags = NIC_SIGNALED});
        pair_run(&pair, PS_NEVER);
        for (uint32_t i = 0; i < count; i++) {
            const struct nic_cqe *cqe = nic_cq_poll(&end[0].send_cq);
            assert_non_null(cqe);
            assert_int_equal(cqe->status, NIC_SUCCESS);
        }
        assert_int_equal(pair.atomic_value, count);
        ps_t last = 0;
        for (uint32_t i = 0; i < pair.seen_count; i++)
            last = pair.seen[i].at;
        assert_true(last < DELAY / 2); /* before any clock has to help */
        stop();
    }
}

static void test_window(void **state)
{
    (void)state;
    struct cc_config cc;
    assert_int_equal(cc_preset("none", &cc), 0);
    cc.window = 10 * 1024;
    start(200);
    pair_disconnect(&pair, end);
    struct nic_qp_config config = pair_qp_config();
    config.recovery = NIC_SELECTIVE;
    config.mtu = 1024;
    config.timeout = 14;
    config.ack_every = config.ack_request_every = 1;
    config.reorder_window = 200;
    config.reorder_ps = DELAY;
    config.cc = &cc;
    pair_connect(&pair, &config, end);
    losses = 1;
    lose[0] = 0; /* the very first: all others come behind it */
    run();
    uint32_t early = 0;
    for (uint32_t i = 0; i < pair.seen_count; i++)
        early += pair.seen[i].from == 0 && pair.seen[i].at < DELAY;
    assert_int_equal(early, PACKETS);
    assert_int_equal(nic_counters(pair.nic[0])->retransmitted_packets, 1);
    stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_held_back), cmocka_unit_test(test_old_gap), cmocka_unit_test(test_far_gap),
        cmocka_unit_test(test_no_window), cmocka_unit_test(test_timer),   cmocka_unit_test(test_atomics_behind_a_gap),
        cmocka_unit_test(test_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
