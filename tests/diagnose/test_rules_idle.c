/* SPDX-License-Identifier: Apache-2.0 */
/* Adapters that rest though they have data, on hand-made evidence: for their rate, for the bus; what looks alike. */
#include "bed.h"

#define SECOND 1000000000ull
#define RATE 100000000000ull /* 100 Gb/s */

/* The port sent so many thousandths of its line. */
static void busy(struct bed *bed, uint32_t port, unsigned thousandths)
{
    is(bed, port, NONE, EVIDENCE_RATE, RATE);
    grew(bed, port, NONE, EVIDENCE_PORT_TX_BYTES, RATE / 8 / 1000 * thousandths);
}

static void marks(struct bed *bed, uint32_t port)
{
    grew(bed, port, 3, EVIDENCE_MARKED, 5000);
}

/* The adapter sent and rested so many thousandths of the second. */
static void sends(struct bed *bed, unsigned host, unsigned thousandths, enum evidence_counter counter, unsigned rests)
{
    busy(bed, bed->host[host], thousandths);
    grew(bed, bed->host[host], NONE, counter, SECOND / 1000 * rests);
}

static void flow(struct bed *bed, uint32_t job, unsigned from, unsigned to, unsigned sent, unsigned lasted)
{
    evidence_add_flow(&bed->evidence, &(struct evidence_flow){job, bed->host[from], bed->host[to],
                                                              RATE / 8 / 1000 * sent, SECOND / 1000 * lasted, 0, 0});
}

/* A job that takes so many times its ideal. */
static uint32_t job(struct bed *bed, unsigned percent)
{
    uint32_t job = evidence_job(&bed->evidence, "job", 3);

    is(bed, job, NONE, EVIDENCE_JOB_DONE, 1);
    is(bed, job, NONE, EVIDENCE_JOB_IDEAL_NS, SECOND / 2);
    is(bed, job, NONE, EVIDENCE_JOB_NS, SECOND / 200 * percent);
    return job;
}

/* h1, h2 and h3 send to h0, whose port sends so much: `rests` thousandths of the time each could not. */
static void three_to_one(struct bed *bed, unsigned sent, enum evidence_counter counter, unsigned rests,
                         unsigned percent)
{
    bed_open(bed);
    uint32_t of = job(bed, percent);
    for (unsigned h = 1; h < HOSTS; h++) {
        sends(bed, h, sent / 3, counter, rests);
        flow(bed, of, h, 0, sent / 3, 1000);
        busy(bed, bed->leaf[h / 2][h % 2], 1);
    }
    busy(bed, bed->leaf[0][0], sent);
    marks(bed, bed->leaf[0][0]);
}

static void test_held_back(void **state)
{
    struct bed bed;
    (void)state;

    three_to_one(&bed, 600, EVIDENCE_IDLE_RATE_NS, 780, 180);
    bed_run(&bed);
    const struct diagnose_finding *finding = bed_found(&bed, DIAGNOSE_D22);
    assert_culprit(&bed, finding, bed.leaf[0][0]);
    assert_int_equal(finding->victims, 3);
    assert_true(is_victim(finding, bed.host[1]) && is_victim(finding, bed.host[2]) && is_victim(finding, bed.host[3]));
    assert_non_null(strstr(finding->what, "held back 3 adapters"));
    assert_non_null(strstr(finding->what, "leaf0:0, the busiest link on its way, sent at 60%"));
    assert_int_equal(bed.diagnose.findings, 1); /* no incast: the port is not the limit */
    bed_close(&bed);
}

