/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages behind a lossy path: a go-back-N sender, a responder that NAKs, and a capture point between them
 * that sees neither what was lost before it nor, in a second property, all of the rest.
 *
 * The model shares nothing with the analysis: it knows the messages because it made them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../seed.h"
#include "base/check.h"
#include "base/rng.h"
#include "lab.h"
#include "packet/opcode.h"

#define MESSAGES 120
#define PSNS (MESSAGES * 10)
#define ANSWERS 64
#define WINDOW 32 /* PSNs: never more than the sixteen holes that are kept */

static const struct way there = {.src = 1, .dst = 2, .dst_qp = 0x22};
static const struct way back = {.src = 2, .dst = 1, .dst_qp = 0x11};

struct message {
    enum capture_verb verb;
    uint32_t bytes, from, packets; /* PSNs from the first of the connection */
    bool last_captured;
};

struct reply {
    enum { REPLY_ACK, REPLY_NAK, REPLY_READ } kind;
    uint32_t psn;
};

struct model {
    struct lab lab;
    struct rng rng;
    uint32_t mtu, start, total;
    uint32_t lost_before_ppm, lost_behind_ppm, lost_back_ppm, dropped_ppm;
    struct message message[MESSAGES];
    uint32_t owner[PSNS];
    uint32_t una, next; /* the sender's */
    uint32_t expected;  /* the responder's */
    bool nak_sent;
    struct reply reply[ANSWERS];
    uint32_t replies;
    uint64_t dropped;
};

static void model_make(struct model *model, uint64_t seed, unsigned round)
{
    memset(model, 0, sizeof *model);
    rng_init(&model->rng, seed, round);
    model->mtu = 256u << rng_below(&model->rng, 5);
    model->start = rng_chance(&model->rng, 500000) ? rng_u32(&model->rng) & 0xffffff
                                                   : 0xffffff - (uint32_t)rng_below(&model->rng, 500);
    model->lost_before_ppm = (uint32_t)rng_below(&model->rng, 300000);
    model->lost_behind_ppm = (uint32_t)rng_below(&model->rng, 100000);
    model->lost_back_ppm = (uint32_t)rng_below(&model->rng, 200000);
    for (uint32_t i = 0; i < MESSAGES; i++) {
        struct message *message = &model->message[i];
        message->verb = (enum capture_verb)rng_below(&model->rng, CAPTURE_VERBS);
        message->bytes = (uint32_t)rng_below(&model->rng, 8 * model->mtu + 1);
        if (rng_chance(&model->rng, 100000)) message->bytes = 0;
        if (rng_chance(&model->rng, 200000)) message->bytes -= message->bytes % model->mtu;
        if (message->verb == CAPTURE_ATOMIC) message->bytes = 8;
        if (i == 0) message->verb = CAPTURE_SEND, message->bytes = 2 * model->mtu + 5; /* tells the MTU */
        message->from = model->total;
        message->packets = message->bytes > model->mtu ? (message->bytes - 1) / model->mtu + 1 : 1;
        for (uint32_t k = 0; k < message->packets; k++)
            model->owner[model->total++] = i;
    }
    CHECK(model->total <= PSNS);
}

