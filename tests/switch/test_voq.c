/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Virtual output queues: credits in turn, pauses by the length of one queue, the books.
 */
#include <string.h>

#include "../seed.h"
#include "lab.h"
#include "switch/switch_int.h"

static struct lab lab;

static void start(bool on)
{
    lab_defaults(&lab, 4);
    lab.config.voq = (struct sw_voq_config){.on = on, .credit_bytes = 1000};
    lab_start(&lab);
}

static void drain(void)
{
    for (uint16_t port = 0; port < lab.config.ports; port++)
        while (lab_tx(&lab, port) >= 0) {
        }
}

/* Packets of port 0 among the next `count` that leave by port 3. */
static uint32_t of_first(uint32_t count)
{
    uint32_t first = 0;
    for (uint32_t i = 0; i < count; i++) {
        pkt_t id = lab_tx_id(&lab, 3);
        assert_int_not_equal(id, PKT_NONE);
        first += lab_pkt(&lab, id)->in_port == 0;
        pktpool_put(&lab.pool, id);
    }
    return first;
}

/* Port 0 queued nine times as much as port 1 before it: shared memory serves it nine times as well, credits do not. */
static void test_turns(void **state)
{
    (void)state;
    for (int on = 0; on < 2; on++) {
        start(on);
        for (int i = 0; i < 100; i++)
            assert_int_equal(lab_rx(&lab, i % 10 == 9, 3, 0, 1000), 3);
        assert_in_range(of_first(20), on ? 9 : 17, on ? 12 : 19);
        lab_audit(&lab, 0);
        drain();
        lab_stop(&lab);
    }
}

/* A credit is bytes: small packets and large ones get the same line. */
static void test_credit_bytes(void **state)
{
    (void)state;
    start(true);
    for (int i = 0; i < 40; i++)
        lab_rx(&lab, 0, 3, 0, 1000);
    for (int i = 0; i < 400; i++)
        lab_rx(&lab, 1, 3, 0, 100);
    uint64_t bytes[2] = {0};
    for (int i = 0; i < 220; i++) {
        pkt_t id = lab_tx_id(&lab, 3);
        bytes[lab_pkt(&lab, id)->in_port] += lab_pkt(&lab, id)->frame_bytes;
        pktpool_put(&lab.pool, id);
    }
    assert_in_range(bytes[0], bytes[1] - 2000, bytes[1] + 2000);
    drain();
    lab_stop(&lab);
}

/* Order within a flow is kept: it stays in one queue. */
static void test_order(void **state)
{
    (void)state;
    start(true);
    uint32_t next[3] = {0};
    for (uint32_t i = 0; i < 300; i++) {
        pkt_t id = lab_packet(&lab, 3, 0, (uint16_t)(100 + i % 7 * 300));
        lab_pkt(&lab, id)->psn = i / 3;
        lab_rx_id(&lab, (uint16_t)(i % 3), id);
    }
    for (uint32_t i = 0; i < 300; i++) {
        pkt_t id = lab_tx_id(&lab, 3);
        assert_int_equal(lab_pkt(&lab, id)->psn, next[lab_pkt(&lab, id)->in_port]++);
        pktpool_put(&lab.pool, id);
    }
    assert_int_equal(lab_tx(&lab, 3), -1);
    lab_stop(&lab);
}

static void test_pause_by_queue(void **state)
{
    (void)state;
    lab_defaults(&lab, 4);
    lab.config.voq = (struct sw_voq_config){.on = true, .credit_bytes = 1000, .xoff_bytes = 8000};
    lab_start(&lab);
    for (int i = 0; i < 8; i++) { /* the first holds the credit, seven wait */
        lab_rx(&lab, 0, 3, 3, 1000);
        assert_int_equal(lab.io.pauses, 0);
    }
    lab_rx(&lab, 0, 2, 3, 1000); /* another queue of the same group */
    assert_int_equal(lab.io.pauses, 0);
    lab_rx(&lab, 0, 3, 3, 1000); /* eight wait */
    assert_int_equal(lab.io.pauses, 1);
    assert_int_equal(lab.io.pause[0].enable, 1 << 3);
    assert_int_equal(lab.io.pause[0].cause, 3);
    assert_int_equal(sw_pausing(lab.sw, 0), 1 << 3);
    lab_tx(&lab, 2);
    assert_int_equal(sw_pausing(lab.sw, 0), 1 << 3); /* it is the other queue that is too long */
    lab_tx(&lab, 3);
    assert_int_equal(sw_pausing(lab.sw, 0), 1 << 3); /* seven wait: an eighth less is below 7000 */
    lab_tx(&lab, 3);
    assert_int_equal(sw_pausing(lab.sw, 0), 0);
    drain();
    lab_stop(&lab);
}

/* A lossy class shares the queue: the lossless group is paused by the queue's length, and let go with its last packet,
 * though the queue is as long as before. */
static void test_pause_by_shared_queue(void **state)
{
    (void)state;
    lab_defaults(&lab, 4);
    lab.plain.tc_to_queue[1] = 3;
    lab.config.voq = (struct sw_voq_config){.on = true, .credit_bytes = 1000, .xoff_bytes = 8000};
    lab_start(&lab);
    for (int i = 0; i < 9; i++) /* the second waits first, the ninth makes it eight that wait */
        lab_rx(&lab, 0, 3, i == 1 || i == 8 ? 3 : 1, 1000);
    assert_int_equal(sw_pausing(lab.sw, 0), 1 << 3);
    for (int i = 0; i < 9; i++)
        lab_rx(&lab, 0, 3, 1, 1000);
    for (int i = 0; i < 9; i++) {
        assert_int_equal(sw_pausing(lab.sw, 0), 1 << 3);
        assert_int_equal(lab_tx(&lab, 3), i == 1 || i == 8 ? 3 : 1);
    }
    assert_int_equal(sw_pausing(lab.sw, 0), 0);
    lab_audit(&lab, 0);
    drain();
    lab_stop(&lab);
}

