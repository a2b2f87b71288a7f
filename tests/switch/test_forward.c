/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Class, route, TTL, MTU and marks: what happens to a packet on its way, apart from the buffer.
 */
#include <string.h>

#include "lab.h"

static struct lab lab;

static void test_trust(void **state)
{
    (void)state;
    lab_defaults(&lab, 2);
    lab.plain.dscp_to_tc[26] = 5;
    lab.plain.tc_to_queue[5] = 2;
    lab.plain.tc_to_pg[5] = 1;
    struct sw_port_config other = lab.plain;
    other.trust = SW_TRUST_PCP;
    other.pcp_to_tc[6] = 4;
    other.tc_to_queue[5] = 7;
    lab.port_of[1] = &other;
    lab_start(&lab);
    pkt_t id = lab_packet(&lab, 1, 0, 100);
    lab_pkt(&lab, id)->tos = 26 << 2;
    lab_pkt(&lab, id)->pcp = 6;
    assert_int_equal(lab_rx_id(&lab, 0, id), 1);
    assert_int_equal(lab_pkt(&lab, id)->tc, 5);
    assert_int_equal(lab_pkt(&lab, id)->in_port, 0);
    assert_int_equal(sw_pg_bytes(lab.sw, 0, 1), 100);    /* the ingress port's map */
    assert_int_equal(sw_queue_bytes(lab.sw, 1, 7), 100); /* the egress port's */
    id = lab_packet(&lab, 0, 0, 100);
    lab_pkt(&lab, id)->tos = 26 << 2;
    lab_pkt(&lab, id)->pcp = 6;
    assert_int_equal(lab_rx_id(&lab, 1, id), 0);
    assert_int_equal(lab_pkt(&lab, id)->tc, 4);
    assert_int_equal(sw_queue_bytes(lab.sw, 0, 4), 100);
    /* A frame that is none of ours has DSCP 0 and no tag. */
    id = lab_packet(&lab, 0, 0, 60);
    *lab_pkt(&lab, id) = (struct pkt){.kind = PKT_OTHER, .frame_bytes = 60};
    assert_int_equal(lab_rx_id(&lab, 0, id), 0);
    assert_int_equal(lab_pkt(&lab, id)->tc, 0);
    lab_port(&lab, 0, false);
    lab_port(&lab, 1, false);
    lab_stop(&lab);
}

static void test_ttl(void **state)
{
    (void)state;
    lab_defaults(&lab, 2);
    lab_start(&lab);
    static const struct {
        uint8_t net, before;
        bool dropped;
    } cases[] = {{PKT_NET_IPV4, 64, false}, {PKT_NET_IPV4, 2, false}, {PKT_NET_IPV4, 1, true},
                 {PKT_NET_IPV4, 0, true},   {PKT_NET_IPV6, 1, true},  {PKT_NET_IPV6, 2, false},
                 {PKT_NET_V1, 0, false},    {PKT_NET_NONE, 0, false}};
    uint32_t drops = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pkt_t id = lab_packet(&lab, 1, 0, 100);
        lab_pkt(&lab, id)->net = cases[i].net;
        lab_pkt(&lab, id)->ttl = cases[i].before;
        assert_int_equal(lab_rx_id(&lab, 0, id), cases[i].dropped ? SW_DROPPED : 1);
        drops += cases[i].dropped;
        bool ip = cases[i].net >= PKT_NET_IPV4;
        if (!cases[i].dropped) assert_int_equal(lab_pkt(&lab, id)->ttl, cases[i].before - ip);
        lab_tx(&lab, 1);
    }
    assert_int_equal(lab_count(&lab, 0)->drop[SW_DROP_ttl], drops);
    assert_int_equal(lab_count(&lab, 0)->prio[0].drops, drops);
    lab_stop(&lab);
}

/* A copy that a neighbour has flooded goes no further, whatever its network and time to live. */
static void test_stray(void **state)
{
    (void)state;
    lab_defaults(&lab, 2);
    lab_start(&lab);
    for (uint8_t net = PKT_NET_NONE; net <= PKT_NET_IPV6; net++) {
        pkt_t id = lab_packet(&lab, 1, 0, 100);
        lab_pkt(&lab, id)->net = net;
        lab_pkt(&lab, id)->flags |= PKT_STRAY;
        assert_int_equal(lab_rx_id(&lab, 0, id), SW_DROPPED);
    }
    assert_int_equal(lab_count(&lab, 0)->drop[SW_DROP_not_mine], 4);
    lab_stop(&lab);
}

