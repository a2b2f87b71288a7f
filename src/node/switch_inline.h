/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A switch as a node, inlined: rx and tx for each sw_form().
 *
 * node_switch_ops is the last of them behind pointers; all give the same run.
 */
#ifndef ROCELAB_NODE_SWITCH_INLINE_H
#define ROCELAB_NODE_SWITCH_INLINE_H

#include "node/switch.h"
#include "switch/crossing.h"

/* A packet moves the switch's deadline only together with a pause, or where it waits for deep memory. */
SW_INLINE void node_switch_after(struct node_switch *self, struct node_io *io)
{
    if (sw_unlikely((io->sw.pauses | io->sw.kicks) != 0)) node_switch_answers(self, io);
}

SW_INLINE uint32_t node_switch_cross(struct node_switch *self, uint32_t port, pkt_t id, bool simple,
                                     const struct node_turn *turn, ps_t now, struct node_io *io)
{
    struct sw_crossing crossing;

    if (sw_unlikely(!sw_cross_find(self->sw, port, id, simple, now, &io->sw, &crossing))) return NODE_NO_PORT;
    if (node_turn_now(turn, crossing.out, now) && sw_cross_at_once(self->sw, &crossing))
        return crossing.out | NODE_AT_ONCE;
    bool queued = sw_cross_queue(self->sw, &crossing, id, simple, now, &io->sw);
    node_switch_after(self, io);
    return sw_likely(queued) ? crossing.out : NODE_NO_PORT;
}

/* With credits a packet may start the switch's timer, and so move its deadline. */
SW_INLINE uint32_t node_switch_rx_credits(void *node, uint32_t port, pkt_t id, const struct node_turn *turn, ps_t now,
                                          struct node_io *io)
{
    struct node_switch *self = node;
    struct sw_crossing crossing;
    bool queued = false;

    if (sw_likely(sw_credit_find(self->sw, port, id, now, &io->sw, &crossing))) {
        if (node_turn_now(turn, crossing.out, now) && sw_credit_at_once(self->sw, &crossing))
            return crossing.out | NODE_AT_ONCE;
        queued = sw_credit_queue(self->sw, &crossing, id, now, &io->sw);
    }
    if (sw_unlikely(io->sw.pauses | io->sw.kicks || io->sw.deadline != self->deadline)) node_switch_answers(self, io);
    return sw_likely(queued) ? crossing.out : NODE_NO_PORT;
}

SW_INLINE uint32_t node_switch_rx_simple(void *node, uint32_t port, pkt_t id, const struct node_turn *turn, ps_t now,
                                         struct node_io *io)
{
    return node_switch_cross(node, port, id, true, turn, now, io);
}

SW_INLINE uint32_t node_switch_rx_forwards(void *node, uint32_t port, pkt_t id, const struct node_turn *turn, ps_t now,
                                           struct node_io *io)
{
    return node_switch_cross(node, port, id, false, turn, now, io);
}

static inline uint32_t node_switch_rx(void *node, uint32_t port, pkt_t id, const struct node_turn *turn, ps_t now,
                                      struct node_io *io)
{
    struct node_switch *self = node;
    uint16_t out = sw_rx(self->sw, (uint16_t)port, id, now, &io->sw);

    (void)turn;
    node_switch_after(self, io);
    return out == SW_DROPPED ? NODE_NO_PORT : out == SW_FLOODED ? NODE_ALL_PORTS : out;
}

SW_INLINE pkt_t node_switch_tx_simple(void *node, uint32_t port, ps_t now, struct node_io *io)
{
    struct node_switch *self = node;
    pkt_t id = sw_tx_simple(self->sw, (uint16_t)port, now, &io->sw);

    node_switch_after(self, io);
    return id;
}

static inline pkt_t node_switch_tx(void *node, uint32_t port, ps_t now, struct node_io *io)
{
    struct node_switch *self = node;
    pkt_t id = sw_tx(self->sw, (uint16_t)port, now, &io->sw);

    if (io->sw.pauses | io->sw.kicks || io->sw.deadline != self->deadline) node_switch_answers(self, io);
    return id;
}

SW_INLINE pkt_t node_switch_tx_credits(void *node, uint32_t port, ps_t now, struct node_io *io)
{
    struct node_switch *self = node;
    pkt_t id = sw_tx_credits(self->sw, (uint16_t)port, now, &io->sw);

    if (sw_unlikely(io->sw.pauses | io->sw.kicks || io->sw.deadline != self->deadline)) node_switch_answers(self, io);
    return id;
}

SW_INLINE bool node_switch_more(const void *node, uint32_t port)
{
    return ((const struct node_switch *)node)->sw->port[port].filled != 0;
}

#endif
