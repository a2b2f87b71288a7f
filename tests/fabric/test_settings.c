/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings: the example of 64 GPUs, what holds where the file is silent, which layer wins, and the
 * HPCC authors' values.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <glob.h>

#include "fabric/qos/headroom.h"
#include "fabric/switches.h"
#include "support.h"

#define HEAD "rocelab: 1\nlinks: {host: {rate: 100G, cable: 3m}, fabric: {rate: 400G, cable: 30m}}\n"
#define LEAF_SPINE HEAD "topology: {leaf-spine: {leaves: 2, spines: 2, hosts: 2}}\n"

static const struct fabric_settings *of(const struct fabric *fabric, const char *port)
{
    uint32_t index = fabric_find_port(fabric, port);
    if (index == FABRIC_NONE) fail_msg("no port %s", port);
    return &fabric->settings[fabric->port[index].settings];
}

static const struct fabric_switch *sw_of(const struct fabric *fabric, const char *name)
{
    return &fabric->sw[fabric_find_node(fabric, name) - fabric->hosts];
}

static const struct fabric_nic *nic_of(const struct fabric *fabric, const char *name)
{
    return &fabric->nic[fabric->endpoint[fabric_find_endpoint(fabric, name)].nic];
}

static void test_gpu_links(void **state)
{
    static const char head[] = "rocelab: 1\ntopology: {rail: {hosts: 2, gpus: 2, leaves: 2, spines: 1}}\n";
    static const char *const links[] = {"links: {host: {rate: 100G}}\n",
                                        "links: {host: {rate: 100G}, gpu: {rate: 900G, delay: 250ns}}\n",
                                        "links: {gpu: {delay: 3us}, host: {rate: 100G}}\n"};
    static const uint64_t rate[] = {3600000000000, 900000000000, 3600000000000};
    static const ps_t latency[] = {PS_US, 250 * PS_NS, 3 * PS_US};

    (void)state;
    for (int i = 0; i < 3; i++) {
        char text[400];
        snprintf(text, sizeof(text), "%s%s", head, links[i]);
        struct fabric *fabric = must_load("g.yaml", text);
        assert_int_equal(fabric->gpu_rate_bps, rate[i]);
        assert_int_equal(fabric->gpu_latency_ps, latency[i]);
        fabric_free(fabric);
    }
}

static void test_pod64(void **state)
{
    struct fabric *fabric = must_load(EXAMPLES "/pod64.yaml", NULL);
    const struct fabric_settings *up = of(fabric, "leaf0:8"), *down = of(fabric, "leaf0:0");

    (void)state;
    check_arrays(fabric, 0);
    check_routes(fabric, 0);
    assert_string_equal(fabric->name, "pod64");
    assert_int_equal(fabric->endpoints, 64);
    assert_int_equal(fabric->switches, 12);
    assert_int_equal(fabric->class_count, 3);
    assert_int_equal(fabric->behaviour, FABRIC_NATIVE);
    assert_int_equal(fabric->stop, PS_NEVER);
    assert_int_equal(down->dscp_to_tc[26], 3);
    assert_int_equal(down->dscp_to_tc[48], 6);
    assert_int_equal(down->dscp_to_tc[0], 0);
    assert_int_equal(down->lossless, 8);
    assert_int_equal(down->pfc_rx, 8);
    assert_int_equal(down->pfc_tx, 8);
    assert_true(down->queue[3].ecn.on && !down->queue[0].ecn.on);
    assert_int_equal(down->queue[3].ecn.min_bytes, 500000);
    assert_int_equal(down->queue[3].ecn.max_bytes, 1500000);
    assert_int_equal(down->queue[3].ecn.probability_ppm, 100000);
    assert_int_equal(down->queue[3].weight_bytes, 9 * 9216);
    assert_int_equal(down->queue[0].weight_bytes, 9216);
    assert_true(down->queue[6].strict);
    assert_int_equal(down->queue[3].alpha_num, 0);
    assert_int_equal(down->queue[0].alpha_num, 1);
    assert_true(down->pg[3].lossless && down->pg[3].dynamic);
    assert_int_equal(down->pg[3].alpha_num * 8, down->pg[3].alpha_den);
    assert_int_equal(down->pg[3].headroom_bytes, headroom_port(400000000000, 3000, 9216, 254) + 37 * 254);
    assert_int_equal(up->pg[3].headroom_bytes, headroom_port(400000000000, 30000, 9216, 254) + 37 * 254);
    assert_false(down->pg[0].lossless);
    assert_int_equal(down->pg[0].headroom_bytes, 0);
    assert_string_equal(sw_of(fabric, "spine3")->model, "tomahawk5");
    assert_int_equal(sw_of(fabric, "spine3")->buffer_bytes, 165867080);
    assert_int_equal(sw_of(fabric, "spine3")->cell_bytes, 254);
    assert_int_equal(sw_of(fabric, "leaf0")->headroom_sum_bytes,
                     8 * down->pg[3].headroom_bytes + 4 * up->pg[3].headroom_bytes);
    assert_true(sw_of(fabric, "leaf0")->hash_seed != sw_of(fabric, "leaf1")->hash_seed);
    assert_string_equal(nic_of(fabric, "h0")->congestion, "dcqcn/connectx");
    assert_int_equal(nic_of(fabric, "h0")->mtu_bytes, 4096);
    assert_int_equal(nic_of(fabric, "h0")->cnp_class, 1);
    assert_int_equal(fabric->jobs, 2);
    fabric_free(fabric);
}

