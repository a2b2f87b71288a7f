/* SPDX-License-Identifier: Apache-2.0 */
/* D09 to D12 and D15 on hand-made evidence: each fires, and does not where it is a near miss. */
#include "bed.h"

#define DATA 3
#define CNP 6

/* Priority 3 is lossless, and NICs have sent in it. */
static void lossless(struct bed *bed)
{
    is(bed, bed->leaf[0][0], DATA, EVIDENCE_PFC_ON, 1);
    for (unsigned h = 0; h < HOSTS; h++)
        grew(bed, bed->host[h], DATA, EVIDENCE_TX_BYTES, 1000000);
}

/* --- D09 --- */

/* spine0 pauses leaf0, which pauses h0. */
static void pauses(struct bed *bed, uint64_t marks)
{
    grew(bed, bed->spine[0][0], DATA, EVIDENCE_TX_PAUSE_NS, 500000000);
    grew(bed, bed->spine[0][0], DATA, EVIDENCE_TX_PAUSE_FRAMES, 5000);
    grew(bed, bed->spine[0][1], DATA, EVIDENCE_MARKED, marks);
    grew(bed, bed->spine[0][1], DATA, EVIDENCE_TX_PACKETS, 100000);
    is(bed, bed->spine[0][1], DATA, EVIDENCE_QUEUE_PEAK, 1000000);
    grew(bed, bed->leaf[0][2], DATA, EVIDENCE_RX_PAUSE_NS, 500000000);
    grew(bed, bed->leaf[0][0], DATA, EVIDENCE_TX_PAUSE_NS, 400000000);
    grew(bed, bed->leaf[0][0], DATA, EVIDENCE_TX_PAUSE_FRAMES, 400);
    grew(bed, bed->leaf[0][2], DATA, EVIDENCE_MARKED, 0);
    grew(bed, bed->host[0], DATA, EVIDENCE_RX_PAUSE_NS, 400000000);
}

static void test_pauses_without_marks(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    pauses(&bed, 2);
    is(&bed, bed.spine[0][1], DATA, EVIDENCE_ECN_MIN, 10000000);
    bed_run(&bed);
    const struct diagnose_finding *finding = bed_found(&bed, DIAGNOSE_D09); /* not leaf0, which passes pauses on */
    assert_string_equal(bed.evidence.object[finding->culprit].name, "spine0");
    assert_non_null(strstr(finding->what, "marks only above 10000000"));
    assert_int_equal(finding->victims, 1);
    assert_true(is_victim(finding, bed.host[0]));
    bed_close(&bed);
}

/* Pauses for so little of the time are not why a job takes twice its ideal. */
static void test_pauses_that_cost_little(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    grew(&bed, bed.spine[0][0], DATA, EVIDENCE_TX_PAUSE_NS, 5000000);
    grew(&bed, bed.spine[0][0], DATA, EVIDENCE_TX_PAUSE_FRAMES, 50);
    grew(&bed, bed.spine[0][1], DATA, EVIDENCE_MARKED, 0);
    grew(&bed, bed.spine[0][1], DATA, EVIDENCE_TX_PACKETS, 100000);
    uint32_t job = evidence_job(&bed.evidence, "job", 3);
    is(&bed, job, NONE, EVIDENCE_JOB_IDEAL_NS, 500000000);
    is(&bed, job, NONE, EVIDENCE_JOB_NS, 1000000000);
    bed_run(&bed);
    assert_int_equal(bed_found(&bed, DIAGNOSE_D09)->severity, DIAGNOSE_INFO);
    bed_close(&bed);
}

static void test_pauses_with_marks(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    pauses(&bed, 500);
    bed_run(&bed);
    assert_int_equal(bed_count(&bed, DIAGNOSE_D09), 0);
    bed_close(&bed);
}

