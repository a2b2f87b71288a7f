/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TCP and iWARP as an endpoint: src/tcp behind the calls of endpoint.h.
 */
#ifndef ROCELAB_NODE_TCP_H
#define ROCELAB_NODE_TCP_H

#include "node/host.h"
#include "tcp/tcp.h"

#define TCP_CALL static inline __attribute__((always_inline))

/* Before a call of the machine, and after it. */
TCP_CALL struct tcp_io tcp_end_before(const struct node_io *io)
{
    return (struct tcp_io){.pool = io->endpoint.pool};
}

TCP_CALL void tcp_end_after(struct node_io *io, const struct tcp_io *own)
{
    io->endpoint.kick |= own->kick;
    io->endpoint.completed |= own->completed;
    io->endpoint.deadline = own->deadline;
}

TCP_CALL void tcp_end_rx(struct node_adapter *adapter, pkt_t id, ps_t now, struct node_io *io)
{
    struct tcp_io own = tcp_end_before(io);

    tcp_rx(adapter->endpoint, id, now, &own);
    tcp_end_after(io, &own);
}

TCP_CALL pkt_t tcp_end_tx(struct node_adapter *adapter, ps_t now, struct node_io *io)
{
    struct tcp_io own = tcp_end_before(io);
    pkt_t id = tcp_tx(adapter->endpoint, now, &own);

    tcp_end_after(io, &own);
    return id;
}

TCP_CALL bool tcp_end_kicked(struct node_io *io)
{
    bool kick = io->endpoint.kick;

    io->endpoint.kick = false;
    return kick;
}

TCP_CALL ps_t tcp_end_deadline_of(const struct node_io *io)
{
    return io->endpoint.deadline;
}

TCP_CALL bool tcp_end_answered(const struct node_io *io)
{
    return io->endpoint.completed;
}

static inline bool tcp_end_completed(struct node_io *io)
{
    bool completed = io->endpoint.completed;

    io->endpoint.completed = false;
    return completed;
}

/* It has nothing to tell the other end of the line. */
static inline bool tcp_end_wants_word(struct node_io *io, uint32_t *ret)
{
    (void)io;
    (void)ret;
    return false;
}

static inline void tcp_end_post(struct node_adapter *adapter, const struct node_connection *connection,
                                const struct app_post *post, ps_t now, struct node_io *io)
{
    struct tcp_io own = tcp_end_before(io);

    tcp_post(adapter->endpoint, connection->from.handle, post->bytes, post->tag, post->imm, now, &own);
    tcp_end_after(io, &own);
}

static inline void tcp_end_tick(struct node_adapter *adapter, ps_t now, struct node_io *io)
{
    struct tcp_io own = tcp_end_before(io);

    tcp_tick(adapter->endpoint, now, &own);
    tcp_end_after(io, &own);
}

static inline void tcp_end_gate(struct node_adapter *adapter, uint32_t word, ps_t now, struct node_io *io)
{
    struct tcp_io own = tcp_end_before(io);

    tcp_pause(adapter->endpoint, control_enable(word), control_quanta(word), now, &own);
    tcp_end_after(io, &own);
}

static inline void tcp_end_link(struct node_adapter *adapter, bool up, ps_t now, struct node_io *io)
{
    struct tcp_io own = tcp_end_before(io);

    tcp_link(adapter->endpoint, up, now, &own);
    tcp_end_after(io, &own);
}

static inline void tcp_end_receive_rate(struct node_adapter *adapter, uint64_t bps, ps_t now, struct node_io *io)
{
    struct tcp_io own = tcp_end_before(io);

    tcp_receive_rate(adapter->endpoint, bps, now, &own);
    tcp_end_after(io, &own);
}

static inline ps_t tcp_end_deadline(const struct node_adapter *adapter)
{
    return tcp_deadline(adapter->endpoint);
}

static inline bool tcp_end_waits(const struct node_adapter *adapter)
{
    return tcp_waits(adapter->endpoint);
}

static inline bool tcp_end_completion(struct node_adapter *adapter, struct endpoint_completion *ret)
{
    struct tcp_completion done;

    if (!tcp_completion(adapter->endpoint, &done)) return false;
    *ret = (struct endpoint_completion){
        .connection = done.app, .word = done.word, .receive = done.receive, .good = done.good, .retries = !done.good};
    return true;
}

/* Receives are not posted. */
static inline void tcp_end_take(struct node_adapter *adapter, const struct node_connection *connection, uint32_t number,
                                ps_t now, struct node_io *io)
{
    (void)adapter;
    (void)connection;
    (void)number;
    (void)now;
    (void)io;
}

static inline void tcp_end_drained(struct node_adapter *adapter)
{
    (void)adapter;
}

static inline uint64_t tcp_end_acked_bytes(const struct node_end *from)
{
    return tcp_conn_acked_bytes(from->handle);
}

static inline void tcp_end_observe(struct node_adapter *adapter, ps_t now, struct node_view *ret)
{
    tcp_settle(adapter->endpoint, now);
    *ret = (struct node_view){.paused = tcp_paused(adapter->endpoint),
                              .paused_ps = tcp_counters(adapter->endpoint)->paused_ps};
}

static inline struct endpoint_counters tcp_end_counters(const struct node_adapter *adapter)
{
    const struct tcp_counters *c = tcp_counters(adapter->endpoint);

    return (struct endpoint_counters){.tx_packets = c->out_segs + c->retrans_segs,
                                      .tx_bytes = c->out_bytes,
                                      .rx_packets = c->in_segs,
                                      .rx_bytes = c->in_bytes,
                                      .tx_data_packets = c->out_data_segs,
                                      .tx_payload_bytes = c->out_payload,
                                      .rx_payload_bytes = c->in_payload,
                                      .retransmitted_packets = c->retrans_segs,
                                      .retransmitted_bytes = c->retrans_payload,
                                      .timeouts = c->timeouts,
                                      .duplicates = c->in_duplicate,
                                      .out_of_order = c->ooo_queued,
                                      .acks = c->out_acks,
                                      .marked = c->in_ce,
                                      .held_ps = c->paused_ps,
                                      .drops = c->ooo_dropped + c->strays,
                                      .errors = c->errors};
}

#endif
