/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Link-level retry over a toy line: a sender, a receiver, frames and words that take their time and may be damaged.
 *
 * Held at every step: a frame is delivered once and in order; what is in the buffer is what was sent and not
 * acknowledged, and never more than the buffer; nothing is known to be there that is not; ACKs keep their distance; of
 * one gap there is one NACK.  At rest all has been delivered, or given up for a reason, and the buffer is empty.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../base/support.h"
#include "base/rng.h"
#include "node/llr.h"

#define FLYING 8192u
#define RING 256u
#define BYTE_PS 20u /* 400G */
#define PROPAGATION (250 * PS_NS)
#define SPACING (2048 * BYTE_PS)
#define LARGEST 4178u

struct flying {
    ps_t at;
    uint32_t word;
};
struct queue { /* in order of arrival */
    struct flying entry[FLYING];
    uint32_t head, tail;
};

struct line {
    struct llr a, b; /* the sender, the receiver */
    struct llr_frame ring_a[RING], ring_b[RING];
    struct queue there, back;
    struct rng rng;
    uint32_t loss_ppm, word_loss_ppm;
    ps_t now, free_at, back_free_at, last_ack;
    uint32_t frames;         /* that are to be sent */
    uint32_t next, expected; /* ids: the next to be sent, and to be delivered */
    uint64_t lost;           /* given up */
    uint32_t damaged;        /* frames */
    uint64_t sent_bytes;     /* of line, sent again included */
    bool gap;                /* the receiver waits for a frame that was damaged, and has said so */
    uint32_t size_of[1u << 17];
};

static void push(struct queue *queue, ps_t at, uint32_t word)
{
    assert_true(queue->tail - queue->head < FLYING);
    assert_true(queue->tail == queue->head || queue->entry[(queue->tail - 1) % FLYING].at <= at);
    queue->entry[queue->tail++ % FLYING] = (struct flying){at, word};
}

static ps_t head_at(const struct queue *queue)
{
    return queue->head == queue->tail ? PS_NEVER : queue->entry[queue->head % FLYING].at;
}

static void words(struct line *line, bool from_a, const struct llr_out *out)
{
    ps_t *free_at = from_a ? &line->free_at : &line->back_free_at;

    for (uint32_t i = 0; i < out->words; i++) {
        *free_at = (*free_at > line->now ? *free_at : line->now) + (ps_t)LLR_SET_BYTES * BYTE_PS;
        if (!from_a && llr_word_kind(out->word[i]) == LLR_ACK) {
            EXPECT(line->last_ack == 0 || line->now - line->last_ack >= SPACING, line->now);
            line->last_ack = line->now;
        }
        if (rng_chance(&line->rng, line->word_loss_ppm)) continue;
        push(from_a ? &line->there : &line->back, *free_at + PROPAGATION, out->word[i]);
    }
    if (!out->flush) return;
    assert_true(from_a);
    for (pkt_t id; (id = llr_take_back(&line->a, line->now)) != PKT_NONE; line->lost++) {
        EXPECT(id == line->expected, line->now); /* in order, none that was delivered */
        line->expected++;
    }
}

static void put(struct line *line, pkt_t id, uint32_t number, uint32_t bytes)
{
    bool damaged = rng_chance(&line->rng, line->loss_ppm);

    line->free_at = line->now + (ps_t)bytes * BYTE_PS;
    line->sent_bytes += bytes;
    line->damaged += damaged;
    push(&line->there, line->free_at + PROPAGATION, llr_word(damaged ? LLR_BAD : LLR_GOOD, number));
    if (!llr_left(&line->a, number, damaged)) return;
    EXPECT(id == line->expected, line->now);
    line->expected++;
}

static void send(struct line *line)
{
    uint32_t number;

    if (line->free_at > line->now) return;
    if (llr_replays(&line->a)) {
        struct llr_frame frame = llr_send_again(&line->a, &number);
        EXPECT(frame.id == PKT_NONE || frame.line == line->size_of[frame.id], line->now);
        put(line, frame.id, number, frame.line);
    } else if (llr_may_send(&line->a) && line->next < line->frames) {
        uint32_t bytes = rng_chance(&line->rng, 500000) ? LARGEST : 84 + (uint32_t)rng_below(&line->rng, 1000);
        line->size_of[line->next] = bytes;
        number = llr_send(&line->a, line->next, bytes, line->now);
        put(line, line->next++, number, bytes);
    }
}

