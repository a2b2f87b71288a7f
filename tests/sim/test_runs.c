/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole runs against closed forms and against themselves: message latency to the picosecond, AllReduce, incast,
 * digests, packets that all come back.
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

#include "fabric/handle.h"
#include "fabric/names.h"
#include "load/load.h"
#include "support.h"

#define CLASSES                                                                                                        \
    "classes:\n"                                                                                                       \
    "  - {name: rdma, dscp: 26, priority: 3, lossless: true, ecn: {min: 100KB, max: 400KB, probability: 10%},"         \
    " share: 90%}\n"                                                                                                   \
    "  - {name: cnp, dscp: 48, priority: 6, strict: true}\n"                                                           \
    "  - {name: default, priority: 0, share: 10%}\n"
#define PER_PACKET "ack: {every: 1, request-every: 1}"

static ps_t on_line(uint64_t rate_g, uint64_t bytes)
{
    return bytes * 8000 / rate_g; /* exact for the rates used here */
}

/*
 * h0 - leaf - spine - leaf - h3, host links 100G, fabric links 400G: the first hop is the slow one, so every later hop
 * adds one packet's time and its latency; the last link is slow again, but packets come no faster than it takes them.
 */
static ps_t closed_form(uint64_t bytes, uint64_t mtu)
{
    const ps_t host = 3 * 5 * PS_NS, fabric = 30 * 5 * PS_NS, sw = 500 * PS_NS, nic = 500 * PS_NS;
    uint64_t packets = (bytes + mtu - 1) / mtu, rest = bytes - (packets - 1) * mtu;
    rest += (4 - rest % 4) % 4; /* BTH pads to four bytes */
    uint64_t head = 14 + 20 + 8 + 12 + 4, reth = 16, aeth = 4;
    uint64_t last = head + rest + (packets == 1 ? reth : 0), first = head + reth + (packets == 1 ? rest : mtu);
    uint64_t before = packets == 1 ? 0 : (packets - 1) * (head + mtu + 24) + reth;
    uint64_t ack = head + aeth;
    if (last < 60) last = 60;

    /* The last packet starts on the first link when those before it have left, gaps included. */
    ps_t data_path = host + sw + fabric + sw + fabric + sw + host + nic;
    ps_t at_leaf = on_line(100, before) + on_line(100, last + 12);
    ps_t crossing = 2 * on_line(400, last + 12);
    /* On the last link the packets before it go first, from when the first of them is there. */
    ps_t first_there = on_line(100, first + 12) + 2 * on_line(400, first + 12);
    ps_t start = at_leaf + crossing;
    if (first_there + on_line(100, before) > start) start = first_there + on_line(100, before);
    ps_t there = start + on_line(100, last + 12) + data_path;
    return there + 2 * on_line(100, ack + 12) + 2 * on_line(400, ack + 12) + data_path;
}

static void test_idle_latency(void **state)
{
    static const uint64_t sizes[] = {1, 2, 3, 4, 63, 100, 1000, 1024, 1025, 4096, 4097, 65536, 1000000, 10000001};
    static const uint64_t mtus[] = {1024, 4096, 1000};
    char text[2000];

    (void)state;
    for (size_t m = 0; m < sizeof(mtus) / sizeof(mtus[0]); m++) {
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            snprintf(text, sizeof(text),
                     "rocelab: 1\nfabric: idle\n"
                     "topology: {leaf-spine: {leaves: 2, spines: 1, hosts: 2}}\n"
                     "links: {host: {rate: 100G, cable: 3m}, fabric: {rate: 400G, cable: 30m}}\n"
                     "switches: {model: generic, latency: 500ns}\n%s"
                     "nics: {mtu: %" PRIu64 ", congestion: none, latency: 500ns, " PER_PACKET "}\n"
                     "jobs: [{flows: [{src: h0, dst: h3, size: %" PRIu64 "B}]}]\n",
                     CLASSES, mtus[m], sizes[i]);
            struct run run = run_text(text, options_of(1, 1));
            assert_int_equal(run.result.state, SIM_DONE);
            assert_int_equal(run.result.flows, 1);
            assert_int_equal(run.result.flow[0].fct_ps, closed_form(sizes[i], mtus[m]));
            assert_int_equal(run.result.flow[0].ideal_ps, run.result.flow[0].fct_ps);
            assert_int_equal(run.result.packets_live, 0);
            /* data and acknowledgements, four links each */
            assert_int_equal(run.result.packet_hops, 8 * ((sizes[i] + mtus[m] - 1) / mtus[m]));
            run_free(&run);
        }
    }
}

/*
 * Ring AllReduce over n single-adapter hosts on one switch: 2(n-1) steps of S/n bytes.  A step is two slices, and
 * a slice is sent when the one it is made of has come; a slice takes longer than its way, so the line never rests
 * but for the first.  The line carries a slice's frames, gaps included, and the ACKs of what comes the other way.
 */
