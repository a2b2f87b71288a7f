/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict over connections dropped to keep the memory bound; and when it may say that nothing is wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "../seed.h"
#include "base/rng.h"
#include "lab.h"
#include "packet/opcode.h"

static const struct way there = {.src = 1, .dst = 2, .dst_qp = 0x22, .ecn = PKT_ECN_ECT0};
static const struct way back = {.src = 2, .dst = 1, .dst_qp = 0x11, .ecn = PKT_ECN_ECT0};

static void put_send(struct lab *lab, uint32_t psn)
{
    lab_request(lab, &there, OPCODE_RC_SEND_ONLY, psn, 64, true);
}

static void wrong_loss(struct lab *lab)
{
    put_send(lab, 1);
    put_send(lab, 2);
    lab_nak(lab, &back, 1, 0x60);
    put_send(lab, 1);
    put_send(lab, 2);
}

static void wrong_loss_ahead(struct lab *lab)
{
    put_send(lab, 1);
    put_send(lab, 3);
    lab_nak(lab, &back, 2, 0x60);
    put_send(lab, 2);
    put_send(lab, 4);
}

static void wrong_timeout(struct lab *lab)
{
    put_send(lab, 1);
    put_send(lab, 1);
    lab_ack(lab, &back, 1, 1);
}

static void wrong_timeout_blind(struct lab *lab)
{
    put_send(lab, 1);
    put_send(lab, 1);
    put_send(lab, 2);
}

static void wrong_silent(struct lab *lab)
{
    for (unsigned i = 0; i < 4; i++)
        put_send(lab, 1);
}

static void wrong_capture_loss(struct lab *lab)
{
    put_send(lab, 1);
    put_send(lab, 5);
    lab_ack(lab, &back, 5, 5);
}

static void wrong_gaps(struct lab *lab)
{
    put_send(lab, 1);
    put_send(lab, 5);
}

static void wrong_size(struct lab *lab)
{
    lab_request(lab, &there, OPCODE_RC_SEND_FIRST, 1, 1024, false);
    lab_request(lab, &there, OPCODE_RC_SEND_MIDDLE, 2, 1000, false);
}

static void wrong_marked(struct lab *lab)
{
    struct way marked = there;
    marked.ecn = PKT_ECN_CE;
    lab_request(lab, &marked, OPCODE_RC_SEND_ONLY, 1, 64, true);
    lab_ack(lab, &back, 1, 1);
}

static void wrong_rnr(struct lab *lab)
{
    put_send(lab, 1);
    lab_nak(lab, &back, 1, 0x21);
}

static void wrong_fatal(struct lab *lab)
{
    put_send(lab, 1);
    lab_nak(lab, &back, 1, 0x60 | NAK_REMOTE_ACCESS);
}

static void wrong_reorder(struct lab *lab)
{
    static const uint32_t psn[] = {1, 3, 2, 4};
    for (size_t i = 0; i < sizeof psn / sizeof psn[0]; i++)
        put_send(lab, psn[i]);
}

static void wrong_reset(struct lab *lab)
{
    put_send(lab, 1);
    put_send(lab, 5000000);
}

static void wrong_icrc(struct lab *lab)
{
    put_send(lab, 1);
    lab->damage = true;
    put_send(lab, 2);
}

static void wrong_copies(struct lab *lab)
{
    put_send(lab, 1);
    lab_raw(lab, 1, lab->frame_bytes, lab->frame_bytes);
}

static const struct {
    const char *id;
    void (*provoke)(struct lab *lab);
} wrong[] = {
    {"CAP001", wrong_icrc},          {"CAP003", wrong_fatal},      {"CAP004", wrong_silent},
    {"CAP010", wrong_loss},          {"CAP010", wrong_loss_ahead}, {"CAP011", wrong_timeout},
    {"CAP012", wrong_timeout_blind}, {"CAP013", wrong_rnr},        {"CAP014", wrong_capture_loss},
    {"CAP015", wrong_gaps},          {"CAP016", wrong_reorder},    {"CAP017", wrong_marked},
    {"CAP023", wrong_size},          {"CAP027", wrong_rnr},        {"CAP028", wrong_copies},
    {"CAP036", wrong_reset},
};