/* One packet of the sender's, as it passes the capture point. */
static void capture_request(struct model *model, uint32_t psn, bool ack)
{
    struct message *message = &model->message[model->owner[psn]];
    uint32_t index = psn - message->from, left = message->bytes - index * model->mtu, wire = model->start + psn;
    bool first = index == 0, last = index + 1 == message->packets;
    uint32_t payload = last ? left : model->mtu;
    if (last || message->verb == CAPTURE_READ) message->last_captured = true;
    if (message->verb == CAPTURE_READ)
        lab_request(&model->lab, &there, OPCODE_RC_READ_REQUEST, wire, left, false); /* the rest of it */
    else if (message->verb == CAPTURE_ATOMIC)
        lab_request(&model->lab, &there, index % 2 ? OPCODE_RC_FETCH_ADD : OPCODE_RC_COMPARE_SWAP, wire, 0, false);
    else if (message->verb == CAPTURE_WRITE && first && !last)
        lab_write_first(&model->lab, &there, wire, payload, message->bytes);
    else if (message->verb == CAPTURE_WRITE)
        lab_request(&model->lab, &there,
                    first  ? OPCODE_RC_WRITE_ONLY
                    : last ? OPCODE_RC_WRITE_LAST
                           : OPCODE_RC_WRITE_MIDDLE,
                    wire, payload, ack);
    else
        lab_request(&model->lab, &there,
                    first && last ? OPCODE_RC_SEND_ONLY
                    : first       ? OPCODE_RC_SEND_FIRST
                    : last        ? OPCODE_RC_SEND_LAST
                                  : OPCODE_RC_SEND_MIDDLE,
                    wire, payload, ack);
}

static void answer(struct model *model, int kind, uint32_t psn)
{
    struct lab *lab = &model->lab;
    uint32_t wire = model->start + psn;
    const struct message *message = &model->message[model->owner[psn < model->total ? psn : 0]];
    bool captured = !rng_chance(&model->rng, model->dropped_ppm);
    if (!captured) model->dropped++;
    if (captured && kind == REPLY_ACK) lab_ack(lab, &back, wire, model->owner[psn]);
    if (captured && kind == REPLY_NAK) lab_nak(lab, &back, wire, 0x60);
    if (captured && kind == REPLY_READ && message->verb == CAPTURE_ATOMIC)
        lab_response(lab, &back, OPCODE_RC_ATOMIC_ACK, wire, 0);
    else if (captured && kind == REPLY_READ && psn + 1 == message->from + message->packets)
        lab_response(lab, &back, OPCODE_RC_READ_RESPONSE_LAST, wire, message->bytes % model->mtu);
    else if (captured && kind == REPLY_READ)
        lab_response(lab, &back, OPCODE_RC_READ_RESPONSE_MIDDLE, wire, model->mtu);
    if (rng_chance(&model->rng, model->lost_back_ppm) || model->replies == ANSWERS) return;
    model->reply[model->replies].kind = kind;
    model->reply[model->replies++].psn = psn;
}

static bool is_answered_by_response(const struct message *message)
{
    return message->verb == CAPTURE_READ || message->verb == CAPTURE_ATOMIC;
}

static void respond(struct model *model, uint32_t psn, bool ack)
{
    const struct message *message = &model->message[model->owner[psn]];
    uint32_t end = message->verb == CAPTURE_READ ? message->from + message->packets : psn + 1;
    if (psn > model->expected) {
        if (!model->nak_sent) answer(model, REPLY_NAK, model->expected);
        model->nak_sent = true;
        return;
    }
    if (psn == model->expected) {
        model->expected = end;
        model->nak_sent = false;
    }
    if (is_answered_by_response(message))
        for (uint32_t at = psn; at < end; at++)
            answer(model, REPLY_READ, at);
    else if (ack || end < model->expected)
        answer(model, REPLY_ACK, model->expected - 1);
}

/* Takes the oldest answer in. */
static void take_reply(struct model *model)
{
    struct reply reply = model->reply[0];
    memmove(&model->reply[0], &model->reply[1], sizeof reply * --model->replies);
    uint32_t end = reply.kind == REPLY_NAK ? reply.psn : reply.psn + 1;
    while (model->una < end) {
        bool waits = is_answered_by_response(&model->message[model->owner[model->una]]);
        if (waits && !(reply.kind == REPLY_READ && reply.psn == model->una)) break;
        model->una++;
    }
    if (model->next < model->una) model->next = model->una;
    if (reply.kind == REPLY_NAK) model->next = model->una;
}

