/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scheduler: strict order, shares by weight with any packet sizes, and what a pause does to them.
 */
#include <stdio.h>

#include "lab.h"

static struct lab lab;

static void test_strict(void **state)
{
    (void)state;
    lab_defaults(&lab, 2);
    lab.plain.queue[2].strict = lab.plain.queue[6].strict = true;
    lab_start(&lab);
    for (int i = 0; i < 3; i++)
        for (uint8_t tc = 0; tc < 8; tc++)
            lab_rx(&lab, 0, 1, tc, 1000);
    static const int first[] = {6, 6, 6, 2, 2, 2};
    for (int i = 0; i < 6; i++)
        assert_int_equal(lab_tx(&lab, 1), first[i]);
    int tc = lab_tx(&lab, 1);
    assert_true(tc >= 0 && tc != 2 && tc != 6);
    lab_rx(&lab, 0, 1, 2, 1000); /* overtakes what is left */
    assert_int_equal(lab_tx(&lab, 1), 2);
    /* A paused strict queue gives way. */
    lab.plain.pfc_rx = 0;
    lab_port(&lab, 1, false);
    lab_stop(&lab);

    lab_defaults(&lab, 2);
    lab.plain.queue[3].strict = true;
    lab_start(&lab);
    lab_rx(&lab, 0, 1, 3, 1000);
    lab_rx(&lab, 0, 1, 0, 1000);
    lab_pause(&lab, 1, 1u << 3, 100);
    assert_int_equal(lab_tx(&lab, 1), 0);
    assert_int_equal(lab_tx(&lab, 1), -1);
    lab_pause(&lab, 1, 1u << 3, 0);
    assert_int_equal(lab_tx(&lab, 1), 3);
    lab_stop(&lab);
}

/* All queues of `mask` keep packets of random sizes; a packet is sent; its queue. */
static uint32_t send_one(struct rng *rng, uint32_t mask, uint32_t size_max, uint64_t *sent)
{
    for (uint8_t queue = 0; queue < 8; queue++)
        while (mask >> queue & 1 && sw_queue_bytes(lab.sw, 1, queue) < 3 * size_max)
            lab_rx(&lab, 0, 1, queue, (uint16_t)(64 + rng_below(rng, size_max - 63)));
    pkt_t id = lab_tx_id(&lab, 1);
    assert_int_not_equal(id, PKT_NONE);
    uint32_t queue = lab_pkt(&lab, id)->tc;
    sent[queue] += lab_pkt(&lab, id)->frame_bytes;
    pktpool_put(&lab.pool, id);
    return queue;
}

/* At no time is a backlogged queue more than a round and a packet away from its share. */
static void test_shares(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct rng rng;
        rng_init(&rng, seed, 77);
        lab_defaults(&lab, 2);
        lab.config.buffer_bytes = 1u << 30;
        const uint32_t size_max = seed % 2 ? 9216 : 1500;
        uint64_t weight[8], sent[8] = {0};
        for (uint32_t i = 0; i < 8; i++) {
            weight[i] = 4096 + rng_below(&rng, 40000);
            lab.plain.queue[i].weight_bytes = (uint32_t)weight[i];
        }
        lab_start(&lab);
        uint32_t mask = (uint32_t)rng_below(&rng, 253) | 0x81;
        for (int step = 0; step < 6000; step++) {
            send_one(&rng, mask, size_max, sent);
            for (uint32_t i = 0; i < 8; i++)
                for (uint32_t j = 0; j < 8; j++) {
                    if (!(mask >> i & 1) || !(mask >> j & 1)) continue;
                    uint64_t ahead = sent[i] * weight[j], behind = sent[j] * weight[i];
                    uint64_t bound = weight[i] * weight[j] + size_max * (weight[i] + weight[j]);
                    if (ahead > behind + bound)
                        fail_msg("seed %d step %d: queue %u is ahead of %u", (int)seed, step, i, j);
                }
        }
        lab_port(&lab, 1, false);
        lab_stop(&lab);
    }
}

/* Weights smaller than a packet keep their shares; a weight of 0 counts as the least one. */
static void test_small_weights(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, 5, 77);
    lab_defaults(&lab, 2);
    lab.config.buffer_bytes = 1u << 30;
    lab.plain.queue[0].weight_bytes = 1;
    lab.plain.queue[1].weight_bytes = 9;
    lab.plain.queue[2].weight_bytes = 0;
    for (int i = 3; i < 8; i++)
        lab.plain.queue[i].weight_bytes = 1;
    lab_start(&lab);
    uint64_t sent[8] = {0};
    for (int i = 0; i < 20000; i++)
        send_one(&rng, 7, 9216, sent);
    uint64_t all = sent[0] + sent[1] + sent[2];
    assert_in_range(sent[1] * 1000 / all, 814, 823); /* 9 / 11 */
    assert_in_range(sent[2] * 1000 / all, 88, 94);
    lab_port(&lab, 1, false);
    lab_stop(&lab);
}

