/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RoCE and TCP on one port, as one endpoint: both machines whole, behind the calls of endpoint.h.
 *
 * What arrives goes to the machine of its kind.  The port is shared by bytes while both have something to send: whoever
 * has sent less is asked first.  Pauses, the state of the line and a slow receiver are told to both.  A connection
 * belongs to one of them (node_end.kind).
 */
#ifndef ROCELAB_NODE_MIXED_H
#define ROCELAB_NODE_MIXED_H

#include "node/host_calls.h"
#include "node/roce.h"
#include "node/tcp.h"

#define MIXED_CALL static inline __attribute__((always_inline))
#define MIXED_AHEAD_MOST 65536 /* bytes of a machine that count against it later */

enum mixed_kind { MIXED_ROCE, MIXED_TCP, MIXED_KINDS };

struct mixed {
    struct node_adapter *part[MIXED_KINDS];
    int64_t ahead; /* bytes that RoCE has sent more than TCP, while both wanted to */
};

static inline ps_t mixed_end_deadline(const struct node_adapter *adapter)
{
    const struct mixed *mixed = adapter->endpoint;
    ps_t roce = roce_deadline(mixed->part[MIXED_ROCE]), tcp = tcp_end_deadline(mixed->part[MIXED_TCP]);

    return roce < tcp ? roce : tcp;
}

/* What calls of either answered lies where TCP's does; completions and words stay where they are. */
MIXED_CALL void mixed_end_answer(const struct node_adapter *adapter, struct node_io *io)
{
    io->endpoint.kick |= roce_kicked(io);
    io->endpoint.deadline = mixed_end_deadline(adapter);
}

MIXED_CALL void mixed_end_rx(struct node_adapter *adapter, pkt_t id, ps_t now, struct node_io *io)
{
    struct mixed *mixed = adapter->endpoint;

    if (io->pool->hot[id].kind == PKT_TCP)
        tcp_end_rx(mixed->part[MIXED_TCP], id, now, io);
    else
        roce_rx(mixed->part[MIXED_ROCE], id, now, io);
    mixed_end_answer(adapter, io);
}

static inline pkt_t mixed_end_tx_of(struct mixed *mixed, enum mixed_kind kind, ps_t now, struct node_io *io)
{
    return kind == MIXED_TCP ? tcp_end_tx(mixed->part[kind], now, io) : roce_tx(mixed->part[kind], now, io);
}

MIXED_CALL pkt_t mixed_end_tx(struct node_adapter *adapter, ps_t now, struct node_io *io)
{
    struct mixed *mixed = adapter->endpoint;
    enum mixed_kind kind = mixed->ahead > 0 ? MIXED_TCP : MIXED_ROCE;
    pkt_t id = mixed_end_tx_of(mixed, kind, now, io);

    if (id == PKT_NONE) {
        kind = kind == MIXED_TCP ? MIXED_ROCE : MIXED_TCP;
        id = mixed_end_tx_of(mixed, kind, now, io);
        mixed->ahead = 0; /* the other wants nothing: nobody owes anybody */
    }
    mixed_end_answer(adapter, io);
    if (id == PKT_NONE) return id;
    if (kind == MIXED_ROCE) tcp_line_taken(mixed->part[MIXED_TCP]->endpoint, now);
    int64_t bytes = io->pool->hot[id].frame_bytes, ahead = mixed->ahead + (kind == MIXED_ROCE ? bytes : -bytes);
    mixed->ahead = ahead > MIXED_AHEAD_MOST ? MIXED_AHEAD_MOST : ahead < -MIXED_AHEAD_MOST ? -MIXED_AHEAD_MOST : ahead;
    return id;
}

MIXED_CALL bool mixed_end_kicked(struct node_io *io)
{
    bool roce = roce_kicked(io), tcp = tcp_end_kicked(io);

    return roce || tcp;
}

MIXED_CALL ps_t mixed_end_deadline_of(const struct node_io *io)
{
    return io->endpoint.deadline;
}

MIXED_CALL bool mixed_end_answered(const struct node_io *io)
{
    return roce_answered(io) || tcp_end_answered(io);
}

static inline bool mixed_end_completed(struct node_io *io)
{
    bool roce = roce_completed(io), tcp = tcp_end_completed(io);

    return roce || tcp;
}

static inline bool mixed_end_wants_word(struct node_io *io, uint32_t *ret)
{
    return roce_wants_word(io, ret);
}

static inline void mixed_end_post(struct node_adapter *adapter, const struct node_connection *connection,
                                  const struct app_post *post, ps_t now, struct node_io *io)
{
    struct mixed *mixed = adapter->endpoint;

    if (connection->from.kind == MIXED_TCP)
        tcp_end_post(mixed->part[MIXED_TCP], connection, post, now, io);
    else
        roce_post(mixed->part[MIXED_ROCE], connection, post, now, io);
}

static inline void mixed_end_tick(struct node_adapter *adapter, ps_t now, struct node_io *io)
{
    struct mixed *mixed = adapter->endpoint;

    if (roce_deadline(mixed->part[MIXED_ROCE]) <= now) roce_tick(mixed->part[MIXED_ROCE], now, io);
    if (tcp_end_deadline(mixed->part[MIXED_TCP]) <= now) tcp_end_tick(mixed->part[MIXED_TCP], now, io);
    mixed_end_answer(adapter, io);
}

