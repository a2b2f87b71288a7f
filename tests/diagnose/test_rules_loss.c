/* SPDX-License-Identifier: Apache-2.0 */
/* D13, D14, D16, D19 on hand-made evidence: each fires, and does not where it is a near miss. */
#include "bed.h"

/* A NIC that sends again. */
static void resends(struct bed *bed, unsigned host)
{
    grew(bed, bed->host[host], NONE, EVIDENCE_RETRANSMITTED, 40);
    grew(bed, bed->host[host], NONE, EVIDENCE_SEQUENCE_NAKS, 2);
}

static void waits(struct bed *bed, unsigned host)
{
    grew(bed, bed->host[host], NONE, EVIDENCE_ACK_TIMEOUTS, 8);
}

static void quiet_nics(struct bed *bed)
{
    for (unsigned h = 0; h < HOSTS; h++) {
        grew(bed, bed->host[h], NONE, EVIDENCE_RETRANSMITTED, 0);
        grew(bed, bed->host[h], NONE, EVIDENCE_ACK_TIMEOUTS, 0);
    }
}

/* --- D13 --- */

static void test_bad_cable(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    grew(&bed, bed.leaf[0][2], NONE, EVIDENCE_CRC_ERRORS, 5);
    grew(&bed, bed.spine[0][0], NONE, EVIDENCE_CRC_ERRORS, 3);
    grew(&bed, bed.leaf[0][2], NONE, EVIDENCE_PORT_RX_PACKETS, 10000);
    resends(&bed, 3);
    bed_run(&bed);
    const struct diagnose_finding *finding = bed_found(&bed, DIAGNOSE_D13);
    assert_culprit(&bed, finding, bed.leaf[0][2]);
    assert_int_equal(finding->confidence, DIAGNOSE_STRONG);
    assert_int_equal(finding->victims, 1);
    assert_true(is_victim(finding, bed.host[3]));
    bed_close(&bed);
}

/* As many as a good line has, and a link that went down with a few. */
static void test_few_errors(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    grew(&bed, bed.leaf[0][2], NONE, EVIDENCE_CRC_ERRORS, 1);
    grew(&bed, bed.leaf[0][2], NONE, EVIDENCE_PORT_RX_PACKETS, 100000000);
    grew(&bed, bed.leaf[1][2], NONE, EVIDENCE_CRC_ERRORS, 7);
    is(&bed, bed.leaf[1][2], NONE, EVIDENCE_LINK_UP, 0);
    grew(&bed, bed.leaf[1][3], NONE, EVIDENCE_SYMBOL_ERRORS, 1000000); /* FEC put them right */
    grew(&bed, bed.leaf[1][3], NONE, EVIDENCE_FEC_CORRECTED, 1000000);
    bed_run(&bed);
    assert_int_equal(bed_count(&bed, DIAGNOSE_D13), 0);
    bed_close(&bed);
}

/* A counter of 16 bits that stands at its end is told, weakly; less of one look says nothing by itself. */
static void test_symbols_at_their_end(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    since_boot(&bed, bed.leaf[0][2], NONE, EVIDENCE_SYMBOL_ERRORS, 65535);
    since_boot(&bed, bed.leaf[0][3], NONE, EVIDENCE_SYMBOL_ERRORS, 812);
    since_boot(&bed, bed.leaf[1][2], NONE, EVIDENCE_SYMBOL_ERRORS, 65535);
    since_boot(&bed, bed.leaf[1][2], NONE, EVIDENCE_FEC_CORRECTED, 70000);
    bed_run(&bed);
    assert_int_equal(bed_count(&bed, DIAGNOSE_D13), 1);
    assert_culprit(&bed, bed_found(&bed, DIAGNOSE_D13), bed.leaf[0][2]);
    assert_int_equal(bed_found(&bed, DIAGNOSE_D13)->confidence, DIAGNOSE_WEAK);
    bed_close(&bed);
}

