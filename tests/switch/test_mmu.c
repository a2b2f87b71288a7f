/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Admission and release, worked out by hand: what is charged from where, when a class is paused or dropped.
 */
#include "lab.h"

static struct lab lab;

/* 2 ports, bytes as cells, PG 3: reserve 2000, fixed threshold 5000, headroom 3000. */
static void fixed_lossless(void)
{
    lab_defaults(&lab, 2);
    struct sw_pg_config *pg = &lab.plain.pg[3];
    pg->dynamic = false;
    pg->reserved_bytes = 2000;
    pg->static_bytes = 5000;
    pg->headroom_bytes = 3000;
    pg->xon_offset_bytes = 1500;
    lab.config.buffer_bytes = 100000;
}

static void test_shared_size(void **state)
{
    (void)state;
    fixed_lossless();
    lab_start(&lab);
    assert_int_equal(sw_shared_bytes(lab.sw), 100000 - 2 * 2000 - 2 * 3000);
    lab_stop(&lab);

    fixed_lossless();
    lab.config.headroom_pool_bytes = 4000;
    lab_start(&lab);
    assert_int_equal(sw_shared_bytes(lab.sw), 100000 - 2 * 2000 - 4000);
    lab_stop(&lab);

    fixed_lossless();
    lab.config.cell_bytes = 256; /* 390 cells; reserve 8 and headroom 12 cells a port */
    lab_start(&lab);
    assert_int_equal(sw_shared_bytes(lab.sw), (390 - 2 * 8 - 2 * 12) * 256);
    lab_stop(&lab);
}

static void test_reserve_shared_headroom(void **state)
{
    (void)state;
    fixed_lossless();
    lab_start(&lab);
    for (int i = 0; i < 2; i++)
        assert_int_equal(lab_rx(&lab, 0, 1, 3, 1000), 1);
    assert_int_equal(sw_shared_used(lab.sw), 0);
    for (int i = 1; i <= 4; i++) {
        lab_rx(&lab, 0, 1, 3, 1000);
        assert_int_equal(sw_shared_used(lab.sw), i * 1000);
        assert_int_equal(lab.io.pauses, 0);
    }
    /* Reaching the threshold pauses; nothing is in headroom yet. */
    lab_rx(&lab, 0, 1, 3, 1000);
    assert_int_equal(sw_shared_used(lab.sw), 5000);
    assert_int_equal(sw_pg_headroom_bytes(lab.sw, 0, 3), 0);
    assert_int_equal(lab.io.pauses, 1);
    assert_int_equal(lab.io.pause[0].port, 0);
    assert_int_equal(lab.io.pause[0].enable, 1u << 3);
    assert_int_equal(lab.io.pause[0].quanta, UINT16_MAX);
    /* Three more go to headroom without a second frame, the fourth is a loss that must not be. */
    for (int i = 1; i <= 3; i++) {
        assert_int_equal(lab_rx(&lab, 0, 1, 3, 1000), 1);
        assert_int_equal(lab.io.pauses, 0);
        assert_int_equal(sw_pg_headroom_bytes(lab.sw, 0, 3), i * 1000);
    }
    assert_int_equal(lab_rx(&lab, 0, 1, 3, 1000), SW_DROPPED);
    assert_int_equal(lab_count(&lab, 0)->drop[SW_DROP_headroom], 1);
    assert_int_equal(lab_count(&lab, 0)->prio[3].drops, 1);
    assert_int_equal(lab_count(&lab, 0)->prio[3].headroom_max_bytes, 3000);
    assert_int_equal(lab_count(&lab, 0)->prio[3].pg_max_bytes, 10000);
    assert_int_equal(lab_count(&lab, 1)->prio[3].queue_max_bytes, 10000);

    /* Release: headroom first, then shared; resume at 5000 - 1500. */
    for (int i = 2; i >= 0; i--) {
        assert_int_equal(lab_tx(&lab, 1), 3);
        assert_int_equal(sw_pg_headroom_bytes(lab.sw, 0, 3), i * 1000);
        assert_int_equal(lab.io.pauses, 0);
    }
    assert_int_equal(sw_shared_used(lab.sw), 5000);
    lab_tx(&lab, 1);
    assert_int_equal(lab.io.pauses, 0); /* 4000 + 1500 > 5000 */
    lab_tx(&lab, 1);
    assert_int_equal(sw_shared_used(lab.sw), 3000);
    assert_int_equal(lab.io.pauses, 1);
    assert_int_equal(lab.io.pause[0].quanta, 0);
    assert_int_equal(lab.io.pause[0].enable, 1u << 3);
    while (lab_tx(&lab, 1) >= 0)
        assert_int_equal(lab.io.pauses, 0);
    assert_int_equal(sw_shared_used(lab.sw), 0);
    assert_int_equal(sw_pg_bytes(lab.sw, 0, 3), 0);
    lab_stop(&lab);
}

