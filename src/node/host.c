/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host with RoCE as a node: host_calls.h with the calls of roce.h.
 */
#include "node/host.h"

#include "node/host_inline.h"

void node_host_deadline(struct node_host *self, struct node_io *io)
{
    host_deadline(self, io);
}

void node_host_wake(struct node_host *self)
{
    self->app_at = self->app->next(self->app_state, self->number);
    self->deadline = host_earliest(self);
}

__attribute__((noinline)) void node_host_answers(struct node_host *self, uint32_t port, ps_t now, struct node_io *io)
{
    host_answers(&roce_calls, self, port, now, io);
}

void node_host_control(void *node, uint32_t port, uint32_t word, ps_t now, struct node_io *io)
{
    host_control(&roce_calls, node, port, word, now, io);
}

void node_host_tick(void *node, ps_t now, struct node_io *io)
{
    host_tick(&roce_calls, node, now, io);
}

void node_host_link(void *node, uint32_t port, bool up, ps_t now, struct node_io *io)
{
    host_link(&roce_calls, node, port, up, now, io);
}

void node_host_receive_rate(struct node_host *self, uint32_t port, uint64_t bps, ps_t now, struct node_io *io)
{
    host_receive_rate(&roce_calls, self, port, bps, now, io);
}

void node_host_observe(void *node, uint32_t port, ps_t now, struct node_view *ret)
{
    host_observe(&roce_calls, node, port, now, ret);
}

const struct node_ops node_host_ops = {
    .rx = node_host_rx,
    .tx = node_host_tx,
    .more = host_more,
    .control = node_host_control,
    .tick = node_host_tick,
    .link = node_host_link,
    .observe = node_host_observe,
};