static inline void mixed_end_gate(struct node_adapter *adapter, uint32_t word, ps_t now, struct node_io *io)
{
    struct mixed *mixed = adapter->endpoint;

    tcp_end_gate(mixed->part[MIXED_TCP], word, now, io);
    roce_gate(mixed->part[MIXED_ROCE], word, now, io);
    mixed_end_answer(adapter, io);
}

static inline void mixed_end_link(struct node_adapter *adapter, bool up, ps_t now, struct node_io *io)
{
    struct mixed *mixed = adapter->endpoint;

    tcp_end_link(mixed->part[MIXED_TCP], up, now, io);
    roce_link(mixed->part[MIXED_ROCE], up, now, io);
    mixed_end_answer(adapter, io);
}

static inline void mixed_end_receive_rate(struct node_adapter *adapter, uint64_t bps, ps_t now, struct node_io *io)
{
    struct mixed *mixed = adapter->endpoint;

    tcp_end_receive_rate(mixed->part[MIXED_TCP], bps, now, io);
    roce_receive_rate(mixed->part[MIXED_ROCE], bps, now, io);
    mixed_end_answer(adapter, io);
}

static inline bool mixed_end_waits(const struct node_adapter *adapter)
{
    const struct mixed *mixed = adapter->endpoint;

    return roce_waits(mixed->part[MIXED_ROCE]) || tcp_end_waits(mixed->part[MIXED_TCP]);
}

static inline bool mixed_end_completion(struct node_adapter *adapter, struct endpoint_completion *ret)
{
    struct mixed *mixed = adapter->endpoint;

    return roce_completion(mixed->part[MIXED_ROCE], ret) || tcp_end_completion(mixed->part[MIXED_TCP], ret);
}

static inline void mixed_end_take(struct node_adapter *adapter, const struct node_connection *connection,
                                  uint32_t number, ps_t now, struct node_io *io)
{
    struct mixed *mixed = adapter->endpoint;

    if (connection->to.kind == MIXED_TCP)
        tcp_end_take(mixed->part[MIXED_TCP], connection, number, now, io);
    else
        roce_take(mixed->part[MIXED_ROCE], connection, number, now, io);
}

static inline void mixed_end_drained(struct node_adapter *adapter)
{
    struct mixed *mixed = adapter->endpoint;

    roce_drained(mixed->part[MIXED_ROCE]);
    tcp_end_drained(mixed->part[MIXED_TCP]);
}

static inline uint64_t mixed_end_acked_bytes(const struct node_end *from)
{
    return from->kind == MIXED_TCP ? tcp_end_acked_bytes(from) : roce_acked_bytes(from);
}

/* Both are paused alike. */
static inline void mixed_end_observe(struct node_adapter *adapter, ps_t now, struct node_view *ret)
{
    roce_observe(((struct mixed *)adapter->endpoint)->part[MIXED_ROCE], now, ret);
}

/* The calls of a host with this endpoint that need no speed (host_mixed.c). */
void mixed_host_control(void *node, uint32_t port, uint32_t word, ps_t now, struct node_io *io);
void mixed_host_tick(void *node, ps_t now, struct node_io *io);
void mixed_host_link(void *node, uint32_t port, bool up, ps_t now, struct node_io *io);
void mixed_host_observe(void *node, uint32_t port, ps_t now, struct node_view *ret);
void mixed_host_answers(struct node_host *self, uint32_t port, ps_t now, struct node_io *io);
void mixed_host_receive_rate(struct node_host *self, uint32_t port, uint64_t bps, ps_t now, struct node_io *io);

static const struct endpoint_calls mixed_end_calls = {
    .post = mixed_end_post,
    .rx = mixed_end_rx,
    .tx = mixed_end_tx,
    .tick = mixed_end_tick,
    .gate = mixed_end_gate,
    .link = mixed_end_link,
    .receive_rate = mixed_end_receive_rate,
    .deadline = mixed_end_deadline,
    .waits = mixed_end_waits,
    .completion = mixed_end_completion,
    .take = mixed_end_take,
    .drained = mixed_end_drained,
    .acked_bytes = mixed_end_acked_bytes,
    .observe = mixed_end_observe,
    .kicked = mixed_end_kicked,
    .completed = mixed_end_completed,
    .wants_word = mixed_end_wants_word,
    .answered = mixed_end_answered,
    .deadline_of = mixed_end_deadline_of,
    .host_answers = mixed_host_answers,
};

HOST_CALL uint32_t mixed_host_rx(void *node, uint32_t port, pkt_t id, const struct node_turn *turn, ps_t now,
                                 struct node_io *io)
{
    return host_rx(&mixed_end_calls, node, port, id, turn, now, io);
}

HOST_CALL pkt_t mixed_host_tx(void *node, uint32_t port, ps_t now, struct node_io *io)
{
    return host_tx(&mixed_end_calls, node, port, now, io);
}

#endif
