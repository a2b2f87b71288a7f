/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random messages, settings and trouble between a few endpoints: every message arrives whole, once and in turn, at
 * both ends; books add up after every call (uet_audit); every payload byte is accepted once; nothing is left over.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/support.h"
#include "line.h"

#define RUNS 160u

static struct line line;

static struct uet_config random_uet(struct rng *rng)
{
    static const uint64_t rates[] = {25000000000, 100000000000, 400000000000};
    static const uint16_t payloads[] = {256, 1024, 4096, 4086};
    static const uint16_t paths[] = {1, 8, 64};
    enum uet_control control = (enum uet_control)(1 + rng_below(rng, 3));
    struct uet_config c =
        uet_config_default((enum uet_model)rng_below(rng, 2), control, rng_below(rng, 2), payloads[rng_below(rng, 4)],
                           rates[rng_below(rng, 3)], (4 + rng_below(rng, 12)) * PS_US);

    c.policy = (uint8_t)rng_below(rng, 4);
    c.paths = paths[rng_below(rng, 3)];
    c.ordered = rng_below(rng, 5) == 0;
    if (c.ordered || control == UET_RCCC) c.infer_loss = false;
    c.ack_bytes = rng_below(rng, 2) ? 1 : 16384;
    c.window_packets = 64u << rng_below(rng, 4);
    c.retries = 0; /* trouble never ends here before a run does */
    c.rto_ps = 100 * PS_US;
    c.oversubscribed = rng_below(rng, 4) == 0;
    return c;
}

static struct line_config random_line(struct rng *rng, const struct uet_config *uet)
{
    static const uint32_t ppm[] = {0, 0, 1000, 30000, 200000};
    struct line_config c = {.hosts = 2 + (uint32_t)rng_below(rng, 3),
                            .delay_ps = uet->base_rtt_ps / 3,
                            .lose_ppm = ppm[rng_below(rng, 5)],
                            .lose_control_ppm = ppm[rng_below(rng, 4)],
                            .double_ppm = ppm[rng_below(rng, 5)],
                            .late_ppm = ppm[rng_below(rng, 5)],
                            .mark_ppm = ppm[rng_below(rng, 5)],
                            .trim_ppm = ppm[rng_below(rng, 5)],
                            .late_ps = rng_below(rng, 2) ? 3 * PS_US : 300 * PS_US,
                            .last_hop = rng_below(rng, 2)};

    if (rng_below(rng, 2)) c.queue_bytes = 4 * (uint64_t)uet->payload_bytes + rng_below(rng, uet->max_window);
    if (rng_below(rng, 2)) c.mark_bytes = c.queue_bytes / 4;
    if (rng_below(rng, 6) == 0 && uet->paths == 64) c.dead = 1u << rng_below(rng, LINE_PATHS);
    return c;
}

static uint64_t fill(struct rng *rng, const struct uet_config *uet, uint32_t hosts)
{
    uint64_t bytes = 0;
    uint32_t pdcs = 1 + (uint32_t)rng_below(rng, 6);

    for (uint32_t i = 0; i < pdcs; i++) {
        uint32_t from = (uint32_t)rng_below(rng, hosts), to = (from + 1 + (uint32_t)rng_below(rng, hosts - 1)) % hosts;
        uint32_t pdc = line_connect(&line, from, to);
        uint32_t messages = 1 + (uint32_t)rng_below(rng, 8);
        for (uint32_t m = 0; m < messages; m++) {
            uint64_t most = rng_below(rng, 3) ? 4ull * uet->payload_bytes : 60ull * uet->payload_bytes;
            uint64_t size = rng_below(rng, most);
            line_message(&line, pdc, size);
            bytes += size;
        }
    }
    return bytes;
}

static void one_run(uint64_t seed)
{
    struct rng rng;

    rng_init(&rng, seed, 1);
    struct uet_config uet = random_uet(&rng);
    struct line_config config = random_line(&rng, &uet);
    line_open(&line, &config, &uet, seed);
    uint64_t bytes = fill(&rng, &uet, config.hosts);
    if (config.dead && uet.ordered) line.config.dead = 0; /* its one path may stay on the dead one for long */
    if (!line_run(&line, 30 * PS_S)) fail_msg("not delivered (seed %llu)", (unsigned long long)seed);
    uint64_t accepted = 0, again = 0, sent = 0;
    for (uint32_t i = 0; i < config.hosts; i++) {
        const struct uet_counters *c = uet_counters(line.host[i]);
        accepted += c->rx_payload_bytes;
        again += c->tx_again_bytes;
        sent += c->tx_payload_bytes;
        EXPECT(c->messages_failed == 0 && c->drop_window == 0 && c->drop_no_end == 0, seed);
    }
    EXPECT(accepted == bytes, seed);
    EXPECT(sent - again == bytes, seed);
    for (uint32_t i = 0; i < line.pdcs; i++)
        EXPECT(uet_outstanding(line.pdc[i].source) == 0, seed);
    line_close(&line);
}

static void test_everything_arrives_once(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < RUNS; i++)
        one_run(test_seed() * 1000 + i);
}

/* The same seed, the same run. */
static void test_repeats(void **state)
{
    ps_t ended[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct uet_config uet = uet_config_default(UET_SPECIFICATION, UET_BOTH, true, 4096, 100000000000, 10 * PS_US);
        struct line_config config = {.hosts = 3,
                                     .delay_ps = 3 * PS_US,
                                     .trim_ppm = 20000,
                                     .mark_ppm = 50000,
                                     .late_ppm = 1000,
                                     .late_ps = PS_US};
        line_open(&line, &config, &uet, 5);
        line_message(&line, line_connect(&line, 0, 1), 700000);
        line_message(&line, line_connect(&line, 2, 1), 700000);
        assert_true(line_run(&line, PS_S));
        ended[i] = line.pdc[1].done_at;
        line_close(&line);
    }
    assert_int_equal(ended[0], ended[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_everything_arrives_once),
        cmocka_unit_test(test_repeats),
    };
    return cmocka_run_group_tests_name("uet delivery", tests, NULL, NULL);
}
