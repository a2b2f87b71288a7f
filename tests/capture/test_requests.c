/* SPDX-License-Identifier: Apache-2.0 */
/* PSNs, messages and retransmissions: small sequences whose numbers are plain to see, and one that is random. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "../seed.h"
#include "base/rng.h"
#include "lab.h"
#include "packet/opcode.h"

static const struct way there = {.src = 1, .dst = 2, .dst_qp = 0x22};
static const struct way back = {.src = 2, .dst = 1, .dst_qp = 0x11};

static void send_only(struct lab *lab, uint32_t psn)
{
    lab_request(lab, &there, OPCODE_RC_SEND_ONLY, psn, 100, false);
}

static void test_in_order_over_the_wrap(void **state)
{
    (void)state;
    struct lab lab;
    lab_open(&lab, NULL);
    for (uint32_t i = 0; i < 20; i++)
        send_only(&lab, 0xfffff6 + i);
    lab_finish(&lab);
    const struct capture_direction *view = lab_forward(&lab, 0);
    assert_int_equal(view->requests, 20);
    assert_int_equal(view->retransmitted, 0);
    assert_int_equal(view->gaps, 0);
    assert_int_equal(view->filled, 0);
    assert_int_equal(view->psn_wraps, 1);
    assert_int_equal(view->ops[CAPTURE_SEND].messages, 20);
    assert_int_equal(view->goodput_bytes, 2000);
    lab_close(&lab);
}

static void test_repeats_over_the_wrap(void **state)
{
    (void)state;
    struct lab lab;
    lab_open(&lab, NULL);
    for (uint32_t i = 0; i < 8; i++)
        send_only(&lab, 0xfffffc + i);
    for (uint32_t i = 2; i < 8; i++)
        send_only(&lab, 0xfffffc + i);
    lab_finish(&lab);
    const struct capture_direction *view = lab_forward(&lab, 0);
    assert_int_equal(view->retransmitted, 6);
    assert_int_equal(view->retransmitted_first_packet, 9);
    assert_int_equal(view->goodput_bytes, 800);
    assert_int_equal(view->psn_wraps, 1);
    assert_int_equal(capture_totals(lab.capture)->retransmitted, 6);
    lab_close(&lab);
}

static void test_holes(void **state)
{
    (void)state;
    struct lab lab;
    lab_open(&lab, NULL);
    static const uint32_t psn[] = {10, 11, 14, 18, 15, 12, 12, 13, 14, 16, 17, 19};
    for (size_t i = 0; i < sizeof psn / sizeof psn[0]; i++)
        send_only(&lab, psn[i]);
    lab_finish(&lab);
    const struct capture_direction *view = lab_forward(&lab, 0);
    assert_int_equal(view->gaps, 2);
    assert_int_equal(view->missing, 5);
    assert_int_equal(view->filled, 5);        /* 15 12 13 16 17 */
    assert_int_equal(view->retransmitted, 2); /* 12 14 */
    assert_int_equal(view->ops[CAPTURE_SEND].messages, 10);
    lab_close(&lab);
}

static void test_more_holes_than_kept(void **state)
{
    (void)state;
    struct lab lab;
    lab_open(&lab, NULL);
    for (uint32_t i = 0; i < 40; i++)
        send_only(&lab, 2 * i);
    for (uint32_t i = 0; i < 39; i++)
        send_only(&lab, 2 * i + 1);
    lab_finish(&lab);
    const struct capture_direction *view = lab_forward(&lab, 0);
    assert_int_equal(view->gaps, 39);
    /* the sixteen latest holes are known; the ones before count as sent */
    assert_int_equal(view->filled, 16);
    assert_int_equal(view->retransmitted, 23);
    lab_close(&lab);
}

static void test_resets_are_not_gaps(void **state)
{
    (void)state;
    struct lab lab;
    lab_open(&lab, NULL);
    send_only(&lab, 5000000);
    send_only(&lab, 5000001);
    send_only(&lab, 5000002 + (1 << 20)); /* still a gap */
    send_only(&lab, 1);                   /* far below everything: a new life */
    send_only(&lab, 2);
    send_only(&lab, 3000000); /* far above: another */
    lab_finish(&lab);
    const struct capture_direction *view = lab_forward(&lab, 0);
    assert_int_equal(view->gaps, 1);
    assert_int_equal(view->missing, 1 << 20);
    assert_int_equal(view->resets, 2);
    assert_int_equal(view->retransmitted, 0);
    assert_non_null(lab_finding(&lab, "CAP036"));
    lab_close(&lab);
}

