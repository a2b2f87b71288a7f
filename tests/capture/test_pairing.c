/* SPDX-License-Identifier: Apache-2.0 */
/* Which two directions are one connection, and which connections are kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "lab.h"
#include "packet/opcode.h"

static void test_answer_pairs(void **state)
{
    (void)state;
    struct lab lab;
    struct way there = {.src = 1, .dst = 2, .dst_qp = 0x22}, back = {.src = 2, .dst = 1, .dst_qp = 0x11};
    struct way other = {.src = 1, .dst = 2, .dst_qp = 0x33};
    lab_open(&lab, NULL);
    lab_request(&lab, &other, OPCODE_RC_SEND_ONLY, 500, 8, true);
    for (uint32_t psn = 7; psn < 20; psn++)
        lab_request(&lab, &there, OPCODE_RC_SEND_ONLY, psn, 8, true);
    lab_ack(&lab, &back, 9, 3); /* not the latest: a window is on its way */
    lab_finish(&lab);
    assert_int_equal(capture_connections(lab.capture), 2);
    assert_int_equal(capture_totals(lab.capture)->connections, 2);
    assert_null(lab_reverse(&lab, 0));
    assert_int_equal(lab_forward(&lab, 0)->src_qp, CAPTURE_NONE);
    assert_int_equal(lab_forward(&lab, 1)->src_qp, 0x11);
    assert_int_equal(lab_reverse(&lab, 1)->src_qp, 0x22);
    assert_int_equal(lab_reverse(&lab, 1)->dst_qp, 0x11);
    lab_close(&lab);
}

/* Everybody waits for PSN 0 between the same two hosts: an equal source port tells them apart. */
static void test_equal_psns_and_ports(void **state)
{
    (void)state;
    struct lab lab;
    enum { CONNECTIONS = 5000 };
    lab_open(&lab, &(struct capture_options){.max_connections = CONNECTIONS});
    for (uint32_t i = 0; i < CONNECTIONS; i++) {
        struct way there = {.src = 1, .dst = 2, .dst_qp = 0x10000 + i, .sport = (uint16_t)(50000 + i)};
        lab_request(&lab, &there, OPCODE_RC_WRITE_ONLY, 0, 8, true);
    }
    for (uint32_t i = CONNECTIONS; i-- > 0;) {
        struct way back = {.src = 2, .dst = 1, .dst_qp = 0x20000 + i, .sport = (uint16_t)(50000 + i)};
        lab_ack(&lab, &back, 0, 1);
    }
    lab_finish(&lab);
    assert_int_equal(capture_connections(lab.capture), CONNECTIONS);
    for (uint32_t i = 0; i < CONNECTIONS; i++) {
        assert_int_equal(lab_forward(&lab, i)->dst_qp, 0x10000 + i);
        assert_int_equal(lab_forward(&lab, i)->src_qp, 0x20000 + i);
    }
    lab_close(&lab);
}

/* Ports that say nothing: answers come in the order of the requests. */
static void test_equal_psns_oldest_first(void **state)
{
    (void)state;
    struct lab lab;
    enum { CONNECTIONS = 3000 };
    lab_open(&lab, &(struct capture_options){.max_connections = CONNECTIONS});
    for (uint32_t i = 0; i < CONNECTIONS; i++) {
        struct way there = {.src = 1, .dst = 2, .dst_qp = 0x10000 + i, .sport = 50001};
        lab_request(&lab, &there, OPCODE_RC_WRITE_ONLY, 0, 8, true);
    }
    for (uint32_t i = 0; i < CONNECTIONS; i++) {
        struct way back = {.src = 2, .dst = 1, .dst_qp = 0x20000 + i, .sport = 50002};
        lab_ack(&lab, &back, 0, 1);
    }
    lab_finish(&lab);
    for (uint32_t i = 0; i < CONNECTIONS; i++)
        assert_int_equal(lab_forward(&lab, i)->src_qp, 0x20000 + i);
    lab_close(&lab);
}

static void test_ud_is_exact(void **state)
{
    (void)state;
    struct lab lab;
    struct way there = {.src = 1, .dst = 2, .dst_qp = 7, .src_qp = 5},
               back = {.src = 2, .dst = 1, .dst_qp = 5, .src_qp = 7};
    struct way third = {.src = 1, .dst = 2, .dst_qp = 7, .src_qp = 6};
    lab_open(&lab, NULL);
    lab_request(&lab, &there, OPCODE_UD_SEND_ONLY, 3, 8, false);
    lab_request(&lab, &third, OPCODE_UD_SEND_ONLY, 3, 8, false);
    lab_request(&lab, &back, OPCODE_UD_SEND_ONLY, 3, 8, false);
    lab_request(&lab, &there, OPCODE_UD_SEND_ONLY, 3, 8, false);
    lab_finish(&lab);
    assert_int_equal(capture_connections(lab.capture), 2);
    assert_int_equal(lab_forward(&lab, 0)->packets, 2);
    assert_int_equal(lab_reverse(&lab, 0)->packets, 1);
    assert_int_equal(lab_forward(&lab, 0)->retransmitted, 0); /* UD never sends again */
    assert_null(lab_reverse(&lab, 1));
    lab_close(&lab);
}

