/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One fabric, two drivers: the engine, and the plain loop over real bytes (loop.h), must give the same run: the same
 * digest, the same jobs' times, the same counters of every switch port and adapter.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../sim/support.h"
#include "fabric/fabric.h"
#include "load/load.h"
#include "loop.h"

#define PAIR                                                                                                           \
    "rocelab: 1\n"                                                                                                     \
    "topology: {single: {hosts: 2}}\n"
#define CLOS                                                                                                           \
    "rocelab: 1\n"                                                                                                     \
    "topology: {leaf-spine: {leaves: 2, spines: 2, hosts: 2}}\n"
#define LINKS "links: {host: {rate: 100G, cable: 3m}, fabric: {rate: 100G, cable: 30m}}\n"
#define ODD_LINKS "links: {host: {rate: 25.78125G, cable: 7m}, fabric: {rate: 96G, cable: 31m}}\n"
#define CLASSES                                                                                                        \
    "classes:\n"                                                                                                       \
    "  - {name: rdma, dscp: 26, priority: 3, lossless: true, ecn: {min: 20KB, max: 80KB, probability: 20%},"           \
    " share: 90%}\n"                                                                                                   \
    "  - {name: cnp, dscp: 48, priority: 6, strict: true}\n"                                                           \
    "  - {name: default, priority: 0, share: 10%}\n"
#define LOSS "faults: [{corrupt: h1, share: 1%, at: 0us}, {drop: h0, every: 60, at: 10us}]\n"
#define GO_BACK "nics: {mtu: 1024, congestion: dcqcn/connectx, timeout: 8}\n"
#define SELECTIVE "nics: {mtu: 1024, congestion: dcqcn/connectx, timeout: 8, recovery: selective}\n"
#define SPRAYED "nics: {mtu: 1024, congestion: dcqcn/connectx, timeout: 10, reorder: true}\n"
#define INCAST                                                                                                         \
    "jobs: [{flows: [{src: h1, dst: h0, size: 300KB}, {src: h2, dst: h0, size: 300KB}, {src: h3, dst: h0, size: "      \
    "300KB}]}]\n"

struct both {
    struct run engine;
    struct fabric *fabric;
    struct sim *sim;
    struct loop *loop;
    struct loop_totals totals;
};

static void compare_counters(const struct both *both)
{
    const struct fabric *fabric = both->fabric;
    ps_t end = both->engine.result.virtual_ps;

    for (uint32_t i = 0; i < fabric->switches; i++) {
        struct sw *one = both->engine.sim->sw[i].sw, *other = both->sim->sw[i].sw;
        sw_settle(one, end);
        sw_settle(other, end);
        sw_audit(other);
        for (uint16_t p = 0; p < fabric->node[fabric->hosts + i].ports; p++)
            if (memcmp(sw_port_counters(one, p), sw_port_counters(other, p), sizeof(struct sw_port_counters)) != 0)
                fail_msg("switch %u port %u counts otherwise", i, p);
    }
    for (uint32_t e = 0; e < fabric->endpoints; e++) {
        nic_settle(both->sim->adapter[e].nic, end);
        if (memcmp(nic_counters(both->engine.sim->adapter[e].nic), nic_counters(both->sim->adapter[e].nic),
                   sizeof(struct nic_counters)) != 0)
            fail_msg("adapter %u counts otherwise", e);
    }
    for (uint32_t i = 0; i < workload_instances(both->sim->workload); i++)
        assert_int_equal(workload_instance(both->sim->workload, i)->end,
                         workload_instance(both->engine.sim->workload, i)->end);
}

static struct both run_both(const char *text, uint64_t seed)
{
    struct both both = {.engine = run_text(text, options_of(seed, 1))};
    struct sim_options options = options_of(seed, 1);
    struct fabric_errors errors = {0};
    const char *why;