static void test_allreduce(void **state)
{
    static const char text[] = "rocelab: 1\nfabric: ring\n"
                               "topology: {single: {hosts: 8}}\n"
                               "links: {host: {rate: 100G, cable: 3m}}\n"
                               "switches: {model: generic, latency: 500ns}\n" CLASSES
                               "nics: {mtu: 4096, congestion: none, latency: 500ns, " PER_PACKET "}\n"
                               "jobs: [{allreduce: ring, size: 16MB, chunk: 2MB, channels: 1}]\n";
    const uint64_t n = 8, chunk = 16000000 / n, slice = chunk / 2, mtu = 4096;

    (void)state;
    uint64_t packets = (slice + mtu - 1) / mtu;
    uint64_t frames = slice + packets * (58 + 24) + 16 + 4; /* RETH of the first, ImmDt of the last */
    uint64_t acks = packets * (62 + 24);
    ps_t expected = 2 * (n - 1) * 2 * on_line(100, frames + acks);
    struct run run = run_text(text, options_of(1, 1));
    assert_int_equal(run.result.state, SIM_DONE);
    ps_t took = run.result.job[0].end - run.result.job[0].start;
    if (took < expected - expected / 100 || took > expected + expected / 100)
        fail_msg("AllReduce took %" PRIu64 " ps, the closed form says %" PRIu64, took, expected);
    assert_int_equal(run.result.job[0].bus_num, 14);
    assert_int_equal(run.result.job[0].bus_den, 8);
    assert_int_equal(run.result.packets_live, 0);
    run_free(&run);
}

/* A short message of one job does not wait behind a long one of another between the same two. */
static void test_jobs_do_not_queue_behind_each_other(void **state)
{
    static const char text[] = "rocelab: 1\nfabric: two\n"
                               "topology: {single: {hosts: 2}}\n"
                               "links: {host: {rate: 100G, cable: 3m}}\n"
                               "switches: {model: generic, latency: 500ns}\n" CLASSES
                               "nics: {mtu: 4096, congestion: none, latency: 500ns, " PER_PACKET "}\n"
                               "jobs:\n"
                               "  - {flows: [{src: h0, dst: h1, size: 20MB}]}\n"
                               "  - {flows: [{src: h0, dst: h1, size: 1KB}], at: 50us}\n";

    (void)state;
    struct run run = run_text(text, options_of(1, 1));
    assert_int_equal(run.result.state, SIM_DONE);
    assert_true(run.result.flow[0].fct_ps > 1600 * PS_US); /* 20 MB at 100G */
    assert_true(run.result.flow[1].fct_ps < 30 * PS_US);
    run_free(&run);
}

static void test_incast_pauses_and_drops_nothing(void **state)
{
    static const char text[] =
        "rocelab: 1\nfabric: incast\n"
        "topology: {single: {hosts: 17}}\n"
        "links: {host: {rate: 100G, cable: 3m}}\n"
        "switches: {model: generic, buffer: 8MB}\n" CLASSES "nics: {mtu: 1024, congestion: none, " PER_PACKET "}\n"
        "jobs: [{incast: 16, size: 1MB, to: h0}]\n";

    (void)state;
    struct run run = run_text(text, options_of(1, 1));
    struct sums sums = run_sums(&run);
    assert_int_equal(run.result.state, SIM_DONE);
    assert_int_equal(sums.drops, 0);
    assert_int_equal(sums.retransmitted, 0);
    assert_true(sums.pauses > 16);
    assert_int_equal(run.result.packets_live, 0);
    assert_int_equal(run.result.flows, 16);
    for (uint32_t i = 0; i < 16; i++)
        assert_true(run.result.flow[i].fct_ps != PS_NEVER && run.result.flow[i].fct_ps >= run.result.flow[i].ideal_ps);
    run_free(&run);
}

/* One switch, one packet: it is forwarded when preamble and 64 bytes are there, and so is its acknowledgement. */
static void test_cut_through(void **state)
{
    static const char text[] = "rocelab: 1\nfabric: cut\n"
                               "topology: {single: {hosts: 2}}\n"
                               "links: {host: {rate: 100G, cable: 3m}}\n"
                               "switches: {model: generic, latency: 300ns, cut-through: true}\n" CLASSES
                               "nics: {mtu: 4096, congestion: none, latency: 500ns, " PER_PACKET "}\n"
                               "jobs: [{flows: [{src: h0, dst: h1, size: 4000B}]}]\n";
    const ps_t path = 2 * 15 * PS_NS + 300 * PS_NS + 500 * PS_NS;

    (void)state;
    struct run run = run_text(text, options_of(1, 1));
    ps_t there = on_line(100, 72) + on_line(100, 58 + 16 + 4000 + 12) + path;
    ps_t back = on_line(100, 72) + on_line(100, 62 + 12) + path;
    assert_int_equal(run.result.flow[0].fct_ps, there + back);
    assert_int_equal(run.result.flow[0].ideal_ps, there + back);
    run_free(&run);
}

