/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builders: who is cabled to whom, how many paths there are, and what holds for all, on chosen and on
 * random topologies.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "fabric/routing.h"
#include "support.h"
#include "switch/config.h"

#define HEAD "rocelab: 1\nlinks: {host: {rate: 100G, cable: 3m}, fabric: {rate: 400G, cable: 30m}}\n"

static struct fabric *checked(const char *text)
{
    struct fabric *fabric = must_load("t.yaml", text);
    check_arrays(fabric, 0);
    check_routes(fabric, 0);
    return fabric;
}

static const struct fabric_port *at(const struct fabric *fabric, const char *name)
{
    uint32_t port = fabric_find_port(fabric, name);
    if (port == FABRIC_NONE) fail_msg("no port %s", name);
    return &fabric->port[port];
}

static void assert_cabled(const struct fabric *fabric, const char *a, const char *b)
{
    assert_int_equal(at(fabric, a)->peer, fabric_find_port(fabric, b));
}

static void test_single(void **state)
{
    struct fabric *fabric = checked(HEAD "topology: {single: {hosts: 3, nics: 2, gpus: 4}}\n");

    (void)state;
    assert_int_equal(fabric->hosts, 3);
    assert_int_equal(fabric->switches, 1);
    assert_int_equal(fabric->endpoints, 6);
    assert_int_equal(fabric->edges, 1);
    assert_int_equal(fabric->node[2].gpus, 4);
    assert_string_equal(fabric->node[3].name, "leaf0");
    assert_cabled(fabric, "h2:1", "leaf0:5");
    assert_int_equal(at(fabric, "h0:0")->propagation_ps, 15000);
    assert_int_equal(fabric_hops(fabric, 0, 5), 2);
    assert_int_equal(fabric_hops(fabric, 0, 1), 2);
    assert_int_equal(fabric->endpoint[5].address[0], 10);
    assert_int_equal(fabric->endpoint[5].address[3], 6);
    fabric_free(fabric);
}

static void test_dumbbell(void **state)
{
    struct fabric *fabric = checked(HEAD "topology: {dumbbell: {left: 3, right: 1, links: 2}}\n");

    (void)state;
    assert_int_equal(fabric->hosts, 4);
    assert_cabled(fabric, "h3:0", "leaf1:0");
    assert_cabled(fabric, "leaf0:3", "leaf1:1");
    assert_cabled(fabric, "leaf0:4", "leaf1:2");
    assert_int_equal(at(fabric, "leaf0:4")->rate_bps, 400000000000);
    assert_int_equal(at(fabric, "leaf0:4")->propagation_ps, 150000);
    assert_int_equal(count_paths(fabric, 0, 3), 2);
    assert_int_equal(fabric_hops(fabric, 0, 3), 3);
    assert_int_equal(fabric->node[0].pod, 0);
    assert_int_equal(fabric->node[3].pod, 1);
    fabric_free(fabric);
}

static void test_leaf_spine(void **state)
{
    struct fabric *fabric = checked(HEAD "topology: {leaf-spine: {leaves: 3, spines: 2, hosts: 4, uplinks: 4}}\n");

    (void)state;
    assert_int_equal(fabric->hosts, 12);
    assert_cabled(fabric, "h5:0", "leaf1:1");
    assert_cabled(fabric, "leaf1:4", "spine0:2");
    assert_cabled(fabric, "leaf1:5", "spine0:3");
    assert_cabled(fabric, "leaf1:7", "spine1:3");
    assert_int_equal(count_paths(fabric, 0, 11), 8);
    assert_int_equal(count_paths(fabric, 0, 1), 1);
    assert_int_equal(fabric_hops(fabric, 0, 11), 4);
    assert_int_equal(fabric->edges, 3);
    assert_int_equal(fabric->node[fabric_find_node(fabric, "spine0")].pod, FABRIC_NONE);
    fabric_free(fabric);

    /* 24 x 100G over 3:1 is 800G up: two links of 400G. */
    fabric = checked(HEAD "topology: {leaf-spine: {leaves: 2, hosts: 24, oversubscription: 3:1}}\n");
    assert_int_equal(fabric->switches, 4);
    assert_int_equal(fabric->node[fabric_find_node(fabric, "leaf0")].ports, 26);
    fabric_free(fabric);
    /* 1.5:1 of 24 x 100G is 1.6T: four links, two to each of two spines. */
    fabric = checked(HEAD "topology: {leaf-spine: {leaves: 2, spines: 2, hosts: 24, oversubscription: 1.5}}\n");
    assert_int_equal(fabric->node[fabric_find_node(fabric, "leaf0")].ports, 28);
    assert_int_equal(count_paths(fabric, 0, 47), 8);
    fabric_free(fabric);
}

