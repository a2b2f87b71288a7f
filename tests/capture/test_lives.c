/* SPDX-License-Identifier: Apache-2.0 */
/* What looks like retransmission and is none: QP numbers used again, packets recorded twice; and what tunnels hide. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "lab.h"
#include "packet/opcode.h"

static const struct way there = {.src = 1, .dst = 2, .dst_qp = 0x22, .ecn = PKT_ECN_ECT0};
static const struct way back = {.src = 2, .dst = 1, .dst_qp = 0x11, .ecn = PKT_ECN_ECT0};

static void again(struct lab *lab)
{
    lab_raw(lab, 1, lab->frame_bytes, lab->frame_bytes);
}

static struct cm_msg cm_message(uint16_t attribute, uint32_t local_id, uint32_t remote_id)
{
    struct cm_msg msg = {.mad = {.base_version = 1, .mgmt_class = MAD_CLASS_CM, .class_version = 2, .method = 3}};
    msg.mad.attribute = attribute;
    msg.local_id = local_id;
    msg.remote_id = remote_id;
    return msg;
}

static void set_up(struct lab *lab, uint32_t id, uint32_t psn)
{
    struct cm_msg req = cm_message(CM_REQ, id, 0), rep = cm_message(CM_REP, 7, id);
    req.qpn = 0x11;
    req.mtu = 3;
    rep.qpn = 0x22;
    req.starting_psn = rep.starting_psn = psn;
    lab_cm(lab, &there, &req);
    lab_cm(lab, &back, &rep);
}

static void take_down(struct lab *lab, uint32_t id)
{
    struct cm_msg dreq = cm_message(CM_DREQ, id, 7), drep = cm_message(CM_DREP, 7, id);
    lab_cm(lab, &there, &dreq);
    lab_cm(lab, &back, &drep);
}

static void talk(struct lab *lab, uint32_t psn, uint32_t messages)
{
    for (uint32_t i = 0; i < messages; i++) {
        lab_request(lab, &there, OPCODE_RC_SEND_ONLY, psn + i, 8, true);
        lab_ack(lab, &back, psn + i, i + 1);
    }
}

static void test_set_up_again(void **state)
{
    (void)state;
    for (unsigned same_id = 0; same_id < 2; same_id++) {
        struct lab lab;
        lab_open(&lab, NULL);
        set_up(&lab, 5, 100);
        talk(&lab, 100, 10);
        take_down(&lab, 5);
        set_up(&lab, same_id ? 5 : 6, 100);
        talk(&lab, 100, 10);
        lab_finish(&lab);
        const struct capture_totals *totals = capture_totals(lab.capture);
        assert_int_equal(totals->retransmitted, 0);
        assert_int_equal(totals->duplicate_acks, 0);
        assert_int_equal(totals->resets, 1);
        assert_int_equal(totals->requests, 20 + 6); /* and the CM messages */
        assert_int_equal(capture_cms(lab.capture), 2);
        assert_null(lab_finding(&lab, "CAP011"));
        assert_non_null(lab_finding(&lab, "CAP036"));
        for (size_t i = 0; i < capture_connections(lab.capture); i++)
            if (lab_forward(&lab, i)->dst_qp == 0x22) assert_int_equal(lab_forward(&lab, i)->ops[0].messages, 20);
        lab_close(&lab);
    }
}

/* The same REQ once more, and messages that come late in the file, are no new life. */
static void test_set_up_once(void **state)
{
    (void)state;
    struct lab lab;
    lab_open(&lab, NULL);
    talk(&lab, 100, 3);
    set_up(&lab, 5, 100);
    set_up(&lab, 5, 100);
    talk(&lab, 100, 3);
    lab_finish(&lab);
    assert_int_equal(capture_totals(lab.capture)->retransmitted, 3);
    assert_int_equal(capture_totals(lab.capture)->resets, 0);
    lab_close(&lab);
}