static void test_defaults(void **state)
{
    struct fabric *fabric = must_load("d.yaml", LEAF_SPINE);
    const struct fabric_settings *port = of(fabric, "leaf0:0");

    (void)state;
    assert_int_equal(fabric->class_count, 3);
    assert_string_equal(fabric->classes[0].name, "rdma");
    assert_int_equal(port->queue[3].ecn.max_bytes, 1500000);
    assert_string_equal(sw_of(fabric, "leaf0")->model, "generic");
    assert_int_equal(sw_of(fabric, "leaf0")->latency_ps, 500000);
    assert_true(sw_of(fabric, "leaf0")->refresh_pauses);
    assert_int_equal(port->mtu_bytes, 9216);
    assert_int_equal(port->pause_quanta, 65535);
    assert_int_equal(port->trust, SW_TRUST_DSCP);
    /* Half of the standard's response time. */
    assert_int_equal(fabric->port[0].pause_reaction_ps, headroom_response_ps(100000000000) / 2);
    assert_int_equal(nic_of(fabric, "h0")->timeout, 14);
    assert_int_equal(fabric->seed, 1);
    fabric_free(fabric);
}

/* All switches, then the role, then the device, then the port. */
static void test_layers(void **state)
{
    struct fabric *fabric = must_load(
        "l.yaml", LEAF_SPINE "switches: {model: tomahawk4, mtu: 9000, trust: pcp, latency: 1us}\n"
                             "roles:\n"
                             "  leaf: {mtu: 8000, classes: {rdma: {alpha: 1/4}}, watchdog: true}\n"
                             "  spine: {model: spectrum4, cut-through: true}\n"
                             "  host: {mtu: 1024, pfc: false}\n"
                             "devices:\n"
                             "  leaf1:\n"
                             "    mtu: 7000\n"
                             "    buffer: 64MB\n"
                             "    classes: {rdma: {ecn: {min: 100KB, max: 200KB}, headroom: 500KB}}\n"
                             "    ports:\n"
                             "      2: {mtu: 6000, pfc: {tx: false}, cable: 2m}\n"
                             "      0-1: {classes: {rdma: {lossless: false}}}\n"
                             "  h3: {congestion: {use: hpcc/paper, eta: 0.9}, ports: {0: {recovery: selective}}}\n");
    const struct fabric_settings *leaf0 = of(fabric, "leaf0:0"), *leaf1 = of(fabric, "leaf1:3");
    const struct fabric_settings *port = of(fabric, "leaf1:2"), *lossy = of(fabric, "leaf1:1");

    (void)state;
    assert_int_equal(of(fabric, "spine0:0")->mtu_bytes, 9000);
    assert_int_equal(leaf0->mtu_bytes, 8000);
    assert_int_equal(leaf1->mtu_bytes, 7000);
    assert_int_equal(port->mtu_bytes, 6000);
    assert_int_equal(leaf0->trust, SW_TRUST_PCP);
    assert_int_equal(of(fabric, "h0:0")->trust, SW_TRUST_DSCP);
    assert_string_equal(sw_of(fabric, "leaf1")->model, "tomahawk4");
    assert_string_equal(sw_of(fabric, "spine1")->model, "spectrum4");
    assert_true(sw_of(fabric, "spine1")->cut_through && !sw_of(fabric, "leaf1")->cut_through);
    assert_true(fabric_watchdog_runs(&sw_of(fabric, "leaf1")->watchdog));
    /* Not written: taken to be there, and not simulated. */
    assert_true(sw_of(fabric, "spine1")->watchdog.on && !fabric_watchdog_runs(&sw_of(fabric, "spine1")->watchdog));
    assert_int_equal(sw_of(fabric, "leaf1")->buffer_bytes, 64000000);
    assert_int_equal(sw_of(fabric, "leaf0")->buffer_bytes, 113143792);
    assert_int_equal(sw_of(fabric, "spine0")->latency_ps, 1000000);
    assert_int_equal(leaf1->pg[3].alpha_den, 4);
    assert_int_equal(of(fabric, "spine0:0")->pg[3].alpha_den, 8);
    assert_int_equal(leaf1->queue[3].ecn.max_bytes, 200000);
    assert_int_equal(leaf1->queue[3].ecn.probability_ppm, 100000);
    assert_int_equal(leaf0->queue[3].ecn.max_bytes, 1500000);
    assert_true(leaf1->pg[3].headroom_given && !leaf0->pg[3].headroom_given);
    assert_int_equal(leaf1->pg[3].headroom_bytes, 500000);
    assert_int_equal(port->pfc_tx, 0);
    assert_int_equal(port->pfc_rx, 8);
    assert_int_equal(leaf1->pfc_tx, 8);
    assert_int_equal(lossy->lossless, 0);
    assert_int_equal(lossy->pfc_rx, 0);
    assert_int_equal(lossy->pg[3].headroom_bytes, 0);
    assert_int_equal(of(fabric, "h0:0")->pfc_rx, 0);
    /* A cable is one, whichever end's layer speaks of it. */
    assert_int_equal(fabric->port[fabric_find_port(fabric, "leaf1:2")].cable_mm, 2000);
    assert_int_equal(fabric->port[fabric->port[fabric_find_port(fabric, "leaf1:2")].peer].cable_mm, 2000);
    assert_int_equal(nic_of(fabric, "h0")->mtu_bytes, 1024);
    assert_string_equal(nic_of(fabric, "h3")->congestion, "hpcc/paper");
    assert_int_equal(nic_of(fabric, "h3")->params, 1);
    assert_string_equal(nic_of(fabric, "h3")->param[0].name, "eta");
    assert_string_equal(nic_of(fabric, "h3")->param[0].value, "0.9");
    assert_int_equal(nic_of(fabric, "h3")->recovery, NIC_SELECTIVE);
    assert_int_equal(nic_of(fabric, "h2")->params, 0);
    fabric_free(fabric);
}

