/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A switch with credits among peers that have them too.
 *
 * A peer with both halves is behind every port, and lines take time and lose packets.  Held at every step: nothing is
 * sent without credit, nothing is dropped for lack of buffer, and blocks are conserved on every line and lane in both
 * directions.  At rest every sender has all that its receiver promises.
 */
#include <string.h>

#include "lab.h"

#include "lanes.h"

#define FLYING 1024u
struct flying {
    ps_t at;
    uint32_t what, vl, blocks;
};
struct fifo {
    struct flying entry[FLYING];
    uint32_t head, tail;
};
struct peer {
    struct credit_tx tx[VLS];
    struct credit_rx rx[VLS];
    struct fifo data_in, words_in, data_out, words_out; /* in: to the switch */
    uint32_t held[VLS], lost_in[VLS], lost_out[VLS], flying_in[VLS], flying_out[VLS];
    ps_t tick_at, free_at, switch_free_at;
};
static struct peer peer[PORTS];
static struct rng rng;
static uint64_t sent_blocks;
static uint32_t loss_ppm, send_ppm, drain_ppm;

static void push(struct fifo *fifo, ps_t at, uint32_t what, uint32_t vl, uint32_t blocks)
{
    assert_true(fifo->tail - fifo->head < FLYING);
    fifo->entry[fifo->tail++ % FLYING] = (struct flying){at, what, vl, blocks};
}

static const struct flying *pop(struct fifo *fifo)
{
    if (fifo->head == fifo->tail || fifo->entry[fifo->head % FLYING].at > lab.now) return NULL;
    return &fifo->entry[fifo->head++ % FLYING];
}

/* A word follows the packet on the line. */
static ps_t word_at(ps_t free_at)
{
    return (free_at > lab.now ? free_at : lab.now) + WORD_LATENCY;
}

/* Words of the switch fly to the peers. */
static void take_words(void)
{
    for (uint32_t i = 0; i < lab.io.pauses; i++) {
        assert_true(lab.io.pause[i].credit & CREDIT_WORD);
        struct peer *to = &peer[lab.io.pause[i].port];
        push(&to->words_out, word_at(to->switch_free_at), lab.io.pause[i].credit, 0, 0);
    }
    lab_clear(&lab);
}

static void peer_sends(uint16_t port)
{
    struct peer *own = &peer[port];
    uint32_t vl = (uint32_t)rng_below(&rng, VLS), bytes = 60 + (uint32_t)rng_below(&rng, FULL - VCRC - 59);

    if (own->free_at > lab.now || !rng_chance(&rng, send_ppm) || credit_dry(&own->tx[vl], PACKET)) return;
    uint32_t blocks = credit_blocks(bytes + VCRC);
    credit_sent(&own->tx[vl], blocks);
    own->free_at = lab.now + bytes * 80; /* 100 Gb/s */
    if (rng_chance(&rng, loss_ppm)) {
        own->lost_in[vl] += blocks;
        return;
    }
    uint32_t to = rng_chance(&rng, 300000) ? 0 : (uint32_t)rng_below(&rng, PORTS); /* port 0 is too much wanted */
    pkt_t id = lab_packet(&lab, to, (uint8_t)vl, (uint16_t)bytes);
    own->flying_in[vl] += blocks;
    push(&own->data_in, own->free_at + LATENCY, id, vl, blocks);
}

static void peer_hears(uint16_t port)
{
    struct peer *own = &peer[port];
    const struct flying *word;

    while ((word = pop(&own->words_out)) != NULL) {
        uint32_t vl = credit_word_vl(word->what), before = own->rx[vl].arrived;
        assert_true(vl < VLS);
        if (credit_word_kind(word->what) == CREDIT_LIMIT)
            credit_limit(&own->tx[vl], word->what);
        else
            credit_heard(&own->rx[vl], word->what, LATENCY - WORD_LATENCY, lab.now);
        assert_int_equal(before, own->rx[vl].arrived);
    }
}

static void note_repair(struct peer *own, uint32_t vl, uint32_t before, uint32_t blocks)
{
    uint32_t repaired = own->rx[vl].arrived - before - blocks;

    assert_true(repaired <= own->lost_out[vl]);
    own->lost_out[vl] -= repaired;
}

