/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of both ends by hand: when a sink answers and what it says, paths, credit, timers, turns at the port.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "lone.h"

#define US PS_US
#define RTO (15 * US + 6 * 37 * 4096 * 80)

static struct lone lone;
static struct pkt seen;

static void open_with(enum uet_control control)
{
    struct uet_config config = lone_config(control);

    lone_open(&lone, &config);
}

static void expect_answer(uint8_t opcode, uint32_t psn, uint32_t next)
{
    assert_true(lone_tx(&lone, 0, &seen));
    assert_int_equal(seen.opcode, opcode);
    assert_int_equal(seen.psn, psn);
    assert_int_equal(seen.dest_qp, 40);
    assert_int_equal(seen.dst_node, 2);
    assert_int_equal(seen.sport, (uint16_t)(psn + 7)); /* goes back as it came */
    if (opcode != PKT_UET_NACK) assert_int_equal(seen.imm, next);
}

static void expect_silence(void)
{
    assert_false(lone_tx(&lone, 0, &seen));
}

static void test_when_a_sink_answers(void **state)
{
    (void)state;
    open_with(UET_NSCC);
    lone_data(&lone, 0, 0, false, US); /* the first */
    expect_answer(PKT_UET_ACK, 0, 1);
    for (uint32_t psn = 1; psn < 4; psn++) {
        lone_data(&lone, psn, 0, false, US);
        expect_silence();
    }
    lone_data(&lone, 4, 0, false, US); /* 16 KiB */
    expect_answer(PKT_UET_ACK, 4, 5);
    assert_int_equal(seen.uet.bytes, 5 * 4096);
    lone_data(&lone, 5, 0, true, US); /* marked */
    expect_answer(PKT_UET_ACK, 5, 6);
    assert_true(seen.flags & PKT_UET_MARKED);
    lone_data(&lone, 6, 0, false, US);
    expect_silence();
    lone_data(&lone, 8, PKT_UET_ACK_REQUEST | PKT_UET_AGAIN, false, US); /* asked, after a gap */
    expect_answer(PKT_UET_ACK, 8, 7);
    assert_true(seen.flags & PKT_UET_AGAIN);
    assert_int_equal(seen.uet.map, 1);
    assert_int_equal(seen.uet.base, 1);
    assert_int_equal(seen.uet.waiting, 1);
    lone_data(&lone, 7, 0, false, US); /* the gap is filled */
    expect_answer(PKT_UET_ACK, 7, 9);
    assert_int_equal(seen.uet.map, 0);
    lone_data(&lone, 9, 0, false, US); /* that was told; nobody asked again */
    expect_silence();
    lone_data(&lone, 3, 0, false, US); /* a duplicate, counted once */
    expect_answer(PKT_UET_ACK, 3, 10);
    assert_int_equal(seen.uet.bytes, 10 * 4096);
    lone_close(&lone);
}

static void test_the_map_ends_with_the_packet(void **state)
{
    (void)state;
    open_with(UET_NSCC);
    lone_data(&lone, 10, 0, false, US);
    expect_answer(PKT_UET_ACK, 10, 0);
    assert_int_equal(seen.uet.map, 1ull << 9); /* from 1 on */
    lone_data(&lone, 100, PKT_UET_ACK_REQUEST, false, US);
    expect_answer(PKT_UET_ACK, 100, 0);
    assert_int_equal(seen.uet.base, 37);
    assert_int_equal(seen.uet.map, 1ull << 63);
    lone_data(&lone, 99, PKT_UET_ACK_REQUEST, false, US);
    expect_answer(PKT_UET_ACK, 99, 0);
    assert_int_equal(seen.uet.map, 1ull << 63); /* from 36 on; 100 is not in it */
    lone_close(&lone);
}