/* A packet that straddles the reserve takes only the rest from the pool. */
static void test_straddle(void **state)
{
    (void)state;
    fixed_lossless();
    lab_start(&lab);
    lab_rx(&lab, 0, 1, 3, 1500);
    lab_rx(&lab, 0, 1, 3, 1500);
    assert_int_equal(sw_shared_used(lab.sw), 1000);
    lab_tx(&lab, 1);
    assert_int_equal(sw_shared_used(lab.sw), 0);
    assert_int_equal(sw_pg_bytes(lab.sw, 0, 3), 1500);
    lab_tx(&lab, 1);
    lab_stop(&lab);
}

/* A refused packet pauses too, or a class without headroom would drop for ever without a word. */
static void test_refused_pauses(void **state)
{
    (void)state;
    fixed_lossless();
    lab.plain.pg[3].headroom_bytes = 0;
    lab_start(&lab);
    for (int i = 0; i < 4; i++)
        assert_int_equal(lab_rx(&lab, 0, 1, 3, 1500), 1);
    assert_int_equal(lab_rx(&lab, 0, 1, 3, 1500), SW_DROPPED); /* 5500 of 5000 */
    assert_int_equal(lab.io.pauses, 1);
    assert_int_equal(lab_count(&lab, 0)->drop[SW_DROP_headroom], 1);
    while (lab_tx(&lab, 1) >= 0) {
    }
    assert_int_equal(sw_pausing(lab.sw, 0), 0);
    /* Nothing held: no XOFF, for nothing would ever end it. */
    lab_rx(&lab, 0, 1, 3, 9000);
    assert_int_equal(lab.io.pauses, 0);
    assert_int_equal(lab_count(&lab, 0)->drop[SW_DROP_headroom], 2);
    lab_stop(&lab);
}

static void test_dynamic_threshold(void **state)
{
    (void)state;
    lab_defaults(&lab, 3);
    lab.plain.pg[3] = (struct sw_pg_config){
        .lossless = true, .dynamic = true, .alpha_num = 1, .alpha_den = 2, .headroom_bytes = 10000};
    lab.config.buffer_bytes = 90000 + 3 * 10000;
    lab_start(&lab);
    /* One PG: x = (90000 - x) / 2 at 30000. */
    for (int i = 0; i < 29; i++) {
        lab_rx(&lab, 0, 2, 3, 1000);
        assert_int_equal(lab.io.pauses, 0);
    }
    lab_rx(&lab, 0, 2, 3, 1000);
    assert_int_equal(lab.io.pauses, 1);
    /* A second one finds 60000 free: 20000 for it. */
    for (int i = 0; i < 19; i++) {
        lab_rx(&lab, 1, 2, 3, 1000);
        assert_int_equal(lab.io.pauses, 0);
    }
    lab_rx(&lab, 1, 2, 3, 1000);
    assert_int_equal(lab.io.pauses, 1);
    assert_int_equal(lab.io.pause[0].port, 1);
    /* The first is above its threshold now (20000): it resumes only below what is free by then. */
    int left = 0;
    while (sw_pausing(lab.sw, 0)) {
        lab_tx(&lab, 2);
        left++;
    }
    assert_int_equal(left, 7); /* 23000 <= (90000 - 43000) / 2 */
    while (lab_tx(&lab, 2) >= 0) {
    }
    lab_stop(&lab);
}

static void test_lossy_drop(void **state)
{
    (void)state;
    lab_defaults(&lab, 2);
    lab.plain.pg[0] = (struct sw_pg_config){.static_bytes = 5000, .reserved_bytes = 1000};
    lab_start(&lab);
    for (int i = 0; i < 6; i++)
        assert_int_equal(lab_rx(&lab, 0, 1, 0, 1000), 1);
    assert_int_equal(lab_rx(&lab, 0, 1, 0, 64), SW_DROPPED);
    assert_int_equal(lab.io.pauses, 0);
    assert_int_equal(lab_count(&lab, 0)->drop[SW_DROP_buffer], 1);
    assert_int_equal(lab_rx(&lab, 1, 1, 0, 64), 1); /* another port's group is its own */
    lab_port(&lab, 1, false);
    lab_stop(&lab);
}