/* One NACK for each gap, and again only when the frame itself came damaged again. */
static void judge_nack(struct line *line, uint32_t word, uint32_t expected, const struct llr_out *out)
{
    bool nack = out->words && llr_word_kind(out->word[0]) == LLR_NACK;
    bool itself = ((word ^ expected) & LLR_MASK) == 0;

    if (llr_word_kind(word) == LLR_BAD && itself) EXPECT(nack, line->now);
    if (llr_word_kind(word) == LLR_GOOD && itself) EXPECT(!nack, line->now);
    if (nack) EXPECT(!line->gap || itself, line->now);
    if (nack) line->gap = true;
    if (line->b.expected != expected) line->gap = false;
}

static void hear(struct line *line)
{
    while (head_at(&line->there) <= line->now) {
        struct llr_out out = {.words = 0};
        uint32_t word = line->there.entry[line->there.head++ % FLYING].word, expected = line->b.expected;
        llr_heard(&line->b, word, line->now, &out);
        if (llr_word_kind(word) <= LLR_BAD) judge_nack(line, word, expected, &out);
        if (llr_word_kind(word) == LLR_INIT) line->gap = false;
        words(line, false, &out);
    }
    while (head_at(&line->back) <= line->now) {
        struct llr_out out = {.words = 0};
        llr_heard(&line->a, line->back.entry[line->back.head++ % FLYING].word, line->now, &out);
        words(line, true, &out);
    }
    if (llr_deadline(&line->b) <= line->now) {
        struct llr_out out = {.words = 0};
        llr_tick(&line->b, line->now, &out);
        words(line, false, &out);
    }
    if (llr_deadline(&line->a) <= line->now) {
        struct llr_out out = {.words = 0};
        llr_tick(&line->a, line->now, &out);
        words(line, true, &out);
    }
}

static void invariants(const struct line *line)
{
    const struct llr *a = &line->a;
    uint64_t bytes = 0;

    for (uint32_t n = a->acked; n != a->next; n++)
        bytes += a->frame[n % RING].line;
    EXPECT(bytes == a->bytes && bytes <= a->config.buffer_bytes, line->now);
    EXPECT(a->next - a->acked <= RING, line->now);
    EXPECT(a->acked <= a->taken && a->taken <= a->next && a->again >= a->acked && a->again <= a->next, line->now);
    EXPECT(line->b.expected <= a->taken, line->now); /* it learns of them when they are there */
    EXPECT(a->acked <= line->b.expected || a->opening, line->now);
}

static bool done(const struct line *line)
{
    return line->next == line->frames && line->a.acked == line->a.next && !line->a.opening &&
           line->there.head == line->there.tail && line->back.head == line->back.tail;
}

static ps_t sooner(ps_t a, ps_t b)
{
    return a < b ? a : b;
}

static void begin(struct line *line, uint64_t seed, uint32_t buffer, uint32_t frames)
{
    struct llr_config config = {.buffer_bytes = buffer,
                                .largest_bytes = LARGEST,
                                .frames = RING,
                                .replays = 1,
                                .timer_ps = 5 * PS_US,
                                .spacing_ps = SPACING};

    memset(line, 0, sizeof(*line));
    rng_init(&line->rng, seed, 7);
    line->frames = frames;
    llr_init(&line->a, &config, line->ring_a);
    llr_init(&line->b, &config, line->ring_b);
}

static void run(struct line *line)
{
    for (uint64_t step = 0; !done(line); step++) {
        EXPECT(step < 100 * (uint64_t)line->frames + 100000, step); /* it ends */
        hear(line);
        send(line);
        invariants(line);
        ps_t next = sooner(head_at(&line->there), head_at(&line->back));
        next = sooner(next, sooner(llr_deadline(&line->a), llr_deadline(&line->b)));
        bool wants = llr_replays(&line->a) || (llr_may_send(&line->a) && line->next < line->frames);
        if (wants) next = sooner(next, line->free_at);
        if (next != PS_NEVER) line->now = next > line->now ? next : line->now + 1;
    }
    EXPECT(line->expected == line->frames, line->now);
    EXPECT(line->a.count.tx_ok == line->frames && line->a.count.tx_discard == line->lost, line->now);
    EXPECT(line->b.count.rx_expected_seq_good + line->lost == line->frames, line->now);
    EXPECT(line->b.count.rx_bad == line->damaged, line->now);
}

static struct line line;