/* Frames that a line loses without a wrong bit arriving; not those that were under way when it went down. */
static void test_lost_on_the_line(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    grew(&bed, bed.host[3], NONE, EVIDENCE_LINE_LOST, 500);
    grew(&bed, bed.leaf[1][1], NONE, EVIDENCE_PORT_RX_PACKETS, 1000);
    grew(&bed, bed.host[3], NONE, EVIDENCE_PORT_TX_PACKETS, 1500);
    grew(&bed, bed.leaf[0][2], NONE, EVIDENCE_LINE_LOST, 12);
    grew(&bed, bed.leaf[0][2], NONE, EVIDENCE_LINK_DOWN, 1);
    waits(&bed, 3);
    bed_run(&bed);
    const struct diagnose_finding *finding = bed_found(&bed, DIAGNOSE_D13);
    assert_culprit(&bed, finding, bed.leaf[1][1]);
    assert_non_null(strstr(finding->what, "500 of 1500 frames that were sent to leaf1:1 did not arrive"));
    assert_int_equal(bed_count(&bed, DIAGNOSE_D14), 0);
    bed_close(&bed);
}

/* --- D14: nobody has a timer --- */

static void test_down_without_a_timer(void **state)
{
    (void)state;
    for (uint64_t stuck = 0; stuck < 2; stuck++) {
        struct bed bed;
        bed_open(&bed);
        quiet_nics(&bed);
        grew(&bed, bed.leaf[0][0], NONE, EVIDENCE_PORT_TX_BYTES, 1000);
        is(&bed, bed.leaf[0][0], NONE, EVIDENCE_LINK_UP, 0);
        is(&bed, evidence_job(&bed.evidence, "job", 3), NONE, EVIDENCE_JOB_STUCK, stuck);
        bed_run(&bed);
        assert_int_equal(bed_count(&bed, DIAGNOSE_D14), stuck);
        if (stuck) assert_non_null(strstr(bed_found(&bed, DIAGNOSE_D14)->what, "is down, and no timer tells"));
        bed_close(&bed);
    }
}

/* --- D24 --- */

/* NICs send RDMA in priority 0, which nobody calls lossless, and leaf0:0 drops some. */
static void lossy(struct bed *bed, bool says)
{
    bed_open(bed);
    for (unsigned h = 0; h < HOSTS; h++) {
        grew(bed, bed->host[h], NONE, EVIDENCE_TX_DATA_PACKETS, 1000);
        grew(bed, bed->host[h], 0, EVIDENCE_TX_BYTES, 1000000);
    }
    if (says) is(bed, bed->leaf[0][0], 3, EVIDENCE_PFC_ON, 1);
    grew(bed, bed->leaf[0][0], 0, EVIDENCE_QUEUE_DROPS, 300);
    grew(bed, bed->leaf[1][0], 0, EVIDENCE_GROUP_DROPS, 20);
    resends(bed, 3);
}

static void test_lossy(void **state)
{
    struct bed bed;
    (void)state;

    lossy(&bed, true);
    bed_run(&bed);
    const struct diagnose_finding *finding = bed_found(&bed, DIAGNOSE_D24);
    assert_culprit(&bed, finding, bed.leaf[0][0]);
    assert_non_null(strstr(finding->what, "dropped 300 packets of a class that is not lossless, and 1 more port did"));
    assert_int_equal(finding->alsos, 1);
    assert_true(is_victim(finding, bed.host[3]));
    bed_close(&bed);

    lossy(&bed, false); /* nobody says what is lossless */
    bed_run(&bed);
    assert_int_equal(bed_count(&bed, DIAGNOSE_D24), 0);
    bed_close(&bed);

    lossy(&bed, true); /* RDMA is in another, and what is dropped is somebody else's */
    for (unsigned h = 0; h < HOSTS; h++)
        grew(&bed, bed.host[h], 3, EVIDENCE_TX_BYTES, 90000000);
    bed_run(&bed);
    assert_int_equal(bed_count(&bed, DIAGNOSE_D24), 0);
    bed_close(&bed);
}

static void test_hot_optic(void **state)
{
    struct bed bed;
    struct evidence_source last = {0, 9, 1};
    (void)state;

    bed_open(&bed);
    evidence_set_real(&bed.evidence, bed.leaf[0][2], NONE, EVIDENCE_PRE_FEC_BER, 5e-4, &last);
    evidence_set_real(&bed.evidence, bed.leaf[0][3], NONE, EVIDENCE_PRE_FEC_BER, 1e-5, &last);
    is(&bed, bed.leaf[0][2], NONE, EVIDENCE_TEMPERATURE, 82);
    bed_run(&bed);
    const struct diagnose_finding *finding = bed_found(&bed, DIAGNOSE_D13);
    assert_culprit(&bed, finding, bed.leaf[0][2]);
    assert_non_null(strstr(finding->what, "5.0e-04 of the bits"));
    assert_int_equal(finding->confidence, DIAGNOSE_WEAK);
    assert_int_equal(finding->evidences, 2);
    bed_close(&bed);
}

