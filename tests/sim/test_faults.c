/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Failures, reroutes, deadlocks and who paused whom: each with the number it must give.
 */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fabric/fabric.h"
#include "load/load.h"
#include "support.h"

#define CLASSES                                                                                                        \
    "classes:\n"                                                                                                       \
    "  - {name: rdma, dscp: 26, priority: 3, lossless: true}\n"                                                        \
    "  - {name: more, dscp: 27, priority: 4, lossless: true}\n"                                                        \
    "  - {name: default, priority: 0}\n"
#define LINKS "links: {host: {rate: 100G, cable: 3m}, fabric: {rate: 100G, cable: 30m}}\n"
#define POD "rocelab: 1\ntopology: {leaf-spine: {leaves: 2, spines: 2, hosts: 2}}\n" LINKS CLASSES
#define PERMUTATION "jobs: [{permutation: 2, size: 2MB}]\n" /* every host to one on the other leaf */

static uint64_t dropped(const struct run *run, enum sw_drop why)
{
    uint64_t count = 0;

    for (uint32_t i = 0; i < run->result.ports; i++)
        if (run->result.port[i].sw) count += run->result.port[i].sw->drop[why];
    return count;
}

static uint64_t delivered(const struct run *run)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < run->result.nics; i++)
        bytes += run->result.nic[i].counters->rx_payload_bytes;
    return bytes;
}

/* A fault that comes while the run goes on is the same as one of the file. */
static void test_while_running(void **state)
{
    static const char *const fault[] = {"down leaf0:2 for 30us", "corrupt h1 share 1%", "reset spine1 for 40us",
                                        "flap leaf1:3 every 20us down 5us times 3",
                                        "hot-optics leaf0:2 temperature 80C ber 1e-6"};
    static const char *const written[] = {"{down: \"leaf0:2\", at: 50us, for: 30us}",
                                          "{corrupt: h1, share: 1%, at: 50us}", "{reset: spine1, at: 50us, for: 40us}",
                                          "{flap: \"leaf1:3\", at: 50us, every: 20us, down: 5us, times: 3}",
                                          "{hot-optics: \"leaf0:2\", at: 50us, temperature: 80C, ber: 1e-6}"};
    static const char head[] =
        POD "converge: {detect: 10us, step: 5us}\n" PERMUTATION "faults: [{down: \"leaf0:3\", at: 20us, for: 60us}";

    (void)state;
    for (size_t i = 0; i < sizeof fault / sizeof fault[0]; i++) {
        struct fabric_errors errors = {0};
        struct sim_options options = options_of(1, 1);
        struct run late = {0};
        char text[4000];
        snprintf(text, sizeof text, "%s, %s]\n", head, written[i]);
        struct run early = run_text(text, options);
        snprintf(text, sizeof text, "%s]\n", head);
        assert_int_equal(fabric_load("test.yaml", text, &late.fabric, &errors), 0);
        assert_int_equal(sim_create(late.fabric, &options, &late.sim, &errors), 0);
        assert_int_equal(sim_advance(late.sim, UINT64_MAX, 50 * PS_US), SIM_UNTIL);
        assert_int_equal(sim_fault(late.sim, late.fabric, "down leaf9:2", &errors), -EINVAL);
        assert_int_equal(sim_fault(late.sim, late.fabric, "flood h1", &(struct fabric_errors){0}), -EINVAL);
        assert_int_equal(sim_fault(late.sim, late.fabric, "down leaf0:2 at 49us", &(struct fabric_errors){0}), -EINVAL);
        assert_int_equal(sim_fault(late.sim, late.fabric, "down", &(struct fabric_errors){0}), -EINVAL);
        errors = (struct fabric_errors){0};
        assert_int_equal(sim_fault(late.sim, late.fabric, fault[i], &errors), 0);
        while (sim_advance(late.sim, 1000000, PS_NEVER) == SIM_RUNNING) {
        }
        assert_int_equal(sim_result(late.sim, &late.result), 0);
        assert_int_equal(late.result.digest, early.result.digest);
        assert_int_equal(late.result.virtual_ps, early.result.virtual_ps);
        run_free(&late);
        run_free(&early);
    }
}

static struct run run_with(const char *head, const char *more)
{
    char text[4000];

    snprintf(text, sizeof(text), "%s%s", head, more);
    return run_text(text, options_of(1, 1));
}

