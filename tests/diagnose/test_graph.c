/* SPDX-License-Identifier: Apache-2.0 */
/* The pause graph and the rules about roots of pauses, on hand-made evidence. */
#include "bed.h"

#include "diagnose/graph_int.h"

#define SECOND 1000000000ull
#define RATE 100000000000ull /* 100 Gb/s */

/* For so many thousandths of the second the peer paused this port. */
static void paused(struct bed *bed, uint32_t port, unsigned thousandths)
{
    grew(bed, port, 3, EVIDENCE_RX_PAUSE_NS, SECOND / 1000 * thousandths);
    grew(bed, port, 3, EVIDENCE_RX_PAUSE_EVENTS, 1000);
}

/* The port sent so many thousandths of its line. */
static void busy(struct bed *bed, uint32_t port, unsigned thousandths)
{
    is(bed, port, NONE, EVIDENCE_RATE, RATE);
    grew(bed, port, NONE, EVIDENCE_PORT_TX_BYTES, RATE / 8 / 1000 * thousandths);
}

static void queue(struct bed *bed, uint32_t port, uint64_t bytes)
{
    is(bed, port, 3, EVIDENCE_QUEUE_PEAK, bytes);
}

/* h0 is slow: leaf0's port to it fills, leaf0 pauses both spines, these pause leaf1, which pauses h2. */
static void spread_from_h0(struct bed *bed)
{
    paused(bed, bed->leaf[0][0], 400);
    queue(bed, bed->leaf[0][0], 900000);
    queue(bed, bed->leaf[0][1], 4000);
    for (unsigned s = 0; s < SPINES; s++) {
        paused(bed, bed->spine[s][0], 300);
        queue(bed, bed->spine[s][0], 800000);
        paused(bed, bed->leaf[1][2 + s], 250);
        queue(bed, bed->leaf[1][2 + s], 700000);
    }
    paused(bed, bed->host[2], 200);
}

static void test_slow_receiver(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    spread_from_h0(&bed);
    bed_run(&bed);
    const struct diagnose_finding *finding = bed_found(&bed, DIAGNOSE_D03);
    assert_culprit(&bed, finding, bed.host[0]);
    assert_int_equal(finding->victims, 6);
    assert_true(is_victim(finding, bed.leaf[0][0]));
    assert_true(is_victim(finding, bed.spine[0][0]));
    assert_true(is_victim(finding, bed.spine[1][0]));
    assert_true(is_victim(finding, bed.leaf[1][2]));
    assert_true(is_victim(finding, bed.leaf[1][3]));
    assert_true(is_victim(finding, bed.host[2]));
    assert_int_equal(finding->confidence, DIAGNOSE_STRONG);
    assert_int_equal(bed.diagnose.findings, 1);
    bed_close(&bed);
}

/* The same spread, and the NIC does not pause: its port is full. */
static void test_incast(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    spread_from_h0(&bed);
    grew(&bed, bed.leaf[0][0], 3, EVIDENCE_RX_PAUSE_NS, 0);
    evidence_set(&bed.evidence, bed.leaf[0][0], 3, EVIDENCE_RX_PAUSE_NS, 1000,
                 &(struct evidence_source){bed.file, 2, 1}); /* it was not paused after all */
    busy(&bed, bed.leaf[0][0], 990);
    bed_run(&bed);
    const struct diagnose_finding *finding = bed_found(&bed, DIAGNOSE_D04);
    assert_culprit(&bed, finding, bed.leaf[0][0]);
    assert_int_equal(finding->victims, 5);
    assert_false(is_victim(finding, bed.leaf[0][0]));
    assert_int_equal(bed_count(&bed, DIAGNOSE_D03), 0);
    bed_close(&bed);
}

/* Nobody is paused, since senders slow down: a port that is full alone, with a queue, is still an incast. */
static void test_incast_without_pauses(void **state)
{
    struct bed bed;
    (void)state;

    for (unsigned all = 0; all < 2; all++) {
        bed_open(&bed);
        for (unsigned h = 0; h < HOSTS; h++)
            busy(&bed, bed.leaf[h / 2][h % 2], !h || all ? 960 : 300);
        grew(&bed, bed.leaf[0][0], 3, EVIDENCE_MARKED, 40);
        bed_run(&bed);
        assert_int_equal(bed_count(&bed, DIAGNOSE_D04), !all); /* where all are full, that is what they are for */
        if (!all) assert_culprit(&bed, bed_found(&bed, DIAGNOSE_D04), bed.leaf[0][0]);
        bed_close(&bed);
    }
}

