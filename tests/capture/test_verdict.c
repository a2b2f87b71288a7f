/* SPDX-License-Identifier: Apache-2.0 */
/* What is said about a capture, what is not believed, and what cannot be read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "../seed.h"
#include "base/rng.h"
#include "lab.h"
#include "packet/opcode.h"

static const struct way there = {.src = 1, .dst = 2, .dst_qp = 0x22, .ecn = PKT_ECN_ECT0};
static const struct way back = {.src = 2, .dst = 1, .dst_qp = 0x11, .ecn = PKT_ECN_ECT0};

static void test_nothing_wrong(void **state)
{
    (void)state;
    struct lab lab;
    lab_open(&lab, NULL);
    lab_request(&lab, &there, OPCODE_RC_SEND_ONLY, 1, 8, true);
    lab_ack(&lab, &back, 1, 1);
    lab_finish(&lab);
    assert_int_equal(capture_findings(lab.capture), 1);
    assert_string_equal(capture_finding(lab.capture, 0)->id, "CAP000");
    assert_int_equal(capture_finding(lab.capture, 0)->severity, CAPTURE_INFO);
    lab_close(&lab);
}

static void test_empty(void **state)
{
    (void)state;
    struct lab lab;
    lab_open(&lab, NULL);
    lab_finish(&lab);
    assert_int_equal(capture_connections(lab.capture), 0);
    assert_non_null(lab_finding(&lab, "CAP038"));
    assert_null(lab_finding(&lab, "CAP000"));
    lab_close(&lab);
}

/* A packet with a wrong ICRC is counted and moves nothing. */
static void test_damaged_packets_are_not_believed(void **state)
{
    (void)state;
    struct lab lab;
    lab_open(&lab, NULL);
    lab_request(&lab, &there, OPCODE_RC_SEND_ONLY, 1, 8, true);
    lab.damage = true;
    lab_request(&lab, &there, OPCODE_RC_SEND_ONLY, 1000, 8, true);
    lab_request(&lab, &there, OPCODE_RC_SEND_ONLY, 2, 8, true);
    lab.damage = true;
    lab_nak(&lab, &back, 1, 0x62);
    lab_ack(&lab, &back, 2, 1);
    lab_finish(&lab);
    const struct capture_totals *totals = capture_totals(lab.capture);
    const struct capture_direction *view = lab_forward(&lab, 0);
    assert_int_equal(totals->icrc_errors, 2);
    assert_int_equal(totals->icrc_checked, 5);
    assert_int_equal(totals->roce_packets, 5);
    assert_int_equal(totals->naks, 0);
    assert_int_equal(view->packets, 3);
    assert_int_equal(view->requests, 2);
    assert_int_equal(view->gaps, 0);
    assert_int_equal(view->icrc_errors, 1);
    assert_int_equal(view->icrc_first_packet, 2);
    const struct capture_finding *finding = capture_finding(lab.capture, 0);
    assert_string_equal(finding->id, "CAP001");
    assert_int_equal(finding->severity, CAPTURE_ERROR);
    assert_int_equal(finding->evidence.kept, 2);
    assert_int_equal(finding->evidence.packet[1], 4);
    lab_close(&lab);

    lab_open(&lab, &(struct capture_options){.max_connections = 4, .skip_icrc = true});
    lab.damage = true;
    lab_request(&lab, &there, OPCODE_RC_SEND_ONLY, 1000, 8, true);
    lab_finish(&lab);
    assert_int_equal(capture_totals(lab.capture)->icrc_errors, 0);
    assert_int_equal(lab_forward(&lab, 0)->requests, 1);
    lab_close(&lab);
}

static void test_broken_by_nak(void **state)
{
    (void)state;
    struct lab lab;
    lab_open(&lab, NULL);
    lab_request(&lab, &there, OPCODE_RC_WRITE_ONLY, 1, 8, true);
    lab_nak(&lab, &back, 1, 0x60 | NAK_REMOTE_ACCESS);
    lab_finish(&lab);
    const struct capture_finding *finding = lab_finding(&lab, "CAP003");
    assert_non_null(finding);
    assert_int_equal(finding->severity, CAPTURE_ERROR);
    assert_int_equal(finding->connection, 0);
    assert_int_equal(finding->evidence.packet[0], 2);
    assert_non_null(strstr(finding->what, "10.0.0.2 -> 10.0.0.1 QP 0x11"));
    assert_non_null(strstr(finding->what, nak_name(NAK_REMOTE_ACCESS)));
    assert_int_equal(lab_reverse(&lab, 0)->fatal_packet, 2);
    lab_close(&lab);
}

