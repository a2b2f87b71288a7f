/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host with InfiniBand as a node: host_calls.h with the calls of ib.h.
 */
#include "node/host_ib.h"

__attribute__((noinline)) void node_ib_answers(struct node_host *self, uint32_t port, ps_t now, struct node_io *io)
{
    host_answers(&ib_calls, self, port, now, io);
}

void node_ib_control(void *node, uint32_t port, uint32_t word, ps_t now, struct node_io *io)
{
    host_control(&ib_calls, node, port, word, now, io);
}

void node_ib_tick(void *node, ps_t now, struct node_io *io)
{
    host_tick(&ib_calls, node, now, io);
}

void node_ib_link(void *node, uint32_t port, bool up, ps_t now, struct node_io *io)
{
    host_link(&ib_calls, node, port, up, now, io);
}

void node_ib_receive_rate(struct node_host *self, uint32_t port, uint64_t bps, ps_t now, struct node_io *io)
{
    host_receive_rate(&ib_calls, self, port, bps, now, io);
}

void node_ib_observe(void *node, uint32_t port, ps_t now, struct node_view *ret)
{
    host_observe(&ib_calls, node, port, now, ret);
}