/* Trains of packets over switches that cut through, some of them on the way to a slower link. */
static void test_ideal_of_cut_through(void **state)
{
    static const char format[] =
        "rocelab: 1\nfabric: cut\n"
        "topology: {leaf-spine: {leaves: 2, spines: 1, hosts: 1}}\n"
        "links: {host: {rate: %s, cable: 3m}, fabric: {rate: %s, cable: 30m}}\n"
        "switches: {model: generic, latency: 300ns, cut-through: true}\n%s"
        "nics: {mtu: 1024, congestion: none, latency: 500ns}\n" /* ACKs coalesced: the last one meets no other */
        "jobs: [{flows: [{src: h0, dst: h1, size: %s}]}]\n";
    static const char *const rates[][2] = {{"100G", "100G"}, {"100G", "40G"}, {"40G", "100G"}, {"400G", "100G"}};
    static const char *const sizes[] = {"1B", "1KB", "1025B", "3000B", "100KB"};

    (void)state;
    for (size_t r = 0; r < sizeof(rates) / sizeof(rates[0]); r++) {
        for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
            char text[2000];
            snprintf(text, sizeof(text), format, rates[r][0], rates[r][1], CLASSES, sizes[s]);
            struct run run = run_text(text, options_of(1, 1));
            if (run.result.flow[0].fct_ps != run.result.flow[0].ideal_ps)
                fail_msg("%s over %s: %s took %" PRIu64 " ps, alone it is to take %" PRIu64, rates[r][0], rates[r][1],
                         sizes[s], run.result.flow[0].fct_ps, run.result.flow[0].ideal_ps);
            run_free(&run);
        }
    }
}

static void test_pauses_with_threads(void **state)
{
    static const char text[] =
        "rocelab: 1\nfabric: incast\n"
        "topology: {leaf-spine: {leaves: 4, spines: 2, hosts: 4}}\n"
        "links: {host: {rate: 100G, cable: 3m}, fabric: {rate: 100G, cable: 30m}}\n"
        "switches: {model: generic, buffer: 4MB}\n" CLASSES "nics: {mtu: 1024, congestion: none, " PER_PACKET "}\n"
        "jobs: [{incast: 15, size: 500KB, to: h0}]\n"
        "faults: [{down: leaf3, at: 40us, for: 30us}, {drop: h5, every: 100, at: 0us}]\n";
    uint64_t digest = 0;

    (void)state;
    for (uint32_t threads = 1; threads < 5; threads++) {
        struct run run = run_text(text, options_of(1, threads));
        struct sums sums = run_sums(&run);
        assert_int_equal(run.result.state, SIM_DONE);
        assert_true(sums.pauses > 16);
        assert_true(sums.lost > 0 && sums.retransmitted > 0);
        assert_int_equal(run.result.packets_live, 0);
        if (threads > 1) assert_int_equal(run.result.digest, digest);
        digest = run.result.digest;
        run_free(&run);
    }
}

static void test_too_large_is_refused(void **state)
{
    static const char text[] = "rocelab: 1\nfabric: large\n"
                               "topology: {single: {hosts: 64}}\n"
                               "links: {host: {rate: 100G, cable: 3m}}\n"
                               "switches: {model: generic}\n" CLASSES "jobs: [{permutation: random, size: 1MB}]\n";
    struct fabric_errors errors = {0};
    struct sim_options options = options_of(1, 1);
    struct fabric *fabric = NULL;
    struct sim *sim = NULL;

    (void)state;
    assert_int_equal(fabric_load("test.yaml", text, &fabric, &errors), 0);
    options.memory_max_bytes = 50000;
    assert_int_equal(sim_create(fabric, &options, &sim, &errors), -12);
    assert_null(sim);
    assert_int_equal(errors.count, 1);
    assert_non_null(strstr(errors.error[0].text, "the run needs about"));
    fabric_free(fabric);
}

/* A few letters that would take a terabyte are refused at the job, before anything is made. */
static void test_too_many_transfers_are_refused(void **state)
{
    static const char head[] = "rocelab: 1\ntopology: {single: {hosts: 4}}\nlinks: {host: {rate: 100G}}\njobs:\n"
                               "  - {permutation: 1, size: 1MB}\n";
    static const char *const jobs[] = {
        "  - {incast: 3, size: 1MB, repeat: 1000M}\n",
        "  - {allreduce: ring, size: 1MB, repeat: 1000M}\n",
        "  - {poisson: {sizes: hadoop, load: 50%, until: 100000s}}\n",
        "  - {random: 100M, size: 1MB, repeat: 100}\n",
    };
    struct sim_options options = options_of(1, 1);

    (void)state;
    options.memory_max_bytes = (uint64_t)16 << 30;
    for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
        struct fabric_errors errors = {0};
        struct fabric *fabric = NULL;
        struct sim *sim = NULL;
        char text[1000];
        snprintf(text, sizeof(text), "%s%s", head, jobs[i]);
        assert_int_equal(fabric_load("test.yaml", text, &fabric, &errors), 0);
        assert_int_equal(sim_create(fabric, &options, &sim, &errors), -12);
        assert_int_equal(errors.count, 1);
        assert_int_equal(errors.error[0].at.line, 6);
        assert_non_null(strstr(errors.error[0].text, "of memory for its jobs"));
        fabric_free(fabric);
    }
}

