/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TCP and iWARP in whole fabrics: every byte arrives once whatever is dropped, threads cannot be seen in the digest,
 * and times are what cores, headers and software say.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "support.h"

#define STAR "topology: {single: {hosts: 9}}\nlinks: {host: {rate: 10G, cable: 3m}}\n"
#define TREE "topology: {leaf-spine: {leaves: 4, spines: 2, hosts: 4}}\nlinks: {host: {rate: 100G, cable: 3m}}\n"

/* Payload accepted over all adapters. */
static uint64_t accepted(const struct run *run)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < run->result.nics; i++)
        bytes += run->result.nic[i].common.rx_payload_bytes;
    return bytes;
}

static void all_done(const struct run *run, uint64_t bytes)
{
    assert_int_equal(run->result.state, SIM_DONE);
    assert_int_equal(run->result.work_failed, 0);
    assert_int_equal(run->result.packets_live, 0);
    if (bytes) assert_int_equal(accepted(run), bytes);
}

/* Each congestion control, in a buffer that is far too small. */
static void every_byte_arrives_once(void **state)
{
    static const char *const cc[] = {"newreno", "cubic", "dctcp"};
    char text[1024];

    (void)state;
    for (int i = 0; i < 6; i++) {
        snprintf(text, sizeof(text),
                 "rocelab: 1\nsystem: %s\n" STAR
                 "classes: [{name: a, dscp: 0, priority: 0, limit: 60KB, ecn: {min: 20KB, max: 20KB}}]\n"
                 "nics: {mtu: 1440, tcp: {cc: %s, rto-min: 1ms}}\n"
                 "jobs: [{incast: 8, to: h0, size: 1MB}, {permutation: random, size: 300KB, at: 1ms}]\n",
                 i < 3 ? "tcp" : "iwarp", cc[i % 3]);
        struct run run = run_text(text, options_of(1, 1));
        all_done(&run, 8 * 1000000 + 9 * 300000);
        struct sums sums = run_sums(&run);
        assert_true(sums.drops > 0 && sums.retransmitted >= sums.drops);
        if (i % 3 == 2) assert_true(sums.marks > 0);
        if (i % 3 != 2) assert_int_equal(sums.marks, 0);
        run_free(&run);
    }
}

static void threads_cannot_be_seen(void **state)
{
    static const char text[] = "rocelab: 1\nsystem: tcp\n" TREE "nics: {tcp: {cc: dctcp, receive-jitter: 1us}}\n"
                               "jobs: [{allreduce: ring, size: 2MB}, {incast: 15, to: h0, size: 500KB}]\n";
    struct run one = run_text(text, options_of(3, 1)), four = run_text(text, options_of(3, 4)),
               other = run_text(text, options_of(4, 1));

    (void)state;
    all_done(&one, 0);
    assert_int_equal(one.result.digest, four.result.digest);
    assert_int_not_equal(one.result.digest, other.result.digest);
    run_free(&one);
    run_free(&four);
    run_free(&other);
}

/* A link is down for a time: timers repair it. */
static void a_dead_link_costs_time_alone(void **state)
{
    struct run run = run_text("rocelab: 1\nsystem: tcp\n" STAR "nics: {tcp: {rto-min: 1ms}}\n"
                              "jobs: [{flows: [{src: h1, dst: h0, size: 20MB}]}]\n"
                              "faults: [{down: 'h1:0', at: 3ms, for: 10ms}]\n",
                              options_of(1, 1));

    (void)state;
    all_done(&run, 20000000);
    assert_true(run_sums(&run).timeouts >= 3);
    assert_in_range(run.result.virtual_ps, 26 * PS_MS, 45 * PS_MS);
    run_free(&run);
}

/* Forty Gb/s a core, and software on both sides. */
static void cores_and_software_take_time(void **state)
{
    struct run run = run_text("rocelab: 1\nsystem: tcp\ntopology: {single: {hosts: 2}}\n"
                              "links: {host: {rate: 400G, cable: 3m}}\nnics: {mtu: 1448}\n"
                              "jobs: [{flows: [{src: h1, dst: h0, size: 50MB}]}]\n",
                              options_of(1, 1));

    (void)state;
    all_done(&run, 50000000);
    assert_in_range(run.result.virtual_ps, 10 * PS_MS, 10100 * PS_US);
    run_free(&run);
}

/* Headers of iWARP: 1,440 of 1,538 bytes of line; no cores. */
static void iwarp_fills_the_line(void **state)
{
    struct run run = run_text("rocelab: 1\nsystem: iwarp\ntopology: {single: {hosts: 2}}\n"
                              "links: {host: {rate: 100G, cable: 3m}}\nnics: {mtu: 1440}\n"
                              "jobs: [{flows: [{src: h1, dst: h0, size: 100MB}]}]\n",
                              options_of(1, 1));
    ps_t line = 100000000ULL * 1538 / 1440 * 80;

    (void)state;
    all_done(&run, 100000000);
    assert_in_range(run.result.virtual_ps, line, line + line / 200);
    run_free(&run);
}

/* As ns-3 has it: acknowledgements let segments go at the instants at which other hosts send their second ones, and go
 * first; then no flow loses the end of its window.  CUBIC's window stays where its curve says. */
static void events_of_an_instant_are_in_ns3s_order(void **state)
{
    static const struct {
        const char *cc;
        uint64_t drops;
        ps_t slowest; /* of ns-3, and the last acknowledgement */
    } flows[] = {{"newreno", 43, 1799497 * PS_NS}, {"cubic", 0, 1741565 * PS_NS}};
    char text[512];

    (void)state;
    for (size_t i = 0; i < sizeof(flows) / sizeof(flows[0]); i++) {
        snprintf(text, sizeof(text),
                 "rocelab: 1\nsystem: tcp\nmodel: ns3-tcp\ntopology: {single: {hosts: 9}}\n"
                 "links: {host: {rate: 10G, delay: 5us}}\nclasses: [{name: data, priority: 0, limit: 1001333B}]\n"
                 "nics: {tcp: {cc: %s}}\njobs: [{incast: 8, to: h0, size: 256KB}]\n",
                 flows[i].cc);
        struct run run = run_text(text, options_of(1, 1));
        struct sums sums = run_sums(&run);
        assert_int_equal(sums.timeouts, 0);
        assert_in_range(sums.drops, flows[i].drops - flows[i].drops / 20, flows[i].drops + flows[i].drops / 20);
        assert_in_range(run.result.virtual_ps, flows[i].slowest - 20 * PS_US, flows[i].slowest + 20 * PS_US);
        run_free(&run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_arrives_once),      cmocka_unit_test(threads_cannot_be_seen),
        cmocka_unit_test(a_dead_link_costs_time_alone), cmocka_unit_test(cores_and_software_take_time),
        cmocka_unit_test(iwarp_fills_the_line),         cmocka_unit_test(events_of_an_instant_are_in_ns3s_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