/* What looks alike, and the links are what limits, or nobody is slow. */
static void test_not_held_back(void **state)
{
    struct bed bed;
    (void)state;

    three_to_one(&bed, 960, EVIDENCE_IDLE_RATE_NS, 660, 180); /* the receiver's port is full */
    bed_run(&bed);
    assert_int_equal(bed_count(&bed, DIAGNOSE_D22), 0);
    assert_culprit(&bed, bed_found(&bed, DIAGNOSE_D04), bed.leaf[0][0]);
    assert_non_null(strstr(bed_found(&bed, DIAGNOSE_D04)->what, "was 96% full"));
    bed_close(&bed);

    three_to_one(&bed, 480, EVIDENCE_IDLE_RATE_NS, 330, 180); /* it is, for the half of the time that is asked of it */
    bed_run(&bed);
    assert_int_equal(bed_count(&bed, DIAGNOSE_D22), 0);
    bed_close(&bed);

    three_to_one(&bed, 600, EVIDENCE_IDLE_RATE_NS, 780, 110); /* the job is as fast as it can be */
    bed_run(&bed);
    assert_int_equal(bed_count(&bed, DIAGNOSE_D22), 0);
    bed_close(&bed);

    three_to_one(&bed, 600, EVIDENCE_IDLE_RATE_NS, 80, 180); /* they rest for another reason */
    bed_run(&bed);
    assert_int_equal(bed_count(&bed, DIAGNOSE_D22), 0);
    assert_null(strstr(bed_found(&bed, DIAGNOSE_D04)->what, "full"));
    bed_close(&bed);
}

/* An incast is what somebody asked for: information where every job is as fast as its receivers' lines allow. */
static void test_incast_that_costs_nothing(void **state)
{
    static const struct {
        bool paused, done;
        unsigned percent;
        uint8_t severity;
    } cases[] = {
        {false, true, 105, DIAGNOSE_INFO},
        {false, true, 180, DIAGNOSE_WARNING},
        {false, false, 90, DIAGNOSE_INFO},
        {true, true, 105, DIAGNOSE_INFO},
        {true, true, 180, DIAGNOSE_WARNING},
        {true, false, 90, DIAGNOSE_WARNING}, /* how it ends is not known, and others are stopped */
    };
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bed bed;
        three_to_one(&bed, 960, EVIDENCE_IDLE_RATE_NS, 0, cases[i].percent);
        is(&bed, evidence_job(&bed.evidence, "job", 3), NONE, EVIDENCE_JOB_DONE, cases[i].done);
        if (cases[i].paused) {
            grew(&bed, bed.leaf[0][0], 3, EVIDENCE_QUEUE_PEAK, 1000000);
            grew(&bed, bed.host[1], 3, EVIDENCE_RX_PAUSE_NS, SECOND / 5);
            grew(&bed, bed.host[1], 3, EVIDENCE_RX_PAUSE_FRAMES, 1000);
        }
        bed_run(&bed);
        assert_int_equal(bed_found(&bed, DIAGNOSE_D04)->severity, cases[i].severity);
        bed_close(&bed);
    }
}

/* What is sent again because of a bad cable fills a port: information, unless it is full without that too. */
static void test_incast_beside_loss(void **state)
{
    (void)state;
    for (int paused = 0; paused < 2; paused++)
        for (int much = 0; much < 2; much++) {
            struct bed bed;
            three_to_one(&bed, 960, EVIDENCE_IDLE_RATE_NS, 0, 180);
            grew(&bed, bed.leaf[0][2], NONE, EVIDENCE_CRC_ERRORS, 50);
            grew(&bed, bed.host[1], NONE, EVIDENCE_TX_DATA_PACKETS, 10000);
            grew(&bed, bed.host[1], NONE, EVIDENCE_RETRANSMITTED, much ? 2000 : 400);
            if (paused) {
                grew(&bed, bed.leaf[0][0], 3, EVIDENCE_QUEUE_PEAK, 1000000);
                grew(&bed, bed.host[1], 3, EVIDENCE_RX_PAUSE_NS, SECOND / 5);
                grew(&bed, bed.host[1], 3, EVIDENCE_RX_PAUSE_FRAMES, 1000);
            }
            bed_run(&bed);
            assert_int_equal(bed_found(&bed, DIAGNOSE_D04)->severity, much ? DIAGNOSE_INFO : DIAGNOSE_WARNING);
            bed_close(&bed);
        }
}