/* Only those who talk to the host whose cable it is. */
static void test_victims_by_flows(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    grew(&bed, bed.host[0], NONE, EVIDENCE_CRC_ERRORS, 5);
    for (unsigned h = 0; h < HOSTS; h++)
        resends(&bed, h);
    evidence_add_flow(&bed.evidence,
                      &(struct evidence_flow){.job = EVIDENCE_NONE, .from = bed.host[2], .to = bed.host[0]});
    evidence_add_flow(&bed.evidence,
                      &(struct evidence_flow){.job = EVIDENCE_NONE, .from = bed.host[3], .to = bed.host[1]});
    bed_run(&bed);
    const struct diagnose_finding *finding = bed_found(&bed, DIAGNOSE_D13);
    assert_culprit(&bed, finding, bed.host[0]);
    assert_int_equal(finding->victims, 2);
    assert_true(is_victim(finding, bed.host[0]) && is_victim(finding, bed.host[2]));
    bed_close(&bed);
}

/* --- D19 --- */

static void test_flaps(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    grew(&bed, bed.leaf[0][2], NONE, EVIDENCE_LINK_DOWN, 2);
    is(&bed, bed.leaf[0][2], NONE, EVIDENCE_LINK_UP, 1);
    grew(&bed, bed.spine[0][0], NONE, EVIDENCE_LINK_DOWN, 2);
    grew(&bed, bed.leaf[0][2], NONE, EVIDENCE_ROUTE_DROPS, 500); /* while it was down: not a path that is gone */
    waits(&bed, 0);
    bed_run(&bed);
    const struct diagnose_finding *finding = bed_found(&bed, DIAGNOSE_D19);
    assert_culprit(&bed, finding, bed.leaf[0][2]);
    assert_true(is_victim(finding, bed.host[0]));
    assert_int_equal(bed_count(&bed, DIAGNOSE_D14), 0);
    bed_close(&bed);
}

/* All links of a switch at once: it, and not its cables; but not where one stayed up, or a host has but one. */
static void test_reset(void **state)
{
    (void)state;

    for (unsigned all = 0; all < 2; all++) {
        struct bed bed;
        bed_open(&bed);
        for (unsigned l = 0; l < LEAVES; l++)
            grew(&bed, bed.spine[1][l], NONE, EVIDENCE_LINK_DOWN, l < LEAVES - 1 || all);
        grew(&bed, bed.host[0], NONE, EVIDENCE_ACK_TIMEOUTS, 3);
        bed_run(&bed);
        const struct diagnose_finding *finding = bed_found(&bed, DIAGNOSE_D19);
        assert_string_equal(bed.evidence.object[finding->culprit].name, all ? "spine1" : "spine1:0");
        assert_true(is_victim(finding, bed.host[0]));
        if (all) assert_non_null(strstr(finding->what, "all 2 links of spine1 went down and are up again"));
        bed_close(&bed);
    }
}

/* Since boot, four are not many; a link that stays down is no flap. */
static void test_no_flaps(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    since_boot(&bed, bed.leaf[0][2], NONE, EVIDENCE_LINK_DOWN, 4);
    since_boot(&bed, bed.leaf[1][2], NONE, EVIDENCE_LINK_DOWN, 40);
    is(&bed, bed.leaf[1][2], NONE, EVIDENCE_LINK_UP, 0);
    bed_run(&bed);
    assert_int_equal(bed_count(&bed, DIAGNOSE_D19), 0);
    bed_close(&bed);
}

/* --- D14 --- */

static void test_link_down(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    quiet_nics(&bed);
    is(&bed, bed.leaf[0][2], NONE, EVIDENCE_LINK_UP, 0);
    grew(&bed, bed.leaf[0][2], NONE, EVIDENCE_ROUTE_DROPS, 600);
    grew(&bed, bed.spine[0][0], NONE, EVIDENCE_ROUTE_DROPS, 900);
    is(&bed, bed.leaf[1][3], NONE, EVIDENCE_LINK_UP, 0); /* not used */
    grew(&bed, bed.host[1], NONE, EVIDENCE_ACK_TIMEOUTS, 8);
    bed_run(&bed);
    const struct diagnose_finding *finding = bed_found(&bed, DIAGNOSE_D14);
    assert_culprit(&bed, finding, bed.spine[0][0]);
    assert_int_equal(finding->severity, DIAGNOSE_CRITICAL);
    assert_int_equal(finding->confidence, DIAGNOSE_STRONG);
    assert_int_equal(finding->victims, 1);
    bed_close(&bed);
}