static void test_class_keys(void **state)
{
    struct fabric *fabric = must_load(
        "c.yaml", LEAF_SPINE "classes:\n"
                             "  - {name: a, dscp: [30, 26], priority: 5, lossless: true, xoff: 100KB, xon: 10KB,\n"
                             "     reserved: 0, ecn: {min: 100KB, max: 400KB, probability: 20%, per: 100G}}\n"
                             "  - {name: b, dscp: 8, priority: 1, alpha: 0.5, limit: 2MB, share: 25%}\n"
                             "  - {name: c, priority: 2}\n"
                             "switches:\n"
                             "  dscp-map: {40: 5}\n"
                             "  queue-map: {2: 1}\n"
                             "  group-map: {5: 0}\n"
                             "  pause-reaction: 300ns\n");
    const struct fabric_settings *down = of(fabric, "leaf0:0"), *up = of(fabric, "leaf0:2");

    (void)state;
    assert_int_equal(fabric->classes[0].dscp, 30);
    assert_int_equal(down->dscp_to_tc[26], 5);
    assert_int_equal(down->dscp_to_tc[40], 5);
    assert_int_equal(down->dscp_to_tc[0], 2);
    assert_int_equal(down->tc_to_queue[2], 1);
    assert_int_equal(down->tc_to_pg[5], 0);
    assert_true(down->pg[0].lossless && !down->pg[0].dynamic);
    assert_int_equal(down->pg[0].static_bytes, 100000);
    assert_int_equal(down->pg[0].xon_offset_bytes, 10000);
    assert_int_equal(down->pg[0].reserved_bytes, 0);
    assert_int_equal(down->queue[5].ecn.max_bytes, 400000);
    assert_int_equal(up->queue[5].ecn.max_bytes, 1600000);
    assert_int_equal(up->queue[5].ecn.min_bytes, 400000);
    assert_int_equal(down->queue[1].limit_bytes, 2000000);
    assert_int_equal(down->queue[1].alpha_num * 2, down->queue[1].alpha_den);
    /* What b leaves: 75 % to a, the only other with a queue of its own. */
    assert_int_equal(down->queue[5].share_ppm, 750000);
    assert_int_equal(down->queue[5].weight_bytes, 3 * 9216);
    assert_int_equal(fabric->port[fabric_find_port(fabric, "leaf0:0")].pause_reaction_ps, 300000);
    fabric_free(fabric);
}

