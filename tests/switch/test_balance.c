/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which next hop: flowlets, adaptive routing, spraying, pins; and 802.3x, where a pause stops all classes.
 */
#include <string.h>

#include "lab.h"
#include "switch/switch_int.h"

#define UPLINKS 8u
#define FIRST 8u /* uplinks are ports 8 to 15 */

static struct lab lab;

/* A switch with eight uplinks to LAB_FAR_ENDPOINT. */
static void uplinks(uint8_t kind)
{
    lab_defaults(&lab, FIRST + UPLINKS);
    lab.group_of[LAB_FAR] = 0;
    lab.group[0] = (struct sw_group){0, UPLINKS};
    for (uint16_t i = 0; i < UPLINKS; i++)
        lab.member[i] = (uint16_t)(FIRST + i);
    lab.config.balance = (struct sw_balance){
        .kind = kind, .quantum_bytes = 1000, .table = 256, .gap_ps = 10 * PS_US, .hysteresis = 1, .seed = 7};
}

/* One packet of a flow to the far endpoint; the uplink it was queued on, from 0. */
static uint32_t send(uint16_t flow)
{
    pkt_t id = lab_packet(&lab, LAB_FAR_ENDPOINT, 0, 1000);
    lab_pkt(&lab, id)->sport = flow;
    uint32_t port = lab_rx_id(&lab, 0, id);
    assert_in_range(port, FIRST, FIRST + UPLINKS - 1);
    return port - FIRST;
}

static uint32_t send_on(uint16_t flow)
{
    uint32_t uplink = send(flow);
    assert_int_equal(lab_tx(&lab, (uint16_t)(FIRST + uplink)), 0);
    return uplink;
}

static void empty_all(void)
{
    for (uint16_t port = 0; port < lab.config.ports; port++)
        while (lab_tx(&lab, port) >= 0) {
        }
}

static void test_flowlet(void **state)
{
    (void)state;
    uplinks(SW_FLOWLET);
    lab_start(&lab);
    uint32_t at = send_on(1), moved = 0;
    for (int i = 0; i < 100; i++) { /* never longer silent than the gap: one path */
        lab.now += 10 * PS_US;
        assert_int_equal(send_on(1), at);
    }
    bool used[UPLINKS] = {false};
    for (int i = 0; i < 200; i++) {
        lab.now += 10 * PS_US + 1;
        uint32_t next = send_on(1);
        moved += next != at;
        used[at = next] = true;
    }
    assert_in_range(moved, 140, 199); /* 7 of 8 draws */
    for (uint32_t i = 0; i < UPLINKS; i++)
        assert_true(used[i]);
    lab_stop(&lab);
}

static void test_levels(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes;
        uint32_t level;
    } cases[] = {{0, 0},    {999, 0},  {1000, 1},  {1999, 1},  {2000, 2},          {3999, 2},
                 {4000, 3}, {8000, 4}, {63999, 6}, {64000, 7}, {UINT64_MAX / 2, 7}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(balance_level(cases[i].bytes, 1000), cases[i].level);
}

static void test_adaptive_fills_evenly(void **state)
{
    (void)state;
    uplinks(SW_ADAPTIVE);
    lab.config.balance.hysteresis = 0;
    lab_start(&lab);
    for (int i = 0; i < 3 * (int)UPLINKS; i++) /* one flow, nothing leaves: each packet to an emptiest queue */
        send(1);
    for (uint16_t i = 0; i < UPLINKS; i++) /* levels double, so 2 and 3 packets are equals */
        assert_in_range(sw_queue_bytes(lab.sw, (uint16_t)(FIRST + i), 0), 2000, 4000);
    empty_all();
    lab_stop(&lab);
}

static void test_adaptive_hysteresis(void **state)
{
    (void)state;
    uplinks(SW_ADAPTIVE);
    lab.config.balance.hysteresis = 2;
    lab_start(&lab);
    uint32_t at = send(1);
    assert_int_equal(send(1), at); /* level 1, others 0: not two levels emptier */
    uint32_t away = send(1);       /* level 2 now */
    assert_int_not_equal(away, at);
    empty_all();
    assert_int_equal(send_on(1), away); /* it stays where it went */
    lab_stop(&lab);
}

