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

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config/bom.h"
#include "config/cabling.h"
#include "config/ends.h"
#include "config/lines/lines.h"
#include "config/testing.h"
#include "fabric/switches.h"
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

    config_write(set, "lab", &text, &map);
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

static bool is_unjudged(const struct config_set *set, const char *rule, const char *device)
{
    for (uint32_t u = 0; u < set->unjudgeds; u++)
        if (strcmp(set->unjudged[u].rule, rule) == 0 && strcmp(set->device[set->unjudged[u].device].name, device) == 0)
            return true;
    return false;
}

#define RATES_LAB(speed)                                                                                               \
    "version 10.3(3)\nfeature bgp\nhostname leaf1\nclass-map type qos match-any R\n  match dscp 26\ninterface "        \
    "Ethernet1/1\n  description h1:eth0\n"                                                                             \
    "  no shutdown\n" speed "interface Ethernet1/2\n  description spine1:Ethernet1/1\n  no shutdown\n"
#define RATES_SPINE                                                                                                    \
    "version 10.3(3)\nfeature bgp\nhostname spine1\nclass-map type qos match-any R\n  match dscp 26\ninterface "       \
    "Ethernet1/1\n  no shutdown\n"
#define RATES_HOST "host=h1\nmlnx_qos -i eth0 --trust dscp\nmlnx_qos -i eth1 --trust dscp\n"

/* What no text says of a rate is as on most ports of the device, and what would compare it finds nothing. */
static void test_rates_that_nobody_says(void **state)
{
    struct config_set set;

    (void)state;
    config_set_init(&set);
    read_text(&set, "leaf1.cfg", RATES_LAB("  speed 400000\n"));
    read_text(&set, "spine1.cfg", RATES_SPINE);
    read_text(&set, "h1.sh", RATES_HOST);
    struct fabric *fabric = finish(&set);
    joined(fabric, "leaf1:0", "h1:0");
    for (uint32_t p = 0; p < fabric->ports; p++)
        assert_int_equal(fabric->port[p].rate_bps, 400000000000);
    assert_true(is_unjudged(&set, "TOP005", "leaf1"));
    for (uint32_t n = 0; n < set.notes; n++)
        if (strstr(set.note[n].message, "the rate of its ports is not said"))
            assert_string_equal(set.note[n].device, "spine1"); /* the host's is its switch's */
    fabric_free(fabric);
    config_set_release(&set);
}

