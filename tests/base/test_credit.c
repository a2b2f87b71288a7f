/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credits over a toy line: one sender, one receiver with a buffer, packets and words that take their time, and may be
 * lost.
 *
 * Held at every step: the buffer never overflows, and blocks are conserved: what the sender may send, what is on its
 * way or held, what is free and untold and what was lost and not yet given back is the buffer, all of it.  At rest the
 * sender has all of it.
 *
 * Bugs planted by hand in credit.h, all found here (17 of 17): an FCCL added instead of assigned; blocks rounded down;
 * the repair forgotten, doubled, without its part for FCCL, or done again and again; FCTBS counted at once instead of
 * after the skew, after the packet that follows it, or taken from FCCL; the dry rule one block too generous; a block
 * of each packet not given back; held blocks of a reset line promised again; a count widened without its sign; a share
 * of the buffer that is never told, a dry sender that is not told, a wrong count told; a word whose VL is cut.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/credit.h"
#include "base/rng.h"
#include "support.h"

#define FLYING 4096u
#define LATENCY (300 * PS_NS)
#define WORD_LATENCY (100 * PS_NS)
#define STEP (10 * PS_NS)

struct flying {
    ps_t at;
    uint32_t what;
};

struct queue { /* in order of arrival */
    struct flying entry[FLYING];
    uint32_t head, tail;
};

struct line {
    struct rng rng;
    struct credit_tx tx;
    struct credit_rx rx;
    struct queue data, words, buffer;
    struct queue back; /* words from the receiver */
    uint32_t size, packet, lost_blocks;
    uint32_t loss_ppm, word_loss_ppm, drain_ppm, send_ppm;
    ps_t now, sender_tick, receiver_tick;
    uint64_t sent, dry;
};

static void push(struct queue *queue, ps_t at, uint32_t what)
{
    assert_true(queue->tail - queue->head < FLYING);
    queue->entry[queue->tail++ % FLYING] = (struct flying){at, what};
}

static bool pop(struct queue *queue, ps_t now, uint32_t *ret)
{
    if (queue->head == queue->tail || queue->entry[queue->head % FLYING].at > now) return false;
    *ret = queue->entry[queue->head++ % FLYING].what;
    return true;
}

static uint32_t sum(const struct queue *queue)
{
    uint32_t blocks = 0;

    for (uint32_t i = queue->head; i != queue->tail; i++)
        blocks += queue->entry[i % FLYING].what;
    return blocks;
}

static void tell(struct line *line)
{
    uint32_t word = credit_word(CREDIT_LIMIT, 3, credit_tell(&line->rx));

    if (!rng_chance(&line->rng, line->word_loss_ppm)) push(&line->back, line->now + WORD_LATENCY, word);
}

static void send(struct line *line)
{
    if (!rng_chance(&line->rng, line->send_ppm)) return;
    if (credit_dry(&line->tx, line->packet)) {
        line->dry++;
        return;
    }
    uint32_t blocks = 1 + rng_u32(&line->rng) % line->packet;
    credit_sent(&line->tx, blocks);
    line->sent += blocks;
    if (rng_chance(&line->rng, line->loss_ppm))
        line->lost_blocks += blocks;
    else
        push(&line->data, line->now + LATENCY, blocks);
}

static void sender(struct line *line)
{
    uint32_t word;

    while (pop(&line->back, line->now, &word)) {
        assert_int_equal(credit_word_kind(word), CREDIT_LIMIT);
        assert_int_equal(credit_word_vl(word), 3);
        credit_limit(&line->tx, word);
    }
    send(line);
    if (line->now < line->sender_tick) return;
    line->sender_tick += CREDIT_PERIOD;
    if (!credit_says(&line->tx)) return;
    word = credit_word(CREDIT_SENT, 3, credit_say(&line->tx));
    if (!rng_chance(&line->rng, line->word_loss_ppm)) push(&line->words, line->now + WORD_LATENCY, word);
}

/* What a repair gives back is no longer lost: never more than was. */
static void note_repair(struct line *line, uint32_t arrived_before, uint32_t blocks)
{
    uint32_t repaired = line->rx.arrived - arrived_before - blocks;

    assert_true(repaired <= line->lost_blocks);
    line->lost_blocks -= repaired;
}