static void test_adaptive_avoids(void **state)
{
    (void)state;
    uplinks(SW_ADAPTIVE);
    lab.plain.pfc_rx = 1;
    lab_start(&lab);
    for (uint16_t i = 0; i < UPLINKS - 2; i++)
        lab_pause(&lab, (uint16_t)(FIRST + i), 1, UINT16_MAX);
    lab_port(&lab, FIRST + UPLINKS - 1, false);
    for (uint16_t flow = 0; flow < 50; flow++)
        assert_int_equal(send_on(flow), UPLINKS - 2);
    lab_pause(&lab, FIRST + UPLINKS - 2, 1, UINT16_MAX);
    for (uint16_t flow = 0; flow < 50; flow++) /* paused is better than down */
        assert_in_range(send(flow), 0, UPLINKS - 2);
    for (uint16_t i = 0; i < UPLINKS; i++)
        lab_port(&lab, (uint16_t)(FIRST + i), false);
    lab_stop(&lab);
}

static void test_adaptive_flowlet(void **state)
{
    (void)state;
    uplinks(SW_ADAPTIVE);
    lab.config.balance.by_flowlet = true;
    lab_start(&lab);
    uint32_t at = send(1);
    for (int i = 0; i < 20; i++) /* however full, within the gap it stays */
        assert_int_equal(send(1), at);
    lab.now += 10 * PS_US + 1;
    assert_int_not_equal(send(1), at);
    empty_all();
    lab_stop(&lab);
}

static void test_spray(void **state)
{
    (void)state;
    uint32_t count[UPLINKS] = {0};
    uplinks(SW_SPRAY);
    lab_start(&lab);
    for (int i = 0; i < 8000; i++)
        count[send_on(1)]++;
    for (uint32_t i = 0; i < UPLINKS; i++) /* 1000 each, five standard deviations */
        assert_in_range(count[i], 1000 - 148, 1000 + 148);
    lab_stop(&lab);

    uplinks(SW_SPRAY);
    lab.config.balance.round_robin = true;
    lab_start(&lab);
    uint32_t at = send_on(1), other = send_on(2);
    for (int i = 0; i < 20; i++) { /* each flow its own turn, whatever the other does */
        assert_int_equal(send_on(1), at = (at + 1) % UPLINKS);
        if (i % 3 == 0) assert_int_equal(send_on(2), other = (other + 1) % UPLINKS);
    }
    lab_stop(&lab);
}

/* The same switch chooses the same; another seed of the balancer does not, though the hash's is the same. */
static void test_draws(void **state)
{
    (void)state;
    uint32_t path[3][64];
    for (int run = 0; run < 3; run++) {
        uplinks(SW_SPRAY);
        if (run == 2) lab.config.balance.seed = 8;
        lab_start(&lab);
        for (int i = 0; i < 64; i++)
            path[run][i] = send_on(1);
        lab_stop(&lab);
    }
    assert_memory_equal(path[0], path[1], sizeof path[0]);
    assert_memory_not_equal(path[0], path[2], sizeof path[0]);
}

static void test_weighted(void **state)
{
    (void)state;
    uint32_t count[UPLINKS] = {0};
    uplinks(SW_SPRAY);
    lab.group[0].count = 3; /* port 8 twice, port 10 once */
    lab.member[1] = lab.member[0];
    lab_start(&lab);
    for (int i = 0; i < 3000; i++)
        count[send_on(1)]++;
    assert_in_range(count[0], 1870, 2130);
    assert_int_equal(count[0] + count[2], 3000);
    lab_stop(&lab);
}

static uint32_t send_as(uint32_t src, uint32_t qp)
{
    pkt_t id = lab_packet(&lab, LAB_FAR_ENDPOINT, 0, 1000);
    lab_pkt(&lab, id)->src_node = src;
    lab_pkt(&lab, id)->dest_qp = qp;
    uint32_t port = lab_rx_id(&lab, 0, id);
    if (port == SW_DROPPED) return port;
    lab_tx(&lab, (uint16_t)port);
    return port - FIRST;
}