static void test_starts_below_the_first(void **state)
{
    (void)state;
    struct lab lab;
    lab_open(&lab, NULL);
    static const uint32_t psn[] = {2, 0xfffffe, 0xfffffe, 0, 1, 0xffffff, 3};
    for (size_t i = 0; i < sizeof psn / sizeof psn[0]; i++)
        send_only(&lab, psn[i]);
    lab_finish(&lab);
    const struct capture_direction *view = lab_forward(&lab, 0);
    assert_int_equal(view->filled, 4);
    assert_int_equal(view->retransmitted, 1);
    assert_int_equal(view->gaps, 0);
    lab_close(&lab);
}

/* READs take the PSNs of their responses; the MTU comes from the first response packet. */
static void test_read_ranges(void **state)
{
    (void)state;
    struct lab lab;
    lab_open(&lab, NULL);
    lab_request(&lab, &there, OPCODE_RC_READ_REQUEST, 100, 4096, false); /* 4 of 1024, not known yet */
    lab_response(&lab, &back, OPCODE_RC_READ_RESPONSE_FIRST, 100, 1024);
    lab_response(&lab, &back, OPCODE_RC_READ_RESPONSE_MIDDLE, 101, 1024);
    lab_request(&lab, &there, OPCODE_RC_READ_REQUEST, 102, 2048, false); /* reads the rest again */
    lab_response(&lab, &back, OPCODE_RC_READ_RESPONSE_FIRST, 102, 1024);
    lab_response(&lab, &back, OPCODE_RC_READ_RESPONSE_LAST, 103, 1024);
    lab_request(&lab, &there, OPCODE_RC_READ_REQUEST, 104, 3000, false);
    lab_request(&lab, &there, OPCODE_RC_SEND_ONLY, 107, 10, false);
    lab_request(&lab, &there, OPCODE_RC_SEND_ONLY, 109, 10, false);
    lab_finish(&lab);
    const struct capture_direction *view = lab_forward(&lab, 0);
    assert_int_equal(view->retransmitted, 1);
    assert_int_equal(view->gaps, 1);
    assert_int_equal(view->missing, 1);
    assert_int_equal(view->ops[CAPTURE_READ].messages, 2);
    assert_int_equal(view->ops[CAPTURE_READ].bytes, 4096 + 3000);
    assert_int_equal(lab_reverse(&lab, 0)->mtu, 1024);
    assert_int_equal(lab_reverse(&lab, 0)->goodput_bytes, 4096);
    lab_close(&lab);
}

static void test_read_of_unknown_mtu_is_no_gap(void **state)
{
    (void)state;
    struct lab lab;
    lab_open(&lab, NULL);
    lab_request(&lab, &there, OPCODE_RC_READ_REQUEST, 7, 65536, false);
    lab_request(&lab, &there, OPCODE_RC_READ_REQUEST, 23, 65536, false);
    lab_request(&lab, &there, OPCODE_RC_SEND_ONLY, 39, 10, false);
    lab_request(&lab, &there, OPCODE_RC_SEND_ONLY, 41, 10, false);
    lab_finish(&lab);
    assert_int_equal(lab_forward(&lab, 0)->gaps, 1);
    assert_int_equal(lab_forward(&lab, 0)->retransmitted, 0);
    lab_close(&lab);
}

