/* SPDX-License-Identifier: Apache-2.0 */
/*
 * EOS: random fabrics through a configuration and back, profiles and interfaces, what is wrong in them by line.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/random_fabric.h"
#include "config/testing.h"
#include "fabric/places.h"
#include "fabric/switches.h"

/* Strict queues lie above the others on EOS, so maps of queues and strict classes are drawn apart. */
static const struct random_limits limits[] = {
    {
        .pcp = true,
        .port_ecn = true,
        .port_mtu = true,
        .port_pfc = true,
        .watchdog = true,
        .watchdog_times = true,
        .watchdog_action = true,
        .rate = true,
        .lossy_ecn = true,
        .fec = true,
        .up = true,
        .pause_all = true,
        .watched = true,
        .shutdown = true,
        .model = true,
        .port_name = "Ethernet%u/1",
        .strict_top = true,
        .mtu_most = 9213,
        .ecn_step_bytes = 1,
        .lossless_most = 1,
        .time_step_ms = 10,
    },
    {
        .hash = true,
        .pcp = true,
        .port_ecn = true,
        .port_mtu = true,
        .port_pfc = true,
        .queue_map = true,
        .rate = true,
        .lossy_ecn = true,
        .strict_none = true,
        .mtu_most = 9213,
        .ecn_step_bytes = 1000,
        .lossless_most = 1,
    },
};

static void test_round_trip(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
        round_trips(&config_eos, &limits[i]);
}

static const char good[] =
    "! device: leaf1 (DCS-7060DX5-64S, EOS-4.32.1F)\n" /* 1 */
    "hostname leaf1\n"                                 /* 2 */
    "qos map dscp 24 25 26 to traffic-class 3\n"       /* 3 */
    "qos map traffic-class 2 to tx-queue 1\n"          /* 4 */
    "qos profile ROCE\n"                               /* 5 */
    "   qos trust dscp\n"                              /* 6 */
    "   priority-flow-control on\n"                    /* 7 */
    "   priority-flow-control priority 3 no-drop\n"    /* 8 */
    "   !\n"                                           /* 9 */
    "   uc-tx-queue 3\n"                               /* 10 */
    "      no priority\n"                              /* 11 */
    "      bandwidth percent 80\n"                     /* 12 */
    "      bandwidth guaranteed 1000\n"                /* 13 */
    "      random-detect ecn minimum-threshold 1000 segments maximum-threshold 4000 segments max-mark-probability "
    "20 weight 0\n"                                                         /* 14 */
    "      random-detect ecn count\n"                                       /* 15 */
    "interface Ethernet1/1-2\n"                                             /* 16 */
    "   mtu 9214\n"                                                         /* 17 */
    "   speed 400g-8\n"                                                     /* 18 */
    "   no switchport\n"                                                    /* 19 */
    "   service-profile ROCE\n"                                             /* 20 */
    "interface Ethernet1/3\n"                                               /* 21 */
    "   no switchport\n"                                                    /* 22 */
    "   mtu 9000\n"                                                         /* 23 */
    "   shutdown\n"                                                         /* 24 */
    "interface Ethernet1/4\n"                                               /* 25 */
    "priority-flow-control pause watchdog default timeout 0.20\n"           /* 26 */
    "priority-flow-control pause watchdog default recovery-time 0.40\n"     /* 27 */
    "priority-flow-control pause watchdog default polling-interval 0.100\n" /* 28 */
    "priority-flow-control pause watchdog action drop\n";                   /* 29 */