/* No CM: the responder counts messages from the beginning again. */
static void test_messages_counted_anew(void **state)
{
    (void)state;
    struct lab lab;
    lab_open(&lab, NULL);
    talk(&lab, 100, 30);
    lab.now_ns += 1000000;
    talk(&lab, 105, 30);
    lab_finish(&lab);
    const struct capture_direction *view = lab_forward(&lab, 0);
    assert_int_equal(view->retransmitted, 0);
    assert_int_equal(view->retransmitted_first_packet, 0);
    assert_int_equal(view->resets, 1);
    assert_int_equal(capture_totals(lab.capture)->retransmitted_by[CAPTURE_BY_TIMEOUT], 0);
    assert_int_equal(view->ops[CAPTURE_SEND].messages, 59); /* the one before the ACK that told is not counted */
    assert_null(lab_finding(&lab, "CAP011"));
    assert_non_null(lab_finding(&lab, "CAP036"));
    lab_close(&lab);
}

/* A packet that was overtaken is no packet sent again: an ACK for it with a count from the beginning tells of no new
 * life, for nothing of the old one has been repeated. */
static void test_overtaken_is_no_new_life(void **state)
{
    (void)state;
    struct lab lab;
    lab_open(&lab, NULL);
    talk(&lab, 1, 20);
    lab_request(&lab, &there, OPCODE_RC_SEND_ONLY, 22, 8, true);
    lab_request(&lab, &there, OPCODE_RC_SEND_ONLY, 21, 8, true);
    lab_ack(&lab, &back, 21, 0);
    lab_finish(&lab);
    const struct capture_direction *view = lab_forward(&lab, 0);
    assert_int_equal(lab.number, 43);
    assert_int_equal(view->resets, 0);
    assert_int_equal(view->retransmitted, 0);
    assert_int_equal(view->filled, 1);
    assert_int_equal(view->reordered, 1);
    assert_int_equal(view->ops[CAPTURE_SEND].messages, 22);
    assert_null(lab_finding(&lab, "CAP036"));
    lab_close(&lab);
}

/* A sender that goes back after a timeout: the responder's count goes on, or stands still. */
static void test_sent_again_stays(void **state)
{
    (void)state;
    struct lab lab;
    lab_open(&lab, NULL);
    talk(&lab, 100, 30);
    lab.now_ns += 1000000;
    for (uint32_t psn = 110; psn < 130; psn++)
        lab_request(&lab, &there, OPCODE_RC_SEND_ONLY, psn, 8, true);
    lab_ack(&lab, &back, 129, 30);
    lab_ack(&lab, &back, 120, 21); /* overtaken */
    lab_finish(&lab);
    assert_int_equal(lab_forward(&lab, 0)->retransmitted, 20);
    assert_int_equal(lab_forward(&lab, 0)->resets, 0);
    assert_non_null(lab_finding(&lab, "CAP011"));
    lab_close(&lab);
}

static void test_copies(void **state)
{
    (void)state;
    for (unsigned copies = 1; copies < 4; copies++) {
        struct lab lab;
        lab_open(&lab, NULL);
        for (uint32_t psn = 1; psn <= 20; psn++) {
            lab_request(&lab, &there, OPCODE_RC_WRITE_ONLY, psn, 64, true);
            for (unsigned i = 0; i < copies; i++)
                again(&lab);
            lab_ack(&lab, &back, psn, psn);
            again(&lab);
        }
        lab_finish(&lab);
        const struct capture_direction *view = lab_forward(&lab, 0);
        assert_int_equal(view->retransmitted, 20 * copies); /* literally */
        assert_int_equal(view->copies, 20 * copies);
        assert_int_equal(capture_totals(lab.capture)->copies, 20 * copies);
        assert_null(lab_finding(&lab, "CAP011"));
        assert_null(lab_finding(&lab, "CAP012"));
        assert_null(lab_finding(&lab, "CAP004"));
        assert_null(lab_finding(&lab, "CAP000"));
        const struct capture_finding *finding = lab_finding(&lab, "CAP028");
        assert_non_null(finding);
        assert_int_equal(finding->severity, CAPTURE_WARNING);
        assert_int_equal(finding->evidence.packet[0], 2);
        assert_int_equal(view->ack_latency->count, 20); /* to the first copy */
        lab_close(&lab);
    }
}