/* Routes followed: a few were sent again, and no timer ran out. */
static void test_routes_followed(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    quiet_nics(&bed);
    is(&bed, bed.leaf[0][2], NONE, EVIDENCE_LINK_UP, 0);
    grew(&bed, bed.leaf[0][2], NONE, EVIDENCE_ROUTE_DROPS, 100);
    resends(&bed, 1);
    bed_run(&bed);
    assert_int_equal(bed_count(&bed, DIAGNOSE_D14), 0);
    bed_close(&bed);
}

static void test_no_route(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    grew(&bed, bed.spine[1][0], NONE, EVIDENCE_ROUTE_DROPS, 100);
    grew(&bed, bed.spine[1][1], NONE, EVIDENCE_ROUTE_DROPS, 100);
    waits(&bed, 0);
    bed_run(&bed);
    const struct diagnose_finding *finding = bed_found(&bed, DIAGNOSE_D14);
    assert_string_equal(bed.evidence.object[finding->culprit].name, "spine1");
    bed_close(&bed);
}

/* A link is down, and another switch has no route any more to what is behind it: that is one cause. */
static void test_no_route_behind_a_lost_link(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    is(&bed, bed.leaf[0][2], NONE, EVIDENCE_LINK_UP, 0);
    grew(&bed, bed.leaf[0][2], NONE, EVIDENCE_ROUTE_DROPS, 10);
    grew(&bed, bed.leaf[1][0], NONE, EVIDENCE_ROUTE_DROPS, 1000);
    waits(&bed, 0);
    bed_run(&bed);
    assert_int_equal(bed_count(&bed, DIAGNOSE_D14), 2);
    const struct diagnose_finding *finding = bed.diagnose.finding;
    assert_culprit(&bed, finding, bed.leaf[0][2]);
    assert_int_equal(finding[0].severity, DIAGNOSE_CRITICAL);
    assert_int_equal(finding[1].severity, DIAGNOSE_INFO);
    bed_close(&bed);
}

/* Nobody drops, and half of what enters a cable does not arrive. */
static void test_vanished(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    waits(&bed, 0);
    for (unsigned l = 0; l < LEAVES; l++) {
        grew(&bed, bed.leaf[l][2], NONE, EVIDENCE_PORT_TX_PACKETS, 100000);
        grew(&bed, bed.spine[0][l], NONE, EVIDENCE_PORT_RX_PACKETS, l ? 50000 : 99999);
    }
    bed_run(&bed);
    assert_culprit(&bed, bed_found(&bed, DIAGNOSE_D14), bed.leaf[1][2]);
    bed_close(&bed);
}

/* One in 250 packets vanishes on a cable, and nobody counts an error: that cable, whichever end counts more. */
static void test_some_vanished(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    all_passed(&bed, 100000);
    grew(&bed, bed.host[0], NONE, EVIDENCE_SEQUENCE_NAKS, 300);
    is(&bed, bed.spine[1][0], NONE, EVIDENCE_PORT_RX_PACKETS, 1000 + 99600);
    bed_run(&bed);
    const struct diagnose_finding *finding = bed_found(&bed, DIAGNOSE_D13);
    assert_culprit(&bed, finding, bed.spine[1][0]);
    assert_int_equal(finding->confidence, DIAGNOSE_STRONG);
    assert_non_null(strstr(finding->what, "400 of 100000 frames"));
    assert_int_equal(bed_count(&bed, DIAGNOSE_D12), 0);
    bed_close(&bed);
}