static void peer_receives(uint16_t port)
{
    struct peer *own = &peer[port];
    const struct flying *packet;

    while ((packet = pop(&own->data_out)) != NULL) {
        uint32_t before = own->rx[packet->vl].arrived;
        credit_arrived(&own->rx[packet->vl], packet->blocks, lab.now);
        note_repair(own, packet->vl, before, packet->blocks);
        own->flying_out[packet->vl] -= packet->blocks;
        own->held[packet->vl] += packet->blocks;
        assert_true(own->held[packet->vl] <= BLOCKS);
        pktpool_put(&lab.pool, packet->what);
    }
    for (uint32_t vl = 0; vl < VLS; vl++) {
        uint32_t part = own->held[vl] < PACKET ? own->held[vl] : PACKET;
        if (!part || !rng_chance(&rng, drain_ppm)) continue;
        own->held[vl] -= part;
        credit_freed(&own->rx[vl], part);
        if (credit_tells(&own->rx[vl], PACKET))
            push(&own->words_in, word_at(own->free_at), credit_word(CREDIT_LIMIT, vl, credit_tell(&own->rx[vl])), 0, 0);
    }
}

static void peer_ticks(uint16_t port)
{
    struct peer *own = &peer[port];

    if (lab.now < own->tick_at) return;
    own->tick_at += CREDIT_PERIOD;
    for (uint32_t vl = 0; vl < VLS; vl++) {
        uint32_t before = own->rx[vl].arrived;
        if (lab.now > own->rx[vl].heard_at) credit_repair(&own->rx[vl]);
        note_repair(own, vl, before, 0);
        if (credit_untold(&own->rx[vl]))
            push(&own->words_in, word_at(own->free_at), credit_word(CREDIT_LIMIT, vl, credit_tell(&own->rx[vl])), 0, 0);
        if (credit_says(&own->tx[vl]))
            push(&own->words_in, word_at(own->free_at), credit_word(CREDIT_SENT, vl, credit_say(&own->tx[vl])), 0, 0);
    }
}

/* The switch as the engine drives it: words, frames, ports, deadline; frames in pieces where `pieces`. */
static void switch_takes(uint16_t port, bool pieces)
{
    struct peer *own = &peer[port];
    const struct flying *one;

    while ((one = pop(&own->words_in)) != NULL) {
        sw_credit(lab.sw, port, one->what, lab.now, &lab.io);
        take_words();
    }
    while ((one = pop(&own->data_in)) != NULL) {
        struct sw_crossing crossing;
        own->flying_in[one->vl] -= one->blocks;
        if (!pieces) {
            assert_int_not_equal(lab_rx_id(&lab, port, one->what), SW_DROPPED);
        } else {
            assert_true(sw_credit_find(lab.sw, port, one->what, lab.now, &lab.io, &crossing));
            if (peer[crossing.out].switch_free_at <= lab.now && sw_credit_at_once(lab.sw, &crossing)) {
                struct peer *to = &peer[crossing.out];
                uint32_t blocks = credit_blocks(crossing.bytes + VCRC);
                to->switch_free_at = lab.now + crossing.bytes * 80;
                to->flying_out[one->vl] += blocks;
                push(&to->data_out, to->switch_free_at + LATENCY, one->what, one->vl, blocks);
                assert_int_equal(lab.io.pauses + lab.io.kicks, 0);
            } else {
                assert_true(sw_credit_queue(lab.sw, &crossing, one->what, lab.now, &lab.io));
            }
        }
        take_words();
    }
}

static void switch_sends(uint16_t port)
{
    struct peer *own = &peer[port];

    if (own->switch_free_at > lab.now) return;
    pkt_t id = lab_tx_id(&lab, port);
    if (id != PKT_NONE) own->switch_free_at = lab.now + lab_pkt(&lab, id)->frame_bytes * 80;
    take_words(); /* they follow it on the line */
    if (id == PKT_NONE) return;
    const struct pkt *pkt = lab_pkt(&lab, id);
    uint32_t vl = pkt->tos >> 5, blocks = credit_blocks(pkt->frame_bytes + VCRC);
    assert_true(sw_credit_left(lab.sw, port, (uint8_t)vl) >= 0); /* it was taken off already */
    sent_blocks += blocks;
    if (rng_chance(&rng, loss_ppm)) {
        own->lost_out[vl] += blocks;
        pktpool_put(&lab.pool, id);
        return;
    }
    own->flying_out[vl] += blocks;
    push(&own->data_out, own->switch_free_at + LATENCY, id, vl, blocks);
}

