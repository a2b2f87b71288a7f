/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ultra Ethernet as an endpoint: src/uet behind the calls of endpoint.h.
 *
 * A message is one of a PDC, which is open from the start.  What a call answers is asked of the machine after it.
 */
#ifndef ROCELAB_NODE_UET_H
#define ROCELAB_NODE_UET_H

#include "base/check.h"
#include "node/host_calls.h"
#include "uet/uet.h"

#define UET_CALL static inline __attribute__((always_inline))

UET_CALL ps_t uet_end_deadline(const struct node_adapter *adapter)
{
    ps_t at = uet_deadline(adapter->endpoint);

    return __builtin_expect(adapter->credit != NULL, 0) && adapter->credit->timer_at < at ? adapter->credit->timer_at
                                                                                          : at;
}

UET_CALL void uet_end_answer(const struct node_adapter *adapter, struct node_io *io)
{
    io->endpoint.kick = uet_wants(adapter->endpoint);
    io->endpoint.completed |= uet_completed(adapter->endpoint);
    io->endpoint.deadline = uet_end_deadline(adapter);
}

/* Dry lanes hold back what travels in them. */
static inline void uet_end_obey(struct node_adapter *adapter, uint16_t was, ps_t now)
{
    if (adapter->credit->dry != was)
        uet_hold(adapter->endpoint, credit_port_prios(adapter->credit, adapter->credit->dry), now);
}

UET_CALL void uet_end_rx(struct node_adapter *adapter, pkt_t id, ps_t now, struct node_io *io)
{
    if (__builtin_expect(adapter->credit != NULL, 0)) {
        const struct pkt *pkt = &io->pool->hot[id];
        credit_port_rx(adapter->credit, pkt->frame_bytes, pkt->tos, now, &io->endpoint.credit);
    }
    uet_rx(adapter->endpoint, id, now, io->pool);
    uet_end_answer(adapter, io);
}

UET_CALL pkt_t uet_end_tx(struct node_adapter *adapter, ps_t now, struct node_io *io)
{
    pkt_t id = uet_tx(adapter->endpoint, now, io->pool);

    if (__builtin_expect(adapter->credit != NULL, 0) && id != PKT_NONE) {
        uint16_t was = adapter->credit->dry;
        credit_port_tx(adapter->credit, io->pool->hot[id].frame_bytes, io->pool->hot[id].tos, now);
        uet_end_obey(adapter, was, now);
    }
    io->endpoint.deadline = uet_end_deadline(adapter);
    return id;
}

UET_CALL bool uet_end_kicked(struct node_io *io)
{
    bool kick = io->endpoint.kick;

    io->endpoint.kick = false;
    return kick;
}

UET_CALL ps_t uet_end_deadline_of(const struct node_io *io)
{
    return io->endpoint.deadline;
}

UET_CALL bool uet_end_answered(const struct node_io *io)
{
    return io->endpoint.completed | (io->endpoint.credit.count != 0);
}

static inline bool uet_end_completed(struct node_io *io)
{
    bool completed = io->endpoint.completed;

    io->endpoint.completed = false;
    return completed;
}

static inline bool uet_end_wants_word(struct node_io *io, uint32_t *ret) /* it never pauses its switch */
{
    return credit_words_take(&io->endpoint.credit, ret);
}

static inline void uet_end_post(struct node_adapter *adapter, const struct node_connection *connection,
                                const struct app_post *post, ps_t now, struct node_io *io)
{
    CHECK(uet_post(adapter->endpoint, connection->from.handle, post->bytes, post->tag, post->imm, now) == 0);
    uet_end_answer(adapter, io);
}

static inline void uet_end_tick(struct node_adapter *adapter, ps_t now, struct node_io *io)
{
    if (adapter->credit) credit_port_tick(adapter->credit, now, &io->endpoint.credit);
    uet_tick(adapter->endpoint, now, io->pool);
    uet_end_answer(adapter, io);
}

static inline void uet_end_gate(struct node_adapter *adapter, uint32_t word, ps_t now, struct node_io *io)
{
    if (word & CREDIT_WORD && adapter->credit) {
        uint16_t was = adapter->credit->dry;
        credit_port_word(adapter->credit, word, now);
        uet_end_obey(adapter, was, now);
    } else if (!(word & CREDIT_WORD)) {
        uet_pause(adapter->endpoint, control_enable(word), control_quanta(word), now);
    }
    uet_end_answer(adapter, io);
}

static inline void uet_end_link(struct node_adapter *adapter, bool up, ps_t now, struct node_io *io)
{
    uet_link(adapter->endpoint, now);
    if (adapter->credit) {
        credit_port_link(adapter->credit, up, now, &io->endpoint.credit);
        uet_end_obey(adapter, 0, now);
    }
    uet_end_answer(adapter, io);
}