/* Who waits so long behind an incast that timers run out sends again, too: nothing else was found that loses. */
static void test_incast_that_resends(void **state)
{
    struct bed bed;

    (void)state;
    three_to_one(&bed, 960, EVIDENCE_IDLE_RATE_NS, 0, 180);
    grew(&bed, bed.host[1], NONE, EVIDENCE_TX_DATA_PACKETS, 10000);
    grew(&bed, bed.host[1], NONE, EVIDENCE_RETRANSMITTED, 2000);
    bed_run(&bed);
    assert_int_equal(bed_found(&bed, DIAGNOSE_D04)->severity, DIAGNOSE_WARNING);
    bed_close(&bed);
}

/* leaf0 waits for the credits of h0, or of spine0: who takes all at once and gives too few is no slow receiver. */
static void test_too_few_credits(void **state)
{
    (void)state;
    for (int slow = 0; slow < 2; slow++)
        for (int to_spine = 0; to_spine < 2; to_spine++) {
            struct bed bed;
            bed_open(&bed);
            uint32_t port = to_spine ? bed.leaf[0][2] : bed.leaf[0][0];
            job(&bed, 200);
            busy(&bed, port, 300);
            busy(&bed, bed.spine[0][1], slow && to_spine ? 950 : 300);
            is(&bed, bed.host[0], NONE, EVIDENCE_RX_BUFFER_PEAK, slow ? 200000 : 0);
            grew(&bed, port, NONE, EVIDENCE_CREDITS_RECEIVED, 5000);
            grew(&bed, port, 3, EVIDENCE_RX_PAUSE_NS, SECOND / 2);
            grew(&bed, port, 3, EVIDENCE_RX_PAUSE_FRAMES, 100000);
            bed_run(&bed);
            assert_int_equal(bed_count(&bed, DIAGNOSE_D26), !slow);
            if (!slow) assert_culprit(&bed, bed_found(&bed, DIAGNOSE_D26), to_spine ? bed.spine[0][0] : bed.host[0]);
            assert_int_equal(bed_count(&bed, DIAGNOSE_D03), slow && !to_spine);
            bed_close(&bed);
        }
}

/* A port that is not full is a guess; information where something is known. */
static void test_a_port_that_is_hardly_busy(void **state)
{
    (void)state;
    for (int lost = 0; lost < 2; lost++) {
        struct bed bed;
        three_to_one(&bed, 60, EVIDENCE_IDLE_RATE_NS, 0, 180);
        if (lost) grew(&bed, bed.leaf[0][2], NONE, EVIDENCE_CRC_ERRORS, 50);
        bed_run(&bed);
        const struct diagnose_finding *finding = bed_found(&bed, DIAGNOSE_D04);
        assert_culprit(&bed, finding, bed.leaf[0][0]);
        assert_int_equal(finding->alsos, 3); /* who send */
        assert_int_equal(finding->severity, lost ? DIAGNOSE_INFO : DIAGNOSE_WARNING);
        bed_close(&bed);
    }
}

/* An incast that pauses others, too: what costs more at its port is the cause. */
static void test_paused_and_held_back(void **state)
{
    struct bed bed;
    (void)state;

    for (unsigned longer = 0; longer < 2; longer++) {
        three_to_one(&bed, 600, EVIDENCE_IDLE_RATE_NS, 780, 180);
        is(&bed, bed.leaf[0][0], 3, EVIDENCE_QUEUE_PEAK, 900000);
        grew(&bed, bed.spine[0][0], 3, EVIDENCE_RX_PAUSE_NS, SECOND / 1000 * (longer ? 700 : 50));
        grew(&bed, bed.spine[0][0], 3, EVIDENCE_RX_PAUSE_EVENTS, 1000);
        bed_run(&bed);
        const struct diagnose_finding *incast = bed_found(&bed, DIAGNOSE_D04);
        assert_culprit(&bed, incast, bed.leaf[0][0]);
        assert_non_null(strstr(incast->what, "sent at 60% of its line"));
        assert_int_equal(incast->consequence_of == EVIDENCE_NONE, longer);
        assert_int_equal(bed_found(&bed, DIAGNOSE_D22)->consequence_of, EVIDENCE_NONE);
        bed_close(&bed);
    }
}