static void test_trimmed_packets(void **state)
{
    (void)state;
    open_with(UET_NSCC);
    lone_data(&lone, 0, PKT_TRIMMED, true, US);
    expect_answer(PKT_UET_NACK, 0, 0);
    assert_true(seen.flags & PKT_UET_MARKED && !(seen.flags & PKT_UET_LAST_HOP));
    lone_data(&lone, 0, PKT_UET_AGAIN, false, US);
    expect_answer(PKT_UET_ACK, 0, 1);
    lone_data(&lone, 0, PKT_TRIMMED, false, US); /* it is here */
    expect_answer(PKT_UET_ACK, 0, 1);
    assert_int_equal(uet_counters(lone.uet)->rx_trimmed, 2);
    lone_rx(
        &lone,
        (struct pkt){
            .opcode = PKT_UET_DATA, .dest_qp = LONE_SINK, .psn = 1, .sport = 8, .flags = PKT_TRIMMED, .tos = 12 << 2},
        US);
    expect_answer(PKT_UET_NACK, 1, 0);
    assert_true(seen.flags & PKT_UET_LAST_HOP);
    lone_close(&lone);
}

static void test_messages_come_whole_and_in_turn(void **state)
{
    struct uet_completion done;

    (void)state;
    open_with(UET_NSCC);
    lone_data(&lone, 3, PKT_UET_LAST, false, US);
    lone_data(&lone, 1, PKT_UET_LAST, false, US);
    assert_false(uet_completed(lone.uet));
    lone_data(&lone, 0, 0, false, US);
    assert_true(uet_completion(lone.uet, &done));
    assert_true(done.receive && done.good && done.word == 101 && done.owner == 3);
    assert_false(uet_completion(lone.uet, &done));
    lone_data(&lone, 2, 0, false, US);
    assert_true(uet_completion(lone.uet, &done));
    assert_int_equal(done.word, 103);
    lone_close(&lone);
}

static void test_order_is_kept_where_wanted(void **state)
{
    struct uet_config config = lone_config(UET_NSCC);

    (void)state;
    config.ordered = true;
    lone_open(&lone, &config);
    lone_data(&lone, 0, 0, false, US);
    expect_answer(PKT_UET_ACK, 0, 1);
    lone_data(&lone, 2, 0, false, US);
    assert_true(lone_tx(&lone, 0, &seen));
    assert_true(seen.opcode == PKT_UET_NACK && seen.psn == 1);
    lone_data(&lone, 3, 0, false, US);
    expect_silence(); /* once a gap */
    assert_int_equal(uet_counters(lone.uet)->drop_order, 2);
    lone_data(&lone, 1, PKT_UET_ACK_REQUEST, false, US);
    expect_answer(PKT_UET_ACK, 1, 2);
    lone_close(&lone);
}

static void test_what_a_packet_asks_for(void **state)
{
    struct pkt pkt = {0};
    uint32_t count = 0;

    (void)state;
    open_with(UET_NSCC);
    assert_int_equal(uet_post(lone.uet, lone.source, 3 * 4032 - 32, 5, 6, US), 0);
    while (lone_tx(&lone, US, &pkt)) {
        count++;
        assert_int_equal(pkt.payload_bytes, count < 3 ? 4032 : 4000);
        assert_int_equal(pkt.frame_bytes, pkt.payload_bytes + 64);
        assert_int_equal(pkt.flags, count < 3 ? 0 : PKT_UET_LAST | PKT_UET_ACK_REQUEST);
        assert_int_equal(pkt.imm, count < 3 ? 0 : 6);
        assert_int_equal(pkt.tos & PKT_ECN_MASK, PKT_ECN_ECT0);
    }
    assert_int_equal(count, 3);
    lone_nack(&lone, 2, 0, 13 * US);
    assert_true(lone_tx(&lone, 13 * US, &pkt));
    assert_int_equal(pkt.flags, PKT_UET_LAST | PKT_UET_ACK_REQUEST | PKT_UET_AGAIN);
    assert_int_equal(pkt.imm, 6);
    lone_close(&lone);
    open_with(UET_NSCC); /* the last that the window has room for asks */
    assert_int_equal(uet_post(lone.uet, lone.source, 1000000, 5, 6, US), 0);
    for (count = 0; lone_tx(&lone, US, &pkt); count++)
        assert_int_equal(pkt.flags, count < 53 ? 0 : PKT_UET_ACK_REQUEST);
    assert_int_equal(count, 54);
    lone_close(&lone);
}