static void test_silent_peer(void **state)
{
    (void)state;
    struct lab lab;
    struct way other = there;
    other.dst_qp = 0x23;
    lab_open(&lab, NULL);
    for (unsigned i = 0; i < 4; i++) {
        lab_request(&lab, &there, OPCODE_RC_WRITE_ONLY, 7, 8, true);
        lab_request(&lab, &there, OPCODE_RC_WRITE_ONLY, 8, 8, true);
        lab_request(&lab, &other, OPCODE_RC_WRITE_ONLY, 7, 8, true);
    }
    lab_request(&lab, &other, OPCODE_RC_WRITE_ONLY, 8, 8, true); /* went on: it was answered elsewhere */
    lab_finish(&lab);
    const struct capture_finding *finding = lab_finding(&lab, "CAP004");
    assert_non_null(finding);
    assert_non_null(strstr(finding->what, "QP 0x22: PSN 7 was sent 3 more times"));
    assert_null(strstr(finding->what, "more connection"));
    lab_close(&lab);
}

static void test_gave_up_on_rnr(void **state)
{
    (void)state;
    struct lab lab;
    lab_open(&lab, NULL);
    for (unsigned i = 0; i < 3; i++) {
        lab_request(&lab, &there, OPCODE_RC_SEND_ONLY, 7, 8, true);
        lab_nak(&lab, &back, 7, 0x21);
    }
    lab_finish(&lab);
    assert_int_equal(lab_forward(&lab, 0)->retransmitted_by[CAPTURE_BY_RNR], 2);
    assert_non_null(lab_finding(&lab, "CAP027"));
    assert_null(lab_finding(&lab, "CAP004"));
    lab_close(&lab);
}

static void test_marks_without_notification(void **state)
{
    (void)state;
    struct lab lab;
    struct way marked = there;
    marked.ecn = PKT_ECN_CE;
    lab_open(&lab, NULL);
    lab_request(&lab, &marked, OPCODE_RC_SEND_ONLY, 1, 8, true);
    lab_ack(&lab, &back, 1, 1);
    lab_finish(&lab);
    assert_non_null(lab_finding(&lab, "CAP017"));
    assert_int_equal(capture_totals(lab.capture)->ecn_marked, 1);
    assert_int_equal(capture_totals(lab.capture)->ecn_capable, 2);
    lab_close(&lab);
}

/* Packets that were acknowledged but are not in the file: the capture lost them, not the network. */
static void test_capture_lost_packets(void **state)
{
    (void)state;
    struct lab lab;
    lab_open(&lab, NULL);
    lab_request(&lab, &there, OPCODE_RC_SEND_ONLY, 1, 8, true);
    lab_request(&lab, &there, OPCODE_RC_SEND_ONLY, 5, 8, true);
    lab_ack(&lab, &back, 5, 5);
    lab_request(&lab, &there, OPCODE_RC_SEND_ONLY, 8, 8, true);
    lab_finish(&lab);
    assert_non_null(strstr(lab_finding(&lab, "CAP014")->what, "3 of"));
    assert_non_null(strstr(lab_finding(&lab, "CAP015")->what, "2 of"));
    lab_close(&lab);
}

static void test_overtaken(void **state)
{
    (void)state;
    struct lab lab;
    lab_open(&lab, NULL);
    static const uint32_t psn[] = {1, 2, 4, 3, 5, 7, 6, 8};
    for (size_t i = 0; i < sizeof psn / sizeof psn[0]; i++)
        lab_request(&lab, &there, OPCODE_RC_SEND_ONLY, psn[i], 8, true);
    lab_ack(&lab, &back, 8, 8);
    lab_finish(&lab);
    assert_int_equal(lab_forward(&lab, 0)->reordered, 2);
    assert_non_null(lab_finding(&lab, "CAP016"));
    assert_null(lab_finding(&lab, "CAP010"));
    lab_close(&lab);
}

static void test_unreadable_and_cut(void **state)
{
    (void)state;
    struct lab lab;
    lab_open(&lab, NULL);
    lab_request(&lab, &there, OPCODE_RC_SEND_ONLY, 1, 64, true);
    lab_raw(&lab, 1, lab.frame_bytes - 40, lab.frame_bytes); /* again, its end cut off */
    lab_raw(&lab, 1, 30, lab.frame_bytes);                   /* cut inside the headers */
    for (uint32_t type = 1000; type < 1010; type++)
        lab_raw(&lab, type, 60, 60);
    lab_raw(&lab, 1000, 60, 60);
    lab_finish(&lab);
    const struct capture_totals *totals = capture_totals(lab.capture);
    assert_int_equal(totals->cut, 1);
    assert_int_equal(totals->cut_headers, 1);
    assert_int_equal(totals->unread, 11);
    assert_int_equal(totals->unread_type[0].records, 2);
    assert_int_equal(totals->unread_type[7].link_type, 1007);
    assert_int_equal(totals->retransmitted, 1); /* cut packets count like others */
    assert_int_equal(totals->packets, totals->roce_packets + totals->unread + totals->cut_headers);
    assert_non_null(lab_finding(&lab, "CAP025"));
    assert_non_null(lab_finding(&lab, "CAP030"));
    lab_close(&lab);
}

