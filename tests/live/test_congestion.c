/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every congestion control that needs no telemetry, live: data arrive whole, and each reacts to what it goes by.
 * Marks for those that go by marks; 5 ms more for those that go by round-trip times; for the first packets alone, so
 * that the rest is quick.  A slow machine makes round trips longer, never shorter.
 */
#include "nic/cc/algorithm.h"
#include "nic/nic_int.h" /* first: its QP_IDLE is a macro of the system elsewhere */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "live/live_int.h"
#include "loop_pair.h"
#include "torture_alone.h"

#define MEGABYTE (1u << 20)

#define MTU 4096u
#define FAULTY 8u /* packets that meet faults */

struct seen {
    uint64_t marked, cnps;
    bool slower;
};

static void message(struct loop_pair *pair, uint32_t bytes, uint32_t seed)
{
    pair_fill(&pair->end[0], 0, bytes, seed);
    assert_int_equal(pair_send(pair, 0, (struct nic_wr){.verb = NIC_WRITE}, 0, bytes, MEGABYTE), 0);
    assert_int_equal(pair_wait(pair, 0).status, NIC_SUCCESS);
    assert_true(pair_filled(&pair->end[1], MEGABYTE, bytes, seed));
}

/* CNPs and timers may come after the end of what they are about. */
static bool slower_than(const struct loop_end *end, const struct cc *first)
{
    bool slower = false;

    for (int i = 0; i < 1000 && !slower; i++) {
        assert_int_equal(live_enter(end->live), 0);
        const struct cc *cc = &end->qp->nic->cc;
        slower = cc->rate_bps < first->rate_bps || cc->window_bytes < first->window_bytes;
        live_leave(end->live);
        if (!slower && first->algorithm->ack == NULL && first->algorithm->cnp == NULL) break;
        if (!slower) usleep(1000);
    }
    return slower;
}

static struct seen transfer(const char *congestion, bool delay)
{
    struct loop_pair pair;
    struct seen seen;
    char fault[64];

    snprintf(fault, sizeof fault, "mark=100%%%s,packets=%u", delay ? ",delay=5ms@100%" : "", FAULTY);
    setenv("ROCELAB_CC", congestion, 1);
    setenv("ROCELAB_FAULT", fault, 1);
    setenv("ROCELAB_RATE", "25G", 1);
    pair_open(&pair, &(struct loop_options){.transport = NIC_RC, .mtu = MTU});
    unsetenv("ROCELAB_RATE");
    unsetenv("ROCELAB_FAULT");
    unsetenv("ROCELAB_CC");
    const struct cc first = pair.end[0].qp->nic->cc;
    for (uint32_t i = 0; i < 4; i++) /* as many round trips: some make one update in each */
        message(&pair, FAULTY / 4 * MTU, i);
    seen.slower = slower_than(&pair.end[0], &first);
    message(&pair, 2 * FAULTY * MTU, 9);
    seen.marked = live_counters(pair.end[1].live)->np_ecn_marked_roce_packets;
    seen.cnps = live_counters(pair.end[0].live)->rp_cnp_handled;
    pair_close(&pair);
    print_message("%s, %s: %llu marked, %llu CNPs handled, %s\n", congestion, fault, (unsigned long long)seen.marked,
                  (unsigned long long)seen.cnps, seen.slower ? "slower" : "not slower");
    return seen;
}

/* DCQCN, InfiniBand's: a rate that does not come back while nobody looks.  Swift: a target above what software takes,
 * and windows that are not paced, else it waits long after a delay. */
static const char *extra(const struct cc_config *config)
{
    if (config->kind == CC_DCQCN) return ",rpg_time_reset=1000s,rpg_byte_reset=0";
    if (config->kind == CC_IBCC) return ",ibcc_timer=1s";
    return config->kind == CC_SWIFT ? ",swift_base_target=2ms,swift_min_window=100%" : "";
}

static void test_every_one(void **state)
{
    const char *name;

    (void)state;
    for (size_t i = 0; (name = cc_preset_name(i)) != NULL; i++) {
        struct cc_config config;
        assert_int_equal(cc_preset(name, &config), 0);
        const struct cc_needs *needs = cc_needs(&config);
        if (needs->telemetry) continue;
        char text[128];
        snprintf(text, sizeof text, "%s%s", name, extra(&config));
        struct seen seen = transfer(text, needs->rtt);
        assert_int_equal(seen.slower, needs->cnp || needs->echo || needs->rtt);
        assert_int_equal(seen.marked > 0, needs->cnp || needs->echo);
        assert_int_equal(seen.cnps > 0, needs->cnp);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_one)};
    return cmocka_run_group_tests(tests, alone_setup, alone_teardown);
}