static void test_rail(void **state)
{
    struct fabric *fabric = checked(HEAD "topology: {rail: {hosts: 4, gpus: 8, leaves: 8, spines: 4}}\n");

    (void)state;
    assert_int_equal(fabric->endpoints, 32);
    assert_cabled(fabric, "h2:5", "leaf5:2");
    assert_cabled(fabric, "leaf5:4", "spine0:5");
    assert_int_equal(fabric_hops(fabric, fabric_find_endpoint(fabric, "h0:5"), fabric_find_endpoint(fabric, "h3:5")),
                     2);
    assert_int_equal(fabric_hops(fabric, fabric_find_endpoint(fabric, "h0:5"), fabric_find_endpoint(fabric, "h3:4")),
                     4);
    assert_int_equal(fabric->node[0].gpus, 8);
    fabric_free(fabric);

    /* Two groups of two hosts with leaves of their own. */
    fabric = checked(HEAD "topology: {rail: {hosts: 4, gpus: 4, leaves: 8, spines: 2}}\n");
    assert_cabled(fabric, "h1:3", "leaf3:1");
    assert_cabled(fabric, "h2:3", "leaf7:0");
    assert_int_equal(fabric->node[2].pod, 1);
    assert_int_equal(fabric->node[fabric_find_node(fabric, "leaf7")].pod, 1);
    fabric_free(fabric);

    /* Two rails on a leaf. */
    fabric = checked(HEAD "topology: {rail: {hosts: 4, gpus: 4, leaves: 2, spines: 2}}\n");
    assert_cabled(fabric, "h1:1", "leaf0:3");
    assert_cabled(fabric, "h1:2", "leaf1:2");
    fabric_free(fabric);

    /* Rails without spines do not reach each other. */
    fabric = checked(HEAD "topology: {rail: {hosts: 4, gpus: 2, spines: 0}}\n");
    assert_true(fabric_reaches(fabric, 0, 2));
    assert_false(fabric_reaches(fabric, 0, 1));
    fabric_free(fabric);
}

static void test_fat_tree(void **state)
{
    (void)state;
    for (uint32_t k = 2; k <= 8; k += 2) {
        char text[256];
        uint32_t half = k / 2;
        snprintf(text, sizeof(text), HEAD "topology: {fat-tree: {k: %u}}\n", k);
        struct fabric *fabric = checked(text);

        assert_int_equal(fabric->hosts, k * k * k / 4);
        assert_int_equal(fabric->switches, 5 * k * k / 4);
        assert_int_equal(fabric->ports, fabric->hosts + fabric->switches * k);
        for (uint32_t s = 0; s < fabric->switches; s++)
            assert_int_equal(fabric->node[fabric->hosts + s].ports, k);
        for (uint32_t src = 0; src < fabric->endpoints; src++) {
            for (uint32_t dst = 0; dst < fabric->endpoints; dst++) {
                if (src == dst) continue;
                uint32_t pod = half * half;
                bool leaf = src / half == dst / half, same = src / pod == dst / pod;
                assert_int_equal(fabric_hops(fabric, src, dst), leaf ? 2 : same ? 4 : 6);
                assert_int_equal(count_paths(fabric, src, dst), leaf ? 1 : same ? half : half * half);
            }
        }
        for (uint32_t h = 0; h < fabric->hosts; h++)
            assert_int_equal(fabric->node[h].pod, h / (half * half));
        fabric_free(fabric);
    }
}