static void test_mtu(void **state)
{
    (void)state;
    lab_defaults(&lab, 3);
    struct sw_port_config small = lab.plain;
    small.mtu_bytes = 1514;
    lab.plain.mtu_bytes = 9216;
    lab.port_of[1] = &small;
    lab_start(&lab);
    assert_int_equal(lab_rx(&lab, 0, 1, 0, 1514), 1);
    assert_int_equal(lab_rx(&lab, 0, 1, 0, 1515), SW_DROPPED); /* it would leave too large */
    assert_int_equal(lab_rx(&lab, 1, 0, 0, 1515), SW_DROPPED); /* it came too large */
    assert_int_equal(lab_rx(&lab, 0, 2, 0, 9216), 2);
    assert_int_equal(lab_rx(&lab, 0, 2, 0, 9217), SW_DROPPED);
    assert_int_equal(lab_count(&lab, 0)->drop[SW_DROP_mtu], 2);
    assert_int_equal(lab_count(&lab, 1)->drop[SW_DROP_mtu], 1);
    lab_port(&lab, 1, false);
    lab_port(&lab, 2, false);
    lab_stop(&lab);
}

static void test_routes(void **state)
{
    (void)state;
    lab_defaults(&lab, 4);
    lab.group_of[LAB_FAR] = UINT16_MAX;
    lab_start(&lab);
    assert_int_equal(lab_rx(&lab, 0, 2, 0, 100), 2);
    assert_int_equal(lab_rx(&lab, 0, LAB_FAR_ENDPOINT, 0, 100), SW_DROPPED);
    assert_int_equal(lab_rx(&lab, 0, 9, 0, 100), SW_DROPPED); /* a port it has not */
    assert_int_equal(lab_count(&lab, 0)->drop[SW_DROP_no_route], 2);
    /* Another table from here on. */
    uint16_t group_of[2] = {UINT16_MAX, 0};
    struct sw_routes other = lab.routes;
    other.group_of = group_of;
    lab.group[0] = (struct sw_group){.first = 1, .count = 0};
    sw_set_routes(lab.sw, &other);
    assert_int_equal(lab_rx(&lab, 0, LAB_FAR_ENDPOINT, 0, 100), SW_DROPPED);
    lab.group[0].count = 1;
    lab.member[1] = 3;
    assert_int_equal(lab_rx(&lab, 0, LAB_FAR_ENDPOINT, 0, 100), 3);
    lab_port(&lab, 2, false);
    lab_port(&lab, 3, false);
    lab_stop(&lab);
}

/* Where each of `flows` goes; flow i has its own source, port and QP. */
static void place(uint64_t seed, uint16_t count, uint8_t fields, uint32_t flows, uint16_t *ret)
{
    lab_defaults(&lab, 64);
    lab.config.seed = seed;
    lab.config.buffer_bytes = 1u << 30;
    lab.group_of[LAB_FAR] = 0;
    lab.group[0] = (struct sw_group){.first = 0, .count = count};
    for (uint16_t i = 0; i < count; i++)
        lab.member[i] = i;
    lab.routes.hash_fields = fields;
    lab_start(&lab);
    for (uint32_t i = 0; i < flows; i++) {
        pkt_t id = lab_packet(&lab, LAB_FAR_ENDPOINT, 0, 100);
        lab_pkt(&lab, id)->src_node = fields & SW_HASH_SRC ? i / 4 : 0;
        lab_pkt(&lab, id)->sport = (uint16_t)(fields & SW_HASH_SPORT ? 49152 + i % 4096 : 49152);
        lab_pkt(&lab, id)->dest_qp = i;
        ret[i] = lab_rx_id(&lab, 63, id);
        lab_tx(&lab, ret[i]);
    }
    lab_stop(&lab);
}

/* Pearson's chi-square, in thousandths. */
static uint64_t chi_square(const uint32_t *seen, uint32_t cells, uint32_t total)
{
    uint64_t sum = 0; /* sum of (seen * cells - total)^2, over total * cells */
    for (uint32_t i = 0; i < cells; i++) {
        int64_t off = (int64_t)seen[i] * cells - total;
        sum += (uint64_t)(off * off);
    }
    return sum * 1000 / ((uint64_t)total * cells);
}

