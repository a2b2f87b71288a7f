/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inlined pieces of a crossing against sw_rx() and sw_tx(): two switches are given the same packets, pauses and
 * turns at random.  One is driven by the pieces, and lets across at once what can; the other by the complete calls,
 * which queue everything.  Every counter and every ledger must agree, in a switch that is SW_SIMPLE and in one that
 * balances and has virtual output queues.
 */
#include <inttypes.h>
#include <string.h>

#include "base/rng.h"
#include "lab.h"
#include "switch/crossing.h"

#define PORTS 6
#define STEPS 60000
static struct lab one, other;

static void setup(struct lab *lab, uint64_t seed, bool simple)
{
    lab_defaults(lab, PORTS);
    if (!simple) {
        lab->config.balance = (struct sw_balance){.kind = SW_SPRAY, .seed = seed};
        lab->config.voq = (struct sw_voq_config){.on = true, .credit_bytes = 4096, .xoff_bytes = 20000};
    }
    for (int i = 0; i < 3; i++)
        lab->member[i] = (uint16_t)i; /* for the endpoint that is far */
    lab->group[0].count = 3;
    lab->config.buffer_bytes = 120000 + seed % 3 * 400000; /* from nearly always full to never */
    lab->config.cell_bytes = seed % 2 ? 1 : 208;
    for (int i = 0; i < SW_PRIOS; i++) {
        lab->plain.pg[i].headroom_bytes = i == 3 ? 5000 : 0;
        lab->plain.pg[i].reserved_bytes = seed % 5 ? 1000 : 0;
        if (i == 1) lab->plain.queue[i].limit_bytes = 4000;
        lab->plain.queue[i].ecn = (struct sw_ecn){true, 3000, 20000, 100000};
    }
    lab_start(lab);
}

/* As the engine does: true when the packet went across at once. */
static bool arrive(struct lab *lab, uint16_t in, pkt_t id, bool simple, bool try, uint16_t *ret_out)
{
    struct sw_crossing crossing;

    lab->io.pauses = lab->io.kicks = 0;
    *ret_out = SW_DROPPED;
    if (!sw_cross_find(lab->sw, in, id, simple, lab->now, &lab->io, &crossing)) return false;
    if (try && sw_cross_at_once(lab->sw, &crossing)) {
        *ret_out = (uint16_t)crossing.out;
        return true;
    }
    if (sw_cross_queue(lab->sw, &crossing, id, simple, lab->now, &lab->io)) *ret_out = (uint16_t)crossing.out;
    return false;
}

/* The port's next packet by either call: the same; given back. */
static void leave(uint16_t port, bool simple)
{
    lab_clear(&one);
    lab_clear(&other);
    pkt_t id = simple ? sw_tx_simple(one.sw, port, one.now, &one.io) : sw_tx(one.sw, port, one.now, &one.io);
    assert_int_equal(sw_tx(other.sw, port, other.now, &other.io), id);
    assert_int_equal(one.io.pauses, other.io.pauses);
    if (id == PKT_NONE) return;
    assert_int_equal(lab_pkt(&one, id)->tos, lab_pkt(&other, id)->tos);
    pktpool_put(&one.pool, id);
    pktpool_put(&other.pool, id);
}

static void compare(uint64_t seed, uint32_t step)
{
    bool same = sw_shared_used(one.sw) == sw_shared_used(other.sw);

    for (uint16_t p = 0; p < PORTS; p++) {
        same &= memcmp(lab_count(&one, p), lab_count(&other, p), sizeof(struct sw_port_counters)) == 0;
        same &= sw_paused(one.sw, p) == sw_paused(other.sw, p) && sw_pausing(one.sw, p) == sw_pausing(other.sw, p);
        for (uint8_t i = 0; i < SW_PRIOS; i++)
            same &= sw_queue_bytes(one.sw, p, i) == sw_queue_bytes(other.sw, p, i) &&
                    sw_pg_bytes(one.sw, p, i) == sw_pg_bytes(other.sw, p, i) &&
                    sw_queue_at(one.sw, p, i)->deficit == sw_queue_at(other.sw, p, i)->deficit;
    }
    if (!same) fail_msg("seed %" PRIu64 ", step %u: the two switches differ", seed, step);
}

static uint32_t walk(uint64_t seed, bool simple)
{
    struct rng rng;
    uint32_t passed = 0;

    setup(&one, seed, simple);
    setup(&other, seed, simple);
    assert_int_equal(sw_form(&one.config), simple ? SW_SIMPLE : SW_FORWARDS);
    rng_init(&rng, seed, 0);
    for (uint32_t step = 0; step < STEPS; step++) {
        uint16_t port = (uint16_t)rng_below(&rng, PORTS), out, again;
        uint64_t what = rng_below(&rng, 100);
        one.now = other.now = one.now + 1000;
        if (what < 48) {
            uint32_t dst = rng_below(&rng, 16) ? (uint32_t)rng_below(&rng, PORTS) : LAB_FAR_ENDPOINT;
            uint8_t tc = (uint8_t)rng_below(&rng, 5);
            uint16_t bytes = (uint16_t)(60 + rng_below(&rng, 4000));
            pkt_t id = lab_packet(&one, dst, tc, bytes);
            assert_int_equal(lab_packet(&other, dst, tc, bytes), id);
            bool pass = arrive(&one, port, id, simple, rng_below(&rng, 4) > 0, &out);
            again = lab_rx_id(&other, port, id);
            assert_int_equal(out, again);
            if (pass) {
                passed++;
                assert_int_equal(sw_tx(other.sw, out, other.now, &other.io), id);
                assert_int_equal(lab_pkt(&one, id)->tos, lab_pkt(&other, id)->tos);
                pktpool_put(&one.pool, id);
                pktpool_put(&other.pool, id);
            }
        } else if (what < 99) {
            leave(port, simple);
        } else {
            uint8_t enable = (uint8_t)rng_below(&rng, 256);
            uint16_t quanta = rng_below(&rng, 2) ? (uint16_t)rng_below(&rng, 20) : 0;
            lab_pause(&one, port, enable, quanta);
            lab_pause(&other, port, enable, quanta);
        }
        lab_tick(&one, one.now);
        lab_tick(&other, other.now);
        if (step % 64 == 0) compare(seed, step);
    }
    for (uint16_t p = 0; p < PORTS; p++) {
        lab_port(&one, p, false);
        lab_port(&other, p, false);
    }
    compare(seed, STEPS);
    lab_stop(&one);
    lab_stop(&other);
    return passed;
}

static void test_pieces_are_the_whole(void **state)
{
    (void)state;
    uint32_t at_once = 0;

    for (uint64_t seed = 1; seed <= 12; seed++)
        at_once += walk(seed, true);
    assert_true(at_once > 5000);
}

static void test_with_balancer_and_virtual_queues(void **state)
{
    (void)state;
    uint32_t at_once = 0;

    for (uint64_t seed = 1; seed <= 6; seed++)
        at_once += walk(seed, false);
    assert_true(at_once > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pieces_are_the_whole),
                                       cmocka_unit_test(test_with_balancer_and_virtual_queues)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
