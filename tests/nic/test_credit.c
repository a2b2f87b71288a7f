/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An adapter behind a line with credits: what it may send, what it tells, a host that takes its time, a line that
 * fails.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "nic/lone.h"

#define VLS 2u
#define BLOCKS 64u
#define PACKET 6u /* 256 bytes of payload, headers and VCRC */
#define PERIOD CREDIT_PERIOD

static void begin(uint64_t rx_bps)
{
    config.header_bytes = 24;
    config.rx_bps = rx_bps;
    config.rx_buffer_bytes = config.rx_xoff_bytes = config.rx_xon_bytes = UINT32_MAX;
    config.credit = (struct credit_port_config){.vls = VLS,
                                                .packet_blocks = PACKET,
                                                .added_bytes = 2,
                                                .own_blocks = BLOCKS,
                                                .peer_blocks = BLOCKS,
                                                .skew_ps = 200 * PS_NS};
    for (uint32_t p = 0; p < NIC_PRIOS; p++)
        config.credit.vl_of_prio[p] = p & 1;
    for (uint32_t d = 0; d < 64; d++)
        config.credit.vl_of_dscp[d] = d >> 3 & 1;
    qp_config.prio = 3;
    qp_config.tos = 3 << 5;
    start();
}

/* The next packet as a driver takes it; its blocks, 0: none. */
static uint32_t send_one(void)
{
    pkt_t id = nic_tx(nic, now, &io);

    if (id == PKT_NONE) return 0;
    nic_credit_tx(nic, &hot[id], now, &io);
    uint32_t blocks = credit_blocks(hot[id].frame_bytes + 2u);
    pktpool_put(&pool, id);
    return blocks;
}

static void write_much(void)
{
    struct nic_wr wr = {.verb = NIC_WRITE, .length = 100 * MTU, .rkey = KEY};

    assert_int_equal(nic_post_send(nic, qp, &wr, now, &io), 0);
}

/* A packet of the peer's, `blocks` long, in VL 1. */
static void arrive(uint32_t blocks)
{
    struct pkt p = packet(OPCODE_RC_ACK, 0, 0);
    pkt_t id = pktpool_get(&pool);

    p.tos = 3 << 5;
    p.frame_bytes = (uint16_t)(blocks * 64 - 2);
    hot[id] = p;
    nic_credit_rx(nic, &hot[id], now, &io);
    nic_rx(nic, id, now, &io);
}

static uint32_t take_word(void)
{
    uint32_t word = io.credit.count ? io.credit.word[0] : 0;

    if (io.credit.count) memmove(io.credit.word, io.credit.word + 1, --io.credit.count * sizeof(io.credit.word[0]));
    return word;
}

static void test_gate(void **state)
{
    uint32_t sent = 0, packets = 0, blocks;

    (void)state;
    begin(0);
    write_much();
    while ((blocks = send_one()) != 0) {
        assert_true(nic_credit_left(nic, 1) >= 0);
        sent += blocks;
        packets++;
        now += 20 * PS_NS;
    }
    /* 64 blocks: ten packets of 5 and more; what is left is less than the largest packet. */
    assert_true(packets >= 10 && sent <= BLOCKS);
    assert_int_equal(nic_credit_left(nic, 1), BLOCKS - sent);
    assert_true(BLOCKS - sent < PACKET);
    assert_int_equal(nic_paused(nic), 0xaa);
    io.kick = false;
    nic_credit(nic, credit_word(CREDIT_LIMIT, 0, 500), now, &io);
    assert_int_equal(send_one(), 0);
    nic_credit(nic, credit_word(CREDIT_LIMIT, 1, sent + PACKET - 1), now, &io);
    assert_int_equal(send_one(), 0);
    assert_false(io.kick);
    now += PS_US;
    nic_credit(nic, credit_word(CREDIT_LIMIT, 1, sent + PACKET), now, &io);
    assert_true(io.kick);
    assert_true(send_one() != 0);
    assert_int_equal(send_one(), 0);
    nic_settle(nic, now);
    assert_int_equal(nic_counters(nic)->prio[1].rx_pause_ps, PS_US + 20 * PS_NS); /* counted once */
    assert_int_equal(nic_counters(nic)->prio[3].rx_pause_ps, 0);
    nic_credit(nic, credit_word(CREDIT_LIMIT, 7, 1), now, &io); /* no such lane */
    assert_int_equal(nic_counters(nic)->rx_credit_words, 4);
}