static void conserved(uint64_t step)
{
    for (uint16_t port = 0; port < PORTS; port++) {
        for (uint32_t vl = 0; vl < VLS; vl++) {
            struct peer *own = &peer[port];
            const struct sw_lane *lane = lane_at(lab.sw, port, vl);
            uint32_t out = (uint32_t)sw_credit_left(lab.sw, port, (uint8_t)vl) + own->flying_out[vl] + own->held[vl] +
                           own->lost_out[vl] + (own->rx[vl].limit - lane->tx.limit);
            /* What the switch has given back of losses is known by its own count. */
            uint32_t repaired = lane->rx.arrived + own->flying_in[vl] + own->lost_in[vl] - own->tx[vl].sent;
            uint32_t in = (uint32_t)credit_left(&own->tx[vl]) + own->flying_in[vl] +
                          sw_credit_held(lab.sw, port, (uint8_t)vl) + own->lost_in[vl] - repaired +
                          (lane->rx.limit - own->tx[vl].limit);
            if (out != BLOCKS || in != BLOCKS || repaired > own->lost_in[vl])
                fail_msg("step %llu port %u VL %u: out %u, in %u, repaired %u", (unsigned long long)step, port, vl, out,
                         in, repaired);
            own->lost_in[vl] -= repaired;
        }
    }
    sw_audit(lab.sw);
}

static void one_step(bool pieces, uint64_t step)
{
    lab.now += 20 * PS_NS;
    for (uint16_t port = 0; port < PORTS; port++) {
        peer_hears(port);
        peer_receives(port);
        peer_ticks(port);
        peer_sends(port);
        switch_takes(port, pieces);
    }
    for (uint16_t port = 0; port < PORTS; port++)
        switch_sends(port);
    while (lab.io.deadline <= lab.now) {
        sw_tick(lab.sw, lab.now, &lab.io);
        take_words();
    }
    conserved(step);
}

/* `conserved` compares counts of one line: what a repair changed at the switch shows in `arrived` alone. */
static void swarm(uint64_t seed, bool pieces, uint32_t loss)
{
    lanes_defaults();
    lab_start(&lab);
    memset(peer, 0, sizeof(peer));
    rng_init(&rng, 4711, seed);
    loss_ppm = loss;
    send_ppm = 200000 + (uint32_t)(seed * 50000);
    drain_ppm = seed % 3 ? 500000 : 30000;
    sent_blocks = 0;
    for (uint32_t i = 0; i < PORTS; i++) {
        peer[i].tick_at = i * 100 * PS_NS;
        for (uint32_t vl = 0; vl < VLS; vl++) {
            credit_tx_reset(&peer[i].tx[vl], BLOCKS);
            credit_rx_reset(&peer[i].rx[vl], BLOCKS, 0, BLOCKS);
        }
    }
    for (uint64_t step = 0; step < 3000; step++)
        one_step(pieces, step);
    assert_true(sent_blocks > 2000);
    send_ppm = loss_ppm = 0;
    drain_ppm = 1000000;
    for (uint64_t step = 0; step < 1500; step++)
        one_step(pieces, step);
    for (uint16_t port = 0; port < PORTS; port++) {
        for (uint32_t vl = 0; vl < VLS; vl++) {
            assert_int_equal(credit_left(&peer[port].tx[vl]), BLOCKS);
            assert_int_equal(sw_credit_left(lab.sw, port, (uint8_t)vl), BLOCKS);
        }
        for (uint32_t why = 0; why < SW_DROPS; why++)
            assert_int_equal(lab_count(&lab, port)->drop[why], 0);
    }
    assert_true(lab.io.deadline == PS_NEVER); /* a switch without traffic is silent */
    lab_stop(&lab);
}

static void test_swarm(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 8; seed++)
        swarm(seed, seed & 1, 0);
}

static void test_swarm_lossy(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 8; seed++)
        swarm(seed, seed & 1, 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_swarm), cmocka_unit_test(test_swarm_lossy)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
