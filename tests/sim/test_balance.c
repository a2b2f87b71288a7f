/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Load balancing from end to end: packets out of order are no losses, losses are found, every way of balancing gives
 * the same run for any number of threads, tiers that hash alike are named, 802.3x stops who PFC lets pass.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "load/load.h"
#include "support.h"

#define TEXT 2048

static struct run run_as(const char *text, uint32_t threads)
{
    return run_text(text, options_of(1, threads));
}

static void leaf_spine(char text[TEXT], const char *switches, const char *nics, const char *faults)
{
    snprintf(text, TEXT,
             "rocelab: 1\ntopology: {leaf-spine: {leaves: 4, spines: 4, hosts: 4}}\n"
             "links: {host: {rate: 100G, cable: 3m}, fabric: {rate: 100G, cable: 30m}}\n"
             "switches: {%s}\nnics: {mtu: 4096, congestion: none, timeout: 10%s}\n"
             "jobs: [{permutation: 5, size: 1MB}]\n%s",
             switches, nics, faults);
}

static ps_t slowest(const struct run *run)
{
    ps_t most = 0;
    for (uint32_t i = 0; i < run->result.flows; i++) {
        assert_false(run->result.flow[i].failed);
        assert_int_not_equal(run->result.flow[i].fct_ps, PS_NEVER);
        if (run->result.flow[i].fct_ps > most) most = run->result.flow[i].fct_ps;
    }
    return most;
}

static void test_threads(void **state)
{
    (void)state;
    static const char *const modes[] = {
        "balance: ecmp",
        "balance: {use: flowlet, gap: 1us}",
        "balance: adaptive",
        "balance: {use: adaptive, hysteresis: 2, quantum: 4KB}",
        "balance: {use: adaptive, per: flowlet, gap: 2us}",
        "balance: spray",
        "balance: {use: spray, order: round-robin}",
        "balance: pin",
        "balance: {use: pin, by: hash, pins: [{src: h0, dst: h5, port: 4}]}",
        "balance: spray, architecture: voq",
        "architecture: {use: voq, credit: 8KB, xoff: 200KB, on-chip: 1MB}, buffer: 40MB",
        "balance: adaptive, ecmp: {seed: per-tier}, pause: 802.3x, buffer: 12MB",
    };
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        static const uint32_t threads[] = {1, 2, 3, 8};
        char text[TEXT];
        uint64_t digest = 0;
        /* A pin is of one leaf: others have no such way. */
        leaf_spine(text, strstr(modes[i], "pins") ? "buffer: 64MB" : modes[i], ", reorder: true",
                   "faults: [{corrupt: leaf0:5, share: 1%}]\n");
        if (strstr(modes[i], "pins"))
            snprintf(text + strlen(text), TEXT - strlen(text), "devices: {leaf0: {%s}}\n", modes[i]);
        for (size_t t = 0; t < 4; t++) {
            struct run run = run_as(text, threads[t]);
            if (t == 0) digest = run.result.digest;
            if (run.result.digest != digest) fail_msg("%s: %u threads give another run", modes[i], threads[t]);
            slowest(&run);
            run_free(&run);
        }
    }
}

static void test_reordering_is_no_loss(void **state)
{
    (void)state;
    char text[TEXT];

    leaf_spine(text, "balance: spray", ", recovery: selective", "");
    struct run naive = run_as(text, 1);
    assert_true(run_sums(&naive).retransmitted > 100); /* a gap is a loss at once */
    leaf_spine(text, "balance: spray", ", reorder: true", "");
    struct run patient = run_as(text, 1);
    struct sums sums = run_sums(&patient);
    assert_int_equal(sums.retransmitted, 0);
    assert_int_equal(sums.naks, 0);
    assert_int_equal(sums.drops, 0);
    uint64_t reordered = 0;
    for (uint32_t i = 0; i < patient.result.nics; i++)
        reordered += patient.result.nic[i].counters->reordered_packets;
    assert_true(reordered > 500);
    assert_true(slowest(&patient) < slowest(&naive));
    run_free(&naive);
    run_free(&patient);
}

