/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fabrics of AI clusters: rails on fewer leaves, planes, sites, a storage network.  Links are counted, cables
 * checked by name, routes against all shortest paths, and paths for valleys.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "fabric/routing.h"
#include "support.h"

#define HEAD                                                                                                           \
    "rocelab: 1\nswitches: {buffer: 1GB}\nlinks: {host: {rate: 400G, cable: 3m}, fabric: {rate: 400G, cable: 30m}}\n"

static struct fabric *checked(const char *text)
{
    struct fabric *fabric = must_load("n.yaml", text);

    check_arrays(fabric, 0);
    check_routes(fabric, 0);
    check_valleys(fabric, 0);
    return fabric;
}

static void assert_cabled(const struct fabric *fabric, const char *a, const char *b)
{
    uint32_t port = fabric_find_port(fabric, a);

    if (port == FABRIC_NONE) fail_msg("no port %s", a);
    char name[FABRIC_NAME];
    assert_string_equal(fabric_port_name(fabric, fabric->port[port].peer, name), b);
}

static uint32_t links(const struct fabric *fabric)
{
    uint32_t ends = 0;

    for (uint32_t p = 0; p < fabric->ports; p++)
        ends += fabric->port[p].peer != FABRIC_NONE;
    return ends / 2;
}

static uint32_t switches(const struct fabric *fabric, enum fabric_role role)
{
    uint32_t count = 0;

    for (uint32_t n = 0; n < fabric->nodes; n++)
        count += fabric->node[n].role == role;
    return count;
}

static uint32_t hops(const struct fabric *fabric, const char *a, const char *b)
{
    return fabric_hops(fabric, fabric_find_endpoint(fabric, a), fabric_find_endpoint(fabric, b));
}

/* Eight NICs on four leaves; two groups of hosts with four leaves each. */
static void test_four_ways(void **state)
{
    struct fabric *fabric =
        checked(HEAD "topology: {rail: {hosts: 8, gpus: 8, ways: 4, leaves: 8, oversubscription: 1}}\n");

    (void)state;
    assert_int_equal(switches(fabric, FABRIC_ROLE_LEAF), 8);
    assert_int_equal(switches(fabric, FABRIC_ROLE_SPINE), 8); /* four hosts, two NICs each, on a leaf */
    assert_int_equal(links(fabric), 8 * 8 + 8 * 8);
    assert_cabled(fabric, "h0:0", "leaf0:0");
    assert_cabled(fabric, "h0:1", "leaf0:1");
    assert_cabled(fabric, "h0:2", "leaf1:0");
    assert_cabled(fabric, "h3:7", "leaf3:7");
    assert_cabled(fabric, "h4:0", "leaf4:0");
    assert_cabled(fabric, "leaf7:8", "spine0:7");
    assert_int_equal(hops(fabric, "h0:0", "h3:1"), 2);
    assert_int_equal(hops(fabric, "h0:0", "h4:0"), 4);
    assert_int_equal(count_paths(fabric, 0, 32), 8);
    assert_int_equal(fabric->node[4].pod, 1);
    assert_int_equal(fabric->node[fabric_find_node(fabric, "leaf4")].pod, 1);
    fabric_free(fabric);

    /* As many leaves as ways where no leaves are given. */
    fabric = checked(HEAD "topology: {rail: {hosts: 4, gpus: 1, leaves: 3, spines: 1}}\n");
    assert_cabled(fabric, "h1:0", "leaf0:1");
    assert_cabled(fabric, "h2:0", "leaf1:0");
    assert_cabled(fabric, "h3:0", "leaf2:0"); /* no group is left without hosts */
    fabric_free(fabric);
    fabric = checked(HEAD "topology: {rail: {hosts: 2, gpus: 8, ways: 2, spines: 1}}\n");
    assert_int_equal(switches(fabric, FABRIC_ROLE_LEAF), 2);
    assert_cabled(fabric, "h1:7", "leaf1:7");
    fabric_free(fabric);
}