/* A port that had room, and pauses that nobody timed, or that lasted for too little of it to make anything slow. */
static void test_incast_of_little(void **state)
{
    static const struct {
        unsigned thousandths, busy;
        bool frames, other, unknown; /* no time of pauses; another cause; nobody says how long the queue was */
        uint8_t severity, confidence;
    } cases[] = {{20, 300, false, false, false, DIAGNOSE_INFO, DIAGNOSE_STRONG},
                 {100, 300, false, false, false, DIAGNOSE_WARNING, DIAGNOSE_STRONG},
                 {20, 990, false, false, false, DIAGNOSE_WARNING, DIAGNOSE_STRONG},
                 {100, 300, true, false, false, DIAGNOSE_INFO, DIAGNOSE_WEAK},
                 {100, 990, true, false, false, DIAGNOSE_WARNING, DIAGNOSE_WEAK},
                 {100, 300, false, true, false, DIAGNOSE_INFO, DIAGNOSE_STRONG},
                 {100, 300, false, false, true, DIAGNOSE_INFO, DIAGNOSE_STRONG},
                 {100, 990, false, true, true, DIAGNOSE_WARNING, DIAGNOSE_STRONG}};
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bed bed;
        bed_open(&bed);
        if (cases[i].frames) /* a frame holds for 65535 times 512 bit times at most */
            grew(&bed, bed.host[1], 3, EVIDENCE_RX_PAUSE_FRAMES, RATE / (65535 * 512) * cases[i].thousandths / 1000);
        else
            paused(&bed, bed.host[1], cases[i].thousandths);
        busy(&bed, bed.host[1], 10);
        busy(&bed, bed.leaf[0][0], cases[i].busy);
        if (!cases[i].unknown) queue(&bed, bed.leaf[0][0], 600000);
        if (cases[i].other) grew(&bed, bed.leaf[1][1], NONE, EVIDENCE_CRC_ERRORS, 100);
        bed_run(&bed);
        const struct diagnose_finding *finding = bed_found(&bed, DIAGNOSE_D04);
        assert_int_equal(finding->severity, cases[i].severity);
        assert_int_equal(finding->confidence, cases[i].confidence);
        bed_close(&bed);
    }
}

/* Pauses below the limit are what PFC is for. */
static void test_few_pauses(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    grew(&bed, bed.leaf[0][0], 3, EVIDENCE_RX_PAUSE_NS, SECOND / 2000);
    grew(&bed, bed.leaf[0][0], 3, EVIDENCE_RX_PAUSE_EVENTS, 20);
    bed_run(&bed);
    assert_int_equal(bed.diagnose.findings, 0);
    bed_close(&bed);
}

/* Paused for the whole time: a storm, however it is known. */
static void test_storm(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    spread_from_h0(&bed);
    evidence_set(&bed.evidence, bed.leaf[0][0], 3, EVIDENCE_RX_PAUSE_NS, 1000 + SECOND / 100 * 98,
                 &(struct evidence_source){bed.file, 2, 1});
    bed_run(&bed);
    assert_culprit(&bed, bed_found(&bed, DIAGNOSE_D02), bed.host[0]);
    bed_close(&bed);
}

/* It began late: one pause, said again and again, that never ended. */
static void test_late_storm(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    is(&bed, bed.leaf[0][0], NONE, EVIDENCE_RATE, RATE);
    grew(&bed, bed.leaf[0][0], 3, EVIDENCE_RX_PAUSE_NS, SECOND / 2);
    grew(&bed, bed.leaf[0][0], 3, EVIDENCE_RX_PAUSE_EVENTS, 1);
    bed_run(&bed);
    assert_culprit(&bed, bed_found(&bed, DIAGNOSE_D02), bed.host[0]);
    bed_close(&bed);
}

