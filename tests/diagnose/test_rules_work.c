/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a job waits for inside of its hosts, and who disturbs it in its class, on hand-made evidence; each with a
 * healthy case beside it.
 */
#include "bed.h"

#define MS 1000000ull
#define SECOND 1000000000ull
#define RATE 100000000000ull /* 100 Gb/s */

static uint32_t job_of(struct bed *bed, const char *name, uint64_t ideal_ms, uint64_t took_ms)
{
    uint32_t job = evidence_job(&bed->evidence, name, strlen(name));

    is(bed, job, NONE, EVIDENCE_JOB_DONE, 1);
    is(bed, job, NONE, EVIDENCE_JOB_IDEAL_NS, ideal_ms * MS);
    is(bed, job, NONE, EVIDENCE_JOB_NS, took_ms * MS);
    return job;
}

static uint32_t rank_on(struct bed *bed, uint32_t job, unsigned rank, unsigned host)
{
    uint32_t object = evidence_rank(&bed->evidence, job, rank);

    bed->evidence.object[object].host = bed->host[host];
    return object;
}

/* Steps of 10 ms, of which ranks wait so much for GPUs of their host, and so much in all. */
static void steps(struct bed *bed, unsigned inside_ms, unsigned exposed_ms)
{
    bed_open(bed);
    uint32_t job = job_of(bed, "train", 40, 100);
    is(bed, job, NONE, EVIDENCE_STEP_NS, 10 * MS);
    is(bed, job, NONE, EVIDENCE_STEP_EXPOSED_NS, exposed_ms * MS);
    is(bed, job, NONE, EVIDENCE_STEP_INSIDE_NS, inside_ms * MS);
    bed_run(bed);
}

static void test_gpus_wait_inside(void **state)
{
    struct bed bed;

    (void)state;
    steps(&bed, 4, 5);
    const struct diagnose_finding *finding = bed_found(&bed, DIAGNOSE_D27);
    assert_int_equal(finding->severity, DIAGNOSE_WARNING);
    assert_non_null(strstr(finding->what, "4.000 ms of a step of 10.000 ms"));
    bed_close(&bed);
    steps(&bed, 1, 5); /* little of a step */
    assert_int_equal(bed_count(&bed, DIAGNOSE_D27), 0);
    bed_close(&bed);
    steps(&bed, 2, 7); /* others are waited for longer */
    assert_int_equal(bed_count(&bed, DIAGNOSE_D27), 0);
    bed_close(&bed);
}

/* A collective of 10 ms on two ranks, of which links between GPUs take so much. */
static void collective(struct bed *bed, unsigned inside_ms, unsigned ideal_ms, unsigned second_host)
{
    bed_open(bed);
    uint32_t job = job_of(bed, "allreduce", ideal_ms, 10);
    rank_on(bed, job, 0, 0);
    rank_on(bed, job, 1, second_host);
    is(bed, job, NONE, EVIDENCE_JOB_INSIDE_NS, inside_ms * MS);
    bed_run(bed);
}

static void test_links_between_gpus_are_the_limit(void **state)
{
    struct bed bed;

    (void)state;
    collective(&bed, 8, 8, 1);
    assert_int_equal(bed_found(&bed, DIAGNOSE_D27)->severity, DIAGNOSE_WARNING);
    bed_close(&bed);
    collective(&bed, 8, 8, 0); /* in one host nothing else can be */
    assert_int_equal(bed_found(&bed, DIAGNOSE_D27)->severity, DIAGNOSE_INFO);
    assert_non_null(strstr(bed_found(&bed, DIAGNOSE_D27)->what, "no packet of it left its host"));
    assert_int_equal(bed.diagnose.findings, 1);
    bed_close(&bed);
    collective(&bed, 5, 8, 1); /* adapters' lines take longer */
    assert_int_equal(bed_count(&bed, DIAGNOSE_D27), 0);
    bed_close(&bed);
    collective(&bed, 4, 4, 1); /* something else takes most of the time */
    assert_int_equal(bed_count(&bed, DIAGNOSE_D27), 0);
    bed_close(&bed);
}