/* Loss in a file that holds everything twice, one after the other or interleaved: the loss is still told. */
static void test_copies_around_a_loss(void **state)
{
    (void)state;
    struct lab lab;
    lab_open(&lab, NULL);
    for (uint32_t psn = 1; psn <= 4; psn++) {
        lab_request(&lab, &there, OPCODE_RC_WRITE_ONLY, psn, 64, true);
        again(&lab);
    }
    lab_nak(&lab, &back, 2, 0x60);
    again(&lab);
    for (uint32_t psn = 2; psn <= 6; psn++) {
        lab_request(&lab, &there, OPCODE_RC_WRITE_ONLY, psn, 64, true);
        again(&lab);
    }
    lab.now_ns += 1000000;
    lab_request(&lab, &there, OPCODE_RC_WRITE_ONLY, 6, 64, true); /* and one timeout */
    again(&lab);
    lab_ack(&lab, &back, 6, 6);
    lab_finish(&lab);
    const struct capture_direction *view = lab_forward(&lab, 0);
    assert_int_equal(view->retransmitted_by[CAPTURE_BY_NAK], 3);
    assert_int_equal(view->copies, 10);
    assert_int_equal(view->retransmitted_by[CAPTURE_BY_TIMEOUT], 11);
    assert_non_null(strstr(lab_finding(&lab, "CAP010")->what, "3 of"));
    assert_non_null(strstr(lab_finding(&lab, "CAP011")->what, "1 of"));
    lab_close(&lab);
}

/* A sender that is asked goes back at once, with the same bytes: not copies.  Nor what a timer sends. */
static void test_fast_repeats_are_no_copies(void **state)
{
    (void)state;
    struct lab lab;
    lab_open(&lab, NULL);
    lab.one_ip_id = true;
    for (uint32_t psn = 1; psn <= 4; psn++)
        lab_request(&lab, &there, OPCODE_RC_WRITE_ONLY, psn, 64, true);
    lab_nak(&lab, &back, 2, 0x60);
    for (uint32_t psn = 2; psn <= 4; psn++)
        lab_request(&lab, &there, OPCODE_RC_WRITE_ONLY, psn, 64, true);
    lab.now_ns += 8192;
    lab_request(&lab, &there, OPCODE_RC_WRITE_ONLY, 4, 64, true);
    lab_ack(&lab, &back, 4, 4);
    lab_finish(&lab);
    assert_int_equal(lab_forward(&lab, 0)->retransmitted_by[CAPTURE_BY_NAK], 3);
    assert_int_equal(lab_forward(&lab, 0)->retransmitted_by[CAPTURE_BY_TIMEOUT], 1);
    assert_int_equal(lab_forward(&lab, 0)->copies, 0);
    assert_null(lab_finding(&lab, "CAP028"));
    lab_close(&lab);
}

