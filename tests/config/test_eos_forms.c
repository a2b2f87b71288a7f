/* SPDX-License-Identifier: Apache-2.0 */
/*
 * EOS, what stands outside of profiles and how else they are written: defaults of interfaces, lines of `show
 * running-config all`, the hash, trust that nobody states, options that nobody knows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/testing.h"

#include "fabric/switches.h"

static const char base[] = "! device: leaf1 (DCS-7060DX5-64S, EOS-4.32.1F)\n"                        /* 1 */
                           "hostname leaf1\n"                                                        /* 2 */
                           "qos map dscp 26 to traffic-class 3\n"                                    /* 3 */
                           "qos profile ROCE\n"                                                      /* 4 */
                           "   qos trust dscp\n"                                                     /* 5 */
                           "   priority-flow-control on\n"                                           /* 6 */
                           "   priority-flow-control priority 3 no-drop\n"                           /* 7 */
                           "   !\n"                                                                  /* 8 */
                           "   uc-tx-queue 3\n"                                                      /* 9 */
                           "      no priority\n"                                                     /* 10 */
                           "      bandwidth percent 80\n"                                            /* 11 */
                           "      bandwidth guaranteed percent 1\n"                                  /* 12 */
                           "      random-detect ecn minimum-threshold 500 kbytes maximum-threshold " /* 13 */
                           "1500 kbytes max-mark-probability 20 weight 0\n"
                           "      random-detect ecn count\n"                                    /* 14 */
                           "interface Ethernet1/1\n"                                            /* 15 */
                           "   mtu 9214\n"                                                      /* 16 */
                           "   no switchport\n"                                                 /* 17 */
                           "   service-profile ROCE\n"                                          /* 18 */
                           "interface Ethernet2/1\n"                                            /* 19 */
                           "   service-profile ROCE\n"                                          /* 20 */
                           "priority-flow-control pause watchdog default timeout 0.20\n"        /* 21 */
                           "priority-flow-control pause watchdog default recovery-time 0.40\n"; /* 22 */

static void import_edited(struct imported *got, const char *from, const char *to)
{
    char *text = edited(base, from, to);

    import_text(got, &config_eos, "leaf1.cfg", text);
    free(text);
}

static bool up_at(const struct imported *got, unsigned port)
{
    return got->fabric->port[got->fabric->node[fabric_find_node(got->fabric, "leaf1")].first_port + port].up;
}

static void test_defaults(void **state)
{
    struct imported got;

    (void)state;
    import_edited(
        &got, "qos map",
        "interface defaults\n   mtu 9000\n   ethernet\n      shutdown\nswitchport default mode routed\nqos map");
    assert_int_equal(settings_at(&got, "leaf1", 0)->mtu_bytes, 9216); /* it says so itself */
    assert_int_equal(settings_at(&got, "leaf1", 1)->mtu_bytes, 9000);
    assert_false(up_at(&got, 0) || up_at(&got, 1));
    assert_int_equal(notes_of(&got, NULL, 0), 1); /* the rate */
    import_release(&got);
    import_edited(&got, "qos map", "interface defaults\n   ethernet\n      no shutdown\nqos map");
    assert_true(up_at(&got, 0) && up_at(&got, 1));
    import_release(&got);
}

/* A switched port trusts CoS unless it is told to trust the DSCPs that the map is of. */
static void test_trust_missing(void **state)
{
    struct imported got;

    (void)state;
    import_text(&got, &config_eos, "leaf1.cfg", base);
    assert_int_equal(notes_of(&got, "MAP003", 0), 0);
    import_release(&got);
    import_edited(&got, "   qos trust dscp\n", "");
    assert_int_equal(notes_of(&got, "MAP003", 4), 1); /* at the profile; the routed port has it anyway */
    import_release(&got);
    import_edited(&got, "   qos trust dscp\n", "   qos trust cos\n"); /* somebody wants it so */
    assert_int_equal(notes_of(&got, "MAP003", 4), 0);
    import_release(&got);
    import_edited(&got, "qos map dscp 26", "qos map dscp 48"); /* a map alone is nothing */
    assert_int_equal(notes_of(&got, "MAP003", 0), 0);
    import_release(&got);
}

