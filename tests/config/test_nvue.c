/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVUE both ways and in both spellings: the round trip, the defaults of `qos roce`, lists, defects, hostile files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "config/random_fabric.h"
#include "config/testing.h"
#include "fabric/switches.h"
#include "growth.h"
#include "load/load.h"

static const struct random_limits limits = {
    .hash = true,
    .static_xoff = true,
    .static_headroom = true,
    .pcp = true,
    .port_maps = true,
    .port_ecn = true,
    .port_mtu = true,
    .port_lossless = true,
    .queue_map = true,
    .queue_map_one = true,
    .watchdog = true,
    .rate = true,
    .lossy_ecn = true,
    .fec = true,
    .up = true,
    .watched = true,
    .model = true,
    .port_name = "swp%us0",
    .ecn_step_bytes = 1,
    .lossless_most = 1,
};

static void test_round_trip(void **state)
{
    (void)state;
    round_trips(&config_nvue, &limits);
}

static void test_round_trip_commands(void **state)
{
    (void)state;
    round_trips(&config_nvue_set, &limits);
}

static const struct fabric_switch *switch_at(const struct imported *got, const char *name)
{
    uint32_t node = fabric_find_node(got->fabric, name);
    assert_int_not_equal(node, FABRIC_NONE);
    return &got->fabric->sw[node - got->fabric->hosts];
}

/* What the system documents of its RoCE profile, without anything else said. */
static void test_roce_defaults(void **state)
{
    static const char text[] = "nv set system hostname leaf01\n"
                               "nv set qos roce\n"
                               "nv set interface swp1-2 link speed 400G\n";
    struct imported got;

    (void)state;
    import_text(&got, NULL, "x.txt", text);
    const struct fabric_settings *port = settings_at(&got, "leaf01", 1);
    assert_int_equal(port->trust, SW_TRUST_DSCP);
    assert_int_equal(port->dscp_to_tc[26], 3);
    assert_int_equal(port->dscp_to_tc[48], 6);
    assert_int_equal(port->tc_to_queue[5], 0);
    assert_int_equal(port->tc_to_queue[3], 3);
    assert_int_equal(port->pfc_rx, 8);
    assert_int_equal(port->pfc_tx, 8);
    assert_int_equal(port->headroom_cable_mm, 100000);
    assert_int_equal(port->queue[3].ecn.min_bytes, 150000);
    assert_int_equal(port->queue[3].ecn.max_bytes, 1500000);
    assert_int_equal(port->queue[0].ecn.on, true);
    assert_int_equal(port->queue[6].ecn.on, false);
    assert_true(port->queue[6].strict);
    assert_int_equal(port->queue[3].share_ppm, 500000);
    assert_false(switch_at(&got, "leaf01")->watchdog.on);
    import_release(&got);
}

static void test_yaml_over_roce(void **state)
{
    static const char text[] = "- header: {model: x}\n"
                               "- set:\n"
                               "    interface:\n"
                               "      swp1-3,5:\n"
                               "        link: {speed: 100G, mtu: 9000}\n"
                               "        qos: {pfc-watchdog: {state: enable}}\n"
                               "      swp2:\n"
                               "        qos: {pfc: {profile: gone}}\n" /* 8 */
                               "    qos:\n"
                               "      roce: {mode: lossless, state: enabled, cable-length: 30}\n"
                               "      pfc:\n"
                               "        default-global:\n"
                               "          port-buffer: 363000\n"
                               "          switch-priority: {'3': {}}\n"
                               "          xoff-threshold: 75000\n"
                               "          xon-threshold: 20000\n"
                               "      pfc-watchdog: {polling-interval: 200, robustness: 5}\n"
                               "    router:\n"
                               "      bgp: {state: enabled}\n"; /* 19 */
    struct imported got;

    (void)state;
    import_text(&got, NULL, "edge.yaml", text);
    const struct fabric_settings *port = settings_at(&got, "edge", 3); /* swp5 */
    assert_int_equal(port->mtu_bytes, 9018);
    assert_int_equal(port->pg[3].static_bytes, 75000);
    assert_int_equal(port->pg[3].headroom_bytes, 363000 - 75000);
    assert_int_equal(port->pg[3].xon_offset_bytes, 20000);
    assert_int_equal(port->headroom_cable_mm, 30000);
    unsigned thresholds = 0; /* not of the queue that marks */
    for (uint32_t u = 0; u < got.set.unjudgeds; u++)
        thresholds += strcmp(got.set.unjudged[u].rule, "ECN003") == 0 && got.set.unjudged[u].at.line == 15;
    assert_true(thresholds > 0);
    assert_int_equal(settings_at(&got, "edge", 1)->pfc_tx, 0);
    assert_int_equal(notes_of(&got, "MAP007", 8), 1);
    assert_int_equal(notes_of(&got, NULL, 19), 1);
    const struct fabric_watchdog *watchdog = &switch_at(&got, "edge")->watchdog;
    assert_true(watchdog->on);
    assert_int_equal(watchdog->poll_ps, 200 * PS_MS);
    assert_int_equal(watchdog->detect_ps, 1000 * PS_MS);
    import_release(&got);
}