static void test_clean(void **state)
{
    (void)state;
    begin(&line, test_seed(), 1 << 20, 2000);
    run(&line);
    assert_int_equal(line.a.count.tx_replayed, 0);
    assert_int_equal(line.b.count.tx_nack_ctl_os, 0);
    assert_int_equal(line.a.count.timeouts, 0);
    assert_int_equal(line.a.count.held_ps, 0);
    assert_true(line.b.count.tx_ack_ctl_os < 2000); /* small frames share one */
    assert_true(line.b.count.tx_ack_ctl_os > 900);
}

/* Only frames are damaged: no timer is needed, nothing is given up, and each costs a loop of the line. */
static void test_damaged(void **state)
{
    uint32_t replays = 0;

    (void)state;
    for (uint32_t seed = 0; seed < 20; seed++) {
        begin(&line, test_seed() + seed, 1 << 20, 3000);
        line.loss_ppm = 1000 * (1 + seed * 5);
        run(&line);
        assert_int_equal(line.a.count.timeouts, 0);
        assert_int_equal(line.lost, 0);
        assert_int_equal(line.a.count.tx_replay, line.b.count.tx_nack_ctl_os);
        assert_int_equal(line.b.count.rx_duplicate_seq, 0);
        /* From a damaged frame's first bit to that of the replay: the frame, both ways, the rest of another. */
        uint64_t wasted = line.sent_bytes, loop = 2 * PROPAGATION / BYTE_PS + 2 * LARGEST + 64;
        for (uint32_t i = 0; i < line.frames; i++)
            wasted -= line.size_of[i];
        EXPECT(wasted <= line.a.count.tx_replay * loop, seed);
        EXPECT(wasted >= line.a.count.tx_replay * (uint64_t)84, seed);
        replays += (uint32_t)line.a.count.tx_replay;
    }
    assert_true(replays > 500);
}

/* Words are lost too: the timer finds out; a flush costs what the buffer held and no more. */
static void test_words_lost(void **state)
{
    uint64_t flushes = 0, lost = 0, frames = 0, timeouts = 0;

    (void)state;
    for (uint32_t seed = 0; seed < 30; seed++) {
        begin(&line, test_seed() + seed, 60000, 2000);
        line.loss_ppm = 20000;
        line.word_loss_ppm = 20000 * (1 + seed);
        run(&line);
        flushes += line.a.count.tx_init_ctl_os;
        lost += line.lost;
        frames += line.frames;
        timeouts += line.a.count.timeouts;
    }
    assert_true(flushes > 0 && lost > 0 && timeouts > flushes);
    assert_true(lost * 4 < frames);
}

/* A buffer that is smaller than the line holds: its bytes a loop, and the time without room is counted. */
static void test_small_buffer(void **state)
{
    (void)state;
    begin(&line, test_seed(), 2 * LARGEST, 3000);
    run(&line);
    ps_t busy = line.sent_bytes * BYTE_PS;
    assert_true(line.now > 4 * busy);
    assert_true(line.a.count.held_ps > (line.now - busy) / 2 && line.a.count.held_ps < line.now);
    assert_int_equal(line.a.count.timeouts, 0);
}

/* More numbers than a word has bits for. */
static void test_wraps(void **state)
{
    (void)state;
    begin(&line, test_seed(), 1 << 20, 3000);
    line.a.next = line.a.acked = line.a.taken = line.a.again = line.b.expected = LLR_MASK - 1000;
    line.loss_ppm = 30000;
    run(&line);
    assert_int_equal(line.lost, 0);
    assert_int_equal(line.a.count.rx_ack_nack_seq_error, 0);
}

/* One lost ACK: the next speaks for it.  All lost: the replay is of what is there, and is dropped there. */
static void test_lost_ack(void **state)
{
    struct llr_out out = {.words = 0};

    (void)state;
    begin(&line, test_seed(), 1 << 20, 2);
    for (pkt_t id = 0; id < 2; id++) {
        uint32_t number = llr_send(&line.a, id, LARGEST, 0);
        assert_int_equal(number, id);
        assert_true(llr_left(&line.a, number, false));
        llr_heard(&line.b, llr_word(LLR_GOOD, number), 10 * PS_US * (id + 1), &out);
    }
    assert_int_equal(out.words, 2);
    struct llr_out none = {.words = 0};
    llr_tick(&line.a, 30 * PS_US, &none);
    assert_true(llr_replays(&line.a) && none.words == 0);
    uint32_t number;
    assert_int_equal(llr_send_again(&line.a, &number).id, PKT_NONE);
    assert_false(llr_left(&line.a, number, false));
    out.words = 0;
    llr_heard(&line.b, llr_word(LLR_GOOD, number), 40 * PS_US, &out);
    assert_int_equal(line.b.count.rx_duplicate_seq, 1);
    assert_int_equal(out.words, 1); /* so that the sender knows at last */
    llr_heard(&line.a, out.word[0], 41 * PS_US, &none);
    assert_int_equal(line.a.bytes, 0);
    assert_false(llr_replays(&line.a));
    assert_int_equal(llr_deadline(&line.a), PS_NEVER);
}