static void receiver(struct line *line, bool drains)
{
    uint32_t what, before = line->rx.arrived;

    while (pop(&line->words, line->now, &what)) {
        assert_int_equal(credit_word_kind(what), CREDIT_SENT);
        credit_heard(&line->rx, what, LATENCY - WORD_LATENCY, line->now);
    }
    while (pop(&line->data, line->now, &what)) {
        credit_arrived(&line->rx, what, line->now);
        note_repair(line, before, what);
        before = line->rx.arrived;
        push(&line->buffer, 0, what);
    }
    if (drains && rng_chance(&line->rng, line->drain_ppm) && pop(&line->buffer, line->now, &what)) {
        credit_freed(&line->rx, what);
        if (credit_tells(&line->rx, line->packet)) tell(line);
    }
    if (line->now < line->receiver_tick) return;
    line->receiver_tick += CREDIT_PERIOD;
    if (line->now > line->rx.heard_at) credit_repair(&line->rx);
    note_repair(line, before, 0);
    if (credit_untold(&line->rx)) tell(line);
}

static void step(struct line *line, bool drains, uint64_t number)
{
    line->now += STEP;
    receiver(line, drains);
    sender(line);
    uint32_t held = sum(&line->buffer), flies = sum(&line->data);
    uint32_t untold = line->rx.limit - line->tx.limit; /* what is told and on its way too */
    EXPECT(held <= line->size, number);
    EXPECT(held == credit_held(&line->rx), number);
    EXPECT(credit_left(&line->tx) >= 0, number);
    EXPECT((uint32_t)credit_left(&line->tx) + flies + held + untold + line->lost_blocks == line->size, number);
}

static void start(struct line *line, uint64_t seed, uint32_t size, uint32_t packet)
{
    memset(line, 0, sizeof(*line));
    rng_init(&line->rng, test_seed(), seed);
    line->size = size;
    line->packet = packet;
    line->drain_ppm = 300000;
    line->send_ppm = 500000;
    /* Counts begin just before they wrap, in 26 bits and in 32. */
    uint32_t base = seed & 1 ? CREDIT_MASK - 100 : UINT32_MAX - 100;
    credit_rx_reset(&line->rx, size, 0, size);
    credit_tx_reset(&line->tx, size);
    line->rx.limit += base, line->rx.told += base, line->rx.arrived += base;
    line->tx.limit += base, line->tx.sent += base, line->tx.said += base;
}

static void at_rest(struct line *line)
{
    line->send_ppm = 0;
    line->loss_ppm = line->word_loss_ppm = 0;
    line->drain_ppm = 1000000;
    for (uint64_t i = 0; i < 3 * CREDIT_PERIOD / STEP + 4 * line->size; i++)
        step(line, true, i);
    /* A word that was lost is made good by the next that has something to say. */
    credit_sent(&line->tx, 1);
    push(&line->data, line->now + LATENCY, 1);
    for (uint64_t i = 0; i < 4 * CREDIT_PERIOD / STEP; i++)
        step(line, true, i);
    assert_int_equal(line->lost_blocks, 0);
    assert_int_equal(credit_left(&line->tx), line->size);
}

static void conserved(void **state)
{
    static struct line line;
    uint64_t dry = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 40; seed++) {
        uint32_t packet = 1 + (uint32_t)(seed * 7 % 65);
        start(&line, seed, packet * (2 + (uint32_t)seed % 9), packet);
        for (uint64_t i = 0; i < 4000; i++)
            step(&line, true, i);
        dry += line.dry;
        assert_true(line.sent > 0);
        at_rest(&line);
    }
    assert_true(dry > 0);
}

static void losses_come_back(void **state)
{
    static struct line line;

    (void)state;
    for (uint64_t seed = 0; seed < 40; seed++) {
        start(&line, seed, 512, 65);
        line.loss_ppm = 20000;
        line.word_loss_ppm = seed & 2 ? 100000 : 0;
        for (uint64_t i = 0; i < 6000; i++)
            step(&line, true, i);
        /* 512 blocks would be lost in about 800 packets; without repair nothing moved any more. */
        assert_true(line.sent > 30000);
        at_rest(&line);
    }
}