static void test_profile(void **state)
{
    struct imported got;

    (void)state;
    import_text(&got, &config_eos, "x.cfg", good);
    const struct fabric_settings *port = settings_at(&got, "leaf1", 1), *down = settings_at(&got, "leaf1", 2);
    assert_string_equal(got.fabric->sw[0].model, "tomahawk4");
    assert_int_equal(port->dscp_to_tc[26], 3);
    assert_int_equal(port->dscp_to_tc[0], 1); /* EOS's own map where nothing is said */
    assert_int_equal(port->dscp_to_tc[8], 0);
    assert_int_equal(port->dscp_to_tc[48], 6);
    assert_int_equal(port->tc_to_queue[2], 1);
    assert_int_equal(port->pfc_rx, 8);
    assert_int_equal(port->lossless, 8);
    assert_int_equal(port->mtu_bytes, 9216);
    assert_int_equal(port->queue[3].ecn.min_bytes, 254000);
    assert_int_equal(port->queue[3].ecn.max_bytes, 1016000);
    assert_int_equal(port->queue[3].ecn.probability_ppm, 200000);
    assert_int_equal(port->queue[3].share_ppm, 800000);
    assert_true(port->queue[6].strict); /* above the highest that shares */
    assert_false(port->queue[1].strict);
    assert_int_equal(down->mtu_bytes, 9000);
    assert_int_equal(down->trust, SW_TRUST_DSCP);
    assert_int_equal(settings_at(&got, "leaf1", 3)->trust, SW_TRUST_PCP); /* switched */
    assert_int_equal(settings_at(&got, "leaf1", 3)->mtu_bytes, 9216);
    assert_true(got.fabric->sw[0].watchdog.on && got.fabric->sw[0].watchdog.drop);
    assert_int_equal(got.fabric->sw[0].watchdog.detect_ps, 200 * PS_MS);
    assert_int_equal(got.fabric->sw[0].watchdog.restore_ps, 400 * PS_MS);
    assert_int_equal(got.fabric->sw[0].watchdog.poll_ps, 100 * PS_MS);
    for (uint32_t n = 0; n < got.set.notes; n++)
        if (got.set.note[n].rule) fail_msg("%s: %s", got.set.note[n].rule, got.set.note[n].message);
    import_release(&got);
}

static void test_wrong_lines(void **state)
{
    static const struct wrong_line cases[] = {
        {"   service-profile ROCE\n", "   service-profile ROCEE\n", "MAP007", 20},
        {"   service-profile ROCE\n", "   no shutdown\n", "MAP007", 5},
        {"   service-profile ROCE\n", "   service-profile ROCE\n   service-policy type qos input P\n", "MAP007", 21},
        {"   priority-flow-control on\n", "   priority-flow-control mode on\n", "SYN001", 7},
        {"      bandwidth guaranteed 1000\n", "\n", "WD006", 10},
        {"      random-detect ecn count\n", "\n", "ECN009", 14},
        {"weight 0\n", "weight 9\n", "ECN008", 14},
        {"(DCS-7060DX5-64S, EOS-4.32.1F)", "", "ECN007", 14},
        {"maximum-threshold 4000 segments", "maximum-threshold 4 milliseconds", "ECN007", 14},
        {"maximum-threshold 4000 segments", "maximum-threshold 400 segments", "ECN002", 14},
        {"minimum-threshold 1000 segments maximum-threshold 4000 segments",
         "minimum-threshold 512 maximum-threshold 1536 units kbytes", "SYN001", 14},
        {"timeout 0.20", "timeout 61", "WD002", 26},
        {"qos profile ROCE\n", "qos rewrite dscp\nqos profile ROCE\n", "MAP004", 5},
        {"   mtu 9214\n", "   flowcontrol send on\n", "PFC005", 17},
        {"priority-flow-control pause watchdog action", "priority-flow-control watchdog action", "SYN001", 29},
        {"      random-detect ecn count\n",
         "      random-detect drop minimum-threshold 1 kbytes maximum-threshold 2 "
         "kbytes drop-probability 1\n",
         "ECN006", 15},
    };

    (void)state;
    wrong_lines(&config_eos, "x.cfg", good, cases, sizeof(cases) / sizeof(cases[0]));
}

static bool noted(const struct imported *got, const char *rule)
{
    for (uint32_t n = 0; n < got->set.notes; n++)
        if (got->set.note[n].rule && strcmp(got->set.note[n].rule, rule) == 0) return true;
    return false;
}

/* What a queue of the profile lacks, the port's own queue may have: both count. */
static void test_queue_of_a_port(void **state)
{
    static const struct {
        const char *lacks, *own, *other; /* in the profile; on the one port of it; on the other */
        const char *rule;
        bool found;
    } cases[] = {
        {"      random-detect ecn count\n", "      random-detect ecn count\n", "      random-detect ecn count\n",
         "ECN009", false},
        {"      random-detect ecn count\n", "      random-detect ecn count\n", "      no priority\n", "ECN009", true},
        {"      bandwidth guaranteed 1000\n", "      bandwidth guaranteed 1000\n", "      bandwidth guaranteed 1000\n",
         "WD006", false},
        {"      bandwidth guaranteed 1000\n", "      bandwidth guaranteed 1000\n", "      no priority\n", "WD006",
         true},
        {"      no priority\n", "      no priority\n", "      no random-detect ecn count\n", "ECN009", true},
    };

    (void)state;
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        char *profile = edited(good, cases[c].lacks, ""), more[512], *text;
        struct imported got;
        snprintf(more, sizeof(more),
                 "interface Ethernet1/1\n   !\n   uc-tx-queue 3\n%sinterface Ethernet1/2\n   !\n   uc-tx-queue 3\n%s"
                 "interface Ethernet1/4\n",
                 cases[c].own, cases[c].other);
        text = edited(profile, "interface Ethernet1/4\n", more);
        import_text(&got, &config_eos, "x.cfg", text);
        if (noted(&got, cases[c].rule) != cases[c].found) fail_msg("case %zu: %s", c, cases[c].rule);
        import_release(&got);
        free(text);
        free(profile);
    }
}