    assert_int_equal(fabric_load("test.yaml", text, &both.fabric, &errors), 0);
    assert_int_equal(sim_create(both.fabric, &options, &both.sim, &errors), 0);
    both.loop = loop_create(both.sim, &why);
    if (both.loop == NULL) fail_msg("%s", why);
    assert_true(loop_run(both.loop));
    both.totals = loop_totals(both.loop);
    if (both.totals.digest != both.engine.result.digest || both.totals.hops != both.engine.result.packet_hops)
        fail_msg("engine %016" PRIx64 " in %" PRIu64 " hops, loop %016" PRIx64 " in %" PRIu64,
                 both.engine.result.digest, both.engine.result.packet_hops, both.totals.digest, both.totals.hops);
    assert_int_equal(both.totals.wrong, 0);
    compare_counters(&both);
    return both;
}

static void both_free(struct both *both)
{
    loop_free(both->loop);
    sim_free(both->sim);
    fabric_free(both->fabric);
    run_free(&both->engine);
}

static void test_pair(void **state)
{
    (void)state;
    struct both both = run_both(PAIR LINKS GO_BACK CLASSES "jobs: [{permutation: 1, size: 500KB}]\n", 1);

    assert_true(both.totals.frames > 1000 && both.totals.bytes > 2000000);
    both_free(&both);
}

static void test_pair_loss(void **state)
{
    (void)state;
    struct both both = run_both(PAIR ODD_LINKS GO_BACK CLASSES LOSS "jobs: [{permutation: 1, size: 500KB}]\n", 2);
    struct sums sums = run_sums(&both.engine);

    assert_true(sums.lost > 5 && sums.naks > 0 && sums.retransmitted > 10);
    both_free(&both);
}

static void test_clos_ecn(void **state)
{
    (void)state;
    struct both both = run_both(CLOS LINKS GO_BACK CLASSES INCAST, 3);
    struct sums sums = run_sums(&both.engine);

    assert_true(sums.marks > 20 && sums.cnps > 0);
    both_free(&both);
}

static void test_clos_pfc(void **state)
{
    (void)state;
    struct both both = run_both(CLOS ODD_LINKS "switches: {buffer: 600KB}\n"
                                               "nics: {mtu: 4096, congestion: none}\n" CLASSES INCAST,
                                4);
    struct sums sums = run_sums(&both.engine);

    assert_true(sums.pauses > 10 && both.totals.controls > 10);
    both_free(&both);
}

/* True 802.3x frames on the line. */
static void test_clos_pause(void **state)
{
    (void)state;
    struct both both = run_both(CLOS LINKS "switches: {buffer: 600KB, pause: 802.3x}\n"
                                           "nics: {mtu: 1024, congestion: none}\n" CLASSES INCAST,
                                6);

    assert_true(both.totals.controls > 10);
    both_free(&both);
}

static void test_clos_loss(void **state)
{
    (void)state;
    struct both both = run_both(CLOS LINKS GO_BACK CLASSES LOSS "jobs: [{all-to-all: at-once, size: 200KB}]\n", 5);
    struct sums sums = run_sums(&both.engine);

    assert_true(sums.lost > 5 && sums.retransmitted > 10);
    both_free(&both);
}

/* Marks and the packets that NAKs name are in headers: what waits is asked for and replayed alike. */
static void test_selective(void **state)
{
    static const char *const text[] = {
        PAIR ODD_LINKS SELECTIVE CLASSES LOSS "jobs: [{permutation: 1, size: 500KB}]\n",
        CLOS LINKS SELECTIVE CLASSES LOSS "jobs: [{all-to-all: at-once, size: 200KB}]\n",
        CLOS LINKS "roles: {leaf: {balance: spray}}\n" SPRAYED CLASSES LOSS INCAST,
    };

    (void)state;
    for (uint64_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
        struct both both = run_both(text[i], 7 + i);
        const struct fabric *fabric = both.fabric;
        uint64_t kept = 0;
        for (uint32_t e = 0; e < fabric->endpoints; e++)
            kept += nic_counters(both.sim->adapter[e].nic)->reordered_packets;
        assert_true(kept > 10);
        both_free(&both);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pair),      cmocka_unit_test(test_pair_loss),  cmocka_unit_test(test_clos_ecn),
        cmocka_unit_test(test_clos_pfc),  cmocka_unit_test(test_clos_pause), cmocka_unit_test(test_clos_loss),
        cmocka_unit_test(test_selective),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
