/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every finding that speaks of packets says which: each rule of verdict.def is provoked, or is in the list of those
 * that speak of something that is not there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
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

static struct cm_msg cm_message(uint16_t attribute, uint32_t local_id, uint32_t remote_id)
{
    struct cm_msg msg = {.mad = {.base_version = 1, .mgmt_class = MAD_CLASS_CM, .class_version = 2, .method = 3}};
    msg.mad.attribute = attribute;
    msg.local_id = local_id;
    msg.remote_id = remote_id;
    return msg;
}

static void provoke_icrc(struct lab *lab)
{
    lab->damage = true;
    put_send(lab, 1);
}

static void provoke_malformed(struct lab *lab)
{
    put_send(lab, 1);
    lab->frame[14 + 20 + 8 + 1] |= 1; /* BTH version */
    lab_raw(lab, 1, lab->frame_bytes, lab->frame_bytes);
}

static void provoke_aggregate(struct lab *lab)
{
    lab_request(lab, &there, OPCODE_RC_SEND_ONLY, 1, 4096, true);
    uint32_t bytes = lab->frame_bytes + 64, ip = bytes - 14, udp = ip - 20;
    lab->frame[14 + 2] = (uint8_t)(ip >> 8);
    lab->frame[14 + 3] = (uint8_t)ip;
    lab->frame[14 + 10] = lab->frame[14 + 11] = 0; /* IP checksum: left to the adapter */
    lab->frame[14 + 20 + 4] = (uint8_t)(udp >> 8);
    lab->frame[14 + 20 + 5] = (uint8_t)udp;
    lab_raw(lab, 1, bytes, bytes);
}

static void provoke_fatal(struct lab *lab)
{
    put_send(lab, 1);
    lab_nak(lab, &back, 1, 0x60 | NAK_REMOTE_ACCESS);
}

static void provoke_silent(struct lab *lab)
{
    for (unsigned i = 0; i < 4; i++)
        put_send(lab, 1);
}

static void provoke_rejected(struct lab *lab)
{
    struct cm_msg req = cm_message(CM_REQ, 0xaa, 0), rej = cm_message(CM_REJ, 0, 0xaa);
    rej.reason = 8;
    lab_cm(lab, &there, &req);
    lab_cm(lab, &back, &rej);
}

static void provoke_refused(struct lab *lab)
{
    struct cm_msg req = cm_message(CM_REQ, 0xaa, 0), rej = cm_message(CM_REJ, 0, 0xaa);
    rej.reason = 28;
    lab_cm(lab, &there, &req);
    lab_cm(lab, &back, &rej);
}

static void provoke_unanswered(struct lab *lab)
{
    struct cm_msg req = cm_message(CM_REQ, 0xaa, 0);
    lab_cm(lab, &there, &req);
}

/* The lost packet never came by the capture point. */
static void provoke_loss(struct lab *lab)
{
    static const uint32_t psn[] = {1, 2, 4, 5};
    for (size_t i = 0; i < sizeof psn / sizeof psn[0]; i++)
        put_send(lab, psn[i]);
    lab_nak(lab, &back, 3, 0x60);
    for (uint32_t again = 3; again < 6; again++)
        put_send(lab, again);
    lab_ack(lab, &back, 5, 5);
}

static void provoke_timeout(struct lab *lab)
{
    put_send(lab, 1);
    put_send(lab, 1);
    lab_ack(lab, &back, 1, 1);
    put_send(lab, 2);
    lab_ack(lab, &back, 2, 1);
}

static void provoke_timeout_blind(struct lab *lab)
{
    put_send(lab, 1);
    put_send(lab, 1);
    put_send(lab, 2);
}

static void provoke_rnr(struct lab *lab)
{
    put_send(lab, 1);
    lab_nak(lab, &back, 1, 0x21);
}

static void provoke_capture_loss(struct lab *lab)
{
    put_send(lab, 1);
    put_send(lab, 5);
    lab_ack(lab, &back, 5, 5);
}

static void provoke_gaps(struct lab *lab)
{
    put_send(lab, 1);
    put_send(lab, 5);
}

static void provoke_reorder(struct lab *lab)
{
    static const uint32_t psn[] = {1, 3, 2, 4};
    for (size_t i = 0; i < sizeof psn / sizeof psn[0]; i++)
        put_send(lab, psn[i]);
}

static void provoke_marked(struct lab *lab)
{
    struct way marked = there;
    marked.ecn = PKT_ECN_CE;
    lab_request(lab, &marked, OPCODE_RC_SEND_ONLY, 1, 64, true);
    lab_ack(lab, &back, 1, 1);
}

