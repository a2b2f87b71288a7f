/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TCP over lines that lose, double, hold back and mark packets and are dead for a time: every message arrives once, in
 * order, no acknowledgement says more than arrived, and all books balance.  Settings and lines are drawn by a printed
 * seed; the line (line.c) checks each packet, and both endpoints are audited after each call.
 *
 * Bugs that were planted in the machine, one at a time, to see that the tests of this folder find them: an end of a
 * message that is not noted after a gap; pieces that are joined across a gap; a duplicate that is counted twice; a
 * wrong wrap of sequence numbers; bytes that arrived after a gap counted as in flight; a run that is not merged; a
 * timer that is not set again after an acknowledgement, or not set for the second message; a timeout that keeps the
 * window, or does not double; recovery that never ends, or halves twice; slow start that goes on above ssthresh; a
 * mark that is echoed for ever; alpha that is not clipped; a cube root that is one too small; a probe that is sent
 * twice; a burst that does not end; a paused priority that sends; a core that is not charged; a delayed
 * acknowledgement that is forgotten.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "rig.h"
#include "seed.h"

static struct tcp_config draw_config(struct rng *rng)
{
    struct tcp_config config = tcp_config_default(0, rng_chance(rng, 500000) ? 1500 : 9000);

    config.cc = (uint8_t)rng_below(rng, 3);
    config.ack_every = (uint8_t)(1 + rng_below(rng, 2));
    config.burst_bytes = rng_chance(rng, 500000) ? 65536 : 0;
    config.handshake = rng_chance(rng, 300000);
    config.probes = rng_chance(rng, 600000);
    config.ns3 = !config.probes && rng_chance(rng, 500000);
    config.rto_min = (1 + rng_below(rng, 20)) * PS_MS;
    config.initial_window = (uint16_t)(1 + rng_below(rng, 20));
    config.runs = (uint16_t)(32 + rng_below(rng, 200));
    config.retries = 40;
    config.rto_max = 100 * PS_MS;
    if (rng_chance(rng, 300000)) config.cpu_bps = 1000000000 + rng_below(rng, 20000000000);
    if (rng_chance(rng, 200000)) config.host_bps = 1000000000 + rng_below(rng, 20000000000);
    if (rng_chance(rng, 300000)) config.receive_ps = rng_below(rng, 20000) * PS_NS;
    if (rng_chance(rng, 200000)) config.window_bytes = 2000 + rng_below(rng, 100000);
    if (config.window_bytes < config.mss) config.window_bytes = config.mss;
    if (rng_chance(rng, 200000)) config.held_bytes = 20000;
    config.mpa.on = rng_chance(rng, 300000);
    config.mpa.markers = rng_chance(rng, 500000);
    return config;
}

static void draw_line(struct rng *rng)
{
    if (rng_chance(rng, 600000)) line.lose_ppm = (uint32_t)rng_below(rng, 100000);
    if (rng_chance(rng, 300000)) line.double_ppm = (uint32_t)rng_below(rng, 50000);
    if (rng_chance(rng, 300000)) line.hold_ppm = (uint32_t)rng_below(rng, 100000);
    if (rng_chance(rng, 500000)) line.mark_ppm = (uint32_t)rng_below(rng, 500000);
    if (rng_chance(rng, 200000)) {
        line.dead_from = rng_below(rng, 2000) * PS_US;
        line.dead_to = line.dead_from + rng_below(rng, 100) * PS_MS;
    }
    line.delay_ps = (1 + rng_below(rng, 100)) * PS_US;
}

static void one_run(uint64_t seed)
{
    struct rng rng;

    rng_init(&rng, seed, 1);
    struct tcp_config config = draw_config(&rng);
    line_init(&line, (struct tcp_config[2]){config, config}, seed);
    draw_line(&rng);
    uint32_t conns = 1 + (uint32_t)rng_below(&rng, 4), messages = 1 + (uint32_t)rng_below(&rng, 30);
    for (uint32_t i = 0; i < conns; i++)
        line_connect(&line, rng_chance(&rng, 300000), rng_chance(&rng, 800000));
    for (uint32_t left = conns * messages; left > 0;) {
        uint32_t conn = (uint32_t)rng_below(&rng, conns);
        struct line_conn *to = &line.conn[conn];
        if (to->posted < messages && to->posted - to->sent < LINE_DEPTH) {
            uint64_t most = rng_chance(&rng, 100000) ? 300000 : 10000;
            line_post(&line, conn, rng_below(&rng, most));
            left--;
        }
        ps_t until = line.now + rng_below(&rng, 200) * PS_US;
        line_run(&line, until);
        line.now = until;
    }
    line_run(&line, 10000 * PS_S);
    line_finished(&line);
    line_release(&line);
}

static void everything_arrives_once(void **state)
{
    unsigned first = test_seed_or(1);

    (void)state;
    fprintf(stderr, "seeds from %u\n", first);
    for (unsigned seed = first; seed < first + test_rounds_of(150); seed++)
        one_run(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(everything_arrives_once)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
