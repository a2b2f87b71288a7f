/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NX-OS, what stands outside of the chain of policies: times of the watchdog, ports that are down or broken out, the
 * hash, frames by network-qos, options that nobody knows.
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

static const char base[] = "version 10.4(3)\n"                             /* 1 */
                           "hostname tor1\n"                               /* 2 */
                           "priority-flow-control watch-dog-interval on\n" /* 3 */
                           "class-map type qos match-any R\n"              /* 4 */
                           "  match dscp 26\n"                             /* 5 */
                           "policy-map type qos IN\n"                      /* 6 */
                           "  class R\n"                                   /* 7 */
                           "    set qos-group 3\n"                         /* 8 */
                           "policy-map type network-qos NET\n"             /* 9 */
                           "  class type network-qos c-8q-nq3\n"           /* 10 */
                           "    pause pfc-cos 3\n"                         /* 11 */
                           "    mtu 9216\n"                                /* 12 */
                           "policy-map type queuing OUT\n"                 /* 13 */
                           "  class type queuing c-out-8q-q3\n"            /* 14 */
                           "    bandwidth remaining percent 60\n"          /* 15 */
                           "    random-detect minimum-threshold 150 kbytes maximum-threshold 3000 kbytes "
                           "drop-probability 7 weight 0 ecn\n"            /* 16 */
                           "policy-map type queuing BARE\n"               /* 17 */
                           "  class type queuing c-out-8q-q3\n"           /* 18 */
                           "    bandwidth remaining percent 60\n"         /* 19 */
                           "system qos\n"                                 /* 20 */
                           "  service-policy type network-qos NET\n"      /* 21 */
                           "  service-policy type queuing output OUT\n"   /* 22 */
                           "interface Ethernet1/1\n"                      /* 23 */
                           "  switchport mode trunk\n"                    /* 24 */
                           "  priority-flow-control mode on\n"            /* 25 */
                           "  mtu 9216\n"                                 /* 26 */
                           "  service-policy type qos input IN\n"         /* 27 */
                           "  no shutdown\n"                              /* 28 */
                           "interface Ethernet1/2\n"                      /* 29 */
                           "  priority-flow-control mode on\n"            /* 30 */
                           "  mtu 9216\n"                                 /* 31 */
                           "  service-policy type qos input IN\n"         /* 32 */
                           "  service-policy type queuing output BARE\n"; /* 33 */

/* The base with `from` replaced, imported; the caller releases. */
static void import_edited(struct imported *got, const char *from, const char *to)
{
    char *text = edited(base, from, to);

    import_text(got, &config_nxos, "tor1.cfg", text);
    free(text);
}

static const struct fabric_port *port_of(const struct imported *got, const char *name)
{
    uint32_t port = config_port_find(&got->set, 0, name), node = fabric_find_node(got->fabric, "tor1");

    assert_int_not_equal(port, CONFIG_NONE);
    return &got->fabric->port[got->fabric->node[node].first_port + port];
}

static void test_watchdog_times(void **state)
{
    struct imported got;

    (void)state;
    import_text(&got, &config_nxos, "tor1.cfg", base); /* what the system has unless told */
    assert_int_equal(got.fabric->sw[0].watchdog.poll_ps, 100 * PS_MS);
    assert_int_equal(got.fabric->sw[0].watchdog.detect_ps, 100 * PS_MS);
    assert_int_equal(got.fabric->sw[0].watchdog.restore_ps, 1000 * PS_MS);
    import_release(&got);
    import_edited(
        &got, "class-map",
        "priority-flow-control watch-dog interval 200\npriority-flow-control watch-dog shutdown-multiplier 3\n"
        "priority-flow-control auto-restore multiplier 5\n"
        "priority-flow-control fixed-restore multiplier 2\nclass-map");
    assert_int_equal(got.fabric->sw[0].watchdog.poll_ps, 200 * PS_MS);
    assert_int_equal(got.fabric->sw[0].watchdog.detect_ps, 600 * PS_MS);
    assert_int_equal(got.fabric->sw[0].watchdog.restore_ps, 1400 * PS_MS);
    assert_int_equal(notes_of(&got, NULL, 4) + notes_of(&got, NULL, 5) + notes_of(&got, NULL, 6), 0);
    assert_int_equal(config_where(&got.set, "tor1", CONFIG_NONE, "watchdog.detect").line, 5);
    import_release(&got);
    import_edited(&got, "class-map", "priority-flow-control auto-restore multiplier 0\nclass-map");
    assert_int_equal(notes_of(&got, "WD003", 4), 1);
    import_release(&got);
    import_edited(&got, "class-map", "priority-flow-control watch-dog interval 5000\nclass-map");
    assert_int_equal(notes_of(&got, "WD002", 4), 1);
    import_release(&got);
    import_edited(&got, "\n  mtu 9216\n", "\n  priority-flow-control watch-dog-interval on disable-action\n");
    assert_int_equal(notes_of(&got, "WD005", 26), 1);
    import_release(&got);
}