/* Lost ones go before new ones, the least number first. */
static void test_lost_packets_go_first(void **state)
{
    struct pkt pkt = {0};

    (void)state;
    open_with(UET_NSCC);
    assert_int_equal(uet_post(lone.uet, lone.source, 1000000, 5, 6, US), 0);
    assert_int_equal(lone_tx_all(&lone, US), 54);
    lone_nack(&lone, 9, 0, 13 * US);
    lone_nack(&lone, 7, 0, 13 * US);
    lone_ack(&lone, 6, 7, 7 * 4096, 0, 13 * US);
    assert_true(lone_tx(&lone, 13 * US, &pkt) && pkt.psn == 7);
    assert_true(lone_tx(&lone, 13 * US, &pkt) && pkt.psn == 9);
    assert_true(lone_tx(&lone, 13 * US, &pkt) && pkt.psn == 54);
    lone_nack(&lone, 9, 0, 14 * US);
    lone_nack(&lone, 9, 0, 14 * US); /* once is enough */
    assert_int_equal(uet_counters(lone.uet)->rx_nacks_late, 1);
    lone_close(&lone);
}

static uint32_t values(uint16_t *ret, uint32_t most)
{
    struct pkt pkt = {0};
    uint32_t count = 0;

    while (count < most && lone_tx(&lone, US, &pkt))
        if (pkt.opcode == PKT_UET_DATA) ret[count++] = pkt.sport;
    return count;
}

static void open_policy(enum uet_policy policy, uint16_t paths)
{
    struct uet_config config = lone_config(UET_NSCC);

    config.policy = (uint8_t)policy;
    config.paths = paths;
    config.max_window = 1000000;
    lone_open(&lone, &config);
    assert_int_equal(uet_post(lone.uet, lone.source, 4000000, 0, 0, US), 0);
}

static void test_oblivious_uses_all_in_turn(void **state)
{
    uint16_t value[64];
    uint64_t first = 0, second = 0;

    (void)state;
    open_policy(UET_OBLIVIOUS, 32);
    assert_int_equal(values(value, 64), 64);
    for (uint32_t i = 0; i < 32; i++) {
        first |= 1ull << value[i];
        second |= 1ull << value[i + 32];
    }
    assert_true(first == 0xffffffff && second == 0xffffffff);
    assert_memory_not_equal(value, value + 32, 32 * sizeof(uint16_t)); /* in another order */
    lone_close(&lone);
}

/* A mark costs one turn, a trim four. */
static void test_bitmap_skips(void **state)
{
    uint16_t value[8 * 6];
    uint32_t times[8] = {0};

    (void)state;
    open_policy(UET_BITMAP, 8);
    assert_int_equal(values(value, 8), 8);
    lone_rx(&lone,
            (struct pkt){.opcode = PKT_UET_ACK,
                         .dest_qp = LONE_SOURCE,
                         .psn = 0,
                         .imm = 1,
                         .sport = 2,
                         .flags = PKT_UET_MARKED,
                         .uet = {.bytes = 4096, .base = 1}},
            13 * US);
    lone_rx(&lone, (struct pkt){.opcode = PKT_UET_NACK, .dest_qp = LONE_SOURCE, .psn = 5, .sport = 4}, 13 * US);
    assert_int_equal(values(value, 48), 48);
    for (uint32_t i = 0; i < 48; i++)
        times[value[i] & 7]++;
    assert_in_range(uet_counters(lone.uet)->paths_skipped, 5, 8); /* where two are neighbours one is forgiven */
    assert_true(times[4] < times[2] && times[2] < times[1]);
    lone_close(&lone);
}

static void good(uint32_t psn, uint16_t value, bool marked)
{
    lone_rx(&lone,
            (struct pkt){.opcode = PKT_UET_ACK,
                         .dest_qp = LONE_SOURCE,
                         .psn = psn,
                         .imm = psn + 1,
                         .sport = value,
                         .flags = marked ? PKT_UET_MARKED : 0,
                         .uet = {.bytes = 4096 * (psn + 1), .base = 1}},
            13 * US);
}

