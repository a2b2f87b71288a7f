/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host as a node, inlined: rx and tx.  node_host_ops is the same behind pointers.
 */
#ifndef ROCELAB_NODE_HOST_INLINE_H
#define ROCELAB_NODE_HOST_INLINE_H

#include "node/host.h"

#define NODE_INLINE static inline __attribute__((always_inline))

static inline void node_host_ask(struct node_host *self, uint32_t port, struct node_io *io)
{
    if (self->adapter[port].asked) return;
    self->adapter[port].asked = true;
    node_io_kick(io, port);
}

/* After a call of one adapter, whose kick was seen to. */
NODE_INLINE void node_host_after(struct node_host *self, uint32_t port, ps_t now, struct node_io *io)
{
    struct node_adapter *adapter = &self->adapter[port];

    if (io->nic.deadline != adapter->deadline) {
        adapter->deadline = io->nic.deadline;
        node_host_deadline(self, io);
    }
    if (__builtin_expect(io->nic.completed | (io->nic.pauses != 0), 0)) node_host_answers(self, port, now, io);
}

NODE_INLINE uint32_t node_host_rx(void *node, uint32_t port, pkt_t id, const struct node_turn *turn, ps_t now,
                                  struct node_io *io)
{
    struct node_host *self = node;

    (void)turn;
    nic_rx(self->adapter[port].nic, id, now, &io->nic);
    bool kick = io->nic.kick;
    io->nic.kick = false;
    node_host_after(self, port, now, io);
    return kick ? port : NODE_NO_PORT;
}

NODE_INLINE pkt_t node_host_tx(void *node, uint32_t port, ps_t now, struct node_io *io)
{
    struct node_host *self = node;
    pkt_t id = nic_tx(self->adapter[port].nic, now, &io->nic);

    io->nic.kick = false; /* it is being asked */
    node_host_after(self, port, now, io);
    return id;
}

/* An adapter that sent is asked again: what it has next depends on pacing and windows. */
NODE_INLINE bool node_host_more(const void *node, uint32_t port)
{
    (void)node;
    (void)port;
    return true;
}

#endif