static void test_ports_down(void **state)
{
    struct imported got;

    (void)state;
    import_edited(&got, "class-map", "system default switchport shutdown\nclass-map");
    assert_true(port_of(&got, "Ethernet1/1")->up);
    assert_false(port_of(&got, "Ethernet1/2")->up);
    import_release(&got);
    import_edited(&got, "class-map",
                  "system default switchport shutdown\nno system default switchport shutdown\nclass-map");
    assert_true(port_of(&got, "Ethernet1/2")->up);
    import_release(&got);
    import_edited(&got, "interface Ethernet1/2\n",
                  "system default switchport shutdown\ninterface Ethernet1/2\n  no switchport\n");
    assert_true(port_of(&got, "Ethernet1/2")->up); /* of switched ports */
    import_release(&got);
}

static void test_breakouts(void **state)
{
    struct imported got;

    (void)state;
    import_edited(
        &got, "interface Ethernet1/2\n",
        "interface breakout module 1 port 2,5-6 map 100g-4x\ninterface Ethernet1/2/1\ninterface Ethernet1/2/4\n"
        "interface Ethernet1/6/5\ninterface Ethernet1/5\n  mtu 9216\ninterface Ethernet1/2/2\n  speed 50000\n"
        "interface Ethernet1/3\n  speed 400000\n");
    assert_int_equal(port_of(&got, "Ethernet1/2/1")->rate_bps, 100000000000);
    assert_int_equal(port_of(&got, "Ethernet1/2/4")->rate_bps, 100000000000);
    assert_int_equal(port_of(&got, "Ethernet1/2/2")->rate_bps, 50000000000);
    assert_int_equal(port_of(&got, "Ethernet1/3")->rate_bps, 400000000000);
    assert_int_equal(notes_of(&got, NULL, 29), 0);
    assert_int_equal(notes_of(&got, NULL, 32), 1); /* there are four lanes */
    assert_int_equal(notes_of(&got, NULL, 33), 1); /* the cage itself is no port */
    import_release(&got);
    import_edited(&got, "interface Ethernet1/2\n",
                  "interface breakout module 1 port 2-1 map 100g-4x\ninterface Ethernet1/2\n");
    assert_int_equal(notes_of(&got, NULL, 29), 1);
    import_release(&got);
}

static void test_hash(void **state)
{
    static const struct {
        const char *line;
        unsigned fields;
    } cases[] = {
        {"ip load-sharing address source-destination port source-destination universal-id 7 rotate 32\n",
         SW_HASH_SRC | SW_HASH_DST | SW_HASH_SPORT},
        {"ip load-sharing address source-destination\n", SW_HASH_SRC | SW_HASH_DST},
        {"ip load-sharing address source-destination gre-outer rotate 43 universal-id 1\n", SW_HASH_SRC | SW_HASH_DST},
        {"ip load-sharing address destination port destination\n", SW_HASH_DST},
    };
    struct imported got;
    char to[160];

    (void)state;
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        snprintf(to, sizeof(to), "%sclass-map", cases[c].line);
        import_edited(&got, "class-map", to);
        assert_int_equal(got.fabric->sw[0].hash_fields, cases[c].fields);
        assert_int_equal(config_where(&got.set, "tor1", CONFIG_NONE, "ecmp.hash").line, 4);
        import_release(&got);
    }
}