#define SMALL "rocelab: 1\ntopology: {single: {hosts: 2}}\nlinks: {host: {rate: 100G, cable: 3m}}\n"

static void test_system(void **state)
{
    struct fabric *v2 = must_load("v2.yaml", SMALL), *v1 = must_load("v1.yaml", SMALL "system: rocev1\n");
    struct fabric *said = must_load("said.yaml", SMALL "system: rocev1\nnics: {congestion: timely}\n"
                                                       "switches: {ecmp: {hash: [src]}, pfc: false}\n"
                                                       "roles: {leaf: {classes: {rdma: {ecn: false}}}}\n");

    (void)state;
    assert_int_equal(v2->system, FABRIC_ROCEV2);
    assert_int_equal(v1->system, FABRIC_ROCEV1);
    assert_true(of(v2, "leaf0:0")->queue[3].ecn.on && !of(v1, "leaf0:0")->queue[3].ecn.on);
    assert_int_equal(of(v1, "leaf0:0")->pfc_tx, 8);
    assert_int_equal(of(v1, "leaf0:0")->pg[3].headroom_bytes, of(v2, "leaf0:0")->pg[3].headroom_bytes);
    assert_string_equal(nic_of(v2, "h0")->congestion, "dcqcn/connectx");
    assert_string_equal(nic_of(v1, "h0")->congestion, "none");
    assert_int_equal(sw_of(v2, "leaf0")->hash_fields, SW_HASH_SRC | SW_HASH_DST | SW_HASH_SPORT);
    assert_int_equal(sw_of(v1, "leaf0")->hash_fields, SW_HASH_SRC | SW_HASH_DST);
    /* What the file says stays. */
    assert_string_equal(nic_of(said, "h0")->congestion, "timely");
    assert_int_equal(sw_of(said, "leaf0")->hash_fields, SW_HASH_SRC);
    assert_int_equal(of(said, "leaf0:0")->pfc_tx, 0);
    fabric_free(v2);
    fabric_free(v1);
    fabric_free(said);
}

/* Headers, and what the line adds, as bytes of a full packet and of an acknowledgement. */
static void test_system_rows(void **state)
{
    static const struct {
        uint8_t system;
        uint32_t overhead, ack;
    } row[] = {{FABRIC_ROCEV2, 82, 86},    {FABRIC_ROCEV1, 94, 98}, {FABRIC_INFINIBAND, 26, 30},
               {FABRIC_UET, 122, 90 + 20}, {FABRIC_TCP, 90, 90},    {FABRIC_IWARP, 98, 78}};

    (void)state;
    for (uint32_t i = 0; i < FABRIC_SYSTEMS; i++) {
        const struct fabric_system_row *from = &fabric_systems[row[i].system];
        uint32_t line = (uint32_t)from->line.before + from->line.after + from->line.gap;
        assert_int_equal(from->header_bytes + line, row[i].overhead);
        assert_int_equal(from->ack_bytes + line, row[i].ack);
        assert_string_equal(from->name, fabric_system_names[row[i].system]);
    }
}

