/* SPDX-License-Identifier: Apache-2.0 */
/* D08 on hand-made evidence: which end of the cable is to blame, and drops that are no loss in a lossless class. */
#include "bed.h"

/* A NIC that sends again. */
static void resends(struct bed *bed, unsigned host)
{
    grew(bed, bed->host[host], NONE, EVIDENCE_RETRANSMITTED, 40);
    grew(bed, bed->host[host], NONE, EVIDENCE_SEQUENCE_NAKS, 2);
}

/* spine0's port to leaf1 drops 100, and paused its peer for half of the time. */
static void drops(struct bed *bed, uint64_t headroom)
{
    grew(bed, bed->spine[0][1], 3, EVIDENCE_GROUP_DROPS, 100);
    grew(bed, bed->spine[0][1], 3, EVIDENCE_TX_PAUSE_FRAMES, 20);
    is(bed, bed->spine[0][1], 3, EVIDENCE_HEADROOM_LIMIT, 20000);
    is(bed, bed->spine[0][1], 3, EVIDENCE_HEADROOM_PEAK, headroom);
    resends(bed, 3);
}

static void test_headroom(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    drops(&bed, 19554);
    grew(&bed, bed.spine[0][1], 3, EVIDENCE_TX_PAUSE_NS, 500000000);
    grew(&bed, bed.leaf[1][2], 3, EVIDENCE_RX_PAUSE_NS, 499000000);
    bed_run(&bed);
    const struct diagnose_finding *finding = bed_found(&bed, DIAGNOSE_D08);
    assert_culprit(&bed, finding, bed.spine[0][1]);
    assert_non_null(strstr(finding->what, "headroom was used up"));
    assert_true(is_victim(finding, bed.host[3]));
    bed_close(&bed);
}

/* The peer does not stand still; by durations, by frames, by its queue, and where it says itself that PFC is off. */
static void test_no_pfc(void **state)
{
    struct bed bed;
    (void)state;

    for (unsigned by = 0; by < 4; by++) {
        bed_open(&bed);
        drops(&bed, 19554);
        if (by == 0) {
            grew(&bed, bed.spine[0][1], 3, EVIDENCE_TX_PAUSE_NS, 500000000);
            grew(&bed, bed.leaf[1][2], 3, EVIDENCE_RX_PAUSE_NS, 0);
        } else if (by == 1) {
            grew(&bed, bed.leaf[1][2], 3, EVIDENCE_RX_PAUSE_FRAMES, 0);
        } else if (by == 2) {
            grew(&bed, bed.leaf[1][2], 3, EVIDENCE_RX_PAUSE_FRAMES, 20);
            is(&bed, bed.leaf[1][2], 3, EVIDENCE_QUEUE_PEAK, 4000);
        } else {
            is(&bed, bed.leaf[1][2], 3, EVIDENCE_PFC_ON, 0);
        }
        bed_run(&bed);
        const struct diagnose_finding *finding = bed_found(&bed, DIAGNOSE_D08);
        assert_culprit(&bed, finding, bed.leaf[1][2]);
        assert_non_null(strstr(finding->what, "went on sending"));
        bed_close(&bed);
    }
}

static void test_pool(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    drops(&bed, 10000);
    bed_run(&bed);
    assert_non_null(strstr(bed_found(&bed, DIAGNOSE_D08)->what, "headroom was left"));
    bed_close(&bed);
}

/* The same where the port pauses most of the time: what makes it stand still is the cause. */
static void test_pool_stands_still(void **state)
{
    struct bed bed;
    (void)state;

    for (uint64_t share = 1; share < 10; share += 8) {
        bed_open(&bed);
        drops(&bed, 10000);
        grew(&bed, bed.spine[0][1], 3, EVIDENCE_TX_PAUSE_NS, share * 100000000);
        bed_run(&bed);
        assert_int_equal(bed_found(&bed, DIAGNOSE_D08)->severity, share > 5 ? DIAGNOSE_WARNING : DIAGNOSE_CRITICAL);
        bed_close(&bed);
    }
}

/* A system that counts drops and pauses by port alone. */
static void test_port_drops(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    grew(&bed, bed.spine[0][1], NONE, EVIDENCE_PORT_DROPS, 100);
    grew(&bed, bed.spine[0][1], NONE, EVIDENCE_PORT_TX_PAUSE_FRAMES, 20);
    bed_run(&bed);
    const struct diagnose_finding *finding = bed_found(&bed, DIAGNOSE_D08);
    assert_culprit(&bed, finding, bed.spine[0][1]);
    assert_int_equal(finding->confidence, DIAGNOSE_WEAK);
    bed_close(&bed);
}