/* Fixed thresholds may promise more than the pool has: then the pool decides. */
static void test_overbooked(void **state)
{
    (void)state;
    lab_defaults(&lab, 4);
    for (int i = 0; i < 8; i++)
        lab.plain.pg[i] = (struct sw_pg_config){.static_bytes = 1000000};
    lab.plain.pg[3].lossless = true;
    lab.plain.pg[3].headroom_bytes = 3000;
    lab.config.buffer_bytes = 20000 + 4 * 3000;
    lab_start(&lab);
    for (int i = 0; i < 20; i++)
        assert_int_equal(lab_rx(&lab, (uint16_t)(i % 3), 3, 0, 1000), 3);
    assert_int_equal(lab_rx(&lab, 0, 3, 0, 1000), SW_DROPPED);
    assert_int_equal(lab_count(&lab, 0)->drop[SW_DROP_buffer], 1);
    assert_int_equal(lab_rx(&lab, 1, 3, 3, 1000), 3); /* headroom is its own */
    assert_int_equal(lab.io.pauses, 1);
    lab_port(&lab, 3, false);
    lab_stop(&lab);
}

static void test_cells(void **state)
{
    (void)state;
    lab_defaults(&lab, 2);
    lab.config.cell_bytes = 208;
    lab.plain.pg[0] = (struct sw_pg_config){.static_bytes = 10 * 208 + 100};
    lab_start(&lab);
    lab_rx(&lab, 0, 1, 0, 208);
    assert_int_equal(sw_shared_used(lab.sw), 208);
    lab_rx(&lab, 0, 1, 0, 209);
    assert_int_equal(sw_shared_used(lab.sw), 3 * 208);
    lab_rx(&lab, 0, 1, 0, 64);
    assert_int_equal(sw_shared_used(lab.sw), 4 * 208);
    assert_int_equal(sw_queue_bytes(lab.sw, 1, 0), 208 + 209 + 64);
    assert_int_equal(lab_rx(&lab, 0, 1, 0, 1300), SW_DROPPED); /* 7 cells, 6 left */
    assert_int_equal(lab_rx(&lab, 0, 1, 0, 1248), 1);
    while (lab_tx(&lab, 1) >= 0) {
    }
    assert_int_equal(sw_shared_used(lab.sw), 0);
    lab_stop(&lab);
}

/* The multiplication that replaces the division, against the division. */
static void test_cells_exact(void **state)
{
    (void)state;
    static const uint32_t cells[] = {1, 2, 3, 64, 80, 96, 144, 192, 208, 254, 256, 318, 420, 4096, 9999, 32768};
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) {
        lab_defaults(&lab, 2);
        lab.config.cell_bytes = cells[i];
        lab.config.buffer_bytes = 100000000;
        lab.plain.pg[3].headroom_bytes = 0;
        lab_start(&lab);
        for (uint32_t bytes = 1; bytes <= UINT16_MAX; bytes += bytes < 20000 ? 1 : 61) {
            lab_rx(&lab, 0, 1, 0, (uint16_t)bytes);
            assert_int_equal(sw_shared_used(lab.sw), (bytes + cells[i] - 1) / cells[i] * cells[i]);
            lab_tx(&lab, 1);
        }
        lab_stop(&lab);
    }
}

static void test_headroom_pool(void **state)
{
    (void)state;
    fixed_lossless();
    lab.config.ports = 3;
    lab.config.headroom_pool_bytes = 4000;
    lab_start(&lab);
    for (int i = 0; i < 7 + 3; i++)
        assert_int_equal(lab_rx(&lab, 0, 2, 3, 1000), 2); /* its cap: 3000 */
    assert_int_equal(lab_rx(&lab, 0, 2, 3, 1000), SW_DROPPED);
    for (int i = 0; i < 7 + 1; i++)
        assert_int_equal(lab_rx(&lab, 1, 2, 3, 1000), 2); /* what the pool has left */
    assert_int_equal(lab_rx(&lab, 1, 2, 3, 1000), SW_DROPPED);
    assert_int_equal(lab_count(&lab, 0)->drop[SW_DROP_headroom], 1);
    assert_int_equal(lab_count(&lab, 1)->drop[SW_DROP_headroom], 1);
    lab_tx(&lab, 2);
    assert_int_equal(lab_rx(&lab, 1, 2, 3, 1000), 2);
    lab_port(&lab, 2, false);
    lab_stop(&lab);
}

