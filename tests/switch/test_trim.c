/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trimming: what a queue has no room for goes on without its payload, where the queue says so; everything else is
 * dropped as before.
 */
#include "lab.h"

#define DATA 1  /* class of data: DSCP 8 */
#define SHORT 5 /* class of what is trimmed: DSCP 40, on the last hop 41 */
static struct lab lab;

static void start(uint64_t data_limit, uint64_t short_limit)
{
    lab_defaults(&lab, 4);
    lab.plain.queue[DATA].limit_bytes = data_limit;
    lab.plain.queue[SHORT].limit_bytes = short_limit;
    lab.plain.queue[SHORT].strict = true;
    lab.plain.queue[DATA].trim = (struct sw_trim){.bytes = 64, .dscp = SHORT << 3, .last_hop_dscp = (SHORT << 3) + 1};
    lab.member[0] = 3;
    lab.group[0].count = 1;
    lab_start(&lab);
}

static pkt_t uet_packet(uint32_t dst)
{
    pkt_t id = lab_packet(&lab, dst, DATA, 4000);

    lab_pkt(&lab, id)->kind = PKT_UET;
    lab_pkt(&lab, id)->payload_bytes = 3900;
    return id;
}

/* The second does not fit: it leaves first, as 64 bytes, with its ECN field. */
static void test_trims(void **state)
{
    (void)state;
    start(5000, UINT64_MAX);
    pkt_t whole = uet_packet(2), cut = uet_packet(2);
    assert_int_equal(lab_rx_id(&lab, 0, whole), 2);
    assert_int_equal(lab_rx_id(&lab, 1, cut), 2);
    assert_int_equal(lab_count(&lab, 2)->prio[DATA].trimmed, 1);
    assert_int_equal(lab_count(&lab, 2)->prio[DATA].trim_dropped, 0);
    assert_int_equal(lab_count(&lab, 2)->drop[SW_DROP_egress], 0);
    lab_audit(&lab, 0);
    assert_int_equal(lab_tx_id(&lab, 2), cut);
    const struct pkt *pkt = lab_pkt(&lab, cut);
    assert_int_equal(pkt->flags & PKT_TRIMMED, PKT_TRIMMED);
    assert_int_equal(pkt->frame_bytes, 64);
    assert_int_equal(pkt->payload_bytes, 0);
    assert_int_equal(pkt->tos >> 2, (SHORT << 3) + 1); /* its receiver is next */
    assert_int_equal(pkt->tos & PKT_ECN_MASK, PKT_ECN_ECT0);
    assert_int_equal(lab_tx_id(&lab, 2), whole);
    assert_int_equal(lab_pkt(&lab, whole)->flags & PKT_TRIMMED, 0);
    assert_int_equal(lab_pkt(&lab, whole)->frame_bytes, 4000);
    lab_audit(&lab, 2);
    pktpool_put(&lab.pool, cut);
    pktpool_put(&lab.pool, whole);
    lab_stop(&lab);
}

static void test_not_last_hop(void **state)
{
    (void)state;
    start(5000, UINT64_MAX);
    assert_int_equal(lab_rx_id(&lab, 0, uet_packet(LAB_FAR_ENDPOINT)), 3);
    pkt_t cut = uet_packet(LAB_FAR_ENDPOINT);
    assert_int_equal(lab_rx_id(&lab, 1, cut), 3);
    assert_int_equal(lab_tx_id(&lab, 3), cut);
    assert_int_equal(lab_pkt(&lab, cut)->tos >> 2, SHORT << 3);
    pktpool_put(&lab.pool, cut);
    assert_int_equal(lab_tx(&lab, 3), DATA);
    lab_stop(&lab);
}