/* Findings are sorted, each rule speaks once, and long lists are told as a number. */
static void test_many_connections_one_finding(void **state)
{
    (void)state;
    struct lab lab;
    lab_open(&lab, NULL);
    for (uint32_t i = 0; i < 38; i++) {
        struct way way = {.src = 1, .dst = 2, .dst_qp = 100 + i}, answer = {.src = 2, .dst = 1, .dst_qp = 200 + i};
        lab_request(&lab, &way, OPCODE_RC_SEND_ONLY, i, 8, true);
        for (uint32_t k = 0; k <= (i == 17); k++)
            lab_nak(&lab, &answer, i, 0x21);
        lab.damage = i == 3;
        lab_ack(&lab, &answer, i, 1);
    }
    lab_finish(&lab);
    const struct capture_finding *finding = lab_finding(&lab, "CAP013");
    assert_non_null(strstr(finding->what, "39 RNR NAKs"));
    assert_non_null(strstr(finding->what, "worst: 10.0.0.2 -> 10.0.0.1 QP 0xd9"));
    assert_non_null(strstr(finding->what, "and 37 more"));
    assert_int_equal(finding->evidence.kept, CAPTURE_EVIDENCE);
    for (size_t i = 1; i < capture_findings(lab.capture); i++) {
        const struct capture_finding *a = capture_finding(lab.capture, i - 1), *b = capture_finding(lab.capture, i);
        assert_true(a->severity > b->severity || (a->severity == b->severity && strcmp(a->id, b->id) < 0));
    }
    lab_close(&lab);
}

/* Random packets of every opcode, order and damage between few QPs: the books must balance. */
static void test_random_packets(void **state)
{
    (void)state;
    const uint64_t seed = test_seed_or(99);
    for (unsigned round = 0; round < 20; round++) {
        struct lab lab;
        struct rng rng;
        uint64_t packets = 0, bytes = 0;
        rng_init(&rng, seed, round);
        lab_open(&lab, &(struct capture_options){.max_connections = 64});
        for (unsigned i = 0; i < 3000; i++) {
            uint8_t opcode = (uint8_t)rng_below(&rng, 256);
            struct way way = {.src = (uint8_t)(1 + rng_below(&rng, 2)),
                              .dst = (uint8_t)(1 + rng_below(&rng, 2)),
                              .dst_qp = 10 + (uint32_t)rng_below(&rng, 3),
                              .ecn = (uint8_t)rng_below(&rng, 4),
                              .src_qp = 10 + (uint32_t)rng_below(&rng, 3)};
            uint32_t psn = rng_chance(&rng, 10000) ? rng_u32(&rng) : 0xffff00 + i / 4 + (uint32_t)rng_below(&rng, 40);
            lab.damage = rng_chance(&rng, 20000);
            lab.step_ns = rng_below(&rng, 100000);
            if (opcode_info(opcode)->flags & OP_RESPONSE)
                lab_response(&lab, &way, opcode, psn, opcode_info(opcode)->flags & OP_PAYLOAD ? 256 : 0);
            else
                lab_request(&lab, &way, opcode, psn, (uint32_t)rng_below(&rng, 1025), rng_chance(&rng, 500000));
        }
        lab_finish(&lab);
        for (size_t i = 0; i < capture_connections(lab.capture); i++)
            for (unsigned way = 0; way < 2; way++) {
                const struct capture_direction *view = way ? lab_reverse(&lab, i) : lab_forward(&lab, i);
                if (!view) continue;
                uint64_t sum = 0;
                packets += view->packets;
                bytes += view->bytes;
                for (unsigned bin = 0; bin < CAPTURE_BINS; bin++)
                    sum += view->bin[bin];
                assert_int_equal(sum, view->goodput_bytes);
                assert_true(view->goodput_bytes <= view->payload_bytes);
                assert_true(view->reordered <= view->filled && view->retransmitted <= view->requests);
                sum = 0;
                for (unsigned cause = 0; cause < CAPTURE_CAUSES; cause++)
                    sum += view->retransmitted_by[cause];
                assert_int_equal(sum, view->retransmitted);
            }
        const struct capture_totals *totals = capture_totals(lab.capture);
        if (totals->evicted == 0 && (packets != totals->roce_packets || bytes != totals->roce_bytes))
            fail_msg("seed %llu round %u: %llu packets of %llu", (unsigned long long)seed, round,
                     (unsigned long long)packets, (unsigned long long)totals->roce_packets);
        assert_int_equal(capture_connections(lab.capture) + totals->evicted, totals->connections);
        lab_close(&lab);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_wrong),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_damaged_packets_are_not_believed),
        cmocka_unit_test(test_broken_by_nak),
        cmocka_unit_test(test_silent_peer),
        cmocka_unit_test(test_gave_up_on_rnr),
        cmocka_unit_test(test_marks_without_notification),
        cmocka_unit_test(test_capture_lost_packets),
        cmocka_unit_test(test_overtaken),
        cmocka_unit_test(test_unreadable_and_cut),
        cmocka_unit_test(test_many_connections_one_finding),
        cmocka_unit_test(test_random_packets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
