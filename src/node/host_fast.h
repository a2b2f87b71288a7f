/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host as a node, the calls that need speed: rx, tx, more.  A template: ENDPOINT(call) and HOST(call) are defined by
 * whoever includes it (endpoint.h); host_inline.h is RoCE's.
 */
static inline void HOST(ask)(struct node_host *self, uint32_t port, struct node_io *io)
{
    if (self->adapter[port].asked) return;
    self->adapter[port].asked = true;
    node_io_kick(io, port);
}

/* After a call of one adapter, whose kick was seen to. */
HOST_INLINE void HOST(after)(struct node_host *self, uint32_t port, ps_t now, struct node_io *io)
{
    struct node_adapter *adapter = &self->adapter[port];

    if (ENDPOINT(deadline_of)(io) != adapter->deadline) {
        adapter->deadline = ENDPOINT(deadline_of)(io);
        HOST(deadline)(self, io);
    }
    if (__builtin_expect(ENDPOINT(answered)(io), 0)) HOST(answers)(self, port, now, io);
}

HOST_INLINE uint32_t HOST(rx)(void *node, uint32_t port, pkt_t id, const struct node_turn *turn, ps_t now,
                              struct node_io *io)
{
    struct node_host *self = node;

    (void)turn;
    ENDPOINT(rx)(&self->adapter[port], id, now, io);
    bool kick = ENDPOINT(kicked)(io);
    HOST(after)(self, port, now, io);
    return kick ? port : NODE_NO_PORT;
}

HOST_INLINE pkt_t HOST(tx)(void *node, uint32_t port, ps_t now, struct node_io *io)
{
    struct node_host *self = node;
    pkt_t id = ENDPOINT(tx)(&self->adapter[port], now, io);

    (void)ENDPOINT(kicked)(io); /* it is being asked */
    HOST(after)(self, port, now, io);
    return id;
}

/* An adapter that sent is asked again: what it has next depends on pacing and windows. */
HOST_INLINE bool HOST(more)(const void *node, uint32_t port)
{
    (void)node;
    (void)port;
    return true;
}