/* A link that is down for good ends flows that use it, unless routes move. */
static void test_routes_follow(void **state)
{
    (void)state;
    struct run stays =
        run_with(POD "nics: {mtu: 1024, timeout: 4, retry: 2}\n" PERMUTATION, "faults: [{down: leaf0:2, at: 20us}]\n");
    assert_true(stays.result.work_failed > 0);
    assert_true(stays.result.failure.at != PS_NEVER && stays.result.failure.retries);
    assert_false(stays.result.failure.reachable);
    run_free(&stays);
    struct run moves = run_with(POD "nics: {mtu: 1024, timeout: 8, retry: 2}\n" PERMUTATION,
                                "converge: {detect: 10us, step: 5us}\nfaults: [{down: leaf0:2, at: 20us}]\n");
    assert_int_equal(moves.result.state, SIM_DONE);
    assert_int_equal(moves.result.work_failed, 0);
    assert_int_equal(delivered(&moves), 4 * 2000000u);
    run_free(&moves);
}

/*
 * A spine that has lost its link to leaf 0 sends what is for it to leaf 1, which still sends it back: in circles,
 * until leaf 1 knows too or the time to live is over.
 */
static void test_loops(void **state)
{
    static const char *const how[] = {"converge: {detect: 5us, step: 2ms}\n", "converge: {detect: 5us, step: 0us}\n"};
    uint64_t circled[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        char more[300];
        snprintf(more, sizeof(more), "%sfaults: [{down: \"spine0:0\", at: 20us}]\n", how[i]);
        struct run run = run_with("rocelab: 1\ntopology: {leaf-spine: {leaves: 2, spines: 2, hosts: 2}}\n"
                                  "links: {host: {rate: 1G, cable: 3m}, fabric: {rate: 100G, cable: 30m}}\n" CLASSES
                                  "nics: {mtu: 1024, timeout: 6}\n"
                                  "jobs: [{flows: [{src: h2, dst: h0, size: 100KB}, {src: h3, dst: h1, size: 100KB},\n"
                                  "  {src: h2, dst: h1, size: 100KB}, {src: h3, dst: h0, size: 100KB}]}]\n",
                                  more);
        assert_int_equal(run.result.state, SIM_DONE);
        assert_int_equal(delivered(&run), 400000u);
        circled[i] = dropped(&run, SW_DROP_ttl);
        run_free(&run);
    }
    assert_true(circled[0] > 0);
    assert_int_equal(circled[1], 0);
}

/* The same in a lossless class: what circles fills both switches, and each waits for the other.  Nobody breaks that,
 * not even the right routes. */
static void test_loop_deadlocks(void **state)
{
    (void)state;
    struct run run = run_with(POD "nics: {mtu: 1024, timeout: 6}\n"
                                  "jobs: [{flows: [{src: h2, dst: h0, size: 4MB}, {src: h3, dst: h1, size: 4MB},\n"
                                  "  {src: h2, dst: h1, size: 4MB}, {src: h3, dst: h0, size: 4MB}]}]\n",
                              "converge: {detect: 5us, step: 2ms}\nfaults: [{down: \"spine0:0\", at: 20us}]\n");
    char a[FABRIC_NAME], b[FABRIC_NAME];

    assert_int_equal(run.result.state, SIM_DEADLOCK);
    assert_int_equal(run.result.deadlock[0].waits, 2);
    assert_string_equal(fabric_port_name(run.fabric, run.result.deadlock[0].wait[0].port, a), "leaf1:2");
    assert_string_equal(fabric_port_name(run.fabric, run.result.deadlock[0].wait[1].port, b), "spine0:1");
    run_free(&run);
}

/* A drain moves routes before it takes the switch away: nothing is lost.  A reset of the same switch loses packets. */
static void test_drain(void **state)
{
    static const char *const how[] = {"{drain: spine0, at: 20us, ahead: 800us, for: 1ms}",
                                      "{reset: spine0, at: 820us, for: 1ms}"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        char more[300];
        snprintf(more, sizeof(more), "converge: {detect: 10us, step: 5us}\nfaults: [%s]\n", how[i]);
        struct run run = run_with(POD "nics: {mtu: 1024, timeout: 6}\njobs: [{permutation: 2, size: 20MB}]\n", more);
        uint64_t lost = run_sums(&run).lost;
        for (int d = 0; d < SW_DROPS; d++)
            lost += dropped(&run, (enum sw_drop)d);
        assert_int_equal(run.result.state, SIM_DONE);
        assert_int_equal(delivered(&run), 80000000u);
        assert_true(i == 0 ? lost == 0 : lost > 0); /* packets that took the new way may overtake others: no loss */
        run_free(&run);
    }
}

/* A switch of a fat tree's middle is withdrawn.  The nearest first: a core that has moved sends what others still send
 * it back down, in circles until their time to live is over.  The farthest first: nobody sends to it by then. */
