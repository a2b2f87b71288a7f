/* SPDX-License-Identifier: Apache-2.0 */
/* Many requests on their way at once, first answers that are NAKs, answers that are not in the capture or cut off. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../seed.h"
#include "base/rng.h"
#include "lab.h"
#include "packet/opcode.h"

#define SEQUENCE_NAK (AETH_NAK << 5 | NAK_PSN_SEQUENCE)
#define RNR (AETH_RNR_NAK << 5 | 12)

static const struct way there = {.src = 1, .dst = 2, .dst_qp = 0x22}, back = {.src = 2, .dst = 1, .dst_qp = 0x11};

static void put_sends(struct lab *lab, const struct way *way, uint32_t psn, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        lab_request(lab, way, OPCODE_RC_SEND_ONLY, psn + i, 64, true);
}

/* One message of `count` packets; only the last asks for an ACK. */
static void put_message(struct lab *lab, const struct way *way, uint32_t psn, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint8_t opcode = i == 0 ? OPCODE_RC_SEND_FIRST : i + 1 < count ? OPCODE_RC_SEND_MIDDLE : OPCODE_RC_SEND_LAST;
        lab_request(lab, way, opcode, psn + i, 1024, i + 1 == count);
    }
}

/* Four connections, 128 deep; the responder has ports of its own.  The oldest is lost, all of them are sent again. */
static void test_deep_queue(void **state)
{
    (void)state;
    enum { CONNECTIONS = 4, DEPTH = 128 };
    struct lab lab;
    lab_open(&lab, NULL);
    for (uint32_t i = 0; i < CONNECTIONS; i++) {
        struct way go = {.src = 1, .dst = 2, .dst_qp = 0x100 + i, .sport = (uint16_t)(50000 + i)};
        struct way come = {.src = 2, .dst = 1, .dst_qp = 0x200 + i, .sport = (uint16_t)(60000 + i)};
        uint32_t psn = 0xfffff0 + i * 70000;
        put_sends(&lab, &go, psn, DEPTH);
        for (uint32_t n = 0; n < DEPTH; n++) {
            lab_ack(&lab, &come, psn + n, n + 1);
            put_sends(&lab, &go, psn + DEPTH + n, 1);
        }
        lab_nak(&lab, &come, psn + DEPTH, SEQUENCE_NAK);
        put_sends(&lab, &go, psn + DEPTH, DEPTH);
    }
    lab_finish(&lab);
    assert_int_equal(capture_connections(lab.capture), CONNECTIONS);
    for (uint32_t i = 0; i < CONNECTIONS; i++) {
        const struct capture_direction *view = lab_forward(&lab, i);
        assert_int_equal(view->src_qp, 0x200 + i);
        assert_int_equal(view->paired_by, CAPTURE_PAIRED_PSN);
        assert_int_equal(view->retransmitted_by[CAPTURE_BY_NAK], DEPTH);
        assert_int_equal(view->retransmitted, DEPTH);
        assert_non_null(view->ack_latency);
        assert_true(view->ack_latency->count >= 16);
        /* each waits for 127 others, which take two steps from the second round on */
        assert_true(view->ack_latency->max <= 2 * DEPTH * 100);
        assert_true(view->ack_latency->min >= DEPTH * 100);
    }
    assert_null(lab_finding(&lab, "CAP011"));
    lab_close(&lab);
}

static void test_one_ack_for_many(void **state)
{
    (void)state;
    struct lab lab;
    struct way other = {.src = 1, .dst = 2, .dst_qp = 0x33};
    lab_open(&lab, NULL);
    put_sends(&lab, &other, 700000, 40);
    put_sends(&lab, &there, 5, 40);
    lab_ack(&lab, &back, 44, 40);
    lab_finish(&lab);
    assert_int_equal(lab_forward(&lab, 1)->src_qp, 0x11);
    assert_int_equal(lab_forward(&lab, 1)->paired_by, CAPTURE_PAIRED_PSN);
    assert_int_equal(lab_forward(&lab, 1)->ack_latency->count, 40);
    assert_int_equal(lab_forward(&lab, 1)->ack_latency->max, 4000);
    assert_int_equal(lab_forward(&lab, 1)->ack_latency->min, 100);
    assert_null(lab_reverse(&lab, 0));
    lab_close(&lab);
}