static void provoke_not_ect(struct lab *lab)
{
    struct way plain = there;
    plain.ecn = 0;
    lab_request(lab, &plain, OPCODE_RC_SEND_ONLY, 1, 64, true);
    lab_ack(lab, &back, 1, 1);
    lab_cnp(lab, &back);
}

static void provoke_paused(struct lab *lab)
{
    lab_pfc(lab, 1, 8, 100);
    lab->now_ns += 1000000;
    put_send(lab, 1);
}

static void provoke_storm(struct lab *lab)
{
    for (unsigned i = 0; i < 10; i++)
        lab_pfc(lab, 1, 8, 65535);
}

static void provoke_global_pause(struct lab *lab)
{
    lab_pfc(lab, 1, 8, 100);
    lab_pause(lab, 1, 100);
}

static void provoke_odd_size(struct lab *lab)
{
    lab_request(lab, &there, OPCODE_RC_SEND_FIRST, 1, 1024, false);
    lab_request(lab, &there, OPCODE_RC_SEND_MIDDLE, 2, 1000, false);
}

static void provoke_unread(struct lab *lab)
{
    lab_raw(lab, 1000, 60, 60);
}

static void provoke_cut(struct lab *lab)
{
    put_send(lab, 1);
    lab_raw(lab, 1, lab->frame_bytes - 20, lab->frame_bytes);
}

static void provoke_nak_alone(struct lab *lab)
{
    put_send(lab, 1);
    put_send(lab, 3);
    lab_nak(lab, &back, 2, 0x60);
}

/* The first byte of a BTH is the last that is there. */
static void provoke_cut_blind(struct lab *lab)
{
    struct lab other = {.now_ns = LAB_START_NS};
    lab_open(&other, NULL);
    put_send(&other, 1);
    lab_close(&other);
    memcpy(lab->frame, other.frame, sizeof lab->frame);
    lab_raw(lab, 1, 14 + 20 + 8 + 1, other.frame_bytes);
}

static void provoke_forgotten(struct lab *lab)
{
    for (uint32_t psn = 1; psn < 40; psn += 2)
        put_send(lab, psn);
}

static void provoke_copies(struct lab *lab)
{
    put_send(lab, 1);
    lab_raw(lab, 1, lab->frame_bytes, lab->frame_bytes);
}

static void provoke_unknown(struct lab *lab)
{
    lab_request(lab, &there, 0xc5, 1, 0, false);
}

static void provoke_backwards(struct lab *lab)
{
    put_send(lab, 1);
    lab->now_ns -= 5000;
    put_send(lab, 2);
}

static void provoke_reset(struct lab *lab)
{
    put_send(lab, 1);
    put_send(lab, 5000000);
}

static const struct {
    const char *id;
    void (*provoke)(struct lab *lab);
} provoked[] = {
    {"CAP001", provoke_icrc},         {"CAP002", provoke_malformed},     {"CAP003", provoke_fatal},
    {"CAP004", provoke_silent},       {"CAP005", provoke_rejected},      {"CAP010", provoke_loss},
    {"CAP011", provoke_timeout},      {"CAP012", provoke_timeout_blind}, {"CAP013", provoke_rnr},
    {"CAP014", provoke_capture_loss}, {"CAP015", provoke_gaps},          {"CAP016", provoke_reorder},
    {"CAP017", provoke_marked},       {"CAP018", provoke_not_ect},       {"CAP019", provoke_paused},
    {"CAP020", provoke_storm},        {"CAP021", provoke_global_pause},  {"CAP022", provoke_unanswered},
    {"CAP023", provoke_odd_size},     {"CAP024", provoke_aggregate},     {"CAP025", provoke_unread},
    {"CAP026", provoke_refused},      {"CAP027", provoke_rnr},           {"CAP030", provoke_cut},
    {"CAP031", provoke_unknown},      {"CAP033", provoke_backwards},     {"CAP035", provoke_not_ect},
    {"CAP036", provoke_reset},        {"CAP037", provoke_gaps},          {"CAP040", provoke_nak_alone},
    {"CAP041", provoke_cut_blind},    {"CAP042", provoke_forgotten},     {"CAP028", provoke_copies},
};

/* These speak of what is absent (nothing wrong, no ECN, no RoCE) or of connections as a whole. */
static const char *const without[] = {"CAP000", "CAP032", "CAP034", "CAP038"};