/* A message's size is right though its middle was lost ahead of the capture point and came later. */
static void test_message_sizes(void **state)
{
    (void)state;
    struct lab lab;
    lab_open(&lab, NULL);
    lab_request(&lab, &there, OPCODE_RC_SEND_MIDDLE, 8, 1024, false); /* the capture starts in a message */
    lab_request(&lab, &there, OPCODE_RC_SEND_LAST, 9, 100, true);
    lab_request(&lab, &there, OPCODE_RC_SEND_FIRST, 10, 1024, false);
    lab_request(&lab, &there, OPCODE_RC_SEND_LAST, 12, 500, true);
    lab_request(&lab, &there, OPCODE_RC_SEND_FIRST, 13, 1024, false);
    lab_request(&lab, &there, OPCODE_RC_SEND_MIDDLE, 11, 1024, false);
    lab_request(&lab, &there, OPCODE_RC_SEND_LAST, 14, 1, true);
    lab_write_first(&lab, &there, 15, 1024, 3000);
    lab_request(&lab, &there, OPCODE_RC_WRITE_LAST, 17, 952, true);
    lab_request(&lab, &there, OPCODE_RC_WRITE_ONLY, 18, 0, true);
    lab_request(&lab, &there, OPCODE_RC_FETCH_ADD, 19, 0, true);
    lab_finish(&lab);
    const struct capture_direction *view = lab_forward(&lab, 0);
    const struct capture_ops *send = &view->ops[CAPTURE_SEND], *writes = &view->ops[CAPTURE_WRITE];
    assert_int_equal(send->messages, 3);
    assert_int_equal(send->bytes, 1124 + 2548 + 1025);
    assert_int_equal(send->min_bytes, 1025);
    assert_int_equal(send->max_bytes, 2548);
    assert_int_equal(send->size_class[11], 2);
    assert_int_equal(send->size_class[12], 1);
    assert_int_equal(writes->messages, 2);
    assert_int_equal(writes->bytes, 3000);
    assert_int_equal(writes->size_class[0], 1);
    assert_int_equal(view->ops[CAPTURE_ATOMIC].bytes, 8);
    assert_int_equal(view->mtu, 1024);
    lab_close(&lab);
}

static void test_causes(void **state)
{
    (void)state;
    struct lab lab;
    lab_open(&lab, NULL);
    for (uint32_t psn = 0; psn < 6; psn++)
        lab_request(&lab, &there, OPCODE_RC_SEND_ONLY, psn, 64, true);
    lab_ack(&lab, &back, 1, 1);
    lab_nak(&lab, &back, 2, 0x60); /* sequence error */
    for (uint32_t psn = 2; psn < 6; psn++)
        lab_request(&lab, &there, OPCODE_RC_SEND_ONLY, psn, 64, true);
    lab_ack(&lab, &back, 5, 6);
    lab_request(&lab, &there, OPCODE_RC_SEND_ONLY, 6, 64, true);
    lab_nak(&lab, &back, 6, 0x20 | 14); /* receiver not ready */
    lab_request(&lab, &there, OPCODE_RC_SEND_ONLY, 6, 64, true);
    lab_ack(&lab, &back, 6, 7);
    lab_request(&lab, &there, OPCODE_RC_SEND_ONLY, 7, 64, true);
    lab_request(&lab, &there, OPCODE_RC_SEND_ONLY, 7, 64, true);
    lab_ack(&lab, &back, 7, 8);
    lab_ack(&lab, &back, 7, 8);
    lab_finish(&lab);
    const struct capture_direction *view = lab_forward(&lab, 0), *other = lab_reverse(&lab, 0);
    assert_int_equal(view->retransmitted, 6);
    assert_int_equal(view->retransmitted_by[CAPTURE_BY_NAK], 4);
    assert_int_equal(view->retransmitted_by[CAPTURE_BY_RNR], 1);
    assert_int_equal(view->retransmitted_by[CAPTURE_BY_TIMEOUT], 1);
    assert_int_equal(other->naks[NAK_PSN_SEQUENCE], 1);
    assert_int_equal(other->rnr_naks, 1);
    assert_int_equal(other->rnr_max_ns, 1280000);
    assert_int_equal(other->acks, 5);
    assert_int_equal(other->duplicate_acks, 1);
    assert_int_equal(capture_totals(lab.capture)->naks, 1);
    assert_int_equal(capture_totals(lab.capture)->rnr_naks, 1);
    assert_non_null(lab_finding(&lab, "CAP010"));
    assert_non_null(lab_finding(&lab, "CAP011"));
    assert_non_null(lab_finding(&lab, "CAP013"));
    lab_close(&lab);
}