/* Ten thousand between two hosts, all from PSN 0, one ACK for all that each sent: the port tells, or nothing does. */
static void test_many_equal(void **state)
{
    (void)state;
    enum { CONNECTIONS = 10000 };
    for (unsigned own_port = 0; own_port < 2; own_port++) {
        struct lab lab;
        lab_open(&lab, &(struct capture_options){.max_connections = 2 * CONNECTIONS, .skip_icrc = true});
        for (uint32_t i = 0; i < CONNECTIONS; i++) {
            struct way go = {.src = 1, .dst = 2, .dst_qp = 0x10000 + i, .sport = (uint16_t)(40000 + i)};
            put_sends(&lab, &go, 0, 8);
        }
        for (uint32_t n = 0; n < 6; n++)
            for (uint32_t i = CONNECTIONS; i-- > 0;) {
                struct way come = {.src = 2, .dst = 1, .dst_qp = 0x20000 + i, .sport = (uint16_t)(40000 + i)};
                if (own_port) come.sport = 7;
                lab_ack(&lab, &come, 7, 8);
            }
        lab_finish(&lab);
        assert_int_equal(capture_connections(lab.capture), CONNECTIONS);
        for (uint32_t i = 0; i < CONNECTIONS; i++) {
            const struct capture_direction *view = lab_forward(&lab, i);
            assert_int_not_equal(view->src_qp, CAPTURE_NONE);
            if (!own_port) assert_int_equal(view->src_qp, 0x20000 + i);
            /* the last one that a port is found for has no rival any more */
            if (i || own_port) assert_int_equal(view->paired_by, own_port ? CAPTURE_PAIRED_GUESS : CAPTURE_PAIRED_PORT);
        }
        lab_close(&lab);
    }
}

static void check_first_answer(uint8_t syndrome, enum capture_cause cause)
{
    for (uint32_t at = 0; at < 10; at++) {
        struct lab lab;
        struct way own = back;
        own.sport = 61000;
        lab_open(&lab, NULL);
        put_message(&lab, &there, 40, 10);
        lab_nak(&lab, &own, 40 + at, syndrome);
        for (uint32_t i = at; i < 10; i++)
            lab_request(&lab, &there,
                        i == 0  ? OPCODE_RC_SEND_FIRST
                        : i < 9 ? OPCODE_RC_SEND_MIDDLE
                                : OPCODE_RC_SEND_LAST,
                        40 + i, 1024, i == 9);
        lab_ack(&lab, &own, 49, 1);
        lab_finish(&lab);
        assert_int_equal(capture_connections(lab.capture), 1);
        assert_int_equal(lab_forward(&lab, 0)->retransmitted_by[cause], 10 - at);
        assert_int_equal(lab_forward(&lab, 0)->retransmitted, 10 - at);
        lab_close(&lab);
    }
}

static void test_first_answer_is_a_nak(void **state)
{
    (void)state;
    check_first_answer(SEQUENCE_NAK, CAPTURE_BY_NAK);
    check_first_answer(RNR, CAPTURE_BY_RNR);
}