/* Keys of another system: left out, and told. */
static void test_system_left_out(void **state)
{
    struct fabric_errors errors = {0}, left = {0};
    struct fabric_with with = {.left_out = &left};
    struct fabric *fabric = NULL;
    const char *text = SMALL "system: rocev1\n"
                             "nics: {mtu: 1024, cnp-class: cnp}\n"
                             "classes:\n"
                             "  - {name: rdma, priority: 3, lossless: true, ecn: {min: 1KB, max: 2KB}}\n"
                             "  - {name: cnp, priority: 6}\n";

    (void)state;
    assert_int_equal(fabric_load_with("left.yaml", text, &with, &fabric, &errors), 0);
    assert_int_equal(errors.count, 0);
    assert_int_equal(left.count, 2);
    assert_int_equal(left.error[0].at.line, 5);
    assert_int_equal(left.error[1].at.line, 7);
    assert_int_equal(nic_of(fabric, "h0")->mtu_bytes, 1024);
    assert_false(of(fabric, "leaf0:0")->queue[3].ecn.on);
    fabric_free(fabric);
}

static void test_hpcc(void **state)
{
    struct fabric *fabric = must_load("h.yaml", "rocelab: 1\n"
                                                "model: hpcc-ns3\n"
                                                "topology:\n"
                                                "  links:\n"
                                                "    hosts: [h3, h300]\n"
                                                "    switches: [sw7, sw8]\n"
                                                "    links: [[h3, sw7, 100G, 1us], [h300, sw8, 100G, 1us],\n"
                                                "            [sw7, sw8, 400G, 1us]]\n");
    const struct fabric_settings *down = of(fabric, "sw7:0"), *up = of(fabric, "sw7:1");

    (void)state;
    assert_int_equal(fabric->behaviour, FABRIC_HPCC_NS3);
    assert_int_equal(down->pg[3].headroom_bytes, 37500);
    assert_int_equal(up->pg[3].headroom_bytes, 150000);
    assert_int_equal(down->pg[3].alpha_den, 8);
    assert_int_equal(up->pg[3].alpha_den, 2);
    assert_int_equal(down->pg[3].reserved_bytes, 4096);
    assert_int_equal(down->pg[3].xon_offset_bytes, 3072);
    assert_int_equal(down->queue[3].ecn.min_bytes, 400000);
    assert_int_equal(up->queue[3].ecn.min_bytes, 1600000);
    assert_int_equal(up->queue[3].ecn.probability_ppm, 200000);
    assert_int_equal(sw_of(fabric, "sw7")->buffer_bytes, 33554432);
    assert_int_equal(sw_of(fabric, "sw7")->hash_seed, 7);
    assert_int_equal(sw_of(fabric, "sw7")->latency_ps, 0);
    assert_true(sw_of(fabric, "sw7")->mark_at_dequeue && !sw_of(fabric, "sw7")->refresh_pauses);
    assert_int_equal(fabric->port[0].pause_reaction_ps, 0);
    static const uint8_t address[] = {11, 1, 44, 1};
    assert_memory_equal(fabric->endpoint[1].address, address, 4);
    assert_int_equal(nic_of(fabric, "h3")->mtu_bytes, 1000);
    assert_int_equal(nic_of(fabric, "h3")->timeout, 0);
    assert_string_equal(nic_of(fabric, "h3")->congestion, "dcqcn/hpcc-sim");
    fabric_free(fabric);
}