static void test_uc_only_when_certain(void **state)
{
    (void)state;
    struct lab lab;
    struct way there = {.src = 1, .dst = 2, .dst_qp = 7}, back = {.src = 2, .dst = 1, .dst_qp = 5, .sport = 60000};
    struct way pair[] = {
        {.src = 3, .dst = 4, .dst_qp = 1, .sport = 50001}, {.src = 3, .dst = 4, .dst_qp = 2, .sport = 50002},
        {.src = 4, .dst = 3, .dst_qp = 3, .sport = 50002}, {.src = 4, .dst = 3, .dst_qp = 4, .sport = 50003},
        {.src = 3, .dst = 4, .dst_qp = 5, .sport = 50004},
    };
    lab_open(&lab, NULL);
    lab_request(&lab, &there, OPCODE_UC_SEND_ONLY, 3, 8, false);
    lab_request(&lab, &back, OPCODE_UC_SEND_ONLY, 900, 8, false);
    for (size_t i = 0; i < 5; i++)
        lab_request(&lab, &pair[i], OPCODE_UC_SEND_ONLY, 3, 8, false);
    lab_finish(&lab);
    assert_int_equal(capture_connections(lab.capture), 5);
    assert_int_equal(lab_forward(&lab, 0)->src_qp, 5);
    assert_null(lab_reverse(&lab, 1));
    assert_int_equal(lab_forward(&lab, 2)->src_qp, 3);
    assert_null(lab_reverse(&lab, 3));
    assert_null(lab_reverse(&lab, 4));
    lab_close(&lab);
}

static struct cm_msg cm_message(uint16_t attribute, uint32_t local_id, uint32_t remote_id)
{
    struct cm_msg msg = {.mad = {.base_version = 1, .mgmt_class = MAD_CLASS_CM, .class_version = 2, .method = 3}};
    msg.mad.attribute = attribute;
    msg.local_id = local_id;
    msg.remote_id = remote_id;
    return msg;
}

static void test_cm_pairs_before_any_answer(void **state)
{
    (void)state;
    struct lab lab;
    struct way there = {.src = 1, .dst = 2, .dst_qp = 0x22}, back = {.src = 2, .dst = 1, .dst_qp = 0x11};
    lab_open(&lab, NULL);
    struct cm_msg req = cm_message(CM_REQ, 0xaa, 0), rep = cm_message(CM_REP, 0xbb, 0xaa);
    struct cm_msg rtu = cm_message(CM_RTU, 0xaa, 0xbb), dreq = cm_message(CM_DREQ, 0xbb, 0xaa);
    struct cm_msg drep = cm_message(CM_DREP, 0xaa, 0xbb);
    req.qpn = 0x11;
    req.mtu = 3;
    req.service_id = 0x1061234;
    req.retry_count = 7;
    rep.qpn = 0x22;
    lab_cm(&lab, &there, &req);
    lab_cm(&lab, &there, &req);
    lab_cm(&lab, &back, &rep);
    lab_cm(&lab, &there, &rtu);
    lab_request(&lab, &back, OPCODE_RC_SEND_ONLY, 77, 8, false);
    lab_request(&lab, &there, OPCODE_RC_READ_REQUEST, 10, 4096, false); /* MTU 1024: PSNs 10 to 13 */
    lab_request(&lab, &there, OPCODE_RC_SEND_ONLY, 15, 8, false);
    lab_cm(&lab, &back, &dreq);
    lab_cm(&lab, &there, &drep);
    lab_finish(&lab);
    assert_int_equal(capture_connections(lab.capture), 2); /* QP 1 is the other */
    struct capture_connection data = capture_connection(lab.capture, 1);
    assert_true(data.cm);
    assert_int_equal(data.forward->src.byte[15], 2); /* who asks first, not who connected */
    assert_int_equal(data.forward->src_qp, 0x22);
    assert_int_equal(data.reverse->src_qp, 0x11);
    assert_int_equal(data.reverse->gaps, 1);
    assert_int_equal(data.reverse->missing, 1);
    assert_int_equal(capture_cms(lab.capture), 1);
    const struct capture_cm *cm = capture_cm(lab.capture, 0);
    assert_int_equal(cm->repeats, 1);
    assert_int_equal(cm->acceptor_qp, 0x22);
    assert_int_equal(cm->req_packet, 1);
    assert_int_equal(cm->req_ns, LAB_START_NS);
    assert_int_equal(cm->rtu_ns, LAB_START_NS + 300);
    assert_true(cm->dreq_ns && cm->drep_ns);
    lab_close(&lab);
}