/* Counts of good cables differ too: ends are read one after the other, and pauses are counted at one end alone. */
static void test_nothing_vanished(void **state)
{
    enum { NOBODY_TOLD, READ_LATER, ALL_DIFFER, PAUSES, WRONG_BITS, UNDER_WAY, CASES };
    (void)state;

    for (int what = 0; what < CASES; what++) {
        struct bed bed;
        bed_open(&bed);
        all_passed(&bed, 100000);
        if (what != NOBODY_TOLD) grew(&bed, bed.host[0], NONE, EVIDENCE_SEQUENCE_NAKS, 300);
        is(&bed, bed.spine[1][0], NONE, EVIDENCE_PORT_RX_PACKETS, 1000 + (what == UNDER_WAY ? 99950 : 99600));
        if (what == UNDER_WAY) grew(&bed, bed.leaf[0][3], NONE, EVIDENCE_PORT_TX_BYTES, 100000000); /* at 800G */
        if (what == READ_LATER) is(&bed, bed.leaf[0][3], NONE, EVIDENCE_PORT_RX_PACKETS, 1000 + 100400);
        if (what == PAUSES) grew(&bed, bed.leaf[0][3], 3, EVIDENCE_TX_PAUSE_FRAMES, 400);
        if (what == WRONG_BITS) grew(&bed, bed.spine[1][0], NONE, EVIDENCE_MTU_DROPS, 400);
        for (unsigned h = 0; what == ALL_DIFFER && h < HOSTS; h++) {
            is(&bed, bed.host[h], NONE, EVIDENCE_PORT_RX_PACKETS, 1000 + (h % 2 ? 99900 : 100080));
            is(&bed, bed.leaf[h / 2][h % 2], NONE, EVIDENCE_PORT_RX_PACKETS, 1000 + (h % 2 ? 99850 : 100120));
        }
        bed_run(&bed);
        assert_int_equal(bed_count(&bed, DIAGNOSE_D13), 0);
        bed_close(&bed);
    }
}

/* 5,000 packets came into leaf0 and have not left it: they vanished, but not where its queues were that long. */
static void test_waiting(void **state)
{
    (void)state;

    for (unsigned queued = 0; queued < 2; queued++) {
        struct bed bed;
        bed_open(&bed);
        waits(&bed, 0);
        for (unsigned p = 0; p < 2 + SPINES; p++) {
            grew(&bed, bed.leaf[0][p], NONE, EVIDENCE_PORT_RX_PACKETS, p ? 10000 : 15000);
            grew(&bed, bed.leaf[0][p], NONE, EVIDENCE_PORT_TX_PACKETS, 10000);
            grew(&bed, bed.leaf[0][p], NONE, EVIDENCE_PORT_TX_BYTES, 40000000);
        }
        grew(&bed, bed.leaf[0][2], 3, EVIDENCE_MARKED, 10);
        is(&bed, bed.leaf[0][2], 3, EVIDENCE_QUEUE_PEAK, queued ? 20000000 : 19000000);
        bed_run(&bed);
        assert_int_equal(bed_count(&bed, DIAGNOSE_D14), !queued);
        if (!queued) assert_string_equal(bed.evidence.object[bed_found(&bed, DIAGNOSE_D14)->culprit].name, "leaf0");
        bed_close(&bed);
    }
}

/* A switch that does not say how long its queues are may hold as much as it has memory for. */
static void test_waiting_in_memory(void **state)
{
    (void)state;

    for (unsigned more = 0; more < 2; more++) {
        struct bed bed;
        bed_open(&bed);
        waits(&bed, 0);
        for (unsigned p = 0; p < 2 + SPINES; p++) {
            grew(&bed, bed.leaf[0][p], NONE, EVIDENCE_PORT_RX_PACKETS, p || !more ? 500000 : 600000);
            grew(&bed, bed.leaf[0][p], NONE, EVIDENCE_PORT_TX_PACKETS, p || more ? 500000 : 470000);
            grew(&bed, bed.leaf[0][p], NONE, EVIDENCE_PORT_TX_BYTES, 2000000000);
        }
        grew(&bed, bed.leaf[0][2], 3, EVIDENCE_MARKED, 10);
        bed_run(&bed);
        assert_int_equal(bed_count(&bed, DIAGNOSE_D14), more);
        if (more) assert_string_equal(bed.evidence.object[bed_found(&bed, DIAGNOSE_D14)->culprit].name, "leaf0");
        bed_close(&bed);
    }
}

/* One leaf's NICs, and nothing else is known: that leaf, as a warning. */
static void test_in_common(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    waits(&bed, 2);
    waits(&bed, 3);
    bed_run(&bed);
    const struct diagnose_finding *finding = bed_found(&bed, DIAGNOSE_D14);
    assert_string_equal(bed.evidence.object[finding->culprit].name, "leaf1");
    assert_int_equal(finding->severity, DIAGNOSE_WARNING);
    assert_int_equal(finding->confidence, DIAGNOSE_WEAK);
    bed_close(&bed);
}

