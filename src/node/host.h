/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host as a node: all its adapters, and what runs on it.
 *
 * Port p of the node is adapter p, whose transport is behind endpoint.h: RoCE here.  Completions are drained as they
 * come, the application is told, and what it answers is posted at once.
 */
#ifndef ROCELAB_NODE_HOST_H
#define ROCELAB_NODE_HOST_H

#include "node/endpoint.h"
#include "node/node.h"

struct node_adapter {
    union {
        struct nic *nic;
        void *endpoint; /* of another transport */
    };
    ps_t deadline;
    struct credit_port *credit; /* of another transport, where lines have credits; NULL: they have none */
    struct nic_cq cq;           /* RoCE's completions */
    bool asked;                 /* it is among the kicks of this call */
    void *owner;                /* the driver's */
};

struct node_failure { /* a work request that was completed with an error */
    ps_t at;          /* PS_NEVER: there was none */
    uint32_t connection;
    bool retries; /* they ran out */
    uint64_t acked_bytes;
};

struct node_host {
    struct node_adapter *adapter;
    uint32_t adapters;
    uint32_t number; /* as the application knows the host */
    const struct app_ops *app;
    void *app_state;
    const struct node_connection *connection; /* by the application's number */
    ps_t app_at;                              /* when it wants to be asked */
    ps_t deadline;                            /* as the node named it */
    uint64_t failed;
    struct node_failure failure; /* the first */
};

extern const struct node_ops node_host_ops;
/* The application has something new to wait for: asks it, and works out the deadline. */
void node_host_wake(struct node_host *self);
/* The adapter's receive side takes so much from now on (nic_receive_rate). */
void node_host_receive_rate(struct node_host *self, uint32_t port, uint64_t bps, ps_t now, struct node_io *io);

/* The calls of node_host_ops that need no speed, for drivers that inline the others (host_inline.h). */
void node_host_control(void *node, uint32_t port, uint32_t word, ps_t now, struct node_io *io);
void node_host_tick(void *node, ps_t now, struct node_io *io);
void node_host_link(void *node, uint32_t port, bool up, ps_t now, struct node_io *io);
void node_host_observe(void *node, uint32_t port, ps_t now, struct node_view *ret);
/* After a call of the adapter: completions, and pauses it wants to send. */
void node_host_answers(struct node_host *self, uint32_t port, ps_t now, struct node_io *io);
/* The deadline, from those of the adapters and the application. */
void node_host_deadline(struct node_host *self, struct node_io *io);

#endif