static void test_loss_under_spraying(void **state)
{
    (void)state;
    char text[TEXT];

    leaf_spine(text, "balance: spray", ", reorder: {window: 64, delay: 50us}",
               "faults: [{drop: leaf0:5, every: 40}, {drop: leaf2:4, every: 25}]\n");
    struct run run = run_as(text, 1);
    struct sums sums = run_sums(&run);
    assert_true(sums.lost > 10);
    assert_true(sums.retransmitted > 0);
    assert_true(sums.retransmitted <= sums.lost); /* what was lost, ACKs apart, and nothing else */
    assert_int_equal(sums.timeouts, 0);
    slowest(&run);
    run_free(&run);
}

/* A link that swallows everything: each packet it was given is sent again until it has gone another way. */
static void test_black_hole(void **state)
{
    (void)state;
    char text[TEXT];

    leaf_spine(text, "balance: spray", ", reorder: {window: 64, delay: 50us}",
               "faults: [{down: leaf0:5, at: 20us, for: 60us}]\n");
    struct run run = run_as(text, 1);
    struct sums sums = run_sums(&run);
    assert_true(sums.retransmitted > 10);
    slowest(&run);
    run_free(&run);
}

static const struct sim_tier *tier(const struct run *run, uint8_t from, uint8_t to)
{
    for (uint32_t i = 0; i < run->result.tiers; i++)
        if (run->result.tier[i].from == from && run->result.tier[i].to == to) return &run->result.tier[i];
    fail_msg("no such tier");
    return NULL;
}

/* 16,256 connections: each has a table of what came out of order, so only where something does. */
static struct run fat_tree(const char *switches, bool reorder)
{
    char text[TEXT];
    snprintf(text, TEXT,
             "rocelab: 1\ntopology: {fat-tree: {k: 8}}\nlinks: {host: {rate: 100G, cable: 3m}}\n"
             "switches: {%s}\nnics: {congestion: none, reorder: %s}\njobs: [{all-to-all: at-once, size: 200KB}]\n",
             switches, reorder ? "true" : "false");
    struct run run = run_as(text, 1);
    assert_int_equal(sim_imbalance(run.sim, &run.result), 0);
    return run;
}

static void test_imbalance(void **state)
{
    (void)state;
    struct run own = fat_tree("ecmp: {seed: per-switch}", false);
    const struct sim_tier *up = tier(&own, FABRIC_ROLE_SPINE, FABRIC_ROLE_CORE);
    assert_int_equal(up->links, 128);
    assert_int_equal(up->alike, UINT8_MAX);
    assert_int_equal(up->used_milli, 1000);
    assert_in_range(up->mean_milli, 1020, 1250);
    assert_in_range(up->mean_milli, up->expected_milli - 60, up->expected_milli + 60);

    struct run same = fat_tree("ecmp: {seed: 7}", false);
    up = tier(&same, FABRIC_ROLE_SPINE, FABRIC_ROLE_CORE);
    assert_int_equal(up->alike, FABRIC_ROLE_LEAF);
    assert_int_equal(up->used_milli, 250); /* a spine sees only flows whose hash names it: one of four cores */
    assert_int_equal(up->mean_milli, 4000);
    assert_int_equal(up->expected_used_milli, 1000);
    assert_int_equal(up->empties, SIM_TIER_EMPTIES);
    assert_int_equal(tier(&same, FABRIC_ROLE_LEAF, FABRIC_ROLE_SPINE)->alike, UINT8_MAX);

    struct run tiers = fat_tree("ecmp: {seed: per-tier}", false);
    assert_int_equal(tier(&tiers, FABRIC_ROLE_SPINE, FABRIC_ROLE_CORE)->alike, UINT8_MAX);
    struct run spray = fat_tree("balance: {use: spray, order: round-robin}", true);
    up = tier(&spray, FABRIC_ROLE_LEAF, FABRIC_ROLE_SPINE);
    assert_int_equal(up->expected_milli, 1000);
    assert_in_range(up->mean_milli, 1000, 1120);
    run_free(&own);
    run_free(&same);
    run_free(&tiers);
    run_free(&spray);
}