/* Switches mark the outer header. */
static void test_marks_on_the_tunnel(void **state)
{
    (void)state;
    static const struct {
        uint8_t inner, outer;
        bool capable, marked;
    } sent[] = {
        {PKT_ECN_NOT_ECT, PKT_ECN_NOT_ECT, false, false}, {PKT_ECN_NOT_ECT, PKT_ECN_ECT0, true, false},
        {PKT_ECN_NOT_ECT, PKT_ECN_CE, true, true},        {PKT_ECN_ECT0, PKT_ECN_NOT_ECT, true, false},
        {PKT_ECN_ECT0, PKT_ECN_ECT1, true, false},        {PKT_ECN_ECT0, PKT_ECN_CE, true, true},
        {PKT_ECN_CE, PKT_ECN_NOT_ECT, true, true},        {PKT_ECN_CE, PKT_ECN_CE, true, true},
    };
    for (size_t i = 0; i < sizeof sent / sizeof sent[0]; i++) {
        struct lab lab;
        struct way way = there;
        way.tunnel = true;
        way.vni = 9;
        way.ecn = sent[i].inner;
        way.outer_ecn = sent[i].outer;
        lab_open(&lab, NULL);
        lab_request(&lab, &way, OPCODE_RC_SEND_ONLY, 1, 8, true);
        lab_finish(&lab);
        assert_int_equal(capture_totals(lab.capture)->tunnelled, 1);
        assert_int_equal(capture_totals(lab.capture)->ecn_capable, sent[i].capable);
        assert_int_equal(capture_totals(lab.capture)->ecn_marked, sent[i].marked);
        lab_close(&lab);
    }
}

static void test_network_0_is_a_tunnel(void **state)
{
    (void)state;
    struct lab lab;
    struct way way[3] = {there, there, there};
    way[1].tunnel = way[2].tunnel = true;
    way[2].vni = 1;
    lab_open(&lab, NULL);
    for (unsigned i = 0; i < 3; i++)
        lab_request(&lab, &way[i], OPCODE_RC_SEND_ONLY, 1, 8, true);
    lab_finish(&lab);
    assert_int_equal(capture_connections(lab.capture), 3);
    assert_int_equal(capture_totals(lab.capture)->retransmitted, 0);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(lab_forward(&lab, i)->tunnelled, i > 0);
        assert_int_equal(lab_forward(&lab, i)->vni, i == 2);
    }
    lab_close(&lab);
}

/* A READ asked for again from its middle: no latency for it, but for its neighbours. */
static void test_read_from_the_middle(void **state)
{
    (void)state;
    for (unsigned known = 0; known < 2; known++) {
        struct lab lab;
        lab_open(&lab, NULL);
        if (known) { /* the MTU */
            lab_request(&lab, &there, OPCODE_RC_SEND_FIRST, 8, 1024, false);
            lab_request(&lab, &there, OPCODE_RC_SEND_LAST, 9, 8, false);
        }
        lab_request(&lab, &there, OPCODE_RC_READ_REQUEST, 10, 4096, true);
        lab_response(&lab, &back, OPCODE_RC_READ_RESPONSE_FIRST, 10, 1024);
        lab_response(&lab, &back, OPCODE_RC_READ_RESPONSE_MIDDLE, 11, 1024);
        lab_request(&lab, &there, OPCODE_RC_READ_REQUEST, 14, 1024, true);
        lab.now_ns += 1000000;
        lab_request(&lab, &there, OPCODE_RC_READ_REQUEST, 12, 2048, true);
        lab_response(&lab, &back, OPCODE_RC_READ_RESPONSE_FIRST, 12, 1024);
        lab_response(&lab, &back, OPCODE_RC_READ_RESPONSE_LAST, 13, 1024);
        lab_response(&lab, &back, OPCODE_RC_READ_RESPONSE_ONLY, 14, 1024);
        lab_finish(&lab);
        const struct capture_direction *view = lab_forward(&lab, 0);
        assert_int_equal(view->retransmitted, 1);
        assert_non_null(view->read_latency);
        assert_int_equal(view->read_latency->count, 1); /* of the READ at 14 */
        lab_close(&lab);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set_up_again),          cmocka_unit_test(test_set_up_once),
        cmocka_unit_test(test_messages_counted_anew), cmocka_unit_test(test_overtaken_is_no_new_life),
        cmocka_unit_test(test_sent_again_stays),      cmocka_unit_test(test_copies),
        cmocka_unit_test(test_copies_around_a_loss),  cmocka_unit_test(test_fast_repeats_are_no_copies),
        cmocka_unit_test(test_marks_on_the_tunnel),   cmocka_unit_test(test_network_0_is_a_tunnel),
        cmocka_unit_test(test_read_from_the_middle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
