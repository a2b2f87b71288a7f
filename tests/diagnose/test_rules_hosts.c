/* SPDX-License-Identifier: Apache-2.0 */
/* D17, D18, D20 and the verdict about training on hand-made evidence. */
#include "bed.h"
#include "diagnose/baseline.h"

#define RANKS 8

struct work {
    struct bed bed;
    uint32_t job, rank[RANKS];
};

/* A training job of eight ranks, two on each host: steps of 1 ms, of which 0.6 ms computing. */
static void open_work(struct work *work)
{
    struct evidence *evidence = &work->bed.evidence;

    bed_open(&work->bed);
    work->job = evidence_job(evidence, "train", 5);
    for (uint32_t r = 0; r < RANKS; r++) {
        work->rank[r] = evidence_rank(evidence, work->job, r);
        evidence->object[work->rank[r]].host = work->bed.host[r / 2];
        grew(&work->bed, work->bed.host[r / 2], NONE, EVIDENCE_RETRANSMITTED, 0);
    }
    is(&work->bed, work->job, NONE, EVIDENCE_RANKS, RANKS);
    is(&work->bed, work->job, NONE, EVIDENCE_STEPS, 20);
    is(&work->bed, work->job, NONE, EVIDENCE_STEP_NS, 1000000);
    is(&work->bed, work->job, NONE, EVIDENCE_STEP_COMPUTE_NS, 600000);
    is(&work->bed, work->job, NONE, EVIDENCE_STEP_EXPOSED_NS, 400000);
}

/* Every rank's number, a little apart, and one that is different. */
static void ranks(struct work *work, enum evidence_counter counter, uint64_t usual, uint32_t which, uint64_t other)
{
    for (uint32_t r = 0; r < RANKS; r++)
        is(&work->bed, work->rank[r], NONE, counter, r == which ? other : usual + usual / 200 * r);
}

static const struct diagnose_training *verdict(struct work *work, double base_ns, double exposed)
{
    const struct diagnose_baseline_job job[] = {{.job = "other", .ranks = 8, .step_ns = 1},
                                                {.job = "train", .ranks = 4, .step_ns = 1},
                                                {.job = "train", .ranks = 8, .step_ns = base_ns, .exposed = exposed}};
    const struct diagnose_baseline baseline = {.job = job, .jobs = 3};

    evidence_finish(&work->bed.evidence, NULL);
    diagnose_run(&work->bed.diagnose, &work->bed.evidence, base_ns > 0 ? &baseline : NULL);
    assert_int_equal(work->bed.diagnose.trainings, 1);
    return work->bed.diagnose.training;
}

static void test_slow_gpu(void **state)
{
    struct work work;
    (void)state;

    open_work(&work);
    ranks(&work, EVIDENCE_RANK_COMPUTE_NS, 600000, 5, 900000);
    bed_run(&work.bed);
    const struct diagnose_finding *finding = bed_found(&work.bed, DIAGNOSE_D17);
    assert_string_equal(work.bed.evidence.object[finding->culprit].name, "h2");
    assert_int_equal(finding->victims, HOSTS - 1);
    assert_int_equal(finding->confidence, DIAGNOSE_STRONG);
    assert_true(work.bed.diagnose.acquitted);
    assert_int_equal(work.bed.diagnose.training[0].not_straggler, DIAGNOSE_NO);
    bed_close(&work.bed);
}

/* As far out as others are; and too little to matter. */
static void test_no_straggler(void **state)
{
    struct work work;
    (void)state;

    open_work(&work);
    for (uint32_t r = 0; r < RANKS; r++)
        is(&work.bed, work.rank[r], NONE, EVIDENCE_RANK_COMPUTE_NS, 600000 + 40000 * r);
    bed_run(&work.bed);
    assert_int_equal(bed_count(&work.bed, DIAGNOSE_D17), 0);
    bed_close(&work.bed);
    open_work(&work);
    for (uint32_t r = 0; r < RANKS; r++)
        is(&work.bed, work.rank[r], NONE, EVIDENCE_RANK_COMPUTE_NS, r == 5 ? 620000 : 600000);
    bed_run(&work.bed);
    assert_int_equal(bed_count(&work.bed, DIAGNOSE_D17), 0);
    bed_close(&work.bed);
}