/* What is said of full buffers is no less than what a run with full buffers takes. */
static void test_full_buffers_are_estimated(void **state)
{
    static const char text[] = "rocelab: 1\ntopology: {single: {hosts: 17}}\nlinks: {host: {rate: 100G}}\n"
                               "switches: {buffer: 16MB}\nnics: {mtu: 1024, congestion: none}\n"
                               "jobs: [{incast: 16, size: 2MB, to: h0}]\n";

    (void)state;
    struct run run = run_text(text, options_of(1, 1));
    assert_true(run.result.packets_peak > 8000);
    assert_true(sim_memory_most_bytes(run.sim) > run.result.packets_peak * 64);
    assert_true(sim_memory_most_bytes(run.sim) < 100 * run.result.packets_peak + 4000000);
    run_free(&run);
}

/* What waits for software is counted: in what a run takes, and in what it may take. */
static void test_software_is_estimated(void **state)
{
    static const char *const software[] = {"{}", "{post: 1ms, poll: 1ms}"};
    uint64_t most[2], taken[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        char text[400];
        snprintf(text, sizeof(text),
                 "rocelab: 1\ntopology: {single: {hosts: 16}}\nlinks: {host: {rate: 100G}}\n"
                 "nics: {software: %s}\njobs: [{random: 20000, size: 1KB}]\n",
                 software[i]);
        struct run run = run_text(text, options_of(1, 1));
        most[i] = sim_memory_most_bytes(run.sim);
        taken[i] = sim_memory_bytes(run.sim);
        run_free(&run);
    }
    /* All 20,000 are wanted at the start: they wait to be posted, 32 bytes each and more. */
    assert_true(taken[1] > taken[0] + 20000 * 32);
    assert_true(most[1] - most[0] > taken[1] - taken[0]);
    assert_true(most[1] - most[0] < 2 * taken[0]); /* a bound, but no other order than the rest of the run */
}

/* Reserve and headroom take whole cells: what the loader lets pass, the switch takes. */
static void test_loader_and_switch_agree(void **state)
{
    static const uint32_t cells[] = {1, 80, 208, 254, 4096, 32768};
    struct sim_options options = options_of(1, 1);

    (void)state;
    for (size_t c = 0; c < sizeof(cells) / sizeof(cells[0]); c++) {
        uint64_t refused = 0, taken = (uint64_t)1 << 28;
        while (taken - refused > 1) {
            struct fabric_errors errors = {0};
            struct fabric *fabric = NULL;
            struct sim *sim = NULL;
            uint64_t buffer = refused + (taken - refused) / 2;
            char text[1000];
            snprintf(text, sizeof(text),
                     "rocelab: 1\ntopology: {links: {hosts: 2, leaves: 1, links: [[h0, leaf0:3], [h1, leaf0]]}}\n"
                     "links: {host: {rate: 100G}}\nswitches: {cell: %uB, buffer: %" PRIu64 "B}\n"
                     "jobs: [{incast: 1, size: 1KB}]\n",
                     (unsigned)cells[c], buffer);
            bool loads = fabric_load("test.yaml", text, &fabric, &errors) == 0;
            if (loads && sim_create(fabric, &options, &sim, &errors) != 0)
                fail_msg("cells of %u: the loader takes a buffer of %" PRIu64 ", but: %s", (unsigned)cells[c], buffer,
                         errors.error[0].text);
            if (!loads) assert_int_equal(errors.error[0].at.line, 4);
            sim_free(sim);
            if (loads) fabric_free(fabric);
            *(loads ? &taken : &refused) = buffer;
        }
        assert_true(refused > 0 && taken < (uint64_t)1 << 28);
    }
}

static const char mixed[] =
    "rocelab: 1\nfabric: mixed\n"
    "topology: {fat-tree: {k: 4}}\n"
    "links: {host: {rate: 100G, cable: 3m}, fabric: {rate: 100G, cable: 30m}, core: {rate: 100G, cable: 300m}}\n"
    "switches: {model: generic, buffer: 2MB}\n" CLASSES "nics: {mtu: 1024, congestion: dcqcn/connectx, " PER_PACKET
    "}\n"
    "jobs:\n"
    "  - {permutation: random, size: 200KB}\n"
    "  - {incast: 12, size: 100KB, at: 10us, repeat: 2}\n"
    "  - {allreduce: ring, size: 1MB, after: previous}\n"
    "  - {all-to-all: pairwise, size: 160KB, at: 5us}\n"
    "  - {poisson: {sizes: websearch, load: 20%, until: 50us}}\n";

