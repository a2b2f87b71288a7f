/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a fabric to configurations: a host that no file describes has what a file that says nothing gives, and what
 * stands around an adapter changes what docs/internals/plant.md says it does and nothing else.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fabric/fabric.h"
#include "fabric/switches.h"
#include "load/load.h"
#include "plant/plant.h"

#define TWO_HOSTS                                                                                                      \
    "rocelab: 1\nfabric: two\ntopology: {leaf-spine: {leaves: 1, spines: 0, hosts: 2}}\n"                              \
    "links: {host: {rate: 100G, cable: 3m}}\n"

struct lab {
    struct fabric *fabric;
    struct plant plant;
};

static struct lab lab_open(const char *text)
{
    struct fabric_with with = {.judge = plant_judge_nic};
    struct plant_options options = {.seed = 1};
    struct fabric_errors errors = {0};
    struct lab lab;

    if (fabric_load_with("test", text, &with, &lab.fabric, &errors) != 0 ||
        plant_init(&lab.plant, lab.fabric, &options, &errors) != 0) {
        fabric_errors_print(&errors, stderr);
        fail();
    }
    return lab;
}

static void lab_close(struct lab *lab)
{
    plant_release(&lab->plant);
    fabric_free(lab->fabric);
}

static struct nic_config alone(uint64_t line_bps, const struct cc_config *cc)
{
    static const struct cc_needs anybody = {.cnp = true};
    struct fabric_nic nic = fabric_nic_default();
    struct plant_nic from = {.line_bps = line_bps, .nic = &nic, .cc = cc, .peers = &anybody};

    return plant_nic_config(&from);
}

/* Field by field: padding is nobody's. */
#define SAME(field) assert_int_equal(a->field, b->field)
static void assert_same(const struct nic_config *a, const struct nic_config *b)
{
    SAME(line_bps), SAME(max_qps), SAME(max_mrs), SAME(first_qpn), SAME(header_bytes), SAME(fixed_headers);
    SAME(ack_frame_bytes), SAME(line_overhead_bytes), SAME(net), SAME(ttl), SAME(tagged), SAME(ecn), SAME(any_key);
    SAME(echo_ce), SAME(pause_forever), SAME(pace_ns), SAME(telemetry), SAME(rtt), SAME(ack_tos), SAME(ack_prio);
    SAME(cnp_tos), SAME(cnp_prio), SAME(cnp_off), SAME(cnp_per_nic), SAME(cnp_min_gap_ps), SAME(cnp_remember);
    SAME(nak_repeat_ps), SAME(free_naks), SAME(rx_bps), SAME(rx_buffer_bytes), SAME(rx_xoff_bytes);
    SAME(rx_xon_bytes), SAME(rx_pause_quanta);
    assert_ptr_equal(a->rtt_ns, b->rtt_ns);
}

static void test_lone_host_is_default_host(void **state)
{
    (void)state;
    struct lab lab = lab_open(TWO_HOSTS);
    struct nic_config in_fabric = plant_adapter(&lab.plant, 0);
    struct cc_config cc;

    assert_int_equal(cc_preset("dcqcn/connectx", &cc), 0);
    assert_memory_equal(&cc, &lab.plant.cc[0], sizeof(cc));
    struct nic_config no_fabric = alone(in_fabric.line_bps, &cc);
    assert_same(&in_fabric, &no_fabric);

    struct fabric_nic nic = fabric_nic_default();
    struct nic_qp_config qp = plant_qp_config(&lab.fabric->nic[0], &cc), lone = plant_qp_config(&nic, &cc);
    assert_memory_equal(&qp, &lone, sizeof(qp));
    assert_int_equal(qp.mtu, 4096);
    lab_close(&lab);
}