/* Small platforms have no MTU of bridged ports: network-qos says how large their frames are. */
static void test_network_mtu(void **state)
{
    char *small = edited(base, "version 10.4(3)", "version 6.0(2)U6(10)");
    char *no_mtu = edited(small, "  mtu 9216\n  service-policy type qos input IN\n  no shutdown\n", "");
    char *short_class = edited(no_mtu, "    mtu 9216\n", "    mtu 2240\n");
    struct imported got;

    (void)state;
    import_text(&got, &config_nxos, "tor1.cfg", no_mtu);
    assert_int_equal(settings_at(&got, "tor1", 0)->mtu_bytes, 9216);
    assert_int_equal(notes_of(&got, "MTU001", 0), 0);
    import_release(&got);
    import_text(&got, &config_nxos, "tor1.cfg", short_class);
    assert_int_equal(settings_at(&got, "tor1", 0)->mtu_bytes, 2240);
    assert_true(notes_of(&got, "MTU001", 12) > 0);
    import_release(&got);
    import_edited(&got, "    mtu 9216\n", "    mtu 2240\n"); /* of any platform, where the ports take more */
    assert_int_equal(notes_of(&got, "MTU001", 12), 1);
    import_release(&got);
    free(small);
    free(no_mtu);
    free(short_class);
}

/* What is understood of a line counts; the rest of it is listed. */
static void test_unknown_options(void **state)
{
    static const struct wrong_line cases[] = {
        {"  match dscp 26\n", "  match dscp 26 fast\n", "ECN007", 5},
        {"    set qos-group 3\n", "    set qos-group 3 odd\n", "ECN007", 8},
        {"    pause pfc-cos 3\n", "    pause pfc-cos 3 receive\n", "ECN007", 11},
        {"    bandwidth remaining percent 60\n", "    bandwidth remaining percent 60 odd\n", "ECN007", 15},
        {"weight 0 ecn\n", "weight 0 odd ecn\n", "ECN007", 16},
        {"  priority-flow-control mode on\n", "  priority-flow-control mode on odd\n", "ECN007", 25},
        {"\n  mtu 9216\n", "\n  mtu 9216 odd\n", "ECN007", 26},
        {"  service-policy type qos input IN\n", "  service-policy type qos input IN odd\n", "ECN007", 27},
        {"watch-dog-interval on\n", "watch-dog-interval on odd\n", "ECN007", 3},
    };
    struct imported got;

    (void)state;
    odd_lines(&config_nxos, "tor1.cfg", base, cases, sizeof(cases) / sizeof(cases[0]));
    import_edited(&got, "  service-policy type qos input IN\n", "  service-policy type qos input IN no-stats\n");
    assert_int_equal(notes_of(&got, NULL, 27), 0);
    import_release(&got);
}

/* A port with a policy of its own that does not mark: that is wrong in the policy's class, not where PFC is. */
static void test_own_queuing(void **state)
{
    struct imported got;

    (void)state;
    import_text(&got, &config_nxos, "tor1.cfg", base);
    assert_true(settings_at(&got, "tor1", 0)->queue[3].ecn.on);
    assert_false(settings_at(&got, "tor1", 1)->queue[3].ecn.on);
    assert_int_equal(config_where(&got.set, "tor1", 1, "classes.3.ecn").line, 18);
    import_release(&got);
    import_edited(&got, "policy-map type queuing BARE\n  class type queuing c-out-8q-q3\n",
                  "policy-map type queuing BARE\n  class type queuing c-out-8q-q4\n");
    assert_int_equal(config_where(&got.set, "tor1", 1, "classes.3.ecn").line, 17); /* it has no such class */
    import_release(&got);
}