static void test_same_digest(void **state)
{
    (void)state;
    struct run first = run_text(mixed, options_of(5, 1));
    assert_int_equal(first.result.state, SIM_DONE);
    assert_true(first.result.great_window_ps > first.result.window_ps);
    assert_true(run_sums(&first).marks > 0);
    for (uint32_t threads = 1; threads <= 8; threads = threads < 3 ? threads + 1 : threads + 5) {
        for (int no_tiles = 0; no_tiles < 2; no_tiles++) {
            struct sim_options options = options_of(5, threads);
            options.no_tiles = no_tiles;
            struct run again = run_text(mixed, options);
            assert_int_equal(again.result.digest, first.result.digest);
            assert_int_equal(again.result.packet_hops, first.result.packet_hops);
            assert_int_equal(again.result.virtual_ps, first.result.virtual_ps);
            for (uint32_t i = 0; i < first.result.flows; i++)
                assert_int_equal(again.result.flow[i].fct_ps, first.result.flow[i].fct_ps);
            run_free(&again);
        }
    }
    struct run other = run_text(mixed, options_of(6, 1));
    assert_true(other.result.digest != first.result.digest);
    run_free(&other);
    run_free(&first);
}

static void test_loss_is_repaired(void **state)
{
    static const char text[] =
        "rocelab: 1\nfabric: lossy\n"
        "topology: {single: {hosts: 4}}\n"
        "links: {host: {rate: 100G, cable: 3m}}\n"
        "switches: {model: generic}\n" CLASSES "nics: {mtu: 1024, congestion: none, timeout: 8}\n"
        "jobs: [{permutation: random, size: 1MB}]\n"
        "faults: [{corrupt: h1, share: 1%, at: 0us}]\n";

    (void)state;
    struct run run = run_text(text, options_of(9, 1));
    struct sums sums = run_sums(&run);
    assert_int_equal(run.result.state, SIM_DONE);
    assert_true(sums.lost > 0);
    assert_true(sums.retransmitted > 0);
    assert_true(sums.naks + sums.timeouts > 0);
    assert_int_equal(run.result.packets_live, 0);
    assert_int_equal(run.result.work_failed, 0);
    run_free(&run);
}

static void test_link_down_and_up(void **state)
{
    static const char text[] =
        "rocelab: 1\nfabric: down\n"
        "topology: {single: {hosts: 2}}\n"
        "links: {host: {rate: 100G, cable: 3m}}\n"
        "switches: {model: generic}\n" CLASSES "nics: {mtu: 1024, congestion: none, timeout: 8, retry: 7}\n"
        "jobs: [{flows: [{src: h0, dst: h1, size: 1MB}]}]\n"
        "faults: [{down: h1, at: 20us, for: 100us}]\n";

    (void)state;
    struct run run = run_text(text, options_of(1, 1));
    assert_int_equal(run.result.state, SIM_DONE);
    assert_int_equal(run.result.work_failed, 0);
    assert_true(run.result.flow[0].fct_ps > 180 * PS_US);
    assert_true(run_sums(&run).retransmitted > 0);
    assert_int_equal(run.result.packets_live, 0);
    run_free(&run);
}

static uint64_t paused_ps(const struct run *run, const char *port, int priority)
{
    uint32_t index = fabric_find_port(run->fabric, port);

    for (uint32_t i = 0; i < run->result.ports; i++)
        if (run->result.port[i].port == index) return run->result.port[i].sw->prio[priority].rx_pause_ps;
    fail_msg("no port %s", port);
    return 0;
}

/* Each storm pauses its own priority for its own time, whatever else the node does. */
static void test_two_storms_of_one_node(void **state)
{
    static const char text[] =
        "rocelab: 1\nfabric: storms\n"
        "topology: {links: {hosts: 2, switches: 1, links: [[h0, sw0], [h0, sw0], [h1, sw0]]}}\n"
        "links: {host: {rate: 100G, cable: 3m}}\n"
        "switches: {model: generic}\n"
        "classes: [{name: a, dscp: 26, priority: 3, lossless: true}, {name: b, dscp: 34, priority: 4, lossless: true},"
        " {name: default, priority: 0}]\n"
        "nics: {mtu: 1024, congestion: none}\n"
        "faults: [{pause: 'h0:0', priority: 3, at: 0us, for: 3ms}, {pause: 'h0:0', priority: 4, at: 1ms, for: 1ms},"
        " {pause: 'h0:1', priority: 4, at: 2ms}]\n"
        "jobs: [{flows: [{src: h1, dst: 'h0:0', size: 1KB, at: 5ms}]}]\nstop: 6ms\n";
    const uint64_t lasts = PS_US * 65535 * 512 / 100000; /* of one frame */

    (void)state;
    struct run run = run_text(text, options_of(1, 1));
    uint64_t a = paused_ps(&run, "sw0:0", 3), b = paused_ps(&run, "sw0:0", 4), c = paused_ps(&run, "sw0:1", 4);
    assert_true(a >= 3 * PS_MS - 5 * PS_US && a <= 3 * PS_MS + lasts + 5 * PS_US);
    assert_true(b >= PS_MS - 5 * PS_US && b <= PS_MS + lasts + 5 * PS_US);
    assert_true(c >= 3 * PS_MS); /* to the end */
    assert_int_equal(paused_ps(&run, "sw0:1", 3), 0);
    assert_int_equal(paused_ps(&run, "sw0:2", 3) + paused_ps(&run, "sw0:2", 4), 0);
    run_free(&run);
}