/* Something waited for h0's software for so many thousandths of the second, in which it sent so many. */
static void software(struct bed *bed, unsigned waited, unsigned sent, unsigned took_ms)
{
    bed_open(bed);
    job_of(bed, "small", 100, took_ms);
    for (unsigned h = 0; h < HOSTS; h++) {
        is(bed, bed->host[h], NONE, EVIDENCE_RATE, RATE);
        grew(bed, bed->host[h], NONE, EVIDENCE_PORT_TX_BYTES, RATE / 8 / 1000 * sent);
        grew(bed, bed->host[h], NONE, EVIDENCE_SOFTWARE_NS, h ? 0 : SECOND / 1000 * waited);
    }
    bed_run(bed);
}

static void test_software_is_slow(void **state)
{
    struct bed bed;

    (void)state;
    software(&bed, 700, 50, 400);
    assert_culprit(&bed, bed_found(&bed, DIAGNOSE_D28), bed.host[0]);
    assert_int_equal(bed_found(&bed, DIAGNOSE_D28)->severity, DIAGNOSE_WARNING);
    bed_close(&bed);
    software(&bed, 200, 50, 400); /* most of the time goes elsewhere */
    assert_int_equal(bed_found(&bed, DIAGNOSE_D28)->severity, DIAGNOSE_INFO);
    bed_close(&bed);
    software(&bed, 700, 650, 400); /* the line is used meanwhile */
    assert_int_equal(bed_count(&bed, DIAGNOSE_D28), 0);
    bed_close(&bed);
    software(&bed, 700, 50, 110); /* nobody is slow */
    assert_int_equal(bed_count(&bed, DIAGNOSE_D28), 0);
    bed_close(&bed);
}

/* Data of h0 waits for cores: what is counted is the finding, however busy the line is for the rest of the time. */
static void test_cores_are_slow(void **state)
{
    struct bed bed;

    (void)state;
    for (unsigned idle = 50; idle <= 550; idle += 500) {
        bed_open(&bed);
        job_of(&bed, "copy", 100, 200);
        is(&bed, bed.host[0], NONE, EVIDENCE_RATE, RATE);
        grew(&bed, bed.host[0], NONE, EVIDENCE_PORT_TX_BYTES, RATE / 8 / 1000 * 450);
        grew(&bed, bed.host[0], NONE, EVIDENCE_CORES_IDLE_NS, SECOND / 1000 * idle);
        bed_run(&bed);
        assert_int_equal(bed_count(&bed, DIAGNOSE_D28), idle > 50);
        if (idle > 50) assert_culprit(&bed, bed_found(&bed, DIAGNOSE_D28), bed.host[0]);
        if (idle > 50) assert_non_null(strstr(bed_found(&bed, DIAGNOSE_D28)->what, "for 55% of the time"));
        bed_close(&bed);
    }
}

/* Two stages of two ranks each, which compute so many tenths of a millisecond. */
static void stages(struct bed *bed, const unsigned tenths[4])
{
    bed_open(bed);
    uint32_t job = job_of(bed, "pipeline", 40, 100);
    is(bed, job, NONE, EVIDENCE_STEP_NS, 10 * MS);
    is(bed, job, NONE, EVIDENCE_STEP_COMPUTE_NS, 4 * MS);
    for (unsigned r = 0; r < 4; r++) {
        uint32_t rank = rank_on(bed, job, r, r);
        is(bed, rank, NONE, EVIDENCE_RANK_STAGE, r / 2);
        is(bed, rank, NONE, EVIDENCE_RANK_COMPUTE_NS, tenths[r] * MS / 10);
    }
    bed_run(bed);
}

static void test_stages_are_unequal(void **state)
{
    struct bed bed;

    (void)state;
    stages(&bed, (const unsigned[]){40, 40, 60, 60});
    const struct diagnose_finding *finding = bed_found(&bed, DIAGNOSE_D29);
    assert_non_null(strstr(finding->what, "stage 1 of 2"));
    assert_int_equal(bed_count(&bed, DIAGNOSE_D17), 0); /* nobody is a straggler */
    bed_close(&bed);
    stages(&bed, (const unsigned[]){40, 40, 41, 41});
    assert_int_equal(bed_count(&bed, DIAGNOSE_D29), 0);
    bed_close(&bed);
    stages(&bed, (const unsigned[]){40, 40, 40, 80}); /* one rank: no stage */
    assert_int_equal(bed_count(&bed, DIAGNOSE_D29), 0);
    bed_close(&bed);
}

