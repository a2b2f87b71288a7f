/* SPDX-License-Identifier: Apache-2.0 */
/* Latencies, goodput bins, pauses, CNP gaps: everything that is measured in time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "lab.h"
#include "packet/opcode.h"

static const struct way there = {.src = 1, .dst = 2, .dst_qp = 0x22};
static const struct way back = {.src = 2, .dst = 1, .dst_qp = 0x11};

static void test_ack_latency(void **state)
{
    (void)state;
    struct lab lab;
    lab_open(&lab, NULL);
    for (uint32_t i = 0; i < 100; i++) {
        lab.now_ns = LAB_START_NS + i * 1000000;
        lab_request(&lab, &there, OPCODE_RC_SEND_ONLY, i, 8, true);
        lab.now_ns = LAB_START_NS + i * 1000000 + 1000 * (i + 1);
        lab_ack(&lab, &back, i, i);
    }
    lab_finish(&lab);
    const struct histo *latency = lab_forward(&lab, 0)->ack_latency;
    assert_int_equal(latency->count, 100);
    assert_int_equal(latency->min, 1000);
    assert_int_equal(latency->max, 100000);
    assert_int_equal(latency->sum, 5050000);
    assert_in_range(histo_percentile(latency, 500000), 48000, 53000);
    assert_in_range(histo_percentile(latency, 990000), 95000, 100000);
    assert_null(lab_forward(&lab, 0)->read_latency);
    assert_null(lab_reverse(&lab, 0)->ack_latency);
    lab_close(&lab);
}

/* One ACK covers several; a request sent again gives no sample; a READ response acknowledges what was before it. */
static void test_what_is_sampled(void **state)
{
    (void)state;
    struct lab lab;
    lab_open(&lab, NULL);
    lab_request(&lab, &there, OPCODE_RC_SEND_ONLY, 0, 8, true);       /* 0 */
    lab_request(&lab, &there, OPCODE_RC_SEND_ONLY, 1, 8, false);      /* 100 */
    lab_request(&lab, &there, OPCODE_RC_SEND_ONLY, 2, 8, true);       /* 200 */
    lab_ack(&lab, &back, 2, 3);                                       /* 300: 300 and 100 */
    lab_request(&lab, &there, OPCODE_RC_SEND_ONLY, 3, 8, true);       /* 400 */
    lab_request(&lab, &there, OPCODE_RC_SEND_ONLY, 3, 8, true);       /* 500: again */
    lab_ack(&lab, &back, 3, 4);                                       /* 600: none */
    lab_request(&lab, &there, OPCODE_RC_SEND_ONLY, 4, 8, true);       /* 700 */
    lab_request(&lab, &there, OPCODE_RC_READ_REQUEST, 5, 512, false); /* 800 */
    lab_request(&lab, &there, OPCODE_RC_FETCH_ADD, 7, 0, false);      /* 900 */
    lab_response(&lab, &back, OPCODE_RC_READ_RESPONSE_FIRST, 5, 256); /* 1000: 300 for PSN 4 */
    lab_response(&lab, &back, OPCODE_RC_READ_RESPONSE_LAST, 6, 256);  /* 1100: 300 for the READ */
    lab_response(&lab, &back, OPCODE_RC_ATOMIC_ACK, 7, 0);            /* 1200: 300 */
    lab_finish(&lab);
    const struct capture_direction *view = lab_forward(&lab, 0);
    assert_int_equal(view->ack_latency->count, 3);
    assert_int_equal(view->ack_latency->sum, 700);
    assert_int_equal(view->read_latency->count, 2);
    assert_int_equal(view->read_latency->sum, 600);
    assert_int_equal(view->gaps, 0);
    lab_close(&lab);
}

static uint64_t bins_sum(const uint64_t bin[CAPTURE_BINS])
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < CAPTURE_BINS; i++)
        sum += bin[i];
    return sum;
}

static void test_bins_double(void **state)
{
    (void)state;
    struct lab lab;
    struct way quiet = {.src = 3, .dst = 2, .dst_qp = 0x33};
    lab_open(&lab, NULL);
    lab.step_ns = 500;
    lab_request(&lab, &quiet, OPCODE_RC_SEND_ONLY, 0, 1000, false);
    for (uint32_t i = 1; i < 1024; i++)
        lab_request(&lab, &there, OPCODE_RC_SEND_ONLY, i, 100, false);
    lab_finish(&lab);
    const struct capture_totals *totals = capture_totals(lab.capture);
    const struct capture_direction *busy = lab_forward(&lab, 1);
    assert_int_equal(totals->bin_ns, 8000); /* 512 us in 64 bins */
    assert_int_equal(lab_forward(&lab, 0)->bin[0], 1000);
    assert_int_equal(bins_sum(lab_forward(&lab, 0)->bin), 1000);
    assert_int_equal(busy->bin[0], 1500);
    for (unsigned i = 1; i < CAPTURE_BINS; i++)
        assert_int_equal(busy->bin[i], 1600);
    assert_int_equal(bins_sum(busy->bin), busy->goodput_bytes);
    assert_int_equal(totals->bin[0], 2500);
    assert_int_equal(bins_sum(totals->bin), totals->goodput_bytes);
    lab_close(&lab);
}