/* 8,192 hosts, 1,280 switches: routes stay small because they lead to edges. */
static void test_large(void **state)
{
    struct fabric *fabric = must_load("t.yaml", HEAD "topology: {fat-tree: {k: 32}}\n");

    (void)state;
    assert_int_equal(fabric->hosts, 8192);
    assert_int_equal(fabric->switches, 1280);
    assert_int_equal(fabric->edges, 512);
    check_arrays(fabric, 0);
    assert_int_equal(fabric_hops(fabric, 0, 8191), 6);
    assert_int_equal(count_paths(fabric, 0, 8191), 256);
    assert_true(fabric_memory_bytes(fabric) < 8000000);
    assert_true(fabric->settings_count <= 4);
    fabric_free(fabric);
}

static void test_explicit(void **state)
{
    struct fabric *fabric = checked("rocelab: 1\n"
                                    "topology:\n"
                                    "  links:\n"
                                    "    hosts: [alpha, beta-1, c.2]\n"
                                    "    switches: 2\n"
                                    "    gpus: 8\n"
                                    "    links:\n"
                                    "      - [alpha, sw0, 100G]\n"
                                    "      - [beta-1, sw1:7, 25G, 2km]\n"
                                    "      - [c.2, sw1, 1us, 10G]\n"
                                    "      - {a: sw0, b: sw1, rate: 400G, cable: 10m, count: 3}\n"
                                    "      - {a: sw0:9, b: sw1, delay: 2us, rate: 200G, errors: 0.1%}\n"
                                    "switches: {ecmp: {weighted: true}}\n");

    (void)state;
    assert_cabled(fabric, "alpha:0", "sw0:0");
    assert_cabled(fabric, "beta-1:0", "sw1:7");
    assert_cabled(fabric, "c.2:0", "sw1:0");
    assert_cabled(fabric, "sw0:9", "sw1:4");
    assert_int_equal(fabric->node[fabric_find_node(fabric, "sw0")].ports, 10);
    assert_int_equal(at(fabric, "sw0:5")->peer, FABRIC_NONE);
    assert_int_equal(at(fabric, "beta-1:0")->propagation_ps, 10000000);
    assert_int_equal(at(fabric, "c.2:0")->propagation_ps, 1000000);
    assert_int_equal(at(fabric, "c.2:0")->cable_mm, 200000);
    assert_int_equal(at(fabric, "sw1:4")->error_ppm, 1000);
    assert_int_equal(fabric->node[0].gpus, 8);
    assert_int_equal(fabric->node[fabric_find_node(fabric, "sw1")].number, 1);
    /* 3 x 400G and 200G: weights 2, 2, 2, 1. */
    const struct fabric_route *route = &fabric->route[0];
    assert_int_equal(route->groups, 1);
    assert_int_equal(route->group[0].count, 7);
    const uint16_t *ports = fabric->route_port + route->group[0].first;
    static const uint16_t expected[] = {1, 1, 2, 2, 3, 3, 9};
    assert_memory_equal(ports, expected, sizeof(expected));
    fabric_free(fabric);
}

/* Cores of a topology that is written out have links.core, as those of a fat tree. */
static void test_explicit_cores(void **state)
{
    struct fabric *fabric =
        checked("rocelab: 1\n"
                "topology: {links: {hosts: 2, leaves: 2, cores: 1, "
                "links: [[h0, leaf0], [h1, leaf1], [leaf0, leaf1], [leaf0, core0]]}}\n"
                "links: {host: {rate: 100G}, fabric: {rate: 200G}, core: {rate: 400G, cable: 9m}}\n");

    (void)state;
    assert_int_equal(at(fabric, "leaf0:1")->rate_bps, 200000000000);
    assert_int_equal(at(fabric, "core0:0")->rate_bps, 400000000000);
    assert_int_equal(at(fabric, "core0:0")->cable_mm, 9000);
    fabric_free(fabric);
}

/* An inner layer may say that a link has no errors. */
static void test_no_errors(void **state)
{
    struct fabric *fabric = checked("rocelab: 1\n"
                                    "topology: {leaf-spine: {leaves: 1, spines: 1, hosts: 3}}\n"
                                    "links: {host: {rate: 100G, errors: 1%}, fabric: {errors: 0%}}\n"
                                    "devices: {h1: {ports: {0: {errors: 0%}}}}\n");

    (void)state;
    assert_int_equal(at(fabric, "h0:0")->error_ppm, 10000);
    assert_int_equal(at(fabric, "h1:0")->error_ppm, 0);
    assert_int_equal(at(fabric, "leaf0:1")->error_ppm, 0);
    assert_int_equal(at(fabric, "spine0:0")->error_ppm, 0);
    fabric_free(fabric);
}

