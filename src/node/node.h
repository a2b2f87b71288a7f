/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node: a switch, or a host with all its adapters, as whoever drives it sees it.
 *
 * A node is what is coupled without latency.  It has ports, and seven calls.  A driver brings frames, control words and
 * the time, and carries what the node answers to its peers.  The engine is one driver (virtual time, many threads; the
 * calls inlined by a template), a plain loop over pointers to the calls is another (loop.h); docs/internals/node.md
 * says what a driver owes a node.
 *
 * A node reads no clock, allocates nothing and keeps no frame's bytes: packets are indices into the pool of the call.
 */
#ifndef ROCELAB_NODE_NODE_H
#define ROCELAB_NODE_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/check.h"
#include "base/credit.h"
#include "base/time.h"
#include "nic/nic.h"
#include "node/app.h"
#include "node/endpoint.h"
#include "node/order.h"
#include "node/port.h"
#include "packet/pktpool.h"
#include "switch/switch.h"

/*
 * A control word: what one end of a line tells the other beside frames.  What it means is between the two machines;
 * drivers carry it, as a PFC or an 802.3x frame where a line has bytes.  Pauses as below; a word of credits has its
 * highest bit set (base/credit.h).
 */
#define CONTROL_PAUSE_ALL (1u << 24) /* 802.3x: a frame that stops all priorities */
static inline uint32_t control_pause(uint8_t enable, uint16_t quanta)
{
    return enable | (uint32_t)quanta << 8;
}
static inline uint8_t control_enable(uint32_t word)
{
    return (uint8_t)word;
}
static inline uint16_t control_quanta(uint32_t word)
{
    return (uint16_t)(word >> 8);
}

struct node_control { /* a word to send */
    uint32_t word;
    uint16_t port;
    uint16_t cause; /* of a switch's XOFF: where the packet that crossed the threshold is to leave; SW_NO_CAUSE */
    bool passed_on; /* that queue was paused itself */
};

#define NODE_CONTROLS_MAX SW_PAUSES_MAX
/* What a call answered beside its value; the driver clears them. */
#define NODE_KICKS 1u    /* ports are to be asked: now, or when they are free */
#define NODE_CONTROLS 2u /* words are to be sent */
#define NODE_DEADLINE 4u /* the deadline has moved */
struct node_io {
    struct pktpool *pool;
    uint32_t answers; /* NODE_KICKS ... */
    uint32_t kicks, controls;
    ps_t deadline; /* with NODE_DEADLINE: the earliest tick wanted; PS_NEVER: none */
    uint16_t kick[NODE_PORTS_MAX];
    struct node_control control[NODE_CONTROLS_MAX];
    /* room for the machines' own calls; empty between the node's */
    struct sw_io sw;
    struct nic_io nic;
    struct endpoint_io endpoint; /* of transports that have none of their own */
    struct app_out app;
};

static inline void node_io_init(struct node_io *io, struct pktpool *pool)
{
    *io = (struct node_io){.pool = pool, .sw = {.pool = pool}, .nic = {.pool = pool}, .endpoint = {.pool = pool}};
}

static inline void node_io_kick(struct node_io *io, uint32_t port)
{
    CHECK(io->kicks < NODE_PORTS_MAX);
    io->kick[io->kicks++] = (uint16_t)port;
    io->answers |= NODE_KICKS;
}

static inline void node_io_deadline(struct node_io *io, ps_t deadline)
{
    io->deadline = deadline;
    io->answers |= NODE_DEADLINE;
}

/* What rx answers: a port that now has something to send, or one of these. */
#define NODE_AT_ONCE (1u << 16) /* | port: this very packet is to be sent there, now */
#define NODE_NO_PORT (1u << 17)
#define NODE_ALL_PORTS (1u << 18)

/* For a driver that can send at once: its ports, and the key below which the node has nothing else to do. */
struct node_turn {
    const struct port *port;
    uint64_t next;
};
static inline __attribute__((always_inline)) bool node_turn_now(const struct node_turn *turn, uint32_t port, ps_t now)
{
    return turn && turn->port[port].free_at <= now && event_key_near(now, EVENT_FREE, port) <= turn->next;
}

struct node_view { /* a port at one moment */
    uint64_t queue_bytes;
    ps_t paused_ps;  /* over all priorities, so far */
    uint16_t paused; /* bit p: the peer has paused priority p */
};

struct node_ops {
    /* A frame is there; it is the node's.  `turn` NULL: nothing is sent at once. */
    uint32_t (*rx)(void *node, uint32_t port, pkt_t id, const struct node_turn *turn, ps_t now, struct node_io *io);
    /* The port is free: what it sends, now the driver's; PKT_NONE: nothing.  What is answered beside follows it. */
    pkt_t (*tx)(void *node, uint32_t port, ps_t now, struct node_io *io);
    /* Whether the port, having sent, is to be asked again when it is free. */
    bool (*more)(const void *node, uint32_t port);
    /* The other end said this. */
    void (*control)(void *node, uint32_t port, uint32_t word, ps_t now, struct node_io *io);
    /* The deadline is here. */
    void (*tick)(void *node, ps_t now, struct node_io *io);
    /* The link failed or came back; the driver forgets what is under way.  A port that is up is to be asked. */
    void (*link)(void *node, uint32_t port, bool up, ps_t now, struct node_io *io);
    void (*observe)(void *node, uint32_t port, ps_t now, struct node_view *ret);
};

#endif
