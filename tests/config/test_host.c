/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts both ways: the round trip of scripts, what tools print, defects, hostile files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "config/random_fabric.h"
#include "config/testing.h"
#include "config/unsupported.h"
#include "fabric/switches.h"
#include "load/load.h"

static const struct random_limits limits = {.host = true, .lossless_most = 2};

static void test_round_trip(void **state)
{
    uint64_t count = trips();

    (void)state;
    for (uint64_t seed = 1; seed <= count; seed++)
        round_trip(&config_host, seed, &limits, seed % 2);
}

static const struct fabric_nic *nic_at(const struct imported *got, const char *host, unsigned port)
{
    uint32_t node = fabric_find_node(got->fabric, host);

    assert_int_not_equal(node, FABRIC_NONE);
    assert_true(port < got->fabric->node[node].ports);
    return &got->fabric->nic[got->fabric->endpoint[got->fabric->first_endpoint[node] + port].nic];
}

static void test_printed(void **state)
{
    static const char text[] = "$ mlnx_qos -i ens1\n"
                               "DCBX mode: OS controlled\n"
                               "Priority trust state: dscp\n"
                               "dscp2prio mapping:\n"
                               "\tprio:0 dscp:07,06,\n"
                               "\tprio:3 dscp:46,\n"
                               "default priority:\n"
                               "Cable len: 30\n"
                               "PFC configuration:\n"
                               "\tpriority    0   1   2   3   4   5   6   7\n"
                               "\tenabled     0   0   0   1   0   0   0   0\n"
                               "tc: 0 ratelimit: unlimited, tsa: ets, bw: 40%\n"
                               "\t priority:  0\n"
                               "tc: 5 ratelimit: unlimited, tsa: ets, bw: 60%\n"
                               "\t priority:  3\n"
                               "tc: 6 ratelimit: unlimited, tsa: strict\n"
                               "\t priority:  6\n"
                               "mlx5_0 port 1 ==> ens1 (Up)\n"
                               "$ mlxconfig -d mlx5_0 query\n"
                               "         CNP_DSCP_P1                         40\n"
                               "         DCBX_WILLING_P1                     True(1)\n"
                               "         RPG_AI_RATE_P1                      5\n"
                               "         NOBODY_KNOWS_P1                     5\n" /* 23 */
                               "NCCL_IB_TC=106\n";
    struct imported got;

    (void)state;
    import_text(&got, NULL, "gpu7.txt", text);
    const struct fabric_settings *port = settings_at(&got, "gpu7", 0);
    const struct fabric_nic *nic = nic_at(&got, "gpu7", 0);
    assert_int_equal(port->trust, SW_TRUST_DSCP);
    assert_int_equal(port->dscp_to_tc[46], 3);
    assert_int_equal(port->dscp_to_tc[26], 3);
    assert_int_equal(port->pfc_rx, 8);
    assert_int_equal(port->tc_to_queue[3], 5);
    assert_int_equal(port->queue[5].share_ppm, 600000);
    assert_true(port->queue[6].strict);
    assert_int_equal(nic->cable_mm, 30000);
    assert_int_equal(nic->cnp_dscp, 40);
    assert_int_equal(nic->dcbx_willing, 1);
    assert_int_equal(nic->nccls, 1);
    assert_string_equal(nic->nccl[0].value, "106");
    assert_int_equal(nic->params, 1);
    assert_int_equal(notes_of(&got, NULL, 23), 1);
    assert_string_equal(got.fabric->operations.port_name[got.fabric->node[0].first_port], "ens1");
    import_release(&got);
}