/* Two hosts on one cable: no edge, no route, and yet they reach each other. */
static void test_back_to_back(void **state)
{
    struct fabric *fabric = checked(HEAD "topology: {links: {hosts: 3, switches: 1, links: [[h0, h1], [h2, sw0]]}}\n"
                                         "jobs: [{flows: [{src: h0, dst: h1, size: 1MB}]}]\n");

    (void)state;
    assert_int_equal(fabric_hops(fabric, 0, 1), 1);
    assert_int_equal(fabric_hops(fabric, 0, 2), 0);
    assert_int_equal(fabric_hops(fabric, 2, 0), 0);
    fabric_free(fabric);
    fabric = checked(HEAD "topology: {links: {hosts: 2, links: [[h0, h1]]}}\n");
    assert_int_equal(fabric->switches, 0);
    assert_int_equal(fabric_hops(fabric, 1, 0), 1);
    fabric_free(fabric);
}

static void test_find(void **state)
{
    struct fabric *fabric = checked(HEAD "topology: {rail: {hosts: 2, gpus: 2, spines: 1}}\n");

    (void)state;
    assert_int_equal(fabric_find_endpoint(fabric, "h1"), 2);
    assert_int_equal(fabric_find_endpoint(fabric, "h1:1"), 3);
    assert_int_equal(fabric_find_endpoint(fabric, "h1:2"), FABRIC_NONE);
    assert_int_equal(fabric_find_endpoint(fabric, "leaf0"), FABRIC_NONE);
    assert_int_equal(fabric_find_endpoint(fabric, "leaf0:0"), FABRIC_NONE);
    assert_int_equal(fabric_find_node(fabric, "h"), FABRIC_NONE);
    assert_int_equal(fabric_find_port(fabric, "h1:"), FABRIC_NONE);
    assert_int_equal(fabric_find_port(fabric, "h1"), FABRIC_NONE);
    assert_int_equal(fabric_find_port(fabric, ""), FABRIC_NONE);
    fabric_free(fabric);
}

/* A link that is down is not on a route; nor is one that fails later, in the routes computed then. */
static void test_down(void **state)
{
    struct fabric *fabric = checked(HEAD "topology: {leaf-spine: {leaves: 2, spines: 3, hosts: 2}}\n"
                                         "devices: {spine1: {ports: {0: {up: false}}}}\n");
    struct fabric_routing *routing = NULL;
    uint8_t *down = calloc(fabric->ports, 1);

    (void)state;
    assert_int_equal(count_paths(fabric, 0, 3), 2);
    assert_false(at(fabric, "leaf0:3")->up);
    down[fabric_find_port(fabric, "spine2:1")] = 1;
    assert_int_equal(fabric_reroute(fabric, down, &routing), 0);
    assert_int_equal(routing->route[0].group[routing->route[0].group_of[1]].count, 1);
    assert_int_equal(routing->route_port[routing->route[0].group[routing->route[0].group_of[1]].first], 2);
    assert_int_equal(routing->route[0].own_edge, 0);
    fabric_routing_free(routing);
    down[fabric_find_port(fabric, "leaf0:2")] = 1;
    assert_int_equal(fabric_reroute(fabric, down, &routing), 0);
    assert_int_equal(routing->route[0].group_of[1], FABRIC_NO_GROUP);
    fabric_routing_free(routing);
    fabric_routing_free(NULL);
    free(down);
    fabric_free(fabric);
}