/* While one queue is paused the others have its share; after it the shares are as before, with no catching up
 * beyond two rounds. */
static void test_pause_and_shares(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, 6, 77);
    lab_defaults(&lab, 2);
    lab.config.buffer_bytes = 1u << 30;
    lab.plain.pfc_rx = 0xff;
    lab.plain.pg[3].lossless = false;
    lab.plain.queue[0].weight_bytes = lab.plain.queue[1].weight_bytes = lab.plain.queue[2].weight_bytes = 10000;
    lab_start(&lab);
    uint64_t sent[8] = {0};
    for (int round = 0; round < 200; round++) {
        lab_pause(&lab, 1, 1u << 1, 65535);
        for (uint64_t i = 0, n = rng_below(&rng, 50); i < n; i++) {
            uint64_t before = sent[1];
            send_one(&rng, 7, 1500, sent);
            assert_int_equal(sent[1], before);
        }
        lab_pause(&lab, 1, 1u << 1, 0);
        uint64_t start[3] = {sent[0], sent[1], sent[2]};
        for (uint64_t i = 0, n = rng_below(&rng, 200); i < n; i++)
            send_one(&rng, 7, 1500, sent);
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                if (sent[i] - start[i] > sent[j] - start[j] + 2 * 10000 + 2 * 1500)
                    fail_msg("round %d: queue %d got %d more than %d", round, i,
                             (int)(sent[i] - start[i] - sent[j] + start[j]), j);
    }
    assert_true(sent[1] < sent[0] && sent[1] < sent[2]);
    lab_port(&lab, 1, false);
    lab_stop(&lab);
}

/* The longest run of queue 1 in what is sent, while both are backlogged. */
static int longest_run(int packets)
{
    int longest = 0, run = 0;
    for (int i = 0; i < packets; i++) {
        run = lab_tx(&lab, 1) == 1 ? run + 1 : 0;
        if (run > longest) longest = run;
    }
    return longest;
}

/* A queue that falls empty keeps no savings: it cannot burst later. */
static void test_idle_saves_nothing(void **state)
{
    (void)state;
    lab_defaults(&lab, 2);
    lab.config.buffer_bytes = 1u << 30;
    lab_start(&lab);
    for (int i = 0; i < 2000; i++)
        lab_rx(&lab, 0, 1, i % 2 ? 0 : 2, 1000);
    for (int i = 0; i < 20; i++) { /* one packet of its 10000 each round, then empty again */
        lab_rx(&lab, 0, 1, 1, 1000);
        while (lab_tx(&lab, 1) != 1)
            continue;
        assert_int_not_equal(lab_tx(&lab, 1), 1); /* the turn passes on */
    }
    for (int i = 0; i < 60; i++)
        lab_rx(&lab, 0, 1, 1, 1000);
    assert_in_range(longest_run(80), 9, 10);
    lab_port(&lab, 1, false);
    lab_stop(&lab);
}

/* A queue that is paused in the middle of each of its turns saves what it could not use, but at most two weights. */
static void test_paused_saves_little(void **state)
{
    (void)state;
    lab_defaults(&lab, 2);
    lab.config.buffer_bytes = 1u << 30;
    lab.plain.pfc_rx = 1u << 1;
    lab_start(&lab);
    for (int i = 0; i < 2000; i++)
        lab_rx(&lab, 0, 1, i % 2 ? 0 : 2, 1000);
    for (int i = 0; i < 200; i++)
        lab_rx(&lab, 0, 1, 1, 1000);
    for (int i = 0; i < 20; i++) {
        while (lab_tx(&lab, 1) != 1)
            continue;
        lab_pause(&lab, 1, 1u << 1, 65535);
        for (int j = 0; j < 3; j++)
            assert_int_not_equal(lab_tx(&lab, 1), 1);
        lab_pause(&lab, 1, 1u << 1, 0);
    }
    assert_in_range(longest_run(80), 15, 20);
    lab_port(&lab, 1, false);
    lab_stop(&lab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strict),
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_small_weights),
        cmocka_unit_test(test_pause_and_shares),
        cmocka_unit_test(test_idle_saves_nothing),
        cmocka_unit_test(test_paused_saves_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
