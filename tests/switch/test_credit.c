/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A switch with credits: gate, words, loss repair, lifetimes, links that fail, arbitration of lanes.
 *
 * Bugs planted by hand in credit.c, arbitrate.c, crossing.h and switch.c, all found here or by the swarm (26 of 26):
 * blocks of a packet sent not counted, or one too few; VCRC forgotten; a dry lane not set, all lanes woken by one,
 * nobody asked again; what was refused given back but not counted, or counted late; held blocks promised again when a
 * link comes up, a lane forgotten then, sending before being told; one drop too many before a stall, drops not
 * forgotten by a packet that goes; FCTBS without skew, its repair left out, said for ever; a timer that never rests,
 * or never starts; a word of a lane that does not exist; a packet that goes at once without giving back, without
 * drying the lane, without the words it owes; blocks given back at the wrong port; an entry kept with no weight left,
 * the low table's turn not ending, a high limit one packet too long, no limit taken for one.
 */
#include "lab.h"

#include "lanes.h"

#define LIFETIME (100 * PS_US)

static void give(uint16_t port, uint32_t vl, uint32_t count)
{
    lab_clear(&lab);
    sw_credit(lab.sw, port, credit_word(CREDIT_LIMIT, vl, count), lab.now, &lab.io);
}

static void test_gate(void **state)
{
    (void)state;
    lanes_defaults();
    lab_start(&lab);
    /* Endless packets from port 0 and lane 0; four fit what port 1 may send. */
    for (int i = 0; i < 4; i++) {
        assert_int_equal(lab_rx(&lab, 0, 1, 0, FULL - VCRC), 1);
        assert_int_equal(lab_tx(&lab, 1), 0);
    }
    assert_int_equal(sw_credit_left(lab.sw, 1, 0), 0);
    assert_int_equal(lab_rx(&lab, 0, 1, 0, FULL - VCRC), 1);
    assert_int_equal(lab_tx(&lab, 1), -1);
    assert_int_equal(sw_waiting(lab.sw, 1), 1);
    assert_int_equal(sw_waiting_prios(lab.sw, 1, 0), 1);
    /* The other lane goes on. */
    assert_int_equal(lab_rx(&lab, 0, 1, 1, FULL - VCRC), 1);
    assert_int_equal(lab_tx(&lab, 1), 1);
    lab.now += 1000;
    give(1, 0, BLOCKS + PACKET - 1);
    assert_int_equal(lab.io.kicks, 0);
    assert_int_equal(lab_tx(&lab, 1), -1);
    give(1, 0, BLOCKS + PACKET);
    assert_int_equal(lab.io.kicks, 1);
    assert_int_equal(lab_tx(&lab, 1), 0);
    assert_int_equal(lab_count(&lab, 1)->prio[0].rx_pause_ps, 1000);
    assert_int_equal(lab_count(&lab, 1)->prio[1].rx_pause_ps, 0);
    give(1, 5, 10); /* no such lane: nothing happens */
    assert_int_equal(lab.sw->port[1].paused >> VLS, 0);
    lab_audit(&lab, 0);
    lab_stop(&lab);
}