/* Late where its NIC sends again: that is no proof against the rank.  Waiting least is one where the NIC is clean. */
static void test_late(void **state)
{
    struct work work;
    (void)state;

    open_work(&work);
    ranks(&work, EVIDENCE_RANK_LATE_NS, 1000, 5, 300000);
    grew(&work.bed, work.bed.host[2], NONE, EVIDENCE_SEQUENCE_NAKS, 9);
    bed_run(&work.bed);
    assert_int_equal(bed_count(&work.bed, DIAGNOSE_D17), 0);
    bed_close(&work.bed);
    open_work(&work);
    ranks(&work, EVIDENCE_RANK_WAIT_NS, 400000, 1, 100000);
    bed_run(&work.bed);
    assert_string_equal(work.bed.evidence.object[bed_found(&work.bed, DIAGNOSE_D17)->culprit].name, "h0");
    bed_close(&work.bed);
}

/* A collective without steps: what it takes is the measure.  A second group of the same ranks says nothing new. */
static void test_late_in_collectives(void **state)
{
    (void)state;
    for (uint64_t late = 100; late <= 20000; late += 19900) {
        struct bed bed;
        bed_open(&bed);
        for (unsigned j = 0; j < 2; j++) {
            uint32_t job = evidence_job(&bed.evidence, j ? "dp" : "world", j ? 2 : 5);
            is(&bed, job, NONE, EVIDENCE_JOB_NS, 200000);
            for (uint32_t r = 0; r < RANKS; r++) {
                uint32_t rank = evidence_rank(&bed.evidence, job, r);
                bed.evidence.object[rank].host = bed.host[r / 2];
                is(&bed, rank, NONE, EVIDENCE_RANK_LATE_NS, r == 3 ? late : 0);
            }
        }
        bed_run(&bed);
        assert_int_equal(bed_count(&bed, DIAGNOSE_D17), late > 6000);
        bed_close(&bed);
    }
}

/* One rank has not come; and ranks between two operations. */
static void test_absent(void **state)
{
    struct work work;
    (void)state;

    open_work(&work);
    for (uint32_t r = 0; r < RANKS; r++)
        is(&work.bed, work.rank[r], NONE, EVIDENCE_RANK_LAST_OP, r == 7 ? 41 : 42);
    bed_run(&work.bed);
    assert_string_equal(work.bed.evidence.object[bed_found(&work.bed, DIAGNOSE_D17)->culprit].name, "h3");
    bed_close(&work.bed);
    open_work(&work);
    for (uint32_t r = 0; r < RANKS; r++)
        is(&work.bed, work.rank[r], NONE, EVIDENCE_RANK_LAST_OP, r % 2 ? 41 : 42);
    bed_run(&work.bed);
    assert_int_equal(bed_count(&work.bed, DIAGNOSE_D17), 0);
    bed_close(&work.bed);
}

/* --- D18 --- */

static void flows(struct work *work, uint64_t slow)
{
    for (unsigned from = 0; from < HOSTS; from++)
        for (unsigned to = 0; to < HOSTS; to++)
            evidence_add_flow(&work->bed.evidence,
                              &(struct evidence_flow){.job = work->job,
                                                      .from = work->bed.host[from],
                                                      .to = work->bed.host[to],
                                                      .ideal_ns = 1000,
                                                      .time_ns = to == 3 ? slow + from : 1200 + 10 * from});
}

static void test_slow_column(void **state)
{
    struct work work;
    (void)state;

    open_work(&work);
    flows(&work, 3000);
    bed_run(&work.bed);
    const struct diagnose_finding *finding = bed_found(&work.bed, DIAGNOSE_D18);
    assert_culprit(&work.bed, finding, work.bed.host[3]);
    assert_int_equal(finding->confidence, DIAGNOSE_WEAK);
    bed_close(&work.bed);
}

/* Transfers of which nobody says the job are nobody's slow pair, and do no harm to those of a job. */
static void test_transfers_of_no_job(void **state)
{
    struct work work;
    (void)state;

    open_work(&work);
    uint32_t job = work.job;
    work.job = EVIDENCE_NONE;
    flows(&work, 9000);
    work.job = job;
    flows(&work, 1500);
    bed_run(&work.bed);
    assert_int_equal(bed_count(&work.bed, DIAGNOSE_D18), 0);
    bed_close(&work.bed);
    open_work(&work);
    flows(&work, 3000);
    evidence_add_flow(&work.bed.evidence,
                      &(struct evidence_flow){.job = EVIDENCE_NONE, .from = work.bed.host[0], .to = work.bed.host[1]});
    bed_run(&work.bed);
    assert_culprit(&work.bed, bed_found(&work.bed, DIAGNOSE_D18), work.bed.host[3]);
    bed_close(&work.bed);
}