/* The line of the cause; what follows from it is not told again. */
static void test_places(void **state)
{
    static const struct {
        const char *from, *to, *path;
        uint32_t port, line;
    } cases[] = {
        {"x", "x", "dscp-map.26", 0, 8},                               /* a DSCP that a class takes */
        {"x", "x", "dscp-map.27", 0, 5},                               /* one that is left out of it */
        {"x", "x", "dscp-map.48", 0, 6},                               /* one that no class is near */
        {"    pause pfc-cos 3\n", "", "pfc", 0, 10},                   /* the class that does not pause */
        {"    pause pfc-cos 3\n", "", "classes.3.lossless", 0, 10},    /* ... */
        {"  service-policy type network-qos NET\n", "", "pfc", 0, 20}, /* nothing is applied */
        {"  service-policy type queuing output OUT\n", "", "classes.3.ecn", 0, 20},
        {"weight 0 ecn", "weight 0", "classes.3.ecn", 0, 16},
    };
    struct imported got;

    (void)state;
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        import_edited(&got, cases[c].from, cases[c].to);
        uint32_t line = config_where(&got.set, "tor1", cases[c].port, cases[c].path).line;
        if (line != cases[c].line) fail_msg("%s: line %u, not %u", cases[c].path, line, cases[c].line);
        import_release(&got);
    }
    import_edited(&got, "    pause pfc-cos 3\n", "    pause pfc-cos 4\n");
    assert_int_equal(notes_of(&got, "PFC007", 11), 1);
    assert_true(got.set.unjudgeds > 0);
    import_release(&got);
    import_edited(&got, "c-8q-nq3", "c-8q-nq4"); /* a class that nothing leads to */
    assert_int_equal(notes_of(&got, "PFC007", 10), 1);
    import_release(&got);
    import_edited(&got, "  class R\n", "  class r\n");
    assert_int_equal(notes_of(&got, "MAP007", 0), 1); /* not told of R too */
    import_release(&got);
    char *routed = edited(base, "  switchport mode trunk\n", "  no switchport\n");
    char *both = edited(routed, "interface Ethernet1/2\n", "interface Ethernet1/2\n  no switchport\n");
    char *cos = edited(both, "  match dscp 26\n", "  match cos 3\n");
    import_text(&got, &config_nxos, "tor1.cfg", cos);
    assert_int_equal(notes_of(&got, "MAP003", 5), 1); /* on all ports: the match is wrong, not the ports */
    import_release(&got);
    free(routed);
    free(both);
    free(cos);
}

/* Of a part of a configuration nothing is found that it does not speak of. */
static void test_part(void **state)
{
    static const char port[] = "interface Ethernet1/1\n  priority-flow-control mode on\n"
                               "  service-policy type qos input IN\n  feature x\n";
    static const char policy[] = "class-map type qos match-any R\n  match dscp 26\npolicy-map type qos IN\n  class R\n"
                                 "    set qos-group 3\n";
    char *named;
    struct imported got;

    (void)state;
    import_text(&got, &config_nxos, "x", port);
    assert_int_equal(notes_of(&got, "MAP007", 0) + notes_of(&got, "PFC002", 0), 0);
    assert_true(got.set.unjudgeds > 0);
    import_release(&got);
    import_text(&got, &config_nxos, "x", policy);
    assert_int_equal(notes_of(&got, "MAP007", 0), 0);
    import_release(&got);
    assert_true(asprintf(&named, "hostname x\n%s", port) > 0);
    import_text(&got, &config_nxos, "x", named);
    assert_int_equal(notes_of(&got, "MAP007", 4), 1);
    assert_int_equal(notes_of(&got, "PFC002", 3), 1);
    import_release(&got);
    free(named);
}

/* Of a line that was not understood nothing follows, nor that it is not there. */
static void test_not_understood(void **state)
{
    struct imported got;
    bool watchdog = false;

    (void)state;
    import_edited(&got, "priority-flow-control watch-dog-interval on\n",
                  "priority-flow-control watch-dog hardware on\n");
    for (uint32_t u = 0; u < got.set.unjudgeds; u++)
        watchdog |= strcmp(got.set.unjudged[u].rule, "WD001") == 0 && got.set.unjudged[u].at.line == 3;
    assert_true(watchdog);
    import_release(&got);
    import_edited(&got, "class-map", "router bgp 1\n  neighbor 10.0.0.1\n    send-community both\nclass-map");
    assert_int_equal(notes_of(&got, NULL, 6), 0); /* no mmu in it */
    import_release(&got);
}

/* Classes of network-qos by CoS, and ECN in a line of its own. */
static bool is_unjudged(const struct imported *got, const char *rule)
{
    for (uint32_t u = 0; u < got->set.unjudgeds; u++)
        if (strcmp(got->set.unjudged[u].rule, rule) == 0) return true;
    return false;
}