/* Lines that say what is so anyway must say nothing new. */
static void test_running_config_all(void **state)
{
    static const char per_port[] =
        "   no dcbx mode\n   no flowcontrol send\n   no flowcontrol receive\n   default error-correction encoding\n"
        "   no error-correction reed-solomon bypass\n   no shape rate\n   priority-flow-control pause watchdog\n"
        "   no priority-flow-control priority 0\n   no priority-flow-control priority 5\n"
        "   no priority-flow-control pause watchdog port action\n   no priority-flow-control pause watchdog port "
        "timer\n";
    static const char per_queue[] = "      no shape rate\n      no random-detect drop\n";
    char *ports = edited(base, "   service-profile ROCE\n", per_port), *text;
    struct imported good, got;
    char both[1024];

    (void)state;
    free(ports);
    snprintf(both, sizeof(both), "   service-profile ROCE\n%s", per_port);
    ports = edited(base, "   service-profile ROCE\n", both);
    text =
        edited(ports, "      no priority\n", "      no priority\n      no shape rate\n      no random-detect drop\n");
    assert_non_null(strstr(text, per_queue));
    import_text(&good, &config_eos, "leaf1.cfg", base);
    import_text(&got, &config_eos, "leaf1.cfg", text);
    assert_string_equal(good.yaml, got.yaml);
    assert_int_equal(notes_of(&good, NULL, 0), notes_of(&got, NULL, 0));
    import_release(&got);
    import_release(&good);
    free(ports);
    free(text);
    /* without a time the watchdog is off, though every port has the line */
    char *no_time = edited(base, "priority-flow-control pause watchdog default timeout 0.20\n", "");
    char *all = edited(no_time, "hostname leaf1\n", "! Command: show running-config all\nhostname leaf1\n");
    text = edited(all, "   service-profile ROCE\n", both);
    import_text(&got, &config_eos, "leaf1.cfg", text);
    assert_false(got.fabric->sw[0].watchdog.on);
    import_release(&got);
    free(no_time);
    free(all);
    free(text);
}

static void test_taken_back(void **state)
{
    struct imported got;

    (void)state;
    import_edited(&got, "   service-profile ROCE\n",
                  "   service-profile ROCE\n   no priority-flow-control priority 3 no-drop\n");
    assert_int_equal(settings_at(&got, "leaf1", 0)->pfc_rx, 0);
    assert_int_equal(settings_at(&got, "leaf1", 1)->pfc_rx, 8);
    assert_int_equal(config_where(&got.set, "leaf1", 0, "pfc").line, 19);
    import_release(&got);
}

static void test_hash(void **state)
{
    static const struct {
        const char *line;
        unsigned fields;
    } cases[] = {
        {"ip load-sharing trident fields ip source-ip source-port destination-ip destination-port ingress-interface\n",
         SW_HASH_SRC | SW_HASH_DST | SW_HASH_SPORT},
        {"ip load-sharing trident fields ip source-ip destination-ip\n", SW_HASH_SRC | SW_HASH_DST},
    };
    struct imported got;
    char to[200];

    (void)state;
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        snprintf(to, sizeof(to), "%sqos map", cases[c].line);
        import_edited(&got, "qos map", to);
        assert_int_equal(got.fabric->sw[0].hash_fields, cases[c].fields);
        assert_int_equal(config_where(&got.set, "leaf1", CONFIG_NONE, "ecmp.hash").line, 3);
        import_release(&got);
    }
    import_edited(&got, "qos map", "ip hardware fib load-balance distribution dynamic\nqos map");
    bool open = false; /* the hash may not be what decides */
    for (uint32_t u = 0; u < got.set.unjudgeds; u++)
        open |= strcmp(got.set.unjudged[u].rule, "TOP004") == 0;
    assert_true(open);
    import_release(&got);
    import_edited(&got, "qos map", "ip load-sharing trident fields ip ingress-interface\nqos map");
    assert_int_equal(notes_of(&got, NULL, 3), 1);
    import_release(&got);
}

static void test_unknown_options(void **state)
{
    static const struct wrong_line cases[] = {
        {"   qos trust dscp\n", "   qos trust dscp odd\n", NULL, 5},
        {"   priority-flow-control on\n", "   priority-flow-control on odd\n", NULL, 6},
        {"   priority-flow-control priority 3 no-drop\n", "   priority-flow-control priority 3 no-drop odd\n", NULL, 7},
        {"      bandwidth percent 80\n", "      bandwidth percent 80 odd\n", NULL, 11},
        {"weight 0\n", "weight 0 odd\n", NULL, 13},
        {"   mtu 9214\n", "   mtu 9214 odd\n", NULL, 16},
        {"default timeout 0.20\n", "default timeout 0.20 odd\n", NULL, 21},
    };
    struct imported good, got;

    (void)state;
    odd_lines(&config_eos, "leaf1.cfg", base, cases, sizeof(cases) / sizeof(cases[0]));
    import_text(&good, &config_eos, "leaf1.cfg", base);
    import_edited(&got, "recovery-time 0.40\n",
                  "recovery-time 0.40 forced\ndcbx mode ieee\nhardware counter feature ecn out\n");
    assert_string_equal(good.yaml, got.yaml);
    assert_int_equal(notes_of(&good, NULL, 0), notes_of(&got, NULL, 0));
    import_release(&got);
    import_release(&good);
}