/* Of a job that lost far more than that, it is a remark; nobody says so of one without an ideal. */
static void test_part_of_it(void **state)
{
    struct bed bed;
    (void)state;

    for (unsigned percent = 180; percent <= 700; percent += 520) {
        three_to_one(&bed, 600, EVIDENCE_IDLE_RATE_NS, 780, percent);
        bed_run(&bed);
        assert_int_equal(bed_found(&bed, DIAGNOSE_D22)->severity, percent < 200 ? DIAGNOSE_WARNING : DIAGNOSE_INFO);
        bed_close(&bed);
    }
}

/* h0 and h1 ask four times what leaf0's uplinks carry, and nobody is paused; but not where the job is well, the links
 * are as fast, or one of them carries it all.  A tenth more than they carry is a remark. */
static void test_asked_too_much(void **state)
{
    struct bed bed;
    (void)state;

    for (unsigned row = 0; row < 5; row++) {
        bed_open(&bed);
        job(&bed, row == 1 ? 110 : 300);
        for (unsigned p = 0; p < 2; p++) {
            uint32_t up = bed.leaf[0][2 + p];
            uint64_t rate = row == 2 ? RATE : row == 4 ? RATE / 10 * 9 : RATE / 4; /* as much as is asked; else less */
            is(&bed, bed.leaf[0][p], NONE, EVIDENCE_RATE, RATE);
            is(&bed, up, NONE, EVIDENCE_RATE, rate);
            grew(&bed, up, NONE, EVIDENCE_PORT_TX_BYTES, rate / 8 / 1000 * (row == 3 && p ? 300 : 870));
            grew(&bed, up, 3, EVIDENCE_TX_PACKETS, 100000);
            marks(&bed, up);
        }
        bed_run(&bed);
        assert_int_equal(bed_count(&bed, DIAGNOSE_D07), row == 0 || row == 4);
        if (row == 0) assert_int_equal(bed_found(&bed, DIAGNOSE_D07)->severity, DIAGNOSE_WARNING);
        if (row == 4) assert_int_equal(bed_found(&bed, DIAGNOSE_D07)->severity, DIAGNOSE_INFO);
        bed_close(&bed);
    }
}

/* Links as fast as half of what is asked are planned so, perhaps, unless a job takes as much longer. */
static void test_planned_and_slow(void **state)
{
    struct bed bed;
    (void)state;

    for (unsigned slow = 0; slow < 2; slow++) {
        bed_open(&bed);
        job(&bed, slow ? 210 : 190);
        for (unsigned p = 0; p < 2; p++) {
            uint32_t up = bed.leaf[0][2 + p];
            is(&bed, bed.leaf[0][p], NONE, EVIDENCE_RATE, RATE);
            is(&bed, up, NONE, EVIDENCE_RATE, RATE / 2);
            grew(&bed, up, NONE, EVIDENCE_PORT_TX_BYTES, RATE / 16 / 1000 * 870);
            grew(&bed, up, 3, EVIDENCE_TX_PACKETS, 100000);
            marks(&bed, up);
        }
        bed_run(&bed);
        assert_int_equal(bed_found(&bed, DIAGNOSE_D07)->severity, slow ? DIAGNOSE_WARNING : DIAGNOSE_INFO);
        bed_close(&bed);
    }
}

/* Two flows from leaf0 met on one of two links that are a quarter as fast as the adapters: no better spread helps.
 * With sixty it is no chance, and the links are not to blame; nor where they are as fast. */