/* The link is up again when the last of the faults is over, and slow as the last to begin says. */
static void test_faults_overlap(void **state)
{
#define OVERLAP(faults)                                                                                                \
    "rocelab: 1\nfabric: overlap\n"                                                                                    \
    "topology: {single: {hosts: 2}}\n"                                                                                 \
    "links: {host: {rate: 100G, cable: 3m}}\n"                                                                         \
    "switches: {model: generic}\n" CLASSES "nics: {mtu: 1024, congestion: none, timeout: 8, retry: 7}\n"               \
    "jobs: [{flows: [{src: h0, dst: h1, size: 1MB}]}]\nfaults: [" faults "]\n"
    struct run run =
        run_text(OVERLAP("{down: h1, at: 20us, for: 900us}, {down: 'leaf0:1', at: 30us, for: 50us}"), options_of(1, 1));

    (void)state;
    assert_int_equal(run.result.state, SIM_DONE);
    assert_int_equal(run.result.work_failed, 0);
    assert_true(run.result.flow[0].fct_ps > 920 * PS_US);
    run_free(&run);
    /* At 10G from the beginning it takes some 860 us. */
    run = run_text(OVERLAP("{slow: h0, share: 10%}, {slow: h0, share: 50%, for: 1us}"), options_of(1, 1));
    assert_true(run.result.flow[0].fct_ps > 800 * PS_US);
    run_free(&run);
}

/* The slowest line there may be, slowed: still a line. */
static void test_slowest_line(void **state)
{
    static const char text[] =
        "rocelab: 1\nfabric: slowest\n"
        "topology: {links: {hosts: 2, switches: 1, links: [[h0, sw0, 1K], [h1, sw0]]}}\n"
        "links: {host: {rate: 100G, cable: 3m}}\n"
        "switches: {model: generic}\n" CLASSES "nics: {mtu: 1024, congestion: none, timeout: 0}\n"
        "jobs: [{flows: [{src: h0, dst: h1, size: 1B}]}]\n"
        "faults: [{slow: h0, share: 0.0001%}, {pause: h0}]\n";

    (void)state;
    struct run run = run_text(text, options_of(1, 1));
    assert_int_equal(run.result.state, SIM_DONE);
    assert_true(run.result.flow[0].fct_ps > 500 * PS_MS && run.result.flow[0].fct_ps < 10 * PS_S);
    run_free(&run);
}

static void refused(const char *text, const char *sentence)
{
    struct fabric_errors errors = {0};
    struct sim_options options = options_of(1, 1);
    struct fabric *fabric;
    struct sim *sim = NULL;

    assert_int_equal(fabric_load("test.yaml", text, &fabric, &errors), 0);
    assert_int_equal(sim_create(fabric, &options, &sim, &errors), -EINVAL);
    assert_null(sim);
    assert_int_equal(errors.count, 1);
    assert_string_equal(errors.error[0].text, sentence);
    fabric_free(fabric);
}

static void test_refused(void **state)
{
    (void)state;
    refused("rocelab: 1\ntopology: {single: {hosts: 1025}}\nlinks: {host: {rate: 1G}}\n"
            "jobs: [{incast: 1, size: 1MB}]\n",
            "'leaf0' has 1025 ports; the most that can be simulated is 1024");
    /* 2^32 messages in all, which is none in 32 bits */
    refused("rocelab: 1\ntopology: {single: {hosts: 2}}\nlinks: {host: {rate: 1G}}\n"
            "jobs: [{name: long, allgather: ring, size: 4GiB, chunk: 1B}]\n",
            "allgather: in 1073741824 loops a rank would send too many messages; more than 2147483648 are not counted: "
            "write a larger chunk");
}

static void test_until_and_stuck(void **state)
{
    static const char text[] =
        "rocelab: 1\nfabric: stuck\n"
        "topology: {single: {hosts: 2}}\n"
        "links: {host: {rate: 100G, cable: 3m}}\n"
        "switches: {model: generic}\n" CLASSES "nics: {mtu: 1024, congestion: none, timeout: 0}\n"
        "jobs: [{flows: [{src: h0, dst: h1, size: 1MB}]}]\n"
        "faults: [{down: h1, at: 20us}]\n";
    struct sim_options options = options_of(1, 1);

    (void)state;
    struct run run = run_text(text, options);
    assert_int_equal(run.result.state, SIM_STUCK);
    assert_int_equal(run.result.flow[0].fct_ps, PS_NEVER);
    run_free(&run);
    options.until = 10 * PS_US;
    run = run_text(text, options);
    assert_int_equal(run.result.state, SIM_UNTIL);
    assert_int_equal(run.result.virtual_ps, 10 * PS_US);
    assert_true(run.result.packets_live >= run.result.packets_on_links && run.result.packets_on_links > 0);
    run_free(&run);
}