/* A NIC has a port on each plane; planes do not meet. */
static void test_planes(void **state)
{
    struct fabric *fabric =
        checked(HEAD "topology: {rail: {hosts: 4, gpus: 8, planes: 2, spines: 4, oversubscription: 1}}\n");

    (void)state;
    assert_int_equal(fabric->endpoints, 4 * 16);
    assert_int_equal(fabric->gpus, 4 * 8);
    assert_int_equal(switches(fabric, FABRIC_ROLE_LEAF), 16);
    assert_int_equal(switches(fabric, FABRIC_ROLE_SPINE), 8);
    assert_int_equal(links(fabric), 4 * 16 + 16 * 4);
    assert_cabled(fabric, "h0:0", "leaf0:0");
    assert_cabled(fabric, "h0:1", "leaf8:0");
    assert_cabled(fabric, "h3:14", "leaf7:3");
    assert_cabled(fabric, "h3:15", "leaf15:3");
    assert_cabled(fabric, "leaf15:4", "spine4:7");
    for (uint32_t g = 0; g < fabric->gpus; g++) {
        assert_int_equal(fabric->gpu_nic[g], 2 * g);
        assert_int_equal(fabric_gpu_nics(fabric, g), 2);
    }
    for (uint32_t a = 0; a < fabric->endpoints; a++)
        for (uint32_t b = 0; b < fabric->endpoints; b++)
            if (a != b) assert_int_equal(fabric_reaches(fabric, a, b), a % 2 == b % 2);
    fabric_free(fabric);

    fabric = checked(HEAD "topology: {leaf-spine: {leaves: 2, hosts: 2, nics: 2, planes: 2, spines: 2}}\n");
    assert_cabled(fabric, "h2:3", "leaf3:1");
    assert_cabled(fabric, "h2:2", "leaf1:1");
    assert_int_equal(fabric->node[fabric_find_node(fabric, "leaf3")].pod, fabric->node[2].pod);
    fabric_free(fabric);
}

/* Up, across, down: five links between hosts of two sites, and as many ways as spines. */
static void test_sites(void **state)
{
    struct fabric *fabric = checked(HEAD "topology: {leaf-spine: {leaves: 2, spines: 2, hosts: 2, sites: 2, distance: "
                                         "10km, site-links: 4}}\n");

    (void)state;
    assert_int_equal(fabric->hosts, 8);
    assert_int_equal(links(fabric), 8 + 2 * 4 + 4);
    assert_cabled(fabric, "h4:0", "leaf2:0");
    assert_cabled(fabric, "leaf2:2", "spine2:0");
    assert_cabled(fabric, "spine0:2", "spine2:2");
    assert_cabled(fabric, "spine1:3", "spine3:3");
    assert_int_equal(fabric->port[fabric_find_port(fabric, "spine0:2")].propagation_ps, 50 * PS_US);
    assert_int_equal(hops(fabric, "h0", "h2"), 4);
    assert_int_equal(hops(fabric, "h0", "h7"), 5);
    assert_int_equal(count_paths(fabric, 0, 7), 4);
    fabric_free(fabric);

    fabric = checked("rocelab: 1\nlinks: {host: {rate: 400G}, site: {rate: 100G, delay: 1ms}}\n"
                     "topology: {rail: {hosts: 2, gpus: 2, spines: 2, sites: 3}}\nswitches: {buffer: 2GB}\n");
    assert_int_equal(links(fabric), 3 * (4 + 4) + 3 * 2);
    assert_int_equal(hops(fabric, "h0:0", "h5:1"), 5);
    assert_int_equal(fabric->port[fabric_find_port(fabric, "spine0:3")].rate_bps, 100000000000);
    assert_int_equal(fabric->port[fabric_find_port(fabric, "spine0:3")].propagation_ps, PS_MS);
    fabric_free(fabric);
}