static void test_what_came_back_is_used_again(void **state)
{
    static const enum uet_policy policies[] = {UET_REPS, UET_MIXED};
    uint16_t value[100];

    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        open_policy(policies[i], 64);
        assert_int_equal(values(value, 100), 100);
        good(0, 1005, false);
        good(1, 1006, true);
        good(2, 1007, false);
        assert_int_equal(values(value, 3), 3);
        assert_true(value[0] == 1005 && value[1] == 1007 && value[2] < 64);
        assert_int_equal(uet_counters(lone.uet)->paths_recycled, 2);
        lone_close(&lone);
    }
    open_policy(UET_REPS, 64); /* eight are kept */
    assert_int_equal(values(value, 100), 100);
    for (uint32_t i = 0; i < 9; i++)
        good(i, (uint16_t)(1000 + i), false);
    assert_int_equal(values(value, 9), 9);
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(value[i], 1001 + i);
    assert_true(value[8] < 64);
    lone_close(&lone);
}

static void test_ordered_has_one_path(void **state)
{
    struct uet_config config = lone_config(UET_NSCC);
    uint16_t value[40];

    (void)state;
    config.ordered = true;
    lone_open(&lone, &config);
    assert_int_equal(uet_post(lone.uet, lone.source, 4000000, 0, 0, US), 0);
    assert_int_equal(values(value, 40), 40);
    for (uint32_t i = 1; i < 40; i++)
        assert_int_equal(value[i], value[0]);
    lone_close(&lone);
}

static void test_credit_at_the_source(void **state)
{
    struct pkt pkt = {0};

    (void)state;
    open_with(UET_RCCC);
    assert_int_equal(uet_post(lone.uet, lone.source, 4000000, 0, 0, US), 0);
    uint32_t count = 0;
    while (lone_tx(&lone, US, &pkt))
        count++;
    assert_int_equal(count, 55); /* while there is any of the 225,000 B */
    assert_true(pkt.flags & PKT_UET_ACK_REQUEST);
    assert_int_equal(pkt.src_qp, (225000 + 280 + 255) / 256); /* a window, and what was spent too much */
    lone_ack(&lone, 0, 1, 4096, 0, 13 * US);
    assert_int_equal(lone_tx_all(&lone, 13 * US), 0); /* an answer gives no credit */
    lone_rx(&lone, (struct pkt){.opcode = PKT_UET_PULL, .dest_qp = LONE_SOURCE, .imm = 64}, 14 * US);
    assert_int_equal(lone_tx_all(&lone, 14 * US), 4);
    lone_rx(&lone, (struct pkt){.opcode = PKT_UET_PULL, .dest_qp = LONE_SOURCE, .imm = 64}, 14 * US); /* no more */
    assert_int_equal(lone_tx_all(&lone, 14 * US), 0);
    lone_rx(&lone, (struct pkt){.opcode = PKT_UET_PULL, .dest_qp = LONE_SOURCE, .imm = 32}, 14 * US); /* late */
    lone_rx(&lone, (struct pkt){.opcode = PKT_UET_PULL, .dest_qp = LONE_SOURCE, .imm = 128}, 14 * US);
    assert_int_equal(lone_tx_all(&lone, 14 * US), 4);
    lone_close(&lone);
    open_with(UET_RCCC); /* what was left of the first window is gone with the first answer */
    assert_int_equal(uet_post(lone.uet, lone.source, 8 * 4032, 0, 0, US), 0);
    assert_int_equal(lone_tx_all(&lone, US), 8);
    lone_ack(&lone, 0, 1, 4096, 0, 13 * US);
    assert_int_equal(uet_post(lone.uet, lone.source, 8 * 4032, 0, 0, 14 * US), 0);
    assert_int_equal(lone_tx_all(&lone, 14 * US), 0);
    lone_close(&lone);
}