/* Three bursts, each longer than its frames last: next to nothing of the time, and no slow receiver's. */
static void test_storm_in_bursts(void **state)
{
    (void)state;
    for (unsigned slow = 0; slow < 2; slow++) {
        struct bed bed;
        bed_open(&bed);
        is(&bed, bed.leaf[0][0], NONE, EVIDENCE_RATE, RATE);
        grew(&bed, bed.leaf[0][0], 3, EVIDENCE_RX_PAUSE_NS, SECOND / 100);
        grew(&bed, bed.leaf[0][0], 3, EVIDENCE_RX_PAUSE_EVENTS, slow ? 100 : 3);
        bed_run(&bed);
        assert_culprit(&bed, bed_found(&bed, slow ? DIAGNOSE_D03 : DIAGNOSE_D02), bed.host[0]);
        if (!slow) assert_non_null(strstr(bed_found(&bed, DIAGNOSE_D02)->what, "in bursts that it never takes back"));
        bed_close(&bed);
    }
}

/* A simulated circle that something broke is no deadlock any more. */
static void test_broken_circle(void **state)
{
    (void)state;
    for (int broken = 0; broken < 2; broken++) {
        struct bed bed;
        bed_open(&bed);
        uint32_t port[2] = {bed.leaf[0][2], bed.spine[0][0]};
        for (unsigned i = 0; i < 2; i++)
            grew(&bed, port[i], 3, EVIDENCE_RX_PAUSE_NS, SECOND / 2);
        grew(&bed, port[0], 3, EVIDENCE_WATCHDOG_DETECTED, broken);
        evidence_add_circle(&bed.evidence, port, (const uint8_t[]){3, 3}, 2, broken);
        bed_run(&bed);
        const struct diagnose_finding *finding = bed_found(&bed, DIAGNOSE_D01);
        assert_int_equal(finding->severity, broken ? DIAGNOSE_WARNING : DIAGNOSE_CRITICAL);
        assert_int_equal(strstr(finding->what, "until it was broken, and the watchdog cut some off") != NULL, broken);
        bed_close(&bed);
    }
}

/* Nobody counts how often pauses began: 4800 frames for 800 ms only said a pause again, 100000 ended it as often. */
static void test_storm_by_few_frames(void **state)
{
    struct bed bed;
    (void)state;

    for (unsigned storm = 0; storm < 2; storm++) {
        bed_open(&bed);
        is(&bed, bed.leaf[0][0], NONE, EVIDENCE_RATE, RATE);
        grew(&bed, bed.host[0], 3, EVIDENCE_TX_PAUSE_NS, SECOND / 10 * 8);
        grew(&bed, bed.leaf[0][0], 3, EVIDENCE_RX_PAUSE_FRAMES, storm ? 4800 : 100000);
        bed_run(&bed);
        const struct diagnose_finding *finding = bed_found(&bed, storm ? DIAGNOSE_D02 : DIAGNOSE_D03);
        assert_culprit(&bed, finding, bed.host[0]);
        assert_int_equal(finding->confidence, storm ? DIAGNOSE_WEAK : DIAGNOSE_STRONG);
        bed_close(&bed);
    }
}

/* A NIC stands still for good, and its switch has frames alone: who holds it shows at a later look. */
static void test_held_by_nobody(void **state)
{
    struct bed bed;
    bool said = false;
    (void)state;

    bed_open(&bed);
    is(&bed, bed.host[2], NONE, EVIDENCE_RATE, RATE);
    grew(&bed, bed.host[2], 3, EVIDENCE_RX_PAUSE_NS, SECOND / 10 * 8);
    grew(&bed, bed.host[2], 3, EVIDENCE_RX_PAUSE_EVENTS, 2);
    grew(&bed, bed.leaf[1][2], 3, EVIDENCE_RX_PAUSE_FRAMES, 20);
    grew(&bed, bed.leaf[1][2], NONE, EVIDENCE_PORT_TX_BYTES, 1000);
    bed_run(&bed);
    assert_int_equal(bed_count(&bed, DIAGNOSE_D01) + bed_count(&bed, DIAGNOSE_D02), 0);
    for (uint32_t i = 0; i < bed.diagnose.missings; i++)
        said |= strstr(bed.diagnose.missing[i], "1 NIC stopped and did not go on") != NULL;
    assert_true(said);
    bed_close(&bed);
}

