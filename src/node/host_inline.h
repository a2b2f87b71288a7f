/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host with RoCE as a node, inlined: rx and tx.  node_host_ops is the same behind pointers.
 */
#ifndef ROCELAB_NODE_HOST_INLINE_H
#define ROCELAB_NODE_HOST_INLINE_H

#include "node/host.h"
#include "node/roce.h"

#define HOST_INLINE static inline __attribute__((always_inline))
#define ENDPOINT(call) roce_##call
#define HOST(call) node_host_##call
#include "node/host_fast.h"
#undef ENDPOINT
#undef HOST

#endif
