/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NX-OS: random fabrics through a configuration and back, the chain of five objects, what is wrong in it by line.
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
#include "fabric/switches.h"
#include "load/load.h"

static const struct random_limits limits = {
    .hash = true,
    .static_xoff = true,
    .pcp = true,
    .port_maps = true,
    .port_ecn = true,
    .port_mtu = true,
    .port_pfc = true,
    .watchdog = true,
    .watchdog_times = true,
    .time_step_ms = 100,
    .detect_most_ms = 1000,
    .rate = true,
    .lossy_ecn = true,
    .fec = true,
    .up = true,
    .pfc_auto = true,
    .pause_all = true,
    .watched = true,
    .model = true,
    .port_name = "Ethernet2/%u",
    .ecn_step_bytes = 1,
    .lossless_most = 1,
    .balances = 2,
};

static void test_round_trip(void **state)
{
    (void)state;
    round_trips(&config_nxos, &limits);
}

static const char good[] = "hostname tor1\n"                               /* 1 */
                           "priority-flow-control watch-dog-interval on\n" /* 2 */
                           "class-map type qos match-any STORAGE\n"        /* 3 */
                           "  match dscp 24-26\n"                          /* 4 */
                           "class-map type qos match-all FEEDBACK\n"       /* 5 */
                           "  match dscp 48\n"                             /* 6 */
                           "policy-map type qos IN\n"                      /* 7 */
                           "  class STORAGE\n"                             /* 8 */
                           "    set qos-group 3\n"                         /* 9 */
                           "  class FEEDBACK\n"                            /* 10 */
                           "    set qos-group 7\n"                         /* 11 */
                           "policy-map type network-qos NET\n"             /* 12 */
                           "  class type network-qos c-8q-nq3\n"           /* 13 */
                           "    pause pfc-cos 3\n"                         /* 14 */
                           "    mtu 9216\n"                                /* 15 */
                           "policy-map type queuing OUT\n"                 /* 16 */
                           "  class type queuing c-out-8q-q3\n"            /* 17 */
                           "    bandwidth remaining percent 60\n"          /* 18 */
                           "    random-detect minimum-threshold 200 kbytes maximum-threshold 2 mbytes drop-probability "
                           "5 weight 0 ecn\n"                                                            /* 19 */
                           "  class type queuing c-out-8q-q-default\n"                                   /* 20 */
                           "    bandwidth remaining percent 40\n"                                        /* 21 */
                           "  class type queuing c-out-8q-q7\n"                                          /* 22 */
                           "    priority level 1\n"                                                      /* 23 */
                           "policy-map type queuing CARVE\n"                                             /* 24 */
                           "  class type queuing c-in-q3\n"                                              /* 25 */
                           "    pause buffer-size 101920 pause-threshold 46800 resume-threshold 34320\n" /* 26 */
                           "system qos\n"                                                                /* 27 */
                           "  service-policy type network-qos NET\n"                                     /* 28 */
                           "  service-policy type queuing output OUT\n"                                  /* 29 */
                           "interface Ethernet1/1-2\n"                                                   /* 30 */
                           "  priority-flow-control mode on\n"                                           /* 31 */
                           "  priority-flow-control watch-dog-interval on\n"                             /* 32 */
                           "  service-policy type qos input IN\n"                                        /* 33 */
                           "  service-policy type queuing input CARVE\n"                                 /* 34 */
                           "  mtu 9216\n"                                                                /* 35 */
                           "  speed 100000\n"                                                            /* 36 */
                           "interface Ethernet1/3\n"                                                     /* 37 */
                           "  priority-flow-control mode off\n"                                          /* 38 */
                           "  shutdown\n";                                                               /* 39 */

static void test_chain(void **state)
{
    struct imported got;

    (void)state;
    import_text(&got, &config_nxos, "tor1.cfg", good);
    const struct fabric_settings *port = settings_at(&got, "tor1", 1), *off = settings_at(&got, "tor1", 2);
    assert_int_equal(port->dscp_to_tc[26], 3);
    assert_int_equal(port->dscp_to_tc[48], 7);
    assert_int_equal(port->dscp_to_tc[27], 0);
    assert_int_equal(port->pfc_rx, 1 << 3);
    assert_int_equal(port->lossless, 1 << 3);
    assert_int_equal(port->mtu_bytes, 9216);
    assert_true(port->queue[3].ecn.on);
    assert_int_equal(port->queue[3].ecn.min_bytes, 200000);
    assert_int_equal(port->queue[3].ecn.max_bytes, 2000000);
    assert_int_equal(port->queue[3].ecn.probability_ppm, 50000);
    assert_int_equal(port->queue[3].share_ppm, 600000);
    assert_true(port->queue[7].strict);
    assert_int_equal(port->pg[3].static_bytes, 46800);
    assert_int_equal(port->pg[3].headroom_bytes, 101920 - 46800);
    assert_int_equal(port->pg[3].xon_offset_bytes, 46800 - 34320);
    assert_int_equal(off->pfc_rx, 0);
    assert_int_equal(off->mtu_bytes, 1500);
    assert_int_equal(off->dscp_to_tc[26], 0);
    assert_true(got.fabric->sw[0].watchdog.on);
    assert_int_equal(got.set.device[0].port[0].count > 0, 1);
    for (uint32_t n = 0; n < got.set.notes; n++)
        assert_null(got.set.note[n].rule);
    import_release(&got);
}