static void test_ordered_withdrawal(void **state)
{
    static const char *const orders[] = {"false", "true"};
    uint64_t circled[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        char more[300];
        snprintf(
            more, sizeof(more),
            "converge: {detect: 10us, step: 200us, ordered: %s}\nfaults: [{withdraw: spine0, at: 20us, for: 1ms}]\n",
            orders[i]);
        struct run run =
            run_with("rocelab: 1\ntopology: {fat-tree: {k: 4}}\nlinks: {host: {rate: 100G, cable: 3m}}\n" CLASSES
                     "nics: {mtu: 1024, timeout: 6}\njobs: [{permutation: 7, size: 10MB}]\n",
                     more);
        circled[i] = dropped(&run, SW_DROP_ttl);
        assert_int_equal(run.result.state, SIM_DONE);
        assert_int_equal(delivered(&run), 160000000u);
        run_free(&run);
    }
    assert_true(circled[0] > 0);
    assert_int_equal(circled[1], 0);
}

#define PAIR "rocelab: 1\ntopology: {single: {hosts: 3}}\nlinks: {host: {rate: 100G, cable: 3m}}\n" CLASSES
#define ONE_FLOW "jobs: [{flows: [{src: h0, dst: h1, size: 4MB}]}]\n"

/* Frames are lost by their length: 1e-6 a bit and 8,784 or 33,360 bits, line without gap. */
static void test_bit_errors(void **state)
{
    static const char *const mtus[] = {"1024", "4096"};
    static const double bits[] = {(1024 + 58 + 12) * 8.0, (4096 + 58 + 12) * 8.0};

    (void)state;
    for (int i = 0; i < 2; i++) {
        char more[300];
        snprintf(more, sizeof(more),
                 "nics: {mtu: %s, congestion: none, recovery: selective, timeout: 5}\n"
                 "jobs: [{flows: [{src: h0, dst: h1, size: 40MB}]}]\nfaults: [{corrupt: h0, ber: 1e-6}]\n",
                 mtus[i]);
        struct run run = run_with(PAIR, more);
        double expect = 40e6 / (i ? 4096 : 1024) * bits[i] * 1e-6, got = (double)run.result.port[0].lost;
        assert_int_equal(run.result.state, SIM_DONE);
        assert_int_equal(delivered(&run), 40000000u);
        if (got < expect * 0.75 || got > expect * 1.25) fail_msg("lost %.0f, expected about %.0f", got, expect);
        /* bytes of frames, as switches count what they drop: without preamble, gap and FCS */
        double frame = (double)run.result.port[0].lost_bytes / got;
        if (frame < bits[i] / 8 - 13 || frame > bits[i] / 8 - 11) fail_msg("%.1f bytes a frame", frame);
        run_free(&run);
    }
}

/* A hot optic loses what corruption of the same rate loses, to the packet, and nothing where no rate is said. */
static void test_hot_optics(void **state)
{
    static const char nics[] = PAIR "nics: {mtu: 1024, congestion: none, recovery: selective, timeout: 5}\n" ONE_FLOW;
    struct run plain = run_with(nics, ""), warm = run_with(nics, "faults: [{hot-optics: h0:0, temperature: 80C}]\n");
    struct run bad = run_with(nics, "faults: [{corrupt: h0:0, ber: 1e-6, at: 20us, for: 100us}]\n");
    struct run hot =
        run_with(nics, "faults: [{hot-optics: h0:0, temperature: 80C, ber: 1e-6, at: 20us, for: 100us}]\n");
    struct run both = run_with(nics, "faults: [{corrupt: h0:0, share: 100%, at: 20us}, "
                                     "{hot-optics: h0:0, temperature: 80C, ber: 1e-18, at: 20us}]\n");

    (void)state;
    assert_int_equal(warm.result.digest, plain.result.digest);
    assert_int_equal(hot.result.digest, bad.result.digest);
    assert_true(hot.result.digest != plain.result.digest);
    assert_true(hot.result.port[0].lost > 0);
    assert_int_equal(both.result.state, SIM_DONE); /* the later of the two holds, and it loses next to nothing */
    assert_int_equal(both.result.port[0].lost, 0);
    run_free(&plain);
    run_free(&warm);
    run_free(&bad);
    run_free(&hot);
    run_free(&both);
}

static uint64_t lost_at(const struct run *run, uint32_t port)
{
    for (uint32_t i = 0; i < run->result.ports; i++)
        if (run->result.port[i].port == port) return run->result.port[i].lost;
    return UINT64_MAX;
}