static void test_pins(void **state)
{
    (void)state;
    static const struct sw_pin pins[] = {{5, LAB_FAR_ENDPOINT, 77, FIRST + 1},
                                         {5, LAB_FAR_ENDPOINT, SW_PIN_ANY, FIRST + 2},
                                         {SW_PIN_ANY, LAB_FAR_ENDPOINT, SW_PIN_ANY, FIRST + 3},
                                         {6, LAB_FAR_ENDPOINT, SW_PIN_ANY, 1}}; /* no next hop */
    uplinks(SW_PIN);
    lab.config.balance.pin = pins;
    lab.config.balance.pins = 4;
    lab.local_port[LAB_FAR_ENDPOINT] = 13;
    lab_start(&lab);
    assert_int_equal(send_as(5, 77), 1);
    assert_int_equal(send_as(5, 78), 2);
    assert_int_equal(send_as(7, 77), 3);
    assert_int_equal(send_as(6, 77), 13 % UPLINKS); /* the rule takes over */
    lab_stop(&lab);

    uplinks(SW_PIN);
    lab.config.balance.pin_by = SW_PIN_BY_SRC;
    lab_start(&lab);
    for (uint32_t src = 0; src < UPLINKS; src++)
        assert_int_equal(send_as(src, 1), src);
    lab_stop(&lab);
}

static void test_routes_change(void **state)
{
    (void)state;
    uplinks(SW_FLOWLET);
    lab_start(&lab);
    for (uint16_t flow = 0; flow < 100; flow++)
        send_on(flow);
    struct sw_routes fewer = lab.routes;
    static const struct sw_group two = {0, 2};
    fewer.group = &two;
    sw_set_routes(lab.sw, &fewer);
    for (uint16_t flow = 0; flow < 100; flow++)
        assert_in_range(send_on(flow), 0, 1);
    lab_stop(&lab);
}

static void test_problems(void **state)
{
    (void)state;
    uplinks(SW_FLOWLET);
    assert_null(sw_config_problem(&lab.config));
    lab.config.balance.table = 100;
    assert_non_null(sw_config_problem(&lab.config));
    uplinks(SW_ADAPTIVE);
    lab.config.balance.hysteresis = 8;
    assert_non_null(sw_config_problem(&lab.config));
    uplinks(SW_PIN + 1);
    assert_non_null(sw_config_problem(&lab.config));
}

/* Class 3 crosses its threshold: PFC names it, 802.3x names all; and what is told to stop is all or class 3. */
static void pause_frames(bool all)
{
    lab_defaults(&lab, 3);
    lab.plain.pause_all = all;
    lab.config.buffer_bytes = 3 * 20000 + 10000;
    lab_start(&lab);
    uint32_t pauses = 0;
    for (int i = 0; i < 8 && !pauses; i++) {
        assert_int_equal(lab_rx(&lab, 0, 2, 3, 1000), 2);
        pauses = lab.io.pauses;
    }
    assert_int_equal(pauses, 1);
    assert_int_equal(lab.io.pause[0].enable, all ? 0xff : 1 << 3);
    assert_int_equal(sw_pausing(lab.sw, 0), all ? 0xff : 1 << 3);
    empty_all();
    assert_int_equal(sw_pausing(lab.sw, 0), 0);
    /* The other direction: class 0 waits behind a pause that class 3 was meant by. */
    lab_rx(&lab, 0, 1, 0, 500);
    lab_pause(&lab, 1, all ? 0xff : 1 << 3, UINT16_MAX);
    assert_int_equal(lab_tx(&lab, 1), all ? -1 : 0);
    lab_pause(&lab, 1, 0xff, 0);
    empty_all();
    lab_stop(&lab);
}

static void test_pause_all(void **state)
{
    (void)state;
    pause_frames(false);
    pause_frames(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flowlet),
        cmocka_unit_test(test_levels),
        cmocka_unit_test(test_adaptive_fills_evenly),
        cmocka_unit_test(test_adaptive_hysteresis),
        cmocka_unit_test(test_adaptive_avoids),
        cmocka_unit_test(test_adaptive_flowlet),
        cmocka_unit_test(test_spray),
        cmocka_unit_test(test_draws),
        cmocka_unit_test(test_weighted),
        cmocka_unit_test(test_pins),
        cmocka_unit_test(test_routes_change),
        cmocka_unit_test(test_problems),
        cmocka_unit_test(test_pause_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