static void test_wrong_lines(void **state)
{
    static const struct wrong_line cases[] = {
        {"  class FEEDBACK\n", "  class FEEDBACKS\n", "MAP007", 10},
        {"service-policy type qos input IN\n", "service-policy type qos input INN\n", "MAP007", 33},
        {"class type network-qos c-8q-nq3\n", "class type network-qos STORE\n", "MAP007", 13},
        {"class type network-qos c-8q-nq3\n", "class type network-qos c-out-8q-q3\n", "SYN001", 13},
        {"pause pfc-cos 3\n", "pause pfc-cos 4\n", "PFC007", 14},
        {" weight 0 ecn\n", " weight 0\n", "ECN006", 19},
        {" weight 0 ecn\n", " weight 5 ecn\n", "ECN008", 19},
        {"maximum-threshold 2 mbytes", "maximum-threshold 100 kbytes", "ECN002", 19},
        {"maximum-threshold 2 mbytes", "maximum-threshold 2000 packets", "ECN007", 19},
        {"bandwidth remaining percent 40\n", "bandwidth remaining percent 41\n", "SCH001", 18},
        {"pause-threshold 46800", "pause-threshold 466800", "HR006", 26},
        {"  priority-flow-control watch-dog-interval on\n  service",
         "  priority-flow-control watch-dog-interval 200\n  service", "SYN001", 32},
        {"  mtu 9216\n  speed", "  flowcontrol receive on\n  speed", "PFC005", 35},
        {"system qos\n", "qos trust dscp\nsystem qos\n", "SYN001", 27},
        {"  service-policy type queuing input CARVE\n", "  no shutdown\n", "MAP007", 24},
    };

    (void)state;
    wrong_lines(&config_nxos, "tor1.cfg", good, cases, sizeof(cases) / sizeof(cases[0]));
}

/* What is pasted into a terminal has no indentation, and `exit` at the end of blocks. */
static void test_pasted(void **state)
{
    static const char text[] =
        "conf\nclass-map type qos match-any R\n  match dscp 26\npolicy-map type qos IN\n  class R\n"
        "    set qos-group 3\n    exit\n  exit\npolicy-map type network-qos N\n"
        "  class type network-qos c-8q-nq3\n    pause pfc-cos 3\nsystem qos\n"
        "  service-policy type network-qos N\ninterface Ethernet1/1-2\n"
        "priority-flow-control mode on\nmtu 9000\nservice-policy type qos input IN\nend\n";
    struct imported got;

    (void)state;
    import_text(&got, &config_nxos, "sw.cfg", text);
    assert_int_equal(settings_at(&got, "sw", 0)->pfc_tx, 8);
    assert_int_equal(settings_at(&got, "sw", 1)->mtu_bytes, 9000);
    assert_int_equal(settings_at(&got, "sw", 1)->dscp_to_tc[26], 3);
    assert_int_equal(notes_of(&got, "MAP007", 0), 0);
    import_release(&got);
}

/* The same without any indentation, and with the `exit`s that leave a mode. */
static void test_flat(void **state)
{
    char *flat = flattened(good), *left = edited(flat, "system qos\n", "exit\nexit\nsystem qos\n");
    char *early = edited(flat, "bandwidth remaining percent 60\n", "exit\nbandwidth remaining percent 60\n");
    struct imported one, two;

    (void)state;
    import_text(&one, &config_nxos, "tor1.cfg", good);
    import_text(&two, &config_nxos, "tor1.cfg", flat);
    assert_string_equal(one.yaml, two.yaml);
    import_release(&two);
    import_text(&two, &config_nxos, "tor1.cfg", left);
    assert_string_equal(one.yaml, two.yaml);
    import_release(&two);
    import_text(&two, &config_nxos, "tor1.cfg", early); /* no longer of the class */
    assert_int_equal(settings_at(&one, "tor1", 0)->queue[3].share_ppm, 600000);
    assert_int_not_equal(settings_at(&two, "tor1", 0)->queue[3].share_ppm, 600000);
    import_release(&two);
    import_release(&one);
    free(flat);
    free(left);
    free(early);
}