/* It began between the first and the second of three looks: between the last two it never sent. */
static void test_storm_of_three_looks(void **state)
{
    struct bed bed;
    (void)state;

    for (unsigned slow = 0; slow < 2; slow++) {
        bed_open(&bed);
        for (unsigned look = 0; look < 3; look++) {
            static const uint64_t at[2][3] = {{0, SECOND / 5, SECOND / 5 + SECOND}, {0, SECOND / 2, SECOND}};
            struct evidence_source source = {bed.file, look, look};
            evidence_set(&bed.evidence, bed.leaf[0][0], 3, EVIDENCE_RX_PAUSE_NS, at[slow][look], &source);
        }
        bed_run(&bed);
        assert_culprit(&bed, bed_found(&bed, slow ? DIAGNOSE_D03 : DIAGNOSE_D02), bed.host[0]);
        bed_close(&bed);
    }
}

/* Frames say how long it was at most: the finding is weak. */
static void test_frames_alone(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    is(&bed, bed.leaf[0][0], NONE, EVIDENCE_RATE, RATE);
    grew(&bed, bed.leaf[0][0], 3, EVIDENCE_RX_PAUSE_FRAMES, 100); /* 335 us each: 3.35 % */
    bed_run(&bed);
    const struct diagnose_finding *finding = bed_found(&bed, DIAGNOSE_D03);
    assert_int_equal(finding->confidence, DIAGNOSE_WEAK);
    assert_string_equal(finding->evidence[0].counter, "rx_pause_share_at_most");
    assert_true(finding->evidence[0].value > 0.0335 && finding->evidence[0].value < 0.0337);
    bed_close(&bed);
}

/* The NIC's own counter is as good: the pause is seen at both ends of the cable. */
static void test_from_the_other_end(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    grew(&bed, bed.host[1], 3, EVIDENCE_TX_PAUSE_NS, SECOND / 10);
    bed_run(&bed);
    const struct diagnose_finding *finding = bed_found(&bed, DIAGNOSE_D03);
    assert_culprit(&bed, finding, bed.host[1]);
    assert_int_equal(finding->evidence[0].line, 2);
    assert_int_equal(finding->victims, 1);
    bed_close(&bed);
}

/* One look: it may have been years ago, and nobody is blamed for it. */
static void test_since_boot(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    since_boot(&bed, bed.leaf[0][0], 3, EVIDENCE_RX_PAUSE_NS, SECOND * 100);
    bed_run(&bed);
    assert_int_equal(bed.diagnose.findings, 0);
    bool said = false;
    for (uint32_t i = 0; i < bed.diagnose.missings; i++)
        said |= strstr(bed.diagnose.missing[i], "one look gives no rates") != NULL;
    assert_true(said);
    bed_close(&bed);
}

/* leaf0 to spine0 to leaf1 to spine1 to leaf0: each waits for the next, for good. */
static void close_circle(struct bed *bed, unsigned thousandths)
{
    uint32_t circle[4] = {bed->leaf[0][2], bed->spine[0][1], bed->leaf[1][3], bed->spine[1][0]};

    for (unsigned i = 0; i < 4; i++) {
        is(bed, circle[i], NONE, EVIDENCE_RATE, RATE);
        grew(bed, circle[i], 3, EVIDENCE_RX_PAUSE_NS, SECOND / 1000 * thousandths);
        queue(bed, circle[i], 500000);
    }
    paused(bed, bed->host[0], 900);
}

static void test_circle(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    close_circle(&bed, 1000);
    bed_run(&bed);
    const struct diagnose_finding *finding = bed_found(&bed, DIAGNOSE_D01);
    assert_int_equal(finding->alsos, 3);
    assert_int_equal(finding->victims, 1);
    assert_true(is_victim(finding, bed.host[0]));
    assert_int_equal(finding->severity, DIAGNOSE_CRITICAL);
    bed_close(&bed);
    bed_open(&bed);
    close_circle(&bed, 900); /* it moves */
    bed_run(&bed);
    assert_int_equal(bed_count(&bed, DIAGNOSE_D01), 0);
    bed_close(&bed);
}

/* The simulator blames a queue that is nearly empty: the long one beside it is meant. */
static void test_exact_cause(void **state)
{
    struct bed bed;
    (void)state;

    for (unsigned empty = 0; empty < 2; empty++) {
        bed_open(&bed);
        paused(&bed, bed.spine[0][0], 500);
        queue(&bed, bed.leaf[0][0], 900000);
        queue(&bed, bed.leaf[0][1], empty ? 4000 : 800000);
        busy(&bed, bed.leaf[0][0], 990);
        busy(&bed, bed.leaf[0][1], 990);
        bed.evidence.exact = true;
        evidence_add_pause(&bed.evidence, &(struct evidence_pause){.port = bed.leaf[0][2],
                                                                   .paused = bed.spine[0][0],
                                                                   .cause = bed.leaf[0][1],
                                                                   .priority = 3,
                                                                   .count = 10,
                                                                   .time_ns = SECOND / 2});
        bed_run(&bed);
        const struct diagnose_finding *finding = bed_found(&bed, DIAGNOSE_D04);
        assert_culprit(&bed, finding, empty ? bed.leaf[0][0] : bed.leaf[0][1]);
        assert_int_equal(finding->confidence, DIAGNOSE_EXACT);
        bed_close(&bed);
    }
}

