/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of runs, held to the counters, times and results that the same runs give.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fabric/fabric.h"
#include "nic/nic.h"
#include "record/event.h"
#include "support.h"

#define CLASSES                                                                                                        \
    "classes:\n"                                                                                                       \
    "  - {name: rdma, dscp: 26, priority: 3, lossless: true, ecn: {min: 20KB, max: 80KB, probability: 10%}}\n"         \
    "  - {name: cnp, dscp: 48, priority: 6, strict: true}\n"                                                           \
    "  - {name: default, priority: 0}\n"
#define LINKS "links: {host: {rate: 100G, cable: 3m}, fabric: {rate: 100G, cable: 30m}}\n"
#define POD "rocelab: 1\ntopology: {leaf-spine: {leaves: 2, spines: 2, hosts: 4}}\n" LINKS CLASSES
#define INCAST                                                                                                         \
    POD "switches: {buffer: 2MB}\nnics: {mtu: 1024, congestion: dcqcn/connectx}\njobs: [{incast: 7, size: 500KB}]\n"

static struct run run_noting(const char *text, struct record_log *log, struct sim_options options)
{
    if (log->most == 0) log->most = UINT64_MAX;
    options.events = log;
    options.event_kinds = UINT32_MAX;
    return run_text(text, options);
}

static struct run noting(const char *text, struct record_log *log)
{
    return run_noting(text, log, options_of(1, 1));
}

static uint64_t count_at(const struct record_log *log, enum record_event_kind kind, uint32_t node, uint16_t port,
                         uint8_t priority)
{
    uint64_t count = 0;

    for (uint64_t i = 0; i < log->count; i++) {
        const struct record_event *event = &log->event[i];
        count += event->kind == kind && event->node == node && event->port == port && event->priority == priority;
    }
    return count;
}

static uint64_t count_of(const struct record_log *log, enum record_event_kind kind)
{
    uint64_t count = 0;

    for (uint64_t i = 0; i < log->count; i++)
        count += log->event[i].kind == kind;
    return count;
}

static void in_order(const struct record_log *log)
{
    for (uint64_t i = 1; i < log->count; i++) {
        const struct record_event *a = &log->event[i - 1], *b = &log->event[i];
        assert_true(a->at < b->at ||
                    (a->at == b->at && (a->node < b->node || (a->node == b->node && a->sequence < b->sequence))));
    }
}

/* How long the pauses of a port and priority were, of those that have ended. */
static ps_t paused_for(const struct record_log *log, uint32_t node, uint16_t port, uint8_t priority, bool *ret_open)
{
    ps_t sum = 0, since = PS_NEVER;

    for (uint64_t i = 0; i < log->count; i++) {
        const struct record_event *event = &log->event[i];
        if (event->node != node || event->port != port || event->priority != priority) continue;
        if (event->kind == RECORD_PAUSED) {
            assert_true(since == PS_NEVER);
            since = event->at;
        } else if (event->kind == RECORD_RESUMED) {
            assert_true(since != PS_NEVER);
            sum += event->at - since;
            since = PS_NEVER;
        }
    }
    *ret_open = since != PS_NEVER;
    return sum;
}

static void check_switch_port(const struct run *run, const struct record_log *log, const struct sim_port *port)
{
    const struct fabric_port *own = &run->fabric->port[port->port];
    bool open;

    for (uint8_t p = 0; p < 8; p++) {
        const struct sw_prio_counters *counters = &port->sw->prio[p];
        assert_int_equal(count_at(log, RECORD_XOFF, own->node, own->index, p), counters->tx_xoff);
        assert_int_equal(count_at(log, RECORD_XON, own->node, own->index, p), counters->tx_xon);
        assert_int_equal(count_at(log, RECORD_MARK, own->node, own->index, p), counters->ecn_marked);
        assert_int_equal(count_at(log, RECORD_DROP, own->node, own->index, p), counters->drops);
        assert_int_equal(count_at(log, RECORD_WATCHDOG, own->node, own->index, p), counters->watchdog_detected);
        assert_int_equal(count_at(log, RECORD_RESTORED, own->node, own->index, p), counters->watchdog_restored);
        ps_t paused = paused_for(log, own->node, own->index, p, &open);
        if (!open) assert_int_equal(paused, counters->rx_pause_ps);
    }
}