/* Words that interfaces and the switch have alike, told apart by what follows them. */
static void test_flat_interfaces(void **state)
{
    static const char text[] =
        "hostname a\ninterface Ethernet1/1\nswitchport mode trunk\nspanning-tree port type edge\n"
        "vpc 10\nmtu 9216\nspanning-tree mode rapid-pvst\nmtu 1500\n";
    struct imported got;

    (void)state;
    import_text(&got, &config_nxos, "a", text);
    assert_int_equal(settings_at(&got, "a", 0)->mtu_bytes, 9216);
    import_release(&got);
}

/* A file of another system must not be found to be without faults. */
static void test_other_systems(void **state)
{
    static const char os10[] = "! Version 10.5.4.1\nhostname s\nclass-map type network-qos R\n match qos-group 3\n"
                               "system qos\n trust-map dot1p default\ninterface ethernet1/1/1\n no shutdown\n";
    static const char junos[] = "class-of-service {\n    classifiers {\n        dscp d {\n        }\n    }\n"
                                "    congestion-notification-profile c {\n        pfc-watchdog;\n        input {\n"
                                "            dscp {\n                code-point 011010 {\n                    pfc;\n"
                                "                }\n            }\n        }\n    }\n}\n";
    static const char eos[] =
        "hostname a\nqos map dscp 26 to traffic-class 3\nqos profile P\n"
        "   priority-flow-control on\n   priority-flow-control priority 3 no-drop\n"
        "   uc-tx-queue 3\n      random-detect ecn minimum-threshold 150 kbytes maximum-threshold "
        "1500 kbytes max-mark-probability 10\ninterface Ethernet1/1\n   service-profile P\n";
    static const char nxos[] = "hostname a\nclass-map type qos match-any R\n  match dscp 26\npolicy-map type qos IN\n"
                               "  class R\n    set qos-group 3\npolicy-map type network-qos N\n"
                               "  class type network-qos c-8q-nq3\n    pause pfc-cos 3\nsystem qos\n"
                               "  service-policy type network-qos N\ninterface Ethernet1/1\n"
                               "  priority-flow-control mode on\n";
    static const char few[] = "hostname a\nlogging level ipqosmgr 7\nqos odd\nqos odder\nqos oddest\n";
    struct imported got;

    (void)state;
    refused(&config_nxos, os10, strlen(os10), "Dell OS10");
    assert_ptr_equal(config_format_guess(os10, strlen(os10)), &config_nxos); /* so that it is refused by its name */
    refused(&config_nxos, junos, strlen(junos), "6 of the 6 lines with a word of RoCE are no NX-OS");
    refused(&config_nxos, eos, strlen(eos),
            "are no NX-OS, of them the first 'qos map dscp 26 to traffic-class 3'; it "
            "looks like eos");
    refused(&config_eos, nxos, strlen(nxos), "; it looks like nxos");
    import_text(&got, &config_nxos, "a.cfg", few);
    assert_int_equal(notes_of(&got, NULL, 3), 1);
    import_release(&got);
}

static void test_guessed(void **state)
{
    static const char *const texts[] = {
        "hostname a\nfeature bgp\nfeature lldp\ninterface Ethernet1/1\n  no switchport\n",
        "version 10.3(4a) Bios:version 05.47\nhostname a\nvrf context management\n",
        "interface Ethernet1/1\n  mtu 9216\ninterface port-channel10\n  mtu 9216\n",
        "interface breakout module 1 port 1-8 map 100g-4x\ninterface Ethernet1/1/1\n  mtu 9216\n",
    };

    (void)state;
    for (size_t t = 0; t < sizeof(texts) / sizeof(texts[0]); t++)
        if (config_format_guess(texts[t], strlen(texts[t])) != &config_nxos) fail_msg("not guessed: %s", texts[t]);
}

/* PFC that nobody forces is negotiated, where something lossless comes in. */
static void test_auto_and_channels(void **state)
{
    char *text = edited(good, "  priority-flow-control mode on\n", "  channel-group 7 mode active\n");
    struct imported got;

    (void)state;
    import_text(&got, &config_nxos, "tor1.cfg", text);
    assert_true(settings_at(&got, "tor1", 0)->pfc_auto);
    assert_int_equal(settings_at(&got, "tor1", 0)->pfc_rx, 8);
    import_release(&got);
    char *more = NULL;
    assert_true(asprintf(&more, "%sinterface port-channel7\n  priority-flow-control mode off\n", text) > 0);
    import_text(&got, &config_nxos, "tor1.cfg", more);
    assert_int_equal(settings_at(&got, "tor1", 0)->pfc_rx, 0);
    import_release(&got);
    free(more);
    free(text);
}