/* Hosts on random switches, links between random ones, some with counts, ports and rates. */
static void random_text(struct rng *rng, FILE *to)
{
    uint32_t hosts = 2 + (uint32_t)rng_below(rng, 12), switches = 1 + (uint32_t)rng_below(rng, 10);

    fprintf(to, HEAD "topology:\n  links:\n    hosts: %u\n    leaves: %u\n    links:\n", hosts, switches);
    for (uint32_t h = 0; h < hosts; h++)
        for (uint32_t n = 0; n <= rng_below(rng, 3); n++)
            fprintf(to, "      - [h%u, leaf%u]\n", h, (unsigned)rng_below(rng, switches));
    for (uint32_t l = (uint32_t)rng_below(rng, 3 * switches); switches > 1 && l > 0; l--) {
        uint32_t a = (uint32_t)rng_below(rng, switches),
                 b = (a + 1 + (uint32_t)rng_below(rng, switches - 1)) % switches;
        if (rng_below(rng, 4) == 0)
            fprintf(to, "      - [leaf%u:%u, leaf%u, %uG, %um]\n", a, 100 + l, b, 1u << rng_below(rng, 10),
                    1 + (unsigned)rng_below(rng, 99));
        else
            fprintf(to, "      - {a: leaf%u, b: leaf%u, count: %u}\n", a, b, 1 + (unsigned)rng_below(rng, 3));
    }
    if (rng_below(rng, 2)) fprintf(to, "switches: {ecmp: {weighted: true}}\n");
}

static void random_builder(struct rng *rng, FILE *to)
{
    uint32_t nics = 1 + (uint32_t)rng_below(rng, 4), hosts = 1 + (uint32_t)rng_below(rng, 6);
    uint32_t spines = 1 + (uint32_t)rng_below(rng, 5), each = 1 + (uint32_t)rng_below(rng, 2);

    fprintf(to, HEAD);
    switch (rng_below(rng, 5)) {
    case 0:
        fprintf(to, "topology: {single: {hosts: %u, nics: %u}}\n", hosts, nics);
        break;
    case 1:
        fprintf(to, "topology: {dumbbell: {hosts: %u, nics: %u, links: %u}}\n", hosts, nics, each);
        break;
    case 2:
        fprintf(to, "topology: {leaf-spine: {leaves: %u, spines: %u, hosts: %u, nics: %u, uplinks: %u}}\n",
                1 + (unsigned)rng_below(rng, 6), spines, hosts, nics, spines * each);
        break;
    case 3:
        fprintf(to, "topology: {rail: {hosts: %u, gpus: %u, leaves: %u, spines: %u, uplinks: %u}}\n", hosts, nics,
                nics * (1 + (unsigned)rng_below(rng, hosts)), spines, spines * each);
        break;
    default:
        fprintf(to, "topology: {fat-tree: {k: %u, hosts: %u, nics: %u}}\n", 2 + 2 * (unsigned)rng_below(rng, 3), hosts,
                nics);
    }
}

static void test_random(void **state)
{
    struct rng rng;

    (void)state;
    rng_init(&rng, test_seed(), 1);
    for (uint64_t step = 0; step < 400; step++) {
        char *text = NULL;
        size_t length;
        FILE *to = open_memstream(&text, &length);
        assert_non_null(to);
        if (step & 1)
            random_text(&rng, to);
        else
            random_builder(&rng, to);
        fclose(to);
        struct fabric *fabric = must_load("random.yaml", text);
        check_arrays(fabric, step);
        check_routes(fabric, step);
        if (!(step & 1)) check_valleys(fabric, step);
        for (uint32_t e = 1; e < fabric->endpoints; e++) {
            EXPECT(fabric_reaches(fabric, 0, e) == fabric_reaches(fabric, e, 0), step);
            EXPECT(fabric_hops(fabric, 0, e) == fabric_hops(fabric, e, 0), step);
            if (!(step & 1)) EXPECT(fabric_reaches(fabric, 0, e), step);
        }
        fabric_free(fabric);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_single),       cmocka_unit_test(test_dumbbell),  cmocka_unit_test(test_leaf_spine),
        cmocka_unit_test(test_rail),         cmocka_unit_test(test_fat_tree),  cmocka_unit_test(test_large),
        cmocka_unit_test(test_explicit),     cmocka_unit_test(test_no_errors), cmocka_unit_test(test_explicit_cores),
        cmocka_unit_test(test_back_to_back), cmocka_unit_test(test_find),      cmocka_unit_test(test_down),
        cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