static bool is_without(const char *id)
{
    for (size_t i = 0; i < sizeof without / sizeof without[0]; i++)
        if (strcmp(without[i], id) == 0) return true;
    return false;
}

static void check_evidence(const struct lab *lab, const struct capture_finding *finding)
{
    const struct capture_evidence *evidence = &finding->evidence;
    static const char words[] = "first at packet ";
    const char *named = strstr(finding->what, words);
    if (is_without(finding->id)) {
        assert_int_equal(evidence->kept, 0);
        return;
    }
    if (evidence->kept == 0) fail_msg("%s: \"%s\" shows no packet", finding->id, finding->what);
    for (uint32_t i = 0; i < evidence->kept; i++) {
        assert_in_range(evidence->packet[i], 1, lab->number);
        for (uint32_t k = 0; k < i; k++)
            assert_int_not_equal(evidence->packet[i], evidence->packet[k]);
    }
    if (named && strtoull(named + strlen(words), NULL, 10) != evidence->packet[0])
        fail_msg("%s: \"%s\" but packet %llu is shown first", finding->id, finding->what,
                 (unsigned long long)evidence->packet[0]);
}

static void test_every_rule(void **state)
{
    (void)state;
    static const char *const rule[] = {
#define X(id, number, severity, title, advice) number,
#include "capture/verdict.def"
#undef X
    };
    for (size_t i = 0; i < sizeof rule / sizeof rule[0]; i++) {
        size_t at = 0;
        while (at < sizeof provoked / sizeof provoked[0] && strcmp(provoked[at].id, rule[i]) != 0)
            at++;
        if (at == sizeof provoked / sizeof provoked[0]) {
            if (!is_without(rule[i])) fail_msg("%s is neither provoked nor without evidence", rule[i]);
            continue;
        }
        struct lab lab;
        lab_open(&lab, NULL);
        provoked[at].provoke(&lab);
        lab_finish(&lab);
        if (!lab_finding(&lab, rule[i])) fail_msg("%s was not provoked", rule[i]);
        for (size_t k = 0; k < capture_findings(lab.capture); k++)
            check_evidence(&lab, capture_finding(lab.capture, k));
        lab_close(&lab);
    }
}

/* Which packets: the ones of the rule, not of its neighbours. */
static void test_the_right_packets(void **state)
{
    (void)state;
    struct lab lab;
    lab_open(&lab, NULL);
    static const uint32_t psn[] = {1, 2, 4, 5};
    struct way silent = there, gone = there;
    silent.dst_qp = 0x30;
    gone.dst_qp = 0x31;
    for (size_t i = 0; i < sizeof psn / sizeof psn[0]; i++)
        put_send(&lab, psn[i]); /* 3: 3 is missing for a while */
    put_send(&lab, 3);
    put_send(&lab, 4); /* 6: so 3 was not overtaken */
    lab_ack(&lab, &back, 5, 5);
    lab_request(&lab, &silent, OPCODE_RC_SEND_ONLY, 1, 8, true);
    lab_request(&lab, &silent, OPCODE_RC_SEND_ONLY, 1, 8, true); /* 9, 10, 11: no answer */
    lab_request(&lab, &silent, OPCODE_RC_SEND_ONLY, 1, 8, true);
    lab_request(&lab, &silent, OPCODE_RC_SEND_ONLY, 1, 8, true);
    lab_request(&lab, &gone, OPCODE_RC_SEND_ONLY, 1, 8, true);
    lab_request(&lab, &gone, OPCODE_RC_SEND_ONLY, 4, 8, true); /* 13: never filled */
    lab_finish(&lab);
    assert_null(lab_finding(&lab, "CAP016"));
    const struct capture_evidence *timeout = &lab_finding(&lab, "CAP011")->evidence;
    assert_int_equal(timeout->kept, 1);
    assert_int_equal(timeout->packet[0], 6);
    const struct capture_evidence *no_answer = &lab_finding(&lab, "CAP004")->evidence;
    assert_int_equal(no_answer->kept, 2);
    assert_int_equal(no_answer->packet[0], 9);
    assert_int_equal(no_answer->packet[1], 11);
    const struct capture_evidence *gap = &lab_finding(&lab, "CAP015")->evidence;
    assert_int_equal(gap->kept, 1);
    assert_int_equal(gap->packet[0], 13);
    lab_close(&lab);
}