/* 16 KiB each 16,384 x 8 / 0.99 / 100 Gb/s; no more than was wanted, then one window ahead. */
static void test_credit_from_the_sink(void **state)
{
    struct pkt pkt = {0};
    ps_t at = US;

    (void)state;
    open_with(UET_RCCC);
    lone_rx(
        &lone,
        (struct pkt){
            .opcode = PKT_UET_DATA, .dest_qp = LONE_SINK, .src_qp = 160, .payload_bytes = 4032, .frame_bytes = 4096},
        at);
    assert_true(lone_tx(&lone, at, &pkt) && pkt.opcode == PKT_UET_ACK);
    static const uint32_t given[] = {64, 128, 160, 224, 288};
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(uet_deadline(lone.uet), at);
        uet_tick(lone.uet, at, &lone.pool);
        assert_true(lone_tx(&lone, at, &pkt) && pkt.opcode == PKT_UET_PULL);
        assert_int_equal(pkt.imm, given[i]);
        ps_t next = uet_deadline(lone.uet);
        double want = (i == 2 ? 32 : 64) * 256 * 8 / 0.99 / 0.1; /* ps */
        assert_true((double)(next - at) > want - 64 && (double)(next - at) < want + 64);
        at = next;
    }
    while (uet_deadline(lone.uet) != PS_NEVER) {
        at = uet_deadline(lone.uet);
        uet_tick(lone.uet, at, &lone.pool);
        if (lone_tx(&lone, at, &pkt)) assert_true(pkt.imm < 160 + 225000 / 256 + 64);
    }
    assert_true(pkt.imm >= 160 + 225000 / 256);
    lone_close(&lone);
}

static void test_timer(void **state)
{
    struct uet_completion done;
    struct pkt pkt = {0};

    (void)state;
    struct uet_config config = lone_config(UET_NSCC);
    config.retries = 2;
    lone_open(&lone, &config);
    assert_int_equal(uet_post(lone.uet, lone.source, 4032, 77, 0, US), 0);
    assert_int_equal(lone_tx_all(&lone, US), 1);
    ps_t at = US;
    for (uint32_t i = 0; i < 3; i++) { /* sent again after 1, 2 and 4 times 15 us and what 6 x 37 packets take */
        assert_int_equal(uet_deadline(lone.uet), at + (RTO << i));
        at = uet_deadline(lone.uet);
        uet_tick(lone.uet, at, &lone.pool);
        if (i < 2) assert_true(lone_tx(&lone, at, &pkt) && pkt.flags & PKT_UET_AGAIN);
    }
    assert_int_equal(uet_counters(lone.uet)->timeouts, 2);
    assert_false(lone_tx(&lone, at, &pkt));
    assert_true(uet_completion(lone.uet, &done));
    assert_true(!done.good && !done.receive && done.word == 77);
    assert_int_equal(uet_counters(lone.uet)->messages_failed, 1);
    assert_int_equal(uet_post(lone.uet, lone.source, 1, 78, 0, at), 0); /* fails at once */
    assert_true(uet_completion(lone.uet, &done));
    assert_true(!done.good && done.word == 78);
    assert_int_equal(uet_deadline(lone.uet), PS_NEVER);
    lone_close(&lone);
}

/* An ACK in between, and the next silence counts from the start. */
static void test_timer_starts_anew(void **state)
{
    (void)state;
    struct uet_config config = lone_config(UET_NSCC);
    config.retries = 1;
    lone_open(&lone, &config);
    ps_t at = US;
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(uet_post(lone.uet, lone.source, 4032, 77, 0, at), 0);
        assert_int_equal(lone_tx_all(&lone, at), 1);
        while (uet_counters(lone.uet)->timeouts == i) {
            at = uet_deadline(lone.uet);
            uet_tick(lone.uet, at, &lone.pool);
        }
        assert_int_equal(lone_tx_all(&lone, at), 1);
        lone_ack(&lone, i, i + 1, (i + 1) * 4096, PKT_UET_AGAIN, at + US);
    }
    assert_true(uet_completed(lone.uet));
    assert_int_equal(uet_counters(lone.uet)->messages_failed, 0);
    lone_close(&lone);
}