static void test_ecmp_even(void **state)
{
    (void)state;
    static const uint8_t fields[] = {SW_HASH_SRC | SW_HASH_DST | SW_HASH_SPORT, SW_HASH_SPORT, SW_HASH_QP,
                                     SW_HASH_DST | SW_HASH_QP};
    static uint16_t to[1000];
    uint64_t sum = 0;
    for (uint64_t seed = 0; seed < 40; seed++) {
        uint32_t seen[16] = {0};
        place(seed, 16, fields[seed % 4], 1000, to);
        for (uint32_t i = 0; i < 1000; i++)
            seen[to[i]]++;
        uint64_t chi = chi_square(seen, 16, 1000);
        if (chi > 45000) fail_msg("seed %d: chi-square %d.%03d", (int)seed, (int)(chi / 1000), (int)(chi % 1000));
        sum += chi;
    }
    assert_in_range(sum / 40, 11000, 19000); /* 15 degrees of freedom: as even as chance, and not more */
}

/* Two switches with different seeds decide independently; with the same seed alike. */
static void test_ecmp_seeds(void **state)
{
    (void)state;
    static uint16_t a[4096], b[4096];
    const uint8_t fields = SW_HASH_SRC | SW_HASH_DST | SW_HASH_SPORT;
    place(1, 8, fields, 4096, a);
    place(1, 8, fields, 4096, b);
    assert_memory_equal(a, b, sizeof a);
    for (uint64_t seed = 2; seed < 10; seed++) {
        uint32_t seen[64] = {0};
        place(seed, 8, fields, 4096, b);
        for (uint32_t i = 0; i < 4096; i++)
            seen[a[i] * 8 + b[i]]++;
        uint64_t chi = chi_square(seen, 64, 4096);
        if (chi > 120000) fail_msg("seed %d: chi-square %d", (int)seed, (int)(chi / 1000)); /* 63 degrees */
    }
}

static void test_ecmp_fields(void **state)
{
    (void)state;
    static uint16_t to[1000];
    place(3, 16, SW_HASH_DST, 1000, to); /* nothing that differs is hashed */
    for (uint32_t i = 1; i < 1000; i++)
        assert_int_equal(to[i], to[0]);
}

static void test_ecmp_weights(void **state)
{
    (void)state;
    lab_defaults(&lab, 4);
    lab.config.buffer_bytes = 1u << 30;
    lab.group_of[LAB_FAR] = 0;
    lab.group[0] = (struct sw_group){.first = 0, .count = 4};
    memcpy(lab.member, (uint16_t[]){1, 2, 2, 2}, 8);
    lab_start(&lab);
    uint32_t seen[4] = {0};
    for (uint32_t i = 0; i < 8000; i++) {
        pkt_t id = lab_packet(&lab, LAB_FAR_ENDPOINT, 0, 100);
        lab_pkt(&lab, id)->src_node = i;
        uint16_t out = lab_rx_id(&lab, 0, id);
        seen[out]++;
        lab_tx(&lab, out);
    }
    assert_int_equal(seen[1] + seen[2], 8000);
    assert_in_range(seen[1], 2000 - 160, 2000 + 160); /* 4 standard deviations */
    lab_stop(&lab);
}

static void marking(uint8_t when, uint32_t min, uint32_t max, uint32_t ppm)
{
    lab_defaults(&lab, 2);
    lab.config.mark = when;
    lab.config.buffer_bytes = 100000000;
    lab.plain.queue[3].ecn = (struct sw_ecn){.on = true, .min_bytes = min, .max_bytes = max, .probability_ppm = ppm};
    lab_start(&lab);
}

