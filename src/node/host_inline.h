/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host with RoCE as a node, inlined: rx and tx.  node_host_ops is the same behind pointers.
 */
#ifndef ROCELAB_NODE_HOST_INLINE_H
#define ROCELAB_NODE_HOST_INLINE_H

#include "node/host_calls.h"
#include "node/roce.h"

static const struct endpoint_calls roce_calls = {
    .post = roce_post,
    .rx = roce_rx,
    .tx = roce_tx,
    .tick = roce_tick,
    .gate = roce_gate,
    .link = roce_link,
    .receive_rate = roce_receive_rate,
    .deadline = roce_deadline,
    .waits = roce_waits,
    .completion = roce_completion,
    .take = roce_take,
    .drained = roce_drained,
    .acked_bytes = roce_acked_bytes,
    .observe = roce_observe,
    .kicked = roce_kicked,
    .completed = roce_completed,
    .wants_word = roce_wants_word,
    .answered = roce_answered,
    .deadline_of = roce_deadline_of,
    .host_answers = node_host_answers,
};

HOST_CALL uint32_t node_host_rx(void *node, uint32_t port, pkt_t id, const struct node_turn *turn, ps_t now,
                                struct node_io *io)
{
    return host_rx(&roce_calls, node, port, id, turn, now, io);
}

HOST_CALL pkt_t node_host_tx(void *node, uint32_t port, ps_t now, struct node_io *io)
{
    return host_tx(&roce_calls, node, port, now, io);
}

#endif