/* One way of a link: what the named end sends is lost, or what it receives; ACKs and data alike. */
static void test_ways(void **state)
{
    static const struct {
        const char *fault;
        bool out, in;
    } cases[] = {{"{corrupt: h0, share: 5%}", true, true},
                 {"{corrupt: h0, share: 5%, way: out}", true, false},
                 {"{corrupt: h0:0, share: 5%, way: in}", false, true},
                 {"{drop: h0, every: 9, way: in}", false, true},
                 {"{drop: h0:0, every: 9, way: out}", true, false}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char more[300];
        snprintf(more, sizeof(more),
                 "nics: {mtu: 1024, congestion: none, recovery: selective, timeout: 5}\n"
                 "jobs: [{flows: [{src: h0, dst: h1, size: 1MB}, {src: h1, dst: h0, size: 1MB}]}]\nfaults: [%s]\n",
                 cases[i].fault);
        struct run run = run_with(PAIR, more);
        assert_int_equal(run.result.state, SIM_DONE);
        assert_int_equal(lost_at(&run, 0) > 0, cases[i].out);
        assert_int_equal(lost_at(&run, run.fabric->port[0].peer) > 0, cases[i].in);
        run_free(&run);
    }
}

static void test_flap_and_lanes(void **state)
{
    (void)state;
    struct run plain = run_with(PAIR "nics: {mtu: 1024, congestion: none, timeout: 4}\n" ONE_FLOW, "");
    struct run lanes = run_with(PAIR "nics: {mtu: 1024, congestion: none, timeout: 4}\n" ONE_FLOW,
                                "faults: [{lanes: h1:0, lost: 2, of: 4}]\n");
    double ratio = (double)lanes.result.flow[0].fct_ps / (double)plain.result.flow[0].fct_ps;
    if (ratio < 1.98 || ratio > 2.01) fail_msg("half of the lanes: %.3f times the time", ratio);
    struct run in = run_with(PAIR "nics: {mtu: 1024, congestion: none, timeout: 4}\n" ONE_FLOW,
                             "faults: [{lanes: h1:0, lost: 2, of: 4, way: in}]\n");
    struct run out = run_with(PAIR "nics: {mtu: 1024, congestion: none, timeout: 4}\n" ONE_FLOW,
                              "faults: [{lanes: h1:0, lost: 2, of: 4, way: out}]\n");
    /* what it receives is the flow, what it sends acknowledgements */
    assert_in_range(in.result.flow[0].fct_ps, lanes.result.flow[0].fct_ps - PS_US, lanes.result.flow[0].fct_ps);
    assert_in_range(out.result.flow[0].fct_ps, plain.result.flow[0].fct_ps, plain.result.flow[0].fct_ps + PS_US);
    run_free(&in);
    run_free(&out);
    struct run flap = run_with(PAIR "nics: {mtu: 1024, congestion: none, timeout: 4}\n" ONE_FLOW,
                               "faults: [{flap: h1:0, at: 50us, every: 100us, down: 20us, times: 3}]\n");
    assert_int_equal(flap.result.state, SIM_DONE);
    assert_int_equal(delivered(&flap), 4000000u);
    assert_true(run_sums(&flap).lost > 0);
    /* three outages, and no more */
    assert_true(flap.result.flow[0].fct_ps > plain.result.flow[0].fct_ps + 60 * PS_US);
    assert_true(flap.result.flow[0].fct_ps < plain.result.flow[0].fct_ps + 1200 * PS_US);
    run_free(&plain);
    run_free(&lanes);
    run_free(&flap);
}

/* A switch that comes back has its routes: what its hosts send is not lost for want of them. */
static void test_reset_has_routes(void **state)
{
    (void)state;
    struct run run = run_with(POD "nics: {mtu: 1024, congestion: none, timeout: 4}\n" PERMUTATION,
                              "converge: {detect: 30us, step: 5us}\nfaults: [{reset: leaf0, at: 20us, for: 100us}]\n");
    assert_int_equal(run.result.state, SIM_DONE);
    assert_int_equal(delivered(&run), 8000000u);
    assert_true(run_sums(&run).lost + dropped(&run, SW_DROP_port_down) > 0);
    for (uint32_t i = 0; i < run.result.ports; i++) {
        const struct sim_port *port = &run.result.port[i];
        if (strcmp(run.fabric->node[run.fabric->port[port->port].node].name, "leaf0") == 0)
            assert_int_equal(port->sw->drop[SW_DROP_no_route], 0);
    }
    run_free(&run);
}