/* An answer to what was never sent, and to what is not there, changes nothing. */
static void test_wrong_numbers(void **state)
{
    struct llr_out out = {.words = 0};

    (void)state;
    begin(&line, test_seed(), 1 << 20, 2);
    uint32_t number = llr_send(&line.a, 0, LARGEST, 0);
    assert_false(llr_left(&line.a, number, true));
    llr_heard(&line.a, llr_word(LLR_ACK, number), PS_US, &out); /* it is damaged */
    llr_heard(&line.a, llr_word(LLR_ACK, 77), PS_US, &out);
    llr_heard(&line.a, llr_word(LLR_NACK, 77), PS_US, &out);
    llr_heard(&line.a, llr_word(LLR_ECHO, 77), PS_US, &out);
    assert_int_equal(line.a.count.rx_ack_nack_seq_error, 3);
    assert_int_equal(line.a.bytes, LARGEST);
    assert_false(llr_replays(&line.a));
    assert_int_equal(out.words, 0);
    assert_int_equal(llr_take_back(&line.a, PS_US), 0);
    assert_int_equal(llr_take_back(&line.a, PS_US), PKT_NONE);
    llr_reset(&line.a, PS_US);
    assert_true(llr_may_send(&line.a));
    assert_int_equal(llr_send(&line.a, 5, LARGEST, PS_US), 0);
}

/* Frames of which nothing arrives: the one after them shows it, each time. */
static void test_gaps(void **state)
{
    static const struct {
        uint32_t number;
        bool nack;
    } comes[] = {{0, false}, {2, true}, {3, false}, {1, false}, {2, false}, {4, true}, {3, false}, {4, false}};

    (void)state;
    begin(&line, test_seed(), 1 << 20, 2);
    for (uint32_t i = 0; i < sizeof(comes) / sizeof(comes[0]); i++) {
        struct llr_out out = {.words = 0};
        llr_heard(&line.b, llr_word(LLR_GOOD, comes[i].number), PS_US * (i + 1), &out);
        assert_int_equal(out.words && llr_word_kind(out.word[0]) == LLR_NACK, comes[i].nack);
    }
    assert_int_equal(line.b.expected, 5);
    assert_int_equal(line.b.count.rx_missing_seq, 3);
}

/* A port that gave up sends nothing until the other end says that it begins at the same number. */
static void test_opening(void **state)
{
    struct llr_out out = {.words = 0};

    (void)state;
    begin(&line, test_seed(), 1 << 20, 2);
    assert_false(llr_left(&line.a, llr_send(&line.a, 0, LARGEST, 0), true));
    llr_tick(&line.a, 5 * PS_US, &out);
    assert_true(llr_replays(&line.a) && !out.flush);
    llr_tick(&line.a, 10 * PS_US, &out);
    assert_true(out.flush && out.words == 1);
    assert_int_equal(out.word[0], llr_word(LLR_INIT, 1));
    assert_int_equal(llr_take_back(&line.a, 10 * PS_US), 0);
    assert_int_equal(llr_take_back(&line.a, 10 * PS_US), PKT_NONE);
    llr_heard(&line.a, llr_word(LLR_ECHO, 0), 11 * PS_US, &out); /* of an earlier one */
    assert_false(llr_may_send(&line.a));
    llr_heard(&line.a, llr_word(LLR_ECHO, 1), 12 * PS_US, &out);
    assert_true(llr_may_send(&line.a));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clean),         cmocka_unit_test(test_damaged), cmocka_unit_test(test_words_lost),
        cmocka_unit_test(test_small_buffer),  cmocka_unit_test(test_wraps),   cmocka_unit_test(test_lost_ack),
        cmocka_unit_test(test_wrong_numbers), cmocka_unit_test(test_opening), cmocka_unit_test(test_gaps)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