static void test_egress_limit(void **state)
{
    (void)state;
    lab_defaults(&lab, 3);
    lab.plain.queue[0].limit_bytes = 3000;
    lab.plain.queue[3].limit_bytes = 3000;
    lab.plain.queue[1].alpha_num = 1;
    lab.plain.queue[1].alpha_den = 4;
    lab.config.buffer_bytes = 50000 + 3 * 20000; /* 50000 to share */
    lab_start(&lab);
    for (uint16_t i = 0; i < 3; i++)
        assert_int_equal(lab_rx(&lab, i % 2, 2, 0, 1000), 2);
    assert_int_equal(lab_rx(&lab, 0, 2, 0, 64), SW_DROPPED);
    assert_int_equal(lab_count(&lab, 2)->drop[SW_DROP_egress], 1);
    assert_int_equal(lab_count(&lab, 2)->prio[0].drops, 1);
    for (int i = 0; i < 5; i++)
        assert_int_equal(lab_rx(&lab, 0, 2, 3, 1000), 2); /* lossless: no limit */
    lab_port(&lab, 2, false);
    assert_int_equal(sw_shared_used(lab.sw), 0);
    lab_port(&lab, 2, true);
    int taken = 0;
    while (lab_rx(&lab, 0, 2, 1, 1000) != SW_DROPPED)
        taken++;
    assert_int_equal(taken, 10); /* x + 1000 <= (50000 - x) / 4 up to x = 9200 */
    lab_port(&lab, 2, false);
    lab_stop(&lab);
}

/* The HPCC simulator's buffer, by configuration alone. */
static void test_hpcc_variant(void **state)
{
    (void)state;
    const uint64_t ports = 4, buffer = 1000000, headroom = 37500, base = buffer - ports * headroom - ports * 4096;
    lab_defaults(&lab, (uint16_t)ports);
    lab.plain.pg[3] = (struct sw_pg_config){.lossless = true,
                                            .reserved_bytes = 4096,
                                            .dynamic = true,
                                            .alpha_num = 1,
                                            .alpha_den = 8,
                                            .xon_offset_bytes = 3072,
                                            .headroom_bytes = headroom};
    lab.config.buffer_bytes = buffer;
    lab.config.refresh_pauses = false;
    lab_start(&lab);
    uint64_t ingress = 0, hdrm = 0, shared_used = 0;
    bool paused = false;
    for (int i = 0; i < 140; i++) { /* its own arithmetic beside ours */
        uint64_t shared = ingress > 4096 ? ingress - 4096 : 0, threshold = (base - shared_used) >> 3;
        bool drop = hdrm + 1048 > headroom && shared + 1048 > threshold;
        if (!drop) {
            uint64_t all = ingress + 1048;
            if (all <= 4096) {
                ingress = all;
            } else if (all - 4096 > threshold) {
                hdrm += 1048;
            } else {
                ingress = all;
                shared_used += all - 4096 < 1048 ? all - 4096 : 1048;
            }
        }
        assert_int_equal(lab_rx(&lab, 0, 1, 3, 1048), drop ? SW_DROPPED : 1);
        assert_int_equal(sw_shared_used(lab.sw), shared_used);
        assert_int_equal(sw_pg_headroom_bytes(lab.sw, 0, 3), hdrm);
        shared = ingress > 4096 ? ingress - 4096 : 0;
        bool pause = !paused && (hdrm > 0 || shared >= (base - shared_used) >> 3);
        assert_int_equal(lab.io.pauses, pause);
        paused |= pause;
        assert_int_equal(lab.io.deadline, PS_NEVER);
    }
    assert_true(paused);
    assert_true(lab_count(&lab, 0)->drop[SW_DROP_headroom] > 0);
    while (lab_tx(&lab, 1) >= 0) {
        uint64_t from_hdrm = hdrm < 1048 ? hdrm : 1048, shared = ingress > 4096 ? ingress - 4096 : 0;
        uint64_t from_shared = 1048 - from_hdrm < shared ? 1048 - from_hdrm : shared;
        hdrm -= from_hdrm;
        ingress -= 1048 - from_hdrm;
        shared_used -= from_shared;
        shared = ingress > 4096 ? ingress - 4096 : 0;
        bool resume = paused && hdrm == 0 && (shared == 0 || shared + 3072 <= (base - shared_used) >> 3);
        assert_int_equal(sw_shared_used(lab.sw), shared_used);
        assert_int_equal(lab.io.pauses, resume);
        paused &= !resume;
    }
    assert_false(paused);
    lab_stop(&lab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shared_size),       cmocka_unit_test(test_reserve_shared_headroom),
        cmocka_unit_test(test_straddle),          cmocka_unit_test(test_refused_pauses),
        cmocka_unit_test(test_dynamic_threshold), cmocka_unit_test(test_lossy_drop),
        cmocka_unit_test(test_overbooked),        cmocka_unit_test(test_cells),
        cmocka_unit_test(test_cells_exact),       cmocka_unit_test(test_headroom_pool),
        cmocka_unit_test(test_egress_limit),      cmocka_unit_test(test_hpcc_variant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
