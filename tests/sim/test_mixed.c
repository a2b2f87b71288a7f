/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TCP beside RoCE on the same ports: each does what it does alone, the two share a line by bytes, and what is lost in
 * TCP's class costs RDMA nothing.
 *
 * Bugs planted in node/mixed.h and found: frames of TCP handed to RoCE; the deadline of either forgotten; the port
 * asked of RoCE first each time, or of one alone; completions of TCP never seen; pauses not told to RoCE; TCP never
 * ticked; kicks of RoCE lost.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support.h"

#define CLASSES                                                                                                        \
    "classes:\n"                                                                                                       \
    "  - {name: rdma, dscp: 26, priority: 3, lossless: true, share: 50%}\n"                                            \
    "  - {name: storage, dscp: 10, priority: 1, share: 40%, limit: 200KB, system: tcp}\n"                              \
    "  - {name: default, priority: 0}\n"                                                                               \
    "nics: {congestion: none, tcp: {cpu-rate: false, rto-min: 1ms}}\n"
#define PAIR                                                                                                           \
    "rocelab: 1\ntopology: {single: {hosts: 2}}\nlinks: {host: {rate: 100G, cable: 3m}}\n"                             \
    "switches: {buffer: 8MB}\n" CLASSES
#define STAR                                                                                                           \
    "rocelab: 1\ntopology: {single: {hosts: 9}}\nlinks: {host: {rate: 100G, cable: 3m}}\n"                             \
    "switches: {buffer: 8MB}\n" CLASSES

static ps_t took(const struct run *run, uint32_t job)
{
    assert_int_equal(run->result.state, SIM_DONE);
    return run->result.job[job].end - run->result.job[job].start;
}

static uint64_t accepted(const struct run *run)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < run->result.nics; i++)
        bytes += run->result.nic[i].common.rx_payload_bytes;
    return bytes;
}

/* A fabric of RoCE in which nobody uses the other class is a fabric of RoCE. */
static void alone_it_is_roce(void **state)
{
    static const char jobs[] = "jobs: [{flows: [{src: h0, dst: h1, size: 4MB}], class: rdma}]\n";
    char plain[2048], mixed[2048];

    (void)state;
    snprintf(mixed, sizeof(mixed), "%s%s", PAIR, jobs);
    snprintf(plain, sizeof(plain), "%s", mixed);
    memcpy(strstr(plain, ", system: tcp"), "             ", 13);
    memcpy(strstr(plain, ", tcp: {cpu-rate: false, rto-min: 1ms}"), "                                      ", 38);
    struct run a = run_text(mixed, options_of(1, 1)), b = run_text(plain, options_of(1, 1));
    assert_int_equal(a.result.digest, b.result.digest);
    assert_int_equal(a.result.virtual_ps, b.result.virtual_ps);
    run_free(&a);
    run_free(&b);
}

/* Both want all of the line: of the bytes that leave the host, half are of each while both send. */
static void a_port_is_shared_by_bytes(void **state)
{
    struct run run = run_text(PAIR "jobs:\n  - {flows: [{src: h0, dst: h1, size: 20MB}], class: rdma}\n"
                                   "  - {flows: [{src: h0, dst: h1, size: 20MB}], class: storage}\n",
                              options_of(1, 1));

    (void)state;
    ps_t rdma = took(&run, 0), tcp = took(&run, 1), line = 40 * 80 * PS_US; /* of the payload of both */
    ps_t last = rdma > tcp ? rdma : tcp, first = rdma > tcp ? tcp : rdma;
    assert_true(last > line && last < line * 11 / 10);
    assert_true(first > last * 8 / 10); /* neither waits for the other to end */
    assert_int_equal(accepted(&run), 40000000);
    assert_true(run.result.nic[1].has_tcp && run.result.nic[1].counters->rx_payload_bytes == 20000000);
    run_free(&run);
}

/* Eight senders of each to one host: TCP is dropped at its limit and sends again, RDMA is paused and loses nothing. */
static void losses_stay_in_their_class(void **state)
{
    struct run run = run_text(STAR "jobs:\n  - {incast: 8, to: h0, size: 1MB, class: rdma}\n"
                                   "  - {incast: 8, to: h0, size: 1MB, class: storage}\n",
                              options_of(1, 1));
    uint64_t rdma = 0, tcp = 0, repeated = 0;

    (void)state;
    assert_int_equal(run.result.state, SIM_DONE);
    for (uint32_t i = 0; i < run.result.ports; i++) {
        if (run.result.port[i].sw == NULL) continue;
        rdma += run.result.port[i].sw->prio[3].drops;
        tcp += run.result.port[i].sw->prio[1].drops;
    }
    for (uint32_t i = 0; i < run.result.nics; i++)
        repeated += run.result.nic[i].counters->retransmitted_packets;
    assert_int_equal(rdma, 0);
    assert_int_equal(repeated, 0);
    assert_true(tcp > 0);
    assert_true(run_sums(&run).pauses > 0);
    assert_int_equal(accepted(&run), 16000000);
    run_free(&run);
}

/* Messages of one packet: what is lost is found out by a timer alone. */
static void timers_of_both_run(void **state)
{
    static const char *const classes[] = {"rdma", "storage"};
    char text[2048];

    (void)state;
    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof(text), "%sjobs: [{incast: 8, to: h0, size: 4KB, repeat: 5, class: %s}]\n%s", STAR,
                 classes[i], "faults: [{drop: h0, every: 5}]\n");
        struct run run = run_text(text, options_of(1, 1));
        assert_int_equal(run.result.state, SIM_DONE);
        assert_true(run_sums(&run).timeouts > 0);
        run_free(&run);
    }
}

static void threads_cannot_be_seen(void **state)
{
    static const char text[] = STAR "jobs:\n  - {allreduce: ring, size: 1MB}\n"
                                    "  - {permutation: 4, size: 1MB, class: storage}\n"
                                    "faults: [{corrupt: h2, share: 1%}, {down: h3, at: 20us, for: 50us}]\n";
    struct run one = run_text(text, options_of(3, 1)), four = run_text(text, options_of(3, 4));

    (void)state;
    assert_int_equal(one.result.state, SIM_DONE);
    assert_int_equal(one.result.digest, four.result.digest);
    run_free(&one);
    run_free(&four);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alone_it_is_roce),           cmocka_unit_test(a_port_is_shared_by_bytes),
        cmocka_unit_test(losses_stay_in_their_class), cmocka_unit_test(timers_of_both_run),
        cmocka_unit_test(threads_cannot_be_seen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