static void check_nic(const struct run *run, const struct record_log *log, uint32_t index)
{
    const struct nic_counters *counters = run->result.nic[index].counters;
    const struct fabric_port *own = &run->fabric->port[run->fabric->endpoint[index].port];
    uint64_t sum[RECORD_EVENTS] = {0};

    for (uint8_t p = 0; p < 8; p++) {
        bool open;
        for (uint32_t k = 0; k < RECORD_EVENTS; k++)
            sum[k] += count_at(log, (enum record_event_kind)k, own->node, own->index, p);
        assert_int_equal(count_at(log, RECORD_PAUSED, own->node, own->index, p), counters->prio[p].rx_pause_transition);
        ps_t paused = paused_for(log, own->node, own->index, p, &open);
        if (!open) assert_int_equal(paused, counters->prio[p].rx_pause_ps);
    }
    assert_int_equal(sum[RECORD_TIMEOUT], counters->local_ack_timeout_err);
    assert_int_equal(sum[RECORD_NAK], counters->packet_seq_err);
    assert_int_equal(sum[RECORD_RNR], counters->rnr_nak_retry_err);
    assert_int_equal(sum[RECORD_CNP], counters->rp_cnp_handled);
    assert_int_equal(sum[RECORD_FAILED],
                     counters->completion_errors - counters->req_cqe_flush_error - counters->resp_cqe_flush_error);
}

/* Every kind that a counter counts is as often in the log, port by port. */
static void check_all(const struct run *run, const struct record_log *log)
{
    in_order(log);
    assert_int_equal(log->lost, 0);
    for (uint32_t i = 0; i < run->result.ports; i++)
        if (run->result.port[i].sw) check_switch_port(run, log, &run->result.port[i]);
    for (uint32_t i = 0; i < run->result.nics; i++)
        check_nic(run, log, i);
}

static void test_incast(void **state)
{
    struct record_log log = {0};
    struct run run = noting(INCAST, &log);

    (void)state;
    check_all(&run, &log);
    assert_true(count_of(&log, RECORD_XOFF) > 4 && count_of(&log, RECORD_MARK) > 4 && count_of(&log, RECORD_CNP) > 4);
    for (uint64_t i = 0; i < log.count; i++) {
        const struct record_event *event = &log.event[i];
        if (event->kind == RECORD_MARK) assert_true(event->a > 20000);
        if (event->kind == RECORD_XOFF && event->node >= run.fabric->hosts)
            assert_true(event->a < run.fabric->node[event->node].ports);
    }
    run_free(&run);
    record_log_free(&log);
}

static void test_drops_and_losses(void **state)
{
    struct record_log log = {0};
    struct run lossy = noting(POD "switches: {buffer: 500KB}\nnics: {mtu: 1024, congestion: none, timeout: 5}\n"
                                  "jobs: [{incast: 7, size: 500KB, class: default}]\n"
                                  "faults: [{corrupt: h1, share: 2%}]\n",
                              &log);

    (void)state;
    check_all(&lossy, &log);
    assert_true(count_of(&log, RECORD_DROP) > 10 && count_of(&log, RECORD_NAK) > 10);
    assert_true(count_of(&log, RECORD_TIMEOUT) > 0);
    assert_int_equal(count_of(&log, RECORD_TIMEOUT), run_sums(&lossy).timeouts);
    run_free(&lossy);
    record_log_free(&log);
}

static const struct record_event *first_of(const struct record_log *log, enum record_event_kind kind, uint32_t node)
{
    for (uint64_t i = 0; i < log->count; i++)
        if (log->event[i].kind == kind && log->event[i].node == node) return &log->event[i];
    fail_msg("no event of kind %s at node %u", record_event_names[kind].name, node);
    return NULL;
}

static uint32_t node_named(const struct fabric *fabric, const char *name)
{
    for (uint32_t i = 0; i < fabric->nodes; i++)
        if (strcmp(fabric->node[i].name, name) == 0) return i;
    fail_msg("no node %s", name);
    return 0;
}