static void test_words(void **state)
{
    (void)state;
    lanes_defaults();
    ports[0].own_blocks = 16 * PACKET;
    lab.plain.pg[0].reserved_bytes = lab.plain.pg[1].reserved_bytes = 16 * PACKET * 64;
    lab.config.buffer_bytes *= 4;
    lab_start(&lab);
    /* Two packets are an eighth: the second that leaves is worth a word. */
    assert_int_equal(lab_rx(&lab, 0, 1, 0, FULL - VCRC), 1);
    assert_int_equal(lab_tx(&lab, 1), 0);
    assert_int_equal(lab.io.pauses, 0);
    assert_true(lab.io.deadline == CREDIT_PERIOD);
    assert_int_equal(lab_rx(&lab, 0, 1, 0, FULL - VCRC), 1);
    assert_int_equal(lab_tx(&lab, 1), 0);
    assert_int_equal(lab.io.pauses, 1);
    assert_int_equal(lab.io.pause[0].port, 0);
    assert_int_equal(lab.io.pause[0].credit, credit_word(CREDIT_LIMIT, 0, 18 * PACKET));
    /* The timer tells what is left, and says what was sent: once. */
    assert_int_equal(lab_rx(&lab, 0, 1, 0, 60), 1);
    assert_int_equal(lab_tx(&lab, 1), 0);
    lab_tick(&lab, CREDIT_PERIOD);
    assert_int_equal(lab.io.pauses, 2);
    assert_int_equal(lab.io.pause[0].credit, credit_word(CREDIT_LIMIT, 0, 18 * PACKET + 1));
    assert_int_equal(lab.io.pause[1].port, 1);
    assert_int_equal(lab.io.pause[1].credit, credit_word(CREDIT_SENT, 0, 2 * PACKET + 1));
    lab_tick(&lab, lab.io.deadline);
    assert_int_equal(lab.io.pauses, 0);
    assert_true(lab.io.deadline == PS_NEVER);
    /* What has no way came and went. */
    lab.local_port[3] = UINT16_MAX;
    assert_int_equal(lab_rx(&lab, 0, 3, 0, 60), SW_DROPPED);
    assert_int_equal(sw_credit_held(lab.sw, 0, 0), 0);
    lab.now += CREDIT_PERIOD;
    lab_tick(&lab, lab.io.deadline);
    assert_int_equal(lab.io.pause[0].credit, credit_word(CREDIT_LIMIT, 0, 18 * PACKET + 2));
    lab_stop(&lab);
}

struct trace {
    uint32_t told, limit, sent, words, paused;
};

/* One packet after the other through a switch that is idle, by sw_rx() and sw_tx() or in pieces. */
static void pass_through(bool pieces, struct trace *trace, uint32_t count)
{
    uint32_t at_once = 0;

    lanes_defaults();
    ports[0].own_blocks = 16 * PACKET;
    lab.plain.pg[0].reserved_bytes = lab.plain.pg[1].reserved_bytes = 16 * PACKET * 64;
    lab.config.buffer_bytes *= 4;
    lab_start(&lab);
    for (uint32_t i = 0; i < count; i++, trace++) {
        pkt_t id = lab_packet(&lab, 1, 0, (uint16_t)(60 + i * 37 % 4000));
        struct sw_crossing crossing;
        lab.now += 100 * PS_NS;
        lab_run(&lab, lab.now);
        if (pieces) {
            lab_clear(&lab);
            assert_true(sw_credit_find(lab.sw, 0, id, lab.now, &lab.io, &crossing));
            if (sw_credit_at_once(lab.sw, &crossing)) {
                at_once++;
                pktpool_put(&lab.pool, id);
            } else {
                assert_true(sw_credit_queue(lab.sw, &crossing, id, lab.now, &lab.io));
                (void)lab_tx(&lab, 1);
            }
        } else {
            assert_int_equal(lab_rx_id(&lab, 0, id), 1);
            (void)lab_tx(&lab, 1);
        }
        const struct sw_lane *from = lane_at(lab.sw, 0, 0), *onto = lane_at(lab.sw, 1, 0);
        *trace = (struct trace){from->rx.told, from->rx.limit, onto->tx.sent,
                                (uint32_t)lab_count(&lab, 0)->tx_credit_words, lab.sw->port[1].paused};
        if (i % 4 == 3) give(1, 0, onto->tx.sent + BLOCKS);
    }
    if (pieces) assert_true(at_once > count / 3);
    lab_port(&lab, 1, false);
    lab_stop(&lab);
}

static void test_pieces(void **state)
{
    static struct trace whole[200], parts[200];

    (void)state;
    pass_through(false, whole, 200);
    pass_through(true, parts, 200);
    assert_memory_equal(whole, parts, sizeof(whole));
}

static void test_lost(void **state)
{
    (void)state;
    lanes_defaults();
    lab_start(&lab);
    /* The peer sent two packets, one came; its word comes while the other might still be in the pipeline. */
    assert_int_equal(lab_rx(&lab, 0, 1, 0, FULL - VCRC), 1);
    lab_clear(&lab);
    sw_credit(lab.sw, 0, credit_word(CREDIT_SENT, 0, 2 * PACKET), lab.now, &lab.io);
    lab.now += LATENCY - WORD_LATENCY;
    lab_run(&lab, lab.now);
    assert_int_equal(sw_credit_held(lab.sw, 0, 0), PACKET);
    lab_clear(&lab);
    lab_tick(&lab, lab.io.deadline);
    assert_int_equal(lab.io.pauses, 1);
    assert_int_equal(lab.io.pause[0].credit, credit_word(CREDIT_LIMIT, 0, BLOCKS + PACKET));
    assert_int_equal(lab_tx(&lab, 1), 0);
    lab_stop(&lab);
}