static inline void uet_end_receive_rate(struct node_adapter *adapter, uint64_t bps, ps_t now, struct node_io *io)
{
    if (adapter->credit) /* what slows the host down holds back credits, not packets */
        credit_port_rate(adapter->credit, bps, now, &io->endpoint.credit);
    else
        uet_receive_rate(adapter->endpoint, bps, now);
    uet_end_answer(adapter, io);
}

static inline bool uet_end_waits(const struct node_adapter *adapter)
{
    return uet_completed(adapter->endpoint);
}

static inline bool uet_end_completion(struct node_adapter *adapter, struct endpoint_completion *ret)
{
    struct uet_completion done;

    if (!uet_completion(adapter->endpoint, &done)) return false;
    *ret = (struct endpoint_completion){
        .connection = done.owner, .word = done.word, .receive = done.receive, .good = done.good, .retries = !done.good};
    return true;
}

static inline void uet_end_take(struct node_adapter *adapter, const struct node_connection *connection, uint32_t number,
                                ps_t now, struct node_io *io) /* there is always room */
{
    (void)adapter;
    (void)connection;
    (void)number;
    (void)now;
    (void)io;
}

static inline void uet_end_drained(struct node_adapter *adapter)
{
    (void)adapter;
}

static inline uint64_t uet_end_acked_bytes(const struct node_end *from)
{
    return uet_acked_bytes(from->handle);
}

static inline void uet_end_observe(struct node_adapter *adapter, ps_t now, struct node_view *ret)
{
    uet_settle(adapter->endpoint, now);
    *ret = (struct node_view){.paused = uet_paused(adapter->endpoint),
                              .paused_ps = uet_counters(adapter->endpoint)->paused_ps};
}

static inline struct endpoint_counters uet_end_counters(const struct node_adapter *adapter)
{
    const struct uet_counters *c = uet_counters(adapter->endpoint);

    return (struct endpoint_counters){
        .tx_packets = c->tx_packets,
        .tx_bytes = c->tx_bytes,
        .rx_packets = c->rx_packets,
        .rx_bytes = c->rx_bytes,
        .tx_data_packets = c->tx_data_packets,
        .tx_payload_bytes = c->tx_payload_bytes,
        .rx_payload_bytes = c->rx_payload_bytes,
        .retransmitted_packets = c->tx_again_packets,
        .retransmitted_bytes = c->tx_again_bytes,
        .timeouts = c->timeouts,
        .duplicates = c->rx_duplicates,
        .out_of_order = c->rx_out_of_order,
        .acks = c->tx_acks + c->tx_nacks,
        .nacks = c->rx_nacks,
        .marked = c->rx_marked,
        .trimmed = c->rx_trimmed,
        .held_ps = c->paused_ps,
        .drops = c->drop_no_end + c->drop_wrong_kind + c->drop_stray + c->drop_window + c->drop_order +
                 c->drop_receiver + c->drop_no_packet,
        .errors = c->messages_failed,
    };
}

/* The calls of a host with this endpoint that need no speed (host_uet.c). */
void uet_host_control(void *node, uint32_t port, uint32_t word, ps_t now, struct node_io *io);
void uet_host_tick(void *node, ps_t now, struct node_io *io);
void uet_host_link(void *node, uint32_t port, bool up, ps_t now, struct node_io *io);
void uet_host_observe(void *node, uint32_t port, ps_t now, struct node_view *ret);
void uet_host_answers(struct node_host *self, uint32_t port, ps_t now, struct node_io *io);
void uet_host_receive_rate(struct node_host *self, uint32_t port, uint64_t bps, ps_t now, struct node_io *io);

static const struct endpoint_calls uet_end_calls = {
    .post = uet_end_post,
    .rx = uet_end_rx,
    .tx = uet_end_tx,
    .tick = uet_end_tick,
    .gate = uet_end_gate,
    .link = uet_end_link,
    .receive_rate = uet_end_receive_rate,
    .deadline = uet_end_deadline,
    .waits = uet_end_waits,
    .completion = uet_end_completion,
    .take = uet_end_take,
    .drained = uet_end_drained,
    .acked_bytes = uet_end_acked_bytes,
    .observe = uet_end_observe,
    .kicked = uet_end_kicked,
    .completed = uet_end_completed,
    .wants_word = uet_end_wants_word,
    .answered = uet_end_answered,
    .deadline_of = uet_end_deadline_of,
    .host_answers = uet_host_answers,
};

HOST_CALL uint32_t uet_host_rx(void *node, uint32_t port, pkt_t id, const struct node_turn *turn, ps_t now,
                               struct node_io *io)
{
    return host_rx(&uet_end_calls, node, port, id, turn, now, io);
}

HOST_CALL pkt_t uet_host_tx(void *node, uint32_t port, ps_t now, struct node_io *io)
{
    return host_tx(&uet_end_calls, node, port, now, io);
}

#endif