/* --- links between switches --- */

static void test_degraded(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    for (unsigned l = 0; l < LEAVES; l++)
        for (unsigned s = 0; s < SPINES; s++) {
            bool slow = !l && !s;
            is(&bed, bed.leaf[l][2 + s], NONE, EVIDENCE_RATE, slow ? RATE / 2 : RATE);
            is(&bed, bed.spine[s][l], NONE, EVIDENCE_RATE, slow ? RATE / 2 : RATE);
        }
    grew(&bed, bed.leaf[0][2], NONE, EVIDENCE_PORT_TX_BYTES, RATE / 16);
    grew(&bed, bed.leaf[0][3], NONE, EVIDENCE_PORT_TX_BYTES, RATE / 32);
    paused(&bed, bed.host[0], 100);
    queue(&bed, bed.leaf[0][2], 600000);
    bed_run(&bed);
    const struct diagnose_finding *finding = bed_found(&bed, DIAGNOSE_D06);
    assert_culprit(&bed, finding, bed.leaf[0][2]);
    assert_true(is_victim(finding, bed.host[0]));
    bed_close(&bed);
}

/* A cable that came up at half of its rate carries spine0's traffic down, next to nothing, or nobody has a job. */
static void test_degraded_the_other_way(void **state)
{
    static const struct {
        unsigned down;
        bool job;
        uint8_t severity;
    } cases[] = {{700, true, DIAGNOSE_WARNING}, {4, true, DIAGNOSE_INFO}, {4, false, DIAGNOSE_WARNING}};
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bed bed;
        bed_open(&bed);
        for (unsigned s = 0; s < SPINES; s++) {
            busy(&bed, bed.leaf[0][2 + s], 4);
            busy(&bed, bed.spine[s][0], s ? 300 : cases[i].down);
        }
        is(&bed, bed.leaf[0][2], NONE, EVIDENCE_FULL_RATE, 2 * RATE);
        is(&bed, bed.spine[0][0], NONE, EVIDENCE_FULL_RATE, 2 * RATE);
        if (cases[i].job) is(&bed, evidence_job(&bed.evidence, "job", 3), NONE, EVIDENCE_JOB_DONE, 1);
        bed_run(&bed);
        const struct diagnose_finding *finding = bed_found(&bed, DIAGNOSE_D06);
        assert_culprit(&bed, finding, bed.leaf[0][2]);
        assert_int_equal(finding->severity, cases[i].severity);
        if (cases[i].down > 4) assert_non_null(strstr(finding->what, "spine0:0 was 70% full"));
        bed_close(&bed);
    }
}

/* It was faster at the first look: nobody has to say what it should be. */
static void test_slower_than_before(void **state)
{
    struct evidence_source first = {.line = 1};
    struct bed bed;
    (void)state;

    bed_open(&bed);
    evidence_set(&bed.evidence, bed.host[1], NONE, EVIDENCE_RATE, RATE, &first);
    busy(&bed, bed.host[1], 90);
    is(&bed, bed.host[1], NONE, EVIDENCE_RATE, RATE / 10);
    bed_run(&bed);
    assert_culprit(&bed, bed_found(&bed, DIAGNOSE_D06), bed.host[1]);
    bed_close(&bed);
}

static void test_uneven(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    busy(&bed, bed.host[0], 990);
    busy(&bed, bed.host[1], 990);
    busy(&bed, bed.leaf[0][2], 990);
    busy(&bed, bed.leaf[0][3], 0);
    busy(&bed, bed.spine[1][0], 0);
    paused(&bed, bed.host[0], 100);
    paused(&bed, bed.host[1], 100);
    queue(&bed, bed.leaf[0][2], 600000);
    bed_run(&bed);
    const struct diagnose_finding *finding = bed_found(&bed, DIAGNOSE_D05);
    assert_culprit(&bed, finding, bed.leaf[0][2]);
    assert_non_null(strstr(finding->what, "leaf0:3 is up and carried nothing, one way or the other"));
    assert_int_equal(finding->severity, DIAGNOSE_INFO); /* two NICs on one of two links: chance */
    assert_int_equal(finding->victims, 2);
    bed_close(&bed);
}