/* As adapters are delivered: willing, and nobody in the firmware who would ask the switch. */
static void test_willing(void **state)
{
    static const struct {
        const char *text;
        int willing;
    } cases[] = {
        {"LLDP_NB_DCBX_P1 False(0)\nDCBX_WILLING_P1 True(1)\n", 0},
        {"DCBX_WILLING_P1 True(1)\nLLDP_NB_DCBX_P1 False(0)\n", 0},
        {"LLDP_NB_DCBX_P1 True(1)\nDCBX_WILLING_P1 True(1)\n", 1},
        {"DCBX_WILLING_P1 True(1)\n", 1},
        {"LLDP_NB_DCBX_P1 True(1)\nDCBX_WILLING_P1 False(0)\n", 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct imported got;
        char text[200];
        snprintf(text, sizeof(text), "mlx5_0 port 1 ==> ens1 (Up)\n$ mlxconfig -d mlx5_0 query\n%s", cases[i].text);
        import_text(&got, NULL, "gpu7.txt", text);
        assert_int_equal(nic_at(&got, "gpu7", 0)->dcbx_willing, cases[i].willing);
        import_release(&got);
    }
}

static void test_commands(void **state)
{
    static const char text[] = "#!/bin/sh\n"
                               "sudo dcb app replace dev p0 dscp-prio 26:3 48:6\n"
                               "dcb pfc set dev p0 prio-pfc all:off 3:on delay 4096\n"
                               "dcb ets set dev p0 tc-tsa all:ets 6:strict tc-bw 0:50 3:50 prio-tc 0:0 3:3 6:6\n"
                               "ip link set dev p0 mtu 9000\n"
                               "echo 0 > /sys/class/net/p0/ecn/roce_rp/enable/3\n"
                               "echo 1 > /sys/class/net/p0/ecn/roce_np/enable/3\n"
                               "mlnx_qos -i p1 --pfc 0,0,0,1\n" /* 8: not eight */
                               "tc qdisc show dev p0\n"         /* 9 */
                               "mlnx_qos -i p1 --trust pcp\n";
    struct imported got;

    (void)state;
    import_text(&got, &config_host, "h3.sh", text);
    const struct fabric_settings *port = settings_at(&got, "h3", 0);
    const struct fabric_nic *nic = nic_at(&got, "h3", 0);
    assert_int_equal(port->dscp_to_tc[48], 6);
    assert_int_equal(port->pfc_tx, 8);
    assert_true(port->queue[6].strict);
    assert_int_equal(port->queue[3].share_ppm, 500000);
    assert_int_equal(nic->mtu_bytes, 4096);
    assert_int_equal(nic->dcqcn_rp, 0);
    assert_int_equal(nic->dcqcn_np, 1);
    assert_int_equal(settings_at(&got, "h3", 1)->trust, SW_TRUST_PCP);
    assert_int_equal(notes_of(&got, NULL, 8), 1);
    assert_int_equal(notes_of(&got, NULL, 9), 1);
    import_release(&got);
}

/* A map that was flushed is priority 0 everywhere, and its adapter trusts PCP until there is an entry again. */
static void test_flush(void **state)
{
    static const char text[] = "mlnx_qos -i p0 --trust dscp --pfc 0,0,0,1,0,0,0,0\n"
                               "mlnx_qos -i p0 --dscp2prio flush\n"
                               "mlnx_qos -i p0 --dscp2prio set,34,3 --dscp2prio set,48,6\n"
                               "mlnx_qos -i p1 --dscp2prio flush\n"
                               "mlnx_qos -i p2 --dscp2prio flush\n"
                               "mlnx_qos -i p2 --trust dscp --pfc 0,0,0,1,0,0,0,0\n"
                               "mlnx_qos -i p2 --dscp2prio del,25,3\n";
    struct imported got;

    (void)state;
    import_text(&got, &config_host, "h3.sh", text);
    const struct fabric_settings *port = settings_at(&got, "h3", 0);
    assert_int_equal(port->trust, SW_TRUST_DSCP);
    assert_int_equal(port->dscp_to_tc[26], 0);
    assert_int_equal(port->dscp_to_tc[34], 3);
    assert_int_equal(port->dscp_to_tc[48], 6);
    assert_int_equal(port->dscp_to_tc[56], 0);
    assert_int_equal(settings_at(&got, "h3", 1)->trust, SW_TRUST_PCP);
    port = settings_at(&got, "h3", 2);
    assert_int_equal(port->trust, SW_TRUST_DSCP);
    assert_int_equal(port->dscp_to_tc[26], 3);
    assert_int_equal(port->dscp_to_tc[25], 0);
    import_release(&got);
}

/* What no tool of a host sets is named. */
static void test_losses(void **state)
{
    static const char text[] = "rocelab: 1\ntopology: {single: {hosts: 3}}\nlinks: {host: {rate: 100G, cable: 3m}}\n"
                               "devices:\n"
                               "  h1: {congestion: hpcc/paper}\n"
                               "  h2: {cable-length: 2.5m, ports: {0: {pfc: {rx: [3], tx: false}}}}\n";
    struct fabric_errors errors = {0};
    struct config_unsupported_list losses[3];
    struct fabric *fabric = NULL;

    (void)state;
    if (fabric_load("x", text, &fabric, &errors) != 0) {
        fabric_errors_print(&errors, stderr);
        fail_msg("the fabric does not load");
    }
    for (uint32_t h = 0; h < 3; h++)
        config_unsupported_list(&config_host, fabric, h, &losses[h]);
    for (unsigned loss = 0; loss < CONFIG_UNSUPPORTED_COUNT; loss++)
        assert_int_equal(losses[0].ports[loss], 0);
    assert_int_equal(losses[1].ports[CONFIG_UNSUPPORTED_CONGESTION], 1);
    assert_int_equal(losses[2].ports[CONFIG_UNSUPPORTED_CONGESTION], 0);
    assert_int_equal(losses[2].ports[CONFIG_UNSUPPORTED_PFC_WAYS], 1);
    assert_int_equal(losses[2].ports[CONFIG_UNSUPPORTED_CABLE_ROUNDED], 1);
    fabric_free(fabric);
}

static void test_hostile(void **state)
{
    (void)state;
    refused(&config_host, "hello\n", 6, "nothing about an adapter");
    refused(&config_host, "", 0, "nothing about an adapter");
    refused(&config_host, "mlnx_qos\0-i", 11, "zero bytes");
}

#define QOS "mlnx_qos -i eth0 --trust dscp --pfc 0,0,0,1,0,0,0,0\n"
#define LOOP "for x in {0..255}; do\n"
#define CALLS "f; f; f; f; f; f; f; f; f; f\n"

static unsigned lost_rules(const struct imported *got)
{
    unsigned count = 0;

    for (uint32_t u = 0; u < got->set.unjudgeds; u++)
        count += strstr(got->set.unjudged[u].message, "not understood") != NULL;
    return count;
}

/* What is beyond the bounds of the shell ends soon, is told, and what rests on it is not judged. */
static void test_bounds_of_the_shell(void **state)
{
    static const struct {
        const char *text;
        bool lost;
    } cases[] = {
        {QOS "for x in {-9223372036854775808..9223372036854775807}; do\nx=1\ndone\n", false},
        {QOS LOOP LOOP LOOP LOOP LOOP "x=1\ndone\ndone\ndone\ndone\ndone\n", true},
        {QOS LOOP LOOP LOOP LOOP LOOP LOOP LOOP "true\ndone\ndone\ndone\ndone\ndone\ndone\ndone\n", true},
        {QOS "f() {\n" CALLS CALLS CALLS CALLS CALLS CALLS "}\nf\n", true},
        {QOS "for x in {0..7}; do\ntrue\ndone\n", false},
    };

    (void)state;
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        struct imported got;
        import_text(&got, &config_host, "h0.sh", cases[c].text);
        assert_int_equal(lost_rules(&got) > 0, cases[c].lost);
        unsigned told = 0;
        for (uint32_t n = 0; n < got.set.notes; n++)
            told += strstr(got.set.note[n].message, "not understood") != NULL;
        assert_int_equal(told > 0, cases[c].lost);
        import_release(&got);
    }
}

/* Lines that are longer than what is read of one. */
static void test_long_lines(void **state)
{
    char junk[5001], text[6000];

    (void)state;
    memset(junk, 'x', sizeof(junk) - 1);
    junk[sizeof(junk) - 1] = 0;
    for (size_t f = 0; f < 2; f++) {
        struct imported got;
        size_t used = (size_t)snprintf(text, sizeof(text), QOS);
        snprintf(text + used, sizeof(text) - used, "%s%s\n",
                 f ? "A=eth0\nmlnx_qos -i $A --pfc 0,0,0,0,0,0,0,0 " : "mlnx_qos -i eth0 --pfc 0,0,0,0,0,0,0,0 \\\n",
                 junk);
        import_text(&got, &config_host, "h0.sh", text);
        assert_true(notes_of(&got, NULL, f ? 3 : 2) > 0);
        assert_true(lost_rules(&got) > 0);
        import_release(&got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_printed),
        cmocka_unit_test(test_willing),    cmocka_unit_test(test_commands),
        cmocka_unit_test(test_flush),      cmocka_unit_test(test_losses),
        cmocka_unit_test(test_hostile),    cmocka_unit_test(test_bounds_of_the_shell),
        cmocka_unit_test(test_long_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