static void test_bins_of_given_width(void **state)
{
    (void)state;
    struct lab lab;
    lab_open(&lab, &(struct capture_options){.max_connections = 4, .bin_ns = 300});
    for (uint32_t i = 0; i < 192; i++) /* 100 ns each: exactly 64 bins */
        lab_request(&lab, &there, OPCODE_RC_SEND_ONLY, i, 10, false);
    lab_finish(&lab);
    assert_int_equal(capture_totals(lab.capture)->bin_ns, 300);
    for (unsigned i = 0; i < CAPTURE_BINS; i++)
        assert_int_equal(lab_forward(&lab, 0)->bin[i], 30);
    lab_close(&lab);

    lab_open(&lab, &(struct capture_options){.max_connections = 4, .bin_ns = 300});
    for (uint32_t i = 0; i < 193; i++)
        lab_request(&lab, &there, OPCODE_RC_SEND_ONLY, i, 10, false);
    lab_finish(&lab);
    assert_int_equal(capture_totals(lab.capture)->bin_ns, 600);
    assert_int_equal(lab_forward(&lab, 0)->bin[0], 60);
    assert_int_equal(lab_forward(&lab, 0)->bin[32], 10);
    lab_close(&lab);
}

static const struct capture_pause *pause_of(const struct lab *lab, bool global, uint8_t priority)
{
    for (size_t i = 0; i < capture_pauses(lab->capture); i++) {
        const struct capture_pause *pause = capture_pause(lab->capture, i);
        if (pause->global == global && (global || pause->priority == priority)) return pause;
    }
    return NULL;
}

/* At 100 Gb/s a quantum is 5.12 ns. */
static void test_pause_time(void **state)
{
    (void)state;
    struct lab lab;
    lab_open(&lab, NULL);
    lab.step_ns = 0;
    lab_pfc(&lab, 1, 0x08, 1000); /* 0: until 5120 */
    lab.now_ns = LAB_START_NS + 3000;
    lab_pfc(&lab, 1, 0x08, 1000); /* replaced: until 8120 */
    lab.now_ns = LAB_START_NS + 4000;
    lab_pfc(&lab, 1, 0x08, 0); /* resumed: 4000 so far */
    lab.now_ns = LAB_START_NS + 10000;
    lab_pfc(&lab, 1, 0x18, 1000); /* 3 and 4: until 15120, run out */
    lab_pause(&lab, 1, 100);      /* until 10512 */
    lab.now_ns = LAB_START_NS + 20000;
    lab_pfc(&lab, 1, 0x08, 0xffff); /* runs beyond the end */
    lab.now_ns = LAB_START_NS + 30000;
    lab_request(&lab, &there, OPCODE_RC_SEND_ONLY, 1, 8, false);
    lab_finish(&lab);
    const struct capture_pause *third = pause_of(&lab, false, 3), *fourth = pause_of(&lab, false, 4);
    const struct capture_pause *global = pause_of(&lab, true, 0);
    assert_int_equal(capture_pauses(lab.capture), 3);
    assert_int_equal(third->paused_ns, 4000 + 5120 + 10000);
    assert_int_equal(third->longest_ns, 10000);
    assert_int_equal(third->xoff, 4);
    assert_int_equal(third->xon, 1);
    assert_int_equal(fourth->paused_ns, 5120);
    assert_int_equal(global->paused_ns, 512);
    assert_int_equal(capture_totals(lab.capture)->pfc_frames, 5);
    assert_int_equal(capture_totals(lab.capture)->pause_frames, 1);
    assert_non_null(lab_finding(&lab, "CAP019"));
    assert_non_null(lab_finding(&lab, "CAP021"));
    assert_null(lab_finding(&lab, "CAP020"));
    lab_close(&lab);
}

static void test_pause_rate_and_storm(void **state)
{
    (void)state;
    struct lab lab;
    lab_open(&lab, &(struct capture_options){.max_connections = 4, .link_bps = 400000000000});
    lab.step_ns = 1000;
    for (unsigned i = 0; i < 100; i++)
        lab_pfc(&lab, 1, 0x20, 600); /* 768 ns of each 1000 */
    lab_finish(&lab);
    const struct capture_pause *pause = pause_of(&lab, false, 5);
    assert_int_equal(pause->paused_ns, 99 * 768);
    assert_int_equal(pause->longest_ns, 768);
    assert_non_null(lab_finding(&lab, "CAP020"));
    lab_close(&lab);
}