static void test_cm_rejected_and_unanswered(void **state)
{
    (void)state;
    struct lab lab;
    struct way there = {.src = 1, .dst = 2}, back = {.src = 2, .dst = 1};
    lab_open(&lab, NULL);
    struct cm_msg req = cm_message(CM_REQ, 0xaa, 0), rej = cm_message(CM_REJ, 0, 0xaa);
    rej.reason = 8;
    lab_cm(&lab, &there, &req);
    lab_cm(&lab, &back, &rej);
    req.local_id = 0xab;
    lab_cm(&lab, &there, &req);
    lab_finish(&lab);
    assert_int_equal(capture_cms(lab.capture), 2);
    assert_int_equal(capture_cm(lab.capture, 0)->reject_reason, 8);
    assert_int_equal(lab_finding(&lab, "CAP005")->evidence.packet[0], 2);
    assert_int_equal(lab_finding(&lab, "CAP022")->evidence.packet[0], 3);
    lab_close(&lab);
}

static void test_cm_table_is_bounded(void **state)
{
    (void)state;
    struct lab lab;
    struct way there = {.src = 1, .dst = 2}, back = {.src = 2, .dst = 1};
    enum { SETUPS = 6000 };
    lab_open(&lab, NULL);
    for (uint32_t i = 0; i < SETUPS; i++) {
        struct cm_msg req = cm_message(CM_REQ, i, 0), rep = cm_message(CM_REP, i, i);
        req.qpn = 0x1000 + i % 50;
        rep.qpn = 0x2000 + i % 50;
        lab_cm(&lab, &there, &req);
        lab_cm(&lab, &back, &rep);
    }
    lab_finish(&lab);
    size_t kept = capture_cms(lab.capture);
    assert_int_equal(kept + capture_totals(lab.capture)->cm_evicted, SETUPS);
    assert_int_equal(capture_cm(lab.capture, 0)->initiator_id, SETUPS - kept);
    assert_int_equal(capture_cm(lab.capture, kept - 1)->initiator_id, SETUPS - 1);
    lab_close(&lab);
}

static void exchange(struct lab *lab, uint32_t i, uint32_t psn)
{
    struct way there = {.src = 1, .dst = 2, .dst_qp = 0x100000 + i, .sport = (uint16_t)(49152 + i % 8192)};
    struct way back = {.src = 2, .dst = 1, .dst_qp = 0x200000 + i, .sport = (uint16_t)(49152 + i % 8192)};
    lab_request(lab, &there, OPCODE_RC_WRITE_ONLY, psn, 8, true);
    lab_ack(lab, &back, psn, 1);
}

static void test_least_recently_seen_goes(void **state)
{
    (void)state;
    struct lab lab;
    lab_open(&lab, &(struct capture_options){.max_connections = 4});
    for (uint32_t i = 0; i < 4; i++)
        exchange(&lab, i, 10);
    exchange(&lab, 0, 11); /* 1 is now the oldest */
    exchange(&lab, 4, 10);
    exchange(&lab, 5, 10); /* and then 2 */
    lab_finish(&lab);
    const struct capture_totals *totals = capture_totals(lab.capture);
    static const uint32_t kept[] = {0, 3, 4, 5};
    assert_int_equal(capture_connections(lab.capture), 4);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(lab_forward(&lab, i)->dst_qp, 0x100000 + kept[i]);
        assert_int_equal(lab_reverse(&lab, i)->dst_qp, 0x200000 + kept[i]);
    }
    assert_int_equal(totals->evicted, 2);
    assert_int_equal(totals->connections, 6);
    assert_non_null(lab_finding(&lab, "CAP032"));
    lab_close(&lab);
}

/* Far more QPs than are held: everything is counted, nothing grows, and what is dropped leaves no trace. */
static void test_hundred_thousand(void **state)
{
    (void)state;
    struct lab lab;
    enum { QPS = 100000, KEPT = 1000 };
    lab_open(&lab, &(struct capture_options){.max_connections = KEPT});
    for (uint32_t i = 0; i < QPS; i++)
        exchange(&lab, i, i);
    for (uint32_t i = QPS - KEPT; i < QPS; i++)
        exchange(&lab, i, i + 1);
    lab_finish(&lab);
    const struct capture_totals *totals = capture_totals(lab.capture);
    assert_int_equal(totals->roce_packets, 2 * (QPS + KEPT));
    assert_int_equal(totals->connections, QPS);
    assert_int_equal(totals->evicted, QPS - KEPT);
    assert_int_equal(totals->goodput_bytes, 8 * (QPS + KEPT));
    assert_int_equal(capture_connections(lab.capture), KEPT);
    for (uint32_t i = 0; i < KEPT; i++) {
        const struct capture_direction *view = lab_forward(&lab, i);
        assert_int_equal(view->dst_qp, 0x100000 + QPS - KEPT + i);
        assert_int_equal(view->packets, 2);
        assert_int_equal(view->gaps, 0);
        assert_int_equal(view->ack_latency->count, 2);
        assert_int_equal(lab_reverse(&lab, i)->acks, 2);
    }
    lab_close(&lab);
}