/* READs longer than half of all PSNs, by a First that claims a tiny MTU: nonsense, but it must not derail. */
static void test_absurd_read(void **state)
{
    (void)state;
    struct lab lab;
    lab_open(&lab, NULL);
    lab_request(&lab, &there, OPCODE_RC_SEND_FIRST, 0xfffff0, 1, false);
    lab_request(&lab, &there, OPCODE_RC_READ_REQUEST, 0xfffff1, UINT32_MAX, false);
    lab_request(&lab, &there, OPCODE_RC_SEND_ONLY, 0x7ffff1, 8, false);
    lab_finish(&lab);
    const struct capture_direction *view = lab_forward(&lab, 0);
    assert_int_equal(view->gaps, 0);
    assert_int_equal(view->resets, 0);
    assert_int_equal(view->psn_wraps, 1);
    assert_int_equal(view->ops[CAPTURE_READ].max_bytes, UINT32_MAX);
    lab_close(&lab);
}

/* An answer that this requester cannot have asked for covers nothing. */
static void test_stray_answer(void **state)
{
    (void)state;
    struct lab lab;
    lab_open(&lab, NULL);
    lab_request(&lab, &there, OPCODE_RC_SEND_ONLY, 1, 8, true);
    lab_ack(&lab, &back, 1, 1);
    lab_request(&lab, &there, OPCODE_RC_SEND_ONLY, 2, 8, true);
    lab_ack(&lab, &back, 0x300000, 9);
    lab_request(&lab, &there, OPCODE_RC_SEND_ONLY, 4, 8, true);
    lab_finish(&lab);
    assert_int_equal(lab_forward(&lab, 0)->ack_latency->count, 1);
    assert_null(lab_finding(&lab, "CAP014"));
    assert_non_null(lab_finding(&lab, "CAP015"));
    lab_close(&lab);
}

/* Against a literal set: random walks that go forward, skip, fill and repeat, within the holes kept. */
static void test_random_walk(void **state)
{
    (void)state;
    const uint64_t seed = test_seed_or(20240717);
    static uint8_t sent[1 << 16];
    for (unsigned round = 0; round < 50; round++) {
        struct lab lab;
        struct rng rng;
        uint64_t expect_again = 0, expect_filled = 0, holes = 0;
        uint32_t start = 0, highest = 0;
        memset(sent, 0, sizeof sent);
        rng_init(&rng, seed, round);
        start = rng_u32(&rng) & 0xffffff;
        lab_open(&lab, NULL);
        sent[0] = 1;
        send_only(&lab, start);
        for (unsigned i = 0; i < 2000; i++) {
            uint32_t at = highest + 1;
            if (rng_chance(&rng, 300000)) at = (uint32_t)rng_below(&rng, highest + 1);
            if (rng_chance(&rng, 50000) && holes < 6) at = highest + 2 + (uint32_t)rng_below(&rng, 5);
            if (at > highest + 1) holes++;
            if (at <= highest && sent[at]) expect_again++;
            if (at <= highest && !sent[at]) expect_filled++;
            sent[at] = 1;
            if (at > highest) highest = at;
            send_only(&lab, start + at);
        }
        lab_finish(&lab);
        const struct capture_direction *view = lab_forward(&lab, 0);
        if (view->retransmitted != expect_again || view->filled != expect_filled || view->gaps != holes)
            fail_msg("seed %llu round %u: again %llu of %llu, filled %llu of %llu", (unsigned long long)seed, round,
                     (unsigned long long)view->retransmitted, (unsigned long long)expect_again,
                     (unsigned long long)view->filled, (unsigned long long)expect_filled);
        lab_close(&lab);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_order_over_the_wrap),
        cmocka_unit_test(test_repeats_over_the_wrap),
        cmocka_unit_test(test_holes),
        cmocka_unit_test(test_more_holes_than_kept),
        cmocka_unit_test(test_resets_are_not_gaps),
        cmocka_unit_test(test_starts_below_the_first),
        cmocka_unit_test(test_read_ranges),
        cmocka_unit_test(test_read_of_unknown_mtu_is_no_gap),
        cmocka_unit_test(test_message_sizes),
        cmocka_unit_test(test_causes),
        cmocka_unit_test(test_absurd_read),
        cmocka_unit_test(test_stray_answer),
        cmocka_unit_test(test_random_walk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
