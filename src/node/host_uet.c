/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host with Ultra Ethernet as a node: host_calls.h with the calls of uet.h.
 */
#include "node/host.h"

#include "node/uet.h"

__attribute__((noinline)) void uet_host_answers(struct node_host *self, uint32_t port, ps_t now, struct node_io *io)
{
    host_answers(&uet_end_calls, self, port, now, io);
}

void uet_host_control(void *node, uint32_t port, uint32_t word, ps_t now, struct node_io *io)
{
    host_control(&uet_end_calls, node, port, word, now, io);
}

void uet_host_tick(void *node, ps_t now, struct node_io *io)
{
    host_tick(&uet_end_calls, node, now, io);
}

void uet_host_link(void *node, uint32_t port, bool up, ps_t now, struct node_io *io)
{
    host_link(&uet_end_calls, node, port, up, now, io);
}

void uet_host_receive_rate(struct node_host *self, uint32_t port, uint64_t bps, ps_t now, struct node_io *io)
{
    host_receive_rate(&uet_end_calls, self, port, bps, now, io);
}

void uet_host_observe(void *node, uint32_t port, ps_t now, struct node_view *ret)
{
    host_observe(&uet_end_calls, node, port, now, ret);
}
