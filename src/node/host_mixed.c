/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host with RoCE and TCP as a node: host_calls.h with the calls of mixed.h.
 */
#include "node/host.h"

#include "node/mixed.h"

__attribute__((noinline)) void mixed_host_answers(struct node_host *self, uint32_t port, ps_t now, struct node_io *io)
{
    host_answers(&mixed_end_calls, self, port, now, io);
}

void mixed_host_control(void *node, uint32_t port, uint32_t word, ps_t now, struct node_io *io)
{
    host_control(&mixed_end_calls, node, port, word, now, io);
}

void mixed_host_tick(void *node, ps_t now, struct node_io *io)
{
    host_tick(&mixed_end_calls, node, now, io);
}

void mixed_host_link(void *node, uint32_t port, bool up, ps_t now, struct node_io *io)
{
    host_link(&mixed_end_calls, node, port, up, now, io);
}

void mixed_host_receive_rate(struct node_host *self, uint32_t port, uint64_t bps, ps_t now, struct node_io *io)
{
    host_receive_rate(&mixed_end_calls, self, port, bps, now, io);
}

void mixed_host_observe(void *node, uint32_t port, ps_t now, struct node_view *ret)
{
    host_observe(&mixed_end_calls, node, port, now, ret);
}