static void test_down(void **state)
{
    (void)state;
    start(true);
    for (int i = 0; i < 30; i++)
        lab_rx(&lab, (uint16_t)(i % 3), 3, 3, 1000);
    assert_true(sw_queue_holds(lab.sw, lab.pool.hot, 3, 3, 2, 3));
    assert_false(sw_queue_holds(lab.sw, lab.pool.hot, 3, 3, 3, 3));
    uint16_t stuck[4] = {0, 0, 0, 1 << 3};
    uint32_t cells[4 * SW_PRIOS];
    sw_stuck_cells(lab.sw, lab.pool.hot, stuck, cells);
    for (int in = 0; in < 3; in++)
        assert_int_equal(cells[in * SW_PRIOS + 3], 10000);
    lab_port(&lab, 3, false);
    assert_int_equal(lab_count(&lab, 3)->drop[SW_DROP_port_down], 30);
    lab_audit(&lab, 0);
    lab_stop(&lab);
}

static void test_deep(void **state)
{
    (void)state;
    lab_defaults(&lab, 4);
    lab.config.voq = (struct sw_voq_config){.on = true, .credit_bytes = 1000, .on_chip_bytes = 5000};
    lab_start(&lab);
    for (int i = 0; i < 10; i++) /* one at the port, five on the chip, four beside it */
        lab_rx(&lab, 0, 3, 0, 1000);
    assert_int_equal(lab_count(&lab, 3)->deep_packets, 4);
    drain();
    lab_stop(&lab);
}

/* Any traffic: what comes in goes out, the books balance, and all is empty at the end. */
static void test_random(void **state)
{
    (void)state;
    struct rng rng;
    uint64_t seed = test_seed_or(1);
    rng_init(&rng, seed, 0);
    for (int round = 0; round < 20; round++) {
        lab_defaults(&lab, 8);
        lab.config.voq = (struct sw_voq_config){
            .on = true, .credit_bytes = 64 + rng_u32(&rng) % 8000, .xoff_bytes = rng_u32(&rng) % 3 * 20000};
        lab_start(&lab);
        for (int i = 0; i < 2000; i++) {
            uint16_t in = (uint16_t)(rng_u32(&rng) % 8), out = (uint16_t)(rng_u32(&rng) % 4);
            uint8_t tc = rng_u32(&rng) % 2 ? 3 : 0;
            if (rng_u32(&rng) % 5 < 3)
                lab_rx(&lab, in, out, tc, (uint16_t)(64 + rng_u32(&rng) % 4000));
            else
                lab_tx(&lab, out);
            if (i % 50 == 0) lab_audit(&lab, 0);
        }
        drain();
        for (uint16_t port = 0; port < 8; port++) {
            if (sw_pausing(lab.sw, port)) print_message("seed %llu\n", (unsigned long long)seed);
            assert_int_equal(sw_pausing(lab.sw, port), 0);
        }
        lab_stop(&lab);
    }
}

/* Ten packets of 1000 bytes, four of them on the chip: the others leave no faster than they are read, 8 ns each here,
 * and a port that waits is kicked when its packet is there. */
static void test_deep_rate(void **state)
{
    (void)state;
    lab_defaults(&lab, 4);
    lab.config.voq =
        (struct sw_voq_config){.on = true, .credit_bytes = 1000, .on_chip_bytes = 4000, .deep_bps = 1000000000000};
    lab_start(&lab);
    for (int i = 0; i < 11; i++)
        assert_int_equal(lab_rx(&lab, 0, 3, 0, 1000), 3);
    assert_int_equal(sw_port_counters(lab.sw, 3)->deep_packets, 6);
    for (int i = 0; i < 5; i++) /* the head, and four that lie on the chip; the fifth's leaving starts the reading */
        assert_true(lab_tx(&lab, 3) >= 0);
    ps_t start = lab.now;
    for (int i = 1; i <= 6; i++) {
        lab.io.kicks = 0;
        assert_int_equal(lab_tx(&lab, 3), -1);
        assert_true(lab.io.deadline == start + (ps_t)i * 8 * PS_NS);
        lab.now = lab.io.deadline - 1;
        sw_tick(lab.sw, lab.now, &lab.io);
        assert_int_equal(lab.io.kicks, 0);
        lab.now++;
        sw_tick(lab.sw, lab.now, &lab.io);
        assert_int_equal(lab.io.kicks, 1);
        assert_int_equal(lab.io.kick[0], 3);
        assert_true(lab_tx(&lab, 3) >= 0);
    }
    lab.io.kicks = 0;
    lab_audit(&lab, 0);
    lab_stop(&lab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_turns),
        cmocka_unit_test(test_credit_bytes),
        cmocka_unit_test(test_deep_rate),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_pause_by_queue),
        cmocka_unit_test(test_down),
        cmocka_unit_test(test_pause_by_shared_queue),
        cmocka_unit_test(test_deep),
        cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
