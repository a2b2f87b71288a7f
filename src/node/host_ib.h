/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host with InfiniBand as a node, rx and tx inlined.  host.h has the calls of a host with RoCE, which mean the
 * same.
 */
#ifndef ROCELAB_NODE_HOST_IB_H
#define ROCELAB_NODE_HOST_IB_H

#include "node/host_calls.h"
#include "node/ib.h"

void node_ib_receive_rate(struct node_host *self, uint32_t port, uint64_t bps, ps_t now, struct node_io *io);
void node_ib_control(void *node, uint32_t port, uint32_t word, ps_t now, struct node_io *io);
void node_ib_tick(void *node, ps_t now, struct node_io *io);
void node_ib_link(void *node, uint32_t port, bool up, ps_t now, struct node_io *io);
void node_ib_observe(void *node, uint32_t port, ps_t now, struct node_view *ret);
void node_ib_answers(struct node_host *self, uint32_t port, ps_t now, struct node_io *io);

static const struct endpoint_calls ib_calls = {
    .post = roce_post,
    .rx = ib_rx,
    .tx = ib_tx,
    .tick = ib_tick,
    .gate = ib_gate,
    .link = ib_link,
    .receive_rate = ib_receive_rate,
    .deadline = roce_deadline,
    .waits = roce_waits,
    .completion = roce_completion,
    .take = roce_take,
    .drained = roce_drained,
    .acked_bytes = roce_acked_bytes,
    .observe = roce_observe,
    .kicked = roce_kicked,
    .completed = roce_completed,
    .wants_word = ib_wants_word,
    .answered = ib_answered,
    .deadline_of = roce_deadline_of,
    .host_answers = node_ib_answers,
};

HOST_CALL uint32_t node_ib_rx(void *node, uint32_t port, pkt_t id, const struct node_turn *turn, ps_t now,
                              struct node_io *io)
{
    return host_rx(&ib_calls, node, port, id, turn, now, io);
}

HOST_CALL pkt_t node_ib_tx(void *node, uint32_t port, ps_t now, struct node_io *io)
{
    return host_tx(&ib_calls, node, port, now, io);
}

#endif