/* Selective repeat behind the loss: nothing is seen twice, and yet it was lost. */
static void test_selective_repeat(void **state)
{
    (void)state;
    struct lab lab;
    lab_open(&lab, NULL);
    static const uint32_t psn[] = {1, 3, 4};
    for (size_t i = 0; i < sizeof psn / sizeof psn[0]; i++)
        put_send(&lab, psn[i]);
    lab_nak(&lab, &back, 2, 0x60);
    put_send(&lab, 2);
    put_send(&lab, 5);
    lab_ack(&lab, &back, 5, 5);
    lab_finish(&lab);
    assert_int_equal(lab_forward(&lab, 0)->retransmitted, 0);
    const struct capture_finding *finding = lab_finding(&lab, "CAP010");
    assert_non_null(finding);
    assert_non_null(strstr(finding->what, "1 of 5"));
    assert_int_equal(finding->evidence.packet[0], 5);
    lab_close(&lab);
}

/* A NAK on a connection that was dropped since is still said. */
static void test_broken_and_evicted(void **state)
{
    (void)state;
    struct lab lab;
    lab_open(&lab, &(struct capture_options){.max_connections = 1});
    provoke_fatal(&lab);
    struct way other = {.src = 3, .dst = 4, .dst_qp = 5};
    lab_request(&lab, &other, OPCODE_UC_SEND_ONLY, 1, 8, false);
    lab_finish(&lab);
    assert_int_equal(capture_totals(lab.capture)->evicted, 1);
    const struct capture_finding *finding = lab_finding(&lab, "CAP003");
    assert_non_null(finding);
    assert_int_equal(finding->evidence.packet[0], 2);
    lab_close(&lab);
}

/* One packet of a few connections: a request or an answer, in or out of order. */
static void put_random(struct lab *lab, struct rng *rng, unsigned i)
{
    uint32_t qp = (uint32_t)rng_below(rng, 4), psn = 0xfffff0 + i / 2 + (uint32_t)rng_below(rng, 12);
    bool loop = rng_chance(rng, 200000); /* both ends on one host */
    struct way way = {.src = 1, .dst = loop ? 1 : 2, .dst_qp = 10 + qp, .ecn = (uint8_t)rng_below(rng, 4)};
    struct way answer = {.src = way.dst, .dst = 1, .dst_qp = loop ? 10 + qp / 2 : 20 + qp, .ecn = way.ecn};
    lab->damage = rng_chance(rng, 10000);
    lab->step_ns = rng_chance(rng, 20000) ? rng_u64(rng) : rng_below(rng, 10000);
    switch (rng_below(rng, 8)) {
    case 0: /* messages are counted on, or from the beginning again */
        lab_ack(lab, &answer, psn, rng_chance(rng, 300000) ? (uint32_t)rng_below(rng, 3) : i);
        break;
    case 1:
        lab_nak(lab, &answer, psn, (uint8_t)rng_below(rng, 128));
        break;
    case 2:
        lab_cnp(lab, &answer);
        break;
    case 3:
        lab_pfc(lab, (uint8_t)qp, (uint8_t)rng_u32(rng), (uint16_t)rng_u32(rng));
        break;
    default:
        lab_request(lab, &way, (uint8_t)rng_below(rng, 12), psn, (uint32_t)rng_below(rng, 300),
                    rng_chance(rng, 500000));
        break;
    }
}

/* On good and bad clocks; the seed is said before, since what this looks for ends the program. */
static void test_random(void **state)
{
    (void)state;
    const uint64_t seed = test_seed_or(77);
    print_message("ROCELAB_SEED=%llu\n", (unsigned long long)seed);
    for (unsigned round = 0; round < test_rounds_of(3000); round++) {
        struct lab lab;
        struct rng rng;
        rng_init(&rng, seed, round);
        lab_open(&lab, &(struct capture_options){.max_connections = 1 + (uint32_t)rng_below(&rng, 8)});
        if (round % 3 == 0) lab.now_ns = 1ULL << 63;
        if (round % 3 == 1) lab.now_ns = 1;
        for (unsigned i = 0; i < 300; i++)
            put_random(&lab, &rng, i);
        lab_finish(&lab);
        for (size_t i = 0; i < capture_findings(lab.capture); i++)
            check_evidence(&lab, capture_finding(lab.capture, i));
        for (size_t i = 0; i < capture_connections(lab.capture); i++)
            assert_true(lab_forward(&lab, i)->last_ns >= lab_forward(&lab, i)->first_ns);
        lab_close(&lab);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_rule),       cmocka_unit_test(test_the_right_packets),
        cmocka_unit_test(test_selective_repeat), cmocka_unit_test(test_broken_and_evicted),
        cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
