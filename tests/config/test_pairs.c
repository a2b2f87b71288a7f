/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What belongs together, as importers say it: members of bundles, ends of links, equal paths, classes by most devices.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "config/testing.h"

#define AT(line_) ((struct origin){0, (line_)})

static uint32_t device(struct config_set *set, const char *name, bool host)
{
    return config_device(set, AT(1), name, host ? "host" : "eos", host);
}

/* A port at this line, with PFC for a priority. */
static uint32_t port(struct config_set *set, uint32_t device, const char *name, uint32_t line, unsigned pfc)
{
    uint32_t p = config_port(set, AT(line), device, name);

    config_say(set, AT(line + 1), device, p, "rate", "400G");
    config_say_bits(set, AT(line + 2), device, p, "pfc", pfc);
    for (unsigned c = 0; c < 8; c++)
        if (pfc >> c & 1) config_say_class(set, AT(line + 2), device, p, c, "lossless", "true");
    return p;
}

static void open_set(struct imported *got)
{
    static const char *paths[] = {"a.cfg"};

    memset(got, 0, sizeof(*got));
    config_set_init(&got->set);
    got->set.path = paths;
    got->set.sources = 1;
}

static void write_set(struct imported *got)
{
    config_write(&got->set, "x", &got->yaml, &got->map);
}

static void test_bundles(void **state)
{
    struct imported got;

    (void)state;
    open_set(&got);
    uint32_t leaf = device(&got.set, "leaf0", false);
    for (uint32_t p = 0; p < 6; p++) {
        char name[16];
        snprintf(name, sizeof(name), "Ethernet%u", p);
        uint32_t at = port(&got.set, leaf, name, 10 * p + 10, p == 1 ? 0 : 8);
        config_lag(&got.set, AT(10 * p + 11), leaf, at, p < 3 ? "Port-Channel1" : "Port-Channel2");
        config_say(&got.set, AT(10 * p + 13), leaf, at, "mtu", p == 4 ? "1500" : "9216");
        if (p == 5) { /* down: it says what it likes */
            config_say(&got.set, AT(10 * p + 14), leaf, at, "up", "false");
            config_say(&got.set, AT(10 * p + 15), leaf, at, "trust", "pcp");
        }
    }
    write_set(&got);
    assert_int_equal(notes_of(&got, "LAG001", 22), 1); /* PFC of the second, against two */
    assert_int_equal(notes_of(&got, "LAG001", 53), 1); /* frames of the fifth, against the first of two */
    assert_int_equal(notes_of(&got, "LAG001", 0), 2);
    config_set_release(&got.set);
}

static void test_rates(void **state)
{
    struct imported got;

    (void)state;
    open_set(&got);
    uint32_t leaf = device(&got.set, "leaf0", false), spine = device(&got.set, "spine0", false);
    for (uint32_t p = 0; p < 3; p++) {
        char name[16];
        snprintf(name, sizeof(name), "Ethernet%u", p);
        uint32_t a = port(&got.set, leaf, name, 10 * p + 10, 8), b = port(&got.set, spine, name, 10 * p + 100, 8);
        if (p == 1) config_say(&got.set, AT(111), spine, b, "rate", "100G");
        if (p == 2) config_say(&got.set, AT(121), spine, b, "rate", "400000M"); /* the same in other words */
        config_link(&got.set, AT(200), leaf, a, spine, b);
    }
    write_set(&got);
    assert_int_equal(notes_of(&got, "TOP006", 111), 1);
    assert_int_equal(notes_of(&got, "TOP006", 0), 1);
    assert_non_null(strstr(got.yaml, "{a: \"leaf0:1\", b: \"spine0:1\", rate: 400G")); /* not oversubscribed besides */
    config_set_release(&got.set);
}

static void test_paths(void **state)
{
    static const struct {
        uint32_t paths, routers, notes;
    } cases[] = {{1, 4, 1}, {1, 1, 0}, {4, 4, 0}, {0, 4, 0}};

    (void)state;
    for (unsigned c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        struct imported got;
        open_set(&got);
        uint32_t leaf = device(&got.set, "leaf0", false);
        port(&got.set, leaf, "Ethernet1", 10, 8);
        config_paths(&got.set, AT(77), leaf, cases[c].paths, cases[c].routers);
        write_set(&got);
        assert_int_equal(notes_of(&got, "TOP008", 77), cases[c].notes);
        config_set_release(&got.set);
    }
}

/* One host has PFC on 4 and DSCP 26 there; three others and the switch have 3. */
static void test_classes_by_most(void **state)
{
    struct imported got;

    (void)state;
    open_set(&got);
    for (uint32_t h = 0; h < 5; h++) {
        char name[16];
        unsigned prio = h == 0 ? 4 : 3;
        snprintf(name, sizeof(name), h == 4 ? "leaf0" : "h%u", h);
        uint32_t d = device(&got.set, name, h != 4), p = port(&got.set, d, "eth0", 10, 1u << prio);
        for (unsigned dscp = 0; dscp < 64; dscp++)
            config_say_map(&got.set, AT(20), d, p, "dscp-map", dscp, dscp == 26 ? prio : 0);
    }
    write_set(&got);
    assert_non_null(strstr(got.yaml, "    priority: 3\n    dscp: 26\n    lossless: true\n"));
    assert_null(strstr(got.yaml, "    priority: 4\n    lossless: true\n"));
    config_set_release(&got.set);
}

/* Ports that are down or that nothing uses are more, and no device is like them. */
static void test_typical_port(void **state)
{
    struct imported got;

    (void)state;
    open_set(&got);
    uint32_t leaf = device(&got.set, "leaf0", false);
    for (uint32_t p = 0; p < 9; p++) {
        char name[16];
        snprintf(name, sizeof(name), "Ethernet%u", p);
        uint32_t at = port(&got.set, leaf, name, 10 * p + 10, 8);
        for (unsigned dscp = 0; dscp < 64; dscp++)
            config_say_map(&got.set, AT(10 * p + 11), leaf, at, "dscp-map", dscp, dscp == 26 ? (p < 2 ? 3 : 5) : 0);
        if (p >= 2 && p < 6) config_say(&got.set, AT(10 * p + 12), leaf, at, "up", "false");
        if (p >= 6) config_idle(&got.set, leaf, at);
    }
    write_set(&got);
    assert_non_null(strstr(got.yaml, "    priority: 3\n    dscp: 26\n"));
    config_set_release(&got.set);
}

static void test_unjudged(void **state)
{
    struct imported got;

    (void)state;
    open_set(&got);
    uint32_t leaf = device(&got.set, "leaf0", false), p = port(&got.set, leaf, "Ethernet1", 10, 8);
    config_unjudged(&got.set, AT(3), "MAP", leaf, CONFIG_NONE, "no %s", "map");
    config_unjudged(&got.set, AT(4), "WD001", leaf, p, "no %s", "map");
    config_unjudged(&got.set, AT(4), "WD001", leaf, 17, "of no port");
    config_unjudged(&got.set, AT(4), "WD001", 17, CONFIG_NONE, "of no device");
    assert_int_equal(got.set.unjudgeds, 2);
    assert_string_equal(got.set.unjudged[1].message, "no map");
    assert_int_equal(got.set.unjudged[0].port, CONFIG_NONE);
    config_set_release(&got.set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bundles),         cmocka_unit_test(test_rates),        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_classes_by_most), cmocka_unit_test(test_typical_port), cmocka_unit_test(test_unjudged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