static void test_lifetime(void **state)
{
    (void)state;
    lanes_defaults();
    ports[1].lifetime_ps = LIFETIME;
    ports[1].peer_blocks = PACKET;
    lab_start(&lab);
    lab_rx(&lab, 0, 1, 0, FULL - VCRC);
    assert_int_equal(lab_tx(&lab, 1), 0);
    for (int i = 0; i < 4; i++)
        lab_rx(&lab, 0, 1, 0, FULL - VCRC);
    lab_run(&lab, LIFETIME - 1);
    assert_int_equal(lab_count(&lab, 1)->drop[SW_DROP_lifetime], 0);
    lab_run(&lab, LIFETIME);
    assert_int_equal(lab_count(&lab, 1)->drop[SW_DROP_lifetime], 1);
    lab_run(&lab, 3 * LIFETIME);
    assert_int_equal(lab_count(&lab, 1)->drop[SW_DROP_lifetime], 3);
    /* One goes: the count of drops in a row begins anew, and so does the next head's life. */
    give(1, 0, 2 * PACKET);
    assert_int_equal(lab_tx(&lab, 1), 0);
    for (int i = 0; i < 4; i++)
        lab_rx(&lab, 0, 1, 0, FULL - VCRC);
    for (int i = 0; i < 4; i++)
        lab_rx(&lab, 2, 1, 0, FULL - VCRC);
    ps_t from = lab.now;
    lab_run(&lab, from + 6 * LIFETIME);
    assert_int_equal(lab_count(&lab, 1)->drop[SW_DROP_lifetime], 9);
    assert_int_equal(lab_count(&lab, 1)->vl_stalls, 0);
    lab_run(&lab, from + 7 * LIFETIME);
    assert_int_equal(lab_count(&lab, 1)->vl_stalls, 1);
    assert_int_equal(lab_count(&lab, 1)->drop[SW_DROP_lifetime], 11);
    assert_int_equal(sw_queue_bytes(lab.sw, 1, 0), 0);
    /* While the lane is stalled all is dropped, and the peers have their buffer back; then it goes on. */
    assert_int_equal(lab_rx(&lab, 0, 1, 0, 1000), SW_DROPPED);
    assert_int_equal(sw_credit_held(lab.sw, 0, 0), 0);
    assert_int_equal(sw_credit_held(lab.sw, 2, 0), 0);
    give(1, 0, 3 * PACKET);
    lab_run(&lab, from + 15 * LIFETIME);
    assert_int_equal(lab_rx(&lab, 0, 1, 0, 1000), 1);
    assert_int_equal(lab_tx(&lab, 1), 0);
    lab_stop(&lab);
}