/* Jobs that came to nothing, and a fault much later: the run ends where the jobs do, however long windows are. */
static void test_nothing_to_do(void **state)
{
    static const char text[] = "rocelab: 1\nfabric: idle\n"
                               "topology: {single: {hosts: 3}}\n"
                               "links: {host: {rate: 10G, cable: 3m}}\n"
                               "switches: {model: generic}\n" CLASSES "nics: {mtu: 1024, congestion: none}\n"
                               "jobs: [{poisson: {sizes: [[10KB, 50%], [20KB, 100%]], load: 1%, until: 100ns}}]\n"
                               "faults: [{pause: h2, priority: 3, at: 40us, for: 100us}]\n";

    (void)state;
    for (int no_tiles = 0; no_tiles < 2; no_tiles++) {
        struct sim_options options = options_of(1, 1);
        options.no_tiles = no_tiles;
        struct run run = run_text(text, options);
        assert_int_equal(run.result.flows, 0);
        assert_int_equal(run.result.state, SIM_DONE);
        assert_int_equal(run.result.packet_hops, 0);
        assert_true(run.result.virtual_ps < 40 * PS_US);
        run_free(&run);
    }
}

/* A job that waits for one that came to nothing, which waits for another, and no event in between. */
static void test_after_nothing(void **state)
{
    static const char text[] = "rocelab: 1\nfabric: idle\n"
                               "topology: {single: {hosts: 3}}\n"
                               "links: {host: {rate: 10G, cable: 3m}}\n"
                               "switches: {model: generic}\n" CLASSES "nics: {mtu: 1024, congestion: none}\n"
                               "jobs:\n  - {permutation: 1, size: 10KB}\n"
                               "  - {poisson: {sizes: [[10KB, 50%], [20KB, 100%]], load: 1%, until: 100ns}, after: "
                               "previous}\n"
                               "  - {permutation: 1, size: 10KB, at: 5us, after: previous}\n"
                               "faults: [{pause: h2, priority: 3, at: 400us, for: 100us}]\n";

    (void)state;
    struct run run = run_text(text, options_of(1, 1));
    assert_int_equal(run.result.state, SIM_DONE);
    assert_int_equal(run.result.flows, 6);
    assert_int_equal(run.result.job[1].end, run.result.job[1].start);
    assert_true(run.result.job[1].start > run.result.job[0].end);
    assert_int_equal(run.result.job[2].start, run.result.job[1].end + 5 * PS_US);
    run_free(&run);
}

/* A line that is slow and never idle: what it sent is its share of the time, wherever the run is cut off. */
static void test_slow_line_is_measured(void **state)
{
    static const char text[] = "rocelab: 1\nfabric: slow\n"
                               "topology: {single: {hosts: 2}}\n"
                               "links: {host: {rate: 10G, cable: 3m}}\n"
                               "switches: {model: generic}\n" CLASSES "nics: {mtu: 4096, congestion: none}\n"
                               "jobs: [{permutation: 1, size: 1MB}]\n"
                               "faults: [{slow: h0, share: 10%, at: 0us}]\n";

    (void)state;
    for (uint64_t us = 200; us < 240; us += 5) {
        struct sim_options options = options_of(1, 1);
        options.until = us * PS_US;
        struct run run = run_text(text, options);
        assert_int_equal(run.result.state, SIM_UNTIL);
        assert_in_range(run.result.port[0].utilisation_ppm, 99000, 101000);
        run_free(&run);
    }
}

/* The time between CNPs is a queue pair's, or, where the file says so, the whole adapter's: of eight senders to one, an
 * eighth of the notifications or so. */
static void test_cnp_per_nic(void **state)
{
    uint64_t cnps[2];

    (void)state;
    for (int shared = 0; shared < 2; shared++) {
        char text[1024];
        snprintf(text, sizeof(text),
                 "rocelab: 1\nfabric: incast\ntopology: {single: {hosts: 9}}\n"
                 "links: {host: {rate: 100G, cable: 3m}}\nswitches: {model: generic, buffer: 16MB}\n%s"
                 "nics: {mtu: 1024, congestion: {use: dcqcn/connectx, min_time_between_cnps: 50us, cnp_per_nic: %s}}\n"
                 "jobs: [{incast: 8, size: 2MB, to: h0}]\n",
                 CLASSES, shared ? "true" : "false");
        struct run run = run_text(text, options_of(1, 1));
        cnps[shared] = run_sums(&run).cnps;
        run_free(&run);
    }
    assert_true(cnps[1] > 0);
    assert_in_range(cnps[0] / cnps[1], 4, 12);
}

/* Software adds what the file says, and no more: to a post, and to seeing a completion. */
static void test_software(void **state)
{
    static const struct {
        const char *software;
        ps_t post, poll;
    } cases[] = {{"{}", 0, 0},
                 {"{post: 3us}", 3 * PS_US, 0},
                 {"{poll: 2us}", 0, 2 * PS_US},
                 {"{post: 60ns, poll: 30ns, clock: 25ns, hop: 1us}", 60 * PS_NS, 30 * PS_NS}};
    char text[600];
    ps_t base = 0, next = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        snprintf(text, sizeof(text),
                 "rocelab: 1\ntopology: {single: {hosts: 2}}\nlinks: {host: {rate: 100G}}\n"
                 "nics: {software: %s}\njobs: [{name: one, flows: [{src: h0, dst: h1, size: 1KB}]}, "
                 "{name: two, flows: [{src: h1, dst: h0, size: 1KB}], after: one}]\n",
                 cases[i].software);
        struct run run = run_text(text, options_of(1, 1));
        assert_int_equal(run.result.state, SIM_DONE);
        if (i == 0) base = run.result.flow[0].fct_ps;
        if (i == 0) next = run.result.flow[1].start;
        assert_int_equal(run.result.flow[0].fct_ps, base + cases[i].post + cases[i].poll);
        assert_int_equal(run.result.flow[1].start, next + cases[i].post + cases[i].poll);
        run_free(&run);
    }
}