/* Three connections with nothing wrong. */
static void put_others(struct lab *lab)
{
    for (uint32_t i = 0; i < 3; i++) {
        struct way other = {.src = 3, .dst = 4, .dst_qp = 0x40 + i, .ecn = PKT_ECN_ECT0};
        struct way answer = {.src = 4, .dst = 3, .dst_qp = 0x50 + i, .ecn = PKT_ECN_ECT0};
        lab_request(lab, &other, OPCODE_RC_SEND_ONLY, 1000 * i, 8, true);
        lab_ack(lab, &answer, 1000 * i, 1);
    }
}

/* Whatever was wrong is said in the same words, dropped or not. */
static void test_said_when_dropped(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct lab lab, held;
        lab_open(&lab, &(struct capture_options){.max_connections = 2});
        lab_open(&held, NULL);
        wrong[i].provoke(&lab);
        wrong[i].provoke(&held);
        put_others(&lab);
        put_others(&held);
        lab_finish(&lab);
        lab_finish(&held);
        assert_true(capture_totals(lab.capture)->evicted > 0);
        if (wrong[i].provoke != wrong_reset) assert_null(lab_finding(&lab, "CAP000"));
        const struct capture_finding *finding = lab_finding(&lab, wrong[i].id);
        const struct capture_finding *same = lab_finding(&held, wrong[i].id);
        if (!finding || !same) fail_msg("%s is not said", wrong[i].id);
        assert_int_equal(finding->connection, CAPTURE_NONE);
        assert_int_equal(finding->evidence.kept, same->evidence.kept);
        for (uint32_t k = 0; k < same->evidence.kept; k++)
            assert_int_equal(finding->evidence.packet[k], same->evidence.packet[k]);
        const char *mark = strstr(finding->what, " (no longer held)");
        if (!mark) fail_msg("%s: %s", wrong[i].id, finding->what);
        size_t head = (size_t)(mark - finding->what);
        assert_memory_equal(finding->what, same->what, head);
        assert_string_equal(mark + strlen(" (no longer held)"), same->what + head);
        lab_close(&lab);
        lab_close(&held);
    }
}

/* Dropped and held ones add up; of equals the one still held is named. */
static void test_sums(void **state)
{
    (void)state;
    struct lab lab;
    lab_open(&lab, &(struct capture_options){.max_connections = 2});
    for (uint32_t i = 0; i < 6; i++) {
        struct way way = {.src = 1, .dst = 2, .dst_qp = 0x20 + i}, answer = {.src = 2, .dst = 1, .dst_qp = 0x10 + i};
        lab_request(&lab, &way, OPCODE_RC_SEND_ONLY, 100 * i, 8, true);
        lab_request(&lab, &way, OPCODE_RC_SEND_ONLY, 100 * i, 8, true);
        lab_ack(&lab, &answer, 100 * i, 1);
    }
    lab_finish(&lab);
    const struct capture_finding *finding = lab_finding(&lab, "CAP011");
    assert_int_equal(capture_totals(lab.capture)->evicted, 4);
    assert_non_null(strstr(finding->what, "6 of 12 request packets were sent again"));
    assert_non_null(strstr(finding->what, "QP 0x24, 1 of 2 (50.0%), first at packet 14; and 5 more directions"));
    assert_int_equal(finding->connection, 0);
    lab_close(&lab);
}

/* A gap before the QP number is used again is not forgotten. */
static void test_gap_of_an_earlier_life(void **state)
{
    (void)state;
    struct lab lab;
    lab_open(&lab, NULL);
    put_send(&lab, 1);
    put_send(&lab, 3);
    put_send(&lab, 5000000);
    lab_finish(&lab);
    assert_non_null(strstr(lab_finding(&lab, "CAP015")->what, "1 of 4 request packets is missing"));
    assert_int_equal(lab_finding(&lab, "CAP015")->evidence.packet[0], 2);
    lab_close(&lab);
}

