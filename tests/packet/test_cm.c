/* SPDX-License-Identifier: Apache-2.0 */
/* Connection-management messages: round trips, widths, names.  test_tshark.py holds the layout against tshark. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../seed.h"
#include "base/bytes.h"
#include "messages.h"
#include "packet/mad.h"

#define SEED test_seed_or(12)

static const uint16_t attributes[] = {CM_REQ,  CM_MRA,  CM_REJ,      CM_REP,     CM_RTU,
                                      CM_DREQ, CM_DREP, CM_SIDR_REQ, CM_SIDR_REP};
#define ATTRIBUTES (sizeof attributes / sizeof attributes[0])

static void test_round_trip(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, SEED, 1);
    for (size_t i = 0; i < ATTRIBUTES; i++)
        for (int round = 0; round < 2000; round++) {
            struct cm_msg msg, back;
            uint8_t payload[MAD_BYTES];
            message_random(&rng, attributes[i], &msg);
            assert_int_equal(cm_emit(&msg, payload), 0);
            assert_int_equal(cm_parse(payload, sizeof payload, &back), 0);
            if (memcmp(&msg, &back, sizeof msg) != 0) fail_msg("%s, seed %d", cm_name(attributes[i]), SEED);
        }
}

/* One bit of the message moves one field: no two fields share a bit, none is lost. */
static void test_every_bit_counts(void **state)
{
    (void)state;
    /* Bits with a meaning in the data, by the tables of 12.6: all but the reserved ones. */
    static const unsigned meaningful[ATTRIBUTES] = {
        232 * 8 - 32 - 32 - 2 * (6 + 3 + 3), /* REQ: two reserved words, and in each path 6, 3 and 3 bits */
        232 * 8 - 6 - 3,                     /* MRA */
        232 * 8 - 6 - 1,                     /* REJ */
        232 * 8 - 3 * 8 - 4,                 /* REP: behind QPN, EECN and PSN a byte each; beside SRQ 4 bits */
        232 * 8,                             /* RTU */
        232 * 8 - 8,                         /* DREQ */
        232 * 8,                             /* DREP */
        232 * 8 - 16,                        /* SIDR_REQ */
        232 * 8 - 16 - 8,                    /* SIDR_REP */
    };
    for (size_t i = 0; i < ATTRIBUTES; i++) {
        uint8_t payload[MAD_BYTES] = {0}, back[MAD_BYTES];
        unsigned kept = 0;
        struct cm_msg msg;
        mad_emit(&(struct mad){.base_version = 1, .mgmt_class = 7, .class_version = 2, .attribute = attributes[i]},
                 payload);
        for (unsigned bit = MAD_HEADER_BYTES * 8; bit < MAD_BYTES * 8; bit++) {
            payload[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
            assert_int_equal(cm_parse(payload, sizeof payload, &msg), 0);
            assert_int_equal(cm_emit(&msg, back), 0);
            kept += memcmp(payload, back, MAD_BYTES) == 0;
            payload[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
        }
        if (kept != meaningful[i]) fail_msg("%s keeps %u bits, not %u", cm_name(attributes[i]), kept, meaningful[i]);
    }
}

static void test_refuses(void **state)
{
    (void)state;
    struct rng rng;
    struct cm_msg msg, untouched;
    uint8_t payload[MAD_BYTES];
    rng_init(&rng, SEED, 2);
    message_random(&rng, CM_REQ, &msg);
    msg.qpn = 1 << 24;
    assert_int_equal(cm_emit(&msg, payload), -EINVAL);
    message_random(&rng, CM_REQ, &msg);
    msg.primary.flow_label = 1 << 20;
    assert_int_equal(cm_emit(&msg, payload), -EINVAL);
    message_random(&rng, CM_REJ, &msg);
    msg.message = 4;
    assert_int_equal(cm_emit(&msg, payload), -EINVAL);
    message_random(&rng, CM_RTU, &msg);
    msg.mad.attribute = 0x19; /* LAP */
    assert_int_equal(cm_emit(&msg, payload), -EINVAL);
    message_random(&rng, CM_RTU, &msg);
    msg.mad.mgmt_class = 3;
    assert_int_equal(cm_emit(&msg, payload), -EINVAL);

    message_random(&rng, CM_RTU, &msg);
    assert_int_equal(cm_emit(&msg, payload), 0);
    memset(&msg, 0x5a, sizeof msg);
    untouched = msg;
    for (size_t length = 0; length < MAD_BYTES; length++) {
        uint8_t *exact = malloc(length ? length : 1);
        memcpy(exact, payload, length);
        assert_int_equal(cm_parse(exact, length, &msg), -EBADMSG);
        free(exact);
    }
    store_be16(payload + 16, 0x19);
    assert_int_equal(cm_parse(payload, MAD_BYTES, &msg), -ENOMSG);
    store_be16(payload + 16, CM_RTU);
    payload[1] = 0x03; /* subnet administration */
    assert_int_equal(cm_parse(payload, MAD_BYTES, &msg), -ENOMSG);
    assert_memory_equal(&msg, &untouched, sizeof msg);
}

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(cm_name(CM_REQ), "REQ");
    assert_string_equal(cm_name(CM_SIDR_REP), "SIDR_REP");
    assert_null(cm_name(0x19));
    assert_int_equal(cm_private_bytes(CM_REQ), 92);
    assert_int_equal(cm_private_bytes(0), 0);
    assert_string_equal(cm_reject_text(28), "consumer reject");
    assert_string_equal(cm_reject_text(10), "stale connection");
    assert_string_equal(cm_reject_text(33), "invalid alternate flow label");
    assert_string_equal(cm_reject_text(0), "unknown reason");
    assert_string_equal(cm_reject_text(34), "unknown reason");
    assert_string_equal(cm_reject_text(65535), "unknown reason");
}

static void test_service_port(void **state)
{
    (void)state;
    assert_int_equal(cm_service_port(0x0000000001061c06), 0x1c06); /* TCP port space: 7174, rping's */
    assert_int_equal(cm_service_port(0x0000000001111234), 0x1234); /* UDP port space */
    assert_int_equal(cm_service_port(0x0000000002061c06), 0);
    assert_int_equal(cm_service_port(0x1000000001061c06), 0);
}

/* Requests go to who listens, everything else to the slot in the id that the sender was told. */
static void test_owner(void **state)
{
    (void)state;
    for (size_t i = 0; i < ATTRIBUTES; i++) {
        struct cm_msg msg = {.mad = {.base_version = 1, .mgmt_class = 7, .class_version = 2},
                             .local_id = 5u << CM_SLOT_SHIFT | 1,
                             .remote_id = 7u << CM_SLOT_SHIFT | 2,
                             .service_id = 0x01061c06};
        uint8_t payload[MAD_BYTES];
        msg.mad.attribute = attributes[i];
        assert_int_equal(cm_emit(&msg, payload), 0);
        struct cm_owner owner = cm_owner(payload);
        bool request = attributes[i] == CM_REQ || attributes[i] == CM_SIDR_REQ;
        assert_int_equal(owner.listens, request);
        if (request)
            assert_true(owner.service_id == 0x01061c06);
        else
            assert_int_equal(owner.slot, attributes[i] == CM_SIDR_REP ? 5 : 7);
    }
    assert_int_equal(cm_owner((uint8_t[MAD_BYTES]){0}).slot, 0);
}

/* Requests are refused, to the id that asked; a goodbye is confirmed. */
static void test_refusal(void **state)
{
    (void)state;
    for (size_t i = 0; i < ATTRIBUTES; i++) {
        struct cm_msg msg = {
            .mad = {.base_version = 1, .mgmt_class = 7, .class_version = 2, .tid = 9}, .local_id = 77, .remote_id = 5};
        uint8_t payload[MAD_BYTES], answer[MAD_BYTES];
        bool request = attributes[i] == CM_REQ || attributes[i] == CM_SIDR_REQ;
        msg.mad.attribute = attributes[i];
        assert_int_equal(cm_emit(&msg, payload), 0);
        assert_int_equal(cm_refusal(payload, answer), request || attributes[i] == CM_DREQ);
        if (!request && attributes[i] != CM_DREQ) continue;
        assert_int_equal(cm_parse(answer, sizeof answer, &msg), 0);
        assert_true(msg.mad.tid == 9);
        if (attributes[i] == CM_REQ)
            assert_true(msg.mad.attribute == CM_REJ && msg.remote_id == 77 && msg.reason == 8);
        else if (attributes[i] == CM_DREQ)
            assert_true(msg.mad.attribute == CM_DREP && msg.remote_id == 77 && msg.local_id == 5);
        else
            assert_true(msg.mad.attribute == CM_SIDR_REP && msg.local_id == 77 && msg.status == 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_every_bit_counts), cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_names),      cmocka_unit_test(test_service_port),     cmocka_unit_test(test_owner),
        cmocka_unit_test(test_refusal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