/* Of two wrong routes for an endpoint the later holds; when it is over, the other again. */
static void test_misroutes_overlap(void **state)
{
    (void)state;
    for (uint32_t a = 2; a <= 3; a++) {
        char more[300];
        snprintf(more, sizeof(more),
                 "nics: {mtu: 1024, congestion: none}\njobs: [{flows: [{src: h0, dst: h2, size: 4MB}]}]\n"
                 "faults: [{misroute: \"leaf0:%u\", to: h2}, {misroute: \"leaf0:%u\", to: h2, at: 50us, for: 10us}]\n",
                 a, 5 - a);
        struct run run = run_with(POD, more);
        uint64_t by[4] = {0};
        for (uint32_t i = 0; i < run.result.ports; i++) {
            const struct fabric_port *port = &run.fabric->port[run.result.port[i].port];
            if (strcmp(run.fabric->node[port->node].name, "leaf0") == 0)
                by[port->index] = run.result.port[i].line_bytes;
        }
        assert_int_equal(run.result.state, SIM_DONE);
        assert_true(by[a] > 4000000 && by[5 - a] > 100000 && by[5 - a] < 150000); /* 10 us of 100G are 125 KB */
        run_free(&run);
    }
}

/* An adapter that cannot send uses its retries up, also for what was posted later; one that can again in time has lost
 * nothing that was not on the line. */
static void test_cut_off(void **state)
{
    (void)state;
    ps_t timer = 4096ull * PS_NS << 5;
    struct run run = run_with(PAIR "nics: {mtu: 1024, congestion: none, timeout: 5, retry: 2}\n",
                              "jobs: [{flows: [{src: h0, dst: h1, size: 4KB, at: 100us}]}]\nfaults: [{down: h0, at: "
                              "20us}]\n");
    assert_int_equal(run.result.state, SIM_DONE);
    assert_int_equal(run.result.work_failed, 1);
    assert_true(run.result.failure.retries && run.result.failure.src_down && run.result.failure.acked_bytes == 0);
    assert_true(run.result.failure.at == 100 * PS_US + 3 * timer);
    assert_int_equal(run.result.nic[0].counters->local_ack_timeout_err, 3);
    assert_int_equal(run.result.nic[0].counters->retransmitted_packets, 0);
    run_free(&run);
    run = run_with(PAIR "nics: {mtu: 1024, congestion: none, timeout: 5, retry: 2}\n",
                   "jobs: [{flows: [{src: h0, dst: h1, size: 4KB, at: 100us}]}]\nfaults: [{down: h0, at: 20us, for: "
                   "300us}]\n");
    assert_int_equal(run.result.state, SIM_DONE);
    assert_int_equal(run.result.work_failed, 0);
    assert_int_equal(run_sums(&run).retransmitted, 0);
    assert_true(run.result.flow[0].fct_ps == 220 * PS_US + run.result.flow[0].ideal_ps);
    run_free(&run);
}

/* A host that takes a quarter of the line for 400 us: it pauses, nothing is lost, and the time is what it takes. */
static void test_slow_receiver(void **state)
{
    (void)state;
    struct run run = run_with(PAIR "switches: {buffer: 2MB}\nnics: {mtu: 1024, congestion: none}\njobs: [{flows: "
                                   "[{src: h0, dst: h1, size: 10MB}]}]\n",
                              "faults: [{receive: h1, rate: 25G, at: 0us, for: 400us}]\n");
    struct sums sums = run_sums(&run);

    assert_int_equal(run.result.state, SIM_DONE);
    assert_int_equal(sums.drops + sums.lost + sums.retransmitted, 0);
    assert_true(run.result.port[1].pauses_sent > 0);
    /* alone 0.86 ms; 400 us at a quarter, less what the buffer took, cost about 260 us */
    assert_true(run.result.flow[0].fct_ps > 1050 * PS_US && run.result.flow[0].fct_ps < 1200 * PS_US);
    /* the pause tree has one root, the host, and its victims are the switch's port and the sender */
    bool host = false, sender = false;
    for (uint32_t i = 0; i < run.result.pauses; i++) {
        const struct sim_pause *pause = &run.result.pause[i];
        host |= pause->port == 1 && pause->cause == UINT32_MAX;
        sender |= pause->port == run.fabric->port[0].peer && pause->cause == run.fabric->port[1].peer &&
                  pause->passed_on_ps == pause->time_ps;
    }
    assert_true(host && sender);
    run_free(&run);
}

/* Nothing ends a pause without end, and the file names no end of the run: senders run out of retries, and one that
 * was paused before it had sent anything is named when the run is given up. */