/* Without trimming: more than 1.5 windows have overtaken a packet, or silence that a probe comes back from. */
static void test_loss_is_inferred(void **state)
{
    struct pkt pkt = {0};

    (void)state;
    struct uet_config config = uet_config_default(UET_HTSIM, UET_NSCC, false, 4032, 100000000000, 12 * US);
    config.ends = 4;
    config.first_number = LONE_SOURCE;
    config.infer_loss = true;
    for (uint32_t probe = 0; probe < 2; probe++) {
        lone_open(&lone, &config);
        assert_int_equal(uet_post(lone.uet, lone.source, 4000000, 0, 0, US), 0);
        assert_int_equal(lone_tx_all(&lone, US), 54);
        struct pkt ack = {.opcode = PKT_UET_ACK,
                          .dest_qp = LONE_SOURCE,
                          .psn = 53,
                          .imm = 0,
                          .uet = {.bytes = 53 * 4096, .base = 1, .map = (1ull << 53) - 1, .waiting = probe ? 53 : 56}};
        lone_rx(&lone, ack, 13 * US);
        assert_int_equal(uet_counters(lone.uet)->inferred_losses, probe ? 0 : 1);
        if (probe) { /* silence for three round trips */
            while (uet_counters(lone.uet)->tx_probes == 0)
                uet_tick(lone.uet, uet_deadline(lone.uet), &lone.pool);
            while (lone_tx(&lone, 49 * US, &pkt) && pkt.opcode != PKT_UET_PROBE)
                continue;
            assert_int_equal(pkt.opcode, PKT_UET_PROBE);
            assert_true(pkt.pcp == 3 && pkt.tos == PKT_ECN_ECT0); /* as data, not as control */
            ack.opcode = PKT_UET_PROBE_ACK;
            ack.psn = pkt.psn;
            lone_rx(&lone, ack, 62 * US);
            assert_true(uet_counters(lone.uet)->inferred_losses > 0);
        }
        while (lone_tx(&lone, 62 * US, &pkt) && pkt.psn != 0)
            continue;
        assert_true(pkt.psn == 0 && pkt.flags & PKT_UET_AGAIN);
        lone_close(&lone);
    }
}

/* Ten of control, one of data, while both wait. */
static void test_turns_of_control_and_data(void **state)
{
    struct pkt pkt = {0};
    uint32_t data = 0;

    (void)state;
    open_with(UET_NSCC);
    assert_int_equal(uet_post(lone.uet, lone.source, 1000000, 0, 0, US), 0);
    for (uint32_t psn = 0; psn < 44; psn++)
        lone_data(&lone, psn, PKT_UET_ACK_REQUEST, false, US);
    for (uint32_t i = 0; i < 44; i++) {
        assert_true(lone_tx(&lone, US, &pkt));
        data += pkt.opcode == PKT_UET_DATA;
    }
    assert_int_equal(data, 4);
    lone_close(&lone);
}

static void test_sources_take_turns(void **state)
{
    struct uet_peer there = {.node = 2, .number = 41, .owner = 4, .depth = LONE_DEPTH};
    struct pkt pkt = {0};

    (void)state;
    open_with(UET_NSCC);
    void *memory = lone_memory(uet_source_bytes(&lone.config, LONE_DEPTH));
    struct uet_source *other = uet_open_source(lone.uet, LONE_SOURCE + 2, &there, memory);
    assert_int_equal(uet_post(lone.uet, lone.source, 100000, 0, 0, US), 0);
    assert_int_equal(uet_post(lone.uet, other, 100000, 0, 0, US), 0);
    for (uint32_t i = 0; i < 20; i++) {
        assert_true(lone_tx(&lone, US, &pkt));
        assert_int_equal(pkt.dest_qp, 40 + i % 2);
    }
    lone_close(&lone);
    free(memory);
}

static void test_pauses(void **state)
{
    struct pkt pkt = {0};

    (void)state;
    struct uet_config config = lone_config(UET_NSCC);
    config.control_prio = 6;
    lone_open(&lone, &config);
    assert_int_equal(uet_post(lone.uet, lone.source, 100000, 0, 0, US), 0);
    uet_pause(lone.uet, 1 << 3, 1000, US); /* 512,000 bits: 5.12 us */
    lone_data(&lone, 0, 0, false, US);
    assert_true(lone_tx(&lone, US, &pkt) && pkt.opcode == PKT_UET_ACK);
    assert_false(lone_tx(&lone, US, &pkt));
    assert_int_equal(uet_deadline(lone.uet), US + 5120 * PS_NS);
    uet_tick(lone.uet, uet_deadline(lone.uet), &lone.pool);
    assert_true(lone_tx(&lone, 7 * US, &pkt) && pkt.opcode == PKT_UET_DATA);
    assert_int_equal(uet_counters(lone.uet)->paused_ps, 5120 * PS_NS);
    uet_pause(lone.uet, 1 << 3, 1000, 8 * US);
    uet_pause(lone.uet, 1 << 3, 0, 9 * US);
    assert_true(lone_tx(&lone, 9 * US, &pkt));
    lone_close(&lone);
}