/* Drops of another class, of a port that is down, of a watchdog, by MTU: none is loss in a lossless class. */
static void test_other_drops(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    grew(&bed, bed.spine[0][0], 3, EVIDENCE_TX_PAUSE_FRAMES, 20);
    grew(&bed, bed.spine[0][0], 0, EVIDENCE_QUEUE_DROPS, 100);
    grew(&bed, bed.spine[0][0], NONE, EVIDENCE_PORT_DROPS, 100);
    grew(&bed, bed.spine[1][0], 3, EVIDENCE_QUEUE_DROPS, 100);
    is(&bed, bed.spine[1][0], NONE, EVIDENCE_LINK_UP, 0);
    grew(&bed, bed.leaf[0][0], 3, EVIDENCE_QUEUE_DROPS, 100);
    grew(&bed, bed.leaf[0][1], 3, EVIDENCE_WATCHDOG_DETECTED, 1);
    grew(&bed, bed.leaf[1][0], 3, EVIDENCE_GROUP_DROPS, 100);
    grew(&bed, bed.leaf[1][0], NONE, EVIDENCE_MTU_DROPS, 100);
    bed_run(&bed);
    assert_int_equal(bed_count(&bed, DIAGNOSE_D08), 0);
    bed_close(&bed);
}

/* PFC was not agreed on: the port says Off and counts pauses. */
static void test_not_agreed(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    is(&bed, bed.leaf[0][0], NONE, EVIDENCE_PFC_ON, 0);
    grew(&bed, bed.leaf[0][0], NONE, EVIDENCE_PORT_RX_PAUSE_FRAMES, 7316);
    grew(&bed, bed.leaf[0][0], NONE, EVIDENCE_PORT_TX_PAUSE_FRAMES, 762946);
    is(&bed, bed.leaf[0][1], NONE, EVIDENCE_PFC_ON, 0); /* off, and nobody asks for it */
    grew(&bed, bed.leaf[0][1], NONE, EVIDENCE_PORT_RX_PAUSE_FRAMES, 0);
    for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++)
        is(&bed, bed.leaf[1][0], p, EVIDENCE_PFC_ON, p == 3); /* on for one priority, counted by port */
    grew(&bed, bed.leaf[1][0], NONE, EVIDENCE_PORT_TX_PAUSE_FRAMES, 700);
    bed_run(&bed);
    const struct diagnose_finding *finding = bed_found(&bed, DIAGNOSE_D08);
    assert_culprit(&bed, finding, bed.leaf[0][0]);
    assert_int_equal(finding->confidence, DIAGNOSE_WEAK);
    assert_int_equal(finding->severity, DIAGNOSE_WARNING);
    bed_close(&bed);
}

/* The same with drops: PFC off here is the reason. */
static void test_not_agreed_drops(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    is(&bed, bed.leaf[0][0], NONE, EVIDENCE_PFC_ON, 0);
    grew(&bed, bed.leaf[0][0], NONE, EVIDENCE_PORT_TX_PAUSE_FRAMES, 762946);
    grew(&bed, bed.leaf[0][0], NONE, EVIDENCE_PORT_DROPS, 5000);
    grew(&bed, bed.host[0], NONE, EVIDENCE_RETRY_EXCEEDED, 1); /* NCCL: status 12 */
    bed_run(&bed);
    const struct diagnose_finding *finding = bed_found(&bed, DIAGNOSE_D08);
    assert_culprit(&bed, finding, bed.leaf[0][0]);
    assert_non_null(strstr(finding->what, "PFC is off on it"));
    assert_int_equal(finding->severity, DIAGNOSE_CRITICAL);
    assert_true(is_victim(finding, bed.host[0]));
    bed_close(&bed);
}

/* Drops on the way in, and nobody says of which priority: of a port that pauses nobody, where others do. */
static void test_never_paused(void **state)
{
    enum { DROPS, FEW, NOBODY_PAUSES, NOBODY_RESENDS, LINK_DOWN, CASES };
    (void)state;

    for (int what = 0; what < CASES; what++) {
        struct bed bed;
        bed_open(&bed);
        is(&bed, bed.leaf[0][1], 3, EVIDENCE_LOSSLESS, 1);
        grew(&bed, bed.leaf[0][1], NONE, EVIDENCE_PORT_RX_DROPS, what == FEW ? 50 : 500);
        grew(&bed, bed.leaf[0][1], NONE, EVIDENCE_PORT_RX_PACKETS, 100000);
        grew(&bed, bed.leaf[0][1], NONE, EVIDENCE_PORT_TX_PAUSE_FRAMES, 0);
        grew(&bed, bed.leaf[0][0], NONE, EVIDENCE_PORT_TX_PAUSE_FRAMES, what != NOBODY_PAUSES);
        resends(&bed, what == NOBODY_RESENDS ? 0 : 1);
        if (what == LINK_DOWN) grew(&bed, bed.spine[1][1], NONE, EVIDENCE_LINK_DOWN, 1);
        bed_run(&bed);
        assert_int_equal(bed_count(&bed, DIAGNOSE_D08), what == DROPS);
        if (what == DROPS) {
            const struct diagnose_finding *finding = bed_found(&bed, DIAGNOSE_D08);
            assert_culprit(&bed, finding, bed.leaf[0][1]);
            assert_int_equal(finding->confidence, DIAGNOSE_WEAK);
            assert_non_null(strstr(finding->what, "never paused its peer"));
        }
        bed_close(&bed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_headroom),     cmocka_unit_test(test_no_pfc),
        cmocka_unit_test(test_pool),         cmocka_unit_test(test_pool_stands_still),
        cmocka_unit_test(test_port_drops),   cmocka_unit_test(test_other_drops),
        cmocka_unit_test(test_not_agreed),   cmocka_unit_test(test_not_agreed_drops),
        cmocka_unit_test(test_never_paused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