/* Four overload h2; h0's other flow, in another class, goes to h3, whose line is idle. */
static ps_t victim(const char *pause)
{
    char text[TEXT];
    snprintf(text, TEXT,
             "rocelab: 1\ntopology: {single: {hosts: 6}}\nlinks: {host: {rate: 100G, cable: 3m}}\n"
             "switches: {buffer: 2MB, pause: %s}\n"
             "classes:\n  - {name: rdma, dscp: 26, priority: 3, lossless: true, share: 50%%}\n"
             "  - {name: other, dscp: 10, priority: 1, share: 50%%}\n"
             "nics: {mtu: 4096, congestion: none}\njobs:\n"
             "  - {flows: [{src: h0, dst: h2, size: 8MB}, {src: h1, dst: h2, size: 8MB}, "
             "{src: h4, dst: h2, size: 8MB}, {src: h5, dst: h2, size: 8MB}]}\n"
             "  - {flows: [{src: h0, dst: h3, size: 4MB}], class: other}\n",
             pause);
    struct run run = run_as(text, 1);
    assert_int_equal(run_sums(&run).drops, 0);
    assert_true(run_sums(&run).pauses > 0);
    ps_t fct = 0;
    for (uint32_t i = 0; i < run.result.flows; i++)
        if (run.result.flow[i].job == 1) fct = run.result.flow[i].fct_ps;
    run_free(&run);
    return fct;
}

static void test_pause_of_all_classes(void **state)
{
    (void)state;
    ps_t pfc = victim("pfc"), all = victim("802.3x"), line = 4000000 * 80;
    assert_in_range(pfc, line, 2 * line + line / 10); /* at worst half of its adapter's line */
    assert_true(all > pfc + pfc / 2);
}

/* Two ports feed one: h0 alone by its own, three others behind an uplink.  Credits share by port, not by packets. */
/* Four senders into one port through 100 KB on the chip: what lies deeper comes out at the rate it is read at. */
static void test_deep_rate(void **state)
{
    (void)state;
    ps_t took[2];
    for (int i = 0; i < 2; i++) {
        char text[600];
        snprintf(text, sizeof(text),
                 "rocelab: 1\ntopology: {single: {hosts: 5}}\nlinks: {host: {rate: 100G, cable: 3m}}\n"
                 "switches: {buffer: 200MB, architecture: {use: voq, on-chip: 100KB%s}}\n"
                 "nics: {mtu: 1024, congestion: none}\njobs: [{incast: 4, size: 4MB, to: h0}]\n",
                 i ? ", deep-rate: 50G" : "");
        struct run run = run_text(text, options_of(1, 1));
        assert_int_equal(run.result.state, SIM_DONE);
        took[i] = run.result.virtual_ps;
        run_free(&run);
    }
    /* frames of 1082 bytes, 1106 on the line: 16 MB of payload at 50G without preamble and gap, at 100G with */
    double deep = 16e6 / 1024 * 1082 * 8 / 50e9 * 1e12, line = 16e6 / 1024 * 1106 * 8 / 100e9 * 1e12;
    assert_true((double)took[1] > 0.98 * deep && (double)took[1] < 1.02 * deep);
    assert_true((double)took[0] > 0.98 * line && (double)took[0] < 1.02 * line);
}

/* Twice the host's rate behind slower links: a flow that is spread over them is no faster than it can be. */
static void test_ideal_of_sprayed(void **state)
{
    (void)state;
    struct run run = run_text("rocelab: 1\ntopology: {leaf-spine: {leaves: 2, spines: 4, hosts: 4}}\n"
                              "links: {host: {rate: 100G, cable: 5m}, fabric: {rate: 50G, cable: 20m}}\n"
                              "switches: {balance: spray}\nnics: {mtu: 1024, congestion: none, reorder: true}\n"
                              "jobs: [{flows: [{src: h0, dst: h7, size: 4MB}]}]\n",
                              options_of(1, 1));
    const struct sim_flow *flow = &run.result.flow[0];
    assert_int_equal(run.result.state, SIM_DONE);
    assert_true(flow->fct_ps >= flow->ideal_ps && flow->fct_ps < flow->ideal_ps + flow->ideal_ps / 50);
    run_free(&run);
}