/* One of two links is full and the other is not. */
static void uneven(struct bed *bed)
{
    busy(bed, bed->leaf[0][2], 990);
    busy(bed, bed->leaf[0][3], 300);
    paused(bed, bed->host[0], 100);
    queue(bed, bed->leaf[0][2], 600000);
}

/* Sixty flows on one of two links are no chance. */
static void test_very_uneven(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    uneven(&bed);
    uint32_t job = evidence_job(&bed.evidence, "job", 3);
    for (unsigned i = 0; i < 60; i++)
        evidence_add_flow(&bed.evidence, &(struct evidence_flow){
                                             .job = job, .from = bed.host[i % 2], .to = bed.host[2], .bytes = 100});
    bed_run(&bed);
    assert_int_equal(bed_found(&bed, DIAGNOSE_D05)->severity, DIAGNOSE_WARNING);
    bed_close(&bed);
}

/* Few packets are marked, a link is full and a job slow: forty flows on one of two links are no chance there either. */
static void test_full_and_uneven(void **state)
{
    struct bed bed;
    (void)state;

    for (unsigned row = 0; row < 3; row++) {
        bool full = row > 0, slow = row < 2, found = full && slow;
        bed_open(&bed);
        busy(&bed, bed.leaf[0][2], full ? 900 : 500);
        busy(&bed, bed.leaf[0][3], 10);
        grew(&bed, bed.leaf[0][2], 3, EVIDENCE_TX_PACKETS, 100000);
        grew(&bed, bed.leaf[0][2], 3, EVIDENCE_MARKED, 100);
        uint32_t job = evidence_job(&bed.evidence, "job", 3);
        is(&bed, job, NONE, EVIDENCE_JOB_IDEAL_NS, SECOND / 2);
        is(&bed, job, NONE, EVIDENCE_JOB_NS, slow ? SECOND : SECOND / 2);
        is(&bed, job, NONE, EVIDENCE_JOB_DONE, 1);
        for (unsigned h = 0; h < 2; h++)
            is(&bed, bed.host[h], NONE, EVIDENCE_CONNECTIONS, 20);
        bed_run(&bed);
        assert_int_equal(bed_count(&bed, DIAGNOSE_D05), found);
        if (found) assert_int_equal(bed_found(&bed, DIAGNOSE_D05)->severity, DIAGNOSE_WARNING);
        bed_close(&bed);
    }
}

/* Nobody said how many flows there are: it may be chance. */
static void test_uneven_by_unknown_flows(void **state)
{
    struct bed bed;
    (void)state;

    bed_open(&bed);
    uneven(&bed);
    bed_run(&bed);
    assert_int_equal(bed_found(&bed, DIAGNOSE_D05)->severity, DIAGNOSE_INFO);
    assert_non_null(strstr(bed_found(&bed, DIAGNOSE_D05)->what, "may be chance"));
    assert_true(bed.diagnose.missings > 0);
    bed_close(&bed);
}

/* Both full, and pauses begin there: oversubscribed.  Full alone is no finding. */
static void test_not_enough(void **state)
{
    struct bed bed;
    (void)state;

    for (unsigned pauses = 0; pauses < 2; pauses++) {
        bed_open(&bed);
        busy(&bed, bed.leaf[0][2], 990);
        busy(&bed, bed.leaf[0][3], 980);
        if (pauses) paused(&bed, bed.host[0], 100);
        queue(&bed, bed.leaf[0][2], 600000);
        queue(&bed, bed.leaf[0][3], 590000);
        bed_run(&bed);
        assert_int_equal(bed_count(&bed, DIAGNOSE_D07), pauses);
        assert_int_equal(bed.diagnose.findings, pauses);
        bed_close(&bed);
    }
}

static bool has_row(const struct diagnose_finding *finding, uint32_t object, const char *counter)
{
    for (uint32_t i = 0; i < finding->evidences; i++)
        if (finding->evidence[i].object == object && !strcmp(finding->evidence[i].counter, counter)) return true;
    return false;
}