static void test_storm_ends(void **state)
{
    (void)state;
    struct run run = run_text("rocelab: 1\ntopology: {single: {hosts: 4}}\nlinks: {host: {rate: 100G}}\n"
                              "nics: {timeout: 8, retry: 2}\n"
                              "faults: [{pause: h3, priority: 3, at: 20us}]\njobs: [{incast: 3, size: 4MB, to: h3}]\n",
                              options_of(1, 1));
    assert_int_equal(run.result.state, SIM_DONE);
    assert_int_equal(run.result.work_failed, 3);
    assert_true(run.result.failure.retries && run.result.failure.retry == 2);
    ps_t timer = 4096ull * PS_NS << 8; /* three times, the first from a packet that was not acknowledged */
    assert_in_range(run.result.virtual_ps, 3 * timer, 20 * PS_US + 4 * timer);
    run_free(&run);
    run = run_text("rocelab: 1\ntopology: {single: {hosts: 4}}\nlinks: {host: {rate: 100G}}\n"
                   "faults: [{pause: leaf0, priority: 3}]\njobs: [{incast: 3, size: 4MB, to: h3, at: 50us}]\n",
                   options_of(1, 1));
    assert_int_equal(run.result.state, SIM_STUCK);
    assert_true(run.result.stall.paused && !run.result.stall.down);
    assert_int_equal(run.result.stall.pairs, 3);
    run_free(&run);
}

/* A forgotten port of a host that lives: it gets what is for it, the others get copies they drop. */
static void test_flood(void **state)
{
    (void)state;
    struct run run = run_with(POD "nics: {mtu: 1024}\njobs: [{flows: [{src: h0, dst: h2, size: 1MB}]}]\n",
                              "faults: [{flood: h2, at: 0us}]\n");
    assert_int_equal(run.result.state, SIM_DONE);
    assert_int_equal(delivered(&run), 1000000u);
    assert_int_equal(run_sums(&run).retransmitted, 0);
    uint64_t packets = (1000000 + 1023) / 1024;
    assert_int_equal(run.result.nic[3].counters->drop[NIC_DROP_no_qp], packets);
    assert_int_equal(dropped(&run, SW_DROP_not_mine), packets); /* the spine it did not come by */
    run_free(&run);
    struct run drops = run_with(POD "switches: {drop-unknown-lossless: true}\nnics: {mtu: 1024, timeout: 4, retry: 1}\n"
                                    "jobs: [{flows: [{src: h0, dst: h2, size: 1MB}]}]\n",
                                "faults: [{flood: h2, at: 0us}]\n");
    assert_true(drops.result.work_failed > 0);
    assert_true(dropped(&drops, SW_DROP_unknown) >= packets);
    assert_int_equal(dropped(&drops, SW_DROP_not_mine), 0);
    run_free(&drops);
}

/*
 * A sender that loses one packet in twenty, repetitions too.  A repetition that is lost waits for the timeout of 67 ms,
 * unless the receiver repeats its NAK, or the timer begins short.
 */
static void test_lost_again(void **state)
{
    static const char *const settings[] = {"", ", nak-repeat: 50us", ", adaptive-retransmission: true",
                                           ", nak-repeat: 50us, adaptive-retransmission: {start: 100us, each: 1}"};
    ps_t took[4];

    (void)state;
    for (int i = 0; i < 4; i++) {
        char text[1000];
        snprintf(text, sizeof(text), POD "nics: {mtu: 1024%s}\njobs: [{flows: [{src: h0, dst: h2, size: 2MB}]}]\n",
                 settings[i]);
        struct run run = run_with(text, "faults: [{corrupt: h0, share: 5%}]\n");
        assert_int_equal(run.result.state, SIM_DONE);
        assert_int_equal(delivered(&run), 2000000u);
        took[i] = run.result.virtual_ps;

        uint64_t shorter = run.result.nic[0].counters->roce_adp_retrans;
        assert_true(i < 2 ? shorter == 0 : shorter <= run.result.nic[0].counters->local_ack_timeout_err);
        run_free(&run);
    }
    assert_true(took[0] > 67 * PS_MS);
    assert_true(took[1] < took[0] && took[2] < 67 * PS_MS && took[3] < took[2]);
}