static void send(struct model *model)
{
    uint32_t psn = model->next;
    const struct message *message = &model->message[model->owner[psn]];
    uint32_t end = message->from + message->packets;
    bool ack = psn + 1 == end || rng_chance(&model->rng, 100000);
    bool sheltered = model->owner[psn] == 0;
    model->next = message->verb == CAPTURE_READ ? end : psn + 1;
    if (!sheltered && rng_chance(&model->rng, model->lost_before_ppm)) return;
    if (!sheltered && rng_chance(&model->rng, model->dropped_ppm))
        model->dropped++;
    else
        capture_request(model, psn, ack);
    if (!rng_chance(&model->rng, model->lost_behind_ppm)) respond(model, psn, ack);
}

static void model_run(struct model *model)
{
    lab_open(&model->lab, NULL);
    while (model->una < model->total) {
        bool room = model->next < model->total && model->next - model->una < WINDOW;
        if (model->replies && (!room || rng_chance(&model->rng, 300000)))
            take_reply(model);
        else if (room)
            send(model);
        else
            model->next = model->una; /* timeout */
    }
    lab_finish(&model->lab);
}

struct truth {
    uint64_t messages, bytes, min_bytes, max_bytes;
};

static struct truth truth_of(const struct model *model, enum capture_verb verb, bool captured_only)
{
    struct truth truth = {.min_bytes = UINT64_MAX};
    for (uint32_t i = 0; i < MESSAGES; i++) {
        const struct message *message = &model->message[i];
        if (message->verb != verb || (captured_only && !message->last_captured)) continue;
        truth.messages++;
        truth.bytes += message->bytes;
        if (message->bytes < truth.min_bytes) truth.min_bytes = message->bytes;
        if (message->bytes > truth.max_bytes) truth.max_bytes = message->bytes;
    }
    if (truth.messages == 0) truth.min_bytes = 0;
    return truth;
}

static void test_lost_before_the_capture_point(void **state)
{
    (void)state;
    const uint64_t seed = test_seed_or(4201);
    static struct model model;
    for (unsigned round = 0; round < 60; round++) {
        model_make(&model, seed, round);
        model_run(&model);
        const struct capture_direction *view = lab_forward(&model.lab, 0);
        assert_int_equal(capture_connections(model.lab.capture), 1);
        for (unsigned verb = 0; verb < CAPTURE_VERBS; verb++) {
            struct truth truth = truth_of(&model, verb, false);
            const struct capture_ops *ops = &view->ops[verb];
            if (truth.messages != ops->messages || truth.bytes != ops->bytes || truth.min_bytes != ops->min_bytes ||
                truth.max_bytes != ops->max_bytes)
                fail_msg("seed %llu round %u verb %u: %llu messages of %llu, %llu bytes of %llu, %llu..%llu of "
                         "%llu..%llu",
                         (unsigned long long)seed, round, verb, (unsigned long long)ops->messages,
                         (unsigned long long)truth.messages, (unsigned long long)ops->bytes,
                         (unsigned long long)truth.bytes, (unsigned long long)ops->min_bytes,
                         (unsigned long long)ops->max_bytes, (unsigned long long)truth.min_bytes,
                         (unsigned long long)truth.max_bytes);
        }
        lab_close(&model.lab);
    }
}

/* The capture drops packets too: a message counts when its Last was captured, and is never told too large. */
static void test_dropped_by_the_capture(void **state)
{
    (void)state;
    const uint64_t seed = test_seed_or(4202);
    static struct model model;
    for (unsigned round = 0; round < 60; round++) {
        uint64_t messages = 0;
        model_make(&model, seed, round);
        model.dropped_ppm = (uint32_t)rng_below(&model.rng, 200000);
        model_run(&model);
        const struct capture_direction *view = lab_forward(&model.lab, 0);
        for (unsigned verb = 0; verb < CAPTURE_VERBS; verb++) {
            struct truth truth = truth_of(&model, verb, true);
            const struct capture_ops *ops = &view->ops[verb];
            messages += ops->messages;
            if (truth.messages != ops->messages || ops->bytes > truth.bytes || ops->max_bytes > truth.max_bytes)
                fail_msg("seed %llu round %u verb %u: %llu messages of %llu, %llu bytes of %llu, largest %llu of %llu",
                         (unsigned long long)seed, round, verb, (unsigned long long)ops->messages,
                         (unsigned long long)truth.messages, (unsigned long long)ops->bytes,
                         (unsigned long long)truth.bytes, (unsigned long long)ops->max_bytes,
                         (unsigned long long)truth.max_bytes);
        }
        assert_true(messages <= MESSAGES && messages + model.dropped >= MESSAGES);
        lab_close(&model.lab);
    }
}