/* Both ends on one host: nothing but the QP numbers tells the directions apart. */
static void test_loopback(void **state)
{
    (void)state;
    struct lab lab;
    struct way there = {.src = 1, .dst = 1, .dst_qp = 0x22}, back = {.src = 1, .dst = 1, .dst_qp = 0x11};
    struct way uc_there = {.src = 1, .dst = 1, .dst_qp = 0x44}, uc_back = {.src = 1, .dst = 1, .dst_qp = 0x33};
    struct way self = {.src = 1, .dst = 1, .dst_qp = 0x55}, ud = {.src = 1, .dst = 1, .dst_qp = 9, .src_qp = 9};
    lab_open(&lab, NULL);
    for (uint32_t psn = 5; psn < 9; psn++) { /* the same PSNs both ways */
        lab_request(&lab, &there, OPCODE_RC_SEND_ONLY, psn, 8, true);
        lab_ack(&lab, &back, psn, psn);
        lab_request(&lab, &back, OPCODE_RC_SEND_ONLY, psn, 8, true);
        lab_ack(&lab, &there, psn, psn);
    }
    lab_request(&lab, &uc_there, OPCODE_UC_SEND_ONLY, 5, 8, false);
    lab_request(&lab, &uc_back, OPCODE_UC_SEND_ONLY, 5, 8, false);
    lab_request(&lab, &ud, OPCODE_UD_SEND_ONLY, 5, 8, false);
    lab_finish(&lab);
    assert_int_equal(capture_connections(lab.capture), 3);
    assert_int_equal(lab_forward(&lab, 0)->src_qp, 0x11);
    assert_int_equal(lab_reverse(&lab, 0)->src_qp, 0x22);
    assert_int_equal(lab_forward(&lab, 0)->ack_latency->count, 4);
    assert_int_equal(lab_reverse(&lab, 0)->ack_latency->count, 4);
    assert_int_equal(lab_reverse(&lab, 1)->src_qp, 0x44);
    assert_null(lab_reverse(&lab, 2));
    lab_close(&lab);

    lab_open(&lab, &(struct capture_options){.max_connections = 1}); /* a QP connected to itself */
    for (uint32_t psn = 5; psn < 9; psn++) {
        lab_request(&lab, &self, OPCODE_RC_SEND_ONLY, psn, 8, true);
        lab_ack(&lab, &self, psn, psn);
        lab_request(&lab, &ud, OPCODE_UD_SEND_ONLY, psn, 8, false);
    }
    lab_finish(&lab);
    assert_int_equal(capture_totals(lab.capture)->roce_packets, 12);
    assert_int_equal(capture_totals(lab.capture)->evicted, 7);
    lab_close(&lab);
}

static void test_memory_is_stated(void **state)
{
    (void)state;
    uint64_t small = capture_memory_bytes(&(struct capture_options){.max_connections = 1000});
    uint64_t large = capture_memory_bytes(&(struct capture_options){.max_connections = 10000});
    uint64_t plain = capture_memory_bytes(&(struct capture_options){0});
    assert_true(small < 32u << 20);
    assert_true(large > 9 * (small - (8u << 20)) && large < 11 * small);
    assert_int_equal(plain,
                     capture_memory_bytes(&(struct capture_options){.max_connections = CAPTURE_MAX_CONNECTIONS}));
    assert_true(plain < 400u << 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answer_pairs),
        cmocka_unit_test(test_equal_psns_and_ports),
        cmocka_unit_test(test_equal_psns_oldest_first),
        cmocka_unit_test(test_ud_is_exact),
        cmocka_unit_test(test_uc_only_when_certain),
        cmocka_unit_test(test_cm_pairs_before_any_answer),
        cmocka_unit_test(test_cm_rejected_and_unanswered),
        cmocka_unit_test(test_cm_table_is_bounded),
        cmocka_unit_test(test_least_recently_seen_goes),
        cmocka_unit_test(test_hundred_thousand),
        cmocka_unit_test(test_loopback),
        cmocka_unit_test(test_memory_is_stated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