/* Two texts of one switch cannot both be right; a patch, and parts of a host that agree, may say a thing again. */
static void test_one_name_twice(void **state)
{
    static const char db[] = "{\"DEVICE_METADATA\": {\"localhost\": {\"hostname\": \"s1\"}},\n"
                             "\"PORT\": {\"Ethernet0\": {\"mtu\": \"9100\", \"speed\": \"100000\"}}}\n";
    static const char patch[] = "[{\"op\": \"replace\", \"path\": \"/PORT/Ethernet0/mtu\", \"value\": \"1500\"}]\n";
    struct fabric_errors errors = {0};
    struct config_set set;

    (void)state;
    config_set_init(&set);
    read_text(&set, "a.cfg", RATES_LAB("  speed 400000\n"));
    assert_int_equal(config_read(&set, NULL, "b.cfg", RATES_LAB(""), strlen(RATES_LAB("")), NULL, &errors), -EINVAL);
    assert_int_equal(errors.count, 1);
    assert_non_null(
        strstr(errors.error[0].text, "leaf1 is a device of a.cfg too, and both say the mtu of Ethernet1/1"));
    read_text(&set, "spine1.cfg", RATES_SPINE); /* what was told of another file is not told again */
    config_set_release(&set);
    for (int patch_first = 0; patch_first < 2; patch_first++) {
        config_set_init(&set);
        const char *text[2] = {patch_first ? patch : db, patch_first ? db : patch};
        for (int i = 0; i < 2; i++)
            assert_int_equal(config_read(&set, &config_sonic, i ? "other/s1.json" : "s1.json", text[i], strlen(text[i]),
                                         NULL, &errors),
                             0);
        config_set_release(&set);
    }
    config_set_init(&set);
    read_text(&set, "h1.sh", "host=h1\nmlnx_qos -i eth0 --trust dscp\nip link set dev eth0 mtu 9000\n");
    read_text(&set, "more.sh", "host=h1\nmlnx_qos -i eth0 --pfc 0,0,0,1,0,0,0,0\nip link set dev eth0 mtu 9000\n");
    const char *other = "host=h1\nmlnx_qos -i eth0 --trust dscp\nip link set dev eth0 mtu 1500\n";
    assert_int_equal(config_read(&set, NULL, "odd.sh", other, strlen(other), NULL, &errors), -EINVAL);
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

#define NXOS_PORT(name, lines) "interface Ethernet1/" name "\n  no switchport\n  no shutdown\n" lines
#define NXOS_BEGIN "version 10.3(3)\nfeature bgp\n"

/* Two ports of different devices in a subnet for two are cabled to each other; IPv4 and IPv6, of any system. */
static void test_addresses(void **state)
{
    struct config_set set;

    (void)state;
    config_set_init(&set);
    read_text(&set, "leaf1.cfg",
              NXOS_BEGIN "hostname leaf1\n" NXOS_PORT("1", "  ip address 10.0.0.0/31\n")
                  NXOS_PORT("2", "  ipv6 address 2001:db8::4/127\n  ip address 192.0.2.1/24\n")
                      NXOS_PORT("3", "  ip address 10.0.1.1/30\n") NXOS_PORT("4", "  ip address 10.0.0.4/31\n"));
    read_text(&set, "spine1.cfg",
              "! device: spine1 (DCS-7060X6-64PE, EOS-4.32.0F)\nhostname spine1\nqos profile R\n   qos trust dscp\n"
              "interface Ethernet5/1\n   service-profile R\n   no switchport\n   ip address 10.0.0.1/31\n"
              "interface Ethernet6/1\n   no switchport\n   ipv6 address 2001:db8::5/127\n"
              "interface Ethernet8/1\n   no switchport\n   ip address 192.0.2.2/24\n");
    read_text(&set, "spine2.json",
              "{\"DEVICE_METADATA\": {\"localhost\": {\"hostname\": \"spine2\"}},\n"
              " \"PORT\": {\"Ethernet0\": {\"lanes\": \"1\", \"speed\": \"100000\", \"admin_status\": \"up\"}},\n"
              " \"INTERFACE\": {\"Ethernet0\": {}, \"Ethernet0|10.0.1.2/30\": {}}}\n");
    read_text(
        &set, "spine3.yaml",
        "- set:\n    system:\n      hostname: spine3\n    interface:\n      swp1:\n        ip:\n          address:\n"
        "            10.0.0.5/31: {}\n        type: swp\n");
    struct fabric *fabric = finish(&set);
    joined(fabric, "leaf1:0", "spine1:0");
    joined(fabric, "leaf1:1", "spine1:1");
    joined(fabric, "leaf1:2", "spine2:0");
    joined(fabric, "leaf1:3", "spine3:0");
    assert_int_equal(set.links, 4); /* a /24 joins nobody */
    for (uint32_t n = 0; n < set.notes; n++)
        assert_false(set.note[n].rule && strcmp(set.note[n].rule, "TOP007") == 0);
    fabric_free(fabric);
    config_set_release(&set);
}

static unsigned disagreeing(const struct config_set *set, uint32_t source, uint32_t line)
{
    unsigned found = 0;

    for (uint32_t n = 0; n < set->notes; n++)
        found += set->note[n].rule && strcmp(set->note[n].rule, "TOP007") == 0 && set->note[n].at.source == source &&
                 set->note[n].at.line == line;
    return found;
}

/* Three ports in one /31, one address twice, and a subnet against a description: told, and no link of it. */
static void test_ends_that_disagree(void **state)
{
    struct config_set set;

    (void)state;
    config_set_init(&set);
    read_text(&set, "leaf1.cfg",
              NXOS_BEGIN "hostname leaf1\n" NXOS_PORT("1", "  ip address 10.0.0.0/31\n")
                  NXOS_PORT("2", "  ip address 10.0.0.2/31\n")
                      NXOS_PORT("3", "  description spine1:Ethernet1/3\n  ip address 10.0.0.4/31\n")
                          NXOS_PORT("4", "  ip address 10.0.0.6/31\n"));
    read_text(&set, "spine1.cfg",
              NXOS_BEGIN "hostname spine1\n" NXOS_PORT("1", "  ip address 10.0.0.1/31\n")
                  NXOS_PORT("2", "  ip address 10.0.0.2/31\n") NXOS_PORT("3", "")
                      NXOS_PORT("4", "  ip address 10.0.0.7/31\n"));
    read_text(&set, "spine2.cfg",
              NXOS_BEGIN "hostname spine2\n" NXOS_PORT("1", "  ip address 10.0.0.1/31\n") NXOS_PORT("2", "")
                  NXOS_PORT("3", "  ip address 10.0.0.5/31\n")
                      NXOS_PORT("4", "  ip address 10.0.0.7/31\n  shutdown\n"));
    struct fabric *fabric = finish(&set);
    assert_int_equal(disagreeing(&set, 2, 7), 1);  /* the third port of 10.0.0.0/31 */
    assert_int_equal(disagreeing(&set, 1, 11), 1); /* 10.0.0.2 twice */
    assert_int_equal(disagreeing(&set, 0, 16), 1); /* described as spine1's, in a subnet with spine2's */
    joined(fabric, "leaf1:2", "spine1:2");
    joined(fabric, "leaf1:3", "spine1:3"); /* the other one is shut */
    assert_int_equal(set.links, 2);
    fabric_free(fabric);
    config_set_release(&set);
}

/* Two switches without a host, all of whose ports are linked: the fabric loads all the same. */
static void test_no_host(void **state)
{
    struct config_set set;

    (void)state;
    config_set_init(&set);
    read_text(&set, "leaf1.cfg",
              NXOS_BEGIN "hostname leaf1\n" NXOS_PORT("1", "  mtu 9216\n  ip address 10.0.0.0/31\n"));
    read_text(&set, "leaf2.cfg",
              NXOS_BEGIN "hostname leaf2\n" NXOS_PORT("1", "  mtu 9216\n  ip address 10.0.0.1/31\n"));
    struct fabric *fabric = finish(&set);
    joined(fabric, "leaf1:0", "leaf2:0");
    assert_true(fabric_node_unknown(fabric, fabric_find_node(fabric, "unknown.leaf1")));
    assert_int_equal(fabric->settings[fabric->port[fabric_find_port(fabric, "leaf2:0")].settings].mtu_bytes, 9216);
    assert_false(ends_unknown(&set, 0, 1));
    fabric_free(fabric);
    config_set_release(&set);
}

/* As people write: the name of a device that was read, and one of its ports. */
static void test_descriptions(void **state)
{
    struct config_set set;

    (void)state;
    config_set_init(&set);
    read_text(&set, "dc1-leaf1.cfg",
              NXOS_BEGIN "hostname dc1-leaf1\n" NXOS_PORT("1", "  description to SPINE1 Eth1/1\n")
                  NXOS_PORT("2", "  description P2P_spine1_Ethernet1/2\n")
                      NXOS_PORT("3", "  description spine10 Ethernet1/1\n")
                          NXOS_PORT("4", "  description Ethernet1/4 of spine1, 400G\n")
                              NXOS_PORT("5", "  description spine1 uplink\n")
                                  NXOS_PORT("6", "  description spine1 Ethernet1/1 or spine2 Ethernet1/1\n"));
    read_text(&set, "spine1.cfg",
              NXOS_BEGIN "hostname spine1\n" NXOS_PORT("1", "  description <dc1-leaf1-Eth1/1>\n") NXOS_PORT("2", "")
                  NXOS_PORT("4", "") NXOS_PORT("5", ""));
    read_text(&set, "leaf1.cfg", NXOS_BEGIN "hostname leaf1\n" NXOS_PORT("1", ""));
    read_text(&set, "spine2.cfg", NXOS_BEGIN "hostname spine2\n" NXOS_PORT("1", ""));
    struct fabric *fabric = finish(&set);
    joined(fabric, "dc1-leaf1:0", "spine1:0");
    joined(fabric, "dc1-leaf1:1", "spine1:1");
    joined(fabric, "dc1-leaf1:3", "spine1:2");
    assert_int_equal(set.links, 3);
    fabric_free(fabric);
    config_set_release(&set);
}

static void test_not_links(void **state)
{
    (void)state;
    refused(&config_clab, "a: 1\n", 5, "no topology.nodes");
    refused(&config_lldp, "{}", 2, "no lldp.interface");
    refused(&config_lldp, "{\"lldp\": ", 9, "");
    refused(NULL, "hello world\n", 12, "unknown format");
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

static void count_parts(struct plan *plan, const struct bom *bom)
{
    for (uint32_t r = 0; r < bom->rows; r++) {
        const struct bom_row *row = &bom->row[r];
        if (strcmp(row->part, "switch") == 0) plan->switches += row->count;
        if (strcmp(row->part, "host") == 0) plan->hosts += row->count;
        if (strcmp(row->part, "cable") == 0 && strcmp(row->what, "400G, 30m, fibre") == 0)
            plan->long_cables += row->count;
    }
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
    struct bom bom;
    assert_int_equal(bom_make(fabric, &bom), 0);
    count_parts(&plan, &bom);
    bom_release(&bom);
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
        cmocka_unit_test(test_clab),
        cmocka_unit_test(test_lldp),
        cmocka_unit_test(test_rates_that_nobody_says),
        cmocka_unit_test(test_one_name_twice),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_ends_that_disagree),
        cmocka_unit_test(test_descriptions),
        cmocka_unit_test(test_no_host),
        cmocka_unit_test(test_not_links),
        cmocka_unit_test(test_plan),
        cmocka_unit_test(test_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