#define RING                                                                                                           \
    "rocelab: 1\ntopology:\n  links:\n    hosts: [a0, a1, b0, b1, c0, c1]\n    switches: [A, B, C]\n    links: [[a0, " \
    "A], [a1, A], [b0, B], [b1, B], [c0, C], [c1, C], [A, B], [B, C], [C, A]]\n"                                       \
    "links: {host: {rate: 40G, cable: 3m}, fabric: {rate: 40G, cable: 30m}}\n" CLASSES                                 \
    "nics: {mtu: 1024, congestion: none}\n"                                                                            \
    "faults: [{misroute: \"A:2\", to: c0}, {misroute: \"A:2\", to: c1}, {misroute: \"B:3\", to: a0}, "                 \
    "{misroute: \"B:3\", to: a1}, {misroute: \"C:3\", to: b0}, {misroute: \"C:3\", to: b1}MORE]\n"                     \
    "jobs: [{flows: [{src: a0, dst: c0, size: 4MB}, {src: a1, dst: c1, size: 4MB}, {src: b0, dst: a0, size: 4MB}, "    \
    "{src: b1, dst: a1, size: 4MB}, {src: c0, dst: b0, size: 4MB}, {src: c1, dst: b1, size: 4MB}]}]\n"

static const char *ring_text(const char *settings, const char *more)
{
    static char text[4000];
    const char *at = strstr(RING, "MORE");

    snprintf(text, sizeof(text), "%.*s%s%s%s", (int)(at - RING), RING, more, at + 4, settings);
    return text;
}

static void test_deadlock(void **state)
{
    static const uint32_t threads[] = {1, 2, 3, 8};
    ps_t closed = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++) {
        struct run run = run_text(ring_text("switches: {buffer: 2MB}\n", ""), options_of(1, threads[i]));
        assert_int_equal(run.result.state, SIM_DEADLOCK);
        assert_int_equal(run.result.deadlocks, 1);
        const struct sim_deadlock *deadlock = &run.result.deadlock[0];
        assert_int_equal(deadlock->waits, 3);
        assert_int_equal(deadlock->stuck, 3);
        assert_true(deadlock->ended == PS_NEVER);
        static const char *const circle[] = {"A:2", "B:3", "C:3"};
        for (int w = 0; w < 3; w++) {
            char name[FABRIC_NAME];
            assert_string_equal(fabric_port_name(run.fabric, deadlock->wait[w].port, name), circle[w]);
            assert_int_equal(deadlock->wait[w].priority, 3);
        }
        if (i == 0) closed = deadlock->closed;
        assert_int_equal(deadlock->closed, closed);
        assert_true(closed > 0 && closed < deadlock->seen && deadlock->seen <= closed + 200 * PS_US);
        run_free(&run);
    }
    /* It is closed at that very moment: up to it everybody has moved, a little later nobody does. */
    struct sim_options options = options_of(1, 1);
    options.until = closed + 50 * PS_US;
    struct run early = run_text(ring_text("switches: {buffer: 2MB}\n", ""), options);
    options.until = closed + 150 * PS_MS;
    options.keep_going = true;
    struct run late = run_text(ring_text("switches: {buffer: 2MB}\n", ""), options);
    assert_int_equal(late.result.state, SIM_UNTIL);
    assert_int_equal(delivered(&early), delivered(&late));
    assert_int_equal(early.result.deadlocks, 1); /* the last look is at the end, at pauses of any length */
    run_free(&early);
    run_free(&late);
}

/* Nobody has a timer, and the run goes on past the deadlock until nothing is left to happen: it is one still. */
static void test_deadlock_to_the_end(void **state)
{
    char text[4000];
    const char *ring = ring_text("switches: {buffer: 2MB, refresh-pauses: false}\n", "");
    const char *nics = strstr(ring, "congestion: none}");
    struct sim_options options = options_of(1, 1);

    (void)state;
    options.keep_going = true;
    snprintf(text, sizeof(text), "%.*scongestion: none, timeout: 0}%s", (int)(nics - ring), ring,
             nics + strlen("congestion: none}"));
    struct run run = run_text(text, options);
    assert_int_equal(run.result.state, SIM_DEADLOCK);
    assert_true(run.result.nothing_left);
    assert_int_equal(run.result.deadlocks, 1);
    assert_true(run.result.deadlock[0].ended == PS_NEVER);
    run_free(&run);
}

static void test_no_deadlock(void **state)
{
    (void)state;
    struct run raised = run_text(ring_text("switches: {buffer: 2MB, raise: bounce}\n", ""), options_of(1, 1));
    assert_int_equal(raised.result.state, SIM_DONE);
    assert_int_equal(raised.result.deadlocks, 0);
    assert_int_equal(run_sums(&raised).drops, 0);
    assert_int_equal(delivered(&raised), 24000000u);
    run_free(&raised);
    /* Pauses of 3 ms through three switches, held by a host: long, and no deadlock. */
    struct run longer =
        run_with(POD "switches: {buffer: 2MB}\nnics: {mtu: 1024, congestion: none}\n"
                     "jobs: [{permutation: 2, size: 4MB}, {incast: 2, to: h0, size: 4MB, ranks: [h0, h2, h3]}]\n",
                 "faults: [{pause: h0, at: 50us, for: 3ms}, {pause: h2, at: 50us, for: 3ms}]\n");
    assert_int_equal(longer.result.state, SIM_DONE);
    assert_int_equal(longer.result.deadlocks, 0);
    assert_true(longer.result.virtual_ps > 3 * PS_MS);
    run_free(&longer);
}