/* What the size of a buffer decides is not judged by one that is only assumed; thresholds in bytes need none. */
static void test_assumed_chip(void **state)
{
    struct imported got;

    (void)state;
    import_edited(&got, "hostname", "!  cisco Nexus9000 C9364D-GX2A Chassis\nhostname");
    assert_non_null(strstr(got.yaml, "model: cloudscale-gx2a"));
    assert_true(is_unjudged(&got, "ECN003"));
    import_release(&got);
    import_edited(&got, "hostname", "! device: tor1 (tomahawk5); written by rocelab\nhostname");
    assert_true(is_unjudged(&got, "ECN003")); /* it is not the first line: the chip is not known */
    import_release(&got);
    import_edited(&got, "version 10.4(3)", "! device: tor1 (tomahawk5); written by rocelab");
    assert_false(is_unjudged(&got, "ECN003")); /* a source gives its buffer */
    import_release(&got);
}

static void test_old_forms(void **state)
{
    static const char text[] =
        "class-map type network-qos match-any c\n  match cos 3\npolicy-map type network-qos N\n"
        "  class type network-qos c\n    pause no-drop\npolicy-map type queuing Q\n  class type queuing c-out-q3\n"
        "    random-detect minimum-threshold 150 kbytes maximum-threshold 1500 kbytes\n    random-detect ecn\n"
        "system qos\n  service-policy type network-qos N\ninterface Ethernet1/1\n"
        "  service-policy type queuing output Q\n  priority-flow-control mode on\n";
    struct imported got;

    (void)state;
    import_text(&got, &config_nxos, "x", text);
    assert_int_equal(settings_at(&got, "x", 0)->pfc_rx, 8);
    assert_true(settings_at(&got, "x", 0)->queue[3].ecn.on);
    assert_int_equal(settings_at(&got, "x", 0)->queue[3].ecn.max_bytes, 1500000);
    assert_int_equal(notes_of(&got, "SYN001", 0) + notes_of(&got, "ECN007", 0), 0);
    import_release(&got);
}

static void test_routes(void **state)
{
    static const struct {
        const char *text;
        uint32_t paths, routers, line;
    } cases[] = {
        {"router bgp 1\n  address-family ipv4 unicast\n    maximum-paths 16\n  neighbor 10.0.0.1\n  neighbor "
         "10.0.0.3\n",
         16, 2, 5},
        {"router bgp 1\n  address-family ipv4 unicast\n  neighbor 10.0.0.1\n  neighbor 10.0.0.3\n", 1, 2, 4},
        {"router bgp 1\n  neighbor 10.0.0.1\n", 1, 1, 3},
        {"router bgp 1\n  maximum-paths 1\n  neighbor 10.0.0.0/24\n", 1, 2, 4},
        {"router bgp 1\n  template peer O\n    address-family l2vpn evpn\n  neighbor 10.0.0.1\n    inherit peer O\n"
         "  neighbor 10.0.0.3\n    address-family l2vpn evpn\n  neighbor 10.0.0.5\n    address-family ipv4 unicast\n"
         "  vrf t\n    neighbor 10.9.0.1\n    maximum-paths 8\n",
         1, 1, 3},
        {"router ospf 1\nrouter bgp 1\n  neighbor 10.0.0.1\n", 0, 0, 0}, /* its paths are not BGP's */
    };
    struct imported got;
    char text[1024];

    (void)state;
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        snprintf(text, sizeof(text), "hostname x\nfeature bgp\n%s", cases[c].text);
        import_text(&got, &config_nxos, "x", text);
        assert_int_equal(got.set.device[0].paths, cases[c].paths);
        assert_int_equal(got.set.device[0].routers, cases[c].routers);
        assert_int_equal(got.set.device[0].paths_at.line, cases[c].line);
        import_release(&got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_watchdog_times), cmocka_unit_test(test_ports_down),
        cmocka_unit_test(test_breakouts),      cmocka_unit_test(test_hash),
        cmocka_unit_test(test_network_mtu),    cmocka_unit_test(test_unknown_options),
        cmocka_unit_test(test_own_queuing),    cmocka_unit_test(test_places),
        cmocka_unit_test(test_part),           cmocka_unit_test(test_routes),
        cmocka_unit_test(test_not_understood), cmocka_unit_test(test_old_forms),
        cmocka_unit_test(test_assumed_chip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
