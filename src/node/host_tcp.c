/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host with TCP as a node: host_calls.h with the calls of tcp.h.
 */
#include "node/host_tcp.h"

__attribute__((noinline)) void node_tcp_answers(struct node_host *self, uint32_t port, ps_t now, struct node_io *io)
{
    host_answers(&tcp_end_calls, self, port, now, io);
}

void node_tcp_control(void *node, uint32_t port, uint32_t word, ps_t now, struct node_io *io)
{
    host_control(&tcp_end_calls, node, port, word, now, io);
}

void node_tcp_tick(void *node, ps_t now, struct node_io *io)
{
    host_tick(&tcp_end_calls, node, now, io);
}

void node_tcp_link(void *node, uint32_t port, bool up, ps_t now, struct node_io *io)
{
    host_link(&tcp_end_calls, node, port, up, now, io);
}

void node_tcp_receive_rate(struct node_host *self, uint32_t port, uint64_t bps, ps_t now, struct node_io *io)
{
    host_receive_rate(&tcp_end_calls, self, port, bps, now, io);
}

void node_tcp_observe(void *node, uint32_t port, ps_t now, struct node_view *ret)
{
    host_observe(&tcp_end_calls, node, port, now, ret);
}