static void test_voq_shares_by_port(void **state)
{
    (void)state;
    ps_t alone[2];
    for (int voq = 0; voq < 2; voq++) {
        char text[TEXT];
        snprintf(text, TEXT,
                 "rocelab: 1\ntopology: {dumbbell: {left: 2, right: 6}}\n"
                 "links: {host: {rate: 100G, cable: 3m}, fabric: {rate: 400G, cable: 3m}}\n"
                 "switches: {buffer: 64MB, architecture: %s}\n"
                 "nics: {mtu: 4096, congestion: none}\n"
                 "jobs: [{flows: [{src: h0, dst: h1, size: 2MB}, {src: h2, dst: h1, size: 2MB}, "
                 "{src: h3, dst: h1, size: 2MB}, {src: h4, dst: h1, size: 2MB}]}]\n",
                 voq ? "voq" : "shared");
        struct run run = run_as(text, 1);
        for (uint32_t i = 0; i < run.result.flows; i++)
            if (run.result.flow[i].src == 0) alone[voq] = run.result.flow[i].fct_ps;
        run_free(&run);
    }
    assert_true(alone[1] < alone[0] * 6 / 10); /* half the line, not a quarter */
}

static void expect_error(const char *switches, const char *rest, const char *words)
{
    char text[TEXT];
    struct fabric *fabric = NULL;
    struct fabric_errors errors = {0};

    snprintf(text, TEXT,
             "rocelab: 1\ntopology: {leaf-spine: {leaves: 2, spines: 2, hosts: 2}}\n"
             "links: {host: {rate: 100G}}\nswitches: {%s}\n%s",
             switches, rest);
    assert_int_equal(fabric_load("test.yaml", text, &fabric, &errors), -EINVAL);
    if (!strstr(errors.error[0].text, words)) fail_msg("'%s' does not say '%s'", errors.error[0].text, words);
    assert_true(errors.error[0].at.line >= 4);
    assert_true(errors.error[0].at.column > 1);
}

static void test_errors(void **state)
{
    (void)state;
    expect_error("balance: sprai", "", "spray");
    expect_error("balance: {use: flowlet, table: 1000}", "", "power of two");
    expect_error("balance: {use: adaptive, hysteresis: 9}", "", "hysteresis");
    expect_error("ecmp: {seed: per-rack}", "", "per-tier");
    expect_error("architecture: {use: voq, credits: 4KB}", "", "credit");
    expect_error("pause: 802.1x", "", "802.3x");
    expect_error("balance: {use: pin, pins: [{dst: h9, port: 2}]}", "", "no endpoint 'h9'");
    expect_error("balance: {use: pin, pins: [{src: h0, port: 2}]}", "", "names a dst and a port");
    expect_error("balance: ecmp", "devices: {leaf0: {balance: {use: pin, pins: [{dst: h3, port: 7}]}}}\n", "no port 7");
    expect_error("balance: ecmp", "devices: {leaf0: {balance: {use: pin, pins: [{dst: h3, port: 0}]}}}\n",
                 "no shortest path to 'h3'");
    expect_error("balance: ecmp", "nics: {reorder: {window: 9999}}\n", "window");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_reordering_is_no_loss),
        cmocka_unit_test(test_loss_under_spraying),
        cmocka_unit_test(test_black_hole),
        cmocka_unit_test(test_imbalance),
        cmocka_unit_test(test_pause_of_all_classes),
        cmocka_unit_test(test_voq_shares_by_port),
        cmocka_unit_test(test_deep_rate),
        cmocka_unit_test(test_ideal_of_sprayed),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
