/* SPDX-License-Identifier: Apache-2.0 */
/*
 * InfiniBand as an endpoint: RoCE's adapter (roce.h) behind a line with credits.
 *
 * Only the calls that meet the line differ: what arrives and leaves is counted in blocks, words are credits, and the
 * host that takes its time gives them back later.
 */
#ifndef ROCELAB_NODE_IB_H
#define ROCELAB_NODE_IB_H

#include "node/roce.h"

ROCE_CALL void ib_rx(struct node_adapter *adapter, pkt_t id, ps_t now, struct node_io *io)
{
    nic_credit_rx(adapter->nic, &io->pool->hot[id], now, &io->nic);
    roce_rx(adapter, id, now, io);
}

ROCE_CALL pkt_t ib_tx(struct node_adapter *adapter, ps_t now, struct node_io *io)
{
    pkt_t id = roce_tx(adapter, now, io);

    if (id != PKT_NONE) nic_credit_tx(adapter->nic, &io->pool->hot[id], now, &io->nic);
    return id;
}

/* Completions, or words to send. */
ROCE_CALL bool ib_answered(const struct node_io *io)
{
    return io->nic.completed | (io->nic.credit.count != 0);
}

static inline bool ib_wants_word(struct node_io *io, uint32_t *ret)
{
    CHECK(io->nic.pauses == 0);
    return credit_words_take(&io->nic.credit, ret);
}

static inline void ib_tick(struct node_adapter *adapter, ps_t now, struct node_io *io)
{
    nic_credit_tick(adapter->nic, now, &io->nic);
    roce_tick(adapter, now, io);
}

static inline void ib_gate(struct node_adapter *adapter, uint32_t word, ps_t now, struct node_io *io)
{
    if (word & CREDIT_WORD) nic_credit(adapter->nic, word, now, &io->nic);
}

static inline void ib_link(struct node_adapter *adapter, bool up, ps_t now, struct node_io *io)
{
    nic_credit_link(adapter->nic, up, now, &io->nic);
}

static inline void ib_receive_rate(struct node_adapter *adapter, uint64_t bps, ps_t now, struct node_io *io)
{
    nic_credit_rate(adapter->nic, bps, now, &io->nic);
}

#endif