/* A NIC elsewhere sends again more often; all whose timers ran out talk to one host, of which little was read. */
static void test_in_common_has_a_counter(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    waits(&bed, 2);
    waits(&bed, 3);
    resends(&bed, 0);
    bed_run(&bed);
    assert_string_equal(bed.evidence.object[bed_found(&bed, DIAGNOSE_D14)->culprit].name, "leaf1");
    bed_close(&bed);
    bed_open(&bed);
    waits(&bed, 2);
    waits(&bed, 3);
    grew(&bed, bed.host[1], 3, EVIDENCE_TX_BYTES, 10);
    for (unsigned h = 2; h < HOSTS; h++)
        evidence_add_flow(&bed.evidence,
                          &(struct evidence_flow){.job = EVIDENCE_NONE, .from = bed.host[h], .to = bed.host[1]});
    bed_run(&bed);
    assert_culprit(&bed, bed_found(&bed, DIAGNOSE_D14), bed.host[1]);
    bed_close(&bed);
}

/* Timers that long queues explain. */
static void test_timers_of_congestion(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    waits(&bed, 2);
    waits(&bed, 3);
    grew(&bed, bed.spine[0][1], 3, EVIDENCE_MARKED, 10);
    bed_run(&bed);
    assert_int_equal(bed_count(&bed, DIAGNOSE_D14), 0);
    bed_close(&bed);
}

/* Timers that drops explain, and NICs that have nothing in common. */
static void test_timers_explained(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    waits(&bed, 2);
    waits(&bed, 3);
    grew(&bed, bed.spine[0][0], 0, EVIDENCE_QUEUE_DROPS, 10);
    bed_run(&bed);
    assert_int_equal(bed_count(&bed, DIAGNOSE_D14), 0);
    bed_close(&bed);
    bed_open(&bed);
    waits(&bed, 0);
    waits(&bed, 3);
    bed_run(&bed);
    assert_int_equal(bed_count(&bed, DIAGNOSE_D14), 0);
    assert_true(bed.diagnose.missings > 0);
    bed_close(&bed);
}

/* --- D16 --- */

static void test_mtu(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    grew(&bed, bed.spine[0][0], NONE, EVIDENCE_MTU_DROPS, 2442);
    grew(&bed, bed.spine[0][1], NONE, EVIDENCE_MTU_DROPS, 2442);
    is(&bed, bed.spine[0][0], NONE, EVIDENCE_MTU, 9216);
    is(&bed, bed.spine[0][1], NONE, EVIDENCE_MTU, 1500);
    is(&bed, bed.leaf[1][0], NONE, EVIDENCE_MTU, 4200); /* smaller than others, and nothing was too large */
    is(&bed, bed.leaf[1][2], NONE, EVIDENCE_MTU, 9216);
    bed_run(&bed);
    const struct diagnose_finding *finding = bed_found(&bed, DIAGNOSE_D16);
    assert_culprit(&bed, finding, bed.spine[0][1]);
    assert_int_equal(finding->confidence, DIAGNOSE_STRONG);
    bed_close(&bed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_cable),
        cmocka_unit_test(test_few_errors),
        cmocka_unit_test(test_symbols_at_their_end),
        cmocka_unit_test(test_lossy),
        cmocka_unit_test(test_down_without_a_timer),
        cmocka_unit_test(test_lost_on_the_line),
        cmocka_unit_test(test_hot_optic),
        cmocka_unit_test(test_victims_by_flows),
        cmocka_unit_test(test_flaps),
        cmocka_unit_test(test_reset),
        cmocka_unit_test(test_no_flaps),
        cmocka_unit_test(test_link_down),
        cmocka_unit_test(test_routes_followed),
        cmocka_unit_test(test_no_route),
        cmocka_unit_test(test_no_route_behind_a_lost_link),
        cmocka_unit_test(test_vanished),
        cmocka_unit_test(test_some_vanished),
        cmocka_unit_test(test_nothing_vanished),
        cmocka_unit_test(test_waiting),
        cmocka_unit_test(test_waiting_in_memory),
        cmocka_unit_test(test_in_common),
        cmocka_unit_test(test_in_common_has_a_counter),
        cmocka_unit_test(test_timers_explained),
        cmocka_unit_test(test_timers_of_congestion),
        cmocka_unit_test(test_mtu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