/* Hosts share it and nothing else; the names of the main network stay. */
static void test_storage(void **state)
{
    struct fabric *fabric = checked("rocelab: 1\nlinks: {host: {rate: 400G}, storage: {rate: 200G, cable: 10m}}\n"
                                    "topology:\n  rail: {hosts: 4, gpus: 8, nics: 4, spines: 2}\n"
                                    "  storage: {hosts: 3, leaves: 2, spines: 1}\n");

    (void)state;
    assert_int_equal(fabric->hosts, 7);
    assert_int_equal(fabric->storage_hosts, 3);
    assert_int_equal(links(fabric), 4 * 4 + 4 * 2 + 7 + 2);
    assert_int_equal(fabric->gpus, 32);
    assert_int_equal(fabric->node[0].gpu_ports, 4);
    assert_int_equal(fabric->node[0].ports, 5);
    assert_int_equal(fabric->gpu_nic[7], 3);
    assert_int_equal(fabric->gpu_nic[8], 5);
    assert_int_equal(fabric->node[6].gpus, 0);
    assert_string_equal(fabric->node[4].name, "store0");
    assert_cabled(fabric, "h0:3", "leaf3:0");
    assert_cabled(fabric, "h0:4", "storage-leaf0:0");
    assert_cabled(fabric, "h3:4", "storage-leaf1:1");
    assert_cabled(fabric, "store2:0", "storage-leaf1:2");
    assert_cabled(fabric, "storage-leaf1:3", "storage-spine0:1");
    assert_int_equal(fabric->port[fabric_find_port(fabric, "h0:4")].rate_bps, 200000000000);
    assert_true(fabric_reaches(fabric, fabric_find_endpoint(fabric, "h0:4"), fabric_find_endpoint(fabric, "store2")));
    assert_false(fabric_reaches(fabric, fabric_find_endpoint(fabric, "h0:0"), fabric_find_endpoint(fabric, "store2")));
    assert_false(fabric_reaches(fabric, fabric_find_endpoint(fabric, "h0:0"), fabric_find_endpoint(fabric, "h1:4")));
    fabric_free(fabric);

    /* Uplinks from the rates: four compute hosts and two of storage at 400G on the only leaf, 3:1. */
    fabric =
        checked(HEAD "topology: {fat-tree: {k: 4, hosts: 1}, storage: {hosts: 4, leaves: 2, oversubscription: 3}}\n");
    assert_int_equal(fabric->node[fabric_find_node(fabric, "storage-leaf0")].ports, 4 + 2 + 2);
    assert_int_equal(switches(fabric, FABRIC_ROLE_SPINE), 8 + 2);
    fabric_free(fabric);
}

static void random_network(struct rng *rng, char *text, size_t size)
{
    uint32_t ways = 1u << rng_below(rng, 3), nics = ways * (1 + (uint32_t)rng_below(rng, 3));
    uint32_t groups = 1 + (uint32_t)rng_below(rng, 3), hosts = groups * (1 + (uint32_t)rng_below(rng, 3));
    uint32_t spines = 1 + (uint32_t)rng_below(rng, 3), planes = 1 + (uint32_t)rng_below(rng, 2);
    char sites[80] = "", storage[120] = "";

    if (rng_below(rng, 2))
        snprintf(sites, sizeof(sites), ", sites: %u, distance: 1km, site-links: %u", 2 + (unsigned)rng_below(rng, 2),
                 spines * (1 + (unsigned)rng_below(rng, 2)));
    if (rng_below(rng, 2))
        snprintf(storage, sizeof(storage), ", storage: {hosts: %u, leaves: %u, spines: %u, nics: %u}",
                 1 + (unsigned)rng_below(rng, 4), 1 + (unsigned)rng_below(rng, 3), 1 + (unsigned)rng_below(rng, 3),
                 1 + (unsigned)rng_below(rng, 2));
    if (rng_below(rng, 2))
        snprintf(text, size,
                 HEAD "topology: {rail: {hosts: %u, nics: %u, ways: %u, leaves: %u, spines: %u, planes: %u%s}%s}\n",
                 hosts, nics, ways, ways * groups, spines, planes, sites, storage);
    else
        snprintf(text, size,
                 HEAD "topology: {leaf-spine: {leaves: %u, hosts: %u, nics: %u, spines: %u, planes: %u%s}%s}\n", groups,
                 1 + hosts / groups, nics, spines, planes, sites, storage);
}

/* All hosts that share a plane reach each other, and nothing of storage. */
static void test_random(void **state)
{
    struct rng rng;

    (void)state;
    rng_init(&rng, test_seed(), 7);
    for (uint64_t step = 0; step < 120; step++) {
        char text[600];
        random_network(&rng, text, sizeof(text));
        struct fabric *fabric = must_load("random.yaml", text);
        uint32_t last = fabric->hosts - fabric->storage_hosts - 1;
        check_arrays(fabric, step);
        check_routes(fabric, step);
        check_valleys(fabric, step);
        EXPECT(fabric_reaches(fabric, 0, fabric->first_endpoint[last]) || last == 0, step);
        if (fabric->storage_hosts) {
            uint32_t store = fabric->first_endpoint[fabric->hosts - 1];
            EXPECT(!fabric_reaches(fabric, 0, store), step);
            EXPECT(fabric_reaches(fabric, fabric->node[0].gpu_ports, store), step);
        }
        fabric_free(fabric);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_four_ways), cmocka_unit_test(test_planes),
                                       cmocka_unit_test(test_sites), cmocka_unit_test(test_storage),
                                       cmocka_unit_test(test_random)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