/* Switches that do not count marks: NICs say whether there were any. */
static void test_marks_not_counted(void **state)
{
    struct bed bed;
    (void)state;

    for (uint64_t marked = 0; marked < 2; marked++) {
        bed_open(&bed);
        grew(&bed, bed.spine[0][0], DATA, EVIDENCE_TX_PAUSE_NS, 500000000);
        grew(&bed, bed.spine[0][0], DATA, EVIDENCE_TX_PAUSE_FRAMES, 5000);
        grew(&bed, bed.host[0], NONE, EVIDENCE_NP_MARKED, marked);
        bed_run(&bed);
        assert_int_equal(bed_count(&bed, DIAGNOSE_D09), !marked);
        if (!marked) assert_int_equal(bed_found(&bed, DIAGNOSE_D09)->confidence, DIAGNOSE_WEAK);
        bed_close(&bed);
    }
}

/* --- D10 --- */

static void test_marks_unanswered(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    grew(&bed, bed.host[0], NONE, EVIDENCE_NP_MARKED, 5000);
    grew(&bed, bed.host[0], NONE, EVIDENCE_CNP_SENT, 0);
    grew(&bed, bed.host[1], NONE, EVIDENCE_NP_MARKED, 5000);
    grew(&bed, bed.host[1], NONE, EVIDENCE_CNP_SENT, 40); /* CNPs are limited in their rate */
    grew(&bed, bed.host[2], NONE, EVIDENCE_NP_MARKED, 3);
    grew(&bed, bed.host[2], NONE, EVIDENCE_CNP_SENT, 0); /* on its way */
    evidence_add_flow(&bed.evidence,
                      &(struct evidence_flow){.job = EVIDENCE_NONE, .from = bed.host[3], .to = bed.host[0]});
    bed_run(&bed);
    const struct diagnose_finding *finding = bed_found(&bed, DIAGNOSE_D10);
    assert_culprit(&bed, finding, bed.host[0]);
    assert_int_equal(finding->alsos, 0);
    assert_true(is_victim(finding, bed.host[3]));
    bed_close(&bed);
}

/* Nobody's congestion control goes by CNPs: that none are sent is as it should be. */
static void test_marks_that_nobody_wants_answered(void **state)
{
    (void)state;
    for (uint64_t wanted = 0; wanted < 2; wanted++) {
        struct bed bed;
        bed_open(&bed);
        grew(&bed, bed.host[0], NONE, EVIDENCE_NP_MARKED, 5000);
        grew(&bed, bed.host[0], NONE, EVIDENCE_CNP_SENT, 0);
        is(&bed, bed.host[0], NONE, EVIDENCE_CNPS_WANTED, 0);
        is(&bed, bed.host[3], NONE, EVIDENCE_CNPS_WANTED, wanted);
        bed_run(&bed);
        assert_int_equal(bed_count(&bed, DIAGNOSE_D10), wanted);
        bed_close(&bed);
    }
}

/* --- D11 --- */

static void cnps(struct bed *bed, uint64_t sent, uint64_t handled)
{
    lossless(bed);
    for (unsigned h = 0; h < HOSTS; h++) {
        grew(bed, bed->host[h], NONE, EVIDENCE_CNP_SENT, h == 0 ? sent : 0);
        grew(bed, bed->host[h], NONE, EVIDENCE_CNP_HANDLED, h > 1 ? handled / 2 : 0);
    }
    grew(bed, bed->host[0], CNP, EVIDENCE_TX_BYTES, sent * 74);
    grew(bed, bed->leaf[1][0], DATA, EVIDENCE_MARKED, 300);
}

static void test_cnps_lost(void **state)
{
    static const enum evidence_counter drops[] = {EVIDENCE_QUEUE_DROPS, EVIDENCE_GROUP_DROPS};
    struct bed bed;
    (void)state;

    for (size_t i = 0; i < 2; i++) {
        bed_open(&bed);
        cnps(&bed, 1000, 800);
        grew(&bed, bed.leaf[1][0], CNP, drops[i], 200);
        bed_run(&bed);
        const struct diagnose_finding *finding = bed_found(&bed, DIAGNOSE_D11);
        assert_culprit(&bed, finding, bed.leaf[1][0]);
        assert_int_equal(finding->evidences, 2);
        assert_string_equal(finding->evidence[1].counter, evidence_counters[drops[i]].name);
        assert_int_equal(finding->victims, 1);
        assert_true(is_victim(finding, bed.host[2]));
        bed_close(&bed);
    }
}