static void test_link(void **state)
{
    (void)state;
    lanes_defaults();
    lab_start(&lab);
    for (int i = 0; i < 3; i++)
        lab_rx(&lab, 0, 1, 0, FULL - VCRC);
    lab_port(&lab, 0, false);
    sw_audit(lab.sw);
    lab_port(&lab, 0, true);
    /* What came by the line before it failed still lies here: it is not promised. */
    assert_int_equal(lab.io.pauses, VLS);
    assert_int_equal(lab.io.pause[0].credit, credit_word(CREDIT_LIMIT, 0, BLOCKS - 3 * PACKET));
    assert_int_equal(lab.io.pause[1].credit, credit_word(CREDIT_LIMIT, 1, BLOCKS));
    /* And nothing is sent before the other end has told. */
    lab_rx(&lab, 1, 0, 0, 100);
    assert_int_equal(lab_tx(&lab, 0), -1);
    give(0, 0, BLOCKS);
    assert_int_equal(lab_tx(&lab, 0), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(lab_tx(&lab, 1), 0);
    assert_int_equal(sw_credit_held(lab.sw, 0, 0), 0);
    /* Down with packets queued: they are dropped, and their senders have the buffer back. */
    lab_rx(&lab, 2, 1, 1, FULL - VCRC);
    assert_int_equal(sw_credit_held(lab.sw, 2, 1), PACKET);
    lab_port(&lab, 1, false);
    assert_int_equal(sw_credit_held(lab.sw, 2, 1), 0);
    lab_stop(&lab);
}

/* Both lanes are kept full at port 1; how many packets each sends of `count`. */
static void shares(uint32_t count, uint32_t *sent, uint32_t *runs)
{
    int before = -1;

    lab_start(&lab);
    sent[0] = sent[1] = *runs = 0;
    for (uint32_t i = 0, limit[2] = {BLOCKS, BLOCKS}; i < count; i++) {
        for (uint8_t vl = 0; vl < 2; vl++) {
            while (sw_queue_bytes(lab.sw, 1, vl) < FULL)
                lab_rx(&lab, 0, 1, vl, FULL - VCRC);
            limit[vl] = (uint32_t)(sent[vl] + 4) * PACKET;
            give(1, vl, limit[vl]);
        }
        int vl = lab_tx(&lab, 1);
        assert_true(vl >= 0);
        sent[vl]++;
        *runs += vl == before && vl == 1;
        before = vl;
    }
    lab_port(&lab, 1, false);
    lab_stop(&lab);
}

static void test_arbitration(void **state)
{
    uint32_t sent[2], twice;

    (void)state;
    lanes_defaults();
    shares(1000, sent, &twice);
    assert_int_equal(sent[0], 500);
    tables = (struct sw_arbitration){.lows = 2, .low = {{0, 64}, {1, 192}}};
    shares(1000, sent, &twice);
    assert_int_equal(sent[0], 250);
    /* Lane 1 in the high table: one packet at a time while lane 0 waits, however much it has. */
    tables = (struct sw_arbitration){.highs = 1, .lows = 1, .high = {{1, 255}}, .low = {{0, 64}}};
    shares(1000, sent, &twice);
    assert_int_equal(sent[1], 500);
    assert_int_equal(twice, 0);
    /* 8 KiB of it: 65 + 65 blocks are more than 128. */
    tables.high_limit = 2;
    shares(999, sent, &twice);
    assert_int_equal(sent[1], 666);
    tables.high_limit = 255;
    shares(1000, sent, &twice);
    assert_int_equal(sent[1], 1000);
    /* An entry without weight is skipped, wherever it stands. */
    tables = (struct sw_arbitration){.lows = 3, .low = {{1, 0}, {0, 64}, {1, 64}}};
    shares(1000, sent, &twice);
    assert_int_equal(sent[1], 500);
}

static void test_problems(void **state)
{
    (void)state;
    lanes_defaults();
    assert_null(sw_config_problem(&lab.config));
    ports[2].own_blocks++;
    assert_string_equal(sw_config_problem(&lab.config), "a lane promises more than its buffer has");
    lanes_defaults();
    ports[2].peer_blocks = PACKET - 1;
    assert_string_equal(sw_config_problem(&lab.config), "a lane has less credits than its largest packet needs");
    lanes_defaults();
    tables.low[1].weight = 0;
    assert_string_equal(sw_config_problem(&lab.config), "a virtual lane has no weight in either arbitration table");
    lanes_defaults();
    tables.low[1].vl = 2;
    assert_string_equal(sw_config_problem(&lab.config),
                        "an arbitration table names a virtual lane that does not exist");
    lanes_defaults();
    lab.plain.tc_to_queue[4] = lab.plain.tc_to_pg[4] = 7;
    assert_string_equal(sw_config_problem(&lab.config), "a class maps to a virtual lane that does not exist");
    lanes_defaults();
    lab.config.credit.vls = 9;
    assert_string_equal(sw_config_problem(&lab.config), "there are at most 8 virtual lanes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gate),        cmocka_unit_test(test_words),    cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_lost),        cmocka_unit_test(test_lifetime), cmocka_unit_test(test_link),
        cmocka_unit_test(test_arbitration), cmocka_unit_test(test_problems),

    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