static void test_links(void **state)
{
    struct record_log log = {0};
    struct run run = noting(POD "nics: {mtu: 1024, congestion: none, timeout: 4}\nconverge: {detect: 10us, step: 5us}\n"
                                "jobs: [{permutation: 4, size: 2MB}]\n"
                                "faults: [{down: \"leaf0:4\", at: 20us, for: 30us}, {slow: h1, share: 25%, at: 7us, "
                                "for: 9us}]\n",
                            &log);
    uint32_t leaf = node_named(run.fabric, "leaf0"), spine = node_named(run.fabric, "spine0");

    (void)state;
    check_all(&run, &log);
    assert_int_equal(count_of(&log, RECORD_LINK_DOWN), 2); /* an end each */
    assert_int_equal(count_of(&log, RECORD_LINK_UP), 2);
    assert_int_equal(first_of(&log, RECORD_LINK_DOWN, leaf)->at, 20 * PS_US);
    assert_int_equal(first_of(&log, RECORD_LINK_DOWN, leaf)->port, 4);
    assert_int_equal(first_of(&log, RECORD_LINK_DOWN, spine)->at, 20 * PS_US);
    assert_int_equal(first_of(&log, RECORD_LINK_UP, leaf)->at, 50 * PS_US);
    assert_int_equal(first_of(&log, RECORD_LINK_UP, spine)->at, 50 * PS_US);
    assert_int_equal(first_of(&log, RECORD_ROUTES, leaf)->at, 30 * PS_US);
    assert_int_equal(first_of(&log, RECORD_ROUTES, leaf)->a, 1);
    const struct record_event *rate = first_of(&log, RECORD_RATE, node_named(run.fabric, "h1"));
    assert_int_equal(count_of(&log, RECORD_RATE), 4); /* two ends, down and up again */
    assert_int_equal(rate->at, 7 * PS_US);
    assert_int_equal(rate->a, 25000000000u);
    run_free(&run);
    record_log_free(&log);
}

/* A host that is cut off for good: its retries are used up, and its queue pair fails. */
static void test_failed(void **state)
{
    struct record_log log = {0};
    struct run run = noting(POD "nics: {mtu: 1024, congestion: none, timeout: 4, retry: 2}\n"
                                "jobs: [{flows: [{src: h0, dst: h5, size: 1MB}]}]\nfaults: [{down: h5, at: 20us}]\n",
                            &log);
    const struct record_event *failed = first_of(&log, RECORD_FAILED, 0);

    (void)state;
    check_all(&run, &log);
    assert_int_equal(count_of(&log, RECORD_FAILED), 1);
    assert_int_equal(failed->b, NIC_RETRY_EXC_ERR);
    assert_int_equal(failed->at, run.result.failure.at);
    assert_int_equal(failed->a, run.result.failure.qpn);
    run_free(&run);
    record_log_free(&log);
}

#define RING(of_switches, size)                                                                                        \
    "rocelab: 1\ntopology:\n  links:\n    hosts: 6\n    switches: [A, B, C]\n    links: [[h0, A], [h1, A], [h2, B], "  \
    "[h3, B], [h4, C], [h5, C], [A, B], [B, C], [C, A]]\n" LINKS CLASSES "switches: {buffer: 2MB" of_switches          \
    "}\nnics: {mtu: 1024, congestion: none}\n"                                                                         \
    "jobs: [{flows: [{src: h0, dst: h4, size: " size "}, {src: h1, dst: h5, size: " size                               \
    "}, {src: h2, dst: h0, size: " size "}, "                                                                          \
    "{src: h3, dst: h1, size: " size "}, {src: h4, dst: h2, size: " size "}, {src: h5, dst: h3, size: " size "}]}]\n"  \
    "faults: [{misroute: \"A:2\", to: h4}, {misroute: \"A:2\", to: h5}, {misroute: \"B:3\", to: h0}, "                 \
    "{misroute: \"B:3\", to: h1}, {misroute: \"C:3\", to: h2}, {misroute: \"C:3\", to: h3}"

static void test_deadlock(void **state)
{
    struct record_log log = {0};
    struct run run = noting(RING("", "4MB") "]\n", &log);

    (void)state;
    check_all(&run, &log);
    assert_int_equal(run.result.state, SIM_DEADLOCK);
    const struct record_event *event = first_of(&log, RECORD_DEADLOCK, node_named(run.fabric, "A"));
    assert_int_equal(count_of(&log, RECORD_DEADLOCK), 1);
    assert_int_equal(event->at, run.result.deadlock[0].seen);
    assert_int_equal(event->a, 3);
    assert_int_equal(event->port, 2);
    assert_int_equal(event->priority, 3);
    run_free(&run);
    record_log_free(&log);
}