static void test_cnps_lost_somewhere(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    cnps(&bed, 1000, 800);
    bed_run(&bed);
    const struct diagnose_finding *finding = bed_found(&bed, DIAGNOSE_D11);
    assert_culprit(&bed, finding, bed.host[0]);
    assert_int_equal(finding->confidence, DIAGNOSE_WEAK);
    bed_close(&bed);
}

/* A line that loses frames loses CNPs too, and a queue pair that was given up handles none: both are known. */
static void test_cnps_lost_with_others(void **state)
{
    struct bed bed;
    (void)state;

    for (unsigned row = 0; row < 3; row++) {
        bed_open(&bed);
        cnps(&bed, 1000, 800);
        if (row == 1)
            grew(&bed, bed.leaf[1][2], NONE, EVIDENCE_LINK_DOWN, 3);
        else
            grew(&bed, bed.host[3], NONE, row ? EVIDENCE_ACK_TIMEOUTS : EVIDENCE_RETRY_EXCEEDED, row ? 7 : 1);
        bed_run(&bed);
        const struct diagnose_finding *finding = bed_found(&bed, DIAGNOSE_D11);
        assert_int_equal(finding->severity, row == 1 ? DIAGNOSE_WARNING : DIAGNOSE_INFO);
        assert_int_equal(finding->consequence_of != EVIDENCE_NONE, row == 1);
        if (row == 1) assert_int_equal(bed.diagnose.finding[finding->consequence_of].rule, DIAGNOSE_D19);
        bed_close(&bed);
    }
}

/* As many as are under way; and a host that nobody read. */
static void test_cnps_under_way(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    cnps(&bed, 1000, 990);
    bed_run(&bed);
    assert_int_equal(bed_count(&bed, DIAGNOSE_D11), 0);
    bed_close(&bed);
    bed_open(&bed);
    cnps(&bed, 1000, 800);
    bed_port(&bed, FABRIC_ROLE_HOST, "h", 4, 0);
    bed_run(&bed);
    assert_int_equal(bed_count(&bed, DIAGNOSE_D11), 0);
    assert_true(bed.diagnose.missings > 0);
    bed_close(&bed);
}

/* All arrive, behind the data that they are about. */
static void test_cnps_late(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    cnps(&bed, 1000, 1000);
    grew(&bed, bed.host[0], CNP, EVIDENCE_TX_BYTES, 0);
    bed_run(&bed);
    const struct diagnose_finding *finding = bed_found(&bed, DIAGNOSE_D11);
    assert_culprit(&bed, finding, bed.host[0]);
    assert_non_null(strstr(finding->what, "in the lossless class"));
    assert_int_equal(finding->victims, 2);
    bed_close(&bed);
}

static void test_cnps_ignored(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    grew(&bed, bed.host[2], NONE, EVIDENCE_CNP_IGNORED, 7);
    bed_run(&bed);
    assert_culprit(&bed, bed_found(&bed, DIAGNOSE_D11), bed.host[2]);
    bed_close(&bed);
}

/* --- D12 --- */

static void reordered(struct bed *bed)
{
    for (unsigned h = 0; h < HOSTS; h++) {
        grew(bed, bed->host[h], NONE, EVIDENCE_SEQUENCE_NAKS, 10 + h);
        grew(bed, bed->host[h], NONE, EVIDENCE_RETRANSMITTED, 100);
        grew(bed, bed->host[h], NONE, EVIDENCE_TX_DATA_PACKETS, 10000);
    }
    for (unsigned s = 0; s < SPINES; s++)
        for (unsigned l = 0; l < LEAVES; l++) {
            grew(bed, bed->leaf[l][2 + s], NONE, EVIDENCE_PORT_TX_BYTES, 1000000 + s * 10000);
            grew(bed, bed->spine[s][l], NONE, EVIDENCE_PORT_TX_BYTES, 1000000);
        }
}

static void test_sprayed(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    reordered(&bed);
    all_passed(&bed, 10000);
    bed_run(&bed);
    const struct diagnose_finding *finding = bed_found(&bed, DIAGNOSE_D12);
    assert_string_equal(bed.evidence.object[finding->culprit].name, "leaf1");
    assert_int_equal(finding->confidence, DIAGNOSE_STRONG);
    assert_int_equal(finding->victims, HOSTS);
    assert_int_equal(finding->alsos, 1);
    bed_close(&bed);
}