/* A slow AllReduce of h0 and h1 in priority 3; h2 sends so many thousandths of what h0 sends there to h0 in another. */
static void copies(struct bed *bed, unsigned share, unsigned priority, bool coupled, unsigned took_ms)
{
    bed_open(bed);
    uint32_t job = job_of(bed, "allreduce", 100, took_ms), other = job_of(bed, "copies", 100, 110);
    is(bed, job, NONE, EVIDENCE_JOB_PRIORITY, 3);
    is(bed, job, NONE, EVIDENCE_JOB_COUPLED, 1);
    is(bed, other, NONE, EVIDENCE_JOB_PRIORITY, priority);
    is(bed, other, NONE, EVIDENCE_JOB_COUPLED, coupled);
    for (unsigned h = 0; h < HOSTS; h++) {
        is(bed, bed->host[h], 3, EVIDENCE_LOSSLESS, 1);
        grew(bed, bed->host[h], 3, EVIDENCE_TX_BYTES, h < 2 ? 1000000 : 0);
    }
    rank_on(bed, job, 0, 0);
    rank_on(bed, job, 1, 1);
    evidence_add_flow(&bed->evidence,
                      &(struct evidence_flow){other, bed->host[2], bed->host[0], 2000ull * share, MS, MS, 0});
    bed_run(bed);
}

/* The same AllReduce, from 0 to 20 ms, lost 10 ms; so many adapters send to h0, for so many ms of its line; 0: they
 * have not ended. */
static void burst(struct bed *bed, unsigned senders, unsigned ms, unsigned at_ms)
{
    bed_open(bed);
    uint32_t job = job_of(bed, "allreduce", 10, 20), other = job_of(bed, "incast", 10, 10);
    is(bed, job, NONE, EVIDENCE_JOB_END_NS, 20 * MS);
    for (unsigned j = 0; j < 2; j++) {
        is(bed, j ? other : job, NONE, EVIDENCE_JOB_PRIORITY, 3);
        is(bed, j ? other : job, NONE, EVIDENCE_JOB_COUPLED, !j);
    }
    rank_on(bed, job, 0, 0);
    is(bed, bed->host[0], NONE, EVIDENCE_RATE, 8000000000);
    for (unsigned s = 0; s < senders; s++) {
        uint32_t from = bed_port(bed, FABRIC_ROLE_HOST, "sender", s, 0);
        uint64_t bytes = ms ? 1000000ull * ms / senders : 10000000000;
        evidence_add_flow(&bed->evidence,
                          &(struct evidence_flow){other, from, bed->host[0], bytes, ms * MS, MS, at_ms * MS});
    }
    bed_run(bed);
}

static void test_a_burst_in_the_way(void **state)
{
    struct bed bed;

    (void)state;
    burst(&bed, 5, 8, 4);
    const struct diagnose_finding *finding = bed_found(&bed, DIAGNOSE_D04);
    assert_int_equal(finding->culprit, bed.leaf[0][0]);
    assert_int_equal(finding->victims, 1);
    assert_string_equal(bed.evidence.object[finding->victim[0]].name, "allreduce");
    bed_close(&bed);
    burst(&bed, 5, 4, 4); /* it explains less than half */
    assert_int_equal(bed_count(&bed, DIAGNOSE_D04), 0);
    bed_close(&bed);
    burst(&bed, 5, 8, 16); /* half of it came later */
    assert_int_equal(bed_count(&bed, DIAGNOSE_D04), 0);
    bed_close(&bed);
    burst(&bed, 5, 0, 4); /* those that have not ended last until the end: from 4 to 20 ms */
    assert_int_equal(bed_count(&bed, DIAGNOSE_D04), 1);
    bed_close(&bed);
    burst(&bed, 3, 8, 4); /* few senders are no incast */
    assert_int_equal(bed_count(&bed, DIAGNOSE_D04), 0);
    bed_close(&bed);
}