static void test_what_was_checked(void **state)
{
    (void)state;
    static const struct {
        bool skip, cut;
        const char *advice;
    } list[] = {
        {false, false, "Checked: ICRC, headers,"},
        {true, false, "Checked: headers,"},
        {false, true, "Checked: ICRC where it could be, headers,"},
        {true, true, "Checked: headers,"},
    };
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        struct lab lab;
        lab_open(&lab, &(struct capture_options){.max_connections = 4, .skip_icrc = list[i].skip});
        put_send(&lab, 1);
        lab_ack(&lab, &back, 1, 1);
        if (list[i].cut) {
            struct way ud = {.src = 7, .dst = 8, .dst_qp = 9, .src_qp = 9};
            lab_request(&lab, &ud, OPCODE_UD_SEND_ONLY, 1, 64, false);
            lab_raw(&lab, 1, lab.frame_bytes - 40, lab.frame_bytes);
        }
        lab_finish(&lab);
        const struct capture_finding *finding = lab_finding(&lab, "CAP000");
        assert_non_null(finding);
        assert_ptr_equal(strstr(finding->advice, list[i].advice), finding->advice);
        lab_close(&lab);
    }
}

static void test_one_is_not_many(void **state)
{
    (void)state;
    struct lab lab;
    lab_open(&lab, NULL);
    struct way plain = {.src = 1, .dst = 2, .dst_qp = 0x22};
    lab_request(&lab, &plain, OPCODE_RC_SEND_ONLY, 1, 64, true);
    lab_finish(&lab);
    assert_non_null(strstr(lab_finding(&lab, "CAP037")->what, "1 request packet without"));
    assert_non_null(strstr(lab_finding(&lab, "CAP034")->what, "1 RoCE packet is"));
    assert_non_null(strstr(lab_finding(&lab, "CAP000")->what, "1 RoCE packet of 1 connection, 1 ICRC checked"));
    lab_close(&lab);
    lab_open(&lab, NULL);
    put_send(&lab, 1);
    lab_raw(&lab, 1, lab.frame_bytes - 20, lab.frame_bytes);
    lab_finish(&lab);
    assert_non_null(strstr(lab_finding(&lab, "CAP030")->what, "1 packet cut"));
    lab_close(&lab);
}

static bool clean(const struct capture_totals *totals)
{
    return !totals->retransmitted && !totals->gaps && !totals->naks && !totals->rnr_naks && !totals->icrc_errors &&
           !totals->malformed && !totals->reordered && !totals->copies && !totals->unread;
}

/* Few packets over more connections than are held, most of them in order: "nothing wrong" needs clean books. */
static void test_nothing_means_nothing(void **state)
{
    (void)state;
    const uint64_t seed = test_seed_or(4711);
    unsigned nothing = 0;
    for (unsigned round = 0; round < 2000; round++) {
        struct lab lab;
        struct rng rng;
        uint32_t psn[5] = {0, 1000, 2000, 3000, 4000};
        rng_init(&rng, seed, round);
        lab_open(&lab, &(struct capture_options){.max_connections = 1 + (uint32_t)rng_below(&rng, 4)});
        for (unsigned i = 0, packets = 1 + (unsigned)rng_below(&rng, 30); i < packets; i++) {
            uint32_t qp = (uint32_t)rng_below(&rng, 5);
            struct way way = {.src = 1, .dst = 2, .dst_qp = 10 + qp}, answer = {.src = 2, .dst = 1, .dst_qp = 20 + qp};
            if (rng_chance(&rng, 30000)) psn[qp] += (uint32_t)rng_below(&rng, 3) ? 1 : 3000000;
            if (rng_chance(&rng, 30000)) psn[qp]--;
            if (rng_chance(&rng, 300000))
                lab_ack(&lab, &answer, psn[qp] - 1, i);
            else if (rng_chance(&rng, 20000))
                lab_nak(&lab, &answer, psn[qp], 0x60);
            else
                lab_request(&lab, &way, OPCODE_RC_SEND_ONLY, psn[qp]++, 8, true);
        }
        lab_finish(&lab);
        bool said = lab_finding(&lab, "CAP000") != NULL;
        nothing += said;
        if (said && !clean(capture_totals(lab.capture)))
            fail_msg("seed %llu round %u: nothing wrong is said", (unsigned long long)seed, round);
        lab_close(&lab);
    }
    assert_in_range(nothing, 100, 1900);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_said_when_dropped),      cmocka_unit_test(test_sums),
        cmocka_unit_test(test_gap_of_an_earlier_life), cmocka_unit_test(test_what_was_checked),
        cmocka_unit_test(test_one_is_not_many),        cmocka_unit_test(test_nothing_means_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