static void test_mark_enqueue(void **state)
{
    (void)state;
    marking(SW_MARK_ENQUEUE, 3000, 3000, 1000000);
    for (int i = 0; i < 6; i++) { /* finds 0, 1000, 2000, 3000, 4000, 5000 */
        pkt_t id = lab_packet(&lab, 1, 3, 1000);
        lab_rx_id(&lab, 0, id);
        assert_int_equal(lab_pkt(&lab, id)->tos & 3, i >= 4 ? PKT_ECN_CE : PKT_ECN_ECT0);
        assert_int_equal(lab_pkt(&lab, id)->tos >> 2, 3 << 3);
    }
    assert_int_equal(lab_count(&lab, 1)->prio[3].ecn_marked, 2);
    static const uint8_t ecn[] = {PKT_ECN_NOT_ECT, PKT_ECN_ECT1, PKT_ECN_CE};
    for (int i = 0; i < 3; i++) {
        pkt_t id = lab_packet(&lab, 1, 3, 1000);
        lab_pkt(&lab, id)->tos = (uint8_t)(3 << 5 | ecn[i]);
        assert_int_equal(lab_rx_id(&lab, 0, id), 1);
        assert_int_equal(lab_pkt(&lab, id)->tos & 3, i == 0 ? PKT_ECN_NOT_ECT : PKT_ECN_CE);
    }
    assert_int_equal(lab_count(&lab, 1)->prio[3].ecn_marked, 3); /* what came marked is not ours */
    /* Another queue of the port is not looked at. */
    pkt_t id = lab_packet(&lab, 1, 2, 1000);
    lab_rx_id(&lab, 0, id);
    assert_int_equal(lab_pkt(&lab, id)->tos & 3, PKT_ECN_ECT0);
    lab_port(&lab, 1, false);
    lab_stop(&lab);
}

/* Not at min, and always just above max. */
static void test_mark_edges(void **state)
{
    (void)state;
    marking(SW_MARK_ENQUEUE, 3000, 5000, 0);
    static const uint16_t sizes[] = {3000, 2000, 1, 64};
    static const bool marked[] = {false, false, false, true}; /* finds 0, 3000, 5000, 5001 */
    for (int i = 0; i < 4; i++) {
        pkt_t id = lab_packet(&lab, 1, 3, sizes[i]);
        lab_rx_id(&lab, 0, id);
        assert_int_equal(lab_pkt(&lab, id)->tos & 3, marked[i] ? PKT_ECN_CE : PKT_ECN_ECT0);
    }
    lab_port(&lab, 1, false);
    lab_stop(&lab);
}

static void test_mark_dequeue(void **state)
{
    (void)state;
    marking(SW_MARK_DEQUEUE, 3000, 3000, 1000000);
    for (int i = 0; i < 6; i++)
        lab_rx(&lab, 0, 1, 3, 1000);
    for (int i = 0; i < 6; i++) { /* leaves 5000, 4000, 3000, ... */
        pkt_t id = lab_tx_id(&lab, 1);
        assert_int_equal(lab_pkt(&lab, id)->tos & 3, i < 2 ? PKT_ECN_CE : PKT_ECN_ECT0);
        pktpool_put(&lab.pool, id);
    }
    lab_stop(&lab);
}

/* At a constant length the share of marked packets is the curve's. */
static void test_mark_curve(void **state)
{
    (void)state;
    for (uint32_t length = 0; length <= 50000; length += 5000) {
        marking(SW_MARK_ENQUEUE, 10000, 40000, 200000);
        for (uint32_t i = 0; i < length / 1000; i++) {
            pkt_t id = lab_packet(&lab, 1, 3, 1000);
            lab_pkt(&lab, id)->tos &= 0xfc;
            lab_rx_id(&lab, 0, id);
        }
        uint32_t marked = 0;
        const uint32_t draws = 20000;
        for (uint32_t i = 0; i < draws; i++) {
            pkt_t id = lab_packet(&lab, 1, 3, 1000);
            lab_rx_id(&lab, 0, id);
            marked += (lab_pkt(&lab, id)->tos & 3) == PKT_ECN_CE;
            lab_tx(&lab, 1);
        }
        int32_t expected = length <= 10000 ? 0 : length > 40000 ? (int32_t)draws : (int32_t)((length - 10000) * 2 / 15);
        int32_t slack = expected && length <= 40000 ? 300 : 0; /* 5 standard deviations */
        if ((int32_t)marked < expected - slack || (int32_t)marked > expected + slack)
            fail_msg("%u bytes: %u marked, %d expected", length, marked, expected);
        lab_port(&lab, 1, false);
        lab_stop(&lab);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trust),        cmocka_unit_test(test_ttl),          cmocka_unit_test(test_mtu),
        cmocka_unit_test(test_routes),       cmocka_unit_test(test_ecmp_even),    cmocka_unit_test(test_ecmp_seeds),
        cmocka_unit_test(test_ecmp_fields),  cmocka_unit_test(test_ecmp_weights), cmocka_unit_test(test_mark_enqueue),
        cmocka_unit_test(test_mark_dequeue), cmocka_unit_test(test_mark_curve),   cmocka_unit_test(test_mark_edges),
        cmocka_unit_test(test_stray),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