/* What waits for software is a host's own: any number of threads runs the same. */
static void test_software_threads(void **state)
{
    uint64_t digest = 0;

    (void)state;
    for (uint32_t threads = 1; threads <= 4; threads++) {
        struct run run = run_text("rocelab: 1\ntopology: {leaf-spine: {leaves: 4, spines: 2, hosts: 2}}\n"
                                  "links: {host: {rate: 100G}}\nnics: {software: {post: 60ns, poll: 30ns}}\n"
                                  "roles: {host: {mtu: 1024}}\ndevices: {h3: {software: {poll: 1us}}}\n"
                                  "jobs: [{allreduce: ring, size: 1MB}, {incast: 5, size: 100KB}]\n",
                                  options_of(1, threads));
        assert_int_equal(run.result.state, SIM_DONE);
        if (threads > 1) assert_int_equal(run.result.digest, digest);
        digest = run.result.digest;
        run_free(&run);
    }
}

/* A result is a picture: it says the same when the simulation has run on, and when it is gone. */
static void test_result_outlives_the_run(void **state)
{
    (void)state;
    struct sim_options options = options_of(1, 1);
    struct fabric_errors errors = {0};
    struct sim_result early, late;
    struct fabric *fabric;
    struct sim *sim;

    options.rtt = true;
    assert_int_equal(
        fabric_load("picture",
                    "rocelab: 1\nfabric: picture\ntopology: {leaf-spine: {leaves: 1, spines: 0, hosts: 3}}\n"
                    "links: {host: {rate: 100G, cable: 3m}}\n" CLASSES "jobs: [{incast: 2, to: h2, size: 1MB}]\n",
                    &fabric, &errors),
        0);
    assert_int_equal(sim_create(fabric, &options, &sim, &errors), 0);
    sim_advance(sim, UINT64_MAX, 80 * PS_US);
    assert_int_equal(sim_result(sim, &early), 0);
    uint64_t sent = early.nic[0].counters->tx_packets, crossed = 0;
    for (uint32_t i = 0; i < early.ports; i++)
        crossed += early.port[i].sw ? early.port[i].sw->tx_packets : 0;
    uint64_t measured = early.nic[0].rtt_ns->count;
    assert_true(sent > 0 && crossed > 0 && measured > 0);

    while (sim_advance(sim, UINT64_MAX, PS_NEVER) == SIM_RUNNING)
        continue;
    assert_int_equal(sim_result(sim, &late), 0);
    sim_free(sim);
    assert_int_equal(early.nic[0].counters->tx_packets, sent);
    assert_int_equal(early.nic[0].rtt_ns->count, measured);
    assert_true(late.nic[0].counters->tx_packets > sent && late.nic[0].rtt_ns->count > measured);
    for (uint32_t i = 0; i < early.ports; i++)
        crossed -= early.port[i].sw ? early.port[i].sw->tx_packets : 0;
    assert_int_equal(crossed, 0);
    sim_result_free(&early);
    sim_result_free(&late);
    fabric_free(fabric);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_idle_latency),
        cmocka_unit_test(test_allreduce),
        cmocka_unit_test(test_jobs_do_not_queue_behind_each_other),
        cmocka_unit_test(test_same_digest),
        cmocka_unit_test(test_incast_pauses_and_drops_nothing),
        cmocka_unit_test(test_loss_is_repaired),
        cmocka_unit_test(test_link_down_and_up),
        cmocka_unit_test(test_two_storms_of_one_node),
        cmocka_unit_test(test_faults_overlap),
        cmocka_unit_test(test_slowest_line),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_until_and_stuck),
        cmocka_unit_test(test_cut_through),
        cmocka_unit_test(test_ideal_of_cut_through),
        cmocka_unit_test(test_pauses_with_threads),
        cmocka_unit_test(test_too_large_is_refused),
        cmocka_unit_test(test_too_many_transfers_are_refused),
        cmocka_unit_test(test_full_buffers_are_estimated),
        cmocka_unit_test(test_loader_and_switch_agree),
        cmocka_unit_test(test_cnp_per_nic),
        cmocka_unit_test(test_nothing_to_do),
        cmocka_unit_test(test_after_nothing),
        cmocka_unit_test(test_slow_line_is_measured),
        cmocka_unit_test(test_software),
        cmocka_unit_test(test_software_is_estimated),
        cmocka_unit_test(test_software_threads),
        cmocka_unit_test(test_result_outlives_the_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