/* Two slow AllReduces share h1, and each has a host of its own; what goes to h3 is beside the second alone. */
static void test_other_traffic_of_two(void **state)
{
    struct bed bed;
    uint32_t job[2];

    (void)state;
    bed_open(&bed);
    for (unsigned j = 0; j < 2; j++) {
        job[j] = job_of(&bed, j ? "second" : "first", 100, 200);
        is(&bed, job[j], NONE, EVIDENCE_JOB_PRIORITY, 3);
        is(&bed, job[j], NONE, EVIDENCE_JOB_COUPLED, 1);
        rank_on(&bed, job[j], 0, j ? 3 : 0);
        rank_on(&bed, job[j], 1, 1);
    }
    uint32_t other = job_of(&bed, "copies", 100, 110);
    is(&bed, other, NONE, EVIDENCE_JOB_PRIORITY, 3);
    is(&bed, other, NONE, EVIDENCE_JOB_COUPLED, 0);
    for (unsigned h = 0; h < HOSTS; h++) {
        is(&bed, bed.host[h], 3, EVIDENCE_LOSSLESS, 1);
        grew(&bed, bed.host[h], 3, EVIDENCE_TX_BYTES, 1000000);
    }
    evidence_add_flow(&bed.evidence, &(struct evidence_flow){other, bed.host[2], bed.host[1], 100000, MS, MS, 0});
    evidence_add_flow(&bed.evidence, &(struct evidence_flow){other, bed.host[2], bed.host[3], 500000, MS, MS, 0});
    evidence_add_flow(&bed.evidence,
                      &(struct evidence_flow){EVIDENCE_NONE, bed.host[2], bed.host[1], 900000, MS, MS, 0});
    bed_run(&bed);
    /* 5 % of what the first's hosts sent, 30 % of the second's */
    const struct diagnose_finding *finding = bed_found(&bed, DIAGNOSE_D30);
    assert_string_equal(bed.evidence.object[finding->culprit].name, "copies");
    assert_non_null(strstr(finding->what, "30% of what the adapters of second sent"));
    bed_close(&bed);
}

static void test_other_traffic_in_the_class(void **state)
{
    struct bed bed;

    (void)state;
    copies(&bed, 400, 3, false, 200);
    const struct diagnose_finding *finding = bed_found(&bed, DIAGNOSE_D30);
    assert_string_equal(bed.evidence.object[finding->culprit].name, "copies");
    assert_int_equal(finding->priority, 3);
    bed_close(&bed);
    copies(&bed, 100, 3, false, 200); /* little of it */
    assert_int_equal(bed_count(&bed, DIAGNOSE_D30), 0);
    bed_close(&bed);
    copies(&bed, 400, 1, false, 200); /* in a class of its own */
    assert_int_equal(bed_count(&bed, DIAGNOSE_D30), 0);
    bed_close(&bed);
    copies(&bed, 400, 3, true, 200); /* another collective */
    assert_int_equal(bed_count(&bed, DIAGNOSE_D30), 0);
    bed_close(&bed);
    copies(&bed, 400, 3, false, 110); /* nobody is slow */
    assert_int_equal(bed_count(&bed, DIAGNOSE_D30), 0);
    bed_close(&bed);
}

/* leaf0 is paused by a spine for so many thousandths of the time, and its watchdog acts. */
static void test_a_hasty_watchdog(void **state)
{
    struct bed bed;

    (void)state;
    for (int storm = 0; storm < 2; storm++) {
        bed_open(&bed);
        uint32_t port = storm ? bed.leaf[0][0] : bed.leaf[0][2];
        for (unsigned h = 0; h < HOSTS; h++)
            is(&bed, bed.host[h], 3, EVIDENCE_LOSSLESS, 1);
        grew(&bed, port, 3, EVIDENCE_RX_PAUSE_NS, storm ? SECOND : SECOND / 5);
        grew(&bed, port, 3, EVIDENCE_RX_PAUSE_FRAMES, storm ? 1 : 1000);
        grew(&bed, port, 3, EVIDENCE_WATCHDOG_DETECTED, storm ? 1 : 12);
        grew(&bed, port, 3, EVIDENCE_WATCHDOG_DROPS, 30);
        bed_run(&bed);
        assert_int_equal(bed_count(&bed, DIAGNOSE_D31), !storm);
        if (!storm) assert_non_null(strstr(bed_found(&bed, DIAGNOSE_D31)->what, "12 times and dropped 30 packets"));
        if (!storm) assert_culprit(&bed, bed_found(&bed, DIAGNOSE_D31), bed.evidence.object[port].parent);
        if (storm) assert_int_equal(bed_count(&bed, DIAGNOSE_D02), 1);
        bed_close(&bed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gpus_wait_inside),           cmocka_unit_test(test_links_between_gpus_are_the_limit),
        cmocka_unit_test(test_software_is_slow),           cmocka_unit_test(test_cores_are_slow),
        cmocka_unit_test(test_stages_are_unequal),         cmocka_unit_test(test_a_burst_in_the_way),
        cmocka_unit_test(test_other_traffic_in_the_class), cmocka_unit_test(test_other_traffic_of_two),
        cmocka_unit_test(test_a_hasty_watchdog),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