/* A link of two that went down is lost capacity, by whichever end says so; one that nobody ever used is not, and a
 * switch whose links are all down has none left that could be full. */
static void test_link_lost(void **state)
{
    struct bed bed;
    (void)state;

    for (unsigned went_down = 0; went_down < 2; went_down++) {
        bed_open(&bed);
        busy(&bed, bed.leaf[0][3], 300);
        is(&bed, bed.spine[0][0], NONE, EVIDENCE_LINK_UP, 0);
        if (went_down) grew(&bed, bed.spine[0][0], NONE, EVIDENCE_LINK_DOWN, 1);
        bed_run(&bed);
        assert_int_equal(bed_count(&bed, DIAGNOSE_D07), went_down);
        if (went_down) assert_true(has_row(bed_found(&bed, DIAGNOSE_D07), bed.spine[0][0], "link_up"));
        bed_close(&bed);
    }
    bed_open(&bed);
    for (unsigned s = 0; s < SPINES; s++) {
        busy(&bed, bed.leaf[0][2 + s], 300);
        is(&bed, bed.leaf[0][2 + s], NONE, EVIDENCE_LINK_UP, 0);
        grew(&bed, bed.leaf[0][2 + s], NONE, EVIDENCE_LINK_DOWN, 1);
    }
    bed_run(&bed);
    assert_int_equal(bed_count(&bed, DIAGNOSE_D07), 0);
    bed_close(&bed);
}

static void test_hashing(void **state)
{
    struct diagnose_graph graph = {0};
    const struct diagnose diagnose = {.graph = &graph};
    (void)state;
    assert_true(hashing_most(&diagnose, 8, 4).expected > 1.7 && hashing_most(&diagnose, 8, 4).expected < 1.95);
    assert_true(hashing_most(&diagnose, 8, 4).rare > 2.4);
    assert_true(hashing_most(&diagnose, 1, 4).expected == 4);
    assert_true(hashing_most(&diagnose, 4000, 4).rare < 1.15);
    assert_true(hashing_most(&diagnose, 100000, 64).expected > 1.05 &&
                hashing_most(&diagnose, 100000, 64).expected < 1.1);
    assert_true(hashing_most(&diagnose, 5, 1).rare == 1);
    assert_true(hashing_empty(4, 2) > 0.124 && hashing_empty(4, 2) < 0.126);
}

/* Without the other ends of cables a device is judged alone, and nothing falls over. */
static void test_alone(void **state)
{
    struct bed bed = {0};
    (void)state;

    evidence_init(&bed.evidence);
    bed.file = evidence_file(&bed.evidence, "hand-made");
    uint32_t port = bed_port(&bed, FABRIC_ROLE_LEAF, "leaf", 0, 0);
    paused(&bed, port, 100);
    bed_run(&bed);
    assert_int_equal(bed.diagnose.findings, 0);
    bed_close(&bed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slow_receiver),
        cmocka_unit_test(test_incast),
        cmocka_unit_test(test_few_pauses),
        cmocka_unit_test(test_incast_without_pauses),
        cmocka_unit_test(test_incast_of_little),
        cmocka_unit_test(test_storm),
        cmocka_unit_test(test_storm_in_bursts),
        cmocka_unit_test(test_broken_circle),
        cmocka_unit_test(test_late_storm),
        cmocka_unit_test(test_storm_by_few_frames),
        cmocka_unit_test(test_held_by_nobody),
        cmocka_unit_test(test_storm_of_three_looks),
        cmocka_unit_test(test_frames_alone),
        cmocka_unit_test(test_from_the_other_end),
        cmocka_unit_test(test_since_boot),
        cmocka_unit_test(test_circle),
        cmocka_unit_test(test_exact_cause),
        cmocka_unit_test(test_degraded),
        cmocka_unit_test(test_degraded_the_other_way),
        cmocka_unit_test(test_slower_than_before),
        cmocka_unit_test(test_uneven),
        cmocka_unit_test(test_very_uneven),
        cmocka_unit_test(test_full_and_uneven),
        cmocka_unit_test(test_uneven_by_unknown_flows),
        cmocka_unit_test(test_not_enough),
        cmocka_unit_test(test_link_lost),
        cmocka_unit_test(test_hashing),
        cmocka_unit_test(test_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