/* The watchdog breaks the ring: the run goes on by itself, what it cost is counted, and the end is known. */
static void test_deadlock_and_watchdog(void **state)
{
    (void)state;
    struct run run =
        run_text(ring_text("switches: {buffer: 2MB, watchdog: {poll: 500us, detect: 1ms, restore: 1ms}}\n", ""),
                 options_of(1, 1));
    uint64_t acted = 0, cut = 0;

    for (uint32_t i = 0; i < run.result.ports; i++) {
        if (run.result.port[i].sw == NULL) continue;
        acted += run.result.port[i].sw->prio[3].watchdog_detected;
        cut += run.result.port[i].sw->prio[3].watchdog_ps;
    }
    assert_true(run.result.deadlocks > 0 && run.result.deadlock[0].ended != PS_NEVER);
    assert_true(acted > 0 && dropped(&run, SW_DROP_watchdog) > 0);
    assert_true(cut >= acted * PS_MS);
    assert_true(run.result.state != SIM_DEADLOCK);
    run_free(&run);
}

/* Where a pause began: an incast's own port; whom it reached: every sender, by way of the spines. */
static void test_pause_tree(void **state)
{
    (void)state;
    struct run run = run_with(POD "switches: {buffer: 2MB}\nnics: {mtu: 1024, congestion: none}\n",
                              "jobs: [{incast: 3, to: h0, size: 4MB}]\n");
    uint32_t root = run.fabric->port[0].peer;
    ps_t began = 0, elsewhere = 0, total = 0, counted = 0;

    for (uint32_t i = 0; i < run.result.pauses; i++) {
        const struct sim_pause *pause = &run.result.pause[i];
        ps_t own = pause->time_ps - pause->passed_on_ps;
        total += pause->time_ps;
        if (pause->cause == root)
            began += own;
        else
            elsewhere += own;
    }
    for (uint32_t i = 0; i < run.result.ports; i++)
        for (int p = 0; run.result.port[i].sw && p < 8; p++)
            counted += run.result.port[i].sw->prio[p].tx_pause_ps;
    assert_true(began > 0);
    assert_true(elsewhere * 20 <
                began); /* next to nothing: queues that were full for a moment while others were paused */
    assert_int_equal(total, counted);
    run_free(&run);
}

/* Whom a collective's ranks talk to is known when the run is set up: an adapter without a link is told then. */
static void test_collective_without_way(void **state)
{
    (void)state;
    static const char text[] = POD "devices: {h3: {ports: {0: {up: false}}}}\njobs: [{allreduce: ring, size: 1MB}]\n";
    struct sim_options options = options_of(1, 1);
    struct fabric_errors errors = {0};
    struct fabric *fabric = NULL;
    struct sim *sim = NULL;

    assert_int_equal(fabric_load("test.yaml", text, &fabric, &errors), 0);
    assert_int_equal(sim_create(fabric, &options, &sim, &errors), -EINVAL);
    assert_null(sim);
    assert_int_equal(errors.count, 1);
    fabric_free(fabric);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_while_running),
        cmocka_unit_test(test_collective_without_way),
        cmocka_unit_test(test_routes_follow),
        cmocka_unit_test(test_loops),
        cmocka_unit_test(test_loop_deadlocks),
        cmocka_unit_test(test_drain),
        cmocka_unit_test(test_ordered_withdrawal),
        cmocka_unit_test(test_bit_errors),
        cmocka_unit_test(test_hot_optics),
        cmocka_unit_test(test_flap_and_lanes),
        cmocka_unit_test(test_ways),
        cmocka_unit_test(test_reset_has_routes),
        cmocka_unit_test(test_misroutes_overlap),
        cmocka_unit_test(test_cut_off),
        cmocka_unit_test(test_slow_receiver),
        cmocka_unit_test(test_storm_ends),
        cmocka_unit_test(test_flood),
        cmocka_unit_test(test_lost_again),
        cmocka_unit_test(test_deadlock),
        cmocka_unit_test(test_deadlock_to_the_end),
        cmocka_unit_test(test_no_deadlock),
        cmocka_unit_test(test_deadlock_and_watchdog),
        cmocka_unit_test(test_pause_tree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