/* The host empties 1 Gb/s: the sources are told, and in the end asked to send again. */
static void test_slow_host(void **state)
{
    uint8_t penalty = 0;

    (void)state;
    open_with(UET_NSCC);
    uet_receive_rate(lone.uet, 1000000000, 0);
    for (uint32_t psn = 0; psn < 120; psn++) {
        lone_data(&lone, psn, PKT_UET_ACK_REQUEST, false, US);
        assert_true(lone_tx(&lone, US, &seen));
        if (seen.opcode != PKT_UET_ACK) break;
        assert_true(seen.mark >= penalty);
        penalty = seen.mark;
    }
    assert_int_equal(penalty, 127);
    assert_int_equal(seen.opcode, PKT_UET_NACK);
    assert_int_equal(seen.psn, 2 * 225000 / 4032);
    lone_close(&lone);
}

/* Whatever comes: the books stay in order. */
static void test_garbage(void **state)
{
    struct rng rng;

    (void)state;
    rng_init(&rng, 4, 4);
    open_with(UET_BOTH);
    assert_int_equal(uet_post(lone.uet, lone.source, 10000000, 0, 0, US), 0);
    for (uint32_t i = 0; i < 20000; i++) {
        struct pkt pkt;
        ps_t now = US + i * 100 * PS_NS;
        uint32_t near = (uint32_t)rng_below(&rng, 200);
        pkt = (struct pkt){.opcode = (uint8_t)rng_below(&rng, 9),
                           .dest_qp = LONE_SOURCE + (uint32_t)rng_below(&rng, 3),
                           .psn = rng_below(&rng, 4) ? near : rng_u32(&rng),
                           .imm = rng_below(&rng, 4) ? near / 2 : rng_u32(&rng),
                           .flags = (uint16_t)(rng_u32(&rng) & 0x21f),
                           .src_qp = rng_u32(&rng) & 0xffff,
                           .payload_bytes = (uint16_t)rng_below(&rng, 4097),
                           .sport = (uint16_t)rng_u32(&rng),
                           .tos = (uint8_t)rng_u32(&rng),
                           .mark = (uint8_t)rng_below(&rng, 128)};
        if (pkt.opcode == PKT_UET_ACK || pkt.opcode == PKT_UET_PROBE_ACK) {
            pkt.uet.map = rng_u64(&rng);
            pkt.uet.base = (uint16_t)rng_below(&rng, 70);
            pkt.uet.bytes = pkt.imm * 4096; /* what is acknowledged was received */
        }
        lone_rx(&lone, pkt, now);
        while (uet_completed(lone.uet))
            (void)uet_completion(lone.uet, &(struct uet_completion){0});
        if (uet_deadline(lone.uet) <= now) uet_tick(lone.uet, now, &lone.pool);
        (void)lone_tx(&lone, now, &pkt);
    }
    lone_close(&lone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_when_a_sink_answers),
        cmocka_unit_test(test_the_map_ends_with_the_packet),
        cmocka_unit_test(test_trimmed_packets),
        cmocka_unit_test(test_messages_come_whole_and_in_turn),
        cmocka_unit_test(test_order_is_kept_where_wanted),
        cmocka_unit_test(test_what_a_packet_asks_for),
        cmocka_unit_test(test_lost_packets_go_first),
        cmocka_unit_test(test_oblivious_uses_all_in_turn),
        cmocka_unit_test(test_bitmap_skips),
        cmocka_unit_test(test_what_came_back_is_used_again),
        cmocka_unit_test(test_ordered_has_one_path),
        cmocka_unit_test(test_credit_at_the_source),
        cmocka_unit_test(test_credit_from_the_sink),
        cmocka_unit_test(test_timer),
        cmocka_unit_test(test_timer_starts_anew),
        cmocka_unit_test(test_loss_is_inferred),
        cmocka_unit_test(test_turns_of_control_and_data),
        cmocka_unit_test(test_sources_take_turns),
        cmocka_unit_test(test_pauses),
        cmocka_unit_test(test_slow_host),
        cmocka_unit_test(test_garbage),
    };
    return cmocka_run_group_tests_name("uet rules", tests, NULL, NULL);
}