/* Flows that are hashed may lie as evenly, and something lose packets that counts none: a guess, and what it takes. */
static void test_perhaps_sprayed(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    reordered(&bed);
    bed_run(&bed);
    const struct diagnose_finding *finding = bed_found(&bed, DIAGNOSE_D12);
    assert_int_equal(finding->severity, DIAGNOSE_INFO);
    assert_int_equal(finding->confidence, DIAGNOSE_WEAK);
    assert_non_null(strstr(finding->what, "or were lost where nobody counts"));
    assert_true(bed.diagnose.missings > 0);
    bed_close(&bed);
}

/* No bytes of its links: the NAKs of the NICs behind it are its evidence, though another NIC sends more again. */
static void test_sprayed_has_a_counter(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    grew(&bed, bed.leaf[1][2], NONE, EVIDENCE_PORT_DROPS, 0); /* it was read */
    for (unsigned h = 1; h < HOSTS; h++) {
        grew(&bed, bed.host[h], NONE, EVIDENCE_SEQUENCE_NAKS, 10);
        grew(&bed, bed.host[h], NONE, EVIDENCE_RETRANSMITTED, h == 1 ? 1000 : 100);
    }
    bed_run(&bed);
    assert_string_equal(bed.evidence.object[bed_found(&bed, DIAGNOSE_D12)->culprit].name, "leaf1");
    bed_close(&bed);
}

/* What an outside host sends, loses and handles is not counted: nobody is blamed for what does not add up. */
static void test_outside(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    reordered(&bed);
    cnps(&bed, 10000, 5000);
    grew(&bed, bed.host[3], NONE, EVIDENCE_NP_MARKED, 5000);
    is(&bed, bed.host[3], NONE, EVIDENCE_OUTSIDE, 1);
    bed_run(&bed);
    assert_int_equal(bed_count(&bed, DIAGNOSE_D10) + bed_count(&bed, DIAGNOSE_D11) + bed_count(&bed, DIAGNOSE_D12), 0);
    bed_close(&bed);
}

/* What a line lost, or a switch cut off, is sent again, and nothing came out of order. */
static void test_lost_on_the_line_or_trimmed(void **state)
{
    static const enum evidence_counter losses[] = {EVIDENCE_LINE_LOST, EVIDENCE_TRIMMED};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct bed bed;
        bed_open(&bed);
        reordered(&bed);
        grew(&bed, bed.host[0], NONE, losses[i], 5);
        bed_run(&bed);
        assert_int_equal(bed_count(&bed, DIAGNOSE_D12), 0);
        bed_close(&bed);
    }
}

/* One packet was dropped: it may be loss. */
static void test_lost_not_sprayed(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    reordered(&bed);
    grew(&bed, bed.spine[0][0], DATA, EVIDENCE_GROUP_DROPS, 1);
    bed_run(&bed);
    assert_int_equal(bed_count(&bed, DIAGNOSE_D12), 0);
    bed_close(&bed);
}

/* --- D15 --- */

/* h0 and h1 send to h2 and h3 and back, by leaf0, spine0 and leaf1, which puts everything into class 0. */
static void wrong_class(struct bed *bed)
{
    lossless(bed);
    for (unsigned h = 0; h < HOSTS; h++) {
        grew(bed, bed->leaf[h / 2][2], h < 2 ? DATA : 0, EVIDENCE_TX_BYTES, 2000000);
        grew(bed, bed->spine[0][!(h / 2)], DATA, EVIDENCE_TX_BYTES, 2000000);
        grew(bed, bed->leaf[!(h / 2)][h % 2], h < 2 ? 0 : DATA, EVIDENCE_TX_BYTES, 1000000);
    }
}