/* Not slow enough; and where a counter has said more. */
static void test_no_slow_column(void **state)
{
    struct work work;
    (void)state;

    open_work(&work);
    flows(&work, 1500);
    bed_run(&work.bed);
    assert_int_equal(bed_count(&work.bed, DIAGNOSE_D18), 0);
    bed_close(&work.bed);
    open_work(&work);
    flows(&work, 3000);
    grew(&work.bed, work.bed.leaf[1][1], NONE, EVIDENCE_CRC_ERRORS, 100);
    bed_run(&work.bed);
    assert_int_equal(bed_count(&work.bed, DIAGNOSE_D18), 0);
    assert_int_equal(bed_count(&work.bed, DIAGNOSE_D13), 1);
    bed_close(&work.bed);
}

/* --- D20 --- */

static void test_nothing_found(void **state)
{
    struct work work;
    (void)state;

    for (uint64_t ms = 1; ms <= 2; ms++) {
        open_work(&work);
        is(&work.bed, work.job, NONE, EVIDENCE_JOB_NS, ms * 1000000);
        is(&work.bed, work.job, NONE, EVIDENCE_JOB_IDEAL_NS, 1000000);
        bed_run(&work.bed);
        assert_int_equal(bed_count(&work.bed, DIAGNOSE_D20), ms - 1);
        if (ms == 2) assert_int_equal(bed_found(&work.bed, DIAGNOSE_D20)->severity, DIAGNOSE_INFO);
        bed_close(&work.bed);
    }
}

/* --- the verdict --- */

static void test_degraded(void **state)
{
    struct work work;
    (void)state;

    open_work(&work);
    ranks(&work, EVIDENCE_RANK_COMPUTE_NS, 600000, 0, 600000);
    grew(&work.bed, work.bed.leaf[0][2], NONE, EVIDENCE_CRC_ERRORS, 100);
    const struct diagnose_training *of = verdict(&work, 800000, 0.25);
    assert_int_equal(of->slow, DIAGNOSE_YES);
    assert_int_equal(of->exposed, DIAGNOSE_YES);
    assert_int_equal(of->not_straggler, DIAGNOSE_YES);
    assert_int_equal(of->network, DIAGNOSE_YES);
    assert_int_equal(work.bed.diagnose.finding[of->finding].rule, DIAGNOSE_D13);
    assert_true(of->added_exposed_share > 0.99 && of->added_exposed_share < 1.01);
    assert_true(of->gpu_hours_per_hour > 1.99 && of->gpu_hours_per_hour < 2.01); /* 8 GPUs, a quarter longer */
    assert_non_null(strstr(of->verdict, "because of the network"));
    assert_false(work.bed.diagnose.acquitted);
    bed_close(&work.bed);
}

/* Each condition that does not hold, alone. */
static void test_not_degraded(void **state)
{
    struct work work;
    const struct diagnose_training *of;
    (void)state;

    open_work(&work); /* 4 % */
    of = verdict(&work, 961000, 0.4);
    assert_int_equal(of->slow, DIAGNOSE_NO);
    assert_false(work.bed.diagnose.acquitted);
    bed_close(&work.bed);

    open_work(&work); /* it is computing that takes longer */
    of = verdict(&work, 800000, 0.49);
    assert_int_equal(of->exposed, DIAGNOSE_NO);
    assert_true(work.bed.diagnose.acquitted);
    bed_close(&work.bed);

    open_work(&work); /* the last rank's lateness is half of it */
    ranks(&work, EVIDENCE_RANK_LATE_NS, 0, 3, 100000);
    of = verdict(&work, 800000, 0.25);
    assert_int_equal(of->not_straggler, DIAGNOSE_NO);
    assert_true(of->skew_share > 0.49 && of->skew_share < 0.51);
    assert_true(work.bed.diagnose.acquitted);
    bed_close(&work.bed);

    open_work(&work); /* nothing was found */
    of = verdict(&work, 800000, 0.25);
    assert_int_equal(of->network, DIAGNOSE_NO);
    assert_non_null(strstr(of->verdict, "no counter of the network"));
    assert_false(work.bed.diagnose.acquitted);
    bed_close(&work.bed);

    open_work(&work); /* nine steps */
    is(&work.bed, work.job, NONE, EVIDENCE_STEPS, 9);
    assert_int_equal(verdict(&work, 800000, 0.25)->slow, DIAGNOSE_UNKNOWN);
    bed_close(&work.bed);
}

/* A host that the job does not run on has to do with it only by a switch. */
static void test_other_hosts(void **state)
{
    struct work work;
    (void)state;

    open_work(&work);
    uint32_t other = bed_port(&work.bed, FABRIC_ROLE_HOST, "h", 4, 0);
    grew(&work.bed, other, NONE, EVIDENCE_CRC_ERRORS, 100);
    assert_int_equal(verdict(&work, 800000, 0.25)->network, DIAGNOSE_NO);
    assert_int_equal(bed_count(&work.bed, DIAGNOSE_D13), 1);
    bed_close(&work.bed);
}