static void test_too_narrow(void **state)
{
    struct bed bed;
    (void)state;

    for (unsigned row = 0; row < 3; row++) {
        bed_open(&bed);
        uint32_t of = job(&bed, 400);
        uint64_t rate = row == 2 ? RATE : RATE / 4;
        for (unsigned p = 0; p < 2; p++) {
            is(&bed, bed.leaf[0][p], NONE, EVIDENCE_RATE, RATE);
            is(&bed, bed.leaf[0][2 + p], NONE, EVIDENCE_RATE, rate);
            grew(&bed, bed.leaf[0][2 + p], NONE, EVIDENCE_PORT_TX_BYTES, rate / 8 / 1000 * (p ? 100 : 950));
            grew(&bed, bed.leaf[0][2 + p], 3, EVIDENCE_TX_PACKETS, 100000);
        }
        marks(&bed, bed.leaf[0][2]);
        for (unsigned i = 0; i < (row == 1 ? 60 : 2); i++)
            flow(&bed, of, i % 2, 2 + i % 2, 100, 1000);
        bed_run(&bed);
        assert_int_equal(bed_count(&bed, DIAGNOSE_D07), row == 0);
        if (row == 0) assert_int_equal(bed_found(&bed, DIAGNOSE_D07)->severity, DIAGNOSE_WARNING);
        if (row == 1) assert_int_equal(bed_found(&bed, DIAGNOSE_D05)->severity, DIAGNOSE_WARNING);
        bed_close(&bed);
    }
}

/* Who sends to h0 rests for its rate; that many of another job send there is why. */
static void test_held_back_by_an_incast(void **state)
{
    struct bed bed;
    (void)state;

    for (unsigned senders = 2; senders <= 5; senders += 3) {
        three_to_one(&bed, 600, EVIDENCE_IDLE_RATE_NS, 780, 180);
        uint32_t other = evidence_job(&bed.evidence, "incast", 6);
        for (unsigned s = 0; s < senders; s++)
            flow(&bed, other, 1 + s % 3, 0, 10, 100);
        bed_run(&bed);
        assert_int_equal(bed_count(&bed, DIAGNOSE_D04), senders == 5);
        uint32_t cause = bed_found(&bed, DIAGNOSE_D22)->consequence_of;
        assert_int_equal(cause != EVIDENCE_NONE, senders == 5);
        if (senders == 5) assert_culprit(&bed, &bed.diagnose.finding[cause], bed.leaf[0][0]);
        bed_close(&bed);
    }
}

/* First all to h0, then all to h1: each port is full while it is sent to. */
static void test_one_after_the_other(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    uint32_t of = job(&bed, 180);
    for (unsigned h = 2; h < HOSTS; h++) {
        sends(&bed, h, 480, EVIDENCE_IDLE_RATE_NS, 500);
        flow(&bed, of, h, 0, 240, 490);
        flow(&bed, of, h, 1, 240, 490);
    }
    for (unsigned p = 0; p < 2; p++) {
        busy(&bed, bed.leaf[0][p], 480);
        marks(&bed, bed.leaf[0][p]);
    }
    bed_run(&bed);
    assert_int_equal(bed_count(&bed, DIAGNOSE_D22), 0);
    bed_close(&bed);
}

/* h0 and h1 to h2 and h3 over one uplink: full and marked it is the limit; without marks it holds nobody back; paused
 * it stands still, which is no room. */
static void test_between_switches(void **state)
{
    static const struct {
        unsigned sent, paused;
        bool marked, found;
    } rows[] = {{950, 0, true, false}, {950, 0, false, true}, {600, 0, true, true}, {600, 360, true, false}};
    struct bed bed;
    (void)state;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bed_open(&bed);
        uint32_t of = job(&bed, 180);
        for (unsigned h = 0; h < 2; h++) {
            sends(&bed, h, 300, EVIDENCE_IDLE_RATE_NS, 690);
            flow(&bed, of, h, 2 + h, 300, 1000);
            busy(&bed, bed.leaf[1][h], 300);
        }
        marks(&bed, bed.leaf[1][0]); /* somebody does */
        busy(&bed, bed.leaf[0][2], rows[i].sent);
        if (rows[i].marked) marks(&bed, bed.leaf[0][2]);
        if (rows[i].paused) grew(&bed, bed.leaf[0][2], 3, EVIDENCE_RX_PAUSE_NS, SECOND / 1000 * rows[i].paused);
        bed_run(&bed);
        assert_int_equal(bed_count(&bed, DIAGNOSE_D22), rows[i].found);
        bed_close(&bed);
    }
}

