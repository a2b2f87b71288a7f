/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is cabled to what: containerlab files, lldpctl's output, the cabling plan and the bill of materials; and the
 * reader of lines under NX-OS and EOS.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "config/cabling.h"
#include "config/lines.h"
#include "config/testing.h"
#include "load/load.h"

static void read_text(struct config_set *set, const char *path, const char *text)
{
    struct fabric_errors errors = {0};

    if (config_read(set, NULL, path, text, strlen(text), NULL, &errors) == 0) return;
    fabric_errors_print(&errors, stderr);
    fail_msg("%s is not read", path);
}

static struct fabric *finish(struct config_set *set)
{
    struct fabric_errors errors = {0};
    struct origin_map map;
    struct fabric *fabric = NULL;
    const char *text = NULL;

    assert_int_equal(config_write(set, "lab", &text, &map), 0);
    if (fabric_load("lab", text, &fabric, &errors) != 0) {
        fabric_errors_print(&errors, stderr);
        fail_msg("does not load:\n%s", text);
    }
    return fabric;
}

static void joined(const struct fabric *fabric, const char *one, const char *other)
{
    uint32_t a = fabric_find_port(fabric, one), b = fabric_find_port(fabric, other);

    assert_int_not_equal(a, FABRIC_NONE);
    assert_int_not_equal(b, FABRIC_NONE);
    if (fabric->port[a].peer != b) fail_msg("%s is not cabled to %s", one, other);
}

#define EOS_LEAF "qos profile R\n   qos trust dscp\ninterface Ethernet1\n   service-profile R\ninterface Ethernet2\n"

static void test_clab(void **state)
{
    struct config_set set;

    (void)state;
    config_set_init(&set);
    read_text(&set, "leaf1.cfg", EOS_LEAF);
    read_text(&set, "lab.clab.yml",
              "name: lab\ntopology:\n  nodes:\n    leaf1: {kind: arista_ceos}\n    spine1: {kind: arista_ceos}\n"
              "    h1: {kind: linux}\n    br0: {kind: bridge}\n  links:\n"
              "    - endpoints: [\"leaf1:eth2\", \"spine1:eth1\"]\n"
              "    - type: veth\n      endpoints:\n        - {node: leaf1, interface: eth1}\n"
              "        - {node: h1, interface: eth1}\n"
              "    - endpoints: [\"br0:eth1\", \"h1:eth2\"]\n"
              "    - endpoints: [\"leaf1:eth2\", \"h1:eth3\"]\n");
    struct fabric *fabric = finish(&set);
    joined(fabric, "leaf1:1", "spine1:0"); /* eth2 is Ethernet2, the second port */
    joined(fabric, "leaf1:0", "h1:0");
    unsigned left_out = 0;
    for (uint32_t n = 0; n < set.notes; n++)
        left_out += !set.note[n].rule && set.note[n].at.source == 1;
    assert_true(left_out >= 3); /* the bridge, its link, the second link of a port */
    fabric_free(fabric);
    config_set_release(&set);
}

static void test_lldp(void **state)
{
    struct config_set set;

    (void)state;
    config_set_init(&set);
    read_text(&set, "leaf1.cfg", EOS_LEAF);
    read_text(&set, "h7.json",
              "{\"lldp\": {\"interface\": [\n"
              "  {\"ens1\": {\"via\": \"LLDP\", \"chassis\": {\"leaf1\": {\"id\": {\"type\": \"mac\", \"value\": "
              "\"00:1c\"},\n"
              "    \"capability\": [{\"type\": \"Bridge\", \"enabled\": true}]}},\n"
              "    \"port\": {\"id\": {\"type\": \"ifname\", \"value\": \"Ethernet1\"}, \"descr\": \"to h7\"}}},\n"
              "  {\"ens2\": {\"chassis\": {\"spine9\": {\"capability\": {\"type\": \"Router\", \"enabled\": true}}},\n"
              "    \"port\": {\"id\": {\"type\": \"mac\", \"value\": \"00:1c\"}, \"descr\": \"Ethernet5\"}}},\n"
              "  {\"ens3\": {\"chassis\": {\"id\": {\"type\": \"mac\", \"value\": \"00:1d\"}}}}]}}\n");
    struct fabric *fabric = finish(&set);
    joined(fabric, "h7:0", "leaf1:0");
    joined(fabric, "h7:1", "spine9:0");
    assert_int_equal(fabric->node[fabric_find_node(fabric, "spine9")].kind, FABRIC_SWITCH);
    assert_int_equal(fabric->node[fabric_find_node(fabric, "h7")].kind, FABRIC_HOST);
    fabric_free(fabric);
    config_set_release(&set);
}

