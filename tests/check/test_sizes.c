/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The deadlock proof of regular fabrics, where much is known from little: it says what a search of everything says,
 * its work grows with what differs and not with the size, and where it comes to its bound that is told.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base.h"
#include "check/deadlock.h"
#include "fabric/fabric.h"
#include "load/load.h"

#define LINKS "links: {host: {rate: 100G, cable: 3m}, fabric: {rate: 100G, cable: 30m}}\n"
#define TWO_CLASSES                                                                                                    \
    "classes:\n  - {name: default, priority: 0}\n  - {name: a, dscp: 26, priority: 3, lossless: true}\n"               \
    "  - {name: b, dscp: 27, priority: 4, lossless: true}\n"

static const char *const regular[] = {
    "fat-tree: {k: 4}}\n",
    "fat-tree: {k: 6, gpus: 2, hosts: 1}}\ndevices: {leaf0: {ports: {2: {up: false}, 3: {up: false}}}}\n",
    "fat-tree: {k: 6, hosts: 1}}\ndevices: {spine4: {ports: {0: {up: false}}}, core3: {ports: {1: {up: false}}}}\n",
    "leaf-spine: {leaves: 6, spines: 3, hosts: 2, uplinks: 6}}\n",
    "leaf-spine: {leaves: 5, spines: 1, hosts: 1}}\n",
    "leaf-spine: {leaves: 5, spines: 2, hosts: 1}}\ndevices: {leaf1: {ports: {1: {up: false}}}}\n",
    "leaf-spine: {leaves: 4, spines: 2, hosts: 1, planes: 2, nics: 2}}\n",
    "leaf-spine: {leaves: 3, spines: 2, hosts: 1, sites: 3, distance: 1km}}\n",
    "rail: {hosts: 8, gpus: 4, leaves: 8, spines: 2}}\ndevices: {leaf3: {ports: {4: {up: false}, 5: {up: false}}}}\n",
    "rail: {hosts: 4, gpus: 4, ways: 2, spines: 2}}\nswitches: {raise: bounce}\n" TWO_CLASSES,
    "fat-tree: {k: 4}}\ndevices: {spine0: {ports: {0: {up: false}}}}\nswitches: {raise: bounce}\n" TWO_CLASSES,
};

static struct fabric *loaded(const char *topology)
{
    char text[1024];
    struct fabric *fabric = NULL;
    struct fabric_errors errors = {0};

    snprintf(text, sizeof(text), "rocelab: 1\ntopology: {%s" LINKS, topology);
    if (fabric_load("test.yaml", text, &fabric, &errors) < 0) fail_msg("%s\n%s", errors.error[0].text, text);
    return fabric;
}

static void test_regular_fabrics_agree_with_a_search(void **state)
{
    uint32_t circles = 0, states = 0;

    (void)state;
    for (size_t f = 0; f < sizeof(regular) / sizeof(regular[0]); f++) {
        struct fabric *fabric = loaded(regular[f]);
        struct deadlock *d = NULL;
        struct deadlock_cycle cycle;
        const struct deadlock_failure *failure;
        assert_int_equal(deadlock_open(fabric, NULL, &d), 0);
        assert_int_equal(deadlock_circle(d, &cycle), deadlock_search(d, NULL, 0, &cycle));
        uint32_t count = deadlock_failures(d, &failure);
        for (uint32_t i = 0; i < count; i++) {
            struct deadlock_failure both[2] = {failure[i], failure[(i * 7 + 3) % count]};
            uint32_t pair = i == (i * 7 + 3) % count ? 1 : 2;
            for (uint32_t n = 1; n <= pair; n++, states++) {
                bool expected = deadlock_search(d, both, n, &cycle);
                if (deadlock_after(d, both, n, &cycle) != expected)
                    fail_msg("%u failures, %u first: a search says %d\n%s", n, i, expected, regular[f]);
                circles += expected;
            }
        }
        deadlock_free(d);
        fabric_free(fabric);
    }
    print_message("%u states, %u with a circle\n", states, circles);
    assert_true(circles > 0 && circles < states / 2);
}