/* The watchdog breaks the circle: both are told, and that it acted. */
static void test_watchdog(void **state)
{
    struct record_log log = {0};
    struct run run = noting(RING(", watchdog: {poll: 100us, detect: 400us, restore: 400us}", "1MB") "]\n", &log);

    (void)state;
    check_all(&run, &log);
    assert_true(count_of(&log, RECORD_WATCHDOG) > 0 && count_of(&log, RECORD_DEADLOCK) > 0);
    assert_int_equal(count_of(&log, RECORD_DEADLOCK), run.result.deadlocks);
    uint32_t ended = 0;
    for (uint32_t i = 0; i < run.result.deadlocks; i++)
        ended += run.result.deadlock[i].ended != PS_NEVER;
    assert_true(ended > 0);
    assert_int_equal(count_of(&log, RECORD_DEADLOCK_OVER), ended);
    run_free(&run);
    record_log_free(&log);
}

static void test_jobs(void **state)
{
    struct record_log log = {0};
    struct run run =
        noting(POD "nics: {mtu: 4096, congestion: none}\njobs:\n"
                   "  - training: {model: {layers: 2, hidden: 64, heads: 1, sequence: 16}, groups: {dp: 8}, steps: 3, "
                   "compute: {forward: 20us, backward: 40us}}\n"
                   "  - {allreduce: ring, size: 100KB, repeat: 2, after: previous}\n",
               &log);
    uint64_t ends = 0, begins = 0, steps = 0;
    ps_t from = run.result.job[0].start;

    (void)state;
    check_all(&run, &log);
    assert_int_equal(run.result.state, SIM_DONE);
    for (uint64_t i = 0; i < log.count; i++) {
        const struct record_event *event = &log.event[i];
        if (event->kind == RECORD_STEP_END) {
            assert_int_equal(event->a, 0);
            assert_int_equal(event->b, steps);
            assert_int_equal(event->at - from, run.result.training[0].step_ps[steps++]);
            from = event->at;
        }
        if (event->kind == RECORD_JOB_BEGIN) assert_int_equal(event->at, run.result.job[begins++].start);
        if (event->kind == RECORD_JOB_END) assert_int_equal(event->at, run.result.job[ends++].end);
    }
    assert_int_equal(steps, 3);
    assert_int_equal(begins, run.result.jobs);
    assert_int_equal(ends, run.result.jobs);
    assert_int_equal(run.result.jobs, 3);
    run_free(&run);
    record_log_free(&log);
}

/* The first so many are kept, the others counted; other threads and windows, or steps of the caller, change nothing. */
static void test_limit_and_windows(void **state)
{
    struct record_log all = {0}, some = {.most = 100}, other;
    struct run run = noting(INCAST, &all);
    uint64_t digest = run.result.digest;

    (void)state;
    run_free(&run);
    run = noting(INCAST, &some);
    assert_int_equal(some.count, 100);
    assert_int_equal(some.lost, all.count - 100);
    assert_memory_equal(some.event, all.event, 100 * sizeof(all.event[0]));
    run_free(&run);
    for (uint32_t threads = 1; threads <= 4; threads *= 2) {
        struct sim_options options = options_of(1, threads);
        options.no_tiles = threads == 1;
        other = (struct record_log){0};
        run = run_noting(INCAST, &other, options);
        assert_int_equal(run.result.digest, digest);
        assert_int_equal(other.count, all.count);
        assert_memory_equal(other.event, all.event, all.count * sizeof(all.event[0]));
        run_free(&run);
        record_log_free(&other);
    }
    run = run_text(INCAST, options_of(1, 1));
    assert_int_equal(run.result.digest, digest);
    run_free(&run);
    record_log_free(&all);
    record_log_free(&some);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_incast), cmocka_unit_test(test_drops_and_losses),  cmocka_unit_test(test_links),
        cmocka_unit_test(test_failed), cmocka_unit_test(test_deadlock),          cmocka_unit_test(test_watchdog),
        cmocka_unit_test(test_jobs),   cmocka_unit_test(test_limit_and_windows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