static void test_pause_senders_are_bounded(void **state)
{
    (void)state;
    struct lab lab;
    lab_open(&lab, NULL);
    for (unsigned i = 0; i < 1000; i++) {
        struct pkt pkt = {.kind = PKT_PFC, .pfc_enable = 1, .quanta = {1}};
        struct pkt_cold cold = {.smac = {2, 0, 0, 0, (uint8_t)(i >> 8), (uint8_t)i}, .dmac = {1, 0x80, 0xc2, 0, 0, 1}};
        lab_put(&lab, &pkt, &cold, NULL);
    }
    lab_finish(&lab);
    assert_int_equal(capture_pauses(lab.capture) + capture_totals(lab.capture)->pause_evicted, 1000);
    assert_int_equal(capture_totals(lab.capture)->pfc_frames, 1000);
    lab_close(&lab);
}

static void test_cnp_gaps(void **state)
{
    (void)state;
    struct lab lab;
    struct way ect = there;
    ect.ecn = PKT_ECN_CE;
    lab_open(&lab, NULL);
    lab_request(&lab, &ect, OPCODE_RC_SEND_ONLY, 1, 8, true);
    lab_ack(&lab, &back, 1, 1);
    static const uint64_t gap[] = {0, 50000, 4000, 7000};
    for (unsigned i = 0; i < 4; i++) {
        lab.now_ns += gap[i] - (i ? lab.step_ns : 0);
        lab_cnp(&lab, &back);
    }
    lab_finish(&lab);
    const struct capture_direction *view = lab_reverse(&lab, 0);
    assert_int_equal(view->cnps, 4);
    assert_int_equal(view->cnp_gap->count, 3);
    assert_int_equal(view->cnp_gap->min, 4000);
    assert_int_equal(view->cnp_gap->max, 50000);
    assert_int_equal(lab_forward(&lab, 0)->ecn_marked, 1);
    assert_int_equal(capture_totals(lab.capture)->cnps, 4);
    assert_null(lab_finding(&lab, "CAP017"));
    assert_non_null(lab_finding(&lab, "CAP035"));
    lab_close(&lab);
}

static void test_time_backwards(void **state)
{
    (void)state;
    struct lab lab;
    lab_open(&lab, NULL);
    lab_request(&lab, &there, OPCODE_RC_SEND_ONLY, 1, 8, true);
    lab.now_ns = LAB_START_NS - 5000;
    lab_ack(&lab, &back, 1, 1);
    lab_request(&lab, &there, OPCODE_RC_SEND_ONLY, 2, 8, true);
    lab_finish(&lab);
    assert_int_equal(capture_totals(lab.capture)->time_backwards, 1);
    assert_int_equal(lab_forward(&lab, 0)->bin[0], 16);
    assert_null(lab_forward(&lab, 0)->ack_latency);
    assert_int_equal(lab_finding(&lab, "CAP033")->evidence.packet[0], 2);
    lab_close(&lab);
}

/* Clocks at the ends of what a timestamp can say, and leaps between them. */
static void test_absurd_times(void **state)
{
    (void)state;
    static const uint64_t start[] = {0, 1, 1ULL << 63, UINT64_MAX - 50};
    for (size_t i = 0; i < sizeof start / sizeof start[0]; i++) {
        struct lab lab;
        lab_open(&lab, NULL);
        lab.now_ns = start[i];
        lab_request(&lab, &there, OPCODE_RC_SEND_ONLY, 1, 8, true);
        lab_pfc(&lab, 1, 8, 65535);
        lab.now_ns = UINT64_MAX;
        lab.step_ns = 0;
        lab_ack(&lab, &back, 1, 1);
        lab_request(&lab, &there, OPCODE_RC_SEND_ONLY, 2, 8, true);
        lab.now_ns = 7;
        lab_request(&lab, &there, OPCODE_RC_SEND_ONLY, 3, 8, true);
        lab_pfc(&lab, 1, 8, 0);
        lab_finish(&lab);
        const struct capture_direction *view = lab_forward(&lab, 0);
        uint64_t sum = 0;
        for (unsigned bin = 0; bin < CAPTURE_BINS; bin++)
            sum += view->bin[bin];
        assert_int_equal(sum, 24);
        assert_true(view->last_ns == UINT64_MAX && view->first_ns == start[i]);
        assert_true(capture_totals(lab.capture)->last_ns == UINT64_MAX);
        assert_int_equal(view->ack_latency->count, 1);
        assert_true(capture_pause(lab.capture, 0)->paused_ns <= 335540); /* 65535 quanta at 100 Gb/s */
        assert_int_equal(capture_totals(lab.capture)->time_backwards, start[i] == UINT64_MAX - 50 ? 2 : 1);
        lab_close(&lab);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ack_latency),
        cmocka_unit_test(test_what_is_sampled),
        cmocka_unit_test(test_bins_double),
        cmocka_unit_test(test_bins_of_given_width),
        cmocka_unit_test(test_pause_time),
        cmocka_unit_test(test_pause_rate_and_storm),
        cmocka_unit_test(test_pause_senders_are_bounded),
        cmocka_unit_test(test_cnp_gaps),
        cmocka_unit_test(test_time_backwards),
        cmocka_unit_test(test_absurd_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
