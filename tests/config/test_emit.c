/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What emitters share: whole percents that add up, ports put together by what they have alike, cages.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/rng.h"
#include "config/config.h"
#include "fabric/fabric.h"
#include "fabric/switches.h"
#include "load/load.h"
#include "seed.h"

/* Random shares of random queues, some of them strict, in sum below, at and above everything. */
static uint64_t draw_shares(struct rng *rng, struct fabric_settings *settings, uint8_t *ret_queues)
{
    uint64_t sum = 0, most = 1 + rng_below(rng, 300000);

    memset(settings, 0, sizeof(*settings));
    *ret_queues = (uint8_t)(1 + rng_below(rng, 255));
    for (unsigned q = 0; q < FABRIC_PRIOS; q++) {
        settings->queue[q].strict = rng_below(rng, 5) == 0;
        settings->queue[q].share_ppm = (uint32_t)(1 + rng_below(rng, most));
        if ((*ret_queues >> q & 1) && !settings->queue[q].strict) sum += settings->queue[q].share_ppm;
    }
    return sum;
}

static void test_percents(void **state)
{
    uint64_t seed = test_seed_or(6);
    struct rng rng;

    (void)state;
    rng_init(&rng, seed, 1);
    for (int turn = 0; turn < 20000; turn++) {
        struct fabric_settings settings;
        uint8_t queues;
        unsigned percent[FABRIC_PRIOS], total = 0, sharing = 0;
        bool fill = turn % 2;
        uint64_t sum = draw_shares(&rng, &settings, &queues), whole = fill || sum > 1000000 ? sum : 1000000;

        config_percents(&settings, queues, fill, percent);
        for (unsigned q = 0; q < FABRIC_PRIOS; q++) {
            bool shares = (queues >> q & 1) && !settings.queue[q].strict;
            if (!shares) {
                assert_int_equal(percent[q], 0);
                continue;
            }
            sharing++;
            total += percent[q];
            if (percent[q] < 1) fail_msg("seed %llu: a share of nothing", (unsigned long long)seed);
        }
        if (!sharing) continue;
        unsigned due = (unsigned)((sum * 100 + whole / 2) / whole);
        if (total != (due > sharing ? due : sharing))
            fail_msg("seed %llu, turn %d: %u percent, not %u", (unsigned long long)seed, turn, total, due);
        if (total > 100) fail_msg("seed %llu, turn %d: %u percent", (unsigned long long)seed, turn, total);
        for (unsigned q = 0; q < FABRIC_PRIOS; q++) { /* what one is given more than due, the smallest need */
            uint64_t exact = settings.queue[q].share_ppm * 100ull / whole;
            if (percent[q] > exact + 1) fail_msg("seed %llu, turn %d: queue %u", (unsigned long long)seed, turn, q);
        }
    }
}

static void test_exact_percents_stay(void **state)
{
    struct fabric_settings settings = {.queue = {[0] = {.share_ppm = 70000}, [3] = {.share_ppm = 930000}}};
    unsigned percent[FABRIC_PRIOS];

    (void)state;
    config_percents(&settings, 9, false, percent);
    assert_int_equal(percent[0], 7);
    assert_int_equal(percent[3], 93);
    settings.queue[3].share_ppm = 230000;
    config_percents(&settings, 9, false, percent);
    assert_int_equal(percent[3], 23); /* what is not shared out stays so ... */
    config_percents(&settings, 9, true, percent);
    assert_int_equal(percent[0] + percent[3], 100); /* ... but for tools that want all of it */
    assert_int_equal(percent[3], 77);
}

static bool same_mtu(const struct fabric *fabric, uint32_t a, uint32_t b)
{
    return fabric->settings[fabric->port[a].settings].mtu_bytes == fabric->settings[fabric->port[b].settings].mtu_bytes;
}

static void test_alike(void **state)
{
    static const char text[] = "rocelab: 1\ntopology: {single: {hosts: 6}}\nlinks: {host: {rate: 100G, cable: 3m}}\n"
                               "devices: {leaf0: {ports: {0: {mtu: 5000}, 4: {mtu: 4000}}}}\n";
    struct fabric_errors errors = {0};
    struct fabric *fabric = NULL;
    struct config_alike alike;
    struct arena arena;

    (void)state;
    assert_int_equal(fabric_load("x", text, &fabric, &errors), 0);
    struct config_emit emit = {.fabric = fabric, .node = fabric_find_node(fabric, "leaf0")};
    arena_init_or_end(&arena, 0);
    config_alike(&emit, &arena, same_mtu, &alike);
    assert_int_equal(alike.kinds, 3);
    assert_int_equal(alike.of[0], 1); /* the first port's kind gives way to that of most */
    assert_int_equal(alike.of[1], 0);
    assert_int_equal(alike.of[4], 2);
    for (uint32_t k = 0; k < alike.kinds; k++)
        assert_int_equal(alike.of[alike.port[k] - fabric->node[emit.node].first_port], k);
    arena_release(&arena);
    fabric_free(fabric);
}

