/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host with InfiniBand as a node, rx and tx inlined.  node_ib_ops is the same behind pointers; host.h has the calls
 * of a host with RoCE, which mean the same.
 */
#ifndef ROCELAB_NODE_HOST_IB_H
#define ROCELAB_NODE_HOST_IB_H

#include "node/host.h"
#include "node/ib.h"

extern const struct node_ops node_ib_ops;
void node_ib_wake(struct node_host *self);
void node_ib_receive_rate(struct node_host *self, uint32_t port, uint64_t bps, ps_t now, struct node_io *io);
void node_ib_control(void *node, uint32_t port, uint32_t word, ps_t now, struct node_io *io);
void node_ib_tick(void *node, ps_t now, struct node_io *io);
void node_ib_link(void *node, uint32_t port, bool up, ps_t now, struct node_io *io);
void node_ib_observe(void *node, uint32_t port, ps_t now, struct node_view *ret);
void node_ib_answers(struct node_host *self, uint32_t port, ps_t now, struct node_io *io);
void node_ib_deadline(struct node_host *self, struct node_io *io);

#ifndef HOST_INLINE
#define HOST_INLINE static inline __attribute__((always_inline))
#endif
#define ENDPOINT(call) ib_##call
#define HOST(call) node_ib_##call
#include "node/host_fast.h"
#undef ENDPOINT
#undef HOST

#endif