/* What the neighbour does is what the adapter is told. */
static void test_what_is_around(void **state)
{
    (void)state;
    struct lab lab = lab_open(TWO_HOSTS "switches: {trust: pcp, refresh-pauses: false}\n"
                                        "nics: {nak-repeat: 3ms, congestion: timely/paper}\n");
    struct nic_config config = plant_adapter(&lab.plant, 1);
    struct nic_config plain = alone(config.line_bps, &lab.plant.cc[0]);

    assert_true(config.tagged);
    assert_int_equal(config.header_bytes, plain.header_bytes + 4);
    assert_true(config.pause_forever);
    assert_int_equal(config.nak_repeat_ps, 3 * PS_MS);
    assert_true(config.rtt && plain.rtt);
    assert_true(config.ecn);     /* a fabric marks whoever listens, for its reports */
    assert_false(plain.ecn);     /* alone, only who goes by marks lets packets be marked */
    assert_true(config.cnp_off); /* nobody in this fabric wants CNPs */
    assert_false(plain.cnp_off); /* alone, nobody says what a peer wants */
    assert_true(lab.plant.needs.cnp == false && !lab.plant.sw[0].config.telemetry);
    assert_int_equal(config.endpoint, 1);
    lab_close(&lab);
}

/* One HPCC adapter makes all of them carry telemetry back, and all switches write it. */
static void test_one_needs_telemetry(void **state)
{
    (void)state;
    struct lab lab = lab_open(TWO_HOSTS "devices: {h1: {congestion: hpcc/paper}}\n");
    struct nic_config first = plant_adapter(&lab.plant, 0), second = plant_adapter(&lab.plant, 1);

    assert_true(first.telemetry && second.telemetry && lab.plant.sw[0].config.telemetry);
    assert_int_equal(first.header_bytes, second.header_bytes);
    assert_false(first.cnp_off); /* the first sends by DCQCN */
    lab_close(&lab);
}

static void test_switch_problem_is_told(void **state)
{
    (void)state;
    struct fabric_errors errors = {0};
    struct plant_options options = {0};
    struct lab lab = lab_open(TWO_HOSTS);
    struct fabric_switch broken = lab.fabric->sw[0];
    struct fabric changed = *lab.fabric;
    struct plant plant;

    broken.cell_bytes = 0;
    changed.sw = &broken;
    assert_int_equal(plant_init(&plant, &changed, &options, &errors), -EINVAL);
    assert_int_equal(errors.count, 1);
    assert_non_null(strstr(errors.error[0].text, "a cell has 1 to 32768 bytes"));
    plant_release(&plant);
    lab_close(&lab);
}

/* A GRH in place of IP and UDP, and nothing to mark: the rest is RoCEv2's without congestion control. */
static void test_rocev1(void **state)
{
    (void)state;
    struct lab v2 = lab_open(TWO_HOSTS "nics: {congestion: none}\n"), v1 = lab_open(TWO_HOSTS "system: rocev1\n");
    struct nic_config a = plant_adapter(&v2.plant, 0), b = plant_adapter(&v1.plant, 0);

    assert_int_equal(b.net, PKT_NET_V1);
    assert_int_equal(b.header_bytes, a.header_bytes - 20 - 8 + 40);
    assert_true(a.ecn && !b.ecn);
    b.net = a.net;
    b.header_bytes = a.header_bytes;
    b.ecn = a.ecn;
    assert_same(&a, &b);
    lab_close(&v2);
    lab_close(&v1);
}

static void test_marks_that_nobody_makes(void **state)
{
    struct fabric_with with = {.judge = plant_judge_nic};
    struct fabric_errors errors = {0};
    struct fabric *fabric = NULL;

    (void)state;
    assert_int_equal(fabric_load_with("test", TWO_HOSTS "system: rocev1\nnics: {congestion: dctcp/paper}\n", &with,
                                      &fabric, &errors),
                     -EINVAL);
    assert_int_equal(errors.error[0].at.line, 6);
    assert_int_equal(errors.error[0].at.column, 20);
    assert_non_null(strstr(errors.error[0].text, "dctcp/paper needs marks or telemetry"));
    struct lab swift = lab_open(TWO_HOSTS "system: rocev1\nnics: {congestion: swift/paper}\n");
    lab_close(&swift);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lone_host_is_default_host),
        cmocka_unit_test(test_what_is_around),
        cmocka_unit_test(test_one_needs_telemetry),
        cmocka_unit_test(test_switch_problem_is_told),
        cmocka_unit_test(test_rocev1),
        cmocka_unit_test(test_marks_that_nobody_makes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