/* More holes than are kept, runs that are all Middle, and holes that nothing ever fills. */
static void test_holes_that_stay(void **state)
{
    (void)state;
    struct lab lab;
    lab_open(&lab, NULL);
    lab_request(&lab, &there, OPCODE_RC_SEND_FIRST, 0, 1024, false);
    for (uint32_t psn = 2; psn < 60; psn += 2) /* every other packet: one message, as far as can be known */
        lab_request(&lab, &there, OPCODE_RC_SEND_MIDDLE, psn, 1024, false);
    lab_request(&lab, &there, OPCODE_RC_SEND_LAST, 60, 7, false);
    lab_request(&lab, &there, OPCODE_RC_SEND_FIRST, 61, 1024, false);
    lab_request(&lab, &there, OPCODE_RC_SEND_MIDDLE, 70, 1024, false); /* of another, perhaps */
    lab_request(&lab, &there, OPCODE_RC_SEND_LAST, 71, 9, false);
    lab_write_first(&lab, &there, 72, 1024, 5000);
    lab_request(&lab, &there, OPCODE_RC_WRITE_LAST, 76, 904, false); /* the RETH says it is the same */
    lab_write_first(&lab, &there, 77, 1024, 3000);
    lab_request(&lab, &there, OPCODE_RC_WRITE_LAST, 90, 11, false); /* and here that it is not */
    lab_finish(&lab);
    const struct capture_ops *send = &lab_forward(&lab, 0)->ops[CAPTURE_SEND];
    const struct capture_ops *writes = &lab_forward(&lab, 0)->ops[CAPTURE_WRITE];
    assert_int_equal(send->messages, 2);
    assert_int_equal(send->max_bytes, 60 * 1024 + 7);
    assert_int_equal(send->min_bytes, 1024 + 9);
    assert_int_equal(writes->messages, 2);
    assert_int_equal(writes->max_bytes, 5000);
    assert_int_equal(writes->min_bytes, 11);
    lab_close(&lab);
}

/* A message whose beginning came after everything else, and one cut off by a new life of the QP number. */
static void test_before_the_first(void **state)
{
    (void)state;
    struct lab lab;
    lab_open(&lab, NULL);
    lab_request(&lab, &there, OPCODE_RC_SEND_MIDDLE, 0, 256, false);
    lab_request(&lab, &there, OPCODE_RC_SEND_LAST, 1, 3, false);
    lab_request(&lab, &there, OPCODE_RC_SEND_FIRST, 0xfffffe, 256, false);
    lab_request(&lab, &there, OPCODE_RC_SEND_MIDDLE, 0xffffff, 256, false);
    lab_request(&lab, &there, OPCODE_RC_SEND_FIRST, 2, 256, false);
    lab_request(&lab, &there, OPCODE_RC_SEND_LAST, 5000000, 4, false); /* a reset */
    lab_finish(&lab);
    const struct capture_ops *send = &lab_forward(&lab, 0)->ops[CAPTURE_SEND];
    assert_int_equal(lab_forward(&lab, 0)->resets, 1);
    assert_int_equal(send->messages, 2);
    assert_int_equal(send->max_bytes, 3 * 256 + 3);
    assert_int_equal(send->min_bytes, 4);
    lab_close(&lab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lost_before_the_capture_point),
        cmocka_unit_test(test_dropped_by_the_capture),
        cmocka_unit_test(test_holes_that_stay),
        cmocka_unit_test(test_before_the_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