static void test_left_over(void **state)
{
    static const char text[] =
        "hostname a\nrouter bgp 1\n  neighbor 1.1.1.1\nqos shape everything\n"
        "interface Ethernet1/1\n  description qos here\n  pfc-thing 3\nstrange thing\n  inside it\n";
    struct imported got;

    (void)state;
    import_text(&got, &config_nxos, "a.cfg", text);
    assert_int_equal(notes_of(&got, NULL, 3), 0);
    assert_int_equal(notes_of(&got, NULL, 4), 1);
    assert_int_equal(notes_of(&got, NULL, 6), 0);
    assert_int_equal(notes_of(&got, NULL, 7), 1);
    assert_int_equal(notes_of(&got, NULL, 8), 1);
    assert_int_equal(notes_of(&got, NULL, 9), 0);
    import_release(&got);
}

static void test_hostile(void **state)
{
    size_t length = CONFIG_TEXT_MAX_BYTES + 1;
    char *text = malloc(length + 1);

    (void)state;
    assert_non_null(text);
    memset(text, '\n', length);
    text[length] = 0;
    refused(&config_nxos, text, length, "more than 16 MiB");
    memset(text, 'x', 70000);
    refused(&config_nxos, text, 100000, "more than 65536 bytes");
    refused(&config_nxos, "a\0b", 3, "zero bytes");
    /* deeper than any block: each line a column further in */
    size_t used = 0;
    for (unsigned d = 0; d < 3000; d++) {
        memset(text + used, ' ', d);
        used += d;
        text[used++] = 'b';
        text[used++] = '\n';
    }
    text[used] = 0;
    struct imported got;
    import_text(&got, &config_nxos, "deep.cfg", text);
    assert_int_equal(got.fabric->switches, 1);
    import_release(&got);
    /* ranges said again and again: work is bounded, and what is not read is listed */
    used = 0;
    for (unsigned r = 0; r < 2000; r++)
        used += (size_t)snprintf(text + used, 64, "interface Ethernet1/1-1000\n");
    import_text(&got, &config_nxos, "ranges.cfg", text);
    assert_int_equal(got.set.device[0].ports, 1000);
    assert_int_equal(notes_of(&got, NULL, 2000), 1);
    assert_int_equal(notes_of(&got, NULL, 2), 0);
    import_release(&got);
    free(text);
}

/* What is written of the first switch. */
static char *first_switch(const char *fabric_text)
{
    struct fabric_errors errors = {0};
    struct fabric *fabric = NULL;
    char *text = NULL;
    size_t size = 0;

    assert_int_equal(fabric_load("x", fabric_text, &fabric, &errors), 0);
    struct config_emit emit = {.fabric = fabric, .node = fabric->hosts, .to = open_memstream(&text, &size)};
    assert_non_null(emit.to);
    assert_int_equal(config_nxos.emit(&emit), 0);
    fclose(emit.to);
    fabric_free(fabric);
    return text;
}

/* Strict queues are the highest, beside each other; one of nothing makes no class when it is read back. */
static void test_strict_on_top(void **state)
{
    char *text = first_switch("rocelab: 1\ntopology: {single: {hosts: 2}}\nlinks: {host: {rate: 400G, cable: 3m}}\n");
    struct imported got;

    (void)state;
    assert_non_null(strstr(text,
                           "c-out-8q-q7\n    priority level 1\n  class type queuing c-out-8q-q6\n    priority level 2\n"
                           "  class type queuing c-out-8q-q5\n    bandwidth remaining percent 0\n"));
    import_text(&got, &config_nxos, "leaf.cfg", text);
    assert_int_equal(got.fabric->class_count, 3);
    import_release(&got);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),    cmocka_unit_test(test_chain),   cmocka_unit_test(test_wrong_lines),
        cmocka_unit_test(test_pasted),        cmocka_unit_test(test_flat),    cmocka_unit_test(test_flat_interfaces),
        cmocka_unit_test(test_other_systems), cmocka_unit_test(test_guessed), cmocka_unit_test(test_auto_and_channels),
        cmocka_unit_test(test_left_over),     cmocka_unit_test(test_hostile), cmocka_unit_test(test_strict_on_top),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