static void test_defects(void **state)
{
    static const char text[] = "nv set qos roce mode lossy\n"
                               "nv set qos congestion-control c traffic-class 3 ecn enable\n"
                               "nv set qos congestion-control c traffic-class 3 min-threshold 9000\n"
                               "nv set qos congestion-control c traffic-class 3 max-threshold 8000\n"
                               "nv set qos pfc p switch-priority 3\n"
                               "nv set qos pfc p xoff-threshold many\n" /* 6 */
                               "nv set interface swp1 qos congestion-control profile c\n"
                               "nv set interface swp1 qos pfc profile p\n" /* 8 */
                               "nv set interface swp2 qos pfc profile p\n"
                               "nv set interface swp2 qos pfc-watchdog state enable\n"
                               "nv set interface swp2 qos novelty 7\n" /* 11 */
                               "nv set interface swp3 link mtu 1500\n";
    struct imported got;

    (void)state;
    import_text(&got, &config_nvue, "sw.txt", text);
    assert_int_equal(notes_of(&got, "ECN002", 3), 1);
    assert_int_equal(notes_of(&got, "SYN001", 6), 1);
    assert_int_equal(settings_at(&got, "sw", 0)->watched, 0); /* pauses, and has no watchdog */
    assert_int_equal(settings_at(&got, "sw", 1)->watched, 8);
    assert_int_equal(notes_of(&got, NULL, 11), 1);
    assert_int_equal(settings_at(&got, "sw", 0)->pfc_tx, 8);
    assert_int_equal(settings_at(&got, "sw", 2)->pfc_tx, 0); /* the lossy mode */
    assert_int_equal(settings_at(&got, "sw", 2)->mtu_bytes, 1518);
    import_release(&got);
}

/* Ranges that name the same cages again and again. */
static void test_many_ranges(void **state)
{
    struct imported got;
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);

    (void)state;
    assert_non_null(to);
    fputs("nv set interface swp1 link breakout 4x100G\n", to);
    for (unsigned line = 0; line < 4; line++) {
        fputs("nv set interface swp1-1023", to);
        for (unsigned i = 0; i < 40; i++)
            fputs(",1-1023", to);
        fputs(" link breakout 4x\n", to);
    }
    fclose(to);
    config_set_init(&got.set);
    struct fabric_errors errors = {0};
    struct config_text in = {.path = "leaf0.txt", .text = text, .length = length, .errors = &errors};
    (void)config_nvue.import(&got.set, &in);
    assert_true(got.set.devices > 0);
    config_set_release(&got.set);
    free(text);
}

/* Three lines that set something on a thousand broken cages, so many times over. */
static uint64_t read_ranges(unsigned ranges)
{
    struct imported got;
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);

    assert_non_null(to);
    fputs("nv set interface swp1-1000 link breakout 4x100G\n", to);
    for (unsigned line = 0; line < 3; line++) {
        fputs("nv set interface swp1-1000", to);
        for (unsigned i = 1; i < ranges; i++)
            fputs(",1-1000", to);
        fputs(" link mtu 9000\n", to);
    }
    fclose(to);
    config_set_init(&got.set);
    struct fabric_errors errors = {0};
    struct config_text in = {.path = "leaf0.txt", .text = text, .length = length, .errors = &errors};
    uint64_t begun = growth_ns();
    assert_int_equal(config_nvue.import(&got.set, &in), 0);
    uint64_t took = growth_ns() - begun;
    config_set_release(&got.set);
    free(text);
    return took;
}

static void test_ranges_over_and_over(void **state)
{
    (void)state;
    expect_growth(read_ranges, 100, 3000, 8);
}

static void test_hostile(void **state)
{
    char *deep = malloc(100001);

    (void)state;
    assert_non_null(deep);
    refused(&config_nvue, "- set: [", 8, "not YAML");
    refused(&config_nvue, "- set: {}\n", 10, "not NVUE");
    refused(&config_nvue, "nv set \n", 8, "not NVUE");
    refused(&config_nvue, "a: &x [*x]\n", 11, "anchor");
    memset(deep, '[', 100000);
    deep[100000] = 0;
    refused(&config_nvue, deep, 100000, "nested too deeply");
    free(deep);
}