/* No room there either: dropped, and both counts say so. */
static void test_no_room(void **state)
{
    (void)state;
    start(5000, 100);
    assert_int_equal(lab_rx_id(&lab, 0, uet_packet(2)), 2);
    assert_int_equal(lab_rx_id(&lab, 0, uet_packet(2)), 2);
    assert_int_equal(lab_rx_id(&lab, 0, uet_packet(2)), SW_DROPPED);
    assert_int_equal(lab_count(&lab, 2)->prio[DATA].trimmed, 2);
    assert_int_equal(lab_count(&lab, 2)->prio[DATA].trim_dropped, 1);
    assert_int_equal(lab_count(&lab, 2)->drop[SW_DROP_egress], 1);
    lab_audit(&lab, 0);
    assert_int_equal(lab_tx(&lab, 2), SHORT);
    assert_int_equal(lab_tx(&lab, 2), DATA);
    assert_int_equal(lab_tx(&lab, 2), -1);
    lab_stop(&lab);
}

/* Above the threshold of its ingress group, too. */
static void test_ingress(void **state)
{
    (void)state;
    lab_defaults(&lab, 4);
    lab.plain.pg[DATA] = (struct sw_pg_config){.static_bytes = 5000};
    lab.plain.queue[DATA].trim = (struct sw_trim){.bytes = 64, .dscp = SHORT << 3, .last_hop_dscp = SHORT << 3};
    lab_start(&lab);
    assert_int_equal(lab_rx_id(&lab, 0, uet_packet(2)), 2);
    assert_int_equal(lab_rx_id(&lab, 0, uet_packet(2)), 2);
    assert_int_equal(lab_count(&lab, 2)->prio[DATA].trimmed, 1);
    assert_int_equal(lab_count(&lab, 0)->drop[SW_DROP_buffer], 0);
    lab_audit(&lab, 0);
    assert_int_equal(lab_tx(&lab, 2), DATA);
    assert_int_equal(lab_tx(&lab, 2), SHORT);
    lab_stop(&lab);
}

/* RoCE, what has no payload and what is trimmed already are dropped whole. */
static void test_what_is_not_trimmed(void **state)
{
    (void)state;
    start(5000, 100);
    assert_int_equal(lab_rx_id(&lab, 0, uet_packet(2)), 2);
    assert_int_equal(lab_rx(&lab, 0, 2, DATA, 4000), SW_DROPPED);
    pkt_t empty = uet_packet(2), cut = uet_packet(2);
    lab_pkt(&lab, empty)->payload_bytes = 0;
    lab_pkt(&lab, cut)->flags |= PKT_TRIMMED;
    assert_int_equal(lab_rx_id(&lab, 0, empty), SW_DROPPED);
    assert_int_equal(lab_rx_id(&lab, 0, cut), SW_DROPPED);
    assert_int_equal(lab_count(&lab, 2)->prio[DATA].trimmed, 0);
    assert_int_equal(lab_count(&lab, 2)->drop[SW_DROP_egress], 3);
    assert_int_equal(lab_tx(&lab, 2), DATA);
    lab_stop(&lab);
}

/* Model uet-htsim: of two that meet a full queue the newest in it goes as often as the one that arrives, and the head
 * never does. */
static void test_newest(void **state)
{
    uint32_t kept = 0;

    (void)state;
    lab_defaults(&lab, 4);
    lab.plain.queue[DATA].limit_bytes = 9000;
    lab.config.refuses_newest = true;
    lab_start(&lab);
    pkt_t head = uet_packet(2), tail = uet_packet(2);
    assert_int_equal(lab_rx_id(&lab, 0, head), 2);
    assert_int_equal(lab_rx_id(&lab, 1, tail), 2);
    for (uint32_t i = 0; i < 1000; i++) {
        kept += lab_rx_id(&lab, (uint16_t)(i % 2), uet_packet(2)) == 2;
        lab_audit(&lab, 0);
    }
    assert_in_range(kept, 400, 600);
    assert_int_equal(lab_count(&lab, 2)->drop[SW_DROP_egress], 1000);
    assert_int_equal(lab_tx_id(&lab, 2), head);
    assert_int_equal(lab_tx(&lab, 2), DATA);
    assert_int_equal(lab_tx(&lab, 2), -1);
    lab_audit(&lab, 1);
    pktpool_put(&lab.pool, head);
    lab_stop(&lab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trims),   cmocka_unit_test(test_not_last_hop),        cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_ingress), cmocka_unit_test(test_what_is_not_trimmed), cmocka_unit_test(test_newest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