static void test_tells(void **state)
{
    (void)state;
    begin(0);
    /* An eighth is 8 blocks. */
    arrive(5);
    assert_int_equal(take_word(), 0);
    arrive(5);
    assert_int_equal(take_word(), credit_word(CREDIT_LIMIT, 1, BLOCKS + 10));
    arrive(1);
    assert_int_equal(take_word(), 0);
    assert_true(nic_deadline(nic) == now + PERIOD);
    now += PERIOD;
    nic_credit_tick(nic, now, &io);
    assert_int_equal(take_word(), credit_word(CREDIT_LIMIT, 1, BLOCKS + 11));
    now = nic_deadline(nic);
    nic_credit_tick(nic, now, &io);
    assert_int_equal(take_word(), 0);
    assert_true(nic->credit.timer_at == PS_NEVER); /* silent without traffic */
    /* The peer sent 20, and 11 came. */
    nic_credit(nic, credit_word(CREDIT_SENT, 1, 20), now, &io);
    now += PERIOD;
    nic_credit_tick(nic, now, &io);
    assert_int_equal(take_word(), credit_word(CREDIT_LIMIT, 1, BLOCKS + 20));
    assert_int_equal(nic_credit_held(nic, 1), 0);
}

static void test_says(void **state)
{
    (void)state;
    begin(0);
    write_much();
    uint32_t sent = send_one();
    now += PERIOD;
    nic_credit_tick(nic, now, &io);
    assert_int_equal(take_word(), credit_word(CREDIT_SENT, 1, sent));
    assert_int_equal(take_word(), 0);
}

/* 64 blocks are 4096 bytes: at 1 Gb/s a block takes 512 ns. */
static void test_slow_host(void **state)
{
    (void)state;
    begin(1000000000);
    for (int i = 0; i < 10; i++)
        arrive(6);
    assert_int_equal(take_word(), 0);
    assert_int_equal(nic_credit_held(nic, 1), 60);
    ps_t from = now, until = now + 60 * 512 * PS_NS;
    uint32_t told = BLOCKS;
    while (nic_deadline(nic) < until + PERIOD) {
        uint32_t word;
        now = nic_deadline(nic);
        nic_credit_tick(nic, now, &io);
        nic_tick(nic, now, &io);
        while ((word = take_word()) != 0) {
            uint32_t limit = credit_wide(word, told);
            assert_true(limit > told);
            told = limit;
            /* Never before the host has taken it. */
            assert_true((told - BLOCKS) * 512 * PS_NS <= now - from);
        }
    }
    assert_int_equal(told, BLOCKS + 60);
    assert_int_equal(nic_credit_held(nic, 1), 0);
    /* A host that is fast from now on takes all. */
    for (int i = 0; i < 8; i++)
        arrive(6);
    nic_credit_rate(nic, 0, now, &io);
    assert_int_equal(nic_credit_held(nic, 1), 0);
}

static void test_link(void **state)
{
    (void)state;
    begin(1000000000);
    arrive(6);
    write_much();
    send_one();
    nic_credit_link(nic, false, now, &io);
    assert_int_equal(io.credit.count, 0);
    assert_int_equal(send_one(), 0);
    nic_credit_link(nic, true, now, &io);
    assert_int_equal(take_word(), credit_word(CREDIT_LIMIT, 0, BLOCKS));
    assert_int_equal(take_word(), credit_word(CREDIT_LIMIT, 1, BLOCKS - 6));
    assert_int_equal(send_one(), 0);
    nic_credit(nic, credit_word(CREDIT_LIMIT, 1, BLOCKS), now, &io);
    assert_true(send_one() != 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_gate, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_tells, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_says, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_slow_host, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_link, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