static void test_guessed(void **state)
{
    static const char *const texts[] = {
        "! Command: show running-config\n! device: leaf1 (DCS-7060X6-64PE, EOS-4.33.1F)\n!\nhostname leaf1\n",
        "! device: a (vEOS-lab, EOS-4.30.0F)\ninterface Ethernet1/1\n   mtu 9214\n",
        "vrf instance MGMT\ninterface Port-Channel5\n   mtu 9214\n",
    };

    (void)state;
    for (size_t t = 0; t < sizeof(texts) / sizeof(texts[0]); t++)
        if (config_format_guess(texts[t], strlen(texts[t])) != &config_eos) fail_msg("not guessed: %s", texts[t]);
}

/* The same without any indentation, and with it everywhere but in the queue, as people write it down. */
static void test_flat(void **state)
{
    char *flat = flattened(good), *queue = edited(good, "      no priority\n", "   no priority\n");
    char *rest = edited(queue, "      bandwidth percent 80\n", "   bandwidth percent 80\n");
    struct imported one, two;

    (void)state;
    import_text(&one, &config_eos, "x.cfg", good);
    import_text(&two, &config_eos, "x.cfg", flat);
    assert_string_equal(one.yaml, two.yaml);
    import_release(&two);
    import_text(&two, &config_eos, "x.cfg", rest);
    assert_string_equal(one.yaml, two.yaml);
    import_release(&two);
    import_release(&one);
    free(flat);
    free(queue);
    free(rest);
}

static void test_watchdog(void **state)
{
    char *none = edited(good, "priority-flow-control pause watchdog default timeout 0.20\n", "");
    char *off = edited(good, "   service-profile ROCE\n",
                       "   service-profile ROCE\n   no priority-flow-control pause watchdog\n");
    char *action = edited(good, "priority-flow-control pause watchdog action drop\n", "");
    struct imported got;

    (void)state;
    import_text(&got, &config_eos, "x.cfg", none);
    assert_false(got.fabric->sw[0].watchdog.on);
    import_release(&got);
    import_text(&got, &config_eos, "x.cfg", off);
    assert_true(got.fabric->sw[0].watchdog.on);
    assert_int_equal(settings_at(&got, "leaf1", 0)->watched, 0);
    import_release(&got);
    import_text(&got, &config_eos, "x.cfg", action);
    assert_true(got.fabric->sw[0].watchdog.shutdown); /* errdisable, where nothing is said */
    import_release(&got);
    free(none);
    free(off);
    free(action);
}

/* A finding is told where it was said: through the map, the line of the configuration. */
static void test_origins(void **state)
{
    struct imported got;
    struct fabric_places *places;
    const char *path;
    uint32_t line;

    (void)state;
    import_text(&got, &config_eos, "x.cfg", good);
    assert_int_equal(fabric_places_open(got.fabric, got.yaml, &places), 0);
    uint32_t node = fabric_find_node(got.fabric, "leaf1"), port = got.fabric->node[node].first_port;
    static const struct {
        const char *key;
        unsigned port;
        uint32_t line;
    } cases[] = {{"mtu", 0, 17}, {"mtu", 2, 23}, {"pfc", 0, 8}, {"dscp-map.26", 0, 3}, {"watchdog.detect", 0, 26}};
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        struct fabric_at at = fabric_where(places, node, port + cases[c].port, cases[c].key);
        assert_true(origin_find(&got.map, at.line, &path, &line));
        assert_string_equal(path, "x.cfg");
        if (line != cases[c].line) fail_msg("%s: line %u, not %u", cases[c].key, line, cases[c].line);
    }
    fabric_places_free(places);
    import_release(&got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),  cmocka_unit_test(test_profile),
        cmocka_unit_test(test_wrong_lines), cmocka_unit_test(test_watchdog),
        cmocka_unit_test(test_flat),        cmocka_unit_test(test_guessed),
        cmocka_unit_test(test_origins),     cmocka_unit_test(test_queue_of_a_port),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
