/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RoCE as an endpoint: src/nic behind the calls of endpoint.h.
 *
 * A message is a WRITE, with immediate data where the receiver is told of it.  Receives are posted again as they are
 * used: the peer never finds none.
 */
#ifndef ROCELAB_NODE_ROCE_H
#define ROCELAB_NODE_ROCE_H

#include "base/check.h"
#include "node/host.h"

#define ROCE_CALL static inline __attribute__((always_inline))

ROCE_CALL void roce_rx(struct node_adapter *adapter, pkt_t id, ps_t now, struct node_io *io)
{
    nic_rx(adapter->nic, id, now, &io->nic);
    while (__builtin_expect(io->nic.kept != PKT_NONE, 0)) /* what waited for this one, each in its turn */
        nic_rx_kept(adapter->nic, io->nic.pool->hot[io->nic.kept].dest_qp, now, &io->nic);
}

ROCE_CALL pkt_t roce_tx(struct node_adapter *adapter, ps_t now, struct node_io *io)
{
    return nic_tx(adapter->nic, now, &io->nic);
}

ROCE_CALL bool roce_kicked(struct node_io *io)
{
    bool kick = io->nic.kick;

    io->nic.kick = false;
    return kick;
}

ROCE_CALL ps_t roce_deadline_of(const struct node_io *io)
{
    return io->nic.deadline;
}

/* Completions, or a pause to send: rare. */
ROCE_CALL bool roce_answered(const struct node_io *io)
{
    return io->nic.completed | (io->nic.pauses != 0);
}

static inline bool roce_completed(struct node_io *io)
{
    bool completed = io->nic.completed;

    io->nic.completed = false;
    return completed;
}

static inline bool roce_wants_word(struct node_io *io, uint32_t *ret)
{
    bool wants = io->nic.pauses != 0;

    if (wants) *ret = control_pause(io->nic.pause_enable, io->nic.pause_quanta);
    io->nic.pauses = 0;
    return wants;
}

static inline void roce_post(struct node_adapter *adapter, const struct node_connection *connection,
                             const struct app_post *post, ps_t now, struct node_io *io)
{
    struct nic_wr wr = {.wr_id = (uint64_t)post->connection << 32 | post->tag,
                        .length = post->bytes,
                        .imm = post->imm,
                        .verb = connection->notifies ? NIC_WRITE_IMM : NIC_WRITE,
                        .flags = NIC_SIGNALED};

    CHECK(nic_post_send(adapter->nic, connection->from.handle, &wr, now, &io->nic) == 0);
}

static inline void roce_tick(struct node_adapter *adapter, ps_t now, struct node_io *io)
{
    nic_tick(adapter->nic, now, &io->nic);
}

static inline void roce_gate(struct node_adapter *adapter, uint32_t word, ps_t now, struct node_io *io)
{
    uint16_t quanta[NIC_PRIOS];

    for (int i = 0; i < NIC_PRIOS; i++)
        quanta[i] = control_quanta(word);
    nic_pause(adapter->nic, control_enable(word), quanta, now, &io->nic);
}

static inline void roce_link(struct node_adapter *adapter, bool up, ps_t now, struct node_io *io)
{
    nic_link_changed(adapter->nic, up, now, &io->nic);
}

static inline void roce_receive_rate(struct node_adapter *adapter, uint64_t bps, ps_t now, struct node_io *io)
{
    nic_receive_rate(adapter->nic, bps, now, &io->nic);
}

static inline ps_t roce_deadline(const struct node_adapter *adapter)
{
    return nic_deadline(adapter->nic);
}

static inline bool roce_waits(const struct node_adapter *adapter)
{
    return adapter->cq.head != adapter->cq.tail;
}

static inline bool roce_completion(struct node_adapter *adapter, struct endpoint_completion *ret)
{
    const struct nic_cqe *cqe = nic_cq_poll(&adapter->cq);

    if (cqe == NULL) return false;
    *ret = (struct endpoint_completion){.connection = (uint32_t)(cqe->wr_id >> 32),
                                        .word = cqe->receive ? cqe->imm : (uint32_t)cqe->wr_id,
                                        .receive = cqe->receive,
                                        .good = cqe->status == NIC_SUCCESS,
                                        .retries = cqe->status == NIC_RETRY_EXC_ERR};
    return true;
}

static inline void roce_take(struct node_adapter *adapter, const struct node_connection *connection, uint32_t number,
                             ps_t now, struct node_io *io)
{
    struct nic_recv recv = {.wr_id = (uint64_t)number << 32};

    CHECK(nic_post_recv(adapter->nic, connection->to.handle, &recv, now, &io->nic) == 0);
}

static inline void roce_drained(struct node_adapter *adapter)
{
    CHECK(!adapter->cq.overrun);
    adapter->cq.head = adapter->cq.tail = 0; /* empty: its first line serves again, and stays near */
}

static inline uint64_t roce_acked_bytes(const struct node_end *from)
{
    return nic_qp_acked_bytes(from->handle);
}

static inline struct endpoint_pace roce_pace(const struct node_end *from)
{
    return (struct endpoint_pace){.rate_bps = nic_qp_rate(from->handle),
                                  .window_bytes = nic_qp_window(from->handle),
                                  .alpha_ppm = nic_qp_alpha_ppm(from->handle),
                                  .resent_packets = nic_qp_resent_packets(from->handle)};
}

static inline struct endpoint_counters roce_counters(const struct node_adapter *adapter)
{
    const struct nic_counters *from = nic_counters(adapter->nic);
    struct endpoint_counters counters = {.tx_packets = from->tx_packets,
                                         .tx_bytes = from->tx_bytes,
                                         .rx_packets = from->rx_packets,
                                         .rx_bytes = from->rx_bytes,
                                         .tx_data_packets = from->tx_data_packets,
                                         .tx_payload_bytes = from->tx_payload_bytes,
                                         .rx_payload_bytes = from->rx_payload_bytes,
                                         .retransmitted_packets = from->retransmitted_packets,
                                         .retransmitted_bytes = from->retransmitted_bytes,
                                         .timeouts = from->local_ack_timeout_err,
                                         .duplicates = from->duplicate_request,
                                         .out_of_order = from->out_of_sequence,
                                         .acks = from->tx_ack_packets,
                                         .nacks = from->packet_seq_err,
                                         .marked = from->np_ecn_marked_roce_packets,
                                         .errors = from->completion_errors};

    for (int p = 0; p < NIC_PRIOS; p++)
        counters.held_ps += from->prio[p].rx_pause_ps;
    for (int d = 0; d < NIC_DROPS; d++)
        counters.drops += from->drop[d];
    return counters;
}

static inline uint32_t roce_queued(const struct node_end *from)
{
    return nic_qp_queued(from->handle);
}

static inline void roce_observe(struct node_adapter *adapter, ps_t now, struct node_view *ret)
{
    nic_settle(adapter->nic, now);
    *ret = (struct node_view){.paused = nic_paused(adapter->nic)};
    for (int p = 0; p < NIC_PRIOS; p++)
        ret->paused_ps += nic_counters(adapter->nic)->prio[p].rx_pause_ps;
}

#endif