/* Without a baseline: against computing alone, and that is said. */
static void test_no_baseline(void **state)
{
    struct work work;
    (void)state;

    open_work(&work);
    const struct diagnose_training *of = verdict(&work, 0, 0);
    assert_true(of->base_known && of->base_is_ideal);
    assert_int_equal(of->slow, DIAGNOSE_YES);
    assert_non_null(strstr(of->verdict, "a baseline would show"));
    bed_close(&work.bed);
}

/* What a program does to its own packets explains its timers and its peers' wrong frames: no cable, no path. */
static void test_faults_on_purpose(void **state)
{
    struct bed bed;
    (void)state;

    for (int own = 0; own < 2; own++) {
        bed_open(&bed);
        grew(&bed, bed.host[0], NONE, EVIDENCE_TX_DATA_PACKETS, 1000000);
        grew(&bed, bed.host[0], NONE, EVIDENCE_ACK_TIMEOUTS, 7);
        grew(&bed, bed.host[0], NONE, EVIDENCE_FAULT_LOST, own ? 3552 : 0);
        grew(&bed, bed.host[0], NONE, EVIDENCE_FAULT_DELAYED, own ? 12 : 0);
        bed_run(&bed);
        assert_int_equal(bed_count(&bed, DIAGNOSE_D14), !own);
        assert_int_equal(bed_count(&bed, DIAGNOSE_D21), own);
        if (own) {
            const struct diagnose_finding *finding = bed_found(&bed, DIAGNOSE_D21);
            assert_culprit(&bed, finding, bed.host[0]);
            assert_non_null(strstr(finding->what, "3552 lost, 12 delayed"));
        }
        bed_close(&bed);
    }
    bed_open(&bed);
    grew(&bed, bed.host[0], NONE, EVIDENCE_FAULT_CORRUPTED, 50);
    grew(&bed, bed.host[3], NONE, EVIDENCE_PORT_RX_PACKETS, 100000);
    grew(&bed, bed.host[3], NONE, EVIDENCE_CRC_ERRORS, 50);
    bed_run(&bed);
    uint32_t cause = bed_found(&bed, DIAGNOSE_D13)->consequence_of;
    assert_int_not_equal(cause, EVIDENCE_NONE);
    assert_int_equal(bed.diagnose.finding[cause].rule, DIAGNOSE_D21);
    bed_close(&bed);
}

/* All bytes in a priority that has no PFC, and timers that ran out; not where the NIC counts its pauses, as mlx5 does
 * of those that PFC is on for, or where something else lost what it sent. */
static void test_outside_of_a_class(void **state)
{
    enum { OUTSIDE, COUNTS_PAUSES, EXPLAINED, CASES };
    (void)state;

    for (int what = 0; what < CASES; what++) {
        struct bed bed;
        bed_open(&bed);
        for (unsigned p = 0; p < EVIDENCE_PRIORITIES; p++)
            grew(&bed, bed.host[0], p, EVIDENCE_TX_BYTES, p == 5 ? 1000000 : 0);
        grew(&bed, bed.host[0], NONE, EVIDENCE_ACK_TIMEOUTS, 3);
        if (what == COUNTS_PAUSES) grew(&bed, bed.host[0], 5, EVIDENCE_RX_PAUSE_FRAMES, 0);
        if (what == EXPLAINED) grew(&bed, bed.leaf[0][0], NONE, EVIDENCE_LINK_DOWN, 2);
        bed_run(&bed);
        assert_int_equal(bed_count(&bed, DIAGNOSE_D15), what == OUTSIDE);
        if (what == OUTSIDE) assert_culprit(&bed, bed_found(&bed, DIAGNOSE_D15), bed.host[0]);
        bed_close(&bed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slow_gpu),
        cmocka_unit_test(test_no_straggler),
        cmocka_unit_test(test_late),
        cmocka_unit_test(test_absent),
        cmocka_unit_test(test_late_in_collectives),
        cmocka_unit_test(test_slow_column),
        cmocka_unit_test(test_transfers_of_no_job),
        cmocka_unit_test(test_no_slow_column),
        cmocka_unit_test(test_nothing_found),
        cmocka_unit_test(test_degraded),
        cmocka_unit_test(test_not_degraded),
        cmocka_unit_test(test_other_hosts),
        cmocka_unit_test(test_no_baseline),
        cmocka_unit_test(test_faults_on_purpose),
        cmocka_unit_test(test_outside_of_a_class),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
