/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host with TCP as a node: the calls of host.h, by other names; rx and tx inlined for drivers that want them so.
 */
#ifndef ROCELAB_NODE_HOST_TCP_H
#define ROCELAB_NODE_HOST_TCP_H

#include "node/host_calls.h"
#include "node/tcp.h"

void node_tcp_receive_rate(struct node_host *self, uint32_t port, uint64_t bps, ps_t now, struct node_io *io);
void node_tcp_control(void *node, uint32_t port, uint32_t word, ps_t now, struct node_io *io);
void node_tcp_tick(void *node, ps_t now, struct node_io *io);
void node_tcp_link(void *node, uint32_t port, bool up, ps_t now, struct node_io *io);
void node_tcp_observe(void *node, uint32_t port, ps_t now, struct node_view *ret);
void node_tcp_answers(struct node_host *self, uint32_t port, ps_t now, struct node_io *io);

static const struct endpoint_calls tcp_end_calls = {
    .post = tcp_end_post,
    .rx = tcp_end_rx,
    .tx = tcp_end_tx,
    .tick = tcp_end_tick,
    .gate = tcp_end_gate,
    .link = tcp_end_link,
    .receive_rate = tcp_end_receive_rate,
    .deadline = tcp_end_deadline,
    .waits = tcp_end_waits,
    .completion = tcp_end_completion,
    .take = tcp_end_take,
    .drained = tcp_end_drained,
    .acked_bytes = tcp_end_acked_bytes,
    .observe = tcp_end_observe,
    .kicked = tcp_end_kicked,
    .completed = tcp_end_completed,
    .wants_word = tcp_end_wants_word,
    .answered = tcp_end_answered,
    .deadline_of = tcp_end_deadline_of,
    .host_answers = node_tcp_answers,
};

HOST_CALL uint32_t node_tcp_rx(void *node, uint32_t port, pkt_t id, const struct node_turn *turn, ps_t now,
                               struct node_io *io)
{
    return host_rx(&tcp_end_calls, node, port, id, turn, now, io);
}

HOST_CALL pkt_t node_tcp_tx(void *node, uint32_t port, ps_t now, struct node_io *io)
{
    return host_tx(&tcp_end_calls, node, port, now, io);
}

#endif