static int ascending(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* ACKs in order after random waits, many requests on their way: the percentiles are those of all requests.  `every`
 * packets apart are those that ask for an ACK. */
static void check_unbiased(unsigned depth, uint32_t every)
{
    enum { REQUESTS = 20000, STEP = 1000 };
    static uint64_t answered[REQUESTS], latency[REQUESTS];
    const uint64_t seed = test_seed_or(5);
    struct rng rng;
    struct lab lab;
    uint64_t last = 0;
    rng_init(&rng, seed, depth);
    for (uint32_t i = 0; i < REQUESTS; i++) {
        /* mostly short, sometimes long: what a ring of the oldest would be wrong about */
        uint64_t wait = (rng_chance(&rng, 20000) ? 4 : 1) * (1 + rng_below(&rng, depth * STEP));
        answered[i] = (uint64_t)i * STEP + wait;
        if (answered[i] <= last) answered[i] = last + 1;
        last = answered[i];
        latency[i] = answered[i] - (uint64_t)i * STEP;
    }
    lab_open(&lab, &(struct capture_options){.max_connections = 4, .skip_icrc = true});
    lab.step_ns = 0;
    for (uint32_t sent = 0, acked = 0; acked < REQUESTS;) {
        if (sent < REQUESTS && (uint64_t)sent * STEP <= answered[acked]) {
            lab.now_ns = LAB_START_NS + (uint64_t)sent * STEP;
            for (uint32_t n = 0; n < every; n++)
                lab_request(&lab, &there, OPCODE_RC_SEND_ONLY, sent * every + n, 8, n + 1 == every);
            sent++;
        } else {
            lab.now_ns = LAB_START_NS + answered[acked];
            lab_ack(&lab, &back, (acked + 1) * every - 1, acked + 1);
            acked++;
        }
    }
    lab_finish(&lab);
    qsort(latency, REQUESTS, sizeof latency[0], ascending);
    const struct capture_direction *view = lab_forward(&lab, 0);
    const struct histo *histo = view->ack_latency;
    assert_true(histo->count >= REQUESTS / (2 * view->latency_one_in) && histo->count <= REQUESTS);
    assert_true(view->latency_one_in <= depth / 4);
    uint64_t true_p50 = latency[REQUESTS / 2], p50 = histo_percentile(histo, 500000);
    uint64_t true_p90 = latency[REQUESTS / 10 * 9], p90 = histo_percentile(histo, 900000);
    if (p50 < true_p50 / 100 * 93 || p50 > true_p50 / 100 * 107 || p90 < true_p90 / 100 * 90 ||
        p90 > true_p90 / 100 * 110)
        fail_msg("seed %llu depth %u every %u: p50 %llu of %llu, p90 %llu of %llu", (unsigned long long)seed, depth,
                 every, (unsigned long long)p50, (unsigned long long)true_p50, (unsigned long long)p90,
                 (unsigned long long)true_p90);
    lab_close(&lab);
}

static void test_latency_is_not_biased(void **state)
{
    (void)state;
    for (unsigned depth = 16; depth <= 256; depth *= 4) {
        check_unbiased(depth, 1);
        check_unbiased(depth, 4);
    }
    if (test_rounds_of(8) == 8) check_unbiased(256, 64); /* the deepest: more than a million packets */
}

/* A mirror of one direction: each message was NAKed twice and went on; nobody is silent. */
static void test_one_way(void **state)
{
    (void)state;
    struct lab lab;
    lab_open(&lab, NULL);
    for (uint32_t message = 0; message < 5; message++) {
        put_sends(&lab, &there, 50 + message * 5, 5);
        for (unsigned again = 0; again < 3; again++)
            put_sends(&lab, &there, 52 + message * 5, 3);
    }
    lab_finish(&lab);
    assert_null(lab_finding(&lab, "CAP004"));
    assert_non_null(lab_finding(&lab, "CAP012"));
    assert_int_equal(lab_forward(&lab, 0)->retransmitted_by[CAPTURE_BY_UNKNOWN], 45);
    assert_int_equal(lab_forward(&lab, 0)->retransmitted, 45);
    assert_int_equal(capture_totals(lab.capture)->retransmitted_by[CAPTURE_BY_UNKNOWN], 45);
    assert_int_equal(capture_totals(lab.capture)->retransmitted_by[CAPTURE_BY_TIMEOUT], 0);
    lab_close(&lab);
}

/* The snap length is inside the headers behind the BTH: everything is counted but what those would say. */
static void test_cut_inside_the_headers(void **state)
{
    (void)state;
    const uint32_t bth_end = 14 + 20 + 8 + 12;
    struct lab lab, whole;
    lab_open(&lab, NULL);
    lab_open(&whole, NULL);
    for (uint32_t i = 0; i < 10; i++) {
        uint32_t psn = 100 + i * 10;
        if (i == 5) psn = 140; /* again, and nobody can say why */
        for (unsigned k = 0; k < 5; k++) {
            if (k == 0) lab_write_first(&whole, &there, psn, 1024, 2048);
            if (k == 1) lab_request(&whole, &there, OPCODE_RC_WRITE_LAST, psn + 1, 1024, true);
            if (k == 2) lab_nak(&whole, &back, psn + 1, i == 4 ? SEQUENCE_NAK : 0x1f);
            if (k == 3) lab_request(&whole, &there, OPCODE_RC_READ_REQUEST, psn + 2, 8192, true);
            if (k == 4) lab_response(&whole, &back, OPCODE_RC_READ_RESPONSE_ONLY, psn + 2, 100);
            memcpy(lab.frame, whole.frame, sizeof lab.frame);
            lab_raw(&lab, 1, bth_end + i % 4, whole.frame_bytes);
        }
    }
    lab_finish(&lab);
    lab_close(&whole);
    const struct capture_totals *totals = capture_totals(lab.capture);
    assert_int_equal(totals->cut_headers, 0);
    assert_int_equal(totals->roce_packets, 50);
    assert_int_equal(totals->cut, 50);
    assert_int_equal(totals->cut_extended, 40); /* a WRITE Last has none */
    assert_int_equal(totals->answers_cut, 10);
    assert_int_equal(totals->naks + totals->rnr_naks, 0);
    assert_int_equal(capture_connections(lab.capture), 1);
    const struct capture_direction *view = lab_forward(&lab, 0);
    assert_int_equal(view->src_qp, 0x11);
    assert_int_equal(view->retransmitted, 3);
    assert_int_equal(view->retransmitted_by[CAPTURE_BY_UNKNOWN], 3);
    assert_int_equal(view->ops[CAPTURE_WRITE].messages, 9);
    assert_int_equal(view->ops[CAPTURE_WRITE].bytes, 9 * 2048);
    assert_int_equal(view->ops[CAPTURE_READ].messages, 0);
    assert_int_equal(lab_reverse(&lab, 0)->acks, 0);
    assert_int_equal(lab_reverse(&lab, 0)->read_responses, 10);
    assert_null(lab_finding(&lab, "CAP014"));
    assert_null(lab_finding(&lab, "CAP041"));
    assert_non_null(lab_finding(&lab, "CAP030"));
    assert_int_equal(view->gaps, 0);
    lab_close(&lab);
}

static void test_forgotten_holes(void **state)
{
    (void)state;
    struct lab lab;
    lab_open(&lab, NULL);
    for (uint32_t psn = 0; psn < 80; psn += 2)
        put_sends(&lab, &there, psn, 1);
    lab_finish(&lab);
    assert_int_equal(lab_forward(&lab, 0)->gaps, 39);
    assert_int_equal(lab_forward(&lab, 0)->holes_forgotten, 39 - 16);
    assert_int_equal(capture_totals(lab.capture)->holes_forgotten, 39 - 16);
    assert_int_equal(lab_finding(&lab, "CAP042")->severity, CAPTURE_INFO);
    assert_int_equal(lab_finding(&lab, "CAP042")->evidence.packet[0], 2);
    lab_close(&lab);
}

/* Raw IP by the number that some systems write for it. */
static void test_raw_ip(void **state)
{
    (void)state;
    static const uint32_t link[] = {101, 12, 228};
    struct lab lab, whole;
    lab_open(&lab, NULL);
    lab_open(&whole, NULL);
    put_sends(&whole, &there, 1, 1);
    memcpy(lab.frame, whole.frame + 14, sizeof lab.frame - 14);
    for (size_t i = 0; i < sizeof link / sizeof link[0]; i++)
        lab_raw(&lab, link[i], whole.frame_bytes - 14, whole.frame_bytes - 14);
    lab_finish(&lab);
    lab_close(&whole);
    assert_int_equal(capture_totals(lab.capture)->unread, 0);
    assert_int_equal(capture_totals(lab.capture)->roce_packets, 3);
    assert_int_equal(capture_totals(lab.capture)->icrc_checked, 3);
    lab_close(&lab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deep_queue),
        cmocka_unit_test(test_one_ack_for_many),
        cmocka_unit_test(test_many_equal),
        cmocka_unit_test(test_first_answer_is_a_nak),
        cmocka_unit_test(test_latency_is_not_biased),
        cmocka_unit_test(test_one_way),
        cmocka_unit_test(test_cut_inside_the_headers),
        cmocka_unit_test(test_forgotten_holes),
        cmocka_unit_test(test_raw_ip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