/* All that was promised is lost: the timer alone brings it back. */
static void all_lost(void **state)
{
    static struct line line;

    (void)state;
    start(&line, 1, 130, 65);
    line.loss_ppm = 1000000;
    line.send_ppm = 1000000;
    for (uint64_t i = 0; i < 10; i++)
        step(&line, true, i);
    assert_true(credit_dry(&line.tx, 65));
    line.loss_ppm = line.send_ppm = 0;
    for (uint64_t i = 0; i < 3 * CREDIT_PERIOD / STEP; i++)
        step(&line, true, i);
    assert_int_equal(credit_left(&line.tx), 130);
}

/* Nobody drains: the sender stops with less than a packet left, and the buffer holds the rest. */
static void full_stops(void **state)
{
    static struct line line;

    (void)state;
    start(&line, 2, 1000, 65);
    line.send_ppm = 1000000;
    for (uint64_t i = 0; i < 2000; i++)
        step(&line, false, i);
    assert_true(credit_left(&line.tx) < 65);
    assert_int_equal(credit_held(&line.rx) + (uint32_t)credit_left(&line.tx), 1000);
    uint64_t before = line.sent;
    /* One packet of room is told at once, for the sender is known to be dry. */
    uint32_t freed = 0, what = 0;
    while (freed < 65) {
        assert_true(pop(&line.buffer, line.now, &what));
        credit_freed(&line.rx, what);
        freed += what;
    }
    assert_true(credit_tells(&line.rx, 65));
    tell(&line);
    for (uint64_t i = 0; i < WORD_LATENCY / STEP + 1; i++)
        step(&line, false, i);
    assert_true(line.sent > before);
}

/* A sender that knows of much is told later, and in time: when it knows of no more than `calm`. */
static void words_wait_while_the_sender_is_calm(void **state)
{
    struct credit_rx rx = {.calm = 60};

    (void)state;
    credit_rx_reset(&rx, 100, 0, 100);
    assert_int_equal(rx.calm, 60);
    for (uint32_t blocks = 1; blocks <= 100; blocks++) { /* each is free again at once */
        credit_arrived(&rx, 1, 0);
        credit_freed(&rx, 1);
        assert_int_equal(credit_tells(&rx, 2), blocks >= 40);
    }
    rx.calm = 0;
    credit_tell(&rx);
    for (uint32_t blocks = 1; blocks <= 20; blocks++) {
        credit_arrived(&rx, 1, 0);
        credit_freed(&rx, 1);
        assert_int_equal(credit_tells(&rx, 2), blocks >= 100 / CREDIT_SHARE);
    }
}

/* A line that comes up again: what is still held is not promised. */
static void reset(void **state)
{
    struct credit_rx rx = {0};
    struct credit_tx tx;

    (void)state;
    credit_rx_reset(&rx, 100, 30, 0);
    credit_tx_reset(&tx, 0);
    assert_true(credit_dry(&tx, 1));
    credit_limit(&tx, credit_word(CREDIT_LIMIT, 0, credit_tell(&rx)));
    assert_int_equal(credit_left(&tx), 70);
    credit_freed(&rx, 30);
    credit_limit(&tx, credit_word(CREDIT_LIMIT, 0, credit_tell(&rx)));
    assert_int_equal(credit_left(&tx), 100);
    assert_int_equal(credit_held(&rx), 0);
    /* A receiver may take back what it promised. */
    credit_limit(&tx, credit_word(CREDIT_LIMIT, 0, 90));
    assert_int_equal(credit_left(&tx), 90);
}

static void sizes(void **state)
{
    (void)state;
    assert_int_equal(credit_blocks(1), 1);
    assert_int_equal(credit_blocks(64), 1);
    assert_int_equal(credit_blocks(65), 2);
    assert_int_equal(credit_blocks(4096 + 26), 65);
    for (uint32_t vl = 0; vl < CREDIT_VLS; vl++)
        assert_int_equal(credit_word_vl(credit_word(CREDIT_SENT, vl, UINT32_MAX)), vl);
    struct credit_tx tx = {.limit = 65, .sent = 0};
    assert_false(credit_dry(&tx, 65));
    tx.sent = 1;
    assert_true(credit_dry(&tx, 65));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conserved),
        cmocka_unit_test(losses_come_back),
        cmocka_unit_test(all_lost),
        cmocka_unit_test(full_stops),
        cmocka_unit_test(words_wait_while_the_sender_is_calm),
        cmocka_unit_test(reset),
        cmocka_unit_test(sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