static void test_not_links(void **state)
{
    (void)state;
    refused(&config_clab, "a: 1\n", 5, "no topology.nodes");
    refused(&config_lldp, "{}", 2, "no lldp.interface");
    refused(&config_lldp, "{\"lldp\": ", 9, "");
    refused(NULL, "hello world\n", 12, "not plain");
}

struct plan {
    unsigned cables, rails, known;
    uint64_t switches, hosts, long_cables;
    char first[256];
};

static void count_cable(void *to, const struct cabling_row *row)
{
    struct plan *plan = to;

    if (plan->cables++ == 0)
        snprintf(plan->first, sizeof(plan->first), "%s %.20s %.20s %.20s %s %s", row->rail, row->nic, row->leaf,
                 row->port, row->rate, row->length);
    plan->rails += row->rail[0] != 0;
    plan->known += row->length_known;
}

static void count_part(void *to, const struct bom_row *row)
{
    struct plan *plan = to;

    if (strcmp(row->part, "switch") == 0) plan->switches += row->count;
    if (strcmp(row->part, "host") == 0) plan->hosts += row->count;
    if (strcmp(row->part, "cable") == 0 && strcmp(row->what, "400G, 30m") == 0) plan->long_cables += row->count;
}

static void test_plan(void **state)
{
    static const char text[] = "rocelab: 1\ntopology: {rail: {hosts: 4, gpus: 2, leaves: 2, spines: 2}}\n"
                               "links: {host: {rate: 400G, cable: 3m}, fabric: {rate: 400G, cable: 30m}}\n"
                               "switches: {nos: eos}\n";
    struct fabric_errors errors = {0};
    struct fabric *fabric;
    struct plan plan = {0};

    (void)state;
    assert_int_equal(fabric_load("plan", text, &fabric, &errors), 0);
    cabling_each(fabric, NULL, count_cable, &plan);
    assert_int_equal(bom_each(fabric, count_part, &plan), 0);
    assert_int_equal(plan.cables, 4 * 2 + 2 * 2);
    assert_int_equal(plan.rails, 8);
    assert_int_equal(plan.known, 12);
    assert_string_equal(plan.first, "0 h0:0 leaf0 Ethernet1 400G 3m");
    assert_int_equal(plan.switches, 4);
    assert_int_equal(plan.hosts, 4);
    assert_int_equal(plan.long_cables, 4);
    fabric_free(fabric);
}

static void join_name(void *to, const char *name)
{
    char *text = to;
    size_t used = strlen(text);

    snprintf(text + used, 256 - used, "%s ", name);
}

static void test_lines(void **state)
{
    static const struct {
        const char *range, *names;
    } ranges[] = {{"Ethernet1/1-3", "Ethernet1/1 Ethernet1/2 Ethernet1/3 "},
                  {"Ethernet1,3", "Ethernet1 Ethernet3 "},
                  {"Ethernet2/5/1", "Ethernet2/5/1 "},
                  {"Ethernet1/9-1/10,Ethernet1/12", "Ethernet1/9 Ethernet1/10 Ethernet1/12 "},
                  {"Ethernet5-4", NULL},
                  {"Ethernet", NULL},
                  {"Ethernet1-99999", NULL},
                  {"1/1", NULL}};
    uint64_t bits = 0, nano = 0;

    (void)state;
    for (size_t r = 0; r < sizeof(ranges) / sizeof(ranges[0]); r++) {
        char names[256] = "";
        bool good = lines_interfaces(ranges[r].range, join_name, names);
        assert_int_equal(good, ranges[r].names != NULL);
        if (good) assert_string_equal(names, ranges[r].names);
    }
    assert_true(lines_bits("24-26,48", 64, &bits));
    assert_true(bits == ((UINT64_C(7) << 24) | (UINT64_C(1) << 48)));
    assert_false(lines_bits("64", 64, &bits));
    assert_false(lines_bits("3-", 8, &bits));
    assert_true(line_decimal("0.20", &nano) && nano == 200000000);
    assert_true(line_decimal("10.001", &nano) && nano == 10001000000ull);
    assert_false(line_decimal(".", &nano));
    assert_false(line_decimal("1.2.3", &nano));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clab), cmocka_unit_test(test_lldp),  cmocka_unit_test(test_not_links),
        cmocka_unit_test(test_plan), cmocka_unit_test(test_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