/* What spine0 drops of leaf1's is a consequence: its pauses stop nobody there. */
static void test_wrong_class_explains_loss(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    wrong_class(&bed);
    grew(&bed, bed.spine[0][1], DATA, EVIDENCE_GROUP_DROPS, 100);
    grew(&bed, bed.spine[0][1], DATA, EVIDENCE_TX_PAUSE_FRAMES, 20);
    bed_run(&bed);
    uint32_t cause = bed_found(&bed, DIAGNOSE_D08)->consequence_of;
    assert_true(cause < bed.diagnose.findings);
    assert_int_equal(bed.diagnose.finding[cause].rule, DIAGNOSE_D15);
    bed_close(&bed);
}

static void test_wrong_class(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    wrong_class(&bed);
    bed_run(&bed);
    const struct diagnose_finding *finding = bed_found(&bed, DIAGNOSE_D15);
    assert_string_equal(bed.evidence.object[finding->culprit].name, "leaf1");
    assert_int_equal(finding->victims, HOSTS);
    bed_close(&bed);
}

/* The same paths in one class, and other traffic beside it. */
static void test_right_class(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    lossless(&bed);
    for (unsigned h = 0; h < HOSTS; h++) {
        grew(&bed, bed.host[h], 0, EVIDENCE_TX_BYTES, 500000);
        for (unsigned p = 0; p <= DATA; p += DATA) {
            grew(&bed, bed.leaf[h / 2][2], p, EVIDENCE_TX_BYTES, p ? 2000000 : 1000000);
            grew(&bed, bed.spine[0][!(h / 2)], p, EVIDENCE_TX_BYTES, p ? 1999000 : 1000000);
            grew(&bed, bed.leaf[!(h / 2)][h % 2], p, EVIDENCE_TX_BYTES, p ? 999500 : 500000);
        }
    }
    bed_run(&bed);
    assert_int_equal(bed_count(&bed, DIAGNOSE_D15), 0);
    bed_close(&bed);
}

/* A NIC that sends RDMA, and nothing in its class: but where a job was told to send in the one it uses. */
static void test_nic_in_wrong_class(void **state)
{
    (void)state;
    static const int told_priorities[] = {-1, 0, DATA}; /* -1: no job is seen */

    for (size_t i = 0; i < 3; i++) {
        int told = told_priorities[i];
        struct bed bed;
        bed_open(&bed);
        lossless(&bed);
        grew(&bed, bed.host[1], NONE, EVIDENCE_TX_DATA_PACKETS, 10000);
        grew(&bed, bed.host[1], 0, EVIDENCE_TX_BYTES, 40000000);
        grew(&bed, bed.host[1], DATA, EVIDENCE_TX_BYTES, 62);
        grew(&bed, bed.host[2], NONE, EVIDENCE_TX_DATA_PACKETS, 10000);
        if (told >= 0) is(&bed, evidence_job(&bed.evidence, "job", 3), NONE, EVIDENCE_JOB_PRIORITY, (uint64_t)told);
        bed_run(&bed);
        if (told == 0)
            assert_int_equal(bed_count(&bed, DIAGNOSE_D15), 0);
        else
            assert_culprit(&bed, bed_found(&bed, DIAGNOSE_D15), bed.host[1]);
        bed_close(&bed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pauses_without_marks),
        cmocka_unit_test(test_pauses_that_cost_little),
        cmocka_unit_test(test_pauses_with_marks),
        cmocka_unit_test(test_marks_not_counted),
        cmocka_unit_test(test_marks_unanswered),
        cmocka_unit_test(test_marks_that_nobody_wants_answered),
        cmocka_unit_test(test_cnps_lost),
        cmocka_unit_test(test_cnps_lost_somewhere),
        cmocka_unit_test(test_cnps_lost_with_others),
        cmocka_unit_test(test_cnps_under_way),
        cmocka_unit_test(test_cnps_late),
        cmocka_unit_test(test_cnps_ignored),
        cmocka_unit_test(test_sprayed),
        cmocka_unit_test(test_perhaps_sprayed),
        cmocka_unit_test(test_sprayed_has_a_counter),
        cmocka_unit_test(test_lost_on_the_line_or_trimmed),
        cmocka_unit_test(test_outside),
        cmocka_unit_test(test_lost_not_sprayed),
        cmocka_unit_test(test_wrong_class),
        cmocka_unit_test(test_right_class),
        cmocka_unit_test(test_wrong_class_explains_loss),
        cmocka_unit_test(test_nic_in_wrong_class),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
