/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host with TCP as a node: the calls of host.h, by other names; rx and tx inlined for drivers that want them so.
 */
#ifndef ROCELAB_NODE_HOST_TCP_H
#define ROCELAB_NODE_HOST_TCP_H

#include "node/tcp.h"

extern const struct node_ops node_tcp_ops;
void node_tcp_wake(struct node_host *self);
void node_tcp_receive_rate(struct node_host *self, uint32_t port, uint64_t bps, ps_t now, struct node_io *io);
void node_tcp_control(void *node, uint32_t port, uint32_t word, ps_t now, struct node_io *io);
void node_tcp_tick(void *node, ps_t now, struct node_io *io);
void node_tcp_link(void *node, uint32_t port, bool up, ps_t now, struct node_io *io);
void node_tcp_observe(void *node, uint32_t port, ps_t now, struct node_view *ret);
void node_tcp_answers(struct node_host *self, uint32_t port, ps_t now, struct node_io *io);
void node_tcp_deadline(struct node_host *self, struct node_io *io);

#ifndef HOST_INLINE
#define HOST_INLINE static inline __attribute__((always_inline))
#endif
#define ENDPOINT(call) tcp_end_##call
#define HOST(call) node_tcp_##call
#include "node/host_fast.h"
#undef ENDPOINT
#undef HOST

#endif