/* Routes to one edge a pod, and no failure that has to be looked at: work is pods x ports. */
static void test_work_is_of_what_differs(void **state)
{
    static const struct {
        const char *topology;
        uint32_t rows;
    } cases[] = {
        {"fat-tree: {k: 16}}\n", 16},
        {"leaf-spine: {leaves: 64, spines: 16, hosts: 1}}\n", 1},
        {"rail: {hosts: 64, gpus: 8, leaves: 32, spines: 4}}\n", 1},
        /* One leaf is unlike its pod, and its pod's others are alike still. */
        {"fat-tree: {k: 16}}\ndevices: {leaf9: {ports: {8: {up: false}}}}\n", 17},
    };

    (void)state;
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        struct fabric *fabric = loaded(cases[c].topology);
        struct deadlock *d = NULL;
        struct deadlock_cycle cycle;
        const struct deadlock_failure *failure;
        assert_int_equal(deadlock_open(fabric, NULL, &d), 0);
        uint32_t count = deadlock_failures(d, &failure);
        for (uint32_t i = 0; i < count; i++)
            assert_false(deadlock_after(d, &failure[i], 1, &cycle));
        assert_int_equal(deadlock_steps(d), (uint64_t)cases[c].rows * (fabric->ports - fabric->endpoints));
        deadlock_free(d);
        fabric_free(fabric);
    }
}

/* Hosts on spines too: without its link to a leaf a spine has no other way down, whichever of the leaves it is. */
static void test_links_of_all_twins_are_looked_at(void **state)
{
    struct fabric *fabric =
        loaded("links: {hosts: 6, leaves: 3, spines: 3, links: [[h0, leaf0], [h1, leaf1], [h2, leaf2], [h3, spine0], "
               "[h4, spine1], [h5, spine2], [leaf0, spine0], [leaf0, spine1], [leaf0, spine2], [leaf1, spine0], "
               "[leaf1, spine1], [leaf1, spine2], [leaf2, spine0], [leaf2, spine1], [leaf2, spine2]]}}\n"
               "roles: {spine: {pfc: false}}\n");
    struct deadlock *d = NULL;
    struct deadlock_cycle cycle;
    const struct deadlock_failure *failure;

    (void)state;
    assert_int_equal(deadlock_open(fabric, NULL, &d), 0);
    assert_false(deadlock_circle(d, &cycle));
    uint32_t count = deadlock_failures(d, &failure);
    assert_int_equal(count, 9 + 6);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t before = deadlock_steps(d);
        assert_false(deadlock_after(d, &failure[i], 1, &cycle));
        assert_int_equal(deadlock_steps(d) - before, failure[i].port == FABRIC_NONE ? 0 : fabric->edges);
    }
    deadlock_free(d);
    fabric_free(fabric);
}

static uint64_t told;
static void count_told(const char *what, uint64_t done, uint64_t of_all)
{
    assert_non_null(what);
    assert_true(done < of_all);
    told++;
}

/* The first finding of the rule with this bound; NULL: none. */
static const char *said(const struct fabric *fabric, uint32_t failures, uint64_t steps, const char *rule,
                        char text[700], uint64_t *ret_states)
{
    struct check_options options = {.failures = failures, .proof_steps = steps, .tell = count_told};
    struct check check;
    const char *got = NULL;

    check_init(&check, fabric, NULL, &options);
    check_run(&check);
    for (uint32_t f = 0; f < check.findings && !got; f++) {
        if (strcmp(check_rules[check.finding[f].rule].id, rule) != 0) continue;
        assert_int_equal(check.finding[f].severity, CHECK_WARNING);
        snprintf(text, 700, "%s", check.finding[f].message);
        got = text;
    }
    *ret_states = check.states;
    check_release(&check);
    return got;
}

static void test_a_bound_that_is_reached_is_told(void **state)
{
    /* A leaf with one uplink that is left: its failures have to be looked at. */
    struct fabric *fabric = loaded("leaf-spine: {leaves: 12, spines: 1, hosts: 1}}\n");
    uint64_t states, routes = fabric->ports - fabric->endpoints;
    char text[700];

    (void)state;
    assert_null(said(fabric, 1, 0, "TOP001", text, &states));
    assert_int_equal(states, 1 + 12 + 13);
    assert_null(said(fabric, 1, 0, "TOP002", text, &states));
    assert_true(told > check_rule_count);

    const char *first = said(fabric, 1, routes - 1, "TOP001", text, &states);
    assert_non_null(first);
    assert_non_null(strstr(first, "not judged whether buffers can wait in a circle, as routed or after a failure"));
    assert_int_equal(states, 0);

    assert_null(said(fabric, 1, routes + 30, "TOP001", text, &states));
    const char *second = said(fabric, 1, routes + 30, "TOP002", text, &states);
    assert_non_null(second);
    assert_non_null(strstr(second, "judged are 3 of 25 states of routing after failures; the others are not"));
    assert_int_equal(states, 1 + 3);
    fabric_free(fabric);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_regular_fabrics_agree_with_a_search),
        cmocka_unit_test(test_work_is_of_what_differs),
        cmocka_unit_test(test_links_of_all_twins_are_looked_at),
        cmocka_unit_test(test_a_bound_that_is_reached_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