/* Nobody lists transfers: any port that marked may have been the receiver's. */
static void test_receivers_unknown(void **state)
{
    struct bed bed;
    (void)state;

    for (unsigned full = 0; full < 2; full++) {
        bed_open(&bed);
        job(&bed, 180);
        for (unsigned h = 0; h < HOSTS; h++) {
            sends(&bed, h, 500, EVIDENCE_IDLE_RATE_NS, 480);
            busy(&bed, bed.leaf[h / 2][h % 2], full && h == 3 ? 970 : 500);
            marks(&bed, bed.leaf[h / 2][h % 2]);
        }
        bed_run(&bed);
        assert_int_equal(bed_count(&bed, DIAGNOSE_D22), !full);
        bed_close(&bed);
    }
}

/* Senders that are told late, and by a cause that has a name. */
static void test_cnps_explain(void **state)
{
    struct bed bed;
    (void)state;

    three_to_one(&bed, 600, EVIDENCE_IDLE_RATE_NS, 780, 180);
    grew(&bed, bed.host[0], NONE, EVIDENCE_CNP_SENT, 10000);
    for (unsigned h = 1; h < HOSTS; h++)
        grew(&bed, bed.host[h], NONE, EVIDENCE_CNP_HANDLED, 1000);
    bed_run(&bed);
    uint32_t cause = bed_found(&bed, DIAGNOSE_D22)->consequence_of;
    assert_int_not_equal(cause, EVIDENCE_NONE);
    assert_int_equal(bed.diagnose.finding[cause].rule, DIAGNOSE_D11);
    bed_close(&bed);
}

static void test_bus(void **state)
{
    struct bed bed;
    (void)state;

    three_to_one(&bed, 600, EVIDENCE_IDLE_FETCH_NS, 780, 180);
    bed_run(&bed);
    const struct diagnose_finding *finding = bed_found(&bed, DIAGNOSE_D23);
    assert_culprit(&bed, finding, bed.host[1]);
    assert_int_equal(finding->alsos, 2);
    assert_int_equal(bed_count(&bed, DIAGNOSE_D22), 0);
    assert_int_equal(bed_count(&bed, DIAGNOSE_D04), 0);
    bed_close(&bed);
    three_to_one(&bed, 960, EVIDENCE_IDLE_FETCH_NS, 660, 180); /* the receiver could not take more */
    bed_run(&bed);
    assert_int_equal(bed_count(&bed, DIAGNOSE_D23), 0);
    bed_close(&bed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_held_back),
        cmocka_unit_test(test_not_held_back),
        cmocka_unit_test(test_incast_that_costs_nothing),
        cmocka_unit_test(test_a_port_that_is_hardly_busy),
        cmocka_unit_test(test_incast_beside_loss),
        cmocka_unit_test(test_incast_that_resends),
        cmocka_unit_test(test_too_few_credits),
        cmocka_unit_test(test_paused_and_held_back),
        cmocka_unit_test(test_part_of_it),
        cmocka_unit_test(test_asked_too_much),
        cmocka_unit_test(test_planned_and_slow),
        cmocka_unit_test(test_too_narrow),
        cmocka_unit_test(test_held_back_by_an_incast),
        cmocka_unit_test(test_one_after_the_other),
        cmocka_unit_test(test_between_switches),
        cmocka_unit_test(test_receivers_unknown),
        cmocka_unit_test(test_cnps_explain),
        cmocka_unit_test(test_bus),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