/* Names of a leaf's ports: 70 halves of 800G cages, then two whole ones; or each port with a cage of its own. */
static void test_cages(void **state)
{
    static const struct {
        const char *fabric;
        const struct config_format *format;
        unsigned port;
        const char *name;
    } cases[] = {
        {"switches: {model: tomahawk5}", &config_nxos, 0, "Ethernet1/1/1"},
        {"switches: {model: tomahawk5}", &config_nxos, 69, "Ethernet1/35/2"},
        {"switches: {model: tomahawk5}", &config_nxos, 70, "Ethernet1/36"}, /* 800G: it is not split */
        {"switches: {model: tomahawk5}", &config_eos, 1, "Ethernet1/5"},
        {"switches: {model: tomahawk5}", &config_eos, 71, "Ethernet37/1"},
        {"switches: {model: tomahawk5}", &config_sonic, 1, "Ethernet4"}, /* half of eight lanes */
        {"switches: {model: tomahawk5}", &config_sonic, 69, "Ethernet276"},
        {"switches: {model: tomahawk5}", &config_sonic, 70, "Ethernet280"},
        {"switches: {model: tomahawk5}", &config_sonic, 71, "Ethernet288"},
        {"switches: {model: tomahawk5}", &config_nvue, 69, "swp35s1"},
        {"switches: {model: tomahawk5}", &config_nvue, 70, "swp36"},
        {"switches: {model: tomahawk5}", &config_junos, 1, "et-0/0/0:1"},
        {"switches: {model: tomahawk5}", &config_junos, 69, "et-0/0/34:1"},
        {"switches: {model: tomahawk5}", &config_junos, 70, "et-0/0/35"},
        {"switches: {model: tomahawk6}", &config_junos, 71, "et-0/0/71"},
        {"switches: {model: generic}", &config_junos, 71, "et-0/0/71"},
        {"switches: {model: generic}", &config_nvue, 1, "swp2"},
        {"switches: {model: tomahawk6}", &config_sonic, 1, "Ethernet8"},
        {"switches: {model: generic}", &config_sonic, 1, "Ethernet8"},    /* no cages, and a port of 800G */
        {"switches: {model: tomahawk6}", &config_nxos, 1, "Ethernet1/2"}, /* 128 cages for 72 ports */
        {"switches: {model: tomahawk6}", &config_eos, 1, "Ethernet2/1"},
        {"switches: {model: generic}", &config_nxos, 1, "Ethernet1/2"},
        {"switches: {model: generic}", &config_eos, 1, "Ethernet2"},
    };
    char text[400], name[64];

    (void)state;
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        struct fabric_errors errors = {0};
        struct fabric *fabric = NULL;
        snprintf(text, sizeof(text),
                 "rocelab: 1\ntopology: {leaf-spine: {hosts: 70, leaves: 1, spines: 2}}\n"
                 "links: {host: {rate: 400G, cable: 3m}, fabric: {rate: 800G, cable: 30m}}\n%s\n",
                 cases[c].fabric);
        assert_int_equal(fabric_load("x", text, &fabric, &errors), 0);
        uint32_t first = fabric->node[fabric_find_node(fabric, "leaf0")].first_port;
        cases[c].format->port_name(fabric, first + cases[c].port, name, sizeof(name));
        assert_string_equal(name, cases[c].name);
        fabric_free(fabric);
    }
}

/* A switch's `nos` in a fabric file and a system that is read, written and brought back are one list. */
static void test_every_nos_is_a_system(void **state)
{
    uint32_t systems = 0;

    (void)state;
    for (uint32_t nos = FABRIC_NOS_UNSAID + 1; nos < FABRIC_NOSES; nos++) {
        const struct config_format *format = config_format_find(fabric_nos_names[nos]);
        assert_non_null(format);
        assert_true(format->guess && format->emit && format->fix && format->fix_how && !format->host);
    }
    for (int i = 0; config_formats[i]; i++) {
        const struct config_format *format = config_formats[i];
        systems += format->fix && !format->host;
        if (format->commands) assert_true(format->commands->emit && !format->commands->guess);
    }
    assert_int_equal(systems, FABRIC_NOSES - FABRIC_NOS_UNSAID - 1);
}

static void test_names_in_a_sentence(void **state)
{
    char names[CONFIG_NAMES];

    (void)state;
    assert_string_equal(config_format_names(CONFIG_FIXED, "and", names), "nxos, eos, sonic, nvue, junos and host");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_percents),
                                       cmocka_unit_test(test_exact_percents_stay),
                                       cmocka_unit_test(test_alike),
                                       cmocka_unit_test(test_cages),
                                       cmocka_unit_test(test_every_nos_is_a_system),
                                       cmocka_unit_test(test_names_in_a_sentence)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