static char *written(const struct config_format *format, const struct fabric *fabric)
{
    char *text = NULL;
    size_t size = 0;
    struct config_emit emit = {.fabric = fabric, .node = fabric->hosts, .to = open_memstream(&text, &size)};

    assert_non_null(emit.to);
    assert_int_equal(format->emit(&emit), 0);
    fclose(emit.to);
    return text;
}

/* What is written of the first switch. */
static char *first_switch(const char *fabric_text)
{
    struct fabric_errors errors = {0};
    struct fabric *fabric = NULL;

    assert_int_equal(fabric_load("x", fabric_text, &fabric, &errors), 0);
    char *text = written(&config_nvue_set, fabric);
    fabric_free(fabric);
    return text;
}

/* A fabric that is what the system's own profile makes is written with it, and comes back the same. */
static void test_roce_written(void **state)
{
    static const char text[] = "nv set system hostname leaf01\n"
                               "nv set system forwarding ecmp-hash source-port on\n"
                               "nv set qos roce mode lossless\n"
                               "nv set qos roce cable-length 30\n"
                               "nv set interface swp1-2 link speed 400G\n"
                               "nv set interface swp1-2 qos pfc-watchdog\n";
    struct imported got, again, other;

    (void)state;
    import_text(&got, NULL, "x.txt", text);
    char *commands = written(&config_nvue_set, got.fabric), *yaml = written(&config_nvue, got.fabric);
    assert_non_null(strstr(commands, "nv set qos roce mode lossless\nnv set qos roce cable-length 30\n"
                                     "nv set qos traffic-pool roce-lossless memory-percent 50\n"));
    assert_non_null(strstr(commands, "nv set interface swp2 qos pfc-watchdog state enable\n"));
    assert_null(strstr(commands, "mapping"));
    assert_null(strstr(commands, "profile"));
    import_text(&again, NULL, "x.txt", commands);
    assert_string_equal(again.yaml, got.yaml);
    import_release(&again);
    import_text(&again, NULL, "x.yaml", yaml);
    assert_string_equal(again.yaml, got.yaml);
    /* one port that marks otherwise, and all is written out */
    char *differs = edited(text, "swp1-2 link",
                           "swp1-2 qos congestion-control profile c\n"
                           "nv set qos congestion-control c traffic-class 3 ecn enable\n"
                           "nv set interface swp1-2 link");
    import_text(&other, NULL, "x.txt", differs);
    char *long_form = written(&config_nvue_set, other.fabric);
    assert_null(strstr(long_form, "qos roce mode"));
    assert_non_null(strstr(long_form, "nv set qos mapping roce0 trust l3\n"));
    import_release(&other);
    import_release(&again);
    import_release(&got);
    free(long_form);
    free(differs);
    free(commands);
    free(yaml);
}

/* A place in a rack is no port, and the length behind it no cable's; a hash without the source port is said. */
static void test_places(void **state)
{
    static const char text[] = "nv set interface swp1 description rack12:u4,2m\n"
                               "nv set interface swp2 description leaf2:swp4,2m\n"
                               "nv set system forwarding ecmp-hash source-port disabled\n";
    struct imported got;

    (void)state;
    import_text(&got, &config_nvue, "x.txt", text);
    assert_null(config_said(&got.set, 0, 0, "cable"));
    assert_string_equal(config_said(&got.set, 0, 1, "cable"), "2m");
    assert_string_equal(config_said(&got.set, 0, CONFIG_NONE, "ecmp.hash"), "[src, dst]");
    import_release(&got);
}

/* Memory for the lossless pool, and queues by a profile that a switch has. */
static void test_pools_and_queues(void **state)
{
    char *text = first_switch("rocelab: 1\ntopology: {single: {hosts: 2}}\nlinks: {host: {rate: 400G, cable: 3m}}\n");

    (void)state;
    assert_non_null(strstr(text, "nv set qos traffic-pool default-lossless memory-percent 90\n"
                                 "nv set qos traffic-pool default-lossy memory-percent 10\n"));
    assert_non_null(strstr(text, "nv set qos egress-queue-mapping default-global switch-priority 3 traffic-class 3\n"));
    assert_null(strstr(text, "egress-queue-mapping profile"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),    cmocka_unit_test(test_round_trip_commands),
        cmocka_unit_test(test_roce_defaults), cmocka_unit_test(test_yaml_over_roce),
        cmocka_unit_test(test_defects),       cmocka_unit_test(test_pools_and_queues),
        cmocka_unit_test(test_roce_written),  cmocka_unit_test(test_places),
        cmocka_unit_test(test_many_ranges),   cmocka_unit_test(test_ranges_over_and_over),
        cmocka_unit_test(test_hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