/* The line of the cause: of the profile where its ports are alike, of the queue where marking is missing. */
static void test_places(void **state)
{
    static const struct {
        const char *from, *to, *path;
        uint32_t line;
    } cases[] = {
        {"   priority-flow-control on\n", "", "pfc", 4},
        {"priority 3 no-drop", "priority 4 no-drop", "classes.3.lossless", 7},
        {"   qos trust dscp\n", "", "trust", 4},
        {"      random-detect ecn minimum", "      !random-detect ecn minimum", "classes.3.ecn", 9},
        {"   uc-tx-queue 3\n", "   uc-tx-queue 5\n", "classes.3.ecn", 4},
        {"qos profile", "qos map traffic-class 3 to tx-queue 4\nqos profile", "queue-map.4", 4},
    };
    struct imported got;

    (void)state;
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        import_edited(&got, cases[c].from, cases[c].to);
        uint32_t line = config_where(&got.set, "leaf1", 0, cases[c].path).line;
        if (line != cases[c].line) fail_msg("%s: line %u, not %u", cases[c].path, line, cases[c].line);
        import_release(&got);
    }
    import_edited(&got, "   priority-flow-control on\n", "");
    assert_int_equal(notes_of(&got, "PFC002", 6), 1);
    import_release(&got);
    import_edited(&got, "service-profile ROCE", "service-profile ROCEE");
    assert_int_equal(notes_of(&got, "MAP007", 18), 1);
    assert_true(got.set.unjudgeds > 0); /* what it would have set is not known */
    import_release(&got);
}

/* What is wrong with a port alone is told of the port, though its profile says it. */
static void test_own_place(void **state)
{
    struct imported got;

    (void)state;
    import_edited(&got, "   service-profile ROCE\ninterface Ethernet2/1\n   service-profile ROCE\n",
                  "   service-profile ROCE\n   channel-group 5 mode active\ninterface Ethernet2/1\n   no switchport\n"
                  "   mtu 9214\n   channel-group 5 mode active\n   service-profile BARE\nqos profile BARE\n"
                  "   qos trust dscp\n");
    assert_int_equal(config_where(&got.set, "leaf1", 1, "pfc").line, 25);     /* the profile */
    assert_int_equal(config_where_own(&got.set, "leaf1", 1, "pfc").line, 24); /* the line that applies it */
    assert_true(notes_of(&got, "LAG001", 24) > 0);
    assert_int_equal(config_where_own(&got.set, "leaf1", 1, "mtu").line, 22); /* its own line */
    import_release(&got);
}

/* Of a part of a configuration nothing is found that it does not speak of. */
static void test_part(void **state)
{
    static const char port[] = "interface Ethernet1/1\n   service-profile ROCE\n";
    static const char profile[] =
        "qos profile ROCE\n   priority-flow-control on\n   priority-flow-control priority 3 no-drop\n";
    struct imported got;
    char named[200];

    (void)state;
    import_text(&got, &config_eos, "x", port);
    assert_int_equal(notes_of(&got, "MAP007", 0), 0);
    assert_true(got.set.unjudgeds > 0);
    import_release(&got);
    import_text(&got, &config_eos, "x", profile);
    assert_int_equal(notes_of(&got, "MAP007", 0), 0);
    import_release(&got);
    snprintf(named, sizeof(named), "hostname x\n%s", port);
    import_text(&got, &config_eos, "x", named);
    assert_int_equal(notes_of(&got, "MAP007", 3), 1);
    import_release(&got);
    snprintf(named, sizeof(named), "hostname x\n%s", profile);
    import_text(&got, &config_eos, "x", named);
    assert_int_equal(notes_of(&got, "MAP007", 2), 1);
    import_release(&got);
}

static void test_routes(void **state)
{
    static const struct {
        const char *text;
        uint32_t paths, routers;
    } cases[] = {
        {"router bgp 1\n   maximum-paths 4 ecmp 4\n   neighbor 10.0.0.1 remote-as 2\n   neighbor 10.0.0.3 remote-as "
         "2\n",
         4, 2},
        {"router bgp 1\n   neighbor U peer group\n   neighbor 10.0.0.1 peer group U\n   neighbor 10.0.0.1 remote-as 2\n"
         "   neighbor 10.0.0.3 peer group U\n   neighbor E peer group\n   neighbor 10.1.0.1 peer group E\n"
         "   address-family evpn\n      neighbor E activate\n   address-family ipv4\n      no neighbor E activate\n",
         1, 2},
        {"router bgp 1\n   neighbor interface Et1-4 peer-group U remote-as 2\n", 1, 2},
    };
    struct imported got;
    char text[1024];

    (void)state;
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        snprintf(text, sizeof(text), "! device: x (DCS-7060DX5-64S, EOS-4.32.1F)\nhostname x\n%s", cases[c].text);
        import_text(&got, &config_eos, "x", text);
        assert_int_equal(got.set.device[0].paths, cases[c].paths);
        assert_int_equal(got.set.device[0].routers, cases[c].routers);
        import_release(&got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_trust_missing),
        cmocka_unit_test(test_running_config_all),
        cmocka_unit_test(test_taken_back),
        cmocka_unit_test(test_hash),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_part),
        cmocka_unit_test(test_own_place),
        cmocka_unit_test(test_routes),
        cmocka_unit_test(test_unknown_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