/* A slow host's thresholds, given or by the mlx5 driver's rule. */
static void test_receive(void **state)
{
    struct fabric *fabric = must_load("r.yaml", LEAF_SPINE "nics: {receive: {rate: 50G, buffer: 1MB}}\n"
                                                           "devices:\n"
                                                           "  h1: {receive: {xoff: 200KB, xon: 100KB}}\n"
                                                           "  h2: {receive: {buffer: 20KB}}\n");
    uint64_t keep = headroom_mlx5(100000000000, 3000, 9216);

    (void)state;
    assert_int_equal(nic_of(fabric, "h0")->rx_rate_bps, 50000000000);
    assert_int_equal(nic_of(fabric, "h0")->rx_xoff_bytes, 1000000 - keep);
    assert_int_equal(nic_of(fabric, "h0")->rx_xon_bytes, 1000000 - keep - 9216);
    assert_int_equal(nic_of(fabric, "h1")->rx_xoff_bytes, 200000);
    assert_int_equal(nic_of(fabric, "h1")->rx_xon_bytes, 100000);
    assert_int_equal(nic_of(fabric, "h2")->rx_xoff_bytes, 10000);
    assert_int_equal(nic_of(fabric, "h2")->rx_xon_bytes, 5000);
    fabric_free(fabric);
}

static void test_examples(void **state)
{
    glob_t found;

    (void)state;
    assert_int_equal(glob(EXAMPLES "/*.yaml", 0, NULL, &found), 0);
    assert_true(found.gl_pathc >= 6);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct fabric *fabric = must_load(found.gl_pathv[i], NULL);
        check_arrays(fabric, i);
        check_routes(fabric, i);
        assert_true(fabric->jobs > 0);
        fabric_free(fabric);
    }
    globfree(&found);
}

/* A pool instead of headroom for each port. */
static void test_pool(void **state)
{
    struct fabric *fabric = must_load("p.yaml", "rocelab: 1\ntopology: {single: {hosts: 64}}\n"
                                                "links: {host: {rate: 800G, cable: 2km}}\n"
                                                "switches: {model: tomahawk5, headroom-pool: 40MB}\n");

    (void)state;
    assert_int_equal(sw_of(fabric, "leaf0")->headroom_pool_bytes, 40000000);
    assert_true(sw_of(fabric, "leaf0")->headroom_sum_bytes > sw_of(fabric, "leaf0")->buffer_bytes);
    fabric_free(fabric);
}

/* A product stands for its chip; systems have the names that people give them. */
static void test_names_people_use(void **state)
{
    static const struct {
        const char *written, *model;
    } product[] = {{"SN5600", "spectrum4"},
                   {"DCS-7060X6-64PE", "tomahawk5"},
                   {"sn4700", "spectrum3"},
                   {"N9K-C9364D-GX2A", "cloudscale-gx2a"},
                   {"tomahawk5", "tomahawk5"}};
    static const struct {
        const char *written;
        enum fabric_system system;
    } name[] = {{"ib", FABRIC_INFINIBAND}, {"InfiniBand", FABRIC_INFINIBAND}, {"roce", FABRIC_ROCEV2},
                {"RoCEv2", FABRIC_ROCEV2}, {"ultra-ethernet", FABRIC_UET},    {"tcp", FABRIC_TCP}};
    char text[400];

    (void)state;
    for (size_t i = 0; i < sizeof(product) / sizeof(product[0]); i++) {
        snprintf(text, sizeof(text), "%sswitches: {model: %s}\n", LEAF_SPINE, product[i].written);
        struct fabric *fabric = must_load("m.yaml", text);
        assert_string_equal(sw_of(fabric, "leaf0")->model, product[i].model);
        fabric_free(fabric);
    }
    for (size_t i = 0; i < sizeof(name) / sizeof(name[0]); i++) {
        snprintf(text, sizeof(text), "%ssystem: %s\n", LEAF_SPINE, name[i].written);
        struct fabric *fabric = must_load("s.yaml", text);
        assert_int_equal(fabric->system, name[i].system);
        fabric_free(fabric);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pod64),
        cmocka_unit_test(test_gpu_links),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_layers),
        cmocka_unit_test(test_class_keys),
        cmocka_unit_test(test_hpcc),
        cmocka_unit_test(test_system),
        cmocka_unit_test(test_system_rows),
        cmocka_unit_test(test_system_left_out),
        cmocka_unit_test(test_pool),
        cmocka_unit_test(test_receive),
        cmocka_unit_test(test_examples),
        cmocka_unit_test(test_names_people_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
